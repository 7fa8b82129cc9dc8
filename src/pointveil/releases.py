"""From private points to a release: check, charge, ask, draw, write, finish."""

from __future__ import annotations

import logging
import secrets
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pointveil.cells.arrays import blocks
from pointveil.errors import BudgetError, InputError, PointveilError, PointveilWarning
from pointveil.files.crs import crs_name, known_crs, transform
from pointveil.files.lattice import snap, steps_per_unit
from pointveil.files.whole import check_room, check_target, refuse_existing, refuse_same
from pointveil.ledger import OWN, Ledger, Own, open_ledger
from pointveil.methods import DEFAULT_METHOD, Method, find_method
from pointveil.statement import MethodUsed, SigningKey, find_key
from pointveil.surveys import Recorder, Survey, edition, in_words, pack
from pointveil.synthetic import SyntheticPoints, check_crs, check_format, check_release, statement_path
from pointveil.vault import Vault, exact_epsilon
from pointveil.world import World

MOST_POINTS = 2**31 - 2
BLOCK = 2**16  # points at a time: the work stays in the processor's cache
# (48, 2) the lattice steps around a point, the nearest first, in a fixed order.
NEARBY = np.array(sorted(product(range(-3, 4), repeat=2), key=lambda step: max(map(abs, step)))[1:], dtype=np.float64)
LAST_STEPS = ("coordinates snapped to the public lattice", "order shuffled")
USUAL_EPSILON = 10  # above this a promise is hardly one
ALMOST_NONE = 100  # points times epsilon below which noise is all there may be: the number of points is itself noisy
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
    noise: str = "exact",
    ledger: Ledger | str | PathLike[str] | Own | None = OWN,
    dataset: str | None = None,
    request: str | None = None,
    count: int | None = None,
    seed: int | None = None,
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
    noise
        "exact" (our own sampler) or "opendp" (needs that extra).
    ledger, dataset
        Where epsilon is charged, and under which name (default: the file's). By default your own ledger; with None
        nothing is charged, and the statement says so.
    request
        A name for this request: repeated, it gives the same release, or goes on with it, at no further cost. A release
        without one is given a name, which an error tells.
    count, seed
        Number of points to draw (default: the noisy total), and the seed of the drawing; the noise has none.
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
        source, world, epsilon=epsilon, output=output, form=check_format(Path(output)), method=method, split=split,
        columns=columns, crs=crs, person=person, max_points=max_points, noise=noise, ledger=ledger, dataset=dataset,
        request=request, count=count, seed=seed, key=signing, force=force,
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
        surveyed.write(order.output, key=signing, force=True, ready=order.record)
    _warn(_doubts(surveyed, None))
    return surveyed


@dataclass
class Order:
    """A release that may be made: everything public was checked, and nothing is charged until it is answered."""

    method: Method
    output: Path
    ledger: Ledger | None
    request: str  # its name, from the owner or made up
    facts: dict[str, Any]  # everything that decides what is released
    seed: int  # of its drawing
    asked: Vault | Survey  # the vault to ask; or, for a request that was answered before, the survey of that time
    warnings: tuple[str, ...]  # what the owner should know before anything is charged, in sentences
    entry: int | None = None  # the charge in the ledger, once there is one

    def answer(self) -> Survey:
        """Charge and ask, or give the earlier answer again; when this returns, the ledger has all of it."""
        if isinstance(self.asked, Survey):
            return self.asked
        log.info("Asking the vault")
        surveyed = survey(self.asked, self.method, ledger=self.ledger)
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
    noise: str = "exact",
    ledger: Ledger | str | PathLike[str] | Own | None = OWN,
    dataset: str | None = None,
    request: str | None = None,
    count: int | None = None,
    seed: int | None = None,
    key: SigningKey | None = None,
    force: bool = False,
) -> Order:
    """Check everything public, before anything is charged."""
    if isinstance(source, World):
        raise InputError("The private points come first, then the world.")
    book = open_ledger(ledger)
    target = check_output(output, source=source, world=world, ledger=book, key=key)
    check_drawing(count, seed)
    check_room(target, LEAST_ROOM + ROOM_PER_POINT * (count or 0), target.name, statement_path(target).name)
    log.info("Reading the public world")
    place = world if isinstance(world, World) else World.read(world)
    chosen = find_method(method) if split is None else find_method(method).with_split(split)
    check_world(chosen, place)
    exact, most = exact_epsilon(epsilon), check_person(person, max_points)
    if request is not None and book is None:
        raise InputError("A request is repeated from the ledger. Give a ledger, or leave the request out.")
    path = _path(source)
    name = dataset or ("frame" if path is None else path.name)
    facts: dict[str, Any] = {
        "form": form,
        "source": type(source).__qualname__ if path is None else path.name,
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
        "edition": in_words(edition(chosen.edition)),
    }
    kept = book.find_request(request, facts) if book is not None and request is not None else None
    own = frozenset() if kept is None else kept.written
    if form == "survey":
        refuse_existing(target, force=force, own=own)
    else:
        check_release(target, force=force, own=own)
    named = request or f"release-{secrets.token_hex(4)}"
    if kept is not None and kept.survey is not None:
        try:
            before = Survey.from_record(kept.survey, kept.answers, place)
        except ValueError as fault:
            raise InputError(f"The release of request {request!r} cannot be given again: {fault}.") from None
        return Order(chosen, target, book, named, facts, kept.seed, before, (ANSWERED_BEFORE,), kept.entry)
    drawn_with = secrets.randbits(62) if seed is None else seed
    vault = Vault.open(
        source, place, epsilon=exact, columns=columns, crs=crs, person=person, max_points=most, noise=noise,
        ledger=book, dataset=name, request=named, purpose=facts, seed=drawn_with,
    )  # fmt: skip
    if book is not None:
        book.check_writable()
        check_room(book.path, LEAST_ROOM)
    left_out = vault.layout.left_out
    cautions = {
        CHARGED_BEFORE: kept is not None,
        f"epsilon {exact} promises very little. Most releases use 1 or less.": exact > USUAL_EPSILON,
        f"Left out of the synthetic file: {', '.join(left_out)} (only places are synthesized).": left_out,
    }
    said = tuple(sentence for sentence, fits in cautions.items() if fits)
    return Order(chosen, target, book, named, facts, drawn_with, vault, said)


