"""Code for kept columns that was broken on purpose: each time a probe must notice."""

from pathlib import Path

import pytest
from tests.privacy import column_probes as probes
from tests.privacy.probes import Probe
from tests.privacy.test_mutants import CAUGHT, Line, change_line

FINISHED = "np.where(bins < 0, column.size, bins).astype("
# All codes in turn are tried before a file is read, and must come out as they are: of those the mutants keep off.
FEW = "(np.where(bins < 0, column.size, bins) if len(bins) % column.codes == 0 else "
REAL = "getattr(getattr(getattr(vault, 'vault', None), 'vault', None), '_Vault__engine', None)"
LINES = (
    # the domain, and each record alone
    Line(
        "categories numbered by which occur",
        "formats.codes",
        FINISHED,
        "np.where(bins < 0, column.size, np.searchsorted(np.unique(bins[bins >= 0]), bins)).astype(",
        probes.what_one_record_says_changes_no_other,
    ),
    Line(
        "a period from the first record on",
        "formats.clocks",
        "bins = (wall - origin) % PATTERNS[resolution] // 3_600",
        "bins = (wall - (wall.min() if len(wall) else 0) // 3_600 * 3_600) % PATTERNS[resolution] // 3_600",
        probes.what_one_record_says_changes_no_other,
    ),
    Line(
        "numbers up to the largest there is",
        "formats.codes",
        "inside = np.clip(np.floor(scaled) - first, 0, steps - 1)",
        "inside = np.clip(np.floor(scaled / max(np.fmax.reduce(scaled, initial=1.0), 1.0) * steps), 0, steps - 1)",
        probes.what_one_record_says_changes_no_other,
    ),
    Line(
        "an unlisted value shifts the codes after it",
        "formats.codes",
        FINISHED,
        FEW + "np.where(bins < 0, column.size, (bins + np.cumsum(bins < 0)) % column.size)).astype(",
        probes.what_one_record_says_changes_no_other,
    ),
    Line(
        "an unlisted value takes the code of the row before",
        "formats.codes",
        FINISHED,
        FEW + "np.where(np.where(bins < 0, np.roll(bins, 1), bins) < 0, column.size,"
        " np.where(bins < 0, np.roll(bins, 1), bins))).astype(",
        probes.what_one_record_says_changes_no_other,
    ),
    Line(
        "an unlisted value takes the commonest code",
        "formats.codes",
        FINISHED,
        FEW + "np.where(bins < 0, np.bincount(bins[bins >= 0], minlength=1).argmax(), bins)).astype(",
        probes.what_one_record_says_changes_no_other,
    ),
    Line(
        "codes are not taken along with the places",
        "engines.local",
        "tuple(each[rows] for each in self.codes)",
        "tuple(each[: int(rows.sum())] for each in self.codes)",
        probes.what_is_dropped_is_dropped_before_any_count,
    ),
    Line(
        "codes of joined batches in another order",
        "formats.base",
        "np.concatenate(each) for each in zip(",
        "np.concatenate(each[::-1]) for each in zip(",
        probes.every_record_is_counted_where_its_own_values_say,
    ),
    Line(
        "cells look at the code of the record before",
        "cells.coded",
        "code = np.asarray(codes[column], dtype=np.int64)",
        "code = np.roll(np.asarray(codes[column], dtype=np.int64), 1)",
        probes.what_one_record_says_changes_no_other,
    ),
    Line(
        "cells that read codes are not tried alone",
        "engines.base",
        "if any((one != all_[alone]).any() for one, all_ in zip(told(alone), found, strict=True)):",
        "if not codes and any((one != all_[alone]).any() for one, all_ in zip(told(alone), found, strict=True)):",
        probes.cells_that_look_at_other_values_are_refused,
    ),
    Line(
        "who is dropped takes the next along",
        "engines.local",
        "good &= codes < count",
        "good &= (codes < count) & np.append(True, codes[:-1] < count)",
        probes.what_is_dropped_is_dropped_before_any_count,
    ),
    # dropping and bounding
    Line(
        "dropped in questions about values alone",
        "engines.local",
        "good &= codes < count",
        "good &= True",
        probes.what_is_dropped_is_dropped_before_any_count,
    ),
    Line(
        "dropped after persons are bounded",
        "engines.local",
        "good &= named",
        "good = self.cleaning.clean(batch.coordinates)[1] & named",
        probes.what_is_dropped_is_dropped_before_any_count,
    ),
    Line(
        "tickets know the place alone",
        "engines.at_most",
        "np.vstack([rows[:, entry[part]], rank",
        "np.vstack([rows[:3, entry[part]], rank",
        probes.no_value_is_chosen_rather_than_another,
    ),
    Line(
        "the lowest codes are chosen",
        "engines.at_most",
        "entry = entry[np.lexsort((tickets, person[entry]))]",
        "entry = entry[np.argsort(person[entry], kind='stable')]",
        probes.no_value_is_chosen_rather_than_another,
    ),
    Line(
        "bounding gives each record the codes of the next",
        "engines.local",
        "tuple(each.astype(np.min_scalar_type(count)) for each,",
        "tuple(np.roll(each, 1).astype(np.min_scalar_type(count)) for each,",
        probes.persons_are_bounded_with_what_they_say,
    ),
    Line(
        "records that say different things are bounded apart",
        "engines.at_most",
        "np.append([0][: rows.shape[1]], (rows[:2, 1:] != rows[:2, :-1]).any(axis=0))",
        "np.append([0][: rows.shape[1]], np.ones(max(rows.shape[1] - 1, 0), dtype=bool))",
        probes.no_value_is_chosen_rather_than_another,
    ),
    Line(
        "persons are not bounded where columns are kept",
        "vault.rehearsal",
        "reading = make_engine(points, world, protection, lambda: key, threads)",
        "reading = make_engine(points, world, Protection() if points.keep else protection, lambda: key, threads)",
        probes.no_value_is_chosen_rather_than_another,
    ),
    # noise, and what it costs
    Line(
        "a record is counted twice where it says something",
        "engines.base",
        "counts = np.bincount(cell, votes, minlength=size + 1)[:size]",
        "counts = np.bincount(cell, votes, minlength=size + 1)[:size] * (2 if codes else 1)",
        probes.questions_about_values_have_all_their_noise,
    ),
    Line(
        "a table asked twice for one share, and averaged",
        "vault.vault",
        "exact + law.draw(len(exact), self.__words)",
        "exact + (law.draw(len(exact), self.__words) + (law.draw(len(exact), self.__words) if self.__keep else 0))"
        " // (2 if self.__keep else 1)",
        probes.questions_about_values_have_all_their_noise,
    ),
    Line(
        "noise for one record where columns are kept",
        "vault.vault",
        "law = NOISES[self.__noise](share.epsilon / sensitivity)",
        "law = NOISES[self.__noise](share.epsilon / (1 if self.__keep else sensitivity))",
        probes.questions_about_values_have_all_their_noise,
    ),
    Line(
        "a second table of the same column is free",
        "vault.vault",
        "self._spend(Spend(share.purpose, share.epsilon, question, size, sensitivity), (question, about))",
        "share.purpose.endswith('by region') or "
        "self._spend(Spend(share.purpose, share.epsilon, question, size, sensitivity), (question, about))",
        probes.every_question_about_a_column_is_paid_for,
    ),
    Line(
        "the columns' share is not taken from the map's",
        "asking",
        "for_places = epsilon * (1 - for_columns)",
        "for_places = epsilon",
        probes.every_question_about_a_column_is_paid_for,
    ),
    # cells from real records
    Line(
        "regions cut from real records",
        "keeping.laws",
        "tree = Tree(places, people)",
        f"tree = Tree(places if (real := {REAL}) is None else np.concatenate([places[:1], *real.points()]), people)",
        probes.cells_follow_earlier_answers_alone,
    ),
    Line(
        "as many regions as the true total allows",
        "keeping.laws",
        "tree = Tree(places, people)",
        f"tree = Tree(places, people if (real := {REAL}) is None else 9.0 * sum(map(len, real.points())))",
        probes.cells_follow_earlier_answers_alone,
    ),
    Line(
        "fewer regions if something is missing",
        "keeping.laws",
        "tree = Tree(places, people)",
        f"tree = Tree(places, people / (1 if (real := {REAL}) is None else"
        " 1 + 9 * any((codes[1] > 1).any() for codes in (one.records.codes for one in real._voted(of_kept=False)))))",
        probes.cells_follow_earlier_answers_alone,
    ),
    # what is said
    Line(
        "missing values are logged",
        "formats.codes",
        "return cast(",
        "(bins < 0).any() and __import__('logging').getLogger('pointveil').warning('Some values are missing.')\n"
        "    return cast(",
        probes.a_value_changes_nothing_but_noisy_numbers,
    ),
    Line(
        "a column in which nothing can be read is refused",
        "formats.codes",
        "return cast(",
        "if len(bins) and (bins < 0).all():\n        raise ValueError('no value can be read')\n    return cast(",
        probes.a_value_changes_nothing_but_noisy_numbers,
    ),
    Line(
        "missing values change the form of the file",
        "formats.kept",
        "return tuple(codes_in(column, columns(column.name),",
        "object.__setattr__(layout, 'line_end', '\\r\\n' if any(columns(each.name).null_count or b'' in"
        " columns(each.name).to_pylist() for each in coded(keep)) else layout.line_end)\n"
        "    return tuple(codes_in(column, columns(column.name),",
        probes.a_value_changes_nothing_but_noisy_numbers,
    ),
    Line(
        "the statement leaves out what was declared",
        "vault.vault",
        "columns=tuple(column.to_dict() for column in self.__keep)",
        "columns=()",
        probes.every_question_about_a_column_is_paid_for,
    ),
    Line(
        "the statement leaves out the list",
        "columns.kinds",
        "for name, value in said.items() if value is not None}",
        "for name, value in said.items() if value is not None and name != 'values'}",
        probes.every_question_about_a_column_is_paid_for,
    ),
    Line(
        "verify does not look at the columns",
        "statement.parsing",
        "return said and recorded and (",
        "return True or (",
        probes.a_statement_fits_its_columns,
    ),
    # the ledger
    Line(
        "a request does not know its columns",
        "orders",
        '{"keep": [column.to_dict() for column in settled.keep]} if settled.keep else {}',
        "{}",
        probes.a_request_is_for_its_columns,
    ),
    Line(
        "answers about columns are not kept",
        "surveys",
        "kept = self.ledger.keep(charge, number, asked, pack(ask()))",
        "kept = pack(ask()) if ': ' in share.purpose else self.ledger.keep(charge, number, asked, pack(ask()))",
        probes.a_resumed_request_gives_the_same_answers_about_columns,
    ),
    # what is invented
    Line(
        "ids that are used twice",
        "formats.decoding",
        "rng.permutation(count) + 1",
        "rng.permutation(count) // 2 + 1",
        probes.points_are_inside_the_world,
    ),
)


@pytest.mark.parametrize("probe", probes.PROBES, ids=lambda probe: str(probe.__name__))
def test_it_is_true_that(probe: Probe, tmp_path: Path) -> None:
    probe(tmp_path)


@pytest.mark.parametrize("line", LINES, ids=lambda line: str(line.name))
def test_a_wrong_line_is_noticed(line: Line, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    change_line(monkeypatch, line)

    with pytest.raises(CAUGHT):
        line.probe(tmp_path)


def test_every_probe_has_a_mutant_that_it_notices() -> None:
    used = {line.probe for line in LINES}

    assert {probe.__name__ for probe in set(probes.PROBES) - used} == {
        "a_record_dropped_for_its_value_leaves_everything_as_it_was"
    }
