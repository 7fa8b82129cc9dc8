"""Divide the world into regions around centres of noisy density (the paper's Clust)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pointveil.cells import Floats, Grid, Voronoi, nearest_of
from pointveil.errors import InputError
from pointveil.ground import pack
from pointveil.partition.base import Budget, Counted, ask_total, grid_side, partitioner, settle
from pointveil.vault import Respondent
from pointveil.world import World

CENTIMETRE = 0.01
MOST_CLUSTERS = 100_000


@partitioner
@dataclass(frozen=True)
class Clusters:
    """Voronoi regions around centres found by weighted k-means on a noisy grid (EUGKM).

    Parameters
    ----------
    clusters
        How many regions are wanted (1,000 in the paper); a world with little land may get fewer.
    granularity
        How many points a cell of the grid should have for each unit of noise (10 in the paper).
    rounds
        How often the centres are moved at most.

    Examples
    --------
    >>> pv.Method(pv.Clusters(clusters=50), pv.Uniform(), {"shape": "2/3", "count": "1/3"})
    <Method custom: Clusters, Uniform; shape 2/3, count 1/3>
    """

    clusters: int = 1000
    granularity: float = 10.0
    rounds: int = 20
    spends: ClassVar[tuple[str, ...]] = ("total", "shape", "count")
    post_processing: ClassVar[tuple[str, ...]] = (
        "centres moved to the mean position of the noisy counts nearest to them",
        "negative counts removed, keeping the total",
    )

    def __post_init__(self) -> None:
        if not 1 <= self.clusters <= MOST_CLUSTERS or self.rounds < 0:
            raise InputError(f"clusters must be between 1 and {MOST_CLUSTERS:,}, and rounds must not be negative.")

    def divide(self, vault: Respondent, world: World, budget: Budget) -> Counted:
        """Count a grid, move evenly packed centres to where the counts are, and count the regions around them."""
        total = ask_total(vault, budget["total"])
        side = grid_side(total, budget["shape"].epsilon / vault.points_per_unit, self.granularity)
        grid = Grid(world.bounds, side, side)
        weights = np.maximum(vault.count(grid, budget["shape"]).values, 0).astype(np.float64)
        places = grid.lower_corners() + np.array(grid.cell_size) / 2
        start = pack(self.clusters, world.bounds, world.on_land, world.land_area)
        centres = move_centres(start, places[weights > 0], weights[weights > 0], self.rounds)
        regions = Voronoi(world.bounds, distinct(centres))
        return settle(regions, vault.count(regions, budget["count"]), world)


def move_centres(centres: Floats, places: Floats, weights: Floats, rounds: int) -> Floats:
    """Move (k, 2) centres to the weighted mean of the places nearest to them, repeatedly (k-means), in metres."""
    # A centre that is nearest to no place stays where it is. Of equally near centres the one with the lowest number
    # gets the place, so that every machine decides alike.
    label = np.full(len(places), -1)
    for _ in range(rounds):
        before, label = label, nearest_of(centres, places)
        if (label == before).all():
            break
        weight = np.bincount(label, weights, len(centres))
        sums = [np.bincount(label, weights * places[:, axis], len(centres)) for axis in (0, 1)]
        moved = np.column_stack(sums) / np.where(weight > 0, weight, 1.0)[:, None]
        centres = np.where((weight > 0)[:, None], moved, centres)
    return centres


def distinct(centres: Floats) -> Floats:
    """Return centres rounded to centimetres, in their order, each once."""
    # Rounding hides differences in the last bits between machines; two centres at one place would leave one empty.
    rounded = np.rint(centres / CENTIMETRE) * CENTIMETRE
    first = np.unique(rounded, axis=0, return_index=True)[1]
    return np.asarray(rounded[np.sort(first)])
