"""The paper's experiments as plans: handed the real points of cities, so the results are for the owner's eyes."""

from pointveil.lab.experiments.plan import City, Plan, Variant
from pointveil.lab.experiments.runs import Run, runs_of, work_through

__all__ = ["City", "Plan", "Run", "Variant", "runs_of", "work_through"]
