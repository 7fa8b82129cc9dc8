"""Thieves at the door: each tries one way in, and none gets anything."""

import logging
import os
import re
import socket
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from tests.app.conftest import Served

from pointveil.app.gate import LIFE, SECRET, Opening
from pointveil.app.server import listen
from pointveil.errors import InputError

PATHS = ("/", "/assets/app.js", "/assets/maps.js", "/nothing", "/api/files", "/docs", "/openapi.json")
PRIVATE = ("people", "world.gpkg", "outside")


def token_of(link: str) -> str:
    return link.split("token=")[1]


# Without keys


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("method", ["GET", "POST", "HEAD", "OPTIONS", "PUT", "DELETE"])
def test_without_keys_no_path_answers(served: Served, path: str, method: str) -> None:
    answer = served.send(method, path)

    assert answer.status in {401, 403, 405}
    assert not any(word in answer.text for word in PRIVATE)


def test_the_server_listens_on_loopback_alone(served: Served) -> None:
    listening = Path("/proc/net/tcp").read_text() + Path("/proc/net/tcp6").read_text()

    found = re.findall(rf"\s([0-9A-F]+):{served.gate.port:04X} [0-9A-F]+:0000 0A", listening)

    assert found == ["0100007F"]


@pytest.mark.parametrize(
    "path",
    [
        *(
            "/assets/../desk.py",
            "/assets/%2e%2e/desk.py",
            "/assets/..%2fdesk.py",
            "/assets//etc/passwd",
            "//etc/passwd",
        ),
        *("/assets/enter.html", "/assets/app.html", "/assets/", "/api/../api/files", "/%61pi/files", "//api/files"),
    ],
)
def test_with_the_cookie_no_path_leads_to_another_file(served: Served, path: str) -> None:
    answer = served.send("GET", path, headers=served.cookie)

    assert answer.status in {404, 405, 403}
    assert not any(word in answer.text for word in (*PRIVATE, "root:", "import ", "<html"))


def test_who_comes_before_the_server_is_ready_is_not_turned_away() -> None:
    with listen(0) as door:
        socket.create_connection(door.getsockname(), timeout=5).close()


def test_a_port_that_is_taken_is_told(served: Served) -> None:
    with pytest.raises(InputError, match="Leave --port out"):
        listen(served.gate.port)


# The token


def test_a_token_is_traded_once_for_a_cookie_and_a_secret(served: Served) -> None:
    link = served.gate.new_link()

    first, second = (served.send("GET", link.removeprefix(served.gate.origin)) for _ in range(2))

    assert first.status == 200
    assert served.gate.secret in first.text
    cookie = first.headers["set-cookie"]
    assert served.gate.cookie in cookie
    assert {"httponly", "samesite=strict", "path=/"} <= {part.strip().lower() for part in cookie.split(";")}
    assert second.status == 403
    assert "set-cookie" not in second.headers
    assert served.gate.secret not in second.text


def test_a_token_ends_after_a_minute(served: Served) -> None:
    link = served.gate.new_link()
    served.clock.now += LIFE + 0.1

    assert served.send("GET", link.removeprefix(served.gate.origin)).status == 403


def test_a_token_lives_for_the_minute(served: Served) -> None:
    link = served.gate.new_link()
    served.clock.now += LIFE - 0.1

    assert served.send("GET", link.removeprefix(served.gate.origin)).status == 200


@pytest.mark.parametrize("token", ["", "x", "%00", "é".encode().hex(), "../", "token", "0" * 43])
def test_a_wrong_token_opens_nothing_even_with_the_cookie(served: Served, token: str) -> None:
    served.gate.new_link()

    answer = served.send("GET", f"/?token={token}", headers=served.cookie)

    assert answer.status == 403
    assert served.gate.secret not in answer.text


def test_a_part_of_a_token_opens_nothing(served: Served) -> None:
    token = token_of(served.gate.new_link())

    assert served.send("GET", f"/?token={token[:-1]}").status == 403
    assert served.send("GET", f"/?token={token}&more=1").status == 403
    assert served.send("GET", f"/?token={token}").status == 200


