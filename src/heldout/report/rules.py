"""The rules as a page: one line each, or one in full."""

from __future__ import annotations

from heldout.findings.catalogue import CATALOGUE, find_rule
from heldout.findings.rule import Rule
from heldout.show.blocks import Block, Column, Facts, Prose, Table, Title

SEVERITIES = {"act": "to act on", "know": "to know"}


def rules_blocks() -> list[Block]:
    """Every rule: code, what it is about, severity, title."""
    rows = tuple((rule.code, rule.about, SEVERITIES[rule.severity], rule.title) for rule in CATALOGUE.values())
    columns = (Column("code"), Column("about"), Column("severity"), Column("what it finds", wrap=True))
    return [
        Title("The rules"),
        Table(columns, rows),
        Prose("heldout explain CODE prints one in full; --mute CODE (in Python mute=) leaves one out."),
        Prose(
            "heldout evaluate --limit CODE.NAME=VALUE (in Python limits=) changes a limit of a rule about evaluations."
        ),
    ]


def rule_blocks(code: str) -> list[Block]:
    """Everything about one rule."""
    rule = find_rule(code)
    said = " ".join(filter(None, (rule.summary, rule.why)))
    return [Title(f"{rule.code}  {rule.title}"), Prose(said), Facts(entry(rule))]


def entry(rule: Rule) -> tuple[tuple[str, str], ...]:
    """The facts of a rule, in reading order."""
    return (
        ("about", f"every {rule.about}"),
        ("severity", SEVERITIES[rule.severity]),
        ("advice", rule.advice),
        *((f"limit {limit.name}", f"{limit.default:g} ({limit.source})") for limit in rule.limits),
        ("reference", rule.reference),
        ("mute", f"--mute {rule.code}, mute={rule.code!r}"),
    )
