"""What is not the default for calibration errors, and why."""

from __future__ import annotations

import numpy as np
from tests.promises.families.losses_and_calibration import CALIBRATED

from heldout.engines.probability_sums import tally


def test_the_percentile_bootstrap_never_holds_the_error_of_a_calibrated_model():
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(20):
        p, truth = CALIBRATED.draw(400, rng)
        errors = []
        for _ in range(200):
            rows = rng.integers(0, 400, 400)
            errors.append(np.abs(tally(p[rows], truth[rows]).reliability.gap).sum() / 400)
        held += np.quantile(errors, 0.025) <= 0
    assert held == 0
