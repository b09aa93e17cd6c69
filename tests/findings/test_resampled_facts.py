"""The numbers in findings about folds, validations, learning curves and comparisons are those that others compute."""

from __future__ import annotations

import dataclasses
import datetime as dt
import math
from collections import Counter

import numpy as np
import polars as pl
import pytest
from scipy import stats
from sklearn.metrics import f1_score
from sklearn.model_selection import TimeSeriesSplit
from sklearn.naive_bayes import GaussianNB
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.proportion import proportion_confint, proportions_ztest
from tests.findings.resampled_cases import (
    CASES,
    RARE,
    by_blocks,
    cases,
    coarse,
    compare,
    curve,
    doubled,
    frozen,
    grouped_folds,
    lecture,
    one_case,
    table,
    three,
    twenty_cases,
    validate,
    validated,
    visits,
    with_rare,
    wrong_in,
)

import heldout
from heldout.comparisons.pair_test import PROCEDURES


def fired(code: str) -> dict:
    found = CASES[code].fires().review[code]
    assert found.outcome == "fired"
    return dict(found.facts)


def answers(seen):
    """Fold, truth and answer of every prediction."""
    held = seen.prediction_rows()
    return tuple(np.array([row[name] for row in held]) for name in ("fold", "truth", "predicted"))


# Validations


def test_the_error_on_training_cases():
    features, truth = cases()
    found = validated(plan="resubstitution").review["H030"]
    assert found.facts["error"] == pytest.approx(1 - GaussianNB().fit(features, truth).score(features, truth))
    assert found.facts["cases"] == 120
    # The nearest neighbour is never wrong there.
    assert fired("H030")["error"] == 0


def test_a_model_that_was_trained_before_answers_the_same_everywhere():
    features, truth = cases(1200, 1.0)
    model, facts = GaussianNB().fit(features, truth), fired("H031")
    rows = frozen().run.training_rows
    wrong = (model.predict(features) != truth)[rows]
    assert facts["training_error"] == facts["test_error"] == pytest.approx(wrong.mean())
    assert (facts["differ"], facts["answers"]) == (0, len(rows))
    n = len(set(rows.tolist()))
    assert facts["chance"] == pytest.approx(stats.binom.pmf(round(n * wrong.mean()), n, wrong.mean()), rel=0.01)


@pytest.mark.parametrize("plan", ["5-fold", "2x5-fold"])
def test_a_model_that_is_trained_anew_answers_some_cases_otherwise(plan):
    seen = validated(plan=plan, n=1200, apart=1.0)
    said: dict[int, set[int]] = {}
    for row, answer in zip(seen.run.rows.tolist(), seen.run.predicted.tolist(), strict=True):
        said.setdefault(row, set()).add(answer)
    held = list(zip(seen.run.training_rows.tolist(), seen.run.training_predicted.tolist(), strict=True))
    found = seen.review["H031"]
    assert found.outcome == "passed"
    assert found.facts["differ"] == sum(said[row] != {answer} for row, answer in held) > 0
    # It is not for want of errors.
    assert found.facts["chance"] < 0.05


def test_a_model_without_errors_is_not_said_to_be_trained_before():
    found = validated("knn:5", apart=30.0).review["H031"]
    assert found.outcome == "passed"
    assert found.facts["training_error"] == found.facts["test_error"] == found.facts["differ"] == 0
    assert validated(plan="holdout 2/3").review["H031"].title == "no case was both trained on and tested"


@pytest.mark.parametrize("plan", ["5-fold", "2x5-fold", "holdout 2/3", "bootstrap 4", "time-ordered 3", "loo"])
def test_copies_are_counted_one_by_one(plan):
    seen = coarse(plan)
    rows = list(zip(seen.problem.features[:, 0].tolist(), seen.problem.truth.tolist(), strict=True))
    copied = set()
    for train, test in seen.run.splits:
        trained = {rows[at] for at in train}
        copied |= {at for at in test.tolist() if rows[at] in trained}
    facts = seen.review["H032"].facts
    assert facts["copies"] == len(copied)
    assert facts["tested"] == len(set(seen.run.splits.test_rows.tolist()))
    # With one feature of three values all rows have copies, and that is chance.
    assert seen.review["H032"].outcome == "passed"
    assert facts["expected"] == pytest.approx(len(copied), rel=0.02)


