"""The engine for lazy frames: counts are made where the rows are, pass by pass, for all of them and for every slice."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from heldout.arrays import Codes
from heldout.engines.confusion_cells import ConfusionCells
from heldout.engines.lazy.dask_workers import watch_dask
from heldout.engines.lazy.label_pass import SettledLabels, blanked, kept, lacks, settle, with_scores
from heldout.engines.lazy.passes import tell_passes
from heldout.engines.lazy.roles import LazyRoles, collected, lazy_roles, unreadable, without_weightless
from heldout.engines.lazy.score_pass import Budget, LazyScores, finer, on_grid
from heldout.engines.lazy.sum_tables import bring, collect_row, numbers, whole_numbers
from heldout.engines.memory import MOST_PAIRED, refuse_copies, refuse_repeated
from heldout.errors import ColumnError, HeldoutError, ValuesError
from heldout.evidence import Label
from heldout.evidence.bin_grid import WIDEST
from heldout.evidence.consistency import impossible
from heldout.evidence.counted import Counted, CountedColumn, ScoreTally
from heldout.evidence.partitions import SliceCounts
from heldout.evidence.score_bins import MOST
from heldout.predictions.case_values import groups
from heldout.predictions.column_roles import may_be_group
from heldout.predictions.label_encoding import is_missing
from heldout.predictions.slice_plans import SLICE_BY_REPEATED, SlicePlan, chosen_slices, plan_of, refuse_nested
from heldout.predictions.source import ReadOptions, Source

# The most distinct values of a column that are fetched; of more numbers, bins are fetched.
MOST_VALUES = 1 << 20
# A column with at most this many distinct values is grouped by as it is.
FEW_VALUES = 256


@dataclass(frozen=True, eq=False)
class LazySlice:
    """A column that divides the cases, and how its slice is found where the rows are.

    `code` is the slice's code as an expression; None where the values are few and come as they are. `table` are the
    counts of every value, if they are here already.
    """

    plan: SlicePlan
    place: int
    code: Any = None
    table: Any = None

    @property
    def name(self) -> str:
        """The column of this slice in the frame."""
        return f"slice_{self.place}"

    @property
    def expression(self) -> nw.Expr:
        """What rows are grouped by."""
        return (nw.col(self.name) if self.code is None else self.code).alias(f"part_{self.place}")

    def codes(self, table: nw.DataFrame[Any]) -> Codes:
        """The slice of every row of a table of counts."""
        column = table.get_column(f"part_{self.place}")
        if self.code is None:
            return self.plan.codes(column.to_native()).astype(np.int64)
        return np.asarray(column.to_numpy()).astype(np.int64)


def lazy_slices(settled: SettledLabels, asked: Any) -> tuple[tuple[LazySlice, ...], list[str]]:
    """The plan of every slice column, and sentences about what was put together or left out."""
    roles = settled.roles
    slices: dict[str, LazySlice] = {}

    def make(name: Any) -> SlicePlan:
        planned = _planned(settled, roles.slices.index(name), str(name))
        slices[planned.plan.name] = planned
        return planned.plan

    plans, notes = chosen_slices(asked, roles.columns.names, roles.columns.name, roles.taken, make)
    return tuple(slices[plan.name] for plan in plans), notes


def _planned(settled: SettledLabels, place: int, name: str) -> LazySlice:
    """The plan of a column, from all rows: those that are left out of the counts have their slice as well."""
    column, kind = f"slice_{place}", settled.roles.kinds[settled.roles.slices[place]]
    refuse_nested(kind, name)
    rows = settled.roles.frame().select(column)
    table = _every_value(settled, column, kind)
    values = table
    if values is None:
        values = bring(rows.group_by(column).agg(nw.len().alias("n")).head(MOST_VALUES + 1))
    if len(values) > MOST_VALUES:
        return _in_bins(rows, kind, place, name)
    distinct_values = values.get_column(column)
    plan = plan_of(distinct_values.to_native(), np.asarray(values.get_column("n").to_numpy()), name)
    codes = plan.codes(distinct_values.to_native())
    raw = [None if is_missing(value) else value for value in distinct_values.to_list()]
    if len(set(raw)) <= FEW_VALUES:
        return LazySlice(plan, place, None, table)
    if plan.edges is None:
        return LazySlice(plan, place, _listed(nw.col(column), raw, codes, plan), table)
    ends: list[Any] = [None] * len(plan.edges)
    for value, code in zip(raw, codes.tolist(), strict=True):
        if value is not None and (ends[code] is None or value > ends[code]):
            ends[code] = value
    return LazySlice(plan, place, _between(nw.col(column), ends, plan, floats=bool(kind.is_float())), table)


def _every_value(settled: SettledLabels, column: str, kind: Any) -> nw.DataFrame[Any] | None:
    """The combinations of every value with the classes, of all rows; None where those are too many."""
    if settled.first.rows > MOST_VALUES and kind.is_float():
        # Measured numbers differ from row to row.
        return None
    keys = _keys(settled)
    rows = blanked(settled.roles, keys, settled.made)
    table: nw.DataFrame[Any] = bring(_counts_by(settled, rows, [column, *keys, "lost"]).head(MOST_VALUES + 1))
    return table if len(table) <= MOST_VALUES else None


def _keys(settled: SettledLabels) -> list[str]:
    return ["truth", "predicted", *(["group"] if settled.grouped else [])]


def _counts_by(settled: SettledLabels, rows: nw.LazyFrame[Any], keys: Sequence[str]) -> nw.LazyFrame[Any]:
    """How many rows each combination of the keys has, and what they weigh."""
    sums = [nw.len().alias("n")]
    if settled.weighted:
        rows = rows.with_columns((nw.col("weight") * nw.col("weight")).alias("square"))
        sums += [nw.col("weight").sum().alias("weight"), nw.col("square").sum().alias("square")]
    return rows.group_by(*keys).agg(*sums)


def _in_bins(rows: nw.LazyFrame[Any], kind: Any, place: int, name: str) -> LazySlice:
    """The plan of numbers of which there are too many: each bin of a grid stands for those in it."""
    if not kind.is_numeric():
        what = "moments" if kind.is_temporal() else "texts"
        raise ColumnError(
            f"The column {name!r} has more than {MOST_VALUES:,} different {what}, so it names the cases.",
            hint="slice by a column whose values repeat, such as the day or the month."
            if what == "moments"
            else SLICE_BY_REPEATED,
        )
    column = f"slice_{place}"
    number = nw.col(column)
    floats = rows.select(number.cast(nw.Float64).alias(column))
    finite = floats.filter(~number.is_null()).filter(number.is_finite())
    ends = collect_row(finite.select(number.min().alias("low"), number.max().alias("high")))
    low, high = (np.array([ends[end]], dtype=np.float64) for end in ("low", "high"))
    exponent = finer(low, high, WIDEST, MOST_VALUES)
    bins = finite.with_columns(on_grid(number, exponent).alias("bin")).group_by("bin")
    table = collected(bins.agg(nw.len().alias("n"), number.max().alias("high")), "bins of numbers")
    absent = int(collect_row(floats.filter(lacks(number, floats=True)).select(nw.len().alias("n")))["n"])
    values, times = numbers(table, "high"), whole_numbers(table, "n")
    if absent:
        values, times = np.append(values, np.nan), np.append(times, absent)
    plan = plan_of(values, times, name, exact=False)
    edges = [] if plan.edges is None else plan.edges.tolist()
    return LazySlice(plan, place, _between(number.cast(nw.Float64), edges, plan, floats=True))


def _between(column: nw.Expr, ends: Sequence[Any], plan: SlicePlan, *, floats: bool) -> nw.Expr:
    """The code of a number: how many slices end below it."""
    above = [(column > end).cast(nw.Int64) for end in ends[:-1]]
    code = reduce(add, above) if above else column.is_null().cast(nw.Int64) * 0
    return nw.when(lacks(column, floats=floats)).then(nw.lit(plan.missing or 0)).otherwise(code)


def _listed(column: nw.Expr, values: Sequence[Any], codes: NDArray[np.uint8], plan: SlicePlan) -> nw.Expr:
    """The code of a text, from those of each slice; what is in none of the lists is the other slice."""
    lists: dict[int, list[Any]] = {}
    for value, code in zip(values, codes.tolist(), strict=True):
        if value is not None:
            lists.setdefault(code, []).append(value)
    # The longest list need not be compared.
    rest = plan.other if plan.other is not None else max(lists, key=lambda code: len(lists[code]))
    terms = [column.is_in(lists[code]).cast(nw.Int64) * (code - rest) for code in sorted(set(lists) - {rest})]
    code = reduce(add, terms) + rest
    return nw.when(column.is_null()).then(nw.lit(plan.missing or 0)).otherwise(code)


@dataclass(frozen=True, eq=False)
class SliceCounter:
    """Counts the slices of the rows that count, in one pass for each column and each pair of columns."""

    settled: SettledLabels
    labels: tuple[Label, ...]

    def columns(self, slices: Sequence[LazySlice]) -> tuple[CountedColumn, ...]:
        """The counts of every column."""
        return tuple(
            CountedColumn(part.plan.name, part.plan.labels, self._counts([part]), part.plan.kind, part.plan.note)
            for part in slices
        )

    def pairs(self, slices: Sequence[LazySlice]) -> Mapping[tuple[str, str], SliceCounts]:
        """The counts of every pair of columns; none where that would take too long."""
        both = list(itertools.combinations(slices, 2))
        if len(both) * self.settled.n > MOST_PAIRED:
            return {}
        return {(left.plan.name, right.plan.name): self._counts([left, right]) for left, right in both}

    def _counts(self, parts: Sequence[LazySlice]) -> SliceCounts:
        settled, first = self.settled, parts[0]
        if len(parts) == 1 and first.table is not None:
            table = first.table.filter(nw.col("lost") == 0)
            return self._cells(table, first.plan.codes(table.get_column(first.name).to_native())).slices()
        rows = kept(settled.roles, settled.made).with_columns(*(part.expression for part in parts))
        keys = [*(f"part_{part.place}" for part in parts), *_keys(settled)]
        table = collected(_counts_by(settled, rows, keys), "combinations of classes and slices")
        code = first.codes(table)
        for part in parts[1:]:
            code = code * len(part.plan.labels) + part.codes(table)
        return self._cells(table, code).slices()

    def _cells(self, table: nw.DataFrame[Any], part: NDArray[Any]) -> ConfusionCells:
        settled = self.settled
        at = {label: index for index, label in enumerate(self.labels)}
        move = np.array([at.get(label, -1) for label in settled.labels], dtype=np.int64)
        truth, predicted = (
            move[decoded(settled.first.table.get_column(role), places, table.get_column(role))]
            for role, places in (("truth", settled.truth), ("predicted", settled.predicted))
        )
        return replace(_cells_of(settled, table, self.labels, truth, predicted), part=part.astype(np.int64))


def _cells_of(
    settled: SettledLabels, table: nw.DataFrame[Any], labels: tuple[Label, ...], truth: Codes, predicted: Codes
) -> ConfusionCells:
    """The combinations of a table of counts, whose classes are these places among the labels."""
    return ConfusionCells(
        labels,
        truth,
        predicted,
        whole_numbers(table, "n"),
        numbers(table, "weight") if settled.weighted else None,
        numbers(table, "square") if settled.weighted else None,
        group=settled.groups_of(table),
    )


def decoded(known: nw.Series[Any], places: Codes, values: nw.Series[Any]) -> Codes:
    """The place of every value, from values of which the places are known."""
    at = dict(zip(known.to_list(), places.tolist(), strict=True))
    raw_values = values.to_list()
    if new := [value for value in dict.fromkeys(raw_values) if value not in at]:
        raise ValuesError(
            f"The rows changed between one reading and the next. The class {new[0]!r} was not met in the first.",
            hint="count data that nobody writes to meanwhile, and write down rows that are drawn at random first.",
        )
    return np.array([at[value] for value in raw_values], dtype=np.int64)


# Counting a lazy frame where its rows are: Polars, DuckDB, Ibis, Spark and Dask, through narwhals.
#
# Only filter, cast, arithmetic, group-by, sum, count, minimum, maximum and join are asked of the engine, which all of
# them do alike; small tables are collected and put together here. The passes over the data are:
#
# 1. where scores are guessed from the names of columns, one over the classes and these columns; 2. one over the columns
# of the roles: combinations of classes, folds and groups, missing and bad values (twice where the predicted class is
# the one with the highest of several scores); 3. one in which the workers of a cluster that have heldout count all
# scores, losses, groups and folds. Elsewhere one or two for each column of scores, on clusters for many columns
# together, and as many for each fold where the rows are many; one for the losses unless every distinct score is known;
# in both cases a few for each of the `passes` after the first, in which rows are joined with the small table of the
# bins that leave the areas uncertain; 4. one for each slice column, three where it has very many values, and one for
# each pair of columns; 5. one that looks for an id that stands twice; 6. one for each of a few unused columns whose
# names suggest that rows belong together.


# Each takes a pass over the rows of its own, so of more columns only these many are looked at.
MOST_COLUMNS = 8


def lazy_group_like(roles: LazyRoles) -> tuple[tuple[str, int, int], ...]:
    """The columns without a role that may hold groups: name, distinct values and rows, where values repeat.

    >>> import narwhals.stable.v2 as nw, polars as pl
    >>> from heldout.predictions.source import Columns
    >>> frame = nw.from_native(pl.LazyFrame({"y": [0, 1, 1], "patient": ["a", "a", None]}))
    >>> lazy_group_like(LazyRoles(Columns({}, "", every=["y", "patient"]), {"truth": "y"}, given=frame))
    ()
    """
    counted = ((str(column), *_distinct(roles.given, column)) for column in _likely_groups(roles))
    return tuple(seen for seen in counted if 1 < seen[1] < seen[2])


def _likely_groups(roles: LazyRoles) -> list[Any]:
    """A few columns without a role whose names suggest that rows belong together."""
    if "group" in roles.wanted:
        return []
    used = {*roles.wanted.values(), *roles.scores}
    nested = (nw.List, nw.Array, nw.Struct, nw.Binary, nw.Object, nw.Unknown)
    likely = [
        column
        for column in roles.columns.names
        if column not in used and may_be_group(column) and roles.kinds.get(column, nw.Unknown) not in nested
    ]
    readable = set(likely).difference(unreadable(roles.given, likely))
    return [column for column in likely[:MOST_COLUMNS] if column in readable]


def _distinct(frame: Any, column: Any) -> tuple[int, int]:
    """How many different values a column has, and in how many rows; missing ones count in neither."""
    key = nw.col(column).alias("key")
    values = frame.select(key).filter(~nw.col("key").is_null()).group_by("key").agg(nw.len().alias("n"))
    totals = collect_row(values.select(nw.len().alias("distinct"), nw.col("n").sum().alias("n")))
    return int(totals["distinct"]), int(totals["n"] or 0)


def count_lazy(
    frame: nw.LazyFrame[Any],
    name: str,
    roles: Mapping[str, Any],
    asked: ReadOptions,
    *,
    tolerance: float | None = None,
    passes: int = 3,
    most: int = MOST,
    from_file: bool = False,
    withheld: Mapping[str, HeldoutError] | None = None,
) -> tuple[Counted, Source]:
    """Count everything of a lazy frame, and say which columns were read; `most` bins are met by each column of scores.

    `withheld` are columns that are not in the frame, because the files that it was opened from do not agree in them,
    each with the error for whoever wants it.

    >>> import narwhals.stable.v2 as nw, polars as pl
    >>> frame = nw.from_native(pl.LazyFrame({"y": ["a", "a", "b"], "p": ["a", "b", "b"]}))
    >>> asked = ReadOptions(None, "refuse", None, None, None)
    >>> counted, source = count_lazy(frame, "the data frame", {"truth": "y", "predicted": "p"}, asked)
    >>> counted.confusion.matrix.tolist(), source.sentence()
    ([[1, 1], [0, 1]], 'truth = y, predicted = p')
    """
    with watch_dask(is_dask=frame.implementation.is_dask()):
        every = lazy_roles(frame, name, roles, asked, from_file=from_file, withheld=withheld or {})
        with tell_passes(name, lambda: _plan_passes(every)):
            return _count(every, asked, Budget(tolerance, passes, most))


def _plan_passes(roles: LazyRoles) -> int:
    """How often the rows will be read, if scores need one reading and what was guessed can be used."""
    scores = len(roles.scores or roles.free)
    wanted = roles.wanted
    slices = len(roles.slices)
    return sum(
        (
            "weight" in wanted,
            bool(roles.free),
            sum(role in wanted and roles.is_float(role) for role in ("truth", "predicted")),
            # With several scores the order of the classes says which of equal ones is predicted.
            2 if "predicted" not in wanted and scores > 1 else 1,
            "id" in wanted,
            slices + slices * (slices - 1) // 2,
            bool(scores),
            len(_likely_groups(roles)),
        )
    )


def _count(every: LazyRoles, asked: ReadOptions, budget: Budget) -> tuple[Counted, Source]:
    counting, weightless = without_weightless(every)
    found, notes = with_scores(counting, asked)
    settled = settle(found, asked, [*(note for *_, note in found.idle), *notes])
    _check_once(found)
    slices, slice_notes = lazy_slices(settled, asked.slices)
    cells = _cells(settled)
    confusion = cells.confusion()
    seen = settled.predictions
    folds = scores = None
    fold_scores: tuple[ScoreTally, ...] = ()
    keys, places = ([], None) if "fold" not in found.wanted else _folds(settled)
    if places is not None:
        folds = replace(cells, part=places[0]).folds(places[1])
    if found.scores:
        fold_codes, fold_keys = (None, ()) if places is None else (places[0], places[1].tolist())
        scores, fold_scores = LazyScores(settled, budget, keys, fold_codes, fold_keys).tallies()
    counter = SliceCounter(settled, confusion.labels)
    counted = Counted(
        confusion=confusion,
        positive=seen.positive,
        threshold=seen.threshold if found.scores else None,
        scores=scores,
        folds=folds,
        fold_scores=fold_scores,
        slices=counter.columns(slices),
        pairs=counter.pairs(slices),
        rows=settled.first.rows,
        lost=settled.first.lost,
        missing=settled.first.missing,
        declared=seen.keep_labels,
        notes=(*seen.notes, *slice_notes, *weightless),
        joined_types=seen.joined_types,
    )
    if why := impossible(counted):
        raise ValuesError(
            f"The rows of {every.columns.name} changed between one reading and the next. "
            f"What was counted does not fit: {why}.",
            hint="count data that nobody writes to meanwhile, and write down rows that are drawn at random first.",
        )
    return counted, found.source(seen, lazy_group_like(found))


def _cells(settled: SettledLabels) -> ConfusionCells:
    """The combinations of the first pass, in the labels of the evidence."""
    cells = _cells_of(settled, settled.first.table, settled.labels, settled.truth, settled.predicted)
    return cells.among(declared=settled.predictions.keep_labels)


def _folds(settled: SettledLabels) -> tuple[list[Any], tuple[Any, Any]]:
    """The folds as they are in the data, in order, and the fold of every combination with the keys of all."""
    column = settled.first.table.get_column("fold")
    codes, keys = groups(column.to_native(), settled.roles.called["fold"]).keyed()
    raw: dict[int, Any] = {}
    for code, value in zip(codes.tolist(), column.to_list(), strict=True):
        raw.setdefault(code, value)
    return [raw[code] for code in range(len(keys))], (codes, keys)


def _check_once(roles: LazyRoles) -> None:
    """Each row is a case of its own, so an id stands once."""
    if "id" not in roles.wanted:
        return
    often = kept(roles).group_by("id").agg(nw.len().alias("n")).filter(nw.col("n") > 1)
    twice = int(collect_row(often.select(nw.len().alias("n")))["n"])
    if not twice:
        return
    # Not looked up by its value, which engines write in types that it does not fit.
    first, times = collect_row(often.sort("id").head(1)).values()
    if "fold" in roles.wanted:
        raise refuse_repeated(first, times, ": engine='memory' (--engine memory), or collect the frame")
    raise refuse_copies(first, times, twice)
