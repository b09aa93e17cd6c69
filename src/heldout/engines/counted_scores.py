"""What scores tell where only counts of them were kept: rankings from bins, and probabilities as they were summed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from heldout.engines.scores import ScoreEvidence
from heldout.evidence import Label, Ranking
from heldout.evidence.counted import Counted, ScoreTally
from heldout.evidence.probabilities import Probabilities
from heldout.evidence.score_bins import POINT, ScoreBins


@dataclass(frozen=True, eq=False)
class CountedScores(ScoreEvidence):
    """The scores of rows that were not kept.

    `positive` is the class that one column of scores speaks for, and `parts` are the tallies of the folds.
    """

    tally: ScoreTally
    labels: tuple[Label, ...]
    positive: Label | None = None
    parts: tuple[ScoreTally, ...] = ()

    @classmethod
    def of(cls, counted: Counted) -> CountedScores:
        """The scores among what was counted."""
        if counted.scores is None:
            message = "there are no scores"
            raise TypeError(message)
        labels = counted.scores.labels or counted.labels
        return cls(counted.scores, labels, counted.positive, counted.fold_scores)

    @property
    def _first(self) -> ScoreBins:
        return self.tally.bins[0]

    @property
    def n(self) -> int:
        """The number of rows."""
        return self._first.n

    @property
    def per_class(self) -> bool:
        """Whether every class has a column."""
        return self.tally.per_class

    @cached_property
    def exact(self) -> bool:
        """Whether no bin may hold several distinct scores, neither of all rows nor of a fold."""
        return not any(bins.joined.any() for tally in (self.tally, *self.parts) for bins in tally.bins)

    @property
    def weighted(self) -> bool:
        """Whether the cases carry weights."""
        return self._first.weights is not None

    @property
    def grouped(self) -> bool:
        """Whether rows come in groups."""
        return self._first.groups is not None

    @property
    def not_probability(self) -> str:
        """Why the scores are no probabilities; empty where they are."""
        return self.tally.not_probability

    @property
    def probabilities(self) -> Probabilities | None:
        """Sums of losses and bins, where the scores are probabilities."""
        return self.tally.probabilities

    @property
    def folds(self) -> tuple[ScoreEvidence, ...]:
        """The evidence of each fold by itself; all of it as one where there are no folds."""
        return tuple(CountedScores(part, self.labels, self.positive) for part in self.parts) or (self,)

    def every_score(self) -> Iterator[NDArray[np.float64]]:
        """The distinct scores, where every one of them was kept."""
        return (bins.low for bins in (self.tally.bins if self.exact else ()))

    @cached_property
    def fold_cases(self) -> NDArray[np.float64]:
        """The number of rows of each class in each fold."""
        tables = [part.of_classes() for part in self.parts or (self.tally,)]
        if not self.per_class:
            # One column of scores tells the positive class, which is the second there, from the other.
            places = [int(label == self.positive) for label in self.labels]
            tables = [table[places] for table in tables]
        return np.array(tables, dtype=np.float64)

    @cached_property
    def _rankings(self) -> dict[Label, Ranking]:
        return {}

    def ranking(self, label: Label) -> Ranking:
        """The cases ranked by their score for a class."""
        memo = self._rankings
        if label not in memo:
            memo[label] = self._ranked(label, self._bins(label))
        return memo[label]

    def _bins(self, label: Label) -> ScoreBins:
        return self.tally.bins[self.labels.index(label)] if self.per_class else self._first

    def _ranked(self, label: Label, bins: ScoreBins) -> Ranking:
        if self.per_class:
            return bins.ranking(self.tally.place(self.labels.index(label)))
        ranked = bins.ranking(1)
        return ranked if label == self.positive else ranked.swapped()

    def rows_ranked(self, label: Label) -> Ranking:
        """How many rows of a class and of the rest stand at each score, whatever they weigh."""
        return self._ranked(label, replace(self._bins(label), weights=None, squares=None, groups=None))

    @cached_property
    def _typical(self) -> dict[Label, Ranking]:
        return {}

    def typical(self, label: Label) -> Ranking:
        """The ranking with the middle of each bin for its score, where a bin is more than one score."""
        ranking = self.ranking(label)
        if ranking.joined is None:
            return ranking
        if label not in self._typical:
            bins = self._bins(label)
            highest = np.minimum(np.nextafter(bins.ends, -np.inf), bins.greatest)
            # The one score of a bin with one row is not known either. Halves first: the sum of two may be endless.
            middle = np.where(bins.exponent == POINT, bins.low, np.maximum(bins.low, bins.least) / 2 + highest / 2)
            turned = not self.per_class and label != self.positive
            scores = -middle if turned else middle[::-1]
            self._typical[label] = replace(ranking, scores=np.ascontiguousarray(scores))
        return self._typical[label]
