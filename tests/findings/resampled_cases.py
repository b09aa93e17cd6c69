"""For each rule about folds, validations, learning curves, comparisons and test sets that were used before: a result on
which it fires, one on which it passes, and one it cannot look at."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.dummy import DummyClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.naive_bayes import GaussianNB

import heldout
from heldout.costs import Costs


@dataclass(frozen=True)
class Case:
    """Results on which a rule fires and passes; `silent` is one it cannot look at, and `reason` why."""

    fires: Callable[[], Any]
    passes: Callable[[], Any]
    silent: Callable[[], Any] | None = None
    reason: str = ""


def validate(*given: Any, **options: Any) -> Any:
    """One validation, or several."""
    return heldout.validate(*given, **options)


def compare(*given: Any, **options: Any) -> Any:
    """A comparison, pair by pair or by ranks."""
    return heldout.compare(*given, **options)


def cases(n: int = 120, apart: float = 1.5, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Two classes in turn, and two features of which the first tells them apart."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % 2
    features = rng.normal(size=(n, 2))
    features[:, 0] += apart * truth
    return features, truth


@cache
def validated(learner: str = "naive-bayes", plan: str = "3-fold", n: int = 120, apart: float = 1.5, **options: Any):
    return heldout.validate(learner, *cases(n, apart), plan=plan, **options)


@lru_cache(maxsize=1)
def frozen():
    """A model that was trained on all cases before any of them was held out."""
    features, truth = cases(1200, 1.0)
    return heldout.validate(FrozenEstimator(GaussianNB().fit(features, truth)), features, truth, plan="5-fold")


@lru_cache(maxsize=1)
def doubled():
    features, truth = cases(60)
    return heldout.validate("knn:1", np.tile(features, (2, 1)), np.tile(truth, 2), plan="5-fold")


def coarse(plan: str = "5-fold"):
    """One feature of three values: rows are the same by chance."""
    rng = np.random.default_rng(0)
    return heldout.validate("naive-bayes", rng.integers(0, 3, (120, 1)).astype(float), np.arange(120) % 2, plan=plan)


RARE = np.repeat(["often", "seldom", "rare"], [70, 46, 4])


@cache
def with_rare(plan: str):
    return heldout.validate("naive-bayes", np.random.default_rng(1).normal(size=(120, 2)), RARE, plan=plan)


def by_blocks(seed: int | None = None):
    """Folds of 30 rows each of data that stand class by class, or shuffled."""
    features, truth = cases(120)
    order = np.argsort(truth, kind="stable") if seed is None else np.random.default_rng(seed).permutation(120)
    # In order of their class, the folds in between are of one class only.
    return heldout.validate("naive-bayes", features[order], truth[order], fold=np.arange(120) // 30)


class Picky(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Fails where the first row does not train."""

    def fit(self, X, y):
        if not (np.asarray(X) == cases()[0][0]).all(axis=1).any():
            message = "the first row is missing"
            raise ValueError(message)
        self.classes_ = np.unique(y)
        self.inner_ = GaussianNB().fit(X, y)
        return self

    def predict(self, X):
        return self.inner_.predict(X)


def visits(**options: Any):
    """Thirty patients, four visits each."""
    features, truth = cases()
    table = {"patient_id": np.repeat(np.arange(30), 4), "a": features[:, 0], "b": features[:, 1], "class": truth}
    return heldout.validate("naive-bayes", table, target="class", plan="5-fold", **options)


