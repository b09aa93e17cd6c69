"""Laws over any validation, learning curve and comparison: every rule answers, always the same, in what JSON holds."""

from __future__ import annotations

import json
from functools import lru_cache

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from tests.findings.resampled_cases import CASES

import heldout
from heldout.findings.review import RULE_CATALOGUE
from heldout.findings.rules_data import chance_of_same, same_rows
from heldout.learners.problem import Problem
from heldout.result import json_safe

PLANS = [
    "3-fold", "2x3-fold", "3-fold unstratified", "holdout 2/3", "4 x holdout 2/3", "loo", "leave-2-out", "bootstrap 5",
    ".632 5", ".632+ 5", "resubstitution", "time-ordered 3", "weka 3-fold seed 1", "nested 3-fold / 2-fold",
]  # fmt: skip


def check(seen, *about):
    review = seen.review
    assert [found.code for found in review.findings] == [
        rule.code for kind in about for rule in RULE_CATALOGUE.values() if rule.about == kind
    ]
    for found in review.findings:
        assert found.title
    stored = json.loads(json.dumps(json_safe(review.document()), allow_nan=False))
    assert [found["code"] for found in stored["findings"]] == [found.code for found in review.fired]
    assert json.loads(seen.to_json())
    assert str(seen)


@lru_cache(maxsize=1)
def small():
    rng = np.random.default_rng(0)
    truth = np.arange(16) % 2
    return rng.normal(size=(16, 2)) + truth[:, None], truth


# Naive Bayes has nothing that a nested plan could choose.
@pytest.mark.parametrize(
    ("plan", "learner"),
    [*((plan, "knn:1") for plan in PLANS), *((plan, "naive-bayes") for plan in PLANS if "nested" not in plan)],
)
def test_every_rule_answers_every_plan(plan, learner):
    grid = {"n_neighbors": [1, 3]} if "nested" in plan else None
    # A class of one case is in a fold by chance alone, which no stratified plan allows.
    rare = [np.where(np.arange(16) == 15, 2, small()[1])] if "unstratified" in plan else []
    for classes in (small()[1], *rare):
        check(
            heldout.validate(learner, small()[0], classes, plan=plan, grid=grid, on_error="record"),
            "validation",
            "evaluation",
        )


@pytest.mark.parametrize("form", ["matrix", "pandas", "polars", "sparse", "objects", "dictionary"])
def test_every_rule_answers_every_form_of_features(form):
    features, truth = small()
    named = {"patient": np.repeat(np.arange(4), 4), "day": np.arange(16), "a": features[:, 0], "kind": ["x", "y"] * 8}
    given: dict = {
        "matrix": features,
        "pandas": pd.DataFrame(named).assign(when=pd.date_range("2024-01-01", periods=16)).drop(columns="kind"),
        "polars": pl.DataFrame(named).drop("kind"),
        "sparse": sparse.csr_matrix(np.round(np.abs(features))),
        "objects": np.array([[1.0, "u"], [2.0, "v"]] * 8, dtype=object),
        "dictionary": named,
    }
    learner: object = "naive-bayes" if form in ("objects", "dictionary", "polars") else GaussianNB()
    if form == "sparse":
        learner = BernoulliNB()
    if form == "pandas":
        learner = Whatever()
    seen = heldout.validate(learner, given[form], truth, plan="2-fold")
    check(seen, "validation", "evaluation")
    if form in ("pandas", "polars", "dictionary"):
        assert seen.review["H041"].facts["column"] == "patient"
        assert seen.review["H042"].facts["column"] == "day"


class Whatever(GaussianNB):  # type: ignore[misc]
    """A learner that makes something of dates."""

    def _numbers(self, X):
        return np.column_stack([np.asarray(X[name]).astype("int64").astype(float) for name in X.columns])

    def fit(self, X, y):
        return super().fit(self._numbers(X), y)

    def predict(self, X):
        return super().predict(self._numbers(X))

    def predict_proba(self, X):
        return super().predict_proba(self._numbers(X))


