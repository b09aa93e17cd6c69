"""Short names of learners: what each builds, and what is refused."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import load_iris

from heldout.errors import OptionError
from heldout.learners.learner import read_learner
from heldout.learners.registry import SHORTCUTS

# What scikit-learn itself shows of an estimator: its class and what is not a default.
BUILT = {
    "knn": "KNeighborsClassifier()",
    "knn:5": "KNeighborsClassifier()",
    "knn:1": "KNeighborsClassifier(n_neighbors=1)",
    "naive-bayes": "GaussianNB()",
    "weka-naive-bayes": "WekaNaiveBayes()",
    "tree": "DecisionTreeClassifier(random_state=7)",
    "tree:3": "DecisionTreeClassifier(max_depth=3, random_state=7)",
    "forest": "RandomForestClassifier(random_state=7)",
    "forest:500": "RandomForestClassifier(n_estimators=500, random_state=7)",
    "logistic": "LogisticRegression(max_iter=1000)",
    "svm": "SVC()",
    "linear-svm": "LinearSVC(max_iter=10000, random_state=7)",
    "boosting": "HistGradientBoostingClassifier(random_state=7)",
    "majority": "DummyClassifier()",
    "stratified-guess": "DummyClassifier(random_state=7, strategy='stratified')",
    "lda": "LinearDiscriminantAnalysis()",
}


@pytest.mark.parametrize(("text", "shown"), BUILT.items())
def test_a_short_name_builds_its_class_with_the_seed(text, shown):
    learner = read_learner(text, seed=7)
    assert repr(learner.estimator) == shown
    assert learner.name == text
    assert learner.shortcut


def test_every_shortcut_is_tested_above():
    assert {text.partition(":")[0] for text in BUILT} == set(SHORTCUTS)


def test_only_machines_that_measure_length_are_scaled_and_neighbours_are_not():
    scaled = {name for name in SHORTCUTS if read_learner(name).scaled}
    assert scaled == {"logistic", "svm", "linear-svm"}
    assert "not scaled" in SHORTCUTS["knn"].description


def test_learners_say_whether_they_take_gaps():
    # As the user guide of scikit-learn lists them; the dummies never look at the features.
    taking = {name for name in SHORTCUTS if read_learner(name).takes_missing}
    assert taking == {"weka-naive-bayes", "tree", "forest", "boosting", "majority", "stratified-guess"}


def test_every_shortcut_has_a_description_on_one_line():
    for shortcut in SHORTCUTS.values():
        assert 20 < len(shortcut.description) < 110
        assert "\n" not in shortcut.description


def test_names_are_read_in_any_case_and_with_blanks():
    assert repr(read_learner(" Naive_Bayes ").estimator) == "GaussianNB()"
    assert read_learner("KNN : 3").estimator.n_neighbors == 3


def test_five_nearest_neighbours_on_iris_leave_one_out_as_in_the_lecture_notes():
    # Raw distances: all of the first class, 47 and 48 of the two that overlap.
    iris = load_iris()
    model = read_learner("knn:5").estimator
    right = 0
    for row in range(150):
        train = np.arange(150) != row
        right += int(model.fit(iris.data[train], iris.target[train]).predict(iris.data[[row]])[0] == iris.target[row])
    assert right == 50 + 47 + 48


@pytest.mark.parametrize(
    ("text", "what", "hint"),
    [
        (
            "knn:five",
            "The learner 'knn' takes the number of neighbours, a whole number from 1 to 1,000,000. Got 'five'.",
            "write 'knn:5', say, or 'knn' alone.",
        ),
        (
            "knn:0",
            "The learner 'knn' takes the number of neighbours, a whole number from 1 to 1,000,000. Got '0'.",
            "write 'knn:5', say, or 'knn' alone.",
        ),
        (
            "tree:2.5",
            "The learner 'tree' takes the depth of the tree, a whole number from 1 to 1,000. Got '2.5'.",
            "write 'tree:3', say, or 'tree' alone.",
        ),
        (
            "forest:-3",
            "The learner 'forest' takes the number of trees, a whole number from 1 to 100,000. Got '-3'.",
            "write 'forest:500', say, or 'forest' alone.",
        ),
        (
            "knn:",
            "The learner 'knn' takes the number of neighbours, a whole number from 1 to 1,000,000. Got ''.",
            "write 'knn:5', say, or 'knn' alone.",
        ),
        (
            "tree:" + "9" * 30,
            f"The learner 'tree' takes the depth of the tree, a whole number from 1 to 1,000. Got '{'9' * 30}'.",
            "write 'tree:3', say, or 'tree' alone.",
        ),
        (
            "lda:3",
            "The learner 'lda' takes no number. Got 'lda:3'.",
            (
                "write 'lda', or name the class with its settings: "
                "'sklearn.discriminant_analysis:LinearDiscriminantAnalysis()'."
            ),
        ),
        ("knnn", "There is no learner 'knnn'.", "did you mean 'knn'?"),
        ("tre:3", "There is no learner 'tre:3'.", "did you mean 'tree:3'?"),
        ("Logistics", "There is no learner 'Logistics'.", "did you mean 'logistic'?"),
        (
            "zzz",
            "There is no learner 'zzz'.",
            (
                "use one of knn, naive-bayes, weka-naive-bayes, tree, forest, logistic, svm, linear-svm, boosting, "
                "majority, stratified-guess, lda; any other as 'package.module:Class(name=value)'."
            ),
        ),
    ],
)
def test_a_wrong_short_name_is_refused_with_what_to_write(text, what, hint):
    with pytest.raises(OptionError) as caught:
        read_learner(text)
    assert (caught.value.what, caught.value.hint) == (what, hint)


def test_an_empty_name_is_refused():
    with pytest.raises(OptionError, match="The name of the learner is empty"):
        read_learner("  ")


def test_listing_the_shortcuts_loads_nothing_heavy():
    code = (
        "import sys; from heldout.learners.registry import SHORTCUTS\n"
        "print([s.usage for s in SHORTCUTS.values()], *{'numpy', 'sklearn', 'scipy', 'polars'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("['knn[:K]', ")
    assert done.stdout.endswith("]\n") or done.stdout.endswith("] \n")
