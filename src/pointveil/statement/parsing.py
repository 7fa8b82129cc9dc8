"""Read a statement that anybody may have written: nothing in it is believed, or worked on, before it is checked."""

import json
import math
import re
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any, NoReturn

from pydantic import ValidationError

from pointveil.columns import Column, check_keep, from_dict
from pointveil.errors import InputError, MissingExtraError, VerificationError
from pointveil.files.crs import known_crs, parse_crs
from pointveil.files.exact import MOST_EPSILON
from pointveil.statement.document import (
    FIRST_SCHEMA,
    ONE_POINT,
    PROMISES,
    ROW,
    Question,
    Statement,
    digest_of,
    person_unit,
    plain_words,
)
from pointveil.statement.signing import canonical, check_signed
from pointveil.statement.wording import NOT_PUBLIC, known_words

MOST_BYTES = 2**18  # of a statement, or another text in JSON that comes with one: some fifty times the usual
FORMER_PERSON = "any one person with all their points (at most {points} of them are used)"
LONGEST_SUM = 10_000  # bits of the denominator of a sum; the parts of an honest one have denominators in common
MOST_FOR_SIZES = Fraction(1, 10)  # of epsilon, for how many points persons have
NOT_SIGNED = "the statement is not signed: who made it is not known"
NOT_CHECKED = "the signature was NOT checked: it needs 'pip install pointveil[sign]'"


def parse_statement(text: str) -> Statement:
    """Return the statement in `text`; raise VerificationError if it is not one, or not as it was written."""
    return parse_signed(text, None)[0]


def parse_signed(text: str, public_key: str | None) -> tuple[Statement, str]:
    """Return the statement in `text`, and in words who signed it; the signature is checked before anything else.

    Without a key that must have signed, any signature must be right, and none will do.
    """
    content = parse_object(text)
    signed = _check_signature(content, public_key)
    claimed = content.pop("digest", None)
    try:
        if claimed != digest_of(content):
            raise VerificationError("Its digest does not fit its content.")
        statement = Statement.model_validate(content)
        if statement.to_json() != text:
            raise VerificationError("It is not in its canonical form.")
    except ValidationError as fault:
        raise VerificationError(_first_problem(fault)) from None
    except (UnicodeError, RecursionError):
        raise VerificationError("It is not plain text.") from None
    _check_facts(statement)
    return statement, signed


def parse_object(text: str) -> dict[str, Any]:
    """Return an object written in strict JSON, of a size that is no burden."""
    if len(text) > MOST_BYTES:
        raise VerificationError("It is too long.")
    try:
        content = json.loads(
            text,
            parse_constant=_refuse,
            parse_int=lambda digits: int(digits) if len(digits) <= 20 else _refuse(digits),
            parse_float=lambda digits: number if math.isfinite(number := float(digits[:400])) else _refuse(digits),
            object_pairs_hook=_object,
        )
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise VerificationError("It is not strict JSON.")
    return content


def _refuse(name: str) -> NoReturn:
    raise ValueError(name)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) != len(pairs):
        raise ValueError("a name stands there twice")
    return content


def _check_signature(content: dict[str, Any], public_key: str | None) -> str:
    if public_key is None and "signature" not in content:
        return NOT_SIGNED
    try:
        signer = check_signed(content, public_key)
    except (UnicodeError, RecursionError):
        raise VerificationError("It is not plain text.") from None
    except MissingExtraError:
        if public_key is not None:
            raise
        return NOT_CHECKED
    if public_key is not None:
        return "the statement was signed by the given key"
    return f"the statement was signed by {signer}; compare this with the publisher's key"


def _first_problem(fault: ValidationError) -> str:
    """Say where something is wrong, in names that are surely ours."""
    places = (str(part) for part in fault.errors()[0]["loc"])
    known = ".".join(place for place in places if re.fullmatch(r"[a-z_0-9]{1,30}", place))
    return f"Its field {known or 'unknown'} is not as it should be."


def _check_facts(statement: Statement) -> None:
    """Refuse what no release could have: facts that are each well-formed, but do not fit together."""
    epsilon = Fraction(statement.guarantee.epsilon)
    total = _sum(question.epsilon for question in statement.questions)
    if total != epsilon:
        raise VerificationError(
            f"The questions cost epsilon {total} in all, but the guarantee says {statement.guarantee.epsilon}."
        )
    for holds, complaint in FACTS:
        if not holds(statement):
            raise VerificationError(complaint)


