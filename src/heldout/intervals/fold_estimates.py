"""Estimates over the folds of a plan: pooled counts, the spread over the folds, and intervals that allow for both."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import counted, method_key, require
from heldout.arrays import Floats
from heldout.errors import OptionError
from heldout.evidence import Confusion
from heldout.evidence.partitions import BATCH_CELLS, FoldCounts
from heldout.intervals.areas import KEPT_CASES, PlacementSpread, usual_spread
from heldout.intervals.count_estimator import Estimator
from heldout.intervals.dependence import Dependence
from heldout.intervals.estimate import Estimate, join_notes
from heldout.intervals.quantiles import single_root, t_value, z_value
from heldout.intervals.target import Subject
from heldout.measures.catalogue import find
from heldout.measures.cells import TableBatch
from heldout.measures.quantity import Bound, Quantity
from heldout.show.blocks import Block, Note
from heldout.show.numbers import number
from heldout.threads import cached_property

# An estimate over the folds of a plan: the value by the rule that fits the measure, and the other one beside it.

Rule = Literal["pooled", "mean", "ranks", ".632", ".632+"]

SUMS = "the counts of all folds together; the mean over folds of one size would be the same"
RATIOS = (
    "computed once from the counts of all folds together: a mean over folds is biased for ratios such as F, and "
    "undefined where a fold lacks a class"
)
LOSSES = "over all predictions together, because losses of cases add up"
RANKINGS = (
    "averaged over the folds: scores of different models are not comparable, so pooling them would rank the cases of "
    "one fold against those of another"
)
PLACES = (
    "made once from all cases, each at the place that it has within its fold: a mean over small folds is too good for "
    "what is the best of all thresholds, a part of a curve, or depends on the share of positives, and scores of "
    "different models are not comparable"
)
RAW_SCORES = (
    "the scores of all folds are ranked together as they are, which is off where the models of the folds score on "
    "different scales"
)
VALUES = "averaged over the folds, because the interval is made from the values in the folds"
MIXTURES = {
    ".632": "0.368 of the training set's counts and 0.632 of the out-of-bag counts",
    ".632+": "training set's and out-of-bag counts, weighted by how much the learner overfits",
}
REFERENCES: dict[Rule, str] = {
    "pooled": "Forman & Scholz (2010), SIGKDD Explorations 12(1)",
    "mean": "Forman & Scholz (2010), SIGKDD Explorations 12(1)",
    "ranks": "Forman & Scholz (2010), SIGKDD Explorations 12(1)",
    ".632": "Efron (1983), JASA 78",
    ".632+": "Efron & Tibshirani (1997), JASA 92",
}


@dataclass(frozen=True, slots=True, eq=False)
class FoldEstimate(Estimate):
    """One number from many folds.

    `rule` says how the folds were put together, and `other` is the value by the other rule (the mean over folds, or
    the pooled one). `spread` is the standard deviation over the folds: how much they differ, not how sure the value is.
    `folds` is the number of folds in which the measure is defined, of `splits` in all. `training` is the value on
    training cases. `target` says which error is estimated.
    """

    schema: ClassVar[str] = "heldout/estimate@1"

    rule: Rule = "pooled"
    other: float = math.nan
    spread: float = math.nan
    folds: int = 0
    splits: int = 0
    training: float = math.nan
    target: str = ""

    @property
    def gap(self) -> float:
        """How far the other value is from this one; what rounding leaves counts as nothing."""
        gap = self.other - self.value
        return 0.0 if abs(gap) < 1e-12 * max(1.0, abs(self.value)) else gap

    @property
    def reason(self) -> str:
        """Why the folds are put together so."""
        if self.rule in MIXTURES:
            return MIXTURES[self.rule]
        measure = find(self.measure).measure
        if self.rule == "ranks":
            return PLACES
        if self.rule == "mean":
            return RANKINGS if measure.over_folds == "mean" else VALUES
        if measure.over_folds == "ranks":
            return RAW_SCORES
        if measure.scope == "probability":
            return LOSSES
        return SUMS if measure.kind == "proportion" and measure.scope == "table" else RATIOS

    @property
    def reference(self) -> str:
        """Where the rule comes from."""
        return REFERENCES[self.rule]

    def rows(self) -> list[dict[str, Any]]:
        """One flat row."""
        return [
            # Not super(): with slots the class is made twice, and the first one is not ours any more.
            Estimate.rows(self)[0]
            | {
                "rule": self.rule,
                "other": self.other,
                "gap": self.gap,
                "spread": self.spread,
                "folds": self.folds,
                "training": self.training,
            }
        ]

    def blocks(self) -> list[Block]:
        """One line, and how the folds were put together."""
        style, digits = self.style, self.digits
        other = "pooled" if self.rule == "mean" else "mean over folds"
        message = (
            f"{self.rule}: {self.reason} ({self.reference}); {other} {number(self.other, style, digits)}, "
            f"standard deviation over {counted(self.folds, 'fold')} {number(self.spread, style, digits)}"
        )
        return [*Estimate.blocks(self), Note(message), *([Note(f"estimates {self.target}")] if self.target else [])]


# Intervals from the values in the single folds: corrected and naive t, and the mean of areas.

MEASURED_FOLDS = 10
# Just beside the estimate no value is rejected.
NEAR = 1e-9
# Where folds hold fewer than about four cases of either class, their luck cannot be told from what the cases show.
LEAST_LEFT = 0.1
NAIVE = (
    "the naive t takes the folds as independent, which they are not: in simulations its 95 % intervals held the true "
    "error 90 to 95 % of the time over 10 folds and little more than 40 % over 10 × 10"
)


@dataclass(frozen=True, slots=True)
class FoldMethod:
    """An interval made from the values in the single folds."""

    name: str
    summary: str
    reference: str
    find: Callable[[Floats, Dependence, float], tuple[float, float]]
    finding: str = ""


def corrected_t(values: Floats, plan: Dependence, level: float) -> tuple[float, float]:
    """Student's t with the variance of the mean raised for the training rows that the folds share.

    Nadeau & Bengio (2003): s² (1/J + test/train). Over repetitions the degrees of freedom are those of one of them,
    because further ones add no cases, but nine where one has fewer folds than ten: that is what was measured.

    >>> plan = Dependence(150, ratio=1 / 9, independent=10)
    >>> [round(x, 3) for x in corrected_t(np.array([.8, .9, .7, .8, .9, .8, .7, .9, .8, .7]), plan, 0.95)]
    [0.715, 0.885]
    """
    folds = min(len(values), max(plan.independent, MEASURED_FOLDS))
    return _t(values, 1 / max(len(values), 1) + plan.ratio, folds - 1, level)


def naive_t(values: Floats, plan: Dependence, level: float) -> tuple[float, float]:  # noqa: ARG001 - one signature
    """Student's t as if the folds were independent: too narrow."""
    return _t(values, 1 / max(len(values), 1), len(values) - 1, level)


