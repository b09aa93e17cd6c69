"""Counting predictions fold by fold, in one pass."""

from __future__ import annotations

import numpy as np

from heldout.evidence import Label
from heldout.evidence.folds import FoldCounts
from heldout.evidence.keys import key_array
from heldout.predictions.table import Predictions

# Where fold, truth and prediction together have at most this many cells they are counted in place.
DIRECT_CELLS = 1 << 22


def count_folds(predictions: Predictions, labels: tuple[Label, ...]) -> FoldCounts:
    """Count how often each class was predicted for each true class in every fold; `labels` name all that are met.

    >>> from heldout.predictions.table import assemble
    >>> seen = count_folds(assemble(["a", "a", "b"], ["a", "b", "b"], fold=[1, 2, 2]), ("a", "b"))
    >>> seen[1].matrix
    array([[0, 1],
           [0, 1]])
    """
    fold = predictions.fold
    if fold is None:
        message = "the predictions have no folds"
        raise TypeError(message)
    truth, predicted = predictions.truth, predictions.predicted
    k, at = len(labels), {label: position for position, label in enumerate(labels)}
    move = np.array([at.get(label, -1) for label in predictions.labels], dtype=np.int64)
    numbers = fold.codes.astype(np.int64) - fold.offset
    rows = move[predictions.truth_place][truth.codes.astype(np.int64) - truth.offset]
    columns = move[predictions.predicted_place][predicted.codes.astype(np.int64) - predicted.offset]
    flat = (numbers * k + rows) * k + columns
    weight = predictions.weight
    size = len(fold.labels) * k * k
    if size <= DIRECT_CELLS:
        cases = np.bincount(flat, minlength=size)
        cells = np.flatnonzero(cases)
        counts = cases[cells] if weight is None else np.bincount(flat, weights=weight, minlength=size)[cells]
    else:
        cells, where, cases = np.unique(flat, return_inverse=True, return_counts=True)
        counts = cases if weight is None else np.bincount(where, weights=weight)
    met, place = np.unique(cells // (k * k), return_inverse=True)
    keys = key_array([fold.labels[code] for code in met.tolist()])
    return FoldCounts(labels, keys, place, cells // k % k, cells % k, counts)
