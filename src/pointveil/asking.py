"""Ask all that a release needs: the total or the persons first, then places, then kept columns."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, NamedTuple, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from pointveil.columns import Column
from pointveil.estimate.sizes import ENDS, NINE_IN_TEN, USUAL_POINTS, Sizes, learn_sizes, part_for_sizes
from pointveil.keeping import PLACES, Laws, learn_laws
from pointveil.methods import TOTAL, Method
from pointveil.partition import Budget, Divided
from pointveil.statement import ROW, People
from pointveil.vault import VOTES, Cells, NoisyCounts, NoisyPoints, Respondent, Share, Sites
from pointveil.world import World

SHARES = 8  # of a person who counts in full: what answers are rounded to before a method sees them
OF_PERSONS, OF_SIZES = "persons", "sizes"  # the purposes of what is asked about them
CHOSEN_FROM, SAID_BY, USUAL = get_args(People.model_fields["max_points_from"].annotation)
Parts = tuple[tuple[Cells, NoisyCounts], ...]


class Prepared(NamedTuple):
    """All that drawing needs: the divided world, the placement's answers, and what the kept columns say.

    And, for margins, the cells that were counted, with the noisy counts.
    """

    counted: Divided
    asked: Any
    laws: Laws | None
    parts: Parts
    people: People | None  # if persons are protected

    @property
    def rows(self) -> int:
        """How many points there seem to be."""
        return self.counted.total if self.people is None else self.people.points


class Answering(Respondent, Protocol):
    """Something that answers all that a release asks: a vault, or a recording of one."""

    @property
    def by_person(self) -> bool:
        """Whether persons are protected, each with all their points."""

    @property
    def max_points(self) -> int | None:
        """What the operator said a person may count for; None if it was not said, or if points are protected."""

    def persons(self, ends: tuple[int, ...], share: Share) -> NoisyCounts:
        """Answer with noise how many persons have so many points."""

    def use_at_most(self, points: int) -> None:
        """Let a person count as at most so many points from now on."""


@dataclass(frozen=True)
class KnownTotal:
    """Answers as a vault does, and gives who asks for the total the answer that there is already.

    What else is counted is remembered, with the cells: public, or made from noisy answers alone.

    Where persons are protected, counts come to a method in persons who count in full: noise is then as if each had one
    point, whatever they may count for.
    """

    vault: Answering
    total: NoisyCounts
    points_per_unit: int = 1
    parts: list[tuple[Cells, NoisyCounts]] = field(default_factory=list)

    @property
    def kept_per_unit(self) -> int:
        """As the vault says."""
        return self.vault.kept_per_unit

    @property
    def crs(self) -> str:
        """As the vault says."""
        return self.vault.crs

    def count(self, cells: Cells, share: Share) -> NoisyCounts:
        """Return the total, if it is asked for as it was; or ask."""
        if share.purpose != TOTAL:
            self.parts.append((cells, self._per_unit(self.vault.count(cells, share))))
            return self.parts[-1][1]
        if self.vault.by_person:
            return self.total
        if share.epsilon != self.total.epsilon or len(cells) != len(self.total.values):
            raise ValueError("every release asks for the total first; a partitioner says in which cells: total_cells")
        return self.total

    def crowding(self, cells: Cells, least: int, share: Share) -> NoisyCounts:
        """Ask: a crowd has as many kept points as so many persons who count in full."""
        held = self.kept_per_unit
        answer = self.vault.crowding(cells, least * held, share)
        return replace(answer, values=answer.values / held, points_per_unit=answer.points_per_unit // held)

    def scatter(self, regions: Sites, wanted: NDArray[np.int64], share: Share, *, max_uses: int = 1) -> NoisyPoints:
        """Ask."""
        return self.vault.scatter(regions, wanted * self.kept_per_unit, share, max_uses=max_uses)

    def _per_unit(self, answer: NoisyCounts) -> NoisyCounts:
        if not self.vault.by_person:
            return answer
        values = np.rint(answer.values * (SHARES / answer.points_per_unit)) / SHARES
        return NoisyCounts(values, answer.purpose, answer.epsilon, 1, SHARES)


def ask_all(
    asked_one: Answering,
    world: World,
    method: Method,
    epsilon: Fraction,
    keep: tuple[Column, ...],
    *,
    told: Callable[[NoisyCounts], None] = lambda _: None,
) -> Prepared:
    """Ask everything that the method and the kept columns need; it costs exactly `epsilon`.

    The total comes first, or the number of persons if they are protected, and `told` is told of it before anything else
    is asked: it may raise, to stop.
    """
    for_columns = sum((column.part_of_epsilon for column in keep), Fraction(0))
    for_places = epsilon * (1 - for_columns)
    budget, people = method.budget(for_places), None
    if asked_one.by_person:
        total, people, budget = ask_people(asked_one, budget, told)
    else:
        total = asked_one.count(method.total_cells(world, for_places, asked_one.crs), budget[TOTAL])
        told(total)
    vault = KnownTotal(asked_one, total)
    counted = method.partitioner.divide(vault, world, budget)
    asked = method.placement.ask(vault, world, counted, budget)
    if people is not None and people.points_margin is None:  # all that is known of points is what was counted
        full = max(counted.total, 1)
        known = {"points": full * people.max_points, "full_persons": full}
        people = people.model_copy(update=known)
    if not for_columns:
        return Prepared(counted, asked, None, tuple(vault.parts), people)
    # Regions follow the released map: from places drawn of it, always the same, so that a recording finds them again.
    places = method.placement.draw(world, counted, asked, PLACES, np.random.default_rng(0))
    laws = learn_laws(vault, keep, epsilon, places, counted.total)
    return Prepared(counted, asked, laws, tuple(vault.parts), people)


def ask_people(
    vault: Answering, budget: Budget, told: Callable[[NoisyCounts], None]
) -> tuple[NoisyCounts, People, Budget]:
    """Ask how many persons there are and how many points they have; return votes, what is known, and what is left.

    What a person may count for is said to the vault here, and follows from noisy answers, unless the operator said it.
    """
    given, epsilon = vault.max_points, sum((share.epsilon for share in budget.values()), Fraction(0))
    first = budget[TOTAL].epsilon
    noisy = vault.persons((1,), Share(OF_PERSONS, first))
    told(noisy)
    part, sizes = part_for_sizes(int(noisy.values[0]), epsilon), None
    if part is not None:
        sizes = learn_sizes(vault.persons(ENDS, Share(OF_SIZES, part * epsilon)), given)
        left = 1 - part * epsilon / (epsilon - first)
        budget = {name: share if name == TOTAL else Share(name, share.epsilon * left) for name, share in budget.items()}
    people = known_people(noisy, sizes, given)
    vault.use_at_most(people.max_points)
    votes, deviation = (people.persons, math.sqrt(noisy.variance)) if sizes is None else sizes.votes
    # As sure as one count with this noise would be; to six digits, however wide the noise is.
    sure = Fraction(f"{math.sqrt(2) / deviation:.6g}")
    return NoisyCounts(np.array([votes]), TOTAL, sure, 1, SHARES), people, budget


def known_people(noisy: NoisyCounts, sizes: Sizes | None, given: int | None) -> People:
    """Return what is known of persons, from their noisy number and, if these were asked for, their numbers of points.

    If they were not, all that is known of points is what will be counted.
    """
    persons = max(int(noisy.values[0]), 1)
    most = sizes.max_points if sizes is not None else given or USUAL_POINTS
    return People(
        persons=persons,
        persons_margin=math.ceil(NINE_IN_TEN * math.sqrt(noisy.variance)),
        max_points=most,
        max_points_from=SAID_BY if given is not None else USUAL if sizes is None else CHOSEN_FROM,
        full_persons=persons if sizes is None else round(sizes.votes[0]),
        votes_per_point=VOTES,
        points=persons * most if sizes is None else sizes.points,
        points_margin=None if sizes is None else sizes.margin,
        most_seen=most if sizes is None else sizes.most_seen,
        row=ROW.format(points=most),
    )


def people_fit(people: People, answers: Sequence[NoisyCounts | NoisyPoints]) -> bool:
    """Whether what a statement says about persons follows from the noisy answers, as far as these were asked for."""
    persons, *others = (answer for answer in answers if isinstance(answer, NoisyCounts))
    given = people.max_points if people.max_points_from == SAID_BY else None
    if people.points_margin is not None:
        return people == known_people(persons, learn_sizes(others[0], given), given)
    known = known_people(persons, None, given)  # how many points were counted is known only when all was worked out
    return people == known.model_copy(update={name: getattr(people, name) for name in ("points", "full_persons")})
