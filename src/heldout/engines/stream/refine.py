"""Reading the scores again, where bins hold so many cases that areas under curves are not certain enough."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from heldout.engines.refinement import Recount, refine
from heldout.engines.stream.rows import Scored
from heldout.evidence.counted import ScoreTally, sided

if TYPE_CHECKING:
    import polars as pl


def refined(
    tally: ScoreTally,
    scored: Callable[[pl.DataFrame], Scored | None],
    frames: Callable[[], Iterable[pl.DataFrame]],
    *,
    tolerance: float,
    passes: int,
) -> ScoreTally:
    """The same scores in finer bins where that makes areas more certain, by further passes over the rows.

    The scores were read once; `passes` is how often they may be read in all. `frames` begins to read again, and
    `scored` tells of a batch which of its rows count.
    """
    (made,) = refined_parts([tally], (), scored, frames, tolerance=tolerance, passes=passes)
    return made


def refined_parts(
    tallies: Sequence[ScoreTally],
    folds: Sequence[Any],
    scored: Callable[[pl.DataFrame], Scored | None],
    frames: Callable[[], Iterable[pl.DataFrame]],
    *,
    tolerance: float,
    passes: int,
) -> tuple[ScoreTally, ...]:
    """The tally of all rows and those of the folds with these keys, all by the same further passes over the rows."""
    made = tuple(tallies)
    for _ in range(passes - 1):
        again = [_Again(tally, tolerance) for tally in made]
        if not any(again):
            break
        for frame in frames():
            rows = scored(frame)
            if rows is None:
                continue
            parts = rows.folds() if any(again[1:]) else {}
            for one, part in zip(again, (rows, *map(parts.get, folds)), strict=True):
                if one:
                    one.add(part)
        made = tuple(one.put() for one in again)
    return made


class _Again:
    """One more reading of the scores of a tally: true where some of its bins are to be looked into."""

    def __init__(self, tally: ScoreTally, tolerance: float) -> None:
        self._tally = tally
        places = [tally.place(at) for at in range(len(tally.bins))]
        asked = [refine(bins, tolerance, place=at) for bins, at in zip(tally.bins, places, strict=True)]
        self._recounts: list[Recount | None] = [one.recount() if len(one) else None for one in asked]

    def __bool__(self) -> bool:
        return any(recount is not None for recount in self._recounts)

    def add(self, rows: Scored | None) -> None:
        if rows is None:
            return
        for at, recount in enumerate(self._recounts):
            if recount is not None:
                values = rows.scores[:, at] if self._tally.per_class else rows.scores
                codes = sided(rows.codes, at, len(self._tally.bins)) if self._tally.per_class else rows.codes
                recount.add(values, codes, rows.weight, rows.group)

    def put(self) -> ScoreTally:
        held = zip(self._recounts, self._tally.bins, strict=True)
        return replace(self._tally, bins=tuple(bins if again is None else again.put(bins) for again, bins in held))
