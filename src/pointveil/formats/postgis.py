"""Points in PostgreSQL with PostGIS: read in one transaction that cannot write, written in one that does it all."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import numpy as np
import pyarrow as pa

from pointveil.errors import InputError, missing_extra
from pointveil.files.crs import known_crs
from pointveil.files.places import public_name
from pointveil.files.whole import EXISTS
from pointveil.formats.base import Batch, Chunks, DamagedError, Layout, PointSource, Request
from pointveil.formats.columns import quoted
from pointveil.formats.tables import batch_of, layout_of, needed_columns
from pointveil.formats.values import storage_of

SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"
SHAPES = ("geometry", "geography")
STATEMENTS = "pointveil_statements"
MAKE_STATEMENTS = f"CREATE TABLE IF NOT EXISTS {STATEMENTS} (table_name text PRIMARY KEY, statement text NOT NULL)"
NUMBER = "id"  # the column that keeps the order of synthetic points, which the hash in the statement is about
PLACE = ("pointveil_x", "pointveil_y")  # in the draft, where no kept column has these names
DRAFT = "pointveil_draft"
CANNOT_CONNECT = (
    "{} cannot be opened: the database does not answer, or does not let you in. Check the address, the user and the "
    "password (PGPASSWORD or a password file keep it out of the address)."
)
CANNOT_READ = "{} cannot be read: check the name of the table, or that the query runs, by itself and without writing."


@dataclasses.dataclass(frozen=True, repr=False)
class Address:
    """What an address of a table or query says; shows nothing of it but the public name."""

    name: str  # public
    server: str  # how to connect, with the password if there is one
    table: tuple[str, ...] = ()  # schema, if it is named, and table
    query: str = ""

    @classmethod
    def of(cls, url: str) -> Address:
        """Take an address apart: `table` and `query` are for us, all other options for the database."""
        parts = urlsplit(url)
        options = parse_qsl(parts.query, keep_blank_values=True)
        own = {name: value for name, value in options if name in {"table", "query"}}
        if len(own) != 1 or not all(own.values()):
            raise InputError(f"{public_name(url)}: an address of a database ends with ?table=NAME or ?query=SELECT…")
        rest = urlencode([(name, value) for name, value in options if name not in own])
        server = urlunsplit(("postgresql", parts.netloc, parts.path, rest, ""))
        table = tuple(own.get("table", "").split(".", 1)) if "table" in own else ()
        return cls(public_name(url), server, table, own.get("query", "").strip().rstrip(";"))

    @property
    def relation(self) -> str:
        """What stands after FROM; a query is a subquery there, where nothing that writes can stand."""
        return ".".join(map(quoted, self.table)) if self.table else f"({self.query}\n) AS pointveil_source"


def literal(text: str) -> str:
    """Return a text as it stands in a statement."""
    return "E'" + text.replace("\\", "\\\\").replace("'", "''") + "'"


class Session:
    """A connection that is closed when nobody needs it any more; its errors quote nothing."""

    def __init__(self, address: Address, *, autocommit: bool) -> None:
        try:
            import adbc_driver_postgresql.dbapi as driver
        except ImportError:
            raise missing_extra("postgis", "adbc-driver-postgresql") from None
        try:
            self.connection = driver.connect(address.server, autocommit=autocommit)
        except Exception:  # noqa: BLE001 - its text may quote the address
            raise InputError(CANNOT_CONNECT.format(address.name)) from None
        self.close = weakref.finalize(self, _quietly, self.connection.close)

    def do(self, command: str) -> None:
        """Carry a command out."""
        with self.connection.cursor() as cursor:
            cursor.execute(command)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Return the answer to a small question."""
        with self.connection.cursor() as cursor:
            cursor.execute(query)
            return list(cursor.fetchall())

    @contextmanager
    def answer(self, query: str) -> Iterator[Any]:
        """Give a large answer, as an Arrow reader."""
        with self.connection.cursor() as cursor:
            cursor.execute(query)
            with cursor.fetch_record_batch() as reader:
                yield reader


def _quietly(close: Callable[[], object]) -> None:
    with suppress(Exception):
        close()


def read(url: str, request: Request, *, in_order: bool = False) -> PointSource:
    """Open a table or query; all readings see the same records, those of the moment in which it was opened."""
    address, session, schema = _opened(url)
    layout = dataclasses.replace(layout_of(schema, request, address.name), format="frame")
    wanted = [_selected(schema.field(name), request) for name in needed_columns(layout, request)]
    order = f" ORDER BY {quoted(NUMBER)}" if in_order else ""
    query = f"SELECT {', '.join(wanted)} FROM {address.relation}{order}"
    pieces = partial(_pieces, session, query, layout, request, address.name)
    return PointSource(layout, pieces, name=address.name, is_query=True, close=session.close)


