"""The front door to resampling: from a learner and data, by a plan, to a validation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from heldout.arguments import Missing
from heldout.costs import settle_costs
from heldout.errors import OptionError
from heldout.evidence import Confusion, Label
from heldout.findings.review import check_codes
from heldout.intervals.count_estimator import Estimator
from heldout.intervals.score_estimator import SCORE_SCOPES
from heldout.learners.data import LearningData
from heldout.learners.encoding import make_estimator
from heldout.learners.learner import Learner, read_learners
from heldout.learners.problem import Problem
from heldout.measures.catalogue import name_measures, read_quantity
from heldout.measures.declare import Measure
from heldout.measures.quantity import Quantity
from heldout.plans import Plan, Splits, by_column, read_plan
from heldout.plans.plan import check_apart
from heldout.predictions.positive_class import choose_positive
from heldout.resampling.nested_cv import NestedCV, check_nested, fit_nested, nested_note
from heldout.resampling.run import OnError, cases_of_problem, check_on_error, run
from heldout.resampling.run_evidence import count_every_case_once, count_training, mix_632
from heldout.resampling.split_task import Inner
from heldout.resampling.tuning import InnerSplits, add_search, with_inner
from heldout.result import keeps_backend
from heldout.results.evaluation_builder import Settings
from heldout.results.validation import Judging, SeveralValidations, Validation, Validations
from heldout.synonyms import takes_synonyms


def check_settings(settings: Settings, problem: Problem) -> None:
    """Refuse a positive class, costs, measures or a method that do not go with the classes of the data."""
    positive = choose_positive(settings.positive, problem.labels)
    k = len(problem.labels)
    # As if every case were answered right: the classes and how many cases each has are all that matters here.
    right = Confusion(problem.labels, np.arange(k), np.arange(k), np.bincount(problem.truth, minlength=k))
    costs = None if settings.costs is None else settle_costs(settings.costs, problem.labels, settings.cost_rows)
    if settings.measures == "all":
        return
    for name in [settings.measures] if isinstance(settings.measures, str | Measure) else settings.measures:
        quantity = read_quantity(name, problem.labels, costs=costs).check_costs(costs)
        _check_method(settings, Estimator(right), quantity, positive)


def _check_method(settings: Settings, estimator: Estimator, quantity: Quantity, positive: Label | None) -> None:
    """Refuse a method of counts that does not fit a measure of counts; groups are known later."""
    method, measure = settings.count_method(), quantity.bound.measure
    if measure.scope in SCORE_SCOPES or quantity.is_of_cases:
        return
    alone = quantity.class_ is None and quantity.average is None
    every = alone and measure.scope == "class" and not measure.overall and positive is None
    if not every:
        quantity = quantity.resolve(positive)
    if method is None or method.groups:
        return
    if every:
        estimator.classes(quantity.bound, method.name)
    else:
        estimator.ask(quantity, method.name)


@takes_synonyms
@keeps_backend
def validate(
    learner: Any,
    X: Any = None,
    y: Any = None,
    *,
    plan: Any = "10-fold",
    target: Any = None,
    group: Any = None,
    fold: Any = None,
    features: Sequence[Any] | None = None,
    drop: Any = (),
    grid: Mapping[str, Sequence[Any]] | None = None,
    positive: Label | None = None,
    labels: Sequence[Label] | None = None,
    measures: str | Measure | Iterable[str | Measure] | None = "all",
    costs: Any = None,
    cost_rows: str | None = None,
    level: float = 0.95,
    method: str | None = None,
    missing: Missing = "refuse",
    seed: int = 0,
    replicates: int = 2000,
    jobs: int | Literal["auto"] | None = None,
    on_error: OnError = "raise",
    shortcuts: bool = True,
    training: bool = True,
    progress: Callable[[int, int], object] | Literal[False] | None = None,
    ignore: str | Iterable[str] = (),
) -> Validations:
    """Estimate how good a learner will be on new cases, by a plan such as "10-fold", ".632+ 200" or "loo".

    Several learners see the same splits. Of files and for short names, columns of categories and gaps are dealt with
    inside every fold. Whatever backend joblib is configured with runs the splits.

    Parameters
    ----------
    learner : estimator, str, or several as a list or dictionary
        Anything with fit and predict as in scikit-learn, or a short name such as "knn:5".
    X : array, data frame or path
        The features; or a data frame or file that also holds the class.
    y : array, optional
        The classes, where X does not hold them.
    plan : str, int, splitter or Plan
        How rows are split: "10-fold", ".632+ 200", "loo", 5 for five folds, or a splitter of scikit-learn.
    target : column name, optional
        The column of the class; in ARFF files the last one, otherwise one with a usual name.
    group : array or column name, optional
        Which cases belong together, such as those of one patient. Intervals take whole groups as the cases.
    fold : array or column name, optional
        Which fold each row is in, instead of a plan.
    features : sequence of column names, optional
        The columns to learn from; by default all others.
    drop : column name or names
        Columns to leave out.
    grid : dictionary, optional
        Settings and the values to try, the best of which is searched within every training part.
    positive : label, optional
        The positive class; known for usual pairs such as no and yes, or 0 and 1.
    labels : sequence of labels, optional
        The classes in the order to show them; by default those that occur.
    measures : str or sequence of str, optional
        The measures to show, such as "accuracy", "macro f1" or "recall[spam]"; all by default.
    costs : Costs, table, dictionary, path or text, optional
        What each kind of error costs, as in "yes,no:10; no,yes:1" (truth, predicted: cost).
    cost_rows : {"truth", "predicted"}, optional
        What the rows of a table of costs are.
    level : float
        The level of the intervals: the share of them that should contain the true value.
    method : str, optional
        The interval method, such as "corrected-t" or "nested-cv"; by default the best for each kind of measure.
    missing : {"refuse", "drop"}
        What to do with rows with missing values: refuse them, or drop them and say how many.
    seed : int
        Seed of the random number generator.
    replicates : int
        How many bootstrap replicates are drawn, where an interval needs them.
    jobs : int or "auto", optional
        How many splits are fitted at the same time; -1 for one per core.
    on_error : {"raise", "record"}
        What to do when a learner fails in a split: stop, or keep the others and say how many are missing.
    shortcuts : bool
        Whether faster ways are taken for k-nearest neighbours and naive Bayes, where the predictions are the same.
    training : bool
        Whether training cases are predicted too, for the gap between training and test.
    progress : callable or False, optional
        Called with the number of fits done and of all; by default a bar on a terminal, False for none.
    ignore : str or sequence of str
        Codes of rules that are not to be checked, such as "H014".

    Returns
    -------
    Validations
        One learner's Validation, or several of them by name: validations["tree"]["accuracy"]; iterate over either.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> print(validate("knn:5", X, y, plan="leave-one-out").confusion.matrix)
    [[50  0  0]
     [ 0 47  3]
     [ 0  2 48]]

    """
    asked = "all" if measures is None else name_measures(measures)
    settings = Settings(positive, asked, costs, cost_rows, level, method, seed, replicates, check_codes(ignore))
    settings.checked()
    check_on_error(on_error)
    learners = read_learners(learner, seed)
    dropped = [*([drop] if isinstance(drop, str) else drop)]
    # A fold that is the target is refused as such.
    dropped += [fold] if isinstance(fold, str) and fold != target else []
    data = LearningData(X, y, target, group, features, dropped, labels, missing)
    # Only the forms that the learners need are read; of truth, labels and groups they all hold the same.
    forms = [data.form_for(each) for each in learners]
    problem = forms[0]
    chosen = read_plan(plan) if fold is None else _fold_plan(fold, data, problem, plan)
    check_settings(settings, problem)
    searched = grid is not None or chosen.inner is not None
    if settings.nested:
        check_nested(name_measures(settings.measures) or (), chosen, problem, tuned=searched)
    cases = cases_of_problem(problem)
    splits = chosen.splits(cases, seed)
    check_apart(chosen, splits, cases)
    chosen = with_inner(chosen) if searched else chosen
    options = {
        "jobs": jobs,
        "on_error": on_error,
        "shortcuts": shortcuts,
        "training": training,
        "seed": seed,
        "progress": progress,
        "plan_text": chosen.text,
    }
    # All of them before the first is fitted: what is wrong with the last one must not cost the others' time.
    estimators = [_prepare(each, form, chosen, grid) for each, form in zip(learners, forms, strict=True)]
    validations: list[Validation] = []
    for each, form, estimator in zip(learners, forms, estimators, strict=True):
        inner = InnerSplits.of(chosen, form, seed) if searched else None
        try:
            validations.append(_validate(each.name, estimator, form, chosen, splits, settings, options, inner))
        except KeyboardInterrupt:
            if not validations:
                raise
            break
        if not validations[-1].finished:
            break
    if isinstance(learner, Mapping | list | tuple):
        return SeveralValidations(tuple(validations), tuple(each.name for each in learners[len(validations) :]))
    return validations[0]


def _fold_plan(fold: Any, data: LearningData, problem: Problem, plan: Any) -> Plan:
    if isinstance(fold, str) and fold == problem.target_name:
        raise OptionError(
            f"The column {fold!r} is the target, and cannot be the fold of a row as well.",
            hint="name another column of folds, or a plan.",
        )
    if plan != "10-fold":
        raise OptionError(
            f"Folds were given by a column and by the plan {str(plan)!r}.", hint="leave out the plan or the fold."
        )
    return by_column(data.fold(fold, problem), name=fold if isinstance(fold, str) else None)


def _prepare(learner: Learner, problem: Problem, plan: Plan, grid: Mapping[str, Sequence[Any]] | None) -> Any:
    """What is fitted in every split: the learner behind what its columns need, and a search where one is asked for."""
    estimator = make_estimator(learner, problem)
    return estimator if grid is None and plan.inner is None else add_search(estimator, grid, plan)


def _validate(
    name: str,
    estimator: Any,
    problem: Problem,
    plan: Plan,
    splits: Splits,
    settings: Settings,
    options: dict[str, Any],
    inner: Inner | None,
) -> Validation:
    done = run(estimator, problem, splits, inner=inner, **options)
    optimism, again = None, None
    if plan.correction:
        everything = np.arange(problem.n)
        whole = Splits.of(problem.n, [everything], [everything])
        apart = options | {"shortcuts": False, "training": False, "jobs": None, "progress": False}
        again = run(estimator, problem, whole, inner=inner, **apart)
        optimism = mix_632(count_every_case_once(again, problem), count_every_case_once(done, problem), plan.correction)
    trained = count_training(done, problem) if again is None else count_every_case_once(again, problem)
    nested: NestedCV | None = None
    notes: tuple[str, ...] = ()
    if settings.nested:
        nested = fit_nested(estimator, problem, plan, settings.level, options) if done.complete else None
        done = done if nested is not None and nested.complete else replace(done, complete=False)
        settings, notes = replace(settings, method=None), (nested_note(nested),)
    judging = Judging(settings, again, nested)
    return Validation(name, plan, done, problem, judging, trained, optimism, notes, settings.ignore)
