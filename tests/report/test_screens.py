"""What a terminal shows first: the answer before how it was made, names whole, and nothing twice."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import heldout
from heldout.show.blocks import Prose, Table
from heldout.show.text import lay_out, render_text

EXAMPLES = Path(__file__).parents[2] / "examples"
DIABETES = EXAMPLES / "diabetes.csv"


@pytest.fixture(scope="module")
def validations() -> heldout.Validations:
    return heldout.validate(["lda", "naive-bayes", "majority"], EXAMPLES / "data" / "diabetes.arff", plan="3-fold")


def labels(result: heldout.Result) -> list[str]:
    """The labels of sentences, and `table` where one stands, from top to bottom."""
    blocks = result.blocks()
    return [
        block.label if isinstance(block, Prose) else "table" for block in blocks if isinstance(block, Prose | Table)
    ]


@pytest.mark.parametrize("width", [80, 100, 140])
def test_headers_of_several_learners_are_whole(validations, width):
    screen = render_text(validations.blocks(), width=width)
    before, _, _ = screen.partition("\nnaive-bayes ")
    header = before.rpartition("by itself\n")[2]
    assert "…" not in header
    assert all(name in header for name in ("learner", "accuracy", "F1", "ROC AUC", "test gap"))


def test_several_learners_have_a_verdict_before_their_figures(validations):
    assert labels(validations)[:3] == ["Verdict", "table", "Estimates"]
    verdict = str(validations)
    assert 'Better than always predicting "tested_negative" (accuracy .651)?\n' in verdict
    for said in ("lda: Yes, by ", "naive-bayes: Yes, by ", "majority: No: it gets exactly the same cases right."):
        assert said in verdict


def test_one_learner_is_judged_before_it_is_said_what_is_estimated(validations):
    one = validations["lda"]
    assert labels(one)[:3] == ["Verdict", "table", "table"]
    assert "Estimates" in labels(one)
    # By what two runs are known to have had the same splits is for those who ask for everything.
    assert "splits " not in str(one).splitlines()[1]
    assert f"splits {one.fingerprint}" in render_text(one.full_blocks())


def test_the_positive_class_is_named_in_the_heading_and_not_in_every_row():
    heading, *rest = str(heldout.evaluate(DIABETES, fold="none")).splitlines()
    assert "positive class: tested_positive" in heading
    assert any(line.startswith("F1  ") for line in rest)
    assert any(line.startswith("ROC AUC  ") for line in rest)


def test_measures_over_folds_have_their_intervals_drawn():
    line = next(line for line in str(heldout.evaluate(DIABETES)).splitlines() if line.startswith("accuracy"))
    assert "├●┤" in line
    assert line.rstrip().endswith(".055")


def test_what_was_read_is_said_in_one_breath():
    read = next(block for block in heldout.evaluate(DIABETES).blocks() if isinstance(block, Prose))
    assert read.label == "Read"
    assert read.text.startswith("truth, predicted, fold, id = row, score = p_tested_positive (guessed from the column")


def test_a_comparison_shows_its_figures_before_how_they_were_made(tmp_path):
    frame = "truth,predicted,weight\n" + "".join(f"{'yn'[i % 2]},{'yn'[i % 2 if i % 7 else 0]},1\n" for i in range(60))
    files = [tmp_path / name for name in ("a.csv", "b.csv")]
    for file in files:
        file.write_text(frame)
    files[1].write_text(frame.replace("n,n", "n,y", 3))
    compared = heldout.compare(*files)
    assert labels(compared)[:3] == ["Verdict", "table", "How"]
    screen = str(compared)
    assert screen.count("was not used") == 1
    assert "a.csv, b.csv: the column 'weight' was not used" in screen


def test_no_line_ends_in_spaces(validations):
    for result in (validations, heldout.evaluate(DIABETES), heldout.evaluate(EXAMPLES / "iris.csv")):
        lines = ["".join(text for text, _ in line) for line in lay_out(result.full_blocks(), 100)]
        assert len(lines) > 20
        assert [line for line in lines if line != line.rstrip()] == []


def test_curves_of_folds_are_thin_and_one_curve_is_not():
    folds = heldout.evaluate(DIABETES).chart("roc")
    one = heldout.evaluate(DIABETES, fold="none").chart("roc")
    assert '"strokeWidth": 2' in one.to_json()
    assert '"strokeWidth": 2' not in folds.to_json()


def test_pairs_of_several_models_are_named_whole():
    rows = [("y" if i % 5 == 0 else "n", *(i % k / k for k in (7, 11, 13))) for i in range(200)]
    frame = pl.DataFrame(rows, schema=["truth", "logistic", "rules", "boosted"], orient="row")
    compared = heldout.compare(frame, truth="truth", score=["logistic", "rules", "boosted"], positive="y")
    screen = str(compared)
    assert "positive class y" in screen
    assert any(line.startswith("logistic − boosted   ROC AUC  ") for line in screen.splitlines())
    # The values of each stand in the table of models.
    header = next(line for line in screen.splitlines() if line.startswith("pair "))
    assert header.split("   ")[-1].strip() == "p"
    assert "first" not in header


def test_a_learning_curve_is_drawn_before_its_findings():
    curve = heldout.learning_curve("lda", EXAMPLES / "data" / "diabetes.arff", draws=2, sizes=[50, 200])
    page = curve.to_html()
    assert page.index("Errors as the training set grows") < page.index("Findings")


def test_the_verdict_says_when_classes_of_few_cases_are_not_judged():
    truth = ["a"] * 40 + ["b"] * 40 + ["rare"] * 5
    predicted = ["a"] * 40 + ["b"] * 30 + ["a"] * 15
    assert 'Weakest class of 10 cases or more: "b"' in heldout.evaluate(truth, predicted).verdict
    assert 'Weakest class: "b"' in heldout.evaluate(truth[:80] + ["c"] * 20, predicted[:80] + ["c"] * 20).verdict
