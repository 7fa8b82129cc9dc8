"""Break a small release at each of its system calls, run it again, and look at what is left.

Every trial is a fork of one process that has imported everything, with strace attached: it kills the fork, or lets one
call fail. `python -m tests.crash.laboratory` lets every call that touches a file fail; those that change nothing are
not tried with KILL and ENOSPC: the files are then as at the next that does. `--part` tries only some that change one.
"""

import argparse
import contextlib
import ctypes
import errno
import importlib
import itertools
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CHANGING = (
    *("write", "pwrite64", "writev", "pwritev", "ftruncate", "fallocate", "fsync", "fdatasync", "sync_file_range"),
    *("rename", "renameat", "renameat2", "link", "linkat", "unlink", "unlinkat", "mkdir", "mkdirat", "rmdir"),
    *("fchmod", "fchown", "copy_file_range", "sendfile"),
)
# Opening may make a file; a lock comes before changes in memory that processes share.
MAYBE_CHANGING = (*CHANGING, "open", "openat", "creat", "mmap", "flock")
# What changes nothing that the next call does not find: the owner stays who it is. Not so fdatasync, after which SQLite
# writes to memory that processes share.
KEEPING = ("fsync", "fchown")
SHARED = "ledger.db-shm"
FILES = ("people.csv", "other.csv", "world.gpkg")
OUTPUT = "out.csv"
STATEMENT = f"{OUTPUT}.statement.json"
WANTED = {*FILES, OUTPUT, STATEMENT, "ledger.db", "home", "cache", "tmp"}
MESSAGES = "said.txt"
CODE = (".py", ".pyc", ".so")
PATIENCE = 60  # seconds; a run that takes longer hangs
TRACER_ANY = (0x59616D61, ctypes.c_ulong(-1))


class CannotTraceError(Exception):
    """No process may be traced here; the text says why."""


@dataclass(frozen=True)
class Call:
    """The n-th call of its kind in a release, and the file it is about."""

    name: str
    number: int
    file: str
    in_temporary: bool = False

    def __str__(self) -> str:
        return f"{self.name} {self.number} ({self.file})"


@dataclass(frozen=True)
class Fault:
    """What happens at a call: the process is killed, or the call fails."""

    call: Call
    kind: str

    def options(self) -> list[str]:
        """Say it in the words of strace."""
        what = "signal=KILL" if self.kind == "KILL" else f"error={self.kind}"
        return ["-e", f"trace={self.call.name}", "-e", f"inject={self.call.name}:{what}:when={self.call.number}"]

    def __str__(self) -> str:
        return f"{self.kind} at {self.call}"


@dataclass(frozen=True)
class Run:
    """How one run of the command ended: its exit code (negative if killed), what it said, and what strace saw."""

    code: int
    said: str
    trace: str


@contextlib.contextmanager
def bench() -> Iterator[Path]:
    """Make the invented files that every trial starts with."""
    import numpy as np

    from pointveil.world import World

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        bounds = (10.0, 50.0, 10.02, 50.012)
        World.make(bounds).write(folder / "world.gpkg")
        rng = np.random.default_rng(3)
        for file in FILES[:2]:
            # So many that noise stops no release of them: of a thousand, one in six hundred was.
            rows = [f"{x:.6f},{y:.6f}\n" for x, y in rng.uniform(bounds[:2], bounds[2:], (2500, 2))]
            (folder / file).write_text("lon,lat\n" + "".join(rows))
        yield folder


