"""The verdict: what the numbers say, in words with the numbers in them."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from heldout.evidence import Confusion, Label
from heldout.findings.rules_imbalance import BEATEN, NOT_BEATEN, gain_over_commonest
from heldout.intervals.estimate import Estimate
from heldout.measures.catalogue import find
from heldout.results.evaluation import Evaluation
from heldout.show.escape import visible
from heldout.show.numbers import plain, share
from heldout.show.text_width import shorten

# Of a percentage; with these, limits differ for up to 1e12 cases.
MOST_DECIMALS = 4


def sentences(evaluation: Evaluation) -> list[str]:
    """The verdict, a sentence or two."""
    said = [against_constant(evaluation.confusion, evaluation.level, evaluation.independent)]
    positive = evaluation.positive
    if positive is not None:
        said.append(_describe_positive(evaluation, positive))
    elif evaluation.confusion.n_classes > 2:
        said.append(_weakest(evaluation))
    if evaluation.costs is not None:
        said += _describe_costs(evaluation.confusion, evaluation.costs)
    return [sentence for sentence in said if sentence]


def claims_of_verdict(evaluation: Evaluation) -> tuple[str, ...]:
    """What the verdict claims, of the answers to questions that findings answer too."""
    found = gain_over_commonest(evaluation.confusion, evaluation.level, evaluation.independent)
    return () if found is None or not found.claim else (found.claim,)


def against_constant(confusion: Confusion, level: float, independent: float = 1.0) -> str:
    """Whether it beats always answering the commonest class, and by how much.

    `independent` is the share of the cases that counts as independent, and 0 where there can be no interval.

    >>> against_constant(Confusion.of([[9990, 10], [90, 10]], ["c1", "c2"]), 0.95)
    'Better than always answering "c1" (accuracy .990)? Cannot be told from these cases: -.001 to .001.'
    """
    found = gain_over_commonest(confusion, level, independent)
    if found is None:
        return "There is one class only, so there is nothing to tell apart."
    start = f'Better than always answering "{_named(found.answer)}" (accuracy {share(found.constant)})?'
    low, high = found.low, found.high
    if not found.gained and not found.lost:
        return f"{start} No: it gets exactly the same cases right."
    if not found.known:
        return f"{start} The gap is {share(found.value)} on these cases (which allow no interval)."
    if found.claim == BEATEN:
        return f"{start} Yes, by {share(low)} to {share(high)}."
    if found.claim == NOT_BEATEN:
        return f"{start} No, worse by {share(-high)} to {share(-low)}."
    return f"{start} Cannot be told from these cases: {share(low)} to {share(high)}."


def _named(label: Label) -> str:
    return shorten(visible(str(label)), 40)


def _describe_positive(evaluation: Evaluation, positive: Label) -> str:
    recall, precision = evaluation.get("recall", class_=positive), evaluation.get("precision", class_=positive)
    name = _named(positive)
    found = (
        f'It finds {_percent(recall)} of the cases of "{name}"'
        if not math.isnan(recall.value)
        else f'There are no cases of "{name}" to find'
    )
    if math.isnan(precision.value):
        return f'{found}, and it never answers "{name}".'
    return f'{found}; {_percent(precision)} of its answers "{name}" are right.'


def _describe_costs(confusion: Confusion, costs: NDArray[np.float64]) -> list[str]:
    """What it costs beside the cheapest constant answer."""
    n = float(confusion.n)
    cost = float((confusion.counts * costs[confusion.truth, confusion.predicted]).sum())
    constant = np.asarray(confusion.truth_totals, dtype=np.float64) @ costs
    cheapest = int(constant.argmin())
    name = f'Always answering "{_named(confusion.labels[cheapest])}"'
    return [f"It costs {plain(cost / n)} a case. {name} would cost {plain(float(constant[cheapest]) / n)}."]


def _percent(estimate: Estimate) -> str:
    if math.isnan(estimate.low):
        return f"{_whole_percent(estimate.value)} %"
    # Whole percents, or as many decimals as tell the limits apart where there are very many cases.
    for digits in range(MOST_DECIMALS + 1):
        value, low, high = (_whole_percent(number, digits) for number in (estimate.value, estimate.low, estimate.high))
        if low != high or estimate.low == estimate.high:
            break
    return f"{value} % [{low}, {high}]"


def _whole_percent(value: float, digits: int = 0) -> str:
    digits = digits if 0.01 <= value <= 0.99 or value in (0.0, 1.0) else max(digits, 1)
    return f"{100 * value:.{digits}f}"


def _weakest(evaluation: Evaluation) -> str:
    confusion = evaluation.confusion
    if not any(e.measure == "recall" and e.class_ is not None for e in evaluation.estimates):
        return ""
    recalls = find("recall").of_classes(confusion.corners)
    if np.isnan(recalls).all():
        return ""
    # From the counts, not the estimates: of very many classes only the largest are listed.
    worst = evaluation.get("recall", class_=confusion.labels[int(np.nanargmin(recalls))])
    return (
        f'Weakest class: "{_named("" if worst.class_ is None else worst.class_)}", of which it finds {_percent(worst)}.'
        if worst.value < 1
        else f"All {confusion.n_classes:,} classes are found without a miss."
    )
