"""Delimited text and JSON lines of many rows or many files, in batches whose types are those of the whole."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from heldout.errors import ColumnError, FileError
from heldout.files import column_names
from heldout.files.batches import EXACT, Batches, key_columns, key_type, mixed_numbers, no_rows_in_files
from heldout.files.column_types import blank_to_null, typed
from heldout.files.delimited import only_newlines, parsed, parsed_row_by_row, read_header
from heldout.files.formats import GZIP_MAGIC
from heldout.files.input_stream import Content, inner_ending, load_head, utf8_text
from heldout.files.json_lines import read_json_lines
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


# What a column of text is as a whole, found piece by piece: numbers, booleans or text.

# What one piece is: nothing at all, whole numbers, such beyond 64 bits, other numbers (also with a decimal comma),
# booleans in one of three spellings, or text.
Kind = Literal["", "whole", "huge", "real", "comma", "true", "True", "TRUE", "text"]
_BOOLEANS: tuple[Kind, ...] = ("true", "True", "TRUE")


def kind_of_piece(text: pl.Series, *, decimal_comma: bool = False) -> Kind:
    """What some values of a column are, by the rules for whole columns.

    >>> import polars as pl
    >>> [kind_of_piece(pl.Series(x)) for x in (["1", "2"], ["1", "0.5"], ["007", "1"], ["True", None])]
    ['whole', 'real', 'text', 'True']
    """
    import polars as pl

    made = typed(text, decimal_comma=decimal_comma)
    if made.null_count() == len(made):
        return ""
    if made.dtype == pl.Int64:
        return "whole"
    if made.dtype == pl.Float64:
        return "comma" if decimal_comma and text.str.contains(",", literal=True).any() else "real"
    if made.dtype == pl.Boolean:
        held = set(text.drop_nulls().unique().to_list())
        return next(word for word in _BOOLEANS if held <= {word, _opposite(word), ""})
    # What the first value rules out, all of them cannot be.
    return "huge" if _only_digits(text.head(1)) and _only_digits(text) else "text"


def _only_digits(text: pl.Series) -> bool:
    held = blank_to_null(text.str.strip_chars()).drop_nulls()
    return bool(held.str.contains(r"^[+-]?(0|[1-9][0-9]*)$").all())


def joined_kind(kinds: AbstractSet[Kind]) -> Kind:
    """What a column is whose pieces are these.

    >>> joined_kind({"whole", "real", ""}), joined_kind({"whole", "text"}), joined_kind({"true", "True"})
    ('real', 'text', 'text')
    """
    held = kinds - {""}
    if len(held) == 1:
        (alone,) = held
        return "text" if alone == "huge" else alone
    if not held:
        return ""
    if held <= {"whole", "real", "huge"} and "real" in held:
        return "real"
    return "comma" if held == {"whole", "comma"} else "text"


def as_kind(text: pl.Series, kind: Kind) -> pl.Series:
    """Some values of a column with the type of the whole.

    >>> import polars as pl
    >>> as_kind(pl.Series(["1", ""]), "real").to_list(), as_kind(pl.Series(["1", ""]), "text").to_list()
    ([1.0, None], ['1', None])
    """
    text = blank_to_null(text)
    if kind in _BOOLEANS:
        return text == kind
    if kind in ("", "text", "huge"):
        return text
    if kind != "comma":
        made = text.cast(dtype_of(kind), strict=False)
        if made.null_count() == text.null_count():
            return made
    stripped = blank_to_null(text.str.strip_chars())
    if kind == "comma":
        stripped = stripped.str.replace(",", ".", literal=True)
    return stripped.cast(dtype_of(kind))


def dtype_of(kind: Kind) -> pl.DataType:
    """The type of Polars for columns of a kind."""
    import polars as pl

    if kind in _BOOLEANS:
        return pl.Boolean()
    return {"whole": pl.Int64(), "real": pl.Float64(), "comma": pl.Float64()}.get(kind, pl.String())


def _opposite(word: str) -> str:
    return {"true": "false", "True": "False", "TRUE": "FALSE"}[word]


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
            raise no_rows_in_files(listing.name, len(listing.parts))
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
            raise no_rows_in_files(self.name, len(self._texts))
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
