"""The catalogue of measures as a page: one line each, or one entry in full."""

from __future__ import annotations

import math

from heldout.estimates.interval import DEFAULTS
from heldout.estimates.score_methods import default_score_method
from heldout.measures.catalogue import CATALOGUE, COUNTED, find
from heldout.measures.declare import Measure
from heldout.show.blocks import Block, Column, Facts, Prose, Table, Title

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
