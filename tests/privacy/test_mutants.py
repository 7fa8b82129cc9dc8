"""Break one line of the real code: the probe that looks after it must notice.

A mutant is either a changed text of one file of the package, whose functions are compiled anew and put in place, or a
patch of a class. If the text is gone because the code was rewritten, write the mutant anew for the new code.
"""

import importlib
import inspect
import logging
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.privacy import probes
from tests.privacy.probes import Probe

import pointveil.vault.rehearsal
import pointveil.vault.vault
from pointveil.engines import LocalEngine, NotOneByOneError
from pointveil.engines.local import Records, Voted
from pointveil.errors import PointveilWarning
from pointveil.formats import PointSource
from pointveil.formats.base import Batch

vault: Any = pointveil.vault.vault


@dataclass(frozen=True)
class Line:
    """A text of a module that is wrong on purpose."""

    name: str
    module: str
    old: str
    new: str
    probe: Probe


URANDOM = "return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)"
SPEND = "self._spend(Spend(share.purpose, share.epsilon, question, size, sensitivity), (question, about))"
NOISED = "exact = self._exact(question, about)"
PER_USE = "epsilon_per_use=share.epsilon / (points * max_uses)"
TO_STEPS = "self.plane.to_steps(self._transformed(coordinates[block]))"
FAULT = 'fault = RuntimeError("The question could not be answered; its price stays paid.")'
MIXED = "mixed = mix(lattice[:, 0] * np.uint64(0x9E3779B97F4A7C15) ^ mix(lattice[:, 1]))"

