"""The test of two: a difference with its interval and p-value, the catalogue of procedures, and margins."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from heldout.arguments import check_level, listing, method_key, suggest
from heldout.arrays import Floats
from heldout.errors import OptionError
from heldout.intervals.quantiles import z_value
from heldout.measures.declare import Direction, Measure
from heldout.results.difference import PairTest
from heldout.show.numbers import digits_between, limits, number, plain


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
    held = all(least <= value <= most for value in values if not math.isnan(value))
    return measured.high - measured.low if measured.bounded and held else math.inf


def cut_limits(test: PairTest, reach: float) -> PairTest:
    """The same test with its limits no farther from 0 than a difference can be; p and the statistic stay.

    >>> cut_limits(PairTest(0.2, -0.8, 1.2, 0.95, "corrected-t", 0.5, 3), 1.0).high
    1.0
    """
    # Unknown limits stay unknown.
    low = max(test.low, -reach)
    high = min(test.high, reach)
    return test if (low, high) == (test.low, test.high) else replace(test, low=low, high=high)


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


# A margin: what a comparison says of non-inferiority or equivalence.

MarginKind = Literal["non-inferiority", "equivalence"]
MarginOutcome = Literal["shown", "not shown", "refuted"]


@dataclass(frozen=True, slots=True)
class Margin:
    """Whether A is shown to be no worse than B by more than a margin, or to differ by no more than it.

    `low` and `high` are the limits that decide, at a level whose one-sided error is that of the level asked for.
    """

    kind: MarginKind
    margin: float
    low: float
    high: float
    level: float
    outcome: MarginOutcome
    verdict: str
    p: float = math.nan


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


def permutation_p(difference: float, swapped: Floats, hair: float = ROUNDING) -> float:
    """The two-sided p-value of a difference among those after exchanges.

    >>> permutation_p(0.2, np.array([0.1, -0.2, 0.05]))
    0.5
    """
    return monte_carlo_p(_as_large(difference, swapped, hair), len(swapped))


def permutation_note(difference: float, swapped: Floats, hair: float = ROUNDING) -> str:
    """A sentence where p is the smallest that so many exchanges can show.

    >>> permutation_note(0.2, np.array([0.1, -0.1, 0.05]))
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


# Non-inferiority and equivalence: whether the interval of a difference keeps within a margin.
#
# Two one-sided tests at error 1 − level are the same as looking whether an interval of level 1 − 2·(1 − level) lies
# within the margin: Schuirmann (1987), Journal of Pharmacokinetics and Biopharmaceutics 15, 657-680.


KINDS: tuple[MarginKind, ...] = get_args(MarginKind)


def interval_level(level: float = 0.95) -> float:
    """The level of the interval that decides at this level: both one-sided errors lie outside it.

    >>> round(interval_level(0.95), 10)
    0.9
    """
    level = check_level(level)
    if level <= 0.5:
        raise OptionError(
            f"A margin cannot be judged at the level {level:g}: the interval that decides would be empty.",
            hint="use a level above 0.5, such as 0.95.",
        )
    return 1 - 2 * (1 - level)


def check_margin(margin: float) -> float:
    """A margin is a size: positive and finite.

    >>> check_margin(0.02)
    0.02
    """
    try:
        size = float(margin)
    except (TypeError, ValueError):
        size = math.nan
    if not (size > 0 and math.isfinite(size)):
        hint = f"write {-size:g}: how much worse is still good enough." if size < 0 else "for example 0.02."
        raise OptionError(f"The margin must be a positive number. Got {margin!r}.", hint=hint)
    return size


