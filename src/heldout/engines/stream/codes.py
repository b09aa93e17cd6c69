"""From the labels of a batch to the codes that they have in the whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from heldout.predictions.encode import DIRECT_RANGE, Coded

if TYPE_CHECKING:
    import polars as pl

# So many texts are compared one by one.
FEW = 8


class LabelCodes:
    """The code of every value that a column of labels holds anywhere, looked up batch by batch.

    >>> import polars as pl
    >>> seen = Coded(np.array([1, 0]), 0, ("a", "b"))
    >>> LabelCodes(pl.Series(["b", "a"]), seen).coded(pl.Series(["a", None, "b"])).codes.tolist()
    [0, -1, 1]
    """

    def __init__(self, values: pl.Series, coded: Coded) -> None:
        import polars as pl

        first = values.is_first_distinct().to_numpy()
        held = values.filter(pl.Series(first))
        codes = coded.codes[: len(first)][first].astype(np.int64) - coded.offset
        order = held.arg_sort().to_numpy()
        self._like = coded
        self._name = f"The column {values.name!r}"
        self._values = held.gather(order)
        # Missing is the last.
        self._move = np.append(codes[order], -1)
        self._enum = pl.Enum(self._values) if self._values.dtype == pl.String else None

    def coded(self, column: pl.Series) -> Coded:
        """A batch of the column; a value that is none of those that were met has some code."""
        return self.read(column)[0]

    def read(self, column: pl.Series) -> tuple[Coded, NDArray[np.bool_] | None]:
        """A batch of the column, and which of its values are none of those that were met; None where all are."""
        places, strange = self._places(column)
        codes = self._move[places]
        missing = int(np.count_nonzero(codes < 0))
        return Coded(codes, 0, self._like.labels, self._like.declared, missing), strange if strange.any() else None

    def _places(self, column: pl.Series) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """The place of every value among those that were met, the last for what is missing, and which are not there."""
        import polars as pl

        absent = len(self._values)
        if self._enum is not None and absent <= FEW:
            return self._compared(column)
        if self._enum is not None:
            met = column.cast(self._enum, strict=False).to_physical().cast(pl.Int64)
            gone = column.is_null().to_numpy()
            strange = met.is_null().to_numpy() & ~gone
            return np.where(gone, absent, met.fill_null(0).to_numpy()), strange
        held = self._values.to_physical() if self._values.dtype == pl.Enum else self._values
        known = held.cast(pl.Float64 if held.dtype.is_float() else pl.Int64).to_numpy()
        plain = (column.to_physical() if column.dtype == pl.Enum else column).cast(
            pl.Float64 if held.dtype.is_float() else pl.Int64
        )
        if held.dtype.is_float():
            numbers = plain.fill_null(np.nan).to_numpy()
            gaps = np.isnan(numbers)
        else:
            gaps = plain.is_null().to_numpy()
            numbers = (plain.fill_null(known[0]) if plain.null_count() else plain).to_numpy()
        # The difference of two whole numbers of 64 bits may be longer.
        if not held.dtype.is_float() and int(known[-1]) - int(known[0]) < DIRECT_RANGE:
            table = np.zeros(known[-1] - known[0] + 1, dtype=np.int64)
            table[known - known[0]] = np.arange(len(known))
            places = table[np.clip(numbers, known[0], known[-1]) - known[0]]
        else:
            places = np.minimum(np.searchsorted(known, numbers), absent - 1)
        return np.where(gaps, absent, places), (known[places] != numbers) & ~gaps

    def _compared(self, column: pl.Series) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """The same where texts are few: comparing with each is quicker than looking each up."""
        import polars as pl

        named = pl.col(column.name)
        # From 1 on; 0 is no text that was met.
        equal = [(named == value).cast(pl.UInt8) * place for place, value in enumerate(self._values.to_list(), start=1)]
        places = column.to_frame().select(pl.sum_horizontal(equal).fill_null(0)).to_series().to_numpy()
        found = np.append(0, np.arange(len(self._values)))[places]
        strange = places == 0
        if column.null_count():
            gone = column.is_null().to_numpy()
            found[gone] = len(self._values)
            strange &= ~gone
        return found, strange
