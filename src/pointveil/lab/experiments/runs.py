"""Run a plan: every run is one file, written whole; what is there already is not run again."""

import dataclasses
import hashlib
import json
import multiprocessing
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Any

from pointveil.errors import InputError
from pointveil.evaluation import MEASURES, UnmeasuredError
from pointveil.files.whole import write_whole
from pointveil.lab.as_published import AS_PUBLISHED, rehearse
from pointveil.lab.experiments.cities import Loaded, check_city, load_city
from pointveil.lab.experiments.plan import City, Plan, parse_measure
from pointveil.methods import METHODS, Method
from pointveil.releases import synthesize
from pointveil.synthetic import SyntheticPoints
from pointveil.vault import Vault

BANNER = "results of rehearsals on real points: not private, for the owner's eyes"


@dataclass(frozen=True)
class Run:
    """One synthetic dataset, and what to measure on it."""

    city: str
    where: City
    input: str  # "as is" or "on roads"
    method: str
    label: str
    split: tuple[tuple[str, str], ...]  # where it differs from its row; as pairs, so that runs can be compared
    parameters: tuple[tuple[str, float], ...]  # as the split
    epsilon: str
    seed: int
    measures: frozenset[str]  # names, with options; not part of the run's own name

    @property
    def identity(self) -> dict[str, Any]:
        """All that decides the points, and nothing else."""
        made = METHODS.get(self.method)
        return {name: getattr(self, name) for name in ("city", "input", "method", "label", "epsilon", "seed")} | {
            "where": self.where.model_dump(mode="json"),
            "row": None if made is None else {"parameters": made.parameters, "split": made.split_texts()},
            "split": dict(self.split),
            "parameters": dict(self.parameters),
        }

    @property
    def name(self) -> str:
        """The name of its file: readable, and another for every identity."""
        digest = hashlib.sha256(json.dumps(self.identity, sort_keys=True).encode()).hexdigest()[:12]
        epsilon = self.epsilon.replace("/", "over")
        return f"{self.city}_{self.method}_{epsilon}_{self.seed}_{digest}"


def runs_of(plan: Plan) -> list[Run]:
    """Return every run of a plan, city by city."""
    kinds: list[tuple[str, str, Any, Any]] = [(name, "", (), ()) for name in plan.all_methods()]
    kinds += [(one.method, one.label, _pairs(one.split), _pairs(one.parameters)) for one in plan.variants]
    return [
        Run(city, where, plan.input, *kind, epsilon, seed, frozenset(plan.measures))
        for city, where in plan.all_cities().items()
        for kind in kinds
        for epsilon in plan.epsilons
        for seed in range(plan.seeds)
    ]


