"""What the scores of a lazy frame tell, of all rows and of every fold: bins, and sums of losses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from heldout.arrays import Floats, make_objects
from heldout.engines.confusion_cells import summed
from heldout.engines.lazy.label_pass import SettledLabels, kept
from heldout.engines.lazy.roles import collected
from heldout.engines.lazy.sum_tables import (
    POWERS,
    Shape,
    case_losses,
    class_centres,
    collect_row,
    in_bins,
    numbers,
    powers_of,
    probabilities_of,
    raised,
    send_table,
    summed_losses,
    two_class_centres,
    whole_numbers,
    with_losses,
)
from heldout.engines.lazy.worker_counts import ScoreTask, count_on_workers
from heldout.engines.refinement import Refinement, refine
from heldout.engines.spark import is_spark
from heldout.evidence.bin_grid import FINEST, HUGE, POINT, WHOLE, WIDEST, floor_to
from heldout.evidence.counted import ScoreTally, class_columns, most_bins, sided
from heldout.evidence.losses import CaseProbabilities
from heldout.evidence.probabilities import Probabilities
from heldout.evidence.score_bins import BinGroups, ScoreBins
from heldout.threads import cached_property

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
    """Scores that were met: one entry for each class, bin, fold and group.

    `columns` are the `low`est and the highest (`high`) score of each entry, its `class` as the bins tell it, and how
    many rows it has (`n`); with weights the sums of w, w² and w³ (`w1`, `w2`, `w3`), with folds the values of that
    column as they are in the data (`fold`), and with groups a code (`group`) for each of the `keys`.
    """

    columns: Mapping[str, NDArray[Any]]
    keys: NDArray[Any] | None = None

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.columns[name]

    @property
    def exact(self) -> bool:
        """Whether every entry holds one score."""
        return bool((self["low"] == self["high"]).all())

    @property
    def weight(self) -> Floats:
        """What the rows of every entry weigh."""
        return np.asarray(self.columns.get("w1", self["n"])).astype(np.float64)

    def taken(self, rows: NDArray[np.bool_]) -> Met:
        """Only some of the entries."""
        return replace(self, columns={name: column[rows] for name, column in self.columns.items()})

    def bins(self, k: int, exponent: int, most: int) -> ScoreBins:
        """The evidence on a grid, or on a coarser one if that has too many bins; POINT has a bin for each score."""
        low, where = np.unique(floor_to(self["low"], exponent), return_inverse=True)
        cell, size = where * k + self["class"], len(low) * k
        counts, *sums = (
            summed(cell, self[name], size).reshape(-1, k) for name in ("n", "w1", "w2") if name in self.columns
        )
        weights, squares = sums or (None, None)
        bundles = None
        if self.keys is not None:
            present, codes = np.unique(self["group"], return_inverse=True)
            number = self["n"] if weights is None else self["w1"]
            bundles = BinGroups.of(self.keys[present], codes, where, self["class"], number)
        return ScoreBins(
            low,
            np.full(len(low), exponent, dtype=np.int16),
            counts,
            exponent,
            float(self["low"].min(initial=np.inf) + 0.0),
            float(self["high"].max(initial=-np.inf) + 0.0),
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

    @property
    def k(self) -> int:
        """How many classes the bins tell apart."""
        return class_columns(len(self.settled.labels)) if self.settled.per_class else 2

    @property
    def place(self) -> int:
        """The class, of those that the bins tell apart, which has these scores."""
        settled = self.settled
        return settled.columns.index(self.column) if settled.per_class and self.k == len(settled.labels) else 1

    def met(self, exponent: int = POINT) -> Met:
        """The scores on a grid, in one pass."""
        (alone,) = met_together([self], exponent)
        return alone

    def from_table(self, table: nw.DataFrame[Any]) -> Met:
        """The scores from a collected table of their bins."""
        settled = self.settled
        truth = settled.places(table.get_column("truth").to_native())
        if settled.per_class:
            class_ = sided(truth, settled.columns.index(self.column), len(settled.labels))
        else:
            class_ = truth == settled.positive
        codes, keys = settled.groups_of(table) or (None, None)
        columns = {
            "low": numbers(table, "low") + 0.0,
            "high": numbers(table, "high") + 0.0,
            "class": class_.astype(np.int64),
            "n": whole_numbers(table, "n"),
            **{name: numbers(table, name) for name in POWERS if settled.weighted},
        }
        if codes is not None:
            columns["group"] = codes
        if "fold" in table.columns:
            columns["fold"] = make_objects(table.get_column("fold").to_list())
        return Met(columns, keys)

    def first_exponent(self, most: int) -> int:
        """The grid of the first pass over the scores; POINT where they are so few that each is brought here."""
        return POINT if self.n <= FINER * most else finer(*self.ends, WIDEST, FINER * most)

    def finest(self, most: int, first: Met | None = None) -> tuple[Met, ScoreBins]:
        """The scores on the grid of the evidence or a finer one, and the evidence: exact where every score is told.

        The ends of each bin of one pass tell how fine the next may be. `first` is what the first one met, if it was
        made already.
        """
        exponent = self.first_exponent(most)
        met = self.met(exponent) if first is None else first
        joined = False
        while exponent != POINT:
            cells, where = np.unique(floor_to(met["low"], exponent), return_inverse=True)
            if met.exact and len(np.unique(met["low"])) == len(cells):
                # Every bin holds one score, and is that score's own.
                exponent = POINT
                break
            if len(cells) > most:
                break
            low, high = np.full(len(cells), np.inf), np.full(len(cells), -np.inf)
            np.minimum.at(low, where, met["low"])
            np.maximum.at(high, where, met["high"])
            joined = joined or len(cells) + int((low < high).sum()) > most or self._distinct() > most
            exponent = finer(low, high, exponent, FINER * most) if joined else POINT
            met = self.met(exponent)
        return met, met.bins(self.k, exponent, most)

    def _distinct(self) -> int:
        """How many distinct scores there are."""
        score = nw.col(self.name)
        # One score of -0.0 and 0.0.
        single = self.rows.with_columns(nw.when(score == 0).then(nw.lit(0.0)).otherwise(score).alias("bin"))
        return int(collect_row(single.group_by("bin").agg(nw.len().alias("n")).select(nw.len().alias("n")))["n"])

    def refined(self, bins: ScoreBins, budget: Budget) -> ScoreBins:
        """The bins, those that leave most in doubt replaced by finer ones, in as many more readings as there may be."""
        for _ in range(budget.passes - 1):
            refinement = refine(bins, budget.tolerance, place=self.place)
            if not len(refinement):
                break
            bins = refinement.put(bins, *self._read_again(bins, refinement))
        return bins

    def _read_again(self, bins: ScoreBins, refinement: Refinement) -> list[ScoreBins]:
        """What is in the bins to look into, as finely as there is room: part by part, few rows all in one pass."""
        rooms = refinement.rooms if bins.groups is None else (sum(refinement.rooms),)
        part = refinement.part if bins.groups is None else np.zeros(len(refinement), dtype=np.int8)
        rows = bins.counts[np.searchsorted(bins.low, refinement.low)].sum(axis=1)
        number = np.bincount(part, weights=rows, minlength=len(rooms))
        few = number <= FINER * np.array(rooms)
        sub_bins: list[ScoreBins] = []
        if few.any():
            met = replace(self, rows=self._inside(refinement, few[part])).met()
            own = part[np.searchsorted(refinement.low, met["low"], side="right") - 1]
            sub_bins += [met.taken(own == at).bins(self.k, POINT, rooms[at]) for at in np.flatnonzero(few).tolist()]
        for at in np.flatnonzero(~few).tolist():
            chosen = part == at
            low, high = refinement.low[chosen], np.nextafter(refinement.ends[chosen], -np.inf)
            ends = np.maximum(low, bins.least), np.minimum(high, bins.greatest)
            inner = replace(self, rows=self._inside(refinement, chosen), n=int(number[at]), ends=ends)
            sub_bins.append(inner.finest(rooms[at])[1])
        return sub_bins

    def _inside(self, refinement: Refinement, chosen: NDArray[np.bool_]) -> nw.LazyFrame[Any]:
        """The rows whose score is in one of these bins."""
        import polars as pl

        low, exponent = refinement.low[chosen], refinement.exponent[chosen]
        parts = []
        for width in np.unique(exponent).tolist():
            rows = self.rows.with_columns(on_grid(nw.col(self.name), width).alias("looked_into"))
            edges = send_table(pl.DataFrame({"looked_into": low[exponent == width]}), rows)
            parts.append(rows.join(edges, on="looked_into", how="inner"))
        return parts[0] if len(parts) == 1 else nw.concat(parts)


def met_together(columns: Sequence[ScoreColumn], exponent: int, *, keys: Sequence[str] = ()) -> list[Met]:
    """The scores of columns of the same rows on one grid, in one pass: of several, each row becomes one for each."""
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
        expressions += powers_of(nw.col("weight"))
        sums += [nw.col(name).sum() for name in POWERS]
    bins = rows.with_columns(*expressions).group_by(*group_keys, "bin").agg(*sums)
    table = collected(bins, "bins of scores", needed=first.settled.group_bytes(len(names)))
    parts = [table] if len(names) == 1 else [table.filter(nw.col("of") == name) for name in names]
    return [column.from_table(part) for column, part in zip(columns, parts, strict=True)]


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
    if exponent <= POINT:
        return score
    if exponent >= WIDEST:
        return nw.when(score < 0).then(nw.lit(-HUGE)).otherwise(nw.lit(0.0))
    whole = exponent + 53 > 1023
    # Where whole numbers are no longer floats of their own, nothing is scaled: it would overflow.
    scaled = score if whole else nw.when(score.abs() < WHOLE * 2.0**exponent).then(score).otherwise(nw.lit(0.0))
    # Adding 0 makes one edge of -0.0 and 0.0.
    edge = times(times(scaled, -exponent).floor(), exponent) + 0.0
    if exponent > 0:
        # A negative score that was rounded to 0 is still below 0.
        edge = nw.when(edge > score).then(nw.lit(-(2.0**exponent))).otherwise(edge)
    if whole:
        # An edge below the lowest float is that float.
        return nw.when(edge < -HUGE).then(nw.lit(-HUGE)).otherwise(edge)
    return nw.when(score.abs() < WHOLE * 2.0**exponent).then(edge).otherwise(score)


def times(number: nw.Expr, exponent: int) -> nw.Expr:
    """A number times a power of two."""
    if abs(exponent) <= FAR:
        return number * 2.0**exponent
    near = FAR if exponent > 0 else -FAR
    return number * 2.0**near * 2.0 ** (exponent - near)


@dataclass(frozen=True, slots=True)
class Budget:
    """How exact the areas are to be, in how many readings of the scores, and how many bins may be met."""

    tolerance: float | None
    passes: int
    most: int


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
    def most(self) -> int:
        """How many bins a column may have."""
        return most_bins(len(self.settled.labels) if self.settled.per_class else 0, self.budget.most)

    @property
    def small(self) -> bool:
        """Whether there are so few rows that every distinct score of every fold can be brought here."""
        return self.settled.n <= self.most

    def tallies(self) -> tuple[ScoreTally, tuple[ScoreTally, ...]]:
        """The tally of all rows, and that of every fold: bins refined where the areas are not certain enough."""
        settled = self.settled
        task = ScoreTask.of(settled, folded=bool(self.folds))
        needed = settled.group_bytes(len(settled.columns)) * (2 if self.folds else 1)
        counted = count_on_workers(self.rows, task, self.budget.most, needed)
        if counted is None:
            tallies = self._by_expressions(task)
        else:
            tallies = [counted.whole, *(counted.folds[key] for key in self.keys)]
        whole, *folds = (self._refined(tally, part) for tally, part in zip(tallies, self._parts, strict=True))
        return whole, tuple(folds)

    @property
    def _parts(self) -> list[int | None]:
        """All rows, and then every fold."""
        return [None, *range(len(self.folds))]

    def _refined(self, tally: ScoreTally, fold: int | None) -> ScoreTally:
        columns = [self._column(column, fold) for column in self.settled.columns]
        bins = (column.refined(own, self.budget) for column, own in zip(columns, tally.bins, strict=True))
        return replace(tally, bins=tuple(bins))

    def _by_expressions(self, task: ScoreTask) -> list[ScoreTally]:
        """What the workers would count, by the engine's own means."""
        columns = [self._column(column) for column in self.settled.columns]
        mets, bins = zip(*map(self._bins, columns, self._first_met(columns)), strict=True)
        parts = self._parts
        probabilities = [None for _ in parts] if task.unfit else self._probabilities(columns, mets)
        labels = task.labels if task.per_class else ()
        return [
            ScoreTally(own, sums, task.unfit, labels)
            for own, sums in zip(zip(*bins, strict=True), probabilities, strict=True)
        ]

    def _column(self, column: int, fold: int | None = None) -> ScoreColumn:
        """A column of scores, in all rows or those of a fold."""
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
        if self.small:
            parts = [first, *(first.taken(first["fold"] == key) for key in self.folds)]
            return first, [part.bins(column.k, POINT, self.most) for part in parts]
        met, bins = column.finest(self.most, first)
        folds = (self._column(column.column, fold).finest(self.most)[1] for fold in range(len(self.folds)))
        return met, [bins, *folds]

    def _shape(self, columns: Sequence[ScoreColumn], mets: Sequence[Met]) -> Shape:
        settled = self.settled
        middles = [(met["low"] + met["high"]) / 2 for met in mets]
        hits = [met["class"] == column.place for column, met in zip(columns, mets, strict=True)]
        weights = [met.weight for met in mets]
        if settled.per_class:
            centres = class_centres(middles, hits, weights)
        else:
            centres = two_class_centres(middles[0], hits[0], weights[0])
        k = len(settled.labels) if settled.per_class else 2
        return Shape(k, settled.weighted, settled.grouped, settled.per_class, centres)

    def _probabilities(self, columns: Sequence[ScoreColumn], mets: Sequence[Met]) -> list[Probabilities]:
        """The sums of losses of all rows and of every fold."""
        shape = self._shape(columns, mets)
        keys = [*(["group"] if shape.grouped else []), *(["fold"] if self.folds else [])]
        ranked = None
        if shape.top_label:
            rows = self._class_losses()
            by_rank = ["rank"] if shape.k <= MOST_RANKS else []
            table = collected(summed_losses(rows, shape, [*by_rank, *keys]), "sums of losses")
            ranked = table if by_rank else self._ranks(rows, shape, keys)
        elif mets[0].exact and (self.small or not self.folds):
            table = summed_losses(self._met_losses(mets[0]), shape, keys).collect()
        else:
            table = collected(summed_losses(self._row_losses(), shape, keys), "sums of losses")
        called = self.settled.roles.called.get("group", "group")
        return [
            probabilities_of(
                self._of_fold(table, fold), None if ranked is None else self._of_fold(ranked, fold), shape, called
            )
            for fold in self._parts
        ]

    def _of_fold(self, table: nw.DataFrame[Any], fold: int | None) -> nw.DataFrame[Any]:
        return table if fold is None else table.filter(_col("fold") == self.folds[fold])

    def _ranks(self, rows: nw.LazyFrame[Any], shape: Shape, keys: Sequence[str]) -> nw.DataFrame[Any]:
        """The weights of each rank of the true class, in a pass of their own: with each bin they would be too many."""
        held = [f"held_{power}" for power in shape.powers[:2]]
        weights = (_col(power).alias(name) for power, name in zip(POWERS, held, strict=False))
        return collected(rows.select("rank", *keys, *weights).group_by("rank", *keys).agg(_col(*held).sum()), "ranks")

    @property
    def _weights(self) -> list[nw.Expr]:
        unit = nw.lit(1.0)
        return [unit.alias("n"), *(powers_of(nw.col("weight")) if self.settled.weighted else [unit.alias("w1")])]

    def _row_losses(self) -> nw.LazyFrame[Any]:
        """The losses of every row, where the rows are: the positive class against the other."""
        hit = self._is_true(self.settled.positive).cast(nw.Int64)
        rows = self.rows.with_columns(hit.alias("class"), *self._weights)
        return with_losses(rows, f"score_{self.settled.columns[0]}")

    def _met_losses(self, met: Met) -> nw.LazyFrame[Any]:
        """The losses of every distinct score, with how often it stands."""
        import polars as pl

        columns: dict[str, Any] = {**met.columns, "n": met["n"].astype(np.float64), "w1": met.weight}
        if met.keys is not None:
            columns["group"] = met.keys[met["group"]]
        if "fold" in columns:
            columns["fold"] = pl.Series(met["fold"].tolist())
        return with_losses(nw.from_native(pl.DataFrame(columns)).lazy(), "low")

    def _is_true(self, place: int) -> nw.Expr:
        """Whether a row is of a class."""
        flags = [_col("truth") == value for value in self.settled.truths(place)]
        is_class: nw.Expr = reduce(lambda left, right: left | right, flags) if flags else _col("truth").is_null()
        return is_class

    def _class_losses(self) -> nw.LazyFrame[Any]:
        """The losses of every row where each class has a column; the rank of the true class, ties as in memory."""
        scores = [_col(f"score_{column}") for column in self.settled.columns]
        own = [self._is_true(index).cast(nw.Int64) for index in range(len(scores))]
        rows = self.rows.with_columns(
            reduce(add, (flag * index for index, flag in enumerate(own))).alias("class"),
            nw.max_horizontal(*scores).alias("highest"),
            *self._weights,
        )
        right = scores[-1]
        for index in range(len(scores) - 2, -1, -1):
            right = nw.when(_col("class") == index).then(scores[index]).otherwise(right)
        rows = rows.with_columns(right.alias("right"))
        right, code = _col("right"), _col("class")
        above = [(score > right).cast(nw.Int64) for score in scores]
        level = [((score == right) & (code < index)).cast(nw.Int64) for index, score in enumerate(scores)]
        away = [score - (code == index).cast(nw.Int64).cast(nw.Float64) for index, score in enumerate(scores)]
        rows = rows.with_columns(
            reduce(add, [*above, *level]).alias("rank"),
            (reduce(add, (gap * gap for gap in away)) * (0.5 if len(scores) == 2 else 1.0)).alias("distance"),
            reduce(add, (score * score for score in scores)).alias("norm"),
            in_bins(_col("highest")).alias("place"),
        )
        rows = rows.with_columns((_col("rank") == 0).cast(nw.Int64).cast(nw.Float64).alias("hit"))
        case = CaseProbabilities(right, raised(right), _col("distance"), _col("norm"))
        return rows.with_columns(**case_losses(case, _col("hit") - _col("highest")))


def _col(*names: str) -> nw.Expr:
    return nw.col(*names)
