"""Every estimate that is reported without being asked for has an interval, or says in words why it has none."""

from __future__ import annotations

import math

import numpy as np
import pytest

import heldout

# What an interval may be by, as it stands before the first comma of `method`.
METHODS = {
    "bias-corrected", "bias-corrected-shares", "bootstrap", "cluster-bootstrap", "cluster-logit", "corrected-t",
    "delong-logit", "delong-logit over folds", "delong-score", "dirichlet", "hall", "delong-score over folds",
    "influence", "influence-logit", "largest-share", "score", "smooth-inversion", "stratified-wilson", "test-inversion",
    "wald", "wilson", "wilson-spread",
}  # fmt: skip


def cases(n=120, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.beta(1.2, 2, n)
    return p, (rng.random(n) < p).astype(int), rng


def designs():
    p, y, rng = cases()
    group, fold = np.repeat(np.arange(24), 5), np.tile(np.arange(5), 24)
    table = rng.dirichlet([1, 1, 1], 120)
    three = np.array([rng.choice(3, p=row) for row in table])
    yield "scores", {"truth": y, "score": p}
    yield "weights", {"truth": y, "score": p, "weight": rng.uniform(0.5, 2, 120)}
    yield "groups", {"truth": y, "score": p, "group": group}
    yield "folds", {"truth": y, "score": p, "fold": fold}
    yield "folds of groups", {"truth": y, "score": p, "fold": group % 6, "group": group}
    yield "no probabilities", {"truth": y, "score": 10 * p - 3, "threshold": 0.0}
    yield "three classes", {"truth": three, "score": table}
    yield "three classes in groups", {"truth": three, "score": table, "group": group}
    yield "three classes in folds", {"truth": three, "score": table, "fold": fold}
    yield "labels", {"truth": y, "predicted": (p > 0.4).astype(int)}
    yield "one class", {"truth": np.ones(30, dtype=int), "score": p[:30], "labels": [0, 1], "positive": 1}
    yield "separated", {"truth": (p > 0.4).astype(int), "score": p}
    yield "two cases", {"truth": [0, 1], "score": [0.3, 0.6]}
    yield "one group", {"truth": y, "score": p, "group": np.zeros(120, dtype=int)}
    yield "other bins", {"truth": y, "score": p, "calibration_bins": 6, "calibration_strategy": "quantile"}


@pytest.mark.parametrize(("name", "given"), list(designs()), ids=[name for name, _ in designs()])
def test_an_interval_or_a_reason(name, given):
    silent = []
    for estimate in heldout.evaluate(**given).estimates:
        bounded = not (math.isnan(estimate.low) or math.isnan(estimate.high))
        # Any other note, such as what a perfect model would show, is no reason.
        said = bool(estimate.undefined) if math.isnan(estimate.value) else "no interval: " in estimate.note
        if not bounded and not said:
            silent.append((estimate.name, estimate.note))
    assert not silent, name


@pytest.mark.parametrize(("name", "given"), list(designs()), ids=[name for name, _ in designs()])
def test_the_method_is_one_that_is_known_or_none(name, given):
    evaluation = heldout.evaluate(**given)
    methods = {estimate.method for estimate in evaluation.estimates}
    assert {method.partition(",")[0] for method in methods - {"none"}} <= METHODS, name
    assert all(math.isnan(e.low) and math.isnan(e.high) for e in evaluation.estimates if e.method == "none")
    # Trackers are given limits only of what has some.
    assert "maximum_calibration_error_low" not in evaluation.metrics("all")


def test_what_has_no_interval_says_so_where_it_is_printed():
    p, y, rng = cases()
    for given in ({}, {"weight": rng.uniform(0.5, 2, 120)}, {"fold": np.tile(np.arange(5), 24)}):
        assert "(0.95 none, n = 1" in str(heldout.evaluate(y, score=p, **given)["maximum_calibration_error"])


def test_the_parts_of_the_brier_score_have_intervals_that_hold_them():
    p, y, _ = cases()
    seen = heldout.evaluate(y, score=p)
    for part in ("brier_calibration", "brier_refinement", "brier_resolution", "brier_uncertainty"):
        assert seen[part].low <= seen[part].value <= seen[part].high
        assert 0 < seen[part].width < 0.25
    grouped = heldout.evaluate(y, score=p, group=np.repeat(np.arange(24), 5))
    assert not math.isnan(grouped["brier_refinement"].low)
    assert math.isnan(grouped["brier_uncertainty"].low)
    assert "class shares" in grouped["brier_uncertainty"].note
