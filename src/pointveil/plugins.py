"""Tables that other packages may add rows to, by the entry point group `pointveil.plugins`."""

import dataclasses
import inspect
import warnings
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import entry_points
from typing import TypeVar

from pointveil.errors import InputError, UnknownNameError, did_you_mean

GROUP = "pointveil.plugins"
Row = TypeVar("Row")
_waiting = [GROUP]


def load_plugins() -> bool:
    """Import every module that an installed package names in the group, once per process; say whether it was now.

    A plug-in that cannot be imported is named in a warning and left out: those who do not use it can go on.
    """
    first = bool(_waiting)
    while _waiting:  # emptied first, so that a plug-in may look into the tables while it is imported
        for entry in entry_points(group=_waiting.pop()):
            try:
                entry.load()
            except Exception as fault:  # noqa: BLE001 - whatever another package does
                warnings.warn(f"The plug-in '{entry.name}' ({entry.value}) was left out: {fault}", stacklevel=2)
    return first


class Table(Mapping[str, Row]):
    """Rows by name; an unknown name, or a list of all names, loads the plug-ins first.

    Parameters
    ----------
    what
        The word for a row in errors.
    identity
        What two rows must share for one to replace the other, as when a notebook's cell is run again. Any other row
        under a name that is taken is refused, so that no package changes what a known name means.

    Examples
    --------
    >>> sorted(pv.METHODS)[:3]
    ['agrid-kde', 'agrid-uni', 'agrid-wud']
    >>> pv.METHODS["road"].needs_roads
    True
    """

    def __init__(self, what: str, identity: Callable[[Row], object]) -> None:
        self.what = what
        self._identity = identity
        self._rows: dict[str, Row] = {}

    def add(self, name: str, row: Row) -> None:
        """Add a row; a name that is taken is refused."""
        identity = self._identity(row)
        if name in self._rows and self._identity(self._rows[name]) != identity:
            raise InputError(f"There is already a {self.what} called '{name}': choose another name.")
        self._rows[name] = row

    def __getitem__(self, name: str) -> Row:
        if name not in self._rows:
            load_plugins()
        try:
            return self._rows[name]
        except KeyError:
            raise UnknownNameError(
                f"There is no {self.what} '{name}'. {did_you_mean(name, self)}Choose from: {', '.join(self)}."
            ) from None

    def __iter__(self) -> Iterator[str]:
        load_plugins()
        return iter(tuple(self._rows))

    def __len__(self) -> int:
        load_plugins()
        return len(self._rows)

    def __repr__(self) -> str:
        return f"<every {self.what}: {', '.join(self)}>"


Part = TypeVar("Part", bound=type)


class Parts(Table[type]):
    """Classes by their own name: frozen dataclasses whose fields are all that is needed to make them again.

    `what` is the word for a class in errors, and the name of the decorator that registers one. A class must have the
    methods, which take these arguments, and the attributes; the text says what each is.
    """

    def __init__(self, what: str, methods: Mapping[str, str], attributes: Mapping[str, str]) -> None:
        super().__init__(what, lambda kind: (kind.__module__, kind.__qualname__))
        self.methods, self.attributes = methods, attributes

    def register(self, kind: Part) -> Part:
        """Add a class under its own name; the error for a class that will not do lists all that is missing."""
        faults = list(self._faults(kind))
        if faults:
            raise InputError(f"{kind.__name__} cannot be a {self.what}: it {'; it '.join(faults)}.")
        self.add(kind.__name__, kind)
        return kind

    def _faults(self, kind: type) -> Iterator[str]:
        settings = getattr(kind, "__dataclass_params__", None)
        if settings is None or not settings.frozen:
            yield f"must be a frozen dataclass (write @{self.what} above @dataclass(frozen=True))"
        elif clash := {"type", "plugin"} & {field.name for field in dataclasses.fields(kind)}:
            yield f"must not have a field called {' or '.join(sorted(clash))}"
        for name, meaning in self.attributes.items():
            if not hasattr(kind, name):
                yield f"lacks {name}, {meaning}"
        spends = getattr(kind, "spends", ())
        if not isinstance(spends, tuple) or not all(isinstance(purpose, str) for purpose in spends):
            yield f"needs a tuple of texts as spends, not {spends!r}"
        for name, arguments in self.methods.items():
            if not callable(getattr(kind, name, None)):
                yield f"lacks {name}({arguments})"
            elif not _takes(getattr(kind, name), arguments):
                yield f"needs {name} to take ({arguments})"


def _takes(method: Callable[..., object], arguments: str) -> bool:
    """Say whether a method can be called with these arguments, and itself."""
    try:
        inspect.signature(method).bind(None, *arguments.split(", "))
    except TypeError:
        return False
    return True


def package_of(kind: type) -> str:
    """Return the package that a class comes from: "pointveil", or that of the plug-in."""
    return kind.__module__.partition(".")[0]
