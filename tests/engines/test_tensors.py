"""Tensors counted where they are give the evidence of the same rows in NumPy: equal counts, sums to 1e-12."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from tests.tensors import BOUND, LOGITS, TABLE, K, N, P, W, Y, moved

import heldout
from heldout.engines.bins import bins_of
from heldout.engines.score_ladder import ScoreLadder
from heldout.engines.tensors import batch_checks, column_bins, kernels, loss_sums
from heldout.engines.tensors.column_bins import columns_bins
from heldout.engines.tensors.engine import count_tensors
from heldout.engines.tensors.exact_area import measure_area
from heldout.engines.tensors.ladder_cells import MOST_COUNTERS, bins_of_counters, choose_ladder, find_cells
from heldout.evidence.bin_grid import Ladder, floor_to
from heldout.evidence.counted import class_columns
from heldout.evidence.losses import LOSSES
from heldout.evidence.score_bins import MOST, ScoreBins
from heldout.predictions.case_values import area_of
from heldout.predictions.device_arrays import as_tensor
from heldout.predictions.source import ReadOptions
from heldout.values import differing

pytestmark = pytest.mark.usefixtures("one_thread")


def counted(device, truth, predicted=None, weight=None, **asked):
    """The evidence of the device, as `count` asks for it."""
    options = {"labels": None, "missing": "refuse", "score": None, "positive": None, "threshold": None, **asked}
    options["score"] = moved(options["score"], device)
    roles = {"predicted": moved(predicted, device), "weight": moved(weight, device)}
    found = count_tensors(moved(truth, device), roles, ReadOptions(**options), anywhere=True)
    return None if found is None else found[0]


def check_same(device, truth, predicted=None, weight=None, **asked):
    found = counted(device, truth, predicted, weight, **asked)
    there = heldout.count(truth, predicted, weight=weight, **asked).counted
    assert found is not None
    assert found.differing(there, relative=BOUND) == ()


rng = np.random.default_rng(5)
S = P.astype(np.float32)
TIED = (rng.integers(0, 30, N) / 29).astype(np.float32)


@pytest.mark.parametrize(
    "asked",
    [
        {"score": S},
        {"score": S.astype(np.float64)},
        {"score": TIED},
        {"score": S, "weight": W},
        {"score": S, "threshold": 0.3},
        {"score": rng.normal(size=N), "threshold": 0.0},
        {"score": rng.normal(size=N).astype(np.float32), "threshold": 0.0},
        {"score": S, "positive": 0, "labels": [0, 1]},
        {"score": S, "predicted": (S > 0.4).astype(np.int64)},
        {"score": np.stack([1 - S, S], axis=1)},
        {"score": LOGITS[:, :2]},
        {"score": np.where(np.arange(N) % 7, S, np.float32(1.0000001)).astype(np.float32)},
        {"score": np.where(np.arange(N) % 7, S, np.float32(0.3)), "threshold": 0.3},
        {"score": S, "slices": {"sex": rng.choice(["f", "m"], N), "site": rng.integers(0, 3, N)}},
        {"score": S, "slices": {"site": rng.integers(0, 3, N)}, "weight": W},
        {"predicted": rng.integers(0, 2, N)},
        {"predicted": rng.integers(0, 2, N), "weight": W},
    ],
    ids=lambda asked: " ".join(f"{name}" for name in asked),
)
def test_two_classes_are_counted_as_in_numpy(device, asked):
    check_same(device, Y, **asked)


@pytest.mark.parametrize(
    "asked",
    [{"score": TABLE}, {"score": LOGITS}, {"score": TABLE, "weight": W}, {"score": TABLE, "labels": [0, 1, 2, 3]}],
)
def test_several_classes_are_counted_as_in_numpy(device, asked):
    check_same(device, K, **asked)


def test_each_of_very_many_classes_is_told_from_the_rest(device):
    classes = rng.integers(0, 60, 900)
    check_same(device, classes, score=rng.normal(size=(900, 60)).astype(np.float32), labels=list(range(60)))


@pytest.mark.parametrize(
    "kind", [np.int8, np.uint8, np.int16, np.int32, np.int64, np.uint16, np.float32, np.float64, bool]
)
def test_labels_of_every_kind_are_the_same_classes(device, kind):
    check_same(device, Y.astype(kind), rng.integers(0, 2, N).astype(kind))
    check_same(device, Y.astype(kind), score=S)


def test_labels_that_begin_elsewhere_keep_their_names(device):
    check_same(device, K + 3, rng.integers(2, 9, N))
    check_same(device, Y * 2 - 1, score=S)


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_short_floats_are_the_numbers_that_they_hold(device, kind):
    short = torch.from_numpy(S).to(getattr(torch, kind))
    asked = ReadOptions(None, "refuse", short.to(device), None, None)
    found = count_tensors(torch.from_numpy(Y).to(device), {}, asked, anywhere=True)
    assert found is not None
    assert found[0].differing(heldout.count(Y, score=short.double().numpy()).counted, relative=BOUND) == ()
    # The door takes them from the processor's memory as well.
    assert (
        heldout.evaluate(Y, score=short)["roc_auc"].value
        == heldout.evaluate(Y, score=short.double().numpy())["roc_auc"].value
    )


DISTRIBUTIONS: dict[str, Callable[[int], Any]] = {
    "uniform": rng.random,
    "logistic": lambda n: 1 / (1 + np.exp(-rng.normal(size=n) * 3)),
    "confident": lambda n: rng.beta(0.05, 0.05, n),
    "normal": lambda n: rng.normal(size=n) * 3,
    "far from 0": lambda n: 100 + rng.random(n) * 0.01,
    "zeros of both signs": lambda n: np.where(rng.random(n) < 0.5, -0.0, rng.normal(size=n)),
    "huge": lambda n: rng.normal(size=n) * 1e30,
    "constant": lambda n: np.full(n, 0.3),
    "thousand": lambda n: rng.integers(0, 1000, n) / 999,
}


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_bins_are_those_of_the_engine_in_memory(device, name, kind):
    scores, codes = DISTRIBUTIONS[name](N)[:, None].astype(kind), rng.integers(0, 2, N)
    for most in (500, MOST):
        found = columns_bins(moved(scores, device), moved(codes, device), 2, most=most)[0]
        assert found == bins_of(scores[:, 0], codes, 2, most=most)


@pytest.mark.parametrize("sort", [False, True])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["uniform", "logistic", "confident", "constant", "thousand"])
def test_probabilities_are_counted_on_the_ladder_of_files(device, name, kind, sort, monkeypatch):
    if sort:
        monkeypatch.setattr(column_bins, "_is_crowded", lambda *_: False)
    # Of constant scores of .3 so many are positive that gaps do not cancel out.
    scores, positive = DISTRIBUTIONS[name](N).astype(kind), rng.random(N) < 0.7
    there = heldout.count(positive.astype(int), score=scores).counted.scores
    assert there is not None
    eps = float(np.finfo(kind).eps)
    for most in (500, MOST):
        found, state = column_bins.positive_bins(moved(scores, device), moved(positive, device), eps, most=most)
        counter = ScoreLadder(most)
        counter.add(scores, positive)
        assert found == counter.bins()
        # As they are saved.
        assert found.counts.dtype == np.int64
        sums = loss_sums.probabilities({part: tensor.cpu().numpy() for part, tensor in state.items()})
        assert differing(sums, there.probabilities, relative=BOUND) == ()


def test_very_many_distinct_scores_are_noticed_without_a_sort(device, monkeypatch):
    monkeypatch.setattr(column_bins, "LOOKED_AT", 1000)
    assert column_bins._is_crowded(moved(S, device), 900)
    assert not column_bins._is_crowded(moved(S, device), 1001)
    assert not column_bins._is_crowded(moved(TIED, device), 30)


def test_a_grid_serves_dense_columns_and_a_sort_the_others(device):
    scores = np.stack([rng.random(N), rng.beta(0.05, 0.05, N), np.full(N, 0.5)], axis=1).astype(np.float32)
    codes = rng.integers(0, 3, N)
    for at, found in enumerate(columns_bins(moved(scores, device), moved(codes, device), 3, most=300)):
        assert found == bins_of(scores[:, at], codes, 3, most=300)


def test_a_finer_grid_serves_columns_with_few_scores_far_away(device, monkeypatch):
    # Probabilities of many classes: most are tiny, and a few are large.
    logits = torch.from_numpy(rng.normal(size=(N, 40)) * 3)
    scores, codes = logits.softmax(dim=1).float().numpy(), rng.integers(0, 40, N)
    monkeypatch.setattr(column_bins, "sorted_bins", None)
    for at, found in enumerate(columns_bins(moved(scores, device), moved(codes, device), 40, most=512, sided=True)):
        assert found == bins_of(scores[:, at], (codes == at).astype(np.int64), 2, most=512)
    monkeypatch.setattr(column_bins, "MOST_COUNTERS", 0)
    with pytest.raises(TypeError):
        columns_bins(moved(scores, device), moved(codes, device), 40, most=512, sided=True)


@pytest.mark.parametrize("most", [500, MOST])
def test_weights_are_summed_in_the_same_bins(device, most):
    codes = rng.integers(0, 2, N)
    found = columns_bins(moved(S[:, None], device), moved(codes, device), 2, weight=moved(W, device), most=most)[0]
    there = bins_of(S, codes, 2, weight=W, most=most)
    assert differing(found, there, relative=BOUND) == ()


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_the_exact_area_counts_ties_half(device, name):
    scores = DISTRIBUTIONS[name](2000).astype(np.float32)
    positive = rng.random(2000) < 0.3
    found = measure_area(moved(scores, device), moved(positive, device))
    assert found == pytest.approx(area_of(scores, positive), abs=1e-14)


@pytest.mark.parametrize("ladder", [choose_ladder(k) for k in (2, 3, 10, 1000, 100_000)], ids=str)
def test_the_ladder_on_a_device_is_that_of_numpy(ladder, device):
    low, exponent = ladder.edges(np.arange(len(ladder)))
    edges = low[:: max(1, len(low) // 3000)]
    around = [edges, np.nextafter(edges, -1).clip(0), np.nextafter(edges, 2).clip(max=1)]
    scores = np.concatenate([*around, rng.random(3000), rng.beta(0.02, 0.02, 3000), [0, 1, 5e-324, 1 - 2**-53]])
    cells = find_cells(ladder, moved(scores, device)).cpu().numpy()
    assert np.array_equal(cells, ladder.cells(scores))
    assert np.array_equal(floor_to(scores, exponent[cells]), low[cells])


@pytest.mark.parametrize("k", [2, 3, 10, 50, 51, 1000])
def test_the_ladder_of_so_many_classes_finds_room(k):
    ladder = choose_ladder(k)
    tables = 2 if k == 2 else k * class_columns(k)
    assert len(ladder) * tables <= MOST_COUNTERS
    # None that is twice as fine, or one octave deeper, would.
    assert k == 2 or len(Ladder(ladder.bits + 1, ladder.step, -53)) * tables > MOST_COUNTERS
    assert k == 2 or len(Ladder(ladder.bits, ladder.step, ladder.deepest - 1)) * tables > MOST_COUNTERS


def test_an_evaluation_of_tensors_is_that_of_arrays(device):
    found = heldout.evaluate(counted(device, Y, score=S, weight=None))
    there = heldout.evaluate(Y, score=S)
    ours, theirs = ({row.get("measure", ""): row for row in seen.rows()} for seen in (found, there))
    assert {"accuracy", "roc_auc", "log_loss"} <= set(ours) == set(theirs)
    for name, row in theirs.items():
        for part in ("value", "low", "high"):
            assert ours[name][part] == pytest.approx(row[part], rel=1e-9, nan_ok=True), (name, part)


def test_what_takes_rows_to_find_out_is_left_to_rows(device):
    holes = S.copy()
    holes[5] = np.nan
    endless = S.copy()
    endless[7] = np.inf
    assert counted(device, Y, score=holes) is None
    assert counted(device, Y, score=endless) is None
    assert counted(device, Y.astype(np.float64) + 0.5, score=S) is None
    assert counted(device, Y, score=S, weight=np.where(np.arange(N) == 3, 0.0, W)) is None
    assert counted(device, Y[:-1], score=S) is None
    # None below one half: they may be confidences in the answers.
    assert counted(device, Y, score=S / 2 + 0.5, predicted=Y) is None


@pytest.mark.parametrize(
    "change",
    [
        lambda scores: scores.index_fill(0, torch.tensor([5, 9]), float("nan")),
        lambda scores: scores.index_fill(0, torch.tensor([5]), float("inf")),
        lambda scores: scores[:-1],
    ],
)
def test_bad_tensors_are_refused_in_the_words_for_arrays(device, change):
    scores = change(torch.from_numpy(S))
    with pytest.raises(heldout.HeldoutError) as words:
        heldout.evaluate(Y, score=scores.numpy())
    with pytest.raises(heldout.HeldoutError) as found:
        heldout.evaluate(torch.from_numpy(Y).to(device), score=scores.to(device))
    assert str(found.value) == str(words.value)


def test_tensors_in_memory_keep_their_rows():
    seen = heldout.evaluate(torch.from_numpy(Y), score=torch.from_numpy(S))
    assert seen.predictions is not None
    assert seen.fingerprint == heldout.evaluate(Y, score=S).fingerprint


@pytest.fixture
def everywhere(monkeypatch):
    """Tensors in the processor's memory, and few of them, are counted as those of an accelerator are."""
    for place in ("engines.accumulator", "engines.tensors.engine", "predictions.case_values"):
        monkeypatch.setattr(f"heldout.{place}.device_tensor", as_tensor)
    monkeypatch.setattr("heldout.engines.tensors.engine.FETCHED", 0)


