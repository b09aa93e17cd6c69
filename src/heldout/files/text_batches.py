"""Delimited text and JSON lines of many rows or many files, in batches whose types are those of the whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heldout.errors import ColumnError, FileError
from heldout.files import column_names
from heldout.files.batches import EXACT, Batches, mixed_numbers, no_rows
from heldout.files.column_kinds import Kind, as_kind, dtype_of, joined_kind, kind_of_piece
from heldout.files.delimited import only_newlines, parsed, parsed_row_by_row, read_header
from heldout.files.json_lines import read_json_lines
from heldout.files.many import Listing, Part, empty_note
from heldout.files.opening import Content, inner_ending, load_head, utf8_text
from heldout.files.partition_keys import key_columns, key_type
from heldout.files.text_pieces import PIECE, pieces

if TYPE_CHECKING:
    import polars as pl

# So many values of a piece of text are looked at for numbers beside it.
_FIRST = 1000
# How JSON names what a column holds.
_WORDS = {"String": "text", "Int64": "numbers", "Float64": "numbers", "Boolean": "booleans"}


class TextBatches(Batches):
    """Text files as one table: what a column is, its values in all files tell, so the first reading finds that out."""

    def __init__(self, listing: Listing, size: int = PIECE) -> None:
        self._delimited = listing.kind == "delimited"
        self._bytes = size
        headers: dict[Part, tuple[str, ...]] = {}
        empty: list[str] = []
        for part in listing.parts:
            if load_head(part.path, 1 << 12).data.strip():
                headers[part] = column_names(part.path) if self._delimited else _first_keys(part, size)
            else:
                empty.append(part.inside or part.name)
        if not headers:
            raise no_rows(listing.name, len(listing.parts))
        self._texts = list(headers)
        self._headers = headers
        if empty:
            listing = replace(listing, notes=(*listing.notes, empty_note(empty)))
        names = dict.fromkeys(name for held in headers.values() for name in held)
        keys = key_columns(self._texts, list(headers.values()))
        self._keys = {name: values for name, values in keys.items() if name not in names}
        super().__init__(replace(listing, parts=tuple(self._texts)), [*names, *self._keys])
        self._known: dict[str, Kind] = {}
        self._types: dict[str, Any] = {}
        self._met: dict[str, dict[Kind, tuple[str, str]]] = {}
        # What each file holds in columns of classes, in words.
        self._held: dict[str, dict[Part, set[str]]] = {}
        # Whether the first piece tells what a column is, and of which columns nothing else has told it.
        self._trusts, self._guessed = False, set[str]()

    def kinds(self, columns: Sequence[str]) -> dict[str, pl.DataType]:
        """The type that each of these columns has in all batches."""
        new = [name for name in columns if name not in self._types]
        for name in new:
            if name in self._keys:
                self._types[name] = key_type(self._keys[name])
        stored = [name for name in new if name not in self._keys]
        if stored:
            self._settle(stored)
        return {name: self._types[name] for name in columns}

    @contextmanager
    def trusting(self) -> Iterator[None]:
        """Take the types of the first piece; those of columns that were not read to their end are forgotten then."""
        self._trusts, self._guessed = self._delimited, set()
        try:
            yield
        finally:
            self._trusts = False
            for name in self._guessed:
                del self._known[name], self._types[name], self._met[name]
                self._held.pop(name, None)

    def text_in(self, column: str) -> tuple[str, str] | None:
        """A file in which a column holds text where others hold numbers, and such a text."""
        return self._met.get(column, {}).get("text")

    def _settle(self, columns: list[str]) -> None:
        """Read everything once to find out what each column is, and how many rows each file has."""
        pieces_met = self._watched(self._pieces(columns), lambda piece: len(piece[1]))
        if self._delimited:
            self._met |= {name: {} for name in columns}
            for part, frame, comma in islice(self._pieces(columns), 1) if self._trusts else pieces_met:
                self._meet(part, frame, comma)
            self._known |= {name: joined_kind(set(self._met[name])) for name in columns}
            self._types |= {name: dtype_of(self._known[name]) for name in columns}
            if self._trusts:
                self._guessed |= set(columns)
                return
        else:
            met: dict[str, dict[Any, str]] = {name: {} for name in columns}
            beyond: dict[str, str] = {}
            for part, frame, _ in pieces_met:
                for name in columns:
                    held = frame.get_column(name)
                    if held.null_count() < len(held):
                        met[name].setdefault(held.dtype, part.name)
                        if held.dtype.is_integer() and not held.is_between(-EXACT, EXACT).all():
                            beyond.setdefault(name, part.name)
            self._types |= {name: _one_type(name, held, beyond.get(name)) for name, held in met.items()}
        if not sum(self._sizes):
            raise no_rows(self.name, len(self._texts))
        self._tell()

    def _meet(self, part: Part, frame: pl.DataFrame, comma: bool) -> None:
        """Note of which kinds the columns of a piece are, the first file in which each is met, and an example."""
        for text in frame.iter_columns():
            name, kind = text.name, kind_of_piece(text, decimal_comma=comma)
            if kind not in self._met[name]:
                self._met[name][kind] = part.name, _example(text, kind)
            if name in self.labels.values():
                self._held.setdefault(name, {}).setdefault(part, set()).update(_words(text, kind))

    def _tell(self) -> None:
        """Add a note for each column of classes that is all numbers in one file and has none in another."""
        for role, name in self.labels.items():
            held = self._held.get(name, {})
            numbers = next((part for part, words in held.items() if words == {"numbers"}), None)
            other = next((part for part, words in held.items() if words and "numbers" not in words), None)
            if numbers is None or other is None:
                continue
            note = (
                f"{role} (column {name!r}) holds numbers in {numbers.inside or numbers.name} and "
                f"{min(held[other])} in {other.inside or other.name}, so its numbers count as text"
            )
            if note not in self.notes:
                self.notes = (*self.notes, note)

    def _check(self, part: Part, frame: pl.DataFrame, comma: bool) -> None:
        """Refuse a piece that makes a column of another kind than the first piece did."""
        self._meet(part, frame, comma)
        for name in frame.columns:
            if joined_kind(set(self._met[name])) != self._known[name]:
                raise FileError(
                    f"The column {name!r} holds other values than its first rows do, in {part.name}.",
                    hint="write the column with one type, numbers or text.",
                )

    def _pieces(self, columns: Sequence[str]) -> Iterator[tuple[Part, pl.DataFrame, bool]]:
        """Pieces of all files with these columns, and whether a comma may stand for the decimal point."""
        sizes: list[int] = []
        for part in self._texts:
            for name in columns:
                if self._delimited and name not in self._headers[part]:
                    has = next(other for other in self._texts if name in self._headers[other])
                    raise FileError(
                        f"{part.name} has no column {name!r}, and {has.name} has one.",
                        hint="write the file again with all columns, or read only files that have them (a pattern).",
                    )
            rows = 0
            for frame, comma in self._delimited_frames(part) if self._delimited else self._json_frames(part, columns):
                rows += len(frame)
                yield part, frame.select(columns), comma
            sizes.append(rows)
        self._sizes = sizes
        bare = [part.inside or part.name for part, rows in zip(self._texts, sizes, strict=True) if not rows]
        if bare and empty_note(bare) not in self.notes:
            self.notes = (*self.notes, empty_note(bare))

    def _delimited_frames(self, part: Part) -> Iterator[tuple[pl.DataFrame, bool]]:
        header, line = None, 0
        for piece in pieces(part, quoted=True, size=self._bytes):
            name = part.name if header is None else f"{part.name} (after line {line:,})"
            if only_newlines(piece):
                line += piece.count(b"\n")
                continue
            content = Content(name, inner_ending(Path(part.path)), piece)
            data, start = utf8_text(content), 0
            if header is None:
                header = read_header(data, content)
                start = header.rows_at
            here = replace(header, first_line=line + data.count(b"\n", 0, start) + 1)
            line += data.count(b"\n")
            body = data[start:]
            if only_newlines(body):
                continue
            frame = parsed(body, here)
            if frame is None:
                frame = parsed_row_by_row(body.decode("utf-8"), here, part.name)
            yield frame, here.separator == ";"

    def _json_frames(self, part: Part, columns: Sequence[str]) -> Iterator[tuple[pl.DataFrame, bool]]:
        import polars as pl

        line = 0
        for piece in pieces(part, quoted=False, size=self._bytes):
            if not piece.isspace():
                name = part.name if not line else f"{part.name} (after line {line:,})"
                frame = read_json_lines(Content(name, ".jsonl", piece))
                absent = [pl.lit(None, dtype=pl.String).alias(key) for key in columns if key not in frame.columns]
                yield frame.with_columns(absent), False
            line += piece.count(b"\n")

    def _read(self, columns: list[str], made: Sequence[pl.Expr]) -> Iterator[pl.DataFrame]:
        import polars as pl

        types = self.kinds(columns)
        stored = [name for name in columns if name not in self._keys]
        place = {part: at for at, part in enumerate(self._texts)}
        for part, frame, comma in self._pieces(stored or [self._headers[self._texts[0]][0]]):
            if self._trusts and stored:
                self._check(part, frame, comma)
            if self._delimited:
                held = [as_kind(frame.get_column(name), self._known[name]) for name in stored]
            else:
                held = [frame.get_column(name).cast(types[name]) for name in stored]
            keyed = [
                pl.repeat(self._keys[name][place[part]], len(frame), dtype=types[name], eager=True).alias(name)
                for name in columns
                if name in self._keys
            ]
            whole = pl.DataFrame([*held, *keyed]).select(columns)
            yield whole.select(made) if made else whole
        if self._trusts:
            self._guessed -= set(stored)
            self._tell()


def _first_keys(part: Part, size: int) -> tuple[str, ...]:
    """The keys that the objects in the first piece of JSON lines have."""
    for piece in pieces(part, quoted=False, size=size):
        if not piece.isspace():
            return tuple(read_json_lines(Content(part.name, ".jsonl", piece)).columns)
    return ()


def _example(text: pl.Series, kind: Kind) -> str:
    """A value that is no number, where the column holds text."""
    import polars as pl

    if kind != "text":
        return ""
    held = text.drop_nulls()
    strange = held.filter(held.str.strip_chars().cast(pl.Float64, strict=False).is_null() & (held != ""))
    return str(strange[0] if len(strange) else held[0])


def _words(text: pl.Series, kind: Kind) -> set[str]:
    """What some values of a column are, in words: text may have numbers beside it, which the first values tell."""
    import polars as pl

    if kind == "text":
        first = text.head(_FIRST).str.strip_chars().cast(pl.Float64, strict=False)
        return {"text", "numbers"} if first.null_count() < len(first) else {"text"}
    return {"booleans"} if dtype_of(kind) == pl.Boolean else {"numbers"} if kind else set()


def _one_type(name: str, met: dict[Any, str], beyond: str | None) -> Any:
    """The type that a key of JSON lines has in all files; `beyond` has whole numbers that are no floats."""
    import polars as pl

    if not met:
        return pl.String()
    words = {_WORDS.get(str(kind), str(kind)): file for kind, file in met.items()}
    if len(words) > 1:
        (one, first), (two, second) = list(words.items())[:2]
        raise ColumnError(
            f"{name!r} holds {one} in {first} and {two} in {second}.",
            hint="write all values of the column as text, or all as numbers.",
        )
    if len(met) > 1 and beyond is not None:
        raise mixed_numbers(name, beyond, met[pl.Float64()])
    return next(iter(met)) if len(met) == 1 else pl.Float64()
