"""From private points to a release: check, charge, ask, draw, write, finish."""

from __future__ import annotations

import getpass
import logging
import math
import secrets
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import product
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pointveil.cells.arrays import blocks
from pointveil.checking import (
    MOST_POINTS,
    Finding,
    check_drawing,
    check_method,
    check_period,
    check_person,
    check_unit,
    check_world,
    checked_text,
    look,
)
from pointveil.columns import PATTERNS, Column, Id, Time, check_keep
from pointveil.errors import BudgetError, InputError, PointveilError, PointveilWarning, StoppedError
from pointveil.files.crs import crs_name, known_crs, transform
from pointveil.files.lattice import snap, steps_per_unit
from pointveil.files.places import is_database, local_path, public_name, store_of
from pointveil.files.whole import check_room, check_target, refuse_existing, refuse_same
from pointveil.keeping import draw_codes
from pointveil.ledger import OWN, Ledger, Own, open_ledger
from pointveil.margins import with_margins
from pointveil.methods import DEFAULT_METHOD, Method, find_method
from pointveil.statement import MethodUsed, OperatorStates, SigningKey, find_key
from pointveil.surveys import Recorder, Survey, ask_all, edition, in_words, pack
from pointveil.synthetic import (
    SyntheticPoints,
    as_named,
    check_crs,
    check_format,
    check_release,
    keep_columns,
    statement_path,
)
from pointveil.vault import NoisyCounts, Vault, exact_epsilon
from pointveil.world import World

BLOCK = 2**16  # points at a time: the work stays in the processor's cache
# (48, 2) the lattice steps around a point, the nearest first, in a fixed order.
NEARBY = np.array(sorted(product(range(-3, 4), repeat=2), key=lambda step: max(map(abs, step)))[1:], dtype=np.float64)
WENT_ON = "not stopped, however small the noisy total: the operator said so beforehand (small)"
ROWS_CHOSEN = "rows chosen by the operator (count), and not the noisy total"
KEEPING = (
    "kept columns: tables denoised by shrinkage towards independence of place, made non-negative, fitted to each other",
    "kept columns: values given to points along a space-filling curve, even inside each bin",
)
LAST_STEPS = ("coordinates snapped to the public lattice", "order shuffled")
ALMOST_NONE = 100  # points times epsilon below which noise is all there may be: the number of points is itself noisy
NOISE_DEVIATIONS = 3  # of its own noise, below which a total stops a release
LEAST_ROOM, ROOM_PER_POINT = 4 * 10**6, 200  # bytes free on the disk, from nothing but what was asked for
CHARGED_BEFORE = "This request was charged before and not finished: it goes on from there, at no further cost."
ANSWERED_BEFORE = "This request was answered before: here is the same release again, at no further cost."
COARSE = "The map is coarse: few people for this epsilon. A larger epsilon or a smaller max_points would show more."
log = logging.getLogger("pointveil")


