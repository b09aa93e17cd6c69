"""Any count measure against the threshold, with its interval at each."""

from __future__ import annotations

import math

import numpy as np

from heldout.curves.bands import check_bands
from heldout.curves.count_intervals import check_counted, corners_at, count_band, values_at
from heldout.curves.curve import Curve, Scale
from heldout.curves.thresholds import Thresholds, between_points, counts_at, settled_grid, threshold_grid
from heldout.evidence import Label
from heldout.evidence.ranking import Ranking
from heldout.measures.catalogue import read_quantity


def measure_curve(
    ranking: Ranking,
    measure: str,
    thresholds: Thresholds = "distinct",
    bands: str | None = "pointwise",
    *,
    level: float = 0.95,
    seed: int = 0,
    positive: Label | None = None,
) -> Curve:
    """A measure at every threshold: its declared formula, evaluated on the whole curve at once.

    Each interval is that of a threshold fixed beforehand: at a threshold picked because the curve is highest there, it
    is optimistic. Thresholds inside a bin of scores that were counted together are moved to its nearest edge.

    >>> seen = Ranking(np.array([0.9, 0.5, 0.1]), np.array([2, 1, 1]), np.array([0, 2, 2]))
    >>> curve = measure_curve(seen, "f1")
    >>> curve.x, curve.y.round(3)
    (array([0.9, 0.5, 0.1]), array([0.667, 0.667, 0.667]))
    """
    kind = check_bands(bands, ("pointwise",))
    bound = check_counted(read_quantity(measure).bound)
    declared = bound.measure
    grid, moved = settled_grid(ranking, threshold_grid(ranking, thresholds))
    y = values_at(bound, corners_at(ranking, grid))
    band = None if kind is None else count_band(ranking, bound, grid, level=level, seed=seed)
    tp, fp = counts_at(ranking, grid)
    low, high = (limit if math.isfinite(limit) else None for limit in declared.range)
    name = bound.title if bound.title.isupper() else bound.title.capitalize()
    if len(declared.symbol) > 1 and declared.symbol.casefold() not in name.casefold():
        name = f"{name} ({declared.symbol})"
    shares = len(grid) > 0 and 0 <= grid.min() <= grid.max() <= 1
    along = Scale("threshold", "Threshold", 0.0 if shares else None, 1.0 if shares else None, style="plain")
    missing = 0 if band is None else int(np.isnan(band.low).sum())
    limited = f"Limits were worked out at {len(grid) - missing:,} of {len(grid):,} thresholds." if missing else ""
    return Curve(
        "measure", f"{name} against the threshold", along,
        Scale(bound.name, name, low, high, style="share" if high is not None else "plain"), grid, y,
        ranking.n_positive, ranking.n_negative, threshold=grid, tp=tp, fp=fp,
        band=band,
        positive=positive, undefined=declared.undefined if len(grid) == 0 or np.isnan(y).all() else "",
        notes=tuple(filter(None, (limited, moved))), stepped=isinstance(thresholds, str),
        between=between_points(ranking),
    )  # fmt: skip
