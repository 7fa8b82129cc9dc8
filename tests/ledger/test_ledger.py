"""The ledger never grants more than the cap, never forgets, and notices when it was changed."""

import os
import random
import secrets
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pointveil
from pointveil.errors import BudgetError, InputError
from pointveil.ledger import schema as ledger_schema
from pointveil.ledger.accounts import DEFAULT_CAP, append_charge
from pointveil.ledger.book import Ledger, default_ledger_path
from pointveil.ledger.entries import Charge, exact
from pointveil.ledger.schema import FIELDS, append, fingerprint, genesis, link, seal

PURPOSE = {"method": "ugrid-uni", "epsilon": "1"}

# Children load the ledger alone: the rest of the package would only make them slow to start.
CHILD = """
import sys, types
from fractions import Fraction
from pathlib import Path
source = Path(sys.argv[1])
for name, folder in (("pointveil", source), ("pointveil.ledger", source / "ledger")):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [str(folder)]
from pointveil.errors import BudgetError
from pointveil.ledger.book import Ledger
ledger = Ledger(Path(sys.argv[2]))
epsilon = Fraction(sys.argv[3])
def charge(number):
    try:
        spent = ledger.charge(dataset="trips", content=b"1", epsilon=epsilon, purpose={"n": str(number)})
    except BudgetError:
        print("refused", flush=True)
    else:
        print(spent.entry, spent.chain, flush=True)
print("ready", flush=True)
sys.stdin.readline()
for number in range(int(sys.argv[4])):
    charge(number)
"""


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "books" / "ledger.db")


@pytest.fixture
def unprivileged_folder() -> Iterator[Path]:
    """A folder owned by a user who is not root, and that user's rights: root may write everywhere."""
    folder = Path(tempfile.mkdtemp())
    root = os.geteuid() == 0
    if root:
        os.chown(folder, 65534, 65534)
        os.seteuid(65534)
    yield folder
    if root:
        os.seteuid(0)
    folder.chmod(0o700)
    shutil.rmtree(folder)


def spend(
    ledger: Ledger, dataset: str = "trips", content: bytes | None = b"one", epsilon: Any = 1, **more: Any
) -> Charge:
    return ledger.charge(dataset=dataset, content=content, epsilon=epsilon, **{"purpose": PURPOSE, **more})


@contextmanager
def raw(ledger: Ledger) -> Iterator[sqlite3.Connection]:
    """Open the database behind the ledger's back."""
    with closing(sqlite3.connect(ledger.path, isolation_level=None)) as book:
        book.execute("PRAGMA synchronous = OFF")
        yield book


def tamper(ledger: Ledger, statement: str, *, anew: bool = False) -> list[str]:
    """Change the database with its triggers out of the way, put them back, and verify."""
    with raw(ledger) as book:
        book.execute("PRAGMA ignore_check_constraints = ON")
        book.execute("BEGIN")
        triggers = book.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            book.execute(f"DROP TRIGGER {name}")
        book.execute(statement)
        if anew:
            rewrite(book)
        for _, sql in triggers:
            book.execute(sql)
        book.execute("COMMIT")
    return ledger.verify()


def start(ledger: Ledger, epsilon: str, attempts: int) -> subprocess.Popen[str]:
    source = str(Path(str(pointveil.__file__)).parent)
    command = [sys.executable, "-c", CHILD, source, str(ledger.path), epsilon, str(attempts)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def go(child: subprocess.Popen[str]) -> None:
    assert child.stdin is not None
    child.stdin.write("go\n")
    child.stdin.flush()


def wait_until_ready(child: subprocess.Popen[str]) -> None:
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"


# --- spending ---------------------------------------------------------------------------------------------


def test_a_charge_says_what_was_spent_before_and_after(ledger: Ledger) -> None:
    spend(ledger, epsilon=Fraction(1, 2))

    charge = spend(ledger, epsilon="0.25")

    assert (charge.entry, charge.dataset, charge.cap) == (2, "trips", DEFAULT_CAP)
    assert (charge.spent_before, charge.spent_after) == (Fraction(1, 2), Fraction(3, 4))
    assert charge.chain == ledger.head()


def test_a_charge_over_the_cap_is_refused_before_anything_is_spent(ledger: Ledger) -> None:
    ledger.set_cap("trips", "1.5")
    spend(ledger)
    head = ledger.head()

    with pytest.raises(BudgetError, match=r"0\.5 left: cap 1\.5, spent 1; 0\.500001 was asked for"):
        spend(ledger, epsilon="0.500001")

    assert ledger.head() == head
    assert spend(ledger, epsilon="0.5").spent_after == Fraction(3, 2)


def test_a_first_charge_over_the_default_cap_leaves_no_trace(ledger: Ledger) -> None:
    with pytest.raises(BudgetError, match="3 left: cap 3, spent 0"):
        spend(ledger, epsilon="3.000001")

    assert ledger.accounts() == []


def test_ten_tenths_are_one(ledger: Ledger) -> None:
    ledger.set_cap("trips", 1)

    for _ in range(10):
        spend(ledger, epsilon="0.1")

    assert ledger.accounts()[0].left == 0
    with pytest.raises(BudgetError):
        spend(ledger, epsilon="0.000001")


def test_a_third_is_rounded_up_and_kept_exactly_too(ledger: Ledger) -> None:
    spend(ledger, epsilon=Fraction(1, 3))

    assert ledger.accounts()[0].spent == Fraction(333_334, 10**6)
    with raw(ledger) as book:
        assert book.execute("SELECT exact FROM event WHERE kind = 'charge'").fetchone() == ("1/3",)


def test_a_cap_is_rounded_down(ledger: Ledger) -> None:
    assert ledger.set_cap("trips", "2/3").cap == Fraction(666_666, 10**6)


@given(
    st.lists(st.fractions(min_value=Fraction(1, 10**9), max_value=3, max_denominator=10**12), min_size=1, max_size=8),
    st.integers(0, 6),
)
@settings(max_examples=15)
def test_whatever_is_asked_the_exact_sum_stays_within_the_cap(asked: list[Fraction], cap: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        ledger, granted = Ledger(Path(folder, "ledger.db")), Fraction(0)
        ledger.set_cap("trips", cap)

        for epsilon in asked:
            try:
                spend(ledger, epsilon=epsilon)
            except BudgetError:
                assert granted + epsilon + Fraction(9, 10**6) > cap
            else:
                granted += epsilon

        assert granted <= ledger.accounts()[0].spent <= cap
        assert ledger.verify() == []


@pytest.mark.parametrize(
    "epsilon",
    [
        float("nan"),
        "nan",
        "inf",
        "-1",
        -1,
        0,
        "0",
        "",
        "1/0",
        "1_0",
        True,
        None,
        10**9 + 1,
        "1e999999999",
    ],
)
def test_an_epsilon_that_is_not_exact_and_positive_is_refused(ledger: Ledger, epsilon: Any) -> None:
    with pytest.raises(InputError, match=r"[Ee]psilon"):
        spend(ledger, epsilon=epsilon)

    assert ledger.accounts() == []


def test_exact_strings_are_read_exactly() -> None:
    assert [exact("0.1"), exact("1/3"), exact("007"), exact(2)] == [Fraction(1, 10), Fraction(1, 3), 7, 2]


def test_a_cap_may_be_a_plain_number_as_epsilon_may(ledger: Ledger) -> None:
    assert ledger.set_cap("half", 0.5).cap == Fraction(1, 2)


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "\udcff", "x" * 256])
def test_a_name_that_cannot_be_read_aloud_is_refused(ledger: Ledger, name: str) -> None:
    with pytest.raises(InputError, match="printable"):
        spend(ledger, dataset=name)


