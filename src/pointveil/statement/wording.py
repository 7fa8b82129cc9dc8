"""Put what a vault has done into a statement."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Protocol

from pointveil.ledger import Charge
from pointveil.statement.document import (
    NOT_CHARGED,
    NOT_PROMISED,
    REHEARSAL,
    Domain,
    Guarantee,
    LedgerEntry,
    Question,
    Statement,
    plain_words,
    software,
    today,
)
from pointveil.world import World

THEOREMS = {"count": "noise.md, theorem on counts", "scatter": "kernel.md, theorem 2 on scatter"}
LIMITS_OF_NOISE: dict[str, tuple[str, ...]] = {
    "exact": (),
    "opendp": (
        (
            "More than OpenDP says of its own noise: its discrete Laplace mechanism has a published proof, needs the "
            "feature 'contrib', and is not defended against side channels. Pointveil has not proved it anew."
        ),
        (
            "The last binary digit of epsilon: OpenDP takes the scale of its noise as a float, rounded up, and works "
            "out its epsilon in floating point, also rounded up. It may state a little more than is stated here."
        ),
        (
            "Noise beyond 2^63: OpenDP cuts it off before it is added. A delta of 0 does not cover this; it happens to "
            "a count with a chance below exp(-2^62 epsilon / k), where k is the number of points of a unit."
        ),
    ),
}
ALONE = "each record is placed by itself, on a lattice; "
NUMERICS = {
    "exact": ALONE + "counts, noise and weights are integers and exact fractions",
    "opendp": ALONE + "counts and noise are 64-bit integers; OpenDP draws the noise of counts, with a scale that is a "
    "float and never too small; weights are integers and exact fractions",
}
SOURCES = {
    "exact": "the operating system (os.urandom)",
    "opendp": "OpenDP's own source for counts, the operating system (os.urandom) for the rest",
}
SAMPLERS = {
    ("count", "exact"): "exact discrete Laplace, inverted with lazy bits",
    ("count", "opendp"): "OpenDP discrete Laplace",
    ("scatter", "exact"): "exact box kernel on integer weights",
    ("scatter", "opendp"): "exact box kernel on integer weights",
}


SEEDED = "a seeded generator"
FORMER: frozenset[str] = frozenset()
"""Words that stood in one of these tables; statements with them must still verify."""


def known_words(statement: Statement) -> bool:
    """Whether a statement says of its noise and proofs only what some version of Pointveil says."""
    said = [(statement.numerics, [*NUMERICS.values()]), (statement.randomness["source"], [*SOURCES.values(), SEEDED])]
    for question in statement.questions:
        samplers = [sampler for (kind, _), sampler in SAMPLERS.items() if kind == question.question]
        said += [(question.theorem, [THEOREMS[question.question]]), (question.sampler, samplers)]
    return all(words in known or words in FORMER for words, known in said)


class Spend(Protocol):
    """One question that was paid for, as the vault's account has it."""

    @property
    def purpose(self) -> str: ...  # noqa: D102
    @property
    def epsilon(self) -> Fraction: ...  # noqa: D102
    @property
    def question(self) -> str: ...  # noqa: D102
    @property
    def cells(self) -> int: ...  # noqa: D102


class Account(Protocol):
    """What a vault has spent, and on what."""

    @property
    def spent(self) -> Fraction: ...  # noqa: D102
    @property
    def spends(self) -> Sequence[Spend]: ...  # noqa: D102


class Protection(Protocol):
    """Who is protected, in words, and with how many points."""

    @property
    def unit(self) -> str: ...  # noqa: D102
    @property
    def points(self) -> int: ...  # noqa: D102
    @property
    def limits(self) -> tuple[str, ...]: ...  # noqa: D102


def describe(
    account: Account,
    protection: Protection,
    world: World,
    *,
    release: str,
    noise: str,
    charge: Charge | None,
    rehearsal: bool,
) -> Statement:
    """Return the statement for what has been spent so far."""
    not_charged = (NOT_CHARGED,) if charge is None and not rehearsal else ()
    return Statement(
        release=release,
        made=today(),
        software=software(),
        rehearsal=REHEARSAL if rehearsal else None,
        guarantee=Guarantee(
            definition="none: a rehearsal" if rehearsal else "pure differential privacy",
            epsilon=str(account.spent),
            unit=protection.unit,
            points_per_unit=protection.points,
        ),
        domain=_domain(world),
        method=None,
        questions=tuple(_question(spend, protection, noise) for spend in account.spends),
        post_processing=(),
        randomness=_randomness(noise, rehearsal=rehearsal),
        numerics=NUMERICS[noise],
        ledger=None if charge is None else LedgerEntry(**charge.published()),
        not_promised=(*protection.limits, *NOT_PROMISED, *LIMITS_OF_NOISE[noise], *not_charged),
        in_plain_words=_promise(account, protection, rehearsal=rehearsal),
    )


def _promise(account: Account, protection: Protection, *, rehearsal: bool) -> str:
    if rehearsal:
        return "This is a rehearsal with repeatable noise. It is not private and must not be shared."
    return plain_words(account.spent, protection.unit)


def _randomness(noise: str, *, rehearsal: bool) -> dict[str, str]:
    if rehearsal:
        return {"source": SEEDED, "seeded": "yes"}
    return {"source": SOURCES[noise], "seeded": "no"}


def _domain(world: World) -> Domain:
    west, south, east, north = world.boundary.bounds
    return Domain(
        crs=world.projection.crs,
        bounds=(west, south, east, north),
        lattice=world.projection.lattice,
        world_sha256=world.digest,
        roads=world.roads is not None,
    )


def _question(spend: Spend, protection: Protection, noise: str) -> Question:
    return Question(
        purpose=spend.purpose,
        question="count" if spend.question == "count" else "scatter",
        theorem=THEOREMS[spend.question],
        cells=spend.cells,
        sensitivity=protection.points,
        epsilon=str(spend.epsilon),
        sampler=SAMPLERS[spend.question, noise],
    )
