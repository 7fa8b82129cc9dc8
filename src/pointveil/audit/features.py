"""What an attacker looks at in a release to tell whether somebody was in the data."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from pointveil.audit.subjects import Asked, Records, Release
from pointveil.geography import World
from pointveil.vault import NoisyCounts

Floats = NDArray[np.float64]
RADII = (0.02, 0.1, 0.5, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0)
WINDOWS = (0.0, 0.05, 0.15, 0.25, 0.4)
"""Parts of a region's sites, around that of the unit, in which scattered points are counted."""
MOST_QUESTIONS = 8
FAR = 1e6
HAIR = 0.001
"""Metres: less than any cell, more than any rounding."""


@dataclass
class Columns:
    """Named columns of one length, in the order in which they were added."""

    rows: int
    columns: dict[str, Floats] = field(default_factory=dict)

    def add(self, name: str, values: object) -> None:
        """Add a column; a single value stands for all rows."""
        self.columns[name] = np.broadcast_to(np.asarray(values, dtype=np.float64), (self.rows,))

    def table(self) -> Floats:
        """Return all columns side by side."""
        return np.column_stack(list(self.columns.values()))


def look_at_units(release: Release, world: World, units: Floats, others: Records, weight: int) -> Columns:
    """Return features of each possible unit, from the answers and from the points near it.

    Parameters
    ----------
    units
        Where each unit has its points, if it is there at all.
    others
        Records known to be in the data.
    weight
        How many points a unit has there.
    """
    columns = Columns(len(units))
    places, known = world.projection.to_metres(units), world.projection.to_metres(others.xy)
    ratio, excesses = np.zeros(len(units)), []
    for number, asked in enumerate(release.asked[:MOST_QUESTIONS]):
        if isinstance(asked.answer, NoisyCounts):
            excess, likelihood = look_at_counts(columns, f"answer {number}", asked, places, known, weight)
            excesses.append(excess)
            ratio = ratio + np.nan_to_num(likelihood)
        else:
            look_at_scatter(columns, f"answer {number}", asked, places)
    columns.add("likelihood ratio of all counts", ratio)
    for first, second in combinations(range(len(excesses)), 2):
        columns.add(f"answer {first} minus answer {second}", excesses[first] - excesses[second])
    look_near(columns, world.projection.to_metres(release.xy), release.xy, places)
    return columns


def look_at_counts(
    columns: Columns, name: str, asked: Asked, places: Floats, known: Floats, weight: int
) -> tuple[Floats, Floats]:
    """Add what a count tells: how much the unit's cell has over what is known, and how likely that makes it.

    Where two units share a cell, neither is looked at: the other is not known.
    """
    answer, cells = asked.answer, asked.about
    assert isinstance(answer, NoisyCounts)  # noqa: S101 - told apart by the caller
    size = len(answer.values)
    cell, base = np.asarray(cells.locate(places)), np.asarray(cells.locate(known))
    inside = (cell >= 0) & (cell < size)
    tally = np.bincount(base[(base >= 0) & (base < size)], minlength=size)
    alone = inside & (np.bincount(np.where(inside, cell, size), minlength=size + 1)[cell] == 1)
    here = np.where(inside, cell, 0)
    values = np.asarray(answer.values, dtype=np.float64)[here]
    excess = np.where(alone, values - tally[here], np.nan)
    epsilon = float(answer.noise_epsilon)
    likelihood = epsilon * (np.abs(excess) - np.abs(excess - weight))
    columns.add(f"{name}: all cells that touch", touching(asked, places, tally, epsilon, weight))
    columns.add(f"{name}: excess", excess)
    columns.add(f"{name}: last bit", np.where(alone, last_bit(values), np.nan))
    columns.add(f"{name}: all", float(np.sum(answer.values, dtype=np.float64)))
    columns.add(f"{name}: likelihood ratio", likelihood)
    return excess, likelihood


def touching(asked: Asked, places: Floats, tally: NDArray[np.int64], epsilon: float, weight: int) -> Floats:
    """Return the likelihood ratio if the unit were counted in every cell that it touches."""
    around = np.array([[x, y] for x in (-HAIR, HAIR) for y in (-HAIR, HAIR)])
    cells = np.sort([np.asarray(asked.about.locate(places + step)) for step in around], axis=0)
    first = np.concatenate([np.ones((1, len(places)), dtype=bool), cells[1:] != cells[:-1]])
    inside = first & (cells >= 0) & (cells < len(tally))
    here = np.where(inside, cells, 0)
    excess = np.asarray(asked.answer.values, dtype=np.float64)[here] - tally[here]  # type: ignore[union-attr]
    ratio = np.where(inside, np.abs(excess) - np.abs(excess - weight), 0.0)
    return np.asarray(epsilon * ratio.sum(axis=0))


