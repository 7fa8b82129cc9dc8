"""Public streets: builds the tables that find the nearest one; handed public lines, never a record."""

from pointveil.network.lines import places_along as places_along
from pointveil.network.lines import streets_of as streets_of
from pointveil.network.network import Network as Network
from pointveil.network.street_cells import open_parts as open_parts
from pointveil.network.street_cells import road_cells as road_cells
