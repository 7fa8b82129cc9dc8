"""Look, before anything is charged, for mistakes that public facts show: names of columns, CRS, world, options."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from pyproj import CRS

from pointveil.columns import Column, check_keep
from pointveil.columns.names import guess_use, words_of
from pointveil.errors import InputError, PointveilError
from pointveil.estimate.sizes import MOST_PART, most_points
from pointveil.files.crs import is_geographic, short_name, transform
from pointveil.files.places import local_path, public_name
from pointveil.ledger import DEFAULT_CAP, Account, exact_cap, open_ledger
from pointveil.methods import Method, find_method
from pointveil.priors import with_prior
from pointveil.synthetic import as_named
from pointveil.terms import CheckTerms, Terms, on
from pointveil.vault import Vault, exact_epsilon
from pointveil.world import World

MOST_POINTS = 2**31 - 2  # that may be drawn
LEAST_PER_POINT = Fraction(1, 10**9)  # epsilon: below this no sampler draws the noise
SMALL_LAND = 10_000.0  # square metres
AUTO = "auto"  # for max_points: noisy answers say it
USUAL_EPSILON = 10  # above this a promise is hardly one
FAR_OUTSIDE = 15.0  # degrees beyond the area that a CRS is made for

EAST = {"lon", "lng", "long", "longitude"}
NORTH = {"lat", "latitude"}
EASTING, NORTHING = {"easting", "eastings", "rechtswert", "ostwert"}, {"northing", "northings", "hochwert", "nordwert"}
SAID_ACROSS, SAID_UP = {*EAST, *EASTING, "x"}, {*NORTH, *NORTHING, "y"}
IN_LENGTHS = {*EASTING, *NORTHING, "m", "km", "ft", "feet", "foot", "metre", "metres", "meter", "meters", "utm"}

Level = Literal["refused", "warning", "note"]

UNLISTED = {
    "geojson": "The properties of GeoJSON stand inside its records, so they cannot be listed here: name those to keep.",
    "csv": "All columns of CSV are text: say with --keep what those to keep hold.",
}
"""Formats whose public facts do not tell of every column what it holds."""


@dataclass(frozen=True)
class Finding:
    """One thing that an owner should know before a release, as a sentence."""

    level: Level
    text: str


@dataclass(frozen=True)
class Checked:
    """What a release would use, and what is doubtful about it; no record was read, and nothing was charged."""

    findings: tuple[Finding, ...]
    format: str | None = None  # this and what follows is None if the file could not be opened
    columns: tuple[str, ...] = ()  # x and y, or the geometry
    crs: str | None = None
    place: str | None = None  # where the world is, in words
    unit: str | None = None  # what would be protected
    kept: tuple[str, ...] = ()  # the names of the columns that would be kept
    left_out: tuple[str, ...] = ()  # the names of all other columns
    dataset: str | None = None  # its name in the ledger
    account: Account | None = None  # of that name, as it stands or would be opened; None without a ledger

    @property
    def ok(self) -> bool:
        """Whether a release would be made."""
        return not any(finding.level == "refused" for finding in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values that JSON can hold."""
        account = None if self.account is None else self.account.to_dict()
        return {"ok": self.ok} | asdict(self) | {"account": account}


@dataclass(frozen=True)
class Settled:
    """What the words of an owner mean, as far as public facts decide it."""

    world: World
    method: Method
    epsilon: Fraction
    max_points: int | None  # what a person may count for; None if noisy answers shall say it
    keep: tuple[Column, ...]
    dataset: str  # its name in the ledger

    def open(self, terms: Terms, **accounted: Any) -> Vault:
        """Open a vault on the private points; nothing is charged until it is asked."""
        return Vault.open(
            terms.source, self.world, epsilon=self.epsilon, columns=terms.columns, crs=terms.crs, person=terms.person,
            max_points=self.max_points, keep=self.keep, noise=terms.noise, dataset=self.dataset, **accounted,
        )  # fmt: skip


