"""Look for bytes that break a reader, guided by which lines they reach (needs atheris: `make fuzz` installs it)."""

import argparse
import importlib
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
CORPUS = ROOT / "tests" / "fuzz" / "corpus"
FOUND = ROOT / "build" / "fuzz"
NAMES = ("csv", "geojson", "wkb", "statement", "survey")
INSTRUMENTED = ["pointveil.formats", "pointveil.statement", "pointveil.surveys", "pointveil.verification"]
LONGEST = 2000  # bytes of an input; a fault in a longer one nearly always has a shorter one
LIMITS = (f"-max_len={LONGEST}", "-timeout=20", "-rss_limit_mb=2500", "-print_final_stats=1", "-verbosity=0")


def fuzz(name: str, options: list[str]) -> None:
    """Fuzz one reader in this process, which ends here."""
    atheris = importlib.import_module("atheris")  # by name, because not everyone has it
    sys.path.insert(0, str(ROOT))
    with atheris.instrument_imports(include=INSTRUMENTED):
        targets = importlib.import_module("tests.fuzz.targets").TARGETS
    targets[name](b"")  # what is made once is made before the clock runs
    atheris.Setup([sys.argv[0], *options], targets[name])
    atheris.Fuzz()


def fuzz_for(name: str, seconds: int, *, seed: int, keep: bool) -> bool:
    """Fuzz one reader in a process of its own, and tell whether it held; with `keep`, let the corpus grow."""
    FOUND.mkdir(parents=True, exist_ok=True)
    known = str(CORPUS / name)
    with tempfile.TemporaryDirectory() as new:
        command = [sys.executable, __file__, "--one", name, *LIMITS, f"-artifact_prefix={FOUND}/{name}-"]
        fuzzing = [*command, f"-seed={seed}", f"-max_total_time={seconds}", new, known]
        done = subprocess.run(fuzzing, check=False, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if keep and done.returncode == 0:
            subprocess.run([*command, "-merge=1", known, new], check=True)
    if done.returncode:
        print(f"{name} did not hold; the bytes are in {FOUND.relative_to(ROOT)}/{name}-*\n{done.stdout[-4000:]}")
        return False
    print(f"{name} held: {re.findall(r'executed_units: (.*)', done.stdout)[-1]} inputs in {seconds} s", flush=True)
    return True


def main() -> None:
    """Share the time among the readers; end with 1 if one did not hold."""
    if sys.argv[1:2] == ["--one"]:
        fuzz(sys.argv[2], sys.argv[3:])
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*NAMES, []], help="which readers (default: all that hold)")
    parser.add_argument("--seconds", type=int, default=60, help="for all of them together")
    parser.add_argument(
        "--seed", type=int, default=0, help="the same inputs in the same order (default: others each time)"
    )
    parser.add_argument("--keep", action="store_true", help="add to the corpus what reached new lines")
    arguments = parser.parse_args()
    names = arguments.names or NAMES
    share = max(1, arguments.seconds // len(names))
    held = [fuzz_for(name, share, seed=arguments.seed, keep=arguments.keep) for name in names]
    sys.exit(not all(held))


if __name__ == "__main__":
    main()