@pytest.mark.usefixtures("everywhere")
def test_every_door_counts_tensors_where_they_are(device):
    truth, scores = (torch.from_numpy(column).to(device) for column in (Y, S))
    there = heldout.count(Y, score=S).counted
    assert heldout.count(truth, score=scores).counted.differing(there, relative=BOUND) == ()
    # Fractions in the place of predictions are scores.
    found = heldout.evaluate(truth, scores)
    assert found.predictions is None
    assert found.counted is not None
    assert found.counted.differing(there, relative=BOUND) == ()
    assert heldout.evaluate(truth, scores, engine="memory").predictions is not None
    chosen = [vars(heldout.choose_threshold(*given, by="f1"))["threshold"] for given in ((truth, scores), (Y, S))]
    assert chosen[0] == chosen[1]
    grown = heldout.Evidence(labels=[0, 1])
    for rows in np.array_split(np.arange(N), 3):
        grown.update(truth[rows], score=scores[rows])
    assert grown.n == N
    expected = heldout.Evidence(labels=[0, 1])
    for rows in np.array_split(np.arange(N), 3):
        expected.update(Y[rows], score=S[rows])
    assert grown.counted.differing(expected.counted, relative=BOUND) == ()


@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize(
    "asked",
    [
        {"labels": [0, 2]},
        {"labels": [0, 1], "positive": 7},
        {"score": S * 30},
        {"score": TABLE},
        {"score": S, "weight": np.full(N, 1e-200)},
    ],
)
def test_what_does_not_fit_is_said_in_the_words_for_arrays(device, asked):
    asked = {"score": S, **asked}
    with pytest.raises(heldout.HeldoutError) as words:
        heldout.evaluate(Y, **asked)
    with pytest.raises(type(words.value)) as found:
        heldout.evaluate(moved(Y, device), **{name: moved(value, device) for name, value in asked.items()})
    assert str(found.value) == str(words.value)


