"""Reading delimited text: CSV, TSV and their relatives."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from heldout.errors import FileError
from heldout.files.column_types import no_rows, refuse_duplicates, typed, wanted_names
from heldout.files.formats import SEPARATORS, separator_of
from heldout.files.input_stream import Content, utf8_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl


@dataclass(frozen=True, slots=True)
class Header:
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


def read_header(data: bytes, content: Content) -> Header:
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
    return Header(names, separator, rows_at=end, first_line=data.count(b"\n", 0, end) + 1)


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


def parsed(body: bytes, header: Header) -> pl.DataFrame | None:
    """All columns as text, or None where Polars may not be trusted with this text."""
    quoted = b'"' in body
    if quoted:
        blank = body.startswith((b"\n", b"\r\n")) or b"\n\n" in body or b"\n\r\n" in body
        return None if len(header.names) > 1 and blank else _by_polars(body, header, quoted=True)
    if b"\r" in body:
        body = body.replace(b"\r\n", b"\n")
    frame = _by_polars(body, header, quoted=False)
    if frame is None and len(header.names) > 1 and (body.startswith(b"\n") or b"\n\n" in body):
        # Looked for only now, because searching for two bytes takes as long as parsing.
        return _by_polars(_without_blank_lines(body), header, quoted=False)
    return frame


def _by_polars(body: bytes, header: Header, *, quoted: bool) -> pl.DataFrame | None:
    """What Polars makes of the rows; None where it objects or a row is short."""
    import polars as pl

    width = len(header.names)
    try:
        frame = pl.read_csv(
            body,
            has_header=False,
            schema=dict.fromkeys(header.names, pl.String),
            separator=header.separator,
            quote_char='"' if quoted else None,
        )
    except pl.exceptions.PolarsError:
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


def parsed_row_by_row(body: str, header: Header, file: str) -> pl.DataFrame:
    """The rows read one by one, where a quick reading stumbles over one of them."""
    import polars as pl

    width = len(header.names)
    rows: list[list[str]] = []
    reader = csv.reader(io.StringIO(body, newline=""), delimiter=header.separator)
    line = header.first_line
    try:
        for row in reader:
            if len(row) == width:
                rows.append(row)
            elif not row and width == 1:
                rows.append([""])
            elif row:
                raise _ragged(file, line, header, row)
            line = header.first_line + reader.line_num
    except csv.Error as error:
        raise FileError(
            f"{file} cannot be read at line {line}: {error}.",
            hint='look at that line: a quote (") that is not closed is the usual cause.',
        ) from None
    columns = list(zip(*rows, strict=True))
    return pl.DataFrame(
        [pl.Series(name, values, dtype=pl.String) for name, values in zip(header.names, columns, strict=True)]
    )


def _ragged(file: str, line: int, header: Header, row: list[str]) -> FileError:
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
