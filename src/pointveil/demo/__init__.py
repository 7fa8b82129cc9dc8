"""A built-in city to try everything on: handed invented people, never a real record."""

from pointveil.demo.city import city
from pointveil.demo.people import people, write_people
from pointveil.demo.pictures import draw_comparison
from pointveil.world.osm import ATTRIBUTION

__all__ = ["ATTRIBUTION", "city", "draw_comparison", "people", "write_people"]
