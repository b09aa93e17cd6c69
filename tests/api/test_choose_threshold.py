"""The front door to decisions: the forms in which costs are given, and what is refused before anything is read."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

import heldout
from heldout.errors import MatrixError, OptionError

TRUTH = ["no", "no", "no", "no", "yes", "yes", "yes", "no"]
SCORE = [0.1, 0.2, 0.3, 0.6, 0.4, 0.7, 0.9, 0.35]
# Rows are the truth: a missed yes costs 10, a false alarm 1.
TABLE = [[0, 1], [10, 0]]
NAMED = {("yes", "no"): 10, ("no", "yes"): 1}


@pytest.mark.parametrize(
    ("table", "rows"),
    [
        (TABLE, "truth"),
        ([[0, 10], [1, 0]], "predicted"),
        ({"no": {"no": 0, "yes": 10}, "yes": {"no": 1, "yes": 0}}, ""),
    ],
    ids=["truth", "predicted", "a frame"],
)
def test_the_rows_of_a_table_of_costs_can_be_named(table, rows):
    if not rows:
        table, rows = pd.DataFrame(table), "truth"
    chosen = heldout.choose_threshold(TRUTH, SCORE, costs=table, cost_rows=rows)
    assert chosen == heldout.choose_threshold(TRUTH, SCORE, costs=NAMED)
    assert 'a missed "yes" costs 10, a false alarm 1' in chosen.rule  # type: ignore[attr-defined]


def test_the_rows_of_a_table_are_named_for_counts_and_several_classes_too():
    counts = heldout.count(TRUTH, score=SCORE, threshold=0.5)
    chosen = heldout.choose_threshold(counts, costs=TABLE, cost_rows="truth")
    assert chosen == heldout.choose_threshold(counts, costs=NAMED)
    truth, p = [0, 1, 2, 1], [[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.3, 0.3, 0.4], [0.5, 0.4, 0.1]]
    table = [[0, 1, 2], [3, 0, 4], [5, 6, 0]]
    turned = [list(column) for column in zip(*table, strict=True)]
    by_truth = heldout.choose_threshold(truth, p, costs=table, cost_rows="truth")
    assert by_truth == heldout.choose_threshold(truth, p, costs=turned, cost_rows="predicted")
    assert by_truth == heldout.choose_threshold(truth, p, costs=heldout.Costs.of(table, [0, 1, 2], rows="truth"))


def test_a_bare_table_is_told_how_to_name_its_rows():
    with pytest.raises(MatrixError, match="say it with cost_rows='truth'"):
        heldout.choose_threshold(TRUTH, SCORE, costs=TABLE)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"costs": TABLE, "cost_rows": "columns"}, "cost_rows must be 'truth' or 'predicted'"),
        ({"costs": NAMED, "cost_rows": "columns"}, "cost_rows must be 'truth' or 'predicted'"),
        ({"by": "f1", "prevalence": 2}, "The prevalence must lie between 0 and 1"),
        ({"by": "f1", "prevalence": "x"}, "The prevalence must lie between 0 and 1"),
        ({"by": "f1", "level": 95}, "0.95"),
        ({"by": "f1", "replicates": 0}, "replicates must be a whole number from 1 up"),
    ],
)
def test_arguments_are_refused_before_anything_is_read(options: dict[str, Any], says):
    with pytest.raises(OptionError, match=says):
        heldout.choose_threshold("no-such-file.csv", "score", **options)
