"""Tests of two models' scores reject a true null about as often as they say, on a few settings.

The Monte Carlo standard error is .007 with 1,000 test sets and .009 with 600; the seed is fixed, so the outcome is the
same every time.
"""

from __future__ import annotations

import pytest
from tests.promises.comparison_scores import (
    DIFFERENT,
    NULLS,
    area_coverage,
    loss_coverage,
    rejections,
    unpaired_rejections,
)

SMALL, EVEN, RARE, ALIKE, NEAR_ONE = NULLS
MIDDLING, UNCOMMON, SHARP, NEAR_PERFECT, FEW, _ = DIFFERENT


@pytest.mark.parametrize("setting", [SMALL, EVEN, RARE, ALIKE], ids=str)
def test_delong(setting):
    assert 0.03 <= rejections(setting, "roc_auc", "delong", 1000) <= 0.07
    assert 0.03 <= unpaired_rejections(setting, "roc_auc", 1000) <= 0.07


def test_delong_is_cautious_near_one():
    # Both areas are .98 on 100 cases: .009 of 2,000 test sets for either, because the variance is large where the
    # difference is.
    assert rejections(NEAR_ONE, "roc_auc", "delong", 600) <= 0.07
    assert unpaired_rejections(NEAR_ONE, "roc_auc", 600) <= 0.07


@pytest.mark.parametrize("name", ["roc_auc", "average_precision"])
@pytest.mark.parametrize("setting", [SMALL, EVEN], ids=str)
def test_paired_bootstrap(setting, name):
    assert 0.03 <= rejections(setting, name, "paired-bootstrap", 600) <= 0.07


@pytest.mark.parametrize("name", ["brier", "log_loss"])
@pytest.mark.parametrize("setting", [SMALL, EVEN, RARE], ids=str)
def test_mean_losses(setting, name):
    assert 0.03 <= rejections(setting, name, "paired-loss-t", 1000) <= 0.07


@pytest.mark.parametrize("name", ["brier", "log_loss"])
@pytest.mark.parametrize("setting", [SMALL, EVEN, RARE], ids=str)
def test_mean_losses_of_different_cases(setting, name):
    assert 0.03 <= unpaired_rejections(setting, name, 1000) <= 0.07


@pytest.mark.parametrize("setting", [SMALL, EVEN], ids=str)
def test_unpaired_bootstrap(setting):
    assert 0.03 <= unpaired_rejections(setting, "average_precision", 600) <= 0.07


def test_taking_out_skewness_that_is_noise_rejects_too_often():
    assert rejections(NEAR_ONE, "log_loss", "paired-hall", 600) > 0.08


@pytest.mark.parametrize("name", ["brier", "log_loss"])
def test_intervals_of_the_difference_of_losses(name):
    for methods in (loss_coverage(MIDDLING, 1.0, name, 600), loss_coverage(SMALL, 3.0, name, 600)):
        assert 0.925 <= methods["paired-loss-t"] <= 0.975
        assert 0.925 <= methods["unpaired-loss-t"] <= 0.975


@pytest.mark.parametrize("name", ["roc_auc", "brier"])
def test_paired_permutation(name):
    assert 0.03 <= rejections(SMALL, name, "paired-permutation", 600) <= 0.07


@pytest.mark.parametrize("setting", [MIDDLING, UNCOMMON], ids=str)
def test_the_default_interval_holds_the_difference_of_areas(setting):
    found = area_coverage(setting, 600)
    assert 0.93 <= found["delong"] <= 0.975
    assert 0.93 <= found["delong-unpaired"] <= 0.975


@pytest.mark.parametrize("setting", [SHARP, NEAR_PERFECT, FEW], ids=str)
def test_near_one_the_interval_made_of_two_does(setting):
    found = area_coverage(setting, 600)
    assert 0.93 <= found["delong-mover"] <= 0.98
    assert 0.93 <= found["delong-unpaired"] <= 0.98
    assert found["delong"] < found["delong-mover"]
