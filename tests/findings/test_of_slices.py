"""The rule about slices fires where one is worse, passes where none is, and has nothing to say without slices."""

from __future__ import annotations

import numpy as np

from heldout import evaluate

RNG = np.random.default_rng(17)
N = 2000
TRUTH = RNG.integers(0, 2, N)
SEX = RNG.choice(["f", "m"], N)


def judged(rate, **more):
    wrong = np.random.default_rng(3).random(N) < rate
    return evaluate(TRUTH, np.where(wrong, 1 - TRUTH, TRUTH), **more)


def test_it_fires_where_a_slice_is_worse():
    evaluation = judged(np.where(SEX == "f", 0.3, 0.1), slices={"sex": SEX})
    finding = evaluation.review["H021"]
    assert (finding.outcome, finding.severity) == ("fired", "act")
    assert "sex = f" in finding.title
    assert finding.facts["cases"] == int((SEX == "f").sum())
    assert finding in evaluation.findings
    assert "H021" in str(evaluation)


def test_it_passes_where_none_is():
    finding = judged(0.1, slices={"sex": SEX}).review["H021"]
    assert finding.outcome == "passed"
    assert "None of 2 slices" in finding.title


def test_a_slice_that_is_better_does_not_fire_it_alone():
    # One of three slices is better; the two others are not clearly worse than their rest, which holds the better one.
    site = np.where(np.arange(N) % 40 == 0, "small", np.where(np.arange(N) % 2 == 0, "one", "two"))
    finding = judged(np.where(site == "small", 0.0, 0.2), slices={"site": site}).review["H021"]
    assert finding.outcome == "passed"


def test_it_is_not_applicable_without_slices_and_can_be_ignored():
    assert judged(0.1).review["H021"].outcome == "not applicable"
    ignored = judged(np.where(SEX == "f", 0.3, 0.1), slices={"sex": SEX}, ignore="h021")
    assert "H021" not in {finding.code for finding in ignored.review.findings}


def test_with_rare_positives_slices_are_judged_by_recall():
    truth = np.arange(N) % 20 == 0
    found = truth & (np.random.default_rng(5).random(N) < np.where(SEX == "f", 0.1, 0.95))
    evaluation = evaluate(truth, found, positive=True, slices={"sex": SEX})
    finding = evaluation.review["H021"]
    assert finding.outcome == "fired"
    assert finding.facts["measure"] == "recall[True]"
    assert "sex = f" in finding.title
    assert evaluation.worst_slices().slices[0].values == ("f",)
    even = evaluate(truth, truth & (np.arange(N) % 3 > 0), positive=True, slices={"sex": SEX}).review["H021"]
    assert even.title == "None of 2 slices of one column has a clearly lower recall (True) than the rest."
    assert evaluation.slices("error_rate").whole.measure == "error_rate"