def test_copies_of_whole_rows_are_found_and_not_expected():
    seen = doubled()
    facts = fired("H032")
    fold, _, _ = answers(seen)
    rows = np.array([row["row"] for row in seen.prediction_rows()])
    of_row = np.empty(120, dtype=int)
    of_row[rows] = fold
    # Rows 60 on are the rows up to 60 once more: those that another fold tests have a copy in training.
    assert facts["copies"] == 2 * int((of_row[:60] != of_row[60:]).sum())
    assert facts["expected"] < 3
    assert doubled().review["H032"].title.startswith(f"{facts['copies']} of 120 test cases have a copy")


def test_rows_that_all_stand_many_times_are_found_though_half_of_them_would_have_a_copy_by_chance():
    features, truth = cases(20)
    seen = validate("knn:1", np.tile(features, (6, 1)), np.tile(truth, 6), plan="5-fold")
    answer = seen.review["H032"]
    assert answer.outcome == "fired"
    assert (answer.facts["copies"], answer.facts["tested"]) == (120, 120)
    assert 12 < answer.facts["expected"] < 100


def test_rows_that_differ_in_the_class_alone_are_no_copies():
    features, truth = cases(60)
    seen = validate("knn:1", np.tile(features, (2, 1)), np.concatenate([truth, 1 - truth]), plan="5-fold")
    assert seen.review["H032"].facts["copies"] == 0


def test_the_sizes_of_folds():
    assert fired("H033") == {"folds": 10, "smallest": 12, "largest": 12, "limit": 30}
    fold = np.repeat([1, 2, 3], [40, 29, 31])
    seen = heldout.evaluate(np.arange(100) % 2, np.arange(100) % 2, fold=fold, weight=np.full(100, 5.0))
    assert (seen.review["H033"].facts["smallest"], seen.review["H033"].facts["largest"]) == (29, 40)
    assert validated(plan="holdout 2/3").review["H033"].title == "The test part has 40 cases."


def test_f_over_folds_is_that_of_scikit_learn_averaged_and_at_once():
    facts = fired("H034")
    fold, truth, answer = answers(validated(method="corrected-t"))
    single = [f1_score(truth[fold == k], answer[fold == k]) for k in np.unique(fold)]
    assert facts["measure"] == "f1[1]"
    assert facts["mean"] == pytest.approx(np.mean(single))
    assert facts["pooled"] == pytest.approx(f1_score(truth, answer))
    assert {"macro f1", "f1[0]"} <= set(facts["measures"])


def test_the_standard_error_over_folds_is_too_small_by_what_they_share():
    # Nadeau & Bengio: s² (1/10 + 1/9) in the place of s²/10.
    assert fired("H035")["times"] == pytest.approx(math.sqrt((1 / 10 + 1 / 9) / (1 / 10)))
    seen = validated(plan="10-fold", method="naive-t")
    naive, corrected = (seen.interval("accuracy", method=name) for name in ("naive-t", "corrected-t"))
    assert corrected.width / naive.width == pytest.approx(fired("H035")["times"])


