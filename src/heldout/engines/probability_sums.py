"""Tallying predicted probabilities that are in memory: one pass in blocks that stay in the processor's cache."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arrays import Floats, Integers
from heldout.errors import ValuesError
from heldout.evidence.losses import LOSSES, CaseProbabilities, least_probability
from heldout.evidence.probabilities import Moments, Probabilities, ProbabilityGroups, SparseSums, sums_by
from heldout.evidence.probability_bins import USUAL_BINS
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
        return Moments.of_powers(self.centre, self.sums if weighted else self.sums[:1])


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

    def sides(self) -> tuple[Integers, Floats]:
        """What was added, as `Reliability.of_sides` takes it."""
        cases = self.cases.reshape(2, -1)[:, ::-1]
        sums = self.table.reshape(len(self.table), 2, -1)[:, :, ::-1]
        return cases, sums if self.weighted else np.concatenate([cases[None].astype(np.float64), sums])


Groups = tuple[Integers, NDArray[Any]]

# Rows of a block: their products stay in one thread, too.
BLOCK = SHORT
# Rows of a block where Polars reads meanwhile: longer ones took less time there, though they leave the cache.
LONG_BLOCK = 1 << 17
# Numbers in one block of a table with a column per class.
CLASS_BLOCK = 1 << 16


class LossSums:
    """What the losses and the bins of probabilities add up to, block after block of at most so many cases."""

    def __init__(self, block: int, *, weighted: bool) -> None:
        self.weighted = weighted
        self.binner = Binner(USUAL_BINS, block, weighted=weighted)
        self.powers = {name: PowerSums() for name in LOSSES}
        self.clipped = 0

    def losses(self, right: Floats, distance: Floats, norm: Floats | None, eps: float) -> dict[str, Floats]:
        """The losses of a block by what `CaseProbabilities` is made of; what is raised to eps is counted."""
        raised = right
        if np.minimum.reduce(right) < eps:
            raised = np.maximum(right, eps)
            self.clipped += int(np.count_nonzero(right < eps))
        case = CaseProbabilities(right, raised, distance, norm)
        return {name: loss.formula(case) for name, loss in LOSSES.items()}

    def add(self, losses: Mapping[str, Floats], weight: Floats | None, spare: Floats) -> None:
        """Add the losses of a block; `spare` is as `PowerSums.add` has it."""
        for name, loss in losses.items():
            self.powers[name].add(loss, weight, spare)

    def made_of_two(self, positives: Floats, groups: ProbabilityGroups | None = None) -> Probabilities:
        """The evidence of two classes; `positives` are the weight of the positive one, and its share of each loss."""
        moments = [own.moments(weighted=self.weighted) for own in self.powers.values()]
        totals = np.array([moments[0].weight, *(own.total for own in moments)])
        # Rounding must not leave less than nothing.
        return self.made(np.stack([np.maximum(totals - positives, 0.0), positives], axis=1), groups)

    def made(
        self, by_class: Floats, groups: ProbabilityGroups | None = None, ranks: Floats | None = None
    ) -> Probabilities:
        """The evidence; `by_class` are the weights of the classes, and their shares of each loss.

        `ranks` are the weights of the ranks of the true class, and their squares, where each class has a column.
        """
        losses = [own.moments(weighted=self.weighted) for own in self.powers.values()]
        return Probabilities.of_sums(*self.binner.sides(), losses, by_class, self.clipped, ranks, groups)


def tally(
    probability: NDArray[Any],
    positive: NDArray[np.bool_],
    weight: Floats | None = None,
    group: Groups | None = None,
    block: int = BLOCK,
) -> Probabilities:
    """Tally probabilities of the positive class; `group` is the code of every case's group and the keys of the codes.

    `block` rows are worked on at a time.

    >>> seen = tally(np.array([0.9, 0.2, 0.4]), np.array([True, False, True]))
    >>> round(seen.losses["log_loss"].mean, 4), seen.reliability.cases[:4]
    (0.4149, array([0, 1, 0, 1]))
    """
    n = len(probability)
    block = min(block, max(n, 1))
    sums, positives = LossSums(block, weighted=weight is not None), np.zeros(1 + len(LOSSES))
    eps, kept = least_probability(probability), None if group is None else _CaseValues(n, group)
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
            check_probabilities(probability)
        row_weight = None if weight is None else weight[rows]
        y[:] = truth[rows]
        # y − p and |(1 − y) − p| are ±p and 1 − p, each rounded once, whichever class is true.
        np.subtract(y, p, out=gap)
        np.subtract(1.0, y, out=right)
        np.abs(np.subtract(right, p, out=right), out=right)
        np.multiply(gap, gap, out=square)
        key = sums.binner.add(p, y, gap, square, row_weight)
        losses = sums.losses(right, square, None, eps)
        sums.add(losses, row_weight, buffers[5:])
        if row_weight is not None:
            np.multiply(y, row_weight, out=y)
        positives += np.add.reduce(y), *(dot(y, loss) for loss in losses.values())
        if kept is not None:
            kept.add(rows, losses, gap, sums.binner.place(key), 0)
    return sums.made_of_two(positives, None if kept is None else kept.groups(weight))


_thread = threading.local()


def _own_buffers(block: int) -> Floats:
    """Eight rows of so many numbers, which this thread writes to again and again: new memory takes time to get."""
    held: Floats | None = getattr(_thread, "buffers", None)
    if held is None or held.shape[1] < block:
        held = _thread.buffers = np.empty((8, block))
    return held[:, :block]


def tally_classes(
    probabilities: NDArray[Any], codes: NDArray[Any], weight: Floats | None = None, group: Groups | None = None
) -> Probabilities:
    """Tally one probability per class (a column each) and the column of the true class of every case.

    The rank of the true class is its place when the classes are ordered by probability; among equal ones the later
    column comes first, as in scikit-learn. Rows must sum to 1 within 0.005 per class, at most 0.05; they are taken
    as they are.

    >>> seen = tally_classes(np.array([[0.7, 0.2, 0.1], [0.3, 0.3, 0.4]]), np.array([0, 1]))
    >>> seen.ranks, round(seen.losses["brier"].mean, 3)
    (array([1., 1., 0.]), 0.44)
    """
    n, k = probabilities.shape
    block = max(CLASS_BLOCK // k, 64)
    sums = LossSums(block, weighted=weight is not None)
    by_class, ranks = np.zeros((1 + len(LOSSES), k)), np.zeros((2, k))
    eps, tolerance = least_probability(probabilities), sum_tolerance(k)
    kept = None if group is None else _CaseValues(n, group, k)
    buffer, spare = np.empty((k, block)), np.empty((3, block))
    for start in range(0, n, block):
        rows = slice(start, min(start + block, n))
        here = np.arange(rows.stop - start)
        # One class after the other: what is done to every case then runs along contiguous memory.
        table = buffer[:, : len(here)]
        table[:] = probabilities[rows].T
        sound = table.min() >= 0 and table.max() <= 1
        if not (sound and np.abs(np.add.reduce(table, axis=0) - 1).max() <= tolerance):
            check_probabilities(probabilities)
        true, row_weight = codes[rows].astype(np.int64), None if weight is None else weight[rows]
        right, highest = table[true, here], np.maximum.reduce(table, axis=0)
        rank = _ranks(table, true, right)
        y = (rank == 0).astype(np.float64)
        gap = y - highest
        key = sums.binner.add(highest, y, gap, gap * gap, row_weight)
        np.multiply(table, table, out=table)
        norm = np.add.reduce(table, axis=0)
        # The squared difference from the truth, 1 at its class: summed term by term, nothing cancels.
        table[true, here] = (1.0 - right) ** 2
        distance = np.add.reduce(table, axis=0)
        if k == 2:
            distance *= 0.5
        losses = sums.losses(right, distance, norm, eps)
        sums.add(losses, row_weight, spare)
        held = np.ones(len(here)) if row_weight is None else row_weight
        by_class += [sums_by(true, value, k) for value in (held, *(held * loss for loss in losses.values()))]
        ranks += [sums_by(rank, value, k) for value in (held, held * held)]
        if kept is not None:
            kept.add(rows, losses, gap, sums.binner.place(key), rank)
    return sums.made(by_class, None if kept is None else kept.groups(weight), ranks)


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
    """Losses and bins of every case, and the rank of its class among `k`, kept while the groups are not yet summed."""

    def __init__(self, n: int, group: Groups, k: int = 0) -> None:
        self.group, self.k = group, k
        self.floats = np.empty((len(LOSSES) + 1, n))
        self.place, self.rank = np.empty((2, n), dtype=np.int64)

    def add(self, rows: slice, losses: dict[str, Floats], gap: Floats, place: Integers, rank: Integers | int) -> None:
        """Keep a block."""
        self.floats[:, rows] = *losses.values(), gap
        self.place[rows], self.rank[rows] = place, rank

    def groups(self, weight: Floats | None) -> ProbabilityGroups:
        """The sums of each group."""
        codes, keys = self.group[0].astype(np.int64), self.group[1]
        row_weight = np.ones(len(codes)) if weight is None else weight
        *losses, gap = self.floats * row_weight
        size = len(keys)
        return ProbabilityGroups(
            keys,
            sums_by(codes, row_weight, size),
            {name: sums_by(codes, loss, size) for name, loss in zip(LOSSES, losses, strict=True)},
            SparseSums.of(codes, self.place, gap, USUAL_BINS),
            SparseSums.of(codes, self.rank, row_weight, self.k) if self.k else None,
        )


def check_probabilities(values: NDArray[Any]) -> None:
    """Refuse values that are no probabilities, and rows of several that do not sum to 1.

    >>> check_probabilities(np.array([0.2, 1.0]))
    """
    # Written so that nan fails as well.
    if not (values.min(initial=0.0) >= 0 and values.max(initial=1.0) <= 1):
        raise _not_probabilities(values)
    tolerance = sum_tolerance(values.shape[-1])
    if values.ndim == 2 and (np.abs(values.sum(axis=1, dtype=np.float64) - 1) > tolerance).any():
        raise _not_summing(values, tolerance)


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
