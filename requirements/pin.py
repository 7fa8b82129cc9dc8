"""Pin all requirements with hashes, and cut the demo's smaller list out of the full one."""

import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

HERE = Path(__file__).parent
QUIET = ("--no-emit-index-url", "--no-emit-trusted-host", "--no-emit-find-links", "--no-header", "--strip-extras")


def compile_all() -> None:
    """Resolve dev.in to dev.txt, in an environment that is thrown away."""
    with tempfile.TemporaryDirectory() as directory:
        venv.create(directory, with_pip=True)
        python = Path(directory) / "bin" / "python"
        subprocess.run([python, "-m", "pip", "install", "--quiet", "pip-tools"], check=True)
        command = [python, "-m", "piptools", "compile", "--quiet", "--generate-hashes", "--allow-unsafe", *QUIET]
        subprocess.run([*command, "-o", "dev.txt", "dev.in"], check=True, cwd=HERE)


def cut_demo() -> None:
    """Write demo.txt: from dev.txt only what the names in demo.in need, at the same versions."""
    blocks = re.split(r"\n(?=[a-z0-9])", (HERE / "dev.txt").read_text())
    pinned = {block.split("==")[0].strip(): block for block in blocks if "==" in block}
    user = re.compile(r"#\s+(?:via )?\s*([a-z][a-z0-9-]+)\s*$", re.MULTILINE)
    needed_by = {name: set(user.findall(block)) for name, block in pinned.items()}
    lines = (HERE / "demo.in").read_text().splitlines()
    wanted = {line.strip() for line in lines if line.strip() and not line.startswith("#")}
    while True:
        more = {name for name, users in needed_by.items() if users & wanted} | wanted
        if more == wanted:
            break
        wanted = more
    missing = wanted - set(pinned)
    if missing:
        sys.exit(f"demo.in names what dev.txt does not pin: {', '.join(sorted(missing))}")
    (HERE / "demo.txt").write_text("\n".join(pinned[name].rstrip() for name in sorted(wanted)) + "\n")


if __name__ == "__main__":
    if "--demo-only" not in sys.argv:
        compile_all()
    cut_demo()
