"""Text files of many rows or many files, in batches whose types are those of the whole; each format adds its own."""

from __future__ import annotations

import gzip
import zlib
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heldout.errors import FileError
from heldout.files.batches import Batches, key_columns, key_type, no_rows_in_files
from heldout.files.input_stream import GZIP_MAGIC, load_head
from heldout.files.paths import Listing, Part, empty_note

if TYPE_CHECKING:
    import polars as pl


# Text files cut into pieces of whole records, also while they are unpacked.

# Bytes of a piece. A record may be as long as a few of them, and then a quote was not closed.
PIECE = 1 << 25
MOST_PIECES = 8


def pieces(part: Part, *, quoted: bool, size: int = PIECE) -> Iterator[bytes]:
    """The bytes of a text file in pieces that end with a line; with `quoted`, a line inside quotes does not end one."""
    rest = b""
    for block in _blocks(part, size):
        # Files that end their lines as computers of the last century did have no newline at all.
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


def _blocks(part: Part, size: int) -> Iterator[bytes]:
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
        raise FileError(
            f"{part.name} cannot be opened: no permission to read it.",
            hint="ask its owner for read access, or change it with chmod u+r.",
        ) from None
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
        headers: dict[Part, tuple[str, ...]] = {}
        empty: list[str] = []
        for part in listing.parts:
            if load_head(part.path, 1 << 12).data.strip():
                headers[part] = self._names(part)
            else:
                empty.append(part.inside or part.name)
        if not headers:
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
    def _names(self, part: Part) -> tuple[str, ...]:
        """The columns that the beginning of a file tells."""

    @abstractmethod
    def _frames(self, part: Part, columns: Sequence[str]) -> Iterator[Piece]:
        """The rows of a file in their order, in pieces that have at least these columns."""

    @abstractmethod
    def _find_types(self, columns: Sequence[str]) -> None:
        """Find out what each of these columns is as a whole, and put it into `_types`."""

    @abstractmethod
    def _convert(self, part: Part, piece: Piece, columns: Sequence[str]) -> list[pl.Series]:
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

    def _watched_pieces(self, columns: Sequence[str]) -> Iterator[tuple[Part, Piece]]:
        """All pieces of all files; whoever watches is told how far they are, and a table without a row is refused."""
        yield from self._watched(self._pieces(columns), lambda found: len(found[1][0]))
        if not sum(self._sizes):
            raise no_rows_in_files(self.name, len(self._texts))

    def _pieces(self, columns: Sequence[str]) -> Iterator[tuple[Part, Piece]]:
        """Pieces of all files with these columns."""
        sizes: list[int] = []
        for part in self._texts:
            rows = 0
            for frame, comma in self._frames(part, columns):
                rows += len(frame)
                yield part, (frame.select(columns), comma)
            sizes.append(rows)
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
