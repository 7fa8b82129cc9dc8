"""Pin all requirements with hashes: the newest, parts of them, and the oldest that pyproject allows."""

import re
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

HERE = Path(__file__).parent
QUIET = ("--no-emit-index-url", "--no-emit-trusted-host", "--no-emit-find-links", "--no-header", "--strip-extras")
# Cut out of dev.txt, at the same versions.
PARTS = ("core", "demo")
# Half a gigabyte: only `make test-engines` has it.
LARGE = ("spark",)
# What runs the tests; its versions are not promised to anyone.
RUNNERS = ("hypothesis", "pytest", "pytest-xdist", "hatchling", "editables")


def lower_bounds() -> list[str]:
    """Return each requirement of the core and the extras at the lowest version that pyproject allows."""
    project = tomllib.loads((HERE.parent / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"].items()
    wanted = [*project["dependencies"], *(name for extra, names in extras if extra not in LARGE for name in names)]
    return [requirement.replace(">=", "==") for requirement in wanted]


def write_oldest() -> None:
    """Write oldest.in from pyproject."""
    head = "# The lower bounds of pyproject, and what runs the tests. Made by `make pins`, and into oldest.txt too."
    (HERE / "oldest.in").write_text("\n".join([head, *lower_bounds(), *RUNNERS]) + "\n")


def compile_all(names: tuple[str, ...]) -> None:
    """Resolve each NAME.in to NAME.txt, in an environment that is thrown away."""
    with tempfile.TemporaryDirectory() as directory:
        venv.create(directory, with_pip=True)
        python = Path(directory) / "bin" / "python"
        subprocess.run([python, "-m", "pip", "install", "--quiet", "pip-tools"], check=True)
        command = [python, "-m", "piptools", "compile", "--quiet", "--generate-hashes", "--allow-unsafe", *QUIET]
        for name in names:
            subprocess.run([*command, "-o", f"{name}.txt", f"{name}.in"], check=True, cwd=HERE)


def cut(part: str) -> None:
    """Write PART.txt: from dev.txt only what the names in PART.in need."""
    blocks = re.split(r"\n(?=[a-z0-9])", (HERE / "dev.txt").read_text())
    pinned = {block.split("==")[0].strip(): block for block in blocks if "==" in block}
    user = re.compile(r"#\s+(?:via )?\s*([a-z][a-z0-9-]+)\s*$", re.MULTILINE)
    needed_by = {name: set(user.findall(block)) for name, block in pinned.items()}
    lines = (HERE / f"{part}.in").read_text().splitlines()
    wanted = {line.strip() for line in lines if line.strip() and not line.startswith("#")}
    while True:
        more = {name for name, users in needed_by.items() if users & wanted} | wanted
        if more == wanted:
            break
        wanted = more
    missing = wanted - set(pinned)
    if missing:
        sys.exit(f"{part}.in names what dev.txt does not pin: {', '.join(sorted(missing))}")
    (HERE / f"{part}.txt").write_text("\n".join(pinned[name].rstrip() for name in sorted(wanted)) + "\n")


if __name__ == "__main__":
    write_oldest()
    if "--parts-only" not in sys.argv:
        compile_all(tuple(sys.argv[1:]) or ("dev", "oldest", "fuzz", "engines", "docs"))
    for part in PARTS:
        cut(part)
