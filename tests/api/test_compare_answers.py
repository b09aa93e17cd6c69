"""What a comparison answers: signs, margins, identical classifiers, curves, and the document in every form."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import heldout
from heldout.api import compare as front
from heldout.errors import OptionError
from heldout.result import ROW_KEYS

# A comparison or ranks: which of the two comes is not for the type checker here.
compare: Any = front.compare
evaluate: Any = heldout.evaluate

N = 200
RNG = np.random.default_rng(8)
TRUTH = RNG.integers(0, 2, N)
COSTS = "1,0:5; 0,1:1"
SCORES = [1 / (1 + np.exp(-(2 * TRUTH - 1 + RNG.normal(0, spread, N)))) for spread in (0.8, 2.0)]
GOOD, POOR = (evaluate(TRUTH, score=score, measures=[], costs=COSTS) for score in SCORES)
FOLDS = np.arange(N) % 10
USUAL = ["accuracy", "f1[1]", "roc_auc[1]", "brier", "expected_cost"]
BOTH = compare({"good": GOOD, "poor": POOR})


def folded(place):
    return evaluate(TRUTH, score=SCORES[place], measures=[], costs=COSTS, fold=FOLDS)


def test_the_usual_measures_with_scores_and_costs():
    assert [pair.name for pair in BOTH] == USUAL
    assert BOTH.verdict == BOTH["accuracy"].verdict
    assert BOTH.p == BOTH["accuracy"].p
    # Whether a higher value is better depends on the measure.
    assert all(pair.better == "a" and pair.verdict.startswith("good is better than poor") for pair in BOTH)
    assert BOTH["brier"].tested.difference < 0 < BOTH["accuracy"].tested.difference


@pytest.mark.parametrize("paired", [None, False])
def test_swapped_they_differ_in_sign_alone(paired):
    there, back = compare(GOOD, POOR, paired=paired), compare(POOR, GOOD, paired=paired)
    for one, two in zip(there, back, strict=True):
        assert two.tested.difference == pytest.approx(-one.tested.difference, abs=1e-15)
        assert (two.value_a, two.value_b) == (one.value_b, one.value_a)
        if one.tested.method != "unpaired-dirichlet":
            # Two posteriors that are drawn by themselves are not drawn alike the other way round.
            assert (two.tested.low, two.tested.high) == pytest.approx((-one.tested.high, -one.tested.low), abs=1e-12)
            assert two.p == pytest.approx(one.p, abs=1e-12)
        assert {one.better, two.better} in ({"a", "b"}, {"undecided"})


@given(st.integers(0, 2**32))
def test_swapped_folds_differ_in_sign_alone(seed):
    rng = np.random.default_rng(seed)
    a, b = (evaluate(TRUTH, rng.integers(0, 2, N), fold=FOLDS, measures=[]) for _ in range(2))
    one, two = (compare(*sides, measures="accuracy")["accuracy"].tested for sides in ((a, b), (b, a)))
    assert (two.difference, two.low, two.high, two.p) == pytest.approx((-one.difference, -one.high, -one.low, one.p))


@pytest.mark.parametrize("measure", [*USUAL, "macro f1", "kappa", "matthews", "log_loss", "average_precision"])
@pytest.mark.parametrize("kind", ["same cases", "folds"])
def test_identical_answers_do_not_differ(measure, kind):
    side = GOOD if kind == "same cases" else folded(0)
    pair = compare(side, side, measures=measure, replicates=99)[measure]
    assert (pair.tested.difference, pair.p, pair.better) == (0, 1, "same")
    assert pair.value_a == pair.value_b
    assert not pair.tested.low > 0
    assert not pair.tested.high < 0
    assert pair.needed is None
    assert "difference of .000" in pair.verdict or "difference of 0" in pair.verdict


def test_identical_answers_on_different_test_sets():
    for pair in compare(GOOD, GOOD, paired=False):
        assert pair.tested.difference == 0
        assert pair.p > 0.9
        assert pair.tested.low < 0 < pair.tested.high


def test_perfect_answers_of_both_divide_by_nothing():
    sides = [evaluate(TRUTH, score=TRUTH * 0.8 + 0.1, measures=[]) for _ in range(2)]
    assert all(pair.tested.difference == 0 and pair.p == 1 for pair in compare(*sides))
    # Where the test sets differ, F1 is drawn from two posteriors.
    assert all(pair.tested.difference == 0 and pair.p > 0.9 for pair in compare(*sides, paired=False))


# Margins


def test_non_inferiority():
    shown = compare(GOOD, POOR, measures="accuracy", margin=0.02)["accuracy"].margin
    assert (shown.kind, shown.outcome, shown.level) == ("non-inferiority", "shown", pytest.approx(0.9))
    refuted = compare(POOR, GOOD, measures="accuracy", margin=0.02)["accuracy"].margin
    assert refuted.outcome == "refuted"
    lower = compare(GOOD, POOR, measures="brier", margin=0.02)["brier"].margin
    assert lower.outcome == "shown"


def test_equivalence():
    same = compare(GOOD, GOOD, measures="accuracy", margin=0.1, margin_kind="equivalence")["accuracy"].margin
    assert (same.kind, same.outcome) == ("equivalence", "shown")
    wide = compare(GOOD, POOR, measures="accuracy", margin=0.02, margin_kind="equivalence")["accuracy"].margin
    assert wide.outcome == "refuted"


def test_the_report_says_which_measure_a_margin_is_about():
    found = compare(GOOD, POOR, measures=["accuracy", "brier"], margin=0.02)
    text = " ".join(str(found).split())
    assert "Margin accuracy: A is not worse than B by more than .020" in text
    assert "Brier score: A is not worse than B by more than .020" in text
    row = found.rows()[0]
    assert (row["margin"], row["margin_kind"], row["margin_outcome"]) == (0.02, "non-inferiority", "shown")


@pytest.mark.parametrize(
    ("options", "what", "hint"),
    [
        ({"margin": -0.02}, "must be a positive number. Got -0.02", "write 0.02"),
        ({"margin": 0}, "must be a positive number", "0.02"),
        ({"margin_kind": "equivalence"}, "no margin for equivalence", "--margin"),
        ({"margin": 0.1, "margin_kind": "equivalent"}, "'equivalent'", "'equivalence'"),
    ],
)
def test_margins_that_are_none(options, what, hint):
    with pytest.raises(OptionError) as refused:
        compare(GOOD, POOR, measures="accuracy", **options)
    assert what in refused.value.what
    assert hint in refused.value.hint


# Costs


def test_costs_that_differ_are_told():
    other = evaluate(TRUTH, score=SCORES[1], measures=[], costs="1,0:2; 0,1:1")
    assert "the costs of A are used for all" in str(compare(GOOD, other, measures="expected_cost"))
    none = evaluate(TRUTH, score=SCORES[1], measures=[])
    assert "no costs are used for all" in str(compare(none, GOOD))


def test_costs_in_files(tmp_path):
    for name, score in zip(("a", "b"), SCORES, strict=True):
        rows = [f"{truth},{int(s >= 0.5)}" for truth, s in zip(TRUTH, score, strict=True)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["truth,predicted", *rows]), encoding="utf-8")
    found = compare(tmp_path / "a.csv", tmp_path / "b.csv", costs=COSTS)
    assert found["expected_cost"].value_a == pytest.approx(BOTH["expected_cost"].value_a)


def test_costs_do_not_fit_a_class_that_one_alone_predicts():
    truth = ["no", "yes"] * 20
    costly = {"costs": "yes,no:5; no,yes:1"}
    odd = evaluate(truth, ["maybe", "yes"] * 20, labels=["maybe", "no", "yes"], measures=[])
    with pytest.raises(OptionError, match="The costs are for 2 classes"):
        compare(evaluate(truth, truth, **costly), odd, measures="expected_cost")


# Methods, levels, seeds


@pytest.mark.parametrize("method", ["mcnemar-exact", "delong", "bootstrap", "permutation", "paired-hall"])
def test_a_method_is_used_where_it_fits(method):
    found = compare(GOOD, POOR, method=method, replicates=99)
    assert 1 <= len(found) <= len(USUAL)
    assert all(method in pair.tested.method for pair in found)
    assert method in found.reason


def test_levels_and_seeds():
    wide, narrow = (compare(GOOD, POOR, level=level) for level in (0.99, 0.8))
    for one, two in zip(wide, narrow, strict=True):
        assert one.tested.high - one.tested.low > two.tested.high - two.tested.low
    options = {"measure": "macro f1", "method": "bootstrap", "replicates": 199}
    same = [compare(GOOD, POOR, seed=seed, **options)["macro f1"].tested for seed in (1, 1, 2)]
    assert same[0] == same[1] != same[2]


@pytest.mark.parametrize(("asked", "drawn"), [(99, 99), (1500, 1500), (2000, 2000), (None, 999)])
def test_as_many_replicates_of_scores_as_were_asked_for_and_999_unless_asked(asked, drawn):
    found = compare(GOOD, POOR, measures="average_precision", method="permutation", replicates=asked)
    assert found.p == pytest.approx(1 / (drawn + 1))


# The answer


def test_pairs_by_name():
    assert BOTH["roc_auc"] is BOTH["roc_auc[1]"] is BOTH.get("good", "poor", "roc_auc")
    with pytest.raises(OptionError, match="There is no comparison by 'recall'"):
        BOTH["recall"]
    assert BOTH.get("poor", "good").tested.difference == -BOTH.get("good", "poor").tested.difference
    with pytest.raises(OptionError, match="no comparison of 'poor' with 'none'"):
        BOTH.get("poor", "none")
    three = compare(GOOD, POOR, GOOD, measures="accuracy")
    with pytest.raises(OptionError, match="3 pairs were compared by 'accuracy'"):
        three["accuracy"]
    assert repr(BOTH).startswith("<Comparison of good, poor on 200 cases")


def test_the_json_document():
    document = json.loads(BOTH.to_json())
    assert document == BOTH.to_dict()
    assert document["schema"] == "heldout/comparison@1"
    assert document["findings"] == []
    assert document["models"] == ["good", "poor"]
    wanted = {"measure", "a", "b", "difference", "low", "high", "level", "method", "statistic", "p", "n", "verdict"}
    for row, pair in zip(document["comparisons"], BOTH, strict=True):
        assert wanted <= set(row)
        assert (row["a"], row["b"], row["n"], row["verdict"]) == ("good", "poor", N, pair.verdict)
        assert row["difference"] == row["value"] == pair.tested.difference
        assert row["statistic"] == (None if math.isnan(pair.tested.statistic) else pair.tested.statistic)
        assert row["p"] == pair.tested.p


def test_rows_bind_with_those_of_other_results():
    assert tuple(BOTH.rows()[0])[: len(ROW_KEYS)] == ROW_KEYS
    import polars as pl

    evaluation = evaluate(TRUTH, score=SCORES[0], measures=["accuracy", "f1"])
    bound = pl.concat([BOTH.to_frame(), evaluation.to_frame()], how="diagonal")
    assert len(bound) == len(USUAL) + len(evaluation.rows())
    assert bound["p"].null_count() == len(evaluation.rows())


def test_every_form_renders(tmp_path):
    odd = compare({"größe_☃ & $x$": GOOD, "<b>|pipe|</b>": POOR, "C": GOOD})
    assert odd.to_markdown().count("\\|pipe\\|") >= 1
    assert "<b>|pipe" not in odd.to_html()
    assert "\\&" in odd.to_latex()
    assert "größe_☃" in str(odd)
    for ending in ("json", "md", "html", "tex", "txt", "csv"):
        assert odd.write(tmp_path / f"found.{ending}").stat().st_size > 100


def test_full_blocks_hold_every_test():
    from heldout.show.text import render_text

    text = render_text(BOTH.full_blocks())
    assert "The tests" in text
    # The p of a test is called uncorrected where another one, corrected for the number of pairs, stands above it.
    three = compare({"good": GOOD, "poor": POOR, "other": POOR})
    assert "p, not corrected" in render_text(three.full_blocks(), width=200)
    assert "p, not corrected" not in render_text(BOTH.full_blocks(), width=200)
    assert all(pair.verdict.split(":")[0] in " ".join(text.split()) for pair in BOTH)


# Curves


def test_roc_curves():
    found = BOTH.roc()
    assert "good" in str(found)
    areas = {row["measure"]: row for row in found.rows()}
    assert areas
    assert "ROC curve of poor against good" in str(BOTH.roc("poor", "good"))
    with pytest.raises(OptionError, match="There is no classifier 'bad'"):
        BOTH.roc("good", "bad")


def test_optimal_ranges_and_charts(tmp_path):
    ranges = BOTH.optimal_ranges(prevalence=0.1)
    assert "good" in str(ranges)
    assert "<svg" in BOTH.save(tmp_path / "two.svg").read_text(encoding="utf-8")
    three = compare({"good": GOOD, "poor": POOR, "again": GOOD}, measures="roc_auc")
    assert [test.method for test in three.omnibus] == ["delong"]
    assert "again" in three.save(tmp_path / "three.json").read_text(encoding="utf-8")


def test_without_scores_there_are_no_curves(tmp_path):
    found = compare(*(evaluate(TRUTH, (score >= 0.5).astype(int), measures=[]) for score in SCORES))
    for ask in (found.roc, found.optimal_ranges, lambda: found.write(tmp_path / "x.svg", "roc")):
        with pytest.raises(OptionError, match="no ROC curves"):
            ask()
