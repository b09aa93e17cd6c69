"""Estimates are made when they are first read: once, by any thread, and anew after an interruption."""

from __future__ import annotations

import copy
import pickle
import threading
from functools import cached_property

import pytest

import heldout
from heldout.results.evaluation import Evaluation, make_later


def slow_evaluation(make):
    made = heldout.evaluate([0, 1] * 30, [0, 1, 1] * 20)
    estimates = made.estimates
    return make_later(made, lambda: make(estimates))


def test_every_thread_reads_the_estimates_and_they_are_made_once():
    together, calls = threading.Barrier(4), []

    def make(estimates):
        calls.append(1)
        threading.Event().wait(0.05)
        return estimates

    evaluation = slow_evaluation(make)
    read, failed = [], []

    def look():
        together.wait()
        try:
            read.append(evaluation.estimates)
        except AttributeError as error:
            failed.append(error)

    threads = [threading.Thread(target=look) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert len(read) == 4
    assert len(calls) == 1
    assert all(one is read[0] for one in read)


def test_what_was_interrupted_is_made_when_it_is_read_again():
    calls = []

    def make(estimates):
        calls.append(1)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return estimates

    evaluation = slow_evaluation(make)
    with pytest.raises(KeyboardInterrupt):
        evaluation.rows()
    assert len(evaluation.rows()) > 10


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_an_evaluation_whose_estimates_were_not_read_is_copied(copied):
    evaluation = heldout.evaluate([0, 1] * 30, [0, 1, 1] * 20)
    assert "estimates" not in vars(evaluation)
    again = copied(evaluation)
    # What is computed when it is asked for may be there; how the estimates were to be made is not.
    stored = {name for name in vars(again) if not isinstance(getattr(Evaluation, name, None), cached_property)}
    assert stored <= {*Evaluation.__dataclass_fields__}
    assert again.rows() == evaluation.rows()


def test_what_is_no_attribute_is_said():
    with pytest.raises(AttributeError, match="'Evaluation' object has no attribute 'estimate'"):
        _ = heldout.evaluate([0, 1] * 30, [0, 1, 1] * 20).estimate


def test_estimates_of_counted_scores_wait_until_they_are_read():
    evidence = heldout.count([0, 1, 1, 0] * 20, score=[0.1, 0.8, 0.4, 0.6] * 20)
    evaluation = heldout.evaluate(evidence)
    assert "estimates" not in vars(evaluation)
    assert evaluation["accuracy"].value == 0.5
    assert "estimates" not in vars(evaluation)
    assert {"accuracy", "roc_auc", "brier"} <= {estimate.measure for estimate in evaluation}
