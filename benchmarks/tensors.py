"""Time what is counted of tensors where they are, beside torchmetrics in the same run: on a GPU, or smaller on a CPU.

    python benchmarks/tensors.py [--device cuda] [--share 1.0] [--json tensors.json] [--only NAME …]

Only PyTorch is needed, and NumPy and what heldout itself needs; torchmetrics, Triton, CuPy and JAX are used where they
are. Data are random and fresh, the first runs do not count, and the median of the others does. Kernels are compared
with torch's own operations, and these with NumPy, before anything is timed.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import platform
import statistics
import time
from collections.abc import Callable
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

import heldout
import heldout.torch
from heldout.engines.tensors import kernels, loss_sums
from heldout.engines.tensors.column_bins import columns_bins, positive_bins
from heldout.engines.tensors.engine import count_tensors
from heldout.evidence.bin_grid import Ladder
from heldout.predictions.source import ReadOptions
from heldout.values import differing

RUNS, WARM = 7, 2
GIB = 2.0**30
LADDER = Ladder(20)


def main() -> None:
    """Read the command line, run the jobs, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--share", type=float, help="of the full sizes; 1 on CUDA and .002 elsewhere unless said")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--only", nargs="*", default=[])
    given = parser.parse_args()
    share = given.share if given.share is not None else 1.0 if given.device == "cuda" else 0.002
    bench = Bench(given.device, share)
    torch.manual_seed(7)
    before = {name: getattr(kernels, name) for name in ("PAIRS", "LOSS_ROWS", "CALIBRATION_ROWS", "COLUMN")}
    jobs: dict[str, Callable[[Bench], None]] = {
        "same": compare_kernels, "tuning": time_tuning, "confusion": time_confusion, "auc": time_area,
        "certified": time_certified, "evaluate": time_evaluate, "classes": time_classes, "epoch": time_epoch,
        "dlpack": try_dlpack,
    }  # fmt: skip
    for name, job in jobs.items():
        if not given.only or name in given.only:
            try:
                job(bench)
            except Exception as error:  # noqa: BLE001 - one job that fails must not hide the others
                bench.say(name, f"FAILED: {type(error).__name__}: {error}"[:600])
            for part, value in before.items():
                setattr(kernels, part, value)
            if given.device == "cuda":
                torch.cuda.empty_cache()
    bench.show()
    if given.json is not None:
        given.json.write_text(json.dumps({"machine": bench.machine(), "rows": bench.rows}, indent=1) + "\n")


class Bench:
    """The device, the sizes, and the rows of the table."""

    def __init__(self, device: str, share: float) -> None:
        self.device, self.share = device, share
        self.rows: list[dict[str, Any]] = []

    def size(self, full: int) -> int:
        """So many rows."""
        return max(int(full * self.share), 1000)

    def time(self, job: str, what: str, run: Callable[[], Any], runs: int = RUNS, **more: Any) -> Any:
        """Time something, and write it down in milliseconds with the most memory that it took beyond what was there."""
        for _ in range(WARM):
            answer = run()
        cuda = self.device == "cuda"
        if cuda:
            torch.cuda.synchronize()
            torch.cuda.reset_peak_memory_stats()
            held = torch.cuda.memory_allocated()
        times = []
        for _ in range(runs):
            answer = None
            if cuda:
                event: Any = torch.cuda.Event
                first, last = event(enable_timing=True), event(enable_timing=True)
                first.record()
                answer = run()
                last.record()
                torch.cuda.synchronize()
                times.append(first.elapsed_time(last))
            else:
                begun = time.perf_counter()
                answer = run()
                times.append((time.perf_counter() - begun) * 1000)
        row = {"job": job, "what": what, "ms": round(statistics.median(times), 3), "best": round(min(times), 3), **more}
        if cuda:
            row["beyond_gib"] = round((torch.cuda.max_memory_allocated() - held) / GIB, 2)
            row["peak_gib"] = round(torch.cuda.max_memory_allocated() / GIB, 2)
        self.rows.append(row)
        print(row, flush=True)
        return answer

    def say(self, job: str, text: str) -> None:
        """Write down what is no time."""
        self.rows.append({"job": job, "what": text})
        print(f"{job}: {text}", flush=True)

    def machine(self) -> dict[str, str]:
        """Where this ran."""
        name = torch.cuda.get_device_name() if self.device == "cuda" else platform.processor()
        return {"device": name, "torch": torch.__version__, "heldout": heldout.__version__, "numpy": np.__version__,
                "triton": str(kernels.has_triton())}  # fmt: skip

    def show(self) -> None:
        """Print the table."""
        print(f"\n{self.machine()}\n")
        for row in self.rows:
            took = f"{row['ms']:>10.3f} ms (best {row['best']:.3f})" if "ms" in row else " " * 10
            room = f"  +{row['beyond_gib']} GiB" if "beyond_gib" in row else ""
            print(f"{row['job']:<12} {took} {room}  {row['what']}")


