"""The header of an ARFF file: its attributes, their types and dates, and the tokens that every line is made of."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from heldout.errors import FileError
from heldout.files.column_types import refuse_duplicates

# Said of the same fault by all who find it.
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


# Dates in ARFF files, whose formats are those of Java's SimpleDateFormat.

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
