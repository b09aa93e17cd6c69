"""Problems for the tests of running learners."""

from __future__ import annotations

from typing import Any

import numpy as np

from heldout.learners.problem import Problem
from heldout.plans.plan import Splits
from heldout.resampling import run as running

# Of no declared type: tests know which of the optional parts are there.
run: Any = running.run


def problem_of(X, y, labels=None):
    target = np.asarray(y)
    names = tuple(labels) if labels is not None else tuple(np.unique(target).tolist())
    place = {name: i for i, name in enumerate(names)}
    truth = np.array([place[label] for label in target.tolist()], dtype=np.int64)
    return Problem(X, target, truth, names)


def folds(n, k, *seeds):
    return Splits.partition(*(np.random.default_rng(seed).permutation(n) % k for seed in seeds or (0,)))


def leave_one_out(n):
    return Splits.partition(np.arange(n))


def two_clouds(n=60, features=3, seed=0, apart=1.5):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    return problem_of(rng.normal(size=(n, features)) + apart * y[:, None], y)
