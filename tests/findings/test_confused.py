"""The most confused pairs are the largest cells off the diagonal, with the interval of a share of the class."""

from __future__ import annotations

import math

import numpy as np
import pytest
from statsmodels.stats.proportion import proportion_confint

from heldout import evaluate
from heldout.evidence import Confusion
from heldout.results.cases import confused

MATRIX = [[40, 7, 3], [2, 50, 11], [0, 1, 86]]


@pytest.mark.parametrize("level", [0.9, 0.95])
def test_the_pairs_are_the_largest_errors_with_wilsons_interval(level):
    found = evaluate(matrix=MATRIX, labels=["a", "b", "c"], level=level).confused(3)
    assert [(pair.truth, pair.predicted, pair.count) for pair in found.pairs] == [
        ("b", "c", 11),
        ("a", "b", 7),
        ("a", "c", 3),
    ]
    assert found.kinds == 5
    for pair in found.pairs:
        low, high = proportion_confint(pair.count, pair.total, alpha=1 - level, method="wilson")
        assert (pair.low, pair.high) == pytest.approx((low, high), abs=1e-12)
    assert "2 other kinds" in str(found)
    assert found.rows()[0]["value"] == pytest.approx(11 / 63)


def test_weights_and_groups_leave_fewer_cases():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 600)
    predicted = np.where(rng.random(600) < 0.3, rng.integers(0, 3, 600), truth)
    plain = evaluate(truth, predicted).confused(1).pairs[0]
    # Ten copies of each case in a group know no more than the case alone.
    copies = evaluate(np.repeat(truth, 10), np.repeat(predicted, 10), group=np.repeat(np.arange(600), 10))
    found = copies.confused(1).pairs[0]
    assert (found.truth, found.predicted, found.value) == (plain.truth, plain.predicted, plain.value)
    assert found.high - found.low == pytest.approx(plain.high - plain.low, rel=0.02)
    equal = evaluate(truth, predicted, weight=np.full(600, 3.0)).confused(1).pairs[0]
    assert (equal.low, equal.high) == pytest.approx((plain.low, plain.high))
    uneven = evaluate(truth, predicted, weight=np.where(np.arange(600) % 10, 0.1, 5.0)).confused(1).pairs[0]
    assert uneven.high - uneven.low > 1.5 * (plain.high - plain.low)


def test_fewer_independent_cases_widen_the_interval():
    table = Confusion.of(MATRIX)
    pair, half = (confused(table, 1, independent=share).pairs[0] for share in (1.0, 0.5))
    low, high = proportion_confint(pair.count / 2, pair.total / 2, method="wilson")
    assert (half.low, half.high) == pytest.approx((low, high))
    assert all(math.isnan(one.low) for one in confused(table, independent=0.0).pairs)


def test_without_an_error_there_is_no_pair():
    found = evaluate([0, 1], [0, 1]).confused()
    assert found.pairs == ()
    assert "No class" in str(found)


def test_a_class_whose_cases_weigh_nothing_has_no_confused_pair():
    seen = evaluate(["a", "b", "b"], ["b", "b", "a"], weight=[0.0, 1.0, 2.0])
    assert [(pair.truth, pair.predicted) for pair in seen.confused().pairs] == [("b", "a")]
