"""Make the outline of coasts and borders that `pointveil app` draws on, from Natural Earth (public domain).

    python scripts/make_outline.py ne_110m_admin_0_countries.shp

Any shapefile of countries in degrees will do; it is cut down to a few tens of kilobytes.
"""

import base64
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyogrio
import shapely

OUTPUT = Path(__file__).parent.parent / "src" / "pointveil" / "app" / "assets" / "outline.json"
STEPS = 65535
DETAIL = 0.05  # degrees


def main(source: str) -> None:
    """Write the outline: as a map of the report has water and streets, with degrees for metres."""
    countries = shapely.from_wkb(pyogrio.raw.read(source, columns=[])[2])
    globe = shapely.box(-180, -90, 180, 90)
    sea = shapely.difference(globe, shapely.simplify(shapely.union_all(countries), DETAIL))
    borders = shapely.simplify(shapely.boundary(countries), DETAIL)
    outline = {
        "map": {
            "metres": 360 * 111_320.0,
            "width": 1.0,
            "height": 0.5,
            "streets": _shapes(shapely.get_parts(borders)),
            "water": _shapes(shapely.get_rings(shapely.get_parts(sea))),
        },
        "frame": {"x": -180.0, "y": -90.0, "across": 360.0, "up": 360.0},
    }
    OUTPUT.write_text(json.dumps(outline, separators=(",", ":")) + "\n")


def _shapes(shapes: Any) -> dict[str, str]:
    from_corner = shapely.get_coordinates(shapes) - np.array([-180, -90])
    corners = np.clip(np.rint(from_corner * (STEPS / 360)), 0, STEPS)
    lengths = shapely.get_num_points(shapes)
    return {"lengths": _text(lengths.astype("<u4")), "corners": _text(corners.astype("<u2"))}


def _text(values: Any) -> str:
    return base64.b64encode(np.ascontiguousarray(values).tobytes()).decode()


if __name__ == "__main__":
    main(sys.argv[1])
