"""What people tried on `validate` and stumbled over."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris, load_wine
from sklearn.metrics import roc_auc_score

import heldout
from heldout.errors import HeldoutError, OptionError

X, Y = load_iris(return_X_y=True)
HELDOUT = Path(sys.executable).with_name("heldout")


def validate(*given, **options) -> Any:
    return heldout.validate(*given, **options)


def names(codes):
    return np.array(["x", "y", "z"])[codes]


def test_the_order_in_which_labels_are_shown_moves_no_row():
    one = validate("tree", X, names(Y), labels=["x", "y", "z"])
    two = validate("tree", X, names(Y), labels=["z", "x", "y"])
    assert one.run.splits.fingerprint == two.run.splits.fingerprint
    assert one["accuracy"].value == two["accuracy"].value


def test_validations_of_other_data_are_never_paired():
    rng = np.random.default_rng(0)
    held = [
        validate("naive-bayes", rng.normal(size=(60, 2)), rng.permutation(np.repeat([0, 1], 30)), plan="loo")
        for _ in range(2)
    ]
    assert held[0].run.splits.fingerprint == held[1].run.splits.fingerprint
    assert held[0].fingerprint != held[1].fingerprint
    with pytest.raises(HeldoutError, match="not validated by the same splits"):
        heldout.compare(*held)


def test_the_interval_of_an_averaged_area_does_not_hang_on_the_spread_of_a_few_folds():
    wide = []
    for seed in range(6):
        found = validate("naive-bayes", X[:, :2], Y, plan="2-fold", seed=seed)["macro roc_auc"]
        wide.append(found.width)
        assert found.method == "delong-logit over folds"
        assert found.low <= found.value <= found.high
    assert max(wide) < 1.6 * min(wide)


def test_for_two_classes_the_average_area_has_about_the_interval_of_the_one_class():
    X2, y2 = X[50:, :2], names(Y[50:])
    average = validate("naive-bayes", X2, y2)["macro roc_auc"]
    one = validate("naive-bayes", X2, y2, positive="y")["roc_auc"]
    assert average.value == pytest.approx(one.value, abs=1e-12)
    assert average.width == pytest.approx(one.width, rel=0.35)


def test_the_mean_area_over_folds_is_that_of_sklearn():
    found = validate("naive-bayes", *load_wine(return_X_y=True), plan="5-fold")
    run, problem = found.run, found.problem
    by_fold = [
        roc_auc_score(problem.truth[run.rows[run.fold == fold]], run.scores[run.fold == fold], multi_class="ovr")
        for fold in run.finished
    ]
    assert found["macro roc_auc"].value == pytest.approx(np.mean(by_fold), abs=1e-12)


def test_a_measure_of_one_class_without_a_class_is_refused():
    with pytest.raises(OptionError, match="none was named"):
        _ = validate("naive-bayes", X, Y, measures=["roc_auc"])["roc_auc"]


def test_a_mean_over_few_of_the_folds_is_not_shown():
    kappa = validate("knn:1", X, Y, plan="loo")["kappa"]
    assert kappa.folds < 75
    assert np.isnan(kappa.other)
    assert np.isnan(kappa.spread)


def test_the_finding_of_the_naive_t_stands_in_every_report():
    text = "\n".join(str(block) for block in validate("knn:5", X, Y, method="naive-t").chosen_blocks())
    assert "H035" in text
    assert "as a standard error" in text
    # Where findings are not shown, it stands by itself.
    seen = heldout.evaluate(Y, Y, fold=np.arange(len(Y)) % 5, method="naive-t", measures=["accuracy"])
    assert "takes the folds as independent" in "\n".join(str(block) for block in seen.chosen_blocks())


def test_numbers_whose_squares_overflow_take_the_plain_way():
    huge = X.copy()
    huge[0, 0], huge[1, 1] = 1e300, -1e308
    found = validate("knn:3", huge, Y, plan="3-fold", measures=["accuracy"], on_error="record")
    assert found.run.shortcut == ""


class Leaves(ClassifierMixin, BaseEstimator):  # type: ignore[misc, unused-ignore]
    """Calls sys.exit in the middle of a fit."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        if X[0, 0] == X[:, 0].min() or len(y) < 130:
            sys.exit(3)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


def test_a_learner_that_leaves_is_a_failed_fold():
    with pytest.raises(HeldoutError, match=r"sys\.exit\(3\)"):
        validate(Leaves(), X, Y, plan="3-fold")


@pytest.mark.parametrize("plan", ["100000000x10-fold", "1000000000 x holdout 2/3", "bootstrap 99999999"])
def test_plans_that_would_never_end_are_refused(plan):
    with pytest.raises(OptionError, match="at most 1,000,000"):
        validate("majority", X, Y, plan=plan)


def test_a_large_seed_is_no_large_plan():
    assert heldout.plans.kfold(3, seed=2**40).seed == 2**40


def test_a_grid_that_is_no_mapping_is_refused():
    with pytest.raises(OptionError, match="must name each setting"):
        validate("knn:3", X, Y, grid=[{"n_neighbors": [1]}])


def test_the_target_is_no_column_of_folds(tmp_path):
    file = tmp_path / "d.csv"
    file.write_text("a,target\n" + "".join(f"{i},{'xy'[i % 2]}\n" for i in range(40)), encoding="utf-8")
    with pytest.raises(OptionError, match="is the target"):
        validate("tree", file, target="target", fold="target")


def test_what_a_learner_prints_does_not_stand_in_the_answer(tmp_path):
    (tmp_path / "mine.py").write_text(
        "from sklearn.tree import DecisionTreeClassifier\n"
        "class Prints(DecisionTreeClassifier):\n"
        "    def fit(self, X, y):\n        print('noise!')\n        return super().fit(X, y)\n",
        encoding="utf-8",
    )
    rows = "".join(f"{i},{i % 7},{'xy'[i % 2]}\n" for i in range(40))
    (tmp_path / "d.csv").write_text(f"a,b,target\n{rows}", encoding="utf-8")
    call = [str(HELDOUT), "validate", "d.csv", "--learner", "mine:Prints()", "--plan", "3-fold", "--json", "-"]
    done = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert done.stdout.startswith("{")
    assert "noise!" in done.stderr


def test_one_or_two_draws_tell_nothing_of_more_data():
    curve = heldout.learning_curve("tree", X, Y, draws=1, points=3)
    assert "cannot be told" in curve.verdict
