"""The card of a model that is fitted already, from cases that it has not seen: nothing is fitted again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from heldout.arguments import listing
from heldout.arrays import Codes
from heldout.cards.card import Card
from heldout.cards.fidelity import FoldLikeness
from heldout.cards.looking import Looking
from heldout.cards.measured import (
    Measured,
    all_labels,
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
from heldout.cards.questions import Answers
from heldout.cards.size import size_of
from heldout.cards.speed import not_timed, speed_of
from heldout.cards.surrogate import fit_surrogate
from heldout.engines import memory
from heldout.errors import ColumnError, LearnerError, OptionError
from heldout.estimates.dependence import Dependence
from heldout.evaluation import Evaluation
from heldout.evidence import Label
from heldout.front.judge import Settings, judge
from heldout.learners.data import read_problem
from heldout.learners.learner import described, first_line
from heldout.learners.problem import Problem
from heldout.learners.table import as_table
from heldout.plans.plan import ONCE
from heldout.plans.splits import Splits
from heldout.predictions.encode import as_label
from heldout.predictions.match import choose_positive
from heldout.predictions.source import Source
from heldout.resampling.answers import Classes, classes_predicted, scores_given
from heldout.resampling.gathered import gathered
from heldout.resampling.heard import hearing
from heldout.resampling.outcome import Run

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
