"""What proper scores and reliability need of predicted probabilities: a few sums, merged with +."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arrays import Floats, Integers
from heldout.errors import ValuesError
from heldout.evidence.labels import join_keys
from heldout.evidence.losses import LOSSES
from heldout.threads import cached_property

# Row b: the coefficients with which the sums of order 0 … 3 enter the sum of order b when the centre moves.
_BINOMIAL = np.array([[1, 0, 0, 0], [1, 1, 0, 0], [1, 2, 1, 0], [1, 3, 3, 1]], dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Moments:
    """Sums of wᵃ(loss − centre)ᵇ: row a − 1 for a = 1, 2, 3 and column b = 0 … 3.

    Sums about a centre near the mean lose no digits where all losses are alike. Without weights the rows are equal.

    >>> Moments.of(np.array([0.1, 0.3])).mean
    0.2
    """

    centre: float
    sums: Floats

    @classmethod
    def of(cls, losses: Floats, weight: Floats | None = None) -> Moments:
        """The moments of a column of losses."""
        row_weight = np.ones(len(losses)) if weight is None else weight
        if not len(losses):
            return cls(0.0, np.zeros((3, 4)))
        centre = float(losses.mean())
        powers = (losses - centre)[None, :] ** np.arange(4)[:, None]
        return cls(centre, row_weight[None, :] ** np.arange(1, 4)[:, None] @ powers.T).centred()

    @property
    def weight(self) -> float:
        """The sum of the weights: without weights, the number of cases."""
        return float(self.sums[0, 0])

    @property
    def total(self) -> float:
        """The (weighted) sum of the losses."""
        return float(self.centre * self.sums[0, 0] + self.sums[0, 1])

    @property
    def mean(self) -> float:
        """The (weighted) mean of the losses, nan without cases."""
        return self.total / self.weight if self.weight else float("nan")

    def about(self, centre: float) -> Floats:
        """The same sums about another centre."""
        step = self.centre - centre
        power = step ** np.maximum(np.arange(4)[:, None] - np.arange(4), 0)
        return np.asarray(self.sums @ (_BINOMIAL * power).T)

    @classmethod
    def of_powers(cls, centre: float, sums: Floats) -> Moments:
        """About the mean, from sums for each power of the weight; without weights all three are that of one row."""
        return cls(centre, sums if len(sums) == 3 else np.repeat(sums, 3, axis=0)).centred()

    def centred(self) -> Moments:
        """The same moments about their mean."""
        return Moments(self.mean, self.about(self.mean)) if self.weight else self

    def __add__(self, other: object) -> Moments:
        if not isinstance(other, Moments):
            return NotImplemented
        weight = self.weight + other.weight
        centre = (self.total + other.total) / weight if weight else 0.0
        return Moments(centre, self.about(centre) + other.about(centre))


@dataclass(frozen=True, eq=False)
class Reliability:
    """Cases in bins of equal width by a probability p, with y = 1 where what it spoke for came true, else 0.

    A bin holds the p above its lower edge up to its upper edge; the first one holds 0 as well. The fields are sums
    over the cases of each bin: `gap` of w(y − p), `squares` of w(y − p)², `spread` of wp(1 − p), and `noise` and
    `expected_noise` the last two with w² for w. Without weights w is 1.
    """

    cases: Integers
    weight: Floats
    observed: Floats
    gap: Floats
    squares: Floats
    spread: Floats
    noise: Floats
    expected_noise: Floats

    @classmethod
    def of_sides(cls, cases: Integers, sums: Floats) -> Reliability:
        """From cases by y and bin, and their sums: of w, of y − p and its square with w, and if weighted with w²."""
        weight, gap, square = sums[:3]
        heavy_gap, heavy_square = sums[-2:]
        return cls(
            cases=cases.sum(axis=0),
            weight=weight.sum(axis=0),
            observed=weight[1].copy(),
            gap=gap.sum(axis=0),
            squares=square.sum(axis=0),
            # p(1 − p) = g − g² with g = |y − p|, whichever y is.
            spread=np.maximum((np.abs(gap) - square).sum(axis=0), 0.0),
            noise=heavy_square.sum(axis=0),
            expected_noise=np.maximum((np.abs(heavy_gap) - heavy_square).sum(axis=0), 0.0),
        )

    def __len__(self) -> int:
        return len(self.cases)

    @property
    def edges(self) -> Floats:
        """The borders of the bins, one more than there are bins."""
        return np.linspace(0.0, 1.0, len(self) + 1)

    @property
    def predicted(self) -> Floats:
        """The sum of wp in each bin."""
        return self.observed - self.gap

    def __add__(self, other: object) -> Reliability:
        if not isinstance(other, Reliability):
            return NotImplemented
        return Reliability(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))


def sums_by(codes: Integers, values: Floats, size: int) -> Floats:
    """The sum of the values of each code below `size`.

    >>> sums_by(np.array([0, 2, 2]), np.array([1.0, 2.0, 3.0]), 3)
    array([1., 0., 5.])
    """
    # Of nothing, bincount gives whole numbers.
    return np.asarray(np.bincount(codes, weights=values, minlength=size), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class SparseSums:
    """Sums by group and place (a bin, a rank): one entry for each pair that was met."""

    group: Integers
    place: Integers
    total: Floats

    @classmethod
    def of(cls, group: Integers, place: Integers, value: Floats, places: int) -> SparseSums:
        """Add up the values of each pair."""
        pairs, where = np.unique(group * places + place, return_inverse=True)
        return cls(pairs // places, pairs % places, sums_by(where, value, len(pairs)))


@dataclass(frozen=True, eq=False)
class ProbabilityGroups:
    """The same sums for each group of cases: what a cluster-robust standard error needs.

    `weight` and the sums of each loss have one entry per key; `gaps` are the sums of w(y − p) by bin, `ranks` (where
    every class has a probability) the weights by the rank of the true class.
    """

    keys: NDArray[Any]
    weight: Floats
    losses: Mapping[str, Floats]
    gaps: SparseSums
    ranks: SparseSums | None = None

    @property
    def number(self) -> int:
        """How many groups the sums were taken in."""
        return len(self.keys)

    def merged(self, other: ProbabilityGroups, bins: int, classes: int) -> ProbabilityGroups:
        """Both together; a key that both have is one group."""
        keys, code = join_keys([self.keys, other.keys])
        first, second = code[: self.number], code[self.number :]

        def added(left: Floats, right: Floats) -> Floats:
            return sums_by(code, np.concatenate([left, right]), len(keys))

        def joined(left: SparseSums, right: SparseSums, places: int) -> SparseSums:
            return SparseSums.of(
                np.concatenate([first[left.group], second[right.group]]),
                np.concatenate([left.place, right.place]),
                np.concatenate([left.total, right.total]),
                places,
            )

        return ProbabilityGroups(
            keys,
            added(self.weight, other.weight),
            {name: added(sums, other.losses[name]) for name, sums in self.losses.items() if name in other.losses},
            joined(self.gaps, other.gaps, bins),
            None if self.ranks is None or other.ranks is None else joined(self.ranks, other.ranks, classes),
        )


@dataclass(frozen=True, eq=False)
class Probabilities:
    """Sums of the losses of predicted probabilities, by the names of heldout.evidence.losses, and the cases in bins.

    For two classes the bins hold the probability of the positive class and `ranks` is None. With one probability per
    class (`top_label`) they hold the highest probability of each case, and y is 1 where the true class has rank 1;
    `ranks` are the weights of the cases whose true class has rank 1, 2, …. The Brier loss is (y − p)² for two classes
    and, as Brier had it, the sum of that over the classes for more. The log loss takes probabilities of the true
    class below the rounding error of their type for that error; `clipped` counts them. The class sums are by true
    class, for two classes the negative one first. Evidence of an earlier version lacks losses that were added since.

    >>> from heldout.engines.probability_sums import tally
    >>> seen = tally(np.array([0.9, 0.2]), np.array([True, False]))
    >>> (seen + seen).n, round(seen.losses["brier"].mean, 3)
    (4, 0.025)
    """

    n: int
    weighted: bool
    top_label: bool
    losses: Mapping[str, Moments]
    clipped: int
    class_weight: Floats
    class_losses: Mapping[str, Floats]
    reliability: Reliability
    ranks: Floats | None = None
    rank_squares: Floats | None = None
    groups: ProbabilityGroups | None = None

    @classmethod
    def of_sums(
        cls,
        cases: Integers,
        binned: Floats,
        losses: Sequence[Moments],
        by_class: Iterable[Floats],
        clipped: int,
        ranks: Floats | None = None,
        groups: ProbabilityGroups | None = None,
    ) -> Probabilities:
        """From what every engine sums, losses in the order of LOSSES: `by_class` has the weights before them.

        `cases` and `binned` are as `Reliability.of_sides` has them, and `ranks` the weights of ranks and their squares.
        """
        weight, *shares = by_class
        return cls(
            n=int(cases.sum()),
            weighted=len(binned) > 3,
            top_label=ranks is not None,
            losses=dict(zip(LOSSES, losses, strict=True)),
            clipped=clipped,
            class_weight=weight,
            class_losses=dict(zip(LOSSES, shares, strict=True)),
            reliability=Reliability.of_sides(cases, binned),
            ranks=None if ranks is None else ranks[0],
            rank_squares=None if ranks is None else ranks[1],
            groups=groups,
        )

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.class_weight)

    @property
    def weight(self) -> float:
        """The weights of all cases together; without weights, the number of cases."""
        return self._moments.weight

    @property
    def _moments(self) -> Moments:
        """The moments of some loss: the weights are the same in all."""
        return next(iter(self.losses.values()))

    @property
    def n_kish(self) -> float:
        """Kish's effective number of cases, (Σw)² / Σw²."""
        squares = float(self._moments.sums[1, 0])
        return self.weight**2 / squares if squares else 0.0

    @cached_property
    def memo(self) -> dict[Any, Any]:
        """What was derived from these sums and will be asked for again."""
        return {}

    def _shape(self) -> tuple[object, ...]:
        grouped = self.groups is not None
        return self.weighted, self.top_label, self.n_classes, len(self.reliability), grouped

    def __add__(self, other: object) -> Probabilities:
        if not isinstance(other, Probabilities):
            return NotImplemented
        if self._shape() != other._shape():
            raise ValuesError(
                "Probabilities that differ in their classes or bins, or in having weights or groups, cannot be merged.",
                hint="tally both in the same way.",
            )
        groups = None
        if self.groups is not None and other.groups is not None:
            groups = self.groups.merged(other.groups, len(self.reliability), self.n_classes)
        return Probabilities(
            self.n + other.n,
            self.weighted,
            self.top_label,
            {name: sums + other.losses[name] for name, sums in self.losses.items() if name in other.losses},
            self.clipped + other.clipped,
            self.class_weight + other.class_weight,
            {
                name: sums + other.class_losses[name]
                for name, sums in self.class_losses.items()
                if name in other.class_losses
            },
            self.reliability + other.reliability,
            None if self.ranks is None or other.ranks is None else self.ranks + other.ranks,
            None if self.rank_squares is None or other.rank_squares is None else self.rank_squares + other.rank_squares,
            groups,
        )


