"""The charts of an evaluation by their names: its curves, its confusion matrix, and its measures with intervals."""

from __future__ import annotations

from typing import Any

import numpy as np

from heldout.arrays import Floats
from heldout.curves import precision_recall, reliability, roc
from heldout.curves.curve_chart import chart_of, draw_alike, draw_together
from heldout.curves.decision import GRID
from heldout.curves.declare import find_curve, list_kinds
from heldout.curves.roc import one_class
from heldout.curves.thinning import shortened
from heldout.errors import OptionError, ValuesError
from heldout.evidence import Confusion, Label
from heldout.intervals.fold_scores import FoldScores
from heldout.report.evaluation import find_headline, titled
from heldout.report.interval_chart import Mark, forest_chart
from heldout.results.evaluation import GIVE_SCORES, Evaluation, without_false_band
from heldout.show.chart import TONES, Axis, Chart, Tiles
from heldout.show.escape import visible
from heldout.show.numbers import count, number, number_of, percent
from heldout.show.text_width import shorten

# Curves that are drawn for every class against the rest, where no class is named.
OF_CLASSES = {
    "roc": (roc, "ROC curve of each class against the rest"),
    "precision_recall": (precision_recall, "Precision-recall curve of each class"),
}
SHOWN_FOLDS = 20
# Classes of the widest matrix that is drawn, of one with counts in its cells, and of one whose every class is named.
MATRIX_CLASSES, COUNTED_CLASSES, NAMED_CLASSES = 200, 12, 20


def list_charts(evaluation: Evaluation) -> tuple[str, ...]:
    """The curves that the scores allow, in their order."""
    scores = evaluation.scores
    if scores is None:
        return ()
    calibrated = scores.evidence.probabilities is not None
    if isinstance(scores, FoldScores):
        two = evaluation.positive is not None and not scores.evidence.per_class
        return (*(("roc",) if two else ()), *(("reliability",) if calibrated else ()))
    if _of_one_class(evaluation):
        return tuple(kind.name for kind in list_kinds() if calibrated or not kind.needs_probabilities)
    return (*OF_CLASSES, *(("reliability",) if calibrated else ()))


def draw_curve(
    evaluation: Evaluation, kind: str, class_: Label | None = None, *, hull: bool = False, **options: Any
) -> Chart:
    """One curve of an evaluation; of several classes, where none is named, the curve of each against the rest."""
    declared = find_curve(kind)
    name = kind if declared is None else declared.name
    scores = evaluation.scores
    if scores is not None and class_ is None and not options and "[" not in kind:
        if isinstance(scores, FoldScores) and name == "roc":
            return draw_folds(evaluation)
        if name in OF_CLASSES and not _of_one_class(evaluation) and not isinstance(scores, FoldScores):
            return draw_classes(evaluation, name)
        tallied = scores.evidence.probabilities
        if name == "reliability" and tallied is not None:
            seen = reliability(tallied, level=evaluation.level, positive=evaluation.positive)
            return chart_of(without_false_band(evaluation, seen))
    if declared is None and "[" not in kind and scores is None:
        known = ", ".join(evaluation.chart_kinds)
        raise OptionError(f"There is no chart {kind!r} without scores. There are: {known}.", hint=GIVE_SCORES)
    curve = evaluation.curve(kind, class_, **options)
    return curve._draw(hull=True) if hull else curve._draw()  # noqa: SLF001 - the same contract


def _of_one_class(evaluation: Evaluation) -> bool:
    """Whether there is one score, for the positive class, and of one model: folds are not on one scale."""
    scores = evaluation.scores
    if scores is None or isinstance(scores, FoldScores):
        return False
    return evaluation.positive is not None and not scores.evidence.per_class


def draw_first_curves(evaluation: Evaluation) -> list[Chart]:
    """ROC, precision-recall and reliability, as far as the scores allow them, from no more points than are seen."""
    drawn = []
    for kind in ("roc", "precision_recall", "reliability"):
        if kind not in list_charts(evaluation):
            continue
        if _of_one_class(evaluation) and kind in OF_CLASSES:
            whole = evaluation.ranking()
            if one_class(whole):
                continue
            settings = {"positive": evaluation.positive, "level": evaluation.level, "seed": evaluation.estimator.seed}
            declared = find_curve(kind)
            curve = None if declared is None else declared.compute(shortened(whole, GRID), settings)
            drawn += [] if curve is None else [chart_of(without_false_band(evaluation, curve))]
            continue
        drawn += _try(evaluation, kind)
    return drawn


def _try(evaluation: Evaluation, kind: str) -> list[Chart]:
    try:
        return [draw_curve(evaluation, kind)]
    except (OptionError, ValuesError):
        return []


