"""What an attacker looks at in a release to tell whether somebody was in the data."""

import hashlib
from itertools import combinations

import numpy as np
from scipy.spatial import cKDTree

from pointveil.cells import Bools, Floats, Ints
from pointveil.lab.audit.evidence import ALL_THAT_TOUCH
from pointveil.lab.audit.scattered import Columns, look_at_scatter
from pointveil.lab.audit.subjects import Asked, Records, Release
from pointveil.lab.audit.units import AROUND, Known, Units, distinct
from pointveil.vault import NoisyCounts
from pointveil.world import World

RADII = (0.02, 0.1, 0.5, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0)
MOST_QUESTIONS = 14
FAR = 1e6


def look_at_units(release: Release, world: World, units: Units, known: Known) -> Columns:
    """Return features of each possible unit, from the answers and from the points near it."""
    columns: Columns = {}
    ratio, scattered, touching = np.zeros((3, len(units)))
    excesses: list[Floats] = []
    for number, asked in enumerate(release.asked[:MOST_QUESTIONS]):
        name = f"answer {number}"
        if isinstance(asked.answer, NoisyCounts):
            excess, likelihood = look_at_counts(columns, name, asked, units, known)
            excesses.append(excess)
            ratio = ratio + likelihood
            touching = touching + columns[f"{name}: all cells that touch"]
        else:
            scattered = scattered + look_at_scatter(columns, name, asked, units, known)
    columns[ALL_THAT_TOUCH] = touching + scattered
    columns["likelihood ratio of all counts"] = ratio
    columns["likelihood ratio of all answers"] = ratio + scattered
    for first, second in combinations(range(len(excesses)), 2):
        columns[f"answer {first} minus answer {second}"] = excesses[first] - excesses[second]
    look_near(columns, world.projection.to_metres(release.xy), release.xy, units.home)
    return columns


def look_at_counts(columns: Columns, name: str, asked: Asked, units: Units, known: Known) -> tuple[Floats, Floats]:
    """Add what a count tells: how much the unit's cell has over what is known, and how likely that makes it."""
    # Where two units share a cell, neither is looked at: the other is not known.
    answer = asked.answer
    assert isinstance(answer, NoisyCounts)  # noqa: S101 - told apart by the caller
    size, epsilon, count = len(answer.values), float(answer.noise_epsilon), len(units)
    places = units.xy.reshape(-1, 2)
    around = (places[:, None, :] + AROUND).reshape(-1, 2)
    said = np.concatenate([known.said, units.all_said, np.repeat(units.all_said, len(AROUND))])
    located = asked.locate(np.concatenate([known.xy, places, around]), said)
    base, mine, near = np.split(located, [len(known.xy), len(known.xy) + len(places)])
    number = np.repeat(np.arange(count), units.xy.shape[1])
    values = np.asarray(answer.values, dtype=np.float64)
    excess = values - known.tally(base, size)
    near_unit, near_cell, _ = distinct(np.repeat(number, len(AROUND)), near, size)
    touching = np.bincount(near_unit, _ratio(excess[near_cell], units.weight), minlength=count) * epsilon
    columns[f"{name}: all cells that touch"] = touching
    unit, cell, times = distinct(number, mine, size)
    alone = np.bincount(cell, minlength=size)[cell] == 1
    unit, cell, times = unit[alone], cell[alone], times[alone]
    likelihood = np.bincount(unit, _ratio(excess[cell], times * units.weight), minlength=count).astype(np.float64)
    likelihood *= epsilon
    here, there = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=bool)
    first = np.unique(unit, return_index=True)[1]
    here[unit[first]], there[unit[first]] = cell[first], True
    over = np.where(there, excess[here], np.nan)
    columns[f"{name}: excess"] = over
    columns[f"{name}: value"] = np.where(there, values[here], np.nan)
    columns[f"{name}: last bit"] = np.where(there, last_bit(values[here]), np.nan)
    columns[f"{name}: all"] = float(values.sum())
    columns[f"{name}: likelihood ratio"] = np.where(there, likelihood, np.nan)
    look_at_alike(columns, name, excess, here, there)
    return over, likelihood


