"""From a column of labels, in any container, to small integers and the labels they stand for."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.errors import LabelError, listing
from heldout.evidence import Label, sort_labels

# Integers that span at most this many values are used as they are: no pass is needed to encode them.
DIRECT_RANGE = 4096
SAMPLE = 20_000


@dataclass(frozen=True, eq=False)
class Coded:
    """A column of labels: `labels[codes[i] - offset]` is the label of row i.

    `declared` keeps the labels in the order their type declares (categories), whether met or not. A code of
    `offset - 1` marks a missing value; `missing` counts them.
    """

    codes: NDArray[Any]
    offset: int
    labels: tuple[Label, ...]
    declared: bool = False
    missing: int = 0

    def __len__(self) -> int:
        return len(self.codes)

    def taken(self, keep: NDArray[np.bool_]) -> Coded:
        """Only the rows to keep, none of which is missing."""
        return Coded(self.codes[keep], self.offset, self.labels, self.declared)

    @property
    def is_missing(self) -> NDArray[np.bool_]:
        """Where the value is missing."""
        return np.asarray(self.codes < self.offset)


def encode(values: Any, name: str) -> Coded:
    """Encode a column; `name` is what an error calls it.

    >>> coded = encode(["b", "a", "b"], "truth")
    >>> coded.codes.tolist(), coded.labels
    ([1, 0, 1], ('a', 'b'))
    """
    column = unwrap(values)
    if isinstance(column, np.ndarray):
        return _encode_array(column, name)
    return _encode_series(column, name)


def unwrap(values: Any) -> Any:
    """A NumPy array where the values are one or can become one cheaply, otherwise a narwhals Series."""
    if isinstance(values, np.ndarray):
        return values
    if isinstance(values, list | tuple | range):
        return _array_of_objects(values)
    import narwhals.stable.v2 as nw

    series = nw.from_native(values, allow_series=True, pass_through=True)
    if isinstance(series, nw.Series):
        return series
    return _array_of_tensor(values)


def _array_of_objects(values: list[Any] | tuple[Any, ...] | range) -> NDArray[Any]:
    kinds = set(map(type, values))
    if kinds <= {int} or kinds <= {bool} or kinds <= {float}:
        return np.asarray(values)
    # np.asarray would turn [1, "a"] into text in silence.
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _array_of_tensor(values: Any) -> NDArray[Any]:
    if hasattr(values, "detach"):
        values = values.detach()
    if hasattr(values, "cpu"):
        values = values.cpu()
    elif type(values).__module__.partition(".")[0] == "cupy":
        values = values.get()
    if hasattr(values, "__array__"):
        return np.asarray(values)
    if hasattr(values, "__dlpack__"):
        return np.from_dlpack(values)
    if isinstance(values, Iterable) and not isinstance(values, str | bytes | dict):
        return _array_of_objects(list(values))
    kind = type(values).__name__
    raise LabelError(
        f"A column must be a list, an array, a tensor or a data frame column. Got {kind}.",
        hint="pass one label per case, e.g. truth=[0, 1, 1].",
    )


def _encode_array(array: NDArray[Any], name: str) -> Coded:
    if array.ndim == 2 and 1 in array.shape:
        array = array.reshape(-1)
    if array.ndim != 1:
        shape = " × ".join(str(side) for side in array.shape)
        raise LabelError(
            f"{name} must be one column. Got an array of {shape}.",
            hint="pass the labels, one per case; class scores go into score=.",
        )
    kind = array.dtype.kind
    if kind in "iu":
        return _encode_integers(array)
    if kind == "b":
        return Coded(array.view(np.uint8), 0, (False, True), declared=True)
    if kind == "f":
        return _encode_floats(array, name)
    if kind in "US" or array.dtype == np.dtypes.StringDType():
        return _encode_text(array, name)
    if kind == "O":
        return _encode_objects(array, name)
    raise LabelError(
        f"{name} holds values of type {array.dtype}. Labels are numbers, text, booleans or categories.",
        hint="convert the column to text first.",
    )


def _encode_integers(array: NDArray[Any]) -> Coded:
    if not len(array):
        return Coded(array, 0, ())
    low, high = int(array.min()), int(array.max())
    if high - low < DIRECT_RANGE:
        if array.dtype.kind == "u" and array.dtype.itemsize == 8:
            # The mark for missing, one below the lowest label, must exist in the type.
            array = (array - np.uint64(low)).astype(np.int64)
            return Coded(array, 0, tuple(range(low, high + 1)))
        return Coded(array, low, tuple(range(low, high + 1)))
    known = np.unique(array[:: max(1, len(array) // SAMPLE)])
    if len(known) <= DIRECT_RANGE:
        codes = np.minimum(np.searchsorted(known, array), len(known) - 1)
        if np.array_equal(known[codes], array):
            return Coded(codes, 0, tuple(known.tolist()))
    if high - low <= 8 * len(array):
        # The labels are dense: marking the ones met is cheaper than sorting the rows.
        met = np.zeros(high - low + 1, dtype=bool)
        met[array - low] = True
        place = np.cumsum(met, dtype=np.int32 if high - low < 2**31 else np.int64) - 1
        return Coded(place[array - low], 0, tuple((np.flatnonzero(met) + low).tolist()))
    labels, codes = np.unique(array, return_inverse=True)
    return Coded(codes, 0, tuple(labels.tolist()))


def _encode_floats(array: NDArray[Any], name: str) -> Coded:
    absent = np.isnan(array)
    held = array[~absent] if absent.any() else array
    whole = held == np.floor(held)
    if not whole.all() or not np.isfinite(held).all():
        example = held[~(whole & np.isfinite(held))][0]
        raise LabelError(
            f"{name} holds numbers that are not whole, such as {example:g}, so they are scores and not labels.",
            hint="give the column as score, or turn the labels into text.",
        )
    if not absent.any():
        return _encode_integers(held.astype(np.int64))
    return _with_missing(_encode_integers(held.astype(np.int64)), absent)


def _with_missing(coded: Coded, absent: NDArray[np.bool_]) -> Coded:
    codes = np.full(len(absent), -1, dtype=np.int64)
    codes[~absent] = coded.codes.astype(np.int64) - coded.offset
    return Coded(codes, 0, coded.labels, coded.declared, int(absent.sum()))


def _encode_objects(array: NDArray[Any], name: str) -> Coded:
    """Objects are told apart by their address first, because columns hold few distinct ones as a rule."""
    if not len(array):
        return Coded(np.empty(0, dtype=np.int64), 0, ())
    array = np.ascontiguousarray(array)
    addresses = np.ctypeslib.as_array(
        ctypes.cast(array.ctypes.data, ctypes.POINTER(ctypes.c_ssize_t)), shape=(len(array),)
    )
    known, first = np.unique(addresses[:: max(1, len(array) // SAMPLE)], return_index=True)
    if len(known) <= DIRECT_RANGE:
        codes = np.minimum(np.searchsorted(known, addresses), len(known) - 1)
        if np.array_equal(known[codes], addresses):
            objects = [array[position * max(1, len(array) // SAMPLE)] for position in first.tolist()]
            return _merge_equal(codes, objects, name)
    kinds = set(map(type, array.tolist()))
    if kinds <= {str, type(None)}:
        return _encode_text(array, name)
    seen: dict[Any, int] = {}
    keyed = ((type(value) is bool, value) if value == value else None for value in array.tolist())  # noqa: PLR0124
    codes = np.fromiter((seen.setdefault(key, len(seen)) for key in keyed), dtype=np.int64, count=len(array))
    return _merge_equal(codes, [None if key is None else key[1] for key in seen], name)


def _merge_equal(codes: NDArray[np.int64], objects: list[Any], name: str) -> Coded:
    """Give equal objects one code, sort the labels, and mark the missing ones."""
    plain = [None if is_missing(value) else as_label(value, name) for value in objects]
    labels = one_kind([value for value in plain if value is not None], name)
    place = {label: position for position, label in enumerate(labels)}
    move = np.array([-1 if value is None else place[value] for value in plain], dtype=np.int64)
    moved = codes if np.array_equal(move, np.arange(len(move))) else move[codes]
    return Coded(moved, 0, labels, missing=int((moved < 0).sum()) if (move < 0).any() else 0)


def is_missing(value: Any) -> bool:
    """Whether a value stands for "not known"."""
    if value is None:
        return True
    try:
        return bool(value != value)  # noqa: PLR0124 - true of NaN and NaT only
    except TypeError:  # pandas.NA refuses to be a truth value
        return True


def as_label(value: Any, name: str) -> Label:
    """A plain Python label."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str | int):
        return value
    raise LabelError(
        f"{name} holds {value!r}, a {type(value).__name__}. Labels are numbers, text, booleans or categories.",
        hint="convert the column to text first.",
    )