def test_a_rehearsal_has_no_way_into_the_ledger(ledger: Ledger) -> None:
    with pytest.raises(TypeError, match="rehearsal"):
        spend(ledger, rehearsal=True)


# --- caps -------------------------------------------------------------------------------------------------


def test_a_cap_may_be_raised_and_lowered_and_one_below_the_spent_leaves_nothing(ledger: Ledger) -> None:
    spend(ledger, epsilon=2)

    assert ledger.set_cap("trips", 12).left == 10
    assert ledger.set_cap("trips", 1).left == 0
    with pytest.raises(BudgetError, match="0 left: cap 1, spent 2"):
        spend(ledger, epsilon="0.1")
    assert ledger.verify() == []


def test_a_cap_of_zero_closes_a_dataset(ledger: Ledger) -> None:
    ledger.set_cap("trips", 0)

    with pytest.raises(BudgetError):
        spend(ledger, epsilon="0.000001")


# --- accounts ---------------------------------------------------------------------------------------------


def test_a_renamed_copy_spends_the_same_budget(ledger: Ledger) -> None:
    spend(ledger, "trips", b"one", 1)

    with pytest.raises(BudgetError, match=r"one account with 'trips'.*2 left"):
        spend(ledger, "copy of trips", b"one", "2.5")
    spend(ledger, "copy of trips", b"one", 2)

    (account,) = ledger.accounts()
    assert (account.name, account.aliases) == ("trips", ("copy of trips",))
    assert [account.spent, account.left, account.charges] == [3, 0, 2]


def test_new_content_under_a_known_name_spends_the_same_budget(ledger: Ledger) -> None:
    spend(ledger, "trips", b"one", 1)
    spend(ledger, "trips", b"two", 2)

    with pytest.raises(BudgetError):
        spend(ledger, "elsewhere", b"two")

    assert len(ledger.accounts()) == 1


def test_a_name_and_a_content_of_two_accounts_make_them_one_with_one_cap(ledger: Ledger) -> None:
    ledger.set_cap("b", 4)
    spend(ledger, "a", b"one", "0.5")
    spend(ledger, "b", b"two", 1)

    charge = spend(ledger, "a", b"two", 1)

    (account,) = ledger.accounts()
    assert (account.name, account.aliases) == ("b", ("a",))
    assert [account.cap, account.spent, account.charges] == [3, Fraction(5, 2), 3]
    assert [charge.spent_before, charge.spent_after] == [Fraction(3, 2), Fraction(5, 2)]
    assert [charge.named_before, charge.named_after] == [Fraction(1, 2), Fraction(3, 2)]
    for name, content in (("a", b"one"), ("b", b"two"), ("b", None), ("new", b"two")):
        with pytest.raises(BudgetError, match=r"0\.5 left: cap 3, spent 2\.5"):
            spend(ledger, name, content, 1)
    assert [line.joined for line in ledger.log()] == [(), (), ("b", "a")]
    assert ledger.set_cap("a", 5).left == Fraction(5, 2)
    assert ledger.find("b") == ledger.find("a")
    assert ledger.verify() == []


def test_accounts_that_cannot_afford_a_release_together_stay_apart_and_nothing_is_charged(ledger: Ledger) -> None:
    spend(ledger, "a", b"one", 2)
    spend(ledger, "b", b"two", 1)
    head = ledger.head()

    with pytest.raises(BudgetError, match=r"'b' \(one account with 'a'\) has epsilon 0 left: cap 3, spent 3"):
        spend(ledger, "b", b"one", "0.1")

    assert [account.spent for account in ledger.accounts()] == [2, 1]
    assert ledger.head() == head


def test_copies_of_copies_with_caps_of_their_own_never_spend_more_than_one_cap(ledger: Ledger) -> None:
    """Each file has places in common with the one before it only, and each was given a cap under its name first."""
    granted = 0
    for number in range(8):
        ledger.set_cap(f"copy {number}", 3)
        alike = [b"place %d" % place for place in (number, number + 1)]
        try:
            ledger.charge(dataset=f"copy {number}", content=b"%d" % number, alike=alike, epsilon=1, purpose={})
        except BudgetError:
            break
        granted += 1

    assert granted == 3
    assert [account.spent for account in ledger.accounts() if account.charges] == [3]
    assert ledger.verify() == []


def test_data_that_are_alike_spend_the_same_budget_and_join_the_accounts_that_they_are_like(ledger: Ledger) -> None:
    ledger.set_cap("a", 9)
    ledger.set_cap("b", 8)
    first: dict[str, Any] = {"epsilon": 1, "purpose": {}}
    ledger.charge(dataset="a", content=b"one", alike=[b"p", b"q"], **first)
    ledger.charge(dataset="b", content=b"two", alike=[b"r"], **first)

    copy = ledger.charge(dataset="copy", content=b"three", alike=[b"q", b"s"], **first)
    assert [account.spent for account in ledger.accounts()] == [2, 1]
    both = ledger.charge(dataset="mixture", content=b"four", alike=[b"s", b"r"], **first)

    (account,) = ledger.accounts()
    assert (account.name, account.aliases) == ("a", ("b", "copy", "mixture"))
    assert [account.cap, account.spent, account.charges] == [8, 4, 4]
    assert [copy.named_after, both.named_after] == [1, 1]
    assert ledger.verify() == []


