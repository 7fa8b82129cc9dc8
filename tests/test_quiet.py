"""Warnings in several threads at the same time."""

import threading
import warnings

import pytest

from pointveil.errors import PointveilWarning
from pointveil.quiet import collect, silence, warn


def test_silence_lasts_for_one_thread_when_another_ends_its_own() -> None:
    entered, left = threading.Event(), threading.Event()

    def other() -> None:
        with silence:
            entered.set()
            left.wait(10)
            warnings.warn("a value of a record", stacklevel=1)  # an error here, if it were heard

    before = warnings.filters[:]
    failed: list[BaseException] = []

    def guarded() -> None:
        try:
            other()
        except BaseException as fault:  # noqa: BLE001
            failed.append(fault)

    with silence:
        thread = threading.Thread(target=guarded)
        thread.start()
        entered.wait(10)
    left.set()
    thread.join()

    assert failed == []
    assert warnings.filters == before


def test_silence_within_silence_ends_with_the_outer_one() -> None:
    with silence:
        with silence:
            pass
        warnings.warn("still silent", stacklevel=1)
    with pytest.warns(UserWarning, match="heard"):
        warnings.warn("heard", stacklevel=1)


def test_what_is_collected_in_a_thread_is_not_lost_to_others() -> None:
    def other() -> None:
        with silence:
            pass

    with collect() as said:
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        warn("hardly any point", stacklevel=1)

    assert said == ["hardly any point"]


def test_a_warning_that_nobody_collects_is_pythons() -> None:
    with pytest.warns(PointveilWarning, match="hardly any point"):
        warn("hardly any point", stacklevel=1)
