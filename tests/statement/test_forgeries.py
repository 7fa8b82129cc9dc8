"""No forged or malformed statement verifies, whatever is in it, and none takes long to refuse."""

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pointveil.cli import main
from pointveil.errors import VerificationError
from pointveil.releases import synthesize
from pointveil.statement import Statement, digest_of
from pointveil.statement.document import PROMISES, plain_words
from pointveil.statement.wording import THEOREMS
from pointveil.synthetic import describe_file, statement_path
from pointveil.vault import Vault
from pointveil.verification import verify
from pointveil.world import World

SECONDS = 1.0
"""Of processor time, for the worst of all forgeries."""
HUGE = "1e-400000000"
ESCAPE = "\x1b[2J\x1b]0;owned\x07"
NASTY: tuple[Any, ...] = (
    *(None, True, "", [], {}, -1, -99, 0, 10**19, 10**400, 1e308, float("nan"), float("inf"), -0.5),
    *("0", "-1", "1/0", "0/1", "2/2", "01", " 1", "1e3", HUGE, "1e400000000", "9" * 5000, "1/" + "9" * 5000),
    *("nan", "Infinity", ESCAPE, "line\nline", "\u202eabc", "\u009b2J", "\ud800", "\0", "x" * 100_000),
    *(
        "EPSG:999999",
        "EPSG:4978",
        'GEOGCS["a"]',
        "PROJCRS[" * 5000 + "]" * 5000,
        "..",
        "../../etc/passwd",
        "/etc/passwd",
        "a/b",
        "C:\\x",
        "~",
    ),
    *([[[]]] * 2, {"a": {"b": 1}}, ["x"] * 1000, {str(number): "1/7" for number in range(500)}),
)
WORDS = ("post_processing", "not_promised")
"""Fields with sentences of any kind: only their form is judged."""
HONEST: dict[tuple[Any, ...], Any] = {
    ("ledger",): None,
    ("ledger", "spent_before"): "0",
    ("domain", "roads"): True,
    ("domain", "bounds", 0): -0.5,
    ("domain", "bounds", 1): -0.5,
}
"""Nasty values that are honest ones here."""


