"""Which columns of a lazy frame have which role, and a frame of those columns alone under the names of the roles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import narwhals.stable.v2 as nw

from heldout.arguments import listing
from heldout.engines.lazy.sum_tables import bring, collect_row
from heldout.engines.spark import is_spark
from heldout.errors import ColumnError, HeldoutError
from heldout.evidence.counted import weightless_note
from heldout.predictions.case_values import CONVERT_TO_NUMBERS, refuse_content
from heldout.predictions.label_encoding import TAKE_APART, refuse_labels
from heldout.predictions.source import Columns, NamedRoles, ReadOptions, roles_of_values
from heldout.threads import cached_property

# More rows than this are never brought here, whatever they are.
MOST_ROWS = 1 << 25


@dataclass(frozen=True, eq=False)
class LazyRoles(NamedRoles):
    """A lazy frame whose columns are called as their roles are: truth, …, score_0, score_1, …, slice_0, …."""

    given: nw.LazyFrame[Any] = field(kw_only=True)

    @cached_property
    def kinds(self) -> Mapping[Any, Any]:
        """The types of the columns as they were given."""
        return self.given.collect_schema()

    def with_scores(self, names: Sequence[Any], *, guessed: bool) -> LazyRoles:
        """The same with these columns as scores."""
        told = (*self.guessed, "score") if guessed and names else self.guessed
        return replace(self, scores=tuple(names), free=(), guessed=told)

    def frame(self) -> nw.LazyFrame[Any]:
        """The columns that have a role; weights and scores are floats, categories text."""
        expressions = [self._labels(column).alias(role) for role, column in self.wanted.items() if role != "weight"]
        if "weight" in self.wanted:
            expressions.append(self._numbers(self.wanted["weight"], self.called["weight"]).alias("weight"))
        expressions += [
            self._numbers(column, f"score (column {column!r})").alias(f"score_{index}")
            for index, column in enumerate(self.scores)
        ]
        expressions += [self._values(column).alias(f"slice_{index}") for index, column in enumerate(self.slices)]
        return self.given.select(*expressions)

    def _values(self, column: Any) -> nw.Expr:
        """A slice column; moments of a time zone as its clocks show them."""
        kind = self.kinds[column]
        zoned = isinstance(kind, nw.Datetime) and kind.time_zone
        return nw.col(column).dt.replace_time_zone(None) if zoned else nw.col(column)

    def _labels(self, column: Any) -> nw.Expr:
        kind = self.kinds[column]
        if kind in (nw.List, nw.Array, nw.Struct):
            raise refuse_labels(f"The column {column!r} holds values of type {kind}", TAKE_APART)
        if kind == nw.Binary:
            raise refuse_labels(f"The column {column!r} holds values of type {kind}")
        return as_text(column, self.kinds)

    def _numbers(self, column: Any, called: str) -> nw.Expr:
        kind = self.kinds[column]
        if kind == nw.Boolean:
            return nw.col(column).cast(nw.Int64).cast(nw.Float64)
        if not kind.is_numeric():
            hint = CONVERT_TO_NUMBERS
            if self.given.implementation.is_dask() and kind == nw.String:
                hint = f"{hint.removesuffix('.')}; Dask makes text of objects of pandas such as Decimal."
            raise refuse_content(called, kind, hint)
        return nw.col(column) if kind == nw.Float64 else nw.col(column).cast(nw.Float64)

    def declared(self, role: str) -> tuple[Any, ...]:
        """The classes in the order in which the type of a column declares them; nothing where it does not."""
        kind = self.kinds[self.wanted[role]] if role in self.wanted else None
        if isinstance(kind, nw.Enum):
            return tuple(kind.categories)
        if isinstance(kind, nw.Categorical) and self.given.implementation.is_dask():
            # Categories of pandas are declared, if Dask knows them before it reads the rows.
            categorical = self.given.to_native()[self.wanted[role]].cat
            categories = list(categorical.categories) if categorical.known else []
            return tuple(categories) if all(isinstance(name, str) for name in categories) else ()
        return ()

    def is_float(self, role: str) -> bool:
        """Whether the column of a role holds floats, of which nan is a missing one."""
        return bool(self.kinds[self.wanted[role]].is_float())


def as_text(column: Any, kinds: Mapping[Any, Any]) -> nw.Expr:
    """A column of labels, categories as text."""
    # Categories are compressed text in most of these libraries, and texts compare alike in all of them.
    return nw.col(column).cast(nw.String) if kinds[column] in (nw.Categorical, nw.Enum) else nw.col(column)


def lazy_roles(
    frame: nw.LazyFrame[Any],
    name: str,
    roles: Mapping[str, Any],
    asked: ReadOptions,
    *,
    from_file: bool = False,
    withheld: Mapping[str, HeldoutError] | None = None,
) -> LazyRoles:
    """The columns of the roles, named or guessed from the names of the columns; no row is read.

    `withheld` are columns that the frame was opened without, each with the error for whoever wants it.

    >>> import narwhals.stable.v2 as nw, polars as pl
    >>> frame = nw.from_native(pl.LazyFrame({"y": [0, 1], "p": [0, 1]}))
    >>> asked = ReadOptions(None, "refuse", None, None, None)
    >>> lazy_roles(frame, "the data frame", {"truth": "y", "predicted": "p"}, asked).wanted
    {'truth': 'y', 'predicted': 'p'}
    """
    if values := roles_of_values(roles, asked):
        raise ColumnError(
            f"The rows of a lazy frame have no order, so values cannot be matched with them: {listing(values)}.",
            hint="add the values to the frame as columns, and give their names.",
        )
    frame, absent = _settle_categories(frame), withheld or {}
    columns = Columns({}, name, from_file=from_file, every=[*frame.collect_schema(), *absent])
    found = LazyRoles.of(columns, roles, asked, given=frame)
    used = [*found.taken, *found.free, *found.slices]
    for column in used:
        if column in absent:
            raise absent[column]
    _check_names(frame, name, used)
    return found


def _settle_categories(frame: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
    """The same frame, and of Dask's categorize() a step that reads all its columns: a part of them it cannot read."""
    native: Any = frame.to_native() if frame.implementation.is_dask() else None
    steps = native.expr.walk() if hasattr(native, "expr") else ()
    if not any(type(step).__name__ == "Categorize" for step in steps):
        return frame
    whole: nw.LazyFrame[Any] = nw.from_native(native.map_partitions(_keep_rows, meta=native._meta))  # noqa: SLF001
    return whole


