"""Scores in bins as evidence: what is counted where, and that it depends on the rows alone."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heldout.engines.score_sort import rank
from heldout.errors import ValuesError
from heldout.evidence.bin_grid import HUGE, POINT, WIDEST, above, ends_of, exponent_for, floor_to, meeting, scaled
from heldout.evidence.score_bins import MOST, ScoreBins

TINY = 5e-324
ODD = [0.0, -0.0, TINY, -TINY, 3e-308, HUGE, -HUGE, 1e308, -1e308, 1.0, -1.0, 1 - 2**-53, -1 + 2**-53, 0.1]
SCORES = st.one_of(st.sampled_from(ODD), st.floats(allow_nan=False, allow_infinity=False), st.floats(0, 1))
ROWS = st.lists(st.tuples(SCORES, st.integers(0, 2), st.integers(0, 3), st.integers(0, 2)), max_size=24)


def of_rows(rows, most, *, weighted=True, grouped=True):
    scores, codes, weight, group = (
        (np.array(column) for column in zip(*rows, strict=True)) if rows else [np.zeros(0)] * 4
    )
    keys, group_code = np.unique(group, return_inverse=True)
    return ScoreBins.of(
        scores.astype(np.float64),
        codes.astype(np.int64),
        3,
        weight=weight / 4 if weighted else None,
        group=(group_code, keys) if grouped else None,
        most=most,
    )


@settings(max_examples=150)
@given(st.lists(SCORES, min_size=1, max_size=8), st.integers(-1074, WIDEST))
def test_a_bin_holds_the_floats_from_one_multiple_of_its_width_to_the_next(scores, exponent):
    given_scores = np.array(scores) + 0.0
    low = floor_to(given_scores, exponent)
    width = Fraction(2) ** exponent
    for score, start, end in zip(given_scores.tolist(), low.tolist(), ends_of(low, exponent).tolist(), strict=True):
        index = math.floor(Fraction(score) / width)
        below = math.nextafter(start, -math.inf)
        assert start <= score < end
        # The float before the bin is below its lower edge, and the last float in it below its upper one.
        assert below == -math.inf or Fraction(below) < max(index * width, Fraction(start))
        assert Fraction(start) >= index * width
        assert Fraction(math.nextafter(end, -math.inf)) < (index + 1) * width
        assert end == np.inf or Fraction(end) >= (index + 1) * width
    np.testing.assert_array_equal(floor_to(given_scores, np.full(len(scores), exponent)), low)


@given(st.lists(st.tuples(SCORES, st.integers(-1080, 1080)), min_size=1, max_size=8))
def test_the_next_float_and_powers_of_two_are_those_of_the_library(pairs):
    scores, powers = np.array([score for score, _ in pairs]), np.array([power for _, power in pairs])
    with np.errstate(over="ignore", under="ignore"):
        np.testing.assert_array_equal(above(scores), np.nextafter(scores, np.inf))
        np.testing.assert_array_equal(scaled(scores, powers), np.ldexp(scores, powers))
        few = powers // 2
        np.testing.assert_array_equal(scaled(scores, few), np.ldexp(scores, few))


@settings(max_examples=150)
@given(st.lists(SCORES, min_size=2, max_size=12, unique=True), st.integers(1, 6))
def test_the_exponent_is_the_smallest_for_which_few_enough_bins_are_met(scores, most):
    distinct = np.unique(np.array(scores) + 0.0)
    for one, two, level in zip(distinct[:-1].tolist(), distinct[1:].tolist(), meeting(distinct).tolist(), strict=True):
        shared = [math.floor(Fraction(one) / Fraction(2) ** e) == math.floor(Fraction(two) / Fraction(2) ** e)
                  for e in (level - 1, level)]  # fmt: skip
        assert shared == ([False, True] if level <= WIDEST else [False, False])
    exponent = exponent_for(distinct, most)
    if len(distinct) <= most:
        assert exponent == POINT
        return
    both_signs = distinct[0] < 0 <= distinct[-1]
    assert len(np.unique(floor_to(distinct, exponent))) <= max(most, 1 + both_signs)
    if exponent < WIDEST or not both_signs:
        assert len(np.unique(floor_to(distinct, exponent - 1))) > most


@given(ROWS)
def test_few_distinct_scores_are_counted_one_by_one(rows):
    bins = of_rows(rows, 24)
    assert bins.exact
    assert bins.base == POINT
    counts = Counter((score + 0.0, code) for score, code, _, _ in rows)
    assert bins.low.tolist() == sorted({score for score, _ in counts})
    assert bins.counts.tolist() == [[counts[score, code] for code in range(3)] for score in bins.low.tolist()]
    assert bins.n == len(rows)
    if rows:
        assert (bins.least, bins.greatest) == (bins.low[0], bins.low[-1])


@given(ROWS, st.integers(1, 6), st.booleans(), st.booleans())
def test_merging_is_counting_everything_at_once_whatever_the_order(rows, most, weighted, grouped):
    whole, one, two, three = (
        of_rows(part, most, weighted=weighted, grouped=grouped) for part in (rows, rows[::3], rows[1::3], rows[2::3])
    )
    assert (one + two) + three == whole
    assert one + (two + three) == whole
    assert (three + one) + two == whole
    assert len(whole) <= max(most, 2)
    assert whole.n == len(rows)


@given(ROWS)
def test_the_ranking_of_exact_bins_is_that_of_the_rows(rows):
    bins = of_rows(rows, MOST)
    scores = np.array([row[0] for row in rows], dtype=np.float64)
    keys, group = np.unique(np.array([row[3] for row in rows], dtype=np.int64), return_inverse=True)
    weight = np.array([row[2] / 4 for row in rows])
    for place in range(3):
        own = np.array([row[1] == place for row in rows], dtype=np.bool_)
        assert bins.ranking(place) == rank(scores, own, weight=weight, group=(group, keys))
        plain = of_rows(rows, MOST, weighted=False, grouped=False)
        assert plain.ranking(place) == rank(scores, own)
        assert plain.ranking(place).joined is None


def test_a_ranking_of_bins_says_which_may_hold_several_scores():
    bins = ScoreBins.of([0.1, 0.2, 0.6, 0.9], [0, 1, 1, 0], 2, most=3)
    ranking = bins.ranking(1)
    assert not bins.exact
    assert bins.base == -2
    assert ranking.scores.tolist() == [0.75, 0.5, 0.0]
    assert ranking.joined is not None
    assert ranking.joined.tolist() == [False, False, True]
    assert ranking.between(0.15) == (1, 2, 1, 2)
    # One row in a bin is one score, but where in the bin it lies is not known.
    assert ranking.between(0.55) == (0, 1, 1, 1)
    assert ranking.between(0.3) == (1, 1, 1, 1)
    assert ranking.between(-5.0) == (2, 2, 2, 2)


def test_equal_scores_in_a_bin_too_narrow_for_two_are_no_doubt():
    bins = ScoreBins.of([TINY, 2 * TINY, 3 * TINY, 1.0, 1.0], [0, 1, 0, 1, 0], 2, most=3)
    assert bins.base == -1073
    assert bins.joined.tolist() == [False, True, False]


def test_classes_move_to_their_places_among_others():
    bins = ScoreBins.of(
        [0.5, 0.5, 0.7],
        [0, 1, 1],
        2,
        weight=np.array([1.0, 2.0, 4.0]),
        group=(np.array([0, 1, 0]), np.array(["a", "b"])),
    )
    moved = bins.moved([2, 0], 3)
    assert moved.counts.tolist() == [[1, 0, 1], [1, 0, 0]]
    assert moved.weights is not None
    assert moved.weights.tolist() == [[2.0, 0.0, 1.0], [4.0, 0.0, 0.0]]
    assert moved.ranking(0) == bins.ranking(1)
    assert moved.ranking(2) == bins.ranking(0)
    assert moved.moved([1, 2, 0], 3) != moved


def test_empty_bins_add_nothing():
    empty, some = ScoreBins.of([], [], 2, most=2), ScoreBins.of([0.1, 0.2, 0.3], [0, 1, 1], 2, most=2)
    assert empty + some == some == some + empty
    assert empty + empty == empty
    assert len(empty.ranking(1)) == 0


def test_unlike_bins_do_not_merge():
    plain = ScoreBins.of([0.5], [1], 2)
    with pytest.raises(ValuesError, match="with and without weights"):
        plain + ScoreBins.of([0.5], [1], 2, weight=np.ones(1))
    with pytest.raises(ValuesError, match="for 2 and for 3 classes"):
        plain + ScoreBins.of([0.5], [1], 3)
    with pytest.raises(TypeError):
        plain + 1
    assert plain != 1


def test_a_ranking_is_made_once():
    bins = ScoreBins.of([0.1, 0.2, 0.3], [0, 1, 0], 2)
    assert bins.ranking(1) is bins.ranking(1)
    assert bins.ranking(0) is not bins.ranking(1)
