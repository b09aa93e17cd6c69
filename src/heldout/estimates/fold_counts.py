"""From the counts of every fold to estimates: pooled, with the mean and the spread over the folds beside them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import method_key
from heldout.errors import OptionError
from heldout.estimates.estimate import Estimate
from heldout.estimates.fold_estimate import FoldEstimate, Rule
from heldout.estimates.fold_methods import FOLD_METHODS, FoldMethod, nothing_told, spread
from heldout.estimates.interval import Estimator
from heldout.estimates.subject import Subject
from heldout.evidence import Confusion
from heldout.evidence.folds import BATCH_CELLS, FoldCounts
from heldout.measures.catalogue import find
from heldout.measures.cells import TableBatch
from heldout.measures.quantity import Bound, Quantity


@dataclass(frozen=True)
class FoldEstimator(Estimator):
    """Makes estimates of count measures from the folds of a plan.

    `confusion` holds every distinct case once, averaged over its predictions where it has several; `folds` the counts
    of each split; `training` those of training cases. A `fold_method` makes the interval from the values in the folds.
    """

    folds: FoldCounts | None = None
    training: Confusion | None = None
    rule: Rule = "pooled"
    fold_method: FoldMethod | None = None

    def ask(self, quantity: Quantity, method: str | None = None) -> Estimate:
        """One estimate; a method named here must apply."""
        by_fold = self._method(method)
        made = super().ask(quantity, None if by_fold is not None else method)
        subject = self.subject(quantity)
        values, training = self._values(subject), self._training(subject)
        if quantity.class_ is not None:
            place = self.confusion.index(quantity.class_)
            values, training = values[:, place], training[place]
        return self._folded(made, values, float(training), by_fold, must=method is not None)

    def classes(
        self, bound: Bound, method: str | None = None, among: NDArray[np.int64] | None = None
    ) -> list[Estimate]:
        """One estimate per class, or of the classes at the places `among`; a method named here must apply."""
        by_fold = self._method(method)
        made = super().classes(bound, None if by_fold is not None else method, among)
        subject = Subject(bound, self.confusion, "class")
        values, training = self._values(subject), self._training(subject)
        if among is not None:
            values, training = values[:, among], training[among]
        return [
            self._folded(estimate, column, float(value), by_fold, must=method is not None)
            for estimate, column, value in zip(made, values.T, training, strict=True)
        ]

    def per_fold(self, quantity: Quantity) -> NDArray[np.float64]:
        """The value in every fold; nan where it is undefined there."""
        values = self._values(self.subject(quantity))
        return values if quantity.class_ is None else values[:, self.confusion.index(quantity.class_)]

    @cached_property
    def _known(self) -> dict[Any, NDArray[np.float64]]:
        return {}

    @cached_property
    def _batches(self) -> list[TableBatch] | None:
        """The tables of all folds with the sums that measures share, where they fit in memory at once."""
        if self.folds is None or len(self.folds) * self.folds.n_classes**2 > BATCH_CELLS:
            return None
        return [TableBatch(tables) for tables in self.folds.tables()]

    def _values(self, subject: Subject) -> NDArray[np.float64]:
        if self.folds is None:
            message = "there are no folds"
            raise TypeError(message)
        # Balanced accuracy is a macro recall that leaves out no class: one name and axis, but two values.
        key = subject.bound.name, subject.axis, subject.strict
        if key not in self._known:
            values = self._sparse_values(subject) if self._many else self._table_values(subject)
            if subject.strict:
                lacking = np.isnan(self._values(Subject(subject.bound, self.confusion, "class"))).any(axis=1)
                values = np.where(lacking, np.nan, values)
            self._known[key] = values
        return self._known[key]

    @property
    def _many(self) -> bool:
        """Whether there are too many classes for a square table."""
        return self.confusion.n_classes**2 > BATCH_CELLS

    def _table_values(self, subject: Subject) -> NDArray[np.float64]:
        held: Iterable[TableBatch] = self._batches or map(TableBatch, () if self.folds is None else self.folds.tables())
        return np.concatenate([np.asarray(subject.of_tables(batch), dtype=np.float64) for batch in held])

    @cached_property
    def _single(self) -> list[Confusion]:
        """The evidence of each fold by itself, with what measures share."""
        return [] if self.folds is None else list(self.folds)

    def _sparse_values(self, subject: Subject) -> NDArray[np.float64]:
        """The same fold by fold, from the cells that were met."""
        return np.array([Subject(subject.bound, one, subject.axis).value for one in self._single], dtype=np.float64)

    def _training(self, subject: Subject) -> Any:
        if self.training is None:
            return np.full(subject.n_classes, math.nan) if subject.axis == "class" else math.nan
        return Subject(subject.bound, self.training, subject.axis, strict=subject.strict).value

    def _method(self, name: str | None) -> FoldMethod | None:
        return self.fold_method if name is None else FOLD_METHODS.get(method_key(name))

    def _folded(
        self, made: Estimate, values: NDArray[np.float64], training: float, by_fold: FoldMethod | None, *, must: bool
    ) -> FoldEstimate:
        there = values[~np.isnan(values)]
        held = {field.name: getattr(made, field.name) for field in fields(Estimate)}
        if made.measure == "total_cost":
            # The total grows with the number of cases: a fold's stands for all of them.
            there, training = there * self.confusion.n, training * self.confusion.n
        # A mean over the few folds in which a measure happens to be defined says nothing.
        told = len(there) > 0 and 2 * len(there) >= len(values)
        rule, other = self.rule, float(there.mean()) if told else math.nan
        if by_fold is not None and (must or len(there) > 1) and (self.plan is None or not self.plan.refused):
            held |= self._by_fold(by_fold, made, there)
            rule, other = "mean", made.value
        return FoldEstimate(
            **held,
            rule=rule,
            other=other,
            spread=spread(there) if told else math.nan,
            folds=len(there),
            splits=len(values),
            training=training,
            target="" if self.plan is None else self.plan.target,
        )

    def _by_fold(self, method: FoldMethod, made: Estimate, there: NDArray[np.float64]) -> dict[str, Any]:
        """Value and limits of a method that knows nothing but the values in the folds: the value is their mean."""
        if self.plan is None or len(there) < 2:
            raise OptionError(
                f"The method {method.name!r} needs {made.name} in at least two folds; it is defined in {len(there)}.",
                hint="use a plan with more folds, or leave out the method.",
            )
        low, high = method.find(there, self.plan, self.level)
        floor, ceiling = find(made.measure).measure.range
        low, high = max(low, floor), min(high, ceiling)
        silent = nothing_told(there)
        if silent:
            low = high = math.nan
        note = "; ".join(filter(None, (made.note, method.finding, silent)))
        return {"value": float(there.mean()), "low": low, "high": high, "method": method.name, "note": note}
