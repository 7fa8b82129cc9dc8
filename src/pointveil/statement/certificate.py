"""The statement as one printable page, for who must sign for a release and file it."""

import textwrap
from collections.abc import Mapping
from fractions import Fraction
from html import escape

from pointveil.statement.document import ONE_POINT, Statement, factor, raised
from pointveil.world.place import in_words

MOST_SIGNS, MOST_SAID = 400, 170  # of a list of names, of what the operator says: the page is to stay one
IN_FULL = " … (in full in the statement)"
STYLE = """
@page { size: A4; margin: 10mm }
body { font: 8.5pt/1.2 system-ui, "DejaVu Sans", sans-serif; color: #111; max-width: 190mm; margin: 0 auto }
h1 { font-size: 15pt; margin: 0 } h2 { font-size: 9.5pt; margin: 2.2mm 0 .6mm; border-bottom: .3mm solid #999 }
p { margin: 1mm 0 } .unit { font-size: 18pt; line-height: 1.1; font-weight: 700; margin: 2mm 0 }
table { border-collapse: collapse; width: 100% }
td { text-align: left; vertical-align: top; padding: .15mm 2mm .15mm 0 }
td:first-child { width: 42mm; color: #444 } .void { color: #b00; font-weight: 700 }
ul { margin: 0; padding-left: 4mm; font-size: 7.5pt } code { font-size: 8pt; overflow-wrap: anywhere }
.sign td { border-top: .3mm solid #111; width: 33%; padding-top: 1mm; color: #444 } .sign { margin-top: 8mm }
footer { font-size: 7.5pt; color: #555; margin-top: 2mm }
"""


def certificate(
    statement: Statement,
    *,
    checks: tuple[str, ...],
    caveats: tuple[str, ...] = (),
    sums: Mapping[str, Fraction] | None = None,
    dataset: str | None = None,
    cap: Fraction | None = None,
    left_out: tuple[str, ...] = (),
) -> str:
    """Return one page of HTML that needs nothing else.

    `checks` and `caveats` are what was verified and what that leaves open. `sums`, by protected unit, is what was spent
    under the name `dataset` so far, if the ledger was at hand, and `cap` the most that may be: under this name only,
    never by content. From there come the names of the columns that were left out, too; no statement publishes them.
    """
    guarantee = statement.guarantee
    epsilon = float(Fraction(guarantee.epsilon))
    one = "point" if guarantee.unit == ONE_POINT else "person"
    files = [] if statement.output is None else [file.name for file in statement.output.files]
    states = statement.operator_states
    said = {} if states is None else {name: text for name, text in states.model_dump().items() if text}
    if statement.prior is not None:
        said["prior"] = f"{statement.prior.name}, which guided the release, is public ({statement.prior.file_sha256})"
    sections = {
        "The operator states": _table(
            {name: said.get(name, "not said") for name in ("owner", "purpose", "period")}
            | {name: textwrap.shorten(text, MOST_SAID, placeholder=IN_FULL) for name, text in said.items()}
        ),
        "What epsilon means": _meaning(epsilon, one),
        "What was left out": _table(_left_out(statement, left_out)),
        "Spent so far under this name": _table(_sums(statement, sums, dataset, cap)),
        "What was verified": _list([*checks, *(f"Open: {caveat}" for caveat in caveats)]),
        "How to verify it yourself": _verify(statement, files),
        "What is not promised": _list(statement.not_promised),
    }
    void = f'<p class="void">{escape(statement.rehearsal)}: nothing of this holds</p>' if statement.rehearsal else ""
    many = (
        "<p><b>Not a person:</b> someone with k points in the data is protected only with k times epsilon.</p>"
        if one == "point"
        else ""
    )
    body = "".join(f"<h2>{title}</h2>{text}" for title, text in sections.items())
    about = f"{', '.join(files) or 'survey'}; made {statement.made} by Pointveil {statement.software['version']}"
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Privacy certificate</title>'
        f"<style>{STYLE}</style></head><body><h1>Privacy certificate</h1><p>{escape(about)}; release "
        f"<code>{statement.release}</code></p>{void}"
        f'<p class="unit">Protects {escape(guarantee.unit)}, with ε = {escape(guarantee.epsilon)}</p>{many}'
        f"<p>Pure differential privacy (δ = 0), central model; neighbours: {guarantee.adjacency}.</p>{body}"
        '<table class="sign"><tr><td>Name and office</td><td>Date</td><td>Signature</td></tr></table>'
        "<footer>Made from the statement of the release, and not a part of it: the statement is what counts. Singling "
        "out, linkability and inference (WP216): see Pointveil's page for privacy officers. "
        f"{escape(_attribution(statement))}</footer></body></html>\n"
    )


