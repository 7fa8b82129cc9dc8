"""Real beside synthetic points, with what the measures share worked out once."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np
import shapely
from scipy.spatial import cKDTree

from pointveil.cells import Floats, Ints, Streets
from pointveil.evaluation.facilities import Customers
from pointveil.network import streets_of
from pointveil.statement import Statement
from pointveil.world import World

XY: TypeAlias = Floats  # points in metres of the world, one row each: x, then y
Counts: TypeAlias = Ints
Kept = TypeVar("Kept")

CENTRES = 100
SHIFTS = 10
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
    _kept: dict[Any, Any] = field(default_factory=dict, init=False, repr=False)

    def against(self, synthetic: XY) -> "Comparison":
        """Compare other synthetic points with the same real ones; what is known of those is kept."""
        other = Comparison(self.real, synthetic, self.world, self.seed)
        for shared in ("centres", "_road_search", "_real"):
            other.__dict__[shared] = getattr(self, shared)
        return other

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
        if centres is None:
            return self._keep(("within", radius), lambda: self.counts_within(radius, self.centres))
        places = np.asarray(centres, dtype=np.float64)
        return self._real.counts_within(places, radius), self._synthetic.counts_within(places, radius)

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
        number, cells = self._cell_numbers(cell, np.array(self.world.bounds[:2]) - offset)
        real = np.bincount(number[: len(self.real)], minlength=cells)
        synthetic = np.bincount(number[len(self.real) :], minlength=cells)
        held = np.flatnonzero(real + synthetic)
        return real[held], synthetic[held]

    def shifted_cell_counts(self, cell: float, shifts: int = SHIFTS) -> list[tuple[Counts, Counts]]:
        """Count both sets in square cells of side `cell` metres, for each of several random places of the grid."""
        return self._keep(
            ("cells", cell, shifts),
            lambda: [self.cell_counts(cell, (x, y)) for x, y in self.random_offsets(cell, shifts)],
        )

    def random_offsets(self, cell: float, shifts: int = SHIFTS) -> Floats:
        """Return random places for a grid of cells of side `cell`, `(shifts, 2)` metres."""
        return np.random.default_rng(self.seed).uniform(0, cell, size=(shifts, 2))

    def _keep(self, name: Any, work_out: Callable[[], Kept]) -> Kept:
        if name not in self._kept:
            self._kept[name] = work_out()
        return cast("Kept", self._kept[name])

    @cached_property
    def _columns(self) -> Floats:
        """All x, then all y: `(2, n + m)` metres, the real points first."""
        return np.ascontiguousarray(np.concatenate([self.real, self.synthetic]).T)

    @cached_property
    def _extent(self) -> Floats:
        """Least and greatest x and y: `(2, 2)` metres."""
        return np.column_stack([self._columns.min(axis=1), self._columns.max(axis=1)])

    def _cell_numbers(self, cell: float, corner: Floats) -> tuple[Counts, int]:
        """Number the cells of all points: directly, or by sorting if they lie far apart."""
        if not self._columns.size:
            return np.zeros(0, dtype=np.int64), 0
        steps, sizes = [], []
        for values, extent, start in zip(self._columns, self._extent, corner, strict=True):
            # Rounding never changes the order of numbers, so the extent tells the first and the last cell.
            first, last = np.clip(np.floor((extent - start) / cell), -FARTHEST, FARTHEST)
            place = np.floor((values - start) / cell)
            if abs(first) == FARTHEST or abs(last) == FARTHEST:
                np.clip(place, -FARTHEST, FARTHEST, out=place)
            place -= first
            steps.append(place.astype(np.int64))
            sizes.append(int(last - first) + 1)
        number = steps[1] * sizes[0] + steps[0]
        if sizes[0] * sizes[1] <= 10_000_000 + 10 * len(number):
            return number, sizes[0] * sizes[1]
        names, number = np.unique(number, return_inverse=True)
        return number.astype(np.int64), len(names)

    @cached_property
    def _road_search(self) -> Streets | None:
        if self.world.roads is None or not len(self.world.roads):
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
        if not len(self.xy):
            return np.zeros(len(centres), dtype=np.int64)
        return np.asarray(self.tree.query_ball_point(centres, radius, return_length=True), dtype=np.int64)


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
