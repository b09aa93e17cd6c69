"""Speed of what is counted: whole reports, counting alone, and the bootstrap, against the peers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import confidenceinterval
import numpy as np
import pycm
import scipy.stats
import sklearn.metrics
import torch
import torchmetrics.classification as tm
from torchmetrics import MetricCollection

import heldout
from benchmarks.data import integers, separate_strings, shared_strings
from benchmarks.timing import Contender, Race, race

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Labels = NDArray[Any]

CLASSES = 10


def races(shrink: int) -> Iterator[tuple[str, Race]]:
    """Every race, with a name for its file; `shrink` divides the numbers of rows for a quick look."""
    yield "small", small_evaluations()
    yield "report-integers", report_on_integers(1_000_000 // shrink)
    yield "report-shared-strings", report_on_strings(1_000_000 // shrink, separate=False)
    yield "report-separate-strings", report_on_strings(1_000_000 // shrink, separate=True)
    yield "count", count_alone(10_000_000 // shrink)
    yield "bootstrap", bootstrap(1_000_000 // shrink)


def small_evaluations(n: int = 200) -> Race:
    """What an evaluation costs however few the rows, beside counting a million labels, the same work everywhere."""
    truth, predicted = integers(n, 2)
    many, scores = integers(1_000_000, 2)[0], np.random.default_rng(0).random(n)
    return race(
        f"an evaluation of {n:,} rows of two classes",
        [
            Contender("heldout, accuracy with its interval", lambda: heldout.evaluate(truth, predicted)["accuracy"]),
            Contender("heldout, all measures with intervals", lambda: _evaluate(truth, predicted)),
            Contender("the same with scores", lambda: heldout.evaluate(truth, predicted, score=scores).rows()),
            Contender("scikit-learn classification_report", lambda: _sklearn_report(truth, predicted)),
            Contender("NumPy, counting a million labels", lambda: np.bincount(many)),
        ],
        rounds=25,
    )


def report_on_integers(n: int) -> Race:
    """Everything each library reports on whole-number labels."""
    truth, predicted = integers(n, CLASSES)
    return race(
        f"a report on {n:,} integer labels of {CLASSES} classes",
        [
            Contender("heldout, all measures with intervals", lambda: _evaluate(truth, predicted)),
            Contender("scikit-learn classification_report", lambda: _sklearn_report(truth, predicted)),
            Contender("torchmetrics, 5 metrics", _torchmetrics(truth, predicted)),
            Contender(
                "confidenceinterval, 4 measures with intervals",
                lambda: _confidenceinterval(truth, predicted),
                most=2,
                note="at most 2 rounds",
            ),
            Contender(
                "PyCM ConfusionMatrix",
                lambda: pycm.ConfusionMatrix(truth, predicted),
                most=2,
                note="at most 2 rounds",
            ),
        ],
        rounds=7,
    )


def report_on_strings(n: int, *, separate: bool) -> Race:
    """The same on strings, either few objects shared by all rows or one object a row."""
    codes = integers(n, CLASSES)
    truth, predicted = (separate_strings(column) if separate else shared_strings(column, CLASSES) for column in codes)
    which = "each its own object" if separate else "few shared objects"
    return race(
        f"a report on {n:,} strings ({which}) of {CLASSES} classes",
        [
            Contender("heldout, all measures with intervals", lambda: _evaluate(truth, predicted)),
            Contender("scikit-learn classification_report", lambda: _sklearn_report(truth, predicted)),
        ],
        rounds=5,
    )


def count_alone(n: int) -> Race:
    """The confusion matrix and nothing else."""
    truth, predicted = integers(n, CLASSES)
    return race(
        f"the confusion matrix of {n:,} integer labels of {CLASSES} classes",
        [
            Contender("heldout.count", lambda: heldout.count(truth, predicted)),
            Contender("scikit-learn confusion_matrix", lambda: sklearn.metrics.confusion_matrix(truth, predicted)),
        ],
        rounds=5,
    )


def bootstrap(n: int, *, replicates: int = 2000, peer_replicates: int = 4) -> Race:
    """A bootstrap interval of macro F1: replicates of counts, against replicates of rows."""
    truth, predicted = integers(n, CLASSES)

    def ours() -> object:
        evaluation = heldout.evaluate(truth, predicted, measures=["macro f1"])
        return evaluation.interval("macro f1", method="bootstrap", replicates=replicates)

    def macro_f1(sampled_truth: Labels, sampled_predicted: Labels) -> float:
        return float(sklearn.metrics.f1_score(sampled_truth, sampled_predicted, average="macro"))

    def theirs() -> object:
        return scipy.stats.bootstrap(
            (truth, predicted),
            macro_f1,
            n_resamples=peer_replicates,
            paired=True,
            vectorized=False,
            method="percentile",
            rng=np.random.default_rng(1),
        )

    return race(
        f"{replicates:,} bootstrap replicates of macro F1 at {n:,} rows",
        [
            Contender("heldout, counting included", ours),
            Contender(
                "scipy.stats.bootstrap over scikit-learn f1_score",
                theirs,
                most=3,
                factor=replicates / peer_replicates,
                note=f"timed on {peer_replicates} replicates, times {replicates // peer_replicates}",
            ),
        ],
        rounds=5,
    )


def _evaluate(truth: Labels, predicted: Labels) -> object:
    # rows() asks for every number, so nothing is left for later.
    return heldout.evaluate(truth, predicted, measures="all").rows()


def _sklearn_report(truth: Labels, predicted: Labels) -> object:
    return sklearn.metrics.classification_report(truth, predicted, output_dict=True)


def _torchmetrics(truth: Labels, predicted: Labels) -> Any:
    collection = MetricCollection(
        {
            "accuracy": tm.MulticlassAccuracy(CLASSES, average="micro"),
            "precision": tm.MulticlassPrecision(CLASSES, average=None),
            "recall": tm.MulticlassRecall(CLASSES, average=None),
            "f1": tm.MulticlassF1Score(CLASSES, average=None),
            "confusion": tm.MulticlassConfusionMatrix(CLASSES),
        }
    )
    target, predictions = torch.from_numpy(truth), torch.from_numpy(predicted)

    def run() -> object:
        collection.reset()
        return collection(predictions, target)

    return run


def _confidenceinterval(truth: Labels, predicted: Labels) -> object:
    return (
        confidenceinterval.accuracy_score(truth, predicted),
        confidenceinterval.precision_score(truth, predicted, average="macro"),
        confidenceinterval.recall_score(truth, predicted, average="macro"),
        confidenceinterval.f1_score(truth, predicted, average="macro"),
    )
