"""Speed of what is ranked: areas, curves, intervals and the bootstrap, against scikit-learn."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import polars as pl  # loaded before timing, as it is after any file was read
from sklearn import metrics

from benchmarks.memory import peak_mib
from benchmarks.timing import Contender, Race, race
from heldout.engines.score_sort import rank
from heldout.intervals.areas import delong_logit
from heldout.intervals.ranking_bootstrap import resampled_values
from heldout.measures.quantity import Bound
from heldout.measures.ranking import average_precision, roc_auc

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Scores = NDArray[np.float64]
    Truth = NDArray[np.bool_]

AUC, AP = Bound(roc_auc), Bound(average_precision)
FEW = 1000
REPLICATES = 2000


def races(shrink: int) -> Iterator[tuple[str, Race]]:
    """Every race, with a name for its file; `shrink` divides the numbers of rows for a quick look."""
    pl.Series([1]).sort()
    for rows, rounds in ((100_000, 9), (1_000_000, 7), (10_000_000, 3)):
        for distinct in (0, FEW):
            name = f"ranking-{rows:.0e}-{'tied' if distinct else 'distinct'}".replace("+0", "")
            yield name, areas(rows // shrink, distinct, rounds)
    for distinct in (0, FEW):
        yield f"curves-{'tied' if distinct else 'distinct'}", curves(1_000_000 // shrink, distinct)
        yield f"ranking-bootstrap-{'tied' if distinct else 'distinct'}", bootstrap(1_000_000 // shrink, distinct)


def scored(n: int, distinct: int, seed: int = 1) -> tuple[Scores, Truth]:
    """Probabilities of a fair classifier, all different or rounded to so many."""
    generator = np.random.default_rng(seed)
    positive = generator.random(n) < 0.3
    scores = 1 / (1 + np.exp(-(generator.normal(size=n) + positive)))
    return (np.round(scores * distinct) / distinct if distinct else scores), positive


def areas(n: int, distinct: int, rounds: int) -> Race:
    """The area under the ROC curve, alone and with its interval, and average precision."""
    scores, truth = scored(n, distinct)
    return race(
        f"areas of {n:,} scores, {f'{distinct:,} distinct' if distinct else 'all different'}",
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


def curves(n: int, distinct: int) -> Race:
    """TP, FP and threshold at every distinct score."""
    scores, truth = scored(n, distinct)

    def curve() -> object:
        seen = rank(scores, truth)
        return seen.tp, seen.fp, seen.scores

    return race(
        f"whole curves of {n:,} scores, {f'{distinct:,} distinct' if distinct else 'all different'}",
        [
            Contender("heldout, TP, FP and thresholds", curve),
            Contender("scikit-learn roc_curve", lambda: metrics.roc_curve(truth, scores, drop_intermediate=False)),
            Contender("scikit-learn precision_recall_curve", lambda: metrics.precision_recall_curve(truth, scores)),
        ],
        rounds=5,
    )


def bootstrap(n: int, distinct: int) -> Race:
    """Replicates of the area: sorted once against sorted each time."""
    scores, truth = scored(n, distinct)
    seen = rank(scores, truth)
    generator = np.random.default_rng(2)
    drawn = REPLICATES if distinct else REPLICATES // 50

    def sorted_each_time() -> object:
        rows = generator.integers(n, size=n)
        return metrics.roc_auc_score(truth[rows], scores[rows])

    return race(
        f"{REPLICATES:,} replicates of the AUC of {n:,} scores, "
        f"{f'{distinct:,} distinct' if distinct else 'all different'}",
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
    delong_logit(rank(*scored(1000, 0)))
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
