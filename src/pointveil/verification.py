"""Check that a release is what its statement says."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pointveil.errors import InputError, VerificationError, shown
from pointveil.files.crs import is_geographic, known_crs, same_places
from pointveil.formats import FORMATS, PointSource, format_of, open_points, read_statement
from pointveil.ledger import Ledger
from pointveil.statement import MOST_BYTES, Output, Statement, parse_signed, read_public_key
from pointveil.surveys import SURVEY_BEGINS, check_survey
from pointveil.synthetic import check_format, describe_file, points_digest, statement_path

FARTHEST = 2.0**62  # lattice steps: no place on a map is so far away
CHANGED = "{} was changed: its points are not those that were released."
WELL_FORMED = (
    "the statement is in its canonical form, and fits its own digest",
    "the epsilons of all questions add up to the guarantee, and its other facts fit together",
)


@dataclass(frozen=True)
class Verified:
    """A release that passed."""

    statement: Statement  # what it promises
    checks: tuple[str, ...]  # what was checked, in words


def verify(path: str | Path, *, public_key: str | None = None, ledger: str | Path | None = None) -> Verified:
    """Check a release, or a survey, against its statement, or raise VerificationError.

    The statement is looked for beside the file, then inside it. Only the one beside it covers every byte. If it is
    signed, the signature is checked before anything else in it is looked at.

    Parameters
    ----------
    path
        The synthetic file, or the survey.
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
    path, key = Path(path), None if public_key is None else read_public_key(public_key)
    found = read_checked(path, key)
    if found.statement.rehearsal:
        raise VerificationError(f"{_name(path)} is of a rehearsal, which is not private. Nothing is promised about it.")
    return Verified(found.statement, (*WELL_FORMED, *found.checks, *_check_ledger(found.statement, ledger)))


def read_checked(path: Path, public_key: str | None = None) -> Verified:
    """Return the statement about these very points or answers, even of a rehearsal, and what was checked."""
    if not path.is_file():
        raise InputError(f"There is no file {path}.")
    with path.open("rb") as file:
        if file.read(len(SURVEY_BEGINS)) == SURVEY_BEGINS:
            with _refusing(f"{_name(path)} does not hold."):
                statement, signed, bound = check_survey(path.read_bytes(), public_key)
            return Verified(statement, (signed, bound))
    beside = statement_path(path)
    if beside.is_symlink() or beside.exists():
        statement, signed = _parse(beside.name, _read_text(beside), public_key)
        covered = "every byte of every file of the release has its stated hash"
        _check_files(path, statement)
    else:
        statement, signed = _parse(path.name, _embedded(path), public_key)
        covered = "the statement was read from the file itself, which covers the points but not every byte"
    _check_points(path, statement)
    return Verified(statement, (signed, covered, "the points are those that were released, in the same order"))


@contextmanager
def _refusing(words: str, faults: tuple[type[Exception], ...] = (InputError, VerificationError)) -> Iterator[None]:
    """Raise VerificationError for what is not as it should be, after these words."""
    try:
        yield
    except faults as fault:
        raise VerificationError(f"{words} {shown(str(fault))}") from None


def _check_ledger(statement: Statement, ledger: str | Path | None) -> tuple[str, ...]:
    """Check that the ledger is whole, and that the charge for this release is in its chain."""
    entry = statement.ledger
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


def _name(path: Path | str) -> str:
    """Return a file's name as it may be shown."""
    return shown(Path(path).name).replace("\n", "\\n")


def _read_text(path: Path) -> str:
    """Return a text of bounded size from a file that is one: no link, no pipe."""
    if path.is_symlink() or not path.is_file():
        raise VerificationError(f"{_name(path)} is not a file but a link or a device, and is not followed.")
    with path.open("rb") as file:
        content = file.read(MOST_BYTES + 1)
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise VerificationError(f"{_name(path)} is not a statement: it is not UTF-8 text.") from None


def _embedded(path: Path) -> str:
    check_format(path)
    with _refusing(f"{_name(path)} cannot be read:"):
        text = read_statement(path)
    if text is None:
        raise VerificationError(
            f"{_name(path)} has no statement: neither beside it as {_name(statement_path(path))} nor in it."
        )
    return text


def _parse(name: str, text: str, public_key: str | None) -> tuple[Statement, str]:
    with _refusing(f"The statement in {_name(name)} does not hold."):
        return parse_signed(text, public_key)


def _check_files(path: Path, statement: Statement) -> None:
    stated = {} if statement.output is None else {file.name: file for file in statement.output.files}
    if path.name not in stated:
        raise VerificationError(
            f"The statement beside {_name(path)} is about {', '.join(map(_name, stated)) or 'no file'}. Give the file "
            "its name back, or move the statement away to verify by the one inside the file."
        )
    companions = FORMATS[format_of(path)].companions
    parts = {path.name, *(pattern.format(name=path.name, stem=path.stem) for pattern in companions)}
    for name in sorted(stated, key=path.name.__ne__):
        member = path.with_name(name)
        if name not in parts:
            raise VerificationError(f"{_name(name)} cannot be a part of {_name(path)}, so it was not opened.")
        if not member.is_file() or (member.is_symlink() and name != path.name):
            raise VerificationError(f"{_name(name)}, a part of the release, is missing.")
        if member.stat().st_size != stated[name].bytes or describe_file(member) != stated[name]:
            raise VerificationError(f"{_name(name)} was changed: its bytes do not have the stated hash.")


def _check_points(path: Path, statement: Statement) -> None:
    output = statement.output
    if output is None:
        raise VerificationError(f"The statement in {_name(path)} says nothing about the points.")
    with _refusing(f"{_name(path)} cannot be read:", (InputError,)):
        # The lattice of the first schema, whose statements do not say it, follows from the CRS.
        steps = output.steps_per_unit or (10**7 if is_geographic(output.crs) else 100)
        digest = points_digest(_points(path, output, steps), steps)
    if digest != output.points_sha256:
        raise VerificationError(CHANGED.format(_name(path)))


def open_released(path: Path, output: Output) -> PointSource:
    """Open the points of a release, in the columns and the CRS of its statement."""
    return open_points(path, columns=output.places, crs=output.crs if output.places else None)


def _points(path: Path, output: Output, steps: int) -> Iterator[NDArray[np.float64]]:
    """Yield the points of a file; raise as soon as they are more or fewer than was said, or are nowhere."""
    rows, changed = 0, VerificationError(CHANGED.format(_name(path)))
    source = open_released(path, output)
    known_crs(output.crs, "the statement")
    for batch in source.batches():
        rows += len(batch.coordinates)
        if rows > output.rows or not (np.abs(batch.coordinates) < FARTHEST / steps).all():
            raise changed
        if not same_places(source.layout.crs, output.crs, batch.coordinates[:1000], 1 / steps):
            raise VerificationError(f"{_name(path)} was changed: its CRS is not the one that its statement names.")
        yield batch.coordinates
    if rows != output.rows:
        raise changed
