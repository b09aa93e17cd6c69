"""The catalogues as pages: the measures and the rules, one line each or one entry in full."""

from __future__ import annotations

import math

from heldout.findings.review import RULE_CATALOGUE, find_rule
from heldout.findings.rule import Rule
from heldout.intervals.count_estimator import DEFAULTS
from heldout.intervals.score_methods import default_score_method
from heldout.measures.catalogue import CATALOGUE, COUNTED, find
from heldout.measures.declare import Measure
from heldout.show.blocks import Block, Column, Facts, Prose, Table, Title

# The catalogue of measures as a page: one line each, or one entry in full.

DIRECTIONS = {
    "higher": "higher is better",
    "lower": "lower is better",
    "zero": "nearer to zero is better",
    "none": "describes the cases; neither is better",
}


def catalogue_blocks() -> list[Block]:
    """Every measure: name, symbol, summary."""
    rows = tuple((m.name, m.symbol, m.summary) for m in CATALOGUE.values())
    columns = (Column("measure"), Column("symbol"), Column("what it is", wrap=True))
    return [
        Title("The measures"),
        Table(columns, rows),
        Prose("heldout measures NAME prints one in full. F-scores are written f1, f2, f0.5, or f_score(beta=3)."),
    ]


def measure_blocks(name: str) -> list[Block]:
    """Everything about one measure."""
    measure = find(name).measure
    return [Title(measure.title, measure.symbol), Prose(measure.summary), Facts(entry(measure))]


def entry(measure: Measure) -> tuple[tuple[str, str], ...]:
    """The facts of a measure, in reading order."""
    facts = [
        ("formula", measure.formula),
        ("range", f"{_end(measure.low)} to {_end(measure.high)}, {DIRECTIONS[measure.direction]}"),
        ("undefined", f"when {measure.undefined}"),
        ("of", _of(measure)),
        ("interval", DEFAULTS[measure.kind] if measure.name in COUNTED else default_score_method(measure)),
        ("also called", ", ".join(measure.aliases) or "-"),
        ("reference", measure.reference),
    ]
    if measure.parameters:
        settled = ", ".join(f"{key} = {value:g}" for key, value in measure.parameters.items())
        facts.insert(1, ("parameters", settled))
    return tuple(facts)


def _of(measure: Measure) -> str:
    if measure.scope == "ranking":
        return "the scores of the positive class, or of each class against the rest"
    if measure.scope in ("pairs", "probability"):
        return "one score per class" if measure.scope == "pairs" else "probabilities"
    parts = ["all cases"] if measure.scope == "table" or measure.overall else []
    if measure.per_class:
        parts.append("each class against the rest")
    if measure.averages:
        parts.append("macro, micro and weighted averages")
    return "; ".join(parts)


def _end(value: float) -> str:
    return ("-" if value < 0 else "") + "∞" if math.isinf(value) else f"{value:g}"


# The rules as a page: one line each, or one in full.

SEVERITIES = {"act": "to act on", "know": "to know"}


def rules_blocks() -> list[Block]:
    """Every rule: code, what it is about, severity, title."""
    rows = tuple((rule.code, rule.about, SEVERITIES[rule.severity], rule.title) for rule in RULE_CATALOGUE.values())
    columns = (Column("code"), Column("about"), Column("severity"), Column("what it finds", wrap=True))
    return [
        Title("The rules"),
        Table(columns, rows),
        Prose("heldout explain CODE prints one in full; --mute CODE (in Python mute=) leaves one out."),
        Prose(
            "heldout evaluate or check --limit CODE.NAME=VALUE (in Python limits=) changes a limit of a rule about "
            "evaluations."
        ),
    ]


def rule_blocks(code: str) -> list[Block]:
    """Everything about one rule."""
    rule = find_rule(code)
    said = " ".join(filter(None, (rule.summary, rule.why)))
    return [Title(f"{rule.code}  {rule.title}"), Prose(said), Facts(rule_entry(rule))]


def rule_entry(rule: Rule) -> tuple[tuple[str, str], ...]:
    """The facts of a rule, in reading order."""
    return (
        ("about", f"every {rule.about}"),
        ("severity", SEVERITIES[rule.severity]),
        ("advice", rule.advice),
        *((f"limit {limit.name}", f"{limit.default:g} ({limit.source})") for limit in rule.limits),
        ("reference", rule.reference),
        ("mute", f"--mute {rule.code}, mute={rule.code!r}"),
    )
