"""Tables that are read in batches, because they come in many files or do not fit in memory; of text, with one type."""

from __future__ import annotations

import gzip
import zlib
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from itertools import accumulate, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from heldout.errors import FileError
from heldout.files.column_types import typed, wanted_names
from heldout.files.formats import format_by_ending
from heldout.files.input_stream import GZIP_MAGIC, STANDARD_INPUT, inner_ending, load_head, no_permission
from heldout.files.paths import NO_VALUE, FilePart, Listing, empty_note, is_address, is_pattern, list_files

if TYPE_CHECKING:
    import polars as pl

# One message for a fault that several functions can find.
SAME_COLUMNS = "write the file again with all columns, or read only files that have them (a pattern)."


# Rows of a batch: large enough that what is done once a batch costs nothing, small enough for any memory.
ROWS = 1 << 20
# A Parquet file of more rows than this is not held in memory: from here on its columns take about a gigabyte.
LONG_ROWS = 20_000_000
# The same for text, in bytes of the file; packed ones are about five times as long when they are unpacked.
LONG_BYTES = 1 << 30
LONG_PACKED = LONG_BYTES // 5


T = TypeVar("T")
# Who watches a reading is told its name, how many rows have been read (None when it is over), and of how many if known.
Watch = Callable[[str, int | None, int | None], object]
watching: ContextVar[Watch | None] = ContextVar("watching", default=None)


@contextmanager
def tell_reading(path: str | Path) -> Iterator[None]:
    """Tell whoever watches that a table is being read at once: how far, nobody knows."""
    watch = watching.get()
    if watch is None:
        yield
        return
    name = "standard input" if str(path) == STANDARD_INPUT else Path(path).name
    watch(name, 0, None)
    try:
        yield
    finally:
        watch(name, None, None)


# What the number of a row is called where cases have no name.
ROW = "row number"


class Batches(ABC):
    """A table in one or many files, of which a few columns at a time are read from the start, as often as wanted.

    `names` are the columns of all files, in the order in which they were met; `notes` are sentences about files that
    were left out; `batch` is how many rows are given at a time. Numbers in columns that whoever reads them calls
    `keys`, before the first reading, are told apart to their last digit; others become floating-point numbers.
    `labels` are the columns of classes by their roles; where files differ in what these hold, a note says so.
    """

    _keys: Mapping[str, Sequence[Any]]

    def __init__(self, listing: Listing, names: Sequence[str]) -> None:
        self.name = listing.name
        self.names = tuple(names)
        self.notes = listing.notes
        self.batch = ROWS
        self.keys: frozenset[str] = frozenset()
        self.labels: Mapping[str, str] = {}
        self._parts = [part.name for part in listing.parts]
        self._sizes: list[int] = []

    @property
    def rows(self) -> int | None:
        """The number of rows, where it is known before they are read."""
        return sum(self._sizes) if len(self._sizes) == len(self._parts) else None

    @property
    def files(self) -> tuple[str, ...]:
        """The files that are read, in their order."""
        return tuple(self._parts)

    @property
    def by_folder(self) -> Mapping[str, Sequence[Any]]:
        """The columns that only the names of folders hold, each with its value for every file."""
        return self._keys

    @abstractmethod
    def kinds(self, columns: Sequence[str]) -> dict[str, pl.DataType]:
        """The type that each of these columns has in all batches."""

    @abstractmethod
    def _read(self, columns: list[str], made: Sequence[pl.Expr]) -> Iterator[pl.DataFrame]:
        """The rows in their order, in pieces of any length."""

    def frames(self, columns: Sequence[str] | None = None, made: Sequence[pl.Expr] = ()) -> Iterator[pl.DataFrame]:
        """The rows in their order, a batch of them at a time, however they are stored and whoever reads them.

        `made` are expressions to be given instead.
        """
        import polars as pl

        frames: list[pl.DataFrame] = []
        size = 0
        for frame in self._watched(self._read(wanted_names(self.names, columns, self.name), made), len):
            frames.append(frame)
            size += len(frame)
            while size >= self.batch:
                whole = frames[0] if len(frames) == 1 else pl.concat(frames)
                yield whole.head(self.batch)
                frames, size = [whole.slice(self.batch)], size - self.batch
        if size:
            yield pl.concat(frames)

    def first(self, columns: Sequence[str], rows: int) -> list[pl.DataFrame]:
        """The first rows, so many if there are as many."""
        return [frame.head(rows) for frame in islice(self.frames(columns), 1)]

    def scan(self, columns: Sequence[str], *, numbered: bool = False) -> pl.LazyFrame:
        r"""These columns as a lazy frame of Polars; where it is `numbered`, with the number of each row.

        By itself Polars takes a quoted field without a letter for a class, a blank line for a case, and +1 for text.

        >>> import pathlib, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> _ = pathlib.Path(folder.name, "part.csv").write_text("truth,predicted\nyes,no\nno,no\n")
        >>> batches_of(folder.name).scan(["predicted"], numbered=True).collect().rows()
        [(0, 'no'), (1, 'no')]
        >>> folder.cleanup()
        """
        from polars.io.plugins import register_io_source

        wanted = list(dict.fromkeys(columns))

        def read(
            asked: list[str] | None, predicate: pl.Expr | None, left: int | None, _size: int | None
        ) -> Iterator[pl.DataFrame]:
            # A condition may look at columns that are not asked for; without a column there would be no rows.
            some = wanted if predicate is not None or asked is None else asked or wanted[:1]
            for frame in self.frames(some):
                part = frame.select(some)
                part = part if predicate is None else part.filter(predicate)
                if left is not None:
                    part, left = part.head(left), left - min(left, len(part))
                yield part.select(asked) if asked else part
                if left == 0:
                    break

        kinds = self.kinds(wanted)
        scanned = register_io_source(read, schema={column: kinds[column] for column in wanted})
        return scanned.with_row_index(ROW) if numbered else scanned

    def _watched(self, pieces: Iterator[T], size: Callable[[T], int]) -> Iterator[T]:
        """The same pieces; whoever watches is told how far they are."""
        watch = watching.get()
        if watch is None:
            yield from pieces
            return
        done = 0
        try:
            for piece in pieces:
                done += size(piece)
                watch(self.name, done, self.rows)
                yield piece
        finally:
            watch(self.name, None, None)

    @contextmanager
    def trusting(self) -> Iterator[None]:
        """Where types are known only when all has been read, take those of the first rows meanwhile.

        Reading then ends with an error where a later row is of another type.
        """
        yield

    def place(self, row: int) -> tuple[str, int]:
        """The file that a row of the whole stands in, and its number there, both counted from the first row, 0."""
        starts = [0, *accumulate(self._sizes)]
        at = min(bisect_right(starts, row) - 1, len(self._parts) - 1)
        return self._parts[at], row - starts[at]

    def where(self, row: int) -> str:
        """Where a row stands, in words: its number in the whole, and the file if there are several."""
        file, there = self.place(row)
        return f"row {row + 1:,}" + (f" (row {there + 1:,} of {file})" if len(self._parts) > 1 else "")

    def text_in(self, column: str) -> tuple[str, str] | None:
        """A file in which a column holds text where others hold numbers, and such a text."""
        del column
        return None


