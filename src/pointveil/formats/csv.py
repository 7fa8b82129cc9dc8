"""Points in CSV files, with any delimiter and any names of columns."""

import csv
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv

from pointveil.errors import InputError
from pointveil.formats.base import Batch, Chunks, Layout, Request, make_batch
from pointveil.formats.columns import find_column, find_columns
from pointveil.formats.crs import DEFAULT_CRS, canonical_chunks, chosen_crs
from pointveil.formats.files import existing_file
from pointveil.formats.values import numbers

BLOCK_BYTES = 1 << 25
LONGEST_RECORD = 1 << 20
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
class CsvPoints:
    """A CSV file of points.

    Parameters
    ----------
    path
        The file.
    layout
        Its public facts.
    start
        Where the first record begins, in bytes.
    width
        How many fields a record has.
    fields
        Where x, y and perhaps the person stand in a record.
    """

    path: Path
    layout: Layout
    start: int
    width: int
    fields: tuple[int, ...]

    def batches(self) -> Iterator[Batch]:
        """Yield all records in order; a line with the wrong number of fields is left out."""
        try:
            with self.path.open("rb") as stream:
                stream.seek(self.start)
                for block in whole_records(stream):
                    yield self._batch(block)
        except OSError as problem:
            raise InputError(f"{self.path.name} cannot be read: {problem.strerror}.") from None

    def _batch(self, block: bytes) -> Batch:
        if not well_quoted(block, self.layout.delimiter):
            return self._in_text(self._parsed_by_line(block))
        try:
            table = self._parsed(block, pa.float64())
        except pa.ArrowException:
            return self._leniently(block)
        return self._made(numbers(table.column(0)), numbers(table.column(1)), table.columns[2:])

    def _leniently(self, block: bytes) -> Batch:
        # Arrow shows lines of the wrong width to Python as UTF-8, and complains aloud when they are not.
        encode = not block.isascii()
        text = block.decode("latin-1").encode() if encode else block
        try:
            columns = self._parsed(text, pa.binary(), lambda _: "skip").columns
        except pa.ArrowException:
            return self._in_text(self._parsed_by_line(block))
        if encode and len(columns) > 2:
            person = [value.decode().encode("latin-1") for value in columns[2].to_pylist()]
            columns = [*columns[:2], pa.array(person, pa.binary())]
        return self._in_text(columns)

    def _parsed(self, block: bytes, kind: Any, wrong_width: Callable[[Any], str] | None = None) -> Any:
        names = [str(field) for field in self.fields]
        kinds = dict(zip(names, (kind, kind, pa.binary()), strict=False))
        return arrow_csv.read_csv(
            pa.BufferReader(block),
            arrow_csv.ReadOptions(
                column_names=[str(field) for field in range(self.width)],
                block_size=len(block) + 1,
                use_threads=False,
            ),
            arrow_csv.ParseOptions(
                delimiter=self.layout.delimiter,
                quote_char='"' if b'"' in block else False,
                newlines_in_values=True,
                invalid_row_handler=wrong_width,
            ),
            arrow_csv.ConvertOptions(include_columns=names, column_types=kinds),
        )

    def _parsed_by_line(self, block: bytes) -> list[Any]:
        rows = [row for row in rows_by_line(block, self.layout.delimiter) if len(row) == self.width]
        columns = ([row[field].encode("latin-1") for row in rows] for field in self.fields)
        return [pa.array(column, pa.binary()) for column in columns]

    def _in_text(self, columns: list[Any]) -> Batch:
        decimal_comma = self.layout.delimiter != ","
        x, y = (numbers(column, decimal_comma=decimal_comma) for column in columns[:2])
        return self._made(x, y, columns[2:])

    def _made(self, x: Any, y: Any, person: list[Any]) -> Batch:
        if not person:
            return make_batch(x, y)
        column = person[0]
        column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        return make_batch(x, y, pc.replace_substring_regex(column, r"^\s+|\s+$", b""))


def whole_records(stream: Any) -> Iterator[bytes]:
    """Yield blocks of lines, cut where no quoted value is open; a line too long for a block is left out."""
    rest, skipping = b"", False
    while block := stream.read(BLOCK_BYTES):
        text = one_newline(rest + block)
        if skipping:
            text = text[text.find(b"\n") + 1 :] if b"\n" in text else b""
            skipping = not text
        cut = last_cut(text)
        if cut:
            yield text[:cut]
        skipping = skipping or len(text) - cut > BLOCK_BYTES
        rest = b"" if skipping else text[cut:]
    if rest:
        yield rest


