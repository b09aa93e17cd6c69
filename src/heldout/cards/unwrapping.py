"""A fitted model taken apart: pipelines, searches, committees and calibrations down to single predictors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from heldout.cards.parts import Part, part_of
from heldout.cards.sources import Sources, identity, through

# Wrappers inside wrappers, deeper than anybody builds them; an object that holds itself must end somewhere.
DEEPEST = 20


@dataclass(frozen=True, slots=True)
class Found:
    """A predictor, the columns of the data behind each of its own, and whether it sees answers of others instead."""

    part: Part
    sources: Sources | None
    derived: bool = False


@dataclass(eq=False)
class Unwrapped:
    """The predictors of a model, and how many numbers its preparation learned."""

    found: list[Found] = field(default_factory=list)
    preparation: int = 0

    @classmethod
    def of(cls, model: Any, width: int) -> Unwrapped:
        """Take a model apart that was fitted on so many columns.

        >>> from sklearn.ensemble import BaggingClassifier
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> bag = BaggingClassifier(DecisionTreeClassifier(), n_estimators=3, random_state=0)
        >>> len(Unwrapped.of(bag.fit([[1], [2], [3], [4]], [0, 0, 1, 1]), 1).found)
        3
        """
        made = cls()
        made._walk(model, identity(width), derived=False, depth=0)
        return made

    def _walk(self, model: Any, sources: Sources | None, *, derived: bool, depth: int) -> None:
        inner = [] if depth > DEEPEST else list(self._inside(model, sources, derived=derived))
        if not inner:
            self.found.append(Found(part_of(model), sources, derived))
        for one, behind, follows in inner:
            self._walk(one, behind, derived=follows, depth=depth + 1)

    def _inside(self, model: Any, sources: Sources | None, *, derived: bool) -> Iterator[tuple[Any, Any, bool]]:
        """What a wrapper holds: each predictor, with the columns that it sees."""
        ahead, last = _steps(model)
        if last is not None:
            for step in ahead:
                self.preparation += learned_numbers(step)
                sources = through(step, sources)
            yield last, sources, derived
        elif (best := _single(model)) is not None:
            support = getattr(model, "support_", None)
            chosen = support is not None and sources is not None and len(support) == len(sources)
            if chosen and hasattr(model, "get_support"):
                sources = through(model, sources)
            yield best, sources, derived
        elif isinstance(getattr(model, "calibrated_classifiers_", None), list):
            for pair in model.calibrated_classifiers_:
                yield pair.estimator, sources, derived
                for calibrator in pair.calibrators:
                    yield calibrator, None, True
        elif (members := _members(model)) is not None:
            columns = getattr(model, "estimators_features_", None)
            for at, member in enumerate(members):
                seen = sources
                if columns is not None and sources is not None:
                    seen = tuple(sources[int(column)] for column in columns[at])
                yield member, seen, derived
            if getattr(model, "final_estimator_", None) is not None:
                yield model.final_estimator_, None, True


def _steps(model: Any) -> tuple[list[Any], Any]:
    """The steps before the predictor, and the predictor; None where the model is no pipeline."""
    steps = getattr(model, "steps", None)
    if isinstance(steps, list) and steps and all(isinstance(step, tuple) for step in steps):
        return [step for _, step in steps[:-1]], steps[-1][1]
    if type(model).__name__ == "Chain" and hasattr(model, "encoder"):
        return [model.encoder], model.learner
    return [], None


def _single(model: Any) -> Any:
    """The one fitted predictor that a wrapper holds, if it holds one."""
    for name in ("best_estimator_", "estimator_", "base_estimator_"):
        inner = getattr(model, name, None)
        if hasattr(inner, "predict") and not hasattr(model, "estimators_"):
            return inner
    if type(model).__name__ == "FrozenEstimator":
        return model.estimator
    return None


def _members(model: Any) -> list[Any] | None:
    held = getattr(model, "estimators_", None)
    if isinstance(held, np.ndarray):
        held = held.ravel().tolist()
    if not isinstance(held, list | tuple) or not held:
        return None
    # Some voters may have been dropped.
    return [member for member in held if hasattr(member, "predict")] or None


def learned_numbers(step: Any) -> int:
    """How many numbers a step of the preparation keeps from its training cases.

    >>> from sklearn.preprocessing import StandardScaler
    >>> learned_numbers(StandardScaler().fit([[1.0, 2.0], [3.0, 5.0]]))
    4
    """
    if step is None or isinstance(step, str):
        return 0
    for name in ("transformers_", "steps", "transformer_list"):
        inner = getattr(step, name, None)
        if isinstance(inner, list):
            return sum(learned_numbers(one[1]) for one in inner)
    held = {k: v for k, v in getattr(step, "__dict__", {}).items() if k.endswith("_") and not k.startswith("_")}
    if "scale_" in held:
        # The variance says the same again.
        held.pop("var_", None)
    return sum(_numbers(value) for name, value in held.items() if name not in ("feature_names_in_", "classes_"))


def _numbers(value: Any) -> int:
    if isinstance(value, np.ndarray):
        return int(value.size)
    if isinstance(value, list):
        return sum(_numbers(one) for one in value)
    return 0