def release(
    source: Any,
    world: World | str | PathLike[str],
    *,
    epsilon: object,
    output: str | PathLike[str],
    method: str | Method = DEFAULT_METHOD,
    split: Mapping[str, Any] | None = None,
    columns: tuple[str, str] | None = None,
    crs: str | None = None,
    person: str | None = None,
    max_points: int | None = None,
    unit: str | None = None,
    keep: Any = (),
    noise: str = "exact",
    ledger: Ledger | str | PathLike[str] | Own | None = OWN,
    dataset: str | None = None,
    request: str | None = None,
    count: int | None = None,
    seed: int | None = None,
    small: bool = False,
    cap: object = None,
    owner: str | None = None,
    purpose: str | None = None,
    period: str | None = None,
    note: str | None = None,
    key: SigningKey | str | PathLike[str] | Own | None = OWN,
    force: bool = False,
) -> SyntheticPoints:
    """Make a synthetic file of private points, charged to the ledger, with a signed statement beside it.

    Everything public is checked first. Then the whole epsilon is charged, durably, before any question is asked. Each
    answer is kept in the ledger before anything is made of it: whatever happens then, what was paid for is not lost.

    Parameters
    ----------
    source
        The private points: a path, an Arrow table, or a pandas, polars or geopandas frame.
    world
        The public boundary, water and roads, or the file with them.
    epsilon
        Privacy budget of this release: a number, a Fraction, or a text such as "1/3"; smaller is more private.
    output
        The file to write; its suffix says the format.
    method, split
        A row of `METHODS` or a `Method` of your own, and the part of epsilon for each purpose if not its usual one.
    columns, crs
        The names of the columns with x (longitude) and y (latitude), if they cannot be guessed, and the coordinate
        system of the points, if the source does not say (default: EPSG:4326).
    person, max_points
        Column with the person's id, to protect people instead of single points; at most `max_points` (default: 8)
        points of one person are used.
    unit
        "point" confirms that single points are to be protected where a column looks as if it said whose they are.
    keep
        The columns to keep beside the place: `Time`, `Category`, `Number` or `Id`, or texts as for --keep.
    noise
        "exact" (our own sampler) or "opendp" (needs that extra).
    ledger, dataset
        Where epsilon is charged, and under which name (default: the file's). By default your own ledger; with None
        nothing is charged, and the statement says so.
    request
        A name for this request: repeated, it gives the same release, or goes on with it, at no further cost. A release
        without one is given a name, which an error tells.
    count, seed
        Number of points to draw (default: the noisy total; never type the true number: the statement says that it
        was chosen), and the seed of the drawing; the noise has none.
    small
        The total is asked first, with its share of epsilon. If it is hardly more than noise, StoppedError is raised,
        nothing is written and the other shares are given back, unless this says to go on.
    cap
        The most that may ever be spent on this dataset, for its first release (default: 10); later ones keep it.
    owner, purpose, period, note
        Who answers for the release, what it is for, which period the data are about, and anything else: recorded in
        the ledger and in the statement, as what the operator states.
    key
        The private key that signs the statement. By default your own, if you have one; with None it is not signed.
    force
        Replace the output if it exists. The file that the same request wrote before may always be written again.

    Examples
    --------
    >>> made = pv.release("people.parquet", "helsinki.gpkg", epsilon=1, output="synthetic.parquet", count=500)
    >>> pv.verify("synthetic.parquet").statement == made.statement
    True
    """
    signing = find_key(key)
    order = prepare(
        source, world, epsilon=epsilon, output=output, form=check_format(output), method=method, split=split,
        columns=columns, crs=crs, person=person, max_points=max_points, unit=unit, keep=keep,
        noise=noise, ledger=ledger, dataset=dataset, request=request, count=count, seed=seed, small=small, cap=cap,
        owner=owner, purpose=purpose, period=period, note=note, key=signing, force=force,
    )  # fmt: skip
    check_crs(order.output, order.asked.layout, order.asked.world)
    _warn(order.warnings)
    with order.accounted():
        surveyed = order.answer()
        log.info("Drawing points")
        synthetic = draw(surveyed, count=count, seed=order.seed)
        log.info("Writing")
        statement = synthetic.write(order.output, key=signing, force=True, ready=order.record)
    _warn(_doubts(surveyed, len(synthetic) if count is None else None))
    return replace(synthetic, statement=statement)


def release_survey(
    source: Any,
    world: World | str | PathLike[str],
    *,
    epsilon: object,
    output: str | PathLike[str],
    key: SigningKey | str | PathLike[str] | Own | None = OWN,
    **options: Any,
) -> Survey:
    """Make a survey of private points, charged to the ledger: points can be drawn from it later, at no cost.

    Parameters
    ----------
    source, world, epsilon
        As for `release`: the private points, the public world, and the privacy budget.
    output, key
        The survey's file, and the private key that signs its statement, as for `release`.
    options
        Those of `release`, but for `count` and `seed`, which are about drawing.

    Examples
    --------
    >>> made = pv.release_survey("people.parquet", "helsinki.gpkg", epsilon=1, output="people.survey")
    >>> len(pv.draw(made, count=500, seed=7))
    500
    """
    signing = find_key(key)
    order = prepare(source, world, epsilon=epsilon, output=output, form="survey", key=signing, **options)
    _warn(order.warnings)
    with order.accounted():
        surveyed = order.answer()
        log.info("Writing")
        surveyed.write(Path(order.output), key=signing, force=True, ready=order.record)
    _warn(_doubts(surveyed, None))
    return surveyed


