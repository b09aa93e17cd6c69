"""Reading JSON documents: an array of objects, one for each row, or one object of columns."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from heldout.arguments import listing
from heldout.errors import FileError
from heldout.files.column_types import no_rows, wanted_names
from heldout.files.formats import Format
from heldout.files.input_stream import BOM, Content, load, utf8_text
from heldout.files.json_lines import (
    JsonLinesBatches,
    check_object,
    column_of_values,
    name_of_value,
    parse_json,
    refuse_empty_objects,
    refuse_mixture,
    with_absent,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import polars as pl

    from heldout.files.batches import Piece
    from heldout.files.paths import FilePart

_HINT = 'write an array of objects, such as [{"truth": "yes", "predicted": "no"}].'
# An array that is empty or begins with an object, and an object that begins with a column.
_ARRAY = re.compile(rb"\[\s*(\{|\]|$)")
_COLUMNS = re.compile(rb'\{\s*"(?:[^"\\]|\\.)*"\s*:\s*[\[{]')
_SPREAD_OBJECT = re.compile(rb"\{\s*\n")


def read_json_document(content: Content, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """Read an array of objects, or an object of columns, each an array or, as pandas writes it, an object by row.

    A key that an object lacks is a missing value there.
    """
    import polars as pl

    values = _values_by_column(content)
    if not any(values.values()):
        raise no_rows(content.name)
    wanted = wanted_names(list(values), columns, content.name)
    return pl.DataFrame([_column(name, values[name], content.name) for name in wanted])


def _values_by_column(content: Content) -> dict[str, list[Any]]:
    value = parse_json(utf8_text(content), content.name, _HINT)
    if isinstance(value, list):
        return _transposed(value, content.name)
    if not isinstance(value, dict) or not value:
        content_name = "an empty object" if value == {} else name_of_value(value)
        raise FileError(f"{content.name}: expected an array of objects, found {content_name}.", hint=_HINT)
    if all(isinstance(column, dict) for column in value.values()):
        return _without_rows(value, content.name)
    for name, column in value.items():
        if not isinstance(column, list):
            raise FileError(
                f"{content.name} holds one object, and its key {name!r} holds {name_of_value(column)}, not a column.",
                hint=_HINT,
            )
    lengths = {name: len(column) for name, column in value.items()}
    if len(set(lengths.values())) > 1:
        shown = listing(f"{name} has {length}" for name, length in lengths.items())
        raise FileError(f"The columns in {content.name} have different lengths: {shown}.", hint=_HINT)
    return value


def _transposed(rows: list[Any], file: str) -> dict[str, list[Any]]:
    for number, row in enumerate(rows, start=1):
        check_object(row, f"{file}, row {number}", _HINT)
    names = dict.fromkeys(key for row in rows for key in row)
    if rows and not names:
        raise refuse_empty_objects(file, _HINT)
    return {name: [row.get(name) for row in rows] for name in names}


def _without_rows(columns: dict[str, dict[str, Any]], file: str) -> dict[str, list[Any]]:
    """Columns whose values go by the names of rows, in the order of the first column."""
    first, order = next(iter(columns.items()))
    for name, values in columns.items():
        if values.keys() != order.keys():
            raise FileError(f"The columns {first!r} and {name!r} in {file} are of different rows.", hint=_HINT)
    return {name: [values[row] for row in order] for name, values in columns.items()}


def _column(name: str, values: list[Any], file: str) -> pl.Series:
    """A column of the type that all of its values share; nested ones stay nested, for whoever uses them to refuse."""
    import polars as pl

    kinds = {type(value) for value in values} - {type(None)}
    if kinds & {list, dict}:
        return pl.Series(name, [None if value is None else [json.dumps(value)] for value in values])
    if str in kinds and len(kinds) > 1:
        row, value = next((row, value) for row, value in enumerate(values, 1) if not isinstance(value, str | None))
        raise refuse_mixture(file, name, f"row {row} holds {json.dumps(value)}")
    return column_of_values(name, values)


class JsonDocumentBatches(JsonLinesBatches):
    """Files of JSON documents as one table; each is read whole, as its rows end with its last bracket."""

    def _frames(self, part: FilePart, columns: Sequence[str]) -> Iterator[Piece]:
        loaded = load(part.path)
        content = Content(part.name, loaded.ending, loaded.data)
        # An empty array is a part without rows.
        if any(_values_by_column(content).values()):
            yield with_absent(read_json_document(content), columns), False


def _is_document(head: bytes) -> bool:
    """Whether the first bytes are not those of JSON lines, where the first line is a whole object with others below."""
    text = head.removeprefix(BOM).lstrip()
    if _ARRAY.match(text) or _SPREAD_OBJECT.match(text):
        return True
    if not _COLUMNS.match(text):
        return False
    line, _, below = text.partition(b"\n")
    return not below.strip() or not _is_whole(line)


def _is_whole(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


FORMAT = Format(
    name="json",
    titles=("JSON",),
    endings=(".json",),
    is_like=_is_document,
    read=read_json_document,
    names=lambda content: tuple(_values_by_column(content)),
    batches=JsonDocumentBatches,
    never_empty=True,
)
