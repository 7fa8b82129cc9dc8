"""Whether there are as many points, and all of them on land."""

import numpy as np

from pointveil.evaluation.base import XY, Place, need_points


def total_count_error(real: XY, synthetic: XY, world: Place) -> float:  # noqa: ARG001
    """Return by how much the total is wrong, as a share of the real total: |synthetic − real| / real.

    Parameters
    ----------
    real, synthetic
        The points, in metres.
    world
        Where they are.
    """
    need_points("the total-count error", real, "real")
    return abs(len(synthetic) - len(real)) / len(real)


def off_land_share(real: XY, synthetic: XY, world: Place) -> float:  # noqa: ARG001
    """Return the share of the synthetic points that are not on land: in water, or outside the boundary.

    Parameters
    ----------
    real, synthetic
        The points, in metres.
    world
        Where land is.
    """
    need_points("the share in water", synthetic, "synthetic")
    return float(np.mean(~world.on_land(synthetic)))