@dataclass(frozen=True, slots=True)
class Unfit:
    """Why scores are no probabilities; one of three reasons holds.

    Their `ends` lie beyond 0 … 1; or they are `decision` values, whatever their ends; or the scores of a row, one for
    each class, do not sum to 1, and `total` is the sum that is furthest off. `row` is the number of that row, from 1,
    where rows are known.

    >>> Unfit(total=1.3, row=4000).sentence()
    'the scores of row 4,000 sum to 1.3 instead of 1'
    """

    ends: tuple[float, float] | None = None
    decision: bool = False
    total: float | None = None
    row: int | None = None

    @classmethod
    def of_ends(cls, low: float, high: float) -> Unfit | None:
        """The reason where scores that run so far are no probabilities for it, else None.

        >>> Unfit.of_ends(0.0, 1.0), Unfit.of_ends(-2.0, 3.5).sentence()
        (None, 'the scores run from -2 to 3.5')
        """
        return cls(ends=(low, high)) if low < 0 or high > 1 else None

    def sentence(self) -> str:
        """The reason in words."""
        if self.ends is not None:
            return f"the scores run from {format_end(self.ends[0])} to {format_end(self.ends[1])}"
        if self.total is not None:
            where = "a row" if self.row is None else f"row {self.row:,}"
            return f"the scores of {where} sum to {self.total:g} instead of 1"
        return "the scores are decision values"