def test_what_was_reserved_before_two_accounts_became_one_is_given_back_to_the_one(ledger: Ledger) -> None:
    for name in "ab":
        ledger.set_cap(name, 9)
    spend(ledger, "a", b"one", 1)
    reserved = spend(ledger, "b", b"two", 2, request="monday", seed=7)
    spend(ledger, "a", b"two", "0.5")

    again = spend(ledger, "b", b"two", 2, request="monday", seed=7)
    ledger.stop(reserved.entry, Fraction(1, 100), 1)
    ledger.stop(reserved.entry, Fraction(1, 100), 1)

    assert (again.entry, again.named_after) == (reserved.entry, Fraction(2))
    (account,) = ledger.accounts()
    assert [account.spent, account.charges] == [Fraction(151, 100), 3]
    assert account.units == (("not recorded", Fraction(151, 100)),)
    assert ledger.verify() == []


def test_a_crash_between_joining_and_charging_leaves_two_accounts_and_the_next_try_joins_them(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    spend(ledger, "a", b"one", "0.5")
    spend(ledger, "b", b"two", "0.5")
    head = ledger.head()

    def crash(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("pointveil.ledger.book.append_charge", crash)
        with pytest.raises(KeyboardInterrupt):
            spend(ledger, "a", b"two", 1)
    assert (ledger.head(), len(ledger.accounts())) == (head, 2)

    spend(ledger, "a", b"two", 1)
    assert [account.spent for account in ledger.accounts()] == [2]
    assert ledger.verify() == []


def test_the_cap_under_a_name_does_not_depend_on_the_data(ledger: Ledger) -> None:
    ledger.set_cap("a", 2)
    spend(ledger, "a", b"one", "0.5")
    ledger.set_cap("copy", 5)
    for name, content in (("copy", b"one"), ("unsaid", b"one"), ("other", b"two")):
        spend(ledger, name, content, "0.5")

    assert [ledger.named_cap(name) for name in ("a", "copy", "unsaid", "other")] == [2, 5, 3, 3]
    assert [account.cap for account in ledger.accounts()] == [2, 3]


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 3), st.booleans()), max_size=12))
@settings(max_examples=15, deadline=None)
def test_all_that_was_ever_charged_together_is_one_account(steps: list[tuple[int, int, int, bool]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger(Path(folder, "ledger.db"))
        groups: list[tuple[set[str], int]] = []  # what has met, and the millionths that were spent on it
        for number, (name, content, place, stops) in enumerate(steps):
            known, price = {f"n{name}", f"c{content}", f"p{place}"}, 10**6
            prints: dict[str, Any] = {"content": b"c%d" % content, "alike": [b"p%d" % place]}
            ledger.set_cap(f"n{name}", 100)
            charge = ledger.charge(dataset=f"n{name}", epsilon=1, purpose={"n": number}, **prints)
            if stops:
                ledger.stop(charge.entry, Fraction(1, 100), 1)
                price = 10**4
            met = [group for group in groups if group[0] & known]
            groups = [group for group in groups if group not in met]
            groups.append((known.union(*(names for names, _ in met)), price + sum(spent for _, spent in met)))

        assert sorted(spent for _, spent in groups) == sorted(account.spent * 10**6 for account in ledger.accounts())
        assert not steps or ledger.verify() == []


def test_a_content_that_an_older_version_knew_learns_what_it_is_like(ledger: Ledger) -> None:
    ledger.charge(dataset="a", content=b"one", epsilon=1, purpose={})
    ledger.charge(dataset="a", content=b"one", alike=[b"p"], epsilon=1, purpose={})

    ledger.charge(dataset="copy", content=b"other", alike=[b"p"], epsilon=1, purpose={})

    assert [account.spent for account in ledger.accounts()] == [3]


def test_one_name_in_two_spellings_of_unicode_is_one_account(ledger: Ledger) -> None:
    spend(ledger, "caf\u00e9", b"one")
    spend(ledger, "cafe\u0301", b"two")

    assert [account.charges for account in ledger.accounts()] == [2]


def test_neither_the_content_nor_its_plain_hash_is_stored(ledger: Ledger) -> None:
    content = secrets.token_bytes(32)

    spend(ledger, content=content)

    with raw(ledger) as book:
        (stored,) = book.execute("SELECT fingerprint FROM event WHERE kind = 'content'").fetchone()
        assert stored == fingerprint(book, content)
        assert stored not in {content, link((content,))}
    assert content not in ledger.path.read_bytes()


def test_two_ledgers_give_one_content_two_fingerprints(tmp_path: Path) -> None:
    prints = set()
    for name in ("a.db", "b.db"):
        spend(Ledger(tmp_path / name))
        with raw(Ledger(tmp_path / name)) as book:
            prints.add(book.execute("SELECT fingerprint FROM event WHERE kind = 'content'").fetchone())

    assert len(prints) == 2


@pytest.mark.parametrize("caps", [(), ("b",)], ids=["one account", "two accounts"])
def test_what_may_be_published_does_not_tell_whether_the_data_were_known(tmp_path: Path, caps: tuple[str, ...]) -> None:
    published = []
    for number, content in enumerate((b"same", b"other")):
        ledger = Ledger(tmp_path / f"{number}.db")
        for name in caps:
            ledger.set_cap(name, 9)
        spend(ledger, "a", b"same", "0.5")
        spend(ledger, "b", content, 1)
        published.append(spend(ledger, "b", content, "1.5").published())

    first, second = published
    assert first.pop("chain_sha256") != second.pop("chain_sha256")  # salted: no two are alike, whatever they cover
    assert first == second == {"entry": 3, "spent_before": "1", "spent_after": "5/2"}


def test_a_chain_hash_cannot_be_guessed_from_what_it_covers(tmp_path: Path) -> None:
    spend(Ledger(tmp_path / "a.db"))
    shutil.copy(tmp_path / "a.db", tmp_path / "b.db")

    one, two = (spend(Ledger(tmp_path / name)) for name in ("a.db", "b.db"))

    assert one.chain != two.chain


# --- requests ---------------------------------------------------------------------------------------------


def test_a_finished_request_is_answered_again(ledger: Ledger) -> None:
    charge = spend(ledger, request="monday")
    ledger.finish(charge.entry, survey=b"\x00survey", seed=2**127, output={"rows": 3, "file": "a.csv"})

    found = ledger.find_request("monday", dict(reversed(PURPOSE.items())))

    assert found is not None
    assert (found.entry, found.survey, found.seed) == (charge.entry, b"\x00survey", 2**127)
    with pytest.raises(InputError, match="has just been finished"):
        spend(ledger, request="monday")


def test_a_request_with_other_settings_is_refused(ledger: Ledger) -> None:
    spend(ledger, request="monday")

    with pytest.raises(InputError, match="other settings"):
        ledger.find_request("monday", {"method": "other"})
    with pytest.raises(InputError, match="other settings"):
        spend(ledger, request="monday", purpose={"method": "other"})
    assert ledger.accounts()[0].charges == 1


def test_a_request_that_was_charged_but_not_finished_is_charged_anew(ledger: Ledger) -> None:
    spend(ledger, request="monday")

    assert ledger.find_request("monday", PURPOSE) is None
    assert spend(ledger, request="monday").spent_after == 2


def test_of_two_finished_answers_the_first_stays_the_answer(ledger: Ledger) -> None:
    first, second = spend(ledger, request="monday"), spend(ledger, request="monday")
    ledger.finish(second.entry, survey=b"second", seed=2, output={})
    ledger.finish(first.entry, survey=b"first", seed=1, output={})

    found = ledger.find_request("monday", PURPOSE)

    assert found is not None
    assert found.survey == b"second"


def test_an_unknown_request_finds_nothing(ledger: Ledger) -> None:
    assert ledger.find_request("monday", PURPOSE) is None
    spend(ledger)
    assert ledger.find_request("monday", PURPOSE) is None


def test_only_a_charge_can_be_finished_and_the_first_time_stays(ledger: Ledger) -> None:
    charge = spend(ledger)

    assert ledger.finish(charge.entry, survey=b"first", seed=1, output={}) == b"first"
    assert ledger.finish(charge.entry, survey=b"second", seed=1, output={}) == b"first"
    with pytest.raises(InputError, match="no entry 7"):
        ledger.finish(7, survey=b"", seed=1, output={})
    with pytest.raises(InputError, match="plain facts"):
        ledger.finish(charge.entry, survey=b"", seed=1, output={"a": object()})


def test_a_request_with_a_seed_is_charged_once_and_goes_on_with_its_answers(ledger: Ledger) -> None:
    first = spend(ledger, request="monday", seed=7)
    assert ledger.kept_answer(first, 0, "how many") is None
    assert ledger.keep(first, 0, "how many", b"about ten") == b"about ten"

    again = spend(ledger, request="monday", seed=8)

    assert (again.entry, again.seed, again.published()) == (first.entry, 7, first.published())
    assert [again.spent_before, again.spent_after] == [0, 1]
    assert ledger.kept_answer(again, 0, "how many") == b"about ten"
    assert ledger.keep(again, 0, "how many", b"about nine") == b"about ten"
    found = ledger.find_request("monday", PURPOSE)
    assert found is not None
    assert (found.survey, found.answers) == (None, (b"about ten",))
    assert found.epsilon == 1
    assert [account.spent for account in ledger.accounts()] == [1]
    assert ledger.verify() == []


def test_a_request_goes_on_only_with_the_same_content_and_the_same_questions(ledger: Ledger) -> None:
    charge = spend(ledger, request="monday", seed=7)
    ledger.keep(charge, 0, "how many", b"ten")

    for other in (b"two", None):
        with pytest.raises(InputError, match="not those that this request was charged for"):
            spend(ledger, content=other, request="monday", seed=7)
    for price, name in (("2", "trips"), ("1/2", "trips"), ("1", "others")):
        with pytest.raises(InputError, match="another dataset, or at another price"):
            spend(ledger, name, epsilon=price, request="monday", seed=7)
    with pytest.raises(InputError, match="other questions"):
        ledger.keep(charge, 0, "where", b"there")
    with pytest.raises(InputError, match="other questions"):
        ledger.kept_answer(charge, 0, "where")
    assert [account.spent for account in ledger.accounts()] == [1]


def test_unreadable_data_are_charged_by_name_and_no_two_names_become_one_account(ledger: Ledger) -> None:
    spend(ledger, "a", None)
    spend(ledger, "b", None)
    spend(ledger, "a", None)

    assert [(account.name, account.aliases) for account in ledger.accounts()] == [("a", ()), ("b", ())]
    assert [account.spent for account in ledger.accounts()] == [2, 1]


def test_a_request_whose_data_can_be_read_at_last_joins_the_account_of_their_content(ledger: Ledger) -> None:
    spend(ledger, "a", b"one", 2)
    unread = spend(ledger, "b", None, request="monday", seed=7)

    read = spend(ledger, "b", b"one", request="monday", seed=7)
    ledger.keep(read, 0, "how many", b"ten")
    spend(ledger, "b", b"one", request="monday", seed=7)

    assert read.entry == unread.entry
    assert [(account.name, account.spent, account.charges) for account in ledger.accounts()] == [("a", Fraction(3), 2)]
    assert read.named_after == 1
    assert ledger.verify() == []
    with pytest.raises(InputError, match="not those"):
        spend(ledger, "b", b"two", request="monday", seed=7)


def test_a_request_whose_data_turn_out_to_have_spent_their_cap_is_refused(ledger: Ledger) -> None:
    spend(ledger, "a", b"one", DEFAULT_CAP)
    spend(ledger, "b", None, request="monday", seed=7)

    with pytest.raises(BudgetError, match="one account with 'a'"):
        spend(ledger, "b", b"one", request="monday", seed=7)

    assert [(account.name, account.spent) for account in ledger.accounts()] == [("a", DEFAULT_CAP), ("b", 1)]
    assert ledger.verify() == []


def test_a_request_that_another_edition_began_is_refused(ledger: Ledger) -> None:
    spend(ledger, request="monday", seed=7, purpose={**PURPOSE, "edition": "1"})

    with pytest.raises(InputError, match="begun by another edition"):
        spend(ledger, request="monday", seed=7, purpose={**PURPOSE, "edition": "2"})
    with pytest.raises(InputError, match="other settings"):
        spend(ledger, request="monday", seed=7, purpose={"method": "road", "epsilon": "1", "edition": "2"})
    assert ledger.accounts()[0].charges == 1


def test_outputs_are_known_by_their_digests(ledger: Ledger) -> None:
    charge = spend(ledger, request="monday", seed=7)
    with pytest.raises(InputError, match="only what is finished"):
        ledger.record_output(charge.entry, {"files": {"a.csv": "ab"}})
    ledger.finish(charge.entry, survey=b"", seed=7, output={})
    for _ in range(2):
        ledger.record_output(charge.entry, {"files": {"a.csv": "ab"}})
    head = ledger.head()
    ledger.record_output(charge.entry, {"files": {"a.csv": "ab"}})

    found = ledger.find_request("monday", PURPOSE)

    assert found is not None
    assert found.written == {"ab"}
    assert ledger.head() == head


# --- sums -------------------------------------------------------------------------------------------------


def test_a_charge_does_not_read_all_those_before_it(ledger: Ledger) -> None:
    ledger.set_cap("trips", 10**6)
    spend(ledger)
    steps: list[int] = []

    with closing(ledger_schema.connect(ledger.path)) as book:
        book.execute("BEGIN")
        for entry in range(2, 2000):
            steps.append(0)

            def count() -> int:
                steps[-1] += 1
                return 0

            book.set_progress_handler(count, 1)  # called for every step of SQLite's machine
            append_charge(book, 1, entry, "trips", 1, exact="1/1000000", purpose="{}")

    assert 0 < steps[-1] <= steps[1] * 1.1


def test_a_charge_refuses_to_build_on_a_row_that_was_changed(used: Ledger) -> None:
    for row in ("kind = 'charge' AND account = 1", "kind = 'link'", "id = (SELECT max(id) FROM event)"):
        clean = used.path.read_bytes()
        newest = f"(SELECT max(id) FROM event WHERE {row})"  # noqa: S608 - ours
        tamper(used, f"UPDATE event SET micro = 1000000000, time = 'then' WHERE id = {newest}")  # noqa: S608 - ours

        with pytest.raises(InputError, match="changed by hand"):
            spend(used, "a", b"one", "0.1")
        used.path.write_bytes(clean)


def older(path: Path, version: int) -> tuple[Ledger, str]:
    """Return a ledger as an older version made it, and the hash of its last event."""
    path.touch(0o600)
    with closing(sqlite3.connect(path, isolation_level=None)) as book:
        book.executescript(Path(__file__).with_name(f"version_{version}.sql").read_text(encoding="utf-8"))
        book.execute("PRAGMA journal_mode = WAL")
        book.execute(f"PRAGMA application_id = {ledger_schema.APPLICATION}")
        book.execute(f"PRAGMA user_version = {version}")
        (head,) = book.execute("SELECT hash FROM event ORDER BY id DESC").fetchone()
    return Ledger(path), head.hex()


@pytest.fixture
def first_version(tmp_path: Path) -> Ledger:
    """A ledger made by the first version: two accounts, a finished request, and one that was never finished."""
    return older(tmp_path / "first.db", 1)[0]


HEAD_OF_THE_FIRST = "b42dfe1d3b16aad80bd25e91f9373e95292880a5df5a9b7d8f14d274fb37a3d0"


def test_a_ledger_of_the_first_version_is_continued_and_nothing_of_it_is_lost(first_version: Ledger) -> None:
    (one,) = first_version.accounts()  # of two: the last release was charged to both

    assert [one.name, one.aliases, one.cap, one.charges] == ["a", ("b",), Fraction(15, 2), 3]
    assert one.spent == Fraction(3_333_334, 10**6)
    finished = first_version.find_request("monday", {**PURPOSE, "crs": ""})
    assert finished is not None
    assert (finished.survey, finished.seed) == (b"survey", 5)
    assert first_version.find_request("tuesday", PURPOSE) is None  # its noise may have been seen
    charge = spend(first_version, "b", b"two", 2, request="tuesday", seed=1)
    assert charge.published()["spent_before"] == "1166667/500000"
    assert charge.spent_before == one.spent
    assert first_version.verify([HEAD_OF_THE_FIRST, charge.chain]) == []
    with pytest.raises(BudgetError, match=r"2\.166666 left"):
        spend(first_version, "b", b"two", 4)


def test_a_ledger_of_the_first_version_that_was_changed_is_refused_and_left_alone(first_version: Ledger) -> None:
    with raw(first_version) as book:
        book.execute("DROP TRIGGER event_is_never_deleted")
        book.execute("DELETE FROM event WHERE id = 12")
    before = first_version.path.read_bytes()

    for ask in (first_version.accounts, first_version.verify, lambda: spend(first_version)):
        with pytest.raises(InputError, match="not sound"):
            ask()

    assert first_version.path.read_bytes() == before


def test_a_ledger_of_the_second_version_is_continued_and_can_give_back(tmp_path: Path) -> None:
    second, head = older(tmp_path / "second.db", 2)

    charge = spend(second, "b", b"two", 1)
    second.stop(charge.entry, Fraction(1, 100), 1)

    (one,) = second.accounts()  # of two: a release was charged to both
    assert [one.name, one.aliases, one.spent, one.charges] == ["b", ("a",), Fraction(1_343_334, 10**6), 3]
    assert second.verify([head]) == []


def test_a_ledger_of_the_third_version_is_continued_and_accounts_that_were_charged_together_become_one(
    tmp_path: Path,
) -> None:
    """A copy was given a cap of its own, and a copy of that copy was charged to the second account alone."""
    third, head = older(tmp_path / "third.db", 3)

    first, apart = third.accounts()

    assert [first.name, first.aliases, first.cap, first.charges] == ["trips", ("copy", "other"), 2, 4]
    assert first.spent == Fraction(1, 2) + 1 + Fraction(1, 400) + Fraction(1, 8)  # what both were charged counts once
    assert [apart.name, apart.spent] == ["apart", Fraction(1, 8)]
    assert [third.named_cap(name) for name in ("trips", "copy", "other", "apart")] == [3, 2, 3, 3]
    with pytest.raises(BudgetError, match=r"0\.3725 left"):
        spend(third, "other", b"three", "0.5")
    assert third.verify([head]) == []


# --- races and crashes ------------------------------------------------------------------------------------


def test_eight_racing_processes_get_exactly_the_ten_charges_there_is_room_for(ledger: Ledger) -> None:
    children = [start(ledger, "0.3", 5) for _ in range(8)]
    for child in children:
        wait_until_ready(child)

    for child in children:  # the ledger does not exist yet: they race to make it, too
        go(child)
    answers = [line.split()[0] for child in children for line in child.communicate(timeout=60)[0].splitlines()]

    assert len(answers) == 40
    assert sorted(int(answer) for answer in answers if answer != "refused") == list(range(1, 11))
    assert [account.left for account in ledger.accounts()] == [0]
    assert ledger.verify() == []


def test_a_killed_process_never_reported_a_charge_that_is_not_there(ledger: Ledger) -> None:
    ledger.set_cap("trips", 10**6)
    moments = random.Random(7)
    reported: list[str] = []

    for number in range(8):
        with start(ledger, "0.001", 10**6) as child:
            wait_until_ready(child)
            go(child)
            assert child.stdout is not None
            lines = [child.stdout.readline() for _ in range(number % 3)]  # however slow the machine is
            time.sleep(moments.uniform(0, 0.06))
            child.kill()
            lines += child.stdout.readlines()
        reported += [line.split()[1] for line in lines if line.endswith("\n")]
        assert ledger.verify(anchors=reported) == []

    (account,) = ledger.accounts()
    assert len(reported) >= 7
    assert account.spent == Fraction(account.charges, 1000)
    assert 0 <= account.charges - len(reported) <= 8  # at most the one in flight, of each killed process


def test_a_process_that_dies_between_its_charge_and_its_release_stays_charged(ledger: Ledger) -> None:
    child = start(ledger, "1", 1)
    wait_until_ready(child)
    go(child)
    assert child.stdout is not None
    assert child.stdout.readline().startswith("1 ")
    child.kill()
    child.communicate(timeout=60)

    assert [account.spent for account in ledger.accounts()] == [1]


def test_every_commit_waits_for_the_disk(ledger: Ledger) -> None:
    spend(ledger)

    with closing(ledger_schema.connect(ledger.path)) as book:
        assert book.execute("PRAGMA synchronous").fetchone() == (2,)
        assert book.execute("PRAGMA journal_mode").fetchone() == ("wal",)


# --- tampering --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def used_bytes(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    ledger = Ledger(tmp_path_factory.mktemp("used") / "ledger.db")
    charge = spend(ledger, "a", b"one", request="monday", seed=5)
    ledger.keep(charge, 0, "how many", b"about ten")
    ledger.finish(charge.entry, survey=b"survey", seed=5, output={})
    ledger.record_output(charge.entry, {"files": {"a.csv": "ab"}})
    spend(ledger, "b", b"two", "1/3")
    spend(ledger, "b", b"one", "1")
    spend(ledger, "c", b"three", 1)
    assert ledger.verify() == []
    return ledger.path.read_bytes()


@pytest.fixture
def used(tmp_path: Path, used_bytes: bytes) -> Ledger:
    """A ledger with every kind of event, in which the third release made two accounts one."""
    path = tmp_path / "used.db"
    path.write_bytes(used_bytes)
    path.chmod(0o600)
    return Ledger(path)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE event SET micro = 0 WHERE kind = 'charge'",
        "DELETE FROM event WHERE id = 5",
        "DELETE FROM event",
        "INSERT OR REPLACE INTO event SELECT * FROM event WHERE id = 4",
        "INSERT INTO event SELECT * FROM event WHERE id = 4",
        "UPDATE secret SET key = zeroblob(32)",
        "DELETE FROM secret",
        "INSERT OR REPLACE INTO secret VALUES (1, zeroblob(32))",
    ],
)
def test_the_triggers_refuse_every_change(used: Ledger, statement: str) -> None:
    with raw(used) as book, pytest.raises(sqlite3.IntegrityError):
        book.execute(statement)

    assert used.verify() == []


