"""Reading Parquet tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heldout.files.columnar import ColumnarTables
from heldout.files.formats import Format

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl


def _scan(sources: Sequence[Any]) -> pl.LazyFrame:
    import polars as pl

    if isinstance(sources[0], str) and "://" in sources[0]:
        return pl.scan_parquet(sources[0])
    return pl.scan_parquet(list(sources), glob=False, hive_partitioning=False, extra_columns="ignore")


PARQUET = ColumnarTables(
    title="Parquet", hint="write or copy it again; a Parquet file begins and ends with the bytes PAR1.", scan=_scan
)
FORMAT = Format(
    name="parquet",
    titles=("Parquet",),
    endings=(".parquet", ".pq"),
    magic=(b"PAR1",),
    holds="a Parquet table",
    read=PARQUET.read,
    names=PARQUET.names,
    read_in_place=PARQUET.read,
    batches=PARQUET.batches,
    never_empty=True,
    remote=True,
    scan="parquet",
    count_rows=PARQUET.count_rows,
    unpacked_bytes=PARQUET.unpacked_bytes,
)
