"""What every question must do, whoever wrote it: each record has one cell by itself, or none."""

import importlib
import inspect
import pickle
import pkgutil
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import shapely
from numpy.typing import NDArray

import pointveil.cells
from pointveil.cells import (
    ChosenCells,
    ChosenPixels,
    CodedCells,
    Distances,
    EdgeOffsets,
    Everywhere,
    Grid,
    KindOffsets,
    Leaves,
    NestedGrid,
    PeopleRegions,
    RegionSites,
    RoadBins,
    SmallSquares,
    Voronoi,
)
from pointveil.engines.base import tally_cells
from pointveil.ground import SitePlaces, clip_to_land, leaves_from_levels, precision, raster_of
from pointveil.network import Network, road_cells
from pointveil.world import World

Floats = NDArray[np.float64]
RNG = np.random.default_rng(2)
ODD = np.array([np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, -0.0, 0.0])
SMALL, BATCHES = 400, (2, 7, 100, 33_000)


@pytest.fixture(scope="module")
def town() -> World:
    """A square kilometre with a lake, streets of two classes, and a park out of reach."""
    lines = [[(0, 100), (500, 100)], [(500, 100), (500, 400)], [(500, 100), (1000, 100)], [(700, 100), (700, 480.3)]]
    lake = shapely.Point(300, 650).buffer(130.7)
    roads = np.array([shapely.LineString(line) for line in lines])
    return World.make((0, 0, 1000, 1000), crs="EPSG:32633", roads=roads, out_of_bounds=lake)


def grid(world: World) -> Grid:
    return Grid(world.bounds, 7, 3)


def nested(world: World) -> NestedGrid:
    return NestedGrid(grid(world), 1 + np.arange(21) % 5)


def voronoi(world: World) -> Voronoi:
    # On a square lattice, with others between: many places are as near to four centres.
    across, along = np.meshgrid(np.arange(100.0, 1000, 200), np.arange(100.0, 1000, 200))
    return Voronoi(world.bounds, np.concatenate([np.column_stack([across.ravel(), along.ravel()]), [[512.3, 77.7]]]))


def leaves(world: World) -> Leaves:
    raster = raster_of(world, 20.0, 8)
    level = np.full(raster.shape, 3, dtype=np.int8)
    level[8:24, 8:24] = 1
    return leaves_from_levels(raster, level)


def bins(world: World) -> RoadBins:
    cells = road_cells(world, 25.0, 200.0)
    sides = 1 + np.arange(len(cells.far)) % 3
    return RoadBins(cells, 3 * np.arange(len(cells.streets)), NestedGrid(cells.far, sides))


def sites(world: World) -> RegionSites:
    regions = voronoi(world)
    return SitePlaces.of(regions, clip_to_land(regions, world), world, 8).sites


def people(world: World) -> PeopleRegions:
    west, south, east, north = world.bounds
    middle = (west + east) / 2, (south + north) / 2
    return PeopleRegions(np.array([0, 1, 1], dtype=np.int8), np.array([middle[0], middle[1], south + 20.0]))


def chosen(kind: Any, world: World) -> Any:
    raster = raster_of(world, 20.0, 8)
    return kind(raster, np.unique(raster.index[raster.index >= 0])[::3].astype(np.int64))


