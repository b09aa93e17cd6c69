"""The answer to "at which threshold": the threshold, everything there, the alternatives, and how far to trust it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

from heldout.evidence import Confusion, Label
from heldout.intervals.estimate import Estimate
from heldout.measures.catalogue import CATALOGUE
from heldout.result import RenderedResult, Result
from heldout.threads import cached_property
from heldout.thresholds.figures import Figures
from heldout.thresholds.objective import resolve_quantity

GIVEN = "as if the threshold had been given: the optimism of its choice is not in the interval"


@dataclass(frozen=True, slots=True)
class Alternative:
    """Another threshold, what is optimised there, and whether it meets the requirements."""

    name: str
    threshold: float
    estimate: Estimate
    meets: bool = True


@dataclass(frozen=True, slots=True)
class Honest:
    """The figures when each case was judged at a threshold that was chosen without it.

    They estimate `TARGET`.
    """

    TARGET: ClassVar[str] = "what a threshold that is chosen in this way on so many cases gives on new cases"

    estimate: Estimate
    required: tuple[Estimate, ...]
    confusion: Confusion
    thresholds: tuple[float, ...]
    unmet: int

    @property
    def folds(self) -> int:
        """How many folds there were."""
        return len(self.thresholds)


class Decision(Result):
    """What `choose_threshold` returns: how cases are called, and what holds then.

    Of two classes it is a chosen threshold (`ThresholdDecision`). Of several with a cost for each error there is no
    threshold, which is nan, and the class of least expected cost is predicted (`CostOfDecision`).

    >>> import heldout
    >>> float(heldout.choose_threshold([0, 1, 1, 0], [0.2, 0.9, 0.4, 0.3], by="accuracy"))
    0.4
    """

    threshold: float
    columns: str
    notes: tuple[str, ...]

    def __float__(self) -> float:
        return self.threshold

    @property
    @abstractmethod
    def confusion(self) -> Confusion:
        """The counts when these cases are called so."""


@dataclass(frozen=True, eq=False)
class ThresholdDecision(Decision, RenderedResult):
    """A chosen threshold: a case is called positive when its score is at least `threshold`.

    Every threshold above `above` and up to `threshold` certainly calls the same of these cases positive. `criterion`
    is what was optimised, at the chosen threshold. Its interval reaches as far further to the bad side as the choice is
    optimistic; `corrected` is its value less the optimism. `interval` holds the thresholds that the cases do not rule
    out as the best; where requirements decide, it is a bootstrap. `notes` say what is to be known of the cases it was
    chosen from. `float(decision)` is the threshold.

    >>> import heldout
    >>> truth, score = [0, 0, 1, 0, 1, 1] * 20, [0.1, 0.2, 0.35, 0.4, 0.7, 0.9] * 20
    >>> chosen = heldout.choose_threshold(truth, score, by="youden", replicates=50)
    >>> chosen.threshold
    0.7
    """

    schema: ClassVar[str] = "heldout/decision@1"
    _rendered_by: ClassVar[str] = "heldout.report.decision:render_decision"
    _charts: ClassVar[Mapping[str, str]] = {
        "alternatives": "heldout.report.decision:draw_alternatives",
        "matrix": "heldout.report.decision:draw_matrix",
        "intervals": "heldout.report.interval_chart:draw_rows",
    }

    threshold: float
    above: float
    by: str
    rule: str
    criterion: Estimate
    lower: bool
    corrected: float
    interval: Estimate
    required: tuple[Estimate, ...]
    requirements: tuple[str, ...]
    alternatives: tuple[Alternative, ...]
    honest: Honest | None
    warnings: tuple[str, ...]
    figures: Figures = field(repr=False)
    columns: str = ""
    notes: tuple[str, ...] = ()

    @cached_property
    def estimates(self) -> tuple[Estimate, ...]:
        """Every measure of the counts at the threshold."""
        return tuple(map(self._at_given_threshold, self.figures.everything()))

    @property
    def confusion(self) -> Confusion:
        """The counts at the threshold, of these cases as they are."""
        return self.figures.confusion

    @property
    def positive(self) -> Label:
        """The class that is predicted from the threshold on."""
        return self.figures.classes[1]

    @property
    def negative(self) -> Label:
        """The other class."""
        return self.figures.classes[0]

    @property
    def prevalence(self) -> float | None:
        """The share of positives that the decision is for, where it was given."""
        return self.figures.prevalence

    @property
    def level(self) -> float:
        """The level of the intervals at both thresholds."""
        return self.figures.level

    @property
    def n(self) -> int:
        """The number of cases that it was chosen on."""
        return self.confusion.n_cases

    @property
    def optimism(self) -> float:
        """How much better the criterion looks on the cases it was chosen on than it is, by the bootstrap."""
        gap = self.criterion.value - self.corrected
        return -gap if self.lower else gap

    def __getitem__(self, name: str) -> Estimate:
        """Any measure at the chosen threshold, of the positive class where a class is needed."""
        estimate = self.figures.of_quantity(resolve_quantity(name, self.figures.classes, self.figures.costs))
        return self._at_given_threshold(estimate)

    def _at_given_threshold(self, estimate: Estimate) -> Estimate:
        """What was optimised has two intervals, so that of a threshold which was not chosen says that it is that."""
        return estimate if knowing_of_the_choice(estimate, self) is estimate else replace(estimate, note=GIVEN)

    def rows(self) -> list[dict[str, object]]:
        """The threshold, the criterion, what the alternatives give, and every measure at the threshold."""
        named: list[tuple[str, float, Estimate]] = [
            ("threshold", self.threshold, self.interval),
            ("criterion", self.threshold, self.criterion),
        ]
        if self.honest is not None:
            named += [("honest", float("nan"), e) for e in (self.honest.estimate, *self.honest.required)]
        named += [("at threshold", self.threshold, estimate) for estimate in self.estimates]
        named += [(other.name, other.threshold, other.estimate) for other in self.alternatives]
        return [row | {"role": role, "threshold": at} for role, at, estimate in named for row in estimate.rows()]

    def facts(self) -> dict[str, object]:
        """The threshold, how it was chosen, and what is known of it."""
        return {
            "n": self.n,
            "threshold": self.threshold,
            "above": self.above,
            "by": self.by,
            "rule": self.rule,
            "requirements": list(self.requirements),
            "positive": self.positive,
            "negative": self.negative,
            "prevalence": self.prevalence,
            "corrected": self.corrected,
            "optimism": self.optimism,
            "confusion": {
                "labels": [self.negative, self.positive],
                "rows": "truth",
                "matrix": self.confusion.matrix.tolist(),
            },
            "level": self.level,
            "seed": self.figures.seed,
            "replicates": self.figures.replicates,
            "honest": _honest_facts(self.honest),
            "warnings": list(self.warnings),
            "notes": list(self.notes),
        }


def _honest_facts(honest: Honest | None) -> Mapping[str, object] | None:
    if honest is None:
        return None
    return {
        "folds": honest.folds,
        "thresholds": list(honest.thresholds),
        "unmet": honest.unmet,
        "matrix": honest.confusion.matrix.tolist(),
    }


def knowing_of_the_choice(estimate: Estimate, decision: ThresholdDecision) -> Estimate:
    """An estimate with the interval of what was optimised, where it is that; a total cost is so many times the mean."""
    chosen = decision.criterion
    if (estimate.measure, estimate.class_, estimate.average) == (chosen.measure, chosen.class_, chosen.average):
        return chosen
    n = float(decision.confusion.n)
    if _mean_of(estimate) == chosen.measure:
        factor = n
    elif _mean_of(chosen) == estimate.measure:
        factor = 1 / n
    else:
        return estimate
    return replace(estimate, low=chosen.low * factor, high=chosen.high * factor, method=chosen.method, note="")


def _mean_of(estimate: Estimate) -> str:
    """The measure whose mean grows into this one with the number of cases; empty of what is no total."""
    measure = CATALOGUE.get(estimate.measure)
    return "" if measure is None else measure.total
