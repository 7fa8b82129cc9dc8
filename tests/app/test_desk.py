"""From file to release by what the page asks for; pressed twice, reloaded or killed, it is charged once."""

import os
import shlex
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely
from tests.app.conftest import Served

import pointveil as pv
from pointveil.app.orders import Keep, Order
from pointveil.cli import main
from pointveil.errors import InputError

ORDER = {"data": "people.parquet", "world": "world.gpkg", "output": "s.parquet", "epsilon": "1"}


def press(served: Served, order: dict[str, Any], price: str) -> dict[str, Any]:
    answer = served.ask("release", {"order": order, "price": price})
    assert answer.status == 200, answer.text
    return served.wait(answer.json()["work"])


def spent(served: Served) -> list[str]:
    return [str(account.spent) for account in served.desk.ledger.accounts()]


def test_a_release_is_made_verified_and_downloaded(served: Served, folder: Path) -> None:
    quoted = served.ask("quote", {"order": ORDER}).json()
    assert spent(served) == []
    assert "2.72 (epsilon = 1)" in quoted["promise"]  # what it will be, though nothing is spent yet

    made = press(served, ORDER, quoted["price"])

    assert made["state"] == "done"
    assert made["result"]["output"] == "s.parquet"
    checked = served.ask("verify", {"output": "s.parquet"}).json()
    assert any("ledger is whole" in text for text in checked["checks"])
    for part in checked["parts"]:
        got = served.ask("download", {"output": "s.parquet", "part": part})
        assert got.body == (folder / part).read_bytes()
    for part in ("people.parquet", "world.gpkg", "../outside.csv", "/etc/passwd"):
        assert served.ask("download", {"output": "s.parquet", "part": part}).status == 400
    assert spent(served) == ["1"]
    shared = served.ask("share", {"output": "s.parquet", "world": "world.gpkg"}).json()
    assert "nothing on this page comes from the real points" in shared["page"]


def test_a_tab_that_saw_the_price_before_another_paid_it_follows_the_same_release(served: Served) -> None:
    seen = served.ask("quote", {"order": ORDER}).json()["price"]
    press(served, ORDER, seen)

    again = press(served, ORDER, seen)

    assert again["state"] == "done"
    assert [str(account.spent) for account in served.desk.ledger.accounts()] == ["1"]


def test_nothing_is_charged_without_the_price_that_was_seen(served: Served) -> None:
    for price in ("0", "2", "", "1.0"):
        answer = served.ask("release", {"order": ORDER, "price": price})

        assert answer.status == 400
    assert served.ask("release", {"order": ORDER}).status == 400
    assert spent(served) == []


def test_pressed_twice_at_once_it_is_charged_once(served: Served) -> None:
    works = [served.ask("release", {"order": ORDER, "price": "1"}).json() for _ in range(2)]
    made = [served.wait(work["work"]) for work in works]

    assert works[0] == works[1]
    assert [piece["state"] for piece in made] == ["done", "done"]
    assert spent(served) == ["1"]


def test_the_same_order_again_costs_nothing_and_says_so(served: Served, folder: Path) -> None:
    press(served, ORDER, "1")
    first = (folder / "s.parquet").read_bytes()
    (folder / "s.parquet").unlink()
    (folder / "s.parquet.statement.json").unlink()

    assert served.ask("quote", {"order": ORDER}).json()["price"] == "0"
    again = press(served, ORDER, "0")

    assert again["state"] == "done"
    assert (folder / "s.parquet").read_bytes() == first
    assert spent(served) == ["1"]


