"""The default intervals of ranking measures hold the truth about as often as they say, on a few settings.

The Monte Carlo standard error is .009 with 600 test sets and .015 with 200; the seed is fixed, so the outcome is the
same every time.
"""

from __future__ import annotations

import pytest
from tests.promises.ranking import SETTINGS, measure_coverage

MIDDLING, SHARP, NEAR_PERFECT, RARE, LARGE, ROUNDED, USELESS = SETTINGS


@pytest.mark.parametrize("setting", [MIDDLING, SHARP, NEAR_PERFECT, RARE, ROUNDED, USELESS], ids=str)
def test_closed_forms(setting):
    found = measure_coverage(setting, ("roc_auc", "average_precision"), 600, draws=0)
    assert 0.91 <= found["roc_auc", "delong-logit"][0] <= 0.995
    assert 0.91 <= found["average_precision", "influence-logit"][0] <= 0.995


def test_delong_as_published_does_not():
    found = measure_coverage(NEAR_PERFECT, ("roc_auc",), 300, draws=0)
    assert found["roc_auc", "delong"][0] < 0.8


@pytest.mark.parametrize("setting", [MIDDLING, ROUNDED], ids=str)
def test_bootstraps(setting):
    names = ("partial_auc", "kolmogorov_smirnov", "pr_area", "lift_at", "precision_at_recall", "tpr_at_fpr")
    found = measure_coverage(setting, names, 200, draws=149, forms=("transformed",))
    for name in names:
        assert 0.89 <= found[name, "transformed"][0] <= 1.0, name