def insert(used: Ledger, kind: Any, **fields: Any) -> None:
    with raw(used) as book:
        append(book, kind, **fields)


PAID = {"name": "a", "exact": "8", "purpose": "{}", "entry": 9, "charges": 4, "named": 9}
SPENT = 2_333_334
LINKED = {"account": 1, "number": 3, "entry": 3, "exact": "3", "micro": 3 * 10**6, "spent": SPENT + 10**6, "charges": 4}


@pytest.mark.parametrize(
    ("kind", "fields", "reason"),
    [
        ("charge", {"account": 1, "micro": 8 * 10**6, "spent": SPENT + 8 * 10**6, **PAID}, "over the cap"),
        ("charge", {"account": 1, "micro": 1, "spent": 3 * 10**6, **PAID}, "does not carry the sum"),
        ("charge", {"account": 1, "micro": 1, **PAID}, "does not carry the sum"),
        ("charge", {"account": 9, "micro": 1, "spent": 1, **PAID}, "over the cap"),
        ("charge", {"account": 2, "micro": 1, "spent": 333_335, **PAID, "charges": 2}, "over the cap"),
        ("charge", {"account": 1, "micro": 0, "spent": SPENT, **PAID}, "CHECK"),
        ("link", {**LINKED, "spent": SPENT}, "all that was spent"),
        ("link", {**LINKED, "charges": 3}, "all that was spent"),
        ("link", {**LINKED, "micro": 4 * 10**6}, "lower cap"),
        ("link", {**LINKED, "number": 2}, "only two accounts"),
        ("link", {**LINKED, "account": 3, "number": 1}, "only two accounts"),
        ("link", {**LINKED, "entry": None}, "CHECK"),
        ("charge", {"account": 1, "micro": None, **PAID}, "over the cap"),
        ("name", {"account": 2, "name": "a"}, "account already"),
        ("finish", {"entry": 1, "seed": "1", "output": "{}", "survey": b""}, "not finished"),
        ("finish", {"entry": 99, "seed": "1", "output": "{}", "survey": b""}, "not finished"),
        ("answer", {"entry": 1, "number": 1, "purpose": "", "survey": b""}, "must follow a charge"),
        ("answer", {"entry": 2, "number": 1, "purpose": "", "survey": b""}, "must follow a charge"),
        ("answer", {"entry": 99, "number": 0, "purpose": "", "survey": b""}, "must follow a charge"),
        ("output", {"entry": 2, "output": "{}"}, "only what is finished"),
        ("sum", {"account": 1, "name": "a", "spent": 0, "charges": 0, "named": 0}, "older ledger"),
        ("refund", {"account": 1, "micro": 1}, "CHECK"),
        ("cap", {"account": 1, "micro": -1, "exact": "-1"}, "CHECK"),
        ("cap", {"account": 1, "micro": "many", "exact": "1"}, "cannot store TEXT"),
    ],
)
def test_the_triggers_refuse_every_wrong_row(used: Ledger, kind: str, fields: dict[str, Any], reason: str) -> None:
    with pytest.raises(sqlite3.IntegrityError, match=reason):
        insert(used, kind, **fields)


