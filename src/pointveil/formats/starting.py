"""Start a file that declares the columns to keep, from names and types alone: no record is read."""

import json
import os
import re
from typing import Any

import pyarrow as pa

from pointveil.columns.names import guess_use
from pointveil.files.places import public_name
from pointveil.formats import describe_columns
from pointveil.formats.values import is_text, plain_type

HEAD = """\
# Columns of {name} that can be kept, from their names and types alone.
# Fill in what is blank, and delete the tables of columns that you do not want to keep. What stands here is public
# and goes into the statement: never take it from the data.
"""
UNKNOWN = """\
#
# The properties of this file stand inside its records, so they cannot be listed here. Write a table for each that
# you want to keep, such as:
#
# [ts]
# kind = "time"
# period = "2014-04-01/2014-07-01"
"""
TIME = """\
kind = "time"
period = ""  # the first day, and the day after the last: "2014-04-01/2014-07-01"
resolution = "{resolution}"  # one of "15min", "1h", "1d", "hour-of-day", "hour-of-week"
"""
CATEGORY = """\
kind = "category"
values = {values}  # all values to keep, spelled as they shall be written: ["bus", "tram"]
"""
NUMBER = """\
kind = "number"
low = ""  # the bounds: 0
high = ""  # and 100
bins = 20
"""
ID = """\
kind = "id"  # invented ids are written, which link nothing
"""
FORMAT = """\
# format = "%Y-%m-%d %H:%M"  # how the text is written, unless as 2014-04-01T08:30: what cannot be read is left blank
"""
MORE = {
    is_text: """\
#
# Text may be kept as a category, a time, a number or an invented id, whatever its table says here:
#   kind = "category", with values = ["bus", "tram"]
#   kind = "time", with period = "2014-04-01/2014-07-01" and, unless it is ISO 8601, format = "%d.%m.%Y %H:%M"
#   kind = "number", with low = 0, high = 100 and, if the text has decimal commas, decimal = ","
#   kind = "id"
# With type = "integer", a time or number is read and written as whole numbers.
""",
    pa.types.is_integer: """\
#
# Whole numbers may also be a category (values = ["1", "2"]), a time (in unit = "s", "ms", "us" or "ns" since 1970),
# or invented ids: kind = "id"
""",
}
"""What is said once at the top, if a column is of such a type."""


def suggested(name: str, kind: Any) -> str | None:
    """Return as what a column may be kept, or nothing if it cannot be: by its type, and text also by its name."""
    plain = plain_type(kind)
    if is_text(plain):
        return {"person": "id", "time": "time", None: "category"}[guess_use(name)]
    if plain != kind and pa.types.is_fixed_size_binary(plain):
        return "id"
    if pa.types.is_timestamp(plain) or pa.types.is_date(plain):
        return "time"
    if pa.types.is_boolean(plain):
        return "category"
    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
    return "number" if any(test(plain) for test in tests) else None


def describe(source: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the columns of a file or of what stands for one, and TOML with a table for each and blanks to fill in."""
    head = HEAD.format(name=_shown(public_name(source)))
    form, found = describe_columns(source)
    if form == "geojson":
        return {"columns": None, "toml": head + UNKNOWN}
    columns = [{"name": name, "type": _type(kind, form), "kind": suggested(name, kind)} for name, kind in found.items()]
    types = [plain_type(kind) for kind in found.values()]
    head += "".join(text for is_such, text in MORE.items() if any(map(is_such, types)))
    return {"columns": columns, "toml": "\n".join([head, *(_table(name, found[name], form) for name in found)])}


def _table(name: str, kind: Any, form: str) -> str:
    plain_name = re.fullmatch("[A-Za-z0-9_-]+", name) is not None
    key = name if plain_name else json.dumps(name, ensure_ascii=False).replace("\x7f", "\\u007f")
    told, plain = suggested(name, kind), plain_type(kind)
    if told is None:
        return f"# {_shown(name)} holds {_shown(str(kind))}, which cannot be kept.\n"
    values = '["true", "false"]' if pa.types.is_boolean(plain) else "[]"
    resolution = "1d" if pa.types.is_date(plain) else "1h"
    body = {"time": TIME.format(resolution=resolution), "category": CATEGORY.format(values=values), "number": NUMBER}
    more = FORMAT if told == "time" and is_text(plain) else ""
    return f"[{key}]  # {_type(kind, form)}\n{body.get(told, ID)}{more}"


def _type(kind: Any, form: str) -> str:
    return "text" if form == "csv" else _shown(str(kind))


def _shown(text: str) -> str:
    return "".join(sign if sign.isprintable() else "?" for sign in text)
