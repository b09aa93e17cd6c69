"""The first pass over a lazy frame: how often each combination of classes stands, and which values are missing or bad.

One table is brought here: a row for each combination of truth, prediction, fold and group that is met.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import listing
from heldout.engines.lazy.not_numbers import is_nan
from heldout.engines.lazy.roles import LazyRoles, collected
from heldout.errors import LabelError, ValuesError
from heldout.evidence.counted import ROLES
from heldout.predictions.case_values import LARGEST, SMALLEST
from heldout.predictions.encode import encode
from heldout.predictions.table import Missing, NothingWholeError, check_missing_word

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw

# What tells the combinations apart; the id of a case would make every row one.
KEYS = ("truth", "predicted", "fold", "group")
# How Decimal writes a whole number.
WRITTEN = re.compile(r"-?\d+\.0+")


@dataclass(frozen=True, eq=False)
class First:
    """What the first pass found: the combinations without missing values, and how many rows were left out.

    `bad` is how many scores of the rows that were kept are not finite.
    """

    table: nw.DataFrame[Any]
    rows: int
    lost: int
    missing: Mapping[str, int]
    bad: int = 0

    def column(self, name: str) -> NDArray[Any]:
        """A column of numbers."""
        return np.asarray(self.table.get_column(name).to_numpy())

    def ends(self, place: int) -> tuple[float, float]:
        """The lowest and the highest score of a column."""
        low, high = (self.column(f"{end}_{place}") for end in ("low", "high"))
        return float(low.min()), float(high.max())


def is_missing(roles: LazyRoles, role: str) -> nw.Expr:
    """Whether a role lacks its value in a row."""
    import narwhals.stable.v2 as nw

    if role == "score":
        gaps = [nw.col(f"score_{place}") for place in range(len(roles.scores))]
        return reduce(lambda one, two: one | two, (gap.is_null() | is_nan(gap) for gap in gaps))
    column = nw.col(role)
    floats = role == "weight" or roles.is_float(role)
    return column.is_null() | is_nan(column) if floats else column.is_null()


def flagged(roles: LazyRoles, made: nw.Expr | None = None) -> nw.LazyFrame[Any]:
    """The columns of the roles with `lost`, 0 in rows that lack nothing; `made` makes the predicted class of scores."""
    import narwhals.stable.v2 as nw

    frame = roles.frame()
    held = [role for role in ROLES if role in roles.wanted or (role == "score" and roles.scores)]
    flags = [is_missing(roles, role).cast(nw.Int64) * 2 ** ROLES.index(role) for role in held]
    frame = frame.with_columns(reduce(add, flags).alias("lost"))
    return frame if made is None else frame.with_columns(made.alias("predicted"))


def kept(roles: LazyRoles, made: nw.Expr | None = None) -> nw.LazyFrame[Any]:
    """The rows that lack nothing."""
    import narwhals.stable.v2 as nw

    return flagged(roles, made).filter(nw.col("lost") == 0)


def blanked(roles: LazyRoles, keys: Sequence[str], made: nw.Expr | None = None) -> nw.LazyFrame[Any]:
    """All rows; those that are to be left out hold nothing in the keys, so that they are one combination.

    For Dask nothing is 0 among whole numbers: with gaps pandas makes floats of them, of which large ones fall together.
    """
    import narwhals.stable.v2 as nw

    def blank(key: str) -> nw.Expr:
        held = nw.when(nw.col("lost") == 0).then(nw.col(key))
        kind = roles.kinds[roles.wanted[key]] if key in roles.wanted else None
        if kind is None or not roles.given.implementation.is_dask():
            return held
        return held.otherwise(nw.lit(0, dtype=kind)) if kind.is_integer() or kind == nw.Boolean else held

    return flagged(roles, made).with_columns(*(blank(key).alias(key) for key in keys))


def first_pass(roles: LazyRoles, missing: Missing, *, keys: Sequence[str] = KEYS, made: nw.Expr | None = None) -> First:
    """Count the combinations of the keys, and refuse what cannot be used; `made` makes the prediction of scores."""
    import narwhals.stable.v2 as nw

    check_missing_word(missing)
    _check_labels(roles)
    held = [key for key in keys if key in roles.wanted or (key == "predicted" and made is not None)]
    frame, sums = _with_sums(blanked(roles, held, made), roles)
    table = collected(
        frame.group_by(*held, "lost").agg(nw.len().alias("n"), *sums), "combinations of classes, folds and groups"
    )
    first = _checked(table, roles, missing)
    _check_text(first, roles)
    return first


def _check_text(first: First, roles: LazyRoles) -> None:
    """Refuse whole numbers that Dask made text of: as such they would be other classes than the numbers are."""
    import narwhals.stable.v2 as nw

    if not roles.given.implementation.is_dask():
        return
    for role in ("truth", "predicted"):
        if role in roles.wanted and roles.kinds[roles.wanted[role]] == nw.String:
            held = sorted({str(value) for value in first.table.get_column(role).to_list()})
            if all(WRITTEN.fullmatch(text) for text in held):
                raise LabelError(
                    f"{roles.called[role]} holds whole numbers as text with a point: {listing(held)}. "
                    "Dask makes text of objects of pandas such as Decimal.",
                    hint="convert the column before Dask has it, with astype(int).",
                )


def _check_labels(roles: LazyRoles) -> None:
    """Numbers that are not whole are scores: each may stand once, and none of them is brought here."""
    import narwhals.stable.v2 as nw

    for role in ("truth", "predicted"):
        if role in roles.wanted and roles.is_float(role):
            column = nw.col(role)
            odd = roles.frame().filter(~column.is_null()).filter(column != column.floor())
            for value in odd.select(column.min()).collect().get_column(role).to_list():
                if value is not None:
                    encode(np.array([value]), roles.called[role])


def _with_sums(frame: nw.LazyFrame[Any], roles: LazyRoles) -> tuple[nw.LazyFrame[Any], list[nw.Expr]]:
    """The frame with columns to add up, and the sums and ends that are asked of each combination."""
    import narwhals.stable.v2 as nw

    made: list[nw.Expr] = []
    sums: list[nw.Expr] = []
    if "weight" in roles.wanted:
        weight = nw.col("weight")
        wrong = (~weight.is_finite()) | (weight < 0)
        made += [
            (weight * weight).alias("square"),
            wrong.cast(nw.Int64).cast(nw.Float64).alias("wrong"),
            nw.when(weight > 0).then(weight).alias("above"),
        ]
        sums += [nw.col("weight").sum().alias("weight"), nw.col("square").sum(), nw.col("wrong").sum()]
        sums += [nw.col("above").min().alias("lightest"), nw.col("above").max().alias("heaviest")]
        sums += [weight.min().alias("least")]
    names = [f"score_{place}" for place in range(len(roles.scores))]
    if names:
        bad = [(~nw.col(name).is_finite()).cast(nw.Int64) for name in names]
        made.append(reduce(add, bad).cast(nw.Float64).alias("bad"))
        sums.append(nw.col("bad").sum().alias("bad"))
        for place, name in enumerate(names):
            sums += [nw.col(name).min().alias(f"low_{place}"), nw.col(name).max().alias(f"high_{place}")]
    if len(names) > 1:
        made.append(reduce(add, map(nw.col, names)).alias("total"))
        sums += [nw.col("total").min().alias("least_total"), nw.col("total").max().alias("greatest_total")]
    return frame.with_columns(*made) if made else frame, sums


def _checked(table: nw.DataFrame[Any], roles: LazyRoles, missing: Missing) -> First:
    import narwhals.stable.v2 as nw

    lost, n = (np.asarray(table.get_column(name).to_numpy()).astype(np.int64) for name in ("lost", "n"))
    rows, left = int(n.sum()), int(n[lost != 0].sum())
    if not rows:
        raise ValuesError("There are no cases: truth is empty.", hint="pass at least one case.")
    gaps = {role: int(n[(lost >> place) & 1 == 1].sum()) for place, role in enumerate(ROLES)}
    gaps = {role: number for role, number in gaps.items() if number}
    _check_missing(gaps, rows, left, missing)
    held = First(table.filter(nw.col("lost") == 0), rows, left, gaps)
    if "weight" in roles.wanted:
        _check_weight(held)
    if not roles.scores:
        return held
    return First(held.table, rows, left, gaps, int(held.column("bad").sum()))


def _check_missing(gaps: Mapping[str, int], rows: int, left: int, missing: Missing) -> None:
    counts = ", ".join(f"{role} in {number:,}" for role, number in gaps.items())
    if left and missing == "refuse":
        what = "rows has a missing value" if left == 1 else "rows have missing values"
        raise ValuesError(
            f"{left:,} of {rows:,} {what}: {counts}.",
            hint="missing='drop' (--missing drop) leaves them out and says so; better is to find out why.",
        )
    if left == rows:
        raise NothingWholeError.of(rows, gaps)


def _check_weight(held: First) -> None:
    """Refuse weights as those of rows in memory are refused."""
    wrong = int(held.column("wrong").sum())
    if wrong:
        least = float(held.column("least").min())
        raise ValuesError(
            f"Weights must be finite and not negative. {wrong:,} of {held.rows - held.lost:,} are "
            f"{'negative' if least < 0 else 'infinite'}{f', the least is {least:g}' if least < 0 else ''}.",
            hint="give weight 0 to a case that should not count.",
        )
    lightest, heaviest = held.column("lightest").astype(np.float64), held.column("heaviest").astype(np.float64)
    if np.isnan(lightest).all():
        raise ValuesError("All weights are zero, so no case counts.", hint="give at least one case a weight.")
    low, high = float(np.nanmin(lightest)), float(np.nanmax(heaviest))
    if low < SMALLEST or high > LARGEST:
        raise ValuesError(
            f"Weights must lie between {SMALLEST:g} and {LARGEST:g}, or be 0. They run from {low:g} to {high:g}.",
            hint="divide all of them by their mean: only their ratios count.",
        )


def check_scores(held: First) -> None:
    """Refuse scores that are not finite."""
    if held.bad:
        raise ValuesError(
            "1 score is not finite." if held.bad == 1 else f"{held.bad:,} scores are not finite.",
            hint="replace infinities by the largest finite score, or leave those rows out.",
        )
