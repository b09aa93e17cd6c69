"""Values that a hostile user writes into tables and options: every engine reads them alike, or says what is wrong."""

from __future__ import annotations

import bz2
import json
import zipfile
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest

import heldout
from heldout.arguments import check_whole
from heldout.errors import MatrixError, OptionError
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


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
@pytest.mark.parametrize("role", ["truth", "predicted"])
@pytest.mark.parametrize("value", [{"a": 1}, {"a": 1, "b": "x"}, [1]], ids=["object", "objects", "list"])
def test_nested_values_are_no_labels(run, tmp_path, ending, role, value):
    path = tmp_path / f"nested.{ending}"
    frame = pl.DataFrame({"truth": [1, 2, 1], "predicted": [1, 2, 2]} | {role: [value] * 3})
    (frame.write_parquet if ending == "parquet" else frame.write_ipc)(path)
    for engine in ENGINES if ending == "parquet" else ENGINES[:2]:
        said = refused(run, "evaluate", str(path), "--engine", engine)
        assert (
            "Labels are numbers, text, booleans or categories. Hint: write the class into a column of its own" in said
        )


@pytest.mark.parametrize("engine", ENGINES[1:])
def test_bytes_are_no_labels_where_rows_are_counted_and_not_kept(run, tmp_path, engine):
    pl.DataFrame({"truth": [1, 2], "predicted": [b"1", b"2"]}).write_parquet(tmp_path / "bytes.parquet")
    said = refused(run, "evaluate", str(tmp_path / "bytes.parquet"), "--engine", engine)
    assert "holds values of type Binary" in said


@pytest.mark.parametrize("engine", ENGINES)
def test_a_name_that_stands_twice_in_parquet_is_said(run, tmp_path, engine):
    table = pa.table([[1, 0], [1, 1], [0, 0]], names=["truth", "predicted", "truth"])
    pq.write_table(table, tmp_path / "twice.parquet")
    said = refused(run, "evaluate", str(tmp_path / "twice.parquet"), "--engine", engine)
    assert said.endswith("twice.parquet has two columns named 'truth'. Hint: rename one of them.")


def test_what_would_be_drawn_without_end_is_refused(run, tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("truth,predicted\n1,1\n0,0\n")
    for command in (["evaluate", str(path)], ["compare", str(path), str(path)], ["thresholds", str(path)]):
        said = refused(run, *command, "--replicates", "9" * 20)
        assert "replicates must be at most 10,000,000. Got 99,999,999,999,999,999,999." in said
    with pytest.raises(OptionError, match="shuffles must be at most"):
        check_whole("shuffles", 10**7 + 1, 1)


def told_by_every_engine(run, path, *flags):
    """The labels and the accuracy that every engine finds, or the error without the row, which only two know."""
    told = []
    for engine in ENGINES:
        status, out, err = run(
            "evaluate", str(path), "--engine", engine, "--json", "-", "--measure", "accuracy", *flags
        )
        answer = json.loads(out) if status == 0 else {}
        told.append(
            (answer["confusion"]["labels"], values(answer)) if answer else err.split("; it is")[0].split(". Hint")[0]
        )
    return told


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("truth,predicted,\n1,1,\n0,0,\n1,0,\n", [0, 1]),
        ("truth,predicted\n1,1\n\n0,0\n\n\n1,0\n", [0, 1]),
        ('truth,predicted\na,"a"\n\nb,b\na,b\n', ["a", "b"]),
        ("truth,predicted\n+1,1\n-1,-1\n1,-1\n", [-1, 1]),
        (" truth , predicted\n 1 ,1\n0, 0\n1,\t0\n", [0, 1]),
        ("sep=;\ntruth;predicted;score\n1;1;0,5\n0;0;0,1\n1;0;0,25\n", [0, 1]),
        ("truth,predicted\nTrue,True\nFalse,False\nTrue,False\n", [False, True]),
        ('"tr""uth",truth,predicted\n"x\n,",1.0,1\n"""",0,0\n,1,0\n', [0, 1]),
    ],
    ids=["comma at the end", "blank lines", "and quotes", "plus", "blanks", "semicolons", "booleans", "quotes"],
)
def test_every_engine_reads_text_files_alike(run, tmp_path, text, labels):
    path = tmp_path / "cases.csv"
    path.write_text(text)
    assert told_by_every_engine(run, path) == [(labels, {"accuracy": pytest.approx(2 / 3)})] * 4