LINES = (
    # where random bits come from
    Line(
        "words seeded by the clock",
        "vault.noise",
        URANDOM,
        "import time; return np.random.Philox(time.time_ns()).random_raw(count)",
        probes.answers_follow_from_the_operating_system_alone,
    ),
    Line(
        "words of NumPy's generator",
        "vault.noise",
        URANDOM,
        "return np.random.default_rng().integers(0, 2**64, count, dtype=np.uint64)",
        probes.words_are_the_bytes_of_the_operating_system,
    ),
    Line(
        "a generator that is seeded once",
        "vault.noise",
        URANDOM,
        'return globals().setdefault("_once", np.random.Philox(int.from_bytes(os.urandom(16)))).random_raw(count)',
        probes.a_forked_process_has_words_of_its_own,
    ),
    Line(
        "a pool used again",
        "vault.noise",
        URANDOM,
        'return np.resize(globals().setdefault("_again", np.frombuffer(os.urandom(8192), dtype=np.uint64)), count)',
        probes.words_are_the_bytes_of_the_operating_system,
    ),
    Line(
        "a pool that a fork copies",
        "vault.noise",
        URANDOM,
        'pool = globals().setdefault("_pool", bytearray())\n'
        "    while len(pool) < 8 * count: pool.extend(os.urandom(4096))\n"
        "    taken = bytes(pool[: 8 * count]); del pool[: 8 * count]\n"
        "    return np.frombuffer(taken, dtype=np.uint64)",
        probes.a_forked_process_has_words_of_its_own,
    ),
    Line(
        "half the bits of a word",
        "vault.noise",
        URANDOM,
        "return np.frombuffer(os.urandom(4 * count), dtype=np.uint32).astype(np.uint64) << np.uint64(32)",
        probes.words_are_the_bytes_of_the_operating_system,
    ),
    Line(
        "a real vault with a seed",
        "vault.vault",
        "if words is not secure_words and not self.rehearsal:",
        "if not words:",
        probes.a_real_vault_takes_no_other_words,
    ),
    # the noise and the kernel
    Line(
        "no last digit when steps are halved",
        "vault.noise",
        "values = 2 * values + _table(_Law(step, 1, 2)).draw(count, words)",
        "values = 2 * values",
        probes.counts_have_the_law_that_is_proved,
    ),
    Line(
        "k forgotten in a count",
        "vault.vault",
        "law = NOISES[self.__noise](share.epsilon / sensitivity)",
        "law = NOISES[self.__noise](share.epsilon)",
        probes.counts_have_the_law_that_is_proved,
    ),
    Line(
        "k forgotten for OpenDP",
        "vault.vault",
        "(share.epsilon / sensitivity)",
        '(share.epsilon / (sensitivity if self.__noise == "exact" else 1))',
        probes.counts_have_the_law_that_is_proved,
    ),
    Line(
        "a crowd charged as one point",
        "vault.protection",
        '"crowding": least',
        '"crowding": 1',
        probes.crowding_has_the_law_that_is_proved,
    ),
    Line(
        "k forgotten for crowds",
        "vault.protection",
        "return self.points * {",
        'return (1 if question == "crowding" else self.points) * {',
        probes.crowding_has_the_law_that_is_proved,
    ),
    Line(
        "votes forgotten in a count",
        "vault.protection",
        '"count": self.votes',
        '"count": 1',
        probes.counts_have_the_law_that_is_proved,
    ),
    Line(
        "half the noise for persons",
        "vault.vault",
        "law = NOISES[self.__noise](share.epsilon / sensitivity)",
        'law = NOISES[self.__noise](share.epsilon * (2 if question == "persons" else 1) / sensitivity)',
        probes.persons_have_the_law_that_is_proved,
    ),
    Line(
        "persons counted once for each place",
        "engines.at_most",
        "np.minimum(_sizes(self.rows, self.counts), ends[-1])",
        "np.minimum(self.counts, ends[-1])",
        probes.persons_have_the_law_that_is_proved,
    ),
    Line(
        "persons counted in every bin up to their own",
        "engines.at_most",
        "return np.bincount(np.searchsorted(ends, found), minlength=len(ends))",
        "return np.bincount(np.searchsorted(ends, found), minlength=len(ends))[::-1].cumsum()[::-1]",
        probes.persons_have_the_law_that_is_proved,
    ),
    Line(
        "bins of persons that follow the busiest",
        "engines.at_most",
        "np.searchsorted(ends, found)",
        "np.searchsorted(np.multiply(ends, found.max(initial=1)) // ends[-1], found)",
        probes.bins_of_persons_are_public,
    ),
    Line(
        "what a person counts for is changed later",
        "vault.vault",
        "if self.__protection.points not in (None, points):",
        "if self.__protection.points not in (None, points) and points < 1:",
        probes.what_a_person_counts_for_is_said_once_and_first,
    ),
    Line(
        "a whole vote for every point",
        "engines.at_most",
        "per_record * np.minimum(sizes, self._known_limit)",
        "per_record * sizes",
        probes.votes_of_a_person_add_up,
    ),
    Line(
        "what is left over of votes is rounded up",
        "engines.at_most",
        "return counts * each[owner] + self._lowest(rows, counts, left)",
        "return counts * (each + (left > 0))[owner]",
        probes.votes_of_a_person_add_up,
    ),
    Line(
        "k forgotten in a scatter",
        "vault.vault",
        PER_USE,
        "epsilon_per_use=share.epsilon / max_uses",
        probes.scatter_has_the_law_that_is_proved,
    ),
    Line(
        "uses forgotten in a scatter",
        "vault.vault",
        PER_USE,
        "epsilon_per_use=share.epsilon / points",
        probes.scatter_has_the_law_that_is_proved,
    ),
    Line(
        "a window a fifth too narrow",
        "vault.kernel",
        "np.rint(count * share)",
        "np.rint(count * share * 0.8)",
        probes.scatter_has_the_law_that_is_proved,
    ),
    Line(
        "a window a fifth too wide",
        "vault.kernel",
        "np.rint(count * share)",
        "np.rint(count * share * 1.2)",
        probes.scatter_has_the_law_that_is_proved,
    ),
    Line(
        "a window a tenth too heavy",
        "vault.kernel",
        "return math.floor(total * WEIGHT_STEPS)",
        "return math.floor(total * WEIGHT_STEPS * Fraction(11, 10))",
        probes.scatter_has_the_law_that_is_proved,
    ),
    Line(
        "a window beside its site",
        "vault.kernel",
        "site - window // 2",
        "site - window // 3",
        probes.scatter_has_the_law_that_is_proved,
    ),
    Line(
        "blurred points in the order of the file",
        "vault.kernel",
        "order = random_order(len(region), words)",
        "order = np.arange(len(region))",
        probes.as_many_come_back_as_were_wanted_in_any_order,
    ),
    Line(
        "no fillers",
        "vault.kernel",
        "missing = wanted - np.bincount(pool_region, minlength=len(wanted))",
        "missing = np.zeros_like(wanted)",
        probes.as_many_come_back_as_were_wanted_in_any_order,
    ),
    # the account
    Line(
        "noise before it is charged",
        "vault.vault",
        f"{SPEND}\n        {NOISED}",
        f"{NOISED}\n        {SPEND}",
        probes.no_noise_is_drawn_before_it_is_charged,
    ),
    Line(
        "exact counts that outlive a refused charge",
        "vault.vault",
        "counts.clear()",
        "self.__held = counts",
        probes.a_refused_charge_drops_what_was_counted,
    ),
    Line(
        "a failed question is given back",
        "vault.vault",
        f"{SPEND}\n        {NOISED}",
        f"try:\n            {SPEND}\n            {NOISED}\n"
        "        except RuntimeError:\n            self.__account.spends.pop(); raise",
        probes.a_failure_is_paid_for_and_quotes_nothing,
    ),
    Line(
        "an error that says what went wrong",
        "vault.vault",
        FAULT,
        'import sys; fault = RuntimeError(f"The question could not be answered: {sys.exc_info()[1]}")',
        probes.a_failure_is_paid_for_and_quotes_nothing,
    ),
    Line(
        "an error that carries its cause",
        "vault.vault",
        FAULT,
        FAULT.replace("fault =", "raise"),
        probes.a_failure_is_paid_for_and_quotes_nothing,
    ),
    Line(
        "warnings are heard",
        "vault.vault",
        'np.errstate(all="ignore"), silence:',
        'np.errstate(all="ignore"):',
        probes.a_warning_that_quotes_a_point_is_not_heard,
    ),
    Line(
        "sites that do not exist",
        "engines.base",
        "known[known] = (site[known] >= 0) & (site[known] < counts[region[known]])",
        "known = known & (site >= 0)",
        probes.a_point_without_a_site_is_left_out,
    ),
    Line(
        "a scatter at half its price",
        "vault.vault",
        'share.epsilon, "scatter", size, points)',
        'share.epsilon / 2, "scatter", size, points)',
        probes.every_question_costs_its_share,
    ),
    Line(
        "a little more than there is",
        "vault.account",
        "if spend.epsilon > self.left:",
        "if spend.epsilon > self.left + Fraction(1, 10**6):",
        probes.every_question_costs_its_share,
    ),
    Line(
        "charges rounded down",
        "ledger.book",
        "math.ceil(amount * MICRO)",
        "math.floor(amount * MICRO)",
        probes.thirds_are_rounded_up,
    ),
    Line(
        "caps rounded up",
        "ledger.accounts",
        "math.floor(cap * MICRO)",
        "math.ceil(cap * MICRO)",
        probes.thirds_are_rounded_up,
    ),
    Line(
        "a fingerprint of the order",
        "engines.local",
        MIXED,
        f"{MIXED} * np.arange(1, len(lattice) + 1, dtype=np.uint64)",
        probes.a_file_is_known_again_in_any_order_and_format,
    ),
    Line(
        "a fingerprint of the order of blocks",
        "engines.local",
        "sums += np.array([len(mixed)",
        "sums = sums * np.uint64(31) + np.array([len(mixed)",
        probes.a_file_is_known_again_in_any_order_and_format,
    ),
    Line(
        "a fingerprint of one axis",
        "engines.local",
        MIXED,
        "mixed = mix(lattice[:, 0])",
        probes.a_file_is_known_again_in_any_order_and_format,
    ),
    # what is said
    Line(
        "the balance of a renamed copy told",
        "ledger.entries",
        "str(self.named_before)",
        "str(self.spent_before)",
        probes.a_copy_under_another_name_is_not_told,
    ),
    Line(
        "the size of the file in the statement",
        "vault.vault",
        "release=self.__release",
        'release=f"{self.__release[:24]}{self.__engine.source.path.stat().st_size:08x}"',
        probes.no_statement_tells_the_file,
    ),
    Line(
        "the fingerprint in the statement",
        "vault.vault",
        "release=self.__release",
        "release=self.__engine.digest().hex()[:32]",
        probes.no_statement_tells_the_file,
    ),
    Line(
        "a value in the layout",
        "formats.csv",
        "path.name, delimiter=delimiter)",
        'path.name, delimiter=delimiter, layer=head[start : start + 12].decode("latin-1"))',
        probes.a_layout_is_the_header_alone,
    ),
    Line(
        "a rehearsal without its stamp",
        "statement.wording",
        "rehearsal=REHEARSAL if rehearsal else None",
        "rehearsal=None",
        probes.a_rehearsal_says_what_it_is,
    ),
    # each record alone
    Line(
        "a batch dropped for one bad record",
        "vault.cleaning",
        "return steps, good",
        "return steps, good & (good.all() or len(good) > 9)",
        probes.a_record_changes_no_other,
    ),
    Line(
        "a lattice from the smallest coordinate",
        "vault.cleaning",
        TO_STEPS,
        "self.plane.to_steps(np.rint((coordinates[block] - (low := np.fmin.reduce(coordinates[block], axis=0))) * 1e4)"
        " / 1e4 + low)",
        probes.a_record_changes_no_other,
    ),
    Line(
        "the far edges are inside",
        "cells.arrays",
        "for test in (x < east, y >= south, y < north):",
        "for test in (x <= east, y >= south, y <= north):",
        probes.a_record_on_a_border_is_in_one_cell,
    ),
    Line(
        "parts as fine as the first record's",
        "cells.nested_grid",
        "side, (low, high) = self.sides[cell], self._ends(cell, axis)\n        guess",
        "side, (low, high) = np.minimum(self.sides[cell], self.sides[cell[0]]), self._ends(cell, axis)\n        guess",
        probes.cells_look_at_one_record_at_a_time,
    ),
    Line(
        "rounding by the majority",
        "cells.rounding",
        "(off[:, 1] <= ruler.slack)",
        "(off[:, 1] <= ruler.slack) & ((off <= ruler.slack).sum() > off.size / 2)",
        probes.cells_look_at_one_record_at_a_time,
    ),
    Line(
        "offsets up to the farthest record",
        "cells.street_offsets",
        "self.wide[edge], self.cells.reach - ON_THE_ROAD",
        "self.wide[edge], max(near.offset[along_road].max(initial=1.0), 1.0)",
        probes.cells_look_at_one_record_at_a_time,
    ),
    Line(
        "far offsets by the nearest record",
        "cells.street_offsets",
        "reached(self.beyond[1:], near.offset[far])",
        "reached(self.beyond[1:], near.offset[far] - min(near.offset.min(initial=1e9), 1e9))",
        probes.cells_look_at_one_record_at_a_time,
    ),
    Line(
        "persons of joined batches in another order",
        "formats.base",
        "[batch.person for batch in batches]",
        "[batch.person for batch in reversed(batches)]",
        probes.persons_are_bounded_in_the_whole_file,
    ),
    Line(
        "a short line filled up",
        "formats.csv",
        "whole = [row for row in rows if len(row) == self.width]",
        'whole = [[*row, "", "", ""][: self.width] for row in rows if row]',
        probes.a_line_of_another_width_changes_no_other,
    ),
)


