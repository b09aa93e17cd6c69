"""Counting a lazy frame where its rows are: Polars, DuckDB, Ibis, Spark and Dask, through narwhals.

Only filter, cast, arithmetic, group-by, sum, count, minimum, maximum and join are asked of the engine, which all of
them do alike; small tables are collected and put together here. The passes over the data are:

1. where scores are guessed from the names of columns, one over the classes and one for scores that are missing;
2. one over the columns of the roles: combinations of classes, folds and groups, missing and bad values (twice where the
   predicted class is the one with the highest of several scores);
3. one or two for each column of scores, and as many for each fold where the rows are many; one for the losses unless
   every distinct score is known; and a few for each of the `passes` after the first, in which rows are joined with the
   small table of the bins that leave the areas uncertain;
4. one for each slice column, three where it has very many values, and one for each pair of columns;
5. one that looks for an id that stands twice;
6. one for each of a few unused columns whose names suggest that rows belong together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from heldout.engines.lazy.confusions import Cells, keyed
from heldout.engines.lazy.label_pass import Settled, kept, settle, with_scores
from heldout.engines.lazy.roles import LazyRoles, lazy_roles, unreadable
from heldout.engines.lazy.score_pass import Budget, LazyScores
from heldout.engines.lazy.slices import SliceCounter, lazy_slices
from heldout.errors import HeldoutError, ValuesError
from heldout.evidence.consistency import impossible
from heldout.evidence.counted import Counted, ScoreTally
from heldout.evidence.score_bins import MOST
from heldout.predictions.columns import may_be_group
from heldout.predictions.source import Asked, Source, idle_columns, named_roles
from heldout.predictions.weights import groups

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw


# Columns of a lazy frame that look as if they say which rows belong together: distinct values counted in place.

# Each takes a pass over the rows of its own, so of more columns only these many are looked at.
MOST_COLUMNS = 8


def lazy_group_like(roles: LazyRoles) -> tuple[tuple[str, int, int], ...]:
    """The columns without a role that may hold groups: name, distinct values and rows, where values repeat.

    >>> import narwhals.stable.v2 as nw, polars as pl
    >>> from heldout.predictions.source import Columns
    >>> frame = nw.from_native(pl.LazyFrame({"y": [0, 1, 1], "patient": ["a", "a", None]}))
    >>> lazy_group_like(LazyRoles(frame, Columns({}, "", every=["y", "patient"]), {"truth": "y"}, ()))
    ()
    """
    import narwhals.stable.v2 as nw

    if "group" in roles.wanted:
        return ()
    used = {*roles.wanted.values(), *roles.scores}
    nested = (nw.List, nw.Array, nw.Struct, nw.Binary, nw.Object, nw.Unknown)
    likely = [
        column
        for column in roles.columns.names
        if column not in used and may_be_group(column) and roles.kinds.get(column, nw.Unknown) not in nested
    ]
    readable = set(likely).difference(unreadable(roles.given, likely))
    counted = ((str(column), *_distinct(roles.given, column)) for column in likely[:MOST_COLUMNS] if column in readable)
    return tuple(seen for seen in counted if 1 < seen[1] < seen[2])


def _distinct(frame: Any, column: Any) -> tuple[int, int]:
    """How many different values a column has, and in how many rows; missing ones count in neither."""
    import narwhals.stable.v2 as nw

    key = nw.col(column).alias("key")
    values = frame.select(key).filter(~nw.col("key").is_null()).group_by("key").agg(nw.len().alias("n"))
    found = values.select(nw.len().alias("distinct"), nw.col("n").sum().alias("n")).collect()
    distinct, rows = (found.get_column(name).to_list()[0] for name in ("distinct", "n"))
    return int(distinct), int(rows or 0)


def count_lazy(
    frame: nw.LazyFrame[Any],
    name: str,
    roles: Mapping[str, Any],
    asked: Asked,
    *,
    tolerance: float = 1e-6,
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
    >>> asked = Asked(None, "refuse", None, None, None)
    >>> counted, source = count_lazy(frame, "the data frame", {"truth": "y", "predicted": "p"}, asked)
    >>> counted.confusion.matrix.tolist(), source.sentence()
    ([[1, 1], [0, 1]], 'truth = y, predicted = p')
    """
    found, notes = with_scores(
        lazy_roles(frame, name, roles, asked, from_file=from_file, withheld=withheld or {}), asked
    )
    idle = idle_columns(found.columns, list(found.wanted), [str(column) for column in found.slices])
    settled = settle(found, asked, [*(note for *_, note in idle), *notes])
    _check_once(found)
    slices, said = lazy_slices(settled, asked.slices)
    cells = _cells(settled)
    confusion = cells.confusion()
    seen = settled.predictions
    folds = scores = None
    fold_scores: tuple[ScoreTally, ...] = ()
    budget = Budget(tolerance, passes, most)
    keys, places = ([], None) if "fold" not in found.wanted else _folds(settled)
    if places is not None:
        folds = replace(cells, part=places[0]).folds(places[1])
    if found.scores:
        scores, fold_scores = LazyScores(settled, budget, keys, None if places is None else places[0]).tallies()
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
        notes=(*seen.notes, *said),
        joined_types=seen.joined_types,
    )
    if why := impossible(counted):
        raise ValuesError(
            f"The rows of {name} changed between one reading and the next. What was counted does not fit: {why}.",
            hint="count data that nobody writes to meanwhile, and write down rows that are drawn at random first.",
        )
    named = named_roles(dict(found.wanted), list(map(str, found.scores)), seen, made=settled.made is not None)
    return counted, Source(name, tuple(named), found.guessed, lazy_group_like(found), tuple(idle))


