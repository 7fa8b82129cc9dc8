"""pointveil schema: a start for --keep-file, from names and types alone."""

import datetime as dt
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely
from tests.places import save
from typer.testing import CliRunner

from pointveil.cli import app
from pointveil.columns import Category, Id, Number, Time, read_keep_file
from pointveil.errors import InputError
from pointveil.formats import open_points

TRIPS = {
    "lon": pa.array([10.0]),
    "lat": pa.array([50.0]),
    "ts": pa.array([dt.date(2014, 4, 1)]).cast(pa.timestamp("us")),
    "day": pa.array([dt.date(2014, 4, 1)]),
    'a "kind" of': pa.array(["secret"]),
    "fare": pa.array([1.5]),
    "paid": pa.array([True]),
    "riders": pa.array([3]),
    "user": pa.array([b"0" * 16], pa.uuid()),
    "nested": pa.array([[1]]),
}
FILLED = {
    'period = ""': 'period = "2014-04-01/2014-04-08"',
    "values = []": 'values = ["bus", "tram"]',
    'low = ""': "low = 0",
    'high = ""': "high = 100",
}


def run(*words: object) -> str:
    result = CliRunner().invoke(app, ["schema", *map(str, words)])
    assert result.exit_code == 0, result.exception
    return result.output


def test_the_toml_is_accepted_when_its_blanks_are_filled_in(tmp_path: Path) -> None:
    source, start = tmp_path / "trips.parquet", tmp_path / "keep.toml"
    pq.write_table(pa.table(TRIPS), source)

    run(source, "--output", start)

    text = start.read_text(encoding="utf-8")
    assert "secret" not in text
    assert "# nested holds list<" in text
    for blank, value in FILLED.items():
        assert blank in text
        text = text.replace(blank, value)
    start.write_text(text, encoding="utf-8")
    columns = read_keep_file(start)
    assert [(each.name, type(each)) for each in columns] == [
        *(("ts", Time), ("day", Time), ('a "kind" of', Category), ("fare", Number), ("paid", Category)),
        *(("riders", Number), ("user", Id)),
    ]
    open_points(source, keep=tuple(columns))  # and each fits its column


def test_what_is_left_blank_is_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table(TRIPS), tmp_path / "trips.parquet")
    run(tmp_path / "trips.parquet", "--output", tmp_path / "keep.toml")

    with pytest.raises(InputError, match="period"):
        read_keep_file(tmp_path / "keep.toml")


def test_all_columns_of_csv_are_text(tmp_path: Path) -> None:
    (tmp_path / "trips.csv").write_text("lon,lat,fare\n10,50,9.5\n", encoding="utf-8")

    found = json.loads(run(tmp_path / "trips.csv", "--json"))

    assert found["columns"] == [{"name": "fare", "type": "text", "kind": "category"}]
    assert "[fare]  # text" in run(tmp_path / "trips.csv")


def test_the_name_of_a_text_column_says_whether_it_may_be_a_time_or_an_id(tmp_path: Path) -> None:
    """A list of ids, as one of categories would be, is the last thing to publish."""
    (tmp_path / "trips.csv").write_text("lon,lat,scooter_id,ended_at,kind\n", encoding="utf-8")

    found = json.loads(run(tmp_path / "trips.csv", "--json"))

    assert [column["kind"] for column in found["columns"]] == ["id", "time", "category"]
    assert 'kind = "id"  # invented ids' in found["toml"]


def test_of_geojson_it_says_that_nothing_can_be_listed(tmp_path: Path) -> None:
    save(tmp_path / "trips.geojson", [shapely.Point(10, 50)], attributes=pa.table({"who": ["ann"]}))

    assert "cannot be listed" in run(tmp_path / "trips.geojson")
    assert json.loads(run(tmp_path / "trips.geojson", "--json"))["columns"] is None


@pytest.mark.parametrize("suffix", [".gpkg", ".fgb", ".shp"])
def test_fields_of_layers_are_listed(suffix: str, tmp_path: Path) -> None:
    save(tmp_path / f"trips{suffix}", [shapely.Point(10, 50)], attributes=pa.table({"who": [7]}))

    assert "[who]  # int64" in run(tmp_path / f"trips{suffix}")


def test_a_first_line_of_data_is_not_shown(tmp_path: Path) -> None:
    (tmp_path / "trips.csv").write_text("10.5,50.5,ann\n10,50,bob\n", encoding="utf-8")

    result = CliRunner().invoke(app, ["schema", str(tmp_path / "trips.csv")])

    assert result.exit_code != 0
    assert "50.5" not in str(result.exception)


def test_a_folder_and_a_pattern_are_described_as_their_files_are(tmp_path: Path) -> None:
    for part in ("a", "b"):
        (tmp_path / "trips").mkdir(exist_ok=True)
        pq.write_table(pa.table(TRIPS), tmp_path / "trips" / f"{part}.parquet")

    of_one, *of_many = (run(tmp_path / name) for name in ("trips/a.parquet", "trips", "trips/*.parquet"))

    assert of_many == [of_one.replace("of a.parquet", "of trips"), of_one.replace("of a.parquet", "of trips/*.parquet")]


@pytest.mark.parametrize("source", ["trips", "trips/*.parquet"])
def test_nothing_is_written_over_private_files(source: str, tmp_path: Path) -> None:
    (tmp_path / "trips").mkdir()
    private = tmp_path / "trips" / "a.parquet"
    pq.write_table(pa.table(TRIPS), private)
    before = private.read_bytes()

    result = CliRunner().invoke(app, ["schema", str(tmp_path / source), "--output", str(private), "--force"])

    assert "among the private files" in str(result.exception)
    assert private.read_bytes() == before


@pytest.mark.parametrize(
    "words",
    [
        "certificate URL",
        "draw URL synthetic.parquet",
        "survey people.csv URL --world world.gpkg --epsilon 1 --unit point",
        "check people.csv --world URL",
        "check people.csv --world world.gpkg --prior URL",
        "synthesize people.csv synthetic.csv --world world.gpkg --epsilon 1 --unit point --key URL",
        "synthesize people.csv synthetic.csv --world world.gpkg --epsilon 1 --unit point --keep-file URL",
        "ledger show --ledger URL",
    ],
)
@pytest.mark.parametrize("url", ["s3://ME:SECRET@bucket", "postgresql://me:SECRET@host/city?table=a&password=SECRET"])
def test_an_address_where_only_a_file_can_be_is_refused_without_its_password(
    words: str, url: str, people_file: Path, world_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    known = {"URL": url, "people.csv": str(people_file), "world.gpkg": str(world_file)}

    result = CliRunner().invoke(app, [known.get(word, word) for word in words.split()])

    said = f"{result.output} {result.exception}"
    assert f"An address ({url.partition(':')[0]}://…) cannot be given here" in said
    assert "SECRET" not in said
