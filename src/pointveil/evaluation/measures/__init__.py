"""The measures, functions that register themselves: handed real and synthetic points, for the owner's eyes."""

from importlib import import_module

IN_ORDER = (
    "cell_error",
    "mean_edge_distance_difference",
    "range_query_error",
    "hotspot_agreement",
    "facility_agreement",
    "sliced_wasserstein",
    "jensen_shannon",
    "kendall_tau",
    "pair_correlation",
    "totals",
    "copied",
    "yardstick",
    "kept_columns",
)
"""The files, in the order in which reports show the measures."""

for _name in IN_ORDER:
    import_module(f"{__name__}.{_name}")