def batches_of(path: str | Path, *, engine: str | None = None) -> Batches | None:
    r"""The table at a path in batches; None where it is one file that fits in memory, unless `engine` is "stream".

    A folder is one table, as is what a pattern such as "preds/*.parquet" matches; folders called key=value are columns.

    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> for day in (1, 2):
    ...     part = pathlib.Path(folder.name, f"day={day}")
    ...     part.mkdir()
    ...     _ = (part / "part.csv").write_text("truth,predicted\nyes,no\n")
    >>> batches = batches_of(folder.name)
    >>> [frame.rows() for frame in batches.frames()]
    [[('yes', 'no', 1), ('yes', 'no', 2)]]
    >>> folder.cleanup()
    """
    text = str(path)
    if text == STANDARD_INPUT or engine == "memory":
        return None
    if engine != "stream" and not (_is_many(text) or _is_long(text)):
        return None
    files = list_files(path)
    return None if files.format.batches is None else files.format.batches(files)


def many_files(path: str | Path) -> Batches | None:
    """The table at a path that names many files, a folder, a pattern or an address; None for one file."""
    return batches_of(path, engine="stream") if _is_many(str(path)) else None


def no_rows_in_files(name: str, files: int) -> FileError:
    """The error for a table of which no file has a row."""
    content = "a header but no rows" if files == 1 else f"{files:,} files, and none of them has a row"
    return FileError(f"{name} has {content}.", hint="check that whatever writes it has finished.")


def mixed_numbers(column: str, whole: str, real: str) -> FileError:
    """The error for whole numbers that would fall together as floats, which other files make of the column."""
    return FileError(
        f"The column {column!r} holds whole numbers beyond 2**53 in {whole} and other numbers in {real}, "
        "and some of them would fall together.",
        hint="write the column with one type in all files, whole numbers or text.",
    )


def _is_many(path: str) -> bool:
    return is_address(path) or is_pattern(path) or _is_folder(path)


