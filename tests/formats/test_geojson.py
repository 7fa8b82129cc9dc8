"""GeoJSON as people really write it."""

import json
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyogrio
import pytest
from numpy.typing import NDArray

from pointveil.errors import InputError
from pointveil.formats import Layout, geojson, open_points, write_points

GOOD = '{"type":"Feature","properties":{},"geometry":{"type":"Point","coordinates":[1.5,2.5]}}'


def feature(coordinates: str, properties: str = "{}") -> str:
    geometry = f'{{"type":"Point","coordinates":{coordinates}}}'
    return f'{{"type":"Feature","properties":{properties},"geometry":{geometry}}}'


def saved(tmp_path: Path, content: str | bytes) -> Path:
    path = tmp_path / "points.geojson"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def collection(*features: str, before: str = "", after: str = "") -> str:
    return f'{{"type":"FeatureCollection",{before}"features":[{",".join(features)}]{after}}}'


def read(path: Path, **options: Any) -> NDArray[np.float64]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        batches = [batch.coordinates for batch in open_points(path, **options).batches()]
    return np.concatenate([np.empty((0, 2)), *batches])


BAD_FEATURES = [
    "null",
    "5",
    '"text"',
    "{}",
    "[]",
    '{"type":"Feature","properties":null,"geometry":null}',
    '{"type":"Feature","properties":{},"geometry":"POINT (1 2)"}',
    '{"type":"Feature","properties":{},"geometry":{"type":"Foo","coordinates":[1,2]}}',
    '{"type":"Feature","properties":{},"geometry":{"type":"Polygon","coordinates":[[[1,2],[2,3],[3,4],[1,2]]]}}',
    '{"type":"Feature","properties":{},"geometry":{"type":"GeometryCollection","geometries":[]}}',
    *map(feature, ('["a",2]', "[]", "[1]", "[null,1]", "[NaN,1]", "[1e999,1]", "[-Infinity,1]", "[[1,2]]", "{}", "7")),
    feature("[" + "9" * 5000 + ",1]"),
    feature('["x",1]', '{"deep":' + "[" * 3000 + "]" * 3000 + "}"),
]


@pytest.mark.parametrize("bad", BAD_FEATURES, ids=range(len(BAD_FEATURES)))
def test_a_bad_feature_is_nowhere_and_spoils_no_other(bad: str, tmp_path: Path) -> None:
    found = read(saved(tmp_path, collection(GOOD, bad, GOOD)))

    assert len(found) == 3
    assert np.array_equal(found[[0, 2]], [[1.5, 2.5]] * 2)
    assert np.isnan(found[1]).any()


