"""How often comparisons of learners reject where there is no difference, over splits of one data set or over many.

The two learners are one and the same, trained on two halves of the features, which tell equally much by construction;
so their expected errors are equal, and a test at 5 % should reject 5 % of the time.
`python tests/promises/comparison_folds.py` prints the whole table in some minutes; `test_comparison_folds.py` runs a
part of it.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from heldout.comparisons.fold_tests import FoldValues, compare_folds
from heldout.comparisons.ranks import friedman, iman_davenport, nemenyi_difference, tied_ranks
from heldout.comparisons.wilcoxon import sign_test, wilcoxon
from heldout.learners.problem import Problem
from heldout.plans import read_plan
from heldout.plans.plan import Cases
from heldout.resampling.run import run

Floats = NDArray[np.float64]
LABELS = (0, 1)


class NormalBayes(ClassifierMixin, BaseEstimator):  # type: ignore[misc, unused-ignore]
    """Naive Bayes with normal features, for two equally common classes: so little that thousands fit in a second."""

    def fit(self, X: Floats, y: NDArray[Any]) -> NormalBayes:
        self.classes_ = np.array(LABELS)
        parts = [X[y == label] for label in LABELS]
        self.means_ = np.array([part.mean(axis=0) for part in parts])
        self.variances_ = np.array([part.var(axis=0) for part in parts]) + 1e-9
        return self

    def predict(self, X: Floats) -> NDArray[Any]:
        away = [
            ((X - mean) ** 2 / variance).sum(axis=1) + np.log(variance).sum()
            for mean, variance in zip(self.means_, self.variances_, strict=True)
        ]
        return (away[1] < away[0]).astype(np.int64)


class OneNeighbour(ClassifierMixin, BaseEstimator):  # type: ignore[misc, unused-ignore]
    """The class of the nearest training row."""

    def fit(self, X: Floats, y: NDArray[Any]) -> OneNeighbour:
        self.classes_ = np.array(LABELS)
        self.rows_, self.labels_ = X, y
        return self

    def predict(self, X: Floats) -> NDArray[Any]:
        # The squared distances, less what is the same for all training rows.
        away = (self.rows_**2).sum(axis=1) - 2 * X @ self.rows_.T
        return np.asarray(self.labels_[away.argmin(axis=1)])


LEARNERS = {"naive Bayes": NormalBayes, "1-NN": OneNeighbour}


def fold_values(name: str, plan_text: str, n: int, each: int, apart: float, seed: int) -> FoldValues:
    """The accuracies of the two in every split of one data set: n rows, `each` features for each of the two."""
    rng = np.random.default_rng(seed)
    truth = (np.arange(n) % 2).astype(np.int64)
    X = rng.normal(size=(n, 2 * each)) + apart * truth[:, None]
    splits = read_plan(plan_text).splits(Cases(truth, LABELS), seed)
    accuracies = []
    for half in (X[:, :each], X[:, each:]):
        problem = Problem(np.ascontiguousarray(half), truth, truth, LABELS)
        seen = run(LEARNERS[name](), problem, splits, training=False, seed=seed)
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


TESTS = {
    "30 x holdout 2/3": ("corrected-t", "paired-t"),
    "10-fold": ("corrected-t", "paired-t"),
    "10x10-fold": ("corrected-repeated-t", "paired-t"),
    "5x2-fold": ("5x2cv-t", "5x2cv-f", "corrected-t"),
}


def main() -> None:
    replicates = 1000
    began = time.perf_counter()
    print(f"Rejections at 5 % of a true null, {replicates} data sets each (standard error .007 at .05)")
    for name in LEARNERS:
        for n, each, apart in ((100, 3, 0.4), (250, 3, 0.4), (250, 3, 1.0), (250, 10, 0.3)):
            for plan, methods in TESTS.items():
                found = fold_rejections(name, plan, methods, replicates, n=n, each=each, apart=apart)
                said = "  ".join(f"{method} {share:.3f}" for method, share in found.items())
                print(f"{name:12} n {n:4} features {each:2} apart {apart:.1f}  {plan:17} {said}", flush=True)
    print("Rejections at 5 % of a true null over data sets, 5,000 tables each (standard error .003)")
    for data_sets, learners in ((6, 3), (10, 4), (20, 5), (50, 10)):
        found = table_rejections(data_sets, learners, 5000)
        said = "  ".join(f"{method} {share:.3f}" for method, share in found.items())
        print(f"{data_sets:3} data sets, {learners:2} learners  {said}", flush=True)
    print(f"{time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
