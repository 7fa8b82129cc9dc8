"""Exact sums over invented people, who are in no file: an engine for rehearsals."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pointveil.cells.arrays import Floats, Ints
from pointveil.cells.coded import Codes
from pointveil.engines.base import Tally
from pointveil.formats import Layout


@dataclass(frozen=True, eq=False)
class Invented:
    """Counts people whom a rehearsal invents: their places, (n, 2) metres, and the codes of their kept columns."""

    xy: Floats
    codes: Codes
    layout: Layout
    gathers: bool = True
    reads_again: bool = False
    alike: tuple[bytes, ...] = ()

    def sums(self, tallies: Sequence[Tally]) -> list[Ints]:
        """Return the counts that each tally asks for."""
        return [tally.count(self.xy, self.codes) for tally in tallies]

    def persons(self, ends: Sequence[int]) -> Ints:
        """Return how many have so many points: all have one."""
        return np.array([len(self.xy), *[0] * (len(ends) - 1)])

    def use_at_most(self, points: int) -> None:
        """Let each count as its one point."""

    def points(self) -> Iterator[Floats]:
        """Yield all of them."""
        yield self.xy

    def digest(self) -> bytes:
        """Return nothing: no ledger is to know them."""
        return b""

    def forget(self) -> None:
        """Keep them: nobody needs to be forgotten."""
