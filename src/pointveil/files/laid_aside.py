"""Tables that are too long for memory, laid aside in a file without a name until they are written."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

ROWS = 2**20  # that are read back at a time: a bound on memory


class LaidAside:
    """Tables of one schema, added one after the other, then read as often as wished."""

    def __init__(self, folder: Path | None) -> None:
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - closed with this object
        self._writer: Any = None
        self.rows = 0

    def add(self, table: pa.Table) -> None:
        """Lay a table aside."""
        if self._writer is None:
            self._writer = pa.ipc.new_stream(self._file, table.schema)
        self._writer.write_table(table, max_chunksize=ROWS)
        self.rows += table.num_rows

    def __iter__(self) -> Iterator[pa.Table]:
        if self._writer is None:
            return
        self._writer.close()
        self._file.seek(0)
        with pa.ipc.open_stream(self._file) as reader:
            for batch in reader:
                yield pa.table(batch)

    def __del__(self) -> None:
        self._file.close()
