"""The command line, a file for each command: handed options and the names of files, never a record."""

import atexit
import gc
import importlib
import inspect
import os
import re
import sys
from importlib.metadata import entry_points
from pathlib import Path

import typer

from pointveil.errors import BudgetError, PointveilError, StoppedError, VerificationError, shown
from pointveil.files.memory import keep_memory
from pointveil.plugins import GROUP
from pointveil.version import __version__

app = typer.Typer(
    name="pointveil",
    help="Turn a private file of people's locations into a synthetic one, with a differential-privacy guarantee.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,  # a traceback with values in it could show a real point
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)

COMMANDS = (
    *("demo", "world", "methods", "plan", "schema", "check", "synthesize", "survey", "draw", "table"),
    *("verify", "certificate", "keys", "ledger"),
    *("audit", "evaluate", "experiment", "app"),
)
MODULES = {"app": "page"}  # a module called app would hide the name above
FRAMELESS = {"synthesize", "survey", "draw", "verify"}  # commands that no library of frames is needed for
EXIT_CODES = ((BudgetError, 3), (VerificationError, 4), (StoppedError, 5), (PointveilError, 2))

for _command in COMMANDS:
    _module = importlib.import_module(f"pointveil.cli.{MODULES.get(_command, _command)}")
    if hasattr(_module, "commands"):
        app.add_typer(_module.commands, name=_command)
    else:
        _run = getattr(_module, _command)
        # Paragraphs as wide as the terminal, not as the source.
        app.command(help=re.sub(r"(?<!\n)\n(?!\n)", " ", inspect.getdoc(_run) or ""))(_run)


@app.callback(invoke_without_command=True)
def options(version: bool = typer.Option(False, "--version", help="Print the version and exit.")) -> None:
    """Turn a private file of people's locations into a synthetic one, with a differential-privacy guarantee."""
    if version:
        typer.echo(f"pointveil {__version__}")
        raise typer.Exit


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; ends with 0, or with 1 (fault), 2 (input or disk), 3 (budget), 4 (verify), 5 (stopped)."""
    if arguments is None:  # a process of our own
        start_fast(sys.argv[1:])
    try:
        app(arguments)
    except PointveilError as fault:
        _stop(str(fault), next(code for kind, code in EXIT_CODES if isinstance(fault, kind)), fault)
    except OSError as fault:
        # Its own text, and a number that is none, may quote what was being read; the name of a file does not.
        where = f" ({Path(os.fsdecode(fault.filename)).name})" if isinstance(fault.filename, str | bytes) else ""
        why = os.strerror(fault.errno) if isinstance(fault.errno, int) else type(fault).__name__
        _stop(f"A file or disk could not be used: {why}{where}.", 2, fault)
    except MemoryError as fault:
        _stop("There is not enough memory.", 1, fault)
    except Exception as fault:
        if os.environ.get("POINTVEIL_DEBUG"):
            raise
        # The text of an unforeseen fault may quote a real point, so it is not shown.
        _stop(f"This is a bug in Pointveil ({type(fault).__name__}). POINTVEIL_DEBUG=1 shows where.", 1, fault)


def start_fast(words: list[str]) -> None:
    """Let a process of our own load what these words ask for, and no more."""
    gc.set_threshold(50_000)  # loading a library makes many objects, and hardly any to throw away
    atexit.register(gc.freeze)  # at the end all goes anyway: nothing needs to be looked through
    # The threads of linear algebra would wait for work in a loop: there is little of it, and ours work side by side.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    keep_memory()
    # The system may look long for large pages, and to fill small ones takes no longer.
    os.environ.setdefault("NUMPY_MADVISE_HUGEPAGE", "0")
    # Where they are installed, pyogrio and pyarrow load libraries of frames for the use of others, which takes a third
    # of the start. A plug-in may be such another, and Spark is one.
    alone = words[:1] and words[0] in FRAMELESS and not any(word.startswith("--engine") for word in words)
    if alone and not entry_points(group=GROUP):
        sys.meta_path.insert(0, WithoutFrames())


class WithoutFrames:
    """Says to whoever tries to import a library of frames that there is none."""

    @staticmethod
    def find_spec(name: str, *_: object) -> None:
        """Find nothing, and look no further for these."""
        if name in {"geopandas", "pandas"}:
            raise ModuleNotFoundError(f"{name} is not needed here", name=name)


def _stop(message: str, code: int, fault: BaseException) -> None:
    """Print what went wrong, and what was noted to it: what was charged."""
    print("Error:", shown(" ".join((message, *getattr(fault, "__notes__", ())))), file=sys.stderr)
    sys.exit(code)
