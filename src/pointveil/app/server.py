"""Serve the page on 127.0.0.1, to the owner's browser alone."""

import atexit
import json
import socket
import threading
import webbrowser
from collections.abc import Callable
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from pointveil.app.desk import ACTIONS, Desk
from pointveil.app.folder import Folder
from pointveil.app.gate import LIFE, Gate, Guarded, Opening
from pointveil.app.orders import form_of
from pointveil.app.work import told
from pointveil.errors import InputError, PointveilError, missing_extra
from pointveil.evaluation.report.pages import ASSETS as REPORT

ASSETS = files("pointveil.app") / "assets"
STATIC = {
    **dict.fromkeys(("enter.js", "app.js", "sketch.js", "app.css"), ASSETS),
    "outline.json": ASSETS,  # coasts and borders of Natural Earth, in the public domain
    **dict.fromkeys(("maps.js", "charts.js", "page.js", "page.css"), REPORT),  # the report's own, shared with the page
}
KINDS = {".js": "text/javascript", ".css": "text/css", ".json": "application/json"}
DOWNLOAD = "application/octet-stream"


def application(desk: Desk, gate: Gate) -> Any:
    """Return the server as an ASGI application."""
    try:
        from starlette.applications import Starlette
        from starlette.concurrency import run_in_threadpool
        from starlette.requests import Request
        from starlette.responses import FileResponse, JSONResponse, Response
        from starlette.routing import Route
    except ImportError:
        raise missing_extra("app", "starlette") from None

    async def page(request: Request) -> Response:
        if "token" not in request.query_params:
            return Response((ASSETS / "app.html").read_text(encoding="utf-8"), media_type="text/html")
        text = (ASSETS / "enter.html").read_text(encoding="utf-8").replace("@@SECRET@@", escape(gate.secret))
        answer = Response(text, media_type="text/html")
        answer.set_cookie(gate.cookie_name, gate.cookie, httponly=True, samesite="strict", path="/")
        return answer

    async def asset(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in STATIC:
            return Response("There is nothing here.", status_code=404, media_type="text/plain")
        return Response((STATIC[name] / name).read_bytes(), media_type=KINDS[Path(name).suffix])

    async def action(request: Request) -> Response:
        do = ACTIONS.get(request.path_params["name"])
        if do is None:
            return JSONResponse({"error": "There is no such action."}, status_code=404)
        try:
            asked = form_of(do).model_validate_json(await request.body())
            answer = await run_in_threadpool(do, desk, **dict(asked))
        except ValidationError as fault:
            return JSONResponse({"error": _plain(fault)}, status_code=400)
        except (PointveilError, OSError) as fault:
            return JSONResponse({"error": told(fault)}, status_code=400)
        except Exception as fault:  # noqa: BLE001 - a traceback in a log might quote a real point
            return JSONResponse({"error": told(fault)}, status_code=500)
        if isinstance(answer, Path):
            return FileResponse(answer, media_type=DOWNLOAD)
        return Response(json.dumps(answer, allow_nan=False), media_type="application/json")

    routes = [
        Route("/", page),
        Route("/assets/{name}", asset),
        Route("/api/{name}", action, methods=["POST"]),
    ]
    return Guarded(Starlette(routes=routes), gate)


def _plain(fault: ValidationError) -> str:
    """Say what was wrong with settings."""
    first = fault.errors(include_url=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    return f"{place}: {first['msg']}." if place else f"{first['msg']}."


def listen(port: int) -> socket.socket:
    """Return a socket on 127.0.0.1 alone; with port 0 the system chooses one that is free."""
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    # On Windows, the same option would let another user's server take the port over.
    alone = getattr(socket, "SO_EXCLUSIVEADDRUSE", socket.SO_REUSEADDR)
    made.setsockopt(socket.SOL_SOCKET, alone, 1)
    try:
        made.bind(("127.0.0.1", port))
        made.listen()  # at once: a browser may be at the door before the server is ready
    except (OSError, OverflowError):
        made.close()
        raise InputError(f"Port {port} cannot be used. Leave --port out, and a free one is taken.") from None
    return made


def serve(data: Path, *, port: int, browser: bool, tell: Callable[[str], None], asked: Callable[[], bool]) -> None:
    """Serve the folder `data` until stopped, on a port (0 for any).

    `tell` shows a line to the owner; `asked` waits until they ask for a new link, and is False if that can never be.
    """
    try:
        import uvicorn
    except ImportError:
        raise missing_extra("app", "uvicorn") from None
    desk = Desk(Folder.open(data))
    with listen(port) as door:
        gate = Gate(door.getsockname()[1])
        config = uvicorn.Config(
            application(desk, gate), log_config=None, access_log=False, server_header=False, ws="none", lifespan="off",
            limit_concurrency=64, timeout_graceful_shutdown=2,
        )  # fmt: skip
        threading.Thread(target=_let_in, args=(gate, tell, asked), kwargs={"browser": browser}, daemon=True).start()
        try:
            uvicorn.Server(config).run(sockets=[door])
        finally:
            desk.works.end()


def _let_in(gate: Gate, tell: Callable[[str], None], asked: Callable[[], bool], *, browser: bool) -> None:
    """Show a link and open a browser, now and whenever the owner asks again."""
    while True:
        link = gate.new_link()
        tell(f"Open within a minute, once: {link}")
        if browser:
            opening = Opening(link)
            atexit.register(opening.remove)
            webbrowser.open(opening.path.as_uri())
            remover = threading.Timer(LIFE, opening.remove)
            remover.daemon = True
            remover.start()
        if not asked():
            return
