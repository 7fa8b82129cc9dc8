"""What the numbers mean, in sentences for people who have a minute."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from pointveil.evaluation.results import COLUMN, Evaluation

Level = Literal["good", "fair", "poor", "none"]
Answer = tuple[str, str, Level]

NO_PROOF = "This detects careless copying. It proves nothing about privacy: that is what the statement is for."


@dataclass(frozen=True)
class Card:
    """One answer at a glance."""

    question: str
    answer: str  # a number with a few words
    sentence: str  # what it means
    level: Level  # by thresholds of our own; "none" if it was not measured


def cards(result: Evaluation) -> list[Card]:
    """Return the answers for the top of the report."""
    return [*(_card(result, *row) for row in QUESTIONS), *_rhythms(result)]


def _card(result: Evaluation, question: str, name: str, answer: Callable[[Evaluation, float], Answer]) -> Card:
    if name in result.values:
        return Card(question, *answer(result, result.values[name]))
    reason = result.reasons.get(name, "there is too little to compare")
    return Card(question, "not measured", f"{reason[:1].upper()}{reason[1:]}.", "none")


def _level(value: float, good: float, fair: float) -> Level:
    return "good" if value <= good else "fair" if value <= fair else "poor"


def _places(result: Evaluation, value: float) -> Answer:
    # By person, rows were compared as shares of all rows.
    alike = not result.real_points or result.by_person is not None
    share = 1.0 if alike else result.synthetic_points / result.real_points
    # Of the real points, by squares that have as many synthetic ones.
    right = min(max(0.0, (1 + share - value) / 2), 1.0)
    return (
        f"{right:.0%} in the right 100 m square",
        f"{right:.0%} of the real points have a synthetic one in their square (NCE {value:.3f}).",
        _level(value, 0.2, 0.5),
    )


def _ranges(result: Evaluation, value: float) -> Answer:
    typical = float(result.compared.counts_within(500)[0].mean())
    if not typical:
        return "not measured", "No real point is within 500 m of a crossing.", "none"
    return (
        f"off by {value / typical:.1%}",
        f"Around 100 crossings there are {typical:,.0f} points on average; the answer is off by {value:,.0f}.",
        _level(value / typical, 0.03, 0.10),
    )


def _hotspots(_: Evaluation, value: float) -> Answer:
    return (
        f"{value:.0%} the same",
        "Overlap of the busiest 5% of cells, on a map of 256 × 256 cells.",
        _level(1 - value, 0.1, 0.3),
    )


def _roads(result: Evaluation, apart: float) -> Answer:
    real, synthetic = (float(distances.mean()) for distances in result.compared.road_distances)
    answer = f"{apart:.1f} m {'farther from' if synthetic > real else 'nearer to'} them"
    return (
        "as near as the real ones" if apart < 0.05 else answer,
        f"Real points are {real:.1f} m from the nearest street on average, synthetic ones {synthetic:.1f} m.",
        _level(apart, 1.0, 5.0),
    )


def _total(result: Evaluation, value: float) -> Answer:
    wet = result.values.get("off_land", 0.0)
    water = "none in water" if wet == 0 else f"{wet:.2%} in water or outside"
    known = result.by_person
    if known is not None:
        return (
            f"{result.synthetic_points:,} for {result.real_points:,}",
            f"By person, there are as many rows as noisy answers tell: {known.estimate}; {water}.",
            "none" if wet == 0 else _level(10 * wet, 0.01, 0.05),
        )
    return (
        f"{result.synthetic_points:,} for {result.real_points:,}",
        f"The total is off by {value:.2%}; {water}.",
        _level(value + 10 * wet, 0.01, 0.05),
    )


def _rhythms(result: Evaluation) -> Iterator[Card]:
    """Yield how well each kept column follows the place, by the most telling part of it."""
    seen: set[str] = set()
    for name, without in result.without_place.items():
        row, _, part = name.partition(COLUMN)
        column = part.partition(",")[0] or result.compared.bins("part")[0].name
        if row != "profile" or column in seen:
            continue
        seen.add(column)
        value = result.values[name]
        yield Card(
            f"Does each neighbourhood keep its own mix of {column}?",
            f"{1 - value:.0%} right in 1 km squares",
            f"Drawn without looking at the place, {1 - without:.0%} would be right.",
            _level(value, 0.05, 0.15),
        )


def _copied(result: Evaluation, value: float) -> Answer:
    chance = 4 / np.sqrt(max(result.real_points, 1))
    level = _level(value, max(0.02, chance), 0.1)
    return (
        "no sign of it" if level == "good" else f"up to {value:.1%} look like it",
        f"{value:.1%} of synthetic points lie nearer to a real one than chance explains. {NO_PROOF}",
        level,
    )


QUESTIONS = (
    ("Are people in the right place?", "nce_shifted_100", _places),
    ("How many are within 500 m of a place?", "range_500", _ranges),
    ("Are the busiest places the same?", "hotspots_256", _hotspots),
    ("Do they keep to the streets?", "medd", _roads),
    ("Are there as many?", "total_count", _total),
    ("Were real points copied?", "copied", _copied),
)
"""Question, the measure that answers it, and how the answer is put."""
