"""Real servers on this machine alone, for the tests of stores and databases; skipped where they are not installed."""

import os
import secrets
import shutil
import socket
import subprocess
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def s3() -> Iterator[str]:
    """The address of an S3 server without buckets."""
    server = pytest.importorskip("moto.server", reason="needs moto's server: make test-engines")
    running = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    running.start()
    host, port = running.get_host_and_port()
    yield f"{host}:{port}"
    running.stop()


@dataclass(frozen=True)
class Postgres:
    """A PostgreSQL server with PostGIS on this machine alone."""

    folder: Path
    programs: Path
    port: int
    password: str

    def address(self, rest: str = "", *, password: str | None = None, database: str = "city") -> str:
        """Return an address with the password in it."""
        return f"postgresql://owner:{password or self.password}@127.0.0.1:{self.port}/{database}{rest}"

    def run(self, program: str, *arguments: str) -> None:
        """Run one of its programs, as who may: it refuses to be run by root."""
        user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.geteuid() == 0 else []
        command = [*user, str(self.programs / program), "-D", str(self.folder / "data"), *arguments]
        subprocess.run(command, check=True, capture_output=True, cwd=self.folder)

    def start(self) -> None:
        """Start it, and wait until it answers."""
        options = (
            f"-h 127.0.0.1 -p {self.port} -k {self.folder} -c fsync=off -c lock_timeout=20s -c statement_timeout=60s"
        )
        self.run("pg_ctl", "-o", options, "-l", str(self.folder / "log"), "-w", "start")

    def stop(self) -> None:
        """Stop it at once, whoever is connected."""
        self.run("pg_ctl", "-m", "immediate", "-w", "stop")

    def do(self, *commands: str) -> None:
        """Carry out commands, one by one."""
        driver = pytest.importorskip("adbc_driver_postgresql.dbapi")
        with driver.connect(self.address(), autocommit=True) as connection, connection.cursor() as cursor:
            for command in commands:
                cursor.execute(command)

    def rows(self, query: str) -> list[Any]:
        """Return the answer to a question."""
        driver = pytest.importorskip("adbc_driver_postgresql.dbapi")
        with driver.connect(self.address(), autocommit=True) as connection, connection.cursor() as cursor:
            cursor.execute(query)
            return list(cursor.fetchall())


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Postgres]:
    """A server with a database called city."""
    pytest.importorskip("adbc_driver_postgresql", reason="needs adbc-driver-postgresql: make test-engines")
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"))
    if not programs or not list(Path("/usr/share/postgresql").glob("*/extension/postgis.control")):
        pytest.skip("needs a PostgreSQL server with PostGIS (Debian: postgresql-15-postgis-3)")
    folder = Path(tempfile.mkdtemp(prefix="pointveil-postgres-"))  # where another user may come, unlike tmp_path
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = Postgres(folder, programs[-1].parent, port, f"SECRET{secrets.token_hex(4)}")
    (folder / "password").write_text(server.password)
    if os.geteuid() == 0:
        for place in (folder, folder / "password"):
            shutil.chown(place, "postgres")
    server.run("initdb", "-U", "owner", "-A", "scram-sha-256", f"--pwfile={folder}/password", "-E", "UTF8")
    server.start()
    try:
        driver = pytest.importorskip("adbc_driver_postgresql.dbapi")
        first = server.address(database="postgres")
        with driver.connect(first, autocommit=True) as connection, connection.cursor() as cursor:
            cursor.execute("CREATE DATABASE city")
        server.do("CREATE EXTENSION postgis")
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A session of Spark with two executors, which are processes of their own."""
    pytest.importorskip("pyspark", reason="needs pyspark: make test-engines")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("needs Java (Debian: openjdk-17-jre-headless)")
    from pointveil.formats import spark as starting

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        patch.setenv("SPARK_WORKER_DIR", str(tmp_path_factory.mktemp("spark")))
        patch.setenv("PYSPARK_SUBMIT_ARGS", "--conf spark.task.maxFailures=2 pyspark-shell")
        # Half of what a short life of Java costs is compiling.
        patch.setenv("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        session = starting.session("local-cluster[2,1,1024]")
        session.conf.set("spark.sql.shuffle.partitions", "3")
        session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "300")
        yield session
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            session.stop()
