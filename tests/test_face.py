"""What users see first: public names, frames, maps, cards, and releases that are read back."""

import dataclasses
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

import pointveil as pv
from pointveil.errors import InputError, MissingExtraError, VerificationError
from pointveil.formats import Layout, output_layout
from pointveil.synthetic import statement_path

MAIN = (
    *("World", "Vault", "Ledger", "Survey", "SyntheticPoints", "Statement", "survey", "draw", "verify", "read"),
    *("InputError", "BudgetError", "VerificationError", "MissingExtraError"),
)
SINCE_0_1 = {
    *("AdaptiveGrid", "AlongRoads", "Clusters", "Density", "KernelDensity", "Ledger", "METHODS", "Method"),
    *("RoadSegments", "Statement", "Survey", "SyntheticPoints", "Uniform", "UniformGrid", "Vault", "Veil"),
    *("WeightedUniform", "World", "draw", "survey", "synthesize", "verify", "__version__"),
}
SUFFIXES = (".csv", ".tsv", ".parquet", ".geoparquet", ".geojson", ".gpkg", ".shp", ".fgb")


@pytest.fixture(scope="module")
def survey(people_file: Path, world: pv.World) -> pv.Survey:
    return pv.survey(pv.Vault.rehearse(people_file, world, epsilon=1, seed=1), "ugrid-uni")


@pytest.fixture
def points(people_file: Path, world: pv.World) -> pv.SyntheticPoints:
    return pv.synthesize(pv.Vault.open(people_file, world, epsilon=1), "ugrid-uni", count=60, seed=1)


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


# Public names


def test_no_name_was_lost_and_the_main_ones_come_first() -> None:
    assert set(pv.__all__) >= SINCE_0_1
    assert set(MAIN) <= set(pv.__all__[: pv.__all__.index("METHODS")])
    assert set(dir(pv)) == set(pv.__all__)


def test_importing_the_package_does_no_work() -> None:
    heavy = ("numpy", "pyarrow", "shapely", "pydantic", "inspect", "ast")

    assert run(f"import sys, pointveil; print([name for name in {heavy} if name in sys.modules])") == "[]"


def test_everything_can_be_imported_with_a_star() -> None:
    assert run("from pointveil import *; print(Veil.__name__, read.__name__)") == "Veil read"


@pytest.mark.slow
def test_a_type_checker_sees_every_name_and_refuses_others(tmp_path: Path) -> None:
    api = pytest.importorskip("mypy.api")
    names = [name for name in pv.__all__ if not name.startswith("_")]
    lines = ["import pointveil as pv", *(f"reveal_type(pv.{name})" for name in names), "pv.nonsense"]
    (tmp_path / "snippet.py").write_text("\n".join(lines))
    source = Path(pv.__file__).parents[1]
    config = tmp_path / "mypy.ini"
    config.write_text(f"[mypy]\nmypy_path = {source}\nfollow_imports = silent\nignore_missing_imports = True\n")

    report, _, _ = api.run(["--config-file", str(config), "--cache-dir", str(tmp_path), str(tmp_path / "snippet.py")])

    revealed = [line for line in report.splitlines() if "Revealed type" in line]
    assert len(revealed) == len(names)
    assert not [line for line in revealed if '"Any"' in line or '"def (*Any' in line]
    assert 'Module has no attribute "nonsense"' in report


def test_no_module_is_called_like_a_public_name_which_it_would_hide() -> None:
    modules = {path.stem for path in Path(pv.__file__).parent.iterdir()}

    assert not modules & set(pv.__all__)


# Frames and friends


def test_points_are_an_arrow_stream(survey: pv.Survey) -> None:
    points = pv.draw(survey, count=10, seed=1)

    table = pa.table(points)

    assert table.column_names == ["lon", "lat"]
    assert np.array_equal(np.column_stack([table["lon"], table["lat"]]), points.coordinates)
    assert b"pointveil.statement" in table.schema.metadata


