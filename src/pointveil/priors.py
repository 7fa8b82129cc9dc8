"""Read what is already public, to guide a release: an earlier release or survey, or public points."""

from __future__ import annotations

from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pointveil.cells.arrays import Floats
from pointveil.errors import InputError
from pointveil.files.crs import transform
from pointveil.files.places import local_path
from pointveil.files.whole import existing_file, file_digest
from pointveil.formats import PointSource, open_points, read_statement
from pointveil.formats.base import Batch
from pointveil.statement import Statement
from pointveil.surveys import Survey, is_survey
from pointveil.synthetic import statement_path
from pointveil.vault import digests_of
from pointveil.verification import open_released, verify
from pointveil.world import Prior, World

WEIGHT = "weight"  # the column of public points that says how much each counts


class Found(NamedTuple):
    """Points that a prior was found to have."""

    coordinates: Floats  # (n, 2)
    crs: str
    weight: Floats | None  # (n,)


def with_prior(world: World, prior: str | PathLike[str], *, private: Path | None = None) -> World:
    """Return the world with what is already public about where people are.

    It guides `veil` and costs nothing; where it is unlike the private points, it is not used. It must be public, or
    paid for: whatever stands in it is taken as known to everybody. A rehearsal is refused, and so is a release that
    does not verify or was charged nowhere.

    Parameters
    ----------
    world
        The public world of the release.
    prior
        An earlier release or survey, of this or another owner; or any file of public points, such as a sample, points
        of interest, or the cells of a population raster with a column `weight`.
    private
        The private file, if it is one, which is refused as a prior. A copy of it is refused when the release is
        charged, before the charge, and so is whatever the ledger knows as private input.

    Examples
    --------
    >>> world = pv.World.read("helsinki.gpkg")
    >>> made = pv.release("people.parquet", world, epsilon=1, output="january.parquet")
    >>> guided = pv.with_prior(world, "january.parquet")
    >>> guided.prior.source["kind"]
    'earlier release'
    """
    path = local_path(prior)
    if path is None or path.is_dir():
        raise InputError("A prior is one file on this machine: copy it here first.")
    path = existing_file(path)
    if private is not None and private.exists() and path.samefile(private):
        raise InputError(f"{path.name} is the private file itself. A prior must be public, or paid for.")
    kind, statement = _kind(path)
    found = READERS[kind](path, statement)
    projection = world.projection
    xy = projection.to_metres(transform(found.crs, projection.crs)(found.coordinates))
    known = np.asarray(np.isfinite(xy).all(axis=1))
    if found.weight is not None:
        known &= np.isfinite(found.weight) & (found.weight > 0)
    known[known] = world.on_land(xy[known])
    if not known.any():
        raise InputError(
            f"{path.name}, the prior, has no point on the land of this world, around {world.place}. Check its CRS."
        )
    source = {"name": path.name, "kind": kind, "file_sha256": file_digest(path)}
    if statement is not None:
        source["release"] = statement.release
    made = Prior.of(xy[known], world.size, source, None if found.weight is None else found.weight[known])
    return replace(world, prior=replace(made, content=_content(found)))


def _kind(path: Path) -> tuple[str, Statement | None]:
    """Return what a file is, and its statement, if it is a release or a survey; refuse one that promises nothing."""
    survey = is_survey(path) and path.suffix.lower() != ".zip"
    if not survey and not statement_path(path).exists() and read_statement(path) is None:
        return "public points", None
    statement = verify(path).statement  # raises if it does not hold, or is of a rehearsal
    if statement.ledger is None:
        raise InputError(
            f"{path.name} was charged to no ledger, so nobody keeps account of it; it cannot be a prior. "
            "Take a release that was charged."
        )
    return "earlier survey" if survey else "earlier release", statement


def _drawn(path: Path, _: Statement | None) -> Found:
    """Draw from a survey; always the same points, which depend on nothing but the survey."""
    survey = Survey.read(path)
    counted, asked = survey.prepared[:2]
    xy = survey.method.placement.draw(survey.world, counted, asked, survey.prepared.rows, np.random.default_rng(0))
    return Found(survey.world.projection.from_metres(xy), survey.world.projection.crs, None)


def _released(path: Path, statement: Statement | None) -> Found:
    assert statement is not None  # noqa: S101 - a release has one
    assert statement.output is not None  # noqa: S101 - it was verified
    return _read(open_released(path, statement, statement.output))


def _public(path: Path, _: Statement | None) -> Found:
    """Read points, each with its weight where there is a column of that name."""
    source = open_points(path)
    # A weight is read as a person's name is: from any format, as one plain text for each value.
    return _read(open_points(path, person=WEIGHT) if WEIGHT in source.layout.left_out else source)


READERS: dict[str, Any] = {"earlier survey": _drawn, "earlier release": _released, "public points": _public}


def _read(source: PointSource) -> Found:
    batches = list(source.batches())
    weights = [_weights(batch) for batch in batches if batch.person is not None]
    coordinates = np.concatenate([np.zeros((0, 2)), *(batch.coordinates for batch in batches)])
    return Found(coordinates, source.layout.crs, np.concatenate(weights) if weights else None)


def _weights(batch: Batch) -> Floats:
    """Return (n,) numbers, NaN where there is none."""
    texts = batch.person
    if pa.types.is_binary(texts.type) or pa.types.is_large_binary(texts.type):
        texts = texts.cast(pa.string())
        plain = pc.match_substring_regex(texts, r"^[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?$")
        texts = pc.if_else(plain, texts, None)
    return np.asarray(texts.cast(pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)


def _content(found: Found) -> tuple[str, ...]:
    """Return the digests by which a ledger would know these points, or a copy, if they were a private input."""
    return tuple(digest.hex() for digest in digests_of(found.coordinates, found.crs))
