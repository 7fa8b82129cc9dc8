"""Codes of kept columns: what values say, in every type, and that they come out again as they went in."""

import datetime as dt
import time
import uuid
import warnings
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pointveil.columns import Category, Column, Id, Number, Time, parse_keep
from pointveil.errors import InputError
from pointveil.formats.clocks import moments_of, wall_of
from pointveil.formats.codes import codes_in, codes_of_values
from pointveil.formats.decoding import check_kept, invented_ids, values_of
from pointveil.formats.kept import usual_kind

APRIL = "2014-04-01/2014-04-03"
HOURS = Time("ts", APRIL)
LISBON = Time("ts", APRIL, tz="Europe/Lisbon")
OTHER = 48


def codes(column: Column, values: list[Any], kind: Any = None, written: Any = None) -> list[int]:
    """Return the codes of values in an Arrow type; text if it is not said."""
    kind = kind or pa.string()
    return list(codes_in(column, pa.array(values, kind), written or kind).tolist())


# ---- times ----


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("2014-04-01T08:00:00", 8),
        ("2014-04-01 08:59:59", 8),
        ("2014-04-01 08:59", 8),
        ("2014-04-02", 24),
        ("  2014-04-01T08:00:00 ", 8),
        ("2014-04-01T08:00:00.999999999", 8),
        ("2014-04-01T08:00:00,5", 8),
        ("2014-04-01T08:00:00Z", 8),
        ("2014-04-01T08:00Z", 8),
        ("2014-04-01T08:00:00.5+02:00", 6),
        ("2014-04-01T08:00:00-0130", 9),
        ("2014-04-01T08:00:00+02", 6),
        ("2014-04-01T00:30:00+01:00", OTHER),
        ("2014-03-31T23:30:00-01:00", 0),
        ("2014-04-03", OTHER),
        ("2014-02-30", OTHER),
        ("2014-04-01T24:00:00", OTHER),
        ("2014-04-01T08:60", OTHER),
        ("2014-04-01T08", OTHER),
        ("2014-04-01T08:00:00.", OTHER),
        ("2014-04-01T08:00:00+2", OTHER),
        ("2014-04-01T08:00:00+25:00", OTHER),
        ("2014-04-01T08:00:00 UTC", OTHER),
        ("2014-04-01\x00", OTHER),
        ("2014-04-01+02:00", OTHER),
        ("2014-4-1", OTHER),
        ("0000-04-01", OTHER),
        ("９014-04-01", OTHER),
        ("", OTHER),
        ("x" * 5000, OTHER),
    ],
)
def test_text_in_iso_8601_is_a_moment(text: str, code: int) -> None:
    assert codes(HOURS, [text]) == [code]
    assert codes(HOURS, ["2014-04-01T01:00:00", text, None]) == [1, code, OTHER]  # whatever stands beside it
    assert codes_of_values(HOURS, [text, text.encode()], pa.string()).tolist() == [code] * 2


def test_text_of_a_declared_form_is_a_moment() -> None:
    fast, slow = (Time("ts", APRIL, format=form) for form in ("%d/%m/%Y %H:%M", "%d %b %Y %I%p"))

    assert codes(fast, ["01/04/2014 08:30", "1/4/2014 8:30", "02/04/14 08:30", "2014-04-01", "31/02/2014 00:00"]) == [
        *(8, 8),
        *[OTHER] * 3,
    ]
    assert codes(slow, ["01 Apr 2014 08PM", "01 Apr 2014 20PM", None]) == [20, OTHER, OTHER]


WALL = dt.datetime(2014, 4, 1, 8, 30)  # noqa: DTZ001 — wall-clock time
MOMENTS: dict[str, tuple[Any, Any, int]] = {
    **{f"timestamp {unit}": (pa.timestamp(unit), WALL, 8) for unit in ("s", "ms", "us", "ns")},
    "zoned": (pa.timestamp("us", "America/New_York"), dt.datetime(2014, 4, 1, 8, 30, tzinfo=dt.UTC), 4),
    "UTC": (pa.timestamp("ms", "UTC"), dt.datetime(2014, 4, 1, 8, 30, tzinfo=dt.UTC), 8),
    "date32": (pa.date32(), dt.date(2014, 4, 2), 24),
    "date64": (pa.date64(), dt.date(2014, 4, 2), 24),
    "whole": (pa.int64(), 1_396_341_000, 8),
    "short": (pa.int32(), 1_396_341_000, 8),
    "float": (pa.float64(), 1_396_341_000.75, 8),
    "large text": (pa.large_string(), "2014-04-01 08:30", 8),
    "viewed text": (pa.string_view(), "2014-04-01 08:30", 8),
    "bytes": (pa.binary(), b"2014-04-01 08:30", 8),
    "words": (pa.dictionary(pa.int8(), pa.string()), "2014-04-01 08:30", 8),
}


