"""A survey belongs to its statement: an exchanged answer, method, form or world is noticed."""

import dataclasses
import io
import json
import time
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pointveil as pv
from pointveil.cli import main
from pointveil.errors import InputError, VerificationError
from pointveil.releases import draw
from pointveil.releases import survey as ask
from pointveil.statement import SigningKey, digest_of
from pointveil.statement.wording import NUMERICS, SAMPLERS, SOURCES
from pointveil.surveys import Survey
from pointveil.vault import NoisyCounts, Vault
from pointveil.verification import verify
from pointveil.world import World

EDITION_0 = Path(__file__).parents[1] / "fixtures" / "edition-0"
Content = dict[str, bytes]


@pytest.fixture
def made(people_file: Path, world: World) -> Survey:
    return ask(Vault.open(people_file, world, epsilon=1), "ugrid-kde")


@pytest.fixture
def path(made: Survey, tmp_path: Path) -> Path:
    made.write(tmp_path / "city.survey")
    return tmp_path / "city.survey"


def unpacked(path: Path) -> Content:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def pack(path: Path, content: Content) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in content.items():
            archive.writestr(name, part)
    path.write_bytes(buffer.getvalue())


def array(values: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, values)
    return buffer.getvalue()


def described(content: Content, change: Callable[[dict[str, Any]], object]) -> Content:
    description = json.loads(content["survey.json"])
    change(description)
    return {**content, "survey.json": json.dumps(description).encode()}


def other_world(content: Content, tmp_path: Path) -> Content:
    World.make((10.0, 50.0, 10.02, 50.012)).write(tmp_path / "other.gpkg")
    return {**content, "world.gpkg": (tmp_path / "other.gpkg").read_bytes()}


def header_of_a_giant(content: Content) -> bytes:
    return content["answers/0-values.npy"].replace(b"(1,), }            ", b"(999999999999,), } ")


EXCHANGES: dict[str, Callable[[Content, Path], Content]] = {
    "an answer": lambda it, _: {
        **it, "answers/0-values.npy": array(np.load(io.BytesIO(it["answers/0-values.npy"])) + 1),
    },
    "a blurred point": lambda it, _: {
        **it, "answers/2-site.npy": array(np.load(io.BytesIO(it["answers/2-site.npy"]))[::-1]),
    },
    "the order of values": lambda it, _: {
        **it, "answers/1-values.npy": array(np.load(io.BytesIO(it["answers/1-values.npy"]))[::-1]),
    },
    "a cell less": lambda it, _: {
        **it, "answers/1-values.npy": array(np.load(io.BytesIO(it["answers/1-values.npy"]))[:-1]),
    },
    "floats": lambda it, _: {**it, "answers/0-values.npy": array(np.array([1.5]))},
    "a giant": lambda it, _: {**it, "answers/0-values.npy": header_of_a_giant(it)},
    "a pickle": lambda it, _: {**it, "answers/0-values.npy": array(np.array([{}], dtype=object))},
    "no answer": lambda it, _: {name: part for name, part in it.items() if name != "answers/0-values.npy"},
    "the world": other_world,
    "a damaged world": lambda it, _: {**it, "world.gpkg": it["world.gpkg"][:5000]},
    "no world": lambda it, _: {name: part for name, part in it.items() if name != "world.gpkg"},
    "the method": lambda it, _: described(it, lambda d: d["method"]["parameters"]["placement"].update(max_uses=2)),
    "the split": lambda it, _: described(it, lambda d: d["method"]["split"].update(total="1/50", count="58/100")),
    "the columns": lambda it, _: described(it, lambda d: d["layout"].update(x="lat", y="lon")),
    "the CRS": lambda it, _: described(it, lambda d: d["layout"].update(crs="EPSG:3857")),
    "a purpose": lambda it, _: described(it, lambda d: d["answers"][0].update(purpose="count")),
    "an epsilon": lambda it, _: described(it, lambda d: d["answers"][0].update(epsilon="1e-400000000")),
    "a person's points": lambda it, _: described(it, lambda d: d["answers"][0].update(points_per_unit=2)),
    "the answers": lambda it, _: described(it, lambda d: d["answers"].pop()),
    "no list": lambda it, _: described(it, lambda d: d.update(answers=7)),
    "deep": lambda it, _: {**it, "survey.json": b"[" * 100_000},
    "no JSON": lambda it, _: {**it, "survey.json": b"\xff"},
    "no statement": lambda it, _: {name: part for name, part in it.items() if name != "statement.json"},
    "a giant statement": lambda it, _: {**it, "statement.json": b" " * 10**8},
    "a stranger's file in it": lambda it, _: {**it, "people.csv": b"lon,lat\n"},
    "a way out of it": lambda it, _: {**it, "../people.csv": b"lon,lat\n"},
    "an answer more than it says": lambda it, _: {**it, "answers/9-values.npy": it["answers/0-values.npy"]},
    "a fact more than it has": lambda it, _: described(it, lambda d: d.update(more=1)),
    "a truth for a number": lambda it, _: described(it, lambda d: d.update(version=True)),
    "a text for a number": lambda it, _: described(it, lambda d: d["answers"][0].update(points_per_unit="1")),
    "a list of columns": lambda it, _: described(it, lambda d: d.update(layout=[])),
}  # fmt: skip


