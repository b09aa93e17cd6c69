"""Reading ARFF, the table format of Weka."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from heldout.files.arff_columns import whole_if_possible
from heldout.files.arff_header import Attribute, Header, read_header
from heldout.files.arff_rows import read_rows
from heldout.files.choice import wanted_names
from heldout.files.opening import Content, utf8_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

# Blanks and control characters separate as commas do, but a newline ends a row.
_SEPARATORS_AS_COMMAS = bytes(44 if code <= 32 and code != 10 else code for code in range(256))
_NEEDS_CARE = re.compile(rb"['\"{}]")


def read_arff_content(content: Content, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """Read the bytes of an ARFF file; nominal columns become enumerations in their declared order.

    Rows without quotes and braces are handed to Polars as they are. All others, and any in which
    something seems wrong, are read one by one.
    """
    data = _newline_text(content)
    header = read_header(data, content.name)
    body = data[header.rows_at :]
    frame = None if _NEEDS_CARE.search(body) else _parsed(body, header)
    if frame is None:
        frame = read_rows(body.decode("utf-8"), header, content.name)
    return frame.select(wanted_names(frame.columns, columns, content.name))


def arff_names(content: Content) -> tuple[str, ...]:
    """The column names of an ARFF file, from its header unless a row may carry a weight."""
    data = _newline_text(content)
    header = read_header(data, content.name)
    if data.find(b"{", header.rows_at) >= 0:
        return tuple(read_arff_content(content).columns)
    return tuple(attribute.name for attribute in header.attributes)


def _newline_text(content: Content) -> bytes:
    data = utf8_text(content)
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in data else data


def _parsed(body: bytes, header: Header) -> pl.DataFrame | None:
    """The rows as Polars reads them, or None where any of them is not plainly right."""
    import polars as pl

    if b"%" in body:
        body = re.sub(rb"%[^\n]*", b"", body)
    body = _tidied(body.translate(_SEPARATORS_AS_COMMAS))
    if not body.strip():
        return None
    names = [attribute.name for attribute in header.attributes]
    try:
        frame = pl.read_csv(
            body,
            has_header=False,
            schema=dict.fromkeys(names, pl.String),
            quote_char=None,
            null_values="?",
        )
        if body.count(b",") != (len(names) - 1) * len(frame):
            return None
        columns = [_typed(frame.get_column(attribute.name), attribute) for attribute in header.attributes]
    except pl.exceptions.PolarsError:
        return None
    sound = [column for column in columns if column is not None]
    return pl.DataFrame(sound) if len(sound) == len(columns) else None


def _tidied(body: bytes) -> bytes:
    """Make every run of separators one comma and drop those at the ends of lines, and blank lines."""
    while b",," in body:
        body = body.replace(b",,", b",")
    body = body.replace(b"\n,", b"\n").replace(b",\n", b"\n")
    while b"\n\n" in body:
        body = body.replace(b"\n\n", b"\n")
    return body.strip(b",\n") + b"\n"


def _typed(text: pl.Series, attribute: Attribute) -> pl.Series | None:
    import polars as pl

    if attribute.kind == "string":
        return text
    if attribute.kind == "nominal":
        return text.cast(pl.Enum(attribute.values))
    if attribute.kind == "date":
        return None
    numbers = text.cast(pl.Float64)
    return numbers if attribute.kind == "numeric" else whole_if_possible(numbers)
