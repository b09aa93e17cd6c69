"""Scores counted in many small bins, exact where there is room for every distinct score, merged with +."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Literal, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.arrays import Floats
from heldout.errors import ValuesError
from heldout.evidence.bin_grid import POINT, Ladder, above, distinct, ends_of, exponent_for, floor_to
from heldout.evidence.labels import join_keys
from heldout.evidence.ranking import COUNT_ALIKE, RankedGroups, Ranking, smallest
from heldout.threads import cached_property, share_out

__all__ = ["MOST", "POINT", "BinGroups", "ScoreBins"]


# At most this many bins are met; with more distinct scores than that, they become wider. One is for a score of 1, which
# lies above all the others of the grid that probabilities are on.
MOST = (1 << 20) + 1
# Bins that are processed at a time.
BLOCK = 1 << 17
# There may be up to this many times MOST refined bins in addition.
REFINED = 4
# Even where few bins are asked for, refined ones find this much room.
ROOM = 1 << 17


@dataclass(frozen=True, eq=False)
class BinGroups:
    """Which group the cases in each bin belong to: one entry per group, bin and class that was met.

    Bins are bounded, and groups are not: where scores hardly repeat there is nearly an entry for each case.
    """

    keys: NDArray[Any]
    group: NDArray[np.int64]
    place: NDArray[np.int64]
    class_: NDArray[np.int64]
    count: NDArray[Any]

    @classmethod
    def of(
        cls, keys: NDArray[Any], group: NDArray[Any], place: NDArray[Any], class_: NDArray[Any], count: NDArray[Any]
    ) -> BinGroups:
        """The entries, those of one group, bin and class added up."""
        if not len(group):
            none = np.zeros(0, dtype=np.int64)
            return cls(keys, none, none, none, np.zeros(0, dtype=count.dtype))
        classes, places = int(class_.max()) + 1, int(place.max()) + 1
        entries, where = np.unique((group.astype(np.int64) * places + place) * classes + class_, return_inverse=True)
        total = np.zeros(len(entries), dtype=np.float64 if count.dtype.kind == "f" else np.int64)
        np.add.at(total, where, count)
        rest, classes_present = np.divmod(entries, classes)
        return cls(keys, rest // places, rest % places, classes_present, total)

    def held(self) -> dict[Any, float]:
        """How many cases each group has in each bin, by class."""
        columns = (self.group.tolist(), self.place.tolist(), self.class_.tolist(), self.count.tolist())
        return {(self.keys[code], index, class_): number for code, index, class_, number in zip(*columns, strict=True)}


@dataclass(frozen=True, eq=False)
class ScoreBins:
    """How many cases of each class have a score in each bin that was met, from the lowest score up.

    Bin i holds the scores s with low[i] <= s < low[i] + 2**exponent[i]; where the exponent is POINT it holds the one
    score low[i]. Bins lie on a grid of powers of two: low[i] is a whole multiple of 2**exponent[i]. `base` is the
    exponent of the grid where no bin was met: POINT as long as every distinct score has a bin of its own, otherwise the
    smallest for which at most `most` bins are met, so that the grid depends on the scores alone and not on their
    order. Towards 0 and 1 bins may be finer, down to those of a fixed ladder (bin_grid). Bins that are finer still were
    refined; `refined` is how many of them the parts had that were merged, and where these are more than `room` all go
    back to the grid and its ladder: a number that only adds up is the same whichever parts are merged first. `counts`
    are rows, one column for each class; with weights `weights` and `squares` hold the sums of weights and of their
    squares in the same shape. `least` and `greatest` are the ends of the scores that were met, inf and -inf where there
    are none.

    >>> seen = ScoreBins.of([0.9, 0.4, 0.4], [1, 1, 0], 2)
    >>> seen.low, seen.counts.tolist()
    (array([0.4, 0.9]), [[1, 1], [0, 1]])
    """

    low: Floats
    exponent: NDArray[np.int16]
    counts: NDArray[np.int64]
    base: int
    least: float
    greatest: float
    weights: Floats | None = None
    squares: Floats | None = None
    groups: BinGroups | None = None
    most: int = MOST
    refined: int = 0
    room: int | None = None

    @classmethod
    def of(
        cls,
        scores: ArrayLike,
        codes: ArrayLike,
        k: int,
        *,
        weight: NDArray[np.float64] | None = None,
        group: tuple[NDArray[Any], NDArray[Any]] | None = None,
        most: int = MOST,
    ) -> ScoreBins:
        """Count rows in memory: finite scores, the place of each row's class among `k`, weights, and groups.

        `group` is the group's code of every row and the keys of the codes.
        """
        # Adding 0 makes one score of -0.0 and 0.0.
        values = np.asarray(scores, dtype=np.float64) + 0.0
        columns = np.asarray(codes).astype(np.int64)
        distinct, where = np.unique(values, return_inverse=True)
        cell, cells = where * k + columns, len(distinct) * k
        weights = squares = groups = None
        if weight is not None:
            sums = (np.bincount(cell, weights=power, minlength=cells) for power in (weight, weight * weight))
            weights, squares = (row_weight.astype(np.float64).reshape(-1, k) for row_weight in sums)
        if group is not None:
            row_weight = np.ones(len(values), dtype=np.int64) if weight is None else weight
            groups = BinGroups.of(group[1], group[0], where, columns, row_weight)
        counts = np.bincount(cell, minlength=cells).astype(np.int64).reshape(-1, k)
        return cls.of_distinct(distinct, counts, weights, squares, groups, most=most)

    @classmethod
    def of_distinct(
        cls,
        scores: Floats,
        counts: NDArray[np.int64],
        weights: Floats | None = None,
        squares: Floats | None = None,
        groups: BinGroups | None = None,
        *,
        most: int = MOST,
    ) -> ScoreBins:
        """From what there is at each distinct score, the lowest first."""
        ends = (float(scores[0]), float(scores[-1])) if len(scores) else (np.inf, -np.inf)
        exponent = np.full(len(scores), POINT, dtype=np.int16)
        return cls(scores, exponent, counts, POINT, *ends, weights, squares, groups, most).settled()

    def __len__(self) -> int:
        return len(self.low)

    @property
    def k(self) -> int:
        """The number of classes."""
        return int(self.counts.shape[1])

    @cached_property
    def n(self) -> int:
        """The number of rows."""
        return int(self.counts.sum())

    @property
    def weighted(self) -> bool:
        """Whether the rows carry weights."""
        return self.weights is not None

    @cached_property
    def exact(self) -> bool:
        """Whether every distinct score has a bin of its own."""
        return bool((self.exponent == POINT).all())

    @cached_property
    def ends(self) -> Floats:
        """The first float above each bin."""
        ends = np.empty(len(self))

        def fill(here: slice) -> None:
            exponent = self.exponent[here]
            alike = bool((exponent == exponent[0]).all())
            ends[here] = ends_of(self.low[here], int(exponent[0]) if alike else exponent)

        share_out(fill, self.blocks)
        return ends

    @cached_property
    def joined(self) -> NDArray[np.bool_]:
        """Which bins may hold several distinct scores."""
        joined, ends = np.empty(len(self), dtype=np.bool_), self.ends

        def fill(here: slice) -> None:
            counts = self.counts[here]
            # Two columns are added up as such: along the rows of a narrow table it takes many times as long.
            rows = counts[:, 0] + counts[:, 1] if self.k == 2 else counts.sum(axis=1)
            joined[here] = (rows > 1) & (ends[here] > above(self.low[here]))

        share_out(fill, self.blocks)
        return joined

    @property
    def blocks(self) -> list[slice]:
        """Bins a few at a time, so that what is found out on the way stays in the cache."""
        return [slice(at, at + BLOCK) for at in range(0, len(self), BLOCK)]

    @cached_property
    def middles(self) -> Floats:
        """The middle of each bin, or its score where it is of one."""
        middles = np.empty(len(self))

        def fill(here: slice) -> None:
            low = self.low[here]
            # The float below each end; what np.nextafter gives, in a fraction of the time.
            highest = np.minimum(-above(-self.ends[here]), self.greatest)
            # The one score of a bin with one row is not known either. Halves first: the sum of two may be endless.
            middle = np.maximum(low, self.least) / 2 + highest / 2
            middles[here] = np.where(self.exponent[here] == POINT, low, middle)

        share_out(fill, self.blocks)
        return middles

    def taken(self, bins: NDArray[Any]) -> Self:
        """Only some of the bins, by their places in order or by a mark for each; the ends stay.

        >>> ScoreBins.of([0.9, 0.4, 0.4], [1, 1, 0], 2).taken(np.array([1])).low
        array([0.9])
        """
        groups = self.groups
        if groups is not None:
            there = np.zeros(len(self), dtype=np.bool_)
            there[bins] = True
            kept, place = there[groups.place], np.cumsum(there) - 1
            columns = (groups.group, place[groups.place], groups.class_, groups.count)
            groups = BinGroups(groups.keys, *(column[kept] for column in columns))
        tables: dict[str, Any] = {
            name: None if (table := getattr(self, name)) is None else table[bins]
            for name in ("low", "exponent", "counts", "weights", "squares")
        }
        return replace(self, **tables, groups=groups)

    def moved(self, places: ArrayLike, k: int) -> Self:
        """The same rows among `k` classes, of which the present ones are at `places`.

        >>> ScoreBins.of([0.5], [1], 2).moved([2, 0], 3).counts.tolist()
        [[1, 0, 0]]
        """
        at = np.asarray(places, dtype=np.int64)

        def put(table: NDArray[Any] | None) -> Any:
            if table is None:
                return None
            wider = np.zeros((len(table), k), dtype=table.dtype)
            wider[:, at] = table
            return wider

        groups = None if self.groups is None else replace(self.groups, class_=at[self.groups.class_])
        return replace(
            self, counts=put(self.counts), weights=put(self.weights), squares=put(self.squares), groups=groups
        )

    def __add__(self, other: object) -> ScoreBins:
        if not isinstance(other, ScoreBins):
            return NotImplemented
        _check_alike(self, other)
        if not len(self) and self.base == POINT and _limits(self) == _limits(other) and self.groups is None:
            return other.settled()
        base, most = max(self.base, other.base), min(self.most, other.most)
        if base == POINT and len(self) + len(other) > most:
            # Widened before they are added up, so that this is done once.
            base = exponent_for(distinct(np.concatenate([self.low, other.low])), most)
        sides = [_lifted(side, base) for side in (self, other)]

        def stacked(name: str) -> Any:
            columns = [getattr(side, name) for side in (self, other)]
            return None if columns[0] is None else np.concatenate(columns)

        both = ScoreBins(
            np.concatenate([low for low, _ in sides]),
            np.concatenate([exponent for _, exponent in sides]),
            stacked("counts"),
            base,
            min(self.least, other.least),
            max(self.greatest, other.greatest),
            stacked("weights"),
            stacked("squares"),
            _stacked_groups(self, other),
            most,
            self.refined + other.refined,
            None if self.room is other.room is None else min(self.most_refined, other.most_refined),
        )
        return _joined(both).settled()

    def settled(self) -> ScoreBins:
        """The same on the finest grid that meets at most `most` bins; without refined ones if these are too many."""
        bins = self
        if len(self) > self.most:
            cells = self.low if self.base == POINT else distinct(floor_to(self.low, self.base))
            if len(cells) > self.most and (base := exponent_for(cells, self.most)) > self.base:
                low, exponent = _lifted(self, base)
                bins = _joined(replace(self, low=low, exponent=exponent, base=base))
        refined = max(bins.refined, bins.count_refined())
        if refined > bins.most_refined and bins.base != POINT:
            coarse = bins.coarsest
            exponent = np.maximum(bins.exponent, coarse)
            bins = _joined(replace(bins, low=floor_to(bins.low, exponent), exponent=exponent))
        return bins if bins.refined == refined else replace(bins, refined=refined)

    @property
    def coarsest(self) -> NDArray[np.int16]:
        """The exponent that each bin has if it was not refined: that of the grid, or of the ladder towards 0 and 1."""
        coarsest = np.full(len(self), self.base, dtype=np.int16)
        finer = np.flatnonzero(self.exponent < self.base)
        if len(finer) and (ladder := Ladder.of(self.most)) is not None:
            coarsest[finer] = np.minimum(ladder.widest(self.low[finer]), self.base)
        return coarsest

    def count_refined(self) -> int:
        """How many bins are finer than they have to be."""
        return int((self.exponent < self.coarsest).sum())

    @property
    def most_refined(self) -> int:
        """How many refined bins there may be."""
        return REFINED * max(self.most, ROOM) if self.room is None else self.room

    def ranking(self, place: int) -> Ranking:
        """The ranking of one class against the rest, thresholds at the lower edges of the bins.

        >>> ScoreBins.of([0.9, 0.4, 0.4], [1, 1, 0], 2).ranking(1).scores
        array([0.9, 0.4])
        """
        # A ranking caches what was computed from it, so the same object is returned every time.
        if place not in self._rankings:
            self._rankings[place] = self._ranked(place)
        return self._rankings[place]

    @cached_property
    def _rankings(self) -> dict[int, Ranking]:
        return {}

    def _ranked(self, place: int) -> Ranking:
        def sides(table: NDArray[Any]) -> tuple[Any, Any]:
            rest = table[:, 1 - place] if self.k == 2 else np.delete(table, place, axis=1).sum(axis=1)
            return table[::-1, place], rest[::-1]

        if self.weights is None or self.squares is None:
            columns: tuple[Any, Any, Any, Any] = (*smallest(*sides(self.counts)), None, None)
        else:
            columns = (*sides(self.weights), *sides(self.squares))
        groups = None
        if (own_groups := self.groups) is not None:
            own = own_groups.class_ == place
            groups = RankedGroups(
                own_groups.keys,
                own_groups.group,
                len(self) - 1 - own_groups.place,
                own_groups.count * own,
                own_groups.count * ~own,
            )
        rows = self.n if self.weighted else None
        if self.exact:
            return Ranking(self.low[::-1], *columns, groups, rows=rows)
        return Ranking(self.low[::-1], *columns, groups, self.joined[::-1], self.ends[::-1], rows)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ScoreBins):
            return NotImplemented
        plain = ("base", "least", "greatest", "most", "refined", "room")
        columns = ("low", "exponent", "counts", "weights", "squares")
        return (
            all(getattr(self, name) == getattr(other, name) for name in plain)
            and all(_same(getattr(self, name), getattr(other, name)) for name in columns)
            and (self.groups is None) == (other.groups is None)
            and (self.groups is None or other.groups is None or self.groups.held() == other.groups.held())
        )

    __hash__ = None  # type: ignore[assignment]


def _same(first: NDArray[Any] | None, second: NDArray[Any] | None) -> bool:
    return first is second or (first is not None and second is not None and np.array_equal(first, second))


def _limits(bins: ScoreBins) -> tuple[int, int | None]:
    return bins.most, bins.room


def _check_alike(first: ScoreBins, second: ScoreBins) -> None:
    if first.weighted != second.weighted or (first.groups is None) != (second.groups is None):
        raise ValuesError(
            "Scores counted with and without weights, or with and without groups, cannot be merged.",
            hint=COUNT_ALIKE,
        )
    if first.k != second.k:
        raise ValuesError(
            f"Scores counted for {first.k} and for {second.k} classes cannot be merged.",
            hint="name the same labels= in both.",
        )


def _lifted(bins: ScoreBins, base: int) -> tuple[Floats, NDArray[np.int16]]:
    """Lower edges and exponents on a coarser grid; refined bins stay as they are."""
    if base == bins.base:
        return bins.low, bins.exponent
    plain = bins.exponent >= bins.base
    low, exponent = bins.low.copy(), bins.exponent.copy()
    low[plain] = floor_to(low[plain], base)
    exponent[plain] = base
    return low, exponent


def _joined(bins: ScoreBins) -> ScoreBins:
    """Bins in order, each that lies in another one added to it."""
    if not len(bins):
        return bins
    order = np.argsort(bins.low, kind="stable")
    low, exponent = bins.low[order], bins.exponent[order]
    # Bins are disjoint or one holds the other, so what starts before an end is inside.
    if (exponent == exponent[0]).all():
        apart = low[1:] != low[:-1]
    else:
        apart = low[1:] >= np.maximum.accumulate(ends_of(low, exponent))[:-1]
    first = np.concatenate([[True], apart])
    starts = np.flatnonzero(first)

    def summed(table: Any) -> Any:
        if table is None or len(starts) == len(order):
            return None if table is None else table[order]
        sums = np.empty((len(starts), table.shape[1]), dtype=table.dtype)
        for column in range(table.shape[1]):
            # Column by column: along the first axis of a narrow table it takes many times as long.
            sums[:, column] = np.add.reduceat(table[:, column][order], starts)
        return sums

    groups = bins.groups
    if groups is not None:
        bin_index = np.empty(len(order), dtype=np.int64)
        bin_index[order] = np.cumsum(first) - 1
        groups = BinGroups.of(groups.keys, groups.group, bin_index[groups.place], groups.class_, groups.count)
    return replace(
        bins,
        low=low[starts],
        exponent=np.maximum.reduceat(exponent, starts),
        counts=summed(bins.counts),
        weights=summed(bins.weights),
        squares=summed(bins.squares),
        groups=groups,
    )


def _stacked_groups(first: ScoreBins, second: ScoreBins) -> BinGroups | None:
    if first.groups is None or second.groups is None:
        return None
    keys, code = join_keys([first.groups.keys, second.groups.keys])
    return BinGroups(
        keys,
        np.concatenate([code[first.groups.group], code[second.groups.group + len(first.groups.keys)]]),
        np.concatenate([first.groups.place, second.groups.place + len(first)]),
        np.concatenate([first.groups.class_, second.groups.class_]),
        np.concatenate([first.groups.count, second.groups.count]),
    )


# What the order of the scores inside joined bins can change: the least and the most that each adds to the areas.
#
# Take a bin with p positives and n negatives, T positives and F negatives above it. The ROC area loses nothing inside
# if all positives come first, and p · n pairs if they come last. Average precision gains p · (T + p) / (T + p + F) if
# all positives come first, as one tie: no precision in the bin can be above the last of these. It gains least if the
# negatives come first and every positive has a score of its own: Σ (T + i) / (T + i + F + n) for i = 1 … p.

# Entries are summed by 64, then these sums by 16, and what is left exactly: the error is at most 63 + 15 units of the
# last place, whatever the length of the ranking.
TERMS_AT_ONCE, SUMS_AT_ONCE = 64, 16
SUMMED = TERMS_AT_ONCE * SUMS_AT_ONCE
Made = TypeVar("Made")


@dataclass(frozen=True, slots=True, eq=False)
class BinContributions:
    """What each entry of a ranking adds, as parts of the whole area; `low` and `high` differ in joined bins only.

    `lost` is what is missing from a ROC area of 1, with the pairs inside a bin half lost; `open` is how far the ROC
    area can be off in each bin, up and down alike. `low` and `high` are for average precision.
    """

    lost: Floats
    open: Floats
    low: Floats
    high: Floats


class BinSums(NamedTuple):
    """The sums of the columns of `BinContributions`."""

    lost: float
    open: float
    low: float
    high: float


def inside(ranking: Ranking) -> BinContributions:
    """What each bin adds at least and at most; there must be positives.

    >>> seen = Ranking(np.array([0.5]), np.array([1]), np.array([1]), joined=np.array([True]))
    >>> found = inside(seen)
    >>> found.open, found.low, found.high
    (array([0.5]), array([0.5]), array([1.]))
    """
    if "inside" not in ranking.memo:
        parts = np.empty((4, len(ranking)))

        def put(here: slice, terms: tuple[Floats, ...]) -> None:
            parts[:, here] = terms

        _each_stretch(ranking, put)
        ranking.memo["inside"] = BinContributions(*parts)
    contributions: BinContributions = ranking.memo["inside"]
    return contributions


def inside_sums(ranking: Ranking) -> BinSums:
    """The sums of what all bins add, each with a relative error of at most 2**-46.

    >>> seen = Ranking(np.array([0.5, 0.1]), np.array([1, 1]), np.array([1, 0]), joined=np.array([True, False]))
    >>> inside_sums(seen).open
    0.25
    """
    if "inside sums" not in ranking.memo:

        def add(_: slice, terms: tuple[Floats, ...]) -> list[list[float]]:
            return [_partial_sums(column) for column in terms]

        # No terms are negative, and the sum of these sums is rounded once.
        columns = zip(*_each_stretch(ranking, add), strict=True)
        ranking.memo["inside sums"] = BinSums(*(math.fsum(chain.from_iterable(column)) for column in columns))
    sums: BinSums = ranking.memo["inside sums"]
    return sums


def total(terms: Floats) -> float:
    """The sum of terms that are not negative, with a relative error of at most 2**-46.

    >>> total(np.full(1000, 0.1))
    100.0
    """
    return math.fsum(_partial_sums(terms))


def _partial_sums(terms: Floats) -> list[float]:
    sums: list[float] = []
    for step in (SUMMED, TERMS_AT_ONCE):
        whole = len(terms) // step * step
        by_terms = terms[:whole].reshape(-1, step // TERMS_AT_ONCE, TERMS_AT_ONCE).sum(axis=2)
        sums += by_terms.sum(axis=1).tolist()
        terms = terms[whole:]
    return [*sums, *terms.tolist()]


def row_sums(table: Floats) -> Floats:
    """The sums of the rows of a table that is some stretches of SUMMED wide, with the same error and a unit for each.

    >>> row_sums(np.full((1, 2048), 0.5))
    array([1024.])
    """
    by_terms = table.reshape(len(table), -1, SUMS_AT_ONCE, TERMS_AT_ONCE).sum(axis=3)
    return np.asarray(by_terms.sum(axis=2).sum(axis=1))


class Entries(NamedTuple):
    """Some entries: their positives and negatives, the sums of these up to and with each, and the sums above it.

    Of several rankings at once there is a row for each.
    """

    p: Floats
    n: Floats
    tp: Floats
    fp: Floats
    before: Floats
    negatives_above: Floats


def contribute(
    entries: Entries, totals: tuple[Any, Any], joined: NDArray[np.bool_] | None, *, whole: bool
) -> tuple[Floats, Floats, Floats, Floats]:
    """What some entries add: lost, open, low and high, where there are so many positives and negatives in all.

    `joined` says which entries may hold several distinct scores, and `whole` whether the counts are whole.
    """
    p, n, tp, fp, before, negatives_above = entries
    # Shares first: the product of two large sums of weights may be no float.
    share, rate = (side / np.where(total, total, 1) for side, total in zip((p, n), totals, strict=True))
    lost = share * ((negatives_above + n / 2) / np.where(totals[1], totals[1], 1))
    tied = tp / np.maximum(tp + fp, 1e-300)
    if joined is None:
        tied *= share
        return lost, np.zeros_like(p), tied, tied
    high = np.where(joined, tp / np.maximum(tp + negatives_above, 1e-300), tied)
    least = _apart(p, before, fp, whole=whole)
    np.clip(least, 0.0, p, out=least)
    least /= np.maximum(p, 1e-300)
    low = np.minimum(np.where(joined, least, tied), high)
    rate *= share
    rate *= joined
    rate /= 2
    return lost, rate, np.multiply(low, share, out=low), np.multiply(high, share, out=high)


def _each_stretch(ranking: Ranking, work: Callable[[slice, tuple[Floats, ...]], Made]) -> list[Made]:
    """What `work` makes of what the entries add, some at a time, so that what is found out stays in the cache."""
    columns = ranking.positives, ranking.negatives
    totals, whole = (ranking.n_positive, ranking.n_negative), not ranking.weighted
    sums: list[Floats] = [] if whole else [_up_to(column) for column in columns]

    def take(block: tuple[slice, list[int]]) -> Made:
        here, above = block
        p, n = (column[here].astype(np.float64) for column in columns)
        if whole:
            counts = [np.cumsum(column[here], dtype=np.int64) for column in columns]
            tp, fp = ((count + before).astype(np.float64) for count, before in zip(counts, above, strict=True))
            earlier = [tp - p, fp - n]
        else:
            tp, fp = (total[here] for total in sums)
            # Running sums of weights are rounded, so none is the difference of two others.
            first = here.start
            earlier = [np.append(total[first - 1] if first else 0.0, total[here][:-1]) for total in sums]
            earlier = [np.maximum(side, 0.0)[: len(p)] for side in earlier]
        joined = None if ranking.joined is None else ranking.joined[here]
        return work(here, contribute(Entries(p, n, tp, fp, *earlier), totals, joined, whole=whole))

    blocks = ranking.blocks if whole else [(here, [0, 0]) for here in _slices(len(ranking))]
    return share_out(take, blocks)


def _slices(stop: int) -> Iterator[slice]:
    return (slice(at, min(at + BLOCK, stop)) for at in range(0, stop, BLOCK))


def ordered(ranking: Ranking, *, first: Literal["positives", "negatives"]) -> Ranking:
    """The ranking with every joined bin in the best or the worst order: one class first, then the other.

    Scores are places only. The ROC curve of the scores themselves runs between those of the two orders.

    >>> seen = Ranking(np.array([0.5]), np.array([2]), np.array([1]), joined=np.array([True]))
    >>> ordered(seen, first="negatives").positives, ordered(seen, first="negatives").negatives
    (array([0, 2]), array([1, 0]))
    """
    joined = np.zeros(len(ranking), dtype=np.bool_) if ranking.joined is None else ranking.joined
    parted = joined & (ranking.positives > 0) & (ranking.negatives > 0)
    parts = np.where(parted, 2, 1)
    entry = np.repeat(np.arange(len(ranking)), parts)
    second = np.zeros(len(entry), dtype=np.bool_)
    second[(np.cumsum(parts) - 1)[parted]] = True
    before = parted[entry] & ~second
    gone = (second, before) if first == "positives" else (before, second)

    def side(entries: Any, missing: NDArray[np.bool_]) -> Any:
        return None if entries is None else np.where(missing, entries.dtype.type(0), entries[entry])

    return Ranking(
        np.arange(len(entry), 0, -1, dtype=np.float64),
        side(ranking.positives, gone[0]),
        side(ranking.negatives, gone[1]),
        side(ranking.positive_squares, gone[0]),
        side(ranking.negative_squares, gone[1]),
        rows=ranking.rows,
    )


def _apart(p: Floats, before: Floats, negatives: Floats, *, whole: bool) -> Floats:
    """The least sum of precisions: all negatives first, then positives one by one.

    1 / x is convex, so the sum of 1 / (a + i) for i = 1 … p is at most the integral from a + ½ to a + p + ½. Weights
    may be split in any way, where the integral from a on is the least: x / (x + C) rises.
    """
    if not whole:
        start = before + negatives
        return p - negatives * np.log1p(np.divide(p, start, out=np.zeros_like(p), where=negatives > 0))
    sums = np.add(before, negatives)
    sums += 0.5
    np.divide(p, sums, out=sums)
    np.log1p(sums, out=sums)
    sums *= negatives
    np.subtract(p, sums, out=sums)
    # One positive needs no bound.
    alone = p == 1
    if alone.any():
        first = before[alone] + 1
        sums[alone] = first / (first + negatives[alone])
    return sums


def _up_to(entries: NDArray[Any]) -> Floats:
    """Running sums of weights, in blocks, so that their error does not grow with the length."""
    size = 1024
    padded = np.zeros(-(-len(entries) // size) * size)
    padded[: len(entries)] = entries
    blocks = padded.reshape(-1, size)
    running = np.cumsum(blocks, axis=1)
    carry = np.concatenate([[0.0], np.cumsum(running[:, -1])[:-1]]) if len(blocks) else np.zeros(0)
    cumulative: Floats = (running + carry[:, None]).ravel()[: len(entries)]
    return cumulative