@contextmanager
def _without_kernels() -> Any:
    few, kernels.FEW = kernels.FEW, 1 << 62
    try:
        yield
    finally:
        kernels.FEW = few


def _logistic(n: int, device: str) -> tuple[Any, Any]:
    """Scores as real classifiers give them, in floats of 32 bits, and whether each case is positive."""
    positive = torch.rand(n, device=device) < 0.3
    scores = torch.randn(n, device=device).add_(positive, alpha=1.5).sub_(1.0).sigmoid_()
    return scores, positive


def _ask(score: Any = None) -> ReadOptions:
    return ReadOptions(None, "refuse", score, None, None)


def compare_kernels(bench: Bench) -> None:
    """Kernels against torch's operations, and these against NumPy."""
    # Fewer than a million: without Polars NumPy sorts no more.
    scores, positive = _logistic(900_000 if bench.device == "cuda" else 200_000, bench.device)
    k, n = 10, len(scores)
    for kind in (torch.int64, torch.int32, torch.int8, torch.uint8):
        truth, called = (torch.randint(0, k, (n,), device=bench.device).to(kind) for _ in range(2))
        ours = kernels.count_cells(truth, called, (0, k - 1), (0, k - 1))
        with _without_kernels():
            same = bool((ours == kernels.count_cells(truth, called, (0, k - 1), (0, k - 1))).all())
        bench.say("same", f"pairs of classes, {kind}: {'equal' if same else 'DIFFERENT'}")
    for name, column in (
        ("float32", scores),
        ("float64", scores.double()),
        ("confident", (scores - 0.5).mul(40).sigmoid()),
    ):
        ours, cells = kernels.sum_positive(column, positive, 2.0**-23, ladder=LADDER)
        with _without_kernels():
            theirs, plain_cells = kernels.sum_positive(column, positive, 2.0**-23, ladder=LADDER)
        same = bool((cells == plain_cells).all())
        bench.say(
            "same", f"bins of the ladder, {name}: {'equal' if same else 'DIFFERENT'} ({int((cells > 0).sum()):,})"
        )
        arrays = [{key: part.cpu().numpy() for key, part in state.items()} for state in (ours, theirs)]
        both = [loss_sums.probabilities(state) for state in arrays]
        worst = max(
            float(np.max(np.abs(both[0].losses[loss].about(0.0) - both[1].losses[loss].about(0.0))
                         / np.abs(both[1].losses[loss].about(0.0))))
            for loss in both[0].losses
        )  # fmt: skip
        gaps = [state.reliability.gap for state in both]
        cases = (
            bool((both[0].reliability.cases == both[1].reliability.cases).all()) and both[0].clipped == both[1].clipped
        )
        bench.say("same", f"losses, {name}: largest relative difference {worst:.2g}, gaps "
                  f"{np.max(np.abs(gaps[0] - gaps[1])):.2g}, cases {'equal' if cases else 'DIFFERENT'}")  # fmt: skip
        bins = columns_bins(column[:, None], positive, 2, most=1 << 16)
        with _without_kernels():
            plain = columns_bins(column[:, None], positive, 2, most=1 << 16)
        bench.say("same", f"bins, {name}: {'equal' if bins == plain else 'DIFFERENT'} ({len(bins[0]):,})")
    logits = torch.randn(20_000, 200, device=bench.device) * 3
    codes = torch.randint(0, 200, (20_000,), device=bench.device)
    bins = columns_bins(logits, codes, 200, most=4096, sided=True)
    with _without_kernels():
        plain = columns_bins(logits, codes, 200, most=4096, sided=True)
    bench.say("same", f"bins of 200 columns: {'equal' if bins == plain else 'DIFFERENT'}")
    _compare_batches(bench)
    found = count_tensors(positive.to(torch.int64), {}, _ask(scores), anywhere=True)
    there = heldout.count(positive.cpu().numpy().astype(np.int64), score=scores.cpu().numpy()).counted
    bench.say(
        "same",
        f"evidence against NumPy, beyond 1e-12: {None if found is None else found[0].differing(there, relative=1e-12)}",
    )
    truth = torch.randint(0, 5, (200_000,), device=bench.device)
    table = torch.randn(200_000, 5, device=bench.device).softmax(dim=1)
    found = count_tensors(truth, {}, _ask(table), anywhere=True)
    there = heldout.count(truth.cpu().numpy(), score=table.cpu().numpy()).counted
    bench.say(
        "same",
        f"evidence of 5 classes, beyond 1e-12: {None if found is None else found[0].differing(there, relative=1e-12)}",
    )


