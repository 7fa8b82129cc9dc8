"""Real beside synthetic points, with what the measures share worked out once."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import shapely
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from pointveil.cells import Floats, Ints, Streets
from pointveil.columns import Column
from pointveil.evaluation.facilities import Customers
from pointveil.evaluation.kept import Bins, Codes, Of, Tally, bins_of
from pointveil.keeping.assignment import GOLDEN, walk
from pointveil.network import streets_of
from pointveil.statement import Statement
from pointveil.world import World

XY: TypeAlias = Floats  # points in metres of the world, one row each: x, then y
Counts: TypeAlias = Ints

CENTRES = 100
SHIFTS = 10
SHIFTS_OF_BINS = 4  # fewer do, since there are many more cells
FARTHEST = 2**30  # cells; keeps row and column numbers within an integer


@dataclass(frozen=True, eq=False)
class Comparison:
    """Real and synthetic points in one world: what every measure is given."""

    real: XY  # those on land, (n, 2) finite metres of the world
    synthetic: XY  # (m, 2) finite metres
    world: World
    seed: int = 0  # chooses centres, grid shifts and samples
    names: tuple[str, str] = ("the real points", "the synthetic points")  # for reports
    left_out: tuple[int, int] = (0, 0)  # not compared: real points off land, and points without coordinates
    statement: Statement | None = None  # what is promised about the synthetic points, if anything
    columns: tuple[Column, ...] = ()  # kept, and so to be compared
    crs: str | None = None  # of the file of real points, if there is one
    codes: tuple[Codes, Codes] = ((), ())  # of the real and of the synthetic points, in each column but ids
    population: XY | None = None  # the points that the real ones are a sample of, if they are known

    def against(self, synthetic: XY) -> "Comparison":
        """Compare other synthetic points with the same real ones; what is known of those is kept."""
        other = Comparison(self.real, synthetic, self.world, self.seed, crs=self.crs, population=self.population)
        for shared in ("centres", "_road_search", "_real"):
            other.__dict__[shared] = getattr(self, shared)
        return other

    @property
    def everybody(self) -> XY:
        """The population; the real points where none is known."""
        return self.real if self.population is None else self.population

    def bins(self, of: Of) -> list[Bins]:
        """Return what kept columns say of each point: each "part" of a column, those of one kind, or each "pair"."""
        return self._bins[of]

    def without_place(self, bins: Bins) -> Bins:
        """Return the same, with bins of the synthetic points that were drawn without looking at the place."""
        # They are the very bins of the release, dealt out anew: the whole city's histogram stays exactly as released,
        # and only the tie to the place is cut. They are dealt evenly along a space-filling curve, as a release deals
        # its own; if they were dealt by chance, chance would add an error of its own and flatter the release.
        turn = (GOLDEN * np.arange(len(self.synthetic)) % 1.0).argsort(kind="stable").argsort(kind="stable")
        dealt = np.empty_like(bins.synthetic)
        dealt[self._walk] = np.sort(bins.synthetic)[turn]
        return replace(bins, synthetic=dealt)

    @cached_property
    def centres(self) -> XY:
        """Places to ask about: 100 road nodes, or places on land if there are no roads; the points have no say."""
        return choose_centres(self.world, self.seed)

    @property
    def has_roads(self) -> bool:
        """Whether the world has roads."""
        return self.world.roads is not None and len(self.world.roads) > 0

    @property
    def road_distances(self) -> tuple[Floats, Floats]:
        """Metres from each real and each synthetic point to the nearest road, as the roads were given."""
        return self._real.road_distances, self._synthetic.road_distances

    @property
    def spots(self) -> "tuple[Spots, Spots]":
        """The distinct places of the real and of the synthetic points."""
        return self._real.spots, self._synthetic.spots

    def counts_within(self, radius: float, centres: XY | None = None) -> tuple[Counts, Counts]:
        """Count the points at most `radius` metres from each centre."""
        places = self.centres if centres is None else np.asarray(centres, dtype=np.float64)
        return self._real.counts_within(places, radius), self._alike(self._synthetic.counts_within(places, radius))

    def points_within(self, radius: float) -> tuple[list[Ints], list[Ints]]:
        """Return the numbers of the points at most `radius` metres from each centre."""
        return self._real.points_within(self.centres, radius), self._synthetic.points_within(self.centres, radius)

    def customers(self, candidates: XY | None = None, existing: XY | None = None) -> tuple[Customers, Customers]:
        """Take the points for customers who choose among candidates (the centres, if none are given)."""
        if candidates is None and existing is None:
            return self._real.customers, self._synthetic.customers
        places = self.centres if candidates is None else np.asarray(candidates, dtype=np.float64)
        real, synthetic = (Customers.of(spots.places, spots.weights, places, existing) for spots in self.spots)
        return real, synthetic

    def cell_counts(self, cell: float, offset: tuple[float, float] = (0.0, 0.0)) -> tuple[Counts, Counts]:
        """Count both sets in the same square cells; returns the counts of every cell that holds any point.

        The grid starts `offset` west and south of the world's corner, in metres like `cell`, and never ends, so a point
        outside the bounds is counted too. A cell holds its west and south edges.
        """
        number, cells = _numbered(*self._cell_numbers(cell, np.array(self.world.bounds[:2]) - offset))
        real, synthetic = (np.bincount(part, minlength=cells) for part in np.split(number, [len(self.real)]))
        return real, self._alike(synthetic)

    def _alike(self, counts: Counts) -> NDArray[Any]:
        """Return counts of synthetic points; by person as shares of all of them, times the number of real points.

        How many points persons have is an estimate with a margin of its own, and measured as such (`total_count`).
        """
        if self.statement is None or self.statement.people is None or not len(self.synthetic):
            return counts
        return counts * (len(self.real) / len(self.synthetic))

    def shifted_cell_counts(self, cell: float, shifts: int = SHIFTS) -> list[tuple[Counts, Counts]]:
        """Count both sets in square cells of side `cell` metres, for each of several random places of the grid."""
        return [self.cell_counts(cell, (x, y)) for x, y in self.random_offsets(cell, shifts)]

    def tallies(self, bins: Bins, cell: float, shifts: int = SHIFTS_OF_BINS) -> Iterator[Tally]:
        """Count both sets in squares of side `cell` metres and in bins, for several random places of the grid."""
        corner, both = np.array(self.world.bounds[:2]), np.concatenate([bins.real, bins.synthetic])
        for offset in self.random_offsets(cell, shifts):
            number, cells = self._cell_numbers(cell, corner - offset)
            square, squares = _numbered(number, cells)
            at, held = _numbered(square * bins.size + both, squares * bins.size)
            which = np.empty(held, dtype=np.int64)
            which[at] = square * bins.size + both
            real, synthetic = (np.bincount(part, minlength=held) for part in np.split(at, [len(self.real)]))
            yield Tally(which // bins.size, which % bins.size, real, synthetic)

    def random_offsets(self, cell: float, shifts: int = SHIFTS) -> Floats:
        """Return random places for a grid of cells of side `cell`, `(shifts, 2)` metres."""
        return np.random.default_rng(self.seed).uniform(0, cell, size=(shifts, 2))

    @cached_property
    def _walk(self) -> Ints:
        return walk(self.synthetic)

    @cached_property
    def _bins(self) -> Mapping[Of, list[Bins]]:
        return bins_of(self.columns, *self.codes)

    @cached_property
    def _columns(self) -> Floats:
        """All x, then all y: `(2, n + m)` metres, the real points first."""
        return np.ascontiguousarray(np.concatenate([self.real, self.synthetic]).T)

    def _cell_numbers(self, cell: float, corner: Floats) -> tuple[Counts, int]:
        """Number the cells of all points, row by row; and say how many there would be without gaps."""
        if not self._columns.size:
            return np.zeros(0, dtype=np.int64), 0
        place = np.floor((self._columns - corner[:, None]) / cell)
        column, row = np.clip(place, -FARTHEST, FARTHEST, out=place).astype(np.int64)
        column -= column.min()
        row -= row.min()
        columns, rows = int(column.max()) + 1, int(row.max()) + 1
        return row * columns + column, columns * rows

    @cached_property
    def _road_search(self) -> Streets | None:
        if self.world.roads is None or not self.has_roads:
            return None
        return streets_of(shapely.get_parts(self.world.roads.lines_m), self.world.bounds)

    @cached_property
    def _real(self) -> "_Side":
        return _Side(self.real, self)

    @cached_property
    def _synthetic(self) -> "_Side":
        return _Side(self.synthetic, self)


@dataclass(frozen=True, eq=False)
class Spots:
    """Distinct places, and how many points stand on each."""

    places: XY  # (k, 2) metres
    weights: Floats  # (k,) points

    @cached_property
    def tree(self) -> cKDTree:
        """A search tree of the places."""
        return cKDTree(self.places)


@dataclass(frozen=True, eq=False)
class _Side:
    """What is known of one of the two sets of points."""

    xy: XY
    comparison: Comparison

    @cached_property
    def tree(self) -> cKDTree:
        return cKDTree(self.xy)

    @cached_property
    def spots(self) -> Spots:
        spots, counts = np.unique(self.xy[:, 0] + 1j * self.xy[:, 1], return_counts=True)
        return Spots(np.column_stack([spots.real, spots.imag]), counts.astype(np.float64))

    @cached_property
    def customers(self) -> Customers:
        return Customers.of(self.spots.places, self.spots.weights, self.comparison.centres)

    @cached_property
    def road_distances(self) -> Floats:
        search = self.comparison._road_search  # noqa: SLF001
        return np.full(len(self.xy), np.nan) if search is None else search.distances(self.xy)

    def counts_within(self, centres: XY, radius: float) -> Counts:
        return np.asarray(self.tree.query_ball_point(centres, radius, return_length=True), dtype=np.int64)

    def points_within(self, centres: XY, radius: float) -> list[Ints]:
        return [np.asarray(found, dtype=np.int64) for found in self.tree.query_ball_point(centres, radius)]


def _numbered(number: Counts, cells: int) -> tuple[Counts, int]:
    """Number the cells that hold a point anew, without gaps and in the same order; and say how many there are."""
    if cells > 10_000_000 + 10 * len(number):  # points that lie far apart: a table would be too long
        names, number = np.unique(number, return_inverse=True)
        return number.astype(np.int64), len(names)
    held = np.zeros(cells, dtype=bool)
    held[number] = True
    return (np.cumsum(held) - 1)[number], int(held.sum())


def choose_centres(world: World, seed: int, *, count: int = CENTRES) -> XY:
    """Return random road nodes, all if there are fewer; random places on land if there are no roads."""
    # They are chosen from public knowledge and the seed only, never from the points.
    rng = np.random.default_rng(seed)
    nodes = road_nodes(world)
    if not len(nodes):
        return _land_points(world, count, rng)
    return nodes[rng.choice(len(nodes), size=min(count, len(nodes)), replace=False)]


def road_nodes(world: World) -> XY:
    """Return the ends of the roads that lie on land, each once, in order of x and then y."""
    # Ends within the same centimetre are one node.
    if world.roads is None:
        return np.zeros((0, 2))
    lines = shapely.get_parts(world.roads.lines_m)
    lines = lines[shapely.get_num_points(lines) > 1]
    ends = np.concatenate([shapely.get_coordinates(shapely.get_point(lines, end)) for end in (0, -1)])
    nodes = np.unique(np.round(ends, 2), axis=0)
    return np.asarray(nodes[world.on_land(nodes)], dtype=np.float64)


def _land_points(world: World, count: int, rng: np.random.Generator) -> XY:
    """Return up to `count` even random points on land; fewer only where there is next to no land."""
    west, south, east, north = world.bounds
    found = np.zeros((0, 2))
    for _ in range(100):
        drawn = rng.uniform((west, south), (east, north), size=(10 * count, 2))
        found = np.concatenate([found, drawn[world.on_land(drawn)]])
        if len(found) >= count:
            break
    return found[:count]
