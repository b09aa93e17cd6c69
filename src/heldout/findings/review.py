"""The review of a result: every rule that is about it, with what each found."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, TypeAlias

from heldout.arguments import closest, listing
from heldout.errors import OptionError
from heldout.findings.catalogue import RULE_CATALOGUE, find_rule
from heldout.findings.rule import About, Finding, Outcome
from heldout.result import Result
from heldout.show.blocks import Block, Cell, Column, Note, Prose, Table

# Limits of rules that a person changed: by code and name, refused where there is no such rule or limit.

Limits: TypeAlias = Mapping[str, Mapping[str, float]]
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
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not math.isfinite(float(value)):
        raise OptionError(f"The limit {name} of {code} must be a number. Got {value!r}.", hint=EXAMPLE)
    return float(value)


# More findings than this push everything else off the screen.
SHOWN = 6
EXPLAIN = "heldout explain CODE"


@dataclass(frozen=True, slots=True)
class Review(Result):
    """What the rules say: those that fired, those that passed, and those that had nothing to look at."""

    schema: ClassVar[str] = "heldout/review@1"
    rows_name: ClassVar[str] = "findings"

    findings: tuple[Finding, ...]
    muted: tuple[str, ...] = ()
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
        if wanted in {muted.casefold() for muted in self.muted}:
            raise OptionError(f"The rule {code} was muted, so it found nothing.", hint="leave it out of mute.")
        codes = [finding.code for finding in self.findings]
        near = closest(str(code), codes)
        raise OptionError(
            f"The review has no rule {code!r}. It has: {listing(codes)}.",
            hint=f"did you mean {near}?" if near else "heldout explain lists all rules.",
        )

    def __add__(self, other: object) -> Review:
        if not isinstance(other, Review):
            return NotImplemented
        muted = tuple(dict.fromkeys((*self.muted, *other.muted)))
        return Review((*self.findings, *other.findings), muted, {**self.limits, **other.limits})

    def rows(self) -> list[dict[str, object]]:
        """One row per rule."""
        return [
            {
                "measure": "finding",
                "class": None,
                "average": None,
                "value": math.nan,
                "low": math.nan,
                "high": math.nan,
                "level": math.nan,
                "method": "",
                "n": None,
                "code": finding.code,
                "outcome": finding.outcome,
                "severity": finding.severity,
                "title": finding.title,
                "advice": finding.advice,
                "reference": finding.reference,
            }
            for finding in self.findings
        ]

    def facts(self) -> dict[str, object]:
        """The counts in words, what was muted, and the limits that were changed."""
        return {"summary": self.summary(), "muted": list(self.muted), "limits": _plain(self.limits)}

    def summary(self) -> str:
        """How many of each: "2 to act on · 1 to know · 21 passed · 6 not applicable"."""
        act = sum(finding.severity == "act" for finding in self.fired)
        counts = (
            (act, "to act on"),
            (len(self.fired) - act, "to know"),
            (len(self.of("passed")), "passed"),
            (len(self.of("not applicable")), "not applicable"),
            (len(self.muted), "muted"),
        )
        said = [f"{number} {words}" for number, words in counts if number]
        return " · ".join(said if self.fired else ["nothing found", *said])

    def blocks(self) -> list[Block]:
        """The counts, and a line for each that fired, as many as fit a screen."""
        hint = f" ({EXPLAIN})" if self.fired else ""
        left = len(self.fired) - SHOWN
        lines: list[Block] = [Prose(self.summary() + hint, label="Findings")]
        lines += [_note(finding) for finding in self.fired[:SHOWN]]
        lines += [Note(f"… and {left} more; --full shows them.")] if left > 0 else []
        return lines + self._changed()

    def _changed(self) -> list[Block]:
        """A line with the limits that were changed, if any were."""
        if not self.limits:
            return []
        said = ", ".join(
            f"{code}.{name} = {value:g} instead of {_default(code, name):g}"
            for code, held in self.limits.items()
            for name, value in held.items()
        )
        return [Note(f"Limits changed: {said}.")]

    def full_blocks(self) -> list[Block]:
        """Every rule with its outcome: what was found, what was seen, and why a rule had nothing to look at."""
        blocks: list[Block] = [Prose(self.summary(), label="Findings"), *map(_note, self.fired)]
        if self.fired:
            columns = (Column("code"), Column("to"), Column("reference", wrap=True))
            held = [(f.code, "act on" if f.severity == "act" else "know", f.reference) for f in self.fired]
            blocks.append(Table(columns, tuple(held), "Where the findings come from"))
        for outcome, caption, header in (
            ("passed", "Looked at, and nothing found", "what was seen"),
            ("not applicable", "Not applicable, because …", "because"),
        ):
            rows: list[tuple[Cell, ...]] = [(f.code, f.title) for f in self.findings if f.outcome == outcome]
            if rows:
                blocks.append(Table((Column("code"), Column(header, wrap=True)), tuple(rows), caption))
        if self.muted:
            blocks.append(Note(f"Muted: {', '.join(self.muted)}."))
        return blocks + self._changed()

    def document(self) -> dict[str, Any]:
        """What stands in a JSON document: the findings that fired, and the outcome of the others."""
        return {
            "findings": [finding.document() for finding in self.fired],
            "passed": [finding.code for finding in self.findings if finding.outcome == "passed"],
            "not_applicable": {f.code: f.title for f in self.findings if f.outcome == "not applicable"},
            "muted": list(self.muted),
            "limits": _plain(self.limits),
        }


def _rank(finding: Finding) -> tuple[bool, bool]:
    """What to act on before what to know, and first of all what makes the rest pointless."""
    rule = RULE_CATALOGUE.get(finding.code)
    return finding.severity != "act", rule is None or not rule.first


def _plain(limits: Limits) -> dict[str, dict[str, float]]:
    return {code: dict(held) for code, held in limits.items()}


def _default(code: str, name: str) -> float:
    return next(limit.default for limit in RULE_CATALOGUE[code].limits if limit.name == name)


def _note(finding: Finding) -> Note:
    text = f"{finding.title} {finding.advice}".strip()
    return Note(text, "warning" if finding.severity == "act" else "note", finding.code)


def check_codes(codes: str | Iterable[str] | None) -> tuple[str, ...]:
    """Codes to mute, refused where there is no such rule.

    >>> check_codes("h001")
    ('H001',)
    """
    asked = [] if codes is None else [codes] if isinstance(codes, str) else list(codes)
    return tuple(dict.fromkeys(find_rule(code).code for code in asked))


def review(
    about: About, subject: Any, mute: Sequence[str] = (), limits: Mapping[str, Mapping[str, float]] | None = None
) -> Review:
    """Put every rule that is about such a result to it, except those muted; `limits` replace defaults by code."""
    rules = [rule for rule in RULE_CATALOGUE.values() if rule.about == about]
    muted = tuple(rule.code for rule in rules if rule.code in mute)
    asked = [rule for rule in rules if rule.code not in muted]
    changed = {rule.code: dict((limits or {})[rule.code]) for rule in asked if rule.code in (limits or {})}
    return Review(tuple(rule(subject, **changed.get(rule.code, {})) for rule in asked), muted, changed)


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
    for name, one in reviews.items():
        for finding in one.findings:
            by_code.setdefault(finding.code, {})[name] = finding
    made: list[Finding] = []
    for held in by_code.values():
        fired = {name: finding for name, finding in held.items() if finding.outcome == "fired"}
        if not fired:
            passed = [finding for finding in held.values() if finding.outcome == "passed"]
            made.append((passed or list(held.values()))[0])
        elif len(fired) == len(reviews) and len({finding.title for finding in fired.values()}) == 1:
            made.append(next(iter(fired.values())))
        else:
            made += [replace(finding, title=f"{name}: {finding.title}") for name, finding in fired.items()]
    return Review(tuple(made), tuple(dict.fromkeys(code for one in reviews.values() for code in one.muted)))
