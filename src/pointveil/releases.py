"""The whole story on one page: survey the vault, then draw from the survey."""

from __future__ import annotations

import secrets
from collections.abc import Callable

import numpy as np
import pyproj
from numpy.typing import NDArray

from pointveil.errors import BudgetError, InputError
from pointveil.methods import DEFAULT_METHOD, Method, find_method
from pointveil.statement import MethodUsed, Statement
from pointveil.surveys import Recorder, Survey
from pointveil.synthetic import SyntheticPoints, snap, steps_per_unit
from pointveil.vault import Vault
from pointveil.world import World

MOST_POINTS = 2**31 - 2
BLOCK = 2**16  # points at a time: the work stays in the processor's cache
LAST_STEPS = ("coordinates snapped to the public lattice", "order shuffled")


def survey(vault: Vault, method: str | Method = DEFAULT_METHOD) -> Survey:
    """Ask the vault everything that the method needs, and spend all that is left in it.

    What comes back holds no real point: it may be saved, mailed, and drawn from for ever.
    """
    chosen = find_method(method)
    check_world(chosen, vault.world)
    if vault.left <= 0:
        raise BudgetError("Nothing is left in this vault: its epsilon was spent. Open a new one to ask again.")
    budget = chosen.budget(vault.left)
    recorder = Recorder(vault)
    counted = chosen.partitioner.divide(recorder, vault.world, budget)
    asked = chosen.placement.ask(recorder, vault.world, counted, budget)
    answers = tuple(recorder.answers)
    done = Survey(vault.world, chosen, answers, _complete(vault.statement, chosen), vault.layout)
    done.__dict__["prepared"] = (counted, asked)  # known already: no need to work it out again
    return done


def draw(survey: Survey, *, count: int | None = None, seed: int | None = None) -> SyntheticPoints:
    """Draw synthetic points; costs nothing, and the same seed gives the same points.

    Parameters
    ----------
    survey
        What is known, from the vault or from a file.
    count
        How many points; by default as many as there seem to be real ones.
    seed
        Any whole number. Without it, every drawing is another.
    """
    check_drawing(count, seed)
    counted, asked = survey.prepared
    wanted = min(counted.total, MOST_POINTS) if count is None else count
    rng = np.random.default_rng(secrets.randbits(64) if seed is None else seed)
    xy = survey.method.placement.draw(survey.world, counted, asked, wanted, rng)
    return SyntheticPoints(to_lattice(xy, survey.world, survey.layout.crs, rng), survey.layout, survey.statement)


def synthesize(
    vault: Vault, method: str | Method = DEFAULT_METHOD, *, count: int | None = None, seed: int | None = None
) -> SyntheticPoints:
    """Survey the vault and draw once."""
    check_drawing(count, seed)
    return draw(survey(vault, method), count=count, seed=seed)


def check_drawing(count: int | None, seed: int | None) -> None:
    """Refuse, before anything is spent, a number of points or a seed that makes no sense."""
    if count is not None and not 0 <= count <= MOST_POINTS:
        raise InputError(f"The number of points must lie between 0 and {MOST_POINTS:,}, not {count:,}.")
    if seed is not None and seed < 0:
        raise InputError(f"The seed must not be negative, and is {seed}.")


def check_world(method: Method, world: World) -> None:
    """Refuse, before anything is spent, a method whose parts do not fit or that the public world cannot serve."""
    method.shares()
    if method.partitioner.needs_roads and world.roads is None:
        raise InputError(f"The method '{method.name}' needs roads, and this world has none. Make it with --roads.")


def _complete(statement: Statement, method: Method) -> Statement:
    split = {purpose: str(part) for purpose, part in method.shares().items()}
    used = MethodUsed(name=method.name, parameters=method.parameters, split=split)
    return statement.model_copy(update={"method": used, "post_processing": (*method.post_processing, *LAST_STEPS)})


def to_lattice(xy: NDArray[np.float64], world: World, crs: str, rng: np.random.Generator) -> NDArray[np.float64]:
    """Turn points into coordinates on the public lattice of `crs`, all on land, in place.

    Snapping may push a point at the water's edge over it, by less than a step; then a step next to it is taken.
    """
    outward, inward = _transforms(world, crs)
    coordinates = xy  # in place: there may be many
    dry = np.empty(len(xy), dtype=bool)
    for start in range(0, len(xy), BLOCK):
        block = slice(start, start + BLOCK)
        coordinates[block] = snap(outward(xy[block]), crs)
        dry[block] = world.on_land(inward(coordinates[block]))
    wet = np.flatnonzero(~dry)
    for ring in range(1, 4):
        for step in _ring(ring) / steps_per_unit(crs):
            if not len(wet):
                return coordinates
            moved = snap(coordinates[wet] + step, crs)
            found = world.on_land(inward(moved))
            coordinates[wet[found]] = moved[found]
            wet = wet[~found]
    return _replace(coordinates, wet, rng)


def _replace(coordinates: NDArray[np.float64], wet: NDArray[np.intp], rng: np.random.Generator) -> NDArray[np.float64]:
    """Put points that found no land within reach of their place onto the place of others."""
    dry = np.setdiff1d(np.arange(len(coordinates)), wet)
    if not len(dry):
        return coordinates[dry]
    coordinates[wet] = coordinates[rng.choice(dry, len(wet))]
    return coordinates


def _ring(size: int) -> NDArray[np.float64]:
    """Return the lattice steps at this distance from a point, in a fixed order."""
    steps = [(x, y) for x in range(-size, size + 1) for y in range(-size, size + 1) if max(abs(x), abs(y)) == size]
    return np.array(steps, dtype=np.float64)


Change = Callable[[NDArray[np.float64]], NDArray[np.float64]]


def _transforms(world: World, crs: str) -> tuple[Change, Change]:
    """Return the ways from metres to coordinates in `crs`, and back."""
    projection = world.projection
    if pyproj.CRS.from_user_input(crs).equals(pyproj.CRS.from_user_input(projection.crs), ignore_axis_order=True):
        return projection.from_metres, projection.to_metres
    there = pyproj.Transformer.from_crs(projection.crs, crs, always_xy=True)
    back = pyproj.Transformer.from_crs(crs, projection.crs, always_xy=True)
    return (
        lambda xy: np.column_stack(there.transform(*projection.from_metres(xy).T)),
        lambda coordinates: projection.to_metres(np.column_stack(back.transform(*coordinates.T))),
    )
