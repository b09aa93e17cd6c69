"""How folds are put together, pooled or averaged, and the values in each fold as scikit-learn has them."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from sklearn import metrics
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.model_selection import (
    GroupKFold,
    GroupShuffleSplit,
    KFold,
    LeaveOneGroupOut,
    LeaveOneOut,
    LeavePGroupsOut,
    LeavePOut,
    PredefinedSplit,
    RepeatedKFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
    TimeSeriesSplit,
    cross_val_predict,
    cross_validate,
)

from heldout.api.evaluate import evaluate
from heldout.api.validate import validate
from heldout.costs import Costs
from heldout.measures.catalogue import COUNTED

WEKA = Path(__file__).parents[1] / "oracles" / "data" / "weka"
below = NormalDist().cdf


def judged(*given, **options) -> Any:
    return validate(*given, **options)


class Threshold(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Says 1 where the first feature is above a threshold; learns nothing, so its true F is known exactly."""

    def __init__(self, threshold=0.0):
        self.threshold = threshold

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X):
        return (X[:, 0] > self.threshold).astype(int)


@pytest.mark.parametrize("plan", ["10-fold", "10-fold unstratified"])
def test_pooled_f_is_nearer_the_truth_than_the_mean_over_folds(plan):
    # Forman & Scholz (2010): with 1 % positives a fold has two of them or none, and F of a fold says little.
    share, apart, threshold, n = 0.01, 3.0, 2.3, 2000
    recall, false_alarm = below(apart - threshold), below(-threshold)
    truth = 2 * share * recall / (share + share * recall + (1 - share) * false_alarm)
    rng = np.random.default_rng(2010)
    pooled: list[float] = []
    mean: list[float] = []
    while len(pooled) < 150:
        y = (rng.random(n) < share).astype(int)
        if not 10 <= y.sum() <= 40:
            continue  # stratification needs one positive in every fold; this is next to never otherwise
        X = rng.normal(size=(n, 1)) + apart * y[:, None]
        found = judged(Threshold(threshold), X, y, plan=plan, seed=len(pooled), measures="f1", training=False)["f1"]
        assert found.rule == "pooled"
        pooled.append(found.value)
        mean.append(found.other)
    off_pooled, off_mean = np.abs(np.array(pooled) - truth), np.abs(np.array(mean) - truth)
    gained = off_mean - off_pooled
    assert gained.mean() > 2 * gained.std() / math.sqrt(len(gained))
    assert abs(np.mean(pooled) - truth) < abs(np.mean(mean) - truth)


def test_a_constant_classifier_has_an_area_of_one_half_only_as_the_mean_over_folds():
    # Its score is the prevalence of the training part, which is lower in a fold that tests more positives.
    rng = np.random.default_rng(7)
    y = (rng.random(153) < 0.35).astype(int)
    found = judged("majority", rng.normal(size=(153, 2)), y, plan="10-fold unstratified", measures="roc_auc")["roc_auc"]
    assert (found.value, found.rule) == (0.5, "mean")
    assert found.other < 0.5


def test_a_constant_classifier_on_diabetes_has_the_pooled_area_that_weka_prints():
    figures = json.loads((WEKA / "diabetes__ZeroR.json").read_text(encoding="utf-8"))["cv10_seed1"]
    held = judged("majority", str(WEKA / "diabetes.arff"), target="class", plan="weka 10-fold seed 1")
    for printed in figures["per_class"]:
        found = held.get("roc_auc", class_=printed["class"])
        assert found.value == 0.5
        assert found.other == pytest.approx(printed["roc_area"], abs=1e-12)
    assert held.confusion.matrix.tolist() == figures["confusion_matrix"]


def cases(n=90, classes=2, seed=5):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    return rng.normal(size=(n, 3)) + 1.2 * np.eye(classes, 3)[y], y


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("plan", ["5-fold", "3x4-fold", "leave-one-out", "7 x holdout 2/3"])
def test_every_count_measure_pooled_is_that_of_all_predictions_together(plan, classes):
    table = np.arange(1.0, classes**2 + 1).reshape(classes, classes) * (1 - np.eye(classes))
    costs = Costs.of(table, range(classes), rows="truth")
    held = judged("naive-bayes", *cases(60, classes), plan=plan, costs=costs)
    rows = held.prediction_rows()
    truth, predicted = ([row[name] for row in rows] for name in ("truth", "predicted"))
    together = evaluate(truth, predicted, costs=costs, labels=list(range(classes)))
    times = len(rows) / len({row["row"] for row in rows})
    compared = 0
    for estimate in held.evaluation:
        if estimate.measure.startswith("f") or estimate.measure in COUNTED:
            expected = together.get(estimate.measure, class_=estimate.class_, average=estimate.average).value
            if estimate.measure == "total_cost":
                # The cost of the cases, not of the times that they were predicted.
                expected /= times
            assert estimate.value == pytest.approx(expected, abs=1e-12, nan_ok=True), estimate.name
            compared += 1
    assert compared > 60


def both(table):
    """Whether both classes occur."""
    return bool(table.sum(axis=1).all())


