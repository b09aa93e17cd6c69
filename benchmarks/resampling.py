"""Resampling against scikit-learn's, and against the bare fits it cannot do without."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import LeaveOneOut, StratifiedKFold, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

import heldout
from benchmarks.timing import Contender, Race, race
from heldout import plans

Features = NDArray[np.float64]
Target = NDArray[np.int64]


def data(rows: int, columns: int = 20) -> tuple[Features, Target]:
    """Two overlapping classes."""
    X, y = make_classification(rows, columns, n_informative=8, n_clusters_per_class=2, class_sep=0.8, random_state=0)
    return X, y


def every_measure(learner: Any, X: Features, y: Target, plan: Any) -> Callable[[], object]:
    """Validate, and work out every measure with its interval."""
    return lambda: heldout.validate(learner, X, y, plan=plan).rows()


def one_measure(learner: Any, X: Features, y: Target, plan: Any) -> Callable[[], object]:
    """Validate, and read the accuracy with its interval; training cases are left out, as the peer leaves them out."""
    return lambda: heldout.validate(learner, X, y, plan=plan, measures=["accuracy"], training=False)["accuracy"]


def races(shrink: int) -> Iterator[tuple[str, Race]]:
    """Leave-one-out and k-fold with and without shortcuts, the harness, and .632+."""
    warnings.simplefilter("ignore")
    X, y = data(2000 // min(shrink, 10))
    for name, learner in (("k-nearest neighbours", KNeighborsClassifier(5)), ("naive Bayes", GaussianNB())):
        yield (
            f"leave-one-out-{'knn' if 'near' in name else 'bayes'}",
            race(
                f"leave-one-out of {name}, {len(y):,} × {X.shape[1]}",
                [
                    Contender("heldout, accuracy with its interval", one_measure(learner, X, y, "leave-one-out")),
                    Contender(
                        "heldout, every measure and the training error", every_measure(learner, X, y, "leave-one-out")
                    ),
                    Contender(
                        "scikit-learn cross_val_score, accuracy",
                        partial(cross_val_score, learner, X, y, cv=LeaveOneOut()),
                        most=3,
                    ),
                ],
                rounds=9,
            ),
        )
    big, target = data(100_000 // shrink)
    ten = StratifiedKFold(10, shuffle=True, random_state=0)
    yield (
        "ten-fold-bayes",
        race(
            f"10-fold of naive Bayes, {len(target):,} × {big.shape[1]}",
            [
                Contender("heldout, accuracy with its interval", one_measure(GaussianNB(), big, target, "10-fold")),
                Contender(
                    "heldout, every measure and the training error", every_measure(GaussianNB(), big, target, "10-fold")
                ),
                Contender(
                    "scikit-learn cross_val_score, accuracy", lambda: cross_val_score(GaussianNB(), big, target, cv=ten)
                ),
            ],
            rounds=9,
        ),
    )
    yield from _harness(shrink)
    yield _bootstrap(big, target, shrink)


def _harness(shrink: int) -> Iterator[tuple[str, Race]]:
    """What validating costs beyond fitting and predicting."""
    plan = plans.kfold(10)
    for name, learner, rows in (
        ("forest", RandomForestClassifier(100, random_state=0), 3000),
        ("logistic", LogisticRegression(max_iter=1000), 100_000),
    ):
        X, y = data(rows // min(shrink, 10))
        splits = plan.splits(plans.Cases(y, (0, 1)))
        yield (
            f"harness-{name}",
            race(
                f"10-fold of {name}, {len(y):,} × {X.shape[1]}: against the bare fits and predictions",
                [
                    Contender("bare fits and predictions", partial(_bare, learner, X, y, splits)),
                    Contender(
                        "heldout, until the measures are asked for", partial(heldout.validate, learner, X, y, plan=plan)
                    ),
                    Contender("heldout, every measure with its interval", every_measure(learner, X, y, plan)),
                ],
                rounds=5,
            ),
        )


def _bare(learner: Any, X: Features, y: Target, splits: plans.Splits) -> None:
    """Fit, predict classes and probabilities, and classes of as many training rows as there are test rows."""
    for train, test in splits:
        fitted = clone(learner).fit(X[train], y[train])
        fitted.predict(X[test])
        fitted.predict_proba(X[test])
        fitted.predict(X[train[: len(test)]])


def _bootstrap(X: Features, y: Target, shrink: int) -> tuple[str, Race]:
    """What .632+ costs beyond the fits: the counts and the rule, at 200 bootstrap samples."""
    from heldout.api.validate import validate
    from heldout.resampling.run_evidence import count_every_case_once, mix_632

    times = 200 // min(shrink, 10)
    made: Any = validate(GaussianNB(), X, y, plan=f".632+ {times}", measures=["error_rate"])

    def rule() -> float:
        return mix_632(made.training, count_every_case_once(made.run, made.problem), ".632+").error

    def everything() -> object:
        # A copy has not made its evaluation yet.
        return replace(made)["error_rate"]

    return (
        "bootstrap-632",
        race(
            f".632+ of {len(y):,} cases, {times} samples: what comes after the fits",
            [Contender("the rule", rule), Contender("the error with its interval and the folds", everything)],
            rounds=7,
        ),
    )
