"""Which column is which, guessed from usual names."""

from __future__ import annotations

import re
from collections.abc import Sequence

from heldout.errors import ColumnError, closest, listing

USUAL_NAMES = {
    "truth": (
        "y_true",
        "truth",
        "label",
        "target",
        "actual",
        "class",
        "true",
        "true_label",
        "gold",
        "expected",
        "y",
    ),
    "predicted": (
        "y_pred",
        "predicted",
        "prediction",
        "pred",
        "predicted_label",
        "predicted_class",
        "y_hat",
        "yhat",
    ),
}


def choose(role: str, asked: str | None, columns: Sequence[str], source: str) -> tuple[str, bool]:
    """The column for a role, and whether it was guessed.

    >>> choose("truth", None, ["id", "Y_True", "pred"], "churn.csv")
    ('Y_True', True)
    """
    if asked is not None:
        return check_column(asked, columns, source), False
    usual = USUAL_NAMES[role]
    found = [column for column in columns if _folded(column) in usual]
    if len(found) == 1:
        return found[0], True
    if found:
        raise ColumnError(
            f"{source} has several columns that may be {role}: {listing(found)}.",
            hint=f"choose one: --{role} {found[0]} (in Python {role}={found[0]!r}).",
        )
    raise ColumnError(
        f"{source} has no column with a usual name for {role}. It has: {listing(columns)}.",
        hint=f"say which one it is with --{role} COLUMN (in Python {role}=…).",
    )


def check_column(name: str, columns: Sequence[str], source: str) -> str:
    """The column of that name, which must exist."""
    if name in columns:
        return name
    near = closest(name, columns)
    raise ColumnError(
        f"{source} has no column {name!r}. It has: {listing(columns)}.",
        hint=f"did you mean {near!r}?" if near else "use one of these.",
    )


def _folded(column: str) -> str:
    return re.sub(r"[\s.-]+", "_", column.strip().casefold())
