"""Measures of kept columns: against slow loops, beside columns that ignore place, and where there is little to say."""

import dataclasses
from collections import Counter
from math import floor
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.evaluation.towns import crossroads, people, town

from pointveil.columns import Category, Column, Id, Number, Time
from pointveil.errors import UnmeasuredError
from pointveil.evaluation import MEASURES, Comparison, measure_all
from pointveil.evaluation.results import lines

Points = NDArray[np.float64]
HOURS = Time("ts", "2014-04-01/2014-07-01", resolution="hour-of-day")
DATED = Time("ts", "2014-04-01/2014-07-01", other="drop")
KIND = Category("kind", ("bus", "tram", "ferry"))
FARE = Number("fare", 0, 100, bins=10)
SIDE = 4000.0
OF_COLUMNS = [name for name, row in MEASURES.items() if row.of is not None]


def coded(column: Column, xy: Points, seed: int, follow: float = 0.7) -> NDArray[np.uint16]:
    """Codes that follow place for a share of the points: later, or further down the list, to the east."""
    rng = np.random.default_rng(seed)
    local = np.clip(xy[:, 0] / SIDE + rng.normal(0, 0.1, len(xy)), 0, 0.999) * column.size
    anywhere = rng.integers(0, column.codes, len(xy))
    return np.where(rng.random(len(xy)) < follow, local, anywhere).astype(np.uint16)


def compared(*columns: Column, real: int = 3000, synthetic: int = 2900, **options: Any) -> Comparison:
    one, other = people(real, SIDE), people(synthetic, SIDE, seed=1)
    kept = [column for column in columns if column.size]
    first, second = (tuple(coded(column, xy, seed) for column in kept) for seed, xy in ((2, one), (3, other)))
    return Comparison(one, other, crossroads(SIDE), columns=columns, codes=(first, second), **options)


def cells(xy: Points, codes: Any, cell: float, offset: Any) -> Counter[Any]:
    """Count cells and bins one point at a time."""
    return Counter(
        (floor((x + offset[0]) / cell), floor((y + offset[1]) / cell), int(code))
        for (x, y), code in zip(xy, codes, strict=True)
    )


def slow_pairs(comparison: Comparison, cell: float) -> list[tuple[Counter[Any], Counter[Any]]]:
    (real,), (synthetic,) = comparison.codes
    return [
        (cells(comparison.real, real, cell, offset), cells(comparison.synthetic, synthetic, cell, offset))
        for offset in comparison.random_offsets(cell, 4)
    ]


def test_place_and_bin_is_that_of_a_slow_loop() -> None:
    comparison = compared(HOURS)

    slow = [sum(abs(a[k] - b[k]) for k in a | b) / 3000 for a, b in slow_pairs(comparison, 500.0)]

    assert MEASURES["place_and_bin_500"](comparison) == pytest.approx(np.mean(slow), abs=1e-12)


def test_profiles_and_peaks_are_those_of_a_slow_loop() -> None:
    comparison = compared(HOURS)
    distances, agreeing = [], []

    for a, b in slow_pairs(comparison, 1000.0):
        apart = right = inside = 0.0
        for cell in {key[:2] for key in a}:
            one, other = (np.array([c[*cell, h] for h in range(25)], dtype=float) for c in (a, b))
            apart += one.sum() * (np.abs(one / one.sum() - other / other.sum()).sum() / 2 if other.sum() else 1.0)
            gap = abs(int(one[:24].argmax()) - int(other[:24].argmax()))
            right += one[:24].sum() * (min(gap, 24 - gap) <= 1 and other[:24].sum() > 0)
            inside += one[:24].sum()
        distances.append(apart / 3000)
        agreeing.append(right / inside)

    assert MEASURES["profile"](comparison) == pytest.approx(np.mean(distances), abs=1e-12)
    assert MEASURES["peak_hour"](comparison) == pytest.approx(np.mean(agreeing), abs=1e-12)


