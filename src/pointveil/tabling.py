"""Counts with margins, area by area, from a survey: at no cost, and the same each time."""

from __future__ import annotations

import json
from collections.abc import Callable
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
from pointveil.counting import estimate, time_of
from pointveil.errors import InputError, missing_extra
from pointveil.files.crs import DEGREES, transform
from pointveil.files.vector_layer import POLYGONS, quiet_gdal
from pointveil.files.whole import check_target, refuse_existing, refuse_same, write_whole
from pointveil.keeping import draw_codes
from pointveil.surveys import Survey
from pointveil.world import World
from pointveil.world.layers import Layer, read_layer

POINTS, MOST_POINTS = 4, 2**22  # drawn for each person, and in all: the more, the less chance there is in a table
MOST_ROWS = 500_000
GEOMETRY = "geometry"


def table(
    survey: Survey | str | PathLike[str],
    output: str | PathLike[str],
    *,
    by: str | PathLike[str],
    time: str | None = None,
    force: bool = False,
) -> pa.Table:
    """Count people area by area, with margins, and write that as a table; costs nothing, as often as you like.

    Returned is the same table without shapes: the columns of each area, and `count`, `margin`, `low` and `high`. Nine
    in ten intervals hold the count of the real file; where that cannot be told, margins are left empty.

    Parameters
    ----------
    survey
        The noisy answers, or the file with them.
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
    refuse_same(check_target(path), {"the survey": None if isinstance(survey, Survey) else Path(survey)})
    refuse_existing(path, force=force)
    found = count_by(survey if isinstance(survey, Survey) else Survey.read(Path(survey)), by, time=time)
    write_whole(path, lambda draft: WRITERS[path.suffix.lower()](draft, found))
    return found.attributes


def count_by(survey: Survey, by: str | PathLike[str], *, time: str | None = None) -> Layer:
    """Return the people in each area, with margins: columns `count`, `margin`, `low` and `high` beside its own.

    Parameters
    ----------
    survey
        The noisy answers.
    by
        "h3:9" for the cells of a resolution, or a file of polygons, whose own columns are kept.
    time
        A kept column with a time, to count each of its bins.
    """
    resolution = str(by).removeprefix("h3:")
    areas = read_layer(by, kinds=POLYGONS) if resolution == str(by) else _hexagons(survey.world, resolution)
    total = survey.prepared.rows
    xy, bins, column = _places(survey, total, time)
    bin_count = 1 if column is None else column.size
    if len(areas.geometries) * bin_count > MOST_ROWS:
        raise InputError(f"The table would have more than {MOST_ROWS:,} rows. Take larger areas, or fewer.")
    plane = survey.world.projection
    shapes = shapely.transform(areas.to_crs(plane.crs).geometries, plane.to_metres)
    point, area = shapely.STRtree(shapes).query(shapely.points(xy), predicate="intersects")
    inside = bins[point] < bin_count  # other values are in no bin
    rows = np.bincount(area[inside] * bin_count + bins[point][inside], minlength=len(shapes) * bin_count)
    each = total / max(len(xy), 1)  # people for each point
    shares = np.maximum(np.bincount(bins, minlength=bin_count)[:bin_count] / max(len(bins), 1), 1e-9)
    sizes = shapely.area(shapes)
    counts = [
        estimate(row * each, total, sizes[at // bin_count], survey.statement, float(shares[at % bin_count]))
        for at, row in enumerate(rows.tolist())
    ]
    own = areas.attributes.take(np.repeat(np.arange(len(shapes)), bin_count))
    columns = {name: own[name] for name in own.column_names}
    if column is not None:
        columns[column.name] = pa.array(_labels(column) * len(shapes))
    columns |= {
        "count": pa.array([one.value for one in counts], pa.int64()),
        **{
            name: pa.array([None if (value := getattr(one, name)) is None else round(value, 1) for one in counts])
            for name in ("margin", "low", "high")
        },
    }
    return Layer(np.repeat(areas.geometries, bin_count), pa.table(columns), areas.crs, "the table")


def _places(survey: Survey, total: int, time: str | None) -> tuple[Floats, Any, Time | None]:
    """Return many points, (n, 2) metres, the bin of the time of each, and the column with it."""
    number, column = (0, None) if time is None else time_of(survey.keep, time)
    counted, asked, laws, *_ = survey.prepared
    rng = np.random.default_rng(0)
    count = max(total, min(POINTS * total, MOST_POINTS))
    xy = survey.method.placement.draw(survey.world, counted, asked, count, rng)
    if column is None or laws is None:
        return xy, np.zeros(len(xy), dtype=np.int64), None
    return xy, draw_codes(laws, xy, rng)[number][0], column


def _hexagons(world: World, resolution: str) -> Layer:
    """Return the cells of H3 that have their centre in the bounds of the world, and those around them that touch it."""
    try:
        import h3
    except ImportError:
        raise missing_extra("h3", "h3") from None
    if not resolution.isdecimal() or int(resolution) > 15:
        raise InputError(f"H3 has resolutions from 0 to 15; write --by h3:9, not h3:{resolution}.")
    plane = world.projection
    west, south, east, north = world.bounds
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
    met = shapely.transform(np.array(shapes), lambda places: plane.to_metres(transform(DEGREES, plane.crs)(places)))
    dry = shapely.intersects(met, world.land)
    kept = [cell for cell, is_dry in zip(cells, dry, strict=True) if is_dry]
    return Layer(np.array(shapes)[dry], pa.table({"h3": kept}), DEGREES, "h3")


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
