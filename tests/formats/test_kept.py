"""Kept columns in every format: the owner's own script reads the synthetic file as it read the real one."""

import csv
import dataclasses
import datetime as dt
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyogrio
import pytest

from pointveil import SyntheticPoints, Vault, World, draw, read, release, survey, synthesize, verify
from pointveil.columns import Column, check_keep
from pointveil.errors import InputError, VerificationError
from pointveil.formats import Layout, open_points
from pointveil.formats.wkb import wkb_of_points
from pointveil.ledger import Ledger

KEEP = (
    "ts=time:2014-04-01/2014-04-08;other=drop",
    "kind=category:bus,tram,7",
    "fare=number:0..100",
    "riders=number:1..6;bins=6;type=integer",
    "user=id",
)
ROWS = 400


@pytest.fixture(scope="module")
def town() -> World:
    return World.make((10.0, 50.0, 10.02, 50.012))


def trips() -> pa.Table:
    """Return records whose columns stand in an order of their own, with one that is not kept."""
    rng = np.random.default_rng(7)
    start = np.datetime64("2014-04-01T00:00:00", "us")
    return pa.table(
        {
            "user": pa.array([f"u{row}" for row in range(ROWS)]),
            "lat": np.round(50 + rng.random(ROWS) * 0.012, 7),
            "ts": pa.array(start + rng.integers(0, 7 * 86_400, ROWS).astype("m8[s]"), pa.timestamp("us")),
            "note": pa.array(["secret"] * ROWS),
            "kind": pa.array(rng.choice(["bus", "tram", "7", "boat"], ROWS)),
            "lon": np.round(10 + rng.random(ROWS) * 0.02, 7),
            "fare": pa.array(np.round(rng.random(ROWS) * 120, 2), mask=rng.random(ROWS) < 0.1),
            "riders": pa.array(rng.integers(0, 8, ROWS), pa.int32()),
        }
    )


def synthetic(path: Any, world: World, keep: Any = KEEP, **options: Any) -> SyntheticPoints:
    return synthesize(
        Vault.open(path, world, epsilon=5, keep=keep, ledger=None, **options), "ugrid-uni", seed=3, small=True
    )


# ---- the owner's scripts: one for each format ----


def parquet_script(path: Path) -> tuple[Any, Any]:
    table = pq.read_table(path).drop_columns(["note"] if "note" in pq.read_schema(path).names else [])
    riders = table["riders"].to_numpy()
    assert riders.min() >= 0
    return table.schema.remove_metadata(), None


def csv_script(path: Path) -> tuple[Any, Any]:
    raw = path.read_bytes()
    assert raw.startswith(b"\xef\xbb\xbf")
    assert raw.count(b"\r\n") == raw.count(b"\n")
    with path.open(encoding="utf-8-sig", newline="") as stream:
        rows = list(csv.DictReader(stream, delimiter=";"))
    for row in rows:
        dt.datetime.strptime(row["ts"], "%d/%m/%Y %H:%M")  # noqa: DTZ007 — wall-clock time
        fare = row["the fare"] and float(row["the fare"].replace(",", "."))
        assert fare == "" or 0 <= fare <= 120
        int(row["riders"])
        float(row["lat"].replace(",", "."))
    names = raw.splitlines()[0].replace(b";note", b"")
    return names, None


def vector_script(path: Path) -> tuple[Any, Any]:
    info = pyogrio.read_info(path)
    facts = dict(zip(info["fields"].tolist(), map(str, info["dtypes"]), strict=True))
    facts.pop("note", None)
    _, table = pyogrio.read_arrow(path)
    assert all(each is None or isinstance(each, dt.datetime | str) for each in table["ts"].to_pylist())
    return facts, info["geometry_name"]


def geojson_script(path: Path) -> tuple[Any, Any]:
    features = json.loads(path.read_text(encoding="utf-8"))["features"]
    kinds = {
        name: sorted({type(each["properties"][name]).__name__ for each in features} - {"NoneType"})
        for name in ("ts", "kind", "fare", "riders")
    }
    for each in features:
        dt.datetime.fromisoformat(each["properties"]["ts"])
    return kinds, None


def as_parquet(folder: Path) -> Path:
    pq.write_table(trips(), folder / "trips.parquet")
    return folder / "trips.parquet"


def as_csv(folder: Path) -> Path:
    rows = trips().to_pylist()
    lines = ['user;lat;ts;note;"kind";lon;"the fare";riders']
    for row in rows:
        fare = "" if row["fare"] is None else f"{row['fare']:.2f}".replace(".", ",")
        moment = row["ts"].strftime("%d/%m/%Y %H:%M")
        lat, lon = (str(row[axis]).replace(".", ",") for axis in ("lat", "lon"))
        values = (row["user"], lat, moment, row["note"], row["kind"], lon, fare, row["riders"])
        lines.append(";".join(map(str, values)))
    (folder / "trips.csv").write_bytes(b"\xef\xbb\xbf" + "\r\n".join([*lines, ""]).encode())
    return folder / "trips.csv"


