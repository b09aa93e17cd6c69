"""Results of single splits become a t test that allows for shared cases, whatever wrote them; runs are no learners."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import heldout
from heldout.comparisons.comparison import PairwiseComparison
from heldout.comparisons.fold_tests import FoldValues, one_pass_t
from heldout.comparisons.learner_ranks import LearnerRanks
from heldout.comparisons.split_results import read_share, read_split_results
from heldout.errors import ColumnError, OptionError, ValuesError

# A comparison or ranks: which of the two comes is not for the type checker here.
compare: Any = heldout.compare

EXPERIMENT = Path(__file__).parent.parent / "oracles" / "data" / "weka" / "experiment"
RAW = EXPERIMENT / "split66x30_raw.csv"
WEKA = json.loads((EXPERIMENT / "weka_ttests.json").read_text(encoding="utf-8"))["split66x30"]
# Which of our measures stands in which of Weka's columns, and what makes a share of it.
COLUMNS = {
    "Percent_correct": ("accuracy", 100),
    "Area_under_ROC": ("roc_auc", 1),
    "Kappa_statistic": ("kappa", 1),
    "F_measure": ("f1", 1),
}

RNG = np.random.default_rng(3)
A, B = RNG.uniform(0.8, 0.9, 20).round(3), RNG.uniform(0.78, 0.88, 20).round(3)
RUN, FOLD = np.repeat([1, 2], 10), np.tile(np.arange(10), 2)
WIDE = pd.DataFrame({"run": RUN, "fold": FOLD, "A": A, "B": B})
LONG = pd.DataFrame(
    {
        "run": np.tile(RUN, 2),
        "fold": np.tile(FOLD, 2),
        "learner": np.repeat(["A", "B"], 20),
        "accuracy": np.concatenate([A, B]),
    }
)
EXPECTED = one_pass_t(FoldValues.of(A, B, folds=10, repeats=2))


@pytest.mark.parametrize(
    "row", WEKA, ids=lambda row: "-".join(row[k] for k in ("tester", "metric", "dataset", "a", "b"))
)
def test_a_file_of_wekas_experimenter_gives_wekas_p(row):
    measure, percent = COLUMNS[row["metric"]]
    method = "corrected-t" if row["tester"] == "PairedCorrectedTTester" else "paired-t"
    found = compare(RAW, data_set=row["dataset"], measures=measure, method=method, correction="none")
    pair = found.get(row["a"], row["b"], measure)
    assert pair.tested.p == pytest.approx(row["p_weka"], abs=1e-8)
    assert percent * pair.tested.difference == pytest.approx(row["diff_mean"], abs=1e-9)
    assert "Number_of_testing_instances" in found.reason


def test_several_data_sets_are_ranked_by_the_means_of_their_splits():
    found = compare(RAW)
    assert isinstance(found, LearnerRanks)
    with RAW.open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["Key_Dataset"] == "iris" and "J48" in row["Key_Scheme"]]
    mean = np.mean([float(row["Percent_correct"]) for row in rows]) / 100
    assert found.table.of("J48")[found.table.data_sets.index("iris")] == pytest.approx(mean, abs=1e-12)
    assert "30 splits of each data set" in str(found)
    with pytest.raises(OptionError, match="one data set"):
        compare(RAW, method="corrected-t")
    with pytest.raises(OptionError, match="did you mean 'iris'"):
        compare(RAW, data_set="irs")


@pytest.mark.parametrize("splits", [None, True])
@pytest.mark.parametrize(
    "form",
    [
        WIDE,
        LONG,
        WIDE.rename(columns={"run": "Repeat", "fold": "CV fold"}),
        WIDE.rename(columns={"run": "seed"}),
        WIDE.sample(frac=1, random_state=1),
        WIDE.set_index(["run", "fold"]),
        LONG.sample(frac=1, random_state=1),
        pl.from_pandas(WIDE),
        {name: list(WIDE[name]) for name in WIDE},
    ],
)
def test_every_form_of_a_table_of_splits_gives_the_same(form, splits):
    check_splits(compare(form, measures="accuracy", splits=splits), splits=splits)


@pytest.mark.parametrize("form", [WIDE, LONG])
def test_a_file_gives_the_same(form, tmp_path):
    form.to_csv(tmp_path / "splits.csv", index=False)
    check_splits(compare(tmp_path / "splits.csv", measures="accuracy"))
    # With the index of the frame, which is no learner either.
    form.to_csv(tmp_path / "splits.csv")
    check_splits(compare(tmp_path / "splits.csv", measures="accuracy"))


def check_splits(found, *, splits=False):
    """A and B over two times ten folds."""
    assert isinstance(found, PairwiseComparison)
    assert {*found.names} == {"A", "B"}
    pair = found.pairs[0]
    sign = 1 if pair.a == "A" else -1
    assert (sign * pair.tested.difference, pair.p) == pytest.approx((EXPECTED.difference, EXPECTED.p), rel=1e-12)
    assert pair.tested.n == 20
    assert "number of folds (10)" in found.reason
    assert splits or "splits of a data set" in str(found)


def test_runs_and_folds_are_never_ranked():
    five = WIDE.head(5)
    found = compare(five)
    assert found.names == ("A", "B")
    assert "higher is taken as better" in str(found)
    results = {"A": [0.9, 0.8, 0.7, 0.8], "B": [0.8, 0.7, 0.7, 0.9], "C": [0.6, 0.7, 0.8, 0.7]}
    for name in (
        "run",
        "split",
        "repeat",
        "seed",
        "iteration",
        "Key_Run",
        "run_id",
        "Runs",
        "random_state",
        "cv split",
    ):
        with pytest.raises(OptionError, match="test_share"):
            compare({name: [1, 2, 3, 4], **results})
    for name in ("fold", "Fold", "folds", "fold_idx", "outer fold", "Key_Fold"):
        assert compare({name: [1, 2, 3, 4], **results}).names == ("A", "B", "C"), name
    with pytest.raises(ColumnError, match="epoch is no learner"):
        compare({"epoch": [1, 2, 3, 4], **results})
    for name in ("id", "index", "dataset_id"):
        assert compare(pd.DataFrame({name: [31, 37, 44, 46], **results})).table.learners == ("A", "B", "C"), name


def test_a_learner_may_be_called_like_a_run():
    found = compare({"iteration": [0.91, 0.82, 0.73], "other": [0.8, 0.7, 0.6]}, splits=False)
    assert found.names == ("iteration", "other")
    assert found.met == "data sets"


def test_an_unknown_ratio_is_refused_with_the_option_to_use():
    table = WIDE.drop(columns=["fold"]).assign(run=range(20))
    with pytest.raises(OptionError, match="--test-share"):
        compare(table)
    found = compare(table, test_share="1/10", measures="accuracy")
    assert found.p == pytest.approx(EXPECTED.p, rel=1e-12)
    assert "was given" in found.reason
    # Runs with other folds are no whole cross-validations.
    with pytest.raises(OptionError, match="do not all have the same"):
        compare(WIDE.head(15))
    with pytest.raises(OptionError, match="between 0 and 1"):
        compare(table, test_share=10)
    with pytest.raises(OptionError, match="--splits"):
        compare({"A": [0.9, 0.8], "B": [0.8, 0.9]}, test_share=0.1)


def test_rows_are_splits_where_that_is_said():
    table = {"A": A.tolist(), "B": B.tolist()}
    assert compare(table, splits=False).met == "data sets"
    found = compare(table, splits=True, test_share=0.1)
    assert found.met == "same splits"
    assert found.p == pytest.approx(EXPECTED.p, rel=1e-12)
    assert compare(np.column_stack([A, B]), splits=True, test_share=0.1).p == found.p


def test_errors_are_better_when_lower_and_margins_are_judged():
    assert compare(WIDE.assign(B=B - 0.1), measures="accuracy").pairs[0].better == "a"
    assert compare(WIDE.assign(B=B - 0.1), measures="error_rate").pairs[0].better == "b"
    assert compare(LONG.rename(columns={"accuracy": "error"})).pairs[0].measure == "error_rate"
    assert compare(WIDE, measures="accuracy", margin=0.2).pairs[0].margin.outcome == "shown"
    percent = compare(WIDE.assign(A=100 * A, B=100 * B), measures="accuracy")
    assert percent.pairs[0].value_a == pytest.approx(A.mean())
    assert "per cent" in str(percent)


def test_what_cross_validate_gives_is_compared_by_its_splits():
    from sklearn.datasets import load_breast_cancer
    from sklearn.model_selection import RepeatedStratifiedKFold, ShuffleSplit, cross_validate
    from sklearn.naive_bayes import GaussianNB
    from sklearn.tree import DecisionTreeClassifier

    x, y = load_breast_cancer(return_X_y=True)
    models = {"bayes": GaussianNB(), "tree": DecisionTreeClassifier(random_state=0)}
    plan = RepeatedStratifiedKFold(n_splits=5, n_repeats=2, random_state=0)
    scored = {
        name: cross_validate(
            model, x, y, cv=plan, scoring=["accuracy", "neg_log_loss", "f1_macro"], return_indices=True
        )
        for name, model in models.items()
    }
    found = compare(scored)
    values = [scored[name]["test_accuracy"] for name in models]
    expected = one_pass_t(FoldValues.of(*values, folds=5, repeats=2))
    assert found["accuracy"].tested.p == pytest.approx(expected.p, rel=0.02), "folds of 569 cases differ by one"
    assert "2 × 5 folds" in found.setting
    assert found["log_loss"].value_a == pytest.approx(-scored["bayes"]["test_neg_log_loss"].mean())
    assert {pair.name for pair in found} == {"accuracy", "log_loss", "macro f1"}
    # Several as they are, with names beside them.
    again = compare(*scored.values(), names=["bayes", "tree"], measures="accuracy")
    assert again.p == found["accuracy"].p
    # One scorer has no name, and without the indices the ratio is not known.
    random = ShuffleSplit(6, test_size=0.25, random_state=1)
    single = {name: cross_validate(model, x, y, cv=random) for name, model in models.items()}
    with pytest.raises(OptionError, match="return_indices"):
        compare(single)
    assert compare(single, test_share=0.25, measures="accuracy").pairs[0].tested.n == 6
    another = RepeatedStratifiedKFold(n_splits=5, n_repeats=2, random_state=7)
    other = cross_validate(models["tree"], x, y, cv=another, scoring=["accuracy"], return_indices=True)
    with pytest.raises(ValuesError, match="not tested on the same splits"):
        compare({"bayes": {**scored["bayes"]}, "tree": {**scored["tree"], "indices": other["indices"]}})


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValuesError, match="several results in one split"):
        compare(pd.concat([WIDE, WIDE]))
    with pytest.raises(ValuesError, match="same splits"):
        compare(LONG.iloc[:-1])
    with pytest.raises(ColumnError, match="text in note"):
        compare(WIDE.assign(data="iris", note="x"))
    with pytest.raises(ValuesError, match="B holds numbers, but 'oops' in row 2"):
        compare({"fold": [1, 2, 3], "A": [0.9, 0.9, 0.8], "B": ["0.8", "oops", "0.7"]})
    with pytest.raises(ColumnError, match="text in truth, predicted") as refused:
        compare({"fold": [1, 2], "truth": ["x", "y"], "predicted": ["x", "x"]})
    assert "--predicted A" in str(refused.value)
    with pytest.raises(ColumnError, match="No column holds f1"):
        compare(LONG.assign(recall=0.5), measures="f1")
    with pytest.raises(OptionError, match="Only one learner"):
        compare(WIDE.drop(columns=["B"]))
    with pytest.raises(OptionError, match="here are predictions"):
        compare(heldout.evaluate([0, 1], [0, 1]), heldout.evaluate([0, 1], [1, 1]), splits=True)


def test_a_column_of_runs_with_a_gap_is_no_learner():
    with pytest.raises(ColumnError, match="run has no value in 1 row: 2"):
        compare({"run": [1.0, math.nan, 3.0], "A": [0.9, 0.8, 0.7], "B": [0.8, 0.7, 0.7]})


def test_names_of_learners_are_known_beside_one_column_of_numbers():
    found = compare(LONG.rename(columns={"learner": "clf"}))
    assert found["accuracy"].p == pytest.approx(EXPECTED.p, rel=1e-12)


def test_undefined_results_of_weka_are_left_out(tmp_path):
    text = "Key_Run,Key_Fold,Key_Scheme,Key_Scheme_options,Percent_correct,Area_under_ROC\n"
    for run in range(1, 5):
        for k, area in (("1", "0.9"), ("5", "?" if run == 2 else f"0.8{run}")):
            text += f"{run},1,weka.classifiers.lazy.IBk,'-K {k}',90.{run},{area}\n"
    (tmp_path / "weka.csv").write_text(text, encoding="utf-8")
    found = compare(tmp_path / "weka.csv", measures="roc_auc", test_share=1 / 3)
    assert found.pairs[0].tested.n == 3
    assert "left out" in str(found)
    assert all("-K" in name for name in found.names), "schemes that differ by their options are two"


def test_shares_and_shapes_are_read():
    assert read_share("1/3") == pytest.approx(1 / 3)
    assert read_split_results({"A": [1.0, 2.0], "B": [1.0, 2.0]}) is None
    assert read_split_results([[0.1, 0.2], [0.3, 0.4]]) is None
    found = read_split_results({"seed": [1, 2], "A": [0.9, 0.8], "B": [0.7, 0.6]})
    assert found is not None
    assert math.isnan(found[0].ratio)
