"""Small tables of counts: fetched from where the data are or sent there, and turned into confusion matrices."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arrays import Codes, Floats
from heldout.errors import OptionError
from heldout.evidence import Clusters, Confusion, Label
from heldout.evidence.labels import key_array
from heldout.evidence.partitions import FoldCounts, SliceCounts, SliceGroups
from heldout.predictions.label_encoding import Coded

# Small tables on their way: one of ours put where the data are, and one that was made there brought here.


def collect_polars(frame: Any) -> Any:
    """What a lazy frame of narwhals comes to, as a Polars frame; Polars works through its rows in batches for it.

    >>> import narwhals.stable.v2 as nw
    >>> import polars as pl
    >>> collect_polars(nw.from_native(pl.LazyFrame({"x": [1, 2]})).select(nw.col("x").sum())).rows()
    [(3,)]
    """
    if frame.implementation.is_polars():
        return frame.to_native().collect(engine="streaming")
    return frame.collect(backend="polars").to_native()


def collect_native(frame: Any) -> Any:
    """What a lazy frame of narwhals comes to, as the frame that its engine makes; Polars works in batches for it too.

    >>> import narwhals.stable.v2 as nw
    >>> import polars as pl
    >>> collect_native(nw.from_native(pl.LazyFrame({"x": [1, 2]}))).get_column("x").to_list()
    [1, 2]
    """
    import narwhals.stable.v2 as nw

    return (
        nw.from_native(collect_polars(frame), eager_only=True) if frame.implementation.is_polars() else frame.collect()
    )


def send_table(table: Any, beside: Any) -> Any:
    """A Polars frame as a lazy frame of the same engine as another (both of narwhals).

    >>> import narwhals.stable.v2 as nw
    >>> import polars as pl
    >>> there = nw.from_native(pl.LazyFrame({"x": [1]}))
    >>> send_table(pl.DataFrame({"y": [2]}), there).collect().to_dict(as_series=False)
    {'y': [2]}
    """
    import narwhals.stable.v2 as nw

    kind, native = beside.implementation, beside.to_native()
    if kind.is_polars():
        return nw.from_native(table.lazy())
    if kind.is_duckdb():
        # DuckDB finds the table by the name of the variable; asked of the relation itself, on its own connection.
        heldout_pushed = table.to_arrow()
        relation = native.query("heldout_beside", "SELECT * FROM heldout_pushed")
        del heldout_pushed
        return nw.from_native(relation)
    if kind.is_ibis():
        import ibis  # type: ignore[import-untyped]

        return nw.from_native(ibis.memtable(table.to_arrow()))
    if kind.is_dask():
        import dask.dataframe as dd

        return nw.from_native(dd.from_pandas(table.to_pandas(), npartitions=1))  # type: ignore[no-untyped-call]
    if kind.is_pyspark():
        with warnings.catch_warnings():
            # Spark says of every new pandas that it does not know it yet.
            warnings.simplefilter("ignore", FutureWarning)
            return nw.from_native(native.sparkSession.createDataFrame(table.to_arrow()))
    raise OptionError(
        f"Scores of {type(native).__name__} cannot be compared where they are.",
        hint="collect the frame first, or give it as a Polars, DuckDB, Ibis, Spark or Dask frame.",
    )


# From combinations with how often each stands to confusion matrices: of all rows, of every fold and every slice.


@dataclass(frozen=True, eq=False)
class ConfusionCells:
    """Combinations of a true and a predicted class, places among `labels`, each with how many rows are behind it.

    `part` is a code (of a fold, of a slice) that tells combinations of the same classes apart, and `group` the code of
    a group with the keys of the codes. With weights there are the sums of the weights and of their squares.
    """

    labels: tuple[Label, ...]
    truth: Codes
    predicted: Codes
    n: Codes
    weights: Floats | None = None
    squares: Floats | None = None
    part: Codes | None = None
    group: tuple[Codes, NDArray[Any]] | None = None

    @property
    def cell(self) -> Codes:
        """Both classes as one number."""
        return self.truth * len(self.labels) + self.predicted

    def without_unmet(self) -> ConfusionCells:
        """The same with only the labels that are met.

        >>> one = np.array([1])
        >>> ConfusionCells(("a", "b"), one, one, one).without_unmet().labels
        ('b',)
        """
        occurring = np.zeros(len(self.labels), dtype=bool)
        occurring[self.truth] = True
        occurring[self.predicted] = True
        move = np.cumsum(occurring) - 1
        labels = tuple(label for label, there in zip(self.labels, occurring.tolist(), strict=True) if there)
        return ConfusionCells(
            labels, move[self.truth], move[self.predicted], self.n, self.weights, self.squares, self.part, self.group
        )

    @property
    def _counts(self) -> NDArray[Any]:
        return self.n if self.weights is None else self.weights

    def confusion(self) -> Confusion:
        """The confusion matrix of all rows."""
        k = len(self.labels)
        cells, where = np.unique(self.cell, return_inverse=True)
        size = len(cells)
        clusters = None
        if self.group is not None:
            codes, keys = self.group
            pairs, at = np.unique(codes * size + where, return_inverse=True)
            keys_present, dense = np.unique(pairs // size, return_inverse=True)
            clusters = Clusters(keys[keys_present], dense, pairs % size, summed(at, self._counts, len(pairs)))
        return Confusion(
            self.labels,
            cells // k,
            cells % k,
            summed(where, self._counts, size),
            squares=None if self.squares is None else summed(where, self.squares, size),
            rows=None if self.weights is None else summed(where, self.n, size),
            clusters=clusters,
        )

    def parts(self, counts: NDArray[Any], keys: NDArray[Any] | None = None) -> FoldCounts:
        """What `counts` adds up to in every part; `keys` are those of the codes, if they are not the codes."""
        if self.part is None:
            raise TypeError("the rows have no parts")
        k = len(self.labels)
        flat, where = np.unique(self.part * (k * k) + self.cell, return_inverse=True)
        codes, part_index = np.unique(flat // (k * k), return_inverse=True)
        present_keys = codes if keys is None else keys[codes]
        return FoldCounts(
            self.labels, present_keys, part_index, flat // k % k, flat % k, summed(where, counts, len(flat))
        )

    def folds(self, keys: NDArray[Any]) -> FoldCounts:
        """The counts of every fold."""
        return self.parts(self._counts, keys)

    def slices(self) -> SliceCounts:
        """The counts of every slice."""
        return SliceCounts(
            self.parts(self.n),
            None if self.weights is None else self.parts(self.weights),
            None if self.squares is None else self.parts(self.squares),
            self._slice_groups(),
        )

    def _slice_groups(self) -> SliceGroups | None:
        if self.group is None or self.part is None:
            return None
        codes, keys = self.group
        size, number = len(self.labels) ** 2, len(keys)
        _, part_index = np.unique(self.part, return_inverse=True)
        # By the place of the cell among those that were met: their numbers, times the groups, may not fit.
        cells, at = np.unique(part_index * size + self.cell, return_inverse=True)
        entries, where = np.unique(at * number + codes, return_inverse=True)
        groups_present, dense = np.unique(entries % number, return_inverse=True)
        flat = cells[entries // number]
        return SliceGroups(
            keys[groups_present], flat // size, dense, flat % size, summed(where, self._counts, len(entries))
        )


def summed(where: Codes, values: NDArray[Any], size: int) -> NDArray[Any]:
    """The sum of the values at each place; whole numbers stay whole.

    >>> summed(np.array([0, 1, 0]), np.array([1, 2, 3]), 2)
    array([4, 2])
    """
    total = np.zeros((size, *values.shape[1:]), dtype=values.dtype)
    np.add.at(total, where, values)
    return total


def keyed(coded: Coded) -> tuple[Codes, NDArray[Any]]:
    """The codes of a column of keys from 0, and the keys of those that are met.

    >>> keyed(Coded(np.array([5, 7]), 5, (5, 6, 7)))
    (array([0, 1]), array([5, 7]))
    """
    present, codes = np.unique(coded.codes.astype(np.int64) - coded.offset, return_inverse=True)
    return codes, key_array([coded.labels[code] for code in present.tolist()])
