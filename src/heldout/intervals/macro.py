"""Intervals for averages over classes: macro recall and precision, macro F-beta and macro Jaccard.

One construction serves all of them (derivation in docs/statistics.md): Wilson's interval at the average, with
the effective size at which a single proportion would have the variance of the average, and with Student's t
in place of z because a few small classes may carry most of that variance. The variance is taken after adding
a case, shared between right and wrong, so that a class without an error is not taken for certain. The result
is cut to the mean of the class limits, which holds the truth whenever every class's own interval does.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.arrays import Floats
from heldout.errors import ValuesError
from heldout.intervals.proportion import wilson, wilson_at
from heldout.intervals.quantiles import t_value
from heldout.intervals.score_limits import f_score_limits

_LEAST_DF = 4  # fewer make t so long that a class of 2 cases says nothing of the others


@dataclass(frozen=True, slots=True)
class TableCells:
    """The cells of a confusion matrix off its diagonal: `count` cases of class `row` decided as `column`."""

    row: NDArray[np.intp]
    column: NDArray[np.intp]
    count: Floats


def macro_proportion_limits(successes: ArrayLike, trials: ArrayLike, level: float = 0.95) -> tuple[float, float]:
    """Limits of the mean over classes of successes/trials: macro recall or macro precision.

    A class without trials is absent: the estimate leaves it out, the interval holds every value from 0 to 1
    possible for it.

    >>> low, high = macro_proportion_limits([20, 20, 20], [20, 20, 20])
    >>> print(f"{low:.3f} {high:.3f}")
    0.935 1.000
    """
    hits, sizes = (
        np.asarray(successes, dtype=np.float64).ravel(),
        np.asarray(trials, dtype=np.float64).ravel(),
    )
    _need_classes(sizes)
    seen = sizes > 0
    low, high = wilson(hits, sizes, level)
    x, n = (hits, sizes) if seen.all() else (hits[seen], sizes[seen])
    if n.size == 0:
        return 0.0, 1.0
    # One case is added to each class at the common rate. (n+1)^2/(n^2+n+1) makes p(1-p) unbiased again if
    # the class has that rate: E p~(1-p~) = pq(1 - n/(n+1)^2).
    rate = (x + _common(x / n)) / (n + 1)
    variances = rate * (1 - rate) / n * ((n + 1) ** 2 / (n * n + n + 1)) / sizes.size**2
    return _combined(
        estimate=float(np.mean(x / n)),
        smoothed=float(np.mean(rate)),
        variance=float(variances.sum()),
        df=_satterthwaite(variances, n),
        bounds=(float(low.mean()), float(high.mean())),
        absent=1 - n.size / sizes.size,
        level=level,
    )


def macro_f_limits(
    tp: ArrayLike,
    fp: ArrayLike,
    fn: ArrayLike,
    cells: TableCells,
    beta: float = 1.0,
    *,
    level: float = 0.95,
    class_limits: tuple[Floats, Floats] | None = None,
) -> tuple[float, float]:
    """Limits of macro F-beta from the counts of each class and the matrix off its diagonal.

    The cells are needed because one wrong decision lowers two classes at once. A class that neither occurs
    nor is decided for is absent, as in `macro_proportion_limits`. `class_limits` are those of `f_score_limits`, where
    they are known already.

    >>> none = TableCells(np.array([], int), np.array([], int), np.array([]))
    >>> low, high = macro_f_limits([20, 20, 20], [0, 0, 0], [0, 0, 0], none)
    >>> print(f"{low:.3f} {high:.3f}")
    0.938 1.000
    """
    limits = f_score_limits(tp, fp, fn, beta, level) if class_limits is None else class_limits
    for_missed = 1 - 1 / (1 + beta * beta)
    return _macro_overlap(_floats(tp, fp, fn), cells, (for_missed, 1 - for_missed), limits, level)


def macro_jaccard_limits(
    tp: ArrayLike, fp: ArrayLike, fn: ArrayLike, cells: TableCells, *, level: float = 0.95
) -> tuple[float, float]:
    """Limits of the mean over classes of tp/(tp + fp + fn), like `macro_f_limits`.

    >>> none = TableCells(np.array([], int), np.array([], int), np.array([]))
    >>> low, high = macro_jaccard_limits([20, 20, 20], [0, 0, 0], [0, 0, 0], none)
    >>> print(f"{low:.3f} {high:.3f}")
    0.886 1.000
    """
    counts = _floats(tp, fp, fn)
    limits = wilson(counts[0], counts.sum(axis=0), level)
    return _macro_overlap(counts, cells, (1.0, 1.0), limits, level)


def _macro_overlap(
    counts: Floats, cells: TableCells, weights: tuple[float, float], limits: tuple[Floats, Floats], level: float
) -> tuple[float, float]:
    """Limits of the mean of tp/(tp + a·fn + b·fp), of which F-beta and Jaccard are two cases."""
    classes = counts.shape[1]
    _need_classes(counts[0])
    a, b = weights
    cases = counts.sum(axis=0)
    seen = cases > 0
    present = int(np.count_nonzero(seen))
    bounds = float(np.mean(limits[0])), float(np.mean(limits[1]))
    if present < 2:
        return bounds  # no pair of classes to confuse: the class's own limits are all there is
    tp, fp, fn = counts if present == classes else counts[:, seen]
    m = cases[seen]
    value = _overlap(tp, fp, fn, a, b)[0]
    table_mean, table_variance, class_variances = _table_variance(counts, seen, cells, weights)
    own = _smoothed_variances(tp, fp, fn, m, weights)
    # The variance of the table knows how the classes move together, but its one added case is thinly spread;
    # the variances of the classes one by one have a case each.
    inflation = max(1.0, float(own.sum() / class_variances.sum()))
    return _combined(
        estimate=float(value.mean()),
        smoothed=table_mean,
        variance=table_variance * inflation / classes**2,
        df=_satterthwaite(own, m),
        bounds=bounds,
        absent=1 - present / classes,
        level=level,
    )


def _overlap(tp: Floats, fp: Floats, fn: Floats, a: float, b: float) -> tuple[Floats, Floats]:
    """The value tp/(tp + a·fn + b·fp) and its denominator; 0 where only errors of weight 0 were made."""
    whole = tp + a * fn + b * fp
    return tp / np.where(whole > 0, whole, 1), whole


def _table_variance(
    counts: Floats, seen: NDArray[np.bool_], cells: TableCells, weights: tuple[float, float]
) -> tuple[float, float, Floats]:
    """At the table with one case added: the mean value, the δ-variance of the sum, and that of each class.

    Half a case is spread over the k diagonal cells, half over the k(k-1) others, all classes seen. The
    derivative is (1-v_i)/D_i for the diagonal cell i and A_i + B_j for the cell (i, j), A = -a·v/D and
    B = -b·v/D, so that the sum over all the added cells needs no k×k table.
    """
    a, b = weights
    tp, fp, fn = counts[:, seen] + 0.5 / np.count_nonzero(seen)
    k = tp.size
    value, whole = _overlap(tp, fp, fn, a, b)
    right, missed, wrong = (1 - value) / whole, -a * value / whole, -b * value / whole
    full_missed, full_wrong = np.zeros(seen.size), np.zeros(seen.size)
    full_missed[seen], full_wrong[seen] = missed, wrong
    observed = np.sum(cells.count * np.square(full_missed[cells.row] + full_wrong[cells.column]))
    squares = (k - 1) * (missed @ missed + wrong @ wrong)
    products = 2 * (missed.sum() * wrong.sum() - missed @ wrong)
    added = 0.5 / (k * (k - 1)) * (squares + products)
    diagonal = tp * right * right
    each = diagonal + fn * missed * missed + fp * wrong * wrong
    return float(value.mean()), float(diagonal.sum() + observed + added), each


def _smoothed_variances(tp: Floats, fp: Floats, fn: Floats, m: Floats, weights: tuple[float, float]) -> Floats:
    """The variance of each class's value by itself, one case added at the common share of tp in m."""
    a, b = weights
    hit = (tp + _common(tp / m)) / (m + 1)
    errors = fp + fn
    clean = errors == 0
    missed = (1 - hit) * np.where(clean, 0.5, fn / np.where(clean, 1, errors))
    wrong = 1 - hit - missed
    value, whole = _overlap(hit, wrong, missed, a, b)
    spread = hit * (1 - value) ** 2 + value * value * (a * a * missed + b * b * wrong)
    return spread / (whole * whole) / m * ((m + 1) ** 2 / (m * m + m + 1))


