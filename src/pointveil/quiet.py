"""Silence warnings, or collect our own, in one thread while others go on: Python's filters belong to all of them."""

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from pointveil.errors import PointveilWarning

_collected: ContextVar[list[str] | None] = ContextVar("_collected", default=None)


class _Silence:
    """How many are silent now: the first changes the filters, and the last, which may be another, puts them back."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holders = 0

    def __enter__(self) -> None:
        with self._lock:
            if self._holders == 0:
                self._before = warnings.catch_warnings()
                self._before.__enter__()
                warnings.simplefilter("ignore")
            self._holders += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._holders -= 1
            if self._holders == 0:
                self._before.__exit__(None, None, None)


silence = _Silence()
"""Let nothing warn within: no value of a record, no library. Threads may be within at the same time."""


def warn(text: str, *, stacklevel: int) -> None:
    """Tell the owner something about a release: whoever collects, or else as Python warns."""
    collected = _collected.get()
    if collected is None:
        warnings.warn(text, PointveilWarning, stacklevel=stacklevel + 1)
    else:
        collected.append(text)


@contextmanager
def collect() -> Iterator[list[str]]:
    """Collect what this thread would warn of, whatever others are doing."""
    texts: list[str] = []
    before = _collected.set(texts)
    try:
        yield texts
    finally:
        _collected.reset(before)
