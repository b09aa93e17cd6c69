"""From the scores of every fold to estimates: averaged over the folds, ranked within them, or pooled."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import reduce
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import listing, method_key
from heldout.arrays import Floats
from heldout.errors import OptionError
from heldout.evidence import Label, Ranking
from heldout.evidence.losses import LOSSES
from heldout.evidence.score_bins import ordered
from heldout.intervals.area_bounds import BINS, allowing
from heldout.intervals.areas import logit_limits, placement_spreads
from heldout.intervals.dependence import Dependence
from heldout.intervals.estimate import NO_INTERVAL, Estimate, join_notes
from heldout.intervals.fold_estimates import (
    FOLD_METHODS,
    RAW_SCORES,
    FoldArea,
    FoldEstimate,
    FoldMethod,
    Rule,
    corrected_t,
    mean_area_limits,
    nothing_told,
    spread,
)
from heldout.intervals.proportion import wilson
from heldout.intervals.quantiles import z_value
from heldout.intervals.score_estimator import ScoreEstimator
from heldout.measures.quantity import Bound, Quantity
from heldout.show.numbers import share
from heldout.threads import cached_property

# Below these the places within the folds are too coarse (docs/statistics.md): a mean of so many cases of each class and
# of so many distinct scores in a fold. With fewer, average precision was off by up to its own standard error.
LEAST_CASES = 3.0
LEAST_SCORES = 10.0


def coarse_folds(folds: Sequence[Ranking], cases: Floats) -> str:
    """Why the cases cannot be ranked within their folds, empty where they can; `cases` of both classes in each fold.

    >>> folds = [Ranking(np.arange(9.0, 0, -1), np.eye(9, dtype=int)[0], 1 - np.eye(9, dtype=int)[0])] * 2
    >>> coarse_folds(folds, np.array([[1.0, 8.0], [1.0, 8.0]]))
    'the folds have 1 case of the rarer class on average, too few to rank cases within them'
    """
    if (cases.sum(axis=1) <= 1).all():
        return "every fold is one case, so there is nothing to rank it among"
    rarer = float(cases.mean(axis=0).min())
    if rarer < LEAST_CASES:
        few = f"{rarer:.1f}".removesuffix(".0")
        noun = "case" if few == "1" else "cases"
        return f"the folds have {few} {noun} of the rarer class on average, too few to rank cases within them"
    distinct = 1 / np.mean([_same(fold) for fold in folds if fold.n])
    if distinct < LEAST_SCORES - 1e-9:
        return f"the folds have only about {distinct:.0f} distinct scores, too few to rank cases within them"
    return ""


def _same(fold: Ranking) -> float:
    """The chance that two cases drawn with replacement have the same score: 1 / m where m are equally frequent."""
    return float(np.square((fold.positives * 1.0 + fold.negatives) / fold.n).sum())


Class = Literal["positives", "negatives"]


# A measure that is the best of all thresholds, or that depends on how frequent positives are, is too good in a small
# fold, and so is its mean over the folds: 300 cases with 30 positives, one scorer and 10 folds gave a mean of the
# Kolmogorov-Smirnov statistic of .74 where the truth is .55. So it is made once, from one ranking of all cases. Models
# of different folds score on different scales, so the ranking goes by the place of a case in its fold, which no
# monotone change of the scores of a fold can move.
def rank_within_folds(folds: Sequence[Ranking], first: Class | None = None) -> Ranking:
    """One ranking of the cases of all folds, by the place that each has among the cases of its fold.

    The place is the share of a fold's cases below it, where both classes weigh what they do over all folds: otherwise
    a fold that happens to hold more positives would push its negatives down. In a fold that lacks a class, a case is
    placed as its class is in the others. Cases of different folds at the same place are put one after the other, in
    the order of the folds, because a tie between them would mean nothing. Inside joined bins the cases of the class
    that is `first` are placed as high, and those of the other as low, as can be.

    >>> fold = Ranking(np.array([0.9, 0.4, 0.1]), np.array([1, 0, 1]), np.array([0, 1, 0]))
    >>> both = rank_within_folds([fold, replace(fold, scores=np.exp(fold.scores))])
    >>> both.positives, both.negatives
    (array([1, 1, 0, 0, 1, 1], dtype=uint8), array([0, 0, 1, 1, 0, 0], dtype=uint8))
    """
    totals = np.array([[fold.n_positive, fold.n_negative] for fold in folds], dtype=np.float64)
    shares = totals.sum(axis=0) / totals.sum()
    complete = (totals > 0).all(axis=1)
    placed: dict[int, Ranking] = {}
    for index in np.flatnonzero(complete).tolist():
        placed[index] = _place(folds[index], shares / totals[index], _turn(folds, index), first)
    for side in (0, 1):
        alone = np.flatnonzero((totals[:, side] > 0) & (totals[:, 1 - side] == 0))
        if len(alone):
            usual = _places_of_class(
                [(placed[at].scores, _both(placed[at])[:, side]) for at in np.flatnonzero(complete).tolist()]
            )
            for index in alone.tolist():
                below = _place(folds[index], np.eye(2)[side] / totals[index, side], _turn(folds, index), first)
                placed[index] = below if usual is None else replace(below, scores=np.interp(below.scores, *usual))
    return _merge([placed[index] for index in sorted(placed)])


def _place(fold: Ranking, weights: Floats, turn: float, first: Class | None) -> Ranking:
    """A fold with the places of its cases as scores; positives and negatives have these weights."""
    mass = _both(fold) @ weights
    below = np.cumsum(mass)
    if first is None or fold.joined is None:
        return replace(fold, scores=1 - (below - mass / 2) + turn, joined=None, ends=None)
    parts = ordered(fold, first=first)
    parted = fold.joined & (fold.positives > 0) & (fold.negatives > 0)
    entry = np.repeat(np.arange(len(fold)), np.where(parted, 2, 1))
    is_first = (parts.positives if first == "positives" else parts.negatives) > 0
    # Just inside the bin, so that it is not tied with the next one.
    reach = np.where(fold.joined[entry], mass[entry] * (0.5 - 1e-9), 0.0)
    middle = (1 - (below - mass / 2))[entry]
    return replace(parts, scores=middle + np.where(is_first, reach, -reach) + turn)


def _both(fold: Ranking) -> Floats:
    """Positives and negatives at every score, from the highest down."""
    return np.stack([fold.positives, fold.negatives], axis=1).astype(np.float64)


def _turn(folds: Sequence[Ranking], index: int) -> float:
    """How far a fold's cases stand off the middle of their step, so that those of two folds are never tied."""
    return ((index + 0.5) / len(folds) - 0.5) * _step(folds[index])


