"""What a column of text is as a whole, found piece by piece: numbers, booleans or text."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Literal

from heldout.files.column_types import blank_to_null, typed

if TYPE_CHECKING:
    import polars as pl

# What one piece is: nothing at all, whole numbers, such beyond 64 bits, other numbers (also with a decimal comma),
# booleans in one of three spellings, or text.
Kind = Literal["", "whole", "huge", "real", "comma", "true", "True", "TRUE", "text"]
_BOOLEANS: tuple[Kind, ...] = ("true", "True", "TRUE")


def kind_of_piece(text: pl.Series, *, decimal_comma: bool = False) -> Kind:
    """What some values of a column are, by the rules for whole columns.

    >>> import polars as pl
    >>> [kind_of_piece(pl.Series(x)) for x in (["1", "2"], ["1", "0.5"], ["007", "1"], ["True", None])]
    ['whole', 'real', 'text', 'True']
    """
    import polars as pl

    made = typed(text, decimal_comma=decimal_comma)
    if made.null_count() == len(made):
        return ""
    if made.dtype == pl.Int64:
        return "whole"
    if made.dtype == pl.Float64:
        return "comma" if decimal_comma and text.str.contains(",", literal=True).any() else "real"
    if made.dtype == pl.Boolean:
        held = set(text.drop_nulls().unique().to_list())
        return next(word for word in _BOOLEANS if held <= {word, _opposite(word), ""})
    # What the first value rules out, all of them cannot be.
    return "huge" if _only_digits(text.head(1)) and _only_digits(text) else "text"


def _only_digits(text: pl.Series) -> bool:
    held = blank_to_null(text.str.strip_chars()).drop_nulls()
    return bool(held.str.contains(r"^[+-]?(0|[1-9][0-9]*)$").all())


def joined_kind(kinds: AbstractSet[Kind]) -> Kind:
    """What a column is whose pieces are these.

    >>> joined_kind({"whole", "real", ""}), joined_kind({"whole", "text"}), joined_kind({"true", "True"})
    ('real', 'text', 'text')
    """
    held = kinds - {""}
    if len(held) == 1:
        (alone,) = held
        return "text" if alone == "huge" else alone
    if not held:
        return ""
    if held <= {"whole", "real", "huge"} and "real" in held:
        return "real"
    return "comma" if held == {"whole", "comma"} else "text"


def as_kind(text: pl.Series, kind: Kind) -> pl.Series:
    """Some values of a column with the type of the whole.

    >>> import polars as pl
    >>> as_kind(pl.Series(["1", ""]), "real").to_list(), as_kind(pl.Series(["1", ""]), "text").to_list()
    ([1.0, None], ['1', None])
    """
    text = blank_to_null(text)
    if kind in _BOOLEANS:
        return text == kind
    if kind in ("", "text", "huge"):
        return text
    if kind != "comma":
        made = text.cast(dtype_of(kind), strict=False)
        if made.null_count() == text.null_count():
            return made
    stripped = blank_to_null(text.str.strip_chars())
    if kind == "comma":
        stripped = stripped.str.replace(",", ".", literal=True)
    return stripped.cast(dtype_of(kind))


def dtype_of(kind: Kind) -> pl.DataType:
    """The type of Polars for columns of a kind."""
    import polars as pl

    if kind in _BOOLEANS:
        return pl.Boolean()
    return {"whole": pl.Int64(), "real": pl.Float64(), "comma": pl.Float64()}.get(kind, pl.String())


def _opposite(word: str) -> str:
    return {"true": "false", "True": "False", "TRUE": "FALSE"}[word]