@pytest.mark.parametrize("exchange", EXCHANGES.values(), ids=EXCHANGES)
def test_what_was_exchanged_is_noticed_and_not_drawn_from(
    exchange: Callable[[Content, Path], Content], path: Path, tmp_path: Path
) -> None:
    content = unpacked(path)
    pack(path, exchange(content, tmp_path))

    start = time.process_time()
    with pytest.raises(VerificationError) as refused:
        verify(path)
    assert time.process_time() - start < 1
    assert str(refused.value).isprintable()
    with pytest.raises((VerificationError, InputError), match=r"city\.survey"):
        Survey.read(path)
    with pytest.raises(SystemExit) as stopped:
        main(["draw", str(path), str(tmp_path / "drawn.csv")])
    assert stopped.value.code in {2, 4}
    assert not (tmp_path / "drawn.csv").exists()


def bomb(content: Content) -> bytes:
    """A megabyte that unpacks to a thousand."""
    zeros = b"\0" * 2**20
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in content.items():
            with archive.open(name, "w") as file:
                for _ in range(1000 if name == "world.gpkg" else 0):
                    file.write(zeros)
                file.write(part)
    return buffer.getvalue()


def zipped(content: Content, kind: int, *, wrong: bool = False) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", kind) as archive:
        for name, part in content.items():
            archive.writestr(name, part)
    whole = bytearray(buffer.getvalue())
    place = whole.find(b"world.gpkg") + 40
    whole[place : place + 20] = b"\xff" * 20 if wrong else whole[place : place + 20]
    return bytes(whole)


def twice(content: Content) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, part in [("survey.json", b"{}"), *content.items()]:
            archive.writestr(name, part)
    return buffer.getvalue()


ARCHIVES: dict[str, Callable[[Content], bytes]] = {
    "bytes after it": lambda it: zipped(it, zipfile.ZIP_DEFLATED) + b"lon,lat\n",
    "bytes before it": lambda it: zipped(it, zipfile.ZIP_DEFLATED)[:40] + zipped(it, zipfile.ZIP_DEFLATED),
    "a name twice": twice,
    "another packing": lambda it: zipped(it, zipfile.ZIP_LZMA),
    "a damaged part": lambda it: zipped(it, zipfile.ZIP_DEFLATED, wrong=True),
    "a damaged part, packed otherwise": lambda it: zipped(it, zipfile.ZIP_BZIP2, wrong=True),
    "a bomb": bomb,
}


@pytest.mark.parametrize("forged", ARCHIVES.values(), ids=ARCHIVES)
def test_an_archive_that_no_survey_is_is_refused_within_a_second(
    forged: Callable[[Content], bytes], path: Path, tmp_path: Path
) -> None:
    path.write_bytes(forged(unpacked(path)))

    start = time.process_time()
    with pytest.raises(VerificationError):
        verify(path)
    assert time.process_time() - start < 1
    with pytest.raises(SystemExit) as stopped:
        main(["draw", str(path), str(tmp_path / "drawn.csv")])
    assert stopped.value.code in {2, 4}


def bound_anew(content: Content, change: Callable[[dict[str, Any]], object]) -> Content:
    """Change a statement as a forger does who makes all its digests anew."""
    statement = json.loads(content["statement.json"])
    del statement["digest"]
    change(statement)
    text = json.dumps({**statement, "digest": digest_of(statement)}, indent=2, ensure_ascii=False) + "\n"
    return {**content, "statement.json": text.encode()}