@pytest.mark.parametrize("field", [*FIELDS[1:], "hash"])
def test_verify_notices_a_change_of_any_field_of_any_event(used: Ledger, field: str) -> None:
    with raw(used) as book:
        count, *_ = book.execute("SELECT max(id) FROM event").fetchone()
        types = {row[1]: row[2] for row in book.execute("PRAGMA table_info(event)")}
    others = {"INTEGER": f"coalesce({field}, 0) + 1", "TEXT": f"coalesce({field}, '') || ' '"}
    other = others.get(types[field], f"CAST(coalesce({field}, x'') || x'00' AS BLOB)")

    for number in range(1, count + 1):
        clean = used.path.read_bytes()
        problems = tamper(used, f"UPDATE event SET {field} = {other} WHERE id = {number}")  # noqa: S608 - ours
        assert f"Event {number} has been changed." in problems
        used.path.write_bytes(clean)

    assert used.verify() == []


def test_verify_notices_that_any_one_event_is_missing(used: Ledger) -> None:
    with raw(used) as book:
        count, *_ = book.execute("SELECT max(id) FROM event").fetchone()

    for number in range(1, count + 1):
        clean = used.path.read_bytes()
        problems = tamper(used, f"DELETE FROM event WHERE id = {number}")  # noqa: S608 - ours
        assert any("missing" in problem or "have been written" in problem for problem in problems)
        used.path.write_bytes(clean)


