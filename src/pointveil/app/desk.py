"""What the page can ask for: one function for each action, in a table."""

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path, PurePosixPath
from typing import Any, Self

import numpy as np
from pydantic import Field, FiniteFloat, model_validator
from shapely import polygons, to_geojson, total_bounds

from pointveil.app.folder import Folder
from pointveil.app.orders import Asked, Epsilon, Keep, Order, Text, python, shell
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


@dataclass
class Desk:
    """One server's folder, ledger and work."""

    folder: Folder
    ledger: Ledger = field(default_factory=Ledger)
    works: Works = field(default_factory=Works)


class Nothing(Asked):
    """No parameters."""


class Data(Asked):
    """A private file."""

    data: str = Text


class Place(Asked):
    """A file with a world."""

    world: str = Text


class Layers(Asked):
    """Files with the layers of a world."""

    water: str | None = None
    land: str | None = None
    roads: str | None = None

    def named(self) -> dict[str, str]:
        """Return the layers that were given, as `World.make` calls them."""
        given = {"out_of_bounds": self.water, "land": self.land, "roads": self.roads}
        return {name: file for name, file in given.items() if file}


class NewWorld(Layers):
    """A world to be made: its bounds or the corners of its boundary, and files with its layers."""

    output: str = Text
    bounds: tuple[FiniteFloat, FiniteFloat, FiniteFloat, FiniteFloat] | None = None
    corners: tuple[tuple[FiniteFloat, FiniteFloat], ...] = Field((), max_length=5000)  # in degrees
    crs: str = "EPSG:4326"

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.bounds is None) != (len(self.corners) > 2) or (self.corners and self.crs != "EPSG:4326"):
            raise ValueError("Give bounds, or three corners or more in degrees")
        return self


class Offer(Asked):
    """An order, and for the first one of a file the most that may ever be spent on it."""

    order: Order
    cap: str | None = Field(None, max_length=100)


class Press(Offer):
    """An order, with the price that the owner saw when pressing."""

    price: str = Field(max_length=100)


class Guess(Asked):
    """A world, an epsilon, and about how many points there are, or how many people with how many points each."""

    world: str = Text
    epsilon: Epsilon
    points: int | None = Field(None, ge=1, le=10**9)
    persons: int | None = Field(None, ge=1, le=10**9)
    per_person: int | None = Field(None, ge=1, le=10**6)
    max_points: int | None = Field(None, ge=1, le=10**6)
    keep: tuple[Keep, ...] = ()


class Released(Asked):
    """A synthetic file."""

    output: str = Text


class Part(Asked):
    """A file of a release."""

    output: str = Text
    part: str = Text


class Page(Asked):
    """A synthetic file and its world."""

    output: str = Text
    world: str = Text


class Look(Asked):
    """A release to look at beside the real points; with all measures, or the maps alone."""

    order: Order
    measures: bool = False


class Named(Asked):
    """A piece of work."""

    work: str = Text


def files(desk: Desk, _: Nothing) -> Answer:
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


def columns(desk: Desk, asked: Data) -> Answer:
    """Return names and types of the columns: no value, no count, no extent."""
    found = read_schema(desk.folder.file(asked.data))["columns"]
    return {
        "columns": None if found is None else [one | {"guess": guess_use(one["name"])} for one in found],
        "words": {
            "shell": shell("schema", asked.data),
            "python": f"from pointveil.reading import read_schema\n\nread_schema({asked.data!r})",
        },
    }


def world(desk: Desk, asked: Place) -> Answer:
    """Return a world as a map, and in a sentence."""
    place = World.read(desk.folder.file(asked.world))
    return {
        "map": encode_map(place),
        "about": repr(place).removeprefix("<World: ").removesuffix(">"),
        "words": {
            "shell": "# The world is a file already: give it to the other commands with --world.",
            "python": python("pv.World.read", asked.world),
        },
    }