def test_a_server_that_was_killed_goes_on_from_the_ledger(served: Served, folder: Path, tmp_path: Path) -> None:
    """Killed right after the charge, before the first answer is kept: the next server finishes, at no further cost."""
    order = Order.model_validate(ORDER)
    code = (
        "import os, signal, sys, pointveil as pv\n"
        "from pointveil.ledger import Ledger\n"
        "Ledger.keep = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "data, world, output, ledger, request = sys.argv[1:]\n"
        "pv.release(data, world, epsilon=1, output=output, ledger=ledger, request=request)\n"
    )
    files = [str(folder / name) for name in ("people.parquet", "world.gpkg", "s.parquet")]
    killed = subprocess.run(
        [
            sys.executable,
            "-W",
            "ignore",
            "-c",
            code,
            *files,
            str(tmp_path / "ledger.db"),
            order.request(folder.resolve()),
        ],
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL
    assert spent(served) == ["1"]

    quoted = served.ask("quote", {"order": ORDER}).json()
    made = press(served, ORDER, quoted["price"])

    assert quoted["price"] == "0"
    assert made["state"] == "done"
    assert spent(served) == ["1"]


def test_another_name_for_the_output_is_another_release(served: Served) -> None:
    press(served, ORDER, "1")
    press(served, ORDER | {"output": "t.parquet"}, "1")

    assert spent(served) == ["2"]


def test_the_first_release_sets_the_cap_and_a_quote_does_not(served: Served) -> None:
    quoted = served.ask("quote", {"order": ORDER, "cap": "2"}).json()
    assert quoted["account"] is None
    assert served.desk.ledger.accounts() == []
    assert "--cap=2" in quoted["words"]["shell"]

    answer = served.ask("release", {"order": ORDER, "cap": "2", "price": "1"})

    assert served.wait(answer.json()["work"])["state"] == "done"
    assert [str(account.cap) for account in served.desk.ledger.accounts()] == ["2"]


def test_earlier_releases_are_listed_from_the_ledger(served: Served) -> None:
    press(served, ORDER, "1")

    (entry,) = served.ask("files").json()["earlier"]

    assert (entry["dataset"], entry["epsilon"], entry["state"]) == ("people.parquet", "1", "finished")
    assert entry["output"] == "s.parquet"


def test_a_forecast_touches_no_data(served: Served, folder: Path) -> None:
    (folder / "people.parquet").unlink()

    asked = served.ask("foretell", {"world": "world.gpkg", "epsilon": "3", "points": 2000}).json()
    found = served.wait(asked["work"])

    assert found["state"] == "done", found
    assert [one["epsilon"] for one in found["result"]["forecasts"]] == ["1/4", "1/2", "1", "2", "3", "4"]
    assert asked["words"]["shell"] == "pointveil plan --world=world.gpkg --points-about=2000 --epsilon=1/4,1/2,1,2,3,4"


def test_a_forecast_takes_off_what_columns_cost(served: Served) -> None:
    kept = {"keep": [{"name": "kind", "kind": "category", "text": "a,b"}]}
    asked = {"world": "world.gpkg", "epsilon": "1", "persons": 500, "per_person": 4, "max_points": 2}

    found = [served.wait(served.ask("foretell", asked | more).json()["work"]) for more in ({}, kept)]

    errors = [[one["count_error"] for one in piece["result"]["forecasts"]] for piece in found]
    assert len(errors[0]) == 5  # by epsilon, and for this number of points alone
    assert sum(errors[1]) > sum(errors[0])


def test_a_certificate_is_given_for_a_release_that_verifies(served: Served, folder: Path) -> None:
    press(served, ORDER, "1")
    assert "epsilon" in served.ask("certificate", {"output": "s.parquet"}).json()["page"]

    (folder / "s.parquet").write_bytes((folder / "s.parquet").read_bytes() + b"x")

    assert served.ask("certificate", {"output": "s.parquet"}).status == 400


def test_a_release_that_would_be_noise_is_stopped_and_said_so(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pointveil.releases.is_noise", lambda _: True)

    stopped = press(served, ORDER, "1")

    assert stopped["state"] == "failed"
    assert "Stopped" in stopped["error"]
    assert "the rest was given back" in stopped["error"]
    assert press(served, ORDER | {"small": True}, "1")["state"] == "done"


def test_an_error_tells_what_was_charged(served: Served) -> None:
    served.desk.ledger.set_cap("people.parquet", "0.5")

    answer = served.ask("release", {"order": ORDER, "price": "1"})
    failed = served.wait(answer.json()["work"]) if answer.status == 200 else {"error": answer.json()["error"]}

    assert "Nothing was charged" in failed["error"]


def test_of_data_only_names_and_types_are_told(served: Served, folder: Path) -> None:
    table = pa.table({"lon": [10.0012345] * 77, "lat": [50.0054321] * 77, "<script>alert(1)</script>": ["Ann"] * 77})
    pq.write_table(table, folder / "few.parquet")

    told = served.ask("columns", {"data": "few.parquet"})

    assert [column["name"] for column in told.json()["columns"]] == ["<script>alert(1)</script>"]
    assert all(word not in told.text for word in ("10.0012345", "50.0054321", "77", "Ann", "bytes"))


def test_the_list_of_files_has_no_size(served: Served, folder: Path) -> None:
    before = served.ask("files").text
    (folder / "people.parquet").write_bytes(b"x" * 12345)

    assert served.ask("files").text == before


def test_values_to_keep_are_not_read_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("root\n")

    for name, text in (("kind", f"@{tmp_path}/secret"), ("kind", f" @{tmp_path}/secret")):
        with pytest.raises(InputError, match="themselves"):
            Keep(name=name, kind="category", text=text).column()
    odd = Keep(name=f"a=category:@{tmp_path}/secret;x", kind="category", text="bus,tram").column()
    assert odd == pv.Category(f"a=category:@{tmp_path}/secret;x", ("bus", "tram"))


def test_an_order_with_anything_more_is_refused(served: Served) -> None:
    for more in ({"ledger": None}, {"noise": "none"}, {"force": True}, {"request": "mine"}, {"seed": 1}):
        assert served.ask("quote", {"order": ORDER | more}).status == 400


def test_a_world_is_made_of_bounds_and_layers(served: Served, folder: Path) -> None:
    asked = {"output": "new.gpkg", "bounds": [10.0, 50.0, 10.02, 50.012]}

    made = served.ask("make-world", asked)

    assert made.status == 200, made.text
    assert pv.World.read(folder / "new.gpkg").boundary.bounds == (10.0, 50.0, 10.02, 50.012)
    assert made.json()["words"]["shell"] == "pointveil world new.gpkg --bounds=10,50,10.02,50.012"
    assert served.ask("make-world", asked).status == 400  # it is never replaced
    shown = served.ask("world", {"world": "new.gpkg"}).json()["about"]
    assert shown.endswith("in EPSG:4326, around 50.006° N, 10.010° E, in or near Germany")


CORNERS = [[10.0, 50.0], [10.02, 50.001], [10.015, 50.012], [10.003, 50.009]]


def test_a_world_is_made_of_corners_and_the_words_make_the_same(
    served: Served, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = served.ask("make-world", {"output": "new.gpkg", "corners": CORNERS})

    assert made.status == 200, made.text
    drawn = pv.World.read(folder / "new.gpkg")
    assert shapely.equals(drawn.boundary, shapely.Polygon(CORNERS))
    monkeypatch.chdir(folder)
    runs: dict[str, Callable[[str], object]] = {"shell": _shell, "python": lambda text: exec(text, {})}  # noqa: S102
    for words, run in runs.items():
        (folder / "new.gpkg").unlink()
        run(made.json()["words"][words])
        assert pv.World.read(folder / "new.gpkg") == drawn


@pytest.mark.parametrize(
    "shape",
    [
        {},
        {"corners": CORNERS[:2]},
        {"corners": CORNERS, "bounds": [10, 50, 11, 51]},
        {"corners": CORNERS, "crs": "EPSG:3067"},
        {"corners": [[10, 50], [11, 51], [12, 52]]},  # no area
        {"corners": [[10, 50], [10, 95], [10.01, 50]]},  # off the globe
        {"corners": [[0, 0]] * 5001},
        {"bounds": [10, 50, 1e999, 51]},
        {"bounds": ["nan", 50, 11, 51]},
    ],
)
def test_a_boundary_that_is_none_is_refused_and_leaves_no_file(served: Served, folder: Path, shape: Any) -> None:
    answer = served.ask("make-world", {"output": "new.gpkg", **shape})

    assert answer.status == 400
    assert not {path.name for path in folder.glob("new*")}


def test_looking_beside_the_real_points_gives_the_reports_own_maps(served: Served) -> None:
    press(served, ORDER, "1")

    looked = served.wait(served.ask("look", {"order": ORDER}).json()["work"])

    assert looked["state"] == "done", looked
    assert set(looked["result"]["layers"]) == {"real", "synthetic"}


def test_the_command_line_and_the_python_make_the_same_release(
    served: Served, folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    order = ORDER | {"columns": ["lon", "lat"], "crs": "EPSG:4326", "person": "name", "max_points": 2, "small": True}
    words = served.ask("quote", {"order": order}).json()["words"]
    press(served, order, "1")
    first = (folder / "s.parquet").read_bytes()
    monkeypatch.chdir(folder)
    data_home = tmp_path / "home" / "pointveil"
    data_home.mkdir(parents=True)
    os.link(served.desk.ledger.path, data_home / "ledger.db")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))

    runs: dict[str, Callable[[], object]] = {
        "shell": lambda: _shell(words["shell"]),
        "python": lambda: exec(words["python"], {}),  # noqa: S102 - our own words
    }
    for run in runs.values():
        for name in ("s.parquet", "s.parquet.statement.json"):
            (folder / name).unlink()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", pv.PointveilWarning)  # that it was answered before
            run()
        assert (folder / "s.parquet").read_bytes() == first
    assert spent(served) == ["1"]


def _shell(line: str) -> None:
    name, *arguments = shlex.split(line)
    assert name == "pointveil"
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code in {0, None}
