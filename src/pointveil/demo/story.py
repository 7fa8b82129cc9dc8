"""The demo from beginning to end: a city, its people, every method, a picture and a table."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from time import process_time

from pointveil.cells import Floats
from pointveil.columns import Column
from pointveil.demo.city import city
from pointveil.demo.column_pictures import draw_columns
from pointveil.demo.people import people, write_people
from pointveil.demo.pictures import draw_comparison
from pointveil.demo.rhythms import KEPT
from pointveil.errors import InputError, MissingExtraError
from pointveil.evaluation import MEASURES, Comparison, Evaluation, evaluate
from pointveil.evaluation.results import COLUMN
from pointveil.ledger import Ledger
from pointveil.methods import DEFAULT_METHOD, METHODS
from pointveil.releases import synthesize
from pointveil.vault import Vault
from pointveil.world import World

PICTURE = "real-beside-synthetic.png"
ALL_METHODS = "every-method.png"
COLUMNS = "kept-columns.png"
WITH_COLUMNS = "synthetic-with-columns.parquet"


@dataclass(frozen=True)
class Result:
    """How one method did on the invented people."""

    method: str
    points: int  # how many it made
    cell_error: float  # the normalized error of counts in cells of 100 m, over random offsets
    road_difference: float  # how much farther from, or nearer to, the streets the points are on average, in metres
    seconds: float  # processor time


@dataclass(frozen=True)
class KeptResult:
    """How well a kept column of the invented people came out, by place."""

    column: str  # its name, and what it says
    profile: float  # share of hours or kinds that are wrong in cells of 1 km
    profile_without_place: float  # the same, had it been drawn without looking at the place
    place_and_bin: float  # the normalized error of counts in cells of 500 m and bins
    place_and_bin_without_place: float


Stage = Callable[[str], AbstractContextManager[None]]


def tell_story(directory: Path, *, epsilon: object, stage: Stage) -> tuple[list[Result], list[KeptResult], list[Path]]:
    """Synthesize the built-in city with every method, and once more with columns; return results, and pictures if any.

    Everything is written to `directory`: the world, the people, a synthetic file and a statement for each method, one
    more with the columns time and kind, and a ledger of its own, so that your own is not touched.
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
    results: list[Result] = []
    drawn: dict[str, Floats] = {}
    for name in METHODS:
        with stage(f"Synthesizing with {name}"):
            result, drawn[name] = _try(name, directory, comparison, epsilon)
        results.append(result)
    with stage("Keeping when people are there, and how they get around"):
        kept = _keep(directory, comparison, epsilon)
    try:
        with stage("Drawing the pictures"):
            best = {f"{DEFAULT_METHOD}, epsilon {epsilon}": drawn[DEFAULT_METHOD]}
            draw_comparison(world, real, best, directory / PICTURE)
            draw_comparison(world, real, drawn, directory / ALL_METHODS)
            draw_columns(kept.compared, directory / COLUMNS)
    except MissingExtraError:
        return results, _kept_results(kept), []
    return results, _kept_results(kept), [directory / name for name in (PICTURE, ALL_METHODS, COLUMNS)]


def _try(name: str, directory: Path, comparison: Comparison, epsilon: object) -> tuple[Result, Floats]:
    """Release the people once with this method, and measure."""
    world, began = comparison.world, process_time()
    # The people are invented, so it goes on whatever epsilon is tried.
    synthetic = synthesize(_open(directory, world, epsilon), name, small=True)
    synthetic.write(directory / f"synthetic-{name}.parquet", force=True)
    seconds = process_time() - began
    xy = world.projection.to_metres(synthetic.coordinates)
    error, difference = (MEASURES[measure](comparison.against(xy)) for measure in ("nce_shifted_100", "medd"))
    return Result(name, len(synthetic), error, difference, seconds), xy


def _keep(directory: Path, comparison: Comparison, epsilon: object) -> Evaluation:
    """Release the people once more with their columns, and measure."""
    synthetic = synthesize(_open(directory, comparison.world, epsilon, KEPT))
    synthetic.write(directory / WITH_COLUMNS, force=True)
    measures = ("profile", "place_and_bin_500")
    return evaluate(directory / "people.parquet", directory / WITH_COLUMNS, comparison.world, measures=measures)


def _kept_results(kept: Evaluation) -> list[KeptResult]:
    found = []
    for bins in kept.compared.bins("part"):
        names = [f"{measure}{COLUMN}{bins.name}" for measure in ("profile", "place_and_bin_500")]
        values = (each[name] for name in names for each in (kept.values, kept.without_place))
        found.append(KeptResult(bins.name, *values))
    return found


def _open(directory: Path, world: World, epsilon: object, keep: tuple[Column, ...] = ()) -> Vault:
    ledger = Ledger(directory / "ledger.db")
    ledger.set_cap("people.parquet", 1000)
    return Vault.open(directory / "people.parquet", world, epsilon=epsilon, keep=keep, ledger=ledger)
