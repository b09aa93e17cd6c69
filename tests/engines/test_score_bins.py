"""Counting scores in bins batch by batch, and looking again into the bins that leave doubt."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heldout.engines.bins import BinCounter, bins_of
from heldout.engines.refinement import refine, standard_errors
from heldout.errors import ValuesError
from heldout.evidence.score_bins import ScoreBins
from heldout.intervals.areas import average_precision_variance, delong_variance
from heldout.measures.certified import bounds

KINDS = ["even", "decimals", "one", "wide", "two crowds", "signed", "single", "tiny", "drifting"]


def drawn(kind, rng, size, at=0):
    even = rng.random(size)
    return {
        "even": even,
        "decimals": np.round(even, 2),
        "one": np.full(size, 0.25),
        "wide": np.exp(rng.normal(0, 30, size)),
        "two crowds": np.where(rng.random(size) < 0.5, even * 1e-9, 1 - even * 1e-9),
        "signed": rng.normal(0, 1, size),
        "single": even.astype(np.float32),
        "tiny": even * 1e-310 * rng.choice([-1, 1], size),
        "drifting": even + at,
    }[kind]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_counting_batches_is_counting_them_together(kind, k, weighted):
    rng = np.random.default_rng(7)
    counter, scores, codes, weights = BinCounter(k, 50, weighted, chunk=300), [], [], []
    for at in range(12):
        size = int(rng.integers(1, 400))
        scores.append(drawn(kind, rng, size, at))
        codes.append(rng.integers(0, k, size))
        # Quarters: their sums are exact in any order.
        weights.append(rng.integers(0, 9, size) / 4)
        given_codes = codes[-1] == 1 if k == 2 else codes[-1].astype(np.uint8)
        counter.add(scores[-1], given_codes, weights[-1] if weighted else None)
        if at == 7:
            counter.bins()
    whole = bins_of(
        np.concatenate(scores), np.concatenate(codes), k, weight=np.concatenate(weights) if weighted else None, most=50
    )
    assert counter.bins() == whole
    assert counter.n == whole.n


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weighted", [False, True])
def test_rows_in_bins_are_the_distinct_scores_joined(kind, weighted):
    rng = np.random.default_rng(8)
    scores, codes = drawn(kind, rng, 2000, 1), rng.integers(0, 3, 2000)
    weight = rng.integers(0, 9, 2000) / 4 if weighted else None
    for most in (2, 50, 700, 2000):
        found = bins_of(scores, codes, 3, weight=weight, most=most)
        assert found == ScoreBins.of(scores, codes, 3, weight=weight, most=most)


@pytest.mark.parametrize("kind", ["even", "decimals", "two crowds", "signed"])
def test_most_rows_are_counted_without_sorting(kind):
    rng = np.random.default_rng(1)
    counter = BinCounter(2, 500, chunk=1000)
    for _ in range(40):
        counter.add(drawn(kind, rng, 500), rng.random(500) < 0.5)
    assert sum(stretch.rows for stretch in counter._stretches) > 0.9 * counter.n


def test_what_is_put_aside_does_not_change_with_the_callers_array():
    counter, batch = BinCounter(2), np.array([0.1, 0.2])
    counter.add(batch, np.array([True, False]))
    batch[:] = 9.0
    assert counter.bins().low.tolist() == [0.1, 0.2]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_scores_that_are_not_finite_are_refused(bad):
    scores, codes = np.array([0.5, bad]), np.array([0, 1])
    with pytest.raises(ValuesError, match="1 of 2 are not"):
        bins_of(scores, codes, 2)
    with pytest.raises(ValuesError, match="1 of 2 are not"):
        BinCounter(2).add(scores, codes)


def crowded(kind, rng, size=100_000):
    even = rng.random(size)
    crowd = {
        "clipped": np.clip(2 * even - 0.5, 0, 1),
        "crowded": np.where(rng.random(size) < 0.5, even * 1e-6, even),
        "both": np.where(rng.random(size) < 0.5, np.round(even * 1e-6, 9), np.clip(even * 1.5, 0, 1)),
    }[kind]
    return crowd, rng.random(size) < 0.2 + 0.6 * crowd


def widths(bins):
    return [high - low for low, high in (bounds(bins.ranking(1), name) for name in ("roc_auc", "average_precision"))]


@pytest.mark.parametrize("kind", ["clipped", "crowded", "both"])
def test_one_more_reading_is_enough_where_scores_crowd(kind):
    scores, positive = crowded(kind, np.random.default_rng(3))
    first = bins_of(scores, positive, 2, most=500)
    assert max(widths(first)) > 1e-3
    again = refine(first, 1e-6).recount()
    for part in np.array_split(np.arange(len(scores)), 7):
        again.add(scores[part], positive[part])
    second = again.put(first)
    assert max(widths(second)) < 1e-6
    exact = bins_of(scores, positive, 2).ranking(1)
    for name in ("roc_auc", "average_precision"):
        low, high = bounds(second.ranking(1), name)
        assert low <= bounds(exact, name)[0] <= high
    np.testing.assert_array_equal(second.counts.sum(axis=0), first.counts.sum(axis=0))
    assert (second.base, second.least, second.greatest) == (first.base, first.least, first.greatest)
    assert not len(refine(second, 1e-6))


def test_without_a_tolerance_areas_are_certain_to_a_twentieth_of_their_standard_error():
    scores, positive = crowded("crowded", np.random.default_rng(5))
    first = bins_of(scores, positive, 2, most=500)
    again = refine(first, None).recount()
    again.add(scores, positive)
    second = again.put(first)
    errors = standard_errors(bins_of(scores, positive, 2).ranking(1))
    for before, after, error in zip(widths(first), widths(second), errors, strict=True):
        assert before > error / 20 >= after
    assert not len(refine(second, None))
    # As few as will do: to be more certain takes more.
    assert len(refine(first, None)) < len(refine(first, 1e-6))
    assert len(refine(second, 1e-6))


@pytest.mark.parametrize("kind", ["clipped", "crowded"])
def test_standard_errors_are_those_of_the_intervals(kind):
    scores, positive = crowded(kind, np.random.default_rng(6))
    ranking = bins_of(scores, positive, 2, weight=np.random.default_rng(7).random(len(scores))).ranking(1)
    variances = delong_variance(ranking), average_precision_variance(ranking)
    assert standard_errors(ranking) == pytest.approx(np.sqrt(variances), rel=5e-3)


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.floats(allow_nan=False, allow_infinity=False), st.booleans()), min_size=1, max_size=30),
    st.integers(1, 6),
    st.sampled_from([2, 6, 40, None]),
)
def test_reading_again_counts_every_row_once_in_its_place(rows, most, room):
    scores, positive = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    first = bins_of(scores, positive, 2, most=most)
    found = refine(first, 0.0, room=room)
    again = found.recount()
    again.add(scores, positive)
    second = again.put(first)
    assert second.n == len(rows)
    assert (np.diff(second.low) > 0).all()
    assert (second.ends[:-1] <= second.low[1:]).all()
    for low, end, counts in zip(second.low.tolist(), second.ends.tolist(), second.counts.tolist(), strict=True):
        inside = (scores >= low) & (scores < end)
        assert counts == [int((inside & ~positive).sum()), int((inside & positive).sum())]


def test_groups_and_weights_are_read_again_too():
    rng = np.random.default_rng(5)
    scores, codes = rng.random(400), rng.integers(0, 2, 400)
    weight, group = rng.integers(1, 5, 400) / 2, (rng.integers(0, 9, 400), np.arange(9))
    first = bins_of(scores, codes, 2, weight=weight, group=group, most=20)
    again = refine(first, 1e-6).recount()
    for part in (slice(0, 150), slice(150, 400)):
        again.add(scores[part], codes[part], weight[part], (group[0][part], group[1]))
    second, exact = again.put(first), bins_of(scores, codes, 2, weight=weight, group=group)
    assert second.ranking(1) == exact.ranking(1)


def test_data_that_changed_between_two_readings_are_refused():
    rng = np.random.default_rng(6)
    scores, codes = rng.random(100), rng.integers(0, 2, 100)
    first = bins_of(scores, codes, 2, most=5)
    again = refine(first, 1e-6).recount()
    again.add(scores[:-1], codes[:-1])
    with pytest.raises(ValuesError, match="the data changed"):
        again.put(first)


def test_nothing_is_read_again_where_nothing_is_in_doubt():
    exact = bins_of(np.array([0.1, 0.5]), np.array([0, 1]), 2)
    assert not len(refine(exact, 1e-6))
    again = refine(exact, 1e-6).recount()
    again.add(np.array([0.1, 0.5]), np.array([0, 1]))
    assert again.put(exact) is exact
    one_class = bins_of(np.linspace(0, 1, 9), np.zeros(9, dtype=np.int64), 2, most=2)
    assert not len(refine(one_class, 1e-6))


@pytest.mark.parametrize("rooms", [(300,) * 6, (300, None, 300, None), (None, 900, 900)], ids=str)
def test_more_readings_never_make_areas_less_certain(rooms):
    rng = np.random.default_rng(13)
    score = rng.beta(0.5, 3, 20_000)
    truth = rng.random(20_000) < score
    bins = replace(bins_of(score, truth, 2, most=64), room=1000)
    widths = []
    for room in (*rooms, None):
        widths.append([float(np.subtract(*bounds(bins.ranking(1), name)[::-1])) for name in ("roc_auc", "gini")])
        again = refine(bins, 1e-12, room=room).recount()
        again.add(score, truth)
        bins = again.put(bins)
        assert bins.refined <= 1000
    assert np.all(np.diff(widths, axis=0) <= 1e-15)
    assert widths[-1][0] < 0.2 * widths[0][0]
