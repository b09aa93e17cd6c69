"""The column behind slices as an array of numbers or dates where it is one, otherwise as it came."""

from __future__ import annotations

import datetime as dt
import numbers
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.errors import ColumnError, HeldoutError
from heldout.predictions.case_values import groups, weights
from heldout.predictions.containers import unwrap
from heldout.predictions.encode import Coded, is_missing
from heldout.show.fitting import shorten
from heldout.show.printable import visible


def called(name: str) -> str:
    """What sentences call a column."""
    return repr(shorten(visible(name), 60))


def slice_values(values: Any, name: str) -> NDArray[Any] | Coded:
    """Numbers and dates as an array of them; anything else encoded by its values.

    >>> slice_values([1.5, None], "dose").tolist(), slice_values(["b", "a"], "sex").labels
    ([1.5, nan], ('a', 'b'))
    """
    column = _unwrapped(values, name)
    if isinstance(column, np.ndarray) and column.dtype.kind in "iufmM":
        return column
    try:
        return groups(column, name)
    except HeldoutError as error:
        raise ColumnError(f"The column {called(name)} cannot be made into slices: {error.what}",
                          hint="leave it out, or turn it into text first.") from None  # fmt: skip


def value_texts(values: Any, name: str) -> Coded:
    """The values encoded by their texts, numbers and dates too."""
    column = unwrap(values, name)
    held = column.tolist() if isinstance(column, np.ndarray) else column.to_list()
    return groups([None if is_missing(value) else str(value) for value in held], name)


def _unwrapped(values: Any, name: str) -> Any:
    try:
        column = unwrap(values, f"the slice column {called(name)}")
    except HeldoutError as error:
        raise ColumnError(error.what, hint=error.hint) from None
    if isinstance(column, np.ndarray):
        if isinstance(column, np.ma.MaskedArray) and column.dtype.kind in "iuf":
            column = np.ma.filled(column.astype(np.float64), np.nan)
        return _numbers_of_objects(column) if column.dtype.kind == "O" else column
    import narwhals.stable.v2 as nw

    kind = column.dtype
    if kind.is_numeric() and kind not in (nw.Int128, nw.UInt128):
        held = column.cast(nw.Float64) if kind == nw.Decimal or column.null_count() else column
        return np.asarray((held.fill_null(np.nan) if held.null_count() else held).to_numpy())
    if kind in (nw.Date, nw.Datetime, nw.Duration):
        array = np.asarray(column.to_numpy())
        return array if array.dtype.kind in "mM" else _numbers_of_objects(array.astype(object))
    return _numbers_of_objects(np.asarray(column.to_numpy())) if kind == nw.Object else column.to_native()


def _numbers_of_objects(column: NDArray[Any]) -> NDArray[Any]:
    """Python's own numbers and dates as arrays of them; other objects as they are."""
    held = [None if is_missing(value) else value for value in column.tolist()]
    kinds = {type(value) for value in held if value is not None}
    if not kinds or bool in kinds:
        return column
    if all(issubclass(kind, numbers.Real | Decimal) for kind in kinds):
        return weights(column)
    if all(issubclass(kind, dt.date) for kind in kinds):
        # Times of several zones have no common text; their moments have.
        plain = [
            value.astimezone(dt.UTC).replace(tzinfo=None) if isinstance(value, dt.datetime) and value.tzinfo else value
            for value in held
        ]
        return np.array(plain, dtype="datetime64[us]")
    return column