def by_year(plan: str = "5-fold"):
    features, truth = cases()
    table = {"year": 1900 + np.arange(120) // 2, "a": features[:, 0], "class": truth}
    return heldout.validate("naive-bayes", table, target="class", plan=plan)


def with_copy(n: int = 60, *, copied: bool = True):
    """A table with a column that is the class under other names, or one that only leans on it."""
    features, truth = cases(n)
    code = np.where(truth == 1, "B7", "K2") if copied else (features[:, 0] > 0.7).astype(int)
    table = {"a": features[:, 1], "code": code, "class": truth}
    return heldout.validate("naive-bayes", table, target="class", plan="5-fold")


def checkerboard(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Squares of two classes in turn, which no straight line parts and neighbours do."""
    places = np.random.default_rng(seed).uniform(0, 4, (n, 2))
    return places, (places.astype(int).sum(axis=1)) % 2


@cache
def on_squares(learner: str, n: int = 400):
    return heldout.validate(learner, *checkerboard(n), plan="5-fold")


@cache
def curve_on_squares(learner: str, n: int = 400):
    return heldout.learning_curve(learner, *checkerboard(n), draws=10)


def readings(*, alike: bool = True, seed: int = 2, **options: Any):
    """Three hundred rows of forty machines under a name that says nothing; some machines are often misjudged."""
    rng = np.random.default_rng(seed)
    machine = rng.permutation(np.arange(320) % 40)
    wrong = rng.random(320) < (rng.beta(0.4, 1.6, 40)[machine] if alike else 0.2)
    truth = rng.integers(0, 2, 320)
    table = {"truth": truth, "predicted": np.where(wrong, 1 - truth, truth), "col7": [f"k{x}" for x in machine]}
    return heldout.evaluate(table, **options)


def grouped_folds(*, divided: bool = False, twice: bool = False, **options: Any):
    """Rows of sixty patients in folds of whole patients or not; with `twice` every row is predicted twice."""
    rng = np.random.default_rng(5)
    truth = rng.integers(0, 2, 240)
    predicted = np.where(rng.random(240) < 0.2, 1 - truth, truth)
    patient = np.arange(240) // 4
    fold = rng.integers(0, 5, 240) if divided else patient % 5
    if not twice:
        return heldout.evaluate(truth, predicted, group=patient, fold=fold, **options)
    fold = np.concatenate([fold, 5 + patient // 12])
    return heldout.evaluate(np.tile(truth, 2), np.tile(predicted, 2), group=np.tile(patient, 2), fold=fold, **options)


def balanced(prevalence: float | None = None):
    return heldout.evaluate(matrix=[[135, 15], [24, 126]], labels=["no", "yes"], prevalence=prevalence)


def given_with(kind: str):
    """Predicted classes beside their own confidence, or beside the probability of the positive class."""
    rng = np.random.default_rng(1)
    truth = (rng.random(300) < 0.4).astype(int)
    score = 1 / (1 + np.exp(-1.5 * (rng.normal(size=300) + 1.5 * (truth - 0.5))))
    called = (score >= 0.5).astype(int)
    said = np.where(called == 1, score, 1 - score) if kind == "confidence" else score
    return heldout.evaluate(truth, called, score=said, positive=1)


def folds_of_file(*, named: bool = False):
    """A file with the folds and the scores of a validation, of which the folds may be named."""
    text = validated(plan="5-fold").predictions_csv()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "answers.csv"
        path.write_text(text, encoding="utf-8")
        return heldout.evaluate(path, fold="fold" if named else "none")


@cache
def curve(learner: str = "naive-bayes", apart: float = 1.5, n: int = 300, draws: int = 6, **options: Any):
    features, truth = cases(n, apart)
    noise = np.random.default_rng(5).normal(size=(n, 6))
    return heldout.learning_curve(learner, np.hstack([features, noise]), truth, draws=draws, **options)


# Comparisons


TRUTH = np.arange(200) % 2
MATRICES = {"M1": [[150, 40], [60, 250]], "M2": [[250, 45], [5, 200]]}
COSTS = Costs.of([[-1, 100], [1, 0]], ["+", "-"], rows="truth")


def wrong_in(*rows: int, n: int = 200, **options: Any):
    """An evaluation of n cases that is wrong in these rows only."""
    truth = np.arange(n) % 2
    answers = truth.copy()
    answers[list(rows)] = 1 - answers[list(rows)]
    return heldout.evaluate(truth, answers, measures=[], **options)


def compared_again(times: int):
    """The last of so many comparisons of two further models on the same cases, all in one ledger."""
    with tempfile.TemporaryDirectory() as folder:
        for at in range(times):
            sides = wrong_in(*range(20 + at)), wrong_in(*range(90 + at, 150))
            found = heldout.compare(*sides, measures="accuracy", ledger=Path(folder, "ledger.jsonl"))
    return found


def used_again(tried: int) -> heldout.Evaluation:
    """An evaluation of cases on which a ledger knows so many other models."""
    truth = np.arange(200) % 2
    with tempfile.TemporaryDirectory() as folder:
        for wrong in range(tried + 1):
            answers = np.where(np.arange(200) < 20 + wrong, 1 - truth, truth)
            found = heldout.evaluate(truth, answers, ledger=Path(folder, "ledger.jsonl"))
    return found


def never():
    """An evaluation of answers among which the positive class is not."""
    return heldout.evaluate([0, 1, 0, 1], [0, 0, 0, 0], labels=[0, 1], positive=1, measures=[])


def one_case():
    return heldout.compare(wrong_in(0, 1), wrong_in(0, 1, 2))


def twenty_cases():
    return heldout.compare(wrong_in(*range(5)), wrong_in(*range(10, 35)))


def three(correction: str | None = None):
    sides = {"a": wrong_in(*range(5)), "b": wrong_in(*range(10, 35)), "c": wrong_in(*range(50, 90))}
    return heldout.compare(sides, measures="accuracy", correction=correction)


def learners(plan: str, **options: Any):
    both = heldout.validate(["naive-bayes", "tree"], *cases(), plan=plan, measures=[])
    return heldout.compare(both, measures="accuracy", **options)


def lecture(costs: Costs | None = COSTS, **matrices: list[list[int]]):
    held = matrices or MATRICES
    sides = {
        name: heldout.evaluate(matrix=matrix, labels=["+", "-"], positive="+", costs=costs)
        for name, matrix in held.items()
    }
    return heldout.compare(sides)


def recall_against_specificity():
    """The one finds all positives with many false alarms, the other the other way round."""
    truth = np.repeat([1, 0], [100, 300])
    eager, timid = truth.copy(), truth.copy()
    eager[100:160], timid[:40] = 1, 0
    sides = [heldout.evaluate(truth, answers, positive=1, measures=[]) for answers in (eager, timid)]
    return heldout.compare(*sides, measures=["recall", "specificity"])


def table(n: int, **options: Any):
    values = np.random.default_rng(0).uniform(0.6, 0.8, n)
    return heldout.compare({"x": values, "y": values + 0.02 + 0.01 * np.arange(n) / n}, splits=False, **options)


CASES: dict[str, Case] = {
    "H030": Case(lambda: validated("knn:1", "resubstitution"), validated),
    "H031": Case(
        frozen,
        validated,
        lambda: heldout.validate(DummyClassifier(), *cases(), plan="3-fold"),
        "it predicts one class only, so that both errors are the share of the other classes",
    ),
    "H032": Case(
        doubled, validated, lambda: validated("knn:1", "resubstitution"), "it was tested on the cases it was trained on"
    ),
    "H033": Case(
        lambda: validated(plan="10-fold"),
        validated,
        lambda: validated(plan="loo"),
        "every fold is one case, as leave-one-out means it",
    ),
    "H034": Case(
        lambda: validated(method="corrected-t"),
        validated,
        lambda: validated(plan="holdout 2/3"),
        "there is one test part, and nothing to put together",
    ),
    "H035": Case(
        lambda: validated(plan="10-fold", method="naive-t"),
        lambda: validated(plan="10-fold", method="corrected-t"),
        lambda: heldout.evaluate([0, 1], [0, 1]),
        "the predictions do not come in folds",
    ),
    "H036": Case(
        lambda: validated(plan="loo"),
        validated,
        lambda: validated(measures="accuracy"),
        "no measure of ranking was asked for",
    ),
    "H037": Case(
        lambda: with_rare("10-fold unstratified"),
        lambda: with_rare("4-fold"),
        lambda: with_rare("bootstrap 5"),
        "each split is a draw of its own, and no partition of the cases",
    ),
    "H038": Case(
        by_blocks,
        lambda: validated(plan="10-fold"),
        lambda: validated(plan="bootstrap 5"),
        "a bootstrap draws its cases at random by design",
    ),
    "H039": Case(
        lambda: validated("knn:1", apart=0.0),
        validated,
        lambda: validated(training=False),
        "there are no predictions of training cases",
    ),
    "H040": Case(lambda: heldout.validate(Picky(), *cases(), plan="3-fold", on_error="record"), validated),
    "H041": Case(
        visits,
        lambda: visits(group="patient_id"),
        validated,
        "no group was named, and the columns have no names to tell one by",
    ),
    "H042": Case(
        by_year, lambda: by_year("time-ordered 3"), validated, "no column looks like the time of a case"
    ),
    "H043": Case(
        lambda: validated(plan="holdout 2/3"),
        lambda: validated(plan="holdout 2/3", n=3600),
        validated,
        "the plan is no single holdout",
    ),
    "H044": Case(with_copy, lambda: with_copy(copied=False)),
    "H045": Case(
        lambda: curve_on_squares("knn:1"),
        lambda: curve("knn:1", n=600, draws=12),
        lambda: curve(sizes=(20, 40)),
        "no law was fitted: the law has three parameters, and there are only 2 sizes",
    ),
    "H046": Case(lambda: curve("knn:1", apart=0.5), curve),
    "H047": Case(lambda: curve(draws=3), curve),
    "H050": Case(one_case, twenty_cases, lambda: table(8), "no accuracies of known numbers of cases are compared"),
    "H051": Case(lambda: three("none"), three, twenty_cases, "one pair is compared"),
    "H052": Case(
        lambda: learners("10-fold", method="paired-t"),
        lambda: learners("10-fold", method="bayes-correlated-t"),
        lambda: learners("10-fold"),
        "no method was asked for by name",
    ),
    "H053": Case(
        lecture,
        lambda: lecture(M1=[[150, 40], [60, 250]], M2=[[190, 5], [5, 300]]),
        lambda: lecture(None),
        "there are no costs",
    ),
    "H054": Case(
        one_case,
        twenty_cases,
        lambda: heldout.compare(never(), never(), measures="precision"),
        "there are no intervals",
    ),
    "H055": Case(one_case, twenty_cases, lambda: learners("10-fold"), "they are not compared case by case"),
    "H056": Case(
        lambda: heldout.compare(wrong_in(*range(20), n=20_000), wrong_in(*range(100, 180), n=20_000)),
        twenty_cases,
        one_case,
        "no difference of a share is beyond doubt",
    ),
    "H057": Case(
        lecture,
        lambda: lecture(M1=[[150, 40], [60, 250]], M2=[[180, 10], [10, 300]]),
        twenty_cases,
        "they were judged on the same cases",
    ),
    "H058": Case(recall_against_specificity, twenty_cases, three, "one measure is compared"),
    "H059": Case(lambda: table(5), lambda: table(8), twenty_cases, "they are not compared over data sets"),
    "H060": Case(
        lambda: learners("5-fold"), lambda: learners("10-fold"), twenty_cases, "they are not compared over splits"
    ),
    "H061": Case(
        lambda: heldout.compare(wrong_in(*range(20)), wrong_in(*range(20))),
        twenty_cases,
        lambda: table(8),
        "they are not compared on the same cases",
    ),
    "H074": Case(
        lambda: heldout.compare(wrong_in(0, 1, n=16), wrong_in(4, n=16), measures="macro recall"),
        lambda: heldout.compare(wrong_in(0, 1), wrong_in(4), measures="macro recall"),
        three,
        "no measure of single classes is compared on known cases",
    ),
    "H065": Case(
        readings,
        lambda: readings(alike=False),
        lambda: readings(group="col7"),
        "the intervals take groups as the cases",
    ),
    "H066": Case(
        lambda: balanced(0.02),
        lambda: balanced(0.47),
        balanced,
        "nobody said how frequent the positive class is in use (prevalence=, --prevalence)",
    ),
    "H067": Case(
        lambda: given_with("confidence"),
        lambda: given_with("probability"),
        balanced,
        "there are no scores",
    ),
    "H068": Case(
        lambda: on_squares("logistic"),
        lambda: on_squares("knn:5"),
        lambda: validated("knn:1", "resubstitution"),
        "it was tested on the cases it was trained on",
    ),
    "H069": Case(
        lambda: curve_on_squares("logistic", 800),
        lambda: curve_on_squares("knn:1"),
        lambda: curve(apart=2.0, n=60, draws=10),
        "whether more data would help cannot be told",
    ),
    "H070": Case(
        lambda: heldout.compare(*(wrong_in(*range(at, at + 30)) for at in (0, 40, 81, 120))),
        lambda: heldout.compare(wrong_in(1, 2), wrong_in(*range(90)), wrong_in(*range(100, 199))),
        twenty_cases,
        "fewer than three are compared pair by pair",
    ),
    "H075": Case(
        lambda: grouped_folds(divided=True),
        grouped_folds,
        balanced,
        "no group was named",
    ),
    "H073": Case(
        lambda: used_again(tried=3),
        lambda: used_again(tried=0),
        lambda: wrong_in(3),
        "no ledger was named",
    ),
    "H072": Case(lambda: compared_again(2), lambda: compared_again(1), twenty_cases, "no ledger was named"),
}  # fmt: skip
