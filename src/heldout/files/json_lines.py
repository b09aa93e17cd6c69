"""Reading JSON lines: one object on each line, its keys the columns."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from heldout.errors import ColumnError, FileError
from heldout.files.column_types import wanted_names, widened
from heldout.files.input_stream import Content, utf8_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

# Polars reads one half of a surrogate pair alone as a zero character, which would merge different texts.
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


def read_json_lines(content: Content, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """Read one object per line; a key that a line lacks is a missing value there.

    Polars parses; what it refuses is read again line by line, which finds the line at fault, or reads
    what is in common use without being JSON, such as the NaN that Python writes.
    """
    data = utf8_text(content)
    if data.lstrip().startswith(b"["):
        raise FileError(
            f"{content.name} holds one JSON array, not one JSON object on each line.",
            hint="write one object per line (JSON lines), for example with jq -c '.[]'.",
        )
    frame = None if _SURROGATE.search(data) else _parsed(data)
    if frame is None:
        frame = _parsed_line_by_line(data, content.name)
    if not frame.columns:
        raise FileError(
            f"{content.name} has no columns: all of its objects are empty.",
            hint='give each line its values, such as {"truth": "yes", "predicted": "no"}.',
        )
    chosen = widened(frame.select(wanted_names(frame.columns, columns, content.name)))
    for name in chosen.columns:
        if chosen.schema[name] == "String":
            _refuse_mixed(data, name, content.name)
    return chosen


def _refuse_mixed(data: bytes, name: str, file: str) -> None:
    """A column of text in which some line holds a number or a boolean: 1 and "1" must not become one class."""
    bare = re.compile(re.escape(json.dumps(name, ensure_ascii=False).encode()) + rb"\s*:\s*(?!null\b)[-0-9tfNI]")
    found = bare.search(data)
    if found:
        line = data.count(b"\n", 0, found.start()) + 1
        raise ColumnError(
            f"{file} mixes text with numbers or booleans in {name!r}: line {line} holds a value without quotes.",
            hint="write all values of the column as text, or all as numbers.",
        )


def _parsed(data: bytes) -> pl.DataFrame | None:
    import polars as pl

    try:
        return pl.read_ndjson(data, infer_schema_length=None)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return None


def _parsed_line_by_line(data: bytes, file: str) -> pl.DataFrame:
    import polars as pl

    rows: list[dict[str, Any]] = []
    for number, line in enumerate(data.split(b"\n"), start=1):
        if line.strip():
            rows.append(_object(line, number, file))
    names = dict.fromkeys(key for row in rows for key in row)
    return pl.DataFrame([_column(name, [row.get(name) for row in rows]) for name in names])


def _object(line: bytes, number: int, file: str) -> dict[str, Any]:
    hint = 'each line must be one whole object, such as {"truth": "yes", "predicted": "no"}.'
    try:
        value = json.loads(line)
    except ValueError as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        at = f" at character {error.colno}" if isinstance(error, json.JSONDecodeError) else ""
        raise FileError(f"{file}, line {number} is not JSON: {reason}{at}.", hint=hint) from None
    except RecursionError:
        raise FileError(f"{file}, line {number} is nested too deeply.", hint=hint) from None
    if _SURROGATE.search(line) and not _is_text(json.dumps(value, ensure_ascii=False)):
        raise FileError(
            f"{file}, line {number} holds half of a surrogate pair, which is no character.",
            hint="write both halves of the pair, or the character itself in UTF-8.",
        )
    if not isinstance(value, dict):
        found = {list: "an array", str: "a text", bool: "a boolean", type(None): "null"}.get(type(value), "a number")
        raise FileError(f"{file}, line {number}: expected a JSON object, found {found}.", hint=hint)
    return value


def _is_text(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _column(name: str, values: list[Any]) -> pl.Series:
    """A column of the type that all of its values share; where they share none, their text."""
    import polars as pl

    kinds = {type(value) for value in values} - {type(None)}
    if kinds == {bool}:
        return pl.Series(name, values, dtype=pl.Boolean)
    if kinds == {int} and all(value is None or -(2**63) <= value < 2**63 for value in values):
        return pl.Series(name, values, dtype=pl.Int64)
    if float in kinds and kinds <= {int, float}:
        return pl.Series(name, values, dtype=pl.Float64, strict=False)
    texts = [value if value is None or isinstance(value, str) else json.dumps(value) for value in values]
    return pl.Series(name, texts, dtype=pl.String)