def fields(url: str) -> dict[str, Any]:
    """Return the types of all columns of a table or query."""
    _, session, schema = _opened(url)
    session.close()
    return {field.name: field.type for field in schema}


def _opened(url: str) -> tuple[Address, Session, Any]:
    """Connect, and see which columns there are."""
    address = Address.of(url)
    session = Session(address, autocommit=True)
    try:
        session.do(SNAPSHOT)
        with session.answer(f"SELECT * FROM {address.relation} LIMIT 0") as nothing:
            return address, session, _described(session, address, nothing.schema)
    except InputError:
        raise
    except Exception:  # noqa: BLE001 - an error of the database may quote a value
        raise InputError(CANNOT_READ.format(address.name)) from None


def _pieces(session: Session, query: str, layout: Layout, request: Request, name: str) -> Iterator[Batch]:
    try:
        with session.answer(query) as batches:
            for batch in batches:
                yield batch_of(batch, layout, request)
    except Exception:  # noqa: BLE001 - as above
        raise DamagedError(f"{name} cannot be read to its end: the database refused, or went away.") from None


def _described(session: Session, address: Address, schema: Any) -> Any:
    """Return a schema in which geometries say that they are some, and in which CRS if the database knows it."""
    fields = []
    for field in schema:
        kind = getattr(field.type, "type_name", None)
        if kind in SHAPES:
            crs = _crs(session, address, field.name)
            about = {"ARROW:extension:name": "geoarrow.wkb", "ARROW:extension:metadata": json.dumps({"crs": crs})}
            fields.append(pa.field(field.name, pa.binary(), metadata=about))
        else:
            fields.append(field.with_metadata(None))
    return pa.schema(fields)


def _crs(session: Session, address: Address, column: str) -> str | None:
    """Return the CRS that a table declares for a column; that of a query is not known."""
    if not address.table:
        return None
    where = f"to_regclass({literal(address.relation)}) = c.oid AND a.attname = {literal(column)}"
    found = session.rows(
        "SELECT s.auth_name, s.auth_srid FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid "
        f"JOIN spatial_ref_sys s ON s.srid = postgis_typmod_srid(a.atttypmod) WHERE {where}"
    )
    return f"{found[0][0]}:{found[0][1]}" if found and found[0][0] else None


def _selected(field: Any, request: Request) -> str:
    """Return how a column is asked for: moments that name persons as text, moments without end as none."""
    # Neither fits into a number of Arrow, and one such record would break the reading of all.
    name = quoted(field.name)
    if not pa.types.is_temporal(field.type):
        return name
    if field.name == request.person:
        return f"{name}::text AS {name}"
    has_infinity = pa.types.is_timestamp(field.type) or pa.types.is_date(field.type)
    return f"CASE WHEN isfinite({name}) THEN {name} END AS {name}" if has_infinity else name


def check(url: str, crs: str | None = None, *, force: bool, own: Any = ()) -> None:
    """Refuse, before anything is charged, a table that cannot be written or that is not a release of its own."""
    address = _writable(url)
    with _transaction(address) as session:
        if crs is not None:
            _srid(session, address, crs)
        if not _refuse_existing(session, address, force=force, own=own):
            session.do(f"CREATE TABLE {address.relation} ()")  # undone at once: it shows whether one can be made there
        session.do(MAKE_STATEMENTS)


def write(
    url: str,
    chunks: Chunks,
    layout: Layout,
    statement: str,
    *,
    force: bool,
    own: Any = (),
    ready: Callable[[str], None],
) -> None:
    """Write points, a spatial index and the statement, in one transaction: all of it appears, or nothing."""
    address = _writable(url)
    name, shape = address.relation, quoted(layout.geometry or "geom")
    with _transaction(address) as session:
        srid = _srid(session, address, layout.crs)
        _refuse_existing(session, address, force=force, own=own)
        with session.connection.cursor() as cursor:
            cursor.adbc_ingest(DRAFT, _numbered(chunks, layout), mode="create", temporary=True)
        ready(hashlib.sha256(statement.encode()).hexdigest())
        others = "".join(f", {quoted(name)}" for name in layout.kept)
        point = f"ST_SetSRID(ST_MakePoint({PLACE[0]}, {PLACE[1]}), {srid})::geometry(Point, {srid})"
        kept = f"table_name = {literal(name)}"
        for command in (
            f"DROP TABLE IF EXISTS {name}",
            f"CREATE TABLE {name} AS SELECT {NUMBER}, {point} AS {shape}{others} FROM {DRAFT} ORDER BY 1",
            f"DROP TABLE {DRAFT}",
            f"ALTER TABLE {name} ADD PRIMARY KEY ({NUMBER})",
            f"CREATE INDEX ON {name} USING gist ({shape})",
            f"COMMENT ON TABLE {name} IS {literal(statement)}",
            MAKE_STATEMENTS,
            f"DELETE FROM {STATEMENTS} WHERE {kept}",
            f"INSERT INTO {STATEMENTS} VALUES ({literal(name)}, {literal(statement)})",
        ):
            session.do(command)
        session.connection.commit()


