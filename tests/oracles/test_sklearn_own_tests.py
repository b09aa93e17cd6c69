"""scikit-learn's own tests of its metrics, run on our answers.

pytest runs the two files that scikit-learn ships, in a process of its own, with this file as a plugin, which puts
functions that ask heldout in the place of scikit-learn's. What is left out stands in LEFT_OUT with the reason, and
whole files in FILES_LEFT_OUT; of PARTED all is run but the words of errors. A test function that is neither left out
nor passes is a failure.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.intervals.averaged_areas import multiclass_auc
from tests.oracles.sklearn_left_out import FILES_LEFT_OUT, LEFT_OUT, PARTED

import heldout
from heldout.measures.quantity import AVERAGES

ROOT = Path(__file__).parents[2]
FILES = ("test_classification.py", "test_ranking.py")


def ask(truth: Any, predicted: Any, weight: Any, labels: Any = None) -> Any:
    """Our evaluation of two columns of labels; `labels` may name classes that were not met."""
    met = heldout.evaluate(truth, predicted, weight=weight, measures=["accuracy"]).labels
    if labels is None or not {_plain(label) for label in labels} - set(met):
        return heldout.evaluate(truth, predicted, weight=weight, measures=["accuracy"])
    every = [*met, *(_plain(label) for label in labels if _plain(label) not in met)]
    return heldout.evaluate(truth, predicted, weight=weight, labels=every, measures=["accuracy"])


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label


def of_class(name: str) -> Callable[..., Any]:
    """A measure of one class with scikit-learn's arguments, and its number where there is no value."""

    def answer(
        truth: Any, predicted: Any, *, labels: Any = None, pos_label: Any = 1, average: Any = "binary",
        sample_weight: Any = None, zero_division: Any = 0.0, **given: Any,
    ) -> Any:  # fmt: skip
        measure = f"f_score(beta={given['beta']})" if "beta" in given else name
        seen = ask(truth, predicted, sample_weight, labels)
        asked = [_plain(label) for label in (seen.labels if labels is None else labels)]
        instead = 0.0 if zero_division == "warn" else float(zero_division)
        if average == "binary":
            if pos_label not in seen.labels:
                return instead
            return or_instead(seen.get(measure, class_=_plain(pos_label)).value, instead)
        each = np.array([seen.get(measure, class_=label).value for label in asked])
        if average is None:
            return np.where(np.isnan(each), instead, each)
        some = set(asked) != set(seen.labels)
        if average != "micro" and (some or (np.isnan(each).any() and not math.isnan(instead))):
            # Ours are averages over all classes, without those that have no value; scikit-learn's may be over some
            # classes, and have its number where there is no value.
            totals = np.array([seen.confusion.truth_totals[seen.confusion.index(label)] for label in asked])
            shares = totals if average == "weighted" else np.ones(len(each))
            filled = np.where(np.isnan(each), instead, each)
            return float(np.average(filled, weights=shares)) if shares.any() else instead
        if some:
            raise NotImplementedError("a micro average over some of the classes")
        return or_instead(seen.get(measure, average=average).value, instead)

    return answer


def of_some_classes(truth: Any, predicted: Any, weight: Any, labels: Any) -> Any:
    """The cases whose classes are both among the labels: scikit-learn leaves the others out of its table."""
    if labels is None:
        return truth, predicted, weight
    kept = np.isin(truth, labels) & np.isin(predicted, labels)
    return np.asarray(truth)[kept], np.asarray(predicted)[kept], None if weight is None else np.asarray(weight)[kept]


def or_instead(value: float, instead: float) -> float:
    return instead if math.isnan(value) else value


precision_score, recall_score, f1_score, jaccard_score = map(of_class, ("precision", "recall", "f1", "jaccard"))


def fbeta_score(truth: Any, predicted: Any, *, beta: float, **given: Any) -> Any:
    return of_class("f")(truth, predicted, beta=beta, **given)


def precision_recall_fscore_support(truth: Any, predicted: Any, *, beta: float = 1.0, **given: Any) -> Any:
    given = {"average": None, **given}
    given.pop("warn_for", None)
    found = [of_class(name)(truth, predicted, **given) for name in ("precision", "recall")]
    found.append(fbeta_score(truth, predicted, beta=beta, **given))
    if given["average"] is not None:
        return (*found, None)
    seen = ask(truth, predicted, given.get("sample_weight"), given.get("labels"))
    labels = seen.labels if given.get("labels") is None else given["labels"]
    totals = seen.confusion.truth_totals
    return (*found, np.array([totals[seen.confusion.index(_plain(label))] for label in labels]))


