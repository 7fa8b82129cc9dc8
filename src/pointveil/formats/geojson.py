"""Points in GeoJSON, read and written one feature at a time."""

import codecs
import json
import re
from array import array
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pointveil.errors import InputError
from pointveil.files.crs import DEGREES, chosen_crs
from pointveil.formats.base import BATCH_ROWS, STATEMENT_KEY, Batch, Chunks, Layout, PointSource, Request, make_batch
from pointveil.formats.columns import no_columns
from pointveil.formats.persons import person_name

# Small, so that few objects live at once, which Python would search for cycles again and again.
READ_BYTES = 1 << 14
LONGEST_VALUE = 1 << 26
NOWHERE = (float("nan"), float("nan"))
SPACE = re.compile(r"[\s,]*")
BETWEEN_FEATURES = ("},{", "},\n{", "}, {", "},\r\n{", "},\n  {", "},\n    {")
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)
BARE_WORD = re.compile(r'[^\[\]{}",:]+(?=[,\]])')
NEXT_FEATURE = re.compile(r"[}\]][\s,]*\{")


# Whole numbers stay text: none is too long, and no identifier is rounded.
DECODER = json.JSONDecoder(parse_int=str, strict=False)


def _batches(path: Path, person: str | None) -> Iterator[Batch]:
    with path.open("rb") as stream:
        features = Text(stream, path.name).features()
        while (batch := _batch(islice(features, BATCH_ROWS), person)) is not None:
            yield batch


def _batch(features: Iterator[Any], person: str | None) -> Batch | None:
    # Each feature is let go at once: a million of them would fill a gigabyte.
    numbers, owners = array("d"), []
    for feature in features:
        numbers.extend(point_of(feature))
        if person is not None:
            owners.append(person_of(feature, person))
    if not numbers:
        return None
    coordinates = np.frombuffer(numbers, dtype=np.float64).reshape(-1, 2)
    return make_batch(coordinates, None if person is None else pa.array(owners, pa.binary()))


class Text:
    """The text of a GeoJSON file, of which only a window is held.

    Parameters
    ----------
    stream
        The bytes of the file, from its beginning.
    name
        The name of the file, for errors.
    """

    def __init__(self, stream: Any, name: str) -> None:
        self._stream = stream
        self._name = name
        # A byte that is not UTF-8 spoils a name or a word, never the file.
        self._decode = codecs.getincrementaldecoder("utf-8-sig")("replace").decode
        self._window = ""
        self._place = 0
        self._tried = False
        self.members: dict[str, Any] = {}

    def open(self) -> "Text":
        """Read the members that stand before the features."""
        self._expect("{")
        while self._peek() != "}":
            name = self._value()
            self._expect(":")
            if name == "features" and self._peek() == "[":
                self._place += 1
                return self
            self.members[str(name)] = self._value()
        return self

    def features(self) -> Iterator[Any]:
        """Yield one feature after the other, or the one thing that the file holds."""
        self.open()
        if self.members.get("type") == "Feature":
            yield self.members
            return
        if "coordinates" in self.members:
            yield {"geometry": self.members}
            return
        while self._peek() != "]":
            yield from self._several() or [self._feature()]
        self._place += 1
        self._end()

    def _end(self) -> None:
        while self._peek() != "}":
            name = self._value()
            self._expect(":")
            self._value()
            if name == "crs":
                raise InputError(f"{self._name} says its CRS after its features; move the 'crs' member before them.")
        self._place += 1
        # More after the end means that a broken feature was taken for the end.
        while not self._window[self._place :].strip():
            self._place = len(self._window)
            if not self._read():
                return
        raise self._broken()

    def _peek(self) -> str:
        while True:
            found = SPACE.match(self._window, self._place)
            self._place = found.end() if found else self._place
            if self._place < len(self._window):
                return self._window[self._place]
            if not self._read():
                raise self._broken()

    def _expect(self, character: str) -> None:
        if self._peek() != character:
            raise self._broken()
        self._place += 1

    def _value(self) -> Any:
        return self._decoded(lambda: len(self._window))

    def _feature(self) -> Any:
        """Read one feature; one that is not JSON is nothing, if it is plain where it ends."""
        return self._decoded(self._end_of_broken)

    def _decoded(self, end_of_broken: Callable[[], int]) -> Any:
        self._peek()
        while True:
            value = None
            try:
                value, end = DECODER.raw_decode(self._window, self._place)
            except RecursionError:
                end = self._end_of_nested()
            except ValueError:
                end = end_of_broken()
            # A number that touches the end of the window may go on after it.
            if end < len(self._window):
                self._place = end
                return value
            if len(self._window) - self._place > LONGEST_VALUE or not self._read():
                raise self._broken()

    def _end_of_broken(self) -> int:
        if self._window[self._place] in "{[":
            end = self._end_of_nested()
            # Quotes or brackets that do not match may have joined it to the next, which must not vanish with it.
            if end < len(self._window) and NEXT_FEATURE.search(self._window, self._place, end):
                raise self._broken()
            return end
        word = BARE_WORD.match(self._window, self._place)
        return word.end() if word else len(self._window)

    def _several(self) -> list[Any]:
        """Read as many features as the window seems to hold, at once because that is faster."""
        between = -1 if self._tried else max(self._window.rfind(mark) for mark in BETWEEN_FEATURES)
        self._tried = True
        if between < self._place:
            return []
        try:
            values: list[Any] = DECODER.decode(f"[{self._window[self._place : between + 1]}]")
        except (ValueError, RecursionError):
            return []
        self._place = between + 1
        return values

    def _end_of_nested(self) -> int:
        depth = 0
        for token in TOKEN.finditer(self._window, self._place):
            depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(token.group(), 0)
            if depth == 0:
                return token.end()
        return len(self._window)

    def _read(self) -> bool:
        rest = self._window[self._place :]
        data = self._stream.read(max(READ_BYTES, len(rest)))
        self._window = rest + self._decode(data, not data)
        self._place = 0
        self._tried = False
        return bool(data)

    def _broken(self) -> InputError:
        return InputError(f"{self._name} is not whole GeoJSON; it may be cut off or of another format.")


