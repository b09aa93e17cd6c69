"""Evaluations that are broken in one way each: the rule that sees it fires, and no longer does where it is mended."""

from __future__ import annotations

import datetime as dt
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.naive_bayes import GaussianNB

import heldout


@dataclass(frozen=True)
class Broken:
    """What is wrong, the result with the fault and without it, and the rule that must see it and how severely."""

    fault: str
    build: Callable[..., Any]
    code: str
    severity: str
    says: str


def draw(n: int = 500, share: float = 0.35, apart: float = 1.7, seed: int = 40) -> tuple[np.ndarray, np.ndarray]:
    """Truth, and its true probability."""
    rng = np.random.default_rng(seed)
    truth = (rng.random(n) < share).astype(int)
    odds = np.log(share / (1 - share)) + apart * (rng.normal(size=n) + apart * (truth - 0.5))
    return truth, 1 / (1 + np.exp(-odds))


def features(n: int = 180, seed: int = 41) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n)
    return rng.normal(size=(n, 3)) + 0.9 * truth[:, None], truth


def validate(matrix: np.ndarray, truth: np.ndarray, plan: str = "5-fold", beside: dict[str, Any] | None = None):
    table = {f"m{at}": matrix[:, at] for at in range(matrix.shape[1])}
    return heldout.validate("naive-bayes", {**table, **(beside or {}), "outcome": truth}, target="outcome", plan=plan)


