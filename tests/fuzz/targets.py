"""What each reader must keep to whatever bytes it is given: `scripts/fuzz.py` looks for bytes that break it."""

import ast
import atexit
import contextlib
import hashlib
import io
import json
import re
import shutil
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import shapely

import pointveil
from pointveil.errors import InputError, PointveilError, VerificationError
from pointveil.formats import open_points
from pointveil.formats.wkb import points_of_geopackage, points_of_wkb
from pointveil.surveys import Survey
from pointveil.verification import verify

SECONDS = 2.0
"""Of processor time, for the longest input; most take a thousandth of it."""
BOUNDS = (10.0, 50.0, 10.02, 50.012)


@cache
def room() -> Path:
    """Return a folder for this process."""
    folder = Path(tempfile.mkdtemp(prefix="pointveil-fuzz-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@cache
def vocabulary() -> frozenset[str]:
    """Return every word that stands in a text of the program itself."""
    texts = []
    for file in Path(pointveil.__file__).parent.rglob("*.py"):
        constants = (node.value for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Constant))
        texts += [value for value in constants if isinstance(value, str)]
    return frozenset(re.findall(r"\w+", " ".join(texts)))


def check_words(fault: PointveilError, *public: str) -> None:
    """Fail if a message has a word that is neither the program's own nor public."""
    strange = set(re.findall(r"\w+", str(fault))) - vocabulary() - set(re.findall(r"\w+", " ".join(public)))
    assert not strange, "a message quotes a record"


def rows_of(path: Path, content: bytes) -> Counter[Any]:
    """Return how often each place and person stands in a file of this content."""
    path.write_bytes(content)
    found: Counter[Any] = Counter()
    for batch in open_points(path, person="who").batches():
        who = batch.person.to_pylist()
        found.update(zip(map(repr, batch.coordinates.tolist()), who, strict=True))
    return found


def csv(data: bytes) -> None:
    """Records of a CSV file: none makes it fail, and two halves hold what the whole holds. Or any file at all."""
    path = room() / "people.csv"
    if data[:1] == b"!":
        with contextlib.suppress(PointveilError):
            rows_of(path, data[1:])
        return
    header = b"lon,lat,who\n"
    lines = data.replace(b"\r", b"\n").split(b"\n")
    half = len(lines) // 2
    parts = [rows_of(path, header + b"\n".join(some)) for some in (lines[:half], lines[half:])]
    assert rows_of(path, header + data) == parts[0] + parts[1], "a record changed another"


def geojson(data: bytes) -> None:
    """Features of a GeoJSON file, or any file at all."""
    path = room() / "people.geojson"
    is_whole = data[:1] == b"!"
    content = data[1:] if is_whole else b'{"type":"FeatureCollection","features":[' + data + b"]}"
    try:
        rows_of(path, content)
    except PointveilError as fault:
        if not is_whole:
            check_words(fault, path.name)


def wkb(data: bytes) -> None:
    """Geometries with a byte for the length before each: read together as one by one, and as GEOS reads them."""
    pieces = []
    while data:
        length, data = data[0], data[1:]
        pieces.append(data[:length] if length < 255 else None)
        data = data[length:] if length < 255 else data
    for read in (points_of_wkb, points_of_geopackage):
        together = read(pa.array(pieces, pa.binary()))
        alone = [read(pa.array([piece], pa.binary())) for piece in pieces]
        assert np.array_equal(together, np.concatenate([np.empty((0, 2)), *alone]), equal_nan=True)
    for place, piece in zip(points_of_wkb(pa.array(pieces, pa.binary())), pieces, strict=True):
        if not np.isnan(place).any():  # GEOS also reads much that is of no known kind
            shape = shapely.from_wkb(piece, on_invalid="ignore")
            if shape is not None and not shape.is_empty:
                assert np.array_equal(place, shapely.get_coordinates(shape)[0]), "GEOS reads another place"


@cache
def example() -> tuple[Survey, dict[str, Any], bytes]:
    """Return an invented survey, the statement of a release drawn from it as JSON, and the release's file."""
    points = np.random.default_rng(5).uniform(BOUNDS[:2], BOUNDS[2:], (50, 2))
    vault = pointveil.Vault.open(points, pointveil.World.make(BOUNDS), epsilon=1, ledger=None)
    survey = pointveil.survey(vault, "ugrid-uni", small=True)
    path = room() / "released.csv"
    pointveil.draw(survey, count=5, seed=1).write(path, key=None)
    stated = json.loads(path.with_name("released.csv.statement.json").read_text())
    return survey, stated, path.read_bytes()


def statement(data: bytes) -> None:
    """A statement beside a release: as these bytes, or a good one with some of its fields exchanged."""
    _, good, released = example()
    path = room() / "released.csv"
    path.write_bytes(released)
    path.with_name("released.csv.statement.json").write_bytes(exchanged(good, data))
    begin = time.process_time()
    with contextlib.suppress(VerificationError, InputError):
        verify(path)
    assert time.process_time() - begin < SECONDS, "verification takes too long"


def exchanged(good: dict[str, Any], data: bytes) -> bytes:
    """Return a statement into which an object of {path: value} was put, with a digest that fits; or just the bytes."""
    try:
        changes = json.loads(data)
    except (ValueError, RecursionError):
        return data
    if not isinstance(changes, dict) or "schema" in changes:
        return data
    stated: Any = json.loads(json.dumps(good))
    for path, value in changes.items():
        *parents, last = path.split(".")
        inner = stated
        for name in parents:
            found = inner.get(name) if isinstance(inner, dict) else None
            inner = found[0] if isinstance(found, list) and found else found
        if isinstance(inner, dict):
            inner[last] = value
    stated.pop("digest", None)
    canonical = json.dumps(stated, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    stated["digest"] = hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()
    return (json.dumps(stated, indent=2, ensure_ascii=False) + "\n").encode("utf-8", "surrogatepass")


@cache
def members() -> dict[str, bytes]:
    """Return what a good survey is made of."""
    with zipfile.ZipFile(io.BytesIO(example()[0].to_bytes())) as archive:
        return {name: archive.read(name) for name in sorted(archive.namelist())}


def survey(data: bytes) -> None:
    """A survey: as these bytes, or a good one of which one member is exchanged."""
    if data[:1].isdigit():
        names = list(members())
        exchanged = {names[int(data[:1]) % len(names)]: data[1:]}
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            for name, content in (members() | exchanged).items():
                archive.writestr(name, content)
        data = buffer.getvalue()
    path = room() / "people.survey"
    path.write_bytes(data)
    begin = time.process_time()
    with contextlib.suppress(VerificationError, InputError):
        Survey.read(path)
    assert time.process_time() - begin < SECONDS, "reading a survey takes too long"


TARGETS: dict[str, Callable[[bytes], None]] = {each.__name__: each for each in (csv, geojson, wkb, statement, survey)}
