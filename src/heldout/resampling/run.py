"""Running a learner under a plan: a fresh copy fitted for every split, its answers for the rows it did not see."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np

from heldout.arrays import Integers
from heldout.errors import HeldoutError, LearnerError, OptionError, ValuesError
from heldout.learners.problem import Problem
from heldout.plans import Cases
from heldout.plans.plan import Splits
from heldout.resampling.fast_paths import (
    FastPredictions,
    PredictionRequest,
    find_path,
    is_complementary,
    is_worthwhile,
    make_request,
)
from heldout.resampling.outcome import Failure, Outcome, Run, split_noun, summarise_warnings
from heldout.resampling.split_task import (
    NOTHING,
    FailedSplit,
    Inner,
    Setting,
    Task,
    TrainingSample,
    check_tunes,
    sample_training_rows,
)
from heldout.resampling.workers import Jobs, Progress, Ticker, check_jobs, run_tasks

OnError = Literal["raise", "record"]


def run(
    estimator: Any,
    problem: Problem,
    splits: Splits,
    *,
    plan_text: str = "",
    jobs: Jobs = None,
    on_error: OnError = "raise",
    shortcuts: bool = True,
    training: bool = True,
    seed: int = 0,
    progress: Progress = None,
    inner: Inner | None = None,
) -> Run:
    """Fit a copy of the learner for every split, and collect what it says of the test rows and of some training rows.

    `jobs` None leaves it to joblib's configuration, which is one split after the other unless somebody changed it.
    `shortcuts` allows ways that give the same predictions without fitting every split. `inner` gives, for the training
    rows of a split, the pairs of places among them on which a search object tunes itself.

    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> y = np.array([0, 0, 0, 1, 1, 1])
    >>> problem = Problem(np.array([[1.0], [2.0], [3.5], [7.0], [8.0], [9.5]]), y, y, (0, 1))
    >>> run(KNeighborsClassifier(1), problem, Splits.partition(np.arange(6))).predicted.tolist()
    [0, 0, 0, 1, 1, 1]
    """
    _check_arguments(estimator, problem, splits, jobs, on_error, inner)
    setting = Setting.of(estimator, problem, splits=len(splits), training=training, seed=seed, inner=inner)
    sample = _sample_training_rows(splits, seed) if training else None
    running = RunInProgress(setting, splits, plan_text, jobs, on_error, progress)
    path = find_path(estimator) if shortcuts and inner is None else None
    if path is not None:
        nothing = TrainingSample(NOTHING, np.zeros(len(splits) + 1, dtype=np.int64))
        request = make_request(as_floats(setting.features), setting.truth, setting.classes, splits, sample or nothing)
        fast = path(estimator, request) if request is not None else None
        if request is not None and fast is not None and is_worthwhile(request, fast):
            return _run_fast_path(setting, request, fast, running)
    outcomes = running.through(_make_tasks(splits, sample), len(splits))
    return Run.collect(splits, outcomes, failures=tuple(running.failures), complete=running.complete)


@dataclass(eq=False)
class RunInProgress:
    """A run under way: what failed so far, and whether somebody stopped it."""

    setting: Setting
    splits: Splits
    plan_text: str
    jobs: Jobs
    on_error: OnError
    progress: Progress
    failures: list[Failure] = field(default_factory=list)
    complete: bool = True

    def through(self, tasks: Iterable[Task], count: int) -> list[Outcome]:
        """Do these tasks, of which there are `count`; what cannot go on is raised."""
        outcomes: list[Outcome] = []
        trouble: FailedSplit | None = None
        total = len(self.splits)
        with Ticker(total, self.progress) as ticker:
            if count < total:
                ticker.tick(total - count)
            try:
                with closing(run_tasks(self.setting, tasks, count, self.jobs)) as results:
                    for result in results:
                        if isinstance(result, Outcome):
                            outcomes.append(result)
                        else:
                            trouble = trouble if trouble and trouble.split < result.split else result
                            if self.on_error == "raise":
                                break
                            self.failures.append(
                                Failure(result.split, self.splits.label(result.split), _describe_failure(result))
                            )
                        ticker.tick()
            except KeyboardInterrupt:
                if not outcomes and count == total:
                    raise
                self.complete = False
        self.failures.sort(key=lambda failure: failure.split)
        if trouble is not None and (self.on_error == "raise" or (not outcomes and count == total)):
            raise self._error(trouble) from trouble.error
        return outcomes

    def _error(self, trouble: FailedSplit) -> LearnerError:
        where = self.splits.label(trouble.split)
        plan = f" of {self.plan_text}" if self.plan_text else ""
        if self.on_error == "record":
            where, plan = f"all {len(self.splits)} {split_noun(self.splits)}", f"{plan}, first in {where}"
            hint = "try the learner on all rows first: fit(X, y) will show the same error."
        else:
            hint = f"on_error='record' (--on-error record) keeps the other {split_noun(self.splits)}."
            if isinstance(trouble.error, HeldoutError):
                hint = f"{trouble.error.hint} Or {hint}"
        name = type(self.setting.estimator).__name__
        return LearnerError(f"{name} failed in {where}{plan}: {_describe_failure(trouble)}.", hint=hint)


def as_floats(features: Any) -> Any:
    """Whole numbers as the floats that learners make of them, which is what fast paths take; all else as it is."""
    whole = type(features) is np.ndarray and features.dtype.kind in "iu"
    return features.astype(np.float64) if whole else features


def _describe_failure(trouble: FailedSplit) -> str:
    prefix = f"the training rows hold one class only, {trouble.only}: " if trouble.only else ""
    return f"{prefix}{trouble.message}"


def check_on_error(on_error: Any) -> None:
    """Refuse any other word than the two for what is done when a learner fails in a split."""
    known = get_args(OnError)
    if on_error not in known:
        raise OptionError(
            f"on_error must be {' or '.join(map(repr, known))}. Got {on_error!r}.",
            hint="'record' keeps the splits that worked, and says how many are missing.",
        )


def _check_arguments(
    estimator: Any, problem: Problem, splits: Splits, jobs: Jobs, on_error: str, inner: Inner | None
) -> None:
    check_jobs(jobs)
    check_on_error(on_error)
    if splits.n != problem.n:
        raise ValuesError(
            f"The splits are of {splits.n} rows, and the data has {problem.n}.",
            hint="make the splits from the same data.",
        )
    if not len(splits):
        raise ValuesError("The plan has no splits.", hint="use a plan with at least one.")
    if inner is not None:
        check_tunes(estimator)


def _sample_training_rows(splits: Splits, seed: int) -> TrainingSample | None:
    """Training rows to predict as well; None where each split is to draw its own."""
    if splits.train_rows is None:
        return sample_training_rows(splits, seed)
    if len(splits.test_rows) % splits.n == 0 and is_complementary(splits):
        # The same rows whether a plan lists its training rows or not.
        return sample_training_rows(replace(splits, train_rows=None), seed)
    return None


def _make_tasks(splits: Splits, sample: TrainingSample | None) -> Iterator[Task]:
    for i in range(len(splits)):
        test = splits.test(i)
        train = None if splits.train_rows is None else splits.train(i)
        yield Task(i, test, train, test, None if sample is None else sample.of(i))


def _run_fast_path(setting: Setting, request: PredictionRequest, fast: FastPredictions, running: RunInProgress) -> Run:
    """The run that a fast path makes; splits that it is not sure of are fitted, and replace what it found."""
    splits, n_test = request.splits, request.n_test
    places = setting.classes.places
    predicted = places[fast.predicted]
    scores = np.zeros((n_test, len(setting.classes.names)))
    scores[:, places] = fast.scores
    doubted = np.unique(request.split[fast.unsure])
    entries = {int(i): _find_entries(request, fast, int(i)) for i in doubted}
    tasks = (
        Task(i, request.rows[test], splits.train(i), NOTHING, request.rows[train])
        for i, (test, train) in entries.items()
    )
    outcomes: list[Outcome] = []
    if len(doubted):
        outcomes = running.through(tasks, len(doubted))
    else:
        with Ticker(len(splits), running.progress) as ticker:
            ticker.tick(len(splits))
    for outcome in outcomes:
        test, train = entries[outcome.split]
        predicted[test] = outcome.predicted
        if outcome.scores is not None:
            scores[test] = outcome.scores
        predicted[train] = outcome.training_predicted

    done = np.ones(len(splits), dtype=bool)
    done[doubted] = False
    done[[outcome.split for outcome in outcomes]] = True
    if not done.any():
        raise KeyboardInterrupt
    kept = done[request.split]
    test, train = np.flatnonzero(kept[:n_test]), n_test + np.flatnonzero(kept[n_test:])
    plain = (
        f"; {len(doubted)} of {len(splits)} {split_noun(splits)} were fitted, for {fast.because}"
        if len(doubted)
        else ""
    )
    return Run(
        splits,
        np.flatnonzero(done),
        request.rows[test],
        request.split[test],
        predicted[test],
        scores[test],
        "probability",
        request.rows[train],
        request.split[train],
        predicted[train],
        failures=tuple(running.failures),
        complete=running.complete,
        shortcut=f"{fast.sentence}{plain}; the predictions are those of fitting every one.",
        warnings=summarise_warnings((outcome.warnings for outcome in outcomes), len(splits), split_noun(splits)),
    )


def _find_entries(request: PredictionRequest, fast: FastPredictions, split: int) -> tuple[Integers, Integers]:
    """Which of the things asked a split predicts when it is fitted: those in doubt, or all that go with them."""
    bounds, sampled = request.splits.bounds, request.sample.bounds
    test = np.arange(bounds[split], bounds[split + 1])
    train = request.n_test + np.arange(sampled[split], sampled[split + 1])
    if fast.alone:
        return test[fast.unsure[test]], train[fast.unsure[train]]
    return test, train


# Up to here a look for each class is faster than sorting the rows.
FEW_CLASSES = 20


def cases_of_problem(problem: Problem) -> Cases:
    """The rows as a plan sees them, with classes in the order they are met: how they are shown must not move a row."""
    codes = np.flatnonzero(np.bincount(problem.truth))
    if len(codes) <= FEW_CLASSES:
        first = np.array([int((problem.truth == code).argmax()) for code in codes.tolist()])
    else:
        codes, first = np.unique(problem.truth, return_index=True)
    order = codes[np.argsort(first)]
    rank = np.zeros(len(problem.labels), dtype=np.int64)
    rank[order] = np.arange(len(order))
    labels = tuple(problem.labels[code] for code in order.tolist())
    return Cases(rank[problem.truth], labels, problem.group, problem.group_names)
