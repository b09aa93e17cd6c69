"""Splits done by workers: the same results from every backend, errors that travel, and a clean stop."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
import warnings

import joblib
import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.tree import DecisionTreeClassifier
from tests.resampling.making import folds, run, two_clouds

from heldout.errors import LearnerError
from heldout.plans.plan import Splits
from heldout.resampling import workers

TREE = DecisionTreeClassifier(random_state=0)


def whereabouts(*, fails=False):
    """A learner whose predictions tell whether they were made in this process (0) or in another (1).

    It is defined in here, so that it travels to workers as it is and they need not find this file.
    """

    class Unportable(Exception):  # noqa: N818 - one of the careless ones that cannot be pickled and read back
        def __init__(self, first, second):
            super().__init__(f"{first} and {second}")

    class Whereabouts(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
        def __init__(self, parent=0):
            self.parent = parent

        def fit(self, X, y):  # noqa: ARG002 - it learns nothing
            self.classes_ = np.unique(y)
            warnings.warn("it leaks", UserWarning, stacklevel=1)
            if fails:
                raise Unportable(1, 2)
            return self

        def predict(self, X):
            return np.full(len(X), int(os.getpid() != self.parent))

    return Whereabouts(os.getpid())


def assert_equal(a, b):
    for name in ("finished", "rows", "fold", "predicted", "scores", "training_rows", "training_predicted"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)


@pytest.mark.parametrize("backend", ["loky", "threading", "sequential"])
def test_every_backend_gives_the_same(backend):
    problem, splits = two_clouds(80, apart=0.3), folds(80, 6)
    alone = run(TREE, problem, splits)
    with joblib.parallel_config(backend=backend, n_jobs=2):
        assert_equal(run(TREE, problem, splits), alone)


def test_bootstrap_rows_are_the_same_in_workers():
    problem = two_clouds(80, apart=0.3)
    trains = [np.random.default_rng(i).integers(0, 80, size=80) for i in range(4)]
    splits = Splits.of(80, [np.setdiff1d(np.arange(80), train) for train in trains], trains)
    assert_equal(run(TREE, problem, splits, jobs=2), run(TREE, problem, splits))


def test_without_configuration_everything_happens_here():
    assert set(run(whereabouts(), two_clouds(), folds(60, 3)).predicted) == {0}


def test_the_configured_backend_is_used():
    with joblib.parallel_config(backend="loky", n_jobs=2):
        result = run(whereabouts(), two_clouds(), folds(60, 3))
    assert set(result.predicted) == {1}
    assert result.warnings == ("UserWarning in 3 of 3 folds: it leaks",)


def test_threads_keep_their_warnings_apart():
    with joblib.parallel_config(backend="threading", n_jobs=2):
        result = run(whereabouts(), two_clouds(), folds(60, 6))
    assert set(result.predicted) == {0}
    assert result.warnings == ("UserWarning in 6 of 6 folds: it leaks",)


def test_auto_stays_here_for_short_work():
    assert set(run(whereabouts(), two_clouds(), folds(60, 4), jobs="auto").predicted) == {0}


def test_auto_spreads_long_work_after_one_split(monkeypatch):
    monkeypatch.setattr(workers, "WORTHWHILE", 0.0)
    result = run(whereabouts(), two_clouds(), folds(60, 4), jobs="auto")
    assert [set(result.predicted[result.fold == i]) for i in range(4)] == [{0}, {1}, {1}, {1}]


def test_a_failure_is_recorded_in_workers_too():
    y = np.arange(60) % 2
    splits = Splits.of(60, [np.array([0]), np.array([1]), np.array([2])], [np.flatnonzero(y), np.arange(3, 60), y[:0]])
    result = run(TREE, two_clouds(), splits, jobs=2, on_error="record")
    assert result.finished.tolist() == [0, 1]
    assert [failure.split for failure in result.failures] == [2]


def test_an_error_that_cannot_travel_is_put_into_words():
    with pytest.raises(LearnerError, match=r"Whereabouts failed in fold .: Unportable: 1 and 2") as caught:
        run(whereabouts(fails=True), two_clouds(), folds(60, 3), jobs=2)
    assert "Unportable: 1 and 2" in str(caught.value.__cause__)


def test_workers_that_cannot_read_the_learner_say_so():
    learner = whereabouts()
    learner.parent = Unreadable()
    with pytest.raises(LearnerError, match="could not be run by workers") as caught:
        run(learner, two_clouds(), folds(60, 3), jobs=2)
    assert "jobs=1" in caught.value.hint


class Unreadable:
    def __reduce__(self):
        return (_never, ())


def _never():
    raise AssertionError


SCRIPT = """
    import signal, sys, time
    # A shell that runs the tests in the background lets its children ignore interrupts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    import numpy as np
    from sklearn.base import BaseEstimator, ClassifierMixin
    from heldout.learners.problem import Problem
    from heldout.plans.plan import Splits
    from heldout.resampling.run import run

    class Slow(ClassifierMixin, BaseEstimator):
        def fit(self, X, y):
            self.classes_ = np.unique(y)
            time.sleep(0.05 if X[:, 0].min() > 0 or X[:, 0].max() < 10 else 60)
            return self
        def predict(self, X):
            return np.zeros(len(X), dtype=int)

    if __name__ == "__main__":
        y = np.arange(12) % 2
        X = np.arange(12.0)[:, None]
        def say(done, total):
            print("done", done, flush=True)
        splits = Splits.partition(np.array([0] + [1] * 2 + [2] * 2 + [3] * 2 + [4] * 3 + [5] * 2))
        result = run(Slow(), Problem(X, y, y, (0, 1)), splits, jobs=JOBS, progress=say)
        print("finished", result.finished.tolist(), result.complete, flush=True)
"""


def gone(group, seconds=5):
    """Whether all processes of a group have ended, or do within a few seconds."""
    for _ in range(seconds * 10):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.1)
    return False


@pytest.mark.parametrize("jobs", [1, 2])
def test_control_c_keeps_what_is_finished_and_leaves_nothing_behind(tmp_path, jobs):
    script = tmp_path / "slow.py"
    script.write_text(textwrap.dedent(SCRIPT).replace("JOBS", str(jobs)))
    command = [sys.executable, "-W", "error", str(script)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, start_new_session=True) as child:
        try:
            assert child.stdout is not None
            assert child.stdout.readline() == "done 1\n"
            time.sleep(0.3)
            # As a terminal does: to every process of the group.
            os.killpg(child.pid, signal.SIGINT)
            output, errors = child.communicate(timeout=30)
        finally:
            child.kill()
    assert output.splitlines()[-1].startswith("finished [0")
    assert output.splitlines()[-1].endswith("False")
    assert errors == ""
    assert child.returncode == 0
    assert gone(child.pid)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_workers_end_with_the_process_that_started_them(tmp_path, number):
    script = tmp_path / "slow.py"
    script.write_text(textwrap.dedent(SCRIPT).replace("JOBS", "2"))
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, start_new_session=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"done 1\n"
        child.send_signal(number)
        child.wait(timeout=30)
        # The whole group: workers, also those that have not begun, and what joblib started beside them.
        assert gone(child.pid, seconds=30)
