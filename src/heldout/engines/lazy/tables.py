"""Small tables on their way: one of ours put where the data are, and one that was made there brought here."""

from __future__ import annotations

import warnings
from typing import Any

from heldout.errors import OptionError


def fetched(frame: Any) -> Any:
    """What a lazy frame of narwhals comes to, as a Polars frame; Polars works through its rows in batches for it.

    >>> import narwhals.stable.v2 as nw
    >>> import polars as pl
    >>> fetched(nw.from_native(pl.LazyFrame({"x": [1, 2]})).select(nw.col("x").sum())).rows()
    [(3,)]
    """
    if frame.implementation.is_polars():
        return frame.to_native().collect(engine="streaming")
    return frame.collect(backend="polars").to_native()


def brought(frame: Any) -> Any:
    """What a lazy frame of narwhals comes to, as the frame that its engine makes; Polars works in batches for it too.

    >>> import narwhals.stable.v2 as nw
    >>> import polars as pl
    >>> brought(nw.from_native(pl.LazyFrame({"x": [1, 2]}))).get_column("x").to_list()
    [1, 2]
    """
    import narwhals.stable.v2 as nw

    return nw.from_native(fetched(frame), eager_only=True) if frame.implementation.is_polars() else frame.collect()


def pushed(table: Any, beside: Any) -> Any:
    """A Polars frame as a lazy frame of the same engine as another (both of narwhals).

    >>> import narwhals.stable.v2 as nw
    >>> import polars as pl
    >>> there = nw.from_native(pl.LazyFrame({"x": [1]}))
    >>> pushed(pl.DataFrame({"y": [2]}), there).collect().to_dict(as_series=False)
    {'y': [2]}
    """
    import narwhals.stable.v2 as nw

    kind, native = beside.implementation, beside.to_native()
    if kind.is_polars():
        return nw.from_native(table.lazy())
    if kind.is_duckdb():
        # DuckDB finds the table by the name of the variable; asked of the relation itself, on its own connection.
        heldout_pushed = table.to_arrow()
        made = native.query("heldout_beside", "SELECT * FROM heldout_pushed")
        del heldout_pushed
        return nw.from_native(made)
    if kind.is_ibis():
        import ibis  # type: ignore[import-untyped]

        return nw.from_native(ibis.memtable(table.to_arrow()))
    if kind.is_dask():
        import dask.dataframe as dd

        return nw.from_native(dd.from_pandas(table.to_pandas(), npartitions=1))  # type: ignore[no-untyped-call]
    if kind.is_pyspark():
        with warnings.catch_warnings():
            # Spark says of every new pandas that it does not know it yet.
            warnings.simplefilter("ignore", FutureWarning)
            return nw.from_native(native.sparkSession.createDataFrame(table.to_arrow()))
    raise OptionError(
        f"Scores of {type(native).__name__} cannot be compared where they are.",
        hint="collect the frame first, or give it as a Polars, DuckDB, Ibis, Spark or Dask frame.",
    )
