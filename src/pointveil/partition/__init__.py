"""Where: divide the world and count each region."""

from pointveil.partition.base import Budget as Budget
from pointveil.partition.base import Counted as Counted
from pointveil.partition.base import Partitioner as Partitioner
from pointveil.partition.uniform_grid import UniformGrid as UniformGrid
