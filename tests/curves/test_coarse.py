"""A shortened ranking keeps the counts it names, and the curves it draws stay within a pixel."""

from __future__ import annotations

import numpy as np
import pytest

from heldout.curves.decision import GRID, decision_curve, net_benefit
from heldout.curves.precision_recall import precision_recall
from heldout.curves.roc import roc
from heldout.curves.thinning import SHORT, places_of, shortened
from heldout.curves.threshold_counts import counts_at, places
from heldout.engines.bins import bins_of
from heldout.engines.score_sort import rank
from heldout.measures.certified import bounds

N = 250_000


def scored(n=N, seed=5, share=0.1):
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < share
    return positive, 1 / (1 + np.exp(2 - 2 * positive - rng.normal(size=n)))


def test_counts_are_exact_at_every_kept_score_and_at_the_thresholds_asked_for():
    positive, score = scored()
    whole = rank(score, positive)
    asked = np.array([0.0, 0.123456, 0.5, 0.987, 1.5])
    short = shortened(whole, asked)
    assert len(short) < SHORT < len(whole)
    for thresholds in (asked, short.scores):
        for found, expected in zip(counts_at(short, thresholds), counts_at(whole, thresholds), strict=True):
            assert np.array_equal(found, expected)
    assert (short.n_positive, short.n_negative) == (whole.n_positive, whole.n_negative)


def test_places_are_found_without_a_copy_as_with_one():
    positive, score = scored(5000)
    whole = rank(np.round(score, 2), positive)
    asked = np.concatenate([[-1, 2], np.round(score, 2)[:200], score[:200]])
    assert np.array_equal(places_of(whole, asked), places(whole, asked))


def test_weights_squares_and_groups_add_up():
    positive, score = scored()
    rng = np.random.default_rng(1)
    weight, group = rng.integers(1, 9, N) / 4, rng.integers(0, 40, N)
    short = shortened(rank(score, positive, weight=weight), [0.5])
    there = score >= 0.5
    assert counts_at(short, [0.5])[0][0] == pytest.approx(weight[there & positive].sum())
    assert short.positive_squares is not None
    assert short.positive_squares.sum() == pytest.approx((weight[positive] ** 2).sum())
    grouped = shortened(rank(score, positive, group=(group, np.arange(40))), [0.5])
    held = grouped.groups
    assert held is not None
    above = held.place < int(places_of(grouped, [0.5])[0])
    found = np.bincount(held.group[above], weights=held.positives[above], minlength=40)
    assert np.array_equal(found, np.bincount(group[there & positive], minlength=40))


@pytest.mark.parametrize("share", [0.5, 0.01])
def test_no_curve_moves_by_a_pixel(share):
    positive, score = scored(share=share)
    whole = rank(score, positive)
    short = shortened(whole)
    # What is left out lies between two kept points, along x as well as along y.
    for draw in (roc, precision_recall):
        long, brief = draw(whole, bands=None), draw(short, bands=None)
        low, high = (np.searchsorted(-brief.threshold, -long.threshold, side=side) for side in ("left", "right"))
        low, high = (np.clip(at, 0, len(brief) - 1) for at in (low, high - 1))
        x = np.minimum(np.abs(long.x - brief.x[low]), np.abs(long.x - brief.x[high]))
        y = np.minimum(np.abs(long.y - brief.y[low]), np.abs(long.y - brief.y[high]))
        assert np.hypot(x, y).max() < 1 / 1000


@pytest.mark.parametrize("weighted", [False, True])
def test_a_shortened_ranking_of_bins_says_what_is_not_known(weighted):
    rng = np.random.default_rng(2)
    # A crowd around 0.3, in order, that one bin holds.
    score = np.concatenate([rng.random(N), 0.3 + 1e-9 * (rng.random(50_000) - 0.5)])
    positive = np.concatenate([rng.random(N) < score[:N], score[N:] > 0.3])
    weight = rng.integers(1, 9, len(score)) / 4 if weighted else None
    whole = bins_of(score, positive, 2, weight=weight, most=200_000).ranking(1)
    short = shortened(whole, GRID)
    assert len(short) < len(whole)
    assert short.between(0.3) == whole.between(0.3)
    assert short.rows == whole.rows
    exact = rank(score, positive, weight=weight)
    low, high = bounds(short, "roc_auc")
    assert low <= bounds(exact, "roc_auc")[0] <= high
    curve = decision_curve(short, bands=None)
    tp, fp = counts_at(exact, curve.x)
    assert curve.y == pytest.approx(net_benefit(tp, fp, exact.n, curve.x), abs=1e-12)
    assert len(curve) == len(GRID)
    assert np.abs(curve.x - GRID).max() < 1e-5
