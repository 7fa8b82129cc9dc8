"""More ways to break the code, written after the audit was made: they say how it does with what it has not seen."""

import logging
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import pointveil.engines.at_most
import pointveil.engines.base
import pointveil.vault.cleaning
import pointveil.vault.kernel
import pointveil.vault.noise
import pointveil.vault.vault
from pointveil.cells import Everywhere
from pointveil.lab.audit import FAST, Subject, audit, subjects
from pointveil.lab.audit.mutants import MUTANTS, grid_of, open_leaky
from pointveil.statement import wording
from pointveil.vault import NoisyCounts, Share

SUBJECTS = subjects(persons=True)
vault = pointveil.vault.vault
base = pointveil.engines.base
Patch = Callable[[pytest.MonkeyPatch], None]
RNG = np.random.default_rng()


def answer_with(patch: pytest.MonkeyPatch, change: Callable[..., Any]) -> None:
    """Let `change` make the answer to a count, from the exact counts, the noise, the cells and the vault itself."""

    def count(self: Any, cells: Any, share: Share) -> NoisyCounts:
        size, k = len(cells), self.points_per_unit
        self._spend(wording.Spend(share.purpose, share.epsilon, "count", size, k))
        exact = vault.ask(lambda: self._Vault__engine.sums([base.Tally(cells, size)])[0], share.epsilon)
        noise = pointveil.vault.noise.NOISES["exact"](share.epsilon / k).draw(size, pointveil.vault.noise.secure_words)
        return NoisyCounts(change(exact, noise, cells=cells, vault=self), share.purpose, share.epsilon, k)

    patch.setattr(vault.Vault, "count", count)


def change_points(patch: pytest.MonkeyPatch, change: Callable[[Any], Any]) -> None:
    """Let `change` choose among the points before they are counted."""
    honest = base.tally_cells
    patch.setattr(base, "tally_cells", lambda cells, xy, size, *_: honest(cells, change(xy[:]), size))


def change_noise(patch: pytest.MonkeyPatch, change: Callable[[Any], Any]) -> None:
    """Let `change` spoil the noise that was drawn."""
    honest = pointveil.vault.noise.DiscreteLaplace.draw
    patch.setattr(
        pointveil.vault.noise.DiscreteLaplace, "draw", lambda self, count, words: change(honest(self, count, words))
    )


def small_counts_hidden(patch: pytest.MonkeyPatch) -> None:
    """Cells with fewer than five people are published as empty."""
    answer_with(patch, lambda exact, noise, **_: np.where(exact < 5, 0, exact + noise))


