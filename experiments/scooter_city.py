"""A made-up file of scooter users in a real city: 8,257 users with a median of 3 points, and a few with hundreds.

Places are real ones, dealt out anew: every user has a home, half of their points lie among the places nearest to it,
and the rest anywhere in the city. So users are unlike each other, as they are in truth.
"""

import numpy as np
import pyarrow as pa
from scipy.spatial import cKDTree

USERS = 8_257
MEDIAN, SPREAD = 3.0, 1.25  # points of a user, and the standard deviation of their logarithm
AT_HOME, NEAREST = 0.5, 1_000  # the part of a user's points that lies among so many places around the home


def make(places: np.ndarray, seed: int = 17) -> pa.Table:
    """Return a table with `lon`, `lat` and `user` from (n, 2) real places, in degrees."""
    rng = np.random.default_rng(seed)
    points = np.maximum(1, np.rint(rng.lognormal(np.log(MEDIAN), SPREAD, USERS))).astype(np.int64)
    user = np.repeat(np.arange(USERS), points)
    around = cKDTree(places).query(places[rng.integers(0, len(places), USERS)], NEAREST)[1]
    chosen = rng.integers(0, len(places), len(user))
    near = rng.random(len(user)) < AT_HOME
    chosen[near] = around[user[near], rng.integers(0, NEAREST, near.sum())]
    lon, lat = places[chosen].T
    return pa.table({"lon": lon, "lat": lat, "user": user}).take(rng.permutation(len(user)))
