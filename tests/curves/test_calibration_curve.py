"""The smooth calibration curve: where it runs, what its band holds, its options, and the index made of it."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.special import expit, logit

import heldout
from heldout.curves import calibration
from heldout.engines.probability_sums import tally
from heldout.engines.score_sort import rank
from heldout.errors import OptionError, ValuesError
from heldout.evidence.probability_bins import BinChoice, bin_ranking, with_bins
from heldout.intervals.calibration import smooth_limits
from heldout.measures.catalogue import find


def drawn(n, intercept=0.0, slope=1.0, seed=0, bend=0.0):
    rng = np.random.default_rng(seed)
    x = rng.normal(-0.8, 1.5, n)
    return expit(x), rng.random(n) < expit(intercept + slope * x + bend * (x + 0.8) ** 2)


@pytest.mark.parametrize(("intercept", "slope", "bend"), [(0.0, 1.0, 0.0), (0.4, 0.6, 0.0), (0.0, 1.0, 0.15)])
def test_with_many_cases_the_curve_is_the_true_one(intercept, slope, bend):
    p, truth = drawn(200_000, intercept, slope, bend=bend)
    curve = calibration(rank(p, truth))
    x = logit(curve.x)
    true = expit(intercept + slope * x + bend * (x + 0.8) ** 2)
    # The ends, where a steep curve is smoothed from one side, have few cases.
    inside = (curve.x > np.quantile(p, 0.05)) & (curve.x < np.quantile(p, 0.95))
    assert np.abs(curve.y - true)[inside].max() < 0.015
    distance = np.abs(expit(intercept + slope * logit(p) + bend * (logit(p) + 0.8) ** 2) - p)
    index, error = find("ici"), find("e90")
    ranking = rank(p, truth)
    assert index.value({"ranking": ranking}) == pytest.approx(distance.mean(), abs=0.003)
    assert error.value({"ranking": ranking}) == pytest.approx(np.quantile(distance, 0.9), abs=0.012)


def test_the_band_holds_the_true_curve_as_often_as_it_says():
    # Standard errors of the shares below are .011 each; all five places together.
    places, held = expit(-0.8 + 1.5 * np.array([-1.5, -0.5, 0.0, 0.5, 1.5])), []
    for seed in range(400):
        p, truth = drawn(250, -0.3, 1.4, seed=seed)
        curve = calibration(rank(p, truth))
        low, high = (np.interp(places, curve.x, side) for side in (curve.low, curve.high))
        true = expit(-0.3 + 1.4 * logit(places))
        held.append((low <= true) & (true <= high))
    assert np.mean(held, axis=0).min() > 0.92
    assert np.mean(held) < 0.995


@pytest.mark.parametrize(("intercept", "slope"), [(0.0, 1.0), (-0.5, 0.7)])
def test_the_interval_of_the_index_holds_it(intercept, slope):
    x = np.random.default_rng(1).normal(-0.8, 1.5, 200_000)
    true = float(np.abs(expit(intercept + slope * x) - expit(x)).mean())
    held = 0
    for seed in range(40):
        low, high = smooth_limits(rank(*drawn(150, intercept, slope, seed=1000 + seed)))
        held += low <= true <= high
    # 95 % of 40 are 38; fewer than 34 would be met less than once in 100 times.
    assert held >= 34


def test_weights_are_repetition_and_groups_widen():
    p, truth = drawn(120, 0.4, 0.7, seed=3)
    times = np.random.default_rng(3).integers(1, 4, 120)
    weighted = calibration(rank(p, truth, weight=times.astype(float)))
    repeated = calibration(rank(np.repeat(p, times), np.repeat(truth, times)))
    both = heldout.evaluate(truth.astype(int), score=p, weight=times, measures=["ici"])["ici"]
    assert both.value == pytest.approx(
        heldout.evaluate(np.repeat(truth, times).astype(int), score=np.repeat(p, times), measures=["ici"])["ici"].value,
        abs=0.02,
    )
    assert np.interp([0.2, 0.5], weighted.x, weighted.y) == pytest.approx(
        np.interp([0.2, 0.5], repeated.x, repeated.y), abs=0.03
    )
    # Every case four times, as a group, is no more evidence than once.
    four, group = (np.repeat(column, 4) for column in (p, np.arange(120)))
    grouped = calibration(rank(four, np.repeat(truth, 4), group=(group, np.arange(120))))
    alone = calibration(rank(four, np.repeat(truth, 4)))
    assert 1.6 < np.median((grouped.high - grouped.low) / (alone.high - alone.low)) < 2.4


def test_certain_forecasts_one_class_and_no_probabilities():
    sure = calibration(rank(np.array([0.0, 0.0, 1.0, 1.0]), np.array([False, False, True, True])))
    assert sure.y.tolist() == [0.0, 1.0]
    assert (sure.high - sure.low).min() > 0
    alone = calibration(rank(np.linspace(0.1, 0.9, 50), np.zeros(50, dtype=bool)))
    assert np.isfinite(alone.low).all()
    with pytest.raises(ValuesError, match="needs probabilities"):
        calibration(rank(np.array([0.2, 3.0]), np.array([False, True])))


def test_bins_of_equal_mass_from_python_and_the_sums_of_even_ones():
    p, truth = drawn(1000, seed=5)
    again = with_bins(tally(p, truth), rank(p, truth), BinChoice(10, "uniform")).reliability
    first = tally(p, truth).reliability
    for name in ("cases", "weight", "observed", "gap", "squares", "spread", "noise", "expected_noise"):
        assert getattr(again, name) == pytest.approx(getattr(first, name)), name
    chosen = heldout.evaluate(truth.astype(int), score=p, calibration_bins=5, calibration_strategy="quantile")
    diagram = chosen.curve("reliability")
    assert diagram.extra["n"].tolist() == [200] * 5
    order = np.argsort(p)
    gaps = [abs(truth[part].mean() - p[part].mean()) for part in np.array_split(order, 5)]
    assert chosen["ece"].value == pytest.approx(np.mean(gaps))
    assert chosen["mce"].value == pytest.approx(max(gaps))
    assert any("5 quantile bins" in note for note in chosen.notes)
    for bad in ({"calibration_bins": 0}, {"calibration_strategy": "kmeans"}):
        with pytest.raises(OptionError):
            heldout.evaluate(truth.astype(int), score=p, **bad)


def test_counted_evidence_has_the_curve_and_the_bins(tmp_path):
    p, truth = drawn(400, 0.3, 0.8, seed=6)
    table = tmp_path / "predictions.csv"
    np.savetxt(table, np.column_stack([truth, p]), delimiter=",", header="truth,score", comments="", fmt=["%d", "%.6f"])
    rows, counted = (
        heldout.evaluate(str(table), engine=engine, calibration_bins=4, calibration_strategy="quantile")
        for engine in ("memory", "stream")
    )
    for name in ("ece", "ici", "e90", "brier_calibration"):
        assert counted[name].value == pytest.approx(rows[name].value, abs=1e-9), name
        assert counted[name].high == pytest.approx(rows[name].high, abs=1e-9), name
    document = json.loads(counted.curve("calibration").to_json())
    assert document["kind"] == "calibration"
    assert counted.curve("calibration").y == pytest.approx(rows.curve("calibration").y)


@pytest.mark.parametrize("weighted", [False, True])
def test_bins_of_a_ranking_hold_what_a_count_of_rows_gives(weighted):
    rng = np.random.default_rng(4)
    for _ in range(100):
        n = int(rng.integers(1, 60))
        p = rng.random(n).round(int(rng.integers(1, 4)))
        truth, weight = rng.random(n) < p, rng.random(n) + 0.1 if weighted else np.ones(n)
        # Bins without cases, also at the ends, and probabilities on edges.
        edges = np.unique([0.0, 1.0, *rng.random(int(rng.integers(0, 6))).round(2)])
        seen = bin_ranking(rank(p, truth, weight=weight if weighted else None), edges).reliability
        where = np.searchsorted(edges[1:-1], p)
        for name, values in {
            "weight": weight,
            "observed": weight * truth,
            "gap": weight * (truth - p),
            "squares": weight * (truth - p) ** 2,
            "noise": weight**2 * (truth - p) ** 2,
            "expected_noise": weight**2 * p * (1 - p),
        }.items():
            expected = np.bincount(where, values, minlength=len(edges) - 1)
            assert getattr(seen, name) == pytest.approx(expected, abs=1e-12), name