# A thief on another port, who was sent the cookie by the browser


def test_the_cookie_alone_opens_no_action_and_shows_no_secret(served: Served) -> None:
    thief = {**served.cookie, "Origin": served.gate.origin}

    page, action = served.send("GET", "/", headers=served.cookie), served.ask("files", headers=thief)

    assert page.status == 200
    assert served.gate.secret not in page.text
    assert "set-cookie" not in page.headers
    assert action.status == 403
    assert not any(word in action.text for word in PRIVATE)


@pytest.mark.parametrize("secret", ["", "x", "é"])
def test_a_wrong_secret_opens_nothing(served: Served, secret: str) -> None:
    headers = {**served.keys, SECRET: secret.encode("utf-8").decode("latin-1")}

    assert served.ask("files", headers=headers).status == 403


def test_the_secret_alone_opens_nothing(served: Served) -> None:
    headers = {name: value for name, value in served.keys.items() if name != "Cookie"}

    assert served.ask("files", headers=headers).status == 401


def test_the_owners_tab_gets_in(served: Served) -> None:
    answer = served.ask("files")

    assert answer.status == 200
    assert answer.json()["worlds"] == ["world.gpkg"]


# A page from the web in the same browser


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "localhost:{port}", "127.0.0.1", "[::1]:{port}", ""]
)
def test_another_name_for_the_host_is_refused(served: Served, host: str) -> None:
    headers = {**served.keys, "Host": host.format(port=served.gate.port)}

    assert served.ask("files", headers=headers).status == 403
    link = served.gate.new_link().removeprefix(served.gate.origin)
    refused = served.send("GET", link, headers={"Host": headers["Host"]})
    assert refused.status == 403
    assert served.send("GET", link).status == 200  # a refused request does not use up the token


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "null",
        "http://127.0.0.1:1",
        "https://127.0.0.1:{port}",
        "http://localhost:{port}",
        "file://",
    ],
)
def test_a_foreign_origin_is_refused(served: Served, origin: str) -> None:
    headers = {**served.keys, "Origin": origin.format(port=served.gate.port)}

    assert served.ask("files", headers=headers).status == 403
    assert served.send("GET", "/", headers={**served.cookie, "Origin": headers["Origin"]}).status == 403


def test_an_action_without_an_origin_is_refused(served: Served) -> None:
    headers = {name: value for name, value in served.keys.items() if name != "Origin"}

    assert served.ask("files", headers=headers).status == 403


@pytest.mark.parametrize("site", ["same-site", "cross-site", "none"])
def test_what_the_browser_calls_another_site_is_refused(served: Served, site: str) -> None:
    assert served.ask("files", headers={**served.keys, "Sec-Fetch-Site": site}).status == 403
    assert served.send("GET", "/assets/app.js", headers={**served.cookie, "Sec-Fetch-Site": site}).status == 403


def test_no_other_page_is_allowed_to_read_an_answer(served: Served) -> None:
    asked = {"Origin": "http://evil.example", "Access-Control-Request-Method": "POST"}

    answers = [served.send("OPTIONS", "/api/files", headers=asked), served.ask("files"), served.send("GET", "/")]

    assert not any(name.startswith("access-control") for answer in answers for name in answer.headers)


# Every answer