def _step(fold: Ranking) -> float:
    """The share of a fold that one of its cases is."""
    if fold.positive_squares is None or fold.negative_squares is None:
        return 1 / float(fold.n)
    # Kish's number of equally weighted cases that tell as much.
    return float(fold.positive_squares.sum() + fold.negative_squares.sum()) / float(fold.n) ** 2


def _places_of_class(known: Sequence[tuple[Floats, Floats]]) -> tuple[Floats, Floats] | None:
    """The shares of a class below, and the places that they have, from the places and counts of several folds."""
    if not known:
        return None
    indices, weight = (np.concatenate(column) for column in zip(*known, strict=True))
    order = np.argsort(indices, kind="stable")
    total = np.cumsum(weight[order])
    return (total - weight[order] / 2) / total[-1], indices[order]


def _merge(parts: list[Ranking]) -> Ranking:
    """The rankings together; by halves, so that many small ones are not added to a large one again and again."""
    while len(parts) > 2:
        parts = [reduce(Ranking.__add__, parts[at : at + 2]) for at in range(0, len(parts), 2)]
    return reduce(Ranking.__add__, parts)


# With more folds than this the value of a pooled measure in each of them is not worked out: it costs more than it says.
MANY_FOLDS = 500

# The averages over classes that are made in each fold.
FOLD_AVERAGES = frozenset({("roc_auc", "macro"), ("roc_auc", "weighted")})


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
        named = quantity.bound.name, quantity.average
        if len(self._truth) > 1 and quantity.average is not None and named not in FOLD_AVERAGES:
            raise OptionError(
                f"There is no {quantity.average} average of {quantity.bound.name} over folds.",
                hint=f"ask for one class, as in {quantity.bound.name}[{self.evidence.labels[0]}].",
            )
        way = "mean" if by_fold is not None else quantity.bound.measure.over_folds
        if len(self._truth) == 1:
            way, parts = "pooled", _fields(super().ask(quantity, method))
            values = np.array([parts["value"]])
        else:
            values = self.per_fold(quantity) if way == "mean" or self._few(quantity) else np.empty(0)
            if way == "ranks" and (np.count_nonzero(self._truth, axis=1) < 2).all():
                parts = self._unranked(quantity, "no fold holds cases of two classes")
            elif way == "ranks" and (why := self._coarse(quantity)):
                way, parts = "pooled", self._pooled(quantity, f"{why}; {RAW_SCORES}")
            elif way == "ranks":
                parts = self._ranked_once(quantity)
            else:
                parts = self._mean(quantity, values, by_fold) if way == "mean" else self._pooled(quantity)
        if self.plan.refused:
            parts |= {"low": math.nan, "high": math.nan, "method": NO_INTERVAL, "note": self.plan.refused}
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
            raise refuse_one_model(name)
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
            return self._unranked(quantity, f"in no fold is it defined ({quantity.bound.undefined})")
        left = len(values) - int(there.sum())
        notes = [f"undefined in {left:,} of {len(values):,} folds, which are left out"] if left else []
        used, measure = values[there], quantity.bound.measure
        silent = nothing_told(used)
        if by_fold is not None:
            notes += list(filter(None, (by_fold.finding, silent)))
            low, high, name = *by_fold.find(used, self.plan, self.level), by_fold.name
        elif (by_area := measure.scaled.measure.fold_interval) and quantity.average is None and self._weightless:
            low, high = FOLD_INTERVALS[by_area](self, quantity, used, there)
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

    def limit_mean_area(self, quantity: Quantity, used: Floats, there: NDArray[np.bool_]) -> tuple[float, float]:
        """Limits of the mean over folds of an area of one class, from the placements of the cases in their folds."""
        label: Label | None = quantity.class_ if quantity.class_ is not None else self.positive
        label = self.evidence.labels[0] if label is None else label
        scaling = quantity.bound.measure.scaled
        areas = ((used - scaling.offset) / scaling.slope).tolist()
        rankings = [fold for fold, defined in zip(self._rankings(label), there, strict=True) if defined]
        folds = [
            FoldArea(area, (float(fold.n_positive), float(fold.n_negative)), placement_spreads(fold))
            for area, fold in zip(areas, rankings, strict=True)
        ]
        # The cases of folds that are left out tell nothing.
        told = replace(self.plan, n=max(1, round(self.plan.n * self._truth[there].sum() / self._truth.sum())))
        return scaling.scale(mean_area_limits(folds, told, self.level))

    def _average_limits(self, quantity: Quantity, used: Floats, there: NDArray[np.bool_]) -> tuple[float, float]:
        """Limits of the mean over folds of an averaged area, from the variance over cases in each fold."""
        errors = [fold.area_error(quantity) for fold, defined in zip(self._folds, there, strict=True) if defined]
        sizes = self._truth[there].sum(axis=1)
        told = self.plan.n * sizes.sum() / self._truth.sum()
        value = float(used.mean())
        error = math.sqrt(self.plan.ranked * float(np.mean(np.square(errors) * sizes)) / told)
        edge = 0.5 / max(told, 1.0)
        if not edge < value < 1 - edge or not error:
            # At the edge there is no variance to see; Wilson with the cases of the smallest class has a width.
            least = float(self._truth.sum(axis=0)[self._truth.sum(axis=0) > 0].min()) * told / sizes.sum()
            least /= self.plan.ranked
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
        # The best and the worst places inside the bins of every fold: the places of the scores lie between.
        best, worst = (rank_within_folds(self._rankings(label), first) for first in ("positives", "negatives"))
        ends = _certain_ends(bound, best, worst)
        value, method = parts["value"], parts["method"] + BINS
        certain = min(ends[0], value), max(ends[1], value)
        low, high = allowing(value, (parts["low"], parts["high"]), certain, bound.measure.range)
        return parts | {"low": low, "high": high, "bounds": certain, "method": method}

    def _pooled(self, quantity: Quantity, caution: str = "") -> dict[str, Any]:
        """The interval of all predictions together, stretched for what they share."""
        parts = self._stretch(quantity, ScoreEstimator.ask(self, quantity))
        return parts | {"note": join_notes(parts["note"], caution)}

    def _stretch(self, quantity: Quantity, estimate: Estimate) -> dict[str, Any]:
        """An estimate of all predictions, with an interval that allows for what their models share."""
        value = self._mixed(estimate.value, quantity)
        # Predictions of one case by several models are not as many cases; where rows come in groups, the interval has
        # taken them as one already.
        times = 1.0 if self.evidence.grouped else self.evidence.n / self.plan.n
        factor = self.plan.ranked if quantity.bound.measure.kind == "precision area" else self.plan.factor
        stretch = math.sqrt(factor * times)
        low, high = (value + stretch * (limit - estimate.value) for limit in (estimate.low, estimate.high))
        measure = quantity.bound.measure
        name = estimate.method
        if stretch != 1 and name != NO_INTERVAL:
            name = f"{name}, n/{factor * times:.3g}"
        # The largest value of a mean loss depends on the number of classes: a Brier score of two is 1 at most.
        loss = LOSSES.get(measure.component)
        largest = math.inf if loss is None else loss.largest(self._probabilities(measure).n_classes)
        ends = max(low, measure.low), min(high, measure.high, largest)
        return _fields(estimate) | {"value": value, "low": ends[0], "high": ends[1], "method": name, "n": self.plan.n}

    def _unranked(self, quantity: Quantity, why: str) -> dict[str, Any]:
        """An estimate without a value, because no fold ranks anything."""
        return self._described(quantity) | {
            "undefined": f"{why}; over all folds together it would be {share(self.value(quantity))}, but that ranks "
            "scores of different models against each other"
        }

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
            "method": NO_INTERVAL,
            "note": "",
            "level": self.level,
            "n": self.plan.n,
            "undefined": "",
            "style": "share" if bound.measure.bounded else "plain",
        }


