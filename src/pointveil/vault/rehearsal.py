"""A vault for tests and experiments: repeatable noise, and exact answers for comparison. Not private."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pointveil.cells.coded import Codes
from pointveil.columns import Column, check_keep
from pointveil.engines import Engine, Invented, Tally
from pointveil.errors import InputError
from pointveil.formats import Layout, open_points
from pointveil.statement import Spend, Statement, describe
from pointveil.vault.account import Account, exact_epsilon
from pointveil.vault.noise import SeededWords
from pointveil.vault.protection import Protection
from pointveil.vault.questions import Cells
from pointveil.vault.vault import Vault, make_engine
from pointveil.world import World


class Rehearsal(Vault):
    """Answers as a vault would, with noise from a seed; its statement says "rehearsal: not private".

    Only here can exact answers be had, so that published methods which are not private can be compared.
    """

    __slots__ = ("__engine",)

    def __init__(
        self,
        engine: Engine,
        world: World,
        account: Account,
        protection: Protection,
        *,
        keep: tuple[Column, ...],
        noise: str,
        words: Callable[[int], NDArray[np.uint64]],
    ) -> None:
        super().__init__(engine, world, account, protection, keep=keep, noise=noise, words=words)
        self.__engine = engine

    @classmethod
    def make(
        cls,
        source: Any,
        world: World,
        *,
        epsilon: object,
        seed: int,
        columns: tuple[str, str] | None = None,
        crs: str | None = None,
        person: str | None = None,
        max_points: int | None = None,
        keep: Any = (),
        ledger: None = None,
        threads: int | None = None,
        engine: str = "local",
        master: str | None = None,
    ) -> Rehearsal:
        """Open a rehearsal; `Vault.rehearse` says it all."""
        if ledger is not None:
            raise InputError("A rehearsal is not private: it is refused by the ledger.")
        protection = Protection() if person is None else Protection(max_points, person)
        keep = check_keep(keep)
        points = open_points(source, columns=columns, crs=crs, person=person, keep=keep, engine=engine, master=master)
        key = hashlib.sha256(f"bounding {seed}".encode()).digest()[:16]
        reading = make_engine(points, world, protection, lambda: key, threads)
        account = Account(exact_epsilon(epsilon))
        return cls(reading, world, account, protection, keep=points.keep, noise="exact", words=SeededWords(seed))

    @classmethod
    def on(
        cls, xy: NDArray[np.float64], codes: Codes, world: World, keep: tuple[Column, ...], epsilon: object, seed: int
    ) -> Rehearsal:
        """Open a rehearsal on invented people: their places, (n, 2) metres, and the codes of the kept columns."""
        engine, account = Invented(xy, codes, Layout("frame")), Account(exact_epsilon(epsilon))
        return cls(engine, world, account, Protection(), keep=keep, noise="exact", words=SeededWords(seed))

    @property
    def rehearsal(self) -> bool:
        """It is."""
        return True

    def exact_count(self, cells: Cells) -> NDArray[np.int64]:
        """Return the true number of points in each cell; of persons, of those that are kept. Not private."""
        return self.__engine.sums([Tally(cells, len(cells), of_kept=True)])[0]

    def exact_votes(self, cells: Cells) -> NDArray[np.int64]:
        """Return the true number of persons' votes in each cell. Not private."""
        return self.__engine.sums([Tally(cells, len(cells))])[0]

    def exact_persons(self, ends: tuple[int, ...]) -> NDArray[np.int64]:
        """Return how many persons have so many points. Not private."""
        return self.__engine.persons(ends)

    def exact_points(self) -> NDArray[np.float64]:
        """Return the real points, in metres. Not private."""
        return np.concatenate([np.zeros((0, 2)), *self.__engine.points()])


def scripted_statement(world: World, spends: Sequence[Spend], points_per_unit: int) -> Statement:
    """Return the statement of a vault that holds no points and answers from a script."""
    protection = Protection() if points_per_unit == 1 else Protection(points_per_unit, "person")
    return describe(spends, protection, world, release="0" * 32, noise="exact", charge=None, rehearsal=True)
