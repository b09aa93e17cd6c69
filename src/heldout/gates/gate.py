"""The answer to "is it good enough": requirements, each passed, failed or undecided, for people and for CI."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeAlias, get_args

from heldout.announcements import announce
from heldout.arguments import closest, listing
from heldout.atomic_write import write_whole
from heldout.comparisons.cases_needed import CasesNeeded
from heldout.comparisons.comparison import Alike
from heldout.errors import GateError, OptionError
from heldout.evidence import Label
from heldout.intervals.estimate import Estimate, PairTest
from heldout.result import RenderedResult, bound_late
from heldout.review import Finding
from heldout.thresholds.requirement import Written

Outcome: TypeAlias = Literal["passed", "failed", "undecided"]
Kind: TypeAlias = Literal["value", "baseline", "finding"]
Undecided: TypeAlias = Literal["fail", "warn", "pass"]


def check_undecided(undecided: Any) -> Undecided:
    """Check the word for undecided requirements: fail, warn or pass.

    A misspelt word is an error, because it could let everything through.
    """
    known = get_args(Undecided)
    if undecided not in known:
        near = closest(str(undecided), known)
        raise OptionError(
            f"undecided must be one of {listing(map(repr, known))}. Got {undecided!r}.",
            hint=f"did you mean {near!r}?" if near else "leave it out: what is undecided fails.",
        )
    return undecided  # type: ignore[no-any-return]


def decide(written: Written, value: float, low: float, high: float) -> Outcome:
    """Whether both limits meet a requirement, both miss it, or neither.

    A value that is undefined has not met it; one without an interval leaves it undecided.

    >>> from heldout.thresholds.requirement import read_written
    >>> wanted = read_written("recall >= 0.8")
    >>> decide(wanted, 0.9, 0.85, 0.95), decide(wanted, 0.9, 0.75, 0.95), decide(wanted, 0.6, 0.5, 0.7)
    ('passed', 'undecided', 'failed')
    """
    if math.isnan(value):
        return "failed"
    if math.isnan(low) or math.isnan(high):
        return "undecided"
    ends_met = [written.is_met(end) for end in (low, value, high)]
    return "passed" if all(ends_met) else "undecided" if any(ends_met) else "failed"


@dataclass(frozen=True, slots=True)
class Against:
    """The same quantity of a baseline: its value, and the difference from it with its interval.

    `alike` says what both give alike in every case, where they do.
    """

    name: str
    value: float
    tested: PairTest
    paired: bool
    alike: Alike = ""


@dataclass(frozen=True)
class Baseline:
    """A baseline that is ready to be compared: by a name, in words, and for each estimate of ours.

    `tested` is the difference at another level, given ours with its limits at that level, where they are needed.
    """

    name: str
    how: str
    notes: tuple[str, ...]
    against: Callable[[Estimate], Against]
    tested: Callable[[Estimate, Callable[[], Estimate], float], PairTest]


@dataclass(frozen=True, slots=True)
class Reached:
    """A one-sided limit: how low or how high the value may still be, at which level, and by which method."""

    side: Literal["lower", "upper"]
    value: float
    level: float
    method: str


@dataclass(frozen=True, slots=True)
class Requirement:
    """One requirement and what became of it.

    `outcome` is what the one-sided limits say, or "undecided" for a forbidden finding whose rule had nothing to look
    at; `fails` whether the gate fails by it. `why` says in a sentence why it came out so. `pass_limit` must clear the
    bound for it to pass, `fail_limit` must miss it for it to have failed. `slice` names the cases it is about, where
    it is not all of them. `needed` is between how many cases would decide it with 80 % power, as the interval has it.
    """

    text: str
    outcome: Outcome
    fails: bool
    why: str
    written: Written | None = None
    estimate: Estimate | None = None
    against: Against | None = None
    needed: CasesNeeded | None = None
    finding: Finding | None = None
    pass_limit: Reached | None = None
    fail_limit: Reached | None = None
    slice: str = ""

    @property
    def kind(self) -> Kind:
        """What was required: a value, a distance from a baseline, or the absence of a finding."""
        if self.written is None:
            return "finding"
        return "baseline" if self.against is not None else "value"

    def row(self) -> dict[str, Any]:
        """One flat row."""
        e, against, wanted = self.estimate, self.against, self.written
        nan = math.nan
        return {
            "measure": "finding" if e is None else e.measure,
            "class": None if e is None else e.class_,
            "average": None if e is None else e.average,
            "value": nan if e is None else e.value,
            "low": nan if e is None else e.low,
            "high": nan if e is None else e.high,
            "level": nan if e is None else e.level,
            "method": "" if e is None else e.method,
            "n": None if e is None else e.n,
            "text": self.text,
            "outcome": self.outcome,
            "fails": self.fails,
            "why": self.why,
            "kind": self.kind,
            "sign": None if wanted is None else wanted.sign,
            "limit": nan if wanted is None else wanted.limit,
            **_reached("pass", self.pass_limit),
            **_reached("fail", self.fail_limit),
            "slice": self.slice,
            "baseline": nan if against is None else against.value,
            "difference": nan if against is None else against.tested.difference,
            "difference_low": nan if against is None else against.tested.low,
            "difference_high": nan if against is None else against.tested.high,
            "difference_method": None if against is None else against.tested.method,
            "paired": None if against is None else against.paired,
            "cases_needed_low": None if self.needed is None else self.needed.low,
            "cases_needed_high": None if self.needed is None else self.needed.high,
            "undefined": "" if e is None else e.undefined,
            "code": None if self.finding is None else self.finding.code,
        }


def _advise(failing: tuple[Requirement, ...]) -> str:
    """What to do where requirements are not met."""
    if all(requirement.outcome == "undecided" for requirement in failing):
        return "test on more cases, or let through what is undecided (undecided='pass')."
    return "improve the classifier, or ask for less."


def assert_met(requirement: Requirement) -> Requirement:
    """The requirement, where it does not fail; otherwise a `GateError` that says why."""
    __tracebackhide__ = True
    announce(requirement)
    if requirement.fails:
        raise GateError(f"{requirement.text} is not shown. {requirement.why}", hint=_advise((requirement,)))
    return requirement


def _reached(name: str, reached: Reached | None) -> dict[str, Any]:
    """A limit as columns of a row."""
    return {
        f"{name}_side": None if reached is None else reached.side,
        f"{name}_limit": math.nan if reached is None else reached.value,
        f"{name}_level": math.nan if reached is None else reached.level,
        f"{name}_method": None if reached is None else reached.method,
    }


@dataclass(frozen=True, repr=False, eq=False)
class Gate(RenderedResult):
    """Whether a classifier is good enough: every requirement with its outcome, and whether the gate lets it through.

    Every requirement must pass, by a one-sided limit of the level, so a classifier that misses any of them gets through
    at most as often as 1 − level: an intersection-union test, Berger (1982), Technometrics 24, 295-300. What is
    undecided fails, unless `undecided_rule` is "warn" (only where the value itself misses the bound) or "pass".
    `bool(gate)` is `gate.passed`.

    >>> import heldout
    >>> judged = heldout.evaluate(matrix=[[50, 3], [5, 42]], labels=["no", "yes"])
    >>> gate = heldout.check(judged, require=["accuracy >= 0.8", "recall >= 0.95"])
    >>> gate.passed, [one.outcome for one in gate.requirements]
    (False, ['passed', 'undecided'])
    """

    schema: ClassVar[str] = "heldout/gate@1"
    rows_name: ClassVar[str] = "requirements"
    _rendered_by: ClassVar[str] = "heldout.report.gate:render_gate"
    _phrased_by: ClassVar[str] = "heldout.report.gate:phrase_verdict"
    _charts: ClassVar[Mapping[str, str]] = {"requirements": "heldout.report.gate:draw_requirements"}
    _junit_by: ClassVar[str] = "heldout.report.gate:junit_xml"

    requirements: tuple[Requirement, ...]
    level: float
    n: int | float
    labels: tuple[Label, ...] = ()
    positive: Label | None = None
    undecided_rule: Undecided = "fail"
    name: str = ""
    columns: str = ""
    baseline: str = ""
    baseline_how: str = ""
    notes: tuple[str, ...] = ()
    # The number of cases where `n` is their weight.
    cases: int | None = None

    def _describe(self) -> str:
        return f"Gate {'passed' if self.passed else 'failed'}: {self.summary()}"

    def __iter__(self) -> Iterator[Requirement]:
        return iter(self.requirements)

    def __len__(self) -> int:
        return len(self.requirements)

    def __bool__(self) -> bool:
        return self.passed

    def of(self, outcome: Outcome) -> tuple[Requirement, ...]:
        """The requirements with one outcome."""
        return tuple(requirement for requirement in self.requirements if requirement.outcome == outcome)

    @property
    def failing(self) -> tuple[Requirement, ...]:
        """The requirements by which the gate fails."""
        return tuple(requirement for requirement in self.requirements if requirement.fails)

    @property
    def failed(self) -> tuple[Requirement, ...]:
        """The requirements that failed; those that are undecided may fail the gate as well, see `failing`."""
        return self.of("failed")

    @property
    def undecided(self) -> tuple[Requirement, ...]:
        """The requirements that are undecided, whatever becomes of them by the `undecided_rule`."""
        return self.of("undecided")

    @property
    def passed(self) -> bool:
        """Whether the gate lets it through."""
        return not self.failing

    @property
    def cautions(self) -> tuple[Requirement, ...]:
        """The requirements that are undecided, and by which the gate does not fail."""
        return tuple(requirement for requirement in self.undecided if not requirement.fails)

    @property
    def verdict(self) -> str:
        """Whether it passed, and what became of the requirements, in a sentence or two."""
        return str(bound_late(self._phrased_by)(self))

    def summary(self) -> str:
        """How many of each outcome."""
        counts = ((len(self.of(outcome)), outcome) for outcome in get_args(Outcome))
        return ", ".join(f"{number} {outcome}" for number, outcome in counts if number)

    def raise_if_failed(self) -> Gate:
        """The gate itself where it passes; a `GateError` that says of each failing requirement why, where it fails.

        >>> from heldout import check
        >>> check(["yes"] * 9 + ["no"] * 9, ["yes"] * 9 + ["no"] * 9, require="recall >= 0.9").raise_if_failed()
        Traceback (most recent call last):
        heldout.errors.GateError: The gate failed: 1 undecided.
        recall >= 0.9: recall[yes] 1.000 meets it, but not beyond chance: with 95 % confidence it is at least .717, ...
        """
        __tracebackhide__ = True
        announce(self)
        if self.passed:
            return self
        lines = [f"{requirement.text}: {requirement.why}" for requirement in self.failing]
        raise GateError("\n".join([f"The gate failed: {self.summary()}.", *lines]), hint=_advise(self.failing))

    def rows(self) -> list[dict[str, object]]:
        """One row per requirement."""
        return [requirement.row() for requirement in self.requirements]

    def facts(self) -> dict[str, object]:
        """What stands beside the requirements in the document."""
        return {
            "passed": self.passed,
            "undecided": self.undecided_rule,
            "n": self.n,
            "positive": self.positive,
            "level": self.level,
            "baseline": {"name": self.baseline, "how": self.baseline_how} if self.baseline else None,
            "source": {"name": self.name},
            "notes": list(self.notes),
        }

    def to_junit(self) -> str:
        """The gate as JUnit XML: one test case for each requirement."""
        return str(bound_late(self._junit_by)(self))

    def write_junit(self, path: str | Path) -> Path:
        """Write JUnit XML for a CI server."""
        return write_whole(path, self.to_junit().encode("utf-8"))