def one_newline(text: bytes) -> bytes:
    """Return the text with every line ending written the same way."""
    return text.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in text else text


def last_cut(text: bytes) -> int:
    """Return where the last whole record ends, or the last line if its quotes do not tell."""
    end = last = text.rfind(b"\n")
    odd = text.count(b'"', 0, last) % 2 if last > 0 else 0
    while odd and end > max(0, last - LONGEST_RECORD):
        before = text.rfind(b"\n", 0, end)
        odd = (odd + text.count(b'"', max(before, 0), end)) % 2
        end = before
    return (last if odd or end < 0 else end) + 1


def well_quoted(text: bytes, delimiter: str) -> bool:
    """Whether every quote opens a value, closes one, or is doubled within one."""
    if b'"' not in text:
        return True
    padded = np.frombuffer(b"\n" + text + b"\n", dtype=np.uint8)
    quotes = np.flatnonzero(padded == ord('"'))
    borders = np.zeros(256, dtype=bool)
    borders[[ord(delimiter), ord("\n"), ord('"')]] = True
    opening, closing = quotes[::2], quotes[1::2]
    return bool(
        len(opening) == len(closing) and borders[padded[opening - 1]].all() and borders[padded[closing + 1]].all()
    )


def rows_by_line(text: bytes, delimiter: str) -> Iterator[list[str]]:
    """Yield the fields of each record of a badly quoted text; a bad line spoils only itself."""
    # Latin-1 gives every byte a character, so no byte can be wrong.
    lines = text.decode("latin-1").split("\n")
    place = 0
    while place < len(lines):
        reader = csv.reader(
            (line + "\n" for line in lines[place : place + 100]),
            delimiter=delimiter,
            skipinitialspace=True,
            strict=True,
        )
        try:
            row = next(reader)
            place += reader.line_num
        except (csv.Error, StopIteration):
            place += 1
            continue
        if row:
            yield row


def read(path: Path, request: Request) -> CsvPoints:
    """Open a CSV file; its delimiter and columns follow from its first line alone."""
    path = existing_file(path)
    with path.open("rb") as stream:
        head = stream.read(LONGEST_RECORD)
    for mark, kind in NOT_TEXT.items():
        if head.startswith(mark):
            raise InputError(f"{path.name} is not CSV but {kind}.")
    delimiter, names, start = header(head, request, path.name)
    x, y = find_columns(names, request.columns, path.name)
    fields = [x, y] + ([find_column(names, request.person, path.name)] if request.person else [])
    layout = Layout(
        "csv",
        crs=chosen_crs(request.crs or DEFAULT_CRS, None, path.name),
        x=names[x],
        y=names[y],
        y_first=y < x,
        delimiter=delimiter,
        left_out=tuple(name for place, name in enumerate(names) if place not in (x, y)),
    )
    return CsvPoints(path, layout, start, len(names), tuple(fields))


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
    text = [decoded(line) for line in lines[:100]]
    choices = [(delimiter, *split_header(text, delimiter)) for delimiter in delimiters(text[0])]
    chosen = next((choice for choice in choices if _is_fitting(choice[1], request, source)), None)
    delimiter, names, count = chosen or max(choices, key=lambda choice: len(choice[1]))
    return delimiter, names, start + sum(map(len, lines[:count]))


def delimiters(line: str) -> list[str]:
    """Return the characters that may be the delimiter of a header, the usual ones first."""
    others = {character for character in line if character.isascii() and not character.isalnum()}
    return [*USUAL_DELIMITERS, *sorted(others - set(USUAL_DELIMITERS + NEVER_DELIMITERS))]


def split_header(lines: list[str], delimiter: str) -> tuple[list[str], int]:
    """Return the names of a header and how many lines it takes."""
    reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=delimiter != " ")
    try:
        return [name.strip() for name in next(reader)], reader.line_num
    except csv.Error:
        return [], 1


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
        for chunk in canonical_chunks(chunks, layout.crs):
            columns = layout.in_file_order(chunk)
            arrow_csv.write_csv(pa.table([pa.array(column) for column in columns], ["0", "1"]), stream, options)


def statement(path: Path) -> str | None:
    """Return nothing: CSV has no place for a statement."""
    del path
    return None
