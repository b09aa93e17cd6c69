"""Tallying predicted probabilities that are in memory: one pass in blocks that stay in the processor's cache."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arrays import Floats, Integers
from heldout.errors import OptionError, ValuesError
from heldout.evidence.losses import LOSSES, CaseProbabilities, least_probability
from heldout.evidence.probabilities import Moments, Probabilities, ProbabilityGroups, Reliability, SparseSums, sums_by
from heldout.evidence.probability_bins import MOST_BINS
from heldout.predictions.score_columns import sum_tolerance

# A probability this near to an edge, in widths of a bin, is compared with the edge itself: multiplying rounds.
NEAR_EDGE = 1e-9


# BLAS shares a product of more than 10,000 numbers among threads, which costs more than it saves.
SHORT = 1 << 13
# Columns up to here are the blocks of tables with a column per class, for which it was not worth changing their sums.
AT_ONCE = 1 << 15


def dot(left: Floats, right: Floats) -> float:
    """The sum of products, of columns of any length, in one thread.

    >>> dot(np.ones(10_000), np.full(10_000, 2.0))
    20000.0
    """
    whole = len(left) // SHORT * SHORT
    if len(left) <= AT_ONCE:
        return float(left @ right)
    rest = float(left[whole:] @ right[whole:])
    pieces = np.vecdot(left[:whole].reshape(-1, SHORT), right[:whole].reshape(-1, SHORT))
    return float(np.add.reduce(pieces)) + rest


class PowerSums:
    """Power sums of a loss about the mean of its first block."""

    def __init__(self) -> None:
        self.centre = 0.0
        self.sums = np.zeros((3, 4))
        self._begun = False

    def add(self, loss: Floats, weight: Floats | None, spare: Floats) -> None:
        """Add a block of losses; the three rows of `spare`, at least as long as the block, are written to."""
        size = len(loss)
        if not self._begun:
            self._begun, self.centre = True, float(np.add.reduce(loss) / size)
        away, square, product = spare[:, :size]
        np.subtract(loss, self.centre, out=away)
        np.multiply(away, away, out=square)
        if weight is None:
            # Only the first row is summed here; without weights the three are equal.
            self.sums[0] += size, np.add.reduce(away), dot(away, away), dot(square, away)
            return
        product[:] = weight
        for power in range(3):
            cubes = dot(product * square, away)
            self.sums[power] += np.add.reduce(product), dot(product, away), dot(product, square), cubes
            np.multiply(product, weight, out=product)

    def moments(self, *, weighted: bool) -> Moments:
        """What was added, about the mean."""
        sums = self.sums if weighted else np.repeat(self.sums[:1], 3, axis=0)
        return Moments(self.centre, sums).centred()


class Binner:
    """Cases in bins of equal width, apart by y: the sums that `Reliability` is made of.

    Sums are kept by a key: first the bins of the cases with y = 0, then those of y = 1, each from the last bin down.
    """

    def __init__(self, bins: int, block: int, *, weighted: bool) -> None:
        self.bins = bins
        self.weighted = weighted
        self.cases = np.zeros(2 * bins, dtype=np.int64)
        # Sums of y − p and its square; with weights, of w and of both with w and with w².
        self.table = np.zeros((5 if weighted else 2, 2 * bins))
        self._inner = np.linspace(0.0, 1.0, bins + 1)[1:-1]
        self._scaled, self._floor = np.empty((2, block))
        self._narrow, self._key = np.empty(block, dtype=np.int32), np.empty(block, dtype=np.int64)

    def add(self, p: Floats, y: Floats, gap: Floats, square: Floats, weight: Floats | None) -> NDArray[np.int64]:
        """Add a block of probabilities within [0, 1], y, y − p and its square; gives the key of every case."""
        size, bins = len(p), self.bins
        scaled, floor, narrow, key = self._scaled[:size], self._floor[:size], self._narrow[:size], self._key[:size]
        # y − p is −p or 1 − p, so that its sign tells the class and its size the bin.
        np.multiply(gap, bins, out=scaled)
        np.floor(scaled, out=floor)
        np.subtract(scaled, floor, out=scaled)
        if np.minimum.reduce(scaled) < NEAR_EDGE or np.maximum.reduce(scaled) > 1 - NEAR_EDGE:
            near = np.flatnonzero((scaled < NEAR_EDGE) | (scaled > 1 - NEAR_EDGE))
            floor[near] = y[near] * bins - 1 - np.searchsorted(self._inner, p[near])
        # By way of 32 bits, into which processors turn floats many at a time.
        np.copyto(narrow, floor, casting="unsafe")
        np.add(narrow, bins, out=narrow)
        np.copyto(key, narrow)
        width = 2 * bins
        self.cases += np.bincount(key, minlength=width)
        if weight is None:
            self.table[0] += np.bincount(key, weights=gap, minlength=width)
            self.table[1] += np.bincount(key, weights=square, minlength=width)
            return key
        self.table[0] += np.bincount(key, weights=weight, minlength=width)
        row_weight = weight
        for at in (1, 3):
            self.table[at] += np.bincount(key, weights=row_weight * gap, minlength=width)
            self.table[at + 1] += np.bincount(key, weights=row_weight * square, minlength=width)
            row_weight = row_weight * weight
        return key

    def place(self, key: NDArray[np.int64]) -> NDArray[np.int64]:
        """The bin of each key."""
        return self.bins - 1 - key % self.bins

    def reliability(self) -> Reliability:
        """What was added."""
        # Axes: y, bin.
        cases = self.cases.reshape(2, -1)[:, ::-1]
        tables = self.table.reshape(len(self.table), 2, -1)[:, :, ::-1]
        if self.weighted:
            counts, gap, square, heavy_gap, heavy_square = tables
        else:
            counts, (gap, square) = cases.astype(np.float64), tables
            heavy_gap, heavy_square = gap, square
        return Reliability(
            cases=cases.sum(axis=0),
            weight=counts.sum(axis=0),
            observed=counts[1].copy(),
            gap=gap.sum(axis=0),
            squares=square.sum(axis=0),
            # p(1 − p) = g − g² with g = |y − p|, whichever y is.
            spread=np.maximum((np.abs(gap) - square).sum(axis=0), 0.0),
            noise=heavy_square.sum(axis=0),
            expected_noise=np.maximum((np.abs(heavy_gap) - heavy_square).sum(axis=0), 0.0),
        )


def no_reliability() -> Reliability:
    """No bins."""
    nothing = np.zeros(0)
    return Reliability(np.zeros(0, dtype=np.int64), *[nothing] * 7)


Groups = tuple[Integers, NDArray[Any]]

# Rows of a block. BLAS shares a product of more than 10,000 numbers among threads, which costs more than it saves.
BLOCK = 1 << 13
# Rows of a block where Polars reads meanwhile: longer ones took less time there, though they leave the cache.
LONG_BLOCK = 1 << 17
# Numbers in one block of a table with a column per class.
CLASS_BLOCK = 1 << 16


def tally(
    probability: NDArray[Any],
    positive: NDArray[np.bool_],
    weight: Floats | None = None,
    bins: int = 10,
    group: Groups | None = None,
    block: int = BLOCK,
) -> Probabilities:
    """Tally probabilities of the positive class; `group` is the code of every case's group and the keys of the codes.

    No bins (0) leave the losses alone, in about half the time. `block` rows are worked on at a time.

    >>> seen = tally(np.array([0.9, 0.2, 0.4]), np.array([True, False, True]))
    >>> round(seen.losses["log_loss"].mean, 4), seen.reliability.cases[:4]
    (0.4149, array([0, 1, 0, 1]))
    """
    n = _checked_rows(probability, 1, positive, weight)
    weighted = weight is not None
    block = min(block, max(n, 1))
    binner = Binner(bins, block, weighted=weighted) if _checked_bins(bins, group) else None
    sums = {name: PowerSums() for name in LOSSES}
    positives = np.zeros(1 + len(LOSSES))
    eps, clipped = least_probability(probability), 0
    kept = None if group is None else _CaseValues(n)
    truth = np.ascontiguousarray(positive, dtype=np.bool_).view(np.int8)
    # A column that is what the arithmetic needs is read where it stands.
    ready = probability.dtype == np.float64 and probability.flags.c_contiguous
    buffers = _own_buffers(block)
    for start in range(0, n, block):
        rows = slice(start, min(start + block, n))
        p, y, gap, square, right = buffers[:5, : rows.stop - start]
        if ready:
            p = probability[rows]
        else:
            p[:] = probability[rows]
        # Written so that nan fails as well.
        if not (np.minimum.reduce(p) >= 0 and np.maximum.reduce(p) <= 1):
            raise _not_probabilities(probability)
        row_weight = None if weight is None else weight[rows]
        y[:] = truth[rows]
        # y − p and |(1 − y) − p| are ±p and 1 − p, each rounded once, whichever class is true.
        np.subtract(y, p, out=gap)
        np.subtract(1.0, y, out=right)
        np.abs(np.subtract(right, p, out=right), out=right)
        np.multiply(gap, gap, out=square)
        key = None if binner is None else binner.add(p, y, gap, square, row_weight)
        raised, number = _raise(right, eps)
        clipped += number
        losses = _losses(CaseProbabilities(right, raised, square))
        for name, loss in losses.items():
            sums[name].add(loss, row_weight, buffers[5:])
        if row_weight is not None:
            np.multiply(y, row_weight, out=y)
        positives += np.add.reduce(y), *(dot(y, loss) for loss in losses.values())
        if kept is not None and binner is not None and key is not None:
            kept.add(rows, losses, binner.place(key), gap)
    moments = {name: own.moments(weighted=weighted) for name, own in sums.items()}
    class_weight, class_losses = _by_class(moments, positives)
    return Probabilities(
        n=n,
        weighted=weighted,
        top_label=False,
        losses=moments,
        clipped=clipped,
        class_weight=class_weight,
        class_losses=class_losses,
        reliability=no_reliability() if binner is None else binner.reliability(),
        groups=None if kept is None or group is None else kept.groups(group, weight, bins, 2),
    )


_thread = threading.local()


def _own_buffers(block: int) -> Floats:
    """Eight rows of so many numbers, which this thread writes to again and again: new memory takes time to get."""
    held: Floats | None = getattr(_thread, "buffers", None)
    if held is None or held.shape[1] < block:
        held = _thread.buffers = np.empty((8, block))
    return held[:, :block]


def _losses(case: CaseProbabilities) -> dict[str, Floats]:
    return {name: loss.formula(case) for name, loss in LOSSES.items()}


def _by_class(moments: dict[str, Moments], positives: Floats) -> tuple[Floats, dict[str, Floats]]:
    """Weight and losses of the negative and the positive class, from those of both and of the positive one."""
    weight = next(iter(moments.values())).weight
    totals = np.array([weight, *(own.total for own in moments.values())])
    # Rounding must not leave less than nothing.
    weights, *losses = np.stack([np.maximum(totals - positives, 0.0), positives], axis=1)
    return weights, dict(zip(moments, losses, strict=True))


def tally_classes(
    probabilities: NDArray[Any],
    codes: NDArray[Any],
    weight: Floats | None = None,
    bins: int = 10,
    group: Groups | None = None,
    n_classes: int | None = None,
) -> Probabilities:
    """Tally one probability per class (a column each) and the column of the true class of every case.

    The rank of the true class is its place when the classes are ordered by probability; among equal ones the later
    column comes first, as in scikit-learn. Rows must sum to 1 within 0.005 per class, at most 0.05; they are taken
    as they are.

    >>> seen = tally_classes(np.array([[0.7, 0.2, 0.1], [0.3, 0.3, 0.4]]), np.array([0, 1]))
    >>> seen.ranks, round(seen.losses["brier"].mean, 3)
    (array([1., 1., 0.]), 0.44)
    """
    n = _checked_rows(probabilities, 2, codes, weight)
    k = _checked_columns(probabilities, codes, n_classes)
    block = max(CLASS_BLOCK // k, 64)
    weighted = weight is not None
    _checked_bins(bins, group, least=1)
    sums = _ClassSums(k, bins, block, weighted=weighted)
    eps = least_probability(probabilities)
    tolerance = sum_tolerance(k)
    kept = None if group is None else _CaseValues(n, ranked=True)
    buffer = np.empty((k, block))
    for start in range(0, n, block):
        rows = slice(start, min(start + block, n))
        # One class after the other: what is done to every case then runs along contiguous memory.
        table = buffer[:, : rows.stop - start]
        table[:] = probabilities[rows].T
        if not (table.min() >= 0 and table.max() <= 1):
            raise _not_probabilities(probabilities)
        if np.abs(np.add.reduce(table, axis=0) - 1).max() > tolerance:
            raise _not_summing(probabilities, tolerance)
        true = codes[rows].astype(np.int64)
        places = sums.add(table, true, None if weight is None else weight[rows], eps)
        if kept is not None:
            kept.add(rows, *places)
    return Probabilities(
        n=n,
        weighted=weighted,
        top_label=True,
        losses={name: own.moments(weighted=weighted) for name, own in sums.losses.items()},
        clipped=sums.clipped,
        class_weight=sums.by_class[0],
        class_losses=dict(zip(LOSSES, sums.by_class[1:], strict=True)),
        reliability=sums.binner.reliability(),
        ranks=sums.ranks[0],
        rank_squares=sums.ranks[1],
        groups=None if kept is None or group is None else kept.groups(group, weight, bins, k),
    )


class _ClassSums:
    """Everything that is summed over blocks of a table with a column per class."""

    def __init__(self, k: int, bins: int, block: int, *, weighted: bool) -> None:
        self.k = k
        self.binner = Binner(bins, block, weighted=weighted)
        self.losses = {name: PowerSums() for name in LOSSES}
        self._spare = np.empty((3, block))
        self.by_class = np.zeros((1 + len(LOSSES), k))
        self.ranks = np.zeros((2, k))
        self.clipped = 0

    def add(
        self, table: Floats, true: Integers, weight: Floats | None, eps: float
    ) -> tuple[dict[str, Floats], Integers, Floats, Integers]:
        """Add a block (class, case), which is overwritten; gives the losses, bin, y − p and rank."""
        k, size = table.shape
        here = np.arange(size)
        right = table[true, here]
        highest = np.maximum.reduce(table, axis=0)
        rank = _ranks(table, true, right)
        y = (rank == 0).astype(np.float64)
        gap = y - highest
        key = self.binner.add(highest, y, gap, gap * gap, weight)
        np.multiply(table, table, out=table)
        norm = np.add.reduce(table, axis=0)
        # The squared difference from the truth, 1 at its class: summed term by term, nothing cancels.
        table[true, here] = (1.0 - right) ** 2
        distance = np.add.reduce(table, axis=0)
        if k == 2:
            distance *= 0.5
        raised, number = _raise(right, eps)
        self.clipped += number
        losses = _losses(CaseProbabilities(right, raised, distance, norm))
        for name, loss in losses.items():
            self.losses[name].add(loss, weight, self._spare)
        row_weight = np.ones(size) if weight is None else weight
        self.by_class += [
            sums_by(true, value, k) for value in (row_weight, *(row_weight * loss for loss in losses.values()))
        ]
        self.ranks += [sums_by(rank, value, k) for value in (row_weight, row_weight * row_weight)]
        return losses, self.binner.place(key), gap, rank


def _ranks(table: Floats, true: Integers, right: Floats) -> Integers:
    """The rank of the true class, from 0: classes above it, and those level with it that stand further right."""
    k = len(table)
    # Sums of small integers stay in their own type as long as they fit, which is many times faster.
    small = np.int8 if k <= 127 else np.int32
    rank: Integers = np.add.reduce((table > right).view(np.int8), axis=0, dtype=small).astype(np.int64)
    level = table == right
    if np.count_nonzero(level) > len(right):
        level &= np.arange(k)[:, None] > true
        rank += np.add.reduce(level.view(np.int8), axis=0, dtype=small)
    return rank


class _CaseValues:
    """Losses and bins of every case, kept while the groups are not yet summed."""

    def __init__(self, n: int, *, ranked: bool = False) -> None:
        self.floats = np.empty((len(LOSSES) + 1, n))
        self.place = np.empty(n, dtype=np.int64)
        self.rank = np.empty(n, dtype=np.int64) if ranked else None

    def add(
        self, rows: slice, losses: dict[str, Floats], place: Integers, gap: Floats, rank: Integers | None = None
    ) -> None:
        """Keep a block."""
        self.floats[:, rows] = *losses.values(), gap
        self.place[rows] = place
        if self.rank is not None and rank is not None:
            self.rank[rows] = rank

    def groups(self, group: Groups, weight: Floats | None, bins: int, k: int) -> ProbabilityGroups:
        """The sums of each group."""
        codes, keys = group[0].astype(np.int64), group[1]
        row_weight = np.ones(len(codes)) if weight is None else weight
        *losses, gap = self.floats * row_weight
        size = len(keys)
        return ProbabilityGroups(
            keys,
            sums_by(codes, row_weight, size),
            {name: sums_by(codes, loss, size) for name, loss in zip(LOSSES, losses, strict=True)},
            SparseSums.of(codes, self.place, gap, bins),
            None if self.rank is None else SparseSums.of(codes, self.rank, row_weight, k),
        )


def _raise(right: Floats, eps: float) -> tuple[Floats, int]:
    """The column with what is below eps raised to it, and how many those are."""
    if np.minimum.reduce(right) >= eps:
        return right, 0
    return np.maximum(right, eps), int(np.count_nonzero(right < eps))


def _checked_bins(bins: int, group: Groups | None, least: int = 0) -> int:
    if group is not None:
        least = 1
    if isinstance(bins, bool) or bins != int(bins) or not least <= bins <= MOST_BINS:
        raise OptionError(
            f"The number of bins must be a whole number from {least} to {MOST_BINS:,}. Got {bins!r}.",
            hint="10 is usual; leave it out.",
        )
    return int(bins)


def _checked_rows(probability: NDArray[Any], axes: int, truth: NDArray[Any], weight: Floats | None) -> int:
    if probability.ndim != axes or probability.dtype.kind not in "fiub":
        shape = "one number per case" if axes == 1 else "a table of numbers with a row per case and a column per class"
        raise ValuesError(
            f"Probabilities must be {shape}. Got {probability.ndim} axes of type {probability.dtype}.",
            hint="one column is for two classes; more need a column each.",
        )
    n = len(probability)
    for name, column in (("truth", truth), ("weight", weight)):
        if column is not None and len(column) != n:
            raise ValuesError(
                f"There are {n:,} rows of probabilities and {len(column):,} of {name}.",
                hint="give one of each for every case.",
            )
    return n


def _checked_columns(probabilities: NDArray[Any], codes: NDArray[Any], n_classes: int | None) -> int:
    k = int(probabilities.shape[1])
    needed = max(int(codes.max()) + 1 if len(codes) else 0, n_classes or 0)
    if k < 2 or k < needed or (n_classes is not None and k != n_classes):
        raise ValuesError(
            f"The probabilities have {k} columns, and there are {needed} classes.",
            hint="give one column per class, in the order of the labels; one column alone is for two classes.",
        )
    return k


def _not_probabilities(values: NDArray[Any]) -> ValuesError:
    """The error for values outside [0, 1], with their number and the first."""
    columns = values.reshape(len(values), -1)
    wrong = ~((columns >= 0) & (columns <= 1))
    row, column = (int(i[0]) for i in np.nonzero(wrong))
    rows = int(wrong.any(axis=1).sum())
    value = float(columns[row, column])
    where = f"row {row + 1:,}" if values.ndim == 1 else f"row {row + 1:,}, column {column + 1:,}"
    if np.isnan(value):
        hint = "fill in or drop the rows without a probability."
    elif np.isinf(value) or value < 0 or value > 100:
        hint = "these look like decision values: rank them as scores, or turn them into probabilities first."
    elif value > 1:
        hint = "if these are percentages, divide them by 100; decision values can only be ranked."
    else:
        hint = "use probabilities."
    return ValuesError(
        f"Probabilities must lie between 0 and 1; {rows:,} of {len(columns):,} rows do not, the first with "
        f"{value:g} in {where}.",
        hint=hint,
    )


def _not_summing(values: NDArray[Any], tolerance: float) -> ValuesError:
    """The error for rows that do not sum to 1, with their number and the worst."""
    away = np.abs(values.sum(axis=1, dtype=np.float64) - 1)
    worst = int(np.nanargmax(away))
    return ValuesError(
        f"The probabilities of a case must sum to 1, within {tolerance:.4g}; {int((away > tolerance).sum()):,} of "
        f"{len(values):,} rows do not, and row {worst + 1:,} is the worst with {float(values[worst].sum()):.6g}.",
        hint="divide each row by its sum if these are unscaled shares; scores of another kind can only be ranked.",
    )
