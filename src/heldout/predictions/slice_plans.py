"""Slices: a column of any kind that divides the cases into a few named parts, one byte a case."""

from __future__ import annotations

import datetime as dt
import numbers
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.arguments import listing
from heldout.errors import ColumnError, HeldoutError, OptionError, ValuesError
from heldout.evidence import Label
from heldout.predictions.case_values import groups, take_rows, weights
from heldout.predictions.column_roles import NUMBERING, check_column, is_usual
from heldout.predictions.containers import unwrap
from heldout.predictions.label_encoding import BLOCK, Coded, is_missing
from heldout.predictions.number_bins import NumberColumn, NumberCounts, NumberRows, calendar_ends, quantile_ends
from heldout.show.escape import visible
from heldout.show.text_width import shorten

# One message for a fault that several functions can find.
SLICE_BY_REPEATED = "slice by a column whose values repeat; id= takes a column that names the cases."
SLICE_BY_VALUES = "slice by a column that has values."


MISSING, OTHER, EMPTY = "(missing)", "(other)", "(empty)"


def value_text(value: Any) -> str:
    """One value as the name of a slice."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) or EMPTY


def bracket_label(label: str, labels: Sequence[str]) -> str:
    """The label, in brackets once more while a value of the column reads just so.

    >>> bracket_label(MISSING, ["yes", "(missing)"])
    '((missing))'
    """
    while label in labels:
        label = f"({label})"
    return label


def distinct(labels: Sequence[str]) -> tuple[str, ...]:
    """Labels that can be told apart: an empty text and the text that stands for it are two values."""
    names: list[str] = []
    for label in labels:
        names.append(bracket_label(label, names))
    return tuple(names)


def ranges(spans: Sequence[tuple[Any, Any]], as_text: Callable[[Any], str] | None) -> list[str]:
    """The lowest and the highest number of each bin in words, with as many digits as tell the bins apart.

    >>> ranges([(0.25, 1.5), (2.0, 3.0)], None)
    ['0.25 to 1.5', '2 to 3']
    """
    if as_text is not None:
        return [_between(as_text(low), as_text(high)) for low, high in spans]
    for digits in range(3, 18):
        texts = [(number_text(low, digits), number_text(high, digits)) for low, high in spans]
        labels = [_between(low, high) for low, high in texts]
        collapsed = any(low == high and span[0] != span[1] for (low, high), span in zip(texts, spans, strict=True))
        if len(set(labels)) == len(labels) and not collapsed:
            break
    return labels


def _between(low: str, high: str) -> str:
    return low if low == high else f"{low} to {high}"


def number_text(value: float, digits: int = 17) -> str:
    """A number as the name of a slice, or as one end of it."""
    if isinstance(value, int) or (abs(value) < 1e15 and value == int(value)):
        return str(int(value))
    return f"{value:.{digits}g}" if digits < 17 else repr(float(value))


def date_text(kind: np.dtype[Any]) -> Callable[[Any], str]:
    """How a moment, a whole number in the unit of the type, is written: without a time of day where it has none."""

    def write(value: int) -> str:
        day, _, time = str(np.int64(value).view(kind)).partition("T")
        time = time.partition(".")[0]
        return f"{day} {time}" if time.replace(":", "").strip("0") else day

    return write


def quote_column(name: str) -> str:
    """What sentences call a column."""
    return repr(shorten(visible(name), 60))


def slice_values(values: Any, name: str) -> NDArray[Any] | Coded:
    """Numbers and dates as an array of them, periods by the day on which they begin; anything else by its values.

    >>> slice_values([1.5, None], "dose").tolist(), slice_values(["b", "a"], "sex").labels
    ([1.5, nan], ('a', 'b'))
    """
    column = _unwrapped(values, name)
    if isinstance(column, np.ndarray) and column.dtype.kind in "iufmM":
        return column
    try:
        return groups(column, name)
    except HeldoutError as error:
        raise ColumnError(f"The column {quote_column(name)} cannot be made into slices: {error.what}",
                          hint="leave it out, or turn it into text first.") from None  # fmt: skip


def value_texts(values: Any, name: str) -> Coded:
    """The values encoded by their texts, numbers and dates too."""
    column = unwrap(values, name)
    items = column.tolist() if isinstance(column, np.ndarray) else column.to_list()
    return groups([None if is_missing(value) else str(value) for value in items], name)


def _unwrapped(values: Any, name: str) -> Any:
    if str(getattr(values, "dtype", "")).startswith("period["):
        import pandas as pd

        values = pd.PeriodIndex(values).to_timestamp()
    try:
        column = unwrap(values, f"the slice column {quote_column(name)}")
    except HeldoutError as error:
        raise ColumnError(error.what, hint=error.hint) from None
    if isinstance(column, np.ndarray):
        if isinstance(column, np.ma.MaskedArray) and column.dtype.kind in "iuf":
            column = np.ma.filled(column.astype(np.float64), np.nan)
        return _numbers_of_objects(column) if column.dtype.kind == "O" else column
    import narwhals.stable.v2 as nw

    kind = column.dtype
    refuse_nested(kind, name)
    if kind.is_numeric() and kind not in (nw.Int128, nw.UInt128):
        floats = column.cast(nw.Float64) if kind == nw.Decimal or column.null_count() else column
        return np.asarray((floats.fill_null(np.nan) if floats.null_count() else floats).to_numpy())
    if kind in (nw.Date, nw.Datetime, nw.Duration):
        if kind == nw.Datetime and kind.time_zone:
            column = column.dt.replace_time_zone(None)  # NumPy would show the date in UTC
        array = np.asarray(column.to_numpy())
        return array if array.dtype.kind in "mM" else _numbers_of_objects(array.astype(object))
    return _numbers_of_objects(np.asarray(column.to_numpy())) if kind == nw.Object else column.to_native()


def refuse_nested(kind: Any, name: str) -> None:
    """Refuse a column each value of which is a list or a record: such values are not a few."""
    if kind.is_nested():
        raise ColumnError(
            f"The slice column {quote_column(name)} holds lists or records ({kind}), expected one value per case.",
            hint="name another column, or write what the cases differ in to a column of its own.",
        )


def _numbers_of_objects(column: NDArray[Any]) -> NDArray[Any]:
    """Python's own numbers and dates as arrays of them; other objects as they are."""
    items = [None if is_missing(value) else value for value in column.tolist()]
    kinds = {type(value) for value in items if value is not None}
    if not kinds or bool in kinds:
        return column
    if all(issubclass(kind, numbers.Real | Decimal) for kind in kinds):
        return weights(column)
    if all(issubclass(kind, dt.date) for kind in kinds):
        # The day of a case is the one on the clock of its own zone.
        plain = [value.replace(tzinfo=None) if isinstance(value, dt.datetime) else value for value in items]
        return np.array(plain, dtype="datetime64[us]")
    return column


