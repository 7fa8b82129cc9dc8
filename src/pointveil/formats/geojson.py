"""Points in GeoJSON, read and written one feature at a time."""

import codecs
import json
import re
from array import array
from collections.abc import Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pointveil.columns import Column
from pointveil.errors import InputError
from pointveil.files.crs import DEGREES, chosen_crs
from pointveil.formats.base import (
    BATCH_ROWS,
    STATEMENT_KEY,
    Batch,
    Chunk,
    Chunks,
    DamagedError,
    Layout,
    PointSource,
    Request,
    make_batch,
)
from pointveil.formats.codes import coded, codes_of_values
from pointveil.formats.columns import no_columns
from pointveil.formats.decoding import as_text
from pointveil.formats.kept import usual_kind, with_kept
from pointveil.formats.persons import person_name

# Small, so that few objects live at once, which Python would search for cycles again and again.
READ_BYTES = 1 << 14
LONGEST_VALUE = 1 << 24
KEPT_ROWS = 1 << 14
LONGEST_ENDING = 1 << 20
NOWHERE = (float("nan"), float("nan"))
BLANK = re.compile(r"\s*")
SPACE = re.compile(r"[\s,]*")
BETWEEN_FEATURES = ("},{", "},\n{", "}, {", "},\r\n{", "},\n  {", "},\n    {")
# How a feature starts; in JSON no text holds a quote that is not escaped, so none looks like this.
NEXT_FEATURE = re.compile(
    r'[,\[\]}]\s*(?=\{\s*(?:"id"\s*:\s*(?:"[^"]{0,256}"|[^\s",{}\[\]]{1,256})\s*,\s*)?'
    r'(?:"type"\s*:\s*"Feature"|"(?:properties|geometry)"\s*:))',
)
MOST_ENDINGS = 1000
# The longest piece of JSON that may look wrong only because it is not yet there to its end.
LONGEST_WORD = 16
# Whole numbers stay text: none is too long, and no identifier is rounded.
DECODER = json.JSONDecoder(parse_int=str, strict=False)


def _batches(path: Path, layout: Layout, request: Request) -> Iterator[Batch]:
    rows = min(BATCH_ROWS, KEPT_ROWS) if request.keep else BATCH_ROWS
    with path.open("rb") as stream:
        features = Text(stream, path.name).features()
        while (batch := _batch(islice(features, rows), layout, request)) is not None:
            yield batch


def _batch(features: Iterator[Any], layout: Layout, request: Request) -> Batch | None:
    # Each feature is let go at once: a million of them would fill a gigabyte.
    numbers, owners = array("d"), []
    kept: dict[Column, list[Any]] = {column: [] for column in coded(request.keep)}
    for feature in features:
        numbers.extend(point_of(feature))
        if request.person is not None:
            owners.append(person_name(property_of(feature, request.person)))
        for column, values in kept.items():
            values.append(property_of(feature, column.name))
    if not numbers:
        return None
    coordinates = np.frombuffer(numbers, dtype=np.float64).reshape(-1, 2)
    person = None if request.person is None else pa.array(owners, pa.binary())
    codes = (codes_of_values(column, values, layout.kept[column.name].type) for column, values in kept.items())
    return make_batch(coordinates, person, tuple(codes))


class Text:
    """The text of a GeoJSON file, of which only a window is held; errors call the file `name`."""

    def __init__(self, stream: Any, name: str) -> None:
        self._stream = stream
        self._name = name
        # A byte that is not UTF-8 stays what it is, and spoils no more than its word.
        self._decode = codecs.getincrementaldecoder("utf-8-sig")("surrogateescape").decode
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
        while not self._is_over():
            yield from self._several() or [self._feature()]

    def _is_over(self) -> bool:
        """Whether only what stands after the features is left; if the file does not end so, it is not whole."""
        if self._peek() != "]":
            return False
        while len(self._window) - self._place <= LONGEST_ENDING and self._read():
            pass
        return self._ends(self._place)

    def _ends(self, place: int) -> bool:
        if len(self._window) - place > LONGEST_ENDING:
            return False
        try:
            members = DECODER.decode('{"":0' + self._window[place + 1 :])
        except (ValueError, RecursionError):
            return False
        if "crs" in members:
            raise InputError(f"{self._name} says its CRS after its features; move the 'crs' member before them.")
        self._place = place
        return True

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
        """Read a member of the file itself, which must be in order."""
        found = self._decoded(",:}")
        if found is None:
            raise self._broken()
        return found[0]

    def _feature(self) -> Any:
        """Read one feature; what is none, or is too long, is nowhere, and the next feature goes on after it."""
        found = self._decoded(",]") if self._peek() == "{" else None
        if found is None:
            self._skip()
        return None if found is None else found[0]

    def _decoded(self, followers: str) -> tuple[Any] | None:
        """Read one value and what must follow it; nothing if it is not JSON, or is too long or too deep."""
        self._peek()
        while True:
            try:
                value, end = DECODER.raw_decode(self._window, self._place)
            except RecursionError:
                return None
            except json.JSONDecodeError as fault:
                if not fault.msg.startswith("Unterminated") and fault.pos <= len(self._window) - LONGEST_WORD:
                    return None
                end = len(self._window)
            found = BLANK.match(self._window, end)
            if found and found.end() < len(self._window):
                if end - self._place > LONGEST_VALUE or self._window[found.end()] not in followers:
                    return None
                self._place = end
                return (value,)
            if len(self._window) - self._place > LONGEST_VALUE or not self._read():
                return None

    def _skip(self) -> None:
        """Go on where the next feature starts, or where the features end."""
        self._place += 1
        while (found := NEXT_FEATURE.search(self._window, self._place)) is None:
            self._place = max(self._place, len(self._window) - LONGEST_ENDING)
            if not self._read():
                brackets = [each.start() for each in re.finditer("]", self._window)]
                if True not in [self._ends(place) for place in brackets[-MOST_ENDINGS:]]:
                    raise self._broken()
                return
        self._place = found.end()

    def _several(self) -> list[Any]:
        """Read as many features as the window seems to hold, at once because that is faster."""
        start, end = self._place, self._place + 2 * READ_BYTES
        between = -1 if self._tried else max(self._window.rfind(mark, start, end) for mark in BETWEEN_FEATURES)
        self._tried = True
        if between < self._place:
            return []
        try:
            values: list[Any] = DECODER.decode(f"[{self._window[self._place : between + 1]}]")
        except (ValueError, RecursionError):
            return []
        self._place = between + 1
        self._tried = False
        return values

    def _read(self) -> bool:
        rest = self._window[self._place :]
        data = self._stream.read(max(READ_BYTES, len(rest)))
        self._window = rest + self._decode(data, not data)
        self._place = 0
        self._tried = False
        return bool(data)

    def _broken(self) -> DamagedError:
        return DamagedError(f"{self._name} is not whole GeoJSON: it is damaged, cut off or of another format.")


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


