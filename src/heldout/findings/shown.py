"""The findings of a result on its page: what fired in full, what passed and what did not apply folded below."""

from __future__ import annotations

from heldout.findings.review import Review
from heldout.findings.rule import Finding
from heldout.show.blocks import Block, Column, Note, Prose, Section, Table


def findings_section(review: Review) -> Section:
    """What a careful statistician would point out, the severe first."""
    blocks: list[Block] = [Prose(f"{_capital(review.summary())}.")]
    blocks += [
        Note(_said(found), "warning" if found.severity == "act" else "note", found.code) for found in review.fired
    ]
    for outcome, title, column in (
        ("passed", "Passed", "what was seen"),
        ("not applicable", "Not applicable", "because"),
    ):
        held = review.of(outcome)  # type: ignore[arg-type]
        if held:
            rows = tuple((found.code, found.title) for found in held)
            table = Table((Column("rule"), Column(column, wrap=True)), rows)
            blocks.append(
                Section(f"{title}: {len(held)}", (table,), f"findings-{outcome.replace(' ', '-')}", folded=True)
            )
    if review.muted:
        blocks.append(Prose(f"Muted: {', '.join(review.muted)}."))
    return Section("Findings", tuple(blocks), "findings")


def _said(found: Finding) -> str:
    parts = [
        _sentence(found.title),
        _sentence(_capital(found.advice)),
        f"[{found.reference}]" if found.reference else "",
    ]
    return " ".join(filter(None, parts))


def _sentence(text: str) -> str:
    text = text.strip()
    return text if not text or text[-1] in ".?!" else f"{text}."


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"
