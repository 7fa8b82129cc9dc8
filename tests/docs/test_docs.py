"""The docs say what is true: links lead somewhere, pages are fresh, code runs."""

import importlib.util
import re
import runpy
import shlex
from pathlib import Path

import pytest
import typer.main

import pointveil
from pointveil.cli import app
from pointveil.demo import city, write_people

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("src/**/*.md")])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_to_a_file_leads_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)

    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if not target.startswith(("http:", "https:", "#", "mailto:")):
            assert (page.parent / target.split("#")[0]).exists(), target


def test_the_page_of_commands_is_fresh() -> None:
    made = runpy.run_path(str(ROOT / "scripts" / "make_cli_docs.py"))["page"]()

    assert (ROOT / "docs" / "cli.md").read_text() == made, "run: python scripts/make_cli_docs.py"


LINE = re.compile(r"^\$ pointveil (.*)$", flags=re.MULTILINE)
LINES = [
    (page, line)
    for page in PAGES
    for block in re.findall(r"```console[^\n]*\n(.*?)```", page.read_text().replace("\\\n", " "), flags=re.DOTALL)
    for line in LINE.findall(block)
]


@pytest.mark.parametrize(("page", "line"), LINES, ids=[f"{page.stem}: {line[:40]}" for page, line in LINES])
def test_every_command_line_has_a_command_and_options_that_exist(page: Path, line: str) -> None:
    words, command, at = shlex.split(line, comments=True), typer.main.get_command(app), 0
    while hasattr(command, "commands") and words[at] in command.commands:
        command, at = command.commands[words[at]], at + 1

    options = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
    asked = {word.partition("=")[0] for word in words[at:] if re.match(r"--?[a-z]", word)}
    assert at > 0 or asked <= {"--version", "--help"}, line
    assert asked <= options | {"--help"}, line


CODE = re.compile(r"```python\n(.*?)```", flags=re.DOTALL)


@pytest.mark.filterwarnings("ignore:Left out of the synthetic file. time, kind")
@pytest.mark.parametrize(
    "page", [page for page in PAGES if CODE.search(page.read_text())], ids=lambda page: str(page.relative_to(ROOT))
)
def test_the_python_of_every_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a folder with files of the names that the pages use."""
    for name in ("porto", "helsinki", "demo/helsinki"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        city().write(tmp_path / f"{name}.gpkg")
    for name in ("trips", "people", "demo/people", "synthetic"):
        if f'output="{name}.parquet"' not in page.read_text():
            write_people(tmp_path / f"{name}.parquet", city(), count=2000)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}

    for block in CODE.findall(page.read_text()):
        if "import duckdb" in block:  # which no extra asks for, so it comes last on its page
            pytest.importorskip("duckdb", reason="duckdb is not installed")
        exec(compile(block, page.name, "exec"), names)  # noqa: S102 - our own page


def test_every_public_name_is_in_the_docs() -> None:
    text = " ".join(page.read_text() for page in PAGES)

    for name in pointveil.__all__:
        assert name in text or name == "__version__", name


def test_every_module_begins_with_a_sentence() -> None:
    for path in (ROOT / "src").rglob("*.py"):
        first = path.read_text().splitlines()[0]
        assert first.startswith('"""'), path
        assert first.rstrip('"').rstrip().endswith("."), path


def test_examples_are_there_to_run() -> None:
    for path in (ROOT / "examples").glob("*.py"):
        assert importlib.util.spec_from_file_location(path.stem, path) is not None


def test_the_list_of_files_that_see_records_is_true() -> None:
    made = runpy.run_path(str(ROOT / "scripts" / "make_review_table.py"))

    page = (ROOT / "docs" / "review-the-vault.md").read_text()

    assert page == made["page"](), f"run: python scripts/make_review_table.py\n{made['table']()}"
    assert sum(len(path.read_text().splitlines()) for path in (ROOT / "src/pointveil/vault").glob("*.py")) <= 1300


def test_every_folder_says_in_one_sentence_who_is_handed_what() -> None:
    for path in (ROOT / "src" / "pointveil").glob("*/__init__.py"):
        first = path.read_text().splitlines()[0]
        assert re.search(r"record|real points|invented|owner", first) or path.parent.name == "cli", path
