"""A cell of the promises: a world with known truth, a number of cases, what is asked; and the tally of what came of it.

A draw of a cell asks the default path once about drawn cases. An interval at a level may hold the truth or lie wholly
below or above it, a test may reject a true null, a gate may pass though its requirement is not met, and a finding may
call for action where nothing is wrong.
"""

from __future__ import annotations

import math
import zlib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Any, ClassVar, Literal

import numpy as np

from heldout.errors import HeldoutError
from heldout.intervals.estimate import Estimate
from heldout.measures.catalogue import CATALOGUE, find
from heldout.measures.quantity import Quantity
from heldout.results.evaluation import Evaluation

LEVELS = (0.8, 0.95, 0.99)
# The level that is asked at every draw; the others are asked at so many draws at least, spread over all.
MAIN, OTHERS = 0.95, 500
# Draws of which the review is read too; they are the first chunk, which also shows how long a draw takes.
REVIEWED = 10
# The packages of heldout that a review goes through beyond those of an evaluation.
REVIEW = ("findings", "comparisons", "curves", "thresholds", "studies", "review")
# Limits that are equal to the truth but for rounding hold it.
HAIR = 1e-9

# "beside" are intervals that are counted for a second meaning of the truth, of which nothing is promised.
Kind = Literal["interval", "test", "gate", "finding", "beside"]
Key = tuple[Kind, str, float]
Truth = Mapping[str, float]


@dataclass(slots=True)
class Outcome:
    """How often one thing was asked, and what came of it.

    Of intervals: how many lay wholly below the truth (`too_low`) and above it (`too_high`), how many were `bounded`,
    and the sum of their widths. Of tests, gates and findings `too_high` counts the rejections, passes and alarms.
    """

    n: int = 0
    undefined: int = 0
    too_low: int = 0
    too_high: int = 0
    bounded: int = 0
    width: float = 0.0
    # How many true values were the smallest or the largest there can be, which an interval cannot miss on that side.
    at_end: int = 0

    @property
    def defined(self) -> int:
        """How many had an answer."""
        return self.n - self.undefined

    @property
    def rate(self) -> float:
        """The share of intervals that held the truth, or of tests and gates that said something false."""
        return math.nan if not self.defined else (self.too_low + self.too_high) / self.defined

    @property
    def covered(self) -> float:
        """The share of intervals that held the truth."""
        return 1 - self.rate

    @property
    def error(self) -> float:
        """The Monte Carlo standard error of either; that of one more miss where there was none."""
        if not self.defined:
            return math.nan
        rate = min(max(self.rate, 1 / self.defined), 1 - 1 / self.defined) if self.defined > 1 else 0.5
        return math.sqrt(rate * (1 - rate) / self.defined)

    @property
    def mean_width(self) -> float:
        """The mean width of the intervals that end on both sides."""
        return self.width / self.bounded if self.bounded else math.nan

    def __add__(self, other: Outcome) -> Outcome:
        mine, theirs = asdict(self), asdict(other)
        return Outcome(**{name: mine[name] + theirs[name] for name in mine})


class Tally:
    """Everything that came of some draws of one cell."""

    def __init__(self) -> None:
        self.outcomes: dict[Key, Outcome] = {}
        self.findings: Counter[str] = Counter()
        self.draws = 0
        self.reviewed = 0
        self.refused: Counter[str] = Counter()
        self.reviewing = False

    def _outcome(self, kind: Kind, what: str, level: float) -> Outcome:
        outcome = self.outcomes.setdefault((kind, what, level), Outcome())
        outcome.n += 1
        return outcome

    def add_interval(
        self,
        what: str,
        level: float,
        low: float,
        high: float,
        truth: float,
        kind: Kind = "interval",
        ends: tuple[float, float] = (-math.inf, math.inf),
    ) -> None:
        """Count an interval; one without limits is undefined. `ends` are those of the range of the quantity."""
        outcome = self._outcome(kind, what, level)
        outcome.at_end += min(abs(truth - end) for end in ends) < HAIR
        if math.isnan(low) or math.isnan(high):
            outcome.undefined += 1
            return
        slack = HAIR * max(1.0, abs(truth)) if math.isfinite(truth) else 0.0
        outcome.too_low += high < truth - slack
        outcome.too_high += low > truth + slack
        if math.isfinite(high - low):
            outcome.bounded += 1
            outcome.width += high - low

    def add_evaluation(
        self, evaluation: Evaluation, levels: Iterable[float], truth: Truth, names: Mapping[Any, str]
    ) -> None:
        """Count the estimates of an evaluation at some levels, and what its review found."""
        for level in levels:
            self.add_estimates(list_estimates_at(evaluation, level), truth, names)
        self.review(evaluation)

    def add_estimates(
        self, estimates: Iterable[Estimate], truth: Truth, names: Mapping[Any, str], kind: Kind = "interval"
    ) -> None:
        """Count the estimates whose truth is known, of the classes in `names`, which says how they are called."""
        for estimate in estimates:
            if estimate.class_ is not None and estimate.class_ not in names:
                continue
            what = name_quantity(estimate, names)
            true = truth.get(what, math.nan)
            if math.isnan(true):
                continue
            low, high = estimate.low, estimate.high
            if math.isnan(estimate.value) and estimate.style == "share":
                low = high = math.nan
            self.add_interval(what, estimate.level, low, high, true, kind, _ends_of(estimate.measure))

    def add_test(self, what: str, level: float, p: float) -> None:
        """Count a test of a null that is true."""
        outcome = self._outcome("test", what, level)
        if math.isnan(p):
            outcome.undefined += 1
        else:
            outcome.too_high += p <= 1 - level + 1e-12

    def add_gate(self, what: str, level: float, *, passed: bool) -> None:
        """Count a gate whose requirement is not met."""
        self._outcome("gate", what, level).too_high += passed

    def add_finding(self, code: str, *, fired: bool) -> None:
        """Count a rule on a result in which nothing is wrong; like a test at .95 it may fire once in twenty times."""
        self._outcome("finding", code, 0.95).too_high += fired

    def review(self, result: Any) -> None:
        """Count what the review of a result found, on the draws that are reviewed."""
        if self.reviewing:
            self.reviewed += 1
            self.findings.update({finding.code for finding in result.review.fired})

    def document(self) -> dict[str, Any]:
        """The tally as JSON."""
        return {
            "draws": self.draws,
            "reviewed": self.reviewed,
            "findings": dict(self.findings),
            "refused": dict(self.refused),
            "outcomes": [
                [kind, what, level, o.n, o.undefined, o.too_low, o.too_high, o.bounded, o.width, o.at_end]
                for (kind, what, level), o in self.outcomes.items()
            ],
        }

    def add_document(self, document: Mapping[str, Any]) -> None:
        """Add a tally that was written as JSON."""
        self.draws += document["draws"]
        self.reviewed += document["reviewed"]
        self.findings.update(document["findings"])
        self.refused.update(document["refused"])
        for kind, what, level, *numbers in document["outcomes"]:
            key = kind, what, level
            self.outcomes[key] = self.outcomes.get(key, Outcome()) + Outcome(*numbers)


