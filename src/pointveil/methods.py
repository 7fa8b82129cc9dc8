"""Every method as one table, with its budget split."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from pointveil.cells import Everywhere
from pointveil.errors import InputError
from pointveil.files.exact import exact_number
from pointveil.partition import (
    PARTITIONERS,
    AdaptiveGrid,
    Budget,
    Clusters,
    Partitioner,
    RoadSegments,
    UniformGrid,
    Veil,
)
from pointveil.placement import (
    PLACEMENTS,
    AlongRoads,
    Density,
    KernelDensity,
    Placement,
    Uniform,
    WeightedUniform,
)
from pointveil.plugins import GROUP, Parts, Table, package_of
from pointveil.vault import Cells, Share
from pointveil.world import World

TOTAL_SHARE = Fraction(1, 100)
"""What asking for the total costs, of the whole, when a split does not say."""
TOTAL = "total"
"""The purpose of the first question of every release: how many points there are."""
CUSTOM = "custom"
"""The name of a method that was given none."""


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
        for "total", which every release asks first, may be left out, and is then 1/100, taken before the others.
    name
        As in the table of methods.
    when
        When to use it, in a sentence.

    Examples
    --------
    >>> method = pv.Method(pv.UniformGrid(granularity=5), pv.Uniform(), {"count": 1})
    >>> {purpose: str(part) for purpose, part in method.shares().items()}
    {'total': '1/100', 'count': '99/100'}
    """

    partitioner: Partitioner
    placement: Placement
    split: Mapping[str, Any]
    name: str = CUSTOM
    when: str = ""

    def __repr__(self) -> str:
        split = ", ".join(f"{purpose} {part}" for purpose, part in self.split.items())
        return f"<Method {self.name}: {type(self.partitioner).__name__}, {type(self.placement).__name__}; {split}>"

    @property
    def purposes(self) -> tuple[str, ...]:
        """What epsilon is spent on, in order."""
        others = (*self.partitioner.spends, *getattr(self.placement, "spends", ()))
        return (TOTAL, *(purpose for purpose in others if purpose != TOTAL))

    def total_cells(self, world: World, epsilon: Fraction, crs: str) -> Cells:
        """Return the cells whose counts add up to the total: one that is everywhere, or what the partitioner says."""
        own = getattr(self.partitioner, "total_cells", None)
        return Everywhere() if own is None else own(world, epsilon, crs)

    @property
    def needs_roads(self) -> bool:
        """Whether the public world must have roads."""
        return bool(getattr(self.partitioner, "needs_roads", False))

    def check(self) -> None:
        """Refuse parts that do not fit together, or that a saved survey could not make again."""
        _check_part(PARTITIONERS, self.partitioner)
        _check_part(PLACEMENTS, self.placement)
        divided = getattr(self.partitioner, "divides_into", "regions")
        filled = getattr(self.placement, "fills", "regions")
        if filled != divided:
            raise InputError(
                f"{type(self.placement).__name__} places points in {filled}, but "
                f"{type(self.partitioner).__name__} divides the world into {divided}."
            )

    def shares(self) -> dict[str, Fraction]:
        """Return the part of the whole for each purpose; the parts add up to exactly one."""
        self.check()
        parts = {purpose: _exact_part(purpose, part) for purpose, part in self.split.items()}
        if TOTAL not in parts:
            parts = {TOTAL: TOTAL_SHARE, **{name: part * (1 - TOTAL_SHARE) for name, part in parts.items()}}
        if set(parts) != set(self.purposes):
            raise InputError(
                f"The split of '{self.name}' must name {', '.join(self.purposes)}; it names {', '.join(self.split)}."
            )
        if sum(parts.values()) != 1:
            raise InputError(f"The split of '{self.name}' must add up to 1, not {sum(parts.values())}.")
        return {purpose: parts[purpose] for purpose in self.purposes}

    def split_texts(self) -> dict[str, str]:
        """Return the shares as exact texts such as "1/2", for files and statements."""
        return {purpose: str(part) for purpose, part in self.shares().items()}

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
        return tuple(
            step for part in (self.partitioner, self.placement) for step in getattr(part, "post_processing", ())
        )

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
    kinds = (_kind(PARTITIONERS, parameters["partitioner"]), _kind(PLACEMENTS, parameters["placement"]))
    return ", ".join(f"{kind.__name__} {getattr(kind, 'edition', 1)}" for kind in kinds)


def find_method(method: str | Method) -> Method:
    """Return the method with this name, or the method itself."""
    return method if isinstance(method, Method) else METHODS[method]