@dataclass
class Order:
    """A release that may be made: everything public was checked, and nothing is charged until it is answered."""

    method: Method
    output: Path | str  # on this machine, or an address
    ledger: Ledger | None
    request: str  # its name, from the owner or made up
    facts: dict[str, Any]  # everything that decides what is released
    seed: int  # of its drawing
    asked: Vault | Survey  # the vault to ask; or, for a request that was answered before, the survey of that time
    warnings: tuple[str, ...]  # what the owner should know before anything is charged, in sentences
    entry: int | None = None  # the charge in the ledger, once there is one
    states: Mapping[str, str] = field(default_factory=dict)  # what the operator says about it

    def answer(self) -> Survey:
        """Charge and ask, or give the earlier answer again; when this returns, the ledger has all of it."""
        if isinstance(self.asked, Survey):
            return self.asked
        log.info("Asking the vault")
        surveyed = survey(self.asked, self.method, ledger=self.ledger, small=bool(self.facts["small"]))
        if self.states:
            about = {"operator_states": OperatorStates(**self.states)}
            surveyed = replace(surveyed, statement=surveyed.statement.model_copy(update=about))
        charge = self.asked.charge
        self.asked.close()
        if self.ledger is None or charge is None or charge.seed is None:
            return surveyed
        self.entry, self.seed = charge.entry, charge.seed
        ours = surveyed.to_record()
        kept = self.ledger.finish(charge.entry, survey=ours, seed=self.seed, output={})
        if kept == ours:
            return surveyed
        # The same request, at the same time, in another process: the first to finish is the answer.
        return Survey.from_record(kept, (pack(answer) for answer in surveyed.answers), surveyed.world)

    def record(self, files: Mapping[str, Any]) -> None:
        """Write down in the ledger which files are about to be put in place."""
        if self.ledger is not None and self.entry is not None:
            self.ledger.record_output(self.entry, files)

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
            return f"Epsilon {kept.epsilon} stays charged to '{kept.name}'; the rest was given back."
        return (
            f"Epsilon {kept.epsilon} stays charged to '{kept.name}'. "
            f"The same again {again} makes the release without another charge."
        )


