"""What noisy counts most likely mean: handed noisy answers and public tables, never a record."""

from pointveil.estimate.consistency import members_of_total as members_of_total
from pointveil.estimate.consistency import project_parts as project_parts
from pointveil.estimate.consistency import project_to_total as project_to_total
from pointveil.estimate.consistency import reconcile as reconcile
from pointveil.estimate.consistency import round_to_total as round_to_total
