"""Tuning inside the training parts: a search over settings, and the inner splits that it uses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import listing, suggest
from heldout.errors import HeldoutError, OptionError
from heldout.learners.learner import knows_sklearn
from heldout.learners.problem import Problem
from heldout.plans import Cases, Plan, kfold, nested
from heldout.plans.plan import check_apart

Pairs = list[tuple[NDArray[np.int64], NDArray[np.int64]]]


INNER = 5


COPIES = "; rows that were drawn more than once were kept together"


def add_search(estimator: Any, grid: Mapping[str, Sequence[Any]] | None, plan: Plan) -> Any:
    """The estimator behind a search over the grid; a search object that was given is taken as it is."""
    if grid is None:
        if not hasattr(estimator, "cv") or not hasattr(estimator, "get_params"):
            raise OptionError(
                f"The plan {plan.text!r} tunes within the training parts, and there is nothing to tune.",
                hint="give grid= (--grid n_neighbors=1,3,5), or a search such as GridSearchCV as the learner.",
            )
        return estimator
    if not isinstance(grid, Mapping):
        raise OptionError(
            f"The grid must name each setting with the values to try. Got {type(grid).__name__}.",
            hint="for example {'n_neighbors': [1, 3, 5]}; for more, give a GridSearchCV as the learner.",
        )
    if not grid:
        raise OptionError("The grid names no setting.", hint="for example {'n_neighbors': [1, 3, 5]}.")
    if not hasattr(estimator, "get_params") or not knows_sklearn(estimator):
        raise OptionError(
            f"A {type(estimator).__name__} lacks what a search needs to change its settings.",
            hint="let its class inherit from sklearn.base.BaseEstimator, or leave out the grid.",
        )
    from sklearn.model_selection import GridSearchCV

    # A classifier's own score is its accuracy; one that has none gets the same.
    scoring = None if hasattr(estimator, "score") else "accuracy"
    return GridSearchCV(estimator, _name_settings(estimator, grid), scoring=scoring, cv=INNER, error_score="raise")


def _name_settings(estimator: Any, grid: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
    """The settings by the names that the estimator knows them by; of a pipeline, those of its last step."""
    known = estimator.get_params()
    steps = getattr(estimator, "steps", None)
    prefix = f"{steps[-1][0]}__" if isinstance(steps, list) and steps else ""
    settings: dict[str, list[Any]] = {}
    for name, values in grid.items():
        full = name if name in known else f"{prefix}{name}"
        if full not in known:
            own = [key.removeprefix(prefix) for key in known if key.startswith(prefix)] if prefix else list(known)
            raise OptionError(
                f"The learner has no setting {name!r}. It has: {listing(sorted(k for k in own if '__' not in k))}.",
                hint=suggest(name, own),
            )
        listed = [values] if isinstance(values, str | bytes) or not hasattr(values, "__iter__") else list(values)
        if not listed:
            raise OptionError(f"The grid has no values for {name!r}.", hint="give at least one.")
        settings[full] = listed
    return settings


def with_inner(plan: Plan) -> Plan:
    """The plan that a grid is searched by: 5-fold within every training part where it does not say."""
    return plan if plan.inner is not None else nested(plan, kfold(INNER))


@dataclass(frozen=True, eq=False)
class InnerSplits:
    """The inner splits of a training part, numbered within it; an object that can travel to other processes.

    A row that a bootstrap drew twice is one group, so that its copies are never on both sides.
    """

    plan: Plan
    truth: NDArray[np.int64] = field(repr=False)
    labels: tuple[object, ...]
    group: NDArray[np.int64] | None = field(default=None, repr=False)
    group_names: Sequence[object] = field(default=(), repr=False)
    seed: int = 0

    @classmethod
    def of(cls, plan: Plan, problem: Problem, seed: int) -> InnerSplits:
        """For the inner plan of a nested one."""
        inner = plan.inner or kfold(INNER)
        return cls(inner, problem.truth, problem.labels, problem.group, problem.group_names, seed)

    def __call__(self, rows: NDArray[np.int64]) -> Pairs:
        """The pairs of places among these training rows."""
        copies = self.group is None and len(np.unique(rows)) < len(rows)
        own = None if self.group is None else self.group[rows]
        cases = Cases(self.truth[rows], self.labels, rows if copies else own, self.group_names)
        try:
            splits = self.plan.splits(cases, self.seed)
            check_apart(self.plan, splits, cases)
        except HeldoutError as error:
            what = error.what.rstrip(".")
            if what.split()[0] in ("The", "There", "In", "Class", "Classes"):
                what = f"{what[0].lower()}{what[1:]}"
            raise OptionError(
                f"the inner {self.plan.text} cannot tune on the training rows: {what}{COPIES if copies else ''}.",
                hint=error.hint,
            ) from error
        return list(splits)
