"""Reading Parquet and Arrow tables, binary files that tell their columns and types: whole, or in batches of many.

It is one format among others (`delimited`, `json_tables`, `arff`, `npz`), each in a file of its own.
"""

from __future__ import annotations

import io
import os
import re
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heldout.errors import FileError
from heldout.files.batches import (
    ROWS,
    SAME_COLUMNS,
    Batches,
    key_columns,
    key_type,
    mixed_numbers,
    no_rows_in_files,
)
from heldout.files.column_types import EXACT, is_whole, least_bytes, no_rows, wanted_names, widened
from heldout.files.formats import Format
from heldout.files.input_stream import Content, no_permission
from heldout.files.paths import FilePart, Listing, empty_note
from heldout.files.rust_panics import without_panics

if TYPE_CHECKING:
    import polars as pl


# Tables of at least this many rows are read with their labels compressed.
LONG = 1_000_000
# The number of threads that read the footers of many small files.
READERS = 8
# How Polars says that a name is there twice.
_TWICE = re.compile(r"column with name '(.*)' has more than one occurrence")


@dataclass(frozen=True, slots=True)
class ColumnarTables:
    """How the tables of a format are read: `title` and `hint` are for errors, `scan` opens files of like columns."""

    title: str
    hint: str
    scan: Callable[[Sequence[Any]], pl.LazyFrame]

    def read(self, content: Content, columns: Sequence[str] | None = None, labels: Sequence[str] = ()) -> pl.DataFrame:
        """Read the wanted columns of a table, and only those, where it is on disk.

        Texts that repeat, named as `labels`, are compressed to numbers while a long table is read: as texts they would
        take 16 bytes a row.
        """
        import polars as pl

        wanted = wanted_names(self.names(content), columns, content.name)
        try:
            with without_panics():
                lazy = self.scan([content.source()])
                texts = [column for column in dict.fromkeys(labels) if lazy.collect_schema()[column] == pl.String]
                packed = texts if texts and lazy.select(pl.len()).collect().item() >= LONG else []
                if packed:
                    compressed = lazy.select(wanted).with_columns(pl.col(packed).cast(pl.Categorical))
                    frame = compressed.collect(engine="streaming")
                else:
                    frame = self.scan([content.source()]).select(wanted).collect()
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
            raise self.error(content.name, error) from None
        if frame.is_empty():
            raise no_rows(content.name)
        return widened(frame.select(wanted), kept=packed)

    def names(self, content: Content) -> tuple[str, ...]:
        """The column names of a table."""
        import polars as pl

        try:
            with without_panics():
                return tuple(self.scan([content.source()]).collect_schema().names())
        except PermissionError:
            raise no_permission(content.name) from None
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
            raise self.error(content.name, error) from None

    def batches(self, listing: Listing) -> ColumnarBatches:
        """The files of a listing as one table that is read in batches."""
        return ColumnarBatches(listing, self)

    def count_rows(self, path: Path) -> int:
        """The number of rows that a file tells; 0 of one that is no such table, which its reader will say."""
        import polars as pl

        try:
            with without_panics():
                return int(self.scan([path.resolve()]).select(pl.len()).collect().item())
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
            return 0

    def unpacked_bytes(self, path: Path) -> int:
        """The bytes that the rows take at least: a value that repeats packs to nothing."""
        import polars as pl

        try:
            with without_panics():
                types = self.scan([path.resolve()]).collect_schema().dtypes()
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
            return 0
        return self.count_rows(path) * sum(map(least_bytes, types))

    def error(self, name: str, error: BaseException) -> FileError:
        """The error for a file that cannot be read to its end, or in which two columns have one name."""
        if twice := _TWICE.search(str(error)):
            return FileError(f"{name} has two columns named {twice[1]!r}.", hint="rename one of them.")
        return FileError(f"{name} is not a whole {self.title} table: {_reason(error)}.", hint=self.hint)


@dataclass(frozen=True, eq=False)
class _Footer:
    """What the footer of one file says: its columns with their types, and how many rows there are."""

    part: FilePart
    types: dict[str, Any]
    rows: int


