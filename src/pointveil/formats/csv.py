"""Points in CSV files, with any delimiter and any names of columns."""

import csv
import dataclasses
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv

from pointveil.errors import InputError
from pointveil.files.places import File
from pointveil.formats.base import Batch, Chunks, Layout, PointSource, Request, make_batch
from pointveil.formats.codes import coded
from pointveil.formats.columns import find_column, find_columns, listed, looks_like_data, plain_layout
from pointveil.formats.decoding import as_text
from pointveil.formats.kept import codes_from, usual_kind, with_kept
from pointveil.formats.persons import person_column
from pointveil.formats.records import LONGEST_RECORD, fields_of, records
from pointveil.formats.values import numbers

USUAL_DELIMITERS = ",;\t|"
# What a number or a name is made of cannot lie between two of them.
NEVER_DELIMITERS = "\"'_.+-()[]{}\r\n"
NOT_TEXT = {
    b"\x1f\x8b": "compressed with gzip; unpack it first (gunzip)",
    b"PK\x03\x04": "a zip archive or a spreadsheet; unpack it, or export it as CSV",
    b"BZh": "compressed with bzip2; unpack it first",
    b"\xfd7zXZ": "compressed with xz; unpack it first",
    b"\x28\xb5\x2f\xfd": "compressed with zstd; unpack it first",
    b"PAR1": "a Parquet file; give it the suffix .parquet",
    b"SQLite format 3": "a GeoPackage or another database; give it the suffix .gpkg",
    b"\xff\xfe": "in UTF-16; save it as UTF-8",
    b"\xfe\xff": "in UTF-16; save it as UTF-8",
}
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class CsvRecords:
    """The records of a CSV file."""

    path: File
    delimiter: str  # stands between two fields
    start: int  # of the first record, in bytes
    width: int  # how many fields a record has
    fields: tuple[int, ...]  # where x, y, perhaps the person, and the kept columns stand in a record
    request: Request  # what is wanted of them
    layout: Layout

    def batches(self) -> Iterator[Batch]:
        """Yield all records; a line with the wrong number of fields is left out."""
        with self.path.open("rb") as stream:
            stream.seek(self.start)
            for part in records(stream, self.delimiter):
                yield self._batch(part.text)
                if part.others:
                    yield self._in_text(self._columns(part.others))

    def _batch(self, block: bytes) -> Batch:
        if not block.strip():
            return self._made([np.empty(0)] * 2, [pa.array([], pa.binary())] * len(self.fields[2:]))
        try:
            table = self._parsed(block, pa.float64())
        except pa.ArrowException:
            return self._leniently(block)
        return self._made([numbers(column) for column in table.columns[:2]], table.columns[2:])

    def _leniently(self, block: bytes) -> Batch:
        # Arrow shows lines of the wrong width to Python as UTF-8, and complains aloud when they are not.
        encode = not block.isascii()
        text = block.decode("latin-1").encode() if encode else block
        try:
            columns = self._parsed(text, pa.binary(), lambda _: "skip").columns
        except pa.ArrowException:
            return self._in_text(self._columns([fields_of(line, self.delimiter) for line in block.split(b"\n")]))
        if encode and len(columns) > 2:
            texts = ([value.decode().encode("latin-1") for value in column.to_pylist()] for column in columns[2:])
            columns = [*columns[:2], *(pa.array(column, pa.binary()) for column in texts)]
        return self._in_text(columns)

    def _parsed(self, block: bytes, kind: Any, wrong_width: Callable[[Any], str] | None = None) -> Any:
        names, every = ([str(field) for field in fields] for fields in (self.fields, range(self.width)))
        kinds = {**dict.fromkeys(names, pa.binary()), **dict.fromkeys(names[:2], kind)}
        if block.startswith(BYTE_ORDER_MARK):  # which Arrow would drop from a record that happens to come first
            block = b"\n" + block
        quote = '"' if b'"' in block else False
        return arrow_csv.read_csv(
            pa.BufferReader(block),
            arrow_csv.ReadOptions(column_names=every, block_size=len(block) + 1, use_threads=False),
            arrow_csv.ParseOptions(delimiter=self.delimiter, quote_char=quote, invalid_row_handler=wrong_width),
            arrow_csv.ConvertOptions(include_columns=names, column_types=kinds),
        )

    def _columns(self, rows: list[list[str]]) -> list[Any]:
        whole = [row for row in rows if len(row) == self.width]
        columns = ([row[field].encode("latin-1") for row in whole] for field in self.fields)
        return [pa.array(column, pa.binary()) for column in columns]

    def _in_text(self, columns: list[Any]) -> Batch:
        axes = columns[:2]
        if self.delimiter != ",":  # then a comma in a number stands for its point
            axes = [pc.replace_substring(column, b",", b".") for column in axes]
        return self._made([numbers(column) for column in axes], columns[2:])

    def _made(self, axes: list[Any], others: list[Any]) -> Batch:
        person = None if self.request.person is None else person_column(others[0])
        kept = coded(self.request.keep)
        texts = {column.name: text for column, text in zip(kept, others[len(others) - len(kept) :], strict=True)}
        return make_batch(np.column_stack(axes), person, codes_from(texts.__getitem__, self.layout, kept))