def accuracy_score(truth: Any, predicted: Any, *, normalize: bool = True, sample_weight: Any = None) -> Any:
    seen = ask(truth, predicted, sample_weight)
    return seen["accuracy"].value if normalize else seen.confusion.hits.sum()


def zero_one_loss(truth: Any, predicted: Any, *, normalize: bool = True, sample_weight: Any = None) -> Any:
    seen = ask(truth, predicted, sample_weight)
    return seen["error_rate"].value if normalize else seen.confusion.wrong


def balanced_accuracy_score(truth: Any, predicted: Any, *, sample_weight: Any = None, adjusted: bool = False) -> Any:
    value = ask(truth, predicted, sample_weight)["macro recall"].value
    chance = 1 / len(np.unique(truth))
    return (value - chance) / (1 - chance) if adjusted else value


def matthews_corrcoef(truth: Any, predicted: Any, *, sample_weight: Any = None) -> Any:
    return or_instead(ask(truth, predicted, sample_weight)["mcc"].value, 0.0)


def cohen_kappa_score(
    first: Any, second: Any, *, labels: Any = None, weights: Any = None, sample_weight: Any = None,
    replace_undefined_by: float = math.nan,
) -> Any:  # fmt: skip
    first, second, sample_weight = of_some_classes(first, second, sample_weight, labels)
    name = {None: "kappa", "linear": "linear_kappa", "quadratic": "quadratic_kappa"}[weights]
    return or_instead(ask(first, second, sample_weight, labels)[name].value, replace_undefined_by)


def class_likelihood_ratios(
    y_true: Any, y_pred: Any, *, labels: Any = None, sample_weight: Any = None, replace_undefined_by: Any = math.nan
) -> Any:
    seen = ask(y_true, y_pred, sample_weight, labels)
    positive = (seen.labels if labels is None else labels)[1]
    instead = replace_undefined_by if isinstance(replace_undefined_by, dict) else {}
    found = {name: seen.get(name, class_=_plain(positive)).value for name in ("LR+", "LR-")}
    return tuple(or_instead(value, instead.get(name, math.nan)) for name, value in found.items())


def confusion_matrix(
    truth: Any, predicted: Any, *, labels: Any = None, sample_weight: Any = None, normalize: Any = None
) -> Any:
    truth, predicted, sample_weight = of_some_classes(truth, predicted, sample_weight, labels)
    seen = ask(truth, predicted, sample_weight, labels)
    made = seen.confusion if labels is None else seen.confusion.with_labels([_plain(label) for label in labels])
    if normalize is None:
        return made.matrix
    axis = {"true": 1, "pred": 0, "all": None}[normalize]
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(made.matrix / made.matrix.sum(axis=axis, keepdims=True))


def scored(truth: Any, score: Any, weight: Any, labels: Any = None, positive: Any = None) -> Any:
    """Our evaluation of scores; without the name of the positive class it is the later one."""
    truth = np.asarray(truth)
    score = np.asarray(score)
    if truth.ndim == 2 and truth.shape[1] > 1:
        # One column for each class, with a 1 in that of the case.
        truth = np.asarray(sorted(labels) if labels is not None else range(truth.shape[1]))[truth.argmax(axis=1)]
    classes = [_plain(label) for label in (np.unique(truth) if labels is None else sorted(labels))]
    given: dict[str, Any] = {"weight": weight, "measures": ["accuracy"]}
    if score.ndim == 1:
        if score.min() < 0 or score.max() > 1:
            given["threshold"] = 0.5
        given["positive"] = classes[-1] if positive is None else _plain(positive)
        if given["positive"] not in classes:
            classes = [*(classes if len(classes) == 1 else []), given["positive"]]
        classes = (
            classes if len(classes) > 1 else [f"not {classes[0]}" if isinstance(classes[0], str) else -9, *classes]
        )
    return heldout.evaluate(truth, score=score, labels=classes, **given)


def log_loss(
    y_true: Any, y_proba: Any, *, normalize: bool = True, sample_weight: Any = None, labels: Any = None
) -> Any:
    seen = scored(y_true, y_proba, sample_weight, labels)
    return seen["log_loss"].value * (1 if normalize else seen.n)


def brier_score_loss(
    y_true: Any, y_proba: Any, *, sample_weight: Any = None, pos_label: Any = None, labels: Any = None,
    scale_by_half: Any = "auto",
) -> Any:  # fmt: skip
    if pos_label is None and np.ndim(y_true) == 1 and set(np.unique(y_true).tolist()) <= {-1, 0, 1}:
        # The class 1 is the positive one, also where it was not met.
        pos_label = 1
    seen = scored(y_true, y_proba, sample_weight, labels, pos_label)
    value = seen["brier"].value
    halved = len(seen.labels) == 2
    wanted = halved if scale_by_half == "auto" else scale_by_half
    return value * (1 + halved - wanted) if halved else value / (1 + wanted)