def as_vector(suffix: str, driver: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        table = trips()
        moments = table["ts"].cast(pa.timestamp("ms", "UTC" if driver == "GPKG" else None))
        moments = moments.cast(pa.string()) if driver == "ESRI Shapefile" else moments
        table = table.set_column(table.column_names.index("ts"), "ts", moments)
        shape = wkb_of_points(np.column_stack([table["lon"], table["lat"]]))
        field = pa.field("shape", pa.binary(), metadata={"ARROW:extension:name": "geoarrow.wkb"})
        table = table.drop_columns(["lon", "lat"]).add_column(1, field, shape)
        path = folder / f"trips{suffix}"
        pyogrio.write_arrow(table, path, driver=driver, geometry_name="shape", geometry_type="Point", crs="EPSG:4326")
        return path

    return make


def as_geojson(folder: Path) -> Path:
    features = [
        {
            "type": "Feature",
            "geometry": {"type": "Point", "coordinates": [row["lon"], row["lat"]]},
            "properties": {**row, "ts": row["ts"].isoformat()},
        }
        for row in trips().to_pylist()
    ]
    text = json.dumps({"type": "FeatureCollection", "features": features})
    (folder / "trips.geojson").write_text(text, encoding="utf-8")
    return folder / "trips.geojson"


CSV_KEEP = tuple(
    each.replace(";other", ";format=%d/%m/%Y %H:%M;other").replace(
        "fare=number:0..100", "the fare=number:0..100;decimal=,"
    )
    for each in KEEP
)
OWNERS: dict[str, tuple[Callable[[Path], Path], Callable[[Path], Any], tuple[str, ...]]] = {
    "parquet": (as_parquet, parquet_script, KEEP),
    "csv": (as_csv, csv_script, CSV_KEEP),
    "geopackage": (as_vector(".gpkg", "GPKG"), vector_script, KEEP),
    "flatgeobuf": (as_vector(".fgb", "FlatGeobuf"), vector_script, KEEP),
    "shapefile": (as_vector(".shp", "ESRI Shapefile"), vector_script, KEEP),
    "geojson": (as_geojson, geojson_script, KEEP),
}


@pytest.mark.parametrize("owner", OWNERS)
def test_the_owners_script_runs_on_the_synthetic_file(owner: str, town: World, tmp_path: Path) -> None:
    make, script, keep = OWNERS[owner]
    real = make(tmp_path)
    made = synthetic(real, town, keep)
    out = tmp_path / f"synthetic{real.suffix}"

    made.write(out)

    assert script(out) == script(real)
    assert b"secret" not in out.read_bytes()
    assert "so are the kept columns, bin by bin" in verify(out).checks
    again = read(out)
    assert again.kept is not None
    assert again.kept.equals(made.kept)


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".geojson", ".gpkg", ".fgb", ".shp"])
@pytest.mark.parametrize("owner", OWNERS)
def test_kept_columns_go_into_every_other_format(owner: str, suffix: str, town: World, tmp_path: Path) -> None:
    make, _, keep = OWNERS[owner]
    made = synthetic(make(tmp_path), town, keep)
    out = tmp_path / f"synthetic{suffix}"

    statement = made.write(out)

    assert verify(out).statement == statement
    again = read(out).write(tmp_path / f"again{suffix}")
    assert statement.output is not None
    assert again.output is not None
    assert again.output.codes_sha256 == statement.output.codes_sha256


# ---- frames ----


def test_frames_have_the_columns_in_the_order_of_the_input(town: World) -> None:
    pytest.importorskip("pandas")
    made = synthetic(trips(), town)
    order = ["user", "lat", "ts", "kind", "lon", "fare", "riders"]

    assert made.to_arrow().column_names == order
    assert made.to_pandas().columns.tolist() == order
    assert made.to_polars().columns == order
    assert made.to_geopandas().columns.tolist() == ["user", "geometry", "ts", "kind", "fare", "riders"]
    feature = made.__geo_interface__["features"][0]
    assert list(feature["properties"]) == ["user", "ts", "kind", "fare", "riders"]
    json.dumps(made.__geo_interface__)
    assert made.to_arrow().schema.field("riders").type == pa.int32()


def test_pandas_frames_keep_their_types(town: World) -> None:
    pd = pytest.importorskip("pandas")
    frame = trips().to_pandas()
    frame["kind"] = frame["kind"].astype("category")
    frame["note"] = pd.Series([object() for _ in range(ROWS)], dtype=object)
    frame["ts"] = frame["ts"].dt.tz_localize("Europe/Lisbon")

    found = synthetic(frame, town).to_pandas()

    assert found.dtypes["kind"] == "category"
    assert str(found.dtypes["ts"]) == str(frame.dtypes["ts"])
    assert found["riders"].between(1, 6).all()


