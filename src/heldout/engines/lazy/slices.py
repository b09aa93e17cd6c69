"""The slices of a lazy frame: one pass for each column, three where it has very many values, one for each pair."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from heldout.arrays import Codes
from heldout.engines.lazy.confusions import Cells, keyed
from heldout.engines.lazy.label_pass import Settled, blanked, is_nan, kept
from heldout.engines.lazy.roles import collected
from heldout.engines.lazy.score_pass import finer, on_grid
from heldout.engines.memory import MOST_PAIRED
from heldout.errors import ColumnError, ValuesError
from heldout.evidence import Label
from heldout.evidence.bin_grid import WIDEST
from heldout.evidence.counted import CountedColumn
from heldout.evidence.slices import SliceCounts
from heldout.predictions.label_encoding import is_missing
from heldout.predictions.slices import SlicePlan, chosen_slices, plan_of
from heldout.predictions.weights import groups

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw

# At most so many distinct values of a column are brought here; of more numbers, bins.
MOST_VALUES = 1 << 20
# A column with at most so many distinct values is grouped by as it is.
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
        """What the column is called in the frame."""
        return f"slice_{self.place}"

    @property
    def expression(self) -> nw.Expr:
        """What rows are grouped by."""
        import narwhals.stable.v2 as nw

        return (nw.col(self.name) if self.code is None else self.code).alias(f"part_{self.place}")

    def codes(self, table: nw.DataFrame[Any]) -> Codes:
        """The slice of every row of a table of counts."""
        column = table.get_column(f"part_{self.place}")
        if self.code is None:
            return self.plan.codes(column.to_native()).astype(np.int64)
        return np.asarray(column.to_numpy()).astype(np.int64)


def lazy_slices(settled: Settled, asked: Any) -> tuple[tuple[LazySlice, ...], list[str]]:
    """The plan of every slice column, and sentences about what was put together or left out."""
    roles = settled.roles
    taken = [*roles.wanted.values(), *roles.scores]
    found: dict[str, LazySlice] = {}

    def make(name: Any) -> SlicePlan:
        made = _planned(settled, roles.slices.index(name), str(name))
        found[made.plan.name] = made
        return made.plan

    plans, said = chosen_slices(asked, roles.columns.names, roles.columns.name, taken, make)
    return tuple(found[plan.name] for plan in plans), said


def _planned(settled: Settled, place: int, name: str) -> LazySlice:
    """The plan of a column, from all rows: those that are left out of the counts have their slice as well."""
    import narwhals.stable.v2 as nw

    column, kind = f"slice_{place}", settled.roles.kinds[settled.roles.slices[place]]
    rows = settled.roles.frame().select(column)
    table = _every_value(settled, column, kind)
    values = table
    if values is None:
        values = rows.group_by(column).agg(nw.len().alias("n")).head(MOST_VALUES + 1).collect()
    if len(values) > MOST_VALUES:
        return _in_bins(rows, kind, place, name)
    held = values.get_column(column)
    plan = plan_of(held.to_native(), np.asarray(values.get_column("n").to_numpy()), name)
    codes = plan.codes(held.to_native())
    raw = [None if is_missing(value) else value for value in held.to_list()]
    if len(set(raw)) <= FEW_VALUES:
        return LazySlice(plan, place, None, table)
    if plan.edges is None:
        return LazySlice(plan, place, _listed(nw.col(column), raw, codes, plan), table)
    ends: list[Any] = [None] * len(plan.edges)
    for value, code in zip(raw, codes.tolist(), strict=True):
        if value is not None and (ends[code] is None or value > ends[code]):
            ends[code] = value
    return LazySlice(plan, place, _between(nw.col(column), ends, plan, floats=bool(kind.is_float())), table)


def _every_value(settled: Settled, column: str, kind: Any) -> nw.DataFrame[Any] | None:
    """The combinations of every value with the classes, of all rows; None where those are too many."""
    if settled.first.rows > MOST_VALUES and kind.is_float():
        # Measured numbers differ from row to row.
        return None
    keys = _keys(settled)
    rows = blanked(settled.roles, keys, settled.made)
    table = _counts_by(settled, rows, [column, *keys, "lost"]).head(MOST_VALUES + 1).collect()
    return table if len(table) <= MOST_VALUES else None


def _keys(settled: Settled) -> list[str]:
    return ["truth", "predicted", *(["group"] if settled.grouped else [])]


def _counts_by(settled: Settled, rows: nw.LazyFrame[Any], keys: Sequence[str]) -> nw.LazyFrame[Any]:
    """How many rows each combination of the keys has, and what they weigh."""
    import narwhals.stable.v2 as nw

    sums = [nw.len().alias("n")]
    if settled.weighted:
        rows = rows.with_columns((nw.col("weight") * nw.col("weight")).alias("square"))
        sums += [nw.col("weight").sum().alias("weight"), nw.col("square").sum().alias("square")]
    return rows.group_by(*keys).agg(*sums)


def _in_bins(rows: nw.LazyFrame[Any], kind: Any, place: int, name: str) -> LazySlice:
    """The plan of numbers of which there are too many: each bin of a grid stands for those in it."""
    import narwhals.stable.v2 as nw

    if not kind.is_numeric():
        what = "moments" if kind.is_temporal() else "texts"
        raise ColumnError(
            f"The column {name!r} has more than {MOST_VALUES:,} different {what}, so it names the cases.",
            hint="slice by a column whose values repeat, such as the day or the month."
            if what == "moments"
            else "slice by a column whose values repeat; id= takes a column that names the cases.",
        )
    column = f"slice_{place}"
    number = nw.col(column)
    floats = rows.select(number.cast(nw.Float64).alias(column))
    held = floats.filter(~number.is_null()).filter(number.is_finite())
    ends = held.select(number.min().alias("low"), number.max().alias("high")).collect()
    low, high = (np.array(ends.get_column(end).to_list(), dtype=np.float64) for end in ("low", "high"))
    exponent = finer(low, high, WIDEST, MOST_VALUES)
    bins = held.with_columns(on_grid(number, exponent).alias("bin")).group_by("bin")
    table = collected(bins.agg(nw.len().alias("n"), number.max().alias("high")), "bins of numbers")
    gaps = floats.filter(number.is_null() | is_nan(number)).select(nw.len().alias("n")).collect()
    absent = int(gaps.get_column("n").to_list()[0])
    values = np.asarray(table.get_column("high").to_numpy()).astype(np.float64)
    times = np.asarray(table.get_column("n").to_numpy()).astype(np.int64)
    if absent:
        values, times = np.append(values, np.nan), np.append(times, absent)
    plan = plan_of(values, times, name, exact=False)
    edges = [] if plan.edges is None else plan.edges.tolist()
    return LazySlice(plan, place, _between(number.cast(nw.Float64), edges, plan, floats=True))


def _between(column: nw.Expr, ends: Sequence[Any], plan: SlicePlan, *, floats: bool) -> nw.Expr:
    """The code of a number: how many slices end below it."""
    import narwhals.stable.v2 as nw

    above = [(column > end).cast(nw.Int64) for end in ends[:-1]]
    code = reduce(add, above) if above else column.is_null().cast(nw.Int64) * 0
    absent = column.is_null() | is_nan(column) if floats else column.is_null()
    return nw.when(absent).then(nw.lit(plan.missing or 0)).otherwise(code)


def _listed(column: nw.Expr, values: Sequence[Any], codes: NDArray[np.uint8], plan: SlicePlan) -> nw.Expr:
    """The code of a text, from those of each slice; what is in none of the lists is the other slice."""
    import narwhals.stable.v2 as nw

    lists: dict[int, list[Any]] = {}
    for value, code in zip(values, codes.tolist(), strict=True):
        if value is not None:
            lists.setdefault(code, []).append(value)
    # The longest list need not be compared.
    rest = plan.other if plan.other is not None else max(lists, key=lambda code: len(lists[code]))
    held = [column.is_in(lists[code]).cast(nw.Int64) * (code - rest) for code in sorted(set(lists) - {rest})]
    code = reduce(add, held) + rest
    return nw.when(column.is_null()).then(nw.lit(plan.missing or 0)).otherwise(code)


@dataclass(frozen=True, eq=False)
class SliceCounter:
    """Counts the slices of the rows that count, in one pass for each column and each pair of columns."""

    settled: Settled
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
        return {(one.plan.name, two.plan.name): self._counts([one, two]) for one, two in both}

    def _counts(self, parts: Sequence[LazySlice]) -> SliceCounts:
        import narwhals.stable.v2 as nw

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

    def _cells(self, table: nw.DataFrame[Any], part: NDArray[Any]) -> Cells:
        def numbers(name: str) -> NDArray[np.float64]:
            return np.asarray(table.get_column(name).to_numpy()).astype(np.float64)

        settled = self.settled
        at = {label: place for place, label in enumerate(self.labels)}
        move = np.array([at.get(label, -1) for label in settled.labels], dtype=np.int64)
        truth, predicted = (
            move[decoded(settled.first.table.get_column(role), places, table.get_column(role))]
            for role, places in (("truth", settled.truth), ("predicted", settled.predicted))
        )
        group = None
        if settled.grouped:
            group = keyed(groups(table.get_column("group").to_native(), settled.roles.called["group"]))
        return Cells(
            self.labels,
            truth,
            predicted,
            np.asarray(table.get_column("n").to_numpy()).astype(np.int64),
            numbers("weight") if settled.weighted else None,
            numbers("square") if settled.weighted else None,
            part.astype(np.int64),
            group,
        )


def decoded(known: nw.Series[Any], places: Codes, values: nw.Series[Any]) -> Codes:
    """The place of every value, from values of which the places are known."""
    at = dict(zip(known.to_list(), places.tolist(), strict=True))
    held = values.to_list()
    if new := [value for value in dict.fromkeys(held) if value not in at]:
        raise ValuesError(
            f"The rows changed between one reading and the next. The class {new[0]!r} was not met in the first.",
            hint="count data that nobody writes to meanwhile, and write down rows that are drawn at random first.",
        )
    return np.array([at[value] for value in held], dtype=np.int64)
