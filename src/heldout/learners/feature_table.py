"""Where features come from: a file, a data frame, a matrix or a list of rows, as named columns to choose from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.errors import ColumnError, HeldoutError, ValuesError, first_line
from heldout.files import read_table
from heldout.files.arff_header import read_header
from heldout.files.input_stream import STANDARD_INPUT, inner_ending, load, utf8_text

_TWO_SIDES = "pass one row per case and one column per feature."


@dataclass(frozen=True, eq=False)
class Table:
    """Named columns of equal length; `native` is what was given, and `frame` the same for narwhals, if it is a frame.

    `source` is what messages call it. An ARFF file has its class last by custom, and may have weights of rows.
    """

    native: Any
    columns: tuple[Any, ...]
    n: int
    source: str
    frame: Any = None
    from_file: bool = False
    class_last: bool = False
    row_weight: str | None = None

    @property
    def start(self) -> str:
        """The source at the beginning of a sentence; the name of a file keeps its own case."""
        return f"T{self.source[1:]}" if self.source.startswith("the ") else self.source

    @property
    def sparse(self) -> bool:
        """Whether it is a sparse matrix."""
        return hasattr(self.native, "tocsr")

    @property
    def numeric(self) -> bool:
        """Whether it is a matrix of numbers throughout."""
        return self.sparse or (self.frame is None and self.native.dtype.kind in "iufb")

    def values(self, column: Any) -> Any:
        """The values of one column."""
        if self.frame is not None:
            return self.frame.get_column(column).to_native()
        place = self.columns.index(column)
        return self.native[:, [place]].toarray().ravel() if self.sparse else _as_numbers(self.native[:, place])

    def taken(self, rows: NDArray[np.int64]) -> Table:
        """Only these rows."""
        from sklearn.utils import _safe_indexing

        native = _safe_indexing(self.native, rows)
        frame = None
        if self.frame is not None:
            import narwhals.stable.v2 as nw

            frame = nw.from_native(native, eager_only=True)
        return replace(self, native=native, frame=frame, n=len(rows))

    def selected(self, columns: Sequence[Any]) -> Any:
        """The object that was given, with these columns only; itself where these are all."""
        if list(columns) == list(self.columns):
            return self.native
        if self.frame is not None:
            return self.frame.select(*[self.frame.get_column(column) for column in columns]).to_native()
        return self.native[:, [self.columns.index(column) for column in columns]]


def as_table(data: Any) -> Table:
    """Take whatever holds features; files are read.

    >>> as_table([[1, 2], [3, 4], [5, 6]]).columns
    ('x0', 'x1')
    """
    if isinstance(data, str | Path):
        return _of_file(data)
    if hasattr(data, "tocsr"):
        return _of_array(data.tocsr(), "the sparse matrix")
    if isinstance(data, Mapping):
        return _of_mapping(data)
    if isinstance(data, np.ndarray):
        return _of_array(data, "the array")
    if isinstance(data, list | tuple):
        return _of_array(_rows(data), "the list of rows")
    return _of_frame(data)


def _of_file(path: str | Path) -> Table:
    import narwhals.stable.v2 as nw

    frame = nw.from_native(read_table(path), eager_only=True)
    name = "standard input" if str(path) == STANDARD_INPUT else str(path)
    arff = name != "standard input" and inner_ending(Path(path)) == ".arff"
    weight = "weight" if arff and frame.columns[-1] == "weight" and not _declares_weight(path) else None
    return Table(
        frame.to_native(),
        tuple(frame.columns),
        len(frame),
        name,
        frame,
        from_file=True,
        class_last=arff,
        row_weight=weight,
    )


def _declares_weight(path: str | Path) -> bool:
    """Whether `weight` is an attribute of an ARFF file; otherwise it holds the weights that stand behind the rows."""
    content = load(path)
    header = read_header(utf8_text(content).replace(b"\r\n", b"\n").replace(b"\r", b"\n"), content.name)
    return any(attribute.name == "weight" for attribute in header.attributes)


def _of_mapping(data: Mapping[Any, Any]) -> Table:
    import polars as pl

    try:
        return _of_frame(pl.DataFrame({str(name): values for name, values in data.items()}, strict=False))
    except HeldoutError:
        raise
    except Exception as error:
        raise ColumnError(
            f"The dictionary is no table: {first_line(error)}.",
            hint="pass one list of values for each column, all of the same length.",
        ) from error


def _of_frame(data: Any) -> Table:
    import narwhals.stable.v2 as nw

    try:
        frame = nw.from_native(data, allow_series=True, pass_through=True)
    except Exception as error:
        twice = "unique column names" in str(error)
        raise ColumnError(
            f"The data frame has two columns of the same name ({_twice(data)})."
            if twice
            else f"The data frame cannot be read: {first_line(error)}.",
            hint="rename one of them, so that each can be asked for." if twice else _TWO_SIDES,
        ) from error
    if isinstance(frame, nw.LazyFrame):
        raise ColumnError("The data frame is lazy, so it holds no rows yet.", hint="call .collect() on it first.")
    if isinstance(frame, nw.Series):
        raise _one_side(len(frame))
    if not isinstance(frame, nw.DataFrame):
        return _of_array(_of_tensor(data), "the array")
    if not len(frame):
        raise ValuesError("The data frame has no rows.", hint="pass at least two cases of each class.")
    return Table(data, tuple(frame.columns), len(frame), "the data frame", frame)


def _twice(data: Any) -> str:
    names = [str(name) for name in data.columns]
    return ", ".join(sorted({name for name in names if names.count(name) > 1}))


def _of_tensor(data: Any) -> NDArray[Any]:
    try:
        if hasattr(data, "detach"):
            data = data.detach()
        if hasattr(data, "cpu"):
            data = data.cpu()
        array = np.asarray(data)
    except Exception as error:
        raise ValuesError(
            f"The features are a {type(data).__name__} that NumPy cannot read: {first_line(error)}.", hint=_TWO_SIDES
        ) from error
    if array.ndim == 0:
        raise ValuesError(
            f"The features must be a table: an array, a data frame or a file. Got {type(data).__name__}.",
            hint=_TWO_SIDES,
        )
    return array


def _rows(data: Sequence[Any]) -> NDArray[Any]:
    """A list of rows as an array: of numbers where all are, otherwise of objects."""
    if data and isinstance(data[0], Mapping):
        raise ValuesError(
            "The features are a list of dictionaries.",
            hint="make a data frame of them first, for example polars.DataFrame(rows).",
        )
    lengths = [len(row) if hasattr(row, "__len__") and not isinstance(row, str) else -1 for row in data]
    if -1 in lengths:
        raise _one_side(len(data))
    if len(set(lengths)) > 1:
        at = next(i for i, length in enumerate(lengths) if length != lengths[0])
        raise ValuesError(
            f"The rows differ in length: row 1 has {lengths[0]:,} values, row {at + 1:,} has {lengths[at]:,}.",
            hint=_TWO_SIDES,
        )
    try:
        array = np.asarray(data)
    except ValueError:
        array = np.empty((len(data), lengths[0] if lengths else 0), dtype=object)
        for i, row in enumerate(data):
            array[i, :] = list(row)
    # NumPy would write [1, "a"] as two texts.
    return array if array.dtype.kind in "iufbc" or array.ndim != 2 else np.array(data, dtype=object)


def _of_array(array: Any, source: str) -> Table:
    if not array.shape[0]:
        raise ValuesError("The features have no rows.", hint="pass at least two cases of each class.")
    if array.ndim == 1 and array.dtype.names is None:
        raise _one_side(len(array))
    if array.ndim != 2:
        shape = " × ".join(f"{side:,}" for side in array.shape)
        found = f"records with {len(array.dtype.names)} fields" if array.ndim == 1 else f"{array.ndim} sides ({shape})"
        raise ValuesError(
            f"The features must have two sides, rows and columns. Got {found}.",
            hint="flatten each case into one row: X.reshape(len(X), -1)."
            if array.ndim > 2
            else "make a data frame of them first, for example polars.DataFrame(X).",
        )
    if isinstance(array, np.ma.MaskedArray):
        array = np.ma.filled(array.astype(np.float64), np.nan)
    if array.dtype.kind in "cmMV":
        raise ValuesError(
            f"The features hold values of type {array.dtype}, which no learner takes.",
            hint="turn them into plain numbers first.",
        )
    return Table(array, tuple(f"x{i}" for i in range(array.shape[1])), array.shape[0], source)


def _one_side(n: int) -> ValuesError:
    return ValuesError(
        f"The features must have two sides, rows and columns. Got one row of {n:,} values.",
        hint="a single feature is a column: X.reshape(-1, 1), or [[value] for value in X].",
    )


def _as_numbers(column: NDArray[Any]) -> NDArray[Any]:
    """Text that is all numbers as numbers: np.array([[1, "a"]]) has written them so."""
    if column.dtype.kind not in "US":
        return column
    try:
        return column.astype(np.float64)
    except ValueError:
        return column
