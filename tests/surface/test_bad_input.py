"""Whatever is wrong with the input or the call, the shell gets two sentences and exit status 2."""

from __future__ import annotations

import pytest
from tests.surface.learning_files import check_two_sentences

from heldout.errors import FileError

FILES = {
    "ok.csv": b"y_true,y_pred\na,a\nb,b\nb,a\na,a\n",
    "empty.csv": b"",
    "header.csv": b"y_true,y_pred\n",
    "latin.csv": "y_true,y_pred\ncafé,a\n".encode("latin-1"),
    "ragged.csv": b"y_true,y_pred\na,a\nb\n",
    "twice.csv": b"y_true,y_pred,y_pred\na,a,a\n",
    "broken.arff": b"@relation r\n@attribute\n@data\n1\n",
    "broken.jsonl": b'{"y_true": 1, "y_pred": 1}\n{"y_true": \n',
    "ambiguous.csv": b"y_true,label,y_pred\na,a,a\n",
    "unusual.csv": b"foo,bar\na,a\n",
    "missing.csv": b"y_true,y_pred\na,\nb,b\n,a\n",
    "score.csv": b"y_true,y_pred\n0,0.25\n1,0.75\n",
    "types.csv": b"y_true,y_pred\nyes,1\nno,0\n",
    "weights.csv": b"y_true,y_pred,negative,text,zero\na,a,1,x,0\nb,b,-2,y,0\n",
    "matrix.csv": b",no,yes\nno,5,1\nyes,2,9\n",
    "odd-matrix.csv": b",no,yes\noff,5,1\nmaybe,2,9\n",
}

TWO_BY_TWO = "1 2; 3 4"

