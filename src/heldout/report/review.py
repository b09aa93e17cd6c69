"""How a review reads: what fired on a screen, every rule in full, and the section of findings on a page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from heldout.arguments import capitalize, write_sentence
from heldout.findings.review import RULE_CATALOGUE
from heldout.predictions.source import Source
from heldout.result import Form
from heldout.review import Finding, Review
from heldout.show.blocks import Block, Cell, Column, Note, Prose, Section, Table

# More findings than this push everything else off the screen.
SHOWN = 6
EXPLAIN = "heldout explain CODE"


def render_review(review: Review, form: Form) -> list[Block]:
    """The counts and a line for each that fired, as many as fit a screen; in full every rule with its outcome."""
    if form == "full":
        return _every_rule(review)
    fired = review.fired
    left = len(fired) - SHOWN
    lines: list[Block] = [Prose(review.summary() + (f" ({EXPLAIN})" if fired else ""), label="Findings")]
    lines += [_note(finding) for finding in fired[:SHOWN]]
    lines += [Note(f"… and {left} more; --full shows them.")] if left > 0 else []
    return lines + _changed_limits(review)


def _every_rule(review: Review) -> list[Block]:
    fired = review.fired
    blocks: list[Block] = [Prose(review.summary(), label="Findings"), *map(_note, fired)]
    if fired:
        columns = (Column("code"), Column("to"), Column("reference", wrap=True))
        sources = [(f.code, "act on" if f.severity == "act" else "know", f.reference) for f in fired]
        blocks.append(Table(columns, tuple(sources), "Where the findings come from"))
    for outcome, caption, header in (
        ("passed", "Looked at, and nothing found", "what was seen"),
        ("not applicable", "Not applicable, because …", "because"),
    ):
        rows: list[tuple[Cell, ...]] = [(f.code, f.title) for f in review.findings if f.outcome == outcome]
        if rows:
            blocks.append(Table((Column("code"), Column(header, wrap=True)), tuple(rows), caption))
    if review.ignored:
        blocks.append(Note(f"Ignored: {', '.join(review.ignored)}."))
    return blocks + _changed_limits(review)


def _changed_limits(review: Review) -> list[Block]:
    """A line with the limits that were changed, if any were."""
    if not review.limits:
        return []
    changes = ", ".join(
        f"{code}.{name} = {value:g} instead of {_default(code, name):g}"
        for code, limits in review.limits.items()
        for name, value in limits.items()
    )
    return [Note(f"Limits changed: {changes}.")]


def _default(code: str, name: str) -> float:
    return next(limit.default for limit in RULE_CATALOGUE[code].limits if limit.name == name)


def _note(finding: Finding) -> Note:
    text = f"{finding.title} {finding.advice}".strip()
    return Note(text, "warning" if finding.severity == "act" else "note", finding.code)


def findings_section(review: Review) -> Section:
    """What a careful statistician would point out, the severe first."""
    blocks: list[Block] = [Prose(write_sentence(review.summary()))]
    blocks += [
        Note(_said(finding), "warning" if finding.severity == "act" else "note", finding.code)
        for finding in review.fired
    ]
    for outcome, title, column in (
        ("passed", "Passed", "what was seen"),
        ("not applicable", "Not applicable", "because"),
    ):
        listed = review.of(outcome)  # type: ignore[arg-type]
        if listed:
            rows = tuple((finding.code, finding.title) for finding in listed)
            table = Table((Column("rule"), Column(column, wrap=True)), rows)
            blocks.append(
                Section(f"{title}: {len(listed)}", (table,), f"findings-{outcome.replace(' ', '-')}", folded=True)
            )
    if review.ignored:
        blocks.append(Prose(f"Ignored: {', '.join(review.ignored)}."))
    return Section("Findings", tuple(blocks), "findings")


def count_fired(review: Review) -> str:
    """How many findings there are, in a line that leads to them: "Findings: 2 to act on · 1 to know"."""
    act = sum(finding.severity == "act" for finding in review.fired)
    counts = ((act, "to act on"), (len(review.fired) - act, "to know"))
    return f"Findings: {' · '.join(f'{number} {words}' for number, words in counts if number) or 'none'}"


def _said(finding: Finding) -> str:
    parts = [
        _sentence(finding.title),
        _sentence(capitalize(finding.advice)),
        f"[{finding.reference}]" if finding.reference else "",
    ]
    return " ".join(filter(None, parts))


def _sentence(text: str) -> str:
    text = text.strip()
    return text if not text or text[-1] in ".?!" else f"{text}."


# The rule that says of a column of this role that it was not used.
SAID_BY = {"fold": "H034"}


def keep_unsaid(notes: Sequence[str], source: Source, findings: Iterable[Finding]) -> list[str]:
    """The notes that none of these findings says.

    >>> read = Source("a.csv", unused=(("fold", "fold", "the column 'fold' was not used"),))
    >>> keep_unsaid(["the column 'fold' was not used", "rows were dropped"], read, ())
    ["the column 'fold' was not used", 'rows were dropped']
    """
    fired = {finding.code for finding in findings if finding.outcome == "fired"}
    repeated = {note for role, _, note in source.unused if SAID_BY.get(role) in fired}
    return [note for note in notes if note not in repeated]
