"""From private points to a release: check, charge, ask, draw, write, finish."""

from __future__ import annotations

import logging
import math
import secrets
from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pointveil.asking import ask_all
from pointveil.cells.arrays import blocks
from pointveil.cells.side_by_side import check_threads, side_by_side
from pointveil.checking import MOST_POINTS, check_drawing, check_world
from pointveil.columns import DROP, PATTERNS, Column, Id, Time
from pointveil.errors import BudgetError, InputError, StoppedError
from pointveil.files.crs import is_geographic, short_name
from pointveil.files.memory import return_memory
from pointveil.keeping import draw_codes
from pointveil.landing import to_lattice
from pointveil.ledger import Ledger
from pointveil.margins import with_margins
from pointveil.methods import DEFAULT_METHOD, Method, find_method
from pointveil.orders import Order, prepare
from pointveil.parts import Parts, joined
from pointveil.quiet import warn
from pointveil.statement import MethodUsed, OperatorStates, Statement
from pointveil.surveys import Recorder, Survey, edition, pack
from pointveil.synthetic import SyntheticPoints, check_crs, keep_columns
from pointveil.terms import ReleaseTerms, SurveyTerms, on
from pointveil.vault import NO_GATHERING, NoisyCounts, Vault

DRAWN_AT_ONCE = 2**21  # points, at most: more are drawn in blocks, each with a generator of its own
BLOCKS_PER_PART = 2  # of so many points, where executors draw
WENT_ON = "not stopped, however small the noisy total: the operator said so beforehand (small)"
ROWS_CHOSEN = "rows chosen by the operator (count), and not the noisy total"
KEEPING = (
    "kept columns: tables denoised by shrinkage towards independence of place, made non-negative, fitted to each other",
    "kept columns: values given to points along a space-filling curve, even inside each bin",
)
LAST_STEPS = ("coordinates snapped to the public lattice", "order shuffled")
ALMOST_NONE = 100  # points times epsilon below which noise is all there may be: the number of points is itself noisy
NOISE_DEVIATIONS = 3  # of its own noise, below which a total stops a release
COARSE = (
    "The map is coarse: few people for this epsilon. A larger epsilon, or fewer points of a person (--max-points, "
    "max_points=), may show more."
)
TOO_FEW = (
    "There are too few persons to tell how many points they have: each counts as at most {points} points, and the rows "
    "are as many as these. Hardly more than noise may be left of the map."
)
log = logging.getLogger("pointveil")


@on(ReleaseTerms)
def release(terms: ReleaseTerms) -> SyntheticPoints:
    """Make a synthetic file of private points, charged to the ledger, with a signed statement beside it.

    Everything public is checked first. Then the whole epsilon is charged, durably, before any question is asked. Each
    answer is kept in the ledger before anything is made of it: whatever happens then, what was paid for is not lost.

    Parameters
    ----------
    source
        The private points: a path, an Arrow table, or a pandas, polars, geopandas or Spark frame.
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
        Column with the person's id, to protect people instead of single points; a person counts as at most `max_points`
        points, by default ("auto") as many as noisy numbers of points suggest.
    unit
        "point" confirms that single points are to be protected where a column looks as if it said whose they are.
    keep
        The columns to keep beside the place: `Time`, `Category`, `Number` or `Id`, or texts as for --keep.
    prior
        What is already public about where people are, to guide `veil`, at no cost: see `with_prior`. Never give private
        points here that were not paid for.
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
        The most that may ever be spent on this dataset, for its first release (default: 3); later ones keep it.
    owner, purpose, period, note
        Who answers for the release, what it is for, which period the data are about, and anything else: recorded in
        the ledger and in the statement, as what the operator states.
    key
        The private key that signs the statement. By default your own, if you have one; with None it is not signed.
    engine, master
        "spark" has a cluster read the files and draw, if the output is a folder, its parts: the cluster at this master,
        or of this process' session. A Spark frame is always read where it is.
    force
        Replace the output if it exists. The file that the same request wrote before may always be written again.
    threads
        How many batches are worked on at the same time (default: as many as there are processors). The release does
        not depend on it.

    Examples
    --------
    >>> made = pv.release("people.parquet", "helsinki.gpkg", epsilon=1, output="synthetic.parquet", count=500)
    >>> pv.verify("synthetic.parquet").statement == made.statement
    True
    """
    order = prepare(terms)
    check_crs(order.output, order.asked.layout, order.asked.world)
    _warn(order.warnings)
    with order.accounted():
        surveyed = answer(order)
        log.info("Drawing points")
        if order.session is not None:
            parts = draw_apart(surveyed, order.session, count=order.count, seed=order.seed)
            written = parts.write(Path(order.output), key=order.key, ready=order.record)
        else:
            surveyed.__dict__["prepared"] = surveyed.prepared._replace(parts=())  # for margins, which are known
            beside = order.output.parent if isinstance(order.output, Path) else None
            drawn = _drawn(surveyed, order.count, order.seed, terms.threads, beside)
            log.info("Writing")
            statement = drawn.write(order.output, key=order.key, force=True, ready=order.record)
            written = drawn.with_statement(statement)
    _warn(_doubts(surveyed, len(written) if order.count is None else None))
    return written


