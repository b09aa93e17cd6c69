"""Which of a file's columns are wanted, and what is wrong with its names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from heldout.arguments import closest, listing
from heldout.errors import ColumnError, FileError

if TYPE_CHECKING:
    from collections.abc import Sequence


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
                hint="rename one of them.",
            )
        seen[name] = position


def no_rows(file: str) -> FileError:
    """The error for a table that has columns but not a single row."""
    return FileError(
        f"{file} has a header but no rows.",
        hint="check that whatever writes it has finished; at least one row is needed.",
    )
