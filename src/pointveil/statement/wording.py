"""Put what a vault has done into a statement."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any, Protocol

from pointveil.ledger import Charge
from pointveil.statement.document import (
    Asked,
    Domain,
    Guarantee,
    LedgerEntry,
    PriorUsed,
    Question,
    Statement,
    plain_words,
)
from pointveil.version import __version__
from pointveil.world import World

REHEARSAL = "rehearsal: not private"
NOT_PROMISED = (
    "Timing, memory and other side channels of the machine that held the data.",
    "Malice in the same process, or an operator who publishes something else about the same people.",
    "Facts about places: a release may show that a street is busy, and so where people like someone tend to be.",
    "Correlated records: what one person's points say about another's (a family, a convoy) is not hidden.",
)
NOT_CHARGED = (
    "A sum below a cap: nothing was charged to a ledger for this release, so nobody keeps account of what other "
    "releases of the same data cost."
)
DECLARED = (
    "What was declared of the kept columns: names, types, periods, lists and bounds are public. A list that was copied "
    "from the data tells what is in it, and this release cannot hide that."
)
NOT_PUBLIC = (
    "What the prior tells: the operator states that it is public, or was paid for. If it was made from private records "
    "and not paid for, nothing is promised about those."
)
NOT_PRIVATE = "This is a rehearsal with repeatable noise. It is not private and must not be shared."
THEOREMS = {
    "count": "noise.md, theorem on counts",
    "crowding": "noise.md, theorem on crowding",
    "scatter": "kernel.md, theorem 2 on scatter",
    "persons": "bounding.md, theorem 3 on persons",
}
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
    ("crowding", "exact"): "exact discrete Laplace, inverted with lazy bits",
    ("crowding", "opendp"): "OpenDP discrete Laplace",
    ("scatter", "exact"): "exact box kernel on integer weights",
    ("scatter", "opendp"): "exact box kernel on integer weights",
    ("persons", "exact"): "exact discrete Laplace, inverted with lazy bits",
    ("persons", "opendp"): "OpenDP discrete Laplace",
}
SEEDED = "a seeded generator"
FORMER: frozenset[str] = frozenset()  # words that stood in one of these tables; statements with them must still verify


def known_words(statement: Statement) -> bool:
    """Whether a statement says of its noise and proofs what some version of Pointveil says, all of one noise."""
    return any(_speaks_of(noise, statement) for noise in NUMERICS)


def _speaks_of(noise: str, statement: Statement) -> bool:
    seeded = statement.randomness["seeded"] == "yes"
    said = [
        (statement.numerics, NUMERICS[noise]),
        (statement.randomness["source"], SEEDED if seeded else SOURCES[noise]),
    ]
    for each in statement.questions:
        said += [(each.theorem, THEOREMS[each.question]), (each.sampler, SAMPLERS[each.question, noise])]
    return all(words == known or words in FORMER for words, known in said)


@dataclass(frozen=True)
class Spend:
    """One question that was paid for, and what it cost."""

    purpose: str
    epsilon: Fraction
    question: Asked
    cells: int  # how many cells or regions it asked about: a public or noisy fact
    sensitivity: int  # by how much one unit can change the exact answer, in all


class Protection(Protocol):
    """Who is protected, in words, and with how many points."""

    @property
    def unit(self) -> str: ...  # noqa: D102
    @property
    def points(self) -> int | None: ...  # noqa: D102
    @property
    def limits(self) -> tuple[str, ...]: ...  # noqa: D102


def describe(
    spends: Sequence[Spend],
    protection: Protection,
    world: World,
    *,
    release: str,
    noise: str,
    charge: Charge | None,
    rehearsal: bool,
    columns: tuple[dict[str, Any], ...] = (),
) -> Statement:
    """Return the statement for what has been spent so far."""
    epsilon = sum((spend.epsilon for spend in spends), Fraction(0))
    not_charged = (NOT_CHARGED,) if charge is None and not rehearsal else ()
    return Statement(
        release=release,
        made=datetime.now(tz=UTC).date().isoformat(),  # and no more: the time of a release is nobody's business
        software={"name": "pointveil", "version": __version__},
        rehearsal=REHEARSAL if rehearsal else None,
        guarantee=Guarantee(
            definition="none: a rehearsal" if rehearsal else "pure differential privacy",
            epsilon=str(epsilon),
            unit=protection.unit,
            points_per_unit=protection.points or 1,
        ),
        domain=domain_of(world),
        columns=columns,
        prior=prior_of(world),
        method=None,
        questions=tuple(_question(spend, noise) for spend in spends),
        post_processing=(),
        randomness={"source": SEEDED, "seeded": "yes"} if rehearsal else {"source": SOURCES[noise], "seeded": "no"},
        numerics=NUMERICS[noise],
        ledger=None if charge is None else LedgerEntry(**charge.published()),
        not_promised=(
            *protection.limits,
            *((DECLARED,) if columns else ()),
            *((NOT_PUBLIC,) if world.prior is not None else ()),
            *NOT_PROMISED,
            *LIMITS_OF_NOISE[noise],
            *not_charged,
        ),
        in_plain_words=NOT_PRIVATE if rehearsal else plain_words(epsilon, protection.unit),
    )


def domain_of(world: World) -> Domain:
    """Return what a statement says of the world."""
    west, south, east, north = world.boundary.bounds
    return Domain(
        crs=world.projection.crs,
        bounds=(west, south, east, north),
        lattice=world.projection.lattice,
        world_sha256=world.digest,
        roads=world.roads is not None,
        attribution=world.attribution or None,
    )


def prior_of(world: World) -> PriorUsed | None:
    """Return what a statement says of a prior, if there is one."""
    return None if world.prior is None else PriorUsed(**world.prior.source, used_sha256=world.prior.digest)


def _question(spend: Spend, noise: str) -> Question:
    return Question(
        purpose=spend.purpose,
        question=spend.question,
        theorem=THEOREMS[spend.question],
        cells=spend.cells,
        sensitivity=spend.sensitivity,
        epsilon=str(spend.epsilon),
        sampler=SAMPLERS[spend.question, noise],
    )
