"""What slices are made from: the cases with the columns that divide them, and the estimators of the whole.

The search for the worst slices asks it. It only counts and estimates; which slice is bad is decided in `slice_search`.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from heldout.arguments import listing
from heldout.engines.memory import count_slices
from heldout.evidence import Confusion, Label
from heldout.evidence.counted import Counted
from heldout.evidence.partitions import SliceCounts
from heldout.intervals.count_estimator import Estimator
from heldout.intervals.estimate import Estimate
from heldout.intervals.score_estimator import ScoreEstimator
from heldout.measures.quantity import Quantity
from heldout.predictions.slice_plans import SliceColumn
from heldout.predictions.table import Predictions
from heldout.results.slices import Divided
from heldout.show.numbers import number_of
from heldout.show.text_width import shorten

# Fewer cases than this are no slice worth a search: the usual least number for shares of a sample, Mitchell (1997),
# Machine Learning, section 5.2.
LEAST_CASES = 30
CORRECTION = "holm"
SHARED_MODELS = (
    "the models of one plan share training cases, so a test that takes cases as independent says too much: there are "
    "intervals of each slice and no p-values"
)


@dataclass(frozen=True)
class Basis(ABC):
    """What slices are made from: the counts of each, and the estimators of the whole."""

    estimator: Estimator
    scores: ScoreEstimator | None

    @property
    def labels(self) -> tuple[Label, ...]:
        """The classes."""
        return self.estimator.confusion.labels

    @property
    @abstractmethod
    def n(self) -> int:
        """The number of rows."""

    @property
    @abstractmethod
    def grouped(self) -> bool:
        """Whether the sliced cases come in groups."""

    @property
    @abstractmethod
    def weighted(self) -> bool:
        """Whether the sliced cases carry weights."""

    @abstractmethod
    def counts(self, columns: Sequence[Divided]) -> SliceCounts:
        """The counts of every slice of a column, or of every pair of slices of two."""

    @abstractmethod
    def paired(self, columns: Sequence[Divided]) -> list[tuple[Divided, Divided]]:
        """The pairs of columns whose slices of two can be looked at."""

    def undivided(self, columns: Iterable[Divided]) -> tuple[str, ...]:
        """The columns that have one value or none, so that they do not divide the cases."""
        return tuple(column.name for column in columns if len(self.counts([column])) < 2)

    @property
    def untested(self) -> str:
        """Why no test is made, where none can be."""
        plan = self.estimator.plan
        return SHARED_MODELS if plan is not None and (plan.factor != 1 or plan.refused) else ""

    def estimate(self, confusion: Confusion, quantity: Quantity) -> Estimate:
        """The estimate on the counts of a slice, as the whole is estimated."""
        estimator = self.estimator
        if type(estimator) is not Estimator:
            # An estimator of folds knows values of single folds, which slices do not have.
            estimator = Estimator(
                confusion,
                estimator.level,
                estimator.seed,
                estimator.replicates,
                estimator.method,
                estimator.plan,
                estimator.one_sided,
            )
            return estimator.ask(quantity)
        return replace(estimator, confusion=confusion).ask(quantity)


@dataclass(frozen=True)
class RowBasis(Basis):
    """Slices of rows that are in memory, counted when first asked for."""

    predictions: Predictions
    _counted: dict[Any, SliceCounts] = field(default_factory=dict)

    @property
    def n(self) -> int:
        """The number of rows."""
        return self.predictions.n

    @property
    def grouped(self) -> bool:
        """Whether the sliced cases come in groups."""
        return self.predictions.group is not None

    @property
    def weighted(self) -> bool:
        """Whether the sliced cases carry weights."""
        return self.predictions.weight is not None

    def column(self, name: str) -> SliceColumn:
        """The slice of every row, by the name of the column."""
        return next(column for column in self.predictions.slices if column.name == name)

    def counts(self, columns: Sequence[Divided]) -> SliceCounts:
        """The counts of every slice of a column, or of every pair of slices of two."""
        key = tuple(column.name for column in columns)
        if key not in self._counted:
            key_columns = [self.column(name) for name in key]
            self._counted[key] = count_slices(self.predictions, self.labels, key_columns)
        return self._counted[key]

    def paired(self, columns: Sequence[Divided]) -> list[tuple[Divided, Divided]]:
        """All pairs of columns."""
        return list(itertools.combinations(columns, 2))


@dataclass(frozen=True)
class CountedBasis(Basis):
    """Slices of rows that were not kept: what was counted of each."""

    counted: Counted

    @property
    def n(self) -> int:
        """The number of rows."""
        return self.counted.n

    @property
    def grouped(self) -> bool:
        """Whether the sliced cases come in groups."""
        return self.counted.confusion.clusters is not None

    @property
    def weighted(self) -> bool:
        """Whether the sliced cases carry weights."""
        return self.counted.confusion.weighted

    def counts(self, columns: Sequence[Divided]) -> SliceCounts:
        """The counts of every slice of a column, or of every pair of slices of two."""
        first, *rest = [column.name for column in columns]
        if rest:
            return self.counted.pairs[first, rest[0]]
        return next(column.counts for column in self.counted.slices if column.name == first)

    def paired(self, columns: Sequence[Divided]) -> list[tuple[Divided, Divided]]:
        """The pairs of columns that were counted."""
        return [(a, b) for a, b in itertools.combinations(columns, 2) if (a.name, b.name) in self.counted.pairs]


def notes_of_tests(basis: Basis, searched: int) -> list[str]:
    """What a reader must know of the tests of so many slices."""
    corrected = f"p-values are corrected for {number_of(searched, 'slice')} by Holm's method"
    plain = f"{corrected}; intervals are of each slice alone" if searched else ""
    notes = [note for note in (basis.untested or plain,) if note]
    if basis.grouped:
        notes.append("rows of one group are not independent: differences have a standard error over groups")
    elif basis.weighted:
        notes.append("differences use the effective number of cases that the weights leave")
    return notes


def notes_of_columns(single: Sequence[str]) -> list[str]:
    """What is said of columns that do not divide the cases."""
    if not single:
        return []
    column, verb = ("column", "has") if len(single) == 1 else ("columns", "have")
    names = listing([repr(shorten(name, 60)) for name in single])
    return [f"the {column} {names} {verb} one value or none, which makes no slices"]


def excess_of(difference: float, n: float, direction: str) -> float:
    """How many cases fewer would go wrong if the slice were as good as the rest; below 0 where it is better."""
    sign = {"higher": -1.0, "lower": 1.0}.get(direction, math.nan)
    return sign * difference * n
