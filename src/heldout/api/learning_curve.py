"""The front doors to learning curves, of the error or any measure, and to bias and variance."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal, Unpack

import numpy as np

from heldout.api.options import DataArguments, takes
from heldout.api.validate import check_settings
from heldout.arrays import Floats
from heldout.errors import OptionError
from heldout.evidence import Label
from heldout.findings.review import check_codes
from heldout.intervals.estimate import Estimate
from heldout.learners.data import LearningData
from heldout.learners.encoding import make_estimator
from heldout.learners.learner import Learner, read_learners
from heldout.learners.problem import Problem
from heldout.measures.catalogue import read_quantity
from heldout.measures.quantity import Quantity
from heldout.plans.holdout_and_bootstrap import subsampling
from heldout.plans.plan import Splits
from heldout.predictions.positive_class import choose_positive
from heldout.resampling.bias_variance import BiasVariance, decompose
from heldout.resampling.learning_curve import (
    ERROR,
    NOT_TRAINED,
    LearningCurve,
    MeasureAtSizes,
    NestedTrainingSets,
    Sizes,
    learn,
)
from heldout.resampling.outcome import Run
from heldout.resampling.run import OnError
from heldout.result import keeps_backend
from heldout.results.evaluation import Evaluation
from heldout.results.evaluation_builder import Settings
from heldout.results.validation import Judging, evaluate_run

Progress = Callable[[int, int], object] | Literal[False] | None


@keeps_backend
@takes(DataArguments, after="y")
def learning_curve(
    learner: Any,
    X: Any = None,
    y: Any = None,
    *,
    sizes: Sizes = "geometric",
    points: int = 8,
    draws: int = 10,
    test: float = 1 / 3,
    measure: str = ERROR,
    positive: Label | None = None,
    level: float = 0.95,
    seed: int = 0,
    jobs: int | Literal["auto"] | None = None,
    on_error: OnError = "raise",
    progress: Progress = None,
    ignore: str | Iterable[str] = (),
    **data: Unpack[DataArguments],
) -> LearningCurve:
    """Train on growing parts of the data, and say whether more of it would help.

    The data are given as in `validate`.

    Parameters
    ----------
    learner : estimator or str
        Anything with fit and predict as in scikit-learn, or a short name such as "knn:5".
    X : array, data frame or path
        The features; or a data frame or file that also holds the class.
    y : array, optional
        The classes, where X does not hold them.
    target : column name, optional
        The column of the class; in ARFF files the last one, otherwise one with a usual name.
    group : array or column name, optional
        Which cases belong together, such as those of one patient. Intervals take whole groups as the cases.
    features : sequence of column names, optional
        The columns to learn from; by default all others.
    drop : column name or names
        Columns to leave out.
    labels : sequence of labels, optional
        The classes in the order to show them; by default those that occur.
    missing : {"refuse", "drop"}
        What to do with rows with missing values: refuse them, or drop them and say how many.
    sizes : "geometric", "arithmetic" or sequence of numbers
        How the training sizes grow, or the sizes themselves, in rows or as shares.
    points : int
        How many sizes.
    draws : int
        How many training sets of each size.
    test : float
        The share of the cases that each draw leaves out and tests on.
    measure : str
        What the curve shows, such as "accuracy" or "macro f1"; whether more data would help is asked of the error.
    positive : label, optional
        The positive class; known for usual pairs such as no and yes, or 0 and 1.
    level : float
        The level of the intervals: the share of them that should contain the true value.
    seed : int
        Seed of the random number generator.
    jobs : int or "auto", optional
        How many splits are fitted at the same time; -1 for one per core.
    on_error : {"raise", "record"}
        What to do when a learner fails in a split: stop, or keep the others and say how many are missing.
    progress : callable or False, optional
        Called with the number of fits done and of all; by default a bar on a terminal, False for none.
    ignore : str or sequence of str
        Codes of rules that are not to be checked, such as "H014".

    Returns
    -------
    LearningCurve
        Values on training and on test cases at every size, the power law through them, and a verdict.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> curve = learning_curve("naive-bayes", *load_iris(return_X_y=True), points=3, draws=3)
    >>> len(curve.sizes)
    3

    """
    ignored = check_codes(ignore)
    chosen = _read_one(learner, seed)
    problem = LearningData(X, y, **data).form_for(chosen)
    asked = CurveMeasure.read(measure, problem, Settings(positive, measure, level=level, seed=seed), chosen.name)
    curve = learn(
        make_estimator(chosen, problem),
        problem,
        name=chosen.name,
        sizes=sizes,
        points=points,
        draws=draws,
        test=test,
        level=level,
        seed=seed,
        jobs=jobs,
        on_error=on_error,
        progress=progress,
        ignore=ignored,
        measure=None if asked.follows_error else asked.at_sizes,
    )
    # One less the error, with the limits of the error.
    return replace(curve, measured=curve.errors.opposite("accuracy")) if asked.name == "accuracy" else curve


@dataclass(frozen=True)
class CurveMeasure:
    """A measure that a learning curve is to show, and how it is found at every size."""

    quantity: Quantity
    problem: Problem
    settings: Settings
    learner: str

    @classmethod
    def read(cls, measure: str, problem: Problem, settings: Settings, learner: str) -> CurveMeasure:
        """From its name; refused before anything is fitted where the classes or the options do not allow it."""
        quantity = read_quantity(measure, problem.labels).check_divisible("on a learning curve")
        if quantity.bound.measure.kind == "cost":
            raise OptionError(
                f"{quantity.bound.name} needs costs, which a learning curve does not take.",
                hint="name another measure; heldout.validate (heldout validate) takes costs.",
            )
        check_settings(settings.checked(), problem)
        return cls(quantity.resolve(choose_positive(settings.positive, problem.labels)), problem, settings, learner)

    @property
    def name(self) -> str:
        """The name of a measure of all cases; empty for one of a class and for an average."""
        return "" if self.quantity.class_ is not None or self.quantity.average else self.quantity.bound.name

    @property
    def follows_error(self) -> bool:
        """Whether it is known where the error is."""
        return self.name in (ERROR, "accuracy")

    def at_sizes(self, run: Run, sets: NestedTrainingSets) -> MeasureAtSizes:
        """The measure at every size: each is a holdout drawn several times."""
        measure = self.quantity.bound.measure
        wanted = "probabilities" if measure.scope == "probability" else "scores"
        if self.quantity.is_score and (
            run.scores is None or (wanted == "probabilities" and run.score_kind != "probability")
        ):
            raise OptionError(
                f"{measure.name} is a measure of {wanted}, and {self.learner} gives none.",
                hint="use a learner that gives probabilities, or a measure of the classes, such as accuracy.",
            )
        training, test = (np.full((sets.draws, len(sets.sizes)), np.nan) for _ in range(2))
        estimates = []
        for at in range(len(sets.sizes)):
            tested = take_size(run, sets, at)
            estimates.append(self._judge(tested, test[:, at]))
            if not self.quantity.is_score:
                self._judge(take_size(run, sets, at, training=True), training[:, at])
        return MeasureAtSizes(tuple(estimates), training, test)

    def _judge(self, run: Run, of_draws: Floats) -> Estimate:
        """What the predictions of one size tell; the value of every draw that finished is put in its place."""
        name, class_, average = self.quantity.key
        level = self.settings.level
        if not len(run.rows):
            return Estimate(name, class_, average, np.nan, np.nan, np.nan, level, "", 0, NOT_TRAINED)
        plan = subsampling(len(of_draws))
        evaluation: Evaluation = evaluate_run(run, self.problem, plan, Judging(self.settings), None, None)
        of_draws[run.finished] = evaluation.per_fold(self.quantity)
        return evaluation.get(name, class_=class_, average=average)


def take_size(run: Run, sets: NestedTrainingSets, at: int, *, training: bool = False) -> Run:
    """The predictions of the models of one size, of the test or of the training rows, the draws being the splits."""
    width, splits = len(sets.sizes), sets.splits
    places = range(at, len(splits), width)
    fold = run.training_fold if training else run.fold
    rows, predicted = (run.training_rows, run.training_predicted) if training else (run.rows, run.predicted)
    here = fold % width == at
    return Run(
        Splits.of(splits.n, [splits.test(i) for i in places], [splits.train(i) for i in places]),
        run.finished[run.finished % width == at] // width,
        rows[here],
        fold[here] // width,
        predicted[here],
        None if training or run.scores is None else run.scores[here],
        None if training else run.score_kind,
    )


@keeps_backend
@takes(DataArguments, after="y")
def bias_variance(
    learner: Any,
    X: Any = None,
    y: Any = None,
    *,
    rounds: int = 100,
    level: float = 0.95,
    seed: int = 0,
    jobs: int | Literal["auto"] | None = None,
    progress: Progress = None,
    **data: Unpack[DataArguments],
) -> BiasVariance:
    """Split the error of a learner into what it gets wrong for most training sets, and the luck of the training set.

    Every case is judged by the models whose bootstrap sample left it out. The data are given as in `validate`.

    Parameters
    ----------
    learner : estimator or str
        Anything with fit and predict as in scikit-learn, or a short name such as "knn:5".
    X : array, data frame or path
        The features; or a data frame or file that also holds the class.
    y : array, optional
        The classes, where X does not hold them.
    target : column name, optional
        The column of the class; in ARFF files the last one, otherwise one with a usual name.
    group : array or column name, optional
        Which cases belong together, such as those of one patient. Intervals take whole groups as the cases.
    features : sequence of column names, optional
        The columns to learn from; by default all others.
    drop : column name or names
        Columns to leave out.
    labels : sequence of labels, optional
        The classes in the order to show them; by default those that occur.
    missing : {"refuse", "drop"}
        What to do with rows with missing values: refuse them, or drop them and say how many.
    rounds : int
        How many bootstrap samples are trained on.
    level : float
        The level of the intervals: the share of them that should contain the true value.
    seed : int
        Seed of the random number generator.
    jobs : int or "auto", optional
        How many splits are fitted at the same time; -1 for one per core.
    progress : callable or False, optional
        Called with the number of fits done and of all; by default a bar on a terminal, False for none.

    Returns
    -------
    BiasVariance
        Bias and the parts of the variance, with intervals: found["bias"].

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> found = bias_variance("tree", *load_iris(return_X_y=True), rounds=20)
    >>> parts = found["bias"] + found["unbiased_variance"] - found["helpful_variance"]
    >>> bool(abs(parts - found["error_rate"]) < 1e-9)
    True

    """
    chosen = _read_one(learner, seed)
    problem = LearningData(X, y, **data).form_for(chosen)
    return decompose(
        make_estimator(chosen, problem),
        problem,
        name=chosen.name,
        rounds=rounds,
        seed=seed,
        level=level,
        jobs=jobs,
        progress=progress,
    )


def _read_one(learner: Any, seed: int) -> Learner:
    learners = read_learners(learner, seed)
    if len(learners) > 1:
        raise OptionError(f"This takes one learner, and {len(learners)} were given.", hint="call it for each of them.")
    return learners[0]