class ColumnarBatches(Batches):
    """Files that tell their types as one table: only the wanted columns are read, and their types must agree."""

    def __init__(self, listing: Listing, tables: ColumnarTables) -> None:
        self._tables = tables
        footers = _read_footers(listing, tables)
        empty = [footer.part.inside or footer.part.name for footer in footers if not footer.rows]
        self._footers = [footer for footer in footers if footer.rows]
        if not self._footers:
            raise no_rows_in_files(listing.name, len(footers))
        if empty:
            listing = replace(listing, notes=(*listing.notes, empty_note(empty)))
        listing = replace(listing, parts=tuple(footer.part for footer in self._footers))
        names = dict.fromkeys(name for footer in self._footers for name in footer.types)
        keys = key_columns(listing.parts, [footer.types for footer in self._footers])
        self._keys = {name: values for name, values in keys.items() if name not in names}
        super().__init__(listing, [*names, *self._keys])
        self._sizes = [footer.rows for footer in self._footers]
        self._known: dict[str, Any] = {}

    @property
    def types(self) -> tuple[dict[str, Any], ...]:
        """The columns of each file with the types that they have there."""
        return tuple(footer.types for footer in self._footers)

    def kinds(self, columns: Sequence[str]) -> dict[str, pl.DataType]:
        """The type that each of these columns has by the footers of all files."""
        for name in columns:
            if name not in self._known:
                self._known[name] = key_type(self._keys[name]) if name in self._keys else self._kind(name)
        return {name: self._known[name] for name in columns}

    def _kind(self, name: str) -> Any:
        """The type of a column that all files share: whole numbers and others widen, anything else must agree."""
        import polars as pl

        footers: dict[Any, _Footer] = {}
        for footer in self._footers:
            if name not in footer.types:
                has = next(other for other in self._footers if name in other.types)
                raise FileError(
                    f"{footer.part.name} has no column {name!r}, and {has.part.name} has one.",
                    hint=SAME_COLUMNS,
                )
            footers.setdefault(footer.types[name], footer)
        footers = {kind: footer for kind, footer in footers.items() if kind != pl.Null}
        words: dict[str, tuple[Any, _Footer]] = {}
        for kind, footer in footers.items():
            words.setdefault(_word(kind), (kind, footer))
        if len(words) > 1:
            (word, (_, first)), (other, (_, second)) = list(words.items())[:2]
            raise FileError(
                f"The column {name!r} holds {word} in {first.part.name} and {other} in {second.part.name}.",
                hint="write the files again with one type, or read those that agree (a pattern).",
            )
        return self._joined(name, footers)

    def _joined(self, name: str, footers: dict[Any, _Footer]) -> Any:
        import polars as pl

        kinds = list(footers)
        if not kinds:
            return pl.String()
        if all(map(is_whole, kinds)):
            wide = [kind for kind in kinds if kind in (pl.UInt64, pl.Int128, pl.UInt128) or kind.is_decimal()]
            if not wide or not self._beyond(name, self._footers, -(2**63), 2**63 - 1):
                return pl.Int64()
            return wide[0] if len(kinds) == 1 and wide[0].is_integer() else pl.Int128()
        if kinds[0].is_numeric():
            return self._real(name, footers)
        if _word(kinds[0]) == "text":
            return kinds[0] if len(kinds) == 1 and kinds[0] == pl.Enum else pl.String()
        return kinds[0] if len(kinds) == 1 else max(kinds, key=str)

    def _real(self, name: str, by_type: dict[Any, _Footer]) -> Any:
        """The type of numbers of which some are not whole: floats, unless keys would fall together."""
        import polars as pl

        wide = [kind for kind in by_type if kind in (pl.Int64, pl.UInt64, pl.Int128, pl.UInt128) or kind.is_decimal()]
        is_key = name in self.keys
        exact = [kind for kind in wide if is_key or is_whole(kind)]
        footers = [footer for footer in self._footers if footer.types[name] in exact]
        beyond = self._beyond(name, footers, -EXACT, EXACT)
        floats = [footer for kind, footer in by_type.items() if kind.is_float()]
        if beyond is None or not (floats or is_key):
            return pl.Float64()
        if floats:
            raise mixed_numbers(name, beyond.part.name, floats[0].part.name)
        return pl.String()

    def _beyond(self, name: str, footers: Sequence[_Footer], low: int, high: int) -> _Footer | None:
        """The first file with a number below or above these ends, the digits after the point taken for whole ones."""
        import polars as pl

        for footer in footers:
            kind = footer.types[name]
            column = pl.col(name) if kind.is_decimal() else pl.col(name).cast(pl.Int128)
            ends = self._tables.scan([footer.part.path]).select(column.min().alias("low"), column.max().alias("high"))
            try:
                with without_panics():
                    row = ends.collect(engine="streaming").row(0)
            except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
                raise self._tables.error(footer.part.name, error) from None
            extremes = [value for value in row if value is not None]
            scale = kind.scale if kind.is_decimal() else 0
            if any(not low <= value * 10**scale <= high for value in extremes):
                return footer
        return None

    def first(self, columns: Sequence[str], rows: int) -> list[pl.DataFrame]:
        """The first rows, so many if there are as many; nothing is read ahead."""
        import polars as pl

        frames: list[pl.DataFrame] = []
        missing = rows
        for frame in self._read(wanted_names(self.names, columns, self.name), (), rows):
            frames.append(frame.head(missing))
            missing -= len(frames[-1])
            if not missing:
                break
        return [pl.concat(frames)] if frames else []

    def _read(self, columns: list[str], made: Sequence[pl.Expr], most: int | None = None) -> Iterator[pl.DataFrame]:
        """The rows in their order; with `most`, no more than so many of files that are alike."""
        import polars as pl

        kinds = self.kinds(columns)
        stored = [name for name in columns if name not in self._keys]

        def alike(index: int) -> tuple[Any, ...]:
            types = [str(self._footers[index].types[name]) for name in stored]
            return (*types, *(self._keys[name][index] for name in columns if name in self._keys))

        for _, run in groupby(range(len(self._footers)), key=alike):
            indices = list(run)
            types = self._footers[indices[0]].types
            chosen = [
                pl.lit(self._keys[name][indices[0]], dtype=kinds[name]).alias(name)
                if name in self._keys
                else pl.col(name)
                if types[name] == kinds[name]
                else _cast(name, types[name], kinds[name])
                for name in columns
            ]
            # A literal takes its length from the columns beside it, and alone it has none.
            base = stored or [next(iter(types))]
            lazy = (
                self._tables.scan([self._footers[index].part.path for index in indices])
                .select(base)
                .with_columns(chosen)
            )
            lazy = lazy.select(columns) if most is None else lazy.select(columns).head(most)
            yield from self._pieces(lazy.select(made) if made else lazy, indices)

    def _pieces(self, lazy: pl.LazyFrame, indices: list[int]) -> Iterator[pl.DataFrame]:
        import polars as pl

        try:
            with without_panics():
                pieces = iter(lazy.collect_batches(chunk_size=self.batch, maintain_order=True))
            while True:
                # Not while a piece is used: whoever does so may write there.
                with without_panics():
                    piece = next(pieces, None)
                if piece is None:
                    return
                yield piece
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
            raise self._broken(indices, error) from None

    def _broken(self, indices: list[int], error: BaseException) -> FileError:
        """The error of the first file that cannot be read to its end."""
        import polars as pl

        for index in indices:
            path = self._footers[index].part.path
            try:
                with without_panics():
                    for _ in self._tables.scan([path]).collect_batches(chunk_size=ROWS):
                        pass
            except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as own:
                return self._tables.error(self._footers[index].part.name, own)
        return self._tables.error(self.name, error)


