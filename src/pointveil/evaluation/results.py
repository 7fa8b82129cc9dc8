"""What all measures say together."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pointveil.errors import InputError, UnmeasuredError
from pointveil.evaluation.comparison import Comparison
from pointveil.evaluation.kept import Bins
from pointveil.evaluation.points import compare
from pointveil.evaluation.registry import MEASURES, Measure
from pointveil.files.whole import refuse_existing
from pointveil.statement import People
from pointveil.world import World

BANNER = "contains real points: do not share"  # stands on every output of this folder
BRACKETS = "In brackets: columns drawn without looking at the place."
COLUMN = ": "  # between the name of a measure and a column, where it is measured for several

Progress = Callable[[int, int, str], None]  # is told how many measures are done, of how many, and the title of the next


@dataclass(frozen=True)
class Evaluation:
    """How good synthetic points are: owner's eyes only.

    Parameters
    ----------
    values
        Measure → number.
    reasons
        Measure → why there is no number.
    without_place
        Measure of kept columns → what its number would be for columns drawn without looking at the place.
    real_points, synthetic_points
        How many were compared.
    real_left_out, synthetic_left_out
        How many were not: real points that are not on land, and points without coordinates.
    seed
        Chose grid shifts, centres and samples.
    banner
        Stands on every output.
    comparison
        What was compared, for the report; it does not travel with a pickle.

    Examples
    --------
    >>> from pointveil.evaluation import Evaluation
    >>> Evaluation({"total_count": 0.01}, real_points=100, synthetic_points=101)
    <Evaluation of 100 real and 101 synthetic points: contains real points: do not share>
    total_count  0.010
    """

    values: Mapping[str, float]
    reasons: Mapping[str, str] = field(default_factory=dict)
    real_points: int = 0
    synthetic_points: int = 0
    real_left_out: int = 0
    synthetic_left_out: int = 0
    seed: int = 0
    banner: str = BANNER
    comparison: Comparison | None = field(default=None, compare=False, repr=False)
    without_place: Mapping[str, float] = field(default_factory=dict)

    def __repr__(self) -> str:
        counted = f"{self.real_points:,} real and {self.synthetic_points:,} synthetic points"
        rows = [(line.name, line.text) for line in lines(self)]
        width = max((len(name) for name, _ in rows), default=0)
        return "\n".join([f"<Evaluation of {counted}: {self.banner}>", *(f"{a:<{width}}  {b}" for a, b in rows)])

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "comparison": None}

    def to_dict(self) -> dict[str, Any]:
        """Return everything, with the unit, the better direction and the reading of each number."""
        told = ("banner", "real_points", "synthetic_points", "real_left_out", "synthetic_left_out", "seed")
        facts = ("unit", "better", "best", "reading")
        measured = {
            name: {"value": value} | {fact: getattr(_row(name), fact) for fact in facts}
            for name, value in self.values.items()
        }
        for name, value in self.without_place.items():
            measured[name]["without_place"] = value
        return {name: getattr(self, name) for name in told} | {"measures": measured, "not_measured": dict(self.reasons)}

    def to_json(self) -> str:
        """Return `to_dict` as JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False, indent=2)

    def warnings(self) -> list[str]:
        """Return what makes the comparison doubtful, in sentences."""
        found = []
        if not len(self.compared.synthetic):
            found.append(f"{self.compared.names[1]} has no points: most measures cannot be computed.")
        if self.real_left_out > self.real_points:
            total = self.real_points + self.real_left_out
            found.append(f"{self.real_left_out:,} of {total:,} real points are not on the world's land.")
        if self.by_person is not None:
            found.append(
                f"The release is by person. It has as many rows as noisy answers tell: {self.by_person.estimate}. Rows "
                f"are compared as shares of all rows. Whoever has more than {self.by_person.max_points} counts as "
                f"{self.by_person.max_points}: busy persons weigh less than in the real file."
            )
        about = self.compared.statement
        if about is not None and about.domain.world_sha256 != self.compared.world.digest:
            found.append(
                f"{self.compared.names[1]} was made for another world: give the one that it was released with."
            )
        return found

    @property
    def by_person(self) -> People | None:
        """What a row stands for, if the release is by person."""
        about = None if self.comparison is None else self.comparison.statement
        return None if about is None else about.people

    @property
    def compared(self) -> Comparison:
        """What was compared."""
        if self.comparison is None:
            raise InputError("This evaluation was pickled, and its points are not kept in a pickle. Evaluate again.")
        return self.comparison

    def report(self, path: str | Path, *, force: bool = False) -> None:
        """Write a page with both maps and every number: it contains real points, so it is for their owner only.

        A file that exists is replaced only with `force`.
        """
        from pointveil.evaluation.report.owner import report_page
        from pointveil.evaluation.report.pages import write_page

        refuse_existing(Path(path), force=force)
        write_page(Path(path), report_page(self))


