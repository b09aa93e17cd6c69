"""Limits for one-sided statements, such as "recall is at least 0.8": each keeps its own error rate, low or high.

The two ends of an interval may share its error unevenly: Wilson's lower limit of a rate near 0 is too high in far more
than half of its misses. A gate reads one end only, so it needs limits whose own error keeps the level. Clopper and
Pearson's do for a rate: they are quantiles of the Beta distribution after one more case was added on the unfavourable
side. The same is done here for whatever else is made from counts: cells are drawn from the Dirichlet distribution
after one more case was added where it does most harm.

For two independent rates and a measure that moves one way with each (balanced accuracy, likelihood ratios, odds
ratios) that is the melded interval of Fay, Proschan and Brittain (2015), Biometrics 71, 146-156; for the mean of known
costs it is the bound of Phan, Thomas and Learned-Miller (2021), Towards practical mean bounds for small samples.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from heldout.arrays import Floats
from heldout.intervals.draws import Draws, order_limits, posterior_draws
from heldout.intervals.proportion import clopper_pearson
from heldout.intervals.target import Subject
from heldout.measures.cells import TableBatch, class_cells

Limits = tuple[Any, Any]

# The gradient is taken with this much in every cell, so that it exists where cells are empty.
INSIDE = 0.5
STREAM = 6


def guarded_class_limits(subject: Subject, level: float, draws: Draws) -> Limits:
    """Limits of a measure of TP, FN, FP and TN for every class; each end by itself has the error (1 − level) / 2."""
    if subject.bound.measure.kind == "f" and subject.bound.parameters["beta"] == 1:
        return _f1_limits(subject, level)
    counts, rng = subject.corners, draws.rng(STREAM)
    size = posterior_draws(counts.size, level)

    def limits(added: Floats) -> Limits:
        cells = rng.standard_gamma((counts + added).T[:, :, None], size=(4, len(counts), size))
        return _outer_limits(subject.of_classes(class_cells(*cells)), level)

    harmful, helpful = _added_corners(subject)
    return np.min([limits(added)[0] for added in harmful], axis=0), limits(helpful)[1]


def _outer_limits(values: Any, level: float) -> Limits:
    """Order statistics of draws; those without a value could be anything, so they lie beyond both ends."""
    drawn = np.asarray(values, dtype=np.float64)
    unknown = np.isnan(drawn)
    return tuple(order_limits(np.where(unknown, far, drawn), level)[end] for end, far in enumerate((-np.inf, np.inf)))  # type: ignore[return-value]


def _f1_limits(subject: Subject, level: float) -> Limits:
    """F1 is 2J / (1 + J), and of the cases that are TP, FN or FP the share J are TP: a plain rate."""
    tp, fn, fp, _ = subject.corners.T
    low, high = clopper_pearson(tp, tp + fn + fp, level)
    return 2 * low / (1 + low), 2 * high / (1 + high)


def _added_corners(subject: Subject) -> tuple[list[Floats], Floats]:
    """What is added to TP, FN, FP and TN of each class to lower the measure, in one way or several, and to raise it.

    TP and FN make up one rate and FP and TN another, so each pair gets a case. F-scores are one rate: FN and FP get a
    case between them, in whichever of the two it does more harm.
    """
    slope = subject.bound.class_gradient(subject.corners + INSIDE)
    if subject.bound.measure.kind == "f":
        tp, fn, fp, _ = (np.broadcast_to(row, slope.shape) for row in np.eye(4))
        return [fn, fp], tp
    return [np.where(slope < 0, 1.0, 0.0)], np.where(slope > 0, 1.0, 0.0)


def guarded_table_limits(subject: Subject, level: float, draws: Draws) -> Limits:
    """Limits of a measure of the whole table, or of an average over classes.

    One case is added to the decisions that are wrong, spread over all of them, or to those that are right. With two
    classes there are two rates, and each gets a case.
    """
    k = subject.confusion.n_classes
    right = np.eye(k)
    mass = float(k) if k <= 2 else 1.0
    table, rng = subject.confusion.matrix * subject.scale, draws.rng(STREAM)
    size = posterior_draws(k * k, level)
    pairs = []
    for cells in (1 - right, right):
        tables = rng.standard_gamma(table + mass * cells / cells.sum(), size=(size, k, k))
        pairs.append(_outer_limits(subject.of_tables(TableBatch(tables)), level))
    # Which of the two lowers the measure depends on whether errors do.
    lows, highs = zip(*pairs, strict=True)
    return min(lows), max(highs)


def guarded_mean_limits(values: Floats, counts: Floats, level: float, draws: Draws) -> tuple[float, float]:
    """Limits of the mean of known values: one more case of the least value for the lower one, of the largest above."""
    size, rng, ends = posterior_draws(len(values), level), draws.rng(STREAM), []
    for end, place in enumerate((int(values.argmin()), int(values.argmax()))):
        added = np.zeros(len(values))
        added[place] = 1.0
        shares = rng.standard_gamma(counts + added, size=(size, len(values)))
        ends.append(float(order_limits(shares @ values / shares.sum(axis=1), level)[end]))
    return ends[0], ends[1]


def effective_clopper_pearson(subject: Subject, level: float) -> Limits:
    """Clopper and Pearson's limits with the number of cases that gives a rate the same standard error.

    Korn and Graubard (1998), Survey Methodology 24, 193-201, do so for rates from surveys.
    """
    low, high = subject.bound.measure.range
    share = np.asarray((subject.value - low) / (high - low))
    spread = np.asarray(subject.variance) / (high - low) ** 2
    total = subject.confusion.n * np.asarray(subject.scale, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        size = np.where(spread > 0, np.minimum(share * (1 - share) / spread, total), total)
    ends = clopper_pearson(np.nan_to_num(share) * size, size, level)
    return tuple(np.where(np.isnan(share), np.nan, low + (high - low) * end) for end in ends)  # type: ignore[return-value]
