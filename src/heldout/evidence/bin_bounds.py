"""What the order of the scores inside joined bins can change: the least and the most that each adds to the areas.

Take a bin with p positives and n negatives, T positives and F negatives above it. The ROC area loses nothing inside if
all positives come first, and p · n pairs if they come last. Average precision gains p · (T + p) / (T + p + F) if all
positives come first, as one tie: no precision in the bin can be above the last of these. It gains least if the
negatives come first and every positive has a score of its own: Σ (T + i) / (T + i + F + n) for i = 1 … p.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from heldout.arrays import Floats
from heldout.evidence.ranking import Ranking

# Sums over so many entries at a time, then exactly over the blocks: an error of a block's length in units of the last
# place, whatever the length of the ranking.
BLOCK = 64
STRETCH = 1 << 14


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


def inside(ranking: Ranking) -> BinContributions:
    """What each bin adds at least and at most; there must be positives.

    >>> seen = Ranking(np.array([0.5]), np.array([1]), np.array([1]), joined=np.array([True]))
    >>> found = inside(seen)
    >>> found.open, found.low, found.high
    (array([0.5]), array([0.5]), array([1.]))
    """
    if "inside" not in ranking.memo:
        ranking.memo["inside"] = _inside(ranking)
    contributions: BinContributions = ranking.memo["inside"]
    return contributions


def _inside(ranking: Ranking) -> BinContributions:
    joined, parts = ranking.joined, np.empty((4, len(ranking)))
    for here, p, n, tp, fp, before, above in _stretches(ranking):
        # Shares first: the product of two large sums of weights may be no float.
        share, rate = p / (ranking.n_positive or 1), n / (ranking.n_negative or 1)
        lost, open_, low, high = parts[:, here]
        np.multiply(share, (above + n / 2) / (ranking.n_negative or 1), out=lost)
        tied = share * (tp / np.maximum(tp + fp, 1e-300))
        if joined is None:
            open_[:], low[:], high[:] = 0.0, tied, tied
            continue
        some = joined[here]
        high[:] = np.where(some, share * (tp / np.maximum(tp + above, 1e-300)), tied)
        least = np.minimum(_apart(p, before, fp, whole=not ranking.weighted), p) / p.clip(1e-300)
        np.minimum(np.where(some, share * np.maximum(least, 0.0), tied), high, out=low)
        open_[:] = np.where(some, share * rate / 2, 0.0)
    return BinContributions(*parts)


def _stretches(ranking: Ranking) -> Iterator[tuple[slice, Floats, Floats, Floats, Floats, Floats, Floats]]:
    """Entries a few at a time, so that what is found out of them stays in the cache.

    Given are positives and negatives of each entry, their sums up to and with it, and their sums above it.
    """
    columns = ranking.positives, ranking.negatives
    sums = [_up_to(column) for column in columns] if ranking.weighted else []
    earlier = [np.maximum(np.append(0.0, total[:-1]), 0.0) for total in sums]
    reached = [0, 0]
    for start in range(0, len(ranking), STRETCH):
        here = slice(start, start + STRETCH)
        p, n = (column[here].astype(np.float64) for column in columns)
        if ranking.weighted:
            yield here, p, n, sums[0][here], sums[1][here], earlier[0][here], earlier[1][here]
            continue
        counts = [
            np.cumsum(column[here], dtype=np.int64) + before for column, before in zip(columns, reached, strict=True)
        ]
        reached = [int(count[-1]) for count in counts]
        tp, fp = (count.astype(np.float64) for count in counts)
        yield here, p, n, tp, fp, tp - p, fp - n


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
    start = before + negatives + (0.5 if whole else 0.0)
    sums = p - negatives * np.log1p(np.divide(p, start, out=np.zeros_like(p), where=negatives > 0))
    if whole:
        # One positive needs no bound.
        sums = np.where(p == 1, (before + 1) / (before + 1 + negatives), sums)
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


def total(terms: Floats) -> float:
    """The sum of terms that are not negative, with a relative error of at most 2**-46.

    >>> total(np.full(1000, 0.1))
    100.0
    """
    whole = len(terms) // BLOCK * BLOCK
    blocks = terms[:whole].reshape(-1, BLOCK).sum(axis=1)
    return math.fsum((*blocks.tolist(), *terms[whole:].tolist()))