@dataclass(frozen=True)
class Line:
    """One measure, or the same measure at several sizes, with how to read it."""

    name: str  # as in the table of measures, without the size
    values: tuple[tuple[str, str], ...]  # size (or nothing) and number, as texts
    best: str
    reading: str  # one or two plain sentences; or why there is no number

    @property
    def text(self) -> str:
        """The numbers in a row, or why there are none."""
        return "  ".join(f"{size}: {value}" if size else value for size, value in self.values) or self.reading


def lines(result: Evaluation) -> list[Line]:
    """Return every measure in a line, those that differ only in size together."""
    families: dict[str, list[str]] = {}
    rows = list(MEASURES)
    for name in sorted({**result.values, **result.reasons}, key=lambda name: rows.index(_split(name)[0])):
        family, (_, column) = _row(name).family, _split(name)
        families.setdefault(f"{family}: {column}" if column else family, []).append(name)
    return [_line(family, names, result) for family, names in families.items()]


def _line(family: str, names: list[str], result: Evaluation) -> Line:
    known = [name for name in names if name in result.values]
    if not known:
        return Line(family, (), "", f"Not measured: {result.reasons[names[0]]}.")
    values = tuple((_row(name).size, _value_text(name, result)) for name in known)
    row = _row(known[0])
    return Line(family, values, f"{row.best:g}", row.family_reading + (f" {BRACKETS}" if row.by_place else ""))


def _value_text(name: str, result: Evaluation) -> str:
    """Return a number, and in brackets what it would be without looking at the place."""
    unit, without = _row(name).unit, result.without_place.get(name)
    beside = "" if without is None else f" ({value_text(without, unit)})"
    return value_text(result.values[name], unit) + beside


def value_text(value: float, unit: str) -> str:
    """Return a number with its unit, with as many digits as it deserves."""
    digits = 0 if abs(value) >= 1000 else 1 if abs(value) >= 100 else 2 if abs(value) >= 10 else 3
    return f"{value:,.{digits}f}{f' {unit}' if unit else ''}"


def _split(name: str) -> tuple[str, str]:
    """Return the row of the table of measures, and the column, if the name carries one."""
    row, _, column = name.partition(COLUMN)
    return row, column


def _row(name: str) -> Measure:
    return MEASURES[_split(name)[0]]


