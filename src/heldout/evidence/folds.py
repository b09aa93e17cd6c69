"""The confusion matrix of every split of a resampling plan, as counted evidence, merged with +."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.evidence.confusion import Confusion, Counts
from heldout.evidence.labels import Label, join_keys, join_labels

# Tables of all folds are made in batches of at most this many cells.
BATCH_CELLS = 1 << 21


@dataclass(frozen=True, eq=False)
class FoldCounts:
    """How often each class was predicted for each true class, in every fold.

    `fold`, `truth`, `predicted` and `counts` list the cells that were met: places in `keys` and `labels`, and the
    number of predictions, or their weight. Merging joins folds of the same key.

    >>> seen = FoldCounts(("a", "b"), np.array([1, 2]), *(np.array(x) for x in ([0, 1], [0, 1], [0, 0], [3, 1])))
    >>> [one.matrix.tolist() for one in (seen + seen)]
    [[[6, 0], [0, 0]], [[0, 0], [2, 0]]]
    """

    labels: tuple[Label, ...]
    keys: NDArray[Any]
    fold: NDArray[np.int64]
    truth: NDArray[np.int64]
    predicted: NDArray[np.int64]
    counts: Counts

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.labels)

    @cached_property
    def sizes(self) -> NDArray[np.float64]:
        """The number of predictions in each fold, or their weight."""
        return np.asarray(np.bincount(self.fold, weights=self.counts, minlength=len(self)), dtype=np.float64)

    def __getitem__(self, place: int) -> Confusion:
        """The counts of one fold."""
        if not 0 <= place < len(self):
            message = f"there is no fold at place {place} of {len(self)}"
            raise IndexError(message)
        held = np.flatnonzero(self.fold == place)
        order = held[np.lexsort((self.predicted[held], self.truth[held]))]
        return Confusion(self.labels, self.truth[order], self.predicted[order], self.counts[order])

    def __iter__(self) -> Iterator[Confusion]:
        return (self[place] for place in range(len(self)))

    def tables(self) -> Iterator[NDArray[np.float64]]:
        """The square tables of all folds, (B, k, k), in batches that fit in memory."""
        cells = self.n_classes**2
        block = max(1, BATCH_CELLS // cells)
        order = np.argsort(self.fold, kind="stable")
        fold = self.fold[order]
        for start in range(0, len(self), block):
            stop = min(start + block, len(self))
            held = order[np.searchsorted(fold, start) : np.searchsorted(fold, stop)]
            tables = np.zeros((stop - start, self.n_classes, self.n_classes))
            tables[self.fold[held] - start, self.truth[held], self.predicted[held]] = self.counts[held]
            yield tables

    def __add__(self, other: object) -> FoldCounts:
        if not isinstance(other, FoldCounts):
            return NotImplemented
        labels = join_labels(self.labels, other.labels)
        place = {label: position for position, label in enumerate(labels)}
        keys, code = join_keys([self.keys, other.keys])
        moves = [np.array([place[label] for label in part.labels], dtype=np.int64) for part in (self, other)]
        k = len(labels)
        flat = np.concatenate(
            [
                (code[part.fold + offset] * k + move[part.truth]) * k + move[part.predicted]
                for part, move, offset in zip((self, other), moves, (0, len(self.keys)), strict=True)
            ]
        )
        counts = np.concatenate([self.counts, other.counts])
        cells, where = np.unique(flat, return_inverse=True)
        total = np.zeros(len(cells), dtype=counts.dtype)
        np.add.at(total, where, counts)
        return FoldCounts(labels, keys, cells // (k * k), cells // k % k, cells % k, total)

    def __radd__(self, other: object) -> FoldCounts:
        # sum() begins with 0.
        return self if other == 0 else NotImplemented
