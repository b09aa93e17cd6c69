"""The flat dictionary of figures that trackers take: its names, its limits, and the file that DVC reads."""

from __future__ import annotations

import json
import math
import re

import pytest

from heldout import evaluate, validate
from heldout.cli.app import main
from heldout.errors import OptionError

TRUTH = ["spam", "ham", "ham", "spam", "ham"] * 12
ANSWERS = ["spam", "ham", "spam", "ham", "ham"] * 12


@pytest.fixture(scope="module")
def judged():
    return evaluate(TRUTH, ANSWERS, score=[0.9, 0.2, 0.6, 0.4, 0.1] * 12, positive="spam")


def test_every_figure_is_a_float_beside_its_limits(judged):
    metrics = judged.metrics()
    recall = judged["recall"]
    assert metrics["n"] == 60.0
    assert [metrics[f"recall_spam{end}"] for end in ("", "_low", "_high")] == [recall.value, recall.low, recall.high]
    assert {"accuracy", "matthews", "roc_auc_spam", "brier_high"} <= metrics.keys()
    assert all(type(value) is float for value in metrics.values())
    assert not any(name.startswith("recall_ham") for name in metrics)


def test_without_a_positive_class_every_class_is_named():
    metrics = evaluate(["a b", "a_b", "a b_low", "c/d: e"] * 9, ["a b", "a_b", "a b_low", "a b"] * 9).metrics()
    assert len({name for name in metrics if name.startswith("recall_")}) == 3 * 4
    assert all(re.fullmatch(r"[\w.\-]+", name) for name in metrics)
    assert metrics["recall_c_d_e"] == 0.0
    assert "macro_f1" in metrics


def test_many_classes_leave_the_averages():
    labels = [f"class {number}" for number in range(25)]
    names = evaluate(labels * 2, labels * 2).metrics().keys()
    assert "macro_f1" in names
    assert not any("class" in name for name in names)


def test_other_measures_are_asked_for_by_name(judged):
    assert list(judged.metrics(["macro f2"], prefix="test_")) == [
        "test_n", "test_macro_f2", "test_macro_f2_low", "test_macro_f2_high",
    ]  # fmt: skip
    assert list(evaluate(TRUTH, ANSWERS, measures="kappa").metrics()) == ["n", "kappa", "kappa_low", "kappa_high"]
    assert len(judged.metrics("all")) > 2 * len(judged.metrics())


def test_what_is_undefined_keeps_its_name_and_is_null_in_the_file(tmp_path):
    evaluation = evaluate(["no", "no"], ["no", "no"], labels=["no", "yes"])
    assert math.isnan(evaluation.metrics()["recall_yes"])
    path = evaluation.write_metrics(tmp_path / "metrics.json")
    assert json.loads(path.read_text())["recall_yes"] is None


def test_the_command_writes_the_file(tmp_path, capsys, monkeypatch):
    rows = "\n".join(f"{truth},{answer}" for truth, answer in zip(TRUTH, ANSWERS, strict=True))
    (tmp_path / "mail.csv").write_text(f"truth,predicted\n{rows}\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["heldout", "evaluate", "mail.csv", "--positive", "spam", "--metrics", "m.json"])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert not stopped.value.code
    assert "Wrote m.json" in capsys.readouterr().err
    assert json.loads((tmp_path / "m.json").read_text())["recall_spam"] == 0.5


def test_validations_of_several_learners_have_their_names():
    rows = [[score] for score in [0.9, 0.2, 0.6, 0.4, 0.1] * 12]
    several = validate(["naive-bayes", "tree:1"], rows, TRUTH, plan="3-fold", positive="spam")
    found = several.metrics(["recall"])
    assert found["naive-bayes_recall_spam"] == several["naive-bayes"].evaluation.value("recall")
    assert {"tree_1_n", "tree_1_recall_spam_low"} <= found.keys()
    alone = several["tree:1"].metrics(["recall"])
    assert list(alone) == ["n", "recall_spam", "recall_spam_low", "recall_spam_high"]


def test_names_that_are_no_texts_are_refused():
    with pytest.raises(OptionError, match="Measures are named by texts"):
        evaluate(["no", "yes"], ["no", "yes"]).metrics(3)  # type: ignore[arg-type]
