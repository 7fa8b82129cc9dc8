"""Make a partitioner and a placement of one's own, survey once, and draw twice for one price.

Run: python examples/custom_method.py [DIRECTORY]
"""

import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import pointveil as pv
from pointveil.cells import Grid
from pointveil.demo import city, write_people
from pointveil.partition import Budget, Counted, partitioner, settle
from pointveil.placement import placement, shuffled_regions
from pointveil.vault import Respondent


@partitioner
@dataclass(frozen=True)
class Stripes:
    """Vertical stripes of equal width, counted once."""

    stripes: int = 40
    spends = ("count",)

    def divide(self, vault: Respondent, world: pv.World, budget: Budget) -> Counted:
        """Count the people in each stripe."""
        grid = Grid(world.bounds, columns=self.stripes, rows=1)
        return settle(grid, vault.count(grid, budget["count"]), world)


@placement
@dataclass(frozen=True)
class InPairs:
    """Two people at each place, anywhere on the land of their region."""

    def ask(self, vault: Respondent, world: pv.World, counted: Counted, budget: Budget) -> None:
        """Ask nothing: the counts are enough."""

    def draw(
        self, world: pv.World, counted: Counted, answers: None, count: int, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Return (count, 2) metres."""
        region = shuffled_regions(counted.counts, count, rng)
        return np.repeat(counted.land.pick(region[::2], rng), 2, axis=0)[:count]


pv.register_method(pv.Method(Stripes(), InPairs(), {"count": 1}, name="stripes", when="To learn how a method is made."))


def main(directory: Path) -> None:
    """Survey the built-in city, save the survey, read it again, and draw two files from it."""
    world = city()
    write_people(directory / "people.parquet", world, count=20_000)

    own = pv.Method(Stripes(100), pv.WeightedUniform(0.3), {"count": 1})  # parts of one's own fit those that are there
    # The people are invented, so no ledger needs to account for them.
    vault = pv.Vault.open(directory / "people.parquet", world, epsilon=2, ledger=None)
    pv.survey(vault, own).write(directory / "own.survey")

    survey = pv.Survey.read(directory / "own.survey")
    first, second = pv.draw(survey, seed=1), pv.draw(survey, seed=2)
    first.write(directory / "first.parquet")
    second.write(directory / "second.geojson")
    print(survey.statement)
    print(first, second, sep="\n")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as folder:
            main(Path(folder))
