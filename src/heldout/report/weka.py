"""Weka's text layout, for readers who know it: of an evaluation, and of learners that were validated."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from string import ascii_lowercase

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import write_sentence
from heldout.arrays import Codes, Floats
from heldout.evidence import Confusion, Label
from heldout.learners.data import FROM_PLACE
from heldout.measures.catalogue import find
from heldout.plans.folds import KFold
from heldout.plans.plan import Plan
from heldout.predictions.table import Predictions
from heldout.results.evaluation import Evaluation
from heldout.results.validation import Validation, Validations
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
AREAS = (("ROC Area", 10, "roc_auc"), ("PRC Area", 10, "average_precision"))
# Weka's names for the plans that it has too.
TESTS = {"resubstitution": "Evaluation on training set", "holdout": "Evaluation on test split"}


def weka_text(result: Evaluation | Validations) -> str:
    """Summary, detailed accuracy by class and confusion matrix, as Weka prints them; of each learner for itself."""
    if isinstance(result, Validations) and not isinstance(result, Validation):
        return "\n\n\n".join(map(weka_text, result.held))
    if isinstance(result, Evaluation):
        return "\n".join([*_report(result, _summarise_errors(result.predictions)), *_list_notes(result.notes)])
    return "\n".join([*_describe_run(result), *_report_run(result), *_list_notes(_collect_notes(result))])


def _collect_notes(validation: Validation) -> list[str]:
    """What is to be said of the data and the run; that an ARFF file has its class last is so in Weka too."""
    notes = [*validation.problem.notes, *validation.notes, *validation.evaluation.notes, *validation.run.warnings]
    return [note for note in notes if not note.endswith(FROM_PLACE)]


def _list_notes(notes: Sequence[str]) -> list[str]:
    """A section that Weka does not have, where something would otherwise go unsaid."""
    lines = [write_sentence(note) for note in dict.fromkeys(notes)]
    return ["", "", "=== Notes ===", "", *map(visible, lines)] if lines else []


def _describe_run(validation: Validation) -> list[str]:
    problem = validation.problem
    facts = {
        "Scheme": visible(validation.learner),
        "Relation": visible(Path(problem.source).name),
        "Instances": problem.n,
        "Attributes": problem.width + 1,
        "Test mode": visible(validation.plan.text),
    }
    lines = [f"{f'{name}:':<14}{fact}" for name, fact in facts.items()]
    return ["=== Run information ===", "", *lines, "", f"=== {_name_test(validation.plan)} ==="]


def _name_test(plan: Plan) -> str:
    if plan.kind == "weka" or (isinstance(plan, KFold) and plan.stratified):
        return "Stratified cross-validation"
    return TESTS.get(plan.kind, visible(plan.text))


def _report_run(validation: Validation) -> list[str]:
    evaluation = validation.evaluation
    if validation.optimism is not None:
        # The counts are mixed from those of test and of training cases, which Weka knows nothing of.
        return _report(evaluation, [], scored=False)
    return _report(evaluation, _summarise_errors(evaluation.predictions, _find_priors(validation)))


def _find_priors(validation: Validation) -> Floats:
    """For each prediction the shares of the classes among the rows that its model was trained on, counted from one."""
    run, problem = validation.run, validation.problem
    size = len(problem.labels)
    shares = np.full((len(run.splits), size), np.nan)
    for split in run.finished.tolist():
        counts = np.bincount(problem.truth[run.splits.train(split)], minlength=size) + 1.0
        shares[split] = counts / counts.sum()
    return np.asarray(shares[run.fold])


def _report(evaluation: Evaluation, errors: list[str], *, scored: bool = True) -> list[str]:
    confusion = evaluation.confusion
    right, n = float(confusion.hits.sum()), float(confusion.n)
    columns = (*COLUMNS, *(AREAS if scored and _has_areas(evaluation) else ()))
    lines = [
        "=== Summary ===",
        "",
        _counted("Correctly Classified Instances", right, right / n),
        _counted("Incorrectly Classified Instances", n - right, 1 - right / n),
        _stated("Kappa statistic", evaluation.get("kappa").value),
        *errors,
        _stated("Total Number of Instances", n),
        "",
        "",
        "=== Detailed Accuracy By Class ===",
        "",
        " " * 17 + "".join(f"{heading:<{width}}" for heading, width, _ in columns) + "Class",
    ]
    table = [[_rate(evaluation, measure, label) for _, _, measure in columns] for label in confusion.labels]
    widths = [width for _, width, _ in columns]
    for label, values in zip(confusion.labels, table, strict=True):
        lines.append(" " * 17 + _rates(values, widths) + visible(str(label)))
    weighted = _weigh(table, confusion.truth_totals)
    lines += ["Weighted Avg.    " + _rates(weighted, widths).rstrip(), "", "", "=== Confusion Matrix ===", ""]
    return lines + _matrix(confusion)


def _has_areas(evaluation: Evaluation) -> bool:
    scores = evaluation.scores
    return scores is not None and (scores.evidence.per_class or evaluation.confusion.n_classes == 2)


def _rate(evaluation: Evaluation, measure: str, label: Label) -> float:
    """The value of a measure of one class; areas are of the scores of all folds together, as Weka has them."""
    if measure in [area for _, _, area in AREAS]:
        return float(find(measure).value({"ranking": evaluation.ranking(label)}))
    if measure == "f1" and any(
        math.isnan(evaluation.get(part, class_=label).value) for part in ("precision", "recall")
    ):
        # Weka makes F of the two, and from the counts it would be 0.
        return math.nan
    return evaluation.get(measure, class_=label).value


def _summarise_errors(predictions: Predictions | None, priors: Floats | None = None) -> list[str]:
    """The errors of probabilities, and relative to those of predicting the class shares where these are known."""
    scores = None if predictions is None else predictions.scores
    if predictions is None or scores is None or not scores.is_probability:
        return []
    labels, values = predictions.labels, scores.values.astype(np.float64)
    if not scores.per_class:
        if len(labels) != 2:
            return []
        first = predictions.positive == labels[0]
        values = np.stack([values, 1 - values] if first else [1 - values, values], axis=1)
    index = predictions.truth.codes.astype(np.int64) - predictions.truth.offset
    truth = predictions.truth_place[index]
    absolute, squared = _mean_errors(values, truth, predictions.weight)
    lines = [_stated("Mean absolute error", absolute), _stated("Root mean squared error", squared)]
    if priors is not None:
        usual = _mean_errors(priors, truth, predictions.weight)
        lines.append(_stated("Relative absolute error", 100 * absolute / usual[0], " %"))
        lines.append(_stated("Root relative squared error", 100 * squared / usual[1], " %"))
    return lines


def _mean_errors(table: Floats, truth: Codes, weight: Floats | None) -> tuple[float, float]:
    """The mean absolute error over classes and cases, and the root of the mean squared one."""
    right = table[np.arange(len(truth)), truth]
    absolute = table.sum(axis=1) - right + np.abs(1 - right)
    squared = (table * table).sum(axis=1) - 2 * right + 1
    means = [np.average(errors, weights=weight) / table.shape[1] for errors in (absolute, squared)]
    return float(means[0]), math.sqrt(max(means[1], 0.0))


def _stated(name: str, value: float, unit: str = "") -> str:
    return f"{name:<35}{_aligned(value, 12)}{unit}".rstrip()


def _counted(name: str, number: float, share: float) -> str:
    return f"{name:<35}{_aligned(number, 12)}{_aligned(100 * share, 17)} %"


def _aligned(value: float, width: int) -> str:
    """A number with at most four decimals, the point standing where it stands in every other line."""
    text = "?" if math.isnan(value) else f"{value:.4f}"
    whole, _, decimals = text.partition(".")
    kept = decimals.rstrip("0")
    return f"{f'{whole}.{kept}' if kept else whole:<{len(whole) + 5}}".rjust(width)


def _number(value: float, digits: int) -> str:
    return f"{value:.{digits}f}".rstrip("0").rstrip(".")


def _rates(values: list[float], widths: list[int]) -> str:
    texts = ["?" if math.isnan(value) else f"{value:.3f}" for value in values]
    return "".join(f"{text:<{width}}" for text, width in zip(texts, widths, strict=True))


def _weigh(table: list[list[float]], totals: NDArray[np.number]) -> list[float]:
    """Weka's weighted averages: undefined as soon as one class with cases is."""
    present = totals > 0
    return [float(mean) for mean in np.average(np.array(table)[present], axis=0, weights=totals[present])]


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
