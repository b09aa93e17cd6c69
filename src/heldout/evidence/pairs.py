"""What two classifiers say of the same cases, as counted evidence, merged with +."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from heldout.arguments import listing
from heldout.arrays import Codes
from heldout.errors import MatrixError
from heldout.evidence.confusion import Confusion
from heldout.evidence.labels import Label, join_labels

# Up to this many possible cells are counted in one array, 8 MB of it; beyond, those that are met are sorted.
DENSE_CELLS = 1 << 20


@dataclass(frozen=True, eq=False)
class PairCounts:
    """How often each true class met each pair of answers.

    `truth`, `a`, `b` and `counts` list the cells that were met, in order: places among `labels`, and the number of
    cases. Merging joins the label sets.

    >>> seen = PairCounts.of(np.array([0, 1, 1]), np.array([0, 1, 0]), np.array([0, 0, 1]), ("no", "yes"))
    >>> seen.only_a, seen.only_b, (seen + seen).n
    (1, 1, 6)
    """

    labels: tuple[Label, ...]
    truth: Codes
    a: Codes
    b: Codes
    counts: Codes

    @classmethod
    def of(cls, truth: Codes, a: Codes, b: Codes, labels: tuple[Label, ...], counts: Codes | None = None) -> PairCounts:
        """Count rows of codes, each as often as `counts` says; with many classes only cells that are met are made."""
        k = len(labels)
        if counts is not None:
            return cls(labels, *_met(truth, a, b, k, counts))
        if k**3 <= DENSE_CELLS:
            full = np.bincount((truth.astype(np.int64) * k + a) * k + b, minlength=k**3)
            cells = np.flatnonzero(full)
            return cls(labels, cells // (k * k), cells // k % k, cells % k, full[cells])
        return cls(labels, *_met(truth, a, b, k))

    @property
    def n(self) -> int:
        """The number of cases."""
        return int(self.counts.sum())

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.labels)

    @cached_property
    def only_a(self) -> int:
        """Cases that only A gets right."""
        return int(self.counts[(self.a == self.truth) & (self.b != self.truth)].sum())

    @cached_property
    def only_b(self) -> int:
        """Cases that only B gets right."""
        return int(self.counts[(self.b == self.truth) & (self.a != self.truth)].sum())

    @cached_property
    def differ(self) -> int:
        """Cases of which the two say different things, right or wrong."""
        return int(self.counts[self.a != self.b].sum())

    def side(self, which: Literal["a", "b"]) -> Confusion:
        """The confusion matrix of one of the two: "a" or "b"."""
        predicted = self.a if which == "a" else self.b
        k = len(self.labels)
        cells, where = np.unique(self.truth * k + predicted, return_inverse=True)
        total = np.zeros(len(cells), dtype=np.int64)
        np.add.at(total, where, self.counts)
        return Confusion(self.labels, cells // k, cells % k, total)

    def swapped(self) -> PairCounts:
        """The same cases with A and B in each other's place.

        >>> seen = PairCounts.of(np.array([0, 1]), np.array([0, 1]), np.array([1, 1]), ("no", "yes"))
        >>> seen.only_a, seen.swapped().only_a
        (1, 0)
        """
        order = np.lexsort((self.a, self.b, self.truth))
        return PairCounts(self.labels, self.truth[order], self.b[order], self.a[order], self.counts[order])

    def __add__(self, other: object) -> PairCounts:
        if not isinstance(other, PairCounts):
            return NotImplemented
        kinds = [{isinstance(label, str) for label in part.labels} for part in (self, other)]
        if len(kinds[0] | kinds[1]) > 1 and kinds[0] != kinds[1]:
            raise MatrixError(
                f"One side has labels of text, the other numbers: {listing(map(repr, self.labels), most=4)}; "
                f"{listing(map(repr, other.labels), most=4)}.",
                hint="count both with the same labels, so that 1 and '1' are one class.",
            )
        labels = join_labels(self.labels, other.labels)
        place = {label: position for position, label in enumerate(labels)}
        moves = [np.array([place[label] for label in part.labels], dtype=np.int64) for part in (self, other)]
        truth, a, b = (
            np.concatenate([move[codes] for move, codes in zip(moves, pair, strict=True)])
            for pair in ((self.truth, other.truth), (self.a, other.a), (self.b, other.b))
        )
        return PairCounts(labels, *_met(truth, a, b, len(labels), np.concatenate([self.counts, other.counts])))

    def __radd__(self, other: object) -> PairCounts:
        # sum() begins with 0.
        return self if other == 0 else NotImplemented

    def __eq__(self, other: object) -> bool:
        """Equal counts for equal labels, in whatever order the labels stand."""
        if not isinstance(other, PairCounts):
            return NotImplemented
        return set(self.labels) == set(other.labels) and _content(self) == _content(other)

    __hash__ = None  # type: ignore[assignment]


def _met(truth: Codes, a: Codes, b: Codes, k: int, counts: Codes | None = None) -> tuple[Codes, Codes, Codes, Codes]:
    """The cells that are met, in order, and how many cases each holds."""
    # In two steps: k³ is more than 64 bits hold from two million classes on, and pairs times k is not.
    pairs, pair = np.unique(truth.astype(np.int64) * k + a, return_inverse=True)
    cells, where = np.unique(pair * k + b, return_inverse=True)
    if counts is None:
        total = np.bincount(where, minlength=len(cells))
    else:
        total = np.zeros(len(cells), dtype=np.int64)
        np.add.at(total, where, counts)
    held = pairs[cells // k] if len(cells) else cells
    return held // k, held % k, cells % k, total


def _content(pairs: PairCounts) -> dict[tuple[Label, Label, Label], int]:
    names = pairs.labels
    cells = zip(pairs.truth.tolist(), pairs.a.tolist(), pairs.b.tolist(), pairs.counts.tolist(), strict=True)
    return {(names[t], names[a], names[b]): count for t, a, b, count in cells}