def prepare(
    source: Any,
    world: World | str | PathLike[str],
    *,
    epsilon: object,
    output: str | PathLike[str],
    form: str,
    method: str | Method = DEFAULT_METHOD,
    split: Mapping[str, Any] | None = None,
    columns: tuple[str, str] | None = None,
    crs: str | None = None,
    person: str | None = None,
    max_points: int | None = None,
    unit: str | None = None,
    keep: Any = (),
    noise: str = "exact",
    ledger: Ledger | str | PathLike[str] | Own | None = OWN,
    dataset: str | None = None,
    request: str | None = None,
    count: int | None = None,
    seed: int | None = None,
    small: bool = False,
    cap: object = None,
    owner: str | None = None,
    purpose: str | None = None,
    period: str | None = None,
    note: str | None = None,
    key: SigningKey | None = None,
    force: bool = False,
) -> Order:
    """Check everything public, before anything is charged."""
    if isinstance(source, World):
        raise InputError("The private points come first, then the world.")
    book = open_ledger(ledger)
    target = check_output(output, source=source, world=world, ledger=book, key=key)
    check_drawing(count, seed)
    if isinstance(target, Path):
        check_room(target, LEAST_ROOM + ROOM_PER_POINT * (count or 0), target.name, statement_path(target).name)
    log.info("Reading the public world")
    place = world if isinstance(world, World) else World.read(world)
    chosen = find_method(method) if split is None else find_method(method).with_split(split)
    exact, most, kept_columns = exact_epsilon(epsilon), check_person(person, max_points), check_keep(keep)
    check_method(chosen, place, exact, most)
    check_unit(unit, person)
    if request is not None and book is None:
        raise InputError("A request is repeated from the ledger. Give a ledger, or leave the request out.")
    named = as_named(source)
    name = dataset or public_name(named)
    facts: dict[str, Any] = {
        "form": form,
        "source": type(source).__qualname__ if named is None else public_name(named),
        "columns": None if columns is None else list(columns),
        "crs": None if crs is None else crs_name(known_crs(crs, "crs=")),
        "noise": noise,
        "method": chosen.name,
        "parameters": chosen.parameters,
        "epsilon": str(exact),
        "split": ",".join(f"{purpose}={part}" for purpose, part in chosen.shares().items()),
        "world": place.digest,
        "dataset": name,
        "person": person or "",
        "max_points": str(int(most)) if person else "",
        "count": str(None if count is None else int(count)),
        "seed": str(None if seed is None else int(seed)),
        "small": "yes" if small else "",
        "edition": in_words(edition(chosen.edition)),
    }
    if kept_columns:
        facts["keep"] = [column.to_dict() for column in kept_columns]
    kept = book.find_request(request, facts) if book is not None and request is not None else None
    own = frozenset() if kept is None else kept.written
    if form == "survey":
        refuse_existing(Path(target), force=force, own=own)
    else:
        check_release(target, force=force, own=own)
    said_by = {"owner": owner, "purpose": purpose, "period": check_period(period), "note": note}
    states = {name: checked_text(text, name) for name, text in said_by.items() if text is not None}
    facts["about"] = {"by": _user(), **states}
    named = request or f"release-{secrets.token_hex(4)}"
    if kept is not None and kept.survey is not None:
        try:
            before = Survey.from_record(kept.survey, kept.answers, place)
        except ValueError as fault:
            raise InputError(f"The release of request {request!r} cannot be given again: {fault}.") from None
        return Order(chosen, target, book, named, facts, kept.seed, before, (ANSWERED_BEFORE,), kept.entry)
    drawn_with = secrets.randbits(62) if seed is None else seed
    vault = Vault.open(
        source, place, epsilon=exact, columns=columns, crs=crs, person=person, max_points=most, keep=kept_columns,
        noise=noise, ledger=book, dataset=name, request=named, purpose=facts, seed=drawn_with,
    )  # fmt: skip
    if book is not None:
        book.check_writable()
        check_room(book.path, LEAST_ROOM)
    found = list(look(vault, crs=crs, person=person, unit=unit, epsilon=exact))
    if refused := [finding.text for finding in found if finding.level == "refused"]:
        raise InputError(" ".join(refused))
    if cap is not None and book is not None:
        if book.find(name) is None:
            book.set_cap(name, cap)  # type: ignore[arg-type]
        else:
            found.append(
                Finding("warning", f"'{name}' keeps its cap. Change it with: pointveil ledger cap '{name}' EPSILON")
            )
    said = [CHARGED_BEFORE] * (kept is not None and not kept.stopped) + [
        each.text for each in found if each.level == "warning"
    ]
    return Order(chosen, target, book, named, facts, drawn_with, vault, tuple(said), states=states)


