"""Looking into the model of every fold: what shuffling its columns does, and whether a small tree can stand for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from heldout.arrays import Codes
from heldout.cards.importance import Exchanges, FoldChanges
from heldout.cards.permutation import LossMeasure, Scorer, shuffle
from heldout.cards.surrogate import FoldLikeness, Questionable, fit_surrogate
from heldout.errors import HeldoutError, LearnerError, first_line
from heldout.learners.learner import clone_learner
from heldout.learners.problem import Problem
from heldout.plans.splits import Splits
from heldout.resampling.fit_warnings import hearing
from heldout.resampling.predict import Classes, classes_predicted
from heldout.resampling.split_task import Inner, rows_of
from heldout.resampling.workers import WORTHWHILE, Jobs, Progress, Ticker

# More folds, or more test rows in a fold, make importance and likeness no clearer, only slower.
MOST_FOLDS = 30
MOST_ROWS = 2000
MOST_LIKENED = 20_000


@dataclass(frozen=True, eq=False)
class Looking:
    """What all folds share: the learner, the data, and what to look at.

    `columns` are those to shuffle, `shuffles` how often each. `table` is the data as a tree asks about them, None where
    there is no such table.
    """

    estimator: Any
    problem: Problem
    classes: Classes
    measure: LossMeasure
    columns: tuple[int, ...]
    shuffles: int
    table: Questionable | None
    seed: int
    inner: Inner | None = None

    def fitted(self, train: Codes) -> Any:
        """A fresh copy of the learner, fitted on these rows."""
        model = clone_learner(self.estimator)
        if self.inner is not None:
            model.set_params(cv=self.inner(train))
        found = model.fit(rows_of(self.problem.features, train), np.asarray(self.problem.target)[train])
        # Some learners return a fitted copy and stay as they were; most return themselves.
        return found if hasattr(found, "predict") else model

    def answers(self, model: Any, rows: Codes) -> Codes:
        """What a model says of some rows."""
        return classes_predicted(model, rows_of(self.problem.features, rows), len(rows), self.classes)

    def changes(self, model: Any, train: Codes, test: Codes, split: int) -> FoldChanges | None:
        """What shuffling does to the answers for the test rows; None where there is nothing to shuffle."""
        rng = np.random.default_rng([self.seed, split, 17])
        drawn = len(test) > MOST_ROWS
        if drawn:
            test = np.sort(rng.choice(test, MOST_ROWS, replace=False))
        if len(test) < 2 or not self.columns:
            return None
        start = np.broadcast_to(np.arange(len(test)), (len(self.columns), self.shuffles, len(test)))
        scorer = Scorer(model, self.classes, self.measure, self.problem.truth[train])
        features, truth = rows_of(self.problem.features, test), self.problem.truth[test]
        found = shuffle(scorer, features, truth, list(self.columns), rng.permuted(start, axis=2))
        group = None if self.problem.group is None else self.problem.group[test]
        exchanges = tuple(
            Exchanges(cases, donors, variance, self.shuffles, group)
            for cases, donors, variance in zip(found.cases, found.donors, found.variance.tolist(), strict=True)
        )
        return FoldChanges(found.shuffles.mean(axis=1), found.moved, len(test), exchanges, drawn)

    def likeness(self, model: Any, train: Codes, test: Codes, split: int) -> FoldLikeness | None:
        """A small tree fitted to the answers for the training rows, beside the answers for the test rows."""
        if self.table is None:
            return None
        # A row that a bootstrap drew twice is asked about once: the tree is to imitate, not to weigh.
        rng = np.random.default_rng([self.seed, split, 19])
        train = np.unique(train)
        drawn = max(len(train), len(test)) > MOST_LIKENED
        train, test = (
            rows if len(rows) <= MOST_LIKENED else np.sort(rng.choice(rows, MOST_LIKENED, replace=False))
            for rows in (train, test)
        )
        tree = fit_surrogate(self.table.rows(train), self.answers(model, train), self.seed)
        said = np.asarray(tree.predict(self.table.rows(test)), dtype=np.int64)
        return FoldLikeness(test, self.answers(model, test), said, self.problem.truth[test], drawn)


@dataclass(frozen=True, eq=False)
class Look:
    """What was seen in one fold."""

    split: int
    changes: FoldChanges | None
    likeness: FoldLikeness | None


def look(looking: Looking, split: int, train: Codes, test: Codes, where: str) -> Look:
    """Fit the model of one fold and look into it."""
    with hearing():
        try:
            model = looking.fitted(train)
            return Look(split, looking.changes(model, train, test, split), looking.likeness(model, train, test, split))
        except HeldoutError as error:
            name = type(looking.estimator).__name__
            raise LearnerError(f"{name} failed in {where}: {error.what.rstrip('.')}.", hint=error.hint) from error
        except Exception as error:
            name = type(looking.estimator).__name__
            raise LearnerError(
                f"{name} failed in {where}, when it was looked into: {first_line(error)}.",
                hint="it must predict rows whose values come from different cases; timing=False leaves out the clock.",
            ) from error


def chosen_splits(finished: Codes) -> Codes:
    """The splits to look into: all, or some at even distances where there are very many.

    >>> len(chosen_splits(np.arange(200))), len(chosen_splits(np.arange(10)))
    (30, 10)
    """
    if len(finished) <= MOST_FOLDS:
        return finished
    return finished[np.linspace(0, len(finished) - 1, MOST_FOLDS).round().astype(np.int64)]


def looks(looking: Looking, splits: Splits, chosen: Codes, jobs: Jobs, progress: Progress) -> list[Look]:
    """Look into the models of some splits, here or by workers."""
    made: list[Look] = []
    with Ticker(len(chosen), progress) as ticker:
        for one in _done(looking, splits, chosen.tolist(), jobs):
            made.append(one)
            ticker.tick()
    return sorted(made, key=lambda one: one.split)


def _done(looking: Looking, splits: Splits, chosen: Sequence[int], jobs: Jobs) -> Iterator[Look]:
    began = perf_counter()
    if jobs == "auto":
        yield look(looking, chosen[0], splits.train(chosen[0]), splits.test(chosen[0]), splits.label(chosen[0]))
        chosen = chosen[1:]
        jobs = -1 if (perf_counter() - began) * len(chosen) > WORTHWHILE else 1
    if jobs == 1 or len(chosen) < 2:
        for split in chosen:
            yield look(looking, split, splits.train(split), splits.test(split), splits.label(split))
        return
    import joblib

    call = joblib.delayed(look)
    work = (call(looking, split, splits.train(split), splits.test(split), splits.label(split)) for split in chosen)
    yield from joblib.Parallel(n_jobs=jobs)(work)
