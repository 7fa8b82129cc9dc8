"""Say in words where on the globe something lies, so that a swapped or mistyped boundary is noticed."""

import math

import numpy as np

from pointveil.cells.arrays import Bounds
from pointveil.files.crs import DEGREES, transform

WIDEST = 60.0  # degrees: the area of a map system that is wider tells nothing about a place
NOWHERE = "where no country has a map system of its own"


def middle_in_words(bounds: Bounds, crs: str) -> str:
    """Return the latitude and longitude of the middle of bounds in `crs`, such as "41.146° N, 8.606° W"."""
    longitude, latitude = _middle(bounds, crs)
    if not (math.isfinite(longitude) and math.isfinite(latitude)):
        return "nowhere on the globe"
    return f"{abs(latitude):.3f}° {'SN'[latitude >= 0]}, {abs(longitude):.3f}° {'WE'[longitude >= 0]}"


def in_words(bounds: Bounds, crs: str) -> str:
    """Return the middle of bounds in `crs`, and the country it is in or near."""
    near = country_near(*_middle(bounds, crs))
    return f"{middle_in_words(bounds, crs)}, {f'in or near {near}' if near else NOWHERE}"


def country_near(longitude: float, latitude: float) -> str | None:
    """Return the country with the smallest map system of EPSG whose box has a place in it; None where there is none.

    Only a hint: the box around a country has parts of its neighbours in it.
    """
    from pyproj.aoi import AreaOfInterest
    from pyproj.database import query_crs_info

    if not (math.isfinite(longitude) and abs(latitude) <= 90):
        return None
    here = AreaOfInterest(longitude, latitude, longitude, latitude)
    systems = query_crs_info(auth_name="EPSG", area_of_interest=here, contains=True)
    areas = {(area, area.name or "") for system in systems if (area := system.area_of_use) is not None}
    # Areas of one country are called "Portugal - mainland - onshore."; others "Between 6°W and 0°W, …" and the like.
    small = [
        (width * (area.north - area.south), name.split(" - ")[0])
        for area, name in areas
        if " - " in name and 0 < (width := (area.east - area.west) % 360) < WIDEST
    ]
    return min(small)[1] if small else None


def _middle(bounds: Bounds, crs: str) -> tuple[float, float]:
    west, south, east, north = bounds
    middle = transform(crs, DEGREES)(np.array([[(west + east) / 2, (south + north) / 2]]))
    longitude, latitude = middle[0].tolist()
    return (longitude + 180) % 360 - 180, latitude
