"""Regions of all places that are nearest to the same centre."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray
from scipy import spatial

from pointveil.cells.grid import NOWHERE, Grid
from pointveil.errors import InputError
from pointveil.world.projection import Bounds, Floats

BLOCK = 1 << 15  # points at a time: the work stays in the processor's cache
FEW = 8
MOST_SQUARES = 512
ROUNDING = 1e-4  # metres
MOST_TIED = 16
"""How many centres may be as near to one place; six in a honeycomb."""
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Voronoi:
    """One region around each centre, within a box; a place as near to two centres belongs to the first of them.

    Parameters
    ----------
    bounds
        West, south, east and north, in metres; a region holds its part of the west and south edges only.
    centres
        One row a region, no two alike, all within the bounds.
    """

    bounds: Bounds
    centres: Floats

    def __post_init__(self) -> None:
        """Refuse centres that would leave a region without area."""
        if not len(self.centres) or len(np.unique(self.centres, axis=0)) != len(self.centres):
            raise InputError("Voronoi regions need at least one centre, and no two in the same place.")

    def __len__(self) -> int:
        return len(self.centres)

    def locate(self, xy: Floats) -> Ints:
        """Return the number of the region that holds each point, and -1 for a point outside the bounds."""
        xy = np.asarray(xy, dtype=np.float64)
        west, south, east, north = self.bounds
        with np.errstate(all="ignore"):
            x, y = xy[:, 0], xy[:, 1]
            inside = (x >= west) & (x < east) & (y >= south) & (y < north)
        found = np.full(len(xy), NOWHERE, dtype=np.int64)
        for block in np.array_split(np.flatnonzero(inside), 1 + len(xy) // BLOCK):
            found[block] = self._nearest(xy[block])
        return found

    def rectangles(self) -> None:
        """Say that these regions are no rectangles."""
        return

    def polygons(self, which: Ints) -> NDArray[Any]:
        """Return the outlines of these regions."""
        return self._outlines[which]

    def _nearest(self, xy: Floats) -> Ints:
        """Return the nearest centre of each point, each by itself: of the few that its square of a raster allows."""
        candidates, crowded = self._candidates
        square = self._squares.locate(xy)
        best = np.zeros(len(xy), dtype=np.int64)
        least = np.full(len(xy), np.inf)
        for column in candidates.T:
            centre = column[square]
            apart = np.square(self.centres[centre, 0] - xy[:, 0]) + np.square(self.centres[centre, 1] - xy[:, 1])
            nearer = apart < least  # candidates rise in number, so the lowest of several as near stays
            np.copyto(best, centre, where=nearer)
            np.copyto(least, apart, where=nearer)
        many = np.flatnonzero(crowded[square])
        best[many] = nearest_of(self.centres, xy[many])
        return best

    @cached_property
    def _squares(self) -> Grid:
        side = min(math.ceil(2 * math.sqrt(len(self))), MOST_SQUARES)
        return Grid(self.bounds, side, side)

    @cached_property
    def _candidates(self) -> tuple[Ints, NDArray[np.bool_]]:
        """All centres that can be nearest to a place in each square, in rising order; and where there are too many.

        If c is nearest to the square's middle, at distance d, then c is at most d + h from any place of the square,
        where h is half its diagonal; a centre farther than d + 2h from the middle is farther than that from the place.
        """
        middle = self._squares.lower_corners() + np.array(self._squares.cell_size) / 2
        tree: Any = spatial.cKDTree(self.centres)
        distance, number = tree.query(middle, k=np.arange(1, min(FEW, len(self)) + 1))
        reach = distance[:, :1] + math.hypot(*self._squares.cell_size) * (1 + 1e-9)
        possible = np.sort(np.where(distance <= reach, number, number[:, :1]), axis=1)
        return possible.astype(np.int64), (distance[:, -1] <= reach[:, 0]) & (len(self) > FEW)

    @cached_property
    def _outlines(self) -> NDArray[Any]:
        outlines = _quick_outlines(self.centres, self.bounds)
        if np.isclose(shapely.area(outlines).sum(), shapely.box(*self.bounds).area, rtol=1e-6):
            return outlines
        return _sure_outlines(self.centres, self.bounds)


def _quick_outlines(centres: Floats, bounds: Bounds) -> NDArray[Any]:
    """Return the outlines by GEOS, which at times gets centres on one circle wrong."""
    box = shapely.box(*bounds)
    try:
        cells = shapely.voronoi_polygons(shapely.multipoints(centres), extend_to=box, ordered=True)
    except shapely.errors.GEOSException:
        return np.empty(0, dtype=object)
    # Each cell is convex; roundings may have turned a short side of it inside out.
    cells = shapely.convex_hull(shapely.get_parts(cells))
    west, south, east, north = shapely.bounds(cells).T
    beyond = (west < bounds[0]) | (south < bounds[1]) | (east > bounds[2]) | (north > bounds[3])
    cells[beyond] = shapely.intersection(cells[beyond], box)
    return _without_short_sides(cells)


def _sure_outlines(centres: Floats, bounds: Bounds) -> NDArray[Any]:
    """Return the outlines by Qhull: the box's edges lie midway between the centres and their mirror images."""
    mirrored = [centres]
    for side, limit in enumerate(bounds):
        image = centres.copy()
        image[:, side % 2] = 2 * limit - image[:, side % 2]
        mirrored.append(image[(image != centres).any(axis=1)])
    diagram = spatial.Voronoi(np.concatenate(mirrored))
    corners = [diagram.regions[region] for region in diagram.point_region[: len(centres)]]
    owner = np.repeat(np.arange(len(centres)), [len(around) for around in corners])
    points = np.clip(diagram.vertices[np.concatenate(corners)], bounds[:2], bounds[2:])
    return _without_short_sides(shapely.convex_hull(shapely.multipoints(points, indices=owner)))


def _without_short_sides(cells: NDArray[Any]) -> NDArray[Any]:
    """Return convex cells without corners that are corners by a rounding only."""
    return np.asarray(shapely.simplify(cells, ROUNDING, preserve_topology=False), dtype=object)


def nearest_of(centres: Floats, xy: Floats) -> Ints:
    """Return the number of the centre nearest to each point; of several as near, the lowest number."""
    if len(centres) == 1 or not len(xy):
        return np.zeros(len(xy), dtype=np.int64)
    tree: Any = spatial.cKDTree(centres)
    distance, number = tree.query(xy, k=2)
    found = np.asarray(number[:, 0], dtype=np.int64)
    tied = np.flatnonzero(distance[:, 0] == distance[:, 1])
    if len(tied):
        distance, number = tree.query(xy[tied], k=min(MOST_TIED, tree.n))
        found[tied] = np.where(distance == distance[:, :1], number, tree.n).min(axis=1)
    return found
