"""What a clock on the wall shows at a moment, and when it shows it: whole arrays, within a public period."""

import datetime as dt
import zoneinfo
from functools import lru_cache

import numpy as np

from pointveil.cells.arrays import Ints
from pointveil.columns import PATTERNS, RESOLUTIONS
from pointveil.columns.calendar import DAY, MONDAY, Period

UTC = "UTC"
AROUND = 3 * DAY  # no clock is that far from UTC
FIRST, LAST = -62_135_000_000, 253_402_000_000  # the seconds of the years that Python's calendar knows


def wall_of(moments: Ints, zone: str, period: Period) -> Ints:
    """Return the wall-clock time of moments, in seconds; what is far from the period stays outside it."""
    nearby = np.clip(moments, period.start - AROUND, period.end + AROUND)
    changes, ahead = _changes(zone, period)
    return nearby + ahead[np.searchsorted(changes, nearby, side="right")]


def moments_of(wall: Ints, zone: str, period: Period) -> Ints:
    """Return when the clock shows these times: the first moment of two; an hour later if it skips the time."""
    changes, ahead = _changes(zone, period)
    until = changes + np.maximum(ahead[:-1], ahead[1:])
    return wall - ahead[np.searchsorted(until, wall, side="right")]


def codes_of(wall: Ints, period: Period, resolution: str) -> Ints:
    """Return the bin of each moment, given in seconds of wall-clock time; -1 outside the period."""
    if resolution in PATTERNS:
        origin = MONDAY if resolution == "hour-of-week" else 0
        bins = (wall - origin) % PATTERNS[resolution] // 3_600
    else:
        bins = (wall - period.start) // RESOLUTIONS[resolution]
    return np.where((wall >= period.start) & (wall < period.end), bins, -1)


@lru_cache(maxsize=64)
def _changes(zone: str, period: Period) -> tuple[Ints, Ints]:
    """Return when a clock is put forward or back, and how many seconds it is ahead of UTC before, between and after."""
    if zone == UTC:
        return np.zeros(0, dtype=np.int64), np.zeros(1, dtype=np.int64)
    known = zoneinfo.ZoneInfo(zone)

    def ahead(moment: int) -> int:
        shown = dt.datetime.fromtimestamp(moment, dt.UTC).astimezone(known).utcoffset()
        return 0 if shown is None else int(shown.total_seconds())

    start, end = (min(max(border, FIRST), LAST) for border in (period.start - AROUND, period.end + AROUND))
    changes, found, day = [], [ahead(start)], start
    while day < end:
        before, after = day, min(day + DAY, end)
        day = after
        if (later := ahead(after)) == found[-1]:
            continue
        while after - before > 1:
            middle = (before + after) // 2
            before, after = (before, middle) if ahead(middle) == later else (middle, after)
        changes.append(after)
        found.append(later)
    return np.array(changes, dtype=np.int64), np.array(found, dtype=np.int64)
