"""Resampling on a cluster: joblib's backend for Dask spreads the splits, and gives the numbers of one process."""

from __future__ import annotations

import os

import joblib
import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier
from tests.resampling.making import two_clouds
from tests.resampling.test_workers import whereabouts

import heldout
from heldout.results.validation import Validation

TREE = DecisionTreeClassifier(max_depth=3, random_state=0)


@pytest.fixture
def data():
    problem = two_clouds(120, apart=0.5)
    return problem.features, problem.target


@pytest.mark.parametrize("jobs", [None, 2, -1])
def test_a_dask_cluster_validates_and_compares_as_one_process_does(dask_client, jobs, data):
    X, y = data
    learners = {"tree": TREE, "knn": "knn:5"}
    here = heldout.validate(learners, X, y, shortcuts=False)
    with joblib.parallel_config(backend="dask"):
        there = heldout.validate(learners, X, y, shortcuts=False, jobs=jobs)
    assert there.to_json() == here.to_json()
    assert heldout.compare(there).to_json() == heldout.compare(here).to_json()
    assert dask_client.scheduler_info()["workers"]


def test_the_splits_are_really_done_by_the_cluster(dask_client, data):
    X, y = data
    assert os.getpid() not in dask_client.run(os.getpid).values()
    with joblib.parallel_config(backend="dask"):
        found = heldout.validate(whereabouts(), X, y, plan="4-fold", training=False)
    assert isinstance(found, Validation)
    # It predicts 1 in any process but ours.
    assert found.confusion.matrix.sum(axis=0).tolist() == [0, len(y)]


def test_learning_curves_and_bias_and_variance_run_there_too(dask_client, data):
    X, y = data
    here = heldout.learning_curve(TREE, X, y, points=2, draws=2), heldout.bias_variance(TREE, X, y, rounds=4)
    with joblib.parallel_config(backend="dask"):
        there = heldout.learning_curve(TREE, X, y, points=2, draws=2), heldout.bias_variance(TREE, X, y, rounds=4)
    assert [found.to_json() for found in there] == [found.to_json() for found in here]
    assert dask_client.scheduler_info()["workers"]


def test_the_data_travel_once_and_not_with_every_split(dask_client, data):
    X, y = data

    class Counted(np.ndarray):
        sent = 0

        def __reduce_ex__(self, protocol):
            Counted.sent += 1
            return np.asarray(self).__reduce_ex__(protocol)

    with joblib.parallel_config(backend="dask"):
        heldout.validate(TREE, X.view(Counted), y, plan="20-fold", training=False, shortcuts=False)
    assert 0 < Counted.sent < 20
    assert dask_client.scheduler_info()["workers"]


def test_a_cluster_without_a_number_of_workers_is_taken_whole():
    """Ray's backend, unlike Dask's, would take one worker unless it is told a number."""
    told = []

    class Elsewhere(joblib.parallel.ThreadingBackend):  # type: ignore[misc]
        """A backend that is none of joblib's own; it works by threads."""

        def effective_n_jobs(self, n_jobs):
            told.append(n_jobs)
            return 2

    joblib.register_parallel_backend("elsewhere", Elsewhere)
    problem = two_clouds(60)
    with joblib.parallel_config(backend="elsewhere"):
        heldout.validate(TREE, problem.features, problem.target, plan="4-fold")
    assert -1 in told
