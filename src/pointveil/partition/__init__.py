"""Where: divide the world and count each region; handed the world, a budget and noisy answers, never a record."""

from pointveil.partition.adaptive_grid import AdaptiveGrid as AdaptiveGrid
from pointveil.partition.base import PARTITIONERS as PARTITIONERS
from pointveil.partition.base import Budget as Budget
from pointveil.partition.base import Counted as Counted
from pointveil.partition.base import Divided as Divided
from pointveil.partition.base import Partitioner as Partitioner
from pointveil.partition.base import partitioner as partitioner
from pointveil.partition.base import settle as settle
from pointveil.partition.clusters import Clusters as Clusters
from pointveil.partition.road_segments import RoadCounts as RoadCounts
from pointveil.partition.road_segments import RoadSegments as RoadSegments
from pointveil.partition.uniform_grid import UniformGrid as UniformGrid
from pointveil.partition.veil import PlaceMasses as PlaceMasses
from pointveil.partition.veil import Veil as Veil
