"""The page that goes with a release: nothing on it comes from the real points."""

import math
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from pointveil.cells import Grid
from pointveil.counting import why_none
from pointveil.errors import InputError
from pointveil.estimate.predicted_error import predict_cell_error
from pointveil.evaluation.comparison import XY, Comparison
from pointveil.evaluation.kept import bins_of
from pointveil.evaluation.measures.cell_error import CELL_SIZES
from pointveil.evaluation.points import Read
from pointveil.evaluation.report.maps import encode_bins, encode_map, encode_points
from pointveil.evaluation.report.pages import compose, statement_data, titled, write_page
from pointveil.evaluation.report.readings import Card
from pointveil.statement import Margins, Statement
from pointveil.world import World

NOT_ASKED = "the real points were not used. It may be off by a third, and of methods other than veil by more."
WORTH = (
    "A plain sample of so many real records would be as right about 100 m squares; predicted from the answers alone."
)
BANNER = "made from the release alone: nothing on this page comes from the real points"
CIRCLES = (100, 250, 500, 1000)  # metres: those that the pointer may count in
COUNTS = (0, *np.unique(np.geomspace(1, 10**7, 100).round()).astype(int).tolist())  # of synthetic points in them
MOST = 2.0
ON_AVERAGE = 0.8  # of a standard deviation


def write_release_report(path: Path, synthetic: XY | Read, world: World, statement: Statement | None) -> None:
    """Write one HTML file that needs no network; it has no parameter for real points, so it cannot tell about them."""
    write_page(path, release_page(synthetic, world, statement))


def release_page(synthetic: XY | Read, world: World, statement: Statement | None) -> str:
    """Return the page as HTML."""
    if statement is None:
        raise InputError(
            "The synthetic file has no valid statement, in it or beside it, so nothing is promised about it and no "
            "page for its release can be made. Write it with pointveil, and keep the statement beside it."
        )
    shown = (synthetic if isinstance(synthetic, Read) else Read(synthetic)).whole
    known, kept = shown.xy, bins_of(shown.keep, shown.codes, shown.codes)["part"]
    # In another world than the release's, even in its bare bounds, a prediction would be wrong.
    same = world.digest == statement.domain.world_sha256
    predicted = predict_errors(known, world, statement) if same else [None] * len(CELL_SIZES)
    data = {
        "points": [len(known)],
        "cards": [asdict(card) for card in _cards(known, statement, predicted[CELL_SIZES.index(100)])],
        "map": encode_map(world),
        "layers": {"synthetic": encode_points(known, world, [bins.synthetic for bins in kept])},
        "kept": [encode_bins(bins) for bins in kept],
        "predicted": {"at": list(CELL_SIZES), "values": predicted},
        "margins": _margins(statement, len(known)) if same else None,
        "statement": statement_data(statement),
    }
    stamp = BANNER if statement.rehearsal is None else f"{statement.rehearsal}: do not share"
    files = () if statement.output is None else statement.output.files
    title = titled(shown.name or (files[0].name if files else "A synthetic release"), world)
    return compose(title, stamp, "release" if statement.rehearsal is None else "rehearsal", data)


def _margins(statement: Statement, rows: int) -> dict[str, Any] | None:
    """Return the margins of counts in circles, if the statement has them and each row stands for one point."""
    margins = statement.margins
    if margins is None or margins.people != rows:
        return None
    found = [margins.margin(COUNTS, math.pi * radius**2).tolist() for radius in CIRCLES]
    return {"at": list(CIRCLES), "counts": list(COUNTS), "margins": found}


def predict_errors(xy: XY, world: World, statement: Statement) -> list[float | None]:
    """Return the error to expect in cells of each size, from the released points and the statement alone."""
    if statement.margins is not None and len(xy):
        return [_by_margins(xy, world, statement.margins, cell) for cell in CELL_SIZES]
    # A method that asked how far from streets people are knows much of what lies within a region, so the error cannot
    # be guessed from the regions.
    if any(question.purpose == "offset" for question in statement.questions):
        return [None] * len(CELL_SIZES)
    return [_guess(xy, world, statement, cell) for cell in CELL_SIZES]


def _by_margins(xy: XY, world: World, margins: Margins, cell: int) -> float:
    """Return the NCE that follows from how far the count of each cell may be off."""
    people = margins.people / len(xy)  # that a point stands for
    counts = Comparison(xy, xy, world).shifted_cell_counts(float(cell), 1)[0][0] * people
    return min(MOST, ON_AVERAGE * float(margins.deviation(counts[counts > 0], cell**2).sum()) / margins.people)


def _guess(xy: XY, world: World, statement: Statement, cell: int) -> float | None:
    counted = [question for question in statement.questions if question.question == "count" and question.cells > 1]
    if not counted or not len(xy):
        return None
    finest = max(counted, key=lambda question: (question.purpose == "count", question.cells))
    side = max(1, round(finest.cells**0.5))
    grid = Grid(world.bounds, side, side)
    located = grid.locate(xy)
    counts = np.bincount(located[located >= 0], minlength=len(grid)).reshape(side, side)
    epsilon = float(Fraction(finest.epsilon) * _part_of_a_row(statement, len(xy)))
    return predict_cell_error(counts.astype(np.float64), grid.cell_size, epsilon, float(cell))


def _part_of_a_row(statement: Statement, rows: int) -> Fraction:
    """Return the part of epsilon that one row has: with so many rows, noise is as wide beside them as it was."""
    if statement.people is None:
        return Fraction(1, statement.guarantee.points_per_unit)
    return Fraction(statement.people.full_persons, rows)


def _cards(xy: XY, statement: Statement, predicted: float | None) -> list[Card]:
    epsilon = float(Fraction(statement.guarantee.epsilon))
    drawn = "Each is drawn from noisy counts. No line of the file stands for a person."
    if statement.people is not None:
        drawn = f"{drawn} {statement.people}"
    answers = [
        Card("How is everybody protected?", f"epsilon = {epsilon:g}", statement.promise, "none"),
        Card("What is in the file?", f"{len(xy):,} points", drawn, "none"),
    ]
    if predicted is not None:
        right = f"about {max(0.0, 1 - predicted / 2):.0%} in the right 100 m square"
        how = f"Predicted from epsilon and the noisy counts alone (NCE about {predicted:.2f}); {NOT_ASKED}"
        answers.append(Card("How good will it be?", right, how, "none"))
    if statement.margins is None:
        answers.append(Card("How sure is a count?", "not known", f"Counts have {why_none(statement)}.", "none"))
    elif statement.margins.effective_sample is not None:
        worth = f"about {statement.margins.effective_sample:.0%} of a real sample of its size"
        answers.append(Card("What is it worth?", worth, WORTH, "none"))
    return answers