def read(path: File, request: Request) -> PointSource:
    """Open a CSV file; its delimiter and columns follow from its first line alone."""
    with path.open("rb") as stream:
        head = stream.read(LONGEST_RECORD)
    for mark, kind in NOT_TEXT.items():
        if head.startswith(mark):
            raise InputError(f"{path.name} is not CSV but {kind}.")
    delimiter, names, line, start = header(head, request, path.name)
    x, y = find_columns(names, request.columns, path.name)
    fields = [x, y] + ([find_column(names, request.person, path.name)] if request.person else [])
    layout = plain_layout("csv", names, (x, y), request.crs, path.name, delimiter=delimiter)
    layout = with_kept(layout, names, request, path.name, usual_kind)
    if request.keep:
        fields += [names.index(column.name) for column in coded(request.keep)]
        layout = dataclasses.replace(
            layout,
            header=tuple(quoted_names(line, delimiter, names)[names.index(name)] for name in layout.columns),
            line_end="\r\n" if line.endswith("\r\n") else "\n",
            bom=head.startswith(BYTE_ORDER_MARK),
        )
    found = CsvRecords(path, delimiter, start, len(names), tuple(fields), request, layout)
    return PointSource(layout, found.batches, path)


def quoted_names(line: str, delimiter: str, names: list[str]) -> list[str]:
    """Return the names of a header as they stand there, with their quotes."""
    found = [name.strip() for name in re.findall(rf'(?:[^{re.escape(delimiter)}"]|"[^"]*")+', line.strip("\r\n"))]
    plain = [split_header(name, delimiter) for name in found]
    return found if plain == [[name] for name in names] else [as_field(name, delimiter) for name in names]


def as_field(name: str, delimiter: str) -> str:
    """Return a text with quotes, if it needs them."""
    return '"' + name.replace('"', '""') + '"' if re.search(rf'["\r\n{re.escape(delimiter)}]', name) else name


def fields(path: File) -> dict[str, Any]:
    """Return the names of all columns, which hold text."""
    with path.open("rb") as stream:
        _, names, _, _ = header(stream.read(LONGEST_RECORD), Request(), path.name)
    if any(map(looks_like_data, names)):
        raise InputError(f"Of {path.name}, {listed(names)}")
    return dict.fromkeys(names, pa.string())


