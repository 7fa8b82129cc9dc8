"""The paper's experiments as plans: what to run, one tidy table, tables and figures."""

from pointveil.lab.experiments.plan import City, Plan, Variant
from pointveil.lab.experiments.runs import Run, runs_of, work_through

__all__ = ["City", "Plan", "Run", "Variant", "runs_of", "work_through"]
