"""What the scores of a lazy frame tell, of all rows and of every fold: bins, and sums of losses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from heldout.arrays import Codes, Floats, make_objects
from heldout.engines.lazy.label_pass import SettledLabels, kept
from heldout.engines.lazy.passes import begin_pass
from heldout.engines.lazy.roles import collected
from heldout.engines.lazy.sum_tables import (
    LEAST,
    Ranked,
    Shape,
    case_losses,
    class_centres,
    in_bins,
    keyed,
    probabilities_of,
    raised,
    send_table,
    summed,
    summed_losses,
    two_class_centres,
    two_class_losses,
)
from heldout.engines.lazy.worker_counts import ScoreTask, count_on_workers
from heldout.engines.memory import LEAST_BINS
from heldout.engines.refinement import Refinement, refine
from heldout.engines.spark import is_spark
from heldout.evidence.bin_grid import FINEST, HUGE, POINT, WHOLE, WIDEST, floor_to
from heldout.evidence.counted import ScoreTally, class_columns, sided
from heldout.evidence.losses import CaseProbabilities
from heldout.evidence.probabilities import Probabilities
from heldout.evidence.score_bins import BinGroups, ScoreBins
from heldout.predictions.case_values import groups

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw


# The scores of a lazy frame in bins, by grouping alone: every distinct score if there are few, otherwise a grid.
#
# A pass brings at most about twice as many bins here as the evidence may have. The lowest and the highest score of
# every bin tell how fine the next grid may be, so that the grid that is asked for in the end is reached in one or two
# passes.

# How many times as many bins as the evidence may have are brought here.
FINER = 2
# So many bins of several columns of scores are brought here by one reading.
MOST_TOGETHER = 1 << 22
# Of more classes, the ranks of the true one are not told apart in each bin of calibration.
MOST_RANKS = 50
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
            keys_present, codes = np.unique(self.group[0][rows], return_inverse=True)
            group = codes, self.group[1][keys_present]
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
            number = self.n if self.powers is None else self.powers[0]
            bundles = BinGroups.of(self.group[1], self.group[0], where, self.class_, number)
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

    settled: SettledLabels
    rows: nw.LazyFrame[Any]
    column: int
    n: int
    ends: tuple[Floats, Floats]

    @property
    def name(self) -> str:
        """The column of these scores in the frame."""
        return f"score_{self.column}"

    def met(self, exponent: int = POINT, *, keys: Sequence[str] = ()) -> Met:
        """The scores on a grid, in one pass."""
        (alone,) = met_together([self], exponent, keys=keys)
        return alone

    def from_table(self, table: nw.DataFrame[Any], keys: Sequence[str]) -> Met:
        """The scores from a collected table of their bins."""

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
            make_objects(table.get_column(keys[0]).to_list()) if keys else None,
        )

    def first_exponent(self, most: int) -> int:
        """The grid of the first pass over the scores; POINT where they are so few that each is brought here."""
        return POINT if self.n <= FINER * most else finer(*self.ends, WIDEST, FINER * most)

    def finest(self, most: int, first: Met | None = None) -> tuple[Met, int]:
        """The scores on the grid of the evidence or a finer one, and its exponent: POINT where every score is told.

        The ends of each bin of one pass tell how fine the next may be. `first` is what the first one met, if it was
        made already.
        """
        exponent = self.first_exponent(most)
        distinct_scores = self.met(exponent) if first is None else first
        if exponent == POINT:
            return distinct_scores, POINT
        joined = False
        while True:
            cells, where = np.unique(floor_to(distinct_scores.low, exponent), return_inverse=True)
            if distinct_scores.exact and len(np.unique(distinct_scores.low)) == len(cells):
                # Every bin holds one score, and is that score's own.
                return distinct_scores, POINT
            if len(cells) > most:
                return distinct_scores, exponent
            low, high = np.full(len(cells), np.inf), np.full(len(cells), -np.inf)
            np.minimum.at(low, where, distinct_scores.low)
            np.maximum.at(high, where, distinct_scores.high)
            joined = joined or len(cells) + int((low < high).sum()) > most or self._distinct() > most
            if not joined:
                return self.met(), POINT
            exponent = finer(low, high, exponent, FINER * most)
            distinct_scores = self.met(exponent)

    def _distinct(self) -> int:
        """How many distinct scores there are."""
        import narwhals.stable.v2 as nw

        score = nw.col(self.name)
        # One score of -0.0 and 0.0.
        single = self.rows.with_columns(nw.when(score == 0).then(nw.lit(0.0)).otherwise(score).alias("bin"))
        begin_pass()
        counted = single.group_by("bin").agg(nw.len().alias("n")).select(nw.len().alias("n")).collect()
        return int(counted.get_column("n").to_list()[0])


def met_together(columns: Sequence[ScoreColumn], exponent: int, *, keys: Sequence[str] = ()) -> list[Met]:
    """The scores of columns of the same rows on one grid, in one pass: of several, each row becomes one for each."""
    import narwhals.stable.v2 as nw

    first, names = columns[0], [column.name for column in columns]
    weighted = first.settled.weighted
    group_keys = ["truth", *(["group"] if first.settled.grouped else []), *keys]
    rows = first.rows.with_columns(nw.col(names[0]).alias("score"))
    if len(names) > 1:
        index = [*group_keys, *(["weight"] if weighted else [])]
        rows = first.rows.select(*index, *names).unpivot(names, index=index, variable_name="of", value_name="score")
        group_keys.append("of")
    expressions = [on_grid(nw.col("score"), exponent).alias("bin")]
    sums = [nw.len().alias("n"), nw.col("score").min().alias("low"), nw.col("score").max().alias("high")]
    if weighted:
        weight = nw.col("weight")
        expressions += [weight.alias("w1"), (weight * weight).alias("w2"), (weight * weight * weight).alias("w3")]
        sums += [nw.col(name).sum() for name in ("w1", "w2", "w3")]
    bins = rows.with_columns(*expressions).group_by(*group_keys, "bin").agg(*sums)
    table = collected(bins, "bins of scores", needed=first.settled.group_bytes(len(names)))
    parts = [table] if len(names) == 1 else [table.filter(nw.col("of") == name) for name in names]
    return [column.from_table(part, keys) for column, part in zip(columns, parts, strict=True)]


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
        # A negative score that was rounded to 0 is still below 0.
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


def refined(
    column: ScoreColumn,
    bins: ScoreBins,
    sided: Callable[[Met], Met],
    *,
    place: int,
    tolerance: float | None,
    passes: int,
) -> ScoreBins:
    """The bins, those that leave most in doubt replaced by finer ones, in at most `passes` readings with the first.

    `place` is the class whose areas are to be certain, and `sided` brings the classes of the rows to those of the bins.
    """
    for _ in range(passes - 1):
        refinement = refine(bins, tolerance, place=place)
        if not len(refinement):
            return bins
        bins = refinement.put(bins, *_read_again(column, bins, refinement, sided))
    return bins


def _read_again(
    column: ScoreColumn, bins: ScoreBins, refinement: Refinement, sided: Callable[[Met], Met]
) -> list[ScoreBins]:
    """What is in the bins to look into, as finely as there is room: part by part, few rows all in one pass."""
    rooms = refinement.rooms if bins.groups is None else (sum(refinement.rooms),)
    part = refinement.part if bins.groups is None else np.zeros(len(refinement), dtype=np.int8)
    rows = bins.counts[np.searchsorted(bins.low, refinement.low)].sum(axis=1)
    number = np.bincount(part, weights=rows, minlength=len(rooms))
    few = number <= FINER * np.array(rooms)
    sub_bins: list[ScoreBins] = []
    if few.any():
        inner = replace(column, rows=_inside(column, refinement, few[part]))
        distinct_scores = sided(inner.met())
        own = part[np.searchsorted(refinement.low, distinct_scores.low, side="right") - 1]
        sub_bins += [
            distinct_scores.taken(own == at).bins(bins.k, POINT, rooms[at]) for at in np.flatnonzero(few).tolist()
        ]
    for at in np.flatnonzero(~few).tolist():
        chosen = part == at
        low, high = refinement.low[chosen], np.nextafter(refinement.ends[chosen], -np.inf)
        inner = replace(
            column,
            rows=_inside(column, refinement, chosen),
            n=int(number[at]),
            ends=(np.maximum(low, bins.least), np.minimum(high, bins.greatest)),
        )
        distinct_scores, finest = inner.finest(rooms[at])
        sub_bins.append(sided(distinct_scores).bins(bins.k, finest, rooms[at]))
    return sub_bins


def _inside(column: ScoreColumn, refinement: Refinement, chosen: NDArray[np.bool_]) -> nw.LazyFrame[Any]:
    """The rows whose score is in one of these bins."""
    import narwhals.stable.v2 as nw
    import polars as pl

    low, exponent = refinement.low[chosen], refinement.exponent[chosen]
    parts = []
    for width in np.unique(exponent).tolist():
        rows = column.rows.with_columns(on_grid(nw.col(column.name), width).alias("looked_into"))
        edges = send_table(pl.DataFrame({"looked_into": low[exponent == width]}), rows)
        parts.append(rows.join(edges, on="looked_into", how="inner"))
    return parts[0] if len(parts) == 1 else nw.concat(parts)


@dataclass(frozen=True, slots=True)
class Budget:
    """How exact the areas are to be, in how many readings of the scores, and how many bins may be met."""

    tolerance: float | None
    passes: int
    most: int

    def room_for_classes(self, k: int) -> int:
        """How many bins each of so many columns may have."""
        return max(min(LEAST_BINS, self.most), self.most // k)


@dataclass(frozen=True, eq=False)
class LazyScores:
    """The scores of the rows that count, and the folds that they come in.

    `folds` are the values of that column as they are in the data, in the order in which folds are counted, `places`
    the fold of every combination of the first pass, and `keys` the folds as evidence names them.
    """

    settled: SettledLabels
    budget: Budget
    folds: Sequence[Any] = ()
    places: Any = None
    keys: Sequence[Any] = ()

    @cached_property
    def rows(self) -> nw.LazyFrame[Any]:
        """The rows that count."""
        return kept(self.settled.roles, self.settled.made)

    @property
    def k(self) -> int:
        """The number of class columns in the bins."""
        return len(self.settled.labels) if self.settled.per_class else 2

    @property
    def most(self) -> int:
        """How many bins a column may have."""
        return self.budget.room_for_classes(self.k) if self.settled.per_class else self.budget.most

    @property
    def small(self) -> bool:
        """Whether there are so few rows that every distinct score of every fold can be brought here."""
        return self.settled.n <= self.most

    def tallies(self) -> tuple[ScoreTally, tuple[ScoreTally, ...]]:
        """The tally of all rows, and that of every fold."""
        settled, scores = self.settled, self.settled.predictions.scores
        why = None if scores is None else scores.unfit
        task = ScoreTask.of(settled, folded=bool(self.folds))
        needed = settled.group_bytes(len(settled.columns)) * (2 if self.folds else 1)
        if (counted := count_on_workers(self.rows, task, self.budget.most, needed)) is not None:
            return self._refined_tally(counted.whole), tuple(
                self._refined_tally(counted.folds[key], fold) for fold, key in enumerate(self.keys)
            )
        columns = [self._column(column) for column in settled.columns]
        columns_bins = [self._bins(column, met) for column, met in zip(columns, self._first_met(columns), strict=True)]
        probabilities = [None] * (1 + len(self.folds)) if why else self._probabilities([met for met, _ in columns_bins])
        labels = settled.labels if settled.per_class else ()
        tallies = [
            ScoreTally(tuple(bins[at] for _, bins in columns_bins), probabilities[at], why, labels)
            for at in range(1 + len(self.folds))
        ]
        return tallies[0], tuple(tallies[1:])

    def _refined_tally(self, tally: ScoreTally, fold: int | None = None) -> ScoreTally:
        """What the workers counted, its bins refined by further passes where the areas are not certain enough."""
        columns = [self._column(column, fold) for column in self.settled.columns]
        refined_bins = (self._refined(column, bins) for column, bins in zip(columns, tally.bins, strict=True))
        return replace(tally, bins=tuple(refined_bins))

    def _column(self, column: int, fold: int | None = None) -> ScoreColumn:
        """A column of scores, in all rows or those of a fold."""
        import narwhals.stable.v2 as nw

        first, settled = self.settled.first, self.settled
        low, high, n = (first.column(name) for name in (f"low_{column}", f"high_{column}", "n"))
        rows = self.rows
        if fold is not None:
            here = self.places == fold
            low, high, n = low[here], high[here], n[here]
            rows = rows.filter(nw.col("fold") == self.folds[fold])
        return ScoreColumn(settled, rows, column, int(n.sum()), (low.min(keepdims=True), high.max(keepdims=True)))

    def _first_met(self, columns: Sequence[ScoreColumn]) -> list[Met]:
        """What the first pass over the scores meets of every column; on a cluster of many columns in one reading."""
        keys = ["fold"] if self.small and self.folds else []
        grids = [POINT if self.small else column.first_exponent(self.most) for column in columns]
        at_once = 1
        if self.rows.implementation.is_dask() or is_spark(self.rows):
            at_once = max(1, MOST_TOGETHER // min(self.settled.n, len(self.settled.labels) * FINER * self.most))
        mets: dict[int, Met] = {}
        for grid in dict.fromkeys(grids):
            alike = [column for column, own in zip(columns, grids, strict=True) if own == grid]
            for start in range(0, len(alike), at_once):
                some = alike[start : start + at_once]
                made = met_together(some, grid, keys=keys)
                mets |= {column.column: met for column, met in zip(some, made, strict=True)}
        return [mets[column.column] for column in columns]

    def _bins(self, column: ScoreColumn, first: Met) -> tuple[Met, list[ScoreBins]]:
        """The scores of a column, from what the first pass met, and the bins of all rows and of every fold."""
        columns = class_columns(self.k)
        if self.small:
            parts = [first, *(first.taken(first.fold == key) for key in self.folds)]
            return first, [self._sided(part, column).bins(columns, POINT, self.most) for part in parts]
        distinct_scores, exponent = column.finest(self.most, first)
        tables = [self._refined(column, self._sided(distinct_scores, column).bins(columns, exponent, self.most))]
        for fold in range(len(self.folds)):
            part = self._column(column.column, fold)
            held, finest = part.finest(self.most)
            tables.append(self._refined(part, self._sided(held, part).bins(columns, finest, self.most)))
        return distinct_scores, tables

    def _sided(self, met: Met, column: ScoreColumn | None = None) -> Met:
        """With one column of scores: the positive class against the other. Of very many classes, each against all."""
        if self.settled.per_class and column is not None:
            return replace(met, class_=sided(met.class_, self._at(column), self.k).astype(np.int64))
        if self.settled.per_class:
            return met
        return replace(met, class_=(met.class_ == self.settled.positive).astype(np.int64))

    def _refined(self, column: ScoreColumn, bins: ScoreBins) -> ScoreBins:
        class_index = self._at(column) if self.settled.per_class and bins.k == self.k else 1
        tolerance, passes = self.budget.tolerance, self.budget.passes
        return refined(
            column, bins, lambda met: self._sided(met, column), place=class_index, tolerance=tolerance, passes=passes
        )

    def _at(self, column: ScoreColumn) -> int:
        return self.settled.columns.index(column.column)

    def _shape(self, mets: Sequence[Met]) -> Shape:
        settled = self.settled
        middles = [(met.low + met.high) / 2 for met in mets]
        weights = [_held(met) for met in mets]
        if settled.per_class:
            hits = [met.class_ == side for side, met in enumerate(mets)]
            centres = class_centres(middles, hits, weights, LEAST)
        else:
            centres = two_class_centres(middles[0], mets[0].class_ == settled.positive, weights[0], LEAST)
        return Shape(self.k, settled.weighted, settled.grouped, settled.per_class, LEAST, centres)

    def _probabilities(self, mets: Sequence[Met]) -> list[Probabilities | None]:
        """The sums of losses of all rows and of every fold."""
        shape = self._shape(mets)
        keys = [*(["group"] if shape.grouped else []), *(["fold"] if self.folds else [])]
        ranked = None
        if self.settled.per_class:
            rows = self._class_losses(shape)
            by_rank = ["rank"] if self.k <= MOST_RANKS else []
            table = collected(summed_losses(rows, shape, [*by_rank, *keys]), "sums of losses")
            ranked = table if by_rank else self._ranks(rows, shape, keys)
        elif mets[0].exact and (self.small or not self.folds):
            table = summed_losses(self._met_losses(mets[0], shape), shape, keys).collect()
        else:
            table = collected(summed_losses(self._row_losses(shape), shape, keys), "sums of losses")
        return [
            probabilities_of(part, shape, self.settled.roles.called.get("group", "group"), ranks)
            for part, ranks in self._split(table, ranked, shape)
        ]

    def _ranks(self, rows: nw.LazyFrame[Any], shape: Shape, keys: Sequence[str]) -> Any:
        """The weights of each rank of the true class, in a pass of their own: with each bin they would be too many."""
        weights = [_col(f"w{power}").alias(f"held_{power}") for power in shape.powers[:2]]
        ranks = rows.select("rank", *keys, *weights).group_by("rank", *keys)
        return collected(ranks.agg(*(_col(f"held_{power}").sum() for power in shape.powers[:2])), "ranks")

    def _split(self, table: Any, ranked: Any, shape: Shape) -> list[tuple[Any, Ranked | None]]:
        """The tables of all rows and of every fold."""
        parts = [None, *self.folds]
        return [
            (
                table if key is None else table.filter(_col("fold") == key),
                None
                if ranked is None
                else Ranked(ranked if key is None else ranked.filter(_col("fold") == key), shape),
            )
            for key in parts
        ]

    def _weights(self, shape: Shape) -> list[nw.Expr]:
        import narwhals.stable.v2 as nw

        unit = [nw.lit(1.0).alias("n")]
        if not shape.weighted:
            return [*unit, nw.lit(1.0).alias("w1")]
        weight = nw.col("weight")
        return [*unit, weight.alias("w1"), (weight * weight).alias("w2"), (weight * weight * weight).alias("w3")]

    def _row_losses(self, shape: Shape) -> nw.LazyFrame[Any]:
        """The losses of every row, where the rows are: the positive class against the other."""
        import narwhals.stable.v2 as nw

        score = _col(f"score_{self.settled.columns[0]}")
        hit = self._is_true(self.settled.positive).cast(nw.Int64)
        rows = self.rows.with_columns(hit.alias("class"), *self._weights(shape))
        rows = rows.with_columns(_col("class").cast(nw.Float64).alias("hit"), in_bins(score).alias("place"))
        return _with_losses(rows, score, shape)

    def _met_losses(self, met: Met, shape: Shape) -> nw.LazyFrame[Any]:
        """The losses of every distinct score, with how often it stands."""
        import narwhals.stable.v2 as nw
        import polars as pl

        sided = self._sided(met)
        columns: dict[str, Any] = {"class": sided.class_, "score": met.low, "n": met.n.astype(np.float64)}
        powers = [columns["n"]] if met.powers is None else met.powers
        columns |= {f"w{power_index}": power for power_index, power in enumerate(powers, start=1)}
        if met.group is not None:
            columns["group"] = met.group[1][met.group[0]]
        if met.fold is not None and self.folds:
            columns["fold"] = pl.Series(met.fold.tolist())
        frame = nw.from_native(pl.DataFrame(columns)).lazy()
        score = nw.col("score")
        frame = frame.with_columns(nw.col("class").cast(nw.Float64).alias("hit"), in_bins(score).alias("place"))
        return _with_losses(frame, score, shape)

    def _is_true(self, place: int) -> nw.Expr:
        """Whether a row is of a class."""
        flags = [_col("truth") == value for value in self.settled.truths(place)]
        is_class: nw.Expr = reduce(lambda left, right: left | right, flags) if flags else _col("truth").is_null()
        return is_class

    def _class_losses(self, shape: Shape) -> nw.LazyFrame[Any]:
        """The losses of every row where each class has a column; the rank of the true class, ties as in memory."""
        import narwhals.stable.v2 as nw

        scores = [_col(f"score_{column}") for column in self.settled.columns]
        own = [self._is_true(index).cast(nw.Int64) for index in range(self.k)]
        rows = self.rows.with_columns(
            reduce(add, (flag * index for index, flag in enumerate(own))).alias("class"),
            nw.max_horizontal(*scores).alias("highest"),
            *self._weights(shape),
        )
        right = scores[-1]
        for index in range(self.k - 2, -1, -1):
            right = nw.when(_col("class") == index).then(scores[index]).otherwise(right)
        rows = rows.with_columns(right.alias("right"))
        right, code = _col("right"), _col("class")
        above = [(score > right).cast(nw.Int64) for score in scores]
        level = [((score == right) & (code < index)).cast(nw.Int64) for index, score in enumerate(scores)]
        away = [score - (code == index).cast(nw.Int64).cast(nw.Float64) for index, score in enumerate(scores)]
        rows = rows.with_columns(
            reduce(add, [*above, *level]).alias("rank"),
            (reduce(add, (gap * gap for gap in away)) * (0.5 if self.k == 2 else 1.0)).alias("distance"),
            reduce(add, (score * score for score in scores)).alias("norm"),
            in_bins(_col("highest")).alias("place"),
        )
        rows = rows.with_columns((_col("rank") == 0).cast(nw.Int64).cast(nw.Float64).alias("hit"))
        gap = _col("hit") - _col("highest")
        case = CaseProbabilities(right, raised(right, shape.least), _col("distance"), _col("norm"))
        losses = {"gap": gap, "square": gap * gap, **case_losses(case, shape.least)}
        return rows.with_columns(*(value.alias(name) for name, value in losses.items()))


def _with_losses(rows: nw.LazyFrame[Any], score: nw.Expr, shape: Shape) -> nw.LazyFrame[Any]:
    losses = two_class_losses(score, _col("hit"), shape.least)
    return rows.with_columns(*(value.alias(name) for name, value in losses.items()))


def _held(met: Met) -> Any:
    return met.n.astype(np.float64) if met.powers is None else met.powers[0]


def _col(name: str) -> nw.Expr:
    import narwhals.stable.v2 as nw

    return nw.col(name)