def survey(
    vault: Vault, method: str | Method = DEFAULT_METHOD, *, ledger: Ledger | None = None, small: bool = False
) -> Survey:
    """Ask the vault everything that the method needs, and spend all that is left in it.

    What comes back holds no real point: it may be saved, mailed, and drawn from any number of times. The total is
    asked first. If it is hardly more than noise, nothing else is asked, and StoppedError raised.

    Parameters
    ----------
    vault
        The real points, with the epsilon that may be spent on them.
    method
        A name from `METHODS`, or a `Method` of your own.
    ledger
        The vault's ledger, if each answer shall be kept there before anything is made of it.
    small
        Go on even if the noisy total is hardly more than noise.

    Examples
    --------
    >>> vault = pv.Vault.open("people.parquet", pv.World.read("helsinki.gpkg"), epsilon=1)
    >>> pv.survey(vault, "agrid-uni")
    <Survey: agrid-uni, epsilon 1, protects one point, 3 answers>
    """
    if not hasattr(vault, "left"):
        raise InputError("Open the points first, with Vault.open(points, world, epsilon=1), or use release.")
    chosen = find_method(method)
    check_world(chosen, vault.world)
    if vault.left <= 0:
        raise BudgetError("Nothing is left in this vault: its epsilon was spent. Open a new one to ask again.")
    recorder = Recorder(vault, ledger=ledger)

    def stop_if_noise(total: NoisyCounts) -> None:
        if not small and not vault.rehearsal and is_noise(total):
            vault.stop()
            raise StoppedError(_why_stopped(total))

    prepared = ask_all(recorder, vault.world, chosen, vault.left, vault.keep, told=stop_if_noise)
    used = {
        "method": MethodUsed(name=chosen.name, parameters=chosen.parameters, split=chosen.split_texts()),
        "edition": edition(chosen.edition),
        "post_processing": (*chosen.post_processing, *_said_of(vault.keep), *LAST_STEPS, *[WENT_ON] * small),
    }
    statement = vault.statement.model_copy(update=used)
    done = Survey(vault.world, chosen, tuple(recorder.answers), statement, vault.layout).bound()
    done.__dict__["prepared"] = prepared  # known already: no need to work it out again
    log.info("Working out margins")
    return with_margins(done)


def _said_of(keep: tuple[Column, ...]) -> Iterator[str]:
    """Yield what a statement says of how the kept columns come out."""
    if any(column.size for column in keep):
        yield from KEEPING
    for column in keep:
        if isinstance(column, Time) and column.resolution in PATTERNS:
            yield (
                f"kept column '{column.name}': only the {column.resolution.replace('-', ' ')} is kept; a date that is "
                f"written with it lies in the first {column.resolution[8:]} of the period, and says nothing"
            )
        elif isinstance(column, Id):
            yield f"kept column '{column.name}': invented ids, another in every row; they link nothing"


def draw(survey: Survey | str | PathLike[str], *, count: int | None = None, seed: int | None = None) -> SyntheticPoints:
    """Draw synthetic points; costs nothing, and the same seed gives the same points.

    Parameters
    ----------
    survey
        What is known: from the vault, or the file with it.
    count
        Number of points to draw; by default the noisy total.
    seed
        Any whole number. Without it, every drawing is another.

    Examples
    --------
    >>> vault = pv.Vault.open("people.parquet", pv.World.read("helsinki.gpkg"), epsilon=1)
    >>> answers = pv.survey(vault)
    >>> len(pv.draw(answers, count=500, seed=1))
    500
    """
    check_drawing(count, seed)
    if not isinstance(survey, Survey):
        survey = Survey.read(Path(survey))
    survey.check()
    counted, asked, laws, _ = survey.prepared
    wanted = min(counted.total, MOST_POINTS) if count is None else count
    statement = survey.statement
    if count is not None:
        statement = statement.model_copy(update={"post_processing": (*statement.post_processing, ROWS_CHOSEN)})
    rng = np.random.default_rng(secrets.randbits(64) if seed is None else seed)
    xy = survey.method.placement.draw(survey.world, counted, asked, wanted, rng)
    drawn = [] if laws is None else draw_codes(laws, xy, rng)
    coordinates = to_lattice(xy, survey.world, survey.layout.crs, rng)
    kept = keep_columns(survey.keep, drawn, survey.layout, rng, count=len(coordinates))
    return SyntheticPoints(coordinates, survey.layout, statement, kept)


