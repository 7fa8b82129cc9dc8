"""The words of a statement say what is promised, and no more."""

from pathlib import Path

import pytest

from pointveil.releases import survey, synthesize
from pointveil.statement.document import PROMISES, People, plain_words
from pointveil.vault import Vault
from pointveil.verification import verify
from pointveil.world import World


def test_the_promise_is_about_probability_and_its_factor_is_right() -> None:
    said = plain_words("1", "one point")

    assert said == (
        "Whether one point is in the data changes the probability of any release, and of anything concluded from it, "
        "by a factor of at most 2.72 (epsilon = 1). "
        "Where one that is known to be in the data was, here rather than there, changes it by a factor of at most 7.39 "
        "(twice epsilon)."
    )
    assert "odds" not in PROMISES[0]
    assert "2.7e+43" in plain_words("100", "one point")


def test_spends_are_told_as_people_read_them_and_exactly(people_file: Path, world: World) -> None:
    statement = survey(Vault.open(people_file, world, epsilon=1, ledger=None), "ugrid-uni").statement
    third, half = (
        statement.questions[0].model_copy(update={"epsilon": epsilon, "purpose": epsilon})
        for epsilon in ("532683/880000", "1/2")
    )

    said = str(statement.model_copy(update={"questions": (third, half)})).splitlines()

    assert said[2:5] == ["     0.605  532683/880000 (exactly 532683/880000)", "       0.5  1/2", "         1  in all"]


def test_the_margin_of_points_says_of_whom_it_does_not_tell() -> None:
    people = People(
        persons=9, persons_margin=1, max_points=1, max_points_from="the operator", full_persons=9, votes_per_point=64,
        points=40, points_margin=5, most_seen=32, row="x",
    )  # fmt: skip

    assert people.estimate == (
        "40 ± 5 points of those who have up to 32 (points of persons with more are not in this number, and may be many)"
    )


def test_with_opendp_the_statement_promises_what_opendp_does(people_file: Path, world: World, tmp_path: Path) -> None:
    pytest.importorskip("opendp", reason="opendp is an extra")
    path = tmp_path / "synthetic.csv"
    made = synthesize(Vault.open(people_file, world, epsilon=1, noise="opendp", ledger=None), "ugrid-kde", count=9)
    made.write(path, key=None)
    theirs = verify(path).statement
    ours = survey(Vault.open(people_file, world, epsilon=1, ledger=None), "ugrid-kde").statement

    limits = " ".join(set(theirs.not_promised) - set(ours.not_promised))
    for limit in ("contrib", "side channels", "floating point", "2^63", "has not proved it"):
        assert limit in limits
    assert "exact fractions" not in theirs.numerics.split("weights")[0]
    assert "OpenDP" in theirs.randomness["source"]
    assert "OpenDP" not in ours.model_dump_json()


def test_opendp_does_what_is_said_of_it() -> None:
    """It needs `contrib`, rounds its own epsilon up, and cuts noise off at the ends of 64 bits."""
    dp = pytest.importorskip("opendp.prelude", reason="opendp is an extra")
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")

    assert dp.m.make_laplace(*space, scale=3.0).map(1) > 1 / 3
    assert set(dp.m.make_laplace(*space, scale=1e30)([0] * 20)) <= {2**63 - 1, -(2**63)}
    assert "Required features: `contrib`" in (dp.m.make_laplace.__doc__ or "")
