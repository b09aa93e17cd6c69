"""Margins: non-inferiority and equivalence, whether the interval of a difference keeps within what does not matter.

Two one-sided tests at error 1 − level are the same as looking whether an interval of level 1 − 2·(1 − level) lies
within the margin: Schuirmann (1987), Journal of Pharmacokinetics and Biopharmaceutics 15, 657-680.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

from heldout.arguments import as_float, check_level, listing, method_key, show_given, suggest
from heldout.comparisons.pair_test import cut_limits
from heldout.errors import OptionError
from heldout.intervals.estimate import PairTest
from heldout.intervals.quantiles import z_value
from heldout.measures.declare import Direction
from heldout.show.numbers import digits_between, in_brackets, number, plain, write_p

MarginKind = Literal["non-inferiority", "equivalence"]
KINDS: tuple[MarginKind, ...] = get_args(MarginKind)
DEFAULT_KIND: MarginKind = "non-inferiority"
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


def check_margin_given(margin: float | None, kind: str) -> None:
    """Refuse a wrong margin, and a kind of claim that needs one and has none."""
    if margin is not None:
        check_margin(margin)
    elif kind != DEFAULT_KIND:
        raise OptionError(f"There is no margin for {kind}.", hint="say how much does not matter (margin=, --margin).")


def check_margin(margin: float, reach: float = math.inf) -> float:
    """A margin is a size: positive, finite, and less than the `reach`, how far two values can lie apart.

    >>> check_margin(0.02)
    0.02
    """
    try:
        size = as_float(margin)
    except (TypeError, ValueError):
        size = math.nan
    if not (size > 0 and math.isfinite(size)):
        hint = f"write {-size:g}: how much worse is still good enough." if size < 0 else "for example 0.02."
        raise OptionError(f"The margin must be a positive number. Got {show_given(margin)}.", hint=hint)
    if size >= reach:
        near = f"did you mean {size / 100:g}, which is {size:g}%?" if size < 100 else "give a smaller one."
        raise OptionError(f"A margin of {size:g} says nothing: two values differ by at most {reach:g}.", hint=near)
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
    size, wanted = check_margin(margin, reach), _kind(kind)
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
    span = in_brackets(
        tested.low, tested.high, "share" if bounded else "plain",
        digits_between(tested.low, tested.high) if bounded else None,
    )  # fmt: skip
    rests = f"({round(100 * tested.level, 6):g} % interval {span}, {write_p(p)} by normal approximation)"
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
