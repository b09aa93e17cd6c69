"""The test of two: a difference with its interval, the procedure behind it, its size, and p-values from draws."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from heldout.arguments import closest, listing, method_key
from heldout.arrays import Floats
from heldout.errors import OptionError

# What every comparison of two comes to: a difference with its interval, a test, and what it rests on.


@dataclass(frozen=True, slots=True)
class Tested:
    """The difference A − B of a measure, its interval and a test of no difference.

    `method` names the procedure, `statistic` its figure and `df` the degrees of freedom, nan where it has none. `n` is
    the number of cases, folds or data sets behind it. `effect` is a size of the difference that does not depend on n,
    and `effect_name` says which. `undefined` says why the difference is nan where it is; `note` what else a reader must
    know, such as how often the method rejects where it should not.
    """

    # Its name begins as those of tests do; pytest is not to take it for one.
    __test__: ClassVar[bool] = False

    difference: float
    low: float
    high: float
    level: float
    method: str
    p: float
    n: int
    statistic: float = math.nan
    df: float = math.nan
    effect: float = math.nan
    effect_name: str = ""
    undefined: str = ""
    note: str = ""
    interval_method: str = ""


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


def procedure(name: str, setting: Setting, summary: str, reference: str, finding: str = "") -> Procedure:
    """Enter a procedure into the catalogue."""
    made = Procedure(name, setting, summary, reference, finding)
    PROCEDURES[name] = made
    return made


def find_procedure(name: str, setting: Setting) -> Procedure:
    """The procedure of that name, which must fit the setting.

    >>> entered = procedure("coin", "same cases", "Tosses a coin.", "nobody")
    >>> find_procedure("Coin", "same cases").summary
    'Tosses a coin.'
    >>> del PROCEDURES["coin"]
    """
    key = method_key(name)
    fitting = [p.name for p in PROCEDURES.values() if p.setting == setting]
    if key not in PROCEDURES:
        near = closest(key, fitting) or closest(key, PROCEDURES)
        raise OptionError(
            f"There is no method {name!r} to compare with. For {setting} there are: {listing(fitting, most=20)}.",
            hint=f"did you mean {near!r}?" if near else "leave method out for the default.",
        )
    found = PROCEDURES[key]
    if found.setting != setting:
        raise OptionError(
            f"The method {found.name!r} is for {found.setting}, and these results have {setting}.",
            hint=f"use one of: {listing(fitting, most=20)}.",
        )
    return found


# How large a difference is, whatever the number of cases: in standard deviations of one case.

PER_CASE = "difference in standard deviations of one case"


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


# A margin: what a comparison says of non-inferiority or equivalence.

Kind = Literal["non-inferiority", "equivalence"]
MarginOutcome = Literal["shown", "not shown", "refuted"]


@dataclass(frozen=True, slots=True)
class Margin:
    """Whether A is shown to be no worse than B by more than a margin, or to differ by no more than it.

    `low` and `high` are the limits that decide, at a level whose one-sided error is that of the level asked for.
    """

    kind: Kind
    margin: float
    low: float
    high: float
    level: float
    outcome: MarginOutcome
    verdict: str
    p: float = math.nan


# The p-values of random draws: of a difference drawn again and again, and of one whose two sides changed places.

# Sums of random tables add up in another order than the counts themselves: equal means equal up to rounding.
HAIR = 1e-12


def counted_p(as_extreme: int, draws: int) -> float:
    """The share of draws as extreme as what was seen, which counts as one of them.

    One is added on top and bottom, as in every Monte Carlo test: no number of draws shows that p is 0. Davison &
    Hinkley (1997), Bootstrap Methods and their Application, ch. 4.

    >>> counted_p(0, 999)
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
    fewer = min(int((drawn <= HAIR).sum()), int((drawn >= -HAIR).sum()))
    spread = float(drawn.std())
    # Draws that are all the same differ by rounding alone.
    apart = spread > HAIR * abs(float(drawn.mean()))
    normal = math.erfc(abs(float(drawn.mean())) / spread / math.sqrt(2)) if apart and not fewer else 1.0
    return min(1.0, 2 * counted_p(fewer, len(drawn))), normal


def swap_p(difference: float, swapped: Floats, hair: float = HAIR) -> float:
    """The two-sided p-value of a difference among those after exchanges.

    >>> swap_p(0.2, np.array([0.1, -0.2, 0.05]))
    0.5
    """
    return counted_p(_as_large(difference, swapped, hair), len(swapped))


def swap_note(difference: float, swapped: Floats, hair: float = HAIR) -> str:
    """A sentence where p is the smallest that so many exchanges can show.

    >>> swap_note(0.2, np.array([0.1, -0.1, 0.05]))
    'none of 3 exchanges makes so large a difference: p is at most 1/4, and no smaller one can be shown with so few'
    """
    if _as_large(difference, swapped, hair):
        return ""
    return (
        f"none of {len(swapped):,} exchanges makes so large a difference: p is at most 1/{len(swapped) + 1:,}, and no "
        "smaller one can be shown with so few"
    )


def _as_large(difference: float, swapped: Floats, hair: float) -> int:
    return int((np.abs(swapped) >= abs(difference) - hair).sum())
