"""Training rows that are drawn again whenever they are asked for, so that many draws need no memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import overload

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Drawn(Sequence[Rows]):
    """The rows of each draw: `draw(i)` makes those of draw i, the same on every call, and `sizes` counts them.

    >>> rows = Drawn(lambda i: np.random.default_rng(i).integers(0, 3, 4), np.array([4, 4]))
    >>> len(rows), bool((rows[1] == rows[-1]).all())
    (2, True)
    """

    draw: Callable[[int], Rows] = field(repr=False)
    sizes: Rows = field(repr=False)

    def __len__(self) -> int:
        return len(self.sizes)

    @overload
    def __getitem__(self, index: int) -> Rows: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Rows]: ...

    def __getitem__(self, index: int | slice) -> Rows | Sequence[Rows]:
        # A range knows slices, negative places and where it ends.
        place = range(len(self))[index]
        return self.draw(place) if isinstance(place, int) else tuple(self.draw(i) for i in place)
