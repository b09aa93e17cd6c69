"""Standard errors beyond independent, equally weighted cases: clustered rows and weighted rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arrays import Floats
from heldout.evidence import Confusion
from heldout.evidence.confusion import Clusters
from heldout.evidence.probabilities import sums_by
from heldout.intervals.group_leverage import class_shares, group_freedom, group_spread, leverage_factors
from heldout.intervals.target import Subject
from heldout.measures.cells import class_cells


def cluster_spread(subject: Subject) -> tuple[Any, Any]:
    """Variance and degrees of freedom when whole groups of rows were sampled: the jackknife of `group_leverage`."""
    clusters, confusion = subject.confusion.clusters, subject.confusion
    if clusters is None:
        message = "there are no groups"
        raise TypeError(message)
    if clusters.number < 2:
        return np.full(np.shape(subject.value), np.inf), np.ones(np.shape(subject.value))
    squares = confusion.counts if confusion.squares is None else confusion.squares
    cases = float(confusion.n) ** 2 / float(squares.sum()) if len(squares) else 0.0
    if subject.axis == "class":
        return _class_spread(subject, clusters, cases)
    sums = sums_by(clusters.group, clusters.count * subject.gradient[clusters.cell], clusters.number)
    by_cell = squares * subject.gradient**2
    spread = sums_by(confusion.truth, by_cell, confusion.n_classes)
    shares = class_shares(clusters.group, confusion.truth[clusters.cell], clusters.count, spread, clusters.number)
    found = group_spread(sums, shares, independent=float(by_cell.sum()), cases=cases)
    return np.asarray(found.variance), np.asarray(found.df)


def groups_behind(subject: Subject) -> Any:
    """How many groups have cases in the denominator: of a class often fewer than there are groups in all."""
    clusters, confusion, measure = subject.confusion.clusters, subject.confusion, subject.bound.measure
    if clusters is None:
        message = "there are no groups"
        raise TypeError(message)
    if subject.axis != "class" or (not measure.strata and measure.kind != "f" and measure.name != "jaccard"):
        return np.full(np.shape(subject.value), float(clusters.number))
    memo, key = confusion.memo, ("groups behind", measure.strata)
    if key not in memo:
        k = confusion.n_classes
        truth, predicted = confusion.truth[clusters.cell], confusion.predicted[clusters.cell]
        places = {"truth": [truth], "predicted": [predicted]}.get(measure.strata, [truth, predicted])
        # By sorting: NumPy's own search for distinct numbers is several times as slow where most are distinct.
        pairs = np.sort(np.concatenate([clusters.group * k + place for place in places]))
        pairs = pairs[np.append(True, pairs[1:] != pairs[:-1])]
        memo[key] = np.bincount(pairs % k, minlength=k).astype(np.float64)
    return memo[key]


@dataclass(frozen=True, slots=True)
class _Meetings:
    """The groups and classes that meet, as truth or as prediction: one entry for each pair.

    `size` has the weight of every group; `own` that of the true cases of the class in the group, by pair. `entry` is
    the pair of each cell of a group in its row, then of each wrong one in its column.
    """

    group: NDArray[np.int64]
    class_: NDArray[np.int64]
    entry: NDArray[np.int64]
    own: Floats
    size: Floats


def _meetings(confusion: Confusion, clusters: Clusters) -> _Meetings:
    # Which groups meet which class does not depend on the measure.
    if "groups met" not in confusion.memo:
        i, j = confusion.truth[clusters.cell], confusion.predicted[clusters.cell]
        wrong, count, k = i != j, clusters.count.astype(np.float64), confusion.n_classes
        keys = np.concatenate([clusters.group * k + i, clusters.group[wrong] * k + j[wrong]])
        pairs, entry = np.unique(keys, return_inverse=True)
        own = sums_by(entry[: len(i)], count, len(pairs))
        size = sums_by(clusters.group, count, clusters.number)
        confusion.memo["groups met"] = _Meetings(pairs // k, pairs % k, entry, own, size)
    met: _Meetings = confusion.memo["groups met"]
    return met


def _class_spread(subject: Subject, clusters: Clusters, cases: float) -> tuple[Floats, Floats]:
    """The same for the 2 × 2 table of every class, without a groups × classes array.

    A group's influence on class c is (its size) · tn_c plus corrections from cells in row or column c. Its share of
    what the measure rests on is linear in its size and in its cases of the class, so that all sums over groups are
    sums over all groups, corrected where a group meets the class.
    """
    confusion, k = subject.confusion, subject.confusion.n_classes
    met, number = _meetings(confusion, clusters), clusters.number
    tp, fn, fp, tn = subject.gradient.T
    i, j = confusion.truth[clusters.cell], confusion.predicted[clusters.cell]
    wrong, count = i != j, clusters.count.astype(np.float64)
    change = np.concatenate(
        [count * np.where(wrong, fn[i] - tn[i], tp[i] - tn[i]), count[wrong] * (fp[j[wrong]] - tn[j[wrong]])]
    )
    sums = tn[met.class_] * met.size[met.group] + sums_by(met.entry, change, len(met.own))
    independent, alpha, beta = _share_weights(subject)
    base = alpha[met.class_] * met.size[met.group]
    shares = base + beta[met.class_] * met.own

    def by_class(values: Floats) -> Floats:
        return sums_by(met.class_, values, k)

    powers = [
        alpha**power * float((met.size**power).sum()) + by_class(shares**power - base**power) for power in (2, 3, 4)
    ]
    moved = (sums * leverage_factors(shares, number)) ** 2
    plain = sums**2
    if tn.any():
        # Groups that never meet the class move it by their size alone; equal sizes are worked out once.
        sizes, often = np.unique(met.size, return_counts=True)
        away = (tn[met.class_] * met.size[met.group]) ** 2
        others = np.zeros(k)
        for size, times in zip(sizes.tolist(), often.tolist(), strict=True):
            others += times * (tn * size * leverage_factors(alpha * size, number)) ** 2
        squares = others + by_class(moved - away * leverage_factors(base, number) ** 2)
        effect = tn**2 * float((met.size**2).sum()) + by_class(plain - away)
    else:
        squares, effect = by_class(moved), by_class(plain)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(independent > 0, effect / independent, 1.0)
    df = group_freedom((powers[0], powers[1], powers[2]), cases, ratio)
    # Terms cancel where no group moves the class at all; rounding must not leave less than nothing.
    return np.asarray(number / (number - 1) * np.maximum(squares, 0.0)), np.asarray(df)


def _share_weights(subject: Subject) -> tuple[Floats, Floats, Floats]:
    """The variance of independent cases for each class, and what a case of it, or of the rest, adds to a share.

    A group's share is `alpha` · its size + `beta` · its cases of the class.
    """
    confusion = subject.confusion
    _, squares, _ = _corners_of(confusion)
    spread = squares * subject.gradient**2
    independent, within = spread.sum(axis=1), spread[:, :2].sum(axis=1)
    own = np.asarray(confusion.truth_totals, dtype=np.float64)
    rest = float(confusion.n) - own
    with np.errstate(divide="ignore", invalid="ignore"):
        part = np.where(independent > 0, within / independent, own / float(confusion.n))
        of_rest, of_own = np.where(rest > 0, (1 - part) / rest, 0.0), np.where(own > 0, part / own, 0.0)
    return independent, of_rest, of_own - of_rest


def _corners_of(confusion: Confusion) -> tuple[Floats, Floats, Floats]:
    """TP, FN, FP, TN of every class in weights, squared weights and cases."""
    if "corner sums" not in confusion.memo:
        squares = confusion.counts if confusion.squares is None else confusion.squares
        columns = confusion.counts, squares, confusion.cases
        confusion.memo["corner sums"] = tuple(_corner_sums(confusion, values) for values in columns)
    sums: tuple[Floats, Floats, Floats] = confusion.memo["corner sums"]
    return sums


def effective_scale(subject: Subject) -> Any:
    """What to multiply weighted counts by, so that they count equally informative cases.

    The effective number is the smaller of Kish's (Σw)² / Σw², which sees only the weights, and the linearised
    one, which sees whether the errors sit on heavy cases.
    """
    confusion = subject.confusion
    if confusion.squares is None:
        return 1.0
    if subject.axis != "class":
        weights, squares, n = confusion.counts, confusion.squares, confusion.n_cases
        kish = confusion.n**2 / squares.sum()
        linear = _linearised(confusion.n, weights, squares, subject.gradient, n, axis=None)
        return np.minimum(kish, linear) / confusion.n
    weights, squares, cases = _corners_of(confusion)
    if subject.bound.measure.kind == "proportion":
        # The denominator of a proportion is a plain sum of cells, so it can be taken of squared weights too.
        held, held_squares, n = (subject.bound.pair(class_cells(*v.T))[1] for v in (weights, squares, cases))
    else:
        held, held_squares, n = (v.sum(axis=1) for v in (weights, squares, cases))
    with np.errstate(divide="ignore", invalid="ignore"):
        kish = np.where(held > 0, held**2 / held_squares, 0.0)
    linear = _linearised(held, weights, squares, subject.gradient, n, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(held > 0, np.minimum(kish, linear) / held, 1.0)


def _linearised(size: Any, weights: Any, squares: Any, gradient: Any, n: Any, axis: int | None) -> Any:
    plain = (weights * gradient**2).sum(axis=axis)
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = (squares * gradient**2).sum(axis=axis) * n / np.maximum(n - 1, 1)
        return np.where(spread > 0, size * plain / spread, np.inf)


def _corner_sums(confusion: Confusion, values: Any) -> Floats:
    counts = np.asarray(values, dtype=np.float64)
    return Confusion(confusion.labels, confusion.truth, confusion.predicted, counts).corners
