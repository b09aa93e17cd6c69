"""Training loops: what Hugging Face's Trainer calls after each evaluation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from heldout.api.evaluate import evaluate
from heldout.arguments import Label
from heldout.arrays import Floats
from heldout.errors import ValuesError

# What PyTorch's losses leave out, and with it Hugging Face's models.
IGNORED = -100


def compute_metrics(
    prediction: Any,
    *,
    labels: Sequence[Label] | Mapping[int, Label] | None = None,
    positive: Label | None = None,
    measures: str | Iterable[str] | None = None,
) -> dict[str, float]:
    """Figures with their limits for `Trainer(compute_metrics=heldout.compute_metrics)`.

    Parameters
    ----------
    prediction : EvalPrediction or pair of arrays
        What the trainer gives: logits as `predictions` (of several outputs the first) and the true classes as
        `label_ids`. Of sequences of tokens those with the label -100 are left out, and a sequence is a group.
    labels : list or dict, optional
        The names of the classes, such as `model.config.id2label`; their numbers unless said.
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
    logits, truth = _read_prediction(prediction)
    group = None
    if truth.ndim == 2 and logits.ndim == 3:
        group = np.repeat(np.arange(len(truth)), truth.shape[1])
        logits, truth = logits.reshape(-1, logits.shape[-1]), truth.reshape(-1)
    if logits.ndim == 1 or logits.shape[1] == 1:
        flat = logits.reshape(-1)
        logits = np.stack([np.zeros_like(flat), flat], axis=1)
    if truth.ndim != 1 or logits.ndim != 2 or len(truth) != len(logits):
        raise ValuesError(
            f"The logits have the shape {logits.shape} and the labels {truth.shape}, which do not go together.",
            hint="a classifier gives one logit for each class of each case, and one label for each case.",
        )
    kept = truth != IGNORED
    names = _name_classes(labels, logits.shape[1])
    probabilities = _softmax(logits[kept])
    return evaluate(
        np.array(names, dtype=object)[truth[kept].astype(np.int64)],
        np.array(names, dtype=object)[probabilities.argmax(axis=1)],
        score=probabilities,
        labels=names,
        positive=positive,
        group=None if group is None else group[kept],
    ).metrics(measures)


def _read_prediction(prediction: Any) -> tuple[Floats, Any]:
    if hasattr(prediction, "predictions"):
        given, truth = prediction.predictions, prediction.label_ids
    else:
        given, truth = prediction
    if isinstance(given, tuple | list) and len(given) and np.ndim(given[0]) > 1:
        # Hidden states and the like stand behind the logits.
        given = given[0]
    return np.asarray(given, dtype=np.float64), np.asarray(truth)


def _name_classes(labels: Any, width: int) -> list[Any]:
    if labels is None:
        return list(range(width))
    names = [labels[at] for at in range(width)] if isinstance(labels, Mapping) else list(labels)
    if len(names) != width:
        raise ValuesError(
            f"There are {len(names)} names of classes and {width} logits for each case.",
            hint="name each class once, in the order of the logits: labels=model.config.id2label.",
        )
    return names


def _softmax(logits: Floats) -> Floats:
    """Probabilities from logits; those that are probabilities already stay as they are."""
    if (logits >= 0).all() and np.allclose(logits.sum(axis=1), 1.0):
        return logits
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))
