"""What is promised about a release, as a document that can be read, shown and checked."""

import hashlib
import json
import math
import re
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from pointveil.errors import shown
from pointveil.files.exact import stated_number
from pointveil.statement.margins import Margins
from pointveil.statement.signing import SigningKey, canonical, check_signed, signed_text

FIRST_SCHEMA: Final = "pointveil-statement-1"
SCHEMA: Final = "pointveil-statement-2"
ONE_POINT = "one point"
MOST_CELLS = 50_000_000  # of one question
# Fields that a statement has only if they say something.
IF_ANY = ("columns", "people", "prior", "operator_states", "margins", "signature")
PROMISES = (
    (
        "Whether {unit} is in the data changes the probability of any release, and of anything concluded from it, "
        "by a factor of at most {factor} (epsilon = {epsilon:g}). Where one that is known to be in the data was, here "
        "rather than there, changes it by a factor of at most {twice} (twice epsilon)."
    ),
    (  # without the second sentence, as it stood first
        "Whether {unit} is in the data changes the probability of any release, and of anything concluded from it, "
        "by a factor of at most {factor} (epsilon = {epsilon:g})."
    ),
    (  # not said well, but so it stands in statements of the first schema
        "Whether {unit} is in the data or not changes the odds of anything that can be concluded "
        "from this release by a factor of at most {factor} (epsilon = {epsilon:g})."
    ),
)


def _plain(text: str) -> str:
    """Refuse line breaks, escapes and signs without a shape: what a terminal would obey instead of showing."""
    if not text.isprintable():
        raise ValueError("a text has signs in it that cannot be shown")
    return text


def _amount(text: str) -> str:
    stated_number(text)
    return text


def _file_name(name: str) -> str:
    """Refuse what is more than a name: a way to another folder."""
    if Path(name).name != name or name == ".." or "\0" in name or "/" in name:
        raise ValueError("a file is not named by its name alone")
    return name


def _day(text: str) -> str:
    if date.fromisoformat(text).isoformat() != text:
        raise ValueError("a day is not written as in 2026-01-31")
    return text


def _fields(*, if_any: tuple[str, ...] = (), **patterns: str) -> AfterValidator:
    """Return a check that a dictionary has just these fields, each of this form; those in `if_any` may be missing."""

    def check(facts: dict[str, str]) -> dict[str, str]:
        if (
            set(patterns) - set(if_any) - set(facts)
            or set(facts) - set(patterns)
            or not all(re.fullmatch(patterns[name], facts[name]) for name in facts)
        ):
            raise ValueError("its fields are not as they should be")
        return facts

    return AfterValidator(check)


Software = Annotated[dict[str, str], _fields(name="pointveil", version=r"[0-9]{1,9}\.[0-9A-Za-z.+-]{1,60}")]
Randomness = Annotated[dict[str, str], _fields(source=".+", seeded="yes|no")]
Edition = Annotated[
    dict[str, str],
    _fields(
        method=r"\w+ [0-9]{1,9}, \w+ [0-9]{1,9}",
        **dict.fromkeys(("drawing", "land", "people"), "[1-9][0-9]{0,8}"),
        if_any=("people",),
    ),
]
Text = Annotated[str, Field(min_length=1, max_length=5000), AfterValidator(_plain)]
Name = Annotated[str, Field(max_length=60_000)]  # of a column: the user's own, so it may hold any sign
FileName = Annotated[str, Field(min_length=1, max_length=1000), AfterValidator(_file_name)]
Crs = Annotated[str, Field(max_length=60_000, pattern=r"^([A-Za-z0-9_]+:[A-Za-z0-9_.-]+|[A-Za-z0-9_]+\[(?s:.*)\])$")]
Amount = Annotated[str, AfterValidator(_amount)]
Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Place = Annotated[float, Field(ge=-1e12, le=1e12)]
Number = Annotated[int, Field(ge=0, lt=2**63)]
Positive = Annotated[int, Field(ge=1, lt=2**63)]
STRICT = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, populate_by_name=True)


class Part(BaseModel):
    """A part of the statement: no unknown fields, no change after it is made."""

    model_config = STRICT


class Guarantee(Part):
    """The promise itself."""

    definition: Literal["pure differential privacy", "none: a rehearsal"] = "pure differential privacy"
    epsilon: Amount
    delta: Literal["0"] = "0"
    adjacency: Literal["add or remove one unit"] = "add or remove one unit"
    unit: Text
    points_per_unit: Positive
    model: Literal["central"] = "central"


