"""How a chosen threshold reads: its screen, its page, and the warnings that go with it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from heldout.evidence.ranking import Ranking
from heldout.intervals.estimate import Estimate
from heldout.intervals.interval_axis import track_floor
from heldout.measures.catalogue import find
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
    Span,
    Style,
    Table,
    Title,
)
from heldout.show.numbers import UNDEFINED, count, limits, number, percent
from heldout.show.provenance import provenance_section
from heldout.thresholds.objective import CORNER
from heldout.thresholds.selection_rule import SelectionRule
from heldout.thresholds.uncertainty import Resampled

if TYPE_CHECKING:
    from heldout.thresholds.decision import Decision


# How a chosen threshold reads: the answer, what it gives, what the alternatives give, and the warnings.

SHOWN = ("recall", "specificity", "precision", "negative_predictive_value", "f1", "accuracy", "matthews")


def decision_blocks(decision: Decision) -> list[Block]:
    """The answer, from top to bottom."""
    blocks: list[Block] = [
        Title(_answer(decision), _cases(decision)),
        *([Prose(decision.columns)] if decision.columns else []),
        Prose(f"Chosen for {decision.rule}.", label="Rule"),
        Prose(_verdict(decision), label="Verdict"),
        _measures(decision),
        _matrix(decision),
        _alternatives(decision),
    ]
    blocks += [Note(warning, "warning") for warning in decision.warnings]
    blocks += [Note(f"{note[0].upper()}{note[1:].rstrip('.')}.") for note in decision.notes if note]
    return blocks


def _answer(decision: Decision) -> str:
    if math.isinf(decision.threshold):
        return f'Never answer "{decision.positive}"'
    return f'Answer "{decision.positive}" when score >= {decision.threshold:.6g}'


def _cases(decision: Decision) -> str:
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
        parts.append(f"the same answers from just above {low} to {high}")
    return " · ".join(parts)


def _verdict(decision: Decision) -> str:
    chosen = decision.criterion
    title = titled(chosen)
    sentences = [f"{title[0].upper()}{title[1:]} is {_figure(chosen)} on these cases"]
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


def titled(estimate: Estimate) -> str:
    """The name of an estimate in a sentence."""
    if estimate.measure == CORNER:
        return "the distance to the corner"
    if estimate.measure == "threshold":
        return "threshold"
    title = find(estimate.measure).title
    return f"{estimate.average} {title}" if estimate.average else title


def _figure(estimate: Estimate) -> str:
    value = number(estimate.value, estimate.style, estimate.digits)
    return f"{value} [{limits(estimate.low, estimate.high, estimate.style, estimate.digits)}]"


def _measures(decision: Decision) -> Table:
    columns = (Column("measure"), Column("value", "right"), Column(f"{100 * decision.level:g} % interval"), Column(""))
    interval = decision.interval
    rows: list[tuple[Cell, ...]] = [
        ("threshold", f"{interval.value:.6g}", f"{interval.low:.6g} – {interval.high:.6g}", None),
    ]
    priced = () if decision.figures.costs is None else ("expected_cost", "total_cost")
    costs = [decision[name] for name in priced if decision.prevalence is None or name == "expected_cost"]
    # What was optimised and required comes first, with the interval that knows of the choice.
    shown = [decision.criterion, *decision.required, *costs, *(decision[name] for name in SHOWN)]
    distinct: dict[object, Estimate] = {}
    for e in (knowing_of_the_choice(e, decision) for e in shown):
        distinct.setdefault((e.measure, e.class_, e.average), e)
    floor = track_floor(distinct.values())
    rows += [_line(e, floor) for e in distinct.values()]
    return Table(columns, tuple(rows))


def knowing_of_the_choice(estimate: Estimate, decision: Decision) -> Estimate:
    """An estimate with the interval of what was optimised, where it is that; a total cost is so many times the mean."""
    chosen = decision.criterion
    if (estimate.measure, estimate.class_, estimate.average) == (chosen.measure, chosen.class_, chosen.average):
        return chosen
    if {estimate.measure, chosen.measure} != {"expected_cost", "total_cost"}:
        return estimate
    n = float(decision.confusion.n)
    factor = n if estimate.measure == "total_cost" else 1 / n
    return replace(estimate, low=chosen.low * factor, high=chosen.high * factor, method=chosen.method, note="")


def _line(e: Estimate, floor: float) -> tuple[Cell, ...]:
    drawn = None if e.style != "share" or math.isnan(e.value) else Span(e.value, e.low, e.high, floor)
    return (
        titled(e).removeprefix("the "),
        Number(e.value, e.style, e.digits),
        Range(e.low, e.high, e.style, e.digits),
        drawn,
    )


def _matrix(decision: Decision) -> Table:
    matrix = decision.confusion.matrix[::-1, ::-1]
    totals = np.maximum(matrix.sum(axis=1), 1e-300)
    names = [str(label) for label in (decision.positive, decision.negative)]
    columns = (Column("truth ↓  predicted →"), *(Column(name, "right") for name in names))
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (names[i], *(Heat(float(cell), float(cell / totals[i])) for cell in matrix[i])) for i in range(len(names))
    )
    return Table(columns, rows)


def _alternatives(decision: Decision) -> Table:
    chosen = decision.criterion
    title = titled(chosen).removeprefix("the ")
    columns = [
        Column("instead"),
        Column("threshold", "right"),
        Column(title, "right"),
        Column(f"{100 * decision.level:g} % interval"),
        Column("than the choice", "right"),
    ]
    required = bool(decision.requirements)
    if required:
        columns.append(Column("required"))
    rows: list[tuple[Cell, ...]] = []
    sign = 1.0 if decision.lower else -1.0
    for other in decision.alternatives:
        e = other.estimate
        threshold = "∞" if other.threshold == math.inf else f"{other.threshold:.6g}"
        worse = _worse(sign * (e.value - chosen.value), e.style)
        cells = (other.name, threshold, Number(e.value, e.style), Range(e.low, e.high, e.style), worse)
        rows.append((*cells, "met" if other.meets else "not met") if required else cells)
    return Table(tuple(columns), tuple(rows))


def _worse(by: float, style: Style) -> str:
    """How far it is behind the choice; what misses a requirement may be ahead of it."""
    if math.isnan(by):
        return UNDEFINED
    return "the same" if not by else f"{'worse' if by > 0 else 'better'} by {number(abs(by), style)}"


# The page of a chosen threshold: the answer, every measure there, and how it was computed.

GIVEN = (
    "These intervals are as if the threshold had been given. That of what was optimised stands above, and reaches "
    "further by the optimism of the choice."
)


def decision_page(decision: Decision) -> list[Block]:
    """What the screen says, and all measures at the threshold."""
    floor = track_floor(decision.estimates)
    rows: list[tuple[Cell, ...]] = [
        (
            find(e.measure).title + (f" ({e.class_})" if e.class_ is not None else ""),
            Number(e.value, e.style, e.digits),
            Range(e.low, e.high, e.style, e.digits),
            None if e.style != "share" or math.isnan(e.value) else Span(e.value, e.low, e.high, floor),
            e.method,
        )
        for e in decision.estimates
    ]
    columns = (
        Column("measure"),
        Column("value", "right"),
        Column(f"{100 * decision.level:g} % interval"),
        Column(""),
        Column("method"),
    )
    facts = (
        ("cases", count(decision.n)),
        ("optimised", decision.by),
        ("level", f"{decision.level:g}"),
        ("seed", str(decision.figures.seed)),
        ("replicates", count(decision.figures.replicates)),
    )
    return [
        *decision.blocks(),
        Section("Every measure at the threshold", (Prose(GIVEN), Table(columns, tuple(rows))), "everything"),
        provenance_section(facts),
    ]


# The warnings that go with a chosen threshold: what a reader could otherwise take it for.


# With fewer errors of a kind than this the bootstrap hardly varies them, and intervals come out too narrow.
FEW_ERRORS = 5
# How rows that were counted are had after all.
GET_ROWS = "read the files with engine='memory' (--engine memory), or collect the frame"


def warnings_of(decision: Decision, rule: SelectionRule, drawn: Resampled, *, counted: bool = False) -> tuple[str, ...]:
    """Sentences that must stand with the decision; `counted` says that there are no rows to judge it on."""
    warnings = [_optimism(decision, counted=counted)]
    for requirement, estimate in zip(rule.requirements, decision.required, strict=True):
        far = estimate.low if requirement.sign[0] == ">" else estimate.high
        if not requirement.is_met(far):
            warnings.append(
                f"{requirement.text} holds on these cases ({number(estimate.value, estimate.style)}), but the interval "
                f"reaches {number(far, estimate.style)}: on new cases it may not hold."
            )
    if rule.requirements and drawn.unmet > 0:
        warnings.append(
            f"In {percent(drawn.unmet)} of the resampled sets of cases no threshold met the requirements; "
            "the interval of the threshold leaves them out."
        )
    warnings += _few(decision)
    if math.isinf(decision.threshold) or math.isinf(decision.above):
        answer = "no" if math.isinf(decision.threshold) else "yes"
        warnings.append(f"The best is to answer {answer} to every case: by this rule the scores are of no use here.")
    if decision.honest is not None and decision.honest.unmet:
        warnings.append(
            f"In {decision.honest.unmet} of {decision.honest.folds} folds no threshold met the requirements; "
            "the nearest one was taken."
        )
    return tuple(warnings)


def bins_note(ranking: Ranking) -> tuple[str, ...]:
    """What a choice among bins of scores is, where there were too many distinct scores to keep; nothing otherwise.

    >>> binned = Ranking(np.array([0.5, 0.0]), np.array([2, 1]), np.array([0, 3]), joined=np.array([True, True]),
    ...                  ends=np.array([1.0, 0.5]))
    >>> bins_note(binned)[0]
    'The scores were counted in 2 bins up to 0.5 wide. The counts at their edges are exact, and only edges were tried.'
    """
    tops = ranking.tops
    if tops is None or ranking.joined is None or not ranking.joined.any():
        return ()
    ends = np.where(np.isfinite(tops), tops, ranking.scores)
    wide = float((ends - ranking.scores)[ranking.joined].max())
    step = 10.0 ** (math.floor(math.log10(wide)) - 1) if wide else 1.0
    # Rounded up: no bin is wider than is said.
    counted = f"The scores were counted in {len(ranking):,} bins up to {math.ceil(wide / step) * step:.2g} wide."
    return (f"{counted} The counts at their edges are exact, and only edges were tried.",)


def _optimism(decision: Decision, *, counted: bool) -> str:
    start = "The threshold was chosen on these cases, so the figures at it are optimistic"
    if decision.honest is not None:
        return f"{start}; the figures judged by cross-fitting ({decision.honest.folds} folds) are not."
    if decision.optimism > 0:
        by = number(decision.optimism, decision.criterion.style)
        start += f" (by about {by} in {titled(decision.criterion)})"
    if counted:
        needs = "The honest figure (honest=True, --honest) needs the rows, and these were counted"
        return f"{start}. Judge it on other cases. {needs}: {GET_ROWS}."
    return f"{start}. Judge it on other cases, or ask for the honest figure (honest=True, --honest)."


def _few(decision: Decision) -> list[str]:
    cases = dict(zip(_cells(decision), decision.confusion.cases.tolist(), strict=True))
    missed, alarms = cases.get((1, 0), 0), cases.get((0, 1), 0)
    if math.isinf(decision.threshold) or math.isinf(decision.above):
        return []
    rare = [
        f"{errors} {name}{'s' * (errors != 1)}"
        for errors, name in ((missed, "missed positive"), (alarms, "false alarm"))
        if errors < FEW_ERRORS
    ]
    if not rare:
        return []
    return [f"There are only {' and '.join(rare)} at this threshold: its interval may be too narrow."]


def _cells(decision: Decision) -> list[tuple[int, int]]:
    confusion = decision.confusion
    return list(zip(confusion.truth.tolist(), confusion.predicted.tolist(), strict=True))
