"""The interval over the cases of one test part: against the jackknife, counting by hand, and how often it holds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import LogisticRegression
from tests.cards.drawn_data import one_that_matters
from tests.promises.families.importance import (
    COMMON,
    HEAVY,
    PLAIN,
    RARE,
    Setting,
    World,
    measure_coverage,
    measure_folds,
)

from heldout.cards.api import card
from heldout.cards.importance import MEASURES, NO_LOSS, ONE_GROUP, Exchanges, ModelLosses, shuffle_columns
from heldout.intervals.losses import hall
from heldout.learners.problem import Problem
from heldout.resampling.split_task import Classes


def single_changes(model, X, y, column, order):
    """The change of each Brier loss by its definition, for one order of one column."""
    moved = X.copy()
    moved[:, column] = X[order, column]
    return (model.predict_proba(moved)[:, 1] - y) ** 2 - (model.predict_proba(X)[:, 1] - y) ** 2


def shuffled(model, X, y, column, orders):
    problem = Problem(X, y, y, (0, 1))
    return shuffle_columns(ModelLosses(model, Classes.of(problem), MEASURES["brier"], y), X, y, [column], orders[None])


def test_what_cases_receive_and_give_is_counted_case_by_case():
    X, y = one_that_matters(30)
    model = LogisticRegression().fit(X, y)
    orders = np.random.default_rng(0).permuted(np.tile(np.arange(30), (3, 1)), axis=1)
    found = shuffled(model, X, y, 0, orders)
    received, given = np.zeros(30), np.zeros(30)
    changes = np.array([single_changes(model, X, y, 0, order) for order in orders])
    for order, change in zip(orders, changes, strict=True):
        for case in range(30):
            received[case] += change[case] / 3
            given[order[case]] += change[case] / 3
    np.testing.assert_allclose(found.cases[0], received)
    np.testing.assert_allclose(found.donors[0], given)
    assert found.variance[0] == pytest.approx(np.var(changes))


def test_with_every_exchange_made_the_width_is_that_of_the_jackknife():
    X, y = one_that_matters(200)
    model = LogisticRegression().fit(X[:50], y[:50])
    n = len(y)
    # Every shift of the cases: each gives to each once.
    orders = (np.arange(n) + np.arange(n)[:, None]) % n
    found = shuffled(model, X, y, 0, orders)
    low, high, why = Exchanges(found.cases[0], found.donors[0], found.variance[0], n).limits(0.95)
    assert why == ""
    pairs = np.empty((n, n))
    for order in orders:
        pairs[np.arange(n), order] = single_changes(model, X, y, 0, order)
    without = (pairs.sum() - pairs.sum(axis=0) - pairs.sum(axis=1) + pairs.diagonal()) / ((n - 1) * (n - 2))
    pulls = (without.mean() - without) * (n - 1) / n
    variance = n / (n - 1) * np.square(pulls).sum()
    wanted = hall(pairs.mean(), variance, (pulls**3).sum(), stats.t.ppf(0.975, n - 1))
    # Equal but for terms of the order of 1/n.
    assert np.array([low, high]) - pairs.mean() == pytest.approx(np.array(wanted) - pairs.mean(), rel=0.02)


def test_the_noise_of_few_shuffles_is_taken_off_but_no_more_than_half():
    rng = np.random.default_rng(1)
    half = rng.normal(size=(2, 20))
    # No skewness, and a mean of 0.
    received, given = np.hstack([half, -half])

    def width(variance, shuffles):
        low, high, _ = Exchanges(received, given, variance, shuffles).limits(0.9)
        return high - low

    whole = 2 * stats.t.ppf(0.95, 39) * np.std(received + given, ddof=1) / math.sqrt(40)
    assert width(0.0, 5) == pytest.approx(whole)
    assert width(0.5, 5) ** 2 == pytest.approx(whole**2 * (1 - 0.1 / np.var(received + given)))
    assert width(1e9, 5) ** 2 == pytest.approx(whole**2 / 2)


def test_cases_that_are_copies_within_a_group_say_no_more_than_one():
    received, given = np.random.default_rng(2).normal(0.2, 1, (2, 50))
    given += received.mean() - given.mean()
    once = Exchanges(received, given, 0.0, 5).limits(0.95)
    group = np.repeat(np.arange(50) * 7, 10)
    again = Exchanges(np.repeat(received, 10), np.repeat(given, 10), 0.0, 5, group).limits(0.95)
    assert again[:2] == pytest.approx(once[:2])


def test_few_groups_with_the_larger_changes_reach_further_up():
    received = np.r_[np.zeros(18), 0.4, 0.6]
    low, high, _ = Exchanges(received, received, 0.0, 5).limits(0.95)
    half = stats.t.ppf(0.975, 19) * 2 * np.std(received, ddof=1) / math.sqrt(20)
    assert high - 0.05 > half > 0.05 - low


def test_what_a_case_gets_from_itself_or_its_own_group_does_not_count():
    X, y = one_that_matters(60)
    X, y = np.repeat(X, 2, axis=0), np.repeat(y, 2)
    model, pair = LogisticRegression().fit(X, y), np.arange(120) // 2
    problem = Problem(X, y, y, (0, 1))
    scorer = ModelLosses(model, Classes.of(problem), MEASURES["brier"], y)
    orders = np.random.default_rng(0).permuted(np.tile(np.arange(120), (4, 1)), axis=1)
    found = shuffle_columns(scorer, X, y, [0], orders[None], pair)
    changes = np.array([single_changes(model, X, y, 0, order) for order in orders])
    assert found.shuffles.mean() == pytest.approx(changes[pair[orders] != pair].mean())
    # Where all is one unit, there is nothing else.
    alone = shuffle_columns(scorer, X, y, [0], orders[None], np.zeros(120, dtype=int))
    assert alone.shuffles.mean() == pytest.approx(changes.mean())


def test_where_there_is_no_spread_there_is_a_reason():
    changes = np.array([0.1, 0.3, 0.2])
    assert Exchanges(changes, changes, 0.01, 5, np.array([4, 4, 4])).limits(0.95)[2] == ONE_GROUP
    assert Exchanges(np.zeros(3), np.zeros(3), 0.0, 5).limits(0.95)[2] == NO_LOSS


def test_a_card_over_one_split_says_that_its_intervals_are_over_cases_or_groups():
    X, y = one_that_matters(60)
    found = card("logistic", X, y, plan="holdout 2/3", timing=False).importance
    assert (found.method, found.folds, found.cases) == ("U-statistic t over cases", 1, 20)
    assert found["x0"].low < found["x0"].value < found["x0"].high
    assert "Hoeffding (1948)" in found.reference
    assert found.stability.undefined == "there is one model only, and so nothing that could differ from it"
    grouped = card("logistic", X, y, plan="holdout 2/3", timing=False, group=np.arange(60) // 3).importance
    assert grouped.method == "U-statistic t over groups"
    alone = card("tree:1", X, y, plan="holdout 1/2", timing=False, shuffles=1, group=np.arange(60) // 30).importance
    assert alone["x0"].undefined == ONE_GROUP


# With 300 test parts the Monte Carlo standard error is .013 at a coverage of .95 and .022 at .82.
@pytest.mark.parametrize(
    "setting",
    [
        Setting(RARE, 100),
        Setting(RARE, 500),
        Setting(COMMON, 1000),
        Setting(HEAVY, 200),
        Setting(PLAIN, 100, "accuracy", shuffles=1),
        Setting(World("normal", 0.0), 100, slope=0.5),
        Setting(World("normal", 1.5, alike=5), 400),
    ],
    ids=str,
)
def test_the_interval_holds_the_importance_of_a_known_model(setting):
    found = measure_coverage(setting, 300)
    assert 0.9 <= found.held <= 0.98
    assert found.without == 0
    if setting.world == RARE:
        # One that forgets who gave the values does not.
        assert found.received_only < 0.88


def test_over_ten_folds_the_interval_holds_the_importance_of_the_model_trained_on_all():
    assert measure_folds(Setting(PLAIN, 100), "tree:3", 40).one_model >= 0.9
