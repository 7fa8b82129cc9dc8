"""Exact sums over records that a Spark cluster reads: the same kernel as here, in its tasks.

A task may be run twice, or its result be lost and made again. So nothing counts but what tasks return, each
task once.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar, NoReturn

import numpy as np
import pyarrow as pa

from pointveil.cells.arrays import Ints
from pointveil.engines.at_most import AtMost, Part
from pointveil.engines.base import NotOneByOneError, Tally
from pointveil.engines.likeness import Likeness
from pointveil.engines.local import Cleaning, InMetres, LocalEngine, Records, Voted, as_words, fingerprint, from_words
from pointveil.engines.siphash import Numbers
from pointveil.engines.spool import Spool
from pointveil.formats import Batch, DamagedError, Layout, PointSource
from pointveil.formats.base import regrouped
from pointveil.formats.spark import FAILED, Shipped, quietly, tasks
from pointveil.quiet import silence

COUNTS = "question int, part long, found binary"
PART = 1 << 10  # cells whose counts go together: Java takes longer over rows than over bytes
TOGETHER = 1 << 20  # cells that one task adds up
HERE = 1 << 23  # cells of all tasks, 16 bytes each, that the driver adds up
# In place of a question, or of a bucket:
PRINT = -1  # halves of the fingerprint
BUCKET = -2  # that a task had records of this bucket of persons
LIKE = -3  # cells of the sample by which copies are found
HALF = np.uint64(32)
MIXER = np.uint64(0x9E3779B97F4A7C15)
BROKEN = "pointveil: a question does not look at each point by itself"


@dataclass
class SparkEngine:
    """Sends the kernel to where the records are; parameters as of `LocalEngine`.

    Without persons the records are read anew for each sum, and nothing is held. With persons, all stay on the
    executors until `forget`, as lattice steps and codes, each person's with one task, and so do their votes, or those
    that are kept; what is lost is made again.
    """

    gathers: ClassVar[bool] = False
    reads_again: ClassVar[bool] = True
    source: PointSource
    cleaning: Cleaning
    at_most: AtMost | None = None
    codes: tuple[int, ...] = ()
    alike: tuple[bytes, ...] = field(default=(), init=False, repr=False)
    _sums: Numbers | None = field(default=None, repr=False)
    _stamp: object = field(default=None, repr=False)
    _held: dict[str, tuple[Any, Any]] = field(default_factory=dict, repr=False)  # by step: rows, and what made them

    @property
    def layout(self) -> Layout:
        """The form of the input: format, column names, CRS."""
        return self.source.layout

    def sums(self, tallies: Sequence[Tally]) -> list[Ints]:
        """Return the counts that each tally asks for, all from one reading."""
        totals = [np.zeros(tally.size, dtype=np.int64) for tally in tallies]
        for of_kept in {tally.of_kept for tally in tallies}:
            mine = [number for number, tally in enumerate(tallies) if tally.of_kept == of_kept]
            asked = tuple(tallies[number] for number in mine)
            if self.at_most is None:
                found = self._found("count", tallies=asked)
            else:
                found = self._found("count_votes", "keep" if of_kept else "share", tallies=asked)
            for number, (cell, count) in zip(mine, found, strict=True):
                np.add.at(totals[number], cell, count)
        return totals

    def persons(self, ends: Sequence[int]) -> Ints:
        """Return how many persons have so many clean points: bins end at `ends`, the last holds all others."""
        total = np.zeros(len(ends), dtype=np.int64)
        ((cell, count),) = self._found("sizes", "named", ends=tuple(ends))
        np.add.at(total, cell, count)
        return total

    def use_at_most(self, points: int) -> None:
        """Let a person count as at most so many points from now on."""
        if self.at_most is not None and self.at_most.limit != points:
            self.at_most.limit = points
            self._drop("share", "keep")

    def _found(self, step: str, of: str | None = None, **asked: Any) -> list[tuple[Ints, Ints]]:
        """Return what a step counts, of the source or of rows that another step made: cells and counts by question."""
        self._check_unchanged()
        try:
            found = quietly(lambda: self._counted(step, of, **asked), self._failed)
        except BaseException:
            self.forget()
            raise
        self._check_unchanged()
        question, cell, count = _read_counts(found)
        if (np.bincount(cell[question == BUCKET], count[question == BUCKET]) > 1).any():
            # They would be bounded twice. Spark promises that this cannot be.
            raise RuntimeError("the records of one person came to two tasks")
        halves = np.zeros(6, dtype=np.uint64)
        np.add.at(halves, cell[question == PRINT], count[question == PRINT].view(np.uint64))
        is_first = self._sums is None
        if is_first:
            likeness = Likeness.of(self.layout.crs)
            likeness.merge(cell[question == LIKE].view(np.uint64), count[question == LIKE])
            self.alike = likeness.digests()
        if is_first or self.source.is_query:
            self._check_same(halves[:3] + (halves[3:] << HALF))
        questions = 1 if "ends" in asked else len(asked["tallies"])
        return [(cell[question == number], count[question == number]) for number in range(questions)]

    def digest(self) -> bytes:
        """Return a fingerprint of the coordinates, the same as of a file with these records."""
        if self._sums is None:
            self._found(*(("count",) if self.at_most is None else ("sizes", "named")), tallies=())
        assert self._sums is not None  # noqa: S101 - set by the reading
        return hashlib.sha256(self._sums.tobytes()).digest()

    def points(self) -> NoReturn:
        """Refuse: no machine is to hold all points."""
        raise NotImplementedError

    def forget(self) -> None:
        """Drop what executors hold of the records."""
        self._drop(*self._held)
        self.source.close()

    def _drop(self, *steps: str) -> None:
        for step in steps:
            if step in self._held:
                rows, shipped = self._held.pop(step)
                rows.unpersist()
                shipped.destroy()

    def _counted(self, step: str, of: str | None, **asked: Any) -> Any:
        """Return counts that are not zero: of few tasks with few cells as they come, else added up on the cluster."""
        cluster = self.source.cluster
        most, cells = tasks(cluster.session), sum(tally.size for tally in asked.get("tallies", ()))
        shipped, steps = self._sent(**asked)
        try:
            counted = (cluster.frame if of is None else self._rows(of)).mapInArrow(steps(step), COUNTS)
            # Another stage takes longer than all the rest; but a frame may have any number of partitions.
            if (of is None and self.source.is_query) or most * cells > HERE:
                counted = counted.repartition(min(most, 1 + cells // TOGETHER), "question", "part")
                counted = counted.mapInArrow(_add_up, COUNTS)
            return counted.toArrow()
        finally:
            shipped.destroy()

    def _rows(self, step: str) -> Any:
        """Return the rows that a step makes, held by the executors: records with their persons, or with their votes."""
        if step not in self._held:
            source = self.source.cluster.frame if step == "named" else self._rows("named")
            shipped, steps = self._sent()
            rows = source.mapInArrow(steps(step), _schema((3 if step == "named" else 2) + len(self.codes)))
            if step == "named":
                rows = rows.repartition(tasks(self.source.cluster.session), "bucket")
            self._held[step] = rows.persist(), shipped
        return self._held[step][0]

    def _sent(self, tallies: tuple[Tally, ...] = (), ends: tuple[int, ...] = ()) -> tuple[Any, Callable[[str], Any]]:
        """Send work to the executors; return a handle on it, and what makes a function for a task of a step's name."""
        cluster = self.source.cluster
        print_ = Print(self.layout.crs, self._sums is None, not self.source.is_query)
        work = Work(
            cluster.read, print_, self.cleaning, self.at_most, self.codes, tallies, ends, tasks(cluster.session)
        )
        shipped = cluster.session.sparkContext.broadcast(Shipped(work))
        return shipped, functools.partial(functools.partial, _run, shipped)

    def _failed(self, text: str) -> Exception:
        if BROKEN in text:
            return NotOneByOneError("locate must look at each point by itself: its neighbours changed its cell.")
        return DamagedError(FAILED.format(self.source.title))

    def _check_unchanged(self) -> None:
        stamp = self.source.stamp()
        self._stamp = self._stamp or stamp
        if stamp != self._stamp:
            raise DamagedError(f"{self.source.title} changed while it was read; let nothing write to it.")

    def _check_same(self, sums: Numbers) -> None:
        """Refuse a frame that is worked out anew for each reading, and differs."""
        self._sums = sums if self._sums is None else self._sums
        if not np.array_equal(sums, self._sums):
            raise DamagedError(f"{self.source.title} gave other records than before; let nothing change them.")


