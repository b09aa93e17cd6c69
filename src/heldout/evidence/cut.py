"""The 2 × 2 confusion matrix of a ranking that is cut at one place, with its weights and groups."""

from __future__ import annotations

from typing import Any

import numpy as np

from heldout.evidence.confusion import Clusters, Confusion
from heldout.evidence.labels import Label
from heldout.evidence.ranking import RankedGroups, Ranking


def cut_at(ranking: Ranking, place: int, labels: tuple[Label, Label], rows: Ranking | None = None) -> Confusion:
    """The counts when the scores before `place` are called positive; `labels` are the negative and the positive class.

    `rows` is the same ranking without its weights, where it is known.

    >>> seen = Ranking(np.array([0.9, 0.4]), np.array([1, 1]), np.array([0, 2]))
    >>> cut_at(seen, 1, ("no", "yes")).matrix
    array([[2, 0],
           [1, 1]])
    """
    kind: Any = np.float64 if ranking.weighted else np.int64
    counts: Any = np.array(_split(ranking.negatives, place) + _split(ranking.positives, place), dtype=kind)
    met = np.flatnonzero(counts)
    squares = cases = None
    if ranking.positive_squares is not None and ranking.negative_squares is not None:
        squares = np.array(_split(ranking.negative_squares, place) + _split(ranking.positive_squares, place))[met]
        if rows is not None:
            cases = np.array(_split(rows.negatives, place) + _split(rows.positives, place), dtype=np.int64)[met]
        else:
            # How many rows are behind a sum of weights is not kept in a ranking; Kish's (Σw)² / Σw² never exceeds it.
            cases = np.maximum(np.rint(counts[met] ** 2 / squares), 1).astype(np.int64)
    clusters = None if ranking.groups is None else _clusters(ranking.groups, place, met, kind)
    return Confusion(labels, met // 2, met % 2, counts[met], squares=squares, rows=cases, clusters=clusters)


def _split(values: Any, place: int) -> list[Any]:
    """What is called negative, and what is called positive."""
    return [values[place:].sum(), values[:place].sum()]


def _clusters(groups: RankedGroups, place: int, met: Any, kind: Any) -> Clusters:
    called = (groups.place < place).astype(np.int64)
    key = np.concatenate([groups.group * 4 + called, groups.group * 4 + 2 + called])
    held = np.concatenate([groups.negatives, groups.positives]).astype(np.float64)
    pairs, where = np.unique(key, return_inverse=True)
    total = np.bincount(where, weights=held)
    kept = total > 0
    return Clusters(groups.keys, pairs[kept] // 4, np.searchsorted(met, pairs[kept] % 4), total[kept].astype(kind))
