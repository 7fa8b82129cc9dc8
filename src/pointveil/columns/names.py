"""Guess from the name of a column, which is public, what it may be for."""

import re
from typing import Literal

TIMES = "time date timestamp datetime hour day month weekday ts when created started ended start end"
OWNERS = """
    id uid uuid guid user person driver rider customer client device imei imsi msisdn phone mobile email account
    member passenger taxi cab vehicle plate mac subscriber patient employee card scooter bike agent household
"""
OWNER_ENDS = re.compile(r"(user|person|driver|rider|customer|client|device|trip|ride|track|trace|vehicle|taxi)id$")


def guess_use(name: str) -> Literal["person", "time"] | None:
    """Return what a column may be for, from its name alone: to say whose a point is, or when it was."""
    words = words_of(name)
    if words & {*OWNERS.split()} or OWNER_ENDS.search(name.lower()):
        return "person"
    return "time" if words & {*TIMES.split()} or name.lower().endswith("_at") else None


def words_of(name: str) -> set[str]:
    """Return the words in a column's name: those of "pickupLongitude" and of "pickup_longitude" are the same."""
    return set(re.findall(r"[^\W\d_]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()))
