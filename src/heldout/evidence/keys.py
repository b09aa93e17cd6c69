"""The union of the keys of groups, when evidence merges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def join_keys(parts: Sequence[NDArray[Any]]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The distinct keys of all parts, and the place of every key among them; 1 and "1" are two keys."""
    kinds = {"n" if part.dtype.kind in "iuf" else part.dtype.kind for part in parts}
    if len(kinds) == 1 and "O" not in kinds:
        keys, code = np.unique(np.concatenate(parts), return_inverse=True)
        return keys, code
    place: dict[Any, int] = {}
    held = [(type(key) is str, key) for part in parts for key in part.tolist()]
    code = np.array([place.setdefault(key, len(place)) for key in held], dtype=np.int64)
    distinct = np.empty(len(place), dtype=object)
    distinct[:] = [key for _, key in place]
    return distinct, code
