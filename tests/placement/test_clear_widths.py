"""How far beside a street places stay nearest to it."""

import numpy as np
import pytest
import shapely
from numpy.typing import NDArray

from pointveil.cells import Streets
from pointveil.network import Network, places_along, streets_of
from pointveil.placement.clear_widths import STEP, ClearWidths
from pointveil.world import World

BOX = (0.0, 0.0, 1000.0, 1000.0)
REACH = 25.0


def streets(*lines: str) -> Streets:
    return streets_of(np.array([shapely.from_wkt(line) for line in lines]), BOX)


def test_between_parallel_streets_it_is_half_the_gap_and_elsewhere_the_reach() -> None:
    clear = ClearWidths.of(streets("LINESTRING(0 500, 1000 500)", "LINESTRING(0 520, 1000 520)"), REACH)

    left, right = clear.at(np.array([0, 1]), np.array([100.0, 300.0])).T

    assert left == pytest.approx([10, REACH], abs=0.1)
    assert right == pytest.approx([REACH, 10], abs=0.1)


def test_it_shrinks_towards_a_junction_and_is_never_below_zero() -> None:
    clear = ClearWidths.of(streets("LINESTRING(0 500, 500 500)", "LINESTRING(500 500, 500 1000)"), REACH)
    along = np.array([470.0, 490, 496, 499, 500])

    left, right = clear.at(np.zeros(5, dtype=np.int64), along).T

    assert left == pytest.approx([REACH, 10, 4, 1, 0], abs=0.3)  # the other street is there
    assert (right == REACH).all()


def test_a_street_of_one_stretch_has_one_width() -> None:
    clear = ClearWidths.of(streets("LINESTRING(500 500, 501 500)", "LINESTRING(0 506, 1000 506)"), REACH)

    left = clear.at(np.zeros(3, dtype=np.int64), np.array([0.0, 0.5, 1.0]))[:, 0]

    assert left == pytest.approx([3, 3, 3], abs=0.1)


def test_points_fit_where_a_search_says_that_they_do() -> None:
    """In a maze of crooked streets, cut where they cross: all but a few at the very border."""
    rng = np.random.default_rng(5)
    starts = rng.random((300, 1, 2)) * 1000
    lines = shapely.linestrings(starts + np.cumsum(rng.normal(0, 30, (300, 6, 2)), axis=1))
    maze = Network.of(World.make(BOX, crs="EPSG:32633", roads=shapely.get_parts(shapely.union_all(lines)))).streets
    edge = rng.choice(len(maze), 20_000, p=maze.lengths / maze.lengths.sum())
    along, offset = rng.random(len(edge)) * maze.lengths[edge], rng.random(len(edge)) * REACH
    place, direction = places_along(maze.segments, edge, along)
    clear = ClearWidths.of(maze, REACH).at(edge, along)

    assert maze.lengths.mean() > 3 * STEP
    for side, widths in zip((1, -1), clear.T, strict=True):
        normal: NDArray[np.float64] = np.column_stack([-direction[:, 1], direction[:, 0]]) * side
        fits = maze.nearest(place + normal * offset[:, None]).edge == edge
        assert 0.2 < fits.mean() < 0.8
        assert ((offset <= widths) == fits).mean() > 0.97