# Mutants of what flows between the parts, so that they outlive a rewrite of either


def change_batches(patch: pytest.MonkeyPatch, change: Callable[[Iterator[Batch], int], Iterator[Batch]]) -> None:
    """Let `change` spoil the batches of every file, given how often its source was read before."""
    honest, passes = PointSource.batches, dict[int, int]()

    def batches(self: PointSource) -> Iterator[Batch]:
        passes[id(self)] = passes.get(id(self), -1) + 1
        return change(honest(self), passes[id(self)])

    patch.setattr(PointSource, "batches", batches)


def persons_renumbered_in_each_batch(patch: pytest.MonkeyPatch) -> None:
    def change(batches: Iterator[Batch], _: int) -> Iterator[Batch]:
        for batch in batches:
            codes = batch.person.dictionary_encode().indices.to_pylist()
            yield Batch(batch.coordinates, pa.array([b"%d" % code for code in codes], pa.binary()))

    change_batches(patch, change)


def long_names_cut_off(patch: pytest.MonkeyPatch) -> None:
    def change(batches: Iterator[Batch], _: int) -> Iterator[Batch]:
        for batch in batches:
            names = [name if name is None else name[:64] for name in batch.person.to_pylist()]
            yield Batch(batch.coordinates, pa.array(names, pa.binary()))

    change_batches(patch, change)


