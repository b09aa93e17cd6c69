"""The limits of a difference stay where a difference can be, however few folds, cases or groups there are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import heldout
from heldout.comparisons.pair_test import find_reach
from heldout.errors import ValuesError
from heldout.measures.catalogue import read_quantity

compare: Any = heldout.compare
RNG = np.random.default_rng(11)
N = 12
TRUTH = np.array([0, 1] * (N // 2))
FOLDS = np.arange(N) // 4
GOOD = np.where(FOLDS == 0, TRUTH, 1 - TRUTH)
POOR = np.where(FOLDS == 0, 1 - TRUTH, TRUTH)
SCORES = [np.where(FOLDS == 0, TRUTH * 0.9 + 0.05, 0.95 - TRUTH * 0.9), RNG.random(N), RNG.random(N)]


def evaluated(number=2, **columns):
    answers = [GOOD, POOR, TRUTH][:number]
    return [
        heldout.evaluate(TRUTH, answer, score=score, positive=1, **columns)
        for answer, score in zip(answers, SCORES, strict=False)
    ]


def check_limits(found):
    for pair in found:
        reach = find_reach(read_quantity(pair.measure).bound.measure)
        ends = [pair.tested.low, pair.tested.high, *(pair.together or ())]
        ends += [pair.margin.low, pair.margin.high] if pair.margin else []
        assert all(not abs(end) > reach for end in ends), (pair.name, ends)


@pytest.mark.parametrize("method", ["corrected-t", "paired-t", "corrected-repeated-t", "bayes-correlated-t"])
@pytest.mark.parametrize("measure", ["accuracy", "roc_auc", "brier", "macro f1", "kappa"])
def test_limits_over_three_folds_are_possible(method, measure):
    check_limits(compare(*evaluated(fold=FOLDS), measures=measure, method=method))


def test_three_folds_would_reach_beyond_without_a_cut():
    found = compare(*evaluated(fold=FOLDS), measures="accuracy")
    assert (found.pairs[0].tested.low, found.pairs[0].tested.high) == (-1.0, 1.0)
    assert 0 < found.p < 1
    assert "1.0" not in found.verdict.replace("1.000", "")


def test_margins_and_the_best_of_three_keep_the_range_too():
    check_limits(compare(*evaluated(fold=FOLDS), measures="accuracy", margin=0.1))
    check_limits(compare(*evaluated(3, fold=FOLDS), measures="accuracy"))
    three = compare(*evaluated(3, fold=FOLDS), measures="accuracy")
    if three.best is not None:
        assert all(abs(end) <= 1 for one in three.best["accuracy"].contenders for end in (one.low, one.high))


@pytest.mark.parametrize("columns", [{"group": FOLDS}, {"weight": [1.0, 40.0] * (N // 2)}, {}])
def test_limits_of_few_cases_and_groups_are_possible(columns):
    check_limits(compare(*evaluated(**columns)))
    check_limits(compare(*evaluated(), paired=False))


def test_limits_over_data_sets_and_splits_are_possible():
    table = {"a": [0.99, 0.01], "b": [0.01, 0.98]}
    check_limits(compare(table, measures="accuracy", splits=False))
    check_limits(compare(table, measures="accuracy", splits=True, test_share=0.5))
    assert compare(table, splits=True, test_share=0.5).pairs[0].tested.high > 1, "of no measure no range is known"


def test_a_repetition_is_no_fold():
    case, epoch = np.tile(np.arange(N), 2), np.repeat([1, 2], N)
    columns = {"truth": np.tile(TRUTH, 2), "id": case}
    sides = [
        heldout.evaluate(columns["truth"], np.concatenate([answer, TRUTH]), id=case, fold=epoch)
        for answer in (GOOD, POOR)
    ]
    with pytest.raises(ValuesError, match="no folds") as refused:
        compare(*sides)
    assert "leave out fold" in str(refused.value)
    with pytest.raises(ValuesError, match="more than one") as copied:
        heldout.evaluate(columns["truth"], np.tile(GOOD, 2), id=case)
    assert "repeated cross-validation" in str(copied.value)


@pytest.mark.parametrize("replicates", [999, 1999, 2000, 2001])
@pytest.mark.parametrize("measure", ["roc_auc", "macro f1"])
def test_as_many_draws_as_were_asked_for(replicates, measure):
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 200)
    sides = [heldout.evaluate(truth, score=truth * 0.2 + 0.8 * rng.random(200), threshold=0.5) for _ in range(2)]
    p = compare(*sides, measures=measure, method="permutation", replicates=replicates).pairs[0].tested.p
    # A share of the draws, of which what was seen counts as one.
    assert p * (replicates + 1) == pytest.approx(round(p * (replicates + 1)), abs=1e-9)
