"""Training rows that are drawn again whenever they are asked for, so that many draws need no memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import overload

from heldout.arrays import Integers


@dataclass(frozen=True, eq=False)
class Drawn(Sequence[Integers]):
    """The rows of each draw: `draw(i)` makes those of draw i, the same on every call, and `sizes` counts them.

    >>> rows = Drawn(lambda i: np.random.default_rng(i).integers(0, 3, 4), np.array([4, 4]))
    >>> len(rows), bool((rows[1] == rows[-1]).all())
    (2, True)
    """

    draw: Callable[[int], Integers] = field(repr=False)
    sizes: Integers = field(repr=False)

    def __len__(self) -> int:
        return len(self.sizes)

    @overload
    def __getitem__(self, index: int) -> Integers: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Integers]: ...

    def __getitem__(self, index: int | slice) -> Integers | Sequence[Integers]:
        # A range knows slices, negative places and where it ends.
        place = range(len(self))[index]
        return self.draw(place) if isinstance(place, int) else tuple(self.draw(i) for i in place)