def settle(terms: Terms) -> Settled:
    """Turn what was said into what it means, and refuse what cannot be; only public files are opened."""
    if isinstance(terms.source, World):
        raise InputError("The private points come first, then the world.")
    world = terms.world if isinstance(terms.world, World) else World.read(terms.world)
    if terms.prior is not None:
        world = with_prior(world, terms.prior, private=local_path(as_named(terms.source)))
    method = find_method(terms.method) if terms.split is None else find_method(terms.method).with_split(terms.split)
    epsilon, most = exact_epsilon(terms.epsilon), check_person(terms.person, terms.max_points)
    check_method(method, world, epsilon, terms.person, most)
    check_unit(terms.unit, terms.person)
    return Settled(world, method, epsilon, most, check_keep(terms.keep), dataset_of(terms))


def dataset_of(terms: Terms) -> str:
    """Return under which name a release is charged."""
    return terms.dataset or public_name(as_named(terms.source))


@on(CheckTerms)
def check(terms: CheckTerms) -> Checked:
    """Say what a release would use and what looks wrong, from names and other public facts alone; costs nothing.

    Parameters
    ----------
    source, world, epsilon, method, split, noise
        As for `release`.
    columns, crs, person, max_points, unit, keep, prior
        As for `release`.
    ledger, dataset, cap
        Where epsilon would be charged, under which name, and the most that may be spent on it.

    Examples
    --------
    >>> checked = pv.check("people.parquet", "helsinki.gpkg", epsilon=1)
    >>> checked.ok, checked.columns, checked.unit
    (True, ('lon', 'lat'), 'one point')
    """
    name = dataset_of(terms)
    try:
        settled = settle(terms)
        vault = settled.open(terms, ledger=None)
        book = open_ledger(terms.ledger)
        account = None if book is None else book.find(name) or _opened(name, terms.cap)
    except PointveilError as fault:
        return Checked((Finding("refused", str(fault)),), dataset=name)
    layout, protects = vault.layout, vault.statement.guarantee.unit
    found = [*look(vault, terms, settled.epsilon)]
    if account is not None and account.left < settled.epsilon:
        found.append(Finding("refused", _too_little(name, account, settled.epsilon)))
    used = (layout.x, layout.y or "y") if layout.x else (layout.geometry or "geometry",)
    kept, place = tuple(column.name for column in settled.keep), vault.world.place
    return Checked(tuple(found), layout.format, used, layout.crs, place, protects, kept, layout.left_out, name, account)


def _opened(name: str, cap: object) -> Account:
    """Return the account that the first release of a dataset would open."""
    return Account(name, (), DEFAULT_CAP if cap is None else exact_cap(cap), Fraction(0), 0)


def _too_little(name: str, account: Account, epsilon: Fraction) -> str:
    if not account.charges and account.cap == DEFAULT_CAP:
        return (
            f"Epsilon {epsilon} is more than the usual cap of a dataset, {DEFAULT_CAP}. Say --cap (cap=) if more may "
            "be spent."
        )
    same = "" if name == account.name else f" (one account with '{account.name}')"
    return f"Only epsilon {float(account.left):g} is left for '{name}'{same} in the ledger."


def look(vault: Vault, terms: Terms, epsilon: Fraction) -> Iterator[Finding]:
    """Yield what public facts show about the points of a vault."""
    layout, world = vault.layout, vault.world
    for text in (*_misnamed(layout.x, layout.y, layout.crs), *_elsewhere(layout.crs, world)):
        yield Finding("refused", text)
    if terms.crs is None and layout.geometry is None:
        yield from _taken_for_degrees(layout.x, layout.y, layout.crs, world)
    dropped = tuple(name for name in layout.left_out if name != terms.person)
    owners = [name for name in dropped if guess_use(name) == "person"]
    if terms.person is None and terms.unit is None and owners:
        named, quoted = (" or ".join(map(each, owners)) for each in (repr, shlex.quote))
        yield Finding(
            "warning",
            f"Column {named} may say whose a point is, and no person column was named: only single points are "
            f"protected. If someone has 100 points, this promises them 100 times epsilon, {100 * float(epsilon):g}. "
            f"Name the column, --person {quoted} (person=), or confirm with --unit point (unit=).",
        )
    if dropped:
        left_out = (
            f"Left out of the synthetic file: {', '.join(dropped)}. To keep a column, declare it (--keep, keep=)."
        )
        yield Finding("warning", left_out)
    times = [name for name in dropped if guess_use(name) == "time"]
    if times:
        yield Finding(
            "note",
            f"{', '.join(times)}: the times would be left out. To keep them: --keep '{times[0]}=time:START/END'.",
        )
    if terms.person in layout.left_out:
        yield Finding(
            "note",
            f"{terms.person} is left out of the synthetic file; --keep '{terms.person}=id' writes invented ids.",
        )
    yield from _of_text(layout, vault.statement.columns)
    if epsilon > USUAL_EPSILON:
        yield Finding("warning", f"epsilon {epsilon} promises very little. Most releases use 1 or less.")
    if world.land_area < SMALL_LAND:
        yield Finding("warning", f"The world has only {world.land_area:,.0f} m² of land. Is its boundary right?")
    if dropped and layout.format in UNLISTED:
        yield Finding("note", UNLISTED[layout.format])


