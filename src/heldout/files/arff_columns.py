"""Turning the tokens of ARFF columns into typed columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heldout.arguments import closest, listing
from heldout.errors import FileError
from heldout.files.arff_dates import parse_date
from heldout.files.arff_tokens import unquoted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    import polars as pl

    from heldout.files.arff_header import Attribute, Header


class _Unfit(Exception):  # noqa: N818
    """A token that does not fit its attribute."""


def convert(
    columns: Sequence[Sequence[str | None]], lines: Sequence[int], header: Header, file: str
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
            except (_Unfit, ValueError):
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
    raise _Unfit


def _misfit(attribute: Attribute, token: str, where: str) -> FileError:
    found = unquoted(token)
    if attribute.kind == "nominal":
        near = closest(found, attribute.values)
        return FileError(
            f"{where}: expected one of the declared values of {attribute.name!r} "
            f"({listing(attribute.values)}), found {found!r}.",
            hint=f"did you mean {near!r}?" if near else "add the value to its @attribute line, or write ?.",
        )
    what = f"a date written {attribute.date_format!r}" if attribute.kind == "date" else "a number"
    return FileError(
        f"{where}: expected {what} for attribute {attribute.name!r}, found {found!r}.",
        hint="mend the value, or write ? if it is missing.",
    )
