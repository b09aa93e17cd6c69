"""The scores of all rows and of each fold, counted by several threads at once and the same by however many.

Whole numbers may be added in any order, sums of weights and of losses only in one: that of the batches. So each thread
counts what it can of a batch, and what depends on the order is added in turn, each counter by one thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import chain, count
from operator import add
from typing import Any

import numpy as np

from heldout.engines.bins import BinCounter
from heldout.engines.compiled import CompiledTally
from heldout.engines.labelled_scores import LabelledScores
from heldout.engines.probability_sums import LONG_BLOCK
from heldout.engines.refinement import Recount, refine
from heldout.engines.score_ladder import ScoredRows, ScoreLadder, merge_ladders
from heldout.evidence import Label
from heldout.evidence.counted import ScoreTally, class_columns, most_bins
from heldout.evidence.losses import least_probability
from heldout.evidence.probabilities import Probabilities, Unfit
from heldout.evidence.score_bins import ScoreBins
from heldout.threads import share_in_turn, share_out

# So many counters take turns with the batches of one column of weighted scores, whatever the number of threads.
LANES = 4
# So many threads at most count the scores of one fold at a time, each in a table of its own.
TABLES = 2


@dataclass(frozen=True)
class ScoreKind:
    """What scores are: one for each of these labels, or one for the positive class where there are none."""

    labels: tuple[Label, ...]
    weighted: bool

    @property
    def is_on_ladder(self) -> bool:
        """Whether counts of two classes are all there is to them."""
        return not self.labels and not self.weighted

    def counters(self) -> list[BinCounter]:
        """What counts such scores one batch after the other, for every class or for one."""
        k = len(self.labels)
        return [BinCounter(class_columns(k or 2), most_bins(k), self.weighted) for _ in range(k or 1)]

    def losses(self, rows: LabelledScores) -> Probabilities | None:
        """The sums of losses; None where some scores are no probabilities."""
        return rows.losses(len(self.labels), block=LONG_BLOCK)


# What is left to do of some rows: each function is called by one thread at a time, with each of what it is to take.
Jobs = Iterator[tuple[Callable[..., None], tuple[Any, ...]]]


class _FoldCounter:
    """Counts the scores of one fold, or of all rows where there are no folds."""

    def __init__(self, kind: ScoreKind, *, is_fold: bool, compiled: bool) -> None:
        self.losses: Probabilities | None = None
        self.ladder = ScoreLadder(most_bins(0), tables=TABLES if is_fold else None)
        self._kind, self._compiled, self._number = kind, compiled, 0
        lanes = 0 if kind.is_on_ladder else 1 if is_fold or kind.labels else LANES
        self.lanes = [kind.counters() for _ in range(lanes)]

    def take(self, rows: LabelledScores) -> Callable[[], Jobs]:
        """Count what may be counted in any order, by several threads at once; what is left is told in turn."""
        if self.lanes:
            return partial(self._finish, self._kind.losses(rows), rows)
        ladder, scored = self.ladder, ScoredRows.of(rows.scores, rows.codes)
        ends = scored.low, scored.high
        if not (self._compiled and rows.unfit is None and len(ladder)):
            return partial(self._finish, self._kind.losses(rows), ladder.count(scored), ends)
        # Losses are added alike whether or not rows can be counted yet, which depends on the other threads.
        with ladder.counters() if ladder.is_laid_out else nullcontext() as counters:
            tallied = CompiledTally(ladder.laid_out, counters, None if ladder.crowded else ladder.owners)
            missed = tallied.add(scored.scores, scored.positive, least_probability(scored.scores))
        left = ladder.count(scored) if counters is None else ladder.leave(scored, missed)
        return partial(self._finish, tallied.probabilities(), left, ends)

    def _finish(self, losses: Probabilities | None, rows: Any, ends: tuple[float, float] = (np.inf, -np.inf)) -> Jobs:
        """Add losses, and give what is left to be done."""
        if losses is not None:
            self.losses = losses if self.losses is None else self.losses + losses
        if not self.lanes:
            self.ladder.reach(*ends)
            if rows is not None:
                yield self.ladder.settle, (rows,)
            return
        k, lane = len(self._kind.labels), self.lanes[0]
        if len(self.lanes) > 1 and lane[0].is_laid_out:
            # The first has seen where scores lie.
            lane = self.lanes[self._number % len(self.lanes)]
            lane[0].lay_out_like(self.lanes[0][0])
            self._number += 1
        for at, counter in enumerate(lane):
            yield counter.add, (*rows.column(at, k), rows.weight)

    def bins(self) -> tuple[ScoreBins, ...]:
        """What was counted, for every column of scores."""
        if not self.lanes:
            return (merge_ladders([self.ladder]),)
        first, *others = self.lanes
        for lane in others:
            first[0].absorb(lane[0])
        self.lanes = [first]
        return tuple(share_out(BinCounter.bins, first))


class Tallies:
    """Counts the scores of all rows, and those of each fold by itself; all rows are the sum of their folds.

    `take` may be called by several threads at once; what it gives goes to `settle` in the order of the batches.

    >>> import numpy as np
    >>> tallies = Tallies(ScoreKind((), weighted=False))
    >>> tallies.add(LabelledScores(np.array([0.5, 0.2]), np.array([True, False])))
    >>> made, folds = tallies.made((), None)
    >>> made.bins[0].low, made.probabilities.n, folds
    (array([0.2, 0.5]), 2, ())
    """

    def __init__(self, kind: ScoreKind, *, compiled: bool = False) -> None:
        self._kind, self._compiled = kind, compiled
        # All rows have the key None.
        self._counters: dict[Any, _FoldCounter] = {}
        self._turn = count()

    @property
    def at_once(self) -> int:
        """How many batches are settled together, so that threads can share what is left of them."""
        return LANES if self._kind.weighted and not self._kind.labels else 1

    def add(self, scored: LabelledScores) -> None:
        """Count one more batch."""
        self.settle([self.take(scored)])

    def take(self, scored: LabelledScores) -> list[Callable[[], Jobs]]:
        """Count what may be counted in any order, and give what is left."""
        parts: list[tuple[Any, LabelledScores]] = list(scored.folds().items()) or [(None, scored)]
        # Threads begin with different folds, so that they do not wait for each other.
        first = next(self._turn) % len(parts)
        return [self._counter(key).take(rows) for key, rows in (*parts[first:], *parts[:first])]

    def _counter(self, key: Any) -> _FoldCounter:
        found = self._counters.get(key)
        if found is None:
            # Of two that are made at once one is kept.
            made = _FoldCounter(self._kind, is_fold=key is not None, compiled=self._compiled)
            found = self._counters.setdefault(key, made)
        return found

    def settle(self, batches: Iterable[Sequence[Callable[[], Jobs]]]) -> None:
        """Do what is left of some batches, shared out by what has to be done in turn."""
        jobs: dict[Any, list[Any]] = {}
        for finish in chain.from_iterable(batches):
            for job, rows in finish():
                jobs.setdefault(job, []).append(rows)
        share_out(lambda job: [job(*rows) for rows in jobs[job]], jobs)

    def made(self, folds: Sequence[Any], why: Unfit | None) -> tuple[ScoreTally, tuple[ScoreTally, ...]]:
        """The tally of all rows and those of the folds with these keys; `why` says why they are no probabilities."""
        counters = [self._counters[key] for key in folds] or [self._counter(None)]

        def tally_of(bins: tuple[ScoreBins, ...], parts: Sequence[_FoldCounter]) -> ScoreTally:
            losses = [part.losses for part in parts if part.losses is not None]
            return ScoreTally(bins, reduce(add, losses) if losses and why is None else None, why, self._kind.labels)

        each = share_out(_FoldCounter.bins, counters)
        parts = [tally_of(bins, [counter]) for bins, counter in zip(each, counters, strict=True)]
        if not folds:
            return parts[0], ()
        if self._kind.is_on_ladder:
            whole: tuple[ScoreBins, ...] = (merge_ladders([counter.ladder for counter in counters]),)
        else:
            whole = tuple(share_out(partial(reduce, add), zip(*each, strict=True)))
        return tally_of(whole, counters), tuple(parts)


def refine_tallies(
    tallies: Sequence[ScoreTally],
    folds: Sequence[Any],
    scored: Callable[[Any], LabelledScores | None],
    frames: Callable[[], Iterable[Any]],
    *,
    tolerance: float | None,
    passes: int,
) -> tuple[ScoreTally, ...]:
    """The same scores in finer bins where that makes areas more certain, by further passes over the rows.

    `tallies` are that of all rows and those of the folds with these keys. The scores were read once; `passes` is how
    often they may be read in all. `frames` begins to read again, and `scored` tells of a batch which of its rows count.
    """
    refined, k = tuple(tallies), len(tallies[0].bins) if tallies[0].per_class else 0
    for _ in range(passes - 1):
        again = [share_out(partial(_look_again, tally, tolerance), range(len(tally.bins))) for tally in refined]
        if not any(map(any, again)):
            break
        for rows in share_in_turn(scored, frames()):
            if rows is not None:
                parts = rows.folds() if any(map(any, again[1:])) else {}
                jobs = [
                    partial(recount.add, *own.column(at, k), own.weight, own.group)
                    for own, columns in zip((rows, *map(parts.get, folds)), again, strict=True)
                    for at, recount in enumerate(columns)
                    if own is not None and recount
                ]
                share_out(lambda job: job(), jobs)
        refined = tuple(
            replace(tally, bins=tuple(map(Recount.put, columns, tally.bins)))
            for tally, columns in zip(refined, again, strict=True)
        )
    return refined


def _look_again(tally: ScoreTally, tolerance: float | None, at: int) -> Recount:
    """One more reading of a column of scores: true where some of its bins are to be looked into."""
    return refine(tally.bins[at], tolerance, place=tally.place(at)).recount()
