"""The public lattice: every place that a record or a published point can have in a CRS."""

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray
from pyproj import CRS

from pointveil.files.crs import unit_of

LARGEST_STEP_METRES = 0.01
LARGEST_STEP_RADIANS = math.radians(1e-7)  # about 1 cm on the ground


@cache
def steps_per_unit(crs: str) -> int:
    """Return how many lattice steps one unit of a CRS has: a power of ten, so that decimals are short."""
    # A degree has 10,000,000. A projected unit has as many as make a step of at most 1 cm: 100 for a metre or a foot,
    # 100,000 for a kilometre.
    known = CRS.from_user_input(crs)
    largest = LARGEST_STEP_RADIANS if known.is_geographic else LARGEST_STEP_METRES
    exponent = math.ceil(math.log10(unit_of(known) / largest) - 1e-9)
    return int(10 ** max(0, exponent))


def snap(coordinates: NDArray[np.float64], crs: str) -> NDArray[np.float64]:
    """Return coordinates of a CRS as the floats nearest to lattice points; silent whatever the values are."""
    steps = steps_per_unit(crs)
    with np.errstate(all="ignore"):
        snapped = np.rint(np.asarray(coordinates, dtype=np.float64) * steps)
        snapped /= steps
        snapped += 0.0  # no negative zeros
    return snapped
