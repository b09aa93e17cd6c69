"""Speed of what is ranked: areas, curves, intervals and the bootstrap, against scikit-learn."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import polars as pl  # loaded before timing, as it is after any file was read
from sklearn import metrics

import heldout
from benchmarks.data import DISTINCT, SCORES, integers, scored
from benchmarks.memory import peak_mib
from benchmarks.timing import Contender, Race, Series, race, race_over
from heldout.engines.score_sort import rank
from heldout.intervals.areas import delong_logit
from heldout.intervals.multiclass_areas import multiclass_areas
from heldout.intervals.ranking_bootstrap import resampled_values
from heldout.measures.quantity import Bound
from heldout.measures.ranking import average_precision, roc_auc
from heldout.threads import count_threads, use_threads

AUC, AP = Bound(roc_auc), Bound(average_precision)
FEW = DISTINCT
REPLICATES = 2000


def races(shrink: int) -> Iterator[tuple[str, Race | Series]]:
    """Every race, with a name for its file; `shrink` divides the numbers of rows for a quick look."""
    pl.Series([1]).sort()
    for rows, rounds in ((100_000, 9), (1_000_000, 7), (10_000_000, 3)):
        name, n = f"{rows:.0e}".replace("+0", ""), rows // shrink
        yield f"ranking-{name}", race_over(f"areas of {n:,} scores", SCORES, partial(areas, n, rounds=rounds))
    n = 1_000_000 // shrink
    yield "curves", race_over(f"whole curves and areas of {n:,} scores", SCORES, partial(curves, n))
    yield "weighted", race_over(f"areas of {n:,} scores with weights", SCORES, partial(weighted, n))
    yield "threads", by_threads(n)
    for kind, name in (("logistic", "distinct"), (f"{DISTINCT:,} distinct", "tied")):
        yield f"ranking-bootstrap-{name}", bootstrap(n, kind)


def areas(n: int, kind: str, rounds: int) -> Race:
    """The area under the ROC curve, alone and with its interval, and average precision."""
    scores, truth = scored(kind, n)
    return race(
        f"areas of {n:,} scores, {kind}",
        [
            Contender("heldout, AUC", lambda: AUC.value({"ranking": rank(scores, truth)})),
            Contender("heldout, AUC with DeLong's interval", lambda: delong_logit(rank(scores, truth))),
            Contender("heldout, average precision", lambda: AP.value({"ranking": rank(scores, truth)})),
            Contender("scikit-learn roc_auc_score", lambda: metrics.roc_auc_score(truth, scores)),
            Contender("scikit-learn average_precision_score", lambda: metrics.average_precision_score(truth, scores)),
            Contender("np.sort of the scores alone", lambda: np.sort(scores)),
        ],
        rounds=rounds,
    )


def curves(n: int, kind: str) -> Race:
    """TP, FP and threshold at every distinct score, and average precision."""
    scores, truth = scored(kind, n)

    def ours() -> object:
        seen = rank(scores, truth)
        return seen.tp, seen.fp, seen.scores, AP.value({"ranking": seen})

    def theirs() -> object:
        return (
            metrics.roc_curve(truth, scores, drop_intermediate=False),
            metrics.precision_recall_curve(truth, scores),
            metrics.average_precision_score(truth, scores),
        )

    return race(
        f"whole curves of {n:,} scores, {kind}",
        [
            Contender("heldout, both curves and average precision", ours),
            Contender("scikit-learn, roc_curve + pr_curve + AP", theirs),
            Contender("scikit-learn roc_curve", lambda: metrics.roc_curve(truth, scores, drop_intermediate=False)),
            Contender("scikit-learn precision_recall_curve", lambda: metrics.precision_recall_curve(truth, scores)),
        ],
        rounds=5,
    )


def weighted(n: int, kind: str) -> Race:
    """The area with weights beside the one without."""
    scores, truth = scored(kind, n)
    weight = np.random.default_rng(3).random(n) + 0.5
    return race(
        f"areas of {n:,} weighted scores, {kind}",
        [
            Contender("heldout, AUC without weights", lambda: AUC.value({"ranking": rank(scores, truth)})),
            Contender("heldout, AUC", lambda: AUC.value({"ranking": rank(scores, truth, weight=weight)})),
            Contender("scikit-learn roc_auc_score", lambda: metrics.roc_auc_score(truth, scores, sample_weight=weight)),
        ],
        rounds=5,
    )


def by_threads(n: int) -> Race:
    """The same by 1, 2, 4, … threads, as many as there are cores."""
    scores, truth = scored("logistic", n)
    labels = integers(10 * n, 10)
    rows = np.random.default_rng(5).random((n // 5, 10))
    codes = np.random.default_rng(6).integers(0, 10, n // 5)
    works = {
        f"AUC of {n:,} scores": lambda: AUC.value({"ranking": rank(scores, truth)}),
        f"counts of {10 * n:,} labels": lambda: heldout.count(*labels),
        f"areas of {n // 5:,} × 10 scores": lambda: multiclass_areas(rows, codes, 10),
    }
    numbers = [threads for threads in (1, 2, 4, 8, 16, 32, 64) if threads <= _count_cores()]

    def run(work: Callable[[], object], threads: int) -> object:
        with use_threads(threads):
            return work()

    return race(
        f"by number of threads, of {_count_cores()} cores",
        [
            Contender(f"{name}, {threads} threads", partial(run, work, threads))
            for name, work in works.items()
            for threads in numbers
        ],
        rounds=5,
    )


def _count_cores() -> int:
    with use_threads(None):
        return count_threads()


def bootstrap(n: int, kind: str) -> Race:
    """Replicates of the area: sorted once against sorted each time."""
    scores, truth = scored(kind, n)
    distinct = kind != "logistic"
    seen = rank(scores, truth)
    generator = np.random.default_rng(2)
    drawn = REPLICATES if distinct else REPLICATES // 50

    def sorted_each_time() -> object:
        rows = generator.integers(n, size=n)
        return metrics.roc_auc_score(truth[rows], scores[rows])

    return race(
        f"{REPLICATES:,} replicates of the AUC of {n:,} scores, {kind}",
        [
            Contender(
                "heldout, stratified bootstrap",
                lambda: resampled_values(seen, [AUC], replicates=drawn),
                factor=REPLICATES / drawn,
                note="" if distinct else "a fiftieth of the replicates, times 50",
            ),
            Contender(
                "roc_auc_score on rows drawn again",
                sorted_each_time,
                factor=REPLICATES,
                note=f"one replicate, times {REPLICATES:,}",
            ),
        ],
        rounds=3,
    )


def ranking_memory(n: int, distinct: int = 0) -> dict[str, object]:
    """Peak memory of ranking `n` scores and taking the area with its interval, in a fresh process."""
    command = [sys.executable, "-m", "benchmarks.ranking", str(n), str(distinct)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    measured: dict[str, object] = json.loads(done.stdout)
    return measured


def _main(n: int, distinct: int) -> None:
    delong_logit(rank(*scored("logistic", 1000)))
    # Made in a way that leaves no larger peak behind than what is kept.
    generator = np.random.default_rng(1)
    scores = generator.random(n)
    if distinct:
        np.floor(scores * distinct, out=scores)
    truth = np.empty(n, dtype=np.bool_)
    for start in range(0, n, 1 << 16):
        part = truth[start : start + (1 << 16)]
        part[:] = generator.random(len(part)) < 0.3
    before = peak_mib()
    delong_logit(rank(scores, truth))
    ranked = peak_mib()
    seen = rank(scores, truth)
    held = seen.tp, seen.fp, seen.scores
    curve = peak_mib()
    per_row = 2**20 / n
    print(
        json.dumps(
            {
                "rows": n,
                "distinct": len(held[2]),
                "bytes_a_row_area_and_interval": round((ranked - before) * per_row, 1),
                "bytes_a_row_whole_curve": round((curve - before) * per_row, 1),
            }
        )
    )


if __name__ == "__main__":
    _main(int(sys.argv[1]), int(sys.argv[2]))
