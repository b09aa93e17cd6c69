"""The first pass over a lazy frame: how often each combination of classes stands, and which values are missing or bad.

One table is brought here: a row for each combination of truth, prediction, fold and group that is met.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from heldout.arguments import Missing, listing
from heldout.arrays import Codes
from heldout.engines.lazy.roles import LazyRoles, collected
from heldout.engines.lazy.sum_tables import collect_row, group_codes, whole_numbers
from heldout.errors import LabelError, ValuesError
from heldout.evidence import Label
from heldout.evidence.counted import ROLES
from heldout.evidence.labels import places
from heldout.evidence.probabilities import Unfit
from heldout.predictions.case_values import (
    NONE_BELOW_HALF,
    TAKEN_AS_SCORES,
    RawScores,
    Scores,
    check_weight_range,
    refuse_confidences,
    refuse_infinite,
    refuse_two_columns,
    refuse_weights,
    settle_scores,
    unfit_of,
)
from heldout.predictions.label_encoding import Coded, encode
from heldout.predictions.positive_class import renamed
from heldout.predictions.score_columns import guessed_scores, no_scores
from heldout.predictions.source import ReadOptions
from heldout.predictions.table import NO_CASES, Predictions, assemble, check_lost, check_missing_word


def is_nan(column: nw.Expr) -> nw.Expr:
    """Whether a float is not a number; where it is missing, missing too.

    Not by the engine's own test alone: DuckDB takes it for false where the least and the greatest value that a Parquet
    file notes, which leave nan out, are ordinary numbers, and works other tests out beforehand where the two are equal.
    Each of these sees what another misses.
    """
    told = column.is_nan() | (~column.is_finite()) | ((column - column) != 0)
    return told & (column != np.inf) & (column != -np.inf)


# The columns that are grouped by; not the id, by which every row would be a group of its own.
KEYS = ("truth", "predicted", "fold", "group")
# About what an entry of a group, a class and a bin takes in memory.
BYTES_OF_ENTRY = 200
# How Decimal writes a whole number.
WRITTEN = re.compile(r"-?\d+\.0+")


@dataclass(frozen=True, eq=False)
class LabelPass:
    """What the first pass found: the combinations without missing values, and how many rows were left out."""

    table: nw.DataFrame[Any]
    rows: int
    lost: int
    missing: Mapping[str, int]

    def column(self, name: str) -> NDArray[Any]:
        """A column of numbers."""
        return np.asarray(self.table.get_column(name).to_numpy())

    def ends(self, place: int) -> tuple[float, float]:
        """The lowest and the highest score of a column."""
        low, high = (self.column(f"{end}_{place}") for end in ("low", "high"))
        return float(low.min()), float(high.max())


def lacks(column: nw.Expr, *, floats: bool) -> nw.Expr:
    """Whether a value is missing; of floats nan is, too."""
    return column.is_null() | is_nan(column) if floats else column.is_null()


def is_missing(roles: LazyRoles, role: str) -> nw.Expr:
    """Whether a role lacks its value in a row."""
    if role == "score":
        gaps = [nw.col(f"score_{index}") for index in range(len(roles.scores))]
        return reduce(lambda left, right: left | right, (lacks(gap, floats=True) for gap in gaps))
    return lacks(nw.col(role), floats=role == "weight" or roles.is_float(role))


def flagged(roles: LazyRoles, made: nw.Expr | None = None) -> nw.LazyFrame[Any]:
    """The columns of the roles with `lost`, 0 in rows that lack nothing; `made` makes the predicted class of scores."""
    frame = roles.frame()
    present_roles = [role for role in ROLES if role in roles.wanted or (role == "score" and roles.scores)]
    flags = [is_missing(roles, role).cast(nw.Int64) * 2 ** ROLES.index(role) for role in present_roles]
    frame = frame.with_columns(reduce(add, flags).alias("lost"))
    if made is None:
        return frame
    if len(roles.scores) > 1:
        # A column of its own: as a part of each comparison with it Spark would find it once for each.
        scores = [nw.col(f"score_{index}") for index in range(len(roles.scores))]
        frame = frame.with_columns(nw.max_horizontal(*scores).alias("highest"))
    return frame.with_columns(made.alias("predicted"))


def kept(roles: LazyRoles, made: nw.Expr | None = None) -> nw.LazyFrame[Any]:
    """The rows that lack nothing."""
    return flagged(roles, made).filter(nw.col("lost") == 0)


def blanked(roles: LazyRoles, keys: Sequence[str], made: nw.Expr | None = None) -> nw.LazyFrame[Any]:
    """All rows; those that are to be left out hold nothing in the keys, so that they are one combination.

    For Dask nothing is 0 among whole numbers: with gaps pandas makes floats of them, of which large ones fall together.
    """

    def blank(key: str) -> nw.Expr:
        kept_value = nw.when(nw.col("lost") == 0).then(nw.col(key))
        kind = roles.kinds[roles.wanted[key]] if key in roles.wanted else None
        if kind is None or not roles.given.implementation.is_dask():
            return kept_value
        return kept_value.otherwise(nw.lit(0, dtype=kind)) if kind.is_integer() or kind == nw.Boolean else kept_value

    return flagged(roles, made).with_columns(*(blank(key).alias(key) for key in keys))


def first_pass(
    roles: LazyRoles, missing: Missing, *, keys: Sequence[str] = KEYS, made: nw.Expr | None = None
) -> LabelPass:
    """Count the combinations of the keys, and refuse what cannot be used; `made` makes the prediction of scores."""
    check_missing_word(missing)
    _check_labels(roles)
    present_keys = [key for key in keys if key in roles.wanted or (key == "predicted" and made is not None)]
    frame, sums = _with_sums(blanked(roles, present_keys, made), roles)
    table = collected(
        frame.group_by(*present_keys, "lost").agg(nw.len().alias("n"), *sums),
        "combinations of classes, folds and groups",
    )
    first = _checked(table, roles, missing)
    _check_text(first, roles)
    return first


def _check_text(first: LabelPass, roles: LazyRoles) -> None:
    """Refuse whole numbers that Dask made text of: as such they would be other classes than the numbers are."""
    if not roles.given.implementation.is_dask():
        return
    for role in ("truth", "predicted"):
        if role in roles.wanted and roles.kinds[roles.wanted[role]] == nw.String:
            texts = sorted({str(value) for value in first.table.get_column(role).to_list()})
            if all(WRITTEN.fullmatch(text) for text in texts):
                raise LabelError(
                    f"{roles.called[role]} holds whole numbers as text with a point: {listing(texts)}. "
                    "Dask makes text of objects of pandas such as Decimal.",
                    hint="convert the column before Dask has it, with astype(int).",
                )


def _check_labels(roles: LazyRoles) -> None:
    """Numbers that are not whole are scores: each may stand once, and none of them is brought here."""
    for role in ("truth", "predicted"):
        if role in roles.wanted and roles.is_float(role):
            column = nw.col(role)
            odd = roles.frame().filter(~column.is_null()).filter(column != column.floor())
            if (value := collect_row(odd.select(column.min()))[role]) is not None:
                encode(np.array([value]), roles.called[role])


def _with_sums(frame: nw.LazyFrame[Any], roles: LazyRoles) -> tuple[nw.LazyFrame[Any], list[nw.Expr]]:
    """The frame with columns to add up, and the sums and ends that are asked of each combination."""
    expressions: list[nw.Expr] = []
    sums: list[nw.Expr] = []
    if "weight" in roles.wanted:
        weight = nw.col("weight")
        wrong = (~weight.is_finite()) | (weight < 0)
        expressions += [
            (weight * weight).alias("square"),
            wrong.cast(nw.Int64).cast(nw.Float64).alias("wrong"),
            nw.when(weight > 0).then(weight).alias("above"),
        ]
        sums += [nw.col("weight").sum().alias("weight"), nw.col("square").sum(), nw.col("wrong").sum()]
        sums += [nw.col("above").min().alias("lightest"), nw.col("above").max().alias("heaviest")]
        sums += [weight.min().alias("least")]
    names = [f"score_{index}" for index in range(len(roles.scores))]
    if names:
        bad = [(~nw.col(name).is_finite()).cast(nw.Int64) for name in names]
        expressions.append(reduce(add, bad).cast(nw.Float64).alias("bad"))
        sums.append(nw.col("bad").sum().alias("bad"))
        for index, name in enumerate(names):
            sums += [nw.col(name).min().alias(f"low_{index}"), nw.col(name).max().alias(f"high_{index}")]
    if len(names) > 1:
        expressions.append(reduce(add, map(nw.col, names)).alias("total"))
        sums += [nw.col("total").min().alias("least_total"), nw.col("total").max().alias("greatest_total")]
    return frame.with_columns(*expressions) if expressions else frame, sums


def _checked(table: nw.DataFrame[Any], roles: LazyRoles, missing: Missing) -> LabelPass:
    lost, n = (whole_numbers(table, name) for name in ("lost", "n"))
    rows, left = int(n.sum()), int(n[lost != 0].sum())
    if not rows:
        raise ValuesError(NO_CASES, hint="pass at least one case.")
    gaps = {role: int(n[(lost >> bit) & 1 == 1].sum()) for bit, role in enumerate(ROLES)}
    gaps = {role: number for role, number in gaps.items() if number}
    check_lost(left, rows, gaps, missing)
    label_pass = LabelPass(table.filter(nw.col("lost") == 0), rows, left, gaps)
    if "weight" in roles.wanted:
        _check_weight(label_pass)
    if roles.scores and (bad := int(label_pass.column("bad").sum())):
        raise refuse_infinite(bad)
    return label_pass


def _check_weight(label_pass: LabelPass) -> None:
    """Refuse weights as those of rows in memory are refused."""
    wrong = int(label_pass.column("wrong").sum())
    if wrong:
        least = float(label_pass.column("least").min())
        kind = f"negative, the least is {least:g}" if least < 0 else "infinite"
        raise refuse_weights(f"{wrong:,} of {label_pass.rows - label_pass.lost:,} are {kind}.")
    lightest, heaviest = (label_pass.column(name).astype(np.float64) for name in ("lightest", "heaviest"))
    check_weight_range(float(np.fmin.reduce(lightest, initial=np.inf)), float(np.fmax.reduce(heaviest, initial=0.0)))


# From the combinations that were met to labels, the positive class and notes: as of rows in memory, by the same code.
#
# The table of combinations is small, so it goes through `assemble` as if its rows were cases.


@dataclass(frozen=True, eq=False)
class SettledLabels:
    """What is known after the first pass: the classes of every combination, and which columns the scores are.

    `predictions` are those of the combinations, not of the rows. `truth` and `predicted` are places among its labels,
    one for each combination. `columns` are the places of the score columns: one that speaks for the positive class, or
    one for each class. `made` makes the predicted class of the scores, where no column has it.
    """

    roles: LazyRoles
    first: LabelPass
    predictions: Predictions
    truth: Codes
    predicted: Codes
    columns: tuple[int, ...] = ()
    made: Any = None

    @property
    def labels(self) -> tuple[Label, ...]:
        """The classes."""
        return self.predictions.labels

    @property
    def positive(self) -> int:
        """The place of the class that one column of scores speaks for."""
        positive = self.predictions.positive
        return self.labels.index(positive) if positive is not None else 1

    @property
    def per_class(self) -> bool:
        """Whether every class has a column of scores."""
        return len(self.columns) > 1

    @property
    def n(self) -> int:
        """The number of rows that count."""
        return self.first.rows - self.first.lost

    @property
    def weighted(self) -> bool:
        """Whether rows carry weights."""
        return "weight" in self.roles.wanted

    @property
    def grouped(self) -> bool:
        """Whether a column of groups was named."""
        return "group" in self.roles.wanted

    def group_bytes(self, columns: int) -> int:
        """What so many columns of scores may take in memory here where each group has its own counts."""
        return self.n * columns * BYTES_OF_ENTRY if self.grouped else 0

    def groups_of(self, table: nw.DataFrame[Any]) -> tuple[Codes, NDArray[Any]] | None:
        """The group of each row of a collected table as a code, and the keys of the codes; None without groups."""
        return group_codes(table, self.roles.called["group"]) if self.grouped else None

    def places(self, truth: Any) -> Codes:
        """The place among the labels of every value of a column of true classes, as it is in the data."""
        return places_of(truth, self.labels)

    def truths(self, place: int) -> list[Any]:
        """The values of the column of true classes that stand for a class."""
        classes = self.first.table.get_column("truth").to_list()
        return list(dict.fromkeys(value for value, at in zip(classes, self.truth.tolist(), strict=True) if at == place))


def places_of(values: Any, labels: Sequence[Label]) -> Codes:
    """The place among labels of every value, which may be written in another type: 1 for "1"; -1 for new ones."""
    coded = encode(values, "label")
    rename, _ = renamed(labels, coded.labels)
    return np.asarray(places([rename.get(label, label) for label in coded.labels], labels)[coded.places()])


def with_scores(roles: LazyRoles, asked: ReadOptions) -> tuple[LazyRoles, list[str]]:
    """The roles with the columns that are scores by their names, and a note where those cannot be used.

    Which they are may depend on the classes, so where there are such columns the classes are read first.
    """
    if not roles.free:
        return roles, []
    needed = "predicted" not in roles.wanted
    # Scores that nobody asked for are left out where one cannot be used, unless its row is to be left out instead.
    optional = not needed and asked.missing != "drop"
    labels: Sequence[Label] | None = asked.labels
    unusable: Mapping[Any, int] = {}
    if not labels:
        class_table, unusable = _classes(roles, roles.free if optional else ())
        labels = encode(class_table.get_column("truth").to_native(), roles.called["truth"]).classes()
    names, note = guessed_scores(roles.free, labels, asked, lambda column: needed or roles.kinds[column].is_numeric())
    scored_roles = roles.with_scores(names, guessed=True)
    if note or not optional:
        return scored_roles, [note] if note else []
    if not any(unusable.get(name, 1) for name in names):
        return scored_roles, []
    usable = reduce(lambda left, right: left & right, (_is_usable(index) for index in range(len(names))))
    if bad := int(collect_row(scored_roles.frame().filter(~usable).select(nw.len().alias("n")))["n"]):
        what = "1 row has one" if bad == 1 else f"{bad:,} rows have some"
        why = f"the scores in {listing(names)} were not used, because {what} that is missing or not finite"
        return roles.with_scores((), guessed=False), [why]
    return scored_roles, []


def _is_usable(index: int) -> nw.Expr:
    """Whether a score is a finite number."""
    score = nw.col(f"score_{index}")
    return (~score.is_null()) & score.is_finite()


def _classes(roles: LazyRoles, free: Sequence[Any]) -> tuple[nw.DataFrame[Any], dict[Any, int]]:
    """The true classes that are met, and how many values of each column of numbers cannot be used, in one pass."""
    numbers = [column for column in free if roles.kinds[column].is_numeric()]
    frame = roles.with_scores(numbers, guessed=False).frame()
    bad = {column: f"bad_{index}" for index, column in enumerate(numbers)}
    if bad:
        frame = frame.with_columns(
            *((~_is_usable(index)).cast(nw.Int64).alias(name) for index, name in enumerate(bad.values()))
        )
    table = collected(frame.group_by("truth").agg(nw.len(), *(nw.col(name).sum() for name in bad.values())), "classes")
    return table, {column: sum(table.get_column(name).to_list()) for column, name in bad.items()}


def settle(roles: LazyRoles, asked: ReadOptions, notes: Sequence[str]) -> SettledLabels:
    """The first pass, and what it tells of the labels."""
    if "predicted" not in roles.wanted:
        return _from_scores(roles, asked, notes)
    first = first_pass(roles, asked.missing)
    seen = _assembled(first, roles, asked, notes, predicted=_twice(first, "predicted"))
    predicted = _half(seen.predicted, seen.predicted_place)
    if len(roles.scores) < 2:
        return SettledLabels(
            roles, first, seen, _half(seen.truth, seen.truth_place), predicted, (0,) * len(roles.scores)
        )
    columns, seen = _columns(first, roles, seen)
    return SettledLabels(roles, first, seen, _half(seen.truth, seen.truth_place), predicted, columns)


def _from_scores(roles: LazyRoles, asked: ReadOptions, notes: Sequence[str]) -> SettledLabels:
    """The same where the predicted class comes from the scores."""
    if not roles.scores:
        raise no_scores(roles.columns, dict(roles.wanted))
    if len(roles.scores) == 1:
        is_positive = nw.col("score_0") >= (0.5 if asked.threshold is None else asked.threshold)
        first = first_pass(roles, asked.missing, made=is_positive)
        seen = _assembled(first, roles, asked, notes)
        truth = _half(seen.truth, seen.truth_place)
        return SettledLabels(roles, first, seen, truth, _sides(first, seen), (0,), is_positive)
    # Which class is predicted where scores are equal depends on the order of the classes: those are read first.
    alone = first_pass(roles, asked.missing, keys=("truth",))
    seen = _assembled(alone, roles, asked, notes)
    columns, seen = _columns(alone, roles, seen)
    if len(columns) == 1 and seen.scores is not None:
        cut = seen.scores.default_threshold() if asked.threshold is None else asked.threshold
        is_positive = nw.col(f"score_{columns[0]}") >= cut
    else:
        is_positive = highest_place([nw.col(f"score_{column}") for column in columns], nw.col("highest"))
    first = first_pass(roles, asked.missing, made=is_positive)
    truth = places_of(first.table.get_column("truth").to_native(), seen.labels)
    predicted = first.column("predicted").astype(np.int64) if len(columns) > 1 else _sides(first, seen)
    return SettledLabels(roles, first, seen, truth, predicted, columns, is_positive)


def _sides(first: LabelPass, seen: Predictions) -> Codes:
    """The predicted class of every combination from whether its scores reach the threshold."""
    positive_index = seen.labels.index(seen.positive) if seen.positive is not None else 1
    return np.where(first.column("predicted").astype(bool), positive_index, 1 - positive_index)


def highest_place(scores: Sequence[nw.Expr], highest: nw.Expr) -> nw.Expr:
    """The place of the highest of several scores, the first of equal ones."""
    level = [(score == highest).cast(nw.Int64) for score in scores]
    best = level[-1] * 0 + (len(scores) - 1)
    # Arithmetic instead of conditions in conditions, which not every engine can do.
    for index in range(len(scores) - 2, -1, -1):
        best = best * (1 - level[index]) + level[index] * index
    return best


def _twice(first: LabelPass, name: str) -> Any:
    column = first.table.select(name)
    return nw.concat([column, column]).get_column(name).to_native()


def _half(coded: Coded, place: Codes) -> Codes:
    half = len(coded) // 2
    return np.asarray(place[coded.places(slice(half))])


def _assembled(
    first: LabelPass, roles: LazyRoles, asked: ReadOptions, notes: Sequence[str], *, predicted: Any = None
) -> Predictions:
    """The combinations as predictions, each twice: with its lowest and with its highest score.

    Twice also because what is said of a single case is not said of a combination that stands for many.
    """
    score = None
    if len(roles.scores) == 1:
        score = RawScores(
            np.concatenate([first.column("low_0"), first.column("high_0")]).astype(np.float64),
            (str(roles.scores[0]),),
        )
    elif roles.scores and predicted is None:
        # Only their names matter here; whether they sum to 1 was seen row by row.
        k = len(roles.scores)
        names = tuple(map(str, roles.scores))
        score = RawScores(np.broadcast_to(1 / k, (2 * len(first.table), k)), names)
    options = {**asked.options(), "missing": "refuse"}
    truth = _declared(_twice(first, "truth"), roles, "truth")
    told = None if predicted is None else _declared(predicted, roles, "predicted")
    made = assemble(truth, told, score=score, notes=notes, called=roles.called, **options)
    if made.scores is not None and made.scores.turned is not None:
        raise refuse_confidences(roles.scores[0])
    # Areas of combinations are not those of the cases that they stand for.
    said = [TAKEN_AS_SCORES if note.startswith(NONE_BELOW_HALF) else note for note in made.notes]
    return replace(made, notes=tuple(said))


def _declared(column: Any, roles: LazyRoles, role: str) -> Any:
    """A column of text with the order of the classes that its type declared in the data."""
    categories = roles.declared(role)
    if not categories:
        return column
    import polars as pl

    return pl.Series(nw.from_native(column, series_only=True).to_list(), dtype=pl.Enum(categories))


def _columns(first: LabelPass, roles: LazyRoles, seen: Predictions) -> tuple[tuple[int, ...], Predictions]:
    """The place of the column of each class, or of the positive one, and the predictions with what is said of them."""
    k = len(roles.scores)
    # Each column is told by its number, which probabilities are not: what is said of these numbers is not used.
    numbers = RawScores(np.arange(k, dtype=np.float64)[None, :], tuple(map(str, roles.scores)))
    # Without a positive class the columns stay apart.
    settled_scores = settle_scores(numbers, seen.labels, seen.positive if k == 1 else None)
    columns = tuple(int(value) for value in np.atleast_1d(settled_scores.values.squeeze()))
    unfit = _unfit(first, k)
    if k == len(seen.labels) == 2 and seen.positive is not None:
        if unfit is not None:
            raise refuse_two_columns(roles.scores, unfit)
        columns = (columns[seen.labels.index(seen.positive)],)
    # Of the values only the ends are known, and only whether there is a column for each class is asked of them.
    ends = np.array(first.ends(columns[0])) if len(columns) == 1 else np.zeros((1, k))
    return columns, replace(seen, scores=Scores(ends, unfit))


def _unfit(first: LabelPass, k: int) -> Unfit | None:
    """Why scores of every class are no probabilities, if they are none."""
    ends = [first.ends(index) for index in range(k)]
    totals = np.array([first.column("least_total").min(), first.column("greatest_total").max()])
    worst = float(totals[np.abs(totals - 1).argmax()])
    return unfit_of(min(low for low, _ in ends), max(high for _, high in ends), k, worst)
