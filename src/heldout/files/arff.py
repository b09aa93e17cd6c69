"""Weka's ARFF files: the header with relation, attributes and where the rows begin, and the rows, dense or sparse."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from heldout.arguments import listing, suggest
from heldout.errors import FileError
from heldout.files.column_types import EXACT, keep_whole, no_rows, refuse_duplicates, wanted_names
from heldout.files.formats import Format
from heldout.files.input_stream import BOM, Content, utf8_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import polars as pl

# One message for a fault that several functions can find.
CLOSE_QUOTE = "close the quote, or put a backslash before an apostrophe inside it."
END_OF_QUOTE = "expected the end of a quoted text"
QUOTE_BRACE = "put a value that holds a brace in quotes."


# The tokens of an ARFF line: words, quoted texts, braces and comments.
#
# The rules are those of the reader in Weka: commas, blanks and control characters separate, and any number of them
# counts as one; a word ends at a quote, a brace or a percent sign; a percent sign outside quotes begins a comment.

# Group-free, so that findall gives whole tokens; the last alternative is a quote that is never closed.
_TOKEN = re.compile(
    r"""'[^'\\]*(?:\\.[^'\\]*)*'"""
    r'''|"[^"\\]*(?:\\.[^"\\]*)*"'''
    r"""|[{}]|%.*|[^\x00-\x20,'"{}%]+|['"].*""",
    re.DOTALL,
)
_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


class UnclosedQuoteError(Exception):
    """A quote that opens on a line and does not close on it."""


def tokens(line: str) -> list[str]:
    r"""Cut a line into tokens as they are written, without its comment.

    >>> tokens("5.1, 'a b',?  % remark")
    ['5.1', "'a b'", '?']
    """
    parts = _TOKEN.findall(line)
    if parts and parts[-1].startswith("%"):
        parts.pop()
    if parts and _is_unclosed(parts[-1]):
        raise UnclosedQuoteError(parts[-1])
    return parts


def _is_unclosed(token: str) -> bool:
    mark = token[0]
    if mark not in "'\"":
        return False
    # Only a whole quoted text matches up to its own end; the rest of the line does not.
    return re.fullmatch(rf"{mark}[^{mark}\\]*(?:\\.[^{mark}\\]*)*{mark}", token, re.DOTALL) is None


def unquoted(token: str) -> str:
    r"""The text that a token stands for.

    >>> unquoted(r"'it\'s \u00e9'"), unquoted("plain")
    ("it's é", 'plain')
    """
    if token[0] not in "'\"":
        return token
    inner = token[1:-1]
    if "\\" not in inner:
        return inner
    return _ESCAPE.sub(_escaped, inner)


def _escaped(match: re.Match[str]) -> str:
    code = match[1]
    if len(code) == 5:
        return chr(int(code[1:], 16))
    return _ESCAPED.get(code, code)


DEFAULT_FORMAT = "yyyy-MM-dd'T'HH:mm:ss"

_FIELDS = {"y": "year", "M": "month", "d": "day", "H": "hour", "m": "minute", "s": "second", "S": "milli"}
_WIDTHS = {"y": {4}, "M": {1, 2}, "S": {1, 2, 3}}
# A run of one letter, a quoted literal ('' is a quote itself), or any other character.
_PART = re.compile(r"([A-Za-z])\1*|'((?:[^']|'')*)'|(.)", re.DOTALL)


class DateFormatError(Exception):
    """A date format that uses a letter which is not supported."""


def date_pattern(java: str) -> re.Pattern[str]:
    """Translate a SimpleDateFormat of years to milliseconds into a regular expression.

    >>> date_pattern("dd.MM.yyyy").fullmatch("24.12.2003").groupdict()
    {'day': '24', 'month': '12', 'year': '2003'}
    """
    parts = list(_PART.finditer(java))
    pieces: list[str] = []
    for index, part in enumerate(parts):
        letter = part[1]
        if letter is None:
            literal = part[3] if part[3] is not None else part[2].replace("''", "'") or "'"
            pieces.append(re.escape(literal))
            continue
        run = part[0]
        if letter not in _FIELDS or len(run) not in _WIDTHS.get(letter, {1, 2}):
            raise DateFormatError(run)
        followed = index + 1 < len(parts) and parts[index + 1][1] is not None
        # Digits run together, as in yyyyMMdd, can only be told apart by their number.
        digits = f"{{{len(run)}}}" if followed else "{1,4}" if letter == "y" else "{1,3}"
        pieces.append(f"(?P<{_FIELDS[letter]}>[0-9]{digits})")
    try:
        return re.compile("".join(pieces))
    except re.error:
        raise DateFormatError(java) from None


def parse_date(pattern: re.Pattern[str], text: str) -> datetime | None:
    """The moment that `text` names, or None where it does not fit the pattern.

    >>> parse_date(date_pattern(DEFAULT_FORMAT), "2001-04-03T12:12:12")
    datetime.datetime(2001, 4, 3, 12, 12, 12)
    """
    match = pattern.fullmatch(text.strip())
    if match is None:
        return None
    # What a format leaves out is the beginning of 1970, as it is in Java.
    parts = {"year": 1970, "month": 1, "day": 1} | {name: int(digits) for name, digits in match.groupdict().items()}
    milli = parts.pop("milli", 0)
    try:
        return datetime(**parts, microsecond=1000 * milli)  # type: ignore[arg-type]  # noqa: DTZ001
    except ValueError:
        return None


AttributeKind = Literal["nominal", "numeric", "integer", "string", "date"]

_KINDS: dict[str, AttributeKind] = {
    "numeric": "numeric",
    "real": "numeric",
    "integer": "integer",
    "string": "string",
    "date": "date",
}
_TYPES = "numeric, real, integer, string, date or a list of values such as {no, yes}"


@dataclass(frozen=True, slots=True)
class Attribute:
    """A declared column: its values in order where it is nominal, its pattern where it is a date."""

    name: str
    kind: AttributeKind
    values: tuple[str, ...] = ()
    pattern: re.Pattern[str] | None = None
    date_format: str = ""


@dataclass(frozen=True, slots=True)
class ArffHeader:
    """The attributes of an ARFF file, where its rows begin, and on which line."""

    attributes: tuple[Attribute, ...]
    rows_at: int
    first_line: int


def read_header(data: bytes, file: str) -> ArffHeader:
    """Read the lines up to and including @data; `data` has newlines only."""
    attributes: list[Attribute] = []
    named = False
    start, number = 0, 0
    while start < len(data):
        end = data.find(b"\n", start)
        end = len(data) if end < 0 else end
        line = data[start:end].decode("utf-8")
        start, number = end + 1, number + 1
        bare = line.strip("\x00\t ,")
        if not bare or bare.startswith("%"):
            continue
        keyword = bare.split(None, 1)[0].lower()
        where = f"{file}, line {number}"
        if keyword == "@relation" and not named:
            named = True
        elif not named:
            raise _fault(where, "expected @relation", bare, "begin the file with a line such as @relation name.")
        elif keyword == "@attribute":
            attributes.append(_attribute(line, where))
        elif keyword.partition("%")[0] == "@data":
            _check(attributes, file, where)
            return ArffHeader(tuple(attributes), min(start, len(data)), number + 1)
        else:
            raise _fault(where, "expected @attribute or @data", bare, "see whether the line above is cut in two.")
    wanted = "@data" if named else "@relation"
    raise FileError(
        f"{file} ends after line {number} without a line {wanted}.",
        hint="an ARFF file has @relation, then the lines @attribute, then @data and the rows.",
    )


def _check(attributes: list[Attribute], file: str, where: str) -> None:
    if not attributes:
        raise _fault(where, "expected at least one @attribute before", "@data", "declare the columns of the rows.")
    refuse_duplicates([attribute.name for attribute in attributes], file)


def _attribute(line: str, where: str) -> Attribute:
    try:
        parts = tokens(line)[1:]
    except UnclosedQuoteError as error:
        hint = CLOSE_QUOTE
        raise _fault(where, END_OF_QUOTE, str(error), hint) from None
    hint = "write @attribute, a name (in quotes if it has blanks), and a type."
    if not parts or parts[0] in "{}":
        raise _fault(where, "expected the name of an attribute", parts[0] if parts else "the end", hint)
    name = unquoted(parts[0])
    if len(parts) == 1:
        raise _fault(where, f"expected a type for attribute {name!r} ({_TYPES})", "the end of the line", hint)
    if parts[1] == "{":
        return _nominal(name, parts[2:], where)
    return _plain(name, parts[1:], where)


def _nominal(name: str, parts: list[str], where: str) -> Attribute:
    if "}" not in parts:
        hint = "write all values of the list on one line and end it with }."
        raise _fault(where, f"expected a closing brace after the values of {name!r}", "the end of the line", hint)
    end = parts.index("}")
    if "{" in parts[:end]:
        raise _fault(where, f"expected values of {name!r}", "{", QUOTE_BRACE)
    _refuse_rest(name, parts[end + 1 :], where)
    values = tuple(unquoted(part) for part in parts[:end])
    for value, count in Counter(values).items():
        if count > 1:
            raise _fault(where, f"expected different values of {name!r}", f"{value} twice", "delete one of them.")
    return Attribute(name, "nominal", values)


def _plain(name: str, parts: list[str], where: str) -> Attribute:
    declared = unquoted(parts[0])
    if declared.lower() == "relational":
        raise FileError(
            f"{where}: attribute {name!r} is relational, which is not supported.",
            hint="write its inner columns as attributes of their own (one row per inner row).",
        )
    kind = _KINDS.get(declared.lower())
    if kind is None:
        hint = "put a name that has blanks in quotes, and a list of values in braces."
        raise _fault(where, f"expected a type for attribute {name!r} ({_TYPES})", declared, hint)
    if kind != "date":
        _refuse_rest(name, parts[1:], where)
        return Attribute(name, kind)
    has_format = len(parts) > 1 and parts[1] != "{"
    written = unquoted(parts[1]) if has_format else DEFAULT_FORMAT
    _refuse_rest(name, parts[1 + has_format :], where)
    try:
        return Attribute(name, "date", pattern=date_pattern(written), date_format=written)
    except DateFormatError as error:
        hint = "use yyyy, MM, dd, HH, mm, ss and SSS, each once, with other letters in single quotes."
        raise _fault(where, f"expected a date format for {name!r}", f"{error} in {written!r}", hint) from None


def _refuse_rest(name: str, rest: list[str], where: str) -> None:
    """Allow the weight of an attribute, such as {0.5}, which Weka may write; it changes nothing here."""
    if not rest or (len(rest) == 3 and rest[0] == "{" and rest[2] == "}"):
        return
    hint = "put a name, value or date format that has blanks in quotes."
    raise _fault(where, f"expected nothing more after the type of {name!r}", " ".join(rest), hint)


def _fault(where: str, expected: str, found: str, hint: str) -> FileError:
    shown = found if len(found) <= 60 else found[:57] + "..."
    return FileError(f"{where}: {expected}, found {shown}.", hint=hint)


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
            column = as_series(attribute, [meanings[token] for token in columns[index]])
            if column.dtype.is_float() and (column.abs() >= EXACT).any():
                column = keep_whole(_digits(columns[index]), column)
            series.append(column)
    if faults:
        row, index = min(faults)
        raise _misfit(header.attributes[index], columns[index][row] or "", f"{file}, line {lines[row]}")
    return series


def _digits(column: Sequence[str | None]) -> pl.Series:
    """The numbers of a column as they are written; a sparse row leaves out zeros."""
    import polars as pl

    digits = ["0" if token is None else unquoted(token).strip() for token in column]
    return pl.Series([None if written == "?" else written for written in digits], dtype=pl.String)


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

    exact = (numbers == numbers.round()) & (numbers.abs() < EXACT)
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
            raise _row_fault(gathered, line, END_OF_QUOTE, str(error), hint) from None
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
            raise _row_fault(
                gathered, line, "expected a closing brace after a sparse row", "the end of the line", _FORM
            )
        row, rest = _sparse(gathered, line, parts[1:end]), parts[end + 1 :]
    else:
        end = parts.index("{") if "{" in parts else len(parts)
        row, rest = list[str | None](parts[:end]), parts[end:]
        if len(row) != width:
            raise _row_fault(gathered, line, f"expected {width} values, one for each attribute", str(len(row)), _FORM)
        if "}" in row:
            raise _row_fault(gathered, line, "expected values", "}", QUOTE_BRACE)
    if rest:
        gathered.weights[len(gathered.rows)] = _weight(gathered, line, rest)
    gathered.rows.append(row)


def _sparse(gathered: _ArffRows, line: int, pairs: list[str]) -> list[str | None]:
    attributes = gathered.header.attributes
    row: list[str | None] = [None] * len(attributes)
    hint = f"write a sparse row as {{0 value, 3 value}} with attribute numbers from 0 to {len(attributes) - 1}."
    if len(pairs) % 2 or "{" in pairs:
        raise _row_fault(gathered, line, "expected pairs of number and value", " ".join(pairs), hint)
    for number, value in zip(pairs[::2], pairs[1::2], strict=True):
        if not (number.isascii() and number.isdigit() and int(number) < len(attributes)):
            raise _row_fault(gathered, line, f"expected an attribute number below {len(attributes)}", number, hint)
        if row[int(number)] is not None:
            raise _row_fault(gathered, line, "expected each attribute number once", f"{number} twice", hint)
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
    raise _row_fault(gathered, line, "expected a weight in braces after the values", " ".join(rest), hint)


def _row_fault(gathered: _ArffRows, line: int, expected: str, found: str, hint: str) -> FileError:
    return _fault(f"{gathered.file}, line {line}", expected, found, hint)


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
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
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
    numbers = numbers if attribute.kind == "numeric" else whole_if_possible(numbers)
    return keep_whole(text, numbers) if numbers.dtype.is_float() else numbers


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
