"""CSV as people really write it."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pointveil.errors import InputError
from pointveil.files.lattice import snap
from pointveil.formats import Layout, describe_columns, open_points, output_layout, records, write_points
from pointveil.releases import synthesize
from pointveil.vault import Vault
from pointveil.world import World

NAN = float("nan")


def saved(tmp_path: Path, content: bytes | str, name: str = "points.csv") -> Path:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def read(path: Path, **options: Any) -> list[tuple[float, float]]:
    batches = [batch.coordinates for batch in open_points(path, **options).batches()]
    return [(float(x), float(y)) for x, y in np.concatenate([np.empty((0, 2)), *batches])]


def people(path: Path, person: str) -> list[Any]:
    batches = [batch.person for batch in open_points(path, person=person).batches()]
    return list(pa.concat_arrays(batches).to_pylist())


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_blanks_in_names_are_no_delimiters(delimiter: str, tmp_path: Path) -> None:
    names = ["Trip ID", "Start Time", "Start Lon", "Start Lat"]
    path = saved(tmp_path, delimiter.join(names) + "\n")

    with pytest.raises(InputError, match="it has Trip ID, Start Time, Start Lon, Start Lat"):
        open_points(path)

    form, found = describe_columns(path)
    assert (form, list(found)) == ("csv", names)


def test_a_first_line_of_excels_is_called_what_it_is(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="begins with a line of Excel's, sep=;: delete it"):
        open_points(saved(tmp_path, "sep=;\r\nlon;lat\r\n"))


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|", ":", " ", "^", "~", "\x01"])
def test_any_delimiter_is_found_from_the_header_and_kept(delimiter: str, tmp_path: Path) -> None:
    lines = [["id", "lat", "lon"], ["1", "41.5", "-8.25"], ["2", "41.75", "-8.5"]]
    path = saved(tmp_path, "".join(delimiter.join(line) + "\n" for line in lines))

    layout = open_points(path).layout

    assert read(path) == [(-8.25, 41.5), (-8.5, 41.75)]
    assert (layout.delimiter, layout.names, layout.left_out) == (delimiter, ("lat", "lon"), ("id",))
    out = tmp_path / "out.csv"
    write_points(out, [np.array([[-8.25, 41.5]])], output_layout(out, layout), statement=None, total=1)
    assert out.read_text() == f"lat{delimiter}lon\n41.5{delimiter}-8.25\n"


@pytest.mark.parametrize(
    ("header", "names"),
    [
        ("lon,lat", ("lon", "lat")),
        ("LATITUDE,LONGITUDE", ("LATITUDE", "LONGITUDE")),
        ("Lat,Lng,id", ("Lat", "Lng")),
        ("id,X,Y", ("X", "Y")),
        ('"Lon","Lat"', ("Lon", "Lat")),
        (" lon , lat ", ("lon", "lat")),
        ("x,y,lon,lat", ("lon", "lat")),
        ("id,easting,northing", ("easting", "northing")),
    ],
)
def test_columns_are_guessed_from_their_names(header: str, names: tuple[str, str], tmp_path: Path) -> None:
    path = saved(tmp_path, header + "\n")

    assert open_points(path).layout.names == names


def test_columns_of_any_name_can_be_named(tmp_path: Path) -> None:
    path = saved(tmp_path, 'né "hier",a;b,"c,d"\n1,2,3\n')

    source = open_points(path, columns=("c,d", "a;b"))

    assert [batch.coordinates.tolist() for batch in source.batches()] == [[[3.0, 2.0]]]
    out = tmp_path / "out.csv"
    write_points(out, [np.array([[3.0, 2.0]])], source.layout, statement=None, total=1)
    assert out.read_text() == 'a;b,"c,d"\n2,3\n'


def test_an_unknown_column_gives_the_names_that_there_are(tmp_path: Path) -> None:
    path = saved(tmp_path, "who,where_x,where_y\nbob,1.5,2.5\n")

    with pytest.raises(InputError, match=r"points\.csv has no columns .* who, where_x, where_y.*--columns LON,LAT"):
        open_points(path)
    with pytest.raises(InputError, match=r"no column 'lon'; it has who, where_x, where_y"):
        open_points(path, columns=("lon", "where_y"))
    with pytest.raises(InputError, match=r"no column 'taxi'"):
        open_points(path, columns=("where_x", "where_y"), person="taxi")


@pytest.mark.parametrize("content", ["bob,41.15,-8.61\nann,41.16,-8.62\n", "7,8\n", "41,15;8,61\n", "POINT(7.5 8.5)\n"])
def test_a_first_line_of_data_is_never_quoted(content: str, tmp_path: Path) -> None:
    path = saved(tmp_path, content)

    for columns in (None, ("lon", "lat")):
        with pytest.raises(InputError, match="add a line with the names of the columns") as caught:
            open_points(path, columns=columns)
        assert not any(value in str(caught.value) for value in ("bob", "41", "8.5", "8,61", "7"))


def test_two_columns_of_one_name_are_refused_only_when_they_are_needed(tmp_path: Path) -> None:
    path = saved(tmp_path, "lon,lat,tag,tag\n1,2,3,4\n")

    assert read(path) == [(1.0, 2.0)]
    with pytest.raises(InputError, match="2 columns called 'tag'"):
        open_points(path, columns=("tag", "lat"))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"\xef\xbb\xbflon,lat\n1,2\n", [(1.0, 2.0)]),
        (b'"lon","lat"\n"1.5","2.5"\n', [(1.5, 2.5)]),
        (b"lon,lat\r\n1,2\r\n3,4\r\n", [(1.0, 2.0), (3.0, 4.0)]),
        (b"lon,lat\r1,2\r3,4", [(1.0, 2.0), (3.0, 4.0)]),
        (b"lon,lat\n1,2", [(1.0, 2.0)]),
        (b"\n\nlon,lat\n\n1,2\n\n\n", [(1.0, 2.0)]),
        (b"lon,lat\n", []),
        (b"lon,lat", []),
        (b"lon,lat\n +1.5 ,\t-2e0 \n", [(1.5, -2.0)]),
        (b"lon,lat\n.5,5.\n", [(0.5, 5.0)]),
        (b"lon;lat\n1,5;-2,5\n", [(1.5, -2.5)]),
        (b'note,lon,lat\n"one line, and ""more""",1,2\nx,3,4\n', [(1.0, 2.0), (3.0, 4.0)]),
        (b'note,lon,lat\n5" pipe,1,2\nx,3,4\n', [(1.0, 2.0), (3.0, 4.0)]),
        (b'lon,lat\n1, "2"\n', [(1.0, 2.0)]),
        (b"note,lon,lat\n\xff\xfe\x00,1,2\n", [(1.0, 2.0)]),
        (b"note\xe9,lon,lat\nx,1,2\n", [(1.0, 2.0)]),
    ],
)
def test_what_can_be_read_is_read(content: bytes, expected: list[tuple[float, float]], tmp_path: Path) -> None:
    assert sorted(read(saved(tmp_path, content))) == expected


