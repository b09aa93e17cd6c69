"""Bands hold what they promise: coverage by simulation, and the properties every band has."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.special import ndtr, ndtri
from scipy.stats import binom
from tests.curves.scored_cases import band_of, diabetes, scored

from heldout.curves import decision_curve, det, gain, lift, measure_curve, precision_recall, reliability, roc
from heldout.curves.roc import Mixture, binomial_nodes, curve_ends, roc_band
from heldout.engines.score_sort import rank
from heldout.errors import OptionError

PLACES = np.array([0.02, 0.1, 0.3, 0.8])


def normal_scores(rng, positives, negatives, distance):
    scores = np.concatenate([rng.normal(distance, 1, positives), rng.normal(0, 1, negatives)])
    return rank(scores, np.arange(positives + negatives) < positives)


@pytest.mark.parametrize(("positives", "negatives", "distance"), [(20, 40, 1.5), (30, 300, 2.5), (200, 50, 0.7)])
def test_pointwise_bands_cover(positives, negatives, distance):
    rng = np.random.default_rng(8)
    held = np.zeros(len(PLACES))
    for _ in range(300):
        seen = normal_scores(rng, positives, negatives, distance)
        fp, tp = (np.concatenate([[0.0], counts]) for counts in (seen.fp, seen.tp))
        ones = np.ones(len(PLACES))
        low, high = Mixture.of(fp, tp, PLACES, ones * positives, ones * negatives).limits(0.95)
        true = ndtr(ndtri(PLACES) + distance)
        held += (low <= true) & (true <= high)
    # 300 repetitions have a standard error of .013; a percentile bootstrap falls to .03 where TPR is near 1.
    assert (held / 300 > 0.92).all()


def test_simultaneous_bands_cover_everywhere_at_once_and_are_wider():
    rng = np.random.default_rng(9)
    held = 0
    for seed in range(15):
        seen = normal_scores(rng, 60, 120, 1.2)
        band, _, _ = roc_band(seen, "simultaneous", 0.95, seed)
        inner = (band.x > 0) & (band.x < 1)
        true = ndtr(ndtri(band.x[inner]) + 1.2)
        held += bool(((band.low[inner] <= true) & (true <= band.high[inner])).all())
        narrow, _, _ = roc_band(seen, "pointwise", 0.95)
        assert (band.high - band.low >= narrow.high - narrow.low - 1e-9).all()
        assert (band.high - band.low).mean() > 1.2 * (narrow.high - narrow.low).mean()
    assert held >= 13


@settings(max_examples=25)
@given(scored())
def test_every_band_holds_its_curve_and_stays_in_range(case):
    truth, scores, weight = case
    ranking = rank(scores, truth, weight=weight)
    for made in (roc, det, precision_recall, gain, reliability):
        curve = made(ranking)
        assert (curve.low <= curve.y + 1e-12).all()
        assert (curve.y <= curve.high + 1e-12).all()
        assert (curve.low >= 0).all()
        assert (curve.high <= 1).all()
    for curve in (lift(ranking), decision_curve(ranking)):
        assert (curve.low <= curve.y + 1e-9).all()
        assert (curve.y <= curve.high + 1e-9).all()


def test_a_seed_repeats_a_band_and_stands_in_the_document():
    ranking = diabetes()
    one, two, other = (roc(ranking, "simultaneous", seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(band_of(one).low, band_of(two).low)
    assert not np.array_equal(band_of(one).low, band_of(other).low)
    assert one.to_dict()["band"]["seed"] == 1
    assert roc(ranking).to_dict()["band"]["seed"] is None


def test_a_higher_level_is_wider():
    ranking = diabetes()
    for made in (roc, det, precision_recall, gain, lift, decision_curve, reliability):
        narrow, wide = made(ranking, level=0.8), made(ranking, level=0.99)
        assert (wide.high - wide.low >= narrow.high - narrow.low - 1e-9).all()
        assert (wide.high - wide.low).mean() > (narrow.high - narrow.low).mean()
    with pytest.raises(OptionError, match="between 0 and 1"):
        roc(ranking, level=95)


def test_more_cases_are_narrower():
    ranking = diabetes()
    many = rank(np.repeat(ranking.scores, 9), np.repeat(ranking.positives > 0, 9))
    one, nine = band_of(roc(ranking)), band_of(roc(many))
    at = [np.searchsorted(band.x, 0.3) for band in (one, nine)]
    ratio = (one.high - one.low)[at[0]] / (nine.high - nine.low)[at[1]]
    assert 2 < ratio < 4


def test_groups_widen_bands_where_rows_repeat():
    rng = np.random.default_rng(6)
    truth = np.repeat(rng.random(60) < 0.5, 10)
    scores = np.repeat(rng.normal(size=60), 10) + truth
    group = (np.repeat(np.arange(60), 10), np.arange(60))
    shares = ndtr(scores)
    for made in (roc, decision_curve, reliability, lambda r: measure_curve(r, "f1", [0.5])):
        plain, grouped = made(rank(shares, truth)), made(rank(shares, truth, group=group))
        np.testing.assert_allclose(plain.y, grouped.y)
        assert np.nanmean(grouped.high - grouped.low) > 1.8 * np.nanmean(plain.high - plain.low)
    assert band_of(roc(rank(shares, truth, group=group))).method == "order-beta, groups"
    with pytest.raises(OptionError, match="come in groups"):
        roc(rank(shares, truth, group=group), "simultaneous")


def test_equal_weights_change_no_band():
    rng = np.random.default_rng(2)
    truth, scores = rng.random(200) < 0.4, rng.random(200).round(2)
    for made in (roc, decision_curve, reliability):
        plain, weighted = made(rank(scores, truth)), made(rank(scores, truth, weight=np.full(200, 3.0)))
        np.testing.assert_allclose(plain.low, weighted.low, atol=1e-6)
        assert "effective n" in band_of(weighted).method


def test_the_ends_of_a_rise():
    low, high = curve_ends(np.array([0.0, 0, 2, 2]), np.array([0.0, 3, 4, 5]), np.array([0.0, 1.0, 2.0]))
    assert low.tolist() == [0, 3.5, 4]
    assert high.tolist() == [3, 3.5, 5]


def test_the_nodes_are_quantiles_of_the_binomial_distribution():
    rate = np.array([0.0, 1e-4, 0.02, 0.3, 0.97, 1.0])
    for size in (1, 7, 100, 12_345):
        nodes = binomial_nodes(rate, np.full(len(rate), float(size)))
        shares = (np.arange(nodes.shape[1]) + 0.5) / nodes.shape[1]
        np.testing.assert_array_equal(nodes, np.maximum(binom.ppf(shares, size, rate[:, None]), 0))
