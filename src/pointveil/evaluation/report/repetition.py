"""What error to expect, seen by doing to the release what was done to the real points."""

from fractions import Fraction

import pyarrow as pa

from pointveil.errors import InputError
from pointveil.evaluation.comparison import XY, Comparison
from pointveil.evaluation.measures.shifted_cell_error import shifted_cell_error
from pointveil.methods import Method
from pointveil.releases import synthesize
from pointveil.statement import Statement
from pointveil.vault import Vault
from pointveil.world import World

TOO_EASY = 0.8
"""The error of a repetition, by that of the release: a release is smoother than a city, so repeating it is easier."""
MOST = 2.0
SEED = 0


def repeat_release(synthetic: XY, world: World, statement: Statement) -> XY | None:
    """Return the points of a second release that takes the first for real, with the same method and noise.

    Nothing private is asked: the first release is public, and the noise of the second protects nobody. None if this
    version does not know the method, or cannot do what the statement says.
    """
    method = _method(statement)
    if method is None:
        return None
    x, y = world.projection.from_metres(synthetic).T
    table = pa.table({"x": x, "y": y})
    epsilon = Fraction(statement.guarantee.epsilon) / statement.guarantee.points_per_unit
    vault = Vault.rehearse(table, world, epsilon=epsilon, seed=SEED, columns=("x", "y"), crs=world.projection.crs)
    try:
        again = synthesize(vault, method, seed=SEED)
    except (InputError, ValueError):  # a statement may name any parameters
        return None
    return world.projection.to_metres(again.coordinates)


def predict_by_repetition(synthetic: XY, again: XY, world: World, cell: float) -> float:
    """Return the error to expect of the release, from that of its repetition."""
    if not len(synthetic) or not len(again):
        return MOST
    return min(MOST, shifted_cell_error(Comparison(synthetic, again, world), cell=cell) / TOO_EASY)


def _method(statement: Statement) -> Method | None:
    used = statement.method
    try:
        return None if used is None else Method.restore(used.name, used.parameters, used.split)
    except (InputError, KeyError, TypeError):
        return None
