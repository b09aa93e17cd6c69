"""What a fitted model says of cases: its predictions, its scores and its classes, as `evaluate` takes them."""

from __future__ import annotations

from typing import Any

import numpy as np

from heldout.errors import HeldoutError, LearnerError, OptionError, first_line
from heldout.evidence import Label, join_labels
from heldout.predictions.label_encoding import as_label, encode
from heldout.predictions.positive_class import fitted

NO_MODEL = "y was given, the true classes of the cases of a model, and there is no model."
GIVE_ALL = "pass the model, its features and the true classes: evaluate(model, X, y)."


def is_model(data: Any) -> bool:
    """Whether something predicts, as scikit-learn's estimators do.

    >>> from sklearn.tree import DecisionTreeClassifier
    >>> is_model(DecisionTreeClassifier()), is_model([0, 1]), is_model(DecisionTreeClassifier)
    (True, False, False)
    """
    return callable(getattr(data, "predict", None)) and not isinstance(data, type)


def predict_cases(
    model: Any, X: Any, y: Any, options: dict[str, Any], *, scored: bool = True
) -> tuple[Any, dict[str, Any]]:
    """What the model predicts, and the options with the truth, the scores and the classes of the model.

    Probabilities are taken where the model gives them, else decision values; neither where not `scored`. With a
    threshold there are no predictions: they follow from the scores.
    """
    truth = options["truth"] if y is None else y
    if X is None or truth is None:
        lacking = "features" if X is None else "true classes"
        raise OptionError(f"A model was given without the {lacking} of the cases.", hint=GIVE_ALL)
    if options["score"] is not None or (y is not None and options["truth"] is not None):
        given = "score" if options["score"] is not None else "truth"
        raise OptionError(f"A model was given together with {given}=.", hint=GIVE_ALL)
    options = {**options, "truth": truth}
    # Running learners takes plans and learners with it, which columns of predictions need not wait for.
    from heldout.resampling.split_task import capture_warnings

    try:
        with capture_warnings():
            predicted = np.asarray(model.predict(X))
            own = getattr(model, "classes_", None)
            if not isinstance(own, np.ndarray) or own.ndim != 1:
                return predicted, options
            labels = _find_labels(own, truth, options["labels"])
            scores = _find_scores(model, X, len(predicted), labels, own) if scored else None
            options |= {"labels": labels, "score": scores}
    except Exception as error:
        raise explain_failure(model, error, "features") from error
    return (None if options["threshold"] is not None and options["score"] is not None else predicted), options


def explain_failure(model: Any, error: Exception, data: str) -> LearnerError:
    """What is said of a model that fails on the cases that it was given."""
    what = error.what.rstrip(".") if isinstance(error, HeldoutError) else first_line(error)
    return LearnerError(
        f"The model {type(model).__name__} could not predict these cases: {what}.",
        hint=f"fit it first, and pass the {data} in the form and with the columns that it was fitted on.",
    )


def _find_labels(own: Any, truth: Any, asked: Any) -> tuple[Label, ...]:
    """The classes of the model, and those that only the truth has; in the order that was asked for."""
    classes = [as_label(label, "classes_") for label in own.tolist()]
    known = join_labels(classes, fitted(encode(truth, "truth").met(), classes))
    return known if asked is None or set(asked) != set(known) else tuple(asked)


def _find_scores(model: Any, X: Any, n: int, labels: tuple[Label, ...], own: Any) -> Any:
    """One column of scores for each of these classes; None where the model gives none."""
    from heldout.resampling.split_task import Classes, predict_scores

    index_of = {label: at for at, label in enumerate(labels)}
    places = np.array([index_of[as_label(label, "classes_")] for label in own.tolist()], dtype=np.int64)
    rank = np.full(len(labels), -1, dtype=np.int64)
    rank[places] = np.arange(len(places))
    scores, _ = predict_scores(model, X, n, Classes(labels, own, places, rank), places)
    # Decision values of two classes come as one column, which speaks for the second. Two columns count by their
    # difference, which is to be the decision value: a threshold is about that.
    return np.column_stack([-scores / 2, scores / 2]) if scores is not None and scores.ndim == 1 else scores
