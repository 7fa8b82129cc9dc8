"""What the fuzzer once found, or started from, never breaks a reader again."""

from pathlib import Path

import pytest
from tests.fuzz import targets

from pointveil.errors import InputError
from pointveil.surveys import Survey
from pointveil.verification import verify

CORPUS = Path(__file__).parent / "corpus"
CASES = sorted(path.relative_to(CORPUS).as_posix() for path in CORPUS.rglob("*") if path.is_file())


@pytest.mark.parametrize("case", CASES)
def test_every_input_of_the_corpus_is_read_or_refused(case: str) -> None:
    targets.TARGETS[Path(case).parent.name]((CORPUS / case).read_bytes())


def test_the_corpus_is_small_and_has_every_reader() -> None:
    sizes = [path.stat().st_size for path in CORPUS.rglob("*") if path.is_file()]

    assert sum(sizes) < 300_000
    assert {path.name for path in CORPUS.iterdir()} == set(targets.TARGETS)


def test_the_example_that_is_changed_is_good_before() -> None:
    survey, statement, released = targets.example()
    path = targets.room() / "released.csv"
    path.write_bytes(released)
    path.with_name("released.csv.statement.json").write_bytes(targets.exchanged(statement, b"{}"))

    assert verify(path).statement.release == survey.statement.release
    assert Survey.from_bytes(survey.to_bytes()).statement == survey.statement
    assert targets.exchanged(statement, b'{"release": "x"}') != targets.exchanged(statement, b"{}")


def test_a_message_that_quotes_a_record_is_noticed() -> None:
    targets.check_words(InputError("people.csv cannot be opened; check the path."), "people.csv")
    with pytest.raises(AssertionError, match="quotes a record"):
        targets.check_words(InputError("people.csv cannot be opened: 10.0417"), "people.csv")
