"""heldout.torch.Evidence: what a loop counts is what the same rows give at once, in constant memory, over processes."""

from __future__ import annotations

import copy
import io
import pickle
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import torch
from tests.tensors import BOUND, LOGITS, TABLE, K, N, P, W, X, Y
from torch.utils._python_dispatch import TorchDispatchMode

import heldout
import heldout.torch as ht
from heldout.engines.score_ladder import ScoreLadder
from heldout.values import differing

pytestmark = pytest.mark.usefixtures("one_thread")


def fed(evidence, scores, targets, weight=None, *, device="cpu", parts=5):
    for rows in np.array_split(np.arange(len(targets)), parts):
        given = [torch.as_tensor(column)[rows].to(device) for column in (scores, targets)]
        evidence.update(*given, *(() if weight is None else (torch.as_tensor(weight)[rows].to(device),)))
    return evidence


def on_the_ladder(scores, targets):
    """The bins of two classes that NumPy makes of so many scores that it keeps none of them apart."""
    counter = ScoreLadder()
    counter.crowded = True
    counter.add(scores, targets == 1)
    return counter.bins()


def check_same(found, there):
    """Counts equal and sums to a bound; bins are another matter: those of `there` hold one score each."""
    np.testing.assert_allclose(found.confusion.matrix, there.confusion.matrix, rtol=BOUND)
    assert np.array_equal(found.confusion.n_cases, there.confusion.n_cases)
    assert differing(found.scores.probabilities, there.scores.probabilities, relative=BOUND) == ()
    assert np.array_equal(found.scores.count_classes(), there.scores.count_classes())
    for ours, theirs in zip(found.scores.bins, there.scores.bins, strict=True):
        assert (ours.least, ours.greatest) == (theirs.least, theirs.greatest)
    assert found.n == there.n


@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
@pytest.mark.parametrize("weight", [None, W])
def test_probabilities_of_two_classes(device, kind, weight):
    scores = torch.from_numpy(P).to(kind)
    seen = fed(ht.Evidence(weighted=weight is not None), scores, Y, weight, device=device)
    check_same(seen.counted(), heldout.count(Y, score=scores.numpy(), weight=weight).counted)
    low, high = seen.compute(measures=["roc_auc"])["roc_auc"].bounds
    there = heldout.evaluate(Y, score=scores.numpy(), weight=weight, measures=["roc_auc"])["roc_auc"].value
    assert low - 1e-12 <= there <= high + 1e-12
    assert high - low < 1e-5
    if weight is None:
        assert seen.counted().scores.bins == (on_the_ladder(scores.numpy(), Y),)


@pytest.mark.parametrize("weight", [None, W])
def test_probabilities_of_several_classes(device, weight):
    seen = fed(ht.Evidence(["a", "b", "c", "d"], weighted=weight is not None), TABLE, K, weight, device=device)
    there = heldout.count(np.array(["a", "b", "c", "d"])[K], score=TABLE, weight=weight).counted
    check_same(seen.counted(), there)
    found = seen.compute(measures=["macro roc_auc"])["macro roc_auc"]
    assert found.value == pytest.approx(
        heldout.evaluate(there, measures=["macro roc_auc"])["macro roc_auc"].value, abs=1e-4
    )


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_logits_become_probabilities_on_the_device(device, kind):
    two = torch.from_numpy(X).to(kind)
    wide = two if kind == torch.float64 else two.float()
    seen = fed(ht.Evidence(), two, Y, device=device, parts=1)
    check_same(seen.counted(), heldout.count(Y, score=torch.sigmoid(wide.to(device)).cpu().numpy()).counted)
    four = torch.from_numpy(LOGITS).to(kind)
    wide = four if kind == torch.float64 else four.float()
    seen = fed(ht.Evidence(4), four, K, device=device, parts=1)
    check_same(seen.counted(), heldout.count(K, score=torch.softmax(wide.to(device), dim=1).cpu().numpy()).counted)


def test_two_columns_are_of_the_two_classes(device):
    both = np.stack([-X / 2, X / 2], axis=1)
    seen = fed(ht.Evidence(["no", "yes"]), both, Y, device=device, parts=1)
    assert seen.compute()["recall"].value == heldout.evaluate(Y, score=P)["recall"].value
    turned = fed(ht.Evidence(["no", "yes"], positive="no"), both, Y, device=device, parts=1)
    area = heldout.evaluate(Y, score=P, measures=["roc_auc"])["roc_auc"].value
    assert turned.compute(measures=["roc_auc"])["roc_auc"].value == pytest.approx(area, abs=1e-5)


