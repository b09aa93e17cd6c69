"""The tables of a report: the headline measures, the classes, the averages and the matrix."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from heldout.estimates.estimate import Estimate
from heldout.estimates.track import track_floor
from heldout.evidence import Confusion
from heldout.findings.confused import confused
from heldout.measures.catalogue import find
from heldout.measures.quantity import AVERAGES
from heldout.report.view import View
from heldout.show.blocks import Cell, Column, Heat, Number, Range, Span, Table

# A matrix wider than this is not shown on a screen.
SHOWN_CLASSES = 12
SHOWN_PAIRS = 5


def estimate_table(view: View, estimates: Iterable[Estimate], names: Iterable[str], caption: str = "") -> Table:
    """One line per estimate: name, value, interval, and the interval drawn."""
    listed = list(estimates)
    floor = track_floor(listed)
    rows = [
        (
            name,
            Number(e.value, e.style, e.digits),
            Range(e.low, e.high, e.style, e.digits),
            _span(e, floor),
        )
        for name, e in zip(names, listed, strict=True)
    ]
    columns = (
        Column("measure"),
        Column("value", "right"),
        Column(f"{100 * view.level:g} % interval"),
        Column(""),
    )
    return Table(columns, tuple(rows), caption)


def _span(e: Estimate, floor: float) -> Cell:
    return None if e.style != "share" or math.isnan(e.value) else Span(e.value, e.low, e.high, floor)


def class_table(view: View, shown: Iterable[int], caption: str = "") -> Table:
    """One line per class: its cases, precision, recall and F1 with intervals."""
    confusion = view.confusion
    measures = ("precision", "recall", "f1")
    columns = [Column("class"), Column("n", "right")]
    for measure in measures:
        columns += [Column(find(measure).title, "right"), Column("")]
    rows: list[tuple[Cell, ...]] = []
    for position in shown:
        label = confusion.labels[position]
        cells: list[Cell] = [str(label), Number(float(confusion.truth_totals[position]), "count")]
        for measure in measures:
            e = view.get(measure, class_=label)
            cells += [Number(e.value, digits=e.digits), Range(e.low, e.high, digits=e.digits)]
        rows.append(tuple(cells))
    return Table(tuple(columns), tuple(rows), caption)


def average_table(view: View) -> Table:
    """Macro, weighted and micro averages of precision, recall and F1."""
    columns = [Column("average"), Column("", "right")]
    rows: list[tuple[Cell, ...]] = []
    measures = ("precision", "recall", "f1")
    for measure in measures:
        columns += [Column(find(measure).title, "right"), Column("")]
    for average in AVERAGES:
        cells: list[Cell] = [average, None]
        for measure in measures:
            e = view.get(measure, average=average)
            cells += [Number(e.value, digits=e.digits), Range(e.low, e.high, digits=e.digits)]
        rows.append(tuple(cells))
    return Table(tuple(columns), tuple(rows))


def matrix_table(confusion: Confusion) -> Table:
    """The whole matrix, rows are the truth."""
    matrix = confusion.matrix
    # Shaded by row: what became of the cases of each class.
    totals = np.maximum(confusion.truth_totals, 1e-300)
    columns = [Column("truth ↓  predicted →")] + [Column(str(label), "right") for label in confusion.labels]
    rows: list[tuple[Cell, ...]] = [
        (
            str(label),
            *(Heat(float(count), float(count / totals[i])) for count in matrix[i]),
        )
        for i, label in enumerate(confusion.labels)
    ]
    return Table(tuple(columns), tuple(rows))


def binary_matrix(view: View) -> Table:
    """The 2 × 2 matrix with the positive class first, and the rates of its rows and columns beside it."""
    confusion = view.confusion
    first = confusion.index(view.positive) if view.positive is not None else 0
    order = [first, 1 - first]
    matrix, totals = confusion.matrix, np.maximum(confusion.truth_totals, 1e-300)
    names = [str(confusion.labels[i]) for i in order]
    positive = confusion.labels[first]
    rates = [view.get(name, class_=positive) for name in ("recall", "specificity")]
    below = [view.get(name, class_=positive) for name in ("precision", "negative_predictive_value")]
    columns = (
        Column(""),
        *(Column(f"predicted {name}", "right") for name in names),
        Column(""),
        Column("", "right"),
        Column(""),
    )
    rows: list[tuple[Cell, ...]] = [
        (
            f"truth {names[row]}",
            *(Heat(float(matrix[order[row], j]), float(matrix[order[row], j] / totals[order[row]])) for j in order),
            rate.measure,
            Number(rate.value, digits=rate.digits),
            Range(rate.low, rate.high, digits=rate.digits),
        )
        for row, rate in enumerate(rates)
    ]
    rows.append(("precision, NPV", *(Number(e.value, digits=e.digits) for e in below), None, None, None))
    rows.append((None, *(Range(e.low, e.high, digits=e.digits) for e in below), None, None, None))
    return Table(columns, tuple(rows))


def confused_pairs(confusion: Confusion, level: float = 0.95, independent: float = 1.0) -> Table | None:
    """The kinds of error that occur most, with their share of the true class and its interval."""
    found = confused(confusion, SHOWN_PAIRS, level=level, independent=independent)
    return found.table() if found.pairs else None
