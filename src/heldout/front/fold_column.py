"""What a column of folds beside predictions says of how they depend on each other."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from heldout.errors import ValuesError
from heldout.estimates.dependence import Dependence
from heldout.evidence.counted import Counted
from heldout.plans.plan import AGAIN, ONCE
from heldout.predictions.encode import Coded
from heldout.predictions.table import Predictions
from heldout.resampling.gathered import sharing

TARGET = "the error of the model trained on all cases, judged by models trained without the fold that they predict"


def fold_dependence(predictions: Predictions) -> Dependence:
    """The dependence of predictions that come in folds; with `id`, a case may have several.

    From ids and folds one can see the size of each fold and how often each case was tested: equally often in partitions
    of the cases, once or repeated, and unequally often where every fold is a random draw. What cannot be seen is how
    the models were trained: each fold is taken to be tested by a model of all other cases, which of a time-ordered plan
    and of training parts that leave rows out is not so. Nor can cases be seen that were never tested, nor groups unless
    their column is named too, nor which folds of a repetition are missing.

    >>> from heldout.predictions.table import assemble
    >>> fold_dependence(assemble([0, 1, 0, 1], [0, 1, 1, 1], fold=[1, 1, 2, 2], id=["a", "b", "a", "b"])).n
    2
    """
    _check_truth(predictions)
    _check_once(predictions)
    case = np.arange(predictions.n) if predictions.id is None else _places(predictions.id)
    fold = np.zeros(predictions.n, dtype=np.int64) if predictions.fold is None else _places(predictions.fold)
    found = sharing(case, fold)
    if len(found.sizes) == 1:
        return Dependence(found.n)
    once = predictions.n == found.n or _every_set(found.n, found.sizes)
    return Dependence(found.n, ONCE if once else AGAIN, found.ratio, found.independent, TARGET)


def counted_dependence(counted: Counted) -> Dependence:
    """The dependence of counted predictions that come in folds, each case in one of them.

    With one prediction per case the folds are one partition of the cases, whose mean sizes tell all there is to know.

    >>> from heldout.evidence.folds import FoldCounts
    >>> folds = FoldCounts(("a", "b"), np.array([1, 2]), *(np.array(x) for x in ([0, 1], [0, 1], [0, 1], [3, 1])))
    >>> counted_dependence(Counted(folds[0] + folds[1], folds=folds)).independent
    2
    """
    number, n = 0 if counted.folds is None else len(counted.folds), counted.n
    if number < 2:
        return Dependence(n)
    return Dependence(n, ONCE, n / number / max((n * number - n) / number, 1.0), number, TARGET)


def _every_set(n: int, sizes: NDArray[np.int64]) -> bool:
    """Whether the folds are as many as there are sets of that many cases, as those of leave-2-out."""
    p = int(sizes[0])
    return bool((sizes == p).all()) and len(sizes) == math.comb(n, p)


def _places(coded: Coded) -> NDArray[np.int64]:
    return coded.codes.astype(np.int64) - coded.offset


def _check_truth(predictions: Predictions) -> None:
    """One case has one truth, however often it was predicted."""
    if predictions.id is None:
        return
    case = _places(predictions.id)
    truth = _places(predictions.truth)
    pairs = np.unique(np.stack([case, truth]), axis=1)
    twice = np.flatnonzero(np.bincount(pairs[0]) > 1)
    if len(twice):
        raise ValuesError(
            f"The id {predictions.id.labels[twice[0]]!r} has two different truths"
            + (f", and so have {len(twice) - 1:,} others." if len(twice) > 1 else "."),
            hint="give every case an id of its own.",
        )


def _check_once(predictions: Predictions) -> None:
    """A model predicts a case once: an id that stands twice in a fold means that two models share its name."""
    if predictions.id is None or predictions.fold is None:
        return
    case = _places(predictions.id)
    fold = _places(predictions.fold)
    pairs, counts = np.unique(np.stack([case, fold]), axis=1, return_counts=True)
    twice = np.flatnonzero(counts > 1)
    if len(twice):
        at, there = pairs[:, twice[0]].tolist()
        raise ValuesError(
            f"The id {predictions.id.labels[at]!r} stands {counts[twice[0]]:,} times in the fold "
            f"{predictions.fold.labels[there]!r}, and a model predicts a case once.",
            hint="give every model a fold of its own, such as '2.1' for fold 1 of repetition 2, and every case an id.",
        )