def look_at_scatter(columns: Columns, name: str, asked: Asked, places: Floats) -> None:
    """Add how many blurred points lie about the unit's site, against those elsewhere in its region."""
    counts = np.asarray(asked.about.site_counts())
    region, site = (np.asarray(part) for part in asked.about.locate_sites(places))
    order = np.lexsort((asked.answer.site, asked.answer.region))  # type: ignore[union-attr]
    stride = int(counts.max(initial=1)) + 1
    drawn = asked.answer.region[order] * stride + asked.answer.site[order]  # type: ignore[union-attr]
    all_here = _between(drawn, region * stride, region * stride + stride - 1)
    columns.add(f"{name}: points in the region", all_here)
    limit = np.where(region >= 0, counts[region], 1)
    for window in WINDOWS:
        reach = np.rint(window * limit).astype(np.int64)
        low = np.clip(site - reach, 0, np.maximum(limit - 2 * reach - 1, 0))
        near = _between(drawn, region * stride + low, region * stride + np.minimum(low + 2 * reach, limit - 1))
        columns.add(f"{name}: points within {window:.0%}", near)
        columns.add(f"{name}: points within {window:.0%} less those beyond", 2 * near - all_here)
    for row, which in ((0, "first"), (-1, "last")):
        drawn_there = np.full(len(region), np.nan)
        if len(asked.answer.region):  # type: ignore[union-attr]
            drawn_there = np.where(asked.answer.region[row] == region, np.abs(asked.answer.site[row] - site), FAR)  # type: ignore[union-attr]
        columns.add(f"{name}: distance of the {which} row", drawn_there)


def _between(drawn: NDArray[np.int64], low: NDArray[np.int64], high: NDArray[np.int64]) -> Floats:
    return np.asarray(np.searchsorted(drawn, high, "right") - np.searchsorted(drawn, low, "left"), dtype=np.float64)


def look_near(columns: Columns, metres: Floats, written: Floats, places: Floats) -> None:
    """Add how near the synthetic points come, how many do, which row does, and the last bits of its numbers."""
    if not len(metres):
        columns.add("nearest point", FAR)
        columns.add("row of the nearest point", -1.0)
        columns.add("last bit of the nearest point", np.nan)
        for radius in RADII:
            columns.add(f"points within {radius:g} m", 0)
        return
    tree = cKDTree(metres)
    distance, index = tree.query(places)
    columns.add("nearest point", distance)
    columns.add("row of the nearest point", index / len(metres))
    columns.add("last bit of the nearest point", last_bit(written[index, 0]))
    for radius in RADII:
        columns.add(f"points within {radius:g} m", tree.query_ball_point(places, radius, return_length=True))


def look_at_others(columns: Columns, release: Release, world: World, without: Records) -> None:
    """Add the counts where the first of the others is: somebody else must not move them."""
    places = world.projection.to_metres(without.xy[:1])
    for number, asked in enumerate(release.asked[:MOST_QUESTIONS]):
        if isinstance(asked.answer, NoisyCounts):
            cell = np.asarray(asked.about.locate(places))
            inside = len(cell) == 1 and 0 <= cell[0] < len(asked.answer.values)
            columns.add(f"answer {number}: where others are", asked.answer.values[cell[0]] if inside else np.nan)


def look_at_whole(columns: Columns, release: Release, without: Records, present: Records) -> None:
    """Add what the release as a whole tells: its size, extent, order, sizes of its questions, and texts."""
    columns.add("rows", len(release.xy))
    columns.add("questions", len(release.asked))
    for number in range(MOST_QUESTIONS):
        known = number < len(release.asked)
        columns.add(f"answer {number}: size", _size(release.asked[number]) if known else 0)
    digest = hashlib.sha256(release.text.encode()).digest()
    columns.add("text", int.from_bytes(digest[:6]))
    extent = np.concatenate([release.xy.min(axis=0), release.xy.max(axis=0)]) if len(release.xy) else np.full(4, np.nan)
    for side, value in zip(("west", "south", "east", "north"), extent, strict=True):
        columns.add(f"{side}most point", value)
    columns.add("rows in the order of the file", _alignment(release.xy, without.xy, present.xy))


def _size(asked: Asked) -> int:
    return len(asked.answer.values) if isinstance(asked.answer, NoisyCounts) else len(asked.answer.region)


def _alignment(xy: Floats, without: Floats, present: Floats) -> float:
    """Return how much nearer the rows are to the records with the unit, row by row, than to those without."""
    rows = min(len(xy), len(without), len(present))
    if not rows:
        return 0.0
    with np.errstate(all="ignore"):
        apart = np.linalg.norm(xy[:rows] - without[:rows], axis=1) - np.linalg.norm(xy[:rows] - present[:rows], axis=1)
    return float(np.sign(np.nan_to_num(apart)).sum())


def last_bit(values: Floats) -> Floats:
    """Return the power of two of the last bit that is set in each number: noise made in floats gives itself away."""
    mantissa, exponent = np.frexp(np.nan_to_num(np.asarray(values, dtype=np.float64)))
    whole = (np.abs(mantissa) * 2.0**53).astype(np.int64)
    lowest = whole & -whole
    bits = exponent - 53 + np.log2(np.maximum(lowest, 1))
    return np.asarray(np.where(whole == 0, 99.0, bits))
