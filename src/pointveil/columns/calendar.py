"""The bins of a public period: wall-clock time, cut evenly or folded into a pattern."""

import re
import zoneinfo
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pointveil.errors import InputError

Ints = NDArray[np.int64]

DAY, WEEK = 86_400, 604_800  # seconds
RESOLUTIONS = {"15min": 900, "1h": 3_600, "1d": DAY}
"""How long a bin of a dated column is, in seconds."""
PATTERNS = {"hour-of-day": DAY, "hour-of-week": WEEK}
"""After how many seconds a pattern begins again; its bins are hours."""
MONDAY = 4 * DAY  # the first Monday since 1970
MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2})?)?")


class Period(NamedTuple):
    """From when to when, in seconds of wall-clock time since 1970; the end is outside."""

    start: int
    end: int

    @property
    def seconds(self) -> int:
        """How long it is."""
        return self.end - self.start


def parse_period(text: str, name: str) -> Period:
    """Return the period that a text such as 2014-04-01/2014-07-01 stands for."""
    parts = [part.strip() for part in str(text).split("/")]
    if len(parts) != 2 or not all(MOMENT.fullmatch(part) for part in parts):
        raise InputError(
            f"The period of '{name}' is {text!r}; write it as 2014-04-01/2014-07-01: the first day, and the day after "
            "the last."
        )
    try:
        start, end = (int(np.datetime64(part.replace(" ", "T"), "s").astype(np.int64)) for part in parts)
    except ValueError:
        raise InputError(f"The period of '{name}' names a day that does not exist: {text!r}.") from None
    if end <= start:
        raise InputError(f"The period of '{name}' ends before it starts: {text!r}.")
    return Period(start, end)


def check_zone(zone: str, name: str) -> None:
    """Refuse a time zone that does not exist."""
    try:
        zoneinfo.ZoneInfo(zone)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError, ModuleNotFoundError):
        raise InputError(
            f"There is no time zone {zone!r} (column '{name}'); write one such as Europe/Lisbon or UTC."
        ) from None


def starts_of(codes: Ints, period: Period, resolution: str) -> Ints:
    """Return when each bin starts, in wall-clock seconds; of a pattern, in the first day or week of the period."""
    if resolution in PATTERNS:
        origin = MONDAY if resolution == "hour-of-week" else 0
        return period.start + (codes * 3_600 - (period.start - origin)) % PATTERNS[resolution]
    return period.start + codes * RESOLUTIONS[resolution]