BAD_VALUES = [
    "",
    "NaN",
    "nan",
    "inf",
    "-inf",
    "null",
    "NULL",
    "N/A",
    "text",
    "1.2.3",
    "1e999",
    "--5",
    "0x10",
    "1_0",
    "5 6",
    "\x00",
]


@pytest.mark.parametrize("bad", [*BAD_VALUES, b"\xff\xfe"])
@pytest.mark.parametrize("quote", [b"", b'"'])
def test_a_bad_value_spoils_its_own_record_only(bad: str | bytes, quote: bytes, tmp_path: Path) -> None:
    value = bad if isinstance(bad, bytes) else bad.encode()
    value = quote + value + quote
    path = saved(tmp_path, b"id,lon,lat\n1,1.5,2.5\n2," + value + b",2.5\n3,3.5,4.5\n")

    found = read(path)

    assert found[0] == (1.5, 2.5)
    assert found[-1] == (3.5, 4.5)
    assert len(found) == 3
    assert np.isnan(found[1][0])


@pytest.mark.parametrize(
    "line",
    ["1", "1,2,3", "1,2,3,4", ",,,,,,", '"', '"1', '"a"b,1,2', '1,"2', "x" * 100_000, '"' + "y" * 200_000, "\x00"],
)
def test_a_bad_line_spoils_itself_only(line: str, tmp_path: Path) -> None:
    path = saved(tmp_path, f'note,lon,lat,"x"\nx,1,2,x\n{line}\n"y",3,4,y\n"z","5",6,"z"\n')

    found = [point for point in read(path) if np.isfinite(point).all()]

    assert set(found) >= {(1.0, 2.0), (3.0, 4.0), (5.0, 6.0)}
    assert len(found) <= 4