class Domain(Part):
    """The public knowledge that was used."""

    crs: Crs
    bounds: tuple[Place, Place, Place, Place]
    lattice: Annotated[float, Field(gt=0, le=1e6)]
    world_sha256: Sha256
    roads: bool
    attribution: Text | None = None  # who is to be named where the world is drawn, if that is known
    origin: Literal["given by the user, not taken from the data"] = "given by the user, not taken from the data"


class MethodUsed(Part):
    """How the points were made."""

    name: Text
    parameters: dict[str, Any]
    split: dict[Text, Amount]


Asked = Literal["count", "crowding", "scatter", "persons"]


class Question(Part):
    """One noisy answer that was paid for."""

    purpose: Text
    question: Asked
    theorem: Text
    cells: Annotated[int, Field(ge=1, le=MOST_CELLS)]
    sensitivity: Positive
    epsilon: Amount
    sampler: Text
    reads: Literal["private"] = "private"


class People(Part):
    """What a row of a release by person stands for; all of it follows from the noisy answers."""

    persons: Positive  # about how many there are
    persons_margin: Positive  # in nine cases of ten it is off by no more
    max_points: Positive  # a person with more points counts as so many
    max_points_from: Literal[
        "the noisy numbers of points", "the operator", "a public default: there are too few persons to choose it"
    ]
    full_persons: Positive  # the map is as sure as if so many persons counted in full, and nobody else
    votes_per_point: Positive  # counts are of votes; so many make a point
    points: Positive  # about how many there are, as far as persons have at most `most_seen`
    points_margin: Positive | None  # in nine cases of ten it is off by no more; None if it was not asked
    most_seen: Positive  # the most points that so many persons have as stand out from noise
    row: Text

    @property
    def estimate(self) -> str:
        """How many points noisy answers tell, in words."""
        if self.points_margin is None:
            return f"at most {self.points:,} points, {self.max_points} for each"
        told = f"{self.points:,} ± {self.points_margin:,} points of those who have up to {self.most_seen:,}"
        return f"{told} (points of persons with more are not in this number, and may be many)"

    def __str__(self) -> str:
        return f"There seem to be {self.persons:,} ± {self.persons_margin:,} persons, with {self.estimate}. {self.row}"


ROW = (
    "One row stands for one point, as far as their number is known. Whoever has more than {points} counts as {points}, "
    "which all of that person's points share: busy persons weigh less than their number of points."
)


class LedgerEntry(Part):
    """Where the charge stands in the owner's ledger."""

    entry: Positive
    chain_sha256: Sha256
    spent_before: Amount
    spent_after: Amount


class PriorUsed(Part):
    """What was already public and guided the release: that it is public no program can know."""

    name: FileName
    kind: Literal["earlier release", "earlier survey", "public points"]
    release: Annotated[str, Field(pattern="^[0-9a-f]{32}$")] | None = None  # the earlier one
    file_sha256: Sha256
    used_sha256: Sha256  # of what the survey holds of it
    operator_states: Literal["that it is public"] = "that it is public"


class OperatorStates(Part):
    """What the operator says about a release, and no program can know."""

    owner: Text | None = None
    purpose: Text | None = None
    period: Text | None = None
    note: Text | None = None


class Recorded(Part):
    """The survey that the points are drawn from; the world's digest stands in the domain."""

    answers_sha256: Sha256
    method_sha256: Sha256
    layout_sha256: Sha256
    columns_sha256: Sha256 | None = None  # of the kept columns as declared, if there are any
    prior_sha256: Sha256 | None = None  # of what is said of the prior, if there is one


class OutputFile(Part):
    """One file of the release."""

    name: FileName
    sha256: Sha256
    bytes: Number


class Output(Part):
    """What was written; the hash of the points is over whole lattice steps, `steps_per_unit` to a unit of the CRS.

    The hash of the codes is over what the kept columns say, by the declarations of the statement.
    """

    rows: Number
    columns: tuple[Name, ...]
    x: Name | None
    y: Name | None
    crs: Crs
    steps_per_unit: Annotated[int, Field(ge=1, le=10**9)] | None = None
    points_sha256: Sha256
    codes_sha256: Sha256 | None = None
    files: tuple[OutputFile, ...] = ()

    @property
    def places(self) -> tuple[str, str] | None:
        """The columns of x and y; none where a point is one geometry."""
        return None if self.x is None or self.y is None else (self.x, self.y)


class Signature(Part):
    """Who signed the statement."""

    algorithm: Literal["Ed25519"] = "Ed25519"
    public_key: Text
    value: Text


