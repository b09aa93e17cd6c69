"""Reading ARFF, the table format of Weka."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from heldout.arguments import listing, suggest
from heldout.errors import FileError
from heldout.files.arff_header import (
    CLOSE_QUOTE,
    END_OF_QUOTE,
    QUOTE_BRACE,
    ArffHeader,
    Attribute,
    UnclosedQuoteError,
    parse_date,
    read_header,
    tokens,
    unquoted,
)
from heldout.files.column_types import no_rows, wanted_names
from heldout.files.formats import Format
from heldout.files.input_stream import BOM, Content, utf8_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    import polars as pl


class _UnfitToken(Exception):  # noqa: N818
    """A token that does not fit its attribute."""


def convert(
    columns: Sequence[Sequence[str | None]], lines: Sequence[int], header: ArffHeader, file: str
) -> list[pl.Series]:
    """Convert columns of tokens (None: omitted by a sparse row), or raise for the first line at fault."""
    series: list[pl.Series] = []
    faults: list[tuple[int, int]] = []
    for index, attribute in enumerate(header.attributes):
        meanings, unfit = _meanings(set(columns[index]), attribute)
        if unfit:
            at = next(row for row, token in enumerate(columns[index]) if token in unfit)
            faults.append((at, index))
        else:
            series.append(as_series(attribute, [meanings[token] for token in columns[index]]))
    if faults:
        row, index = min(faults)
        raise _misfit(header.attributes[index], columns[index][row] or "", f"{file}, line {lines[row]}")
    return series


def as_series(attribute: Attribute, values: Sequence[Any]) -> pl.Series:
    """A column of the type that an attribute asks for."""
    import polars as pl

    match attribute.kind:
        case "nominal":
            return pl.Series(attribute.name, values, dtype=pl.Enum(attribute.values))
        case "string":
            return pl.Series(attribute.name, values, dtype=pl.String)
        case "date":
            return pl.Series(attribute.name, values, dtype=pl.Datetime("ms"))
        case "numeric":
            return pl.Series(attribute.name, values, dtype=pl.Float64)
        case "integer":
            return whole_if_possible(pl.Series(attribute.name, values, dtype=pl.Float64))


def whole_if_possible(numbers: pl.Series) -> pl.Series:
    """Make a column Int64 when all of its numbers are whole and exact."""
    import polars as pl

    exact = (numbers == numbers.round()) & (numbers.abs() <= 2**53)
    return numbers.cast(pl.Int64) if exact.all() else numbers


def _meanings(written: set[str | None], attribute: Attribute) -> tuple[dict[str | None, Any], set[str | None]]:
    """What each different token means, and those that mean nothing."""
    read = _reader(attribute)
    meanings: dict[str | None, Any] = {}
    unfit: set[str | None] = set()
    for token in written:
        if token is None:
            meanings[token] = attribute.values[0] if attribute.kind == "nominal" else 0.0
        elif token == "?":  # noqa: S105
            meanings[token] = None
        else:
            try:
                meanings[token] = read(unquoted(token))
            except (_UnfitToken, ValueError):
                unfit.add(token)
    return meanings, unfit


def _reader(attribute: Attribute) -> Callable[[str], str | float | datetime]:
    if attribute.kind == "string":
        return str
    if attribute.kind == "nominal":
        known = frozenset(attribute.values)
        return lambda text: text if text in known else _refuse()
    if attribute.kind == "date":
        return lambda text: _date(attribute, text)
    return _number


def _number(text: str) -> float:
    # Python also takes 1_000, which no other program writes.
    return _refuse() if "_" in text else float(text)


def _date(attribute: Attribute, text: str) -> datetime:
    moment = parse_date(attribute.pattern, text) if attribute.pattern else None
    return moment or _refuse()


def _refuse() -> Any:
    raise _UnfitToken


def _misfit(attribute: Attribute, token: str, where: str) -> FileError:
    value = unquoted(token)
    if attribute.kind == "nominal":
        return FileError(
            f"{where}: expected one of the declared values of {attribute.name!r} "
            f"({listing(attribute.values)}), found {value!r}.",
            hint=suggest(value, attribute.values, "add the value to its @attribute line, or write ?."),
        )
    what = f"a date written {attribute.date_format!r}" if attribute.kind == "date" else "a number"
    return FileError(
        f"{where}: expected {what} for attribute {attribute.name!r}, found {value!r}.",
        hint="mend the value, or write ? if it is missing.",
    )


# The rows of an ARFF file read one by one, which finds any fault and reads every form of row.


_FORM = "separate values by commas, write ? for a missing one, and quote a value that has blanks or commas."


@dataclass(slots=True)
class _ArffRows:
    """What has been read so far: tokens as written (None where a sparse row omits), lines and weights."""

    header: ArffHeader
    file: str
    rows: list[list[str | None]] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    weights: dict[int, float] = field(default_factory=dict)


def read_rows(text: str, header: ArffHeader, file: str) -> pl.DataFrame:
    """Read the rows in `text`, dense or sparse, with or without weights."""
    import polars as pl

    gathered = _ArffRows(header, file)
    try:
        _gather(gathered, text)
    except FileError:
        # A value that fits no attribute may stand on an earlier line than the row that is malformed.
        _convert(gathered)
        raise
    if not gathered.rows:
        raise no_rows(file)
    columns = _convert(gathered)
    names = {attribute.name for attribute in header.attributes}
    if gathered.weights and "weight" not in names:
        weights = [gathered.weights.get(row, 1.0) for row in range(len(gathered.rows))]
        columns.append(pl.Series("weight", weights, dtype=pl.Float64))
    return pl.DataFrame(columns)


def _convert(gathered: _ArffRows) -> list[pl.Series]:
    if not gathered.rows:
        return []
    return convert(list(zip(*gathered.rows, strict=True)), gathered.lines, gathered.header, gathered.file)


def _gather(gathered: _ArffRows, text: str) -> None:
    width = len(gathered.header.attributes)
    for line, written in enumerate(text.split("\n"), start=gathered.header.first_line):
        try:
            parts = tokens(written)
        except UnclosedQuoteError as error:
            hint = CLOSE_QUOTE
            raise _fault(gathered, line, END_OF_QUOTE, str(error), hint) from None
        if not parts:
            continue
        if len(parts) == width and "{" not in parts and "}" not in parts:
            gathered.rows.append(list(parts))
        else:
            _add_unusual(gathered, line, parts)
        gathered.lines.append(line)


def _add_unusual(gathered: _ArffRows, line: int, parts: list[str]) -> None:
    """Add a sparse row, a row with a weight, or raise for a row of the wrong length."""
    width = len(gathered.header.attributes)
    if parts[0] == "{":
        end = parts.index("}") if "}" in parts else 0
        if not end:
            raise _fault(gathered, line, "expected a closing brace after a sparse row", "the end of the line", _FORM)
        row, rest = _sparse(gathered, line, parts[1:end]), parts[end + 1 :]
    else:
        end = parts.index("{") if "{" in parts else len(parts)
        row, rest = list[str | None](parts[:end]), parts[end:]
        if len(row) != width:
            raise _fault(gathered, line, f"expected {width} values, one for each attribute", str(len(row)), _FORM)
        if "}" in row:
            raise _fault(gathered, line, "expected values", "}", QUOTE_BRACE)
    if rest:
        gathered.weights[len(gathered.rows)] = _weight(gathered, line, rest)
    gathered.rows.append(row)


def _sparse(gathered: _ArffRows, line: int, pairs: list[str]) -> list[str | None]:
    attributes = gathered.header.attributes
    row: list[str | None] = [None] * len(attributes)
    hint = f"write a sparse row as {{0 value, 3 value}} with attribute numbers from 0 to {len(attributes) - 1}."
    if len(pairs) % 2 or "{" in pairs:
        raise _fault(gathered, line, "expected pairs of number and value", " ".join(pairs), hint)
    for number, value in zip(pairs[::2], pairs[1::2], strict=True):
        if not (number.isascii() and number.isdigit() and int(number) < len(attributes)):
            raise _fault(gathered, line, f"expected an attribute number below {len(attributes)}", number, hint)
        if row[int(number)] is not None:
            raise _fault(gathered, line, "expected each attribute number once", f"{number} twice", hint)
        row[int(number)] = value
    for index, attribute in enumerate(attributes):
        if row[index] is None and not _has_zero(attribute):
            raise FileError(
                f"{gathered.file}, line {line}: the sparse row omits {attribute.kind} attribute "
                f"{attribute.name!r} (number {index}), and what that stands for is not defined.",
                hint="write its value, or ? if it is missing.",
            )
    return row


def _has_zero(attribute: Attribute) -> bool:
    """Whether an attribute has a value that a sparse row may leave out: the number 0 or the first label."""
    return attribute.kind in {"numeric", "integer"} or bool(attribute.values)


def _weight(gathered: _ArffRows, line: int, rest: list[str]) -> float:
    hint = "write the weight of a row as a number in braces at its end, such as {0.5}."
    if len(rest) == 3 and rest[0] == "{" and rest[2] == "}":
        try:
            return float(unquoted(rest[1]))
        except ValueError:
            pass
    raise _fault(gathered, line, "expected a weight in braces after the values", " ".join(rest), hint)


def _fault(gathered: _ArffRows, line: int, expected: str, found: str, hint: str) -> FileError:
    shown = found if len(found) <= 60 else found[:57] + "..."
    return FileError(f"{gathered.file}, line {line}: {expected}, found {shown}.", hint=hint)


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


def _parsed(body: bytes, header: ArffHeader) -> pl.DataFrame | None:
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


def _is_arff(head: bytes) -> bool:
    """Whether the first line that is no comment declares a relation; a file often opens with pages of % comments."""
    for line in head.removeprefix(BOM).splitlines():
        bare = line.strip()
        if bare and not bare.startswith(b"%"):
            return bare.lower().startswith(b"@relation")
    return False


FORMATS = (
    Format(
        name="arff",
        titles=("ARFF",),
        endings=(".arff",),
        is_like=_is_arff,
        read=read_arff_content,
        names=arff_names,
    ),
)
