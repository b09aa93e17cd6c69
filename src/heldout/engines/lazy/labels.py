"""From the combinations that were met to labels, the positive class and notes: as of rows in memory, by the same code.

The table of combinations is small, so it goes through `assemble` as if its rows were cases.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from heldout.arguments import listing
from heldout.arrays import Codes
from heldout.engines.lazy.first import First, check_scores, first_pass
from heldout.engines.lazy.roles import LazyRoles, collected
from heldout.evidence import Label
from heldout.evidence.unfit import Unfit
from heldout.predictions.encode import Coded, encode
from heldout.predictions.scores import RawScores, Scores, settle_scores, sum_tolerance
from heldout.predictions.source import Asked, guessed_scores, no_scores
from heldout.predictions.table import Predictions, assemble

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw


@dataclass(frozen=True, eq=False)
class Settled:
    """What is known after the first pass: the classes of every combination, and which columns the scores are.

    `predictions` are those of the combinations, not of the rows. `truth` and `predicted` are places among its labels,
    one for each combination. `columns` are the places of the score columns: one that speaks for the positive class, or
    one for each class. `made` makes the predicted class of the scores, where no column has it.
    """

    roles: LazyRoles
    first: First
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
        """Whether rows come in groups."""
        return "group" in self.roles.wanted

    def places(self, truth: Any) -> Codes:
        """The place among the labels of every value of a column of true classes, as it is in the data."""
        return places_of(encode(truth, "truth"), self.labels)

    def truths(self, place: int) -> list[Any]:
        """The values of the column of true classes that stand for a class."""
        held = self.first.table.get_column("truth").to_list()
        return list(dict.fromkeys(value for value, at in zip(held, self.truth.tolist(), strict=True) if at == place))


def places_of(coded: Coded, labels: Sequence[Label]) -> Codes:
    """The place among the labels of every row."""
    at = {label: place for place, label in enumerate(labels)}
    # A category that is a number comes as its text from a lazy frame.
    texts = {str(label): place for place, label in enumerate(labels)}
    move = np.array([at.get(label, texts.get(str(label), -1)) for label in coded.labels], dtype=np.int64)
    return np.asarray(move[coded.codes.astype(np.int64) - coded.offset])


def with_scores(roles: LazyRoles, asked: Asked) -> tuple[LazyRoles, list[str]]:
    """The roles with the columns that are scores by their names, and a note where those cannot be used.

    Which they are may depend on the classes, so where there are such columns the classes are read first.
    """
    import narwhals.stable.v2 as nw

    if not roles.free:
        return roles, []
    labels: Sequence[Label] | None = asked.labels
    if not labels:
        met = collected(roles.with_scores((), guessed=False).frame().group_by("truth").agg(nw.len()), "classes")
        labels = encode(met.get_column("truth").to_native(), roles.called["truth"]).classes()
    needed = "predicted" not in roles.wanted
    names, note = guessed_scores(roles.free, labels, asked, lambda column: needed or roles.kinds[column].is_numeric())
    found = roles.with_scores(names, guessed=True)
    if note or needed or asked.missing == "drop":
        return found, [note] if note else []
    scores = [nw.col(f"score_{place}") for place in range(len(names))]
    usable = reduce(lambda one, two: one & two, ((~score.is_null()) & score.is_finite() for score in scores))
    table = found.frame().filter(~usable).select(nw.len().alias("n")).collect()
    if bad := int(table.get_column("n").to_list()[0]):
        what = "1 row has one" if bad == 1 else f"{bad:,} rows have some"
        why = f"the scores in {listing(names)} were not used, because {what} that is missing or not finite"
        return roles.with_scores((), guessed=False), [why]
    return found, []


def settle(roles: LazyRoles, asked: Asked, notes: Sequence[str]) -> Settled:
    """The first pass, and what it tells of the labels."""
    if "predicted" not in roles.wanted:
        return _from_scores(roles, asked, notes)
    first = first_pass(roles, asked.missing)
    check_scores(first)
    seen = _assembled(first, roles, asked, notes, predicted=_twice(first, "predicted"))
    predicted = _half(seen.predicted, seen.predicted_place)
    if len(roles.scores) < 2:
        return Settled(roles, first, seen, _half(seen.truth, seen.truth_place), predicted, (0,) * len(roles.scores))
    columns, seen = _columns(first, roles, seen)
    return Settled(roles, first, seen, _half(seen.truth, seen.truth_place), predicted, columns)


def _from_scores(roles: LazyRoles, asked: Asked, notes: Sequence[str]) -> Settled:
    """The same where the predicted class comes from the scores."""
    import narwhals.stable.v2 as nw

    if not roles.scores:
        raise no_scores(roles.columns, dict(roles.wanted))
    if len(roles.scores) == 1:
        made = nw.col("score_0") >= (0.5 if asked.threshold is None else asked.threshold)
        first = first_pass(roles, asked.missing, made=made)
        check_scores(first)
        seen = _assembled(first, roles, asked, notes)
        truth = _half(seen.truth, seen.truth_place)
        return Settled(roles, first, seen, truth, _sides(first, seen), (0,), made)
    # Which class is predicted where scores are equal depends on the order of the classes: those are read first.
    alone = first_pass(roles, asked.missing, keys=("truth",))
    check_scores(alone)
    seen = _assembled(alone, roles, asked, notes)
    columns, seen = _columns(alone, roles, seen)
    if len(columns) == 1 and seen.scores is not None:
        cut = seen.scores.default_threshold() if asked.threshold is None else asked.threshold
        made = nw.col(f"score_{columns[0]}") >= cut
    else:
        made = _highest(columns)
    first = first_pass(roles, asked.missing, made=made)
    truth = places_of(encode(first.table.get_column("truth").to_native(), roles.called["truth"]), seen.labels)
    predicted = first.column("predicted").astype(np.int64) if len(columns) > 1 else _sides(first, seen)
    return Settled(roles, first, seen, truth, predicted, columns, made)


def _sides(first: First, seen: Predictions) -> Codes:
    """The predicted class of every combination from whether its scores reach the threshold."""
    place = seen.labels.index(seen.positive) if seen.positive is not None else 1
    return np.where(first.column("predicted").astype(bool), place, 1 - place)


def _highest(columns: Sequence[int]) -> nw.Expr:
    """The class with the highest score, the first of equal ones."""
    import narwhals.stable.v2 as nw

    scores = [nw.col(f"score_{column}") for column in columns]
    highest = nw.max_horizontal(*scores)
    level = [(score == highest).cast(nw.Int64) for score in scores]
    made = level[-1] * 0 + (len(scores) - 1)
    # Arithmetic instead of conditions in conditions, which not every engine can do.
    for place in range(len(scores) - 2, -1, -1):
        made = made * (1 - level[place]) + level[place] * place
    return made


def _twice(first: First, name: str) -> Any:
    import narwhals.stable.v2 as nw

    column = first.table.select(name)
    return nw.concat([column, column]).get_column(name).to_native()


def _half(coded: Coded, place: Codes) -> Codes:
    half = len(coded) // 2
    return np.asarray(place[coded.codes[:half].astype(np.int64) - coded.offset])


def _assembled(
    first: First, roles: LazyRoles, asked: Asked, notes: Sequence[str], *, predicted: Any = None
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
    return assemble(truth, told, score=score, notes=notes, called=roles.called, **options)


def _declared(column: Any, roles: LazyRoles, role: str) -> Any:
    """A column of text with the order of the classes that its type declared in the data."""
    categories = roles.declared(role)
    if not categories:
        return column
    import narwhals.stable.v2 as nw
    import polars as pl

    return pl.Series(nw.from_native(column, series_only=True).to_list(), dtype=pl.Enum(categories))


def _columns(first: First, roles: LazyRoles, seen: Predictions) -> tuple[tuple[int, ...], Predictions]:
    """The place of the column of each class, or of the positive one, and the predictions with what is said of them."""
    k = len(roles.scores)
    # Each column is told by its number, which probabilities are not: what is said of these numbers is not used.
    numbers = RawScores(np.arange(k, dtype=np.float64)[None, :], tuple(map(str, roles.scores)))
    found = settle_scores(numbers, seen.labels, seen.positive)
    columns = tuple(int(value) for value in np.atleast_1d(found.values.squeeze()))
    # Of the values only the ends are known, and only whether there is a column for each class is asked of them.
    ends = np.array(first.ends(columns[0])) if len(columns) == 1 else np.zeros((1, k))
    return columns, replace(seen, scores=Scores(ends, _unfit(first, k)))


def _unfit(first: First, k: int) -> Unfit | None:
    """Why scores of every class are no probabilities, if they are none."""
    ends = [first.ends(place) for place in range(k)]
    beyond = Unfit.of_ends(min(low for low, _ in ends), max(high for _, high in ends))
    if beyond is not None:
        return beyond
    totals = np.array([first.column("least_total").min(), first.column("greatest_total").max()])
    worst = totals[np.abs(totals - 1).argmax()]
    return Unfit(total=float(worst)) if abs(worst - 1) > sum_tolerance(k) else None
