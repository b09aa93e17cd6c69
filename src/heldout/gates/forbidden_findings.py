"""Findings that a gate forbids, by their codes or by how severe they are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from heldout.arguments import closest, listing
from heldout.errors import OptionError
from heldout.findings.catalogue import RULE_CATALOGUE, find_rule
from heldout.gates.gate import Requirement
from heldout.results.evaluation import Evaluation
from heldout.review import Finding

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
