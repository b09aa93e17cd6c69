"""Answers that were once wrong, each with the case that showed it."""

from __future__ import annotations

import inspect
import math

import numpy as np
import pandas as pd
import polars as pl
import pytest

import heldout
from heldout.errors import ColumnError, HeldoutError, MatrixError, OptionError


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_named_columns_of_scores_are_matched_by_name(library):
    truth = ["a", "b", "c", "a"]
    table = {"p_c": [0.1, 0.2, 0.8, 0.1], "p_a": [0.8, 0.1, 0.1, 0.7], "p_b": [0.1, 0.7, 0.1, 0.2]}
    assert heldout.evaluate(truth, score=library(table))["macro roc_auc"].value == 1
    with pytest.raises(ColumnError, match="do not match the classes"):
        heldout.evaluate(truth, score=library({"x": [0.1] * 4, "y": [0.2] * 4, "z": [0.7] * 4}))


def test_a_class_that_lives_in_one_group_is_not_known_for_certain():
    group = np.repeat(np.arange(10), 20)
    truth = np.where(group == 0, np.arange(200) < 14, 0).astype(int)
    predicted = np.where(np.arange(200) < 11, 1, 0)
    seen = heldout.evaluate(truth, predicted, group=group)
    assert (seen["recall"].low, seen["recall"].high) == (0, 1)
    assert 0 < seen["specificity"].low < seen["specificity"].high


@pytest.mark.parametrize("cases", [1, 20])
def test_one_class_leaves_no_certainty(cases):
    seen = heldout.evaluate(["a"] * cases, ["a"] * cases)
    for name in ("balanced_accuracy", "macro f1", "macro precision", "weighted f1", "weighted precision"):
        assert seen[name].value == 1
        assert seen[name].low <= 1 - 0.5 / (cases + 4)


def test_a_high_level_still_matters():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 10, 500)
    predicted = np.where(rng.random(500) < 0.8, truth, 0)
    seen = heldout.evaluate(truth, predicted, measures=["kappa"])
    widths = [seen.interval("kappa", level=level).width for level in (0.95, 0.999, 0.9999, 0.99999)]
    assert widths == sorted(set(widths))


def test_two_ways_to_the_same_quantity_give_one_interval():
    seen = heldout.evaluate(matrix=[[80, 20], [15, 85]], labels=["no", "yes"])
    assert (seen.get("matthews").low, seen.get("matthews").high) == pytest.approx(
        (seen.get("matthews", class_="yes").low, seen.get("matthews", class_="yes").high), abs=1e-12
    )


def test_class_zero_has_a_name_in_the_verdict():
    assert 'Weakest class: "0"' in str(heldout.evaluate([0, 0, 0, 1, 1, 2, 2], [1, 2, 0, 1, 1, 2, 2]))


def test_perfect_predictions_in_groups_cost_something_possibly():
    answers = ["yes", "no"] * 20
    seen = heldout.evaluate(
        answers, answers, group=np.repeat(range(10), 4), costs={("yes", "no"): 10, ("no", "yes"): 1}
    )
    assert seen["expected_cost"].low == 0
    assert 0 < seen["expected_cost"].high <= 10


def test_shares_are_not_counts():
    with pytest.raises(OptionError, match="shares and not counts"):
        heldout.evaluate(matrix=[[0.1, 0.4], [0.2, 0.3]])
    assert any("not whole" in note for note in heldout.evaluate(matrix=[[1, 2.5], [3, 4]]).notes)


def test_labels_of_two_kinds_do_not_merge():
    with pytest.raises(MatrixError, match="labels of text, the other numbers"):
        heldout.count([0, 1], [0, 1]) + heldout.count(["0", "1"], ["0", "1"])
    parts = [heldout.count([0, 1], [0, 1]), heldout.count([1, 1], [0, 1])]
    assert sum(parts[1:], start=parts[0]) == sum(parts)


def test_different_indexes_are_said():
    truth = pd.Series(["a", "b", "a"])
    seen = heldout.evaluate(truth, truth.set_axis([7, 8, 9]))
    assert any("indexes" in note for note in seen.notes)
    assert not heldout.evaluate(truth, truth.copy()).notes


def test_scores_that_are_not_used_are_named(tmp_path):
    path = tmp_path / "a.csv"
    pl.DataFrame({"truth": ["sick", "well"], "predicted": ["sick", "well"], "score": [0.9, 0.1]}).write_csv(path)
    assert any("score" in note and "--positive" in note for note in heldout.evaluate(path).notes)
    with pytest.raises(ColumnError, match="not known of which class that is the score"):
        heldout.choose_threshold(path, by="f1")
    with pytest.raises(ColumnError, match="usual name for the score"):
        heldout.evaluate(pl.DataFrame({"truth": [0, 1], "predicted": [0, 1]}), threshold=0.5)


def test_scores_that_are_no_probabilities_say_why_there_is_no_loss():
    seen = heldout.evaluate([0, 1, 1], score=[0.2, 1.2, 0.8], threshold=0.5)
    assert any("losses and calibration are left out" in note for note in seen.notes)


def test_a_table_of_costs_with_its_rows_named():
    seen = heldout.evaluate(["no", "yes", "yes"], ["yes", "no", "yes"], costs=[[0, 1], [10, 0]], cost_rows="truth")
    assert seen["total_cost"].value == 11


