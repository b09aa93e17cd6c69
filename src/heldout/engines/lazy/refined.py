"""Looking again into the bins of a lazy frame that leave the areas uncertain, by joining its rows with those bins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from heldout.engines.lazy.pushed_tables import pushed
from heldout.engines.lazy.scores import FINER, Met, ScoreColumn, on_grid
from heldout.engines.refinement import Refinement, refine
from heldout.evidence.grid import POINT
from heldout.evidence.score_bins import ScoreBins

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw


def refined(
    column: ScoreColumn,
    bins: ScoreBins,
    sided: Callable[[Met], Met],
    *,
    place: int,
    tolerance: float,
    passes: int,
) -> ScoreBins:
    """The bins, those that leave most in doubt replaced by finer ones, in at most `passes` readings with the first.

    `place` is the class whose areas are to be certain, and `sided` brings the classes of the rows to those of the bins.
    """
    for _ in range(passes - 1):
        found = refine(bins, tolerance, place=place)
        if not len(found):
            return bins
        bins = found.put(bins, *_read_again(column, bins, found, sided))
    return bins


def _read_again(
    column: ScoreColumn, bins: ScoreBins, refinement: Refinement, sided: Callable[[Met], Met]
) -> list[ScoreBins]:
    """What is in the bins to look into, as finely as there is room: part by part, few rows all in one pass."""
    rooms = refinement.rooms if bins.groups is None else (sum(refinement.rooms),)
    part = refinement.part if bins.groups is None else np.zeros(len(refinement), dtype=np.int8)
    rows = bins.counts[np.searchsorted(bins.low, refinement.low)].sum(axis=1)
    number = np.bincount(part, weights=rows, minlength=len(rooms))
    few = number <= FINER * np.array(rooms)
    found: list[ScoreBins] = []
    if few.any():
        inner = replace(column, rows=_inside(column, refinement, few[part]))
        met = sided(inner.met())
        own = part[np.searchsorted(refinement.low, met.low, side="right") - 1]
        found += [met.taken(own == at).bins(bins.k, POINT, rooms[at]) for at in np.flatnonzero(few).tolist()]
    for at in np.flatnonzero(~few).tolist():
        chosen = part == at
        low, high = refinement.low[chosen], np.nextafter(refinement.ends[chosen], -np.inf)
        inner = replace(
            column,
            rows=_inside(column, refinement, chosen),
            n=int(number[at]),
            ends=(np.maximum(low, bins.least), np.minimum(high, bins.greatest)),
        )
        met, finest = inner.finest(rooms[at])
        found.append(sided(met).bins(bins.k, finest, rooms[at]))
    return found


def _inside(column: ScoreColumn, refinement: Refinement, chosen: NDArray[np.bool_]) -> nw.LazyFrame[Any]:
    """The rows whose score is in one of these bins."""
    import narwhals.stable.v2 as nw
    import polars as pl

    low, exponent = refinement.low[chosen], refinement.exponent[chosen]
    parts = []
    for width in np.unique(exponent).tolist():
        rows = column.rows.with_columns(on_grid(nw.col(column.name), width).alias("looked_into"))
        edges = pushed(pl.DataFrame({"looked_into": low[exponent == width]}), rows)
        parts.append(rows.join(edges, on="looked_into", how="inner"))
    return parts[0] if len(parts) == 1 else nw.concat(parts)
