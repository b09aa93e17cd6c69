"""The small tables that a lazy frame is summed into: counts, as confusion matrices, and losses.

The expressions of the losses run where the rows are and, once every distinct score is known, on the table of those
scores.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from heldout.arrays import Codes, Floats
from heldout.engines.lazy.dask_workers import watch_dask
from heldout.engines.probability_sums import Binner
from heldout.engines.spark import is_spark
from heldout.errors import OptionError
from heldout.evidence import Clusters, Confusion, Label
from heldout.evidence.labels import key_array
from heldout.evidence.losses import LOSSES, CaseProbabilities
from heldout.evidence.partitions import FoldCounts, SliceCounts, SliceGroups
from heldout.evidence.probabilities import Moments, Probabilities, ProbabilityGroups, SparseSums, sums_by
from heldout.predictions.case_values import groups
from heldout.predictions.label_encoding import Coded

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw


def collect_polars(frame: Any) -> Any:
    """What a lazy frame of narwhals comes to, as a Polars frame; Polars works through its rows in batches for it.

    >>> import narwhals.stable.v2 as nw
    >>> import polars as pl
    >>> collect_polars(nw.from_native(pl.LazyFrame({"x": [1, 2]})).select(nw.col("x").sum())).rows()
    [(3,)]
    """
    if frame.implementation.is_polars():
        return frame.to_native().collect(engine="streaming")
    with watch_dask(is_dask=frame.implementation.is_dask()):
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
    if is_spark(beside):
        with warnings.catch_warnings():
            # Spark says of every new pandas that it does not know it yet.
            warnings.simplefilter("ignore", FutureWarning)
            return nw.from_native(native.sparkSession.createDataFrame(table.to_arrow()))
    raise OptionError(
        f"Scores of {type(native).__name__} cannot be compared where they are.",
        hint="collect the frame first, or give it as a Polars, DuckDB, Ibis, Spark or Dask frame.",
    )


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


BINS = 10
# The rounding error of a float, for which the log loss takes a probability below it: scores of frames are float64.
LEAST = float(np.finfo(np.float64).eps)
# Sums of (loss − centre)ᵇ, for each power of the weight.
ORDERS = (1, 2, 3)


@dataclass(frozen=True, slots=True)
class Shape:
    """How probabilities are summed: classes, weights, groups, the least probability, and the centre of each loss."""

    k: int
    weighted: bool
    grouped: bool
    top_label: bool
    least: float
    centres: Mapping[str, float]

    @property
    def powers(self) -> tuple[int, ...]:
        """The powers of the weights that are summed; without weights they are all the same."""
        return (1, 2, 3) if self.weighted else (1,)


def case_losses(case: CaseProbabilities, least: float) -> dict[str, nw.Expr]:
    """Every loss, and whether the probability of the true class was raised to the least one."""
    import narwhals.stable.v2 as nw

    return {
        "clipped": (case.right < least).cast(nw.Int64).cast(nw.Float64),
        **{name: loss.formula(case) for name, loss in LOSSES.items()},
    }


def raised(right: nw.Expr, least: float) -> nw.Expr:
    """The probability of the true class, or the least one where it is below."""
    import narwhals.stable.v2 as nw

    return nw.when(right < least).then(nw.lit(least)).otherwise(right)


def two_class_losses(score: nw.Expr, hit: nw.Expr, least: float) -> dict[str, nw.Expr]:
    """The losses of one probability of a class that came true (`hit` is 1) or did not (0)."""
    gap = hit - score
    # ±p and 1 − p, each rounded once, whichever class is true.
    right = (1.0 - hit - score).abs()
    case = CaseProbabilities(right, raised(right, least), gap * gap)
    return {"gap": gap, "square": gap * gap, **case_losses(case, least)}


def in_bins(score: nw.Expr) -> nw.Expr:
    """The bin of reliability: an upper edge belongs to the bin below it."""
    import narwhals.stable.v2 as nw

    inner = np.linspace(0.0, 1.0, BINS + 1)[1:-1].tolist()
    bin_index: nw.Expr = reduce(add, ((score > edge).cast(nw.Int64) for edge in inner))
    return bin_index


def summed_losses(frame: nw.LazyFrame[Any], shape: Shape, keys: Sequence[str]) -> nw.LazyFrame[Any]:
    """Every sum by class, hit, bin and the keys.

    The frame has `class`, `hit`, `place` (the bin), `gap`, `square`, every loss, `clipped`, the number of rows as
    `n`, and the powers of the weights as w1, w2 and w3, without weights only w1.
    """
    import narwhals.stable.v2 as nw

    c = nw.col
    terms: dict[str, nw.Expr] = {"gone": c("clipped") * c("n"), "cases": c("n")}
    # The losses themselves too: the centre is that of all rows, and what lies far below it would drown in it.
    terms |= {f"{name}_sum": c("w1") * c(name) for name in LOSSES}
    for power in shape.powers:
        weight = c(f"w{power}")
        terms[f"held_{power}"] = weight
        for name in LOSSES:
            product, away = weight, c(name) - shape.centres[name]
            for order in ORDERS:
                product = product * away
                terms[f"{name}_{power}_{order}"] = product
        if power < 3:
            terms[f"gap_{power}"] = weight * c("gap")
            terms[f"square_{power}"] = weight * c("square")
    group_keys = ["class", "hit", "place", *keys]
    rows = frame.select(*(c(name) for name in group_keys), *(value.alias(name) for name, value in terms.items()))
    return rows.group_by(*group_keys).agg(*(c(name).sum() for name in terms))


class LossTable:
    """A collected table of sums, all of it or a part."""

    def __init__(self, table: nw.DataFrame[Any], shape: Shape) -> None:
        self.table = table
        self.shape = shape

    def column(self, name: str) -> Floats:
        """A column of numbers."""
        return np.asarray(self.table.get_column(name).to_numpy()).astype(np.float64)

    def codes(self, name: str) -> Codes:
        """A column of whole numbers."""
        return np.asarray(self.table.get_column(name).to_numpy()).astype(np.int64)

    def moments(self, name: str) -> Moments:
        """The moments of a loss."""
        rows = [
            [self.column(f"held_{power}").sum(), *(self.column(f"{name}_{power}_{order}").sum() for order in ORDERS)]
            for power in self.shape.powers
        ]
        sums = np.array(rows if self.shape.weighted else rows * 3)
        return Moments(self.shape.centres[name], sums).centred()

    def binner(self) -> Binner:
        """The sums of each bin, as rows in memory are summed."""
        binner = Binner(BINS, 1, weighted=self.shape.weighted)
        key = self.codes("hit") * BINS + (BINS - 1 - self.codes("place"))
        binner.cases = np.rint(sums_by(key, self.column("cases"), 2 * BINS)).astype(np.int64)
        names = ["gap_1", "square_1"]
        if self.shape.weighted:
            names = ["held_1", *names, "gap_2", "square_2"]
        binner.table = np.stack([sums_by(key, self.column(name), 2 * BINS) for name in names])
        return binner

    def groups(self, coded: tuple[Codes, NDArray[Any]], ranks: SparseSums | None) -> ProbabilityGroups:
        """The sums of each group."""
        codes, keys = coded
        size = len(keys)
        losses = {name: sums_by(codes, self.column(f"{name}_sum"), size) for name in LOSSES}
        gaps = SparseSums.of(codes, self.codes("place"), self.column("gap_1"), BINS)
        return ProbabilityGroups(keys, sums_by(codes, self.column("held_1"), size), losses, gaps, ranks)


@dataclass(frozen=True, eq=False)
class Ranked:
    """How the rank of the true class is spread: a collected table by rank, and by group where there are groups."""

    table: nw.DataFrame[Any]
    shape: Shape

    def spread(self) -> tuple[Floats, Floats]:
        """The weights of each rank and their squares."""
        losses = LossTable(self.table, self.shape)
        rank, k = losses.codes("rank"), self.shape.k
        both = ("held_1", "held_2") if self.shape.weighted else ("held_1", "held_1")
        first, second = (sums_by(rank, losses.column(name), k) for name in both)
        return first, second

    def sum_groups(self, keys: NDArray[Any], called: str) -> SparseSums:
        """The weights of each rank by group."""
        losses = LossTable(self.table, self.shape)
        codes, own = keyed(groups(self.table.get_column("group").to_native(), called))
        group_index = np.searchsorted(keys, own) if keys.dtype.kind != "O" else _places(keys, own)
        return SparseSums.of(group_index[codes], losses.codes("rank"), losses.column("held_1"), self.shape.k)


def _places(keys: NDArray[Any], own: NDArray[Any]) -> Codes:
    at = {key: index for index, key in enumerate(keys.tolist())}
    return np.array([at[key] for key in own.tolist()], dtype=np.int64)


def probabilities_of(
    table: nw.DataFrame[Any], shape: Shape, called: str = "group", ranked: Ranked | None = None
) -> Probabilities:
    """The evidence from collected sums; `called` is what an error calls the column of groups."""
    sums = LossTable(table, shape)
    codes = sums.codes("class")
    ranks = squares = None
    bundles = None
    if ranked is not None:
        ranks, squares = ranked.spread()
    if shape.grouped:
        coded = keyed(groups(table.get_column("group").to_native(), called))
        bundles = sums.groups(coded, None if ranked is None else ranked.sum_groups(coded[1], called))
    return Probabilities(
        n=int(np.rint(sums.column("cases").sum())),
        weighted=shape.weighted,
        top_label=shape.top_label,
        losses={name: sums.moments(name) for name in LOSSES},
        clipped=int(np.rint(sums.column("gone").sum())),
        class_weight=sums_by(codes, sums.column("held_1"), shape.k),
        class_losses={name: sums_by(codes, sums.column(f"{name}_sum"), shape.k) for name in LOSSES},
        reliability=sums.binner().reliability(),
        ranks=ranks,
        rank_squares=squares,
        groups=bundles,
    )


def two_class_centres(score: Floats, hit: NDArray[np.bool_], weight: Floats, least: float) -> dict[str, float]:
    """About the mean of each loss, from scores and how much each stands for.

    >>> two_class_centres(np.array([0.5]), np.array([True]), np.array([2.0]), 1e-16)["brier"]
    0.25
    """
    total = float(weight.sum())
    right = np.abs(~hit - score)
    case = CaseProbabilities(right, np.maximum(right, least), (hit - score) ** 2)
    return {name: float((weight * loss.formula(case)).sum() / total) if total else 0.0 for name, loss in LOSSES.items()}


def class_centres(
    scores: Sequence[Floats], hits: Sequence[NDArray[np.bool_]], weights: Sequence[Floats], least: float
) -> dict[str, float]:
    """The loss of the mean case, from the scores of each class apart: exact where all cases are alike, else near it."""
    total = max(float(weights[0].sum()), 1e-300)
    right = distance = norm = 0.0
    for score, hit, weight in zip(scores, hits, weights, strict=True):
        right += float((weight * hit * score).sum()) / total
        distance += float((weight * (hit - score) ** 2).sum()) / total
        norm += float((weight * score**2).sum()) / total
    case = CaseProbabilities(right, max(right, least), distance * (0.5 if len(scores) == 2 else 1.0), max(norm, least))
    return {name: float(loss.formula(case)) for name, loss in LOSSES.items()}
