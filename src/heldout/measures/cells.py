"""The counts that formulas name: TP, FP, FN, TN of one class against the rest, and sums over a whole table.

Everything works on batches: a leading axis may hold thousands of resampled tables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.evidence import Confusion
from heldout.evidence.confusion import true_negatives
from heldout.measures.declare import Measure
from heldout.threads import cached_property

CORNERS = ("tp", "fn", "fp", "tn")
# What a formula calls the square table itself: rows are the truth, in the order of the labels.
WHOLE_TABLE = "table"


class Cells(dict[str, Any]):
    """Named counts; the sums over the 2 × 2 table of TP, FN, FP and TN are worked out when first asked for.

    >>> class_cells(10, 1, 2, 35)["correct"]
    45
    """

    def __missing__(self, name: str) -> Any:
        value = SUMS[name](self)
        self[name] = value
        return value


SUMS: Mapping[str, Callable[[Cells], Any]] = {
    "positives": lambda c: c["tp"] + c["fn"],
    "negatives": lambda c: c["fp"] + c["tn"],
    "found": lambda c: c["tp"] + c["fp"],
    "left": lambda c: c["fn"] + c["tn"],
    "n": lambda c: c["positives"] + c["negatives"],
    "correct": lambda c: c["tp"] + c["tn"],
    "wrong": lambda c: c["fn"] + c["fp"],
    "covariance": lambda c: 2 * (c["tp"] * c["tn"] - c["fp"] * c["fn"]),
    "chance_errors": lambda c: c["positives"] * c["left"] + c["negatives"] * c["found"],
    "truth_spread": lambda c: 2 * c["positives"] * c["negatives"],
    "predicted_spread": lambda c: 2 * c["found"] * c["left"],
    # Two classes are one step apart.
    "linear_gap": lambda c: c["wrong"],
    "linear_chance": lambda c: c["chance_errors"],
    "quadratic_gap": lambda c: c["wrong"],
    "quadratic_chance": lambda c: c["chance_errors"],
}


def class_cells(tp: Any, fn: Any, fp: Any, tn: Any) -> Cells:
    """The named counts of one class against the rest, or of many at once."""
    return Cells(tp=tp, fn=fn, fp=fp, tn=tn)


@dataclass(frozen=True, eq=False)
class Margins:
    """What sums over a table need: its margins, the cells of every class, the diagonal, and single cells."""

    rows: Any
    columns: Any
    total: Any
    classes: Cells
    correct: Any
    wrong: Any
    cells: Callable[[NDArray[np.float64]], Any]
    k: int
    table: Callable[[], Any] | None = None


# Two numbers have one sum, so that of two classes the layout in memory can be what is fastest; of more it changes bits.
TWO = 2


class TableBatch:
    """A batch of square tables (B, k, k) with the sums that measures share, made when first asked for."""

    # The measure whose values of classes an average asked for last, and these values.
    latest: tuple[Any, Any] = None, None

    def __init__(self, tables: NDArray[np.float64]) -> None:
        self.k = tables.shape[-1]
        # Of two classes each cell is a row by itself, so that sums over cells and classes run along the tables.
        if self.k == TWO:
            cells = np.ascontiguousarray(np.moveaxis(tables, (-2, -1), (0, 1)))
            tables = np.moveaxis(cells, (0, 1), (-2, -1))
        self.tables = tables

    @cached_property
    def margins(self) -> Margins:
        """The margins of every table."""
        tables = self.tables
        tp, fn, fp, tn = self._two_classes() if self.k == TWO else self._classes()
        rows, columns = tp + fn, tp + fp
        classes = class_cells(tp, fn, fp, tn)
        classes.update(positives=rows, found=columns)
        if self.k == TWO:
            classes.update(negatives=rows[..., ::-1], left=columns[..., ::-1])
        return Margins(
            rows=rows,
            columns=columns,
            total=rows.sum(axis=-1),
            classes=classes,
            # Of two classes the sum of the diagonal is written out: `einsum` takes ten times as long for it.
            correct=tp[..., 0] + tp[..., 1] if self.k == TWO else np.einsum("...ii->...", tables),
            wrong=fn.sum(axis=-1),
            cells=lambda weights: tables.reshape(*tables.shape[:-2], -1) @ weights.reshape(-1),
            k=self.k,
            table=lambda: tables,
        )

    def _classes(self) -> tuple[Any, Any, Any, Any]:
        """TP, FN, FP and TN of every class."""
        ones = np.ones(self.k, dtype=self.tables.dtype)
        errors = self.tables.copy()
        errors[..., np.arange(self.k), np.arange(self.k)] = 0.0
        # Products with ones: reducing over a short axis is several times slower in NumPy.
        tp = np.ascontiguousarray(np.diagonal(self.tables, axis1=-2, axis2=-1))
        fn, fp = errors @ ones, ones @ errors
        total = (tp + fn).sum(axis=-1)
        if self.tables.dtype.kind == "c":
            # Complex tables carry steps for gradients.
            return tp, fn, fp, total[..., None] - tp - fn - fp
        return tp, fn, fp, true_negatives(total, tp, fn, fp, self._without)

    def _two_classes(self) -> tuple[Any, Any, Any, Any]:
        """The same of two classes, all of them views: what is right of one class is a true negative of the other."""
        cells = np.moveaxis(self.tables, (-2, -1), (0, 1)).reshape(TWO * TWO, *self.tables.shape[:-2])
        pairs = (slice(None, None, 3), slice(1, 3), slice(2, 0, -1), slice(None, None, -3))
        tp, fn, fp, tn = (np.moveaxis(cells[pair], 0, -1) for pair in pairs)
        return tp, fn, fp, tn

    def _without(self, c: int) -> Any:
        """The sum of every table without the row and the column of a class."""
        others = np.delete(np.arange(self.k), c)
        return self.tables[..., others[:, None], others].sum(axis=(-2, -1))

    @cached_property
    def classes(self) -> Cells:
        """TP, FN, FP, TN of every class of every table: arrays (B, k)."""
        return self.margins.classes


Value = Callable[[Margins], Any]
Slope = Callable[[Confusion, NDArray[np.int64], NDArray[np.int64]], Any]


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A sum over a table, and how fast it grows with the count of cell (i, j)."""

    value: Value
    slope: Slope