@settings(max_examples=40)
@given(st.integers(0, 2**16), st.sampled_from([1, 2, 5]), st.integers(1, 3))
def test_rows_are_the_same_exactly_where_all_their_values_are(seed, values, columns):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 40))
    features = rng.integers(0, values, (n, columns)).astype(float)
    features[rng.random((n, columns)) < 0.1] = np.nan
    # Zero has two signs and is one value.
    features = np.where(features == 0, rng.choice([-0.0, 0.0], features.shape), features)
    truth = rng.integers(0, 2, n)
    problem = Problem(features, truth, truth, (0, 1), names=tuple("abc"[:columns]))
    plain = [[None if np.isnan(x) else float(x) + 0.0 for x in row] for row in features]
    keys = [(int(label), *row) for label, row in zip(truth, plain, strict=True)]
    first: dict = {}
    assert same_rows(problem).tolist() == [first.setdefault(key, len(first)) for key in keys]
    # Two rows drawn from one class agree in a feature as often as its pairs do; of several, the product.
    expected = []
    for label in (0, 1):
        rows = features[truth == label]
        if len(rows) < 2:
            expected.append(0.0)
            continue
        pairs = [(i, j) for i in range(len(rows)) for j in range(len(rows)) if i != j]
        same = [
            np.mean([np.array_equal(rows[i, c], rows[j, c], equal_nan=True) for i, j in pairs]) for c in range(columns)
        ]
        expected.append(float(np.prod(same)))
    assert chance_of_same(problem).tolist() == pytest.approx(expected)


def test_the_form_of_the_features_does_not_matter_to_what_is_the_same():
    rng = np.random.default_rng(3)
    dense = rng.integers(0, 2, (50, 4)).astype(float)
    truth = rng.integers(0, 2, 50)
    forms = dense, sparse.csr_matrix(dense), pd.DataFrame(dense), pl.DataFrame(dense), dense.astype(object)
    held = [Problem(form, truth, truth, (0, 1), names=tuple("abcd")) for form in forms]
    first = same_rows(held[0]).tolist()
    for one in held[1:]:
        assert same_rows(one).tolist() == first


@pytest.mark.parametrize("options", [{}, {"sizes": [6, 10]}, {"draws": 1}, {"draws": 2, "sizes": "arithmetic"}])
def test_every_rule_answers_every_curve(options):
    features, truth = np.tile(small()[0], (3, 1)), np.tile(small()[1], 3)
    check(heldout.learning_curve("knn:1", features, truth, **{"points": 4, "draws": 3} | options), "learning curve")


def scored(seed):
    rng = np.random.default_rng(seed)
    truth = np.arange(60) % 2
    return heldout.evaluate(truth, score=np.clip(0.3 * truth + 0.7 * rng.random(60), 0, 1), positive=1, measures=[])


def three_classes(seed, n=60):
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % 3
    return heldout.evaluate(truth, np.where(rng.random(n) < 0.7, truth, rng.integers(0, 3, n)), fold=np.arange(n) % 5)


@pytest.mark.parametrize(
    "seen",
    [
        lambda: heldout.compare(scored(0), scored(1)),
        lambda: heldout.compare(scored(0), scored(0)),
        lambda: heldout.compare(scored(0), scored(1), scored(2), correction="none", margin=0.1),
        lambda: heldout.compare(scored(0), scored(1), measures="accuracy", margin=0.2, margin_kind="equivalence"),
        lambda: heldout.compare(scored(0), scored(1), paired=False),
        lambda: heldout.compare(three_classes(0), three_classes(1)),
        lambda: heldout.compare(three_classes(0), three_classes(1), method="bayes-correlated-t", rope=0.01),
        lambda: heldout.compare({"x": [0.7, 0.8, 0.6], "y": [0.7, 0.8, 0.6]}, splits=False),
        lambda: heldout.compare({"x": [0.7, 0.8, 0.6], "y": [0.6, 0.7, 0.9]}, splits=False, method="bayes-signed-rank"),
        lambda: heldout.compare(heldout.evaluate([0], [0]), heldout.evaluate([0], [0])),
        lambda: heldout.compare(heldout.evaluate([0, 1], [0, 0]), heldout.evaluate([1, 1], [0, 1]), paired=False),
        lambda: heldout.compare(
            heldout.validate([KNeighborsClassifier(1), "naive-bayes"], *small(), plan="holdout 2/3", measures=[])
        ),
    ],
)
def test_every_rule_answers_every_comparison(seen):
    check(seen(), "comparison")


@pytest.mark.parametrize("code", CASES)
def test_a_rule_answers_the_same_when_it_is_asked_again(code):
    seen = CASES[code].fires()
    rule = RULE_CATALOGUE[code]
    subject = getattr(seen, "evaluation", seen) if rule.about == "evaluation" else seen
    assert json_safe(rule(subject).document()) == json_safe(seen.review[code].document())