def ground(desk: Desk, asked: Layers) -> Answer:
    """Return layers as a map to draw a world on, in degrees; nothing if there are none, or too far apart for a map."""
    layers: dict[str, Any] = {name: desk.folder.file(file) for name, file in asked.named().items()}
    try:
        shapes = [read_layer(path, kinds=KINDS[name]).to_crs("EPSG:4326") for name, path in layers.items()]
        if not shapes:
            return {}
        place = World.make(total_bounds(np.concatenate([one.geometries for one in shapes])).tolist(), **layers)
    except InputError as fault:
        return {"about": str(fault)}
    (x, y), (east, north) = place.projection.from_metres(np.array([[0, 0], [max(place.size)] * 2])).tolist()
    return {"map": encode_map(place), "frame": {"x": x, "y": y, "across": east - x, "up": north - y}}


def make_world(desk: Desk, asked: NewWorld) -> Answer:
    """Make a world of a boundary and layers; a boundary of corners is kept as a file beside it."""
    named = asked.named()
    layers: dict[str, Any] = {name: desk.folder.file(file) for name, file in named.items()}
    boundary = asked.bounds or polygons([asked.corners])
    made = World.make(boundary, crs=asked.crs, **layers)
    target, drawn = desk.folder.inside(asked.output), f"{asked.output.removesuffix('.gpkg')}-boundary.geojson"
    if asked.corners:
        outline = desk.folder.inside(drawn)
        refuse_existing(target, outline, force=False)
        write_whole(outline, lambda path: path.write_text(to_geojson(made.boundary)))
    made.write(target)
    crs = {} if asked.crs == "EPSG:4326" else {"crs": asked.crs}
    flags = [(f"--{'water' if name == 'out_of_bounds' else name}", file) for name, file in (named | crs).items()]
    sides = ",".join(f"{side:.10g}" for side in asked.bounds or ())
    given = ("--boundary", drawn) if asked.corners else ("--bounds", sides)
    call = python("made = pv.World.make", drawn if asked.corners else asked.bounds, **named, **crs)
    return {
        "words": {
            "shell": shell("world", asked.output, given, *flags),
            "python": f"{call}\nmade.write({asked.output!r})",
        }
    }


def foretell(desk: Desk, asked: Guess) -> Answer:
    """Foretell how good releases would be, by epsilon, from a crowd invented in this world: no data are touched."""
    place = desk.folder.file(asked.world)
    tried: dict[str, Any] = {"epsilons": sorted({*EPSILONS, asked.epsilon}, key=Fraction)}
    tried |= {"max_points": [asked.max_points]} if asked.max_points else {}
    about = asked.model_dump(include={"points", "persons", "per_person"}, exclude_none=True)
    kept = [one.column() for one in asked.keep]
    name = f"foretell-{asked.model_dump_json()}"
    desk.works.start(name, lambda _: plan(place, keep=kept, **tried, **about).to_dict(), anew=True)
    flags = {"points": "--points-about", "persons": "--persons", "per_person": "--per-person", "epsilons": "--epsilon"}
    options = [(flags[option], value) for option, value in about.items()]
    options += [(flags.get(option, "--max-points"), ",".join(map(str, values))) for option, values in tried.items()]
    keep = [one.option() for one in asked.keep]
    named = tried | ({"keep": keep} if keep else {})
    return {
        "work": name,
        "words": {
            "shell": shell("plan", ("--world", asked.world), *options, *(("--keep", one) for one in keep)),
            "python": python("pv.plan", asked.world, **about, **named),
        },
    }


def quote(desk: Desk, asked: Offer) -> Answer:
    """Check everything public and say what the release would cost; nothing is charged."""
    order = asked.order
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
        "words": order.words(request, None if account else asked.cap),
    }


def _output(desk: Desk, order: Order) -> Path:
    """Return where the synthetic file goes: one file, whose suffix says its format."""
    if not readable(order.output):
        raise InputError(f"{order.output} has no suffix of a known format, such as .parquet or .csv: add one.")
    return desk.folder.inside(order.output)


