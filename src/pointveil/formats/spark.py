"""Points that a Spark cluster reads: frames of its own, and files that every executor can open."""

from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pyarrow as pa

from pointveil.errors import InputError, missing_extra
from pointveil.formats.base import BATCH_ROWS, Batch, DamagedError, PointSource, Request
from pointveil.formats.tables import batch_of, layout_of, needed_columns
from pointveil.quiet import silence
from pointveil.version import __version__

SOURCE = "The Spark frame"
BATCH_BYTES = 1 << 26  # of records that wait to be decoded together: geometries and texts may be long
TASKS_PER_CORE = 4  # so that one that is lost or late does not hold up all others for long
NO_SPARK = (
    "Spark cannot be started{}: it needs Java 17 or later (JAVA_HOME says where), and a master that answers, such as "
    "--master 'local[4]' or spark://host:7077."
)
NO_POINTVEIL = (
    f"The executors of Spark cannot run Pointveil {__version__}: install pointveil[spark] of this version on all of "
    "them, for the Python that PYSPARK_PYTHON names."
)
CONNECTED = "A session of Spark Connect cannot send out what counts; make the frame with a classic session."
FAILED = "{} cannot be read to its end: tasks of the cluster failed. Its own log says why."


@dataclasses.dataclass(frozen=True, repr=False)
class Cluster:
    """Where and how a cluster reads records."""

    session: Any  # of pyspark
    frame: Any  # whose partitions are divided among the tasks
    read: Callable[[Iterator[Any]], Iterator[Batch]]  # in a task: from the record batches of a partition


