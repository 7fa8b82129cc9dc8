"""What the owner asks for on the page, and the same as a command line and as Python."""

import hashlib
import inspect
import shlex
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, create_model

from pointveil.columns import Column, from_dict
from pointveil.columns.declared import BODIES
from pointveil.errors import InputError
from pointveil.vault import exact_epsilon

Text = Annotated[str, Field(min_length=1, max_length=1000)]
Epsilon = Annotated[str, Field(max_length=100), AfterValidator(lambda text: str(exact_epsilon(text)))]
Words = dict[str, str]  # "shell" and "python"


class Asked(BaseModel):
    """Something that a page sent: nothing but what is named here."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=False)


class Keep(Asked):
    """A column to keep: its kind, and what is public about it, as after the colon of --keep."""

    name: Text
    kind: str
    text: str = Field("", max_length=20_000)

    def column(self) -> Column:
        """Return the column; a list of values may not come from a file, which could lie anywhere."""
        if self.kind not in BODIES:
            raise InputError(f"A column is kept as one of {', '.join(BODIES)}, not as {self.kind!r}.")
        if self.text.strip().startswith("@"):
            raise InputError(f"Write the values of '{self.name}' themselves, separated by commas.")
        return from_dict({"name": self.name, "kind": self.kind, **BODIES[self.kind](self.text, self.name)})

    def option(self) -> str:
        """Return the column as text for --keep."""
        return f"{self.name}={self.kind}" + (f":{self.text}" if self.text else "")


class Order(Asked):
    """A release that the owner may ask for; names of files are within the folder."""

    data: Text
    world: Text
    output: Text
    epsilon: Epsilon
    columns: tuple[str, str] | None = None
    crs: str | None = None
    person: str | None = None
    max_points: int | Literal["auto"] | None = None
    keep: tuple[Keep, ...] = ()
    small: bool = False  # go on even if the noisy total is hardly more than noise

    def request(self, root: Path) -> str:
        """Return the name of this very order: asked for twice, after any mishap, it is charged once."""
        return "app-" + hashlib.sha256(f"{root}\n{self.model_dump_json()}".encode()).hexdigest()[:20]

    def options(self) -> dict[str, Any]:
        """Return what `release` takes beside the files."""
        kept = {"keep": [one.column() for one in self.keep]} if self.keep else {}
        return self._given() | kept | {"epsilon": Fraction(self.epsilon)}

    def _given(self) -> dict[str, Any]:
        """Return the options that were chosen, as `release` calls them."""
        given = self.model_dump(include={"columns", "crs", "person", "max_points"}, exclude_none=True)
        # The page asks who is protected, so single points are the owner's word and need no warning.
        return given | ({} if self.person else {"unit": "point"}) | ({"small": True} if self.small else {})

    def words(self, request: str, cap: str | None) -> Words:
        """Return the release as a command line and as Python."""
        flags = {
            "--world": self.world, "--epsilon": self.epsilon, "--unit": None if self.person else "point",
            "--person": self.person, "--max-points": self.max_points, "--crs": self.crs,
            "--columns": None if self.columns is None else ",".join(self.columns), "--cap": cap,
        }  # fmt: skip
        keeps = [("--keep", one.option()) for one in self.keep]
        named = [(name, str(value)) for name, value in flags.items() if value is not None]
        options: dict[str, Any] = {"epsilon": self.epsilon, "output": self.output} | self._given()
        options |= {"keep": [one.option() for one in self.keep]} if self.keep else {}
        options |= {"cap": cap} if cap else {}
        options["request"] = request
        return {
            "shell": shell(
                "synthesize", self.data, self.output, *named, *keeps, *["--small"] * self.small, ("--request", request)
            ),
            "python": python("pv.release", self.data, self.world, **options),
        }


@cache
def form_of(action: Callable[..., object]) -> type[Asked]:
    """Return what a page must send for an action: the parameters of the function that does it, after the desk."""
    _, *parameters = inspect.signature(action).parameters.values()
    fields: dict[str, Any] = {
        each.name: (each.annotation, ... if each.default is each.empty else each.default) for each in parameters
    }
    return create_model(action.__name__, __base__=Asked, **fields)


def shell(*parts: object) -> str:
    """Return a command line of pointveil; a pair is an option with its value."""
    texts = (
        "=".join((str(part[0]), shlex.quote(str(part[1])))) if isinstance(part, tuple) else shlex.quote(str(part))
        for part in parts
    )
    return "pointveil " + " ".join(texts)


def python(function: str, *arguments: object, **options: object) -> str:
    """Return a call in Python."""
    inside = [*map(repr, arguments), *(f"{name}={value!r}" for name, value in options.items())]
    return f"import pointveil as pv\n\n{function}({', '.join(inside)})"
