"""Both notebooks run from the first cell to the last, in a folder of their own."""

import ast
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
MADE = {"owner": ["certificate.html", "report.html", "synthetic.parquet"], "analyst": ["synthetic.parquet"]}


def cells(notebook: Path) -> list[dict[str, object]]:
    content: list[dict[str, object]] = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return content


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Left out of the synthetic file")
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda notebook: notebook.stem)
def test_a_notebook_runs(notebook: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the site's kernel would, but here: a cell's last value is shown."""
    pytest.importorskip("geopandas", reason="needs the extra frames")
    matplotlib = pytest.importorskip("matplotlib", reason="needs the extra figures")
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    names: dict[str, object] = {}

    for cell in cells(notebook):
        if cell["cell_type"] == "code":
            *lines, last = ast.parse("".join(cell["source"])).body  # type: ignore[arg-type]
            exec(compile(ast.Module(lines, []), notebook.name, "exec"), names)  # noqa: S102 - our own page
            if isinstance(last, ast.Expr):
                repr(eval(compile(ast.Expression(last.value), notebook.name, "eval"), names))  # noqa: S307
            else:
                exec(compile(ast.Module([last], []), notebook.name, "exec"), names)  # noqa: S102

    matplotlib.pyplot.close("all")
    assert tmp_path in Path.cwd().parents
    assert all(Path(name).stat().st_size > 1000 for name in MADE[notebook.stem])


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda notebook: notebook.stem)
def test_a_notebook_is_kept_without_what_it_printed(notebook: Path) -> None:
    """The site runs it anew, so nothing can be out of date."""
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in cells(notebook))
