"""Give memory back when a part of the work is done, so that the next does not come on top of it."""

import ctypes
from contextlib import suppress

import pyarrow as pa


def return_memory() -> None:
    """Return what is free to the operating system: what Arrow keeps, and what the C library does, if it can be told."""
    pa.default_memory_pool().release_unused()
    with suppress(AttributeError, OSError, TypeError):  # of other systems
        ctypes.CDLL(None).malloc_trim(0)
