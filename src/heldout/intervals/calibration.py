"""Intervals for calibration errors and for the recalibration slope and intercepts.

A calibration error is never below 0 and is above it by chance even for perfect probabilities, so resampling the
cases would add that chance twice. The limits here invert a test instead: they stretch and shrink the gaps that were
seen, and ask how far that can go before the error that was seen would be surprising.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import require
from heldout.arrays import Floats
from heldout.evidence.probabilities import Probabilities
from heldout.evidence.probability_bins import RankedBins
from heldout.evidence.ranking import RankedGroups, Ranking
from heldout.intervals.areas import kish_sizes
from heldout.intervals.group_leverage import (
    EQUAL_GROUPS,
    MOST_SHARE,
    even_pulls,
    group_freedom,
    group_spread,
    leverage_factors,
)
from heldout.intervals.losses import promised_errors
from heldout.intervals.proportion import wilson_at
from heldout.intervals.quantiles import t_value, z_value
from heldout.measures.calibration_curve import CalibrationCurve, smooth_calibration, weighted_quantile
from heldout.measures.recalibration import (
    BLOCK,
    LogisticFit,
    expit,
    fitted,
    logit,
    logits,
    recalibrate,
    spread_of_shift,
)
from heldout.threads import share_out

Limits = tuple[float, float]
Errors = Callable[[float], Floats]

DRAWS = 3999
# Draws times bins: 32 MB of numbers.
MOST_NUMBERS = 4_000_000
# Of the smooth curve, which has many cells.
SMOOTH_DRAWS, QUANTILE_DRAWS = 1999, 999
# How many numbers are moved at a time: all of a usual curve, as each part more takes as long as 10,000 numbers.
MOVED = 1 << 17
# OpenBLAS shares larger products among threads, and where other programs keep the cores busy, waiting for these took a
# hundred times as long as the product.
ALONE = 1 << 18
SEED = 20_240_229
# A gap below this is that of rounding: sums of .05 and one case in twenty.
NO_GAP = 1e-12
# The inverse of an information matrix of a larger condition number has lost its digits to rounding.
MOST_CONDITION = 1e12


@dataclass(frozen=True, slots=True)
class Statistic:
    """An error of gaps, a column for each set of them, with the shares of the bins as a column beside them.

    `along` makes of a ray and draws of the noise the error of every draw, by how far the ray is stretched.
    """

    of: Callable[[Floats, Floats], Floats]
    along: Callable[[Floats, Floats, Floats], Errors]


def _list_parts(draws: Floats) -> tuple[list[Floats], Floats]:
    """The draws part by part, and memory for what is made of a part.

    As much memory again would be taken from the system each time, which takes longer than the sums.
    """
    width = min(max(1, MOVED // len(draws)), draws.shape[1])
    return [draws[:, start : start + width] for start in range(0, draws.shape[1], width)], np.empty((len(draws), width))


def _expected(gaps: Floats, shares: Floats) -> Floats:  # noqa: ARG001 - one shape for all errors
    return np.asarray(np.abs(gaps).sum(axis=0))


def _expected_along(ray: Floats, draws: Floats, shares: Floats) -> Errors:  # noqa: ARG001
    # |a + b| = 2·max(−a, b) + a − b, of which only the first term is not a line in the stretch.
    (parts, spare), whole, noise = _list_parts(draws), float(ray.sum()), draws.sum(axis=0)

    def errors(stretch: float) -> Floats:
        ends = -stretch * ray
        larger = [np.add.reduce(np.maximum(part, ends, out=spare[:, : part.shape[1]]), axis=0) for part in parts]
        return np.asarray(2 * np.concatenate(larger) + (stretch * whole - noise))

    return errors


def _maximum(gaps: Floats, shares: Floats) -> Floats:
    return np.asarray((np.abs(gaps) / shares).max(axis=0))


def _squared(gaps: Floats, shares: Floats) -> Floats:
    return np.asarray((np.square(gaps) / shares).sum(axis=0))


def _squared_along(ray: Floats, draws: Floats, shares: Floats) -> Errors:
    # The sum of squares is a parabola in the stretch.
    weighted = draws / shares
    square, cross, noise = float(_squared(ray, shares)[0]), (ray * weighted).sum(axis=0), (draws * weighted).sum(axis=0)
    return lambda stretch: stretch * stretch * square + 2 * stretch * cross + noise


# The largest gap is not among them: bins that hold few cases or none decide it, and no interval that was tried covered.
STATISTICS: dict[str, Statistic] = {
    "expected": Statistic(_expected, _expected_along),
    "squared": Statistic(_squared, _squared_along),
}
# How fast each error grows with the gap of each bin.
SLOPES: dict[str, Callable[[Floats, Floats], Floats]] = {
    "expected": lambda gaps, shares: np.sign(gaps) * np.ones_like(shares),
    "squared": lambda gaps, shares: 2 * gaps / shares,
}


def calibration_limits(probabilities: Probabilities, error: str = "expected", level: float = 0.95) -> Limits:
    """Limits for the expected calibration error ("expected") or Brier's calibration part ("squared").

    The estimate always lies inside. One below the median that chance alone would give is luck, and for the upper limit
    counts as that median.

    >>> from heldout.engines.probability_sums import tally
    >>> seen = tally(np.tile([0.1, 0.3, 0.8], 20), np.tile([False, True, True], 20))
    >>> low, high = calibration_limits(seen)
    >>> print(f"{low:.2f} {high:.2f}")
    0.24 0.42
    """
    bins = probabilities.reliability
    filled = bins.weight > 0
    if not filled.any():
        return 0.0, 1.0
    groups = probabilities.groups
    if groups is not None and groups.number < 2:
        return 0.0, 1.0
    shares = bins.weight[filled][:, None] / probabilities.weight
    gaps = bins.gap[filled][:, None] / probabilities.weight
    root = _noise_root(probabilities, filled, level)
    if not root.any():
        return _without_noise(probabilities, error, level)
    low, high = _invert(gaps, shares, root, _draws(len(gaps)), STATISTICS[error], level)
    seen = float(STATISTICS[error].of(gaps, shares)[0])
    if groups is not None and seen > NO_GAP:
        # What groups have in common moves all bins at once, which need not be along the ray.
        slope = SLOPES[error](gaps, shares)
        high = max(high, seen + z_value(level) * float(np.linalg.norm(root.T @ slope)))
    chance, weight = promised_errors(probabilities)
    power = 2 if error == "squared" else 1
    least = _least_where_all_wrong(seen ** (1 / power), 1 - chance, weight, _units(probabilities), level)
    return min(low, least**power), min(high, 1.0)


def _least_where_all_wrong(seen: float, confidence: Floats, weight: Floats, units: float, level: float) -> float:
    """The lower limit of a mean gap where every most probable class was wrong, which may be chance; 1 elsewhere.

    The gap is then the confidence itself, and each right answer lowers it by one case: Wilson's share of right ones.
    """
    if seen < float(confidence @ weight / weight.sum()) - 0.5 / units:
        return 1.0
    return max(seen - float(wilson_at(0.0, units, z_value(level))[1]), 0.0)


def _units(probabilities: Probabilities | RankedBins) -> float:
    """How many independent units there are: Kish's number of cases, or groups where these are fewer."""
    groups = probabilities.groups
    return probabilities.n_kish if groups is None else min(probabilities.n_kish, groups.number)