# The call, what the first sentence must say, what the hint must say.
CALLS = {
    "no such file": ("evaluate zzzzzzzz", "There is no file zzzzzzzz.", "check the path"),
    "a slip in the name": ("evaluate ok.cvs", "There is no file ok.cvs.", "did you mean ok.csv?"),
    "a name too long for a file": (f"evaluate {'x' * 5000}", "There is no file xxx", ""),
    "an empty folder": ("evaluate folder", "folder folder has no table that can be read", "or the path of one file"),
    "an empty name": (["evaluate", ""], "nothing to evaluate", "heldout evaluate predictions.csv"),
    "an empty file": ("evaluate empty.csv", "empty.csv is empty", "at least one row"),
    "a header only": ("evaluate header.csv", "header.csv has a header but no rows", "at least one row"),
    "a header only, in batches": ("evaluate header.csv --engine stream", "header.csv has a header but no rows", ""),
    "a header only, to check": (
        ["check", "header.csv", "--require", "accuracy >= .1", "--engine", "stream"],
        "header.csv has a header but no rows",
        "",
    ),
    "a header only, of scores": (
        "thresholds header.csv --score y_pred --positive a --maximize f1 --engine stream",
        "header.csv has a header but no rows",
        "",
    ),
    "not UTF-8": ("evaluate latin.csv", "0xe9 at offset 17 (line 2)", "save it as UTF-8"),
    "ragged rows": ("evaluate ragged.csv", "line 3: expected 2 fields", "separator"),
    "a column twice": ("evaluate twice.csv", "two columns named 'y_pred'", "rename"),
    "a broken ARFF header": ("evaluate broken.arff", "broken.arff, line 2", "@attribute"),
    "broken JSON lines": ("evaluate broken.jsonl", "broken.jsonl, line 2", "one whole object"),
    "a slip in a column": ("evaluate ok.csv --truth y_tru", "no column 'y_tru'. It has: y_true, y_pred.", "'y_true'?"),
    "no such column": (
        "evaluate ok.csv --weight w",
        "ok.csv has no column 'w'. It has: y_true, y_pred.",
        "one of these",
    ),
    "one column for both": ("evaluate ok.csv --predicted y_true", "the same column of ok.csv: 'y_true'", "choose two"),
    "an ambiguous guess": ("evaluate ambiguous.csv", "may be truth: y_true, label.", "--truth y_true"),
    "no guess": ("evaluate unusual.csv", "no column with a usual name for truth", "--truth COLUMN"),
    "half a guess": ("evaluate unusual.csv --truth foo", "usual name for predicted", "--predicted COLUMN"),
    "missing values": ("evaluate missing.csv", "2 of 3 rows have missing values: truth in 1", "--missing drop"),
    "scores as labels": (
        "evaluate score.csv",
        "predicted (column 'y_pred') holds numbers that are not whole",
        "scores",
    ),
    "labels of two types": ("evaluate types.csv", "truth has 'no', 'yes'; prediction has 0, 1.", "both columns text"),
    "negative weights": ("evaluate weights.csv --weight negative", "Row 2 has -2.", "weight 0"),
    "weights of text": (
        "evaluate weights.csv --weight text",
        "weight (column 'text') must be numbers",
        "another column",
    ),
    "weights all zero": ("evaluate weights.csv --weight zero", "All weights are zero", "at least one case"),
    "a ragged matrix": (["evaluate", "--matrix", "1 2; 3"], "2 entries in row 1 but 1 in row 2", "semicolons"),
    "not square": (["evaluate", "--matrix", "1 2 3; 3 4 5"], "2 rows and 3 columns", "for each class"),
    "negative entries": (["evaluate", "--matrix", "1 -2; 3 4"], "row 1, column 2 of the matrix is -2", "0 or more"),
    "entries not finite": (["evaluate", "--matrix", "1 2; nan 4"], "row 2, column 1 of the matrix is nan", "0 or more"),
    "infinite entries": (["evaluate", "--matrix", "1 inf; 3 4"], "which is not finite", "0 or more"),
    "an empty matrix": (["evaluate", "--matrix", ""], "The matrix is empty", "semicolons"),
    "a matrix of zeros": (["evaluate", "--matrix", "0 0; 0 0"], "Every entry of the matrix is 0", "one case"),
    "a matrix of text": (
        ["evaluate", "--matrix", "a b; c d"],
        "row 1, column 1 of the matrix is 'a', expected a number",
        "write 0",
    ),
    "no such matrix file": ("evaluate --matrix matrx.csv", "There is no file matrx.csv", "matrix.csv?"),
    "rows and columns differ": ("evaluate --matrix odd-matrix.csv", "no label in common", "same labels"),
    "too many labels": (["evaluate", "--matrix", TWO_BY_TWO, "--labels", "a,b,c"], "there are 3 labels", "one label"),
    "labels of another matrix": ("evaluate --matrix matrix.csv --labels a,b", "has the labels no, yes", "same classes"),
    "labels twice": (
        ["evaluate", "--matrix", TWO_BY_TWO, "--labels", "a,a"],
        "names 'a' more than once",
        "each class once",
    ),
    "an empty label": ("evaluate ok.csv --labels a,,b", "has an empty name", "separated by commas"),
    "labels left out": ("evaluate ok.csv --labels a", "leave out classes that occur: 'b'", "every class"),
    "rows of a matrix": (
        ["evaluate", "--matrix", TWO_BY_TWO, "--rows", "x"],
        "'truth' or 'predicted'. Got 'x'",
        "rows",
    ),
    "rows without a matrix": ("evaluate ok.csv --rows truth", "the rows of a --matrix", "leave out --rows"),
    "a file and a matrix": (["evaluate", "ok.csv", "--matrix", TWO_BY_TWO], "(ok.csv) and --matrix", "one of the two"),
    "a matrix without quotes": ("evaluate --matrix 50 0", "and --matrix were given together", "in quotes"),
    "neither": ("evaluate", "nothing to evaluate", "heldout evaluate predictions.csv"),
    "a column of a matrix": (
        ["evaluate", "--matrix", TWO_BY_TWO, "--truth", "y"],
        "--truth is about the rows",
        "leave out",
    ),
    "missing in a matrix": (
        ["evaluate", "--matrix", TWO_BY_TWO, "--missing", "drop"],
        "--missing is about",
        "leave out",
    ),
    "missing what": ("evaluate ok.csv --missing maybe", "'refuse' or 'drop'. Got 'maybe'", "drop"),
    "level 0": ("evaluate ok.csv --level 0", "between 0 and 1. Got 0", "0.95"),
    "level 1": ("evaluate ok.csv --level 1", "between 0 and 1. Got 1", "0.95"),
    "level 95": ("evaluate ok.csv --level 95", "between 0 and 1. Got 95", "write 95 % as 0.95"),
    "level -1": ("evaluate ok.csv --level -1", "between 0 and 1. Got -1", "0.95"),
    "level nan": ("evaluate ok.csv --level nan", "between 0 and 1. Got nan", "0.95"),
    "level .9999999999999999": (
        "evaluate ok.csv --level .9999999999999999",
        "between 0.0001 and 0.9999999. Got 0.9999999999999999",
        "0.95",
    ),
    "level 1e-17": ("check ok.csv --require accuracy>=.1 --level 1e-17", "and 0.9999999. Got 1e-17", "0.95"),
    "a level that is no number": ("evaluate ok.csv --level high", "--level must be a number. Got 'high'", "0.95"),
    "a seed that is no number": ("evaluate ok.csv --seed x", "--seed must be a whole number. Got 'x'", "--seed 1"),
    "a seed below zero": ("evaluate ok.csv --seed -1", "seed must be a whole number from 0 up. Got -1", "seed"),
    "no replicates": ("evaluate ok.csv --replicates 0", "from 1 up. Got 0", "replicates"),
    "unknown measure": ("evaluate ok.csv --measure acuracy", "no measure 'acuracy'", "did you mean 'accuracy'?"),
    "an empty measure": (["evaluate", "ok.csv", "--measure", ""], "does not name a measure", "accuracy"),
    "unknown class": (["evaluate", "ok.csv", "--measure", "recall[c]"], "no class 'c'. The classes are: a, b", "these"),
    "unknown method": ("evaluate ok.csv --method wilsn", "no interval method 'wilsn'", "did you mean 'wilson'?"),
    "unknown positive": ("evaluate ok.csv --positive c", "'c' is not among the labels: 'a', 'b'", "one of these"),
    "unknown layout": ("evaluate ok.csv --format wka", "no layout 'wka'. There are: heldout, weka.", "--format weka?"),
    "a layout that shows one thing": (
        "evaluate ok.csv --format weka --full",
        "--full has no effect",
        "leave out --full",
    ),
    "JSON into a folder": (
        "evaluate ok.csv --json folder",
        "--json cannot write folder: it is a folder",
        "name of a file",
    ),
    "JSON into no folder": ("evaluate ok.csv --json none/x.json", "there is no folder none", "folder that exists"),
    "JSON into no name": (["evaluate", "ok.csv", "--json", ""], "the name is empty", "name of a file"),
    "JSON over the input": ("evaluate ok.csv --json ok.csv", "--json would overwrite the input", "its own name"),
    "two forms in one file": ("evaluate ok.csv --json x --html ./x", "--html would overwrite --json", "its own name"),
    "two forms on the screen": (
        "evaluate ok.csv --json - --html -",
        "standard output: --json and --html.",
        "to a file",
    ),
    "unknown option": ("evaluate ok.csv --jsn x", "heldout evaluate has no option --jsn.", "did you mean --json?"),
    "an option without its value": ("evaluate ok.csv --truth", "'--truth' requires an argument", "--help"),
    "one file too many": ("evaluate ok.csv more.csv", "more.csv", "heldout evaluate --help"),
    "unknown command": ("evaluat ok.csv", "evaluat", "heldout --help"),
    "unknown name in the catalogue": ("measures recal", "no measure 'recal'", "did you mean 'recall'?"),
}


