"""Which columns are kept, and in which form they come out again: from names, types and declarations alone."""

import base64
import dataclasses
import difflib
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from pointveil.columns import Column, Id, Number, Time
from pointveil.errors import InputError
from pointveil.formats.base import Codes, Layout, Request
from pointveil.formats.codes import coded, codes_in, decimals_of
from pointveil.formats.columns import listed, looks_like_data
from pointveil.formats.decoding import check_kept, text_form
from pointveil.formats.values import plain_type


def with_kept(
    layout: Layout, names: Sequence[str], request: Request, source: str, kind_of: Callable[[Column, int], Any]
) -> Layout:
    """Return a layout with the columns that are kept of those there are; refuse what cannot be.

    `kind_of` returns the Arrow type in which a column that stands at a place is written again.
    """
    if not request.keep:
        return layout
    fields = {column.name: _field(column, names, layout, request, source, kind_of) for column in request.keep}
    places = {name for name in (layout.x, layout.y, layout.geometry) if name is not None}
    return dataclasses.replace(
        layout,
        columns=tuple(name for name in names if name in fields or name in places),
        schema=packed([fields[name] for name in names if name in fields]),
        left_out=tuple(name for name in layout.left_out if name not in fields),
    )


def packed(fields: Sequence[Any]) -> str:
    """Return Arrow fields as text."""
    return base64.b64encode(pa.schema(fields).serialize().to_pybytes()).decode()


def _field(
    column: Column,
    names: Sequence[str],
    layout: Layout,
    request: Request,
    source: str,
    kind_of: Callable[[Column, int], Any],
) -> Any:
    if column.name in {layout.x, layout.y, layout.geometry}:
        raise InputError(f"Column {column.name!r} of {source} says where a record is, so it cannot be kept as well.")
    if column.name == request.person and not isinstance(column, Id):
        raise InputError(
            f"Column {column.name!r} says whose a record is; keep it as '{column.name}=id', or not at all."
        )
    count = list(names).count(column.name)
    if not count:
        near = [] if any(map(looks_like_data, names)) else difflib.get_close_matches(column.name, names, n=1)
        guess = f"did you mean {near[0]!r}? Else " if near else ""
        raise InputError(f"{source} has no column {column.name!r} to keep; {guess}{listed(names)}")
    if count > 1:
        raise InputError(f"{source} has {count} columns called {column.name!r}; give each its own name.")
    kind = kind_of(column, list(names).index(column.name))
    check_kept(column, kind, source)
    return field_of(column, kind)


def field_of(column: Column, kind: Any) -> Any:
    """Return what a layout says of a kept column: its type, and how it would be written as text."""
    form = None
    if isinstance(column, Number):
        form = {"decimals": str(decimals_of(column, kind)), "decimal": column.decimal or "."}
    elif isinstance(column, Time) and pa.types.is_timestamp(kind):
        form = {"clock": (column.tz or kind.tz) if kind.tz else "", "format": text_form(column)}
    return pa.field(column.name, kind, metadata=form)


def settled(keep: Sequence[Column], layout: Layout) -> tuple[Column, ...]:
    """Return declarations that also say what the types of the columns said, so that they hold in any other format."""
    return tuple(_settled(column, plain_type(layout.kept[column.name].type)) for column in keep)


def _settled(column: Column, kind: Any) -> Column:
    whole = "integer" if pa.types.is_integer(kind) else None
    if isinstance(column, Number):
        return dataclasses.replace(column, decimals=decimals_of(column, kind), type=column.type or whole)
    if isinstance(column, Time):
        counted = "integer" if pa.types.is_floating(kind) or pa.types.is_decimal(kind) else whole
        return dataclasses.replace(column, tz=column.tz or getattr(kind, "tz", None), type=column.type or counted)
    return column


def usual_kind(column: Column, _place: int = 0) -> Any:
    """Return the type in which a column is written whose own type says nothing: in CSV and GeoJSON all is text."""
    other = None if column.drops else getattr(column, "other", None)
    if isinstance(column, Time | Number) and column.type == "integer" and other is None:
        return pa.int64()
    return pa.float64() if isinstance(column, Number) and other is None else pa.string()


def codes_from(columns: Callable[[str], Any], layout: Layout, keep: Sequence[Column]) -> Codes:
    """Return the codes of the kept columns; `columns` returns the Arrow column of a name."""
    return tuple(codes_in(column, columns(column.name), layout.kept[column.name].type) for column in coded(keep))