@on(SurveyTerms)
def release_survey(terms: SurveyTerms) -> Survey:
    """Make a survey of private points, charged to the ledger: points can be drawn from it later, at no cost.

    Parameters
    ----------
    source, world, epsilon
        As for `release`: the private points, the public world, and the privacy budget.
    output, key, force, threads
        The survey's file, the private key that signs its statement, whether to replace a file, and how many threads.
    method, split, columns, crs, person, max_points, unit, keep, prior, noise
        As for `release`: what is asked, and of what.
    ledger, dataset, request, small, cap, owner, purpose, period, note
        As for `release`: how it is accounted for.
    engine, master
        As for `release`: who reads the files.

    Examples
    --------
    >>> made = pv.release_survey("people.parquet", "helsinki.gpkg", epsilon=1, output="people.survey")
    >>> len(pv.draw(made, count=500, seed=7))
    500
    """
    order = prepare(terms)
    _warn(order.warnings)
    with order.accounted():
        surveyed = answer(order)
        log.info("Writing")
        surveyed.write(Path(order.output), key=order.key, force=True, ready=order.record)
    _warn(_doubts(surveyed, None))
    return surveyed


def answer(order: Order) -> Survey:
    """Charge and ask, or give the earlier answer again; when this returns, the ledger has all of it."""
    vault, ledger = order.asked, order.ledger
    if isinstance(vault, Survey):
        return vault
    log.info("Asking the vault")
    surveyed = _asked(vault, order.method, ledger=ledger, small=bool(order.facts["small"]))
    charge = vault.charge
    vault.close()  # before anything else is made of the answers, which takes memory, too
    surveyed = _with_margins(surveyed)
    if order.states:
        about = {"operator_states": OperatorStates(**order.states)}
        surveyed = replace(surveyed, statement=surveyed.statement.model_copy(update=about))
    if ledger is None or charge is None or charge.seed is None:
        return surveyed
    order.entry, order.seed = charge.entry, charge.seed
    ours = surveyed.to_record()
    kept = ledger.finish(charge.entry, survey=ours, seed=order.seed, output={})
    if kept == ours:
        return surveyed
    # The same request, at the same time, in another process: the first to finish is the answer.
    return Survey.from_record(kept, (pack(each) for each in surveyed.answers), surveyed.world)


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
    return _with_margins(_asked(vault, method, ledger=ledger, small=small))


