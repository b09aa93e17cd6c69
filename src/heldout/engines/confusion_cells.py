"""The cells of confusion matrices that were met, and what they add up to: of all rows, of every fold and every slice.

It stands alone because rows in memory, batches of files and tables of lazy frames come down to such cells.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arrays import Codes, Floats
from heldout.evidence import Clusters, Confusion, Label
from heldout.evidence.partitions import FoldCounts, SliceCounts, SliceGroups


@dataclass(frozen=True, eq=False)
class ConfusionCells:
    """Combinations of a true and a predicted class, places among `labels`, each with how many rows are behind it.

    `part` is a code (of a fold, of a slice) that tells combinations of the same classes apart, and `group` the code of
    a group with the keys of the codes. With weights there are the sums of the weights and of their squares.
    """

    labels: tuple[Label, ...]
    truth: Codes
    predicted: Codes
    n: Codes
    weights: Floats | None = None
    squares: Floats | None = None
    part: Codes | None = None
    group: tuple[Codes, NDArray[Any]] | None = None

    @property
    def cell(self) -> Codes:
        """Both classes as one number."""
        return self.truth * len(self.labels) + self.predicted

    def among(self, *, declared: bool) -> ConfusionCells:
        """The same with only the labels that are met, unless they were declared.

        >>> one = np.array([1])
        >>> ConfusionCells(("a", "b"), one, one, one).among(declared=False).labels
        ('b',)
        """
        occurring = np.zeros(len(self.labels), dtype=bool)
        occurring[self.truth] = occurring[self.predicted] = True
        if declared or occurring.all():
            return self
        move = np.cumsum(occurring) - 1
        labels = tuple(label for label, there in zip(self.labels, occurring.tolist(), strict=True) if there)
        return replace(self, labels=labels, truth=move[self.truth], predicted=move[self.predicted])

    @property
    def _counts(self) -> NDArray[Any]:
        return self.n if self.weights is None else self.weights

    def confusion(self) -> Confusion:
        """The confusion matrix of all rows."""
        k = len(self.labels)
        cells, where = _distinct(self.cell)
        size = len(cells)
        clusters = None
        if self.group is not None:
            codes, keys = self.group
            pairs, at = np.unique(codes * size + where, return_inverse=True)
            keys_present, dense = np.unique(pairs // size, return_inverse=True)
            clusters = Clusters(keys[keys_present], dense, pairs % size, _add_up(at, self._counts, len(pairs)))
        return Confusion(
            self.labels,
            cells // k,
            cells % k,
            _add_up(where, self._counts, size),
            squares=None if self.squares is None else _add_up(where, self.squares, size),
            rows=None if self.weights is None else _add_up(where, self.n, size),
            clusters=clusters,
        )

    def parts(self, counts: NDArray[Any], keys: NDArray[Any] | None = None) -> FoldCounts:
        """What `counts` adds up to in every part; `keys` are those of the codes, if they are not the codes."""
        if self.part is None:
            raise TypeError("the rows have no parts")
        k = len(self.labels)
        flat, where = _distinct(self.part * (k * k) + self.cell)
        codes, part_index = np.unique(flat // (k * k), return_inverse=True)
        present_keys = codes if keys is None else keys[codes]
        return FoldCounts(
            self.labels, present_keys, part_index, flat // k % k, flat % k, _add_up(where, counts, len(flat))
        )

    def folds(self, keys: NDArray[Any]) -> FoldCounts:
        """The counts of every fold."""
        return self.parts(self._counts, keys)

    def slices(self) -> SliceCounts:
        """The counts of every slice."""
        return SliceCounts(
            self.parts(self.n),
            None if self.weights is None else self.parts(self.weights),
            None if self.squares is None else self.parts(self.squares),
            self._slice_groups(),
        )

    def _slice_groups(self) -> SliceGroups | None:
        if self.group is None or self.part is None:
            return None
        codes, keys = self.group
        size, number = len(self.labels) ** 2, len(keys)
        _, part_index = np.unique(self.part, return_inverse=True)
        # By the place of the cell among those that were met: their numbers, times the groups, may not fit.
        cells, at = np.unique(part_index * size + self.cell, return_inverse=True)
        entries, where = np.unique(at * number + codes, return_inverse=True)
        groups_present, dense = np.unique(entries % number, return_inverse=True)
        flat = cells[entries // number]
        return SliceGroups(
            keys[groups_present], flat // size, dense, flat % size, _add_up(where, self._counts, len(entries))
        )


def _distinct(keys: Codes) -> tuple[Codes, Codes]:
    """The distinct keys in order, and the place of each key among them; keys in order already are not sorted."""
    if (keys[1:] > keys[:-1]).all():
        return keys, np.arange(len(keys))
    return np.unique(keys, return_inverse=True)


def _add_up(where: Codes, values: NDArray[Any], size: int) -> NDArray[Any]:
    """The sum of the values of each of so many keys, every one of which is met: of as many values, each its own."""
    if len(values) > size:
        return summed(where, values, size)
    total = np.empty_like(values)
    total[where] = values
    return total


def summed(where: Codes, values: NDArray[Any], size: int) -> NDArray[Any]:
    """The sum of the values at each place; whole numbers stay whole.

    >>> summed(np.array([0, 1, 0]), np.array([1, 2, 3]), 2)
    array([4, 2])
    """
    total = np.zeros((size, *values.shape[1:]), dtype=values.dtype)
    np.add.at(total, where, values)
    return total
