"""Fill the page of results: text by people, every number by the table."""

from __future__ import annotations

import re
from collections.abc import Callable

from pointveil.lab.experiments.tables import (
    Results,
    epsilon_table,
    facilities_table,
    main_table,
    plain_table,
    series_table,
    show,
    variants_table,
)

DIRECTIVE = re.compile(r"\{\{(\w+)((?: [^ }]+)*)\}\}")


def fill(template: str, results: Results) -> str:
    """Return the template with every {{directive word word}} replaced; a mistake in one stops it."""

    def answer(found: re.Match[str]) -> str:
        return DIRECTIVES[found[1]](results, *found[2].split())

    return DIRECTIVE.sub(answer, template)


def _main(results: Results, measure: str) -> str:
    return main_table(results, measure)


def _plain(results: Results, experiment: str, *measures: str) -> str:
    return plain_table(results, experiment, measures)


def _series(results: Results, experiment: str, city: str, start: str, end: str, *sizes: str) -> str:
    return series_table(results, experiment, city, {size: f"{start}{size}{end.strip('.')}" for size in sizes}, 2)


def _value(results: Results, experiment: str, city: str, method: str, measure: str, digits: str = "3") -> str:
    return show(results.find(experiment, city, method, measure), int(digits))


def _seeds(results: Results, experiment: str) -> str:
    _, city, method, label, epsilon, measure = next(key for key in results.keys if key[0] == experiment)
    found = results.find(experiment, city, method, measure, label=label, epsilon=epsilon)
    return str(found.seeds if found else 0)


def _facilities(results: Results) -> str:
    return facilities_table(results)


DIRECTIVES: dict[str, Callable[..., str]] = {
    "main": _main,
    "plain": _plain,
    "variants": variants_table,
    "epsilon": epsilon_table,
    "series": _series,
    "facilities": _facilities,
    "value": _value,
    "seeds": _seeds,
}
"""Name → what it makes of the results and its words."""
