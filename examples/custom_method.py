"""Make a method of one's own, survey once, and draw twice for one price.

Run: python examples/custom_method.py [DIRECTORY]
"""

import sys
import tempfile
from pathlib import Path

import pointveil as pv
from pointveil.demo import city, write_people


def main(directory: Path) -> None:
    """Survey the built-in city with few clusters, and draw two files from the survey."""
    world = city()
    write_people(directory / "people.parquet", world, count=20_000)

    own = pv.Method(pv.Clusters(500), pv.WeightedUniform(0.3), split={"shape": "1/2", "count": "1/2"})
    # The people are invented, so no ledger needs to account for them.
    survey = pv.survey(pv.Vault.open(directory / "people.parquet", world, epsilon=2, ledger=None), own)
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