@dataclass(frozen=True)
class Print:
    """How a task tells which places its records have, so that the same are known again."""

    crs: str
    is_first: bool  # reading, in which the sample for finding copies is taken, too
    is_stamped: bool  # source: another reading need not be compared, for its files were not changed

    def of(self, batches: Iterator[Batch], told: list[Any]) -> Iterator[Batch]:
        """Yield the same batches, and at their end add to `told` what goes in place of questions, and two numbers."""
        sums, likeness = np.zeros(3, dtype=np.uint64), Likeness.of(self.crs)
        for batch in batches:
            if self.is_first or not self.is_stamped:
                sums += fingerprint(batch.coordinates)
            if self.is_first:
                likeness.merge(likeness.candidates(batch.coordinates))
            yield batch
        cells, counts = likeness.sample
        # Halves of words can be added up without running over.
        halves = np.concatenate([sums & np.uint64(2**32 - 1), sums >> HALF]).astype(np.int64)
        kind = np.repeat([PRINT, LIKE], [6, len(cells)])
        told += kind, np.append(np.arange(6), cells.view(np.int64)), np.append(halves, counts)


@dataclass(frozen=True)
class Work:
    """What tasks do with their records; it is sent to the executors."""

    read: Callable[[Iterator[Any]], Iterator[Batch]]
    print: Print
    cleaning: Cleaning
    at_most: AtMost | None
    codes: tuple[int, ...]
    tallies: tuple[Tally, ...]
    ends: tuple[int, ...]  # of the bins of persons
    buckets: int  # among which persons are divided

    def count(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Yield the counts of a task's records, and their fingerprint."""
        engine, totals, told = self._engine(), self._nothing(), list[Any]()
        for batch in self.print.of(regrouped(self.read(batches)), told):
            self._add(totals, from_words(engine._clean(batch), self.codes))  # noqa: SLF001 - the very same kernel
        yield from _filled(totals)
        yield _counts(*told)

    def named(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Yield a task's records as words, with their persons and the buckets of these, and their fingerprint."""
        engine, told = self._engine(), list[Any]()
        for batch in self.print.of(regrouped(self.read(batches)), told):
            words = engine._clean(batch)  # noqa: SLF001 - as above
            with np.errstate(over="ignore"):
                bucket = ((words[0] ^ words[1]) * MIXER >> HALF) % np.uint64(self.buckets)
            yield _rows(bucket, words)
        yield _rows(told[0], _padded(np.vstack(told[1:]), 3 + len(self.codes)))

    def sizes(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Yield how many persons have so many records, and what came along with these."""
        total, told = np.zeros(len(self.ends), dtype=np.int64), list[Any]()
        for part in self._parts(batches, told):
            total += part.persons(self.ends) if self.ends else 0
        yield from _filled([total])
        yield from (_counts(*each) for each in told)

    def share(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Yield the records of some persons with their votes, and what came along."""
        yield from self._with_votes(batches, of_kept=False)

    def keep(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Yield those records of some persons that are kept, with a vote each, and what came along."""
        yield from self._with_votes(batches, of_kept=True)

    def _with_votes(self, batches: Iterator[Any], *, of_kept: bool) -> Iterator[Any]:
        engine, told = self._engine(), list[Any]()
        for part in self._parts(batches, told):
            one = engine._voted_in(part, of_kept=of_kept)  # noqa: SLF001 - as above
            each = np.ones(len(one.records.steps), dtype=np.int64) if one.votes is None else one.votes
            yield _rows(np.zeros(len(each)), np.vstack([each.view(np.uint64), as_words(one.records)]))
        yield from (_rows(kind, _padded(np.vstack(of), 2 + len(self.codes))) for kind, *of in told)

    def _parts(self, batches: Iterator[Any], told: list[Any]) -> Iterator[Part]:
        """Yield the records of some persons at a time; `told` gets what came along, and which buckets there were."""
        buckets = np.zeros(self.buckets, dtype=np.int64)
        with closing(Spool()) as spool:
            for batch in batches:
                bucket, words = _read_rows(batch)
                along = bucket < 0
                told.append((bucket[along], *words[:2, along].view(np.int64)))
                buckets[bucket[~along]] = 1
                spool.add(words[:, ~along])
            seen = np.flatnonzero(buckets)
            told.append((np.full(len(seen), BUCKET), seen, buckets[seen]))
            yield from self._engine(spool)._by_person()  # noqa: SLF001 - as above

    def count_votes(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Yield the counts of records with votes, and what came along with them."""
        totals = self._nothing()
        for batch in batches:
            kind, words = _read_rows(batch)
            is_record = kind >= 0
            yield _counts(kind[~is_record], *words[:2, ~is_record])
            votes = words[0, is_record].view(np.int64)
            self._add(totals, from_words(words[1:, is_record], self.codes), votes)
        yield from _filled(totals)

    def _engine(self, spool: Spool | None = None) -> LocalEngine:
        """Return what cleans and bounds, as on one machine."""
        return _Here(None, self.cleaning, self.at_most, self.codes, _spool=spool)  # type: ignore[arg-type]

    def _nothing(self) -> list[Ints]:
        return [np.zeros(tally.size, dtype=np.int64) for tally in self.tallies]

    def _add(self, totals: list[Ints], records: Records, votes: Ints | None = None) -> None:
        one, xy = Voted(records, votes), InMetres(records.steps, self.cleaning)
        for number, tally in enumerate(self.tallies):
            totals[number] += one.count(tally, xy)


class _Here(LocalEngine):
    """The engine of one machine for the records of one task, which are laid aside already."""

    def _rows(self) -> Iterator[Numbers]:
        yield from self._spool or ()


def _run(shipped: Any, step: str, batches: Iterator[Any]) -> Iterator[Any]:
    """Do a step of the work in a task."""
    with _guarded():
        yield from getattr(shipped.value, step)(batches)


@contextmanager
def _guarded() -> Iterator[None]:
    """Let no value of a record warn, nor stand in an error, which the cluster would log."""
    try:
        with silence, np.errstate(all="ignore"):
            yield
            return
    except NotOneByOneError:
        told = BROKEN
    except Exception:  # noqa: BLE001 - as said
        told = "pointveil: a task failed"
    raise RuntimeError(told) from None  # or its trace would show what was caught: this is still within its handling


def _filled(totals: list[Ints]) -> Iterator[Any]:
    for number, total in enumerate(totals):
        cells = np.flatnonzero(total)
        yield _counts(np.full(len(cells), number), cells, total[cells])


def _counts(question: Any, cell: Any, count: Any) -> Any:
    """Return counts as a batch of Spark's rows: many cells of a question in each."""
    part = np.where(question < 0, 0, cell // PART)
    is_other = (question[1:] != question[:-1]) | (part[1:] != part[:-1])
    first = np.flatnonzero(np.append(True, is_other))[: len(question)]
    found = np.split(np.vstack([cell, count]).astype(np.int64), first[1:], axis=1)[: len(first)]
    columns = pa.array(question[first], pa.int32()), pa.array(part[first], pa.int64())
    return pa.record_batch(
        [*columns, pa.array([each.tobytes() for each in found], pa.binary())], names=["question", "part", "found"]
    )


def _read_counts(rows: Any) -> tuple[Ints, Ints, Ints]:
    """Return the questions, cells and counts of such rows; a cell may come in several of them."""
    found = [_unpacked(each) for each in rows["found"].to_pylist()]
    cell, count = np.hstack([np.zeros((2, 0), dtype=np.int64), *found])
    return np.repeat(np.asarray(rows["question"]), [each.shape[1] for each in found]), cell, count


def _unpacked(found: bytes) -> Ints:
    return np.frombuffer(found, dtype=np.int64).reshape(2, -1)


def _add_up(batches: Iterator[Any]) -> Iterator[Any]:
    with _guarded():
        yield from _added(batches)


def _added(batches: Iterator[Any]) -> Iterator[Any]:
    """Add up counts in a task that has all rows of some parts of questions; what came along goes on as it is."""
    totals: dict[tuple[int, int], Ints] = {}
    for batch in batches:
        along = np.asarray(batch["question"]) < 0
        yield batch.filter(pa.array(along))
        for row in batch.filter(pa.array(~along)).to_pylist():
            total = totals.setdefault((row["question"], row["part"]), np.zeros(PART, dtype=np.int64))
            cell, count = _unpacked(row["found"])
            total[cell % PART] += count
    for (question, part), total in totals.items():
        cell = np.flatnonzero(total)
        yield _counts(np.full(len(cell), question), cell + part * PART, total[cell])


def _schema(width: int) -> str:
    return ", ".join(["bucket int", *(f"word{number} long" for number in range(width))])


def _rows(bucket: Any, words: Any) -> Any:
    """Return words (w, n) as a batch of Spark's rows."""
    columns = [pa.array(bucket.astype(np.int32)), *(pa.array(word) for word in words.view(np.int64))]
    return pa.record_batch(columns, names=["bucket", *(f"word{number}" for number in range(len(words)))])


def _read_rows(batch: Any) -> tuple[Ints, Numbers]:
    return np.asarray(batch.column(0)), np.vstack([np.asarray(word).view(np.uint64) for word in batch.columns[1:]])


def _padded(words: Any, width: int) -> Any:
    return np.pad(words, ((0, width - len(words)), (0, 0)))
