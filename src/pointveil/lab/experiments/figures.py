"""Draw the results: error by epsilon, radius, granularity and number of facilities."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pointveil.demo.pictures import new_figure, write_picture
from pointveil.lab.experiments.tables import PUBLISHED, Results

COLOURS = {"ugrid": "#3b7dd8", "agrid": "#1b9e77", "clust": "#c2a300", "road": "#d95f02", "veil": "#7a1f5c"}
MARKERS = {"uni": "o", "wud": "^", "kde": "s"}
INK, PALE = "#22303c", "#d9dee2"
DOTS_PER_INCH = 130


def draw_all(results: Results, folder: Path) -> list[Path]:
    """Draw every figure that there are results for, as `results-*.png`; return what was written."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, (draw, experiment) in FIGURES.items():
        if results.some(experiment, "city"):
            path = folder / f"results-{name}.png"
            write_picture(draw(results, experiment), path, dpi=DOTS_PER_INCH, quantize={"colors": 64})
            written.append(path)
    return written


def main_figure(results: Results, experiment: str) -> Any:
    """Draw NCE on shifted grids of every method and city as bars: the private form beside the published one."""
    cities = results.some(experiment, "city")
    names = [name for name in results.some(experiment, "method") if not name.endswith(PUBLISHED)]
    figure, axes = _panels(len(cities), height=0.26 * len(names) + 1.1)
    for ax, city in zip(axes, cities, strict=True):
        for at, name in enumerate(names):
            for shift, suffix, look in ((-0.2, "", {"alpha": 1.0}), (0.2, PUBLISHED, {"alpha": 0.35, "hatch": "///"})):
                found = results.find(experiment, city, name + suffix, "nce_shifted_100")
                if found is not None:
                    ax.barh(at + shift, found.mean, 0.38, xerr=found.spread, color=_colour(name), **look)
        ax.set_yticks(range(len(names)), names if ax is axes[0] else [""] * len(names))
        ax.invert_yaxis()
        ax.set_title(city, loc="left", color=INK, fontsize=10)
        ax.set_xlabel("NCE, 100 m, shifted grids", fontsize=8)
    figure.supxlabel("Full: private. Hatched: as published, not private. Lower is better.", fontsize=7, color=INK)
    return figure


def by_epsilon(results: Results, experiment: str) -> Any:
    """Draw NCE and processor time by epsilon."""
    city, epsilons = results.some(experiment, "city")[0], sorted(results.some(experiment, "epsilon"))
    figure, axes = _panels(2)
    titles = {"nce_shifted_100": "NCE, 100 m, shifted", "cpu_seconds": "CPU seconds"}
    for ax, (measure, title) in zip(axes, titles.items(), strict=True):
        where = {epsilon: {"measure": measure, "epsilon": epsilon} for epsilon in epsilons}
        _draw_lines(ax, results, (experiment, city), where, ("ε", title))
    return _with_legend(figure, axes)


def _by(pattern: str, across: str, up: str) -> Callable[[Results, str], Any]:
    """Return a figure with one panel a city, of the measures whose names hold a number."""

    def draw(results: Results, experiment: str) -> Any:
        cities = results.some(experiment, "city")
        named = {m: re.fullmatch(pattern, m) for m in results.some(experiment, "measure")}
        where = {float(found[1]): {"measure": name} for name, found in named.items() if found}
        figure, axes = _panels(len(cities))
        for ax, city in zip(axes, cities, strict=True):
            _draw_lines(ax, results, (experiment, city), dict(sorted(where.items())), (across, up))
        return _with_legend(figure, axes)

    return draw


def _draw_lines(
    ax: Any, results: Results, place: tuple[str, str], where: Mapping[float, Mapping[str, Any]], labels: tuple[str, str]
) -> None:
    """Draw a line for each method; `where` says what to look up for each number on the horizontal axis."""
    ticks: set[float] = set()
    for name in results.some(place[0], "method"):
        asked = {at: results.find(*place, name, **options) for at, options in where.items()}
        known = {at: found for at, found in asked.items() if found is not None}
        ticks |= set(known)
        published = name.endswith(PUBLISHED)
        ax.errorbar(
            list(known),
            [summary.mean for summary in known.values()],
            [summary.spread for summary in known.values()],
            label=name.replace(PUBLISHED, " (as published)"),
            color=_colour(name),
            marker=MARKERS.get(name.removesuffix(PUBLISHED).rpartition("-")[2], "D"),
            linestyle="--" if published else "-",
            alpha=0.5 if published else 1.0,
            markersize=3.5,
            linewidth=1.2,
        )
    ax.set_xscale("log")
    ax.set_xticks(sorted(ticks), [f"{tick:g}" for tick in sorted(ticks)])
    ax.minorticks_off()
    ax.set_title(place[1], loc="left", color=INK, fontsize=10)
    ax.set_xlabel(labels[0], fontsize=8)
    ax.set_ylabel(labels[1], fontsize=8)
    ax.set_ylim(bottom=0)


def _colour(name: str) -> str:
    return next((colour for kind, colour in COLOURS.items() if name.startswith(kind)), INK)


def _panels(count: int, *, height: float = 3.2) -> tuple[Any, list[Any]]:
    figure = new_figure(figsize=(3.2 * count + 0.6, height), layout="constrained")
    axes = [figure.add_subplot(1, count, number + 1) for number in range(count)]
    for ax in axes:
        ax.grid(color=PALE, linewidth=0.5)
        ax.set_axisbelow(True)
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(labelsize=7)
    return figure, axes


def _with_legend(figure: Any, axes: list[Any]) -> Any:
    handles, labels = axes[0].get_legend_handles_labels()
    columns = {1: 2, 2: 3}.get(len(axes), 4)
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, fontsize=7, frameon=False)
    figure.set_figheight(figure.get_figheight() + 0.18 * -(-len(labels) // columns))
    return figure


FIGURES: dict[str, tuple[Callable[[Results, str], Any], str]] = {
    "main": (main_figure, "main"),
    "quick": (main_figure, "quick"),
    "epsilon": (by_epsilon, "epsilon"),
    "range": (_by(r"range_(\d+)", "radius (m)", "mean error (points)"), "range-queries"),
    "hotspots": (_by(r"hotspots_(\d+)", "granularity", "SDC of hotspots"), "hotspots"),
    "max-inf": (_by(r"most_influential\(choose=(\d+)\)", "B", "SDC, Max-Inf"), "facilities"),
    "min-dist": (_by(r"least_distance_greedy\(choose=(\d+)\)", "B", "SDC, Min-Dist"), "facilities"),
}
"""Name of the file → how to draw it, from which experiment."""
