"""Give every synthetic point its codes: free, and the same for the same seed."""

import numpy as np

from pointveil.cells import Floats, Ints
from pointveil.columns import Column, Part
from pointveil.keeping.assignment import assign, walk
from pointveil.keeping.laws import Laws

Drawn = tuple[Ints, Floats]  # the code of each point, and where in its bin it lies, from 0 to 1


def draw_codes(laws: Laws, xy: Floats, rng: np.random.Generator) -> list[Drawn]:
    """Return the codes of the synthetic points (n, 2), for each column that has some, in the order declared."""
    order, group = walk(xy), laws.regions.locate(xy)
    found: dict[tuple[int, str], Drawn] = {}
    for place, law in enumerate(laws.laws):
        topic = law.topic
        within = found[topic.number, "day of the week"][0] if topic.is_dates else group
        found[topic.number, topic.part.name] = assign(order, within, law.people, rng)
        if not place:
            # From here on, a group is a region and a bin of the leading topic.
            group = group * topic.size + found[topic.number, topic.part.name][0]
    coded = [column for column in laws.keep if column.size]
    return [
        _joined(column, [found[number, part.name] for part in column.parts()]) for number, column in enumerate(coded)
    ]


def _joined(column: Column, drawn: list[Drawn]) -> Drawn:
    """Return the codes that the bins of a column's parts stand for, and where in the finest bin each point lies."""
    parts = list(column.parts())
    if len(parts) == 3:  # a date tells its day of the week
        del parts[1], drawn[1]
    bins = [each for each, _ in drawn]
    return code_table(parts)[tuple(bins)], drawn[0][1]


def code_table(parts: list[Part]) -> Ints:
    """Return the code of every combination of bins; what the period does not have is the same time on another day."""
    table = np.full([part.size for part in parts], -1, dtype=np.int64)
    table[tuple(part.bins for part in parts)] = np.arange(len(parts[0].bins))
    for _ in range(table.shape[-1] if (table < 0).any() else 0):
        table = np.where(table < 0, np.roll(table, 1, axis=-1), table)
    return np.maximum(table, 0)