def _cast(name: str, kind: Any, wanted: Any) -> pl.Expr:
    """A column as a wanted type; a decimal as text has no zeros at its end, whatever the scale in its file."""
    import polars as pl

    text = pl.col(name).cast(wanted)
    if kind.is_decimal() and kind.scale and wanted == pl.String:
        return text.str.strip_chars_end("0").str.strip_chars_end(".")
    return text


def _read_footers(listing: Listing, tables: ColumnarTables) -> list[_Footer]:
    from concurrent.futures import ThreadPoolExecutor

    if len(listing.parts) < READERS:
        return [_read_footer(part, tables) for part in listing.parts]
    with ThreadPoolExecutor(READERS) as pool:
        return list(pool.map(lambda part: _read_footer(part, tables), listing.parts))


def _read_footer(part: FilePart, tables: ColumnarTables) -> _Footer:
    import polars as pl

    if "://" not in part.path:
        # Says what is wrong with a file that is not whole, or may not be read.
        tables.names(Content(part.name, "", path=Path(part.path)))
    try:
        with without_panics():
            lazy = tables.scan([part.path])
            return _Footer(part, dict(lazy.collect_schema()), int(lazy.select(pl.len()).collect().item()))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        if "://" in part.path:
            raise FileError(
                f"{part.name} cannot be read: {_reason(error)}.",
                hint="check the address, the access keys in the environment and the connection.",
            ) from None
        raise tables.error(part.name, error) from None


