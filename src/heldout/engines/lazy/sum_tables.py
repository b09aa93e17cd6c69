"""The small tables that a lazy frame is summed into: counts, as confusion matrices, and losses.

The expressions of the losses run where the rows are and, once every distinct score is known, on the table of those
scores.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add, mul
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from heldout.arrays import Codes, Floats
from heldout.engines.lazy.dask_workers import watch_dask
from heldout.engines.lazy.passes import begin_pass
from heldout.engines.spark import is_spark, without_pandas_warning
from heldout.errors import OptionError
from heldout.evidence.losses import LOSSES, CaseProbabilities, least_probability
from heldout.evidence.probabilities import Moments, Probabilities, ProbabilityGroups, SparseSums, sums_by
from heldout.evidence.probability_bins import USUAL_BINS
from heldout.predictions.case_values import groups


def bring(frame: Any, *, needed: int = 0, backend: str | None = None) -> Any:
    """What a lazy frame of narwhals comes to, by one more pass over the rows; `needed` are the bytes it may take here.

    Polars works through its rows in batches for it. The frame is one that its engine makes, or that of the `backend`.

    >>> import narwhals.stable.v2 as nw
    >>> import polars as pl
    >>> bring(nw.from_native(pl.LazyFrame({"x": [1, 2]}))).get_column("x").to_list()
    [1, 2]
    """
    begin_pass(needed=needed)
    options = {"engine": "streaming"} if frame.implementation.is_polars() else {}
    with watch_dask(is_dask=frame.implementation.is_dask()):
        return frame.collect(backend, **options)


def collect_polars(frame: Any) -> Any:
    """The same as a Polars frame.

    >>> import narwhals.stable.v2 as nw
    >>> import polars as pl
    >>> collect_polars(nw.from_native(pl.LazyFrame({"x": [1, 2]})).select(nw.col("x").sum())).rows()
    [(3,)]
    """
    return bring(frame, backend="polars").to_native()


def numbers(table: Any, name: str) -> Floats:
    """A column of a collected table, as floats."""
    return np.asarray(table.get_column(name).to_numpy()).astype(np.float64)


def whole_numbers(table: Any, name: str) -> Codes:
    """A column of a collected table, as whole numbers."""
    return np.asarray(table.get_column(name).to_numpy()).astype(np.int64)


def collect_row(frame: Any) -> dict[str, Any]:
    """The values of a lazy frame that comes to one row, by name; a pass over the rows.

    >>> import narwhals.stable.v2 as nw
    >>> import polars as pl
    >>> collect_row(nw.from_native(pl.LazyFrame({"x": [1, 2]})).select(nw.col("x").sum()))
    {'x': 3}
    """
    return {name: values[0] for name, values in bring(frame).to_dict(as_series=False).items()}


def send_table(table: Any, beside: Any) -> Any:
    """A Polars frame as a lazy frame of the same engine as another (both of narwhals).

    >>> import narwhals.stable.v2 as nw
    >>> import polars as pl
    >>> there = nw.from_native(pl.LazyFrame({"x": [1]}))
    >>> send_table(pl.DataFrame({"y": [2]}), there).collect().to_dict(as_series=False)
    {'y': [2]}
    """
    kind, native = beside.implementation, beside.to_native()
    if kind.is_polars() or kind.is_ibis() or kind.is_dask():
        return nw.from_native(table).lazy(kind)
    if kind.is_duckdb():
        # DuckDB finds the table by the name of the variable; asked of the relation itself, on its own connection.
        heldout_pushed = table.to_arrow()
        relation = native.query("heldout_beside", "SELECT * FROM heldout_pushed")
        del heldout_pushed
        return nw.from_native(relation)
    if is_spark(beside):
        with without_pandas_warning():
            return nw.from_native(native.sparkSession.createDataFrame(table.to_arrow()))
    raise OptionError(
        f"Scores of {type(native).__name__} cannot be compared where they are.",
        hint="collect the frame first, or give it as a Polars, DuckDB, Ibis, Spark or Dask frame.",
    )


# The log loss takes a probability below it for this one: scores of frames are float64.
LEAST = least_probability(np.empty(0))
# Sums of (loss − centre)ᵇ, for each power of the weight.
ORDERS = (1, 2, 3)


# The sums of w, w² and w³, by which rows of weight w are counted.
POWERS = ("w1", "w2", "w3")


def powers_of(weight: nw.Expr) -> list[nw.Expr]:
    """The powers of a weight, as they are summed."""
    return [reduce(mul, [weight] * power).alias(name) for power, name in enumerate(POWERS, start=1)]


@dataclass(frozen=True, slots=True)
class Shape:
    """How probabilities are summed: classes, weights, groups, and the centre of each loss."""

    k: int
    weighted: bool
    grouped: bool
    top_label: bool
    centres: Mapping[str, float]

    @property
    def powers(self) -> tuple[int, ...]:
        """The powers of the weights that are summed; without weights they are all the same."""
        return (1, 2, 3) if self.weighted else (1,)


def case_losses(case: CaseProbabilities, gap: nw.Expr) -> dict[str, nw.Expr]:
    """Every loss, whether the probability of the true class was raised to the least one, and y − p with its square."""
    losses = {name: loss.formula(case) for name, loss in LOSSES.items()}
    return {"clipped": (case.right < LEAST).cast(nw.Int64).cast(nw.Float64), "gap": gap, "square": gap * gap, **losses}


def raised(right: nw.Expr) -> nw.Expr:
    """The probability of the true class, or the least one where it is below."""
    return nw.when(right < LEAST).then(nw.lit(LEAST)).otherwise(right)


def two_class_case(score: nw.Expr, hit: nw.Expr) -> CaseProbabilities:
    """One probability of a class that came true (`hit` is 1) or did not (0)."""
    gap = hit - score
    # ±p and 1 − p, each rounded once, whichever class is true.
    right = (1.0 - hit - score).abs()
    return CaseProbabilities(right, raised(right), gap * gap)


def with_losses(rows: nw.LazyFrame[Any], name: str) -> nw.LazyFrame[Any]:
    """The rows with all that `summed_losses` needs of two classes, from a column of scores and the `class` (0 or 1)."""
    score, hit = nw.col(name), nw.col("hit")
    rows = rows.with_columns(nw.col("class").cast(nw.Float64).alias("hit"), in_bins(score).alias("place"))
    return rows.with_columns(**case_losses(two_class_case(score, hit), hit - score))


def in_bins(score: nw.Expr) -> nw.Expr:
    """The bin of reliability: an upper edge belongs to the bin below it."""
    inner = np.linspace(0.0, 1.0, USUAL_BINS + 1)[1:-1].tolist()
    bin_index: nw.Expr = reduce(add, ((score > edge).cast(nw.Int64) for edge in inner))
    return bin_index


def summed_losses(frame: nw.LazyFrame[Any], shape: Shape, keys: Sequence[str]) -> nw.LazyFrame[Any]:
    """Every sum by class, hit, bin and the keys.

    The frame has `class`, `hit`, `place` (the bin), `gap`, `square`, every loss, `clipped`, the number of rows as
    `n`, and the powers of the weights as w1, w2 and w3, without weights only w1.
    """
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


def group_codes(table: nw.DataFrame[Any], called: str) -> tuple[Codes, NDArray[Any]]:
    """The group of each row of a collected table as a code, and the keys of the codes."""
    return groups(table.get_column("group").to_native(), called).keyed()


def probabilities_of(
    table: nw.DataFrame[Any], ranked: nw.DataFrame[Any] | None, shape: Shape, called: str
) -> Probabilities:
    """The evidence from collected sums, and of several classes those of each rank of the true one.

    `called` is what an error calls the column of groups.
    """
    codes, place, hit = (whole_numbers(table, name) for name in ("class", "place", "hit"))

    def sums(name: str, key: Codes, size: int) -> Floats:
        return sums_by(key, numbers(table, name), size)

    sides = ["cases", "held_1", "gap_1", "square_1", *(["gap_2", "square_2"] if shape.weighted else [])]
    cases, *binned = (sums(name, hit * USUAL_BINS + place, 2 * USUAL_BINS).reshape(2, USUAL_BINS) for name in sides)
    held = ["held_1", *(f"{name}_sum" for name in LOSSES)]
    ranks = rank_groups = bundles = None
    if ranked is not None:
        rank, weights = whole_numbers(ranked, "rank"), [numbers(ranked, f"held_{at}") for at in shape.powers[:2]]
        ranks = np.stack([sums_by(rank, own, shape.k) for own in (weights[0], weights[-1])])
        if shape.grouped:
            rank_groups = SparseSums.of(group_codes(ranked, called)[0], rank, weights[0], shape.k)
    if shape.grouped:
        group, keys = group_codes(table, called)
        weight, *losses = (sums(name, group, len(keys)) for name in held)
        gaps = SparseSums.of(group, place, numbers(table, "gap_1"), USUAL_BINS)
        bundles = ProbabilityGroups(keys, weight, dict(zip(LOSSES, losses, strict=True)), gaps, rank_groups)
    moments = []
    for name in LOSSES:
        by_order = [(f"held_{power}", *(f"{name}_{power}_{order}" for order in ORDERS)) for power in shape.powers]
        rows = [[numbers(table, own).sum() for own in names] for names in by_order]
        moments.append(Moments.of_powers(shape.centres[name], np.array(rows)))
    return Probabilities.of_sums(
        np.rint(cases).astype(np.int64),
        np.stack(binned),
        moments,
        [sums(name, codes, shape.k) for name in held],
        int(np.rint(numbers(table, "gone").sum())),
        ranks,
        bundles,
    )


def two_class_centres(score: Floats, hit: NDArray[np.bool_], weight: Floats) -> dict[str, float]:
    """About the mean of each loss, from scores and how much each stands for.

    >>> two_class_centres(np.array([0.5]), np.array([True]), np.array([2.0]))["brier"]
    0.25
    """
    total = float(weight.sum())
    case = CaseProbabilities.of_positive(score, hit)
    return {name: float((weight * loss.formula(case)).sum() / total) if total else 0.0 for name, loss in LOSSES.items()}


def class_centres(
    scores: Sequence[Floats], hits: Sequence[NDArray[np.bool_]], weights: Sequence[Floats]
) -> dict[str, float]:
    """The loss of the mean case, from the scores of each class apart: exact where all cases are alike, else near it."""
    total = max(float(weights[0].sum()), 1e-300)
    right = distance = norm = 0.0
    for score, hit, weight in zip(scores, hits, weights, strict=True):
        right += float((weight * hit * score).sum()) / total
        distance += float((weight * (hit - score) ** 2).sum()) / total
        norm += float((weight * score**2).sum()) / total
    case = CaseProbabilities(right, max(right, LEAST), distance * (0.5 if len(scores) == 2 else 1.0), max(norm, LEAST))
    return {name: float(loss.formula(case)) for name, loss in LOSSES.items()}