def look_at_alike(columns: Columns, name: str, excess: Floats, here: Ints, there: Bools) -> None:
    """Add how much the unit's cell has over others that should have noise of their own."""
    usual = float(np.median(excess))
    columns[f"{name}: excess over the usual"] = np.where(there, excess[here] - usual, np.nan)
    offset = _most_alike(excess)
    alike = np.where(here + offset < len(excess), here + offset, here - offset)
    columns[f"{name}: excess over one alike"] = np.where(there, excess[here] - excess[alike], np.nan)


def _most_alike(excess: Floats) -> int:
    """Return at what distance cells go together most: noise that is used twice gives itself away."""
    if len(excess) < 2:
        return 0
    limit = 3 * float(np.abs(excess - np.median(excess)).mean()) + 1e-9
    centred = np.clip(excess - np.median(excess), -limit, limit)
    together = np.fft.irfft(np.abs(np.fft.rfft(centred, 2 * len(centred))) ** 2)[1 : len(centred)]
    return 1 + int(np.argmax(together / np.sqrt(np.arange(len(together), 0, -1))))


def _ratio(excess: Floats, points: Ints | int) -> Floats:
    return np.asarray(np.abs(excess) - np.abs(excess - points))


def look_near(columns: Columns, metres: Floats, written: Floats, places: Floats) -> None:
    """Add how near the synthetic points come, how many do, which row does, and the last bits of its numbers."""
    tree = cKDTree(metres, balanced_tree=False, compact_nodes=False)  # made once, asked little
    distance, index = tree.query(places)
    columns["nearest point"] = distance if len(metres) else FAR
    columns["row of the nearest point"] = index / len(metres) if len(metres) else -1.0
    columns["last bit of the nearest point"] = last_bit(written[index, 0]) if len(metres) else np.nan
    for radius in RADII:
        columns[f"points within {radius:g} m"] = tree.query_ball_point(places, radius, return_length=True)


def look_at_others(columns: Columns, release: Release, world: World, without: Records) -> None:
    """Add the counts where the first of the others is: somebody else must not move them."""
    places = world.projection.to_metres(without.xy[:1])
    for number, asked in enumerate(release.asked[:MOST_QUESTIONS]):
        if isinstance(asked.answer, NoisyCounts):
            cell = asked.locate(places, without.said[:1])
            inside = len(cell) == 1 and 0 <= cell[0] < len(asked.answer.values)
            columns[f"answer {number}: where others are"] = asked.answer.values[cell[0]] if inside else np.nan


def look_at_whole(columns: Columns, release: Release, without: Records, present: Records) -> None:
    """Add what the release as a whole tells: its size, extent, order, sizes of its questions, and texts."""
    columns["rows"] = len(release.xy)
    columns["questions"] = len(release.asked)
    for number in range(MOST_QUESTIONS):
        answer = release.asked[number].answer if number < len(release.asked) else None
        given = answer.values if isinstance(answer, NoisyCounts) else answer.region if answer else ()
        columns[f"answer {number}: size"] = len(given)
        if isinstance(answer, NoisyCounts):
            look_at_values(columns, f"answer {number}", answer.values)
    columns["text"] = int.from_bytes(hashlib.sha256(release.text.encode()).digest()[:6])
    extent = np.concatenate([release.xy.min(axis=0), release.xy.max(axis=0)]) if len(release.xy) else np.full(4, np.nan)
    for side, value in zip(("west", "south", "east", "north"), extent, strict=True):
        columns[f"{side}most point"] = value
    columns["rows in the order of the file"] = _alignment(release.xy, without.xy, present.xy)


def look_at_values(columns: Columns, name: str, values: Ints) -> None:
    """Add what all values of an answer have in common."""
    numbers = np.asarray(values)
    columns[f"{name}: least"] = numbers.min()
    columns[f"{name}: most"] = numbers.max()
    columns[f"{name}: zeros"] = (numbers == 0).sum()
    columns[f"{name}: cell with the most"] = numbers.argmax()
    if np.issubdtype(numbers.dtype, np.integer):
        columns[f"{name}: common divisor"] = np.gcd.reduce(numbers)


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