def _reason(error: BaseException) -> str:
    return (str(error).splitlines() or [""])[0].removeprefix("parquet: ").rstrip(".") or type(error).__name__


def _word(kind: Any) -> str:
    """What a column of a type holds, in a word."""
    import polars as pl

    if kind.is_numeric():
        return "numbers"
    if kind in (pl.String, pl.Categorical, pl.Enum):
        return "text"
    if kind == pl.Boolean:
        return "booleans"
    return "dates" if kind.is_temporal() else str(kind)


def _scan_parquet(sources: Sequence[Any]) -> pl.LazyFrame:
    import polars as pl

    if isinstance(sources[0], str) and "://" in sources[0]:
        return pl.scan_parquet(sources[0])
    return pl.scan_parquet(list(sources), glob=False, hive_partitioning=False, extra_columns="ignore")


PARQUET = ColumnarTables(
    title="Parquet",
    hint="write or copy it again; a Parquet file begins and ends with the bytes PAR1.",
    scan=_scan_parquet,
)
PARQUET_FORMAT = Format(
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
    may_abort=True,
    remote=True,
    scan="parquet",
    count_rows=PARQUET.count_rows,
    unpacked_bytes=PARQUET.unpacked_bytes,
)


FILE_MAGIC, STREAM_MAGIC, OLD_MAGIC = b"ARROW1", b"\xff\xff\xff\xff", b"FEA1"
END_OF_STREAM = STREAM_MAGIC + b"\0\0\0\0"


def _scan_arrow(sources: Sequence[Any]) -> pl.LazyFrame:
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
    names = _arrow_names(source, is_stream=head.startswith(STREAM_MAGIC))
    if len(set(names)) < len(names):
        # Polars takes the two for one and panics when it reads any column; of Parquet it says this itself.
        twice = next(name for name in names if names.count(name) > 1)
        raise OSError(f"column with name '{twice}' has more than one occurrence")
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


# The longest schema that is looked at for names that stand twice: far more than a hundred thousand columns.
LONGEST_SCHEMA = 1 << 26


def _arrow_names(source: str | Path | io.BytesIO, *, is_stream: bool) -> list[str]:
    """The names of the columns as the schema has them, none where it is not one: its reader will say what is wrong.

    The schema is the first message, a flatbuffer: a table begins with the distance back to a list of where its fields
    are, counted from the table; a text, a list and another table are found by their distance from the field.
    """
    opened = io.BytesIO(source.getvalue()) if isinstance(source, io.BytesIO) else open(source, "rb")  # noqa: PTH123, SIM115
    with opened as file:
        file.seek(0 if is_stream else len(END_OF_STREAM))
        mark, size = struct.unpack("<4si", file.read(8).ljust(8, b"\0"))
        data = file.read(size) if mark == STREAM_MAGIC and 0 < size <= LONGEST_SCHEMA else b""

    def follow(at: int) -> int:
        return at + int(struct.unpack_from("<I", data, at)[0])

    def find_field(table: int, number: int) -> int:
        fields = table - int(struct.unpack_from("<i", data, table)[0])
        there = 4 + 2 * number < int(struct.unpack_from("<H", data, fields)[0])
        offset = int(struct.unpack_from("<H", data, fields + 4 + 2 * number)[0]) if there else 0
        if not offset:
            raise struct.error("the field is left out")
        return table + offset

    try:
        schema = follow(find_field(follow(0), 2))
        columns = follow(find_field(schema, 1))
        (many,) = struct.unpack_from("<I", data, columns)
        texts = [follow(find_field(follow(columns + 4 + 4 * at), 0)) for at in range(min(many, len(data) // 4))]
        return [data[at + 4 : at + 4 + struct.unpack_from("<I", data, at)[0]].decode("utf-8") for at in texts]
    except (struct.error, UnicodeDecodeError):
        return []


ARROW = ColumnarTables(
    title="Arrow", hint="write or copy it again as Arrow IPC, which is also called Feather version 2.", scan=_scan_arrow
)
ARROW_FORMAT = Format(
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
    may_abort=True,
    count_rows=ARROW.count_rows,
    unpacked_bytes=ARROW.unpacked_bytes,
)
FORMATS = (PARQUET_FORMAT, ARROW_FORMAT)
