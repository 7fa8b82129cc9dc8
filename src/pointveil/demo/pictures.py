"""Draw real beside synthetic: the same map, the same dots."""

from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import shapely

from pointveil.cells import Floats
from pointveil.errors import missing_extra
from pointveil.world.osm import ATTRIBUTION
from pointveil.world.world import World

PAPER, LAND, WATER, STREET, INK, PALE_INK = "#ffffff", "#f6f3ec", "#c3d9e6", "#dcd5c7", "#22303c", "#7b8790"
REAL, SYNTHETIC = "#b3470b", "#14619e"  # as on the pages of a report
STREET_WIDTHS = {"primary": 2.4, "secondary": 2.1, "tertiary": 1.7, "service": 0.6}
OTHER_WIDTH = 1.2

NOTE = f"Map: {ATTRIBUTION}. The people are invented."

MOST_COLUMNS = 4
PANEL_WIDTH, TITLE_HEIGHT, FOOT_HEIGHT, GAP = 3.4, 0.34, 0.26, 0.14  # inches
DOTS_PER_INCH = 160


def draw_comparison(world: World, real: Floats, synthetic: Mapping[str, Floats], path: Path) -> None:
    """Write a PNG of the real points beside those of each method, all in metres, with a note that credits the map.

    Whoever sees the picture sees the real points: draw it of invented people, or for your own eyes.
    """
    panels = [("real", real, REAL), *((name, xy, SYNTHETIC) for name, xy in synthetic.items())]
    figure, axes = _lay_out(len(panels), world.bounds)
    for ax, (title, xy, colour) in zip(axes, panels, strict=True):
        draw_map(ax, world)
        # Dots let each other shine through, the more the fainter.
        faint = float(np.clip(60.0 / np.sqrt(max(len(xy), 1)), 0.08, 0.8))
        ax.plot(*xy.T, "o", markersize=1.1, markeredgewidth=0, color=colour, alpha=faint, zorder=3)
        ax.set_title(title, loc="left", fontsize=12, fontweight="bold", color=colour, pad=5)
    width = figure.get_figwidth()
    figure.text(GAP / width, 0.07 / figure.get_figheight(), NOTE, fontsize=7, color=PALE_INK, va="bottom")
    # To Pillow, method 1 is MAXCOVERAGE, and dither 0 is none: dots keep their own colour.
    write_picture(figure, path, dpi=DOTS_PER_INCH, quantize={"colors": 256, "method": 1, "kmeans": 1, "dither": 0})


def _lay_out(panels: int, bounds: tuple[float, float, float, float]) -> tuple[Any, list[Any]]:
    """Return a figure and its panels, all of the shape of the world."""
    columns = min(panels, MOST_COLUMNS)
    rows = -(-panels // columns)
    map_height = PANEL_WIDTH * (bounds[3] - bounds[1]) / (bounds[2] - bounds[0])
    step_x, step_y = PANEL_WIDTH + GAP, map_height + TITLE_HEIGHT
    width, height = columns * step_x + GAP, rows * step_y + FOOT_HEIGHT + GAP / 2
    figure = new_figure(figsize=(width, height))
    corners = [(GAP + k % columns * step_x, FOOT_HEIGHT + (rows - 1 - k // columns) * step_y) for k in range(panels)]
    axes = [figure.add_axes((x / width, y / height, PANEL_WIDTH / width, map_height / height)) for x, y in corners]
    for ax in axes:
        ax.set(xlim=bounds[::2], ylim=bounds[1::2], xticks=[], yticks=[], facecolor=PAPER)
        ax.spines[:].set(color=PALE_INK, linewidth=0.5)
    return figure, axes


def write_picture(figure: Any, path: Path, *, dpi: int, quantize: Mapping[str, Any]) -> None:
    """Write a PNG of few colours: a quarter of the size, no eye can tell, and no time in it."""
    from PIL import Image

    picture = BytesIO()
    figure.savefig(picture, dpi=dpi, facecolor=PAPER, format="png")
    with Image.open(picture) as image:
        image.convert("RGB").quantize(**quantize).save(path, format="PNG", optimize=True)


def new_figure(**options: Any) -> Any:
    """Return an empty figure of matplotlib, which is an extra."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise missing_extra("figures", "matplotlib") from error
    return Figure(**options)


def draw_map(ax: Any, world: World) -> None:
    """Draw water, land and streets."""
    from matplotlib.collections import LineCollection

    _fill(ax, world.boundary_m, WATER)
    _fill(ax, world.land, LAND)
    if world.roads is not None:
        lines = [shapely.get_coordinates(line) for line in shapely.get_parts(world.roads.lines_m)]
        ax.add_collection(LineCollection(lines, colors=STREET, linewidths=_widths(world), capstyle="round"))


def _widths(world: World) -> list[float]:
    """Return how wide to draw each street; all alike if the roads have no class."""
    if world.roads is None or "highway" not in world.roads.attributes.column_names:
        return [OTHER_WIDTH]
    return [STREET_WIDTHS.get(kind, OTHER_WIDTH) for kind in world.roads.attributes["highway"].to_pylist()]


def _fill(ax: Any, shape: shapely.Geometry, colour: str) -> None:
    """Fill polygons, holes left out."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path as Outline

    polygons = [part for part in shapely.get_parts(shape) if isinstance(part, shapely.Polygon)]
    rings = [Outline(shapely.get_coordinates(ring), closed=True) for ring in shapely.get_rings(polygons)]
    if rings:
        ax.add_patch(PathPatch(Outline.make_compound_path(*rings), facecolor=colour, linewidth=0))
