"""From a column of labels, in any container, to small integers and the labels they stand for."""

from __future__ import annotations

import ctypes
import enum
import math
import numbers
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import listing
from heldout.errors import LabelError
from heldout.evidence import Label, sort_labels
from heldout.evidence.labels import key_array
from heldout.predictions.containers import array_of, unwrap
from heldout.threads import share_out

# Encoding NumPy's fixed-width text without making a Python string of every row.
#
# The few columns of characters that tell the labels of a sample apart are hashed into a table without collisions;
# each row is then compared, character by character, with the label that its place in the table names. Rows that
# differ from it hold labels that the sample missed, and are encoded by themselves.

# With more labels than this the table leaves the processor's cache, and sorting is as fast.
MOST_LABELS = 2000
# Rows are worked on in blocks that stay in the cache.
TEXT_BLOCK = 1 << 14
# An odd number without pattern (2**64 over the golden ratio): its powers spread the bits of their factors.
ODD = 0x9E3779B97F4A7C15
TRIES = 8


def encode_fixed(array: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]] | None:
    """The code of each row and the labels in order, or None where this is not the fast way.

    >>> codes, labels = encode_fixed(np.array(["no", "yes", "no"]))
    >>> codes.tolist(), labels.tolist()
    ([0, 1, 0], ['no', 'yes'])
    """
    if not len(array) or not array.dtype.isnative or not array.dtype.itemsize:
        return None
    array = np.ascontiguousarray(array)
    # An odd step, so that labels which take turns are all met.
    known = np.unique(array[:: len(array) // SAMPLE | 1])
    if len(known) > MOST_LABELS:
        return None
    unit: Any = np.uint32 if array.dtype.kind == "U" else np.uint8
    marks = known.view(unit).reshape(len(known), -1)
    table = _table(marks)
    if table is None:
        return None
    codes, odd = _lookup(array.view(unit).reshape(len(array), -1), marks, *table)
    if len(odd) > len(array) // 20:
        return None
    if len(odd):
        return _with_rare(array, codes, odd, known)
    return codes, known


def _table(marks: NDArray[Any]) -> tuple[list[int], NDArray[np.uint64], int, NDArray[np.int16]] | None:
    """Columns to hash, their multipliers, the shift that leaves a place, and the label at each place."""
    columns = _telling(marks)
    bits = max(8, 2 * len(marks).bit_length())
    for attempt in range(TRIES):
        powers = [pow(ODD, 1 + position + attempt * len(columns), 1 << 64) for position in range(len(columns))]
        multipliers = np.array(powers, dtype=np.uint64)
        places = (marks[:, columns].astype(np.uint64) * multipliers).sum(axis=1, dtype=np.uint64) >> np.uint64(
            64 - bits
        )
        if len(np.unique(places)) == len(marks):
            table = np.zeros(1 << bits, dtype=np.int16)
            table[places.astype(np.int64)] = np.arange(len(marks))
            return columns, multipliers, 64 - bits, table
    return None


def _telling(marks: NDArray[Any]) -> list[int]:
    """Columns of characters in which no two labels agree throughout: few, so that little is hashed."""
    groups = np.zeros(len(marks), dtype=np.int64)
    chosen: list[int] = []
    number = 1
    # The ends of labels tell them apart more often than their beginnings.
    for column in reversed(range(marks.shape[1])):
        if number == len(marks):
            break
        _, split = np.unique(groups * (1 << 32) + marks[:, column], return_inverse=True)
        parts = int(split.max()) + 1
        if parts > number:
            groups, number = split, parts
            chosen.append(column)
    return chosen


def _lookup(
    rows: NDArray[Any],
    marks: NDArray[Any],
    columns: list[int],
    multipliers: NDArray[np.uint64],
    shift: int,
    table: NDArray[np.int16],
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The code of each row, and which rows are not the label of their code."""
    codes = np.empty(len(rows), dtype=np.uint8 if len(marks) <= 256 else np.int16)
    odd = [np.empty(0, dtype=np.int64)]
    places, part = np.empty(TEXT_BLOCK, dtype=np.uint64), np.empty(TEXT_BLOCK, dtype=np.uint64)
    named = np.empty((TEXT_BLOCK, marks.shape[1]), dtype=marks.dtype)
    for start in range(0, len(rows), TEXT_BLOCK):
        block = rows[start : start + TEXT_BLOCK]
        place, product, label = places[: len(block)], part[: len(block)], named[: len(block)]
        place.fill(0)
        for column, multiplier in zip(columns, multipliers, strict=True):
            np.multiply(block[:, column], multiplier, out=product)
            place += product
        place >>= np.uint64(shift)
        code = table[place.view(np.int64)]
        # mode="clip" only spares a copy: every code is the place of a label.
        np.take(marks, code, axis=0, out=label, mode="clip")
        if not np.array_equal(label, block):
            odd.append(np.flatnonzero((label != block).any(axis=1)) + start)
        codes[start : start + TEXT_BLOCK] = code
    return codes, np.concatenate(odd)


def _with_rare(
    array: NDArray[Any], codes: NDArray[Any], odd: NDArray[np.int64], known: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Add the labels that the sample missed, and bring all labels into order."""
    rare, rare_index = np.unique(array[odd], return_inverse=True)
    every = np.concatenate([known, rare])
    order = np.argsort(every)
    move = np.empty(len(every), dtype=np.uint8 if len(every) <= 256 else np.int64)
    move[order] = np.arange(len(every))
    moved = move[codes]
    moved[odd] = move[rare_index + len(known)]
    return moved, every[order]


# Integers that span at most this many values are used as they are: no pass is needed to encode them.
DIRECT_RANGE = 4096
SAMPLE = 20_000
HEAD = 100
# Rows are counted in blocks that stay in the processor's cache.
BLOCK = 1 << 16
# The number of rows that a thread takes at a time.
STRETCH = 1 << 18


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

    def taken(self, keep: NDArray[Any]) -> Coded:
        """Only the rows to keep, none of which is missing."""
        return Coded(self.codes[keep], self.offset, self.labels, self.declared)

    def places(self, rows: Any = slice(None)) -> NDArray[np.int64]:
        """The place of each row's label among the labels, of all rows or of some; none of them is missing."""
        places: NDArray[np.int64] = self.codes[rows].astype(np.int64)
        if self.offset:
            places -= self.offset
        return places

    def keyed(self) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """The code of each row from 0, and the keys of these codes: the labels that some row holds.

        >>> Coded(np.array([5, 7]), 5, (5, 6, 7)).keyed()
        (array([0, 1]), array([5, 7]))
        """
        present, codes = np.unique(self.places(), return_inverse=True)
        return codes, key_array([self.labels[code] for code in present.tolist()])

    def counts(self) -> NDArray[np.int64]:
        """How many rows are missing, and then how many hold each label."""
        counts = np.zeros(len(self.labels) + 1, dtype=np.int64)
        # The sums of a block are as long as there are labels: few rows at a time must not pay for many of those.
        block = max(BLOCK, 4 * len(counts))
        for start in range(0, len(self.codes), block):
            # The mark of a missing value is one below the code of the first label.
            codes = self.codes[start : start + block].astype(np.int64)
            codes -= self.offset - 1
            counts += np.bincount(codes, minlength=len(counts))
        return counts

    def met(self) -> tuple[Label, ...]:
        """The labels that some row holds."""
        occurring = np.zeros(len(self.labels) + 1, dtype=bool)
        for start in range(0, len(self.codes), BLOCK):
            occurring[self.codes[start : start + BLOCK].astype(np.int64) - (self.offset - 1)] = True
            if len(occurring) < BLOCK and occurring[1:].all():
                break
        if occurring[1:].all():
            return self.labels
        return tuple(self.labels[index] for index in np.flatnonzero(occurring[1:]).tolist())

    def classes(self) -> tuple[Label, ...]:
        """The labels that are declared, or else those that some row holds."""
        return self.labels if self.declared else self.met()

    def renamed(self, names: Mapping[Label, Label]) -> Coded:
        """The same rows under other labels; those that get the same name become one."""
        labels = [names.get(label, label) for label in self.labels]
        # True and 1 are equal to Python, but no two labels of one column are.
        distinct = tuple(dict.fromkeys(labels))
        if len(distinct) == len(labels):
            return replace(self, labels=distinct)
        index_of = {label: position for position, label in enumerate(distinct)}
        move = np.array([index_of[label] for label in labels], dtype=np.int64)
        return Coded(move[self.codes.astype(np.int64) - self.offset], 0, distinct, self.declared)

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
    column = unwrap(values, name)
    if not isinstance(column, np.ndarray):
        return _encode_series(column, name)
    if hasattr(column, "filled") and isinstance(column, np.ma.MaskedArray):
        absent = np.ma.getmaskarray(column)
        return _with_missing(_encode_array(column.data[~absent], name), absent)
    return _encode_array(column, name)


def _encode_array(array: NDArray[Any], name: str) -> Coded:
    kind = array.dtype.kind
    if kind in "iu":
        return _encode_integers(array)
    if kind == "b":
        # A copy: what the caller does to the array later is not to change a result.
        return Coded(array.astype(np.uint8), 0, (False, True), declared=True)
    if kind == "f":
        return _encode_floats(array, name)
    if kind in "US":
        return _encode_fixed(array, name)
    if isinstance(array.dtype, np.dtypes.StringDType):
        return _encode_objects(array.astype(object), name)
    if kind == "O":
        return _encode_objects(array, name)
    raise refuse_labels(f"{name} holds values of type {array.dtype}")


def _encode_integers(array: NDArray[Any]) -> Coded:
    if not len(array):
        return Coded(np.empty(0, dtype=np.uint8), 0, ())
    # One or two bytes a row, of our own: what the caller does to the array later is not to change a result.
    direct: NDArray[Any] = np.empty(len(array), dtype=np.uint8)
    low, high = _narrow(array, direct)
    if high - low < DIRECT_RANGE:
        if high - low > 255:
            direct = array.astype(np.uint16)
        # Both steps drop whole multiples of 2**bits, so the difference, which is smaller, comes out right.
        if lowest := low % (1 << 8 * direct.itemsize):
            direct -= direct.dtype.type(lowest)
        return Coded(direct, 0, tuple(range(low, high + 1)))
    known = np.unique(array[:: max(1, len(array) // SAMPLE)])
    if len(known) <= DIRECT_RANGE:
        codes = np.minimum(np.searchsorted(known, array), len(known) - 1)
        if np.array_equal(known[codes], array):
            return Coded(codes, 0, tuple(known.tolist()))
    if high - low <= 8 * len(array):
        # The labels are dense: marking the ones met is cheaper than sorting the rows.
        # In eight bytes, because the difference of two short numbers need not fit a short one.
        array = array if array.dtype == np.uint64 else array.astype(np.int64)
        occurring = np.zeros(high - low + 1, dtype=bool)
        occurring[array - low] = True
        code_of = np.cumsum(occurring, dtype=np.int32 if high - low < 2**31 else np.int64) - 1
        # As Python's whole numbers, because the labels may be beyond 2**63.
        return Coded(code_of[array - low], 0, tuple(low + at for at in np.flatnonzero(occurring).tolist()))
    labels, codes = np.unique(array, return_inverse=True)
    return Coded(codes, 0, tuple(labels.tolist()))


def _narrow(array: NDArray[Any], narrow: NDArray[Any]) -> tuple[int, int]:
    """Write whole numbers into bytes, of which only the last bits are kept; gives the least and the largest."""

    def take(start: int) -> tuple[int, int]:
        ends: list[int] = []
        for begin in range(start, min(start + STRETCH, len(array)), BLOCK):
            rows = slice(begin, min(begin + BLOCK, start + STRETCH))
            block = array[rows]
            ends += int(block.min()), int(block.max())
            np.copyto(narrow[rows], block, casting="unsafe")
        return min(ends), max(ends)

    lows, highs = zip(*share_out(take, range(0, len(array), STRETCH)), strict=True)
    return min(lows), max(highs)


def _encode_floats(array: NDArray[Any], name: str) -> Coded:
    absent = np.isnan(array)
    present = array[~absent] if absent.any() else array
    whole = np.isfinite(present) & (present == np.floor(present))
    if not whole.all():
        raise refuse_fraction(present[~whole][0], name)
    if len(present) and float(np.abs(present).max()) >= 2**63:
        distinct, codes = np.unique(present, return_inverse=True)
        coded = Coded(codes, 0, tuple(int(value) for value in distinct.tolist()))
    else:
        coded = _encode_integers(present.astype(np.int64))
    return _with_missing(coded, absent) if absent.any() else coded


def refuse_fraction(value: Any, name: str) -> LabelError:
    """The error of a column of labels that holds a number that is not whole."""
    return LabelError(
        f"{name} holds numbers that are not whole, such as {float(value):g}: those are scores, not labels.",
        hint="choose the column of classes, or give these as scores with score= (--score), and positive= (--positive) "
        "if the class is not known.",
    )


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
    step = max(1, len(array) // SAMPLE)
    known, first = np.unique(addresses[::step], return_index=True)
    if len(known) <= DIRECT_RANGE:
        codes = _find_places(known, addresses)
        if codes is not None:
            return _merge_equal(codes, [array[position * step] for position in first.tolist()], name)
    values = array.tolist()
    if any(isinstance(value, str) for value in values[:HEAD]):
        import polars as pl

        try:
            return encode_strings(pl.Series(name, values, dtype=pl.String, strict=True))
        except (TypeError, UnicodeEncodeError, pl.exceptions.PolarsError):
            # Something that is no text; or half a surrogate pair, as in a badly decoded file name.
            pass
    return _encode_by_value(values, name)


def _find_places(known: NDArray[Any], values: NDArray[Any]) -> NDArray[np.int64] | None:
    """The place of each value among those that are known, in order; None where one of them is not known."""
    bits = max(8, 2 * len(known).bit_length() + 2)
    shift, odd = np.uint64(64 - bits), np.uint64(ODD)
    slots = (known.view(np.uint64) * odd) >> shift
    # Where no two share a slot a table tells the place, seven times as fast as halving.
    table = np.zeros(1 << bits, dtype=np.int64) if len(np.unique(slots)) == len(slots) else None
    if table is not None:
        table[slots.view(np.int64)] = np.arange(len(known))
    codes = np.empty(len(values), dtype=np.int64)

    def take(start: int) -> bool:
        for begin in range(start, min(start + STRETCH, len(values)), BLOCK):
            rows = slice(begin, min(begin + BLOCK, start + STRETCH))
            block, place = values[rows], codes[rows]
            if table is None:
                np.minimum(np.searchsorted(known, block), len(known) - 1, out=place)
            else:
                slot = block.view(np.uint64) * odd
                slot >>= shift
                np.take(table, slot.view(np.int64), out=place, mode="clip")
            if not np.array_equal(known[place], block):
                return False
        return True

    return codes if all(share_out(take, range(0, len(values), STRETCH))) else None


def _encode_by_value(values: list[Any], name: str) -> Coded:
    seen: dict[Any, int] = {}
    try:
        keyed = (None if is_missing(value) else (type(value) is bool, value) for value in values)
        codes = np.fromiter((seen.setdefault(key, len(seen)) for key in keyed), dtype=np.int64, count=len(values))
    except TypeError:
        # A value that cannot be hashed is no label: as_label names the first one.
        return _merge_equal(np.arange(len(values)), values, name)
    return _merge_equal(codes, [None if key is None else key[1] for key in seen], name)


def _merge_equal(codes: NDArray[np.int64], objects: list[Any], name: str) -> Coded:
    """Give equal objects one code, sort the labels, and mark the missing ones."""
    plain = [None if is_missing(value) else as_label(value, name) for value in objects]
    labels = one_kind([value for value in plain if value is not None], name)
    boolean = bool(labels) and isinstance(labels[0], bool)
    if boolean:
        labels = (False, True)
    index_of = {label: position for position, label in enumerate(labels)}
    move = np.array([-1 if value is None else index_of[value] for value in plain], dtype=np.int64)
    moved = codes if np.array_equal(move, np.arange(len(move))) else move[codes]
    return Coded(moved, 0, labels, boolean, int((moved < 0).sum()) if (move < 0).any() else 0)


def is_missing(value: Any) -> bool:
    """Whether a value stands for "not known": None, NaN, NaT or pandas.NA."""
    if value is None:
        return True
    try:
        return bool(value != value)  # noqa: PLR0124 - true of NaN and NaT only
    except TypeError:  # pandas.NA refuses to be a truth value
        return True
    except (ArithmeticError, ValueError):  # an array of several values; a signalling NaN
        return isinstance(value, Decimal)


def as_label(value: Any, name: str) -> Label:
    """A plain Python label: text, a whole number or a boolean."""
    plain = value
    if isinstance(plain, enum.Enum):
        plain = plain.value
    if getattr(plain, "shape", None) == () and not isinstance(plain, np.datetime64 | np.timedelta64):
        # NumPy's scalars, and the tensors of one number that a loop collects.
        plain = plain.item()
    if isinstance(plain, bytes):
        plain = _decoded(plain, name)
    if isinstance(plain, str | bool):
        return str(plain) if isinstance(plain, str) else plain
    if isinstance(plain, int):
        return int(plain)
    if isinstance(plain, numbers.Real | Decimal):
        if not np.isfinite(float(plain)) or plain != math.trunc(plain):
            raise refuse_fraction(plain, name)
        whole: Any = math.trunc(plain)
        return int(whole)
    nested = isinstance(value, Mapping | list | tuple | np.ndarray)
    raise refuse_labels(f"{name} holds {_shown(value)}, a {type(value).__name__}", TAKE_APART if nested else AS_TEXT)


AS_TEXT = "convert the column to text first."
TAKE_APART = "write the class into a column of its own, and each score into one, such as p_yes and p_no."


def refuse_labels(what: str, hint: str = AS_TEXT) -> LabelError:
    """The error of values that can be no labels."""
    return LabelError(f"{what}. Labels are numbers, text, booleans or categories.", hint=hint)


def check_label_list(labels: Any, hint: str) -> None:
    """Refuse classes that were not given as a list, such as one text."""
    if isinstance(labels, str | bytes) or not isinstance(labels, Iterable):
        raise LabelError(f"labels must be a list of the classes. Got {labels!r}.", hint=hint)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _decoded(text: bytes, name: str) -> str:
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError:
        raise LabelError(
            f"{name} holds bytes that are not UTF-8 text, such as {_shown(text)}.",
            hint="decode the column first, for example with numpy.char.decode(column, 'latin-1').",
        ) from None


def one_kind(labels: Iterable[Label], name: str) -> tuple[Label, ...]:
    """The labels in order, if they are all text, all numbers or all booleans."""
    kept = list(labels)
    kinds = {"text" if isinstance(x, str) else "boolean" if isinstance(x, bool) else "number" for x in kept}
    if len(kinds) > 1:
        shown = listing((_shown(label) for label in kept), most=6)
        raise LabelError(
            f"{name} mixes labels of different types: {shown}.",
            hint="make them all text or all numbers, so that equal labels are equal.",
        )
    return sort_labels(kept)


def _encode_fixed(array: NDArray[Any], name: str) -> Coded:
    coded = encode_fixed(array)
    if coded is None:
        return _encode_objects(array.astype(object), name)
    codes, texts = coded
    labels = texts.tolist()
    return Coded(codes, 0, tuple(_decoded(x, name) if isinstance(x, bytes) else x for x in labels))


def encode_strings(series: Any) -> Coded:
    """Encode a Polars column of text; null marks a missing value."""
    import polars as pl

    parts = [series[start : start + STRETCH] for start in range(0, max(len(series), 1), STRETCH)]
    labels = pl.concat(share_out(lambda part: part.drop_nulls().unique(), parts)).unique().sort()
    absent, kind = series.null_count(), pl.Enum(labels)
    codes = pl.concat(share_out(lambda part: part.cast(kind).to_physical(), parts))
    if absent:
        filled = codes.cast(pl.Int64).fill_null(-1).to_numpy()
        return Coded(filled, 0, tuple(labels.to_list()), missing=absent)
    return Coded(codes.to_numpy(), 0, tuple(labels.to_list()))


def _encode_compressed(series: Any) -> Coded:
    """Encode a Polars column of compressed text without unpacking it: its numbers become those of the sorted texts."""
    import polars as pl

    physical = series.to_physical()
    absent = series.null_count()
    if absent:
        physical = physical.fill_null((physical.max() or 0) + 1)
    # Where each number is first met, which tells its text.
    first = np.full((physical.max() or 0) + 1, -1, dtype=np.int64)
    for start in range(0, len(physical), BLOCK):
        block = physical[start : start + BLOCK].to_numpy()
        if (first[block] < 0).any():
            numbers, at = np.unique(block, return_index=True)
            new = first[numbers] < 0
            first[numbers[new]] = start + at[new]
    occurring = np.flatnonzero((first[:-1] if absent else first) >= 0)
    texts = series.gather(first[occurring]).cast(pl.String)
    order = texts.arg_sort()
    kind = np.int64 if absent else np.min_scalar_type(max(len(occurring) - 1, 0))
    # Missing text has the last code, which becomes -1.
    move = np.full(len(first), -1 if absent else 0, dtype=kind)
    move[occurring[order.to_numpy()]] = np.arange(len(occurring))
    codes = np.empty(len(series), dtype=kind)
    for start in range(0, len(codes), BLOCK):
        np.take(move, physical[start : start + BLOCK].to_numpy(), out=codes[start : start + BLOCK])
    return Coded(codes, 0, tuple(texts.gather(order).to_list()), missing=absent)


def _encode_series(series: Any, name: str) -> Coded:
    """Encode a narwhals Series: the one place that knows how data frames keep labels."""
    import narwhals.stable.v2 as nw

    kind = series.dtype
    if kind in (nw.Categorical, nw.Enum):
        return _encode_categories(series, name)
    if kind == nw.String and (text := _polars_text(series)) is not None:
        return encode_strings(text)
    if kind in (nw.Int128, nw.UInt128, nw.Decimal):
        return _encode_array(array_of(series.to_list()), name)
    if kind in (nw.Struct, nw.List, nw.Array):
        raise refuse_labels(f"{name} holds values of type {kind}", TAKE_APART)
    absent = series.is_null().to_numpy()
    if kind in (nw.String, nw.Object) or not absent.any():
        return _encode_array(np.asarray(series.to_numpy(), dtype=object if absent.any() else None), name)
    present = series.filter(~series.is_null()).to_numpy() if not absent.all() else np.empty(0)
    return _with_missing(_encode_array(np.asarray(present), name), absent)


def _polars_text(series: Any) -> Any:
    """A column of text as Polars' where that copies no Python strings; otherwise None."""
    native = series.to_native()
    if series.implementation.is_polars():
        return native
    import polars as pl

    if series.implementation.is_pyarrow():
        return pl.from_arrow(native)
    if getattr(native.dtype, "storage", "") == "pyarrow":
        return pl.from_arrow(native.array.__arrow_array__())
    return None


def _encode_categories(series: Any, name: str) -> Coded:
    """Categories keep the order in which they were declared, and stay classes even if no row holds them.

    Where the type only compresses text (Polars' Categorical, an unordered Arrow dictionary) the order is that
    of first meeting, which says nothing about the classes: those are sorted as text is.
    """
    native = series.to_native()
    if series.implementation.is_polars():
        import polars as pl

        if native.dtype != pl.Enum:
            return _encode_compressed(native)
        categories = native.dtype.categories.to_list()
        codes = native.to_physical().cast(pl.Int64).fill_null(-1).to_numpy()
    elif series.implementation.is_pyarrow():
        chunk = native.combine_chunks()
        categories = chunk.dictionary.to_pylist()
        codes = chunk.indices.cast("int64").fill_null(-1).to_numpy(zero_copy_only=False)
        if not chunk.type.ordered or None in categories:
            return _merge_equal(np.where(codes < 0, len(categories), codes), [*categories, None], name)
    else:
        categories, codes = native.cat.categories.tolist(), native.cat.codes.to_numpy(copy=True)
    labels = tuple(as_label(category, name) for category in categories)
    if len(one_kind(labels, name)) < len(labels) or (len(labels) == 1 and isinstance(labels[0], bool)):
        return _merge_equal(np.where(codes < 0, len(categories), codes), [*categories, None], name)
    return Coded(codes, 0, labels, declared=True, missing=int((codes < 0).sum()))
