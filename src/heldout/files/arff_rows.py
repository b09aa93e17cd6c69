"""The rows of an ARFF file read one by one, which finds any fault and reads every form of row."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from heldout.errors import FileError
from heldout.files.arff_columns import convert
from heldout.files.arff_tokens import UnclosedQuoteError, tokens, unquoted
from heldout.files.choice import no_rows

if TYPE_CHECKING:
    import polars as pl

    from heldout.files.arff_header import Attribute, Header

_FORM = "separate values by commas, write ? for a missing one, and quote a value that has blanks or commas."


@dataclass(slots=True)
class _Rows:
    """What has been read so far: tokens as written (None where a sparse row omits), lines and weights."""

    header: Header
    file: str
    rows: list[list[str | None]] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    weights: dict[int, float] = field(default_factory=dict)


def read_rows(text: str, header: Header, file: str) -> pl.DataFrame:
    """Read the rows in `text`, dense or sparse, with or without weights."""
    import polars as pl

    gathered = _Rows(header, file)
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


def _convert(gathered: _Rows) -> list[pl.Series]:
    if not gathered.rows:
        return []
    return convert(list(zip(*gathered.rows, strict=True)), gathered.lines, gathered.header, gathered.file)


def _gather(gathered: _Rows, text: str) -> None:
    width = len(gathered.header.attributes)
    for line, written in enumerate(text.split("\n"), start=gathered.header.first_line):
        try:
            parts = tokens(written)
        except UnclosedQuoteError as error:
            hint = "close the quote, or put a backslash before an apostrophe inside it."
            raise _fault(gathered, line, "expected the end of a quoted text", str(error), hint) from None
        if not parts:
            continue
        if len(parts) == width and "{" not in parts and "}" not in parts:
            gathered.rows.append(list(parts))
        else:
            _add_unusual(gathered, line, parts)
        gathered.lines.append(line)


def _add_unusual(gathered: _Rows, line: int, parts: list[str]) -> None:
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
            raise _fault(gathered, line, "expected values", "}", "put a value that holds a brace in quotes.")
    if rest:
        gathered.weights[len(gathered.rows)] = _weight(gathered, line, rest)
    gathered.rows.append(row)


def _sparse(gathered: _Rows, line: int, pairs: list[str]) -> list[str | None]:
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


def _weight(gathered: _Rows, line: int, rest: list[str]) -> float:
    hint = "write the weight of a row as a number in braces at its end, such as {0.5}."
    if len(rest) == 3 and rest[0] == "{" and rest[2] == "}":
        try:
            return float(unquoted(rest[1]))
        except ValueError:
            pass
    raise _fault(gathered, line, "expected a weight in braces after the values", " ".join(rest), hint)


def _fault(gathered: _Rows, line: int, expected: str, found: str, hint: str) -> FileError:
    shown = found if len(found) <= 60 else found[:57] + "..."
    return FileError(f"{gathered.file}, line {line}: {expected}, found {shown}.", hint=hint)
