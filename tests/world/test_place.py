"""Where a world is, in words that show a swapped boundary."""

import pytest

from pointveil.world import World
from pointveil.world.place import NOWHERE, in_words, middle_in_words


@pytest.mark.parametrize(
    ("bounds", "crs", "words"),
    [
        ((-8.635, 41.123, -8.576, 41.168), "EPSG:4326", "41.145° N, 8.606° W, in or near Portugal"),
        ((41.123, -8.635, 41.168, -8.576), "EPSG:4326", "8.605° S, 41.145° E, in or near Kenya"),
        ((-42245.0, 161492.0, -37133.0, 166700.0), "EPSG:3763", "41.145° N, 8.606° W, in or near Portugal"),
        ((-40.1, 29.9, -39.9, 30.1), "EPSG:4326", "30.000° N, 40.000° W, where no country has a map system of its own"),
    ],
)
def test_a_place_is_named_by_bearings_and_country(bounds: tuple[float, ...], crs: str, words: str) -> None:
    assert in_words(bounds, crs) == words  # type: ignore[arg-type]


def test_a_place_beyond_the_date_line_has_bearings() -> None:
    """Of its country older versions of PROJ know nothing."""
    words = in_words((179.9, -18.2, 180.1, -18.0), "EPSG:4326")

    assert words in {f"18.100° S, 180.000° W, {country}" for country in ("in or near Fiji", NOWHERE)}


def test_what_is_on_no_map_has_no_place() -> None:
    assert middle_in_words((1e9, 1e9, 2e9, 2e9), "EPSG:3763") == "nowhere on the globe"


def test_a_world_knows_its_place_in_any_crs() -> None:
    assert World.make((10.0, 50.0, 10.02, 50.012)).place == "50.006° N, 10.010° E, in or near Germany"
