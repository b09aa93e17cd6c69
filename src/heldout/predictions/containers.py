"""Any container of one value per case, brought to a NumPy array or a narwhals Series, and whether their rows match."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arrays import make_objects
from heldout.errors import LabelError, ValuesError

ONE_PER_CASE = "pass one value per case, in order, such as [0, 1, 1]."


def unwrap(values: Any, name: str) -> Any:
    """A NumPy array where the values are one or can become one cheaply, otherwise a narwhals Series.

    Rows are matched by their position, never by an index. `name` is what an error calls the column.

    >>> unwrap((0, 1, 1), "truth")
    array([0, 1, 1])
    """
    if isinstance(values, np.ndarray):
        # A np.matrix has two dimensions, whatever is done with it.
        return one_column(np.asarray(values) if isinstance(values, np.matrix) else values, name)
    if isinstance(values, list | tuple | range):
        return array_of(values)
    if hasattr(values, "tocsr"):
        raise LabelError(f"{name} is a sparse matrix.", hint="make an array of it first: .toarray().ravel().")
    import narwhals.stable.v2 as nw

    series = nw.from_native(_as_series(values), allow_series=True, pass_through=True)
    if isinstance(series, nw.Series):
        return series
    return one_column(_array_of_tensor(values, name), name)


def _as_series(values: Any) -> Any:
    """What pandas and PyArrow hold without a name (a Categorical, an Index, an Array) as the column it is."""
    library = type(values).__module__.partition(".")[0]
    if library == "pyarrow":
        import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

        return pa.chunked_array([values]) if isinstance(values, pa.Array) else values
    if library == "pandas":
        import pandas as pd

        return pd.Series(values) if isinstance(values, pd.Index | pd.api.extensions.ExtensionArray) else values
    return values


def array_of(values: list[Any] | tuple[Any, ...] | range) -> NDArray[Any]:
    """An array of the values as they are: numbers as numbers, anything else as objects."""
    kinds = set(map(type, values))
    if kinds <= {int} or kinds <= {bool} or kinds <= {float}:
        array = np.asarray(values)
        # Whole numbers that fit no integer type come back as floats, which would round them together.
        if kinds != {int} or array.dtype.kind in "iu":
            return array
    return make_objects(values)


def one_column(array: NDArray[Any], name: str) -> NDArray[Any]:
    """The array with one dimension; a single row or column counts as that."""
    if array.ndim == 2 and 1 in array.shape:
        return array.reshape(-1)
    if array.ndim == 1:
        return array
    shape = " × ".join(str(side) for side in array.shape)
    raise LabelError(
        f"{name} must be one column. Got {f'an array of {shape}' if shape else 'a single value'}.",
        hint="of one score per class take the highest first, as scores.argmax(axis=1) does."
        if array.ndim == 2
        else ONE_PER_CASE,
    )


def _array_of_tensor(values: Any, name: str) -> NDArray[Any]:
    try:
        if hasattr(values, "detach"):
            values = values.detach()
        if hasattr(values, "cpu"):
            values = readable(values.cpu())
        elif type(values).__module__.partition(".")[0] == "cupy":
            values = values.get()
        if hasattr(values, "__array__"):
            return np.asarray(values)
        if hasattr(values, "__dlpack__"):
            return np.from_dlpack(values)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise LabelError(
            f"{name} is a {type(values).__name__} that NumPy cannot read: {error}.",
            hint="bring it to the processor's memory as a NumPy array first.",
        ) from None
    if isinstance(values, set | frozenset):
        raise LabelError(
            f"{name} is a set, which has no order and holds each label once.",
            hint=ONE_PER_CASE,
        )
    if isinstance(values, Iterable) and not isinstance(values, str | bytes | bytearray | Mapping):
        return array_of(list(values))
    raise LabelError(
        f"{name} must be a list, an array, a tensor or a data frame column. Got {type(values).__name__}.",
        hint=ONE_PER_CASE,
    )


def readable(tensor: Any) -> Any:
    """A tensor in memory as NumPy reads it: of the floats that it does not know, as ones that hold the same numbers."""
    return tensor.float() if str(getattr(tensor, "dtype", "")) == "torch.bfloat16" else tensor


def hint_missing_role(role: str, given: Any) -> str:
    """What to pass where a role has no values, by what was passed alone: rows, a square table, or one column.

    >>> hint_missing_role("predicted", [{"truth": 1, "predicted": 0}])
    'make a data frame of the rows first: evaluate(polars.DataFrame(rows)).'
    >>> hint_missing_role("predicted", [[50, 3], [5, 42]])
    'a confusion matrix is matrix=; of rows make a data frame, which names its columns.'
    """
    sliced = isinstance(given, list | tuple) or (isinstance(given, np.ndarray) and given.ndim > 0)
    rows = list(given[:100]) if sliced else []
    if rows and all(isinstance(row, Mapping) for row in rows):
        return "make a data frame of the rows first: evaluate(polars.DataFrame(rows))."
    widths = {len(row) if isinstance(row, list | tuple) or np.ndim(row) else 0 for row in rows}
    if rows and widths == {len(given)}:
        return "a confusion matrix is matrix=; of rows make a data frame, which names its columns."
    if widths and 0 not in widths and widths != {1}:
        return (
            "make a data frame of the rows, which names its columns, or pass its columns: evaluate(truth, predicted)."
        )
    return f"pass it as {role}=, one value per case."


def index_notes(given: Mapping[str, Any]) -> list[str]:
    """A sentence where columns of pandas have different indexes, because rows are matched by position.

    The same labels in another order are refused: by position the rows would be paired at random.
    """
    indexes = {
        str(name): column.index
        for name, column in given.items()
        if type(column).__module__.partition(".")[0] == "pandas" and hasattr(getattr(column, "index", None), "equals")
    }
    if len(indexes) < 2:
        return []
    (name, first), *others = indexes.items()
    for other, index in others:
        if len(index) != len(first) or index.equals(first):
            continue
        if first.is_unique and index.is_unique and not len(first.difference(index, sort=False)):
            raise ValuesError(
                f"The pandas indexes of {name} and {other} hold the same labels in another order.",
                hint=f"bring them into one order, as {other}.loc[{name.rpartition(' ')[2]}.index] does; or pass "
                f"{other}.to_numpy() if the rows stand in the same order whatever the index says.",
            )
    if any(len(index) == len(first) and not index.equals(first) for _, index in others):
        return ["the columns have different pandas indexes; their rows were matched by position"]
    return []
