"""The ten methods as published, as one table; only a rehearsal can run them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import numpy as np

from pointveil.cells import Floats
from pointveil.errors import InputError
from pointveil.lab.as_published import kernel, regions, road
from pointveil.landing import to_lattice
from pointveil.partition import Counted
from pointveil.placement import Uniform, WeightedUniform
from pointveil.statement import MethodUsed, Statement
from pointveil.synthetic import SyntheticPoints
from pointveil.vault import Rehearsal
from pointveil.world import World

STAMP = "NOT PRIVATE: a method as published, for comparison only"
TRUE_TOTAL = "The true number of points sets the size of the grid, and one more point can change it."
RESCALED = "Counts are rescaled to the true number of points, which can be read off the result."
RANGES = "Histogram ranges come from the real points, and edges without points can be told from the others."
FLOATS = "The noise is drawn in floating point from a seeded generator."
KERNEL = (
    "The kernel has an infinite density at the real point it is drawn around, so it marks that point's exact place."
)

Shares = Mapping[str, float]
Divide = Callable[[Rehearsal, World, Shares, np.random.Generator], Any]
Place = Callable[[Rehearsal, World, Any, Shares, np.random.Generator], Floats]


@dataclass(frozen=True)
class Published:
    """A method as published."""

    name: str  # as in the table
    divide: Divide  # the paper's partitioning
    place: Place  # and generation
    split: Mapping[str, Fraction]  # the part of epsilon for each purpose, as the paper found best
    why_not_private: tuple[str, ...]  # what breaks the promise, in sentences


def rehearse(vault: Rehearsal, name: str, seed: int) -> SyntheticPoints:
    """Make points by a row of `AS_PUBLISHED`, from a rehearsal's exact answers only, as it is not private."""
    if not isinstance(vault, Rehearsal):
        raise InputError("A method as published is not private: it runs only on a rehearsal (Vault.rehearse).")
    if name not in AS_PUBLISHED:
        raise InputError(f"There is no method '{name}' as published. Choose from: {', '.join(AS_PUBLISHED)}.")
    row, world, rng = AS_PUBLISHED[name], vault.world, np.random.default_rng(seed)
    shares = {purpose: float(part * vault.epsilon) for purpose, part in row.split.items()}
    counted = row.divide(vault, world, shares, rng)
    xy = row.place(vault, world, counted, shares, rng)
    coordinates = to_lattice(xy, world, vault.layout.crs, rng)
    return SyntheticPoints(coordinates, vault.layout, not_private(vault, row))


def not_private(vault: Rehearsal, row: Published) -> Statement:
    """Return a statement that promises nothing; what it claims does not add up, so verification refuses it."""
    statement = vault.statement
    split = {purpose: str(part) for purpose, part in row.split.items()}
    guarantee = statement.guarantee.model_copy(
        update={"epsilon": str(vault.epsilon), "unit": "nobody: epsilon is the paper's claim, which does not hold"}
    )
    return statement.model_copy(
        update={
            "rehearsal": STAMP,
            "guarantee": guarantee,
            "method": MethodUsed(name=row.name, parameters={}, split=split),
            "unprotected": row.why_not_private,
            "in_plain_words": " ".join(("NOT PRIVATE.", *row.why_not_private, "It must not be shared.")),
        }
    )


def _weighted(vault: Rehearsal, world: World, counted: Counted, _: Shares, rng: np.random.Generator) -> Floats:
    placement = WeightedUniform(0.5)
    return placement.draw(world, counted, placement.ask(vault, world, counted, {}), counted.total, rng)


DIVIDE = {"ugrid": regions.uniform_grid, "agrid": regions.adaptive_grid, "clust": regions.clusters}
PLACE: dict[str, Place] = {
    "uni": lambda _, world, counted, __, rng: Uniform().draw(world, counted, None, counted.total, rng),
    "wud": _weighted,
    "kde": lambda vault, world, counted, shares, rng: kernel.scatter(vault, world, counted, shares["place"], rng),
}
SPLITS = {
    "ugrid": {"count": "1"},
    "ugrid-kde": {"count": "3/5", "place": "2/5"},
    "agrid": {"shape": "1/2", "count": "1/2"},
    "agrid-kde": {"shape": "2/5", "count": "2/5", "place": "1/5"},
    "clust": {"shape": "2/3", "count": "1/3"},
    "clust-kde": {"shape": "1/4", "count": "1/2", "place": "1/4"},
}


def _row(where: str, how: str) -> Published:
    split = SPLITS.get(f"{where}-{how}", SPLITS[where])
    exact = MappingProxyType({purpose: Fraction(part) for purpose, part in split.items()})
    why = (TRUE_TOTAL, FLOATS, KERNEL) if how == "kde" else (TRUE_TOTAL, FLOATS)
    return Published(f"{where}-{how}-as-published", DIVIDE[where], PLACE[how], exact, why)


THIRD = Fraction(1, 3)
ROAD = Published(
    "road-as-published",
    road.count_edges,
    road.place,
    MappingProxyType({"count": THIRD, "along": THIRD, "offset": THIRD}),
    (RESCALED, RANGES, FLOATS),
)
AS_PUBLISHED: Mapping[str, Published] = MappingProxyType(
    {row.name: row for row in (*(_row(where, how) for where in DIVIDE for how in PLACE), ROAD)}
)
