"""Every method as one table, with its budget split."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from pointveil.errors import InputError
from pointveil.partition import AdaptiveGrid, Budget, Clusters, Partitioner, RoadSegments, UniformGrid, Veil
from pointveil.placement import AlongRoads, Density, KernelDensity, Placement, Uniform, WeightedUniform
from pointveil.vault import Share

TOTAL_SHARE = Fraction(1, 100)
"""What asking for the total costs, of the whole, when a split does not say."""


@dataclass(frozen=True)
class Method:
    """Where and how points are made, and what part of epsilon goes into which question.

    Parameters
    ----------
    partitioner
        Divides the world and counts each region.
    placement
        Places points within a region.
    split
        The part of epsilon for each purpose, as numbers or texts such as "1/2". They must add up to one; the part
        for "total" may be left out, and is then 1/100, taken before the others.
    name
        As in the table of methods.
    when
        When to use it, in a sentence.
    """

    partitioner: Partitioner
    placement: Placement
    split: Mapping[str, Any]
    name: str = "custom"
    when: str = ""

    @property
    def purposes(self) -> tuple[str, ...]:
        """What epsilon is spent on, in order."""
        return (*self.partitioner.spends, *self.placement.spends)

    def shares(self) -> dict[str, Fraction]:
        """Return the part of the whole for each purpose; the parts add up to exactly one."""
        if self.placement.fills != self.partitioner.divides_into:
            raise InputError(
                f"{type(self.placement).__name__} places points in {self.placement.fills}, but "
                f"{type(self.partitioner).__name__} divides the world into {self.partitioner.divides_into}."
            )
        parts = {purpose: _exact_part(purpose, part) for purpose, part in self.split.items()}
        if "total" in self.purposes and "total" not in parts:
            parts = {"total": TOTAL_SHARE, **{name: part * (1 - TOTAL_SHARE) for name, part in parts.items()}}
        if set(parts) != set(self.purposes):
            raise InputError(
                f"The split of '{self.name}' must name {', '.join(self.purposes)}; it names {', '.join(self.split)}."
            )
        if sum(parts.values()) != 1:
            raise InputError(f"The split of '{self.name}' must add up to 1, not {sum(parts.values())}.")
        return {purpose: parts[purpose] for purpose in self.purposes}

    def budget(self, epsilon: Fraction) -> Budget:
        """Return what may be spent on each purpose; in all exactly `epsilon`."""
        return {purpose: Share(purpose, part * epsilon) for purpose, part in self.shares().items()}

    def with_split(self, split: Mapping[str, Any]) -> Method:
        """Return the same method with another split."""
        changed = dataclasses.replace(self, split=MappingProxyType(dict(split)))
        changed.shares()
        return changed

    @property
    def parameters(self) -> dict[str, Any]:
        """All that is needed to make the method again, as plain values."""
        return {"partitioner": _describe(self.partitioner), "placement": _describe(self.placement)}

    @property
    def edition(self) -> str:
        """The editions of its parts, such as "Veil 1, Density 1"."""
        return edition_of(self.parameters)

    @property
    def post_processing(self) -> tuple[str, ...]:
        """What is done to the noisy answers, in words."""
        return (*self.partitioner.post_processing, *self.placement.post_processing)

    @classmethod
    def restore(cls, name: str, parameters: Mapping[str, Any], split: Mapping[str, Any]) -> Method:
        """Return the method that was described."""
        partitioner = _restore(PARTITIONERS, parameters["partitioner"])
        placement = _restore(PLACEMENTS, parameters["placement"])
        return cls(partitioner, placement, split, name)


def edition_of(parameters: Mapping[str, Any]) -> str:
    """Return the editions that this version has of the parts of a method.

    A class states its own as `edition`, a whole number, raised when the same question would be asked in another way
    or the same answers would give other points. One that states none is of the first.
    """
    kinds: Mapping[str, Any] = {**PARTITIONERS, **PLACEMENTS}
    names = [parameters[part]["type"] for part in ("partitioner", "placement")]
    return ", ".join(f"{name} {getattr(kinds.get(name), 'edition', 1)}" for name in names)


def find_method(method: str | Method) -> Method:
    """Return the method with this name, or the method itself."""
    if isinstance(method, Method):
        return method
    if method not in METHODS:
        raise InputError(f"There is no method '{method}'. There are: {', '.join(METHODS)}.")
    return METHODS[method]


def _exact_part(purpose: str, part: object) -> Fraction:
    try:
        exact = Fraction(repr(part)) if isinstance(part, float) else Fraction(str(part))
    except (ValueError, ZeroDivisionError):
        raise InputError(f"The part for '{purpose}' must be a number such as 0.5 or 1/2, not {part!r}.") from None
    if not 0 < exact <= 1:
        raise InputError(f"The part for '{purpose}' must be more than 0 and at most 1, not {part}.")
    return exact


def _describe(part: Any) -> dict[str, Any]:
    return {"type": type(part).__name__, **dataclasses.asdict(part)}


def _restore(table: Mapping[str, Any], description: Mapping[str, Any]) -> Any:
    values = dict(description)
    kind = values.pop("type", None)
    if kind not in table:
        raise InputError(f"This version does not know '{kind}'; it knows {', '.join(table)}.")
    return table[kind](**values)


def _table(*rows: Method) -> Mapping[str, Method]:
    return MappingProxyType({row.name: row for row in rows})


PARTITIONERS = {kind.__name__: kind for kind in (UniformGrid, AdaptiveGrid, Clusters, RoadSegments, Veil)}
PLACEMENTS = {kind.__name__: kind for kind in (Uniform, WeightedUniform, KernelDensity, AlongRoads, Density)}

METHODS = _table(
    Method(
        Veil(),
        Density(),
        {"total": "1/100", "district": "1/100", "shape": "19/100", "offset": "2/100", "count": "77/100"},
        "veil",
        "The default, with or without roads: more accurate than all others here.",
    ),
    Method(
        UniformGrid(),
        Uniform(),
        {"count": 1},
        "ugrid-uni",
        "The simplest: equal cells, even placement. A baseline, and quick to explain.",
    ),
    Method(
        UniformGrid(),
        WeightedUniform(),
        {"count": 1},
        "ugrid-wud",
        "As ugrid-uni, but leaning towards busy neighbours: nearly always a little better, at no cost.",
    ),
    Method(
        UniformGrid(),
        KernelDensity(),
        {"count": "3/5", "place": "2/5"},
        "ugrid-kde",
        "For comparison with the paper: a private kernel keeps little, and its share is better spent on counts.",
    ),
    Method(
        AdaptiveGrid(),
        Uniform(),
        {"shape": "1/2", "count": "1/2"},
        "agrid-uni",
        "Small cells where people are, large ones elsewhere: good when people crowd in few places.",
    ),
    Method(
        AdaptiveGrid(),
        WeightedUniform(),
        {"shape": "1/2", "count": "1/2"},
        "agrid-wud",
        "As agrid-uni, leaning towards busy neighbours.",
    ),
    Method(
        AdaptiveGrid(),
        KernelDensity(),
        {"shape": "2/5", "count": "2/5", "place": "1/5"},
        "agrid-kde",
        "For comparison with the paper; agrid-uni spends the same epsilon better.",
    ),
    Method(
        Clusters(),
        Uniform(),
        {"shape": "2/3", "count": "1/3"},
        "clust-uni",
        "A fixed number of regions of any shape: for few regions on a map, not for detail.",
    ),
    Method(
        Clusters(),
        WeightedUniform(),
        {"shape": "2/3", "count": "1/3"},
        "clust-wud",
        "As clust-uni, leaning towards busy neighbours.",
    ),
    Method(
        Clusters(),
        KernelDensity(),
        {"shape": "1/4", "count": "1/2", "place": "1/4"},
        "clust-kde",
        "For comparison with the paper; clust-uni spends the same epsilon better.",
    ),
    Method(
        RoadSegments(),
        AlongRoads(),
        {"count": "19/50", "along": "3/5", "offset": "1/50"},
        "road",
        "For people on or beside streets, in a world with roads: points follow them, others get a grid of their own.",
    ),
)
DEFAULT_METHOD = "veil"
