"""Averaged areas of a column of scores for each class, from rows or from bins of each column by itself."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from heldout.arrays import Floats
from heldout.engines.counted_scores import CountedScores
from heldout.engines.scores import RowScores, ScoreEvidence
from heldout.estimates.multiclass import (
    JOINT,
    AreaAverage,
    Comparisons,
    MulticlassArea,
    averaged,
    comparison_weights,
    limited,
    multiclass_areas,
    share_influence,
)
from heldout.evidence import Ranking
from heldout.evidence.counted import MOST_PAIRWISE
from heldout.evidence.keys import join_keys
from heldout.evidence.probabilities import sums_by
from heldout.evidence.score_bins import POINT, BinGroups, ScoreBins
from heldout.measures.certified import allowance

AT_MOST = f"{JOINT}, at most"
AVERAGES: tuple[AreaAverage, ...] = ("macro", "weighted", "hand_till")
TOO_MANY = f"with more than {MOST_PAIRWISE} classes, scores are counted for each class against the rest, not for pairs"


def areas_of(evidence: ScoreEvidence, level: float) -> list[MulticlassArea]:
    """The macro and the weighted area against the rest, and Hand and Till's, with their limits."""
    if isinstance(evidence, RowScores):
        return multiclass_areas(
            evidence.values,
            evidence.codes,
            len(evidence.labels),
            AVERAGES,
            level,
            weight=evidence.predictions.weight,
            group=evidence.group_codes,
        )
    if isinstance(evidence, CountedScores):
        held = evidence.tally
        return areas_of_bins(held.bins, level) if held.pairwise else _areas_against_rest(held.bins, level)
    message = f"{type(evidence).__name__} has neither rows nor bins"
    raise TypeError(message)


def areas_of_bins(bins: tuple[ScoreBins, ...], level: float) -> list[MulticlassArea]:
    """The areas from the bins of every class's column; which scores one case has together is not known from them.

    A case's influence on an average is a sum over the columns, and its part of each is known from the bins. The
    standard error of the sum is at most the sum of the standard errors of the parts (the triangle inequality), which
    is what they would have if all columns went up and down together: the limits are never too narrow. Of groups, the
    sums over columns are known, and so is the standard error itself.
    """
    first = _Column(0, bins[0])
    plans = [comparison_weights(average, first.totals) for average in AVERAGES]
    errors = [_Error(bins) for _ in AVERAGES]
    areas = np.full((len(bins), len(bins)), np.nan)
    # One column after the other: of many classes, what is derived from all of them at once would be large.
    for place, held in enumerate(bins):
        column = _Column(place, held)
        areas[place] = column.areas
        for average, plan, error in zip(AVERAGES, plans, errors, strict=True):
            error.add(column, column.influence(plan[place], rest=average != "hand_till"))
    problem = _comparisons(bins, first, level)
    found = []
    for average, plan, error in zip(AVERAGES, plans, errors, strict=True):
        value = averaged(areas, plan)
        # This part depends on the class alone, which any column knows.
        by_class = share_influence(average, areas, first.totals, value)
        error.add(first, np.broadcast_to(by_class, (len(first.held), len(by_class))))
        found.append(limited(problem, average, value, error.found, plan))
    return found


def slack_of(evidence: ScoreEvidence) -> dict[str, float]:
    """How far each averaged area can be off because scores were counted in bins; empty where none is.

    Two cases of different classes in one joined bin count half, and may count nothing or all of a pair.
    """
    if not isinstance(evidence, CountedScores) or not evidence.per_class or evidence.exact:
        return {}
    bins = evidence.tally.bins
    if not evidence.tally.pairwise:
        return _slack_against_rest(bins)
    totals = _Column(0, bins[0]).totals
    open_ = np.zeros((len(bins), len(totals)))
    hair = 0.0
    for place, held in enumerate(bins):
        if not held.joined.any() or not totals[place]:
            continue
        inside = _Column(place, held).held[held.joined]
        # Shares first: the product of two large sums of weights may be no float.
        shares = inside / np.where(totals > 0, totals, 1.0)
        open_[place] = shares[:, place] @ shares / 2
        hair = max(hair, allowance(held.ranking(place)))
    if not hair:
        return {}
    return {average: float((comparison_weights(average, totals) * open_).sum()) + hair for average in AVERAGES}


def _comparisons(bins: tuple[ScoreBins, ...], first: _Column, level: float) -> Comparisons:
    """What the limits rest on beside the standard error."""
    met = first.totals > 0
    sizes = first.totals[met] ** 2 / first.squares.sum(axis=0)[met]
    groups = bins[0].groups

    def ranked(one: int, two: int | None) -> Ranking:
        return bins[one].ranking(one) if two is None else _between(bins[one], one, two)

    number, method = (None, AT_MOST) if groups is None else (len(groups.keys), JOINT)
    return Comparisons(first.totals, first.cases, sizes, number, level, ranked, method)