def one_kind(labels: Iterable[Label], name: str) -> tuple[Label, ...]:
    """The labels in order, if they are all text, all numbers or all booleans."""
    kept = list(labels)
    kinds = {"text" if isinstance(x, str) else "boolean" if isinstance(x, bool) else "number" for x in kept}
    if len(kinds) > 1:
        shown = listing((repr(label) for label in kept), most=6)
        raise LabelError(
            f"{name} mixes labels of different types: {shown}.",
            hint="make them all text or all numbers, so that equal labels are equal.",
        )
    return sort_labels(kept)


def _encode_text(array: NDArray[Any], name: str) -> Coded:
    import polars as pl

    if array.dtype.kind == "S":
        array = np.char.decode(array, "utf-8")
    return encode_strings(pl.Series(name, array.astype(object, copy=False), dtype=pl.String))


def encode_strings(series: Any) -> Coded:
    """Encode a Polars column of text; null marks a missing value."""
    import polars as pl

    labels = series.drop_nulls().unique().sort()
    absent = series.null_count()
    codes = series.cast(pl.Enum(labels)).to_physical()
    if absent:
        filled = codes.cast(pl.Int64).fill_null(-1).to_numpy()
        return Coded(filled, 0, tuple(labels.to_list()), missing=absent)
    return Coded(codes.to_numpy(), 0, tuple(labels.to_list()))


