"""How a rule is declared, and how its findings write labels, numbers and intervals."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from heldout.evidence import Label
from heldout.review import Finding, Severity
from heldout.show.escape import visible
from heldout.show.numbers import plain, share
from heldout.show.text_width import shorten

# Sources that several rules lean on, and an erratum that two of them come from.
LEAKS = "Kaufman, Rosset, Perlich & Stitelman (2012), ACM TKDD 6(4); Kapoor & Narayanan (2023), Patterns 4(9)"
TEN_CASES = "convention: at 10 cases the 95 % interval of a recall of one half is .53 wide (Wilson)"
LINEAR_COST = "Cost is a linear function of accuracy, not proportional to it"

About: TypeAlias = Literal["evaluation", "validation", "learning curve", "comparison"]


@dataclass(frozen=True, slots=True)
class Fired:
    """A rule found something: a sentence with its numbers, and the numbers.

    `advice` and `claims` replace the rule's own, and `severity` may be below the declared one, never above it.
    """

    title: str
    facts: Mapping[str, object] = field(default_factory=dict)
    advice: str = ""
    severity: Severity | None = None
    claims: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Passed:
    """A rule looked and found nothing: what it saw, with numbers, and what that claims."""

    title: str
    facts: Mapping[str, object] = field(default_factory=dict)
    claims: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NotApplicable:
    """A rule had nothing to look at, and why."""

    reason: str


Answer: TypeAlias = Fired | Passed | NotApplicable


@dataclass(frozen=True, slots=True)
class Limit:
    """A named limit of a rule: its default, and where that comes from."""

    name: str
    default: float
    source: str


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule and everything there is to know about it.

    `why` says what goes wrong where it is not heeded, `severity` is the highest it may have, and what `first` rules
    find stands before all else: it makes the rest pointless. `claims` are the answers to QUESTIONS that it gives where
    it fires; no two texts of one result may give different answers to one of them. `erratum` is the heading in
    docs/errata.md of what lecture notes say otherwise.
    """

    code: str
    about: About
    title: str
    summary: str
    why: str
    severity: Severity
    advice: str
    reference: str
    limits: tuple[Limit, ...]
    function: Callable[..., Answer] = field(repr=False)
    first: bool = False
    claims: tuple[str, ...] = ()
    erratum: str = ""

    def __call__(self, subject: Any, **limits: float) -> Finding:
        """What the rule says of a result; `limits` replace defaults by name."""
        answer = self.function(subject, **limits)
        if isinstance(answer, NotApplicable):
            return Finding(
                self.code, "not applicable", self.severity, answer.reason, {}, "", self.reference, self.first
            )
        if isinstance(answer, Passed):
            return Finding(
                self.code, "passed", self.severity, answer.title, answer.facts, "", self.reference, self.first,
                answer.claims,
            )  # fmt: skip
        severity = answer.severity or self.severity
        if (severity, self.severity) == ("act", "know"):
            raise ValueError(f"rule {self.code} is declared as one to know, and may not be more")
        advice = answer.advice or self.advice
        claims = self.claims if answer.claims is None else answer.claims
        return Finding(
            self.code, "fired", severity, answer.title, answer.facts, advice, self.reference, self.first, claims
        )


RULES: dict[str, Rule] = {}


def rule(
    code: str,
    *,
    about: About,
    title: str,
    severity: Severity,
    advice: str,
    reference: str,
    limits: Mapping[str, str] | None = None,
    first: bool = False,
    claims: tuple[str, ...] = (),
    erratum: str = "",
) -> Callable[[Callable[..., Answer]], Rule]:
    """Declare a rule; its keyword-only arguments are its limits, and `limits` says where each default comes from.

    The first sentence of the docstring is the summary of the rule, the paragraph after it says why it matters.
    """

    def declare(function: Callable[..., Answer]) -> Rule:
        if code in RULES:
            raise ValueError(f"the code {code} is taken by {RULES[code].function.__name__}")
        named = {
            name: parameter.default
            for name, parameter in inspect.signature(function).parameters.items()
            if parameter.kind is parameter.KEYWORD_ONLY
        }
        sources = dict(limits or {})
        if sources.keys() != named.keys():
            raise ValueError(f"rule {code} has the limits {list(named)}, but sources for {list(sources)}")
        summary, _, why = inspect.cleandoc(function.__doc__ or "").partition("\n\n")
        declared = Rule(
            code, about, title, _one_line(summary), _one_line(why), severity, advice, reference,
            tuple(Limit(name, default, sources[name]) for name, default in named.items()), function, first, claims,
            erratum,
        )  # fmt: skip
        RULES[code] = declared
        return declared

    return declare


def _one_line(text: str) -> str:
    return " ".join(text.split())


LONGEST = 30


def quoted(label: Label) -> str:
    """A label in quotes, its middle left out where it is long.

    >>> quoted("yes"), quoted(1)
    ('"yes"', '"1"')
    """
    return f'"{shorten(visible(str(label)), LONGEST)}"'


def several(labels: Iterable[Label], most: int = 3) -> str:
    """Some labels in quotes, and how many are left.

    >>> several(["a", "b", "c", "d"])
    '"a", "b", "c" and 1 more'
    """
    names = list(labels)
    listed = ", ".join(quoted(label) for label in names[:most])
    return listed if len(names) <= most else f"{listed} and {len(names) - most:,} more"


def between(low: float, high: float) -> str:
    """An interval in brackets with a space before it, nothing where there is none.

    >>> f".77{between(0.68, 0.85)}", between(float("nan"), float("nan"))
    ('.77 [.680, .850]', '')
    """
    return "" if math.isnan(low) or math.isnan(high) else f" [{share(low)}, {share(high)}]"


def listed(names: Sequence[str], most: int = 3) -> str:
    """Some names, and how many are left.

    >>> listed(["recall", "f1"]), listed(["a", "b"], most=1)
    ('recall, f1', 'a and 1 more')
    """
    text = ", ".join(names[:most])
    return text if len(names) <= most else f"{text} and {len(names) - most:,} more"


def figure(value: float) -> str:
    """A threshold or a cost, without decimals that say nothing.

    >>> figure(0.5), figure(0.1 + 0.2), figure(0.1818181818), figure(10.0), figure(4255.0)
    ('0.5', '0.3', '0.182', '10', '4,255')
    """
    # Sums such as 0.1 + 0.2 miss a short number by rounding only.
    if math.isfinite(value) and abs(value) < 1e15 and math.isclose(value, round(value, 2), rel_tol=1e-12):
        return f"{value:,.2f}".rstrip("0").rstrip(".")
    return plain(value)
