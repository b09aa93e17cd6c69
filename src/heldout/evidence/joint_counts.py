"""What several classifiers say of the same cases, as counted evidence: joint answers, and sums over joint scores."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import Label
from heldout.arrays import Codes, Floats
from heldout.evidence.confusion import Confusion
from heldout.evidence.labels import check_same_kind, join_labels
from heldout.evidence.score_bins import POINT, ScoreBins
from heldout.threads import cached_property

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
        check_same_kind(self.labels, other.labels)
        labels = join_labels(self.labels, other.labels)
        index_of = {label: position for position, label in enumerate(labels)}
        moves = [np.array([index_of[label] for label in part.labels], dtype=np.int64) for part in (self, other)]
        truth, a, b = (
            np.concatenate([move[codes] for move, codes in zip(moves, pair, strict=True)])
            for pair in ((self.truth, other.truth), (self.a, other.a), (self.b, other.b))
        )
        return PairCounts(labels, *_met(truth, a, b, len(labels), np.concatenate([self.counts, other.counts])))

    def __radd__(self, other: object) -> PairCounts:
        # sum() begins with 0.
        return self if other == 0 else NotImplemented

    def __eq__(self, other: object) -> bool:
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
    cell_pairs = pairs[cells // k] if len(cells) else cells
    return cell_pairs // k, cell_pairs % k, cells % k, total


def _content(pairs: PairCounts) -> dict[tuple[Label, Label, Label], int]:
    names = pairs.labels
    cells = zip(pairs.truth.tolist(), pairs.a.tolist(), pairs.b.tolist(), pairs.counts.tolist(), strict=True)
    return {(names[t], names[a], names[b]): count for t, a, b, count in cells}


IndexPair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class GapSums:
    """Sums over n cases of powers of a difference, taken from a `shift` near its mean so that no digits are lost.

    >>> GapSums(2, 0.5, 0.1, 0.01, 0.001) + GapSums(1, 0.5, 0.2, 0.04, 0.008)
    GapSums(n=3, shift=0.5, total=0.3..., squares=0.05, cubes=0.009...)
    """

    n: int
    shift: float
    total: float
    squares: float
    cubes: float

    def turned(self) -> GapSums:
        """The same for the difference the other way round."""
        return GapSums(self.n, -self.shift, -self.total, self.squares, -self.cubes)

    def __add__(self, other: object) -> GapSums:
        if not isinstance(other, GapSums) or other.shift != self.shift:
            return NotImplemented
        return GapSums(
            self.n + other.n,
            self.shift,
            self.total + other.total,
            self.squares + other.squares,
            self.cubes + other.cubes,
        )


@dataclass(frozen=True, eq=False)
class Placements:
    """What a case contributes to the ROC area of one score, by the bin of its score, the area taken off.

    A placement is the share of the other class on the right side of a case, ties counting half (DeLong, DeLong &
    Clarke-Pearson 1988): `up` is that of a positive and `down` that of a negative. `key` is the score itself where
    `base` is POINT, and otherwise floor(score / 2**base), from the lowest up. The area is within `slack` of the exact
    one. `squares` are the sums of squared placements over positives and over negatives, and `unseen` bounds how far the
    placements of either class, as one vector, are from the exact ones: all are 0 where every score has its own bin.
    """

    key: Floats
    up: Floats
    down: Floats
    base: int
    area: float
    slack: float
    positives: int
    negatives: int
    squares: tuple[float, float]
    unseen: tuple[float, float]

    @classmethod
    def of(cls, bins: ScoreBins) -> Placements:
        """From the bins of one column of scores, whose classes are the negative and the positive one.

        >>> found = Placements.of(ScoreBins.of([0.1, 0.4, 0.4, 0.9], [0, 0, 1, 1], 2))
        >>> found.area, found.up.tolist()
        (0.875, [-0.625, -0.125, 0.125])
        """
        negatives, positives = (bins.counts[:, column].astype(np.float64) for column in (0, 1))
        p, q = int(bins.counts[:, 1].sum()), int(bins.counts[:, 0].sum())
        if not (p and q):
            flat = np.zeros(len(bins))
            key, _, _ = _keys(bins)
            return cls(key, flat[: len(key)], flat[: len(key)], bins.base, math.nan, 0.0, p, q, (0, 0), (0, 0))
        up = (np.cumsum(negatives) - negatives / 2) / q
        down = 1 - (np.cumsum(positives) - positives / 2) / p
        # Inside a bin the order is not known: a placement is off by half of what the other class has there, at most.
        shared = bins.joined
        slack = float((positives * negatives)[shared].sum()) / (2.0 * p * q)
        area = float(positives @ up) / p
        up, down = up - area, down - area
        key, starts, where = _keys(bins)
        sides = [
            _joined(value, own, starts, where, np.where(shared, beside / (2 * total), 0.0))
            for value, own, beside, total in ((up, positives, negatives, q), (down, negatives, positives, p))
        ]
        return cls(
            key, sides[0][0], sides[1][0], bins.base, area, slack, p, q,
            (float(positives @ up**2), float(negatives @ down**2)), (sides[0][1], sides[1][1]),
        )  # fmt: skip

    @property
    def exact(self) -> bool:
        """Whether nothing was joined that the scores tell apart."""
        return not (self.slack or any(self.unseen))


def _keys(bins: ScoreBins) -> tuple[Floats, NDArray[np.int64], NDArray[np.int64]]:
    """The keys, where the bins of each begin, and the key of each bin; refined bins of one parent share a key."""
    if bins.base == POINT:
        every = np.arange(len(bins))
        return bins.low + 0.0, every, every
    bin_index = np.floor(np.ldexp(bins.low, -bins.base)) + 0.0
    fresh = np.append(True, bin_index[1:] != bin_index[:-1])
    return bin_index[fresh], np.flatnonzero(fresh), np.cumsum(fresh) - 1


def _joined(
    value: Floats, cases: Floats, starts: NDArray[np.int64], where: NDArray[np.int64], reach: Floats
) -> tuple[Floats, float]:
    """The mean placement of each key, and by how much the placements of all cases, as a vector, can be off.

    By the triangle inequality: the distance of the cases from their bin, and that of the bins from their key.
    """
    total = np.add.reduceat(cases, starts)
    lone = value[starts]
    mean = np.where(total > 0, np.add.reduceat(cases * value, starts) / np.maximum(total, 1.0), lone)
    if len(starts) == len(value):
        # One bin to a key: no mean, and no rounding of one.
        mean = value
    within, between = float(cases @ reach**2), float(cases @ (value - mean[where]) ** 2)
    return mean, math.sqrt(within) + math.sqrt(between)


@dataclass(frozen=True, eq=False)
class GroupedSums:
    """The same summed up by group: its positives and negatives, the placements of either, and gaps.

    `up` and `down` have a row for each classifier and `gaps`, by the name of the loss, an entry for each group.
    """

    positives: NDArray[np.int64]
    negatives: NDArray[np.int64]
    up: Floats
    down: Floats
    gaps: Mapping[str, Mapping[IndexPair, Floats]] = field(default_factory=dict)

    @property
    def n(self) -> NDArray[np.int64]:
        """The number of cases of each group."""
        return self.positives + self.negatives


@dataclass(frozen=True, eq=False)
class JointScores:
    """Sums over the same cases for each two of several scores.

    `up` and `down` are the sums over positives and over negatives of the squared differences of their placements,
    `apart` how many cases have two different scores, and `moved` how many stand in different places of the two
    rankings. `losses` are, by the name of the loss, the differences of the losses of single cases. `groups` are there
    where cases come in groups.
    """

    placed: tuple[Placements, ...]
    up: Mapping[IndexPair, float]
    down: Mapping[IndexPair, float]
    apart: Mapping[IndexPair, int]
    moved: Mapping[IndexPair, int]
    losses: Mapping[str, Mapping[IndexPair, GapSums]] = field(default_factory=dict)
    groups: GroupedSums | None = None

    @property
    def positives(self) -> int:
        """The number of positives."""
        return self.placed[0].positives

    @property
    def negatives(self) -> int:
        """The number of negatives."""
        return self.placed[0].negatives

    @property
    def n(self) -> int:
        """The number of cases."""
        return self.positives + self.negatives
