"""Check everything public about a release that is wanted, before anything is charged."""

from __future__ import annotations

import getpass
import logging
import secrets
import shlex
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import Any

from pointveil.checking import AUTO, Settled, check_drawing, check_period, checked_text, look, settle
from pointveil.errors import BudgetError, InputError, PointveilError
from pointveil.files.crs import crs_name, known_crs
from pointveil.files.places import is_database, local_path, public_name, refuse_within, store_of
from pointveil.files.whole import check_room, check_target, refuse_address, refuse_existing, refuse_same
from pointveil.ledger import Ledger, exact_cap, open_ledger
from pointveil.methods import Method
from pointveil.parts import session_of
from pointveil.statement import SigningKey, find_key
from pointveil.surveys import Survey, edition, in_words
from pointveil.synthetic import as_named, check_format, check_release, statement_path
from pointveil.terms import ReleaseTerms, SurveyTerms
from pointveil.vault import Vault

MOST_NAMED = 1000  # columns that are left out, in the ledger
LEAST_ROOM, ROOM_PER_POINT = 4 * 10**6, 200  # bytes free on the disk, from nothing but what was asked for
CHARGED_BEFORE = "This request was charged before and not finished: it goes on from there, at no further cost."
ANSWERED_BEFORE = "This request was answered before: here is the same release again, at no further cost."
log = logging.getLogger("pointveil")


@dataclass
class Order:
    """A release that may be made: everything public was checked, and nothing is charged until it is answered."""

    method: Method
    output: Path | str  # on this machine, or an address
    ledger: Ledger | None
    request: str  # its name, from the owner or made up
    facts: Mapping[str, Any]  # everything that decides what is released
    count: int | None  # of points to draw, if it was said
    seed: int  # of its drawing
    asked: Vault | Survey  # the vault to ask; or, for a request that was answered before, the survey of that time
    warnings: tuple[str, ...]  # what the owner should know before anything is charged, in sentences
    key: SigningKey | None  # to sign the statement with
    states: Mapping[str, str] = field(default_factory=dict)  # what the operator says about it
    entry: int | None = None  # the charge in the ledger, once there is one
    session: Any = None  # of the cluster that draws, if one does

    def record(self, files: Mapping[str, Any]) -> None:
        """Write down in the ledger which files are about to be put in place."""
        if self.ledger is not None and self.entry is not None:
            left_out = list(self.asked.layout.left_out[:MOST_NAMED])  # which a survey, given again, has forgotten
            self.ledger.record_output(self.entry, {**files, **({"left_out": left_out} if left_out else {})})

    @contextmanager
    def accounted(self) -> Iterator[None]:
        """Add to any error what was charged, and how to get the release without paying again."""
        try:
            yield
        except BaseException as fault:
            told = self._told()
            if isinstance(fault, PointveilError) and not isinstance(fault, ImportError):
                if told not in str(fault):
                    fault.args = (f"{fault} {told}",)
            elif told:
                fault.add_note(told)
            raise

    def _told(self) -> str:
        if self.ledger is None:
            return ""
        again = f"with --request {self.request} (in Python: request={self.request!r})"
        try:
            kept = self.ledger.find_request(self.request, self.facts)
        except InputError:
            return (
                "The ledger cannot be read now, so it cannot be told whether anything was charged. "
                f"Do the same again {again}: it is charged once, whatever happens."
            )
        if kept is None:
            return "Nothing was charged."
        if kept.stopped:
            return f"Epsilon {float(kept.epsilon):g} stays charged to '{kept.name}'; the rest was given back."
        return (
            f"Epsilon {float(kept.epsilon):g} stays charged to '{kept.name}'. "
            f"The same again {again} makes the release without another charge."
        )