def _asked(vault: Vault, method: str | Method, *, ledger: Ledger | None, small: bool) -> Survey:
    """Return all answers that the method needs, without margins."""
    chosen = find_method(method)
    check_world(chosen, vault.world)
    if getattr(chosen.placement, "gathers", False) and not vault.gathers:
        raise InputError(NO_GATHERING)
    if vault.left <= 0:
        raise BudgetError("Nothing is left in this vault: its epsilon was spent. Open a new one to ask again.")
    recorder = Recorder(vault, ledger=ledger)

    def stop_if_noise(total: NoisyCounts) -> None:
        if not small and not vault.rehearsal and is_noise(total):
            vault.stop()
            raise StoppedError(_why_stopped(total, vault))

    prepared = ask_all(recorder, vault.world, chosen, vault.left, vault.keep, told=stop_if_noise)
    used = {
        "method": MethodUsed(name=chosen.name, parameters=chosen.parameters, split=chosen.split_texts()),
        "edition": edition(chosen.edition, by_person=vault.by_person),
        "people": prepared.people,
        "post_processing": (*chosen.post_processing, *_said_of(vault.keep), *LAST_STEPS, *[WENT_ON] * small),
    }
    statement = vault.statement.model_copy(update=used)
    done = Survey(vault.world, chosen, tuple(recorder.answers), statement, vault.layout).bound()
    done.__dict__["prepared"] = prepared  # known already: no need to work it out again
    return done


def _with_margins(surveyed: Survey) -> Survey:
    """Return it with what its statement says about margins, and say that this is being worked out."""
    log.info("Working out margins")
    return with_margins(surveyed)


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


def draw(
    survey: Survey | str | PathLike[str],
    *,
    count: int | None = None,
    seed: int | None = None,
    threads: int | None = None,
) -> SyntheticPoints:
    """Draw synthetic points; costs nothing, and the same seed gives the same points.

    Many are drawn in blocks of up to two million, several at the same time, and laid aside in a temporary file until
    they are written or looked at.

    Parameters
    ----------
    survey
        What is known: from the vault, or the file with it.
    count
        Number of points to draw; by default the noisy total.
    seed
        Any whole number. Without it, every drawing is another.
    threads
        How many blocks are drawn at the same time (default: as many as there are processors); the points are the same.

    Examples
    --------
    >>> vault = pv.Vault.open("people.parquet", pv.World.read("helsinki.gpkg"), epsilon=1)
    >>> answers = pv.survey(vault)
    >>> len(pv.draw(answers, count=500, seed=1))
    500
    """
    check_drawing(count, seed)
    return _drawn(survey if isinstance(survey, Survey) else Survey.read(Path(survey)), count, seed, threads)


def _drawn(
    survey: Survey, count: int | None, seed: int | None, threads: int | None, folder: Path | None = None
) -> SyntheticPoints:
    """Draw; what does not fit into one block is laid aside in a file without a name, in this folder."""
    survey.check()
    wanted, statement = _to_draw(survey, count)
    rng = np.random.default_rng(secrets.randbits(64) if seed is None else seed)
    if wanted <= DRAWN_AT_ONCE:
        coordinates, kept = _draw_block(survey, (slice(0, wanted), rng))
        return SyntheticPoints(coordinates, survey.layout, statement, kept)
    side = check_threads(threads)
    return_memory()  # that margins took
    parts = _blocks(wanted)
    chunks = side_by_side(partial(_draw_block, survey), zip(parts, rng.spawn(len(parts)), strict=True), side)
    return SyntheticPoints.laid_aside(chunks, survey.layout, statement, folder)


