"""Bins of the probability: where their edges are, and the cases of a ranking in them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import closest, listing
from heldout.arrays import Floats
from heldout.errors import OptionError
from heldout.evidence.probabilities import Probabilities, ProbabilityGroups, Reliability, SparseSums, sums_by
from heldout.evidence.ranking import Ranking
from heldout.threads import share_out

Strategy = Literal["uniform", "quantile"]
STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)
MOST_BINS = 10_000
USUAL_BINS = 10
# Rows whose sums are made at once: few enough for what is made of them to stay in the processor's cache.
BLOCK = 1 << 17


def check_bins(bins: Any, strategy: Any) -> None:
    """Refuse a number of bins that is none, and a kind of bins that there is not."""
    if not isinstance(bins, int | np.integer) or isinstance(bins, bool) or not 1 <= bins <= MOST_BINS:
        raise OptionError(
            f"The number of bins is a whole number from 1 to {MOST_BINS:,}. Got {bins!r}.", hint="use 10."
        )
    if strategy not in STRATEGIES:
        near = closest(str(strategy), STRATEGIES)
        raise OptionError(
            f"There are no {strategy!r} bins; there are {listing(STRATEGIES)}.", hint=f"use {near or 'uniform'!r}."
        )


def bin_edges(ranking: Ranking, bins: int, strategy: str) -> Floats:
    """The edges of the bins: even, or such that each bin holds about as many cases.

    >>> bin_edges(Ranking(np.array([0.9, 0.5, 0.1]), np.array([1, 0, 0]), np.array([0, 1, 2])), 2, "quantile")
    array([0.1, 0.3, 0.9])
    """
    check_bins(bins, strategy)
    even = np.linspace(0.0, 1.0, bins + 1)
    return even if strategy == "uniform" or not len(ranking) else _quantiles(ranking, even)


def _quantiles(ranking: Ranking, shares: Floats) -> Floats:
    """Quantiles between order statistics (type 7), without repeating a score for each of its cases."""
    scores = ranking.scores[::-1]
    if not ranking.weighted and ranking.n == len(scores):
        # All scores differ.
        rank = shares * (len(scores) - 1)
        below = np.floor(rank).astype(np.int64)
        first, second = scores[below], scores[np.ceil(rank).astype(np.int64)]
        return np.asarray(first + (second - first) * (rank - below))
    if ranking.weighted:
        # Weights have no order statistics to interpolate between: the inverse of the distribution function.
        cumulated = np.cumsum((ranking.positives + ranking.negatives)[::-1], dtype=np.float64)
        return np.asarray(scores[np.minimum(np.searchsorted(cumulated, shares * cumulated[-1]), len(scores) - 1)])
    rank = shares * (ranking.n - 1)
    start = np.floor(rank)
    first, second = (ranking.scores[_places(ranking, ranking.n - 1 - order)] for order in (start, np.ceil(rank)))
    return np.asarray(first + (second - first) * (rank - start))


def _places(ranking: Ranking, cases: NDArray[Any]) -> NDArray[np.int64]:
    """Where the case stands that so many others precede, from the highest score down."""
    starts = np.array([sum(above) for _, above in ranking.blocks])
    places = np.empty(len(cases), dtype=np.int64)
    block = np.searchsorted(starts, cases, side="right") - 1
    for at in np.unique(block).tolist():
        here, reached = ranking.blocks[at][0], block == at
        # The cumulated number of cases of one block alone.
        ends = np.cumsum(ranking.positives[here].astype(np.int64) + ranking.negatives[here])
        places[reached] = here.start + np.searchsorted(ends, cases[reached] - starts[at], side="right")
    return np.minimum(places, len(ranking) - 1)


@dataclass(frozen=True, slots=True)
class BinChoice:
    """How probabilities are put into bins: how many, of equal width or with equally many cases.

    >>> str(BinChoice(15, "quantile"))
    '15 quantile bins'
    """

    bins: int = USUAL_BINS
    strategy: str = "uniform"

    def __str__(self) -> str:
        return f"{self.bins} {self.strategy} bins"


@dataclass(frozen=True, eq=False)
class ChosenBins(Reliability):
    """Cases in bins whose edges were chosen; they are made from a ranking, and are neither merged nor saved."""

    borders: Floats

    @property
    def edges(self) -> Floats:
        """The borders of the bins, one more than there are bins."""
        return self.borders


@dataclass(frozen=True, slots=True, eq=False)
class RankedBins:
    """The cases of a ranking of probabilities in bins, and what noise there is in them.

    `squares` are the sums of squared weights in each bin, `n_kish` is (Σw)² / Σw² of all cases, and `groups` holds the
    sums of w(y − p) by group and bin where cases come in groups.
    """

    reliability: Reliability
    squares: Floats
    weight: float
    n_kish: float
    groups: ProbabilityGroups | None = None


def _sum_runs(list_terms: Callable[[slice], list[Floats]], starts: NDArray[np.int64], length: int) -> Floats:
    """Sums of several terms over the runs of rows that begin at `starts`; the terms are made block by block."""
    sums = np.zeros((len(list_terms(slice(0, 0))), len(starts)))
    filled = np.flatnonzero(np.diff(starts, append=length) > 0)
    begins = starts[filled]

    def sum_block(begin: int) -> tuple[NDArray[np.int64], list[Floats]]:
        end = min(begin + BLOCK, length)
        first, last = int(np.searchsorted(begins, begin, side="right")) - 1, int(np.searchsorted(begins, end))
        inside = np.maximum(begins[first:last], begin) - begin
        return filled[first:last], [np.add.reduceat(values, inside) for values in list_terms(slice(begin, end))]

    # Added in the order of the blocks, by whichever threads.
    for places, found in share_out(sum_block, range(0, length, BLOCK)):
        sums[:, places] += found
    return sums


def bin_ranking(ranking: Ranking, edges: Floats) -> RankedBins:
    """Put the cases of a ranking into bins; a probability on an edge belongs to the bin below it.

    >>> seen = Ranking(np.array([0.9, 0.8, 0.2]), np.array([6, 2, 1]), np.array([0, 2, 9]))
    >>> bin_ranking(seen, np.array([0.0, 0.5, 1.0])).reliability.gap.round(9)
    array([-1. , -0.6])
    """
    p = ranking.scores
    # Scores run from the highest down, so the cases of a bin stand side by side.
    starts = np.concatenate([[0], len(p) - np.searchsorted(p[::-1], edges[1:-1], side="right")[::-1]])
    heavy_hits, heavy_misses = ranking.positive_squares, ranking.negative_squares
    sides = [(ranking.positives, ranking.negatives)]
    if heavy_hits is not None and heavy_misses is not None:
        sides.append((heavy_hits, heavy_misses))

    def list_terms(rows: slice) -> list[Floats]:
        p = ranking.scores[rows]
        q, terms = 1.0 - p, []
        for hits, misses in sides:
            both = hits[rows] + misses[rows]
            terms += [both, both * (p * q), hits[rows] * q**2 + misses[rows] * p**2]
        hits, misses = sides[0]
        return [*terms, hits[rows], hits[rows] * q - misses[rows] * p]

    weight, expected, seen, *heavy_sums, observed, gap = _sum_runs(list_terms, starts, len(p))[:, ::-1]
    squares, expected_noise, noise = heavy_sums or (weight, expected, seen)
    # How many rows are behind a sum of weights is not kept in a ranking; Kish's (Σw)² / Σw² never exceeds it.
    cases = weight**2 / np.where(squares > 0, squares, 1.0)
    reliability = ChosenBins(
        cases=np.rint(cases).astype(np.int64),
        weight=weight,
        observed=observed,
        gap=gap,
        squares=seen,
        spread=expected,
        noise=noise,
        expected_noise=expected_noise,
        borders=edges,
    )
    whole, heavy = float(weight.sum()), float(squares.sum())
    return RankedBins(reliability, squares, whole, whole**2 / heavy if heavy else 0.0, _groups(ranking, edges))


def _groups(ranking: Ranking, edges: Floats) -> ProbabilityGroups | None:
    groups = ranking.groups
    if groups is None:
        return None
    where, bins = np.searchsorted(edges[1:-1], ranking.scores), len(edges) - 1
    p = ranking.scores[groups.place]
    gaps = np.asarray(groups.positives * (1.0 - p) - groups.negatives * p, dtype=np.float64)
    weight = sums_by(groups.group, np.asarray(groups.positives + groups.negatives, dtype=np.float64), len(groups.keys))
    return ProbabilityGroups(groups.keys, weight, {}, SparseSums.of(groups.group, where[groups.place], gaps, bins))


def with_bins(tallied: Probabilities, ranking: Ranking, choice: BinChoice) -> Probabilities:
    """The same probabilities in other bins; the ranking is of what was in bins, and of what came true.

    >>> from heldout.engines.probability_sums import tally
    >>> from heldout.engines.score_sort import rank
    >>> p, y = np.array([0.1, 0.2, 0.6, 0.9]), np.array([False, False, True, True])
    >>> with_bins(tally(p, y), rank(p, y), BinChoice(2, "quantile")).reliability.cases
    array([2, 2])
    """
    edges = np.unique(bin_edges(ranking, choice.bins, choice.strategy))
    if len(edges) == 1:
        edges = np.array([0.0, 1.0])
    ranked = bin_ranking(ranking, edges)
    groups, theirs = tallied.groups, ranked.groups
    if groups is not None and theirs is not None:
        order = {key: at for at, key in enumerate(groups.keys.tolist())}
        code = np.array([order[key] for key in theirs.keys.tolist()], dtype=np.int64)
        gaps = SparseSums.of(code[theirs.gaps.group], theirs.gaps.place, theirs.gaps.total, len(edges) - 1)
        groups = replace(groups, gaps=gaps)
    return replace(tallied, reliability=ranked.reliability, groups=groups)