# Ours by name: scikit-learn's, and where the measure is defined, from the table of the fold with truth in the rows
# (elsewhere scikit-learn puts a 0, or warns).
SCORERS: dict[str, tuple[Callable[..., float], Callable[..., bool]]] = {
    "accuracy": (lambda m, X, y: metrics.accuracy_score(y, m.predict(X)), lambda _: True),
    "f1": (lambda m, X, y: metrics.f1_score(y, m.predict(X)), lambda t: t.sum() > t[0, 0]),
    "precision": (lambda m, X, y: metrics.precision_score(y, m.predict(X)), lambda t: t[:, 1].any()),
    "recall": (lambda m, X, y: metrics.recall_score(y, m.predict(X)), lambda t: t[1].any()),
    "balanced_accuracy": (lambda m, X, y: metrics.balanced_accuracy_score(y, m.predict(X)), both),
    "matthews": (lambda m, X, y: metrics.matthews_corrcoef(y, m.predict(X)), lambda t: both(t) and both(t.T)),
    "kappa": (
        lambda m, X, y: metrics.cohen_kappa_score(y, m.predict(X), labels=[0, 1]),
        lambda t: t.sum() > max(t[0, 0], t[1, 1]),
    ),
    "roc_auc": (lambda m, X, y: metrics.roc_auc_score(y, m.predict_proba(X)[:, 1]), both),
    "average_precision": (
        lambda m, X, y: metrics.average_precision_score(y, m.predict_proba(X)[:, 1]),
        lambda t: t[1].any(),
    ),
    "brier": (
        lambda m, X, y: metrics.brier_score_loss(y, m.predict_proba(X)[:, 1], labels=[0, 1], pos_label=1),
        lambda _: True,
    ),
    "log_loss": (lambda m, X, y: metrics.log_loss(y, m.predict_proba(X), labels=[0, 1]), lambda _: True),
}
GROUP = np.random.default_rng(11).integers(0, 9, 90)
SPLITTERS = [
    KFold(6, shuffle=True, random_state=1),
    KFold(4),
    StratifiedKFold(5, shuffle=True, random_state=2),
    GroupKFold(4),
    ShuffleSplit(8, random_state=3, test_size=0.2),
    StratifiedShuffleSplit(7, random_state=4, test_size=0.3),
    LeavePOut(2),
    LeaveOneGroupOut(),
    TimeSeriesSplit(5),
    RepeatedStratifiedKFold(n_splits=4, n_repeats=3, random_state=5),
    PredefinedSplit(np.random.default_rng(6).integers(-1, 5, 90)),
    LeaveOneOut(),
    RepeatedKFold(n_splits=4, n_repeats=2, random_state=7),
    StratifiedGroupKFold(3, shuffle=True, random_state=8),
    GroupShuffleSplit(6, random_state=9, test_size=0.3),
    LeavePGroupsOut(2),
]


def given_to(splitter):
    X, y = cases(14 if isinstance(splitter, LeavePOut) else 90)
    grouped = "Group" in type(splitter).__name__
    return X, y, GROUP if grouped else None


@pytest.mark.parametrize("splitter", SPLITTERS, ids=lambda s: type(s).__name__)
def test_every_fold_is_as_scikit_learn_has_it(splitter):
    X, y, group = given_to(splitter)
    held = judged(LinearDiscriminantAnalysis(), X, y, plan=splitter, group=group, positive=1, measures=list(SCORERS))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        warnings.filterwarnings("ignore", "y_pred contains classes|A single label|No positive class|invalid value")
        theirs = cross_validate(
            LinearDiscriminantAnalysis(), X, y, cv=splitter, groups=group, error_score="raise",
            scoring={name: scorer for name, (scorer, _) in SCORERS.items()},
        )  # fmt: skip
    tables = np.zeros((len(held.run.splits), 2, 2), dtype=int)
    np.add.at(tables, (held.run.fold, y[held.run.rows], held.run.predicted), 1)
    for name, (_, defined) in SCORERS.items():
        ours = held.per_fold(name)
        if isinstance(splitter, LeaveOneOut) and name == "average_precision":
            # One case alone cannot be ranked; scikit-learn gives each lone positive a 1.
            assert np.isnan(ours).all()
            continue
        there = np.array([bool(defined(table)) for table in tables])
        assert (~np.isnan(ours)).tolist() == there.tolist(), name
        assert ours[there] == pytest.approx(theirs[f"test_{name}"][there], abs=1e-12), name


@pytest.mark.parametrize(
    "splitter",
    [KFold(6, shuffle=True, random_state=1), StratifiedKFold(5), GroupKFold(4), LeaveOneGroupOut()],
    ids=lambda s: type(s).__name__,
)
def test_pooled_values_are_those_of_cross_val_predict(splitter):
    X, y, group = given_to(splitter)
    held = judged(LinearDiscriminantAnalysis(), X, y, plan=splitter, group=group, positive=1, measures=list(SCORERS))
    options = {"cv": splitter, "groups": group}
    predicted = cross_val_predict(LinearDiscriminantAnalysis(), X, y, **options)
    probability = cross_val_predict(LinearDiscriminantAnalysis(), X, y, method="predict_proba", **options)

    class Told:
        """The predictions, as a model that made them."""

        def predict(self, _):
            return predicted

        def predict_proba(self, _):
            return probability

    for name, (scorer, _) in SCORERS.items():
        found = held[name]
        if name == "average_precision" and not isinstance(splitter, LeaveOneGroupOut):
            # Beside the value of cases ranked within their folds, which are large enough, stands the mean over them.
            assert found.rule == "ranks"
            assert found.other == pytest.approx(np.nanmean(held.per_fold(name)))
            continue
        pooled = found.other if name == "roc_auc" else found.value
        assert pooled == pytest.approx(scorer(Told(), X, y), abs=1e-12), name
        assert found.rule == ("mean" if name == "roc_auc" else "pooled")
