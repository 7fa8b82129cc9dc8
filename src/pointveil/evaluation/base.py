"""What every measure is given, and how it says that it has no answer."""

from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pointveil.errors import InputError

XY: TypeAlias = NDArray[np.float64]
"""Points in metres, one row each: x, then y."""

BANNER = "contains real points: do not share"
"""Stands on every output of this folder."""


class Place(Protocol):
    """What a measure may ask of a world."""

    @property
    def bounds(self) -> tuple[float, float, float, float]: ...  # noqa: D102

    @property
    def projection(self) -> Any: ...  # noqa: D102

    @property
    def roads(self) -> Any: ...  # noqa: D102

    def on_land(self, xy: XY) -> NDArray[np.bool_]: ...  # noqa: D102


class UnmeasuredError(InputError):
    """A measure has no answer for these points or this world; the text says why."""


def need_points(name: str, xy: XY, kind: str, *, at_least: int = 1) -> None:
    """Refuse to measure when there are too few points of a kind.

    Parameters
    ----------
    name
        The measure, as a person would call it.
    xy
        The points.
    kind
        "real" or "synthetic".
    at_least
        How many are needed.
    """
    if len(xy) < at_least:
        amount = "one" if at_least == 1 else str(at_least)
        raise UnmeasuredError(f"{name} needs at least {amount} {kind} point{'s' if at_least > 1 else ''}")


def dice(one: NDArray[np.bool_], other: NDArray[np.bool_]) -> float:
    """Return the Sørensen–Dice coefficient of two sets given as masks; two empty sets agree."""
    together = int(one.sum()) + int(other.sum())
    return 2.0 * int((one & other).sum()) / together if together else 1.0
