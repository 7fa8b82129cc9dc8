"""Methods that are wrong on purpose: an audit that does not catch every one of them is worth nothing."""

import math
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, cast

import numpy as np

from pointveil.cells import Everywhere, Floats, Grid, Ints
from pointveil.estimate.sizes import ENDS
from pointveil.ground import clip_to_land
from pointveil.lab.as_published.kernel import scatter
from pointveil.lab.as_published.regions import true_total
from pointveil.lab.audit.priors import open_with_the_better
from pointveil.lab.audit.questions import ask_crowding, ask_scatter
from pointveil.lab.audit.subjects import (
    CLAIM,
    MAX_POINTS,
    Published,
    Publisher,
    Records,
    Subject,
    method_subject,
    opening,
)
from pointveil.methods import METHODS
from pointveil.partition import Counted
from pointveil.vault import NoisyCounts, Rehearsal, Share, Sites, Vault
from pointveil.world import World

HALF = Fraction(1, 2)
Noisy = Callable[["Leaky", Ints, Fraction], object]


def enough_noise(vault: "Leaky", exact: Ints, epsilon: Fraction) -> Ints:
    """Add the noise that an honest vault would add."""
    return exact + vault.laplace(epsilon / vault.points_per_unit, len(exact))


@dataclass
class Leaky:
    """A rehearsal's vault that can be told to be wrong: it shows real points to whoever asks."""

    vault: Rehearsal  # holds the points
    noisy: Noisy = enough_noise  # makes noisy counts of exact ones
    seed: int | None = None  # of its noise; another every time if there is none
    rng: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(secrets.randbits(64) if self.seed is None else self.seed)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.vault, name)

    def count(self, cells: Any, share: Share) -> NoisyCounts:
        """Answer by the cells' own tally, if they have one, and with the noise that was chosen."""
        own = hasattr(cells, "tally")
        exact = cells.tally(self.vault.exact_points()) if own else self.vault.exact_votes(cells)
        values = cast("Ints", np.asarray(self.noisy(self, exact, share.epsilon)))
        return NoisyCounts(values, share.purpose, share.epsilon, self.vault.points_per_unit)

    def laplace(self, epsilon: Fraction, count: int) -> Ints:
        """Return integer Laplace noise, as a difference of two geometric numbers."""
        chance = -math.expm1(-float(epsilon))
        return self.rng.geometric(chance, count) - self.rng.geometric(chance, count)


def open_leaky(kind: type[Leaky] = Leaky, **wrong: Any) -> Callable[[Records, World, Subject], Leaky]:
    """Return what opens a leaky vault."""

    def opened(records: Records, world: World, subject: Subject) -> Leaky:
        options = opening(world, subject)
        return kind(Vault.rehearse(records.table(), world, epsilon=99, seed=secrets.randbits(60), **options), **wrong)

    return opened


def grid_of(vault: Any, side: int) -> Grid:
    """Return a square grid over the world."""
    return Grid(vault.world.bounds, side, side)


def streets_of(vault: Any) -> Grid:
    """Return cells of 50 m in the small world and in the city alike: "streets" of which each has few people."""
    return grid_of(vault, 20 if vault.world.land_area <= 1e6 else 80)


def side_for(count: float) -> int:
    """Return the paper's grid size for so many points."""
    return max(1, math.ceil(math.sqrt(max(count, 0) / 10)))


def fill(vault: Any, grid: Grid, counts: object) -> Floats:
    """Return points spread evenly in each cell, shuffled; where a point has several votes, as many as these make."""
    votes = vault.points_per_unit // vault.kept_per_unit
    whole = np.maximum(np.rint(np.asarray(counts, dtype=np.float64) / votes), 0).astype(np.int64)
    cell = np.repeat(np.arange(len(grid)), whole)
    vault.rng.shuffle(cell)
    xy = grid.lower_corners()[cell] + vault.rng.random((len(cell), 2)) * np.array(grid.cell_size)
    return cast("Floats", np.round(vault.world.projection.from_metres(xy), 2))


def count_and_fill(vault: Any, grid: Grid, epsilon: Fraction = CLAIM) -> Published:
    """Return points that follow the noisy counts of a grid, and nothing else."""
    return fill(vault, grid, vault.count(grid, Share("count", epsilon)).values), ""


MUTANTS: dict[str, Subject] = {}


def mutant(name: str, opener: Any = None, points_per_unit: int = 1) -> Callable[[Publisher], Publisher]:
    """Add what publishes a release to the mutants, with a vault that is wrong or right."""

    def added(publish: Publisher) -> Publisher:
        MUTANTS[name] = Subject(name, publish, CLAIM, points_per_unit, opener or open_leaky())
        return publish

    return added


