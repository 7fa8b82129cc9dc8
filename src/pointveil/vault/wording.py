"""Put what a vault has done into a statement."""

from collections.abc import Sequence
from fractions import Fraction

from pointveil.geography import World
from pointveil.vault.account import Account, Spend
from pointveil.vault.ledger_entries import Charge
from pointveil.vault.protection import Protection
from pointveil.vault.questions import Share
from pointveil.vault.statement import (
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

THEOREMS = {"count": "noise.md, theorem on counts", "scatter": "kernel.md, theorem 2 on scatter"}
LIMITS_OF_NOISE = {
    "exact": (),
    "opendp": (
        "Counts beyond 2^62: OpenDP cuts its noise off there, which happens with a chance below exp(-2^62 epsilon).",
    ),
}
SOURCES = {
    "exact": "the operating system (os.urandom)",
    "opendp": "OpenDP's own generator, seeded by the operating system",
}
SAMPLERS = {
    ("count", "exact"): "exact discrete Laplace, inverted with lazy bits",
    ("count", "opendp"): "OpenDP discrete Laplace",
    ("scatter", "exact"): "exact box kernel on integer weights",
    ("scatter", "opendp"): "exact box kernel on integer weights",
}


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
        ledger=None if charge is None else _entry(charge),
        not_promised=(*protection.limits, *NOT_PROMISED, *LIMITS_OF_NOISE[noise]),
        in_plain_words=_promise(account, protection, rehearsal=rehearsal),
    )


def _promise(account: Account, protection: Protection, *, rehearsal: bool) -> str:
    if rehearsal:
        return "This is a rehearsal with repeatable noise. It is not private and must not be shared."
    return plain_words(float(account.spent), protection.unit)


def _randomness(noise: str, *, rehearsal: bool) -> dict[str, str]:
    if rehearsal:
        return {"source": "a seeded generator", "seeded": "yes"}
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


def _entry(charge: Charge) -> LedgerEntry:
    """Return only what was charged under this name: what the data says of other names stays with the owner."""
    return LedgerEntry(
        entry=charge.entry,
        chain_sha256=charge.chain,
        spent_before=str(charge.named_before),
        spent_after=str(charge.named_after),
    )


def scripted_statement(world: World, asked: Sequence[Share], points_per_unit: int) -> Statement:
    """Return the statement of a vault that holds no points and answers from a script."""
    spends = [Spend(share.purpose, share.epsilon, "count", 1) for share in asked]
    account = Account(sum((share.epsilon for share in asked), Fraction(0)), spends)
    protection = Protection() if points_per_unit == 1 else Protection(points_per_unit, "person")
    return describe(account, protection, world, release="0" * 32, noise="exact", charge=None, rehearsal=True)
