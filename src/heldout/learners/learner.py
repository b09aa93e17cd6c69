"""A learner: something that can be fitted and then predicts classes, and what must be known of it beforehand."""

from __future__ import annotations

import copy
import inspect
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from heldout.arguments import closest, listing, method_key
from heldout.errors import OptionError, first_line
from heldout.learners.registry import (
    SHORTCUTS,
    NominalAs,
    Shortcut,
    check_learner,
    find_learner_of_others,
    import_learner,
)

LONGEST = 100


@dataclass(frozen=True, eq=False)
class Learner:
    """A learner that was not fitted yet.

    `name` is what a person wrote, or the class with the settings that are not its defaults. `scaled` asks for columns
    of mean 0 and standard deviation 1. `takes_missing` says that it can be fitted on data with gaps as they are.
    `nominal` says how columns of categories are best given to it, and `shortcut` that it came from a short name.
    """

    name: str
    estimator: Any
    scaled: bool = False
    takes_missing: bool = False
    nominal: NominalAs = "one-hot"
    shortcut: bool = False


class Clonable:
    """What is made of the arguments of its constructor, which scikit-learn's clone asks for and sets."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002 - what scikit-learn's clone calls
        """The settings, as they are."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def set_params(self, **params: Any) -> Self:
        """Change the settings."""
        for name, value in params.items():
            setattr(self, name, value)
        return self


def clone_learner(estimator: Any) -> Any:
    """A copy without anything learned: as scikit-learn clones its own, or a deep copy of any other object.

    >>> from sklearn.svm import SVC
    >>> clone_learner(SVC(C=10))
    SVC(C=10)
    """
    try:
        if hasattr(estimator, "get_params"):
            from sklearn.base import clone

            return clone(estimator)
        return copy.deepcopy(estimator)
    except Exception as error:
        raise OptionError(
            f"A {type(estimator).__name__} cannot be copied, as every fold needs: {first_line(error)}.",
            hint="its constructor must keep its arguments unchanged under their own names, and they must be copyable.",
        ) from error


def takes_missing(estimator: Any) -> bool | None:
    """Whether a learner can be fitted on data with gaps; None for an object that does not say.

    A pipeline can when every step can, or when some step may fill the gaps. A search can when what it tunes can.

    >>> from sklearn.svm import SVC
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> takes_missing(SVC()), takes_missing(DecisionTreeClassifier())
    (False, True)
    """
    steps = getattr(estimator, "steps", None)
    if isinstance(steps, list):
        parts = [step for _, step in steps if step is not None and not isinstance(step, str)]
        return any(_may_fill(part) for part in parts) or all(takes_missing(part) for part in parts)
    inner = getattr(estimator, "estimator", None)
    if hasattr(inner, "fit") and takes_missing(inner):
        return True
    tags = _read_tags(estimator)
    return None if tags is None else bool(tags.input_tags.allow_nan or tags.no_validation)


def takes_sparse(estimator: Any) -> bool:
    """Whether a learner says of itself that it can be fitted on a sparse matrix."""
    tags = _read_tags(estimator)
    return tags is not None and bool(tags.input_tags.sparse)


def is_wrapper(estimator: Any) -> bool:
    """Whether what is fitted in the end lies inside: a pipeline, a search, a committee."""
    return any(getattr(estimator, name, None) is not None for name in ("steps", "estimator", "estimators"))


def knows_sklearn(estimator: Any) -> bool:
    """Whether scikit-learn's own pipelines can work with an object."""
    return _read_tags(estimator) is not None


def _may_fill(step: Any) -> bool:
    return "Imputer" in type(step).__name__ or hasattr(step, "transformers") or hasattr(step, "transformer_list")


def _read_tags(estimator: Any) -> Any:
    from sklearn.utils import get_tags

    try:
        with warnings.catch_warnings():
            # scikit-learn 1.6 makes up tags for objects that have none, and warns.
            warnings.simplefilter("error")
            return get_tags(estimator)
    except Exception:  # noqa: BLE001 - whatever a foreign object raises, it has not said
        return None


def describe_learner(estimator: Any) -> str:
    """The class of an object with the settings that are not its defaults; a pipeline as its steps.

    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn.svm import SVC
    >>> describe_learner(make_pipeline(StandardScaler(), SVC(C=10)))
    'StandardScaler + SVC(C=10)'
    """
    steps = getattr(estimator, "steps", None)
    if isinstance(steps, list):
        text = " + ".join(describe_learner(step) for _, step in steps if step is not None and not isinstance(step, str))
    else:
        changed = _list_changed_settings(estimator)
        shown = ", ".join(
            f"{name}={describe_learner(value) if hasattr(value, 'get_params') else repr(value)}"
            for name, value in changed.items()
        )
        text = f"{type(estimator).__name__}({shown})" if shown else type(estimator).__name__
    text = " ".join(text.split())
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _list_changed_settings(estimator: Any) -> dict[str, Any]:
    try:
        settings = estimator.get_params(deep=False)
        parameters = inspect.signature(type(estimator)).parameters
        return {
            name: value
            for name, value in settings.items()
            if name not in parameters or repr(value) != repr(parameters[name].default)
        }
    except Exception:  # noqa: BLE001 - the name is decoration: a foreign object may do without
        return {}