def _keep_rows(rows: Any) -> Any:
    return rows


def _check_names(frame: nw.LazyFrame[Any], name: str, used: Sequence[Any]) -> None:
    """Refuse columns that Spark cannot find by their names, before it does so in its own words."""
    bad = unreadable(frame, used)
    hint = "give every column another name first, with toDF(…)."
    if odd := [column for column in bad if _is_odd(column)]:
        raise ColumnError(
            f"Spark reads dots and backticks in the name of a column as signs of its own. In {name} these have some: "
            f"{listing(map(repr, odd))}.",
            hint=hint,
        )
    if bad:
        raise ColumnError(
            f"Spark does not tell columns apart whose names differ only in case. In {name} these do: "
            f"{listing(map(repr, bad))}.",
            hint=hint,
        )


def unreadable(frame: nw.LazyFrame[Any], used: Sequence[Any]) -> list[str]:
    """The columns that Spark cannot find by their names, and those for which it takes them.

    >>> import narwhals.stable.v2 as nw, polars as pl
    >>> unreadable(nw.from_native(pl.LazyFrame({"a`b": [1]})), ["a`b"])
    []
    """
    if not is_spark(frame):
        return []
    native: Any = frame.to_native()
    exactly = str(native.sparkSession.conf.get("spark.sql.caseSensitive")).lower() == "true"
    spelt: dict[str, list[str]] = {}
    for column in native.columns:
        spelt.setdefault(column if exactly else column.lower(), []).append(column)
    wanted = dict.fromkeys(str(column) if exactly else str(column).lower() for column in used)
    return [column for key in wanted for column in spelt[key] if len(spelt[key]) > 1 or _is_odd(column)]


def _is_odd(column: str) -> bool:
    return "." in column or "`" in column


def collected(frame: nw.LazyFrame[Any], what: str, *, needed: int = 0) -> nw.DataFrame[Any]:
    """The rows of a small table; refused where it is not small, `what` says of what it has one row each.

    `needed` are the bytes that it may take here.
    """
    table: nw.DataFrame[Any] = bring(frame.head(MOST_ROWS + 1), needed=needed)
    if len(table) > MOST_ROWS:
        raise ColumnError(
            f"There are more than {MOST_ROWS:,} {what}, which is too many to bring together on one machine.",
            hint="check which columns were chosen: classes, folds and groups are far fewer than rows.",
        )
    return table


def without_weightless(roles: LazyRoles) -> tuple[LazyRoles, list[str]]:
    """The same without the rows of weight 0, and what is said of them; where all have that weight, it is refused later.

    >>> import narwhals.stable.v2 as nw, polars as pl
    >>> frame = nw.from_native(pl.LazyFrame({"y": [0, 1, 1], "w": [1.0, 0.0, None]}))
    >>> kept, notes = without_weightless(LazyRoles(Columns({}, "", every=["y", "w"]), {"weight": "w"}, given=frame))
    >>> kept.given.collect().shape, notes
    ((2, 2), ['1 row of weight 0 was left out'])
    """
    if "weight" not in roles.wanted or not roles.kinds[roles.wanted["weight"]].is_numeric():
        return roles, []
    weight = nw.col(roles.wanted["weight"])
    columns = roles.given.select((weight == 0).cast(nw.Int64).alias("empty"))
    sums = collect_row(columns.select(nw.col("empty").sum().alias("empty"), nw.len().alias("rows")))
    empty, rows = int(sums["empty"] or 0), int(sums["rows"])
    if empty in (0, rows):
        return roles, []
    return replace(roles, given=roles.given.filter(weight.is_null() | (weight != 0))), [weightless_note(empty)]
