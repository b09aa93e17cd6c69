"""Files as pipelines, competitions and platforms write them: each is read as meant, or refused with what to do."""

from __future__ import annotations

import gzip
import io
import json
import math
from dataclasses import dataclass

import polars as pl
import pytest

import heldout

TRUTH = ["yes", "no", "no", "yes", "no", "yes"]
ANSWER = ["yes", "no", "yes", "yes", "no", "no"]
SCORE = [0.9, 0.2, 0.6, 0.7, 0.1, 0.4]
OTHER = [round(1 - score, 2) for score in SCORE]
SURE = [max(pair) for pair in zip(SCORE, OTHER, strict=True)]
ONES = [int(label == "yes") for label in TRUTH]
CALLED = [int(label == "yes") for label in ANSWER]
# What these cases come to, however they are written.
ACCURACY, AREA = 4 / 6, 8 / 9


def table(separator=",", **columns):
    lines = [separator.join(columns), *(separator.join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    return "\n".join(lines) + "\n"


def lines_of(*rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def binary(write):
    buffer = io.BytesIO()
    getattr(pl.DataFrame({"truth": TRUTH, "predicted": ANSWER, "score": SCORE}), write)(buffer)
    return buffer.getvalue()


PLAIN = {"truth": TRUTH, "predicted": ANSWER, "score": SCORE}
PAIR = {"truth": TRUTH, "predicted": ANSWER}
PAIRS = [{"truth": a, "predicted": b} for a, b in zip(TRUTH, ANSWER, strict=True)]


@dataclass(frozen=True)
class Read:
    """A file that is read: its content, its accuracy and area, and words of the guess and of what is noted."""

    content: str | bytes
    accuracy: float = ACCURACY
    area: float | None = None
    guess: str = ""
    note: str = ""
    flags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Refused:
    """A file that is refused: its content, words of what is wrong, and the flag or the act that helps."""

    content: str | bytes
    what: str
    hint: str
    flags: tuple[str, ...] = ()


def booleans(true, false):
    columns = {name: [true if value == "yes" else false for value in PAIR[name]] for name in PAIR}
    return Read(table(**columns))


READ = {
    # Separators, encodings and what programs put around a table.
    "semicolon.csv": Read(table(";", **PLAIN), area=AREA),
    "tab.tsv": Read(table("\t", **PLAIN), area=AREA),
    "tab.txt": Read(table("\t", **PLAIN), area=AREA),
    "bar.csv": Read(table("|", **PLAIN), area=AREA),
    "decimal-comma.csv": Read(table(";", **PAIR, score=[str(x).replace(".", ",") for x in SCORE]), area=AREA),
    "bom.csv": Read("\ufeff" + table(**PLAIN), area=AREA),
    "windows-lines.csv": Read(table(**PLAIN).replace("\n", "\r\n"), area=AREA),
    "excel-separator.csv": Read("sep=;\n" + table(";", **PLAIN), area=AREA),
    "empty-lines.csv": Read("\n\n" + table(**PLAIN).replace("\n", "\n\n"), area=AREA),
    "packed.csv.gz": Read(gzip.compress(table(**PLAIN).encode()), area=AREA),
    "quoted.csv": Read('"truth","predicted"\n' + "".join(f'"{a}","{b}"\n' for a, b in zip(TRUTH, ANSWER, strict=True))),
    "trailing-separators.csv": Read(table(**PAIR).replace("\n", ",,\n")),
    "pandas-index.csv": Read(table(**{"": range(6)}, **PAIR)),
    "r-row-names.csv": Read(table(**{'""': range(6)}, **PAIR)),
    "dates-beside.csv": Read(table(date=["2024-01-01"] * 6, **PLAIN), area=AREA),
    "case-of-names.csv": Read(table(Truth=TRUTH, PREDICTED=ANSWER, Score=SCORE), area=AREA, guess="truth = Truth"),
    "spaces-in-names.csv": Read(table(**{"True Label": TRUTH, "Predicted Label": ANSWER}), guess="truth = True Label"),
    # Labels.
    "booleans.csv": booleans("True", "False"),
    "letters.csv": booleans("t", "f"),
    "capitals.csv": booleans("Y", "N"),
    "numbers.csv": booleans("1", "0"),
    "floats-beside-integers.csv": Read(table(truth=ONES, predicted=[f"{x}.0" for x in CALLED])),
    "booleans-beside-numbers.csv": Read(
        table(truth=[str(bool(x)) for x in ONES], predicted=CALLED), note="labels of different types were joined"
    ),
    "unicode.csv": Read(table(truth=["New York", "São Paulo"] * 2, predicted=["New York"] * 4), accuracy=0.5),
    # JSON and binary tables.
    "rows.json": Read(json.dumps(PAIRS)),
    "columns.json": Read(json.dumps(PAIR)),
    "rows.jsonl": Read(lines_of(*PAIRS)),
    "table.arrow": Read(binary("write_ipc"), area=AREA),
    "table.feather": Read(binary("write_ipc"), area=AREA),
    "stream.arrows": Read(binary("write_ipc_stream"), area=AREA),
    "table.parquet": Read(binary("write_parquet"), area=AREA),
    # Platforms.
    "pipeline.csv": Read(
        table(label=TRUTH * 2, prediction=ANSWER * 2, score=SURE * 2),
        area=AREA,
        note="confidence in the predicted class",
    ),
    "sklearn.csv": Read(table(y_test=TRUTH, y_pred=ANSWER, y_proba=SCORE), area=AREA),
    "sagemaker.csv": Read(table(label=ONES, predicted_label=CALLED, probability=SCORE), area=AREA),
    "automl.csv": Read(
        table(label=TRUTH, predicted_label=ANSWER, no_probability=OTHER, yes_probability=SCORE),
        area=AREA,
        guess="score = yes_probability",
    ),
    "h2o.csv": Read(table(truth=TRUTH, predict=ANSWER, no=OTHER, yes=SCORE), area=AREA, guess="score = yes"),
    "caret.csv": Read(table(obs=TRUTH, pred=ANSWER, no=OTHER, yes=SCORE), area=AREA, guess="truth = obs"),
    "classes-as-names.csv": Read(
        "label,cat,dog,fox\ncat,.7,.2,.1\ndog,.1,.8,.1\nfox,.3,.3,.4\ncat,.2,.5,.3\n",
        accuracy=0.75,
        guess="score = cat, dog, fox",
    ),
    "mlflow.csv": Read(
        table(target=ONES, prediction=CALLED, prediction_probability=SCORE), note="prediction_probability; name them"
    ),
    "xgboost.csv": Read(table(label=ONES, pred=SCORE), area=AREA, flags=("--score", "pred")),
    "missing-class-named.csv": Read(
        table(y=list("abab"), proba_a=[0.5, 0.1, 0.2, 0.2], proba_b=[0.3, 0.7, 0.2, 0.6], proba_c=[0.2, 0.2, 0.6, 0.2]),
        accuracy=0.75,
        flags=("--labels", "a,b,c"),
    ),
    "weka.csv": Read(
        "inst#,actual,predicted,error,prediction\n1,1:yes,1:yes,,0.9\n2,2:no,2:no,,0.8\n3,2:no,1:yes,+,0.6\n",
        accuracy=2 / 3,
        flags=("--predicted", "predicted"),
    ),
    "percent-signs.csv": Read(table(**PAIR, score=[f"{100 * x:.0f}%" for x in SCORE]), note="'score' holds '90%'"),
    "percentages.csv": Read(table(**PAIR, score=[100 * x for x in SCORE]), area=AREA, note="need probabilities"),
    "scores-in-lists.csv": Read(
        table(";", **PAIR, score=[f"[{x}; {1 - x}]" for x in SCORE]).replace("; ", " "), note="were not used: score"
    ),
    "utf-16.csv": Read(table(**PAIR).encode("utf-16")),
    "unicode-text.txt": Read(b"\xfe\xff" + table("\t", **PAIR).encode("utf-16-be")),
    "logits.jsonl": Read(
        lines_of(*({"labels": int(y == "yes"), "logits": [0.0, x - 0.5]} for y, x in zip(TRUTH, SCORE, strict=True))),
        area=AREA,
        guess="logits_1 − logits_0",
        flags=("--positive", "1"),
    ),
    "logits.json": Read(
        json.dumps([{"y": int(y == "yes"), "logits": [0.0, x - 0.5]} for y, x in zip(TRUTH, SCORE, strict=True)]),
        area=AREA,
        guess="logits_1 − logits_0",
        flags=("--positive", "1"),
    ),
    "by-class.jsonl": Read(
        lines_of(*({"label": y, "probs": {"no": 1 - x, "yes": x}} for y, x in zip(TRUTH, SCORE, strict=True))),
        area=AREA,
        guess="probs_yes",
        flags=("--positive", "yes"),
    ),
    "list-of-objects.jsonl": Read(
        lines_of(*({**row, "predicted_label_probs": [{"label": "yes", "prob": 0.5}]} for row in PAIRS))
    ),
    "three-classes-one-confidence.csv": Read(
        table(label=list("abcabc"), prediction=list("abcacb"), score=SURE), note="were not used: score"
    ),
    "numbered-columns.csv": Read(
        table(label=[1, 2, 1, 2], pred=[1, 2, 2, 2], proba_0=[0.9, 0.2, 0.4, 0.3], proba_1=[0.1, 0.8, 0.6, 0.7]),
        accuracy=0.75,
        note="were not used: proba_0, proba_1",
        flags=("--positive", "1"),
    ),
}

REFUSED = {
    "headerless.csv": Refused("yes,yes\nno,no\nno,yes\n", "two columns named 'yes'", "no header"),
    "headerless-scores.csv": Refused("1,0.9\n0,0.2\n", "no column with a usual name for truth", "first line"),
    "predictions-alone.txt": Refused("0.9\n0.2\n", "no column with a usual name for truth", "first line"),
    "fasttext.txt": Refused("__label__yes\t__label__yes\n__label__no\t__label__no\n", "two columns", "no header"),
    "comments.csv": Refused(
        "# made by a tool\n" + table(**PAIR), "no column with a usual name for truth", "first line"
    ),
    "utf-16-unmarked.csv": Refused(table(**PAIR).encode("utf-16-le"), "UTF-16", "UTF-8"),
    "utf-16-cut.csv": Refused(table(**PAIR).encode("utf-16")[:-1], "UTF-16", "UTF-8"),
    "windows-1252.csv": Refused("truth,predicted\nfür,fort\n".encode("cp1252"), "not UTF-8", "WINDOWS-1252"),
    "twice.csv": Refused(
        table(truth=TRUTH, predicted=ANSWER).replace("truth", "predicted", 1), "two columns", "rename"
    ),
    "ragged.csv": Refused("truth,predicted\nyes,yes\nno\n", "line 3: expected 2 fields", "add what is missing"),
    "table.md": Refused(
        "| truth | predicted |\n|---|---|\n| yes | no |\n| no | no |\n", "Markdown table", "save it as CSV"
    ),
    "model.pkl": Refused(b"\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00}\x94.", "pickle", "CSV or Parquet"),
    "submission.csv": Refused(table(id=range(6), target=ONES), "usual name for predicted", "--predicted"),
    "kaggle.csv": Refused(table(Id=range(6), Predicted=ANSWER), "usual name for truth", "--truth"),
    "two-models.csv": Refused(table(y_true=TRUTH, model_a=ANSWER, model_b=TRUTH), "usual name for predicted", "--pred"),
    "two-truths.csv": Refused(
        table(label=TRUTH, target=TRUTH, pred=ANSWER), "several columns that may be truth", "--truth"
    ),
    "scores-as-prediction.csv": Refused(table(label=ONES, pred=SCORE), "those are scores, not labels", "--score"),
    "answers-without-truth.jsonl": Refused(
        lines_of(*({"label": a, "score": s} for a, s in zip(ANSWER, SURE, strict=True))),
        "the true class is missing",
        "--truth",
    ),
    "confidence-at-threshold.csv": Refused(
        table(label=TRUTH * 2, prediction=ANSWER * 2, score=SURE * 2),
        "confidence in the prediction of 'prediction'",
        "1 − score",
        ("--threshold", "0.5"),
    ),
    "missing-class.csv": Refused(
        table(y=list("abab"), proba_a=[0.5, 0.1, 0.2, 0.2], proba_b=[0.3, 0.7, 0.2, 0.6], proba_c=[0.2, 0.2, 0.6, 0.2]),
        "proba_c is of a class that no case has",
        "--labels",
    ),
    "ragged-logits.jsonl": Refused(
        lines_of({"labels": 0, "logits": [2.0, 0.1]}, {"labels": 1, "logits": [0.1, 1.0, 2.0]}),
        "'logits') must be numbers",
        "another column",
    ),
    "vertex.jsonl": Refused(
        lines_of({"label": "yes", "prediction": {"classes": ["yes", "no"], "scores": [0.9, 0.1]}}),
        "Labels are numbers, text",
        "a column of its own",
    ),
    "text-pipeline.jsonl": Refused(
        lines_of({"gold": "yes", "prediction": {"label": "yes", "score": 0.9}}), "Labels are", "a column of its own"
    ),
    "spacy.jsonl": Refused(
        lines_of({"text": "x", "label": "yes", "cats": {"yes": 0.9, "no": 0.1}}),
        "usual name for predicted",
        "--predicted",
    ),
    "wrapped.json": Refused(json.dumps({"data": PAIRS}), "usual name for truth", "--truth"),
    "weka.txt": Refused(
        " inst#     actual  predicted error prediction\n     1      1:yes      1:yes       0.9\n",
        "usual name",
        "--truth",
    ),
}


@pytest.fixture
def run(run, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "500")

    def call(name, case):
        content = case.content if isinstance(case.content, bytes) else case.content.encode()
        (tmp_path / name).write_bytes(content)
        return run("evaluate", name, "--json", "-", *case.flags)

    return call


@pytest.mark.parametrize("name", READ)
def test_it_is_read_as_it_is_meant(name, run):
    case = READ[name]
    status, output, said = run(name, case)
    assert status == 0, said
    document = json.loads(output)
    values = {row["measure"]: row["value"] for row in document["estimates"] if row["average"] is None}
    assert values["accuracy"] == pytest.approx(case.accuracy)
    if case.area is None:
        assert "roc_auc" not in values or document["positive"] is None
    else:
        assert values["roc_auc"] == pytest.approx(case.area)
    result = heldout.evaluate(name) if not case.flags else None
    if result is not None:
        assert case.guess in result.source.describe_guesses()
        assert "guessed from the column names" in result.source.describe_guesses()
        assert math.isclose(result["accuracy"].value, case.accuracy)
        assert not case.note or any(case.note in note for note in result.notes)
    elif case.note:
        assert case.note in output + said


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_with_what_to_do(name, run):
    case = REFUSED[name]
    status, output, said = run(name, case)
    assert (status, output) == (2, "")
    what, hint, rest = said.split("\n")
    assert case.what in what
    assert hint.startswith("Hint: ")
    assert case.hint in hint
    assert rest == ""
