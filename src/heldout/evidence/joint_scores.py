"""What the scores of several classifiers tell together of the same cases, as sums over the cases by class."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from heldout.arrays import Floats
from heldout.evidence.score_bins import POINT, ScoreBins

Duel = tuple[int, int]


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
        negatives, positives = (bins.counts[:, place].astype(np.float64) for place in (0, 1))
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
    found = np.floor(np.ldexp(bins.low, -bins.base)) + 0.0
    fresh = np.append(True, found[1:] != found[:-1])
    return found[fresh], np.flatnonzero(fresh), np.cumsum(fresh) - 1


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
    """The same summed up by group: `n` cases of each, the placements of its positives and of its negatives, and gaps.

    `up` and `down` have a row for each classifier and `gaps`, by the name of the loss, an entry for each group; `sizes`
    are the numbers of groups that hold a positive, and a negative.
    """

    n: NDArray[np.int64]
    up: Floats
    down: Floats
    sizes: tuple[int, int]
    gaps: Mapping[str, Mapping[Duel, Floats]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class JointScores:
    """Sums over the same cases for each two of several scores.

    `up` and `down` are the sums over positives and over negatives of the squared differences of their placements,
    `apart` how many cases have two different scores, and `moved` how many stand in different places of the two
    rankings. `losses` are, by the name of the loss, the differences of the losses of single cases. `groups` are there
    where cases come in groups.
    """

    placed: tuple[Placements, ...]
    up: Mapping[Duel, float]
    down: Mapping[Duel, float]
    apart: Mapping[Duel, int]
    moved: Mapping[Duel, int]
    losses: Mapping[str, Mapping[Duel, GapSums]] = field(default_factory=dict)
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
