"""Which CRS the coordinates of a file are in, and how finely they are published."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pointveil.errors import InputError

DEFAULT_CRS = "EPSG:4326"
LONGITUDE_FIRST = "OGC:CRS84"


def canonical_crs(crs: Any, name: str) -> str:
    """Return `crs` as ``"EPSG:4326"`` or the like if it has such a name, else as WKT."""
    known = _known(crs, name)
    authority = known.to_authority(min_confidence=100)
    if authority is None:
        return str(known.to_wkt())
    found = ":".join(authority)
    # Both mean degrees on WGS 84, and here longitude always comes first.
    return DEFAULT_CRS if found == LONGITUDE_FIRST else found


def other_name(crs: Any) -> str | None:
    """Return the name that a file uses for a CRS, if it is not the one used here."""
    authority = None if crs is None else _known(crs, "the file").to_authority(min_confidence=100)
    return LONGITUDE_FIRST if authority == ("OGC", "CRS84") else None


def authority_of(crs: str, name: str) -> tuple[str, str]:
    """Return the register that names a CRS and its name there, for formats that can say no more."""
    authority, _, code = crs.partition(":")
    if not code.isalnum():
        raise InputError(f"{name} cannot hold a CRS without a name such as EPSG:4326; write .gpkg or .parquet.")
    return authority, code


def _known(crs: Any, name: str) -> Any:
    from pyproj import CRS
    from pyproj.exceptions import CRSError

    try:
        return CRS.from_user_input(crs)
    except CRSError:
        raise InputError(
            f"The CRS of {name} is not one that PROJ knows; say which with crs=, as in crs='EPSG:4326'.",
        ) from None


def chosen_crs(own: Any, asked: str | None, name: str) -> str:
    """Return the CRS of a source that may have one of its own and a caller who may have named one."""
    given = canonical_crs(asked, "crs=") if asked else None
    if own is None and given is None:
        raise InputError(f"{name} does not say its CRS; say which with crs=, for example crs='EPSG:4326'.")
    if own is None:
        return str(given)
    known = canonical_crs(own, name)
    if given not in (None, known):
        raise InputError(f"{name} says its own CRS, which is not crs={asked!r}; leave crs= out.")
    return known


def is_geographic(crs: str) -> bool:
    """Whether coordinates in `crs` are degrees."""
    from pyproj import CRS

    return bool(CRS.from_user_input(crs).is_geographic)


def decimals(crs: str) -> int:
    """Return how many decimals a published coordinate has: 1e-7 degrees, or centimetres."""
    return 7 if is_geographic(crs) else 2


def canonical_chunks(chunks: Iterable[NDArray[np.float64]], crs: str) -> Iterator[NDArray[np.float64]]:
    """Yield chunks whose numbers are the doubles nearest to the lattice, without negative zeros."""
    digits = decimals(crs)
    for chunk in chunks:
        yield np.round(np.asarray(chunk, dtype=np.float64).reshape(-1, 2), digits) + 0.0
