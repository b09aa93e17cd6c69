"""The unit of the weights does not matter: what is no sum of weights is the same when all weights are multiplied."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import heldout
from heldout.measures.catalogue import CATALOGUE

FACTORS = (1e-4, 1e4)
BESIDE: dict[str, tuple[str, ...]] = {"plain": (), "groups": ("group",), "folds": ("fold",), "both": ("group", "fold")}
COSTS = {("yes", "no"): 10, ("no", "yes"): 1}


def make_cases(n: int = 240) -> dict[str, Any]:
    """Cases of two classes with scores, weights, groups and folds."""
    rng = np.random.default_rng(7)
    truth = np.where(rng.random(n) < 0.4, "yes", "no")
    score = 1 / (1 + np.exp(-np.where(truth == "yes", 1.0, -1.0) - rng.normal(0, 1.2, n)))
    return {
        "truth": truth, "predicted": np.where(score > 0.5, "yes", "no"), "score": score,
        "weight": rng.choice([0.5, 1.0, 2.0], n), "group": np.arange(n) // 8, "fold": np.arange(n) % 5,
    }  # fmt: skip


def evaluate(beside: str, factor: float, **more: Any) -> heldout.Evaluation:
    """An evaluation with weights in another unit."""
    cases = make_cases()
    columns = {name: cases[name] for name in BESIDE[beside]}
    return heldout.evaluate(
        cases["truth"], cases["predicted"], score=cases["score"], positive="yes", weight=factor * cases["weight"],
        **columns, **more,
    )  # fmt: skip


def is_total(name: str) -> bool:
    """Whether a measure is itself in the unit of the weights."""
    return name in CATALOGUE and bool(CATALOGUE[name].total)


def assert_same(first: Any, second: Any) -> None:
    """All values and limits are the same but for rounding; the number of cases and what is said, to the letter."""
    assert len(first) == len(second) > 0
    for one, other in zip(first, second, strict=True):
        if is_total(one.get("measure", "")):
            continue
        for name in set(one) & {"measure", "class", "average", "method", "n", "outcome", "cases", "threshold"}:
            assert one[name] == other[name] or one[name] != one[name], (name, one, other)
        for name in set(one) & {"value", "low", "high", "limit", "difference", "p"}:
            pair = one[name], other[name]
            assert (pair[0] is None) == (pair[1] is None), (name, one, other)
            if pair[0] is not None:
                assert pair[0] == pytest.approx(pair[1], rel=1e-6, abs=1e-9, nan_ok=True), (name, one, other)


@pytest.mark.parametrize("factor", FACTORS)
@pytest.mark.parametrize("beside", BESIDE)
def test_every_estimate_and_finding_is_the_same(beside, factor):
    plain, scaled = evaluate(beside, 1.0, costs=COSTS), evaluate(beside, factor, costs=COSTS)
    assert_same(plain.rows(), scaled.rows())
    assert [one.code for one in plain.findings] == [one.code for one in scaled.findings]
    assert_same(plain.confused().rows(), scaled.confused().rows())


@pytest.mark.parametrize("factor", FACTORS)
@pytest.mark.parametrize("beside", ["plain", "groups"])
def test_bands_and_drawn_limits_are_the_same(beside, factor):
    plain, scaled = evaluate(beside, 1.0), evaluate(beside, factor)
    for name in ("roc", "det"):
        assert_same(*(one.curve(name, bands="pointwise").rows() for one in (plain, scaled)))
    for method in ("bca", "bootstrap") if beside == "plain" else ("cluster-bootstrap",):
        asked = {"method": method, "replicates": 200, "measures": ["roc_auc", "average_precision"]}
        assert_same(*(evaluate(beside, unit, **asked).rows() for unit in (1.0, factor)))


@pytest.mark.parametrize("factor", FACTORS)
@pytest.mark.parametrize("beside", ["plain", "groups"])
def test_thresholds_gates_and_slices_are_the_same(beside, factor):
    cases = make_cases()
    columns = {name: cases[name] for name in BESIDE[beside]}
    units = (1.0, factor)

    def choose(unit: float) -> heldout.Decision:
        return heldout.choose_threshold(
            cases["truth"], cases["score"], positive="yes", costs=COSTS, weight=unit * cases["weight"], **columns
        )

    assert_same(*(choose(unit).rows() for unit in units))
    required = ["recall >= 0.6", "roc_auc >= 0.8", "average_precision >= 0.6", "f1 >= 0.6", "brier <= 0.3"]
    gates = [heldout.check(evaluate(beside, unit), require=required, forbid="H067") for unit in units]
    assert_same(*(gate.rows() for gate in gates))
    assert str(gates[0]).splitlines()[0].startswith("240 cases · weight ")
    for measure in ("accuracy", "macro f1", "recall"):
        slices = [
            evaluate(beside, unit, slices={"part": np.arange(240) % 3}).worst_slices(measure=measure).rows()
            for unit in units
        ]
        assert_same(*slices)


@pytest.mark.parametrize("factor", FACTORS)
@pytest.mark.parametrize("beside", BESIDE)
def test_several_classes_are_the_same(beside, factor):
    rng = np.random.default_rng(11)
    truth = rng.choice(["a", "b", "c"], 240, p=[0.5, 0.3, 0.2])
    scores = np.exp(rng.normal(0, 1, (240, 3)) + 1.5 * (truth[:, None] == np.array(["a", "b", "c"])))
    scores /= scores.sum(axis=1, keepdims=True)
    columns = {name: make_cases()[name] for name in BESIDE[beside]}

    def judge(unit: float) -> heldout.Evaluation:
        weight = unit * make_cases()["weight"]
        return heldout.evaluate(truth, score=scores, labels=["a", "b", "c"], weight=weight, **columns)

    assert_same(judge(1.0).rows(), judge(factor).rows())
    assert [one.code for one in judge(1.0).findings] == [one.code for one in judge(factor).findings]


@pytest.mark.parametrize("factor", FACTORS)
@pytest.mark.parametrize("beside", ["plain", "groups"])
def test_comparisons_are_the_same(beside, factor):
    cases = make_cases()
    columns = {name: cases[name] for name in BESIDE[beside]}
    other = 1 / (
        1 + np.exp(-np.log(cases["score"] / (1 - cases["score"])) - np.random.default_rng(5).normal(0, 1, 240))
    )

    def compare(unit: float, **rivals: Any) -> heldout.Comparison:
        return heldout.compare(rivals, truth=cases["truth"], weight=unit * cases["weight"], positive="yes", **columns)

    for rivals in (
        {"a": cases["predicted"], "b": np.where(other > 0.5, "yes", "no")},
        {"a": cases["score"], "b": other},
    ):
        assert_same(*(compare(unit, **rivals).rows() for unit in (1.0, factor)))


def test_the_law_looks_at_numbers():
    values: list[Any] = [row["low"] for row in evaluate("both", 1.0).rows()]
    assert sum(value is not None and not math.isnan(value) for value in values) > 20