def _of_text(layout: Any, kept: Sequence[dict[str, Any]]) -> Iterator[Finding]:
    """Yield how text is read and written that nothing else is declared of; no value may tell it."""
    for column in kept:
        text = pa.types.is_string(layout.kept[column["name"]].type) and "type" not in column
        if column["kind"] == "time" and text and "format" not in column:
            yield Finding(
                "note",
                f"{column['name']} is text, and read as 2014-04-01T08:30 or 2014-04-01 08:30. Say how it is written if "
                "otherwise, as in ;format=%d.%m.%Y %H:%M: what cannot be read comes out blank.",
            )
    if layout.format == "csv" and layout.delimiter != "," and not any(column.get("decimal") == "," for column in kept):
        yield Finding(
            "note",
            "Coordinates are written with decimal points, whatever sign they have in the file; with decimal commas "
            "only if a kept number is declared so (decimal=,).",
        )


def _misnamed(x: str | None, y: str | None, crs: str) -> Iterator[str]:
    """Yield what the names of two columns say against their use."""
    across, up = words_of(x or ""), words_of(y or "")
    if (across & SAID_UP and not across & SAID_ACROSS) or (up & SAID_ACROSS and not up & SAID_UP):
        yield (
            f"The x column is called {x!r} and the y column {y!r}: they look swapped. Name x (longitude) first, as in "
            f"--columns {y},{x} (columns={(y, x)!r}); or rename the columns if their names are wrong."
        )
    if (across | up) & (EAST | NORTH) and not is_geographic(crs):
        yield (
            f"Columns {x!r} and {y!r} are named as degrees, but {short_name(crs)} is not in degrees. Leave --crs "
            "(crs=) out, or rename the columns if their names are wrong."
        )
    if (across | up) & IN_LENGTHS and not (across | up) & (EAST | NORTH) and is_geographic(crs):
        yield (
            f"Columns {x!r} and {y!r} are named as lengths, but {short_name(crs)} is in degrees. Say which CRS they "
            "are in with --crs (crs=), or rename the columns if their names are wrong."
        )


def _taken_for_degrees(x: str | None, y: str | None, crs: str, world: World) -> Iterator[Finding]:
    """Yield a finding if only the lack of a CRS makes degrees of two columns: no value may decide what they are."""
    words, home = words_of(x or "") | words_of(y or ""), world.projection.crs
    if x is None or words & (EAST | NORTH | IN_LENGTHS):
        return
    metric = "" if is_geographic(home) else f", and the world is in {short_name(home)}"
    yield Finding(
        "refused" if metric else "warning",
        f"No CRS was named, so columns {x!r} and {y!r} are taken to be degrees ({short_name(crs)}); their names do not "
        f"say so{metric}. Say which with --crs (crs=): {short_name(crs)} if they are degrees, another if they count "
        "metres or feet.",
    )


