"""Find out whether a canary also moves the counts of cells that are not its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pointveil.audit.features import Columns
from pointveil.audit.subjects import Asked, Records, Release
from pointveil.geography import World
from pointveil.vault import NoisyCounts

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
MOST_OFFSETS, LEAST_SCORE = 4, 6.0
"""How many offsets are believed at most, and the standard errors that each must show."""
MOST_CELLS = 50_000


@dataclass(frozen=True)
class Seen:
    """A release about a city: the canaries whose coins are hidden, everything known, and those coins."""

    release: Release
    canaries: Floats
    known: Records
    coins: Bools


@dataclass(frozen=True)
class Excess:
    """How much each cell has over what is known, and the cell of each canary."""

    values: Floats
    cell: NDArray[np.int64]
    epsilon: float

    def shifted(self, canary: int) -> Floats:
        """Return the excess of all cells, counted from that of one canary."""
        return np.roll(self.values, -int(self.cell[canary]))


def add_offsets(
    rows: Sequence[Columns], seen: Sequence[Seen], lessons: Sequence[Bools], world: World, weight: int
) -> None:
    """Add, for each count, the likelihood ratio over all cells that moved with the canaries of the lesson."""
    for number in range(min(len(each.release.asked) for each in seen)):
        found = [excess_of(each, each.release.asked[number], world) for each in seen]
        if all(excess is None for excess in found):
            continue
        offsets = learn_offsets(found, seen, lessons)
        for columns, excess in zip(rows, found, strict=True):
            columns.add(f"answer {number}: all cells that move", _ratio(excess, offsets, columns.rows, weight))


def excess_of(each: Seen, asked: Asked, world: World) -> Excess | None:
    """Return the excess of a count's cells; None for what is no count, or too large."""
    answer = asked.answer
    if not isinstance(answer, NoisyCounts) or not 1 < len(answer.values) <= MOST_CELLS:
        return None
    size = len(answer.values)
    base = np.asarray(asked.about.locate(world.projection.to_metres(each.known.xy)))
    tally = np.bincount(base[(base >= 0) & (base < size)], minlength=size)
    cell = np.asarray(asked.about.locate(world.projection.to_metres(each.canaries)))
    excess = np.asarray(answer.values, dtype=np.float64) - tally
    return Excess(excess, np.where((cell >= 0) & (cell < size), cell, 0), float(answer.noise_epsilon))


def learn_offsets(found: Sequence[Excess | None], seen: Sequence[Seen], lessons: Sequence[Bools]) -> NDArray[np.int64]:
    """Return the offsets at which cells move with the canaries, of those releases that have the commonest size."""
    size = max(len(excess.values) for excess in found if excess is not None)
    score, square = np.zeros(size), 1e-9
    for excess, each, lesson in zip(found, seen, lessons, strict=True):
        if excess is None or len(excess.values) != size:
            continue
        limit = 3 / excess.epsilon
        for canary in np.flatnonzero(lesson):
            moved = np.clip(excess.shifted(int(canary)), -limit, limit)
            score += moved if each.coins[canary] else -moved
            square += float(np.square(moved).mean())
    scaled = score / np.sqrt(square)
    best = np.argsort(-scaled)[:MOST_OFFSETS]
    return np.asarray(best[scaled[best] > LEAST_SCORE], dtype=np.int64)


def _ratio(excess: Excess | None, offsets: NDArray[np.int64], rows: int, weight: int) -> Floats:
    if excess is None or not len(offsets):
        return np.zeros(rows)
    cells = (excess.cell[:, None] + offsets) % len(excess.values)
    over = excess.values[cells]
    return np.asarray(excess.epsilon * (np.abs(over) - np.abs(over - weight)).sum(axis=1))