@pytest.mark.parametrize("block", [7, 16, 61, 1000])
def test_the_size_of_a_block_changes_nothing(block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [f'"a, {i}",{i}.5,-{i}.25' if i % 3 else f"b,{i}.5,-{i}.25" for i in range(50)]
    path = saved(tmp_path, "note,lon,lat\r\n" + "\r\n".join(lines) + "\r\n")
    monkeypatch.setattr(records, "BLOCK_BYTES", max(block, max(map(len, lines)) + 2))

    assert read(path) == [(i + 0.5, -i - 0.25) for i in range(50)]


def test_bad_quotes_far_from_a_record_do_not_touch_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [f'"a, {i}",{i}.5,-{i}.25' for i in range(500)]
    for place in range(0, 500, 100):
        lines[place] = ('5" pipe,1,2', '"x,1,2', 'x",1,2', '"a"b,1,2', '"')[place // 100]
    path = saved(tmp_path, "note,lon,lat\n" + "\n".join(lines) + "\n" + "z" * 3000 + ",1000.5,0\n")
    monkeypatch.setattr(records, "BLOCK_BYTES", 4000)

    found = read(path)

    assert {(i + 0.5, -i - 0.25) for i in range(500) if i % 100} <= set(found)
    assert (1000.5, 0.0) in found


def test_a_line_longer_than_a_block_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(tmp_path, "lon,lat\n1,2\n" + "9" * 1000 + "\n3,4\n" + "9" * 777 + "\n5,6")
    monkeypatch.setattr(records, "BLOCK_BYTES", 50)

    finite = [point for point in read(path) if np.isfinite(point).all()]

    assert finite == [(1.0, 2.0), (3.0, 4.0), (5.0, 6.0)]


def test_even_a_text_that_arrow_refuses_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise pa.ArrowInvalid("secret 41.5")

    path = saved(tmp_path, 'note,lon,lat\n"a, b",1.5,2.5\nx\ny,bad,3\n')
    monkeypatch.setattr("pyarrow.csv.read_csv", refuse)

    found = read(path)

    assert found[0] == (1.5, 2.5)
    assert np.isnan(found[1][0])
    assert len(found) == 2


def test_persons_are_the_same_whatever_their_neighbours(tmp_path: Path) -> None:
    good = saved(tmp_path, "who,lon,lat\n bob,1,2\nann ,3,4\n\xff,5,6\n".encode("latin-1"))
    odd = saved(tmp_path, 'who,lon,lat\n bob,1,2\n"ann" ,3,bad\n"ünï",5,6\n'.encode(), "odd.csv")

    assert people(good, "who") == [b"bob", b"ann", b"\xff"]
    assert people(odd, "who")[:1] == [b"bob"]
    assert people(odd, "who")[-1:] == ["ünï".encode()]


def test_persons_keep_their_bytes_in_a_block_with_bad_lines(tmp_path: Path) -> None:
    names = ["ünï".encode(), b"\xff\xfe", b"bob", None]
    lines = [(name or b" ") + b",1,2\n" for name in names]

    for bad in (b"", b"\xff\n", b"x,bad,2\n", b'"\n', b'5" x,1\n'):
        path = saved(tmp_path, b"who,lon,lat\n" + lines[0] + bad + b"".join(lines[1:]))
        assert [name for name in people(path, "who") if name != b"x"] == names


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\x1f\x8b\x08\x00", "gzip"),
        (b"PK\x03\x04zip", "zip archive"),
        (b"PAR1....PAR1", "Parquet"),
        (b"SQLite format 3\x00", "GeoPackage"),
        ("lon,lat\n1,2\n".encode("utf-16"), "UTF-16"),
        (b"\n \n\t\n", "blank"),
        (b"\xef\xbb\xbf", "blank"),
        (b"x" * (records.LONGEST_RECORD + 5), "first line does not end"),
    ],
)
def test_what_is_not_csv_is_refused(content: bytes, words: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=rf"points\.csv .*{words}"):
        open_points(saved(tmp_path, content))


def test_numbers_are_written_short_and_plain(tmp_path: Path) -> None:
    degrees, metres = tmp_path / "degrees.csv", tmp_path / "metres.csv"
    points = np.array([[0.1 + 0.2, -0.0], [-8.61234567891, 100.0]])

    for path, form in ((degrees, Layout("csv", x="lon", y="lat")), (metres, Layout("csv", crs="EPSG:3763"))):
        write_points(path, [snap(points, form.crs)], form, statement=None, total=2)

    assert degrees.read_text() == "lon,lat\n0.3,0\n-8.6123457,100\n"
    assert metres.read_text() == "x,y\n0.3,0\n-8.61,100\n"