def property_of(feature: Any, name: str) -> str | float | bool | None:
    """Return a property of a feature; a list or an object is as good as none."""
    try:
        value = feature["properties"][name]
    except (KeyError, TypeError, IndexError):
        return None
    return value if isinstance(value, str | float | bool) else None


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
        left_out=("other properties" if request.keep else "properties",),
    )
    named = [column.name for column in request.keep]
    layout = with_kept(layout, named, request, path.name, usual_kind)
    return PointSource(layout, partial(_batches, path, layout, request), path)


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
            lines = feature_lines(chunk, layout)
            stream.write(lines[1:] if first else lines)
            first = first and not lines
        stream.write(b"\n]}\n")


def feature_lines(chunk: Chunk, layout: Layout) -> bytes:
    """Return the features of some points, each with a comma and a new line before it."""
    x, y = (pc.cast(pa.array(np.ascontiguousarray(column)), pa.large_string()) for column in chunk.coordinates.T)
    start, between = ',\n{"type":"Feature","properties":{', '},"geometry":{"type":"Point","coordinates":['
    parts = [start, *_members(chunk, layout), between, x, ",", y, "]}}", ""]
    scalars = [pa.scalar(part, pa.large_string()) if isinstance(part, str) else part for part in parts]
    joined = pc.binary_join_element_wise(*scalars)
    return bytes(joined.buffers()[2]) if len(joined) else b""


def _members(chunk: Chunk, layout: Layout) -> Iterator[Any]:
    """Yield the pieces of JSON that say the kept columns: texts, and a column of texts after each."""
    kept = chunk.kept
    for number, name in enumerate(name for name in layout.columns if name in kept):
        yield ("," if number else "") + json.dumps(name, ensure_ascii=False) + ":"
        words = pa.array(json_values(kept[name], layout.kept[name])).dictionary_encode()
        written = [json.dumps(word, ensure_ascii=False) for word in words.dictionary.to_pylist()]
        yield pa.array([*written, "null"], pa.large_string()).take(words.indices.fill_null(len(written)))


def properties(table: Any, layout: Layout) -> list[dict[str, Any]]:
    """Return the kept columns of each row as values that JSON can hold."""
    told = {name: json_values(table.column(name).combine_chunks(), layout.kept[name]) for name in table.column_names}
    order = [name for name in layout.columns if name in told] or list(told)
    return [dict(zip(order, row, strict=True)) for row in zip(*(told[name] for name in order), strict=True)]


def json_values(column: Any, field: Any) -> list[Any]:
    """Return a kept column as values that JSON can hold: numbers and truth values as such, all else as text."""
    plain = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
    if pa.types.is_integer(plain.type) or pa.types.is_boolean(plain.type):
        return list(plain.to_pylist())
    texts = list(as_text(plain, {**(field.metadata or {}), b"decimal": b"."}).to_pylist())
    is_number = pa.types.is_floating(plain.type) or pa.types.is_decimal(plain.type)
    return [None if text is None else float(text) for text in texts] if is_number else texts


def statement(path: Path) -> str | None:
    """Return the statement among the members of a file."""
    with path.open("rb") as stream:
        found = Text(stream, path.name).open().members.get(STATEMENT_KEY)
    return found if isinstance(found, str) else None
