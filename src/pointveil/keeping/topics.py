"""What is asked about the kept columns, in which order, and what each question may cost."""

from dataclasses import dataclass
from fractions import Fraction

from pointveil.columns import Column, Part, Time
from pointveil.estimate.axes import AXES, Axis, with_other
from pointveil.vault import Share

DATE_MOST, DATE_LEAST = Fraction(1, 7), Fraction(1, 60)  # of a column's share, for dates
ROUGH_DAYS = 40  # the mean day may be wrong by one over so many
# Of a column's share: what its second part gets. Dates of many weeks get what they need, the first part the rest.
SECOND = {
    ("time of day", "day of the week"): Fraction(7, 20),
    ("time of day", "day of the week", "date"): Fraction(1, 24),
    ("time of day", "date"): Fraction(1, 10),
}
# Of a part's share: the whole city's histogram; a small first table, where it is not known whether place matters; and
# how the part goes with the leading one. Days of the week of a dated column have little to spend: half of it
# goes to how they go with the time of day.
HISTOGRAM, OUTLINE, PAIRS, DATED_PAIRS = Fraction(1, 20), Fraction(1, 10), Fraction(1, 5), Fraction(1, 2)


@dataclass(frozen=True, eq=False)
class Topic:
    """One part of one kept column, and the epsilon for it."""

    column: Column
    number: int  # of the column, among those that have codes
    part: Part  # what is counted
    axis: Axis  # the basis along its bins
    epsilon: Fraction  # for all questions about it

    @property
    def size(self) -> int:
        """How many bins there are, with that of other values."""
        return self.part.size

    @property
    def has_other(self) -> bool:
        """Whether its last bin is that of other values."""
        return not self.column.drops

    @property
    def is_time(self) -> bool:
        """Whether it surely follows place: every city has its rhythm."""
        return isinstance(self.column, Time)

    @property
    def is_dates(self) -> bool:
        """Whether its bins are too many to be counted by place: dates, which are drawn by the day of the week."""
        return self.part.name == "date" and any(part.name == "day of the week" for part in self.column.parts())

    @property
    def pairs_share(self) -> Fraction:
        """The part of its epsilon for how it goes with the leading topic."""
        return DATED_PAIRS if isinstance(self.column, Time) and self.column.dated else PAIRS

    def share(self, what: str, part: Fraction) -> Share:
        """Return what may be spent on one question about it."""
        return Share(f"{self.column.name}: {self.part.name} {what}", self.epsilon * part)


def topics_of(keep: tuple[Column, ...], epsilon: Fraction, people: float) -> list[Topic]:
    """Return what to ask about, the leading part first: a time if there is one, for all else may go with it.

    Epsilon is that of the whole release; `people` is how many there seem to be.
    """
    coded = [column for column in keep if column.size]
    numbers = sorted(range(len(coded)), key=lambda number: not isinstance(coded[number], Time))
    return [topic for number in numbers for topic in _of_column(coded[number], number, epsilon, people)]


def _of_column(column: Column, number: int, epsilon: Fraction, people: float) -> list[Topic]:
    parts, whole = column.parts(), column.part_of_epsilon * epsilon
    return [
        Topic(column, number, part, axis_of(part, other=not column.drops), whole * share)
        for part, share in zip(parts, _shares(parts, whole, people), strict=True)
    ]


def _shares(parts: tuple[Part, ...], epsilon: Fraction, people: float) -> list[Fraction]:
    """Return which part of a column's epsilon each of its parts gets; together exactly one."""
    names = tuple(part.name for part in parts)
    others = [SECOND[names]] if names in SECOND else []
    if "day of the week" in names and names[-1] == "date":
        wanted = Fraction(ROUGH_DAYS * parts[-1].size / (max(people, 1.0) * float(epsilon)))
        others.append(min(max(wanted.limit_denominator(1000), DATE_LEAST), DATE_MOST))
    return [1 - sum(others, Fraction(0)), *others]


def axis_of(part: Part, *, other: bool) -> Axis:
    """Return the basis along a part's bins; other values lie apart from what has an order."""
    apart = other and part.axis != "list" and part.size > 1
    return with_other(AXES[part.axis](part.size - 1)) if apart else AXES[part.axis](part.size)
