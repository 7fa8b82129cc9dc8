"""Check that a release is what its statement says."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from pointveil.errors import InputError, VerificationError
from pointveil.formats import open_points, read_statement
from pointveil.synthetic import describe_file, points_digest, statement_path
from pointveil.vault import Statement, parse_statement


@dataclass(frozen=True)
class Verified:
    """A release that passed.

    Parameters
    ----------
    statement
        What it promises.
    checks
        What was checked, in words.
    """

    statement: Statement
    checks: tuple[str, ...]


def verify(path: str | Path) -> Verified:
    """Check a release against its statement, or raise VerificationError.

    The statement is looked for beside the file, then inside it. Only the one beside it covers every byte.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"There is no file {path}.")
    beside = statement_path(path)
    if beside.exists():
        statement = _parse(beside.name, _read_text(beside))
        checks = ("every byte of every file of the release has its stated hash",)
        _check_files(path, statement)
    else:
        statement = _parse(path.name, _embedded(path))
        checks = ("the statement was read from the file itself, which covers the points but not every byte",)
    _check_sums(statement)
    _check_points(path, statement)
    return Verified(
        statement,
        (
            "the statement is in its canonical form and fits its own digest",
            "the epsilons of all questions add up to the guarantee",
            *checks,
            "the points are those that were released, in the same order",
        ),
    )


def _read_text(path: Path) -> str:
    try:
        return path.read_bytes().decode()
    except UnicodeDecodeError:
        raise VerificationError(f"{path.name} is not a statement: it is not UTF-8 text.") from None


def _embedded(path: Path) -> str:
    text = read_statement(path)
    if text is None:
        raise VerificationError(
            f"{path.name} has no statement: neither beside it as {statement_path(path).name} nor in it."
        )
    return text


def _parse(name: str, text: str) -> Statement:
    try:
        return parse_statement(text)
    except (ValueError, TypeError, KeyError) as fault:
        reason = str(fault).splitlines()[0]
        raise VerificationError(f"The statement in {name} was changed: {reason}.") from None


def _check_sums(statement: Statement) -> None:
    total = sum((Fraction(question.epsilon) for question in statement.questions), Fraction(0))
    if total != Fraction(statement.guarantee.epsilon):
        raise VerificationError(
            f"The questions cost epsilon {total} in all, but the guarantee says {statement.guarantee.epsilon}."
        )


def _check_files(path: Path, statement: Statement) -> None:
    if statement.output is None or path.name not in {file.name for file in statement.output.files}:
        raise VerificationError(f"The statement beside {path.name} is not about {path.name}.")
    for stated in statement.output.files:
        member = path.with_name(stated.name)
        if not member.is_file():
            raise VerificationError(f"{stated.name}, a part of the release, is missing.")
        if describe_file(member) != stated:
            raise VerificationError(f"{stated.name} was changed: its bytes do not have the stated hash.")


def _check_points(path: Path, statement: Statement) -> None:
    output = statement.output
    if output is None:
        raise VerificationError(f"The statement in {path.name} says nothing about the points.")
    columns = None if output.x is None or output.y is None else (output.x, output.y)
    try:
        points = open_points(path, columns=columns, crs=output.crs if columns else None)
        batches = [batch.coordinates for batch in points.batches()]
    except InputError as fault:
        raise VerificationError(f"{path.name} cannot be read: {fault}") from None
    rows = sum(len(batch) for batch in batches)
    if rows != output.rows or points_digest(batches, output.crs) != output.points_sha256:
        raise VerificationError(f"{path.name} was changed: its points are not those that were released.")
