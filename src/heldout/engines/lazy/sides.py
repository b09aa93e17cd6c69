"""One classifier of several in lazy frames: its columns under names of our own, without rows that lack a value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from heldout.engines.lazy.not_numbers import is_nan
from heldout.evidence import Label
from heldout.evidence.score_bins import ScoreBins

# The columns of a side are t, p, s and g with its place: truth, answer, score and group. This one names the case.
CASE = "case"


@dataclass(frozen=True, eq=False)
class LazySide:
    """One classifier: a narwhals lazy frame, the names of its columns, and what was counted of them before.

    Without a column of predictions the answer is the positive class from the threshold on or, where there are `each`, a
    column of scores for each label, the class with the highest. `in_order` says that `id`
    is the number of the row, for want of a name of the case, and `distinct` that no id stands twice.
    """

    name: str
    frame: Any
    labels: tuple[Label, ...]
    n: int
    truth: str
    predicted: str | None = None
    score: str | None = None
    id: str | None = None
    positive: Label | None = None
    threshold: float | None = None
    bins: ScoreBins | None = None
    losses: tuple[float, float] | None = None
    in_order: bool = False
    group: str | None = None
    distinct: bool = False
    each: tuple[str, ...] = ()


def columns_of(side: LazySide, at: int, *more: LazySide) -> Any:
    """The columns of one side under names of our own, without rows that lack a value; of several in one frame too."""
    import narwhals.stable.v2 as nw

    schema = side.frame.collect_schema()
    made: dict[str, Any] = {f"t{at}": _label(side.truth, schema)}
    used = [side.truth]
    if side.id is not None:
        made[CASE] = nw.col(side.id)
        used.append(side.id)
    if side.group is not None:
        made[f"g{at}"] = _label(side.group, schema)
        used.append(side.group)
    for place, own in enumerate((side, *more), start=at):
        if own.predicted is not None:
            made[f"p{place}"] = _label(own.predicted, schema)
            used.append(own.predicted)
        elif own.each:
            made[f"p{place}"] = _highest(own.each)
            used += own.each
        if own.score is not None:
            score = nw.col(own.score).cast(nw.Float64)
            # −0 and 0 are one score.
            made[f"s{place}"] = score + 0.0
            used.append(own.score)
            if own.predicted is None and own.threshold is not None:
                made[f"p{place}"] = (score >= own.threshold).cast(nw.Int64)
    return without_gaps(side.frame, used).select(**made)


def _highest(columns: Sequence[str]) -> Any:
    """The place of the highest of several columns, the first of equal ones."""
    import narwhals.stable.v2 as nw

    each = [nw.col(column).cast(nw.Float64) for column in columns]
    highest, found = nw.max_horizontal(*each), nw.lit(len(each) - 1)
    for place in range(len(each) - 2, -1, -1):
        found = nw.when(each[place] == highest).then(nw.lit(place)).otherwise(found)
    return found


def without_gaps(frame: Any, columns: Sequence[str]) -> Any:
    """The rows of a narwhals frame in which all of these columns have a value.

    >>> import narwhals.stable.v2 as nw
    >>> import polars as pl
    >>> whole = without_gaps(nw.from_native(pl.LazyFrame({"x": [1.0, None, float("nan")]})), ["x"])
    >>> whole.collect().to_dict(as_series=False)
    {'x': [1.0]}
    """
    schema = frame.collect_schema()
    return frame.filter(*(~_lacks(column, schema) for column in dict.fromkeys(columns)))


def _label(column: str, schema: Any) -> Any:
    import narwhals.stable.v2 as nw

    kind = schema[column]
    return nw.col(column).cast(nw.String) if kind in (nw.Categorical, nw.Enum) else nw.col(column)


def _lacks(column: str, schema: Any) -> Any:
    import narwhals.stable.v2 as nw

    null = nw.col(column).is_null()
    return null | is_nan(nw.col(column)) if schema[column].is_float() else null