# A whole day, or a moment of one; a year or a month alone could be any number.
FORM = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?)?", re.ASCII)


def moments(texts: Sequence[Any]) -> NDArray[np.datetime64] | None:
    """The local dates and times that texts are, in microseconds; None where one of them is anything else.

    >>> moments(["2024-03-31", "2024-03-31T12:00+02:00"]).astype(str).tolist()
    ['2024-03-31T00:00:00.000000', '2024-03-31T12:00:00.000000']
    >>> moments(["2024-03-31", "soon"]) is None
    True
    """
    dates = []
    for text in texts:
        moment = _moment(text) if isinstance(text, str) else None
        if moment is None:
            return None
        dates.append(moment)
    return np.array(dates, dtype="datetime64[us]") if dates else None


def _moment(text: str) -> dt.datetime | None:
    text = text.strip()
    if FORM.fullmatch(text) is None:
        return None
    try:
        return dt.datetime.fromisoformat(text).replace(tzinfo=None)
    except ValueError:
        return None  # such as the thirtieth of February


Kind = Literal["values", "bins", "periods"]
BINS = 4
# Of more distinct texts than this the commonest are slices, and the others one together.
MOST_TEXTS = 50
# Texts of which this share is distinct name the cases; they do not divide them.
ID_SHARE = 0.9


