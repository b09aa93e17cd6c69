"""Folds that a column of the data names: every value of it is a fold."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from heldout.arrays import Codes
from heldout.errors import ColumnError
from heldout.evidence import Label, sort_labels
from heldout.plans.options import counted
from heldout.plans.plan import ONCE, Cases, Plan
from heldout.plans.splits import Splits
from heldout.predictions.encode import encode


@dataclass(frozen=True, eq=False)
class ByColumn(Plan):
    """The fold of every row as a place among `names`, which are sorted; each fold tests the models of the others."""

    kind: ClassVar[str] = "column"
    factor: ClassVar[float] = ONCE
    target: ClassVar[str] = "the error of the model trained on all n cases, judged by models that lack one fold each"
    column: str
    names: tuple[Label, ...]
    folds: Codes = field(repr=False)

    @property
    def text(self) -> str:
        """Such as "column fold"."""
        return f"column {self.column}"

    def splits(self, cases: Cases, seed: int = 0) -> Splits:  # noqa: ARG002
        """One split for each value of the column."""
        if len(self.folds) != cases.n:
            raise ColumnError(
                f"The fold column {self.column!r} has {counted(len(self.folds), 'value')}, and there are "
                f"{counted(cases.n, 'row')}.",
                hint="give one value per row.",
            )
        return Splits.partition(self.folds)


def by_column(fold_of_every_row: Any, *, name: str | None = None) -> ByColumn:
    """Folds from a column: rows with the same value are tested together.

    >>> plan = by_column(["b", "a", "b"], name="site")
    >>> plan.text, plan.names
    ('column site', ('a', 'b'))
    >>> [test.tolist() for _, test in plan.splits(Cases(np.array([0, 1, 1]), ("no", "yes")))]
    [[1], [0, 2]]
    """
    if name is None:
        own = getattr(fold_of_every_row, "name", None)
        name = own if isinstance(own, str) and own else "fold"
    names, folds = _measured(fold_of_every_row) or _labelled(fold_of_every_row, name)
    missing = int(np.count_nonzero(folds < 0))
    if missing:
        raise ColumnError(
            f"The fold column {name!r} has {counted(missing, 'missing value')}, so the fold of "
            f"{'that row' if missing == 1 else 'those rows'} is not known.",
            hint="give every row a fold, or drop the rows that have none.",
        )
    if len(names) < 2:
        raise ColumnError(
            f"The fold column {name!r} holds {counted(len(names), 'value')}, and at least 2 folds are needed.",
            hint="name another column, or use a plan such as '10-fold'.",
        )
    return ByColumn(name, names, folds)


def _labelled(values: Any, name: str) -> tuple[tuple[Label, ...], Codes]:
    """The sorted labels and the place of every row's among them; −1 where it is missing."""
    coded = encode(values, f"The fold column {name!r}")
    codes = coded.codes.astype(np.int64) - coded.offset
    met = np.unique(codes[codes >= 0])
    # Declared categories that no row holds have no fold.
    names = sort_labels(coded.labels[code] for code in met)
    place = {label: position for position, label in enumerate(names)}
    move = np.array([*(place.get(label, -1) for label in coded.labels), -1], dtype=np.int64)
    return names, move[codes]


def _measured(values: Any) -> tuple[tuple[Label, ...], Codes] | None:
    """The same for dates and for numbers that are not whole, which are good folds though no classes."""
    try:
        array = np.asarray(values.to_numpy() if hasattr(values, "to_numpy") else values)
    except ValueError:  # lists of different lengths
        return None
    if array.ndim != 1 or array.dtype.kind not in "fM":
        return None
    missing = np.isnat(array) if array.dtype.kind == "M" else np.isnan(array)
    found, places = np.unique(array[~missing], return_inverse=True)
    folds = np.full(len(array), -1, dtype=np.int64)
    folds[~missing] = places
    texts = np.datetime_as_string(found) if array.dtype.kind == "M" else found
    return tuple(texts.tolist()), folds