@pytest.mark.parametrize("kind", [torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.float32])
def test_targets_of_every_kind(device, kind):
    seen = fed(ht.Evidence(), P, torch.from_numpy(Y).to(kind), device=device)
    assert np.array_equal(seen.counted().confusion.matrix, heldout.count(Y, score=P).matrix)


def test_ignored_targets_and_weightless_rows_do_not_count(device):
    targets = np.where(np.arange(N) % 3, Y, -100)
    kept = np.flatnonzero(np.arange(N) % 3)
    seen = fed(ht.Evidence(), P, targets, device=device)
    check_same(seen.counted(), heldout.count(Y[kept], score=P[kept]).counted)
    weight = np.where(np.arange(N) % 5, W, 0.0)
    seen = fed(ht.Evidence(weighted=True), P, Y, weight, device=device)
    there = heldout.count(Y, score=P, weight=weight).counted
    check_same(seen.counted(), there)
    assert seen.counted().notes == there.notes


def spoiled(column, **at):
    values = np.array(column, dtype=np.float64)
    for row, value in at.values():
        values[row] = value
    return values


@pytest.mark.parametrize(
    ("scores", "targets", "weight"),
    [
        (spoiled(P, one=(700, np.nan), two=(701, np.nan)), Y, None),
        (spoiled(P, one=(700, np.nan)), Y, None),
        (spoiled(P, one=(700, np.inf)), Y, None),
        (spoiled(P, one=(700, -np.inf), two=(3, np.inf)), Y, None),
        (P, spoiled(Y, one=(900, np.nan)), None),
        (P, spoiled(Y, one=(900, 0.5)), None),
        (P, np.where(np.arange(N) == 77, 7, Y), None),
        (P, Y, spoiled(W, one=(40, -1.0))),
        (P, Y, spoiled(W, one=(40, np.inf))),
        (P, Y, spoiled(W, one=(40, np.nan), two=(90, np.nan))),
    ],
)
def test_bad_values_are_said_once_in_the_words_for_arrays(device, scores, targets, weight):
    with pytest.raises(heldout.HeldoutError) as words:
        heldout.evaluate(targets, score=scores, weight=weight, labels=[0, 1])
    seen = fed(ht.Evidence(weighted=weight is not None), scores, targets, weight, device=device)
    with pytest.raises(type(words.value)) as found:
        seen.compute()
    assert str(found.value) == str(words.value)
    seen.reset()
    clean = fed(seen, P, Y, None if weight is None else W, device=device)
    assert clean.counted().n == N


def test_both_kinds_of_scores_in_one_epoch_are_refused(device):
    seen = fed(fed(ht.Evidence(), P, Y, device=device), X, Y, device=device)
    with pytest.raises(heldout.HeldoutError, match="5 batches hold nothing but numbers from 0 to 1, and 5 hold others"):
        seen.compute()
    assert fed(fed(ht.Evidence(logits=True), P, Y, device=device), X, Y, device=device).compute().n == 2 * N
    said = fed(ht.Evidence(logits=False), X, Y, device=device)
    with pytest.raises(heldout.HeldoutError, match="Probabilities must lie between 0 and 1"):
        said.compute()


def test_shapes_that_differ_are_refused_at_once(device):
    seen = ht.Evidence(4)
    for scores, targets in [((5, 3), (5,)), ((5, 4), (4,)), ((5,), (5,)), ((5, 4, 2), (5,))]:
        with pytest.raises(heldout.HeldoutError, match="do not go together with 4 classes"):
            seen.update(torch.zeros(scores, device=device), torch.zeros(targets, dtype=torch.long, device=device))
    with pytest.raises(heldout.HeldoutError, match="A batch is a tensor of logits or probabilities"):
        seen.update(torch.zeros(5, dtype=torch.long), torch.zeros(5, dtype=torch.long))
    with pytest.raises(heldout.HeldoutError, match="no batch was counted"):
        seen.compute()


class _Waits(TorchDispatchMode):
    """Notes every operation whose answer a processor would have to wait for."""

    waiting = ("_local_scalar_dense", "nonzero", "equal", "masked_select", "unique", "bincount", "is_nonzero", "item")

    def __init__(self):
        super().__init__()
        self.found = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = func.overloadpacket.__name__
        if name in self.waiting or name.startswith("unique"):
            self.found.append(name)
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize(
    ("made", "scores", "targets"),
    [
        ({}, P, Y),
        ({}, X, Y),
        ({"labels": 4}, TABLE, K),
        ({"labels": 4}, LOGITS, K),
        ({"weighted": True}, P, Y.astype(float)),
    ],
)
def test_an_update_waits_for_nothing(device, made, scores, targets):
    seen = ht.Evidence(**made)
    given = [torch.as_tensor(column).to(device) for column in (scores, targets)]
    given += [torch.as_tensor(W).to(device)] if made.get("weighted") else []
    seen.update(*given)
    with _Waits() as waits:
        seen.update(*given)
    assert waits.found == []
    with _Waits() as waits:
        given[0].sum().item()
    assert waits.found == ["_local_scalar_dense"]
    if device == "cuda":
        torch.cuda.set_sync_debug_mode("error")
        try:
            seen.update(*given)
        finally:
            torch.cuda.set_sync_debug_mode("default")


