"""AGrid cuts busy cells finely, and its two levels agree."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from pointveil.methods import METHODS
from pointveil.partition import AdaptiveGrid, Counted
from pointveil.partition.adaptive_grid import MOST_PARTS, coarse_side, fine_sides
from pointveil.testing import ScriptedVault
from pointveil.vault import Cells, Share
from pointveil.world import World

BUDGET = METHODS["agrid-uni"].budget(Fraction(1))


def divide(world: World, answer: Callable[[Cells, Share], object]) -> Counted:
    vault = ScriptedVault(world, script=lambda cells, share: np.full(len(cells), answer(cells, share), dtype=np.int64))
    return AdaptiveGrid().divide(vault, world, BUDGET)


def test_busy_cells_are_cut_finer(plain_world: World) -> None:
    def answer(cells: Cells, share: Share) -> object:
        busy = np.where(np.arange(len(cells)) == 0, 1000, 1)
        return {"total": 2000, "shape": busy, "count": 4}[share.purpose]

    sides = divide(plain_world, answer).regions.sides  # type: ignore[attr-defined]

    assert sides[0] == 10  # 1000 · 0.495 / 5 = 99
    assert (sides[1:] == 1).all()


def test_both_levels_agree_on_what_they_say_together(plain_world: World) -> None:
    counted = divide(plain_world, lambda _, share: {"total": 2000, "shape": 40, "count": 30}[share.purpose])

    # Each of 100 coarse cells is cut into 4: 40 and 4 · 30 = 120, the second with four times the variance.
    assert len(counted.regions) == 400
    assert counted.counts == pytest.approx(np.full(400, (40 * 4 + 120) / 5 / 4))


def test_nobody_is_put_into_water(world: World) -> None:
    counted = divide(world, lambda _, share: {"total": 2000, "shape": 500, "count": 20}[share.purpose])

    assert (counted.land.area == 0).any()
    assert (counted.counts[counted.land.area == 0] == 0).all()
    assert (counted.counts[counted.land.area > 0] > 0).all()


def test_noise_in_water_is_left_out_of_every_sum(world: World) -> None:
    def answer(wet: int) -> Counted:
        def script(cells: Cells, share: Share) -> NDArray[np.int64]:
            if share.purpose != "count":
                return np.full(len(cells), 2000 if share.purpose == "total" else 500, dtype=np.int64)
            middle = (cells.rectangles()[:, :2] + cells.rectangles()[:, 2:]) / 2  # type: ignore[attr-defined]
            return np.where(world.on_land(middle), 20, wet)

        return AdaptiveGrid().divide(ScriptedVault(world, script=script), world, BUDGET)

    dry = answer(0).land.area > 0
    low, high = answer(-50), answer(50)
    changed = np.abs(low.counts - high.counts) > 1e-9
    middle = (low.regions.rectangles()[:, :2] + low.regions.rectangles()[:, 2:]) / 2  # type: ignore[index]
    wholly_wet = ~dry & ~world.on_land(middle)

    # Only cells that the shore crosses, whose middle is wet, may differ, and their brothers in the same coarse cell.
    owner = low.regions.owner  # type: ignore[attr-defined]
    crossed = np.unique(owner[dry & ~world.on_land(middle)])
    assert wholly_wet.any()
    assert np.isin(owner[changed], crossed).all()


@pytest.mark.parametrize("everywhere", [-1000, -1, 0, 1])
def test_negative_and_zero_counts_are_answers_like_others(world: World, everywhere: int) -> None:
    counted = divide(world, lambda *_: everywhere)

    assert len(counted.regions) == 100
    assert (counted.counts >= 0).all()


def test_there_is_a_limit_to_the_number_of_cells() -> None:
    sides = fine_sides(np.full(100, 2**50), Fraction(1), 5.0)

    assert np.square(sides).sum() <= MOST_PARTS
    assert np.square(sides).sum() > MOST_PARTS / 2


def test_the_noise_of_persons_makes_cells_larger() -> None:
    assert coarse_side(1_000_000, Fraction(1, 8), 10) < coarse_side(1_000_000, Fraction(1), 10)
    assert fine_sides(np.array([1000]), Fraction(1, 8), 5.0) < fine_sides(np.array([1000]), Fraction(1), 5.0)


def test_the_vault_says_how_many_points_a_person_has(plain_world: World) -> None:
    def regions(points: int) -> int:
        vault = ScriptedVault(plain_world, everywhere=2000, points_per_unit=points)
        return len(AdaptiveGrid().divide(vault, plain_world, BUDGET).regions)

    assert regions(8) < regions(1) / 4