def evaluate(
    real: Any,
    synthetic: Any,
    world: World,
    *,
    columns: tuple[str, str] | None = None,
    crs: str | None = None,
    measures: Iterable[str] | None = None,
    seed: int = 0,
    population: Any = None,
    progress: Progress | None = None,
) -> Evaluation:
    """Compare synthetic points with the real ones by every measure.

    The result says things about the real points that no noise protects: keep it to yourself.

    Parameters
    ----------
    real
        The private points: a file or frame that a vault can be opened on, or an `(n, 2)` array of x (longitude) and
        y (latitude). As in a release, only those on land are looked at.
    synthetic
        The synthetic points: `SyntheticPoints`, or any of the same kinds.
    world
        Where they are.
    columns, crs
        Coordinate columns and coordinate system of the real points, if they do not say themselves; arrays, also a
        synthetic one, are in this system (default: EPSG:4326).
    measures
        Names out of `MEASURES`, such as "nce_100", or "nce" for all its sizes (default: all; those of kept columns
        where there are any).
    seed
        Chooses grid shifts, centres and samples; the same seed gives the same numbers.
    population
        The points that the real ones are a sample of, if they are at hand, in the same form: for `another_sample` and
        `effective_sample_size`.
    progress
        Is called before each measure with how many are done, of how many, and the title of the next.

    Returns
    -------
    Evaluation
        Each measure's number in its own unit (metres, bits, points or none), or the reason why it has none.

    Examples
    --------
    >>> import numpy as np
    >>> from pointveil import World
    >>> from pointveil.evaluation import evaluate
    >>> world = World.make((10.00, 50.00, 10.01, 50.01))
    >>> rng = np.random.default_rng(1)
    >>> real, synthetic = rng.uniform((10.00, 50.00), (10.01, 50.01), size=(2, 500, 2))
    >>> result = evaluate(real, synthetic, world, measures=["total_count", "nce_500", "medd"])
    >>> result
    <Evaluation of 500 real and 500 synthetic points: contains real points: do not share>
    nce          500 m: 0.084
    medd         Not measured: MEDD needs roads in the world.
    total_count  0.000
    >>> result.values["total_count"]
    0.0
    """
    names = None if measures is None else _known(measures)
    pair = compare(real, synthetic, world, columns=columns, crs=crs, seed=seed, population=population)
    return measure_all(pair, names, progress)


def measure_all(
    comparison: Comparison, measures: Iterable[str] | None = None, progress: Progress | None = None
) -> Evaluation:
    """Apply every measure, or some, to points that are already in metres."""
    values: dict[str, float] = {}
    without_place: dict[str, float] = {}
    reasons: dict[str, str] = {}
    tasks = _tasks(_known(measures), comparison, everything=measures is None)
    for done, (name, row, bins) in enumerate(tasks):
        if progress is not None:
            progress(done, len(tasks), row.title)
        try:
            values[name] = row(comparison, **({} if bins is None else {"bins": bins}))
            if row.by_place and bins is not None:
                without_place[name] = row(comparison, bins=comparison.without_place(bins))
        except UnmeasuredError as error:
            reasons[name] = str(error)
    counts = len(comparison.real), len(comparison.synthetic), *comparison.left_out
    return Evaluation(
        values, reasons, *counts, seed=comparison.seed, comparison=comparison, without_place=without_place
    )


def _tasks(names: list[str], comparison: Comparison, *, everything: bool) -> list[tuple[str, Measure, Bins | None]]:
    """Return what to measure: its name, its row, and what of the kept columns it is for.

    A name carries the column where there are several. Measures of columns or of a population that there are not are
    left out when everything is measured, and have a reason when they were asked for.
    """
    tasks: list[tuple[str, Measure, Bins | None]] = []
    for name in names:
        row = MEASURES[name]
        if everything and row.population and comparison.population is None:
            continue
        bins = [] if row.of is None else comparison.bins(row.of)
        if len(bins) > 1:
            tasks += [(f"{name}{COLUMN}{each.name}", row, each) for each in bins]
        elif bins or row.of is None or not everything:
            tasks.append((name, row, bins[0] if bins else None))
    return tasks


def _known(measures: Iterable[str] | None) -> list[str]:
    if measures is None:
        return list(MEASURES)
    families: dict[str, list[str]] = {}
    for name, row in MEASURES.items():
        families.setdefault(row.family, []).append(name)
    asked = [measures] if isinstance(measures, str) else list(measures)
    unknown = [name for name in asked if name not in families and name not in MEASURES]
    if unknown:
        known = ", ".join(families)
        raise InputError(f"There is no measure {', '.join(unknown)}. Choose from: {known}; or one size, as nce_100.")
    return [row for name in asked for row in ([name] if name in MEASURES else families[name])]
