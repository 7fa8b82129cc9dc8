"""The page that goes with a release: nothing on it comes from the real points."""

from dataclasses import asdict
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa

from pointveil.cells import Grid
from pointveil.errors import InputError
from pointveil.estimate.predicted_error import predict_cell_error
from pointveil.evaluation.comparison import XY, Comparison
from pointveil.evaluation.kept import bins_of
from pointveil.evaluation.measures.cell_error import CELL_SIZES, shifted_cell_error
from pointveil.evaluation.points import Read, kept_columns
from pointveil.evaluation.report.maps import encode_bins, encode_map, encode_points
from pointveil.evaluation.report.pages import compose, statement_data, titled, write_page
from pointveil.evaluation.report.readings import Card
from pointveil.methods import Method
from pointveil.releases import synthesize
from pointveil.statement import Statement
from pointveil.vault import Vault
from pointveil.world import World

NOT_ASKED = "the real points were not used. It may be off by a third, sometimes by half."
BANNER = "made from the release alone: nothing on this page comes from the real points"
TOO_EASY = 0.8  # error of a repetition, by that of the release: smoother than a city, so easier to repeat
MOST = 2.0
SEED = 0


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
        "statement": statement_data(statement),
    }
    stamp = BANNER if statement.rehearsal is None else f"{statement.rehearsal}: do not share"
    title = titled(shown.name or "A synthetic release", world)
    return compose(title, stamp, "release" if statement.rehearsal is None else "rehearsal", data)


def predict_errors(xy: XY, world: World, statement: Statement) -> list[float | None]:
    """Return the error to expect in cells of each size, from the released points and the statement alone."""
    # A method that asked how far from streets people are knows much of what lies within a region, so the error cannot
    # be guessed from the regions: the release is repeated instead.
    if len(xy) and any(question.purpose == "offset" for question in statement.questions):
        again = repeat_release(xy, world, statement)
        if again is not None:
            return [predict_by_repetition(xy, again, world, float(cell)) for cell in CELL_SIZES]
    return [_guess(xy, world, statement, cell) for cell in CELL_SIZES]


def repeat_release(synthetic: XY, world: World, statement: Statement) -> XY | None:
    """Return the points of a second release that takes the first for real, with the same method and noise.

    Nothing private is asked: the first release is public, and the noise of the second protects nobody. None if this
    version does not know the method, or cannot do what the statement says.
    """
    used = statement.method
    if used is None:
        return None
    x, y = world.projection.from_metres(synthetic).T
    table = pa.table({"x": x, "y": y})
    for_places = 1 - sum((column.part_of_epsilon for column in kept_columns(statement)), Fraction(0))
    epsilon = Fraction(statement.guarantee.epsilon) * for_places * _part_of_a_row(statement, len(synthetic))
    vault = Vault.rehearse(table, world, epsilon=epsilon, seed=SEED, columns=("x", "y"), crs=world.projection.crs)
    try:
        again = synthesize(vault, Method.restore(used.name, used.parameters, used.split), seed=SEED)
    except (InputError, KeyError, TypeError, ValueError):  # a statement may name any method and parameters
        return None
    return world.projection.to_metres(again.coordinates)


def _part_of_a_row(statement: Statement, rows: int) -> Fraction:
    """Return the part of epsilon that one row has: with so many rows, noise is as wide beside them as it was."""
    if statement.people is None:
        return Fraction(1, statement.guarantee.points_per_unit)
    return Fraction(max(statement.people.full_persons, 1), max(rows, 1))


def predict_by_repetition(synthetic: XY, again: XY, world: World, cell: float) -> float:
    """Return the error to expect of the release, from that of its repetition."""
    if not len(synthetic) or not len(again):
        return MOST
    return min(MOST, shifted_cell_error(Comparison(synthetic, again, world), cell=cell) / TOO_EASY)


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


def _cards(xy: XY, statement: Statement, predicted: float | None) -> list[Card]:
    epsilon = float(Fraction(statement.guarantee.epsilon))
    drawn = "Each is drawn from noisy counts. No line of the file stands for a person."
    answers = [
        Card("How is everybody protected?", f"epsilon = {epsilon:g}", statement.promise, "none"),
        Card("What is in the file?", f"{len(xy):,} points", drawn, "none"),
    ]
    if predicted is not None:
        right = f"about {max(0.0, 1 - predicted / 2):.0%} in the right 100 m square"
        how = f"Predicted from epsilon and the noisy counts alone (NCE about {predicted:.2f}); {NOT_ASKED}"
        answers.append(Card("How good will it be?", right, how, "none"))
    return answers