def _cells(settled: Settled) -> Cells:
    """The combinations of the first pass, in the labels of the evidence."""
    first = settled.first
    weighted = settled.weighted
    group = None
    if settled.grouped:
        group = keyed(groups(first.table.get_column("group").to_native(), settled.roles.called["group"]))
    made = Cells(
        settled.labels,
        settled.truth,
        settled.predicted,
        first.column("n").astype(np.int64),
        first.column("weight").astype(np.float64) if weighted else None,
        first.column("square").astype(np.float64) if weighted else None,
        group=group,
    )
    return made if settled.predictions.keep_labels else made.without_unmet()


def _folds(settled: Settled) -> tuple[list[Any], tuple[Any, Any]]:
    """The folds as they are in the data, in order, and the fold of every combination with the keys of all."""
    column = settled.first.table.get_column("fold")
    codes, keys = keyed(groups(column.to_native(), settled.roles.called["fold"]))
    raw: dict[int, Any] = {}
    for code, value in zip(codes.tolist(), column.to_list(), strict=True):
        raw.setdefault(code, value)
    return [raw[code] for code in range(len(keys))], (codes, keys)


def _check_once(roles: LazyRoles) -> None:
    """Each row is a case of its own, so an id stands once."""
    import narwhals.stable.v2 as nw

    if "id" not in roles.wanted:
        return
    often = kept(roles).group_by("id").agg(nw.len().alias("n")).filter(nw.col("n") > 1)
    found = often.select(nw.len().alias("n"), nw.col("id").min().alias("first")).collect()
    twice, first = int(found.get_column("n").to_list()[0]), found.get_column("first").to_list()[0]
    if not twice:
        return
    times = often.filter(nw.col("id") == first).collect().get_column("n").to_list()[0]
    if "fold" in roles.wanted:
        raise ValuesError(
            f"The id {first!r} stands in {times:,} rows, and counts do not tell which predictions are of one case.",
            hint="evaluate cases that were predicted more than once from their rows: engine='memory' (--engine "
            "memory), or collect the frame.",
        )
    raise ValuesError(
        f"The id {first!r} stands in {times:,} rows; {twice:,} ids stand in more than one.",
        hint="leave out the copies, or say with fold= (--fold) which model made which prediction.",
    )