def test_a_survey_draws_the_same_rows_again(town: World, tmp_path: Path) -> None:
    asked = survey(Vault.open(trips(), town, epsilon=5, keep=KEEP, ledger=None), "ugrid-uni", small=True)
    asked.write(tmp_path / "town.survey")

    first, second = draw(asked, seed=5), draw(tmp_path / "town.survey", seed=5)

    assert first.kept is not None
    assert first.kept.equals(second.kept)
    assert first.to_arrow().equals(second.to_arrow())


# ---- what is promised about them ----


def test_a_changed_column_is_found_out(town: World, tmp_path: Path) -> None:
    out = tmp_path / "synthetic.parquet"
    synthetic(trips(), town).write(out, key=None)
    table = pq.read_table(out)
    place = table.column_names.index("kind")
    pq.write_table(table.set_column(place, "kind", pa.array(["bus"] * table.num_rows)), out)
    out.with_name(f"{out.name}.statement.json").unlink()

    with pytest.raises(VerificationError, match="its kept columns are not those"):
        verify(out)


def test_a_layout_without_kept_columns_says_what_it_always_said() -> None:
    told = ["format", "crs", "x", "y", "y_first", "geometry", "encoding", "layer", "delimiter", "file_crs", "left_out"]

    assert list(Layout("csv", x="lon", y="lat").to_dict()) == told
    assert Layout.from_dict(Layout("csv").to_dict()) == Layout("csv")
    kept = open_points(trips(), keep=check_keep(KEEP)).layout
    assert Layout.from_dict(json.loads(json.dumps(kept.to_dict()))) == kept
    assert kept.left_out == ("note",)


# ---- what is refused, from names and types alone ----

REFUSED = [
    ("tss=time:2014-04-01/2014-04-08", "has no column 'tss' to keep; did you mean 'ts'"),
    ("lon=number:0..1", "says where a record is"),
    ("who=category:a", "says whose a record is"),
    ("kind=time:2014-04-01/2014-04-08;format=%H", "cannot be kept as a time"),
    ("riders=category:one", "holds int32, which cannot be kept as a category"),
    ("riders=category:1;other=none", "cannot be written as 'none'"),
    ("nested=time:2014-04-01/2014-04-08", "cannot be kept as a time"),
]


@pytest.mark.parametrize(("declared", "words"), REFUSED)
def test_what_cannot_be_kept_is_refused_before_a_record_is_read(declared: str, words: str) -> None:
    table = trips().append_column("who", pa.array(["a"] * ROWS))
    table = table.append_column("nested", pa.array([{"a": 1}] * ROWS))

    with pytest.raises(InputError) as caught:
        open_points(table, person="who", keep=check_keep([declared]))

    assert words in str(caught.value)


def test_arrays_have_no_columns_to_keep() -> None:
    with pytest.raises(InputError, match="have no columns"):
        open_points(np.zeros((3, 2)), keep=check_keep(["ts=id"]))


def test_a_name_that_a_format_cannot_hold_is_refused_before_anything_is_charged(town: World, tmp_path: Path) -> None:
    table = trips().rename_columns(
        ["a long name for users" if each == "user" else each for each in trips().column_names]
    )

    with pytest.raises(InputError, match="cannot hold a column called a long name for users"):
        release(
            table, town, epsilon=1, output=tmp_path / "out.shp", keep=["a long name for users=id"],
            ledger=tmp_path / "ledger.sqlite", method="ugrid-uni",
        )  # fmt: skip

    assert not Ledger(tmp_path / "ledger.sqlite").accounts()


def test_any_property_of_geojson_may_be_named(tmp_path: Path) -> None:
    source = open_points(as_geojson(tmp_path), keep=check_keep(["nobody has it=category:a", *KEEP]))

    found = np.concatenate([batch.codes[0] for batch in source.batches()])

    assert found.tolist() == [1] * ROWS
    assert source.layout.left_out == ("other properties",)


def test_a_person_may_be_kept_as_an_invented_id(town: World) -> None:
    made = synthetic(trips(), town, ["user=id"], person="user", max_points=1)

    assert made.kept is not None
    assert sorted(map(int, made.kept["user"].to_pylist())) == list(range(1, len(made) + 1))


def test_declarations_say_what_the_types_said() -> None:
    zoned = trips().set_column(2, "ts", trips()["ts"].cast(pa.timestamp("us", "Europe/Lisbon")))

    kept: dict[str, Column] = {each.name: each for each in open_points(zoned, keep=check_keep(KEEP)).keep}

    assert dataclasses.asdict(kept["ts"])["tz"] == "Europe/Lisbon"
    assert dataclasses.asdict(kept["riders"]) | {"type": "integer", "decimals": 0} == dataclasses.asdict(kept["riders"])
