"""How much more accurate a classifier is than always giving one answer, on the same cases."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from heldout.estimates.dependence import Dependence
from heldout.estimates.interval import Estimator
from heldout.estimates.score_paired import paired_difference_limits
from heldout.evidence import Confusion, Label
from heldout.measures.catalogue import find
from heldout.measures.quantity import Quantity

# With more classes than this a square of costs is not worth making for one interval.
SQUARE_CLASSES = 300


@dataclass(frozen=True, slots=True)
class Gain:
    """The accuracy less that of always answering the commonest class, with its interval (nan where there is none).

    `gained` are the cases that only the classifier gets right, `lost` those that only the constant answer does.
    """

    answer: Label
    accuracy: float
    constant: float
    low: float
    high: float
    gained: float
    lost: float

    @property
    def value(self) -> float:
        """How much more accurate it is."""
        return self.accuracy - self.constant

    @property
    def known(self) -> bool:
        """Whether there is an interval."""
        return not math.isnan(self.low)


def gain_over_commonest(confusion: Confusion, level: float, independent: float = 1.0) -> Gain | None:
    """The gain in accuracy over always answering the commonest class; None where there is one class only.

    Both answers are judged on the same cases, so the interval is the paired one. With weights or groups it is that of
    the mean of +1 for a case that only the classifier gets right and −1 for one that only the constant answer does.
    `independent` is the share of the cases that counts as independent, and 0 where there can be no interval.

    >>> gain_over_commonest(Confusion.of([[9990, 10], [90, 10]], ["c1", "c2"]), 0.95).value
    0.0
    """
    if confusion.n_classes < 2 or not confusion.n:
        return None
    commonest = int(confusion.truth_totals.argmax())
    right = confusion.truth == confusion.predicted
    is_common = confusion.truth == commonest
    n, scale = confusion.n_cases, confusion.n_cases / confusion.n
    gained = float(confusion.counts[right & ~is_common].sum()) * scale
    lost = float(confusion.counts[~right & is_common].sum()) * scale
    constant = float(confusion.truth_totals[commonest]) / float(confusion.n)
    # Not the quotient of the hits: where nothing is gained or lost, the two must be equal to the last digit.
    accuracy = constant + (gained - lost) / n
    low = high = math.nan
    if not independent:
        pass
    elif confusion.weighted or confusion.clusters is not None:
        low, high = _limits_of_mean(confusion, commonest, level, independent)
    else:
        low, high = paired_difference_limits(gained * independent, lost * independent, n * independent, level)
    return Gain(confusion.labels[commonest], accuracy, constant, low, high, gained, lost)


def _limits_of_mean(confusion: Confusion, commonest: int, level: float, independent: float) -> tuple[float, float]:
    k = confusion.n_classes
    if k > SQUARE_CLASSES:
        return math.nan, math.nan
    # A cost of −1 where only the classifier is right, and of 1 where only the constant answer is.
    costs = np.zeros((k, k))
    costs[commonest] += 1.0
    costs -= np.eye(k)
    plan = None if independent == 1 else Dependence(confusion.n_cases, 1 / independent)
    found = Estimator(confusion, level, plan=plan).ask(Quantity(find("expected_cost", costs=costs)))
    return 0.0 - found.high, 0.0 - found.low
