"""The kinds of column that can be kept: a time, a category, a number, and an invented id.

Each record has one code per kept column: the number of a public bin. A value that is unlisted, missing, unreadable or
outside the period has the code after the last bin, or drops the record, by a public choice (`other`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from pointveil.columns.calendar import (
    DAY,
    MONDAY,
    PATTERNS,
    RESOLUTIONS,
    WEEK,
    Ints,
    Period,
    check_zone,
    parse_period,
    starts_of,
)
from pointveil.errors import InputError
from pointveil.files.exact import exact_number

DROP = "drop"
MOST_CODES = 65_535  # so that a code fits into two bytes
MOST_CATEGORIES = 1_000
MOST_BINS = 1_000
MOST_DECIMALS = 9
FEW_DAYS = 14  # of as many days or fewer, the day of the week says nothing more
PLAIN: Mapping[type, Any] = {tuple: list, Fraction: str}
UNITS = ("s", "ms", "us", "ns")


@dataclass(frozen=True, eq=False)
class Part:
    """One thing that a column says, such as the hour of the day: bins to count, from the column's codes."""

    name: str  # in words, such as "time of day"
    axis: Literal["circle", "line", "list"]  # how its bins lie; a list has no order
    bins: Ints  # (codes,): of each code; what is not in the period or list has the last of all, if it is kept

    @property
    def size(self) -> int:
        """How many bins there are, with that of other values."""
        return int(self.bins.max()) + 1


@dataclass(frozen=True)
class Column:
    """A column that is kept; see `Time`, `Category`, `Number` and `Id`."""

    name: str
    kind: ClassVar[str] = ""

    @property
    def usual_share(self) -> Fraction:
        """The part of epsilon that is spent on it unless the owner says otherwise."""
        return Fraction(1, 20)

    @property
    def size(self) -> int:
        """How many bins it has, without that of other values; none if nothing is read of it."""
        return 0

    @property
    def drops(self) -> bool:
        """Whether a record with another value is left out."""
        return getattr(self, "other", None) == DROP

    @property
    def codes(self) -> int:
        """How many codes a record may have; the last is for other values, unless those are dropped."""
        return self.size if self.drops else self.size + 1

    @property
    def part_of_epsilon(self) -> Fraction:
        """The part of the release's epsilon that is spent on this column."""
        share = getattr(self, "share", None)
        return self.usual_share if share is None else exact_number(share, f"The share of '{self.name}'", 0, 1)

    def parts(self) -> tuple[Part, ...]:
        """Return what it says, the most telling first."""
        return ()

    def to_dict(self) -> dict[str, Any]:
        """Return the declaration as plain values; what was not said is left out, but for the share of epsilon."""
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        if "share" in values:  # the usual one may be another some day
            values["share"] = self.part_of_epsilon
        said = {name: PLAIN.get(type(value), lambda same: same)(value) for name, value in values.items()}
        return {"kind": self.kind, **{name: value for name, value in said.items() if value is not None}}

    def _with_other(self, bins: Ints) -> Ints:
        """Return the bin of each code, other values last."""
        return bins if self.drops else np.append(bins, bins.max() + 1)

    def _check_type_and_share(self) -> None:
        kind, share = getattr(self, "type", None), getattr(self, "share", None)
        if kind not in {None, "integer"}:
            raise InputError(f"The type of '{self.name}' is {kind!r}; only type=integer can be declared, for text.")
        if share is not None and self.part_of_epsilon <= 0:
            raise InputError(f"The share of '{self.name}' must be more than 0.")