def test_polars_and_pandas_hold_the_same_points(survey: pv.Survey) -> None:
    polars = pytest.importorskip("polars")
    points = pv.draw(survey, count=10, seed=1)

    for frame in (polars.DataFrame(points), points.to_polars(), points.to_pandas()):
        assert list(frame.columns) == ["lon", "lat"]
        assert np.array_equal(frame.to_numpy(), points.coordinates)


def test_geopandas_reads_the_features(survey: pv.Survey) -> None:
    geopandas = pytest.importorskip("geopandas")
    points = pv.draw(survey, count=10, seed=1)

    frame = geopandas.GeoDataFrame.from_features(points, crs=points.crs)

    assert frame.geometry.geom_equals(points.to_geopandas().geometry).all()


@pytest.mark.parametrize(
    ("missing", "call", "extra"),
    [
        ("pandas", lambda points: points.to_pandas(), "frames"),
        ("polars", lambda points: points.to_polars(), "frames"),
        ("geopandas", lambda points: points.to_geopandas(), "frames"),
        ("matplotlib.pyplot", lambda points: points.plot(), "figures"),
    ],
)
def test_what_is_not_installed_is_named_with_its_extra(
    missing: str, call: Any, extra: str, survey: pv.Survey, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)

    with pytest.raises(MissingExtraError, match=rf"pointveil\[{extra}\]"):
        call(pv.draw(survey, count=1))


# Pictures, maps and cards


@pytest.fixture
def axes() -> Iterator[Any]:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    yield plt.subplots()[1]
    plt.close("all")


def test_a_plot_has_every_point_and_round_circles(survey: pv.Survey, axes: Any) -> None:
    points = pv.draw(survey, count=50, seed=1)

    assert points.plot(axes) is axes
    assert points.plot().collections
    assert np.array_equal(axes.collections[0].get_offsets(), points.coordinates)
    assert axes.get_aspect() == pytest.approx(1 / np.cos(np.radians(50.006)), rel=1e-3)


def test_without_folium_the_page_of_the_release_is_shown(
    points: pv.SyntheticPoints, world: pv.World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "folium", None)

    page, bare = points.explore(world), points.explore()

    assert "A synthetic release" in page.html
    assert "nothing on this page comes from the real points" in bare.html
    assert "How good will it be?" in page.html
    assert "How good will it be?" not in bare.html  # in bare bounds nobody can tell
    shown = page._repr_html_()
    assert shown.startswith("<iframe")
    assert "<script" not in shown  # all of the page is within the attribute
    assert len(repr(page)) < 80


class FakeFolium(types.ModuleType):
    """As much of folium as a map needs."""

    def __init__(self) -> None:
        super().__init__("folium")
        self.seen: dict[str, Any] = {}
        self.plugins = types.ModuleType("folium.plugins")
        self.plugins.FastMarkerCluster = lambda data: types.SimpleNamespace(  # type: ignore[attr-defined]
            add_to=lambda shown: self.seen.update(data=data, on=shown)
        )

    def Map(self) -> Any:  # noqa: N802 - folium's name
        return types.SimpleNamespace(fit_bounds=lambda bounds: self.seen.update(bounds=bounds))


def test_with_folium_its_map_has_the_points_in_degrees_latitude_first(
    people: NDArray[np.float64], monkeypatch: pytest.MonkeyPatch
) -> None:
    folium = FakeFolium()
    monkeypatch.setitem(sys.modules, "folium", folium)
    monkeypatch.setitem(sys.modules, "folium.plugins", folium.plugins)
    world = pv.World.make((571000, 5538000, 573000, 5540000), crs="EPSG:32632")
    frame = pa.table({"x": np.full(50, 572000.0), "y": np.full(50, 5539000.0)})
    vault = pv.Vault.rehearse(frame, world, epsilon=1, seed=1, columns=("x", "y"), crs="EPSG:32632")

    shown = pv.synthesize(vault, "ugrid-uni", count=20, seed=1).explore()

    assert folium.seen["on"] is shown
    assert np.allclose(folium.seen["data"], (50.0, 10.0), atol=0.03)
    assert len(folium.seen["data"]) == 20
    assert np.shape(folium.seen["bounds"]) == (2, 2)


