import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import shapely
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.places import BOX, STREETS

from pointveil.world import Layer, World
from pointveil.world.roads import hash_attributes, plain_attributes

values = st.one_of(
    st.lists(st.none() | st.integers(-(2**63), 2**63 - 1), min_size=2, max_size=2),
    st.lists(st.none() | st.floats(), min_size=2, max_size=2),
    st.lists(st.none() | st.booleans(), min_size=2, max_size=2),
    st.lists(st.none() | st.text(st.characters(codec="utf-8")), min_size=2, max_size=2),
    st.lists(st.none() | st.lists(st.integers(0, 9)), min_size=2, max_size=2),
)
names = st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), max_size=8)


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    columns=st.lists(st.tuples(names | st.sampled_from(["fid", "geometry", "geom", "ID", "id"]), values), max_size=4)
)
def test_any_attributes_are_read_back_identically(tmp_path: Path, columns: list[tuple[str, list[Any]]]) -> None:
    table = pa.table([pa.array(column) for _, column in columns], names=[name for name, _ in columns])
    world = World.make(BOX, roads=Layer(np.array(STREETS), table, "EPSG:4326"))

    world.write(tmp_path / "world.gpkg", force=True)
    back = World.read(tmp_path / "world.gpkg")

    assert back.roads is not None
    assert world.roads is not None
    assert back.roads.attributes.equals(world.roads.attributes)
    assert back.digest == world.digest


@pytest.mark.parametrize(
    ("given_column", "wanted"),
    [
        (pa.array([1, 2], pa.int8()), [1, 2]),
        (pa.array([1, 2**64 - 1], pa.uint64()), ["1", "18446744073709551615"]),
        (pa.array([1.5, math.nan], pa.float32()), [1.5, None]),
        (pa.array([-0.0, math.inf]), [0.0, math.inf]),
        (pa.array(["a", "b"]).dictionary_encode(), ["a", "b"]),
        (pa.array(["a", "b\0c"], pa.large_string()), ["a", "bc"]),
        (pa.array([[1, 2], None]), ["[1, 2]", None]),
        (pa.array([Decimal("1.10"), None]), ["1.10", None]),
        (pa.array([None, None]), [None, None]),
        (pa.array([0, None], pa.date32()), ["1970-01-01", None]),
    ],
)
def test_attributes_become_numbers_booleans_and_text(given_column: Any, wanted: list[Any]) -> None:
    plain = plain_attributes(pa.table({"a": given_column}))

    assert plain["a"].to_pylist() == wanted
    assert str(plain["a"].to_pylist()) == str(wanted)  # a negative zero is written otherwise


def test_names_that_a_geopackage_cannot_tell_apart_get_a_number() -> None:
    table = pa.table([[1], [2], [3], [4], [5]], names=["name", "Name", "geometry", "", "name_2"])

    plain = plain_attributes(table)

    assert plain.column_names == ["name", "Name_2", "geometry_2", "column", "name_2_2"]


def test_the_hash_sees_values_and_not_chunks() -> None:
    whole = pa.table({"a": [1, None, 3], "b": ["x", "", None]})
    chunked = pa.concat_tables([whole.slice(0, 1), whole.slice(1)])
    moved = pa.table({"a": [1, None, 3], "b": ["", "x", None]})
    nulled = pa.table({"a": [1, 0, 3], "b": ["x", "", None]})

    assert hash_attributes(whole) == hash_attributes(chunked)
    assert len({hash_attributes(table) for table in (whole, moved, nulled)}) == 3


def test_lines_in_metres_have_their_length() -> None:
    high = shapely.LineString([(10.01, 50.01, 100), (10.09, 50.01, 900)])
    world = World.make(BOX, roads=[high])

    assert world.roads is not None
    assert shapely.has_z(world.roads.lines).all()
    assert not shapely.has_z(world.roads.lines_m).any()
    assert shapely.length(world.roads.lines_m) == pytest.approx(5735, rel=0.001)
    assert world.roads.attributes.num_columns == 0