def test_what_is_no_tensor_is_none():
    assert as_tensor(S) is None
    assert as_tensor([1, 2]) is None


def test_counters_of_several_columns_become_bins_of_each(device):
    ladder, scores = Ladder(12, 5, -60), np.stack([rng.random(N), rng.beta(0.05, 0.05, N), np.full(N, 0.25)])
    codes = rng.integers(0, 3, N)
    table = np.zeros((3, len(ladder), 3), dtype=np.int64)
    for column, cells in zip(table, ladder.cells(scores.ravel()).reshape(3, -1), strict=True):
        np.add.at(column, (cells, codes), 1)
    ends = np.stack([scores.min(axis=1), scores.max(axis=1)], axis=1)
    for most, finer in ((300, False), (4096, True), (1 << 18, False)):
        found = bins_of_counters(ladder, [moved(table, device)], ends, most)
        assert most == 300 or any(bins.refined for bins in found) == finer
        for bins, column, own in zip(found, table, scores, strict=True):
            there = np.flatnonzero(column.any(axis=1))
            low, exponent = ladder.edges(there)
            whole = ScoreBins(low, exponent, column[there], -12, own.min(), own.max(), most=most)
            assert bins == whole.settled()


def test_the_kernels_write_where_the_checks_read():
    # A kernel cannot read a list of names: the places stand in it as numbers.
    flags = {"score": 0, "lost": 3, "infinite": 4, "outside": 6, "ignored": 9}
    flags |= {"improbable": 10, "logits": 11, "probabilities": 12}
    assert {name: batch_checks.COUNTED.index(name) for name in flags} == flags
    first_rows = {"lost": 0, "infinite": 1, "improbable": 4}
    assert {name: batch_checks.FIRSTS.index(name) for name in first_rows} == first_rows
    assert batch_checks.ENDS == ("low outside", "high outside")
    assert (tuple(LOSSES), loss_sums.BINS) == (kernels.SUMMED, kernels.CALIBRATED)
