"""MLflow, pytest and Hugging Face's Trainer: what they log, show and get, each run for real where it is installed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections import namedtuple
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import heldout
from heldout.errors import OptionError, ValuesError

ROOT = Path(__file__).parents[2]
ENTRY_POINTS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]
EvalPrediction = namedtuple("EvalPrediction", ["predictions", "label_ids"])  # noqa: PYI024 - as the trainer has it

SESSION = """
import heldout

def judge():
    return heldout.evaluate(["yes"] * 90 + ["no"] * 90, ["yes"] * 85 + ["no"] * 95, slices={"half": [0, 1] * 90})

def test_good(heldout_report):
    evaluation = heldout_report(judge())
    assert heldout_report(evaluation) is evaluation
    heldout.assert_at_least(evaluation["recall"], 0.85)

def test_gate():
    heldout.check(judge(), require="recall >= 0.85, accuracy >= 0.99").raise_if_failed()

def test_nothing():
    pass
"""


def load(entry_point):
    module, _, name = entry_point.partition(":")
    return getattr(import_module(module), name) if name else import_module(module)


@pytest.fixture(scope="module")
def mail():
    rng = np.random.default_rng(5)
    features = rng.normal(size=(120, 2))
    return features, np.where(features[:, 0] + rng.normal(size=120) > 0, "spam", "ham")


@pytest.mark.filterwarnings("ignore")  # MLflow's own, and those of what it imports
def test_mlflow_gets_figures_limits_charts_and_the_page(tmp_path, monkeypatch, mail):
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    import mlflow
    import pandas as pd
    from mlflow.models.evaluation.evaluator_registry import _model_evaluation_registry as registry
    from sklearn.linear_model import LogisticRegression

    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    client = mlflow.MlflowClient()
    features, truth = mail
    model = LogisticRegression().fit(features, truth)
    evaluation = heldout.from_estimator(model, features, truth, positive="spam")
    with mlflow.start_run() as run:
        logged = heldout.mlflow.log(evaluation, step=3)
    kept = client.get_run(run.info.run_id).data.metrics
    assert kept == pytest.approx(logged)
    assert kept == pytest.approx({name: value for name, value in evaluation.metrics().items() if np.isfinite(value)})
    assert client.get_metric_history(run.info.run_id, "recall_spam_low")[0].step == 3
    names = {Path(one.path).name for one in client.list_artifacts(run.info.run_id, "heldout")}
    assert names == {"report.html", "result.json", "roc.svg", "precision_recall.svg", "reliability.svg"}
    document = mlflow.artifacts.load_dict(f"{run.info.artifact_uri}/heldout/result.json")
    assert document == json.loads(evaluation.to_json())

    # As MLflow finds it by its entry point.
    registry.register("heldout", load(ENTRY_POINTS["mlflow.model_evaluator"]["heldout"]))
    frame = pd.DataFrame({"a": features[:, 0], "b": features[:, 1], "truth": truth})
    mlflow.sklearn.save_model(
        model, tmp_path / "model", pip_requirements=["scikit-learn"], serialization_format="pickle"
    )
    ask = {"targets": "truth", "model_type": "classifier", "evaluators": "heldout"}
    with mlflow.start_run() as second:
        found = mlflow.models.evaluate(
            str(tmp_path / "model"), frame, evaluator_config={"pos_label": "spam", "prefix": "test_"}, **ask
        )
    assert found.metrics == pytest.approx({f"test_{name}": value for name, value in logged.items()})
    assert client.get_run(second.info.run_id).data.metrics == pytest.approx(found.metrics)
    with mlflow.start_run():
        said = frame.drop(columns=["a", "b"]).assign(answer=model.predict(features))
        answers = mlflow.models.evaluate(data=said, predictions="answer", evaluator_config={"positive": "spam"}, **ask)
    assert answers.metrics["recall_spam"] == pytest.approx(logged["recall_spam"])
    assert "roc_auc_spam" not in answers.metrics


def test_a_session_of_pytest_ends_with_its_gates_and_findings(tmp_path):
    (tmp_path / "test_model.py").write_text(SESSION)
    plugin = ENTRY_POINTS["pytest11"]["heldout"]
    answer = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", plugin, "--junit-xml", "found.xml"],
        cwd=tmp_path, env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}, capture_output=True, text=True,
        check=False, timeout=300,
    )  # fmt: skip
    assert answer.returncode == 1, answer.stdout + answer.stderr
    summary = answer.stdout.partition("= heldout =")[2]
    assert summary.index("test_model.py::test_good") < summary.index("test_model.py::test_gate")
    assert "+ recall[yes] >= 0.85 passed: recall[yes] .944 meets it" in summary
    assert "Evaluation of 180 cases of 2 classes: " in summary
    assert "× accuracy >= 0.99 undecided: accuracy .972 misses it" in summary
    assert "test_nothing" not in summary
    assert "GateError: The gate failed: 1 passed, 1 undecided." in answer.stdout
    # The failure is shown where the test calls, not inside heldout.
    assert "gate.py" not in answer.stdout
    assert 'name="heldout" value="+ recall[yes]' in (tmp_path / "found.xml").read_text()


def test_the_plugin_imports_nothing_heavy():
    answer = subprocess.run(
        [sys.executable, "-c", "import sys, heldout.pytest_plugin; print('numpy' in sys.modules)"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert answer.stdout.strip() == "False"


def test_a_trainer_gets_figures_from_logits():
    rng = np.random.default_rng(1)
    truth = rng.integers(3, size=50)
    logits = rng.normal(size=(50, 3)) + 2 * np.eye(3)[truth]
    names = {0: "a", 1: "b", 2: "c"}
    found = heldout.compute_metrics(EvalPrediction((logits, np.zeros((50, 4))), truth), labels=names)
    powers = np.exp(logits)
    shares = powers / powers.sum(axis=1, keepdims=True)
    letters = np.array(list("abc"))
    expected = heldout.evaluate(letters[truth], letters[logits.argmax(axis=1)], score=shares, labels=list("abc"))
    assert found == pytest.approx(expected.metrics())
    assert heldout.compute_metrics((shares, truth), labels=names) == pytest.approx(found)


def test_a_single_logit_is_that_of_the_second_class():
    logits, truth = np.array([2.0, -1.0, 0.5, -3.0]), np.array([1, 0, 0, 1])
    found = heldout.compute_metrics((logits[:, None], truth), measures=["recall", "brier"])
    shares = 1 / (1 + np.exp(-logits))
    assert found["brier"] == pytest.approx(np.mean((shares - truth) ** 2))
    assert found["recall_1"] == 0.5


def test_padding_is_left_out_and_a_sequence_is_a_group():
    rng = np.random.default_rng(2)
    truth = rng.integers(2, size=(12, 6))
    logits = rng.normal(size=(12, 6, 2))
    truth[:, 4:] = -100
    found = heldout.compute_metrics((logits, truth), measures="accuracy")
    flat = truth[:, :4].reshape(-1)
    expected = heldout.evaluate(flat, logits[:, :4].argmax(axis=2).reshape(-1), group=np.repeat(np.arange(12), 4))
    assert found["n"] == 48
    assert found["accuracy_low"] == pytest.approx(expected["accuracy"].low)


def test_logits_that_do_not_fit_are_refused():
    with pytest.raises(ValuesError, match="which do not go together"):
        heldout.compute_metrics((np.zeros((4, 2)), np.zeros(3)))
    with pytest.raises(ValuesError, match="There is 1 name of classes and 2 logits"):
        heldout.compute_metrics((np.zeros((4, 2)), np.zeros(4)), labels=["a"])


def test_classes_that_were_chosen_already_are_no_logits():
    """preprocess_logits_for_metrics often gives the class with the highest logit."""
    truth, called = np.array([[0, 1, 2], [2, 1, -100]]), np.array([[0, 1, 1], [2, 0, 9]])
    found = heldout.compute_metrics((called, truth), measures=["accuracy", "recall[2]"])
    expected = heldout.evaluate([0, 1, 2, 2, 1], [0, 1, 1, 2, 0], group=[0, 0, 0, 1, 1])
    assert found == pytest.approx(expected.metrics(["accuracy", "recall[2]"]))
    names = {"0": "a", "1": "b", "2": "c", "3": "d"}
    assert heldout.compute_metrics((called[0], truth[0]), labels=names, measures=["recall[c]"])["recall_c"] == 0
    with pytest.raises(OptionError, match="brier is a measure of scores"):
        heldout.compute_metrics((called[0], truth[0]), measures=["brier"])


@pytest.mark.parametrize("truth", [[0, -1, 1], [0, 2, 1], [0.5, 0, 1], [0, np.nan, 1], ["a", "b", "a"]])
@pytest.mark.parametrize("given", [np.eye(3)[:, :2], np.array([0, 1, 1])])
def test_labels_that_are_no_classes_of_the_model_are_refused(truth, given):
    """A place before the first would be counted from the last, and a fraction cut off."""
    with pytest.raises(ValuesError, match="The labels must be numbers of classes, 0 to 1, or -100"):
        heldout.compute_metrics((given, np.array(truth)), labels=["no", "yes"])


@pytest.mark.parametrize("given", [None, 7, {"predictions": 1}, np.zeros((3, 2)), (np.zeros((2, 2)), None)])
def test_what_no_trainer_gives_is_refused(given):
    with pytest.raises(OptionError, match=r"not what a trainer gives|gave no labels"):
        heldout.compute_metrics(given)
    with pytest.raises(ValuesError, match="The logits of 1 case are not finite; the first is case 2"):
        heldout.compute_metrics(([[0.5, 0.5], [np.nan, 0]], [0, 1]))