@dataclass(frozen=True, eq=False)
class SlicePlan:
    """How a column divides the cases: `labels[code]` names a slice; `note` says what was put together.

    A column of numbers or dates has `edges`, the greatest number of each slice, in order and in the type of the column.
    Any other column has `values`, the slice of each value, and `other`, that of the values which are not listed.
    `missing` is the slice of a missing value. What does not occur is None.

    >>> plan = plan_of(["f", "m", None], [40, 50, 2], "sex")
    >>> plan.labels, plan.codes(["m", None, "f", "f"]).tolist()
    (('f', 'm', '(missing)'), [1, 2, 0, 0])
    """

    name: str
    labels: tuple[str, ...]
    kind: Kind = "values"
    note: str = ""
    edges: NDArray[Any] | None = None
    values: Mapping[Label, int] | None = None
    other: int | None = None
    missing: int | None = None

    def codes(self, values: Any) -> NDArray[np.uint8]:
        """The slice of every row of a batch; every value must be one of those that the plan was made from."""
        column = slice_values(values, self.name)
        if isinstance(column, Coded):
            return self._code_labels(column)
        # Values of several kinds were told apart by their texts; a batch may hold numbers alone.
        return self._code_labels(value_texts(values, self.name)) if self.edges is None else self.code_numbers(column)

    def code_numbers(self, column: NDArray[Any]) -> NDArray[np.uint8]:
        """The slice of every number or date."""
        edges, absent = self.edges, missing_numbers(column)
        if edges is None or (edges.dtype.kind in "mM") != (column.dtype.kind in "mM"):
            raise self._changed(f"values of type {column.dtype}")
        if edges.dtype.kind in "mM":
            # Whole numbers of one unit are searched several times as fast as moments.
            edges, column = edges.view(np.int64), column.astype(edges.dtype, copy=False).view(np.int64)
        last = max(len(edges) - 1, 0)
        codes = in_blocks(column, lambda block: np.minimum(np.searchsorted(edges, block), last))
        if absent is not None:
            if self.missing is None:
                raise self._changed("a missing value")
            codes[absent] = self.missing
        return codes

    def _code_labels(self, column: Coded) -> NDArray[np.uint8]:
        code_index = column.codes.astype(np.int64) - (column.offset - 1)
        occurring = np.bincount(code_index, minlength=len(column.labels) + 1) > 0
        move = np.zeros(len(occurring), dtype=np.uint8)
        known = self.values or {}
        texts = any(isinstance(value, str) for value in known)
        for at in np.flatnonzero(occurring).tolist():
            label = column.labels[at - 1] if at else None
            key = str(label) if texts and label is not None else label
            code = self.missing if key is None else known.get(key, self.other)
            if code is None:
                raise self._changed("a missing value" if label is None else repr(label))
            move[at] = code
        return np.asarray(move[code_index])

    def _changed(self, what: str) -> ValuesError:
        return ValuesError(
            f"The column {quote_column(self.name)} holds {what}, which was not there when its values were listed.",
            hint="read data that does not change meanwhile, or leave the column out of the slices.",
        )


def plan_of(values: Any, counts: ArrayLike, name: str, *, bins: int = BINS, exact: bool = True) -> SlicePlan:
    """Divide the cases by a column of which the distinct values and their counts are known.

    Where there are too many distinct numbers, each may stand for those near it (`exact` is False): for a bin, into
    which no other number falls. Then the note says how far the slices may be from equal sizes.

    >>> plan_of(range(18, 30), [9, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1], "age").labels
    ('18', '19', '20 to 24', '25 to 29')
    """
    column = slice_values(values, name)
    times = np.asarray(counts, dtype=np.int64)
    if len(times) != len(column):
        raise ValuesError(
            f"The column {quote_column(name)} has {len(column):,} distinct values, but {len(times):,} counts.",
            hint="give one count for each value.",
        )
    if isinstance(column, Coded):
        present_times = np.zeros(len(column.labels) + 1, dtype=np.int64)
        np.add.at(present_times, column.codes.astype(np.int64) - (column.offset - 1), times)
        return plan_of_coded(column.labels, present_times, name, bins=bins)[0]
    absent = missing_numbers(column)
    gaps = absent is not None and bool(times[absent].any())
    present_times = times if absent is None else np.where(absent, 0, times)
    return plan_of_numbers(
        NumberCounts.of(_as_numbers(column), present_times), column.dtype, name, gaps=gaps, bins=bins, exact=exact
    )