def register_method(method: Method) -> Method:
    """Add a method to `METHODS`, so that the command line, experiments and the audit know it by its name.

    Parameters
    ----------
    method
        With a name of its own: small letters, digits and hyphens.

    Examples
    --------
    >>> mine = pv.Method(pv.Clusters(200), pv.Uniform(), {"shape": "1/2", "count": "1/2"}, "my-clusters")
    >>> pv.register_method(mine).name
    'my-clusters'
    """
    if method.name == CUSTOM or not re.fullmatch(r"[a-z][a-z0-9-]*", method.name):
        raise InputError(f"Give the method a name of lower-case letters, digits and hyphens, not '{method.name}'.")
    METHODS.add(method.name, method)
    return method


def _exact_part(purpose: str, part: object) -> Fraction:
    exact = exact_number(part, f"The part for '{purpose}'", 0, 1)
    if not exact:
        raise InputError(f"The part for '{purpose}' must be more than 0.")
    return exact


def _describe(part: Any) -> dict[str, Any]:
    """Return a part as plain values; of a plug-in's part also the package, to be named where it is missing."""
    package = package_of(type(part))
    source = {} if package == "pointveil" else {"plugin": package}
    return {"type": type(part).__name__, **source, **dataclasses.asdict(part)}


def _restore(table: Parts, description: Mapping[str, Any]) -> Any:
    values = {name: value for name, value in description.items() if name not in {"type", "plugin"}}
    return _kind(table, description)(**values)


def _kind(table: Parts, description: Mapping[str, Any]) -> type:
    """Return the class that was described; refuse one of a plug-in that is not here."""
    name, package = description.get("type"), description.get("plugin", "pointveil")
    kind = None if name is None else table.get(name)
    if kind is not None and package_of(kind) == package:
        return kind
    if package == "pointveil":
        raise InputError(f"This version has no {table.what} '{name}'; it has {', '.join(table)}.")
    raise InputError(
        f"The {table.what} '{name}' comes from the plug-in '{package}', which is not installed or has no entry point "
        f"in the group {GROUP}. Install the plug-in and try again."
    )


def _check_part(table: Parts, part: Any) -> None:
    """Refuse, before anything is charged, a part that a saved survey could not make again."""
    kind = type(part)
    if table.get(kind.__name__) is not kind:
        raise InputError(f"{kind.__name__} is not registered: write @{table.what} above the class.")
    try:
        again = _restore(table, json.loads(json.dumps(_describe(part))))
    except TypeError:
        again = None
    if again is None or dataclasses.asdict(again) != dataclasses.asdict(part):
        raise InputError(
            f"{part!r} cannot be restored from a saved survey: its fields must be numbers, strings or booleans."
        )


METHODS: Table[Method] = Table("method", lambda method: (method.parameters, method.shares()))
"""Every method by its name; `register_method` adds one."""
DEFAULT_METHOD = "veil"

# fmt: off
for _row in (
    Method(Veil(), Density(),
           {"total": "1/100", "district": "1/100", "shape": "19/100", "offset": "2/100", "crowd": "1/200",
            "count": "153/200"},
           "veil", "The default, with or without roads: the most accurate method here."),
    Method(UniformGrid(), Uniform(), {"count": 1},
           "ugrid-uni", "The simplest: equal cells, uniform placement. A baseline that is quick to explain."),
    Method(UniformGrid(), WeightedUniform(), {"count": 1}, "ugrid-wud",
           "Like ugrid-uni, but points lean towards busy neighbours: usually a little better, at no cost."),
    Method(UniformGrid(), KernelDensity(), {"count": "3/5", "place": "2/5"}, "ugrid-kde",
           "For comparison with the paper: a private kernel adds little; its share is better spent on counts."),
    Method(AdaptiveGrid(), Uniform(), {"shape": "1/2", "count": "1/2"},
           "agrid-uni", "Small cells where people are, large ones elsewhere: good when people crowd into few places."),
    Method(AdaptiveGrid(), WeightedUniform(), {"shape": "1/2", "count": "1/2"},
           "agrid-wud", "Like agrid-uni, but points lean towards busy neighbours."),
    Method(AdaptiveGrid(), KernelDensity(), {"shape": "2/5", "count": "2/5", "place": "1/5"},
           "agrid-kde", "For comparison with the paper; agrid-uni spends the same epsilon better."),
    Method(Clusters(), Uniform(), {"shape": "2/3", "count": "1/3"},
           "clust-uni", "A fixed number of regions of any shape: for a few regions on a map, not for detail."),
    Method(Clusters(), WeightedUniform(), {"shape": "2/3", "count": "1/3"},
           "clust-wud", "Like clust-uni, but points lean towards busy neighbours."),
    Method(Clusters(), KernelDensity(), {"shape": "1/4", "count": "1/2", "place": "1/4"},
           "clust-kde", "For comparison with the paper; clust-uni spends the same epsilon better."),
    Method(RoadSegments(), AlongRoads(), {"count": "19/50", "along": "3/5", "offset": "1/50"}, "road",
           "For people on or beside streets; needs roads. Points follow the streets; a grid covers the rest."),
):
    register_method(_row)
# fmt: on