def draw_apart(survey: Survey, session: Any, *, count: int | None, seed: int) -> Parts:
    """Return the same drawing in parts that executors make; each attempt makes the generators of its blocks anew."""
    survey.check()
    wanted, statement = _to_draw(survey, count)
    drawn = _blocks(wanted)

    def one(number: int) -> SyntheticPoints:
        places = range(len(drawn))[number * BLOCKS_PER_PART : (number + 1) * BLOCKS_PER_PART]
        # The generators that `spawn` would give, as above.
        seeds = [np.random.SeedSequence(seed, spawn_key=(place,)) if len(drawn) > 1 else seed for place in places]
        given = zip([drawn[place] for place in places], map(np.random.default_rng, seeds), strict=True)
        made = [_draw_block(survey, each) for each in given]
        return joined([SyntheticPoints(places, survey.layout, statement, kept) for places, kept in made])

    return Parts(one, -(-len(drawn) // BLOCKS_PER_PART), session, survey.layout, statement)


def _blocks(wanted: int) -> list[slice]:
    """Return the blocks in which so many points are drawn: one, or an even number alike, so that two threads end so."""
    if wanted <= DRAWN_AT_ONCE:
        return [slice(0, wanted)]
    return list(blocks(wanted, -(-wanted // (2 * -(-wanted // (2 * DRAWN_AT_ONCE))))))


def _to_draw(survey: Survey, count: int | None) -> tuple[int, Statement]:
    """Return how many points to draw, and a statement that says so."""
    total = survey.prepared.rows  # worked out here, once
    if count is None:
        return min(total, MOST_POINTS), survey.statement
    chosen = {"post_processing": (*survey.statement.post_processing, ROWS_CHOSEN)}
    return count, survey.statement.model_copy(update=chosen)


def _draw_block(survey: Survey, given: tuple[slice, np.random.Generator]) -> tuple[NDArray[np.float64], Any]:
    (counted, asked, laws, *_), (block, rng) = survey.prepared, given
    xy = survey.method.placement.draw(survey.world, counted, asked, block.stop - block.start, rng)
    drawn = [] if laws is None else draw_codes(laws, xy, rng)
    coordinates = to_lattice(xy, survey.world, survey.layout.crs, rng)
    kept = keep_columns(survey.keep, drawn, survey.layout, rng, count=len(coordinates), first=block.start)
    return coordinates, kept


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


def _why_stopped(total: NoisyCounts, vault: Vault) -> str:
    """Return the likely causes, from the noisy total and public facts."""
    layout, what = vault.layout, "persons" if vault.by_person else "points"
    named = "" if layout.x is None else f", with x = {layout.x!r} and y = {layout.y!r}"
    read, otherwise = ("as degrees", "metres or feet") if is_geographic(layout.crs) else ("in", "degrees")
    return (
        f"Stopped: about {max(int(total.values.sum()), 0):,} {what} seem to be on the land of this world, which is "
        f"less than {NOISE_DEVIATIONS} times the noise of that number, ±{_deviation(total):,.0f}. Nothing was written. "
        f"The points were read {read} {short_name(layout.crs)}{named}. If they are {otherwise}, or in another CRS, say "
        f"so with --crs (crs=); if x and y are swapped, with --columns (columns=). {_dropped(vault.statement)}Do the "
        f"world, around {vault.world.place}, and the person column belong to these data? If all is right, take a "
        "larger epsilon, or say beforehand that it may be so few: --small (small=True)."
    )


def _dropped(statement: Statement) -> str:
    """Return for which kept columns records may have been dropped, as a sentence and a space."""
    names = ", ".join(repr(column["name"]) for column in statement.columns if column.get("other") == DROP)
    return f"Records whose {names} cannot be read as declared were dropped. " if names else ""


def _warn(sentences: Iterable[str]) -> None:
    for sentence in sentences:
        warn(sentence, stacklevel=4)  # whoever called release


def _doubts(surveyed: Survey, noisy_total: int | None) -> Iterator[str]:
    """Yield what to know about a release, from its noisy answers alone."""
    statement = surveyed.statement
    people = statement.people
    if people is not None and people.max_points_from.startswith("a public default"):
        yield TOO_FEW.format(points=people.max_points)
    if noisy_total is not None and noisy_total * Fraction(statement.guarantee.epsilon) < ALMOST_NONE:
        yield "Hardly any point is on the land of this world. Are columns, crs and person right?"
    if "shape" in set(surveyed.method.purposes) - {question.purpose for question in statement.questions}:
        yield COARSE
