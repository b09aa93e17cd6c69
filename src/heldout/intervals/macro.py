"""Intervals for averages over classes: macro recall, macro and weighted precision, F-beta and Jaccard.

One construction serves all of them (derivation in docs/statistics.md): Wilson's interval at the average less
its bias, with the effective size at which a single proportion would have the variance of the average, and with
Student's t in place of z because a few small classes may carry most of that variance. The variance is taken
after adding a case, shared between right and wrong, so that a class without an error is not taken for certain.
The result is cut to the mean of the class limits, which holds the truth whenever every class's own interval does.
It is a formula of arrays, apart from `methods`, which declares it, as every formula of an interval is.
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
    _check_classes(sizes)
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
    by_support: bool = False,
) -> tuple[float, float]:
    """Limits of macro F-beta from the counts of each class and the matrix off its diagonal, or of weighted F-beta.

    The cells are needed because one wrong decision lowers two classes at once. A class that neither occurs
    nor is decided for is absent, as in `macro_proportion_limits`. `class_limits` are those of `f_score_limits`, where
    they are known already. Weighted averages are `by_support`, the number of cases of each class.

    >>> none = TableCells(np.array([], int), np.array([], int), np.array([]))
    >>> low, high = macro_f_limits([20, 20, 20], [0, 0, 0], [0, 0, 0], none)
    >>> print(f"{low:.3f} {high:.3f}")
    0.938 1.000
    """
    limits = f_score_limits(tp, fp, fn, beta, level) if class_limits is None else class_limits
    for_missed = 1 - 1 / (1 + beta * beta)
    weights = for_missed, 1 - for_missed
    return _average_limits(_floats(tp, fp, fn), cells, weights, limits, level, by_support=by_support)


def macro_jaccard_limits(
    tp: ArrayLike,
    fp: ArrayLike,
    fn: ArrayLike,
    cells: TableCells,
    *,
    level: float = 0.95,
    by_support: bool = False,
) -> tuple[float, float]:
    """Limits of the mean over classes of tp/(tp + fp + fn), like `macro_f_limits`.

    >>> none = TableCells(np.array([], int), np.array([], int), np.array([]))
    >>> low, high = macro_jaccard_limits([20, 20, 20], [0, 0, 0], [0, 0, 0], none)
    >>> print(f"{low:.3f} {high:.3f}")
    0.886 1.000
    """
    counts = _floats(tp, fp, fn)
    limits = wilson(counts[0], counts.sum(axis=0), level)
    return _average_limits(counts, cells, (1.0, 1.0), limits, level, by_support=by_support)


def weighted_precision_limits(
    tp: ArrayLike, fp: ArrayLike, fn: ArrayLike, cells: TableCells, *, level: float = 0.95
) -> tuple[float, float]:
    """Limits of precision averaged by the number of cases of each class, like `macro_f_limits`.

    A class that is never decided for is absent. Its share of the cases may have any precision.

    >>> cells = TableCells(np.array([2]), np.array([0]), np.array([4.0]))
    >>> low, high = weighted_precision_limits([20, 20, 0], [4, 0, 0], [0, 0, 4], cells)
    >>> print(f"{low:.3f} {high:.3f}")
    0.673 0.970
    """
    counts = _floats(tp, fp, fn)
    limits = wilson(counts[0], counts[0] + counts[1], level)
    return _average_limits(counts, cells, (0.0, 1.0), limits, level, by_support=True)


def _average_limits(
    counts: Floats,
    cells: TableCells,
    weights: tuple[float, float],
    limits: tuple[Floats, Floats],
    level: float,
    *,
    by_support: bool,
) -> tuple[float, float]:
    """Limits of an average of tp/(tp + a·fn + b·fp), of which precision, F-beta and Jaccard are three cases."""
    _check_classes(counts[0])
    a, b = weights
    support = counts[0] + counts[2]
    total = float(support.sum())
    shares = support / max(total, 1.0) if by_support else np.full(len(support), 1 / len(support))
    cases = counts[0] + (b > 0) * counts[1] + (a > 0) * counts[2]
    # A class without a share in the average has no part in its variance either.
    seen = (cases > 0) & (shares > 0)
    bounds = float(shares @ limits[0]), float(shares @ limits[1])
    if np.count_nonzero(seen) < 2:
        return bounds  # no pair of classes to confuse: the class's own limits are all there is
    (tp, fp, fn), share, m = counts[:, seen], shares[seen], cases[seen]
    value = _overlap(tp, fp, fn, a, b)[0]
    known = float(share.sum())
    table_mean, table_variance, class_variances = _table_variance(
        counts, seen, cells, weights, shares, total if by_support else np.inf
    )
    own, bias = _smoothed_moments(counts[:, seen], m, weights, share, total if by_support else np.inf)
    # The variance of the table knows how the classes move together, but its one added case is thinly spread;
    # the variances of the classes one by one have a case each.
    inflation = max(1.0, float(own.sum() / class_variances.sum()))
    return _combined(
        estimate=float(share @ value) / known,
        smoothed=table_mean,
        variance=table_variance * inflation,
        df=_satterthwaite(own, m),
        bounds=bounds,
        absent=1 - known,
        level=level,
        bias=bias,
    )


def _overlap(tp: Floats, fp: Floats, fn: Floats, a: float, b: float) -> tuple[Floats, Floats]:
    """The value tp/(tp + a·fn + b·fp) and its denominator; 0 where only errors of weight 0 were made."""
    whole = tp + a * fn + b * fp
    return tp / np.where(whole > 0, whole, 1), whole


def _table_variance(
    counts: Floats,
    seen: NDArray[np.bool_],
    cells: TableCells,
    weights: tuple[float, float],
    shares: Floats,
    total: float,
) -> tuple[float, float, Floats]:
    """At the table with one case added: the average, its δ-variance, and that of each class's part in it.

    Half a case is spread over the k diagonal cells, half over the k(k-1) others, all classes seen. With shares
    s the derivative is s_i(1-v_i)/D_i + C_i for the diagonal cell i and A_i + B_j + C_i for the cell (i, j),
    A = -a·s·v/D and B = -b·s·v/D, so that the sum over all the added cells needs no k×k table. C is what a case
    changes in the share of its class, (v_i - mean)/total, and 0 where the shares are given.
    """
    a, b = weights
    tp, fp, fn = counts[:, seen] + 0.5 / np.count_nonzero(seen)
    k, share = tp.size, shares[seen]
    value, whole = _overlap(tp, fp, fn, a, b)
    mean = float(share @ value / share.sum())
    moved = (value - mean) / total
    right, missed, wrong = share * (1 - value) / whole, -a * share * value / whole, -b * share * value / whole
    each = tp * right * right + fn * missed * missed + fp * wrong * wrong
    right, missed = right + moved, missed + moved
    full_missed, full_wrong = np.zeros(seen.size), np.zeros(seen.size)
    full_missed[seen], full_wrong[seen] = missed, wrong
    observed = np.sum(cells.count * np.square(full_missed[cells.row] + full_wrong[cells.column]))
    squares = (k - 1) * (missed @ missed + wrong @ wrong)
    products = 2 * (missed.sum() * wrong.sum() - missed @ wrong)
    added = 0.5 / (k * (k - 1)) * (squares + products)
    return mean, float(tp @ (right * right) + observed + added), each


def _smoothed_moments(
    counts: Floats, m: Floats, weights: tuple[float, float], share: Floats, total: float
) -> tuple[Floats, float]:
    """The variance of each class's part by itself, and the bias of the average, one case added to each class.

    The case is added at the common share of tp in m. The bias has two parts: the value of a class is high where, by
    chance, many of its cases were drawn, which raises its share too; and a ratio whose denominator is not the number
    of its cases is not the ratio of the means.
    """
    a, b = weights
    tp, fp, fn = counts[0], (b > 0) * counts[1], (a > 0) * counts[2]
    hit = (tp + _common(tp / m)) / (m + 1)
    errors = fp + fn
    clean = errors == 0
    missed = (1 - hit) * np.where(clean, 0.5 * (a > 0), fn / np.where(clean, 1, errors))
    wrong = 1 - hit - missed
    value, whole = _overlap(hit, wrong, missed, a, b)
    unbiased = (m + 1) ** 2 / (m * m + m + 1)
    spread = hit * (1 - value) ** 2 + value * value * (a * a * missed + b * b * wrong)
    with_share = b * wrong * value / whole / total
    of_ratio = -share * value * (a * (1 - a) * missed + b * (1 - b) * wrong) / (whole * whole) / m
    return share**2 * spread / (whole * whole) / m * unbiased, float(np.sum((with_share + of_ratio) * unbiased))


def _combined(
    *,
    estimate: float,
    smoothed: float,
    variance: float,
    df: float,
    bounds: tuple[float, float],
    absent: float,
    level: float,
    bias: float = 0.0,
) -> tuple[float, float]:
    """Wilson about estimate - bias with the size smoothed(1 - smoothed)/variance and t, cut to the mean class limits.

    Absent classes, a share of all, may all be 0 or all be 1. The square of the bias that this would give
    the estimate is added to the variance; it is a bound, not an estimate, and costs no degrees of freedom.
    """
    unknown = absent * max(smoothed, 1 - smoothed)
    size = smoothed * (1 - smoothed) / (variance + unknown * unknown)
    low, high = wilson_at(min(max(estimate - bias, 0.0), 1.0), size, t_value(level, df))
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


def _check_classes(sizes: Floats) -> None:
    if sizes.size == 0:
        raise ValuesError("An average over classes needs classes, and there are none.", hint="give one count each.")
