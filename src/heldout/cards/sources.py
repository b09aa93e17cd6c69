"""Which columns of the data stand behind each column that a predictor sees, through the steps before it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Sources = tuple[frozenset[int], ...]

# Steps whose every output column comes from the input column at the same place.
ELEMENTWISE = frozenset(
    {
        "Binarizer",
        "MaxAbsScaler",
        "MinMaxScaler",
        "OrdinalEncoder",
        "PowerTransformer",
        "QuantileTransformer",
        "RobustScaler",
        "StandardScaler",
    }
)


def identity(width: int) -> Sources:
    """Every column comes from itself.

    >>> identity(2) == (frozenset({0}), frozenset({1}))
    True
    """
    return tuple(frozenset({column}) for column in range(width))


def through(step: Any, sources: Sources | None) -> Sources | None:
    """The columns behind each column that a fitted step gives; None where its ways are not known.

    >>> from sklearn.preprocessing import OneHotEncoder
    >>> [sorted(one) for one in through(OneHotEncoder().fit([["a", 1], ["b", 1]]), identity(2))]
    [[0], [0], [1]]
    """
    if sources is None:
        return None
    if step is None or (isinstance(step, str) and step == "passthrough"):
        return sources
    known = _KNOWN.get(type(step).__name__)
    if known is not None:
        return known(step, sources)
    if type(step).__name__ in ELEMENTWISE:
        return sources
    return _taken(sources, np.asarray(step.get_support(), dtype=bool)) if hasattr(step, "get_support") else None


def _pipeline(step: Any, sources: Sources) -> Sources | None:
    found: Sources | None = sources
    for _, inner in step.steps:
        found = through(inner, found)
    return found


def _imputed(step: Any, sources: Sources) -> Sources | None:
    """A column without any value in the training rows is dropped, unless it was to be kept."""
    kept = np.ones(len(sources), dtype=bool) if step.keep_empty_features else ~_is_nan(step.statistics_)
    return None if step.add_indicator else _taken(sources, kept)


def _one_hot(step: Any, sources: Sources) -> Sources | None:
    # Categories may have been dropped or put together; only the encoder knows how many columns that leaves.
    widths = getattr(step, "_n_features_outs", None) or [len(one) for one in step.categories_]
    return tuple(source for source, times in zip(sources, widths, strict=True) for _ in range(times))


def _binned(step: Any, sources: Sources) -> Sources | None:
    widths = [len(edges) + 1 + gaps for edges, gaps in zip(step.edges_, step.gaps_, strict=True)]
    return tuple(source for source, times in zip(sources, widths, strict=True) for _ in range(times))


def _function(step: Any, sources: Sources) -> Sources | None:
    # What passes through a ColumnTransformer is a function of nothing.
    return sources if step.func is None else None


def _is_nan(values: Any) -> Any:
    held = np.asarray(values).tolist()
    return np.array([value is None or (isinstance(value, float) and math.isnan(value)) for value in held], dtype=bool)


def _taken(sources: Sources, kept: Any) -> Sources | None:
    if len(kept) != len(sources):
        return None
    return tuple(source for source, keep in zip(sources, kept, strict=True) if keep)


def _columnwise(step: Any, sources: Sources) -> Sources | None:
    made: dict[int, frozenset[int]] = {}
    for name, inner, columns in step.transformers_:
        where = step.output_indices_.get(name, slice(0, 0))
        if isinstance(inner, str) and inner == "drop":
            continue
        places = _places(columns, len(sources), getattr(step, "feature_names_in_", None))
        if places is None:
            return None
        found = through(inner, tuple(sources[place] for place in places)) if places else ()
        if found is None or len(found) != where.stop - where.start:
            return None
        made |= dict(zip(range(where.start, where.stop), found, strict=True))
    return tuple(made[at] for at in range(len(made))) if set(made) == set(range(len(made))) else None


def _places(columns: Any, width: int, names: Any) -> list[int] | None:
    """The numbers of columns that were given by number, by name, as a slice or as a mask."""
    if isinstance(columns, slice) and not isinstance(columns.start, str) and not isinstance(columns.stop, str):
        return list(range(width))[columns]
    if isinstance(columns, str | int):
        columns = [columns]
    if isinstance(columns, slice) or not isinstance(columns, Sequence | np.ndarray):
        return None
    given = list(columns)
    if given and all(isinstance(one, bool | np.bool_) for one in given):
        return np.flatnonzero(given).tolist()
    if all(isinstance(one, str) for one in given):
        known = [] if names is None else list(names)
        return [known.index(one) for one in given] if set(given) <= set(known) else None
    return [int(one) % width for one in given]


_KNOWN: dict[str, Callable[[Any, Sources], Sources | None]] = {
    "ColumnTransformer": _columnwise,
    "FunctionTransformer": _function,
    "OneHotEncoder": _one_hot,
    "Pipeline": _pipeline,
    "QuantileBins": _binned,
    "SimpleImputer": _imputed,
}
