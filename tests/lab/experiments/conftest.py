"""A tiny data folder with one invented city."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

from pointveil.lab.experiments import Plan

MakePlan = Callable[..., Plan]


@pytest.fixture(scope="session")
def tiny_data(people: NDArray[np.float64], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One city called tiny: points, two roads and a river."""
    folder = tmp_path_factory.mktemp("data") / "tiny"
    folder.mkdir()
    pq.write_table(pa.table({"lon": people[:, 0], "lat": people[:, 1]}), folder / "points.parquet")
    roads = [[(10.0, 50.003), (10.02, 50.003)], [(10.004, 50.0), (10.004, 50.012)]]
    _write(folder / "roads.geojson", "LineString", roads)
    _write(folder / "water.geojson", "Polygon", [[_ring(10.009, 49.99, 10.011, 50.02)]])
    return folder.parent


def _ring(west: float, south: float, east: float, north: float) -> list[tuple[float, float]]:
    return [(west, south), (east, south), (east, north), (west, north), (west, south)]


def _write(path: Path, kind: str, shapes: Sequence[object]) -> None:
    features = [
        {"type": "Feature", "properties": {}, "geometry": {"type": kind, "coordinates": shape}} for shape in shapes
    ]
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}))


@pytest.fixture
def make_plan(tmp_path: Path) -> MakePlan:
    """Write and read a plan about the tiny city."""

    def make(text: str = "", *, seeds: int = 2, methods: str = '["ugrid-uni"]', measures: str = '["nce_100"]') -> Plan:
        path = tmp_path / "plan.toml"
        path.write_text(
            f'name = "tiny"\ntitle = "Tiny"\ncities = ["tiny"]\nmethods = {methods}\nseeds = {seeds}\n'
            f"measures = {measures}\n{text}\n"
            '[city.tiny]\nfolder = "tiny"\nbounds = [10.0, 50.0, 10.02, 50.012]\n',
            encoding="utf-8",
        )
        return Plan.read(path)

    return make
