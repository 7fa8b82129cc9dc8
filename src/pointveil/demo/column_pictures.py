"""Draw what kept columns say: the same city at three hours, and the rhythm of two places."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pointveil.cells import Floats, Ints
from pointveil.demo.pictures import INK, NOTE, PALE_INK, PAPER, REAL, SYNTHETIC, draw_map, new_figure, write_picture
from pointveil.demo.rhythms import KINDS
from pointveil.evaluation import Comparison

HOURS = (8, 13, 22)
SPOTS = {"around the railway station": (334.5, 793.3), "at the Market Square": (936.5, 367.7)}  # metres
REACH = 150.0  # metres around a spot
WIDTH, HEIGHT = 10.6, 7.0  # inches
DOTS_PER_INCH = 130


def draw_columns(comparison: Comparison, path: Path) -> None:
    """Write a PNG of real and synthetic people with time and kind: maps by the hour, and profiles of two places.

    Whoever sees the picture sees the real points: draw it of invented people, or for your own eyes.
    """
    figure = new_figure(figsize=(WIDTH, HEIGHT))
    grid = figure.add_gridspec(4, 4, width_ratios=(1, 1, 1, 1.75), left=0.02, right=0.985, top=0.93, bottom=0.09)
    grid.update(hspace=0.75, wspace=0.12)
    hours, kinds = comparison.bins("time")[0], comparison.bins("category")[0]
    sides = (
        ("real", comparison.real, hours.real, REAL),
        ("synthetic", comparison.synthetic, hours.synthetic, SYNTHETIC),
    )
    for row, (name, xy, hour, colour) in enumerate(sides):
        for column, wanted in enumerate(HOURS):
            ax = figure.add_subplot(grid[2 * row : 2 * row + 2, column])
            _draw_hour(ax, comparison, xy[hour == wanted], colour)
            ax.set_title(f"{name}, {wanted}–{wanted + 1} h", loc="left", fontsize=9, color=colour, fontweight="bold")
    for row, (name, spot) in enumerate(SPOTS.items()):
        near = [np.hypot(*(xy - spot).T) <= REACH for xy in (comparison.real, comparison.synthetic)]
        ax = figure.add_subplot(grid[2 * row, 3])
        _lines(ax, [_shares(bins[who], 24) for bins, who in zip((hours.real, hours.synthetic), near, strict=True)])
        ax.set_title(f"Hours {name}", loc="left", fontsize=9, color=INK, fontweight="bold")
        ax = figure.add_subplot(grid[2 * row + 1, 3])
        _bars(
            ax, [_shares(bins[who], len(KINDS)) for bins, who in zip((kinds.real, kinds.synthetic), near, strict=True)]
        )
        ax.set_title(f"Kinds {name}", loc="left", fontsize=9, color=INK, fontweight="bold")
    figure.text(0.02, 0.02, NOTE, fontsize=7, color=PALE_INK, va="bottom")
    write_picture(figure, path, dpi=DOTS_PER_INCH, quantize={"colors": 256, "method": 1, "kmeans": 1, "dither": 0})


def _draw_hour(ax: Any, comparison: Comparison, xy: Floats, colour: str) -> None:
    draw_map(ax, comparison.world)
    ax.plot(*xy.T, linestyle="none", marker="o", markersize=1.5, markeredgewidth=0, color=colour, alpha=0.55, zorder=3)
    west, south, east, north = comparison.world.bounds
    ax.set(xlim=(west, east), ylim=(south, north), xticks=[], yticks=[], aspect="equal", facecolor=PAPER)
    ax.spines[:].set(color=PALE_INK, linewidth=0.5)


def _shares(bins: Ints, size: int) -> Floats:
    counts = np.bincount(bins, minlength=size)[:size]
    return np.asarray(100 * counts / max(int(counts.sum()), 1))


def _lines(ax: Any, shares: Sequence[Floats]) -> None:
    for name, colour, share in zip(("real", "synthetic"), (REAL, SYNTHETIC), shares, strict=True):
        ax.plot(np.arange(24) + 0.5, share, color=colour, label=name, linewidth=1.6)
    ax.set(xlim=(0, 24), ylim=(0, None), xticks=range(0, 25, 4))
    ax.legend(frameon=False, fontsize=7, loc="upper left")
    _quieten(ax)


def _bars(ax: Any, shares: Sequence[Floats]) -> None:
    for step, colour, share in zip((-0.2, 0.2), (REAL, SYNTHETIC), shares, strict=True):
        ax.bar(np.arange(len(KINDS)) + step, share, 0.38, color=colour)
    ax.set_xticks(range(len(KINDS)), KINDS)
    _quieten(ax)


def _quieten(ax: Any) -> None:
    ax.tick_params(labelsize=7, colors=PALE_INK, length=2)
    ax.yaxis.set_major_formatter("{x:.0f} %")
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[:].set(color=PALE_INK, linewidth=0.5)
