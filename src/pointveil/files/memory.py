"""Keep memory at hand while work goes on, and give it back when a part of the work is done."""

import ctypes
from contextlib import suppress

TRIM_THRESHOLD, MMAP_THRESHOLD, ARENA_MAX = -1, -3, -8  # as the C library numbers its options
LARGE = 2**30  # bytes


def keep_memory() -> None:
    """Let the C library hand the memory of one array to the next; it is for a process of our own to say.

    Otherwise large arrays are mapped anew, and the system fills every one of them with zeros first.
    """
    with suppress(AttributeError, OSError, TypeError):  # of other systems
        library = ctypes.CDLL(None)
        for option, value in ((MMAP_THRESHOLD, LARGE), (TRIM_THRESHOLD, LARGE), (ARENA_MAX, 1)):
            library.mallopt(option, value)


def return_memory() -> None:
    """Return what is free to the operating system: what Arrow keeps, and what the C library does, if it can be told."""
    import pyarrow as pa  # late: the command line comes by here before it knows what it is to do

    pa.default_memory_pool().release_unused()
    with suppress(AttributeError, OSError, TypeError):  # of other systems
        ctypes.CDLL(None).malloc_trim(0)
