"""Slices: a column of any kind that divides the cases into a few named parts, one byte a case."""

from __future__ import annotations

import datetime as dt
import numbers
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from heldout.errors import ColumnError, HeldoutError
from heldout.predictions.case_values import groups, weights
from heldout.predictions.containers import unwrap
from heldout.predictions.encode import BLOCK, Coded, is_missing
from heldout.predictions.iso_dates import moments
from heldout.show.fitting import shorten
from heldout.show.printable import visible

Kind = Literal["values", "bins"]
MISSING, OTHER, EMPTY = "(missing)", "(other)", "(empty)"
# Numbers with at most this many distinct values are taken as they are; others are cut into bins at quantiles.
FEW_NUMBERS = 10
BINS = 4
# Of more distinct texts than this the commonest are slices, and the others one together.
MOST_TEXTS = 50
# Texts of which this share is distinct name the cases; they do not divide them.
ID_SHARE = 0.9
SAMPLE = 20_000


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
    column = _unwrapped(values, name)
    if isinstance(column, np.ndarray) and column.dtype.kind in "iufmM":
        return _of_numbers(column, name, bins)
    try:
        coded = groups(column, name)
    except HeldoutError as error:
        raise ColumnError(f"The column {_called(name)} cannot be made into slices: {error.what}",
                          hint="leave it out, or turn it into text first.") from None  # fmt: skip
    dates = moments(coded.labels)
    if dates is None:
        return _of_texts(coded, name)
    # Text files have no type for dates; what is written as one is one all the same.
    place = coded.codes.astype(np.int64) - coded.offset
    return _of_numbers(np.append(dates, np.datetime64("NaT"))[place], name, bins)


def _called(name: str) -> str:
    return repr(shorten(visible(name), 60))


def _unwrapped(values: Any, name: str) -> Any:
    """The column as an array of numbers or dates where it is one, otherwise as it came."""
    try:
        column = unwrap(values, f"the slice column {_called(name)}")
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


def _of_texts(coded: Coded, name: str) -> SliceColumn:
    """Slices of the values that were met; the rarest of very many become one."""
    counts = np.zeros(len(coded.labels) + 1, dtype=np.int64)
    for start in range(0, len(coded), BLOCK):
        block = coded.codes[start : start + BLOCK].astype(np.int64)
        counts += np.bincount(block - (coded.offset - 1), minlength=len(counts))
    absent, held = int(counts[0]), counts[1:]
    met = np.flatnonzero(held)
    present = int(held.sum())
    if len(met) > MOST_TEXTS and len(met) >= ID_SHARE * present:
        raise ColumnError(
            f"The column {_called(name)} has {len(met):,} different texts in {present:,} rows, so it names the cases.",
            hint="slice by a column whose values repeat; id= takes a column that names the cases.",
        )
    note, move = "", np.zeros(len(counts), dtype=np.uint8)
    kept = met
    if len(met) > MOST_TEXTS:
        kept = np.sort(met[np.argsort(-held[met], kind="stable")[:MOST_TEXTS]])
        rare = int(present - held[kept].sum())
        note = (
            f"of the {len(met):,} values of {_called(name)} the {MOST_TEXTS} commonest are slices; the others, "
            f"{rare:,} rows, are together {OTHER}"
        )
    labels = [_text(coded.labels[place]) for place in kept.tolist()]
    move[kept + 1] = np.arange(len(kept))
    if len(kept) < len(met):
        move[np.setdiff1d(met, kept) + 1] = len(labels)
        labels.append(_apart(OTHER, labels))
    if absent:
        move[0] = len(labels)
        labels.append(_apart(MISSING, labels))
    codes = _in_blocks(coded.codes, lambda block: move[block.astype(np.int64) - (coded.offset - 1)])
    return SliceColumn(name, codes, _distinct(labels), "values", note)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) or EMPTY


def _apart(label: str, labels: list[str]) -> str:
    """The label, in brackets once more while a value of the column reads just so."""
    while label in labels:
        label = f"({label})"
    return label


def _distinct(labels: list[str]) -> tuple[str, ...]:
    """Labels that can be told apart: an empty text and the text that stands for it are two values."""
    made: list[str] = []
    for label in labels:
        made.append(_apart(label, made))
    return tuple(made)


def _in_blocks(codes: NDArray[Any], find: Callable[[NDArray[Any]], NDArray[Any]]) -> NDArray[np.uint8]:
    made = np.empty(len(codes), dtype=np.uint8)
    for start in range(0, len(codes), BLOCK):
        made[start : start + BLOCK] = find(codes[start : start + BLOCK])
    return made


