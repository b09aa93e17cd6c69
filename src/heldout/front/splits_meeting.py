"""Contestants that were trained and tested by the same splits, compared split by split."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from heldout.comparison import Alike
from heldout.comparisons.folds import FoldValues, compare_folds
from heldout.comparisons.procedure import Setting
from heldout.comparisons.tested import Tested
from heldout.comparisons.together import Together
from heldout.errors import OptionError
from heldout.front.meeting import Judged, Rules, alike_in, is_score, of_own, value_of
from heldout.measures.quantity import Quantity
from heldout.predictions.match import fitted


@dataclass(frozen=True, eq=False)
class SameSplits(Judged):
    """All of them were trained and tested by the same splits.

    `order` brings the folds of each into one order, and `rows` the cases, where they are in another. `random` says that
    every split is a draw of its own, and no fold of a partition of the cases.
    """

    by_split: ClassVar[bool] = True
    met: ClassVar[Setting] = "same splits"

    plan: str = field(kw_only=True)
    splits: int = field(kw_only=True)
    random: bool = field(kw_only=True, default=False)
    order: tuple[NDArray[np.int64], ...] = field(kw_only=True, default=())
    extra: tuple[str, ...] = field(kw_only=True, default=())
    rows: tuple[NDArray[np.int64], ...] = field(kw_only=True, default=())

    @property
    def words(self) -> str:
        """The plan."""
        return f"the same {self.splits:,} splits ({self.plan})"

    @property
    def shared(self) -> tuple[str, ...]:
        """What is said of how they meet, and of the splits that are compared."""
        return (*super().shared, *self.extra)

    def why(self) -> str:
        """Why they are compared so."""
        return (
            f"They were trained and tested on the same {self.splits:,} splits ({self.plan}), so they are compared "
            "split by split; splits share training cases, which the test must allow for"
        )

    def test(self, one: int, two: int, quantity: Quantity, rules: Rules) -> Tested:
        """The difference of two contestants over the splits."""
        values = [self._per_fold(place, quantity) for place in (one, two)]
        plan = self.evaluations[one].estimator.plan
        folds, repeats = self._shape(len(values[0]), len(values[0]) if plan is None else plan.independent)
        held = FoldValues.of(*values, ratio=None if plan is None else plan.ratio, folds=folds, repeats=repeats)
        return compare_folds(held, rules.method or "corrected-t", level=rules.level, rope=rules.rope)

    def _shape(self, splits: int, folds: int) -> tuple[int, int]:
        """The splits of one repetition, and the number of repetitions; random splits are repetitions of one each."""
        if self.random:
            return 1, splits
        repeats = max(1, splits // folds)
        # Folds of which some are missing come one after the other, in one repetition.
        return (folds, repeats) if folds * repeats == splits else (splits, 1)

    def _per_fold(self, place: int, quantity: Quantity) -> NDArray[np.float64]:
        one = self.evaluations[place]
        if quantity.bound.costs is not None and fitted(one.labels, self.labels) != self.evaluations[0].labels:
            raise OptionError(
                f"{self.names[0]} and {self.names[place]} have different classes, so the costs do not fit both.",
                hint="name the same classes in one order with labels= (--labels).",
            )
        values = one.fold_values(of_own(quantity, one.labels))
        return values[self.order[place]] if self.order else values

    def value(self, place: int, quantity: Quantity) -> float:
        """The mean over the splits, which is what the test compares."""
        values = self._per_fold(place, quantity)
        there = values[~np.isnan(values)]
        return float(there.mean()) if len(there) else float("nan")

    def pooled(self, place: int, quantity: Quantity) -> float | None:
        """The value from the counts of all splits together, as an evaluation gives it; of scores there is none."""
        return float("nan") if is_score(quantity) else value_of(self.confusion(place), quantity)

    def alike(self, one: int, two: int, quantity: Quantity) -> Alike:
        """What both give alike in every case, of what a quantity is made from."""
        held = [self.evaluations[place].predictions for place in (one, two)]
        if self.rows:
            held = [None if own is None else own.part(self.rows[at]) for own, at in zip(held, (one, two), strict=True)]
        return alike_in(held[0], held[1], quantity)

    def omnibus(self, quantities: Sequence[Quantity], rules: Rules) -> tuple[Together, ...]:  # noqa: ARG002
        """There is none for splits that share cases."""
        return ()