def _compare_batches(bench: Bench) -> None:
    """The kernels of a batch against torch's operations: sound rows, bad ones, both kinds of scores."""
    for name, given, spoil in (
        ("probabilities", {}, False),
        ("logits", {}, False),
        ("logits, said", {"logits": True}, False),
        ("probabilities, said", {"logits": False}, False),
        ("positive 0", {"positive": 0}, False),
        ("bad rows among logits", {}, True),
        ("improbable", {"logits": False}, True),
    ):
        seen = [heldout.torch.Evidence(threshold=0.3, **given) for _ in range(2)]
        for _ in range(3):
            scores, positive = _logistic(10_000, bench.device)
            values, targets = scores.logit() if "logits" in name else scores, positive.long()
            targets[::7] = -100
            if spoil:
                values[17], values[99], targets[5], targets[9], values[1234] = torch.nan, torch.inf, 9, -3, 4.0
            seen[0].update(values, targets)
            with _without_kernels():
                seen[1].update(values, targets)
        exact = "logits" not in name
        states = [{key: part.cpu() for key, part in heldout.torch._folded(one._state).items()} for one in seen]  # noqa: SLF001
        # The kernels put the sums of losses into the first bin of each class; the firsts matter where they are told.
        skipped = ("sums", "centre", "first_row", "first_value")
        wrong = [key for key, part in states[0].items()
                 if key not in skipped and not _alike(part, states[1][key], exact=exact)]  # fmt: skip
        sums = [loss_sums.probabilities({key: part.numpy() for key, part in state.items()}) for state in states]
        wrong += differing(*sums, relative=1e-12 if exact else 1e-5)
        if spoil:
            told = []
            for one in seen:
                try:
                    one.counted()
                except heldout.HeldoutError as error:
                    told.append(str(error))
            wrong += [] if len(told) == 2 and told[0] == told[1] else [f"words {told}"]
        bench.say("same", f"batches, {name}: {'equal' if not wrong else f'DIFFERENT: {wrong}'}")


