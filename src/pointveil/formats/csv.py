"""Points in CSV files, with any delimiter and any names of columns."""

import csv
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv

from pointveil.errors import InputError
from pointveil.formats.base import Batch, Chunks, Layout, PointSource, Request, make_batch
from pointveil.formats.columns import find_column, find_columns, plain_layout
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
    """The records of a CSV file.

    Parameters
    ----------
    path
        The file.
    delimiter
        What stands between two fields.
    start
        Where the first record begins, in bytes.
    width
        How many fields a record has.
    fields
        Where x, y and perhaps the person stand in a record.
    """

    path: Path
    delimiter: str
    start: int
    width: int
    fields: tuple[int, ...]

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
            return make_batch(np.empty((0, 2)), pa.array([], pa.binary()) if self.fields[2:] else None)
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
            person = [value.decode().encode("latin-1") for value in columns[2].to_pylist()]
            columns = [*columns[:2], pa.array(person, pa.binary())]
        return self._in_text(columns)

    def _parsed(self, block: bytes, kind: Any, wrong_width: Callable[[Any], str] | None = None) -> Any:
        names = [str(field) for field in self.fields]
        kinds = dict(zip(names, (kind, kind, pa.binary()), strict=False))
        if block.startswith(BYTE_ORDER_MARK):  # which Arrow would drop from a record that happens to come first
            block = b"\n" + block
        return arrow_csv.read_csv(
            pa.BufferReader(block),
            arrow_csv.ReadOptions(
                column_names=[str(field) for field in range(self.width)],
                block_size=len(block) + 1,
                use_threads=False,
            ),
            arrow_csv.ParseOptions(
                delimiter=self.delimiter,
                quote_char='"' if b'"' in block else False,
                invalid_row_handler=wrong_width,
            ),
            arrow_csv.ConvertOptions(include_columns=names, column_types=kinds),
        )

    def _columns(self, rows: list[list[str]]) -> list[Any]:
        whole = [row for row in rows if len(row) == self.width]
        columns = ([row[field].encode("latin-1") for row in whole] for field in self.fields)
        return [pa.array(column, pa.binary()) for column in columns]

    def _in_text(self, columns: list[Any]) -> Batch:
        decimal_comma = self.delimiter != ","
        return self._made([numbers(column, decimal_comma=decimal_comma) for column in columns[:2]], columns[2:])

    def _made(self, axes: list[Any], person: list[Any]) -> Batch:
        return make_batch(np.column_stack(axes), *map(person_column, person))


def read(path: Path, request: Request) -> PointSource:
    """Open a CSV file; its delimiter and columns follow from its first line alone."""
    with path.open("rb") as stream:
        head = stream.read(LONGEST_RECORD)
    for mark, kind in NOT_TEXT.items():
        if head.startswith(mark):
            raise InputError(f"{path.name} is not CSV but {kind}.")
    delimiter, names, start = header(head, request, path.name)
    x, y = find_columns(names, request.columns, path.name)
    fields = [x, y] + ([find_column(names, request.person, path.name)] if request.person else [])
    layout = plain_layout("csv", names, (x, y), request.crs, path.name, delimiter=delimiter)
    return PointSource(layout, CsvRecords(path, delimiter, start, len(names), tuple(fields)).batches, path)


def header(head: bytes, request: Request, source: str) -> tuple[str, list[str], int]:
    """Return the delimiter, the names of the columns and where the records start."""
    start = len(BYTE_ORDER_MARK) if head.startswith(BYTE_ORDER_MARK) else 0
    lines = head[start:].splitlines(keepends=True)
    while lines and not lines[0].strip():
        start += len(lines.pop(0))
    if not lines:
        raise InputError(f"{source} is blank; its first line must hold the names of the columns.")
    if len(lines) == 1 and len(head) == LONGEST_RECORD:
        raise InputError(f"{source} is not CSV: its first line does not end.")
    # No more than one line, whatever its quotes: the next is somebody's.
    text = decoded(lines[0])
    choices = [(delimiter, split_header(text, delimiter)) for delimiter in delimiters(text)]
    chosen = next((choice for choice in choices if _is_fitting(choice[1], request, source)), None)
    delimiter, names = chosen or max(choices, key=lambda choice: len(choice[1]))
    return delimiter, names, start + len(lines[0])


def delimiters(line: str) -> list[str]:
    """Return the characters that may be the delimiter of a header, the usual ones first."""
    others = {character for character in line if character.isascii() and not character.isalnum()}
    return [*USUAL_DELIMITERS, *sorted(others - set(USUAL_DELIMITERS + NEVER_DELIMITERS))]


def split_header(line: str, delimiter: str) -> list[str]:
    """Return the names of a header."""
    try:
        return [
            name.strip() for name in next(csv.reader([line], delimiter=delimiter, skipinitialspace=delimiter != " "))
        ]
    except csv.Error:
        return []


def decoded(line: bytes) -> str:
    """Return a line of a header as text, whatever its bytes."""
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        return line.decode("latin-1")


def _is_fitting(names: list[str], request: Request, source: str) -> bool:
    try:
        find_columns(names, request.columns, source)
    except InputError:
        return False
    return True


def write(path: Path, chunks: Chunks, layout: Layout, statement: str | None) -> None:
    """Write a header and one line per point; CSV has no place for a statement."""
    del statement
    with path.open("wb") as stream:
        line = io.StringIO()
        csv.writer(line, delimiter=layout.delimiter, lineterminator="\n").writerow(layout.names)
        stream.write(line.getvalue().encode("utf-8"))
        options = arrow_csv.WriteOptions(include_header=False, delimiter=layout.delimiter)
        for chunk in chunks:
            columns = layout.in_file_order(chunk)
            arrow_csv.write_csv(pa.table([pa.array(column) for column in columns], ["0", "1"]), stream, options)
