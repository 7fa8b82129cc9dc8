"""Releases that are guided by what is already public; and one whose prior was chosen by looking at the records."""

import dataclasses
from functools import cache
from typing import Any

import numpy as np

from pointveil.cells import Floats
from pointveil.lab.audit.subjects import Records, Subject, open_vault
from pointveil.vault import Vault
from pointveil.world import Prior, World

POINTS = 20_000
CORNER, BESIDE_STREET = ((5.0, 5.0), (95.0, 95.0)), ((303.0, 477.0), (363.0, 537.0))
"""Where the crowds of the cities and of the pairs stand, in metres: a prior that knows it is believed."""

SOURCE = {"name": "invented.csv", "kind": "public points", "file_sha256": "0" * 64}


@cache
def guided(world: World, half: int | None = None) -> World:
    """Return the world with a prior that is the same whatever the records are; or that knows one half of it alone."""
    rng = np.random.default_rng(7)
    parts = (*(rng.uniform(*box, (POINTS, 2)) for box in (CORNER, BESIDE_STREET)), _anywhere(world, half, rng))
    return dataclasses.replace(world, prior=Prior.of(np.concatenate(parts), world.size, SOURCE))


def _anywhere(world: World, half: int | None, rng: np.random.Generator) -> Floats:
    width, height = world.size
    west, east = {None: (0.0, 1.0), 0: (0.0, 0.5), 1: (0.5, 1.0)}[half]
    return rng.uniform((west * width, 0), (east * width, height), (POINTS, 2))


def open_guided(records: Records, world: World, subject: Subject) -> Vault:
    """Open a real vault with a prior that is public."""
    return open_vault(records, guided(world), subject)


def open_with_the_better(records: Records, world: World, subject: Subject) -> Any:
    """Open one with the better of two priors: that of the half in which most records lie."""
    x = world.projection.to_metres(records.xy)[:, 0]
    return open_vault(records, guided(world, int((x > world.size[0] / 2).sum() > len(x) / 2)), subject)