def _certain_ends(bound: Bound, best: Ranking, worst: Ranking) -> tuple[float, float]:
    """Between what a measure lies whose ranking lies between two others, of which one is better at every threshold."""
    low, high = sorted(float(bound.value({"ranking": order})) for order in (best, worst))
    if bound.measure.component == "largest gap":
        # It may lie on either side of the diagonal: certain is what one order leaves above it, or the other below.
        low = max(0.0, float(_gaps(worst).max(initial=0.0)), float((-_gaps(best)).max(initial=0.0)))
    return low, high


def _gaps(ranking: Ranking) -> Floats:
    """True less false positive rate at every threshold."""
    return np.asarray(ranking.tp / float(ranking.n_positive) - ranking.fp / float(ranking.n_negative))


# What a measure may name as its `fold_interval`.
FOLD_INTERVALS = {"delong-score": FoldScores.limit_mean_area}


def _over_folds(method: str) -> str:
    """The name of a method that was used in every fold.

    >>> _over_folds("delong-logit, at most")
    'delong-logit over folds, at most'
    """
    name, comma, rest = method.partition(",")
    return f"{name} over folds{comma}{rest}"


def _fields(estimate: Estimate) -> dict[str, Any]:
    return {f.name: getattr(estimate, f.name) for f in fields(Estimate)}


def refuse_one_model(method: str) -> OptionError:
    """The error of a method that takes all scores as those of one model where each fold has its own."""
    return OptionError(
        f"The method {method!r} takes all scores as those of one model, and here each fold has its own.",
        hint=f"use one of: {listing(FOLD_METHODS)}; or leave out the method.",
    )
