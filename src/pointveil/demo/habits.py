"""What people do in a town: walk its streets, sit in its parks, wait at its stops."""

from dataclasses import dataclass

import numpy as np
import shapely
from numpy.typing import NDArray

from pointveil.cells import Floats
from pointveil.demo.city import Place
from pointveil.ground.triangles import Triangulation
from pointveil.world.roads import Roads
from pointveil.world.shapes import straight_pieces

Generator = np.random.Generator


# How streets of each class are used: people per metre, against other classes; metres from the middle of the street to
# the edge of its carriageway, and to where people walk; and the share of people who walk.
STREET_CLASSES = {
    "primary": (2.6, 5.0, 10.0, 0.55),
    "primary_link": (1.2, 3.0, 6.0, 0.30),
    "secondary": (2.2, 4.5, 8.5, 0.60),
    "tertiary": (1.7, 4.0, 7.5, 0.65),
    "tertiary_link": (1.0, 3.0, 6.0, 0.30),
    "residential": (1.0, 3.5, 6.5, 0.70),
    "unclassified": (1.1, 3.5, 6.5, 0.70),
    "service": (0.5, 2.5, 3.5, 0.75),
}
# People per square metre of each kind of ground, against other kinds.
GROUNDS = {"market": 5.0, "square": 2.0, "street": 4.0, "park": 0.25}
# People around each kind of spot, against other kinds, and how many metres they stand away.
SPOTS = {"station": (9.0, 28.0), "market": (9.0, 22.0), "ferry": (4.0, 16.0), "metro": (1.0, 7.0), "tram": (0.8, 5.0)}

DOORWAYS, DOORWAY_SHARE, DOORWAY_REACH = 900, 0.35, 4.0  # doors where people gather, and metres around them
TABLES, TABLE_SHARE, TABLE_REACH = 150, 0.5, 4.0  # groups that sit together in squares and parks
CENTRE_PULL, CENTRE_REACH = (4.0, 200.0)  # streets near a busy spot are busier by so much, within so many metres
TASTE = 0.7  # how differently people like streets, grounds, doors and spots of the same kind