def _combined(
    *,
    estimate: float,
    smoothed: float,
    variance: float,
    df: float,
    bounds: tuple[float, float],
    absent: float,
    level: float,
) -> tuple[float, float]:
    """Wilson with the effective size smoothed(1 - smoothed)/variance and t, cut to the mean class limits.

    Absent classes, a share of all, may all be 0 or all be 1. The square of the bias that this would give
    the estimate is added to the variance; it is a bound, not an estimate, and costs no degrees of freedom.
    """
    bias = absent * max(smoothed, 1 - smoothed)
    size = smoothed * (1 - smoothed) / (variance + bias * bias)
    low, high = wilson_at(estimate, size, t_value(level, df))
    return min(max(float(low), bounds[0]), estimate), max(min(float(high), bounds[1]), estimate)


def _common(rates: Floats) -> float:
    """The rate that an unknown class is taken to have: the mean of the others and of one half, each alike.

    Over classes, not cases: the rate pooled over cases is that of the large classes, and where a rare class
    is worse than those it hides the rare class's variance (coverage .82 instead of .91 in one setting).
    """
    return float((rates.sum() + 0.5) / (rates.size + 1))


def _satterthwaite(variances: Floats, sizes: Floats) -> float:
    return max(_LEAST_DF, float(variances.sum() ** 2 / np.sum(variances * variances / sizes)))


def _floats(*counts: ArrayLike) -> Floats:
    return np.array([np.asarray(count, dtype=np.float64).ravel() for count in counts])


def _need_classes(sizes: Floats) -> None:
    if sizes.size == 0:
        raise ValuesError("An average over classes needs classes, and there are none.", hint="give one count each.")
