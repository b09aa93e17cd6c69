"""The front door to cards: from a learner and data, or from a fitted model and data it has not seen, to a card."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from heldout.api.fitted_model import explain_failure
from heldout.api.validate import validate
from heldout.arguments import Missing, check_level, check_whole, listing
from heldout.arrays import Codes
from heldout.cards.card import Card
from heldout.cards.importance import read_measure
from heldout.cards.inspection import (
    Inspected,
    Inspection,
    choose_columns,
    choose_splits,
    inspect_folds,
    join_labels,
    make_tree_table,
    measure_usefulness,
    read_coded,
    source_name,
)
from heldout.cards.questions import Answers, read_answers
from heldout.cards.size_and_speed import measure_size, measure_speed, not_timed
from heldout.cards.surrogate import FoldLikeness, fit_surrogate
from heldout.cards.usefulness import summarise_performance
from heldout.engines import memory
from heldout.errors import ColumnError, OptionError
from heldout.evidence import Label
from heldout.intervals.dependence import ONCE, Dependence
from heldout.learners.data import read_problem
from heldout.learners.encoding import make_estimator
from heldout.learners.features import as_table
from heldout.learners.learner import describe_learner, read_learner
from heldout.learners.problem import Problem
from heldout.plans.plan import Splits
from heldout.predictions.column_roles import begin_sentence
from heldout.predictions.label_encoding import as_label
from heldout.predictions.positive_class import choose_positive
from heldout.predictions.source import Source
from heldout.resampling.outcome import Run
from heldout.resampling.run import OnError
from heldout.resampling.run_evidence import collect_predictions, find_dependence
from heldout.resampling.split_task import Classes, capture_warnings, predict_classes, predict_scores
from heldout.resampling.tuning import InnerSplits, add_search
from heldout.resampling.workers import Jobs, Progress
from heldout.result import keeps_backend
from heldout.results.evaluation import Evaluation
from heldout.results.evaluation_builder import Settings, judge
from heldout.results.validation import Validation
from heldout.synonyms import takes_synonyms

# A small tree is fitted to the answers for four fifths of the cases, and compared on the others.
PARTS = 5
PLAN = "a model fitted before"


@keeps_backend
def card_of_model(
    model: Any,
    data: Any,
    y: Any,
    reading: dict[str, Any],
    options: dict[str, Any],
    *,
    positive: Label | None,
    seed: int,
    level: float,
    timing: bool,
    answers: Answers,
) -> Card:
    """The card of a fitted model, on cases that it has not seen."""
    if not callable(getattr(model, "predict", None)) or isinstance(model, type):
        raise OptionError(
            f"A fitted model has a method predict. Got {model!r:.80}.",
            hint="to have a learner fitted here, pass it first: heldout.card('knn:5', data, target=…).",
        )
    problem, reread = _read_problem(model, data, y, reading)
    classes = _make_classes(problem)
    with capture_warnings():
        run = _predict_all(model, problem, classes)
        evaluation = _evaluate_run(run, problem, positive, level, seed)
        inspection, data_forms = _make_inspection(model, problem, classes, run, reread, options, seed)
        everything = np.arange(problem.n)
        changes = inspection.changes(model, everything, everything, 0)
        likenesses = tuple(_compare_with_trees(inspection, run.predicted))
    inspected = Inspected(
        inspection, model, *data_forms, () if changes is None else (changes,), likenesses, Dependence(problem.n), level
    )
    return _assemble_card(
        inspected, run, evaluation, timing=timing, answers=answers,
        fidelity_plan=Dependence(problem.n, ONCE, 1 / (PARTS - 1), PARTS),
        learner=describe_learner(model), plan=PLAN, fingerprint=evaluation.fingerprint,
        notes=(*problem.notes, "the model was taken as it is: whether it has seen these cases is not known here"),
    )  # fmt: skip


def _make_inspection(
    estimator: Any,
    problem: Problem,
    classes: Classes,
    run: Run,
    reread: Any,
    options: dict[str, Any],
    seed: int,
    inner: Any = None,
) -> tuple[Inspection, tuple[Problem | None, str, str]]:
    """What to look at in every fold; and the data as codes, why there is no table of them, and why no importance."""
    measure = read_measure(options["measure"], probabilities=run.score_kind == "probability")
    columns, why_no_importance = choose_columns(problem, options["permute"])
    coded, why_not = read_coded(problem, reread)
    table, why_not = (None, why_not) if coded is None else make_tree_table(coded)
    inspection = Inspection(estimator, problem, classes, measure, columns, options["shuffles"], table, seed, inner)
    return inspection, (coded, why_not, why_no_importance)


def _read_problem(model: Any, data: Any, y: Any, reading: dict[str, Any]) -> tuple[Problem, Any]:
    """The cases in the form that the model takes, and how to read them again as numbers and codes."""
    if data is None:
        raise OptionError("There are no cases to look at the model with.", hint="pass X= with cases it has not seen.")
    table = as_table(data)
    as_given = not (table.from_file or isinstance(data, dict))
    problem = read_problem(table, y, **reading, as_given=as_given)
    if problem.nominal:
        names = [problem.names[at] for at in problem.nominal]
        raise ColumnError(
            f"{begin_sentence(table.source)} has columns of categories, {listing(names)}, and how the model takes "
            "these is not known.",
            hint="pass the data frame or the matrix that the model's predict takes.",
        )
    own = getattr(model, "classes_", None)
    if reading["labels"] is None and isinstance(own, np.ndarray) and own.ndim == 1:
        # The model may know classes that none of these cases has.
        known = join_labels([as_label(label, "classes_") for label in own.tolist()], problem.labels)
        if set(known) != set(problem.labels):
            reading = reading | {"labels": known}
            problem = read_problem(table, y, **reading, as_given=as_given)
    return problem, partial(read_problem, table, y, **reading)


def _make_classes(problem: Problem) -> Classes:
    """The labels in the order of NumPy, those that no case has included."""
    labels = np.array(problem.labels, dtype=np.asarray(problem.target).dtype)
    order = np.argsort(labels, kind="stable")
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return Classes(problem.labels, labels[order], order.astype(np.int64), rank)


def _predict_all(model: Any, problem: Problem, classes: Classes) -> Run:
    """What the model says of all cases."""
    n = problem.n
    everything = np.arange(n)
    try:
        predicted = predict_classes(model, problem.features, n, classes)
        scores, kind = predict_scores(model, problem.features, n, classes, np.arange(len(problem.labels)))
    except Exception as error:
        raise explain_failure(model, error, "data") from error
    splits = Splits.of(n, [everything], [np.empty(0, dtype=np.int64)])
    return Run(splits, np.zeros(1, dtype=np.int64), everything, np.zeros(n, dtype=np.int64), predicted, scores, kind)


def _evaluate_run(run: Run, problem: Problem, positive: Label | None, level: float, seed: int) -> Evaluation:
    chosen = choose_positive(positive, problem.labels)
    predictions = replace(collect_predictions(run, problem, chosen), fold=None, id=None)
    settings = Settings(positive=positive, level=level, seed=seed).checked()
    return judge(memory.count(predictions), predictions, settings, source=Source(source_name(problem)))


def _compare_with_trees(inspection: Inspection, answers: Codes) -> list[FoldLikeness]:
    """Small trees fitted to the answers for most of the cases, compared on the rest; groups stay together."""
    problem, table = inspection.problem, inspection.table
    units = np.arange(problem.n) if problem.group is None else problem.group
    number = int(units.max()) + 1
    if table is None or len(np.unique(units)) < 2 * PARTS:
        return []
    part = (np.random.default_rng([inspection.seed, 23]).permutation(number) % PARTS)[units]
    folds = []
    for at in range(PARTS):
        train, test = np.flatnonzero(part != at), np.flatnonzero(part == at)
        if len(train) and len(test):
            tree = fit_surrogate(table.rows(train), answers[train], inspection.seed)
            tree_answers = np.asarray(tree.predict(table.rows(test)), dtype=np.int64)
            folds.append(FoldLikeness(test, answers[test], tree_answers, problem.truth[test]))
    return folds


SHUFFLES = 5
# Those that a card names besides are worked out when it asks for them.
MEASURES = ("accuracy",)


@takes_synonyms
@keeps_backend
def card(
    learner: Any = None,
    X: Any = None,
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

    The data are given as in `validate`; every fold of the plan is fitted once for its predictions and once to be
    inspected.

    Parameters
    ----------
    learner : estimator or str, optional
        Anything with fit and predict as in scikit-learn, or a short name such as "knn:5".
    X : array, data frame or path, optional
        The features; or a data frame or file that also holds the class. Of a fitted model, cases that it has not seen.
    y : array, optional
        The classes, where the data do not hold them.
    model : fitted model, optional
        A model instead of a learner: nothing is fitted again.
    target : column name, optional
        The column of the class; in ARFF files the last one, otherwise one with a usual name.
    plan : str, int, splitter or Plan
        How rows are split: "10-fold", ".632+ 200", "loo", 5 for five folds, or a splitter of scikit-learn.
    fold : array or column name, optional
        Which fold each row is in, instead of a plan.
    group : array or column name, optional
        Which cases belong together, such as those of one patient. Intervals take whole groups as the cases.
    features : sequence of column names, optional
        The columns to learn from; by default all others.
    drop : column name or names
        Columns to leave out.
    positive : label, optional
        The positive class; known for usual pairs such as no and yes, or 0 and 1.
    labels : sequence of labels, optional
        The classes in the order to show them; by default those that occur.
    missing : {"refuse", "drop"}
        What to do with rows with missing values: refuse them, or drop them and say how many.
    seed : int
        Seed of the random number generator.
    level : float
        The level of the intervals: the share of them that should contain the true value.
    jobs : int or "auto", optional
        How many splits are fitted at the same time; -1 for one per core.
    on_error : {"raise", "record"}
        What to do when a learner fails in a split: stop, or keep the others and say how many are missing.
    measure : {"brier", "log_loss", "accuracy"}, optional
        The measure that importance is a loss of; by default the Brier score where there are probabilities.
    shuffles : int
        How often each column is shuffled in every fold.
    permute : sequence of str, optional
        The columns to shuffle; all by default.
    timing : bool
        Whether predictions are timed.
    answers : dictionary or path, optional
        Answers to the questions that only a person can answer, or a TOML file of them.
    progress : callable or False, optional
        Called with the number of fits done and of all; by default a bar on a terminal, False for none.

    Returns
    -------
    Card
        Size, feature importance, surrogate tree, speed, use and open questions.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> found = card("tree:2", X, y, plan="5-fold", timing=False)
    >>> found.size.leaves, found.size.reading.verdict, found.importance.features[0].feature
    (3, 'can be read whole', 'x3')

    """
    check_level(level)
    check_whole("seed", seed, 0)
    check_whole("shuffles", shuffles, 1)
    person_answers = read_answers(answers)
    if (learner is None) == (model is None):
        problem = (
            "Neither a learner nor a model was given." if model is None else "A learner and a model were both given."
        )
        raise OptionError(problem, hint="pass a learner such as 'knn:5', or model= with one that is fitted already.")
    reading = {"target": target, "group": group, "features": features, "drop": drop, "labels": labels}
    options = {"measure": measure, "shuffles": shuffles, "permute": permute, "jobs": jobs, "progress": progress}
    if model is not None:
        if fold is not None or plan != "10-fold":
            raise OptionError(
                "A model that is fitted already has no plan: nothing is fitted again.", hint="leave out plan and fold."
            )
        return card_of_model(
            model, X, y, reading | {"missing": missing}, options, positive=positive, seed=seed, level=level,
            timing=timing, answers=person_answers,
        )  # fmt: skip
    if isinstance(learner, dict | list | tuple):
        raise OptionError(
            f"A card is of one learner, and {len(learner)} were given: {listing(learner)}.",
            hint="make a card for each, and put them side by side: first.beside(second).",
        )
    validation = validate(
        learner, X, y, plan=plan, fold=fold, positive=positive, missing=missing, seed=seed, level=level, jobs=jobs,
        training=False, progress=progress, measures=MEASURES, on_error=on_error, **reading,
    )  # fmt: skip
    if not isinstance(validation, Validation):
        raise TypeError("one learner gives one validation")
    columns = [*([drop] if isinstance(drop, str) else drop), *([fold] if isinstance(fold, str) else [])]
    reread = partial(read_problem, X, y, **(reading | {"drop": columns}), missing=missing)
    inspected, notes = _inspect_folds(learner, validation, reread, seed, level, options)
    return _assemble_card(
        inspected, validation.run, validation.evaluation, timing=timing, answers=person_answers,
        learner=validation.learner, plan=validation.plan.text, fingerprint=validation.fingerprint,
        notes=(*_collect_notes(validation.problem, validation), *notes),
    )  # fmt: skip


