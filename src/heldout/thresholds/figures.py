"""The figures at one threshold: every measure with its interval, at the prevalence of the cases or at another."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.evidence import Confusion
from heldout.intervals.count_estimator import Estimator
from heldout.intervals.dependence import Dependence
from heldout.intervals.draws import CELL_PRIOR, posterior_draws, posterior_limits
from heldout.intervals.estimate import Estimate
from heldout.measures.catalogue import COUNTED, find, settle_usually
from heldout.measures.cells import CORNERS, Cells, class_cells
from heldout.measures.quantity import Quantity, is_of_order
from heldout.show.blocks import Style
from heldout.threads import cached_property
from heldout.thresholds.objective import Classes, Objective, quantity_values


def reweight_to_prevalence(confusion: Confusion, prevalence: float) -> Confusion:
    """The same cases, weighted by class so that this share of them is of the second class.

    >>> reweight_to_prevalence(Confusion.of([[60, 20], [5, 15]]), 0.4).matrix
    array([[45., 15.],
           [10., 30.]])
    """
    n = float(confusion.n)
    factor = np.array([1 - prevalence, prevalence]) * n / confusion.truth_totals
    by_cell = factor[confusion.truth]
    squares = confusion.counts if confusion.squares is None else confusion.squares
    clusters = confusion.clusters
    if clusters is not None:
        clusters = replace(clusters, count=clusters.count * by_cell[clusters.cell])
    return replace(
        confusion,
        counts=confusion.counts * by_cell,
        squares=squares * by_cell**2,
        rows=confusion.cases,
        clusters=clusters,
    )


Rates = tuple[Any, Any]


@dataclass(frozen=True)
class Figures:
    """Makes estimates at one threshold.

    With a `prevalence`, recall and specificity are estimated from the cases and everything else follows from the two
    and that prevalence, which is taken as known. `plan` says how cases depend on each other that were judged at
    thresholds chosen on the others.
    """

    confusion: Confusion
    classes: Classes
    costs: NDArray[np.float64] | None = None
    prevalence: float | None = None
    level: float = 0.95
    seed: int = 0
    replicates: int = 999
    plan: Dependence | None = None

    @cached_property
    def estimator(self) -> Estimator:
        """What makes the intervals at the prevalence of the cases."""
        return Estimator(self.confusion, self.level, self.seed, self.replicates, plan=self.plan)

    @cached_property
    def weighted(self) -> Estimator:
        """What makes them where rows are grouped and the prevalence is another one."""
        share = self.prevalence if self.prevalence is not None else 0.5
        confusion = reweight_to_prevalence(self.confusion, share)
        return Estimator(confusion, self.level, self.seed, self.replicates, plan=self.plan)

    def of_quantity(self, quantity: Quantity) -> Estimate:
        """A measure at this threshold."""
        cells = set(quantity.bound.measure.cells)
        one_class = quantity.class_ is not None and (cells <= {"tp", "fn"} or cells <= {"fp", "tn"})
        if self.prevalence is None or one_class:
            return self.estimator.ask(quantity)
        if self.confusion.clusters is not None:
            return self.weighted.ask(quantity)
        value = float(quantity_values(quantity, self._cells(self._rates), self.classes))
        drawn = np.asarray(quantity_values(quantity, self._cells(self._drawn), self.classes))
        floor, ceiling = quantity.bound.measure.range
        low, high = posterior_limits(np.broadcast_to(drawn, (posterior_draws(4),)), self.level)
        ends = float(np.fmax(np.fmin(low, value), floor)), float(np.fmin(np.fmax(high, value), ceiling))
        return Estimate(
            quantity.bound.name, quantity.class_, quantity.average, value, *ends, self.level, "beta draws",
            self.confusion.n_cases, quantity.bound.undefined if math.isnan(value) else "", "", _style(quantity),
        )  # fmt: skip

    def of_objective(self, objective: Objective) -> Estimate:
        """What is optimised, at this threshold."""
        if objective.quantity is not None:
            return self.of_quantity(objective.quantity)
        value = float(objective.values(self._cells(self._rates)))
        low, high = posterior_limits(objective.values(self._cells(self._drawn)), self.level)
        return Estimate(
            objective.name, None, None, value, min(float(low), value), max(float(high), value), self.level,
            "beta draws", self.confusion.n_cases, "" if not math.isnan(value) else "a class has no cases", "", "plain",
        )  # fmt: skip

    def of_constant(self, objective: Objective, *, positive: bool) -> Estimate:
        """What is optimised, for one and the same answer to every case: it depends on the prevalence alone."""
        share = self.estimator.ask(Quantity(find("prevalence"), class_=self.classes[1]))
        known = self.prevalence
        shares = np.array([share.value, share.low, share.high] if known is None else [known])
        zero = np.zeros_like(shares)
        parts = (shares, zero, 1 - shares, zero) if positive else (zero, shares, zero, 1 - shares)
        # Costs are per case here; the total is of the cases there are.
        n = 1.0 if objective.quantity is None else objective.quantity.times(self.confusion.n)
        values = np.broadcast_to(objective.values(class_cells(*parts)), shares.shape) * n
        defined = not math.isnan(values[0])
        quantity = objective.quantity
        return Estimate(
            objective.name,
            None if quantity is None else quantity.class_,
            None if quantity is None else quantity.average,
            float(values[0]),
            float(values.min()) if defined else math.nan,
            float(values.max()) if defined else math.nan,
            self.level,
            "known prevalence" if known is not None else f"{share.method} on the prevalence",
            self.confusion.n_cases,
            "" if defined or quantity is None else quantity.bound.undefined,
            "",
            objective.style,
        )

    @cached_property
    def _rates(self) -> Rates:
        tp, fn, fp, tn = self.confusion.corners[1]
        return tp / (tp + fn), fp / (fp + tn)

    @cached_property
    def _drawn(self) -> Rates:
        rng = np.random.default_rng([self.seed, 13])
        corners = self.confusion.corners[1]
        if self.confusion.squares is not None:
            # Weights count as the number of equally weighted cases of the class that say as much: Kish (1965).
            squares = np.bincount(self.confusion.truth, weights=self.confusion.squares, minlength=2)
            scale = self.confusion.truth_totals / squares
            corners = corners * scale[[1, 1, 0, 0]]
        if self.plan is not None:
            corners = corners / self.plan.factor
        drawn = rng.standard_gamma(corners[:, None] + CELL_PRIOR, size=(len(CORNERS), posterior_draws(4)))
        return drawn[0] / (drawn[0] + drawn[1]), drawn[2] / (drawn[2] + drawn[3])

    def _cells(self, rates: Rates) -> Cells:
        """TP, FN, FP, TN at the prevalence, in numbers that add up to the number of cases."""
        n = float(self.confusion.n)
        share = float(self.confusion.truth_totals[1]) / n if self.prevalence is None else self.prevalence
        up, down = share * n, (1 - share) * n
        tpr, fpr = rates
        return class_cells(up * tpr, up * (1 - tpr), down * fpr, down * (1 - fpr))

    def everything(self) -> tuple[Estimate, ...]:
        """Every measure of the counts, of all cases or of the positive class."""
        positive = self.classes[1]
        estimates = []
        # The order of two classes says nothing; at another prevalence than theirs, these cases have no total.
        measures = [m for m in COUNTED.values() if not is_of_order(m) and not (m.total and self.prevalence is not None)]
        for bound in settle_usually(measures, self.costs):
            whole = bound.measure.scope == "table" or bound.measure.overall
            estimates.append(self.of_quantity(Quantity(bound) if whole else Quantity(bound, class_=positive)))
        return tuple(estimates)


def stretch_interval(estimate: Estimate, optimism: float, objective: Objective) -> Estimate:
    """The interval at a fixed threshold, reaching further to the bad side by the optimism of the choice."""
    if math.isnan(optimism):
        return estimate
    low, high = estimate.low, estimate.high
    floor, ceiling = -math.inf, math.inf
    if objective.quantity is not None:
        floor, ceiling = objective.quantity.bound.measure.range
    if objective.lower:
        high = min(ceiling, high - min(optimism, 0.0))
    else:
        low = max(floor, low - max(optimism, 0.0))
    return replace(estimate, low=low, high=high, method=f"{estimate.method} + optimism")


def make_threshold_estimate(threshold: float, ends: tuple[float, float], method: str, level: float, n: int) -> Estimate:
    """The chosen threshold with its interval."""
    low, high = min(ends[0], threshold), max(ends[1], threshold)
    return Estimate("threshold", None, None, threshold, low, high, level, method, n, style="plain")


def _style(quantity: Quantity) -> Style:
    return "share" if quantity.bound.measure.bounded else "plain"