@cache
def _ends_of(measure: str) -> tuple[float, float]:
    """The smallest and the largest value of a measure that is in the catalogue; costs have none here."""
    found = next((m for m in CATALOGUE.values() if m.name == measure.partition("(")[0]), None)
    return found.range if found is not None else (-math.inf, math.inf)


def name_quantity(estimate: Estimate, names: Mapping[Any, str]) -> str:
    """What an estimate is of, with the class by its part in the world: "recall[rarest]"."""
    if estimate.class_ is None:
        return estimate.name
    return f"{estimate.measure}[{names[estimate.class_]}]"


def list_estimates_at(evaluation: Evaluation, level: float) -> Iterator[Estimate]:
    """The estimates of an evaluation at another level, from the same counts: as if it had been made at that level."""
    if level == evaluation.level:
        yield from evaluation.estimates
        return
    counts = replace(evaluation.estimator, level=level)
    scores = None if evaluation.scores is None else replace(evaluation.scores, level=level)
    for estimate in evaluation.estimates:
        average: Any = estimate.average
        quantity = Quantity(find(estimate.measure, costs=evaluation.costs), estimate.class_, average)
        if quantity.is_score:
            yield quantity.check_scored(scores).ask(quantity)
        else:
            yield counts.ask(quantity)


@dataclass(frozen=True, kw_only=True)
class Cell(ABC):
    """One setting; its fields say everything that it depends on, and its text is its name in the family."""

    family: ClassVar[str]

    draws: int = 2000
    # How many draws are one piece of work.
    chunk: int = 100
    levels: tuple[float, ...] = LEVELS

    @abstractmethod
    def __str__(self) -> str: ...

    def find_truth(self) -> Truth:
        """The true values, found once for all draws; JSON numbers by name."""
        return {}

    @abstractmethod
    def draw(self, rng: np.random.Generator, truth: Truth, tally: Tally) -> None:
        """Draw cases once, ask, and tally the answers."""

    @property
    def chunks(self) -> int:
        """How many pieces of work all draws are."""
        return self.count_chunks(1.0)

    def count_chunks(self, scale: float) -> int:
        """How many pieces of work a part of the draws are: the reviewed ones, and whole chunks."""
        return 1 + max(0, math.ceil((self.draws * scale - REVIEWED) / self.chunk))

    def measure(self, chunk: int, truth: Truth, draws: int | None = None) -> Tally:
        """Do one piece of work; its seed follows from the name of the cell and its number."""
        rng = np.random.default_rng([zlib.crc32(f"{self.family}: {self}".encode()), chunk])
        tally = Tally()
        size = draws if draws is not None else REVIEWED if chunk == 0 else self.chunk
        plain = replace(self, levels=(MAIN,) if MAIN in self.levels else self.levels)
        step = max(self.draws // OTHERS, 1)
        for number in range(size):
            tally.reviewing = chunk == 0 and tally.draws < REVIEWED
            tally.draws += 1
            try:
                (plain if number % step else self).draw(rng, truth, tally)
            except HeldoutError as error:
                # Some draws cannot be judged, as where one class was not drawn; how many, and why, is reported.
                tally.refused[error.what] += 1
        return tally
