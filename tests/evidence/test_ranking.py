"""The ranking as evidence: what it counts, and that merging it is counting everything at once."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heldout.engines.score_sort import rank
from heldout.errors import ValuesError
from heldout.evidence import Ranking
from heldout.evidence.ranking import smallest

cases = st.lists(st.tuples(st.sampled_from([-1.5, -0.25, 0.0, 0.3, 0.5, 2.0]), st.booleans()), max_size=40)


def ranked(rows, **keywords):
    scores = np.array([score for score, _ in rows], dtype=np.float64)
    return rank(scores, np.array([label for _, label in rows], dtype=np.bool_), **keywords)


def with_extras(rows, first=0):
    """Whole-number weights (whose sums are exact) and groups that overlap between parts."""
    number = np.arange(first, first + len(rows))
    keys, codes = np.unique(number % 3, return_inverse=True)
    return ranked(rows, weight=(1.0 + number % 4), group=(codes, keys))


@given(cases)
def test_counts_are_those_of_a_plain_loop(rows):
    seen = ranked(rows)
    up = Counter(score for score, label in rows if label)
    down = Counter(score for score, label in rows if not label)
    assert seen.scores.tolist() == sorted({score for score, _ in rows}, reverse=True)
    assert seen.positives.tolist() == [up[s] for s in seen.scores.tolist()]
    assert seen.negatives.tolist() == [down[s] for s in seen.scores.tolist()]
    assert seen.tp.tolist() == [sum(label and score >= t for score, label in rows) for t in seen.scores.tolist()]
    assert seen.fp.tolist() == [sum(not label and score >= t for score, label in rows) for t in seen.scores.tolist()]
    assert (seen.n_positive, seen.n_negative, seen.n) == (sum(up.values()), sum(down.values()), len(rows))


@given(cases, cases, cases)
def test_merging_is_associative_commutative_and_the_ranking_of_all(a, b, c):
    one, two, three = ranked(a), ranked(b), ranked(c)
    assert one + two == two + one
    assert (one + two) + three == one + (two + three) == ranked(a + b + c)


@given(cases, cases)
def test_weights_and_groups_merge_too(a, b):
    merged, whole = with_extras(a) + with_extras(b, len(a)), with_extras(a + b)
    assert merged == whole
    assert merged.groups is not None
    assert whole.groups is not None

    def held(seen):
        g = seen.groups
        rows = zip(g.keys[g.group].tolist(), seen.scores[g.place].tolist(), g.positives, g.negatives, strict=True)
        return sorted(rows)

    assert held(merged) == held(whole)


@given(cases)
def test_swapped_is_the_ranking_of_negated_scores_and_labels(rows):
    assert ranked(rows).swapped() == ranked([(-score, not label) for score, label in rows])
    extra = with_extras(rows)
    swapped = extra.swapped()
    assert swapped.swapped() == extra
    # The groups go with their cases.
    groups = swapped.groups
    assert groups is not None
    held = np.bincount(groups.place, weights=groups.positives, minlength=len(swapped))
    np.testing.assert_array_equal(held, swapped.positives)


def test_unlike_rankings_do_not_merge():
    rows = [(0.5, True), (0.2, False)]
    with pytest.raises(ValuesError, match="with and without weights"):
        ranked(rows) + ranked(rows, weight=np.ones(2))
    with pytest.raises(TypeError):
        ranked(rows) + 1


def test_merged_counts_outgrow_their_bytes():
    half = Ranking(np.array([1.0]), *smallest(np.array([100]), np.array([155])))
    assert half.positives.dtype == np.uint8
    assert (half.positives + half.negatives).tolist() == [255]
    both = half + half
    assert both.positives.tolist() == [200]
    assert both.negatives.tolist() == [310]
    assert (both.positives + both.negatives).tolist() == [510]
    assert both.tp.dtype == np.int64


def test_weighted_entries_hold_squares():
    seen = ranked([(0.5, True), (0.5, True), (0.5, False)], weight=np.array([1.0, 3.0, 0.5]))
    assert seen.positives.tolist() == [4.0]
    assert seen.positive_squares is not None
    assert seen.positive_squares.tolist() == [10.0]
    assert seen.weighted
    assert seen != ranked([(0.5, True), (0.5, True), (0.5, False)])