class Statement(Part):
    """Everything a reviewer needs to know about one release; nothing in it tells about a person.

    Attributes
    ----------
    guarantee, questions
        Epsilon, as an exact text such as "1/3", with the protected unit; and what each answer cost of it.
    domain, columns, prior
        The public world: CRS, bounds in its units, and a SHA-256; the kept columns as they were declared; and what was
        already public and guided it.
    method, output
        How the points were made, and what was written; None before that.
    in_plain_words, not_promised
        The promise in one sentence, and its limits.
    rehearsal
        Set when the noise could be repeated, so that nothing is private.

    Examples
    --------
    >>> vault = pv.Vault.open("people.parquet", pv.World.read("helsinki.gpkg"), epsilon=1)
    >>> pv.survey(vault, "ugrid-uni").statement
    <Statement: epsilon 1, protects one point; ugrid-uni, 2 questions>
    """

    schema_name: Literal["pointveil-statement-1", "pointveil-statement-2"] = Field(default=SCHEMA, alias="schema")
    release: Annotated[str, Field(pattern="^[0-9a-f]{32}$")]
    made: Annotated[str, AfterValidator(_day)]
    software: Software
    rehearsal: Text | None
    guarantee: Guarantee
    domain: Domain
    columns: tuple[dict[str, Any], ...] = ()
    people: People | None = None
    prior: PriorUsed | None = None
    method: MethodUsed | None
    edition: Edition | None = None
    survey: Recorded | None = None
    questions: tuple[Question, ...]
    post_processing: tuple[Text, ...]
    unprotected: tuple[Text, ...] = ()
    randomness: Randomness
    numerics: Text
    ledger: LedgerEntry | None
    not_promised: tuple[Text, ...]
    in_plain_words: Text
    operator_states: OperatorStates | None = None
    margins: Margins | None = None
    output: Output | None = None
    signature: Signature | None = None

    def to_json(self) -> str:
        """Return the canonical text, with its own digest as the last field."""
        content = self._content()
        content["digest"] = digest_of(content)
        return json.dumps(content, indent=2, ensure_ascii=False) + "\n"

    def with_output(self, output: Output) -> "Statement":
        """Return the same statement, not signed yet, about a release that has been written."""
        return self.model_copy(update={"output": output, "signature": None})

    def signed(self, key: SigningKey | None) -> "Statement":
        """Return the same statement with a signature; without a key, as it is."""
        if key is None:
            return self
        value = key.sign(signed_text(self._content()))
        return self.model_copy(update={"signature": Signature(public_key=key.public, value=value)})

    def check_signature(self, public_key: str | None = None) -> None:
        """Raise VerificationError unless the statement was signed: by this key, or by the one it names itself."""
        check_signed(self._content(), public_key)

    def _content(self) -> dict[str, Any]:
        """Return the fields of this schema; of those in `IF_ANY`, only the ones that were filled in."""
        content = self.model_dump(mode="json", by_alias=True)
        for name in IF_ANY:
            if not content[name]:
                del content[name]
        if not self.columns:  # as before columns could be kept
            (content["survey"] or {}).pop("columns_sha256", None)
            (content["output"] or {}).pop("codes_sha256", None)
        if self.prior is None:
            (content["survey"] or {}).pop("prior_sha256", None)
        if self.domain.attribution is None:
            del content["domain"]["attribution"]
        if self.schema_name == FIRST_SCHEMA:
            del content["edition"], content["survey"]
            (content["output"] or {}).pop("steps_per_unit", None)
        return content

    @property
    def in_short(self) -> str:
        """Epsilon and the protected unit, for one line of text."""
        return f"epsilon {self.guarantee.epsilon}, {self.rehearsal or f'protects {self.guarantee.unit}'}"

    @property
    def promise(self) -> str:
        """What epsilon means for one unit, in today's words; of a rehearsal, what it says of itself."""
        return self.in_plain_words if self.rehearsal else plain_words(self.guarantee.epsilon, self.guarantee.unit)

    def __repr__(self) -> str:
        used = "no method yet" if self.method is None else self.method.name
        return f"<Statement: {self.in_short}; {used}, {len(self.questions)} questions>"

    def __str__(self) -> str:
        lines = [
            self.promise,
            "Epsilon was spent on:",
            *(_spent(question.epsilon, question.purpose) for question in self.questions),
            _spent(self.guarantee.epsilon, "in all"),
            *([] if self.people is None else [str(self.people)]),
        ]
        if self.prior is not None:
            name = shown(self.prior.name).replace("\n", "\\n")
            lines.append(f"Guided by {name}: the operator states that it is public.")
        if self.rehearsal:
            lines.insert(0, f"*** {self.rehearsal.upper()} ***")
        elif self.ledger is None:
            lines.append("Nothing was charged to a ledger.")
        return "\n".join(lines)