@dataclass(frozen=True, eq=False)
class Spots:
    """People who wait around a point."""

    xy: Floats
    crowd: Floats
    reach: Floats

    @classmethod
    def of(cls, somewhere: tuple[Place, ...], rng: Generator) -> "Spots":
        """Find the spots among the places."""
        points = [place for place in somewhere if isinstance(place.shape, shapely.Point)]
        crowd, reach = np.array([SPOTS[place.kind] for place in points]).T
        xy = shapely.get_coordinates([place.shape for place in points])
        return cls(xy, _shares(crowd * _taste(len(points), rng)), reach)

    def stand(self, count: int, rng: Generator) -> Floats:
        """Return people around the spots, most of them near."""
        spot = rng.choice(len(self.xy), count, p=self.crowd)
        distance, angle = rng.gamma(2.0, self.reach[spot] / 2), rng.uniform(0, 2 * np.pi, count)
        away: Floats = distance[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
        return self.xy[spot] + away

    def pull(self, xy: Floats) -> Floats:
        """Return how much busier than elsewhere these points are."""
        distance = np.hypot(*(xy[:, None] - self.xy).transpose(2, 0, 1))
        nearness: Floats = np.exp(-distance / CENTRE_REACH) @ self.crowd
        return 1 + CENTRE_PULL * nearness


@dataclass(frozen=True, eq=False)
class Grounds:
    """People on squares and in parks, some in groups."""

    triangles: Triangulation
    crowd: Floats
    tables: Floats

    @classmethod
    def of(cls, somewhere: tuple[Place, ...], rng: Generator) -> "Grounds":
        """Find the grounds among the places, and set up the tables."""
        grounds = [place for place in somewhere if isinstance(place.shape, shapely.Polygon)]
        shapes = np.array([place.shape for place in grounds], dtype=object)
        density = np.array([GROUNDS[place.kind] for place in grounds])
        crowd = _shares(shapely.area(shapes) * density * _taste(len(grounds), rng))
        triangles = Triangulation.of(shapes)
        return cls(triangles, crowd, triangles.pick(rng.choice(len(crowd), TABLES, p=crowd), rng))

    def stand(self, count: int, rng: Generator) -> Floats:
        """Return people at the tables and anywhere on the grounds."""
        alone = self.triangles.pick(rng.choice(len(self.crowd), count, p=self.crowd), rng)
        together = rng.choice(self.tables, count) + rng.normal(0, TABLE_REACH, (count, 2))
        sits = rng.random(count) < TABLE_SHARE
        return np.where(sits[:, None], together, alone)


@dataclass(frozen=True, eq=False)
class Streets:
    """People along streets: in the middle on wheels, at the sides on foot, most near doors they like.

    The streets are laid end to end on a line from 0 to 1, on which a busy stretch is long.
    """

    starts: Floats  # of the straight stretches of the streets
    steps: Floats  # from there to their ends
    ends: Floats  # where each stretch ends on the line
    manners: Floats  # lane, pavement and walking share of each stretch
    doorways: Floats  # where the doors are on the line
    doorway_crowd: Floats  # share of people at each

    @classmethod
    def of(cls, roads: Roads, spots: Spots, rng: Generator) -> "Streets":
        """Let people choose their streets and doors."""
        starts, stops, line = straight_pieces(roads.lines_m)
        steps = stops - starts
        classes = [STREET_CLASSES[highway] for highway in roads.attributes["highway"].to_pylist()]
        crowd, *manners = np.array(classes).T
        liked = _taste_by_name(roads.attributes["name"].to_pylist(), rng)
        weight = np.hypot(*steps.T) * (crowd * liked)[line] * spots.pull(starts + steps / 2)
        doors = _shares(_taste(DOORWAYS, rng))
        ends = np.cumsum(_shares(weight))
        return cls(starts, steps, ends, np.array(manners).T[line], rng.random(DOORWAYS), doors)

    def stand(self, count: int, rng: Generator) -> Floats:
        """Return people along the streets."""
        door = rng.choice(len(self.doorways), count, p=self.doorway_crowd)
        at_door = rng.random(count) < DOORWAY_SHARE
        stretch, xy, ahead = self._walk_to(np.where(at_door, self.doorways[door], rng.random(count)))
        lane, pavement, walking = self.manners[stretch].T
        on_foot = at_door | (rng.random(count) < walking)
        side = np.where(at_door, 2 * (door % 2) - 1, rng.choice((-1, 1), count))
        offset = np.where(on_foot, side * (pavement + rng.normal(0, 1, count)), rng.uniform(-lane, lane))
        along = np.where(at_door, rng.normal(0, DOORWAY_REACH, count), 0)
        left = np.column_stack([-ahead[:, 1], ahead[:, 0]])
        return np.asarray(xy + along[:, None] * ahead + offset[:, None] * left)

    def _walk_to(self, where: Floats) -> tuple[NDArray[np.intp], Floats, Floats]:
        """Return the stretch, the point in the middle of the street and the way ahead."""
        stretch = np.searchsorted(self.ends, where, side="right").clip(max=len(self.ends) - 1)
        begins = np.concatenate([[0.0], self.ends])[stretch]
        part = (where - begins) / (self.ends[stretch] - begins)
        steps = self.steps[stretch]
        return stretch, self.starts[stretch] + part[:, None] * steps, steps / np.hypot(*steps.T)[:, None]


def _taste_by_name(names: list[str | None], rng: Generator) -> Floats:
    """Draw how much each street is liked; all parts with one name alike."""
    keys = [name or f"nameless {number}" for number, name in enumerate(names)]
    _, street = np.unique(keys, return_inverse=True)
    return _taste(int(street.max()) + 1, rng)[street]


def _taste(count: int, rng: Generator) -> Floats:
    return rng.lognormal(0, TASTE, count)


def _shares(weights: Floats) -> Floats:
    """Scale weights to add up to one."""
    return np.asarray(weights / weights.sum())
