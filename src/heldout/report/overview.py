"""The first screen of a page: five key figures with their intervals, the confusion matrix, and one curve."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from heldout.evidence import Confusion
from heldout.intervals.estimate import Estimate
from heldout.measures.catalogue import find, is_imbalanced
from heldout.measures.quantity import Quantity
from heldout.report.evaluation import few_cases, order_weakest, titled
from heldout.report.evaluation_charts import order_matrix
from heldout.report.explanations import section_name
from heldout.report.interval_chart import estimate_cells
from heldout.results.evaluation import Evaluation
from heldout.show.blocks import Block, Cell, Number, Overview, Range, Span, Table, head_columns, head_interval
from heldout.show.chart import Chart
from heldout.show.heatmap import FIGURED, Heatmap

# The most classes that are drawn; with more, a cell would be smaller than a pixel.
MAPPED = 200
# The first five of these that there are; with rare positives accuracy says little, so it comes last.
SHOWN = 5
OF_POSITIVE = ("accuracy", "recall", "precision", "f1", "roc_auc", "matthews", "balanced_accuracy")
OF_RARE = ("average_precision", "recall", "precision", "f1", "roc_auc", "matthews", "balanced_accuracy")
OF_CLASSES = ("accuracy", "balanced_accuracy", "f1", "matthews", "hand_till_auc", "kappa")


def linked_cells(e: Estimate) -> tuple[Number, Range, Span | None]:
    """The cells of an estimate whose value leads to how it was made."""
    return estimate_cells(e, how=section_name(e.measure))


def has_rare_positives(evaluation: Evaluation) -> bool:
    """Whether the positive class is so rare that accuracy and the ROC curve say little."""
    if evaluation.positive is None:
        return False
    totals = evaluation.confusion.truth_totals
    return is_imbalanced(float(totals[evaluation.confusion.index(evaluation.positive)]), float(totals.sum()))


def choose_key_figures(evaluation: Evaluation) -> list[Estimate]:
    """The figures that answer first: of the positive class, or of all classes without one."""
    positive = evaluation.positive
    names = OF_CLASSES if positive is None else OF_RARE if has_rare_positives(evaluation) else OF_POSITIVE
    reported = {(e.measure, e.class_, e.average): e for e in reversed(evaluation.estimates)}
    chosen: list[Estimate] = []
    for name in names:
        bound = find(name)
        single = bound.measure.scope in ("class", "ranking") and not bound.measure.overall
        asked = Quantity(bound, positive if single else None, "macro" if single and positive is None else None)
        if asked.key in reported:
            chosen.append(reported[asked.key])
        elif bound.measure.scope in ("class", "table"):
            chosen.append(evaluation.get(bound.name, class_=asked.class_, average=asked.average))
    return chosen[:SHOWN]


def _name_figure(evaluation: Evaluation, e: Estimate) -> str:
    """Its title without the positive class; of two classes the mean over pairs is the one area."""
    one_area = e.measure == "hand_till_auc" and len(evaluation.labels) == 2
    return find("roc_auc").measure.title if one_area else titled(replace(e, class_=None))


def key_table(estimates: Sequence[Estimate], names: Iterable[str], level: float) -> Table:
    """One line per figure: its name, value and interval, in figures and drawn."""
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (name, *linked_cells(e)) for name, e in zip(names, estimates, strict=True)
    )
    heads = head_columns("measure", ">value", head_interval(level), "")
    return Table(heads, rows)


def make_overview(evaluation: Evaluation, curves: Iterable[Block], found: str = "") -> Overview:
    """The overview of an evaluation; its chart is the first of these, or with rare positives that of precision."""
    charts = [block for block in curves if isinstance(block, Chart)]
    if has_rare_positives(evaluation):
        charts.sort(key=lambda chart: not chart.title.startswith("Precision-recall"))
    estimates = choose_key_figures(evaluation)
    confusion = evaluation.confusion
    first = None if evaluation.positive is None else confusion.index(evaluation.positive)
    return Overview(
        # The title of the page names the positive class.
        key_table(estimates, [_name_figure(evaluation, e) for e in estimates], evaluation.level),
        make_heatmap(confusion, first) if confusion.n_classes <= MAPPED else None,
        charts[0] if charts else None,
        found,
        None if charts or confusion.n_classes <= FIGURED else _weakest_table(evaluation),
    )


def _weakest_table(evaluation: Evaluation) -> Table:
    """The classes of the lowest recall, where a matrix of many classes leaves room beside it."""
    confusion = evaluation.confusion
    estimates = [evaluation.get("recall", class_=confusion.labels[at]) for at in order_weakest(confusion)[:SHOWN]]
    rows: tuple[tuple[Cell, ...], ...] = tuple((str(e.class_), *linked_cells(e)) for e in estimates)
    return Table(
        head_columns(f"weakest of {confusion.n_classes:,}{few_cases(confusion)}", ">recall", "interval", ""), rows
    )


def make_heatmap(confusion: Confusion, first: int | None) -> Heatmap:
    """The matrix with `first` before the other classes, and the orders in which the classes can be put."""
    matrix, labels = order_matrix(confusion, first)
    counts = tuple(tuple(row) for row in matrix.tolist())
    return Heatmap(labels, counts, _orders(matrix) if len(labels) > 2 else ())


def _orders(matrix: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Orders of the classes: as given, the weakest first, those next to each other that are confused, the largest."""
    totals = matrix.sum(axis=1)
    recalls = np.divide(np.diag(matrix), totals, out=np.full(len(matrix), np.inf), where=totals > 0)
    return (
        ("by label", tuple(range(len(matrix)))),
        ("weakest recall first", tuple(np.argsort(recalls, kind="stable").tolist())),
        ("confused together", tuple(order_by_confusion(matrix))),
        ("largest first", tuple(np.argsort(-totals, kind="stable").tolist())),
    )


def order_by_confusion(matrix: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> list[int]:
    """An order in which classes that are taken for each other stand beside each other.

    >>> matrix = np.array([[9.0, 0, 1, 0], [0, 8, 0, 2], [2, 0, 8, 0], [0, 3, 0, 7]])
    >>> order = order_by_confusion(matrix)
    >>> abs(order.index(0) - order.index(2)), abs(order.index(1) - order.index(3))
    (1, 1)
    """
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    totals = np.maximum(matrix.sum(axis=1, keepdims=True), 1e-300)
    shares = matrix / totals
    alike = (shares + shares.T) / 2
    np.fill_diagonal(alike, 1.0)
    tree = linkage(squareform(1.0 - np.minimum(alike, 1.0), checks=False), "average", optimal_ordering=True)
    order: list[int] = leaves_list(tree).tolist()
    return order