def test_a_card_is_small_and_says_what_is_promised(survey: pv.Survey, points: pv.SyntheticPoints) -> None:
    card, rehearsed = points._repr_html_(), pv.draw(survey, count=200_000, seed=1)._repr_html_()

    assert "60 synthetic points" in card
    assert "ε = 1, protects one point" in card
    assert "not private" not in card
    assert "rehearsal: not private" in rehearsed
    assert len(rehearsed.encode()) < 60_000
    assert "<script" not in rehearsed
    assert "http" not in rehearsed


def test_a_card_shows_names_as_text(survey: pv.Survey) -> None:
    points = pv.draw(survey, count=2, seed=1)
    guarantee = points.statement.guarantee.model_copy(update={"unit": "all points of one <script>"})
    odd = points.statement.model_copy(update={"guarantee": guarantee})

    assert "&lt;script&gt;" in dataclasses.replace(points, statement=odd)._repr_html_()


def test_on_a_card_north_is_up_and_empty_is_fine(survey: pv.Survey) -> None:
    points = pv.draw(survey, count=2, seed=1)
    corners = np.array([[10.0, 50.0], [10.02, 50.012]])  # south-west, north-east

    card = pv.SyntheticPoints(corners, points.layout, points.statement)._repr_html_()
    empty = pv.draw(survey, count=0)._repr_html_()

    first, second = card.split('d="M')[1].split("h0")[:2]
    (x, y), (to_x, to_y) = (tuple(map(int, text.strip("M").split())) for text in (first, second))
    assert x < to_x
    assert y > to_y
    assert (to_x - x) / (y - to_y) == pytest.approx(1429 / 1335, rel=0.02)
    assert "<svg" not in empty
    assert "0 synthetic points" in empty


def test_what_people_print_is_short(survey: pv.Survey, points: pv.SyntheticPoints, world: pv.World) -> None:
    shown = [repr(thing) for thing in (world, survey, survey.method, survey.statement, points, points.statement)]

    assert all(len(text) <= 160 and text.startswith("<") and "\n" not in text for text in shown)
    assert "1.43 × 1.33 km, 90% land, 2 roads" in shown[0]
    assert shown[1] == "<Survey: ugrid-uni, epsilon 1, rehearsal: not private, 2 answers>"
    assert shown[2] == "<Method ugrid-uni: UniformGrid, Uniform; count 1>"
    assert shown[4] == "<SyntheticPoints: 60 points in EPSG:4326, epsilon 1, protects one point>"
    assert "in all" in str(points.statement)


def test_a_crs_without_a_code_is_called_by_its_name() -> None:
    world = pv.World.make((0, 0, 2000, 1000), crs="+proj=laea +lat_0=50 +lon_0=10 +type=crs")

    assert len(repr(world)) < 160


# Reading a release


def laid_out(path: Path, points: pv.SyntheticPoints) -> Layout:
    """Return the layout of points in a file; which other columns the input had, no release says."""
    return dataclasses.replace(output_layout(path, points.layout), left_out=())


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_release_is_read_back_as_it_was_written(suffix: str, points: pv.SyntheticPoints, tmp_path: Path) -> None:
    path, again = tmp_path / f"first{suffix}", tmp_path / f"second{suffix}"
    statement = points.write(path)

    back = pv.read(path)
    back.write(again)

    assert np.array_equal(back.coordinates, points.coordinates)
    assert laid_out(path, back) == laid_out(path, points)
    assert back.statement == statement
    assert pv.verify(again).statement.guarantee == statement.guarantee
    assert np.array_equal(pv.read(str(again)).coordinates, points.coordinates)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_projected_release_is_read_back_too(suffix: str, tmp_path: Path) -> None:
    world = pv.World.make((571000, 5538000, 573000, 5540000), crs="EPSG:32632")
    frame = pa.table({"x": np.full(50, 572000.0), "y": np.full(50, 5539000.0)})
    vault = pv.Vault.rehearse(frame, world, epsilon=1, seed=1, columns=("x", "y"), crs="EPSG:32632")
    points = pv.synthesize(vault, "ugrid-uni", count=30, seed=1)
    path = tmp_path / f"synthetic{suffix}"
    points.write(path)

    back = pv.read(path)

    assert np.array_equal(back.coordinates, points.coordinates)
    assert back.crs == "EPSG:32632"
    assert back.statement.rehearsal


