"""The report of a decision: the threshold or the ways of deciding, what they give, and what the alternatives give."""

from __future__ import annotations

import math

import numpy as np

from heldout.arguments import capitalize, write_sentence
from heldout.intervals.estimate import Estimate
from heldout.measures.catalogue import find
from heldout.report.evaluation_charts import draw_confusion
from heldout.report.interval_chart import Mark, estimate_cells, forest_chart, track_floor
from heldout.result import Form
from heldout.show.blocks import (
    Block,
    Cell,
    Column,
    Heat,
    Note,
    Number,
    Prose,
    Range,
    Section,
    Style,
    Table,
    Title,
    head_columns,
    head_interval,
    provenance_section,
)
from heldout.show.chart import Chart
from heldout.show.numbers import UNDEFINED, count, in_brackets, number, percent, plain
from heldout.thresholds.classes import CostOfDecision
from heldout.thresholds.decision import ThresholdDecision, knowing_of_the_choice
from heldout.thresholds.decision_warnings import titled

SHOWN = ("recall", "specificity", "precision", "negative_predictive_value", "f1", "accuracy", "matthews")


def render_decision(decision: ThresholdDecision, form: Form) -> list[Block]:
    """The answer on a screen or as a page."""
    return decision_page(decision) if form == "page" else decision_blocks(decision)


def decision_blocks(decision: ThresholdDecision) -> list[Block]:
    """The answer, from top to bottom."""
    blocks: list[Block] = [
        Title(_answer(decision), _cases(decision)),
        *([Prose(decision.columns, label="Read")] if decision.columns else []),
        Prose(f"Chosen for {decision.rule}.", label="Rule"),
        Prose(_verdict(decision), label="Verdict"),
        _measures(decision),
        _matrix(decision),
        _alternatives(decision),
    ]
    blocks += [Note(warning, "warning") for warning in decision.warnings]
    blocks += [Note(write_sentence(note)) for note in decision.notes if note]
    return blocks


def _answer(decision: ThresholdDecision) -> str:
    if math.isinf(decision.threshold):
        return f'Never predict "{decision.positive}"'
    return f'Answer "{decision.positive}" when score >= {decision.threshold:.6g}'


def _cases(decision: ThresholdDecision) -> str:
    confusion = decision.confusion
    share = float(confusion.truth_totals[1] / confusion.n)
    parts = [f"{count(confusion.n_cases)} cases"]
    if confusion.weighted:
        parts.append(f"weight {count(confusion.n)}")
    if confusion.clusters is not None:
        parts.append(f"{count(confusion.clusters.number)} groups")
    parts.append(f'"{decision.positive}": {percent(share)} of them')
    low, high = f"{decision.above:.6g}", f"{decision.threshold:.6g}"
    if math.isfinite(decision.above) and math.isfinite(decision.threshold) and low != high:
        parts.append(f"thresholds above {low}, up to {high}, predict the same")
    return " · ".join(parts)


def _verdict(decision: ThresholdDecision) -> str:
    chosen = decision.criterion
    title = titled(chosen)
    where = "on these cases" if decision.prevalence is None else f"where {percent(decision.prevalence)} are positive"
    sentences = [f"{capitalize(title)} is {_figure(chosen)} {where}"]
    others = [
        f"{number(other.estimate.value, other.estimate.style)} for {other.name}"
        for other in decision.alternatives
        if other.meets and not math.isnan(other.estimate.value) and not other.name.startswith("if")
    ]
    if others:
        sentences[0] += f", against {', '.join(others[:-1])}{' and ' * (len(others) > 1)}{others[-1]}"
    text = sentences[0] + "."
    if decision.honest is not None:
        honest = decision.honest
        text += f" Judged on cases that had no part in the choice it is {_figure(honest.estimate)}."
        for estimate in honest.required:
            text += f" There {titled(estimate)} is {_figure(estimate)}."
    elif decision.optimism > 0:
        text += f" On new cases expect about {number(decision.corrected, chosen.style)}."
    return text


def _figure(estimate: Estimate) -> str:
    value = number(estimate.value, estimate.style, estimate.digits)
    return f"{value} {in_brackets(estimate.low, estimate.high, estimate.style, estimate.digits)}"


def _measures(decision: ThresholdDecision) -> Table:
    columns = head_columns("measure", ">value", head_interval(decision.level), "")
    interval = decision.interval
    rows: list[tuple[Cell, ...]] = [
        ("threshold", _threshold(interval.value), f"{_threshold(interval.low)} – {_threshold(interval.high)}", None),
    ]
    priced = () if decision.figures.costs is None else ("expected_cost", "total_cost")
    costs = [decision[name] for name in priced if decision.prevalence is None or not find(name).measure.total]
    # The optimised and required measures come first, with intervals that allow for the choice.
    shown = [decision.criterion, *decision.required, *costs, *(decision[name] for name in SHOWN)]
    distinct: dict[object, Estimate] = {}
    for e in (knowing_of_the_choice(e, decision) for e in shown):
        distinct.setdefault((e.measure, e.class_, e.average), e)
    floor = track_floor(distinct.values())
    rows += [(titled(e).removeprefix("the "), *estimate_cells(e, floor)) for e in distinct.values()]
    return Table(columns, tuple(rows))


def _threshold(value: float) -> str:
    return f"{value:.6g}".replace("inf", "∞")


