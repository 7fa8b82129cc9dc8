"""A small invented city and ways to write it to files."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyogrio
import shapely
from pyproj import CRS, Transformer

BOX = (10.0, 50.0, 10.1, 50.05)
RIVER = shapely.Polygon([(9.9, 50.02), (10.2, 50.02), (10.2, 50.03), (9.9, 50.03)])
STREETS = [shapely.LineString([(10.01, 50.01), (10.09, 50.01)]), shapely.LineString([(10.05, 50.0), (10.05, 50.05)])]
NAMES = pa.table({"name": ["High Street", None], "lanes": [2, 4], "length": [5.5, None], "oneway": [True, False]})

DRIVERS = {".geojson": "GeoJSON", ".gpkg": "GPKG", ".shp": "ESRI Shapefile", ".fgb": "FlatGeobuf"}


def save(path: Path, shapes: list[Any], *, crs: str = "EPSG:4326", attributes: pa.Table | None = None) -> Path:
    """Write shapes given in degrees to a file in any CRS and format."""
    moved = move(shapes, crs)
    table = attributes if attributes is not None else pa.table({"number": list(range(len(shapes)))})
    table = table.append_column("geometry", pa.array(shapely.to_wkb(moved), pa.binary()))
    if path.suffix == ".parquet":
        column = {"encoding": "WKB", "geometry_types": [], "crs": CRS(crs).to_json_dict()}
        about = {"version": "1.1.0", "primary_column": "geometry", "columns": {"geometry": column}}
        pq.write_table(table.replace_schema_metadata({"geo": json.dumps(about)}), path)
        return path
    kinds = {shape.geom_type for shape in shapes}
    kind = kinds.pop() if len(kinds) == 1 else "Unknown"
    pyogrio.write_arrow(table, path, driver=DRIVERS[path.suffix], crs=crs, geometry_type=kind, geometry_name="geometry")
    return path


def move(shapes: list[Any], crs: str) -> np.ndarray[tuple[int], np.dtype[Any]]:
    """Bring shapes from degrees to a CRS."""
    transform = Transformer.from_crs("EPSG:4326", crs, always_xy=True).transform
    moved: np.ndarray[tuple[int], np.dtype[Any]] = shapely.transform(
        np.array(shapes, dtype=object), lambda c: np.column_stack(transform(c[:, 0], c[:, 1]))
    )
    return moved