class _Error:
    """The standard error of a sum of influences, one for each column, or what it is at most."""

    def __init__(self, bins: tuple[ScoreBins, ...]) -> None:
        held = [one.groups.keys for one in bins if one.groups is not None]
        self.empty = not bins[0].n
        self.most = 0.0
        self.grouped = bool(held)
        keys, codes = join_keys(held) if held else (np.zeros(0), np.zeros(0, dtype=np.int64))
        self.codes: NDArray[np.int64] = codes
        self.starts = np.cumsum([0, *(len(keys) for keys in held)])
        self.sums = np.zeros(len(keys))

    def add(self, column: _Column, influence: Floats, at: int | None = None) -> None:
        """Add the influence by one column; of groups the sums are known, of cases how large they are at most.

        `at` is the place of the column, where it is not that of its class in the bins.
        """
        if not self.grouped:
            self.most += column.deviation(influence)
            return
        place = column.place if at is None else at
        start, stop = self.starts[place : place + 2].tolist()
        self.sums += sums_by(self.codes[start:stop], column.by_group(influence), len(self.sums))

    @property
    def found(self) -> float:
        """The standard error; nan without cases, infinite with one group."""
        if self.empty:
            return math.nan
        if not self.grouped:
            return self.most
        number = len(self.sums)
        return math.sqrt(number / (number - 1) * float(self.sums @ self.sums)) if number > 1 else math.inf


@dataclass(frozen=True, eq=False)
class _Column:
    """The bins of one class's scores, from the lowest up, and what ranks above and below in them."""

    place: int
    bins: ScoreBins

    @cached_property
    def held(self) -> Floats:
        """Cases, or their weight, of each class in each bin."""
        counts = self.bins.counts if self.bins.weights is None else self.bins.weights
        return np.asarray(counts, dtype=np.float64)

    @cached_property
    def squares(self) -> Floats:
        """Sums of squared weights; of cases that count alike, their number."""
        return np.asarray(self.bins.counts if self.bins.squares is None else self.bins.squares, dtype=np.float64)

    @cached_property
    def totals(self) -> Floats:
        """The cases of each class, or their weight."""
        return np.asarray(self.held.sum(axis=0))

    @cached_property
    def cases(self) -> NDArray[np.int64]:
        """The number of cases of each class."""
        return np.asarray(self.bins.counts.sum(axis=0))

    @cached_property
    def below(self) -> Floats:
        """The cases of each class with a score below each bin, and half of those in it."""
        return np.asarray(np.cumsum(self.held, axis=0) - self.held / 2)

    @cached_property
    def above(self) -> Floats:
        """The share of the class itself with a higher score than a case in each bin."""
        own = self.totals[self.place]
        return (own - self.below[:, self.place]) / own if own else np.zeros(len(self.held))

    @cached_property
    def areas(self) -> Floats:
        """The area of this class against each other one by this class's score, nan where there is none."""
        made = np.full(len(self.totals), np.nan)
        met = self.totals > 0
        if met[self.place]:
            made[met] = (self.above @ self.held)[met] / self.totals[met]
            made[self.place] = np.nan
        return made

    def influence(self, plan: Floats, *, rest: bool) -> Floats:
        """What a case of each class in each bin adds to an average by the comparisons of this class, per weight."""
        if not self.totals[self.place]:
            return np.zeros_like(self.held)
        per_case = np.divide(plan, self.totals, out=np.zeros_like(plan), where=self.totals > 0)
        known, whole = np.nan_to_num(self.areas), float(plan.sum())
        area = float((plan * known).sum())
        expected = np.full(len(plan), area / (whole or 1.0)) if rest else known
        made = per_case * (self.above[:, None] - expected)
        made[:, self.place] = (self.below @ per_case - area) / self.totals[self.place]
        return np.asarray(made)

    def deviation(self, influence: Floats) -> float:
        """The standard error that an influence by bin and class gives, cases within a class about their mean."""
        cases = self.cases.astype(np.float64)
        sums = (self.held * influence).sum(axis=0)
        mean = sums / np.maximum(cases, 1)
        away = (self.squares * influence**2).sum(axis=0) - sums * mean
        within = np.maximum(away, 0.0) * cases / np.maximum(cases - 1, 1)
        return math.sqrt(float(within.sum() + (cases * mean**2).sum()))

    def by_group(self, influence: Floats) -> Floats:
        """The sums of an influence over the cases of each group."""
        groups = self.bins.groups
        if groups is None:
            return np.zeros(0)
        return sums_by(groups.group, influence[groups.place, groups.class_] * groups.count, len(groups.keys))


