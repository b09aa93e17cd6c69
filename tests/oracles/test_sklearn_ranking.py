"""scikit-learn's areas and curves, with ties and weights."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, precision_recall_curve, roc_auc_score, roc_curve

from heldout.engines.score_sort import rank
from heldout.measures.quantity import Bound
from heldout.measures.ranking import average_precision, corrected_partial_auc, roc_auc

NEAR = 1e-12
few_scores = st.sampled_from([-2.0, -0.5, 0.0, 0.125, 0.3, 0.7, 1.0])
any_scores = st.floats(-1e3, 1e3, allow_subnormal=False)
rows = st.lists(st.tuples(few_scores | any_scores, st.booleans(), st.floats(0.01, 10)), min_size=2, max_size=60)


def made(drawn, *, weighted):
    scores, positive, weight = (np.array(column) for column in zip(*drawn, strict=True))
    assume(positive.any() and not positive.all())
    held = weight if weighted else None
    return scores, positive, held, rank(scores, positive, weight=held)


@pytest.mark.parametrize("weighted", [False, True])
@given(drawn=rows)
@settings(max_examples=60, deadline=None)
def test_areas(weighted, drawn):
    scores, positive, weight, seen = made(drawn, weighted=weighted)
    cells = {"ranking": seen}
    assert Bound(roc_auc).value(cells) == pytest.approx(
        roc_auc_score(positive, scores, sample_weight=weight), rel=0, abs=NEAR
    )
    assert Bound(average_precision).value(cells) == pytest.approx(
        average_precision_score(positive, scores, sample_weight=weight), rel=0, abs=NEAR
    )


@given(drawn=rows, high=st.floats(0.05, 0.95))
@settings(max_examples=60, deadline=None)
def test_partial_area(drawn, high):
    scores, positive, _, seen = made(drawn, weighted=False)
    # Where the range ends at a rate of the curve, scikit-learn may take a vertical step at its lower end.
    assume(np.abs(seen.fp / seen.n_negative - high).min() > 1e-9)
    ours = Bound(corrected_partial_auc, {"low": 0.0, "high": high}).value({"ranking": seen})
    assert ours == pytest.approx(roc_auc_score(positive, scores, max_fpr=high), rel=0, abs=NEAR)


@pytest.mark.parametrize("weighted", [False, True])
@given(drawn=rows)
@settings(max_examples=60, deadline=None)
def test_curves_point_by_point(weighted, drawn):
    scores, positive, weight, seen = made(drawn, weighted=weighted)
    fpr, tpr, thresholds = roc_curve(positive, scores, sample_weight=weight, drop_intermediate=False)
    np.testing.assert_array_equal(thresholds[1:], seen.scores)
    assert tpr[1:] == pytest.approx(seen.tp / seen.n_positive, rel=0, abs=NEAR)
    assert fpr[1:] == pytest.approx(seen.fp / seen.n_negative, rel=0, abs=NEAR)
    precision, recall, thresholds = precision_recall_curve(positive, scores, sample_weight=weight)
    np.testing.assert_array_equal(thresholds[::-1], seen.scores)
    assert precision[:-1][::-1] == pytest.approx(seen.tp / (seen.tp + seen.fp), rel=0, abs=NEAR)
    assert recall[:-1][::-1] == pytest.approx(seen.tp / seen.n_positive, rel=0, abs=NEAR)


def test_a_large_sample():
    rng = np.random.default_rng(7)
    positive = rng.random(200_000) < 0.2
    scores = (rng.normal(size=200_000) + positive).astype(np.float32)
    cells = {"ranking": rank(scores, positive)}
    assert Bound(roc_auc).value(cells) == pytest.approx(roc_auc_score(positive, scores), rel=0, abs=NEAR)
    assert Bound(average_precision).value(cells) == pytest.approx(
        average_precision_score(positive, scores), rel=0, abs=NEAR
    )
