"""Reliability and calibration curves: how often the positives come among cases with about the same probability."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import check_level
from heldout.arrays import Floats
from heldout.curves.curve import Band, Curve, Reference, Scale
from heldout.curves.decision import refuse_scores
from heldout.curves.declare import CURVE_KINDS, curve
from heldout.errors import OptionError
from heldout.evidence import Label
from heldout.evidence.probabilities import Probabilities
from heldout.evidence.probability_bins import USUAL_BINS, ChosenBins, bin_edges
from heldout.evidence.ranking import Ranking
from heldout.intervals.calibration import curve_root
from heldout.intervals.proportion import wilson, wilson_at
from heldout.intervals.quantiles import t_value, z_value
from heldout.measures.calibration_curve import CalibrationCurve, smooth_calibration
from heldout.measures.declare import NO_CASES

PREDICTED = Scale("mean_probability", "Mean predicted probability of the bin")
OBSERVED = Scale("observed_rate", "Observed share of positives")
CONFIDENCE = Scale("mean_probability", "Mean of the highest probability, by bin")
RIGHT = Scale("observed_rate", "Share of the cases that were right")


@dataclass(frozen=True, slots=True, eq=False)
class _Bins:
    """Sums over the cases of each bin, with the limits of the observed share."""

    edges: Floats
    positives: Floats
    total: Floats
    predicted: Floats
    low: Floats
    high: Floats
    method: str


@curve(
    "reliability", "Reliability diagram", PREDICTED, OBSERVED, marks="dots", needs_probabilities=True,
    references=lambda _: (Reference("perfectly calibrated", (0.0, 1.0), (0.0, 1.0)),), rank=8,
)  # fmt: skip
def reliability(
    evidence: Ranking | Probabilities,
    bins: int | None = None,
    strategy: str = "uniform",
    *,
    level: float = 0.95,
    positive: Label | None = None,
) -> Curve:
    """The reliability diagram: the observed share of positives in each bin of the predicted probability.

    A probability on an edge belongs to the bin below it; empty bins have no point. There are 10 bins by default;
    `Probabilities` come in even bins, as many as were tallied. Each point has Wilson's interval of its bin, with the
    effective number of cases where there are weights or groups.

    >>> seen = Ranking(np.array([0.9, 0.8, 0.2]), np.array([6, 2, 1]), np.array([0, 2, 9]))
    >>> curve = reliability(seen, 2)
    >>> curve.x, curve.y
    (array([0.2 , 0.86]), array([0.1, 0.8]))
    """
    level = check_level(level)
    outcomes = ("positive", "negative")
    if isinstance(evidence, Ranking):
        refuse_scores(evidence, "reliability diagram")
        binned = _ranked_bins(evidence, bin_edges(evidence, USUAL_BINS if bins is None else bins, strategy), level)
        x, y, weighted = PREDICTED, OBSERVED, evidence.weighted
    else:
        binned = _tallied_bins(evidence, bins, strategy, level)
        x, y = (CONFIDENCE, RIGHT) if evidence.top_label else (PREDICTED, OBSERVED)
        outcomes = ("right", "wrong") if evidence.top_label else outcomes
        weighted = evidence.weighted
    filled = binned.total > 0
    chosen = isinstance(evidence, Probabilities) and isinstance(evidence.reliability, ChosenBins)
    kind_of_bins = "" if chosen else f"{strategy} "
    whole: Any = np.float64 if weighted else np.int64
    positives, total = (
        values[filled].round(0 if not weighted else 15).astype(whole) for values in (binned.positives, binned.total)
    )
    band = Band(
        "pointwise",
        binned.method,
        level,
        binned.predicted[filled] / binned.total[filled],
        binned.low[filled],
        binned.high[filled],
    )
    edges = {"bin_low": binned.edges[:-1][filled], "bin_high": binned.edges[1:][filled]}
    kind = CURVE_KINDS["reliability"]
    return Curve(
        kind.name, kind.title, x, y, band.x, binned.positives[filled] / binned.total[filled],
        positives.sum().item(), (total - positives).sum().item(), band=band,
        extra={**edges, "positives": positives, "n": total},
        references=kind.references(float("nan")), positive=positive,
        undefined="" if filled.any() else NO_CASES,
        notes=(f"{int(filled.sum())} of {len(filled)} {kind_of_bins}bins hold cases.",), outcomes=outcomes,
    )  # fmt: skip


@curve(
    "calibration", "Calibration curve", Scale("probability", "Predicted probability"),
    Scale("smooth_rate", "Smooth share of positives"), aliases=("smooth_reliability",), needs_probabilities=True,
    references=lambda _: (Reference("perfectly calibrated", (0.0, 1.0), (0.0, 1.0)),), rank=9,
)  # fmt: skip
def calibration(ranking: Ranking, *, level: float = 0.95, positive: Label | None = None) -> Curve:
    """The calibration curve: the share of positives as a smooth function of the predicted probability.

    There is a point for each of the cells that the cases are put into before smoothing. The band is Wilson's interval
    with the number of cases that decide the curve there, or the normal one where that is wider.

    >>> seen = Ranking(np.array([0.8, 0.5, 0.2]), np.array([9, 5, 1]), np.array([1, 5, 9]))
    >>> calibration(seen).y.round(2)
    array([0.1, 0.5, 0.9])
    """
    level = check_level(level)
    refuse_scores(ranking, "calibration curve")
    smooth = smooth_calibration(ranking)
    cells = smooth.bins.reliability
    filled = cells.weight > 0
    low, high, method = _smooth_band(smooth, level)
    whole: Any = np.float64 if ranking.weighted else np.int64
    positives, total = (
        values[filled].round(0 if not ranking.weighted else 15).astype(whole)
        for values in (cells.observed, cells.weight)
    )
    kind = CURVE_KINDS["calibration"]
    rate = np.clip(smooth.rate, 0.0, 1.0)
    return Curve(
        kind.name, kind.title, kind.x, kind.y, smooth.predicted, rate, ranking.n_positive, ranking.n_negative,
        band=Band("pointwise", method, level, smooth.predicted, low, high),
        extra={"positives": positives, "n": total}, references=kind.references(float("nan")), positive=positive,
        undefined=smooth.reason,
    )  # fmt: skip


def _smooth_band(smooth: CalibrationCurve, level: float) -> tuple[Floats, Floats, str]:
    """Wilson's limits with the effective number of cases at each point of a smooth curve."""
    groups, number = smooth.bins.groups, len(smooth.predicted)
    method = "wilson, smooth" if groups is None else "wilson, smooth, groups"
    if groups is not None and groups.number < 2:
        # One group says nothing of how groups differ.
        return np.zeros(number), np.ones(number), method
    rate = np.clip(smooth.rate, 0.0, 1.0)
    variance = (curve_root(smooth, level) ** 2).sum(axis=1)
    spread = np.maximum(rate * (1 - rate), smooth.predicted * (1 - smooth.predicted))
    filled = smooth.bins.reliability.weight > 0
    # One over the number of cases of each cell, and of each point of the curve if all cases varied alike.
    rare = smooth.bins.squares[filled] / smooth.bins.reliability.weight[filled] ** 2
    size = 1 / (smooth.operator**2 @ rare)
    independent = smooth.operator**2 @ (rare * spread)
    size *= np.divide(independent, variance, out=np.ones(number), where=variance > independent)
    low, high = wilson_at(rate, size, z_value(level))
    # Cases do not vary alike: at the ends the neighbours, with their larger spread, move the curve.
    half = z_value(level) * np.sqrt(variance)
    return np.maximum(np.minimum(low, rate - half), 0.0), np.minimum(np.maximum(high, rate + half), 1.0), method