@dataclass(frozen=True)
class Time(Column):
    """A moment within a public period.

    Parameters
    ----------
    name
        The column.
    period
        "2014-04-01/2014-07-01": the first day (or moment), and the one after the last. Public, never from the data.
    resolution
        "15min", "1h" or "1d", with the date; or a pattern, "hour-of-day" or "hour-of-week", which is written as a
        moment in the first day or week of the period, or as a whole number if the column holds whole numbers.
    tz
        The time zone whose clock counts, such as "Europe/Lisbon"; by default that of the column's type, else UTC.
    other
        What other values become: None for null, "drop" to leave out the record, or a text.
    format, type, unit
        How text is written, as for strptime (default: ISO 8601). With type "integer", text is read and written as
        whole numbers, as in columns of whole numbers. What those count since 1970: "s", "ms", "us" or "ns" (default:
        seconds; without a unit, those of a pattern are its hours).
    share
        The part of epsilon for this column, such as "1/10" (default: 14 %, or 12 % for a pattern).

    Examples
    --------
    >>> pv.Time("ts", "2014-04-01/2014-07-01", resolution="hour-of-day").size
    24
    """

    period: str = ""
    resolution: str = "1h"
    tz: str | None = None
    other: str | None = None
    format: str | None = None
    type: str | None = None
    unit: str | None = None
    share: Any = None
    kind: ClassVar[str] = "time"

    def __post_init__(self) -> None:
        span = self.span
        if self.resolution not in {**RESOLUTIONS, **PATTERNS}:
            known = ", ".join([*RESOLUTIONS, *PATTERNS])
            raise InputError(f"'{self.name}' cannot be kept by {self.resolution!r}; choose one of {known}.")
        if self.tz is not None:
            check_zone(self.tz, self.name)
        if self.unit is not None and self.unit not in UNITS:
            raise InputError(f"The unit of '{self.name}' is {self.unit!r}; choose one of {', '.join(UNITS)}.")
        whole = PATTERNS.get(self.resolution)
        if whole is not None and (span.start % DAY or span.seconds < whole):
            raise InputError(
                f"The period of '{self.name}' must start at midnight and hold a whole {self.resolution[8:]}."
            )
        if self.size > MOST_CODES - 1:
            raise InputError(
                f"'{self.name}' would have {self.size:,} bins; at most {MOST_CODES - 1:,} can be kept. "
                "Choose a coarser resolution or a shorter period."
            )
        self._check_type_and_share()

    @cached_property
    def span(self) -> Period:
        """The period, in seconds of wall-clock time since 1970."""
        return parse_period(self.period, self.name)

    @property
    def size(self) -> int:
        """How many bins it has."""
        if self.resolution in PATTERNS:
            return PATTERNS[self.resolution] // 3_600
        return -(-self.span.seconds // RESOLUTIONS[self.resolution])

    @property
    def usual_share(self) -> Fraction:
        """The part of epsilon that is spent on it unless the owner says otherwise; dates need some more."""
        return Fraction(14, 100) if self.dated else Fraction(12, 100)

    @property
    def dated(self) -> bool:
        """Whether it says on which day."""
        return self.resolution in RESOLUTIONS

    def parts(self) -> tuple[Part, ...]:
        """Return time of day, day of the week, and date, as far as it says them."""
        start = starts_of(np.arange(self.size), self.span, self.resolution)
        day = start // DAY
        days = int(day[-1] - day[0]) + 1 if self.dated else 0
        step = RESOLUTIONS.get(self.resolution, 3_600)
        said = {
            "time of day": (self.resolution != "1d", start % DAY // step),
            "day of the week": (self.resolution == "hour-of-week" or days > FEW_DAYS, (start - MONDAY) % WEEK // DAY),
            "date": (days > 1 or self.resolution == "1d", day),
        }
        return tuple(self._part(name, bins) for name, (is_said, bins) in said.items() if is_said)

    def _part(self, name: str, values: Ints) -> Part:
        """Return a part of which every bin exists; the times of a whole day lie on a circle."""
        bins = np.unique(values, return_inverse=True)[1]
        is_day = name == "time of day" and bins.max() + 1 == DAY // RESOLUTIONS.get(self.resolution, 3_600)
        # Monday is no nearer to Sunday than to Tuesday: days of the week are told apart best without an order.
        lies: Literal["circle", "line", "list"] = (
            "list" if name == "day of the week" else "circle" if is_day else "line"
        )
        return Part(name, lies, self._with_other(bins))


@dataclass(frozen=True)
class Category(Column):
    """One of a public list of values.

    Parameters
    ----------
    name
        The column.
    values
        All values to keep, spelled as they shall be written. Public, never from the data. A value of the data is one
        of them if it is equal without white space around it; 7, 7.0 and "7" are equal.
    other
        What other values become: None for null, "drop" to leave out the record, or a text.
    share
        The part of epsilon for this column, such as "1/20" (default: 5 %).

    Examples
    --------
    >>> pv.Category("base", ["B02512", "B02598"]).codes
    3
    """

    values: Sequence[str] = ()
    other: str | None = None
    share: Any = None
    kind: ClassVar[str] = "category"

    def __post_init__(self) -> None:
        if isinstance(self.values, str):
            raise InputError(f"The values of '{self.name}' must be a list of texts, such as ['bus', 'tram'].")
        object.__setattr__(self, "values", tuple(str(value).strip() for value in self.values))
        if not self.values or "" in self.values:
            raise InputError(f"'{self.name}' needs a list of values, none of them blank, such as category:bus,tram.")
        if len(self.values) > MOST_CATEGORIES:
            raise InputError(
                f"'{self.name}' lists {len(self.values):,} values; at most {MOST_CATEGORIES:,} can be kept. Keep the "
                "common ones, and let the others come out as other."
            )
        if len(set(self.values)) < len(self.values):
            raise InputError(f"'{self.name}' lists a value twice.")
        self._check_type_and_share()

    @property
    def size(self) -> int:
        """How many values are listed."""
        return len(self.values)

    def parts(self) -> tuple[Part, ...]:
        """Return the one thing that it says."""
        return (Part("value", "list", self._with_other(np.arange(self.size))),)


@dataclass(frozen=True)
class Number(Column):
    """A number between public bounds; one outside counts as the bound.

    Parameters
    ----------
    name
        The column.
    low, high
        The bounds. Public, never from the data.
    bins
        How many equal bins there are between them.
    decimals, type
        How many decimals are written (default: 2); with type "integer", or in a column of whole numbers, none.
    other
        What missing and unreadable values become: None for null, "drop" to leave out the record, or a text.
    decimal
        The sign before the decimals in text, "." or ",".
    share
        The part of epsilon for this column, such as "1/20" (default: 5 %).

    Examples
    --------
    >>> pv.Number("fare", 0, 100).size
    20
    """

    low: float = 0.0
    high: float = 0.0
    bins: int = 20
    decimals: int | None = None
    type: str | None = None
    other: str | None = None
    decimal: str | None = None
    share: Any = None
    kind: ClassVar[str] = "number"

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "low", float(self.low))
            object.__setattr__(self, "high", float(self.high))
        except (TypeError, ValueError):
            raise InputError(f"The bounds of '{self.name}' must be numbers, such as number:0..100.") from None
        if not (np.isfinite([self.low, self.high]).all() and self.low < self.high):
            raise InputError(
                f"The bounds of '{self.name}' must be two numbers, the lower first; not {self.low:g}..{self.high:g}."
            )
        if not (type(self.bins) is int and 1 <= self.bins <= MOST_BINS):
            raise InputError(f"'{self.name}' may have 1 to {MOST_BINS:,} bins, not {self.bins}.")
        if self.decimals is not None and not (type(self.decimals) is int and 0 <= self.decimals <= MOST_DECIMALS):
            raise InputError(f"'{self.name}' may have 0 to {MOST_DECIMALS} decimals, not {self.decimals}.")
        if self.decimal not in {None, ".", ","}:
            raise InputError(f"The decimal sign of '{self.name}' must be . or , and not {self.decimal!r}.")
        self._check_type_and_share()

    @property
    def size(self) -> int:
        """How many bins it has."""
        return self.bins

    def parts(self) -> tuple[Part, ...]:
        """Return the one thing that it says."""
        return (Part("value", "line", self._with_other(np.arange(self.size))),)


@dataclass(frozen=True)
class Id(Column):
    """A column of identifiers, in which invented ones are written: every row has another, and they link nothing.

    Parameters
    ----------
    name
        The column.

    Examples
    --------
    >>> pv.Id("user").part_of_epsilon
    Fraction(0, 1)
    """

    kind: ClassVar[str] = "id"

    @property
    def usual_share(self) -> Fraction:
        """Nothing is asked about it."""
        return Fraction(0)


KINDS: Mapping[str, type[Column]] = {kind.kind: kind for kind in (Time, Category, Number, Id)}
