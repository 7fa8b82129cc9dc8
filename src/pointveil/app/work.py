"""Do long work one piece after the other, and say how far it is; the same piece is never done twice at once."""

import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Literal

from pointveil.errors import PointveilError
from pointveil.quiet import collect

Tell = Callable[[str], None]
log = logging.getLogger("pointveil")


@dataclass
class Piece:
    """One piece of work."""

    state: Literal["waiting", "running", "done", "failed"] = "waiting"
    steps: list[str] = field(default_factory=list)  # what was done so far, and last what is being done
    warnings: list[str] = field(default_factory=list)
    result: dict[str, Any] | None = None
    error: str = ""

    def tell(self, step: str) -> None:
        """Say what is being done: nothing about the data."""
        self.steps = [*self.steps, step]

    def to_dict(self) -> dict[str, Any]:
        """Return what a page may know."""
        return dict(vars(self))


class Works:
    """All pieces of work of a server, by name."""

    def __init__(self) -> None:
        self._pieces: dict[str, Piece] = {}
        self._lock = threading.Lock()
        self._hands = ThreadPoolExecutor(max_workers=1)

    def start(self, name: str, do: Callable[[Tell], dict[str, Any]], *, anew: bool = False) -> Piece:
        """Start a piece, or return the one of this name that is under way or done; one that failed is tried again."""
        with self._lock:
            known = self._pieces.get(name)
            if known is not None and (known.state in {"waiting", "running"} or (known.state == "done" and not anew)):
                return known
            piece = self._pieces[name] = Piece()
            self._hands.submit(_run, piece, do)
            return piece

    def find(self, name: str) -> Piece | None:
        """Return the piece of this name."""
        return self._pieces.get(name)

    def end(self) -> None:
        """Finish what is under way and begin nothing more."""
        self._hands.shutdown(cancel_futures=True)


def _run(piece: Piece, do: Callable[[Tell], dict[str, Any]]) -> None:
    steps, here = logging.Handler(), threading.get_ident()
    steps.addFilter(lambda record: record.thread == here)
    steps.emit = lambda record: piece.tell(record.getMessage())  # type: ignore[method-assign]
    log.setLevel(logging.INFO)
    log.addHandler(steps)
    piece.state = "running"
    try:
        with collect() as said:
            piece.result = do(piece.tell)
        piece.warnings = said
        piece.state = "done"
    except BaseException as fault:  # noqa: BLE001 - the page is told, and the server goes on
        piece.error = told(fault)
        piece.state = "failed"
    finally:
        log.removeHandler(steps)


def told(fault: BaseException) -> str:
    """Return what may be said of an error: the text of an unforeseen one may quote a real point."""
    known = isinstance(fault, PointveilError)
    text = str(fault) if known else f"This is a bug in Pointveil ({type(fault).__name__})."
    if isinstance(fault, OSError) and not known:
        text = f"{fault.strerror or type(fault).__name__}."
    return " ".join((text, *getattr(fault, "__notes__", ())))
