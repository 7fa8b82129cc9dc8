"""What to run, as data: a plan is a TOML file."""

import re
import tomllib
from fnmatch import fnmatchcase
from fractions import Fraction
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from pointveil.errors import InputError
from pointveil.evaluation import MEASURES
from pointveil.lab.as_published import AS_PUBLISHED
from pointveil.methods import METHODS

ASKED = re.compile(r"(\w+)(?:\((\w+)=([\w.]+)\))?")


class Part(BaseModel):
    """A part of a plan: no unknown fields, no change after it is made."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class City(Part):
    """Where the data of a city lies, and which part of it is meant."""

    folder: str | None = None  # the folder within the data folder; none for the built-in city
    bounds: tuple[float, float, float, float] | None = None  # not needed if the folder has a world.gpkg
    points: str = "points.parquet"  # the file of points
    sample: int | None = Field(default=None, gt=0)  # points to take at random, the same every time; all if not given


CITIES = {
    "beijing": City(folder="beijing", bounds=(116.330, 39.862, 116.450, 39.954)),
    "porto": City(folder="porto", bounds=(-8.635, 41.123, -8.576, 41.168)),
    "manhattan": City(folder="manhattan", bounds=(-74.0185, 40.7008, -73.9127, 40.877)),
    "helsinki": City(),
}
"""The paper's cities, by their folder in the data folder, and the built-in one."""


class Variant(Part):
    """A method with other parameters or another split of epsilon."""

    method: str  # a row of `METHODS`
    label: str  # what to call it in tables
    split: dict[str, str] = {}  # parts of epsilon by purpose
    parameters: dict[str, int | float] = {}  # fields of its partitioner or its placement

    @field_validator("method")
    @classmethod
    def _known(cls, name: str) -> str:
        if name not in METHODS:
            raise ValueError(f"there is no method '{name}'; choose from {', '.join(METHODS)}")
        return name


class Plan(Part):
    """An experiment: every city with every method, epsilon and seed, measured in several ways."""

    name: str = Field(pattern=r"^[a-z0-9-]+$")  # in files
    title: str  # for people
    cities: tuple[str, ...] = Field(min_length=1)  # names out of `CITIES` or of `city`
    methods: tuple[str, ...] = ()  # rows of `METHODS` or of `AS_PUBLISHED`; with stars, all that fit ("*-kde", "road*")
    variants: tuple[Variant, ...] = ()  # methods with other parameters, beside those
    epsilons: tuple[str, ...] = ("1",)  # such as "1" or "0.5"
    seeds: int = Field(default=5, gt=0)  # how many; they are 0, 1, 2, …
    measures: tuple[str, ...] = Field(min_length=1)  # with an option if need be: "most_influential(choose=5)"
    input: Literal["as is", "on roads"] = "as is"  # the points as they are, or moved onto the nearest road
    city: dict[str, City] = {}  # more cities

    @field_validator("epsilons")
    @classmethod
    def _numbers(cls, epsilons: tuple[str, ...]) -> tuple[str, ...]:
        for epsilon in epsilons:
            if Fraction(epsilon) <= 0:
                raise ValueError(f"epsilon must be more than 0, not {epsilon}")
        return epsilons

    @field_validator("measures")
    @classmethod
    def _measures(cls, measures: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(measure for measure in measures if parse_measure(measure))

    @classmethod
    def read(cls, path: str | Path) -> "Plan":
        """Read a plan from a TOML file."""
        path = Path(path)
        try:
            plan = cls.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
        except FileNotFoundError:
            raise InputError(f"There is no plan {path}.") from None
        except (IsADirectoryError, UnicodeDecodeError, tomllib.TOMLDecodeError) as fault:
            raise InputError(f"{path.name} is not a plan in TOML: {fault}") from None
        except ValidationError as fault:
            problem = fault.errors()[0]
            where = ".".join(str(part) for part in problem["loc"])
            raise InputError(f"{path.name} is not a plan: {where}: {problem['msg']}.") from None
        try:
            plan.all_methods()
            plan.all_cities()
        except InputError as fault:
            raise InputError(f"{path.name}: {fault}") from None
        return plan

    def all_methods(self) -> tuple[str, ...]:
        """Return the names that `methods` stands for, in the order of the tables."""
        known = (*METHODS, *AS_PUBLISHED)
        for wanted in self.methods:
            if "*" not in wanted and wanted not in known:
                raise InputError(f"there is no method '{wanted}'; choose from {', '.join(known)}.")
        return tuple(name for name in known if any(_fits(name, wanted) for wanted in self.methods))

    def all_cities(self) -> dict[str, City]:
        """Return the cities by name."""
        known = {**CITIES, **self.city}
        for name in self.cities:
            if name not in known:
                raise InputError(f"there is no city '{name}'. Choose from {', '.join(known)}, or add [city.{name}].")
        return {name: known[name] for name in self.cities}


def parse_measure(text: str) -> tuple[str, dict[str, float]]:
    """Return the row of `MEASURES` and the options in a text such as "most_influential(choose=5)"."""
    found = ASKED.fullmatch(text)
    if found is None or found[1] not in MEASURES:
        raise ValueError(f"there is no measure '{text}'; choose from {', '.join(MEASURES)}")
    name, option, value = found.groups()
    return name, {} if option is None else {option: float(value) if "." in value else int(value)}


def _fits(name: str, wanted: str) -> bool:
    """Say whether a name fits; a star stands for a row of one table only."""
    return fnmatchcase(name, wanted) and (name not in AS_PUBLISHED or wanted.endswith("-as-published"))
