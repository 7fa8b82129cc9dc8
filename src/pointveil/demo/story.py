"""The demo from beginning to end: a city, its people, every method, a picture and a table."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from time import process_time

from pointveil.cells import Floats
from pointveil.demo.city import city
from pointveil.demo.people import people, write_people
from pointveil.demo.pictures import draw_comparison
from pointveil.errors import InputError, MissingExtraError
from pointveil.evaluation import MEASURES, Comparison
from pointveil.ledger import Ledger
from pointveil.methods import DEFAULT_METHOD, METHODS
from pointveil.releases import synthesize
from pointveil.vault import Vault

PICTURE = "real-beside-synthetic.png"
ALL_METHODS = "every-method.png"


@dataclass(frozen=True)
class Result:
    """How one method did on the invented people."""

    method: str
    points: int  # how many it made
    cell_error: float  # the normalized error of counts in cells of 100 m, over random offsets
    road_difference: float  # how much farther from, or nearer to, the streets the points are on average, in metres
    seconds: float  # processor time


Stage = Callable[[str], AbstractContextManager[None]]


def tell_story(directory: Path, *, epsilon: object, stage: Stage) -> Iterator[Result | Path]:
    """Synthesize the built-in city with every method; yields each result, then the paths of two pictures.

    Everything is written to `directory`: the world, the people, a synthetic file and a statement for each method,
    and a ledger of its own, so that your own is not touched.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise InputError(f"{directory} cannot be a folder: a file is in the way. Give another name.") from None
    with stage("Inventing 50,000 people in Helsinki"):
        world = city()
        world.write(directory / "helsinki.gpkg", force=True)
        write_people(directory / "people.parquet", world)
        real = people(world)
        real = real[world.on_land(real)]
        comparison = Comparison(real, real, world)
    drawn: dict[str, Floats] = {}
    for name in METHODS:
        with stage(f"Synthesizing with {name}"):
            result, drawn[name] = _try(name, directory, comparison, epsilon)
        yield result
    try:
        with stage("Drawing the pictures"):
            best = {f"{DEFAULT_METHOD}, epsilon {epsilon}": drawn[DEFAULT_METHOD]}
            draw_comparison(world, real, best, directory / PICTURE)
            draw_comparison(world, real, drawn, directory / ALL_METHODS)
        yield directory / PICTURE
        yield directory / ALL_METHODS
    except MissingExtraError:
        return


def _try(name: str, directory: Path, comparison: Comparison, epsilon: object) -> tuple[Result, Floats]:
    """Release the people once with this method, and measure."""
    world, began = comparison.world, process_time()
    ledger = Ledger(directory / "ledger.db")
    ledger.set_cap("people.parquet", 1000)
    vault = Vault.open(directory / "people.parquet", world, epsilon=epsilon, ledger=ledger)
    synthetic = synthesize(vault, name)
    synthetic.write(directory / f"synthetic-{name}.parquet", force=True)
    seconds = process_time() - began
    xy = world.projection.to_metres(synthetic.coordinates)
    error, difference = (MEASURES[measure](comparison.against(xy)) for measure in ("nce_shifted_100", "medd"))
    return Result(name, len(synthetic), error, difference, seconds), xy
