"""The track on which the intervals of several estimates are drawn one below the other."""

from __future__ import annotations

import math
from collections.abc import Iterable

from heldout.intervals.estimate import Estimate


def track_floor(estimates: Iterable[Estimate]) -> float:
    """Where the one track of all lines begins: at 0, or at the fifth below the lowest limit of any of them.

    >>> track_floor([Estimate("kappa", None, None, 0.1, -0.25, 0.45, 0.95, "draws", 20)])
    -0.4
    """
    drawn = [e for e in estimates if e.style == "share" and not math.isnan(e.value)]
    lowest = min((end for e in drawn for end in (e.value, e.low) if math.isfinite(end)), default=0.0)
    return min(0.0, math.floor(5 * lowest) / 5)
