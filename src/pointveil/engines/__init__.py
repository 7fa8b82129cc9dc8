"""Exact sums over real records, where the data is; only the vault is handed them."""

from pointveil.engines.at_most import AtMost as AtMost
from pointveil.engines.at_most import fresh_key as fresh_key
from pointveil.engines.base import VOTES as VOTES
from pointveil.engines.base import Engine as Engine
from pointveil.engines.base import NotOneByOneError as NotOneByOneError
from pointveil.engines.base import Tally as Tally
from pointveil.engines.base import locate_sites as locate_sites
from pointveil.engines.invented import Invented as Invented
from pointveil.engines.likeness import refuse_copy as refuse_copy
from pointveil.engines.local import LocalEngine as LocalEngine
from pointveil.engines.local import digests_of as digests_of
from pointveil.engines.spark import SparkEngine as SparkEngine
