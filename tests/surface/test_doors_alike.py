"""The doors take the same things by the same words, and what they hint at can be done."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import heldout
from heldout.api import evaluate as front
from heldout.errors import MatrixError, OptionError
from heldout.predictions.source import Source

RNG = np.random.default_rng(0)
P, Q = RNG.random(200), RNG.random(200)
Y = (RNG.random(200) < P).astype(int)


def run_python(words, folder=None):
    return subprocess.run([sys.executable, *words], cwd=folder, capture_output=True, text=True, check=False)


def write_costs(tmp_path):
    path = tmp_path / "costs.csv"
    path.write_text("class,0,1\n0,0,1\n1,5,0\n", encoding="utf-8")
    return path


def test_the_rows_of_costs_can_be_named_in_a_comparison(tmp_path):
    costs = write_costs(tmp_path)
    with pytest.raises(MatrixError, match="cost_rows="):
        heldout.compare(P, Q, truth=Y, costs=str(costs))
    by_truth = heldout.compare(P, Q, truth=Y, costs=str(costs), cost_rows="truth", measures="expected_cost")
    turned = heldout.compare(P, Q, truth=Y, costs=str(costs), cost_rows="predicted", measures="expected_cost")
    predicted = P >= 0.5
    missed, alarms = np.mean((Y == 1) & ~predicted), np.mean((Y == 0) & predicted)
    assert by_truth.pairs[0].value_a == pytest.approx(5 * missed + alarms)  # type: ignore[attr-defined]
    assert turned.pairs[0].value_a == pytest.approx(missed + 5 * alarms)  # type: ignore[attr-defined]


def test_the_rows_of_costs_can_be_named_on_the_command_line(tmp_path):
    costs = write_costs(tmp_path)
    for name, scores in (("a.csv", P), ("b.csv", Q)):
        lines = [f"{truth},{score}" for truth, score in zip(Y, scores, strict=True)]
        (tmp_path / name).write_text("\n".join(["truth,score", *lines]), encoding="utf-8")
    words = ["compare", "a.csv", "b.csv", "--costs", str(costs), "--measure", "expected_cost"]
    runs = [run_python(["-m", "heldout", *words, *more], tmp_path) for more in ([], ["--cost-rows", "truth"])]
    assert [run.returncode for run in runs] == [2, 0]
    assert "--cost-rows" in runs[0].stderr


def test_a_wrong_word_for_rows_is_answered_with_the_right_ones():
    costs: dict[str, Any] = {"costs": [[0, 1], [5, 0]], "cost_rows": "columns"}
    for call in (
        lambda: heldout.evaluate(Y, score=P, **costs),
        lambda: heldout.check(Y, score=P, require="accuracy >= 0", **costs),
        lambda: heldout.compare(P, Q, truth=Y, **costs),
        lambda: heldout.choose_threshold(Y, P, **costs),
        lambda: heldout.validate("knn", np.c_[P, Q], Y, **costs),
    ):
        with pytest.raises(OptionError, match="write cost_rows='truth' or cost_rows='predicted'"):
            call()


def test_scores_may_stand_in_second_place_of_a_recalibration():
    assert heldout.recalibrate(Y, P) == heldout.recalibrate(Y, score=P)


def test_a_card_takes_its_data_as_a_validation_does():
    given: dict[str, Any] = {"plan": "2-fold", "timing": False, "shuffles": 1, "y": Y}
    named = heldout.card("tree:2", X=np.c_[P, Q], **given)
    assert named == heldout.card("tree:2", data=np.c_[P, Q], **given)  # type: ignore[call-arg]


def test_a_wrong_public_name_is_answered_with_a_near_one():
    said = run_python(["-c", "import heldout\nheldout.evalute"]).stderr
    assert "has no attribute 'evalute'. Did you mean: 'evaluate'?" in said
    assert "Did you mean: 'coverage'?" in run_python(["-c", "from heldout import lab\nlab.coverge"]).stderr


def test_what_people_catch_is_public():
    raised = {"GateError", "OptionError", "ValuesError", "LabelError", "FileError", "ColumnError", "MatrixError"}
    assert raised <= set(heldout.errors.__all__)
    every = [kind for kind in vars(heldout.errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]
    assert {kind.__name__ for kind in every} == set(heldout.errors.__all__)


def test_scores_that_are_counted_elsewhere_keep_the_note_that_they_were_taken_as_scores(monkeypatch):
    evidence = heldout.Evidence()
    evidence.update(Y, score=P)
    counted = front.known_evidence(evidence)[0]  # type: ignore[attr-defined, index]
    monkeypatch.setattr(front, "counted_elsewhere", lambda *_: (counted, Source()))
    plain = heldout.evaluate(Y, score=P, measures=[]).notes
    noted = heldout.evaluate(Y, P, measures=[]).notes
    assert len(noted) == len(plain) + 1
    assert any("score" in note for note in set(noted) - set(plain))


def test_evidence_is_written_as_results_are(tmp_path):
    evidence = heldout.Evidence().update(Y, P >= 0.5)
    for written in (evidence.write(tmp_path / "a.evidence"), evidence.save(tmp_path / "b.evidence")):
        assert heldout.Evidence.load(written).n == 200


def test_a_gate_tells_its_undecided_requirements_from_what_becomes_of_them():
    gate = heldout.check(Y, score=P, require=["accuracy >= 0.2", "accuracy >= 0.99", "accuracy >= 0.74"])
    assert [one.outcome for one in gate] == ["passed", "failed", "undecided"]
    assert [one.text for one in gate.undecided] == ["accuracy >= 0.74"]
    assert [one.text for one in gate.failed] == ["accuracy >= 0.99"]
    assert gate.undecided_rule == gate.to_dict()["undecided"] == "fail"


def test_rows_of_predictions_have_a_name_of_their_own():
    validation = heldout.validate("naive-bayes", np.c_[P, Q], Y, plan="2-fold")
    assert list(validation.prediction_rows()[0])[:4] == ["row", "fold", "truth", "predicted"]  # type: ignore[attr-defined]
    assert not hasattr(validation, "predictions")
    assert heldout.evaluate(Y, score=P).predictions.n == 200  # type: ignore[union-attr]


def test_measures_with_parameters_are_printed_as_they_are_said():
    asked = ["precision_at(k=50)", "gain_at", "tpr_at_fpr(fpr=0.2)", "partial_auc(high=0.2)"]
    shown = str(heldout.evaluate(Y, score=P, measures=asked))
    assert not re.search(r"[a-zA-Z]\(\w+=", shown)
    for name in ("precision at 50", "gain at 0.1", "TPR at FPR 0.2", "partial AUC (high 0.2)"):
        assert name in shown
