"""Standard errors beyond independent, equally weighted cases: clustered rows and weighted rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from heldout.arrays import Floats
from heldout.evidence import Confusion
from heldout.intervals.target import Subject
from heldout.measures.cells import class_cells


def cluster_variance(subject: Subject) -> Any:
    """Variance when whole groups of rows were sampled: squares of each group's summed influence.

    Liang & Zeger (1986), with the usual G / (G - 1).
    """
    clusters = subject.confusion.clusters
    if clusters is None:
        message = "there are no groups"
        raise TypeError(message)
    groups = clusters.number
    if groups < 2:
        return np.full(np.shape(subject.value), np.inf)
    factor = groups / (groups - 1)
    if subject.axis != "class":
        influence = np.bincount(clusters.group, weights=clusters.count * subject.gradient[clusters.cell])
        return np.asarray(factor * (influence**2).sum())
    return factor * _class_squares(subject, groups)


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


def _class_squares(subject: Subject, groups: int) -> Floats:
    """Sum over groups of the squared influence on each class, without a groups × classes array.

    A group's influence on class c is (its size) · tn_c plus corrections from cells in row or column c.
    """
    clusters, confusion = subject.confusion.clusters, subject.confusion
    if clusters is None:
        message = "there are no groups"
        raise TypeError(message)
    tp, fn, fp, tn = subject.gradient.T
    i, j = confusion.truth[clusters.cell], confusion.predicted[clusters.cell]
    right = i == j
    count = clusters.count.astype(np.float64)
    k = confusion.n_classes
    group = np.concatenate([clusters.group, clusters.group[~right]])
    index = np.concatenate([i, j[~right]])
    wrong = ~right
    change = np.concatenate(
        [
            count * np.where(right, tp[i] - tn[i], fn[i] - tn[i]),
            count[wrong] * (fp[j[wrong]] - tn[j[wrong]]),
        ]
    )
    # Which groups meet which class does not depend on the measure.
    if "groups met" not in confusion.memo:
        confusion.memo["groups met"] = np.unique(group * k + index, return_inverse=True)
    pairs, where = confusion.memo["groups met"]
    extra = np.bincount(where, weights=change)
    size = np.bincount(clusters.group, weights=count, minlength=groups)
    class_of, group_of = pairs % k, pairs // k
    mixed = np.bincount(class_of, weights=extra * size[group_of], minlength=k)
    squares = np.bincount(class_of, weights=extra**2, minlength=k)
    # The three terms cancel where no group moves the class at all; rounding must not leave less than nothing.
    return np.asarray(np.maximum(tn**2 * (size**2).sum() + 2 * tn * mixed + squares, 0.0))


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
    if "corner sums" not in confusion.memo:
        held = confusion.counts, confusion.squares, confusion.cases
        confusion.memo["corner sums"] = tuple(_corner_sums(confusion, values) for values in held)
    weights, squares, cases = confusion.memo["corner sums"]
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