def _ranked_bins(ranking: Ranking, edges: Floats, level: float) -> _Bins:
    number = len(edges) - 1
    where = np.searchsorted(edges[1:-1], ranking.scores)
    cases = ranking.positives + ranking.negatives
    positives, total, predicted = (
        np.bincount(where, weights=values, minlength=number).astype(np.float64)
        for values in (ranking.positives, cases, cases * ranking.scores)
    )
    return _Bins(edges, positives, total, predicted, *_limits(ranking, where, number, positives, total, level))


def _tallied_bins(tallied: Probabilities, bins: int | None, strategy: str, level: float) -> _Bins:
    tally = tallied.reliability
    if strategy != "uniform" or (bins is not None and bins != len(tally)):
        raise OptionError(
            f"These probabilities were tallied into {len(tally)} bins, which cannot be changed any more.",
            hint="tally them again with other bins, or draw the diagram from a ranking of the scores.",
        )
    rate = np.divide(tally.observed, tally.weight, out=np.full(len(tally), 0.5), where=tally.weight > 0)
    size, critical, method = tally.weight, z_value(level), "wilson"
    groups = tallied.groups
    if groups is not None:
        squares = np.bincount(groups.gaps.place, weights=groups.gaps.total**2, minlength=len(tally))
        units = np.bincount(groups.gaps.place, minlength=len(tally)).astype(np.float64)
        spread = squares * units / np.maximum(units - 1, 1)
        size = np.divide(
            rate * (1 - rate) * tally.weight**2, spread, out=units, where=(spread > 0) & (rate > 0) & (rate < 1)
        )
        size = np.minimum(size, tally.weight)
        critical = float(t_value(level, max(groups.number - 1, 1)))
        method = "wilson, groups"
    elif tallied.weighted:
        size, method = tally.weight * (tallied.n_kish / tallied.weight), "wilson, effective n"
    return _Bins(tally.edges, tally.observed, tally.weight, tally.predicted, *wilson_at(rate, size, critical), method)