def d2_log_loss_score(y_true: Any, y_proba: Any, *, sample_weight: Any = None, labels: Any = None) -> Any:
    return scored(y_true, y_proba, sample_weight, labels)["log_loss_skill"].value


def d2_brier_score(
    y_true: Any, y_proba: Any, *, sample_weight: Any = None, pos_label: Any = None, labels: Any = None
) -> Any:
    return scored(y_true, y_proba, sample_weight, labels, pos_label)["brier_skill"].value


def roc_auc_score(
    truth: Any, score: Any, *, average: Any = "macro", sample_weight: Any = None, max_fpr: Any = None,
    multi_class: str = "raise", labels: Any = None,
) -> Any:  # fmt: skip
    if np.ndim(score) == 1:
        seen = scored(truth, score, sample_weight)
        name = "roc_auc" if max_fpr in (None, 1) else f"corrected_partial_auc(low=0, high={max_fpr})"
        return seen[name].value
    seen = scored(truth, score, sample_weight, labels)
    if multi_class == "ovo" and average == "macro":
        return seen["hand_till_auc"].value
    if multi_class == "ovr" and average in AVERAGES:
        return seen.get("roc_auc", average=average).value
    if multi_class == "ovr" and average is None:
        return np.array([seen.get("roc_auc", class_=label).value for label in seen.labels])
    codes = np.searchsorted(np.asarray(seen.labels), np.asarray(truth))
    return multiclass_auc(np.asarray(score), codes, len(seen.labels), "weighted_hand_till")


def average_precision_score(
    truth: Any, score: Any, *, average: str = "macro", pos_label: Any = 1, sample_weight: Any = None
) -> Any:
    if np.ndim(score) == 1:
        return or_instead(scored(truth, score, sample_weight, positive=pos_label)["average_precision"].value, 0.0)
    return scored(truth, score, sample_weight).get("average_precision", average=average).value


def top_k_accuracy_score(
    truth: Any, score: Any, *, k: int = 2, normalize: bool = True, sample_weight: Any = None, labels: Any = None
) -> Any:
    seen = scored(truth, score, sample_weight, labels)
    value = 1.0 if k >= len(seen.labels) else seen[f"top_k_accuracy(k={k})"].value
    return value if normalize else value * seen.n


def _curve(kind: str, truth: Any, score: Any, positive: Any, weight: Any) -> Any:
    return scored(truth, score, weight, positive=positive).curve(kind)


def roc_curve(truth: Any, score: Any, *, pos_label: Any = None, sample_weight: Any = None, **_: Any) -> Any:
    """Every point, also those that scikit-learn leaves out where they lie on a line."""
    curve = _curve("roc", truth, score, pos_label, sample_weight)
    return curve.x, curve.y, curve.threshold


def precision_recall_curve(
    y_true: Any, y_score: Any, *, pos_label: Any = None, sample_weight: Any = None, drop_intermediate: bool = False
) -> Any:
    """From the lowest threshold on, with the point of no recall at the end; points on a line may be left out."""
    curve = _curve("precision_recall", y_true, y_score, pos_label, sample_weight)
    precision, recall, threshold = curve.y, curve.x, curve.threshold
    if drop_intermediate and len(recall) > 2:
        moves = np.diff(recall) != 0
        kept = np.array([True, *(moves[:-1] | moves[1:]), True])
        precision, recall, threshold = precision[kept], recall[kept], threshold[kept]
    return np.append(precision[::-1], 1.0), np.append(recall[::-1], 0.0), threshold[::-1]


def det_curve(y_true: Any, y_score: Any, *, pos_label: Any = None, sample_weight: Any = None, **_: Any) -> Any:
    """From the lowest threshold on; of the points without false negatives or positives the last and the first alone."""
    curve = _curve("det", y_true, y_score, pos_label, sample_weight)
    fpr, fnr, threshold = curve.x, curve.y, curve.threshold
    first = np.flatnonzero(fpr == fpr[0])[-1]
    last = min(np.searchsorted(-fnr, -fnr[-1]) + 1, len(fnr))
    part = slice(max(first, 0), max(last, first + 1))
    return fpr[part][::-1], fnr[part][::-1], threshold[part][::-1]


def confusion_matrix_at_thresholds(y_true: Any, y_score: Any, pos_label: Any = None, sample_weight: Any = None) -> Any:
    """The counts at every threshold, which the ranking holds."""
    ranking = scored(y_true, y_score, sample_weight, positive=pos_label).ranking()
    tps, fps = np.cumsum(ranking.positives), np.cumsum(ranking.negatives)
    return fps[-1] - fps, fps, tps[-1] - tps, tps, ranking.scores


