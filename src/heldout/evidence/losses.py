"""The losses of predicted probabilities: the formula of a case, the largest value, and the loss of the class shares.

A formula is arithmetic on `CaseProbabilities`, whose parts are arrays in memory and expressions in lazy frames, so that
every engine evaluates the one that is written here. Engines sum whatever `LOSSES` declares, by name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arrays import Floats


def log(values: Any) -> Any:
    """The natural logarithm of an array, a number or an expression."""
    return values.log() if hasattr(values, "log") else np.log(values)


def sqrt(values: Any) -> Any:
    """The square root of an array, a number or an expression."""
    return values.sqrt() if hasattr(values, "sqrt") else np.sqrt(values)


@dataclass(frozen=True, slots=True, eq=False)
class CaseProbabilities:
    """What losses are made of: arrays with an entry for each case, or expressions.

    `right` is the probability that the true class was given, `raised` the same with what lies below the rounding error
    of its type raised to that error, as scikit-learn does before it takes logarithms. `distance` is Σ(y − p)² over the
    classes, half of it where there are two: (y − p)² of one of them. `norm` is Σp², left out where it follows from
    those of two classes.
    """

    right: Any
    raised: Any
    distance: Any
    norm: Any = None

    @property
    def squares(self) -> Any:
        """Σp² over the classes."""
        return self.right * self.right + self.distance if self.norm is None else self.norm

    @classmethod
    def of_positive(cls, probability: NDArray[Any], positive: NDArray[np.bool_]) -> CaseProbabilities:
        """Of probabilities of the positive class and the mask of the positives."""
        p = probability.astype(np.float64)
        right = np.where(positive, p, 1.0 - p)
        return cls(right, np.maximum(right, least_probability(probability)), np.where(positive, 1.0 - p, p) ** 2)

    @classmethod
    def of_classes(cls, probabilities: NDArray[Any], codes: NDArray[Any]) -> CaseProbabilities:
        """Of a row of probabilities for each case, and the column of its true class."""
        table, rows = probabilities.astype(np.float64), np.arange(len(codes))
        right = table[rows, codes]
        norm = (table**2).sum(axis=1)
        table[rows, codes] -= 1.0
        distance = (table**2).sum(axis=1)
        raised = np.maximum(right, least_probability(probabilities))
        return cls(right, raised, distance / 2 if table.shape[1] == 2 else distance, norm)


def least_probability(probability: NDArray[Any]) -> float:
    """The rounding error of the type: scikit-learn's bound on a probability in the log loss."""
    return float(np.finfo(np.float32 if probability.dtype == np.float32 else np.float64).eps)


@dataclass(frozen=True, slots=True)
class Loss:
    """A number for each case that has a mean: its formula, and the largest value with two classes and with more.

    Where a skill is made of it, `reference` is the loss of always predicting the class shares, from shares along the
    last axis, and `slope` its derivatives by these shares; a reference of 0 leaves the skill undefined.
    """

    name: str
    formula: Callable[[CaseProbabilities], Any]
    largest_of_two: float
    largest_of_many: float
    reference: Callable[[Floats], Any] = lambda shares: np.zeros(shares.shape[:-1])
    slope: Callable[[Floats], Floats] = np.zeros_like

    def largest(self, n_classes: int) -> float:
        """The largest value of a case, and so of a mean."""
        return self.largest_of_two if n_classes == 2 else self.largest_of_many


def _half_of_two(shares: Floats) -> float:
    """The Brier score of two classes is that of one probability, half of the sum over both."""
    return 0.5 if shares.shape[-1] == 2 else 1.0


LOSSES: Mapping[str, Loss] = {
    loss.name: loss
    for loss in (
        Loss(
            "brier",
            lambda case: case.distance,
            largest_of_two=1.0,
            largest_of_many=2.0,
            reference=lambda shares: _half_of_two(shares) * (shares * (1 - shares)).sum(axis=-1),
            slope=lambda shares: _half_of_two(shares) * (1 - 2 * shares),
        ),
        Loss(
            "log_loss",
            lambda case: -log(case.raised),
            largest_of_two=math.inf,
            largest_of_many=math.inf,
            # Adding 0 turns the -0.0 of a single class into the 0.0 that says "undefined".
            reference=lambda shares: -(shares * np.log(np.where(shares > 0, shares, 1.0))).sum(axis=-1) + 0.0,
            slope=lambda shares: -np.log(np.where(shares > 0, shares, 1.0)) - 1,
        ),
        Loss(
            "spherical_score",
            lambda case: case.right / sqrt(case.squares),
            largest_of_two=1.0,
            largest_of_many=1.0,
        ),
    )
}
