"""Points in any form, as metres of a world, with what is promised about them."""

import os
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pointveil.columns import Column, from_dict
from pointveil.errors import InputError, VerificationError
from pointveil.evaluation.comparison import XY, Comparison
from pointveil.evaluation.kept import Codes
from pointveil.files.crs import transform
from pointveil.files.places import fetched, is_named, is_store, public_name
from pointveil.formats import open_points
from pointveil.statement import Statement
from pointveil.synthetic import STATEMENT, SyntheticPoints
from pointveil.verification import read_checked
from pointveil.world import World

ENOUGH = 100  # points of each kind, for their places to say whether they belong together
LEAST_OVERLAP = 0.01


def compare(
    real: Any,
    synthetic: Any,
    world: World,
    *,
    columns: tuple[str, str] | None = None,
    crs: str | None = None,
    seed: int = 0,
    population: Any = None,
) -> Comparison:
    """Read both sets of points into metres of the world; parameters as of `evaluate`."""
    if is_store(synthetic):
        with fetched(synthetic, STATEMENT) as local:
            return compare(real, local, world, columns=columns, crs=crs, seed=seed, population=population)
    about = stated(synthetic)
    # Bare coordinates have no other columns to compare.
    bare = any(isinstance(points, np.ndarray | list) and not is_named(points) for points in (real, synthetic))
    keep = () if bare else kept_columns(about)
    all_real = read_points(real, world, columns=columns, crs=crs, keep=keep)
    all_synthetic = _read_synthetic(synthetic, world, about, columns, crs, keep)
    some_real, some_synthetic = all_real.whole, all_synthetic.whole
    on_land = some_real.only(world.on_land(some_real.xy))
    names = _name(real, "the real points"), _name(synthetic, "the synthetic points")
    if not len(on_land.xy):
        raise InputError(
            f"No point of {names[0]} is on land in this world. Give the world of this data, or --crs (crs=) if "
            "the file states the wrong coordinate system."
        )
    (west, south, east, north) = world.bounds
    within = ((some_synthetic.xy >= (west, south)) & (some_synthetic.xy <= (east, north))).all(axis=1)
    if len(some_synthetic.xy) and not np.any(within):
        raise InputError(
            f"No point of {names[1]} is within this world, so there is nothing to compare. Give the world of this "
            "data, and keep the statement beside the synthetic file: it says its columns and coordinate system."
        )
    left_out = len(all_real.xy) - len(on_land.xy), len(all_synthetic.xy) - len(some_synthetic.xy)
    codes = on_land.codes, some_synthetic.codes
    everybody = None
    if population is not None:
        everybody = read_points(population, world, columns=columns, crs=crs).whole.xy
        everybody = everybody[world.on_land(everybody)]
    pair = Comparison(
        on_land.xy, some_synthetic.xy, world, seed, names, left_out, about, keep, all_real.crs, codes, everybody
    )
    if min(len(pair.real), len(pair.synthetic)) >= ENOUGH and _overlap(pair) < LEAST_OVERLAP:
        raise InputError(
            f"{names[0]} and {names[1]} are in different parts of this world, so they cannot belong together. Check "
            "--columns and --crs (columns=, crs=) of the real points, and that the synthetic file is theirs."
        )
    return pair


def _overlap(pair: Comparison) -> float:
    """Return the share of points that lie in the same large squares, four to the longer side of the world."""
    real, synthetic = pair.cell_counts(max(pair.world.size) / 4)
    return float(np.minimum(real / real.sum(), synthetic / synthetic.sum()).sum())


def _read_synthetic(
    points: Any,
    world: World,
    about: Statement | None,
    columns: tuple[str, str] | None,
    crs: str | None,
    keep: tuple[Column, ...],
) -> "Read":
    """Return synthetic points: read as their statement says, or else as the real ones, or as they say themselves."""
    if isinstance(points, np.ndarray | list):
        return read_points(points, world, crs=crs, keep=keep)
    if about is None and not isinstance(points, SyntheticPoints):
        with suppress(InputError):
            return read_points(points, world, columns=columns, crs=crs, keep=keep)
    return read_points(points, world, **form(about), keep=keep)