def test_a_quoted_field_without_a_letter_is_missing_for_every_engine(run, tmp_path):
    path = tmp_path / "cases.csv"
    path.write_text('truth,predicted\na,a\n"",b\nb,b\n')
    for said in told_by_every_engine(run, path):
        assert "1 of 3 rows has a missing value: truth in 1" in said


LONG = 2**53


@pytest.mark.parametrize("files", [1, 2])
def test_no_label_is_rounded_onto_another(run, tmp_path, files):
    rows = [f"{LONG},{LONG}", "1,1", f"{LONG + 1},{LONG + 1}.0", "1,1"]
    size = len(rows) // files
    for at in range(files):
        text = "\n".join(["truth,predicted", *rows[at * size : (at + 1) * size]]) + "\n"
        (tmp_path / f"{at}.csv").write_text(text)
    found = [1, LONG, LONG + 1], {"accuracy": 1.0}
    assert told_by_every_engine(run, tmp_path) == [found] * 4


def test_no_label_of_json_is_rounded_onto_another(run, tmp_path):
    rows = [(LONG, LONG), (LONG + 1, LONG + 1), (1, 1.0)]
    for name in ("rows.jsonl", "rows.json"):
        lines = [json.dumps({"truth": truth, "predicted": predicted}) for truth, predicted in rows]
        text = "\n".join(lines) if name.endswith("l") else f"[{', '.join(lines)}]"
        (tmp_path / name).write_text(text)
        assert values(evaluated(run, tmp_path / name))["accuracy"] == 1
        (tmp_path / name).write_text(text.replace(f": {LONG + 1},", f": {LONG + 1}.0,"))
        assert values(evaluated(run, tmp_path / name))["accuracy"] == 1


@pytest.mark.parametrize("kind", ["numeric", "integer"])
@pytest.mark.parametrize("first", ["", "'1', 1\n", "{0 1, 1 1}\n"], ids=["plain", "quoted", "sparse"])
def test_no_label_of_arff_is_rounded_onto_another(tmp_path, kind, first):
    rows = f"1,1.0\n{LONG},{LONG}\n{LONG + 1},{LONG}\n"
    head = f"@relation r\n@attribute truth {kind}\n@attribute predicted {kind}\n@data\n"
    (tmp_path / "rows.arff").write_text(head + first + rows)
    assert heldout.evaluate(tmp_path / "rows.arff").labels == (1, LONG, LONG + 1)
    (tmp_path / "rows.arff").write_text(head + first + rows.replace(str(LONG + 1), str(2**70 + 1)))
    assert set(heldout.evaluate(tmp_path / "rows.arff").labels) == {"1", str(LONG), str(2**70 + 1)}


SURE: dict[str, Any] = {"truth": [1, 0, 1, 0, 1, 0, 1, 0], "predicted": [1, 0, 0, 0, 1, 0, 1, 1]}
CONFIDENCE = [0.9, 0.95, 0.6, 0.8, 0.7, 0.75, 0.85, 0.55]


def test_confidences_in_per_cent_are_turned_as_shares_are():
    shares = heldout.evaluate(**SURE, score=CONFIDENCE)
    per_cent = heldout.evaluate(**SURE, score=[100 * share for share in CONFIDENCE])
    assert per_cent["roc_auc"].value == shares["roc_auc"].value == 15 / 16
    assert "100 − score where the other was predicted" in " ".join(per_cent.notes)
    assert any(finding.code == "H067" and "below 50 and" in str(finding) for finding in per_cent.review.findings)


