"""What scores tell, whether the rows are there or only counts: a ranking for each class, probabilities, and folds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import require
from heldout.arrays import Integers
from heldout.engines.probability_sums import tally, tally_classes
from heldout.engines.score_sort import rank
from heldout.errors import OptionError
from heldout.evidence import Label, Ranking
from heldout.evidence.counted import Counted, ScoreTally
from heldout.evidence.labels import key_array
from heldout.evidence.probabilities import Probabilities
from heldout.evidence.probability_bins import BinChoice, with_bins
from heldout.evidence.score_bins import ScoreBins
from heldout.predictions.table import Predictions
from heldout.threads import cached_property

BLOCK = 1 << 16


@dataclass(frozen=True, eq=False)
class RowScores:
    """The scores of rows that are in memory."""

    predictions: Predictions
    labels: tuple[Label, ...]
    bins: BinChoice | None = None

    @property
    def values(self) -> NDArray[Any]:
        """The scores: (n,), or (n, k) in the order of the labels."""
        return require(self.predictions.scores, "there are no scores").values

    @property
    def n(self) -> int:
        """The number of rows."""
        return self.predictions.n

    @property
    def per_class(self) -> bool:
        """Whether every class has a column."""
        return self.values.ndim == 2

    @property
    def weighted(self) -> bool:
        """Whether the scored cases carry weights."""
        return self.predictions.weight is not None

    @property
    def grouped(self) -> bool:
        """Whether the scored cases come in groups."""
        return self.predictions.group is not None

    @property
    def not_probability(self) -> str:
        """Why the scores are no probabilities; empty where they are."""
        return "" if self.predictions.scores is None else self.predictions.scores.not_probability

    @cached_property
    def codes(self) -> Integers:
        """The true class of every case, as a place among the labels."""
        truth = self.predictions.truth
        return self.predictions.truth_place[truth.places()]

    def of_class(self, place: int) -> NDArray[np.bool_]:
        """Which cases are of a class; made in blocks, so that no wide column of codes is."""
        truth, asked = self.predictions.truth, self.predictions.truth_place == place
        is_class = np.empty(len(truth), dtype=np.bool_)
        for start in range(0, len(is_class), BLOCK):
            block = truth.codes[start : start + BLOCK].astype(np.int64)
            np.take(asked, block - truth.offset, out=is_class[start : start + BLOCK])
        return is_class

    @cached_property
    def _groups(self) -> tuple[Integers, NDArray[Any]] | None:
        group = self.predictions.group
        return None if group is None else (group.places(), key_array(group.labels))

    @property
    def group_codes(self) -> Integers | None:
        """The group of every case."""
        return None if self._groups is None else self._groups[0]

    def ranking(self, label: Label) -> Ranking:
        """The cases ranked by their score for a class."""
        memo = self._rankings
        if label not in memo:
            weight, group = self.predictions.weight, self._groups
            memo[label] = rank(*self._column(label), weight=weight, group=group)
        return memo[label]

    def _column(self, label: Label) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """The scores for a class, and which cases are of it."""
        index = self.labels.index(label)
        scores = np.ascontiguousarray(self.values[:, index]) if self.per_class else self.values
        if not self.per_class and label != self.predictions.positive:
            scores = -scores
        return scores, self.of_class(index)

    @cached_property
    def _rankings(self) -> dict[Label, Ranking]:
        return {}

    def rows_ranked(self, label: Label) -> Ranking:
        """How many rows of a class and of the rest stand at each score, whatever they weigh."""
        return rank(*self._column(label))

    def typical(self, label: Label) -> Ranking:
        """The ranking itself: every place holds one score."""
        return self.ranking(label)

    def every_score(self) -> Iterator[NDArray[Any]]:
        """The scores of all rows, in blocks."""
        return (self.values[start : start + BLOCK] for start in range(0, self.n, BLOCK))

    @cached_property
    def probabilities(self) -> Probabilities | None:
        """Sums of losses and bins, where the scores are probabilities."""
        scores, weight = self.predictions.scores, self.predictions.weight
        if scores is None or not scores.is_probability:
            return None
        if self.per_class:
            tallied = tally_classes(self.values, self.codes, weight, group=self._groups)
        else:
            at = self.labels.index(self.predictions.positive) if self.predictions.positive is not None else 1
            tallied = tally(self.values, self.of_class(at), weight, group=self._groups)
        return tallied if self.bins is None else with_bins(tallied, self._binned_ranking(), self.bins)

    @cached_property
    def ordered(self) -> Probabilities | None:
        """The sums that only ask in which order the scores of a case put the classes, whatever the scores are."""
        if not self.per_class or self.probabilities is not None:
            return self.probabilities
        from scipy.stats import rankdata

        # Any probabilities in the same order, with the same ties.
        places = rankdata(self.values, method="dense", axis=1).astype(np.float64)
        places /= places.sum(axis=1, keepdims=True)
        return tally_classes(places, self.codes, self.predictions.weight, group=self._groups)

    def pooled(self) -> Ranking:
        """Every score of every case in one ranking, each for its class against the rest; a case is a group."""
        n, k = self.values.shape
        codes, weight = self.codes, self.predictions.weight
        group, keys = (np.arange(n), np.arange(n)) if self._groups is None else self._groups
        positive = codes[:, None] == np.arange(k)
        return rank(
            np.ascontiguousarray(self.values).ravel(), positive.ravel(),
            weight=None if weight is None else np.repeat(weight, k), group=(np.repeat(group, k), keys),
        )  # fmt: skip

    def drawn(self, rows: Integers) -> RowScores:
        """The same with these rows, some of them perhaps several times."""
        return RowScores(self.predictions.part(rows), self.labels, self.bins)

    def _binned_ranking(self) -> Ranking:
        """The ranking of what is put into bins: probabilities of the positive class, or the highest of each case."""
        if not self.per_class:
            positive = self.predictions.positive
            return self.ranking(self.labels[1] if positive is None else positive)
        # Among equals the later label comes first.
        top = self.values.shape[1] - 1 - self.values[:, ::-1].argmax(axis=1)
        return rank(self.values.max(axis=1), top == self.codes, weight=self.predictions.weight, group=self._groups)

    @cached_property
    def folds(self) -> tuple[RowScores, ...]:
        """The evidence of each fold by itself; all of it as one where there are no folds."""
        if self.predictions.fold is None:
            return (self,)
        return tuple(RowScores(self.predictions.part(rows), self.labels, self.bins) for rows in self._rows)

    @cached_property
    def _rows(self) -> list[Integers]:
        """The rows of each fold."""
        fold = self.predictions.fold
        if fold is None:
            return [np.arange(self.n)]
        codes = fold.places()
        order = np.argsort(codes, kind="stable")
        cuts = np.flatnonzero(np.diff(codes[order])) + 1
        return np.split(order, cuts)

    @cached_property
    def fold_cases(self) -> NDArray[np.float64]:
        """The number of rows of each class in each fold."""
        # Not from the folds themselves: of many folds of one case each they would take longer to make than to count.
        k = len(self.labels)
        return np.array([np.bincount(self.codes[rows], minlength=k) for rows in self._rows], dtype=np.float64)


@dataclass(frozen=True, eq=False)
class CountedScores:
    """The scores of rows that were not kept.

    `positive` is the class that one column of scores speaks for, and `parts` are the tallies of the folds.
    """

    tally: ScoreTally
    labels: tuple[Label, ...]
    positive: Label | None = None
    parts: tuple[ScoreTally, ...] = ()
    bins: BinChoice | None = None

    @classmethod
    def of(cls, counted: Counted, bins: BinChoice | None = None) -> CountedScores:
        """The scores among what was counted."""
        scores = require(counted.scores, "there are no scores")
        return cls(scores, scores.labels or counted.labels, counted.positive, counted.fold_scores, bins)

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
        """Whether the scored cases carry weights."""
        return self._first.weights is not None

    @property
    def grouped(self) -> bool:
        """Whether the scored cases come in groups."""
        return self._first.groups is not None

    @property
    def not_probability(self) -> str:
        """Why the scores are no probabilities; empty where they are."""
        return self.tally.not_probability

    @cached_property
    def probabilities(self) -> Probabilities | None:
        """Sums of losses and bins, where the scores are probabilities."""
        tallied = self.tally.probabilities
        if tallied is None or self.bins is None:
            return tallied
        if self.per_class or self.positive is None:
            raise OptionError(
                f"The highest probabilities were counted in {len(tallied.reliability)} even bins, which cannot be "
                "changed any more.",
                hint="leave out calibration_bins and calibration_strategy, or evaluate the rows in memory.",
            )
        return with_bins(tallied, self.typical(self.positive), self.bins)

    @property
    def ordered(self) -> Probabilities | None:
        """The sums that only ask in which order the scores of a case put the classes."""
        return self.probabilities

    @property
    def folds(self) -> tuple[CountedScores, ...]:
        """The evidence of each fold by itself; all of it as one where there are no folds."""
        parts = (CountedScores(part, self.labels, self.positive, bins=self.bins) for part in self.parts)
        return tuple(parts) or (self,)

    def every_score(self) -> Iterator[NDArray[np.float64]]:
        """The distinct scores, where every one of them was kept."""
        return (bins.low for bins in (self.tally.bins if self.exact else ()))

    @cached_property
    def fold_cases(self) -> NDArray[np.float64]:
        """The number of rows of each class in each fold."""
        tables = [part.count_classes() for part in self.parts or (self.tally,)]
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
            middle = self._bins(label).middles
            turned = not self.per_class and label != self.positive
            scores = -middle if turned else middle[::-1]
            self._typical[label] = replace(ranking, scores=np.ascontiguousarray(scores))
        return self._typical[label]


# What the scores of one set of predictions tell, worked out when first asked for. With one column the ranking is that
# of the positive class; with one column per class each class has a ranking of its own, against the rest.
ScoreEvidence = RowScores | CountedScores