def _steps(k: int) -> NDArray[np.float64]:
    return np.arange(k, dtype=np.float64)


def _linear_chance(m: Margins) -> Any:
    # |i - j| is the number of class borders between i and j, so the double sum is one over borders.
    # Both sides of a border are summed: what is left of all weights may be rounding alone.
    rows, columns = ((_up_to(side), _up_to(side[..., ::-1])[..., ::-1]) for side in (m.rows, m.columns))
    return (rows[0] * columns[1] + columns[0] * rows[1]).sum(axis=-1)


def _up_to(totals: Any) -> Any:
    """The cases before each border between classes."""
    return np.cumsum(totals, axis=-1)[..., :-1]


def _quadratic_chance(m: Margins) -> Any:
    # Distances are taken from the largest class, so that nothing is left to round where there is one class only.
    step = _steps(m.k) - np.argmax(np.real(m.rows), axis=-1)[..., None]
    n = m.total
    squares = ((m.rows + m.columns) * step * step).sum(axis=-1)
    return n * squares - 2 * (m.rows * step).sum(axis=-1) * (m.columns * step).sum(axis=-1)


def _mean_distance(totals: Any, places: NDArray[np.int64], power: int) -> Any:
    """Sum over classes b of |i - b|^power · total_b, for the classes i asked for."""
    k = len(totals)
    step = _steps(k)
    n, first = totals.sum(), totals @ step
    if power == 2:
        return (n * step * step - 2 * step * first + totals @ (step * step))[places]
    below = np.concatenate([[0.0], np.cumsum(totals)[:-1]])
    moment = np.concatenate([[0.0], np.cumsum(totals * step)[:-1]])
    return (step * below - moment + (first - moment) - step * (n - below))[places]


