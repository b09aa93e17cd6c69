"""Reading Parquet tables: whole, or in batches of many rows or many files."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heldout.errors import FileError
from heldout.files.batches import EXACT, ROWS, Batches, key_columns, key_type, mixed_numbers, no_rows_in_files
from heldout.files.column_types import is_whole, no_rows, wanted_names, widened
from heldout.files.paths import Listing, Part, empty_note

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl


# Reading Parquet tables.

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


# Parquet tables of many rows or many files, in batches.


# Footers of many small files are read by so many threads.
READERS = 8


@dataclass(frozen=True, eq=False)
class _Footer:
    """What the footer of one file says: its columns with their types, and how many rows there are."""

    part: Part
    types: dict[str, Any]
    rows: int


class ParquetBatches(Batches):
    """Parquet files as one table: only the wanted columns are read, and their types must agree."""

    def __init__(self, listing: Listing) -> None:
        footers = _footers(listing)
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
        """The type that each of these columns has in all batches."""
        for name in columns:
            if name not in self._known:
                self._known[name] = key_type(self._keys[name]) if name in self._keys else self._kind(name)
        return {name: self._known[name] for name in columns}

    def _kind(self, name: str) -> Any:
        """The type of a column that all files share: whole numbers and others widen, anything else must agree."""
        import polars as pl

        found: dict[Any, _Footer] = {}
        for footer in self._footers:
            if name not in footer.types:
                has = next(other for other in self._footers if name in other.types)
                raise FileError(
                    f"{footer.part.name} has no column {name!r}, and {has.part.name} has one.",
                    hint="write the file again with all columns, or read only files that have them (a pattern).",
                )
            found.setdefault(footer.types[name], footer)
        held = {kind: footer for kind, footer in found.items() if kind != pl.Null}
        words: dict[str, tuple[Any, _Footer]] = {}
        for kind, footer in held.items():
            words.setdefault(_word(kind), (kind, footer))
        if len(words) > 1:
            (one, (_, first)), (two, (_, second)) = list(words.items())[:2]
            raise FileError(
                f"The column {name!r} holds {one} in {first.part.name} and {two} in {second.part.name}.",
                hint="write the files again with one type, or read those that agree (a pattern).",
            )
        return self._joined(name, held)

    def _joined(self, name: str, held: dict[Any, _Footer]) -> Any:
        import polars as pl

        kinds = list(held)
        if not kinds:
            return pl.String()
        if all(map(is_whole, kinds)):
            wide = [kind for kind in kinds if kind in (pl.UInt64, pl.Int128, pl.UInt128) or kind.is_decimal()]
            # Whole numbers beyond 64 bits become text, so that no two of them fall together.
            return pl.String() if wide and self._beyond(name, self._footers, -(2**63), 2**63 - 1) else pl.Int64()
        if kinds[0].is_numeric():
            return self._real(name, held)
        if _word(kinds[0]) == "text":
            return kinds[0] if len(kinds) == 1 and kinds[0] == pl.Enum else pl.String()
        return kinds[0] if len(kinds) == 1 else max(kinds, key=str)

    def _real(self, name: str, held: dict[Any, _Footer]) -> Any:
        """The type of numbers of which some are not whole: floats, unless keys would fall together."""
        import polars as pl

        wide = [kind for kind in held if kind in (pl.Int64, pl.UInt64, pl.Int128, pl.UInt128) or kind.is_decimal()]
        is_key = name in self.keys
        exact = [kind for kind in wide if is_key or is_whole(kind)]
        footers = [footer for footer in self._footers if footer.types[name] in exact]
        beyond = self._beyond(name, footers, -EXACT, EXACT)
        floats = [footer for kind, footer in held.items() if kind.is_float()]
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
            held = pl.col(name) if kind.is_decimal() else pl.col(name).cast(pl.Int128)
            ends = _scan([footer.part.path]).select(held.min().alias("low"), held.max().alias("high"))
            met = [value for value in ends.collect(engine="streaming").row(0) if value is not None]
            scale = kind.scale if kind.is_decimal() else 0
            if any(not low <= value * 10**scale <= high for value in met):
                return footer
        return None

    def _read(self, columns: list[str], made: Sequence[pl.Expr]) -> Iterator[pl.DataFrame]:
        import polars as pl

        kinds = self.kinds(columns)
        stored = [name for name in columns if name not in self._keys]

        def alike(place: int) -> tuple[Any, ...]:
            held = [str(self._footers[place].types[name]) for name in stored]
            return (*held, *(self._keys[name][place] for name in columns if name in self._keys))

        for _, run in groupby(range(len(self._footers)), key=alike):
            places = list(run)
            types = self._footers[places[0]].types
            chosen = [
                pl.lit(self._keys[name][places[0]], dtype=kinds[name]).alias(name)
                if name in self._keys
                else pl.col(name)
                if types[name] == kinds[name]
                else _cast(name, types[name], kinds[name])
                for name in columns
            ]
            # A literal takes its length from the columns beside it, and alone it has none.
            base = stored or [next(iter(types))]
            lazy = _scan([self._footers[place].part.path for place in places]).select(base).with_columns(chosen)
            lazy = lazy.select(columns)
            yield from self._pieces(lazy.select(made) if made else lazy, places)

    def _pieces(self, lazy: pl.LazyFrame, places: list[int]) -> Iterator[pl.DataFrame]:
        import polars as pl

        try:
            yield from lazy.collect_batches(chunk_size=self.batch, maintain_order=True)
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
            raise self._broken(places, error) from None

    def _broken(self, places: list[int], error: BaseException) -> FileError:
        """The error of the first file that cannot be read to its end."""
        import polars as pl

        for place in places:
            path = self._footers[place].part.path
            try:
                for _ in _scan([path]).collect_batches(chunk_size=ROWS):
                    pass
            except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as own:
                return _not_whole(self._footers[place].part.name, own)
        return _not_whole(self.name, error)


def _cast(name: str, kind: Any, wanted: Any) -> pl.Expr:
    """A column as a wanted type; a decimal as text has no zeros at its end, whatever the scale in its file."""
    import polars as pl

    text = pl.col(name).cast(wanted)
    if kind.is_decimal() and kind.scale and wanted == pl.String:
        return text.str.strip_chars_end("0").str.strip_chars_end(".")
    return text


def _scan(paths: list[str]) -> pl.LazyFrame:
    import polars as pl

    if len(paths) == 1 and "://" in paths[0]:
        return pl.scan_parquet(paths[0])
    return pl.scan_parquet(paths, glob=False, hive_partitioning=False, extra_columns="ignore")


def _footers(listing: Listing) -> list[_Footer]:
    if len(listing.parts) < READERS:
        return [_footer(part) for part in listing.parts]
    with ThreadPoolExecutor(READERS) as pool:
        return list(pool.map(_footer, listing.parts))


def _footer(part: Part) -> _Footer:
    import polars as pl

    if "://" not in part.path:
        # Says what is wrong with a file that is not whole, or may not be read.
        parquet_names(Path(part.path), part.name)
    try:
        lazy = _scan([part.path])
        return _Footer(part, dict(lazy.collect_schema()), int(lazy.select(pl.len()).collect().item()))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        if "://" in part.path:
            raise FileError(
                f"{part.name} cannot be read: {_reason(error)}.",
                hint="check the address, the access keys in the environment and the connection.",
            ) from None
        raise _not_whole(part.name, error) from None


def _not_whole(name: str, error: BaseException) -> FileError:
    return FileError(
        f"{name} is not a whole Parquet table: {_reason(error)}.",
        hint="write or copy it again; a Parquet file begins and ends with the bytes PAR1.",
    )


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
