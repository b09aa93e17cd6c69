"""The front door to cards: from a learner and data, or from a fitted model and data it has not seen, to a card."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from heldout.api.evaluation_builder import Settings, judge
from heldout.api.learning_data import ready
from heldout.api.tuning import InnerSplits, tuned
from heldout.api.validate import OnError, validate
from heldout.arguments import check_level, check_whole, listing
from heldout.arrays import Codes
from heldout.cards.card import Card
from heldout.cards.importance import read_measure
from heldout.cards.inspection import (
    Looking,
    Measured,
    all_labels,
    chosen_columns,
    chosen_splits,
    coded_form,
    feature_names,
    looks,
    questionable,
    source_name,
    use_of,
    width_of,
)
from heldout.cards.questions import Answers, read_answers
from heldout.cards.size_and_speed import not_timed, size_of, speed_of
from heldout.cards.surrogate import FoldLikeness, fit_surrogate
from heldout.cards.usefulness import performance
from heldout.engines import memory
from heldout.errors import ColumnError, LearnerError, OptionError, first_line
from heldout.evidence import Label
from heldout.intervals.target import Dependence
from heldout.learners.data import read_problem
from heldout.learners.features import as_table
from heldout.learners.learner import described, read_learner
from heldout.learners.problem import Problem
from heldout.plans.plan import ONCE
from heldout.plans.splits import Splits
from heldout.predictions.label_encoding import as_label
from heldout.predictions.positive_class import choose_positive
from heldout.predictions.source import Source
from heldout.predictions.table import Missing
from heldout.resampling.fit_warnings import hearing
from heldout.resampling.outcome import Run, dependence, gathered
from heldout.resampling.split_task import Classes, classes_predicted, scores_given
from heldout.resampling.workers import Jobs, Progress
from heldout.results.evaluation import Evaluation
from heldout.results.validation import Validation

# The card of a model that is fitted already, from cases that it has not seen: nothing is fitted again.

# A small tree is fitted to the answers for four fifths of the cases, and compared on the others.
PARTS = 5
PLAN = "a model fitted before"


def card_of_model(
    model: Any,
    data: Any,
    y: Any,
    reading: dict[str, Any],
    *,
    positive: Label | None,
    seed: int,
    level: float,
    measure: str | None,
    shuffles: int,
    permute: Sequence[str] | None,
    timing: bool,
    answers: Answers,
) -> Card:
    """The card of a fitted model, on cases that it has not seen."""
    if not callable(getattr(model, "predict", None)) or isinstance(model, type):
        raise OptionError(
            f"A fitted model has a method predict. Got {model!r:.80}.",
            hint="to have a learner fitted here, pass it first: heldout.card('knn:5', data, target=…).",
        )
    problem, again = _problem(model, data, y, reading)
    classes = _classes(problem)
    with hearing():
        run = _asked(model, problem, classes)
        evaluation = _evaluation(run, problem, positive, level, seed)
        chosen = read_measure(measure, probabilities=run.score_kind == "probability")
        columns, why = chosen_columns(problem, permute)
        coded, why_not = coded_form(problem, again)
        table, why_table = (None, why_not) if coded is None else questionable(coded)
        looking = Looking(model, problem, classes, chosen, columns, shuffles, table, seed)
        everything = np.arange(problem.n)
        changes = looking.changes(model, everything, everything, 0)
        likenesses = tuple(_likenesses(looking, run.predicted))
        alone = Dependence(problem.n)
        measured = Measured(
            looking, model, coded, why_table, () if changes is None else (changes,), likenesses, alone, level, why
        )
        likeness = measured.fidelity(Dependence(problem.n, ONCE, 1 / (PARTS - 1), PARTS))
        speed = speed_of(model, problem.features, problem.n) if timing else not_timed("it was not asked for")
    return Card(
        learner=described(model),
        source=source_name(problem),
        plan=PLAN,
        n=problem.n,
        labels=problem.labels,
        positive=evaluation.positive,
        features=feature_names(problem),
        level=level,
        seed=seed,
        performance=performance(evaluation),
        size=size_of(model, width_of(problem), seen=measured.seen),
        importance=measured.importance(),
        fidelity=likeness,
        speed=speed,
        usefulness=use_of(run, problem, evaluation),
        answers=answers,
        notes=(*problem.notes, "the model was taken as it is: whether it has seen these cases is not known here"),
        fingerprint=evaluation.fingerprint,
    )


def _problem(model: Any, data: Any, y: Any, reading: dict[str, Any]) -> tuple[Problem, Any]:
    """The cases in the form that the model takes, and how to read them again as numbers and codes."""
    if data is None:
        raise OptionError(
            "There are no cases to look at the model with.", hint="pass data= with cases it has not seen."
        )
    table = as_table(data)
    as_given = not (table.from_file or isinstance(data, dict))
    problem = read_problem(table, y, **reading, as_given=as_given)
    if problem.nominal:
        names = [problem.names[at] for at in problem.nominal]
        raise ColumnError(
            f"{table.start} has columns of categories, {listing(names)}, and how the model takes these is not known.",
            hint="pass the data frame or the matrix that the model's predict takes.",
        )
    own = getattr(model, "classes_", None)
    if reading["labels"] is None and isinstance(own, np.ndarray) and own.ndim == 1:
        # The model may know classes that none of these cases has.
        known = all_labels([as_label(label, "classes_") for label in own.tolist()], problem.labels)
        if set(known) != set(problem.labels):
            reading = reading | {"labels": known}
            problem = read_problem(table, y, **reading, as_given=as_given)
    return problem, partial(read_problem, table, y, **reading)


def _classes(problem: Problem) -> Classes:
    """The labels in the order of NumPy, those that no case has included."""
    labels = np.array(problem.labels, dtype=np.asarray(problem.target).dtype)
    order = np.argsort(labels, kind="stable")
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return Classes(problem.labels, labels[order], order.astype(np.int64), rank)


def _asked(model: Any, problem: Problem, classes: Classes) -> Run:
    """What the model says of all cases."""
    n = problem.n
    everything = np.arange(n)
    try:
        predicted = classes_predicted(model, problem.features, n, classes)
        scores, kind = scores_given(model, problem.features, n, classes, np.arange(len(problem.labels)))
    except Exception as error:
        what = error.what.rstrip(".") if hasattr(error, "what") else first_line(error)
        raise LearnerError(
            f"The model {type(model).__name__} could not predict these cases: {what}.",
            hint="fit it first, and pass the data in the form and with the columns that it was fitted on.",
        ) from error
    splits = Splits.of(n, [everything], [np.empty(0, dtype=np.int64)])
    return Run(splits, np.zeros(1, dtype=np.int64), everything, np.zeros(n, dtype=np.int64), predicted, scores, kind)


def _evaluation(run: Run, problem: Problem, positive: Label | None, level: float, seed: int) -> Evaluation:
    chosen = choose_positive(positive, problem.labels)
    predictions = replace(gathered(run, problem, chosen), fold=None, id=None)
    settings = Settings(positive=positive, level=level, seed=seed)
    return judge(memory.count(predictions), predictions, settings, source=Source(source_name(problem)))


def _likenesses(looking: Looking, answers: Codes) -> list[FoldLikeness]:
    """Small trees fitted to the answers for most of the cases, compared on the rest; groups stay together."""
    problem, table = looking.problem, looking.table
    units = np.arange(problem.n) if problem.group is None else problem.group
    number = int(units.max()) + 1
    if table is None or len(np.unique(units)) < 2 * PARTS:
        return []
    part = (np.random.default_rng([looking.seed, 23]).permutation(number) % PARTS)[units]
    made = []
    for at in range(PARTS):
        train, test = np.flatnonzero(part != at), np.flatnonzero(part == at)
        if len(train) and len(test):
            tree = fit_surrogate(table.rows(train), answers[train], looking.seed)
            said = np.asarray(tree.predict(table.rows(test)), dtype=np.int64)
            made.append(FoldLikeness(test, answers[test], said, problem.truth[test]))
    return made


SHUFFLES = 5
# Those that a card names besides are worked out when it asks for them.
MEASURES = ("accuracy",)
NOT_TIMED = "it was not asked for"


def card(
    learner: Any = None,
    data: Any = None,
    y: Any = None,
    *,
    model: Any = None,
    target: Any = None,
    plan: Any = "10-fold",
    fold: Any = None,
    group: Any = None,
    features: Sequence[Any] | None = None,
    drop: Any = (),
    positive: Label | None = None,
    labels: Sequence[Label] | None = None,
    missing: Missing = "refuse",
    seed: int = 0,
    level: float = 0.95,
    jobs: Jobs = None,
    on_error: OnError = "raise",
    measure: str | None = None,
    shuffles: int = SHUFFLES,
    permute: Sequence[str] | None = None,
    timing: bool = True,
    answers: Any = None,
    progress: Progress = None,
) -> Card:
    """How interpretable, explainable and useful a model is, as a card.

    `learner` and the data are what `heldout.validate` takes; every fold of the plan is fitted once for its predictions
    and once to be looked into. With `model`, a model that is fitted already, nothing is fitted again: `data` are then
    cases that it has not seen. `measure` is what importance is a loss of ("brier", "log_loss" or "accuracy"),
    `shuffles` how often each column is shuffled, `permute` the names of those to shuffle. `answers` to the questions
    that only a person can answer are a dictionary or a TOML file.

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> found = card("tree:2", X, y, plan="5-fold", timing=False)
    >>> found.size.leaves, found.size.reading.verdict, found.importance.features[0].feature
    (3, 'can be read whole', 'x3')
    """
    check_level(level)
    check_whole("seed", seed, 0)
    check_whole("shuffles", shuffles, 1)
    held = read_answers(answers)
    if (learner is None) == (model is None):
        found = (
            "Neither a learner nor a model was given." if model is None else "A learner and a model were both given."
        )
        raise OptionError(found, hint="pass a learner such as 'knn:5', or model= with one that is fitted already.")
    reading = {"target": target, "group": group, "features": features, "drop": drop, "labels": labels}
    if model is not None:
        if fold is not None or plan != "10-fold":
            raise OptionError(
                "A model that is fitted already has no plan: nothing is fitted again.", hint="leave out plan and fold."
            )
        return card_of_model(
            model, data, y, reading | {"missing": missing}, positive=positive, seed=seed, level=level, measure=measure,
            shuffles=shuffles, permute=permute, timing=timing, answers=held,
        )  # fmt: skip
    if isinstance(learner, dict | list | tuple):
        raise OptionError(
            f"A card is of one learner, and {len(learner)} were given: {listing(learner)}.",
            hint="make a card for each, and put them side by side: first.beside(second).",
        )
    validation = validate(
        learner, data, y, plan=plan, fold=fold, positive=positive, missing=missing, seed=seed, level=level, jobs=jobs,
        training=False, progress=progress, measures=MEASURES, on_error=on_error, **reading,
    )  # fmt: skip
    if not isinstance(validation, Validation):
        raise TypeError("one learner gives one validation")
    columns = [*([drop] if isinstance(drop, str) else drop), *([fold] if isinstance(fold, str) else [])]
    again = partial(read_problem, data, y, **(reading | {"drop": columns}), missing=missing)
    options = {"measure": measure, "shuffles": shuffles, "permute": permute, "jobs": jobs, "progress": progress}
    measured, notes = _measured(learner, validation, again, seed, level, options)
    return _card(validation, measured, notes, timing=timing, seed=seed, answers=held)


def _measured(
    learner: Any, validation: Validation, again: Any, seed: int, level: float, options: dict[str, Any]
) -> tuple[Measured, list[str]]:
    """Fit and look into the models of the folds, and the one of all cases."""
    problem, run, plan = validation.problem, validation.run, validation.plan
    measure = read_measure(options["measure"], probabilities=run.score_kind == "probability")
    columns, why = chosen_columns(problem, options["permute"])
    coded, why_not = coded_form(problem, again)
    table, why_table = (None, why_not) if coded is None else questionable(coded)
    estimator: Any = ready(read_learner(learner, seed=seed), problem)
    inner = None
    if plan.inner is not None:
        estimator, inner = tuned(estimator, None, plan), InnerSplits.of(plan, problem, seed)
    looking = Looking(
        estimator, problem, Classes.of(problem), measure, columns, options["shuffles"], table, seed, inner
    )
    chosen = chosen_splits(run.finished)
    notes: list[str] = []
    if len(chosen) < len(run.finished):
        notes.append(f"{len(chosen)} of {len(run.finished):,} models were looked into, at even distances")
    found = looks(looking, run.splits, chosen, options["jobs"], options["progress"])
    with hearing():
        model = looking.fitted(np.arange(problem.n))
    changes = tuple(one.changes for one in found if one.changes is not None)
    likenesses = tuple(one.likeness for one in found if one.likeness is not None)
    tied = dependence(plan, run)
    return Measured(looking, model, coded, why_table, changes, likenesses, tied, level, why), notes


def _card(
    validation: Validation, measured: Measured, notes: list[str], *, timing: bool, seed: int, answers: Any
) -> Card:
    problem, run = validation.problem, validation.run
    evaluation = validation.evaluation
    with hearing():
        speed = speed_of(measured.model, problem.features, problem.n) if timing else not_timed(NOT_TIMED)
        likeness = measured.fidelity()
    return Card(
        learner=validation.learner,
        source=source_name(problem),
        plan=validation.plan.text,
        n=problem.n,
        labels=problem.labels,
        positive=evaluation.positive,
        features=feature_names(problem),
        level=measured.level,
        seed=seed,
        performance=performance(evaluation),
        size=size_of(measured.model, width_of(problem), seen=measured.seen),
        importance=measured.importance(),
        fidelity=likeness,
        speed=speed,
        usefulness=use_of(run, problem, evaluation),
        answers=answers,
        notes=(*_warnings(problem, validation), *notes),
        fingerprint=validation.fingerprint,
    )


def _warnings(problem: Problem, validation: Validation) -> list[str]:
    run = validation.run
    said = [*problem.notes, *validation.notes, *run.warnings]
    if validation.plan.judging.kind == "resubstitution":
        said.append("everything was measured on the cases the model was trained on, and says nothing of new ones")
    if run.failures or not run.complete:
        said.append(
            f"{len(run.finished):,} of {len(run.splits):,} splits gave predictions; the others are missing here"
        )
    return said
