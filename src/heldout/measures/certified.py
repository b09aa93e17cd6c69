"""Measures of a ranking between two bounds: what is certain of them when scores were counted in bins.

The bounds contain the value that the scores themselves would give, whatever their order inside the bins; see
heldout.evidence.score_bins for why. An allowance for the rounding of the sums is added on both sides.
"""

from __future__ import annotations

import math

from heldout.arguments import listing, suggest
from heldout.errors import OptionError
from heldout.evidence.ranking import Ranking
from heldout.evidence.score_bins import ordered
from heldout.measures.declare import Measure
from heldout.measures.quantity import Bound
from heldout.measures.ranking import MEASURES, value_range

# Those whose bounds are a sum over the bins, or such a measure scaled.
CERTIFIED: dict[str, Measure] = {
    measure.name: measure for measure in MEASURES if callable(measure.scaled.measure.binned)
}
# Counts are whole, so a term has an error of a few units in the last place (2**-53) and a sum of 64 of them.
ROUNDING = 2.0**-45
# Running sums of weights over the bins are made in blocks, whose errors stay below this.
WEIGHTS_ROUNDING = 2.0**-36
# A sum of n weights, one added after the other, is off by up to n units in the last place (Higham 2002, ch. 4). A term
# of an area is a product of two ratios of such sums, and the Gini coefficient is twice an area.
SUMS = 8
UNIT = 2.0**-53


def allowance(ranking: Ranking) -> float:
    """How far an area can be off because its sums were rounded.

    >>> import numpy as np
    >>> one = np.ones(1)
    >>> seen = Ranking(one, one, one, one, one, joined=np.array([True]), rows=1_000_000_000)
    >>> 1e-7 < allowance(seen) < 1e-6
    True
    """
    return allowance_of(ranking.rows or len(ranking), weighted=ranking.weighted)


def allowance_of(rows: int, *, weighted: bool) -> float:
    """The same of sums over so many rows."""
    return WEIGHTS_ROUNDING + SUMS * rows * UNIT if weighted else ROUNDING


def bounds(ranking: Ranking, name: str) -> tuple[float, float]:
    """Bounds that contain the exact area: "roc_auc", "gini" or "average_precision".

    Both are the value itself where every distinct score was kept, and nan where it is undefined.

    >>> import numpy as np
    >>> scores, one = np.array([0.5, 0.0]), np.array([1, 1])
    >>> [round(bound, 9) for bound in bounds(Ranking(scores, one, one, joined=np.array([False, True])), "roc_auc")]
    [0.375, 0.625]
    """
    if name not in CERTIFIED:
        raise OptionError(
            f"There are no bounds for {name!r}. There are some for {listing(CERTIFIED)}.",
            hint=suggest(name, CERTIFIED),
        )
    measure = CERTIFIED[name]
    if ranking.joined is None or not ranking.joined.any():
        top, bottom = measure.function(ranking)
        value = float(top) / float(bottom) if bottom else math.nan
        return value, value
    scaling = measure.scaled
    # CERTIFIED holds those whose bounds are functions.
    low, high = scaling.scale(scaling.measure.binned(ranking))  # type: ignore[operator]
    if math.isnan(low):
        return math.nan, math.nan
    tolerance = allowance(ranking)
    return max(low - tolerance, measure.low), min(high + tolerance, measure.high)


def bounds_of(bound: Bound, ranking: Ranking) -> tuple[float, float] | None:
    """Bounds of any measure of a ranking; None where there is nothing to bound, and for measures of calibration.

    A ROC curve runs between those of the best and the worst order inside the bins, and partial areas, gains and areas
    of precision only grow with it. The best of all thresholds is at least that of the edges, and at most that of the
    best order, which has a point above and to the left of every other one; the largest gap may also be below the
    diagonal, where the worst order has it.

    >>> import numpy as np
    >>> from heldout.measures.catalogue import find
    >>> seen = Ranking(np.array([0.5, 0.0]), np.array([2, 2]), np.array([1, 3]), joined=np.array([True, True]))
    >>> [round(bound, 9) for bound in bounds_of(find("ks"), seen)]
    [0.25, 0.75]
    """
    measure = bound.measure
    if ranking.joined is None or not ranking.joined.any() or measure.kind == "calibration":
        return None
    key = "certified", bound.key
    if key not in ranking.memo:
        ranking.memo[key] = bounds(ranking, measure.name) if measure.name in CERTIFIED else _by_order(bound, ranking)
    low, high = ranking.memo[key]
    return None if math.isnan(low) or math.isnan(high) else (low, high)


def _by_order(bound: Bound, ranking: Ranking) -> tuple[float, float]:
    cell = bound.measure.cells[0]
    best, worst = (float(bound.value({cell: ordered(ranking, first=first)})) for first in ("positives", "negatives"))
    low, high = worst, best
    if bound.measure.binned == "edges":
        low, high = float(bound.value({cell: ranking})), max(best, worst)
    tolerance, (least, most) = allowance(ranking), value_range(bound.measure, bound.parameters)
    return max(low - tolerance * max(1.0, abs(low)), least), min(high + tolerance * max(1.0, abs(high)), most)
