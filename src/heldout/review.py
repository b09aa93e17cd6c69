"""What a review of a result says: the finding of every rule, those that fired, passed, or had nothing to look at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal, TypeAlias

from heldout.arguments import closest, listing
from heldout.errors import OptionError
from heldout.result import RenderedResult, bound_late, make_row

Severity: TypeAlias = Literal["act", "know"]
Outcome: TypeAlias = Literal["fired", "passed", "not applicable"]
Limits: TypeAlias = Mapping[str, Mapping[str, float]]

# What sentences of verdicts and findings claim: of the answers to one question a result may give one only.
QUESTIONS: Mapping[str, tuple[str, ...]] = {
    "more data": ("more data helps", "more data hardly helps", "whether more data helps is unknown"),
    "commonest class": (
        "beats the commonest class",
        "does not beat the commonest class",
        "whether it beats the commonest class is unknown",
    ),
    "skill": ("tells the classes apart", "ranks the wrong way round"),
    "probabilities": ("probabilities are right", "probabilities are off", "whether probabilities are off is unknown"),
    "fit": ("overfits", "underfits"),
}


@dataclass(frozen=True, slots=True)
class Finding:
    """What came of one rule on one result; one that comes `first` makes the others pointless.

    `claims` are those of the answers to QUESTIONS that its words give.
    """

    code: str
    outcome: Outcome
    severity: Severity
    title: str
    facts: Mapping[str, Any]
    advice: str
    reference: str
    first: bool = field(default=False, repr=False)
    claims: tuple[str, ...] = field(default=(), repr=False)

    def document(self) -> dict[str, object]:
        """The finding as it stands in the JSON document."""
        return {
            "code": self.code,
            "severity": self.severity,
            "title": self.title,
            "facts": dict(self.facts),
            "advice": self.advice,
            "reference": self.reference,
        }


@dataclass(frozen=True, slots=True, eq=False)
class Review(RenderedResult):
    """What the rules say: those that fired, those that passed, and those that had nothing to look at.

    >>> import heldout
    >>> review = heldout.evaluate(matrix=[[990, 0], [10, 0]], labels=["no", "yes"]).review
    >>> print(review["H001"].title)
    Accuracy .990 is no better than always predicting "no" (.990): difference .000 [-.004, .004].
    >>> [finding.code for finding in review.fired]
    ['H001', 'H007', 'H002', 'H008', 'H014']
    """

    schema: ClassVar[str] = "heldout/review@1"
    rows_name: ClassVar[str] = "findings"
    _rendered_by: ClassVar[str] = "heldout.report.review:render_review"
    _charts: ClassVar[Mapping[str, str]] = {}

    findings: tuple[Finding, ...]
    ignored: tuple[str, ...] = ()
    limits: Limits = field(default_factory=dict)

    def of(self, outcome: Outcome) -> tuple[Finding, ...]:
        """The findings with one outcome, the severe ones first."""
        return tuple(sorted((f for f in self.findings if f.outcome == outcome), key=_rank))

    @property
    def fired(self) -> tuple[Finding, ...]:
        """What was found."""
        return self.of("fired")

    def __getitem__(self, code: str) -> Finding:
        """The finding of a code."""
        wanted = str(code).strip().casefold()
        for finding in self.findings:
            if finding.code.casefold() == wanted:
                return finding
        if wanted in {ignored.casefold() for ignored in self.ignored}:
            raise OptionError(f"The rule {code} was ignored, so it found nothing.", hint="leave it out of ignore.")
        codes = [finding.code for finding in self.findings]
        near = closest(str(code), codes)
        raise OptionError(
            f"The review has no rule {code!r}. It has: {listing(codes)}.",
            hint=f"did you mean {near}?" if near else "heldout explain lists all rules.",
        )

    def __add__(self, other: object) -> Review:
        if not isinstance(other, Review):
            return NotImplemented
        ignored = tuple(dict.fromkeys((*self.ignored, *other.ignored)))
        return Review((*self.findings, *other.findings), ignored, {**self.limits, **other.limits})

    def rows(self) -> list[dict[str, object]]:
        """One row per rule."""
        return [
            make_row(
                "finding",
                code=finding.code,
                outcome=finding.outcome,
                severity=finding.severity,
                title=finding.title,
                advice=finding.advice,
                reference=finding.reference,
            )
            for finding in self.findings
        ]

    def facts(self) -> dict[str, object]:
        """The counts in words, what was ignored, and the limits that were changed."""
        return {"summary": self.summary(), "ignored": list(self.ignored), "limits": _plain(self.limits)}

    def summary(self) -> str:
        """How many of each: "2 to act on · 1 to know · 21 passed · 6 not applicable"."""
        act = sum(finding.severity == "act" for finding in self.fired)
        counts = (
            (act, "to act on"),
            (len(self.fired) - act, "to know"),
            (len(self.of("passed")), "passed"),
            (len(self.of("not applicable")), "not applicable"),
            (len(self.ignored), "ignored"),
        )
        parts = [f"{number} {words}" for number, words in counts if number]
        return " · ".join(parts if self.fired else ["nothing found", *parts])

    def document(self) -> dict[str, Any]:
        """What stands in a JSON document: the findings that fired, and the outcome of the others."""
        return {
            "findings": [finding.document() for finding in self.fired],
            "passed": [finding.code for finding in self.findings if finding.outcome == "passed"],
            "not_applicable": {f.code: f.title for f in self.findings if f.outcome == "not applicable"},
            "ignored": list(self.ignored),
            "limits": _plain(self.limits),
        }


class Reviewed(RenderedResult):
    """A result that rules are put to: the layer above that does so is named in `_reviewed_by`, as "module:function"."""

    _reviewed_by: ClassVar[str]

    @cached_property
    def review(self) -> Review:
        """What a careful statistician would point out: every rule, with what it found."""
        review: Review = bound_late(self._reviewed_by)(self)
        return self._like(review)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What the rules found, the severe ones first."""
        return self.review.fired


def _rank(finding: Finding) -> tuple[bool, bool]:
    """What to act on before what to know, and first of all what makes the rest pointless."""
    return finding.severity != "act", not finding.first


def _plain(limits: Limits) -> dict[str, dict[str, float]]:
    return {code: dict(by_name) for code, by_name in limits.items()}
