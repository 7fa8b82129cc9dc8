"""One lattice for each CRS."""

import numpy as np
import pytest

from pointveil.files.crs import crs_name, known_crs, same_crs, transform
from pointveil.files.lattice import snap, steps_per_unit
from pointveil.world import Projection

IN_KILOMETRES = "+proj=utm +zone=29 +units=km +type=crs"
IN_MILLIMETRES = "+proj=utm +zone=29 +units=mm +type=crs"


@pytest.mark.parametrize(
    ("crs", "steps"),
    [
        ("EPSG:4326", 10**7),
        ("EPSG:4269", 10**7),
        ("EPSG:4807", 10**7),  # grads
        ("EPSG:32629", 100),
        ("EPSG:2263", 100),  # US survey feet
        (IN_KILOMETRES, 10**5),
        (IN_MILLIMETRES, 1),
    ],
)
def test_a_step_is_about_a_centimetre_and_a_power_of_ten(crs: str, steps: int) -> None:
    assert steps_per_unit(crs) == steps


@pytest.mark.parametrize("crs", ["EPSG:4326", "EPSG:32629", "EPSG:2263", IN_KILOMETRES])
def test_a_world_and_its_points_have_the_same_lattice(crs: str) -> None:
    projection = Projection.over((0.0, 0.0, 1.0, 1.0), crs)

    assert projection.steps_per_unit == steps_per_unit(projection.crs) == steps_per_unit(crs)
    assert np.array_equal(projection.snap(np.array([[0.123456789, 0.9]])), snap(np.array([[0.123456789, 0.9]]), crs))


@pytest.mark.filterwarnings("error")
def test_snapping_is_silent_and_leaves_its_input_alone() -> None:
    odd = np.array([[np.nan, 1e308], [np.inf, -1e-9]])

    snapped = snap(odd, "EPSG:4326")

    assert odd[1, 1] == -1e-9
    assert snapped[1, 1] == 0
    assert not np.signbit(snapped[1, 1])


def test_one_crs_has_one_name() -> None:
    assert crs_name(known_crs("OGC:CRS84", "x")) == crs_name(known_crs("EPSG:4326", "x")) == "EPSG:4326"
    assert same_crs("OGC:CRS84", "EPSG:4326")
    assert not same_crs("EPSG:4326", "EPSG:4269")


@pytest.mark.filterwarnings("error")
def test_what_cannot_be_transformed_is_infinite_and_silent() -> None:
    to_utm = transform("EPSG:4326", "EPSG:32629")

    moved = to_utm(np.array([[-8.6, 41.1], [np.nan, 0.0], [1e300, 5.0]]))

    assert np.isfinite(moved[0]).all()
    assert not np.isfinite(moved[1:]).any()
