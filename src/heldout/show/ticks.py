"""Where an axis is marked: round numbers, a few of them, evenly apart."""

from __future__ import annotations

import math

from heldout.show.drawing import Axis
from heldout.show.numbers import plain


def ticks(axis: Axis, about: int = 5) -> tuple[tuple[float, str], ...]:
    """The places that are marked on an axis, each with what is written there.

    >>> ticks(Axis("x"))
    ((0.0, '0'), (0.2, '.2'), (0.4, '.4'), (0.6, '.6'), (0.8, '.8'), (1.0, '1'))
    >>> ticks(Axis("x", 0, 2400))
    ((0, '0'), (500, '500'), (1000, '1,000'), (1500, '1,500'), (2000, '2,000'))
    """
    low, high = sorted((axis.low, axis.high))
    if axis.ticks:
        return tuple(tick for tick in axis.ticks if low <= tick[0] <= high)
    # Between numbers that a float can hardly tell apart there are no round ones.
    if not (math.isfinite(high - low) and high - low > max(1e-9 * max(-low, high), 1e-290)):
        return ()
    step, decimals = _step((high - low) / about)
    shares = low >= -1 and high <= 1
    # Counted in whole steps, because sums of a step such as 0.1 drift away from the numbers that are written.
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    places = [round(at * step, decimals) if decimals else at * int(step) for at in range(first, last + 1)]
    return tuple((place, _written(place, decimals, shares=shares)) for place in places)


def _step(wanted: float) -> tuple[float, int]:
    """The nearest of 1, 2 and 5 times a power of ten, and the decimals that it needs."""
    exponent = math.floor(math.log10(wanted))
    size = wanted / 10.0**exponent
    # Bounds halfway between the factors, as proportions are seen.
    factor = 1 if size < math.sqrt(2) else 2 if size < math.sqrt(10) else 5 if size < math.sqrt(50) else 10
    decimals = max(-exponent - (factor == 10), 0)
    return factor * 10.0**exponent, decimals


def _written(place: float, decimals: int, *, shares: bool) -> str:
    if not place:
        return "0"
    if decimals > 5 or abs(place) >= 1e6:
        return plain(place, 3)
    text = f"{place:,.{decimals}f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".") if shares else text
    return text.replace("0.", ".", 1) if shares and abs(place) < 1 else text
