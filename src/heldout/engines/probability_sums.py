"""Tallying predicted probabilities that are in memory: one pass in blocks that stay in the processor's cache."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arrays import Floats, Integers
from heldout.errors import OptionError, ValuesError
from heldout.evidence.probabilities import Moments, Probabilities, ProbabilityGroups, Reliability, SparseSums, sums_by
from heldout.predictions.scores import sum_tolerance

# Sums that grow block by block: power sums of losses, and cases in bins by their probability.

# A probability this near to an edge, in widths of a bin, is compared with the edge itself: multiplying rounds.
NEAR_EDGE = 1e-9


# BLAS shares a product of more than 10,000 numbers among threads, which costs more than it saves.
SHORT = 1 << 13


def dot(one: Floats, two: Floats) -> float:
    """The sum of products, of columns of any length, in one thread.

    >>> dot(np.ones(10_000), np.full(10_000, 2.0))
    20000.0
    """
    whole = len(one) // SHORT * SHORT
    rest = float(one[whole:] @ two[whole:])
    if not whole:
        return rest
    pieces = np.vecdot(one[:whole].reshape(-1, SHORT), two[:whole].reshape(-1, SHORT))
    return float(np.add.reduce(pieces)) + rest


class PowerSums:
    """Power sums of a loss about the mean of its first block."""

    def __init__(self, block: int) -> None:
        self.centre = 0.0
        self.sums = np.zeros((3, 4))
        self._away, self._square, self._product = np.empty((3, block))
        self._begun = False

    def add(self, loss: Floats, weight: Floats | None) -> None:
        """Add a block of losses."""
        size = len(loss)
        if not self._begun:
            self._begun, self.centre = True, float(np.add.reduce(loss) / size)
        away = np.subtract(loss, self.centre, out=self._away[:size])
        square = np.multiply(away, away, out=self._square[:size])
        if weight is None:
            # Only the first row is summed here; without weights the three are equal.
            self.sums[0] += size, np.add.reduce(away), away @ away, square @ away
            return
        held = self._product[:size]
        held[:] = weight
        for power in range(3):
            self.sums[power] += np.add.reduce(held), held @ away, held @ square, (held * square) @ away
            np.multiply(held, weight, out=held)

    def add_long(self, loss: Floats, away: Floats, square: Floats) -> None:
        """Add a block of any length without weights; the last two columns are there to be written to."""
        size = len(loss)
        if not self._begun:
            self._begun, self.centre = True, float(np.add.reduce(loss) / size)
        np.subtract(loss, self.centre, out=away)
        np.multiply(away, away, out=square)
        self.sums[0] += size, np.add.reduce(away), dot(away, away), dot(square, away)

    def moments(self, *, weighted: bool, negated: bool = False) -> Moments:
        """What was added, or its negative, about the mean."""
        sums = self.sums if weighted else np.repeat(self.sums[:1], 3, axis=0)
        if negated:
            return Moments(-self.centre, sums * [1.0, -1.0, 1.0, -1.0]).centred()
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
        held = weight
        for at in (1, 3):
            self.table[at] += np.bincount(key, weights=held * gap, minlength=width)
            self.table[at + 1] += np.bincount(key, weights=held * square, minlength=width)
            held = held * weight
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
            held, gap, square, heavy_gap, heavy_square = tables
        else:
            held, (gap, square) = cases.astype(np.float64), tables
            heavy_gap, heavy_square = gap, square
        return Reliability(
            cases=cases.sum(axis=0),
            weight=held.sum(axis=0),
            observed=held[1].copy(),
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
MOST_BINS = 10_000


def tally(
    probability: NDArray[Any],
    positive: NDArray[np.bool_],
    weight: Floats | None = None,
    bins: int = 10,
    group: Groups | None = None,
) -> Probabilities:
    """Tally probabilities of the positive class; `group` is the code of every case's group and the keys of the codes.

    No bins (0) leave the losses alone, in about half the time.

    >>> seen = tally(np.array([0.9, 0.2, 0.4]), np.array([True, False, True]))
    >>> round(seen.log_loss.mean, 4), seen.reliability.cases[:4]
    (0.4149, array([0, 1, 0, 1]))
    """
    n = _checked_rows(probability, 1, positive, weight)
    weighted = weight is not None
    binner = Binner(bins, BLOCK, weighted=weighted) if _checked_bins(bins, group) else None
    brier, log_loss = PowerSums(BLOCK), PowerSums(BLOCK)
    positives = np.zeros(3)
    eps, clipped = _least(probability), 0
    kept = None if group is None else _Kept(n)
    truth = np.ascontiguousarray(positive, dtype=np.bool_).view(np.int8)
    # A column that is what the arithmetic needs is read where it stands.
    ready = probability.dtype == np.float64 and probability.flags.c_contiguous
    buffers = np.empty((5, min(BLOCK, max(n, 1))))
    for start in range(0, n, BLOCK):
        rows = slice(start, min(start + BLOCK, n))
        p, y, gap, square, right = buffers[:, : rows.stop - start]
        if ready:
            p = probability[rows]
        else:
            p[:] = probability[rows]
        # Written so that nan fails as well.
        if not (np.minimum.reduce(p) >= 0 and np.maximum.reduce(p) <= 1):
            raise _not_probabilities(probability)
        held = None if weight is None else weight[rows]
        y[:] = truth[rows]
        # y − p and |(1 − y) − p| are ±p and 1 − p, each rounded once, whichever class is true.
        np.subtract(y, p, out=gap)
        np.subtract(1.0, y, out=right)
        np.abs(np.subtract(right, p, out=right), out=right)
        np.multiply(gap, gap, out=square)
        key = None if binner is None else binner.add(p, y, gap, square, held)
        brier.add(square, held)
        clipped += _clip(right, eps)
        logs = np.log(right, out=right)
        log_loss.add(logs, held)
        if held is not None:
            np.multiply(y, held, out=y)
        positives += np.add.reduce(y), y @ square, -(y @ logs)
        if kept is not None and binner is not None and key is not None:
            kept.add(rows, square, -logs, binner.place(key), gap)
    moments = brier.moments(weighted=weighted), log_loss.moments(weighted=weighted, negated=True)
    totals = np.array([moments[0].weight, moments[0].total, moments[1].total])
    # Rounding must not leave less than nothing.
    class_weight, class_brier, class_log_loss = np.stack([np.maximum(totals - positives, 0.0), positives], axis=1)
    return Probabilities(
        n=n,
        weighted=weighted,
        top_label=False,
        brier=moments[0],
        log_loss=moments[1],
        clipped=clipped,
        class_weight=class_weight,
        class_brier=class_brier,
        class_log_loss=class_log_loss,
        reliability=no_reliability() if binner is None else binner.reliability(),
        groups=None if kept is None or group is None else kept.groups(group, weight, bins, 2),
    )


class RunningTally:
    """What `tally` counts of probabilities without weights and groups, that come in pieces.

    The caller sees to it that all of them are floats of 64 bits between 0 and 1.

    >>> seen = RunningTally()
    >>> for p, y in ((0.9, True), (0.2, False), (0.4, True)):
    ...     seen.add(np.array([p]), np.array([y]))
    >>> round(seen.probabilities().log_loss.mean, 4)
    0.4149
    """

    def __init__(self, bins: int = 10) -> None:
        self._binner = Binner(bins, LONG_BLOCK, weighted=False)
        self._brier, self._log_loss = PowerSums(0), PowerSums(0)
        self._positive_log_loss, self._clipped = 0.0, 0
        self._buffers = np.empty((5, LONG_BLOCK))

    def add(self, probability: Floats, positive: NDArray[np.bool_]) -> None:
        """Add some cases."""
        eps = _least(probability)
        truth = positive.view(np.int8)
        for start in range(0, len(probability), LONG_BLOCK):
            p = probability[start : start + LONG_BLOCK]
            y, gap, square, right, spare = self._buffers[:, : len(p)]
            np.copyto(y, truth[start : start + LONG_BLOCK])
            np.subtract(y, p, out=gap)
            np.subtract(1.0, y, out=right)
            np.abs(np.subtract(right, p, out=right), out=right)
            np.multiply(gap, gap, out=square)
            self._binner.add(p, y, gap, square, None)
            self._brier.add_long(square, gap, spare)
            self._clipped += _clip(right, eps)
            logs = np.log(right, out=right)
            self._positive_log_loss -= dot(y, logs)
            self._log_loss.add_long(logs, gap, spare)

    def probabilities(self) -> Probabilities:
        """What was added."""
        brier, log_loss = self._brier.moments(weighted=False), self._log_loss.moments(weighted=False, negated=True)
        # The bins keep the classes apart, and the negative one first.
        cases, squares = (held.reshape(2, -1).sum(axis=1) for held in (self._binner.cases, self._binner.table[1]))
        totals = np.array([brier.weight, brier.total, log_loss.total])
        positives = np.array([float(cases[1]), squares[1], self._positive_log_loss])
        class_weight, class_brier, class_log_loss = np.stack([np.maximum(totals - positives, 0.0), positives], axis=1)
        return Probabilities(
            n=int(cases.sum()),
            weighted=False,
            top_label=False,
            brier=brier,
            log_loss=log_loss,
            clipped=self._clipped,
            class_weight=class_weight,
            class_brier=class_brier,
            class_log_loss=class_log_loss,
            reliability=self._binner.reliability(),
        )


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
    column comes first, as in scikit-learn. Rows must sum to 1 within 0.0005 per class, at most 0.01; they are taken
    as they are.

    >>> seen = tally_classes(np.array([[0.7, 0.2, 0.1], [0.3, 0.3, 0.4]]), np.array([0, 1]))
    >>> seen.ranks, round(seen.brier.mean, 3)
    (array([1., 1., 0.]), 0.44)
    """
    n = _checked_rows(probabilities, 2, codes, weight)
    k = _checked_columns(probabilities, codes, n_classes)
    block = max(CLASS_BLOCK // k, 64)
    weighted = weight is not None
    _checked_bins(bins, group, least=1)
    sums = _ClassSums(k, bins, block, weighted=weighted)
    eps = _least(probabilities)
    tolerance = sum_tolerance(k)
    kept = None if group is None else _Kept(n, ranked=True)
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
        brier=sums.brier.moments(weighted=weighted),
        log_loss=sums.log_loss.moments(weighted=weighted),
        clipped=sums.clipped,
        class_weight=sums.by_class[0],
        class_brier=sums.by_class[1],
        class_log_loss=sums.by_class[2],
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
        self.brier, self.log_loss = PowerSums(block), PowerSums(block)
        self.by_class = np.zeros((3, k))
        self.ranks = np.zeros((2, k))
        self.clipped = 0

    def add(
        self, table: Floats, true: Integers, weight: Floats | None, eps: float
    ) -> tuple[Floats, Floats, Integers, Floats, Integers]:
        """Add a block (class, case), which is overwritten; gives Brier loss, log loss, bin, y − p and rank."""
        k, size = table.shape
        here = np.arange(size)
        right = table[true, here]
        highest = np.maximum.reduce(table, axis=0)
        rank = _ranks(table, true, right)
        y = (rank == 0).astype(np.float64)
        gap = y - highest
        key = self.binner.add(highest, y, gap, gap * gap, weight)
        # The difference from the truth, 1 at its class: squared term by term, nothing cancels.
        table[true, here] -= 1.0
        brier = np.add.reduce(np.multiply(table, table, out=table), axis=0)
        if k == 2:
            brier *= 0.5
        self.clipped += _clip(right, eps)
        logs = -np.log(right)
        self.brier.add(brier, weight)
        self.log_loss.add(logs, weight)
        held = np.ones(size) if weight is None else weight
        self.by_class += [sums_by(true, value, k) for value in (held, held * brier, held * logs)]
        self.ranks += [sums_by(rank, value, k) for value in (held, held * held)]
        return brier, logs, self.binner.place(key), gap, rank


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


class _Kept:
    """Losses and places of every case, kept while the groups are not yet summed."""

    def __init__(self, n: int, *, ranked: bool = False) -> None:
        self.floats = np.empty((3, n))
        self.place = np.empty(n, dtype=np.int64)
        self.rank = np.empty(n, dtype=np.int64) if ranked else None

    def add(
        self, rows: slice, brier: Floats, logs: Floats, place: Integers, gap: Floats, rank: Integers | None = None
    ) -> None:
        """Keep a block."""
        self.floats[:, rows] = brier, logs, gap
        self.place[rows] = place
        if self.rank is not None and rank is not None:
            self.rank[rows] = rank

    def groups(self, group: Groups, weight: Floats | None, bins: int, k: int) -> ProbabilityGroups:
        """The sums of each group."""
        codes, keys = group[0].astype(np.int64), group[1]
        held = np.ones(len(codes)) if weight is None else weight
        brier, logs, gap = self.floats * held
        size = len(keys)
        return ProbabilityGroups(
            keys,
            sums_by(codes, held, size),
            sums_by(codes, brier, size),
            sums_by(codes, logs, size),
            SparseSums.of(codes, self.place, gap, bins),
            None if self.rank is None else SparseSums.of(codes, self.rank, held, k),
        )


def _clip(right: Floats, eps: float) -> int:
    """Raise what is below eps to it, and count that."""
    if np.minimum.reduce(right) >= eps:
        return 0
    low = right < eps
    right[low] = eps
    return int(np.count_nonzero(low))


def _least(probability: NDArray[Any]) -> float:
    """The rounding error of the type: scikit-learn's bound on a probability in the log loss."""
    return float(np.finfo(np.float32 if probability.dtype == np.float32 else np.float64).eps)


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
    found = float(columns[row, column])
    where = f"row {row + 1:,}" if values.ndim == 1 else f"row {row + 1:,}, column {column + 1:,}"
    if np.isnan(found):
        hint = "fill in or drop the rows without a probability."
    elif np.isinf(found) or found < 0 or found > 100:
        hint = "these look like decision values: rank them as scores, or turn them into probabilities first."
    elif found > 1:
        hint = "if these are percentages, divide them by 100; decision values can only be ranked."
    else:
        hint = "use probabilities."
    return ValuesError(
        f"Probabilities must lie between 0 and 1; {rows:,} of {len(columns):,} rows do not, the first with "
        f"{found:g} in {where}.",
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