ASKED: list[str] = []
ENDINGS = ("_score", "_loss", "_matrix", "_support", "_corrcoef", "_ratios", "_curve", "_thresholds")


def noted(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, which leaves its name when it is called."""

    @wraps(function)
    def call(*given: Any, **options: Any) -> Any:
        ASKED.append(function.__name__)
        return function(*given, **options)

    return call


SUBSTITUTES = {
    name: noted(function)
    for name, function in list(globals().items())
    if callable(function) and not name.startswith("_") and name.endswith(ENDINGS)
}


# The plugin: these are found by the pytest that runs scikit-learn's files.


@contextmanager
def whatever_is_raised(*_: Any, **__: Any) -> Iterator[None]:
    """In the place of pytest's raises and warns: their words are not ours, and what is asked inside does not count."""
    asked = len(ASKED)
    with suppress(Exception):
        yield
    del ASKED[asked:]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Any:
    """Of some tests the parts that ask for words of errors and warnings are passed over, and the rest is run."""
    if "HELDOUT_OUTCOMES" not in os.environ or item.name.partition("[")[0] not in PARTED:
        return (yield)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pytest, "raises", whatever_is_raised)
        patch.setattr(pytest, "warns", whatever_is_raised)
        return (yield)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put our functions in the place of theirs, in the modules and in the parameters of their tests."""
    if "HELDOUT_OUTCOMES" not in os.environ:
        return
    left_out = {name for names in LEFT_OUT.values() for name in names}
    items[:] = [item for item in items if item.name.partition("[")[0] not in left_out]
    originals = {}
    for module in {item.module for item in items}:  # type: ignore[attr-defined]
        for name, function in SUBSTITUTES.items():
            if hasattr(module, name):
                originals[id(getattr(module, name))] = function
                setattr(module, name, function)
    for item in items:
        given = getattr(getattr(item, "callspec", None), "params", {})
        given.update({key: originals[id(value)] for key, value in given.items() if id(value) in originals})


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    path = os.environ.get("HELDOUT_OUTCOMES")
    if path and (report.when == "call" or report.outcome != "passed"):
        name = report.nodeid.rpartition("::")[2].partition("[")[0]
        why = (
            str(report.longrepr)[-1500:] if report.outcome != "passed" else ("" if ASKED else "nothing was asked of us")
        )
        ASKED.clear()
        with Path(path).open("a") as file:
            file.write(
                json.dumps([report.nodeid.rpartition("/")[2].partition("::")[0], name, report.outcome, why]) + "\n"
            )


def run_their_tests(path: Path) -> dict[str, list[tuple[str, str]]]:
    import sklearn.metrics.tests as theirs

    folder = Path(theirs.__file__).parent
    environment = {**os.environ, "HELDOUT_OUTCOMES": str(path), "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "tests.oracles.test_sklearn_own_tests",
    ]
    command += ["-c", os.devnull, "--rootdir", str(folder), "-W", "ignore", "--tb=short"]
    subprocess.run(
        [*command, *(str(folder / file) for file in FILES)], env=environment, cwd=ROOT, capture_output=True, check=False
    )
    found: dict[str, list[tuple[str, str]]] = {}
    for line in path.read_text().splitlines():
        _, name, outcome, why = json.loads(line)
        found.setdefault(name, []).append((outcome, why))
    return found


def test_their_tests_pass_on_our_answers(tmp_path: Path) -> None:
    found = run_their_tests(tmp_path / "outcomes.jsonl")
    failed = [f"{name}: {why}" for name, outcomes in found.items() for outcome, why in outcomes if outcome != "passed"]
    assert failed == []
    # Whatever is run asks at least one of its questions of us, and whatever is left out is there to be left out.
    assert [name for name, outcomes in found.items() if all(why for _, why in outcomes)] == []
    assert len(found) > 75
    assert sum(len(outcomes) for outcomes in found.values()) > 220


def test_what_is_left_out_is_there_to_be_left_out() -> None:
    import sklearn.metrics.tests as theirs

    text = "".join((Path(theirs.__file__).parent / file).read_text() for file in FILES)
    gone = [name for names in LEFT_OUT.values() for name in names if f"def {name}(" not in text]
    assert gone == []


def test_every_file_of_theirs_is_run_or_left_out_with_a_reason() -> None:
    import sklearn.metrics.tests as theirs

    there = {path.name for path in Path(theirs.__file__).parent.glob("test_*.py")}
    assert there == {*FILES, *FILES_LEFT_OUT}
