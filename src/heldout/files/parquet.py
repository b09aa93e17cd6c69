"""Reading Parquet tables."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from heldout.errors import FileError
from heldout.files.choice import no_rows, wanted_names
from heldout.files.column_types import widened

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import polars as pl


# Tables of at least this many rows are read with their labels compressed.
LONG = 1_000_000


def read_parquet(
    source: Path | bytes, name: str, columns: Sequence[str] | None = None, labels: Sequence[str] = ()
) -> pl.DataFrame:
    """Read the wanted columns of a Parquet table, and only those, from disk.

    Texts that repeat, named as `labels`, are compressed to numbers while a long table is read: as texts they would take
    16 bytes a row.
    """
    import polars as pl

    wanted = wanted_names(parquet_names(source, name), columns, name)
    try:
        lazy = pl.scan_parquet(_opened(source), glob=False, hive_partitioning=False)
        texts = [column for column in dict.fromkeys(labels) if lazy.collect_schema()[column] == pl.String]
        packed = texts if lazy.select(pl.len()).collect().item() >= LONG else []
        if packed:
            made = lazy.select(wanted).with_columns(pl.col(packed).cast(pl.Categorical))
            frame = made.collect(engine="streaming")
        else:
            frame = pl.read_parquet(_opened(source), columns=wanted, glob=False, hive_partitioning=False)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise _broken(name, error) from None
    if frame.is_empty():
        raise no_rows(name)
    return widened(frame.select(wanted), kept=packed)


def parquet_names(source: Path | bytes, name: str) -> tuple[str, ...]:
    """The column names in the footer of a Parquet table."""
    import polars as pl

    try:
        lazy = pl.scan_parquet(_opened(source), glob=False, hive_partitioning=False)
        return tuple(lazy.collect_schema().names())
    except PermissionError:
        raise FileError(
            f"{name} cannot be opened: no permission to read it.",
            hint="ask its owner for read access, or change it with chmod u+r.",
        ) from None
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise _broken(name, error) from None


def _opened(source: Path | bytes) -> Path | io.BytesIO:
    return io.BytesIO(source) if isinstance(source, bytes) else source.resolve()


def _broken(name: str, error: BaseException) -> FileError:
    reason = str(error).splitlines()[0].removeprefix("parquet: ").rstrip(".") or type(error).__name__
    return FileError(
        f"{name} is not a whole Parquet table: {reason}.",
        hint="write or copy it again; a Parquet file begins and ends with the bytes PAR1.",
    )
