"""Looking into the model of every fold, and making the parts of a card from what was found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import closest, listing
from heldout.arrays import Codes
from heldout.cards.importance import (
    Exchanges,
    FoldChanges,
    Importance,
    LossMeasure,
    Scorer,
    importance,
    not_measured,
    related_pairs,
    shuffle,
)
from heldout.cards.surrogate import (
    Fidelity,
    FoldLikeness,
    Questionable,
    fidelity,
    fit_surrogate,
    no_fidelity,
    read_tree,
)
from heldout.cards.usefulness import Judged, Usefulness, not_useful, usefulness
from heldout.errors import ColumnError, HeldoutError, LearnerError, first_line
from heldout.evidence import Label
from heldout.intervals.target import Dependence
from heldout.learners.learner import clone_learner
from heldout.learners.problem import Problem
from heldout.plans.splits import Splits
from heldout.resampling.fit_warnings import hearing
from heldout.resampling.outcome import Run
from heldout.resampling.split_task import Classes, Inner, classes_predicted, rows_of
from heldout.resampling.workers import WORTHWHILE, Jobs, Progress, Ticker
from heldout.results.evaluation import Evaluation

# Looking into the model of every fold: what shuffling its columns does, and whether a small tree can stand for it.

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


# What a card is made from: the data, the models to look into, and the predictions to judge.


# Shuffling more columns than this takes long, and nobody reads the list.
MOST_FEATURES = 200


def width_of(problem: Problem) -> int:
    """The number of columns."""
    return int(problem.features.shape[1])


def feature_names(problem: Problem) -> tuple[str, ...]:
    """The names of the columns; those of a bare matrix are numbered from x0."""
    return problem.names or tuple(f"x{at}" for at in range(width_of(problem)))


def chosen_columns(problem: Problem, permute: Sequence[str] | None) -> tuple[tuple[int, ...], str]:
    """The columns to shuffle, and why none where there are too many of them."""
    names = feature_names(problem)
    if permute is None:
        if len(names) > MOST_FEATURES:
            return (
                (),
                f"there are {len(names):,} features; name up to {MOST_FEATURES} of them with permute= (--permute)",
            )
        return tuple(range(len(names))), ""
    asked = [permute] if isinstance(permute, str) else list(permute)
    unknown = [name for name in asked if name not in names]
    if unknown:
        near = closest(str(unknown[0]), names)
        raise ColumnError(
            f"There is no feature {unknown[0]!r} to shuffle. There are: {listing(names)}.",
            hint=f"did you mean {near!r}?" if near else "use one of these.",
        )
    return tuple(dict.fromkeys(names.index(name) for name in asked)), "" if asked else "no feature was named"


def questionable(problem: Problem) -> tuple[Questionable | None, str]:
    """The data as a tree asks about them, or why there is no such table."""
    if problem.as_given and not (
        hasattr(problem.features, "tocsr")
        or (isinstance(problem.features, np.ndarray) and problem.features.dtype.kind in "fiub")
    ):
        return None, "the data have a form that a tree cannot be asked about"
    return Questionable.of(problem), ""


@dataclass(frozen=True, eq=False)
class Measured:
    """Everything that was measured of the folds, from which the parts of a card are made.

    `coded` holds the data as numbers and codes of categories, None with a reason in `why_not` where they have no such
    form. `model` is the one whose size, speed and tree are shown.
    """

    looking: Looking
    model: Any
    coded: Problem | None
    why_not: str
    changes: tuple[FoldChanges, ...]
    likenesses: tuple[FoldLikeness, ...]
    plan: Dependence
    level: float
    why_no_importance: str = ""

    @property
    def seen(self) -> int | None:
        """How many columns changed an answer when they were shuffled; None where not all were."""
        if not self.changes or len(self.looking.columns) < width_of(self.looking.problem):
            return None
        return int(np.any([one.moved for one in self.changes], axis=0).sum())

    def importance(self) -> Importance:
        """The importance of the features that were shuffled."""
        looking = self.looking
        if not self.changes:
            why = self.why_no_importance or "no test part has two cases whose values could be exchanged"
            return not_measured(looking.measure, why, self.level)
        names = feature_names(looking.problem)
        related = () if self.coded is None else related_pairs(self.coded, looking.seed)
        shown = {names[at] for at in looking.columns}
        drawn = any(one.drawn for one in self.changes)
        return importance(
            [names[at] for at in looking.columns],
            self.changes,
            looking.measure,
            self.plan,
            shuffles=looking.shuffles,
            level=self.level,
            related=tuple(pair for pair in related if {pair.first, pair.second} & shown),
            notes=(f"of larger test parts, {MOST_ROWS:,} cases were shuffled",) if drawn else (),
        )

    def fidelity(self, likeness_plan: Dependence | None = None) -> Fidelity:
        """How far a small tree can stand for the model."""
        looking = self.looking
        if looking.table is None or not self.likenesses:
            return no_fidelity(self.why_not or "there were no cases to fit it to", self.level)
        answers = looking.answers(self.model, np.arange(looking.problem.n))
        labels = looking.problem.labels
        tree = read_tree(fit_surrogate(looking.table.matrix, answers, looking.seed), looking.table, labels)
        plan = likeness_plan or self.plan
        grouped = looking.problem.group is not None
        some = f"of larger training and test parts, {MOST_LIKENED:,} cases drawn at random were used for the agreement"
        notes = (some,) if any(one.drawn for one in self.likenesses) else ()
        return fidelity(self.likenesses, labels, plan, level=self.level, tree=tree, grouped=grouped, notes=notes)


def use_of(run: Run, problem: Problem, evaluation: Evaluation) -> Usefulness:
    """The net benefit of acting on the probabilities of the positive class, or why there is none."""
    positive, level = evaluation.positive, evaluation.level
    if positive is None:
        several = len(problem.labels) > 2
        why = "there are several classes, and none was named as positive" if several else "no class is positive"
        return not_useful(f"{why}; name one with positive= (--positive)", level)
    if run.scores is None or run.score_kind != "probability":
        return not_useful("the model gives no probabilities", level, positive)
    place = problem.labels.index(positive)
    probability: NDArray[np.float64] = run.scores[:, place]
    group: Codes | None = None if problem.group is None else problem.group[run.rows]
    judged = Judged(
        probability,
        problem.truth[run.rows] == place,
        1 / np.bincount(run.rows, minlength=problem.n)[run.rows],
        group,
        evaluation.independent,
    )
    return usefulness(judged, positive, level)


def coded_form(problem: Problem, reread: Any) -> tuple[Problem | None, str]:
    """The data as numbers and codes: the problem itself, or read again by `reread` where a model takes a frame."""
    if not problem.as_given or hasattr(problem.features, "tocsr"):
        return problem, ""
    try:
        found: Problem = reread()
    except HeldoutError as error:
        return None, f"{error.what[:1].lower()}{error.what[1:].rstrip('.')}"
    return found, ""


def source_name(problem: Problem) -> str:
    """What a title calls the data: the name of a file without its folders."""
    return Path(problem.source).name if problem.source else ""


def all_labels(given: Sequence[Label], met: Sequence[Label]) -> tuple[Label, ...]:
    """The labels that a model knows, and those that the data have besides."""
    return (*given, *(label for label in met if label not in given))
