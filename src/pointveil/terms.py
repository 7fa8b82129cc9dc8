"""What an owner says about a release: every option, its type and its default, in one place."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import wraps
from os import PathLike
from typing import Any, ParamSpec, TypeVar

from pointveil.ledger import OWN, Ledger, Own
from pointveil.methods import DEFAULT_METHOD, Method
from pointveil.statement import SigningKey
from pointveil.world import World

P = ParamSpec("P")
T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True)
class Terms:
    """What is said about the private points, what shall be asked of them, and where it is accounted for."""

    source: Any
    world: World | str | PathLike[str]
    _: KW_ONLY
    epsilon: object
    method: str | Method = DEFAULT_METHOD
    split: Mapping[str, Any] | None = None
    columns: tuple[str, str] | None = None
    crs: str | None = None
    person: str | None = None
    max_points: int | str | None = None
    unit: str | None = None
    keep: Any = ()
    prior: str | PathLike[str] | None = None
    noise: str = "exact"
    ledger: Ledger | str | PathLike[str] | Own | None = OWN
    dataset: str | None = None
    cap: object = None


@dataclass(frozen=True)
class CheckTerms(Terms):
    """What `check` takes: nothing is spent, so the usual epsilon will do."""

    _: KW_ONLY
    epsilon: object = 1


@dataclass(frozen=True)
class SurveyTerms(Terms):
    """What `release_survey` takes: it is charged, and a file is written."""

    _: KW_ONLY
    output: str | PathLike[str]
    request: str | None = None
    count: int | None = field(default=None, init=False)  # these two are about drawing
    seed: int | None = field(default=None, init=False)
    small: bool = False
    owner: str | None = None
    purpose: str | None = None
    period: str | None = None
    note: str | None = None
    key: SigningKey | str | PathLike[str] | Own | None = OWN
    engine: str = "local"
    master: str | None = None
    force: bool = False
    threads: int | None = None


@dataclass(frozen=True)
class ReleaseTerms(SurveyTerms):
    """What `release` takes: points are drawn, too."""

    _: KW_ONLY
    count: int | None = None
    seed: int | None = None


def on(terms: Callable[P, T]) -> Callable[[Callable[[T], R]], Callable[P, R]]:
    """Let a function of some terms be called with what they are made of, as its help then shows; a decorator."""

    def decorate(function: Callable[[T], R]) -> Callable[P, R]:
        returns = inspect.signature(function).return_annotation
        signature = inspect.signature(terms).replace(return_annotation=returns)

        @wraps(function)
        def call(*args: P.args, **options: P.kwargs) -> R:
            signature.bind(*args, **options)  # whose error names the function's parameters alone
            return function(terms(*args, **options))

        call.__signature__ = signature  # type: ignore[attr-defined]
        return call

    return decorate