def seen_bytes(evidence):
    evidence.update(torch.tensor([0.5]), torch.tensor([1]))
    return sum(tensor.numel() * tensor.element_size() for tensor in evidence._state.values())


def test_memory_is_constant_over_a_thousand_updates(device):
    assert seen_bytes(ht.Evidence()) < 34e6
    seen = ht.Evidence(8)
    scores, targets = torch.randn(6, 8, device=device), torch.arange(6, device=device)
    seen.update(scores, targets)
    before = {name: (tensor.data_ptr(), tensor.numel()) for name, tensor in seen._state.items()}
    held = torch.cuda.memory_allocated() if device == "cuda" else 0
    for _ in range(1000):
        seen.update(scores, targets)
    assert {name: (tensor.data_ptr(), tensor.numel()) for name, tensor in seen._state.items()} == before
    assert (torch.cuda.memory_allocated() if device == "cuda" else 0) == held
    found = seen.counted()
    assert found.n == found.rows == int(seen._state["cases"].sum()) == 6006


def test_it_goes_on_from_its_state(device):
    half = N // 2
    first = fed(ht.Evidence(), P[:half], Y[:half], device=device)
    file = io.BytesIO()
    torch.save(first.state_dict(), file)
    file.seek(0)
    second = ht.Evidence()
    second.load_state_dict(torch.load(file, weights_only=True))
    fed(second, P[half:], Y[half:], device=device)
    check_same(second.counted(), heldout.count(Y, score=P).counted)
    with pytest.raises(heldout.HeldoutError, match="counted with other settings: threshold"):
        ht.Evidence(threshold=0.3).load_state_dict(first.state_dict())


def test_it_is_an_attribute_of_a_model(device):
    class Model(torch.nn.Module):  # type: ignore[misc, name-defined, unused-ignore]
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(1, 1)
            self.seen = ht.Evidence()

    model = Model().to(device)
    fed(model.seen, P, Y, device=device)
    before = model.seen.counted()
    assert set(model.state_dict()) == {"layer.weight", "layer.bias"}
    model.load_state_dict(model.state_dict())
    assert not list(model.seen.buffers())
    model.half().to("cpu")
    assert {tensor.device.type for tensor in model.seen._state.values()} == {"cpu"}
    assert model.seen.counted() == before
    assert copy.deepcopy(model).seen.counted() == before
    assert pickle.loads(pickle.dumps(model.seen)).counted() == before
    assert "2 classes" in repr(model.seen)
    assert model.seen(torch.tensor([0.2]), torch.tensor([1])) is None


def test_its_evidence_merges_with_that_of_files_bin_by_bin(device):
    confident = np.random.default_rng(3).beta(0.05, 0.05, N)
    half = N // 2
    first = fed(ht.Evidence(logits=False), confident[:half], Y[:half], device=device).counted()
    both = first.scores.bins[0] + on_the_ladder(confident[half:], Y[half:])
    assert both == on_the_ladder(confident, Y)
    assert (both.base, both.refined) == (-20, 0)


def test_its_evidence_merges_with_that_of_rows(tmp_path):
    half = N // 2
    first = fed(ht.Evidence(), P[:half], Y[:half]).evidence
    both = first + heldout.count(Y[half:], score=P[half:])
    assert both.n == N
    both.save(tmp_path / "both.evidence")
    assert heldout.evaluate(tmp_path / "both.evidence")["log_loss"].value == pytest.approx(
        heldout.evaluate(Y, score=P)["log_loss"].value
    )


def test_the_exact_area(device):
    scores = torch.from_numpy(P).float()
    found = ht.roc_auc(scores.to(device), torch.from_numpy(Y).to(device))
    assert found == pytest.approx(heldout.evaluate(Y, score=scores.numpy())["roc_auc"].value, abs=1e-14)
    with pytest.raises(heldout.HeldoutError, match="1 score is not finite, in row 3"):
        ht.roc_auc(torch.tensor([0.1, 0.2, float("nan")]), torch.tensor([0, 1, 1]))


