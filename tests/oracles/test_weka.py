"""Weka's figures, from the predictions that it made them from, and its text layout."""

from __future__ import annotations

import math
import sys
from typing import Any

import pytest
from tests.oracles.figures import WEKA, WEKA_RUNS, number, weka_cases, weka_figures, weka_predictions

from heldout import Evaluation, evaluate, validate
from heldout.cli.app import main
from heldout.report.weka import weka_text

every_run = pytest.mark.parametrize("run", WEKA_RUNS)
RATES = {
    "tp_rate": "recall",
    "fp_rate": "false_positive_rate",
    "precision": "precision",
    "recall": "recall",
    "f_measure": "f1",
    "mcc": "matthews",
}


def evaluated(run: str) -> Evaluation:
    return evaluate(*weka_predictions(run), labels=weka_figures(run)["classes"])


def test_there_are_runs_to_check() -> None:
    assert len(WEKA_RUNS) >= 5


@every_run
def test_the_whole_table(run: str) -> None:
    figures, ours = weka_figures(run), evaluated(run)
    assert ours.confusion.matrix.tolist() == figures["confusion_matrix"]
    for name in ("accuracy", "error_rate", "kappa"):
        assert ours[name].value == pytest.approx(figures[name], abs=1e-12)


@every_run
@pytest.mark.parametrize("rate", RATES)
def test_each_class(run: str, rate: str) -> None:
    ours = evaluated(run)
    for figures in weka_figures(run)["per_class"]:
        found = ours.get(RATES[rate], class_=figures["class"])
        if rate == "f_measure" and figures["precision"] is None and figures["recall"] == 0:
            # Weka makes F of precision and recall, and has none where precision has none. From the counts it is
            # 2·TP/(2·TP + FP + FN): all cases of the class were missed, which is 0, not unknown.
            assert figures[rate] is None
            assert found.value == 0
            continue
        assert found.value == pytest.approx(number(figures[rate]), abs=1e-12, nan_ok=True)
        assert bool(found.undefined) == (figures[rate] is None)


@every_run
@pytest.mark.parametrize("rate", [rate for rate in RATES if rate not in ("recall", "mcc")])
def test_weighted_averages(run: str, rate: str) -> None:
    ours, figures = evaluated(run), weka_figures(run)
    wanted = figures["weighted"][rate]
    found = ours.get(RATES[rate], average="weighted")
    if wanted is not None:
        assert found.value == pytest.approx(wanted, abs=1e-12)
        assert found.note == ""
        return
    # Weka's average is undefined as soon as one class is; ours leaves that class out, and says so.
    assert not math.isnan(found.value)
    absent = [part["class"] for part in figures["per_class"] if part[rate] is None]
    if rate == "precision":
        assert found.note.startswith("averaged over ")
        assert all(label in found.note for label in absent)


@every_run
def test_macro_and_micro_f(run: str) -> None:
    ours, figures = evaluated(run), weka_figures(run)
    assert ours["micro f1"].value == pytest.approx(figures["unweighted_micro_f"], abs=1e-12)
    if figures["unweighted_macro_f"] is not None:
        assert ours["macro f1"].value == pytest.approx(figures["unweighted_macro_f"], abs=1e-12)


def test_zero_r_is_where_the_two_differ() -> None:
    # So that the branches above are known to be taken.
    figures, ours = weka_figures("iris__ZeroR"), evaluated("iris__ZeroR")
    assert figures["weighted"]["precision"] is None
    assert ours["weighted precision"].value == pytest.approx(1 / 3)
    assert ours["weighted precision"].note == (
        "averaged over 1 of 3 classes; left out, because nothing was predicted positive: "
        "Iris-versicolor, Iris-virginica"
    )
    assert ours["weighted f1"].value == pytest.approx(0.5 / 3)


def printed(run: str, capsys: Any, monkeypatch: Any) -> list[str]:
    """What the command prints in Weka's layout."""
    path = str(WEKA / f"{run}_predictions.csv")
    arguments = ["evaluate", path, "--truth", "actual", "--predicted", "predicted", "--format", "weka"]
    monkeypatch.setattr(sys, "argv", ["heldout", *arguments])
    try:
        main()
    except SystemExit as end:
        assert not end.code, end.code  # noqa: PT017
    text: str = capsys.readouterr().out
    return text.splitlines()


def section(lines: list[str], heading: str) -> list[str]:
    """The last section of that heading, without blank lines: in Weka's own file the cross-validation is last."""
    start = max(place for place, line in enumerate(lines) if line == f"=== {heading} ===")
    held = []
    for line in lines[start + 1 :]:
        if line.startswith("==="):
            break
        if line.strip():
            held.append(line)
    return held