@dataclass(frozen=True, eq=False)
class Read:
    """Points that were read: (n, 2) metres of the world, and their codes in each kept column but ids."""

    xy: XY
    codes: Codes = ()
    keep: tuple[Column, ...] = ()
    name: str = ""  # of the file, if it was one
    crs: str | None = None  # in which they were given

    def only(self, chosen: NDArray[np.bool_]) -> "Read":
        """Return some of the points."""
        return replace(self, xy=self.xy[chosen], codes=tuple(codes[chosen] for codes in self.codes))

    @property
    def whole(self) -> "Read":
        """Those with finite coordinates, and without a value for which a release drops the record."""
        chosen: NDArray[np.bool_] = np.asarray(np.isfinite(self.xy).all(axis=1))
        for column, codes in zip([column for column in self.keep if column.size], self.codes, strict=True):
            chosen &= (codes < column.size) | (not column.drops)
        return self.only(chosen)


def read_points(
    points: Any,
    world: World,
    *,
    columns: tuple[str, str] | None = None,
    crs: str | None = None,
    keep: tuple[Column, ...] = (),
) -> Read:
    """Return points as metres of the world, with kept columns; those without coordinates in its CRS are not finite.

    Points are synthetic ones, a file, a frame, or an `(n, 2)` array of x (longitude) and y (latitude). Those that do
    not say their columns or CRS themselves need `columns` and `crs` (an array: EPSG:4326 by default).
    """
    if isinstance(points, SyntheticPoints):
        codes = read_points(points.to_arrow(), world, columns=points.layout.names, keep=keep).codes if keep else ()
        return Read(_converted(points.coordinates, points.crs, world), codes, keep, crs=points.crs)
    if isinstance(points, np.ndarray | list) and not is_named(points):
        xy = np.asarray(points, dtype=np.float64)
        if xy.ndim != 2 or xy.shape[1] != 2:
            raise InputError(
                f"The array of points has the shape {xy.shape}; give x and y (longitude and latitude) as (n, 2)."
            )
        crs = crs or "EPSG:4326"
        return Read(_converted(xy, crs, world), crs=crs)
    source = open_points(points, columns=columns, crs=crs, keep=keep)
    batches = list(source.batches())
    places = np.concatenate([np.zeros((0, 2)), *(batch.coordinates for batch in batches)])
    nobody = (tuple(np.zeros(0, dtype=np.uint8) for column in keep if column.size),)
    found = zip(*nobody, *(batch.codes for batch in batches), strict=True)
    crs, codes = source.layout.crs, tuple(np.concatenate(each) for each in found)
    return Read(_converted(places, crs, world), codes, keep, _name(points, ""), crs)


def kept_columns(statement: Statement | None) -> tuple[Column, ...]:
    """Return the columns that a release keeps, as its statement declares them."""
    return () if statement is None else tuple(from_dict(column) for column in statement.columns)


def stated(points: Any) -> Statement | None:
    """Return what is promised about points: their statement, or that of their file if it is about these very points."""
    if isinstance(points, SyntheticPoints):
        return points.statement
    if not isinstance(points, str | os.PathLike):
        return None
    try:
        return read_checked(points).statement
    except (InputError, VerificationError):
        return None


def form(statement: Statement | None) -> dict[str, Any]:
    """Return the columns and the CRS that a statement gives to its file, where the file itself does not say them."""
    output = None if statement is None else statement.output
    return {} if output is None or output.places is None else {"columns": output.places, "crs": output.crs}


def _name(points: Any, otherwise: str) -> str:
    return public_name(points) if is_named(points) else otherwise


def _converted(coordinates: XY, crs: str, world: World) -> XY:
    """Return coordinates of a CRS as metres."""
    moved = transform(crs, world.projection.crs)(coordinates)
    with np.errstate(all="ignore"):
        return np.asarray(world.projection.to_metres(moved), dtype=np.float64)