def _between(bins: ScoreBins, first: int, second: int) -> Ranking:
    """The ranking of one class against another, by the bins of its own score."""
    held = bins.counts[:, [second, first]]
    kept = np.flatnonzero(held.any(axis=1))
    at = np.full(len(bins), -1, dtype=np.int64)
    at[kept] = np.arange(len(kept))
    groups = bins.groups
    if groups is not None:
        mine = np.flatnonzero((groups.class_ == first) | (groups.class_ == second))
        keys, code = np.unique(groups.group[mine], return_inverse=True)
        classes = (groups.class_[mine] == first).astype(np.int64)
        groups = BinGroups(groups.keys[keys], code, at[groups.place[mine]], classes, groups.count[mine])
    weights, squares = (None if t is None else t[kept][:, [second, first]] for t in (bins.weights, bins.squares))
    made = replace(
        bins, low=bins.low[kept], exponent=bins.exponent[kept], counts=held[kept], weights=weights, squares=squares,
        groups=groups,
    )  # fmt: skip
    return made.ranking(1)


def _areas_against_rest(bins: tuple[ScoreBins, ...], level: float) -> list[MulticlassArea]:
    """The same areas where the bins of each column tell its own class (1) from all the others (0)."""
    totals, cases, squares = (np.array(column) for column in zip(*(_own(held) for held in bins), strict=True))
    met = totals > 0
    averages = [average for average in AVERAGES if average != "hand_till"]
    plans = [comparison_weights(average, totals) for average in averages]
    errors = [_Error(bins) for _ in averages]
    areas = np.full((len(bins), len(bins)), np.nan)
    for place, held in enumerate(bins):
        column = _Column(1, held)
        # Against each other class what it is against all of them, of which the averages are made.
        areas[place] = np.where(met & (np.arange(len(bins)) != place), column.areas[0], np.nan)
        for plan, error in zip(plans, errors, strict=True):
            error.add(column, column.influence(np.array([plan[place].sum(), 0.0]), rest=True), place)
    groups = bins[0].groups
    number, method = (None, AT_MOST) if groups is None else (len(groups.keys), JOINT)
    sizes = totals[met] ** 2 / squares[met]
    problem = Comparisons(totals, cases, sizes, number, level, lambda one, _: bins[one].ranking(1), method)
    found = []
    for average, plan, error in zip(averages, plans, errors, strict=True):
        value = averaged(areas, plan)
        _add_shares(error, bins, share_influence(average, areas, totals, value), (totals, cases, squares))
        found.append(limited(problem, average, value, error.found, plan))
    nan, like = math.nan, found[0]
    pairs = MulticlassArea("hand_till", nan, nan, nan, level, nan, like.smallest, like.absent, method, TOO_MANY)
    return [*found, pairs]


def _own(bins: ScoreBins) -> tuple[float, int, float]:
    """The weight, the number and the squared weights of the cases of the class that a column is about."""
    column = _Column(1, bins)
    return float(column.totals[1]), int(column.cases[1]), float(column.squares[:, 1].sum())


def _add_shares(
    error: _Error, bins: tuple[ScoreBins, ...], by_class: Floats, known: tuple[Floats, NDArray[np.int64], Floats]
) -> None:
    """Add the influence that depends on the class of a case alone."""
    if error.grouped:
        for place, held in enumerate(bins):
            column = _Column(1, held)
            error.add(column, np.broadcast_to([0.0, by_class[place]], column.held.shape), place)
        return
    totals, cases, squares = known
    weights = (totals[None, :], squares[None, :]) if bins[0].weighted else (None, None)
    point = np.full(1, POINT, dtype=np.int16)
    whole = ScoreBins(np.zeros(1), point, cases[None, :], POINT, 0.0, 0.0, *weights)
    error.add(_Column(0, whole), by_class[None, :])


def _slack_against_rest(bins: tuple[ScoreBins, ...]) -> dict[str, float]:
    totals = np.array([_own(held)[0] for held in bins])
    open_, hair = np.zeros(len(bins)), 0.0
    for place, held in enumerate(bins):
        column = _Column(1, held)
        if held.joined.any() and column.totals.all():
            shares = column.held[held.joined] / column.totals
            open_[place] = shares[:, 1] @ shares[:, 0] / 2
            hair = max(hair, allowance(held.ranking(1)))
    if not hair:
        return {}
    plans = {average: comparison_weights(average, totals).sum(axis=1) for average in AVERAGES if average != "hand_till"}
    return {average: float(plan @ open_) + hair for average, plan in plans.items()}