@mutant("the paper's kernel")
def _kernel(vault: Any) -> Published:
    # An exponential radius at an even angle: the density is infinite at the point itself.
    world = vault.world
    grid = Grid(world.bounds, *(round(side / 100) for side in world.size))
    counts = np.maximum(vault.count(grid, Share("count", Fraction(3, 5))).values, 0)
    made = scatter(vault, world, Counted(grid, counts, clip_to_land(grid, world)), 0.4, vault.rng)
    return np.round(world.projection.from_metres(made), 2), ""


@mutant("rows in the order of the file")
def _file_order(vault: Any) -> Published:
    # Each record is blurred enough against one other place.
    total = max(0, int(vault.count(Everywhere(), Share("count", HALF)).values[0]))
    halves, points = grid_of(vault, 2), vault.exact_points()
    cell = halves.locate(points)[:total] % 2
    stays = vault.rng.random(len(cell)) < 1 / (1 + math.exp(-0.5))
    cell = np.concatenate([np.where(stays, cell, 1 - cell), vault.rng.integers(0, 2, total - len(cell))])
    xy = vault.rng.uniform((0, 0), np.array(halves.cell_size), (total, 2)) + cell[:, None] * [halves.cell_size[0], 0]
    return vault.world.projection.from_metres(xy), ""


@mutant("true total in the grid's size")
def _true_size(vault: Any) -> Published:
    return count_and_fill(vault, grid_of(vault, side_for(true_total(vault))))


@mutant("true total in the road's rescaling")
def _rescaled(vault: Any) -> Published:
    grid = grid_of(vault, 12)
    noisy = np.maximum(vault.count(grid, Share("count", CLAIM)).values, 0) + 1e-9
    return fill(vault, grid, vault.rng.multinomial(true_total(vault), noisy / noisy.sum())), ""


@mutant("ranges made from the data")
def _data_range(vault: Any) -> Published:
    points = vault.exact_points()
    low, high = (points.min(axis=0), points.max(axis=0) + 1) if len(points) else (np.zeros(2), np.ones(2))
    return count_and_fill(vault, Grid((*low.tolist(), *high.tolist()), 4, 4))


@mutant("a branch for empty streets")
def _empty_branch(vault: Any) -> Published:
    # A street without points has a fixed range of offsets, and one with points their own range.
    grid = grid_of(vault, 12)
    noisy = np.maximum(vault.count(grid, Share("count", CLAIM)).values, 0)
    points, made = vault.exact_points(), fill(vault, grid, noisy)
    cell, drawn = grid.locate(points), grid.locate(vault.world.projection.to_metres(made))
    for region in np.unique(cell[cell >= 0]):
        low, high = points[cell == region].min(axis=0), points[cell == region].max(axis=0)
        here = drawn == region
        made[here] = vault.world.projection.from_metres(vault.rng.uniform(low, high, (int(here.sum()), 2)))
    return made, ""


@dataclass(frozen=True)
class Mistallied:
    """Cells that find points as an honest grid does, but are counted by a rule of their own."""

    grid: Grid
    tally: Callable[[Floats], Ints]  # counts points, (n, 2) metres, in each cell
    times: int = 1  # how many cells there are for each of the grid's

    def __len__(self) -> int:
        return self.times * len(self.grid)

    def locate(self, xy: Floats) -> Ints:
        """Return one of the cells of each point."""
        return self.grid.locate(xy)


@mutant("closed cells")
def _closed_cells(vault: Any) -> Published:
    # A point on a border is counted in every cell that has it: one on a corner in all four.
    grid = grid_of(vault, 10)
    low = grid.lower_corners()
    high = low + grid.cell_size

    def tally(xy: Floats) -> Ints:
        inside = (xy[:, None] >= low) & (xy[:, None] <= high)
        return cast("Ints", inside.all(axis=2).sum(axis=0))

    return fill(vault, grid, vault.count(Mistallied(grid, tally), Share("count", CLAIM)).values), ""


@mutant("two directed edges for one street")
def _two_edges(vault: Any) -> Published:
    streets = streets_of(vault)

    def tally(xy: Floats) -> Ints:
        street = streets.locate(xy)
        return np.tile(np.bincount(street[street >= 0], minlength=len(streets)), 2)

    both = vault.count(Mistallied(streets, tally, 2), Share("count", CLAIM)).values
    return fill(vault, streets, both[: len(streets)] + both[len(streets) :]), ""


@mutant("swap neighbours")
def _swapped(vault: Any) -> Published:
    # The number of points is taken for public, which only neighbours that move, not come and go, would allow.
    made, total = count_and_fill(vault, grid_of(vault, 12))[0], true_total(vault)
    return made[:total], f"{total} points"


