"""Where people far from all roads can be: small squares, found once and drawn from for all points."""

import math
from dataclasses import dataclass

import numpy as np

from pointveil.cells import RoadBins
from pointveil.cells.arrays import Bools, Floats, Ints, blocks, rows
from pointveil.estimate.offset_laws import FarLaw
from pointveil.network.street_cells import PROBES
from pointveil.world import World

PER_POINT = 12  # squares for each person that a part is likely to have,
FINEST = 5.0  # but none narrower than so many metres,
MOST_SQUARES = 2**20  # and no more in all, beyond one for each part
AT_ONCE = 2**17  # squares that are looked at at a time: a bound on memory
HALVINGS = 6  # how often a place that does not fit is brought nearer to the middle of its square


@dataclass(frozen=True, eq=False)
class FarPlaces:
    """Squares whose middles are on land and out of reach of all roads: a pool of them for each far part."""

    world: World
    bins: RoadBins
    pool: Ints  # (far parts,): its own; or that of its cell, where nothing in the part itself is out of reach
    size: Floats  # (pools, 2) metres: width and height of its squares
    first: Ints  # (pools + 1,): its first square
    running: Floats  # (squares + 1,): the shares of squares in the people of their pools, added up
    middle: Floats  # (squares + 1, 2) metres; the last is nowhere

    @classmethod
    def of(cls, world: World, bins: RoadBins, people: Floats, law: FarLaw | None) -> "FarPlaces":
        """Look for squares in the far parts, which have so many people, and weigh them by their distance to roads."""
        parts, cells = bins.far, bins.far.coarse
        boxes = np.concatenate([parts.rectangles(), cells.rectangles()])
        extent = boxes[:, 2:] - boxes[:, :2]
        asked = np.flatnonzero(people > 0)
        sides, shared = np.zeros((2, len(boxes)), dtype=np.int64)
        sides[asked] = _sides(people[asked], extent[asked].min(axis=1))
        own = _squares(world, bins, boxes, sides)
        pool, lost = np.arange(len(parts)), np.setdiff1d(asked, own[0])
        pool[lost] = len(parts) + parts.owner[lost]
        shared[pool[lost]] = PROBES[-1]
        both = zip(own, _squares(world, bins, boxes, shared), strict=True)
        owner, middle, distance = (np.concatenate(pair) for pair in both)
        there = np.bincount(pool, people, len(boxes)).astype(np.float64)
        weight = np.ones(len(owner)) if law is None else law.factors(owner, distance, there)
        share = weight / np.bincount(owner, weight)[owner]
        first = np.searchsorted(owner, np.arange(len(boxes) + 1))
        size = extent / np.maximum(sides + shared, 1)[:, None]
        nowhere = np.full((1, 2), np.nan)
        running = np.concatenate([[0.0], np.cumsum(share)])
        return cls(world, bins, pool, size, first, running, np.concatenate([middle, nowhere]))

    def draw(self, part: Ints, stretch: Floats, rng: np.random.Generator) -> Floats:
        """Return a place for each point in a far part, (n, 2) metres; NaN where there is none.

        `stretch` is how far through the people of its part each point is, from 0 to 1: squares are taken in order.
        """
        pool = self.pool[part]
        begin, end = self.first[pool], self.first[pool + 1]
        square = np.searchsorted(self.running, self.running[begin] + stretch, side="right") - 1
        square = np.where(begin < end, np.clip(square, begin, end - 1), len(self.middle) - 1)
        xy = rows(self.middle, square)
        step = (rng.random((len(part), 2)) - 0.5) * rows(self.size, pool)
        left = np.arange(len(part))
        for _ in range(HALVINGS):  # the middle fits, and so do most places around it
            left = left[~_fit(self.world, self.bins, rows(xy, left) + rows(step, left))[0]]
            step[left] /= 2
        step[left] = 0.0
        xy += step
        return xy


def _sides(people: Floats, metres: Floats) -> Ints:
    """Return into how many squares each side of a part is cut, given its people and its width."""
    sides = np.clip(np.ceil(np.sqrt(PER_POINT * people)), PROBES[0], np.ceil(metres / FINEST))
    excess = max(1.0, np.square(sides).sum() / MOST_SQUARES)
    return np.maximum(sides // math.sqrt(excess), 1).astype(np.int64)


def _squares(world: World, bins: RoadBins, boxes: Floats, sides: Ints) -> tuple[Ints, Floats, Floats]:
    """Cut each box into sides × sides squares; of those that fit, return the box, the middle, and how far roads are."""
    ends = np.cumsum(sides**2)
    kept: list[tuple[Ints, Floats, Floats]] = []
    for block in blocks(int(ends[-1]), AT_ONCE):
        number = np.arange(block.start, block.stop)
        owner = np.searchsorted(ends, number, side="right")
        box, side = boxes.take(owner, axis=0), sides.take(owner)
        row, column = np.divmod(number - ends.take(owner) + side**2, side)
        middle = np.empty((len(side), 2))
        for axis, place in enumerate((column, row)):
            np.multiply((place + 0.5) / side, box[:, axis + 2] - box[:, axis], out=middle[:, axis])
            middle[:, axis] += box[:, axis]
        fitting, distance = _fit(world, bins, middle)
        kept.append((owner[fitting], rows(middle, fitting), distance[fitting]))
    none = (np.zeros(0, dtype=np.int64), np.zeros((0, 2)), np.zeros(0))
    owners, middles, distances = zip(none, *kept, strict=True)
    return np.concatenate(owners), np.concatenate(middles), np.concatenate(distances)


def _fit(world: World, bins: RoadBins, xy: Floats) -> tuple[Bools, Floats]:
    """Return which places are on land and out of reach of all roads, and how far all those on land are from roads."""
    fitting, distance = world.on_land(xy), np.zeros(len(xy))
    distance[fitting] = bins.cells.streets.distances(rows(xy, fitting))
    fitting &= distance > bins.cells.reach
    return fitting, distance
