"""Files are counted by any number of threads to the same evidence, whatever the columns of the rows are."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import polars as pl
import pytest
from tests.engines.streaming import parts, streamed

from heldout.engines import score_tallies
from heldout.evidence.score_bins import ScoreBins
from heldout.threads import cached_property, use_threads

N = 12_000


def rows(classes: int) -> pl.DataFrame:
    """Rows of two classes with one score, or of more with one for each; weights whose sums depend on their order."""
    rng = np.random.default_rng(classes)
    truth = rng.integers(0, classes, N)
    logits = rng.normal(size=(N, classes))
    logits[np.arange(N), truth] += 1.5
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    scores = {"score": p[:, 1]} if classes == 2 else {f"p_{at}": p[:, at] for at in range(classes)}
    columns = {"truth": truth, "predicted": p.argmax(axis=1), **scores, "weight": rng.random(N)}
    return pl.DataFrame(columns | {"fold": rng.integers(0, 3, N), "region": rng.choice(["n", "s", "w"], N)})


CASES = {
    "weights": (2, {"weight": "weight"}),
    "folds": (2, {"fold": "fold"}),
    "slices": (2, {"slices": "region"}),
    "weights, folds and slices": (2, {"weight": "weight", "fold": "fold", "slices": "region"}),
    "several classes": (4, {}),
    "several classes with weights and folds": (4, {"weight": "weight", "fold": "fold"}),
}


@pytest.mark.parametrize("case", CASES)
def test_any_number_of_threads_gives_the_same_evidence_to_the_last_bit(case, tmp_path, monkeypatch):
    # Far fewer bins than distinct scores, so that bins are shared and looked into again.
    monkeypatch.setattr("heldout.evidence.counted.MOST", 300)
    monkeypatch.setattr("heldout.evidence.counted.LEAST_BINS", 100)
    classes, options = CASES[case]
    frame = rows(classes)
    folder = parts(frame, tmp_path / "preds", 3)
    made = {}
    for threads in (1, 2, 3, 8, 16):
        with use_threads(threads):
            made[threads] = streamed(folder, 700, tolerance=1e-4, passes=2, score=None, **dict(options))[0]
        assert made[threads].differing(made[1]) == ()
    assert made[1].n == N
    assert not made[1].scores.bins[0].exact


@pytest.mark.parametrize("fold", [None, "fold"])
@pytest.mark.parametrize("lanes", [1, 4])
def test_weighted_bins_are_those_of_all_rows_at_once(fold, lanes, tmp_path, monkeypatch):
    monkeypatch.setattr("heldout.evidence.counted.MOST", 300)
    monkeypatch.setattr(score_tallies, "LANES", lanes)
    frame = rows(2)
    made = streamed(parts(frame, tmp_path / "preds", 3), 700, passes=1, weight="weight", fold=fold)[0]
    truth, score, weight, folds = (frame[name].to_numpy() for name in ("truth", "score", "weight", "fold"))
    every = [(made.scores, np.ones(N, dtype=bool))]
    every += [(part, folds == key) for part, key in zip(made.fold_scores, (0, 1, 2), strict=bool(fold))]
    for tally, own in every[: 4 if fold else 1]:
        expected = ScoreBins.of(score[own], truth[own], 2, weight=weight[own], most=300)
        (bins,) = tally.bins
        assert np.array_equal(bins.low, expected.low)
        assert np.array_equal(bins.counts, expected.counts)
        assert bins.weights == pytest.approx(expected.weights, rel=1e-12)
        assert bins.squares == pytest.approx(expected.squares, rel=1e-12)


def test_an_interrupt_while_workers_are_started_leaves_none_that_python_waits_for():
    program = """
import threading
from heldout.threads import share_out, use_threads

start = threading.Thread.start

def interrupted(thread):
    start(thread)
    if threading.current_thread() is threading.main_thread():
        raise KeyboardInterrupt

threading.Thread.start = interrupted
with use_threads(2):
    try:
        share_out(sum, [[1], [2]])
    except KeyboardInterrupt:
        print("interrupted")
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert ended.stdout == "interrupted\n"


def test_a_system_that_starts_no_more_threads_leaves_the_work_to_the_caller():
    program = """
import threading
from heldout.threads import share_in_turn, share_out, use_threads

start = threading.Thread.start

def limited(thread):
    if threading.active_count() > 2:
        raise RuntimeError("can't start new thread")
    start(thread)

threading.Thread.start = limited
with use_threads(3):
    print(share_out(sum, [[1], [2], [3]]), list(share_in_turn(sum, [[4], [5]])))
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert ended.stdout == "[1, 2, 3] [4, 5]\n"


class Met:
    """What two threads ask for at the same time, of two instances."""

    def __init__(self, barrier: threading.Barrier) -> None:
        self.barrier = barrier

    @cached_property
    def value(self) -> int:
        """Made only when the other thread is making it too."""
        return self.barrier.wait(timeout=20)


def test_what_is_kept_of_one_instance_does_not_wait_for_another():
    barrier = threading.Barrier(2)
    instances = [Met(barrier) for _ in range(2)]
    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(lambda met: met.value, instances)) == [0, 1]
    assert sorted(met.value for met in instances) == [0, 1]