def another_person_in_each_batch(patch: pytest.MonkeyPatch) -> None:
    """So at most k records are kept of each batch, and not of the whole file."""

    def change(batches: Iterator[Batch], _: int) -> Iterator[Batch]:
        for number, batch in enumerate(batches):
            names = [b"%s in %d" % (str(name).encode(), number) for name in batch.person.to_pylist()]
            yield Batch(batch.coordinates, pa.array(names, pa.binary()))

    change_batches(patch, change)


def nobody_bounded_on_re_reading(patch: pytest.MonkeyPatch) -> None:
    honest, asked = LocalEngine._records, dict[int, int]()

    def records(self: LocalEngine) -> Iterator[Any]:
        asked[id(self)] = asked.get(id(self), 0) + 1
        if asked[id(self)] == 1:
            yield from honest(self)
            return
        for batch in self.source.batches():
            steps, good = self.cleaning.clean(batch.coordinates)
            yield Voted(Records(steps[good], ()), None)

    patch.setattr(LocalEngine, "_records", records)


def one_record_too_many(patch: pytest.MonkeyPatch) -> None:
    honest = vault.make_engine

    def make_engine(points: Any, world: Any, protection: Any, *rest: Any, **more: Any) -> Any:
        return honest(points, world, replace(protection, points=protection.points + 1), *rest, **more)

    for module in (vault, pointveil.vault.rehearsal):
        patch.setattr(module, "make_engine", make_engine)


