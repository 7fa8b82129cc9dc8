"""Who is protected: one point, or one person with at most k points."""

from dataclasses import dataclass

from pointveil.engines import VOTES
from pointveil.statement import ONE_POINT, Asked, person_unit

SAME_NAME = (
    "Names are compared as text, each by itself, without white space around it, in Unicode's form NFC, and numbers as "
    "decimals without needless zeros: 7, 7.0 and '7' are one person, '007' is another, and a blank is nobody."
)


@dataclass(frozen=True)
class Protection:
    """The unit whose presence or absence must not be told.

    Parameters
    ----------
    points
        What the unit may count for; None for a person as long as that is not known. Noise is that much wider.
    person
        The column that says whose point it is; without it the unit is a single point.
    """

    points: int | None = 1
    person: str | None = None

    def __post_init__(self) -> None:
        if self.points is not None and not (type(self.points) is int and self.points >= 1):
            raise ValueError(f"max_points must be a whole number of at least 1, not {self.points!r}.")

    @property
    def votes(self) -> int:
        """What one point counts for in a count: of a person's points, so many whole votes."""
        return 1 if self.person is None else VOTES

    def sensitivity(self, question: Asked, least: int = 1) -> int:
        """Return by how much one unit can change the exact answer to a question, in all (bounding.md, noise.md)."""
        if question == "persons":
            return 1  # each person is in one bin
        if self.points is None:
            raise ValueError("Say max_points=, or ask first how many points persons have (`persons`, `use_at_most`).")
        return self.points * {"count": self.votes, "crowding": least, "scatter": 1}[question]

    @property
    def unit(self) -> str:
        """The protected unit, in words."""
        return ONE_POINT if self.person is None else person_unit(self.points)

    @property
    def limits(self) -> tuple[str, ...]:
        """What this unit does not protect, in words."""
        if self.person is not None:
            return (
                "Groups of people: k people together are protected with k times epsilon.",
                f"People with several names: a person is all records with one name. {SAME_NAME}",
            )
        return (
            "A person with several points: k points together are protected only with k times epsilon.",
            "People as such: give a person column to protect a person with all their points.",
        )