def _t(values: Floats, factor: float, df: int, level: float) -> tuple[float, float]:
    if df < 1:
        return math.nan, math.nan
    half = float(t_value(level, df)) * math.sqrt(factor * float(values.var(ddof=1)))
    return float(values.mean()) - half, float(values.mean()) + half


FOLD_METHODS = {
    method.name: method
    for method in (
        FoldMethod(
            "corrected-t",
            "Student's t with the variance raised for the training rows that the folds share.",
            "Nadeau & Bengio (2003)",
            corrected_t,
        ),
        FoldMethod(
            "naive-t",
            "Student's t over the folds as if they were independent: too narrow.",
            "Dietterich (1998)",
            naive_t,
            NAIVE,
        ),
    )
}


@dataclass(frozen=True, slots=True)
class FoldArea:
    """The area under the ROC curve in one fold, with its cases of either class and how much their placements vary."""

    value: float
    sizes: tuple[float, float]
    spreads: tuple[PlacementSpread, PlacementSpread]


def mean_area_limits(folds: Sequence[FoldArea], plan: Dependence, level: float) -> tuple[float, float]:
    """Limits of the mean over folds of the area under the ROC curve: those areas that a test does not reject.

    The variance at an area is that of `areas.delong_score` at the sizes of each fold, with what the placements of all
    folds together show of either class. A fold of m of the n cases tells m/n of what all of them would, so the mean
    over a partition has the variance of one fold divided by the number of folds, and repetitions add nothing; it is
    then raised for what the folds share.

    >>> fold = FoldArea(0.8, (5.0, 5.0), (PlacementSpread(0.05, 4.0),) * 2)
    >>> low, high = mean_area_limits([fold] * 10, Dependence(100, factor=1.5), 0.95)
    >>> round(low, 3), round(high, 3)
    (0.682, 0.879)
    """
    value = float(np.mean([fold.value for fold in folds]))
    (up, up_freedom), (down, down_freedom) = _pool_spreads(folds, plan, value)
    p, q = np.array([fold.sizes for fold in folds]).T
    share = (p + q) / plan.n / len(folds)
    # The terms of the variance that go with area · (1 − area), and with the usual spread of placements.
    pairs, placed = float((share / (p * q)).sum()), float((share * ((q - 1) * up + (p - 1) * down) / (p * q)).sum())
    parts = up / p.sum(), down / q.sum()
    lost = parts[0] ** 2 / (up_freedom + KEPT_CASES) + parts[1] ** 2 / (down_freedom + KEPT_CASES)
    critical = float(t_value(level, sum(parts) ** 2 / lost)) if up_freedom or down_freedom else z_value(level)

    def rejects(area: float) -> float:
        variance = plan.ranked * (area * (1 - area) * pairs + usual_spread(area) * placed)
        return float((value - area) ** 2 - critical**2 * variance)

    low = single_root(rejects, 0.0, value - NEAR) if value > 2 * NEAR else 0.0
    high = single_root(rejects, value + NEAR, 1.0) if value < 1 - 2 * NEAR else 1.0
    return low, high


