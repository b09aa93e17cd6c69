"""What an interval is made for: a quantity on counted evidence, with everything a method may ask of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from heldout.arrays import Floats
from heldout.evidence import Confusion
from heldout.measures.cells import CORNERS, Cells, TableBatch, evidence_cells
from heldout.measures.quantity import (
    Bound,
    averaged,
    averaged_gradient,
    averaged_tables,
    class_pair,
    micro_cells,
    per_class,
    per_class_gradient,
)
from heldout.threads import cached_property

Axis = Literal["class", "table", "macro", "micro", "weighted"]


@dataclass(frozen=True)
class Subject:
    """A measure on one axis of the evidence.

    On the axis "class" everything is an array with one entry per class, made from that class's 2 × 2 table;
    on the others there is one number, made from the whole table. `scale` multiplies the counts: below 1 it
    turns weights into the number of equally weighted cases that carry as much information. A `strict` average is
    undefined as soon as one class is, instead of leaving that class out.
    """

    bound: Bound
    confusion: Confusion
    axis: Axis
    scale: Any = 1.0
    strict: bool = False

    @cached_property
    def corners(self) -> Floats:
        """TP, FN, FP, TN of every class, scaled."""
        table = self.confusion.corners
        return table if self.unscaled else table * np.reshape(self.scale, (-1, 1))

    @cached_property
    def counts(self) -> Floats:
        """Counts of the cells that were met, scaled."""
        return np.asarray(self.confusion.counts * self.scale, dtype=np.float64)

    @cached_property
    def value(self) -> Any:
        """The estimate itself; scaling does not change it."""
        if self.axis == "class":
            return per_class(self.bound, self.confusion)
        if self.axis == "table":
            return np.float64(self.bound.of_evidence(self.confusion))
        if self.strict and np.isnan(per_class(self.bound, self.confusion)).any():
            return np.float64(np.nan)
        return np.float64(averaged(self.bound, self.axis, self.confusion))

    @cached_property
    def trials(self) -> tuple[Any, Any] | None:
        """How many of how many, if the quantity is a plain proportion of the cases."""
        if self.bound.measure.kind != "proportion":
            return None
        if self.axis == "class":
            top, bottom = self._class_pair()
        elif self.axis == "table":
            top, bottom = self.bound.pair(evidence_cells(self.bound.measure, self.confusion, None))
            top, bottom = top * self.scale, bottom * self.scale
        elif self.axis == "weighted" and self.bound.measure.strata == "truth":
            # Averaged with the sizes of their own denominators, proportions add up to one proportion.
            top, bottom = (side.sum() for side in self._class_pair())
        else:
            return None
        return np.asarray(top, dtype=np.float64), np.asarray(bottom, dtype=np.float64)

    def _class_pair(self) -> tuple[Any, Any]:
        """Numerator and denominator of every class."""
        if self.unscaled:
            return class_pair(self.bound, self.confusion)
        return self.bound.pair(Cells(zip(CORNERS, self.corners.T, strict=True)))

    @property
    def unscaled(self) -> bool:
        """Whether the counts are taken as they are."""
        return isinstance(self.scale, float) and self.scale == 1.0

    @cached_property
    def gradient(self) -> Floats:
        """Derivatives by the (unscaled) counts: of TP, FN, FP, TN per class, or of each cell that was met."""
        if self.axis == "class":
            return per_class_gradient(self.bound, self.confusion)
        if self.axis == "table":
            return np.nan_to_num(self.bound.table_gradient(self.confusion))
        return np.nan_to_num(averaged_gradient(self.bound, self.axis, self.confusion))

    @cached_property
    def variance(self) -> Any:
        """Variance by the delta method: exact gradient, multinomial counts."""
        if self.axis == "class":
            raw = (self.confusion.corners * self.gradient**2).sum(axis=1)
        else:
            raw = (self.confusion.counts * self.gradient**2).sum()
        return np.asarray(raw / self.scale)

    @cached_property
    def share_bias(self) -> float:
        """How far an average of rates by support lies above the truth on average, because shares and rates go together.

        A class of which many cases happened to be drawn has a large share and, by the same cases, a high precision: the
        covariance of the two is the sum of count times derivative over the class's own cases, TP and FN.
        """
        if self.axis != "weighted" or self.bound.measure.kind != "proportion":
            return 0.0
        own = (self.confusion.corners * per_class_gradient(self.bound, self.confusion))[:, :2]
        return float(own.sum() / np.maximum(self.confusion.n * self.scale, 1.0))

    def of_classes(self, cells: dict[str, Any]) -> Any:
        """The value for draws of TP, FN, FP, TN."""
        return self.bound.value(cells)

    def of_tables(self, batch: TableBatch) -> Any:
        """The value for each square table of a batch: (B,), or (B, k) for classes."""
        if self.axis == "class":
            return self.bound.value(batch.classes)
        if self.axis == "table":
            return self.bound.of_tables(batch)
        return averaged_tables(self.bound, self.axis, batch)

    def micro_image(self, accuracy: Any) -> Any:
        """The micro average that goes with an accuracy: it depends on nothing else."""
        return self.bound.value(micro_cells(accuracy * 1.0, 1.0 - accuracy, self.confusion.n_classes))

    def scaled(self, scale: Any) -> Subject:
        """The same quantity with its counts multiplied."""
        return replace(self, scale=scale)
