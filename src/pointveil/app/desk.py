"""What the page can ask for: one function for each action, in a table."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path, PurePosixPath
from typing import Annotated, Any

import numpy as np
from pydantic import Field, FiniteFloat
from shapely import polygons, to_geojson, total_bounds

from pointveil.app.folder import Folder
from pointveil.app.orders import Epsilon, Keep, Order, Text, python, shell
from pointveil.app.work import Tell, Works
from pointveil.columns.names import guess_use
from pointveil.errors import InputError
from pointveil.evaluation import evaluate
from pointveil.evaluation.points import form, kept_columns, read_points
from pointveil.evaluation.report.maps import encode_map
from pointveil.evaluation.report.owner import map_data, report_data
from pointveil.evaluation.report.release import release_page
from pointveil.files.crs import short_name
from pointveil.files.vector_layer import LINES, POLYGONS
from pointveil.files.whole import refuse_existing, write_whole
from pointveil.ledger import Ledger
from pointveil.orders import ANSWERED_BEFORE, CHARGED_BEFORE, prepare
from pointveil.planning import EPSILONS, plan
from pointveil.reading import read_schema, readable
from pointveil.releases import release
from pointveil.statement import certificate
from pointveil.statement.document import plain_words
from pointveil.synthetic import statement_path
from pointveil.terms import ReleaseTerms
from pointveil.vault import Vault
from pointveil.verification import verify
from pointveil.world import World
from pointveil.world.layers import read_layer

LAYERS = (".geojson", ".json", ".gpkg", ".shp", ".fgb", ".parquet", ".geoparquet", ".pbf", ".osm", ".graphml")
KINDS = {"out_of_bounds": POLYGONS, "land": POLYGONS, "roads": LINES}
PAID = {ANSWERED_BEFORE, CHARGED_BEFORE}
Answer = dict[str, Any]
Bounds = tuple[FiniteFloat, FiniteFloat, FiniteFloat, FiniteFloat]
Corners = Annotated[tuple[tuple[FiniteFloat, FiniteFloat], ...], Field(max_length=5000)]  # in degrees
Amount = Annotated[str, Field(max_length=100)]
Many = Annotated[int, Field(ge=1, le=10**9)]
Some = Annotated[int, Field(ge=1, le=10**6)]


@dataclass
class Desk:
    """One server's folder, ledger and work."""

    folder: Folder
    ledger: Ledger = field(default_factory=Ledger)
    works: Works = field(default_factory=Works)


def files(desk: Desk) -> Answer:
    """List the files of the folder by what they may be used for; nothing but names."""
    names = desk.folder.files()
    stated = {name for name in names if statement_path(Path(name)).as_posix() in names}
    return {
        "folder": str(desk.folder.root),
        "data": [name for name in names if readable(name) and name not in stated],
        "worlds": [name for name in names if name.lower().endswith(".gpkg") and name not in stated],
        "layers": [name for name in names if name.lower().endswith(LAYERS) and name not in stated],
        "releases": sorted(stated),
        "earlier": [entry.to_dict() for entry in reversed(desk.ledger.log())],
    }


def columns(desk: Desk, data: Text) -> Answer:
    """Return names and types of the columns: no value, no count, no extent."""
    found = read_schema(desk.folder.file(data))["columns"]
    return {
        "columns": None if found is None else [one | {"guess": guess_use(one["name"])} for one in found],
        "words": {
            "shell": shell("schema", data),
            "python": f"from pointveil.reading import read_schema\n\nread_schema({data!r})",
        },
    }


def world(desk: Desk, world: Text) -> Answer:
    """Return a world as a map, and in a sentence."""
    place = World.read(desk.folder.file(world))
    return {
        "map": encode_map(place),
        "about": f"{repr(place).removeprefix('<World: ').removesuffix('>')}, around {place.place}",
        "words": {
            "shell": "# The world is a file already: give it to the other commands with --world.",
            "python": python("pv.World.read", world),
        },
    }


def _named(water: str | None, land: str | None, roads: str | None) -> dict[str, str]:
    """Return the layers that were given, as `World.make` calls them."""
    given = {"out_of_bounds": water, "land": land, "roads": roads}
    return {name: file for name, file in given.items() if file}


def ground(desk: Desk, water: str | None = None, land: str | None = None, roads: str | None = None) -> Answer:
    """Return layers as a map to draw a world on, in degrees; nothing if there are none, or too far apart for a map."""
    layers: dict[str, Any] = {name: desk.folder.file(file) for name, file in _named(water, land, roads).items()}
    try:
        shapes = [read_layer(path, kinds=KINDS[name]).to_crs("EPSG:4326") for name, path in layers.items()]
        if not shapes:
            return {}
        place = World.make(total_bounds(np.concatenate([one.geometries for one in shapes])).tolist(), **layers)
    except InputError as fault:
        return {"about": str(fault)}
    (x, y), (east, north) = place.projection.from_metres(np.array([[0, 0], [max(place.size)] * 2])).tolist()
    return {"map": encode_map(place), "frame": {"x": x, "y": y, "across": east - x, "up": north - y}}


