"""Comparisons of learners reject a true null about as often as they say; the naive t does not.

With 800 data sets the Monte Carlo standard error is .008 at .05, with 3,000 tables .004. The seeds are fixed, so the
outcome is the same every time.
"""

from __future__ import annotations

import numpy as np
import pytest
from tests.promises.learner_worlds import FASTEST, draw_halves

from heldout.comparisons.fold_tests import FoldValues, compare_folds
from heldout.comparisons.ranks import friedman, iman_davenport, nemenyi_difference, tied_ranks
from heldout.comparisons.wilcoxon import sign_test, wilcoxon
from heldout.learners.problem import Problem
from heldout.plans import read_plan
from heldout.plans.plan import Cases
from heldout.resampling.run import run

LABELS = (0, 1)


def fold_values(name: str, plan_text: str, n: int, each: int, apart: float, seed: int) -> FoldValues:
    """The accuracies of the two in every split of one data set: n rows, `each` features for each of the two."""
    halves, truth = draw_halves(n, each, apart, np.random.default_rng(seed))
    splits = read_plan(plan_text).splits(Cases(truth, LABELS), seed)
    accuracies = []
    for half in halves:
        problem = Problem(half, truth, truth, LABELS)
        seen = run(FASTEST[name](), problem, splits, training=False, seed=seed)
        right = (seen.predicted == truth[seen.rows]).astype(np.float64)
        accuracies.append(np.bincount(seen.fold, weights=right) / np.bincount(seen.fold))
    repeats = int(splits.repeat.max()) + 1
    ratio = float(splits.sizes.sum() / splits.train_sizes.sum())
    return FoldValues.of(*accuracies, ratio=ratio, folds=len(splits) // repeats, repeats=repeats)


def fold_rejections(
    name: str, plan: str, methods: tuple[str, ...], replicates: int, *, n: int = 250, each: int = 3, apart: float = 0.4
) -> dict[str, float]:
    """The share of data sets on which each method rejects at 5 %."""
    found = dict.fromkeys(methods, 0)
    for seed in range(replicates):
        values = fold_values(name, plan, n, each, apart, seed)
        for method in methods:
            found[method] += compare_folds(values, method).p <= 0.05
    return {method: times / replicates for method, times in found.items()}


def table_rejections(data_sets: int, learners: int, replicates: int) -> dict[str, float]:
    """The share of tables of equally good learners on which each test over data sets rejects at 5 %.

    Of Nemenyi's test it is the share on which any pair is said to differ.
    """
    rng = np.random.default_rng(data_sets)
    found = {"iman-davenport": 0, "friedman-ties": 0, "nemenyi": 0, "wilcoxon": 0, "sign": 0}
    critical = nemenyi_difference(data_sets, learners)
    for _ in range(replicates):
        # Data sets differ much more in how hard they are than learners do in how good.
        values = rng.normal(size=(data_sets, 1)) + 0.1 * rng.normal(size=(data_sets, learners))
        ranks = np.array([tied_ranks(-row) for row in values])
        found["iman-davenport"] += iman_davenport(ranks).p <= 0.05
        found["friedman-ties"] += friedman(ranks).p <= 0.05
        found["nemenyi"] += bool(np.ptp(ranks.mean(axis=0)) >= critical)
        found["wilcoxon"] += wilcoxon(values[:, 0], values[:, 1]).p <= 0.05
        found["sign"] += sign_test(values[:, 0], values[:, 1]).p <= 0.05
    return {method: times / replicates for method, times in found.items()}


@pytest.mark.parametrize(("n", "each", "apart"), [(200, 3, 0.4), (300, 5, 0.5)])
def test_the_corrected_t_over_random_splits(n, each, apart):
    methods = ("corrected-t", "paired-t")
    found = fold_rejections("naive Bayes", "30 x holdout 2/3", methods, 800, n=n, each=each, apart=apart)
    assert 0.03 <= found["corrected-t"] <= 0.07
    assert found["paired-t"] > 0.4


@pytest.mark.parametrize("plan", ["5x5-fold", "20 x holdout 4/5"])
def test_the_default_over_repeated_splits_keeps_its_level_with_unstable_learners(plan):
    found = fold_rejections("1-NN", plan, ("one-pass-t", "corrected-t"), 400, n=80, each=2, apart=1.5)
    # The Monte Carlo standard error is .011 at .05.
    assert found["one-pass-t"] <= 0.075
    assert found["corrected-t"] > 0.08


def test_tests_over_data_sets():
    found = table_rejections(15, 4, 3000)
    assert 0.03 <= found["iman-davenport"] <= 0.07
    assert 0.03 <= found["friedman-ties"] <= 0.07
    # Of any pair; ranks are discrete and correlated, and the range of normal variables is not quite theirs.
    assert 0.03 <= found["nemenyi"] <= 0.07
    assert 0.03 <= found["wilcoxon"] <= 0.07