def the_last_batch_is_lost(patch: pytest.MonkeyPatch) -> None:
    change_batches(patch, lambda batches, _: iter([*batches][:-1]))


def equal_places_once_a_batch(patch: pytest.MonkeyPatch) -> None:
    def change(batches: Iterator[Batch], _: int) -> Iterator[Batch]:
        for batch in batches:
            kept = np.unique(np.nan_to_num(batch.coordinates, nan=0.0), axis=0, return_index=True)[1]
            yield Batch(batch.coordinates[kept], None if batch.person is None else batch.person.take(pa.array(kept)))

    change_batches(patch, change)


def say_at_reading(patch: pytest.MonkeyPatch, say: Callable[[int], None]) -> None:
    def change(batches: Iterator[Batch], _: int) -> Iterator[Batch]:
        whole = [*batches]
        say(sum(len(batch.coordinates) for batch in whole))
        return iter(whole)

    change_batches(patch, change)


def a_count_printed(patch: pytest.MonkeyPatch) -> None:
    say_at_reading(patch, print)


def the_number_of_batches_in_memory_printed(patch: pytest.MonkeyPatch) -> None:
    honest = LocalEngine._records

    def records(self: LocalEngine) -> Iterator[Any]:
        batches = [*honest(self)]
        if self._kept is not None:
            print(len(batches))
        return iter(batches)

    patch.setattr(LocalEngine, "_records", records)


def a_count_logged(patch: pytest.MonkeyPatch) -> None:
    say_at_reading(patch, lambda count: logging.getLogger("pointveil").info("Read %d records", count))


def a_warning_of_a_large_file(patch: pytest.MonkeyPatch) -> None:
    """The size of the input decides whether something is said."""
    honest = vault.open_points

    def open_points(source: Any, **options: Any) -> Any:
        if Path(source).stat().st_size > 1560:
            warnings.warn("This is a large file.", PointveilWarning, stacklevel=2)
        return honest(source, **options)

    patch.setattr(vault, "open_points", open_points)


def an_end_for_a_record_that_is_nowhere(patch: pytest.MonkeyPatch) -> None:
    def change(batches: Iterator[Batch], _: int) -> Iterator[Batch]:
        for batch in batches:
            if np.isnan(batch.coordinates).any():
                raise ValueError
            yield batch

    change_batches(patch, change)


def a_choice_that_can_be_foreseen(patch: pytest.MonkeyPatch) -> None:
    """A fixed key: whoever knows it knows which records are used."""
    honest = vault.make_engine

    def make_engine(*parts: Any, **more: Any) -> Any:
        with pytest.MonkeyPatch.context() as known:
            known.setattr("os.urandom", bytes)
            return honest(*parts, **more)

    patch.setattr(vault, "make_engine", make_engine)