def make_world(
    desk: Desk,
    output: Text,
    bounds: Bounds | None = None,
    corners: Corners = (),
    crs: str = "EPSG:4326",
    water: str | None = None,
    land: str | None = None,
    roads: str | None = None,
) -> Answer:
    """Make a world of bounds or corners, and layers; a boundary of corners is kept as a file beside it."""
    if (bounds is None) != (len(corners) > 2) or (corners and crs != "EPSG:4326"):
        raise InputError("Give bounds, or three corners or more in degrees.")
    named = _named(water, land, roads)
    layers: dict[str, Any] = {name: desk.folder.file(file) for name, file in named.items()}
    made = World.make(bounds or polygons([corners]), crs=crs, **layers)
    target, drawn = desk.folder.inside(output), f"{output.removesuffix('.gpkg')}-boundary.geojson"
    if corners:
        outline = desk.folder.inside(drawn)
        refuse_existing(target, outline, force=False)
        write_whole(outline, lambda path: path.write_text(to_geojson(made.boundary)))
    made.write(target)
    named |= {} if crs == "EPSG:4326" else {"crs": crs}
    flags = [(f"--{'water' if name == 'out_of_bounds' else name}", file) for name, file in named.items()]
    given = ("--boundary", drawn) if corners else ("--bounds", ",".join(f"{side:.10g}" for side in bounds or ()))
    call = python("made = pv.World.make", drawn if corners else bounds, **named)
    return {
        "words": {
            "shell": shell("world", output, given, *flags),
            "python": f"{call}\nmade.write({output!r})",
        }
    }


def foretell(
    desk: Desk,
    world: Text,
    epsilon: Epsilon,
    points: Many | None = None,
    persons: Many | None = None,
    per_person: Some | None = None,
    max_points: Some | None = None,
    keep: tuple[Keep, ...] = (),
) -> Answer:
    """Foretell how good releases would be, by epsilon, from a crowd invented in this world: no data are touched."""
    place = desk.folder.file(world)
    tried: dict[str, Any] = {"epsilons": sorted({*EPSILONS, epsilon}, key=Fraction)}
    tried |= {"max_points": [max_points]} if max_points else {}
    given = {"points": points, "persons": persons, "per_person": per_person}
    about: dict[str, Any] = {name: number for name, number in given.items() if number is not None}
    kept = [one.column() for one in keep]
    name = "foretell-" + hashlib.sha256(repr((world, epsilon, tried, about, keep)).encode()).hexdigest()[:20]
    desk.works.start(name, lambda _: plan(place, keep=kept, **tried, **about).to_dict(), anew=True)
    flags = {"points": "--points-about", "persons": "--persons", "per_person": "--per-person", "epsilons": "--epsilon"}
    options = [(flags[option], value) for option, value in about.items()]
    options += [(flags.get(option, "--max-points"), ",".join(map(str, values))) for option, values in tried.items()]
    texts = [one.option() for one in keep]
    return {
        "work": name,
        "words": {
            "shell": shell("plan", ("--world", world), *options, *(("--keep", text) for text in texts)),
            "python": python("pv.plan", world, **about, **tried, **({"keep": texts} if texts else {})),
        },
    }


def quote(desk: Desk, order: Order, cap: Amount | None = None) -> Answer:
    """Check everything public and say what the release would cost; nothing is charged."""
    request = order.request(desk.folder.root)
    output = _output(desk, order)
    data, place = desk.folder.file(order.data), desk.folder.file(order.world)
    prepared = prepare(ReleaseTerms(data, place, output=output, ledger=desk.ledger, request=request, **order.options()))
    if isinstance(prepared.asked, Vault):
        prepared.asked.close()
    paid = bool(PAID & {*prepared.warnings})
    account, layout = desk.ledger.find(Path(order.data).name), prepared.asked.layout
    return {
        "request": request,
        "price": "0" if paid else order.epsilon,
        "promise": plain_words(order.epsilon, prepared.asked.statement.guarantee.unit),
        "warnings": list(prepared.warnings),
        "reads": layout.geometry or f"{layout.x} (x) and {layout.y} (y)",
        "crs": short_name(layout.crs),
        "account": None if account is None else account.to_dict(),
        "words": order.words(request, None if account else cap),
    }


def _output(desk: Desk, order: Order) -> Path:
    """Return where the synthetic file goes: one file, whose suffix says its format."""
    if not readable(order.output):
        raise InputError(f"{order.output} has no suffix of a known format, such as .parquet or .csv: add one.")
    return desk.folder.inside(order.output)


