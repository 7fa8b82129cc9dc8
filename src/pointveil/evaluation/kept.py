"""What kept columns say of the real and of the synthetic points, as numbers of bins."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Literal, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from pointveil.cells import Ints
from pointveil.columns import Category, Column, Number, Part, Time
from pointveil.columns.calendar import DAY

Codes: TypeAlias = tuple[NDArray[np.integer], ...]  # of each point, an (n,) array for each column
Of: TypeAlias = Literal["part", "time", "category", "number", "date", "pair"]


@dataclass(frozen=True, eq=False)
class Bins:
    """The bin of every point, of what one column says, or two columns together."""

    name: str  # the column, with what it says if that is several things
    column: Column
    real: Ints  # (n,) of the real points, 0 … size − 1
    synthetic: Ints  # (m,) of the synthetic points
    size: int  # how many bins there are, with that of other values
    listed: int  # how many of them were declared: those of other values come after them
    labels: tuple[str, ...] = ()  # of the bins, for people
    axis: str = "list"  # how its bins lie: on a "circle", on a "line", or in a "list" without order


def bins_of(columns: Sequence[Column], real: Codes, synthetic: Codes) -> Mapping[Of, list[Bins]]:
    """Return what there is to compare: each part of a column by itself, sorted by kind, and each pair of parts."""
    found: dict[Of, list[Bins]] = {"part": [], "time": [], "category": [], "number": [], "date": [], "pair": []}
    kept = [column for column in columns if column.size]
    for column, one, other in zip(kept, real, synthetic, strict=True):
        parts = column.parts()
        for part in parts:
            bins = _bins(column, part, one, other, alone=len(parts) == 1)
            # Dates of many weeks are too many to be told by place; their days of the week are.
            if part.name != "date" or all(other.name != "day of the week" for other in parts):
                found["part"].append(bins)
            kind = KINDS.get(part.name, "number" if isinstance(column, Number) else "category")
            if kind is not None:
                found[kind].append(bins)
    found["pair"] = [_pair(one, other) for one, other in combinations(found["part"], 2)]
    return found


KINDS: Mapping[str, Of | None] = {"time of day": "time", "date": "date", "day of the week": None, "moment": None}


def _bins(
    column: Column, part: Part, real: NDArray[np.integer], synthetic: NDArray[np.integer], *, alone: bool
) -> Bins:
    name = column.name if alone else f"{column.name}, {part.name}"
    listed = part.size - (not column.drops)
    others = () if column.drops else (getattr(column, "other", None) or "other",)
    labels = (*LABELS.get(part.name, _value_labels)(column, listed), *others)
    return Bins(name, column, part.bins[real], part.bins[synthetic], part.size, listed, labels, part.axis)


def _value_labels(column: Column, count: int) -> Sequence[str]:
    if isinstance(column, Category):
        return column.values
    number = cast("Number", column)
    ends = np.linspace(number.low, number.high, count + 1)
    return [f"{low:g}–{high:g}" for low, high in pairwise(ends)]


def _clock_labels(_: Column, count: int) -> Sequence[str]:
    minutes = [1440 * each // count for each in range(count)]
    return [f"{minute // 60:02}:{minute % 60:02}" for minute in minutes]


def _date_labels(column: Column, count: int) -> Sequence[str]:
    first = cast("Time", column).span.start // DAY
    return [str(np.datetime64(first + day, "D")) for day in range(count)]


LABELS: Mapping[str, Callable[[Column, int], Sequence[str]]] = {
    "time of day": _clock_labels,
    "day of the week": lambda *_: ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"),
    "date": _date_labels,
    "moment": lambda *_: ("moment",),
}


def _pair(one: Bins, other: Bins) -> Bins:
    real, synthetic = one.real * other.size + other.real, one.synthetic * other.size + other.synthetic
    size = one.size * other.size
    return Bins(f"{one.name} × {other.name}", one.column, real, synthetic, size, size)


@dataclass(frozen=True, eq=False)
class Tally:
    """Real and synthetic points in every square and bin that holds any, (k,) each."""

    square: Ints  # numbered from 0, without gaps
    bin: Ints
    real: Ints
    synthetic: Ints

    @property
    def people(self) -> tuple[Ints, Ints]:
        """The points in each square, real and synthetic, (squares,) each."""
        return self._sums(self.square, self.real), self._sums(self.square, self.synthetic)

    def tables(self, size: int) -> tuple[Ints, Ints]:
        """Return the points in each square and each of the first `size` bins, (squares, size): real and synthetic."""
        squares, known = int(self.square.max(initial=-1)) + 1, self.bin < size
        at = (self.square * size + self.bin)[known]
        real, synthetic = (
            self._sums(at, counts[known], squares * size).reshape(squares, size)
            for counts in (self.real, self.synthetic)
        )
        return real, synthetic

    @staticmethod
    def _sums(at: Ints, counts: Ints, least: int = 0) -> Ints:
        return np.bincount(at, counts, least).astype(np.int64)
