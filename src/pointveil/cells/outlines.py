"""Draw the outlines of Voronoi regions; no record comes here."""

from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from pointveil.cells.arrays import Bounds, Floats

ROUNDING = 1e-4  # metres


def voronoi_outlines(centres: Floats, bounds: Bounds) -> NDArray[Any]:
    """Return the region around each centre as a polygon, within a box."""
    outlines = _quick_outlines(centres, bounds)
    if np.isclose(shapely.area(outlines).sum(), shapely.box(*bounds).area, rtol=1e-6):
        return outlines
    return sure_outlines(centres, bounds)


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


def sure_outlines(centres: Floats, bounds: Bounds) -> NDArray[Any]:
    """Return the outlines by Qhull: the box's edges lie midway between the centres and their mirror images."""
    mirrored = [centres]
    for side, limit in enumerate(bounds):
        image = centres.copy()
        image[:, side % 2] = 2 * limit - image[:, side % 2]
        mirrored.append(image[(image != centres).any(axis=1)])
    from scipy import spatial  # late: few methods need it, and it is slow to load

    diagram = spatial.Voronoi(np.concatenate(mirrored))
    corners = [diagram.regions[region] for region in diagram.point_region[: len(centres)]]
    owner = np.repeat(np.arange(len(centres)), [len(around) for around in corners])
    points = np.clip(diagram.vertices[np.concatenate(corners)], bounds[:2], bounds[2:])
    return _without_short_sides(shapely.convex_hull(shapely.multipoints(points, indices=owner)))


def _without_short_sides(cells: NDArray[Any]) -> NDArray[Any]:
    """Return convex cells without corners that are corners by a rounding only."""
    return np.asarray(shapely.simplify(cells, ROUNDING, preserve_topology=False), dtype=object)
