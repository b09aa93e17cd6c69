"""Reading JSON tables: one object on each line, an array of objects, or one object of columns; whole or in batches."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from heldout.arguments import listing
from heldout.errors import ColumnError, FileError
from heldout.files.batches import Piece, TextBatches, mixed_numbers, pieces
from heldout.files.column_types import EXACT, is_whole_valued, no_rows, spread_nested, wanted_names, widened
from heldout.files.formats import Format
from heldout.files.input_stream import BOM, Content, load, utf8_text
from heldout.files.paths import FilePart
from heldout.files.rust_panics import without_panics

if TYPE_CHECKING:
    import polars as pl


# One message for a fault that several functions can find.
ONE_TYPE = "write all values of the column as text, or all as numbers."


# Polars reads one half of a surrogate pair alone as a zero character, which would merge different texts.
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")

# A whole number that may lie beyond 2**53, written with a point.
_LONG_WHOLE = re.compile(rb"[0-9]{16}\.0+(?![0-9])")


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
    _check_first_line(data, content.name)
    frame = None if _SURROGATE.search(data) else _parsed(data)
    if frame is None:
        frame = _parsed_line_by_line(data, content.name)
    if not frame.columns:
        hint = 'give each line its values, such as {"truth": "yes", "predicted": "no"}.'
        raise _empty_objects_error(content.name, hint)
    frame = spread_nested(frame)
    return widened(frame.select(wanted_names(frame.columns, columns, content.name)), digits=True)


def _check_first_line(data: bytes, file: str) -> None:
    """Refuse a key that the first object holds twice, of which Polars would keep the first value without a word."""
    line = data.lstrip().partition(b"\n")[0]
    try:
        json.loads(line, object_pairs_hook=_unique_keys)
    except _RepeatedKeyError as error:
        raise error.as_file_error(f"{file}, first object") from None
    except (ValueError, RecursionError):
        return


def _mixture_error(file: str, name: str, where: str) -> ColumnError:
    """The error of a column that holds text and other values; `where` says which value is the other one."""
    return ColumnError(f"{file} mixes text with numbers or booleans in {name!r}: {where}.", hint=ONE_TYPE)


def _empty_objects_error(file: str, hint: str) -> FileError:
    """The error of JSON objects of which none has a key."""
    return FileError(f"{file} has no columns: all of its objects are empty.", hint=hint)


def _check_object(value: Any, where: str, hint: str) -> dict[str, Any]:
    """The JSON object that stands there, refused where it is another value."""
    if not isinstance(value, dict):
        raise FileError(f"{where}: expected a JSON object, found {name_of_value(value)}.", hint=hint)
    return value


def _parsed(data: bytes) -> pl.DataFrame | None:
    import polars as pl

    try:
        with without_panics():
            frame = pl.read_ndjson(data, infer_schema_length=None)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return None
    # Of whole numbers with a point among them Polars makes floats, which would round the longest of them.
    rounded = any(
        (column.abs() >= EXACT).any() and is_whole_valued(column) for column in frame.select(pl.col(pl.Float64))
    )
    return None if rounded else frame


def _parsed_line_by_line(data: bytes, file: str) -> pl.DataFrame:
    import polars as pl

    rows: list[dict[str, Any]] = []
    for number, line in enumerate(data.split(b"\n"), start=1):
        if line.strip():
            rows.append(_object(line, number, file))
    names = dict.fromkeys(key for row in rows for key in row)
    return pl.DataFrame([column_of_values(name, [row.get(name) for row in rows]) for name in names])


def _object(line: bytes, number: int, file: str) -> dict[str, Any]:
    hint = 'each line must be one whole object, such as {"truth": "yes", "predicted": "no"}.'
    where = f"{file}, line {number}"
    return _check_object(parse_json(line, where, hint), where, hint)


def parse_json(text: bytes, where: str, hint: str) -> Any:
    """The value that a text holds, or the error that says where it is none."""
    try:
        # Asked for each number, it takes time, and hardly any file holds such numbers.
        parse = _whole_or_float if _LONG_WHOLE.search(text) else None
        value = json.loads(text, object_pairs_hook=_unique_keys, parse_float=parse)
    except json.JSONDecodeError as error:
        line = f"line {error.lineno}, " if error.lineno > 1 else ""
        raise FileError(f"{where} is not JSON: {error.msg} at {line}character {error.colno}.", hint=hint) from None
    except _RepeatedKeyError as error:
        raise error.as_file_error(where) from None
    except ValueError as error:
        if "digits" in str(error):
            raise FileError(
                f"{where} holds a number with too many digits.", hint="write it as text, in quotes."
            ) from None
        raise FileError(f"{where} is not JSON: {error}.", hint=hint) from None
    except RecursionError:
        raise FileError(f"{where} is nested too deeply.", hint=hint) from None
    if _SURROGATE.search(text) and not _is_text(json.dumps(value, ensure_ascii=False)):
        raise FileError(
            f"{where} holds half of a surrogate pair, which is no character.",
            hint="write both halves of the pair, or the character itself in UTF-8.",
        )
    return value


def _whole_or_float(text: str) -> float:
    """The number, also where it is a whole one that a float would round: 9007199254740993.0."""
    whole, _, rest = text.partition(".")
    return float(text) if rest.strip("0") or not rest else int(whole)


class _RepeatedKeyError(ValueError):
    """An object of a JSON text has a key twice; parsers keep the last value, and the first would be lost."""

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key

    def as_file_error(self, where: str) -> FileError:
        """What is said to the person."""
        return FileError(
            f"{where}: the key {self.key!r} stands twice in one object.",
            hint="write each key once; which of its values is meant cannot be known.",
        )


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object of these keys and values, refused where a key stands twice."""
    by_key = dict(pairs)
    if len(by_key) < len(pairs):
        keys = [key for key, _ in pairs]
        raise _RepeatedKeyError(next(key for key in keys if keys.count(key) > 1))
    return by_key


