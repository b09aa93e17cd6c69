"""Whether counted evidence can be true: no count below zero, and parts that add up to the whole."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.evidence.bin_grid import FINEST, POINT, WIDEST, floor_to
from heldout.evidence.confusion import Confusion
from heldout.evidence.counted import Counted, ScoreTally, class_columns
from heldout.evidence.partitions import FoldCounts, SliceCounts
from heldout.evidence.probabilities import Probabilities, Unfit
from heldout.evidence.score_bins import ScoreBins
from heldout.files.matrix import MOST_CASES

# Sums of weights are made in another order in each part.
NEAR = 1e-6
# The loss of one class may be what the others leave of the whole, and rounding may leave a little less than nothing.
ROUNDED = 1e-9


def impossible(counted: Counted) -> str:
    """Why such evidence cannot be, in words; empty where nothing speaks against it.

    >>> impossible(Counted(Confusion.of([[5, 1], [0, 4]]), rows=10))
    ''
    >>> impossible(Counted(Confusion.of([[5, 1], [0, 4]]), rows=9))
    '10 rows were counted and 0 left out, of 9 that were given'
    """
    try:
        return next(_reasons(counted), "")
    except (IndexError, TypeError, ValueError, KeyError, AttributeError, OverflowError, MemoryError) as error:
        return f"its parts do not fit together ({error})"


def _reasons(counted: Counted) -> Iterator[str]:
    confusion = counted.confusion
    yield from _confusion_faults(confusion)
    n = counted.n
    gaps = list(counted.missing.values())
    if counted.rows < 0 or counted.lost < 0 or any(number < 0 for number in gaps):
        yield "a number of rows is negative"
    if n + counted.lost != counted.rows:
        yield f"{n:,} rows were counted and {counted.lost:,} left out, of {counted.rows:,} that were given"
    if counted.lost > sum(gaps) or any(number > counted.lost for number in gaps):
        yield f"{counted.lost:,} rows were left out, and missing values stand in {sum(gaps):,}"
    if counted.threshold is not None and (counted.scores is None or not math.isfinite(counted.threshold)):
        yield f"the threshold is {counted.threshold}"
    if counted.positive is not None and counted.scores is None and counted.positive not in confusion.labels:
        yield f"the positive class {counted.positive!r} is no class"
    if counted.scores is not None:
        yield from _tally_faults(counted.scores, counted)
    if counted.folds is not None:
        yield from _cells_faults(counted.folds, confusion, "the folds")
    if counted.fold_scores:
        yield from _fold_scores_faults(counted)
    names = [column.name for column in counted.slices]
    if len(set(names)) != len(names):
        yield "a slice column is there twice"
    sizes = {column.name: len(column.labels) for column in counted.slices}
    for column in counted.slices:
        if len(set(column.labels)) != len(column.labels):
            yield f"a slice of {column.name!r} is there twice"
        yield from _slices_faults(column.counts, confusion, sizes[column.name], f"the slices of {column.name!r}")
    for (first, second), counts in counted.pairs.items():
        yield from _slices_faults(
            counts, confusion, sizes[first] * sizes[second], f"the slices of {first!r} and {second!r}"
        )


def _confusion_faults(confusion: Confusion) -> Iterator[str]:
    k = len(confusion.labels)
    if len(set(confusion.labels)) != k:
        yield "a class is there twice"
    yield from _entries_faults(confusion.truth, confusion.predicted, k, confusion.counts, "the confusion matrix")
    for extra in (confusion.squares, confusion.rows):
        if extra is not None and (len(extra) != len(confusion.truth) or not _counts(extra)):
            yield "the confusion matrix has a count below zero"
    cells = confusion.truth * k + confusion.predicted
    if (np.diff(cells) <= 0).any():
        yield "a cell of the confusion matrix is there twice, or out of order"
    clusters = confusion.clusters
    if clusters is not None:
        if not _counts(clusters.count) or not _places(clusters.group, len(clusters.keys)):
            yield "a group has a count below zero, or is none of those that are named"
        sums = np.bincount(clusters.cell, weights=clusters.count, minlength=len(cells))
        if not _near(sums, confusion.counts) or not _once(clusters.group * len(cells) + clusters.cell):
            yield "the groups do not add up to the confusion matrix"


def _entries_faults(
    truth: NDArray[Any], predicted: NDArray[Any], k: int, counts: NDArray[Any], what: str
) -> Iterator[str]:
    if not (truth.ndim == predicted.ndim == counts.ndim == 1 and len(truth) == len(predicted) == len(counts)):
        yield f"the columns of {what} differ in length"
    if not _places(truth, k) or not _places(predicted, k):
        yield f"{what} names a class that is none"
    if not _counts(counts):
        yield f"{what} has a count below zero"


def _cells_faults(folds: FoldCounts, confusion: Confusion, what: str, counts: Any = None) -> Iterator[str]:
    """Whether folds, or slices, add up to the cells of the whole."""
    if folds.labels != confusion.labels:
        yield f"{what} have other classes than the whole"
    yield from _entries_faults(folds.truth, folds.predicted, len(folds.labels), folds.counts, what)
    if len(folds.fold) != len(folds.truth) or not _places(folds.fold, len(folds.keys)):
        yield f"{what} name one that is none"
    k = len(confusion.labels)
    cells = confusion.truth * k + confusion.predicted
    fold_cells = folds.truth * k + folds.predicted
    if not _once(folds.fold * (k * k) + fold_cells):
        yield f"a cell of {what} is there twice"
    at = np.searchsorted(cells, fold_cells)
    total = confusion.counts if counts is None else counts
    inside = (at < len(cells)).all() and (cells[at] == fold_cells).all()
    if not inside or not _near(np.bincount(at, weights=folds.counts, minlength=len(cells)), total):
        yield f"{what} do not add up to the confusion matrix"


def _slices_faults(counts: SliceCounts, confusion: Confusion, size: int, what: str) -> Iterator[str]:
    if not _places(counts.keys, size) or (np.diff(counts.keys) <= 0).any() or (np.diff(counts.cases.fold) < 0).any():
        yield f"{what} name one that is none, or are out of order"
    yield from _cells_faults(counts.cases, confusion, what, confusion.cases)
    if (counts.squares is not None) != confusion.weighted or (counts.groups is None) != (confusion.clusters is None):
        yield f"{what} and the whole differ in having weights or groups"
    for part, total in ((counts.weights, confusion.counts), (counts.squares, confusion.squares)):
        if part is not None and confusion.weighted:
            yield from _cells_faults(part, confusion, what, total)
    groups = counts.groups
    if groups is not None and not (
        _counts(groups.count)
        and _places(groups.place, len(counts))
        and _places(groups.group, len(groups.keys))
        and _places(groups.cell, len(confusion.labels) ** 2)
        and _near(np.array([groups.count.sum()]), np.array([confusion.counts.sum()]))
    ):
        yield f"the groups in {what} do not add up"


def _tally_faults(tally: ScoreTally, counted: Counted) -> Iterator[str]:
    confusion = counted.confusion
    of_class = np.bincount(confusion.truth, weights=confusion.cases, minlength=len(confusion.labels))
    by_label = dict(zip(confusion.labels, of_class.tolist(), strict=True))
    if tally.per_class:
        expected = [by_label.pop(label, 0.0) for label in tally.labels]
    else:
        positive = by_label.pop(counted.positive, 0.0) if counted.positive is not None else 0.0
        expected = [sum(by_label.values()), positive]
        by_label = {}
        if len(confusion.labels) > 2 or counted.positive is None:
            yield "one column of scores speaks for one of two classes, and it is not known for which"
    classes = len(tally.labels) if tally.per_class else 2
    if any(by_label.values()) or len(expected) != classes or tally.bins[0].k != class_columns(classes):
        yield "the scores have other classes than the confusion matrix"
    for at, bins in enumerate(tally.bins):
        each = expected if tally.bins[0].k == classes else [sum(expected) - expected[at], expected[at]]
        yield from _bins_faults(bins, np.array(each), weighted=confusion.weighted)
        if (bins.groups is None) != (confusion.clusters is None):
            yield "the scores and the confusion matrix differ in having groups"
    yield from _losses_faults(tally, counted.n, confusion)


def _losses_faults(tally: ScoreTally, n: int, confusion: Confusion) -> Iterator[str]:
    probabilities = tally.probabilities
    if (probabilities is None) != (tally.unfit is not None):
        yield "it is not known whether the scores are probabilities"
    if not _is_reason(tally.unfit):
        yield "it is not known why the scores are no probabilities"
    if probabilities is not None and not _adds_up(probabilities, n, weight=float(confusion.counts.sum())):
        yield "the sums of the losses do not add up"


def _is_reason(unfit: Unfit | None) -> bool:
    """Whether scores can be no probabilities for such a reason, if there is one."""
    if unfit is None:
        return True
    ends, total, row = unfit.ends, unfit.total, unfit.row
    only_one = (ends is not None) + unfit.decision + (total is not None) == 1
    beyond = ends is None or (Unfit.of_ends(*ends) is not None and ends[0] <= ends[1])
    numbers = [*(ends or ()), 1.0 if total is None else total]
    return only_one and beyond and all(map(math.isfinite, numbers)) and (row is None or (total is not None and row > 0))


def _adds_up(probabilities: Probabilities, n: int, weight: float) -> bool:
    fine = all(
        _counts(column)
        for column in (probabilities.class_weight, probabilities.reliability.weight, probabilities.reliability.cases)
    )
    return (
        fine
        and bool(probabilities.losses)
        and set(probabilities.losses) == set(probabilities.class_losses)
        and (probabilities.groups is None or set(probabilities.losses) == set(probabilities.groups.losses))
        and all(_losses(column) for column in probabilities.class_losses.values())
        and probabilities.n == n == int(probabilities.reliability.cases.sum())
        and 0 <= probabilities.clipped <= n
        and all(own.sums.shape == (3, 4) and bool(np.isfinite(own.sums).all()) for own in probabilities.losses.values())
        and all(_close(own.weight, weight) for own in probabilities.losses.values())
        and _close(float(probabilities.class_weight.sum()), weight)
        and _close(float(probabilities.reliability.weight.sum()), weight)
    )


def _bins_faults(bins: ScoreBins, expected: NDArray[Any], *, weighted: bool) -> Iterator[str]:
    size, k = len(bins.low), len(expected)
    if bins.low.dtype != np.float64 or bins.exponent.dtype != np.int16 or bins.counts.dtype != np.int64:
        yield "the bins of the scores are other numbers than those of evidence"
    tables = [table for table in (bins.counts, bins.weights, bins.squares) if table is not None]
    if any(table.shape != (size, k) for table in tables) or bins.exponent.shape != (size,) or bins.low.ndim != 1:
        yield "the bins of the scores differ in length"
    if not all(_counts(table) for table in tables):
        yield "a bin of scores has a count below zero"
    yield from _grid_faults(bins)
    if (bins.weights is not None) != weighted or (bins.squares is not None) != weighted:
        yield "the scores and the confusion matrix differ in having weights"
    if not np.array_equal(bins.counts.sum(axis=0), expected):
        yield "the scores do not add up to the confusion matrix"
    groups = bins.groups
    if groups is not None:
        totals = bins.counts if bins.weights is None else bins.weights
        fine = _places(groups.place, size) and _places(groups.class_, k) and _places(groups.group, len(groups.keys))
        if not fine or not _counts(groups.count):
            yield "a group of scores has a count below zero, or is none of those that are named"
        sums = np.bincount(groups.place * k + groups.class_, weights=groups.count, minlength=size * k)
        if not _near(sums, totals.reshape(-1)):
            yield "the groups of the scores do not add up"


def _grid_faults(bins: ScoreBins) -> Iterator[str]:
    size = len(bins)
    if not np.isfinite(bins.low).all() or (np.diff(bins.low) <= 0).any() or (bins.low[1:] < bins.ends[:-1]).any():
        yield "the bins of the scores are out of order"
    if not (bins.base == POINT or FINEST <= bins.base <= WIDEST) or (bins.exponent > bins.base).any():
        yield "a bin of scores is wider than the grid"
    if ((bins.exponent != POINT) & (bins.exponent < FINEST)).any() or not _on_grid(bins):
        yield "a bin of scores does not lie on the grid"
    if not bins.counts.any(axis=1).all():
        yield "a bin of scores holds none"
    fewer = bins.refined < bins.count_refined()
    if fewer or (bins.room is not None and bins.room < 0):
        yield "there are more refined bins of scores than it says"
    if bins.most < 1 or len(np.unique(floor_to(bins.low, bins.base))) > max(bins.most, 2):
        yield f"{size:,} bins of scores were met, and at most {bins.most:,} were allowed"
    if not size and (bins.least, bins.greatest) != (math.inf, -math.inf):
        yield "there are no scores, and they have ends"
    if size and not (bins.low[0] <= bins.least < bins.ends[0] and bins.low[-1] <= bins.greatest < bins.ends[-1]):
        yield "the scores run beyond their bins"


def _on_grid(bins: ScoreBins) -> bool:
    """Whether every lower edge is a whole multiple of the width of its bin."""
    return bool((floor_to(bins.low, bins.exponent) == bins.low).all())


def _fold_scores_faults(counted: Counted) -> Iterator[str]:
    folds, scores = counted.folds, counted.scores
    if folds is None or scores is None or len(counted.fold_scores) != len(folds):
        yield "the scores of folds are not those of the folds"
        return
    totals = sum(tally.count_classes() for tally in counted.fold_scores)
    if not np.array_equal(totals, scores.count_classes()):
        yield "the scores of the folds do not add up"
    for tally in counted.fold_scores:
        if len(tally.bins) != len(scores.bins) or tally.labels != scores.labels:
            yield "the scores of the folds have other classes"
        if not _is_reason(tally.unfit):
            yield "it is not known why the scores of a fold are no probabilities"
        numbers = tally.count_classes()
        for at, bins in enumerate(tally.bins):
            each = numbers if bins.k == len(numbers) else np.array([numbers.sum() - numbers[at], numbers[at]])
            yield from _bins_faults(bins, each, weighted=counted.confusion.weighted)


def _counts(values: NDArray[Any]) -> bool:
    """Whether these can be counts or sums of weights."""
    return (
        values.dtype.kind in "iuf"
        and bool(np.isfinite(values).all() and (values >= 0).all())
        and (float(values.sum(dtype=np.float64)) < MOST_CASES or values.dtype.kind == "f")
    )


def _losses(values: NDArray[Any]) -> bool:
    """Whether these can be the losses of each class."""
    if values.dtype.kind not in "iuf" or not np.isfinite(values).all():
        return False
    return bool((values >= -ROUNDED * float(np.abs(values).max(initial=0.0))).all())


def _places(values: NDArray[Any], size: int) -> bool:
    return values.ndim == 1 and values.dtype.kind in "iu" and bool(((values >= 0) & (values < size)).all())


def _once(values: NDArray[Any]) -> bool:
    ordered = np.sort(values)
    return bool((ordered[1:] != ordered[:-1]).all())


def _near(sums: NDArray[Any], total: NDArray[Any] | None) -> bool:
    return (
        total is not None
        and sums.shape == total.shape
        and bool(
            np.allclose(sums, total, rtol=NEAR, atol=NEAR * max(1.0, float(np.abs(total).max(initial=0.0))) * 1e-6)
        )
    )


def _close(first: float, second: float) -> bool:
    return abs(first - second) <= NEAR * max(abs(first), abs(second), 1e-300)