def test_folds_without_two_classes_rank_nothing():
    facts = fired("H036")
    assert (facts["folds"], facts["folds_with_several_classes"]) == (120, 0)
    assert math.isnan(validated(plan="loo")["roc_auc"].value)
    # Folds of several cases of one class are no better.
    truth = np.repeat([0, 1], 20)
    seen = heldout.evaluate(truth, score=np.linspace(0, 1, 40), fold=np.arange(40) // 10, positive=1)
    assert seen.review["H036"].title == "There is no ROC area: each of the 4 folds holds one class only."


def test_the_folds_that_lack_the_rarest_class():
    seen = with_rare("10-fold unstratified")
    fold, truth, _ = answers(seen)
    lacking = sum("rare" not in truth[fold == k] for k in range(1, 11))
    assert Counter(RARE.tolist())["rare"] == 4
    assert fired("H037") == {"class": "rare", "cases": 4, "folds": 10, "folds_without": lacking}
    assert lacking >= 6
    again = with_rare("2x10-fold unstratified").review["H037"].facts
    assert (again["cases"], again["folds"]) == (4, 10)


def test_the_shares_of_classes_in_test_parts():
    seen = by_blocks()
    fold, truth, _ = answers(seen)
    shares = [float((truth[fold == k] == 0).mean()) for k in range(1, 5)]
    assert shares == [1, 1, 0, 0]
    facts = fired("H038")
    assert (facts["class"], facts["share"], facts["share_of_all"]) == ("0", 1.0, 0.5)
    assert (facts["splits_far_off"], facts["splits"]) == (4, 4)
    # Among 12 cases one more or less of a class is rounding.
    held = validated(plan="10-fold").review["H038"].facts
    assert (held["share"], held["splits_far_off"]) == (0.5, 0)


def test_the_gap_is_the_test_error_less_the_training_error():
    seen = validated("knn:1", apart=0.0)
    _, truth, answer = answers(seen)
    facts = fired("H039")
    assert facts["gap"] == pytest.approx((truth != answer).mean())
    error = seen["error_rate"]
    # The nearest neighbour makes no error among its n training cases (Wilson), and the variances add up (MOVER).
    worst = proportion_confint(0, 120, method="wilson")[1]
    assert facts["low"] == pytest.approx(error.value - math.hypot(error.value - error.low, worst))


def test_the_splits_that_failed():
    assert fired("H040") == {
        "splits": 3, "finished": 2, "failed": 1, "where": "fold 3", "message": "ValueError: the first row is missing"
    }  # fmt: skip
    seen = CASES["H040"].fires()
    tests = [set(test.tolist()) for _, test in seen.run.splits]
    assert [0 in test for test in tests] == [False, False, True]


def test_the_groups_that_splits_tear_apart():
    seen = visits()
    group = np.repeat(np.arange(30), 4)
    torn = sum(bool(set(group[train]) & set(group[test])) for train, test in seen.run.splits)
    facts = fired("H041")
    assert (facts["groups"], facts["rows"], facts["torn"], facts["splits"]) == (30, 120, torn, 5)
    assert torn == 5
    # Where every row has a number of its own it names no groups.
    features, truth = cases()
    table = {"patient": np.arange(120), "a": features[:, 0], "class": truth}
    alone = validate("naive-bayes", table, target="class", plan="5-fold")
    assert alone.review["H041"].outcome == "passed"


def test_the_column_of_time():
    facts = fired("H042")
    assert (facts["column"], facts["out_of_time"], facts["splits"]) == ("year", 5, 5)
    features, truth = cases()
    shuffled = np.random.default_rng(0).permutation(120)
    table = {"year": shuffled, "a": features[:, 0], "class": truth}
    # A year that does not run on from row to row may be anything.
    assert validate("naive-bayes", table, target="class").review["H042"].outcome == "not applicable"


def test_dates_are_time_as_text_and_where_they_were_left_out(tmp_path):
    features, truth = cases(40)
    days = [dt.date(2024, 1, 1 + at // 2) for at in range(40)]
    frame = pl.DataFrame({"when": days, "a": features[:, 0], "class": truth})
    frame.write_csv(tmp_path / "days.csv")
    frame.write_parquet(tmp_path / "days.parquet")
    frame.with_columns(pl.col("when").dt.strftime("%d.%m.%Y 08:00")).write_csv(tmp_path / "times.csv")
    for name in ("days.csv", "times.csv", "days.parquet"):
        seen = validate("naive-bayes", tmp_path / name, target="class", plan="4-fold")
        assert seen.problem.names == ("a",)
        assert seen.review["H042"].facts["column"] == "when"
        forward = validate("naive-bayes", tmp_path / name, target="class", plan=TimeSeriesSplit(3))
        assert forward.review["H042"].outcome == "passed"


def test_the_size_of_a_holdout():
    assert fired("H043") == {"tested": 40, "cases": 120, "limit": 1000}


# Learning curves


def test_the_error_at_twice_the_size_is_that_of_the_law():
    facts, seen = fired("H045"), CASES["H045"].fires()
    law = seen.law

    def at(size):
        return law.floor.value + law.scale.value * size**-law.exponent.value

    assert facts["rows"] == 400
    assert (facts["error"], facts["error_at_twice"]) == pytest.approx((at(400), at(800)))
    assert facts["drop"] == pytest.approx(at(400) - at(800))
    # More than the limit of a point, and the slope is beyond doubt below 0.
    assert facts["drop"] > 0.01
    assert facts["low"] < facts["per_doubling"] < facts["high"] < 0


def test_the_errors_at_the_largest_size():
    facts, seen = fired("H046"), curve("knn:1", apart=0.5)
    assert facts["training_error"] == 0
    assert facts["test_error"] == pytest.approx(seen.test[:, -1].mean())
    assert (facts["size"], facts["test_low"]) == (seen.sizes[-1], seen.low[-1])
    assert facts["test_low"] > 0.1


def test_the_number_of_draws():
    assert fired("H047") == {"draws": 3}


# Comparisons


def test_a_difference_of_one_case():
    facts = fired("H050")
    assert abs(facts["difference"]) == pytest.approx(1 / 200)
    assert facts["n"] == 200
    assert twenty_cases().review["H050"].facts["cases"] == pytest.approx(20)
    same = compare(wrong_in(0), wrong_in(0)).review["H050"]
    assert (same.outcome, same.facts["cases"]) == ("passed", 0)


def test_the_chance_of_a_false_alarm():
    expected = {"pairs": 3, "tests": 3, "correction": "", "false_alarm": pytest.approx(1 - 0.95**3)}
    assert fired("H051") == expected
    assert three().review["H051"].facts["correction"] == "holm"


def test_what_was_measured_of_a_method_that_was_named():
    facts = fired("H052")
    assert facts == {"method": "paired-t", "finding": PROCEDURES["paired-t"].finding.rstrip(".")}


def test_the_models_of_the_lecture():
    facts = fired("H053")
    assert (facts["more_accurate"], facts["cost"], facts["accuracy"]) == ("M2", 4255, 0.9)
    assert (facts["cheaper"], facts["cost_of_cheaper"], facts["accuracy_of_cheaper"]) == ("M1", 3910, 0.8)
    found = lecture().review["H053"]
    assert found.title == "M2 is more accurate than M1 (.900 against .800), but it costs more: 4,255 against 3,910."
    # On test sets of their own 4,255 and 3,910 are not beyond doubt.
    assert lecture()["expected_cost"].better == "undecided"
    assert "M1 costs 345 less on these cases, but the two cannot be told apart by cost" in found.advice


def test_an_undecided_difference_and_the_cases_that_it_takes():
    seen = one_case()
    facts = fired("H054")
    assert [pair["measure"] for pair in facts["pairs"]] == ["accuracy", "f1[1]"]
    first = facts["pairs"][0]
    assert first["low"] < 0 < first["high"]
    assert first["difference"] == pytest.approx(1 / 200)
    # The interval holds no difference at all, which no number of cases shows.
    assert first["needed_high"] is None
    error = (first["high"] - first["low"]) / (2 * stats.norm.ppf(0.975))
    least = 200 * ((stats.norm.ppf(0.975) + stats.norm.ppf(0.8)) * error / first["high"]) ** 2
    assert max(least, 200) <= first["needed_low"] <= 1.1 * max(least, 200)
    needed = seen["accuracy"].needed
    assert needed is not None
    assert needed.describe() in seen.review["H054"].advice


def test_a_margin_that_is_not_shown():
    seen = compare(wrong_in(*range(20)), wrong_in(*range(20, 30)), measures="accuracy", margin=0.02)
    found = seen.review["H054"]
    assert found.outcome == "fired"
    assert found.title.startswith("Non-inferiority of A and B by accuracy is not shown")
    assert found.facts["low"] < -0.02 < found.facts["high"]
    shown = compare(wrong_in(*range(20)), wrong_in(*range(20, 30)), measures="accuracy", margin=0.5)
    assert shown.review["H054"].outcome == "passed"


def test_the_cases_that_tell_two_apart():
    assert fired("H055") == {"a": "A", "b": "B", "cases": 1, "only_a": 1, "only_b": 0, "limit": 10}
    seen = twenty_cases()
    facts = seen.review["H055"].facts
    # A is wrong in five cases, B in 25 others.
    assert (facts["only_a"], facts["only_b"], facts["cases"]) == (25, 5, 30)
    exact = mcnemar([[0, 25], [5, 0]], exact=True).pvalue
    assert seen["accuracy"].p < 2 * exact


def test_a_difference_that_is_sure_and_small():
    facts = fired("H056")
    pair = facts["pairs"][0]
    assert pair["difference"] == pytest.approx(60 / 20_000)
    assert 0 < pair["low"] < pair["high"] < facts["matters"] == 0.01
    # What was said to matter beforehand counts, where it was.
    seen = compare(
        wrong_in(*range(20), n=20_000), wrong_in(*range(100, 180), n=20_000), measures="accuracy", margin=0.002
    )
    assert seen.review["H056"].outcome == "passed"


def test_test_sets_with_other_shares_of_the_classes():
    facts = fired("H057")
    assert {facts["share_a"], facts["share_b"]} == {310 / 500, 205 / 500}
    assert proportions_ztest([310, 205], [500, 500])[1] < 0.001
    # Eight points between test sets of 50 cases are chance.
    small = lecture(None, M1=[[15, 4], [6, 25]], M2=[[18, 5], [2, 25]]).review["H057"]
    assert proportions_ztest([19, 23], [50, 50])[1] > 0.05
    assert small.outcome == "passed"


def test_one_class_of_five_may_differ_where_all_are_looked_at():
    labels = list("abcde")
    sides = {
        name: heldout.evaluate(matrix=np.diag(sizes), rows="truth", labels=labels)
        for name, sizes in (("M1", [80, 60, 30, 20, 10]), ("M2", [59, 68, 36, 24, 13]))
    }
    # By itself the share of a is beyond chance, for five looks it is not.
    assert 0.01 < proportions_ztest([80, 59], [200, 200])[1] < 0.05
    assert compare(sides).review["H057"].outcome == "passed"


def test_measures_that_name_different_winners():
    assert fired("H058") == {"a": "A", "b": "B", "a_better_by": ["recall[1]"], "b_better_by": ["specificity[1]"]}


def test_the_least_p_over_data_sets():
    facts = fired("H059")
    assert facts["least_p"] == pytest.approx(stats.wilcoxon(np.arange(1.0, 6.0)).pvalue)
    assert table(8).review["H059"].facts["least_p"] == pytest.approx(stats.wilcoxon(np.arange(1.0, 9.0)).pvalue)
    # At a lower level five are enough.
    assert table(5, level=0.9).review["H059"].outcome == "passed"


def test_the_number_of_splits():
    assert fired("H060") == {"splits": 5, "limit": 10}


@pytest.mark.parametrize(("cases", "apart", "outcome"), [(80, 3.5, "fired"), (80, 1.0, "passed"), (400, 3.5, "passed")])
def test_areas_near_one_on_few_cases(cases, apart, outcome):
    truth = np.arange(cases) % 2
    rng = np.random.default_rng(5)
    sides = [
        heldout.evaluate(truth, score=rng.normal(size=cases) + apart * truth, positive=1, threshold=1.0, measures=[])
        for _ in range(2)
    ]
    found = compare(*sides, measures="roc_auc").review["H074"]
    assert (found.outcome, found.facts["cases"]) == (outcome, cases / 2)


def test_every_measure_of_a_pair_is_a_test_too():
    sides = {"a": wrong_in(*range(5)), "b": wrong_in(*range(10, 35)), "c": wrong_in(*range(50, 90))}
    facts = compare(sides, measures=["accuracy", "macro f1"], correction="none").review["H051"].facts
    assert (facts["pairs"], facts["tests"]) == (3, 6)
    assert facts["false_alarm"] == pytest.approx(1 - 0.95**6)


def test_the_least_p_over_data_sets_is_that_after_the_correction():
    values = np.random.default_rng(0).uniform(0.6, 0.8, 6)
    columns = {name: values + step * (0.02 + 0.001 * np.arange(6)) for step, name in enumerate("xyz")}
    seen = compare(columns, splits=False, method="wilcoxon")
    # Six data sets alone allow p = 1/32, but three pairs multiply it.
    assert seen.review["H059"].outcome == "fired"
    assert seen.review["H059"].facts["least_p"] == pytest.approx(3 / 32)
    assert min(pair.p for pair in seen.pairs) == pytest.approx(3 / 32)
    assert compare(columns, splits=False, method="wilcoxon", correction="none").review["H059"].outcome == "passed"


def test_dates_that_were_left_out_are_known_by_name_and_not_by_a_sentence():
    days = [dt.date(2024, 1, 1) + dt.timedelta(days=day) for day in range(60)]
    features, truth = cases(60)
    frame = pl.DataFrame({"when": days, "x": features[:, 0], "y": truth})
    seen = heldout.validate("naive-bayes", frame, target="y", plan="3-fold")
    assert isinstance(seen, heldout.Validation)
    assert seen.problem.times_left_out == ("when",)
    unsaid = dataclasses.replace(seen, problem=dataclasses.replace(seen.problem, notes=()))
    assert unsaid.review["H042"].facts["column"] == "when"


def test_predictions_of_one_case_are_not_taken_for_several_cases():
    rng = np.random.default_rng(0)
    features = np.repeat(rng.normal(size=(150, 3)), 4, axis=1)
    truth = (features[:, 0] + rng.normal(size=150) * 1.2 > 0).astype(int)
    often = validate("naive-bayes", features, truth, plan="5 x 3-fold").evaluation
    found = often.review["H012"].facts
    low, high = proportion_confint(found["n"] / 5 * found["observed"], found["n"] / 5, method="wilson")
    assert (found["observed_low"], found["observed_high"]) == pytest.approx((low, high))
    near = validate("knn:3", features, truth, plan="5 x 3-fold").evaluation.review["H022"]
    assert f"For {near.facts['cases']} predictions (" in near.title
    for kind in ("roc", "precision_recall", "reliability", "calibration", "recall"):
        curve = often.curve(kind)
        assert curve.band is None
        assert np.isnan(curve.low).all()
        assert any("150 cases were predicted 750 times" in note for note in curve.notes)


def test_groups_that_may_have_been_predicted_twice_are_asked_for_an_id():
    seen = grouped_folds(twice=True).review["H075"]
    assert (seen.outcome, seen.severity) == ("fired", "know")
    assert "--id" in seen.advice
    assert grouped_folds(twice=True, id=np.tile(np.arange(240), 2)).review["H075"].outcome == "passed"