@mutant("second level from true counts")
def _true_level(vault: Any) -> Published:
    coarse = grid_of(vault, 4)
    vault.count(coarse, Share("shape", HALF))
    busiest = int(vault.exact_count(coarse).max())
    return count_and_fill(vault, grid_of(vault, 4 * side_for(busiest)), HALF)


def plain_grid(vault: Any) -> Published:
    """Ask for the total and then for a grid: an honest method, for a vault that is not."""
    total = int(vault.count(Everywhere(), Share("total", Fraction(1, 100))).values[0])
    least = 10 if vault.world.land_area <= 1e6 else 60
    return count_and_fill(vault, grid_of(vault, max(least, min(side_for(total), 100))), Fraction(99, 100))


def noise_for_one(vault: Leaky, exact: Ints, epsilon: Fraction) -> Ints:
    """Add the noise of a single point, even where a person has k of them."""
    return exact + vault.laplace(epsilon * vault.kept_per_unit / vault.points_per_unit, len(exact))


def short_noise(vault: Leaky, exact: Ints, epsilon: Fraction) -> Ints:
    """Cut the noise off at three times its scale, where it seems rare enough."""
    reach = round(3 / float(epsilon))
    return exact + np.clip(vault.laplace(epsilon, len(exact)), -reach, reach)


NOISES: dict[str, Noisy] = {
    "float noise, not rounded": lambda vault, exact, epsilon: (
        exact + vault.rng.laplace(0.0, float(1 / epsilon), len(exact))
    ),
    "noise of half the size": lambda vault, exact, epsilon: enough_noise(vault, exact, 2 * epsilon),
    "noise cut off": short_noise,
    "one noise for two questions": lambda vault, exact, _: (
        exact + vault.__dict__.setdefault("drawn", int(vault.laplace(HALF, 1)[0]))
    ),
    "no noise in empty cells": lambda *asked: np.where(asked[1] > 0, noise_for_one(*asked), 0),
}
for _name, _noisy in NOISES.items():
    mutant(_name, open_leaky(noisy=_noisy))(plain_grid)


@dataclass
class UnpaidUses(Leaky):
    """Blurs every use of a point with the whole epsilon."""

    def scatter(self, regions: Sites, wanted: Ints, share: Share, *, max_uses: int = 1) -> Any:
        """Ask for as much epsilon as all uses together would cost."""
        unpaid = Share(share.purpose, share.epsilon * max_uses)
        return self.vault.scatter(regions, wanted, unpaid, max_uses=max_uses)

    @property
    def left(self) -> Fraction:
        """What it claims to spend."""
        return CLAIM


@dataclass
class CheapCrowds(Leaky):
    """Charges a crowd as if one point more or less changed it by one."""

    def crowding(self, cells: Any, least: int, share: Share) -> NoisyCounts:
        """Answer with the noise of a count."""
        held, points = self.vault.exact_count(cells), self.vault.kept_per_unit
        noisy = np.array([held[held >= least].sum()]) + self.laplace(share.epsilon / points, 1)
        return NoisyCounts(noisy, share.purpose, share.epsilon, points * least)

    @property
    def left(self) -> Fraction:
        """What it claims to spend."""
        return CLAIM


mutant("a crowd charged as one point", open_leaky(CheapCrowds))(ask_crowding(21))
mutant("a person's crowds charged as k points", open_leaky(CheapCrowds), MAX_POINTS)(ask_crowding(MAX_POINTS))
mutant("a prior chosen by the records", open_with_the_better)(method_subject(METHODS["veil"]).publish)
mutant("uses not paid for", open_leaky(UnpaidUses))(ask_scatter(12))
mutant("k points charged as one", open_leaky(noisy=noise_for_one), MAX_POINTS)(plain_grid)


@mutant("what a person counts for, from true sizes", None, MAX_POINTS)
def _limit_from_true_sizes(vault: Any) -> Published:
    held = np.flatnonzero(vault.exact_persons(ENDS))
    return count_and_fill(vault, grid_of(vault, 4))[0], f"at most {ENDS[held.max(initial=0)]} points of one person"


@mutant("two answers for one charge")
def _twice(vault: Any) -> Published:
    grid = streets_of(vault)
    for _ in range(2):
        vault.count(grid, Share("count", CLAIM))
    return np.zeros((0, 2)), ""


mutant("noise from a fixed seed", open_leaky(seed=1))(plain_grid)


@mutant("the number of good records told")
def _told(vault: Any) -> Published:
    xy, _ = plain_grid(vault)
    return xy, f"{len(vault.exact_points())} records used"


@mutant("an error when there are few")
def _fails_on_few(vault: Any) -> Published:
    if len(vault.exact_points()) < 3:
        raise ValueError("too few points")
    return plain_grid(vault)
