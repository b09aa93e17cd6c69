"""The tables of a page: measures with bars and links to how they were made, classes, and the matrix in three ways."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from heldout.estimates.estimate import Estimate
from heldout.evidence import Confusion
from heldout.measures.catalogue import find
from heldout.measures.quantity import AVERAGES
from heldout.report.how import section_name
from heldout.report.view import View
from heldout.show.blocks import Block, Cell, Column, Heat, Number, Prose, Range, Section, Span, Table

PER_CLASS = ("precision", "recall", "f1")
# More bars than two to a line are wider than a page.
BARS = ("precision", "recall")
# Rows of the table of classes, and the classes of the widest matrix that a page shows.
SHOWN_CLASSES = 200
MATRIX_CLASSES = 40


def linked(e: Estimate) -> Number:
    """The value of an estimate, which leads to how it was made."""
    return Number(e.value, e.style, e.digits, section_name(e.measure))


def span(e: Estimate) -> Cell:
    """The interval drawn from 0 to 1, or nothing where it has no place there."""
    return None if e.style != "share" or math.isnan(e.value) else Span(e.value, e.low, e.high)


def measures_table(estimates: Iterable[Estimate], names: Iterable[str], level: float, caption: str = "") -> Table:
    """One line per estimate: its name, value, interval, the interval drawn, method and n."""
    rows: list[tuple[Cell, ...]] = [
        (name, linked(e), Range(e.low, e.high, e.style, e.digits), span(e), e.method, Number(float(e.n), "count"))
        for name, e in zip(names, estimates, strict=True)
    ]
    columns = (
        Column("measure"),
        Column("value", "right"),
        Column(f"{100 * level:g} % interval"),
        Column(""),
        Column("method"),
        Column("n", "right"),
    )
    return Table(columns, tuple(rows), caption)


def class_blocks(view: View) -> list[Block]:
    """One line per class with precision, recall and F1, their intervals drawn, and the averages below."""
    confusion = view.confusion
    places = confusion.largest(SHOWN_CLASSES).tolist()
    shown = sorted(places) if len(places) == confusion.n_classes else places
    rows = [
        (
            str(confusion.labels[at]),
            Number(float(confusion.truth_totals[at]), "count"),
            *_figures([view.get(measure, class_=confusion.labels[at]) for measure in PER_CLASS]),
        )
        for at in shown
    ]
    blocks: list[Block] = [Table(_heads("class", "n"), tuple(rows))]
    if len(shown) < confusion.n_classes:
        blocks.append(Prose(f"The {len(shown)} largest of {confusion.n_classes:,} classes."))
    if confusion.n_classes > 1:
        averages = [
            (average, None, *_figures([view.get(measure, average=average) for measure in PER_CLASS]))
            for average in AVERAGES
        ]
        blocks.append(Table(_heads("average", ""), tuple(averages)))
    return blocks


def _heads(first: str, second: str) -> tuple[Column, ...]:
    columns = [Column(first), Column(second, "right")]
    for measure in PER_CLASS:
        columns += [Column(find(measure).title, "right"), Column("interval")]
        columns += [Column("")] if measure in BARS else []
    return tuple(columns)


def _figures(held: Sequence[Estimate]) -> tuple[Cell, ...]:
    cells: list[Cell] = []
    for e in held:
        cells += [linked(e), Range(e.low, e.high, e.style, e.digits)]
        cells += [span(e)] if e.measure in BARS else []
    return tuple(cells)


def matrix_blocks(confusion: Confusion, first: int | None = None) -> list[Block]:
    """The matrix in counts, in shares of its rows and of its columns; `first` is the class that comes first."""
    if confusion.n_classes > MATRIX_CLASSES:
        return [Prose(f"A matrix of {confusion.n_classes:,} classes has no place on a page.")]
    order = list(range(confusion.n_classes))
    if first is not None:
        order = [first, *(at for at in order if at != first)]
    matrix = confusion.matrix[np.ix_(order, order)].astype(np.float64)
    names = [str(confusion.labels[at]) for at in order]
    rows, columns = matrix.sum(axis=1, keepdims=True), matrix.sum(axis=0, keepdims=True)
    by_row = np.divide(matrix, rows, out=np.full(matrix.shape, np.nan), where=rows > 0)
    by_column = np.divide(matrix, columns, out=np.full(matrix.shape, np.nan), where=columns > 0)
    counts = [
        tuple(Heat(float(held), float(share)) for held, share in zip(line, shares, strict=True))
        for line, shares in zip(matrix, np.nan_to_num(by_row), strict=True)
    ]
    blocks: list[Block] = [_square(names, counts, "Counts")]
    for title, shares, name in (
        ("Row %: what became of the cases of each class", by_row, "matrix-rows"),
        ("Column %: what the answers were worth", by_column, "matrix-columns"),
    ):
        cells = [tuple(Number(float(share), "percent", 1) for share in line) for line in shares]
        blocks.append(Section(title, (_square(names, cells),), name, folded=True))
    return blocks


def _square(names: Sequence[str], cells: Sequence[tuple[Cell, ...]], caption: str = "") -> Table:
    columns = (Column("truth ↓  predicted →"), *(Column(name, "right") for name in names))
    return Table(columns, tuple((name, *line) for name, line in zip(names, cells, strict=True)), caption)
