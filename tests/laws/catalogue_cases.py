"""What the laws range over: every measure of the catalogue on every axis it has, and tables to put them to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from heldout.evidence import Confusion
from heldout.intervals.count_estimator import Estimator
from heldout.intervals.estimate import Estimate
from heldout.measures.catalogue import COUNTED, find
from heldout.measures.quantity import AVERAGES, Bound, Quantity

# Further settings of the measures that have parameters; without an entry a measure is tried with its defaults.
PARAMETERS: dict[str, tuple[dict[str, float], ...]] = {
    "f_score": ({}, {"beta": 2.0}, {"beta": 0.5}),
    "weighted_accuracy": ({}, {"w1": 2.0, "w2": 1.0, "w3": 0.5, "w4": 0.0}),
}
# The two kappas for ordered classes change when the classes are put in another order, and nothing else does.
ORDERED = frozenset({"linear_kappa", "quadratic_kappa"})

TABLES: dict[str, list[list[int]]] = {
    "two classes": [[40, 10], [20, 130]],
    "three classes": [[50, 0, 0], [0, 48, 2], [0, 4, 46]],
    "four classes, one rare": [[120, 10, 5, 2], [8, 60, 7, 1], [3, 9, 25, 4], [1, 2, 3, 6]],
    "all right": [[20, 0], [0, 30]],
    "all wrong": [[0, 7], [9, 0]],
    "never positive": [[0, 5], [0, 45]],
    "no positives": [[0, 0], [3, 47]],
    "an absent class": [[28, 2, 0], [3, 27, 0], [0, 0, 0]],
    "a class predicted but absent": [[8, 1, 1], [0, 9, 2], [0, 0, 0]],
    "one case": [[1, 0], [0, 0]],
    "one class": [[5]],
}
# Every cell was met: no limit is infinite, and nothing is undefined.
FULL_TABLES = {
    "two classes": [[40, 10], [20, 130]],
    "four classes": [[120, 10, 5, 2], [8, 60, 7, 1], [3, 9, 25, 4], [1, 2, 3, 6]],
}


@dataclass(frozen=True)
class Case:
    """One measure with its parameters on one axis: the whole table, one class against the rest, or an average."""

    name: str
    parameters: tuple[tuple[str, float], ...]
    axis: str

    def __str__(self) -> str:
        inside = ",".join(f"{key}={value:g}" for key, value in self.parameters)
        return f"{self.axis} {self.name}" + f"({inside})" * bool(inside)

    def bound(self, k: int) -> Bound:
        return find(self.name, costs=cost_matrix(k), **dict(self.parameters))

    def quantities(self, confusion: Confusion) -> list[Quantity]:
        bound = self.bound(confusion.n_classes)
        if self.axis == "class":
            return [Quantity(bound, class_=label) for label in confusion.labels]
        return [Quantity(bound, average=next((a for a in AVERAGES if a == self.axis), None))]

    def values(self, confusion: Confusion) -> NDArray[np.float64]:
        """The value, or one per class, without the work of an interval."""
        quantity = self.quantities(confusion)[0]
        if self.axis == "table" and not quantity.bound.measure.overall:
            return np.array([quantity.bound.of_evidence(confusion)])
        return np.atleast_1d(np.asarray(Estimator(confusion).subject(quantity).value, dtype=np.float64))

    def estimates(self, estimator: Estimator, method: str | None = None) -> Sequence[Estimate]:
        quantities = self.quantities(estimator.confusion)
        subject = estimator.subject(quantities[0])
        used = estimator.chosen(subject) if method is None else None
        if used is not None:
            return estimator.estimates(subject, used, quantities[0].bound)
        return [estimator.ask(quantity, method) for quantity in quantities]


def cost_matrix(k: int) -> NDArray[np.float64]:
    """Costs that differ in every cell; what is right earns something, as in the lecture notes."""
    table = np.arange(1.0, k * k + 1).reshape(k, k)
    np.fill_diagonal(table, -1.0)
    return table


def _cases() -> Iterator[Case]:
    for measure in COUNTED.values():
        axes = ["table"] if measure.scope == "table" or measure.overall else []
        axes += ["class"] if measure.per_class else []
        axes += AVERAGES if measure.averages else []
        for given in PARAMETERS.get(measure.name, ({},)):
            for axis in axes:
                yield Case(measure.name, tuple(given.items()), axis)


CASES = list(_cases())
# The same by measure, for the laws that try each measure on all its axes at once.
BY_MEASURE = {name: [case for case in CASES if case.name == name] for name in COUNTED}


def tables(
    smallest: int = 1, largest: int = 4, least: int = 0, most: int = 40, diagonal: int = 0
) -> st.SearchStrategy[NDArray[np.int64]]:
    """Square tables of counts with at least one case; `diagonal` is added to the cells on it."""
    # Many empty cells: that is where measures become undefined.
    counts = st.sampled_from([least, least, *(c for c in (1, 2, 3, 5, 8, 13, 21, 34, 55) if least < c <= most)])
    sides = st.integers(smallest, largest)
    made = sides.flatmap(lambda k: arrays(np.int64, (k, k), elements=counts))
    return made.map(lambda table: table + diagonal * np.eye(len(table), dtype=np.int64)).filter(lambda t: t.sum() > 0)


def rows_of(table: Any) -> tuple[list[int], list[int]]:
    """A table written out case by case: truth and prediction."""
    matrix = np.asarray(table)
    i, j = np.indices(matrix.shape)
    return np.repeat(i.ravel(), matrix.ravel()).tolist(), np.repeat(j.ravel(), matrix.ravel()).tolist()
