"""From the scores of every fold to estimates: averaged over the folds, ranked within them, or pooled."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import listing, method_key
from heldout.arrays import Floats
from heldout.errors import OptionError
from heldout.evidence import Label, Ranking
from heldout.evidence.score_bins import ordered
from heldout.intervals.area_bounds import BINS, allowing
from heldout.intervals.areas import logit_limits
from heldout.intervals.dependence import Dependence
from heldout.intervals.estimate import Estimate
from heldout.intervals.fold_estimates import (
    FOLD_METHODS,
    RAW_SCORES,
    FoldEstimate,
    FoldMethod,
    Rule,
    corrected_t,
    mean_area_limits,
    nothing_told,
    spread,
)
from heldout.intervals.fold_ranks import coarse_folds, rank_within_folds
from heldout.intervals.proportion import wilson
from heldout.intervals.quantiles import z_value
from heldout.intervals.score_estimator import ScoreEstimator
from heldout.measures.quantity import Quantity
from heldout.show.numbers import share

# With more folds than this the value of a pooled measure in each of them is not worked out: it costs more than it says.
MANY_FOLDS = 500


@dataclass(frozen=True)
class FoldScores(ScoreEstimator):
    """Makes estimates of measures of scores from the folds of a plan.

    `evidence` holds all predictions together. `resubstituted` are the scores of the training set, mixed in with weight
    1 − `weight` by the .632 rules.
    """

    plan: Dependence = field(default_factory=lambda: Dependence(1))
    rule: Rule = "pooled"
    fold_method: FoldMethod | None = None
    resubstituted: ScoreEstimator | None = None
    weight: float = 1.0

    def ask(self, quantity: Quantity, method: str | None = None) -> Estimate:
        """One estimate; a method named here must apply."""
        by_fold = self._method(method)
        self.must_name_class(quantity)
        way = "mean" if by_fold is not None else quantity.bound.measure.over_folds
        if len(self._truth) == 1:
            way, parts = "pooled", _fields(super().ask(quantity, method))
            values = np.array([parts["value"]])
        else:
            values = self.per_fold(quantity) if way == "mean" or self._few(quantity) else np.empty(0)
            if way == "ranks" and (why := self._coarse(quantity)):
                way, parts = "pooled", self._pooled(quantity, f"{why}; {RAW_SCORES}")
            elif way == "ranks":
                parts = self._ranked_once(quantity)
            else:
                parts = self._mean(quantity, values, by_fold) if way == "mean" else self._pooled(quantity)
        if self.plan.refused:
            parts |= {"low": math.nan, "high": math.nan, "method": "none", "note": self.plan.refused}
        there = values[~np.isnan(values)]
        mean = float(there.mean()) if len(there) else math.nan
        return FoldEstimate(
            **parts,
            rule=way if self.rule == "pooled" else self.rule,
            other=self._mixed(self.value(quantity), quantity) if way == "mean" else mean,
            spread=spread(there),
            folds=len(there),
            splits=len(self._truth),
            target=self.plan.target,
        )

    def _few(self, quantity: Quantity) -> bool:
        """Whether the values in the folds are worth their cost; calibration is biased in small folds in any case."""
        return len(self._truth) <= MANY_FOLDS and quantity.bound.measure.kind != "calibration"

    def _method(self, name: str | None) -> FoldMethod | None:
        if name is None:
            return self.fold_method
        key = method_key(name)
        if key in FOLD_METHODS and len(self._truth) == 1:
            raise OptionError(
                f"The method {name!r} needs at least two folds, and there is one.",
                hint="use a plan with more folds, or leave out the method.",
            )
        if key not in FOLD_METHODS and len(self._truth) > 1:
            raise OptionError(
                f"The method {name!r} takes all scores as those of one model, and here each fold has its own.",
                hint=f"use one of: {listing(FOLD_METHODS)}; or leave out the method.",
            )
        return FOLD_METHODS.get(key)

    @cached_property
    def _folds(self) -> list[ScoreEstimator]:
        return [ScoreEstimator(fold, self.positive) for fold in self.evidence.folds]

    @property
    def _truth(self) -> Floats:
        """Cases of each class in each fold."""
        return self.evidence.fold_cases

    def per_fold(self, quantity: Quantity) -> Floats:
        """The value in every fold; nan where it is undefined there."""
        if quantity.bound.measure.over_folds != "pooled" and (np.count_nonzero(self._truth, axis=1) < 2).all():
            # Leave-one-out, where every fold is one case: nothing to rank in any of them.
            return np.full(len(self._truth), np.nan)
        return np.array([self._mixed(fold.value(quantity), quantity) for fold in self._folds])

    def _mixed(self, value: float, quantity: Quantity) -> float:
        if self.resubstituted is None:
            return value
        return (1 - self.weight) * self.resubstituted.value(quantity) + self.weight * value

    def _mean(self, quantity: Quantity, values: Floats, by_fold: FoldMethod | None) -> dict[str, Any]:
        """The mean over the folds in which the measure is defined."""
        there = ~np.isnan(values)
        parts = self._described(quantity)
        if not there.any():
            parts["undefined"] = (
                f"in no fold is it defined ({quantity.bound.undefined}); over all folds together it would be "
                f"{share(self.value(quantity))}, but that ranks scores of different models against each other"
            )
            return parts
        left = len(values) - int(there.sum())
        notes = [f"undefined in {left:,} of {len(values):,} folds, which are left out"] if left else []
        used, measure = values[there], quantity.bound.measure
        silent = nothing_told(used)
        if by_fold is not None:
            notes += list(filter(None, (by_fold.finding, silent)))
            low, high, name = *by_fold.find(used, self.plan, self.level), by_fold.name
        elif (by_area := measure.scaled.measure.fold_interval) and quantity.average is None and self._weightless:
            low, high = self._area_limits(quantity, used, there)
            name, silent = _over_folds(by_area), ""
        elif (quantity.average is not None or measure.scope == "pairs") and self._weightless:
            low, high = self._average_limits(quantity, used, there)
            name, silent = _over_folds(self._folds[0].area_method(quantity)), ""
        else:
            notes += [silent] if silent else []
            low, high, name = *corrected_t(used, self.plan, self.level), "corrected-t"
        if silent:
            low = high = math.nan
        value, bounds = float(used.mean()), self._mean_bounds(quantity, values)
        if bounds is not None and not math.isnan(low):
            (low, high), name = allowing(value, (low, high), bounds, (measure.low, measure.high)), name + BINS
        ends = max(low, measure.low), min(high, measure.high)
        return parts | {
            "value": value, "low": ends[0], "high": ends[1], "method": name, "note": "; ".join(notes), "bounds": bounds
        }  # fmt: skip

    def _mean_bounds(self, quantity: Quantity, values: Floats) -> tuple[float, float] | None:
        """The mean of the bounds in the folds in which the measure is defined; None where all of them are exact."""
        pairs = zip(self._folds, values.tolist(), strict=True)
        pairs_of_bounds = [(fold.bounds(quantity), value) for fold, value in pairs if not math.isnan(value)]
        if self.resubstituted is not None or all(bounds is None for bounds, _ in pairs_of_bounds):
            return None
        low, high = np.mean(
            [(value, value) if bounds is None else bounds for bounds, value in pairs_of_bounds], axis=0
        ).tolist()
        return low, high

    @property
    def _weightless(self) -> bool:
        return not self.evidence.weighted and not self.evidence.grouped

    def _area_limits(self, quantity: Quantity, used: Floats, there: NDArray[np.bool_]) -> tuple[float, float]:
        label: Label | None = quantity.class_ if quantity.class_ is not None else self.positive
        index = self.evidence.labels.index(label) if label is not None else 0
        positives = self._truth[there, index]
        negatives = self._truth[there].sum(axis=1) - positives
        scaling = quantity.bound.measure.scaled
        areas = (used - scaling.offset) / scaling.slope
        # The cases of folds that are left out tell nothing.
        told = replace(self.plan, n=max(1, round(self.plan.n * self._truth[there].sum() / self._truth.sum())))
        return scaling.scale(mean_area_limits(areas, positives, negatives, told, self.level))

    def _average_limits(self, quantity: Quantity, used: Floats, there: NDArray[np.bool_]) -> tuple[float, float]:
        """Limits of the mean over folds of an averaged area, from the variance over cases in each fold."""
        errors = [fold.area_error(quantity) for fold, defined in zip(self._folds, there, strict=True) if defined]
        sizes = self._truth[there].sum(axis=1)
        told = self.plan.n * sizes.sum() / self._truth.sum()
        value = float(used.mean())
        error = math.sqrt(self.plan.factor * float(np.mean(np.square(errors) * sizes)) / told)
        edge = 0.5 / max(told, 1.0)
        if not edge < value < 1 - edge or not error:
            # At the edge there is no variance to see; Wilson with the cases of the smallest class has a width.
            least = float(self._truth.sum(axis=0)[self._truth.sum(axis=0) > 0].min()) * told / sizes.sum()
            least /= self.plan.factor
            low, high = (float(x) for x in wilson(value * least, least, self.level))
            return min(low, value), max(high, value)
        return logit_limits(value, error, z_value(self.level))

    def _coarse(self, quantity: Quantity) -> str:
        """Why the cases cannot be ranked within their folds, empty where they can."""
        label = self.must_name_class(quantity)
        if label not in self._why_coarse:
            positives = self._truth[:, self.evidence.labels.index(label)]
            cases = np.stack([positives, self._truth.sum(axis=1) - positives], axis=1)
            rankings = [] if (cases.sum(axis=1) <= 1).all() else self._rankings(label)
            self._why_coarse[label] = coarse_folds(rankings, cases)
        return self._why_coarse[label]

    @cached_property
    def _why_coarse(self) -> dict[Label, str]:
        return {}

    def _rankings(self, label: Label) -> list[Ranking]:
        return [fold.evidence.ranking(label) for fold in self._folds]

    @cached_property
    def _together(self) -> dict[Label, Ranking]:
        return {}

    def _ranked_once(self, quantity: Quantity) -> dict[str, Any]:
        """The value of all cases ranked within their folds, and the interval of that ranking, stretched."""
        label, bound = self.must_name_class(quantity), quantity.bound
        if label not in self._together:
            self._together[label] = rank_within_folds(self._rankings(label))
        parts = self._stretch(quantity, self._estimate(bound, self._together[label], label, None))
        if self.resubstituted is not None or not any(fold.joined is not None for fold in self._rankings(label)):
            return parts
        # The best and the worst order inside the bins of every fold: what moves up in its fold moves up here.
        ends = sorted(
            float(bound.value({"ranking": rank_within_folds([ordered(f, first=first) for f in self._rankings(label)])}))
            for first in ("positives", "negatives")
        )
        value, method = parts["value"], parts["method"] + BINS
        certain = min(ends[0], value), max(ends[1], value)
        low, high = allowing(value, (parts["low"], parts["high"]), certain, bound.measure.range)
        return parts | {"low": low, "high": high, "bounds": certain, "method": method}

    def _pooled(self, quantity: Quantity, caution: str = "") -> dict[str, Any]:
        """The interval of all predictions together, stretched for what they share."""
        parts = self._stretch(quantity, ScoreEstimator.ask(self, quantity))
        return parts | {"note": "; ".join(filter(None, (parts["note"], caution)))}

    def _stretch(self, quantity: Quantity, estimate: Estimate) -> dict[str, Any]:
        """An estimate of all predictions, with an interval that allows for what their models share."""
        value = self._mixed(estimate.value, quantity)
        # Predictions of one case by several models are not as many cases; where rows come in groups, the interval has
        # taken them as one already.
        times = 1.0 if self.evidence.grouped else self.evidence.n / self.plan.n
        stretch = math.sqrt(self.plan.factor * times)
        low, high = (value + stretch * (limit - estimate.value) for limit in (estimate.low, estimate.high))
        measure = quantity.bound.measure
        name = estimate.method if stretch == 1 else f"{estimate.method}, n/{self.plan.factor * times:.3g}"
        ends = max(low, measure.low), min(high, measure.high)
        return _fields(estimate) | {"value": value, "low": ends[0], "high": ends[1], "method": name, "n": self.plan.n}

    def _described(self, quantity: Quantity) -> dict[str, Any]:
        """An estimate without a value."""
        bound = quantity.bound
        label = quantity.class_ if quantity.class_ is not None or quantity.average is not None else self.positive
        if bound.measure.scope == "pairs":
            label = None
        return {
            "measure": bound.name,
            "class_": label,
            "average": quantity.average,
            **dict.fromkeys(("value", "low", "high"), math.nan),
            "method": "none",
            "note": "",
            "level": self.level,
            "n": self.plan.n,
            "undefined": "",
            "style": "share" if bound.measure.bounded else "plain",
        }


def _over_folds(method: str) -> str:
    """The name of a method that was used in every fold.

    >>> _over_folds("delong-logit, at most")
    'delong-logit over folds, at most'
    """
    name, comma, rest = method.partition(",")
    return f"{name} over folds{comma}{rest}"


def _fields(estimate: Estimate) -> dict[str, Any]:
    return {f.name: getattr(estimate, f.name) for f in fields(Estimate)}
