"""The roads as a clean network: undirected, each piece once, cut at junctions, on land."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from pointveil.cells import Bounds, Floats, Nearest, Streets
from pointveil.network.edges import Edges, clean_edges
from pointveil.network.lines import streets_of
from pointveil.world.world import World


@dataclass(frozen=True, eq=False)
class Network:
    """Numbered undirected edges, each from one junction to the next."""

    edges: Edges
    bounds: Bounds  # the box in which most points are expected, in metres

    @classmethod
    def of(cls, world: World) -> "Network":
        """Return the clean network of a world; made once, and kept as long as the world is."""
        if world not in _NETWORKS:
            _NETWORKS[world] = cls(clean_edges(world), world.bounds)
        return _NETWORKS[world]

    def __len__(self) -> int:
        return len(self.edges.lines)

    @cached_property
    def streets(self) -> Streets:
        """The table that finds the nearest edge."""
        return streets_of(self.edges.lines, self.bounds)

    @property
    def lengths(self) -> Floats:
        """Metres of each edge."""
        return self.streets.lengths

    def nearest(self, xy: Floats) -> Nearest:
        """Return the nearest edge of each public place, and where the place lies along it."""
        return self.streets.nearest(xy)

    def distances(self, xy: Floats) -> Floats:
        """Return the distance of each public place to its nearest edge, in metres."""
        return self.streets.distances(xy)

    def describe(self) -> dict[str, Any]:
        """Return public facts about the network, ready for JSON."""
        classes, number = self.edges.classes, self.edges.road_class
        lengths = np.bincount(number, weights=self.lengths, minlength=len(classes))
        return {
            "edges": len(self),
            "length_km": round(float(self.lengths.sum()) / 1000, 3),
            "bridges": int(self.edges.bridge.sum()),
            "class_km": {name: round(float(length) / 1000, 3) for name, length in zip(classes, lengths, strict=True)},
            "cleaning": dict(self.edges.cleaning),
        }


_NETWORKS: WeakKeyDictionary[World, Network] = WeakKeyDictionary()
