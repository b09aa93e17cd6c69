"""How much a measure moves when a model calls the class more readily or less.

Another training set has another share of the class, and with it the model's threshold moves. That leaves the share of
errors nearly as it is, because a good threshold lies where it is flat, but one more call of a class moves its recall.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from heldout.arrays import Floats
from heldout.intervals.cluster_errors import kish_worth
from heldout.intervals.target import Subject
from heldout.measures.cells import TableBatch, class_cells

# Added to each of TP, FN, FP and TN, so that a share of 0 or 1 has a place on the normal scale.
HALF_A_CASE = 0.5
# Scores that separate the classes less than this are taken to separate them so much, in standard deviations.
LEAST_APART = 0.15
# A ratio is taken to be at most this: where scores tell next to nothing, it knows no bounds.
MOST = 2.0
# The part of all cases by which counts are changed to see how a measure moves.
STEP = 1e-4
TWO = 2


def shift_ratio(subject: Subject) -> Any:
    """The variance that the shift of the threshold adds to a measure, over that of its counts; of each class, or one.

    The threshold moves by what chance does to the log odds of the class, whose variance is 1/P + 1/N for P cases of it
    and N others. With scores that are log odds of two normal distributions d apart, where shares t and f of the cases
    lie above the threshold, one unit moves t by φ(Φ⁻¹(t)) / d and f by φ(Φ⁻¹(f)) / d; d = Φ⁻¹(t) − Φ⁻¹(f). A measure of
    the whole table has such a threshold where there are two classes, and 0 otherwise.

    >>> from heldout.evidence import Confusion
    >>> from heldout.measures.catalogue import find
    >>> hard = Confusion.of([[12, 18], [10, 60]], ["+", "-"])
    >>> [shift_ratio(Subject(find(name), hard, "class")).round(2).tolist() for name in ("recall", "f1")]
    [[1.4, 2.0], [0.41, 0.25]]
    >>> round(float(shift_ratio(Subject(find("f1"), hard, "macro"))), 2)
    0.12
    """
    by_class = subject.axis == "class"
    if not by_class and subject.confusion.n_classes != TWO:
        return np.float64(0.0)
    from scipy.special import ndtri

    # Weights count as the equally weighted cases that they are worth, whatever their unit.
    worth = kish_worth(subject.confusion)
    corners = subject.confusion.corners[slice(None) if by_class else slice(1)] * worth + HALF_A_CASE
    tp, fn, fp, tn = corners.T
    positives, negatives = tp + fn, fp + tn
    above = ndtri(tp / positives), ndtri(fp / negatives)
    apart = np.maximum(np.abs(above[0] - above[1]), LEAST_APART)
    found, alarms = (
        size * np.exp(-(place**2) / 2) / math.sqrt(2 * math.pi) / apart
        for size, place in zip((positives, negatives), above, strict=True)
    )
    slopes = _slopes(subject, corners)
    moved = (slopes * np.stack([found, -found, alarms, -alarms], axis=1)).sum(axis=1)
    counted = (corners * slopes**2).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = moved**2 * (1 / positives + 1 / negatives) / counted
    ratio = np.nan_to_num(np.clip(ratio, 0.0, MOST), nan=0.0)
    return ratio if by_class else ratio[0]


def _slopes(subject: Subject, corners: Floats) -> Floats:
    """Derivatives of the measure by TP, FN, FP and TN, a row for each table."""
    step = STEP * corners.sum(axis=1)
    columns = []
    for at in range(4):
        change = np.zeros(4)
        change[at] = 1.0
        more, less = (_values(subject, corners + side * step[:, None] * change) for side in (1.0, -1.0))
        columns.append((more - less) / (2 * step))
    return np.stack(columns, axis=1)


def _values(subject: Subject, corners: Floats) -> Floats:
    """The measure at other counts of TP, FN, FP and TN, a row for each table."""
    if subject.axis == "class":
        return np.asarray(subject.of_classes(class_cells(*corners.T)))
    return np.asarray(subject.of_tables(TableBatch(corners.reshape(-1, TWO, TWO))))
