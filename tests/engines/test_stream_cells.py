"""Small counters of scores laid out beforehand: they count as wide ones do, and on the grid that the rows need."""

from dataclasses import replace

import numpy as np
import pytest

from heldout.engines.bins import bins_of
from heldout.engines.stream.two_classes import BinCells, BinLayout, ScoredRows, StreamBins


def pieces(score, truth, size=30_000):
    return [ScoredRows.of(score[at : at + size], truth[at : at + size]) for at in range(0, len(score), size)]


def wide(layout, score, truth):
    key = 2 * (np.floor(np.ldexp(score, -layout.exponent)).astype(np.int64) - layout.first) + truth
    return np.bincount(key, minlength=2 * layout.size)


def total(cells):
    made = np.zeros((cells.layout.size, 2), dtype=np.int64)
    low, counts = cells.table()
    made[np.ldexp(low, -cells.layout.exponent).astype(np.int64) - cells.layout.first] = counts
    return made.ravel()


@pytest.mark.parametrize("few", [False, True])
def test_counters_that_run_over_count_as_wide_ones_do(few):
    rng = np.random.default_rng(1)
    # More than 2**16 rows in one bin within a batch, and more than that in another after several.
    score = np.where(rng.random(300_000) < 0.5, 0.25, rng.random(300_000))
    score[rng.random(300_000) < 0.1] = 0.75
    truth = rng.random(300_000) < score
    layout = BinLayout(-6, 0, 64)
    cells = BinCells(layout, few=few)
    if few:
        # Counters of 32 bits would need thousands of millions of rows.
        cells._full = 400_000
    for _ in range(6):
        assert cells.add(pieces(score, truth)) == []
        assert not few or int(cells._cells.max()) <= 400_000
    assert np.array_equal(total(cells), 6 * wide(layout, score, truth))
    assert total(cells).max() > 1 << 16


@pytest.mark.parametrize("first", [0, 3, -8])
def test_rows_without_a_bin_are_given_back(first):
    rng = np.random.default_rng(2)
    score = rng.normal(size=5000)
    truth = rng.random(5000) < 0.5
    layout = BinLayout(-3, first, 9)
    cells = BinCells(layout)
    back = cells.add(pieces(score, truth, 700))
    here = (score >= first / 8) & (score < (first + 9) / 8)
    assert np.array_equal(total(cells), wide(layout, score[here], truth[here]))
    assert np.array_equal(np.concatenate([rows.scores for rows in back]), score[~here])
    assert np.array_equal(np.concatenate([rows.positive for rows in back]), truth[~here])


@pytest.mark.parametrize("spread", ["even", "lopsided", "above and below zero", "narrow", "small"])
def test_the_layout_is_the_grid_that_the_rows_need(spread):
    rng = np.random.default_rng(3)
    score = {
        "even": rng.random(3000),
        "lopsided": rng.beta(0.7, 3, 3000),
        "above and below zero": 8 * rng.random(3000) - 3,
        "narrow": 5 + rng.random(3000) / 64,
        "small": 1e-9 * rng.random(3000),
    }[spread]
    truth = rng.random(3000) < 0.5
    made = BinLayout.of(pieces(score, truth), 256)
    assert made is not None
    assert made.exponent == bins_of(score, truth, 2, most=256).base
    assert BinCells(made).add(pieces(score, truth)) == []


@pytest.mark.parametrize("score", [np.repeat([0.1, 0.5], 400), np.full(800, 0.3), np.exp(np.linspace(-300, 300, 800))])
def test_no_counters_are_laid_out_for_few_scores_or_for_scores_far_apart(score):
    assert BinLayout.of([ScoredRows.of(score, np.arange(800) % 2 == 0)], 256) is None


@pytest.mark.parametrize("shift", [0.0, -0.4, 100.0])
def test_rows_in_pieces_are_counted_as_all_at_once(shift):
    rng = np.random.default_rng(4)
    score = rng.random(20_000) + shift
    score[15_000:15_100] += 3
    truth = rng.random(20_000) < 0.5
    counter = StreamBins(most=256)
    counter.add(score[:600], truth[:600])
    for rows in pieces(score[600:], truth[600:], 333):
        counter.add_rows([rows])
    assert counter.grid is not None
    assert counter.bins() == bins_of(score, truth, 2, most=256)


def test_bins_that_run_over_are_those_of_the_rows_too():
    rng = np.random.default_rng(5)
    score = np.where(rng.random(150_000) < 0.7, 0.25, rng.random(150_000))
    truth = rng.random(150_000) < 0.5
    counter = StreamBins(most=256)
    counter.add(score[:3000], truth[:3000])
    counter.add(score[3000:], truth[3000:])
    assert counter.grid is not None
    # A score above all others, which has no fine bin, leaves the plain grid.
    counter.add(np.array([2.0]), np.array([True]))
    assert counter.bins() == bins_of(np.append(score, 2.0), np.append(truth, True), 2, most=256)


@pytest.mark.parametrize(
    "score",
    [
        np.insert(np.random.default_rng(6).random(999), 0, np.finfo(np.float64).max),
        np.insert(10 ** (-300 * np.random.default_rng(7).random(999)), 0, 1e300),
        np.insert(np.random.default_rng(8).random(999), 0, -np.finfo(np.float64).max),
        (1e-36 * np.random.default_rng(9).random(1000)).astype(np.float32),
        np.random.default_rng(10).random(1000).astype(np.float32),
        (1 - 2.0**-20 * np.random.default_rng(11).random(1000)).astype(np.float32),
    ],
    ids=["largest float", "many sizes", "lowest float", "narrow and small", "narrow", "narrow and crowded"],
)
def test_scores_of_any_size_are_counted_as_sorting_counts_them(score):
    truth = np.random.default_rng(12).random(1000) < 0.5
    counter = StreamBins(most=64)
    for at in range(0, 1000, 100):
        counter.add(score[at : at + 100], truth[at : at + 100])
    made, expected = replace(counter.bins(), room=0).settled(), bins_of(score, truth, 2, most=64)
    assert np.array_equal(made.low, expected.low)
    assert np.array_equal(made.counts, expected.counts)


def test_the_first_rows_may_be_written_over_when_they_are_counted():
    counter, place = StreamBins(most=64), np.array([0.25, 0.5])
    counter.add(place, np.array([True, False]))
    place[:] = 0.75
    assert counter.bins().low.tolist() == [0.25, 0.5]