def test_text_layout(capsys: Any, monkeypatch: Any) -> None:
    theirs = (WEKA / "iris__NaiveBayes.txt").read_text(encoding="utf-8").splitlines()
    ours = printed("iris__NaiveBayes", capsys, monkeypatch)
    assert section(ours, "Confusion Matrix") == section(theirs, "Confusion Matrix")

    detail, wanted = section(ours, "Detailed Accuracy By Class"), section(theirs, "Detailed Accuracy By Class")
    # Up to the columns ROC Area and PRC Area, which a table of counts does not know.
    width = wanted[0].index("ROC Area")
    assert [line[:width].rstrip() for line in detail[1:-1]] == [line[:width].rstrip() for line in wanted[1:-1]]
    assert detail[-1][:width].rstrip() == wanted[-1][:width].rstrip()
    assert detail[0][:width] == wanted[0][:width]
    assert [line.split()[-1] for line in detail[1:-1]] == [line.split()[-1] for line in wanted[1:-1]]

    for start in (
        "Correctly Classified Instances",
        "Incorrectly Classified Instances",
        "Kappa statistic",
        "Total Number of Instances",
    ):
        (one,), (other,) = ([line for line in lines if line.startswith(start)][-1:] for lines in (ours, theirs))
        assert one.split() == other.split()


@pytest.mark.parametrize(
    ("matrix", "block"),
    [
        # Weka's columns are as wide as the largest number, and the letters beside the bar as wide as the columns.
        ([[7, 2], [3, 2]], [" a b   <-- classified as", " 7 2 | a = yes", " 3 2 | b = no"]),
        ([[407, 93], [108, 160]], ["   a   b   <-- classified as", " 407  93 |   a = yes", " 108 160 |   b = no"]),
    ],
)
def test_columns_are_as_wide_as_their_numbers(matrix: list[list[int]], block: list[str]) -> None:
    lines = weka_text(evaluate(matrix=matrix, labels=["yes", "no"])).splitlines()
    assert section(lines, "Confusion Matrix") == block


def test_text_layout_of_undefined_rates(capsys: Any, monkeypatch: Any) -> None:
    lines = section(printed("iris__ZeroR", capsys, monkeypatch), "Detailed Accuracy By Class")
    assert lines[1].split() == ["1.000", "1.000", "0.333", "1.000", "0.500", "?", "Iris-setosa"]
    # Weka has ? for the F of a class that it never predicts; the weighted averages are undefined as in Weka.
    assert lines[2].split()[:4] == ["0.000", "0.000", "?", "0.000"]
    assert lines[-1].split()[:5] == ["Weighted", "Avg.", "0.333", "0.333", "?"]


# Weka's own naive Bayes, learned here: every prediction of its cross-validation again.


@pytest.mark.parametrize("data", ["iris", "diabetes"])
def test_naive_bayes_gives_every_class_and_probability_that_weka_gave(data: str) -> None:
    cases, figures = weka_cases(f"{data}__NaiveBayes"), weka_figures(f"{data}__NaiveBayes")
    found = validate("weka-naive-bayes", WEKA / f"{data}.arff", plan="weka 10-fold seed 1")
    ours = {row["row"]: row for row in found.predictions()}
    assert len(ours) == len(cases)
    for case in cases:
        row: Any = ours[int(case["row"])]
        assert (row["fold"] - 1, row["truth"], row["predicted"]) == (
            int(case["fold"]), case["actual"], case["predicted"],
        )  # fmt: skip
        for label in figures["classes"]:
            # Also those of 1e-155. The normal distribution is a difference there, in which the last digits are lost:
            # sums of the same numbers in another order leave ten digits.
            assert row[f"p_{label}"] == pytest.approx(float(case[f"p_{label}"]), rel=1e-10, abs=0)
    assert found.confusion.matrix.tolist() == figures["confusion_matrix"]


@pytest.mark.parametrize(
    ("data", "matrix"),
    [
        # Nominal columns with missing values, and numeric beside them in labor: what Weka 3 prints for NaiveBayes,
        # 10 folds and seed 1, and 90.1149 %, 89.4737 %, 71.6783 % and 57.1429 % of it right.
        ("vote", [[238, 29], [14, 154]]),
        ("labor", [[18, 2], [4, 33]]),
        ("breast-cancer", [[168, 33], [48, 37]]),
        ("weather.nominal", [[7, 2], [4, 1]]),
    ],
)
def test_naive_bayes_of_nominal_columns_and_gaps(data: str, matrix: list[list[int]]) -> None:
    found = validate("weka-naive-bayes", WEKA / f"{data}.arff", plan="weka 10-fold seed 1")
    assert found.confusion.matrix.tolist() == matrix
