"""Exact sums over real records, where the data is; only the vault is handed them."""

from pointveil.engines.at_most import AtMost as AtMost
from pointveil.engines.local import LocalEngine as LocalEngine
