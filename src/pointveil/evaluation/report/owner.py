"""The owner's report: one page with both maps, where they differ, and what each number means."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from pointveil.evaluation.comparison import Comparison
from pointveil.evaluation.kept import Bins
from pointveil.evaluation.measures.cell_error import CELL_SIZES, shifted_cell_error
from pointveil.evaluation.measures.hotspot_agreement import GRANULARITIES
from pointveil.evaluation.measures.kept_columns import SIZES
from pointveil.evaluation.measures.range_query_error import RANGE_RADII
from pointveil.evaluation.report.maps import encode_bins, encode_map, encode_points
from pointveil.evaluation.report.pages import compose, statement_data, titled
from pointveil.evaluation.report.readings import cards
from pointveil.evaluation.report.release import predict_errors
from pointveil.evaluation.results import BANNER, COLUMN, Evaluation, lines

OFFSETS = np.array([0, 1, 2, 3, 4, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 75, 100], dtype=np.float64)  # metres
COUNTS = (0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 10_000, 100_000)  # synthetic points of a cell
NINE_IN_TEN = 1.645 * float(np.sqrt(np.pi / 2))  # mean sizes of normal errors that nine in ten of them stay within


def report_page(result: Evaluation) -> str:
    """Return the report as HTML that needs no network: it contains real points, so it is for their owner only."""
    title = titled(" beside ".join(result.compared.names), result.compared.world)
    return compose(title, BANNER, "report", report_data(result))


def report_data(result: Evaluation) -> dict[str, Any]:
    """Return all that the report shows, real points among it, as plain values."""
    compared = result.compared
    return map_data(result) | {
        "cards": [dataclasses.asdict(card) for card in cards(result)],
        "noise": _noise(compared),
        "cells": _series(result, "nce_", CELL_SIZES)
        | {"shifted": _series(result, "nce_shifted_", CELL_SIZES)["values"], "another": _another_sample(compared)},
        "ranges": _series(result, "range_", RANGE_RADII) | _typical_ranges(compared),
        "hotspots": _series(result, "hotspots_", GRANULARITIES),
        "offsets": _offsets(compared) if "medd" in result.values else None,
        "reasons": dict(result.reasons),
        "table": [dataclasses.asdict(line) for line in lines(result)],
    }


def map_data(result: Evaluation) -> dict[str, Any]:
    """Return the maps and the statement alone, which need no measure."""
    compared = result.compared
    kept = compared.bins("part")
    return {
        "names": list(compared.names),
        "points": [result.real_points, result.synthetic_points],
        "left_out": [result.real_left_out, result.synthetic_left_out],
        "warnings": result.warnings(),
        "cards": [],
        "map": encode_map(compared.world),
        "layers": {
            "real": encode_points(compared.real, compared.world, [bins.real for bins in kept]),
            "synthetic": encode_points(compared.synthetic, compared.world, [bins.synthetic for bins in kept]),
        },
        "kept": [encode_bins(bins) | {"errors": _column_errors(result, bins, kept)} for bins in kept],
        "statement": statement_data(compared.statement),
    }


def _noise(compared: Comparison) -> dict[str, Any] | None:
    """Return which differences noise explains, by size of a cell and synthetic points in it; None if nothing says so.

    The error is the one that is predicted from the release and its statement alone, so it is not larger where the
    release happens to be wrong. It is dealt out to cells by the square root of their counts.
    """
    statement, real = compared.statement, len(compared.real)
    if statement is None or compared.world.digest != statement.domain.world_sha256 or not real:
        return None
    predicted = predict_errors(compared.synthetic, compared.world, statement)
    margins = []
    for cell, error in zip(CELL_SIZES, predicted, strict=True):
        if error is None:
            return None
        _, synthetic = compared.cell_counts(cell)
        share = error * real / np.sqrt(synthetic + 1).sum()
        margins.append([NINE_IN_TEN * float(share * np.sqrt(count + 1)) for count in COUNTS])
    return {"at": list(CELL_SIZES), "counts": list(COUNTS), "margins": margins}


def _another_sample(compared: Comparison) -> list[float | None]:
    """Return the NCE on random grids that a second sample of as many points would have, for each size of cells.

    Half of the points are compared with the other half. From quarters to halves the error falls by some factor, and
    from halves to the whole it is taken to fall by the same.
    """
    real = compared.real[np.random.default_rng(compared.seed).permutation(len(compared.real))]
    if len(real) < 4:
        return [None] * len(CELL_SIZES)

    def error(size: int, cell: int) -> float:
        return shifted_cell_error(Comparison(real[:size], real[size : 2 * size], compared.world), cell=cell, shifts=3)

    halves, quarters = ([error(len(real) // part, cell) for cell in CELL_SIZES] for part in (2, 4))
    # Where each point has a cell to itself the factor is 1; where cells are full, the root of a half.
    return [
        half * float(np.clip(half / max(quarter, 1e-9), 0.5**0.5, 1))
        for half, quarter in zip(halves, quarters, strict=True)
    ]


def _typical_ranges(compared: Comparison) -> dict[str, list[float | None]]:
    """Return how many real points a range query finds on average, and how far off another sample's answer would be."""
    if not len(compared.centres):
        return {"typical": [None] * len(RANGE_RADII), "another": [None] * len(RANGE_RADII)}
    found = [compared.counts_within(radius)[0] for radius in RANGE_RADII]
    # Two counts around the same mean differ by a normal error of twice their variance.
    return {
        "typical": [float(counts.mean()) for counts in found],
        "another": [float(2 * np.sqrt(counts / np.pi).mean()) for counts in found],
    }


def _offsets(compared: Comparison) -> dict[str, Any]:
    """Return how far from the roads both are."""
    real, synthetic = compared.road_distances
    return {
        "at": OFFSETS.tolist(),
        "real": [float(np.mean(real <= limit)) for limit in OFFSETS],
        "synthetic": [float(np.mean(synthetic <= limit)) for limit in OFFSETS],
        "real_mean": float(real.mean()),
        "synthetic_mean": float(synthetic.mean()),
    }


def _column_errors(result: Evaluation, bins: Bins, kept: Sequence[Bins]) -> dict[str, Any]:
    """Return the errors of place and bin by cell size, beside those without looking at the place."""
    names = [f"place_and_bin_{size}{f'{COLUMN}{bins.name}' if len(kept) > 1 else ''}" for size in SIZES]
    values, without = ([found.get(name) for name in names] for found in (result.values, result.without_place))
    return {"at": list(SIZES), "values": values, "without": without}


def _series(result: Evaluation, start: str, sizes: tuple[int, ...]) -> dict[str, Any]:
    return {"at": list(sizes), "values": [result.values.get(f"{start}{size}") for size in sizes]}
