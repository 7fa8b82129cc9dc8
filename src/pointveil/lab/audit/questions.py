"""The vault's questions as subjects of their own: one grid counted, its crowds counted, one grid scattered."""

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from pointveil.cells import CodedCells, Grid, RegionSites
from pointveil.estimate.sizes import ENDS
from pointveil.ground import SitePlaces, clip_to_land
from pointveil.lab.audit.subjects import CLAIM, KEEP, MAX_POINTS, Published, Publisher, Subject
from pointveil.vault import Share
from pointveil.world import World

CELL, BLOCK = 50.0, 100.0
SITES_PER_SIDE = 8
MANY_USES = 12


def squares(world: World) -> Grid:
    """Return cells of 50 m."""
    return Grid(world.bounds, *(round(side / CELL) for side in world.size))


@lru_cache(maxsize=4)
def sites(world: World) -> RegionSites:
    """Return numbered sites in each of these cells, as the kernel has them."""
    grid = squares(world)
    return SitePlaces.of(grid, clip_to_land(grid, world), world, SITES_PER_SIDE).sites


def asking(question: Callable[[Any], object]) -> Publisher:
    """Return what asks a question of a vault, and publishes nothing but the answer."""

    def publish(vault: Any) -> Published:
        question(vault)
        return np.zeros((0, 2)), ""

    return publish


# How many are in each square.
ask_count = asking(lambda vault: vault.count(squares(vault.world), Share("count", vault.left)))


def ask_crowding(least: int) -> Publisher:
    """Return the question how many are in squares with at least so many."""
    return asking(lambda vault: vault.crowding(squares(vault.world), least, Share("crowd", Fraction(vault.left))))


# How many persons have so many points.
ask_persons = asking(lambda vault: vault.persons(ENDS, Share("sizes", Fraction(vault.left))))


@asking
def ask_columns(vault: Any) -> None:
    """Ask how many are in each block and say what."""
    blocks = Grid(vault.world.bounds, *(round(side / BLOCK) for side in vault.world.size))
    said = tuple((number, column.parts()[0].bins) for number, column in enumerate(KEEP))
    vault.count(CodedCells(blocks, said), Share("count", vault.left))


def ask_scatter(uses: int) -> Publisher:
    """Return the question where in its square each is, each point used so often."""

    def ask(vault: Any) -> None:
        regions = sites(vault.world)
        wanted = np.full(len(regions.counts), uses * vault.kept_per_unit)
        vault.scatter(regions, wanted, Share("place", vault.left), max_uses=uses)

    return asking(ask)


QUESTIONS: dict[str, Subject] = {
    subject.name: subject
    for subject in (
        Subject("vault.count", ask_count, quick=True),
        Subject("vault.count, ε = 1/4", ask_count, Fraction(1, 4)),
        Subject("vault.count, ε = 4", ask_count, Fraction(4)),
        Subject("vault.count, person", ask_count, CLAIM, MAX_POINTS, quick=True),
        Subject("vault.count, person with 2 points", ask_count, CLAIM, 2),
        Subject("vault.persons", ask_persons, CLAIM, MAX_POINTS, quick=True),
        # Twenty at one place or one more, and one person's eight points: the unit makes the crowd.
        Subject("vault.crowding", ask_crowding(21), quick=True),
        Subject("vault.crowding, person", ask_crowding(MAX_POINTS), CLAIM, MAX_POINTS, quick=True),
        Subject("vault.count, columns", ask_columns, quick=True, keep=KEEP),
        Subject("vault.count, columns, person", ask_columns, CLAIM, MAX_POINTS, quick=True, keep=KEEP),
        Subject("vault.scatter", ask_scatter(1)),
        Subject(f"vault.scatter, {MANY_USES} uses", ask_scatter(MANY_USES)),
        Subject("vault.scatter, person", ask_scatter(1), CLAIM, MAX_POINTS),
    )
}
