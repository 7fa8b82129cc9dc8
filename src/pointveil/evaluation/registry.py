"""The table of measures, which each measure joins where it is defined."""

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, TypeVar, cast

from pointveil.errors import UnmeasuredError
from pointveil.evaluation.comparison import Comparison
from pointveil.evaluation.kept import Of
from pointveil.plugins import Table

Function = TypeVar("Function", bound=Callable[..., float])
Better: TypeAlias = Literal["lower", "higher", "nearer"]


@dataclass(frozen=True)
class Sizes:
    """The sizes at which one function is measured; each is a row of the table."""

    option: str  # the option of the function that is the size
    values: tuple[int, ...]
    label: str  # how a size is written, such as "{} m"
    any_size: str  # what stands for the size in a reading of all sizes together, such as "square"


@dataclass(frozen=True)
class Measure:
    """One number that compares synthetic with real points, and how to read it."""

    function: Callable[..., float]  # (comparison, **options) → float
    title: str  # what it is called in progress and in reasons
    better: Better
    best: float  # the value of perfect synthetic points
    unit: str  # what the number counts; empty for a bare number
    reading: str  # one plain sentence about this row
    family: str  # the name without the size; rows of one family share a line in tables
    family_reading: str  # one plain sentence about the family
    size: str = ""  # as people write it
    options: Mapping[str, Any] = field(default_factory=dict)  # of the function, that make this row
    of: Of | None = None  # what of the kept columns it compares; the option `bins` of the function
    by_place: bool = False  # whether it looks at columns and places together
    population: bool = False  # whether it needs the population that the real points are a sample of

    @property
    def always(self) -> bool:
        """Whether it needs neither kept columns nor a population."""
        return self.of is None and not self.population

    def __call__(self, comparison: Comparison, **options: Any) -> float:
        """Return the number; `options` change those of the row."""
        return self.function(comparison, **{**self.options, **options})


MEASURES: Table[Measure] = Table("measure", lambda row: row.function.__qualname__)  # in the order of the reports


def measure(
    name: str,
    *,
    title: str,
    better: Better,
    best: float | None = None,
    unit: str = "",
    reading: str = "",
    sizes: Sizes | None = None,
    options: Mapping[str, Any] | None = None,
    real: int = 1,
    synthetic: int = 1,
    roads: bool = False,
    of: Of | None = None,
    by_place: bool = False,
    population: bool = False,
) -> Callable[[Function], Function]:
    """Add a function to the table of measures: `evaluate`, the report and experiments then have it.

    The function takes a `Comparison` and returns a finite number; it raises `UnmeasuredError` where there is none.

    Parameters
    ----------
    name
        Its name in the table. With `sizes`, each size is added to it: "nce" becomes "nce_25", "nce_50" …
    title
        A short name for people.
    better
        Whether "lower" or "higher" values are better, or those "nearer" to `best`.
    best
        The value of perfect synthetic points (default: 1 if higher is better, else 0).
    unit
        What the number counts, such as "m"; empty for a bare number.
    reading
        One plain sentence on how to read the number (default: the title); `{}` stands for the size.
    sizes
        The sizes to measure at, if there are several.
    options
        Options of the function that make this row.
    real, synthetic
        Least number of points needed on each side; with fewer, the function is not called.
    roads
        Whether the world must have roads.
    of
        What of the kept columns it compares: every "part" of a column, those that are a "time" of day, a "category", a
        "number" or a "date", or every "pair" of parts. The function is called for each, as its option `bins`.
    by_place
        Whether it looks at columns and places together. It is then measured also for columns that were drawn without
        looking at the place, and reports show both.
    population
        Whether the points must be known that the real ones are a sample of.

    Examples
    --------
    >>> import numpy as np
    >>> from pointveil.evaluation import Comparison, measure
    >>> @measure("mean_shift", title="Mean shift", better="lower", unit="m", reading="How far the centre moved.")
    ... def mean_shift(comparison: Comparison) -> float:
    ...     return float(np.hypot(*(comparison.real.mean(axis=0) - comparison.synthetic.mean(axis=0))))
    """
    sentence, perfect = reading or f"{title}.", float(better == "higher") if best is None else best
    sizes = sizes or Sizes("", (), "", "")
    rows = {f"{name}_{value}": (sizes.label.format(value), {sizes.option: value}) for value in sizes.values}

    def register(function: Function) -> Function:
        @functools.wraps(function)
        def checked(comparison: Comparison, **given: Any) -> float:
            _check(title, comparison, real, synthetic, roads=roads)
            if population and comparison.population is None:
                raise UnmeasuredError(f"{title} needs the population that the real points are a sample of")
            if of is not None and "bins" not in given:
                if not comparison.bins(of):
                    raise UnmeasuredError(f"{title} needs {WANTED[of]}")
                given["bins"] = comparison.bins(of)[0]
            value = function(comparison, **given)
            if not math.isfinite(value):
                raise UnmeasuredError(f"{title} has no finite value for these points")
            return value

        for row, (size, chosen) in (rows or {name: ("", {})}).items():
            texts = sentence.format(size), name, sentence.format(sizes.any_size), size
            made = {**(options or {}), **chosen}
            MEASURES.add(row, Measure(checked, title, better, perfect, unit, *texts, made, of, by_place, population))
        return cast("Function", checked)

    return register


WANTED: Mapping[Of, str] = {
    "part": "a kept column",
    "time": "a kept column that says the time of day",
    "category": "a kept category",
    "number": "a kept number",
    "date": "a kept column that says the date",
    "pair": "two things that kept columns say",
}


def _check(title: str, comparison: Comparison, real: int, synthetic: int, *, roads: bool) -> None:
    """Refuse to measure without roads or with too few points."""
    if roads and not comparison.has_roads:
        raise UnmeasuredError(f"{title} needs roads in the world")
    for kind, points, least in (("real", comparison.real, real), ("synthetic", comparison.synthetic, synthetic)):
        if len(points) < least:
            amount = "one" if least == 1 else str(least)
            raise UnmeasuredError(f"{title} needs at least {amount} {kind} point{'s' if least > 1 else ''}")
