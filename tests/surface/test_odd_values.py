"""Values that a hostile user writes into tables and options: every engine reads them alike, or says what is wrong."""

from __future__ import annotations

import json

import pytest

from heldout.errors import MatrixError
from heldout.evidence.confusion import Confusion

ENGINES = ("memory", "stream", "polars", "duckdb")


def evaluated(run, path, *flags):
    """The JSON of an evaluation."""
    status, out, err = run("evaluate", str(path), "--json", "-", *flags)
    assert status == 0, err
    return json.loads(out)


def values(answer):
    """The values that were estimated without a class or an average, by measure."""
    return {row["measure"]: row["value"] for row in answer["estimates"] if row["class"] is None}


def refused(run, *words):
    """The two sentences of an error, in one line."""
    status, out, err = run(*words)
    assert (status, out) == (2, "")
    return " ".join(err.split())


@pytest.mark.parametrize(
    "matrix", [f"{2**62} 0; 0 {2**62}", "1e19 1; 1 1e19", "1e19 1.5; 1 1e19", f"{2**61} {2**61}; {2**61} {2**61}"]
)
def test_a_matrix_of_more_cases_than_can_be_counted_is_refused(run, matrix):
    said = refused(run, "evaluate", "--matrix", matrix)
    assert "cases, and fewer than 2**62 (4.6e+18) can be counted. Hint:" in said


def test_evidence_is_not_merged_beyond_what_can_be_counted():
    half = Confusion.of([[2**60, 0], [0, 2**60]])
    assert (half.n, half.matrix.min()) == (2**61, 0)
    with pytest.raises(MatrixError, match=r"Together there are 4\.61e\+18 cases"):
        half + half


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("score", ["-inf", "inf", "nan", "9" * 400])
def test_a_guessed_score_that_is_not_finite_is_not_used_and_said(run, tmp_path, engine, score):
    path = tmp_path / "scores.csv"
    path.write_text(f"truth,predicted,score\n1,1,.9\n0,0,{score}\n1,1,.8\n0,1,.3\n")
    answer = evaluated(run, path, "--engine", engine, "--measure", "accuracy")
    assert values(answer) == {"accuracy": 0.75}
    assert "were not used, because 1 row has one that is missing or not finite" in " ".join(answer["notes"])


@pytest.mark.parametrize("score", ["-inf", "9" * 4500])
def test_a_guessed_score_of_arff_that_is_not_finite_is_not_used_and_said(run, tmp_path, score):
    path = tmp_path / "scores.arff"
    head = "@relation r\n@attribute truth {0,1}\n@attribute predicted {0,1}\n@attribute score numeric\n@data\n"
    path.write_text(f"{head}1,1,.9\n0,0,{score}\n1,1,.8\n0,1,.3\n")
    assert "missing or not finite: row 2" in " ".join(evaluated(run, path)["notes"])


def test_a_number_of_thousands_of_digits_is_not_echoed_whole(run, tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("truth,predicted\n1,1\n0,0\n")
    said = refused(run, "evaluate", str(path), "--positive", "9" * 4000)
    assert "… (4,0" in said
    assert len(said) < 300