@pytest.mark.parametrize("path", ["/", "/assets/app.js", "/nothing", "/api/files", "/api/work"])
def test_every_answer_is_marked(served: Served, path: str) -> None:
    for headers in ({}, served.cookie, served.keys):
        action = path.startswith("/api/") and headers
        answer = served.send(
            "POST" if action else "GET", path, headers=headers, body=b'{"work": "x"}' if action else b""
        )

        assert answer.headers["cache-control"] == "no-store"
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_the_pages_have_no_script_of_their_own_and_nothing_from_the_network(served: Served) -> None:
    pages = [
        served.send("GET", served.gate.new_link().removeprefix(served.gate.origin)).text,
        served.send("GET", "/", headers=served.cookie).text,
    ]
    scripts = [
        served.send("GET", f"/assets/{name}", headers=served.cookie).text for name in ("app.js", "app.css", "page.css")
    ]

    for page in pages:
        assert not re.search(r"<script(?![^>]*src=)|\son\w+=|javascript:|style=", page)
        assert all(link.startswith(("/assets/", "#", "data:,")) for link in re.findall(r'(?:src|href)="([^"]*)"', page))
    assert not any(re.search(r"https?://|innerHTML|\beval\(|document\.write", script) for script in scripts)


def test_what_is_too_long_is_refused(served: Served) -> None:
    long = {**served.keys, "Content-Length": str(10**9)}

    assert served.send("POST", "/api/files", headers=long).status == 413
    both = {**served.keys, "Transfer-Encoding": "chunked", "Content-Length": "2"}
    for headers in (both, {**served.keys, "Transfer-Encoding": "chunked"}):
        assert served.send("POST", "/api/files", headers=headers).status in {400, 413}


def test_a_header_sent_twice_is_refused(served: Served) -> None:
    with socket.create_connection(("127.0.0.1", served.gate.port)) as link:
        lines = ["POST /api/files HTTP/1.1", f"Host: 127.0.0.1:{served.gate.port}", "Content-Length: 2"]
        lines += [f"{name}: {value}" for name, value in served.keys.items()]
        link.sendall(
            ("\r\n".join([*lines, "Origin: http://evil.example", "Connection: close"]) + "\r\n\r\n{}").encode()
        )

        assert b" 400 " in link.recv(100)


# Another user of the machine


def test_the_file_that_opens_the_browser_is_for_this_user_alone() -> None:
    before = os.umask(0)
    try:
        opening = Opening("http://127.0.0.1:1/?token=abc")
    finally:
        os.umask(before)

    assert stat.S_IMODE(opening.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(opening.folder.stat().st_mode) == 0o700
    assert "token=abc" in opening.path.read_text()
    opening.remove()
    assert not opening.folder.exists()


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="needs /proc")
def test_the_token_is_in_no_list_of_processes(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("uvicorn", reason="needs the extra app")
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/opened\nexec sleep 20\n')
    browser.chmod(0o700)
    environment = {**os.environ, "BROWSER": f"{browser} %s &", "XDG_DATA_HOME": str(tmp_path), "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-c", "from pointveil.cli import main; main()", "app", "--data", str(folder)]
    server = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
    assert server.stderr is not None
    try:
        link = next(line for line in server.stderr if "token=" in line).split()[-1]
        for _ in range(200):
            if (tmp_path / "opened").exists() and (tmp_path / "opened").read_text().strip():
                break
            threading.Event().wait(0.05)

        opened = (tmp_path / "opened").read_text()
        assert opened.startswith("file://")
        assert token_of(link) not in opened
        for process in Path("/proc").glob("[0-9]*"):
            for name in ("cmdline", "environ"):
                try:
                    assert token_of(link).encode() not in (process / name).read_bytes()
                except OSError:
                    continue
        assert token_of(link) in Path(opened.strip().removeprefix("file://")).read_text()
    finally:
        server.terminate()
        server.wait(20)
        server.stderr.close()


# Logs


def test_an_unforeseen_error_tells_nothing(
    served: Served, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    from pointveil.app import desk

    def fail(*_: object) -> None:
        raise RuntimeError("a record at 10.0012345, 50.0054321")

    monkeypatch.setitem(desk.ACTIONS, "files", fail)
    with caplog.at_level(logging.DEBUG):
        answer = served.ask("files")

    assert answer.status == 500
    assert answer.json() == {"error": "This is a bug in Pointveil (RuntimeError)."}
    said = capfd.readouterr()
    assert "10.0012345" not in said.out + said.err + caplog.text
