"""Read declarations of kept columns: from the command line, a TOML file, or plain values."""

from __future__ import annotations

import csv
import dataclasses
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from pointveil.columns.kinds import KINDS, Column
from pointveil.errors import InputError
from pointveil.files.whole import refuse_address

DECLARED = re.compile(rf"(?P<name>.+?)=(?P<kind>{'|'.join(KINDS)})(?P<rest>[:;].*)?", re.DOTALL)
EXAMPLES = "'ts=time:2014-04-01/2014-07-01', 'base=category:B02512,B02598', 'fare=number:0..100;bins=20' or 'user=id'"
MOST_SHARE = Fraction(9, 10)
MOST_SIGNS = 50_000  # of all declarations together: they stand in every statement
LONGEST_NAME = 500
WHOLE = {"bins", "decimals"}
WORDS = ("period", "resolution", "tz", "other", "format", "type", "unit", "decimal")  # options that are texts


def parse_keep(text: str) -> Column:
    """Return the column that a text such as 'ts=time:2014-04-01/2014-07-01@1h;tz=UTC' declares."""
    found = DECLARED.fullmatch(text.strip())
    if found is None:
        raise InputError(f"--keep {text!r} cannot be read; write it as {EXAMPLES}.")
    name, kind, rest = found["name"].strip(), found["kind"], found["rest"] or ""
    body, *options = _split(rest.removeprefix(":"), ";") if rest.startswith(":") else ["", *_split(rest, ";")[1:]]
    values: dict[str, Any] = {"kind": kind, "name": name, **BODIES[kind](body, name)}
    for option in options:
        key, sign, value = option.partition("=")
        if not sign:
            raise InputError(f"--keep {text!r}: {option!r} is not an option; write it as other=drop.")
        values[key.strip()] = int(value) if key.strip() in WHOLE and value.strip().isdecimal() else value.strip()
    return from_dict(values)


def read_keep_file(path: str | Path) -> list[Column]:
    """Return the columns that a TOML file declares, a table each."""
    path = Path(path)
    refuse_address(path)
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError:
        raise InputError(f"There is no file {path} that can be read.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as fault:
        raise InputError(f"{path.name} is not TOML: {fault}.") from None
    if not all(isinstance(table, dict) for table in tables.values()):
        raise InputError(f'{path.name} must have a table for each column, such as [ts] and then kind = "time".')
    return [from_dict({"name": name, **table}) for name, table in tables.items()]


def from_dict(values: Mapping[str, Any]) -> Column:
    """Return the column that plain values declare."""
    kind, name = values.get("kind"), values.get("name")
    if not isinstance(kind, str) or kind not in KINDS or not isinstance(name, str) or not name:
        raise InputError(f"Column {name!r} is of the kind {kind!r}; choose one of {', '.join(KINDS)}.")
    known = [field.name for field in dataclasses.fields(KINDS[kind])]
    for key, value in values.items():
        if key not in {*known, "kind"}:
            raise InputError(f"A {kind} has no option {key!r} (column '{name}'); it has {', '.join(known[1:])}.")
        if isinstance(value, str) and not value.isprintable():
            raise InputError(f"The option {key!r} of '{name}' has signs in it that cannot be shown.")
    return KINDS[kind](**{key: value for key, value in values.items() if key != "kind"})


def check_keep(keep: Column | str | Iterable[Column | str] | None) -> tuple[Column, ...]:
    """Return declared columns, given as such or as texts; refuse a name given twice, and shares that are too large."""
    given: Sequence[Any] = [keep] if isinstance(keep, Column | str) else list(keep or ())
    for column in given:
        if not isinstance(column, Column | str):
            raise InputError(f"keep= takes columns such as pv.Time('ts', '2014-04-01/2014-07-01'), not {column!r}.")
    columns = tuple(parse_keep(column) if isinstance(column, str) else column for column in given)
    names = [column.name for column in columns]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"The column '{name}' is kept twice.")
        if not name or not name.isprintable() or len(name) > LONGEST_NAME:
            raise InputError(f"A column named {name[:50]!r} cannot be kept: rename it first.")
    _check_texts(columns)
    share = sum((column.part_of_epsilon for column in columns), Fraction(0))
    if share > MOST_SHARE:
        raise InputError(
            f"The kept columns take {float(share):.0%} of epsilon; at most {float(MOST_SHARE):.0%} may go to columns. "
            "Say smaller shares, as in ;share=1/20."
        )
    return columns


def _check_texts(columns: Sequence[Column]) -> None:
    """Refuse declarations that no statement could hold, or that a terminal would obey instead of showing."""
    for column in columns:
        for option in WORDS:
            if not isinstance(getattr(column, option, None), str | None):
                raise InputError(f"The option {option!r} of '{column.name}' must be a text.")
    values = [(column.name, value) for column in columns for value in column.to_dict().values()]
    said = [(name, str(each)) for name, value in values for each in (value if isinstance(value, list) else [value])]
    for name, text in said:
        if not text.isprintable():
            raise InputError(f"What is declared of '{name}' has signs in it that cannot be shown.")
    if sum(len(text) for _, text in said) > MOST_SIGNS:
        raise InputError(
            f"The kept columns are declared in more than {MOST_SIGNS:,} letters. Keep fewer values, or shorter ones."
        )


def _split(text: str, sign: str) -> list[str]:
    """Return the parts of a text between signs that are not quoted; quotes stay."""
    return re.findall(rf'(?:^|(?<={sign}))((?:[^{sign}"]|"[^"]*")*)(?:{sign}|$)', text) if text else [""]


def _time(body: str, name: str) -> dict[str, Any]:
    del name
    period, sign, resolution = body.partition("@")
    return {"period": period.strip(), **({"resolution": resolution.strip()} if sign else {})}


def _category(body: str, name: str) -> dict[str, Any]:
    if not body.startswith("@"):
        rows = list(csv.reader([body], skipinitialspace=True))
        return {"values": tuple(rows[0]) if rows else ()}
    path = Path(body[1:].strip())
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError):
        raise InputError(f"The list of '{name}' cannot be read from {path}: one value a line, in UTF-8.") from None
    return {"values": tuple(line.strip() for line in lines if line.strip())}


def _number(body: str, name: str) -> dict[str, Any]:
    low, sign, high = body.partition("..")
    if not sign:
        raise InputError(f"'{name}' needs two bounds, as in number:0..100.")
    return {"low": low.strip(), "high": high.strip()}


def _id(body: str, name: str) -> dict[str, Any]:
    if body.strip():
        raise InputError(f"An id takes no values: write '{name}=id'.")
    return {}


BODIES: Mapping[str, Callable[[str, str], dict[str, Any]]] = {
    "time": _time,
    "category": _category,
    "number": _number,
    "id": _id,
}
