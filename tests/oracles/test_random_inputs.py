"""A few hundred of the inputs that `python -m tests.oracles.random_inputs` makes, and weights that once went wrong."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from tests.oracles.exact_fractions import CLASS_FORMULAS, Corners
from tests.oracles.random_inputs import Outcome, put_to_test

import heldout


@pytest.mark.parametrize("first", range(0, 400, 50))
def test_values_agree_with_scikit_learn_or_exact_fractions_and_intervals_keep_their_laws(first: int) -> None:
    outcome = Outcome()
    for seed in range(first, first + 50):
        put_to_test(seed, outcome)
    assert outcome.faults == []
    assert outcome.compared.total() > 50
    assert outcome.intervals.total() > 5


def rates(truth: list[int], predicted: list[int], weight: np.ndarray, label: int) -> dict[str, Fraction | None]:
    """The measures of one class in fractions."""
    corners = [Fraction(0)] * 4
    for t, p, w in zip(truth, predicted, weight.tolist(), strict=True):
        corners[(p != label) if t == label else 2 + (p != label)] += Fraction(w)
    pairs = {name: formula(Corners(*corners)) for name, formula in CLASS_FORMULAS.items()}
    return {name: Fraction(top) / bottom if bottom else None for name, (top, bottom) in pairs.items()}


WEIGHTS = {
    "two heavy cases": ([0, 0, 1, 1], [0, 0, 0, 1], np.array([1e6, 1e6, 1e-6, 1e-6])),
    "a case of weight 0": ([0, 0, 0, 1], [0, 1, 0, 1], np.array([0.1, 0.2, 0.3, 0.0])),
    "twelve orders of magnitude": (
        [*np.random.default_rng(0).integers(0, 3, 1000).tolist()],
        [*np.random.default_rng(1).integers(0, 3, 1000).tolist()],
        10 ** np.random.default_rng(2).uniform(-3, 9, 1000),
    ),
    "one heavy class": (
        [0] * 500 + [1, 1, 2, 2],
        [0] * 500 + [1, 2, 2, 1],
        np.r_[np.full(500, 1e7 / 3), np.full(4, 1e-5 / 7)],
    ),
    "all weights tiny": ([0, 1, 0, 1, 1], [0, 1, 1, 1, 0], np.array([1e-11, 2e-11, 3e-12, 1e-12, 7e-11])),
}


@pytest.mark.parametrize("name", WEIGHTS)
def test_weights_leave_no_crumbs(name: str) -> None:
    truth, predicted, weight = WEIGHTS[name]
    seen = heldout.evaluate(truth, predicted, weight=weight, measures=["accuracy"])
    for label in sorted(set(truth)):
        for measure, wanted in rates(truth, predicted, weight, label).items():
            found = seen.get(measure, class_=label)
            where = f"{measure}[{label}]"
            if wanted is None:
                assert math.isnan(found.value), where
                assert found.undefined, where
            else:
                assert found.value == pytest.approx(float(wanted), rel=1e-12, abs=0), where
                assert found.low <= found.value <= found.high, where


def test_the_rates_at_thresholds_leave_no_crumbs() -> None:
    score = np.array([0.9, 0.8, 0.3, 0.2, 0.1])
    weight = np.array([1e9, 1e9 / 3, 1e9 / 7, 1e-4, 1e-5])
    seen = heldout.evaluate([1, 0, 1, 1, 0], score=score, weight=weight, positive=1, measures=["accuracy"])
    table = seen.threshold_table([0.25, 0.15, 0.05], ["negative_predictive_value"])
    assert table.fn.tolist() == [1e-4, 0.0, 0.0]
    assert table.tn.tolist() == [1e-5, 1e-5, 0.0]
    found = table["negative_predictive_value"]
    assert found[:2] == pytest.approx([1 / 11, 1.0], rel=1e-12)
    assert math.isnan(found[2])


def test_no_average_is_above_one() -> None:
    rng = np.random.default_rng(3)
    for _ in range(50):
        truth, weight = rng.integers(0, 5, 40), rng.uniform(0.01, 1, 40)
        seen = heldout.evaluate(truth, truth, weight=weight, measures=["accuracy"])
        for name in ("weighted recall", "weighted precision", "weighted f1", "macro f1", "micro f1", "accuracy"):
            assert seen[name].value == 1.0, name
            assert seen[name].high == 1.0, name


@pytest.mark.parametrize("truth", [[0] * 8, [1] * 8])
def test_a_lift_with_one_class_has_an_interval_or_a_reason(truth: list[int]) -> None:
    seen = heldout.evaluate(truth, score=np.linspace(0.1, 0.9, 8), labels=[0, 1], positive=1, measures=["accuracy"])
    for name in ("lift_at", "gain_at", "precision_at(k=3)", "roc_auc", "gini", "kolmogorov_smirnov", "pr_area"):
        found = seen[name]
        if math.isnan(found.value):
            assert found.undefined, name
        elif math.isnan(found.low):
            assert found.note, name
        else:
            assert found.low <= found.value <= found.high, name


def test_the_top_of_a_heavy_tie_leaves_no_crumbs() -> None:
    weight = np.array([857142857.6, 3.83e04, 0.119, 2.37e05])
    seen = heldout.evaluate([1, 1, 0, 0], score=[0.9, 0.8, 0.7, 0.6], weight=weight, positive=1, measures=["accuracy"])
    assert seen["precision_at(k=10)"].value == 1.0
    assert seen["gain_at(share=0.5)"].value == pytest.approx(weight.sum() / 2 / weight[:2].sum(), rel=1e-15)
