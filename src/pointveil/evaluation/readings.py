"""What the numbers mean, in sentences for people who have a minute."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

import numpy as np

from pointveil.evaluation.base import XY
from pointveil.evaluation.comparison import Evaluation
from pointveil.evaluation.measures import MEASURES

Level = Literal["good", "fair", "poor", "none"]


@dataclass(frozen=True)
class Card:
    """One answer at a glance.

    Parameters
    ----------
    question
        What one wants to know.
    answer
        A number with a few words.
    sentence
        What it means.
    level
        Good, fair or poor, by thresholds of our own; "none" if it was not measured.
    """

    question: str
    answer: str
    sentence: str
    level: Level


@dataclass(frozen=True)
class Line:
    """One measure, or the same measure at several sizes, with how to read it.

    Parameters
    ----------
    name
        As in the table of measures, without the size.
    values
        Size (or nothing) and number, as texts.
    best
        The best value.
    reading
        One or two plain sentences; or why there is no number.
    """

    name: str
    values: tuple[tuple[str, str], ...]
    best: str
    reading: str


FAMILIES = {
    "nce_shifted": (
        "{} m",
        (
            "Points too many or too few per real point, in square cells laid at random: 0 is perfect, 2 means that "
            "everybody is in the wrong cell. The fair one: no method's own grid helps it."
        ),
    ),
    "nce": ("{} m", "The same with the grid at the map's corner, as in the paper."),
    "range": (
        "{} m",
        'By how many people the answer to "how many within this radius?" is off, on average over 100 crossings.',
    ),
    "hotspots": (
        "{}²",
        "How much of the busiest twentieth of the map, cut this finely, is the same in both: 1 is all of it, 0 none.",
    ),
}
"""Measures that come in several sizes: how a size is written, and one reading for all."""


def lines(result: Evaluation) -> list[Line]:
    """Return every measure in a line, those that differ only in size together."""
    grouped: dict[str, list[tuple[str, str]]] = {}
    for name in (*FAMILIES, *MEASURES):
        found = re.fullmatch(rf"({'|'.join(FAMILIES)})_(\d+)", name)
        stem, size = (found[1], found[2]) if found else (name, "")
        if name in result.values or name in result.reasons:
            grouped.setdefault(stem, []).append((size, name))
        elif name in FAMILIES:
            grouped[name] = []  # keeps the fair one first
    return [_line(stem, members, result) for stem, members in grouped.items() if members]


def _line(stem: str, members: list[tuple[str, str]], result: Evaluation) -> Line:
    measure, known = MEASURES[members[0][1]], [pair for pair in members if pair[1] in result.values]
    if not known:
        return Line(stem, (), "", f"Not measured: {result.reasons[members[0][1]]}.")
    way, reading = FAMILIES.get(stem, ("", measure.reading))
    values = tuple((way.format(size), value_text(result.values[name], measure.unit)) for size, name in known)
    return Line(stem, values, f"{measure.best:g}", reading)


def value_text(value: float, unit: str) -> str:
    """Return a number with its unit, with as many digits as it deserves."""
    digits = 0 if abs(value) >= 1000 else 1 if abs(value) >= 100 else 2 if abs(value) >= 10 else 3
    return f"{value:,.{digits}f}{f' {unit}' if unit else ''}"


def cards(
    result: Evaluation, *, typical_range: float, road_means: tuple[float, float] | None, radius: int = 500
) -> list[Card]:
    """Return the answers for the top of the report.

    Parameters
    ----------
    result
        All numbers.
    typical_range
        How many real points are within `radius` of a centre, on average.
    road_means
        Mean distance to the nearest road, real and synthetic; none without roads.
    radius
        Of the range query that is told.
    """
    return [
        _places(result),
        _ranges(result, typical_range, radius),
        _hotspots(result),
        _roads(result, road_means),
        _total(result),
        _copied(result),
    ]


def _level(value: float, good: float, fair: float) -> Level:
    return "good" if value <= good else "fair" if value <= fair else "poor"


def _places(result: Evaluation) -> Card:
    question, value = "Are people in the right place?", result.values.get("nce_shifted_100")
    if value is None:
        return _missing(question, result, "nce_shifted_100")
    share = result.synthetic_points / result.real_points if result.real_points else 1.0
    right = min(
        max(0.0, (1 + share - value) / 2), 1.0
    )  # of the real points, by squares that have as many synthetic ones
    return Card(
        question,
        f"{right:.0%} in the right 100 m square",
        f"{right:.0%} of the real points have a synthetic one in their square (NCE {value:.3f}).",
        _level(value, 0.2, 0.5),
    )


def _ranges(result: Evaluation, typical: float, radius: int) -> Card:
    question, value = f"How many are within {radius} m of a place?", result.values.get(f"range_{radius}")
    if value is None or not typical:
        return _missing(question, result, f"range_{radius}")
    share = value / typical
    return Card(
        question,
        f"off by {share:.1%}",
        f"Around 100 crossings there are {typical:,.0f} points on average; the synthetic answer is off by "
        f"{value:,.0f}.",
        _level(share, 0.03, 0.10),
    )


def _hotspots(result: Evaluation) -> Card:
    question, value = "Are the busiest places the same?", result.values.get("hotspots_256")
    if value is None:
        return _missing(question, result, "hotspots_256")
    return Card(
        question,
        f"{value:.0%} the same",
        "Of the busiest twentieth of the map, cut into 256 × 256 cells, this much is busiest in both.",
        _level(1 - value, 0.1, 0.3),
    )


def _roads(result: Evaluation, means: tuple[float, float] | None) -> Card:
    question = "Do they keep to the streets?"
    if means is None or "medd" not in result.values:
        return _missing(question, result, "medd")
    real, synthetic = means
    apart = abs(synthetic - real)
    answer = f"{apart:.1f} m {'farther from' if synthetic > real else 'nearer to'} them"
    return Card(
        question,
        "as near as the real ones" if apart < 0.05 else answer,
        f"Real points are {real:.1f} m from the nearest street on average, synthetic ones {synthetic:.1f} m.",
        _level(apart, 1.0, 5.0),
    )


def _total(result: Evaluation) -> Card:
    question, value = "Are there as many?", result.values.get("total_count")
    if value is None:
        return _missing(question, result, "total_count")
    wet = result.values.get("off_land", 0.0)
    water = "none in water" if wet == 0 else f"{wet:.2%} in water or outside"
    return Card(
        question,
        f"{result.synthetic_points:,} for {result.real_points:,}",
        f"The total is off by {value:.2%}; {water}.",
        _level(value + 10 * wet, 0.01, 0.05),
    )


def _copied(result: Evaluation) -> Card:
    question, value = "Were real points copied?", result.values.get("copied")
    if value is None:
        return _missing(question, result, "copied")
    chance = 4 / np.sqrt(max(result.real_points, 1))
    level: Level = "good" if value <= max(0.02, chance) else "fair" if value <= 0.1 else "poor"
    answer = "no sign of it" if level == "good" else f"up to {value:.1%} look like it"
    return Card(
        question,
        answer,
        f"{value:.1%} of synthetic points lie nearer to a real one than chance explains. This finds careless copying; "
        "it proves nothing about privacy, only the statement promises that.",
        level,
    )


def _missing(question: str, result: Evaluation, name: str) -> Card:
    reason = result.reasons.get(name, "there is too little to compare")
    return Card(question, "not measured", f"{reason[:1].upper()}{reason[1:]}.", "none")


def shares_within(distances: XY, limits: XY) -> list[float]:
    """Return the share of distances that are at most each limit."""
    return [float(np.mean(distances <= limit)) for limit in limits]
