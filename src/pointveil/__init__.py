"""Synthetic location data with a pure differential-privacy guarantee."""

from typing import TYPE_CHECKING, Any

from pointveil.version import __version__ as __version__

if TYPE_CHECKING:
    from pointveil.errors import BudgetError as BudgetError
    from pointveil.errors import InputError as InputError
    from pointveil.errors import MissingExtraError as MissingExtraError
    from pointveil.errors import PointveilError as PointveilError
    from pointveil.errors import PointveilWarning as PointveilWarning
    from pointveil.errors import VerificationError as VerificationError
    from pointveil.ledger import Ledger as Ledger
    from pointveil.methods import METHODS as METHODS
    from pointveil.methods import Method as Method
    from pointveil.partition import AdaptiveGrid as AdaptiveGrid
    from pointveil.partition import Clusters as Clusters
    from pointveil.partition import RoadSegments as RoadSegments
    from pointveil.partition import UniformGrid as UniformGrid
    from pointveil.placement import AlongRoads as AlongRoads
    from pointveil.placement import KernelDensity as KernelDensity
    from pointveil.placement import Uniform as Uniform
    from pointveil.placement import WeightedUniform as WeightedUniform
    from pointveil.releases import draw as draw
    from pointveil.releases import release as release
    from pointveil.releases import release_survey as release_survey
    from pointveil.releases import survey as survey
    from pointveil.releases import synthesize as synthesize
    from pointveil.statement import Statement as Statement
    from pointveil.surveys import Survey as Survey
    from pointveil.synthetic import SyntheticPoints as SyntheticPoints
    from pointveil.vault import Vault as Vault
    from pointveil.verification import verify as verify
    from pointveil.world import World as World

_HOMES = {
    "World": "world",
    "METHODS": "methods",
    "Method": "methods",
    "AdaptiveGrid": "partition",
    "Clusters": "partition",
    "RoadSegments": "partition",
    "UniformGrid": "partition",
    "Veil": "partition",
    "Density": "placement",
    "KernelDensity": "placement",
    "Uniform": "placement",
    "WeightedUniform": "placement",
    "AlongRoads": "placement",
    "Survey": "surveys",
    "release": "releases",
    "release_survey": "releases",
    "PointveilError": "errors",
    "InputError": "errors",
    "BudgetError": "errors",
    "VerificationError": "errors",
    "MissingExtraError": "errors",
    "PointveilWarning": "errors",
    "draw": "releases",
    "survey": "releases",
    "synthesize": "releases",
    "SyntheticPoints": "synthetic",
    "Ledger": "ledger",
    "Statement": "statement",
    "Vault": "vault",
    "verify": "verification",
}
__all__ = ["__version__", *_HOMES]  # noqa: PLE0604 - names of strings


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for: importing the package itself does no work."""
    if name not in _HOMES:
        raise AttributeError(f"module 'pointveil' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module(f"pointveil.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
