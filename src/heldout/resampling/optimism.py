"""The .632 and .632+ rules: the training set's counts and the out-of-bag counts, mixed.

The rules are usually written for the error rate alone, and the no-information rate as a sum over all n² pairs of a
case and a prediction. Both are functions of counts: the rate needs the class shares of truth and prediction only, and
mixing the tables of counts instead of two error rates gives the same error and every other count measure with it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from heldout.evidence import Confusion
from heldout.plans.plan import Correction

# Below this share of the out-of-bag error the training error says nothing, and the interval does not hold: of
# 1-nearest-neighbour with 1,000 cases it held the truth 4 % of the time.
APPARENT = 0.1


@dataclass(frozen=True)
class Optimism:
    """What the rule found: the errors it mixes, the no-information rate, the relative overfitting and the weight.

    >>> train, out = Confusion.of([[50, 0], [0, 50]]), Confusion.of([[25, 25], [25, 25]])
    >>> found = mix_632(train, out, ".632+")
    >>> found.no_information, found.overfitting, found.weight, found.error
    (0.5, 1.0, 1.0, 0.5)
    """

    rule: Correction
    training: float
    out_of_bag: float
    no_information: float
    overfitting: float
    weight: float
    table: Confusion

    @property
    def error(self) -> float:
        """The corrected error."""
        return _error_rate(self.table)

    @property
    def refused(self) -> str:
        """Why there is no interval, where there is none."""
        if self.training >= APPARENT * self.out_of_bag or self.out_of_bag == 0:
            return ""
        return (
            f"the training error ({self.training:.3f}) is next to nothing beside the out-of-bag error "
            f"({self.out_of_bag:.3f}): the learner remembers its cases, and no interval of this rule holds then; "
            "use 10-fold"
        )


def mix_632(training: Confusion, out_of_bag: Confusion, rule: Correction) -> Optimism:
    """Mix the counts of the training set with those out of bag; both over the same labels."""
    n = float(training.n)
    train = np.asarray(training.matrix, dtype=np.float64)
    out = np.asarray(out_of_bag.matrix, dtype=np.float64)
    out *= n / out.sum()
    apparent, tested = _error_rate(training), _error_rate(out_of_bag)
    truth, predicted = train.sum(axis=1) / n, train.sum(axis=0) / n
    nothing = float(truth @ (1 - predicted))
    overfitting, weight = 0.0, 0.632
    mixed = (1 - weight) * train + weight * out
    if rule == ".632+":
        # Efron & Tibshirani (1997), (28) to (32): an error beyond that of knowing nothing counts as knowing nothing.
        limited = min(tested, nothing)
        if limited > apparent and nothing > apparent:
            overfitting = (limited - apparent) / (nothing - apparent)
        weight = 0.632 / (1 - 0.368 * overfitting)
        mixed = (1 - weight) * train + weight * out
        if tested > nothing > apparent:
            # Their last term then holds the no-information rate in place of the training error.
            mixed = 0.368 * n * np.outer(truth, predicted) + 0.632 * out
    table = Confusion.of(mixed, training.labels)
    weighted = Confusion(table.labels, table.truth, table.predicted, table.counts.astype(np.float64))
    return Optimism(rule, apparent, tested, nothing, overfitting, weight, weighted)


def _error_rate(confusion: Confusion) -> float:
    return 1 - float(confusion.hits.sum()) / float(confusion.n)
