"""Many files as one source: folders, patterns and lists of them, with what their folders' names say."""

import dataclasses
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from pointveil.errors import InputError
from pointveil.files.places import File, Stamped, files_in, hive_keys, public_name
from pointveil.formats.base import Batch, Layout, PointSource, Request
from pointveil.formats.persons import person_values

Reader = Callable[[File, Request], PointSource]


def read(source: Any, found: Stamped, request: Request, read_file: Reader) -> PointSource:
    """Open files that hold the same columns, in the order of their names; each is read as it would be alone."""
    name, files = public_name(source), list(found)
    parts = [_part(file, request, read_file) for file in files]
    layout = parts[0].layout
    for part, file in zip(parts, files, strict=True):
        if _public(part.layout) != _public(layout):
            raise InputError(
                f"{file.name} in {name} differs from {files[0].name} in its format, its CRS, or the columns of its "
                "points or that are kept. Give files that agree, by a pattern such as trips/*.parquet."
            )
    left_out = dict.fromkeys(other for part in parts for other in part.layout.left_out)

    def pieces() -> Iterator[Batch]:
        for part in parts:
            yield from part.pieces()

    return PointSource(
        dataclasses.replace(layout, left_out=tuple(left_out)),
        pieces,
        name=name,
        listed=partial(files_in, source),
        shares=tuple(share for part in parts for share in part.shares or (part.pieces,)),
    )


def _public(layout: Layout) -> tuple[object, ...]:
    """Return in what files must agree; the types of kept columns too, which say what their codes are."""
    return layout.format, layout.crs, layout.x, layout.y, layout.geometry, dict(layout.kept)


def _part(file: File, request: Request, read_file: Reader) -> PointSource:
    """Open one of the files; the folders' names may say whose its records are."""
    keys = hive_keys(file)  # of the path as it was said; it is opened by its whole path, for executors work elsewhere
    file = file.absolute() if isinstance(file, Path) else file
    if request.person not in keys:
        return _with_keys(read_file(file, request), keys)
    part = read_file(file, dataclasses.replace(request, person=None))
    person = person_values([keys[request.person]])

    def named(pieces: Callable[[], Iterator[Batch]]) -> Iterator[Batch]:
        for batch in pieces():
            yield dataclasses.replace(batch, person=pa.repeat(person[0], len(batch.coordinates)))

    shares = tuple(partial(named, share) for share in part.shares)
    return _with_keys(dataclasses.replace(part, pieces=partial(named, part.pieces), shares=shares), keys)


def _with_keys(part: PointSource, keys: dict[str, str | None]) -> PointSource:
    others = (*part.layout.left_out, *(name for name in keys if name not in part.layout.left_out))
    return dataclasses.replace(part, layout=dataclasses.replace(part.layout, left_out=others))