# An encoder before a learner that knows nothing of scikit-learn, whose pipelines would refuse it.

ENCODED = ("predict", "predict_proba", "decision_function")


class Chain:
    """What the encoder learned from the training rows is applied to all rows that the learner sees.

    It has predict_proba and decision_function where the learner has them.
    """

    def __init__(self, encoder: Any, learner: Any) -> None:
        self.encoder = encoder
        self.learner = learner

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the encoder and then the learner."""
        self.learner.fit(self.encoder.fit_transform(X, y), y)
        return self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or "learner" not in self.__dict__:
            # While a copy is being made there is nothing to ask yet.
            raise AttributeError(name)
        method = getattr(self.learner, name)
        if name not in ENCODED:
            return method
        return lambda X: method(self.encoder.transform(X))


# From what a person wrote or passed to a learner: a short name, `package.module:Class(...)`, or an object.


_NAMES = f"use one of {listing(SHORTCUTS)}; any other as 'package.module:Class(name=value)'."


def read_learner(spec: Any, *, seed: int = 0) -> Learner:
    """The learner that a text names, or the object itself; `seed` goes to random learners that a text names.

    >>> read_learner("knn:3").estimator
    KNeighborsClassifier(n_neighbors=3)
    >>> read_learner("sklearn.svm:SVC(C=10)").estimator
    SVC(C=10, random_state=0)
    """
    if isinstance(spec, Learner):
        return spec
    if isinstance(spec, str):
        return _from_text(spec.strip(), seed)
    check_learner(spec, spec.__name__ if isinstance(spec, type) else describe_learner(spec))
    return _from_object(spec, describe_learner(spec))


def _from_text(text: str, seed: int) -> Learner:
    head, colon, rest = (part.strip() for part in text.partition(":"))
    known = SHORTCUTS.get(method_key(head))
    if known is not None:
        return _from_shortcut(known, text, rest if colon else None, seed)
    if not colon or not _is_module(head) or not rest or rest[0].isdigit():
        raise _unknown_learner(text, head, rest)
    learner = import_learner(text, head, rest, seed=seed)
    check_learner(learner, f"{text!r}")
    return _from_object(learner, text)


def _from_shortcut(known: Shortcut, text: str, written: str | None, seed: int) -> Learner:
    estimator = known.build(written, seed=seed)
    return Learner(
        text,
        estimator,
        scaled=known.scaled,
        takes_missing=bool(takes_missing(estimator)),
        nominal=known.nominal,
        shortcut=True,
    )


def _from_object(estimator: Any, name: str) -> Learner:
    return Learner(name, estimator, takes_missing=bool(takes_missing(estimator)))


def _is_module(text: str) -> bool:
    return all(part.isidentifier() for part in text.split("."))


def _unknown_learner(text: str, head: str, rest: str) -> OptionError:
    if not text:
        return OptionError("The name of the learner is empty.", hint=_NAMES)
    bare = head.partition("(")[0]
    near = closest(bare, SHORTCUTS)
    other = find_learner_of_others(bare)
    if head.endswith(".py") or "/" in head or "\\" in head:
        module = head.replace("\\", "/").rpartition("/")[2].removesuffix(".py")
        hint = f"name the module, not its file, from the folder that holds it: '{module}:{rest or 'model'}'."
    elif not rest and "." in bare and _is_module(bare):
        module, _, name = head.partition("(")[0].rpartition(".")
        hint = f"a colon stands between the module and the name: '{module}:{name}{head[len(bare) :] or '()'}'."
    elif other is not None:
        hint = f"write {other!r}, which is that learner or the nearest to it here."
    elif near is not None:
        known = SHORTCUTS[near]
        hint = f"did you mean '{near}:{known.number.example}'?" if rest and known.number else f"did you mean {near!r}?"
    elif "(" in head:
        hint = f"name its module too: 'package.module:{text}'."
    else:
        hint = _NAMES
    return OptionError(f"There is no learner {text!r}.", hint=hint)


def read_learners(learner: Any, seed: int) -> list[Learner]:
    """The learners that were asked for, each under a name of its own."""
    if isinstance(learner, Mapping):
        named = [replace(read_learner(each, seed=seed), name=str(name)) for name, each in learner.items()]
    elif isinstance(learner, list | tuple):
        named = [read_learner(each, seed=seed) for each in learner]
    else:
        named = [read_learner(learner, seed=seed)]
    if not named:
        raise OptionError("There is no learner.", hint="name one, such as 'knn:5', or pass an object.")
    times: dict[str, int] = {}
    for index, known in enumerate(named):
        times[known.name] = times.get(known.name, 0) + 1
        if times[known.name] > 1:
            # Two learners of one name could not be asked for.
            named[index] = replace(known, name=f"{known.name} ({times[known.name]})")
    return named
