"""The weight and the group of each case."""

from __future__ import annotations

import numbers
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import listing
from heldout.errors import LabelError, ValuesError
from heldout.predictions.containers import unwrap
from heldout.predictions.label_encoding import Coded, encode, is_missing

# Squares of weights beyond these ends do not fit a float.
SMALLEST, LARGEST = 1e-150, 1e150


def weights(values: Any, name: str = "weight") -> NDArray[np.float64]:
    """A column of numbers, NaN where one is missing.

    >>> weights([1, None, 2.5])
    array([1. , nan, 2.5])
    """
    column = unwrap(values, name)
    if not isinstance(column, np.ndarray):
        column = np.asarray(column.to_numpy())
    if hasattr(column, "filled"):
        column = column.astype(np.float64).filled(np.nan)
    if column.dtype.kind in "iufb":
        return np.asarray(column, dtype=np.float64)
    # Text is refused even where NumPy would read it as a number, and so are dates, which it takes for nanoseconds.
    held = [np.nan if is_missing(value) else value for value in column.tolist()]
    if column.dtype.kind != "O" or not all(isinstance(value, numbers.Real | Decimal) for value in held):
        raise _no_numbers(held, name)
    return np.array([float(value) for value in held], dtype=np.float64)


def _no_numbers(values: list[Any], name: str) -> ValuesError:
    """What a column holds that should be numbers, and where that begins."""
    bad = [place for place, value in enumerate(values) if not is_number(value)]
    what = f"{name} must be numbers. It holds {listing(map(repr, values), most=3)}"
    if bad:
        held = listing(dict.fromkeys(repr(values[place]) for place in bad), most=3)
        what = (
            f"{name} must be numbers. {len(bad):,} of {len(values):,} {'values is' if len(bad) == 1 else 'values are'} "
            f"not: {held}; {'it is' if len(bad) == 1 else 'the first is'} in row {bad[0] + 1:,}"
        )
    return ValuesError(f"{what}.", hint="choose another column, or convert it to numbers.")


def is_number(value: Any) -> bool:
    """Whether a value is a number, or text that reads as one."""
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def check_weight(weight: NDArray[np.float64]) -> None:
    """Refuse weights that are negative, not finite, all zero, or beyond what can be squared."""
    bad = np.flatnonzero(~np.isfinite(weight) | (weight < 0))
    if len(bad):
        raise ValuesError(
            f"Weights must be finite and not negative. Row {int(bad[0]) + 1:,} has {weight[bad[0]]:g}.",
            hint="give weight 0 to a case that should not count.",
        )
    if not weight.any():
        raise ValuesError("All weights are zero, so no case counts.", hint="give at least one case a weight.")
    low, high = weight[weight > 0].min(), weight.max()
    if low < SMALLEST or high > LARGEST:
        raise ValuesError(
            f"Weights must lie between {SMALLEST:g} and {LARGEST:g}, or be 0. They run from {low:g} to {high:g}.",
            hint="divide all of them by their mean: only their ratios count.",
        )


def groups(values: Any, name: str = "group") -> Coded:
    """Encode a column of group keys of any kind: numbers, text, dates, pairs.

    >>> groups([0.5, 0.25, 0.5]).codes.tolist()
    [1, 0, 1]
    """
    column = unwrap(values, name)
    if not isinstance(column, np.ndarray) and column.dtype.is_float():
        column = column.to_numpy()
    if isinstance(column, np.ndarray) and column.dtype.kind in "fmM" and not hasattr(column, "filled"):
        return _sorted_keys(column)
    try:
        return encode(column if isinstance(column, np.ndarray) else column.to_native(), name)
    except LabelError:
        # No label, but a key all the same: its text tells it from the others.
        held = column.tolist() if isinstance(column, np.ndarray) else column.to_list()
        return encode([None if is_missing(value) else str(value) for value in held], name)


def _sorted_keys(column: NDArray[Any]) -> Coded:
    absent = np.isnat(column) if column.dtype.kind in "mM" else np.isnan(column)
    keys, place = np.unique(column[~absent], return_inverse=True)
    codes = np.full(len(column), -1, dtype=np.int64)
    codes[~absent] = place
    labels = [str(key) for key in keys] if keys.dtype.kind in "mM" else keys.tolist()
    return Coded(codes, 0, tuple(labels), missing=int(absent.sum()))
