"""The power law of a learning curve: error = floor + scale · size^(−exponent), with how sure its parameters are.

For a fixed exponent the law is linear in floor and scale, and least squares with both at least 0 has a closed form. So
only the exponent is searched, on a grid over its whole range and then ever closer around the best place, and no start
value can lead to a bad minimum. The same steps run on all bootstrap replicates at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.arguments import check_level, check_whole
from heldout.arrays import Floats
from heldout.errors import ValuesError
from heldout.intervals.quantiles import t_value, z_value

Shape = Literal["falling", "flat", "rising", "unknown"]

STEEPEST = 3.0
# Below this a law cannot be told from a logarithm on any curve of this world.
SHALLOWEST = 0.01
GRID = np.geomspace(SHALLOWEST, STEEPEST, 60)
# Each round narrows the search five times: after nine the exponent is known to about eight digits.
ROUNDS, NARROW = 9, np.linspace(-1, 1, 11)
# Small sizes are left out down to this many: three parameters need more than three points.
FEWEST = 5
# Standard errors by which a law must miss before sizes are left out.
CLEARLY = 2.0
METHOD = "bootstrap over draws"


@dataclass(frozen=True, slots=True)
class Figure:
    """A value and the interval around it; nan where there is none."""

    value: float = math.nan
    low: float = math.nan
    high: float = math.nan

    def __float__(self) -> float:
        return self.value


@dataclass(frozen=True, slots=True, eq=False)
class Prediction:
    """The error that a law expects at each size, with its band."""

    size: Floats
    value: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True, slots=True, eq=False)
class PowerLaw:
    """A fitted law: its three parameters, the size that is there at present, and the shape of the curve.

    A curve that is flat within its noise has a floor and no exponent; one that rises, or has fewer than three sizes,
    has none of them, and `undefined` says why. `slope` is the change of the error when the size doubles, whatever the
    shape. `begins` is the smallest size that the law was fitted to.
    """

    floor: Figure
    scale: Figure
    exponent: Figure
    slope: Figure
    shape: Shape
    present: float
    level: float
    undefined: str = ""
    method: str = METHOD
    begins: float = math.nan
    replicates: tuple[Floats, Floats, Floats] = field(
        default_factory=lambda: (_NO_REPLICATES, _NO_REPLICATES, _NO_REPLICATES), repr=False
    )

    def at(self, size: float) -> Figure:
        """The error that the law expects at one size.

        >>> law = fit_power_law([10, 20, 40, 80], [[0.35, 0.30, 0.275, 0.2625]])
        >>> round(law.at(160).value, 5)
        0.25625
        """
        prediction = self.predict([size])
        return Figure(float(prediction.value[0]), float(prediction.low[0]), float(prediction.high[0]))

    def predict(self, sizes: ArrayLike) -> Prediction:
        """The error that the law expects at each of these sizes."""
        where = np.asarray(sizes, dtype=np.float64)
        floor, scale, exponent = self.replicates
        value = _evaluate_law(self.floor.value, self.scale.value, self.exponent.value, where)
        drawn = _evaluate_law(floor[:, None], scale[:, None], exponent[:, None], where)
        low, high = _limits(drawn, self.level) if len(drawn) else (np.full(where.shape, np.nan),) * 2
        return Prediction(where, value, low, high)

    def rows_for(self, drop: float, size: float | None = None) -> Figure:
        """How many more rows than `size`, or than there are at present, bring the error down by `drop`.

        Infinity where the floor forbids it.

        >>> law = fit_power_law([10, 20, 40, 80], [[0.35, 0.30, 0.275, 0.2625]])
        >>> round(law.rows_for(0.00625).value, 3), law.rows_for(0.05).value
        (80.0, inf)
        """
        if not drop > 0:
            raise ValuesError(
                f"A drop in error must be more than 0. Got {drop!r}.", hint="one point less error is rows_for(0.01)."
            )
        start = self.present if size is None else float(size)
        value = _count_more_rows(self.floor.value, self.scale.value, self.exponent.value, start, drop)
        if not len(self.replicates[0]):
            return Figure(float(value))
        low, high = _limits(_count_more_rows(*self.replicates, start, drop), self.level)
        return Figure(float(value), float(low), float(high))


_NO_REPLICATES: Floats = np.empty(0)


def fit_power_law(
    sizes: Sequence[float] | NDArray[Any],
    errors: ArrayLike,
    *,
    variance: ArrayLike | None = None,
    present: float | None = None,
    level: float = 0.95,
    replicates: int = 1000,
    seed: int = 0,
) -> PowerLaw:
    """Fit the law to the errors of several draws (one row each) at growing sizes (one column each).

    Draws are resampled whole, since the points of one draw share rows. Where all draws come from one data set they
    share rows as well, and their mean varies less than new data would let it: `variance` is then the variance of each
    mean error, to which the resampled curves are spread. A draw that is missing at a size is nan. `present` is the
    size that there is now: without it, the largest.

    >>> law = fit_power_law([10, 20, 40, 80], [[0.35, 0.30, 0.275, 0.2625]])
    >>> [round(figure.value, 3) for figure in (law.floor, law.scale, law.exponent)]
    [0.25, 1.0, 1.0]
    """
    check_level(level)
    check_whole("replicates", replicates, 1)
    check_whole("seed", seed, 0)
    where, table, known = _check_curve(sizes, errors, variance)
    now = float(where[-1]) if present is None and len(where) else float(present or math.nan)
    if len(where) < 3:
        number = "is only 1 size" if len(where) == 1 else f"are only {len(where)} sizes"
        reason = f"the law has three parameters, and there {number}"
        return PowerLaw(Figure(), Figure(), Figure(), Figure(), "unknown", now, level, reason)
    curve = np.nanmean(table, axis=0)
    own = _variance_of_means(table)
    weight = _weigh_points(own if known is None else known)
    away = _widen_for_few_draws(len(table), level) * (_resample_draws(table, curve, replicates, seed) - curve)
    # Whether the curve falls is told by its points, all tested on the same rows: what these rows are does not matter.
    slopes = _fit_slopes(where, np.vstack([curve, curve + away]), weight)
    slope = _figure(slopes[0], slopes[1:], level)
    if known is not None and len(away):
        away *= np.sqrt(np.maximum(known / np.where(own > 0, own, np.inf), 1))
    drawn = np.clip(curve + away, 0, None)
    shape = _classify_shape(slope)
    if shape == "rising":
        reason = "the error rises with the size of the training set, and a power law can only fall"
        return PowerLaw(Figure(), Figure(), Figure(), slope, shape, now, level, reason)
    if shape == "flat":
        # The exponents of the replicates describe their noise; the law is a constant, and only its height is known.
        level_line = np.average(np.vstack([curve, drawn]), axis=1, weights=weight)
        reason = "the curve is flat within its noise, so nothing is known of an exponent"
        nothing, any_power = Figure(0.0, 0.0, 0.0), np.ones(len(drawn))
        constant = (level_line[1:], np.zeros(len(drawn)), any_power)
        height = _figure(level_line[0], level_line[1:], level)
        return PowerLaw(height, nothing, Figure(), slope, shape, now, level, reason, replicates=constant)
    first = _find_first_size(where, table, weight)
    floor, scale, exponent = _fit_law(where[first:], np.vstack([curve, drawn])[:, first:], weight[first:])
    figures = [_figure(values[0], values[1:], level) for values in (floor, scale, exponent)]
    return PowerLaw(
        figures[0], figures[1], figures[2], slope, shape, now, level, begins=float(where[first]),
        replicates=(floor[1:], scale[1:], exponent[1:]),
    )  # fmt: skip


def _check_curve(sizes: Any, errors: ArrayLike, variance: ArrayLike | None) -> tuple[Floats, Floats, Floats | None]:
    where = np.asarray(sizes, dtype=np.float64)
    table = np.atleast_2d(np.asarray(errors, dtype=np.float64))
    known = None if variance is None else np.asarray(variance, dtype=np.float64)
    fits = where.ndim == 1 and table.ndim == 2 and table.shape[1] == len(where)
    if not fits or (known is not None and known.shape != where.shape):
        raise ValuesError(
            f"Every draw needs one error per size. Got {where.shape} sizes and errors of shape {table.shape}.",
            hint="give one row per draw and one column per size.",
        )
    if not (np.isfinite(where).all() and (where > 0).all() and (np.diff(where) > 0).all()):
        raise ValuesError(
            f"Sizes must be positive and grow from one to the next. Got {where.tolist()}.",
            hint="sort the sizes, and the errors with them.",
        )
    if np.isinf(table).any() or (table < 0).any():
        raise ValuesError("Errors must not be negative or infinite.", hint="give shares such as 0.12.")
    # A size at which no draw finished says nothing.
    kept = ~np.isnan(table).all(axis=0)
    return where[kept], table[:, kept], known if known is None else known[kept]


def _variance_of_means(table: Floats) -> Floats:
    """The variance of each mean over the draws; nan where there is one draw."""
    draws = (~np.isnan(table)).sum(axis=0)
    if (draws < 2).any():
        return np.full(table.shape[1], np.nan)
    return np.asarray(np.nanvar(table, axis=0, ddof=1) / draws)


def _weigh_points(variance: Floats) -> Floats:
    """One over the variance of each point, half of it its own and half that of all points: ten draws alone wobble."""
    mixed = (variance + variance.mean()) / 2
    # The comparison also fails for nan.
    weight = 1 / mixed if mixed.min() > 0 else np.ones(len(variance))
    return np.asarray(weight / weight.mean())


def _widen_for_few_draws(draws: int, level: float) -> float:
    """What the bootstrap of a few draws lacks: their variance is unbiased over draws − 1, and t is wider than z."""
    if draws < 2:
        return 1.0
    return math.sqrt(draws / (draws - 1)) * float(t_value(level, draws - 1)) / z_value(level)


def _resample_draws(table: Floats, curve: Floats, replicates: int, seed: int) -> Floats:
    """Mean curves of draws taken with replacement; none where there is one draw."""
    draws = len(table)
    if draws < 2:
        return np.empty((0, table.shape[1]))
    times = np.random.default_rng(seed).multinomial(draws, np.full(draws, 1 / draws), size=replicates)
    known = ~np.isnan(table)
    counted = times @ known
    means = (times @ np.where(known, table, 0)) / np.maximum(counted, 1)
    return np.where(counted > 0, means, curve)


def _find_first_size(sizes: Floats, table: Floats, weight: Floats) -> int:
    """The place of the first size to fit: small ones are left out while the law clearly misses the largest.

    Power laws hold once there is enough data, and what lies ahead matters more than what lies behind (Viering & Loog
    2023, IEEE Transactions on Pattern Analysis and Machine Intelligence 45, 7799-7819, on shapes of learning curves).
    The draws judge the miss, each by its own points: rows that are hard at one size are hard at the others.
    """
    curve = np.nanmean(table, axis=0)
    for first in range(max(len(sizes) - FEWEST, 0) + 1):
        floor, scale, exponent = _fit_law(sizes[first:], curve[None, first:], weight[first:])
        left = table[:, first:] - _evaluate_law(floor, scale, exponent, sizes[first:])
        last = left[:, -1] - left[:, :-1].mean(axis=1)
        last = last[~np.isnan(last)]
        if len(last) < 2 or abs(last.mean()) <= CLEARLY * last.std(ddof=1) / math.sqrt(len(last)):
            return first
    return 0


def _fit_slopes(sizes: Floats, curves: Floats, weight: Floats) -> Floats:
    """Change of the error per doubling, by a weighted line over the logarithm of the size."""
    x = np.log2(sizes)
    x = x - np.average(x, weights=weight)
    return np.asarray((curves * weight * x).sum(axis=1) / (weight * x * x).sum())


def _classify_shape(slope: Figure) -> Shape:
    if math.isnan(slope.low):
        # With one draw there is no interval, so the sign of the slope decides.
        return "falling" if slope.value < -1e-12 else "rising" if slope.value > 1e-12 else "flat"
    return "falling" if slope.high < 0 else "rising" if slope.low > 0 else "flat"


def _fit_law(sizes: Floats, curves: Floats, weight: Floats) -> tuple[Floats, Floats, Floats]:
    """Floor, scale and exponent of every curve (one row each)."""
    # Sizes in units of their middle, so that powers of them stay near 1.
    unit = float(np.exp(np.log(sizes).mean()))
    x = sizes / unit
    best = _find_best_exponents(x, curves, weight, np.broadcast_to(GRID, (len(curves), len(GRID))))
    span = np.full(len(curves), math.log(GRID[1] / GRID[0]))
    for _ in range(ROUNDS):
        near = np.clip(np.exp(np.log(best)[:, None] + span[:, None] * NARROW), SHALLOWEST, STEEPEST)
        best = _find_best_exponents(x, curves, weight, near)
        span = span / 5
    floor, scale, _ = _fit_linear(x ** -best[:, None], curves, weight)
    return floor, scale * unit**best, best


def _find_best_exponents(x: Floats, curves: Floats, weight: Floats, exponents: Floats) -> Floats:
    missed = np.stack(
        [_fit_linear(x ** -exponents[:, [at]], curves, weight)[2] for at in range(exponents.shape[1])], axis=1
    )
    return np.take_along_axis(exponents, missed.argmin(axis=1)[:, None], axis=1)[:, 0]


def _fit_linear(x: Floats, y: Floats, weight: Floats) -> tuple[Floats, Floats, Floats]:
    """Floor and scale, neither below 0, that bring floor + scale·x nearest to y, and the weighted squares left.

    Where the free optimum breaks one bound, the bounded one lies on it; it cannot break both, since y is not negative.
    """
    total = weight.sum()
    x_mean, y_mean = (x * weight).sum(axis=1) / total, (y * weight).sum(axis=1) / total
    across = x - x_mean[:, None]
    scale = (across * y * weight).sum(axis=1) / (across * across * weight).sum(axis=1)
    floor = y_mean - scale * x_mean
    through_zero = (x * y * weight).sum(axis=1) / (x * x * weight).sum(axis=1)
    scale, floor = (
        np.where(scale < 0, 0.0, np.where(floor < 0, through_zero, scale)),
        np.where(scale < 0, y_mean, np.where(floor < 0, 0.0, floor)),
    )
    left = ((y - floor[:, None] - scale[:, None] * x) ** 2 * weight).sum(axis=1)
    return floor, scale, left


def _evaluate_law(floor: Any, scale: Any, exponent: Any, size: Any) -> Any:
    # A flat law has no exponent, and needs none.
    power = np.where(np.isnan(exponent) & (np.asarray(scale) == 0), 1.0, exponent)
    return np.asarray(floor + scale * size**-power)


def _count_more_rows(floor: Any, scale: Any, exponent: Any, start: float, drop: float) -> Any:
    """Rows beyond `start` until the law has fallen by `drop`; nan where there is no law."""
    above = np.asarray(_evaluate_law(0.0, scale, exponent, start) - drop)
    power = np.where(np.isnan(exponent), 1.0, exponent)
    with np.errstate(divide="ignore", over="ignore"):
        needed = (np.asarray(scale) / np.where(above > 0, above, 1.0)) ** (1 / power) - start
    return np.where(np.isnan(floor), np.nan, np.where(above > 0, needed, np.inf))


def _figure(value: Any, drawn: Floats, level: float) -> Figure:
    if not len(drawn):
        return Figure(float(value))
    low, high = _limits(drawn, level)
    return Figure(float(value), min(float(low), float(value)), max(float(high), float(value)))


def _limits(drawn: Floats, level: float) -> tuple[Any, Any]:
    # Order statistics, not interpolated ones: infinity minus infinity is no number.
    tail = (1 - level) / 2
    low = np.quantile(drawn, tail, axis=0, method="lower")
    return low, np.quantile(drawn, 1 - tail, axis=0, method="higher")
