"""Reading delimited text, CSV, TSV and their relatives: whole, or in batches of many rows or many files."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from heldout.errors import FileError
from heldout.files.batches import PIECE, SAME_COLUMNS, Piece, TextBatches, pieces
from heldout.files.column_types import (
    EXACT,
    EXPONENT,
    blank_to_null,
    is_whole_valued,
    missing_words_to_null,
    no_rows,
    refuse_duplicates,
    typed,
    wanted_names,
)
from heldout.files.formats import Format
from heldout.files.input_stream import Content, inner_ending, load_first_lines, utf8_text
from heldout.files.paths import FilePart, Listing
from heldout.files.rust_panics import without_panics

if TYPE_CHECKING:
    import polars as pl

SEPARATORS = (",", ";", "\t", "|")


@dataclass(frozen=True, slots=True)
class DelimitedHeader:
    """The column names of a delimited text, its separator, and where its rows begin."""

    names: tuple[str, ...]
    separator: str
    rows_at: int
    first_line: int


def read_delimited(content: Content, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """Read delimited text with a header line; the types are found from all values of each column.

    Polars parses; whenever it objects, or some row may be short, the rows are read again one by one to
    find the line at fault, or to read correctly what Polars is too strict for. All columns are parsed
    even when few are wanted, because Polars overlooks ragged rows in columns that it may skip.
    """
    import polars as pl

    data = _newline_text(content)
    header = read_header(data, content)
    wanted = wanted_names(header.names, columns, content.name)
    body = data[header.rows_at :]
    if only_newlines(body):
        raise no_rows(content.name)
    frame = parsed(body, header)
    if frame is None:
        frame = parsed_row_by_row(body.decode("utf-8"), header, content.name)
    decimal_comma = header.separator == ";"
    return pl.DataFrame([typed(frame.get_column(name), decimal_comma=decimal_comma) for name in wanted])


def delimited_names(content: Content) -> tuple[str, ...]:
    """The column names in the header line of delimited text."""
    return read_header(_newline_text(content), content).names


def load_header(path: str | Path) -> DelimitedHeader:
    """The header of a file on this machine, of which only the beginning is read."""
    content = load_first_lines(path)
    return read_header(_newline_text(content), content)


def read_header(data: bytes, content: Content) -> DelimitedHeader:
    """Find the names, the separator and the start of the rows."""
    start = re.match(rb"[\r\n]*", data).end()  # type: ignore[union-attr]
    declared = re.compile(rb"sep=([,;\t|])\r?\n", re.IGNORECASE).match(data, start)
    if declared:
        # Spreadsheet programs write such a line above the header and hide it.
        start = declared.end()
    end = _record_end(data, start)
    line = data[start:end].decode("utf-8").rstrip("\r\n")
    following = data[end : _record_end(data, end)].decode("utf-8", errors="replace").rstrip("\r\n")
    separator = declared[1].decode() if declared else separator_of(line, following, content.ending)
    try:
        row = next(csv.reader(io.StringIO(line, newline=""), delimiter=separator))
    except csv.Error as error:
        raise FileError(
            f"The header line of {content.name} cannot be read: {error}.",
            hint="check that the file is delimited text with the column names in its first line.",
        ) from None
    stripped = [name.strip() for name in row]
    names = tuple(name or _free_name(position, stripped) for position, name in enumerate(stripped, start=1))
    refuse_duplicates(names, content.name)
    return DelimitedHeader(names, separator, rows_at=end, first_line=data.count(b"\n", 0, end) + 1)


def _newline_text(content: Content) -> bytes:
    data = utf8_text(content)
    if b"\r" in data and b"\n" not in data:
        data = data.replace(b"\r", b"\n")
    return data


def _record_end(data: bytes, start: int) -> int:
    """The end of the record at `start`; a newline inside quotes does not end it."""
    end = start
    quotes = 0
    while (newline := data.find(b"\n", end)) >= 0:
        quotes += data.count(b'"', end, newline)
        end = newline + 1
        if quotes % 2 == 0:
            return end
    if quotes % 2:
        # Quotes that never close are stray marks; then the first line is the record.
        first = data.find(b"\n", start)
        return first + 1 if first >= 0 else len(data)
    return len(data)


def _free_name(position: int, taken: Sequence[str]) -> str:
    name = f"column_{position}"
    while name in taken:
        name += "_"
    return name


def only_newlines(text: bytes) -> bool:
    r"""Whether a text has no character but ends of lines.

    >>> only_newlines(b"\r\n\n"), only_newlines(b"\n ")
    (True, False)
    """
    # Stripped is a copy, so the first few are looked at first.
    return not text[:4096].strip(b"\r\n") and not text.strip(b"\r\n")


def parsed(body: bytes, header: DelimitedHeader) -> pl.DataFrame | None:
    """All columns as text, or None where Polars may not be trusted with this text."""
    quoted = b'"' in body
    if quoted:
        blank = body.startswith((b"\n", b"\r\n")) or b"\n\n" in body or b"\n\r\n" in body
        # Polars takes all that follows a quote that is never closed for one field, and says nothing.
        unclosed = body.count(b'"') % 2 == 1
        return None if unclosed or (len(header.names) > 1 and blank) else _by_polars(body, header, quoted=True)
    if b"\r" in body:
        body = body.replace(b"\r\n", b"\n")
    frame = _by_polars(body, header, quoted=False)
    if frame is None and len(header.names) > 1 and (body.startswith(b"\n") or b"\n\n" in body):
        # Looked for only now, because searching for two bytes takes as long as parsing.
        return _by_polars(_without_blank_lines(body), header, quoted=False)
    return frame


def _by_polars(body: bytes, header: DelimitedHeader, *, quoted: bool) -> pl.DataFrame | None:
    """What Polars makes of the rows; None where it objects or a row is short."""
    import polars as pl

    width = len(header.names)
    try:
        with without_panics():
            frame = pl.read_csv(
                body,
                has_header=False,
                schema=dict.fromkeys(header.names, pl.String),
                separator=header.separator,
                quote_char='"' if quoted else None,
            )
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return None
    # Polars refuses rows that are too long but fills up rows that are too short.
    if quoted:
        complete = frame.get_column(header.names[-1]).null_count() == 0
    else:
        complete = body.count(header.separator.encode()) == (width - 1) * len(frame)
    return frame if complete else None


def _without_blank_lines(body: bytes) -> bytes:
    body = body.lstrip(b"\n")
    while b"\n\n" in body:
        body = body.replace(b"\n\n", b"\n")
    return body


def parsed_row_by_row(body: str, header: DelimitedHeader, file: str) -> pl.DataFrame:
    """The rows read one by one, where a quick reading stumbles over one of them."""
    import polars as pl

    width = len(header.names)
    rows: list[list[str]] = []
    reader = csv.reader(io.StringIO(body, newline=""), delimiter=header.separator)
    line = last_line = header.first_line
    try:
        for row in reader:
            last_line = line
            if len(row) == width:
                rows.append(row)
            elif not row and width == 1:
                rows.append([""])
            elif row:
                raise _ragged(file, line, header, row)
            line = header.first_line + reader.line_num
        _check_closed(body.split("\n")[last_line - header.first_line :], last_line, header, file)
    except csv.Error as error:
        raise FileError(
            f"{file} cannot be read at line {line}: {error}.",
            hint='look at that line: a quote (") that is not closed is the usual cause.',
        ) from None
    columns = list(zip(*rows, strict=True))
    return pl.DataFrame(
        [pl.Series(name, values, dtype=pl.String) for name, values in zip(header.names, columns, strict=True)]
    )


def _check_closed(record: Sequence[str], line: int, header: DelimitedHeader, file: str) -> None:
    """Refuse a last record that ends inside quotes, so that everything after the quote would be one field."""
    try:
        for _ in csv.reader(record, delimiter=header.separator, strict=True):
            pass
    except csv.Error as error:
        if "end of data" in str(error):
            raise FileError(
                f"{file}, line {line}: a quote is opened and never closed, so the rest of the file would be one field.",
                hint='close the quote ("), or write it twice inside quotes where it belongs to the text.',
            ) from None


def _ragged(file: str, line: int, header: DelimitedHeader, row: list[str]) -> FileError:
    mark = {"\t": "tab"}.get(header.separator, repr(header.separator))
    hint = f"put quotes around a field that holds the separator ({mark}), or add what is missing."
    if any("\n" in field for field in row):
        hint = f'close the quote (") that is open on line {line}.'
    others = [other for other in SEPARATORS if other != header.separator and any(other in f for f in row)]
    if len(header.names) == 1 and others:
        hint = "give the header line the same separator as the rows."
    return FileError(
        f"{file}, line {line}: expected {len(header.names)} fields as in the header, found {len(row)}.",
        hint=hint,
    )


def split_cells(lines: Sequence[str], separator: str, file: str) -> list[list[str]]:
    """The cells of a small table, without the blanks around them.

    >>> split_cells(["truth, no, yes", '"no, surely", 1, 2'], ",", "costs.csv")
    [['truth', 'no', 'yes'], ['no, surely', '1', '2']]
    """
    try:
        return [[cell.strip() for cell in row] for row in csv.reader(lines, delimiter=separator)]
    except csv.Error as error:
        raise FileError(
            f"{file} cannot be read as a small table: {error}.",
            hint='give one line for each class; a quote (") that is not closed is the usual cause.',
        ) from None


def usual_separator(ending: str) -> str:
    r"""The separator that an ending stands for.

    >>> usual_separator(".tsv"), usual_separator(".csv")
    ('\t', ',')
    """
    return "\t" if ending in {".tsv", ".tab"} else ","


def separator_of(header: str, following: str, ending: str) -> str:
    r"""Find the separator of a header line; a separator that also fits the line after it goes first.

    >>> separator_of("id;p, yes;label", "1;0,5;x", ".csv")
    ';'
    """
    usual = usual_separator(ending)
    if "|" in header and "-" in following and not following.strip("-|: \t\r\n"):
        raise FileError(
            "The file holds a Markdown table: its second line is a rule, and no case.",
            hint="save it as CSV: one line of names, and one line for each case.",
        )
    if usual == "\t" and "\t" in header:
        return usual
    counts = {mark: field_count(header, mark) for mark in SEPARATORS}
    fitting = {m: n for m, n in counts.items() if n > 1 and following and field_count(following, m) == n}
    candidates = fitting or counts
    return max(candidates, key=lambda mark: (candidates[mark], mark == usual))


def field_count(line: str, separator: str) -> int:
    """The number of fields that `line` has when it is cut at `separator` outside quotes.

    >>> field_count('"a;b";c', ";")
    2
    """
    try:
        return len(next(csv.reader(io.StringIO(line, newline=""), delimiter=separator), []))
    except csv.Error:
        return 0


# What one piece is: nothing at all, whole numbers, such beyond 2**53 ("long") and such that would become one with
# another as floats ("huge"), whole numbers with a point ("pointed"), other numbers (also with a decimal comma),
# booleans in one of three spellings, or text.
PieceKind = Literal["", "whole", "long", "huge", "pointed", "real", "comma", "true", "True", "TRUE", "text"]
_BOOLEANS: tuple[PieceKind, ...] = ("true", "True", "TRUE")
# Kinds of which the spelling decides how a text is read.
_SPELLED = {*_BOOLEANS, "comma"}


def kind_of_piece(text: pl.Series, *, decimal_comma: bool = False) -> PieceKind:
    """What some values of a column are, by the rules for whole columns.

    >>> import polars as pl
    >>> [kind_of_piece(pl.Series(x)) for x in (["1", "2"], ["1", "0.5"], ["007", "1"], ["True", None])]
    ['whole', 'real', 'text', 'True']
    """
    import polars as pl

    column = typed(text, decimal_comma=decimal_comma)
    if column.null_count() == len(column) or _is_missing(column):
        return ""
    if column.dtype == pl.Int64:
        return "whole" if column.is_between(-EXACT, EXACT).all() else "long"
    if column.dtype == pl.Float64:
        if decimal_comma and text.str.contains(",", literal=True).any():
            return "comma"
        return "pointed" if is_whole_valued(column) else "real"
    if column.dtype == pl.Boolean:
        spellings = set(text.drop_nulls().unique().to_list())
        return next(word for word in _BOOLEANS if spellings <= {word, _opposite(word), ""})
    # A type that the first value rules out is ruled out for all of them.
    return "huge" if _only_whole(text.head(1)) and _only_whole(text) else "text"


def _is_missing(column: pl.Series) -> bool:
    """Whether each of these values is a word for a missing one, so that the rest of their column may be numbers."""
    import polars as pl

    return column.dtype == pl.String and missing_words_to_null(column).null_count() == len(column)


def _only_whole(text: pl.Series) -> bool:
    texts = blank_to_null(text.str.strip_chars()).drop_nulls()
    return bool((texts.str.contains(r"^[+-]?(0|[1-9][0-9]*)(\.0*)?$") | texts.str.contains(EXPONENT)).all())


def joined_kind(kinds: AbstractSet[PieceKind]) -> PieceKind:
    """What a column is whose pieces are these.

    >>> joined_kind({"whole", "real", ""}), joined_kind({"whole", "text"}), joined_kind({"true", "True"})
    ('real', 'text', 'text')
    """
    present = kinds - {""}
    if len(present) == 1:
        (alone,) = present
        return "text" if alone == "huge" else alone
    if not present:
        return ""
    if present <= {"whole", "long", "huge", "pointed", "real"} and "real" in present:
        return "real"
    if present <= {"whole", "long"}:
        return "long"
    if present == {"whole", "pointed"}:
        return "pointed"
    return "comma" if present == {"whole", "comma"} else "text"


def as_kind(text: pl.Series, kind: PieceKind) -> pl.Series:
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
        column = text.cast(dtype_of(kind), strict=False)
        if column.null_count() == text.null_count():
            return column
    stripped = missing_words_to_null(blank_to_null(text.str.strip_chars()))
    if kind == "comma":
        stripped = stripped.str.replace(",", ".", literal=True)
    return stripped.cast(dtype_of(kind))


def dtype_of(kind: PieceKind) -> pl.DataType:
    """The type of Polars for columns of a kind."""
    import polars as pl

    if kind in _BOOLEANS:
        return pl.Boolean()
    if kind in ("whole", "long"):
        return pl.Int64()
    return pl.Float64() if kind in ("pointed", "real", "comma") else pl.String()


def _opposite(word: str) -> str:
    return {"true": "false", "True": "False", "TRUE": "FALSE"}[word]


# The number of values of a text column that are looked through for numbers.
_FIRST = 1000


class DelimitedBatches(TextBatches):
    """Delimited files as one table."""

    def __init__(self, listing: Listing, size: int = PIECE) -> None:
        super().__init__(listing, size)
        self._known: dict[str, PieceKind] = {}
        # The kinds of the pieces of a column, each with the first file that has it and an example.
        self._seen: dict[str, dict[PieceKind, tuple[str, str]]] = {}
        # What each file holds in columns of classes, in words.
        self._words: dict[str, dict[FilePart, set[str]]] = {}
        # Whether the first piece tells what a column is, and of which columns nothing else has told it.
        self._trusts, self._guessed = False, set[str]()

    @contextmanager
    def trusting(self) -> Iterator[None]:
        """Take the types of the first piece; those of columns that were not read to their end are forgotten then."""
        self._trusts, self._guessed = True, set()
        try:
            yield
        finally:
            self._trusts = False
            for name in self._guessed:
                del self._known[name], self._types[name], self._seen[name]
                self._words.pop(name, None)

    def text_in(self, column: str) -> tuple[str, str] | None:
        """A file whose text was met in this column, and the first such text."""
        return self._seen.get(column, {}).get("text")

    def _names(self, part: FilePart) -> tuple[str, ...]:
        return delimited_names(load_first_lines(part.path))

    def _find_types(self, columns: Sequence[str]) -> None:
        """Read everything once to find out what each column is, and how many rows each file has."""
        self._seen |= {name: {} for name in columns}
        for part, piece in islice(self._pieces(columns), 1) if self._trusts else self._watched_pieces(columns):
            self._note_kinds(part, piece)
        self._known |= {name: joined_kind(set(self._seen[name])) for name in columns}
        self._types |= {name: dtype_of(self._known[name]) for name in columns}
        if self._trusts:
            self._guessed |= set(columns)
        else:
            self._note_differences()

    def _note_kinds(self, part: FilePart, piece: Piece) -> None:
        """Note of which kinds the columns of a piece are, the first file that has each, and an example."""
        frame, comma = piece
        for text in frame.iter_columns():
            name, kind = text.name, kind_of_piece(text, decimal_comma=comma)
            if kind not in self._seen[name]:
                self._seen[name][kind] = part.name, _example(text, kind)
            if name in self.labels.values():
                self._words.setdefault(name, {}).setdefault(part, set()).update(_words(text, kind))

    def _note_differences(self) -> None:
        """Add a note for each column of classes that is all numbers in one file and has none in another."""
        for role, name in self.labels.items():
            words_by_file = self._words.get(name, {})
            numbers = next((part for part, words in words_by_file.items() if words == {"numbers"}), None)
            other = next((part for part, words in words_by_file.items() if words and "numbers" not in words), None)
            if numbers is None or other is None:
                continue
            note = (
                f"{role} (column {name!r}) holds numbers in {numbers.inside or numbers.name} and "
                f"{min(words_by_file[other])} in {other.inside or other.name}, so its numbers count as text"
            )
            if note not in self.notes:
                self.notes = (*self.notes, note)

    def _frames(self, part: FilePart, columns: Sequence[str]) -> Iterator[Piece]:
        for name in columns:
            if name not in self._headers[part]:
                has = next(other for other in self._texts if name in self._headers[other])
                raise FileError(
                    f"{part.name} has no column {name!r}, and {has.name} has one.",
                    hint=SAME_COLUMNS,
                )
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

    def _convert(self, part: FilePart, piece: Piece, columns: Sequence[str]) -> list[pl.Series]:
        if self._trusts and columns:
            self._check_kinds(part, piece)
        return [as_kind(piece[0].get_column(name), self._known[name]) for name in columns]

    def _check_kinds(self, part: FilePart, piece: Piece) -> None:
        """Refuse a piece that makes a column of another kind than the first piece did."""
        self._note_kinds(part, piece)
        for name in piece[0].columns:
            kind, known = joined_kind(set(self._seen[name])), self._known[name]
            if dtype_of(kind) != dtype_of(known) or (kind != known and not {kind, known}.isdisjoint(_SPELLED)):
                raise FileError(
                    f"The column {name!r} holds other values than its first rows do, in {part.name}.",
                    hint="write the column with one type, numbers or text.",
                )

    def _read(self, columns: list[str], made: Sequence[pl.Expr]) -> Iterator[pl.DataFrame]:
        yield from super()._read(columns, made)
        if self._trusts:
            self._guessed -= set(columns)
            self._note_differences()


def _example(text: pl.Series, kind: PieceKind) -> str:
    """A value that is no number, where the column holds text."""
    import polars as pl

    if kind != "text":
        return ""
    values = text.drop_nulls()
    strange = values.filter(values.str.strip_chars().cast(pl.Float64, strict=False).is_null() & (values != ""))
    return str(strange[0] if len(strange) else values[0])


def _words(text: pl.Series, kind: PieceKind) -> set[str]:
    """What some values of a column are, in words: text may have numbers beside it, which the first values tell."""
    import polars as pl

    if kind == "text":
        first = text.head(_FIRST).str.strip_chars().cast(pl.Float64, strict=False)
        return {"text", "numbers"} if first.null_count() < len(first) else {"text"}
    return {"booleans"} if dtype_of(kind) == pl.Boolean else {"numbers"} if kind else set()


FORMATS = (
    Format(
        name="delimited",
        titles=("CSV", "TSV"),
        endings=(".csv", ".tsv", ".tab"),
        read=read_delimited,
        names=delimited_names,
        header_line=True,
        batches=DelimitedBatches,
        scan="text",
    ),
)
