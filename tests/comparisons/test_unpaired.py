"""Two classifiers on different test sets: Mitchell's, Newcombe's and R's figures, and random tables."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import confint_proportions_2indep
from tests.oracles.figures import read_json

from heldout import Confusion, count
from heldout.comparisons.unpaired import compare_unpaired, newcombe_unpaired_limits, two_shares
from heldout.errors import OptionError
from heldout.intervals.count_estimator import Estimator
from heldout.measures.catalogue import find, read_quantity
from heldout.measures.quantity import Quantity

A = Confusion.of([[70, 20, 10], [15, 80, 5], [10, 10, 30]])
B = Confusion.of([[40, 10, 10], [5, 50, 5], [3, 2, 15]])
sizes = st.integers(1, 200)


def test_mitchells_example():
    # Machine Learning (1997), section 5.5: errors of .30 and .20 on 100 cases each.
    found = two_shares(30, 100, 20, 100, method="normal")
    assert found.difference == pytest.approx(0.10)
    assert found.difference / found.statistic == pytest.approx(0.061, abs=0.0005)
    assert (found.low, found.high) == pytest.approx((0.10 - 1.96 * 0.061, 0.10 + 1.96 * 0.061), abs=0.001)


def test_agrees_with_r():
    expected = read_json("r/two_prop.json")
    found = two_shares(56, 70, 48, 80)
    assert found.statistic**2 == pytest.approx(expected["score_test_chi2"], rel=1e-10)
    assert found.p == pytest.approx(expected["p"], rel=1e-10)
    normal = two_shares(56, 70, 48, 80, method="normal")
    assert (normal.low, normal.high) == pytest.approx(tuple(expected["wald_ci"]), rel=1e-10)
    # Newcombe (1998), Statistics in Medicine 17, 873-890, table II (a), method 10.
    assert (found.low, found.high) == pytest.approx((0.0524, 0.3339), abs=5e-5)


@given(sizes, sizes, st.floats(0, 1), st.floats(0, 1))
def test_newcombe_agrees_with_statsmodels(n_a, n_b, share_a, share_b):
    hits_a, hits_b = round(share_a * n_a), round(share_b * n_b)
    expected = confint_proportions_2indep(hits_a, n_a, hits_b, n_b, method="newcomb", compare="diff")
    assert newcombe_unpaired_limits(hits_a, n_a, hits_b, n_b) == pytest.approx(tuple(expected), abs=1e-10)


@given(sizes, sizes, st.floats(0, 1), st.floats(0, 1), st.sampled_from(["newcombe", "normal", "fisher"]))
def test_swapping_the_two_turns_the_sign_and_nothing_else(n_a, n_b, share_a, share_b, method):
    one = (round(share_a * n_a), n_a)
    two = (round(share_b * n_b), n_b)
    first, second = two_shares(*one, *two, method=method), two_shares(*two, *one, method=method)
    assert first.difference == -second.difference
    assert first.p == pytest.approx(second.p)
    assert (first.low, first.high) == pytest.approx((-second.high, -second.low), abs=1e-12)
    assert -1 <= first.low <= first.difference <= first.high <= 1


def test_fishers_test():
    found = two_shares(8, 10, 2, 10, method="Fisher")
    assert found.p == pytest.approx(stats.fisher_exact(np.array([[8, 2], [2, 8]])).pvalue)
    assert found.interval_method == "unpaired-newcombe"


def test_equal_shares_without_spread():
    for hits in (0, 10):
        found = two_shares(hits, 10, hits * 2, 20)
        assert (found.difference, found.p) == (0, 1)
        assert found.low < 0 < found.high
        assert "says nothing" in two_shares(hits, 10, hits * 2, 20, method="normal").note


def test_no_cases_is_undefined():
    assert math.isnan(two_shares(0, 0, 3, 10).difference)
    assert two_shares(0, 0, 3, 10).undefined
    found = compare_unpaired(A, B.with_labels((0, 1, 2, 3)), Quantity(find("recall"), class_=3))
    assert found.undefined == "A and B: there are no actual positives"


@pytest.mark.parametrize(
    ("text", "method"),
    [
        ("accuracy", "unpaired-newcombe"),
        ("recall[1]", "unpaired-newcombe"),
        ("precision[2]", "unpaired-newcombe"),
        ("micro f1", "unpaired-newcombe"),
        ("weighted recall", "unpaired-newcombe"),
        ("f1[1]", "unpaired-dirichlet"),
        ("macro f1", "unpaired-dirichlet"),
        ("kappa", "unpaired-dirichlet"),
        ("balanced_accuracy", "unpaired-dirichlet"),
        ("micro specificity", "unpaired-dirichlet"),
        ("no_information_rate", "unpaired-dirichlet"),
    ],
)
def test_the_default_of_each_kind_and_its_difference(text, method):
    quantity = read_quantity(text, (0, 1, 2))
    found = compare_unpaired(A, B, quantity)
    values = [Estimator(side).ask(quantity).value for side in (A, B)]
    assert found.method == method
    assert found.difference == pytest.approx(values[0] - values[1])
    assert found.low < found.difference < found.high
    other = compare_unpaired(A, B, quantity, method="normal")
    assert (found.low, found.high) == pytest.approx((other.low, other.high), abs=0.35 * (other.high - other.low))
    assert found.n == A.n + B.n


def test_recall_is_a_share_of_its_class():
    found = compare_unpaired(A, B, Quantity(find("recall"), class_=1))
    expected = two_shares(80, 100, 50, 60)
    assert (found.difference, found.low, found.high, found.p) == (
        expected.difference, expected.low, expected.high, expected.p)  # fmt: skip


def test_the_posteriors_are_independent():
    # Beta distributions of two rates, half a success and half a failure added.
    found = compare_unpaired(A, B, Quantity(find("recall"), class_=1), method="dirichlet")
    rng = np.random.default_rng(0)
    drawn = rng.beta(80.5, 20.5, 200_000) - rng.beta(50.5, 10.5, 200_000)
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(drawn, [0.025, 0.975])), abs=0.01)
    assert found.p == pytest.approx(2 * (drawn >= 0).mean(), abs=0.03)
    same = compare_unpaired(A, A, Quantity(find("kappa")), method="dirichlet")
    assert same.low < -0.05 < 0.05 < same.high


def test_costs_of_two_test_sets():
    costs = np.array([[0.0, 1.0, 5.0], [2.0, 0.0, 1.0], [50.0, 3.0, 0.0]])
    mean = compare_unpaired(A, B, Quantity(find("expected_cost", costs=costs)))
    expected = [(side.matrix * costs).sum() / side.n for side in (A, B)]
    assert mean.difference == pytest.approx(expected[0] - expected[1])
    total = compare_unpaired(A, B, Quantity(find("total_cost", costs=costs)))
    assert total.difference == pytest.approx(expected[0] * A.n - expected[1] * B.n)
    with pytest.raises(OptionError, match="costs are for 3 classes"):
        compare_unpaired(A, B.with_labels((0, 1, 2, 3)), Quantity(find("expected_cost", costs=costs)))


def test_weights_count_as_fewer_cases():
    rng = np.random.default_rng(0)
    truth, answer, weight = rng.integers(0, 2, 200), rng.integers(0, 2, 200), rng.exponential(size=200)
    weighted, plain = count(truth, answer, weight=weight).confusion, count(truth, answer).confusion
    quantity = Quantity(find("accuracy"))
    heavy, even = compare_unpaired(weighted, plain, quantity), compare_unpaired(plain, plain, quantity)
    assert heavy.high - heavy.low > even.high - even.low
    with pytest.raises(OptionError, match="whole cases"):
        compare_unpaired(weighted, plain, quantity, method="fisher")


def test_groups_get_a_standard_error_over_groups():
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(30), 10)
    truth = np.repeat(rng.integers(0, 2, 30), 10)
    answer = np.where(np.repeat(rng.random(30) < 0.3, 10), 1 - truth, truth)
    grouped, plain = count(truth, answer, group=group).confusion, count(truth, answer).confusion
    quantity = Quantity(find("accuracy"))
    robust, naive = (compare_unpaired(side, side, quantity, method="normal") for side in (grouped, plain))
    # Ten copies of each row hold as much as one; t stands for z.
    wider = stats.t.ppf(0.975, robust.df) / stats.norm.ppf(0.975)
    assert (robust.high - robust.low) / (naive.high - naive.low) == pytest.approx(wider * math.sqrt(10), rel=0.05)
    assert robust.df <= 29 + 29
    assert robust.p == 1.0
    assert compare_unpaired(grouped, plain, quantity).method == "unpaired-normal"
    with pytest.raises(OptionError, match="come in groups"):
        compare_unpaired(grouped, plain, quantity, method="newcombe")


def test_options_that_do_not_fit_are_refused():
    with pytest.raises(OptionError, match="for shares"):
        compare_unpaired(A, B, Quantity(find("kappa")), method="newcombe")
    with pytest.raises(OptionError, match="for same cases"):
        compare_unpaired(A, B, Quantity(find("kappa")), method="tango")
    with pytest.raises(OptionError, match="not a share"):
        two_shares(11, 10, 1, 10)
    with pytest.raises(OptionError, match="tables, not shares"):
        two_shares(1, 10, 1, 10, method="dirichlet")
    with pytest.raises(OptionError, match="one class"):
        compare_unpaired(A, B, Quantity(find("recall")))


def test_the_seed_decides():
    quantity = Quantity(find("kappa"))
    one, two, other = (compare_unpaired(A, B, quantity, seed=seed) for seed in (1, 1, 2))
    assert repr(one) == repr(two) != repr(other)


@pytest.mark.parametrize("text", ["f1[1]", "macro f1", "accuracy"])
def test_a_higher_level_is_wider_up_to_the_last(text):
    ends = [compare_unpaired(A, B, read_quantity(text, (0, 1, 2)), level=at) for at in (0.95, 0.9999, 0.9999999)]
    assert ends[0].low > ends[1].low > ends[2].low
    assert ends[0].high < ends[1].high < ends[2].high
