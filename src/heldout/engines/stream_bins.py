"""Scores of two classes, counted batch by batch, with finer bins from the start where the ranking begins.

Average precision hangs on the cases with the highest scores, so those are the bins that a second reading would look
into. Where the first rows show how scores are spread, these bins are counted finely at once, which mostly saves that
second reading.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.engines.score_bins import BinCounter
from heldout.engines.stream_cells import FAR, Cells, Layout, Rows
from heldout.evidence.score_bins import MOST, POINT, ScoreBins

# This share of the rows, those with the highest scores, is counted finely.
TOP = 1 / 16


class StreamBins:
    """Counts scores from several threads; the first rows are looked at all at once, to learn where scores lie.

    What comes of it depends on the first rows, and not on which thread is the quicker.

    >>> counter = StreamBins(most=2)
    >>> counter.begin([(np.array([0.9, 0.4]), np.array([True, False]))])
    >>> counter.bins().counts.tolist()
    [[1, 0], [0, 1]]
    """

    def __init__(self, most: int = MOST) -> None:
        self.most = most
        # So many rows tell how fine the grid will be, and where the highest scores lie.
        self.enough = 2 * most
        # Counts what lies elsewhere than the first rows did; all there is where those were too few or too alike.
        self.elsewhere = BinCounter(2, most)
        self.lock = threading.Lock()
        self.grid: Layout | None = None
        self.ahead: Layout | None = None
        self._parts: list[ThreadBins] = []
        self._own = self.own()

    def own(self) -> ThreadBins:
        """Counters for one thread, which are added to the others at the end."""
        self._parts.append(made := ThreadBins(self))
        return made

    def begin(self, first: Sequence[tuple[NDArray[Any], NDArray[np.bool_]]]) -> None:
        """Count the first rows: enough of them, or all there are."""
        if not first:
            return
        scores, positive = (np.concatenate(parts) for parts in zip(*first, strict=True))
        if len(scores) < self.enough:
            self.elsewhere.add(scores, positive)
            return
        rows = Rows.of(scores, positive)
        self.grid = Layout.of(rows, self.most)
        self._own.add([rows])
        self.ahead = _highest(self._coarse())
        self._own.add_ahead([rows])

    def add(self, scores: NDArray[Any], positive: NDArray[np.bool_]) -> None:
        """Count one more batch, where one thread does it all."""
        self._own.add([Rows.of(scores, positive)])

    def bins(self) -> ScoreBins:
        """Everything that was counted, finely where that was done."""
        made = self._coarse()
        parts = [part.ahead for part in self._parts if part.ahead is not None]
        # As they are where scores turned out to be spread otherwise.
        if self.ahead is None or made.base != self.ahead.coarse or any(part.beyond for part in self._parts):
            return made
        return _put(made, self.ahead, _total(parts))

    def _coarse(self) -> ScoreBins:
        made = self.elsewhere.bins()
        parts = [part.grid for part in self._parts if part.grid is not None]
        if self.grid is None or not parts:
            return made
        low, counts = self.grid.table(_total(parts))
        exponent = np.full(len(low), self.grid.exponent, dtype=np.int16)
        ends = min(part.least for part in self._parts), max(part.greatest for part in self._parts)
        dense = ScoreBins(low, exponent, counts, self.grid.exponent, *ends, most=self.most)
        return dense.settled() if not len(made) else made + dense


class ThreadBins:
    """What one thread counts."""

    def __init__(self, whole: StreamBins) -> None:
        self._whole = whole
        self.grid: Cells | None = None
        self.ahead: Cells | None = None
        # Whether a score was too high to be counted finely.
        self.beyond = False
        self.least, self.greatest = np.inf, -np.inf

    def add(self, batch: Sequence[Rows]) -> None:
        """Count one more batch, in the pieces that it comes in."""
        whole = self._whole
        if whole.grid is None:
            with whole.lock:
                for rows in batch:
                    whole.elsewhere.add(rows.scores, rows.positive)
        else:
            if self.grid is None:
                self.grid = Cells(whole.grid)
            for rows in self.grid.add(batch):
                with whole.lock:
                    whole.elsewhere.add(rows.scores, rows.positive)
        for rows in batch:
            self.least, self.greatest = min(self.least, rows.low), max(self.greatest, rows.high)
        self.add_ahead(batch)

    def add_ahead(self, batch: Sequence[Rows]) -> None:
        """Count finely those of the rows that are high enough."""
        layout = self._whole.ahead
        if layout is None or self.beyond:
            return
        if self.ahead is None:
            self.ahead = Cells(layout)
        for rows in batch:
            self.beyond |= rows.high >= layout.end
            if not self.beyond:
                high = np.flatnonzero(rows.scores >= layout.low)
                self.ahead.add([Rows(rows.scores[high], rows.positive[high], layout.low, rows.high)])


def _highest(bins: ScoreBins) -> Layout | None:
    """Fine bins for the highest of the scores that are spread like these; None where that is of no use."""
    if bins.base == POINT or abs(bins.base) > 500 or not len(bins):
        return None
    rows = np.cumsum((bins.counts[:, 0] + bins.counts[:, 1])[::-1])
    cut = len(bins) - 1 - int(np.searchsorted(rows, TOP * rows[-1]))
    first, last = (int(np.floor(np.ldexp(end, -bins.base))) for end in (bins.low[cut], bins.greatest))
    # A margin for scores that are still to come.
    size = last - first + 1 + (last - first) // 16 + 8
    depth = (2 * bins.most // size).bit_length() - 1
    if depth < 1 or max(abs(first), abs(first + size)) << depth >= FAR or (first < 0 and bins.base - depth > 0):
        return None
    return Layout(bins.base - depth, first << depth, size << depth, depth)


def _total(parts: Sequence[Cells]) -> NDArray[Any]:
    """The counts of all threads."""
    total = np.zeros(2 * parts[0].layout.size, dtype=np.int64 if any(part.wide for part in parts) else np.uint32)
    for part in parts:
        part.add_to(total)
    return total


def _put(bins: ScoreBins, ahead: Layout, counts: NDArray[Any]) -> ScoreBins:
    """The bins with fine ones in the place of the highest."""
    kept = int(np.searchsorted(bins.low, ahead.low))
    low, fine = ahead.table(counts)
    if not np.array_equal(fine.sum(axis=0), bins.counts[kept:].sum(axis=0)):
        message = "the same rows were counted differently in coarse and in fine bins"
        raise RuntimeError(message)
    return replace(
        bins,
        low=np.concatenate([bins.low[:kept], low]),
        exponent=np.append(bins.exponent[:kept], np.full(len(low), ahead.exponent, dtype=np.int16)),
        counts=np.concatenate([bins.counts[:kept], fine]),
        refined=bins.refined + len(low),
    )
