"""Break the real code in a line or two: the audit of the real methods, as it is, must notice."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import pointveil.engines.at_most
import pointveil.engines.base
import pointveil.partition.base
import pointveil.releases
import pointveil.vault.kernel
import pointveil.vault.noise
import pointveil.vault.protection
import pointveil.vault.vault
from pointveil.lab.audit import FAST, audit, subjects
from pointveil.statement import wording

SUBJECTS = subjects(persons=True)
vault = pointveil.vault.vault
base = pointveil.engines.base
Patch = Callable[[pytest.MonkeyPatch], None]


def too_little_noise(patch: pytest.MonkeyPatch) -> None:
    honest = pointveil.vault.noise.DiscreteLaplace
    patch.setitem(pointveil.vault.noise.NOISES, "exact", lambda epsilon: honest(epsilon * Fraction(3, 2)))


def shifted_noise_for_busy_cells(patch: pytest.MonkeyPatch) -> None:
    """Counts above zero get one more, so a single point stands out twice as far."""
    honest = base.tally_cells
    patch.setattr(base, "tally_cells", lambda *question: honest(*question) * 2)


def neighbours_counted_too(patch: pytest.MonkeyPatch) -> None:
    honest = base.tally_cells

    def tally(cells: Any, xy: Any, size: int, codes: Any, votes: Any = None) -> Any:
        exact = honest(cells, xy, size, codes, votes)
        return exact + np.roll(exact, 1)

    patch.setattr(base, "tally_cells", tally)


def noise_from_a_seed(patch: pytest.MonkeyPatch) -> None:
    honest = pointveil.vault.noise.DiscreteLaplace.draw
    seeded = pointveil.vault.noise.SeededWords

    def draw(self: Any, count: int, _: Any) -> Any:
        return honest(self, count, seeded(7))

    patch.setattr(pointveil.vault.noise.DiscreteLaplace, "draw", draw)


def sites_not_blurred(patch: pytest.MonkeyPatch) -> None:
    honest = pointveil.vault.kernel.weight_inside
    patch.setattr(pointveil.vault.kernel, "weight_inside", lambda epsilon: honest(8 * epsilon))


def a_whole_vote_for_every_point(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(pointveil.engines.at_most.AtMost, "votes", lambda _, __, counts, each: counts * each)


def persons_in_a_bin_for_each_place(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(pointveil.engines.at_most, "_sizes", lambda _, counts: counts)


def half_the_noise_for_persons(patch: pytest.MonkeyPatch) -> None:
    honest = pointveil.vault.noise.DiscreteLaplace
    patch.setitem(pointveil.vault.noise.NOISES, "exact", lambda epsilon: honest(epsilon * 2))


def one_point_charged_for_many(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(pointveil.vault.protection.Protection, "sensitivity", lambda self, *_: self.votes)


def a_crowd_charged_as_one_point(patch: pytest.MonkeyPatch) -> None:
    """The noise of a count, although 21 people become a crowd at once."""
    honest = pointveil.vault.noise.DiscreteLaplace
    patch.setitem(pointveil.vault.noise.NOISES, "exact", lambda epsilon: honest(epsilon * 21))


def a_persons_crowd_charged_as_one_point(patch: pytest.MonkeyPatch) -> None:
    honest = pointveil.vault.noise.DiscreteLaplace
    patch.setitem(pointveil.vault.noise.NOISES, "exact", lambda epsilon: honest(epsilon * 8))


def exact_total_in_the_statement(patch: pytest.MonkeyPatch) -> None:
    honest = wording.describe

    def describe(account: Any, protection: Any, world: Any, **facts: Any) -> Any:
        said = honest(account, protection, world, **facts)
        return said.model_copy(update={"numerics": f"{said.numerics}; {counted[-1] if counted else 0} points"})

    counted: list[int] = []
    honest_tally = base.tally_cells

    def tally(cells: Any, xy: Any, size: int, codes: Any, votes: Any = None) -> Any:
        counted.append(len(xy))
        return honest_tally(cells, xy, size, codes, votes)

    patch.setattr(vault, "describe", describe)
    patch.setattr(base, "tally_cells", tally)


def an_error_for_a_lonely_point(patch: pytest.MonkeyPatch) -> None:
    honest = base.tally_cells

    def tally(cells: Any, xy: Any, size: int, codes: Any, votes: Any = None) -> Any:
        if len(xy) == 1:
            raise ValueError
        return honest(cells, xy, size, codes, votes)

    patch.setattr(base, "tally_cells", tally)


def outliers_dropped(patch: pytest.MonkeyPatch) -> None:
    """Points far from the middle of all others are dropped: one person moves the middle."""
    honest = base.tally_cells

    def tally(cells: Any, xy: Any, size: int, _: Any) -> Any:
        near = xy[np.linalg.norm(xy - xy.mean(axis=0), axis=1) < 200] if len(xy) else xy
        return honest(cells, near, size)

    patch.setattr(base, "tally_cells", tally)


QUICK = ("vault.count", "ugrid-uni")
BROKEN: dict[Patch, tuple[str, ...]] = {
    too_little_noise: QUICK,
    shifted_noise_for_busy_cells: ("vault.count",),
    neighbours_counted_too: QUICK,
    noise_from_a_seed: ("vault.count",),
    sites_not_blurred: ("vault.scatter",),
    a_whole_vote_for_every_point: ("vault.count, person",),
    persons_in_a_bin_for_each_place: ("vault.persons",),
    half_the_noise_for_persons: ("vault.persons",),
    one_point_charged_for_many: ("vault.count, person", "ugrid-uni, person"),
    a_crowd_charged_as_one_point: ("vault.crowding",),
    a_persons_crowd_charged_as_one_point: ("vault.crowding, person",),
    exact_total_in_the_statement: ("ugrid-uni",),
    an_error_for_a_lonely_point: ("ugrid-uni",),
    outliers_dropped: ("vault.count",),
}


# Where those show that most other cases do not catch: tried first.
SHOWS_IN: dict[Patch, str] = {
    persons_in_a_bin_for_each_place: "one person in eight places",
    half_the_noise_for_persons: "one busy person",
    a_crowd_charged_as_one_point: "twenty at one place, or one more",
    a_persons_crowd_charged_as_one_point: "one person who makes eight crowds",
    exact_total_in_the_statement: "twenty at one place, or one more",
}


@pytest.mark.parametrize(
    ("broken", "name"),
    [(broken, name) for broken, names in BROKEN.items() for name in names],
    ids=lambda it: str(getattr(it, "__name__", it)),
)
def test_broken_code_is_noticed(broken: Patch, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    broken(monkeypatch)

    findings = list(audit(SUBJECTS[name], FAST, until_flagged=True, first=SHOWS_IN.get(broken)))

    assert findings[-1].flagged, [(finding.case, finding.evidence) for finding in findings]