@pytest.fixture
def here(tmp_path, monkeypatch):
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("wrong", CALLS)
def test_two_sentences_and_status_2(wrong, here, run):
    call, what, hint = CALLS[wrong]
    status, output, said = run(*(call.split(" ") if isinstance(call, str) else call))
    assert (status, output) == (2, "")
    check_two_sentences(said, what, hint)
    assert len(said) < 2300, "a name of any length takes little room"
    assert sorted(path.name for path in here.iterdir()) == sorted([*FILES, "folder"]), "nothing was written"


def test_nothing_is_written_when_the_call_is_wrong(here, run):
    status, _, _ = run("evaluate", "missing.csv", "--json", "a.json", "--html", "b.html")
    assert status == 2
    assert sorted(path.name for path in here.iterdir()) == sorted([*FILES, "folder"])


def test_an_error_cannot_drive_the_terminal(here, run):
    here.joinpath("evil.csv").write_text("y_true,y_pred\n\x1b[2Ja,1\nb\nc,2\n", encoding="utf-8")
    _, _, said = run("evaluate", "evil.csv", "--truth", "\x1b[31m\n\rx")
    assert "\x1b" not in said
    assert "\r" not in said
    assert said.count("\n") == 2
    _, _, said = run("evaluate", "no\nsuch\x1b(1mfile")
    assert said.startswith("There is no file no\\nsuch\\x1b(1mfile.\nHint: ")


@pytest.mark.usefixtures("here")
def test_a_fault_of_our_own_is_no_traceback_either(monkeypatch, run):
    def fail(*_args, **_options):
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr("heldout.api.evaluate.evaluate", fail)
    status, output, said = run("evaluate", "ok.csv")
    assert (status, output) == (70, "")
    assert said.startswith(
        "heldout failed because of an error of its own: ZeroDivisionError: division by zero.\nHint: "
    )
    assert "Traceback" not in said
    monkeypatch.setenv("HELDOUT_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        run("evaluate", "ok.csv")


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("raised", "status", "words"),
    [
        (KeyboardInterrupt(), 130, "Interrupted.\n"),
        (MemoryError(), 2, "There is not enough memory for this input.\nHint: "),
        (FileError("A is wrong.", hint="mend A."), 2, "A is wrong.\nHint: mend A.\n"),
    ],
    ids=lambda x: type(x).__name__,
)
def test_every_end_has_its_status(raised, status, words, monkeypatch, run):
    def fail(*_args, **_options):
        raise raised

    monkeypatch.setattr("heldout.api.evaluate.evaluate", fail)
    ended, _, said = run("evaluate", "ok.csv")
    assert ended == status
    assert said.startswith(words)
