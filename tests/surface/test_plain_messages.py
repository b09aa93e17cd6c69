"""Messages that name what was given, in the words of the door that was used, and say what to do."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_matrix

import heldout
from heldout.engines.memory import refuse_copies

TRUTH, PREDICTED = [0, 1] * 20, [0, 1, 1, 1] * 10


def test_guessed_columns_of_a_frame_are_changed_by_arguments(run, tmp_path):
    frame = pl.DataFrame({"y_true": TRUTH, "y_pred": PREDICTED})
    assert "truth=, predicted= to change" in " ".join(str(heldout.evaluate(frame)).split())
    frame.write_csv(tmp_path / "cases.csv")
    assert "--truth, --predicted to change" in " ".join(run("evaluate", str(tmp_path / "cases.csv"))[1].split())


def test_display_names_are_no_labels():
    with pytest.raises(heldout.HeldoutError, match=r"Hint: labels are values that occur, such as 0, 1, and no names"):
        heldout.evaluate(TRUTH, PREDICTED, target_names=["n", "y"])  # type: ignore[call-arg]
    with pytest.raises(heldout.HeldoutError, match=r"leave out classes that occur: 1\. .*\nHint: name every"):
        heldout.evaluate(TRUTH, PREDICTED, labels=[0])


def test_batches_of_single_values():
    with pytest.raises(
        heldout.HeldoutError, match=r"^Batch 1 is no pair of two columns.* It is a pair of single values"
    ):
        heldout.evaluate(zip([0, 1], [0, 1], strict=True))


def test_the_flag_that_was_given_is_named(run, tmp_path):
    pl.DataFrame({"y_true": TRUTH, "y_pred": PREDICTED}).write_csv(tmp_path / "cases.csv")
    for flag, said in (("-o", "--output"), ("--html", "--html")):
        status, _, err = run("evaluate", str(tmp_path / "cases.csv"), flag, str(tmp_path / "none" / "x.html"))
        assert (status, err.split(" cannot write")[0]) == (2, said)


def test_one_of_something_is_singular():
    assert "1 id stands in more than one" in refuse_copies("a", 2, 1).what
    assert "3 ids stand in more than one" in refuse_copies("a", 2, 3).what
    score = np.array([0.9, 0.1] * 20)
    score[0] = 0.0
    note = heldout.evaluate([1, 0] * 20, score=score).interval("log_loss").note
    assert "1 of the probabilities of what came true is 0, and counts" in note


ONE = pl.DataFrame({"truth": ["yes"], "predicted": ["yes"]})


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: repr(heldout.evaluate(ONE)), "Evaluation of 1 case of 1 class"),
        (lambda: str(heldout.evaluate(ONE)), "The only case is of class"),
        (lambda: str(heldout.compare(ONE, ONE, truth="truth")), "predicted the same 1 case,"),
        (lambda: str(heldout.compare(ONE, ONE, truth="truth")), "the same answers in the only case."),
        (lambda: repr(heldout.Evidence().update(ONE)), "of 1 row>"),
        (lambda: heldout.Evidence().update(["cat"], score=[0.5]).n, "The case so far is of class 'cat'"),
        (lambda: heldout.Evidence().update(["a"], score=[[0.5, 0.4, 0.1]]).n, "the 1 case so far shows 1 class: 'a'"),
        (lambda: heldout.evaluate([None], [1], missing="drop"), "The only row has a missing value"),
        (lambda: heldout.evaluate(matrix=[[1, 2], [3, 4]], labels=["a"]), "has 2 rows but there is 1 label (a)"),
        (lambda: heldout.evaluate(matrix="1 2"), "has 1 row and 2 columns"),
        (lambda: heldout.validate("majority", [[1.0]], ["a"]), "one class only: the one row is"),
        (lambda: heldout.validate("majority", [[1.0], [2.0]], ["a"]), "2 rows, but y has 1 value."),
        (lambda: str(heldout.evaluate([0, 1] * 3, [0, 1] * 3, fold=[1, 1, 1, 1, 1, 2])), "of 2 folds has 1 case,"),
    ],
)
def test_one_case_row_or_class_is_singular(make, said):
    try:
        text = make()
    except heldout.HeldoutError as error:
        text = error.what
    text = " ".join(str(text).split())
    assert said in text, text
    assert not re.search(r"(?<![\d.,])1 (cases|rows|classes|labels|values|scores)\b", text)


def test_a_pickle_is_refused_in_one_sentence(run, tmp_path):
    (tmp_path / "x.pkl").write_bytes(pickle.dumps({"a": [1] * 100}))
    status, _, err = run("evaluate", str(tmp_path / "x.pkl"))
    assert status == 2
    assert err.startswith(f"{tmp_path / 'x.pkl'} is a pickle of Python, which ")
    assert "code, which cannot" not in err


@pytest.mark.parametrize("role", ["weight", "group", "fold", "id"])
@pytest.mark.parametrize("other", ["truth", "predicted"])
def test_one_column_has_one_role(role, other):
    frame = pl.DataFrame({"truth": TRUTH, "predicted": PREDICTED})
    with pytest.raises(heldout.HeldoutError, match=rf"^{role} and {other} are the same column of the data frame"):
        heldout.evaluate(frame, **{role: other})
    with pytest.raises(heldout.HeldoutError, match=rf"^{role} and {other} are the same column of "):
        heldout.evaluate(frame.lazy(), **{role: other})


def test_sparse_matrices_are_to_be_arrays():
    with pytest.raises(heldout.HeldoutError, match=r"^truth is a sparse matrix\.\nHint: .*\.toarray\(\)"):
        heldout.evaluate(csr_matrix(np.array(TRUTH)[:, None]), PREDICTED)
    with pytest.raises(heldout.HeldoutError, match=r"^score is a sparse matrix\.\nHint: .*\.toarray\(\)"):
        heldout.evaluate(TRUTH, score=csr_matrix(np.array(PREDICTED)[:, None] / 2))


@pytest.mark.parametrize("container", [lambda periods: periods, pd.Series])
def test_periods_are_dates(container):
    months = pd.period_range("2024-01", periods=40, freq="M")
    found = heldout.evaluate(TRUTH, PREDICTED, slices={"month": container(months)}).slices()
    assert [row["slice"] for row in found.rows()] == ["2024", "2025", "2026", "2027"]


def test_predictions_by_model_in_the_words_of_others():
    models = {"a": PREDICTED, "b": TRUTH[::-1]}
    expected = heldout.compare(models, truth=TRUTH, measures="accuracy")
    found = heldout.compare(y_true=TRUTH, y_pred=models, measures="accuracy")  # type: ignore[call-arg]
    assert found.rows() == expected.rows()
    scores = {name: [value / 2 for value in values] for name, values in models.items()}
    ranked = heldout.compare(y_true=TRUTH, y_score=scores, measures="roc_auc")  # type: ignore[call-arg]
    assert ranked.rows()[0]["a"] == "a"


def test_limits_of_numbers_are_said():
    with pytest.raises(heldout.HeldoutError, match=r"^k of top_k_accuracy must be a whole number from 1 up\. Got '0'"):
        heldout.evaluate(TRUTH, PREDICTED, measures=["top_k_accuracy(k=0)"])
    with pytest.raises(heldout.HeldoutError, match=r"prevalence must lie .* Got 0\.\nHint: for example 0\.1"):
        heldout.plan_study("recall", value=0.8, width=0.1, prevalence=0)


def test_there_is_no_or_in_a_gate():
    with pytest.raises(heldout.HeldoutError, match=r"there is no 'or', every requirement must be met\.\nHint: "):
        heldout.check(heldout.evaluate(TRUTH, PREDICTED), require="accuracy >= 0.5 or recall >= 0.9")


def test_a_matrix_of_fractions_says_how_much_it_holds():
    assert str(heldout.evaluate(matrix=[[5.5, 1], [2, 3]])).startswith("11.50 cases · ")


@pytest.mark.parametrize(
    ("flag", "value", "said"),
    [
        ("--level", "95%", "--level must be a number. Got '95%'.\nHint: write 95% as 0.95.\n"),
        ("--threshold", "abc", "--threshold must be a number. Got 'abc'.\nHint: for example --threshold 0.5.\n"),
        ("--seed", "1.5", "--seed must be a whole number. Got '1.5'.\nHint: for example --seed 1.\n"),
    ],
)
def test_a_flag_that_takes_a_number_shows_what_it_got(run, flag, value, said):
    assert run("evaluate", "examples/iris.csv", flag, value) == (2, "", said)
    assert run("evaluate", "examples/iris.csv", f"{flag}={value}") == (2, "", said)


def test_a_file_that_is_no_table_is_not_proposed(run, tmp_path):
    (tmp_path / "scores.py").write_text("x = 1\n")
    assert "did you mean" not in run("evaluate", str(tmp_path / "scores.csv"))[2]
    (tmp_path / "score.csv").write_text("truth,predicted\na,a\n")
    assert f"did you mean {tmp_path / 'score.csv'}?" in run("evaluate", str(tmp_path / "scores.csv"))[2]


def test_a_column_of_one_value_keeps_its_name():
    found = str(heldout.evaluate(TRUTH, PREDICTED, slices={"d": ["x"] * 40}).slices())
    assert "The column 'd' has one value or none" in found
    assert "0 slices" not in found
