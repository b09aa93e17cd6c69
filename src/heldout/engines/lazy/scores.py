"""The scores of a lazy frame in bins, by grouping alone: every distinct score if there are few, otherwise a grid.

A pass brings at most about twice as many bins here as the evidence may have. The lowest and the highest score of every
bin tell how fine the next grid may be, so that the grid that is asked for in the end is reached in one or two passes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from heldout.arrays import Codes, Floats
from heldout.engines.lazy.counts import keyed, summed
from heldout.engines.lazy.labels import Settled
from heldout.engines.lazy.roles import collected
from heldout.evidence.grid import FINEST, HUGE, POINT, WHOLE, WIDEST, floor_to
from heldout.evidence.score_bins import BinGroups, ScoreBins
from heldout.predictions.case_values import groups

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw


# How many times as many bins as the evidence may have are brought here.
FINER = 2
# Beyond this power of two a factor is written as two, because it would not be a float itself.
FAR = 1000


@dataclass(frozen=True, eq=False)
class Met:
    """Scores that were met: one entry for each class, bin, fold and group, with the lowest and the highest score in it.

    `class_` are places among the labels. `n` counts rows; with weights `powers` are the sums of w, w² and w³. `fold`
    are the values of that column as they are in the data.
    """

    low: Floats
    high: Floats
    class_: Codes
    n: Codes
    powers: Floats | None = None
    group: tuple[Codes, NDArray[Any]] | None = None
    fold: NDArray[Any] | None = None

    @property
    def exact(self) -> bool:
        """Whether every entry holds one score."""
        return bool((self.low == self.high).all())

    def taken(self, rows: NDArray[np.bool_]) -> Met:
        """Only some of the entries."""
        group = None
        if self.group is not None:
            met, codes = np.unique(self.group[0][rows], return_inverse=True)
            group = codes, self.group[1][met]
        return Met(
            self.low[rows],
            self.high[rows],
            self.class_[rows],
            self.n[rows],
            None if self.powers is None else self.powers[:, rows],
            group,
            None if self.fold is None else self.fold[rows],
        )

    def bins(self, k: int, exponent: int, most: int) -> ScoreBins:
        """The evidence on a grid, or on a coarser one if that has too many bins; POINT has a bin for each score."""
        low, where = np.unique(floor_to(self.low, exponent), return_inverse=True)
        cell, size = where * k + self.class_, len(low) * k
        weights = squares = bundles = None
        if self.powers is not None:
            weights, squares = (summed(cell, power, size).reshape(-1, k) for power in self.powers[:2])
        if self.group is not None:
            held = self.n if self.powers is None else self.powers[0]
            bundles = BinGroups.of(self.group[1], self.group[0], where, self.class_, held)
        return ScoreBins(
            low,
            np.full(len(low), exponent, dtype=np.int16),
            summed(cell, self.n, size).reshape(-1, k),
            exponent,
            float(self.low.min(initial=np.inf) + 0.0),
            float(self.high.max(initial=-np.inf) + 0.0),
            weights,
            squares,
            bundles,
            most,
        ).settled()


@dataclass(frozen=True, eq=False)
class ScoreColumn:
    """One column of scores among the rows that count, all of them or some.

    All scores lie between the lower and the upper ends, of one stretch or of several.
    """

    settled: Settled
    rows: nw.LazyFrame[Any]
    column: int
    n: int
    ends: tuple[Floats, Floats]

    @property
    def name(self) -> str:
        """What the column is called in the frame."""
        return f"score_{self.column}"

    def met(self, exponent: int = POINT, *, keys: Sequence[str] = ()) -> Met:
        """The scores on a grid, in one pass."""
        import narwhals.stable.v2 as nw

        score, weighted = nw.col(self.name), self.settled.weighted
        made = [score.alias("score"), on_grid(score, exponent).alias("bin")]
        sums = [nw.len().alias("n"), nw.col("score").min().alias("low"), nw.col("score").max().alias("high")]
        if weighted:
            weight = nw.col("weight")
            made += [weight.alias("w1"), (weight * weight).alias("w2"), (weight * weight * weight).alias("w3")]
            sums += [nw.col(name).sum() for name in ("w1", "w2", "w3")]
        held = ["truth", *(["group"] if self.settled.grouped else []), *keys]
        table = collected(self.rows.with_columns(*made).group_by(*held, "bin").agg(*sums), "bins of scores")
        return self._of_table(table, keys)

    def _of_table(self, table: nw.DataFrame[Any], keys: Sequence[str]) -> Met:
        def numbers(name: str) -> Floats:
            return np.asarray(table.get_column(name).to_numpy()).astype(np.float64)

        settled = self.settled
        called = settled.roles.called
        return Met(
            numbers("low") + 0.0,
            numbers("high") + 0.0,
            settled.places(table.get_column("truth").to_native()),
            np.asarray(table.get_column("n").to_numpy()).astype(np.int64),
            np.stack([numbers(name) for name in ("w1", "w2", "w3")]) if settled.weighted else None,
            keyed(groups(table.get_column("group").to_native(), called["group"])) if settled.grouped else None,
            _objects(table.get_column(keys[0]).to_list()) if keys else None,
        )

    def finest(self, most: int) -> tuple[Met, int]:
        """The scores on the grid of the evidence or a finer one, and its exponent: POINT where every score is told.

        The ends of each bin of one pass tell how fine the next may be.
        """
        if self.n <= FINER * most:
            return self.met(), POINT
        low, high = self.ends
        exponent, joined = WIDEST, False
        while True:
            exponent = finer(low, high, exponent, FINER * most)
            met = self.met(exponent)
            cells, where = np.unique(floor_to(met.low, exponent), return_inverse=True)
            if met.exact and len(np.unique(met.low)) == len(cells):
                # Every bin holds one score, and is that score's own.
                return met, POINT
            if len(cells) > most:
                return met, exponent
            low, high = np.full(len(cells), np.inf), np.full(len(cells), -np.inf)
            np.minimum.at(low, where, met.low)
            np.maximum.at(high, where, met.high)
            joined = joined or len(cells) + int((low < high).sum()) > most or self._distinct() > most
            if not joined:
                return self.met(), POINT

    def _distinct(self) -> int:
        """How many distinct scores there are."""
        import narwhals.stable.v2 as nw

        score = nw.col(self.name)
        # One score of -0.0 and 0.0.
        single = self.rows.with_columns(nw.when(score == 0).then(nw.lit(0.0)).otherwise(score).alias("bin"))
        counted = single.group_by("bin").agg(nw.len().alias("n")).select(nw.len().alias("n")).collect()
        return int(counted.get_column("n").to_list()[0])


def _objects(values: list[Any]) -> NDArray[Any]:
    made = np.empty(len(values), dtype=object)
    made[:] = values
    return made


def finer(low: Floats, high: Floats, exponent: int, most: int) -> int:
    """The smallest exponent below another at which scores with these ends, bin by bin, meet at most `most` bins.

    >>> finer(np.array([0.0]), np.array([1.0]), 10, 1025)
    -10
    """
    first, last = FINEST, exponent - 1
    while first < last:
        middle = (first + last) // 2
        first, last = (first, middle) if _bins(low, high, middle) <= most else (middle + 1, last)
    return last


def _bins(low: Floats, high: Floats, exponent: int) -> float:
    """How many bins of a grid scores with these ends meet at most."""
    with np.errstate(over="ignore", under="ignore"):
        width = np.ldexp(floor_to(high, exponent) - floor_to(low, exponent), -exponent)
    return float(np.where(low == high, 1.0, width + 1).sum())


def on_grid(score: nw.Expr, exponent: int) -> nw.Expr:
    """The lower edge of each score's bin, as `floor_to` has it; a score alone in a very fine bin is its own.

    >>> import narwhals.stable.v2 as nw, polars as pl
    >>> frame = nw.from_native(pl.LazyFrame({"s": [0.7, -0.1, 3.0]}))
    >>> frame.select(on_grid(nw.col("s"), -1)).collect().get_column("s").to_list()
    [0.5, -0.5, 3.0]
    """
    import narwhals.stable.v2 as nw

    if exponent <= POINT:
        return score
    if exponent >= WIDEST:
        return nw.when(score < 0).then(nw.lit(-HUGE)).otherwise(nw.lit(0.0))
    whole = exponent + 53 > 1023
    # Where whole numbers are no longer floats of their own, nothing is scaled: it would overflow.
    scaled = score if whole else nw.when(score.abs() < WHOLE * 2.0**exponent).then(score).otherwise(nw.lit(0.0))
    # Adding 0 makes one edge of -0.0 and 0.0.
    edge = _times(_times(scaled, -exponent).floor(), exponent) + 0.0
    if exponent > 0:
        # What is so small that it became 0 is still below 0.
        edge = nw.when(edge > score).then(nw.lit(-(2.0**exponent))).otherwise(edge)
    if whole:
        # An edge below the lowest float is that float.
        return nw.when(edge < -HUGE).then(nw.lit(-HUGE)).otherwise(edge)
    return nw.when(score.abs() < WHOLE * 2.0**exponent).then(edge).otherwise(score)


def _times(number: nw.Expr, exponent: int) -> nw.Expr:
    """A number times a power of two."""
    if abs(exponent) <= FAR:
        return number * 2.0**exponent
    near = FAR if exponent > 0 else -FAR
    return number * 2.0**near * 2.0 ** (exponent - near)
