"""Clean lines into edges: each piece of road once, cut at junctions, inside the boundary, on land."""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from pointveil.cells.arrays import Bools, Floats, Ints
from pointveil.errors import InputError
from pointveil.world.roads import NO, Roads
from pointveil.world.world import World

Lines = NDArray[Any]

SAME_PLACE = 1e-3  # metres: vertices that round to the same millimetre are one
CLASS_COLUMNS = ("highway", "fclass", "road_class", "class")
UNKNOWN = "road"
MOST_CLASSES = 16


@dataclass(frozen=True, eq=False)
class Edges:
    """Clean edges, with what was done to get them."""

    lines: Lines  # one per edge, in metres
    classes: tuple[str, ...]  # names of the road classes
    road_class: Ints  # the number of each edge's class
    bridge: Bools  # which edges are bridges
    cleaning: dict[str, int]  # how many lines were given, and left out or merged for which reason


def clean_edges(world: World) -> Edges:
    """Return the edges of a world's roads; looks at public lines only, and always finds the same."""
    if world.roads is None:
        raise InputError("This world has no roads. Make it again with --roads (roads=).")
    lines, line = shapely.get_parts(world.roads.lines_m, return_index=True)
    bridge = world.roads.bridge
    names = np.array([_class_name(value) for value in _values(world.roads, *CLASS_COLUMNS)], dtype=object)
    inside, owner = _clip(lines, line, world.boundary_m)
    dry, dry_owner = _clip(inside[~bridge[owner]], owner[~bridge[owner]], world.land)
    lines = np.concatenate([dry, inside[bridge[owner]]])
    line = np.concatenate([dry_owner, owner[bridge[owner]]])
    order = np.argsort(line, kind="stable")
    pieces, piece_line = _edges(lines[order], line[order], names != UNKNOWN)
    if not len(pieces):
        raise InputError("No road lies inside the boundary and on land. Check the roads' CRS and extent.")
    classes, road_class = _classes(names[piece_line], shapely.length(pieces))
    edges, kind = _join(pieces, road_class * 2 + bridge[piece_line])
    cleaning = {
        "lines": len(world.roads),
        "outside": len(world.roads) - len(np.unique(owner)),
        "in_water": len(np.setdiff1d(owner, line)),
        "merged_or_without_length": len(np.setdiff1d(line, piece_line)),
    }
    return Edges(edges, classes, kind // 2, kind % 2 == 1, cleaning)


def _clip(lines: Lines, line: Ints, area: Any) -> tuple[Lines, Ints]:
    """Return the parts of lines that lie in an area, and which line each is a part of."""
    shapely.prepare(area)
    within = shapely.covered_by(lines, area)
    crossing = np.flatnonzero(~within & shapely.intersects(lines, area))
    # Twice, because what is cut may be a collection of lines of several parts.
    parts, part = shapely.get_parts(shapely.intersection(lines[crossing], area), return_index=True)
    parts, again = shapely.get_parts(parts, return_index=True)
    straight = shapely.get_type_id(parts) == shapely.GeometryType.LINESTRING
    cut, cut_line = parts[straight], line[crossing[part[again]]][straight]
    lines, line = np.concatenate([lines[within], cut]), np.concatenate([line[within], cut_line])
    order = np.argsort(line, kind="stable")
    return lines[order], line[order]


def _edges(lines: Lines, line: Ints, known: Bools) -> tuple[Lines, Ints]:
    """Merge pieces that lie on each other, and cut what remains where roads meet.

    `line` is the line that each piece is part of; lines of a known class are kept rather than their twins without one.
    """
    points, part = shapely.get_coordinates(lines, return_index=True)
    vertex, places = _vertices(points)
    joined = (part[1:] == part[:-1]) & (vertex[1:] != vertex[:-1])
    start, end, part = vertex[:-1][joined], vertex[1:][joined], part[1:][joined]
    once = _first_of_each(start, end, ~known[line[part]], len(places))
    # An edge ends where one, three or more pieces meet.
    node = np.bincount(np.concatenate([start[once], end[once]]), minlength=len(places)) != 2
    count = shapely.get_num_coordinates(lines)
    ends = np.cumsum(count)
    node[vertex[np.concatenate([ends - count, ends - 1])]] = True
    start, end, part = start[once], end[once], part[once]
    begins = np.ones(len(part), dtype=bool)
    begins[1:] = (part[1:] != part[:-1]) | (end[:-1] != start[1:]) | node[start[1:]]
    first = np.flatnonzero(begins)
    number = np.cumsum(begins) - 1
    path = np.insert(end, first, start[first])
    edges = shapely.linestrings(places[path], indices=np.insert(number, first, np.arange(len(first))))
    return np.atleast_1d(edges), line[part[first]]


def _join(pieces: Lines, kind: Ints) -> tuple[Lines, Ints]:
    """Join pieces of the same kind that follow each other where no other road meets them."""
    joined, joined_kind = [], []
    for number in np.unique(kind):
        # This joins across roads of other kinds too; cutting at junctions afterwards undoes that.
        lines = shapely.get_parts(shapely.line_merge(shapely.multilinestrings(pieces[kind == number])))
        joined.append(lines)
        joined_kind.append(np.full(len(lines), number))
    line = np.concatenate(joined_kind)
    edges, owner = _edges(np.concatenate(joined), np.arange(len(line)), np.ones(len(line), dtype=bool))
    return edges, line[owner]


def _vertices(points: Floats) -> tuple[Ints, Floats]:
    """Number the places that points stand on; return the number of each point, and where each place is."""
    x, y = np.rint(points / SAME_PLACE).T
    _, first, vertex = np.unique(x + 1j * y, return_index=True, return_inverse=True)
    return vertex, points[first]


def _first_of_each(start: Ints, end: Ints, last: Bools, places: int) -> Bools:
    """Mark one of all pieces between the same two places: the first, of those that need not come last."""
    pair = np.minimum(start, end) * places + np.maximum(start, end)
    order = np.lexsort((last, pair))
    once = np.zeros(len(pair), dtype=bool)
    once[order[np.diff(pair[order], prepend=-1) != 0]] = True
    return once


def _values(roads: Roads, *names: str) -> list[Any]:
    """Return the values of the first of these columns that there is, whatever its case; if none is, None for each."""
    columns = {name.casefold(): name for name in roads.attributes.column_names}
    found = next((columns[name] for name in names if name in columns), None)
    return [None] * len(roads) if found is None else list(roads.attributes[found].to_pylist())


def _class_name(value: object) -> str:
    """Return the class of a line as one word, `road` if none is known; a link belongs to its road."""
    # Tools write several classes as a list, or with | or ; between them: the first one counts.
    word = re.search(r"\w+", "" if value is None else str(value).casefold())
    name = word[0].removesuffix("_link") if word else ""
    return UNKNOWN if name in NO else name


def _classes(names: NDArray[Any], lengths: Floats) -> tuple[tuple[str, ...], Ints]:
    """Number the classes by name; of too many, the shortest in all become unknown."""
    unique, number = np.unique(names.astype(str), return_inverse=True)
    if len(unique) > MOST_CLASSES:
        total = np.bincount(number, weights=lengths)
        rare = unique[np.argsort(-total, kind="stable")[MOST_CLASSES - 1 :]]
        unique, number = np.unique(np.where(np.isin(names, rare), UNKNOWN, names).astype(str), return_inverse=True)
    return tuple(str(name) for name in unique), number.astype(np.int64)
