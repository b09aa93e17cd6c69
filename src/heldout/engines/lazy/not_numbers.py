"""Which floats are not numbers, asked so that every engine tells the truth."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw


def is_nan(column: nw.Expr) -> nw.Expr:
    """Whether a float is not a number; where it is missing, missing too.

    Not by the engine's own test alone: DuckDB takes it for false where the least and the greatest value that a Parquet
    file notes, which leave nan out, are ordinary numbers, and works other tests out beforehand where the two are equal.
    Each of these sees what another misses.
    """
    told = column.is_nan() | (~column.is_finite()) | ((column - column) != 0)
    return told & (column != np.inf) & (column != -np.inf)