def format_end(score: float) -> str:
    """An end of scores in few digits, but never as the 0 or 1 that it lies beyond.

    >>> format_end(3.5), format_end(1.0000001), format_end(0.123456789)
    ('3.5', '1.0000001', '0.123457')
    """
    short = f"{score:g}"
    return repr(score) if short in ("0", "-0", "1") and float(short) != score else short


def check_alike(reasons: Sequence[Unfit | None]) -> None:
    """Refuse parts of which some hold decision values, differences of two columns, and others a column as it was."""
    decisions = [reason is not None and reason.decision for reason in reasons]
    if any(decisions) and not all(decisions):
        raise ValuesError(
            "Of two score columns some parts hold probabilities and others do not.",
            hint="give every part the same kind of scores, for example the difference of the two as one column.",
        )


def joined(reasons: Sequence[Unfit], least: float, greatest: float) -> Unfit:
    """Why the scores of several parts, which run from `least` to `greatest`, are no probabilities.

    >>> joined([Unfit(ends=(-2.0, 0.5)), Unfit(total=0.2, row=3)], -2.0, 3.0).sentence()
    'the scores run from -2 to 3'
    """
    ends = [reason.ends for reason in reasons if reason.ends is not None]
    if ends:
        # Of two classes one column is kept, and the other may have gone further.
        return Unfit(ends=(min(least, *(low for low, _ in ends)), max(greatest, *(high for _, high in ends))))
    totals = [reason.total for reason in reasons if reason.total is not None]
    if len(totals) < len(reasons):
        return Unfit(decision=True)
    # Which row it was depends on the order of the parts; the sum that is furthest off does not.
    return Unfit(total=max(totals, key=lambda total: (abs(total - 1), total)))
