"""Points in PostGIS: the same answers as from a file, in one transaction, and never a password in a text."""

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from tests.formats.test_kept import KEEP, trips
from tests.privacy.test_rooms import Guard, records_in, table_of
from tests.servers.conftest import Postgres

import pointveil as pv
from pointveil.cells import Everywhere, Grid
from pointveil.cli import main
from pointveil.errors import InputError, VerificationError
from pointveil.formats import DamagedError, open_points
from pointveil.reading import read_schema
from pointveil.releases import survey
from pointveil.vault import Share, Vault
from pointveil.world import World

pytestmark = pytest.mark.filterwarnings("ignore::pointveil.errors.PointveilWarning")
GRID = Grid((-2000, -2000, 2000, 2000), 5, 5)


@pytest.fixture
def table(people: NDArray[np.float64]) -> pa.Table:
    return pa.table({"lon": people[:, 0], "lat": people[:, 1], "who": np.arange(len(people)) // 4})


@pytest.fixture
def city(postgres: Postgres, table: pa.Table) -> Iterator[Postgres]:
    """A database with people, as numbers and as points."""
    fill(postgres, "people", table)
    yield postgres
    postgres.rows(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = 'city'"
    )
    left = postgres.rows("SELECT quote_ident(tablename) FROM pg_tables WHERE schemaname = 'public'")
    postgres.do(*(f"DROP TABLE {name}" for (name,) in left if name != "spatial_ref_sys"))


def fill(postgres: Postgres, name: str, table: pa.Table) -> None:
    driver = pytest.importorskip("adbc_driver_postgresql.dbapi")
    with driver.connect(postgres.address()) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest(f"plain_{name}", table, mode="create")
        connection.commit()
    postgres.do(
        f"CREATE TABLE {name} AS SELECT *, who::text AS label, md5(who::text)::uuid AS mark, "
        f"ST_SetSRID(ST_MakePoint(lon, lat), 4326)::geometry(Point, 4326) AS geom FROM plain_{name}",
        f"DROP TABLE plain_{name}",
    )


def answers(source: Any, world: World, person: str | None = "who", **options: Any) -> tuple[Any, bytes]:
    vault = Vault.rehearse(source, world, epsilon=1, seed=3, person=person, max_points=2, **options)
    found = vault.exact_count(GRID).tolist(), vault._Rehearsal__engine.digest()  # type: ignore[attr-defined]
    vault.close()
    return found


def query(text: str) -> str:
    return f"?query={quote(text)}"


def test_tables_and_queries_answer_as_the_same_file_does(city: Postgres, table: pa.Table, world: World) -> None:
    expected = answers(table, world)

    assert answers(city.address("?table=people"), world) == expected
    assert answers(city.address("?table=public.people"), world, "label") == expected
    assert answers(city.address("?table=people"), world, columns=("lon", "lat")) == expected
    assert answers(city.address(query("SELECT geom, who FROM people;")), world, crs="EPSG:4326") == expected
    assert answers(city.address(query("SELECT lon AS x, lat::numeric AS y, who FROM people -- so")), world) == expected


def test_a_table_says_its_crs_and_its_columns_and_a_query_must_be_told(city: Postgres) -> None:
    layout = open_points(city.address("?table=people")).layout

    assert (layout.crs, layout.geometry, layout.left_out) == (
        "EPSG:4326",
        "geom",
        ("lon", "lat", "who", "label", "mark"),
    )
    with pytest.raises(InputError, match="does not say its CRS"):
        open_points(city.address(query("SELECT geom FROM people")))
    with pytest.raises(InputError, match="no column 'nobody'"):
        open_points(city.address("?table=people"), person="nobody")


@pytest.mark.parametrize("person", ["who", "label", "mark", "moment"])
def test_persons_of_any_type_are_told_apart(person: str, city: Postgres, world: World) -> None:
    city.do(
        "ALTER TABLE people ADD moment timestamptz",
        "UPDATE people SET moment = CASE who WHEN 1 THEN 'infinity' WHEN 2 THEN '-infinity' ELSE to_timestamp(who) END",
    )

    (batch,) = open_points(city.address("?table=people"), person=person).batches()

    assert len(set(batch.person.to_pylist())) == 500


def test_all_readings_see_one_moment(
    city: Postgres, table: pa.Table, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pointveil.engines.local.KEEP_AT_MOST", 10)
    vault = Vault.rehearse(city.address("?table=people"), world, epsilon=1, seed=3)

    before = vault.exact_count(GRID).tolist()
    city.do("DELETE FROM people WHERE who < 100")

    assert vault.exact_count(GRID).tolist() == before
    vault.close()


def test_a_query_that_differs_each_time_fails(city: Postgres, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pointveil.engines.local.KEEP_AT_MOST", 10)
    url = city.address(query("SELECT lon, lat FROM people WHERE random() < 0.5"))
    vault = Vault.open(url, world, epsilon=1)
    vault.count(GRID, Share("first", Fraction(1, 2)))

    with pytest.raises(DamagedError, match=r"gave other records than before.*stays paid"):
        vault.count(Everywhere(), Share("second", Fraction(1, 2)))


@pytest.mark.parametrize(
    "text",
    [
        "DELETE FROM people RETURNING lon, lat",
        "WITH gone AS (DELETE FROM people RETURNING *) SELECT lon, lat FROM gone",
        "SELECT lon, lat FROM people) AS x; DELETE FROM people; SELECT * FROM (SELECT 1",
        "SELECT lon, lat FROM people; DELETE FROM people",
        "INSERT INTO people SELECT * FROM people",
        "SELECT lon, lat FROM nowhere",
        "not SQL, SECRET",
    ],
)
def test_a_query_that_writes_or_cannot_run_is_refused_before_anything_is_charged(
    text: str, city: Postgres, world: World, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=r"city: query [0-9a-f]{8} cannot be read") as caught:
        Vault.open(city.address(query(text)), world, epsilon=1, ledger=tmp_path / "ledger.db")

    assert "SECRET" not in str(caught.value)
    assert city.rows("SELECT count(*) FROM people") == [(2000,)]


def test_a_function_that_writes_is_refused_by_the_database(city: Postgres, world: World) -> None:
    city.do(
        "CREATE OR REPLACE FUNCTION wipe() RETURNS float8 LANGUAGE plpgsql AS "
        "$$ BEGIN DELETE FROM people; RETURN 10.001; END $$",
    )
    vault = Vault.open(city.address(query("SELECT wipe() AS lon, 50.001 AS lat")), world, epsilon=1)

    with pytest.raises(DamagedError, match=r"the database refused, or went away. Epsilon 1 stays paid"):
        vault.count(GRID, Share("count", Fraction(1)))
    assert city.rows("SELECT count(*) FROM people") == [(2000,)]


@pytest.mark.parametrize("rest", ["", "?table=", "?table=a&query=b", "?sslmode=disable"])
def test_an_address_that_names_no_table_is_refused(rest: str, postgres: Postgres) -> None:
    with pytest.raises(InputError, match=r"ends with \?table=NAME or \?query="):
        open_points(postgres.address(rest))


def test_a_file_for_kept_columns_starts_from_a_table_or_a_query(city: Postgres) -> None:
    for rest in ("?table=people", "?query=SELECT * FROM people"):
        assert {"name": "who", "type": "int64", "kind": "number"} in read_schema(city.address(rest))["columns"]


def test_a_wrong_password_is_said_and_not_shown(
    city: Postgres, world_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = city.address("?table=people", password="WRONGPASSWORD")
    with pytest.raises(SystemExit) as stopped:
        main(["synthesize", url, str(tmp_path / "out.parquet"), "-w", str(world_file), "-e", "1"])

    said = capsys.readouterr()
    assert stopped.value.code == 2
    assert "city: people cannot be opened: the database does not answer, or does not let you in" in said.err
    assert "Nothing was charged" in said.err or "charged" not in said.err
    assert "WRONGPASSWORD" not in said.out + said.err


def test_a_database_that_goes_away_in_between_is_paid_for_and_the_request_resumes(
    city: Postgres, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pointveil.engines.local.KEEP_AT_MOST", 10)
    options: dict[str, Any] = {"epsilon": 1, "output": tmp_path / "out.parquet", "method": "ugrid-uni", "request": "a"}
    honest, calls = Vault.count, []

    def count(self: Vault, *arguments: Any) -> Any:
        calls.append(1)
        if len(calls) == 2:
            city.stop()
            city.start()
        return honest(self, *arguments)

    monkeypatch.setattr(Vault, "count", count)
    with pytest.raises(DamagedError, match=r"went away.*stays") as caught:
        pv.release(city.address("?table=people"), world, **options)
    assert city.password not in str(caught.value)
    assert list(tmp_path.glob("*.parquet")) == []

    made = pv.release(city.address("?table=people"), world, **options)

    assert made.statement.ledger is not None
    assert [account.spent for account in pv.Ledger().accounts()] == [1]


def test_a_release_is_a_table_with_index_comment_and_statement(city: Postgres, table: pa.Table, world: World) -> None:
    url = city.address("?table=synthetic")

    made = pv.release(city.address("?table=people"), world, epsilon=1, output=url, method="ugrid-uni", request="one")

    assert city.rows("SELECT count(*), min(ST_SRID(geom)) FROM synthetic") == [(len(made), 4326)]
    assert city.rows("SELECT type, srid FROM geometry_columns WHERE f_table_name = 'synthetic'") == [("POINT", 4326)]
    assert any("gist" in line for (line,) in city.rows("SELECT indexdef FROM pg_indexes WHERE tablename = 'synthetic'"))
    text = made.statement.to_json()
    assert city.rows("SELECT obj_description('synthetic'::regclass)") == [(text,)]
    assert city.rows("SELECT * FROM pointveil_statements") == [('"synthetic"', text)]
    assert np.array_equal(pv.read(url).coordinates, made.coordinates)
    assert pv.verify(url, ledger=pv.Ledger().path).statement == made.statement
    assert not pv.evaluate(city.address("?table=people"), url, world).warnings()
    assert city.password not in text

    with pytest.raises(InputError, match="city: synthetic exists already"):
        pv.release(table, world, epsilon=1, output=url, method="ugrid-uni")
    again = pv.release(city.address("?table=people"), world, epsilon=1, output=url, method="ugrid-uni", request="one")
    assert np.array_equal(again.coordinates, made.coordinates)
    pv.release(table, world, epsilon=1, output=url, method="ugrid-uni", count=5, force=True)
    assert len(pv.read(url)) == 5


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE synthetic SET geom = ST_Translate(geom, 0.0000001, 0) WHERE id = 3",
        "DELETE FROM synthetic WHERE id = 3",
        "INSERT INTO synthetic SELECT 10000, geom FROM synthetic WHERE id = 3",
        "COMMENT ON TABLE synthetic IS NULL",
    ],
)
def test_a_table_that_was_changed_is_not_verified(change: str, city: Postgres, table: pa.Table, world: World) -> None:
    url = city.address("?table=synthetic")
    pv.release(table, world, epsilon=1, output=url, method="ugrid-uni", count=20)
    city.do(change)

    with pytest.raises(VerificationError) as caught:
        pv.verify(url)

    assert city.password not in str(caught.value)


def test_a_table_that_is_no_release_is_never_replaced(city: Postgres, table: pa.Table, world: World) -> None:
    for source in (table, city.address("?table=people")):
        with pytest.raises(InputError, match=r"no release of ours|the private table itself"):
            pv.release(source, world, epsilon=1, output=city.address("?table=people"), force=True)
    assert city.rows("SELECT count(*) FROM people") == [(2000,)]
    assert pv.Ledger().accounts() == []


def test_a_table_that_cannot_be_made_is_refused_before_the_charge(
    city: Postgres, table: pa.Table, world: World
) -> None:
    with pytest.raises(InputError, match=r"city: nowhere\.synthetic cannot be written"):
        pv.release(table, world, epsilon=1, output=city.address("?table=nowhere.synthetic"), method="ugrid-uni")

    assert pv.Ledger().accounts() == []


def test_a_write_that_fails_leaves_nothing_and_the_request_resumes(
    city: Postgres, table: pa.Table, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pointveil.formats import postgis

    url, honest = city.address("?table=synthetic"), postgis.Session.do

    def do(self: postgis.Session, command: str) -> None:
        if command.startswith("CREATE INDEX"):
            raise RuntimeError(f"disk full, {city.password}")
        honest(self, command)

    options: dict[str, Any] = {"epsilon": 1, "output": url, "method": "ugrid-uni", "request": "b"}
    with monkeypatch.context() as patch:
        patch.setattr(postgis.Session, "do", do)
        with pytest.raises(InputError, match=r"Epsilon 1 stays charged.*request='b'") as caught:
            pv.release(table, world, **options)
    assert city.password not in str(caught.value)
    assert city.rows("SELECT to_regclass('synthetic') IS NULL") == [(True,)]

    made = pv.release(table, world, **options)

    assert len(pv.read(url)) == len(made)
    assert [account.spent for account in pv.Ledger().accounts()] == [1]


def test_kept_columns_go_from_table_to_table(city: Postgres, plain_world: World, tmp_path: Path) -> None:
    driver = pytest.importorskip("adbc_driver_postgresql.dbapi")
    with driver.connect(city.address()) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest("trips", trips(), mode="create")
        connection.commit()
    city.do("UPDATE trips SET ts = 'infinity' WHERE riders = 3")
    url = city.address("?table=synthetic")

    options: dict[str, Any] = {
        "epsilon": 5,
        "keep": KEEP,
        "person": "user",
        "count": 300,
        "seed": 1,
        "small": True,
        "cap": 10,
    }
    made = pv.release(city.address("?table=trips"), plain_world, output=url, **options)
    pv.release(city.address("?table=trips"), plain_world, output=tmp_path / "synthetic.parquet", **options)

    assert pv.verify(url).statement == made.statement
    found = pv.read(url)
    assert found.kept is not None
    assert found.kept.equals(made.kept)
    names = [name for (name,) in city.rows(
        "SELECT attname::text FROM pg_attribute WHERE attrelid = 'synthetic'::regclass AND attnum > 0 ORDER BY attnum"
    )]  # fmt: skip
    assert names == ["id", "geom", "user", "ts", "kind", "fare", "riders"]
    city.do("""UPDATE synthetic SET kind = CASE kind WHEN 'bus' THEN 'tram' ELSE 'bus' END WHERE id = 3""")
    with pytest.raises(VerificationError, match="kept columns"):
        pv.verify(url)


def test_a_name_with_quotes_is_a_name(city: Postgres, table: pa.Table, world: World) -> None:
    url = city.address("?table=" + quote("""public.it's "odd\\"""))

    made = pv.release(table, world, epsilon=1, output=url, method="ugrid-uni", count=7)

    assert pv.verify(url).statement == made.statement


def test_the_ledger_never_holds_a_password(city: Postgres, world: World, tmp_path: Path) -> None:
    pv.release(
        city.address("?table=people"), world, epsilon=1, output=tmp_path / "a.csv", ledger=tmp_path / "ledger.db",
        method="ugrid-uni",
    )  # fmt: skip

    assert [account.name for account in pv.Ledger(tmp_path / "ledger.db").accounts()] == ["city: people"]
    for file in tmp_path.rglob("*"):
        assert not file.is_file() or city.password.encode() not in file.read_bytes()


def test_records_of_a_database_stay_in_the_rooms(city: Postgres, plain_world: World) -> None:
    lonlat = records_in(plain_world)
    fill(city, "tagged", table_of(lonlat))
    guard = Guard(lonlat, plain_world)

    with guard.watching():
        vault = Vault.rehearse(city.address("?table=tagged"), plain_world, epsilon=1, seed=5, person="who")
        survey(vault, "ugrid-uni")
    vault.close()

    assert guard.caught == set()


ADDED = "INSERT INTO odd SELECT a::float8, b::float8, c, ST_GeomFromText(d, 4326) FROM (VALUES ({})) v(a, b, c, d)"
STRANGERS = [
    "'NaN', 1, NULL, NULL",
    "'Infinity', '-Infinity', 'x', 'LINESTRING(0 0, 1 1)'",
    "1e300, -1e300, '', 'POINT EMPTY'",
    "NULL, NULL, 'nobody', 'POLYGON EMPTY'",
    "10.001, 50.001, 'somebody', 'POINT(10.001 50.001)'",
]


@pytest.mark.parametrize("columns", [None, ("lon", "lat")])
@pytest.mark.parametrize("stranger", STRANGERS)
def test_one_record_more_leaves_all_others_as_they_were(
    stranger: str, columns: tuple[str, str] | None, city: Postgres
) -> None:
    city.do(
        "CREATE TABLE odd (lon float8, lat float8, who text, geom geometry(Geometry, 4326))",
        ADDED.format("1.5, 2.5, 'a', 'POINT(1.5 2.5)'"),
    )

    def rows() -> list[Any]:
        source = open_points(city.address("?table=odd"), person="who", columns=columns)
        batches = list(source.batches())
        source.close()
        return [pair for b in batches for pair in zip(b.coordinates.tolist(), b.person.to_pylist(), strict=True)]

    before = rows()
    city.do(ADDED.format(stranger))
    after = rows()

    assert before == [([1.5, 2.5], b"a")]
    assert after[:1] == before
    assert len(after) == 2
