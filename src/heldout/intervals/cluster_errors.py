"""Standard errors beyond independent, equally weighted cases: clustered rows and weighted rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import require
from heldout.arrays import Floats
from heldout.evidence import Confusion
from heldout.evidence.confusion import Clusters
from heldout.evidence.probabilities import sums_by
from heldout.intervals.group_leverage import (
    EQUAL_GROUPS,
    class_shares,
    effective_number,
    group_freedom,
    group_spread,
    leverage_factors,
)
from heldout.intervals.target import Subject
from heldout.measures.cells import class_cells

# A variance of independent cases below this part of what the range of the measure allows is rounding: no case that was
# met moves the measure, as none moves the agreement of a constant answer.
NEGLIGIBLE = 1e-24


def cluster_spread(subject: Subject) -> tuple[Any, Any]:
    """Variance and degrees of freedom when whole groups of rows were sampled: the jackknife of `group_leverage`."""
    confusion = subject.confusion
    clusters = require(confusion.clusters, "there are no groups")
    if clusters.number < 2:
        return np.full(np.shape(subject.value), np.inf), np.ones(np.shape(subject.value))
    if subject.axis == "class":
        return _class_spread(subject, clusters)
    squares = confusion.counts if confusion.squares is None else confusion.squares
    sums = sums_by(clusters.group, clusters.count * subject.gradient[clusters.cell], clusters.number)
    by_cell = squares * subject.gradient**2
    spread = sums_by(confusion.truth, by_cell, confusion.n_classes)
    own = sums_by(confusion.truth, np.asarray(squares, dtype=np.float64), confusion.n_classes)
    truth = confusion.truth[clusters.cell]
    shares, pulls = class_shares(clusters.group, truth, clusters.count, spread, own, clusters.number)
    if by_cell.sum() <= rounding_variance(subject):
        return np.zeros(()), np.asarray(_freedom_of_sizes(clusters))
    grouped = group_spread(sums, shares, pulls, independent=float(by_cell.sum()))
    return np.asarray(grouped.variance), np.asarray(grouped.df)


def rounding_variance(subject: Subject) -> Any:
    """The variance that rounding alone gives a measure of this range, or of this value where it has no range."""
    confusion = subject.confusion
    if not confusion.n:
        # The tables of many thresholds stand beside each other, without cells in common.
        return 0.0
    squares = confusion.counts if confusion.squares is None else confusion.squares
    return NEGLIGIBLE * _squared_size(subject) * float(squares.sum()) / float(confusion.n) ** 2


def _squared_size(subject: Subject) -> Any:
    """The square of the width of the measure's range, or of the value where it has no range."""
    low, high = subject.bound.measure.range
    return np.square(high - low if np.isfinite(high - low) else np.nan_to_num(subject.value, posinf=0.0))


def _freedom_of_sizes(clusters: Clusters) -> float:
    """The degrees of freedom that the sizes of the groups leave where no case tells more."""
    sizes = sums_by(clusters.group, clusters.count.astype(np.float64), clusters.number)
    return max(effective_number(sizes / sizes.sum()) - 1, 1.0)


def equal_groups_size(subject: Subject, groups: Any) -> Any:
    """The number of cases that a bounded measure is worth where every group shows the same.

    No more than there are groups, and no more than give a proportion the variance that independent cases have: how much
    groups differ is not known then, and cases of one group may be copies of each other.
    """
    low, high = subject.bound.measure.range
    share = (np.asarray(subject.value) - low) / (high - low)
    with np.errstate(divide="ignore", invalid="ignore"):
        single = share * (1 - share) * (high - low) ** 2 / independent_variance(subject)
    return np.where(single > 0, np.minimum(groups, single), groups)


def independent_variance(subject: Subject) -> Any:
    """The variance that independent cases would have; with weights that of the effective number of cases."""
    return subject.scaled(subject.scale * effective_scale(subject)).variance


def equal_groups_variance(subject: Subject, groups: Any) -> Any:
    """The variance of independent cases, of which there are no more than groups."""
    cases = subject.confusion.n * subject.scale * effective_scale(subject)
    return independent_variance(subject) * np.maximum(cases / groups, 1.0)


