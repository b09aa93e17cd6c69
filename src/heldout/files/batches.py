"""Tables that are read in batches, because they come in many files or do not fit in memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from heldout.errors import FileError
from heldout.files.column_types import typed, wanted_names
from heldout.files.formats import format_by_ending
from heldout.files.input_stream import STANDARD_INPUT, inner_ending
from heldout.files.paths import NO_VALUE, Listing, Part, is_address, is_pattern, listed

if TYPE_CHECKING:
    import polars as pl


# Rows of a batch: large enough that what is done once a batch costs nothing, small enough for any memory.
ROWS = 1 << 20
# A Parquet file of more rows than this is not held in memory: from here on its columns take about a gigabyte.
LONG_ROWS = 20_000_000
# The same for text, in bytes of the file; packed ones are about five times as long when they are unpacked.
LONG_BYTES = 1 << 30
LONG_PACKED = LONG_BYTES // 5
# Up to here every whole number is a floating-point number of its own.
EXACT = 1 << 53


T = TypeVar("T")
# Who watches a reading is told its name, how many rows have been read (None when it is over), and of how many if known.
Watch = Callable[[str, int | None, int | None], object]
watching: ContextVar[Watch | None] = ContextVar("watching", default=None)


class Batches(ABC):
    """A table in one or many files, of which a few columns at a time are read from the start, as often as wanted.

    `names` are the columns of all files, in the order in which they were met; `notes` are sentences about files that
    were left out; `batch` is about how many rows are given at a time. Numbers in columns that whoever reads them calls
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
        """The rows in their order, about a batch of them at a time; `made` are expressions to be given instead."""
        import polars as pl

        held: list[pl.DataFrame] = []
        size = 0
        for frame in self._watched(self._read(wanted_names(self.names, columns, self.name), made), len):
            held.append(frame)
            size += len(frame)
            if size >= self.batch:
                yield held[0] if len(held) == 1 else pl.concat(held)
                held, size = [], 0
        if size:
            yield held[0] if len(held) == 1 else pl.concat(held)

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
    files = listed(path)
    return None if files.format.batches is None else files.format.batches(files)


def many_files(path: str | Path) -> Batches | None:
    """The table at a path that names many files, a folder, a pattern or an address; None for one file."""
    return batches_of(path, engine="stream") if _is_many(str(path)) else None


def no_rows_in_files(name: str, files: int) -> FileError:
    """The error for a table of which no file has a row."""
    held = "a header but no rows" if files == 1 else f"{files:,} files, and none of them has a row"
    return FileError(f"{name} has {held}.", hint="check that whatever writes it has finished.")


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


# Columns that the folders of a table hold in their names, such as year=2026/region=north.


def key_columns(parts: Sequence[Part], held: Sequence[Collection[str]] = ()) -> dict[str, list[Any]]:
    """The value of every key for each part, with the type that all values of the key share.

    `held` are the columns in each of the files: one that is called like a key must hold what the folder says.

    >>> key_columns([Part("a", "a", (("year", "2025"),)), Part("b", "b", (("year", "2026"),))])
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

    held = pl.Series(values).dtype
    return pl.String() if held == pl.Null else held


def _check_column(part: Part, name: str) -> None:
    """Refuse a file whose column of the name of a key holds something else: programs differ in which they believe."""
    import polars as pl

    said = dict(part.keys)[name]
    value = typed(pl.Series([said], dtype=pl.String))[0]
    batches = batches_of(part.path, engine="stream")
    for frame in batches.frames([name]) if batches is not None else ():
        for found in frame.get_column(name).unique(maintain_order=True).to_list():
            if found != value and (found is None or str(found) != said):
                raise FileError(
                    f"{part.name} lies in the folder {name}={NO_VALUE if said is None else said}, "
                    f"and its column {name!r} holds {'a missing value' if found is None else repr(found)}.",
                    hint="write the file without the column, or give one of the two another name.",
                )