def _pairs(values: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    return tuple(sorted(values.items()))


def join_runs(runs: Iterable[Run]) -> list[Run]:
    """Return each run once, to be measured in all the ways that any plan asks for."""
    joined: dict[str, Run] = {}
    for run in runs:
        known = joined.get(run.name)
        measures = run.measures if known is None else known.measures | run.measures
        joined[run.name] = dataclasses.replace(run, measures=measures)
    return sorted(joined.values(), key=lambda run: (run.city, run.input))


@dataclass(frozen=True)
class Shelf:
    """The folder of results: one file a run."""

    folder: Path

    def read(self, run: Run) -> dict[str, Any] | None:
        """Return the result of a run, or nothing if it has not been run."""
        path = self.folder / f"{run.name}.json"
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None

    def put(self, run: Run, result: dict[str, Any]) -> None:
        """Write a result so that it is there whole or not at all."""
        self.folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(result, indent=1, sort_keys=True)
        write_whole(self.folder / f"{run.name}.json", lambda new: new.write_text(text, encoding="utf-8"))

    def missing(self, run: Run) -> frozenset[str]:
        """Return what has not been measured yet."""
        result = self.read(run)
        return run.measures if result is None else run.measures - set(result["values"]) - set(result["reasons"])


def work_through(
    plans: Iterable[Plan],
    out: Path,
    *,
    data: Path | None,
    workers: int = 1,
    tell: Callable[[int, int], None] | None = None,
) -> list[str]:
    """Run what has not been run into `out/runs`, on several processes; return what failed, in sentences.

    `tell` is told how many runs are done, and of how many, whenever one is.
    """
    plans = list(plans)
    for name, city in [city for plan in plans for city in plan.all_cities().items()]:
        check_city(name, city, data)
    shelf = Shelf(out / "runs")
    runs = join_runs(run for plan in plans for run in runs_of(plan))
    to_do = [run for run in runs if shelf.missing(run)]
    done, failures = len(runs) - len(to_do), []
    told = tell or (lambda *_: None)
    told(done, len(runs))
    for failure in _perform_all(to_do, shelf, data, workers):
        done += 1
        failures += [failure] if failure else []
        told(done, len(runs))
    return failures


def _perform_all(runs: list[Run], shelf: Shelf, data: Path | None, workers: int) -> Iterator[str | None]:
    """Perform runs here or in other processes; yields one failure, or nothing, for each."""
    if workers <= 1 or len(runs) <= 1:
        yield from (perform(run, shelf, data) for run in runs)
        return
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context, initializer=_end_with_parent) as pool:
        futures = [pool.submit(perform, run, shelf, data) for run in runs]
        try:
            yield from (future.result() for future in as_completed(futures))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _end_with_parent() -> None:
    """Leave when the parent is gone, even if it was killed: nobody would fetch the results."""
    parent = multiprocessing.parent_process()

    def leave() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=leave, daemon=True).start()


def perform(run: Run, shelf: Shelf, data: Path | None) -> str | None:
    """Make the points, measure what is missing, and write the result; return what went wrong, if anything."""
    try:
        loaded = load_city(run.where, data, run.input)
        began = process_time()
        synthetic = make_points(run, loaded)
        seconds = process_time() - began
        known = shelf.read(run) or {"values": {"cpu_seconds": seconds, "points": len(synthetic)}, "reasons": {}}
        values, reasons = measure(synthetic, loaded, sorted(shelf.missing(run)))
        known["values"].update(values)
        known["reasons"].update(reasons)
        shelf.put(run, {"banner": BANNER, "run": run.identity, **known})
    except Exception as fault:  # noqa: BLE001 - one run must not end the others
        return f"{run.name}: {type(fault).__name__}: {fault}"
    return None


def make_points(run: Run, loaded: Loaded) -> SyntheticPoints:
    """Make the synthetic points of a run in a rehearsal: not private."""
    vault = Vault.rehearse(loaded.points, loaded.world, epsilon=run.epsilon, seed=run.seed)
    if run.method in AS_PUBLISHED:
        return rehearse(vault, run.method, run.seed)
    return synthesize(vault, vary(METHODS[run.method], dict(run.split), dict(run.parameters)), seed=run.seed)


def vary(method: Method, split: dict[str, str], parameters: dict[str, float]) -> Method:
    """Return a method with another split, and other parameters of its partitioner or placement."""
    parts: dict[str, Any] = {"partitioner": method.partitioner, "placement": method.placement}
    for name, value in parameters.items():
        has_it = (kind for kind, part in parts.items() if name in {field.name for field in dataclasses.fields(part)})
        owner = next(has_it, None)
        if owner is None:
            raise InputError(f"'{method.name}' has no parameter '{name}'.")
        parts[owner] = dataclasses.replace(parts[owner], **{name: value})
    changed = dataclasses.replace(method, **parts)
    return changed.with_split(split) if split else changed


def measure(synthetic: SyntheticPoints, loaded: Loaded, measures: list[str]) -> tuple[dict[str, float], dict[str, str]]:
    """Return the value of each measure, and why some have none."""
    comparison = loaded.comparison.against(loaded.world.projection.to_metres(synthetic.coordinates))
    values: dict[str, float] = {}
    reasons: dict[str, str] = {}
    for text in measures:
        name, options = parse_measure(text)
        try:
            values[text] = MEASURES[name](comparison, **options)
        except UnmeasuredError as reason:
            reasons[text] = str(reason)
    return values, reasons
