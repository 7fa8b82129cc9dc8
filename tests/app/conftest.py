"""A real server on a free port, in a thread, with a folder of its own."""

import http.client
import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pointveil.app.desk import Desk
from pointveil.app.folder import Folder
from pointveil.app.gate import SECRET, Gate
from pointveil.app.server import application, listen
from pointveil.ledger import Ledger
from pointveil.world import World


@dataclass
class Clock:
    """Time that passes when a test says so."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Served:
    """A server, and what a stranger or the owner's tab may send to it."""

    gate: Gate
    desk: Desk
    clock: Clock = field(default_factory=Clock)

    def send(self, method: str, path: str, *, headers: dict[str, str] | None = None, body: bytes = b"") -> Answer:
        link = http.client.HTTPConnection("127.0.0.1", self.gate.port, timeout=60)
        given = {"Host": f"127.0.0.1:{self.gate.port}", **({"Content-Length": str(len(body))} if body else {})}
        link.request(method, path, body=body or None, headers={**given, **(headers or {})})
        got = link.getresponse()
        answer = Answer(got.status, {name.lower(): value for name, value in got.getheaders()}, got.read())
        link.close()
        return answer

    @property
    def cookie(self) -> dict[str, str]:
        return {"Cookie": f"{self.gate.cookie_name}={self.gate.cookie}"}

    @property
    def keys(self) -> dict[str, str]:
        """All that the owner's tab sends."""
        return {**self.cookie, "Origin": self.gate.origin, SECRET: self.gate.secret, "Sec-Fetch-Site": "same-origin"}

    def ask(self, action: str, asked: Any = None, *, headers: dict[str, str] | None = None) -> Answer:
        body = json.dumps(asked or {}).encode()
        return self.send("POST", f"/api/{action}", headers=self.keys if headers is None else headers, body=body)

    def wait(self, work: str) -> dict[str, Any]:
        for _ in range(600):
            piece: dict[str, Any] = self.ask("work", {"work": work}).json()
            if piece["state"] in {"done", "failed", "unknown"}:
                return piece
            time.sleep(0.05)
        raise TimeoutError(work)


def run_server(desk: Desk, clock: Clock) -> Iterator[Served]:
    uvicorn = pytest.importorskip("uvicorn", reason="needs the extra app")
    pytest.importorskip("starlette", reason="needs the extra app")
    with listen(0) as door:
        gate = Gate(door.getsockname()[1], clock=clock)
        config = uvicorn.Config(
            application(desk, gate), log_config=None, access_log=False, ws="none", lifespan="off", server_header=False
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [door]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        yield Served(gate, desk, clock)
        server.should_exit = True
        thread.join(10)
    desk.works.end()


@pytest.fixture
def folder(tmp_path: Path, people_file: Path, world: World) -> Path:
    """A folder with a private file and a world; beside it lies what nobody may see."""
    made = tmp_path / "data"
    made.mkdir()
    few = pq.read_table(people_file)
    pq.write_table(pa.concat_tables([few] * 5), made / "people.parquet")  # so many are never taken for noise
    world.write(made / "world.gpkg")
    (tmp_path / "outside.csv").write_text("lon,lat\n10.001,50.001\n")
    return made


@pytest.fixture
def served(folder: Path, tmp_path: Path) -> Iterator[Served]:
    yield from run_server(Desk(Folder.open(folder), Ledger(tmp_path / "ledger.db")), Clock())