def coded(world: World) -> CodedCells:
    # Two looks at one column, and one at another whose last code does not count.
    return CodedCells(people(world), ((0, np.arange(6) % 3), (1, np.array([0, 1, 1])), (0, np.arange(6) // 3)))


TABLE: dict[str, Callable[[World], Any]] = {
    "Everywhere": lambda world: Everywhere(),  # noqa: ARG005 - the same in all worlds
    "Grid": grid,
    "NestedGrid": nested,
    "Voronoi": voronoi,
    "Leaves": leaves,
    "Distances": lambda world: Distances(raster_of(world, 20.0, 8)),
    "Precision": lambda world: precision(world, "EPSG:3035"),  # neither world's CRS, nor degrees
    "RoadCells": lambda world: road_cells(world, 25.0, 200.0),
    "RoadBins": bins,
    "KindOffsets": lambda world: KindOffsets(road_cells(world, 25.0, 200.0)),
    "EdgeOffsets": lambda world: EdgeOffsets(road_cells(world, 25.0, 200.0), np.arange(len(Network.of(world)))),
    "RegionSites": sites,
    "PeopleRegions": people,
    "CodedCells": coded,
    "Squares": lambda world: leaves(world).base,
    "SmallSquares": lambda world: SmallSquares(),  # noqa: ARG005 - the same in all worlds
    "ChosenCells": lambda world: chosen(ChosenCells, world),
    "ChosenPixels": lambda world: chosen(ChosenPixels, world),
}
every_class = pytest.mark.parametrize("name", TABLE)


@dataclass(frozen=True)
class SitesAsCells:
    """Sites as one row of cells, so that one suite serves both: the sites of region 0, then of region 1, and so on."""

    sites: RegionSites

    def __len__(self) -> int:
        return int(self.sites.site_counts().sum())

    def locate(self, xy: Floats) -> NDArray[np.int64]:
        """Return the site of each place among all sites."""
        region, site = self.sites.locate_sites(xy)
        assert region.dtype.kind == site.dtype.kind == "i"
        assert region.shape == site.shape == (len(xy),)
        counts = self.sites.site_counts()
        has = (region >= 0) & (counts[region] > 0)
        assert (site[has] < counts[region[has]]).all()
        return np.where(has, (np.cumsum(counts) - counts)[region] + site, -1)


@dataclass(frozen=True)
class CodedAsCells:
    """Coded cells as plain ones: each record's codes follow from its own place, and some do not exist."""

    cells: Any

    def __len__(self) -> int:
        return len(self.cells)

    def locate(self, xy: Floats) -> NDArray[np.int64]:
        """Return the cell of each place with its codes."""
        return np.asarray(self.cells.locate(xy, codes_of(xy)))


def codes_of(xy: Floats) -> tuple[Any, ...]:
    bits = np.ascontiguousarray(xy[:, 0]).view(np.uint64) ^ np.ascontiguousarray(xy[:, 1]).view(np.uint64)
    mixed = bits * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(40)
    return (mixed % np.uint64(7)).astype(np.uint8), (mixed // np.uint64(7) % np.uint64(4)).astype(np.uint16)


def question(name: str, world: World) -> Any:
    made = TABLE[name](world)
    if getattr(made, "reads_codes", False):
        return CodedAsCells(made)
    return SitesAsCells(made) if hasattr(made, "locate_sites") else made


def places(cells: Any, world: World) -> Floats:
    """Return places everywhere: inside and far outside, on borders and corners and a hair beside them, and no place."""
    west, south, east, north = world.bounds
    even = RNG.uniform((west - 300, south - 300), (east + 300, north + 300), (800, 2))
    rounded = np.rint(even / 20) * 20
    x, y = (np.unique(np.concatenate([even[:9, axis], rounded[:9, axis], ODD])) for axis in (0, 1))
    odd = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    corners = np.array([[west, south], [west, north], [east, south], [east, north]])
    known = [even, rounded, odd, corners, borders(cells)]
    known += [np.nextafter(rounded, np.inf), np.nextafter(rounded, -np.inf)]
    return np.concatenate(known)


def borders(cells: Any) -> Floats:
    """Return the corners of all cells that are rectangles, and what lies a hair before them."""
    boxes = cells.rectangles() if hasattr(cells, "rectangles") else None
    if boxes is None:
        return np.zeros((0, 2))
    corners = np.concatenate([boxes[:, [x, y]] for x in (0, 2) for y in (1, 3)])
    return np.concatenate([corners, np.nextafter(corners, -np.inf), np.nextafter(corners, np.inf)])


def check(cells: Any, world: World) -> None:
    """Say that these cells look at each record by itself, and give each one cell or none."""
    xy = places(cells, world)
    with warnings.catch_warnings(), np.errstate(all="raise", under="ignore"):
        warnings.simplefilter("error")
        found = cells.locate(xy)
        check_numbers(found, len(xy), len(cells))
        check_alone(cells, xy, found)
        check_borders(cells)
    assert cells.locate(xy[:0]).shape == (0,)
    assert np.array_equal(pickle.loads(pickle.dumps(cells)).locate(xy), found)


def check_numbers(found: Any, count: int, cells: int) -> None:
    """One whole number for each place: a cell that there is, or -1."""
    assert isinstance(found, np.ndarray)
    assert found.dtype.kind == "i"
    assert found.shape == (count,)
    assert ((found >= -1) & (found < cells)).all()


def check_alone(cells: Any, xy: Floats, found: NDArray[np.int64]) -> None:
    """The same cell alone, in batches of any size, in any order, among few and among many."""
    some = RNG.permutation(len(xy))[:SMALL]
    for size in BATCHES:
        these = some if size < SMALL else np.tile(np.arange(len(xy)), 12)
        batches = [cells.locate(xy[these[start : start + size]]) for start in range(0, len(these), size)]
        assert np.array_equal(np.concatenate(batches), found[these])
    assert [int(cells.locate(xy[row : row + 1])[0]) for row in some] == found[some].tolist()
    for order in (np.arange(len(xy))[::-1], RNG.permutation(len(xy)), RNG.integers(0, len(xy), 40_000)):
        assert np.array_equal(cells.locate(xy[order]), found[order])
    for company in (xy[:1], xy[found == found.max()][:1]):
        crowd = np.concatenate([np.repeat(company, 500, axis=0), xy])
        assert np.array_equal(cells.locate(crowd)[500:], found)


def check_borders(cells: Any) -> None:
    """A rectangle holds its west and south edges, and not its east and north ones."""
    boxes = cells.rectangles() if hasattr(cells, "rectangles") else None
    if boxes is None:
        return
    west, south, east, north = boxes.T
    numbers = np.arange(len(cells))
    for x, y in ((west, south), (np.nextafter(east, -np.inf), south), (west, np.nextafter(north, -np.inf))):
        assert np.array_equal(cells.locate(np.column_stack([x, y])), numbers)
    for x, y in ((east, south), (west, north), (east, north)):
        assert (cells.locate(np.column_stack([x, y])) != numbers).all()


@every_class
def test_each_record_has_one_cell_by_itself(name: str, town: World) -> None:
    check(question(name, town), town)


@every_class
def test_a_world_without_a_shore_is_no_different(name: str, world: World) -> None:
    # Degrees: cell borders are not whole numbers of metres.
    check(question(name, world), world)


@pytest.mark.parametrize("crs", ["EPSG:32633", "EPSG:4326", "EPSG:3857"])
def test_rounding_is_told_of_each_record_by_itself_in_any_crs(crs: str, town: World, world: World) -> None:
    check(precision(town, crs), town)
    check(precision(world, crs), world)


@every_class
def test_the_vault_counts_every_record_at_most_once(name: str, town: World) -> None:
    cells = question(name, town)
    xy = places(cells, town)

    alone = np.zeros(len(cells), dtype=np.int64)
    for row in range(400):
        alone += tally_cells(cells, xy[row : row + 1], len(cells))

    assert np.array_equal(alone, tally_cells(cells, xy[:400], len(cells)))
    assert alone.sum() <= 400
    assert alone.max() >= 1


@pytest.mark.parametrize("name", [name for name in TABLE if hasattr(getattr(pointveil.cells, name), "base")])
def test_cells_are_made_of_their_base_cells(name: str, town: World) -> None:
    cells = question(name, town)
    xy = places(cells, town)

    base = cells.base.locate(xy)

    assert len(cells.of_base) == len(cells.base)
    assert np.array_equal(np.where(base >= 0, cells.of_base[base], -1), cells.locate(xy))


@every_class
def test_most_places_on_land_have_a_cell(name: str, town: World) -> None:
    cells = question(name, town)
    xy = RNG.uniform(town.bounds[:2], town.bounds[2:], (4000, 2))
    xy = xy[town.on_land(xy)]

    found = cells.locate(xy)

    left_out = LEAVES_OUT.get(name, 0)
    assert (found == -1).mean() <= left_out


# An edge without bins; a pixel at the shore; codes that do not exist; two of three cells that are not chosen.
LEAVES_OUT = {"RoadBins": 0.3, "Distances": 0.3, "CodedCells": 0.5, "ChosenCells": 0.75, "ChosenPixels": 0.75}


class WrongCodes(CodedCells):
    """Coded cells to be spoilt."""


class CommonestCode(WrongCodes):
    """A code that does not exist becomes the commonest of the batch."""

    def locate(self, xy: Floats, codes: Any = ()) -> NDArray[np.int64]:
        """Look at the other records' codes."""
        commonest = np.bincount(codes[0]).argmax() if len(xy) else 0
        return super().locate(xy, (np.where(codes[0] < 6, codes[0], commonest), codes[1]))


class NumberedAnew(WrongCodes):
    """Codes are numbered by which of them occur: a domain taken from the data."""

    def locate(self, xy: Floats, codes: Any = ()) -> NDArray[np.int64]:
        """Look at which codes there are."""
        return super().locate(xy, (np.unique(codes[0], return_inverse=True)[1], codes[1]))


class WithoutBounds(WrongCodes):
    """A code that does not exist runs into the next cell, or past the last."""

    def locate(self, xy: Floats, codes: Any = ()) -> NDArray[np.int64]:
        """Do not check."""
        return np.asarray(self.places.locate(xy) * 12 + codes[0].astype(np.int64) * 4 + codes[1])


@pytest.mark.parametrize("kind", [CommonestCode, NumberedAnew, WithoutBounds])
def test_wrong_codes_do_not_pass(kind: type[WrongCodes], town: World) -> None:
    honest = coded(town)
    with pytest.raises(AssertionError):
        check(CodedAsCells(kind(honest.places, honest.looked_up)), town)


def test_every_class_stands_in_the_table() -> None:
    classes = set()
    for module in pkgutil.iter_modules(pointveil.cells.__path__):
        for name, kind in inspect.getmembers(
            importlib.import_module(f"pointveil.cells.{module.name}"), inspect.isclass
        ):
            asks = hasattr(kind, "locate") or hasattr(kind, "locate_sites")
            if asks and kind.__module__.startswith("pointveil.cells") and not getattr(kind, "_is_protocol", False):
                classes.add(name)

    assert classes == set(TABLE)


class Wrong(Grid):
    """A grid to be spoilt."""


class ByNeighbours(Wrong):
    """A record goes where the record before it is, if that is near."""

    def locate(self, xy: Floats) -> NDArray[np.int64]:
        """Look at the neighbours in the batch."""
        moved = xy.copy()
        with np.errstate(all="ignore"):
            near = np.abs(xy[1:] - xy[:-1]).sum(axis=1) < 50
        moved[1:][near] = xy[:-1][near]
        return super().locate(moved)


class ByNumber(Wrong):
    """Cells are as coarse as there are few records."""

    def locate(self, xy: Floats) -> NDArray[np.int64]:
        """Look at the number of records in the batch."""
        return np.where(len(xy) > 20, super().locate(xy), Grid(self.bounds, 1, 1).locate(xy))


class ByOrder(Wrong):
    """The first record of each cell is counted elsewhere."""

    def locate(self, xy: Floats) -> NDArray[np.int64]:
        """Look at the order of the batch."""
        found = super().locate(xy)
        first = np.unique(found, return_index=True)[1]
        found[first] = np.where(found[first] < 0, -1, 0)
        return found


class ByMiddle(Wrong):
    """A record that is no number goes to the middle of the others."""

    def locate(self, xy: Floats) -> NDArray[np.int64]:
        """Look at all records, once one is odd."""
        finite = np.isfinite(xy[:, 0]) & np.isfinite(xy[:, 1])
        middle = np.clip(np.median(xy[finite], axis=0), 0, 999) if finite.any() else np.zeros(2)
        return super().locate(np.where(finite[:, None], xy, middle))


class Closed(Wrong):
    """The east and north edges of the world belong to its last cells."""

    def locate(self, xy: Floats) -> NDArray[np.int64]:
        """Take the edge in."""
        return super().locate(np.where(xy == self.bounds[2:], np.nextafter(xy, -np.inf), xy))


class ClosedWithin(Wrong):
    """The border between two cells belongs to the western one."""

    def locate(self, xy: Floats) -> NDArray[np.int64]:
        """Take the border to the other side."""
        inner = self.edges[0][1:-1]
        x = np.where(np.isin(xy[:, 0], inner), np.nextafter(xy[:, 0], -np.inf), xy[:, 0])
        return super().locate(np.column_stack([x, xy[:, 1]]))


class Floating(Wrong):
    """Cells are floats."""

    def locate(self, xy: Floats) -> Any:
        """Return the wrong kind of number."""
        return super().locate(xy).astype(np.float64)


class Twice(Wrong):
    """A record on a border is in both cells."""

    def locate(self, xy: Floats) -> Any:
        """Return two numbers for each record."""
        return np.column_stack([super().locate(xy)] * 2)


class TooMany(Wrong):
    """A record outside has a cell that there is not."""

    def locate(self, xy: Floats) -> NDArray[np.int64]:
        """Return a number beyond the last."""
        found = super().locate(xy)
        return np.where(found < 0, len(self), found)


class Loud(Wrong):
    """Warns of odd values, which tells that there are some."""

    def locate(self, xy: Floats) -> NDArray[np.int64]:
        """Let numpy warn."""
        return super().locate(xy) + 0 * np.floor(np.nan_to_num(xy[:, 0] - xy[:, 0])).astype(np.int64)


class Forgetful(Wrong):
    """Remembers how often it was asked."""

    def locate(self, xy: Floats) -> NDArray[np.int64]:
        """Look at what came before."""
        asked = vars(self).setdefault("asked", [])
        asked.append(len(xy))
        found = super().locate(xy)
        return np.where((found == 3) & (len(asked) > 3), 2, found)


WRONG = [ByNeighbours, ByNumber, ByOrder, ByMiddle, Closed, ClosedWithin, Floating, Twice, TooMany, Loud, Forgetful]


@pytest.mark.parametrize("kind", WRONG)
def test_wrong_cells_do_not_pass(kind: type[Wrong], town: World) -> None:
    with pytest.raises((AssertionError, RuntimeWarning, FloatingPointError, ValueError)):
        check(kind(town.bounds, 7, 3), town)


def test_an_honest_class_of_the_same_kind_passes(town: World) -> None:
    check(Wrong(town.bounds, 7, 3), town)
