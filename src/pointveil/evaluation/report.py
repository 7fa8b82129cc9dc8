"""The owner's report: one page with both maps, where they differ, and what each number means."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np

from pointveil.evaluation.base import BANNER, XY
from pointveil.evaluation.comparison import Evaluation
from pointveil.evaluation.inputs import Pair
from pointveil.evaluation.map_data import encode_map, encode_points
from pointveil.evaluation.measures import CELL_SIZES, GRANULARITIES, RANGE_RADII
from pointveil.evaluation.pages import compose, statement_data
from pointveil.evaluation.range_queries import choose_centres, counts_within
from pointveil.evaluation.readings import Card, cards, lines, shares_within
from pointveil.files.whole import write_whole

OFFSETS = np.array([0, 1, 2, 3, 4, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 75, 100], dtype=np.float64)


def write_report(path: Path, pair: Pair, result: Evaluation) -> None:
    """Write the report: it contains real points, so it is for their owner only.

    Parameters
    ----------
    path
        The HTML file to write; it needs no other file and no network.
    pair
        What was compared.
    result
        The numbers.
    """
    page = report_page(pair, result)
    write_whole(path, lambda new: _write(new, page))


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def report_page(pair: Pair, result: Evaluation) -> str:
    """Return the report as HTML."""
    real, synthetic = pair.real_on_land, pair.known_synthetic
    typical = _typical_ranges(real, pair, result.seed)
    offsets = _offsets(pair, result)
    data = {
        "names": list(pair.names),
        "points": [result.real_points, result.synthetic_points],
        "left_out": [result.real_left_out, result.synthetic_left_out],
        "warnings": pair.warnings(result),
        "cards": [dataclasses.asdict(card) for card in _cards(result, typical, offsets)],
        "map": encode_map(pair.world),
        "layers": {"real": encode_points(real, pair.world), "synthetic": encode_points(synthetic, pair.world)},
        "cells": _series(result, "nce_", CELL_SIZES) | {"shifted": _values(result, "nce_shifted_", CELL_SIZES)},
        "ranges": _series(result, "range_", RANGE_RADII) | {"typical": [typical.get(r) for r in RANGE_RADII]},
        "hotspots": _series(result, "hotspots_", GRANULARITIES),
        "offsets": offsets,
        "reasons": dict(result.reasons),
        "table": [dataclasses.asdict(line) for line in lines(result)],
        "statement": statement_data(pair.statement),
    }
    return compose("Real and synthetic points compared", BANNER, "report", data)


def glance(pair: Pair, result: Evaluation) -> list[Card]:
    """Return the answers at the top of the report, for those who read no page."""
    return _cards(result, _typical_ranges(pair.real_on_land, pair, result.seed), _offsets(pair, result))


def _cards(result: Evaluation, typical: dict[int, float], offsets: dict[str, Any] | None) -> list[Card]:
    means = None if offsets is None else (offsets["real_mean"], offsets["synthetic_mean"])
    return cards(result, typical_range=typical.get(500, 0.0), road_means=means)


def _typical_ranges(real: XY, pair: Pair, seed: int) -> dict[int, float]:
    """Return how many real points a range query finds on average."""
    centres = choose_centres(pair.world, seed=seed)
    if not len(centres):
        return {}
    return {radius: float(counts_within(real, centres, radius).mean()) for radius in RANGE_RADII}


def _offsets(pair: Pair, result: Evaluation) -> dict[str, Any] | None:
    """Return how far from the roads both are; nothing if that was not measured."""
    if "medd" not in result.values:
        return None
    one, other = pair.road_distances
    return {
        "at": OFFSETS.tolist(),
        "real": shares_within(one, OFFSETS),
        "synthetic": shares_within(other, OFFSETS),
        "real_mean": float(one.mean()),
        "synthetic_mean": float(other.mean()),
    }


def _values(result: Evaluation, start: str, sizes: tuple[int, ...]) -> list[float | None]:
    return [result.values.get(f"{start}{size}") for size in sizes]


def _series(result: Evaluation, start: str, sizes: tuple[int, ...]) -> dict[str, Any]:
    return {"at": list(sizes), "values": _values(result, start, sizes)}
