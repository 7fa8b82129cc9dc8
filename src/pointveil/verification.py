"""Check that a release is what its statement says."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pointveil.columns import from_dict
from pointveil.errors import InputError, VerificationError, shown
from pointveil.files.crs import is_geographic, known_crs, same_places, transform
from pointveil.files.places import fetched, is_database, public_name
from pointveil.files.whole import refuse_address
from pointveil.formats import FORMATS, PointSource, format_of, open_points, read_statement
from pointveil.formats.base import Codes
from pointveil.ledger import Ledger
from pointveil.statement import MOST_BYTES, Domain, Output, OutputFile, Statement, parse_signed, read_public_key
from pointveil.surveys import check_survey, is_survey
from pointveil.synthetic import STATEMENT, check_format, codes_digest, describe_file, points_digest, statement_path
from pointveil.world.projection import Projection

ROUNDED = 1.0  # metres that a point may be outside of its world: far more than a lattice moves it
FARTHEST = 2.0**62  # lattice steps: no place on a map is so far away
MOST_ROWS = 16  # points of a release in one byte of it: half a bit for a point, which takes many
DOUBTS = ("is not signed", "NOT checked", "not every byte", "compare this with", "nothing was charged")
PUBLIC = "that it is public is the operator's word, and was NOT checked"
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

    @property
    def caveats(self) -> tuple[str, ...]:
        """The checks that passed and yet leave something open."""
        return tuple(line for line in self.checks if any(doubt in line for doubt in DOUBTS))

    @property
    def passed(self) -> tuple[str, ...]:
        """The checks that leave nothing open."""
        return tuple(line for line in self.checks if line not in self.caveats)


def verify(path: str | PathLike[str], *, public_key: str | None = None, ledger: str | Path | None = None) -> Verified:
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
    key = None if public_key is None else read_public_key(public_key)
    found = read_checked(path, key)
    if found.statement.rehearsal:
        raise VerificationError(
            f"{_name(public_name(path))} is of a rehearsal, which is not private. Nothing is promised about it."
        )
    prior = found.statement.prior
    guided = () if prior is None else (f"the prior {_name(prior.name)} is named with its hash; {PUBLIC}",)
    return Verified(found.statement, (*WELL_FORMED, *found.checks, *guided, *_check_ledger(found.statement, ledger)))


def read_checked(path: str | PathLike[str], public_key: str | None = None) -> Verified:
    """Return the statement about these very points or answers, even of a rehearsal, and what was checked."""
    if is_database(path):
        return _checked_release(str(path), public_key)
    with fetched(path, STATEMENT) as local:
        return _read_checked(local, public_key)


def _read_checked(path: Path, public_key: str | None) -> Verified:
    if not path.is_file() and not path.is_dir():
        refuse_address(path)
        raise InputError(f"There is no file {path.name}.")
    if path.is_dir():
        return _checked_release(path, public_key)
    if is_survey(path):
        with _refusing(f"{_name(path)} does not hold."):
            statement, signed, bound = check_survey(path.read_bytes(), public_key)
        return Verified(statement, (signed, bound))
    return _checked_release(path, public_key)


def _checked_release(path: Path | str, public_key: str | None) -> Verified:
    beside = None if isinstance(path, str) else statement_path(path)
    if beside is not None and isinstance(path, Path) and (beside.is_symlink() or beside.exists()):
        statement, signed = _parse(beside.name, _read_text(beside), public_key)
        covered = "every byte of every file of the release has its stated hash"
        _check_files(path, statement)
    else:
        statement, signed = _parse(public_name(path), _embedded(path), public_key)
        covered = "the statement was read from the file itself, which covers the points but not every byte"
    _check_points(path, statement)
    points = "the points are those that were released, in the same order"
    kept = ("so are the kept columns, bin by bin",) if statement.columns else ()
    return Verified(statement, (signed, covered, points, *kept))


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
    return shown(public_name(path)).replace("\n", "\\n")


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


def _embedded(path: Path | str) -> str:
    if isinstance(path, Path) and path.is_file():
        check_format(path)
    with _refusing(f"{_name(path)} cannot be read:"):
        text = read_statement(path)
    if text is None:
        raise VerificationError(
            f"{_name(path)} has no statement: neither beside it as {_name(path)}{STATEMENT} nor in it."
        )
    return text


def _parse(name: str, text: str, public_key: str | None) -> tuple[Statement, str]:
    with _refusing(f"The statement in {_name(name)} does not hold."):
        return parse_signed(text, public_key)


def _check_files(path: Path, statement: Statement) -> None:
    stated = {} if statement.output is None else {file.name: file for file in statement.output.files}
    if path.is_dir():
        for name in sorted({entry.name for entry in path.iterdir()} - set(stated)):
            raise VerificationError(f"{_name(name)} in {_name(path)} is not a part of the release.")
        return _check_hashes(path, stated)
    if path.name not in stated:
        raise VerificationError(
            f"The statement beside {_name(path)} is about {', '.join(map(_name, stated)) or 'no file'}. Give the file "
            "its name back, or move the statement away to verify by the one inside the file."
        )
    companions = FORMATS[format_of(path)].companions
    parts = {path.name, *(pattern.format(name=path.name, stem=path.stem) for pattern in companions)}
    for name in sorted(set(stated) - parts):
        raise VerificationError(f"{_name(name)} cannot be a part of {_name(path)}, so it was not opened.")
    return _check_hashes(path.parent, stated, path.name)


def _check_hashes(folder: Path, stated: dict[str, OutputFile], named: str | None = None) -> None:
    """Compare each file with its stated hash, first the one that was named, which may be a link."""
    for name in sorted(stated, key=lambda name: name != named):
        member = folder / name
        if not member.is_file() or (member.is_symlink() and name != named):
            raise VerificationError(f"{_name(name)}, a part of the release, is missing.")
        if member.stat().st_size != stated[name].bytes or describe_file(member) != stated[name]:
            raise VerificationError(f"{_name(name)} was changed: its bytes do not have the stated hash.")


def _check_points(path: Path | str, statement: Statement) -> None:
    output = statement.output
    if output is None:
        raise VerificationError(f"The statement in {_name(path)} says nothing about the points.")
    if isinstance(path, Path) and output.rows > MOST_ROWS * _size(path):
        raise VerificationError(f"{_name(path)} cannot hold {output.rows} points that were drawn.")
    with _refusing(f"{_name(path)} cannot be read:", (InputError,)):
        # The lattice of the first schema, whose statements do not say it, follows from the CRS.
        steps = output.steps_per_unit or (10**7 if is_geographic(output.crs) else 100)
        codes: list[Codes] = []
        digest = points_digest(_points(path, statement, output, steps, codes), steps)
    if digest != output.points_sha256:
        raise VerificationError(CHANGED.format(_name(path)))
    if statement.columns and codes_digest(codes) != output.codes_sha256:
        raise VerificationError(f"{_name(path)} was changed: its kept columns are not those that were released.")


def _size(path: Path) -> int:
    return sum(file.stat().st_size for file in (path.iterdir() if path.is_dir() else [path]))


def open_released(path: Path | str, statement: Statement, output: Output) -> PointSource:
    """Open the points of a release, in the columns and the CRS of its statement."""
    kept, crs = tuple(from_dict(column) for column in statement.columns), output.crs if output.places else None
    return open_points(path, columns=output.places, crs=crs, keep=kept, in_order=True)


def _points(
    path: Path | str, statement: Statement, output: Output, steps: int, codes: list[Codes]
) -> Iterator[NDArray[np.float64]]:
    """Yield the points of a file, and add its codes; raise if there are more or fewer than was said, or nowhere."""
    rows, changed = 0, VerificationError(CHANGED.format(_name(path)))
    source = open_released(path, statement, output)
    known_crs(output.crs, "the statement")
    for batch in source.batches():
        rows += len(batch.coordinates)
        if rows > output.rows or not (np.abs(batch.coordinates) < FARTHEST / steps).all():
            raise changed
        if not same_places(source.layout.crs, output.crs, batch.coordinates[:1000], 1 / steps):
            raise VerificationError(f"{_name(path)} was changed: its CRS is not the one that its statement names.")
        if not _in_its_world(batch.coordinates[:1000], output.crs, statement.domain):
            raise VerificationError(f"The points of {_name(path)} are not in the world that its statement names.")
        codes.append(batch.codes)
        yield batch.coordinates
    if rows != output.rows:
        raise changed


def _in_its_world(coordinates: NDArray[np.float64], crs: str, domain: Domain) -> bool:
    """Tell whether points in `crs` lie in the bounds that a statement names: in others, or another CRS, they do not."""
    plane = Projection.over(domain.bounds, domain.crs)
    xy = plane.to_metres(transform(crs, plane.crs)(coordinates))
    width, height = plane.to_metres(np.array([domain.bounds[2:]]))[0]
    return bool(((xy >= -ROUNDED) & (xy <= (width + ROUNDED, height + ROUNDED))).all())