def prepare(terms: SurveyTerms) -> Order:
    """Check everything public about a release; nothing is charged until the order is answered."""
    key, book = find_key(terms.key), open_ledger(terms.ledger)
    form = check_format(terms.output) if isinstance(terms, ReleaseTerms) else "survey"
    if form == "survey" and local_path(terms.output) is None:
        refuse_address(Path(terms.output))
    target = check_output(terms.output, source=terms.source, world=terms.world, ledger=book, key=key)
    check_drawing(terms.count, terms.seed)
    if isinstance(target, Path):
        check_room(target, LEAST_ROOM + ROOM_PER_POINT * (terms.count or 0), target.name, statement_path(target).name)
    log.info("Reading the public world")
    settled = settle(terms)
    if terms.request is not None and book is None:
        raise InputError("A request is repeated from the ledger. Give a ledger, or leave the request out.")
    session = (
        session_of(terms.source, terms.engine, terms.master) if form == "folder" and isinstance(target, Path) else None
    )
    states, facts = _states(terms), _facts(terms, settled, form)
    kept = None if book is None or terms.request is None else book.find_request(terms.request, facts)
    own = frozenset() if kept is None else kept.written
    if form == "survey":
        refuse_existing(Path(target), force=terms.force, own=own)
    else:
        check_release(target, force=terms.force, own=own)
    request, about = terms.request or f"release-{secrets.token_hex(4)}", {"by": _user(), **states}

    def order(seed: int, asked: Vault | Survey, warnings: Iterable[str], entry: int | None = None) -> Order:
        return Order(
            method=settled.method, output=target, ledger=book, request=request, facts={**facts, "about": about},
            count=terms.count, seed=seed, asked=asked, warnings=tuple(warnings), key=key, states=states, entry=entry,
            session=session,
        )  # fmt: skip

    if kept is not None and kept.survey is not None:
        try:
            before = Survey.from_record(kept.survey, kept.answers, settled.world)
        except ValueError as fault:
            raise InputError(f"The release of request {request!r} cannot be given again: {fault}.") from None
        return order(kept.seed, before, [ANSWERED_BEFORE], kept.entry)
    seed = secrets.randbits(62) if terms.seed is None else terms.seed
    purpose = {**facts, "about": about}
    vault = settled.open(
        terms, ledger=book, request=request, purpose=purpose, seed=seed, threads=terms.threads, engine=terms.engine,
        master=terms.master,
    )  # fmt: skip
    if book is not None:
        book.check_writable()
        check_room(book.path, LEAST_ROOM)
    found = [*look(vault, terms, settled.epsilon)]
    if refused := [finding.text for finding in found if finding.level == "refused"]:
        raise InputError(" ".join(refused))
    said = [CHARGED_BEFORE] * (kept is not None and not kept.stopped)
    said += [finding.text for finding in found if finding.level == "warning"]
    return order(seed, vault, [*said, *_set_cap(terms.cap, settled.dataset, settled.epsilon, book)])


def _states(terms: SurveyTerms) -> dict[str, str]:
    """Return what the operator says about the release, as far as it was said."""
    said = {"owner": terms.owner, "purpose": terms.purpose, "period": check_period(terms.period), "note": terms.note}
    return {name: checked_text(text, name) for name, text in said.items() if text is not None}


def _facts(terms: SurveyTerms, settled: Settled, form: str) -> dict[str, Any]:
    """Return everything that decides what is released: a request with other facts is another request."""
    method, named = settled.method, as_named(terms.source)
    facts = {
        "form": form,
        "source": type(terms.source).__qualname__ if named is None else public_name(named),
        "columns": None if terms.columns is None else list(terms.columns),
        "crs": None if terms.crs is None else crs_name(known_crs(terms.crs, "crs=")),
        "noise": terms.noise,
        "method": method.name,
        "parameters": method.parameters,
        "epsilon": str(settled.epsilon),
        "split": ",".join(f"{purpose}={part}" for purpose, part in method.shares().items()),
        "world": settled.world.digest,
        "dataset": settled.dataset,
        "person": terms.person or "",
        "max_points": str(settled.max_points or AUTO) if terms.person else "",
        "count": str(None if terms.count is None else int(terms.count)),
        "seed": str(None if terms.seed is None else int(terms.seed)),
        "small": "yes" if terms.small else "",
        "edition": in_words(edition(method.edition, by_person=terms.person is not None)),
        "prior": {} if settled.world.prior is None else settled.world.prior.facts,
    }
    return facts | ({"keep": [column.to_dict() for column in settled.keep]} if settled.keep else {})


def _set_cap(cap: object, dataset: str, epsilon: Fraction, book: Ledger | None) -> Iterator[str]:
    """Set the cap of a dataset that is new to the ledger; yield a sentence if its name has another.

    An account may have a lower one, of a dataset with the same content: that is a fact about the data, and not told.
    """
    if cap is None or book is None:
        return
    account, wanted = book.find(dataset), exact_cap(cap)
    if account is None and wanted < epsilon:
        raise BudgetError(f"The cap of {float(wanted):g} is less than epsilon {epsilon}. Nothing was charged.")
    if account is None:
        book.set_cap(dataset, wanted)
    elif (known := book.named_cap(dataset)) != wanted:
        yield (
            f"'{dataset}' keeps its cap of {float(known):g}. "
            f"Change it with: pointveil ledger cap {shlex.quote(dataset)} {float(wanted):g}"
        )


def check_output(
    output: str | PathLike[str],
    *,
    source: Any = None,
    world: Any = None,
    ledger: Ledger | None = None,
    key: SigningKey | None = None,
) -> Path | str:
    """Refuse, before anything is charged, an output whose directory is missing, or that is a file which must stay."""
    local, named = local_path(output), as_named(source)
    if local is None:
        if not is_database(output):
            store_of(str(output))
            refuse_within(output, named)
        elif is_database(named) and public_name(output) == public_name(named):
            raise InputError(f"{public_name(output)} is the private table itself. Give another name for the output.")
        return str(output)
    target = check_target(local)
    stays = {
        "the private file itself": local_path(named),
        "the file of the world": local_path(world),
        "the ledger": None if ledger is None else ledger.path,
        "a part of the ledger": None if ledger is None else ledger.path.with_name(f"{ledger.path.name}-wal"),
        "the signing key": None if key is None else key.path,
        "the public key": None if key is None else key.public_path,
    }
    refuse_same(target, stays)
    refuse_within(target, named)
    refuse_same(statement_path(target), stays)
    return target


def _user() -> str:
    """Return the name of whoever runs this, for the log."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "unknown"
