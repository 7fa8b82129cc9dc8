"""Records that come only once, laid aside as numbers: in memory first, then in a file that has no name."""

import tempfile
import threading
from collections.abc import Iterator
from contextlib import suppress

import numpy as np

from pointveil.engines.siphash import Numbers
from pointveil.formats import DamagedError

IN_MEMORY = 2**27
"""Bytes that are held; what is more goes to a file that only this process can open, and that ends with it."""


class Spool:
    """Rows of 64-bit words, written once and read as often as wished, by several threads."""

    def __init__(self) -> None:
        # Made with mode 0600 and unlinked at once.
        self._file = tempfile.SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115 - closed by `close`
        self._shapes: list[tuple[int, int]] = []
        self._lock = threading.Lock()
        self.is_whole = False

    def add(self, rows: Numbers) -> None:
        """Lay words (w, n) aside."""
        try:
            self._file.write(np.ascontiguousarray(rows).data)
        except OSError as problem:
            raise DamagedError(
                f"What can be read only once cannot be laid aside: {problem.strerror}. "
                "Point TMPDIR to a folder with more room."
            ) from None
        self._shapes.append((rows.shape[0], rows.shape[1]))

    def __iter__(self) -> Iterator[Numbers]:
        place = 0
        for width, count in self._shapes:
            with self._lock:
                self._file.seek(place)
                content = self._file.read(8 * width * count)
            place += len(content)
            yield np.frombuffer(content, dtype=np.uint64).reshape(width, count)

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Give memory and disk back."""
        with suppress(OSError):  # a full disk refuses what was not written yet, which nobody needs any more
            self._file.close()
        self._shapes.clear()
