"""A bin that is divided at a threshold at which the counts are known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heldout.evidence.ranking import Ranking, split_at
from heldout.evidence.score_bins import ScoreBins


@given(
    st.lists(st.tuples(st.integers(0, 64), st.booleans()), min_size=2, max_size=40),
    st.integers(-1, 66),
    st.sampled_from([1, 2, 5]),
)
def test_counts_are_exact_at_the_threshold_and_as_before_elsewhere(
    rows: list[tuple[int, bool]], threshold: int, most: int
) -> None:
    scores, truth = np.array([row[0] for row in rows], dtype=float), np.array([row[1] for row in rows])
    ranking = ScoreBins.of(scores, truth, 2, most=most).ranking(1)
    called = scores >= threshold
    tp, fp = int((called & truth).sum()), int((called & ~truth).sum())
    made = split_at(ranking, threshold, tp, fp)
    assert made is not None
    assert made.between(threshold) == (tp, tp, fp, fp)
    assert (np.diff(made.scores) < 0).all()
    kept = np.isin(made.scores, ranking.scores)
    assert (made.tp[kept].tolist(), made.fp[kept].tolist()) == (ranking.tp.tolist(), ranking.fp.tolist())


def test_weights_and_groups_keep_a_bin_whole() -> None:
    weighted = ScoreBins.of([0.1, 0.2, 0.3], [0, 1, 1], 2, weight=np.ones(3), most=1).ranking(1)
    assert split_at(weighted, 0.25, 1.0, 0.0) is None
    assert split_at(weighted, -5.0, 2.0, 1.0) is weighted


def test_a_ranking_of_single_scores_is_left_as_it_is() -> None:
    seen = Ranking(np.array([0.9, 0.4]), np.array([1, 1]), np.array([0, 2]))
    assert split_at(seen, 0.5, 1, 0) is seen


@pytest.mark.parametrize("threshold", [0.5, 0.75])
def test_the_parts_meet_at_the_threshold(threshold: float) -> None:
    made = split_at(ScoreBins.of([0.25, 0.6, 0.8, 0.9], [0, 0, 1, 1], 2, most=1).ranking(1), threshold, 2, 1)
    assert made is not None
    assert made.ends is not None
    assert made.ends[1:].tolist() == made.scores[:-1].tolist()
