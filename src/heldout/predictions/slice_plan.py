"""Which slice each value of a column belongs to, settled from its distinct values and how often each stands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.errors import ColumnError, ValuesError
from heldout.evidence import Label
from heldout.predictions.counted_numbers import Numbers, Tallied, quantile_ends
from heldout.predictions.encode import BLOCK, Coded
from heldout.predictions.iso_dates import moments
from heldout.predictions.slice_values import called, slice_values, value_texts
from heldout.predictions.slice_words import MISSING, OTHER, apart, date_text, distinct, number_text, ranges, value_text

Kind = Literal["values", "bins"]
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
            return self._of_coded(column)
        # Values of several kinds were told apart by their texts; a batch may hold numbers alone.
        return self._of_coded(value_texts(values, self.name)) if self.edges is None else self.of_numbers(column)

    def of_numbers(self, column: NDArray[Any]) -> NDArray[np.uint8]:
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

    def _of_coded(self, column: Coded) -> NDArray[np.uint8]:
        place = column.codes.astype(np.int64) - (column.offset - 1)
        held = np.bincount(place, minlength=len(column.labels) + 1) > 0
        move = np.zeros(len(held), dtype=np.uint8)
        known = self.values or {}
        texts = any(isinstance(value, str) for value in known)
        for at in np.flatnonzero(held).tolist():
            label = column.labels[at - 1] if at else None
            key = str(label) if texts and label is not None else label
            code = self.missing if key is None else known.get(key, self.other)
            if code is None:
                raise self._changed("a missing value" if label is None else repr(label))
            move[at] = code
        return np.asarray(move[place])

    def _changed(self, what: str) -> ValuesError:
        return ValuesError(
            f"The column {called(self.name)} holds {what}, which was not there when its values were listed.",
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
            f"The column {called(name)} has {len(column):,} distinct values, but {len(times):,} counts.",
            hint="give one count for each value.",
        )
    if isinstance(column, Coded):
        held = np.zeros(len(column.labels) + 1, dtype=np.int64)
        np.add.at(held, column.codes.astype(np.int64) - (column.offset - 1), times)
        return plan_of_coded(column.labels, held, name, bins=bins)[0]
    absent = missing_numbers(column)
    gaps = absent is not None and bool(times[absent].any())
    held = times if absent is None else np.where(absent, 0, times)
    return plan_of_numbers(Tallied.of(_as_numbers(column), held), column.dtype, name, gaps=gaps, bins=bins, exact=exact)


def plan_of_coded(
    labels: tuple[Label, ...], counts: NDArray[np.int64], name: str, *, bins: int = BINS
) -> tuple[SlicePlan, NDArray[np.uint8]]:
    """The plan of encoded values, and the slice of each place in `counts`: missing first, then every label."""
    dates = moments(labels)
    if dates is None:
        return _plan_of_texts(labels, counts, name)
    # Text files have no type for dates; what is written as one is one all the same.
    tallied, gaps = Tallied.of(dates.view(np.int64), counts[1:]), bool(counts[0])
    plan = plan_of_numbers(tallied, dates.dtype, name, gaps=gaps, bins=bins)
    move = np.append(np.uint8(plan.missing or 0), plan.of_numbers(dates))
    places = np.flatnonzero(counts[1:]).tolist()
    values = {labels[place]: int(move[place + 1]) for place in places}
    return SlicePlan(name, plan.labels, plan.kind, plan.note, values=values, missing=plan.missing), move


def plan_of_numbers(
    numbers: Numbers, kind: np.dtype[Any], name: str, *, gaps: bool, bins: int = BINS, exact: bool = True
) -> SlicePlan:
    """Slices of few distinct numbers, or bins that hold about equally many rows; equal numbers share a bin.

    Dates come as whole numbers of the unit that `kind` has.
    """
    as_text = date_text(kind) if kind.kind in "mM" else None
    few = numbers.few() if exact or not numbers.n else None
    # A bin ends at `ends[i]`, included; the last one is open.
    ends = few if few is not None else quantile_ends(numbers, bins)
    if few is not None:
        write: Callable[[Any], str] = as_text or number_text
        labels = [write(value) for value in few.tolist()]
    else:
        labels = ranges(numbers.spans(ends), as_text)
    missing = len(labels) if gaps else None
    labels += [apart(MISSING, labels)] * gaps
    if not labels:
        raise ColumnError(f"The column {called(name)} is empty.", hint="slice by a column that has values.")
    note = ""
    if not exact and few is None:
        share = max(numbers.times(end) for end in ends) / numbers.n
        note = (
            f"the numbers of {called(name)} were counted in small bins: its slices end within "
            f"{100 * share:.2g}% of the rows of where they would end if every number had been kept"
        )
    edges = ends.astype(np.int64).view(kind) if as_text else ends
    return SlicePlan(name, distinct(labels), "bins" if few is None else "values", note, edges=edges, missing=missing)


def _plan_of_texts(
    names: tuple[Label, ...], counts: NDArray[np.int64], name: str
) -> tuple[SlicePlan, NDArray[np.uint8]]:
    """Slices of the values that were met; the rarest of very many become one."""
    absent, held = int(counts[0]), counts[1:]
    met = np.flatnonzero(held)
    present = int(held.sum())
    if len(met) > MOST_TEXTS and len(met) >= ID_SHARE * present:
        raise ColumnError(
            f"The column {called(name)} has {len(met):,} different texts in {present:,} rows, so it names the cases.",
            hint="slice by a column whose values repeat; id= takes a column that names the cases.",
        )
    note, move = "", np.zeros(len(counts), dtype=np.uint8)
    kept, other, missing = met, None, None
    if len(met) > MOST_TEXTS:
        kept = np.sort(met[np.argsort(-held[met], kind="stable")[:MOST_TEXTS]])
        rare = int(present - held[kept].sum())
        note = (
            f"of the {len(met):,} values of {called(name)} the {MOST_TEXTS} commonest are slices; the others, "
            f"{rare:,} rows, are together {OTHER}"
        )
    labels = [value_text(names[place]) for place in kept.tolist()]
    values = {names[place]: code for code, place in enumerate(kept.tolist())}
    if len(kept) < len(met):
        move[met + 1] = other = len(labels)
        labels.append(apart(OTHER, labels))
    move[kept + 1] = np.arange(len(kept))
    if absent:
        move[0] = missing = len(labels)
        labels.append(apart(MISSING, labels))
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
    made = np.empty(len(column), dtype=np.uint8)
    for start in range(0, len(column), BLOCK):
        made[start : start + BLOCK] = find(column[start : start + BLOCK])
    return made
