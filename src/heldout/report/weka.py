"""Weka's text layout, for readers who know it."""

from __future__ import annotations

import math
from string import ascii_lowercase

from heldout.evidence import Confusion
from heldout.results.evaluation import Evaluation
from heldout.show.escape import visible

# Weka's columns, their width, and the measure in each.
COLUMNS = (
    ("TP Rate", 9, "recall"),
    ("FP Rate", 9, "false_positive_rate"),
    ("Precision", 11, "precision"),
    ("Recall", 9, "recall"),
    ("F-Measure", 11, "f1"),
    ("MCC", 9, "matthews"),
)


def weka_text(evaluation: Evaluation) -> str:
    """Summary, detailed accuracy by class and confusion matrix, as Weka prints them."""
    confusion = evaluation.confusion
    right, n = float(confusion.hits.sum()), float(confusion.n)
    lines = [
        "=== Summary ===",
        "",
        _counted("Correctly Classified Instances", right, right / n),
        _counted("Incorrectly Classified Instances", n - right, 1 - right / n),
        f"{'Kappa statistic':<35}{_number(evaluation.get('kappa').value, 4):>10}",
        f"{'Total Number of Instances':<35}{_number(n, 4):>10}",
        "",
        "",
        "=== Detailed Accuracy By Class ===",
        "",
        " " * 17 + "".join(f"{heading:<{width}}" for heading, width, _ in COLUMNS) + "Class",
    ]
    for label in confusion.labels:
        values = [evaluation.get(rate, class_=label).value for _, _, rate in COLUMNS]
        lines.append(" " * 17 + _rates(values) + visible(str(label)))
    weighted = [_weighted(evaluation, rate) for _, _, rate in COLUMNS]
    lines += ["Weighted Avg.    " + _rates(weighted).rstrip(), "", "", "=== Confusion Matrix ===", ""]
    return "\n".join(lines + _matrix(confusion))


def _counted(name: str, number: float, share: float) -> str:
    return f"{name:<35}{_number(number, 4):>10}{_number(100 * share, 4):>17}      %"


def _number(value: float, digits: int) -> str:
    if math.isnan(value):
        return "?"
    return f"{value:.{digits}f}".rstrip("0").rstrip(".")


def _rates(values: list[float]) -> str:
    texts = ["?" if math.isnan(value) else f"{value:.3f}" for value in values]
    return "".join(f"{text:<{width}}" for text, (_, width, _) in zip(texts, COLUMNS, strict=True))


def _weighted(evaluation: Evaluation, rate: str) -> float:
    """Weka's weighted averages: undefined as soon as one class with cases is."""
    totals = evaluation.confusion.truth_totals
    values = [
        (evaluation.get(rate, class_=label).value, float(total))
        for label, total in zip(evaluation.confusion.labels, totals.tolist(), strict=True)
        if total
    ]
    return sum(value * total for value, total in values) / sum(total for _, total in values)


def _letters(position: int) -> str:
    """The name that Weka gives a class: a, b, and so on, then aa, ab."""
    name = ""
    position += 1
    while position:
        position, letter = divmod(position - 1, 26)
        name = ascii_lowercase[letter] + name
    return name


def _matrix(confusion: Confusion) -> list[str]:
    matrix = confusion.matrix
    names = [_letters(position) for position in range(confusion.n_classes)]
    texts = [[_number(float(value), 2) for value in row] for row in matrix]
    width = max(*(len(text) for row in texts for text in row), *map(len, names)) + 1
    lines = ["".join(f"{name:>{width}}" for name in names) + "   <-- classified as"]
    for name, row, label in zip(names, texts, confusion.labels, strict=True):
        lines.append("".join(f"{text:>{width}}" for text in row) + f" | {name:>{width - 1}} = {visible(str(label))}")
    return lines
