"""Training loops: what Hugging Face's Trainer calls after each evaluation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from heldout.api.evaluate import evaluate
from heldout.arguments import Label, counted, listing
from heldout.arrays import Floats
from heldout.errors import OptionError, ValuesError
from heldout.results.evaluation import Evaluation
from heldout.show.numbers import number_of
from heldout.synonyms import takes_synonyms

# What PyTorch's losses leave out, and with it Hugging Face's models.
IGNORED = -100


@takes_synonyms
def compute_metrics(
    prediction: Any,
    *,
    labels: Sequence[Label] | Mapping[int, Label] | Mapping[str, Label] | None = None,
    positive: Label | None = None,
    measures: str | Iterable[str] | None = None,
) -> dict[str, float]:
    """Figures with their limits for `Trainer(compute_metrics=heldout.compute_metrics)`.

    Parameters
    ----------
    prediction : EvalPrediction or pair of arrays
        What the trainer gives: logits as `predictions` (of several outputs the first), or whole numbers of classes,
        and the true classes as `label_ids`. Those with the label -100 are left out; a sequence of tokens is a group.
    labels : list or dict, optional
        The names of the classes, such as `model.config.id2label`; by default their numbers.
    positive : label, optional
        The positive class, of two.
    measures : str or list of str, optional
        Which figures, as `evaluation.metrics()` takes them.

    >>> from collections import namedtuple
    >>> EvalPrediction = namedtuple("EvalPrediction", "predictions label_ids")
    >>> logits = np.log([[0.9, 0.1], [0.2, 0.8], [0.4, 0.6], [0.7, 0.3]])
    >>> found = compute_metrics(EvalPrediction(logits, np.array([0, 1, 0, 0])), labels={0: "ham", 1: "spam"},
    ...                         positive="spam", measures=["recall", "brier"])
    >>> {name: round(value, 3) for name, value in found.items()}
    {'n': 4.0, 'recall_spam': 1.0, 'recall_spam_low': 0.207, 'recall_spam_high': 1.0, 'brier': 0.125, ...}

    """
    given, truth = _read_prediction(prediction)
    group = np.repeat(np.arange(len(truth)), truth.shape[1]) if truth.ndim == 2 and given.ndim >= 2 else None
    if given.shape == truth.shape and given.dtype.kind in "iub":
        # Classes, as preprocess_logits_for_metrics often makes of the logits.
        names = None if labels is None else _name_classes(labels, len(labels))
        return _evaluate(names, truth, given, None, group, positive).metrics(measures)
    logits = given.astype(np.float64)
    if truth.ndim == 2 and logits.ndim == 3:
        logits, truth = logits.reshape(-1, logits.shape[-1]), truth.reshape(-1)
    if logits.ndim == 1 or (logits.ndim == 2 and logits.shape[1] == 1):
        flat = logits.reshape(-1)
        logits = np.stack([np.zeros_like(flat), flat], axis=1)
    if truth.ndim != 1 or logits.ndim != 2 or len(truth) != len(logits):
        raise refuse_shapes(logits.shape, truth.shape)
    _check_logits(logits[truth != IGNORED])
    probabilities = _softmax(logits)
    names = _name_classes(labels, logits.shape[1])
    predicted = probabilities.argmax(axis=1)
    return _evaluate(names, truth, predicted, probabilities, group, positive).metrics(measures)


def refuse_shapes(logits: Sequence[int], labels: Sequence[int], classes: int | None = None) -> ValuesError:
    """What is said of logits and labels that do not fit each other, or not so many classes."""
    of_classes, name_them = ("", "") if classes is None else (f" with {classes} classes", "; name them with labels=")
    return ValuesError(
        f"The logits have the shape {tuple(logits)} and the labels {tuple(labels)}, which do not go "
        f"together{of_classes}.",
        hint=f"a classifier gives one logit for each class of each case, and one label for each case{name_them}.",
    )


def _evaluate(names: list[Any] | None, truth: Any, predicted: Any, score: Any, group: Any, positive: Any) -> Evaluation:
    """What is counted of the cases that are not left out; classes without names go by their numbers."""
    known, width = truth.reshape(-1) != IGNORED, None if names is None else len(names)
    places = (
        _check_places(values.reshape(-1)[known], width, what)
        for values, what in ((truth, "labels"), (predicted, "predictions"))
    )
    columns = places if names is None else (np.array(names, dtype=object)[at] for at in places)
    return evaluate(
        *columns,
        score=None if score is None else score[known],
        labels=names,
        positive=positive,
        group=None if group is None else group[known],
    )


def _check_places(places: Any, width: int | None, what: str) -> Any:
    """The numbers of classes, refused where one is none: a place before the first would be counted from the last."""
    whole = places.astype(np.int64) if places.dtype.kind in "iub" else None
    if places.dtype.kind == "f" and (np.isfinite(places) & (places == np.floor(places))).all():
        whole = places.astype(np.int64)
    wrong = places if whole is None else places[(whole < 0) | (whole >= (np.inf if width is None else width))]
    if len(wrong):
        known = "from 0 on" if width is None else f"0 to {width - 1}"
        raise ValuesError(
            f"The {what} must be numbers of classes, {known}, or {IGNORED} where there is none. Got "
            f"{listing(dict.fromkeys(map(str, wrong[:1000].tolist())), most=4)}.",
            hint="give the number of each case's class, and a logit for each class.",
        )
    return np.zeros(0, dtype=np.int64) if whole is None else whole


def _check_logits(logits: Floats) -> None:
    bad = np.flatnonzero(~np.isfinite(logits).all(axis=1))
    if len(bad):
        raise ValuesError(
            f"The logits of {number_of(len(bad), 'case')} are not finite; the first is case {bad[0] + 1:,}.",
            hint="look at the loss: the training may have diverged.",
        )


def _read_prediction(prediction: Any) -> tuple[Any, Any]:
    if hasattr(prediction, "predictions"):
        given, truth = prediction.predictions, prediction.label_ids
    elif isinstance(prediction, tuple | list) and len(prediction) == 2:
        given, truth = prediction
    else:
        raise OptionError(
            f"A {type(prediction).__name__} is not what a trainer gives.",
            hint="pass what it gives to compute_metrics, or a pair: (logits, labels).",
        )
    if isinstance(given, tuple | list) and len(given) and np.ndim(given[0]) > 1:
        # Hidden states and the like stand behind the logits.
        given = given[0]
    if given is None or truth is None:
        raise OptionError(
            f"The trainer gave no {'logits' if given is None else 'labels'}.",
            hint="the data that it evaluates on need a column of labels.",
        )
    logits, labels = _read_array(given), _read_array(truth)
    if logits.dtype.kind not in "iubf":
        raise ValuesError(f"The logits must be numbers. Got {type(given).__name__}.", hint="pass an array of them.")
    return logits, labels


def _read_array(values: Any) -> Any:
    """An array of what may be a tensor, also one with a gradient, on a device, or of half its digits."""
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        values = values.float() if values.is_floating_point() else values
    return np.asarray(values)


def _name_classes(labels: Any, width: int) -> list[Any]:
    """The names of the classes in the order of the logits; a mapping from a JSON file has texts for numbers."""
    if labels is None:
        return list(range(width))
    if isinstance(labels, Mapping):
        by_place = {str(place): name for place, name in labels.items()}
        names = [by_place[str(at)] for at in range(len(by_place)) if str(at) in by_place]
    else:
        names = list(labels)
    if len(names) != width:
        raise ValuesError(
            f"There {'is' if len(names) == 1 else 'are'} {counted(len(names), 'name')} of classes and "
            f"{counted(width, 'logit')} for each case.",
            hint="name each class once, in the order of the logits: labels=model.config.id2label.",
        )
    return names


def _softmax(logits: Floats) -> Floats:
    """Probabilities from logits; those that are probabilities already stay as they are."""
    if (logits >= 0).all() and np.allclose(logits.sum(axis=1), 1.0):
        return logits
    with np.errstate(invalid="ignore"):
        powers = np.exp(logits - logits.max(axis=1, keepdims=True, initial=-np.inf))
        return np.asarray(powers / powers.sum(axis=1, keepdims=True))
