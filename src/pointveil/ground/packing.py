"""Places as far from each other as an area allows."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pointveil.cells.arrays import Bounds, Floats

STEPS = 24
MOST_PLACES = 2_000_000


def pack(count: int, bounds: Bounds, holds: Callable[[Floats], NDArray[Any]], area: float) -> Floats:
    """Return about `count` places of a honeycomb that lie in an area, never more, and at least one if any does."""
    # The centres of the densest packing of equal discs form a honeycomb; the discs are made as large as still lets
    # `count` of them have their centre in the area, which has `area` square metres. No data is looked at.
    wide = np.sqrt(2 / np.sqrt(3) * area / count)  # a honeycomb has one place for each √3/2 · spacing²
    low, high = wide / 4, wide * 2
    best = np.empty((0, 2))
    for _ in range(STEPS):
        spacing = (low + high) / 2
        places = honeycomb(spacing, bounds)
        places = places[holds(places)]
        if len(places) < count:
            best = max(best, places, key=len)
            high = spacing
        else:
            best, low = places, spacing
        if len(places) == count:
            break
    return thin(best, count)


def honeycomb(spacing: float, bounds: Bounds) -> Floats:
    """Return the places of a honeycomb within bounds, centred on their middle; coarser if there would be too many."""
    west, south, east, north = bounds
    spacing = max(spacing, np.sqrt((east - west) * (north - south) / MOST_PLACES))
    height = spacing * np.sqrt(3) / 2
    rows, columns = int((north - south) / height / 2) + 1, int((east - west) / spacing / 2) + 1
    row, column = np.meshgrid(np.arange(-rows, rows + 1), np.arange(-columns, columns + 1), indexing="ij")
    x = (west + east) / 2 + spacing * (column + (row % 2) / 2)
    y = (south + north) / 2 + height * row
    inside = (x >= west) & (x < east) & (y >= south) & (y < north)
    return np.column_stack([x[inside], y[inside]])


def thin(places: Floats, count: int) -> Floats:
    """Return `count` of the places, those left out spread evenly over the list."""
    if len(places) <= count:
        return places
    kept = np.floor(np.arange(count) * (len(places) / count)).astype(np.int64)
    return np.asarray(places[kept])
