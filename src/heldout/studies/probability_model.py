"""Calibrated probabilities as a plan assumes them: normal on the logit scale, given the prevalence and the area."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from heldout.arrays import Floats
from heldout.errors import OptionError

# Points of the grid, and how many standard deviations it reaches: sums over it are integrals to ten digits.
POINTS, REACH = 2001, 9.0
WIDEST = 50.0


@dataclass(frozen=True)
class ProbabilityModel:
    """Logits of the true probabilities, as equally wide steps of a normal distribution with their weights.

    Riley et al. (2021), Statistics in Medicine 40, 4230-4251, plan calibration from the distribution of the logits;
    Pavlou et al. (2021), Statistical Methods in Medical Research 30, 2187-2206, take it to be normal.
    """

    logits: Floats
    weights: Floats

    @property
    def probabilities(self) -> Floats:
        """The probability at each logit."""
        from scipy.special import expit

        return np.asarray(expit(self.logits))

    @property
    def prevalence(self) -> float:
        """The share of positives."""
        return float(self.weights @ self.probabilities)

    @property
    def area(self) -> float:
        """The area under the ROC curve of these probabilities."""
        positives, negatives = self.weights * self.probabilities, self.weights * (1 - self.probabilities)
        below = np.cumsum(negatives) - negatives / 2
        return float(positives @ below / positives.sum() / negatives.sum())

    def recalibration_variance(self, coefficient: str, slope: float = 1.0) -> float:
        """The variance of the recalibration slope or intercept, times n: the inverse of the logistic information.

        >>> model = normal_logits(-5.0, 2.5)
        >>> round(model.recalibration_variance("slope") / 0.051**2)
        4558
        """
        from scipy.special import expit

        truth = expit(slope * self.logits)
        weights = self.weights * truth * (1 - truth)
        sums = [float(weights @ self.logits**power) for power in range(3)]
        if coefficient == "in_the_large":
            return 1 / sums[0]
        spread = sums[0] * sums[2] - sums[1] ** 2
        return (sums[0] if coefficient == "slope" else sums[2]) / spread

    def loss_moments(self, loss: str) -> tuple[float, float]:
        """The mean and the variance of the Brier score or log loss of one case."""
        p = self.probabilities
        if loss == "brier":
            positive, negative = (1 - p) ** 2, p**2
        else:
            positive, negative = np.logaddexp(0, -self.logits), np.logaddexp(0, self.logits)
        mean = float(self.weights @ (p * positive + (1 - p) * negative))
        square = float(self.weights @ (p * positive**2 + (1 - p) * negative**2))
        return mean, square - mean**2


def normal_logits(mean: float, deviation: float) -> ProbabilityModel:
    """Logits with this mean and standard deviation."""
    steps = np.linspace(-REACH, REACH, POINTS)
    weights = np.exp(-(steps**2) / 2)
    return ProbabilityModel(mean + deviation * steps, weights / weights.sum())


@lru_cache(maxsize=32)
def model_probabilities(prevalence: float, area: float) -> ProbabilityModel:
    """Calibrated probabilities with this prevalence and this area under the ROC curve.

    >>> model = model_probabilities(0.1, 0.75)
    >>> f"{model.prevalence:.4f} {model.area:.4f}"
    '0.1000 0.7500'
    """
    if not 0.5 < area < 1:
        raise OptionError(
            f"The area under the ROC curve must lie between 0.5 and 1. Got {area!r}.",
            hint="probabilities that rank no better than chance cannot be planned; for example auc=0.75.",
        )
    low, high = 1e-3, WIDEST
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _centred(prevalence, middle).area < area else (low, middle)
    return _centred(prevalence, (low + high) / 2)


def _centred(prevalence: float, deviation: float) -> ProbabilityModel:
    """Logits with this standard deviation, their mean so that the prevalence is as given."""
    reach = REACH * deviation + 40
    low, high = -reach, reach
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if normal_logits(middle, deviation).prevalence < prevalence else (low, middle)
    return normal_logits((low + high) / 2, deviation)
