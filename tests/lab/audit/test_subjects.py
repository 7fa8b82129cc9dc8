"""What a release says beside its points and answers."""

import dataclasses

import numpy as np
import pytest

from pointveil import releases
from pointveil.lab.audit import subjects
from pointveil.lab.audit.city import City, city_others
from pointveil.lab.audit.neighbours import crowd, plain_world, spread
from pointveil.lab.audit.priors import guided
from pointveil.lab.audit.subjects import NotFromAnswersError
from pointveil.margins import with_margins
from pointveil.releases import draw, survey
from pointveil.surveys import Survey
from pointveil.vault import Vault


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("veil, prior", ["total", "district", "shape", "offset", "count"]),
        ("veil, second counts", ["total", "district", "shape", "offset", "crowd", "count", "count", "count"]),
    ],
)
def test_a_row_with_a_prior_and_one_with_second_counts_ask_what_they_are_there_for(name: str, asked: list[str]) -> None:
    city = City()

    release = subjects()[name].release(city_others(city, 1)[0], city.world)

    assert [each.answer.purpose for each in release.asked] == asked
    assert len(release.xy) > 50_000  # and not an error
    assert ("invented.csv" in release.text) == (name == "veil, prior")


def test_the_prior_of_the_audit_is_believed() -> None:
    """Otherwise a release with it would be the same as without."""
    city = City()
    world, (records, _) = guided(city.world), city_others(city, 1)
    table, options = records.table(), {"columns": ("x", "y"), "crs": world.projection.crs}

    made, plain = (
        survey(Vault.rehearse(table, each, epsilon=1, seed=1, **options), "veil") for each in (world, city.world)
    )

    assert not np.array_equal(draw(made, seed=1).coordinates, draw(plain, seed=1).coordinates)


@pytest.mark.parametrize(("method", "people"), [("ugrid-uni", 20), ("veil", 200), ("veil", 1000)])
def test_what_is_said_of_the_same_records_is_the_same_every_time(method: str, people: int) -> None:
    """With so many people `veil` asks for shapes in about half of the releases, as the noisy total decides."""
    subject = subjects()[method]

    texts = {subject.release(crowd(people), plain_world()).text for _ in range(6)}

    assert len(texts) == 1  # if every text is another, one that tells a secret is not noticed
    assert "survey" in texts.pop()


def leak_in_margins(found: Survey) -> Survey:
    honest = with_margins(found)
    margins = honest.statement.margins
    told = margins and margins.model_copy(update={"people": margins.people + 1})
    return dataclasses.replace(honest, statement=honest.statement.model_copy(update={"margins": told}))


def test_margins_that_do_not_follow_from_the_answers_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(releases, "with_margins", leak_in_margins)

    with pytest.raises(NotFromAnswersError):
        subjects()["agrid-uni"].release(spread(3000), plain_world())


@pytest.mark.usefixtures("margins_now_and_then")
def test_and_soon_where_few_releases_have_margins(monkeypatch: pytest.MonkeyPatch) -> None:
    subject = subjects()["agrid-uni"]
    subject.release(spread(3000), plain_world())
    monkeypatch.setattr(releases, "with_margins", leak_in_margins)

    with pytest.raises(NotFromAnswersError):
        [subject.release(spread(3000), plain_world()) for _ in range(28)]  # as many as there are of a pair
