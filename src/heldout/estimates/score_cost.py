"""Score interval for a mean cost when every value that a cost can take is known.

Derivation in docs/statistics.md. The values that were never observed count: an error that costs 100 and did
not happen in 200 cases may still happen, and only its known cost bounds what it would do to the mean.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from heldout.arrays import Floats
from heldout.errors import ValuesError
from heldout.estimates.proportion import wilson_at
from heldout.estimates.quantiles import z_value
from heldout.estimates.root import bracketed_root

_SAME = 1e-14  # differences of shares below this are rounding
_NEAREST = 1e-150  # the tilt at which all the mass sits on the extreme value, if that was observed


def mean_cost_limits(costs: ArrayLike, counts: ArrayLike, level: float = 0.95) -> tuple[float, float]:
    """Limits of the mean of `costs`, each seen `counts` times, a count of 0 for what was never seen.

    All means mu with n(m - mu)^2 <= z^2·V(mu), m the observed mean and V the variance at the multinomial
    maximum-likelihood fit with mean mu. For costs 0 and 1 this is Wilson's interval.

    >>> low, high = mean_cost_limits([0, 1, 100], [200, 0, 0])
    >>> print(f"{low:.3f} {high:.3f}")
    0.000 1.885
    """
    values = np.asarray(costs, dtype=np.float64).ravel()
    seen = np.asarray(counts, dtype=np.float64).ravel()
    if values.size == 0 or values.size != seen.size:
        raise ValuesError(
            f"A mean cost needs one count for each cost; there are {values.size} costs, {seen.size} counts.",
            hint="give 0 as the count of a cost that was never observed.",
        )
    low, high = many_cost_limits(values[None], seen[None], level)
    return float(low[0]), float(high[0])


def many_cost_limits(costs: Floats, counts: Floats, level: float = 0.95) -> tuple[Floats, Floats]:
    """The limits of many mean costs at once: one row of costs and one of counts for each.

    >>> low, high = many_cost_limits(np.array([[0.0, 1.0]] * 2), np.array([[8.0, 2.0], [0.0, 0.0]]))
    >>> print(low.round(3), high.round(3))
    [0.057 0.   ] [0.51 1.  ]
    """
    least, most = costs.min(axis=1), costs.max(axis=1)
    total = counts.sum(axis=1)
    low, high = least.copy(), most.copy()
    known = np.flatnonzero((total > 0) & (least < most))
    if not len(known):
        return low, high
    costs, counts, total, least, most = costs[known], counts[known], total[known], least[known], most[known]
    span = most - least
    # The first half looks from the top, the second from the bottom, so that all limits are upper limits.
    places = np.concatenate([(costs - least[:, None]) / span[:, None], (most[:, None] - costs) / span[:, None]])
    gaps = np.concatenate([places[len(known) :], places[: len(known)]])
    shares = np.tile(counts / total[:, None], (2, 1))
    above, below = np.split(_high(places, gaps, shares, np.tile(total, 2), z_value(level)), 2)
    mean = (costs * counts).sum(axis=1) / total
    lower = np.where(below >= 1, least, most - span * below)
    upper = np.where(above >= 1, most, least + span * above)
    low[known] = np.maximum(least, np.minimum(lower, mean))
    high[known] = np.minimum(most, np.maximum(upper, mean))
    return low, high


def _high(places: Floats, gaps: Floats, shares: Floats, total: Floats, z: float) -> Floats:
    """For each row of `places` in [0, 1] (`gaps` = 1 - places) the upper limit of its mean."""
    mean = (places * shares).sum(axis=1)
    z2 = z * z

    def fit(tilt: Floats) -> tuple[Floats, Floats]:
        """Mean and variance of the fit with weights n_j/(1 - c_j + tilt·c_j), tilt in (0, 1]."""
        # Not 0, and multiplied by the tilt, so that the weight of c = 1 stays finite.
        t = np.maximum(tilt, _NEAREST)[:, None]
        weights = shares * (t / (gaps + t * places))
        weights /= weights.sum(axis=1, keepdims=True)
        mu = (weights * places).sum(axis=1)
        return mu, (weights * np.square(places - mu[:, None])).sum(axis=1)

    def wilson_high(tilt: Floats) -> tuple[Floats, Floats]:
        mu, variance = fit(tilt)
        spread = mu * (1 - mu)
        factor = np.where(spread > _SAME, variance / np.where(spread > _SAME, spread, 1), 1)
        return mu, wilson_at(mean, total / np.maximum(factor, _SAME), z)[1]

    def distance(tilt: Floats) -> Floats:
        mu, limit = wilson_high(tilt)
        return mu - limit

    nearest, ones = np.full(len(places), _NEAREST), np.ones(len(places))
    edge, edge_variance = fit(nearest)
    edge_square = edge_variance + edge * edge
    # If the extreme value was never seen the tilted fit reaches only as far as `edge`; what lies beyond takes
    # mass on the extreme itself: the mean square is edge_square + kappa·(mu - edge), and the condition is
    # quadratic in mu.
    observed = (shares * (gaps == 0)).sum(axis=1) > 0
    # The tolerance is for a single observed value, where both sides are 0 but for rounding.
    beyond = ~observed & (np.square(edge - mean) <= z2 * edge_variance / total + _SAME * _SAME)
    kappa = np.where(beyond, (1 - edge_square) / np.where(beyond, 1 - edge, 1), 1)
    middle = 2 * total * mean + z2 * kappa
    last = total * mean * mean - z2 * (edge_square - kappa * edge)
    square_root = np.sqrt(np.maximum(middle * middle - 4 * (total + z2) * last, 0))
    mixed = (middle + square_root) / (2 * (total + z2))
    if beyond.all():
        return np.asarray(np.minimum(mixed, 1), dtype=np.float64)
    tilted = wilson_high(bracketed_root(distance, nearest, ones))[1]
    return np.asarray(np.minimum(np.where(beyond, mixed, tilted), 1), dtype=np.float64)