def session(master: str | None = None) -> Any:
    """Return the session of this process, or start one at a master: its log, which may quote records, is off."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise missing_extra("spark", "pyspark") from None
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    found = SparkSession.getActiveSession()
    if found is None:
        builder = SparkSession.builder.appName("pointveil").config("spark.log.level", "OFF")
        for option in ("spark.ui.enabled", "spark.ui.showConsoleProgress"):
            builder = builder.config(option, "false")
        found = quietly(
            (builder if master is None else builder.master(master)).getOrCreate,
            lambda _: InputError(NO_SPARK.format("" if master is None else f" at {master}")),
        )
    elif master not in {None, found.sparkContext.master}:
        raise InputError(
            f"Spark runs already, at {found.sparkContext.master}. Stop that session, or leave --master out."
        )
    return found


def read(frame: Any, request: Request) -> PointSource:
    """Open a frame of Spark; its schema says its columns."""
    if not hasattr(frame, "_jdf"):
        raise InputError(CONNECTED)
    layout = dataclasses.replace(layout_of(_schema(frame), request, SOURCE), format="frame")
    wanted = frame.select(*("`" + name.replace("`", "``") + "`" for name in needed_columns(layout, request)))
    cluster = Cluster(frame.sparkSession, wanted, partial(_of_frame, layout=layout, request=request))
    check_executors(cluster.session)
    return PointSource(layout, partial(_gathered, cluster), name=SOURCE, is_query=True, cluster=cluster)


def spread(source: PointSource, session: Any) -> PointSource:
    """Return a source of files that executors read; they open the files by the same names as this machine does."""
    if source.is_stream or source.is_query or (source.path is None and source.listed is None):
        raise InputError(f"{source.title} is not a file, so executors cannot open it. Give files, or a frame of Spark.")
    check_executors(session)
    shares = source.shares or (source.pieces,)
    numbers = session.range(0, len(shares), 1, min(len(shares), tasks(session)))
    cluster = Cluster(session, numbers, partial(_of_shares, shares=shares))
    return dataclasses.replace(source, cluster=cluster)


def tasks(session: Any) -> int:
    """Return into how many tasks work is divided: by the cores of the cluster, or spark.default.parallelism."""
    return TASKS_PER_CORE * max(int(session.sparkContext.defaultParallelism), 1)


class Shipped:
    """Work on its way to the executors: unpickled it is the work itself, once for each process there."""

    def __init__(self, work: Any) -> None:
        self._work = work

    def __reduce__(self) -> Any:
        from pyspark import cloudpickle  # it can do what pickle cannot: functions within functions

        return cloudpickle.loads, (cloudpickle.dumps(self._work),)


def for_each(session: Any, count: int, work: Callable[[int], int], failed: str) -> list[int]:
    """Have executors do work by its numbers below `count`, and return what each came to, in order.

    A task may be run again, and at the same time as before, so the work must always come to the same.
    """
    shipped = session.sparkContext.broadcast(Shipped(work))
    numbers = session.range(0, count, 1, count)
    try:
        done = quietly(
            lambda: numbers.mapInArrow(partial(_each, shipped), "number long, result long").collect(),
            lambda _: InputError(failed),
        )
    finally:
        shipped.destroy()
    return [row.result for row in sorted(done)]


def _each(shipped: Any, batches: Iterator[Any]) -> Iterator[Any]:
    for batch in batches:
        numbers = batch.column(0).to_pylist()
        yield pa.record_batch({"number": numbers, "result": [shipped.value(number) for number in numbers]})


def check_executors(session: Any) -> None:
    """Refuse a cluster that cannot run this version, before anything is charged."""
    cores = max(session.sparkContext.defaultParallelism, 1)
    found = quietly(
        lambda: session.range(0, cores, 1, cores).mapInArrow(_versions, "version string").collect(),
        lambda _: InputError(NO_POINTVEIL),
    )
    if {row.version for row in found} != {__version__}:
        raise InputError(NO_POINTVEIL)


def _versions(batches: Iterator[Any]) -> Iterator[Any]:
    for batch in batches:
        yield pa.record_batch({"version": [__version__] * len(batch)})


def quietly(work: Callable[[], Any], fault: Callable[[str], Exception]) -> Any:
    """Do what pyspark may warn about, and may refuse in words that quote a record: `fault` makes better ones."""
    try:
        with silence:
            return work()
    except Exception as problem:  # noqa: BLE001 - as said
        told = fault(str(problem))
    raise told


def _schema(frame: Any) -> Any:
    """Return the Arrow schema of a frame; columns of types that Arrow does not have are no points."""
    from pyspark.sql.pandas.types import to_arrow_type

    zone = frame.sparkSession.conf.get("spark.sql.session.timeZone")
    fields = []
    for field in frame.schema.fields:
        try:
            kind = to_arrow_type(field.dataType, timezone=zone)
        except Exception:  # noqa: BLE001 - of a type that pyspark itself cannot send
            kind = pa.null()
        fields.append(pa.field(field.name, kind))
    return pa.schema(fields)


def _of_frame(batches: Iterator[Any], layout: Any, request: Request) -> Iterator[Batch]:
    """Yield the records of a partition, many at once: Spark hands out small batches."""
    waiting, rows, size = list[Any](), 0, 0
    for batch in batches:
        waiting.append(batch)
        rows, size = rows + len(batch), size + batch.nbytes
        if rows >= BATCH_ROWS or size >= BATCH_BYTES:
            yield batch_of(pa.Table.from_batches(waiting), layout, request)
            waiting, rows, size = [], 0, 0
    if waiting:
        yield batch_of(pa.Table.from_batches(waiting), layout, request)


def _of_shares(batches: Iterator[Any], shares: tuple[Callable[[], Iterator[Batch]], ...]) -> Iterator[Batch]:
    for batch in batches:
        for share in batch.column(0).to_pylist():
            yield from shares[share]()


def _gathered(cluster: Cluster) -> Iterator[Batch]:
    """Yield all records on this machine, partition by partition, for the eyes of their owner."""
    packed = quietly(lambda: cluster.frame.mapInArrow(_packed, "content binary"), _damaged)
    parts = quietly(packed.toLocalIterator, _damaged)
    while (row := quietly(lambda: next(parts, None), _damaged)) is not None:
        yield from cluster.read(pa.ipc.open_stream(row.content))


def _damaged(_: str) -> DamagedError:
    return DamagedError(FAILED.format(SOURCE))


def _packed(batches: Iterator[Any]) -> Iterator[Any]:
    for batch in batches:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as stream:
            stream.write_batch(batch)
        yield pa.record_batch({"content": [sink.getvalue().to_pybytes()]})
