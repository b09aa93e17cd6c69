"""The honest figure: choose on all folds but one, judge on the one left out, and pool what was left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arrays import Integers
from heldout.decisions.objective import Classes
from heldout.decisions.points import Points
from heldout.decisions.rule import Rule
from heldout.engines.ranking import rank
from heldout.errors import OptionError
from heldout.evidence import Confusion
from heldout.evidence.cut import cut_at


@dataclass(frozen=True, eq=False)
class CrossFit:
    """What became of each case when the threshold was chosen without it; one threshold per fold."""

    called: NDArray[np.bool_]
    thresholds: tuple[float, ...]
    unmet: int

    @property
    def folds(self) -> int:
        """How many folds there were."""
        return len(self.thresholds)


def cross_fit(
    scores: NDArray[np.float64], positive: NDArray[np.bool_], weight: Any, fold: Integers, rule: Rule
) -> CrossFit:
    """Choose on the other folds and apply the choice to each fold; the scores are sorted once.

    Where nothing meets the requirements on the other folds, the nearest threshold is used and counted as unmet.
    """
    distinct, where = np.unique(scores, return_inverse=True)
    where = len(distinct) - 1 - where
    thresholds = distinct[::-1]
    held = np.ones(len(scores)) if weight is None else weight
    size = len(distinct)
    total = [np.bincount(where, weights=held * side, minlength=size) for side in (positive, ~positive)]
    called = np.zeros(len(scores), dtype=bool)
    chosen, unmet = [], 0
    for number in range(int(fold.max()) + 1):
        out = fold == number
        parts = [np.bincount(where[out], weights=(held * side)[out], minlength=size) for side in (positive, ~positive)]
        # Below 0 by rounding of weights only.
        up, down = (np.cumsum(np.maximum(whole - part, 0.0)) for whole, part in zip(total, parts, strict=True))
        met = np.concatenate([[True], np.diff(up + down, prepend=0.0) > 0])
        points = Points(
            np.concatenate([[np.inf], thresholds])[met], np.concatenate([[0.0], up])[met],
            np.concatenate([[0.0], down])[met],
        )  # fmt: skip
        place = int(rule.judge(points)[1])
        if place < 0:
            place, unmet = rule.nearest(points), unmet + 1
        chosen.append(float(points.thresholds[place]))
        called[out] = scores[out] >= chosen[-1]
    return CrossFit(called, tuple(chosen), unmet)


def make_folds(positive: NDArray[np.bool_], group: Integers | None, folds: int, seed: int) -> Integers:
    """The fold of every case: each class spread evenly, and all cases of a group in one fold.

    There are fewer folds where a class has fewer cases (or the cases fewer groups) than folds were asked for.

    >>> fold = make_folds(np.arange(12) < 4, None, 4, seed=0)
    >>> np.bincount(fold).tolist(), sorted(fold[:4].tolist())
    ([3, 3, 3, 3], [0, 1, 2, 3])
    """
    if isinstance(folds, bool) or not isinstance(folds, int | np.integer) or folds < 2:
        raise OptionError(f"folds must be a whole number from 2 up. Got {folds!r}.", hint="for example folds=10.")
    rng = np.random.default_rng([seed, 12])
    if group is not None:
        return _group_folds(positive, group, int(folds), rng)
    fewest = int(min(positive.sum(), (~positive).sum()))
    _enough(fewest, "cases of the rarer class")
    number = min(int(folds), fewest)
    fold = np.empty(len(positive), dtype=np.int64)
    start = 0
    for side in (True, False):
        cases = rng.permutation(np.flatnonzero(positive == side))
        # The second class starts where the first ended, so that folds differ by one case at most.
        fold[cases] = (start + np.arange(len(cases))) % number
        start += len(cases)
    return fold


def _group_folds(positive: NDArray[np.bool_], group: Integers, folds: int, rng: np.random.Generator) -> Integers:
    count = int(group.max()) + 1
    up = np.bincount(group, weights=positive, minlength=count)
    size = np.bincount(group, minlength=count)
    fewest = int(min(np.count_nonzero(up), np.count_nonzero(size - up)))
    _enough(fewest, "groups that hold cases of the rarer class")
    number = min(folds, fewest)
    # Large groups first, each to the fold that lacks most of what it has; shuffled before, so that ties are random.
    order = rng.permutation(count)
    order = order[np.argsort(-size[order], kind="stable")]
    held = np.zeros((number, 2))
    wanted = np.array([max(up.sum(), 1.0), max((size - up).sum(), 1.0)])
    of_group = np.zeros(count, dtype=np.int64)
    for g in order.tolist():
        has = np.array([up[g], size[g] - up[g]])
        filled = (held + has) / wanted
        best = int(np.argmin((filled**2).sum(axis=1) - ((held / wanted) ** 2).sum(axis=1)))
        held[best] += has
        of_group[g] = best
    return of_group[group]


def _enough(fewest: int, what: str) -> None:
    if fewest < 2:
        raise OptionError(
            f"The honest figure needs at least 2 {what}. There is {fewest}.",
            hint="leave out honest, or bring more cases.",
        )


def pooled(
    crossed: CrossFit,
    positive: NDArray[np.bool_],
    *,
    weight: Any,
    group: tuple[Integers, NDArray[Any]] | None,
    classes: Classes,
) -> Confusion:
    """The counts of all left-out folds together."""
    # Called positive or not is a score with two values: the same counting serves, weights and groups included.
    called = crossed.called.astype(np.float64)
    ranking = rank(called, positive, weight=weight, group=group)
    rows = None if weight is None else rank(called, positive)
    place = int(np.count_nonzero(ranking.scores >= 1))
    return cut_at(ranking, place, classes, rows)
