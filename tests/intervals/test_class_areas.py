"""Averaged areas from bins of every column: those of rows, with limits that are never narrower."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import t as student
from sklearn.metrics import roc_auc_score

from heldout.api.count import count
from heldout.api.evaluate import evaluate
from heldout.evidence.counted import MOST_PAIRWISE, ScoreTally
from heldout.evidence.score_bins import ScoreBins
from heldout.intervals.multiclass_areas import AT_MOST, AVERAGES, areas_of_bins, multiclass_areas
from heldout.measures.certified import bounds
from heldout.measures.rest_columns import find_rest_columns

Floats = NDArray[np.float64]


def bins_of_columns(scores: Floats, codes: NDArray[np.int64], **more: Any) -> tuple[ScoreBins, ...]:
    k = scores.shape[1]
    return tuple(ScoreBins.of(scores[:, place], codes, k, **more) for place in range(k))


@st.composite
def scored_cases(draw: st.DrawFn) -> tuple[Floats, NDArray[np.int64], Floats, NDArray[np.int64]]:
    """Scores with ties, classes of which some may be absent, weights and groups."""
    random = np.random.default_rng(draw(st.integers(0, 10_000)))
    k, n = draw(st.integers(2, 5)), draw(st.integers(2, 40))
    codes = random.integers(0, draw(st.integers(1, k)), n)
    scores = random.integers(0, draw(st.sampled_from([2, 5, 1000])), (n, k)) / 8.0
    scores[np.arange(n), codes] += draw(st.sampled_from([0.0, 0.5, 200.0]))
    return scores, codes, random.integers(1, 17, n) / 8, random.integers(0, draw(st.integers(1, 12)), n)


@settings(max_examples=60, deadline=None)
@given(scored_cases(), st.booleans())
def test_values_are_those_of_rows_and_standard_errors_no_less(
    cases: tuple[Floats, NDArray[np.int64], Floats, NDArray[np.int64]], weighted: bool
) -> None:
    scores, codes, weight, _ = cases
    held = weight if weighted else None
    rows = multiclass_areas(scores, codes, scores.shape[1], AVERAGES, weight=held)
    bins = areas_of_bins(bins_of_columns(scores, codes, weight=held), 0.95)
    for one, two in zip(rows, bins, strict=True):
        assert (two.average, two.smallest, two.absent) == (one.average, one.smallest, one.absent)
        assert two.value == pytest.approx(one.value, rel=1e-12, nan_ok=True)
        assert two.method == AT_MOST
        assert two.standard_error >= one.standard_error * (1 - 1e-9) - 1e-12
        assert two.low <= one.low + 1e-9
        assert two.high >= one.high - 1e-9


@settings(max_examples=60, deadline=None)
@given(scored_cases(), st.booleans())
def test_with_groups_the_limits_are_those_of_rows(
    cases: tuple[Floats, NDArray[np.int64], Floats, NDArray[np.int64]], weighted: bool
) -> None:
    scores, codes, weight, group = cases
    held = weight if weighted else None
    keys, code = np.unique(group, return_inverse=True)
    rows = multiclass_areas(scores, codes, scores.shape[1], AVERAGES, weight=held, group=code)
    bins = areas_of_bins(bins_of_columns(scores, codes, weight=held, group=(code, keys)), 0.95)
    for one, two in zip(rows, bins, strict=True):
        assert two.method == one.method
        assert (two.value, two.standard_error) == pytest.approx((one.value, one.standard_error), abs=1e-10, nan_ok=True)
        assert (two.low, two.high) == pytest.approx((one.low, one.high), abs=1e-7, nan_ok=True)


def test_the_bound_is_the_sum_of_what_single_columns_give() -> None:
    """Of three classes the macro area is a mean, so its standard error is at most the mean of theirs."""
    random = np.random.default_rng(5)
    codes = random.integers(0, 3, 500)
    scores = random.normal(size=(500, 3))
    scores[np.arange(500), codes] += 1.0
    (macro, *_) = areas_of_bins(bins_of_columns(scores, codes), 0.95)
    singles = []
    for place in range(3):
        alone = np.zeros_like(scores)
        alone[:, place] = scores[:, place]
        (found, *_) = multiclass_areas(alone, codes, 3)
        singles.append(found.standard_error)
    # A column without scores has an area of one half for certain, so each macro average has one column's error.
    assert macro.standard_error == pytest.approx(sum(singles), rel=1e-9)


def test_many_classes_against_the_rest_have_the_area_of_sklearn_and_delongs_error() -> None:
    draw = np.random.default_rng(21)
    k = MOST_PAIRWISE + 5
    truth = np.concatenate([np.arange(k), np.arange(k), draw.integers(0, k, 600)])
    score = draw.random((len(truth), k)).round(2) + 0.01
    score[np.arange(len(truth)), truth] += 0.4
    score /= score.sum(axis=1, keepdims=True)
    found = evaluate(count(truth, score=score))["macro roc_auc"]
    assert found.value == pytest.approx(roc_auc_score(truth, score, multi_class="ovr"), abs=1e-12)
    # The standard error is at most the mean of those of the classes, each by the placements of both sides.
    errors = []
    for label in range(k):
        own, rest = score[truth == label, label], score[truth != label, label]
        above = (own[:, None] > rest).astype(float) + 0.5 * (own[:, None] == rest)
        sides = above.mean(axis=1).var(ddof=1) / len(own), above.mean(axis=0).var(ddof=1) / len(rest)
        errors.append(np.sqrt(sum(sides)))
    half = student.ppf(0.975, np.bincount(truth).min() - 1) * np.mean(errors) / (found.value * (1 - found.value))
    low, high = (1 / (1 + np.exp(-(np.log(found.value / (1 - found.value)) + sign * half))) for sign in (-1, 1))
    assert (found.low, found.high) == pytest.approx((low, high), rel=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_columns_against_the_rest_are_each_what_their_bins_say(weighted: bool) -> None:
    random = np.random.default_rng(3)
    columns = []
    # Columns of several lengths; the last but one has no case of its class, and the last none of the rest.
    for n, share in ((900, 0.3), (40, 0.5), (3000, 0.02), (70, 0.0), (5, 1.0)):
        own, weight = (random.random(n) < share).astype(np.int64), random.integers(1, 9, n) / 4
        scores = random.normal(size=n) + own
        columns.append(ScoreBins.of(scores, own, 2, weight=weight if weighted else None, most=64))
    found = find_rest_columns(ScoreTally(tuple(columns)))
    for at, bins in enumerate(columns):
        held = bins.counts.astype(float) if bins.weights is None else bins.weights
        rest, own = held.T
        assert found.totals[at] == own.sum()
        assert found.cases[at] == bins.counts[:, 1].sum()
        if not (rest.sum() and own.sum()):
            assert np.isnan([found.middles[at], *found.areas[:, at]]).all()
            continue
        pairs = np.outer(own, rest) / own.sum() / rest.sum()
        # Pairs within a bin count half, and within one of several scores anything from nothing to all.
        middle, inside = np.tril(pairs, -1).sum() + np.trace(pairs) / 2, float(np.diag(pairs) @ bins.joined)
        assert found.middles[at] == pytest.approx(middle, rel=1e-12)
        assert found.areas[:, at] == pytest.approx([middle - inside / 2, middle + inside / 2], rel=1e-9)
        low, high = bounds(bins.ranking(1), "average_precision")
        assert found.precisions[:, at] == pytest.approx([low, high], rel=1e-12)
