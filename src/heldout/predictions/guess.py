"""Which column is which, guessed from usual names."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import Any

from heldout.arguments import closest, listing
from heldout.errors import ColumnError

USUAL_NAMES = {
    "truth": (
        "y_true",
        "truth",
        "label",
        "labels",
        "target",
        "actual",
        "class",
        "true",
        "true_label",
        "true_class",
        "actual_label",
        "actual_class",
        "gold",
        "ground_truth",
        "expected",
        "y_test",
        "y",
    ),
    "predicted": (
        "y_pred",
        "y_predicted",
        "predicted",
        "prediction",
        "predictions",
        "pred",
        "preds",
        "pred_label",
        "pred_class",
        "predicted_label",
        "predicted_class",
        "y_hat",
        "yhat",
    ),
}


def guess(role: str, columns: Sequence[Any], source: str, *, from_file: bool = True) -> Any:
    """The one column whose name is usual for a role.

    >>> guess("truth", ["id", "Y_True", "pred"], "churn.csv")
    'Y_True'
    """
    found = [column for column in columns if is_usual(role, column)]
    if len(found) == 1:
        return found[0]
    if found:
        shown = shlex.quote(str(found[0]))
        raise ColumnError(
            f"{_opening(source)} has several columns that may be {role}: {listing(found)}.",
            hint=f"choose one, for example --{role} {shown}." if from_file else f"choose one: {role}={found[0]!r}.",
        )
    usual = listing(USUAL_NAMES[role][:3])
    raise ColumnError(
        f"{_opening(source)} has no column with a usual name for {role}, such as {usual}. It has: {listing(columns)}.",
        hint=f"say which one it is with --{role} COLUMN; the first line of a text file must name the columns."
        if from_file
        else f"say which one it is with {role}=.",
    )


def is_usual(role: str, column: Any) -> bool:
    """Whether a column's name is usual for a role."""
    return _folded(column) in USUAL_NAMES[role]


def check_column(name: Any, columns: Sequence[Any], source: str) -> Any:
    """The column of that name, which must exist.

    >>> check_column("y", ["id", "y"], "churn.csv")
    'y'
    """
    if name in columns:
        return name
    near = closest(str(name), map(str, columns))
    raise ColumnError(
        f"{_opening(source)} has no column {name!r}. It has: {listing(columns)}.",
        hint=f"did you mean {near!r}?" if near else "use one of these, spelled exactly as it is.",
    )


def _folded(column: Any) -> str:
    return re.sub(r"[\s._-]+", "_", str(column).strip().casefold()).strip("_")


def _opening(source: str) -> str:
    """The source at the beginning of a sentence; the name of a file keeps its own case."""
    return f"T{source[1:]}" if source.startswith("the ") else source