def _alike(first: Any, second: Any, *, exact: bool) -> bool:
    """Whether two tensors agree; the logistic function of two programs may differ in the last place."""
    if exact and first.dtype == torch.int64:
        return bool((first == second).all())
    if first.dtype == torch.int64 and first.numel() > 1000:
        return bool((first - second).abs().sum() <= first.sum() // 50)
    first, second = ((part.double().clamp(max=2.0**53)) for part in (first, second))
    return bool(torch.allclose(first, second, rtol=1e-12 if exact else 1e-5, atol=1e-9 if exact else 1e-2))


def time_tuning(bench: Bench) -> None:
    """Sizes of blocks, to choose from."""
    if bench.device != "cuda":
        return
    n = 100_000_000
    truth, called = (torch.randint(0, 10, (n,), device=bench.device) for _ in range(2))
    count = partial(kernels.count_cells, truth, called, (0, 9), (0, 9))
    for kernels.PAIRS in ((1024, 4, 16), (2048, 4, 16), (2048, 8, 16), (2048, 8, 32)):
        bench.time("tuning", f"pairs {kernels.PAIRS}", count, runs=5)
    scores, positive = _logistic(n, bench.device)
    losses = partial(kernels.sum_positive, scores, positive, 2.0**-23, ladder=LADDER)
    for kernels.LOSS_ROWS in ((64, 1, 32), (128, 4, 8), (128, 4, 16), (256, 4, 8)):
        bench.time("tuning", f"losses {kernels.LOSS_ROWS}", losses, runs=5)
    for kernels.CALIBRATION_ROWS in ((32, 1, 16), (32, 1, 32), (64, 2, 16), (128, 4, 16)):
        bench.time("tuning", f"calibration {kernels.CALIBRATION_ROWS}", losses, runs=5)


def _torchmetrics() -> Any:
    if importlib.util.find_spec("torchmetrics") is None:
        return None
    from torchmetrics.functional import classification as functional

    return functional


def time_confusion(bench: Bench) -> None:
    """A confusion matrix of 10⁸ labels, k = 10."""
    n = bench.size(100_000_000)
    for kind in (torch.int64, torch.int8):
        pair = [torch.randint(0, 10, (n,), device=bench.device).to(kind) for _ in range(2)]
        count = partial(kernels.count_cells, pair[0], pair[1], (0, 9), (0, 9))
        bench.time("confusion", f"counting on the device, {n:,} {kind}", count)
        with _without_kernels():
            bench.time("confusion", "the same with torch alone", count)
    truth, called = (torch.randint(0, 10, (n,), device=bench.device) for _ in range(2))
    bench.time(
        "confusion",
        "count_tensors, labels found as well",
        lambda: count_tensors(truth, {"predicted": called}, _ask(), anywhere=True),
    )
    if (peer := _torchmetrics()) is not None:
        bench.time(
            "confusion",
            "torchmetrics, no validation",
            lambda: peer.multiclass_confusion_matrix(called, truth, 10, validate_args=False),
        )
        bench.time("confusion", "torchmetrics", lambda: peer.multiclass_confusion_matrix(called, truth, 10), runs=3)


def time_area(bench: Bench) -> None:
    """The exact AUC of 10⁸ float32."""
    n = bench.size(100_000_000)
    scores, positive = _logistic(n, bench.device)
    ours = bench.time(
        "auc", f"heldout.torch.roc_auc, {n:,} float32, exact", lambda: heldout.torch.roc_auc(scores, positive)
    )
    if (peer := _torchmetrics()) is not None:
        truth = positive.long()
        theirs = bench.time(
            "auc", "torchmetrics, exact, no validation", lambda: peer.binary_auroc(scores, truth, validate_args=False)
        )
        bench.say("auc", f"difference {ours - float(theirs):.3g}")


def time_certified(bench: Bench) -> None:
    """Certified areas and losses of 10⁹."""
    n = bench.size(1_000_000_000)
    scores, positive = _logistic(n, bench.device)
    truth = positive.view(torch.uint8)
    bench.time("certified", f"bins and losses, {n:,}", lambda: positive_bins(scores, positive, 2.0**-23), runs=3)
    losses = partial(kernels.sum_positive, scores, positive, 2.0**-23)
    bench.time("certified", "bins and losses, on the device", partial(losses, ladder=LADDER), runs=3)
    bench.time("certified", "losses alone", losses, runs=3)
    found = bench.time(
        "certified", "count_tensors", lambda: count_tensors(truth, {}, _ask(scores), anywhere=True), runs=3
    )
    if found is not None:
        area = heldout.evaluate(found[0], measures=["roc_auc", "log_loss", "average_precision"])
        bench.say("certified", f"{area['roc_auc']}, bounds {area['roc_auc'].bounds}")


def time_evaluate(bench: Bench) -> None:
    """The whole evaluate() of 10⁸ two-class scores."""
    n = bench.size(100_000_000)
    scores, positive = _logistic(n, bench.device)
    truth = positive.long()
    found = bench.time(
        "evaluate", f"count_tensors, {n:,}", lambda: count_tensors(truth, {}, _ask(scores), anywhere=True), runs=5
    )
    _time_report(bench, "evaluate", found[0], truth, scores, 5)
    if (peer := _torchmetrics()) is not None:

        def several() -> None:
            peer.binary_auroc(scores, truth, validate_args=False)
            peer.binary_average_precision(scores, truth, validate_args=False)
            peer.binary_confusion_matrix(scores, truth, validate_args=False)
            peer.binary_calibration_error(scores, truth, n_bins=10, validate_args=False)

        bench.time(
            "evaluate", "torchmetrics: AUC, average precision, confusion and calibration, values alone", several, runs=3
        )


def _time_report(bench: Bench, job: str, evidence: Any, truth: Any, scores: Any, runs: int) -> None:
    """The whole evaluate(), until it returns and until every estimate is there: they are made when they are read."""
    kind = "" if evidence is not None else ", probabilities"
    if evidence is not None:
        bench.time(
            job, "evaluate() of the evidence, estimates read", lambda: heldout.evaluate(evidence).estimates, runs
        )
    bench.time(job, f"evaluate() of the tensors{kind}", lambda: heldout.evaluate(truth, score=scores), runs)
    bench.time(job, f"the same, estimates read{kind}", lambda: heldout.evaluate(truth, score=scores).estimates, runs)


def time_classes(bench: Bench) -> None:
    """The whole evaluate() of 10⁶ × 1,000-class logits."""
    n, k = bench.size(1_000_000), 1000 if bench.device == "cuda" else 50
    logits = torch.randn(n, k, device=bench.device)
    truth = torch.randint(0, k, (n,), device=bench.device)
    logits[torch.arange(n, device=bench.device), truth] += 3
    found = bench.time(
        "classes",
        f"count_tensors, {n:,} × {k:,} logits",
        lambda: count_tensors(truth, {}, _ask(logits), anywhere=True),
        runs=3,
    )
    _time_report(bench, "classes", found[0], truth, logits, 3)
    _time_report(bench, "classes", None, truth, logits.softmax(dim=1), 3)
    if (peer := _torchmetrics()) is not None:
        areas = partial(peer.multiclass_auroc, logits, truth, k, average="macro", validate_args=False)
        bench.time("classes", "torchmetrics: AUC of every class, values alone", areas, runs=2)


def time_epoch(bench: Bench) -> None:
    """An epoch of 1,000 updates of 10⁵ rows."""
    n, updates = bench.size(100_000) if bench.device == "cuda" else 1000, 1000
    batches = [_logistic(n, bench.device) for _ in range(8)]
    pairs = [(scores, positive.long()) for scores, positive in batches]
    seen = heldout.torch.Evidence(logits=False)

    def epoch() -> None:
        seen.reset()
        for at in range(updates):
            seen.update(*pairs[at % len(pairs)])

    bench.time("epoch", f"{updates:,} updates of {n:,} rows", epoch, runs=3)
    bench.say("epoch", f"{bench.rows[-1]['ms'] / updates:.4f} ms for each update")
    if bench.device == "cuda":
        seen.update(*pairs[0])
        torch.cuda.synchronize()
        held = torch.cuda.memory_allocated()
        begun = time.perf_counter()
        for at in range(200):
            seen.update(*pairs[at % len(pairs)])
        queued = (time.perf_counter() - begun) / 200 * 1000
        torch.cuda.synchronize()
        bench.say(
            "epoch",
            f"{queued:.4f} ms until an update returns; memory grew by {torch.cuda.memory_allocated() - held} bytes",
        )
        torch.cuda.set_sync_debug_mode("error")
        try:
            seen.update(*pairs[0])
            heldout_k = heldout.torch.Evidence(5)
            heldout_k.update(torch.randn(64, 5, device="cuda"), torch.zeros(64, dtype=torch.long, device="cuda"))
            bench.say("epoch", "no synchronisation inside update")
        except RuntimeError as error:
            bench.say("epoch", f"SYNCHRONISED: {error}")
        finally:
            torch.cuda.set_sync_debug_mode("default")
    bench.time("epoch", "compute()", seen.compute, runs=3)
    bench.time("epoch", "compute(): every measure and interval read", lambda: seen.compute().estimates, runs=3)
    bench.time(
        "epoch",
        "compute(measures=['accuracy', 'roc_auc'])",
        lambda: seen.compute(measures=["accuracy", "roc_auc"]),
        runs=3,
    )
    if importlib.util.find_spec("torchmetrics") is not None:
        from torchmetrics.classification import BinaryAUROC

        peer = BinaryAUROC(validate_args=False).to(bench.device)

        def theirs() -> None:
            peer.reset()
            for at in range(updates):
                peer.update(*pairs[at % len(pairs)])

        def answer() -> Any:
            # What it worked out before it would give again.
            peer._computed = None  # noqa: SLF001
            return peer.compute()

        bench.time("epoch", "torchmetrics.BinaryAUROC, the same updates", theirs, runs=3)
        bench.time(
            "epoch",
            "torchmetrics.BinaryAUROC.compute()",
            answer,
            runs=2,
        )


def try_dlpack(bench: Bench) -> None:
    """Arrays of CuPy and JAX are counted where they are."""
    n = bench.size(20_000_000)
    scores, positive = _logistic(n, bench.device)
    truth = positive.long()
    want = count_tensors(truth, {}, _ask(scores), anywhere=True)
    if importlib.util.find_spec("cupy") is not None and bench.device == "cuda":
        import cupy

        given = cupy.from_dlpack(truth), cupy.from_dlpack(scores)
        found = heldout.count(given[0], score=given[1]).counted
        bench.say("dlpack", f"CuPy, differing: {None if want is None else found.differing(want[0], relative=1e-12)}")
        bench.time("dlpack", f"count of CuPy arrays, {n:,}", lambda: heldout.count(given[0], score=given[1]), runs=3)
    if importlib.util.find_spec("jax") is not None:
        import jax

        bench.say("dlpack", f"JAX on {jax.devices()}")
        rows = jax.dlpack.from_dlpack(scores), jax.dlpack.from_dlpack(truth.int())
        found = heldout.count(rows[1], score=rows[0]).counted
        bench.say("dlpack", f"JAX, differing: {None if want is None else found.differing(want[0], relative=1e-12)}")


if __name__ == "__main__":
    main()
