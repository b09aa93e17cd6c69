"""What a model loses when one column is shuffled: the losses of its answers before and after, case by case."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import closest, listing, method_key
from heldout.arrays import Codes, Floats
from heldout.errors import OptionError
from heldout.resampling.predict import Classes, classes_predicted, scores_given
from heldout.resampling.split_task import rows_of


@dataclass(frozen=True, slots=True)
class LossMeasure:
    """A measure that is a mean over cases, so that it can be said how much each case adds to it."""

    name: str
    change: str
    probabilities: bool


MEASURES = {
    one.name: one
    for one in (
        LossMeasure("brier", "rise of the Brier score", probabilities=True),
        LossMeasure("log_loss", "rise of the log loss", probabilities=True),
        LossMeasure("accuracy", "drop in accuracy", probabilities=False),
    )
}


def read_measure(name: str | None, *, probabilities: bool) -> LossMeasure:
    """The measure of that name; without one, the Brier score where there are probabilities, otherwise accuracy.

    Log loss is not the default: one case that a shuffled column gives probability 0, as trees, forests and neighbours
    do, would make it infinite.

    >>> read_measure(None, probabilities=True).change
    'rise of the Brier score'
    """
    if name is None:
        return MEASURES["brier" if probabilities else "accuracy"]
    key = method_key(name).replace("-", "_")
    found = MEASURES.get(key)
    if found is None:
        near = closest(key, MEASURES)
        raise OptionError(
            f"There is no importance by {name!r}. There is: {listing(MEASURES)}.",
            hint=f"did you mean {near!r}?" if near else "use one of these, or none for the usual one.",
        )
    if found.probabilities and not probabilities:
        raise OptionError(
            f"The importance by {found.name} needs probabilities, and the model gives none.", hint="use 'accuracy'."
        )
    return found


@dataclass(frozen=True, eq=False)
class Scorer:
    """A fitted model, and how its answers are judged; `trained` are the classes of its training cases, as places."""

    model: Any
    classes: Classes
    measure: LossMeasure
    trained: Codes

    def answers(self, features: Any, n: int) -> NDArray[Any]:
        """What the model says of n rows: probabilities where the measure needs them, otherwise classes as places."""
        if not self.measure.probabilities:
            return classes_predicted(self.model, features, n, self.classes)
        scores, kind = scores_given(self.model, features, n, self.classes, self.trained)
        if scores is None or kind != "probability":
            raise OptionError(
                f"The importance by {self.measure.name} needs probabilities, and the model gives none.",
                hint="use 'accuracy'.",
            )
        return scores

    def losses(self, answers: NDArray[Any], truth: Codes) -> Floats:
        """The loss of every case: its mean is the measure (one less, for accuracy)."""
        if self.measure.name == "accuracy":
            return np.asarray(answers != truth, dtype=np.float64)
        own = answers[np.arange(len(truth)), truth]
        if self.measure.name == "log_loss":
            with np.errstate(divide="ignore"):
                return np.asarray(-np.log(own))
        wrong = np.square(answers).sum(axis=1) - np.square(own) + np.square(1 - own)
        # Of two classes the Brier score counts one, as everybody does.
        return np.asarray(wrong / 2 if answers.shape[1] == 2 else wrong)


@dataclass(frozen=True, eq=False)
class Shuffled:
    """What shuffling each column did: the mean change of every case's loss, and of every shuffle.

    `cases` and `donors` have one row per column and one place per case: the mean change of its own loss, and that of
    the losses of those who got its value. `shuffles` has one row per column and one place per shuffle, `variance` is
    that of the single changes. `moved` says whether any answer changed at all.
    """

    cases: Floats
    donors: Floats
    shuffles: Floats
    variance: Floats
    moved: NDArray[np.bool_]


def shuffle(scorer: Scorer, features: Any, truth: Codes, columns: list[int], orders: NDArray[np.int64]) -> Shuffled:
    """Shuffle each of the columns by its orders, which have one row per shuffle: columns × shuffles × cases.

    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = np.array([[0.0, 5.0], [1.0, 5.0], [0.0, 6.0], [1.0, 6.0]]), np.array([0, 1, 0, 1])
    >>> classes = Classes((0, 1), np.array([0, 1]), np.array([0, 1]), np.array([0, 1]))
    >>> scorer = Scorer(DecisionTreeClassifier().fit(X, y), classes, MEASURES["accuracy"], y)
    >>> shuffle(scorer, X, y, [0, 1], np.array([[[1, 0, 2, 3]]] * 2)).shuffles
    array([[0.5],
           [0. ]])
    """
    times, n = orders.shape[1], len(truth)
    truths = np.tile(truth, times)
    # The unshuffled rows as often as the shuffled ones: a sum of products may be rounded otherwise in a smaller table.
    stacked = rows_of(features, np.tile(np.arange(n), times))
    before = scorer.answers(stacked, times * n)
    base = scorer.losses(before, truths)
    cases, donors = np.empty((len(columns), n)), np.empty((len(columns), n))
    shuffles, variance = np.empty((len(columns), times)), np.empty(len(columns))
    moved = np.zeros(len(columns), dtype=bool)
    for at, changed in enumerate(_each(stacked, columns, [one.ravel() for one in orders])):
        after = scorer.answers(changed, times * n)
        # Infinite before and after is no change.
        with np.errstate(invalid="ignore"):
            difference = np.where(after.reshape(times * n, -1) == before.reshape(times * n, -1), 0.0, 1.0).any(axis=1)
            rise = np.where(difference, scorer.losses(after, truths) - base, 0.0).reshape(times, n)
            variance[at] = rise.var()
        moved[at] = bool(difference.any())
        cases[at], shuffles[at] = rise.mean(axis=0), rise.mean(axis=1)
        donors[at] = np.bincount(orders[at].ravel(), weights=rise.ravel(), minlength=n) / times
    return Shuffled(cases, donors, shuffles, variance, moved)


def _each(stacked: Any, columns: list[int], orders: list[Codes]) -> Iterator[Any]:
    """The rows with one column after the other shuffled; each is to be used before the next is asked for."""
    if isinstance(stacked, np.ndarray):
        table = stacked.copy()
        for column, order in zip(columns, orders, strict=True):
            table[:, column] = stacked[order, column]
            yield table
            table[:, column] = stacked[:, column]
    elif hasattr(stacked, "tocsr"):
        from scipy import sparse

        held = stacked.tocsc()
        for column, order in zip(columns, orders, strict=True):
            parts = [held[:, :column], held[order][:, [column]], held[:, column + 1 :]]
            yield sparse.hstack([part for part in parts if part.shape[1]]).tocsr()
    else:
        yield from _of_frame(stacked, columns, orders)


def _of_frame(stacked: Any, columns: list[int], orders: list[Codes]) -> Iterator[Any]:
    import narwhals.stable.v2 as nw

    if hasattr(stacked, "reset_index"):
        # The labels of pandas' rows would put the values back where they were.
        stacked = stacked.reset_index(drop=True)
    frame = nw.from_native(stacked, eager_only=True)
    for column, order in zip(columns, orders, strict=True):
        name = frame.columns[column]
        moved = frame.select(nw.col(name))[order.tolist()].to_native()
        if hasattr(moved, "reset_index"):
            moved = moved.reset_index(drop=True)
        yield frame.with_columns(nw.from_native(moved, eager_only=True).get_column(name)).to_native()
