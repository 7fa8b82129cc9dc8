"""What a user of another library would write in a few lines, untuned: points counted in, or learned as, equal cells.

Run by scale.py, in an environment that has that library: python peer.py LIBRARY IN OUT EPSILON W S E N SIDE HOURS
"""

import os
import sys
import tempfile
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

Rows = NDArray[Any]  # (n, 3): the column, the row and the hour of each point's cell
NAMES = ["x", "y", "hour"]
DELTA = 1e-5  # of those that give no pure epsilon


def by_opendp(rows: Rows, epsilon: float, shape: tuple[int, ...]) -> Rows:
    """Add OpenDP's noise to counts."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    counts = np.bincount(np.ravel_multi_index(tuple(rows.T), shape), minlength=int(np.prod(shape)))
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    return filled(dp.m.make_laplace(*space, scale=1.0 / epsilon)(counts.tolist()), shape)


def by_diffprivlib(rows: Rows, epsilon: float, shape: tuple[int, ...]) -> Rows:
    """Take diffprivlib's own histogram."""
    from diffprivlib import tools  # type: ignore[import-not-found, unused-ignore]

    sides = [(0, side) for side in shape]
    return filled(np.rint(tools.histogramdd(rows, epsilon=epsilon, bins=shape, range=sides)[0]), shape)


def by_tumult(rows: Rows, epsilon: float, shape: tuple[int, ...]) -> Rows:
    """Let Tumult Analytics count groups, on Spark."""
    import pandas as pd
    from pyspark.sql import SparkSession
    from tmlt.analytics import (  # type: ignore[import-not-found, unused-ignore]
        AddOneRow,
        KeySet,
        PureDPBudget,
        QueryBuilder,
        Session,
    )

    os.environ["PYSPARK_PYTHON"] = sys.executable
    options = {"spark.sql.execution.arrow.pyspark.enabled": "true", "spark.driver.memory": "4g"}
    spark = SparkSession.builder.master("local[2]").config(map=options).getOrCreate()
    frame = spark.createDataFrame(pd.DataFrame(rows, columns=NAMES))
    budget = PureDPBudget(epsilon)
    session = Session.from_dataframe(budget, "points", frame, protected_change=AddOneRow())
    keys = KeySet.from_dict({name: list(range(side)) for name, side in zip(NAMES, shape, strict=True)})
    found = session.evaluate(QueryBuilder("points").groupby(keys).count(), budget).toPandas().sort_values(NAMES)
    java = spark.sparkContext._gateway.proc  # noqa: SLF001 - nothing public tells it
    spark.stop()
    java.stdin.close()  # which ends it: only what is waited for is measured
    java.wait()
    return filled(found["count"], shape)


def by_smartnoise(rows: Rows, epsilon: float, _: object) -> Rows:
    """Let SmartNoise learn a tree of two-way tables (MST)."""
    import pandas as pd
    from snsynth import Synthesizer  # type: ignore[import-not-found, unused-ignore]

    maker = Synthesizer.create("mst", epsilon=epsilon, delta=DELTA)
    return np.asarray(maker.fit_sample(pd.DataFrame(rows, columns=NAMES), categorical_columns=NAMES), dtype=int)


def by_dpmm(rows: Rows, epsilon: float, shape: tuple[int, ...]) -> Rows:
    """Let dpmm do the same."""
    import pandas as pd
    from dpmm.pipelines import MSTPipeline  # type: ignore[import-not-found, unused-ignore]

    maker = MSTPipeline(epsilon=epsilon, delta=DELTA, disable_processing=True, n_jobs=1)
    maker.fit(pd.DataFrame(rows, columns=NAMES), domain=dict(zip(NAMES, shape, strict=True)))
    return np.asarray(maker.generate(n_records=len(rows))[NAMES], dtype=int)


def by_mostlyai(rows: Rows, epsilon: float, shape: tuple[int, ...]) -> Rows:
    """Let MostlyAI train a network, with half of epsilon for the ranges of values."""
    import pandas as pd
    from mostlyai.sdk import MostlyAI  # type: ignore[import-not-found, unused-ignore]

    halves = {"max_epsilon": epsilon / 2, "value_protection_epsilon": epsilon / 2, "delta": DELTA}
    model = {"differential_privacy": halves, "max_training_time": 3, "enable_model_report": False}
    table = {"name": "points", "data": pd.DataFrame(rows, columns=NAMES), "tabular_model_configuration": model}
    with tempfile.TemporaryDirectory() as folder:
        maker = MostlyAI(local=True, local_dir=folder, quiet=True)
        trained = maker.train(config={"name": "points", "tables": [table]}, progress_bar=False)
        made = maker.probe(trained, size=len(rows))
    found: Rows = np.clip(np.asarray(made[NAMES].dropna(), dtype=int), 0, np.array(shape) - 1)
    return found


def filled(counts: Any, shape: tuple[int, ...]) -> Rows:
    """Return as many rows for each cell as its count says, shuffled."""
    whole = np.maximum(np.asarray(counts), 0).astype(int).ravel()
    rows = np.column_stack(np.unravel_index(np.repeat(np.arange(len(whole)), whole), shape))
    return np.random.default_rng().permutation(rows)


LIBRARIES = {
    "OpenDP": by_opendp,
    "diffprivlib": by_diffprivlib,
    "Tumult": by_tumult,
    "SmartNoise": by_smartnoise,
    "dpmm": by_dpmm,
    "MostlyAI": by_mostlyai,
}


def main(library: str, source: str, target: str, *numbers: str) -> None:
    """Read, learn with noise, draw evenly within cells, write."""
    epsilon, west, south, east, north, side, hours = map(float, numbers)
    shape = (int(side), int(side), int(hours))
    table = pq.read_table(source, columns=["lon", "lat", "ts"])
    lon, lat = (table[name].to_numpy() for name in ("lon", "lat"))
    hour = table["ts"].to_numpy().astype("datetime64[h]").astype(int) % 24
    rows = np.column_stack([(lon - west) / (east - west) * side, (lat - south) / (north - south) * side, hour])
    rows = np.clip(rows.astype(int), 0, np.array(shape) - 1)
    made = LIBRARIES[library](rows, epsilon, shape)
    x, y = (made[:, :2] + np.random.default_rng().random((len(made), 2))).T / side
    ts = np.datetime64("2008-02-02", "ms") + made[:, 2] * np.timedelta64(3_600_000, "ms")
    pq.write_table(pa.table({"lon": west + x * (east - west), "lat": south + y * (north - south), "ts": ts}), target)


if __name__ == "__main__":
    main(*sys.argv[1:])