AGGREGATES: Mapping[str, Aggregate] = {
    "n": Aggregate(lambda m: m.total, lambda _c, i, _j: np.ones(len(i))),
    "correct": Aggregate(lambda m: m.correct, lambda _c, i, j: (i == j).astype(np.float64)),
    "wrong": Aggregate(lambda m: m.wrong, lambda _c, i, j: (i != j).astype(np.float64)),
    # Sums of products of corners, not differences of squares: with 10 positives in a billion cases the latter
    # would lose half of the digits.
    "covariance": Aggregate(
        lambda m: (m.classes["tp"] * m.classes["tn"] - m.classes["fp"] * m.classes["fn"]).sum(axis=-1),
        lambda c, i, j: c.hits.sum() + c.n * (i == j) - c.predicted_totals[i] - c.truth_totals[j],
    ),
    "chance_errors": Aggregate(
        lambda m: (m.classes["positives"] * m.classes["left"]).sum(axis=-1),
        lambda c, i, j: 2.0 * c.n - c.predicted_totals[i] - c.truth_totals[j],
    ),
    "truth_spread": Aggregate(
        lambda m: (m.classes["positives"] * m.classes["negatives"]).sum(axis=-1),
        lambda c, i, _j: 2.0 * (c.n - c.truth_totals[i]),
    ),
    "predicted_spread": Aggregate(
        lambda m: (m.classes["found"] * m.classes["left"]).sum(axis=-1),
        lambda c, _i, j: 2.0 * (c.n - c.predicted_totals[j]),
    ),
    "linear_gap": Aggregate(
        lambda m: m.cells(np.abs(_steps(m.k)[:, None] - _steps(m.k))),
        lambda _c, i, j: np.abs(i - j).astype(np.float64),
    ),
    "linear_chance": Aggregate(
        _linear_chance,
        lambda c, i, j: _mean_distance(c.predicted_totals, i, 1) + _mean_distance(c.truth_totals, j, 1),
    ),
    "quadratic_gap": Aggregate(
        lambda m: m.cells((_steps(m.k)[:, None] - _steps(m.k)) ** 2),
        lambda _c, i, j: (i - j).astype(np.float64) ** 2,
    ),
    "quadratic_chance": Aggregate(
        _quadratic_chance,
        lambda c, i, j: _mean_distance(c.predicted_totals, i, 2) + _mean_distance(c.truth_totals, j, 2),
    ),
    "commonest": Aggregate(
        lambda m: m.rows.max(axis=-1), lambda c, i, _j: (i == np.argmax(c.truth_totals)).astype(np.float64)
    ),
}


# Sums that count how many classes an answer is off, to this power: the order of the classes decides them.
GAPS = {"linear_gap": 1, "quadratic_gap": 2}


def batch_cells(measure: Measure, batch: TableBatch, costs: NDArray[np.float64] | None) -> dict[str, Any]:
    """The sums that a formula names, for every table of a batch."""
    return _named(measure, batch.margins, costs)


def evidence_cells(measure: Measure, confusion: Confusion, costs: NDArray[np.float64] | None) -> dict[str, Any]:
    """The sums that a formula names, from the cells that were met; no square table is made."""
    i, j, counts = confusion.truth, confusion.predicted, confusion.counts.astype(np.float64)
    named = _named(measure, _evidence_margins(confusion), costs, skip=tuple(GAPS))
    for name in measure.cells:
        if name in GAPS:
            named[name] = (counts * np.abs(i - j).astype(np.float64) ** GAPS[name]).sum()
    return named


def _evidence_margins(confusion: Confusion) -> Margins:
    if "margins" not in confusion.memo:
        rows, counts = confusion.truth_totals.astype(np.float64), confusion.counts.astype(np.float64)
        confusion.memo["margins"] = Margins(
            rows=rows,
            columns=confusion.predicted_totals.astype(np.float64),
            total=rows.sum(),
            classes=class_cells(*np.ascontiguousarray(confusion.corners.T)),
            correct=confusion.right,
            wrong=confusion.wrong,
            cells=lambda weights: (counts * weights[confusion.truth, confusion.predicted]).sum(),
            k=confusion.n_classes,
            table=lambda: confusion.matrix.astype(np.float64),
        )
    margins: Margins = confusion.memo["margins"]
    return margins


def _named(
    measure: Measure, margins: Margins, costs: NDArray[np.float64] | None, skip: Sequence[str] = ()
) -> dict[str, Any]:
    named: dict[str, Any] = {}
    for name in measure.cells:
        if name == "cost":
            if costs is None:
                raise TypeError(f"{measure.name} needs costs")
            named[name] = margins.cells(costs)
        elif name == WHOLE_TABLE and margins.table is not None:
            named[name] = margins.table()
        elif name not in skip:
            named[name] = AGGREGATES[name].value(margins)
    return named


def slopes(measure: Measure, confusion: Confusion, costs: NDArray[np.float64] | None) -> dict[str, NDArray[np.float64]]:
    """How fast each sum that a formula names grows with the count of each cell that was met."""
    i, j = confusion.truth, confusion.predicted
    named: dict[str, NDArray[np.float64]] = {}
    for name in measure.cells:
        if name == "cost" and costs is not None:
            named[name] = costs[i, j]
        else:
            named[name] = np.asarray(AGGREGATES[name].slope(confusion, i, j))
    return named