def point_of(feature: Any) -> tuple[float, float]:
    """Return x and y of a feature, or nowhere."""
    try:
        geometry = feature["geometry"]
        if geometry["type"] == "Point":
            return float(geometry["coordinates"][0]), float(geometry["coordinates"][1])
        if geometry["type"] == "MultiPoint" and len(geometry["coordinates"]) == 1:
            return float(geometry["coordinates"][0][0]), float(geometry["coordinates"][0][1])
    except (KeyError, TypeError, ValueError, IndexError, AttributeError):
        pass
    return NOWHERE


def person_of(feature: Any, name: str) -> bytes | None:
    """Return whose a feature is, as bytes; a list or an object names nobody."""
    try:
        value = feature["properties"][name]
    except (KeyError, TypeError, IndexError):
        return None
    return person_name(value)


def read(path: Path, request: Request) -> PointSource:
    """Open a GeoJSON file; only what stands before its features is looked at."""
    no_columns(request.columns, path.name)
    with path.open("rb") as stream:
        members = Text(stream, path.name).open().members
    own = own_crs(members, path.name)
    layer = members.get("name")
    layout = Layout(
        "geojson",
        crs=chosen_crs(own, request.crs, path.name),
        layer=layer if isinstance(layer, str) else None,
        # Which properties there are is known only from the records, so they are not named.
        left_out=("properties",),
    )
    return PointSource(layout, partial(_batches, path, request.person), path)


def own_crs(members: dict[str, Any], name: str) -> Any:
    """Return the CRS that a GeoJSON file says, which is longitude and latitude if it says nothing."""
    if "crs" not in members or members["crs"] is None:
        return DEGREES
    try:
        return members["crs"]["properties"]["name"]
    except (KeyError, TypeError):
        raise InputError(f"The 'crs' member of {name} does not name a CRS; name one, or leave it out.") from None


def write(path: Path, chunks: Chunks, layout: Layout, statement: str | None) -> None:
    """Write a collection of features, one a line."""
    members: dict[str, Any] = {"type": "FeatureCollection", "name": layout.layer or path.stem}
    if layout.crs != DEGREES:
        authority, _, code = layout.crs.partition(":")
        if not code.isalnum():
            raise InputError(
                f"{path.name} cannot hold a CRS without a name such as EPSG:4326; write .gpkg or .parquet."
            )
        members["crs"] = {"type": "name", "properties": {"name": f"urn:ogc:def:crs:{authority}::{code}"}}
    if statement is not None:
        members[STATEMENT_KEY] = statement
    with path.open("wb") as stream:
        stream.write(json.dumps(members, ensure_ascii=False)[:-1].encode("utf-8") + b', "features": [')
        first = True
        for chunk in chunks:
            lines = feature_lines(chunk)
            stream.write(lines[1:] if first else lines)
            first = first and not lines
        stream.write(b"\n]}\n")


def feature_lines(chunk: Any) -> bytes:
    """Return the features of some points, each with a comma and a new line before it."""
    x, y = (pc.cast(pa.array(np.ascontiguousarray(column)), pa.large_string()) for column in chunk.T)
    before = ',\n{"type":"Feature","properties":{},"geometry":{"type":"Point","coordinates":['
    start, comma, end, nothing = (pa.scalar(text, pa.large_string()) for text in (before, ",", "]}}", ""))
    joined = pc.binary_join_element_wise(start, x, comma, y, end, nothing)
    return bytes(joined.buffers()[2]) if len(joined) else b""


def statement(path: Path) -> str | None:
    """Return the statement among the members of a file."""
    with path.open("rb") as stream:
        found = Text(stream, path.name).open().members.get(STATEMENT_KEY)
    return found if isinstance(found, str) else None
