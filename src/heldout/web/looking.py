"""A first look into a file: its columns, some of their values, and which column is probably which."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from heldout.errors import FileError
from heldout.files import read_table
from heldout.predictions.guess import is_usual
from heldout.predictions.match import choose_positive
from heldout.predictions.scores import may_be_score, score_columns

if TYPE_CHECKING:
    import polars as pl

# Values are shown and classes suggested from the first rows; the report reads them all.
SEEN_ROWS = 100_000
FIRST_ROWS = 3
MOST_CLASSES = 30
LONGEST_VALUE = 200
LONGEST_NAMES = 2_000_000
USUAL = {
    "weight": ("weight", "weights", "sample_weight"),
    "group": ("group", "groups"),
    "id": ("id", "row", "row_id", "case", "case_id"),
}


def look(path: Path, most_columns: int) -> dict[str, Any]:
    """What the page needs to ask which column is which, as JSON has it."""
    frame = read_table(path)
    if len(frame.columns) > most_columns:
        raise FileError(
            f"{path.name} has {len(frame.columns):,} columns, and the page shows {most_columns:,} at most.",
            hint="leave out those that are not needed, or use heldout evaluate.",
        )
    if sum(map(len, frame.columns)) > LONGEST_NAMES:
        raise FileError(
            f"The names of the columns of {path.name} are too long to be shown.",
            hint="check that its first line holds the names of the columns, and nothing else.",
        )
    head = frame.head(SEEN_ROWS)
    columns = [_column(head.get_column(name)) for name in frame.columns]
    return {"rows": frame.height, "columns": columns, "guesses": guesses(head)}


def guesses(frame: pl.DataFrame) -> dict[str, Any]:
    """Which column is probably which, by the same names that the command line knows.

    >>> import polars as pl
    >>> found = guesses(pl.DataFrame({"id": [1, 2], "y_true": ["no", "yes"], "p_yes": [0.2, 0.9]}))
    >>> {role: found[role] for role in ("truth", "predicted", "score", "positive")}
    {'truth': 'y_true', 'predicted': None, 'score': ['p_yes'], 'positive': 'yes'}
    """
    names = frame.columns
    held: dict[str, Any] = {role: _only(n for n in names if is_usual(role, n)) for role in ("truth", "predicted")}
    for role, usual in USUAL.items():
        held[role] = _only(name for name in names if name.strip().casefold() in usual)
    # Folds are left to the person: with them the report is about several models, not about one.
    held["fold"] = None
    if held["id"] is not None and frame.get_column(held["id"]).is_duplicated().any():
        held["id"] = None
    labels = _labels(frame.get_column(held["truth"])) if held["truth"] else []
    free = [name for name in names if may_be_score(name) and frame.schema[name].is_numeric()]
    held["score"] = score_columns([name for name in free if name not in held.values()], labels)
    positive = choose_positive(None, labels)
    held["positive"] = None if positive is None else str(positive)
    return held


def _only(found: Any) -> str | None:
    names = list(found)
    return names[0] if len(names) == 1 else None


def _labels(column: pl.Series) -> list[Any]:
    values = column.drop_nulls().unique(maintain_order=True)
    # Whole numbers that were stored as decimals are classes too.
    if values.dtype.is_float() and (values == values.round()).all():
        values = values.cast(int)
    return values.to_list() if len(values) <= MOST_CLASSES else []


def _column(column: pl.Series) -> dict[str, Any]:
    numeric = column.dtype.is_numeric()
    return {
        "name": column.name,
        "kind": "numbers" if numeric else "yes or no" if str(column.dtype) == "Boolean" else "text",
        "first": [_shown(value) for value in column.head(FIRST_ROWS).to_list()],
        "values": [] if column.dtype.is_float() else [_shown(value) for value in _labels(column)],
    }


def _shown(value: object) -> str:
    return "" if value is None else str(value)[:LONGEST_VALUE]
