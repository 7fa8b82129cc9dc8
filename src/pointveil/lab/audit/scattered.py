"""What blurred points tell about a unit: how many lie about it, and how likely that is by the kernel's law."""

import math
from typing import Any

import numpy as np

from pointveil.cells import Floats, Ints, numbered
from pointveil.lab.audit.subjects import Asked
from pointveil.lab.audit.units import Known, Units
from pointveil.vault import NoisyPoints

Columns = dict[str, Any]  # what was looked at → one value for all units, or one for each
WINDOWS = (0.0, 0.05, 0.15, 0.25, 0.4)  # parts of a region's sites, around the unit's, in which points are counted
FAR = 1e6
MOST_KNOWN = 200  # known points in a region of which each is thought about; in busier ones a unit hardly shows


def look_at_scatter(columns: Columns, name: str, asked: Asked, units: Units, known: Known) -> Floats:
    """Add how many blurred points lie about the unit's site, and return the likelihood ratio of all of them."""
    answer = asked.answer
    assert isinstance(answer, NoisyPoints)  # noqa: S101 - told apart by the caller
    counts = np.asarray(asked.about.site_counts())
    where = np.concatenate([units.home, known.xy])
    region, site = (np.asarray(part) for part in asked.about.locate_sites(where))
    mine, near = slice(0, len(units)), slice(len(units), None)
    look_around(columns, name, answer, counts, region[mine], site[mine])
    known_site = np.column_stack([region[near], site[near], known.count])
    ratio = kernel_ratio(asked, counts, region[mine], site[mine], known_site, units)
    columns[f"{name}: likelihood ratio"] = ratio
    return ratio


def look_around(columns: Columns, name: str, answer: NoisyPoints, counts: Ints, region: Ints, site: Ints) -> None:
    """Add the blurred points near each unit's site, against those elsewhere in its region."""
    order = np.lexsort((answer.site, answer.region))
    stride = int(counts.max(initial=1)) + 1
    drawn = answer.region[order] * stride + answer.site[order]
    all_here = _between(drawn, region * stride, region * stride + stride - 1)
    columns[f"{name}: points in the region"] = all_here
    limit = np.where(region >= 0, counts[region], 1)
    for window in WINDOWS:
        reach = np.rint(window * limit).astype(np.int64)
        low = np.clip(site - reach, 0, np.maximum(limit - 2 * reach - 1, 0))
        near = _between(drawn, region * stride + low, region * stride + np.minimum(low + 2 * reach, limit - 1))
        columns[f"{name}: points within {window:.0%}"] = near
        columns[f"{name}: points within {window:.0%} less those beyond"] = 2 * near - all_here
    for row, which in ((0, "first"), (-1, "last")):
        there = np.full(len(region), np.nan)
        if len(answer.region):
            there = np.where(answer.region[row] == region, np.abs(answer.site[row] - site), FAR)
        columns[f"{name}: distance of the {which} row"] = there


def _between(drawn: Ints, low: Ints, high: Ints) -> Floats:
    return np.asarray(np.searchsorted(drawn, high, "right") - np.searchsorted(drawn, low, "left"), dtype=np.float64)


def kernel_ratio(asked: Asked, counts: Ints, region: Ints, site: Ints, known: Ints, units: Units) -> Floats:
    """Return how much likelier the blurred points are with the unit, by the law of the box kernel."""
    # Each point drawn in a region was made from a token of the unit, of somebody known, or from none. Their parts are
    # known on both sides; the points are taken one by one, which is exact for one point, and nearly so for more.
    answer = asked.answer
    assert isinstance(answer, NoisyPoints)  # noqa: S101 - told apart by the caller
    epsilon = float(answer.epsilon) / (answer.points_per_unit * asked.uses)
    owner = np.full(len(counts) + 1, -1)
    lonely = (region >= 0) & (np.bincount(np.maximum(region, 0), region >= 0, len(counts))[region] == 1)
    owner[region[lonely]] = np.flatnonzero(lonely)
    tokens = np.bincount(np.maximum(known[:, 0], 0), known[:, 2] * (known[:, 0] >= 0), len(counts)) * asked.uses
    owner[:-1][tokens > MOST_KNOWN * asked.uses] = -1
    drawn = np.flatnonzero(owner[answer.region] >= 0)
    where, at = answer.region[drawn], answer.site[drawn]
    unit = owner[where]
    wanted = np.bincount(answer.region, minlength=len(counts))[where].astype(np.float64)
    others = tokens[where]
    more = units.weight * asked.uses
    filled = np.minimum(wanted, others + more)
    even = 1.0 / counts[where]
    theirs = _mean_density(epsilon, counts, where, at, known, owner)
    own = box_density(epsilon, at, site[unit], counts[where])
    part, their_part = filled * more / (others + more) / wanted, filled * others / (others + more) / wanted
    before = np.minimum(wanted, others) / wanted
    present = part * own + their_part * theirs + (1 - part - their_part) * even
    absent = before * theirs + (1 - before) * even
    return np.bincount(unit, np.log(present / absent), minlength=len(units)).astype(np.float64)


def _mean_density(epsilon: float, counts: Ints, where: Ints, at: Ints, known: Ints, owner: Ints) -> Floats:
    """Return how densely the known tokens of its region spread to each drawn point, on average."""
    near = known[(known[:, 0] >= 0) & (owner[known[:, 0]] >= 0)]
    near = near[np.argsort(near[:, 0], kind="stable")]
    first = np.searchsorted(near[:, 0], where, "left")
    times = np.searchsorted(near[:, 0], where, "right") - first
    drawn, number = numbered(times)
    token = first[drawn] + number
    density = box_density(epsilon, at[drawn], near[token, 1], counts[where[drawn]]) * near[token, 2]
    weight = np.bincount(drawn, near[token, 2], minlength=len(where))
    return np.bincount(drawn, density, minlength=len(where)) / np.maximum(weight, 1)


def box_density(epsilon: float, at: Ints, site: Ints, count: Ints) -> Floats:
    """Return how likely a point at `site`, of `count` sites, is blurred to `at` by the box kernel."""
    # Written anew from its proof: the attacker knows the law.
    heavy = math.exp(epsilon)
    window = np.clip(np.rint(count / (1 + math.sqrt(heavy))), 1, np.maximum(count, 1))
    start = np.clip(site - window // 2, 0, count - window)
    inside = (at >= start) & (at < start + window)
    return np.asarray(np.where(inside, heavy, 1.0) / (count + window * (heavy - 1)))