@contextlib.contextmanager
def trial_folder(files: Path) -> Iterator[Path]:
    """Make a folder for one trial."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        for file in FILES:
            shutil.copy(files / file, name)
        for inner in ("home", "cache", "tmp"):
            Path(name, inner).mkdir()
        yield Path(name)


def run(folder: Path, options: list[str] | None = None, *, points: str = FILES[0], output: str = OUTPUT) -> Run:
    """Make the release in a fork of this process; with options, under strace."""
    go, start = os.pipe()
    said, trace = folder / "home" / MESSAGES, folder / "home" / "trace.txt"
    child = os.fork()
    if child == 0:
        _release(folder, said, go, points, output)
    os.close(go)
    strace = None
    if options is not None:
        command = ["strace", "-f", "-qq", "-y", "-o", str(trace), "-p", str(child), *options]
        strace = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        _wait_for(strace, child)
    os.write(start, b"!")
    os.close(start)
    code = _ended(child)
    if strace is not None:
        strace.communicate(timeout=PATIENCE)
    text = said.read_text(errors="replace") if said.exists() else ""
    return Run(code, text, trace.read_text(errors="replace") if strace else "")


def _release(folder: Path, said: Path, go: int, points: str, output: str) -> None:
    """Be the command line, in a process that ends here."""
    code = 70
    try:
        ctypes.CDLL(None).prctl(*TRACER_ANY, 0, 0, 0)  # where only ancestors may trace
        os.chdir(folder)
        for name, inner in (("XDG_DATA_HOME", "home"), ("POINTVEIL_CACHE", "cache"), ("TMPDIR", "tmp")):
            os.environ[name] = str(folder / inner)
        tempfile.tempdir = str(folder / "tmp")
        os.dup2(os.open(said, os.O_CREAT | os.O_WRONLY | os.O_TRUNC), 2)
        os.read(go, 1)
        from pointveil.cli import main

        request = ["--request", f"once {points}", "--ledger", "ledger.db", "--method", "ugrid-uni", "--epsilon", "1"]
        main(["synthesize", points, output, "--world", "world.gpkg", *request])
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.flush()
        os._exit(code)


def _wait_for(strace: "subprocess.Popen[str]", child: int) -> None:
    while "TracerPid:\t0\n" in Path(f"/proc/{child}/status").read_text():
        if strace.poll() is not None:
            os.kill(child, 9)
            os.waitpid(child, 0)
            raise CannotTraceError(f"strace may not trace here: {strace.communicate()[1].strip()}")
        time.sleep(0.002)


def _ended(child: int) -> int:
    limit = time.monotonic() + PATIENCE
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > limit:
            os.kill(child, 9)
        time.sleep(0.002)


def calls_of(files: Path, wanted: str) -> list[Call]:
    """Return the calls of a release that nothing disturbs, in their order."""
    with trial_folder(files) as folder:
        done = run(folder, ["-e", f"trace={wanted}"])
        if done.code:
            raise RuntimeError(f"The undisturbed release failed: {done.said}")
        lines = [line.split(maxsplit=1) for line in done.trace.splitlines()]
        counts: dict[str, int] = defaultdict(int)
        found = []
        for thread, text in lines:
            name = text.partition("(")[0]
            if thread != lines[0][0] or not name.isidentifier():  # other threads; the rest of a call
                continue
            counts[name] += 1
            # After a descriptor strace shows its file; what is in quotes may be what was written.
            place = re.search(r"<([^>]*)>" if re.match(r"\w+\(\d", text) else r'"([^"]*)"', text)
            path = place[1] if place else ""
            in_temporary = path.startswith(str(folder / "tmp"))
            found.append(Call(name, counts[name], _plain(path, folder), in_temporary))
        return found


def _plain(path: str, folder: Path) -> str:
    """Return the name of a file without what chance put into it."""
    name = Path(path).name if path not in {str(folder), "."} else "the folder"
    return re.sub(r"(?<=-)[a-z0-9_]{8}|(?<=^tmp)[a-z0-9_]{8}", "*", name)


def thinned(calls: list[Call]) -> list[Call]:
    """Return the first and last of calls that repeat one another; of those in the temporary folder, one of a kind."""
    kept = []
    for _, some in itertools.groupby((call for call in calls if not call.in_temporary), lambda c: (c.name, c.file)):
        first, *more = some
        kept += [first, *more[-1:]]
    return [*kept, *{(call.name, call.file): call for call in calls if call.in_temporary}.values()]


def worth_trying(calls: list[Call], kind: str) -> list[Call]:
    """Return the calls at which this fault leaves something else than at the next one."""
    if kind not in {"KILL", "ENOSPC"}:
        return calls
    spared = KEEPING if kind == "KILL" else ()
    return [call for call in calls if (call.name in MAYBE_CHANGING or call.file == SHARED) and call.name not in spared]


def charged(folder: Path) -> list[Any]:
    """Return the accounts of the ledger, read from a copy, so that looking changes nothing; none if it is broken."""
    from pointveil.errors import PointveilError
    from pointveil.ledger import Ledger

    with tempfile.TemporaryDirectory() as copy:
        for file in folder.glob("ledger.db*"):
            shutil.copy(file, copy)
        try:
            return Ledger(Path(copy, "ledger.db")).accounts()
        except PointveilError:
            return []


def verified(folder: Path, ledger: Path | None = None) -> bool:
    """Tell whether there is a release that is what its statement says."""
    from pointveil.errors import PointveilError
    from pointveil.verification import verify

    try:
        verify(folder / OUTPUT, ledger=ledger)
    except PointveilError:
        return False
    return True


def problems_after(fault: Fault, files: Path) -> list[str]:
    """Break one release, run the same command again, and return what went wrong; "not reached" if nothing broke."""
    with trial_folder(files) as folder:
        broken = run(folder, fault.options())
        if "INJECTED" not in broken.trace and broken.code != -9:
            return ["not reached"]
        # A program whose messages cannot be written, or whose own code cannot be read, cannot explain itself.
        found = _after_fault(folder, broken, is_mute=fault.call.file.endswith((MESSAGES, *CODE)))
        published = (folder / OUTPUT).read_bytes() if (folder / OUTPUT).exists() else None
        again = run(folder)
        return found + _after_second_run(folder, again, published)


def _after_fault(folder: Path, broken: Run, *, is_mute: bool) -> list[str]:
    spent = sum(account.spent for account in charged(folder))
    found = []
    if (folder / OUTPUT).exists() and not verified(folder):
        found.append("half release")
    if (folder / OUTPUT).exists() and not spent:
        found.append("release without a charge")
    if broken.code == 0 and not verified(folder):
        found.append("success without a release")
    if broken.code > 0 and not is_mute:
        says_charged = bool(re.search(r"(?<!nothing was )(?<!nothing is )\bcharged\b", broken.said, re.IGNORECASE))
        if broken.code != 2:
            found.append("unclear failure")
        elif spent and not says_charged:
            found.append("charge not told")
        elif says_charged and not spent:
            found.append("charge told that was not made")
    return found


def _after_second_run(folder: Path, again: Run, published: bytes | None) -> list[str]:
    accounts = charged(folder)
    spent = sum(account.spent for account in accounts)
    checks = {
        "lost release": again.code != 0 or not verified(folder, folder / "ledger.db"),
        "another release": published not in {None, (folder / OUTPUT).read_bytes() if again.code == 0 else None},
        "double charge": spent > 1,
        "release without a charge": spent < 1,
        "broken ledger": not accounts,
        "merged accounts": len(accounts) > 1 or any(account.aliases for account in accounts),
        "stray file": bool({path.name for path in folder.iterdir()} - WANTED),
        "stray temporary file": any((folder / "tmp").iterdir()),
    }
    return [problem for problem, is_so in checks.items() if is_so]


def merged_accounts(files: Path) -> bool:
    """Tell whether two files that could not be read to their end have one account."""
    calls = calls_of(files, "read")
    with trial_folder(files) as folder:
        for file in FILES[:2]:
            # Every read of records fails; the header was read before.
            number = [call.number for call in calls if call.file == FILES[0]][-1]
            run(folder, Fault(Call("read", number, file), "EIO").options(), points=file, output=f"{file}.out.csv")
        return any(account.aliases for account in charged(folder))


def examine(*, part: bool, kinds: list[str], most: int) -> dict[str, Any]:
    """Try all faults, or every so many of them, and return how many were tried and which problems each led to."""
    for module in ("pointveil.cli", "pointveil.releases", "pointveil.verification", "pyogrio", "pyarrow.csv"):
        importlib.import_module(module)  # once, not in every fork

    begin = time.monotonic()
    problems: dict[str, list[str]] = defaultdict(list)
    with bench() as files:
        calls = calls_of(files, ",".join(f"?{name}" for name in CHANGING) if part else "%file,%desc")
        faults = [Fault(call, kind) for kind in kinds for call in worth_trying(thinned(calls) if part else calls, kind)]
        faults = faults[:: math.ceil(len(faults) / most)]
        for fault in faults:
            for problem in problems_after(fault, files):
                problems[problem].append(str(fault))
        if merged_accounts(files):
            problems["merged accounts"].append("EIO while reading two files")
    seconds = round(time.monotonic() - begin, 1)
    return {"trials": len(faults), "calls": len(calls), "seconds": seconds, "problems": problems}


def main() -> None:
    """Print what was found; 1 stands for problems, 77 for "cannot trace here", with the reason."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", action="store_true", help="only calls that change a file, repeated ones thinned")
    parser.add_argument(
        "--kinds", nargs="+", default=["KILL", "EIO", "ENOSPC"], choices=["KILL", *errno.errorcode.values()]
    )
    parser.add_argument("--most", type=int, default=10**9, help="try no more than so many, from beginning to end")
    parser.add_argument("--json", action="store_true", help="all that was found, for machines")
    arguments = parser.parse_args()
    try:
        if shutil.which("strace") is None:
            raise CannotTraceError("strace is not installed")  # noqa: TRY301
        found = examine(part=arguments.part, kinds=arguments.kinds, most=arguments.most)
    except CannotTraceError as reason:
        print(f"Nothing was tried: {reason}.")
        sys.exit(77)
    if arguments.json:
        print(json.dumps(found))
        return
    print(f"{found['trials']} faults at {found['calls']} calls in {found['seconds']} s")
    for problem, faults in found["problems"].items():
        print(f"{problem}: {len(faults)}, such as {'; '.join(faults[:3])}")
    sys.exit(bool(found["problems"].keys() - {"not reached"}))


if __name__ == "__main__":
    main()