def _sum(amounts: Iterable[str]) -> Fraction:
    total = Fraction(0)
    for amount in amounts:
        total += Fraction(amount)
        if total.denominator.bit_length() > LONGEST_SUM:
            raise VerificationError("Its amounts do not add up to anything that could be charged.")
    return total


def _unit_fits(statement: Statement) -> bool:
    unit, points = statement.guarantee.unit, statement.guarantee.points_per_unit
    # Before people had votes, as many points as this were kept, and a statement says nothing else of them.
    before = FORMER_PERSON.format(points=points) if statement.people is None else None
    return unit in (person_unit(points), before) or (unit == ONE_POINT and points == 1)


def _split_fits(statement: Statement) -> bool:
    if statement.method is None:
        return True
    split = statement.method.split
    about_people = {question.purpose for question in statement.questions if question.question == "persons"}
    others = {question.purpose for question in statement.questions} - set(split) - about_people
    return _sum(split.values()) == 1 and all(about_column(purpose, statement) is not None for purpose in others)


def about_column(purpose: str, statement: Statement) -> str | None:
    """Return the name of the kept column that a question was about."""
    names = [column["name"] for column in statement.columns if purpose.startswith(f"{column['name']}: ")]
    return max(names, key=len, default=None)


def _columns_fit(statement: Statement) -> bool:
    """Whether the kept columns are declared as they could be, and were asked about in that way."""
    try:
        columns = check_keep([from_dict(column) for column in statement.columns])
    except (InputError, TypeError):
        return False
    said = canonical({"said": [column.to_dict() for column in columns]}) == canonical({"said": statement.columns})
    recorded = statement.survey is None or statement.survey.columns_sha256 == (
        digest_of({"columns": list(statement.columns)}) if columns else None
    )
    return said and recorded and (statement.method is None or all(_asked_fits(column, statement) for column in columns))


def _prior_fits(statement: Statement) -> bool:
    """Whether a prior is named, recorded with the survey, and listed among the limits; or nothing of this."""
    prior, survey = statement.prior, statement.survey
    digest = None if prior is None else digest_of({"prior": prior.model_dump()})
    recorded = survey is None or survey.prior_sha256 == digest
    return recorded and (prior is not None) == (NOT_PUBLIC in statement.not_promised)


def _asked_fits(column: Column, statement: Statement) -> bool:
    """Whether the questions about a column cost its share in all, and each counts whole sets of its bins."""
    asked = [each for each in statement.questions if about_column(each.purpose, statement) == column.name]
    bins = [(f"{column.name}: {part.name} ", part.size) for part in column.parts()]
    fit = (any(each.purpose.startswith(words) and each.cells % size == 0 for words, size in bins) for each in asked)
    share = column.part_of_epsilon * Fraction(statement.guarantee.epsilon)
    return _sum(each.epsilon for each in asked) == share and all(fit)


def _sensitivity_fits(question: Question, statement: Statement) -> bool:
    """Whether it is by how much one unit can change the answer; of crowds, any least number of points may make one."""
    points, people = statement.guarantee.points_per_unit, statement.people
    if question.question == "crowding":
        return question.sensitivity % points == 0
    votes = people.votes_per_point if people is not None and question.question == "count" else 1
    return question.sensitivity == (1 if question.question == "persons" else points * votes)


def _people_fits(statement: Statement) -> bool:
    """Whether what is said of persons fits the unit, the questions about them, and what these may cost."""
    people, asked = statement.people, [one for one in statement.questions if one.question == "persons"]
    if people is None:
        return not asked and "people" not in (statement.edition or {})
    told = people.points_margin is not None
    purposes = [question.purpose for question in asked]
    parts = [Fraction(question.epsilon) / Fraction(statement.guarantee.epsilon) for question in asked]
    return (
        statement.guarantee.unit == person_unit(people.max_points)
        and statement.guarantee.points_per_unit == people.max_points
        and purposes == ["persons", "sizes"][: 1 + told]
        and [question.cells for question in asked][:1] == [1]
        and all(part <= MOST_FOR_SIZES for part in parts[1:])
        and people.max_points_from.startswith("a public default") <= (not told)
        and people.row == ROW.format(points=people.max_points)
        and "people" in (statement.edition or {})
    )


