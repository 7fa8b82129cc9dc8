"""Tables that are too long for memory, laid aside in a file without a name until they are written."""

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa

ROWS = 2**20  # that are read back at a time: a bound on memory


class LaidAside:
    """Tables of one schema, added one after the other, then read as often as wished."""

    def __init__(self, folder: Path | None) -> None:
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - closed with this object
        self._ends = [0]  # bytes, of each part
        self.rows = 0

    def add(self, table: pa.Table) -> None:
        """Lay a table aside."""
        self._file.seek(0, os.SEEK_END)
        for start in range(0, table.num_rows, ROWS):
            with pa.ipc.new_stream(self._file, table.schema) as writer:
                writer.write_table(table.slice(start, ROWS).combine_chunks())
            self._ends.append(self._file.tell())
        self.rows += table.num_rows

    def __iter__(self) -> Iterator[pa.Table]:
        for start, end in pairwise(self._ends):
            self._file.seek(start)
            part = np.empty(end - start, dtype=np.uint8)  # which asks for large pages of memory; Arrow does not
            if self._file.readinto(part.data) != len(part):
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            yield pa.ipc.open_stream(part).read_all()

    def __del__(self) -> None:
        with suppress(OSError):  # a full disk refuses what was not written yet, which nobody needs any more
            self._file.close()
