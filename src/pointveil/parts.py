"""Synthetic points that executors of a cluster draw and write, part by part: they are never all in one place."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pointveil.columns import from_dict
from pointveil.errors import InputError
from pointveil.files.drafts import draft_folder
from pointveil.files.lattice import steps_per_unit
from pointveil.files.whole import check_target, write_whole
from pointveil.formats import (
    Layout,
    PointSource,
    kept_values,
    open_points,
    output_layout,
    part_path,
    spark,
    write_points,
)
from pointveil.statement import Output, SigningKey, Statement
from pointveil.synthetic import (
    SyntheticPoints,
    codes_digest,
    output_of,
    points_digest,
    state_beside,
    statement_path,
)

if TYPE_CHECKING:
    import pyarrow as pa

FAILED = (
    "{} cannot be written: tasks of the cluster failed, or did not write where this machine looks. Give a folder that "
    "every executor shares with it, under the same name, and may write to."
)


def session_of(source: Any, engine: str, master: str | None) -> Any:
    """Return the session of the cluster that reads a source, if one does."""
    return spark.session(master) if engine == "spark" else getattr(source, "sparkSession", None)


class WrittenPoints(SyntheticPoints):
    """Points that lie in a folder; they are read only if they are asked for."""

    def __init__(self, path: Path, layout: Layout, statement: Statement) -> None:
        self.__dict__.update(path=path, layout=layout, statement=statement)

    def __len__(self) -> int:
        return 0 if self.statement.output is None else self.statement.output.rows

    @cached_property
    def coordinates(self) -> NDArray[np.float64]:
        """All points, read now."""
        source = _opened(self.__dict__["path"], self.layout, self.statement)
        return np.concatenate([np.zeros((0, 2)), *(batch.coordinates for batch in source.batches())])

    @cached_property
    def kept(self) -> pa.Table | None:
        """The kept columns, read now."""
        source = _opened(self.__dict__["path"], self.layout, self.statement)
        return kept_values(self.__dict__["path"], source.layout, source.keep) if source.keep else None


@dataclass(frozen=True)
class Parts:
    """Points that can be drawn apart."""

    draw: Callable[[int], SyntheticPoints]  # draws the part of a number, always the same
    count: int  # of parts
    session: Any  # of Spark, whose executors draw
    layout: Layout  # the form of the file the points stand for
    statement: Statement  # what is promised about them

    def write(
        self, path: Path, *, key: SigningKey | None, ready: Callable[[Mapping[str, Any]], None]
    ) -> SyntheticPoints:
        """Write a folder of parts and the statement beside it; both appear whole or not at all, the statement first.

        The folder must lie where every executor finds it under the same name. The parts themselves hold no statement:
        the hash of all points is known only when all are drawn. This machine reads them for it, some at a time.
        """
        form = output_layout(check_target(path), self.layout)
        stated: list[Statement] = []

        def write(new: Path) -> None:
            new.mkdir()
            with draft_folder(path.parent) as scratch:
                one = partial(_write_part, self.draw, new.absolute(), scratch.absolute(), form)
                rows = sum(spark.for_each(self.session, self.count, one, FAILED.format(path.name)))
            if len(list(new.iterdir())) != self.count:
                raise InputError(FAILED.format(path.name))
            stated.append(state_beside(new, self._output(new, form, rows), self.statement, key, ready))

        write_whole(path, write, first=statement_path(path).name)
        return WrittenPoints(path, form, stated[0])

    def _output(self, folder: Path, form: Layout, rows: int) -> Output:
        points = points_digest(_batches(folder, form, self.statement, "coordinates"), steps_per_unit(form.crs))
        codes = codes_digest(_batches(folder, form, self.statement, "codes")) if form.kept else None
        return output_of(form, rows, points, codes)


def joined(drawn: list[SyntheticPoints]) -> SyntheticPoints:
    """Return several drawings of the same as one, in this order."""
    import pyarrow as pa

    kept = None if drawn[0].kept is None else pa.concat_tables([each.kept for each in drawn])
    return replace(drawn[0], coordinates=np.concatenate([each.coordinates for each in drawn]), kept=kept)


def _opened(folder: Path, form: Layout, statement: Statement) -> PointSource:
    """Open parts as the statement says."""
    places = None if form.x is None or form.y is None else (form.x, form.y)
    keep = tuple(from_dict(column) for column in statement.columns)
    return open_points(folder, columns=places, crs=form.crs if places else None, keep=keep)


def _batches(folder: Path, form: Layout, statement: Statement, what: str) -> Iterator[Any]:
    return (getattr(batch, what) for batch in _opened(folder, form, statement).batches())


def _write_part(draw: Callable[[int], SyntheticPoints], folder: Path, scratch: Path, form: Layout, number: int) -> int:
    """Draw and write a part, in a task; return its rows.

    The task may run twice at a time. Each attempt writes under a name of its own, and all write the same, so it does
    not matter which is the last to take the name of the part.
    """
    points, final = draw(number), part_path(folder, form.format, number)
    draft = scratch / f"{secrets.token_hex(8)}{final.suffix}"
    write_points(draft, points.chunks(), form, statement=None, total=len(points))
    os.replace(draft, final)  # noqa: PTH105 - `Path.replace` does the same
    return len(points)