OTHERWISE: dict[str, Callable[[dict[str, Any]], object]] = {
    "fewer cells": lambda it: it["questions"][1].update(cells=7),
    "more cells than any question has": lambda it: it["questions"][2].update(cells=10**9),
    "a larger world": lambda it: it["domain"].update(bounds=[9.0, 49.0, 11.0, 51.0]),
    "a world without roads": lambda it: it["domain"].update(roads=False),
    "a finer lattice": lambda it: it["domain"].update(lattice=1e-9),
    "another CRS of the world": lambda it: it["domain"].update(crs="EPSG:4258"),
    "a seed that was none": lambda it: it["randomness"].update(source="a seeded generator"),
    "another noise's source": lambda it: it["randomness"].update(source=SOURCES["opendp"]),
    "another noise in one question": lambda it: it["questions"][1].update(sampler=SAMPLERS["count", "opendp"]),
    "another noise's numbers": lambda it: it.update(numerics=NUMERICS["opendp"]),
}


@pytest.mark.parametrize("change", OTHERWISE.values(), ids=OTHERWISE)
def test_a_statement_that_fits_its_own_digests_must_fit_the_answers_and_the_world(
    change: Callable[[dict[str, Any]], object], path: Path
) -> None:
    content = unpacked(path)
    pack(path, bound_anew(content, lambda _: None))
    verify(path)

    pack(path, bound_anew(content, change))

    with pytest.raises(VerificationError):
        verify(path)
    with pytest.raises(VerificationError):
        Survey.read(path)


def test_a_survey_in_order_is_verified_and_drawn_from(path: Path, made: Survey) -> None:
    checks = " ".join(verify(path).checks)

    assert "the answers, the method, the form and the world are those of the statement" in checks
    assert "not signed" in checks
    assert verify(path).statement == made.statement
    assert len(draw(Survey.read(path), count=3)) == 3
    with pytest.raises(SystemExit) as stopped:
        main(["verify", str(path), "--explain"])
    assert stopped.value.code == 0


def one_more(made: Survey) -> NoisyCounts:
    first = made.answers[0]
    assert isinstance(first, NoisyCounts)
    return dataclasses.replace(first, values=first.values + 1)


def test_a_survey_that_was_changed_in_memory_is_not_drawn_from(made: Survey, plain_world: World) -> None:
    first = one_more(made)
    for other in (
        dataclasses.replace(made, answers=(first, *made.answers[1:])),
        dataclasses.replace(made, world=plain_world),
        dataclasses.replace(made, method=pv.METHODS["ugrid-uni"]),
        dataclasses.replace(made, layout=dataclasses.replace(made.layout, crs="EPSG:3857")),
    ):
        with pytest.raises(VerificationError):
            draw(other, count=1)


def test_every_byte_of_a_survey_counts_or_changes_nothing(path: Path, made: Survey) -> None:
    content = path.read_bytes()
    rng = np.random.default_rng(1)
    for place in rng.choice(len(content), 150, replace=False):
        changed = bytearray(content)
        changed[place] ^= int(rng.integers(1, 256))
        path.write_bytes(bytes(changed))
        try:
            assert verify(path).statement == made.statement
        except (VerificationError, InputError):
            continue


def test_a_release_and_its_survey_have_the_same_digests(made: Survey, tmp_path: Path) -> None:
    released = draw(made, count=3).write(tmp_path / "drawn.csv")

    assert released.survey == made.statement.survey
    assert released.survey is not None


def test_the_survey_of_an_earlier_edition_is_verified_as_far_as_it_goes() -> None:
    checks = " ".join(verify(EDITION_0 / "veil.survey").checks)

    assert "the answers were NOT checked" in checks


def test_a_rehearsed_survey_is_not_verified(people_file: Path, world: World, tmp_path: Path) -> None:
    ask(Vault.rehearse(people_file, world, epsilon=1, seed=1), "ugrid-uni").write(tmp_path / "rehearsed.survey")

    with pytest.raises(VerificationError, match="rehearsal"):
        verify(tmp_path / "rehearsed.survey")


def test_a_survey_is_signed(made: Survey, tmp_path: Path) -> None:
    """Only a signature shows a survey that was made anew, with digests that fit."""
    pytest.importorskip("cryptography", reason="signing needs the extra 'sign'")
    owner, forger = SigningKey.new(tmp_path / "owner.pem"), SigningKey.new(tmp_path / "forger.pem")
    path = tmp_path / "city.survey"
    made.write(path, key=owner, force=True)
    assert "signed by the given key" in " ".join(verify(path, public_key=owner.public).checks)

    first = one_more(made)
    forged = dataclasses.replace(made, answers=(first, *made.answers[1:])).bound()
    for key in (None, forger):
        forged.write(path, key=key, force=True)
        verify(path)
        with pytest.raises(VerificationError):
            verify(path, public_key=owner.public)