def synthesize(
    vault: Vault,
    method: str | Method = DEFAULT_METHOD,
    *,
    count: int | None = None,
    seed: int | None = None,
    small: bool = False,
) -> SyntheticPoints:
    """Survey the vault and draw once.

    Parameters
    ----------
    vault, method, small
        As for `survey`.
    count, seed
        As for `draw`; the noise is never seeded.

    Examples
    --------
    >>> vault = pv.Vault.open("people.parquet", pv.World.read("helsinki.gpkg"), epsilon=1)
    >>> pv.synthesize(vault, "road", count=100)
    <SyntheticPoints: 100 points in EPSG:4326, epsilon 1, protects one point>
    """
    check_drawing(count, seed)
    return draw(survey(vault, method, small=small), count=count, seed=seed)


def is_noise(total: NoisyCounts) -> bool:
    """Tell whether a noisy total is below three standard deviations of its own noise."""
    return float(total.values.sum()) < NOISE_DEVIATIONS * _deviation(total)


def _deviation(total: NoisyCounts) -> float:
    return math.sqrt(total.variance * len(total.values))


def _why_stopped(total: NoisyCounts) -> str:
    return (
        f"Stopped: about {int(total.values.sum()):,} points seem to be on the land of this world, and the noise of "
        f"that number is ±{_deviation(total):,.0f}. Nothing was written. Are columns, crs, world and person "
        "right? If they are, take a larger epsilon, or say beforehand that it may be so few: --small (small=True)."
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
    private = stays["the private file itself"]
    if private is not None and private.is_dir() and target.resolve().is_relative_to(private.resolve()):
        raise InputError(f"{target.name} would lie in the private folder {private.name}. Give another place for it.")
    refuse_same(statement_path(target), stays)
    return target


def _user() -> str:
    """Return the name of whoever runs this, for the log."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "unknown"


def _warn(sentences: Iterable[str]) -> None:
    for sentence in sentences:
        warnings.warn(sentence, PointveilWarning, stacklevel=3)


def _doubts(surveyed: Survey, noisy_total: int | None) -> Iterator[str]:
    """Yield what to know about a release, from its noisy answers alone."""
    statement = surveyed.statement
    if noisy_total is not None and noisy_total * Fraction(statement.guarantee.epsilon) < ALMOST_NONE:
        yield "Hardly any point is on the land of this world. Are columns, crs and person right?"
    if "shape" in set(surveyed.method.purposes) - {question.purpose for question in statement.questions}:
        yield COARSE


def to_lattice(xy: NDArray[np.float64], world: World, crs: str, rng: np.random.Generator) -> NDArray[np.float64]:
    """Turn points into coordinates on the public lattice of `crs`, all on land, in place.

    Snapping may push a point at the water's edge over it, by less than a step; then a step next to it is taken. A point
    that finds no land within reach of its place is put onto the place of another.
    """
    metres = world.projection
    there, back = transform(metres.crs, crs), transform(crs, metres.crs)

    def dry(coordinates: NDArray[np.float64]) -> NDArray[np.bool_]:
        return world.on_land(metres.to_metres(back(coordinates)))

    coordinates, on_land = xy, np.empty(len(xy), dtype=bool)  # in place: there may be many
    for block in blocks(len(xy), BLOCK):
        coordinates[block] = snap(there(metres.from_metres(xy[block])), crs)
        on_land[block] = dry(coordinates[block])
    wet = np.flatnonzero(~on_land)
    for step in NEARBY / steps_per_unit(crs):
        if not len(wet):
            return coordinates
        moved = snap(coordinates[wet] + step, crs)
        found = dry(moved)
        coordinates[wet[found]] = moved[found]
        wet = wet[~found]
    others = np.setdiff1d(np.arange(len(coordinates)), wet)
    if not len(others):
        return coordinates[others]
    coordinates[wet] = coordinates[rng.choice(others, len(wet))]
    return coordinates
