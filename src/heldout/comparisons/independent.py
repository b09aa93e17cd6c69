"""The difference of two independent estimates of which only the values and limits are known."""

from __future__ import annotations

import math

MOVER = "mover"
Limits = tuple[float, float, float]


def of_limits(first: Limits, second: Limits) -> Limits:
    """The first less the second, with its limits; each is a value, a lower and an upper limit.

    Each limit of the difference takes the distances to the limits that push it there, joined by Pythagoras: Zou &
    Donner (2008), Statistics in Medicine 27, 1693-1702. For shares with Wilson's limits this is Newcombe's interval.

    >>> print(*(f"{end:.3f}" for end in of_limits((0.9, 0.82, 0.95), (0.8, 0.71, 0.87))))
    0.100 -0.006 0.203
    """
    (value, low, high), (other, other_low, other_high) = first, second
    difference = value - other
    return (
        difference,
        difference - math.hypot(value - low, other_high - other),
        difference + math.hypot(high - value, other - other_low),
    )
