"""Speed of what is made of probabilities: proper scores and bins, and areas of many classes, against scikit-learn."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import sklearn.calibration
import sklearn.metrics

from benchmarks.data import SCORES, scored
from benchmarks.timing import Contender, Race, Series, race, race_over
from heldout.engines.probability_sums import tally, tally_classes
from heldout.intervals.losses import loss_limits
from heldout.intervals.multiclass_areas import multiclass_areas

CLASSES = 10


def races(shrink: int) -> Iterator[tuple[str, Race | Series]]:
    """Every race, with a name for its file; `shrink` divides the numbers of rows for a quick look."""
    n = 10_000_000 // shrink
    yield (
        "probabilities",
        race_over(f"Brier score and log loss of {n:,} probabilities", SCORES, partial(two_classes, n)),
    )
    yield "probabilities-classes", many_classes(1_000_000 // shrink)
    yield "areas-classes", areas(200_000 // shrink)


def two_classes(n: int, kind: str) -> Race:
    """The tally of a column of probabilities: both losses with their moments and intervals, and the bins."""
    p, positive = scored(kind, n)
    truth = positive.astype(np.int64)

    def ours() -> object:
        seen = tally(p, truth == 1)
        return (
            seen.losses["brier"].mean,
            seen.losses["log_loss"].mean,
            loss_limits(seen, "brier"),
            loss_limits(seen, "log_loss"),
        )

    def theirs() -> object:
        return sklearn.metrics.brier_score_loss(truth, p), sklearn.metrics.log_loss(truth, p)

    return race(
        f"Brier score and log loss of {n:,} probabilities, {kind}",
        [
            Contender("heldout, both with intervals, and ten bins", ours),
            Contender("scikit-learn, both", theirs),
            Contender("scikit-learn brier_score_loss alone", lambda: sklearn.metrics.brier_score_loss(truth, p)),
            Contender("scikit-learn log_loss alone", lambda: sklearn.metrics.log_loss(truth, p)),
            Contender(
                "scikit-learn calibration_curve alone",
                lambda: sklearn.calibration.calibration_curve(truth, p, n_bins=10),
            ),
        ],
        rounds=3,
    )


def many_classes(n: int) -> Race:
    """The tally of a table of probabilities: both losses, top-label bins and the ranks of the true classes."""
    rng = np.random.default_rng(2)
    table = rng.dirichlet(np.ones(CLASSES), n)
    codes = rng.integers(0, CLASSES, n)
    return race(
        f"Brier score, log loss, bins and top-k accuracy of {n:,} rows of {CLASSES} probabilities",
        [
            Contender("heldout, all four", lambda: tally_classes(table, codes)),
            Contender("scikit-learn brier_score_loss alone", lambda: sklearn.metrics.brier_score_loss(codes, table)),
            Contender("scikit-learn log_loss alone", lambda: sklearn.metrics.log_loss(codes, table)),
            Contender(
                "scikit-learn top_k_accuracy_score alone",
                lambda: sklearn.metrics.top_k_accuracy_score(codes, table, k=3),
            ),
        ],
        rounds=5,
    )


def areas(n: int) -> Race:
    """Averaged areas under the ROC curve, ours with their intervals."""
    rng = np.random.default_rng(3)
    codes = rng.integers(0, CLASSES, n)
    table = rng.random((n, CLASSES))
    table[np.arange(n), codes] += 0.3
    table /= table.sum(axis=1, keepdims=True)
    return race(
        f"macro, weighted and Hand-Till areas of {n:,} rows of {CLASSES} classes",
        [
            Contender("heldout, all three with intervals", lambda: multiclass_areas(table, codes, CLASSES)),
            Contender(
                "scikit-learn roc_auc_score, one against the rest",
                lambda: sklearn.metrics.roc_auc_score(codes, table, multi_class="ovr"),
            ),
            Contender(
                "scikit-learn roc_auc_score, one against one",
                lambda: sklearn.metrics.roc_auc_score(codes, table, multi_class="ovo"),
            ),
        ],
        rounds=3,
    )