def _inspect_folds(
    learner: Any, validation: Validation, reread: Any, seed: int, level: float, options: dict[str, Any]
) -> tuple[Inspected, list[str]]:
    """Fit and look into the models of the folds, and the one of all cases."""
    problem, run, plan = validation.problem, validation.run, validation.plan
    estimator: Any = make_estimator(read_learner(learner, seed=seed), problem)
    inner = None
    if plan.inner is not None:
        estimator, inner = add_search(estimator, None, plan), InnerSplits.of(plan, problem, seed)
    inspection, data_forms = _make_inspection(
        estimator, problem, Classes.of(problem), run, reread, options, seed, inner
    )
    chosen = choose_splits(run.finished)
    notes: list[str] = []
    if len(chosen) < len(run.finished):
        notes.append(f"{len(chosen)} of {len(run.finished):,} models were looked into, at even distances")
    folds = inspect_folds(inspection, run.splits, chosen, options["jobs"], options["progress"])
    with capture_warnings():
        model = inspection.fitted(np.arange(problem.n))
    changes = tuple(fold.changes for fold in folds if fold.changes is not None)
    likenesses = tuple(fold.likeness for fold in folds if fold.likeness is not None)
    return Inspected(inspection, model, *data_forms, changes, likenesses, find_dependence(plan, run), level), notes


