"""Names of coordinate systems, and the way from one to another; x (or longitude) always comes first."""

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pyproj import CRS, Transformer
from pyproj.exceptions import CRSError

from pointveil.errors import InputError

Coordinates = NDArray[np.float64]

DEGREES = "EPSG:4326"
LONGITUDE_FIRST = "OGC:CRS84"


def known_crs(crs: Any, source: str) -> CRS:
    """Read a CRS from a code, WKT, PROJJSON or another CRS; `source` says in an error where it stands."""
    try:
        return CRS.from_user_input(crs)
    except (CRSError, UnicodeError):  # a name may be no text at all
        raise InputError(
            f"The CRS of {source} is not one that PROJ knows; name another with --crs (crs=), such as EPSG:4326."
        ) from None


def parse_crs(crs: object) -> CRS:
    """Read the CRS of a world, and refuse one that has no place on a map."""
    try:
        parsed = CRS.from_user_input(crs).to_2d()
    except (CRSError, UnicodeError) as error:
        raise InputError(f"{crs!r} is not a CRS. Give a code such as EPSG:4326, or WKT.") from error
    if not (parsed.is_geographic or parsed.is_projected):
        raise InputError(f"{parsed.name} is neither a geographic nor a projected CRS. Give one that is.")
    if parsed.is_geographic and not math.isclose(unit_of(parsed), math.pi / 180, rel_tol=1e-9):
        raise InputError(f"{parsed.name} does not count in degrees. Give a CRS in degrees or a projected one.")
    return parsed


def crs_name(crs: CRS) -> str:
    """Return the code of a CRS, such as ``"EPSG:4326"``, or its WKT if it has none."""
    wkt = crs.to_wkt()
    code = _code(wkt)
    # Both mean degrees on WGS 84, and here longitude always comes first.
    return DEGREES if code == LONGITUDE_FIRST else code or str(wkt)


def is_longitude_first(crs: CRS) -> bool:
    """Whether a CRS is OGC:CRS84, the other name of EPSG:4326."""
    return _code(crs.to_wkt()) == LONGITUDE_FIRST


@cache
def _code(wkt: str) -> str | None:
    # Kept, because PROJ may take a second to search all it knows.
    authority = CRS.from_wkt(wkt).to_authority(min_confidence=100)
    return ":".join(authority) if authority else None


def chosen_crs(own: Any, asked: str | None, source: str) -> str:
    """Return the name of the CRS of a source that may state one itself and a caller who may have named one."""
    given = crs_name(known_crs(asked, "the option --crs (crs=)")) if asked else None
    if own is None and given is None:
        raise InputError(f"{source} does not say its CRS; say which with --crs (crs=), such as EPSG:4326.")
    if own is None:
        return str(given)
    known = crs_name(known_crs(own, source))
    if given not in (None, known):
        raise InputError(f"{source} says its own CRS, which is not {asked!r}; leave --crs (crs=) out.")
    return known


def is_geographic(crs: str) -> bool:
    """Whether coordinates in `crs` are degrees."""
    return bool(CRS.from_user_input(crs).is_geographic)


def unit_of(crs: CRS) -> float:
    """Return how long one unit of a CRS is: in radians if it is geographic, otherwise in metres."""
    return float(crs.axis_info[0].unit_conversion_factor)


def same_crs(first: str, second: str) -> bool:
    """Whether two names mean the same coordinates."""
    return bool(CRS.from_user_input(first).equals(CRS.from_user_input(second), ignore_axis_order=True))


def same_places(first: str, second: str, coordinates: Coordinates, tolerance: float) -> bool:
    """Whether coordinates (n, 2) mean the same places in both, to a tolerance in units of the second."""
    moved = transform(first, second)(coordinates)
    return bool(np.allclose(moved, coordinates, rtol=0, atol=tolerance))


def for_gdal(crs: str) -> str:
    """Return a CRS as GDAL's writers keep it."""
    # GDAL takes UTM in any unit for the EPSG code of UTM in metres. An origin that is a tenth of a nanometre farther
    # north is all that it takes to be no longer UTM.
    parsed = CRS.from_user_input(crs)
    described = parsed.to_json_dict()
    conversion = described.get("conversion", {"method": {"name": None}})
    if conversion["method"]["name"] != "Transverse Mercator" or unit_of(parsed) == 1:
        return crs
    origin = next(value for value in conversion["parameters"] if value["name"] == "Latitude of natural origin")
    if origin["value"] != 0:
        return crs
    origin["value"] = 1e-15  # degrees
    conversion.pop("id", None)
    return str(CRS.from_json_dict(described).to_wkt())


def transform(source: str, target: str) -> Callable[[Coordinates], Coordinates]:
    """Return the function from one CRS to another; it is silent, and what has no place there becomes infinite."""
    if same_crs(source, target):
        return lambda coordinates: coordinates
    transformer = Transformer.from_crs(source, target, always_xy=True)

    def apply(coordinates: Coordinates) -> Coordinates:
        return np.column_stack(transformer.transform(coordinates[:, 0], coordinates[:, 1], errcheck=False))

    return apply


def short_name(crs: str) -> str:
    """Return what to call a CRS in a line of text: its code, or the name of one that has only WKT."""
    if len(crs) <= 20:
        return crs
    parsed = CRS(crs)
    return "a CRS without a name" if parsed.name == "unknown" else str(parsed.name)