def _is_folder(path: str) -> bool:
    try:
        return Path(path).is_dir()
    except (OSError, ValueError):
        # No folder can have such a name; the reader says so.
        return False


def _is_long(path: str) -> bool:
    """Whether one file has too many rows, or bytes, to be held."""
    try:
        file = Path(path)
        if not file.is_file():
            return False
        size = file.stat().st_size
    except (OSError, ValueError):
        return False
    fmt = format_by_ending(inner_ending(file))
    if fmt is None or fmt.batches is None:
        return False
    packed = file.suffix.lower() == ".gz"
    if fmt.count_rows is None:
        return size > (LONG_PACKED if packed else LONG_BYTES)
    # Two labels of one bit each are the least that a row can take.
    return not packed and size > LONG_ROWS // 8 and fmt.count_rows(file) > LONG_ROWS


def key_columns(parts: Sequence[FilePart], held: Sequence[Collection[str]] = ()) -> dict[str, list[Any]]:
    """The value of every key for each part, with the type that all values of the key share.

    `held` are the columns in each of the files: one that is called like a key must hold what the folder says.

    >>> key_columns([FilePart("a", "a", (("year", "2025"),)), FilePart("b", "b", (("year", "2026"),))])
    {'year': [2025, 2026]}
    """
    import polars as pl

    names = dict.fromkeys(key for part in parts for key, _ in part.keys)
    columns: dict[str, list[Any]] = {}
    for name in names:
        bare = next((part for part in parts if name not in dict(part.keys)), None)
        if bare is not None:
            other = next(part for part in parts if name in dict(part.keys))
            raise FileError(
                f"{bare.name} has no folder {name}=… in its path, and {other.name} has one.",
                hint="read the partitions of one table at a time, with a pattern or from their own folder.",
            )
        texts = pl.Series(name, [dict(part.keys)[name] for part in parts], dtype=pl.String)
        columns[name] = typed(texts).to_list()
        for part, own in zip(parts, held, strict=False):
            if name in own:
                _check_column(part, name)
    return columns


def key_type(values: Sequence[Any]) -> pl.DataType:
    """The type of Polars that the values of a key have; text where all of them are missing.

    >>> key_type([2025, None]), key_type([None])
    (Int64, String)
    """
    import polars as pl

    kind = pl.Series(values).dtype
    return pl.String() if kind == pl.Null else kind


def _check_column(part: FilePart, name: str) -> None:
    """Refuse a file whose column of the name of a key holds something else: programs differ in which they believe."""
    import polars as pl

    folder_value = dict(part.keys)[name]
    value = typed(pl.Series([folder_value], dtype=pl.String))[0]
    batches = batches_of(part.path, engine="stream")
    for frame in batches.frames([name]) if batches is not None else ():
        for stored in frame.get_column(name).unique(maintain_order=True).to_list():
            if stored != value and (stored is None or str(stored) != folder_value):
                raise FileError(
                    f"{part.name} lies in the folder {name}={NO_VALUE if folder_value is None else folder_value}, "
                    f"and its column {name!r} holds {'a missing value' if stored is None else repr(stored)}.",
                    hint="write the file without the column, or give one of the two another name.",
                )


# Bytes of a piece. A record may be as long as a few of them, and then a quote was not closed.
PIECE = 1 << 25
MOST_PIECES = 8


def pieces(part: FilePart, *, quoted: bool, size: int = PIECE) -> Iterator[bytes]:
    """The bytes of a text file in pieces that end with a line; with `quoted`, a line inside quotes does not end one."""
    rest = b""
    for block in _blocks(part, size):
        # Files with bare carriage returns (old Macintosh) have no newline at all.
        data = rest + (block.replace(b"\r", b"\n") if b"\r" in block and b"\n" not in block else block)
        cut = _cut(data, quoted=quoted)
        if not cut and len(data) > MOST_PIECES * size:
            raise FileError(
                f"{part.name} holds a record of more than {len(data) >> 20:,} MB, which no record is.",
                hint='look for a quote (") that is not closed.',
            )
        if cut:
            yield data[:cut]
        rest = data[cut:]
    if rest:
        yield rest


def _cut(data: bytes, *, quoted: bool) -> int:
    """Where the last whole record ends."""
    end = data.rfind(b"\n")
    if not quoted or b'"' not in data:
        return end + 1
    quotes = data.count(b'"', 0, end + 1)
    while end >= 0 and quotes % 2:
        before = data.rfind(b"\n", 0, end)
        quotes -= data.count(b'"', before + 1, end + 1)
        end = before
    return end + 1


