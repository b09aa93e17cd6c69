"""Choosing a fast path: learners whose predictions in every split follow from one look at all rows.

A fast path is taken only for the exact type of a learner, and only for rows whose prediction cannot depend on how
numbers were rounded; the rest are predicted by fitting their split, so that the answer is the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from heldout.arrays import Codes, Flags, Floats, Integers
from heldout.plans.splits import Splits
from heldout.resampling.answers import Classes
from heldout.resampling.drawn import Drawn

# Below this a look at all rows costs as much as the fits do.
FEWEST = 3
# Where more than this share must be fitted anyway, the shortcut saves nothing worth a sentence.
MOST_PLAIN = 0.5


@dataclass(frozen=True, eq=False)
class Asked:
    """What is to be predicted: rows, each by the model of its split; the test rows first, then the training rows.

    `folds` holds for every repetition the split that tests each row.
    """

    features: Floats
    codes: Codes
    classes: Classes
    splits: Splits
    folds: Codes
    drawn: Drawn
    rows: Integers
    split: Integers

    @property
    def n_test(self) -> int:
        """How many of the rows are test rows."""
        return len(self.splits.test_rows)

    @property
    def repeat(self) -> Integers:
        """The row of `folds` that each split belongs to."""
        if len(self.folds) == 1:
            return np.zeros(len(self.splits), dtype=np.int64)
        return self.splits.repeat


@dataclass(frozen=True, eq=False)
class Found:
    """Predictions for all that was asked, as places in the order of `classes_`, and probabilities of the test rows.

    `unsure` marks what must be predicted by fitting. `alone` says that a row's prediction does not depend on which
    other rows are predicted with it, down to the last bit, so that only these need be.
    """

    predicted: Codes
    scores: Floats
    unsure: Flags
    alone: bool
    sentence: str
    because: str


Path = Callable[[Any, Asked], Found | None]


def ask(features: Any, truth: Codes, classes: Classes, splits: Splits, drawn: Drawn) -> Asked | None:
    """The question for a fast path; None where the data or the splits do not allow one."""
    if len(splits) < FEWEST or len(classes.known) < 2:
        return None
    if type(features) is not np.ndarray or features.ndim != 2 or features.dtype != np.float64 or not features.size:
        return None
    folds = partitions(splits)
    if folds is None or not np.isfinite(features).all():
        return None
    split = np.concatenate([splits.split_of, np.repeat(np.arange(len(splits)), np.diff(drawn.bounds))])
    rows = np.concatenate([splits.test_rows, drawn.rows])
    return Asked(features, classes.rank[truth], classes, splits, folds, drawn, rows, split)


def path_for(estimator: Any) -> Path | None:
    """The fast path for the exact type of a learner, if there is one."""
    from heldout.resampling.fast_bayes import from_moments
    from heldout.resampling.fast_knn import from_neighbours

    kind = type(estimator)
    known: dict[tuple[str, str], Path] = {
        ("sklearn.neighbors._classification", "KNeighborsClassifier"): from_neighbours,
        ("sklearn.naive_bayes", "GaussianNB"): from_moments,
    }
    return known.get((kind.__module__, kind.__qualname__))


def pays(asked: Asked, found: Found) -> bool:
    """Whether a fast path found enough to be worth it."""
    if found.alone:
        return bool(found.unsure.mean() <= MOST_PLAIN)
    return len(np.unique(asked.split[found.unsure])) <= MOST_PLAIN * len(asked.splits)


def complementary(splits: Splits) -> bool:
    """Whether every split trains on exactly the rows it does not test, in their order, also where they are listed."""
    if splits.train_rows is None:
        return True
    if len(splits) * splits.n > 10**7:
        return False
    for train, test in splits:
        if len(train) + len(test) != splits.n or bool((np.diff(train) <= 0).any()):
            return False
        free = np.zeros(splits.n, dtype=bool)
        free[train] = True
        free[test] = False
        if int(free.sum()) != len(train):
            return False
    return True


def partitions(splits: Splits) -> Codes | None:
    """For every repetition the split that tests each row; None unless each tests every row once."""
    n = splits.n
    if len(splits.test_rows) % n or not complementary(splits):
        return None
    times = len(splits.test_rows) // n
    if times == 1:
        repeat = np.zeros(len(splits), dtype=np.int64)
    elif int(splits.repeat.min()) == 0 and int(splits.repeat.max()) == times - 1:
        repeat = splits.repeat
    else:
        return None
    cell = repeat[splits.split_of] * n + splits.test_rows
    if not bool((np.bincount(cell, minlength=times * n) == 1).all()):
        return None
    folds = np.empty(times * n, dtype=np.int64)
    folds[cell] = splits.split_of
    return folds.reshape(times, n)
