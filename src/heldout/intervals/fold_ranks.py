"""Scores of different folds made comparable: the place of every case among the cases of its own fold.

A measure that is the best of all thresholds, or that depends on how frequent positives are, is too good in a small
fold, and so is its mean over the folds: 300 cases with 30 positives, one scorer and 10 folds gave a mean of the
Kolmogorov-Smirnov statistic of .74 where the truth is .55. So it is made once, from one ranking of all cases. Models of
different folds score on different scales, so the ranking goes by the place of a case in its fold, which no monotone
change of the scores of a fold can move.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

import numpy as np

from heldout.arrays import Floats
from heldout.evidence import Ranking

# Below these the places within the folds are too coarse (docs/statistics.md): a mean of so many cases of each class and
# of so many distinct scores in a fold. With fewer, average precision was off by up to its own standard error.
LEAST_CASES = 3.0
LEAST_SCORES = 10.0


def coarse_folds(folds: Sequence[Ranking], cases: Floats) -> str:
    """Why the cases cannot be ranked within their folds, empty where they can; `cases` of both classes in each fold.

    >>> folds = [Ranking(np.arange(9.0, 0, -1), np.eye(9, dtype=int)[0], 1 - np.eye(9, dtype=int)[0])] * 2
    >>> coarse_folds(folds, np.array([[1.0, 8.0], [1.0, 8.0]]))
    'the folds have 1 case of the rarer class on average, too few to rank cases within them'
    """
    if (cases.sum(axis=1) <= 1).all():
        return "every fold is one case, so there is nothing to rank it among"
    rarer = float(cases.mean(axis=0).min())
    if rarer < LEAST_CASES:
        few = f"{rarer:.1f}".removesuffix(".0")
        noun = "case" if few == "1" else "cases"
        return f"the folds have {few} {noun} of the rarer class on average, too few to rank cases within them"
    distinct = 1 / np.mean([_same(fold) for fold in folds if fold.n])
    if distinct < LEAST_SCORES - 1e-9:
        return f"the folds have only about {distinct:.0f} distinct scores, too few to rank cases within them"
    return ""


def _same(fold: Ranking) -> float:
    """The chance that two cases drawn with replacement have the same score: 1 / m where m are equally frequent."""
    return float(np.square((fold.positives * 1.0 + fold.negatives) / fold.n).sum())


def rank_within_folds(folds: Sequence[Ranking]) -> Ranking:
    """One ranking of the cases of all folds, by the place that each has among the cases of its fold.

    The place is the share of a fold's cases below it, where both classes weigh what they do over all folds: otherwise
    a fold that happens to hold more positives would push its negatives down. In a fold that lacks a class, a case is
    placed as its class is in the others. Cases of different folds at the same place are put one after the other, in
    the order of the folds, because a tie between them would mean nothing.

    >>> fold = Ranking(np.array([0.9, 0.4, 0.1]), np.array([1, 0, 1]), np.array([0, 1, 0]))
    >>> both = rank_within_folds([fold, replace(fold, scores=np.exp(fold.scores))])
    >>> both.positives, both.negatives
    (array([1, 1, 0, 0, 1, 1], dtype=uint8), array([0, 0, 1, 1, 0, 0], dtype=uint8))
    """
    totals = np.array([[fold.n_positive, fold.n_negative] for fold in folds], dtype=np.float64)
    shares = totals.sum(axis=0) / totals.sum()
    complete = (totals > 0).all(axis=1)
    places: list[Floats] = [np.empty(0)] * len(folds)
    for index in np.flatnonzero(complete).tolist():
        mass = _both(folds[index]) @ (shares / totals[index])
        places[index] = 1 - (np.cumsum(mass) - mass / 2) + _turn(folds, index)
    for side in (0, 1):
        alone = np.flatnonzero((totals[:, side] > 0) & (totals[:, 1 - side] == 0))
        if len(alone):
            usual = _places_of_class(
                [(places[at], _both(folds[at])[:, side]) for at in np.flatnonzero(complete).tolist()]
            )
            for index in alone.tolist():
                mass = _both(folds[index])[:, side] / totals[index, side]
                below = 1 - (np.cumsum(mass) - mass / 2) + _turn(folds, index)
                places[index] = below if usual is None else np.interp(below, *usual)
    parts = [
        replace(fold, scores=place, joined=None, ends=None)
        for fold, place in zip(folds, places, strict=True)
        if len(place)
    ]
    return _merge(parts)


def _both(fold: Ranking) -> Floats:
    """Positives and negatives at every score, from the highest down."""
    return np.stack([fold.positives, fold.negatives], axis=1).astype(np.float64)


def _turn(folds: Sequence[Ranking], index: int) -> float:
    """How far a fold's cases stand off the middle of their step, so that those of two folds are never tied."""
    return ((index + 0.5) / len(folds) - 0.5) * _step(folds[index])


def _step(fold: Ranking) -> float:
    """The share of a fold that one of its cases is."""
    if fold.positive_squares is None or fold.negative_squares is None:
        return 1 / float(fold.n)
    # Kish's number of equally weighted cases that tell as much.
    return float(fold.positive_squares.sum() + fold.negative_squares.sum()) / float(fold.n) ** 2


def _places_of_class(known: Sequence[tuple[Floats, Floats]]) -> tuple[Floats, Floats] | None:
    """The shares of a class below, and the places that they have, from the places and counts of several folds."""
    if not known:
        return None
    place, weight = (np.concatenate(column) for column in zip(*known, strict=True))
    order = np.argsort(place, kind="stable")
    total = np.cumsum(weight[order])
    return (total - weight[order] / 2) / total[-1], place[order]


def _merge(parts: list[Ranking]) -> Ranking:
    """The rankings together; by halves, so that many small ones are not added to a large one again and again."""
    while len(parts) > 2:
        parts = [reduce(Ranking.__add__, parts[at : at + 2]) for at in range(0, len(parts), 2)]
    return reduce(Ranking.__add__, parts)
