"""Losses of few cases of a sharp classifier; and what is not the default for calibration errors, and why."""

from __future__ import annotations

import numpy as np
import pytest
from tests.promises.families.losses_and_calibration import CALIBRATED

from heldout.engines.probability_sums import tally
from heldout.intervals.losses import loss_limits, mean_limits

# The distance of two normal scores, the share of positives, and cases: few show a large loss.
SHARP = ((3.5, 0.5, 12), (3.5, 0.5, 30), (2.5, 0.1, 20), (3.0, 0.2, 20))


@pytest.mark.parametrize(("apart", "share", "n"), SHARP)
@pytest.mark.parametrize("loss", ["brier", "log_loss"])
def test_limits_of_a_loss_hold_it_though_few_cases_show_no_large_one(apart, share, n, loss):
    rng = np.random.default_rng(8)

    def draw(cases: int) -> tuple[np.ndarray, np.ndarray]:
        truth = rng.random(cases) < share
        odds = apart * (rng.normal(size=cases) + apart * truth) - apart**2 / 2 + np.log(share / (1 - share))
        return 1 / (1 + np.exp(-odds)), truth

    true = tally(*draw(1_000_000)).losses[loss].mean
    seen = [tally(*draw(n)) for _ in range(800)]
    limits = np.array([loss_limits(one, loss) for one in seen])
    assert np.mean((limits[:, 0] <= true) & (true <= limits[:, 1])) > 0.94
    # By the spread that was seen alone they do not.
    plain = np.array([mean_limits(one.losses[loss], n) for one in seen])
    assert np.mean((plain[:, 0] <= true) & (true <= plain[:, 1])) < 0.93


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
