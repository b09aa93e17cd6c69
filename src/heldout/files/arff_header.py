"""The header of an ARFF file: its attributes and where its rows begin."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from heldout.errors import FileError
from heldout.files.arff_dates import DEFAULT_FORMAT, DateFormatError, date_pattern
from heldout.files.arff_tokens import UnclosedQuoteError, tokens, unquoted
from heldout.files.choice import refuse_duplicates

if TYPE_CHECKING:
    import re

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
class Header:
    """The attributes of an ARFF file, where its rows begin, and on which line."""

    attributes: tuple[Attribute, ...]
    rows_at: int
    first_line: int


def read_header(data: bytes, file: str) -> Header:
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
            return Header(tuple(attributes), min(start, len(data)), number + 1)
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
        hint = "close the quote, or put a backslash before an apostrophe inside it."
        raise _fault(where, "expected the end of a quoted text", str(error), hint) from None
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
        raise _fault(where, f"expected values of {name!r}", "{", "put a value that holds a brace in quotes.")
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
