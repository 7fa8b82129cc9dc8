"""A release by person: what is asked first, what follows from it, and what its statement says."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import pointveil as pv
from pointveil.errors import StoppedError, VerificationError
from pointveil.estimate.sizes import ENDS, learn_sizes, part_for_sizes
from pointveil.evaluation.report.readings import cards
from pointveil.releases import is_noise
from pointveil.statement import Statement, digest_of, parse_statement
from pointveil.surveys import Survey
from pointveil.vault import VOTES, NoisyCounts, Vault
from pointveil.world import World


def people(sizes: list[int], seed: int = 1) -> pa.Table:
    """Return persons with so many points, each around a home of their own."""
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(len(sizes)), sizes)
    home = rng.uniform((10.001, 50.001), (10.008, 50.011), (len(sizes), 2))
    places = home[who] + rng.normal(0, 0.0002, (len(who), 2))
    return pa.table({"lon": places[:, 0], "lat": places[:, 1], "who": who})


@pytest.mark.parametrize(("size", "expected"), [(1, {1}), (6, {4, 8}), (40, {32, 64})])
def test_what_a_person_counts_for_follows_from_noisy_numbers(size: int, expected: set[int], plain_world: World) -> None:
    table = people([size] * 4000)

    made = pv.survey(Vault.rehearse(table, plain_world, epsilon=1, seed=2, person="who"), "ugrid-uni")

    known = made.statement.people
    assert known is not None
    assert known.max_points in expected
    assert known.max_points_from == "the noisy numbers of points"
    assert abs(known.persons - 4000) < 3 * known.persons_margin
    assert len(pv.draw(made, seed=1)) == known.points
    assert [question.purpose for question in made.statement.questions] == ["persons", "sizes", "count"]
    assert [question.sensitivity for question in made.statement.questions] == [1, 1, VOTES * known.max_points]
    assert str(known.max_points) in made.statement.guarantee.unit
    assert sum(Fraction(question.epsilon) for question in made.statement.questions) == 1


def test_too_few_persons_stop_a_release(plain_world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pointveil.releases.is_noise", is_noise)  # as it is
    monkeypatch.setattr("pointveil.releases.NOISE_DEVIATIONS", 12)  # never by chance
    vault = Vault.open(people([100] * 143), plain_world, epsilon=1, person="who", ledger=None)

    with pytest.raises(StoppedError, match="persons seem to be"):
        pv.survey(vault, "ugrid-uni")


def test_with_too_few_persons_a_public_default_is_used_and_said(plain_world: World) -> None:
    vault = Vault.rehearse(people([3] * 10), plain_world, epsilon=1, seed=7, person="who")
    known = pv.survey(vault, "ugrid-uni", small=True).statement.people

    assert known is not None
    assert known.points_margin is None
    assert known.max_points_from.startswith("a public default")
    assert known.max_points == 8


def test_a_survey_by_person_is_read_back_and_drawn_alike(plain_world: World, tmp_path: Path) -> None:
    made = pv.survey(Vault.rehearse(people([5] * 3000), plain_world, epsilon=1, seed=3, person="who"), "veil")
    made.write(tmp_path / "people.survey", key=None)

    again = Survey.read(tmp_path / "people.survey")

    assert np.array_equal(pv.draw(again, seed=4).coordinates, pv.draw(made, seed=4).coordinates)


CHANGES = {
    "sensitivity of a count": lambda content: content["questions"][-1].update(
        sensitivity=content["people"]["max_points"]
    ),
    "sensitivity of persons": lambda content: content["questions"][0].update(sensitivity=VOTES),
    "points of a person": lambda content: content["people"].update(max_points=content["people"]["max_points"] * 2),
    "sizes never asked": lambda content: content["people"].update(points_margin=None),
    "another meaning of a row": lambda content: content["people"].update(row="One row is one person."),
    "no word of persons": lambda content: content.pop("people"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_statement_that_does_not_fit_its_persons_is_refused(change: str, plain_world: World) -> None:
    made = pv.survey(Vault.rehearse(people([5] * 3000), plain_world, epsilon=1, seed=3, person="who"), "ugrid-uni")
    content = made.statement._content()
    CHANGES[change](content)

    with pytest.raises(VerificationError):
        parse_statement(Statement.model_validate(content).to_json())
    assert digest_of(content) != digest_of(made.statement._content())


def test_sizes_cost_a_tenth_of_epsilon_at_most(plain_world: World) -> None:
    made = pv.survey(Vault.rehearse(people([5] * 3000), plain_world, epsilon=1, seed=3, person="who"), "ugrid-uni")
    content = made.statement._content()
    _, sizes, last = content["questions"]
    both = Fraction(sizes["epsilon"]) + Fraction(last["epsilon"])

    def costing(epsilon: Fraction) -> str:
        """Return the statement with the last question paying for what sizes cost more: the sum stays the same."""
        sizes["epsilon"], last["epsilon"] = str(epsilon), str(both - epsilon)
        return Statement.model_validate(content).to_json()

    parse_statement(costing(Fraction(1, 10)))
    with pytest.raises(VerificationError, match="about persons"):
        parse_statement(costing(Fraction("0.1001")))


def test_a_survey_whose_persons_do_not_follow_from_its_answers_is_refused(plain_world: World, tmp_path: Path) -> None:
    made = pv.survey(Vault.rehearse(people([5] * 3000), plain_world, epsilon=1, seed=3, person="who"), "ugrid-uni")
    assert made.statement.people is not None
    more = made.statement.people.model_copy(update={"points": made.statement.people.points + 1})
    object.__setattr__(made, "statement", made.statement.model_copy(update={"people": more}))
    made.write(tmp_path / "people.survey", key=None)

    with pytest.raises(VerificationError, match="does not follow"):
        Survey.read(tmp_path / "people.survey")


@pytest.mark.parametrize("law", ["ones", "lognormal", "poisson"])
def test_the_margin_of_the_number_of_points_holds(law: str) -> None:
    rng = np.random.default_rng(5)
    sizes = {
        "ones": np.ones(9000, dtype=int),
        "lognormal": np.maximum(1, np.rint(rng.lognormal(1.1, 1.25, 9000))).astype(int),
        "poisson": np.maximum(1, rng.poisson(20, 9000)),
    }[law]
    exact = np.bincount(np.searchsorted(ENDS, np.minimum(sizes, ENDS[-1])), minlength=len(ENDS))
    part = part_for_sizes(9000, Fraction(1))
    assert part is not None
    held = []
    for _ in range(200):
        noisy = exact + np.rint(rng.laplace(0, 1 / float(part), len(exact))).astype(np.int64)
        found = learn_sizes(NoisyCounts(noisy, "sizes", part))
        held.append(abs(found.points - sizes[sizes <= found.most_seen].sum()) <= found.margin)
    assert np.mean(held) >= 0.9


def test_the_fewer_persons_the_more_is_spent_on_their_numbers_of_points() -> None:
    parts = [part_for_sizes(persons, Fraction(1)) for persons in (100, 400, 4000, 400_000)]

    assert parts == [None, Fraction(1, 10), Fraction(1, 20), Fraction(1, 100)]


def test_who_reads_a_release_by_person_is_told_what_a_row_is_and_why_there_are_no_margins(plain_world: World) -> None:
    table = people([2] * 2000 + [200] * 100)
    made = pv.synthesize(Vault.rehearse(table, plain_world, epsilon=2, seed=3, person="who"), seed=1)
    known = made.statement.people
    assert known is not None

    told = str(made.statement)
    assert f"with {known.points:,} ± {known.points_margin:,} points" in told
    assert known.row in told
    assert "busy persons weigh less" in str(made.count((10.004, 50.005, 200)))


def test_an_evaluation_by_person_says_why_there_are_not_as_many_and_compares_shares(plain_world: World) -> None:
    table = people([2] * 2000 + [200] * 100)
    made = pv.synthesize(Vault.rehearse(table, plain_world, epsilon=2, seed=3, person="who"), seed=1)
    assert made.statement.people is not None

    found = pv.evaluate(table, made, plain_world, measures=["nce_shifted_100", "total_count", "off_land"])

    assert found.by_person == made.statement.people
    assert made.statement.people.estimate in " ".join(found.warnings())
    place, total = (card for card in cards(found) if card.level != "none" or "rows" in card.sentence)
    assert place.answer.startswith(f"{1 - found.values['nce_shifted_100'] / 2:.0%} in")
    assert made.statement.people.estimate in total.sentence
