"""Synthetic location data with a pure differential-privacy guarantee.

Begin with `World.make`, `Vault.open`, `survey`, `draw` and `SyntheticPoints.write`; `help` has examples of each.
The examples assume `import pointveil as pv` and the folder that `pointveil demo` makes.
"""

import sys
from functools import cache
from typing import TYPE_CHECKING, Any

from pointveil.version import __version__ as __version__

# These imports are the only list of public names: type checkers follow them, and `_homes` reads them.
# A module must not be called like a
# public name: importing it would hide the name.
if TYPE_CHECKING:  # the names to begin with
    from pointveil.checking import check as check
    from pointveil.columns import Category as Category
    from pointveil.columns import Id as Id
    from pointveil.columns import Number as Number
    from pointveil.columns import Time as Time
    from pointveil.errors import BudgetError as BudgetError
    from pointveil.errors import InputError as InputError
    from pointveil.errors import MissingExtraError as MissingExtraError
    from pointveil.errors import PointveilError as PointveilError
    from pointveil.errors import PointveilWarning as PointveilWarning
    from pointveil.errors import StoppedError as StoppedError
    from pointveil.errors import VerificationError as VerificationError
    from pointveil.evaluation import Evaluation as Evaluation
    from pointveil.evaluation import evaluate as evaluate
    from pointveil.ledger import Ledger as Ledger
    from pointveil.planning import plan as plan
    from pointveil.priors import with_prior as with_prior
    from pointveil.reading import read as read
    from pointveil.releases import draw as draw
    from pointveil.releases import release as release
    from pointveil.releases import release_survey as release_survey
    from pointveil.releases import survey as survey
    from pointveil.statement import Statement as Statement
    from pointveil.surveys import Survey as Survey
    from pointveil.synthetic import SyntheticPoints as SyntheticPoints
    from pointveil.tabling import table as table
    from pointveil.vault import Vault as Vault
    from pointveil.verification import verify as verify
    from pointveil.world import World as World

if TYPE_CHECKING:  # methods, and the parts to build one from
    from pointveil.methods import METHODS as METHODS
    from pointveil.methods import Method as Method
    from pointveil.methods import register_method as register_method
    from pointveil.partition import AdaptiveGrid as AdaptiveGrid
    from pointveil.partition import Clusters as Clusters
    from pointveil.partition import RoadSegments as RoadSegments
    from pointveil.partition import UniformGrid as UniformGrid
    from pointveil.partition import Veil as Veil
    from pointveil.placement import AlongRoads as AlongRoads
    from pointveil.placement import Density as Density
    from pointveil.placement import KernelDensity as KernelDensity
    from pointveil.placement import Uniform as Uniform
    from pointveil.placement import WeightedUniform as WeightedUniform
    from pointveil.releases import synthesize as synthesize


__all__: list[str]


@cache
def _homes() -> dict[str, str]:
    """Return the module of each public name, as the imports above have it."""
    import ast
    import inspect

    imports = ast.walk(ast.parse(inspect.getsource(sys.modules[__name__])))
    return {
        alias.name: node.module
        for node in imports
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("pointveil.")
        for alias in node.names
    }


if not TYPE_CHECKING:  # so that a type checker refuses a name that does not exist

    def __getattr__(name: str) -> Any:
        """Import a public name when it is first asked for: importing the package itself does no work."""
        if name == "__all__":
            return list(_homes())
        if name.startswith("_") or name not in _homes():
            raise AttributeError(f"module 'pointveil' has no attribute '{name}'")
        from importlib import import_module

        value = globals()[name] = getattr(import_module(_homes()[name]), name)
        return value


def __dir__() -> list[str]:
    return list(_homes())