def press(desk: Desk, order: Order, price: Amount, cap: Amount | None = None) -> Answer:
    """Make a release, if the price is the one that the owner saw; the same order again is charged once."""
    request = order.request(desk.folder.root)
    under_way = desk.works.find(request)
    if under_way is None or under_way.state not in {"waiting", "running"}:
        wanted = quote(desk, order, cap)["price"]
        # Less than was seen is no surprise: another tab, or the same one before, paid for it meanwhile.
        if price != wanted and not (wanted == "0" and price == order.epsilon):
            raise InputError(f"The price is epsilon {wanted}, and not {price}. Look again, then press.")
    data, place, output = desk.folder.file(order.data), desk.folder.file(order.world), _output(desk, order)

    def do(_: Tell) -> Answer:
        first = None if desk.ledger.find(data.name) else cap
        made = release(data, place, output=output, ledger=desk.ledger, request=request, cap=first, **order.options())
        return {"rows": len(made), "output": order.output, "statement": made.statement.promise}

    desk.works.start(request, do, anew=not output.exists())
    return {"work": request}


def work(desk: Desk, work: Text) -> Answer:
    """Say how far a piece of work is."""
    found = desk.works.find(work)
    return {"state": "unknown"} if found is None else found.to_dict()


def look(desk: Desk, order: Order, measures: bool = False) -> Answer:  # noqa: FBT001, FBT002 - the page names it
    """Compare with the real points, for the owner's eyes: the maps, or all measures too."""
    data, place, output = (desk.folder.file(name) for name in (order.data, order.world, order.output))
    places = {name: value for name, value in order.options().items() if name in {"columns", "crs"}}

    def do(tell: Tell) -> Answer:
        tell("Reading the points")

        def step(done: int, total: int, title: str) -> None:
            tell(f"Measuring {done + 1} of {total}: {title}")

        some = None if measures else ()
        result = evaluate(data, output, World.read(place), measures=some, progress=step, **places)
        return report_data(result) if measures else map_data(result)

    name = f"look-{measures}-{order.request(desk.folder.root)}"
    desk.works.start(name, do, anew=True)
    given = [("--columns", ",".join(order.columns))] if order.columns else []
    given += [("--crs", order.crs)] if order.crs else []
    return {
        "work": name,
        "words": {
            "shell": shell("evaluate", order.data, order.output, ("--world", order.world), *given),
            "python": python("pv.evaluate", order.data, order.output).removesuffix(")")
            + f", pv.World.read({order.world!r})"
            + "".join(f", {name}={value!r}" for name, value in places.items())
            + ")",
        },
    }


def check_release(desk: Desk, output: Text) -> Answer:
    """Verify a release against its statement and the ledger."""
    path = desk.folder.file(output)
    found = verify(path, ledger=desk.ledger.path)
    written = found.statement.output
    parts = [] if written is None else [file.name for file in written.files]
    return {
        "checks": list(found.passed),
        "caveats": list(found.caveats),
        "parts": [*parts, statement_path(path).name],
        "statement": str(found.statement),
        "words": {
            "shell": shell("verify", output, ("--ledger", desk.ledger.path)),
            "python": python("pv.verify", output, ledger=str(desk.ledger.path)),
        },
    }


def share(desk: Desk, output: Text, world: Text) -> Answer:
    """Return the page that goes with a release, as HTML: nothing on it comes from the real points."""
    path, place = desk.folder.file(output), World.read(desk.folder.file(world))
    about = verify(path).statement
    points = read_points(path, place, **form(about), keep=kept_columns(about))
    return {"name": f"{path.stem}.html", "page": release_page(points, place, about)}


def certify(desk: Desk, output: Text) -> Answer:
    """Return a certificate of a release that verifies: one page to print, sign and file."""
    path = desk.folder.file(output)
    found = verify(path, ledger=desk.ledger.path)
    page = certificate(found.statement, checks=found.passed, caveats=found.caveats)
    return {"name": f"{path.name}.certificate.html", "page": page}


def download(desk: Desk, output: Text, part: Text) -> Path:
    """Return the path of a file that may be downloaded: a part of a release that verifies, or its statement."""
    path = desk.folder.file(output)
    written = verify(path).statement.output
    parts = {file.name for file in written.files} if written is not None else set()
    if part not in parts | {statement_path(path).name}:
        raise InputError(f"{path.name} is a release, and what was asked for is no part of it.")
    return desk.folder.file((PurePosixPath(output).parent / part).as_posix())


ACTIONS: dict[str, Callable[..., Answer | Path]] = {
    "files": files,
    "columns": columns,
    "world": world,
    "ground": ground,
    "make-world": make_world,
    "foretell": foretell,
    "quote": quote,
    "release": press,
    "work": work,
    "look": look,
    "verify": check_release,
    "share": share,
    "certificate": certify,
    "download": download,
}
"""What does each action; its parameters are what a page may send."""