@pytest.mark.parametrize("read_bytes", [1, 7, 100, 1 << 14])
def test_the_size_of_a_read_changes_nothing(read_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    features = [feature(f"[{i}, -{i}.5]", f'{{"name": "é }},{{ {i}", "list": [{{}},{{"a": 1}}]}}') for i in range(60)]
    path = saved(
        tmp_path, collection(*features, before='"name":"who, {where}",', after=',"more":[1, {"features": []}]')
    )
    monkeypatch.setattr(geojson, "READ_BYTES", read_bytes)

    assert np.array_equal(read(path), [[i, -i - 0.5] for i in range(60)])
    assert open_points(path).layout.layer == "who, {where}"


@pytest.mark.parametrize(
    "content",
    [
        GOOD,
        '{"type":"Point","coordinates":[1.5,2.5]}',
        "\ufeff" + collection(GOOD),
        json.dumps(json.loads(collection(GOOD)), indent=4),
        collection(feature("[1.5, 2.5, 100]")),
        collection('{"type":"Feature","geometry":{"type":"MultiPoint","coordinates":[[1.5,2.5]]}}'),
        collection(feature("[15e-1, 25E-1]", '{"a\\ud800": "\\ud800"}')),
    ],
)
def test_what_can_be_read_is_read(content: str, tmp_path: Path) -> None:
    assert np.array_equal(read(saved(tmp_path, content)), [[1.5, 2.5]])


def test_bytes_that_are_not_text_spoil_nothing(tmp_path: Path) -> None:
    content = collection(feature("[1.5,2.5]", '{"name":"%"}')).encode().replace(b"%", b"\xff\xfe")

    assert np.array_equal(read(saved(tmp_path, content)), [[1.5, 2.5]])


@pytest.mark.parametrize(
    "content",
    [
        collection(GOOD)[:-1],
        collection(GOOD)[:-2],
        collection(GOOD)[:-60],
        '{"type":"FeatureCollection","features":[',
        collection(GOOD) + "}",
        "[1, 2]",
        '{"type": "Topology", "objects": {}}',
        '{"type": "gdal_streamed_alg", "command_line": "gdal vector pipeline"}',
        "hello 41.5",
    ],
)
def test_what_is_not_geojson_is_refused_and_not_quoted(content: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"points\.geojson is not whole GeoJSON") as caught:
        read(saved(tmp_path, content))
    assert "41.5" not in str(caught.value)
    assert "1.5" not in str(caught.value)


@pytest.mark.parametrize("name", ["urn:ogc:def:crs:EPSG::3763", "EPSG:3763"])
def test_an_old_crs_member_is_heeded(name: str, tmp_path: Path) -> None:
    member = f'"crs":{{"type":"name","properties":{{"name":"{name}"}}}},'

    assert open_points(saved(tmp_path, collection(GOOD, before=member))).layout.crs == "EPSG:3763"


@pytest.mark.parametrize(
    "member", ['"crs":null,', '"crs":{"type":"name","properties":{"name":"urn:ogc:def:crs:OGC:1.3:CRS84"}},', ""]
)
def test_longitude_and_latitude_are_the_rule(member: str, tmp_path: Path) -> None:
    assert open_points(saved(tmp_path, collection(GOOD, before=member))).layout.crs == "EPSG:4326"


def test_a_crs_that_cannot_be_heeded_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not name a CRS"):
        open_points(saved(tmp_path, collection(GOOD, before='"crs":{"type":"link"},')))
    with pytest.raises(InputError, match="says its CRS after its features"):
        read(saved(tmp_path, collection(GOOD, after=',"crs":{"type":"name","properties":{"name":"EPSG:3763"}}')))


def test_a_person_is_a_property_of_any_kind(tmp_path: Path) -> None:
    values = ['"bob"', "7", "123456789012345678901234567890", "null", "1.5", "[1]", '"\\ud800"', '"7"', '" "']
    features = [feature("[1,2]", f'{{"who": {value}}}') for value in values]
    path = saved(tmp_path, collection(*features, GOOD, "5"))

    (batch,) = open_points(path, person="who").batches()

    found = batch.person.to_pylist()
    assert [name is None for name in found] == [False, False, False, True, False, True, False, False, True, True, True]
    assert found[0] == b"bob"
    # A number and its text are one person.
    assert found[1] == found[7]
    assert len(set(found)) == 6
    assert batch.person.type == pa.binary()


@pytest.mark.parametrize("depth", [10, 950, 990, 3000])
def test_a_person_nested_ever_so_deep_is_nobody(depth: int, tmp_path: Path) -> None:
    features = [feature("[1,2]", f'{{"who": {value}}}') for value in ('"a"', "[" * depth + "]" * depth, "9" * 5000)]

    (batch,) = open_points(saved(tmp_path, collection(*features)), person="who").batches()

    assert [name is None for name in batch.person.to_pylist()] == [False, True, False]


MALFORMED = [
    feature("[1,]"),
    "xyz",
    '{"a":tru}',
    "{'a':1}",
    '{"a" 1, "text": "}, \\" ]"}',
    '{"a":"\\x"}',
    "[1 2]",
    "tru",
    "01",
]


@pytest.mark.parametrize("read_bytes", [1, 7, 1 << 14])
@pytest.mark.parametrize("bad", MALFORMED)
def test_a_feature_that_is_not_json_spoils_no_other(
    bad: str, read_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(geojson, "READ_BYTES", read_bytes)

    for features in ([bad, GOOD, GOOD], [GOOD, bad, GOOD], [GOOD, GOOD, bad]):
        found = read(saved(tmp_path, collection(*features)))
        assert found[np.isfinite(found).all(axis=1)].tolist() == [[1.5, 2.5]] * 2


OTHER_ORDERS = [
    '{"id":"4, {","type":"Feature","properties":{},"geometry":{"type":"Point","coordinates":[1.5,2.5]}}',
    '{ "geometry" : {"type":"Point","coordinates":[1.5,2.5]}, "type":"Feature","properties":{}}',
    '{"properties":{},"geometry":{"type":"Point","coordinates":[1.5,2.5]},"type":"Feature"}',
]
UNBALANCED = [
    GOOD[:-1],
    GOOD[:-2],
    GOOD[:-30],
    GOOD[1:],
    '{"a":"b""}',
    '{"a":"b}',
    '{"a":[1,{"b":2}',
    '{"a":[1,',
    "{{{{",
    "]",
    "]}",
    "}",
    '"',
    "\\",
    "xyz" + GOOD,
    '{"deep":' + "[" * 5000,
    '{"type":"Feature","properties":{"a":"' + "\\" * 3 + '"},"geometry":null}',
]


@pytest.mark.parametrize("good", [GOOD, *OTHER_ORDERS])
@pytest.mark.parametrize("bad", UNBALANCED, ids=range(len(UNBALANCED)))
def test_an_unbalanced_quote_or_bracket_spoils_its_own_feature_only(bad: str, good: str, tmp_path: Path) -> None:
    for features in ([bad, good, good], [good, bad, good], [good, good, bad], [bad, good, bad, good, bad]):
        for after in ("", ',"more":{"a":[1]}', "\n"):
            found = read(saved(tmp_path, collection(*features, after=after) + after[:1].strip(",")))
            assert found[np.isfinite(found).all(axis=1)].tolist() == [[1.5, 2.5]] * 2


@pytest.mark.parametrize("read_bytes", [1, 7, 100])
@pytest.mark.parametrize("bad", UNBALANCED, ids=range(len(UNBALANCED)))
def test_the_size_of_a_read_changes_nothing_in_a_broken_file(
    bad: str, read_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = saved(tmp_path, collection(GOOD, bad, GOOD, bad))
    expected = read(path)
    monkeypatch.setattr(geojson, "READ_BYTES", read_bytes)

    assert np.array_equal(read(path), expected, equal_nan=True)


@pytest.mark.parametrize("length", [900, 1000, 1100, 5000, 100_000])
@pytest.mark.parametrize("filler", ['"%s"', "[%s]"])
def test_a_feature_that_is_too_long_is_left_out_alone(
    length: int, filler: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(geojson, "LONGEST_VALUE", 1000)
    monkeypatch.setattr(geojson, "READ_BYTES", 64)
    monkeypatch.setattr(geojson, "LONGEST_ENDING", 500)
    room = length - len(feature("[7,8]", '{"a":' + filler % "" + "}"))
    long = feature("[7,8]", '{"a":' + filler % ("1" * room) + "}")

    for features in ([long, GOOD, GOOD], [GOOD, long, GOOD], [GOOD, GOOD, long]):
        found = read(saved(tmp_path, collection(*features)))
        known = found[np.isfinite(found).all(axis=1)].tolist()
        assert known.count([1.5, 2.5]) == 2
        assert known.count([7, 8]) == (length <= 1000)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of memory is known on Linux only")
def test_one_feature_that_goes_on_for_ever_costs_little_memory(tmp_path: Path) -> None:
    """A well-formed feature of 140 MB between two others."""
    path = tmp_path / "points.geojson"
    start, end = feature("[7,8]", '{"a":"%"}').split("%")
    with path.open("w") as stream:
        stream.write(collection(GOOD, "%")[: -len("%]}")] + start)
        for _ in range(140):
            stream.write("x" * 1_000_000)
        stream.write(end + f",{GOOD}]}}")
    code = (
        "import re, sys, numpy as np; from pointveil.formats import open_points\n"
        "found = np.concatenate([batch.coordinates for batch in open_points(sys.argv[1]).batches()])\n"
        "print(np.isfinite(found).all(axis=1).sum())\n"
        "print(re.search(r'VmHWM:\\s*(\\d+)', open('/proc/self/status').read())[1])"
    )

    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=True)

    known, kilobytes = map(int, done.stdout.split())
    assert known == 2
    assert kilobytes < 600_000


def test_nothing_of_the_records_is_in_the_layout(tmp_path: Path) -> None:
    plain = open_points(saved(tmp_path, collection(GOOD))).layout
    telling = open_points(saved(tmp_path, collection(feature("[1,2]", '{"secret": 1}')))).layout

    assert plain == telling
    assert plain.left_out == ("properties",)


def test_gdal_reads_what_is_written_here(tmp_path: Path) -> None:
    path = tmp_path / "out.geojson"
    points = np.array([[-8.6, 41.0], [0.01, 100.0]])

    write_points(path, [points], Layout("geojson", crs="EPSG:3763", layer="here"), statement='a "b"', total=2)

    info = pyogrio.read_info(path)
    assert (info["crs"], info["features"], info["layer_name"], info["geometry_type"]) == (
        "EPSG:3763",
        2,
        "here",
        "Point",
    )
    assert json.loads(path.read_text())["pointveil.statement"] == 'a "b"'
    _, _, shapes, _ = pyogrio.raw.read(path)
    assert len(shapes) == 2
