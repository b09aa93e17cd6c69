"""Scores of some rows with what they are counted by: their classes, weights, groups and folds; and their tally at once.

It stands alone because rows in memory, batches of files and workers of clusters make it, and all count it alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import require
from heldout.engines.bins import bins_of
from heldout.engines.probability_sums import BLOCK, tally, tally_classes
from heldout.evidence import Label
from heldout.evidence.counted import ScoreTally, class_columns, most_bins, sided
from heldout.evidence.probabilities import Probabilities, Unfit
from heldout.evidence.score_bins import ScoreBins
from heldout.predictions.label_encoding import Coded
from heldout.predictions.table import Predictions
from heldout.threads import share_out


@dataclass(frozen=True, eq=False)
class LabelledScores:
    """The scores of some rows with what they are counted by: the true class, or whether it is the positive one.

    `unfit` says why they are no probabilities, and is None where they are.
    """

    scores: NDArray[Any]
    codes: NDArray[Any]
    weight: NDArray[np.float64] | None = None
    group: tuple[NDArray[Any], NDArray[Any]] | None = None
    fold: Coded | None = None
    unfit: Unfit | None = None

    @classmethod
    def of(cls, predictions: Predictions) -> LabelledScores:
        """Those of predictions that have scores.

        >>> from heldout.predictions.case_values import raw_scores
        >>> from heldout.predictions.table import assemble
        >>> LabelledScores.of(assemble(["no", "yes"], score=raw_scores([0.2, 0.9]), positive="yes")).codes.tolist()
        [False, True]
        """
        scores = require(predictions.scores, "there are no scores")
        labels, places = predictions.labels, predictions.truth_place
        if not scores.per_class:
            places = places == (1 if predictions.positive is None else labels.index(predictions.positive))
        elif len(labels) < 1 << 8:
            places = places.astype(np.uint8)
        truth = predictions.truth
        # Codes that are places already are looked up as they are, however narrow.
        codes = places[truth.places() if truth.offset else truth.codes]
        group = None if predictions.group is None else predictions.group.keyed()
        return cls(scores.values, codes, predictions.weight, group, predictions.fold, scores.unfit)

    def folds(self) -> dict[Any, LabelledScores]:
        """The rows of each fold that is met, by its key; nothing where there are no folds."""
        fold = self.fold
        if fold is None:
            return {}
        codes = fold.places()
        # Short whole numbers are sorted without comparing them.
        order = np.argsort(codes.astype(np.uint16) if len(fold.labels) < 1 << 16 else codes, kind="stable")
        starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
        parts = np.split(order, starts[1:])
        return {fold.labels[code]: self._taken(rows) for code, rows in zip(codes[order[starts]], parts, strict=True)}

    def _taken(self, rows: NDArray[np.int64]) -> LabelledScores:
        group = None
        if self.group is not None:
            groups_present, group_index = np.unique(self.group[0][rows], return_inverse=True)
            group = group_index, self.group[1][groups_present]
        weight = None if self.weight is None else self.weight[rows]
        return LabelledScores(self.scores[rows], self.codes[rows], weight, group, unfit=self.unfit)

    def column(self, at: int, k: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """The scores of the class at a place among `k`, and the classes as its bins tell them; of the one if k is 0."""
        return (self.scores[:, at], sided(self.codes, at, k)) if k else (self.scores, self.codes)

    def losses(self, k: int, *, block: int = BLOCK) -> Probabilities | None:
        """The sums of losses of `k` classes with a score each, or of one score if k is 0; None without probabilities.

        `block` rows of one score are worked on at a time.
        """
        if self.unfit is not None:
            return None
        if k:
            return tally_classes(self.scores, self.codes, self.weight, self.group)
        return tally(self.scores, self.codes, self.weight, self.group, block)

    def tally(self, labels: tuple[Label, ...] = ()) -> ScoreTally:
        """All that these scores tell, counted at once; `labels` are those that have a score each, if there are several.

        >>> LabelledScores(np.array([0.2, 0.9]), np.array([False, True])).tally().bins[0].low
        array([0.2, 0.9])
        """
        k = len(labels)

        def count_column(at: int) -> ScoreBins:
            scores, codes = self.column(at, k)
            return bins_of(
                scores, codes, class_columns(k or 2), weight=self.weight, group=self.group, most=most_bins(k)
            )

        return ScoreTally(tuple(share_out(count_column, range(k or 1))), self.losses(k), self.unfit, labels)
