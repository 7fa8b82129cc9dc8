"""Every measure as one table, with how to read it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

from pointveil.evaluation.cell_error import normalized_cell_error, shifted_cell_error
from pointveil.evaluation.cell_ranks import kendall_tau
from pointveil.evaluation.copying import copied_share
from pointveil.evaluation.divergence import jensen_shannon
from pointveil.evaluation.edge_distance import mean_edge_distance_difference, off_road_difference
from pointveil.evaluation.facilities import least_distance_agreement, most_influential_agreement
from pointveil.evaluation.hotspots import hotspot_agreement
from pointveil.evaluation.pair_correlation import pair_correlation_error
from pointveil.evaluation.range_queries import range_query_error
from pointveil.evaluation.totals import off_land_share, total_count_error
from pointveil.evaluation.wasserstein import sliced_wasserstein

CELL_SIZES = (25, 50, 100, 200, 500)
RANGE_RADII = (100, 250, 500, 1000, 2000)
GRANULARITIES = (64, 128, 256, 512, 1024)


@dataclass(frozen=True)
class Measure:
    """One number that compares synthetic with real points, and how to read it.

    Parameters
    ----------
    function
        `(real, synthetic, world, …) → float`, points in metres.
    unit
        What the number counts; empty for a bare number.
    better
        Which way is better.
    best
        The value for synthetic points that are as good as can be.
    reading
        One plain sentence.
    needs_roads
        Whether the world must have roads.
    seeded
        Whether the function takes a seed.
    """

    function: Callable[..., float]
    unit: str
    better: Literal["lower", "higher", "nearer"]
    best: float
    reading: str
    needs_roads: bool = False
    seeded: bool = False


def _aligned(cell: int) -> Measure:
    return Measure(
        partial(normalized_cell_error, cell=float(cell)),
        unit="",
        better="lower",
        best=0.0,
        reading=f"Points too many or too few in {cell} m cells, per real point: 0 is perfect, and 2 means that "
        "everybody is in the wrong cell. The grid starts at the corner of the map, as in the paper.",
    )


def _shifted(cell: int) -> Measure:
    return Measure(
        partial(shifted_cell_error, cell=float(cell)),
        unit="",
        better="lower",
        best=0.0,
        reading=f"The same for {cell} m cells laid at random, which is fairer: nobody's own grid helps.",
        seeded=True,
    )


def _range(radius: int) -> Measure:
    return Measure(
        partial(range_query_error, radius=float(radius)),
        unit="points",
        better="lower",
        best=0.0,
        reading=f'How many people the answer to "how many within {radius} m of this crossing?" is off by, '
        "on average over 100 crossings.",
        seeded=True,
    )


def _hotspots(granularity: int) -> Measure:
    return Measure(
        partial(hotspot_agreement, granularity=granularity),
        unit="",
        better="higher",
        best=1.0,
        reading=f"How much of the busiest twentieth of the map, cut {granularity} × {granularity}, is the same: "
        "1 is all of it, 0 none.",
    )


MEASURES: dict[str, Measure] = {
    **{f"nce_{cell}": _aligned(cell) for cell in CELL_SIZES},
    **{f"nce_shifted_{cell}": _shifted(cell) for cell in CELL_SIZES},
    "medd": Measure(
        mean_edge_distance_difference,
        unit="m",
        better="lower",
        best=0.0,
        reading="How much farther from, or nearer to, the roads the synthetic points are on average.",
        needs_roads=True,
    ),
    **{f"range_{radius}": _range(radius) for radius in RANGE_RADII},
    **{f"hotspots_{granularity}": _hotspots(granularity) for granularity in GRANULARITIES},
    "most_influential": Measure(
        most_influential_agreement,
        unit="",
        better="higher",
        best=1.0,
        reading="Of the 20 crossings, out of 100, that attract most people within 500 m, how many are the same "
        "with synthetic points: 1 is all, 0 none.",
        seeded=True,
    ),
    "most_influential_greedy": Measure(
        partial(most_influential_agreement, solver="greedy"),
        unit="",
        better="higher",
        best=1.0,
        reading="The same when crossings are picked one by one, the best next.",
        seeded=True,
    ),
    "least_distance": Measure(
        least_distance_agreement,
        unit="",
        better="higher",
        best=1.0,
        reading="Of the 20 crossings, out of 100, that people have the least way to, how many are the same "
        "with synthetic points: 1 is all, 0 none.",
        seeded=True,
    ),
    "least_distance_greedy": Measure(
        partial(least_distance_agreement, solver="greedy"),
        unit="",
        better="higher",
        best=1.0,
        reading="The same when crossings are picked one by one, the best next.",
        seeded=True,
    ),
    "sliced_wasserstein": Measure(
        sliced_wasserstein,
        unit="m",
        better="lower",
        best=0.0,
        reading="How far points would have to be carried, seen from the side, to turn one map into the other.",
    ),
    "jensen_shannon": Measure(
        jensen_shannon,
        unit="bits",
        better="lower",
        best=0.0,
        reading="How easily one tells from a point's 100 m cell which map it comes from: 0 not at all, 1 always.",
        seeded=True,
    ),
    "kendall_tau": Measure(
        kendall_tau,
        unit="",
        better="higher",
        best=1.0,
        reading="Whether the busier of two 100 m cells is the busier in both maps: 1 always, 0 as by chance.",
        seeded=True,
    ),
    "pair_correlation": Measure(
        pair_correlation_error,
        unit="",
        better="lower",
        best=0.0,
        reading="How differently points huddle together at distances up to 200 m: 0 the same, 1 not alike at all.",
    ),
    "total_count": Measure(
        total_count_error,
        unit="",
        better="lower",
        best=0.0,
        reading="By what share the total number of points is wrong.",
    ),
    "off_land": Measure(
        off_land_share,
        unit="",
        better="lower",
        best=0.0,
        reading="The share of synthetic points in water or outside the boundary.",
    ),
    "off_road": Measure(
        off_road_difference,
        unit="",
        better="nearer",
        best=0.0,
        reading="How much larger the share of points over 25 m from any road is; below 0, how much smaller.",
        needs_roads=True,
    ),
    "copied": Measure(
        copied_share,
        unit="",
        better="lower",
        best=0.0,
        reading="About what share of synthetic points lie nearer to a real one than a fresh sample of the city "
        "would: near 0 is right, 1 is a copy of the file.",
        seeded=True,
    ),
}
"""Name → measure. A new measure is one file and one row."""