PROCESS = """
    import datetime, os, pathlib, sys, time
    import numpy as np
    import torch, torch.distributed as dist
    import heldout.torch
    torch.set_num_threads(1)
    rank, folder = int(sys.argv[1]), pathlib.Path(sys.argv[2])
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2,
                            timeout=datetime.timedelta(seconds=20))
    given = np.load(folder / "rows.npz")
    scores, targets = (torch.from_numpy(given[name]) for name in ("scores", "targets"))
    seen = heldout.torch.Evidence()
    seen.update(scores[rank::2], targets[rank::2])
    seen.evidence.save(folder / f"both-{rank}.evidence")
    alone = heldout.torch.Evidence()
    if rank == 0:
        alone.update(scores, targets)
    alone.evidence.save(folder / f"alone-{rank}.evidence")
    bad = heldout.torch.Evidence()
    bad.update(scores[:10] / (1 - rank), targets[:10])
    try:
        bad.compute()
    except heldout.HeldoutError as error:
        (folder / f"bad-{rank}").write_text(str(error))
    if rank == 1:
        os._exit(9)
    begun = time.monotonic()
    try:
        seen.compute()
    except RuntimeError as error:
        (folder / "killed").write_text(f"{time.monotonic() - begun:.1f}")
    os._exit(0)
"""


def test_processes_merge_by_one_message_and_a_killed_one_is_an_error(tmp_path):
    np.savez(tmp_path / "rows.npz", scores=P, targets=Y)
    script = textwrap.dedent(PROCESS)
    running = [subprocess.Popen([sys.executable, "-c", script, str(rank), str(tmp_path)]) for rank in range(2)]
    try:
        assert [process.wait(timeout=120) for process in running] == [0, 9]
    finally:
        for process in running:
            process.kill()
    one = fed(ht.Evidence(), P, Y, parts=1).counted()
    for name in ("both", "alone"):
        parts = [heldout.Evidence.load(tmp_path / f"{name}-{rank}.evidence").counted for rank in range(2)]
        assert parts[0] == parts[1]
        assert parts[0].differing(one, relative=BOUND) == ()
        assert differing(parts[0].scores, one.scores, relative=BOUND) == ()
    # What one process was given the other says as well.
    words = {(tmp_path / f"bad-{rank}").read_text() for rank in range(2)}
    assert len(words) == 1
    assert "not finite" in words.pop()
    assert float((tmp_path / "killed").read_text()) < 60


def test_without_torch_it_says_what_to_install(tmp_path):
    (tmp_path / "torch.py").write_text("raise ModuleNotFoundError('No module named torch', name='torch')\n")
    script = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import heldout.torch"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert found.returncode == 1
    assert "pip install torch" in found.stderr


def test_torch_is_not_imported_for_rows():
    script = "import sys, heldout; heldout.evaluate([0, 1, 1], score=[.2, .9, .4]); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


LIGHTNING = """
    import sys, warnings
    warnings.simplefilter("ignore")
    import lightning, torch
    import heldout.torch
    torch.set_num_threads(1)
    torch.manual_seed(0)

    class Classifier(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer, self.seen = torch.nn.Linear(3, 4), heldout.torch.Evidence(labels=4)
        def training_step(self, batch, index):
            return torch.nn.functional.cross_entropy(self.layer(batch[0]), batch[1])
        def validation_step(self, batch, index):
            self.seen.update(self.layer(batch[0]), batch[1])
        def on_validation_epoch_end(self):
            evaluation = self.seen.compute(measures=["accuracy"])
            self.log("rows", evaluation["accuracy"].n)
            self.log("accuracy", evaluation["accuracy"].value)
            self.seen.reset()
        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 0.1)

    rows = torch.utils.data.TensorDataset(torch.randn(60, 3), torch.randint(0, 4, (60,)))
    loader = torch.utils.data.DataLoader(rows, batch_size=25)
    trainer = lightning.Trainer(max_epochs=1, accelerator="cpu", logger=False, enable_checkpointing=False,
                                enable_progress_bar=False, enable_model_summary=False, num_sanity_val_steps=0)
    model = Classifier()
    trainer.fit(model, loader, loader)
    right = float((model.layer(rows.tensors[0]).argmax(dim=1) == rows.tensors[1]).float().mean())
    found = trainer.callback_metrics
    sys.exit(not (float(found["rows"]) == 60 and abs(float(found["accuracy"]) - right) < 1e-6))
"""


def test_lightning_logs_what_was_counted():
    found = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(LIGHTNING)], capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stderr[-2000:]
