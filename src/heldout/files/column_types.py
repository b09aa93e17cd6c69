"""Columns of a file: which are wanted, what is wrong with their names, and which type each has."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from heldout.arguments import closest, listing
from heldout.errors import ColumnError, FileError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl


# The three ways in which programs write booleans; a mixture of them is text.
_BOOLEAN_SPELLINGS = (("true", "false"), ("True", "False"), ("TRUE", "FALSE"))
# How programs write that a number is missing; in a column of texts each may be a class.
MISSING_WORDS = ("NA", "N/A", "NULL", "null", "None")
_HEAD = 1000
# Up to here every whole number is a floating-point number of its own.
EXACT = 2**53
# A whole number with fewer digits than this fits 64 bits.
_LONG = 19


def typed(text: pl.Series, *, decimal_comma: bool = False) -> pl.Series:
    """Give a text column its type by looking at every value; an empty text is a missing value.

    So is NA among numbers, and other MISSING_WORDS.
    A column in which some number has leading zeros, such as 007, stays text, because those are codes
    and not amounts: as integers 007 and 7 would be the same class. So does a column of whole numbers
    beyond 64 bits, or beyond 2**53 with a point among them, which floats would round together, and one of whole
    numbers and codes such as 1E3. Where the comma may stand for the point, so does one in which 1.200 stands beside
    900: nobody knows whether that is more or less.

    >>> import polars as pl
    >>> typed(pl.Series(["1", "", "3"])).to_list(), typed(pl.Series(["007", "7"])).to_list()
    ([1, None, 3], ['007', '7'])
    """
    text = blank_to_null(text)
    column = _find_type(text, decimal_comma=decimal_comma)
    if column is not text:
        return column
    known = missing_words_to_null(text)
    if known is not text:
        column = _find_type(known, decimal_comma=decimal_comma)
    return column if column.dtype.is_numeric() else text


def _find_type(text: pl.Series, *, decimal_comma: bool) -> pl.Series:
    if text.null_count() == len(text):
        return text
    if len(text) > 2 * _HEAD and _is_text(text.head(_HEAD), decimal_comma=decimal_comma):
        # A type that the first values rule out is ruled out for the whole column.
        return text
    first = text[0]
    for spelling in _BOOLEAN_SPELLINGS:
        # Almost always the first value says that they are none: a wide file has many columns to look at.
        if first is not None and first not in spelling:
            continue
        if text.head(_HEAD).is_in(spelling).all() and text.is_in(spelling).all():
            return text == spelling[0]
    if (numbers := _numbers(text)) is not None:
        return text if decimal_comma and _may_be_thousands(text, numbers) else numbers
    stripped = blank_to_null(text.str.strip_chars())
    if stripped.null_count() < len(text) and (numbers := _numbers(stripped)) is not None:
        return text if decimal_comma and _may_be_thousands(stripped, numbers) else numbers
    if decimal_comma and not text.str.contains(".", literal=True).any():
        numbers = _numbers(stripped.str.replace(",", ".", literal=True))
    return text if numbers is None else numbers


def _is_text(head: pl.Series, *, decimal_comma: bool) -> bool:
    if head.null_count() == len(head) or typed(head, decimal_comma=decimal_comma).dtype != head.dtype:
        return False
    # A separator that could be of thousands in the first values may prove to be a decimal sign later.
    return not decimal_comma or typed(head).dtype == head.dtype


# A number with a point that may mark thousands, and one that has no need of any.
THOUSANDS, BELOW = r"^[+-]?[1-9][0-9]{0,2}\.[0-9]{3}$", r"^[+-]?[0-9]{1,3}$"


def _may_be_thousands(text: pl.Series, numbers: pl.Series) -> bool:
    """Whether every number may be written with points for thousands, and some with and some without one are there."""
    if not numbers.dtype.is_float():
        return False
    for some in (text.head(_HEAD).drop_nulls(), text.drop_nulls()):
        pointed = some.str.contains(THOUSANDS)
        if not (pointed | some.str.contains(BELOW)).all():
            return False
    return bool(pointed.any() and not pointed.all())


def blank_to_null(text: pl.Series) -> pl.Series:
    """Make every empty text a missing value."""
    empty = text == ""
    return text.set(empty, None) if empty.any() else text


def missing_words_to_null(text: pl.Series) -> pl.Series:
    """Make every word for a missing number a missing value; the same column where there is none."""
    named = text.is_in(MISSING_WORDS)
    return text.set(named, None) if named.any() else text


def _numbers(text: pl.Series) -> pl.Series | None:
    import polars as pl

    missing = text.null_count()
    whole = text.cast(pl.Int64, strict=False)
    if whole.null_count() == missing:
        return None if text.str.contains(r"^[+-]?0[0-9]").any() else whole
    real = text.cast(pl.Float64, strict=False)
    if real.null_count() != missing:
        return None
    # A pattern takes longer than all the rest, so it is tried only where it may fit: on whole numbers, also long ones.
    digits = text.filter(whole.is_not_null() | (text.str.len_bytes() >= _LONG))
    is_code = digits.str.contains(r"^[+-]?0[0-9]+$").any()
    if not is_code and len(digits) == len(text) - missing:
        is_code = digits.str.contains(r"^[+-]?[0-9]+$").all()
    return None if is_code or _rounds_whole(text, real) else real


# Digits and an exponent without sign, such as 1E3: programs that write numbers put a sign or a point there, so among
# whole numbers it is a code, and no other spelling of 1000.
EXPONENT = r"^[0-9]+[eE][0-9]+$"


def _rounds_whole(text: pl.Series, real: pl.Series) -> bool:
    """Whether all numbers are whole and floats would make two of them one: 9007199254740993.0, or 1E3 beside 1000."""
    if not is_whole_valued(real):
        return False
    if text.str.contains(EXPONENT).any():
        return True
    beyond = text.filter(real.abs() >= EXACT)
    return bool(len(beyond)) and bool(beyond.str.contains(r"^[+-]?[0-9]+(\.0*)?$").any())


def keep_whole(text: pl.Series, real: pl.Series) -> pl.Series:
    """The numbers of a text column as floats, unless these would round a whole number onto another: then as they are.

    >>> import polars as pl
    >>> text = pl.Series(["9007199254740993", "1"])
    >>> keep_whole(text, text.cast(pl.Float64)).to_list()
    [9007199254740993, 1]
    """
    import polars as pl

    if not _rounds_whole(text, real):
        return real
    whole = text.str.replace(r"\.0*$", "").cast(pl.Int64, strict=False)
    return (whole if whole.null_count() == text.null_count() else text).alias(real.name)


def is_whole_valued(real: pl.Series) -> bool:
    """Whether no number has a fraction; the first few tell it of most columns."""
    head = real.head(_HEAD)
    return bool((head == head.floor()).all()) and bool((real == real.floor()).all())


def widened(frame: pl.DataFrame, kept: Sequence[str] = (), *, digits: bool = False) -> pl.DataFrame:
    """Turn every integer, float and text-like type of `frame` into Int64, Float64 and String, except in those `kept`.

    Whole numbers, also decimals of scale 0, that do not fit stay whole numbers of a wider type, as they are in frames.
    They become text where a file has `digits` rather than types, of which batches would each find another type.
    """
    return frame.with_columns(
        _widened(frame.get_column(name), digits=digits) for name in frame.columns if name not in kept
    )


def spread_nested(frame: pl.DataFrame) -> pl.DataFrame:
    """Give every number of a column of lists, all of one length, or of objects, a column of its own.

    So the scores of all classes are written by what makes predictions: "logits": [0.2, 1.7], or by class.

    >>> import polars as pl
    >>> spread_nested(pl.DataFrame({"y": [0, 1], "logits": [[2.0, 0.1], [0.3, 1.0]]})).columns
    ['y', 'logits_0', 'logits_1']
    """
    taken = set(frame.columns)
    columns: list[pl.Series] = []
    for column in frame.get_columns():
        parts = _parts_of(column)
        columns += [column] if taken & {part.name for part in parts} or not parts else parts
    return frame if len(columns) == frame.width else type(frame)(columns)


def _parts_of(column: pl.Series) -> list[pl.Series]:
    """The numbers that a column holds side by side, none where it does not hold the same number of them in each row."""
    import polars as pl

    kind = column.dtype
    if isinstance(kind, pl.Array) and len(kind.shape) == 1:
        column, kind = column.arr.to_list(), pl.List(kind.inner)
    if isinstance(kind, pl.List) and kind.inner is not None and kind.inner.is_numeric():
        lengths = column.list.len()
        size = lengths.max()
        if column.null_count() or lengths.n_unique() != 1 or not isinstance(size, int) or size < 2:
            return []
        return [column.list.get(place).alias(f"{column.name}_{place}") for place in range(size)]
    if isinstance(kind, pl.Struct) and kind.fields and all(field.dtype.is_numeric() for field in kind.fields):
        return [column.struct.field(field.name).alias(f"{column.name}_{field.name}") for field in kind.fields]
    return []


def is_whole(kind: Any) -> bool:
    """Whether a type of Polars holds whole numbers only: integers, and decimals without a digit after the point.

    >>> import polars as pl
    >>> is_whole(pl.UInt8()), is_whole(pl.Decimal(20, 0)), is_whole(pl.Decimal(20, 2)), is_whole(pl.Float64())
    (True, True, False, False)
    """
    return bool(kind.is_integer() or (kind.is_decimal() and kind.scale == 0))


def least_bytes(kind: object) -> int:
    """The bytes that a value of a type of Polars takes at least; of a text, the 16 that point to it.

    >>> import polars as pl
    >>> least_bytes(pl.Int32()), least_bytes(pl.String())
    (4, 16)
    """
    digits = re.search(r"(?:Int|Float|Decimal)(\d*)", str(kind))
    if digits is not None:
        return int(digits[1] or 128) // 8
    return {"Boolean": 1, "Date": 4, "Categorical": 4}.get(str(kind), 16)


def _widened(column: pl.Series, *, digits: bool) -> pl.Series:
    import polars as pl

    kind = column.dtype
    if is_whole(kind):
        whole = column.cast(pl.Int64, strict=False)
        if whole.null_count() == column.null_count():
            return whole
        return column.cast(pl.String if digits else pl.Int128) if digits or kind.is_decimal() else column
    if kind.is_float() or kind.is_decimal():
        return column.cast(pl.Float64)
    if kind in (pl.Null, pl.Categorical):
        return column.cast(pl.String)
    return column


def wanted_names(names: Sequence[str], columns: Sequence[str] | None, file: str) -> list[str]:
    """The columns to read, in the order asked for and each once; all of them when none are named.

    >>> wanted_names(["id", "y", "p"], ["p", "id"], "churn.csv")
    ['p', 'id']
    """
    if columns is None:
        return list(names)
    asked = [columns] if isinstance(columns, str) else list(columns)
    known = set(names)
    for name in asked:
        if name not in known:
            near = closest(name, names)
            raise ColumnError(
                f"{file} has no column {name!r}. It has: {listing(names)}.",
                hint=f"use {near!r}." if near else "use one of these names, spelled exactly as they are.",
            )
        if name == "*" or (name.startswith("^") and name.endswith("$")):
            # Polars would read all columns that such a name matches.
            raise ColumnError(
                f"The column {name!r} of {file} cannot be read, because its name is a pattern for others.",
                hint="rename the column: a name may not be *, nor begin with ^ and end with $.",
            )
    return list(dict.fromkeys(asked))


def refuse_duplicates(names: Sequence[str], file: str) -> None:
    """Raise when two columns have the same name, because then neither can be asked for."""
    seen: dict[str, int] = {}
    for position, name in enumerate(names, start=1):
        if name in seen:
            raise FileError(
                f"{file} has two columns named {name!r}: columns {seen[name]} and {position}.",
                hint="rename one of them; if the first line is a case and no header, write one above it, such as "
                "truth,predicted.",
            )
        seen[name] = position


def no_rows(file: str, what: str = "has a header but no rows") -> FileError:
    """The error for a table that has columns, or whatever else it has, but not a single row."""
    return FileError(
        f"{file} {what}.",
        hint="check that whatever writes it has finished; at least one row is needed.",
    )
