"""Count synthetic points in an area, with a margin: from a release and its statement alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from pointveil.cells.coded import Codes
from pointveil.columns import Category, Column, Number, Time
from pointveil.columns.calendar import starts_of
from pointveil.errors import InputError
from pointveil.files.crs import DEGREES, crs_name, is_geographic, known_crs, transform
from pointveil.statement import NINE_IN_TEN, Statement
from pointveil.world.projection import Projection

Floats = NDArray[np.float64]
CORNERS = 64  # of a quarter of a circle
NO_MARGIN = "no margin: the statement of this release has none"
BY_PERSON = "no margin: by person, busy persons weigh less than their points, and nothing tells by how much in a place"
WITHOUT = {
    "ugrid-": "no margin: an even grid leaves people where nobody is, by more than can be told",
    "clust-": "no margin: clusters reach into wide areas where hardly anybody is, by more than can be told",
}  # methods, by how their names begin, and why
OUTSIDE = "no margin: the area is outside of the world of this release; x (longitude) comes first"
AREAS = (
    "a polygon, a GeoDataFrame or GeoSeries of polygons, (x, y, radius in metres), or bounds (west, south, east, north)"
)


@dataclass(frozen=True)
class Count:
    """How many people there seem to be, and how far that may be off.

    Parameters
    ----------
    value
        The number of people.
    margin
        Nine in ten intervals of `value` ± `margin` hold the number in the real file; None if that is not known.
    why
        Why there is no margin, if there is none.
    """

    value: int
    margin: float | None
    why: str = NO_MARGIN

    @property
    def low(self) -> float | None:
        """The lower end of the interval."""
        return None if self.margin is None else max(0.0, self.value - self.margin)

    @property
    def high(self) -> float | None:
        """The upper end of the interval."""
        return None if self.margin is None else self.value + self.margin

    def __str__(self) -> str:
        return f"{self.value:,} ({self.why})" if self.margin is None else f"{self.value:,} ± {round(self.margin):,}"

    __repr__ = __str__

    def __int__(self) -> int:
        return self.value


def why_none(statement: Statement) -> str:
    """Return why a release has no margins."""
    if statement.people is not None:
        return BY_PERSON
    name = "" if statement.method is None else statement.method.name
    return next((why for start, why in WITHOUT.items() if name.startswith(start)), NO_MARGIN)


def estimate(rows: float, total_rows: int, area: float, statement: Statement, share: float = 1.0) -> Count:
    """Return the people that some rows of a release stand for, with the margin.

    Parameters
    ----------
    rows, total_rows
        Rows in the area and in the slice; and rows of the whole release, which may be fewer than people.
    area
        In square metres.
    share
        The part of all rows that is in the slice.
    """
    margins = statement.margins
    if margins is None:
        return Count(round(rows), None, why_none(statement))
    people = rows * margins.people / max(total_rows, 1)
    # Where a row stands for several people, a count of rows is a sample too.
    sampled = people * max(margins.people / max(total_rows, 1) - 1, 0.0)
    return Count(round(people), math.hypot(margins.margin(people, area, share), NINE_IN_TEN * math.sqrt(sampled)))


def count_in(coordinates: Floats, crs: str, area: Any, statement: Statement, chosen: Any, own: Any = None) -> Count:
    """Return the people in an area, from all points (n, 2) in `crs` and which of them are in a slice."""
    plane = Projection.over(statement.domain.bounds, statement.domain.crs)
    shape = area_in_metres(area, crs, plane, own)
    if outside(shape, plane, statement):
        return Count(0, None, OUTSIDE)
    inside = coordinates if chosen is None else coordinates[chosen]
    found = inside_of(shape, plane.to_metres(transform(crs, plane.crs)(inside)))
    share = len(inside) / max(len(coordinates), 1)
    return estimate(int(found.sum()), len(coordinates), float(shape.area), statement, share)


def outside(shape: Any, plane: Projection, statement: Statement) -> bool:
    """Tell whether an area, in metres, has no part in the bounds of a release: of people there nothing is known."""
    bounds = shapely.transform(shapely.box(*statement.domain.bounds), plane.to_metres)
    return not shapely.intersects(shape, bounds)


def inside_of(shape: Any, xy: Floats) -> NDArray[np.bool_]:
    """Return which points (n, 2) are in a shape or on its edge."""
    west, south, east, north = shape.bounds
    near = (xy[:, 0] >= west) & (xy[:, 0] <= east) & (xy[:, 1] >= south) & (xy[:, 1] <= north)
    shapely.prepare(shape)
    near[near] = shapely.intersects_xy(shape, xy[near])
    return np.asarray(near)


def area_in_metres(area: Any, crs: str, plane: Projection, own: Any = None) -> Any:
    """Return an area as one shape in the world's metres.

    Without a CRS of its own, or one that is given, it is in that of the points; or in degrees, if that is projected and
    the area fits on the globe.
    """
    named = getattr(area, "crs", None) if own is None else own
    if hasattr(area, "geometry"):  # of geopandas
        area = shapely.union_all(np.asarray(area.geometry))
    numbers = isinstance(area, tuple | list) and all(isinstance(part, Real) for part in area)
    size = len(area) if numbers else 0
    circle = size == 3
    if size == 4:
        area = shapely.box(*area)
    if not circle and (not isinstance(area, shapely.Geometry) or not shapely.area(area) > 0):
        raise InputError(f"Give {AREAS}; not {type(area).__name__}, or one without an area.")
    shape = shapely.Point(area[:2]) if circle else area
    if named is None:
        given = DEGREES if not is_geographic(crs) and _on_the_globe(shape.bounds) else crs
    else:
        given = crs_name(known_crs(named, "the area"))
    change = transform(given, plane.crs)
    there = shapely.transform(shape, lambda places: plane.to_metres(change(places)))
    if not np.isfinite(there.bounds).all():
        raise InputError(f"The area is not where {given} can be used; name its CRS with crs=.")
    return there.buffer(float(area[2]), quad_segs=CORNERS) if circle else there


def _on_the_globe(bounds: tuple[float, float, float, float]) -> bool:
    return -180 <= bounds[0] <= bounds[2] <= 180 and -90 <= bounds[1] <= bounds[3] <= 90


def time_of(keep: Iterable[Column], name: str | None = None) -> tuple[int, Time]:
    """Return the kept column with a time, the first or the one of this name, and its place among those with codes."""
    for place, column in enumerate(each for each in keep if each.size):
        if isinstance(column, Time) and name in (None, column.name):
            return place, column
    raise InputError(f"No column {'' if name is None else f'{name!r} '}with a time is kept, so none can be counted by.")


def slice_of(keep: Sequence[Column], codes: Codes, time: Any, where: Mapping[str, Any]) -> NDArray[np.bool_]:
    """Return which rows are in a slice: in a time of the first column with one, and with these values of others.

    `codes` has an array (rows,) for each kept column that has bins.
    """
    wanted = dict(where) if time is None else {time_of(keep)[1].name: time, **where}
    coded = {
        column.name: (column, code) for column, code in zip((each for each in keep if each.size), codes, strict=True)
    }
    if unknown := sorted(set(wanted) - set(coded)):
        raise InputError(
            f"No column '{unknown[0]}' is kept that could be counted by; there are {', '.join(coded) or 'none'}."
        )
    finders: dict[type, Callable[[Any, Any], NDArray[np.bool_]]] = {
        Time: bins_of,
        Category: _values_of,
        Number: _numbers_of,
    }
    chosen = []
    for name, value in wanted.items():
        column, code = coded[name]
        bins = finders[type(column)](value, column)
        if not bins.any():
            raise InputError(f"Nothing of '{name}' is in {value!r}: it ends before it begins, or lies elsewhere.")
        chosen.append(bins[np.minimum(code, column.size)])
    return np.asarray(np.logical_and.reduce(chosen))


def _values_of(value: Any, column: Category) -> NDArray[np.bool_]:
    """Return which bins of a column have one of these values."""
    values = [str(each) for each in (value if isinstance(value, list | tuple | set) else [value])]
    if unknown := sorted(set(values) - set(column.values)):
        raise InputError(f"'{column.name}' has no value {unknown[0]!r}; it has {', '.join(column.values)}.")
    return np.array([*(each in values for each in column.values), False])


def _numbers_of(value: Any, column: Number) -> NDArray[np.bool_]:
    """Return which bins of a column have their middle from one number to another, which is outside."""
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise InputError(f"'{column.name}' is a number: give (from, to), such as ({column.low:g}, {column.high:g}).")
    middle = column.low + (np.arange(column.bins) + 0.5) * (column.high - column.low) / column.bins
    low, high = (end if end is not None else side * np.inf for end, side in zip(value, (-1, 1), strict=True))
    return np.append((middle >= low) & (middle < high), False)


def bins_of(time: Any, column: Time) -> NDArray[np.bool_]:
    """Return which bins of a column are in a slice of time, (from, to): moments or hours of a pattern; `to` is out.

    A pattern begins anew where it ends, so that (22, 4) is a night.
    """
    ends = (time.start, time.stop) if isinstance(time, slice) else time
    if not isinstance(ends, tuple | list) or len(ends) != 2:
        raise InputError("Give time= as (from, to), such as ('2014-04-07', '2014-04-08') or, of a pattern, (8, 10).")
    start = starts_of(np.arange(column.size), column.span, column.resolution)
    low, high = (_number(end, start, column) for end in ends)
    first, last = 0 if low is None else low, column.size if high is None else high
    bins = np.arange(column.size + 1)
    after, before, known = bins >= first, bins < last, bins < column.size  # the last bin is that of other values
    return known & (after | before if first > last and not column.dated else after & before)


def _number(end: Any, start: NDArray[np.int64], column: Time) -> int | None:
    """Return the number of the bin in which a moment lies, or of the next if it lies between."""
    if end is None:
        return None
    if isinstance(end, int | np.integer):
        if column.dated:
            raise InputError(f"'{column.name}' keeps moments: give them, such as time=('2014-04-07', '2014-04-08').")
        return int(end)
    if not column.dated:
        raise InputError(f"'{column.name}' keeps the {column.resolution}: give whole hours, such as time=(8, 10).")
    try:
        moment = int(np.datetime64(end, "s").astype(np.int64))
    except ValueError:
        raise InputError(f"time= has {end!r}; write a moment as in 2014-04-07 or 2014-04-07T08:00.") from None
    return int(np.searchsorted(start, moment))
