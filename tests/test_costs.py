"""Costs: reading them in every form, what is refused, and the worked example in which the better model costs more."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from heldout.api.choose_threshold import choose_threshold
from heldout.api.evaluate import evaluate
from heldout.costs import Costs, more_accurate_costs_more, read_costs, settle_costs
from heldout.errors import FileError, MatrixError

EXAMPLES = json.loads((Path(__file__).parent / "oracles/data/worked-examples.json").read_text(encoding="utf-8"))
M1_M2 = next(example for example in EXAMPLES["examples"] if example["id"] == "cost-m1-m2")

# A miss costs 100, a false alarm 1; rows are the truth, in the order no, yes.
WANTED = [[0, 1], [100, 0]]


@pytest.mark.parametrize(
    "text",
    [
        "yes,no:100; no,yes:1",
        "no,yes:1;yes,no:100;",
        "truth=yes,predicted=no:100; truth=no, predicted=yes: 1.0",
        "predicted=no,truth=yes:1e2; no,yes:1",
        "'yes',\"no\":100; 'no' , yes : +1",
        "yes,no:100; no,yes:1; yes,yes:0",
    ],
)
def test_one_line(text):
    assert read_costs(text, ["no", "yes"]).matrix.tolist() == WANTED


def test_quoted_labels_may_hold_every_sign():
    costs = read_costs("'a,b:c;d',plain:3; plain,\"a,b:c;d\":4", ["a,b:c;d", "plain"])
    assert costs.matrix.tolist() == [[0, 3], [4, 0]]


def test_right_answers_and_gains_can_be_named():
    assert read_costs("+,-:100; -,+:1; +,+:-1", ["+", "-"]).matrix.tolist() == M1_M2["cost"]


def test_numbers_as_labels():
    assert read_costs("1,0:100; 0,1:1", [0, 1]).matrix.tolist() == WANTED
    assert read_costs("1.0,0:100; 0,1:1", [0.0, 1.0]).matrix.tolist() == WANTED
    assert read_costs("True,False:100; False,True:1", [False, True]).matrix.tolist() == WANTED


def test_without_labels_the_source_names_them():
    costs = read_costs("yes,no:100; no,yes:1")
    assert costs.labels == ("yes", "no")
    assert costs.of_error("yes", "no") == 100


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        ("truth\\predicted,no,yes\nno,0,1\nyes,100,0\n", None),
        ("truth\\predicted,yes,no\nno,1,0\nyes,0,100\n", None),
        ("predicted\\truth,no,yes\nno,0,100\nyes,1,0\n", None),
        ("Predicted / Actual;no;yes\nno;0;100\nyes;1;0\n", None),
        ("truth,no,yes\nno,0,1\nyes,100,0\n", "truth"),
        (",no,yes\nno,0,1\nyes,100,0\n", "truth"),
        ("class,no,yes\nno,0,100\nyes,1,0\n", "predicted"),
        ("\ufefftruth \\ predicted\tno\tyes\r\nyes\t100\t0\r\nno\t0\t1\r\n", None),
    ],
)
def test_csv(tmp_path, content, rows):
    file = tmp_path / "costs.csv"
    file.write_text(content, encoding="utf-8", newline="")
    assert read_costs(file, ["no", "yes"], rows).matrix.tolist() == WANTED
    assert read_costs(str(file), ["yes", "no"], rows).matrix.tolist() == [[0, 100], [1, 0]]


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        ('[costs]\nrows = "truth"\nlabels = ["no", "yes"]\nmatrix = [[0, 1], [100, 0]]', None),
        ('[costs]\nrows = "predicted"\nlabels = ["no", "yes"]\nmatrix = [[0, 100], [1, 0]]', None),
        ('[costs]\nlabels = ["yes", "no"]\nmatrix = [[0, 100], [1, 0]]', "truth"),
        ('[[cost]]\ntruth="yes"\npredicted="no"\ncost=100\n[[cost]]\ntruth="no"\npredicted="yes"\ncost=1.0', None),
    ],
)
def test_toml(tmp_path, content, rows):
    file = tmp_path / "costs.toml"
    file.write_text(content, encoding="utf-8")
    assert read_costs(file, ["no", "yes"], rows).matrix.tolist() == WANTED


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("yes,no:100", "leave out 1 kind of error, such as truth 'no' predicted 'yes'"),
        ("yse,no:100; no,yes:1", "'yse'.*did you mean 'yes'"),
        ("yes,no:many; no,yes:1", "is 'many', expected a number"),
        ("yes,no:inf; no,yes:1", "expected a finite number"),
        ("yes,no:nan; no,yes:1", "expected a finite number"),
        (
            "yes,no:1e308; no,yes:1e308",
            "1e-150 and 1e.150 in size, or be 0. That of truth 'no' predicted 'yes' is 1e.308",
        ),
        ("yes,no:-1e151; no,yes:1", "truth 'yes' predicted 'no' is -1e.151.\nHint: divide all of them"),
        ("yes,no:1e-151; no,yes:1", "truth 'yes' predicted 'no' is 1e-151"),
        ("yes no 100", "is not a cost.*truth,predicted:cost"),
        ("yes,no:1:2; no,yes:1", "is not a cost"),
        ("yes,no:100; yes,no:50; no,yes:1", "twice"),
        ("truth=yes,no:100; no,yes:1", "does not name both axes"),
        ("truth=yes,truth=no:100; no,yes:1", "does not name both axes"),
        ("", "empty"),
        (" ; ", "empty"),
    ],
)
def test_one_line_that_cannot_be_read(text, says):
    with pytest.raises(MatrixError) as error:
        read_costs(text, ["no", "yes"])
    assert_says(error, says)


def assert_says(error, says):
    assert re.search(says, str(error.value), re.DOTALL), str(error.value)
    assert "Hint: " in str(error.value)


@pytest.mark.parametrize(
    ("name", "content", "rows", "says"),
    [
        ("c.csv", ",no,yes\nno,0,1\nyes,100,0\n", None, r"does not say whether its rows.*truth\\predicted"),
        ("c.csv", "truth\\predicted,no,yes\nno,0,1\n", None, "2 classes.*it has 1 row\\b"),
        ("c.csv", "truth\\predicted,no,yes\nno,0,1\nyes,100\n", None, "row 3 has 2 cells"),
        ("c.csv", "truth\\predicted,no,yes\nno,0,1\nmaybe,100,0\n", None, "rows of .* are for no, maybe"),
        ("c.csv", "truth\\predicted,no,maybe\nno,0,1\nmaybe,100,0\n", None, "'maybe', which is not among"),
        ("c.csv", "truth\\predicted,no,yes\nno,0,x\nyes,100,0\n", None, "row 1, column 2 .* is 'x'"),
        ("c.csv", "truth\\predicted,no,yes\nno,0,inf\nyes,100,0\n", None, "is inf, expected a finite"),
        ("c.csv", "predicted\\truth,no,yes\nno,0,1e200\nyes,1,0\n", None, "truth 'yes' predicted 'no' is 1e.200"),
        ("c.csv", "truth\\predicted,no,yes\nno,0,1\nyes,100,0\n", "predicted", "says that its rows are the truth"),
        ("c.csv", "truth\\predicted,no,yes\nno,0,1\nyes,100,0\n", "columns", "'truth' or 'predicted'. Got 'columns'"),
        ("c.toml", '[costs]\nlabels = ["no", "yes"]\nmatrix = [[0, 1], [2, 0]]', None, "does not say whether its rows"),
        ("c.toml", '[costs]\nrows="truth"\nlabels = ["no", "yes"]\nmatrix = [[0, 1]]', None, "matrix has 1 row of 2"),
        ("c.toml", '[costs]\nrows="truth"\nlabels = ["no", "yes"]', None, "no list 'matrix'"),
        ("c.toml", '[[cost]]\ntruth="no"\ncost=1', None, "Entry 1 .* has no 'predicted'"),
        ("c.toml", "a = 1", None, r"either one table \[costs\]"),
        ("c.toml", "a = ", None, "is not TOML"),
        ("c.toml", '[costs]\nrows="truth"\nlabels=["no"]\nmatrix=[[1]]', None, "but the cases have no, yes"),
    ],
)
def test_files_that_cannot_be_read(tmp_path, name, content, rows, says):
    file = tmp_path / name
    file.write_text(content, encoding="utf-8")
    with pytest.raises(MatrixError) as error:
        read_costs(file, ["no", "yes"], rows)
    assert_says(error, says)


def test_a_file_that_is_not_there(tmp_path):
    (tmp_path / "costs.csv").write_text("x", encoding="utf-8")
    with pytest.raises(FileError, match=r"costs.csv\?"):
        read_costs(str(tmp_path / "cost.csv"), ["no", "yes"])


def test_one_line_refuses_rows():
    with pytest.raises(MatrixError, match="name the truth first"):
        read_costs("yes,no:1; no,yes:1", ["no", "yes"], rows="predicted")


@pytest.mark.parametrize(
    ("matrix", "symmetric"),
    [
        ([[0, 1], [1, 0]], True),
        ([[-2, 3], [3, -2]], True),
        ([[0, 5, 5], [5, 0, 5], [5, 5, 0]], True),
        ([[0, 1], [2, 0]], False),
        ([[0, 1], [1, -1]], False),
        ([[1, 1], [1, 1]], False),
        ([[1, 0], [0, 1]], False),
    ],
)
def test_symmetric_costs_rank_as_accuracy_does(matrix, symmetric):
    costs = Costs.of(matrix, range(len(matrix)), rows="truth")
    assert costs.symmetric is symmetric
    rng = np.random.default_rng(0)
    tables = rng.multinomial(100, np.full(len(matrix) ** 2, 1 / len(matrix) ** 2), size=200)
    cost = tables @ costs.matrix.ravel()
    wrong = 100 - tables.reshape(200, len(matrix), -1).trace(axis1=1, axis2=2)
    as_accuracy = np.array_equal(np.sign(np.subtract.outer(cost, cost)), np.sign(np.subtract.outer(wrong, wrong)))
    assert as_accuracy is symmetric


def test_the_more_accurate_model_costs_more():
    costs = Costs.of(M1_M2["cost"], M1_M2["labels"], rows="truth")
    pairs = []
    for name in ("m1", "m2"):
        judged = evaluate(matrix=M1_M2[name]["matrix"], labels=M1_M2["labels"], costs=costs)
        pairs.append((judged.value("accuracy"), judged.value("total_cost")))
    assert pairs == [(0.8, 3910.0), (0.9, 4255.0)] == [(M1_M2[m]["accuracy"], M1_M2[m]["cost"]) for m in ("m1", "m2")]
    said = "M2 is more accurate than M1 (.900 against .800), but it costs more: 4,255 against 3,910."
    assert more_accurate_costs_more(pairs[0], pairs[1], ("M1", "M2")) == said
    assert more_accurate_costs_more(pairs[1], pairs[0], ("M2", "M1")) == said


@pytest.mark.parametrize(
    ("first", "second"),
    [((0.8, 10), (0.9, 10)), ((0.8, 10), (0.9, 9)), ((0.8, 10), (0.8, 11)), ((float("nan"), 1), (0.9, 2))],
)
def test_otherwise_nothing_is_said(first, second):
    assert more_accurate_costs_more(first, second) == ""


def test_costs_as_text_settle_anywhere():
    assert settle_costs("yes,no:100; no,yes:1", ["no", "yes"]).tolist() == WANTED
    with pytest.raises(MatrixError, match="bare table"):
        settle_costs([[0, 1], [1, 0]], ["no", "yes"])


@pytest.mark.parametrize("size", [1e-150, 1e150])
def test_the_largest_and_the_smallest_costs_make_numbers(size):
    # Warnings of NumPy are errors here.
    truth, score = ["yes", "no", "yes", "no"] * 5, [0.9, 0.1, 0.4, 0.6] * 5
    costs = {("yes", "no"): size, ("no", "yes"): 2 * size if size < 1 else size / 2}
    chosen: Any = choose_threshold(truth, score=score, costs=costs, replicates=20)
    judged = evaluate(truth, score=score, costs=costs)
    costs_of = [e for e in (*chosen.estimates, *judged) if e.measure in ("expected_cost", "total_cost")]
    assert len(costs_of) >= 3
    assert np.isfinite([(e.value, e.low, e.high) for e in costs_of]).all()