def test_counts_in_time_are_those_of_a_slow_loop() -> None:
    comparison = compared(HOURS, real=400, synthetic=380)
    (real,), (synthetic,) = comparison.codes

    def count(xy: Points, codes: Any, centre: Points, hour: int) -> int:
        near = np.hypot(*(xy - centre).T) <= 500
        return int((near & np.isin(codes, [(hour + k) % 24 for k in range(3)])).sum())

    slow = [
        abs(count(comparison.real, real, centre, hour) - count(comparison.synthetic, synthetic, centre, hour))
        for centre in comparison.centres
        for hour in range(24)
    ]
    assert MEASURES["range_in_time"](comparison) == pytest.approx(np.mean(slow), abs=1e-12)


def test_each_category_alone_counts_as_much_as_another() -> None:
    comparison = compared(KIND)
    (real,), (synthetic,) = comparison.codes

    slow = []
    for value in range(3):
        for offset in comparison.random_offsets(500.0, 4):
            one = cells(comparison.real[real == value], real[real == value], 500.0, offset)
            other = cells(comparison.synthetic[synthetic == value], synthetic[synthetic == value], 500.0, offset)
            slow.append(sum(abs(one[k] - other[k]) for k in one | other) / (real == value).sum())

    assert MEASURES["category_alone_500"](comparison) == pytest.approx(np.mean(slow), abs=1e-12)