def _encode_series(series: Any, name: str) -> Coded:
    """Encode a narwhals Series: the one place that knows how data frames keep labels."""
    import narwhals.stable.v2 as nw

    kind = series.dtype
    if kind in (nw.Categorical, nw.Enum):
        return _encode_categories(series, name)
    if series.implementation.is_polars() and kind == nw.String:
        return encode_strings(series.to_native())
    absent = series.is_null().to_numpy()
    if not absent.any():
        return _encode_array(np.asarray(series.to_numpy()), name)
    if kind in (nw.String, nw.Object):
        return _encode_array(np.asarray(series.to_numpy(), dtype=object), name)
    if absent.all():
        return Coded(np.full(len(absent), -1, dtype=np.int64), 0, (), missing=len(absent))
    return _with_missing(_encode_array(np.asarray(series.filter(~series.is_null()).to_numpy()), name), absent)


def _encode_categories(series: Any, name: str) -> Coded:
    """Categories keep the order in which they were declared, and stay classes even if no row holds them.

    Where the type only compresses text (Polars' Categorical, an unordered Arrow dictionary) the order is that
    of first meeting, which says nothing about the classes: those are sorted as text is.
    """
    native = series.to_native()
    if series.implementation.is_polars():
        import polars as pl

        if native.dtype != pl.Enum:
            return encode_strings(native.cast(pl.String))
        categories = native.cat.get_categories().to_list()
        codes = native.to_physical().cast(pl.Int64).fill_null(-1).to_numpy()
    elif series.implementation.is_pyarrow():
        chunk = native.combine_chunks()
        categories = chunk.dictionary.to_pylist()
        codes = chunk.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
        if not chunk.type.ordered:
            return _merge_equal(np.where(codes < 0, len(categories), codes), [*categories, None], name)
    else:
        categories, codes = native.cat.categories.tolist(), native.cat.codes.to_numpy()
    labels = tuple(as_label(category, name) for category in categories)
    one_kind(labels, name)
    return Coded(codes, 0, labels, declared=True, missing=int((codes < 0).sum()))