def _pool_spreads(
    folds: Sequence[FoldArea], plan: Dependence, value: float
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Of either class: the spread of placements over all folds as a ratio to the usual one, and its freedom.

    Each case is placed among the few of the other class in its fold, and the luck of those few is part of what the
    placements show: of the variance of one comparison that neither case explains, one part in as many as they are. It
    is taken out, because the variance of the mean has a term of its own for it.
    """
    expected, pair = usual_spread(value), value * (1 - value)
    if not expected > 0:
        return (1.0, 0.0), (1.0, 0.0)
    shown, luck, freedoms = np.zeros(2), np.zeros(2), np.zeros(2)
    for side in (0, 1):
        sizes = np.array([(fold.sizes[side] - 1, fold.sizes[1 - side]) for fold in folds])
        free = np.maximum(sizes[:, 0], 0.0)
        squares = free * [fold.spreads[side].variance for fold in folds]
        known = np.array([fold.spreads[side].freedom for fold in folds])
        fourths = np.divide(2 * squares**2, known, out=np.zeros(len(folds)), where=known > 0)
        shown[side] = squares.sum() / free.sum() if free.any() else expected
        luck[side] = (free / sizes[:, 1]).sum() / free.sum() if free.any() else 0.0
        # Repetitions place the same cases again.
        once = min(plan.n / sum(sum(fold.sizes) for fold in folds), 1.0)
        freedoms[side] = once * 2 * squares.sum() ** 2 / fourths.sum() if fourths.any() else 0.0
    left = 1 - luck.sum()
    if left > LEAST_LEFT:
        explained = (shown.sum() - luck.sum() * pair) / left
        shown = shown - luck * (pair - explained)
    ratios = (freedoms * np.clip(shown, 0.0, pair) / expected + KEPT_CASES) / (freedoms + KEPT_CASES)
    return (float(ratios[0]), float(freedoms[0])), (float(ratios[1]), float(freedoms[1]))


def nothing_told(values: Floats) -> str:
    """Why the values in the folds say nothing of how sure their mean is, where they do not.

    >>> nothing_told(np.array([0.8, 0.9])), nothing_told(np.array([1.0, 1.0]))
    ('', 'it is the same in every fold, which says nothing of how sure it is')
    """
    if len(values) < 2:
        return "it is defined in one fold only, which says nothing of how sure it is"
    # Differences that come from rounding are no spread.
    same = float(np.ptp(values)) <= 1e-12 * max(1.0, float(np.abs(values).max()))
    return "it is the same in every fold, which says nothing of how sure it is" if same else ""


def spread(values: Any) -> float:
    """The standard deviation over the folds where the measure is defined."""
    there = np.asarray(values, dtype=np.float64)
    there = there[~np.isnan(there)]
    return float(there.std(ddof=1)) if len(there) > 1 else math.nan


# From the counts of every fold to estimates: pooled, with the mean and the spread over the folds beside them.


@dataclass(frozen=True)
class FoldEstimator(Estimator):
    """Makes estimates of count measures from the folds of a plan.

    `confusion` holds every distinct case once, averaged over its predictions where it has several; `folds` the counts
    of each split; `training` those of training cases. A `fold_method` makes the interval from the values in the folds.
    """

    folds: FoldCounts | None = None
    training: Confusion | None = None
    rule: Rule = "pooled"
    fold_method: FoldMethod | None = None

    def ask(self, quantity: Quantity, method: str | None = None) -> Estimate:
        """One estimate; a method named here must apply."""
        by_fold = self._method(method)
        estimate = super().ask(quantity, None if by_fold is not None else method)
        subject = self.subject(quantity)
        values, training = self._values(subject), self._training(subject)
        if quantity.class_ is not None:
            index = self.confusion.index(quantity.class_)
            values, training = values[:, index], training[index]
        return self._folded(estimate, values, float(training), by_fold, must=method is not None)

    def classes(
        self, bound: Bound, method: str | None = None, among: NDArray[np.int64] | None = None
    ) -> list[Estimate]:
        """One estimate per class, or of the classes at the places `among`; a method named here must apply."""
        by_fold = self._method(method)
        estimates = super().classes(bound, None if by_fold is not None else method, among)
        subject = Subject(bound, self.confusion, "class")
        values, training = self._values(subject), self._training(subject)
        if among is not None:
            values, training = values[:, among], training[among]
        return [
            self._folded(estimate, column, float(value), by_fold, must=method is not None)
            for estimate, column, value in zip(estimates, values.T, training, strict=True)
        ]

    def per_fold(self, quantity: Quantity) -> NDArray[np.float64]:
        """The value in every fold; nan where it is undefined there."""
        values = self._values(self.subject(quantity))
        return values if quantity.class_ is None else values[:, self.confusion.index(quantity.class_)]

    @cached_property
    def _known(self) -> dict[Any, NDArray[np.float64]]:
        return {}

    @cached_property
    def _batches(self) -> list[TableBatch] | None:
        """The tables of all folds with the sums that measures share, where they fit in memory at once."""
        if self.folds is None or len(self.folds) * self.folds.n_classes**2 > BATCH_CELLS:
            return None
        return [TableBatch(tables) for tables in self.folds.tables()]

    def _values(self, subject: Subject) -> NDArray[np.float64]:
        require(self.folds, "there are no folds")
        # Balanced accuracy is a macro recall that leaves out no class: one name and axis, but two values.
        key = subject.bound.name, subject.axis, subject.strict
        if key not in self._known:
            values = self._sparse_values(subject) if self._many else self._table_values(subject)
            if subject.strict:
                lacking = np.isnan(self._values(Subject(subject.bound, self.confusion, "class"))).any(axis=1)
                values = np.where(lacking, np.nan, values)
            self._known[key] = values
        return self._known[key]

    @property
    def _many(self) -> bool:
        """Whether there are too many classes for a square table."""
        return self.confusion.n_classes**2 > BATCH_CELLS

    def _table_values(self, subject: Subject) -> NDArray[np.float64]:
        batches: Iterable[TableBatch] = self._batches or map(
            TableBatch, () if self.folds is None else self.folds.tables()
        )
        return np.concatenate([np.asarray(subject.of_tables(batch), dtype=np.float64) for batch in batches])

    @cached_property
    def _single(self) -> list[Confusion]:
        """The evidence of each fold by itself, with what measures share."""
        return [] if self.folds is None else list(self.folds)

    def _sparse_values(self, subject: Subject) -> NDArray[np.float64]:
        """The same fold by fold, from the cells that were met."""
        return np.array(
            [Subject(subject.bound, confusion, subject.axis).value for confusion in self._single], dtype=np.float64
        )

    def _training(self, subject: Subject) -> Any:
        if self.training is None:
            return np.full(subject.confusion.n_classes, math.nan) if subject.axis == "class" else math.nan
        return Subject(subject.bound, self.training, subject.axis, strict=subject.strict).value

    def _method(self, name: str | None) -> FoldMethod | None:
        return self.fold_method if name is None else FOLD_METHODS.get(method_key(name))

    def _folded(
        self,
        estimate: Estimate,
        values: NDArray[np.float64],
        training: float,
        by_fold: FoldMethod | None,
        *,
        must: bool,
    ) -> FoldEstimate:
        there = values[~np.isnan(values)]
        parts = {field.name: getattr(estimate, field.name) for field in fields(Estimate)}
        if find(estimate.measure).measure.total:
            # The total grows with the number of cases: a fold's stands for all of them.
            there, training = there * self.confusion.n, training * self.confusion.n
        # A mean over the few folds in which a measure happens to be defined says nothing. Nor does one over those of
        # folds of one case each: of F1 it is the Jaccard index.
        alone = self.folds is not None and len(self.folds.fold) == len(self.folds)
        told = 0 < len(there) == len(values) if alone else len(there) > 0 and 2 * len(there) >= len(values)
        rule, other = self.rule, float(there.mean()) if told else math.nan
        if by_fold is not None and (must or len(there) > 1) and (self.plan is None or not self.plan.refused):
            parts |= self._by_fold(by_fold, estimate, there)
            rule, other = "mean", estimate.value
        return FoldEstimate(
            **parts,
            rule=rule,
            other=other,
            spread=spread(there) if told else math.nan,
            folds=len(there),
            splits=len(values),
            training=training,
            target="" if self.plan is None else self.plan.target,
        )

    def _by_fold(self, method: FoldMethod, estimate: Estimate, there: NDArray[np.float64]) -> dict[str, Any]:
        """Value and limits of a method that knows nothing but the values in the folds: the value is their mean."""
        if self.plan is None or len(there) < 2:
            raise OptionError(
                f"The method {method.name!r} needs {estimate.name} in at least two folds; it is defined in "
                f"{len(there)}.",
                hint="use a plan with more folds, or leave out the method.",
            )
        low, high = method.find(there, self.plan, self.level)
        floor, ceiling = find(estimate.measure).measure.range
        low, high = max(low, floor), min(high, ceiling)
        silent = nothing_told(there)
        if silent:
            low = high = math.nan
        note = join_notes(estimate.note, method.finding, silent)
        return {"value": float(there.mean()), "low": low, "high": high, "method": method.name, "note": note}