def _attribution(statement: Statement) -> str:
    """Return who is to be named where the map of the world is drawn."""
    named = statement.domain.attribution
    if named is None:
        return "Where the map of its world comes from was not recorded."
    return f"Map of its world: {named}{' (ODbL)' if 'OpenStreetMap' in named else ''}."


def _meaning(epsilon: float, one: str) -> str:
    beliefs = "".join(
        f"<tr><td>{before:.0%} before</td><td>at most {raised(before, epsilon):.1%}, at least "
        f"{raised(before, -epsilon):.1%}</td></tr>"
        for before in (0.01, 0.1, 0.5)
    )
    return (
        f"<p><b>Membership.</b> Somebody suspects that a certain {one} is in the data. Any study of the release "
        f"changes the odds by a factor of at most {factor(epsilon)}, whatever else they know:</p>"
        f"<table>{beliefs}</table><p><b>Whereabouts.</b> They know that the {one} is in the data, and ask in which of "
        f"two places: that is twice epsilon, a factor of {factor(2 * epsilon)}. 50% before can become at most "
        f"{raised(0.5, 2 * epsilon):.1%}.</p>"
    )


def _left_out(statement: Statement, names: tuple[str, ...]) -> dict[str, str]:
    output, most = statement.output, statement.guarantee.points_per_unit
    kept = "the coordinates" if output is None else ", ".join(output.columns)
    domain = statement.domain
    bounds = ", ".join(f"{side:.10g}" for side in domain.bounds)
    told = str(statement.people) if statement.people else f"all but {most} points, by chance"
    people = {} if statement.guarantee.unit == ONE_POINT else {"of each person": told}
    plain = "".join(sign if sign.isprintable() else "?" for sign in ", ".join(names))
    named = textwrap.shorten(plain, MOST_SIGNS, placeholder=f" … ({len(names):,} in all)")
    return {
        "columns": f"all but {kept}" + (f": {named}" if named else ""),
        "places": f"outside {bounds} ({domain.crs[:40]}), in water, or unreadable",
        "the map is": f"around {in_words(domain.bounds, domain.crs)}",
        **people,
    }


def _sums(
    statement: Statement, sums: Mapping[str, Fraction] | None, dataset: str | None, cap: Fraction | None
) -> dict[str, str]:
    entry = statement.ledger
    if entry is None:
        return {"ledger": "nothing was charged: nobody keeps account of other releases of the same data"}
    if sums is None:
        return {"with this release": f"epsilon {float(Fraction(entry.spent_after)):g} (entry {entry.entry})"}
    spent = sum(sums.values(), Fraction(0))
    total = {"in all": f"epsilon {float(spent):g}"} if len(sums) > 1 else {}
    left = {} if cap is None else {"cap": f"epsilon {float(cap):g}; {float(max(cap - spent, Fraction(0))):g} is left"}
    by_unit = {unit: f"epsilon {float(amount):g}" for unit, amount in sums.items()}
    return {"name": dataset or ""} | by_unit | total | left


def _verify(statement: Statement, files: list[str]) -> str:
    signature = statement.signature
    key = "NOT SIGNED: who made it cannot be checked" if signature is None else f"Ed25519 key {signature.public_key}"
    named = files[0] if files else "RELEASE"
    given = "" if signature is None else f" --public-key {signature.public_key}"
    return f"<p>{escape(key)}</p><p><code>pointveil verify {escape(named)}{escape(given)}</code></p>"


def _table(rows: Mapping[str, str]) -> str:
    cells = "".join(f"<tr><td>{escape(name)}</td><td>{escape(text)}</td></tr>" for name, text in rows.items())
    return f"<table>{cells}</table>"


def _list(lines: tuple[str, ...] | list[str]) -> str:
    return f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in lines)}</ul>"
