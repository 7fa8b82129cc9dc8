"""All measures at once."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pointveil.errors import InputError
from pointveil.evaluation.base import BANNER, XY, Place, UnmeasuredError
from pointveil.evaluation.measures import MEASURES
from pointveil.evaluation.points import in_metres


@dataclass(frozen=True)
class Evaluation:
    """How good synthetic points are: owner's eyes only.

    Parameters
    ----------
    values
        Measure → number.
    reasons
        Measure → why there is no number.
    real_points, synthetic_points
        How many were compared.
    real_left_out, synthetic_left_out
        How many were not: real points that are not on land, and points without coordinates.
    seed
        Chose grid shifts, centres and samples.
    """

    values: Mapping[str, float]
    reasons: Mapping[str, str] = field(default_factory=dict)
    real_points: int = 0
    synthetic_points: int = 0
    real_left_out: int = 0
    synthetic_left_out: int = 0
    seed: int = 0
    banner: str = BANNER

    def to_dict(self) -> dict[str, Any]:
        """Return everything, with the unit, the better direction and the reading of each number."""
        return {
            "banner": self.banner,
            "real_points": self.real_points,
            "synthetic_points": self.synthetic_points,
            "real_left_out": self.real_left_out,
            "synthetic_left_out": self.synthetic_left_out,
            "seed": self.seed,
            "measures": {name: _row(name, value) for name, value in self.values.items()},
            "not_measured": dict(self.reasons),
        }

    def to_json(self) -> str:
        """Return `to_dict` as JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False, indent=2)


def _row(name: str, value: float) -> dict[str, Any]:
    measure = MEASURES[name]
    return {
        "value": value,
        "unit": measure.unit,
        "better": measure.better,
        "best": measure.best,
        "reading": measure.reading,
    }


def evaluate(
    real: Any, synthetic: Any, world: Place, *, measures: Iterable[str] | None = None, seed: int = 0
) -> Evaluation:
    """Compare synthetic points with the real ones by every measure.

    The result says things about the real points that no noise protects: keep it to yourself.

    Parameters
    ----------
    real, synthetic
        The points: arrays of metres; or files, frames or synthetic points in any CRS. As in a release, only
        real points on land are looked at.
    world
        Where they are.
    measures
        Names out of `MEASURES`; all if not given.
    seed
        Chooses grid shifts, centres and samples.
    """
    names = list(MEASURES) if measures is None else list(measures)
    unknown = [name for name in names if name not in MEASURES]
    if unknown:
        raise InputError(f"there is no measure {', '.join(unknown)}; there are {', '.join(MEASURES)}.")
    all_real, all_synthetic = in_metres(real, world, "real"), in_metres(synthetic, world, "synthetic")
    real_points, synthetic_points = (xy[np.isfinite(xy).all(axis=1)] for xy in (all_real, all_synthetic))
    real_points = real_points[world.on_land(real_points)]
    values: dict[str, float] = {}
    reasons: dict[str, str] = {}
    for name in names:
        try:
            values[name] = _measure(name, real_points, synthetic_points, world, seed)
        except UnmeasuredError as error:
            reasons[name] = str(error)
    return Evaluation(
        values,
        reasons,
        real_points=len(real_points),
        synthetic_points=len(synthetic_points),
        real_left_out=len(all_real) - len(real_points),
        synthetic_left_out=len(all_synthetic) - len(synthetic_points),
        seed=seed,
    )


def _measure(name: str, real: XY, synthetic: XY, world: Place, seed: int) -> float:
    measure = MEASURES[name]
    options = {"seed": seed} if measure.seeded else {}
    return measure.function(real, synthetic, world, **options)