def _matrix(decision: ThresholdDecision) -> Table:
    matrix = decision.confusion.matrix[::-1, ::-1]
    totals = np.maximum(matrix.sum(axis=1), 1e-300)
    names = [str(label) for label in (decision.positive, decision.negative)]
    columns = (Column("truth ↓  predicted →"), *(Column(name, "right") for name in names))
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (names[i], *(Heat(float(cell), float(cell / totals[i])) for cell in matrix[i])) for i in range(len(names))
    )
    return Table(columns, rows)


def _alternatives(decision: ThresholdDecision) -> Table:
    chosen = decision.criterion
    title = titled(chosen).removeprefix("the ")
    columns = [
        *head_columns(
            "instead", ">threshold", Column(title, "right"), head_interval(decision.level), ">than the choice"
        )
    ]
    required = bool(decision.requirements)
    if required:
        columns.append(Column("required"))
    rows: list[tuple[Cell, ...]] = []
    sign = 1.0 if decision.lower else -1.0
    for other in decision.alternatives:
        e = other.estimate
        threshold = _threshold(other.threshold)
        worse = _worse(sign * (e.value - chosen.value), e.style)
        cells = (other.name, threshold, Number(e.value, e.style), Range(e.low, e.high, e.style), worse)
        rows.append((*cells, "met" if other.meets else "not met") if required else cells)
    return Table(tuple(columns), tuple(rows))


def draw_alternatives(decision: ThresholdDecision) -> Chart:
    """What was optimised at the chosen threshold, on cases that had no part in the choice, and at other thresholds."""
    named_estimates = [(f"chosen: {_threshold(decision.threshold)}", decision.criterion)]
    named_estimates += [] if decision.honest is None else [("chosen on other cases", decision.honest.estimate)]
    named_estimates += [
        (f"{other.name}: {_threshold(other.threshold)}", other.estimate) for other in decision.alternatives
    ]
    marks = [Mark(name, e.value, e.low, e.high) for name, e in named_estimates]
    title = titled(decision.criterion).removeprefix("the ")
    level = f"Bars: {100 * decision.level:g} % intervals."
    return forest_chart(marks, f"{capitalize(title)} at each threshold", title, detail=level)


def draw_matrix(decision: ThresholdDecision) -> Chart:
    """The confusion matrix at the chosen threshold."""
    return draw_confusion(decision.confusion, first=1)


def _worse(by: float, style: Style) -> str:
    """How far it is behind the choice; what misses a requirement may be ahead of it."""
    if math.isnan(by):
        return UNDEFINED
    return "the same" if not by else f"{'worse' if by > 0 else 'better'} by {number(abs(by), style)}"


GIVEN = (
    "These intervals are as if the threshold had been given. That of what was optimised stands above, and reaches "
    "further by the optimism of the choice."
)


def decision_page(decision: ThresholdDecision) -> list[Block]:
    """What the screen says, and all measures at the threshold."""
    floor = track_floor(decision.estimates)
    rows: list[tuple[Cell, ...]] = [
        (
            find(e.measure).title + (f" ({e.class_})" if e.class_ is not None else ""),
            *estimate_cells(e, floor),
            e.method,
        )
        for e in decision.estimates
    ]
    columns = head_columns("measure", ">value", head_interval(decision.level), "", "method")
    facts = (
        ("cases", count(decision.n)),
        ("optimised", decision.by),
        ("level", f"{decision.level:g}"),
        ("seed", str(decision.figures.seed)),
        ("replicates", count(decision.figures.replicates)),
    )
    return [
        *decision_blocks(decision),
        Section("Every measure at the threshold", (Prose(GIVEN), Table(columns, tuple(rows))), "everything"),
        provenance_section(facts),
    ]


def render_cost_of_decision(answer: CostOfDecision, form: Form) -> list[Block]:  # noqa: ARG001 - one form fits all
    """The two ways of deciding among several classes, side by side."""
    columns = head_columns("prediction", ">expected", ">realised", head_interval(answer.saved.level))
    names = ("the class of least expected cost", "the likeliest class")
    rows = tuple(
        (name, Number(expected, "plain"), Number(e.value, "plain"), Range(e.low, e.high, "plain"))
        for name, expected, e in zip(names, answer.expected, answer.realised, strict=True)
    )
    return [
        Title(f"{count(answer.n)} cases · cost of a case"),
        *([Prose(answer.columns, label="Read")] if answer.columns else []),
        Prose(_verdict_on_costs(answer), label="Verdict"),
        Table(columns, rows),
        *(Note(write_sentence(note), "warning") for note in answer.notes),
    ]


def _verdict_on_costs(answer: CostOfDecision) -> str:
    e = answer.saved
    share = f"The costs change the prediction for {100 * answer.changed:.3g} % of the cases"
    ends = in_brackets(e.low, e.high, "plain")
    if not answer.changed:
        return f"{share}: the likeliest class is the cheapest one everywhere."
    if e.low > 0:
        return f"{share} and save {plain(e.value)} a case {ends}."
    if e.high < 0:
        return f"{share} and cost {plain(-e.value)} a case more {in_brackets(-e.high, -e.low, 'plain')}."
    return f"{share}; whether that saves anything cannot be told from these cases: {plain(e.value)} a case {ends}."
