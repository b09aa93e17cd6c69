"""The review of a result: every rule that is about it, with what each found."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from heldout import findings
from heldout.arguments import as_float, closest, listing, show_given
from heldout.errors import OptionError
from heldout.findings.rule import RULES, About, Rule
from heldout.results.evaluation import Evaluation
from heldout.review import Finding, Review

if TYPE_CHECKING:
    # Whoever reviews one of these has loaded what makes it; the review of an evaluation needs none of it.
    from heldout.comparisons.comparison import PairwiseComparison
    from heldout.resampling.learning_curve import LearningCurve
    from heldout.results.validation import SeveralValidations, Validation

# Rules stand in the modules whose names say what they are about: a new one needs no entry here.
for _module in iter_modules(findings.__path__):
    if _module.name.startswith("rules_"):
        import_module(f"{findings.__name__}.{_module.name}")

RULE_CATALOGUE: Mapping[str, Rule] = MappingProxyType(dict(sorted(RULES.items())))


def find_rule(code: str) -> Rule:
    """The rule of a code, in capitals or not.

    >>> find_rule("h001").about
    'evaluation'
    """
    wanted = str(code).strip().upper()
    if wanted in RULE_CATALOGUE:
        return RULE_CATALOGUE[wanted]
    # "H1" and "12" mean H001 and H012 more likely than any code that merely looks alike.
    digits = wanted.removeprefix("H")
    meant = f"H{int(digits):03d}" if digits.isdecimal() else ""
    near = meant if meant in RULE_CATALOGUE else closest(wanted, RULE_CATALOGUE)
    raise OptionError(
        f"There is no rule {str(code)!r}. Rules have codes from {min(RULE_CATALOGUE)} to {max(RULE_CATALOGUE)}.",
        hint=f"did you mean {near}?" if near else "heldout explain lists them.",
    )


# Limits of rules that a person changed: by code and name, refused where there is no such rule or limit.

EXAMPLE = "write limits={'H014': {'width': 0.1}} (--limit H014.width=0.1)."


def check_limits(limits: Any, about: About) -> dict[str, dict[str, float]]:
    """The limits of rules about such a result, by code and name.

    >>> check_limits({"h014": {"width": 0.1}}, "evaluation")
    {'H014': {'width': 0.1}}
    """
    if limits is None:
        return {}
    if not isinstance(limits, Mapping) or not all(isinstance(held, Mapping) for held in limits.values()):
        raise OptionError(f"Limits are given by the code of a rule and by name. Got {limits!r}.", hint=EXAMPLE)
    checked: dict[str, dict[str, float]] = {}
    for code, held in limits.items():
        rule = find_rule(code)
        if rule.about != about:
            raise OptionError(
                f"The rule {rule.code} is about a {rule.about}, and this is a result of another kind: {about}.",
                hint="leave out its limits.",
            )
        known = {limit.name: limit for limit in rule.limits}
        for name, value in held.items():
            if name not in known:
                near = closest(str(name), known)
                has = f"It has: {listing(known)}" if known else "It has none"
                raise OptionError(
                    f"The rule {rule.code} has no limit {str(name)!r}. {has}.",
                    hint=f"did you mean {near}?" if near else f"heldout explain {rule.code} says what they mean.",
                )
            checked.setdefault(rule.code, {})[name] = _number(rule.code, name, value)
    return checked


def _number(code: str, name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not math.isfinite(as_float(value)):
        raise OptionError(f"The limit {name} of {code} must be a number. Got {show_given(value)}.", hint=EXAMPLE)
    if value < 0:
        # Every limit is a size, a share or a number of cases: below 0 a rule would always find something, or never.
        raise OptionError(f"The limit {name} of {code} cannot be negative. Got {value:g}.", hint=EXAMPLE)
    return float(value)


def check_codes(codes: str | Iterable[str] | None) -> tuple[str, ...]:
    """Codes to ignore, refused where there is no such rule.

    >>> check_codes("h001")
    ('H001',)
    """
    asked = [] if codes is None else [codes] if isinstance(codes, str) else list(codes)
    return tuple(dict.fromkeys(find_rule(code).code for code in asked))


def review(
    about: About, subject: Any, ignore: Sequence[str] = (), limits: Mapping[str, Mapping[str, float]] | None = None
) -> Review:
    """Put every rule that is about such a result to it, except those ignored; `limits` replace defaults by code."""
    rules = [rule for rule in RULE_CATALOGUE.values() if rule.about == about]
    ignored = tuple(rule.code for rule in rules if rule.code in ignore)
    asked = [rule for rule in rules if rule.code not in ignored]
    changed = {rule.code: dict((limits or {})[rule.code]) for rule in asked if rule.code in (limits or {})}
    return Review(tuple(rule(subject, **changed.get(rule.code, {})) for rule in asked), ignored, changed)


def review_evaluation(evaluation: Evaluation) -> Review:
    """What the rules say of an evaluation."""
    return review("evaluation", evaluation, evaluation.ignore, evaluation.limits)


def review_validation(validation: Validation) -> Review:
    """What the rules say of the splits, and then of what they show."""
    return review("validation", validation, validation.ignore) + validation.evaluation.review


def review_validations(validations: SeveralValidations) -> Review:
    """What the rules say of learners that saw the same splits."""
    return reviewed_together({validation.learner: validation.review for validation in validations})


def review_learning_curve(curve: LearningCurve) -> Review:
    """What the rules say of a learning curve."""
    return review("learning curve", curve, curve.ignore)


def review_comparison(comparison: PairwiseComparison) -> Review:
    """What the rules say of a comparison."""
    return review("comparison", comparison, comparison.ignore)


# One review of several results of the same kind, such as learners validated by the same splits.


def reviewed_together(reviews: Mapping[str, Review]) -> Review:
    """What the rules say of all of them: once where it is the same for all, and by name where it is not.

    A rule that fired for some stands here as fired; one that fired for none as passed, unless none had anything to
    look at.

    >>> found = Finding("H033", "fired", "know", "The smallest fold has 15 cases.", {}, "", "")
    >>> fine = replace(found, outcome="passed", title="The smallest fold has 40 cases.")
    >>> [one.title for one in reviewed_together({"knn": Review((found,)), "tree": Review((fine,))}).fired]
    ['knn: The smallest fold has 15 cases.']
    """
    by_code: dict[str, dict[str, Finding]] = {}
    for name, review in reviews.items():
        for finding in review.findings:
            by_code.setdefault(finding.code, {})[name] = finding
    findings: list[Finding] = []
    for held in by_code.values():
        fired = {name: finding for name, finding in held.items() if finding.outcome == "fired"}
        if not fired:
            passed = [finding for finding in held.values() if finding.outcome == "passed"]
            findings.append((passed or list(held.values()))[0])
        elif len(fired) == len(reviews) and len({finding.title for finding in fired.values()}) == 1:
            findings.append(next(iter(fired.values())))
        else:
            findings += [replace(finding, title=f"{name}: {finding.title}") for name, finding in fired.items()]
    return Review(tuple(findings), tuple(dict.fromkeys(code for review in reviews.values() for code in review.ignored)))
