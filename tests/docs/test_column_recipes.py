"""The commands on the page about columns run as they stand, on invented files, and keep every column they name."""

import re
import shlex
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pointveil as pv
from pointveil.cli import main
from pointveil.demo import city, people

pd = pytest.importorskip("pandas", reason="needs the extra frames")

PAGE = (Path(__file__).parents[2] / "docs" / "columns.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"```console\n\$ (pointveil synthesize.*?)```", PAGE.replace("\\\n", " "), flags=re.DOTALL)
COUNT = 3000


@pytest.fixture
def records() -> Any:
    """Every column that the page names, with values that are not on its lists too."""
    rng = np.random.default_rng(6)
    lonlat = city().projection.from_metres(people(city(), count=COUNT))

    def moments(first: str, days: int) -> Any:
        return pd.Series(np.datetime64(first, "s") + rng.integers(0, days * 86_400, COUNT))

    return pd.DataFrame(
        {
            "lon": lonlat[:, 0],
            "lat": lonlat[:, 1],
            "time": moments("2026-06-01", 28),
            "kind": rng.choice(["foot", "bike", "balloon"], COUNT),
            "pickup": moments("2024-01-01", 91).dt.strftime("%m/%d/%Y %H:%M"),
            "vendor": rng.choice(["CMT", "VTS", "?"], COUNT),
            "fare": rng.gamma(2, 10, COUNT).round(2),
            "seen": moments("2025-05-05", 28),
            "operator": rng.choice(["Dot", "Lime", "Tier"], COUNT),
            "battery": rng.integers(0, 101, COUNT),
            "vehicle_id": [f"v{number}" for number in range(COUNT)],
            "received": moments("2023-01-01", 365),
            "nature": rng.choice(["medical", "fire", "cat in tree"], COUNT),
            **{who: np.arange(COUNT) // 2 for who in ("medallion", "user_id", "caller")},
        }
    )


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.split()[2])
def test_a_command_of_the_page_keeps_what_it_names(
    command: str, records: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gpd = pytest.importorskip("geopandas", reason="to write the invented file")
    monkeypatch.chdir(tmp_path)
    _, _, private, synthetic, *options = shlex.split(command)
    city().write(Path(options[options.index("--world") + 1]))
    Path("operators.txt").write_text("Dot\nTier\n")
    write = {
        ".csv": lambda: records.to_csv(private, index=False),
        ".parquet": lambda: records.to_parquet(private),
        ".gpkg": lambda: gpd.GeoDataFrame(
            records, geometry=gpd.points_from_xy(records.lon, records.lat), crs="EPSG:4326"
        ).to_file(private),
    }
    write[Path(private).suffix]()

    with pytest.raises(SystemExit) as ended:
        main([*shlex.split(command)[1:], "--quiet", "--small"])

    assert ended.value.code == 0
    kept = [text.partition("=")[0] for option, text in pairwise(options) if option == "--keep"]
    read = pv.read(synthetic).to_pandas()
    assert set(kept) <= set(read.columns)
    assert not {"medallion", "user_id", "caller"} & set(read.columns)
    assert len(read) > COUNT / 4
