"""The front door to cards: from a learner and data, or from a fitted model and data it has not seen, to a card."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from heldout.arguments import check_level, check_whole, listing
from heldout.cards.card import Card
from heldout.cards.given_model import card_of_model
from heldout.cards.looking import Looking, chosen_splits, looks
from heldout.cards.measured import (
    Measured,
    chosen_columns,
    coded_form,
    feature_names,
    questionable,
    source_name,
    use_of,
    width_of,
)
from heldout.cards.performance import performance
from heldout.cards.permuting import read_measure
from heldout.cards.questions import read_answers
from heldout.cards.size import size_of
from heldout.cards.speed import not_timed, speed_of
from heldout.errors import OptionError
from heldout.evidence import Label
from heldout.front.data import ready
from heldout.front.tuning import InnerSplits, tuned
from heldout.front.validate import OnError, validate
from heldout.learners.data import read_problem
from heldout.learners.problem import Problem
from heldout.learners.spec import read_learner
from heldout.predictions.table import Missing
from heldout.resampling.answers import Classes
from heldout.resampling.gathered import dependence
from heldout.resampling.heard import hearing
from heldout.resampling.progress import Progress
from heldout.resampling.workers import Jobs
from heldout.validation import Validation

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
