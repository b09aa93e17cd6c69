"""The test of two: a difference with its interval and p-value, the catalogue of procedures, and p of random draws."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from heldout.arguments import listing, method_key, suggest
from heldout.arrays import Floats
from heldout.errors import OptionError
from heldout.intervals.estimate import PairTest
from heldout.measures.declare import Measure


def scale_test(test: PairTest, factor: float) -> PairTest:
    """The same test with its difference times a factor: 2 for Gini, twice the area less 1; negative for B − A."""
    if factor == 1:
        return test
    ends = sorted((factor * test.low, factor * test.high))
    sign = math.copysign(1.0, factor)
    # Adding 0 turns −0 into 0.
    return replace(
        test, difference=factor * test.difference + 0.0, low=ends[0] + 0.0, high=ends[1] + 0.0,
        statistic=sign * test.statistic + 0.0,
    )  # fmt: skip


def find_reach(measured: Measure, values: Iterable[float] = ()) -> float:
    """How far two values of a measure can lie apart at most; without end where it, or a value, keeps to no range.

    >>> from heldout.measures.catalogue import find
    >>> find_reach(find("accuracy").measure), find_reach(find("matthews").measure), find_reach(find("log_loss").measure)
    (1.0, 2.0, inf)
    """
    least, most = measured.low - ROUNDING, measured.high + ROUNDING
    in_range = all(least <= value <= most for value in values if not math.isnan(value))
    return measured.high - measured.low if measured.bounded and in_range else math.inf


def cut_limits(test: PairTest, reach: float) -> PairTest:
    """The same test with its limits no farther from 0 than a difference can be; p and the statistic stay.

    >>> cut_limits(PairTest(0.2, -0.8, 1.2, 0.95, "corrected-t", 0.5, 3), 1.0).high
    1.0
    """
    # Unknown limits stay unknown.
    low = max(test.low, -reach)
    high = min(test.high, reach)
    return test if (low, high) == (test.low, test.high) else replace(test, low=low, high=high)


def mover_limits(
    values: tuple[float, float], limits: tuple[tuple[float, float], tuple[float, float]], correlation: float = 0.0
) -> tuple[float, float]:
    """Limits of a difference from those of its two sides, infinite ones included.

    Each limit takes the distances to the limits that push it there, joined by Pythagoras, or by the law of cosines
    where the two values are correlated ("MOVER"): Zou & Donner (2008), Statistics in Medicine 27, 1693-1702. Of shares
    with Wilson's limits this makes Newcombe's interval.

    >>> low, high = mover_limits((0.9, 0.8), ((0.82, 0.95), (0.71, 0.87)))
    >>> print(f"{low:.3f} {high:.3f}")
    -0.006 0.203
    """
    (value, other), ((low, high), (other_low, other_high)) = values, limits

    def join(one: float, two: float) -> float:
        if not correlation or math.isinf(one) or math.isinf(two):
            return math.hypot(one, two)
        return math.sqrt(max(one**2 + two**2 - 2 * correlation * one * two, 0.0))

    difference = value - other
    return difference - join(value - low, other_high - other), difference + join(high - value, other - other_low)


# The procedures by name: what each compares, where it comes from, and what was measured of it.

Setting = Literal["same cases", "different cases", "same splits", "data sets"]


@dataclass(frozen=True, slots=True)
class Procedure:
    """A way to compare, as the catalogue and the reports name it.

    `finding` says, with figures, where the procedure does not keep its promise.
    """

    name: str
    setting: Setting
    summary: str
    reference: str
    finding: str = ""


PROCEDURES: dict[str, Procedure] = {}


def register_procedure(name: str, setting: Setting, summary: str, reference: str, finding: str = "") -> Procedure:
    """Enter a procedure into the catalogue."""
    procedure = Procedure(name, setting, summary, reference, finding)
    PROCEDURES[name] = procedure
    return procedure


def find_procedure(name: str, setting: Setting) -> Procedure:
    """The procedure of that name, which must fit the setting.

    >>> entered = register_procedure("coin", "same cases", "Tosses a coin.", "nobody")
    >>> find_procedure("Coin", "same cases").summary
    'Tosses a coin.'
    >>> del PROCEDURES["coin"]
    """
    key = method_key(name)
    fitting = sorted(p.name for p in PROCEDURES.values() if p.setting == setting)
    if key not in PROCEDURES:
        raise OptionError(
            f"There is no method {name!r} to compare with. For {setting} there are: {listing(fitting, most=20)}.",
            hint=suggest(key, fitting, "") or suggest(key, PROCEDURES, "leave method out for the default."),
        )
    procedure = PROCEDURES[key]
    if procedure.setting != setting:
        raise OptionError(
            f"The method {procedure.name!r} is for {procedure.setting}, and these results have {setting}.",
            hint=f"use one of: {listing(fitting, most=20)}.",
        )
    return procedure


# The note where no case distinguishes the two.
SAME_ANSWERS = "the two give the same prediction for every case"
# How large a difference is, whatever the number of cases: in standard deviations of one case.
PER_CASE = "difference in standard deviations of one case"
ONE_UNIT = "One case or group has no variance, so there is no test."


def per_case(difference: float, error: float, n: float) -> float:
    """The difference over the standard deviation per case, which is its standard error times √n.

    For a mean of case differences that is their mean over their standard deviation; any other measure has the case
    contributions that its standard error is made of. Without an error there is none.

    >>> per_case(0.1, 0.02, 100)
    0.5
    """
    return difference / (error * math.sqrt(n)) if error > 0 and n > 0 else math.nan


def per_case_of_two(difference: float, error: float, n_a: float, n_b: float) -> float:
    """The same for two sets of cases: with equal spread in both, Cohen's d of a difference of means.

    Cohen (1988), Statistical Power Analysis, ch. 2: the error is that of one case times √(1/n_a + 1/n_b).

    >>> round(per_case_of_two(0.1, 0.2 * math.sqrt(1 / 50 + 1 / 200), 50, 200), 12)
    0.5
    """
    return per_case(difference, error, n_a * n_b / (n_a + n_b)) if n_a > 0 and n_b > 0 else math.nan


def two_sided(statistic: float, df: float) -> float:
    """The two-sided p-value of a t statistic; infinite degrees of freedom are the normal distribution.

    >>> round(two_sided(2.262157, 9), 4), round(two_sided(1.959964, math.inf), 4)
    (0.05, 0.05)
    """
    if math.isinf(df):
        return math.erfc(abs(statistic) / math.sqrt(2))
    from scipy.special import stdtr

    return min(2 * float(stdtr(df, -abs(statistic))), 1.0)


# The p-values of random draws: of a difference drawn again and again, and of one whose two sides changed places.

# Numbers that differ by less than this, relative to their size, differ by rounding alone.
ROUNDING = 1e-12


def monte_carlo_p(as_extreme: int, draws: int) -> float:
    """The share of draws as extreme as what was seen, which counts as one of them.

    One is added on top and bottom, as in every Monte Carlo test: no number of draws shows that p is 0. Davison &
    Hinkley (1997), Bootstrap Methods and their Application, ch. 4.

    >>> monte_carlo_p(0, 999)
    0.001
    """
    return (as_extreme + 1) / (draws + 1)


def tail_p(drawn: Floats) -> float:
    """Twice the smaller of the shares of draws on either side of zero; draws of zero count on both.

    Where all draws lie on one side, that of a normal distribution with their mean and spread, if it is smaller: the
    number of draws must not decide whether a p-value survives a correction for many pairs.

    >>> tail_p(np.array([-1.0, 1.0, 2.0, 3.0])), tail_p(np.zeros(9))
    (0.8, 1.0)
    """
    counted, normal = _tails(drawn)
    return min(counted, normal)


def tail_note(drawn: Floats) -> str:
    """A sentence where the p-value of draws does not come from counting them.

    >>> tail_note(np.array([2.0, 3.0, 4.0]))
    'no draw of 3 lies beyond zero, so p is that of a normal distribution with their mean and spread'
    """
    counted, normal = _tails(drawn)
    if normal >= counted:
        return ""
    size = f"{len(drawn):,}"
    return f"no draw of {size} lies beyond zero, so p is that of a normal distribution with their mean and spread"


def _tails(drawn: Floats) -> tuple[float, float]:
    """The p-values by counting, and by the normal distribution: 1 where there is something to count or no spread."""
    fewer = min(int((drawn <= ROUNDING).sum()), int((drawn >= -ROUNDING).sum()))
    spread = float(drawn.std())
    # Draws that are all the same differ by rounding alone.
    apart = spread > ROUNDING * abs(float(drawn.mean()))
    normal = math.erfc(abs(float(drawn.mean())) / spread / math.sqrt(2)) if apart and not fewer else 1.0
    return min(1.0, 2 * monte_carlo_p(fewer, len(drawn))), normal


def permutation_p(difference: float, swapped: Floats, tolerance: float = ROUNDING) -> float:
    """The two-sided p-value of a difference among those after exchanges.

    >>> permutation_p(0.2, np.array([0.1, -0.2, 0.05]))
    0.5
    """
    return monte_carlo_p(_as_large(difference, swapped, tolerance), len(swapped))


def permutation_note(difference: float, swapped: Floats, tolerance: float = ROUNDING) -> str:
    """A sentence where p is the smallest that so many exchanges can show.

    >>> permutation_note(0.2, np.array([0.1, -0.1, 0.05]))
    'none of 3 exchanges makes so large a difference: p is at most 1/4, and no smaller one can be shown with so few'
    """
    if _as_large(difference, swapped, tolerance):
        return ""
    return (
        f"none of {len(swapped):,} exchanges makes so large a difference: p is at most 1/{len(swapped) + 1:,}, and no "
        "smaller one can be shown with so few"
    )


def _as_large(difference: float, swapped: Floats, tolerance: float) -> int:
    return int((np.abs(swapped) >= abs(difference) - tolerance).sum())


@dataclass(frozen=True, slots=True)
class OmnibusTest(PairTest):
    """A test that several classifiers are all alike; `about` says in what."""

    about: str = ""
