"""Score columns by their names: which columns are scores, and of which class each is."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.evidence import Label

# What stands before the name of a class in the names of score columns.
PREFIXES = (
    "probability", "probabilities", "proba", "prob", "probs", "p", "score", "scores", "logit", "logits",
    "y_score", "y_prob", "y_proba",
)  # fmt: skip
# What stands behind it.
SUFFIXES = ("probability", "proba", "prob")
ALONE = (*PREFIXES, "y_scores", "y_probability", "pred_proba", "predicted_probability")
# Rounding to two decimals, as many tools print probabilities, moves the sum of k of them by up to k · 0.005.
SUM_TOLERANCE, MOST_TOLERANCE = 5e-3, 0.05


def class_of(name: str, labels: Sequence[Label]) -> Label | None:
    """The class that the name of a score column speaks of.

    >>> class_of("proba_spam", ["ham", "spam"]), class_of("score", ["ham", "spam"])
    ('spam', None)
    """
    texts = {_folded(str(label)): label for label in labels}
    folded = _folded(name)
    if folded in texts:
        return texts[folded]
    for prefix in sorted(PREFIXES, key=len, reverse=True):
        rest = folded.removeprefix(f"{prefix}_")
        if rest != folded and rest in texts:
            return texts[rest]
    return next((texts[rest] for suffix in SUFFIXES if (rest := folded.removesuffix(f"_{suffix}")) in texts), None)


def sum_tolerance(classes: int) -> float:
    """By how much the probabilities of a case may miss 1.

    >>> round(sum_tolerance(3), 6)
    0.015
    """
    return min(SUM_TOLERANCE * classes, MOST_TOLERANCE) + 1e-9


def score_columns(free: Sequence[Any], labels: Sequence[Label]) -> list[Any]:
    """The columns that are scores by their name: one per class, or one alone."""
    owned = {class_of(str(column), labels): column for column in free if _prefixed(str(column))}
    owned.pop(None, None)
    if labels and all(label in owned for label in labels):
        return [owned[label] for label in labels]
    if len(labels) == 2 and len(owned) == 1:
        return list(owned.values())
    alone = [column for column in free if _folded(str(column)) in ALONE]
    return alone if len(alone) == 1 and len(labels) == 2 else []


def may_be_score(column: Any) -> bool:
    """Whether a column might turn out to be a score, by its name alone."""
    return _prefixed(str(column)) or _folded(str(column)) in ALONE


def _prefixed(name: str) -> bool:
    folded = _folded(name)
    before = any(folded.startswith(f"{prefix}_") for prefix in PREFIXES)
    return before or any(folded.endswith(f"_{suffix}") for suffix in SUFFIXES)


def other_classes(free: Sequence[Any], names: Sequence[Any]) -> list[Any]:
    """Columns that are named as the scores of the classes are, and are of none of them: of a class that was not met.

    >>> other_classes(["proba_a", "proba_b", "proba_c", "score"], ["proba_a", "proba_b"])
    ['proba_c']
    """
    starts = {_folded(str(name)).partition("_")[0] for name in names}
    if len(starts) != 1:
        return []
    alike = {column: _folded(str(column)).removeprefix(f"{next(iter(starts))}_") for column in free}
    # Beside one score alone a name is of a class only where it numbers one: p_0 beside p_1, but not p_value.
    return [
        column
        for column, rest in alike.items()
        if column not in names and rest != _folded(str(column)) and (len(names) > 1 or rest.isdigit())
    ]


def scores_named_as_classes(
    names: Sequence[Any], labels: Sequence[Label], values: Callable[[Any], NDArray[np.float64] | None]
) -> list[Any]:
    """The columns that are named exactly as the classes, where they hold their probabilities.

    >>> columns = {"cat": np.array([0.7, 0.2]), "dog": np.array([0.3, 0.8])}
    >>> scores_named_as_classes(["label", "cat", "dog"], ["cat", "dog"], columns.get)
    ['cat', 'dog']
    """
    texts = {_folded(str(name)): name for name in names}
    found = [texts.get(_folded(str(label))) for label in labels]
    if len(labels) < 2 or any(name is None for name in found):
        return []
    # Other numbers under such names are no scores; where they do not sum to 1, a class may be missing among them.
    return found if _are_probabilities([values(name) for name in found]) else []


def scores_with_unmet_classes(
    names: Sequence[Any], labels: Sequence[Label], values: Callable[[Any], NDArray[np.float64] | None]
) -> list[Any]:
    """The columns that are probabilities of all classes only with those of classes that no case has.

    >>> columns = {"cat": np.array([0.7, 0.2]), "dog": np.array([0.2, 0.7]), "fox": np.array([0.1, 0.1])}
    >>> scores_with_unmet_classes(["cat", "dog", "fox"], ["cat", "dog"], columns.get)
    ['cat', 'dog', 'fox']
    """
    numbers = {name: column for name in names if (column := values(name)) is not None}
    texts = {_folded(str(name)) for name in numbers}
    named = bool(labels) and all(_folded(str(label)) in texts for label in labels)
    return list(numbers) if named and len(numbers) > len(labels) and _are_probabilities(list(numbers.values())) else []


def _are_probabilities(columns: Sequence[NDArray[np.float64] | None]) -> bool:
    """Whether columns of numbers are the probabilities of all classes: none is below 0, and each row sums to 1."""
    table = np.column_stack([column for column in columns if column is not None]) if columns else np.empty((0, 0))
    if table.shape[1] < len(columns) or not len(table):
        return False
    whole = np.abs(table.sum(axis=1) - 1) <= sum_tolerance(len(columns))
    return bool((table >= 0).all() and whole.all())


def _folded(name: str) -> str:
    return re.sub(r"[\s._-]+", "_", name.strip().casefold())


def is_numeric(column: Any) -> bool:
    """Whether a column of any library holds numbers."""
    import narwhals.stable.v2 as nw

    series = nw.from_native(column, allow_series=True, pass_through=True)
    return series.dtype.is_numeric() if isinstance(series, nw.Series) else np.asarray(column).dtype.kind in "iuf"