def draw_classes(evaluation: Evaluation, kind: str) -> Chart:
    """One curve per class, each against the rest, for as many as can be told apart: the largest, by their order."""
    confusion = evaluation.confusion
    largest = sorted(range(confusion.n_classes), key=lambda at: -confusion.truth_totals[at])
    drawable = [at for at in largest if not one_class(evaluation.ranking(confusion.labels[at]))][: len(TONES)]
    if not drawable:
        raise ValuesError("There is no curve to draw: no class has cases in it and outside.", hint="check the labels.")
    labels = [confusion.labels[at] for at in sorted(drawable)]
    compute, title = OF_CLASSES[kind]
    names = [shorten(visible(str(label)), 40) for label in labels]
    curves = [compute(shortened(evaluation.ranking(label)), bands=None) for label in labels]
    return draw_together(curves, names, title)


def draw_folds(evaluation: Evaluation) -> Chart:
    """The ROC curve of every fold, up to a number of them: each model ranks its own cases only."""
    scores, positive = evaluation.scores, evaluation.positive
    if not isinstance(scores, FoldScores) or positive is None or scores.evidence.per_class:
        raise OptionError("Curves of folds are of two classes.", hint="draw the matrix, or name a measure.")
    curves = []
    for fold in scores.evidence.folds[:SHOWN_FOLDS]:
        seen = fold.ranking(positive)
        curves += [] if one_class(seen) else [roc(seen, bands=None)]
    if not curves:
        raise ValuesError("There is no ROC curve to draw: no fold has both classes.", hint="check the folds.")
    areas = [float(curve.area) for curve in curves if curve.area is not None]
    mean, least, most = (number(area) for area in (sum(areas) / len(areas), min(areas), max(areas)))
    summary = f"Area under the curve {mean} on average, from {least} to {most}."
    left = len(scores.evidence.fold_cases) - len(curves)
    summary += f" {number_of(left, 'fold')} {'is' if left == 1 else 'are'} not drawn." if left else ""
    return draw_alike(curves, "ROC curve of every fold", "one fold each", summary)


def draw_matrix(evaluation: Evaluation) -> Chart:
    """The confusion matrix, each cell shaded by its share of the true class, the positive class first."""
    confusion = evaluation.confusion
    first = None if evaluation.positive is None else confusion.index(evaluation.positive)
    return draw_confusion(confusion, first)


def order_matrix(confusion: Confusion, first: int | None) -> tuple[Floats, tuple[str, ...]]:
    """The counts and the names of the classes, with the class `first` before the others."""
    order = sorted(range(confusion.n_classes), key=lambda index: index != first)
    matrix = confusion.matrix[np.ix_(order, order)].astype(np.float64)
    return matrix, tuple(str(confusion.labels[index]) for index in order)


def draw_confusion(confusion: Confusion, first: int | None = None) -> Chart:
    """A confusion matrix as squares; `first` is the class that comes first."""
    size = confusion.n_classes
    if size > MATRIX_CLASSES:
        raise ValuesError(
            f"A matrix of {size:,} classes cannot be drawn; {MATRIX_CLASSES} can.",
            hint="evaluation.confused() lists the classes that are confused most.",
        )
    matrix, names = order_matrix(confusion, first)
    totals = matrix.sum(axis=1, keepdims=True)
    shares = np.divide(matrix, totals, out=np.zeros(matrix.shape), where=totals > 0)
    rows, columns = np.indices(matrix.shape)
    # The first row stands on top.
    x, y = (columns + 1.0).ravel().tolist(), (size - rows).astype(float).ravel().tolist()
    texts = [count(cell) for cell in matrix.ravel().tolist()] if size <= COUNTED_CLASSES else []
    tiles = Tiles(tuple(x), tuple(y), tuple(shares.ravel().tolist()), tuple(texts))
    labels = [shorten(visible(name), 20) for name in names]
    step = -(-size // NAMED_CLASSES)
    across = tuple((at + 1.0, labels[at]) for at in range(0, size, step))
    down = tuple((float(size - at), labels[at]) for at in range(0, size, step))
    right = float(np.trace(matrix)) / float(matrix.sum()) if matrix.sum() else float("nan")
    summary = f"{count(confusion.n_cases)} cases, {percent(right)} of them on the diagonal."
    return Chart(
        "Confusion matrix", f"Confusion matrix of {size:,} classes, rows are the truth: {summary}",
        Axis("predicted", 0.5, size + 0.5, across), Axis("truth", 0.5, size + 0.5, down),
        detail=f"{summary} Shade: share of the true class.", tiles=(tiles,),
    )  # fmt: skip


def draw_measures(evaluation: Evaluation) -> Chart:
    """The measures that a report shows first, with their intervals."""
    headline = find_headline(evaluation, "page", macro_too=("ranking",))
    shown = [e for e in (evaluation.estimates if evaluation.asked else headline) if e.style == "share"]
    marks = [Mark(titled(e), e.value, e.low, e.high) for e in shown]
    return forest_chart(marks, "Measures", "value", detail=f"Bars: {100 * evaluation.level:g} % intervals.")
