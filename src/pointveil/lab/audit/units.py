"""Who may be in the data, and who is known to be: places, each with a number of points."""

from dataclasses import dataclass

import numpy as np

from pointveil.cells import Bools, Floats, Ints
from pointveil.lab.audit.subjects import USUAL, Records
from pointveil.world import World

HAIR = 0.001  # metres: less than any cell, more than any rounding
AROUND = np.array([[x, y] for x in (-HAIR, HAIR) for y in (-HAIR, HAIR)])


@dataclass(frozen=True)
class Units:
    """Units that are in the data, or not: the attacker must guess."""

    xy: Floats  # one row a unit, one column a place where it has points, in metres
    weight: int  # how many points it has at each of them
    group: Ints  # what kind of unit each is; an attacker may look at one kind alone
    said: Ints  # what each says at each place

    def __len__(self) -> int:
        return len(self.xy)

    @classmethod
    def at(cls, world: World, xy: object, weight: int, group: object = 0, said: object = USUAL) -> "Units":
        """Return units at these places, given in the world's coordinates: one, or a row of places, for each."""
        places = np.asarray(xy, dtype=np.float64)
        places = places[:, None, :] if places.ndim == 2 else places
        metres = world.projection.to_metres(places.reshape(-1, 2)).reshape(places.shape)
        kind = np.broadcast_to(np.asarray(group, dtype=np.int64), len(places))
        return cls(metres, weight, kind, np.broadcast_to(np.asarray(said, dtype=np.int64), places.shape[1]))

    def chosen(self, which: Bools) -> "Units":
        """Return some of the units."""
        return Units(self.xy[which], self.weight, self.group[which], self.said)

    @property
    def home(self) -> Floats:
        """The first place of each."""
        return np.asarray(self.xy[:, 0])

    @property
    def all_said(self) -> Ints:
        """What is said at each place of each unit, in turn."""
        return np.tile(self.said, len(self))


@dataclass(frozen=True)
class Known:
    """Places, in metres, where points are known to be, and how many at each."""

    xy: Floats
    count: Ints
    said: Ints  # what they say at each

    @classmethod
    def of(cls, records: Records, world: World) -> "Known":
        """Return where these records are."""
        return cls(world.projection.to_metres(records.xy), np.ones(len(records.xy), dtype=np.int64), records.said)

    def with_units(self, units: Units, there: Bools) -> "Known":
        """Return these, and those units that are there."""
        more = units.xy[there].reshape(-1, 2)
        said = np.append(self.said, np.tile(units.said, int(there.sum())))
        return Known(np.concatenate([self.xy, more]), np.append(self.count, np.full(len(more), units.weight)), said)

    def tally(self, cell: Ints, size: int) -> Ints:
        """Return how many known points are in each cell, given the cell of every place."""
        inside = (cell >= 0) & (cell < size)
        return np.bincount(cell[inside], self.count[inside], minlength=size).astype(np.int64)


def distinct(unit: Ints, cell: Ints, size: int) -> tuple[Ints, Ints, Ints]:
    """Return each pair of unit and cell once, and how often it was there."""
    inside = (cell >= 0) & (cell < size)
    pair, times = np.unique(unit[inside] * size + cell[inside], return_counts=True)
    return pair // size, pair % size, times