def header(head: bytes, request: Request, source: str) -> tuple[str, list[str], str, int]:
    """Return the delimiter, the names of the columns, the line with them and where the records start."""
    start = len(BYTE_ORDER_MARK) if head.startswith(BYTE_ORDER_MARK) else 0
    lines = head[start:].splitlines(keepends=True)
    while lines and not lines[0].strip():
        start += len(lines.pop(0))
    if not lines:
        raise InputError(f"{source} is blank; its first line must hold the names of the columns.")
    if len(lines) == 1 and len(head) == LONGEST_RECORD:
        raise InputError(f"{source} is not CSV: its first line does not end.")
    # No more than one line, whatever its quotes: the next is somebody's.
    try:
        text = lines[0].decode("utf-8")
    except UnicodeDecodeError:
        text = lines[0].decode("latin-1")
    if re.fullmatch(r"sep=.\s*", text, re.IGNORECASE):
        raise InputError(
            f"{source} begins with a line of Excel's, {text.strip()}: delete it, so that the names come first."
        )
    others = {character for character in text if character.isascii() and not character.isalnum()}
    delimiters = [*USUAL_DELIMITERS, *sorted(others - set(USUAL_DELIMITERS + NEVER_DELIMITERS))]
    choices = {delimiter: split_header(text, delimiter) for delimiter in delimiters}
    # Names may have blanks in them: an unusual delimiter is one only where no usual one is, or the names prove it.
    delimiter = max(choices, key=lambda each: (each in USUAL_DELIMITERS and len(choices[each]) > 1, len(choices[each])))
    for choice, names in choices.items():
        with suppress(InputError):
            find_columns(names, request.columns, source)
            delimiter = choice
            break
    return delimiter, choices[delimiter], text, start + len(lines[0])


def split_header(line: str, delimiter: str) -> list[str]:
    """Return the names of a header."""
    try:
        return [
            name.strip() for name in next(csv.reader([line], delimiter=delimiter, skipinitialspace=delimiter != " "))
        ]
    except csv.Error:
        return []


def write(path: Path, chunks: Chunks, layout: Layout, statement: str | None) -> None:
    """Write a header and one line per point; CSV has no place for a statement."""
    del statement
    names = layout.header or [as_field(name, layout.delimiter) for name in layout.columns or layout.names]
    with path.open("wb") as stream:
        stream.write(BYTE_ORDER_MARK if layout.bom else b"")
        stream.write((layout.delimiter.join(names) + layout.line_end).encode("utf-8"))
        for chunk in chunks:
            axes = (_decimals(pa.array(axis), layout) for axis in layout.in_file_order(chunk.coordinates))
            places = dict(zip(layout.names, axes, strict=True))
            kept = {name: _written(column, layout, layout.kept[name]) for name, column in chunk.kept.items()}
            stream.write(_lines(list(layout.in_order(places, kept).values()), layout))


def _decimals(axis: Any, layout: Layout) -> Any:
    """Return coordinates, with the decimal sign that the owner declared for a number: a file has one."""
    declared = {(field.metadata or {}).get(b"decimal") for field in layout.kept.values()}
    if b"," not in declared or layout.delimiter == ",":
        return axis
    return pc.replace_substring(axis.cast(pa.large_string()), ".", ",")


def _written(column: Any, layout: Layout, field: Any) -> Any:
    """Return a kept column as text, quoted where that is needed; what is missing is blank."""
    text = pc.fill_null(as_text(column, field.metadata or {}).cast(pa.large_string()), "")
    mark, nothing = (pa.scalar(each, pa.large_string()) for each in ('"', ""))
    needed = rf'["\r\n{re.escape(layout.delimiter)}]'
    quoted = pc.binary_join_element_wise(mark, pc.replace_substring(text, '"', '""'), mark, nothing)
    return pc.if_else(pc.match_substring_regex(text, needed), quoted, text)


def _lines(columns: list[Any], layout: Layout) -> bytes:
    texts = [column.cast(pa.large_string()) for column in columns]
    between = [pa.scalar(text, pa.large_string()) for text in (layout.delimiter, layout.line_end, "")]
    parts = [part for text in texts for part in (text, between[0])][:-1]
    joined = pc.binary_join_element_wise(*parts, between[1], between[2])
    return bytes(joined.buffers()[2]) if len(joined) else b""