def groups_behind(subject: Subject) -> Any:
    """How many groups have cases in the denominator: of a class often fewer than there are groups in all."""
    confusion, measure = subject.confusion, subject.bound.measure
    clusters = require(confusion.clusters, "there are no groups")
    if subject.axis != "class" or not (measure.strata or measure.overlap):
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


# Sizes of groups times classes that are worked out one by one.
MOST_SIZES = 200_000


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
    meetings: _Meetings = confusion.memo["groups met"]
    return meetings


def _class_spread(subject: Subject, clusters: Clusters) -> tuple[Floats, Floats]:
    """The same for the 2 × 2 table of every class, without a groups × classes array.

    A group's influence on class c is (its size) · tn_c plus corrections from cells in row or column c. Its share of
    what the measure rests on, and its pull, are linear in its size and in its cases of the class, so that all sums over
    groups are sums over all groups, corrected where a group meets the class.
    """
    confusion, k = subject.confusion, subject.confusion.n_classes
    meetings, number = _meetings(confusion, clusters), clusters.number
    tp, fn, fp, tn = subject.gradient.T
    i, j = confusion.truth[clusters.cell], confusion.predicted[clusters.cell]
    wrong, count = i != j, clusters.count.astype(np.float64)
    change = np.concatenate(
        [count * np.where(wrong, fn[i] - tn[i], tp[i] - tn[i]), count[wrong] * (fp[j[wrong]] - tn[j[wrong]])]
    )
    sums = tn[meetings.class_] * meetings.size[meetings.group] + sums_by(meetings.entry, change, len(meetings.own))
    independent, share_weights, pull_weights = _share_weights(subject)
    size = meetings.size[meetings.group]
    base, base_pull = (weights[0][meetings.class_] * size for weights in (share_weights, pull_weights))
    shares, pulls = (
        base + share_weights[1][meetings.class_] * meetings.own,
        base_pull + pull_weights[1][meetings.class_] * meetings.own,
    )

    def by_class(values: Floats) -> Floats:
        return sums_by(meetings.class_, values, k)

    def power_sum(of_shares: int, of_pulls: int) -> Floats:
        whole = float((meetings.size ** (of_shares + of_pulls)).sum())
        alone = share_weights[0] ** of_shares * pull_weights[0] ** of_pulls * whole
        met_pairs = shares**of_shares * pulls**of_pulls - base**of_shares * base_pull**of_pulls
        return np.asarray(alone + by_class(met_pairs))

    moved = (sums * leverage_factors(shares, number)) ** 2
    plain = sums**2
    if tn.any():
        # Groups that never meet the class move it by their size alone.
        sizes, often = _size_classes(meetings.size, max(MOST_SIZES // k, 1))
        away = (tn[meetings.class_] * size) ** 2
        others = np.zeros(k)
        for each, times in zip(sizes.tolist(), often.tolist(), strict=True):
            others += times * (tn * each * leverage_factors(share_weights[0] * each, number)) ** 2
        squares = others + by_class(moved - away * leverage_factors(base, number) ** 2)
        effect = tn**2 * float((meetings.size**2).sum()) + by_class(plain - away)
    else:
        others = np.zeros(k)
        squares, effect = by_class(moved), by_class(plain)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(independent > 0, effect / independent, 1.0)
    df = group_freedom((power_sum(2, 0), power_sum(1, 2), power_sum(0, 4)), power_sum(0, 2), ratio)
    # Terms cancel where no group moves the class at all; what rounding leaves of them is nothing.
    still = independent <= rounding_variance(subject)
    squares = np.where((squares <= EQUAL_GROUPS * (independent + others)) | still, 0.0, squares)
    df = np.where(still, _freedom_of_sizes(clusters), df)
    return np.asarray(number / (number - 1) * squares), np.asarray(df)


def _size_classes(sizes: Floats, most: int) -> tuple[Floats, NDArray[np.int64]]:
    """The sizes of groups and how often each occurs; beyond `most`, neighbours are one, by their mean square."""
    distinct, often = np.unique(sizes, return_counts=True)
    if len(distinct) <= most:
        return distinct, often
    starts = np.arange(most) * len(distinct) // most
    times = np.add.reduceat(often, starts)
    return np.sqrt(np.add.reduceat(often * distinct**2, starts) / times), times


def _share_weights(subject: Subject) -> tuple[Floats, tuple[Floats, Floats], tuple[Floats, Floats]]:
    """The variance of independent cases for each class, and the weights of a group's share and of its pull.

    Each is the first weight times the size of the group and the second times its cases of the class.
    """
    confusion = subject.confusion
    _, squares, _ = _corners_of(confusion)
    spread = squares * subject.gradient**2
    independent, own = spread.sum(axis=1), np.asarray(confusion.truth_totals, dtype=np.float64)
    rest, weights = float(confusion.n) - own, []
    with np.errstate(divide="ignore", invalid="ignore"):
        part = np.where(independent > 0, spread[:, :2].sum(axis=1) / independent, own / float(confusion.n))
        for sizes, root in (((own, rest), False), ((squares[:, :2].sum(axis=1), squares[:, 2:].sum(axis=1)), True)):
            of_own = np.where(sizes[0] > 0, part / sizes[0], 0.0)
            of_rest = np.where(sizes[1] > 0, (1 - part) / sizes[1], 0.0)
            of_own, of_rest = (np.sqrt(of_own), np.sqrt(of_rest)) if root else (of_own, of_rest)
            weights.append((of_rest, of_own - of_rest))
    return independent, weights[0], weights[1]


def _corners_of(confusion: Confusion) -> tuple[Floats, Floats, Floats]:
    """TP, FN, FP, TN of every class in weights, squared weights and cases."""
    if "corner sums" not in confusion.memo:
        squares = confusion.counts if confusion.squares is None else confusion.squares
        columns = confusion.counts, squares, confusion.cases
        confusion.memo["corner sums"] = tuple(_corner_sums(confusion, values) for values in columns)
    sums: tuple[Floats, Floats, Floats] = confusion.memo["corner sums"]
    return sums


def kish_worth(confusion: Confusion) -> float:
    """How many equally weighted cases a unit of weight is worth by Kish's (Σw)² / Σw²; 1 without weights."""
    return 1.0 if confusion.squares is None else float(confusion.n / confusion.squares.sum())


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
        least = rounding_variance(subject)
        linear = _linearised(confusion.n, weights, squares, subject.gradient, n, least, axis=None)
        return np.minimum(kish, linear) / confusion.n
    weights, squares, cases = _corners_of(confusion)
    if subject.bound.measure.kind == "proportion":
        # The denominator of a proportion is a plain sum of cells, so it can be taken of squared weights too.
        held, held_squares, n = (subject.bound.pair(class_cells(*v.T))[1] for v in (weights, squares, cases))
    else:
        held, held_squares, n = (v.sum(axis=1) for v in (weights, squares, cases))
    with np.errstate(divide="ignore", invalid="ignore"):
        kish = np.where(held > 0, held**2 / held_squares, 0.0)
        least = NEGLIGIBLE * _squared_size(subject) / kish
    linear = _linearised(held, weights, squares, subject.gradient, n, least, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(held > 0, np.minimum(kish, linear) / held, 1.0)


def _linearised(size: Any, weights: Any, squares: Any, gradient: Any, n: Any, least: Any, axis: int | None) -> Any:
    """The number of equally weighted cases that have the same variance; without a limit where it is rounding alone."""
    plain = (weights * gradient**2).sum(axis=axis)
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = (squares * gradient**2).sum(axis=axis) * n / np.maximum(n - 1, 1)
        return np.where(spread > least, size * plain / spread, np.inf)


def _corner_sums(confusion: Confusion, values: Any) -> Floats:
    counts = np.asarray(values, dtype=np.float64)
    return Confusion(confusion.labels, confusion.truth, confusion.predicted, counts).corners
