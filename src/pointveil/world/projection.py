"""Degrees outside, metres inside: a straight scaling that can be undone exactly."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from pyproj import CRS, Transformer

from pointveil.cells.arrays import Bounds, Floats
from pointveil.cells.plane import Plane
from pointveil.errors import InputError
from pointveil.files import lattice
from pointveil.files.crs import crs_name, parse_crs, unit_of

WORST_SCALE_ERROR = 0.05


@dataclass(frozen=True)
class Projection:
    """A scaling of each axis, from the coordinates of a CRS to metres.

    A geographic CRS is scaled as on its ellipsoid at one latitude (equirectangular); a projected one by its
    unit. Boxes stay boxes, straight lines stay straight, and the order of coordinates along an axis stays.
    """

    crs: str  # a code such as EPSG:4326, or else WKT; axes are always x, y
    origin: tuple[float, float]  # where (0, 0) lies, in the units of the CRS
    metres_per_unit: tuple[float, float]  # the length of one unit along x and along y
    wraps: bool = False  # whether the world crosses the antimeridian
    middle: float = 0.0  # the longitude half a turn away from the cut, in a world that wraps

    @classmethod
    def over(cls, bounds: Bounds, crs: str) -> "Projection":
        """Make the projection for a boundary whose bounds are given in `crs`."""
        parsed = parse_crs(crs)
        west, south, east, north = bounds
        if not parsed.is_geographic:
            unit = unit_of(parsed)
            return cls(crs_name(parsed), (west, south), (unit, unit))
        wraps = east > 180 or west < -180
        scales = _degree_lengths(parsed, (south + north) / 2)
        return cls(crs_name(parsed), (west, south), scales, wraps, (west + east) / 2)

    @cached_property
    def steps_per_unit(self) -> int:
        """Lattice points along one unit of the CRS: a power of ten."""
        return lattice.steps_per_unit(self.crs)

    @property
    def lattice(self) -> float:
        """The step of the public lattice, in the units of the CRS."""
        return 1 / self.steps_per_unit

    @cached_property
    def is_geographic(self) -> bool:
        """Whether the CRS counts in degrees."""
        return bool(CRS(self.crs).is_geographic)

    @cached_property
    def plane(self) -> Plane:
        """What brings records to metres and to the public lattice."""
        middle = self.middle if self.wraps else None
        return Plane(self.origin, self.metres_per_unit, self.steps_per_unit, self.is_geographic, middle)

    def to_metres(self, coordinates: Floats) -> Floats:
        """Bring coordinates of the CRS to metres; silent whatever the values are."""
        return self.plane.to_metres(coordinates)

    def from_metres(self, xy: Floats) -> Floats:
        """Bring metres back to coordinates of the CRS."""
        units = np.empty((2, len(xy)))  # one axis after the other: many times as fast as both of each place
        with np.errstate(all="ignore"):
            for axis, places in enumerate(np.asarray(xy, dtype=np.float64).T):
                np.divide(places, self.metres_per_unit[axis], out=units[axis])
                units[axis] += self.origin[axis]
            return self._wrapped(units.T)

    def snap(self, coordinates: Floats) -> Floats:
        """Round coordinates of the CRS to the public lattice, with longitudes from -180 up to 180."""
        # Taking off a turn may miss the nearest float by a bit, which the second rounding mends.
        return lattice.snap(self._wrapped(lattice.snap(coordinates, self.crs)), self.crs)

    def scale_error(self, bounds: Bounds) -> float:
        """Return the largest relative error of a distance within bounds of the CRS, against the geodesic."""
        west, south, east, north = bounds
        x, y = (axis.ravel() for axis in np.meshgrid(np.linspace(west, east, 9), np.linspace(south, north, 9)))
        first, second = np.triu_indices(x.size, 1)
        longitude, latitude = self._geographic(x, y)
        geod = CRS(self.crs).get_geod()
        if geod is None or not (np.isfinite(longitude).all() and np.isfinite(latitude).all()):
            return math.inf
        geodesic = geod.inv(longitude[first], latitude[first], longitude[second], latitude[second])[2]
        planar = np.hypot(
            (x[second] - x[first]) * self.metres_per_unit[0], (y[second] - y[first]) * self.metres_per_unit[1]
        )
        with np.errstate(all="ignore"):
            error = float(np.max(np.abs(planar / geodesic - 1)))
        return error if math.isfinite(error) else math.inf

    def check(self, bounds: Bounds) -> None:
        """Refuse a boundary over which this projection is not good enough."""
        if self.is_geographic and (bounds[1] <= -90 or bounds[3] >= 90):
            raise InputError(
                f"The boundary reaches latitude {bounds[1] if bounds[1] <= -90 else bounds[3]:g}. "
                "Degrees do not work at a pole: give a polar CRS, such as EPSG:3995 or EPSG:3031."
            )
        if self.is_geographic and bounds[2] - bounds[0] >= 180:
            raise InputError(
                f"The boundary is {bounds[2] - bounds[0]:g}° wide, half the globe or more. Give a smaller one. "
                "To cross the antimeridian, give a west larger than the east, such as 170,-20,-170,-10."
            )
        error = self.scale_error(bounds)
        if error > WORST_SCALE_ERROR:
            raise InputError(
                f"Distances in {self.crs} would be wrong by {error:.0%} over this boundary (at most "
                f"{WORST_SCALE_ERROR:.0%} is accepted). Give the boundary in a projected CRS made for this "
                f"area{self._suggestion(bounds)}, or make it smaller."
            )

    def _suggestion(self, bounds: Bounds) -> str:
        middle = np.array([(bounds[0] + bounds[2]) / 2]), np.array([(bounds[1] + bounds[3]) / 2])
        longitude, latitude = (float(axis[0]) for axis in self._geographic(*middle))
        if not (math.isfinite(longitude) and abs(latitude) <= 84):
            return ""
        zone = int((longitude + 180) % 360 // 6) + 1
        return f" (perhaps EPSG:{(32600 if latitude >= 0 else 32700) + zone})"

    def _geographic(self, x: Floats, y: Floats) -> tuple[Floats, Floats]:
        if self.is_geographic:
            return x, y
        crs = CRS(self.crs)
        longitude, latitude = Transformer.from_crs(crs, crs.geodetic_crs, always_xy=True).transform(x, y)
        return longitude, latitude

    def _wrapped(self, coordinates: Floats) -> Floats:
        if self.wraps:
            longitude = coordinates[:, 0]
            longitude[longitude >= 180] -= 360
            longitude[longitude < -180] += 360
        return coordinates


def _degree_lengths(crs: CRS, latitude: float) -> tuple[float, float]:
    """Return the length of a degree of longitude and of latitude on the ellipsoid of `crs`."""
    geod = crs.get_geod()
    if geod is None:
        raise InputError(f"{crs.name} has no ellipsoid. Give a CRS that has one, such as EPSG:4326.")
    angle = math.radians(latitude)
    flat = 1 - geod.es * math.sin(angle) ** 2
    across = geod.a / math.sqrt(flat) * math.cos(angle)
    along = geod.a * (1 - geod.es) / flat**1.5
    return math.radians(across), math.radians(along)
