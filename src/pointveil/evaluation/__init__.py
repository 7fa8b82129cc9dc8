"""How good synthetic points are: owner's eyes only, since every number here is about the real points."""

from pointveil.evaluation import measures as measures  # they register themselves
from pointveil.evaluation.comparison import Comparison
from pointveil.evaluation.errors import UnmeasuredError
from pointveil.evaluation.registry import MEASURES, Measure, Sizes, measure
from pointveil.evaluation.results import BANNER, Evaluation, evaluate, measure_all

__all__ = [
    "BANNER",
    "MEASURES",
    "Comparison",
    "Evaluation",
    "Measure",
    "Sizes",
    "UnmeasuredError",
    "evaluate",
    "measure",
    "measure_all",
]
