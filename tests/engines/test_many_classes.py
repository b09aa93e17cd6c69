"""Scores for each of very many classes: each class against the rest is kept, in memory that is bounded."""

from __future__ import annotations

import tracemalloc

import numpy as np
import polars as pl
import pytest

import heldout
from heldout import Evidence, evaluate
from heldout.engines import row_buffer
from heldout.evidence.counted import MOST_PAIRWISE

K, N = 60, 2400
RNG = np.random.default_rng(11)
LABELS = [f"c{at:02}" for at in range(K)]
CODES = np.concatenate([np.arange(K), RNG.integers(0, K, N - K)])
TRUTH = np.array(LABELS)[CODES]
SCORES = RNG.dirichlet(np.ones(K), N)
SCORES[np.arange(N), CODES] += 0.02
SCORES /= SCORES.sum(axis=1, keepdims=True)
GROUP = RNG.integers(0, 300, N)
WEIGHT = RNG.integers(1, 5, N) / 2
AVERAGES = ["macro roc_auc", "weighted roc_auc"]


@pytest.mark.parametrize("other", [{}, {"weight": WEIGHT}, {"group": GROUP}], ids=["plain", "weight", "group"])
def test_averages_against_the_rest_are_those_of_the_rows_and_their_limits_no_narrower(other):
    rows = evaluate(TRUTH, score=SCORES, labels=LABELS, **other)
    counts = evaluate(heldout.count(TRUTH, score=SCORES, labels=LABELS, **other))
    for name in AVERAGES:
        one, two = rows[name], counts[name]
        assert two.value == pytest.approx(one.value, abs=1e-12)
        # Of groups the error is known, of single cases what it is at most; the rest is one class and not many.
        slack = 2e-4 if "group" in other else 1e-4
        assert two.low <= one.low + slack
        assert two.high >= one.high - slack
        if "group" in other:
            assert (two.low, two.high) == pytest.approx((one.low, one.high), abs=slack)
    for label in LABELS[:3]:
        assert counts[f"roc_auc[{label}]"].value == pytest.approx(rows[f"roc_auc[{label}]"].value, abs=1e-12)


def test_pairs_of_very_many_classes_are_undefined_with_the_reason():
    counts = evaluate(heldout.count(TRUTH, score=SCORES, labels=LABELS))
    found = counts["hand_till_auc"]
    assert np.isnan(found.value)
    assert f"more than {MOST_PAIRWISE} classes" in found.undefined
    few = evaluate(heldout.count(CODES % 3, score=SCORES[:, :3], labels=[0, 1, 2]))
    assert few["hand_till_auc"].undefined == ""


def test_every_engine_keeps_the_same(tmp_path):
    frame = pl.DataFrame({"truth": TRUTH, **{f"p_{label}": SCORES[:, at] for at, label in enumerate(LABELS)}})
    names = [f"p_{label}" for label in LABELS]
    whole = heldout.count(TRUTH, score=SCORES, labels=LABELS).counted.scores
    assert whole is not None
    for at in range(2):
        frame[at * N // 2 : (at + 1) * N // 2].write_parquet(tmp_path / f"{at}.parquet")
    streamed = heldout.count(tmp_path, truth="truth", score=names, labels=LABELS).counted
    lazy = heldout.count(frame.lazy(), truth="truth", score=names, labels=LABELS).counted
    for found in (streamed, lazy):
        assert found.scores is not None
        assert found.scores.bins == whole.bins
        assert [bins.k for bins in found.scores.bins] == [2] * K


def test_evidence_of_very_many_classes_is_saved_and_merged(tmp_path):
    halves = [heldout.count(TRUTH[rows], score=SCORES[rows], labels=LABELS) for rows in np.array_split(np.arange(N), 2)]
    for at, half in enumerate(halves):
        half.save(tmp_path / f"{at}.evidence")
    both = Evidence.load(tmp_path / "0.evidence") + Evidence.load(tmp_path / "1.evidence")
    merged, whole = both.counted.scores, heldout.count(TRUTH, score=SCORES, labels=LABELS).counted.scores
    assert merged is not None
    assert whole is not None
    assert merged.bins == whole.bins


def test_batches_of_300_classes_are_counted_in_bounded_memory(monkeypatch):
    monkeypatch.setattr(row_buffer, "SCORES_AT_ONCE", 1 << 18)
    rng = np.random.default_rng(0)
    k, seen = 300, Evidence(labels=list(range(300)))
    tracemalloc.start()
    for _ in range(40):
        scores = rng.random((64, k))
        seen.update(rng.integers(0, k, 64), score=scores / scores.sum(axis=1, keepdims=True))
        assert seen._grown.waiting_rows * k < (1 << 18)
    counted = seen.counted
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert counted.n == 40 * 64
    # A row for each score of each class, twice while they are merged: a count for every class would be 1.8 GB.
    assert peak < 300 << 20
