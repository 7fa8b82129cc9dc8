"""Read a statement that anybody may have written: nothing in it is believed, or worked on, before it is checked."""

import json
import math
import re
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

from pydantic import ValidationError

from pointveil.errors import InputError, MissingExtraError, VerificationError
from pointveil.files.crs import known_crs, parse_crs
from pointveil.files.exact import MOST_EPSILON
from pointveil.statement.document import FIRST_SCHEMA, ONE_POINT, PROMISES, Statement, digest_of, plain_words
from pointveil.statement.signing import check_signed
from pointveil.statement.wording import known_words

MOST_BYTES = 2**18
"""Of a statement, or of another text in JSON that comes with one: some fifty times what they usually have."""
LONGEST_SUM = 10_000
"""Bits of the denominator of a sum; the parts of an honest one have denominators in common."""
NOT_SIGNED = "the statement is not signed: who made it is not known"
NOT_CHECKED = "the signature was NOT checked: it needs 'pip install pointveil[sign]'"


def parse_statement(text: str) -> Statement:
    """Return the statement in `text`; raise VerificationError if it is not one, or not as it was written."""
    return parse_signed(text, None)[0]


def parse_signed(text: str, public_key: str | None) -> tuple[Statement, str]:
    """Return the statement in `text`, and in words who signed it; the signature is checked before anything else.

    Parameters
    ----------
    text
        The statement.
    public_key
        The key that must have signed; without it, any signature must be right, and none will do.
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
            text, parse_constant=_refuse, parse_int=_whole, parse_float=_real, object_pairs_hook=_object
        )
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise VerificationError("It is not strict JSON.")
    return content


def _refuse(name: str) -> float:
    raise ValueError(name)


def _whole(digits: str) -> int:
    return int(digits) if len(digits) <= 20 else int(_refuse(digits))


def _real(digits: str) -> float:
    return number if math.isfinite(number := float(digits[:400])) else _refuse(digits)


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
    guarantee = statement.guarantee
    if guarantee.unit == ONE_POINT:
        return guarantee.points_per_unit == 1
    return re.search(rf"\bperson\b.*\b{guarantee.points_per_unit}\b", guarantee.unit) is not None


def _split_fits(statement: Statement) -> bool:
    if statement.method is None:
        return True
    split = statement.method.split
    return _sum(split.values()) == 1 and {question.purpose for question in statement.questions} <= set(split)


def _ledger_fits(statement: Statement) -> bool:
    entry = statement.ledger
    charged = entry is None or Fraction(entry.spent_after) - Fraction(entry.spent_before)
    return charged is True or charged >= Fraction(statement.guarantee.epsilon)


def _schema_fits(statement: Statement) -> bool:
    """Whether the fields are there that this schema has, as far as the release has come."""
    later = (statement.edition, statement.survey, statement.output and statement.output.steps_per_unit)
    if statement.schema_name == FIRST_SCHEMA or statement.method is None:
        return not any(later)
    return all(part is not None for part in later[:2]) and (statement.output is None or later[2] is not None)


def _output_fits(statement: Statement) -> bool:
    output = statement.output
    if output is None:
        return True
    places = (output.x, output.y) if output.x is not None and output.y is not None else ()
    names = [file.name for file in output.files]
    return (
        (output.x is None) == (output.y is None)
        and (set(output.columns) == set(places) if places else len(output.columns) == 1)
        and len(set(names)) == len(names)
    )


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
    (
        lambda it: {question.sensitivity for question in it.questions} == {it.guarantee.points_per_unit},
        "The sensitivity of a question does not fit the protected unit.",
    ),
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
