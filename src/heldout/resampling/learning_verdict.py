"""What a learning curve says about more data, in a sentence."""

from __future__ import annotations

import math

from heldout.resampling.power_law import Figure, PowerLaw
from heldout.show.numbers import limits, number

# More than this many times the rows there are is more than most people can collect.
WITHIN_REACH = 3
POINT = 0.01


def verdict(law: PowerLaw, sizes: tuple[int, ...]) -> str:
    """Whether more data would help, and how much of it.

    >>> from heldout.resampling.power_law import fit_power_law
    >>> print(verdict(fit_power_law([10, 20, 40, 80], [[0.6, 0.35, 0.225, 0.1625]]), (10, 20, 40, 80)))
    More data would help: about 15 more rows for one point less error, beside the 80 there are.
    """
    if law.shape == "unknown":
        return f"Whether more data would help cannot be told: {law.undefined}."
    between = f"from {sizes[0]:,} to {sizes[-1]:,} rows"
    if law.shape == "rising":
        return f"More data does not help here: {between} the test error rises by {_points(law.slope)} per doubling."
    return _flat(law, between) if law.shape == "flat" else _falling(law, between)


def _falling(law: PowerLaw, between: str) -> str:
    now = law.at(law.present).value
    drop, words = (POINT, "one point less error") if now >= 2 * POINT else (now / 2, "half the error")
    rows = law.rows_for(drop)
    if math.isinf(rows.high) and rows.low <= WITHIN_REACH * law.present:
        # Laws that level off at once fit the curve as well as laws that fall on.
        return (
            f"Whether more data would help cannot be told: {between} the test error falls by {_points(law.slope, -1)} "
            f"per doubling, but beyond that {words} may take {_rounded(rows.low)} more rows, or never come, beside the "
            f"{law.present:,.0f} rows there are."
        )
    if rows.value <= WITHIN_REACH * law.present:
        return (
            f"More data would help: about {_rounded(rows.value)} more rows{_between(rows)} for {words}, "
            f"beside the {law.present:,.0f} there are."
        )
    if math.isinf(rows.value):
        return (
            f"More data will hardly help: the curve levels off at {number(law.floor.value)}{_shares(law.floor)}, "
            f"and with the {law.present:,.0f} rows there are the error is about {number(now)} already."
        )
    times = (rows.value + law.present) / law.present
    return (
        f"More data will hardly help: {words} would take about {_rounded(rows.value)} more rows{_between(rows)}, "
        f"{number(times, 'plain', 2)} times as many as there are."
    )


def _flat(law: PowerLaw, between: str) -> str:
    best = law.slope.low
    if math.isnan(best) or best > -POINT:
        reach = "" if math.isnan(best) else f", and a doubling would bring {number(max(-100 * best, 0), 'plain', 2)} "
        return (
            f"More data will hardly help: {between} the test error has not fallen beyond its noise"
            f"{reach + 'points at best' if reach else ''}."
        )
    return (
        f"Whether more data would help cannot be told: {between} the test error changes by {_points(law.slope)} per "
        "doubling, which may be chance."
    )


def _points(slope: Figure, sign: int = 1) -> str:
    """A change of the error in points; with a sign of -1, how much it falls."""
    value = f"{number(100 * sign * slope.value, 'plain', 2)} points"
    low, high = sorted((100 * sign * slope.low, 100 * sign * slope.high))
    return value if math.isnan(slope.low) else f"{value} [{limits(low, high, 'plain', 2)}]"


def _between(rows: Figure) -> str:
    return "" if math.isnan(rows.low) else f" [{_rounded(rows.low)} – {_rounded(rows.high)}]"


def _shares(figure: Figure) -> str:
    return "" if math.isnan(figure.low) else f" [{limits(figure.low, figure.high)}]"


def _rounded(rows: float) -> str:
    """Two digits are all that an extrapolation is good for."""
    if not math.isfinite(rows):
        return number(rows, "plain")
    whole = max(round(rows), 1)
    return f"{round(whole, 2 - len(str(whole))):,}"
