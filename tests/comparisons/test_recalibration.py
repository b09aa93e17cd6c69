"""Recalibration before and after: calibrators against other libraries, cross-fitting, and what is recommended."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from typer.testing import CliRunner

import heldout
from heldout.cli.app import app
from heldout.comparisons.recalibration import (
    compare_calibrators,
    difference_limits,
    draw_folds,
    fit_isotonic,
    fit_logistic,
    fit_temperature,
)
from heldout.errors import OptionError, ValuesError


def drawn(n, slope=1.0, intercept=0.0, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(-0.5, 1.3, n)
    return expit(x), rng.random(n) < expit(intercept + slope * x)


def fitted_to(fit, p, truth):
    calibrator = fit(p, truth, None)
    assert calibrator is not None
    return calibrator


def test_calibrators_are_those_of_scikit_learn():
    p, truth = drawn(400, 0.6, 0.4)
    new = np.linspace(0.02, 0.98, 30)
    fitted = LogisticRegression(C=np.inf, tol=1e-10).fit(logit(p)[:, None], truth)
    assert fitted_to(fit_logistic, p, truth)(new) == pytest.approx(
        fitted.predict_proba(logit(new)[:, None])[:, 1], abs=1e-5
    )
    through = LogisticRegression(C=np.inf, tol=1e-10, fit_intercept=False).fit(logit(p)[:, None], truth)
    assert fitted_to(fit_temperature, p, truth)(new) == pytest.approx(
        through.predict_proba(logit(new)[:, None])[:, 1], abs=1e-5
    )
    rising = IsotonicRegression(y_min=1 / 402, y_max=401 / 402, out_of_bounds="clip").fit(p, truth)
    assert fitted_to(fit_isotonic, p, truth)(new) == pytest.approx(rising.predict(new), abs=1e-9)


def test_overconfident_probabilities_are_to_be_recalibrated_and_calibrated_ones_not():
    p, truth = drawn(1500, 0.5, 0.3, seed=1)
    seen = compare_calibrators(p, truth)
    assert seen.recommended in ("logistic", "isotonic")
    change = seen.change("logistic", "brier")
    best = expit(0.3 + 0.5 * logit(p))
    assert change.after == pytest.approx(np.mean((truth - best) ** 2), abs=0.002)
    assert change.low < change.difference < change.high < 0
    assert seen.change("logistic", "ece").after < seen.change("logistic", "ece").before
    recommended = [compare_calibrators(*drawn(300, seed=seed)).recommended for seed in range(40)]
    # In all of them together at most 2.5 % by chance.
    assert sum(name is not None for name in recommended) <= 4


def test_no_case_has_a_part_in_its_own_calibrator():
    # Labels that have nothing to do with the probabilities: fitted to the same cases, steps would lower the loss.
    rng = np.random.default_rng(3)
    p, truth = rng.random(300), rng.random(300) < 0.5
    steps = fitted_to(fit_isotonic, p, truth)(p)
    after = compare_calibrators(p, truth, calibrators=["isotonic"]).change("isotonic", "brier").after
    assert np.mean((steps - truth) ** 2) < 0.25 < after


def test_groups_stay_together_and_are_the_cases():
    _, truth = drawn(200, 0.5, seed=4)
    group = np.repeat(np.arange(200), 4)
    fold = draw_folds(np.repeat(truth, 4), group, 7, 0)
    assert all(len(set(fold[group == key])) == 1 for key in range(200))
    assert set(fold.tolist()) == set(range(7))
    difference = np.random.default_rng(5).normal(-0.01, 0.1, 200)
    once = difference_limits(difference, None, None, 0.95)
    four = difference_limits(np.repeat(difference, 4), None, group, 0.95)
    assert four[1] - four[0] == pytest.approx(once[1] - once[0], rel=0.05)


def test_the_interval_of_the_difference_holds_what_it_would_be_on_other_cases():
    # What logistic recalibration fitted to about as many cases would change, on 200,000 other ones.
    x = np.random.default_rng(9).normal(-0.5, 1.3, 200_000)
    true, held = expit(0.3 + 0.6 * x), 0
    for seed in range(60):
        p, truth = drawn(200, 0.6, 0.3, seed=100 + seed)
        calibrator = fitted_to(fit_logistic, p, truth)
        new = calibrator(expit(x))
        loss = np.mean(true * (1 - new) ** 2 + (1 - true) * new**2)
        before = np.mean(true * (1 - expit(x)) ** 2 + (1 - true) * expit(x) ** 2)
        change = compare_calibrators(p, truth, calibrators=["logistic"]).change("logistic", "brier")
        held += change.low <= loss - before <= change.high
    # 95 % of 60 are 57; fewer than 52 would be met about once in 100 times.
    assert held >= 52


def test_the_front_door_and_the_command(tmp_path):
    p, truth = drawn(200, 0.5, seed=6)
    evaluation = heldout.evaluate(truth.astype(int), score=p)
    before = evaluation["brier"].value
    seen = heldout.recalibrate(evaluation, folds=5)
    assert seen.change("isotonic", "brier").before == pytest.approx(before)
    assert evaluation["brier"].value == before
    table = tmp_path / "rows.csv"
    np.savetxt(table, np.column_stack([truth, p]), delimiter=",", header="truth,p", comments="", fmt=["%d", "%.17g"])
    answer = CliRunner().invoke(app, ["recalibrate", str(table), "--score", "p", "--folds", "5"])
    assert answer.exit_code == 0, answer.output
    assert "as they are" in answer.output
    assert "isotonic" in answer.output
    refused: list[dict[str, Any]] = [{"calibrators": "spline"}, {"folds": 1}, {"calibrators": []}]
    for bad in refused:
        with pytest.raises(OptionError):
            heldout.recalibrate(evaluation, **bad)
    with pytest.raises(OptionError, match="no"):
        heldout.recalibrate(heldout.evaluate([0, 1, 1], [0, 1, 0]))


def test_a_calibrator_that_was_not_tried_is_named():
    p, truth = np.linspace(0.05, 0.95, 60), np.arange(60) % 2 == 0
    seen = compare_calibrators(p, truth, calibrators=["logistic"])
    with pytest.raises(OptionError, match=r"'isotonic' by brier was not tried\. There are: logistic by brier"):
        seen.change("isotonic", "brier")


def test_what_cannot_be_fitted_is_refused_or_has_no_value():
    p = np.linspace(0.1, 0.9, 30)
    with pytest.raises(ValuesError, match="of one class"):
        compare_calibrators(p, np.ones(30, dtype=bool))
    with pytest.raises(ValuesError, match="of one group"):
        compare_calibrators(p, p > 0.5, group=np.zeros(30, dtype=np.int64))
    alike = compare_calibrators(np.full(30, 0.5), np.arange(30) % 2 == 0)
    assert math.isnan(alike.change("logistic", "brier").after)
    assert any("logistic could not be fitted in any fold" in note for note in alike.notes)


def test_one_case_with_nearly_all_the_weight_shows_nothing():
    rng = np.random.default_rng(1)
    p = rng.random(60)
    weight = np.ones(60)
    weight[3] = 1e12
    heavy = compare_calibrators(p**3, rng.random(60) < p, weight=weight)
    assert heavy.recommended is None
    assert heavy.change("isotonic", "brier").low <= -1
