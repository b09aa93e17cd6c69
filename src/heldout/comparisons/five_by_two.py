"""Two learners over two-fold cross-validation repeated five times: Dietterich's t and Alpaydın's combined F."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from heldout.arguments import check_level
from heldout.arrays import Floats
from heldout.comparisons.folds import FoldValues, constant, corrected_t, t_tails, undefined
from heldout.comparisons.procedure import Procedure, procedure
from heldout.comparisons.tested import Tested
from heldout.errors import OptionError

# The two folds of a repetition swap their parts, so that rows which favour A do so twice, once in training and once in
# the test: the two differences go together, and their spread is too small.
FINDING = (
    "at 5 % it rejected a true null .03–.05 of the time where the classes lie well apart, but up to .16 where they "
    "overlap, and .08–.15 with 1-NN"
)
FIVE_BY_TWO_T = procedure(
    "5x2cv-t",
    "same splits",
    "The first difference of five times two folds, over the spread within the five pairs.",
    "Dietterich (1998)",
    FINDING,
)
FIVE_BY_TWO_F = procedure(
    "5x2cv-f",
    "same splits",
    "All ten squared differences of five times two folds, over the spread within the five pairs.",
    "Alpaydın (1999)",
    FINDING,
)
UNSPREAD = (
    "the two folds agree in every repetition, so their spread says nothing of how sure the difference is: the "
    "statistic is infinite and p is 0"
)
NO_FIRST = "the two folds agree in every repetition, and in the first, which the statistic rests on, A and B are equal"


def five_by_two_t(values: FoldValues, level: float = 0.95) -> Tested:
    """Dietterich's 5×2cv t: its statistic takes the first of the ten differences, with 5 degrees of freedom.

    The interval is that of the corrected t over the ten, because the statistic has none for their mean.

    >>> a = [0.87, 0.84, 0.80, 0.79, 0.82, 0.81, 0.88, 0.80, 0.81, 0.82]
    >>> found = five_by_two_t(FoldValues.of(a, [0.8] * 10, folds=2, repeats=5))
    >>> round(found.statistic, 3), found.df
    (2.539, 5.0)
    """
    pairs, shared = _pairs(values, FIVE_BY_TWO_T, level)
    if pairs is None:
        return shared
    return _tested(shared, float(pairs[0, 0]), math.sqrt(float(pairs.var(axis=1, ddof=1).mean())), 5.0, _t_p)


def five_by_two_f(values: FoldValues, level: float = 0.95) -> Tested:
    """Alpaydın's combined 5×2cv F, with 10 and 5 degrees of freedom, of which `df` is the second.

    >>> a = [0.87, 0.84, 0.80, 0.79, 0.82, 0.81, 0.88, 0.80, 0.81, 0.82]
    >>> found = five_by_two_f(FoldValues.of(a, [0.8] * 10, folds=2, repeats=5))
    >>> round(found.statistic, 3), round(found.p, 3)
    (1.842, 0.259)
    """
    pairs, shared = _pairs(values, FIVE_BY_TWO_F, level)
    if pairs is None:
        return shared
    return _tested(shared, float((pairs**2).sum()), 2 * float(pairs.var(axis=1, ddof=1).sum()), 5.0, _f_p)


def _pairs(values: FoldValues, used: Procedure, level: float) -> tuple[Floats | None, Tested]:
    """The differences, a row per repetition, and what both tests share; None where there is nothing to test."""
    check_level(level)
    if (values.folds, values.repeats) != (2, 5):
        raise OptionError(
            f"The method {used.name!r} needs 2 folds repeated 5 times. Got {values.folds} repeated {values.repeats}.",
            hint="use the plan '5 x 2-fold', or the method 'corrected-t'.",
        )
    if not values.complete:
        why = f"{used.name} needs all ten folds, and the measure is {values.left_out.partition(',')[0]}"
        n = len(values.differences)
        return None, undefined(used.name, level, n, why)
    if values.constant:
        return None, constant(values, used.name, level, [used.finding], df=5.0)
    pairs = values.differences.reshape(5, 2)
    shared = replace(corrected_t(values, level), method=used.name, note=used.finding)
    if float(np.abs(np.ptp(pairs, axis=1)).max()) <= values.rounding:
        none = {"low": math.nan, "high": math.nan, "interval_method": "", "df": 5.0}
        sign = 1.0 if used is FIVE_BY_TWO_F else float(np.sign(pairs[0, 0]))
        figures = {"statistic": sign * math.inf, "p": 0.0} if sign else {"statistic": 0.0, "p": 1.0}
        note = f"{UNSPREAD if sign else NO_FIRST}; {used.finding}"
        return None, replace(shared, **none, **figures, note=note)  # type: ignore[arg-type]
    return pairs, shared


def _tested(shared: Tested, above: float, below: float, df: float, tail: Callable[[float], float]) -> Tested:
    statistic = above / below
    return replace(shared, statistic=statistic, p=tail(statistic), df=df)


def _t_p(statistic: float) -> float:
    return t_tails(statistic, 5)


def _f_p(statistic: float) -> float:
    from scipy.special import fdtrc

    return float(fdtrc(10, 5, statistic))


FOLD_TESTS = {FIVE_BY_TWO_T.name: five_by_two_t, FIVE_BY_TWO_F.name: five_by_two_f}