def plan_of_coded(
    labels: tuple[Label, ...], counts: NDArray[np.int64], name: str, *, bins: int
) -> tuple[SlicePlan, NDArray[np.uint8]]:
    """The plan of encoded values, and the slice of each place in `counts`: missing first, then every label."""
    dates = moments(labels)
    if dates is None:
        return _plan_of_texts(labels, counts, name)
    # Text files have no type for dates; what is written as one is one all the same.
    tallied, gaps = NumberCounts.of(dates.view(np.int64), counts[1:]), bool(counts[0])
    plan = plan_of_numbers(tallied, dates.dtype, name, gaps=gaps, bins=bins)
    move = np.append(np.uint8(plan.missing or 0), plan.code_numbers(dates))
    places = np.flatnonzero(counts[1:]).tolist()
    values = {labels[index]: int(move[index + 1]) for index in places}
    return SlicePlan(name, plan.labels, plan.kind, plan.note, values=values, missing=plan.missing), move


def plan_of_numbers(
    numbers: NumberColumn, kind: np.dtype[Any], name: str, *, gaps: bool, bins: int, exact: bool = True
) -> SlicePlan:
    """Slices of few distinct numbers, periods of dates, or bins with about equally many rows; equal ones share a bin.

    Dates come as whole numbers of the unit that `kind` has.
    """
    as_text = date_text(kind) if kind.kind in "mM" else None
    few = numbers.few() if exact or not numbers.n else None
    periods = calendar_ends(numbers, kind) if few is None and kind.kind == "M" and numbers.n else None
    # A bin ends at `ends[i]`, included; the last one is open.
    ends = few if few is not None else periods[0] if periods is not None else quantile_ends(numbers, bins)
    if periods is not None:
        labels = periods[1]
    elif few is not None:
        write: Callable[[Any], str] = as_text or number_text
        labels = [write(value) for value in few.tolist()]
    else:
        labels = ranges(numbers.spans(ends), as_text)
    missing = len(labels) if gaps else None
    labels += [bracket_label(MISSING, labels)] * gaps
    if not labels:
        raise ColumnError(f"The column {quote_column(name)} is empty.", hint=SLICE_BY_VALUES)
    note = ""
    if not exact and few is None:
        share = max(numbers.times(end) for end in ends) / numbers.n
        note = (
            f"the numbers of {quote_column(name)} were counted in small bins: its slices end within "
            f"{100 * share:.2g}% of the rows of where they would end if every number had been kept"
        )
    edges = ends.astype(np.int64).view(kind) if as_text else ends
    plan_kind: Kind = "values" if few is not None else "bins" if periods is None else "periods"
    return SlicePlan(name, distinct(labels), plan_kind, note, edges=edges, missing=missing)


def _plan_of_texts(
    names: tuple[Label, ...], counts: NDArray[np.int64], name: str
) -> tuple[SlicePlan, NDArray[np.uint8]]:
    """Slices of the values that were met; the rarest of very many become one."""
    absent, times = int(counts[0]), counts[1:]
    known = np.flatnonzero(times)
    present = int(times.sum())
    if len(known) > MOST_TEXTS and len(known) >= ID_SHARE * present:
        raise ColumnError(
            f"The column {quote_column(name)} has {len(known):,} different texts in {present:,} rows, so it names the "
            "cases.",
            hint=SLICE_BY_REPEATED,
        )
    note, move = "", np.zeros(len(counts), dtype=np.uint8)
    kept, other, missing = known, None, None
    if len(known) > MOST_TEXTS:
        kept = np.sort(known[np.argsort(-times[known], kind="stable")[:MOST_TEXTS]])
        rare = int(present - times[kept].sum())
        note = (
            f"of the {len(known):,} values of {quote_column(name)} the {MOST_TEXTS} commonest are slices; the others, "
            f"{rare:,} rows, are together {OTHER}"
        )
    labels = [value_text(names[index]) for index in kept.tolist()]
    values = {names[index]: code for code, index in enumerate(kept.tolist())}
    if len(kept) < len(known):
        move[known + 1] = other = len(labels)
        labels.append(bracket_label(OTHER, labels))
    move[kept + 1] = np.arange(len(kept))
    if absent:
        move[0] = missing = len(labels)
        labels.append(bracket_label(MISSING, labels))
    return SlicePlan(name, distinct(labels), "values", note, values=values, other=other, missing=missing), move


