"""One packed sort gives exactly the distinct scores and their counts, for every kind of number."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import roc_auc_score

from heldout.engines import score_sort as engine
from heldout.engines.score_sort import BLOCK, PARTED, order_scores, rank
from heldout.errors import ValuesError
from heldout.intervals.areas import placement_spreads
from heldout.intervals.multiclass_areas import multiclass_areas
from heldout.measures.ranking_batch import lost_pairs, precision_sums
from heldout.threads import use_threads

# Next to each other, next to 0, and the largest: nothing may be rounded away.
EDGES = [0.0, -0.0, 5e-324, -5e-324, 1.0, np.nextafter(1.0, 2.0), np.nextafter(1.0, 0.0), -1.0, 1e308, -1e308, 0.1]


def unique_counts(scores, positive):
    distinct, where = np.unique(scores.astype(np.float64) + 0.0, return_inverse=True)
    columns = [np.bincount(where[mask], minlength=len(distinct))[::-1] for mask in (positive, ~positive)]
    return distinct[::-1], *columns


def assert_exact(scores, positive):
    seen = rank(scores, positive)
    expected = unique_counts(scores, positive)
    assert seen.scores.dtype == np.float64
    for found, right in zip((seen.scores, seen.positives, seen.negatives), expected, strict=True):
        np.testing.assert_array_equal(found, right)
    assert not np.signbit(seen.scores[seen.scores == 0]).any()


@given(st.lists(st.tuples(st.sampled_from(EDGES), st.booleans()), max_size=60))
def test_edges_of_the_floats(rows):
    assert_exact(np.array([r[0] for r in rows], dtype=float), np.array([r[1] for r in rows], dtype=bool))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, ">f8"])
@given(data=st.data())
def test_floats_of_every_width(dtype, data):
    n = data.draw(st.integers(0, 50))
    width = np.dtype(dtype).itemsize * 8
    finite = st.floats(allow_nan=False, allow_infinity=False, width=width)
    scores = data.draw(arrays(dtype, n, elements=finite))
    assert_exact(scores, data.draw(arrays(np.bool_, n)))


@pytest.mark.parametrize("n", [1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 17])
@pytest.mark.parametrize("kind", ["distinct", "signs", "rounded", "constant", "long ties", "single", "whole"])
def test_blocks_meet(n, kind):
    rng = np.random.default_rng([5, n])
    scores = {
        "distinct": rng.random(n),
        "signs": rng.normal(size=n),
        "rounded": rng.normal(size=n).round(2),
        "constant": np.full(n, -0.5),
        # A tie longer than a block, between others.
        "long ties": np.where(np.arange(n) < 2 * BLOCK, 0.5, rng.random(n)),
        "single": rng.normal(size=n).astype(np.float32),
        "whole": rng.integers(-40, 40, size=n),
    }[kind]
    assert_exact(scores, rng.random(n) < 0.3)


def test_strided_input():
    rng = np.random.default_rng(2)
    scores, positive = rng.normal(size=3000).round(1), rng.random(3000) < 0.5
    seen = rank(scores[::-3], positive[::-3])
    same = rank(scores[::-3].copy(), positive[::-3].copy())
    assert seen == same
    assert_exact(scores[::-3], positive[::-3])


def test_both_sorts_give_the_same(monkeypatch):
    rng = np.random.default_rng(3)
    scores, positive = rng.normal(size=20_000).round(3), rng.random(20_000) < 0.4
    monkeypatch.setattr(engine, "MANY", 1)
    by_polars = rank(scores, positive)
    monkeypatch.setattr(engine, "MANY", 10**9)
    monkeypatch.setattr(engine, "FEW", 10**9)
    assert by_polars == rank(scores, positive)


def test_a_small_ranking_does_not_import_polars():
    code = (
        "import sys, numpy as np; from heldout.engines.score_sort import rank;"
        "rank(np.arange(9.0), np.arange(9) > 4); sys.exit('polars' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weight", [None, np.ones(BLOCK + 10)])
def test_scores_that_are_not_finite_are_refused(bad, dtype, weight):
    scores = np.linspace(-1, 1, BLOCK + 10, dtype=dtype)
    scores[[BLOCK + 3, BLOCK + 5]] = bad
    with pytest.raises(ValuesError) as caught:
        rank(scores, scores > 0, weight=weight)
    assert caught.value.what == (
        f"Scores must be finite numbers. 2 of {BLOCK + 10:,} are not; the first is {bad} in row {BLOCK + 4:,}."
    )
    assert caught.value.hint


def test_counts_are_bytes_until_they_do_not_fit():
    at_most = rank(np.repeat([0.2, 0.4], [255, 10]), np.arange(265) < 3)
    assert at_most.negatives.dtype == np.uint8
    more = rank(np.repeat([0.2, 0.4, 0.6], [256, 10, 1]), np.zeros(267, dtype=bool))
    assert more.negatives.dtype == np.int64
    assert more.negatives.tolist() == [1, 10, 256]
    mixed = rank(np.full(256, 0.5), np.arange(256) < 100)
    assert (mixed.positives + mixed.negatives).tolist() == [256]


@given(
    arrays(np.int64, 30, elements=st.integers(0, 5)),
    arrays(np.bool_, 30),
    arrays(np.int64, 30, elements=st.integers(0, 4)),
)
def test_weights_are_repetition(scores, positive, times):
    weighted = rank(scores, positive, weight=times.astype(np.float64))
    repeated = rank(np.repeat(scores, times), np.repeat(positive, times))
    there = (weighted.positives + weighted.negatives) > 0
    np.testing.assert_array_equal(weighted.scores[there], repeated.scores)
    np.testing.assert_array_equal(weighted.positives[there], repeated.positives)
    np.testing.assert_array_equal(weighted.negatives[there], repeated.negatives)


@given(
    arrays(np.int64, 30, elements=st.integers(0, 5)),
    arrays(np.bool_, 30),
    arrays(np.int64, 30, elements=st.integers(0, 4)),
)
def test_groups_add_up_to_the_ranking(scores, positive, codes):
    seen = rank(scores, positive, group=(codes, np.arange(5)))
    assert replace(seen, groups=None) == rank(scores, positive)
    groups = seen.groups
    assert groups is not None
    for mine, of_groups in ((seen.positives, groups.positives), (seen.negatives, groups.negatives)):
        np.testing.assert_array_equal(mine, np.bincount(groups.place, weights=of_groups, minlength=len(seen)))
    in_group = np.bincount(codes, weights=positive, minlength=5)
    np.testing.assert_array_equal(in_group, np.bincount(groups.group, weights=groups.positives, minlength=5))


@pytest.mark.parametrize("kind", ["logistic", "single", "signs", "few", "constant"])
def test_any_number_of_threads_gives_the_same_ranking_and_the_same_sums(kind):
    n = PARTED + 4321
    rng = np.random.default_rng(8)
    positive = rng.random(n) < 0.3
    scores = {
        "logistic": 1 / (1 + np.exp(-(rng.normal(size=n) + 1.5 * positive - 1))),
        "single": rng.beta(0.05, 0.05, n).astype(np.float32),
        "signs": rng.normal(size=n),
        "few": rng.integers(0, 3, n) / 2,
        "constant": np.full(n, 0.25),
    }[kind]
    pl.Series([1]).sort()
    seen = []
    for threads in (1, 2, 7):
        with use_threads(threads):
            ranked = rank(scores, positive)
            sums = float(lost_pairs(ranked)), precision_sums(ranked), placement_spreads(ranked)
        seen.append((ranked, sums))
    for ranked, sums in seen[1:]:
        assert ranked == seen[0][0]
        assert ranked.positives.dtype == seen[0][0].positives.dtype
        assert repr(sums) == repr(seen[0][1])
    assert_exact(scores, positive)


@pytest.mark.parametrize("kind", ["close", "rounded", "signs", "single"])
def test_rows_are_ordered_by_score_and_then_by_row(kind):
    n = 5000
    rng = np.random.default_rng(11)
    scores = {
        # They differ in the last bits only, where the rows stand.
        "close": 1 - rng.beta(0.05, 0.05, n) * 1e-9,
        "rounded": rng.random(n).round(2),
        "signs": np.where(rng.random(n) < 0.2, -0.0, rng.normal(size=n) * 1e-300),
        "single": rng.beta(0.05, 0.05, n).astype(np.float32),
    }[kind]
    order, ordered = order_scores(scores)
    np.testing.assert_array_equal(order, np.argsort(scores + 0.0, kind="stable"))
    np.testing.assert_array_equal(ordered, scores[order] + 0.0)


@pytest.mark.parametrize("weighted", [False, True])
def test_areas_of_several_classes_are_the_same_by_any_number_of_threads(weighted):
    n, k = 6000, 5
    rng = np.random.default_rng(12)
    codes, scores = rng.integers(0, k, n), rng.random((n, k)).round(3)
    weight = rng.random(n) if weighted else None
    seen = []
    for threads in (1, 2, 7):
        with use_threads(threads):
            seen.append(repr(multiclass_areas(scores, codes, k, weight=weight)))
    assert seen[0] == seen[1] == seen[2]
    if not weighted:
        expected = roc_auc_score(codes, scores / scores.sum(axis=1, keepdims=True), multi_class="ovr")
        normal = multiclass_areas(scores / scores.sum(axis=1, keepdims=True), codes, k)
        assert normal[0].value == pytest.approx(expected, abs=1e-12)
