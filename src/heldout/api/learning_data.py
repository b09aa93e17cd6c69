"""The data and the learners of a call, in the forms that fitting needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from heldout.errors import OptionError
from heldout.evidence import Label
from heldout.learners.data import read_problem
from heldout.learners.encoding import check_gaps, prepare_learner
from heldout.learners.features import FeatureTable, as_table
from heldout.learners.learner import Learner, read_learner
from heldout.learners.problem import Problem
from heldout.plans import Cases
from heldout.predictions.column_roles import check_column
from heldout.predictions.table import Missing

# Up to here a look for each class is faster than sorting the rows.
FEW_CLASSES = 20


@dataclass(frozen=True)
class Data:
    """The data as they were given, and in the two forms that learners take them."""

    X: Any
    y: Any
    target: Any
    group: Any
    features: Sequence[Any] | None
    drop: Any
    labels: Sequence[Label] | None
    missing: Missing

    def __post_init__(self) -> None:
        if self.X is None:
            raise OptionError("There is no data to learn from.", hint="pass the features and the classes, or a file.")
        object.__setattr__(self, "drop", (self.drop,) if isinstance(self.drop, str) else tuple(self.drop))

    @cached_property
    def table(self) -> FeatureTable:
        """The data as columns; a file, or standard input, is read once."""
        return as_table(self.X)

    def _read(self, *, as_given: bool) -> Problem:
        return read_problem(
            self.table,
            self.y,
            target=self.target,
            group=self.group,
            features=self.features,
            drop=self.drop,
            labels=self.labels,
            missing=self.missing,
            as_given=as_given,
        )

    @cached_property
    def _coded(self) -> Problem:
        """Numbers and codes of categories, for learners that are prepared inside the folds."""
        return self._read(as_given=False)

    @cached_property
    def _given(self) -> Problem:
        """The data frame or the array itself, for learners that do with it what they want."""
        return self._read(as_given=True)

    def form_for(self, learner: Learner) -> Problem:
        """The form that a learner takes: an object gets what it was given with, and the other form is never read."""
        read_here = self.table.from_file or isinstance(self.X, Mapping)
        return self._coded if learner.shortcut or read_here else self._given

    def fold(self, fold: Any, problem: Problem) -> Any:
        """The fold of every row that is left, from a column or one value for each row that was given."""
        if isinstance(fold, str):
            check_column(fold, self.table.columns, self.table.source)
            return (self.table if problem.kept is None else self.table.taken(problem.kept)).values(fold)
        if problem.kept is None or len(fold) != self.table.n:
            return fold
        from sklearn.utils import _safe_indexing

        # Not by way of an array of objects: dates and numbers must stay what they are.
        return _safe_indexing(fold, problem.kept)


def named_learners(learner: Any, seed: int) -> list[Learner]:
    """The learners that were asked for, each under a name of its own."""
    if isinstance(learner, Mapping):
        named = [replace(read_learner(one, seed=seed), name=str(name)) for name, one in learner.items()]
    elif isinstance(learner, list | tuple):
        named = [read_learner(one, seed=seed) for one in learner]
    else:
        named = [read_learner(learner, seed=seed)]
    if not named:
        raise OptionError("There is no learner.", hint="name one, such as 'knn:5', or pass an object.")
    met: dict[str, int] = {}
    for at, one in enumerate(named):
        met[one.name] = met.get(one.name, 0) + 1
        if met[one.name] > 1:
            # Two learners of one name could not be asked for.
            named[at] = replace(one, name=f"{one.name} ({met[one.name]})")
    return named


def ready(learner: Learner, problem: Problem) -> Any:
    """The estimator to fit, behind what its columns need; gaps that it cannot take are refused here."""
    if not learner.shortcut:
        check_gaps(problem, learner)
    return prepare_learner(learner, problem)


def cases_of(problem: Problem) -> Cases:
    """The rows as a plan sees them, with classes in the order they are met: how they are shown must not move a row."""
    met = np.flatnonzero(np.bincount(problem.truth))
    if len(met) <= FEW_CLASSES:
        first = np.array([int((problem.truth == code).argmax()) for code in met.tolist()])
    else:
        met, first = np.unique(problem.truth, return_index=True)
    order = met[np.argsort(first)]
    place = np.zeros(len(problem.labels), dtype=np.int64)
    place[order] = np.arange(len(order))
    labels = tuple(problem.labels[code] for code in order.tolist())
    return Cases(place[problem.truth], labels, problem.group, problem.group_names)