def _blocks(part: FilePart, size: int) -> Iterator[bytes]:
    path = Path(part.path)
    # Says what is wrong with a file that cannot be opened.
    head = load_head(path, 4) if path.suffix.lower() == ".gz" else None
    try:
        with path.open("rb") as plain:
            packed = head is not None or plain.read(2) == GZIP_MAGIC
        with gzip.open(path, "rb") if packed else path.open("rb") as file:
            while block := file.read(size):
                yield block
    except PermissionError:
        raise no_permission(part.name) from None
    except (OSError, EOFError, zlib.error) as error:
        how = "ends too early" if isinstance(error, EOFError) else f"cannot be read ({error})"
        raise FileError(
            f"{part.name} {how}.",
            hint="copy or download it again; of a packed file, gzip -t tells whether it is whole.",
        ) from None


# One piece of a file: its columns, and whether a comma may stand for the decimal point in it.
Piece = tuple["pl.DataFrame", bool]


class TextBatches(Batches):
    """Text files as one table: what a column is, its values in all files tell, so the first reading finds that out."""

    def __init__(self, listing: Listing, size: int = PIECE) -> None:
        self._bytes = size
        headers: dict[FilePart, tuple[str, ...]] = {}
        empty: list[str] = []
        for part in listing.parts:
            if load_head(part.path, 1 << 12).data.strip():
                headers[part] = self._names(part)
            else:
                empty.append(part.inside or part.name)
        # A JSON document without rows names no columns.
        if not any(headers.values()):
            raise no_rows_in_files(listing.name, len(listing.parts))
        self._texts = list(headers)
        self._headers = headers
        if empty:
            listing = replace(listing, notes=(*listing.notes, empty_note(empty)))
        names = dict.fromkeys(name for header in headers.values() for name in header)
        keys = key_columns(self._texts, list(headers.values()))
        self._keys = {name: values for name, values in keys.items() if name not in names}
        super().__init__(replace(listing, parts=tuple(self._texts)), [*names, *self._keys])
        self._types: dict[str, Any] = {}

    @abstractmethod
    def _names(self, part: FilePart) -> tuple[str, ...]:
        """The columns that the beginning of a file tells."""

    @abstractmethod
    def _frames(self, part: FilePart, columns: Sequence[str]) -> Iterator[Piece]:
        """The rows of a file in their order, in pieces that have at least these columns."""

    @abstractmethod
    def _find_types(self, columns: Sequence[str]) -> None:
        """Find out what each of these columns is as a whole, and put it into `_types`."""

    @abstractmethod
    def _convert(self, part: FilePart, piece: Piece, columns: Sequence[str]) -> list[pl.Series]:
        """These columns of a piece with the types of the whole."""

    def kinds(self, columns: Sequence[str]) -> dict[str, pl.DataType]:
        """The type that each of these columns has in all batches."""
        new = [name for name in columns if name not in self._types]
        for name in new:
            if name in self._keys:
                self._types[name] = key_type(self._keys[name])
        stored = [name for name in new if name not in self._keys]
        if stored:
            self._find_types(stored)
        return {name: self._types[name] for name in columns}

    def _watched_pieces(self, columns: Sequence[str]) -> Iterator[tuple[FilePart, Piece]]:
        """All pieces of all files; whoever watches is told how far they are."""
        yield from self._watched(self._pieces(columns), lambda located: len(located[1][0]))

    def _pieces(self, columns: Sequence[str]) -> Iterator[tuple[FilePart, Piece]]:
        """Pieces of all files with these columns; a table without a row is refused, whoever reads it to its end."""
        sizes: list[int] = []
        for part in self._texts:
            rows = 0
            for frame, comma in self._frames(part, columns):
                rows += len(frame)
                yield part, (frame.select(columns), comma)
            sizes.append(rows)
        if not sum(sizes):
            raise no_rows_in_files(self.name, len(sizes))
        self._sizes = sizes
        bare = [part.inside or part.name for part, rows in zip(self._texts, sizes, strict=True) if not rows]
        if bare and empty_note(bare) not in self.notes:
            self.notes = (*self.notes, empty_note(bare))

    def _read(self, columns: list[str], made: Sequence[pl.Expr]) -> Iterator[pl.DataFrame]:
        import polars as pl

        types = self.kinds(columns)
        stored = [name for name in columns if name not in self._keys]
        index = {part: position for position, part in enumerate(self._texts)}
        for part, piece in self._pieces(stored or [self._headers[self._texts[0]][0]]):
            keys = [
                pl.repeat(self._keys[name][index[part]], len(piece[0]), dtype=types[name], eager=True).alias(name)
                for name in columns
                if name in self._keys
            ]
            frame = pl.DataFrame([*self._convert(part, piece, stored), *keys]).select(columns)
            yield frame.select(made) if made else frame
