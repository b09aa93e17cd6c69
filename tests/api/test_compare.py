"""The front door to comparisons: every form of what is compared, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn import metrics
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB
from statsmodels.stats.multitest import multipletests

import heldout
from heldout.api import compare as front
from heldout.comparisons.learner_ranks import LearnerRanks
from heldout.errors import ColumnError, HeldoutError, OptionError, ValuesError

# A comparison or ranks, one learner or several: which of them comes is not for the type checker here.
compare: Any = front.compare
evaluate: Any = heldout.evaluate
validate: Any = heldout.validate

N = 200
RNG = np.random.default_rng(5)
TRUTH = RNG.integers(0, 2, N)
SCORES = {name: 1 / (1 + np.exp(-(2 * TRUTH - 1 + RNG.normal(0, spread, N)))) for name, spread in
          (("sharp", 0.8), ("plain", 1.5), ("blunt", 3.0))}  # fmt: skip
ANSWERS = {name: (score >= 0.5).astype(int) for name, score in SCORES.items()}
FRAME = pl.DataFrame({"truth": TRUTH, **ANSWERS, **{f"p_{name}": score for name, score in SCORES.items()}})
IDS = np.arange(N) + 100
X, Y = load_iris(return_X_y=True)
X2, Y2 = X[50:, :2], np.array(["no", "yes"])[Y[50:] - 1]
LEARNERS = validate(["naive-bayes", "knn:1", "tree"], X2, Y2, plan="10 x holdout 2/3", measures=[])


def judged(name, **options):
    return evaluate(TRUTH, ANSWERS[name], measures=[], **options)


def scored(name, **options):
    return evaluate(TRUTH, score=SCORES[name], measures=[], **options)


def alike(found, other):
    """Whether two comparisons say the same in all their numbers."""
    numbers = [
        [[value for value in row.values() if isinstance(value, float)] for row in one.rows()] for one in (found, other)
    ]
    return len(found) > 0 and all(
        ours == pytest.approx(theirs, rel=1e-12, nan_ok=True) for ours, theirs in zip(*numbers, strict=True)
    )


def frame_of(name):
    return pl.DataFrame({"truth": TRUTH, "predicted": ANSWERS[name]})


def files(folder, *names):
    for name in names:
        frame_of(name).write_csv(folder / f"{name}.csv")
    return [folder / f"{name}.csv" for name in names]


FORMS: dict[str, Any] = {
    "evaluations": lambda _: ((judged("sharp"), judged("blunt")), {}),
    "files": lambda folder: (files(folder, "sharp", "blunt"), {}),
    "text of paths": lambda folder: ([str(path) for path in files(folder, "sharp", "blunt")], {}),
    "one list of files": lambda folder: ([files(folder, "sharp", "blunt")], {}),
    "polars": lambda _: ((frame_of("sharp"), frame_of("blunt")), {}),
    "pandas": lambda _: ((frame_of("sharp").to_pandas(), frame_of("blunt").to_pandas()), {}),
    "an evaluation and a frame": lambda _: ((judged("sharp"), frame_of("blunt")), {}),
    "columns of one frame": lambda _: ((FRAME,), {"truth": "truth", "predicted": ["sharp", "blunt"]}),
    "a dictionary": lambda _: (({"sharp": judged("sharp"), "blunt": judged("blunt")},), {}),
    "a dictionary of frames": lambda _: (({"sharp": frame_of("sharp"), "blunt": frame_of("blunt")},), {}),
    "names": lambda _: ((judged("sharp"), judged("blunt")), {"names": ["sharp", "blunt"]}),
}
NAMED = {"columns of one frame", "a dictionary", "a dictionary of frames", "names"}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_predictions_gives_the_same(form, tmp_path):
    given, options = FORMS[form](tmp_path)
    found = compare(*given, **options)
    assert alike(found, compare(judged("sharp"), judged("blunt")))
    if form in NAMED:
        assert found.names == ("sharp", "blunt")
    elif form in ("files", "text of paths", "one list of files"):
        assert found.names == ("sharp.csv", "blunt.csv")
    elif form == "evaluations":
        assert found.names == ("A", "B")


def test_columns_of_scores_of_one_frame():
    found = compare(FRAME, truth="truth", score=["p_sharp", "p_blunt"], names=["S", "B"])
    assert found.names == ("S", "B")
    assert alike(found, compare(scored("sharp"), scored("blunt")))
    area = found["roc_auc"]
    assert area.value_a == pytest.approx(metrics.roc_auc_score(TRUTH, SCORES["sharp"]))
    assert area.tested.difference == pytest.approx(area.value_a - area.value_b)
    brier = found["brier"]
    assert brier.value_b == pytest.approx(metrics.brier_score_loss(TRUTH, SCORES["blunt"]))


def test_predictions_and_scores_of_one_frame_pair_up():
    columns = {"predicted": ["sharp", "blunt"], "score": ["p_sharp", "p_blunt"]}
    found = compare(FRAME, truth="truth", **columns)
    assert found.names == ("sharp", "blunt")
    assert {pair.name for pair in found} == {"accuracy", "f1[1]", "roc_auc[1]", "brier"}
    for wrong in ({"score": ["p_sharp"]}, {"score": "p_sharp"}):
        with pytest.raises(OptionError, match="do not pair up"):
            compare(FRAME, truth="truth", **(columns | wrong))


def test_scores_that_are_no_probabilities_need_no_threshold_for_their_ranking():
    frame = FRAME.with_columns(far=pl.col("p_sharp") * 40 - 3, near=pl.col("p_blunt") * 7 + 20)
    options = {"truth": "truth", "score": ["far", "near"]}
    found = compare(frame, measures="roc_auc", **options)
    assert alike(found, compare(scored("sharp"), scored("blunt"), measures="roc_auc"))
    with pytest.raises(OptionError, match="no natural threshold") as refused:
        compare(frame, **options)
    assert "measures='roc_auc'" in refused.value.hint


def test_ids_say_which_case_is_which():
    order = np.random.default_rng(3).permutation(N)
    one = evaluate(TRUTH, score=SCORES["sharp"], id=IDS, measures=[])
    turned = evaluate(
        TRUTH[order], score=SCORES["blunt"][order], id=[str(case) for case in IDS[order]], measures=[]
    )  # fmt: skip
    found = compare(one, turned)
    assert "matched by id" in found.setting
    assert alike(found, compare(scored("sharp"), scored("blunt")))


def test_labels_of_other_types_are_one_class():
    texts = evaluate(TRUTH.astype(str), score=SCORES["blunt"], measures=[])
    more = evaluate(TRUTH.astype(str), score=SCORES["plain"], measures=[])
    plain = compare(scored("sharp"), scored("blunt"), scored("plain"))
    for joined in (
        compare(scored("sharp"), texts, more),
        compare(scored("sharp"), scored("blunt"), more),
    ):
        assert alike(joined, plain)
        assert "labels of different types were joined" in str(joined)
    apart = compare(scored("sharp"), texts, paired=False)
    assert alike(apart, compare(scored("sharp"), scored("blunt"), paired=False))


def test_the_class_that_the_scores_are_not_of_is_ranked_the_other_way_round():
    found = compare(scored("sharp"), scored("blunt"), measures=["roc_auc[0]", "average_precision[0]"], replicates=99)
    for pair in found:
        assert pair.tested.difference == pytest.approx(pair.value_a - pair.value_b)
        assert pair.better == "a"
    assert found["roc_auc[0]"].value_a == pytest.approx(metrics.roc_auc_score(TRUTH, SCORES["sharp"]))
    apart = compare(scored("sharp"), scored("blunt"), measures="roc_auc[0]", paired=False)
    assert apart["roc_auc[0]"].tested.difference == pytest.approx(found["roc_auc[0]"].tested.difference)


def test_scores_of_different_classes_are_refused():
    with pytest.raises(OptionError, match="positive classes are not the same: A has 1, B has 0"):
        compare(scored("sharp"), evaluate(TRUTH, score=1 - SCORES["blunt"], positive=0, measures=[]))


THREE = np.array(list("uvw"))[RNG.integers(0, 3, N)]
PULLED = {name: RNG.dirichlet([1, 1, 1], N) + pull * (THREE[:, None] == np.array(list("uvw"))) for name, pull in
          (("good", 0.8), ("poor", 0.2))}  # fmt: skip
SHARES = {name: values / values.sum(axis=1, keepdims=True) for name, values in PULLED.items()}


@pytest.mark.parametrize("measure", ["brier", "log_loss", "roc_auc[u]", "macro f1", "recall[w]"])
def test_classes_in_another_order_and_classes_more_change_nothing(measure):
    good = evaluate(THREE, score=SHARES["good"], measures=[])
    poor = evaluate(THREE, score=SHARES["poor"], measures=[])
    turned = evaluate(THREE, score=SHARES["poor"][:, ::-1], labels=list("wvu"), measures=[])
    wider = evaluate(THREE, score=np.c_[SHARES["poor"], np.zeros(N)], labels=list("uvwx"), measures=[])
    wanted = compare(good, poor, measures=measure)[measure]
    assert wanted.tested.difference == pytest.approx(wanted.value_a - wanted.value_b)
    for other in (turned, wider):
        found = compare(good, other, measures=measure)[measure]
        assert (found.value_b, found.tested.difference) == pytest.approx((wanted.value_b, wanted.tested.difference))


def test_a_class_that_one_alone_predicts():
    truth = ["a", "b"] * 30
    odd = ["c", "b", "a", "b"] * 15
    found = compare(evaluate(truth, truth), evaluate(truth, odd), measures=["accuracy", "macro f1", "precision[c]"])
    for name in ("accuracy", "macro f1"):
        pair = found[name]
        assert pair.tested.difference == pytest.approx(pair.value_a - pair.value_b)
    assert math.isnan(found["precision[c]"].tested.difference)
    assert "cannot be compared by precision (c)" in str(found)


# Different test sets


def test_different_test_sets():
    first, rest = TRUTH[:120], TRUTH[120:]
    one, two = evaluate(first, ANSWERS["sharp"][:120]), evaluate(rest, ANSWERS["blunt"][120:])
    with pytest.raises(ValuesError, match="A has 120, B has 80 cases"):
        compare(one, two)
    found = compare(one, two, paired=False)
    assert found.setting == "different test sets of 120, 80 cases"
    assert found["accuracy"].tested.n == N
    assert found["accuracy"].tested.method == "unpaired-newcombe"


def test_matrices_are_taken_for_different_test_sets_and_it_is_said():
    one, two = evaluate(matrix=[[40, 10], [5, 45]]), evaluate(matrix=[[30, 20], [5, 45]])
    found = compare(one, two)
    assert "only counts are known of A, B" in " ".join(found.notes)
    assert alike(found, compare(one.confusion, two.confusion))
    with pytest.raises(OptionError, match="Only counts are known of A, B, so cases cannot be matched"):
        compare(one, two, paired=True)


def test_costs_follow_their_classes_on_different_test_sets():
    cells = np.array([[40, 10], [5, 45]])
    one = evaluate(matrix=cells, labels=["no", "yes"], costs="yes,no:9; no,yes:1")
    two = evaluate(matrix=cells[::-1, ::-1], labels=["yes", "no"], costs="yes,no:9; no,yes:1")
    pair = compare(one, two, measures="expected_cost")["expected_cost"]
    assert pair.value_a == pair.value_b == pytest.approx((9 * 5 + 10) / 100)
    assert pair.tested.difference == pytest.approx(0)


# Several


def test_more_than_two_are_corrected_by_holm():
    found = compare({name: judged(name) for name in ANSWERS}, measures=["accuracy", "macro f1"])
    assert len(found) == 6
    assert found.correction == "holm"
    for measure in ("accuracy", "macro f1"):
        pairs = [pair for pair in found if pair.name == measure]
        raw = [pair.tested.p for pair in pairs]
        assert [pair.p for pair in pairs] == pytest.approx(multipletests(raw, method="holm")[1])
    assert [row["p_adjusted"] for row in found.rows()] == [pair.p for pair in found]
    assert "3 classifiers make 3 comparisons; p-values are corrected by holm." in str(found)
    assert [test.method for test in found.omnibus] == ["cochran"]
    assert "cochran" in str(found)


@pytest.mark.parametrize(("name", "theirs"), [("bonferroni", "bonferroni"), ("hommel", "hommel"), ("BH", None)])
def test_other_corrections_by_name(name, theirs):
    held = {name: judged(name) for name in ANSWERS}
    if theirs is None:
        with pytest.raises(OptionError, match="There is no correction 'BH'"):
            compare(held, correction=name)
        return
    found = compare(held, measures="accuracy", correction=name)
    assert [pair.p for pair in found] == pytest.approx(
        multipletests([pair.tested.p for pair in found], method=theirs)[1]
    )


def test_no_correction_is_said_aloud():
    found = compare({name: judged(name) for name in ANSWERS}, measures="accuracy", correction="none")
    assert found.correction == ""
    assert found.to_dict()["correction"] is None
    assert [pair.p for pair in found] == [pair.tested.p for pair in found]
    assert "NOT corrected" in str(found)


def test_a_slip_in_the_correction_is_refused_for_two_as_well():
    with pytest.raises(OptionError) as refused:
        compare(judged("sharp"), judged("blunt"), correction="hollm")
    assert "'holm'" in refused.value.hint


def test_all_against_a_control():
    found = compare({name: judged(name) for name in ANSWERS}, measures="accuracy", control="plain")
    assert [(pair.a, pair.b) for pair in found] == [("sharp", "plain"), ("blunt", "plain")]
    assert [pair.p for pair in found] == pytest.approx(
        multipletests([pair.tested.p for pair in found], method="holm")[1]
    )
    with pytest.raises(OptionError, match="There are: sharp, plain, blunt") as refused:
        compare({name: judged(name) for name in ANSWERS}, control="plan")
    assert "'plain'" in refused.value.hint


def test_pairs_that_cannot_be_tested_are_left_out_of_the_correction_and_it_is_said():
    truth = ["no"] * 30 + ["yes"] * 30
    never = evaluate(truth, ["no"] * 60, measures=[])
    some = evaluate(truth, ["no"] * 40 + ["yes"] * 20, measures=[])
    found = compare(never, some, evaluate(truth, ["no", "yes"] * 30, measures=[]), measures="precision[yes]")
    undefined = [pair for pair in found if math.isnan(pair.p)]
    assert len(undefined) == 2
    assert "2 of 3 comparisons have no p-value" in str(found)
    assert found.get("B", "C").p == found.get("B", "C").tested.p


# Folds and splits


FOLDS = np.arange(N) % 12


def test_a_column_of_folds_is_compared_fold_by_fold():
    found = compare(judged("sharp", fold=FOLDS), judged("blunt", fold=FOLDS), measures="accuracy")
    pair = found["accuracy"]
    right = [np.array([(ANSWERS[name] == TRUTH)[k == FOLDS].mean() for k in range(12)]) for name in ("sharp", "blunt")]
    gap = right[0] - right[1]
    assert pair.tested.method == "corrected-t"
    assert pair.tested.n == 12
    assert pair.tested.difference == pytest.approx(gap.mean())
    assert pair.tested.statistic == pytest.approx(gap.mean() / (gap.std(ddof=1) * math.sqrt(1 / 12 + 1 / 11)))
    assert "12 splits" in found.setting


def test_folds_are_matched_by_their_names_and_not_by_their_order():
    # Among texts "10" comes before "2".
    order = np.random.default_rng(4).permutation(N)
    texts = evaluate(
        TRUTH[order], ANSWERS["blunt"][order], fold=[str(k) for k in FOLDS[order]], id=IDS[order], measures=[]
    )  # fmt: skip
    found = compare(judged("sharp", fold=FOLDS, id=IDS), texts)
    assert alike(found, compare(judged("sharp", fold=FOLDS), judged("blunt", fold=FOLDS)))


def test_folds_that_differ_are_refused_and_counted():
    other = FOLDS.copy()
    other[:3] = (other[:3] + 1) % 12
    with pytest.raises(ValuesError, match="do not agree on the fold of 3 of 200 cases"):
        compare(judged("sharp", fold=FOLDS), judged("blunt", fold=other))
    half = compare(judged("sharp", fold=FOLDS), judged("blunt"))
    assert "the folds of A are not used" in str(half)


def test_one_fold_is_no_plan():
    one = np.zeros(N, dtype=int)
    found = compare(judged("sharp", fold=one), judged("blunt", fold=one))
    assert alike(found, compare(judged("sharp"), judged("blunt")))
    with pytest.raises(OptionError, match="'corrected-t' is for same splits"):
        compare(judged("sharp", fold=one), judged("blunt", fold=one), method="corrected-t")


def test_cases_that_were_predicted_in_every_repetition():
    fold, twice = np.r_[FOLDS, FOLDS + 12], np.r_[IDS, IDS]
    sides = [
        evaluate(np.r_[TRUTH, TRUTH], np.r_[ANSWERS[one], ANSWERS[two]], fold=fold, id=twice, measures=[])
        for one, two in (("sharp", "plain"), ("blunt", "blunt"))
    ]
    pair = compare(*sides, measures="accuracy", method="corrected-repeated-t")["accuracy"]
    assert (pair.tested.n, pair.tested.df) == (24, 23)


def test_validations_by_the_same_splits():
    found = compare(LEARNERS, measures="accuracy")
    assert found.names == ("naive-bayes", "knn:1", "tree")
    assert len(found) == 3
    gap = LEARNERS["naive-bayes"].evaluation.per_fold("accuracy") - LEARNERS["knn:1"].evaluation.per_fold("accuracy")
    pair = found.get("naive-bayes", "knn:1")
    assert pair.tested.difference == pytest.approx(gap.mean())
    assert pair.needed is None
    two = compare(LEARNERS["naive-bayes"], LEARNERS["knn:1"], measures="accuracy")
    assert two["accuracy"].tested == pair.tested
    assert compare({"x": LEARNERS["tree"], "y": LEARNERS["knn:1"]}).names == ("x", "y")


def test_validations_by_other_splits_are_refused_with_their_fingerprints():
    other = validate("tree", X2, Y2, plan="5-fold", measures=[])
    mine = LEARNERS["knn:1"]
    with pytest.raises(ValuesError, match="not validated by the same splits") as refused:
        compare(mine, other)
    assert mine.fingerprint in refused.value.what
    assert other.fingerprint in refused.value.what
    with pytest.raises(OptionError, match="cannot be compared with predictions"):
        compare(mine, judged("sharp"))
    with pytest.raises(OptionError, match="compared by their splits"):
        compare(LEARNERS, paired=False)


class Brittle(GaussianNB):  # type: ignore[misc]
    """Fails where it is trained without the smallest value of all."""

    def fit(self, X, y):
        if X.min() > X2.min():
            raise RuntimeError("no luck")
        return super().fit(X, y)


def test_splits_that_failed_for_one_only_are_refused():
    whole, part = (
        validate(learner, X2, Y2, plan="5-fold", on_error="record", measures=[])
        for learner in (GaussianNB(), Brittle())
    )
    assert 1 <= len(part.run.finished) < 5
    with pytest.raises(ValuesError, match=f"all of them finished {len(part.run.finished)}"):
        compare(whole, part)
    same = compare(part, part)
    assert f"{len(part.run.finished)} of 5 splits were finished by all" in str(same)


def test_a_single_holdout_is_compared_case_by_case():
    held = validate(["naive-bayes", "knn:1"], X2, Y2, plan="holdout 0.5", measures=[])
    assert compare(held, measures="accuracy")["accuracy"].tested.method == "mcnemar"


def test_a_rope_is_for_the_bayesian_comparison_of_splits():
    found = compare(
        LEARNERS["knn:1"], LEARNERS["naive-bayes"], measures="accuracy", method="bayes-correlated-t", rope=0.01
    )
    pair = found["accuracy"]
    assert sum(pair.tested.odds) == pytest.approx(1)
    assert math.isnan(pair.p)
    with pytest.raises(OptionError, match="knows no region"):
        compare(LEARNERS["knn:1"], LEARNERS["tree"], rope=0.01)
    with pytest.raises(OptionError, match="A rope is for the Bayesian comparison"):
        compare(judged("sharp"), judged("blunt"), rope=0.01)


def test_the_winner_of_a_bayesian_comparison_stands_first_with_its_own_probability():
    sides = [judged(name, fold=FOLDS) for name in ("blunt", "sharp")]
    pair = compare(*sides, measures="accuracy", method="bayes-correlated-t")["accuracy"]
    assert pair.better == "b"
    assert pair.tested.b_higher > 0.95
    assert pair.verdict.startswith("B is better than A")
    assert f"{pair.tested.b_higher:.3f} that it is positive" in pair.verdict


# Tables of results


def test_a_table_of_results_is_ranked():
    table = {"tree": [0.7, 0.8, 0.6, 0.9], "bayes": [0.8, 0.9, 0.7, 0.8], "knn": [0.6, 0.7, 0.5, 0.7]}
    for given in (table, pl.DataFrame(table), pd.DataFrame(table)):
        found = compare(given, splits=False)
        assert isinstance(found, LearnerRanks)
        assert found.average_ranks == {"tree": 1.75, "bayes": 1.25, "knn": 3.0}
    assert compare(table, splits=False, measures="error_rate").average_ranks["knn"] == 1.0
    assert compare(table, splits=False, measures=["error_rate"]).average_ranks["knn"] == 1.0
    assert compare(table, splits=False, measures="recall[spam]").average_ranks["knn"] == 3.0


@pytest.mark.parametrize(
    ("table", "options", "text"),
    [
        ({"tree": [0.7, math.nan], "bayes": [0.8, 0.9]}, {"splits": False}, "tree on data set 2"),
        ({"tree": [0.7], "bayes": [0.8]}, {"splits": False}, "at least 2 data sets. Got 1"),
        ({"tree": [0.7, 0.8]}, {"splits": False}, "at least 2 learners. Got 1"),
        ({"tree": [0.7, 0.8], "bayes": [0.8, 0.9]}, {"margin": 0.1, "id": "x"}, "no meaning: margin, id"),
        ({"tree": [0.7, 0.8], "bayes": [0.8, 0.9]}, {"splits": False, "control": "tre"}, "'tre'"),
        ({"tree": [0.7, 0.8], "bayes": [0.8, 0.9]}, {"splits": False, "measure": ["f1", "recall"]}, "by one measure"),
        (FRAME, {"truth": "truth"}, "predictions of cases and no results"),
    ],
)
def test_tables_that_cannot_be_ranked(table, options, text):
    with pytest.raises(HeldoutError) as refused:
        compare(table, **options)
    assert text in refused.value.what


def test_a_file_of_predictions_alone_is_no_table(tmp_path):
    path = tmp_path / "one.csv"
    pl.DataFrame({"truth": ["no", "yes"], "predicted": ["no", "no"]}).write_csv(path)
    with pytest.raises(ColumnError) as refused:
        compare(path)
    assert "--predicted A --predicted B" in refused.value.hint


@pytest.mark.parametrize(
    ("given", "options", "text"),
    [
        ((), {}, "nothing to compare"),
        ((judged("sharp"),), {}, "Only one classifier was given: A."),
        ((judged("sharp"), 7), {}, "A int cannot be compared"),
        ((judged("sharp"), judged("blunt")), {"names": ["x"]}, "There are 2 classifiers"),
        ((judged("sharp"), judged("blunt")), {"costs": "1,0:5", "id": "x"}, "none to read: id, costs"),
        ((judged("sharp"), judged("blunt")), {"measure": "roc_auc"}, "a measure of scores, which A, B have not"),
        ((judged("sharp"), judged("blunt")), {"measure": "expected_cost"}, "needs costs"),
        ((judged("sharp"), judged("blunt")), {"measure": "acuracy"}, "acuracy"),
        ((judged("sharp"), judged("blunt")), {"method": "mcnemer"}, "There is no method 'mcnemer'"),
        ((judged("sharp"), judged("blunt")), {"method": "paired-t"}, "'paired-t' is for same splits"),
        ((judged("sharp"), judged("blunt")), {"measure": "f1", "method": "mcnemar"}, "shares of the same cases"),
        ((judged("sharp"), judged("blunt")), {"level": 95}, "between 0 and 1"),
        ((FRAME,), {"truth": "truth", "predicted": ["sharp"]}, "One predicted column was named"),
        ((FRAME,), {"truth": "truth", "predicted": ["sharp", "sharp"]}, "A column is named twice: sharp"),
        ((FRAME,), {"truth": "truth", "predicted": ["sharp", "blum"]}, "blum"),
        ((judged("sharp"), judged("blunt", group=FOLDS)), {}, "come in groups"),
    ],
)  # fmt: skip
def test_what_cannot_be_compared_is_refused(given, options, text):
    with pytest.raises(HeldoutError) as refused:
        compare(*given, **options)
    assert text in refused.value.what
    assert refused.value.hint
