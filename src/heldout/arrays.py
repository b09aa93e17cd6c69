"""Array types by the name of what they hold, one alias each, and arrays of objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
# Integers that stand for labels: the place of each case's label in the list of labels.
Codes = NDArray[np.int64]
Flags = NDArray[np.bool_]
# Floats read as their bits, which sort as the floats do.
Bits = NDArray[np.uint64]


def make_objects(values: Sequence[Any]) -> NDArray[Any]:
    """An array of the very objects: numpy would turn [1, "a"] into text, and lists into rows.

    >>> make_objects([1, "a", (2, 3)]).tolist()
    [1, 'a', (2, 3)]
    """
    objects = np.empty(len(values), dtype=object)
    objects[:] = values
    return objects
