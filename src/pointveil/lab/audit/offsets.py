"""Find out whether a canary also moves the counts of cells that are not its own."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pointveil.cells import Bools, Floats, Ints
from pointveil.lab.audit.scattered import Columns
from pointveil.lab.audit.subjects import Asked, Release
from pointveil.lab.audit.units import Known, Units
from pointveil.vault import NoisyCounts

MOST_OFFSETS, LEAST_SCORE = 4, 6.0  # how many offsets are believed at most, and the standard errors that each must show
MOST_CELLS = 200_000


@dataclass(frozen=True)
class Seen:
    """A release about a city: the canaries whose coins are hidden, everything known, and those coins."""

    release: Release
    units: Units
    known: Known
    coins: Bools


@dataclass(frozen=True)
class Excess:
    """How much each cell has over what is known, and the cell of each canary."""

    values: Floats
    cell: Ints
    epsilon: float


def add_offsets(rows: Sequence[Columns], seen: Sequence[Seen], lessons: Sequence[Bools]) -> None:
    """Add, for each count, the likelihood ratio over all cells that moved with the canaries of the lesson."""
    for number in range(min(len(each.release.asked) for each in seen)):
        found = [excess_of(each, each.release.asked[number]) for each in seen]
        if all(excess is None for excess in found):
            continue
        offsets = learn_offsets(found, seen, lessons)
        for columns, excess, each in zip(rows, found, seen, strict=True):
            columns[f"answer {number}: all cells that move"] = _ratio(excess, offsets, each.units)


def excess_of(each: Seen, asked: Asked) -> Excess | None:
    """Return the excess of a count's cells; None for what is no count, or too large."""
    answer = asked.answer
    if not isinstance(answer, NoisyCounts) or not 1 < len(answer.values) <= MOST_CELLS:
        return None
    size = len(answer.values)
    said = np.append(each.known.said, np.full(len(each.units), each.units.said[0]))
    located = asked.locate(np.concatenate([each.known.xy, each.units.home]), said)
    base, cell = np.split(located, [len(each.known.xy)])
    excess = np.asarray(answer.values, dtype=np.float64) - each.known.tally(base, size)
    return Excess(excess, np.where((cell >= 0) & (cell < size), cell, 0), float(answer.noise_epsilon))


def learn_offsets(found: Sequence[Excess | None], seen: Sequence[Seen], lessons: Sequence[Bools]) -> Ints:
    """Return the offsets at which cells move with the canaries, of those releases that have the largest size."""
    size = max(len(excess.values) for excess in found if excess is not None)
    score, square = np.zeros(size), 1e-9
    for excess, each, lesson in zip(found, seen, lessons, strict=True):
        if excess is None or len(excess.values) != size:
            continue
        # The excess of all cells, counted from each canary's own, is added up with the sign of its coin.
        values = np.clip(excess.values, -3 / excess.epsilon, 3 / excess.epsilon)
        signs = np.bincount(excess.cell, np.where(each.coins, 1.0, -1.0) * lesson, minlength=size)
        score = score + np.fft.irfft(np.fft.rfft(values) * np.conj(np.fft.rfft(signs)), n=size)
        square = square + float(np.square(values).mean() * lesson.sum())
    scaled = score / np.sqrt(square)
    best = np.argsort(-scaled)[:MOST_OFFSETS]
    return np.asarray(best[scaled[best] > LEAST_SCORE], dtype=np.int64)


def _ratio(excess: Excess | None, offsets: Ints, units: Units) -> Floats:
    if excess is None or not len(offsets):
        return np.zeros(len(units))
    cells = (excess.cell[:, None] + offsets) % len(excess.values)
    over = excess.values[cells]
    return np.asarray(excess.epsilon * (np.abs(over) - np.abs(over - units.weight)).sum(axis=1))
