"""UGrid has as many cells as the noisy total and the noise allow."""

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from pointveil.methods import METHODS
from pointveil.partition import UniformGrid
from pointveil.partition.base import MOST_SIDE, grid_side
from pointveil.testing import ScriptedVault
from pointveil.vault import Cells, Share
from pointveil.world import World

BUDGET = METHODS["ugrid-uni"].budget(Fraction(1))


def test_the_noisy_total_sets_the_side(world: World) -> None:
    vault = ScriptedVault(world, everywhere=1000)

    counted = UniformGrid().divide(vault, world, BUDGET)

    assert len(counted.regions) == 100  # ceil(sqrt(1000 · 0.99 / 10)) = 10
    assert [share.purpose for share in vault.asked] == ["total", "count"]


def test_the_total_of_the_cells_is_kept_and_none_is_negative(world: World) -> None:
    def script(cells: Cells, share: Share) -> NDArray[np.int64]:
        return np.array([1000]) if share.purpose == "total" else np.where(np.arange(len(cells)) % 2, 9, -3)

    counted = UniformGrid().divide(ScriptedVault(world, script=script), world, BUDGET)

    dry = counted.land.area > 0
    assert (counted.counts >= 0).all()
    assert counted.counts.sum() == pytest.approx(np.where(np.arange(100) % 2, 9, -3)[dry].sum())


@pytest.mark.parametrize(("total", "side"), [(-5, 1), (0, 1), (10, 1), (11, 2), (1e30, MOST_SIDE)])
def test_any_total_gives_a_side(total: float, side: int) -> None:
    assert grid_side(total, Fraction(1), 10) == side
