"""What the screen says where a number is missing, very sure, or below nothing."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import heldout
from heldout.evidence import Confusion
from heldout.report.evaluation import estimate_table
from heldout.report.interval_chart import track_floor
from heldout.show.blocks import Section, Span, Table


@pytest.fixture(scope="module")
def never_zero():
    return heldout.evaluate([0, 1, 0, 1, 1] * 8, [1] * 40)


def test_what_has_no_value_has_no_interval_anywhere(never_zero):
    empty = [row for row in json.loads(never_zero.to_json())["estimates"] if row["value"] is None]
    assert {"matthews", "precision", "negative_predictive_value"} <= {row["measure"] for row in empty}
    # A ratio without an upper end has a lower one all the same.
    bounded = [row for row in empty if "the ratio has no limit" not in row["undefined"]]
    assert all(row["low"] is None and row["high"] is None for row in bounded)
    (line,) = [line for line in str(never_zero).splitlines() if line.startswith("MCC")]
    assert line.split() == ["MCC", "–", "–"]


def test_a_ratio_without_an_upper_end_keeps_its_lower_limit():
    found = heldout.evaluate([0] * 20 + [1] * 20, [0] * 20 + [1] * 15 + [0] * 5)["positive_likelihood_ratio"]
    assert math.isnan(found.value)
    assert found.low > 1
    assert found.high == math.inf


def test_the_reason_names_the_class(never_zero):
    text = " ".join(str(never_zero).split())
    assert 'precision[0], because nothing was predicted "0".' in text
    several = heldout.evaluate(list("abcd") * 5, list("aabb") * 5)
    assert "precision[c], precision[d], because none of these classes was ever predicted." in " ".join(
        str(several).split()
    )


def test_the_track_reaches_below_zero_where_an_interval_does(never_zero):
    kappa = never_zero["kappa"]
    assert kappa.low < 0
    held = [never_zero["accuracy"], kappa]
    spans = [row[3] for row in estimate_table(never_zero, held, ["accuracy", "kappa"]).rows if isinstance(row[3], Span)]
    assert len(spans) == len(held)
    assert {span.floor for span in spans} == {track_floor(held)}
    assert track_floor(held) <= kappa.low
    assert track_floor([never_zero["accuracy"]]) == 0


def test_two_sentences_about_costs_are_two():
    seen = heldout.evaluate(["a", "b"] * 20, ["a"] * 40, costs={("b", "a"): 4, ("a", "b"): 1})
    assert 'It costs 2.00 a case. Always predicting "b" would cost 0.500.' in " ".join(str(seen).split())


def test_limits_that_round_alike_get_more_digits():
    many = heldout.evaluate(Confusion.of(np.array([[700_000, 100_000], [44_000, 156_000]]), ["no", "yes"]))
    recall = many["recall"]
    text = " ".join(str(many).split())
    digits = [f"{100 * end:.1f}" for end in (recall.value, recall.low, recall.high)]
    assert digits[1] != digits[2]
    assert f"is {digits[0]} % [{digits[1]}, {digits[2]}], and precision" in text
    few = heldout.evaluate(Confusion.of(np.array([[70, 10], [4, 16]]), ["no", "yes"]))
    assert " is 80 % [58, 92], and precision" in " ".join(str(few).split())


def test_a_title_does_not_repeat_a_label_of_any_length():
    name = "y" * 10_000
    seen = heldout.evaluate(["no", name] * 20, ["no", name] * 20, positive=name)
    for text in (seen.to_markdown(), seen.to_latex()):
        assert "y" * 100 not in text


def test_what_was_asked_for_by_name_says_why_it_has_no_value_or_no_interval():
    found = heldout.evaluate(
        [1, 1, 1, 1],
        score=[0.2, 0.7, 0.9, 0.4],
        labels=[0, 1],
        positive=1,
        measures=["specificity", "npv", "roc_auc", "partial_auc(low=0,high=0.2)", "maximum_calibration_error"],
    )
    said = " ".join(str(found).split())
    for estimate in found.estimates:
        assert said.count(estimate.name) == 1 or not math.isnan(estimate.low)
    assert "· Undefined: specificity[1], because there are no actual negatives." in said
    assert "· No interval: maximum_calibration_error, because the value is set by bins with few cases, and" in said


def test_of_many_classes_the_weakest_come_first_and_those_with_few_cases_last():
    k = 20
    matrix = np.diag([30] * k)
    matrix[7, 7], matrix[7, 8] = 3, 27
    matrix[4, 4], matrix[4, 5] = 20, 10
    # A miss in two cases says little of how weak a class is.
    matrix[11, 11], matrix[11, 12] = 0, 2
    evaluation = heldout.evaluate(matrix=matrix, labels=[f"class {at:02d}" for at in range(k)])
    lines = str(evaluation).splitlines()
    told = next(at for at, line in enumerate(lines) if line.startswith("The 15 weakest of 20 classes by recall"))
    assert "5 more, --full shows them" in " ".join(lines[told : told + 2])
    listed = [line.split("  ")[0] for line in lines if line.startswith("class ") and line[6].isdigit()]
    assert listed[:2] == ["class 07", "class 04"]
    assert "class 11" not in listed[:15]
    assert 'Weakest class of 10 cases or more: "class 07"' in " ".join(str(evaluation).split())
    section = next(s for s in evaluation.page_blocks() if isinstance(s, Section) and s.name == "classes")
    table = section.blocks[0]
    assert isinstance(table, Table)
    rows = [row[0] for row in table.rows]
    assert (rows[:2], rows[-1], len(rows)) == (["class 07", "class 04"], "class 11", 20)


@pytest.mark.parametrize(
    ("matrix", "said"),
    [
        # One in a hundred is positive: always "no" is right in 99 %.
        ([[9900, 0], [100, 0]], 'No: it predicts "no" for every case.'),
        ([[9801, 99], [99, 1]], "Cannot be told from these cases: balanced accuracy .500 ["),
        ([[9405, 495], [10, 90]], "Yes: balanced accuracy .925 ["),
        ([[5000, 4900], [95, 5]], "No, worse: balanced accuracy .278 ["),
    ],
)
def test_the_verdict_on_rare_positives_is_not_about_accuracy(matrix, said):
    verdict = heldout.evaluate(matrix=matrix, labels=["no", "yes"]).verdict
    assert verdict.startswith(f'Better than guessing, where 99.0 % are "no"? {said}'.replace("99.0", "99"))
    assert "accuracy .990" not in verdict


def test_the_verdict_on_rare_classes_goes_by_their_number():
    verdict = heldout.evaluate(matrix=[[900, 20, 20], [10, 18, 2], [10, 2, 18]]).verdict
    assert "Yes: balanced accuracy" in verdict
    assert "guessing .333" in verdict
    common = heldout.evaluate(matrix=[[70, 5], [5, 20]], labels=["no", "yes"]).verdict
    assert common.startswith('Better than always predicting "no" (accuracy .750)? Yes')