def storage(column: Any) -> Any:
    """Return the plain Arrow array that an array is made of."""
    return column.storage if isinstance(column, pa.ExtensionArray) else column


def _plain(kind: Any) -> Any:
    kind = storage_of(kind)
    if pa.types.is_dictionary(kind):
        return _plain(kind.value_type)
    if pa.types.is_unsigned_integer(kind):
        return pa.int64()
    return pa.string() if pa.types.is_decimal(kind) or pa.types.is_null(kind) else kind


def columns(url: str, names: list[str]) -> dict[str, Any]:
    """Return columns of a release, in its order."""
    address = _writable(url)
    with _transaction(address) as session:
        wanted = ", ".join(map(quoted, names))
        with session.answer(f"SELECT {wanted} FROM {address.relation} ORDER BY {quoted(NUMBER)}") as found:
            table = found.read_all()
    return {name: pa.chunked_array(map(storage, table[name].chunks), storage_of(table[name].type)) for name in names}


def statement(url: str) -> str | None:
    """Return the statement about a table."""
    address = _writable(url)
    with _transaction(address) as session:
        known = session.rows(f"SELECT obj_description(to_regclass({literal(address.relation)}), 'pg_class')")
    return None if known[0][0] is None else str(known[0][0])


def _writable(url: str) -> Address:
    address = Address.of(url)
    if not address.table:
        raise InputError(f"{address.name}: a release is a table. Give ?table=NAME.")
    return address


@contextmanager
def _transaction(address: Address) -> Iterator[Session]:
    """Give a connection whose work is undone unless it is committed; its errors quote nothing."""
    session = Session(address, autocommit=False)
    try:
        yield session
    except (InputError, KeyboardInterrupt):
        raise
    except Exception:  # noqa: BLE001 - an error of the database may quote the address
        raise InputError(
            f"{address.name} cannot be written or read: the database refused, or went away. It needs PostGIS, and the "
            "right to create tables."
        ) from None
    finally:
        session.close()


def _refuse_existing(session: Session, address: Address, *, force: bool, own: Any) -> bool:
    """Refuse to replace a table, unless it is a release and that was said, or it is this very one; say if it exists."""
    if not session.rows(f"SELECT 1 WHERE to_regclass({literal(address.relation)}) IS NOT NULL"):
        return False
    kept: list[tuple[Any, ...]] = []
    if session.rows(f"SELECT 1 WHERE to_regclass({literal(STATEMENTS)}) IS NOT NULL"):
        kept = session.rows(f"SELECT statement FROM {STATEMENTS} WHERE table_name = {literal(address.relation)}")
    if not kept:
        raise InputError(f"{address.name} exists already, and is no release of ours. Give another name.")
    if not force and hashlib.sha256(kept[0][0].encode()).hexdigest() not in own:
        raise InputError(EXISTS.format(address.name))
    return True


def _srid(session: Session, address: Address, crs: str) -> int:
    code = known_crs(crs, "the points").to_authority(min_confidence=100)
    found = code and session.rows(
        f"SELECT srid FROM spatial_ref_sys WHERE auth_name || ':' || auth_srid = {literal(':'.join(code))}"
    )
    if not found:
        raise InputError(f"{address.name}: the database has no number for the CRS of the points. Write a file instead.")
    return int(found[0][0])


def _numbered(chunks: Chunks, layout: Layout) -> Any:
    """Return points with their numbers and kept columns, in types that the database has."""
    kinds = {name: _plain(field.type) for name, field in layout.kept.items()}
    places = [(name, pa.float64()) for name in PLACE]
    schema = pa.schema([(NUMBER, pa.int64()), *places, *kinds.items()])

    def batches() -> Iterator[Any]:
        first = 1
        for chunk in chunks:
            numbers = np.arange(first, first + len(chunk.coordinates))
            kept = [storage(column).cast(kinds[name]) for name, column in chunk.kept.items()]
            columns = dict(
                zip([NUMBER, *PLACE, *chunk.kept], [numbers, *chunk.coordinates.T.copy(), *kept], strict=True)
            )
            yield pa.record_batch([columns[name] for name in schema.names], schema=schema)
            first += len(numbers)

    return pa.RecordBatchReader.from_batches(schema, batches())
