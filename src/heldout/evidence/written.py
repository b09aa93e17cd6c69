"""Evidence as plain values and a list of arrays, and back: only the kinds that are named here, never code."""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from heldout.evidence.confusion import Clusters, Confusion
from heldout.evidence.counted import Counted, CountedColumn, ScoreTally
from heldout.evidence.folds import FoldCounts
from heldout.evidence.keys import key_array
from heldout.evidence.probabilities import Moments, Probabilities, ProbabilityGroups, Reliability, SparseSums
from heldout.evidence.score_bins import BinGroups, ScoreBins
from heldout.evidence.slices import SliceCounts, SliceGroups
from heldout.evidence.unfit import Unfit

WRITTEN: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        *(BinGroups, Clusters, Confusion, Counted, CountedColumn, FoldCounts, Moments, Probabilities),
        *(ProbabilityGroups, Reliability, ScoreBins, ScoreTally, SliceCounts, SliceGroups, SparseSums, Unfit),
    )
}
# Beside the parts of a piece of evidence, what it is; no part has such a name.
OF = "="
# The kinds of numbers that an annotation of an array allows.
_KINDS = {np.int64: "iu", np.int16: "iu", np.float64: "f", np.bool_: "b"}


def written(value: Any, arrays: list[NDArray[Any]]) -> Any:
    """A value in forms that JSON has; arrays of numbers go into the list, and their place there is written."""
    if value is None or isinstance(value, bool | int | float | str):
        # NumPy's own numbers are instances of Python's, and must not look different when they are read.
        return value.item() if isinstance(value, np.generic) else value
    if is_dataclass(value) and type(value).__name__ in WRITTEN:
        parts = {part.name: written(getattr(value, part.name), arrays) for part in fields(value)}
        return {OF: type(value).__name__, **parts}
    if isinstance(value, np.ndarray):
        if value.dtype.kind in "UO":
            return {"values": [written(one, arrays) for one in value.tolist()], "text": value.dtype.kind == "U"}
        arrays.append(value)
        return {"array": len(arrays) - 1}
    if isinstance(value, Mapping):
        return {"pairs": [[written(key, arrays), written(held, arrays)] for key, held in value.items()]}
    if isinstance(value, tuple | list):
        return [written(one, arrays) for one in value]
    message = f"a {type(value).__name__} is not written"
    raise TypeError(message)


def read(value: Any, arrays: Sequence[NDArray[Any]]) -> Any:
    """The value again; anything that was not written by `written` raises a ValueError."""
    if isinstance(value, list):
        return tuple(read(one, arrays) for one in value)
    if not isinstance(value, dict):
        return value
    if set(value) == {"array"}:
        place = value["array"]
        if type(place) is not int or not 0 <= place < len(arrays):
            message = f"there is no array {place!r}"
            raise ValueError(message)
        return arrays[place]
    if set(value) == {"values", "text"}:
        return _keys(value["values"], as_text=value["text"] is True)
    if set(value) == {"pairs"}:
        return {read(key, arrays): read(held, arrays) for key, held in value["pairs"]}
    kind = WRITTEN.get(str(value.get(OF)))
    if kind is None or set(value) != {OF, *(part.name for part in fields(kind))}:
        message = f"there is no evidence of the kind {value.get(OF)!r} with these parts"
        raise ValueError(message)
    made = kind(**{name: read(held, arrays) for name, held in value.items() if name != OF})
    for name, hint in get_type_hints(kind).items():
        if not _fits(getattr(made, name), hint):
            message = f"{value[OF]}.{name} is not what it should be"
            raise ValueError(message)
    return made


def _keys(values: Any, *, as_text: bool) -> NDArray[Any]:
    if not isinstance(values, list) or not all(isinstance(value, str | int | float) for value in values):
        message = "keys must be text or numbers"
        raise ValueError(message)
    if as_text:
        if not all(isinstance(value, str) for value in values):
            message = "keys that are said to be text are not"
            raise ValueError(message)
        return key_array(values) if values else np.array([], dtype=np.str_)
    made = np.empty(len(values), dtype=object)
    made[:] = values
    return made


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value is of the kind that the annotation of its field says."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return any(_fits(value, part) for part in parts)
    if origin is Literal:
        return value in parts
    if origin is tuple:
        return isinstance(value, tuple) and _each_fits(value, parts)
    if origin is np.ndarray:
        allowed = get_args(parts[1])[0] if get_args(parts[1]) else Any
        return isinstance(value, np.ndarray) and value.dtype.kind in _KINDS.get(allowed, "iufbUO")
    if origin is not None:
        # A mapping: there is no other kind of part.
        return isinstance(value, Mapping) and all(_each_fits(pair, parts) for pair in value.items())
    # Whole numbers may stand for floating-point ones, and nothing else for anything.
    return hint is Any or type(value) is hint or (hint is float and type(value) is int)


def _each_fits(values: tuple[Any, ...], hints: tuple[Any, ...]) -> bool:
    if len(hints) == 2 and hints[1] is Ellipsis:
        return all(_fits(value, hints[0]) for value in values)
    return len(values) == len(hints) and all(_fits(value, hint) for value, hint in zip(values, hints, strict=True))
