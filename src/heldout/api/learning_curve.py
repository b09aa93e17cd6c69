"""The front doors to learning curves and to bias and variance."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal, Unpack

from heldout.api.options import DataArguments, takes
from heldout.errors import OptionError
from heldout.findings.review import check_codes
from heldout.learners.data import LearningData
from heldout.learners.encoding import make_estimator
from heldout.learners.learner import Learner, read_learners
from heldout.resampling.bias_variance import BiasVariance, decompose
from heldout.resampling.learning_curve import LearningCurve, Sizes, learn

Progress = Callable[[int, int], object] | Literal[False] | None


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
    level: float = 0.95,
    seed: int = 0,
    jobs: int | Literal["auto"] | None = None,
    on_error: Literal["raise", "record"] = "raise",
    progress: Progress = None,
    mute: str | Iterable[str] = (),
    **data: Unpack[DataArguments],
) -> LearningCurve:
    """Train on growing parts of the data, and say whether more of it would help.

    `sizes` grow "geometric" or "arithmetic", or are listed; of each size there are so many `draws`, tested on the share
    `test` of the cases that the draw leaves out. The data are given as to `validate`. `mute` names rules that are not
    to be checked, by their codes.

    >>> from sklearn.datasets import load_iris
    >>> curve = learning_curve("naive-bayes", *load_iris(return_X_y=True), points=3, draws=3)
    >>> len(curve.sizes)
    3
    """
    muted = check_codes(mute)
    chosen = _read_one(learner, seed)
    problem = LearningData(X, y, **data).form_for(chosen)
    return learn(
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
        mute=muted,
    )


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

    Trains on `rounds` bootstrap samples and judges every case by the models that did not see it. The data are given as
    to `validate`.

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
