"""Agreement with scikit-learn on every measure of counts that it has, with and without weights."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics

from heldout import count, evaluate
from heldout.evidence import Confusion
from heldout.measures.catalogue import find
from heldout.measures.quantity import AVERAGES, averaged, per_class

PER_CLASS = {
    "precision": metrics.precision_score,
    "recall": metrics.recall_score,
    "f1": metrics.f1_score,
    "f2": lambda *given, **options: metrics.fbeta_score(*given, beta=2, **options),
    "f0.5": lambda *given, **options: metrics.fbeta_score(*given, beta=0.5, **options),
}


@dataclass(frozen=True)
class Column:
    """Truth, prediction and weights, and the same counted by us."""

    truth: np.ndarray
    predicted: np.ndarray
    weight: np.ndarray | None

    @property
    def counted(self) -> Confusion:
        return count(self.truth, self.predicted, weight=self.weight).confusion

    @property
    def labels(self) -> list[int]:
        return sorted({*self.truth.tolist(), *self.predicted.tolist()})


@st.composite
def columns(draw: st.DrawFn, classes: int = 5, smallest: int = 1) -> Column:
    n = draw(st.integers(smallest, 40))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    # Some classes occur in one column only, and most draws leave some out altogether.
    truth = rng.choice(rng.permutation(classes)[: rng.integers(1, classes + 1)], n)
    predicted = np.where(rng.random(n) < 0.5, truth, rng.integers(0, classes, n))
    weight = rng.uniform(0.01, 10, n) if draw(st.booleans()) else None
    return Column(truth, predicted, weight)


@contextmanager
def quiet() -> Iterator[None]:
    """scikit-learn warns of every undefined value; here they are looked at one by one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def theirs(function: object, column: Column, **options: object) -> np.ndarray:
    with quiet():
        given_ = function(column.truth, column.predicted, sample_weight=column.weight, **options)  # type: ignore[operator]
    return np.asarray(given_, dtype=float)


def same(found: object, wanted: object) -> None:
    np.testing.assert_allclose(
        np.asarray(found, dtype=float), np.asarray(wanted, dtype=float), rtol=1e-12, atol=1e-12, equal_nan=True
    )


@settings(max_examples=40)
@given(column=columns())
def test_confusion_matrix(column: Column) -> None:
    wanted = theirs(metrics.confusion_matrix, column)
    assert list(column.counted.labels) == column.labels
    same(column.counted.matrix, wanted)


@settings(max_examples=30)
@given(column=columns(classes=3))
def test_confusion_matrix_with_classes_that_were_not_met(column: Column) -> None:
    labels = [4, 2, 0, 1, 3]
    wanted = metrics.confusion_matrix(column.truth, column.predicted, labels=labels, sample_weight=column.weight)
    found = count(column.truth, column.predicted, weight=column.weight, labels=labels).confusion
    assert list(found.labels) == labels
    same(found.matrix, wanted)


@settings(max_examples=40)
@given(column=columns())
def test_accuracy(column: Column) -> None:
    same(find("accuracy").of_evidence(column.counted), theirs(metrics.accuracy_score, column))
    same(find("error_rate").of_evidence(column.counted), theirs(metrics.zero_one_loss, column))


@pytest.mark.parametrize("name", PER_CLASS)
@settings(max_examples=25)
@given(column=columns())
def test_precision_recall_and_f(name: str, column: Column) -> None:
    options = {"labels": column.labels, "zero_division": np.nan}
    seen, bound = column.counted, find(name)
    each = theirs(PER_CLASS[name], column, average=None, **options)
    same(per_class(bound, seen), each)
    for average in AVERAGES:
        wanted = float(theirs(PER_CLASS[name], column, average=average, **options))
        if average == "weighted" and not seen.truth_totals[~np.isnan(each)].any():
            # No class that occurs has a value: scikit-learn then averages the others without weights, we do not.
            assert math.isnan(averaged(bound, average, seen))
            continue
        same(averaged(bound, average, seen), wanted)


@settings(max_examples=25)
@given(column=columns())
def test_jaccard(column: Column) -> None:
    # Every class occurs in one of the two columns, so that none is undefined.
    seen, bound = column.counted, find("jaccard")
    same(per_class(bound, seen), theirs(metrics.jaccard_score, column, average=None))
    for average in AVERAGES:
        same(averaged(bound, average, seen), theirs(metrics.jaccard_score, column, average=average))


@settings(max_examples=40)
@given(column=columns())
def test_matthews_correlation(column: Column) -> None:
    found = find("mcc").of_evidence(column.counted)
    if math.isnan(found):
        # scikit-learn has 0 where one of the columns holds one class only.
        assert len(np.unique(column.truth)) == 1 or len(np.unique(column.predicted)) == 1
        found = 0.0
    same(found, theirs(metrics.matthews_corrcoef, column))


@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
@settings(max_examples=25)
@given(column=columns())
def test_kappa(weights: str | None, column: Column) -> None:
    found = find("kappa", weights=weights or "none").of_evidence(column.counted)
    if math.isnan(found):
        assert len(column.labels) == 1
        return
    same(found, theirs(metrics.cohen_kappa_score, column, weights=weights))


@settings(max_examples=40)
@given(column=columns(classes=3, smallest=3))
def test_balanced_accuracy(column: Column) -> None:
    found = evaluate(column.counted, measures="balanced accuracy")["balanced accuracy"].value
    if set(column.truth.tolist()) == set(column.labels):
        same(found, theirs(metrics.balanced_accuracy_score, column))
    else:
        # scikit-learn leaves out a class without cases, and warns; that is macro recall.
        assert math.isnan(found)
        same(averaged(find("recall"), "macro", column.counted), theirs(metrics.balanced_accuracy_score, column))


@settings(max_examples=40)
@given(column=columns(classes=2))
def test_likelihood_ratios(column: Column) -> None:
    seen = count(column.truth, column.predicted, weight=column.weight, labels=[0, 1]).confusion
    wanted = theirs(
        metrics.class_likelihood_ratios,
        column,
        labels=[0, 1],
        replace_undefined_by={"LR+": np.nan, "LR-": np.nan},
    )
    found = [per_class(find(name), seen)[1] for name in ("LR+", "LR-")]
    if set(column.truth.tolist()) != {0, 1}:
        assert np.isnan(found).all()
        return
    same(found, wanted)


@settings(max_examples=20)
@given(column=columns())
def test_the_report_of_all_of_them(column: Column) -> None:
    with quiet():
        wanted = metrics.classification_report(
            column.truth, column.predicted, sample_weight=column.weight, output_dict=True, zero_division=np.nan
        )
    ours = evaluate(column.truth, column.predicted, weight=column.weight, measures=["accuracy"])
    for label in ours.labels:
        for name, theirs_ in (("precision", "precision"), ("recall", "recall"), ("f1", "f1-score")):
            same(ours.get(name, class_=label).value, wanted[str(label)][theirs_])
        same(ours.confusion.truth_totals[ours.confusion.index(label)], wanted[str(label)]["support"])
    same(ours["accuracy"].value, wanted["accuracy"])
    for name, theirs_ in (("precision", "precision"), ("recall", "recall"), ("f1", "f1-score")):
        same(ours.get(name, average="macro").value, wanted["macro avg"][theirs_])
