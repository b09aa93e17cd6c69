"""The certificate of binned scores: no data leave the bounds, and merging is counting everything at once."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import reduce
from itertools import chain, pairwise
from operator import add

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from heldout.curves.precision_recall import precision_recall
from heldout.curves.roc import roc
from heldout.curves.threshold_table import threshold_table
from heldout.engines.bins import BinCounter, bins_of
from heldout.engines.refinement import refine
from heldout.engines.score_ladder import ScoreLadder
from heldout.evidence.bin_grid import Ladder
from heldout.evidence.score_bins import POINT, ScoreBins
from heldout.measures.certified import bounds

TINY, HUGE = 5e-324, 1.7976931348623157e308
ODD = [0.0, -0.0, TINY, -TINY, 2 * TINY, 2.3e-308, -2.3e-308, 1e308, HUGE, -HUGE, 1.0, -1.0, 0.5, 0.3, 1 - 2**-53, 1e-6]
# Crowds far closer together than any bin that has room for their surroundings.
CROWD = st.builds(
    lambda centre, steps: float(centre + steps * np.spacing(centre)),
    st.sampled_from([1e-7, 0.25, 0.5, 1.0, -1.0, 3e200]),
    st.integers(-4, 4),
)
SCORES = st.one_of(
    st.sampled_from(ODD),
    CROWD,
    st.floats(0, 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(-8, 8).map(float),
)
WEIGHTS = st.one_of(st.sampled_from([0.0, 1.0, 2.0, 0.1, 0.01]), st.floats(1e-3, 0.2), st.floats(1e-30, 1e30))
ROWS = st.lists(st.tuples(SCORES, st.booleans(), WEIGHTS), min_size=1, max_size=24)
MOST = st.integers(1, 8)
# How many bins a second reading has room for; None leaves every distinct score alone.
ROOM = st.sampled_from([None, 1, 2, 3, 5, 8])


def held(rows, most, *, weighted=False):
    scores, positive, weight = zip(*rows, strict=True) if rows else ((), (), ())
    weights = np.array(weight, dtype=np.float64) if weighted else None
    return bins_of(np.array(scores, dtype=np.float64), np.array(positive, dtype=np.bool_), 2, weight=weights, most=most)


def looked_into(rows, bins, *, weighted=False, tolerance=0.0, room=None):
    """The rows read once more, into the bins that matter most."""
    again = refine(bins, tolerance, room=room).recount()
    for part in (rows[::2], rows[1::2]):
        if part:
            scores, positive, weight = zip(*part, strict=True)
            again.add(np.array(scores), np.array(positive), np.array(weight) if weighted else None)
    return again.put(bins)


def exact_areas(rows, *, weighted=False):
    """AUC over all pairs, and AP as a sum over the distinct thresholds, in fractions; nan is None."""
    cases = [(score, label, Fraction(weight) if weighted else Fraction(1)) for score, label, weight in rows]
    up, down = ([(s, w) for s, label, w in cases if label is wanted] for wanted in (True, False))
    positives, negatives = (sum((w for _, w in side), Fraction(0)) for side in (up, down))
    auc = ap = None
    if positives and negatives:
        won = sum((a * b * (2 if s > t else 1 if s == t else 0) for s, a in up for t, b in down), Fraction(0))
        auc = won / (2 * positives * negatives)
    if positives:
        ap = before = Fraction(0)
        for threshold in sorted({s for s, _, _ in cases}, reverse=True):
            tp = sum((w for s, w in up if s >= threshold), Fraction(0))
            fp = sum((w for s, w in down if s >= threshold), Fraction(0))
            if tp:
                ap += (tp - before) / positives * tp / (tp + fp)
            before = tp
    return {"roc_auc": auc, "average_precision": ap, "gini": None if auc is None else 2 * auc - 1}


def assert_contains(bins, rows, *, weighted=False):
    ranking = bins.ranking(1)
    for name, value in exact_areas(rows, weighted=weighted).items():
        low, high = bounds(ranking, name)
        if value is None:
            assert np.isnan(low)
            assert np.isnan(high)
        elif ranking.joined is None or not ranking.joined.any():
            assert low == high == pytest.approx(float(value), rel=1e-12, abs=1e-12)
        else:
            assert Fraction(low) <= value <= Fraction(high)


@settings(max_examples=200)
@given(ROWS, MOST, st.booleans())
def test_the_exact_areas_never_leave_the_bounds(rows, most, weighted):
    assert_contains(held(rows, most, weighted=weighted), rows, weighted=weighted)


@settings(max_examples=120)
@given(ROWS, MOST, st.booleans(), st.sampled_from([0.0, 1e-6, 0.05, 0.3]), ROOM)
def test_nor_after_looking_into_bins_again_where_the_bounds_only_come_closer(rows, most, weighted, tolerance, room):
    first = held(rows, most, weighted=weighted)
    second = looked_into(rows, first, weighted=weighted, tolerance=tolerance, room=room)
    assert_contains(second, rows, weighted=weighted)
    # A third reading, whose bins may be finer already than it has room for.
    second = looked_into(rows, second, weighted=weighted, tolerance=tolerance, room=room)
    assert_contains(second, rows, weighted=weighted)
    for name in ("roc_auc", "average_precision"):
        (low, high), (before, after) = bounds(second.ranking(1), name), bounds(first.ranking(1), name)
        if not np.isnan(low):
            assert low >= before - 1e-9
            assert high <= after + 1e-9


@settings(max_examples=300)
@given(ROWS, MOST, st.sampled_from([np.float64, np.float32]), st.integers(1, 24), st.sampled_from([None, 8, 20]))
def test_the_ladder_keeps_the_certificate_whatever_the_batches(rows, most, kind, size, bits):
    with np.errstate(over="ignore"):
        scores = np.array([score for score, *_ in rows]).astype(kind)
    scores[~np.isfinite(scores)] = np.finfo(kind).max
    positive = np.array([label for _, label, _ in rows])
    made = []
    for batch in (size, len(rows)):
        counter = ScoreLadder(most)
        counter.ladder = None if bits is None else Ladder(bits)
        for at in range(0, len(rows), batch):
            counter.add(scores[at : at + batch], positive[at : at + batch])
        made.append(counter.bins())
    assert made[0] == made[1]
    assert_contains(made[0], [(float(s), bool(p), w) for s, p, (*_, w) in zip(scores, positive, rows, strict=True)])
    expected = bins_of(scores, positive, 2, most=most)
    assert (made[0].least, made[0].greatest) == (expected.least, expected.greatest)
    if bits is None or expected.exact:
        assert made[0] == expected


@settings(max_examples=120)
@given(ROWS, MOST, st.integers(0, 12), st.lists(ROOM, min_size=1, max_size=5))
def test_bounds_come_no_wider_where_there_is_room_for_few_finer_bins(rows, most, kept, rooms):
    made = replace(held(rows, most), room=kept)
    for room in rooms:
        before = {name: bounds(made.ranking(1), name) for name in ("roc_auc", "average_precision")}
        made = looked_into(rows, made, room=room)
        assert int((made.exponent < made.base).sum()) <= max(kept, 0) or made.base == POINT
        for name, (low, high) in before.items():
            if not np.isnan(low):
                now = bounds(made.ranking(1), name)
                assert now[0] >= low - 1e-9
                assert now[1] <= high + 1e-9


@settings(max_examples=80)
@given(
    st.tuples(ROWS, ROWS, ROWS),
    MOST,
    st.tuples(st.booleans(), st.booleans(), st.booleans()),
    st.permutations(range(3)),
    st.booleans(),
    ROOM,
)
def test_merging_keeps_the_certificate_in_any_order_and_grouping(parts, most, again, order, weighted, room):
    rows = [row for part in parts for row in part]
    made = [held(part, most, weighted=weighted) for part in parts]
    made = [
        looked_into(part, bins, weighted=weighted, room=room) if wanted else bins
        for part, bins, wanted in zip(parts, made, again, strict=True)
    ]
    a, b, c = (made[place] for place in order)
    assert_contains((a + b) + c, rows, weighted=weighted)
    assert_contains(a + (b + c), rows, weighted=weighted)


@settings(max_examples=100)
@given(
    st.lists(ROWS, min_size=2, max_size=4),
    MOST,
    st.lists(st.booleans(), min_size=4, max_size=4),
    ROOM,
    st.sampled_from([None, 0, 3, 8, 20]),
)
def test_merging_in_any_order_and_grouping_gives_the_same_evidence(parts, most, again, room, kept):
    # Whole weights: their sums are exact in any order.
    rows = [(score, label, 1.0 + (number % 3)) for number, (score, label, _) in enumerate(chain(*parts))]
    edges = np.cumsum([0, *map(len, parts)]).tolist()
    parts = [rows[start:stop] for start, stop in pairwise(edges)]
    # Some parts are refined and some are not, and in all there may be more refined bins than are kept.
    made = [replace(held(part, most, weighted=True), room=kept) for part in parts]
    made = [
        looked_into(part, bins, weighted=True, room=room) if wanted else bins
        for part, bins, wanted in zip(parts, made, again, strict=False)
    ]
    forward = made[0]
    for bins in made[1:]:
        forward = forward + bins
    backward = made[-1]
    for bins in made[-2::-1]:
        backward = bins + backward
    crossed = made[1] + made[0]
    for bins in reversed(made[2:]):
        crossed = bins + crossed
    assert forward == backward == crossed
    if not any(again[: len(parts)]):
        assert forward == replace(held(rows, most, weighted=True), room=kept)


@pytest.mark.parametrize("room", [30, 70, 100, 130, 1000])
def test_more_refined_bins_than_are_kept_go_back_to_the_grid_in_any_order(room):
    rng = np.random.default_rng(0)

    def rows(low, high, n):
        return [(score, score > rng.random() * 4, 1.0) for score in rng.uniform(low, high, n).tolist()]

    # Four parts that are refined, each in its own range, and one that is not and lies on half of them.
    each = [rows(at, at + 1, 40) for at in range(4)]
    made = [looked_into(part, replace(held(part, 8), room=room)) for part in each]
    assert all(len(part) > 20 for part in made if room > 40)
    made.append(replace(held(rows(0, 2, 60), 8), room=room))
    orders = [made, made[::-1], [made[4], *made[:4]], [made[4], made[2], made[0], made[3], made[1]]]
    found = [reduce(add, order) for order in orders] + [(made[0] + made[1]) + (made[2] + (made[3] + made[4]))]
    assert all(one == found[0] for one in found)
    assert (len(found[0]) > 8) == (room >= found[0].refined)


@settings(max_examples=100)
@given(st.lists(ROWS, min_size=1, max_size=8), MOST, st.booleans(), st.sampled_from([1, 5, 20]))
def test_counting_batch_after_batch_is_counting_everything_at_once(parts, most, weighted, chunk):
    counter = BinCounter(2, most, weighted, chunk=chunk)
    for part in parts:
        scores, positive, _ = zip(*part, strict=True)
        weight = np.arange(1.0, len(part) + 1) if weighted else None
        counter.add(np.array(scores), np.array(positive), weight)
    rows = [(score, label, at + 1.0) for part in parts for at, (score, label, _) in enumerate(part)]
    assert counter.bins() == held(rows, most, weighted=weighted)


@settings(max_examples=100)
@given(ROWS, MOST, st.lists(SCORES, max_size=6), st.booleans())
def test_counts_at_the_thresholds_of_bins_are_exact_and_bounded_inside(rows, most, thresholds, swapped):
    ranking = held(rows, most).ranking(1)
    cases = [(score + 0.0, label) for score, label, _ in rows]
    if swapped:
        ranking, cases = ranking.swapped(), [(-score, not label) for score, label in cases]
    ends = [] if ranking.ends is None else ranking.ends.tolist()
    at = [*ranking.scores.tolist(), *ends, *thresholds, *(score for score, _ in cases)]
    for place, threshold in enumerate(at):
        tp = sum(label and score >= threshold for score, label in cases)
        fp = sum(not label and score >= threshold for score, label in cases)
        low_tp, high_tp, low_fp, high_fp = ranking.between(threshold)
        assert low_tp <= tp <= high_tp
        assert low_fp <= fp <= high_fp
        if place < len(ranking):
            assert (tp, fp) == (low_tp, low_fp) == (high_tp, high_fp) == (ranking.tp[place], ranking.fp[place])


@settings(max_examples=100)
@given(ROWS, ROWS, MOST)
def test_rankings_of_bins_merge_and_swap_within_their_bounds(one, two, most):
    assume(one and two)
    both = held(one, most).ranking(1) + held(two, most).ranking(1)
    rows = one + two
    value = exact_areas(rows)["average_precision"]
    if value is not None and both.joined is not None and both.joined.any():
        low, high = bounds(both, "average_precision")
        assert Fraction(low) <= value <= Fraction(high)
    back = both.swapped().swapped()
    assert back == both
    exact = ScoreBins.of([s for s, _, _ in rows], [int(p) for _, p, _ in rows], 2)
    for score in exact.low.tolist():
        low_tp, high_tp, low_fp, high_fp = both.between(score)
        assert low_tp <= sum(p and s >= score for s, p, _ in rows) <= high_tp
        assert low_fp <= sum(not p and s >= score for s, p, _ in rows) <= high_fp


@settings(max_examples=100)
@given(ROWS, MOST, st.lists(SCORES, min_size=1, max_size=6))
def test_a_table_of_thresholds_does_not_pretend_inside_bins(rows, most, thresholds):
    made = threshold_table(held(rows, most).ranking(1), thresholds)
    for row in made.rows():
        tp = sum(label and score >= row["threshold"] for score, label, _ in rows)
        fp = sum(not label and score >= row["threshold"] for score, label, _ in rows)
        assert row["tp"] <= tp <= row.get("tp_most", row["tp"])
        assert row["fp"] <= fp <= row.get("fp_most", row["fp"])
    assert ("at most" in str(made)) == (made.more_tp is not None) == ("tp_most" in made.rows()[0])


@settings(max_examples=60)
@given(ROWS, MOST)
def test_points_of_curves_at_the_thresholds_of_bins_are_points_of_the_exact_curves(rows, most):
    positives = sum(label for _, label, _ in rows)
    assume(0 < positives < len(rows))
    ranking = held(rows, most).ranking(1)
    for curve in (roc(ranking, bands=None), precision_recall(ranking, bands=None)):
        for threshold, x, y in zip(curve.threshold.tolist(), curve.x.tolist(), curve.y.tolist(), strict=True):
            tp = sum(label and score >= threshold for score, label, _ in rows)
            fp = sum(not label and score >= threshold for score, label, _ in rows)
            tpr, fpr = tp / positives, fp / (len(rows) - positives)
            if curve.kind == "roc":
                assert (x, y) == pytest.approx((fpr, tpr), abs=1e-15)
            else:
                assert x == pytest.approx(tpr, abs=1e-15)
                # Where nothing is called positive there is no precision to compare with.
                assert not tp + fp or y == pytest.approx(tp / (tp + fp), abs=1e-15)
