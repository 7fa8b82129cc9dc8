"""Check that a release is what its statement says."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import pyproj

from pointveil.errors import InputError, MissingExtraError, VerificationError
from pointveil.files.crs import same_places
from pointveil.formats import open_points, read_statement
from pointveil.ledger import Ledger
from pointveil.statement import Statement, parse_statement, read_public_key
from pointveil.synthetic import describe_file, points_digest, statement_path


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


def verify(path: str | Path, *, public_key: str | None = None, ledger: str | Path | None = None) -> Verified:
    """Check a release against its statement, or raise VerificationError.

    The statement is looked for beside the file, then inside it. Only the one beside it covers every byte.

    Parameters
    ----------
    path
        The synthetic file.
    public_key
        The key that must have signed, as text or as a file. Without it a signature is checked if there is one, but
        anyone can make a statement with a signature of their own, or with none.
    ledger
        The owner's ledger: it must be whole, and have the charge for this release.

    Examples
    --------
    >>> vault = pv.Vault.open("people.parquet", pv.World.read("helsinki.gpkg"), epsilon=1)
    >>> statement = pv.synthesize(vault).write("synthetic.parquet")
    >>> pv.verify("synthetic.parquet").statement == statement
    True
    """
    path = Path(path)
    statement, covered = read_checked(path)
    if statement.rehearsal:
        raise VerificationError(f"{path.name} is of a rehearsal, which is not private. Nothing is promised about it.")
    checks = (covered, *_check_signature(statement, public_key), *_check_ledger(statement, ledger))
    return Verified(
        statement,
        (
            "the statement is in its canonical form and fits its own digest",
            "the epsilons of all questions add up to the guarantee",
            *checks,
            "the points are those that were released, in the same order",
        ),
    )


def read_checked(path: Path) -> tuple[Statement, str]:
    """Return the statement about these very points, even of a rehearsal, and how much of the file it covers."""
    if not path.is_file():
        raise InputError(f"There is no file {path}.")
    beside = statement_path(path)
    if beside.exists():
        statement = _parse(beside.name, _read_text(beside))
        covered = "every byte of every file of the release has its stated hash"
        _check_files(path, statement)
    else:
        statement = _parse(path.name, _embedded(path))
        covered = "the statement was read from the file itself, which covers the points but not every byte"
    _check_sums(statement)
    _check_points(path, statement)
    return statement, covered


def _check_signature(statement: Statement, public_key: str | None) -> tuple[str, ...]:
    if public_key is not None:
        statement.check_signature(read_public_key(public_key))
        return ("the statement was signed by the given key",)
    if statement.signature is None:
        return ("the statement is not signed: who made it is not known",)
    try:
        statement.check_signature()
    except MissingExtraError:
        return ("the signature was NOT checked: it needs 'pip install pointveil[sign]'",)
    return (f"the statement was signed by {statement.signature.public_key}; compare this with the publisher's key",)


def _check_ledger(statement: Statement, ledger: str | Path | None) -> tuple[str, ...]:
    """Check that the ledger is whole, and that the charge for this release is in its chain."""
    entry = statement.ledger
    if entry is not None and Fraction(entry.spent_after) - Fraction(entry.spent_before) < _epsilon(statement):
        raise VerificationError("Less was charged to the ledger than the release cost.")
    if ledger is None:
        return (
            () if entry else ("nothing was charged to a ledger: other releases of the same data add to this epsilon",)
        )
    if entry is None:
        raise VerificationError("The release was not charged to any ledger.")
    problems = Ledger(Path(ledger)).verify([entry.chain_sha256])
    if problems:
        raise VerificationError("The ledger does not confirm the release: " + " ".join(problems))
    return ("the ledger is whole, and its chain has the charge for this release",)


def _epsilon(statement: Statement) -> Fraction:
    return Fraction(statement.guarantee.epsilon)


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
    if total != _epsilon(statement):
        raise VerificationError(
            f"The questions cost epsilon {total} in all, but the guarantee says {statement.guarantee.epsilon}."
        )


def _check_files(path: Path, statement: Statement) -> None:
    if statement.output is None or path.name not in {file.name for file in statement.output.files}:
        stated_names = ", ".join(file.name for file in statement.output.files) if statement.output else "no file"
        raise VerificationError(
            f"The statement beside {path.name} is about {stated_names}. Give the file its name back, or move the "
            "statement away to verify by the one inside the file."
        )
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
    steps = output.steps_per_unit or _first_steps(output.crs)
    if rows != output.rows or points_digest(batches, steps) != output.points_sha256:
        raise VerificationError(f"{path.name} was changed: its points are not those that were released.")
    if not all(same_places(points.layout.crs, output.crs, batch[:1000], 1 / steps) for batch in batches):
        raise VerificationError(f"{path.name} was changed: its CRS is not the one that its statement names.")


def _first_steps(crs: str) -> int:
    """Return the lattice of releases whose statement does not say it: those of the first schema."""
    return 10**7 if pyproj.CRS.from_user_input(crs).is_geographic else 100
