"""Let in the owner's own tab, and nobody else: not another user, another port, or a page from the web."""

import hmac
import os
import secrets
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

LIFE = 60.0  # seconds that a token can be used
MOST_BYTES = 1 << 20  # of what a page may send: settings, never a file
SECRET = "x-pointveil-secret"  # noqa: S105 - the name of the header that carries it
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "cache-control": "no-store",  # of everything: what holds real points is then never forgotten
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
OPENING = """<!doctype html>
<meta charset="utf-8"><meta name="referrer" content="no-referrer"><title>Pointveil</title>
<meta http-equiv="refresh" content="0; url={link}">
<p><a href="{link}">Open Pointveil</a></p>
"""

Receive = Callable[[], Any]
Send = Callable[[Any], Any]


@dataclass
class Gate:
    """The keys of one server, which live as long as it does.

    A token opens the door once, within a minute, and is traded for two things: a cookie, and a secret that the page
    keeps in its `sessionStorage`. A browser sends a cookie to every port of a host, so whoever runs another server on
    this machine may see it; storage belongs to one port, so the secret is what counts.
    """

    port: int  # where the server listens, on 127.0.0.1 and nowhere else
    clock: Callable[[], float] = time.monotonic  # seconds; another for tests that cannot wait a minute
    cookie: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    secret: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    _tokens: dict[str, float] = field(default_factory=dict, repr=False)  # until when each may be used

    @property
    def origin(self) -> str:
        """Scheme, host and port of the server."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def cookie_name(self) -> str:
        """A name of its own for each port: two servers do not lock each other out."""
        return f"pointveil-{self.port}"

    def new_link(self) -> str:
        """Return an address that opens the page, once, within a minute."""
        token = secrets.token_urlsafe(32)
        self._tokens[token] = self.clock() + LIFE
        return f"{self.origin}/?token={token}"

    def redeem(self, token: str) -> bool:
        """Say whether a token opens the door; it never does again."""
        now = self.clock()
        self._tokens = {known: until for known, until in self._tokens.items() if until > now}
        found = [known for known in self._tokens if hmac.compare_digest(known.encode(), token.encode())]
        for known in found:
            del self._tokens[known]
        return bool(found)

    def knows_cookie(self, cookies: str) -> bool:
        """Say whether the cookie is among those that a browser sent."""
        wanted = f"{self.cookie_name}={self.cookie}".encode()
        return any(hmac.compare_digest(one.strip().encode(), wanted) for one in cookies.split(";"))

    def refusal(self, method: str, path: str, headers: dict[str, str], *, token: str | None) -> tuple[int, str] | None:
        """Return the status and the reason why a request may not pass, or nothing if it may."""
        # A page from the web that renames itself to 127.0.0.1 still says its own name here (DNS rebinding).
        if headers.get("host") != f"127.0.0.1:{self.port}":
            return 403, f"Open {self.origin} itself: no other name leads here."
        origin, action = headers.get("origin"), path.startswith("/api/")
        if (origin is not None or action) and origin != self.origin:
            return 403, "This request comes from another page."
        if path != "/" and headers.get("sec-fetch-site", "same-origin") != "same-origin":
            return 403, "This request comes from another page."
        if method not in ({"POST"} if action else {"GET", "HEAD"}):
            return 405, "This cannot be done here."
        if path == "/" and token is not None:
            allowed = method == "GET" and self.redeem(token)
            return None if allowed else (403, "This link was used before, or is older than a minute.")
        if not self.knows_cookie(headers.get("cookie", "")):
            return 401, "Open the page by the link that 'pointveil app' printed."
        if action and not hmac.compare_digest(headers.get(SECRET, "").encode(), self.secret.encode()):
            return 403, "This tab has no key. Open the page by a new link: press Enter where 'pointveil app' runs."
        length = headers.get("content-length", "")
        measured = length.isascii() and length.isdigit() and "transfer-encoding" not in headers
        if action and not (measured and int(length) <= MOST_BYTES):
            return 413, "A page sends settings, which are short."
        return None


@dataclass(frozen=True)
class Guarded:
    """An ASGI application behind a gate: every answer is marked, and no error tells what went wrong inside."""

    inner: Callable[[Any, Receive, Send], Any]
    gate: Gate

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        begun: list[bool] = []

        async def marked(message: Any) -> None:
            if message["type"] == "http.response.start":
                begun.append(True)
                added = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message = {**message, "headers": [*message.get("headers", ()), *added]}
            await send(message)

        refused = self._refusal(scope)
        try:
            if refused is None:
                await self.inner(scope, receive, marked)
        except Exception as fault:  # noqa: BLE001 - its text, or its traceback in a log, might quote a real point
            refused = 500, f"This is a bug in Pointveil ({type(fault).__name__})."
        if refused is not None and not begun:
            await _say(marked, *refused)

    def _refusal(self, scope: Any) -> tuple[int, str] | None:
        headers: dict[str, str] = {}
        for raw, value in scope["headers"]:
            name = raw.decode("latin-1")
            if name in headers and name != "cookie":
                return 400, "A header was sent twice."
            joined = "; ".join(filter(None, (headers.get(name), value.decode("latin-1"))))
            headers[name] = joined
        query = scope["query_string"].decode("latin-1")
        token = query.removeprefix("token=") if query.startswith("token=") else None
        return self.gate.refusal(scope["method"], scope["path"], headers, token=token)


async def _say(send: Send, status: int, reason: str) -> None:
    """Answer with a plain sentence."""
    content = [(b"content-type", b"text/plain; charset=utf-8")]
    await send({"type": "http.response.start", "status": status, "headers": content})
    await send({"type": "http.response.body", "body": reason.encode()})


class Opening:
    """A file that only this user can read, and that leads a browser to the page.

    What a browser is told to open stands in the list of processes, for every user of the machine to read: so it is
    told the name of this file, and not the token.
    """

    def __init__(self, link: str) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="pointveil-"))  # readable by this user alone
        self.path = self.folder / "open.html"
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(OPENING.format(link=escape(link)))

    def remove(self) -> None:
        """Take the file away."""
        self.path.unlink(missing_ok=True)
        with suppress(OSError):
            self.folder.rmdir()
