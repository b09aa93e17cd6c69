"""Array types by the name of what they hold: one alias each, for every module."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
# Integers that stand for labels: the place of each case's label in the list of labels.
Codes = NDArray[np.int64]
Flags = NDArray[np.bool_]
# Floats read as their bits, which sort as the floats do.
Bits = NDArray[np.uint64]
