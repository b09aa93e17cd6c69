"""From the scores of predictions to evidence: a ranking for each class that has one, and probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.engines.probabilities import tally, tally_classes
from heldout.engines.ranking import rank
from heldout.evidence import Label, Ranking
from heldout.evidence.probabilities import Probabilities
from heldout.predictions.table import Predictions

BLOCK = 1 << 16


@dataclass(frozen=True, eq=False)
class ScoreEvidence:
    """What the scores of one set of predictions tell, counted when first asked for.

    With one column the ranking is that of the positive class; with one column per class each class has a ranking
    of its own, against the rest.
    """

    predictions: Predictions
    labels: tuple[Label, ...]

    @property
    def values(self) -> NDArray[Any]:
        """The scores: (n,), or (n, k) in the order of the labels."""
        if self.predictions.scores is None:
            message = "there are no scores"
            raise TypeError(message)
        return self.predictions.scores.values

    @property
    def per_class(self) -> bool:
        """Whether every class has a column."""
        return self.values.ndim == 2

    @cached_property
    def codes(self) -> NDArray[np.int64]:
        """The true class of every case, as a place among the labels."""
        truth = self.predictions.truth
        return self.predictions.truth_place[truth.codes.astype(np.int64) - truth.offset]

    def of_class(self, place: int) -> NDArray[np.bool_]:
        """Which cases are of a class; made in blocks, so that no wide column of codes is."""
        truth, asked = self.predictions.truth, self.predictions.truth_place == place
        made = np.empty(len(truth), dtype=np.bool_)
        for start in range(0, len(made), BLOCK):
            block = truth.codes[start : start + BLOCK].astype(np.int64)
            np.take(asked, block - truth.offset, out=made[start : start + BLOCK])
        return made

    @cached_property
    def _groups(self) -> tuple[NDArray[np.int64], NDArray[Any]] | None:
        group = self.predictions.group
        if group is None:
            return None
        return group.codes.astype(np.int64) - group.offset, np.array(group.labels)

    def ranking(self, label: Label) -> Ranking:
        """The cases ranked by their score for a class."""
        memo = self._rankings
        if label not in memo:
            place = self.labels.index(label)
            scores = np.ascontiguousarray(self.values[:, place]) if self.per_class else self.values
            if not self.per_class and label != self.predictions.positive:
                scores = -scores
            weight, group = self.predictions.weight, self._groups
            memo[label] = rank(scores, self.of_class(place), weight=weight, group=group)
        return memo[label]

    @cached_property
    def _rankings(self) -> dict[Label, Ranking]:
        return {}

    @cached_property
    def probabilities(self) -> Probabilities | None:
        """Sums of losses and bins, where the scores are probabilities."""
        scores, weight = self.predictions.scores, self.predictions.weight
        if scores is None or not scores.is_probability:
            return None
        if self.per_class:
            return tally_classes(self.values, self.codes, weight, group=self._groups)
        place = self.labels.index(self.predictions.positive) if self.predictions.positive is not None else 1
        return tally(self.values, self.of_class(place), weight, group=self._groups)

    @property
    def group_codes(self) -> NDArray[np.int64] | None:
        """The group of every case."""
        return None if self._groups is None else self._groups[0]
