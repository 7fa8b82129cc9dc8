"""Customers, and what is lost when no facility of a set is chosen."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.spatial import cKDTree

from pointveil.evaluation.base import XY, UnmeasuredError

Chosen = NDArray[np.int64]
"""Numbers of the chosen candidates, rising."""

_SECONDS = 60.0  # the longest that one exact solution may take


@dataclass(frozen=True)
class Customers:
    """Customers at distinct places, and the candidates they choose among.

    Parameters
    ----------
    places
        Where customers are, in metres.
    weights
        How many customers are at each place.
    candidates
        Where a facility may open, in metres.
    limits
        A candidate at this distance or farther is of no use to the customer: an existing facility is nearer.
    """

    places: XY
    weights: NDArray[np.float64]
    candidates: XY
    limits: NDArray[np.float64]

    @classmethod
    def of(cls, xy: XY, candidates: XY, existing: XY | None) -> "Customers":
        """Gather customers who stand on the same spot: exact, since they have the same distances."""
        spots, weights = np.unique(xy[:, 0] + 1j * xy[:, 1], return_counts=True)
        places = np.column_stack([spots.real, spots.imag])
        limits = np.full(len(places), np.inf)
        if existing is not None and len(existing):
            limits = np.asarray(cKDTree(existing).query(places)[0], dtype=np.float64)
        return cls(places, weights.astype(np.float64), candidates, limits)


@dataclass(frozen=True)
class Misses:
    """What is lost when no member of a set of candidates is chosen: members·y + chain·missed ≥ needed.

    Parameters
    ----------
    members
        Sets × candidates.
    chain
        Sets × sets: the identity, less an earlier set whose miss this one follows from.
    needed
        1 for a set that stands for itself, 0 for one that follows from an earlier set.
    weights
        What is lost with each set.
    """

    members: sparse.csr_array
    chain: sparse.csr_array
    needed: NDArray[np.float64]
    weights: NDArray[np.float64]


def least_missed(misses: Misses, choose: int, *, in_parts: bool = False) -> NDArray[np.float64]:
    """Open `choose` candidates so that least is lost (HiGHS, to the last digit).

    Parameters
    ----------
    misses
        What is lost with each set.
    choose
        How many candidates to open.
    in_parts
        Whether a candidate may open in part, which is quicker to solve and loses no more.

    Returns
    -------
    array
        1 for each candidate to open, 0 for the others; or parts.
    """
    sets, candidates = misses.members.shape
    if not misses.weights.any():
        return (np.arange(candidates) < choose).astype(np.float64)
    kind = np.concatenate([np.ones(candidates), np.zeros(sets)])
    found = milp(
        np.concatenate([np.zeros(candidates), misses.weights * (1e6 / misses.weights.sum())]),
        integrality=np.zeros_like(kind) if in_parts else kind,
        bounds=Bounds(0, 1),
        constraints=[
            LinearConstraint(sparse.hstack([misses.members, misses.chain], format="csr"), misses.needed, np.inf),
            LinearConstraint(sparse.csr_array(kind[None, :]), choose, choose),
        ],
        options={"mip_rel_gap": 0.0, "time_limit": _SECONDS},
    )
    if found.status != 0:
        raise UnmeasuredError(
            f"no exact answer to the facility question within {_SECONDS:g} s; ask for solver='greedy'"
        )
    opening: NDArray[np.float64] = found.x[:candidates]
    return opening if in_parts else np.rint(opening)


def ones(rows: NDArray[np.int64], columns: NDArray[np.int64], shape: tuple[int, int]) -> sparse.csr_array:
    """Return a sparse matrix with a 1 at each row and column."""
    return sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=shape)