@pytest.mark.parametrize("kind", MOMENTS)
def test_every_type_of_moment_has_the_hour_that_the_clock_showed(kind: str) -> None:
    arrow, value, code = MOMENTS[kind]

    assert codes(HOURS, [value, None], arrow) == [code, OTHER]
    assert codes_of_values(HOURS, [value, None, object()], arrow).tolist() == [
        code if kind != "zoned" else 8,
        OTHER,
        OTHER,
    ]


def test_the_declared_zone_counts_before_that_of_the_type() -> None:
    moment = dt.datetime(2014, 4, 1, 8, 30, tzinfo=dt.UTC)

    assert codes(LISBON, [moment], pa.timestamp("s", "America/New_York")) == [9]
    assert codes(LISBON, ["2014-04-01T08:30:00Z", "2014-04-01T08:30:00"]) == [9, 8]
    assert codes(LISBON, [1_396_341_000], pa.int64()) == [9]
    assert codes_of_values(LISBON, [moment, WALL], pa.string()).tolist() == [9, 8]


def test_whole_numbers_of_a_pattern_are_hours_unless_they_have_a_unit() -> None:
    hours, week = (Time("h", "2014-04-01/2014-07-01", resolution=f"hour-of-{each}") for each in ("day", "week"))
    counted = Time("h", "2014-04-01/2014-07-01", resolution="hour-of-day", unit="ms")

    assert codes(hours, [0, 23, 24, -1], pa.int8()) == [0, 23, 24, 24]
    assert codes(hours, [7.0, float("nan"), float("inf")], pa.float64()) == [7, 24, 24]
    assert codes(week, [167, 168], pa.uint64()) == [167, 168]
    assert codes(week, ["2014-04-07T00:30:00"]) == [0]  # a Monday
    assert codes(counted, [1_396_341_000_000, 8], pa.int64()) == [8, 24]
    typed = Time("h", "2014-04-01/2014-07-01", resolution="hour-of-day", type="integer")
    assert codes(typed, ["8", " 8 ", "8.0", "x"]) == [8, 8, 8, 24]


def test_the_clock_of_a_zone_is_that_of_python() -> None:
    from zoneinfo import ZoneInfo

    period = Time("ts", "2013-01-01/2015-01-01", resolution="1d", tz="Europe/Lisbon").span
    moments = np.arange(period.start, period.end, 1799)
    told = [dt.datetime.fromtimestamp(each, ZoneInfo("Europe/Lisbon")) for each in moments.tolist()]
    shown = np.array([int(each.replace(tzinfo=dt.UTC).timestamp()) for each in told])

    wall = wall_of(moments, "Europe/Lisbon", period)

    assert np.array_equal(wall, shown)
    again = moments_of(wall, "Europe/Lisbon", period)
    assert set(np.unique(moments - again)) == {0, 3600}  # the second time that the clock shows an hour in autumn
    skipped = int(dt.datetime(2014, 3, 30, 1, 30, tzinfo=dt.UTC).timestamp())
    assert wall_of(moments_of(np.array([skipped]), "Europe/Lisbon", period), "Europe/Lisbon", period) == skipped + 3600


# ---- categories and numbers ----


def test_categories_are_equal_as_persons_are() -> None:
    kinds = Category("kind", ("7", "bus", "é", "true", "2014-04-01"))

    assert codes(kinds, ["7", " 7", "7.0", "07", "bus ", "Bus", "e\u0301", None, ""]) == [0, 0, 0, 5, 1, 5, 2, 5, 5]
    assert codes(kinds, [7, 8], pa.int16()) == [0, 5]
    assert codes(kinds, [7, 8], pa.uint64()) == [0, 5]
    assert codes(kinds, [7.0, 7.5, float("nan")], pa.float32()) == [0, 5, 5]
    assert codes(kinds, [Decimal("7.00")], pa.decimal128(9, 2)) == [0]
    assert codes(kinds, [True, False], pa.bool_()) == [3, 5]
    assert codes(kinds, [dt.date(2014, 4, 1)], pa.date32()) == [4]
    assert codes(kinds, [b"bus", b"\xff"], pa.binary()) == [1, 5]
    assert codes(kinds, ["bus", None, "tram"], pa.dictionary(pa.int8(), pa.string())) == [1, 5, 5]
    assert codes_of_values(kinds, [7, 7.0, b"7", True, object()], None).tolist() == [0, 0, 0, 3, 5]


