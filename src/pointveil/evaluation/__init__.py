"""How good synthetic points are: owner's eyes only, since every number here is about the real points."""

from pointveil.errors import UnmeasuredError as UnmeasuredError
from pointveil.evaluation import measures as measures  # they register themselves
from pointveil.evaluation.comparison import Comparison as Comparison
from pointveil.evaluation.registry import MEASURES as MEASURES
from pointveil.evaluation.registry import Measure as Measure
from pointveil.evaluation.registry import Sizes as Sizes
from pointveil.evaluation.registry import measure as measure
from pointveil.evaluation.results import BANNER as BANNER
from pointveil.evaluation.results import Evaluation as Evaluation
from pointveil.evaluation.results import evaluate as evaluate
from pointveil.evaluation.results import measure_all as measure_all