PATCHES: dict[Callable[[pytest.MonkeyPatch], None], Probe] = {
    persons_renumbered_in_each_batch: probes.persons_are_bounded_in_the_whole_file,
    long_names_cut_off: probes.persons_with_long_names_stay_apart,
    another_person_in_each_batch: probes.a_person_who_moves_about_is_bounded,
    nobody_bounded_on_re_reading: probes.a_person_who_moves_about_is_bounded,
    one_record_too_many: probes.persons_are_bounded_in_the_whole_file,
    the_last_batch_is_lost: probes.a_record_changes_no_other,
    equal_places_once_a_batch: probes.persons_are_bounded_in_the_whole_file,
    a_count_printed: probes.an_unusable_record_leaves_everything_as_it_was,
    the_number_of_batches_in_memory_printed: probes.an_unusable_record_leaves_everything_as_it_was,
    a_count_logged: probes.a_neighbour_changes_nothing_but_noisy_numbers,
    a_warning_of_a_large_file: probes.a_neighbour_changes_nothing_but_noisy_numbers,
    an_end_for_a_record_that_is_nowhere: probes.an_unusable_record_leaves_everything_as_it_was,
    a_choice_that_can_be_foreseen: probes.the_choice_of_records_is_fresh,
}


# How a line is changed


def functions_of(code: CodeType) -> dict[str, CodeType]:
    """Return the functions of a module and of its classes, by name."""
    inner = [each for each in code.co_consts if isinstance(each, CodeType)]
    found = {each.co_qualname: each for each in inner if each.co_flags & inspect.CO_OPTIMIZED}
    for each in inner:
        found |= {} if each.co_flags & inspect.CO_OPTIMIZED else functions_of(each)
    return found


def meaning(code: CodeType) -> object:
    """Return what a function does, without where it stands."""
    constants = tuple(meaning(each) if isinstance(each, CodeType) else repr(each) for each in code.co_consts)
    return code.co_code, code.co_names, code.co_varnames, constants


def function_at(module: Any, name: str) -> FunctionType:
    """Return the function behind a name, whatever it is wrapped in."""
    found = module
    for part in name.split("."):
        found = inspect.getattr_static(found, part)
    for wrapper in ("fget", "__func__", "func", "__wrapped__"):
        found = getattr(found, wrapper, found)
    assert isinstance(found, FunctionType)
    return found


def change_line(patch: pytest.MonkeyPatch, line: Line) -> None:
    """Compile a module anew with the line changed, and put the functions in place that are others now."""
    module = importlib.import_module(f"pointveil.{line.module}")
    source = inspect.getsource(module)
    assert source.count(line.old) == 1, f"{line.name}: its text is gone, or there twice; write the mutant anew"
    # "exec" of the text is what importing does.
    before, after = (
        functions_of(compile(text, module.__file__ or "", "exec", dont_inherit=True))
        for text in (source, source.replace(line.old, line.new))
    )
    changed = [name for name in after if meaning(after[name]) != meaning(before[name])]
    assert changed, f"{line.name} changes nothing"
    for name in changed:
        patch.setattr(function_at(module, name), "__code__", after[name])


# The second where an error was due and did not come; the third is what the vault itself notices.
CAUGHT = (AssertionError, pytest.fail.Exception, NotOneByOneError)


@pytest.mark.parametrize("line", LINES, ids=lambda line: str(line.name))
def test_a_wrong_line_is_noticed(line: Line, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if "OpenDP" in line.name:
        pytest.importorskip("opendp", reason="needs the extra opendp")
    change_line(monkeypatch, line)

    with pytest.raises(CAUGHT):
        line.probe(tmp_path)


@pytest.mark.parametrize("broken", PATCHES, ids=lambda broken: str(broken.__name__))
def test_a_wrong_part_is_noticed(
    broken: Callable[[pytest.MonkeyPatch], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken(monkeypatch)

    with pytest.raises(CAUGHT):
        PATCHES[broken](tmp_path)


def test_every_probe_has_a_mutant_that_it_notices() -> None:
    used = {line.probe for line in LINES} | set(PATCHES.values())

    assert {probe.__name__ for probe in set(probes.PROBES) - used} == {
        "another_person_changes_nobody_else",
        "a_file_that_cannot_be_read_is_charged",
    }