def noise_for_the_first_question_only(patch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def answer(exact: Any, noise: Any, **facts: Any) -> Any:
        release = facts["vault"]._Vault__release
        asked.append(release)
        return exact + noise * (asked.count(release) == 1)

    answer_with(patch, answer)


def noise_of_one_sign(patch: pytest.MonkeyPatch) -> None:
    change_noise(patch, np.abs)


def one_noise_for_all_cells(patch: pytest.MonkeyPatch) -> None:
    change_noise(patch, lambda noise: np.full_like(noise, noise[0]))


def one_noise_for_two_cells(patch: pytest.MonkeyPatch) -> None:
    change_noise(patch, lambda noise: np.repeat(noise, 2)[: len(noise)])


def no_noise_in_the_last_cell(patch: pytest.MonkeyPatch) -> None:
    change_noise(patch, lambda noise: np.where(np.arange(len(noise)) == len(noise) - 1, 0, noise))


def even_noise(patch: pytest.MonkeyPatch) -> None:
    change_noise(patch, lambda noise: noise * 2)


def noise_kept_for_the_next_time(patch: pytest.MonkeyPatch) -> None:
    drawn: dict[tuple[Fraction, int], Any] = {}
    honest = pointveil.vault.noise.DiscreteLaplace.draw

    def draw(self: Any, count: int, words: Any) -> Any:
        return drawn.setdefault((self.epsilon, count), honest(self, count, words))

    patch.setattr(pointveil.vault.noise.DiscreteLaplace, "draw", draw)


def noise_made_from_the_data(patch: pytest.MonkeyPatch) -> None:
    def answer(exact: Any, noise: Any, **_: Any) -> Any:
        return exact + np.random.default_rng(int(exact.sum())).permutation(np.sort(noise))

    answer_with(patch, answer)


def noise_never_wider_than_two(patch: pytest.MonkeyPatch) -> None:
    honest = pointveil.vault.noise.DiscreteLaplace
    patch.setitem(pointveil.vault.noise.NOISES, "exact", lambda epsilon: honest(max(epsilon, Fraction(1, 2))))


def half_the_noise_in_empty_cells(patch: pytest.MonkeyPatch) -> None:
    answer_with(patch, lambda exact, noise, **_: exact + np.where(exact == 0, noise // 2, noise))


def less_noise_in_busy_cells(patch: pytest.MonkeyPatch) -> None:
    answer_with(patch, lambda exact, noise, **_: exact + np.where(exact > 40, noise // 4, noise))


def sometimes_the_true_total(patch: pytest.MonkeyPatch) -> None:
    def answer(exact: Any, noise: Any, **facts: Any) -> Any:
        told = isinstance(facts["cells"], Everywhere) and RNG.random() < 0.5
        return exact if told else exact + noise

    answer_with(patch, answer)


def rounded_to_a_step_from_the_data(patch: pytest.MonkeyPatch) -> None:
    def answer(exact: Any, noise: Any, **_: Any) -> Any:
        step = 1 + int(exact.sum()) // 10
        return (exact + noise) // step * step

    answer_with(patch, answer)


def half_of_many_points(patch: pytest.MonkeyPatch) -> None:
    """Of more than 3,000 points only half are read, to save time."""
    change_points(patch, lambda xy: xy[RNG.random(len(xy)) < 0.5] if len(xy) > 3000 else xy)


def total_in_the_log(patch: pytest.MonkeyPatch) -> None:
    def log(xy: Any) -> Any:
        logging.getLogger("pointveil").warning("read %d points", len(xy))
        return xy

    change_points(patch, log)


def people_without_neighbours_dropped(patch: pytest.MonkeyPatch) -> None:
    """A point is used only if another lies within 50 m."""

    def near_another(xy: Any) -> Any:
        tile = np.floor(xy / 50.0)
        _, inverse, times = np.unique(tile, axis=0, return_inverse=True, return_counts=True)
        return xy[times[inverse.ravel()] > 1] if len(xy) else xy

    change_points(patch, near_another)


def places_counted_and_not_people(patch: pytest.MonkeyPatch) -> None:
    """Each place of a person counts once, and noise is added as if nobody had two places."""
    patch.setattr(pointveil.engines.at_most.AtMost, "votes", lambda _, __, counts, each: np.full_like(counts, each))
    patch.setattr(pointveil.vault.protection.Protection, "sensitivity", lambda self, *_: self.votes)


def one_point_too_many(patch: pytest.MonkeyPatch) -> None:
    honest = pointveil.engines.at_most.AtMost.__init__

    def more(self: Any, limit: int, **rest: Any) -> None:
        honest(self, limit + 1, **rest)

    patch.setattr(pointveil.engines.at_most.AtMost, "__init__", more)


def water_moved_to_others(patch: pytest.MonkeyPatch) -> None:
    """A record that is not on land is put where the first good record is."""
    honest = pointveil.vault.cleaning.Cleaner.clean

    def clean(self: Any, coordinates: Any) -> Any:
        steps, good = honest(self, coordinates)
        if good.any():
            steps[~good] = steps[np.flatnonzero(good)[-1]]
            good[:] = True
        return steps, good

    patch.setattr(pointveil.vault.cleaning.Cleaner, "clean", clean)


def reading_ends_at_a_bad_record(patch: pytest.MonkeyPatch) -> None:
    honest = pointveil.vault.cleaning.Cleaner.clean

    def clean(self: Any, coordinates: Any) -> Any:
        steps, good = honest(self, coordinates)
        return steps, good & (np.cumsum(~good) == 0)

    patch.setattr(pointveil.vault.cleaning.Cleaner, "clean", clean)


def kernel_too_narrow(patch: pytest.MonkeyPatch) -> None:
    honest = pointveil.vault.kernel.weight_inside
    patch.setattr(pointveil.vault.kernel, "weight_inside", lambda epsilon: honest(2 * epsilon))


def noise_that_adds_up_to_nothing(patch: pytest.MonkeyPatch) -> None:
    """The noise of one cell takes back that of all others, so that the total is right."""

    def balanced(noise: Any) -> Any:
        last = np.arange(len(noise)) == RNG.integers(len(noise))
        return noise - last * noise.sum()

    change_noise(patch, balanced)


def second_half_like_the_first(patch: pytest.MonkeyPatch) -> None:
    change_noise(patch, lambda noise: np.resize(noise[: max(1, len(noise) // 2)], len(noise)))


def counted_in_the_mirror_too(patch: pytest.MonkeyPatch) -> None:
    """Everybody is counted a second time, in the cell that lies across the middle of the world."""
    honest = base.tally_cells

    def tally(cells: Any, xy: Any, size: int, codes: Any, votes: Any = None) -> Any:
        exact = honest(cells, xy, size, codes, votes)
        return exact + exact[::-1]

    patch.setattr(base, "tally_cells", tally)


def centred_on_the_people(patch: pytest.MonkeyPatch) -> None:
    change_points(patch, lambda xy: xy - xy.mean(axis=0) + 500.0 if len(xy) else xy)


def a_word_about_bad_records(patch: pytest.MonkeyPatch) -> None:
    honest = pointveil.vault.cleaning.Cleaner.clean

    def clean(self: Any, coordinates: Any) -> Any:
        steps, good = honest(self, coordinates)
        if len(good) and good.mean() < 0.8:
            print("many records are bad")
        return steps, good

    patch.setattr(pointveil.vault.cleaning.Cleaner, "clean", clean)


def as_many_as_there_are(patch: pytest.MonkeyPatch) -> None:
    """As many blurred points as there are real ones in a region, and not as were asked for."""
    honest = pointveil.vault.kernel.scatter_tokens

    def scatter(regions: Any, sites: Any, site_counts: Any, wanted: Any, **more: Any) -> Any:
        return honest(regions, sites, site_counts, np.bincount(regions, minlength=len(wanted)), **more)

    patch.setattr(vault, "scatter_tokens", scatter)


def full_cells_in_the_statement(patch: pytest.MonkeyPatch) -> None:
    """The statement gives the number of cells that have somebody; as that of its questions, it would be refused."""
    honest_tally, honest_describe, full = base.tally_cells, wording.describe, [0]

    def tally(cells: Any, xy: Any, size: int, codes: Any, votes: Any = None) -> Any:
        exact = honest_tally(cells, xy, size, codes, votes)
        full[0] = int((exact > 0).sum())
        return exact

    def describe(*facts: Any, **more: Any) -> Any:
        said = honest_describe(*facts, **more)
        return said.model_copy(update={"not_promised": (*said.not_promised, f"Privacy in {full[0]} cells.")})

    patch.setattr(base, "tally_cells", tally)
    patch.setattr(vault, "describe", describe)


def sorted_by_true_count(leaky: Any) -> tuple[Any, str]:
    """Rows stand in the order of the true counts of their cells."""
    grid = grid_of(leaky, 12 if leaky.world.land_area <= 1e6 else 60)
    noisy = np.maximum(leaky.count(grid, Share("count", Fraction(1))).values, 0)
    order = np.argsort(leaky.exact_count(grid), kind="stable")
    cell = np.repeat(order, noisy[order])
    xy = grid.lower_corners()[cell] + leaky.rng.random((len(cell), 2)) * np.array(grid.cell_size)
    return leaky.world.projection.from_metres(xy), ""


def kept_if_truly_there(leaky: Any) -> tuple[Any, str]:
    """Empty cells get no points, by their true counts."""
    grid = grid_of(leaky, 12 if leaky.world.land_area <= 1e6 else 60)
    noisy = np.maximum(leaky.count(grid, Share("count", Fraction(1))).values, 0)
    cell = np.repeat(np.arange(len(grid)), np.where(leaky.exact_count(grid) > 0, np.maximum(noisy, 1), 0))
    xy = grid.lower_corners()[cell] + leaky.rng.random((len(cell), 2)) * np.array(grid.cell_size)
    return leaky.rng.permutation(leaky.world.projection.from_metres(xy)), ""


BROKEN: dict[Patch, str] = {
    small_counts_hidden: "ugrid-uni",
    noise_for_the_first_question_only: "ugrid-uni",
    noise_of_one_sign: "vault.count",
    one_noise_for_all_cells: "vault.count",
    one_noise_for_two_cells: "vault.count",
    no_noise_in_the_last_cell: "vault.count",
    even_noise: "vault.count",
    noise_kept_for_the_next_time: "ugrid-uni",
    noise_made_from_the_data: "vault.count",
    noise_never_wider_than_two: "vault.count, ε = 1/4",
    half_the_noise_in_empty_cells: "vault.count",
    less_noise_in_busy_cells: "vault.count",
    sometimes_the_true_total: "ugrid-uni",
    rounded_to_a_step_from_the_data: "ugrid-uni",
    half_of_many_points: "vault.count",
    total_in_the_log: "vault.count",
    people_without_neighbours_dropped: "vault.count",
    places_counted_and_not_people: "vault.count, person",
    one_point_too_many: "vault.count, person with 2 points",
    water_moved_to_others: "vault.count",
    reading_ends_at_a_bad_record: "vault.count",
    kernel_too_narrow: "vault.scatter",
    noise_that_adds_up_to_nothing: "vault.count",
    second_half_like_the_first: "vault.count",
    counted_in_the_mirror_too: "vault.count",
    centred_on_the_people: "vault.count",
    a_word_about_bad_records: "vault.count",
    as_many_as_there_are: "vault.scatter",
    full_cells_in_the_statement: "ugrid-uni",
}
WRONG: dict[str, Subject] = {
    publish.__name__: Subject(publish.__name__, publish, open=open_leaky())
    for publish in (sorted_by_true_count, kept_if_truly_there)
}


# The fast form misses these in up to a quarter of its runs; all others must be caught at the first try.
OFTEN_HIDDEN = {water_moved_to_others, reading_ends_at_a_bad_record}


# Where those show that most other cases do not catch: tried first.
SHOWS_IN: dict[Patch, str] = {
    no_noise_in_the_last_cell: "in the last cell",
    half_of_many_points: "3000 people, or one more",
    rounded_to_a_step_from_the_data: "alternating rows",
    water_moved_to_others: "beside twenty in the water",
    reading_ends_at_a_bad_record: "no place before all others",
    counted_in_the_mirror_too: "on the border of four cells",
    centred_on_the_people: "an outlier at the other end",
    a_word_about_bad_records: "a record that is no place",
    full_cells_in_the_statement: "beside twenty in the water",
}


def attacked(subject: Subject, tries: int = 1, first: str | None = None) -> list[Any]:
    """Audit in the fast form, again with fresh randomness if more than one try is allowed."""
    for _ in range(tries):
        findings = list(audit(subject, FAST, until_flagged=True, first=first))
        if findings[-1].flagged:
            break
    return findings


@pytest.mark.parametrize(("broken", "name"), BROKEN.items(), ids=lambda it: str(getattr(it, "__name__", it)))
def test_code_that_was_broken_later_is_noticed(broken: Patch, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    broken(monkeypatch)

    findings = attacked(SUBJECTS[name], 3 if broken in OFTEN_HIDDEN else 1, SHOWS_IN.get(broken))

    assert findings[-1].flagged, [(finding.case, finding.evidence) for finding in findings]


@pytest.mark.parametrize("name", WRONG)
def test_a_method_that_was_written_later_is_caught(name: str) -> None:
    assert name not in MUTANTS

    findings = attacked(WRONG[name])

    assert findings[-1].flagged, [(finding.case, finding.evidence) for finding in findings]