def _limits(
    ranking: Ranking, where: NDArray[Any], bins: int, positives: Floats, total: Floats, level: float
) -> tuple[Floats, Floats, str]:
    rate = np.divide(positives, total, out=np.full(bins, 0.5), where=total > 0)
    if ranking.groups is not None:
        freedom = len(ranking.groups.keys) - 1
        if freedom < 1:
            # One group says nothing of how groups differ.
            return np.zeros(bins), np.ones(bins), "wilson, groups"
        size = _group_sizes(ranking, where, bins, rate, total)
        return *wilson_at(rate, size, float(t_value(level, freedom))), "wilson, groups"
    if ranking.positive_squares is not None and ranking.negative_squares is not None:
        squares = np.bincount(where, weights=ranking.positive_squares + ranking.negative_squares, minlength=bins)
        yes = np.bincount(where, weights=ranking.positive_squares, minlength=bins)
        spread = yes * (1 - rate) ** 2 + (squares - yes) * rate**2
        kish = np.divide(total**2, squares, out=np.zeros(bins), where=squares > 0)
        linear = np.divide(
            rate * (1 - rate) * total**2, spread, out=kish.copy(), where=(spread > 0) & (rate > 0) & (rate < 1)
        )
        return *wilson_at(rate, np.minimum(kish, linear), z_value(level)), "wilson, effective n"
    return *wilson(positives, total, level), "wilson"


def _group_sizes(ranking: Ranking, where: NDArray[Any], bins: int, rate: Floats, total: Floats) -> Floats:
    """The number of independent cases of each bin, from the spread between groups within it."""
    groups = ranking.groups
    if groups is None:
        return total
    number = len(groups.keys)
    pair, at = np.unique(where[groups.place] * number + groups.group, return_inverse=True)
    positives = np.bincount(at, weights=groups.positives)
    size = np.bincount(at, weights=groups.positives + groups.negatives)
    in_bin = pair // number
    units = np.bincount(in_bin, minlength=bins).astype(np.float64)
    gaps = np.bincount(in_bin, weights=(positives - rate[in_bin] * size) ** 2, minlength=bins)
    spread: Floats = np.asarray(gaps, dtype=np.float64) * units / np.maximum(units - 1, 1)
    # Where all groups of a bin agree, they are the units.
    effective = np.divide(rate * (1 - rate) * total**2, spread, out=units, where=(spread > 0) & (rate > 0) & (rate < 1))
    return np.asarray(np.minimum(effective, total))
