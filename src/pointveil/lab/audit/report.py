"""Tell what an audit showed: as a table, as text for the docs, and as a picture."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pointveil.demo.pictures import new_figure
from pointveil.lab.audit.auditor import Finding
from pointveil.lab.audit.evidence import CONFIDENCE


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    subject: str  # what was audited
    claim: float  # the epsilon that it claims
    bound: float  # the largest epsilon that was refuted, with 95 % confidence over all cases together
    case: str  # where
    rule: str  # what was guessed from
    cases: int  # how many were tried
    trials: int  # of all cases together
    flagged: bool  # whether the claim was refuted


def summarize(findings: Sequence[Finding]) -> Row:
    """Return the line for all findings about one subject."""
    flagged = [finding for finding in findings if finding.flagged]
    told = flagged or findings
    confidence = 1 - (1 - CONFIDENCE) / len(told)  # so that the largest bound holds with 95 % for all together
    found = max(told, key=lambda finding: finding.evidence.bound(confidence))
    bound = found.evidence.bound(confidence)
    trials = sum(finding.evidence.trials for finding in findings)
    return Row(found.subject, found.claim, bound, found.case, found.evidence.rule, len(findings), trials, bool(flagged))


def to_markdown(rows: Sequence[Row]) -> str:
    """Return the table for the docs."""
    head = "| what | claimed ε | refuted ε (95 %) | by | looking at | cases | trials | verdict |"
    lines = [head, "| --- | --: | --: | --- | --- | --: | --: | --- |"]
    for row in rows:
        verdict = "**refuted**" if row.flagged else "stands"
        lines.append(
            f"| {row.subject} | {row.claim:g} | {row.bound:.2f} | {row.case} | {row.rule} "
            f"| {row.cases} | {row.trials:,} | {verdict} |"
        )
    return "\n".join(lines) + "\n"


def draw_picture(path: Path, rows: Mapping[str, Sequence[Row]]) -> None:
    """Draw the refuted epsilon of every subject beside its claim."""
    every = [row for group in rows.values() for row in group]
    figure = new_figure(figsize=(8, 1 + 0.28 * len(every)), layout="constrained")
    axes = figure.subplots()
    colours = ["#b2182b" if row.flagged else "#2166ac" for row in every]
    axes.barh(range(len(every)), [row.bound / row.claim for row in every], color=colours)
    axes.set_yticks(range(len(every)), [row.subject for row in every])
    axes.margins(y=0.01)
    axes.invert_yaxis()
    axes.axvline(1.0, color="black", linewidth=1)
    axes.set_xlabel("largest ε that was refuted (95 %), for each unit of ε claimed; red: claim refuted")
    figure.savefig(path, dpi=120)