def test_curves_of_a_class_by_name():
    truth, table = ["a", "b", "c", "a"], np.array([[0.8, 0.1, 0.1], [0.1, 0.7, 0.2], [0.1, 0.1, 0.8], [0.7, 0.2, 0.1]])
    seen = heldout.evaluate(truth, score=table, level=0.8)
    assert seen.curve("roc[a]").area == 1
    band = seen.curve("roc", class_="a").band
    assert band is not None
    assert band.level == 0.8
    with pytest.raises(OptionError, match="none is positive"):
        seen.curve("roc")
    with pytest.raises(OptionError, match="There is no curve 'foo'"):
        seen.curve("foo[a]")


@pytest.mark.parametrize("text", ["gain_at(share=7)", "partial_auc(low=0.5, high=0.1)", "top_k_accuracy(k=2.5)"])
def test_parameters_must_make_sense(text):
    with pytest.raises(OptionError):
        heldout.evaluate([0, 1], score=[0.1, 0.9])[text]


def test_groups_are_not_ignored_by_methods_for_independent_rows():
    seen = heldout.evaluate([0, 1] * 10, score=np.linspace(0, 1, 20), group=np.repeat(range(5), 4))
    with pytest.raises(OptionError, match="come in groups"):
        seen.interval("roc_auc", method="stratified-bootstrap")
    assert "groups" in seen["roc_auc"].method


def test_options_that_would_be_ignored_are_refused():
    confusion = heldout.count([0, 1], [0, 1])
    for call in (
        lambda: heldout.evaluate(matrix=[[1, 2], [3, 4]], score=[1]),
        lambda: heldout.evaluate(confusion, weight=[1]),
        lambda: heldout.evaluate([0, 1], [0, 1], rows="bogus"),
        lambda: heldout.evaluate([0, 1], [0, 1], cost_rows="bogus"),
        lambda: heldout.evaluate([0, 1, 2], score=np.eye(3), threshold=0.5),
        lambda: heldout.evaluate([0, 1], [0, 1]).interval("accuracy", replicates=0),
        lambda: heldout.choose_threshold([0, 1], [0.1, 0.9], by="f1", seed=-1),
        lambda: heldout.choose_threshold([0, 1], [0.1, 0.9], by="f1", prevalence="x"),  # type: ignore[arg-type]
        lambda: heldout.evaluate([0, 1], [0, 1], measures=["matthews"], method="wilson"),
        lambda: heldout.evaluate([0, 1], [0, 1], measures=["accuracy"], method="delong"),
    ):
        with pytest.raises(HeldoutError) as caught:
            call()
        assert caught.value.hint, inspect.getsource(call)


def test_an_estimate_is_a_number_to_format():
    seen = heldout.evaluate([0, 1, 1], [0, 1, 0])
    assert f"{seen['accuracy']:.2f}" == "0.67"
    assert round(seen["accuracy"], 2) == 0.67
    assert len(repr(seen)) < 120
    assert not math.isnan(seen.value("accuracy"))


@pytest.mark.parametrize(
    ("matrix", "total", "sentence"),
    [
        ([[150, 40], [60, 250]], 3910, "(.800 against .380), but it costs more: 3,910 against 120.0."),
        ([[250, 45], [5, 200]], 4255, "(.900 against .590), but it costs more: 4,255 against -90.00."),
    ],
)
def test_the_report_says_when_the_more_accurate_answer_costs_more(matrix, total, sentence):
    costs = heldout.Costs.of([[-1, 100], [1, 0]], ["+", "-"], rows="truth")
    seen = heldout.evaluate(matrix=matrix, labels=["+", "-"], costs=costs)
    assert seen["total_cost"].value == total
    said = " ".join(str(seen).split())
    assert f'The classifier is more accurate than always predicting "+" {sentence}' in said
    assert "costs more" not in str(heldout.evaluate(matrix=matrix, labels=["+", "-"]))


def test_measures_of_ordered_classes_say_in_which_order_they_were_taken():
    truth = ["low", "mid", "high", "low", "mid", "high", "low", "high"]
    answer = ["low", "high", "high", "mid", "mid", "mid", "low", "low"]
    by_letters = heldout.evaluate(truth, answer)
    meant = heldout.evaluate(truth, answer, labels=["low", "mid", "high"])
    for name in ("linear_kappa", "quadratic_kappa"):
        assert by_letters[name].value < meant[name].value
        assert "classes in the order high, low, mid; another is given by labels= (--labels)" in by_letters[name].note
        assert "low, mid, high" in str(meant[name])
        assert by_letters[name].rows()[0]["note"]
    assert not by_letters["kappa"].note
    numbers = {"low": 1, "mid": 2, "high": 3}
    assert not heldout.evaluate([numbers[x] for x in truth], [numbers[x] for x in answer])["quadratic_kappa"].note
    asked = heldout.evaluate(truth, answer, measures=["quadratic_kappa"])
    other = heldout.evaluate(truth, truth[::-1])
    gate = heldout.check(by_letters, require="quadratic_kappa > 0.1")
    for shown in (asked, heldout.compare(by_letters, other, measure="quadratic_kappa"), gate):
        assert "lasses in the order high, low, mid" in " ".join(str(shown).split())
    rows = [[float(numbers[x]), number % 3] for number, x in enumerate(truth * 4)]
    found = heldout.validate("knn:1", rows, truth * 4, plan="4-fold", measures=["quadratic_kappa"])
    assert "classes in the order high, low, mid" in " ".join(str(found).split())
