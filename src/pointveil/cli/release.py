"""The steps that synthesize and survey share: check, charge, ask."""

import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pointveil.cli.common import check_person, open_world, parse_columns, parse_method, stage, tell
from pointveil.errors import InputError

if TYPE_CHECKING:
    from pointveil.ledger import Ledger
    from pointveil.methods import Method
    from pointveil.surveys import Survey
    from pointveil.world import World


@dataclass(frozen=True)
class Request:
    """All that was asked for on the command line."""

    points: Path
    world: Path
    epsilon: str
    method: str
    split: str | None
    columns: str | None
    crs: str | None
    person: str | None
    max_points: int | None
    noise: str
    ledger: Path | None
    dataset: str | None
    request: str | None
    count: int | None
    seed: int | None
    quiet: bool


@dataclass(frozen=True)
class Answered:
    """A survey, and where it stands in the ledger."""

    survey: "Survey"
    ledger: "Ledger"
    entry: int | None
    seed: int

    def finish(self, output: dict[str, Any], *, keep: bool) -> None:
        """Write down that the release is done; keep the survey if the request may be repeated."""
        if self.entry is not None:
            self.ledger.finish(
                self.entry, survey=self.survey.to_bytes() if keep else b"", seed=self.seed, output=output
            )


def answer(asked: Request) -> Answered:
    """Check everything public, then open the vault and ask; nothing is charged if a check fails."""
    from pointveil.ledger import Ledger, default_ledger_path
    from pointveil.releases import check_drawing, check_world, survey
    from pointveil.vault import Vault, exact_epsilon

    check_drawing(asked.count, asked.seed)
    with stage("Reading the public world", quiet=asked.quiet):
        world = open_world(asked.world)
        method = parse_method(asked.method, asked.split)
        check_world(method, world)
    epsilon = exact_epsilon(asked.epsilon)
    if epsilon > 10:
        tell(
            f"Warning: epsilon {asked.epsilon} promises very little. Most releases use 1 or less.",
            quiet=asked.quiet,
        )
    ledger = Ledger(asked.ledger or default_ledger_path())
    purpose = _purpose(asked, method, world)
    if asked.request is not None:
        finished = ledger.find_request(asked.request, purpose)
        if finished is not None:
            return _again(finished, ledger)
    vault = Vault.open(
        asked.points,
        world,
        epsilon=epsilon,
        columns=parse_columns(asked.columns),
        crs=asked.crs,
        person=asked.person,
        max_points=check_person(asked.person, asked.max_points),
        noise=asked.noise,
        ledger=ledger,
        dataset=asked.dataset,
        request=asked.request,
        purpose=purpose,
    )
    _tell_left_out(vault.layout.left_out, quiet=asked.quiet)
    with stage("Asking the vault", quiet=asked.quiet):
        done = survey(vault, method)
        vault.close()
    entry = None if vault.charge is None else vault.charge.entry
    return Answered(done, ledger, entry, secrets.randbits(62) if asked.seed is None else asked.seed)


def check_output(output: Path, points: Path) -> None:
    """Refuse, before anything is charged, an output that could not be written."""
    if not output.parent.is_dir():
        raise InputError(f"The directory of {output} does not exist; make it first.")
    if output.is_dir():
        raise InputError(f"{output} is a directory; give the name of the file to write.")
    if output.exists() and points.exists() and output.samefile(points):
        raise InputError(f"{output} is the private file itself. Give another name for the output.")


def check_points_output(output: Path, points: Path) -> None:
    """Refuse also a suffix that stands for no format."""
    from pointveil.synthetic import check_format

    check_output(output, points)
    check_format(output)


def _purpose(asked: Request, method: "Method", world: "World") -> dict[str, str]:
    """Return the public facts of a request; repeated, they must be the same."""
    split = ",".join(f"{purpose}={part}" for purpose, part in method.shares().items())
    return {
        "method": method.name,
        "epsilon": str(asked.epsilon),
        "split": split,
        "world": world.digest,
        "dataset": asked.dataset or asked.points.name,
        "person": asked.person or "",
        "max_points": str(asked.max_points or ""),
        "count": str(asked.count),
        "seed": str(asked.seed),
    }


def _again(finished: Any, ledger: "Ledger") -> Answered:
    from pointveil.surveys import Survey

    tell("This request was answered before: here is the same release again, at no further cost.")
    return Answered(Survey.from_bytes(finished.survey), ledger, None, finished.seed)


def _tell_left_out(names: tuple[str, ...], *, quiet: bool) -> None:
    if names:
        tell(f"Left out of the synthetic file: {', '.join(names)} (only places are synthesized).", quiet=quiet)