def test_verify_notices_another_key_and_a_missing_one(used: Ledger) -> None:
    clean = used.path.read_bytes()

    assert tamper(used, "UPDATE secret SET key = zeroblob(32)") != []
    used.path.write_bytes(clean)
    assert tamper(used, "DELETE FROM secret") != []


def test_verify_notices_a_missing_trigger(used: Ledger) -> None:
    with raw(used) as book:
        book.execute("DROP TRIGGER charge_stays_within_cap")

    assert used.verify() == ["The trigger charge_stays_within_cap is not as it was made."]


def rewrite(book: sqlite3.Connection) -> None:
    """Hash the whole chain again, as someone would who knows how."""
    head = genesis(book)
    for row in book.execute("SELECT * FROM event ORDER BY id").fetchall():
        event = dict(zip(FIELDS, row, strict=False)) | {"previous": head}
        head = seal(tuple(event.values()))
        book.execute("UPDATE event SET previous = ?, hash = ? WHERE id = ?", (event["previous"], head, event["id"]))


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ("UPDATE event SET micro = 1 WHERE kind = 'charge' AND exact = '1/3'", "recorded as 1 millionths"),
        ("UPDATE event SET micro = 11 * 1000000, exact = '11' WHERE kind = 'charge'", "over its cap"),
        ("UPDATE event SET micro = 7 WHERE kind = 'cap'", "the cap 3 is recorded as 7 millionths"),
        ("UPDATE event SET exact = 'much' WHERE kind = 'charge'", "the charge much is recorded"),
        ("UPDATE event SET name = 'c' WHERE kind = 'charge'", "has no account"),
        ("UPDATE event SET entry = 99 WHERE kind = 'finish'", "finished without a charge"),
        (
            "UPDATE event SET account = 99 WHERE kind = 'content'",
            "fingerprint is given twice, or to no account",
        ),
        ("UPDATE event SET name = 'a' WHERE kind = 'name'", "name is given twice, or to no account"),
        ("UPDATE event SET kind = 'refund' WHERE kind = 'charge'", "no event is of the kind 'refund'"),
        ("UPDATE event SET spent = spent - 1 WHERE entry = 3", "the sums of account 1 are wrong"),
        ("UPDATE event SET named = 0 WHERE entry = 2", "the sums of account 2 are wrong"),
        ("UPDATE event SET spent = spent - 1 WHERE kind = 'link'", "sums or the cap of account 1 are wrong"),
        ("UPDATE event SET charges = 1 WHERE kind = 'link'", "sums or the cap of account 1 are wrong"),
        ("UPDATE event SET micro = 9000000, exact = '9' WHERE kind = 'link'", "sums or the cap of account 1 are wrong"),
        ("UPDATE event SET number = 9 WHERE kind = 'link'", "joined that is none"),
        ("UPDATE event SET number = 1 WHERE kind = 'link'", "joined that is none"),
        ("UPDATE event SET account = 2 WHERE kind = 'charge' AND entry = 3", "charged over its cap"),
        ("UPDATE event SET account = 2 WHERE kind = 'cap' AND id > 12", "become a part of another"),
        ("UPDATE event SET spent = NULL WHERE entry = 3", "the sums of account 1 are wrong"),
        ("UPDATE event SET number = 1 WHERE kind = 'answer'", "an answer of entry 1 is out of place"),
        ("UPDATE event SET entry = 2 WHERE kind = 'output'", "written without being finished"),
    ],
)
def test_verify_notices_wrong_sums_even_in_a_chain_made_anew(used: Ledger, change: str, problem: str) -> None:
    problems = tamper(used, change, anew=True)

    assert any(problem in found for found in problems)
    assert not any("changed" in found or "broken" in found for found in problems)


