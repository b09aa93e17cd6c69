"""Losses and reliability of probabilities by expressions that any data frame can sum: rows in a lazy frame, or bins.

The same expressions run where the rows are and, once every distinct score is known, on the table of those scores.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from heldout.arrays import Codes, Floats
from heldout.engines.lazy.count_tables import keyed
from heldout.engines.probability_sums import Binner
from heldout.evidence.losses import LOSSES, CaseProbabilities
from heldout.evidence.probabilities import Moments, Probabilities, ProbabilityGroups, SparseSums, sums_by
from heldout.predictions.case_values import groups

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw


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
        both = ("w1", "w2") if self.shape.weighted else ("w1", "w1")
        first, second = (sums_by(rank, losses.column(name), k) for name in both)
        return first, second

    def of_groups(self, keys: NDArray[Any], called: str) -> SparseSums:
        """The weights of each rank by group."""
        losses = LossTable(self.table, self.shape)
        codes, own = keyed(groups(self.table.get_column("group").to_native(), called))
        group_index = np.searchsorted(keys, own) if keys.dtype.kind != "O" else _places(keys, own)
        return SparseSums.of(group_index[codes], losses.codes("rank"), losses.column("w1"), self.shape.k)


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
        bundles = sums.groups(coded, None if ranked is None else ranked.of_groups(coded[1], called))
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
