"""Cities of canaries, and what is known of them."""

import numpy as np

from pointveil.lab.audit.city import HOME, IN_COMPANY, ROUND_THE_CORNER, City, city_others
from pointveil.lab.audit.features import look_at_alike
from pointveil.lab.audit.questions import QUESTIONS
from pointveil.lab.audit.scattered import Columns
from pointveil.lab.audit.trials import at_home, canary_trials, one_release, throw


def test_what_is_known_is_what_is_in_the_data() -> None:
    city = City(6, 100, IN_COMPANY)

    records, known = city_others(city, 3)

    assert known.count.sum() == len(records.xy) == 100 + 3 * city.companies.sum()
    assert (known.count[1000:] == 3 * city.companies).all()


def test_a_canary_has_more_points_than_are_counted_or_exactly_those_in_two_places() -> None:
    person = QUESTIONS["vault.count, person"]
    there = np.ones(len(City(6, 0).corners), dtype=bool)

    assert len(at_home(City(6, 0), person, there).xy) == 16 * len(there)
    assert len(at_home(City(6, 0, homes=(HOME, ROUND_THE_CORNER)), person, there).xy) == 8 * len(there)


def test_an_exact_count_of_what_is_known_has_no_excess() -> None:
    """With a large epsilon nothing but the hidden canaries is left over."""
    city, subject = City(8, 200, IN_COMPANY), QUESTIONS["vault.count, ε = 4"]

    seen = one_release(subject, city, city.canaries(1), *city_others(city, 1))

    (asked,) = seen.release.asked
    excess = np.asarray(asked.answer.values)[asked.about.locate(seen.units.home)]  # type: ignore[union-attr]
    excess = excess - seen.units.group
    assert np.abs(excess - seen.coins).mean() < 0.3


def test_coins_are_even_and_every_trial_has_a_kind() -> None:
    trials = canary_trials(QUESTIONS["vault.count"], City(10, 0, IN_COMPANY), 3)

    assert len(trials) == 3 * len(City(10).corners)
    assert set(trials.group.tolist()) <= set(IN_COMPANY)  # type: ignore[union-attr]
    assert 0.45 < throw(20_000).mean() < 0.55


def test_noise_that_is_used_twice_cancels() -> None:
    rng = np.random.default_rng(1)
    noise = rng.integers(-9, 10, 300).astype(np.float64)
    columns: Columns = {}

    look_at_alike(columns, "answer", np.concatenate([noise, noise]), np.arange(300), np.ones(300, dtype=bool))

    assert (columns["answer: excess over one alike"] == 0).all()
