"""Looking into the model of every fold, and making the parts of a card from what was found.

It is what workers import, who need nothing of the arguments that `cards.api` reads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import listing, suggest
from heldout.arrays import Codes
from heldout.cards.importance import (
    MOST_FEATURES,
    Exchanges,
    FoldChanges,
    Importance,
    LossMeasure,
    ModelLosses,
    find_related,
    measure_importance,
    not_measured,
    shuffle_columns,
)
from heldout.cards.surrogate import (
    Fidelity,
    FoldLikeness,
    TreeTable,
    fit_surrogate,
    measure_fidelity,
    no_fidelity,
    read_tree,
)
from heldout.cards.usefulness import ProbabilityPredictions, Usefulness, compute_usefulness, not_useful
from heldout.errors import ColumnError, HeldoutError, LearnerError, first_line
from heldout.evidence import Label
from heldout.intervals.dependence import Dependence
from heldout.learners.learner import clone_learner
from heldout.learners.problem import Problem
from heldout.plans.plan import Splits
from heldout.resampling.outcome import Run
from heldout.resampling.split_task import Classes, Inner, capture_warnings, predict_classes, take_rows
from heldout.resampling.workers import WORTHWHILE, Jobs, Progress, Ticker, run_by_processes
from heldout.results.evaluation import Evaluation

# More folds, or more test rows in a fold, make importance and likeness no clearer, only slower.
MOST_FOLDS = 30
MOST_ROWS = 2000
MOST_LIKENED = 20_000


@dataclass(frozen=True, eq=False)
class Inspection:
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
    table: TreeTable | None
    seed: int
    inner: Inner | None = None

    def fitted(self, train: Codes) -> Any:
        """A fresh copy of the learner, fitted on these rows."""
        model = clone_learner(self.estimator)
        if self.inner is not None:
            model.set_params(cv=self.inner(train))
        fitted = model.fit(take_rows(self.problem.features, train), np.asarray(self.problem.target)[train])
        # Some learners return a fitted copy and stay as they were; most return themselves.
        return fitted if hasattr(fitted, "predict") else model

    def answers(self, model: Any, rows: Codes) -> Codes:
        """What a model says of some rows."""
        return predict_classes(model, take_rows(self.problem.features, rows), len(rows), self.classes)

    def changes(self, model: Any, train: Codes, test: Codes, split: int) -> FoldChanges | None:
        """What shuffling does to the answers for the test rows; None where there is nothing to shuffle."""
        rng = np.random.default_rng([self.seed, split, 17])
        drawn = len(test) > MOST_ROWS
        if drawn:
            test = np.sort(rng.choice(test, MOST_ROWS, replace=False))
        if len(test) < 2 or not self.columns:
            return None
        start = np.broadcast_to(np.arange(len(test)), (len(self.columns), self.shuffles, len(test)))
        scorer = ModelLosses(model, self.classes, self.measure, self.problem.truth[train])
        features, truth = take_rows(self.problem.features, test), self.problem.truth[test]
        group = None if self.problem.group is None else self.problem.group[test]
        units, orders = np.arange(len(test)) if group is None else group, rng.permuted(start, axis=2)
        shuffled = shuffle_columns(scorer, features, truth, list(self.columns), orders, units)
        exchanges = tuple(
            Exchanges(cases, donors, variance, self.shuffles, group)
            for cases, donors, variance in zip(shuffled.cases, shuffled.donors, shuffled.variance.tolist(), strict=True)
        )
        return FoldChanges(shuffled.shuffles.mean(axis=1), shuffled.moved, len(test), exchanges, drawn)

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
        tree_answers = np.asarray(tree.predict(self.table.rows(test)), dtype=np.int64)
        return FoldLikeness(test, self.answers(model, test), tree_answers, self.problem.truth[test], drawn)


@dataclass(frozen=True, eq=False)
class FoldInspection:
    """What was seen in one fold."""

    split: int
    changes: FoldChanges | None
    likeness: FoldLikeness | None


def inspect_fold(inspection: Inspection, split: int, train: Codes, test: Codes, where: str) -> FoldInspection:
    """Fit the model of one fold and look into it."""
    with capture_warnings():
        try:
            model = inspection.fitted(train)
            return FoldInspection(
                split, inspection.changes(model, train, test, split), inspection.likeness(model, train, test, split)
            )
        except HeldoutError as error:
            name = type(inspection.estimator).__name__
            raise LearnerError(f"{name} failed in {where}: {error.what.rstrip('.')}.", hint=error.hint) from error
        except Exception as error:
            name = type(inspection.estimator).__name__
            raise LearnerError(
                f"{name} failed in {where}, when it was looked into: {first_line(error)}.",
                hint="it must predict rows whose values come from different cases; timing=False leaves out the clock.",
            ) from error


def choose_splits(finished: Codes) -> Codes:
    """The splits to look into: all, or some at even distances where there are very many.

    >>> len(choose_splits(np.arange(200))), len(choose_splits(np.arange(10)))
    (30, 10)
    """
    if len(finished) <= MOST_FOLDS:
        return finished
    return finished[np.linspace(0, len(finished) - 1, MOST_FOLDS).round().astype(np.int64)]


def inspect_folds(
    inspection: Inspection, splits: Splits, chosen: Codes, jobs: Jobs, progress: Progress
) -> list[FoldInspection]:
    """Look into the models of some splits, here or by workers."""
    folds: list[FoldInspection] = []
    with Ticker(len(chosen), progress) as ticker:
        for fold in _inspect_each(inspection, splits, chosen.tolist(), jobs):
            folds.append(fold)
            ticker.tick()
    return sorted(folds, key=lambda fold: fold.split)


def _inspect_each(
    inspection: Inspection, splits: Splits, chosen: Sequence[int], jobs: Jobs
) -> Iterator[FoldInspection]:
    tasks = ((inspection, split, splits.train(split), splits.test(split), splits.label(split)) for split in chosen)
    left, began = len(chosen), perf_counter()
    if jobs == "auto":
        yield inspect_fold(*next(tasks))
        left -= 1
        jobs = -1 if (perf_counter() - began) * left > WORTHWHILE else 1
    if jobs == 1 or left < 2:
        yield from (inspect_fold(*task) for task in tasks)
        return
    yield from run_by_processes(inspect_fold, tasks, jobs)


def choose_columns(problem: Problem, permute: Sequence[str] | None) -> tuple[tuple[int, ...], str]:
    """The columns to shuffle, and why none where there are too many of them."""
    names = problem.column_names
    if permute is None:
        if len(names) > MOST_FEATURES:
            return (
                (),
                f"there are {len(names):,} features; name up to {MOST_FEATURES} of them with permute= (--permute)",
            )
        return tuple(range(len(names))), ""
    requested = [permute] if isinstance(permute, str) else list(permute)
    unknown = [name for name in requested if name not in names]
    if unknown:
        raise ColumnError(
            f"There is no feature {unknown[0]!r} to shuffle. There are: {listing(names)}.",
            hint=suggest(str(unknown[0]), names),
        )
    return tuple(dict.fromkeys(names.index(name) for name in requested)), "" if requested else "no feature was named"


def make_tree_table(problem: Problem) -> tuple[TreeTable | None, str]:
    """The data as a tree asks about them, or why there is no such table."""
    if problem.as_given and not (
        hasattr(problem.features, "tocsr")
        or (isinstance(problem.features, np.ndarray) and problem.features.dtype.kind in "fiub")
    ):
        return None, "the data have a form that a tree cannot be asked about"
    return TreeTable.of(problem), ""


@dataclass(frozen=True, eq=False)
class Inspected:
    """Everything that was measured of the folds, from which the parts of a card are made.

    `coded` holds the data as numbers and codes of categories, None with a reason in `why_not` where they have no such
    form. `model` is the one whose size, speed and tree are shown.
    """

    inspection: Inspection
    model: Any
    coded: Problem | None
    why_not: str
    why_no_importance: str
    changes: tuple[FoldChanges, ...]
    likenesses: tuple[FoldLikeness, ...]
    plan: Dependence
    level: float

    @property
    def columns_moved(self) -> int | None:
        """How many columns changed an answer when they were shuffled; None where not all were."""
        if not self.changes or len(self.inspection.columns) < self.inspection.problem.width:
            return None
        return int(np.any([fold.moved for fold in self.changes], axis=0).sum())

    def importance(self) -> Importance:
        """The importance of the features that were shuffled."""
        inspection = self.inspection
        if not self.changes:
            why = self.why_no_importance or "no test part has two cases whose values could be exchanged"
            return not_measured(inspection.measure, why, self.level)
        names = inspection.problem.column_names
        related = () if self.coded is None else find_related(self.coded, inspection.seed)
        shown = {names[at] for at in inspection.columns}
        drawn = any(fold.drawn for fold in self.changes)
        return measure_importance(
            [names[at] for at in inspection.columns],
            self.changes,
            inspection.measure,
            self.plan,
            shuffles=inspection.shuffles,
            level=self.level,
            related=tuple(pair for pair in related if {pair.first, pair.second} & shown),
            notes=(f"of larger test parts, {MOST_ROWS:,} cases were shuffled",) if drawn else (),
        )

    def fidelity(self, likeness_plan: Dependence | None = None) -> Fidelity:
        """How far a small tree can stand for the model."""
        inspection = self.inspection
        if inspection.table is None or not self.likenesses:
            return no_fidelity(self.why_not or "there were no cases to fit it to", self.level)
        answers = inspection.answers(self.model, np.arange(inspection.problem.n))
        labels = inspection.problem.labels
        tree = read_tree(fit_surrogate(inspection.table.matrix, answers, inspection.seed), inspection.table, labels)
        plan = likeness_plan or self.plan
        grouped = inspection.problem.group is not None
        some = f"of larger training and test parts, {MOST_LIKENED:,} cases drawn at random were used for the agreement"
        notes = (some,) if any(fold.drawn for fold in self.likenesses) else ()
        return measure_fidelity(
            self.likenesses, labels, plan, level=self.level, tree=tree, grouped=grouped, notes=notes
        )


def measure_usefulness(run: Run, problem: Problem, evaluation: Evaluation) -> Usefulness:
    """The net benefit of acting on the probabilities of the positive class, or why there is none."""
    positive, level = evaluation.positive, evaluation.level
    if positive is None:
        several = len(problem.labels) > 2
        why = "there are several classes, and none was named as positive" if several else "no class is positive"
        return not_useful(f"{why}; name one with positive= (--positive)", level)
    if run.scores is None or run.score_kind != "probability":
        return not_useful("the model gives no probabilities", level, positive)
    index = problem.labels.index(positive)
    probability: NDArray[np.float64] = run.scores[:, index]
    group: Codes | None = None if problem.group is None else problem.group[run.rows]
    judged = ProbabilityPredictions(
        probability,
        problem.truth[run.rows] == index,
        1 / np.bincount(run.rows, minlength=problem.n)[run.rows],
        group,
        evaluation.independent,
    )
    return compute_usefulness(judged, positive, level)


def read_coded(problem: Problem, reread: Any) -> tuple[Problem | None, str]:
    """The data as numbers and codes: the problem itself, or read again by `reread` where a model takes a frame."""
    if not problem.as_given or hasattr(problem.features, "tocsr"):
        return problem, ""
    try:
        coded: Problem = reread()
    except HeldoutError as error:
        return None, f"{error.what[:1].lower()}{error.what[1:].rstrip('.')}"
    return coded, ""


def source_name(problem: Problem) -> str:
    """What a title calls the data: the name of a file without its folders."""
    return Path(problem.source).name if problem.source else ""


def join_labels(given: Sequence[Label], present: Sequence[Label]) -> tuple[Label, ...]:
    """The labels that a model knows, and those that the data have besides."""
    return (*given, *(label for label in present if label not in given))
