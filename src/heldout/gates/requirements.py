"""What a gate requires: why a requirement came out as it did, and the findings that are forbidden."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from heldout.arguments import closest, listing
from heldout.comparisons.cases_needed import CasesNeeded
from heldout.errors import OptionError
from heldout.findings.review import RULE_CATALOGUE, find_rule
from heldout.gates.gate import Requirement
from heldout.intervals.estimate import Estimate
from heldout.results.difference import PairTest
from heldout.results.evaluation import Evaluation
from heldout.review import Finding
from heldout.show.blocks import Style
from heldout.show.escape import visible
from heldout.show.numbers import count, limits, number
from heldout.show.text_width import shorten
from heldout.thresholds.requirement import SAME, Written

# Why a requirement came out as it did, in a sentence with the numbers in it.

# What is said of values that meet a sign, and of values that miss it.
MEETS = {">=": "at least", ">": "above", "<=": "at most", "<": "below"}
MISSES = {">=": "below", ">": "at or below", "<=": "above", "<": "at or above"}
MOST_DIGITS = 7
LONGEST_NAME = 60


def why_value(written: Written, estimate: Estimate, outcome: str, needed: CasesNeeded | None) -> str:
    """Why a requirement on a value came out so.

    >>> from heldout.thresholds.requirement import read_written
    >>> seen = Estimate("recall", "spam", None, 0.85, 0.78, 0.9, 0.95, "wilson", 120)
    >>> why_value(read_written("recall >= 0.8"), seen, "undecided", None).partition(": ")[0]
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
    needed: CasesNeeded | None,
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


def _more(needed: CasesNeeded | None, n: float, unit: str) -> str:
    if needed is None:
        return f"these {count(n)} {unit} cannot decide it, and a few more would not either"
    return f"{needed.describe(unit)} would decide it (now {count(n)})"


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


# Findings that a gate forbids, by their codes or by how severe they are.

# Each with the findings it forbids: whoever minds what is good to know also minds what must be acted on.
SEVERITIES: dict[str, tuple[str, ...]] = {"act": ("act",), "know": ("act", "know")}
WORDS = {"act": "finding to act on", "know": "finding"}


def check_forbidden(forbid: str | Iterable[str], mute: Sequence[str] = ()) -> tuple[str, ...]:
    """The codes and severities that are forbidden, refused where there is no such thing.

    >>> check_forbidden(["H001", "ACT"])
    ('H001', 'act')
    """
    asked = [forbid] if isinstance(forbid, str) else list(forbid)
    return tuple(dict.fromkeys(_known(one, mute) for one in asked))


def _known(asked: Any, mute: Sequence[str]) -> str:
    word = str(asked).strip().casefold()
    if word in SEVERITIES:
        return word
    if not word.startswith("h") and (near := closest(word, SEVERITIES)):
        raise OptionError(f"There are no findings {str(asked)!r} to forbid.", hint=f"did you mean {near!r}?")
    try:
        rule = find_rule(asked)
    except OptionError as error:
        raise OptionError(error.what, hint=f"{error.hint} Or forbid 'act' or 'know'.") from None
    if rule.about != "evaluation":
        codes = [code for code, other in RULE_CATALOGUE.items() if other.about == "evaluation"]
        raise OptionError(
            f"{rule.code} is a rule about a {rule.about}, and a gate looks at an evaluation.",
            hint=f"forbid one of: {listing(codes, most=40)}.",
        )
    if rule.code in mute:
        raise OptionError(f"{rule.code} is muted and forbidden at once.", hint="leave out one of the two.")
    return rule.code


def forbidden(evaluation: Evaluation, forbid: Sequence[str], *, strict: bool = False) -> list[Requirement]:
    """A requirement for each that is forbidden: failed where it was found; of a severity, one for each finding.

    A code that does not apply was not checked, which is no assurance: it is undecided, and fails where `strict`.
    """
    made: list[Requirement] = []
    for asked in forbid:
        if asked not in SEVERITIES:
            made.append(_of_code(evaluation.review[asked], strict=strict))
            continue
        found = [one for one in evaluation.findings if one.severity in SEVERITIES[asked]]
        made += [_of_code(one, strict=strict) for one in found if one.code not in forbid]
        if not found:
            seen = sum(one.outcome == "passed" for one in evaluation.review.findings)
            rules = "The 1 rule that applies has not" if seen == 1 else f"None of the {seen} rules that apply has"
            why = f"{rules} found anything of the kind."
            made.append(Requirement(f"no {WORDS[asked]}", "passed", fails=False, why=why))
    # What two severities forbid is one finding.
    return list({one.text: one for one in made}.values())


def _of_code(finding: Finding, *, strict: bool) -> Requirement:
    text = f"no {finding.code}"
    if finding.outcome == "fired":
        why = f"{finding.title} {finding.advice}".strip()
        return Requirement(text, "failed", fails=True, why=why, finding=finding)
    if finding.outcome == "not applicable":
        why = _ended(f"Not checked: {finding.title}")
        return Requirement(text, "undecided", fails=strict, why=why, finding=finding)
    return Requirement(text, "passed", fails=False, why=_ended(finding.title), finding=finding)


def _ended(sentence: str) -> str:
    return sentence if sentence.endswith((".", "!", "?")) else f"{sentence}."
