"""The roads as a clean network: undirected, each piece once, cut at junctions, on land."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from pointveil.network.candidates import CandidateGrid
from pointveil.network.edges import Edges, clean_edges
from pointveil.network.segments import Segments
from pointveil.world.projection import Bounds, Floats
from pointveil.world.world import World

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Nearest:
    """Where points lie, seen from their nearest edge.

    Parameters
    ----------
    edge
        The number of the nearest edge, the lowest of equals.
    foot
        The nearest place on it.
    along
        Metres from the edge's beginning to the foot.
    offset
        Metres from the foot to the point.
    side
        1 for points on the left of the edge, -1 on the right, 0 on the line itself.
    """

    edge: Ints
    foot: Floats
    along: Floats
    offset: Floats
    side: Floats


@dataclass(frozen=True, eq=False)
class Network:
    """Numbered undirected edges, each from one junction to the next.

    Parameters
    ----------
    edges
        The clean edges.
    bounds
        The box in which most points are expected, in metres.
    """

    edges: Edges
    bounds: Bounds

    @classmethod
    def of(cls, world: World) -> "Network":
        """Return the clean network of a world; made once, and kept as long as the world is."""
        if world not in _NETWORKS:
            _NETWORKS[world] = cls(clean_edges(world), world.bounds)
        return _NETWORKS[world]

    def __len__(self) -> int:
        return len(self.edges.lines)

    @cached_property
    def segments(self) -> Segments:
        """The straight segments of all edges."""
        return Segments.of(self.edges.lines)

    @property
    def lengths(self) -> Floats:
        """Metres of each edge."""
        return self.segments.edge_lengths

    @cached_property
    def candidates(self) -> CandidateGrid:
        """The grid that makes searching fast."""
        return CandidateGrid.over(self.segments, self.bounds)

    def nearest(self, xy: Floats) -> Nearest:
        """Return the nearest edge of each point, and where the point lies along it.

        Points that are no numbers have edge -1.
        """
        xy = np.asarray(xy, dtype=np.float64)
        segment, offset = self.candidates.nearest(xy)
        foot, along, side = self.segments.feet(xy, segment)
        edge = np.where(segment < 0, -1, self.segments.edge[segment])
        return Nearest(edge, foot, along, offset, side)

    def distances(self, xy: Floats) -> Floats:
        """Return the distance of each point to its nearest edge, in metres."""
        return self.candidates.nearest(np.asarray(xy, dtype=np.float64))[1]

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
