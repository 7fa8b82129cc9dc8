"""Columns are declared, never guessed; a wrong declaration is refused with words."""

import dataclasses
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import pointveil as pv
from pointveil.columns import Column, check_keep, from_dict, parse_keep, read_keep_file
from pointveil.columns.calendar import starts_of
from pointveil.errors import InputError
from pointveil.formats.clocks import codes_of

PERIOD = "2014-04-01/2014-07-01"
GOOD: dict[str, Column] = {
    f"ts=time:{PERIOD}": pv.Time("ts", PERIOD),
    f"ts=time:{PERIOD}@15min;tz=Europe/Lisbon;other=drop": pv.Time(
        "ts", PERIOD, resolution="15min", tz="Europe/Lisbon", other="drop"
    ),
    f"ts=time:{PERIOD}@hour-of-week;format=%d/%m/%Y %H:%M": pv.Time(
        "ts", PERIOD, resolution="hour-of-week", format="%d/%m/%Y %H:%M"
    ),
    "base=category:B02512,B02598": pv.Category("base", ["B02512", "B02598"]),
    'base=category:"a,b","c;d","e""f";other=rest': pv.Category("base", ["a,b", "c;d", 'e"f'], other="rest"),
    "a=b=category:x,y": pv.Category("a=b", ["x", "y"]),
    "fare=number:0..100": pv.Number("fare", 0, 100),
    "fare=number:-1.5..2;bins=7;decimal=,;share=1/50": pv.Number("fare", -1.5, 2, bins=7, decimal=",", share="1/50"),
    "count=number:0..10;bins=10;type=integer": pv.Number("count", 0, 10, bins=10, type="integer"),
    "user=id": pv.Id("user"),
}
BAD = {
    "ts=time:2014-07-01/2014-04-01": "ends before it starts",
    "ts=time:2014-04-01/2014-04-01": "ends before it starts",
    "ts=time:2014-04-01": "write it as 2014-04-01/2014-07-01",
    "ts=time:2014-02-30/2014-07-01": "does not exist",
    f"ts=time:{PERIOD}@1min": "choose one of 15min, 1h, 1d",
    f"ts=time:{PERIOD};tz=Europe/Lisboa": "no time zone 'Europe/Lisboa'",
    f"ts=time:{PERIOD};bins=3": "has no option 'bins'",
    f"ts=time:{PERIOD};share=0": "more than 0",
    f"ts=time:{PERIOD};type=text": "only type=integer",
    "ts=time:1990-01-01/2020-01-01@15min": "coarser resolution",
    "ts=time:2014-04-01/2014-04-03@hour-of-week": "hold a whole week",
    "base=category:": "needs a list",
    "base=category:a,,b": "none of them blank",
    "base=category:a,a": "lists a value twice",
    "base=category:" + ",".join(map(str, range(10_000))): "at most 1,000",
    "base=category:@nowhere.txt": "cannot be read",
    "fare=number:100..0": "the lower first",
    "fare=number:0..inf": "the lower first",
    "fare=number:0": "needs two bounds",
    "fare=number:a..b": "must be numbers",
    "fare=number:0..1;bins=0": "1 to 1,000 bins",
    "fare=number:0..1;bins=many": "1 to 1,000 bins",
    "fare=number:0..1;decimal=x": "decimal sign",
    "user=id:7": "takes no values",
    "user": "cannot be read",
    "user=tyme:1": "cannot be read",
    f"ts=time:{PERIOD};drop": "is not an option",
}


@pytest.mark.parametrize("text", GOOD)
def test_a_text_declares_the_same_column_as_python(text: str) -> None:
    assert parse_keep(text) == GOOD[text]


@pytest.mark.parametrize("text", GOOD)
def test_a_declaration_survives_as_plain_values(text: str) -> None:
    again = from_dict(GOOD[text].to_dict())

    assert again == dataclasses.replace(GOOD[text], **({"share": str(again.part_of_epsilon)} if again.size else {}))
    assert again.part_of_epsilon == GOOD[text].part_of_epsilon
    assert again.to_dict() == GOOD[text].to_dict()


@pytest.mark.parametrize(("text", "complaint"), BAD.items(), ids=[text[:40] for text in BAD])
def test_a_wrong_declaration_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        parse_keep(text)


def test_a_list_may_lie_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text("bus\n\n tram \n", encoding="utf-8")

    assert parse_keep(f"kind=category:@{tmp_path / 'list.txt'}") == pv.Category("kind", ["bus", "tram"])


def test_many_columns_may_be_declared_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "keep.toml"
    file.write_text(
        f'[ts]\nkind = "time"\nperiod = "{PERIOD}"\n[fare]\nkind = "number"\nlow = 0\nhigh = 9\nbins = 9\n',
        encoding="utf-8",
    )

    assert read_keep_file(file) == [pv.Time("ts", PERIOD), pv.Number("fare", 0, 9, bins=9)]


@pytest.mark.parametrize("content", ["kind = 3", "[ts", "[ts]\nkind = 'thyme'", "[ts]\nkind = 'time'"])
def test_a_wrong_file_is_refused(content: str, tmp_path: Path) -> None:
    (tmp_path / "keep.toml").write_text(content, encoding="utf-8")

    with pytest.raises(InputError):
        read_keep_file(tmp_path / "keep.toml")


def test_no_column_is_kept_twice_and_the_map_keeps_a_share() -> None:
    with pytest.raises(InputError, match="kept twice"):
        check_keep(["user=id", "user=id"])
    with pytest.raises(InputError, match="at most 90%"):
        check_keep([pv.Category("a", ["b"], share="0.5"), pv.Category("c", ["d"], share="0.5")])
    with pytest.raises(InputError, match="not 7"):
        check_keep([7])  # type: ignore[list-item]
    with pytest.raises(InputError, match="rename"):
        check_keep(pv.Id("a\nb"))


@pytest.mark.parametrize("resolution", ["15min", "1h", "1d", "hour-of-day", "hour-of-week"])
@pytest.mark.parametrize("period", [PERIOD, "2013-12-31/2014-03-01", "1969-12-25/1970-01-09"])
def test_the_start_of_a_bin_lies_in_it(resolution: str, period: str) -> None:
    column = pv.Time("ts", period, resolution=resolution)
    codes = np.arange(column.size)

    start = starts_of(codes, column.span, resolution)

    assert (codes_of(start, column.span, resolution) == codes).all()
    assert (codes_of(np.array([column.span.start - 1, column.span.end]), column.span, resolution) == -1).all()


def test_hours_of_the_week_begin_on_monday() -> None:
    column = pv.Time("ts", PERIOD, resolution="hour-of-week")
    monday = np.array([np.datetime64("2014-04-07T01:30").astype("datetime64[s]").astype(np.int64)])

    assert codes_of(monday, column.span, "hour-of-week").tolist() == [1]


def test_parts_add_up() -> None:
    hour, weekday, date = pv.Time("ts", PERIOD, other="drop").parts()

    assert (hour.size, weekday.size, date.size) == (24, 7, 91)
    assert pv.Time("ts", PERIOD).parts()[0].size == 25
    assert pv.Time("ts", PERIOD).part_of_epsilon == Fraction(14, 100)
