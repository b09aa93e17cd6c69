"""The scores of all rows and of every fold, counted batch after batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from heldout.engines.bin_counter import BinCounter
from heldout.engines.counting import most_bins
from heldout.engines.probabilities import tally, tally_classes
from heldout.engines.stream.bins import StreamBins
from heldout.engines.stream.rows import Scored
from heldout.evidence import Label
from heldout.evidence.counted import ScoreTally, class_columns, sided
from heldout.evidence.probabilities import Probabilities
from heldout.evidence.score_bins import MOST, ScoreBins
from heldout.evidence.unfit import Unfit


@dataclass(frozen=True)
class Kind:
    """What scores are: one for each of these labels, or one for the positive class where there are none."""

    labels: tuple[Label, ...]
    weighted: bool

    def counters(self) -> list[BinCounter] | StreamBins:
        """What counts such scores, for every class or for one."""
        k = len(self.labels)
        if k:
            return [BinCounter(class_columns(k), most_bins(k), self.weighted) for _ in range(k)]
        return [BinCounter(2, MOST, weighted=True)] if self.weighted else StreamBins(MOST)


class Tallies:
    """Counts the scores of all rows, and those of each fold by itself.

    >>> import numpy as np
    >>> tallies = Tallies(Kind((), weighted=False))
    >>> tallies.add(Scored(np.array([0.5, 0.2]), np.array([True, False]), probable=True))
    >>> made, folds = tallies.made((), None)
    >>> made.bins[0].low, made.probabilities.n, folds
    (array([0.2, 0.5]), 2, ())
    """

    def __init__(self, kind: Kind) -> None:
        self._kind = kind
        self._whole = _Running(kind)
        self._folds: dict[Any, _Running] = {}

    def add(self, scored: Scored) -> None:
        """Count one more batch."""
        self._whole.add(scored)
        for key, rows in scored.folds().items():
            if key not in self._folds:
                self._folds[key] = _Running(self._kind)
            self._folds[key].add(rows)

    def made(self, folds: Sequence[Any], why: Unfit | None) -> tuple[ScoreTally, tuple[ScoreTally, ...]]:
        """The tally of all rows and those of the folds with these keys; `why` says why they are no probabilities."""
        return self._whole.tally(why), tuple(self._folds[key].tally(why) for key in folds)


class _Running:
    def __init__(self, kind: Kind) -> None:
        self._kind = kind
        self._counters = kind.counters()
        self._losses: Probabilities | None = None

    def add(self, scored: Scored) -> None:
        k = len(self._kind.labels)
        if isinstance(self._counters, StreamBins):
            self._counters.add(scored.scores, scored.codes)
        else:
            for place, counter in enumerate(self._counters):
                values = scored.scores[:, place] if k else scored.scores
                counter.add(values, sided(scored.codes, place, k) if k else scored.codes, scored.weight)
        if not scored.probable:
            return
        if k:
            losses = tally_classes(scored.scores, scored.codes, scored.weight, n_classes=k)
        else:
            losses = tally(scored.scores, scored.codes, scored.weight)
        self._losses = losses if self._losses is None else self._losses + losses

    def tally(self, why: Unfit | None) -> ScoreTally:
        return ScoreTally(self._bins(), self._losses if why is None else None, why, self._kind.labels)

    def _bins(self) -> tuple[ScoreBins, ...]:
        held = [self._counters] if isinstance(self._counters, StreamBins) else self._counters
        return tuple(counter.bins() for counter in held)
