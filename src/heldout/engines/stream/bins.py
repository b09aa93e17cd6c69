"""Scores of two classes, counted batch by batch, with finer bins from the start where the ranking begins.

Average precision hangs on the cases with the highest scores, so those are the bins that a second reading would look
into. Where the first rows show how scores are spread, these bins are counted finely at once, which mostly saves that
second reading.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.engines.bin_counter import BinCounter
from heldout.engines.stream.cells import FAR, Cells, Layout, Rows
from heldout.evidence.score_bins import MOST, POINT, ScoreBins

# This share of the rows, those with the highest scores, is counted finely.
TOP = 1 / 16


class StreamBins:
    """Counts scores; the first rows are kept until there are enough of them to learn where scores lie.

    >>> counter = StreamBins(most=2)
    >>> counter.add(np.array([0.9, 0.4]), np.array([True, False]))
    >>> counter.bins().counts.tolist()
    [[1, 0], [0, 1]]
    """

    def __init__(self, most: int = MOST) -> None:
        self.most = most
        # Counts what lies elsewhere than the first rows did; all there is where those were too few or too alike.
        self.elsewhere = BinCounter(2, most)
        self.grid: Cells | None = None
        self.ahead: Cells | None = None
        self._first: list[Rows] | None = []
        # So many rows tell how fine the grid will be, and where the highest scores lie.
        self._missing = 2 * most
        # Whether a score was too high to be counted finely.
        self._beyond = False
        self._least, self._greatest = np.inf, -np.inf

    def add(self, scores: NDArray[Any], positive: NDArray[np.bool_]) -> None:
        """Count one more batch."""
        if len(scores):
            # The first rows are kept, and whoever gives them may write others to the same place.
            kept = (scores, positive) if self._first is None else (scores.copy(), positive.copy())
            self.add_rows([Rows.of(*kept)])

    def add_rows(self, batch: Sequence[Rows]) -> None:
        """Count one more batch, in the pieces that it comes in."""
        if self._first is not None:
            self._first += batch
            self._missing -= sum(len(rows.scores) for rows in batch)
            if self._missing <= 0:
                self._begin(self._first)
            return
        for rows in batch if self.grid is None else self.grid.add(batch):
            self.elsewhere.add(rows.scores, rows.positive)
        for rows in batch:
            self._least, self._greatest = min(self._least, rows.low), max(self._greatest, rows.high)
        if self.ahead is not None:
            self._add_ahead(batch, self.ahead)

    def _begin(self, first: Sequence[Rows]) -> None:
        """Count the first rows: enough of them, or all there are."""
        self._first = None
        if self._missing <= 0 and (layout := Layout.of(first, self.most)) is not None:
            self.grid = Cells(layout)
        self.add_rows(first)
        if self._missing <= 0 and (layout := _highest(self._coarse())) is not None:
            self.ahead = Cells(layout, few=True)
            self._add_ahead(first, self.ahead)

    def bins(self) -> ScoreBins:
        """Everything that was counted, finely where that was done."""
        if self._first is not None:
            self._begin(self._first)
        made = self._coarse()
        # As they are where scores turned out to be spread otherwise.
        if self.ahead is None or self._beyond or made.base != self.ahead.layout.coarse:
            return made
        return _put(made, self.ahead)

    def _coarse(self) -> ScoreBins:
        made = self.elsewhere.bins()
        if self.grid is None:
            return made
        low, counts = self.grid.table()
        base = self.grid.layout.exponent
        exponent = np.full(len(low), base, dtype=np.int16)
        dense = ScoreBins(low, exponent, counts, base, self._least, self._greatest, most=self.most)
        return dense.settled() if not len(made) else made + dense

    def _add_ahead(self, batch: Sequence[Rows], cells: Cells) -> None:
        """Count finely those of the rows that are high enough, as long as none is too high."""
        # As floats of 64 bits, beside which narrow scores are widened.
        low, end = np.float64(cells.layout.low), cells.layout.end
        self._beyond = self._beyond or any(rows.high >= end for rows in batch)
        if self._beyond:
            return
        high = [np.flatnonzero(rows.scores >= low) for rows in batch]
        taken = zip(batch, high, strict=True)
        cells.add([Rows(rows.scores[some], rows.positive[some], low, rows.high) for rows, some in taken])


def _highest(bins: ScoreBins) -> Layout | None:
    """Fine bins for the highest of the scores that are spread like these; None where that is of no use."""
    if bins.base == POINT or abs(bins.base) > 500 or not len(bins):
        return None
    rows = np.cumsum((bins.counts[:, 0] + bins.counts[:, 1])[::-1])
    cut = len(bins) - 1 - int(np.searchsorted(rows, TOP * rows[-1]))
    with np.errstate(over="ignore"):
        ends = np.floor(np.ldexp([bins.low[cut], bins.greatest], -bins.base))
    if not (np.abs(ends) < FAR).all():
        return None
    first, last = map(int, ends)
    # A margin for scores that are still to come.
    size = last - first + 1 + (last - first) // 16 + 8
    depth = (2 * bins.most // size).bit_length() - 1
    if depth < 1 or max(abs(first), abs(first + size)) << depth >= FAR or (first < 0 and bins.base - depth > 0):
        return None
    return Layout(bins.base - depth, first << depth, size << depth, depth)


def _put(bins: ScoreBins, ahead: Cells) -> ScoreBins:
    """The bins with fine ones in the place of the highest."""
    kept = int(np.searchsorted(bins.low, ahead.layout.low))
    low, fine = ahead.table()
    if not all(int(fine[:, at].sum()) == int(bins.counts[kept:, at].sum()) for at in (0, 1)):
        message = "the same rows were counted differently in coarse and in fine bins"
        raise RuntimeError(message)
    return replace(
        bins,
        low=np.concatenate([bins.low[:kept], low]),
        exponent=np.append(bins.exponent[:kept], np.full(len(low), ahead.layout.exponent, dtype=np.int16)),
        counts=np.concatenate([bins.counts[:kept], fine]),
        refined=bins.refined + len(low),
    )
