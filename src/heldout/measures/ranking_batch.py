"""What the formulas of rankings read: one ranking, or a batch of resampled ones, whole or block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arrays import Floats
from heldout.evidence import Ranking
from heldout.evidence.ranking import BLOCK
from heldout.threads import cached_property, count_threads, share_out


class RankingBatch:
    """Many rankings over the same distinct scores: arrays (B, m) of positives and negatives at each score."""

    def __init__(self, positives: NDArray[Any], negatives: NDArray[Any]) -> None:
        self.positives = positives
        self.negatives = negatives

    @cached_property
    def tp(self) -> Any:
        """Positives whose score is at least each distinct score."""
        return np.cumsum(self.positives, axis=-1)

    @cached_property
    def fp(self) -> Any:
        """Negatives whose score is at least each distinct score."""
        return np.cumsum(self.negatives, axis=-1)

    @cached_property
    def n_positive(self) -> Any:
        """The number of positives of each ranking."""
        return self.positives.sum(axis=-1)

    @cached_property
    def n_negative(self) -> Any:
        """The number of negatives of each ranking."""
        return self.negatives.sum(axis=-1)


Ranked = Ranking | RankingBatch


@dataclass(frozen=True, slots=True)
class RankingSpan:
    """A stretch of distinct scores, from the highest down: what is at each of them, and what is at it or above.

    `start` is the place of the first. The arrays are overwritten by the next stretch.
    """

    start: int
    positives: Floats
    negatives: Floats
    tp: Floats
    fp: Floats


def sweep(ranked: Ranked, start: int = 0, stop: int | None = None, before: Any = (0, 0)) -> Iterator[RankingSpan]:
    """Go through a ranking in blocks, as floats; no array as long as the ranking is made.

    `start` and `stop` name a part of it, and `before` the positives and negatives above that part.

    >>> seen = Ranking(np.array([0.9, 0.4]), np.array([1, 1]), np.array([0, 2]))
    >>> [span.fp.tolist() for span in sweep(seen)]
    [[0.0, 2.0]]
    """
    positives, negatives = ranked.positives, ranked.negatives
    *lead, m = positives.shape
    block = max(64, BLOCK // max(1, int(np.prod(lead))))
    up, down = (_Running(column, block, above) for column, above in zip((positives, negatives), before, strict=True))
    for at in range(start, m if stop is None else stop, block):
        here, tp = up.step(at)
        there, fp = down.step(at)
        yield RankingSpan(at, here, there, tp, fp)


def each_block(ranked: Ranked, work: Callable[[RankingSpan], Any]) -> Iterable[Any]:
    """What `work` makes of every block, in their order; of counts, several threads take a block each."""
    # Sums of weights above a block are known to the last bit only after those above it.
    if isinstance(ranked, RankingBatch) or ranked.weighted or len(ranked) <= BLOCK or count_threads() < 2:
        return map(work, sweep(ranked))

    def take(block: tuple[slice, list[int]]) -> Any:
        where, above = block
        return work(next(sweep(ranked, where.start, where.stop, above)))

    return share_out(take, ranked.blocks)


def add_up(ranked: Ranked, work: Callable[[RankingSpan], Any]) -> Any:
    """The sum of what `work` makes of every block, added in their order: the same by however many threads.

    >>> seen = Ranking(np.array([0.9, 0.4]), np.array([1, 1]), np.array([0, 2]))
    >>> float(add_up(seen, lambda span: span.fp.sum()))
    2.0
    """
    total = 0.0
    for made in each_block(ranked, work):
        total = total + made
    return total


class _Running:
    """One column in blocks, with its running sum."""

    def __init__(self, column: NDArray[Any], block: int, above: int) -> None:
        self.column = column
        self.block = block
        shape = (*column.shape[:-1], min(block, column.shape[-1]))
        # Whole numbers are summed as such: a running sum of floats takes six times as long.
        self.exact = column.dtype.kind in "iub"
        self.sums = np.empty(shape, dtype=np.int64 if self.exact else np.float64)
        self.entries, self.up_to = np.empty(shape), np.empty(shape)
        self.before = np.full((*column.shape[:-1], 1), above, dtype=self.sums.dtype)

    def step(self, start: int) -> tuple[Floats, Floats]:
        """The entries of a block and the sums up to each, from the highest score down."""
        taken = self.column[..., start : start + self.block]
        size = taken.shape[-1]
        sums, entries, up_to = (held[..., :size] for held in (self.sums, self.entries, self.up_to))
        np.copyto(entries, taken)
        np.copyto(sums, taken)
        np.cumsum(sums, axis=-1, out=sums)
        sums += self.before
        self.before = sums[..., -1:].copy()
        np.copyto(up_to, sums)
        return entries, up_to


def inner(first: Any, second: Any) -> Any:
    """The sum of the products along the last axis."""
    # Not @: for vectors it starts threads, which take longer to meet than a block takes to sum.
    return np.einsum("...i,...i->...", first, second)[()]


def lost_pairs(ranked: Ranked) -> Any:
    """Twice the number of pairs of a positive and a negative in the wrong order; a tie counts as half a pair.

    >>> float(lost_pairs(Ranking(np.array([0.9, 0.4]), np.array([1, 1]), np.array([0, 2]))))
    2.0
    """
    memo = ranked.memo if isinstance(ranked, Ranking) else {}
    if "lost pairs" not in memo:
        # Sums of weights may pass what they cannot exceed, by rounding.
        memo["lost pairs"] = np.minimum(add_up(ranked, _lost), 2.0 * ranked.n_positive * ranked.n_negative)
    return memo["lost pairs"]


def _lost(span: RankingSpan) -> Any:
    np.multiply(span.fp, 2.0, out=span.fp)
    np.subtract(span.fp, span.negatives, out=span.fp)
    return inner(span.positives, span.fp)


@dataclass(frozen=True, slots=True)
class PrecisionSums:
    """Sums over the distinct scores that average precision and its variance need.

    `gained` is Σ pos · precision; `blocks` holds Σ pos · fp / found² and Σ pos · tp / found² of each block.
    """

    gained: Any
    blocks: list[Any]


def precision_sums(ranked: Ranked) -> PrecisionSums:
    """The sums of precisions, in one pass.

    >>> float(precision_sums(Ranking(np.array([0.9, 0.4]), np.array([1, 1]), np.array([0, 2]))).gained)
    1.5
    """
    memo = ranked.memo if isinstance(ranked, Ranking) else {}
    if "precision sums" not in memo:
        blocks = list(each_block(ranked, _weigh_precision))
        memo["precision sums"] = PrecisionSums(sum(block[0] for block in blocks), [block[1:] for block in blocks])
    sums: PrecisionSums = memo["precision sums"]
    return sums


def _weigh_precision(span: RankingSpan) -> Any:
    """The three sums over a block."""
    precision, lost, kept = weigh_precision(span)
    return np.array([inner(span.positives, precision), lost.sum(axis=-1), kept.sum(axis=-1)])


def weigh_precision(span: RankingSpan) -> tuple[Any, Any, Any]:
    """Precision at each score, and pos · fp / found² and pos · tp / found² there; the span is written over.

    >>> precision, lost, kept = weigh_precision(next(sweep(Ranking(np.ones(1), np.array([2]), np.array([2])))))
    >>> precision.tolist(), lost.tolist(), kept.tolist()
    ([0.5], [0.25], [0.25])
    """
    np.add(span.tp, span.fp, out=span.fp)
    # Where nothing is selected yet (weights or counts of 0 at the top), recall does not grow, so any divisor will do.
    np.maximum(span.fp, 1e-300, out=span.fp)
    precision = np.divide(span.tp, span.fp, out=span.tp)
    # pos / found; with precision = tp / found, fp / found is 1 − precision. Not by the square of found, which vanishes
    # where nothing was found.
    each = np.divide(span.positives, span.fp, out=span.fp)
    kept = each * precision
    return precision, np.subtract(each, kept, out=each), kept
