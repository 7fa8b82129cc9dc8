"""The vault: holds the real points, answers four questions, and pays before it answers."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from os import PathLike
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from pointveil.cells.side_by_side import check_threads
from pointveil.columns import Column, check_keep
from pointveil.engines import (
    AtMost,
    Engine,
    LocalEngine,
    NotOneByOneError,
    SparkEngine,
    Tally,
    fresh_key,
    locate_sites,
    refuse_copy,
)
from pointveil.errors import InputError
from pointveil.files.places import public_name
from pointveil.formats import DamagedError, Layout, PointSource, as_named, open_points
from pointveil.ledger import OWN, Charge, Ledger, Own, open_ledger
from pointveil.quiet import silence
from pointveil.statement import MOST_CELLS, Asked, Spend, Statement, describe
from pointveil.vault.account import Account, exact_epsilon
from pointveil.vault.answers import NoisyCounts, NoisyPoints
from pointveil.vault.cleaning import Cleaner
from pointveil.vault.kernel import scatter_tokens
from pointveil.vault.noise import NOISES, secure_words
from pointveil.vault.protection import Protection
from pointveil.vault.questions import Cells, Share, Sites
from pointveil.world import World

if TYPE_CHECKING:
    from pointveil.vault.rehearsal import Rehearsal

MOST_RECORDS = 2**53  # of one person, to which their numbers are exact in any arithmetic
NO_GATHERING = (
    "A cluster counts points and never gathers them, so it cannot blur them one by one as this method does. Take a "
    "method without a kernel, such as veil; or files, with the engine of this machine."
)
NOT_KEPT = (
    "A request with a seed is charged once, however often it is asked, so its answers must be kept in the ledger. "
    "Leave the seed out, and each time is charged; or use release."
)
MOST_BASE = 2**24  # cells of a raster whose counts are held, 8 bytes each
Answer = TypeVar("Answer")
Held = dict[Any, tuple[Any, NDArray[np.int64]]]  # what was asked about, and exact counts, by what they answer


class Vault:
    """The only thing that holds real points; made with `Vault.open`.

    It has no length, cannot be iterated, copied or pickled, and shows nothing but its budget.
    Four questions may be asked, `count`, `crowding`, `scatter` and, of persons, `persons`. Each is charged first, then
    asked, then answered with noise.

    Examples
    --------
    >>> vault = pv.Vault.open("people.parquet", pv.World.read("helsinki.gpkg"), epsilon="1/2")
    >>> vault
    <Vault: epsilon 1/2, 1/2 left, protects one point>
    """

    __slots__ = (
        "__account",
        "__book",
        "__charge",
        "__engine",
        "__held",
        "__is_paid",
        "__keep",
        "__keeps_next",
        "__ledger",
        "__lock",
        "__must_keep",
        "__noise",
        "__protection",
        "__release",
        "__words",
        "__world",
    )
    __iter__ = None

    def __init__(
        self,
        engine: Engine,
        world: World,
        account: Account,
        protection: Protection,
        *,
        keep: tuple[Column, ...] = (),
        noise: str = "exact",
        words: Callable[[int], NDArray[np.uint64]] = secure_words,
        ledger: Callable[[bytes | None], Charge | None] | None = None,
        book: Ledger | None = None,
        must_keep: bool = False,
    ) -> None:
        if noise not in NOISES:
            raise InputError(f"noise must be one of {', '.join(NOISES)}, not {noise!r}.")
        self.__engine, self.__world, self.__account, self.__protection = engine, world, account, protection
        self.__keep, self.__noise, self.__words, self.__ledger, self.__book = keep, noise, words, ledger, book
        if words is not secure_words and not self.rehearsal:
            raise InputError("Only a rehearsal may take its randomness from elsewhere than the operating system.")
        self.__must_keep, self.__keeps_next, self.__is_paid = must_keep, False, False
        self.__charge: Charge | None = None
        self.__held: Held = {}  # the exact counts of the last reading
        self.__release, self.__lock = secrets.token_hex(16), threading.Lock()

    @classmethod
    def open(
        cls,
        source: Any,
        world: World,
        *,
        epsilon: object,
        columns: tuple[str, str] | None = None,
        crs: str | None = None,
        person: str | None = None,
        max_points: int | None = None,
        keep: Any = (),
        noise: str = "exact",
        ledger: Ledger | str | PathLike[str] | Own | None = OWN,
        dataset: str | None = None,
        request: str | None = None,
        purpose: dict[str, Any] | None = None,
        seed: int | None = None,
        threads: int | None = None,
        engine: str = "local",
        master: str | None = None,
    ) -> Vault:
        """Open a vault on a file or frame of private points.

        Parameters
        ----------
        source
            A path, an Arrow table, or a pandas, polars or geopandas frame.
        world
            The public boundary, water and roads. Points outside, or in water, are dropped without a word.
        epsilon
            What may be spent, in all: a number, a Fraction, or a text such as "1/3".
        columns
            The names of the columns with x (longitude) and y (latitude), if they cannot be guessed.
        crs
            The coordinate system of the points, if the file does not say: EPSG:4326 otherwise.
        person, max_points
            The column that says whose point it is, and what one person may count for, in points. If that is left
            out, `persons` must be asked first, and `use_at_most` be told what follows from the answer.
        keep
            The columns to keep beside the place: `Time`, `Category`, `Number` or `Id`, or texts as for --keep.
        noise
            "exact" (our own sampler, proved in noise.md) or "opendp" (needs that extra).
        ledger, dataset, request, purpose
            Where the whole epsilon is charged, durably, before the first question is answered (by default your own
            ledger; with None nothing is charged, and the statement says so); under which name; and what to write
            down with it.
        seed
            Only for who keeps every answer in the ledger before anything is made of it, as `release` does: such a
            request is charged once, so a vault that is asked without refuses to answer.
        threads
            How many batches of records are worked on at the same time (default: as many as there are processors). No
            answer depends on it.
        engine, master
            "spark" has a cluster read the files: the one at this master, or of this process' session.
        """
        spendable = exact_epsilon(epsilon)
        protection = Protection() if person is None else Protection(max_points, person)
        keep = check_keep(keep)
        points = open_points(source, columns=columns, crs=crs, person=person, keep=keep, engine=engine, master=master)
        reading = make_engine(points, world, protection, threads=threads)
        pay: Callable[[bytes | None], Charge | None] | None = None
        book = open_ledger(ledger)
        if book is not None:
            name = dataset or public_name(as_named(source))
            facts = {**(purpose or {}), "prior": {} if world.prior is None else world.prior.facts}

            def pay(content: bytes | None) -> Charge:
                return book.charge(
                    dataset=name, content=content, alike=reading.alike, epsilon=spendable, purpose=facts,
                    request=request, seed=seed,
                )  # fmt: skip

        elif (prior := world.prior) is not None:

            def pay(content: bytes | None) -> None:
                refuse_copy(prior, (content, *reading.alike))

        return cls(
            reading, world, Account(spendable), protection, keep=points.keep, noise=noise, ledger=pay,
            book=book, must_keep=None not in (book, request, seed),
        )  # fmt: skip

    @classmethod
    def rehearse(cls, source: Any, world: World, *, epsilon: object, seed: int, **options: Any) -> Rehearsal:
        """Open a rehearsal: the same answers with noise that can be repeated, stamped "not private".

        For tests and experiments. A rehearsal takes no ledger, and its statement says what it is.
        """
        from pointveil.vault.rehearsal import Rehearsal

        return Rehearsal.make(source, world, epsilon=epsilon, seed=seed, **options)

    def count(self, cells: Cells, share: Share) -> NoisyCounts:
        """Answer with noise how many points are in each of these cells.

        Neighbours: add or remove one unit. Each point is in at most one cell, found by its own place and codes alone,
        so one point changes the answer by 1. A person has W votes for each point, but no more than W · k, which all of
        that person's points share; what is counted then is votes, and the sensitivity W · k (bounding.md). Integer
        Laplace noise with ratio exp(-epsilon / sensitivity) makes the answer epsilon-DP (noise.md).
        """
        return self._noisy("count", cells, share)

    def persons(self, ends: tuple[int, ...], share: Share) -> NoisyCounts:
        """Answer with noise how many persons have so many points, in bins that end at `ends`; the last holds the rest.

        Every person with a clean point is in exactly one bin, which that person's records alone decide. So adding or
        removing one changes one count by 1: the sensitivity is 1, whatever a person may count for (bounding.md).
        """
        rise = all(isinstance(end, int) for end in ends) and all(a < b for a, b in pairwise((0, *ends, MOST_RECORDS)))
        if not self.by_person or not ends or not rise:
            raise ValueError("Bins of persons need a person column, and ends that rise from at least 1.")
        return self._noisy("persons", tuple(ends), share)

    def use_at_most(self, points: int) -> None:
        """Let a person count as at most so many points; once, and from public facts or noisy answers alone."""
        with self.__lock:
            if self.__protection.points not in (None, points):
                raise ValueError("It was said before what a person may count for.")
            self.__protection = replace(self.__protection, points=points)
            self.__engine.use_at_most(points)

    def crowding(self, cells: Cells, least: int, share: Share) -> NoisyCounts:
        """Answer with noise how many points are in cells that hold at least `least` points: one number.

        One point more or less changes it by at most `least`: its cell may reach that size, and bring all its points at
        once. So the sensitivity is k · least, and the noise has the ratio exp(-epsilon / (k · least)) (noise.md). Of a
        person's points k are kept at random: votes could make a crowd of many cells at once.
        """
        if not (type(least) is int and least >= 1):
            raise ValueError("A crowd has a whole number of points, and at least one.")
        return self._noisy("crowding", cells, share, least)

    def _noisy(self, question: Asked, about: Any, share: Share, least: int = 1) -> NoisyCounts:
        """Pay, ask and add noise."""
        size, sensitivity = _checked_size(len(about)), self.__protection.sensitivity(question, least)
        law = NOISES[self.__noise](share.epsilon / sensitivity)
        self._spend(Spend(share.purpose, share.epsilon, question, size, sensitivity), (question, about))
        exact = self._exact(question, about)
        if question == "crowding":
            exact = exact.sum(where=exact >= least, keepdims=True)
        return NoisyCounts(exact + law.draw(len(exact), self.__words), share.purpose, share.epsilon, sensitivity)

    def scatter(self, regions: Sites, wanted: NDArray[np.int64], share: Share, *, max_uses: int = 1) -> NoisyPoints:
        """Answer roughly where in each region the points are.

        `wanted` points come back for each region, at most `max_uses` made from any one real point, each blurred
        with epsilon / (k · max_uses) (kernel.md); `wanted` must itself be public or noisy.
        """
        counts = regions.site_counts()
        size = _checked_size(len(counts))
        if max_uses < 1 or len(wanted) != size:
            raise ValueError("max_uses must be at least 1, and wanted must have one number for each region.")
        if not self.gathers:
            raise InputError(NO_GATHERING)
        points = self.__protection.sensitivity("scatter")
        self._spend(Spend(share.purpose, share.epsilon, "scatter", size, points))
        region, site = ask(
            lambda: scatter_tokens(
                *locate_sites(self.__engine, regions, counts),
                counts,
                np.asarray(wanted, dtype=np.int64),
                epsilon_per_use=share.epsilon / (points * max_uses),
                max_uses=max_uses,
                words=self.__words,
            ),
            self._paid,
        )
        return NoisyPoints(region, site, share.purpose, share.epsilon, points)

    @property
    def world(self) -> World:
        """The public knowledge this vault was opened with."""
        return self.__world

    @property
    def layout(self) -> Layout:
        """The form of the input file: format, column names, CRS. Nothing about its records."""
        return self.__engine.layout

    @property
    def crs(self) -> str:
        """The CRS of the input file."""
        return self.layout.crs

    @property
    def keep(self) -> tuple[Column, ...]:
        """The columns that are kept beside the place, as declared."""
        return self.__keep

    @property
    def epsilon(self) -> Fraction:
        """All that may be spent."""
        return self.__account.epsilon

    @property
    def left(self) -> Fraction:
        """What may still be spent."""
        return self.__account.left

    @property
    def by_person(self) -> bool:
        """Whether persons are protected, each with all their points."""
        return self.__protection.person is not None

    @property
    def max_points(self) -> int | None:
        """What a person may count for, in points; None as long as that is not known, 1 for a point."""
        return self.__protection.points

    @property
    def points_per_unit(self) -> int:
        """By how much one unit can change a count."""
        return self.__protection.sensitivity("count")

    @property
    def kept_per_unit(self) -> int:
        """How many points of a unit `crowding` and `scatter` look at."""
        return self.__protection.sensitivity("scatter")

    @property
    def gathers(self) -> bool:
        """Whether points can be blurred one by one, which takes a machine that may hold them all."""
        return self.__engine.gathers

    @property
    def rehearsal(self) -> bool:
        """Whether this is a rehearsal, whose answers are not private."""
        return False

    @property
    def statement(self) -> Statement:
        """What has been spent so far, on what, assuming what."""
        return describe(
            self.__account.spends,
            self.__protection,
            self.__world,
            release=self.__release,
            noise=self.__noise,
            charge=self.__charge,
            rehearsal=self.rehearsal,
            columns=tuple(column.to_dict() for column in self.__keep),
        )

    @property
    def charge(self) -> Charge | None:
        """The entry in the ledger, once the first question was asked."""
        return self.__charge

    def close(self) -> None:
        """Drop the points from memory; no question can be asked any more."""
        self.__held = {}
        self.__engine.forget()
        with self.__lock:  # what is just being paid counts as spent
            self.__account.close()

    def stop(self) -> None:
        """Ask nothing more, and give back to the ledger what was reserved for questions that were never asked.

        Whether to stop must follow from noisy answers alone. Then the loss of what was seen is at most the sum of the
        shares that were asked (docs/ledger.md, "Stopping early").
        """
        self.close()
        if self.__book is not None and self.__charge is not None:
            self.__book.stop(self.__charge.entry, self.__account.spent, len(self.__account.spends))

    @property
    def _paid(self) -> Fraction:
        """What stays paid if a question fails: all of it, where it is charged in advance."""
        return self.__account.spent if self.__book is None else self.epsilon

    def pay(self, first: tuple[Asked, Any] | None = None, *, keeps: Ledger | None = None) -> Charge | None:
        """Charge the whole epsilon to the ledger, if there is one and that was not done yet; one thread at a time.

        `keeps` is where the answer to the next question, and to that one alone, is kept before anything is made of it.
        The reading that finds out which account to charge also answers the first question, if it is told. The exact
        counts wait here, and are dropped if the charge is refused (docs/ledger.md, "One reading").
        """
        with self.__lock:
            if keeps not in (None, self.__book):
                raise InputError("Answers are kept in the ledger that the vault was opened with, and in no other.")
            self.__keeps_next = keeps is not None
            if self.__ledger is not None and not self.__is_paid:
                try:
                    counts, content = ask(
                        lambda: ({} if first is None else self._counts(*first), self.__engine.digest()), self._paid
                    )
                except (RuntimeError, MemoryError, NotOneByOneError):
                    # Whether the data could be read is an answer too, so it is paid for like any other: by name.
                    # Nothing more is asked: what is read next time would not have been charged by its content.
                    self.__account.close()
                    self.__charge, self.__is_paid = self.__ledger(None), True
                    raise
                try:
                    self.__charge = self.__ledger(content)
                except BaseException:
                    counts.clear()  # nobody sees them, not even in the error's own trace
                    raise
                self.__is_paid = True
                self.__held = counts
            return self.__charge

    def skip(self, share: Share, question: Asked, cells: int, least: int = 1) -> None:
        """Count a question as asked whose answer is in the ledger already."""
        sensitivity = self.__protection.sensitivity(question, least)
        self._spend(Spend(share.purpose, share.epsilon, question, cells, sensitivity))

    def _spend(self, spend: Spend, first: tuple[Asked, Any] | None = None) -> None:
        """Write the price down before anything is asked, in the ledger too, if there is one."""
        if self.__must_keep and not self.__keeps_next:
            raise InputError(NOT_KEPT)
        with self.__lock:
            self.__account.spend(spend)
        self.pay(first)

    def _exact(self, question: Asked, about: Any) -> NDArray[np.int64]:
        """Return how many are in each cell or bin; no error of working it out tells a number."""
        return ask(lambda: self._counted(question, about), self._paid)

    def _counted(self, question: Asked, about: Any) -> NDArray[np.int64]:
        """Return the same, from the last reading if it has counted them, or else from another.

        Every point is in at most one base cell, and that in at most one cell: so the sum over base cells is what a
        count of the cells themselves would be.
        """
        size, base = len(about), _counted_as(about)
        key = _key(question, base)
        held = self.__held.get(key)
        if held is None or len(held[0]) != len(base):
            self.__held = {}  # before the next ones are made
            self.__held = found = self._counts(question, about)
            held = found[key]
        if base is about:  # cells without a key are no others', and there may be many; a thread may have dropped them
            return held[1] if hasattr(about, "key") else self.__held.pop(key, held)[1]
        lies_in, counts = about.of_base, held[1]
        known = np.flatnonzero((lies_in >= 0) & (lies_in < size) & (counts != 0))
        # As floating-point numbers, counts below 2**53 are exact.
        return np.bincount(lies_in[known], weights=counts[known], minlength=size).astype(np.int64)

    def _counts(self, question: Asked, about: Any) -> Held:
        """Return the exact answer, and others that may be asked for next if that would mean another reading."""
        base = _counted_as(about)
        if question == "persons":
            return {_key(question, about): (about, self.__engine.persons(about))}
        more = getattr(base, "beside", ()) if getattr(self.__engine, "reads_again", True) else ()
        of_kept = question == "crowding"
        tallies = [Tally(each, _checked_size(len(each)), of_kept=of_kept) for each in (base, *more)]
        counts = self.__engine.sums(tallies)
        return {_key(question, tally.cells): (tally.cells, each) for tally, each in zip(tallies, counts, strict=True)}

    def __repr__(self) -> str:
        stamp = "Rehearsal, not private" if self.rehearsal else "Vault"
        return f"<{stamp}: epsilon {self.epsilon}, {self.left} left, protects {self.__protection.unit}>"

    def __array__(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("A vault is not an array: ask it to count.")

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("A vault cannot be copied or pickled: its points must stay where they are.")


def make_engine(
    points: PointSource,
    world: World,
    protection: Protection,
    make_key: Callable[[], bytes] = fresh_key,
    threads: int | None = None,
) -> Engine:
    """Return what reads, cleans and bounds the points."""
    at_most = None if protection.person is None else AtMost(protection.points, key=make_key())
    codes = tuple(column.codes for column in points.keep if column.size)
    cleaner = Cleaner.of(world, points.layout.crs)
    if points.cluster is not None:
        return SparkEngine(points, cleaner, at_most, codes)
    return LocalEngine(points, cleaner, at_most, codes, check_threads(threads))


def ask(question: Callable[[], Answer], paid: Fraction) -> Answer:
    """Return the exact answer; if it fails, say so without a word about the points, and let no value warn."""
    fault: Exception
    try:
        with np.errstate(all="ignore"), silence:
            return question()
    except MemoryError:
        # The text of the error would tell how many points there are.
        fault = MemoryError("There is not enough memory to answer the question; its price stays paid.")
    except (DamagedError, NotOneByOneError) as known:
        # These texts name a file or a rule, and no record.
        fault = type(known)(f"{known} Epsilon {paid} stays paid.")
    except Exception:  # noqa: BLE001 - whatever went wrong, its text may quote a point
        fault = RuntimeError("The question could not be answered; its price stays paid.")
    # Raised out here, so that it carries no trace of what went wrong, nor of the values at hand then.
    raise fault


def _counted_as(cells: Cells) -> Cells:
    """Return the finer cells that these are made of, if they are not too many to be held, or the cells themselves."""
    base = getattr(cells, "base", None)
    return cells if base is None or len(base) > MOST_BASE else base


def _key(question: Asked, about: Any) -> tuple[Asked, Any]:
    return question, about if question == "persons" else getattr(about, "key", id(about))


def _checked_size(size: int) -> int:
    if not 1 <= size <= MOST_CELLS:
        raise ValueError(f"A question may have between 1 and {MOST_CELLS:,} cells, not {size:,}.")
    return size
