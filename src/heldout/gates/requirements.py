"""What a gate requires: why a requirement came out as it did, and the findings that are forbidden."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from heldout.arguments import closest, listing
from heldout.comparisons.cases_needed import CasesNeeded
from heldout.errors import OptionError
from heldout.findings.review import RULE_CATALOGUE, find_rule
from heldout.gates.claims import Claim, Ends
from heldout.gates.gate import Requirement
from heldout.results.evaluation import Evaluation
from heldout.review import Finding
from heldout.show.blocks import Style
from heldout.show.escape import visible
from heldout.show.numbers import count, number
from heldout.show.text_width import shorten
from heldout.thresholds.requirement import SAME

# Why a requirement came out as it did, in a sentence with the numbers in it.

MOST_DIGITS = 7
LONGEST_NAME = 60


def describe_value(claim: Claim, ends: Ends, outcome: str, needed: str) -> str:
    """Why a requirement on a value came out so."""
    e, written = claim.estimate, claim.written
    name = brief(claim.name)
    if math.isnan(e.value):
        return f"{name} has no value, because {e.undefined or 'it is undefined here'}."
    digits = enough_digits(written.limit, (e.value, ends.low, ends.high), e.style)
    start = f"{name} {number(e.value, e.style, digits)}"
    if math.isnan(ends.low) or math.isnan(ends.high):
        met = "meets" if written.is_met(e.value) else "misses"
        return f"{start} {met} it, but it has no interval{_because(e.note)}, so chance is not ruled out."
    return _sentence(claim, ends, outcome, start, written.bound, needed)


def describe_difference(claim: Claim, ends: Ends, outcome: str, needed: str) -> str:
    """Why a requirement against a baseline came out so."""
    against, e, written = claim.against, claim.estimate, claim.written
    if against is None:
        message = "there is no baseline"
        raise TypeError(message)
    tested, name = against.tested, brief(claim.name)
    if math.isnan(tested.difference):
        return f"{name} cannot be compared with the baseline, because {tested.undefined or 'it is undefined'}."
    digits = enough_digits(written.limit, (tested.difference, ends.low, ends.high), e.style)
    own, other, gap = (number(value, e.style, digits) for value in (e.value, against.value, tested.difference))
    start = f"{name} {own} against {other} of the baseline, a difference of {gap}"
    if math.isnan(ends.low) or math.isnan(ends.high):
        met = "meets" if written.is_met(tested.difference) else "misses"
        return f"{start}, {met} it, but the difference has no interval{_because(tested.note)}."
    if outcome == "undecided" and against.alike:
        start += f" because both give the same {against.alike}"
    return _sentence(claim, ends, outcome, f"{start},", f"{written.limit:g}", needed)


def _sentence(claim: Claim, ends: Ends, outcome: str, start: str, bound: str, needed: str) -> str:
    """What is known of the side that counts: of the good one where it passed, or the value meets the bound."""
    written, e = claim.written, claim.estimate
    meets = written.is_met(claim.value)
    good_is_low = written.sign[0] == ">"
    is_low = good_is_low == (outcome == "passed" or meets)
    end, level = (ends.low, ends.low_level) if is_low else (ends.high, ends.high_level)
    digits = enough_digits(written.limit, (claim.value, ends.low, ends.high), e.style)
    clears = {"passed": "clears", "failed": "misses"}.get(outcome, "does not clear" if meets else "does not rule out")
    way = "at least" if is_low else "at most"
    verb = {"passed": "meets it: ", "failed": "misses it: "}.get(
        outcome, "meets it, but not beyond chance: " if meets else "misses it, but not beyond chance: "
    )
    said = f"with {percentage(level)} confidence it is {way} {number(end, e.style, digits)}, which {clears} {bound}"
    how = f"one-sided limit, {ends.method}"
    if ends.corrected > 1 and not (outcome == "passed" or meets):
        how += f", Holm-corrected for {ends.corrected} requirements"
    return f"{start} {verb}{said} ({how}){f'; {needed}' if needed else ''}."


def percentage(level: float) -> str:
    """A level in percent, with digits enough to tell it from the next.

    >>> percentage(0.95), percentage(1 - 0.05 / 3)
    ('95 %', '98.33 %')
    """
    return f"{100 * level:.4g} %"


def describe_needed(needed: CasesNeeded | None, n: float, unit: str) -> str:
    """Between how many cases would decide it, where that can be said."""
    return "" if needed is None else f"{needed.describe(unit)} would decide it (now {count(n)})"


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


def forbidden(evaluation: Evaluation, forbid: Sequence[str], *, unchecked_fails: bool = True) -> list[Requirement]:
    """A requirement for each that is forbidden: failed where it was found; of a severity, one for each finding.

    A code that does not apply was not checked, which is no assurance: it is undecided, and fails where
    `unchecked_fails`.
    """
    made: list[Requirement] = []
    for asked in forbid:
        if asked not in SEVERITIES:
            made.append(_of_code(evaluation.review[asked], unchecked_fails=unchecked_fails))
            continue
        found = [one for one in evaluation.findings if one.severity in SEVERITIES[asked]]
        made += [_of_code(one, unchecked_fails=unchecked_fails) for one in found if one.code not in forbid]
        if not found:
            seen = sum(one.outcome == "passed" for one in evaluation.review.findings)
            rules = "The 1 rule that applies has not" if seen == 1 else f"None of the {seen} rules that apply has"
            why = f"{rules} found anything of the kind."
            made.append(Requirement(f"no {WORDS[asked]}", "passed", fails=False, why=why))
    # What two severities forbid is one finding.
    return list({one.text: one for one in made}.values())


def _of_code(finding: Finding, *, unchecked_fails: bool) -> Requirement:
    text = f"no {finding.code}"
    if finding.outcome == "fired":
        why = f"{finding.title} {finding.advice}".strip()
        return Requirement(text, "failed", fails=True, why=why, finding=finding)
    if finding.outcome == "not applicable":
        why = _ended(f"Not checked: {finding.title}")
        return Requirement(text, "undecided", fails=unchecked_fails, why=why, finding=finding)
    return Requirement(text, "passed", fails=False, why=_ended(finding.title), finding=finding)


def _ended(sentence: str) -> str:
    return sentence if sentence.endswith((".", "!", "?")) else f"{sentence}."
