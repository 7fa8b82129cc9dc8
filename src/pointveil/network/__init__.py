"""Public streets: edges and segments; no private record comes here."""

from pointveil.network.network import Nearest as Nearest
from pointveil.network.network import Network as Network
