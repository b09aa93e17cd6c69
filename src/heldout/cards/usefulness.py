"""Where acting on a model beats acting on everybody and on nobody: net benefit over the range of thresholds."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arrays import Codes, Floats
from heldout.curves.decision import GRID, net_benefit
from heldout.errors import OptionError
from heldout.evidence import Label
from heldout.intervals.estimate import Estimate
from heldout.intervals.quantiles import t_value
from heldout.intervals.score_limits import mean_cost_limits
from heldout.measures.catalogue import headline_quantities
from heldout.report.evaluation import against_no_model, titled
from heldout.results.evaluation import Evaluation

Ranges = tuple[tuple[float, float], ...]

REFERENCE = "Vickers & Elkin (2006), Medical Decision Making 26(6)"


@dataclass(frozen=True, slots=True)
class BenefitPoint:
    """One threshold: the net benefit of the model, of acting on all, and what it gains over the better of the two.

    Acting on nobody has a net benefit of 0. The limits of the gain hold for both comparisons at once, point by point.
    """

    threshold: float
    benefit: float
    low: float
    high: float
    everyone: float
    gain: float
    gain_low: float
    gain_high: float


@dataclass(frozen=True, slots=True)
class Usefulness:
    """Net benefit against always and never, at every threshold of a grid.

    `better` are the ranges of thresholds where the model gains something on these cases, `surely` those where the
    interval of the gain lies above 0. `best` is the point of the largest gain. `undefined` says why it does not apply.
    """

    positive: Label | None
    points: tuple[BenefitPoint, ...]
    better: Ranges
    surely: Ranges
    best: BenefitPoint | None
    n: int
    level: float
    method: str
    undefined: str = ""

    def document(self) -> dict[str, object]:
        """The usefulness as it stands in a JSON document."""
        return {
            "positive": self.positive,
            "better_than_both": [list(ends) for ends in self.better],
            "surely_better_than_both": [list(ends) for ends in self.surely],
            "largest_gain": None if self.best is None else asdict(self.best),
            "points": [asdict(point) for point in self.points],
            "n": self.n,
            "level": self.level,
            "method": self.method,
            "undefined": self.undefined,
            "reference": REFERENCE,
        }


def not_useful(why: str, level: float, positive: Label | None = None) -> Usefulness:
    """No net benefit, and why."""
    return Usefulness(positive, (), (), (), None, 0, level, "", why)


@dataclass(frozen=True, eq=False)
class ProbabilityPredictions:
    """The predictions of probabilities: of every one the case, the probability, and whether it is positive.

    `weight` makes several predictions of one case count as one, and `group` is the group of each, if there are groups.
    `independent` is the share of the cases that counts as independent.
    """

    probability: Floats
    positive: NDArray[np.bool_]
    weight: Floats
    group: Codes | None = None
    independent: float = 1.0

    @property
    def n(self) -> float:
        """The number of distinct cases."""
        return float(self.weight.sum())


def compute_usefulness(judged: ProbabilityPredictions, positive: Label, level: float) -> Usefulness:
    """The net benefit at thresholds from .01 to .99, with limits for what is known of independent cases.

    Each comparison is the mean of what one case adds, whose possible values are known: of the model against nobody 1,
    0 and −t/(1 − t); against acting on all, t/(1 − t), 0 and −1.

    >>> probability, truth = np.repeat([0.9, 0.1], [40, 60]), np.repeat([True, False], [40, 60])
    >>> sure = ProbabilityPredictions(probability, truth, np.ones(100))
    >>> found = compute_usefulness(sure, "yes", 0.95)
    >>> found.better, found.best.threshold
    (((0.11, 0.9),), 0.4)
    """
    hits, alarms = (_sum_acted_on(judged, kind) for kind in (judged.positive, ~judged.positive))
    points = tuple(
        _point(judged, ActedOn(threshold, tp, fp, hits[0], alarms[0]), level)
        for threshold, tp, fp in zip(GRID, hits[1:], alarms[1:], strict=True)
    )
    better = _find_ranges([point.gain > 1e-12 for point in points])
    surely = _find_ranges([point.gain_low > 0 for point in points])
    best = max(points, key=lambda point: point.gain)
    factor = 1 / judged.independent if judged.independent else 1.0
    scaled = "score" if math.isclose(factor, 1.0) else f"score, n/{factor:g}"
    method = scaled if judged.group is None else "cluster-robust t"
    if not judged.independent:
        method = ""
    shown = best if best.gain > 1e-12 else None
    return Usefulness(positive, points, better, surely, shown, round(judged.n), level, method)


@dataclass(frozen=True, slots=True)
class ActedOn:
    """Positives and negatives that are acted on at a threshold, of all of them."""

    threshold: float
    tp: float
    fp: float
    positives: float
    negatives: float


def _sum_acted_on(judged: ProbabilityPredictions, kind: NDArray[np.bool_]) -> list[float]:
    """The weight of the cases of a kind: of all, then of those acted on at each threshold."""
    passed = np.searchsorted(GRID, judged.probability[kind], side="right")
    weights = np.bincount(passed, weights=judged.weight[kind], minlength=len(GRID) + 1)
    sums: list[float] = np.cumsum(weights[::-1])[::-1].tolist()
    return sums


def _point(judged: ProbabilityPredictions, counts: ActedOn, level: float) -> BenefitPoint:
    threshold, n = counts.threshold, counts.positives + counts.negatives
    fn, tn = counts.positives - counts.tp, counts.negatives - counts.fp
    benefit = float(net_benefit(counts.tp, counts.fp, n, threshold))
    everyone = float(net_benefit(counts.positives, counts.negatives, n, threshold))
    low, high = _limits(judged, threshold, [counts.tp, fn + tn, counts.fp], level)
    all_low, all_high = _limits(judged, threshold, [tn, counts.tp + counts.fp, fn], level, spared=True)
    # Better than both is no surer than better than the harder one to beat (an intersection-union test).
    return BenefitPoint(
        threshold, benefit, low, high, everyone, min(benefit, benefit - everyone), _least(low, all_low),
        _least(high, all_high),
    )  # fmt: skip


def _least(a: float, b: float) -> float:
    return math.nan if math.isnan(a) or math.isnan(b) else min(a, b)


def _limits(
    judged: ProbabilityPredictions, threshold: float, counts: list[float], level: float, *, spared: bool = False
) -> tuple[float, float]:
    """Limits of what acting on the model is worth for a case, by the score interval or over groups.

    Against acting on nobody, a hit is worth 1 and a false alarm costs the odds; against acting on everybody it is those
    `spared` that count: a negative is worth the odds, and a positive costs 1. `counts` are of these, none and those.
    """
    odds = threshold / (1 - threshold)
    values = [odds, 0.0, -1.0] if spared else [1.0, 0.0, -odds]
    if not judged.independent:
        return math.nan, math.nan
    if judged.group is None:
        return mean_cost_limits(values, np.maximum(counts, 0.0) * judged.independent, level)
    counted = (judged.probability >= threshold) != spared
    good = judged.positive != spared
    worth = np.where(counted, np.where(good, values[0], values[2]), 0.0)
    gained = np.bincount(judged.group, weights=judged.weight * worth)
    size = np.bincount(judged.group, weights=judged.weight)
    gained, size = gained[size > 0], size[size > 0]
    number = len(size)
    if number < 2:
        return min(values), max(values)
    mean = float(gained.sum() / size.sum())
    spread = float(np.square(gained - mean * size).sum()) * number / (number - 1) / float(size.sum()) ** 2
    half = float(t_value(level, number - 1)) * math.sqrt(spread)
    return max(min(values), mean - half), min(max(values), mean + half)


def _find_ranges(holds: list[bool]) -> Ranges:
    """Runs of thresholds at which something holds, each by its first and last."""
    ranges: list[tuple[float, float]] = []
    begun: Any = None
    for threshold, there in zip(GRID, holds, strict=True):
        if there:
            begun = (begun[0], threshold) if begun else (threshold, threshold)
        elif begun:
            ranges.append(begun)
            begun = None
    return (*ranges, begun) if begun else tuple(ranges)


@dataclass(frozen=True, slots=True)
class Performance:
    """The measures that a card names, the commonest class with its share, and whether the model beats it.

    `named` gives the title of each estimate.
    """

    estimates: tuple[Estimate, ...]
    named: tuple[str, ...]
    commonest: Label
    commonest_share: float
    verdict: str
    n: int

    def document(self) -> dict[str, object]:
        """The performance as it stands in a JSON document."""
        return {
            "commonest": self.commonest,
            "commonest_share": self.commonest_share,
            "verdict": self.verdict,
            "n": self.n,
            "estimates": [row for estimate in self.estimates for row in estimate.rows()],
        }


def summarise_performance(evaluation: Evaluation) -> Performance:
    """What a card says of an evaluation.

    >>> from heldout.api.evaluate import evaluate
    >>> summarise_performance(evaluate(["no", "no", "yes", "no"], ["no", "no", "yes", "yes"])).commonest_share
    0.75
    """
    confusion, positive = evaluation.confusion, evaluation.positive
    estimates: list[Estimate] = []
    for wanted in headline_quantities("card", positive):
        try:
            estimates.append(evaluation.get(wanted.bound.name, class_=wanted.class_, average=wanted.average))
        except OptionError:
            # A model without scores, or without probabilities, has no area or no loss.
            continue
    totals = confusion.truth_totals
    most = int(totals.argmax())
    return Performance(
        tuple(estimates),
        tuple(titled(e) for e in estimates),
        confusion.labels[most],
        float(totals[most] / confusion.n),
        against_no_model(evaluation),
        int(confusion.n_cases),
    )
