"""Hooks of mkdocs: pages outside docs/ join the site, links to files lead to copies, and nothing is fetched."""

import os
import posixpath
import re
from functools import cache
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

import pointveil

ROOT = Path(__file__).parent.parent
LINK = re.compile(r"(\]\()([^)\s#]+)")
NAMES = "<!-- public names"  # where they go on the page of Python
GROUP = re.compile(r"^if TYPE_CHECKING:  # (.*)\n((?:    .*\n)+)", flags=re.MULTILINE)
FENCED = re.compile(r"^ *```.*?^ *```", flags=re.DOTALL | re.MULTILINE)
OUTSIDE = ("CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "src/**/*.md")
# What a browser would load by itself; a link to follow may lead anywhere.
FETCHED = re.compile(
    r"""<(?:script|img|iframe|source)\b[^>]*\bsrc=["']?(?:https?:)?//|<link\b[^>]*\bhref=["']?(?:https?:)?//"""
    r"""|@import\s+["']?(?:https?:)?//|url\(["']?(?:https?:)?//"""
)


def on_startup(**_: Any) -> None:
    """Let signatures that were put together when a module was imported be seen, not those of what they wrap."""
    for name in pointveil.__all__:
        thing = getattr(pointveil, name)
        if hasattr(thing, "__signature__") and hasattr(thing, "__wrapped__"):
            del thing.__wrapped__


def on_files(files: Any, *, config: Any) -> Any:
    """Add the pages beside the code, and every file that some page links to."""
    for path in sorted({path for pattern in OUTSIDE for path in ROOT.glob(pattern)} | _linked()):
        if not path.is_relative_to(ROOT / "docs"):
            files.append(File.generated(config, _place(path), abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Turn links between files of the repository into links between places of the site."""
    here = page.file.src_uri
    home = _home(here)

    def moved(found: re.Match[str]) -> str:
        target = _target(home, found[2])
        return (
            found[0] if target is None else found[1] + posixpath.relpath(_place(target), posixpath.dirname(here) or ".")
        )

    text, names, _rest = LINK.sub(moved, markdown).partition(NAMES)
    return text + (_public_names() if names else "")


def on_post_page(output: str, **_: Any) -> str:
    """Take out of a notebook what would fetch a library for diagrams, if there were any."""
    return re.sub(r'<script type="module">(?:(?!</script>).)*mermaid.*?</script>', "", output, flags=re.DOTALL)


def on_post_build(*, config: Any) -> None:
    """Refuse a site that would fetch anything from elsewhere."""
    for path in Path(config["site_dir"]).rglob("*"):
        if path.suffix in {".html", ".css"} and (found := FETCHED.search(path.read_text(encoding="utf-8"))):
            raise PluginError(f"{path.name} fetches from the network: {found[0]}")


def _public_names() -> str:
    """Return the public names for mkdocstrings, in the groups and the order of the package's own list."""
    groups = GROUP.findall((ROOT / "src/pointveil/__init__.py").read_text(encoding="utf-8"))
    imports = re.compile(r"from (\S+) import (\w+) as")
    return "\n".join(
        f"## {title.capitalize()}\n\n" + "".join(f"::: {home}.{name}\n\n" for home, name in imports.findall(lines))
        for title, lines in groups
    )


def _place(path: Path) -> str:
    """Return where a file of the repository is in the site: what is in docs/ moves up."""
    name = path.relative_to(ROOT).as_posix()
    return name.removeprefix("docs/")


def _home(place: str) -> Path:
    """Return the file of the repository that is at a place of the site."""
    inside = ROOT / "docs" / place
    return inside if inside.exists() else ROOT / place


def _target(page: Path, link: str) -> Path | None:
    """Return the file that a link on a page leads to, if it is one of the repository."""
    path = Path(os.path.normpath(page.parent / link))
    return path if ":" not in link and path.is_file() and path.is_relative_to(ROOT) else None


@cache
def _linked() -> frozenset[Path]:
    pages = [*(ROOT / "docs").glob("**/*.md"), *(path for pattern in OUTSIDE for path in ROOT.glob(pattern))]
    found = (
        _target(page, link)
        for page in pages
        for _, link in LINK.findall(FENCED.sub("", page.read_text(encoding="utf-8")))
    )
    return frozenset(path for path in found if path is not None)
