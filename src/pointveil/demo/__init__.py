"""A built-in city with invented people, to try everything on."""

from pointveil.demo.city import ATTRIBUTION, city
from pointveil.demo.people import people, write_people
from pointveil.demo.pictures import draw_comparison

__all__ = ["ATTRIBUTION", "city", "draw_comparison", "people", "write_people"]
