"""The owner's report: one page with both maps, where they differ, and what each number means."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from pointveil.evaluation.comparison import Comparison
from pointveil.evaluation.kept import Bins
from pointveil.evaluation.measures.cell_error import CELL_SIZES
from pointveil.evaluation.measures.hotspot_agreement import GRANULARITIES
from pointveil.evaluation.measures.place_and_bin import SIZES
from pointveil.evaluation.measures.range_query_error import RANGE_RADII
from pointveil.evaluation.report.maps import encode_bins, encode_map, encode_points
from pointveil.evaluation.report.pages import compose, statement_data
from pointveil.evaluation.report.readings import cards
from pointveil.evaluation.results import BANNER, COLUMN, Evaluation, lines

OFFSETS = np.array([0, 1, 2, 3, 4, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 75, 100], dtype=np.float64)  # metres


def report_page(result: Evaluation) -> str:
    """Return the report as HTML that needs no network: it contains real points, so it is for their owner only."""
    return compose("Real and synthetic points compared", BANNER, "report", report_data(result))


def report_data(result: Evaluation) -> dict[str, Any]:
    """Return all that the report shows, real points among it, as plain values."""
    compared = result.compared
    return map_data(result) | {
        "cards": [dataclasses.asdict(card) for card in cards(result)],
        "cells": _series(result, "nce_", CELL_SIZES)
        | {"shifted": _series(result, "nce_shifted_", CELL_SIZES)["values"]},
        "ranges": _series(result, "range_", RANGE_RADII) | {"typical": _typical_ranges(compared)},
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


def _typical_ranges(compared: Comparison) -> list[float | None]:
    """Return how many real points a range query finds on average, for each radius."""
    if not len(compared.centres):
        return [None] * len(RANGE_RADII)
    return [float(compared.counts_within(radius)[0].mean()) for radius in RANGE_RADII]


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