def of_csv(columns: dict[str, Any], read: Callable[[Path], Any]) -> Any:
    rows = zip(*columns.values(), strict=True)
    lines = [",".join(columns), *(",".join(map(str, row)) for row in rows)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        path.write_text("\n".join(lines), encoding="utf-8")
        return read(path)


def leaked_target(*, broken: bool):
    matrix, truth = features(90)
    return validate(matrix, truth, beside={"status": np.where(truth, "closed", "open")} if broken else None)


def copies_on_both_sides(*, broken: bool):
    matrix, truth = features()
    rows = np.r_[0:180, 0:60] if broken else np.arange(180)
    return validate(matrix[rows], truth[rows])


def torn_groups(*, broken: bool):
    matrix, truth = features(200)
    table = {"m": matrix[:, 0], "subject": np.arange(200) // 5, "outcome": truth}
    return heldout.validate("naive-bayes", table, target="outcome", group=None if broken else "subject", plan="5-fold")


def torn_groups_of_predictions(*, broken: bool):
    """Predictions that were made elsewhere: twice over five folds, each patient's rows in one fold or in several."""
    truth, score = draw(200)
    patient, case = np.arange(200) // 5, np.arange(200)
    folds = [(case if broken else patient) % 5 + 10 * repeat for repeat in (0, 1)]
    truth, score, patient, case = (np.tile(column, 2) for column in (truth, score, patient, case))
    return heldout.evaluate(truth, score=score, group=patient, id=case, fold=np.concatenate(folds), positive=1)


def tuned_threshold(*, broken: bool):
    truth, score = draw()
    cut = np.sort(score)
    right = [((score >= one) == truth).mean() for one in cut]
    return heldout.evaluate(truth, score=score, threshold=float(cut[int(np.argmax(right))]) if broken else 0.5)


def swapped_labels(*, broken: bool):
    truth, score = draw(apart=2.5)
    called = (score >= 0.5).astype(int)
    return heldout.evaluate(truth, 1 - called if broken else called)


def reversed_scores(*, broken: bool):
    truth, score = draw()
    return heldout.evaluate(truth, score=1 - score if broken else score, positive=1)


def confidence_for_score(*, broken: bool):
    truth, score = draw()
    called = (score >= 0.5).astype(int)
    return heldout.evaluate(truth, called, score=np.maximum(score, 1 - score) if broken else score, positive=1)


def training_set(*, broken: bool):
    return validate(*features(), plan="resubstitution" if broken else "5-fold")


def not_retrained(*, broken: bool):
    matrix, truth = features(1000)
    learner = FrozenEstimator(GaussianNB().fit(matrix, truth)) if broken else GaussianNB()
    return heldout.validate(learner, matrix, truth, plan="5-fold")


def overconfident(*, broken: bool):
    truth, score = draw(1500)
    return heldout.evaluate(truth, score=1 / (1 + ((1 - score) / score) ** 3) if broken else score, positive=1)


def class_left_out(*, broken: bool):
    rng = np.random.default_rng(42)
    truth = rng.choice(["cat", "dog", "fox"], 240)
    called = np.where(rng.random(240) < 0.8, truth, rng.choice(["cat", "dog", "fox"], 240))
    return heldout.evaluate(truth, np.where(called == "fox", "dog", called) if broken else called)


def majority(*, broken: bool):
    truth, score = draw(share=0.2)
    return heldout.evaluate(truth, (score >= (2 if broken else 0.5)).astype(int), labels=[0, 1], positive=1)


def series(*, broken: bool):
    """Errors in stretches, as those of a sensor that fails for a while; mended, the same rows in any order."""
    rng = np.random.default_rng(43)
    truth = rng.integers(0, 2, 600)
    wrong = np.repeat(rng.random(100) < 0.25, 6) & (rng.random(600) < 0.8)
    rows = np.arange(600) if broken else rng.permutation(600)
    return heldout.evaluate(truth[rows], np.where(wrong, 1 - truth, truth)[rows])


def unnamed_groups(*, broken: bool):
    """Fifty people of eight rows each in a column that is called v3; mended, it is named as the group."""
    rng = np.random.default_rng(44)
    who = rng.permutation(np.arange(400) % 50)
    truth = rng.integers(0, 2, 400)
    wrong = rng.random(400) < rng.choice([0.05, 0.7], 50, p=[0.75, 0.25])[who]
    columns = {"truth": truth, "predicted": np.where(wrong, 1 - truth, truth), "v3": [f"q{x * 7}" for x in who]}
    return of_csv(columns, lambda path: heldout.evaluate(path, group=None if broken else "v3"))


def out_of_time(*, broken: bool):
    matrix, truth = features(150)
    days = [dt.date(2023, 5, 1) + dt.timedelta(days=at) for at in range(150)]
    columns = {"taken": days, "m": matrix[:, 0], "outcome": truth}
    plan = "5-fold" if broken else "time-ordered 4"
    return of_csv(columns, lambda path: heldout.validate("naive-bayes", path, target="outcome", plan=plan))


def joined_twice(*, broken: bool):
    truth, score = draw(300)
    rows = np.r_[0:300, 0:150] if broken else np.arange(300)
    return heldout.evaluate(truth[rows], score=score[rows], positive=1)


def costs_ignored(*, broken: bool):
    truth, score = draw(1000)
    cut = 0.5 if broken else 1 / 21
    return heldout.evaluate(truth, score=score, costs={(1, 0): 20, (0, 1): 1}, positive=1, threshold=cut)


def one_class(*, broken: bool):
    truth, score = draw()
    kept = truth == 1 if broken else truth >= 0
    return heldout.evaluate(truth[kept], (score >= 0.5).astype(int)[kept], labels=[0, 1], positive=1)


def tiny_class(*, broken: bool):
    return heldout.evaluate(matrix=[[480, 12], [2, 6]] if broken else [[480, 12], [20, 60]], labels=["ok", "ill"])


def pooled_over_folds(*, broken: bool):
    truth, score = draw(200)
    columns = {"truth": truth, "score": score, "fold": np.arange(200) % 5}
    return of_csv(columns, lambda path: heldout.evaluate(path, positive=1, fold="none" if broken else None))


def prevalence_shift(*, broken: bool):
    truth, score = draw(800, share=0.5)
    return heldout.evaluate(truth, score=score, positive=1, prevalence=0.03 if broken else 0.5)


def normal_interval(*, broken: bool):
    return heldout.evaluate(matrix=[[17, 0], [1, 4]], labels=["no", "yes"], method="normal" if broken else None)


def wrong_column(*, broken: bool):
    truth = np.array(["red", "blue"] * 40)
    return heldout.evaluate(truth, np.char.upper(truth) if broken else truth[::-1])


def leaked_answers(*, broken: bool):
    truth, score = draw(400)
    return heldout.evaluate(truth, score=np.where(truth == 1, 0.6 + 0.4 * score, 0.4 * score) if broken else score)


def certain_and_wrong(*, broken: bool):
    truth, score = draw(400)
    said = np.where((score < 0.1) & broken, 0.0, score)
    return heldout.evaluate(truth, score=said, positive=1)


BROKEN = [
    Broken("a column that is the class", leaked_target, "H044", "act", "status"),
    Broken("copies of training cases are tested", copies_on_both_sides, "H032", "act", "have a copy"),
    Broken("folds tear groups apart", torn_groups, "H041", "act", "subject"),
    Broken("folds of predictions tear groups apart", torn_groups_of_predictions, "H075", "act", "40 of 40 groups"),
    Broken("the threshold was tuned on the test cases", tuned_threshold, "H009", "act", "best accuracy"),
    Broken("the labels are exchanged", swapped_labels, "H001", "act", "exchanged?"),
    Broken("the scores are reversed", reversed_scores, "H004", "act", "below one half"),
    Broken("the confidence in the prediction is the score", confidence_for_score, "H067", "know", "confidence"),
    Broken("tested on the training cases", training_set, "H030", "act", "trained on"),
    Broken("the model is not trained anew", not_retrained, "H031", "act", "identical"),
    Broken("the probabilities are too extreme", overconfident, "H012", "act", "too extreme"),
    Broken("a class is never predicted", class_left_out, "H007", "act", "fox"),
    Broken("always the commonest class", majority, "H001", "act", "no better"),
    Broken("errors depend on the row before", series, "H029", "know", "come in runs"),
    Broken("groups under a name that says nothing", unnamed_groups, "H065", "know", "v3"),
    Broken("later cases train for earlier ones", out_of_time, "H042", "know", "taken"),
    Broken("rows were joined twice", joined_twice, "H020", "know", "copied"),
    Broken("the threshold ignores the costs", costs_ignored, "H011", "act", "0.5"),
    Broken("cases of one class only", one_class, "H019", "act", "Every one"),
    Broken("a class of eight cases", tiny_class, "H006", "know", "ill"),
    Broken("scores of several models ranked together", pooled_over_folds, "H034", "act", "fold"),
    Broken("rarer in use than here", prevalence_shift, "H066", "act", "in use"),
    Broken("a normal interval for few cases", normal_interval, "H005", "act", "do not hold"),
    Broken("classes written otherwise", wrong_column, "H028", "act", "letter case"),
    Broken("answers that leaked", leaked_answers, "H018", "act", "too good"),
    Broken("sure of what did not come true", certain_and_wrong, "H022", "act", "probability of 0"),
]


@pytest.mark.parametrize("case", BROKEN, ids=[case.fault for case in BROKEN])
def test_what_is_broken_is_found(case):
    found = case.build(broken=True).review[case.code]
    assert (found.outcome, found.severity) == ("fired", case.severity), found.title
    assert case.says in found.title


@pytest.mark.parametrize("case", BROKEN, ids=[case.fault for case in BROKEN])
def test_what_is_mended_is_not(case):
    found = case.build(broken=False).review[case.code]
    assert found.outcome != "fired", found.title
