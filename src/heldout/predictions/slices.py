"""Slices: a column of any kind that divides the cases into a few named parts, one byte a case."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.predictions.counted_numbers import Rows
from heldout.predictions.encode import Coded
from heldout.predictions.slice_plan import (
    BINS,
    Kind,
    SlicePlan,
    in_blocks,
    missing_numbers,
    plan_of_coded,
    plan_of_numbers,
)
from heldout.predictions.slice_values import slice_values


@dataclass(frozen=True, eq=False)
class SliceColumn:
    """A column that divides the cases: `labels[codes[i]]` is the slice of row i; `note` says what was put together.

    >>> slice_column([31, 64, None], "age").labels
    ('31', '64', '(missing)')
    """

    name: str
    codes: NDArray[np.uint8]
    labels: tuple[str, ...]
    kind: Kind = "values"
    note: str = ""

    def __len__(self) -> int:
        return len(self.codes)

    def taken(self, rows: NDArray[Any]) -> SliceColumn:
        """Only these rows."""
        return replace(self, codes=self.codes[rows])


def slice_column(values: Any, name: str, *, bins: int = BINS) -> SliceColumn:
    """Divide the cases by a column: numbers and dates (in text: ISO 8601) by quantiles, anything else by its values.

    >>> made = slice_column([18, 22, 25, 31, 36, 40, 47, 52, 58, 64, 70, 81], "age")
    >>> made.kind, made.labels
    ('bins', ('18 to 25', '31 to 40', '47 to 58', '64 to 81'))
    """
    column = slice_values(values, name)
    if isinstance(column, Coded):
        below = column.offset - 1
        plan, move = plan_of_coded(column.labels, column.counts(), name, bins=bins)
        return planned(plan, in_blocks(column.codes, lambda block: move[block.astype(np.int64) - below]))
    absent = missing_numbers(column)
    held = column.view(np.int64) if column.dtype.kind in "mM" else column
    rows = Rows(held if absent is None else held[~absent])
    plan = plan_of_numbers(rows, column.dtype, name, gaps=absent is not None, bins=bins)
    return planned(plan, plan.of_numbers(column))


def planned(plan: SlicePlan, codes: NDArray[np.uint8]) -> SliceColumn:
    """The slices of rows of which the codes by a plan are known.

    >>> from heldout.predictions.slice_plan import plan_of
    >>> plan = plan_of(["f", "m"], [40, 50], "sex")
    >>> planned(plan, plan.codes(["m", "m"])).labels
    ('f', 'm')
    """
    return SliceColumn(plan.name, codes, plan.labels, plan.kind, plan.note)
