"""Thinning: no drawn line moves by more than a pixel, and what was left out is counted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtri
from tests.curves.scored_cases import diabetes

from heldout.curves import decision_curve, det, gain, lift, measure_curve, precision_recall, reliability, roc, thinned
from heldout.curves.thinning import as_lines
from heldout.engines.score_sort import rank
from heldout.errors import OptionError


def farthest(x, y, u, v):
    """How far the corners (x, y) lie from the nearest piece of the line through (u, v), at most."""
    worst = 0.0
    across, up = np.diff(u), np.diff(v)
    square = np.where(across**2 + up**2 > 0, across**2 + up**2, 1.0)
    for a, b in zip(x, y, strict=True):
        along = np.clip(((a - u[:-1]) * across + (b - v[:-1]) * up) / square, 0, 1)
        worst = max(worst, float(np.hypot(a - u[:-1] - along * across, b - v[:-1] - along * up).min()))
    return worst


def drawn(curve, pixels, frame=None):
    """The corners of the drawing in pixels, and the frame that holds them."""
    x, y = curve.x, curve.y
    if curve.x_scale.drawn == "probit":
        x, y = ndtri(x), ndtri(y)
    fine = np.isfinite(x) & np.isfinite(y)
    x, y = x[fine], y[fine]
    if frame is None:
        # Axes of deviates are drawn over the range that occurs; of shares, from 0 to 1.
        probit = curve.x_scale.drawn == "probit"
        frame = (x.min(), np.ptp(x), y.min(), np.ptp(y)) if probit else (0, 1, curve.y_scale.low, 1 - curve.y_scale.low)
    return (x - frame[0]) / frame[1] * pixels, (y - frame[2]) / frame[3] * pixels, frame


CURVES = [
    roc,
    precision_recall,
    gain,
    det,
    lambda r, bands=None: measure_curve(r, "f1", bands=bands),
    lambda r, bands=None: measure_curve(r, "mcc", bands=bands),
]


@settings(max_examples=12)
@given(seed=st.integers(0, 1000), pixels=st.sampled_from([20, 60]))
def test_no_line_moves_by_more_than_a_pixel(seed, pixels):
    rng = np.random.default_rng(seed)
    truth = rng.random(300) < 0.2
    truth[:2] = True, False
    scores = 1 / (1 + np.exp(-(rng.normal(size=300) + 1.5 * truth).round(rng.integers(1, 5))))
    ranking = rank(scores, truth)
    for made in CURVES:
        whole, short = as_lines(made(ranking, bands=None)), thinned(made(ranking, bands=None), pixels)
        x, y, frame = drawn(whole, pixels)
        u, v, _ = drawn(short, pixels, frame)
        assert farthest(x, y, u, v) <= 1 + 1e-9
        assert farthest(u, v, x, y) <= 1e-9


def test_long_curves_become_short_and_say_so():
    rng = np.random.default_rng(0)
    truth = rng.random(100_000) < 0.3
    ranking = rank(1 / (1 + np.exp(-rng.normal(size=100_000) - truth)), truth)
    for made in (roc, precision_recall, gain, lift, det, decision_curve):
        curve = made(ranking)
        short = thinned(curve)
        assert len(short) < 1500
        assert short.dropped == len(curve) - len(short)
        assert f'"dropped": {short.dropped}' in short.to_json()
    stepped = measure_curve(ranking, "accuracy")
    assert 0 < stepped.dropped + thinned(stepped).dropped < len(stepped)


def test_the_ends_and_the_band_are_kept():
    curve = precision_recall(diabetes())
    short = thinned(curve, 100)
    assert (short.x[0], short.x[-1]) == (curve.x[0], curve.x[-1])
    assert farthest(curve.x * 100, curve.low * 100, short.x * 100, short.low * 100) <= 1 + 1e-9
    assert farthest(curve.x * 100, curve.high * 100, short.x * 100, short.high * 100) <= 1 + 1e-9


def test_bins_are_never_thinned():
    curve = reliability(diabetes(), 50)
    assert len(thinned(curve, 10)) == len(curve)


def test_a_chart_without_pixels_is_refused():
    with pytest.raises(OptionError, match="10 pixels or more"):
        thinned(roc(diabetes()), 1)
