"""The data to learn from, checked and brought to the form that learners take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import closest, listing
from heldout.arrays import Codes
from heldout.errors import LabelError
from heldout.evidence import Label, sort_labels
from heldout.predictions.containers import unwrap
from heldout.predictions.label_encoding import Coded, as_label, check_label_list, encode
from heldout.predictions.positive_class import fitted, quoted, suspicions


@dataclass(frozen=True, slots=True)
class Nominal:
    """The categories of a nominal column, each at the place of its code; `declared` if its type names them."""

    categories: tuple[Any, ...]
    declared: bool = False


@dataclass(frozen=True, eq=False)
class Problem:
    """The data to learn from: features in whatever form the learner takes, the class of every row, groups.

    `target` holds the labels as the learner is to see them; `truth` holds their places among `labels`. Where `nominal`
    has the number of a column of `features`, that column holds codes of categories, and NaN where the value is missing.
    `kept` lists the rows of the source that are left, and is None when all of them are. `as_given` says that the
    features are those that were given, which no preparation may change. `times_left_out` names columns of dates and
    times, which no learner takes.
    """

    features: Any = field(repr=False)
    target: NDArray[Any] = field(repr=False)
    truth: Codes = field(repr=False)
    labels: tuple[Label, ...] = ()
    group: Codes | None = field(default=None, repr=False)
    group_names: tuple[Any, ...] = field(default=(), repr=False)
    names: tuple[str, ...] = ()
    source: str = ""
    notes: tuple[str, ...] = ()
    nominal: Mapping[int, Nominal] = field(default_factory=dict, repr=False)
    target_name: str = ""
    kept: Codes | None = field(default=None, repr=False)
    as_given: bool = False
    times_left_out: tuple[str, ...] = ()

    @property
    def n(self) -> int:
        """The number of rows."""
        return len(self.truth)

    @property
    def width(self) -> int:
        """The number of columns."""
        sides = self.features.shape
        # One text for each case is one feature.
        return int(sides[1]) if len(sides) > 1 else 1

    @property
    def column_names(self) -> tuple[str, ...]:
        """The names of the columns; those of a bare matrix are numbered from x0."""
        return self.names or tuple(f"x{i}" for i in range(self.width))


# More classes than this, and more than half as many as there are rows, are no classes.
MOST_CLASSES = 20


@dataclass(frozen=True, eq=False)
class Target:
    """The class of every row, as a learner is to see it and as a place among the labels."""

    values: NDArray[Any]
    truth: Codes
    labels: tuple[Label, ...]
    notes: tuple[str, ...] = ()


def encode_target(values: Any, name: str) -> Coded:
    """Encode the column of classes, refusing numbers that are amounts; `name` is what an error calls it.

    >>> encode_target(["b", "a", "b"], "The target").labels
    ('a', 'b')
    """
    _check_not_amounts(values, name)
    return encode(values, name)


def settle_target(coded: Coded, name: str, given: Sequence[Label] | None = None) -> Target:
    """Classes without gaps, with the labels in their order: as given, as declared, or sorted.

    >>> settle_target(encode_target(["b", "a", "b"], "The target"), "The target").truth
    array([1, 0, 1])
    """
    present = coded.met()
    _check_number_of_classes(present, len(coded), name)
    labels = coded.classes() if coded.declared else sort_labels(present)
    notes = tuple(suspicions(labels))
    if given is not None:
        labels = _order_labels(given, labels, present, name)
    if len(present) < 2:
        raise LabelError(
            f"{name} has one class only: {'the one row is' if len(coded) == 1 else f'all {len(coded):,} rows are'} "
            f"{quoted(present[0])}.",
            hint="a classifier needs cases of at least two classes to learn from; check which column was chosen.",
        )
    position_of = {label: position for position, label in enumerate(labels)}
    move = np.array([position_of.get(label, -1) for label in coded.labels], dtype=np.int64)
    truth = move[coded.codes.astype(np.int64) - coded.offset]
    return Target(make_label_array(labels)[truth], truth, labels, notes)


def make_label_array(labels: Sequence[Label]) -> NDArray[Any]:
    """Labels as learners see them: whole numbers, truth values and texts as such, all others as objects."""
    array = np.array(labels)
    # Whole numbers that fit no integer type would become floats, and be rounded together.
    return array if array.dtype.kind in "iubU" else np.array(labels, dtype=object)


def _check_not_amounts(values: Any, name: str) -> None:
    """Numbers that are not whole are no classes, and neither are infinite ones."""
    column = unwrap(values, name)
    if not isinstance(column, np.ndarray):
        if not column.dtype.is_numeric() or column.dtype.is_integer():
            return
        column = np.asarray(column.to_numpy())
    if column.dtype.kind == "O":
        floats: Any = [float(x) for x in column.tolist() if isinstance(x, float | np.floating | Decimal)]
    elif column.dtype.kind == "f":
        floats = np.ma.compressed(column) if isinstance(column, np.ma.MaskedArray) else column
    else:
        return
    amounts = np.asarray(floats, dtype=np.float64)
    amounts = amounts[~np.isnan(amounts)]
    odd = amounts[~np.isfinite(amounts) | (amounts != np.floor(amounts))]
    if len(odd):
        raise _continuous_error(name, len(np.unique(amounts)), len(column), f", such as {odd[0]:g}")


def _check_number_of_classes(present: Sequence[Label], n: int, name: str) -> None:
    if len(present) <= max(MOST_CLASSES, 0.5 * n):
        return
    if not isinstance(present[0], str):
        raise _continuous_error(name, len(present), n, "")
    raise LabelError(
        f"{name} has {len(present):,} different values in {n:,} rows, such as {listing(map(quoted, present), most=3)}: "
        "those are names of cases, not classes.",
        hint="choose the column that holds the classes.",
    )


def _continuous_error(name: str, distinct: int, n: int, example: str) -> LabelError:
    return LabelError(
        f"{name} looks continuous: it has {distinct:,} different numbers in {n:,} rows{example}.",
        hint="predicting a number is regression, which is not judged here; put the numbers into a few classes first "
        "(numpy.digitize), or choose another column.",
    )


def _order_labels(given: Any, labels: Sequence[Label], present: Sequence[Label], name: str) -> tuple[Label, ...]:
    check_label_list(given, "say labels=['no', 'yes'].")
    ordered = fitted([as_label(label, "labels") for label in given], labels)
    if len(set(ordered)) != len(ordered):
        twice = sorted({str(label) for label in ordered if ordered.count(label) > 1})
        raise LabelError(f"Labels are named twice: {listing(twice)}.", hint="name each class once.")
    left = [label for label in present if label not in ordered]
    if left:
        near = closest(str(left[0]), [str(label) for label in ordered if label not in present])
        raise LabelError(
            f"The labels given leave out classes of {name[0].lower()}{name[1:]}: {listing(map(quoted, left))}. "
            f"Given were: {listing(map(quoted, ordered))}.",
            hint=f"did you mean {quoted(left[0])} by {near!r}?" if near else "name every class that occurs.",
        )
    return ordered