def survey(vault: Vault, method: str | Method = DEFAULT_METHOD, *, ledger: Ledger | None = None) -> Survey:
    """Ask the vault everything that the method needs, and spend all that is left in it.

    What comes back holds no real point: it may be saved, mailed, and drawn from any number of times.

    Parameters
    ----------
    vault
        The real points, with the epsilon that may be spent on them.
    method
        A name from `METHODS`, or a `Method` of your own.
    ledger
        The vault's ledger, if each answer shall be kept there before anything is made of it.

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
    budget = chosen.budget(vault.left)
    recorder = Recorder(vault, ledger=ledger)
    counted = chosen.partitioner.divide(recorder, vault.world, budget)
    asked = chosen.placement.ask(recorder, vault.world, counted, budget)
    used = {
        "method": MethodUsed(name=chosen.name, parameters=chosen.parameters, split=chosen.split_texts()),
        "edition": edition(chosen.edition),
        "post_processing": (*chosen.post_processing, *LAST_STEPS),
    }
    statement = vault.statement.model_copy(update=used)
    done = Survey(vault.world, chosen, tuple(recorder.answers), statement, vault.layout).bound()
    done.__dict__["prepared"] = (counted, asked)  # known already: no need to work it out again
    return done


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
    counted, asked = survey.prepared
    wanted = min(counted.total, MOST_POINTS) if count is None else count
    rng = np.random.default_rng(secrets.randbits(64) if seed is None else seed)
    xy = survey.method.placement.draw(survey.world, counted, asked, wanted, rng)
    return SyntheticPoints(to_lattice(xy, survey.world, survey.layout.crs, rng), survey.layout, survey.statement)


def synthesize(
    vault: Vault, method: str | Method = DEFAULT_METHOD, *, count: int | None = None, seed: int | None = None
) -> SyntheticPoints:
    """Survey the vault and draw once.

    Parameters
    ----------
    vault, method
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
    return draw(survey(vault, method), count=count, seed=seed)


def check_output(
    output: str | PathLike[str],
    *,
    source: Any = None,
    world: Any = None,
    ledger: Ledger | None = None,
    key: SigningKey | None = None,
) -> Path:
    """Refuse, before anything is charged, an output whose directory is missing, or that is a file which must stay."""
    target = check_target(Path(output))
    stays = {
        "the private file itself": _path(source),
        "the file of the world": _path(world),
        "the ledger": None if ledger is None else ledger.path,
        "a part of the ledger": None if ledger is None else ledger.path.with_name(f"{ledger.path.name}-wal"),
        "the signing key": None if key is None else key.path,
        "the public key": None if key is None else key.public_path,
    }
    refuse_same(target, stays)
    refuse_same(statement_path(target), stays)
    return target


def _path(given: Any) -> Path | None:
    return Path(given) if isinstance(given, str | PathLike) else None


def check_person(person: str | None, max_points: int | None) -> int:
    """Return how many points of one person are used."""
    if person is None and max_points is not None:
        raise InputError("--max-points (max_points=) needs --person (person=), the column with the person's id.")
    if max_points is not None and max_points < 1:
        raise InputError(f"--max-points (max_points=) must be at least 1, not {max_points}.")
    return 8 if max_points is None else max_points


def check_drawing(count: int | None, seed: int | None) -> None:
    """Refuse, before anything is spent, a number of points or a seed that makes no sense."""
    for what, value in {"number of points": count, "seed": seed}.items():
        if value is not None and not isinstance(value, int | np.integer):
            raise InputError(f"The {what} must be a whole number, not {value!r}.")
    if count is not None and not 0 <= count <= MOST_POINTS:
        raise InputError(f"The number of points must lie between 0 and {MOST_POINTS:,}, not {count:,}.")
    if seed is not None and seed < 0:
        raise InputError(f"The seed must not be negative, and is {seed}.")


def check_world(method: Method, world: World) -> None:
    """Refuse, before anything is spent, a method whose parts do not fit or that the public world cannot serve."""
    method.shares()
    if method.needs_roads and world.roads is None:
        raise InputError(
            f"The method '{method.name}' needs roads, and this world has none. Make it with --roads (roads=)."
        )


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
