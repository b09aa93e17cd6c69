"""Laws over any evaluation: every rule answers, always the same, and in what JSON can hold."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.findings.evaluation_cases import CASES, fired, ranked

import heldout
from heldout.findings.review import RULE_CATALOGUE
from heldout.result import json_safe

RULES = [rule for rule in RULE_CATALOGUE.values() if rule.about == "evaluation"]
LABELS = (
    [0, 1],
    ["no", "yes"],
    ["a", "b", "c"],
    [False, True],
    [3, 5, 7, 8],
    ["only"],
    ["<b>", '"; --', "ש\u202e"],
)


def built(draw):
    """An evaluation of whatever kind: classes, weights, groups, folds, scores, costs, methods, few cases or many."""
    labels = draw(st.sampled_from(LABELS))
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    n, k = draw(st.sampled_from([1, 2, 3, 12, 45, 160])), len(labels)
    tilt = rng.dirichlet(np.full(k, draw(st.sampled_from([0.2, 1.0, 50.0]))))
    truth = rng.choice(k, n, p=tilt)
    called = np.where(rng.random(n) < draw(st.sampled_from([0.0, 0.7, 1.0])), truth, rng.choice(k, n))
    named = [[labels[code] for code in column] for column in (truth, called)]
    options = {"labels": labels, "positive": draw(st.sampled_from([None, labels[-1]]))}
    if draw(st.booleans()):
        options["weight"] = rng.choice([0.0, 1.0, 2.5], n) + draw(st.sampled_from([0.0, 0.125])) + (np.arange(n) == 0)
    if draw(st.booleans()):
        options["group"] = rng.integers(0, draw(st.sampled_from([1, 3, 40])), n)
    if draw(st.booleans()):
        options["fold"] = rng.integers(0, draw(st.sampled_from([1, 4])), n)
    if k > 1 and draw(st.booleans()):
        options["costs"] = heldout.Costs.of(
            rng.choice([-1.0, 0.0, 1.0, 10.0], (k, k)) * draw(st.sampled_from([0.0, 1.0])), labels, rows="truth"
        )
    if draw(st.booleans()) and not options.keys() & {"group"}:
        options["method"] = "normal"
    scored = k > 1 and (k > 2 or options["positive"] is not None) and draw(st.booleans())
    if scored:
        if "weight" in options:
            options["weight"] = options["weight"] + 0.125
        return heldout.evaluate(named[0], **options | scores(draw, rng, n, k, named[1]))
    if draw(st.booleans()):
        options["measures"] = ["accuracy", "macro f1"] if k > 1 else "accuracy"
    return heldout.evaluate(*named, **options)


def scores(draw, rng, n, k, called):
    """Scores of one or of all classes, probabilities or not, beside predicted classes or a threshold."""
    values = rng.dirichlet(np.ones(k), n) if k > 2 else rng.random(n)
    kind = draw(st.sampled_from(["probability", "certain", "coarse", "other"]))
    if kind == "certain":
        values = (values == values.max(axis=1, keepdims=True)).astype(float) if k > 2 else np.round(values)
    elif kind == "coarse" and k == 2:
        values = np.round(values, 1)
    elif kind == "other":
        values = 10 * values - 5
    if draw(st.booleans()) or (kind == "other" and k == 2):
        return {"score": values, "predicted": called}
    if k == 2 and draw(st.booleans()):
        return {"score": values, "threshold": float(draw(st.sampled_from([0.2, 0.5, float(values[0])])))}
    return {"score": values}


@settings(max_examples=150)
@given(st.data())
def test_every_rule_answers_any_evaluation(data):
    seen = built(data.draw)
    review = seen.review
    assert [found.code for found in review.findings] == [rule.code for rule in RULES]
    for found in review.findings:
        assert found.outcome in {"fired", "passed", "not applicable"}
        assert found.title
        assert not re.search(r"\b(nan|inf)\b", found.title), "what is undefined is not a number to print"
    stored = json.loads(json.dumps(json_safe(review.document()), allow_nan=False))
    assert [found["code"] for found in stored["findings"]] == [found.code for found in review.fired]
    again = [rule(seen) for rule in RULES]
    assert json_safe([f.document() for f in again]) == json_safe([f.document() for f in review.findings])
    assert str(review)


@pytest.mark.parametrize("plan", ["3-fold", "2x3-fold", "resubstitution", "holdout", "leave-one-out", ".632+ 20"])
@pytest.mark.parametrize("costly", [False, True])
def test_every_rule_answers_an_evaluation_over_folds(plan, costly):
    from sklearn.naive_bayes import GaussianNB

    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 40)
    features = rng.normal(size=(40, 2)) + truth[:, None]
    costs = {(1, 0): 5, (0, 1): 1} if costly else None
    seen = heldout.validate(GaussianNB(), features, truth, plan=plan, costs=costs)
    assert isinstance(seen, heldout.Validation)
    assert len(seen.evaluation.review.findings) == len(RULES)
    assert json.dumps(json_safe(seen.evaluation.review.document()), allow_nan=False)


def test_the_order_of_the_rows_does_not_matter():
    from dataclasses import replace

    from heldout.engines.score_evidence import RowScores

    changed, looked_at = [], []
    for code in CASES:
        seen = fired(code)
        rows = seen.predictions
        if rows is None or rows.fold is not None:
            continue
        turned = rows.part(np.arange(rows.n)[::-1])
        scores = None if seen.scores is None else replace(seen.scores, evidence=RowScores(turned, turned.labels))
        looked_at.append(code)
        if replace(seen, predictions=turned, scores=scores).review[code].title != seen.review[code].title:
            changed.append(code)
    assert len(looked_at) > len(CASES) / 2
    assert changed == []


def test_a_review_ranks_no_scores_again(monkeypatch):
    from heldout.engines import score_evidence as engine
    from heldout.findings import rules_threshold

    truth, score = ranked()
    seen = heldout.evaluate(truth, (score >= 0.4).astype(int), score=score, costs={(1, 0): 10, (0, 1): 1})
    # Estimates are made, and scores ranked, when they are first read.
    assert seen.rows()

    def again(*_: object, **__: object) -> None:
        message = "the scores were ranked for the evaluation already"
        raise AssertionError(message)

    monkeypatch.setattr(engine, "rank", again)
    monkeypatch.setattr(rules_threshold, "rank", again)
    assert {"H004", "H011", "H020", "H023"} <= {f.code for f in seen.review.findings if f.outcome != "not applicable"}