@pytest.mark.parametrize("suffix", [".parquet", ".geojson", ".gpkg"])
def test_the_statement_inside_a_file_is_enough(suffix: str, points: pv.SyntheticPoints, tmp_path: Path) -> None:
    path = tmp_path / f"synthetic{suffix}"
    points.write(path)
    statement_path(path).unlink()

    assert len(pv.read(path)) == 60


def test_a_file_without_a_statement_is_refused_with_advice(points: pv.SyntheticPoints, tmp_path: Path) -> None:
    path = tmp_path / "synthetic.csv"
    points.write(path)
    statement_path(path).unlink()

    with pytest.raises(InputError, match=r"Put synthetic\.csv\.statement\.json.*beside it"):
        pv.read(path)
    with pytest.raises(InputError, match="does not exist"):
        pv.read(tmp_path / "missing.csv")


def test_points_that_were_changed_are_not_read(points: pv.SyntheticPoints, tmp_path: Path) -> None:
    path = tmp_path / "synthetic.csv"
    points.write(path)
    path.write_text("\n".join(reversed(path.read_text().splitlines()[1:])) + "\n")

    with pytest.raises(VerificationError):
        pv.read(path)


def test_a_survey_and_a_world_may_be_named_by_their_files(world: pv.World, world_file: Path, tmp_path: Path) -> None:
    people = np.random.default_rng(3).uniform((10.0, 50.0), (10.02, 50.012), (300, 2))
    surveyed = pv.survey(pv.Vault.rehearse(people, world, epsilon=1, seed=1), "ugrid-uni")
    surveyed.write(tmp_path / "p.survey")

    points = pv.draw(tmp_path / "p.survey", count=20, seed=1)

    assert np.array_equal(points.coordinates, pv.draw(surveyed, count=20, seed=1).coordinates)
    assert points.explore(str(world_file)) is not None


@pytest.mark.parametrize("wrong", [{"seed": "a"}, {"seed": 1.5}, {"count": 2.5}, {"count": "3"}])
def test_a_count_or_seed_that_is_no_whole_number_is_refused(wrong: dict[str, Any], world: pv.World) -> None:
    vault = pv.Vault.rehearse(np.zeros((1, 2)), world, epsilon=1, seed=1)

    with pytest.raises(pv.InputError, match="must be a whole number"):
        pv.synthesize(vault, "ugrid-uni", **wrong)


def test_an_unknown_method_is_an_input_error_and_a_key_error_with_all_names() -> None:
    with pytest.raises(KeyError) as unknown:
        pv.METHODS["foo"]

    assert isinstance(unknown.value, pv.InputError)
    assert str(unknown.value).startswith("There is no method 'foo'. Choose from: veil, ")
    assert "foo" not in pv.METHODS
    assert pv.METHODS.get("foo") is None


def test_points_in_the_place_of_a_vault_or_a_world_are_refused(world: pv.World, tmp_path: Path) -> None:
    points = pa.table({"lon": [10.01], "lat": [50.01]})

    with pytest.raises(pv.InputError, match=r"Vault\.open"):
        pv.synthesize(points)
    with pytest.raises(pv.InputError, match="points come first"):
        pv.release(world, points, epsilon=1, output=tmp_path / "x.csv")