def press(desk: Desk, asked: Press) -> Answer:
    """Make a release, if the price is the one that the owner saw; the same order again is charged once."""
    order, request = asked.order, asked.order.request(desk.folder.root)
    under_way = desk.works.find(request)
    if under_way is None or under_way.state not in {"waiting", "running"}:
        price = quote(desk, asked)["price"]
        if asked.price != price:
            raise InputError(f"The price is epsilon {price}, and not {asked.price}. Look again, then press.")
    data, place, output = desk.folder.file(order.data), desk.folder.file(order.world), _output(desk, order)

    def do(_: Tell) -> Answer:
        cap = None if desk.ledger.find(data.name) else asked.cap
        made = release(data, place, output=output, ledger=desk.ledger, request=request, cap=cap, **order.options())
        return {"rows": len(made), "output": order.output, "statement": made.statement.promise}

    desk.works.start(request, do, anew=not output.exists())
    return {"work": request}


def work(desk: Desk, asked: Named) -> Answer:
    """Say how far a piece of work is."""
    found = desk.works.find(asked.work)
    return {"state": "unknown"} if found is None else found.to_dict()


def look(desk: Desk, asked: Look) -> Answer:
    """Compare with the real points, for the owner's eyes: the maps, or all measures too."""
    order = asked.order
    data, place, output = (desk.folder.file(name) for name in (order.data, order.world, order.output))
    places = {name: value for name, value in order.options().items() if name in {"columns", "crs"}}

    def do(tell: Tell) -> Answer:
        tell("Reading the points")

        def step(done: int, total: int, title: str) -> None:
            tell(f"Measuring {done + 1} of {total}: {title}")

        some = None if asked.measures else ()
        result = evaluate(data, output, World.read(place), measures=some, progress=step, **places)
        return report_data(result) if asked.measures else map_data(result)

    name = f"look-{asked.measures}-{order.request(desk.folder.root)}"
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


def check_release(desk: Desk, asked: Released) -> Answer:
    """Verify a release against its statement and the ledger."""
    path = desk.folder.file(asked.output)
    found = verify(path, ledger=desk.ledger.path)
    output = found.statement.output
    parts = [] if output is None else [file.name for file in output.files]
    return {
        "checks": list(found.passed),
        "caveats": list(found.caveats),
        "parts": [*parts, statement_path(path).name],
        "statement": str(found.statement),
        "words": {
            "shell": shell("verify", asked.output, ("--ledger", desk.ledger.path)),
            "python": python("pv.verify", asked.output, ledger=str(desk.ledger.path)),
        },
    }


def share(desk: Desk, asked: Page) -> Answer:
    """Return the page that goes with a release, as HTML: nothing on it comes from the real points."""
    path, place = desk.folder.file(asked.output), World.read(desk.folder.file(asked.world))
    about = verify(path).statement
    points = read_points(path, place, **form(about), keep=kept_columns(about))
    return {"name": f"{path.stem}.html", "page": release_page(points, place, about)}


def certify(desk: Desk, asked: Released) -> Answer:
    """Return a certificate of a release that verifies: one page to print, sign and file."""
    path = desk.folder.file(asked.output)
    found = verify(path, ledger=desk.ledger.path)
    page = certificate(found.statement, checks=found.passed, caveats=found.caveats)
    return {"name": f"{path.name}.certificate.html", "page": page}


def download(desk: Desk, asked: Part) -> Path:
    """Return the path of a file that may be downloaded: a part of a release that verifies, or its statement."""
    path = desk.folder.file(asked.output)
    output = verify(path).statement.output
    parts = {file.name for file in output.files} if output is not None else set()
    if asked.part not in parts | {statement_path(path).name}:
        raise InputError(f"{path.name} is a release, and what was asked for is no part of it.")
    return desk.folder.file((PurePosixPath(asked.output).parent / asked.part).as_posix())


ACTIONS: dict[str, tuple[type[Asked], Callable[[Desk, Any], Answer | Path]]] = {
    "files": (Nothing, files),
    "columns": (Data, columns),
    "world": (Place, world),
    "ground": (Layers, ground),
    "make-world": (NewWorld, make_world),
    "foretell": (Guess, foretell),
    "quote": (Offer, quote),
    "release": (Press, press),
    "work": (Named, work),
    "look": (Look, look),
    "verify": (Released, check_release),
    "share": (Page, share),
    "certificate": (Released, certify),
    "download": (Part, download),
}
"""Action → what it takes, and what does it."""