def _of_numbers(column: NDArray[Any], name: str, bins: int) -> SliceColumn:
    """Slices of few distinct numbers, or bins that hold about equally many rows; equal numbers share a bin."""
    as_text = _date_text(column.dtype) if column.dtype.kind in "mM" else None
    if as_text is not None:
        absent = np.isnat(column)
        column = column.view(np.int64)
    else:
        absent = np.isnan(column) if column.dtype.kind == "f" else np.zeros(0, dtype=bool)
    gaps = bool(absent.any())
    held = column[~absent] if gaps else column
    few = _few(held)
    # A bin ends at `ends[i]`, included; the last one is open.
    ends = few if few is not None else _quantiles(held, bins)
    codes = _in_blocks(column, lambda block: np.minimum(np.searchsorted(ends, block), max(len(ends) - 1, 0)))
    if gaps:
        codes[absent] = len(ends)
    if few is not None:
        write = as_text or _number_text
        labels = [write(value) for value in few.tolist()]
    else:
        labels = _ranges(held, codes[~absent] if gaps else codes, len(ends), as_text)
    labels += [_apart(MISSING, labels)] * gaps
    if not labels:
        raise ColumnError(f"The column {_called(name)} is empty.", hint="slice by a column that has values.")
    return SliceColumn(name, codes, _distinct(labels), "bins" if few is None else "values")


def _few(held: NDArray[Any]) -> NDArray[Any] | None:
    """The distinct numbers, if there are few; a sample tells in most cases that there are not."""
    known = np.unique(held[:: max(1, len(held) // SAMPLE)])
    while len(known) <= FEW_NUMBERS:
        fresh = [
            np.setdiff1d(held[start : start + BLOCK], known, assume_unique=False)[: FEW_NUMBERS + 1]
            for start in range(0, len(held), BLOCK)
        ]
        more = np.unique(np.concatenate([*fresh, known]))
        if len(more) == len(known):
            return known
        known = more
    return None


def _quantiles(held: NDArray[Any], bins: int) -> NDArray[Any]:
    """The last number of each bin, each one that occurs; fewer where many numbers are equal."""
    n = len(held)
    places = np.array([-(-n * part // bins) - 1 for part in range(1, bins + 1)])
    ends = np.unique(np.partition(held, places)[places])
    for end in ends.tolist():
        # A number that would fill a bin alone gets one, if those before it are enough for another.
        if len(ends) < bins and int((held == end).sum()) >= n / bins:
            before = ends[ends < end]
            between = held[(held < end) & (held > before[-1])] if len(before) else held[held < end]
            if len(between) >= n / (4 * bins):
                ends = np.unique(np.append(ends, between.max()))
    return np.asarray(ends)


def _ranges(held: NDArray[Any], codes: NDArray[np.uint8], bins: int, as_text: Callable[[Any], str] | None) -> list[str]:
    """The lowest and the highest number of each bin in words, with as many digits as tell the bins apart."""
    spans = [
        (inside.min().item(), inside.max().item())
        for inside in (held[codes == place] for place in range(bins))
        if len(inside)
    ]
    if as_text is not None:
        return [_between(as_text(low), as_text(high)) for low, high in spans]
    for digits in range(3, 18):
        texts = [(_number_text(low, digits), _number_text(high, digits)) for low, high in spans]
        labels = [_between(low, high) for low, high in texts]
        collapsed = any(low == high and span[0] != span[1] for (low, high), span in zip(texts, spans, strict=True))
        if len(set(labels)) == len(labels) and not collapsed:
            break
    return labels


def _between(low: str, high: str) -> str:
    return low if low == high else f"{low} to {high}"


def _number_text(value: float, digits: int = 17) -> str:
    if isinstance(value, int) or (abs(value) < 1e15 and value == int(value)):
        return str(int(value))
    return f"{value:.{digits}g}" if digits < 17 else repr(float(value))


def _date_text(kind: np.dtype[Any]) -> Callable[[Any], str]:
    """How a moment, a whole number in the unit of the type, is written: without a time of day where it has none."""

    def write(value: int) -> str:
        day, _, time = str(np.int64(value).view(kind)).partition("T")
        time = time.partition(".")[0]
        return f"{day} {time}" if time.replace(":", "").strip("0") else day

    return write
