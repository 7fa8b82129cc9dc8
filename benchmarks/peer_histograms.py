"""What a user of another library would write: a noisy histogram of 256 x 256 cells, and points spread evenly in them.

Run by scale.py, in an environment that has that library: python peer_histograms.py LIBRARY IN OUT EPSILON W S E N
"""

import sys
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

SIDE = 256
Counts = NDArray[Any]


def by_opendp(x: Counts, y: Counts, epsilon: float, box: Any) -> Counts:
    """Return counts with OpenDP's noise."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    counts = np.histogram2d(x, y, bins=SIDE, range=box)[0].astype(int)
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    return np.asarray(dp.m.make_laplace(*space, scale=1.0 / epsilon)(counts.ravel().tolist()))


def by_diffprivlib(x: Counts, y: Counts, epsilon: float, box: Any) -> Counts:
    """Return diffprivlib's own histogram."""
    from diffprivlib import tools  # type: ignore[import-not-found, unused-ignore]

    return np.asarray(np.rint(tools.histogram2d(x, y, epsilon=epsilon, bins=SIDE, range=box)[0]), dtype=int).ravel()


LIBRARIES = {"OpenDP": by_opendp, "diffprivlib": by_diffprivlib}


def main(library: str, source: str, target: str, *numbers: str) -> None:
    """Read, count with noise, draw, write."""
    epsilon, west, south, east, north = map(float, numbers)
    table = pq.read_table(source, columns=["lon", "lat"])
    x, y = (table[name].to_numpy() for name in ("lon", "lat"))
    noisy = LIBRARIES[library](x, y, epsilon, [[west, east], [south, north]])
    rng = np.random.default_rng()
    cell = np.repeat(np.arange(SIDE * SIDE), np.maximum(noisy, 0))
    rng.shuffle(cell)
    column, row = np.divmod(cell, SIDE)
    lon = west + (column + rng.random(len(cell))) * (east - west) / SIDE
    lat = south + (row + rng.random(len(cell))) * (north - south) / SIDE
    pq.write_table(pa.table({"lon": lon, "lat": lat}), target)


if __name__ == "__main__":
    main(*sys.argv[1:])