def _elsewhere(crs: str, world: World) -> Iterator[str]:
    """Yield what is wrong if the CRS of the points is made for another part of the globe than the world is in."""
    area = CRS.from_user_input(crs).area_of_use
    west, south, east, north = world.boundary.bounds
    corners = transform(world.projection.crs, "EPSG:4326")(np.array([[west, south], [east, north]]))
    (west, south), (east, north) = corners.tolist()
    if area is None or is_geographic(crs) or not np.isfinite(corners).all() or area.west > area.east:
        return
    apart = (area.west - east, west - area.east, area.south - north, south - area.north)
    if max(apart) > FAR_OUTSIDE:
        yield (
            f"The world lies at {west:.3g}, {south:.3g} degrees, far outside of the area of {short_name(crs)} "
            f"({area.name}). Check the CRS of the points (--crs, crs=) and the world."
        )


def check_unit(unit: str | None, person: str | None) -> None:
    """Refuse a protected unit that is none, or that contradicts the person column."""
    if unit not in {None, "point", "person"}:
        raise InputError(f"--unit (unit=) is 'point' or 'person', not {unit!r}.")
    if unit == "person" and person is None:
        raise InputError("--unit person (unit=) needs --person COLUMN (person=), the column with the person's id.")
    if unit == "point" and person is not None:
        raise InputError("--person (person=) protects people, and --unit point (unit=) single points: leave one out.")


def check_period(period: str | None) -> str | None:
    """Return what is said of the period; refuse one that ends before it starts."""
    dates = re.findall(r"\d{4}(?:-\d\d){0,2}", period or "")
    if len(dates) == 2 and dates[0] > dates[1]:
        raise InputError(f"The period {period!r} ends before it starts.")
    return period


def checked_text(text: str, what: str) -> str:
    """Return what the operator says; refuse what a statement could not show."""
    if not text.strip() or not text.isprintable() or len(text) > 1000:
        raise InputError(f"--{what} ({what}=) must be 1 to 1,000 printable characters in one line.")
    return text.strip()


def check_person(person: str | None, max_points: int | str | None) -> int | None:
    """Return what a person may count for, in points; None if noisy answers shall say it."""
    if person is None and max_points is not None:
        raise InputError("--max-points (max_points=) needs --person (person=), the column with the person's id.")
    if max_points is None or max_points == AUTO:
        return None
    try:
        points = int(str(max_points))
    except ValueError:
        points = 0
    if points < 1:
        raise InputError(f"--max-points (max_points=) must be 'auto' or at least 1, not {max_points}.")
    return points


def check_drawing(count: int | None, seed: int | None) -> None:
    """Refuse, before anything is spent, a number of points or a seed that makes no sense."""
    for what, value in {"number of points": count, "seed": seed}.items():
        if value is not None and not isinstance(value, int | np.integer):
            raise InputError(f"The {what} must be a whole number, not {value!r}.")
    if count is not None and not 0 <= count <= MOST_POINTS:
        raise InputError(f"The number of points must lie between 0 and {MOST_POINTS:,}, not {count:,}.")
    if seed is not None and seed < 0:
        raise InputError(f"The seed must not be negative, and is {seed}.")


def check_world(method: Method, world: World) -> None:
    """Refuse, before anything is spent, a method whose parts do not fit or that the public world cannot serve."""
    method.shares()
    if method.needs_roads and world.roads is None:
        raise InputError(
            f"The method '{method.name}' needs roads, and this world has none. Make it with --roads (roads=)."
        )


def check_method(
    method: Method, world: World, epsilon: Fraction, person: str | None = None, points: int | None = None
) -> None:
    """Refuse what `check_world` does, and noise too wide to be drawn for persons that count as so many points."""
    check_world(method, world)
    if world.prior is not None and not getattr(method.partitioner, "uses_prior", False):
        raise InputError(f"The method '{method.name}' cannot use a prior. Use veil, or leave the prior out.")
    # Nine tenths are left to the method at least, after what is asked about persons.
    least = min(method.shares().values()) * epsilon * (1 - MOST_PART if person else 1)
    points = (points or most_points(epsilon * MOST_PART)) if person else 1
    if least / points < LEAST_PER_POINT:
        most = int(least / LEAST_PER_POINT)
        raise InputError(
            f"--max-points (max_points=) of {points:,} is too large for epsilon {epsilon}: all would be noise. "
            f"The most that can be drawn is {most:,}; most releases use 1 to 100."
        )