def judge_margin(
    tested: PairTest,
    margin: float,
    direction: Direction = "higher",
    kind: str = "non-inferiority",
    *,
    names: tuple[str, str] = ("A", "B"),
    reach: float = math.inf,
) -> Margin:
    """Judge a difference A − B, given with an interval of `interval_level`, against a margin.

    Non-inferior: A is worse than B by less than the margin; `direction` says which way is better. Equivalent: the two
    differ by less than the margin. The p-value takes the distance from the estimate to the limit that decides for z
    standard errors, so that it is below 1 − level exactly where the interval says so. `reach` is how far two values can
    lie apart, beyond which no limit is shown.

    >>> seen = PairTest(difference=0.01, low=-0.01, high=0.03, level=0.9, method="tango", p=0.41, n=500)
    >>> result = judge_margin(seen, 0.02)
    >>> result.outcome, f"{result.p:.4f}"
    ('shown', '0.0068')
    >>> judge_margin(seen, 0.02, kind="equivalence").outcome
    'not shown'
    """
    size, wanted = check_margin(margin), _kind(kind)
    if wanted == "non-inferiority" and direction not in ("higher", "lower"):
        raise OptionError(
            f"Non-inferiority needs to know which way is better, and the direction is {direction!r}.",
            hint="give direction='higher' or 'lower', or ask for equivalence.",
        )
    if any(math.isnan(value) for value in (tested.difference, tested.low, tested.high)):
        reason = tested.undefined or "there is no interval"
        return Margin(
            wanted, size, tested.low, tested.high, tested.level, "not shown", f"Nothing can be said: {reason}."
        )
    not_below, not_above = tested.low > -size, tested.high < size
    p_below = _one_sided(tested.difference + size, tested.difference - tested.low, tested.level)
    p_above = _one_sided(size - tested.difference, tested.high - tested.difference, tested.level)
    if wanted == "equivalence":
        shown, p = not_below and not_above, max(p_below, p_above)
        refuted = tested.low >= size or tested.high <= -size
    elif direction == "higher":
        shown, p, refuted = not_below, p_below, tested.high <= -size
    else:
        shown, p, refuted = not_above, p_above, tested.low >= size
    outcome: MarginOutcome = "shown" if shown else "refuted" if refuted else "not shown"
    tested = cut_limits(tested, reach)
    verdict = _verdict(tested, size, wanted, outcome, p, names)
    return Margin(wanted, size, tested.low, tested.high, tested.level, outcome, verdict, p)


def _kind(kind: str) -> MarginKind:
    key = method_key(kind)
    for known in KINDS:
        if key in (known, known.replace("-", "")):
            return known
    raise OptionError(
        f"A margin is judged for {listing(KINDS)}. Got {kind!r}.",
        hint=suggest(key, KINDS, "use one."),
    )


def _one_sided(distance: float, reach: float, level: float) -> float:
    """P of a normal estimate that far from the margin, its limit being `reach` away from it."""
    if reach <= 0:
        return 0.0 if distance > 0 else 1.0
    z = distance / reach * z_value(level)
    return math.erfc(z / math.sqrt(2)) / 2


def _verdict(
    tested: PairTest, margin: float, kind: MarginKind, outcome: MarginOutcome, p: float, names: tuple[str, str]
) -> str:
    a, b = names
    bounded = max(abs(tested.low), abs(tested.high)) <= 1
    size = number(margin, digits=_decimals(margin)) if bounded and margin < 1 else plain(margin)
    span = limits(
        tested.low, tested.high, "share" if bounded else "plain",
        digits_between(tested.low, tested.high) if bounded else None,
    )  # fmt: skip
    rests = f"({round(100 * tested.level, 6):g} % interval {span}, p = {p:.3g} by normal approximation)"
    if kind == "non-inferiority":
        text = {
            "shown": f"{a} is not worse than {b} by more than {size}",
            "refuted": f"{a} is worse than {b} by more than {size}",
            "not shown": f"{a} may or may not be worse than {b} by more than {size}",
        }[outcome]
    else:
        text = {
            "shown": f"{a} and {b} differ by less than {size}",
            "refuted": f"{a} and {b} differ by more than {size}",
            "not shown": f"{a} and {b} may or may not differ by more than {size}",
        }[outcome]
    return f"{text} {rests}."


def _decimals(value: float) -> int:
    """Decimals that a person would write the number with, three at the least."""
    text = f"{value:.10f}".rstrip("0")
    return min(max(len(text.partition(".")[2]), 3), 10)


@dataclass(frozen=True, slots=True)
class OmnibusTest(PairTest):
    """A test that several classifiers are all alike; `about` says in what."""

    about: str = ""