def _invert(gaps: Floats, shares: Floats, root: Floats, standard: Floats, statistic: Statistic, level: float) -> Limits:
    """The test inverted along the ray of the gaps; `root` times the `standard` draws is their noise."""
    seen = float(statistic.of(gaps, shares)[0])
    # No gap at all gives no direction: then all bins are moved, each by its own noise.
    ray = gaps if seen > NO_GAP else np.sqrt((root**2).sum(axis=1, keepdims=True))
    errors = cache(statistic.along(ray, _multiply(root, standard), shares))

    def quantile(stretch: float, share: float) -> float:
        drawn = errors(stretch)
        index = min(max(round((len(drawn) + 1) * share), 1), len(drawn)) - 1
        return float(np.partition(drawn, index)[index])

    tail = (1 - level) / 2
    low = _stretch(lambda s: quantile(s, 1 - tail), seen)
    high = _stretch(lambda s: quantile(s, tail), max(seen, quantile(0.0, 0.5)))
    limits = statistic.of(ray * [low, high], shares)
    return min(float(limits[0]), seen), max(float(limits[1]), seen)


def _multiply(root: Floats, standard: Floats) -> Floats:
    """The product of the two, in parts so small that no other thread has to be waited for."""
    width = max(1, ALONE // root.size)
    product = np.empty((len(root), standard.shape[1]))
    for start in range(0, standard.shape[1], width):
        part = slice(start, start + width)
        np.matmul(root, standard[:, part], out=product[:, part])
    return product


def null_expectation(probabilities: Probabilities, error: str = "expected") -> float:
    """The calibration error that perfectly calibrated probabilities would show by chance on these cases.

    >>> from heldout.engines.probability_sums import tally
    >>> p = np.linspace(0.005, 0.995, 100)
    >>> round(null_expectation(tally(p, p > 0.5)), 3)
    0.1
    """
    bins = probabilities.reliability
    filled = bins.weight > 0
    if not filled.any():
        return float("nan")
    noise = np.sqrt(bins.expected_noise[filled])[:, None] / probabilities.weight
    if error == "expected":
        return math.sqrt(2 / math.pi) * float(noise.sum())
    shares = bins.weight[filled][:, None] / probabilities.weight
    if error == "squared":
        return float((noise**2 / shares).sum())
    return float(_maximum(_draws(len(noise)) * noise, shares).mean())


def _stretch(quantile: Callable[[float], float], seen: float) -> float:
    """The stretch of the gaps at which the quantile is the error that was seen; 0 where it is never so small."""
    low, high = 0.0, 1.0
    below = quantile(low) - seen
    if below >= 0:
        return 0.0
    above = quantile(high) - seen
    # The gaps outgrow the noise in the end.
    while above < 0 and high < 1e12:
        low, below, high = high, above, 2 * high
        above = quantile(high) - seen
    if above < 0:
        return high
    # False position, an end that is kept twice counted half (Illinois): the quantile is nearly a line in the stretch.
    # The draws themselves move a limit by more than the tolerance.
    last, kept, middle = math.inf, 0, high
    while high - low > 1e-4 * high:
        middle = low - below * (high - low) / (above - below)
        if abs(middle - last) <= 1e-4 * high:
            break
        last, error = middle, quantile(middle) - seen
        if error < 0:
            low, below, above, kept = middle, error, above / 2 if kept > 0 else above, 1
        else:
            high, above, below, kept = middle, error, below / 2 if kept < 0 else below, -1
    return middle


def smooth_limits(ranking: Ranking, quantile: float | None = None, level: float = 0.95) -> Limits:
    """Limits for the mean distance of the smooth calibration curve from the diagonal, or for a quantile of it.

    The test is inverted along the gaps of the curve, whose noise is that of the cells smoothed as the cells are.

    >>> seen = Ranking(np.array([0.8, 0.5, 0.2]), np.array([18, 10, 2]), np.array([2, 10, 18]))
    >>> low, high = smooth_limits(seen)
    >>> print(f"{low:.2f} {high:.2f}")
    0.00 0.18
    """
    curve = smooth_calibration(ranking)
    groups = curve.bins.groups
    if curve.reason or (groups is not None and groups.number < 2):
        return 0.0, 1.0
    shares = curve.shares[:, None]
    root = shares * curve_root(curve, level)
    statistic = STATISTICS["expected"] if quantile is None else _quantile_statistic(quantile)
    gaps = shares * curve.gap[:, None]
    seen = float(statistic.of(gaps, shares)[0])
    confidence = np.maximum(curve.predicted, 1 - curve.predicted)
    least = _least_where_all_wrong(seen, confidence, curve.shares, _units(curve.bins), level)
    if not root.any():
        return (least, 1.0) if seen > NO_GAP else (0.0, float(wilson_at(0.0, curve.bins.n_kish, z_value(level))[1]))
    standard = _draws(root.shape[1])[:, : SMOOTH_DRAWS if quantile is None else QUANTILE_DRAWS]
    low, high = _invert(gaps, shares, root, standard, statistic, level)
    slope = np.sign(gaps)
    if quantile is not None:
        # The quantile is the distance of one cell.
        slope = slope / shares * (np.abs(gaps) / shares == seen)
    # The noise has a part in the direction that was seen, so the true one may be another: measured, along the ray alone
    # up to 7 % of the upper limits were too low.
    high = max(high, seen + z_value(level) * float(np.linalg.norm(root.T @ slope)))
    return min(low, least), min(high, 1.0)


def smooth_null_expectation(ranking: Ranking) -> float:
    """The mean distance from the diagonal that the curve of perfectly calibrated probabilities would have by chance.

    >>> p = np.linspace(0.995, 0.005, 100)
    >>> round(smooth_null_expectation(Ranking(p, np.where(p > 0.5, 1, 0), np.where(p > 0.5, 0, 1))), 3)
    0.06
    """
    curve = smooth_calibration(ranking)
    if curve.reason:
        return float("nan")
    filled = curve.bins.reliability.weight > 0
    variance = curve.bins.squares[filled] * curve.predicted * (1 - curve.predicted) / curve.bins.weight**2
    noise = np.sqrt((curve.operator**2 * (variance / curve.shares**2)).sum(axis=1))
    return math.sqrt(2 / math.pi) * float(curve.shares @ noise)


def curve_root(curve: CalibrationCurve, level: float) -> Floats:
    """A matrix R for which R·z, z standard normal, is the noise of the gaps of a smooth calibration curve."""
    filled = curve.bins.reliability.weight > 0
    rate = np.clip(curve.rate, 0.0, 1.0)
    # The curve may run at 0 or 1 where nothing went wrong yet.
    spread = np.maximum(rate * (1 - rate), curve.predicted * (1 - curve.predicted))
    variance = curve.bins.squares[filled] * spread / curve.bins.weight**2
    root = np.diag(np.sqrt(variance))
    if curve.bins.groups is not None:
        root = _grouped_root(
            curve.bins, filled, curve.bins.reliability.gap[filled] / curve.bins.weight, variance, level
        )
    return np.asarray(curve.operator @ (root / curve.shares[:, None]))


def _quantile_statistic(share: float) -> Statistic:
    """The statistic that is a quantile of the distances of the cases from the diagonal."""

    def of(gaps: Floats, shares: Floats) -> Floats:
        return weighted_quantile(np.abs(gaps) / shares, shares, share)

    def along(ray: Floats, draws: Floats, shares: Floats) -> Errors:
        parts, spare = _list_parts(draws)

        def errors(stretch: float) -> Floats:
            ends = stretch * ray
            moved = (np.add(ends, part, out=spare[:, : part.shape[1]]) for part in parts)
            return np.concatenate([of(gaps, shares) for gaps in moved])

        return errors

    return Statistic(of, along)


def _noise_root(probabilities: Probabilities, met: NDArray[np.bool_], level: float) -> Floats:
    """A matrix R for which R·z, z standard normal, is the noise of the gaps of the bins that hold cases.

    The covariance is diag(a) − dd'/n, d the gaps and a their variances; a is the larger of what was seen and what
    calibrated probabilities would give, because a bin in which nothing went wrong yet is not free of noise.
    """
    bins, weight = probabilities.reliability, probabilities.weight
    gaps = bins.gap[met] / weight
    variance = np.maximum(bins.noise[met], bins.expected_noise[met]) / weight**2
    if probabilities.groups is not None:
        return _grouped_root(probabilities, met, gaps, variance, level)
    scale = np.sqrt(variance)
    unit = np.divide(gaps, scale, out=np.zeros_like(gaps), where=scale > 0) / math.sqrt(probabilities.n_kish)
    length = min(float(unit @ unit), 1.0)
    if length <= 0:
        return np.diag(scale)
    # The symmetric root of I − uu'.
    turn = np.eye(len(unit)) - (1 - math.sqrt(1 - length)) / length * np.outer(unit, unit)
    return np.asarray(scale[:, None] * turn)


def _grouped_root(
    probabilities: Probabilities | RankedBins, met: NDArray[np.bool_], gaps: Floats, variance: Floats, level: float
) -> Floats:
    """The same with whole groups as the units, their leverage taken out; t in place of z widens it."""
    groups = require(probabilities.groups, "there are no groups")
    number, weight = groups.number, probabilities.weight
    position = np.cumsum(met) - 1
    # Group sums less their share of the whole: S'S + dd'ΣW² − (cross + cross'), without a groups × bins array. The
    # sums and the weights W are multiplied by the leverage of their group first.
    entries, shares = groups.gaps, groups.weight / float(groups.weight.sum())
    factors = leverage_factors(shares)
    moved = groups.weight * factors
    order = np.argsort(entries.group, kind="stable")
    group, at = entries.group[order], position[entries.place[order]]
    total = entries.total[order] * factors[group]
    size = len(gaps)
    products = np.zeros((size, size))
    cross = np.bincount(at, weights=total * moved[group], minlength=size)
    starts = np.searchsorted(group, np.arange(number + 1))
    for begin in range(0, number, 4096):
        end = min(begin + 4096, number)
        part = slice(starts[begin], starts[end])
        dense = np.zeros((end - begin, size))
        dense[group[part] - begin, at[part]] = total[part]
        products += dense.T @ dense
    outer = np.outer(gaps, cross)
    covariance = products + np.outer(gaps, gaps) * float(moved @ moved) - outer - outer.T
    covariance *= number / (number - 1) / weight**2
    short = np.maximum(variance - np.diag(covariance), 0.0)
    values, vectors = np.linalg.eigh(covariance + np.diag(short))
    effect = float(np.trace(covariance) / max(float(variance.sum()), 1e-300))
    pulls = even_pulls(shares, probabilities.n_kish) ** 2
    powers = float(shares @ shares), float(shares @ pulls), float(pulls @ pulls)
    factor = float(t_value(level, group_freedom(powers, float(pulls.sum()), effect))) / z_value(level)
    return np.asarray(factor * vectors * np.sqrt(np.maximum(values, 0.0)))


def _without_noise(probabilities: Probabilities, error: str, level: float) -> Limits:
    """Limits where every probability was 0 or 1 and right: what Wilson allows for errors that were not met."""
    high = float(wilson_at(0.0, _units(probabilities), z_value(level))[1])
    return 0.0, high**2 if error == "squared" else high


@lru_cache(maxsize=4)
def _draws(bins: int) -> Floats:
    """Standard normal draws, the same ones every time: limits must not change from run to run."""
    number = min(DRAWS, max(MOST_NUMBERS // bins, 399))
    # Whole numbers of tail draws at the usual levels: (number + 1) · 0.025 must be one.
    number -= (number + 1) % 40
    drawn = np.random.default_rng(SEED).standard_normal((bins, number))
    drawn.setflags(write=False)
    return drawn


def recalibration_limits(ranking: Ranking, coefficient: str, level: float = 0.95) -> Limits:
    """Wald's limits for the recalibration slope or intercept; without bounds where there is no fit.

    Unweighted independent cases use the information of the logistic model. Weights use the sandwich estimate, and
    groups the jackknife over groups, one Newton step from the fit without each, with t of what the groups leave. Where
    weights leave one case that counts, rounding would decide.

    >>> seen = Ranking(np.array([0.8, 0.5, 0.2]), np.array([8, 5, 2]), np.array([2, 5, 8]))
    >>> low, high = recalibration_limits(seen, "slope")
    >>> print(f"{low:.2f} {high:.2f}")
    0.21 1.79
    """
    fit = recalibrate(ranking, fixed_slope=coefficient == "in_the_large")
    groups = ranking.groups
    if fit.reason or (groups is not None and len(groups.keys) < 2) or np.linalg.cond(fit.information) > MOST_CONDITION:
        return -math.inf, math.inf
    at = 1 if coefficient == "slope" else 0
    inverse = np.linalg.inv(fit.information)
    centre = fit.slope if coefficient == "slope" else fit.intercept
    if groups is not None:
        variance, df = _grouped_coefficient(ranking, groups, fit, at)
        half = float(t_value(level, df)) * math.sqrt(variance)
        return centre - half, centre + half
    variance = float(inverse[at, at])
    if ranking.weighted or coefficient == "in_the_large":
        sandwich = float((inverse @ _score_spread(ranking, fit) @ inverse)[at, at])
        # A slope that is held at 1 need not be the true one, and then the information is not the inverse variance;
        # where it is, few cases may show too little spread.
        variance = sandwich if ranking.weighted else max(variance, sandwich)
    half = z_value(level) * math.sqrt(variance)
    return centre - half, centre + half


def _score_spread(ranking: Ranking, fit: LogisticFit) -> Floats:
    """The spread of the score of a weighted case: the filling of the sandwich."""
    key = "score spread", len(fit.information)
    if key not in ranking.memo:
        shift = spread_of_shift(ranking, fit.intercept) if len(fit.information) == 1 else None
        if shift is None:
            parts = [slice(start, start + BLOCK) for start in range(0, len(ranking), BLOCK)]
            ranking.memo[key] = np.asarray(sum(share_out(partial(_part_of_spread, ranking, fit), parts)))
        else:
            ranking.memo[key] = np.array([[shift]])
    filling: Floats = ranking.memo[key]
    return filling


def _part_of_spread(ranking: Ranking, fit: LogisticFit, part: slice) -> Floats:
    columns = ranking.positives, ranking.negatives
    if ranking.positive_squares is not None and ranking.negative_squares is not None:
        columns = ranking.positive_squares, ranking.negative_squares
    x = logit(ranking.scores[part])
    mean = expit(fit.intercept + fit.slope * x)
    squares = columns[0][part] * (1 - mean) ** 2 + columns[1][part] * mean**2
    design = np.stack([np.ones(len(x)), x][: len(fit.information)])
    return np.asarray(design * squares @ design.T)


def _grouped_coefficient(ranking: Ranking, groups: RankedGroups, fit: LogisticFit, at: int) -> tuple[float, float]:
    """The jackknife variance of a coefficient over groups, and its degrees of freedom.

    With A the information of all cases and A_g that of a group with the score s, leaving the group out moves the
    coefficients by −(A − A_g)⁻¹ s in one Newton step.
    """
    number, size = len(groups.keys), len(fit.information)
    mean, x = fitted(ranking, fit, groups.place), logits(ranking)[groups.place]
    score = groups.positives * (1 - mean) - groups.negatives * mean
    curve = (groups.positives + groups.negatives) * mean * (1 - mean)
    design = (np.ones(len(x)), x)[:size]

    def sums(values: Floats) -> Floats:
        return np.asarray(np.bincount(groups.group, weights=values, minlength=number))

    scores = np.stack([sums(score * column) for column in design], axis=1)
    own = np.array([[sums(curve * one * other) for other in design] for one in design]).transpose(2, 0, 1)
    moves = np.linalg.solve(fit.information - MOST_SHARE * own, scores[:, :, None])[:, at, 0]
    row = np.linalg.inv(fit.information)[at]
    # The share that each group has of the information about the coefficient.
    shares = np.einsum("i,gij,j->g", row, own, row) / float(row @ fit.information @ row)
    everywhere, all_x = fitted(ranking, fit, slice(None)), logits(ranking)
    pull = sum(part * column for part, column in zip(row, (np.ones(len(all_x)), all_x)[:size], strict=True))
    counts = (
        (ranking.positives, ranking.negatives)
        if ranking.positive_squares is None or ranking.negative_squares is None
        else (ranking.positive_squares, ranking.negative_squares)
    )
    independent = float(((counts[0] * (1 - everywhere) ** 2 + counts[1] * everywhere**2) * pull**2).sum())
    # A case has the standard deviation of its score, times how far that moves the coefficient.
    deviation = np.sqrt(everywhere * (1 - everywhere)) * np.abs(pull)
    whole = float(((counts[0] + counts[1].astype(np.float64)) * deviation**2).sum())
    pulls = sums((groups.positives + groups.negatives) * deviation[groups.place]) / math.sqrt(whole)
    spread = group_spread(scores @ row, shares, pulls, independent=independent)
    variance = (number - 1) / number * float(moves @ moves)
    if variance <= EQUAL_GROUPS * independent:
        # Groups that all show the same say nothing of how much groups differ: there are no more cases than groups.
        variance = independent * max(sum(kish_sizes(ranking)) / spread.effective, 1.0)
    return variance, spread.df