def test_only_an_anchor_kept_elsewhere_shows_that_the_whole_chain_was_made_anew(used: Ledger) -> None:
    anchor = used.head()
    assert used.verify([anchor]) == []

    honest = (
        "UPDATE event SET micro = iif(kind = 'link', micro, 1), exact = iif(kind = 'link', exact, '1/1000000'), "
        "spent = charges, named = iif(kind = 'link', NULL, iif(entry = 3, 2, 1)) WHERE kind IN ('charge', 'link')"
    )
    problems = tamper(used, honest, anew=True)

    assert problems == []
    assert used.verify([anchor]) == [
        f"The anchor {anchor} is not in the chain: the ledger has been rolled back or replaced."
    ]


def test_an_older_copy_put_back_is_shown_by_an_anchor(used: Ledger) -> None:
    older = used.path.read_bytes()
    anchor = spend(used, content=b"new").chain
    used.path.write_bytes(older)

    assert "rolled back" in used.verify([anchor])[0]


def test_damaged_pages_are_reported_and_never_called_sound(used: Ledger) -> None:
    clean = used.path.read_bytes()
    size = 4096

    for page in range(1, len(clean) // size):
        used.path.write_bytes(clean[: page * size] + bytes(size) + clean[(page + 1) * size :])
        try:
            problems = used.verify()
        except InputError as error:
            problems = [str(error)]
        assert problems


# --- trouble with the file --------------------------------------------------------------------------------


def test_the_file_and_its_folder_are_the_owners_only(ledger: Ledger) -> None:
    spend(ledger)

    assert stat.S_IMODE(ledger.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(ledger.path.parent.stat().st_mode) == 0o700
    assert list(ledger.path.parent.iterdir()) == [ledger.path]


def test_while_it_is_open_its_side_files_are_the_owners_only(ledger: Ledger) -> None:
    spend(ledger)

    with closing(ledger_schema.connect(ledger.path)) as book:
        book.execute("BEGIN IMMEDIATE")
        modes = {stat.S_IMODE(path.stat().st_mode) for path in ledger.path.parent.iterdir()}

    assert modes == {0o600}


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o601])
def test_a_ledger_that_others_may_read_is_refused(ledger: Ledger, mode: int) -> None:
    spend(ledger)
    ledger.path.chmod(mode)

    with pytest.raises(InputError, match="chmod 600"):
        spend(ledger)


