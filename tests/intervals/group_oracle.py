"""The spread of an estimate over groups by loops over the groups, from influences of single rows."""

import numpy as np


def class_parts(influence: np.ndarray, classes: np.ndarray, weight: np.ndarray, group: np.ndarray) -> np.ndarray:
    """The share of every group: within a class its part of the cases, between classes that of the squared influence."""
    squares = influence**2
    shares = []
    for g in np.unique(group):
        share = 0.0
        for c in np.unique(classes):
            part = squares[classes == c].sum() / squares.sum()
            share += part * weight[(group == g) & (classes == c)].sum() / weight[classes == c].sum()
        shares.append(share)
    return np.array(shares)


def deviations(influence: np.ndarray, classes: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The standard deviation of every case, whose squares add up to 1: in a class it goes with the weight."""
    found = np.zeros(len(influence))
    for c in np.unique(classes):
        mine = classes == c
        part = (influence[mine] ** 2).sum() / (influence**2).sum()
        found[mine] = weight[mine] * np.sqrt(part / (weight[mine] ** 2).sum())
    return found


def spread(
    influence: np.ndarray, group: np.ndarray, shares: np.ndarray, deviation: np.ndarray | float
) -> tuple[float, float]:
    """The jackknife variance with leverage, and Satterthwaite's degrees of freedom.

    Cases of one group correlate by ρ, so their sum has the variance (1 − ρ) times their share and ρ times the square of
    the sum of their standard deviations.
    """
    sums = np.array([influence[group == g].sum() for g in np.unique(group)])
    number = len(sums)
    variance = (number - 1) / number * sum((u / (1 - h)) ** 2 for u, h in zip(sums, shares, strict=True))
    each_deviation = np.broadcast_to(deviation, influence.shape)
    pulls = np.array([each_deviation[group == g].sum() for g in np.unique(group)])
    effect = (sums**2).sum() / (influence**2).sum()
    rho = min(max((effect - 1) / ((pulls**2).sum() - 1), 0.0), 1.0)
    each = (1 - rho) * shares + rho * pulls**2
    return variance, max(each.sum() ** 2 / (each**2).sum() - 1, 1.0)
