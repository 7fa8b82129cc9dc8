"""How good synthetic points are: owner's eyes only, since every number here is about the real points."""

from pointveil.evaluation.base import BANNER, UnmeasuredError
from pointveil.evaluation.comparison import Evaluation, evaluate
from pointveil.evaluation.measures import MEASURES, Measure

__all__ = ["BANNER", "MEASURES", "Evaluation", "Measure", "UnmeasuredError", "evaluate"]