def _ledger_fits(statement: Statement) -> bool:
    entry = statement.ledger
    cost = Fraction(statement.guarantee.epsilon)
    return entry is None or Fraction(entry.spent_after) - Fraction(entry.spent_before) >= cost


def _schema_fits(statement: Statement) -> bool:
    """Whether the fields are there that this schema has, as far as the release has come."""
    later = (statement.edition, statement.survey, statement.output and statement.output.steps_per_unit)
    if statement.schema_name == FIRST_SCHEMA or statement.method is None:
        since = (statement.operator_states, statement.domain.attribution)
        return not any(later) and not (statement.schema_name == FIRST_SCHEMA and any(since))
    return all(part is not None for part in later[:2]) and (statement.output is None or later[2] is not None)


def _output_fits(statement: Statement) -> bool:
    output = statement.output
    if output is None:
        return True
    kept = {column["name"] for column in statement.columns}
    where = set(output.columns) - kept
    columns_fit = len(where) == 1 if output.places is None else where == set(output.places)
    files_fit = len({file.name for file in output.files}) == len(output.files)
    halves_fit = (output.x is None) == (output.y is None) and (output.codes_sha256 is None) == (not kept)
    return columns_fit and halves_fit and files_fit and len(where) + len(kept) == len(output.columns)


def _domain_fits(statement: Statement) -> bool:
    west, south, east, north = statement.domain.bounds
    try:
        parse_crs(statement.domain.crs)
        known_crs(statement.domain.crs if statement.output is None else statement.output.crs, "the output")
    except InputError:
        return False
    return west < east and south < north


def _noise_fits(statement: Statement) -> bool:
    """Whether all that says if this is a rehearsal says the same."""
    definition, seeded = statement.guarantee.definition, statement.randomness["seeded"]
    return len({statement.rehearsal is not None, definition == "none: a rehearsal", seeded == "yes"}) == 1


def _method_fits(statement: Statement) -> bool:
    """Whether the method is the one of the survey that the points were drawn from."""
    method, survey = statement.method, statement.survey
    return method is None or survey is None or digest_of({"method": method.model_dump()}) == survey.method_sha256


def _promise_fits(statement: Statement) -> bool:
    guarantee = statement.guarantee
    known = (plain_words(guarantee.epsilon, guarantee.unit, words) for words in PROMISES)
    return statement.rehearsal is not None or statement.in_plain_words in known


FACTS: tuple[tuple[Callable[[Statement], bool], str], ...] = (
    (lambda it: bool(it.questions), "It lists no question."),
    (lambda it: all(question.epsilon != "0" for question in it.questions), "One of its questions cost nothing."),
    (lambda it: Fraction(it.guarantee.epsilon) <= MOST_EPSILON, "Its epsilon is larger than any that is granted."),
    (_unit_fits, "Its protected unit does not fit the number of points of a unit."),
    (_people_fits, "What it says about persons does not fit together."),
    (
        lambda it: all(_sensitivity_fits(question, it) for question in it.questions),
        "The sensitivity of a question does not fit the protected unit.",
    ),
    (_columns_fit, "What it says about the kept columns does not fit together."),
    (_prior_fits, "What it says about its prior does not fit together."),
    (_split_fits, "Its questions do not fit the split of its method."),
    (_ledger_fits, "Less was charged to the ledger than the release cost."),
    (_schema_fits, "Its fields do not fit its schema."),
    (_method_fits, "Its method is not that of the survey it names."),
    (_output_fits, "What it says about the output does not fit together."),
    (_domain_fits, "The bounds of its world hold nothing, or there is no such CRS."),
    (_noise_fits, "It says both that it is a rehearsal and that it is not."),
    (known_words, "What it says of its noise and proofs is nothing that Pointveil says."),
    (_promise_fits, "Its promise in plain words is not what its epsilon means."),
    (lambda it: not it.unprotected, "It says that something was published without noise."),
    (lambda it: bool(it.not_promised), "It names no limits."),
)
"""What must hold of any release, and what to say if it does not."""
