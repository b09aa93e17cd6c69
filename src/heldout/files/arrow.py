"""Reading Arrow IPC tables, also called Feather: the file form, and the stream form that programs send each other."""

from __future__ import annotations

import io
import os
from typing import TYPE_CHECKING, Any

from heldout.files.columnar import ColumnarTables
from heldout.files.formats import Format

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import polars as pl

FILE_MAGIC, STREAM_MAGIC, OLD_MAGIC = b"ARROW1", b"\xff\xff\xff\xff", b"FEA1"
END_OF_STREAM = STREAM_MAGIC + b"\0\0\0\0"


def _scan(sources: Sequence[Any]) -> pl.LazyFrame:
    """The rows of all sources; of several, the columns that all have with one type."""
    import polars as pl

    frames = [_scan_one(source) for source in sources]
    if len(frames) == 1:
        return frames[0]
    schemas = [frame.collect_schema() for frame in frames]
    shared = [name for name, kind in schemas[0].items() if all(schema.get(name) == kind for schema in schemas)]
    return pl.concat([frame.select(shared) for frame in frames])


def _scan_one(source: str | Path | io.BytesIO) -> pl.LazyFrame:
    import polars as pl

    head, end = _ends(source)
    if head.startswith(OLD_MAGIC):
        # Polars would say that the footer is not right.
        raise OSError("it is Feather of version 1, which was given up in 2020")
    if not head.startswith(STREAM_MAGIC):
        return pl.scan_ipc(source, glob=False, hive_partitioning=False)
    if end != END_OF_STREAM:
        # Polars takes a stream that was cut between two batches for a whole one.
        raise OSError("the stream has no end, so rows may be lost")
    return _scan_stream(source)


def _scan_stream(source: str | Path | io.BytesIO) -> pl.LazyFrame:
    """A stream, of which only the wanted columns are held; it has no footer by which parts could be found."""
    import polars as pl
    from polars.io.plugins import register_io_source

    def read(
        columns: list[str] | None, predicate: pl.Expr | None, rows: int | None, _size: int | None
    ) -> Iterator[pl.DataFrame]:
        frame = pl.read_ipc_stream(_reopened(source), columns=columns, n_rows=rows)
        yield frame if predicate is None else frame.filter(predicate)

    return register_io_source(read, schema=pl.read_ipc_stream(_reopened(source), n_rows=0).schema)


def _reopened(source: str | Path | io.BytesIO) -> str | Path | io.BytesIO:
    return io.BytesIO(source.getvalue()) if isinstance(source, io.BytesIO) else source


def _ends(source: str | Path | io.BytesIO) -> tuple[bytes, bytes]:
    """The first and the last eight bytes."""
    if isinstance(source, io.BytesIO):
        data = source.getbuffer()
        return bytes(data[:8]), bytes(data[-8:])
    with open(source, "rb") as file:  # noqa: PTH123 - a text or a path
        head = file.read(8)
        file.seek(-min(8, file.seek(0, os.SEEK_END)), os.SEEK_END)
        return head, file.read()


ARROW = ColumnarTables(
    title="Arrow", hint="write or copy it again as Arrow IPC, which is also called Feather version 2.", scan=_scan
)
FORMAT = Format(
    name="arrow",
    titles=("Arrow",),
    endings=(".arrow", ".feather", ".ipc"),
    magic=(FILE_MAGIC, STREAM_MAGIC),
    holds="an Arrow table",
    read=ARROW.read,
    names=ARROW.names,
    read_in_place=ARROW.read,
    batches=ARROW.batches,
    never_empty=True,
    count_rows=ARROW.count_rows,
    unpacked_bytes=ARROW.unpacked_bytes,
)
