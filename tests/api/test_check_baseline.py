"""Gates against a baseline: paired where its predictions are known, from its figures where only those are."""

from __future__ import annotations

import gzip
import json
import math

import numpy as np
import polars as pl
import pytest
from scipy.optimize import brentq
from scipy.stats import norm
from statsmodels.stats.proportion import confint_proportions_2indep

from heldout.api.check import check
from heldout.api.compare import compare
from heldout.api.evaluate import evaluate
from heldout.errors import FileError, HeldoutError, OptionError


def tango(gained: int, lost: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """Tango's score interval of a paired difference, by solving his equation: Statistics in Medicine 17 (1998)."""
    z = norm.ppf((1 + level) / 2)

    def score(d: float) -> float:
        b, c = -gained - lost + (2 * n - gained + lost) * d, -lost * d * (1 - d)
        q = (math.sqrt(b * b - 8 * n * c) - b) / (4 * n)
        return (gained - lost - n * d) / math.sqrt(n * (2 * q + d * (1 - d)))

    seen, edge = (gained - lost) / n, 1 - 1e-9
    return brentq(lambda d: score(d) - z, -edge, seen), brentq(lambda d: score(d) + z, seen, edge)


def judged(both: int, only_new: int, only_old: int, neither: int) -> tuple[list[str], list[str], list[str]]:
    """The truth, new and old predictions, with so many cases right by both, by one, and by neither."""
    n = both + only_new + only_old + neither
    truth = ["no", "yes"] * (n // 2) + ["no"] * (n % 2)
    other = {"no": "yes", "yes": "no"}
    new_right = [True] * (both + only_new) + [False] * (only_old + neither)
    old_right = [True] * both + [False] * only_new + [True] * only_old + [False] * neither
    new = [label if ok else other[label] for label, ok in zip(truth, new_right, strict=True)]
    return truth, new, [label if ok else other[label] for label, ok in zip(truth, old_right, strict=True)]


@pytest.fixture
def files(tmp_path):
    truth, new, old = judged(160, 18, 10, 12)
    for name, predicted in (("new", new), ("old", old)):
        frame = pl.DataFrame({"case": range(len(truth)), "truth": truth, "predicted": predicted})
        frame.write_csv(tmp_path / f"{name}.csv")
    return tmp_path


@pytest.mark.parametrize("cells", [(160, 18, 10, 12), (90, 5, 5, 0), (300, 40, 5, 55), (40, 2, 20, 8)])
@pytest.mark.parametrize("margin", [0.0, 0.02, 0.1])
def test_a_margin_is_judged_by_the_paired_interval(cells, margin):
    truth, new, old = judged(*cells)
    low, high = tango(cells[1], cells[2], sum(cells))
    ends = tango(cells[1], cells[2], sum(cells), level=0.9)
    text = f"accuracy >= baseline - {margin}"
    gate = check(truth, new, require=text, baseline=evaluate(truth, old))
    (found,) = gate
    row = found.row()
    assert [row["difference_low"], row["difference_high"]] == pytest.approx([low, high], abs=1e-6)
    # Each end of the interval of 90 % is a one-sided limit of 95 %.
    assert [row["pass_limit"], row["fail_limit"]] == pytest.approx(ends, abs=1e-6)
    assert found.outcome == ("passed" if ends[0] >= -margin else "failed" if ends[1] < -margin else "undecided")
    assert found.fails is (found.outcome != "passed")
    assert row["paired"] is True


def test_lower_is_better_where_the_requirement_says_so():
    truth, new, old = judged(160, 30, 2, 8)
    gate = check(truth, new, require=["error_rate < baseline", "accuracy > baseline"], baseline=evaluate(truth, old))
    assert [one.outcome for one in gate] == ["passed", "passed"]
    assert not check(truth, old, require="error_rate <= baseline", baseline=evaluate(truth, new)).passed


def test_files_are_matched_by_order_or_by_id(files):
    new, old = files / "new.csv", files / "old.csv"
    by_order = check(new, require="f1 >= baseline - 0.05", baseline=old)
    pl.read_csv(old).reverse().write_csv(files / "turned.csv")
    by_id = check(new, require="f1 >= baseline - 0.05", baseline=files / "turned.csv", id="case")
    rows = [gate.rows()[0] for gate in (by_order, by_id)]
    assert rows[0]["difference_low"] == pytest.approx(rows[1]["difference_low"], abs=1e-12)
    assert (by_order.baseline, by_id.baseline) == ("old.csv", "turned.csv")
    assert rows[0]["difference_low"] == compare(new, old, measures="f1").rows()[0]["low"]
    with pytest.raises(HeldoutError, match="truth") as raised:
        check(new, require="f1 >= baseline", baseline=files / "turned.csv")
    # The files are named, not the parts they play.
    assert "new.csv and turned.csv" in str(raised.value)


def test_a_baseline_of_other_cases_is_refused(files):
    pl.read_csv(files / "old.csv").head(100).write_csv(files / "fewer.csv")
    with pytest.raises(HeldoutError, match="100"):
        check(files / "new.csv", require="accuracy >= baseline", baseline=files / "fewer.csv")


def test_dropped_rows_need_ids(files):
    table = pl.read_csv(files / "old.csv", infer_schema=False)
    table.with_columns(pl.when(pl.col("case") == "3").then(None).otherwise("predicted").alias("predicted")).write_csv(
        files / "gaps.csv"
    )
    with pytest.raises(OptionError, match="matched with the baseline by their order"):
        check(files / "new.csv", require="accuracy >= baseline", baseline=files / "gaps.csv", missing="drop")


@pytest.mark.parametrize("packed", [False, True])
def test_the_document_of_an_evaluation_is_compared_as_other_cases(files, packed):
    old = files / ("old.json.gz" if packed else "old.json")
    text = evaluate(files / "old.csv").to_json()
    old.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    gate = check(files / "new.csv", require="accuracy >= baseline - 0.1", baseline=old)
    (row,) = gate.rows()
    low, high = confint_proportions_2indep(178, 200, 170, 200, method="newcomb", compare="diff")
    assert [row["difference_low"], row["difference_high"]] == pytest.approx([low, high], abs=1e-9)
    assert row["paired"] is False
    assert "as if it had been tested on other cases" in gate.baseline_how
    assert "they are the same cases" in gate.baseline_how
    assert "as if it had been tested on other cases" in str(gate).replace("\n ", "")


def test_limits_of_another_level_are_stretched(files):
    old, new = evaluate(files / "old.csv", level=0.8), evaluate(files / "new.csv")["accuracy"]
    gate = check(files / "new.csv", require="accuracy >= baseline", baseline=old.to_dict())
    (row,), theirs = gate.rows(), old["accuracy"]
    stretch = norm.ppf(0.975) / norm.ppf(0.9)
    below = math.hypot(new.value - new.low, (theirs.high - theirs.value) * stretch)
    above = math.hypot(new.high - new.value, (theirs.value - theirs.low) * stretch)
    seen = new.value - theirs.value
    assert [row["difference_low"], row["difference_high"]] == pytest.approx([seen - below, seen + above], abs=1e-9)


def test_a_document_keeps_classes_that_are_numbers(tmp_path):
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 200)
    seen = evaluate(truth, truth)
    (tmp_path / "b.json").write_text(seen.to_json(), encoding="utf-8")
    gate = check(
        truth, truth, require=["recall[1] >= baseline - 0.1", "macro f1 >= baseline"], baseline=tmp_path / "b.json"
    )
    assert [row["baseline"] for row in gate.rows()] == [1.0, 1.0]


def test_json_lines_named_json_are_predictions(files):
    pl.read_csv(files / "old.csv").write_ndjson(files / "old.json")
    gate = check(files / "new.csv", require="accuracy >= baseline - 0.1", baseline=files / "old.json")
    assert gate.rows()[0]["paired"] is True


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("{", "is not JSON"),
        ("[1, 2]", "not the document of an evaluation"),
        ('{"schema": "heldout/comparison@1"}', "heldout/comparison@1"),
        ('{"schema": "heldout/evaluation@1"}', "estimates are missing"),
        ('{"schema": "heldout/evaluation@1", "estimates": []}', "no estimate of accuracy"),
        ('{"schema": "heldout/evaluation@1", "estimates": [{"measure": "accuracy", "value": "x"}]}', "not a number"),
    ],
)
def test_other_documents_are_refused(files, text, what):
    (files / "old.json").write_text(text, encoding="utf-8")
    with pytest.raises(HeldoutError, match=what):
        check(files / "new.csv", require="accuracy >= baseline", baseline=files / "old.json")