@pytest.fixture(scope="module")
def released(people_file: Path, world: World, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("release") / "synthetic.csv"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_DATA_HOME", str(path.parent / "home"))
        vault = Vault.open(people_file, world, epsilon=1, person="name", max_points=3)
        synthesize(vault, "ugrid-uni", count=5).write(path, key=None)
    return path


@pytest.fixture
def release(released: Path, tmp_path: Path) -> Path:
    for path in (released, statement_path(released)):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    return tmp_path / released.name


def forge(release: Path, content: dict[str, Any]) -> None:
    """Write a statement whose digest and form are right, as a forger would."""
    content = {name: value for name, value in content.items() if name != "digest"}
    try:
        text = json.dumps({**content, "digest": digest_of(content)}, indent=2, ensure_ascii=False) + "\n"
        statement_path(release).write_text(text, encoding="utf-8", newline="\n")
    except ValueError:  # not a number, or no text at all: what no digest can fit
        statement_path(release).write_text(json.dumps({**content, "digest": "0" * 64}, indent=2))


def seconds_until_refused(release: Path) -> float:
    start = time.process_time()
    with pytest.raises(VerificationError) as refused:
        verify(release)
    assert str(refused.value).isprintable()
    assert len(str(refused.value)) < 1000
    return time.process_time() - start


def places(content: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the way to every field and every item of a statement."""
    inner = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for name, value in inner:
        yield (*path, name)
        yield from places(value, (*path, name))


def changed(content: dict[str, Any], place: tuple[Any, ...], value: Any) -> dict[str, Any]:
    copy = deepcopy(content)
    at(copy, place[:-1])[place[-1]] = value
    return copy


def original(release: Path) -> dict[str, Any]:
    return dict(json.loads(statement_path(release).read_text()))


def test_the_release_verifies_as_it_was_written_and_as_the_forger_writes_it(release: Path) -> None:
    content = original(release)
    verify(release)

    forge(release, content)

    verify(release)


def test_every_field_is_judged(release: Path) -> None:
    """Each field × each nasty value: refused as a forgery, at once, by nothing but a VerificationError."""
    content = original(release)
    slowest, tried = 0.0, 0
    for place in places(content):
        for value in NASTY:
            if place == ("digest",) or may_stand(content, place, value):
                continue
            forge(release, changed(content, place, value))
            slowest, tried = max(slowest, seconds_until_refused(release)), tried + 1

    assert tried > 4000
    assert slowest < SECONDS


def at(content: Any, place: tuple[Any, ...]) -> Any:
    for name in place:
        content = content[name]
    return content


def may_stand(content: dict[str, Any], place: tuple[Any, ...], value: Any) -> bool:
    old = at(content, place)
    sentences = value if isinstance(value, list) and len(place) == 1 else [value]
    if place[0] in WORDS and all(isinstance(each, str) and 0 < len(each) < 5001 for each in sentences):
        return all(each.isprintable() for each in sentences) and bool(sentences or place[0] == WORDS[0])
    return (type(value) is type(old) and value == old) or (place in HONEST and HONEST[place] == value)


def test_a_missing_or_an_added_field_is_noticed(release: Path) -> None:
    content = original(release)
    for place in places(content):
        if place[0] not in (*WORDS, "digest"):
            without = deepcopy(content)
            del at(without, place[:-1])[place[-1]]
            forge(release, without)
            seconds_until_refused(release)
    for place in [("extra",), ("guarantee", "extra"), ("output", ESCAPE), ("domain", "x" * 5000)]:
        forge(release, changed(content, place, "1"))
        seconds_until_refused(release)


TEXTS: dict[str, Callable[[str], str]] = {
    "empty": lambda _: "",
    "a list": lambda _: "[]",
    "deep": lambda _: "[" * 100_000 + "]" * 100_000,
    "deep objects": lambda _: '{"a":' * 40_000 + "1" + "}" * 40_000,
    "a name twice": lambda text: text.replace('"schema":', '"schema": "pointveil-statement-2",\n  "schema":', 1),
    "a huge whole number": lambda text: text.replace('"rows": 5', '"rows": ' + "9" * 200_000),
    "a long float": lambda text: text.replace("10.02", "10.02" + "0" * 200_000),
    "too long": lambda text: text + " " * 2**20,
    "not a number": lambda text: text.replace("10.02", "NaN"),
    "infinite": lambda text: text.replace("10.02", "1e999"),
    "byte order": lambda text: "\ufeff" + text,
    "windows": lambda text: text.replace("\n", "\r\n"),
    "two": lambda text: text + text,
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_what_is_no_statement_is_refused_at_once(text: Callable[[str], str], release: Path) -> None:
    path = statement_path(release)
    path.write_bytes(text(path.read_text()).encode())

    assert seconds_until_refused(release) < SECONDS


def test_a_statement_as_large_as_may_be_is_refused_within_a_second(release: Path) -> None:
    """Amounts whose sum has ever more digits; lists of little things; many questions."""
    content = original(release)
    primes = [10**100 + 2 * number + 1 for number in range(400)]
    question = {**content["questions"][0], "theorem": "t", "sampler": "s"}
    for forged in (
        changed(content, ("questions",), [{**question, "epsilon": f"1/{prime}"} for prime in primes]),
        changed(content, ("method", "split"), {str(prime): f"1/{prime}" for prime in primes}),
        changed(content, ("method", "parameters"), {"a": [1] * 18_000}),
        changed(content, ("not_promised",), ["x"] * 20_000 + [""]),
        changed(content, ("output", "columns"), ["x"] * 20_000),
    ):
        forge(release, forged)
        assert statement_path(release).stat().st_size < 2**18
        assert seconds_until_refused(release) < SECONDS


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("domain", "bounds"), [50.0, 10.0, 50.012, 10.02]),  # swapped
        (("domain", "bounds"), [10.0, 50.0, 10.0001, 50.0001]),  # a corner
        (("domain", "crs"), "EPSG:25832"),
        (("output", "crs"), "EPSG:3857"),
    ],
)
def test_the_points_lie_in_the_world_that_is_named(place: tuple[str, ...], value: Any, release: Path) -> None:
    forge(release, changed(original(release), place, value))

    with pytest.raises(VerificationError, match="not in the world that its statement names"):
        verify(release)


@pytest.mark.parametrize("name", ["..", "../people.csv", "/etc/hostname", "sub/other.csv", "other.csv", "", "a\0b"])
def test_no_file_name_leads_out_of_the_release(name: str, release: Path) -> None:
    """Not even a file whose hash the forger knows, in the same folder, is opened."""
    (release.parent / "sub").mkdir()
    for other in ("other.csv", "sub/other.csv"):
        (release.parent / other).write_bytes(release.read_bytes())
    content = original(release)
    forged = {**content["output"]["files"][0], "name": name}
    forge(release, changed(content, ("output", "files"), [*content["output"]["files"], forged]))

    seconds_until_refused(release)


def test_points_that_are_nowhere_are_not_passed_over(release: Path) -> None:
    content = original(release)
    header = release.read_text().splitlines()[0]
    release.write_text("\n".join([header, *["nowhere,nowhere"] * content["output"]["rows"], ""]))
    nothing = hashlib.sha256(b"").hexdigest()
    output = {**content["output"], "points_sha256": nothing, "files": [describe_file(release).model_dump()]}

    forge(release, {**content, "output": output})

    seconds_until_refused(release)


@pytest.mark.parametrize(
    "unit",
    [
        "any one person with all their points, and their family of 3",
        "any one person with all their points (at most 3 of them are used) and all that they say",
        "any one pеrson with all their points (at most 3 of them are used)",
        "any one person with all their points (at most ３ of them are used)",
    ],
)
def test_the_protected_unit_is_one_that_there_is(unit: str, release: Path) -> None:
    """Not one that promises more, though all words that follow from it are changed, too."""
    content = original(release)
    promise = plain_words(content["guarantee"]["epsilon"], unit)

    forge(release, {**content, "guarantee": {**content["guarantee"], "unit": unit}, "in_plain_words": promise})

    seconds_until_refused(release)


@pytest.mark.parametrize(("question", "sensitivity"), [("count", 3), ("count", 128), ("crowding", 1), ("crowding", 7)])
def test_a_sensitivity_fits_the_points_of_a_person(question: str, sensitivity: int, release: Path) -> None:
    """Three of each are used, with 64 votes each; a crowd counts for so many times as it has people at least."""
    content = original(release)
    place = ("questions", len(content["questions"]) - 1)
    asked = {**content["questions"][-1], "question": question, "theorem": THEOREMS[question]}
    forge(release, changed(content, place, {**asked, "sensitivity": 6 if question == "crowding" else 192}))
    verify(release)

    forge(release, changed(content, place, {**asked, "sensitivity": sensitivity}))

    seconds_until_refused(release)


def test_a_small_file_of_many_equal_points_is_refused_before_they_are_read(
    people_file: Path, world: World, tmp_path: Path
) -> None:
    """Few bytes can stand for any number of equal rows; those of a release are not equal."""
    release, many = tmp_path / "synthetic.parquet", 20_000_000
    synthesize(Vault.open(people_file, world, epsilon=1, ledger=None), "ugrid-uni", count=5).write(release, key=None)
    equal = [pa.array(np.full(many // 20, 10.001)), pa.array(np.full(many // 20, 50.001))]
    with pq.ParquetWriter(release, pa.schema([("lon", pa.float64()), ("lat", pa.float64())])) as file:
        for _ in range(20):
            file.write_batch(pa.record_batch(equal, names=["lon", "lat"]))
    content = original(release)
    output = {**content["output"], "rows": many, "files": [describe_file(release).model_dump()]}
    forge(release, {**content, "output": output})

    assert seconds_until_refused(release) < SECONDS / 2
    with pytest.raises(VerificationError, match="cannot hold"):
        verify(release)


def test_links_and_pipes_are_not_followed(people_file: Path, world: World, tmp_path: Path) -> None:
    release = tmp_path / "synthetic.shp"
    synthesize(Vault.open(people_file, world, epsilon=1, ledger=None), "ugrid-uni", count=5).write(release, key=None)
    verify(release)
    part = release.with_suffix(".dbf")
    part.rename(tmp_path / "elsewhere.dbf")
    part.symlink_to(tmp_path / "elsewhere.dbf")
    with pytest.raises(VerificationError, match=r"synthetic\.dbf"):
        verify(release)

    statement = statement_path(release)
    makers: list[Callable[[], None]] = [partial(os.mkfifo, statement), partial(statement.symlink_to, "/dev/zero")]
    for make in (*makers, statement.mkdir):
        if statement.is_symlink() or statement.is_file() or statement.exists():
            statement.unlink()
        make()
        with pytest.raises(VerificationError):
            verify(release)


def test_nothing_of_a_forgery_reaches_the_terminal_as_it_is(
    release: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    content = original(release)
    odd = tmp_path / f"odd{ESCAPE}\n.csv"
    odd.write_bytes(release.read_bytes())
    statement_path(odd).write_bytes(statement_path(release).read_bytes())
    forge(release, changed(content, ("in_plain_words",), ESCAPE))

    for arguments in ([release], [odd], [release, "--public-key", ESCAPE], [odd, "--json"], [tmp_path / ESCAPE]):
        with pytest.raises(SystemExit) as stopped:
            main(["verify", *map(str, arguments)])
        assert stopped.value.code in {2, 4}
        said = "".join(capsys.readouterr())
        assert said.replace("\n", "").isprintable()


def test_the_promise_that_is_shown_is_what_epsilon_means(release: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of an earlier release, too, whose words were not well chosen."""
    content = original(release)
    promise = content["in_plain_words"]
    former = plain_words(content["guarantee"]["epsilon"], content["guarantee"]["unit"], PROMISES[1])
    forge(release, changed(content, ("in_plain_words",), "Nobody can learn anything."))
    seconds_until_refused(release)
    forge(release, changed(content, ("in_plain_words",), former))

    for option in ([], ["--explain"], ["--registry"]):
        with pytest.raises(SystemExit) as stopped:
            main(["verify", str(release), *option])
        assert stopped.value.code == 0
        said = "".join(capsys.readouterr())
        assert promise in said
        assert "odds" not in said


def test_the_signature_is_checked_before_anything_else(release: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("cryptography", reason="signing needs the extra 'sign'")
    from pointveil.statement import SigningKey

    key = SigningKey.new(release.parent / "key.pem")
    path = statement_path(release)
    signed = Statement.model_validate({k: v for k, v in original(release).items() if k != "digest"}).signed(key)
    path.write_text(signed.to_json())
    verify(release, public_key=key.public)

    def look(*_: object) -> None:
        raise AssertionError("something was looked at before the signature")

    monkeypatch.setattr(Statement, "model_validate", look)
    monkeypatch.setattr("pointveil.statement.parsing.digest_of", look)
    path.write_text(signed.model_copy(update={"made": "1999-01-01"}).to_json())
    with pytest.raises(VerificationError, match="signature is not that"):
        verify(release)
    path.write_text(signed.model_copy(update={"signature": None}).to_json())
    with pytest.raises(VerificationError, match="not signed"):
        verify(release, public_key=key.public)