def _spent(epsilon: str, purpose: str) -> str:
    """Return a line with an amount as people read it, and its exact value where that is another."""
    rounded = f"{float(Fraction(epsilon)):.3g}"
    exact = "" if Fraction(rounded) == Fraction(epsilon) else f" (exactly {epsilon})"
    return f"  {rounded:>8}  {purpose}{exact}"


def person_unit(points: int | None) -> str:
    """Return the protected unit, in words, where it is a person who counts as at most so many points."""
    most = "no more of them than noisy answers will tell" if points is None else f"at most {points} of them"
    return f"any one person with all their points (counted as {most})"


def digest_of(content: dict[str, Any]) -> str:
    """Return the hash of facts, whatever their order."""
    return hashlib.sha256(canonical(content)).hexdigest()


def statement_schema() -> dict[str, Any]:
    """Return the JSON Schema of a statement as it stands in a file."""
    schema = Statement.model_json_schema(by_alias=True, mode="serialization")
    schema["description"] = schema["description"].splitlines()[0]  # the rest is for users of Python
    schema["properties"]["schema"] = {"const": SCHEMA, "type": "string"}
    schema["properties"]["signature"] = {"$ref": "#/$defs/Signature"}
    schema["properties"]["prior"] = {"$ref": "#/$defs/PriorUsed"}
    schema["properties"]["operator_states"] = {"$ref": "#/$defs/OperatorStates"}
    schema["properties"]["digest"] = {
        "type": "string",
        "pattern": "^[0-9a-f]{64}$",
        "description": "SHA-256 of all other fields, as JSON with sorted keys and no spaces.",
    }
    schema["required"] = [name for name in schema["properties"] if name not in IF_ANY]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "Pointveil statement"}


def explain(statement: Statement) -> str:
    """Return what the promise means for one person, in several sentences for people who never heard of epsilon."""
    epsilon = float(Fraction(statement.guarantee.epsilon))
    unit = statement.guarantee.unit
    what = "point" if unit == ONE_POINT else "person"
    lines = [
        statement.promise,
        "",
        f"Protected is: {unit}.",
        f"Suppose somebody suspects that a certain {what} is in the data, and thinks the chances are",
        *(
            f"  {before:>4.0%}: however long they study this release, at most {raised(before, epsilon):.1%}, "
            f"and at least {raised(before, -epsilon):.1%}."
            for before in (0.01, 0.1, 0.5)
        ),
        f"Suppose they know that the {what} is in the data, and ask in which of two places. That is twice the step:",
        f"  50%: at most {raised(0.5, 2 * epsilon):.1%}, and at least {raised(0.5, -2 * epsilon):.1%}.",
        "This holds whatever else they know, now or later, and however they compute.",
    ]
    if statement.guarantee.unit == ONE_POINT:
        of_ten = raised(0.5, 10 * epsilon)
        lines.append(
            "It holds for each point by itself. Somebody with ten points in the data is protected less: then 50% may "
            f"become {f'{of_ten:.1%}' if of_ten < 0.999 else 'more than 99.9%'}. "
            "A release made with a person column protects people."
        )
    lines += ["", "Not promised:", *(f"  - {limit}" for limit in statement.not_promised)]
    if statement.rehearsal:
        lines.insert(0, f"*** {statement.rehearsal.upper()}: nothing of this holds ***")
    return "\n".join(lines)


def raised(chance: float, epsilon: float) -> float:
    """Return what a chance may become when its odds change by a factor of e^epsilon."""
    odds = chance / (1 - chance) * math.exp(min(epsilon, 500.0))
    return odds / (1 + odds)


def plain_words(epsilon: Fraction | str, unit: str, words: str = PROMISES[0]) -> str:
    """Return what epsilon means for one unit, in a sentence."""
    exact = Fraction(epsilon)
    return words.format(unit=unit, factor=factor(exact), twice=factor(2 * exact), epsilon=float(exact))


def factor(epsilon: Fraction | float) -> str:
    """Return e^epsilon, in short."""
    most = math.exp(epsilon)
    return f"{most:.3g}" if most < 1000 else f"{most:.1e}"
