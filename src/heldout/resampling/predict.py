"""What a fitted model says, brought to the order of the problem's labels: classes as places, a score for each label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import listing
from heldout.arrays import Codes, Floats
from heldout.errors import ValuesError
from heldout.resampling.outcome import Problem, ScoreKind

# Probabilities are exponentials of rounded logarithms: this far outside [0, 1] is rounding, and is clipped.
HAIR = 1e-6


@dataclass(frozen=True, eq=False)
class Classes:
    """The labels that occur in the target, in the order NumPy sorts them (that of `classes_`), and their places.

    `rank` is the way back: the order of the label at each place, −1 where the label does not occur.
    """

    names: tuple[Any, ...]
    known: NDArray[Any]
    places: Codes
    rank: Codes

    @classmethod
    def of(cls, problem: Problem) -> Classes:
        """Those of a problem."""
        size = len(problem.labels)
        first = np.full(size, -1, dtype=np.int64)
        first[problem.truth[::-1]] = np.arange(problem.n - 1, -1, -1)
        met = np.flatnonzero(first >= 0)
        labels = np.asarray(problem.target)[first[met]]
        order = np.argsort(labels, kind="stable")
        rank = np.full(size, -1, dtype=np.int64)
        rank[met[order]] = np.arange(len(met))
        return cls(problem.labels, labels[order], met[order], rank)

    def places_of(self, labels: Any) -> Codes:
        """The place of every label; one that the problem does not have is refused."""
        values = np.asarray(labels)
        if (values.dtype.kind in "biuf") == (self.known.dtype.kind in "biuf"):
            at = np.minimum(np.searchsorted(self.known, values), len(self.known) - 1)
            if bool(np.all(self.known[at] == values)):
                return self.places[at]
        table = dict(zip(self.known.tolist(), self.places.tolist(), strict=True))
        strange = list(dict.fromkeys(repr(label) for label in values.tolist() if label not in table))
        if strange:
            raise ValuesError(
                f"it predicted {listing(strange, 3)}, not among the classes "
                f"{listing(map(repr, self.known.tolist()), 6)}",
                hint="a classifier predicts labels that it was trained on.",
            )
        return np.array([table[label] for label in values.tolist()], dtype=np.int64)


def classes_predicted(model: Any, features: Any, n: int, classes: Classes) -> Codes:
    """The places of the classes that a model predicts; `predict` decides, whatever the scores say."""
    predicted = np.asarray(model.predict(features))
    if predicted.ndim == 2 and predicted.shape[1] == 1:
        predicted = predicted[:, 0]
    if predicted.shape != (n,):
        raise ValuesError(
            f"it gave predictions of shape {predicted.shape} for {n} test rows",
            hint="predict returns one label for every row.",
        )
    return classes.places_of(predicted)


def scores_given(
    model: Any, features: Any, n: int, classes: Classes, trained: Codes
) -> tuple[Floats | None, ScoreKind | None]:
    """Probabilities where the model has them, else decision values, else none; `trained` are the truths it saw."""
    if hasattr(model, "predict_proba"):
        try:
            given = model.predict_proba(features)
        except NotImplementedError:
            # Some wrappers have the method for learners that lack it.
            pass
        else:
            return _probabilities(given, n, _columns(model, classes, trained), len(classes.names)), "probability"
    if hasattr(model, "decision_function") and not _pairwise(model):
        given = model.decision_function(features)
        return _decisions(given, n, _columns(model, classes, trained), len(classes.names)), "decision"
    return None, None


def _columns(model: Any, classes: Classes, trained: Codes) -> Codes:
    """The place of each column's label; a model without `classes_` is taken to sort the labels it was trained on."""
    own = getattr(model, "classes_", None)
    if own is None:
        seen = np.zeros(len(classes.names), dtype=bool)
        seen[trained] = True
        return classes.places[seen[classes.places]]
    return classes.places_of(own)


def _pairwise(model: Any) -> bool:
    """Whether decision values are of pairs of classes, which no column of one class can show."""
    model = getattr(model, "best_estimator_", model)
    steps = getattr(model, "steps", None)
    last = steps[-1][1] if steps else model
    several = len(getattr(model, "classes_", ())) > 2
    return several and getattr(last, "decision_function_shape", None) == "ovo"


def _matrix(given: Any, n: int, width: int, what: str) -> Floats:
    values = np.asarray(given, dtype=np.float64)
    if values.shape != (n, width):
        raise ValuesError(
            f"it gave {what} of shape {values.shape} for {n} test rows and {width} classes",
            hint="one column for every class that it was trained on.",
        )
    return values


def _probabilities(given: Any, n: int, columns: Codes, size: int) -> Floats:
    values = np.asarray(given, dtype=np.float64)
    if values.ndim == 1 and len(columns) == 2:
        values = np.column_stack([1 - values, values])
    values = _matrix(values, n, len(columns), "probabilities")
    if not n:
        return np.zeros((0, size))
    low, high = float(values.min()), float(values.max())
    if not (low >= -HAIR and high <= 1 + HAIR):
        _finite(values, "probabilities")
        worst = low if low < -HAIR else high
        raise ValuesError(
            f"it gave a probability of {worst:.6g}, outside 0 to 1",
            hint="predict_proba returns probabilities; values of another kind belong in decision_function.",
        )
    if low < 0 or high > 1:
        values = np.clip(values, 0.0, 1.0)
    if len(columns) == size and bool((columns == np.arange(size)).all()):
        return values
    whole = np.zeros((n, size))
    whole[:, columns] = values
    return whole


def _decisions(given: Any, n: int, columns: Codes, size: int) -> Floats:
    values = np.asarray(given, dtype=np.float64)
    if values.ndim == 2 and values.shape[1] == 1 and len(columns) == 2:
        values = values[:, 0]
    if values.ndim == 1 and len(columns) == 2:
        # scikit-learn's form for two classes: positive values speak for the second.
        values = np.column_stack([-values, values])
        halved = True
    else:
        values = _matrix(values.reshape(n, -1) if values.ndim == 1 else values, n, len(columns), "decision values")
        halved = False
    _finite(values, "decision values")
    whole = values
    if len(columns) < size or bool((columns != np.arange(size)).any()):
        # A class that the model never saw ranks below every other; one below the lowest of the row keeps it finite.
        whole = np.empty((n, size))
        whole[:] = values.min(axis=1, initial=np.inf, keepdims=True) - 1 if n else 0.0
        whole[:, columns] = values
    if size != 2:
        return whole
    return whole[:, 1] if halved else whole[:, 1] - whole[:, 0]


def _finite(values: Floats, what: str) -> None:
    bad = ~np.isfinite(values)
    if bad.any():
        rows = int(bad.any(axis=tuple(range(1, values.ndim))).sum()) if values.ndim > 1 else int(bad.sum())
        kind = "NaN" if np.isnan(values[bad]).all() else "infinite or NaN"
        raise ValuesError(
            f"it gave {kind} {what} for {rows} of {len(values)} test rows",
            hint="look at the features of these rows, or at the learner's settings.",
        )