def _assemble_card(
    inspected: Inspected,
    run: Run,
    evaluation: Evaluation,
    *,
    timing: bool,
    fidelity_plan: Dependence | None = None,
    **about: Any,
) -> Card:
    """The parts of a card, from what was found; `about` are its remaining fields."""
    problem, model = inspected.inspection.problem, inspected.model
    with capture_warnings():
        speed = measure_speed(model, problem.features, problem.n) if timing else not_timed("it was not asked for")
        fidelity = inspected.fidelity(fidelity_plan)
    return Card(
        source=source_name(problem),
        n=problem.n,
        labels=problem.labels,
        positive=evaluation.positive,
        features=problem.column_names,
        level=inspected.level,
        seed=inspected.inspection.seed,
        performance=summarise_performance(evaluation),
        size=measure_size(model, problem.width, moved=inspected.columns_moved),
        importance=inspected.importance(),
        fidelity=fidelity,
        speed=speed,
        usefulness=measure_usefulness(run, problem, evaluation),
        **about,
    )


def _collect_notes(problem: Problem, validation: Validation) -> list[str]:
    run = validation.run
    notes = [*problem.notes, *validation.notes, *run.warnings]
    if validation.plan.judging.kind == "resubstitution":
        notes.append("everything was measured on the cases the model was trained on, and says nothing of new ones")
    if run.failures or not run.complete:
        notes.append(
            f"{len(run.finished):,} of {len(run.splits):,} splits gave predictions; the others are missing here"
        )
    return notes
