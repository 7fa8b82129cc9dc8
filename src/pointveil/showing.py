"""Show synthetic points: as a picture, as a map to move about in, as a small card."""

from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from pointveil.cells import Floats
from pointveil.errors import missing_extra
from pointveil.files.crs import DEGREES, is_geographic, transform
from pointveil.statement import Statement
from pointveil.world import World

CARD_SIZE = 260  # pixels along the longer side of a card's map
CARD_POINTS = 4000  # about 40 kB; synthetic points are in random order, so the first are a fair sample


@dataclass(frozen=True)
class Page:
    """A whole page of HTML that needs no network; it shows itself in a notebook, and can be saved as a file."""

    html: str

    def __repr__(self) -> str:
        return f"<Page: {len(self.html):,} characters of HTML>"

    def _repr_html_(self) -> str:
        frame = 'style="width:100%;height:640px;border:0" sandbox="allow-scripts"'
        return f'<iframe {frame} srcdoc="{escape(self.html)}"></iframe>'


def plot(coordinates: Floats, crs: str, *, ax: Any = None) -> Any:
    """Draw points (n, 2) onto matplotlib axes, a metre as long across as up, and return the axes."""
    if ax is None:
        try:
            import matplotlib.pyplot as plt
        except ImportError:
            raise missing_extra("figures", "matplotlib") from None
        _, ax = plt.subplots()
    ax.scatter(*coordinates.T, s=2, alpha=0.4, linewidths=0, rasterized=True)
    ax.set_aspect(1 / _squeeze(coordinates, crs))
    return ax


def explore(points: Any, statement: Statement, world: World | None) -> Any:
    """Return a folium map of synthetic points; without folium, the release's own page."""
    try:
        import folium
        import folium.plugins
    except ImportError:
        return _page(points, statement, world)
    corners = transform(points.crs, DEGREES)(points.coordinates)[:, ::-1]  # latitude first
    shown = folium.Map()
    folium.plugins.FastMarkerCluster(corners.tolist()).add_to(shown)
    if len(corners):
        shown.fit_bounds([corners.min(axis=0).tolist(), corners.max(axis=0).tolist()])
    return shown


def _page(points: Any, statement: Statement, world: World | None) -> Page:
    # Neither of these is handed a real point, so this way into `evaluation` is open; the import contracts name it.
    from pointveil.evaluation.points import kept_columns, read_points
    from pointveil.evaluation.report.release import release_page

    place = World.make(statement.domain.bounds, crs=statement.domain.crs) if world is None else world
    return Page(release_page(read_points(points, place, keep=kept_columns(statement)), place, statement))


def card(coordinates: Floats, crs: str, statement: Statement) -> str:
    """Return a map and the promise in a few lines of HTML, with no script and at most 60 kB."""
    guarantee, method = statement.guarantee, statement.method
    facts = [
        f"<b>{len(coordinates):,} synthetic points</b>",
        f"ε = {escape(guarantee.epsilon)}, protects {escape(guarantee.unit)}",
        f"{'' if method is None else escape(method.name) + ', '}made {escape(statement.made)}",
    ]
    if statement.rehearsal:
        facts.insert(0, f'<b style="color:#c00">{escape(statement.rehearsal)}</b>')
    style = "display:flex;gap:1em;align-items:center;font-family:sans-serif;font-size:13px"
    return f'<div style="{style}">{_drawing(coordinates, crs)}<div>{"<br>".join(facts)}</div></div>'


def _drawing(coordinates: Floats, crs: str) -> str:
    """Return points as an SVG of dots; what they cover is public, as they are."""
    if not len(coordinates):
        return ""
    shown = coordinates[:CARD_POINTS] * (_squeeze(coordinates, crs), 1)
    low, high = shown.min(axis=0), shown.max(axis=0)
    pixels = (shown - low) * ((CARD_SIZE - 4) / max(float((high - low).max()), 1e-9)) + 2
    width, height = (int(side) + 3 for side in pixels.max(axis=0))
    dots = "".join(f"M{x} {height - y}h0" for x, y in pixels.astype(int).tolist())
    return (
        f'<svg width="{width}" height="{height}" role="img" aria-label="Map of the points" style="flex:none">'
        f'<path d="{dots}" stroke="currentColor" stroke-width="1.6" stroke-linecap="round" stroke-opacity=".45"/></svg>'
    )


def _squeeze(coordinates: Floats, crs: str) -> float:
    """Return how long a step across is, for a step up of length 1: in degrees, less towards the poles."""
    if not len(coordinates) or not is_geographic(crs):
        return 1.0
    return max(0.01, float(np.cos(np.radians(coordinates[:, 1].mean()))))
