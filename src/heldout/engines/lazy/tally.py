"""What the scores of a lazy frame tell, of all rows and of every fold: bins, and sums of losses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np

from heldout.engines.counting import LEAST_BINS
from heldout.engines.lazy.first import kept
from heldout.engines.lazy.labels import Settled
from heldout.engines.lazy.probabilities import (
    LEAST,
    Ranked,
    Shape,
    centres_of,
    in_bins,
    losses,
    of_right,
    probabilities_of,
    summed_losses,
)
from heldout.engines.lazy.refined import refined
from heldout.engines.lazy.roles import collected
from heldout.engines.lazy.scores import Met, ScoreColumn
from heldout.evidence.counted import ScoreTally, class_columns, sided
from heldout.evidence.grid import POINT
from heldout.evidence.probabilities import Probabilities
from heldout.evidence.score_bins import ScoreBins

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw


@dataclass(frozen=True, slots=True)
class Budget:
    """How exact the areas are to be, in how many readings of the scores, and how many bins may be met."""

    tolerance: float
    passes: int
    most: int

    def of_classes(self, k: int) -> int:
        """How many bins each of so many columns may have."""
        return max(min(LEAST_BINS, self.most), self.most // k)


@dataclass(frozen=True, eq=False)
class LazyScores:
    """The scores of the rows that count, and the folds that they come in.

    `folds` are the values of that column as they are in the data, in the order in which folds are counted, and `places`
    the fold of every combination of the first pass.
    """

    settled: Settled
    budget: Budget
    folds: Sequence[Any] = ()
    places: Any = None

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
        return self.budget.of_classes(self.k) if self.settled.per_class else self.budget.most

    @property
    def small(self) -> bool:
        """Whether there are so few rows that every distinct score of every fold can be brought here."""
        return self.settled.n <= self.most

    def tallies(self) -> tuple[ScoreTally, tuple[ScoreTally, ...]]:
        """The tally of all rows, and that of every fold."""
        settled, scores = self.settled, self.settled.predictions.scores
        why = None if scores is None else scores.unfit
        columns = [self._column(column) for column in settled.columns]
        found = [self._bins(column) for column in columns]
        probabilities = [None] * (1 + len(self.folds)) if why else self._probabilities([met for met, _ in found])
        labels = settled.labels if settled.per_class else ()
        made = [
            ScoreTally(tuple(bins[at] for _, bins in found), probabilities[at], why, labels)
            for at in range(1 + len(self.folds))
        ]
        return made[0], tuple(made[1:])

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

    def _bins(self, column: ScoreColumn) -> tuple[Met, list[ScoreBins]]:
        """The scores of a column, and the bins of all rows and of every fold."""
        columns = class_columns(self.k)
        if self.small:
            met = column.met(keys=["fold"] if self.folds else [])
            parts = [met, *(met.taken(met.fold == key) for key in self.folds)]
            return met, [self._sided(part, column).bins(columns, POINT, self.most) for part in parts]
        met, exponent = column.finest(self.most)
        made = [self._refined(column, self._sided(met, column).bins(columns, exponent, self.most))]
        for fold in range(len(self.folds)):
            part = self._column(column.column, fold)
            held, finest = part.finest(self.most)
            made.append(self._refined(part, self._sided(held, part).bins(columns, finest, self.most)))
        return met, made

    def _sided(self, met: Met, column: ScoreColumn | None = None) -> Met:
        """With one column of scores: the positive class against the other. Of very many classes, each against all."""
        if self.settled.per_class and column is not None:
            return replace(met, class_=sided(met.class_, self._at(column), self.k).astype(np.int64))
        if self.settled.per_class:
            return met
        return replace(met, class_=(met.class_ == self.settled.positive).astype(np.int64))

    def _refined(self, column: ScoreColumn, bins: ScoreBins) -> ScoreBins:
        place = self._at(column) if self.settled.per_class and bins.k == self.k else 1
        tolerance, passes = self.budget.tolerance, self.budget.passes
        return refined(
            column, bins, lambda met: self._sided(met, column), place=place, tolerance=tolerance, passes=passes
        )

    def _at(self, column: ScoreColumn) -> int:
        return self.settled.columns.index(column.column)

    def _shape(self, mets: Sequence[Met]) -> Shape:
        settled = self.settled
        sides = [settled.positive] if not settled.per_class else range(self.k)
        parts = [
            centres_of((met.low + met.high) / 2, met.class_ == side, _held(met), LEAST)
            for met, side in zip(mets, sides, strict=True)
        ]
        brier = sum(part[0] for part in parts) * (0.5 if settled.per_class and self.k == 2 else 1.0)
        logs = parts[0][1]
        if settled.per_class:
            # The log loss is of the true class alone.
            own = [met.taken(met.class_ == side) for met, side in zip(mets, sides, strict=True)]
            sums = [
                centres_of((met.low + met.high) / 2, np.ones(len(met.n), dtype=bool), _held(met), LEAST)[1]
                * float(_held(met).sum())
                for met in own
            ]
            logs = sum(sums) / max(float(_held(mets[0]).sum()), 1e-300)
        return Shape(self.k, settled.weighted, settled.grouped, settled.per_class, LEAST, (brier, logs))

    def _probabilities(self, mets: Sequence[Met]) -> list[Probabilities | None]:
        """The sums of losses of all rows and of every fold."""
        shape = self._shape(mets)
        keys = [*(["group"] if shape.grouped else []), *(["fold"] if self.folds else [])]
        ranked = None
        if self.settled.per_class:
            rows = self._class_losses(shape)
            table = collected(summed_losses(rows, shape, keys), "sums of losses")
            held = [f"w{power}" for power in shape.powers[:2]]
            ranks = rows.group_by("rank", *keys)
            ranked = collected(ranks.agg(*(_col(name).sum() for name in held)), "ranks")
        elif mets[0].exact and (self.small or not self.folds):
            table = summed_losses(self._met_losses(mets[0], shape), shape, keys).collect()
        else:
            table = collected(summed_losses(self._row_losses(shape), shape, keys), "sums of losses")
        return [
            probabilities_of(part, shape, self.settled.roles.called.get("group", "group"), ranks)
            for part, ranks in self._split(table, ranked, shape)
        ]

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

        one = [nw.lit(1.0).alias("n")]
        if not shape.weighted:
            return [*one, nw.lit(1.0).alias("w1")]
        weight = nw.col("weight")
        return [*one, weight.alias("w1"), (weight * weight).alias("w2"), (weight * weight * weight).alias("w3")]

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
        columns |= {f"w{place}": power for place, power in enumerate(powers, start=1)}
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
        held: nw.Expr = reduce(lambda one, two: one | two, flags) if flags else _col("truth").is_null()
        return held

    def _class_losses(self, shape: Shape) -> nw.LazyFrame[Any]:
        """The losses of every row where each class has a column; the rank of the true class, ties as in memory."""
        import narwhals.stable.v2 as nw

        scores = [_col(f"score_{column}") for column in self.settled.columns]
        own = [self._is_true(place).cast(nw.Int64) for place in range(self.k)]
        rows = self.rows.with_columns(
            reduce(add, (flag * place for place, flag in enumerate(own))).alias("class"),
            nw.max_horizontal(*scores).alias("highest"),
            *self._weights(shape),
        )
        right = scores[-1]
        for place in range(self.k - 2, -1, -1):
            right = nw.when(_col("class") == place).then(scores[place]).otherwise(right)
        rows = rows.with_columns(right.alias("right"))
        right, code = _col("right"), _col("class")
        above = [(score > right).cast(nw.Int64) for score in scores]
        level = [((score == right) & (code < place)).cast(nw.Int64) for place, score in enumerate(scores)]
        away = [score - (code == place).cast(nw.Int64).cast(nw.Float64) for place, score in enumerate(scores)]
        brier = reduce(add, (gap * gap for gap in away)) * (0.5 if self.k == 2 else 1.0)
        rows = rows.with_columns(
            reduce(add, [*above, *level]).alias("rank"), brier.alias("brier"), in_bins(_col("highest")).alias("place")
        )
        rows = rows.with_columns((_col("rank") == 0).cast(nw.Int64).cast(nw.Float64).alias("hit"))
        gap = _col("hit") - _col("highest")
        made = {"gap": gap, "square": gap * gap, **of_right(right, shape.least)}
        return rows.with_columns(*(value.alias(name) for name, value in made.items()))


def _with_losses(rows: nw.LazyFrame[Any], score: nw.Expr, shape: Shape) -> nw.LazyFrame[Any]:
    made = losses(score, _col("hit"), shape.least)
    made["brier"] = made["square"]
    return rows.with_columns(*(value.alias(name) for name, value in made.items()))


def _held(met: Met) -> Any:
    return met.n.astype(np.float64) if met.powers is None else met.powers[0]


def _col(name: str) -> nw.Expr:
    import narwhals.stable.v2 as nw

    return nw.col(name)
