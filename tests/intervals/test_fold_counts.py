"""Measures of counts over folds: pooled with the interval of fewer cases, and the mean and spread beside them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn import metrics

import heldout
from heldout.errors import OptionError
from heldout.intervals.dependence import BY_CLASS, FOLD_TARGET, Dependence
from heldout.intervals.fold_estimates import FoldEstimator
from heldout.measures.catalogue import read_quantity

# Estimates over folds hold more than others do, which the type checker cannot know.
evaluate: Any = heldout.evaluate

RNG = np.random.default_rng(5)
N, K, FACTOR = 300, 10, 1.5
TRUTH = RNG.integers(0, 3, N)
PREDICTED = np.where(RNG.random(N) < 0.7, TRUTH, RNG.integers(0, 3, N))
FOLD = np.arange(N) % K
FOLDED = evaluate(TRUTH, PREDICTED, fold=FOLD)


def estimator(truth, predicted, fold, **plan) -> Any:
    """Estimates over folds by a plan of our own."""
    made = evaluate(truth, predicted, fold=fold, measures="accuracy").estimator
    assert isinstance(made, FoldEstimator)
    return replace(made, plan=Dependence(len(truth), **plan))


def wilson(k, n, level=0.95):
    z = stats.norm.ppf((1 + level) / 2)
    middle, half = k + z**2 / 2, z * math.sqrt(k * (n - k) / n + z**2 / 4)
    return (middle - half) / (n + z**2), (middle + half) / (n + z**2)


def by_fold(measure):
    """A measure of scikit-learn in each fold."""
    held = [np.flatnonzero(np.equal(FOLD, number)) for number in range(K)]
    return np.array([measure(TRUTH[rows], PREDICTED[rows]) for rows in held])


@pytest.mark.parametrize("factor", [1.0, 1.2, 1.5, 2.3])
@pytest.mark.parametrize("level", [0.9, 0.95])
def test_accuracy_has_wilson_s_interval_for_fewer_cases(factor, level):
    made = replace(estimator(TRUTH, PREDICTED, FOLD, factor=factor), level=level)
    hits = int((TRUTH == PREDICTED).sum())
    found = made.ask(read_quantity("accuracy", (0, 1, 2)))
    assert found.value == pytest.approx(hits / N)
    assert (found.low, found.high) == pytest.approx(wilson(hits / factor, N / factor, level))
    assert found.n == N
    assert found.method == ("wilson" if factor == 1 else f"wilson, n/{factor:g}")


def recall_shift(hits, positives, alarms, negatives):
    """The variance of a recall by a threshold that moves with the log odds of the class, over the binomial one."""
    found, wrong = hits / positives, alarms / negatives
    place, other = stats.norm.ppf(found), stats.norm.ppf(wrong)
    slope = stats.norm.pdf(place) / (place - other)
    return slope**2 * (1 / positives + 1 / negatives) / (found * (1 - found) / positives)


def test_recall_of_a_class_has_wilson_s_interval_for_fewer_of_its_cases():
    found = FOLDED["recall[1]"]
    there, hits = int((TRUTH == 1).sum()), int(((TRUTH == 1) & (PREDICTED == 1)).sum())
    called = int(((TRUTH != 1) & (PREDICTED == 1)).sum())
    factor = BY_CLASS * (1 + recall_shift(hits + 0.5, there + 1, called + 0.5, N - there + 1))
    assert (found.low, found.high) == pytest.approx(wilson(hits / factor, there / factor), abs=1e-6)
    assert found.method == "wilson, n/1.5, threshold shift"
    assert found.target == FOLD_TARGET


@pytest.mark.parametrize(
    ("name", "measure"),
    [
        ("accuracy", metrics.accuracy_score),
        ("balanced_accuracy", metrics.balanced_accuracy_score),
        ("macro f1", lambda t, p: metrics.f1_score(t, p, average="macro")),
        ("weighted precision", lambda t, p: metrics.precision_score(t, p, average="weighted")),
        ("kappa", metrics.cohen_kappa_score),
        ("matthews", metrics.matthews_corrcoef),
        ("recall[2]", lambda t, p: metrics.recall_score(t, p, labels=[2], average=None)[0]),
    ],
)
def test_the_pooled_value_stands_beside_the_mean_and_the_spread_over_folds(name, measure):
    found, values = FOLDED[name], by_fold(measure)
    assert found.value == pytest.approx(measure(TRUTH, PREDICTED))
    assert found.rule == "pooled"
    assert found.other == pytest.approx(values.mean())
    assert found.gap == pytest.approx(values.mean() - measure(TRUTH, PREDICTED), abs=1e-12)
    assert found.spread == pytest.approx(values.std(ddof=1))
    assert (found.folds, found.splits) == (K, K)
    np.testing.assert_allclose(FOLDED.per_fold(name), values)


@given(st.integers(2, 12), st.integers(0, 2**32 - 1))
def test_over_folds_of_one_size_the_mean_accuracy_is_the_pooled_one(k, seed):
    rng = np.random.default_rng(seed)
    truth, predicted = rng.integers(0, 2, (2, 5 * k))
    found = evaluate(truth, predicted, fold=np.arange(5 * k) % k, measures="accuracy")["accuracy"]
    assert found.other == pytest.approx(found.value)
    assert found.gap == 0


def test_the_corrected_t_takes_the_mean_over_folds():
    values = by_fold(metrics.accuracy_score)
    found = FOLDED.interval("accuracy", method="Corrected T")
    half = stats.t.ppf(0.975, K - 1) * math.sqrt((1 / K + 1 / (K - 1)) * values.var(ddof=1))
    assert found.value == pytest.approx(values.mean())
    assert (found.low, found.high) == pytest.approx((values.mean() - half, values.mean() + half))
    assert (found.method, found.rule) == ("corrected-t", "mean")
    assert found.other == pytest.approx(metrics.accuracy_score(TRUTH, PREDICTED))


def test_the_naive_t_says_that_it_is_too_narrow():
    found = FOLDED.interval("macro f1", method="naive-t")
    values = by_fold(lambda t, p: metrics.f1_score(t, p, average="macro"))
    assert (found.low, found.high) == pytest.approx(stats.t.interval(0.95, K - 1, values.mean(), stats.sem(values)))
    assert "takes the folds as independent" in found.note


def test_the_method_of_a_whole_evaluation_is_used_for_every_measure():
    every = evaluate(TRUTH, PREDICTED, fold=FOLD, method="corrected-t")
    methods = {e.method for e in every}
    assert methods == {"corrected-t"}
    assert every["accuracy"].low == FOLDED.interval("accuracy", method="corrected-t").low


def test_folds_in_which_a_measure_is_undefined_are_left_out_and_counted():
    truth, predicted = ["a", "a", "b", "b", "b", "a"], ["a", "b", "b", "b", "a", "a"]
    seen = evaluate(truth, predicted, fold=[1, 1, 2, 2, 3, 3], positive="a")
    recall = seen["recall"]
    np.testing.assert_array_equal(seen.per_fold("recall"), [0.5, math.nan, 1.0])
    assert (recall.value, recall.folds, recall.splits) == (pytest.approx(2 / 3), 2, 3)
    assert recall.other == pytest.approx(0.75)
    assert recall.spread == pytest.approx(np.std([0.5, 1.0], ddof=1))


def test_balanced_accuracy_is_undefined_in_a_fold_that_lacks_a_class_and_macro_recall_is_not():
    truth, predicted = ["a", "a", "b", "b", "b", "a"], ["a", "b", "b", "b", "a", "a"]
    seen = evaluate(truth, predicted, fold=[1, 1, 2, 2, 3, 3])
    np.testing.assert_array_equal(seen.per_fold("balanced_accuracy"), [math.nan, math.nan, 0.5])
    np.testing.assert_array_equal(seen.per_fold("macro recall"), [0.5, 1.0, 0.5])
    # Asked for in the other order they are the same.
    again = evaluate(truth, predicted, fold=[1, 1, 2, 2, 3, 3])
    np.testing.assert_array_equal(again.per_fold("macro recall"), [0.5, 1.0, 0.5])
    np.testing.assert_array_equal(again.per_fold("balanced_accuracy"), [math.nan, math.nan, 0.5])


def test_a_method_over_folds_leaves_a_measure_that_one_fold_defines_to_its_own_interval():
    truth, predicted = ["a", "a", "b", "b", "b", "b"], ["a", "b", "b", "b", "a", "b"]
    fold = [1, 1, 2, 2, 3, 3]
    seen = evaluate(truth, predicted, fold=fold, method="corrected-t")
    assert seen["accuracy"].method == "corrected-t"
    assert seen["recall[a]"].method.startswith("wilson")
    assert seen["recall[a]"].rule == "pooled"
    with pytest.raises(OptionError, match=r"needs recall\[a\] in at least two folds; it is defined in 1"):
        evaluate(truth, predicted, fold=fold, method="corrected-t", measures="recall[a]")


def test_folds_that_all_agree_have_no_interval_from_their_spread_and_say_why():
    truth = ["a", "b"] * 10
    seen = evaluate(truth, truth, fold=np.arange(20) // 4, method="corrected-t", measures="accuracy")["accuracy"]
    assert (seen.value, seen.spread) == (1, 0)
    assert math.isnan(seen.low)
    assert "same in every fold" in seen.note
    usual = evaluate(truth, truth, fold=np.arange(20) // 4)["accuracy"]
    assert (usual.low, usual.high) == pytest.approx(wilson(20 / FACTOR, 20 / FACTOR))


def test_a_total_cost_over_folds_stands_for_all_cases():
    seen = evaluate(TRUTH, PREDICTED, fold=FOLD, costs=1 - np.eye(3), cost_rows="truth")
    wrong = float((TRUTH != PREDICTED).sum())
    total = seen["total_cost"]
    assert (total.value, total.other) == (wrong, pytest.approx(wrong))
    assert total.spread == pytest.approx(N * (1 - by_fold(metrics.accuracy_score)).std(ddof=1))


def test_a_refused_plan_has_values_and_no_interval():
    made = estimator(TRUTH, PREDICTED, FOLD, refused="they were trained on")
    for method in (None, "corrected-t"):
        found = made.ask(read_quantity("accuracy", (0, 1, 2)), method)
        assert found.value == pytest.approx((TRUTH == PREDICTED).mean())
        assert math.isnan(found.low)
        assert "they were trained on" in found.note


def test_training_cases_stand_beside():
    made = replace(estimator(TRUTH, PREDICTED, FOLD), training=evaluate(TRUTH, TRUTH).confusion)
    assert made.ask(read_quantity("accuracy", (0, 1, 2))).training == 1
    assert [e.training for e in made.classes(read_quantity("recall", (0, 1, 2)).bound)] == [1, 1, 1]
    assert math.isnan(FOLDED["accuracy"].training)


@pytest.mark.parametrize(
    ("name", "said"),
    [("accuracy", "counts of all folds together"), ("macro f1", "biased for ratios"), ("kappa", "biased for ratios")],
)
def test_an_estimate_says_why_its_folds_were_put_together_so(name, said):
    found = FOLDED[name]
    assert said in found.reason
    assert "Forman & Scholz" in found.reference
    text = " ".join(str(found).split())
    assert "pooled:" in text
    assert f"standard deviation over {K} folds" in text


def test_a_row_holds_what_the_folds_add():
    row = FOLDED["accuracy"].rows()[0]
    assert list(row)[:9] == ["measure", "class", "average", "value", "low", "high", "level", "method", "n"]
    assert list(row)[-6:] == ["rule", "other", "gap", "spread", "folds", "training"]