def missing_numbers(column: NDArray[Any]) -> NDArray[np.bool_] | None:
    """Where numbers or dates are missing, if any is."""
    if column.dtype.kind in "iu":
        return None
    absent = np.isnat(column) if column.dtype.kind in "mM" else np.isnan(column)
    return absent if absent.any() else None


def _as_numbers(column: NDArray[Any]) -> NDArray[Any]:
    return column.view(np.int64) if column.dtype.kind in "mM" else column


def in_blocks(column: NDArray[Any], find: Callable[[NDArray[Any]], NDArray[Any]]) -> NDArray[np.uint8]:
    """What `find` makes of a column, a few rows at a time."""
    codes = np.empty(len(column), dtype=np.uint8)
    for start in range(0, len(column), BLOCK):
        codes[start : start + BLOCK] = find(column[start : start + BLOCK])
    return codes


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
    """Divide the cases by a column: numbers by quantiles, dates (in text: ISO 8601) by periods, others by value.

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
    comparable = column.view(np.int64) if column.dtype.kind in "mM" else column
    rows = NumberRows(comparable if absent is None else comparable[~absent])
    plan = plan_of_numbers(rows, column.dtype, name, gaps=absent is not None, bins=bins)
    return planned(plan, plan.code_numbers(column))


def planned(plan: SlicePlan, codes: NDArray[np.uint8]) -> SliceColumn:
    """The slices of rows of which the codes by a plan are known.

    >>> from heldout.predictions.slice_plans import plan_of
    >>> plan = plan_of(["f", "m"], [40, 50], "sex")
    >>> planned(plan, plan.codes(["m", "m"])).labels
    ('f', 'm')
    """
    return SliceColumn(plan.name, codes, plan.labels, plan.kind, plan.note)


Divided = TypeVar("Divided", SliceColumn, SlicePlan)

EVERY = "all"


def name_slices(asked: Any) -> Any:
    """What was asked for as slices, a data frame or a named column of one as values by name; others as they are.

    >>> import polars as pl
    >>> list(name_slices(pl.DataFrame({"sex": ["f", "m"], "age": [20, 30]})))
    ['sex', 'age']
    """
    if asked is None or isinstance(asked, str | Mapping) or type(asked).__module__ == "builtins":
        return asked
    import narwhals as nw

    frame = nw.from_native(asked, eager_only=True, allow_series=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return {name: frame[name].to_native() for name in frame.columns}
    if isinstance(frame, nw.Series) and frame.name not in (None, ""):
        return {frame.name: asked}
    if hasattr(asked, "shape"):
        raise OptionError(
            f"slices must be names of columns, or values by name. Got values without a name: a {type(asked).__name__}.",
            hint="give them one: slices={'name': values}.",
        )
    return asked


def slice_names(asked: Any, names: Sequence[Any], source: str) -> list[Any]:
    """The columns that were named as slices, each of which must exist; with "all", every column there is.

    >>> slice_names("sex", ["y", "sex"], "churn.csv")
    ['sex']
    """
    if asked is None or isinstance(asked, Mapping):
        return []
    if isinstance(asked, str) and asked == EVERY:
        return list(names)
    single = isinstance(asked, str | int) and not isinstance(asked, bool)
    wanted = [asked] if single else list(asked) if isinstance(asked, Iterable) else None
    if wanted is None or not all(isinstance(name, str | int) and not isinstance(name, bool) for name in wanted):
        raise OptionError(
            f"slices must be names of columns, or 'all'. Got {asked!r}.",
            hint="for example slices=['sex', 'age'], or slices={'age': ages} for arrays.",
        )
    return list(dict.fromkeys(check_column(name, names, source) for name in wanted))


def slices_of_columns(
    asked: Any,
    names: Sequence[Any],
    source: str,
    taken: Iterable[Any],
    values: Callable[[Any], Any],
    keep: NDArray[np.bool_] | None,
) -> tuple[tuple[SliceColumn, ...], list[str]]:
    """The slices of a table, and sentences about what was put together or left out; `taken` have another role."""
    if isinstance(asked, Mapping):
        return slices_of_arrays(asked, keep)

    def divide(name: Any) -> SliceColumn:
        return slice_column(take_rows(values(name), keep, str(name)), str(name))

    return chosen_slices(asked, names, source, taken, divide)


def chosen_slices(
    asked: Any, names: Sequence[Any], source: str, taken: Iterable[Any], make: Callable[[Any], Divided]
) -> tuple[tuple[Divided, ...], list[str]]:
    """The same where `make` divides the cases by the column of a name, whatever it makes for that."""
    if asked is None:
        return (), []
    wanted = slice_names(asked, names, source)
    if not (isinstance(asked, str) and asked == EVERY):
        return _noted([make(name) for name in wanted])
    taken_names = {str(name) for name in taken}
    dividing = divisible(wanted, taken_names)
    divided: list[Divided] = []
    out: list[str] = []
    for name in (name for name in wanted if str(name) not in taken_names):
        column = _if_possible(make, name) if name in dividing else None
        if column is None:
            out.append(_called(name))
        else:
            divided.append(column)
    columns, notes = _noted(divided)
    if out:
        notes.append(describe_left_out(out))
    if not columns:
        raise lack_slices(source)
    return columns, notes


def divisible(names: Iterable[Any], taken: Iterable[Any]) -> list[Any]:
    """The columns that may divide the cases where every column was asked for: those without a role, but no classes."""
    taken_names = {str(name) for name in taken}
    free = [name for name in names if str(name) not in taken_names]
    return [name for name in free if not (is_usual("truth", name) or is_usual("predicted", name))]


def describe_left_out(names: Sequence[str]) -> str:
    """Which columns do not divide the cases where every column was asked for, and why."""
    return (
        "left out of the slices, because they name the cases, are classes or have one value: "
        f"{listing(names, most=len(names))}"
    )


def lack_slices(source: str) -> ColumnError:
    """The error where every column was asked for, and none divides the cases."""
    return ColumnError(
        f"No column of {source} is left to slice by: all have another role or name the cases.",
        hint="name one with slices= (--slice COLUMN), or leave it out.",
    )


def slices_of_arrays(asked: Any, keep: NDArray[np.bool_] | None = None) -> tuple[tuple[SliceColumn, ...], list[str]]:
    """The slices of arrays, given by name; of the rows to `keep` alone, where that is given.

    >>> slices_of_arrays({"sex": ["f", "m", "f"]})[0][0].labels
    ('f', 'm')
    """
    if asked is None:
        return (), []
    if not isinstance(asked, Mapping):
        raise ColumnError(
            f"slices={shorten(visible(repr(asked)), 60)} names columns, but no data frame or file was given.",
            hint="give the values by name: slices={'age': ages, 'sex': sexes}.",
        )
    return _noted([slice_column(take_rows(values, keep, str(name)), str(name)) for name, values in asked.items()])


def _noted(columns: list[Divided]) -> tuple[tuple[Divided, ...], list[str]]:
    return tuple(columns), [column.note for column in columns if column.note]


def _if_possible(make: Callable[[Any], Divided], name: Any) -> Divided | None:
    """The slices of a column, if it divides the cases at all."""
    try:
        column = make(name)
    except ColumnError:
        return None
    numbered = column.kind == "bins" and str(name).strip().casefold() in NUMBERING
    return None if len(column.labels) < 2 or numbered else column


def _called(name: Any) -> str:
    return shorten(visible(str(name)), 40)
