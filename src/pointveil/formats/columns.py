"""Find the columns of coordinates by their public names alone."""

import re
from collections.abc import Sequence
from typing import Any

from pointveil.errors import InputError, did_you_mean
from pointveil.files.crs import DEGREES, LONGITUDE_FIRST, chosen_crs, is_geographic, is_longitude_first, known_crs
from pointveil.formats.base import Layout
from pointveil.formats.values import NUMBER

COORDINATE_NAMES = """
    lon lat, longitude latitude, lng lat, long lat, x y, easting northing, lon latitude, longitude lat,
    x_coord y_coord, coord_x coord_y, point_x point_y, pickup_longitude pickup_latitude
"""


def find_columns(names: Sequence[str], wanted: tuple[str, str] | None, source: str) -> tuple[int, int]:
    """Return where the x and y columns stand: as wanted, or else guessed from the names alone."""
    if wanted is not None:
        x, y = (find_column(names, name, source) for name in wanted)
        if x == y:
            raise InputError(f"--columns (columns=) names {wanted[0]!r} twice; give the names of x and of y.")
        return x, y
    lowered = [name.strip().lower() for name in names]
    for x_name, y_name in map(str.split, COORDINATE_NAMES.split(",")):
        if lowered.count(x_name) == 1 and lowered.count(y_name) == 1:
            return lowered.index(x_name), lowered.index(y_name)
    raise InputError(
        f"{source} has no columns that are surely longitude and latitude; {listed(names)} "
        "Say which with --columns LON,LAT (columns=('LON', 'LAT') in Python), and with --crs (crs=) if they are not "
        "degrees."
    )


def find_column(names: Sequence[str], wanted: str, source: str) -> int:
    """Return where the one column called `wanted` stands."""
    count = list(names).count(wanted)
    if count == 1:
        return list(names).index(wanted)
    if count > 1:
        raise InputError(f"{source} has {count} columns called {wanted!r}; give each its own name.")
    guess = "" if any(map(looks_like_data, names)) else did_you_mean(wanted, names)
    raise InputError(
        f"{source} has no column {wanted!r}; {listed(names)} {guess}"
        "See --columns LON,LAT, or --person COLUMN (columns=('LON', 'LAT') and person='COLUMN' in Python)."
    )


def listed(names: Sequence[str]) -> str:
    """Say the names of columns, unless they look like a first record in place of a header."""
    if any(looks_like_data(name) for name in names):
        return "its first line seems to hold data rather than names: add a line with the names of the columns."
    some = ", ".join(name[:40] for name in names[:30]) or "none"
    return f"it has {some}{', …' if len(names) > 30 else ''}."


def looks_like_data(name: str) -> bool:
    """Whether a column's name might be somebody's value."""
    return re.match(NUMBER, name.encode()) is not None or re.search(r"[0-9][.,][0-9]", name) is not None


def quoted(name: str) -> str:
    """Return a name as SQL takes it, whatever its characters."""
    return '"' + name.replace('"', '""') + '"'


def no_columns(columns: tuple[str, str] | None, source: str) -> None:
    """Refuse names of columns for a format whose points are geometries."""
    if columns is not None:
        raise InputError(f"{source} holds geometries, so it needs no names of columns; leave --columns (columns=) out.")


def usual_names(crs: str) -> tuple[str, str]:
    """Return what x and y are called where nobody named them."""
    return ("lon", "lat") if is_geographic(crs) else ("x", "y")


def plain_layout(
    kind: str, names: Sequence[str], places: tuple[int, int], crs: str | None, source: str, **more: Any
) -> Layout:
    """Return the public facts of points in two of the columns, in degrees unless the caller names another CRS."""
    x, y = places
    left_out = tuple(name for place, name in enumerate(names) if place not in places)
    known = chosen_crs(crs or DEGREES, None, source)
    return Layout(kind, crs=known, x=names[x], y=names[y], y_first=y < x, left_out=left_out, **more)


def file_crs(crs: Any) -> str | None:
    """Return the name that a file uses for its CRS, if it is not the one used here."""
    return LONGITUDE_FIRST if crs is not None and is_longitude_first(known_crs(crs, "the file")) else None
