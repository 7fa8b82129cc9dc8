"""The two files that are compared, read once, with what was promised about the second."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pointveil.errors import InputError, VerificationError
from pointveil.evaluation.base import XY
from pointveil.evaluation.comparison import Evaluation, evaluate
from pointveil.evaluation.edge_distance import road_distances
from pointveil.evaluation.points import in_metres
from pointveil.formats import open_points
from pointveil.statement import Statement
from pointveil.verification import read_checked
from pointveil.world import World


@dataclass(frozen=True, eq=False)
class Pair:
    """Real and synthetic points in metres of one world.

    Parameters
    ----------
    real, synthetic
        Points with coordinates; real ones not yet looked at for water.
    world
        Where they are.
    names
        Of the two files.
    statement
        What the synthetic file says about itself, if anything.
    """

    real: XY
    synthetic: XY
    world: World
    names: tuple[str, str]
    statement: Statement | None

    def evaluate(self, *, seed: int = 0) -> Evaluation:
        """Measure everything."""
        return evaluate(self.real, self.synthetic, self.world, seed=seed)

    @cached_property
    def real_on_land(self) -> XY:
        """The real points that are compared."""
        finite = self.real[np.isfinite(self.real).all(axis=1)]
        return finite[self.world.on_land(finite)]

    @cached_property
    def known_synthetic(self) -> XY:
        """The synthetic points that have coordinates."""
        return self.synthetic[np.isfinite(self.synthetic).all(axis=1)]

    @cached_property
    def road_distances(self) -> tuple[XY, XY]:
        """How far from the nearest road the real and the synthetic points are, in metres; the world must have roads."""
        return road_distances(self.world, self.real_on_land), road_distances(self.world, self.known_synthetic)

    def warnings(self, result: Evaluation) -> list[str]:
        """Return what makes the comparison doubtful, in sentences."""
        found = []
        if not result.synthetic_points:
            found.append(f"{self.names[1]} has no points: most measures have no answer.")
        elif _share_within(self.known_synthetic, self.world) == 0.0:
            found.append(f"no point of {self.names[1]} is within the world; is it the right world, and the right CRS?")
        if result.real_left_out > len(self.real) / 2:
            found.append(f"{result.real_left_out:,} of {len(self.real):,} real points are not on the world's land.")
        return found


@dataclass(frozen=True, eq=False)
class _Points:
    coordinates: NDArray[np.float64]
    crs: str


def read_both(
    real: Path,
    synthetic: Path,
    world: World,
    *,
    columns: tuple[str, str] | None = None,
    crs: str | None = None,
) -> Pair:
    """Read two files of points into the metres of a world.

    Parameters
    ----------
    real, synthetic
        The files, each in the CRS that it names.
    world
        Where they are.
    columns, crs
        The columns and the CRS of the real file, if it does not say itself.
    """
    private = in_metres(_read(real, columns=columns, crs=crs), world, "real")
    pair = Pair(
        private, in_metres(_read(synthetic), world, "synthetic"), world, (real.name, synthetic.name), _stated(synthetic)
    )
    if not len(pair.real_on_land):
        raise InputError(
            f"No point of {real.name} is on the land of this world: give the world of this data, or --crs if the "
            "file's coordinate system is not what it says."
        )
    return pair


def _read(path: Path, **options: Any) -> _Points:
    source = open_points(path, **options)
    batches = [batch.coordinates for batch in source.batches()]
    return _Points(np.concatenate([np.zeros((0, 2)), *batches]), source.layout.crs)


def _stated(path: Path) -> Statement | None:
    """Return the statement beside a file, or the one in it, if it is about these very points."""
    try:
        return read_checked(path).statement
    except (InputError, VerificationError):
        return None


def _share_within(xy: XY, world: World) -> float:
    west, south, east, north = world.bounds
    inside = (xy >= (west, south)).all(axis=1) & (xy <= (east, north)).all(axis=1)
    return float(inside.mean())
