"""Refusing, with reasons, what cannot learn to classify."""

from __future__ import annotations

import warnings
from typing import Any

from heldout.errors import OptionError
from heldout.learners.shortcuts import SHORTCUTS

_KINDS = {
    "regressor": (
        "predicts numbers, not classes: it is a regressor",
        "use the classifier of that family (LogisticRegression for LinearRegression, SVC for SVR).",
    ),
    "clusterer": (
        "groups cases without knowing their classes: it is a clusterer",
        "use a classifier, such as 'knn' or 'forest'.",
    ),
    "outlier_detector": (
        "marks unusual cases without knowing their classes: it is an outlier detector",
        "use a classifier, such as 'forest'.",
    ),
}


def check_learner(candidate: Any, called: str) -> None:
    """Refuse anything that cannot be fitted to classes and then predict them; `called` is how the error names it.

    >>> check_learner(print, "print")
    Traceback (most recent call last):
    heldout.errors.OptionError: print has no fit, so nothing can be learned with it.
    Hint: pass an object with fit and predict, or a name such as 'knn' or 'forest'.
    """
    if isinstance(candidate, type):
        raise OptionError(
            f"{called} is a class, not an object of it.",
            hint=f"add parentheses: {candidate.__name__}().",
        )
    if not callable(getattr(candidate, "fit", None)):
        raise OptionError(
            f"{called} has no fit, so nothing can be learned with it.",
            hint=_instead(candidate),
        )
    kind = _kind(candidate)
    if kind in _KINDS:
        what, instead = _KINDS[kind]
        raise OptionError(f"{called} {what}.", hint=instead)
    # Some say what they are before they can predict: a stack hides predict until its last learner is fitted.
    if kind != "classifier" and not callable(getattr(candidate, "predict", None)):
        transforms = hasattr(candidate, "transform")
        raise OptionError(
            f"{called} has no predict{', only transform' if transforms else ''}, so it gives no classes.",
            hint="put it in a pipeline before a classifier: make_pipeline(it, LogisticRegression())."
            if transforms
            else "pass a classifier, an object with fit and predict.",
        )


def _instead(candidate: Any) -> str:
    if isinstance(candidate, list | tuple):
        return "pass one learner; compare several by calling once for each."
    if hasattr(candidate, "predict"):
        return "a fitted model cannot be judged on new splits: pass a learner that can be fitted again."
    return "pass an object with fit and predict, or a name such as 'knn' or 'forest'."


def _kind(candidate: Any) -> str:
    from sklearn.utils import get_tags

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return str(get_tags(candidate).estimator_type or "")
    except Exception:  # noqa: BLE001 - an object without tags may still say what it is
        return str(getattr(candidate, "_estimator_type", ""))


def shortcut_like(candidate: Any) -> str | None:
    """The short name of the learner that has the same class, if one has."""
    name = type(candidate).__name__
    return next((known.name for known in SHORTCUTS.values() if known.class_name == name), None)