def test_a_table_of_two_columns_and_daily_totals() -> None:
    comparison = compared(DATED, KIND)
    (when, kind), (other_when, other_kind) = comparison.codes
    hours = [
        np.bincount(codes % 24 * 4 + kinds, minlength=96) for codes, kinds in ((when, kind), (other_when, other_kind))
    ]

    result = measure_all(comparison, ["two_columns", "daily_totals"])

    names = [
        f"two_columns: {one}"
        for one in ("ts, time of day × ts, day of the week", "ts, time of day × kind", "ts, day of the week × kind")
    ]
    assert list(result.values) == [*names, "daily_totals"]
    assert result.values[names[1]] == pytest.approx(np.abs(hours[0] / 3000 - hours[1] / 2900).sum() / 2)
    days = [np.bincount(codes // 24, minlength=91) for codes in (when, other_when)]
    assert result.values["daily_totals"] == pytest.approx(np.abs(days[0] - days[1]).sum() / 3000)
    assert not result.without_place


def test_deciles_are_in_the_unit_of_the_number() -> None:
    """Everyone's fare is one bin of 10 higher; those without a fare have no say."""
    comparison = compared(FARE)
    fares = np.repeat(np.arange(9), 30).astype(np.uint8)
    moved = Comparison(
        people(300, SIDE),
        people(300, SIDE),
        town(SIDE),
        columns=(FARE,),
        codes=((np.append(fares, [10] * 30),), (np.append(fares + 1, [10] * 30),)),
    )

    assert MEASURES["deciles"](moved) == pytest.approx(10.0)
    result = measure_all(comparison, ["local_deciles"])
    assert result.values["local_deciles"] < result.without_place["local_deciles"]


@pytest.mark.parametrize("column", [HOURS, KIND, FARE], ids=lambda column: column.kind)
def test_columns_that_follow_place_are_better_than_those_drawn_without_looking_at_it(column: Column) -> None:
    result = measure_all(compared(column), ["place_and_bin", "profile"])

    assert set(result.without_place) == {"place_and_bin_250", "place_and_bin_500", "place_and_bin_1000", "profile"}
    for name, value in result.values.items():
        assert value < 0.9 * result.without_place[name]


def test_drawing_without_place_keeps_the_histogram_and_cuts_the_tie_to_the_place() -> None:
    comparison = compared(HOURS)
    (bins,) = comparison.bins("part")

    apart = comparison.without_place(bins)

    assert np.array_equal(np.bincount(apart.synthetic), np.bincount(bins.synthetic))
    east = comparison.synthetic[:, 0]
    assert np.corrcoef(east, bins.synthetic)[0, 1] > 0.5
    assert abs(np.corrcoef(east, apart.synthetic)[0, 1]) < 0.05


def test_drawing_without_place_is_not_made_worse_by_chance() -> None:
    """Where a column ignores place, dealing it out evenly is better than dealing it out by chance."""
    comparison = compared(KIND, real=20_000, synthetic=20_000)
    (bins,) = comparison.bins("part")
    rng = np.random.default_rng(5)
    shuffled = dataclasses.replace(bins, real=rng.permutation(bins.real), synthetic=rng.permutation(bins.synthetic))

    by_chance, evenly = (
        MEASURES["place_and_bin_500"](comparison, bins=each) for each in (shuffled, comparison.without_place(shuffled))
    )

    assert evenly < 0.95 * by_chance


def test_without_columns_their_measures_are_left_out_or_say_what_they_need() -> None:
    comparison = Comparison(people(50), people(50), town())

    result = measure_all(comparison)
    asked = measure_all(comparison, ["peak_hour", "deciles"])

    assert not {name for name in {**result.values, **result.reasons} if MEASURES[name].of}
    assert asked.reasons == {
        "peak_hour": "Peak hour needs a kept column that says the time of day",
        "deciles": "Decile error needs a kept number",
    }
    with pytest.raises(UnmeasuredError, match="needs a kept column"):
        MEASURES["place_and_bin_500"](comparison)


def test_names_carry_the_column_where_there_are_several() -> None:
    one = measure_all(compared(KIND, Id("user")), ["profile"])
    several = measure_all(compared(KIND, FARE), ["profile", "peak_hour", "category_alone"])

    assert list(one.values) == ["profile"]
    assert list(several.values) == ["profile: kind", "profile: fare", "category_alone_500"]
    assert several.reasons == {"peak_hour": "Peak hour needs a kept column that says the time of day"}
    assert [line.name for line in lines(several)] == ["category_alone", "profile: kind", "profile: fare", "peak_hour"]


def test_lines_and_json_show_both_numbers() -> None:
    result = measure_all(compared(HOURS), ["profile"])

    (line,) = lines(result)
    told = result.to_dict()["measures"]["profile"]

    assert line.text == f"{result.values['profile']:.3f} ({result.without_place['profile']:.3f})"
    assert line.reading.endswith("In brackets: columns drawn without looking at the place.")
    assert told["without_place"] == result.without_place["profile"]


@pytest.mark.parametrize("column", [HOURS, DATED, KIND, FARE, Time("ts", "2014-04-01/2014-04-08", resolution="1d")])
@pytest.mark.parametrize(("real", "synthetic"), [(40, 0), (0, 40), (0, 0), (1, 1), (30, 50)])
def test_every_measure_of_columns_has_a_number_or_a_reason(column: Column, real: int, synthetic: int) -> None:
    result = measure_all(compared(column, real=real, synthetic=synthetic), OF_COLUMNS)

    assert {name.partition(":")[0] for name in {**result.values, **result.reasons}} == set(OF_COLUMNS)
    assert all(np.isfinite(value) for value in [*result.values.values(), *result.without_place.values()])


def test_a_file_with_itself_is_as_good_as_can_be() -> None:
    made = compared(DATED, KIND, FARE)
    same = Comparison(made.real, made.real, made.world, columns=made.columns, codes=(made.codes[0], made.codes[0]))

    result = measure_all(same, OF_COLUMNS)

    assert not result.reasons
    for name, value in result.values.items():
        assert value == pytest.approx(MEASURES[name.partition(":")[0]].best, abs=1e-12), name


@pytest.mark.parametrize(("hour", "agreement"), [(22, 1.0), (0, 1.0), (1, 0.0), (11, 0.0)])
def test_a_peak_at_midnight_is_an_hour_from_eleven_in_the_evening(hour: int, agreement: float) -> None:
    xy = np.full((20, 2), 500.0)
    codes = (np.full(20, 23, dtype=np.uint8),), (np.full(20, hour, dtype=np.uint8),)

    assert MEASURES["peak_hour"](Comparison(xy, xy, town(), columns=(HOURS,), codes=codes)) == agreement