def test_reading_makes_no_file(ledger: Ledger) -> None:
    assert ledger.accounts() == []
    for ask in (ledger.verify, ledger.head):
        with pytest.raises(InputError, match="no ledger at"):
            ask()

    assert not ledger.path.parent.exists()


def all_fail(ledger: Ledger, match: str) -> None:
    with pytest.raises(InputError, match=match):
        spend(ledger)
    with pytest.raises(InputError, match=match):
        ledger.set_cap("trips", 1)
    with pytest.raises(InputError, match=match):
        ledger.accounts()
    with pytest.raises(InputError, match=match):
        ledger.find_request("monday", PURPOSE)
    with pytest.raises(InputError, match=match):
        ledger.verify()


@pytest.mark.parametrize("content", [b"not a database at all, but long enough\n" * 200, b"", b"SQLite format 3\x00"])
def test_a_file_that_is_no_ledger_is_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "ledger.db"
    path.write_bytes(content)
    path.chmod(0o600)

    all_fail(Ledger(path), "not a (Pointveil )?ledger")

    assert path.read_bytes() == content


def test_another_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as book:
        book.execute("CREATE TABLE event (id)")
    path.chmod(0o600)

    all_fail(Ledger(path), "not a Pointveil ledger")


def test_a_ledger_of_a_newer_version_is_refused(ledger: Ledger) -> None:
    spend(ledger)
    with raw(ledger) as book:
        book.execute("PRAGMA user_version = 5")

    all_fail(ledger, "Install a newer Pointveil")


def test_a_directory_is_refused(tmp_path: Path) -> None:
    all_fail(Ledger(tmp_path), "not a file")


def test_a_path_through_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    all_fail(Ledger(tmp_path / "file" / "ledger.db"), "Not a directory")


def test_a_directory_that_cannot_be_written_gets_no_ledger(unprivileged_folder: Path) -> None:
    unprivileged_folder.chmod(0o500)

    with pytest.raises(InputError, match=r"Permission denied.*Check its directory"):
        spend(Ledger(unprivileged_folder / "ledger.db"))


def test_a_ledger_in_a_directory_that_became_read_only_refuses_every_charge(
    unprivileged_folder: Path,
) -> None:
    ledger = Ledger(unprivileged_folder / "ledger.db")
    spend(ledger)
    unprivileged_folder.chmod(0o500)

    with pytest.raises(InputError, match=r"check the permissions"):
        spend(ledger)

    unprivileged_folder.chmod(0o700)
    assert [account.spent for account in ledger.accounts()] == [1]


def test_a_ledger_that_is_kept_busy_says_so(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    spend(ledger)
    monkeypatch.setattr(ledger_schema, "PATIENCE", 0.01)

    with raw(ledger) as book:
        book.execute("BEGIN IMMEDIATE")
        with pytest.raises(InputError, match="Another process has kept it busy"):
            spend(ledger)
        assert len(ledger.accounts()) == 1  # looking is still possible


def test_a_full_disk_leaves_no_charge(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    charge = spend(ledger)
    connect = ledger_schema.connect

    def connect_to_a_full_disk(path: Path) -> sqlite3.Connection:
        book = connect(path)
        book.execute("PRAGMA max_page_count = 1")  # SQLite takes the present size: not a page more
        return book

    monkeypatch.setattr("pointveil.ledger.book.connect", connect_to_a_full_disk)
    with pytest.raises(InputError, match="The disk is full"):
        ledger.finish(charge.entry, survey=bytes(10**6), seed=1, output={})
    monkeypatch.undo()

    assert ledger.head() == charge.chain
    assert ledger.verify() == []


def test_an_old_sqlite_is_refused(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 36, 0))

    with pytest.raises(InputError, match=r"SQLite 3\.37"):
        spend(ledger)

    assert not ledger.path.exists()


# --- where it lies ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {}, "HOME/.local/share/pointveil/ledger.db"),
        ("linux", {"XDG_DATA_HOME": "/data"}, "/data/pointveil/ledger.db"),
        ("linux", {"XDG_DATA_HOME": "relative"}, "HOME/.local/share/pointveil/ledger.db"),
        ("darwin", {}, "HOME/Library/Application Support/pointveil/ledger.db"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/pointveil/ledger.db"),
        ("win32", {}, "HOME/AppData/Local/pointveil/ledger.db"),
    ],
)
def test_the_ledger_lies_where_the_platform_keeps_a_users_data(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, platform: str, variables: dict[str, str], expected: str
) -> None:
    for name in ("XDG_DATA_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in ({"HOME": str(tmp_path)} | variables).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", platform)

    assert default_ledger_path() == Path(expected.replace("HOME", str(tmp_path)))