def test_numbers_are_clipped_into_their_bounds() -> None:
    fare = Number("fare", 0, 100)

    assert codes(fare, [0.0, 4.99, 5.0, 99.99, 100.0, 1e308, -1e308], pa.float64()) == [0, 0, 1, 19, 19, 19, 0]
    assert codes(fare, [float("nan"), None, float("inf"), -float("inf")], pa.float64()) == [20, 20, 19, 0]
    assert codes(fare, ["4.99", "5", "5e1", "1,5", "x", ""], pa.string(), pa.float64()) == [0, 1, 10, 20, 20, 20]
    assert codes(Number("fare", 0, 100, decimal=","), ["4,99", "5"], pa.string(), pa.float64()) == [0, 1]
    assert codes(fare, [12.33, 14.99, 15.01], pa.float32()) == [2, 2, 3]


def test_of_whole_numbers_the_upper_bound_is_one() -> None:
    riders = Number("riders", 1, 6, bins=6)

    assert codes(riders, [0, 1, 2, 6, 7], pa.int64()) == [0, 0, 1, 5, 5]
    assert values_of(riders, np.arange(7), np.full(7, 0.99), pa.int8()).to_pylist() == [1, 2, 3, 4, 5, 6, None]


# ---- out again as it came in ----


def periods() -> st.SearchStrategy[str]:
    days = st.integers(0, 20_000)
    return st.tuples(days, st.integers(7, 60)).map(lambda pair: _days(pair[0], pair[0] + pair[1]))


def _days(start: int, end: int) -> str:
    first, last = (dt.date(1970, 1, 1) + dt.timedelta(days=each) for each in (start, end))
    return f"{first}/{last}"


TIME_KINDS = (
    *(pa.timestamp("s"), pa.timestamp("ns"), pa.timestamp("us", "Europe/Lisbon"), pa.timestamp("ms", "UTC")),
    *(pa.int64(), pa.float64(), pa.string(), pa.large_string(), pa.binary(), pa.string_view()),
    pa.dictionary(pa.int32(), pa.string()),
)
TIMES = st.builds(
    Time,
    st.just("ts"),
    periods(),
    st.sampled_from(["15min", "1h", "1d", "hour-of-day", "hour-of-week"]),
    st.sampled_from([None, "UTC", "Asia/Kolkata"]),
    format=st.sampled_from([None, "%d/%m/%Y %H:%M:%S", "%Y%m%d%H%M", "%d %B %Y %I:%M %p"]),
    unit=st.sampled_from([None, "ms"]),
    other=st.sampled_from([None, "drop"]),
)
NUMBERS = st.builds(
    lambda low, steps, bins, decimals: Number("n", low / 10**decimals, (low + steps) / 10**decimals, bins, decimals),
    st.integers(-(10**6), 10**6),
    st.integers(100, 10**6),
    st.integers(1, 100),
    st.integers(1, 4),
)
CATEGORIES = st.builds(Category, st.just("c"), st.lists(st.integers(-99, 99).map(str), min_size=1, unique=True))
DECLARED = st.one_of(
    st.tuples(TIMES, st.sampled_from(TIME_KINDS)),
    st.tuples(NUMBERS, st.sampled_from([pa.float64(), pa.string(), pa.decimal128(20, 4), pa.large_string()])),
    st.tuples(CATEGORIES, st.sampled_from([pa.int8(), pa.float64(), pa.string(), pa.binary(), pa.decimal128(9, 3)])),
)


@given(DECLARED, st.lists(st.tuples(st.integers(0, 10**6), st.floats(0, 1, exclude_max=True)), min_size=1))
@settings(max_examples=150, deadline=None)
def test_what_is_written_is_read_as_the_same_code(declared: tuple[Column, Any], drawn: list[tuple[int, float]]) -> None:
    column, kind = declared
    given_codes = np.array([code % column.codes for code, _ in drawn])
    places = np.array([place for _, place in drawn])

    values = values_of(column, given_codes, places, kind)

    assert values.type == kind
    again = codes_in(column, values, kind)
    summer = getattr(kind, "tz", None) == "Europe/Lisbon" and getattr(column, "tz", None) is None
    wrong = np.flatnonzero(again != given_codes)
    # A clock that is put forward never shows an hour of that day.
    assert len(wrong) == 0 or (summer and all((again[wrong] - given_codes[wrong]) <= 4))
    check_kept(column, kind, "a file")


