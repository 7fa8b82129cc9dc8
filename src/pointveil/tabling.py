"""Counts with margins, area by area, from a survey or a release: at no cost, and the same each time."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq
import shapely
from pyproj import CRS

from pointveil.cells import Floats
from pointveil.columns import Time
from pointveil.columns.calendar import starts_of
from pointveil.counting import estimate, outside, time_of
from pointveil.errors import InputError, missing_extra
from pointveil.files.crs import DEGREES, transform
from pointveil.files.vector_layer import POLYGONS, quiet_gdal
from pointveil.files.whole import check_target, existing_file, refuse_existing, refuse_same, write_whole
from pointveil.keeping import draw_codes
from pointveil.reading import read
from pointveil.statement import Statement
from pointveil.surveys import Survey, is_survey
from pointveil.synthetic import SyntheticPoints
from pointveil.world.layers import Layer, read_layer
from pointveil.world.projection import Projection

POINTS, MOST_POINTS = 4, 2**22  # drawn for each person, and in all: the more, the less chance there is in a table
MOST_ROWS = 500_000
GEOMETRY = "geometry"
COUNTED = ("count", "margin", "low", "high")  # the columns of a table beside those of its areas


@dataclass(frozen=True)
class Crowd:
    """Points that stand for the people of a survey or of a release."""

    xy: Floats  # (n, 2) metres
    bins: Any  # (n,) of the time of each, that of other values last; all 0 if times are not asked for
    column: Time | None  # with the time
    people: float  # for each point
    total: int  # people in all
    plane: Projection
    land: Any  # in metres; of a release its bounds, for its statement tells no more
    statement: Statement


def table(
    survey: Survey | SyntheticPoints | str | PathLike[str],
    output: str | PathLike[str],
    *,
    by: str | PathLike[str],
    time: str | None = None,
    force: bool = False,
) -> pa.Table:
    """Count people area by area, with margins, and write that as a table; costs nothing, as often as you like.

    Returned is the same table without shapes: the columns of each area, and `count`, `margin`, `low` and `high`. Nine
    in ten intervals hold the count of the real file; where that cannot be told, and in areas outside of the world,
    margins are left empty.

    Parameters
    ----------
    survey
        The noisy answers, or a release, or the file with either. Answers tell a little more than points drawn once.
    output
        The table to write, by its suffix: CSV, which has no shapes; GeoJSON, GeoPackage or GeoParquet.
    by
        "h3:9" for the cells of a resolution of H3 (needs that extra), or a file of polygons.
    time
        A kept column with a time, to count each of its bins.
    force
        Replace the output if it exists.

    Examples
    --------
    >>> vault = pv.Vault.open("people.parquet", pv.World.read("helsinki.gpkg"), epsilon=1)
    >>> pv.survey(vault).write("people.survey")
    >>> import shapely
    >>> with open("centre.geojson", "w") as file:
    ...     _ = file.write(shapely.to_geojson(shapely.box(24.94, 60.165, 24.95, 60.17)))
    >>> pv.table("people.survey", "counts.csv", by="centre.geojson").column_names
    ['count', 'margin', 'low', 'high']
    """
    path = Path(output)
    if path.suffix.lower() not in WRITERS:
        raise InputError(f"A table is written as {', '.join(WRITERS)}, not as '{path.suffix}'.")
    file = None if isinstance(survey, Survey | SyntheticPoints) else existing_file(Path(survey))
    refuse_same(check_target(path), {"what is counted": file})
    refuse_existing(path, force=force)
    found = count_by(opened(survey), by, time=time)
    write_whole(path, lambda draft: WRITERS[path.suffix.lower()](draft, found))
    return found.attributes


def opened(source: Survey | SyntheticPoints | str | PathLike[str]) -> Survey | SyntheticPoints:
    """Return a survey or a release, read and checked if it is the file of one."""
    if isinstance(source, Survey | SyntheticPoints):
        return source
    return Survey.read(Path(source)) if is_survey(Path(source)) else read(source)


def count_by(source: Survey | SyntheticPoints, by: str | PathLike[str], *, time: str | None = None) -> Layer:
    """Return the people in each area, with margins: columns `count`, `margin`, `low` and `high` beside its own.

    Parameters
    ----------
    source
        The noisy answers, or the points of a release.
    by
        "h3:9" for the cells of a resolution, or a file of polygons, whose own columns are kept.
    time
        A kept column with a time, to count each of its bins.
    """
    crowd = _of_survey(source, time) if isinstance(source, Survey) else _of_release(source, time)
    resolution = str(by).removeprefix("h3:")
    areas = _polygons(by, crowd) if resolution == str(by) else _hexagons(crowd, resolution)
    bin_count = 1 if crowd.column is None else crowd.column.size
    if len(areas.geometries) * bin_count > MOST_ROWS:
        raise InputError(f"The table would have more than {MOST_ROWS:,} rows. Take larger areas, or fewer.")
    shapes = _in_metres(areas, crowd.plane)
    away = np.array([outside(shape, crowd.plane, crowd.statement) for shape in shapes])
    if away.all():
        raise InputError(f"None of the areas in {areas.name} lies in the world that was counted. Is their CRS right?")
    point, area = shapely.STRtree(shapes).query(shapely.points(crowd.xy), predicate="intersects")
    inside = crowd.bins[point] < bin_count  # other values are in no bin
    rows = np.bincount(area[inside] * bin_count + crowd.bins[point][inside], minlength=len(shapes) * bin_count)
    shares = np.maximum(np.bincount(crowd.bins, minlength=bin_count)[:bin_count] / max(len(crowd.bins), 1), 1e-9)
    sizes = shapely.area(shapes)
    counts = [
        estimate(
            row * crowd.people, crowd.total, sizes[at // bin_count], crowd.statement, float(shares[at % bin_count])
        )
        for at, row in enumerate(rows.tolist())
    ]
    away = np.repeat(away, bin_count)
    own = areas.attributes.take(np.repeat(np.arange(len(shapes)), bin_count))
    columns = {name: own[name] for name in own.column_names}
    if crowd.column is not None:
        columns[crowd.column.name] = pa.array(_labels(crowd.column) * len(shapes))
    columns["count"] = pa.array([one.value for one in counts], pa.int64())
    for name in COUNTED[1:]:
        known = [None if nowhere else getattr(one, name) for one, nowhere in zip(counts, away.tolist(), strict=True)]
        columns[name] = pa.array([None if value is None else round(value, 1) for value in known], pa.float64())
    return Layer(np.repeat(areas.geometries, bin_count), pa.table(columns), areas.crs, "the table")


def _of_survey(survey: Survey, time: str | None) -> Crowd:
    """Return many points, drawn from noisy answers."""
    number, column = (0, None) if time is None else time_of(survey.keep, time)
    counted, asked, laws, *_ = survey.prepared
    total, rng = survey.prepared.rows, np.random.default_rng(0)
    count = max(total, min(POINTS * total, MOST_POINTS))
    xy = survey.method.placement.draw(survey.world, counted, asked, count, rng)
    bins, world, people = np.zeros(len(xy), dtype=np.int64), survey.world, total / max(len(xy), 1)
    if column is not None and laws is not None:
        bins = draw_codes(laws, xy, rng)[number][0]
    return Crowd(xy, bins, column, people, total, world.projection, world.land, survey.statement)


def _of_release(points: SyntheticPoints, time: str | None) -> Crowd:
    """Return the points of a release as they are."""
    domain = points.statement.domain
    plane = Projection.over(domain.bounds, domain.crs)
    xy = plane.to_metres(transform(points.crs, plane.crs)(points.coordinates))
    keep, codes = ((), ()) if time is None else points.kept_codes()
    number, column = (0, None) if time is None else time_of(keep, time)
    bins = np.zeros(len(xy), dtype=np.int64) if column is None else codes[number].astype(np.int64)
    land = shapely.transform(shapely.box(*domain.bounds), plane.to_metres)
    return Crowd(xy, bins, column, 1.0, len(points), plane, land, points.statement)


def _in_metres(areas: Layer, plane: Projection) -> Any:
    return shapely.transform(areas.to_crs(plane.crs).geometries, plane.to_metres)


def _polygons(by: str | PathLike[str], crowd: Crowd) -> Layer:
    """Return the areas of a file; refuse one whose own columns would be lost."""
    areas = read_layer(by, kinds=POLYGONS)
    taken = {*COUNTED, *([] if crowd.column is None else [crowd.column.name])}
    if lost := [name for name in areas.attributes.column_names if name in taken]:
        raise InputError(f"{areas.name} has a column {lost[0]!r} of its own, as the table has. Rename it first.")
    return areas


def _hexagons(crowd: Crowd, resolution: str) -> Layer:
    """Return the cells of H3 that touch land."""
    try:
        import h3
    except ImportError:
        raise missing_extra("h3", "h3") from None
    if not resolution.isdecimal() or int(resolution) > 15:
        raise InputError(f"H3 has resolutions from 0 to 15; write --by h3:9, not h3:{resolution}.")
    plane = crowd.plane
    west, south, east, north = crowd.land.bounds
    corners = plane.from_metres(np.array([[west, south], [east, south], [east, north], [west, north]]))
    corners = transform(plane.crs, DEGREES)(corners)
    area = float((east - west) * (north - south)) / 1e6
    if area / h3.average_hexagon_area(int(resolution), unit="km^2") > MOST_ROWS:
        raise InputError(f"The table would have more than {MOST_ROWS:,} rows. Take a smaller resolution.")
    inside = h3.polygon_to_cells_experimental(
        h3.LatLngPoly([(lat, lon) for lon, lat in corners.tolist()]), int(resolution), contain="overlap"
    )
    cells = sorted(inside)
    shapes = [shapely.Polygon([(lon, lat) for lat, lon in h3.cell_to_boundary(cell)]) for cell in cells]
    found = Layer(np.array(shapes), pa.table({"h3": cells}), DEGREES, "h3")
    dry = shapely.intersects(_in_metres(found, plane), crowd.land)
    return Layer(found.geometries[dry], found.attributes.filter(dry), DEGREES, "h3")


def _labels(column: Time) -> list[Any]:
    """Return what each bin is called: when it starts, or the hour of a pattern."""
    if not column.dated:
        return list(range(column.size))
    start = starts_of(np.arange(column.size), column.span, column.resolution)
    return [str(moment) for moment in start.astype("datetime64[s]")]


def _write_csv(path: Path, table: Layer) -> None:
    arrow_csv.write_csv(table.attributes, path)


def _with_shapes(table: Layer) -> Any:
    return table.attributes.append_column(GEOMETRY, pa.array(shapely.to_wkb(table.geometries), pa.binary()))


def _write_parquet(path: Path, table: Layer) -> None:
    column = {"encoding": "WKB", "geometry_types": [], "crs": json.loads(CRS(table.crs).to_json())}
    about = {"version": "1.0.0", "primary_column": GEOMETRY, "columns": {GEOMETRY: column}}
    pq.write_table(_with_shapes(table).replace_schema_metadata({"geo": json.dumps(about)}), path)


def _write_vector(path: Path, table: Layer) -> None:
    import pyogrio

    geojson = path.suffix.lower() == ".geojson"
    shown = table.to_crs(DEGREES) if geojson else table
    kinds = {str(shape.geom_type) for shape in shown.geometries}
    with quiet_gdal():
        pyogrio.write_arrow(
            _with_shapes(shown),
            path,
            driver="GeoJSON" if geojson else "GPKG",
            geometry_name=GEOMETRY,
            geometry_type=kinds.pop() if len(kinds) == 1 else "Unknown",
            crs=shown.crs,
        )


WRITERS: dict[str, Callable[[Path, Layer], None]] = {
    ".csv": _write_csv,
    ".geojson": _write_vector,
    ".gpkg": _write_vector,
    ".parquet": _write_parquet,
    ".geoparquet": _write_parquet,
}
