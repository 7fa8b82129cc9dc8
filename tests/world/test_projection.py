import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyproj import Geod

from pointveil.errors import InputError
from pointveil.files.crs import parse_crs
from pointveil.world.projection import Projection

PORTO = (-8.635, 41.123, -8.576, 41.168)
FIJI = (177.0, -19.0, 182.0, -16.0)


def test_the_south_west_corner_is_the_origin_and_the_axes_are_metres() -> None:
    projection = Projection.over(PORTO, "EPSG:4326")

    width, height = projection.to_metres(np.array([PORTO[2:]]))[0]

    middle = (PORTO[1] + PORTO[3]) / 2
    geod = Geod(ellps="WGS84")
    assert projection.to_metres(np.array([PORTO[:2]])).tolist() == [[0, 0]]
    assert width == pytest.approx(geod.inv(PORTO[0], middle, PORTO[2], middle)[2], rel=1e-6)
    assert height == pytest.approx(geod.inv(PORTO[0], PORTO[1], PORTO[0], PORTO[3])[2], rel=1e-6)


def test_the_error_over_a_city_is_less_than_a_thousandth() -> None:
    projection = Projection.over(PORTO, "EPSG:4326")

    error = projection.scale_error(PORTO)

    # North of the middle, a degree of longitude is shorter by tan(latitude) times half the height.
    assert error == pytest.approx(math.tan(math.radians(41.1455)) * math.radians(0.0225), rel=0.01)


@given(st.lists(st.tuples(st.floats(-8.635, -8.576), st.floats(41.123, 41.168)), min_size=1))
def test_there_and_back_is_the_same_lattice_point(places: list[tuple[float, float]]) -> None:
    projection = Projection.over(PORTO, "EPSG:4326")
    coordinates = projection.snap(np.array(places))

    back = projection.from_metres(projection.to_metres(coordinates))

    assert np.array_equal(projection.snap(back), coordinates)


@given(
    st.sampled_from([(PORTO, "EPSG:4326"), (FIJI, "EPSG:4326"), ((0.0, 0.0, 9.0, 9.0), "EPSG:2263")]),
    st.lists(st.tuples(st.floats(-180, 360), st.floats(-90, 90)), min_size=1),
)
def test_snapping_is_exact_and_twice_is_once(
    world: tuple[tuple[float, float, float, float], str], places: list[tuple[float, float]]
) -> None:
    projection = Projection.over(*world)

    once = projection.snap(np.array(places))

    numbers = np.rint(once * projection.steps_per_unit)
    assert np.array_equal(once, numbers / projection.steps_per_unit)
    assert np.array_equal(projection.snap(once), once)
    assert not np.signbit(once[once == 0]).any()


def test_snapping_leaves_the_given_array_alone() -> None:
    coordinates = np.array([[179.99999999, -17.000000049]])

    snapped = Projection.over(FIJI, "EPSG:4326").snap(coordinates)

    assert snapped.tolist() == [[-180.0, -17.0]]
    assert coordinates.tolist() == [[179.99999999, -17.000000049]]


@pytest.mark.parametrize(
    ("crs", "lattice", "metres"),
    [
        ("EPSG:4326", 1e-7, None),
        ("EPSG:32629", 0.01, 1.0),
        ("EPSG:2263", 0.01, 0.3048006096),
        ("+proj=utm +zone=29 +units=km +type=crs", 1e-5, 1000.0),
    ],
)
def test_the_lattice_is_about_a_centimetre(crs: str, lattice: float, metres: float | None) -> None:
    projection = Projection.over((0, 0, 1, 1), crs)

    assert projection.lattice == pytest.approx(lattice)
    assert metres is None or projection.metres_per_unit == pytest.approx((metres, metres))


@pytest.mark.filterwarnings("error")
def test_no_value_makes_a_sound() -> None:
    odd = np.array([[math.nan, 0], [math.inf, -math.inf], [1e308, -1e308], [5e-324, 1e300]])

    for bounds in (PORTO, FIJI):
        projection = Projection.over(bounds, "EPSG:4326")
        assert projection.to_metres(odd).shape == odd.shape
        assert projection.from_metres(odd).shape == odd.shape
        assert projection.snap(odd).shape == odd.shape


def test_both_names_of_a_place_beyond_the_antimeridian_are_one() -> None:
    projection = Projection.over(FIJI, "EPSG:4326")

    xy = projection.to_metres(np.array([[-179.0, -17.0], [181.0, -17.0], [179.0, -17.0]]))

    assert projection.wraps
    assert np.array_equal(xy[0], xy[1])
    assert xy[2, 0] < xy[0, 0]
    assert projection.from_metres(xy)[:, 0] == pytest.approx([-179, -179, 179])


def test_a_world_that_does_not_wrap_leaves_longitudes_alone() -> None:
    projection = Projection.over(PORTO, "EPSG:4326")

    xy = projection.to_metres(np.array([[-8.6 + 360, 41.15]]))

    assert xy[0, 0] > 1e7


@pytest.mark.parametrize(
    ("bounds", "crs", "words"),
    [
        ((0.0, 60.0, 10.0, 90.0), "EPSG:4326", "polar CRS"),
        ((-10.0, 80.0, 10.0, 89.0), "EPSG:4326", "projected CRS"),
        ((-100.0, -5.0, 100.0, 5.0), "EPSG:4326", "half the globe"),
        ((0.0, 0.0, 30.0, 60.0), "EPSG:4326", "EPSG:32633"),
        ((-961243.0, 5031413.0, -954675.0, 5038060.0), "EPSG:3857", "EPSG:32629"),
        ((1e300, 0.0, 2e300, 1.0), "EPSG:32629", "EPSG:32629"),
    ],
)
def test_a_world_that_cannot_be_flat_is_refused(
    bounds: tuple[float, float, float, float], crs: str, words: str
) -> None:
    with pytest.raises(InputError, match=words):
        Projection.over(bounds, crs).check(bounds)


def test_the_north_pole_is_well_in_a_polar_crs() -> None:
    bounds = (-1e5, -1e5, 1e5, 1e5)

    Projection.over(bounds, "EPSG:3413").check(bounds)


@pytest.mark.parametrize("crs", ["nonsense", "EPSG:4978", "EPSG:4807", None, 3.5])
def test_what_is_no_usable_crs_is_refused(crs: object) -> None:
    with pytest.raises(InputError):
        parse_crs(crs)
