"""The intervals of probabilities hold the truth as often as they say, on a few settings each.

400 test sets per setting: the Monte Carlo standard error at .95 is .011, and a fixed seed makes the outcome the same
every time. Calibration errors may hold it more often: the interval of an error that cannot be below 0 always does at 0.
"""

from __future__ import annotations

import numpy as np
import pytest
from tests.promises.probabilities import DRAWS, Setting, measure_coverage

from heldout.engines.probability_sums import tally

REPLICATES = 400


@pytest.mark.parametrize(
    ("measure", "where", "n", "most"),
    [
        ("Brier", "calibrated", 80, 0.98),
        ("Brier", "calibrated, very sharp", 400, 0.98),
        ("log loss", "calibrated", 80, 0.98),
        ("log loss", "overconfident", 400, 0.98),
        ("ECE", "calibrated", 400, 1.0),
        ("ECE", "overconfident", 400, 0.98),
        ("MCE", "too high", 400, 1.0),
        ("recalibration slope", "overconfident", 200, 0.98),
        ("macro area", "3 even classes", 300, 0.98),
        ("hand_till area", "3 classes, one rare", 300, 0.985),
    ],
)
def test_held_about_95_times_in_100(measure, where, n, most):
    assert 0.92 <= measure_coverage(Setting(measure, where, n), REPLICATES) <= most


def test_the_percentile_bootstrap_never_holds_the_error_of_a_calibrated_model():
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(20):
        p, true = DRAWS["calibrated"](rng, 400)
        truth = rng.random(400) < true
        errors = []
        for _ in range(200):
            rows = rng.integers(0, 400, 400)
            errors.append(np.abs(tally(p[rows], truth[rows]).reliability.gap).sum() / 400)
        held += np.quantile(errors, 0.025) <= 0
    assert held == 0
