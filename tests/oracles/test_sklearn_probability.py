"""scikit-learn as oracle: proper scores, bins, areas of many classes and top-k accuracy, with ties and weights."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score, top_k_accuracy_score
from tests.intervals.averaged_areas import multiclass_auc, ovr_auc

from heldout.engines.probability_sums import tally, tally_classes
from heldout.engines.score_sort import rank
from heldout.evidence.probability_bins import BinChoice, with_bins
from heldout.intervals.multiclass_areas import AREA_AVERAGES
from heldout.measures import probability
from heldout.measures.quantity import Bound
from heldout.measures.recalibration import recalibrate

THEIR_NAMES = {
    "macro": ("ovr", "macro"),
    "weighted": ("ovr", "weighted"),
    "hand_till": ("ovo", "macro"),
    "weighted_hand_till": ("ovo", "weighted"),
}


def close(wanted):
    return pytest.approx(wanted, rel=1e-12, abs=1e-12)


def value(measure, seen, **parameters):
    return float(Bound(measure, parameters).value({"probabilities": seen}))


@st.composite
def two_classes(draw):
    seed, n = draw(st.integers(0, 10_000)), draw(st.integers(2, 60))
    rng = np.random.default_rng(seed)
    # Few decimals give ties, edges of bins, and probabilities of exactly 0 and 1.
    p = np.round(rng.random(n), draw(st.sampled_from([1, 2, 16])))
    truth = rng.random(n) < 0.5
    truth[:2] = [True, False]
    return p, truth, rng.random(n) + 0.1 if draw(st.booleans()) else None


@st.composite
def many_classes(draw):
    seed, n, k = draw(st.integers(0, 10_000)), draw(st.integers(8, 60)), draw(st.integers(3, 6))
    rng = np.random.default_rng(seed)
    table = rng.integers(0, 4, (n, k)) + (rng.random((n, k)) if draw(st.booleans()) else 0.25)
    codes = rng.integers(0, k, n)
    codes[:k] = np.arange(k)
    return table / table.sum(axis=1, keepdims=True), codes, rng.random(n) + 0.1 if draw(st.booleans()) else None


@given(two_classes())
def test_two_classes(cases):
    p, truth, weight = cases
    seen = tally(p, truth, weight)
    assert value(probability.brier, seen) == close(brier_score_loss(truth, p, sample_weight=weight))
    assert value(probability.log_loss, seen) == close(log_loss(truth, p, sample_weight=weight))


@given(two_classes(), st.integers(1, 20))
def test_calibration_bins(cases, bins):
    p, truth, _ = cases
    observed, predicted = calibration_curve(truth, p, n_bins=bins)
    seen = with_bins(tally(p, truth), rank(p, truth), BinChoice(bins, "uniform")).reliability
    met = seen.cases > 0
    assert seen.observed[met] / seen.weight[met] == close(observed)
    assert seen.predicted[met] / seen.weight[met] == close(predicted)
    assert not seen.weight[~met].any()


@given(many_classes())
def test_many_classes(cases):
    table, codes, weight = cases
    k = table.shape[1]
    seen = tally_classes(table, codes, weight)
    assert value(probability.log_loss, seen) == close(log_loss(codes, table, sample_weight=weight))
    theirs = brier_score_loss(codes, table, sample_weight=weight, labels=list(range(k)))
    assert value(probability.brier, seen) == close(theirs)
    for top in range(1, k + 1):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UndefinedMetricWarning)
            theirs = top_k_accuracy_score(codes, table, k=top, sample_weight=weight)
        assert value(probability.top_k_accuracy, seen, k=float(top)) == close(theirs)


@given(two_classes())
def test_two_columns(cases):
    p, truth, weight = cases
    table = np.stack([1 - p, p], axis=1)
    seen = tally_classes(table, truth.astype(int), weight)
    theirs = brier_score_loss(truth.astype(int), table, sample_weight=weight, labels=[0, 1])
    assert value(probability.brier, seen) == close(theirs)
    assert value(probability.log_loss, seen) == close(log_loss(truth, table, sample_weight=weight))


@given(many_classes())
def test_areas(cases):
    table, codes, weight = cases
    k = table.shape[1]
    for average in AREA_AVERAGES:
        scheme, mean = THEIR_NAMES[average]
        theirs = roc_auc_score(codes, table, multi_class=scheme, average=mean)
        assert multiclass_auc(table, codes, k, average) == close(theirs)
        if scheme == "ovr":
            theirs = roc_auc_score(codes, table, multi_class=scheme, average=mean, sample_weight=weight)
            assert multiclass_auc(table, codes, k, average, weight=weight) == close(theirs)
    theirs = roc_auc_score(codes, table, multi_class="ovr", average=None, sample_weight=weight)
    assert ovr_auc(table, codes, k, weight=weight) == close(theirs)


@pytest.mark.parametrize("weighted", [False, True])
def test_recalibration_is_their_logistic_regression(weighted):
    rng = np.random.default_rng(8)
    p = np.round(rng.beta(1, 2, 500), 2).clip(0.01, 0.99)
    truth = rng.random(500) < p**1.5
    weight = rng.random(500) + 0.2 if weighted else None
    fit = recalibrate(rank(p, truth, weight=weight))
    model = LogisticRegression(C=np.inf, tol=1e-12, solver="newton-cholesky")
    model.fit(np.log(p / (1 - p))[:, None], truth, sample_weight=weight)
    assert fit.slope == pytest.approx(model.coef_[0, 0], rel=1e-7)
    assert fit.intercept == pytest.approx(model.intercept_[0], rel=1e-7)
