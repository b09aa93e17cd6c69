"""Columns of a lazy frame that look as if they say which rows belong together: distinct values counted in place."""

from __future__ import annotations

from typing import Any

from heldout.engines.lazy.roles import LazyRoles, unreadable
from heldout.predictions.group_like import may_be_group

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
