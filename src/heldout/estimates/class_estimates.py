"""One estimate per class, kept as columns: an object for each of a million classes would fill gigabytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from heldout.arrays import Floats
from heldout.estimates.estimate import Estimate
from heldout.evidence import Label
from heldout.show.blocks import Style


@dataclass(frozen=True, eq=False)
class ClassEstimates(Sequence[Estimate]):
    """The estimates of one measure for every class, each made when it is asked for."""

    measure: str
    labels: tuple[Label, ...]
    values: Floats
    lows: Floats
    highs: Floats
    sizes: NDArray[Any]
    level: float
    method: str
    undefined: str
    note: str
    style: Style

    def __len__(self) -> int:
        return len(self.labels)

    @overload
    def __getitem__(self, place: int) -> Estimate: ...
    @overload
    def __getitem__(self, place: slice) -> list[Estimate]: ...
    def __getitem__(self, place: int | slice) -> Estimate | list[Estimate]:
        """The estimate of the class at a place."""
        if isinstance(place, slice):
            return self.taken(range(*place.indices(len(self))))
        value = float(self.values[place])
        return Estimate(
            self.measure, self.labels[place], None, value, float(self.lows[place]), float(self.highs[place]),
            self.level, self.method, whole(self.sizes[place]),
            self.undefined if value != value else "", self.note, self.style,  # noqa: PLR0124 - true of nan only
        )  # fmt: skip

    def __iter__(self) -> Iterator[Estimate]:
        return iter(self.taken(range(len(self))))

    def taken(self, places: Sequence[int] | NDArray[np.int64]) -> list[Estimate]:
        """The estimates of the classes at these places."""
        at = np.asarray(places, dtype=np.int64)
        columns = (column[at].tolist() for column in (self.values, self.lows, self.highs, self.sizes))
        return [
            Estimate(
                self.measure, self.labels[place], None, value, low, high, self.level, self.method, whole(cases),
                self.undefined if value != value else "", self.note, self.style,  # noqa: PLR0124 - true of nan only
            )
            for place, value, low, high, cases in zip(at.tolist(), *columns, strict=True)
        ]  # fmt: skip


def whole(size: Any) -> int | float:
    """A number of cases, whole where it is one.

    >>> whole(5.0000000001), whole(2.5)
    (5, 2.5)
    """
    found = float(size)
    # Shares of cases add up to whole ones but for rounding.
    return round(found) if abs(found - round(found)) < 1e-9 else found
