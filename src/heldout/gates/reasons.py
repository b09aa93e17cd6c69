"""Why a requirement came out as it did, in a sentence with the numbers in it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from heldout.intervals.estimate import Estimate
from heldout.results.difference import PairTest
from heldout.show.blocks import Style
from heldout.show.escape import visible
from heldout.show.numbers import count, limits, number
from heldout.show.text_width import shorten
from heldout.thresholds.requirement import SAME, Written

# What is said of values that meet a sign, and of values that miss it.
MEETS = {">=": "at least", ">": "above", "<=": "at most", "<": "below"}
MISSES = {">=": "below", ">": "at or below", "<=": "above", "<": "at or above"}
MOST_DIGITS = 7
LONGEST_NAME = 60


def why_value(written: Written, estimate: Estimate, outcome: str, needed: int | None) -> str:
    """Why a requirement on a value came out so.

    >>> from heldout.thresholds.requirement import read_written
    >>> seen = Estimate("recall", "spam", None, 0.85, 0.78, 0.9, 0.95, "wilson", 120)
    >>> why_value(read_written("recall >= 0.8"), seen, "undecided", 391).partition(": ")[0]
    'recall[spam] .850 meets it, but its 95 % interval [.780 – .900] also holds values below 0.8'
    """
    name = brief(estimate.name)
    if math.isnan(estimate.value):
        return f"{name} has no value, because {estimate.undefined or 'it is undefined here'}."
    digits = enough_digits(written.limit, (estimate.value, estimate.low, estimate.high), estimate.style)
    value = number(estimate.value, estimate.style, digits)
    start = f"{name} {value}"
    met = "meets" if written.is_met(estimate.value) else "misses"
    if math.isnan(estimate.low) or math.isnan(estimate.high):
        return f"{start} {met} it, but it has no interval{_because(estimate.note)}, so chance is not ruled out."
    span = f"{100 * estimate.level:g} % interval [{limits(estimate.low, estimate.high, estimate.style, digits)}]"
    return _sentence(start, met, span, written, written.bound, outcome, _more(needed, estimate.n, "such cases"))


def why_baseline(
    written: Written,
    estimate: Estimate,
    baseline: float,
    tested: PairTest,
    outcome: str,
    needed: int | None,
    unit: str,
    alike: str = "",
) -> str:
    """Why a requirement against a baseline came out so; `unit` is what it counts, `alike` what both give."""
    name, style = estimate.name, estimate.style
    if math.isnan(tested.difference):
        return f"{brief(name)} cannot be compared with the baseline, because {tested.undefined or 'it is undefined'}."
    digits = enough_digits(written.limit, (tested.difference, tested.low, tested.high), style)
    own, other, gap = (number(value, style, digits) for value in (estimate.value, baseline, tested.difference))
    start = f"{brief(name)} {own} against {other} of the baseline, a difference of {gap},"
    met = "meets" if written.is_met(tested.difference) else "misses"
    if math.isnan(tested.low) or math.isnan(tested.high):
        return f"{start} {met} it, but the difference has no interval{_because(tested.note)}."
    span = f"{100 * tested.level:g} % interval [{limits(tested.low, tested.high, style, digits)}]"
    if outcome == "undecided" and alike:
        start = f"{start[:-1]} because both give the same {alike},"
    return _sentence(start, met, span, written, f"{written.limit:g}", outcome, _more(needed, tested.n, unit))


def _sentence(start: str, met: str, span: str, written: Written, bound: str, outcome: str, more: str) -> str:
    good, bad = MEETS[written.sign], MISSES[written.sign]
    if outcome == "passed":
        return f"{start} meets it: its whole {span} is {good} {bound}."
    if outcome == "failed":
        return f"{start} misses it: its whole {span} is {bad} {bound}."
    other = bad if met == "meets" else f"of {good}" if good.startswith("at") else good
    return f"{start} {met} it, but its {span} also holds values {other} {bound}: {more}."


def _more(needed: int | None, n: float, unit: str) -> str:
    if needed is None:
        return f"these {count(n)} {unit} cannot decide it, and a few more would not either"
    # Two digits: the number rests on what was seen on few cases.
    step = 10 ** max(len(str(needed)) - 2, 0)
    return f"about {count(-(-needed // step) * step)} {unit} would decide it (now {count(n)})"


def _because(note: str) -> str:
    return f" ({visible(note)})" if note else ""


def enough_digits(limit: float, values: Sequence[float], style: Style) -> int | None:
    """Digits that tell every value from the limit, so that .7996 is not shown to miss 0.8 as .800.

    >>> enough_digits(0.8, [0.7996, 0.75, 0.84], "share"), enough_digits(0.8, [0.8, 0.75], "share")
    (4, 3)
    """
    apart = [v for v in values if not math.isnan(v) and abs(v - limit) > SAME * max(1.0, abs(limit))]
    for digits in range(3, MOST_DIGITS):
        if all(number(v, style, digits) != number(limit, style, digits) for v in apart):
            return digits if style == "share" or digits > 3 else None
    return MOST_DIGITS


def brief(name: str) -> str:
    """A name that fits into a sentence, whatever a label holds."""
    return shorten(visible(name), LONGEST_NAME)
