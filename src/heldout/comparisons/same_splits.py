"""The design of the same splits: all contestants were trained and tested by them, with their cases known or not."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from heldout.arrays import Floats
from heldout.comparisons.best import JointValues
from heldout.comparisons.comparison import Alike, Side
from heldout.comparisons.fold_tests import FoldValues, SplitResults, compare_folds, find_one_pass_factor
from heldout.comparisons.pair_test import Setting
from heldout.comparisons.paired_scores import translate_class
from heldout.comparisons.pairing_design import (
    CompareOptions,
    PairingDesign,
    compute_value,
    find_identical,
)
from heldout.errors import OptionError
from heldout.intervals.estimate import PairTest
from heldout.measures.quantity import Quantity
from heldout.predictions.positive_class import fitted
from heldout.predictions.table import Predictions
from heldout.threads import cached_property


class SameSplits(PairingDesign):
    """All contestants have a value for each of the same splits, and are compared by these."""

    by_split: ClassVar[bool] = True
    setting: ClassVar[Setting] = "same splits"

    @abstractmethod
    def _per_split(self, index: int, quantity: Quantity) -> Floats:
        """The value of one contestant in each split, nan where it is undefined."""

    @abstractmethod
    def _ratio(self, index: int) -> float | None:
        """The size of a test part over that of its training part; None where it is not known."""

    @abstractmethod
    def _shape(self, index: int, splits: int) -> tuple[int, int]:
        """The splits of one repetition, and the number of repetitions."""

    def test(self, a: int, b: int, quantity: Quantity, options: CompareOptions) -> PairTest:
        """The difference of two contestants over the splits."""
        values = [self._per_split(index, quantity) for index in (a, b)]
        folds, repeats = self._shape(a, len(values[0]))
        by_fold = FoldValues.of(*values, ratio=self._ratio(a), folds=folds, repeats=repeats)
        return compare_folds(by_fold, options.method, level=options.level, rope=options.rope)

    def joint(self, quantity: Quantity) -> JointValues | None:
        """The means over the splits with their covariance, which allows for training cases that splits share."""
        ratio = self._ratio(0)
        return None if ratio is None else join_split_values(self._side_by_side(range(len(self.names)), quantity), ratio)

    def value(self, index: int, quantity: Quantity) -> float:
        """The mean over the splits where it is defined, which is what the test compares."""
        return mean_of_defined(self._per_split(index, quantity))

    def values_together(self, indices: Sequence[int], quantity: Quantity) -> list[float]:
        """The means over the splits where all of them have a value."""
        return means_together(self._side_by_side(indices, quantity))

    def _side_by_side(self, indices: Sequence[int], quantity: Quantity) -> Floats:
        """The values of some contestants: contestants × splits."""
        return np.stack([self._per_split(index, quantity) for index in indices])


@dataclass(frozen=True, eq=False)
class PairedSplits(SameSplits):
    """All contestants were trained and tested by the same splits.

    `order` brings the folds of each contestant into the order of the first, and `rows` its cases. `random` says that
    the splits are random ones, and not the folds of a partition.
    """

    plan: str = field(kw_only=True)
    splits: int = field(kw_only=True)
    random: bool = field(kw_only=True, default=False)
    order: tuple[NDArray[np.int64], ...] = field(kw_only=True, default=())
    extra: tuple[str, ...] = field(kw_only=True, default=())
    rows: tuple[NDArray[np.int64], ...] = field(kw_only=True, default=())

    @property
    def description(self) -> str:
        """The plan."""
        return f"the same {self.splits:,} splits ({self.plan})"

    @property
    def compares_precision(self) -> bool:
        """Always: the values of the splits are compared."""
        return True

    @property
    def shared_notes(self) -> tuple[str, ...]:
        """The notes on the pairing, and on the splits that are compared."""
        return (*super().shared_notes, *self.extra)

    @property
    def reason(self) -> str:
        """Why they are compared split by split."""
        return (
            f"They were trained and tested on the same {self.splits:,} splits ({self.plan}), so they are compared "
            "split by split; splits share training cases, which the test must allow for"
        )

    def _ratio(self, index: int) -> float | None:
        plan = self.evaluations[index].estimator.plan
        return None if plan is None else plan.ratio

    def _shape(self, index: int, splits: int) -> tuple[int, int]:
        """The splits of one repetition, and the number of repetitions; random splits are repetitions of one each."""
        if self.random:
            return 1, splits
        plan = self.evaluations[index].estimator.plan
        folds = splits if plan is None else plan.independent
        repeats = max(1, splits // folds)
        # Folds of which some are missing come one after the other, in one repetition.
        return (folds, repeats) if folds * repeats == splits else (splits, 1)

    def _per_split(self, index: int, quantity: Quantity) -> Floats:
        own = self.evaluations[index]
        if quantity.bound.costs is not None and fitted(own.labels, self.labels) != self.evaluations[0].labels:
            raise OptionError(
                f"{self.names[0]} and {self.names[index]} have different classes, so the costs do not fit both.",
                hint="name the same classes in one order with labels= (--labels).",
            )
        values = own.per_fold(translate_class(quantity, own.labels))
        return values[self.order[index]] if self.order else values

    def pooled(self, index: int, quantity: Quantity) -> float | None:
        """The value from the counts of all splits together, as an evaluation gives it; of scores there is none."""
        return float("nan") if quantity.is_score else compute_value(self.confusion(index), quantity)

    def identical(self, a: int, b: int, quantity: Quantity) -> Alike:
        """Whether two sides give the same answers or scores to every case, in the order of the cases."""
        first, second = (self._predictions_in_order(index) for index in (a, b))
        return find_identical(first, second, quantity)

    def _predictions_in_order(self, index: int) -> Predictions | None:
        own = self.evaluations[index].predictions
        return own.part(self.rows[index]) if own is not None and self.rows else own


def mean_of_defined(values: Floats) -> float:
    """The mean over the splits where a measure is defined, nan where it is nowhere."""
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if len(defined) else math.nan


def means_together(values: Floats) -> list[float]:
    """The means of contestants × splits over the splits where all have a value; of each alone where there is none.

    >>> means_together(np.array([[0.8, 0.6, 0.7], [0.9, np.nan, 0.8]]))
    [0.75, 0.8500000000000001]
    """
    complete = ~np.isnan(values).any(axis=0)
    return [mean_of_defined(row[complete] if complete.any() else row) for row in values]


@dataclass(frozen=True, eq=False)
class TabledSplits(SameSplits):
    """All learners were trained and tested by the same splits, and of each split only the values are known."""

    results: SplitResults = field(kw_only=True)

    @cached_property
    def names(self) -> list[str]:
        """The learners."""
        return list(self.results.learners)

    @property
    def _splits(self) -> int:
        return self.results.folds * self.results.repeats

    @property
    def description(self) -> str:
        """The splits, and of which data set they are."""
        of = f" of {self.results.data_set}" if self.results.data_set else ""
        return f"the same {self._splits:,} splits{of} ({self.results.plan})"

    @property
    def reason(self) -> str:
        """Why they are compared split by split, and by which ratio of test to training cases."""
        return (
            f"Each row holds what they reached in one of {self._splits:,} splits of one data set "
            f"({self.results.plan}), so they are compared split by split; splits share training cases, which the test "
            f"allows for by the ratio of test to training cases, {self.results.ratio:.4g}, {self.results.origin}"
        )

    @property
    def own_notes(self) -> tuple[tuple[str, str], ...]:
        """Nothing is known of single learners."""
        return ()

    @property
    def shared_notes(self) -> tuple[str, ...]:
        """What was read, and how."""
        return self.results.notes

    def quantities(self, wanted: Sequence[str] | None) -> list[Quantity]:
        """What the table holds; what was asked for was looked up when it was read."""
        del wanted
        return list(self.results.quantities)

    def _per_split(self, index: int, quantity: Quantity) -> Floats:
        values: Floats = self.results.values[quantity.key][index]
        return values

    def _ratio(self, index: int) -> float:  # noqa: ARG002 - one signature
        return self.results.ratio

    def _shape(self, index: int, splits: int) -> tuple[int, int]:  # noqa: ARG002 - one signature
        return self.results.folds, self.results.repeats

    def sides(self) -> tuple[Side, ...]:
        """None: the cases of the splits are not known."""
        return ()


def join_split_values(values: Floats, ratio: float) -> JointValues | None:
    """The means over splits of contestants × splits, with the covariance that the test of two learners has.

    `ratio` is the size of a test part over that of its training part.
    """
    complete = values[:, ~np.isnan(values).any(axis=0)]
    splits = complete.shape[1]
    if splits < 2:
        return None
    return JointValues(
        complete.mean(axis=1), np.cov(complete) * find_one_pass_factor(splits, ratio), splits - 1.0, splits
    )