@pytest.mark.parametrize(
    ("truth", "predicted", "score", "area", "turned"),
    [
        ([1, 0, 1, 0, 1], [1, 0, 0, 0, 0], [0.9, 0.95, 0.6, 0.8, 0.7], 1 / 6, 1.0),
        ([1, 0, 1, 0], [0, 0, 0, 0], [60, 90, 70, 80], 0.0, 1.0),
    ],
)
def test_what_the_area_of_possible_confidences_would_be_is_said(truth, predicted, score, area, turned):
    seen = heldout.evaluate(truth, predicted, score=score)
    assert seen["roc_auc"].value == pytest.approx(area)
    said = f"their ROC area is {area:.3f}, as a confidence in the prediction, whichever it is, {turned:.3f}"
    assert said in " ".join(seen.notes)


def test_probabilities_rounded_to_two_decimals_are_probabilities():
    rows = [[0.33, 0.33, 0.33], [0.71, 0.15, 0.15], [0.2, 0.5, 0.3]]
    seen = heldout.evaluate(["a", "b", "c"], score=rows)
    expected = -np.log([0.33, 0.15, 0.3]).mean()
    assert seen["log_loss"].value == pytest.approx(expected)
    assert "the probabilities of a case sum to 0.99, as rounded ones do; they are taken as they are" in seen.notes
    far = heldout.evaluate(["a", "b", "c"], score=[[0.33, 0.33, 0.3], *rows[1:]])
    assert not any(estimate.measure == "log_loss" for estimate in far.estimates)


def test_probabilities_beyond_their_ends_by_rounding_are_moved_back_and_others_are_not():
    seen = heldout.evaluate([1, 0, 1, 0], score=[1.0000001, -1e-12, 0.7, 0.4])
    exact = heldout.evaluate([1, 0, 1, 0], score=[1.0, 0.0, 0.7, 0.4])
    assert seen["log_loss"].value == exact["log_loss"].value
    assert "2 scores beyond 0 or 1 by rounding, such as 1.0000001, are taken as 0 or 1" in seen.notes
    with pytest.raises(OptionError, match=r"run from 0\.000534751 to 1\.00001, so they are no probabilities"):
        heldout.evaluate([1, 0], score=[1.00001, 0.000534751])
    tiny = heldout.evaluate([1, 0], score=[-1e-7, -2e-7], threshold=0)
    assert (tiny["roc_auc"].value, tiny.threshold) == (1.0, 0)


def test_scores_of_four_bytes_that_are_the_threshold_but_for_rounding_are_said():
    seen = heldout.evaluate([1, 0, 1, 0], score=np.array([0.7, 0.1, 0.7, 0.2], "f4"), threshold=0.7)
    assert seen["accuracy"].value == 0.5
    said = next(note for note in seen.notes if "float32" in note)
    assert said.startswith(
        "2 scores are 0.7 in four bytes (float32), which is 0.699999988079071 and below the threshold"
    )
    again = heldout.evaluate([1, 0, 1, 0], score=np.array([0.7, 0.1, 0.7, 0.2], "f4"), threshold=0.699999988079071)
    assert (again["accuracy"].value, len(again.notes)) == (1.0, 0)


def test_a_shard_of_one_class_says_at_once_that_its_score_is_left_out(run, tmp_path):
    (tmp_path / "one.csv").write_text("truth,predicted,score\n1,1,.9\n1,0,.3\n")
    words = ("count", str(tmp_path / "one.csv"), "-o", str(tmp_path / "one.evidence"))
    status, _, err = run(*words)
    assert status == 0
    assert "score; all cases are of the class 1; name every class with --labels" in " ".join(err.split())
    assert "not used" not in run(*words, "--labels", "0,1", "--positive", "1")[2]


def test_scores_named_as_classes_of_which_no_case_has_one_are_said(run, tmp_path):
    path = tmp_path / "animals.csv"
    path.write_text("label,cat,dog,fox\ncat,.7,.2,.1\ndog,.1,.7,.2\ncat,.5,.3,.2\n")
    assert "no case has some, and were not used; name every class with --labels cat,dog,fox." in refused(
        run, "evaluate", str(path)
    )
    assert values(evaluated(run, path, "--labels", "cat,dog,fox"))["accuracy"] == 1
    path.write_text("label,pred,cat,dog,fox\ncat,cat,.7,.2,.1\ndog,dog,.1,.7,.2\ncat,dog,.5,.3,.2\n")
    assert "name every class with --labels cat,dog,fox" in " ".join(evaluated(run, path)["notes"])


