"""What needs an extra that is not installed says which."""

import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from pointveil.app.desk import Desk
from pointveil.app.folder import Folder
from pointveil.app.gate import Gate
from pointveil.app.server import application, serve
from pointveil.demo import pictures
from pointveil.errors import MissingExtraError
from pointveil.formats import open_points
from pointveil.formats.spark import session as start_spark
from pointveil.lab.audit import report
from pointveil.releases import draw, survey
from pointveil.statement.signing import SigningKey
from pointveil.surveys import Survey
from pointveil.tabling import count_by
from pointveil.vault import Vault
from pointveil.world import World, osm

ROOT = Path(__file__).parent.parent
NOBODY = np.empty((0, 2))
Use = Callable[[Survey, Path], object]

# The extra, the package that is missed, and a use of it.
USES: tuple[tuple[str, str, Use], ...] = (
    ("frames", "pandas", lambda survey, _: draw(survey, seed=1).to_pandas()),
    ("frames", "geopandas", lambda survey, _: draw(survey, seed=1).to_geopandas()),
    (
        "figures",
        "matplotlib",
        lambda survey, folder: pictures.draw_comparison(survey.world, NOBODY, {}, folder / "a.png"),
    ),
    ("figures", "matplotlib", lambda _, folder: report.draw_picture(folder / "a.png", {})),
    ("osm", "osmium", lambda _, folder: osm.read_roads(folder / "roads.osm.pbf")),
    ("osm", "osmnx", lambda *_: osm.fetch_place("Nowhere")),
    ("app", "starlette", lambda _, folder: application(Desk(Folder.open(folder)), Gate(1))),
    ("app", "uvicorn", lambda _, folder: serve(folder, port=0, browser=False, tell=print, asked=lambda: False)),
    ("spark", "pyspark", lambda *_: start_spark()),
    ("postgis", "adbc-driver-postgresql", lambda *_: open_points("postgresql://localhost/nowhere?table=trips")),
    ("h3", "h3", lambda survey, _: count_by(survey, "h3:9")),
    ("sign", "cryptography", lambda _, folder: SigningKey.read(folder / "key")),
)


@pytest.mark.parametrize(("extra", "package", "use"), USES, ids=[f"{extra}-{package}" for extra, package, _ in USES])
def test_without_the_package_the_error_names_the_extra(
    extra: str, package: str, use: Use, people_file: Path, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    surveyed = survey(Vault.open(people_file, world, epsilon=1), "ugrid-uni")
    (tmp_path / "roads.osm.pbf").touch()
    hide(package.replace("-", "_"), monkeypatch)

    with pytest.raises(MissingExtraError, match=rf"needs {package}.*pointveil\[{extra}\]"):
        use(surveyed, tmp_path)


def test_without_opendp_its_noise_names_the_extra(
    people_file: Path, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    hide("opendp", monkeypatch)

    with pytest.raises(MissingExtraError, match=r"needs opendp.*pointveil\[opendp\]"):
        survey(Vault.open(people_file, world, epsilon=1, noise="opendp"), "ugrid-uni")


def test_every_extra_is_tried_here() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]

    assert {extra for extra, _, _ in USES} | {"opendp"} == set(extras)


def hide(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make as if a package were not installed, whether it has been loaded before or not."""
    for name in [name for name in sys.modules if name.split(".")[0] == package]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, package, None)
