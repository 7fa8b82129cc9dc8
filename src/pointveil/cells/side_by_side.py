"""Work on several things at the same time, and get the results in order."""

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import numpy as np

from pointveil.errors import InputError

Item = TypeVar("Item")
Result = TypeVar("Result")


def side_by_side(work: Callable[[Item], Result], items: Iterable[Item], threads: int) -> Generator[Result]:
    """Yield the result for each item, in order, whatever the number of threads; few items and results wait."""
    waiting: deque[Future[Result]] = deque()

    def quietly(item: Item) -> Result:
        with np.errstate(all="ignore"):  # which is another one in every thread
            return work(item)

    try:
        if threads == 1:
            yield from map(quietly, items)
            return
        with ThreadPoolExecutor(threads) as pool:
            try:
                for item in items:
                    waiting.append(pool.submit(quietly, item))
                    if len(waiting) > threads:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
            finally:
                for each in waiting:
                    each.cancel()
    finally:
        getattr(items, "close", bool)()  # so that no lock is held while an error is looked at


def check_threads(threads: int | None) -> int:
    """Return how many threads to use: as many as were asked for, or as there are processors."""
    if threads is not None and (type(threads) is not int or threads < 1):
        raise InputError(f"threads must be a whole number of at least 1, not {threads!r}.")
    return threads or os.cpu_count() or 1