@pytest.mark.parametrize("last", ['y"', '1,50,y"', 'y",1,50', '"'])
def test_two_stray_quotes_do_not_swallow_the_lines_between(last: str, tmp_path: Path) -> None:
    lines = [f"1,{i},p{i}" for i in range(60)]
    path = saved(tmp_path, "\n".join(["lon,lat,who", '1,99,"x', *lines, last]) + "\n")

    found = read(path)

    assert found[:60] == [(1.0, float(i)) for i in range(60)]
    assert (1.0, 99.0) not in found


def test_a_line_break_within_quotes_makes_bad_lines_and_nothing_more(tmp_path: Path) -> None:
    path = saved(tmp_path, 'note,lon,lat\na,1,2\n"two\nlines",3,4\n"b",5,6\n')

    assert [point for point in read(path) if np.isfinite(point).all()][:2] == [(1.0, 2.0), (5.0, 6.0)]


def test_the_header_is_one_line_whatever_its_quotes(tmp_path: Path) -> None:
    path = saved(tmp_path, 'lon,lat,"na\n1,2,x\n3,4,y"\n5,6,z\n')

    assert open_points(path).layout.left_out == ("na",)
    assert sorted(read(path)) == [(1.0, 2.0), (3.0, 4.0), (5.0, 6.0)]


@pytest.mark.parametrize("before", ["", "1,2\n", "1,2\n" * 9, "1,2\n" * 12])
@pytest.mark.parametrize("length", [49, 50, 51, 52, 99, 101, 151])
def test_whether_a_line_is_too_long_does_not_depend_on_its_place(
    before: str, length: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = saved(tmp_path, "lon,lat\n" + before + "3,4" + " " * (length - 3) + "\n5,6\n")
    monkeypatch.setattr(records, "BLOCK_BYTES", 50)

    assert ((3.0, 4.0) in read(path)) == (length <= 50)
    assert (5.0, 6.0) in read(path)


def test_a_blank_person_is_nobody(tmp_path: Path) -> None:
    path = saved(tmp_path, 'who,lon,lat\n,1,2\n" ",1,2\n \t,1,2\nbob,1,2\n')

    assert people(path, "who") == [None, None, None, b"bob"]


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(body=st.binary(max_size=200) | st.text(alphabet='1.,;"\n\r x', max_size=60).map(str.encode))
def test_no_bytes_after_the_header_can_make_reading_fail(body: bytes, tmp_path: Path) -> None:
    path = saved(tmp_path, b"id,lon,lat\n" + body)

    for batch in open_points(path, person="id").batches():
        assert batch.coordinates.shape[1] == 2
        assert len(batch.person) == len(batch.coordinates)


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(bad=st.text(alphabet='1.,"x ', max_size=12), good=st.integers(1, 5))
def test_one_more_line_never_hides_another(bad: str, good: int, tmp_path: Path) -> None:
    lines = [f'"n",{i},{i}' for i in range(good)]
    for place in range(good + 1):
        path = saved(tmp_path, "\n".join(["note,lon,lat", *lines[:place], bad, *lines[place:]]) + "\n")
        found = [point for point in read(path) if np.isfinite(point).all()]

        assert {(float(i), float(i)) for i in range(good)} <= set(found)
        assert len(found) <= good + 1


def test_a_byte_order_mark_in_a_record_counts_alike_wherever_the_record_stands(tmp_path: Path) -> None:
    marked, plain = b"\xef\xbb\xbf1,2,ann\n", b"5,6,ann\n"

    first, later = (read(saved(tmp_path, b"lon,lat,who\n" + body)) for body in (marked + plain, plain + marked))

    assert np.array_equal(first, later[::-1], equal_nan=True)


def test_a_declared_decimal_comma_is_that_of_the_places_too(tmp_path: Path, plain_world: World) -> None:
    private = tmp_path / "private.csv"
    rows = "".join(f"10,{count:03}1;50,0061;{count % 10},25\n" for count in range(190))
    private.write_text(f"lon;lat;fare\n{rows}", encoding="utf-8")
    vault = Vault.rehearse(private, plain_world, epsilon=1, seed=1, keep="fare=number:0..10;decimal=,")

    synthesize(vault, "ugrid-uni", count=20).write(tmp_path / "synthetic.csv", key=None)

    lines = (tmp_path / "synthetic.csv").read_text(encoding="utf-8").splitlines()
    assert all(re.fullmatch(r"10,\d+;50(,\d+)?;\d+,\d\d", line) for line in lines[1:])
    assert len(read(tmp_path / "synthetic.csv")) == 20