def name_of_value(value: object) -> str:
    """What JSON calls a value.

    >>> name_of_value([1]), name_of_value(True)
    ('an array', 'a boolean')
    """
    names = {list: "an array", dict: "an object", str: "a text", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")


def _is_text(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def column_of_values(name: str, values: Sequence[Any]) -> pl.Series:
    """A column of the type that all of its values share; where they share none, their text."""
    import polars as pl

    kinds = {type(value) for value in values} - {type(None)}
    if kinds == {bool}:
        return pl.Series(name, values, dtype=pl.Boolean)
    if kinds == {int} and all(value is None or -(2**63) <= value < 2**63 for value in values):
        return pl.Series(name, values, dtype=pl.Int64)
    if float in kinds and kinds <= {int, float} and not _rounds_whole(values):
        return pl.Series(name, values, dtype=pl.Float64, strict=False)
    texts = [value if value is None or isinstance(value, str) else json.dumps(value) for value in values]
    return pl.Series(name, texts, dtype=pl.String)


def _rounds_whole(values: Sequence[Any]) -> bool:
    """Whether all numbers are whole, and as floats some would be others: those beyond 2**53."""
    numbers = [value for value in values if value is not None]
    beyond = any(type(value) is int and abs(value) > EXACT for value in numbers)
    return beyond and all(type(value) is int or value.is_integer() for value in numbers)


# What a column of each type holds, in words.
_WORDS = {"String": "text", "Int64": "numbers", "Float64": "numbers", "Boolean": "booleans"}


class JsonLinesBatches(TextBatches):
    """Files of JSON lines as one table."""

    def _names(self, part: FilePart) -> tuple[str, ...]:
        """The keys that the objects in the first piece have."""
        return next((tuple(frame.columns) for frame, _ in self._frames(part, ())), ())

    def _frames(self, part: FilePart, columns: Sequence[str]) -> Iterator[Piece]:
        line = 0
        for piece in pieces(part, quoted=False, size=self._bytes):
            if not piece.isspace():
                name = part.name if not line else f"{part.name} (after line {line:,})"
                yield with_absent(read_json_lines(Content(name, ".jsonl", piece)), columns), False
            line += piece.count(b"\n")

    def _find_types(self, columns: Sequence[str]) -> None:
        files: dict[str, dict[Any, str]] = {name: {} for name in columns}
        beyond: dict[str, str] = {}
        for part, (frame, _) in self._watched_pieces(columns):
            for name in columns:
                values = frame.get_column(name)
                if values.null_count() < len(values):
                    files[name].setdefault(values.dtype, part.name)
                    if values.dtype.is_integer() and not values.is_between(-EXACT, EXACT).all():
                        beyond.setdefault(name, part.name)
        self._types |= {name: _shared_type(name, by_type, beyond.get(name)) for name, by_type in files.items()}

    def _convert(self, part: FilePart, piece: Piece, columns: Sequence[str]) -> list[pl.Series]:
        del part
        return [piece[0].get_column(name).cast(self._types[name]) for name in columns]


def with_absent(frame: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """A piece with all of these columns: a key that no object has is missing in all rows."""
    import polars as pl

    return frame.with_columns(pl.lit(None, dtype=pl.String).alias(key) for key in columns if key not in frame.columns)


def _shared_type(name: str, files: dict[Any, str], beyond: str | None) -> Any:
    """The type that a key has in all files, of which one is known for each type; `beyond` has numbers beyond floats."""
    import polars as pl

    if not files:
        return pl.String()
    words = {_WORDS.get(str(kind), str(kind)): file for kind, file in files.items()}
    if len(words) > 1:
        (word, first), (other, second) = list(words.items())[:2]
        raise ColumnError(
            f"{name!r} holds {word} in {first} and {other} in {second}.",
            hint=ONE_TYPE,
        )
    if len(files) > 1 and beyond is not None:
        raise mixed_numbers(name, beyond, files[pl.Float64()])
    return next(iter(files)) if len(files) == 1 else pl.Float64()


JSON_LINES_FORMAT = Format(
    name="json lines",
    titles=("JSON lines",),
    endings=(".jsonl", ".ndjson", ".json"),
    is_like=lambda head: head.removeprefix(BOM).lstrip().startswith(b"{"),
    read=read_json_lines,
    names=lambda content: tuple(read_json_lines(content).columns),
    batches=JsonLinesBatches,
)


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
        raise no_rows(content.name, "is a JSON document without rows")
    wanted = wanted_names(list(values), columns, content.name)
    return pl.DataFrame([_column(name, values[name], content.name) for name in wanted])


def _document_names(content: Content) -> tuple[str, ...]:
    """The keys of a document; one without any object has none to choose columns from."""
    names = tuple(_values_by_column(content))
    if not names:
        raise no_rows(content.name, "is a JSON document without rows")
    return names


def _values_by_column(content: Content) -> dict[str, list[Any]]:
    value = parse_json(utf8_text(content), content.name, _HINT)
    if isinstance(value, list):
        return _spread(_transposed(value, content.name))
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
        _check_object(row, f"{file}, row {number}", _HINT)
    names = dict.fromkeys(key for row in rows for key in row)
    if rows and not names:
        raise _empty_objects_error(file, _HINT)
    return {name: [row.get(name) for row in rows] for name in names}


def _spread(columns: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """The same with a column for each number where rows hold lists of numbers of one length, or objects of them."""
    spread: dict[str, list[Any]] = {}
    for name, values in columns.items():
        rows = [dict(enumerate(value)) if isinstance(value, list) else value for value in values]
        keys = list(rows[0]) if isinstance(rows[0], dict) and len(rows[0]) > 1 else []
        fits = all(isinstance(row, dict) and list(row) == keys for row in rows)
        if fits and all(type(number) in (int, float) for row in rows for number in row.values()):
            parts = {f"{name}_{key}": [row[key] for row in rows] for key in keys}
            spread |= parts if not parts.keys() & columns.keys() else {name: values}
        else:
            spread[name] = values
    return spread


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
        raise _mixture_error(file, name, f"row {row} holds {json.dumps(value)}")
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


JSON_FORMAT = Format(
    name="json",
    titles=("JSON",),
    endings=(".json",),
    is_like=_is_document,
    read=read_json_document,
    names=_document_names,
    batches=JsonDocumentBatches,
    never_empty=True,
)
# A file that is a whole document is told first.
FORMATS = (JSON_FORMAT, JSON_LINES_FORMAT)