@pytest.mark.parametrize("word", ["#N/A", "n/a", "-", ".", "NIL", "NaT", "missing", "#NULL!"])
def test_spellings_of_missing_are_said(word):
    notes = " ".join(heldout.evaluate(["a", word, "b"], ["a", word, "a"]).notes)
    assert f"the label {word!r} looks like a missing value but counts as a class" in notes


def test_plus_and_minus_are_classes():
    assert heldout.evaluate(["+", "-"], ["+", "+"]).notes == ()


@pytest.mark.parametrize(("one", "other"), [("001", "1"), ("2024-05-01", "2024-05-01 00:00:00")])
def test_numbers_with_zeros_before_them_and_dates_with_midnight_look_alike(one, other):
    notes = " ".join(heldout.evaluate([one, other, "x"], [one, other, "x"]).notes)
    assert f"{one!r} and {other!r} look alike" in notes


def test_files_that_are_no_tables_are_named(run, tmp_path):
    np.save(tmp_path / "a.npy", np.arange(3))
    for name, member in (("b.xlsx", "[Content_Types].xml"), ("c.zip", "a.csv")):
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.writestr(member, "x")
    (tmp_path / "d.csv.bz2").write_bytes(bz2.compress(b"truth,predicted\n1,1\n"))
    for name, said in {
        "a.npy": "is a single NumPy array (.npy), which cannot be read here. Hint: save all columns",
        "b.xlsx": "is a workbook of Excel, which cannot be read here. Hint: save the sheet as CSV.",
        "c.zip": "is a zip archive, which cannot be read here. Hint: unpack it first",
        "d.csv.bz2": "is text packed with bzip2, which cannot be read here. Hint: unpack it first",
    }.items():
        assert said in refused(run, "evaluate", str(tmp_path / name))


def test_arrays_of_one_column_keep_their_name_and_of_several_are_taken_together(run, tmp_path):
    np.savez(tmp_path / "one.npz", y_true=np.array([[0], [1], [1]]), y_pred=np.array([[0], [1], [0]]))
    assert values(evaluated(run, tmp_path / "one.npz"))["accuracy"] == pytest.approx(2 / 3)
    scores = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6], [0.1, 0.5, 0.4]])
    np.savez(tmp_path / "three.npz", y_true=np.array(["a", "b", "c", "a"]), y_score=scores)
    assert values(evaluated(run, tmp_path / "three.npz", "--score", "y_score"))["accuracy"] == 0.75


def test_a_parameter_that_was_most_likely_meant_is_named():
    with pytest.raises(OptionError, match=r"no parameter 'q'.*\n.*did you mean quantile=\?"):
        heldout.evaluate([0, 1], [0, 1], measures=["calibration_error_quantile(q=0.5)"])


def test_points_that_may_mark_thousands_are_not_taken_for_decimals(run, tmp_path):
    path = tmp_path / "scores.csv"
    rows = ["1;1.200", "0;900", "1;1.100", "0;800"]
    path.write_text("truth;score\n" + "\n".join(rows) + "\n")
    for engine in ENGINES:
        said = refused(run, "evaluate", str(path), "--score", "score", "--threshold", "2", "--engine", engine)
        assert "score (column 'score') must be numbers" in said
        assert (
            engine not in ENGINES[:2] or "Hint: the points may mark thousands or decimals: write 1200, or 1,2" in said
        )
    path.write_text("truth;predicted;score\n" + "\n".join(row.replace(";", ";1;") for row in rows) + "\n")
    for engine in ENGINES[:2]:
        notes = " ".join(evaluated(run, path, "--engine", engine)["notes"])
        assert "not used: score; 'score' holds '1.200' in " in notes
    for further in ("1;12.5", "1;0.200", "0;1000"):
        path.write_text("truth;score\n" + "\n".join([*rows, further]) + "\n")
        assert values(evaluated(run, path, "--score", "score", "--threshold", "2"))
