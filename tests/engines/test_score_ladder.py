"""Scores of two classes on the ladder of bins: the same by any batches and threads, and certain in one reading."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from functools import reduce
from operator import add

import numpy as np
import polars as pl
import pytest
from tests.engines.streaming import parts, streamed

from heldout.engines import compiled, score_ladder
from heldout.engines.bins import bins_of
from heldout.engines.compiled import CompiledTally
from heldout.engines.probability_sums import LONG_BLOCK, tally
from heldout.engines.refinement import refine
from heldout.engines.score_ladder import LadderCells, ScoreLadder
from heldout.evidence.bin_grid import Ladder, ends_of, floor_to
from heldout.evidence.consistency import _grid_faults, impossible
from heldout.evidence.losses import least_probability
from heldout.evidence.score_bins import MOST
from heldout.threads import use_threads

DISTRIBUTIONS = ["uniform", "logistic", "confident", "logistic32", "thousand"]


def drawn(kind, n, seed=0):
    """Scores as classifiers give them, and the classes."""
    rng = np.random.default_rng(seed)
    truth = rng.random(n) < 0.3
    if kind.startswith("logistic"):
        score = 1 / (1 + np.exp(-(rng.normal(size=n) + 1.5 * truth - 1)))
        return score.astype(np.float32 if kind == "logistic32" else np.float64), truth
    score = {
        "uniform": rng.random(n),
        "confident": rng.beta(0.05, 0.05, n),
        "thousand": rng.integers(0, 1000, n) / 999,
        "beyond": rng.normal(size=n),
        "late": np.where(np.arange(n) < n // 2, rng.integers(0, 9, n) / 8, rng.random(n)),
    }[kind]
    return score, rng.random(n) < 0.02 + 0.96 * np.clip(score, 0, 1)


def everywhere(n=20_000):
    rng = np.random.default_rng(1)
    halves = 2.0 ** -rng.integers(0, 1074, 500)
    score = np.concatenate([rng.random(n), rng.beta(0.05, 0.05, n), halves, 1 - 2.0 ** -rng.integers(1, 60, 500)])
    odd = [0.0, -0.0, 1.0, 0.5, 2**-8, 1 - 2**-8, 5e-324, 2.0**-200, 1 - 2**-53]
    score = np.concatenate([score, odd])
    return np.concatenate([score, np.abs(np.nextafter(score, 0)), np.minimum(np.nextafter(score, 1), 1)])


@pytest.mark.parametrize("bits", [8, 11, 20])
def test_every_score_lies_in_the_bin_of_its_number_and_bins_are_of_the_grid(bits):
    ladder, score = Ladder(bits), everywhere()
    cells = ladder.cells(score)
    low, exponent = ladder.edges(cells)
    assert cells.min() == 0
    assert cells.max() == len(ladder) - 1
    assert np.array_equal(floor_to(score, exponent), low)
    assert (score < ends_of(low, exponent)).all()
    order = np.argsort(score)
    assert (np.diff(cells[order]) >= 0).all()
    _, first = np.unique(cells, return_index=True)
    assert (ends_of(low[first], exponent[first])[:-1] <= low[first][1:]).all()
    # As wide as said: 2**-bits, or a part of the distance from the nearer end that shrinks with it.
    distance = np.maximum(np.minimum(score, 1 - score), 2.0**-200)
    assert (np.ldexp(1.0, exponent) <= np.maximum(distance * 2.0 ** (8 - bits), 2.0**-53 * (score > 0.5))).all()
    assert exponent.max() == -bits


def test_the_ladder_has_room_among_the_bins_that_may_be_met():
    assert Ladder.of(MOST) == Ladder(20)
    assert Ladder.of(257) == Ladder(8)
    assert Ladder.of(256) is None


@pytest.mark.parametrize("kind", [*DISTRIBUTIONS, "beyond", "late"])
@pytest.mark.parametrize("enough", [300, 1 << 18])
def test_any_batches_give_the_same_evidence(kind, enough, monkeypatch):
    monkeypatch.setattr(score_ladder, "ENOUGH", enough)
    monkeypatch.setattr(score_ladder, "BLOCK", 700)
    score, truth = drawn(kind, 6000)
    made = []
    for batch, looked, order in ((300, 1.5, 1), (1700, 3.0, 1), (6000, 0.1, 1), (999, 1.5, -1)):
        monkeypatch.setattr(score_ladder, "FIRST_ROWS", looked)
        counter = ScoreLadder(300)
        for at in range(0, 6000, batch):
            counter.add(score[::order][at : at + batch], truth[::order][at : at + batch])
        made.append(counter.bins())
    assert all(bins == made[0] for bins in made)
    assert made[0].n == 6000
    assert (made[0].least, made[0].greatest) == (score.min(), score.max())
    assert not list(_grid_faults(made[0]))


@pytest.mark.parametrize("distinct", [3, 300, 301])
def test_as_many_distinct_scores_as_are_kept_are_exact(distinct, monkeypatch):
    monkeypatch.setattr(score_ladder, "ENOUGH", 100)
    rng = np.random.default_rng(2)
    # Some of them share bins, some lie beyond 0 and 1.
    values = np.concatenate([rng.random(distinct - 2), [0.25, 0.25 + 2**-40]])[:distinct]
    score = np.concatenate([values, rng.choice(values, 5000)])
    truth = rng.random(len(score)) < 0.5
    counter = ScoreLadder(300)
    for at in range(0, len(score), 250):
        counter.add(score[at : at + 250], truth[at : at + 250])
    assert counter.bins().exact == (distinct <= 300)
    if distinct <= 300:
        assert counter.bins() == bins_of(score, truth, 2, most=300)


@pytest.mark.parametrize("kind", DISTRIBUTIONS)
def test_scores_as_classifiers_give_them_need_one_reading(kind):
    # A 64th of the bins, and so a 64²th of 10**8 rows: bounds and standard errors are to each other as there.
    score, truth = drawn(kind, 10**8 // 64**2, seed=3)
    counter = ScoreLadder((1 << 14) + 1)
    counter.add(score, truth)
    bins = counter.bins()
    assert bins.exact == (kind == "thousand")
    assert not len(refine(bins, None))
    assert len(refine(bins, 1e-9)) or kind == "thousand"


def test_counters_that_run_over_count_on(monkeypatch):
    monkeypatch.setattr(score_ladder, "FULL", 1000)
    counter, score = ScoreLadder(300), np.repeat([0.25, 0.5], [1500, 300])
    # Whatever the scores, all bins count what lies in them.
    counter.crowded = True
    for _ in range(4):
        for at in range(0, 1800, 450):
            counter.add(score[at : at + 450], np.ones(450, dtype=np.bool_))
    assert counter.crowded
    assert counter.bins().counts.tolist() == [[0, 6000], [0, 1200]]


@pytest.mark.parametrize("kind", DISTRIBUTIONS)
@pytest.mark.parametrize("owned", [False, True])
def test_compiled_passes_count_what_numpy_counts(kind, owned, monkeypatch):
    monkeypatch.setattr(compiled, "BLOCK", 5000)
    score, truth = drawn(kind, 30_000, seed=4)
    score[:7] = [0.0, 1.0, 0.1, 0.3, 0.5, 1 - 2**-24, 2.0**-126]
    ladder = Ladder(20)
    cells = ladder.cells(score.astype(np.float64))
    owners = np.full(len(ladder), np.nan)
    owners[cells[::2]] = score[::2]
    counters = LadderCells(len(ladder))
    tallied = CompiledTally(ladder, counters, owners if owned else None)
    missed = tallied.add(score, truth, least_probability(score))
    mine = owners[cells] == score if owned else np.ones(len(score), dtype=np.bool_)
    assert np.array_equal(missed, np.flatnonzero(~mine))
    table = np.zeros(2 * len(ladder), dtype=np.int64)
    counters.add_to(table)
    assert np.array_equal(table, np.bincount(2 * cells[mine] + truth[mine], minlength=len(table)))
    found, expected = tallied.probabilities(), tally(score, truth)
    if score.dtype == np.float64:
        expected = tally(score, truth, block=LONG_BLOCK)
    assert (found.n, found.clipped) == (expected.n, expected.clipped)
    assert np.array_equal(found.reliability.cases, expected.reliability.cases)
    for name in ("observed", "gap", "squares", "spread", "noise"):
        one, two = (getattr(side.reliability, name) for side in (found, expected))
        np.testing.assert_allclose(one, two, rtol=1e-12, atol=1e-12 * len(score))
    for name, moments in expected.losses.items():
        np.testing.assert_allclose(found.losses[name].sums, moments.sums, rtol=1e-12, atol=1e-12 * len(score))
        np.testing.assert_allclose(found.losses[name].mean, moments.mean, rtol=1e-12)
        np.testing.assert_allclose(found.class_losses[name], expected.class_losses[name], rtol=1e-12)


def same(one, two):
    """Whether two pieces of evidence agree in every bit of every number."""
    mine, other = one.scores.probabilities, two.scores.probabilities
    return (
        one.scores.bins == two.scores.bins
        and np.array_equal(one.confusion.matrix, two.confusion.matrix)
        and all(np.array_equal(mine.losses[name].sums, other.losses[name].sums) for name in mine.losses)
        and all(mine.losses[name].centre == other.losses[name].centre for name in mine.losses)
        and np.array_equal(mine.reliability.gap, other.reliability.gap)
        and np.array_equal(mine.reliability.squares, other.reliability.squares)
    )


@pytest.mark.parametrize("kind", ["confident", "thousand", "late"])
def test_any_number_of_threads_gives_the_same_evidence_to_the_last_bit(kind, tmp_path, monkeypatch):
    monkeypatch.setattr("heldout.evidence.counted.MOST", 1100)
    monkeypatch.setattr(score_ladder, "ENOUGH", 500)
    score, truth = drawn(kind, 40_000, seed=5)
    frame = pl.DataFrame({"truth": truth.astype(np.int8), "predicted": (score > 0.4).astype(np.int8), "score": score})
    folder = parts(frame, tmp_path / "preds", 3)
    made = {}
    for fast in (False, True):
        monkeypatch.setattr(compiled, "WORTH", 0 if fast else 1 << 62)
        for threads in (1, 2, 3, 8, 16):
            with use_threads(threads):
                made[fast, threads] = streamed(folder, 1500, tolerance=1e-3, passes=1)[0]
            assert same(made[fast, threads], made[fast, 1])
        assert not impossible(made[fast, 1])
    # Compiled passes add losses in another order, and count the same.
    assert made[True, 1].scores.bins == made[False, 1].scores.bins
    assert not made[True, 1].differing(made[False, 1], relative=1e-12)
    assert made[True, 1].scores.bins[0].exact == (kind == "thousand")


def test_a_file_is_counted_alike_without_numba(tmp_path):
    score, truth = drawn("logistic", 5000, seed=6)
    file = tmp_path / "preds.parquet"
    pl.DataFrame({"truth": truth.astype(np.int8), "score": score}).write_parquet(file)
    program = (
        "import sys, json; hidden = sys.argv[2] == 'hidden'\n"
        "if hidden: sys.modules['numba'] = None\n"
        "import heldout, heldout.engines.compiled as compiled\n"
        "compiled.WORTH = 0\n"
        "found = heldout.evaluate(sys.argv[1], engine='stream', threads=2)\n"
        "print(json.dumps([found[name].value for name in ('accuracy', 'roc_auc', 'log_loss')]))\n"
        "assert compiled.is_worth_it(1) == (not hidden)"
    )
    found = [
        json.loads(
            subprocess.run([sys.executable, "-c", program, str(file), how], check=True, capture_output=True).stdout
        )
        for how in ("hidden", "shown")
    ]
    assert found[0] == pytest.approx(found[1], rel=1e-12)


@pytest.mark.parametrize("kind", ["confident", "beyond"])
def test_parts_on_the_ladder_merge_in_any_order_and_none_goes_back_to_the_grid(kind):
    score, truth = drawn(kind, 12_000, seed=7)
    whole, made = ScoreLadder(300), []
    whole.add(score, truth)
    for rows in np.array_split(np.arange(12_000), 40):
        counter = ScoreLadder(300)
        # Of few rows each distinct score is kept; these are more.
        counter.crowded = True
        counter.add(score[rows], truth[rows])
        made.append(counter.bins())
    # Far fewer than all parts have of fine bins: those of the ladder are none of them.
    made = [replace(bins, room=50) for bins in made]
    forward, backward = reduce(add, made), reduce(add, made[::-1])
    assert forward == backward
    assert replace(forward, room=None) == whole.bins()
    assert forward.refined == 0
    assert kind == "beyond" or (forward.exponent < forward.base).sum() > 100


def test_a_score_that_is_no_probability_in_a_late_batch_is_counted_with_the_others(tmp_path, monkeypatch):
    monkeypatch.setattr("heldout.evidence.counted.MOST", 300)
    score, truth = drawn("logistic", 5000, seed=8)
    score[4900] = 3.5
    frame = pl.DataFrame({"truth": truth.astype(np.int8), "predicted": (score > 0.4).astype(np.int8), "score": score})
    made, _ = streamed(parts(frame, tmp_path / "preds"), 500, passes=1)
    (bins,) = made.scores.bins
    assert (bins.n, bins.greatest, made.scores.probabilities) == (5000, 3.5, None)
    assert made.confusion.n == 5000
    assert not impossible(made)