def test_ids_are_new_and_none_comes_twice() -> None:
    rng = np.random.default_rng(1)

    assert sorted(invented_ids(9, pa.int32(), rng).to_pylist()) == list(range(1, 10))
    assert sorted(invented_ids(9, pa.string(), rng).to_pylist()) == sorted(map(str, range(1, 10)))
    words = invented_ids(9, pa.uuid(), rng)
    assert words.type == pa.uuid()
    assert len({*words.to_pylist()}) == 9
    assert all(isinstance(each, uuid.UUID) for each in words.to_pylist())


def test_moments_are_spread_over_their_bin() -> None:
    found = values_of(Time("ts", APRIL), np.zeros(5, dtype=int), np.linspace(0, 0.9999, 5), pa.timestamp("s"))

    assert [each.strftime("%H:%M:%S") for each in found.to_pylist()] == [
        *("00:00:00", "00:14:59", "00:29:59", "00:44:59", "00:59:59")
    ]


# ---- what does not fit ----

UNFIT = [
    ("ts=time:2014-04-01/2014-07-01", pa.struct([("a", pa.int64())])),
    ("ts=time:2014-04-01/2014-07-01", pa.bool_()),
    ("ts=time:2014-04-01/2014-07-01", pa.date32()),  # which has no hours
    ("ts=time:2014-04-01/2014-07-01", pa.int16()),
    ("ts=time:2014-04-01/2014-07-01;format=%Y-%m-%d", pa.string()),
    ("ts=time:2014-04-01/2014-07-01;format=%H", pa.string()),
    ("ts=time:2014-04-01/2014-07-01;other=none", pa.timestamp("s")),
    ("ts=time:2014-04-01/2014-07-01;other=2014-04-02", pa.string()),
    ("c=category:7,bus", pa.int64()),
    ("c=category:7,300", pa.int8()),
    ("c=category:7,7.0", pa.string()),
    ("c=category:7;other=7.0", pa.string()),
    ("c=category:7;other=none", pa.int64()),
    ("c=category:7", pa.list_(pa.int64())),
    ("n=number:0..1", pa.int64()),
    ("n=number:0..300", pa.int8()),
    ("n=number:0..1;bins=20;decimals=1", pa.float64()),
    ("n=number:0..10000000;decimals=9", pa.float64()),
    ("n=number:0..100;decimals=2", pa.decimal128(9, 1)),
    ("n=number:0..100", pa.timestamp("s")),
    ("i=id", pa.int8()),
    ("i=id", pa.timestamp("s")),
]


@pytest.mark.parametrize(("declared", "kind"), UNFIT)
def test_a_type_that_does_not_fit_is_refused_by_itself(declared: str, kind: Any) -> None:
    with pytest.raises(InputError):
        check_kept(parse_keep(declared), kind, "a file")


def test_of_text_the_declaration_says_the_type() -> None:
    said = {
        "ts=time:2014-04-01/2014-07-01": pa.string(),
        "ts=time:2014-04-01/2014-07-01;type=integer": pa.int64(),
        "n=number:0..9": pa.float64(),
        "n=number:0..9;type=integer": pa.int64(),
        "n=number:0..9;other=none": pa.string(),
        "c=category:a": pa.string(),
    }

    assert {each: usual_kind(parse_keep(each)) for each in said} == said
    assert usual_kind(Id("i")) == pa.string()


def test_nothing_is_ever_said_about_a_value() -> None:
    odd = ["2014-04-01", "", "\ud800".encode("utf-8", "surrogatepass"), b"\xff" * 9, 1e400, -(2**70), Decimal("sNaN")]
    odd += [np.datetime64("NaT"), dt.date.max, object(), [], {}, 1j, True, np.float32("nan"), 2**63, "9" * 400]
    columns = (HOURS, LISBON, Category("c", ("a",)), Number("n", 0, 1), Time("h", "2014-01-01/2015-01-01", "1d"))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for column in columns:
            together = codes_of_values(column, odd, pa.string()).tolist()
            assert together == [codes_of_values(column, [each], pa.string()).tolist()[0] for each in odd]


@pytest.mark.parametrize("kind", [pa.timestamp("us", "Europe/Lisbon"), pa.string(), pa.float64()])
def test_many_values_are_read_at_once(kind: Any) -> None:
    column: Column = Number("n", 0, 100) if kind == pa.float64() else Time("ts", "2014-01-01/2015-01-01")
    rng = np.random.default_rng(1)
    values = values_of(column, rng.integers(0, column.size, 10**6), rng.random(10**6), kind)
    start = time.process_time()

    codes_in(column, values, kind)

    assert time.process_time() - start < 1.5  # a second and a half for a million is ten times what it takes
