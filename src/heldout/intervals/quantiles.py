"""Quantiles of the normal and of Student's t distribution, and the roots at which limits are found."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from heldout.arrays import Floats
from heldout.errors import OptionError

# Quantiles of the normal and of Student's t distribution, as intervals need them.

_STANDARD_NORMAL = NormalDist()
# A tail below this is looked up from its own side: 1 less it would be rounded, in the end to 1.
_FAR = 1e-9


@lru_cache(maxsize=16)
def z_value(level: float = 0.95) -> float:
    """The two-sided critical value of the standard normal distribution.

    >>> round(z_value(0.95), 4)
    1.96
    """
    tail = tail_error(level)
    return -_STANDARD_NORMAL.inv_cdf(tail) if tail < _FAR else _STANDARD_NORMAL.inv_cdf(1 - tail)


def t_value(level: float, df: ArrayLike) -> Floats:
    """The two-sided critical value of Student's t distribution, df may be fractional.

    >>> round(float(t_value(0.95, 9)), 4)
    2.2622
    """
    from scipy.special import stdtrit

    free, tail = np.asarray(df, dtype=np.float64), tail_error(level)
    return np.asarray(-stdtrit(free, tail) if tail < _FAR else stdtrit(free, 1 - tail))


def tail_error(level: float) -> float:
    """The probability that lies beyond either limit."""
    if not 0 < level < 1:
        raise OptionError(
            f"The level of an interval must lie between 0 and 1, and {level!r} does not.",
            hint="use a share such as 0.95, not a percentage.",
        )
    return (1 - level) / 2


# A root of each of many increasing or decreasing functions at once, between known brackets.

_EPSILON = float(np.finfo(np.float64).eps)
_TINY = 1e-300
_MOST_STEPS = 120  # bisection alone needs about 60 for a double; more only towards 0


def bracketed_root(function: Callable[[Floats], Floats], start: Floats, stop: Floats) -> Floats:
    """The points between `start` and `stop` where `function` (elementwise) changes its sign.

    Chandrupatla's method (1997, Advances in Engineering Software 28, 145-149): inverse quadratic steps
    where three points say that those are safe, bisection elsewhere. A function that is close to linear
    takes four or five calls, and none takes more than bisection would by much. Where both ends have the
    same sign the end with the smaller value is returned.

    >>> bracketed_root(lambda x: x * x - [2.0, 9.0], np.array([0.0, 0.0]), np.array([2.0, 4.0]))
    array([1.41421356, 3.        ])
    """
    a, b = np.broadcast_arrays(np.asarray(stop, dtype=np.float64), np.asarray(start, dtype=np.float64))
    fa, fb = function(a), function(b)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        same = np.sign(fa) == np.sign(fb)
        step = np.where(same, 0.5, fa / (fa - fb))
        step = np.where(np.isfinite(step), step, 0.5)
        for _ in range(_MOST_STEPS):
            x = a + step * (b - a)
            fx = function(x)
            keeps = np.sign(fx) == np.sign(fa)
            c, fc = np.where(keeps, a, b), np.where(keeps, fa, fb)
            b, fb = np.where(keeps, b, a), np.where(keeps, fb, fa)
            a, fa = x, fx
            nearer = np.abs(fa) < np.abs(fb)
            best = np.where(nearer, a, b)
            room = np.abs(b - a)
            least = (2 * _EPSILON * np.abs(best) + _TINY) / room
            if bool(np.all((least > 0.5) | (fa == 0) | (fb == 0) | (room == 0) | same)):
                break
            step = _next_step((a, b, c), (fa, fb, fc))
            step = np.minimum(np.maximum(step, least), 1 - least)
            step = np.where(np.isfinite(step), step, 0.5)
    return best


def _next_step(points: tuple[Floats, Floats, Floats], values: tuple[Floats, Floats, Floats]) -> Floats:
    """How far to go from a to b: by inverse quadratic interpolation if it is safe, else half way."""
    a, b, c = points
    fa, fb, fc = values
    position = (a - b) / (c - b)
    height = (fa - fb) / (fc - fb)
    safe = (height * height < position) & ((1 - height) * (1 - height) < 1 - position)
    quadratic = fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)
    return np.where(safe, quadratic, 0.5)


def single_root(function: Callable[[float], float], start: float, stop: float) -> float:
    """The same for one function of a number, without arrays, which take twenty times as long for it.

    >>> single_root(lambda x: x * x - 2.0, 0.0, 2.0) == float(bracketed_root(lambda x: x * x - 2.0, 0.0, 2.0))
    True
    """
    a, b = stop, start
    fa, fb = function(a), function(b)
    same = _sign(fa) == _sign(fb)
    step = 0.5 if same else fa / (fa - fb)
    best = a
    for _ in range(_MOST_STEPS):
        x = a + (step if math.isfinite(step) else 0.5) * (b - a)
        fx = function(x)
        if _sign(fx) == _sign(fa):
            c, fc = a, fa
        else:
            b, fb, c, fc = a, fa, b, fb
        a, fa = x, fx
        best = a if abs(fa) < abs(fb) else b
        room = abs(b - a)
        least = (2 * _EPSILON * abs(best) + _TINY) / room if room else math.inf
        if least > 0.5 or fa == 0 or fb == 0 or same:
            break
        step = min(max(_single_step((a, b, c), (fa, fb, fc)), least), 1 - least)
    return best


def _single_step(points: tuple[float, float, float], values: tuple[float, float, float]) -> float:
    a, b, c = points
    fa, fb, fc = values
    if b in (a, c) or fb in (fa, fc) or fa == fc:
        return 0.5
    position = (a - b) / (c - b)
    height = (fa - fb) / (fc - fb)
    if not (height * height < position and (1 - height) * (1 - height) < 1 - position):
        return 0.5
    return fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)
