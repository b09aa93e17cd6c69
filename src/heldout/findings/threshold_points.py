"""What a threshold comes to on ranked cases, and which threshold is best: a few sums, in blocks, without copies."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from heldout.engines.ranking import rank
from heldout.evidence import Label
from heldout.evidence.ranking import Ranking
from heldout.measures.catalogue import find
from heldout.predictions.table import Predictions

# What is to be as large as possible, from TP, FP, positives and negatives.
Aim = Callable[[Any, Any, float, float], Any]

# Blocks of this many distinct scores stay in the processor's cache.
BLOCK = 1 << 16
# Values nearer than this share of their scale differ by rounding only.
SAME = 1e-12


def _aim(name: str) -> Aim:
    """A measure of the catalogue, for arrays of TP and FP."""
    bound = find(name)

    def value(tp: Any, fp: Any, positives: float, negatives: float) -> Any:
        tn = negatives - fp
        top, bottom = bound.pair(
            {"tp": tp, "fp": fp, "fn": positives - tp, "tn": tn, "correct": tp + tn, "n": positives + negatives}
        )
        return top / bottom

    return value


AIMS: Mapping[str, Aim] = {"accuracy": _aim("accuracy"), "F1": _aim("f1"), "Youden's J": _aim("informedness")}


@dataclass(frozen=True, slots=True)
class Best:
    """The best value of an aim, and the highest threshold that reaches it (infinite: nobody is called positive)."""

    value: float
    threshold: float


def place_of(ranking: Ranking, threshold: float) -> int:
    """How many of the distinct scores are at least the threshold.

    >>> place_of(Ranking(np.array([0.9, 0.4]), np.array([1, 1]), np.array([0, 2])), 0.4)
    2
    """
    return bisect_right(range(len(ranking)), -threshold, key=lambda at: -float(ranking.scores[at]))


def counts_at(ranking: Ranking, threshold: float) -> tuple[float, float]:
    """TP and FP where the cases whose score is at least the threshold are called positive.

    >>> counts_at(Ranking(np.array([0.9, 0.4]), np.array([1, 1]), np.array([0, 2])), 0.5)
    (1.0, 0.0)
    """
    place = place_of(ranking, threshold)
    return float(ranking.positives[:place].sum(dtype=np.float64)), float(
        ranking.negatives[:place].sum(dtype=np.float64)
    )


def best_of(ranking: Ranking, aims: Mapping[str, Aim]) -> dict[str, Best]:
    """The best that any threshold reaches for each aim.

    >>> best_of(Ranking(np.array([0.9, 0.4]), np.array([1, 1]), np.array([0, 2])), AIMS)["F1"]
    Best(value=0.6666666666666666, threshold=0.9)
    """
    positives, negatives = float(ranking.n_positive), float(ranking.n_negative)
    best = {name: Best(float(aim(0.0, 0.0, positives, negatives)), np.inf) for name, aim in aims.items()}
    tp = fp = 0.0
    for start in range(0, len(ranking), BLOCK):
        part = slice(start, start + BLOCK)
        hits = tp + np.cumsum(ranking.positives[part], dtype=np.float64)
        alarms = fp + np.cumsum(ranking.negatives[part], dtype=np.float64)
        for name, aim in aims.items():
            values = aim(hits, alarms, positives, negatives)
            at = int(values.argmax())
            if values[at] > best[name].value:
                best[name] = Best(float(values[at]), float(ranking.scores[start + at]))
        tp, fp = float(hits[-1]), float(alarms[-1])
    return best


def is_best(value: float, best: Best) -> bool:
    """Whether a value is the best one but for rounding.

    >>> is_best(0.3, Best(0.1 + 0.2, 0.5))
    True
    """
    return value >= best.value - SAME * max(1.0, abs(best.value))


@dataclass(frozen=True, slots=True)
class Order:
    """How predicted classes lie along the scores: the share that no threshold explains, and the threshold otherwise.

    Where `astray` is 0, all cases with a score of at least `threshold` were called positive, but for ties with it.
    """

    astray: float
    threshold: float


def order_of(predictions: Predictions, positive: Label) -> Order | None:
    """Whether one threshold on the scores of the positive class gives the predicted classes; None without such scores.

    >>> from heldout.predictions.scores import RawScores
    >>> from heldout.predictions.table import assemble
    >>> order_of(assemble([0, 1, 1], [0, 1, 1], score=RawScores(np.array([0.1, 0.6, 0.8]))), 1)
    Order(astray=0.0, threshold=0.5)
    """
    if predictions.scores is None or predictions.scores.per_class:
        return None
    called, scores = predictions.predicted, predictions.scores.values
    is_positive = predictions.predicted_place == predictions.labels.index(positive)
    below, above = -np.inf, np.inf
    for start in range(0, predictions.n, BLOCK):
        part = slice(start, start + BLOCK)
        yes = is_positive[called.codes[part].astype(np.int64) - called.offset]
        held = scores[part]
        above = min(above, float(held.min(where=yes, initial=np.inf)))
        below = max(below, float(held.max(where=~yes, initial=-np.inf)))
    if below <= above:
        return Order(0.0, 0.5 if below < 0.5 <= above else above)
    yes = is_positive[called.codes.astype(np.int64) - called.offset]
    found = best_of(rank(scores, yes), {"accuracy": AIMS["accuracy"]})["accuracy"]
    return Order(1 - found.value, found.threshold)