def test_a_document_without_a_value_fails(files):
    row = {"measure": "accuracy", "class": None, "average": None, "value": None, "undefined": "there are no cases"}
    document = {"schema": "heldout/evaluation@1", "estimates": [row]}
    gate = check(files / "new.csv", require="accuracy >= baseline", baseline=json.loads(json.dumps(document)))
    assert gate.requirements[0].outcome == "failed"
    assert "there are no cases" in gate.requirements[0].why


def test_the_same_answers_are_said_to_be_the_same(files):
    gate = check(files / "new.csv", require="accuracy >= baseline", baseline=files / "new.csv", undecided="warn")
    assert gate.passed
    assert gate.requirements[0].outcome == "undecided"
    assert "both give the same answers" in gate.requirements[0].why


def test_a_baseline_and_a_requirement_need_each_other(files):
    with pytest.raises(OptionError, match="no requirement is about it"):
        check(files / "new.csv", require="accuracy >= 0.5", baseline=files / "old.csv")
    with pytest.raises(OptionError, match="between -1 and 1"):
        check(files / "new.csv", require="accuracy >= baseline - 2", baseline=files / "old.csv")
    with pytest.raises(OptionError, match="int cannot be a baseline"):
        check(files / "new.csv", require="accuracy >= baseline", baseline=3)
    with pytest.raises(OptionError, match="given as values"):
        check([0, 1], [0, 1], require="accuracy >= baseline", baseline=files / "old.csv")
    with pytest.raises(FileError, match="There is no file"):
        check(files / "new.csv", require="accuracy >= baseline", baseline=files / "olld.json")
