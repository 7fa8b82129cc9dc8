"""Sites number the land of regions so that neighbours in number are neighbours in place."""

import numpy as np
import pytest

from pointveil.cells import Grid, Voronoi
from pointveil.ground import SitePlaces, clip_to_land, pack
from pointveil.world import World


@pytest.mark.parametrize("side", [1, 2, 4, 8, 32])
def test_the_curve_goes_through_every_square_once_in_steps_of_one(world: World, side: int) -> None:
    path = SitePlaces.of(Grid(world.bounds, 1, 1), clip_to_land(Grid(world.bounds, 1, 1), world), world, side).path

    assert len(np.unique(path, axis=0)) == side**2
    assert path.min() == 0
    assert path.max() == side - 1
    assert (np.abs(np.diff(path, axis=0)).sum(axis=1) == 1).all()


def sites_of(world: World, shape: str) -> SitePlaces:
    regions = (
        Grid(world.bounds, 7, 5)
        if shape == "grid"
        else Voronoi(world.bounds, pack(40, world.bounds, world.on_land, world.land_area))
    )
    return SitePlaces.of(regions, clip_to_land(regions, world), world, 8)


@pytest.mark.parametrize("shape", ["grid", "voronoi"])
def test_every_place_on_land_has_a_site_and_every_site_is_on_land(world: World, shape: str) -> None:
    sites, rng = sites_of(world, shape), np.random.default_rng(3)
    xy = rng.uniform(world.bounds[:2], world.bounds[2:], (5000, 2))
    xy = xy[world.on_land(xy)]

    region, site = sites.sites.locate_sites(xy)
    picked = sites.pick(region, site, rng)

    assert (region >= 0).all()
    assert ((site >= 0) & (site < sites.sites.site_counts()[region])).all()
    assert world.on_land(picked).all()


def test_what_is_picked_lies_near_what_was_located(world: World) -> None:
    sites, rng = sites_of(world, "grid"), np.random.default_rng(3)
    xy = rng.uniform(world.bounds[:2], world.bounds[2:], (5000, 2))
    xy = xy[world.on_land(xy)]

    picked = sites.pick(*sites.sites.locate_sites(xy), rng)

    width = world.bounds[2] / 7 / 8
    assert np.quantile(np.hypot(*(picked - xy).T), 0.97) < 1.5 * width


def test_a_region_wholly_in_water_has_no_site(world: World) -> None:
    grid = Grid(world.bounds, 50, 3)
    land = clip_to_land(grid, world)
    sites = SitePlaces.of(grid, land, world, 8).sites

    assert ((sites.site_counts() == 0) == (land.area == 0)).all()
    assert (sites.site_counts() == 0).any()


def test_outside_is_nowhere(world: World) -> None:
    region, _ = sites_of(world, "grid").sites.locate_sites(np.array([[-5.0, 1.0], [np.nan, 1.0]]))

    assert region.tolist() == [-1, -1]
