"""Exact sums where the data is."""

from pointveil.engines.at_most import AtMost as AtMost
from pointveil.engines.local import LocalEngine as LocalEngine
