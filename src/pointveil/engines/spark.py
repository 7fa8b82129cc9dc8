"""Exact sums over records that a Spark cluster reads: the same kernel as here, in its tasks.

A task may be run twice, or its result be lost and made again. So nothing counts but what tasks return, which is added
up on the cluster, each task once.
"""

from __future__ import annotations

import functools
import hashlib
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar, NoReturn

import numpy as np
import pyarrow as pa

from pointveil.cells.arrays import Ints
from pointveil.engines.at_most import AtMost
from pointveil.engines.base import NotOneByOneError, Tally
from pointveil.engines.likeness import Likeness
from pointveil.engines.local import Cleaning, LocalEngine, Records, as_words, fingerprint, from_words
from pointveil.engines.siphash import Numbers
from pointveil.engines.spool import Spool
from pointveil.formats import Batch, DamagedError, Layout, PointSource
from pointveil.formats.base import regrouped
from pointveil.formats.spark import FAILED, Shipped, quietly, tasks

COUNTS = "question int, cell long, count long"
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

    Without persons the records are read anew for each sum, and nothing is held. With persons, those that were chosen
    stay on the executors, as lattice steps and codes without their persons, until `forget`; what is lost is made again.
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
    _chosen: Any = field(default=None, repr=False)

    @property
    def layout(self) -> Layout:
        """The form of the input: format, column names, CRS."""
        return self.source.layout

    def sums(self, tallies: Sequence[Tally]) -> list[Ints]:
        """Return the counts that each tally asks for, all from one reading."""
        self._check_unchanged()
        try:
            found = quietly(lambda: self._counted(tuple(tallies)), self._failed)
        except BaseException:
            self.forget()
            raise
        self._check_unchanged()
        question, cell, count = (np.asarray(column) for column in found.columns)
        if (count[question == BUCKET] > 1).any():
            # They would be bounded twice. Spark promises that this cannot be.
            raise RuntimeError("the records of one person came to two tasks")
        halves = np.zeros(6, dtype=np.uint64)
        halves[cell[question == PRINT]] = count[question == PRINT]
        is_first = self._sums is None
        if is_first:
            likeness = Likeness.of(self.layout.crs)
            likeness.merge(cell[question == LIKE].view(np.uint64), count[question == LIKE])
            self.alike = likeness.digests()
        if is_first or self.source.is_query:
            self._check_same(halves[:3] + (halves[3:] << HALF))
        totals = [np.zeros(tally.size, dtype=np.int64) for tally in tallies]
        for number, total in enumerate(totals):
            mine = question == number
            total[cell[mine]] = count[mine]
        return totals

    def digest(self) -> bytes:
        """Return a fingerprint of the coordinates, the same as of a file with these records."""
        if self._sums is None:
            self.sums(())
        assert self._sums is not None  # noqa: S101 - set by the reading
        return hashlib.sha256(self._sums.tobytes()).digest()

    def points(self) -> NoReturn:
        """Refuse: no machine is to hold all points."""
        raise NotImplementedError

    def forget(self) -> None:
        """Drop what executors hold of the records."""
        if self._chosen is not None:
            rows, shipped = self._chosen
            self._chosen = None
            rows.unpersist()
            shipped.destroy()
        self.source.close()

    def _counted(self, tallies: tuple[Tally, ...]) -> Any:
        """Return a table of counts that are not zero, added up on the cluster."""
        shipped, steps = self._sent(tallies)
        try:
            if self.at_most is None:
                counts = self.source.cluster.frame.mapInArrow(steps("count"), COUNTS)
            else:
                counts = self._bounded_rows().mapInArrow(steps("count_chosen"), COUNTS)
            return counts.groupBy("question", "cell").sum("count").toArrow()
        finally:
            shipped.destroy()

    def _bounded_rows(self) -> Any:
        if self._chosen is None:
            shipped, steps = self._sent(())
            width = 1 + len(self.codes)
            rows = self.source.cluster.frame.mapInArrow(steps("named"), _schema(2 + width))
            chosen = rows.repartition(tasks(self.source.cluster.session), "bucket").mapInArrow(
                steps("choose"), _schema(max(width, 2))
            )
            self._chosen = chosen.persist(), shipped
        return self._chosen[0]

    def _sent(self, tallies: tuple[Tally, ...]) -> tuple[Any, Callable[[str], Any]]:
        """Send work to the executors; return a handle on it, and what makes a function for a task of a step's name."""
        cluster = self.source.cluster
        print_ = Print(self.layout.crs, self._sums is None, not self.source.is_query)
        work = Work(cluster.read, print_, self.cleaning, self.at_most, self.codes, tallies, tasks(cluster.session))
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

    def choose(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Yield those records of some persons that are kept, which buckets there were, and fingerprints that came."""
        width, buckets = max(1 + len(self.codes), 2), np.zeros(self.buckets, dtype=np.int64)
        with closing(Spool()) as spool:
            for batch in batches:
                bucket, words = _read_rows(batch)
                told = bucket < 0
                yield _rows(bucket[told], _padded(words[:2, told], width))
                buckets[bucket[~told]] = 1
                spool.add(words[:, ~told])
            for records in self._engine(spool)._bounded(self.at_most):  # type: ignore[arg-type] # noqa: SLF001
                yield _rows(np.zeros(len(records.steps)), _padded(as_words(records), width))
        seen = np.flatnonzero(buckets)
        yield _rows(np.full(len(seen), BUCKET), _padded(np.vstack([seen, buckets[seen]]), width))

    def count_chosen(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Yield the counts of records that were chosen, and what came along with them."""
        totals = self._nothing()
        for batch in batches:
            kind, words = _read_rows(batch)
            is_record = kind >= 0
            yield _counts(kind[~is_record], *words[:2, ~is_record])
            self._add(totals, from_words(words[: 1 + len(self.codes), is_record], self.codes))
        yield from _filled(totals)

    def _engine(self, spool: Spool | None = None) -> LocalEngine:
        """Return what cleans and bounds, as on one machine."""
        return _Here(None, self.cleaning, self.at_most, self.codes, _spool=spool)  # type: ignore[arg-type]

    def _nothing(self) -> list[Ints]:
        return [np.zeros(tally.size, dtype=np.int64) for tally in self.tallies]

    def _add(self, totals: list[Ints], records: Records) -> None:
        xy = self.cleaning.to_metres(records.steps)
        for number, tally in enumerate(self.tallies):
            totals[number] += tally.count(xy, records.codes)


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
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
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
    columns = [pa.array(question.astype(np.int32)), pa.array(cell.astype(np.int64)), pa.array(count.astype(np.int64))]
    return pa.record_batch(columns, names=["question", "cell", "count"])


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
