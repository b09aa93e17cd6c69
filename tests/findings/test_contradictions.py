"""Verdicts and findings of one result: no two of the claims that they declare answer a question differently."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import combinations

import numpy as np
import pytest
from tests.findings import evaluation_cases, resampled_cases

import heldout
from heldout.findings.review import RULE_CATALOGUE
from heldout.findings.rules_imbalance import gain_over_commonest
from heldout.report.evaluation import write_verdict
from heldout.resampling.learning_curve import LearningCurve
from heldout.resampling.power_law import fit_power_law
from heldout.results.evaluation import Evaluation
from heldout.results.validation import Validation, Validations
from heldout.review import QUESTIONS

EVALUATED = [*evaluation_cases.CASES]
RESAMPLED = [code for code in resampled_cases.CASES if RULE_CATALOGUE[code].about != "comparison"]
SIZES = (20, 40, 80, 160, 320)


def find_contradictions(claims) -> list[tuple[str, str]]:
    """Pairs of different answers to one question."""
    question_of = {answer: question for question, answers in QUESTIONS.items() for answer in answers}
    return [pair for pair in combinations(sorted(set(claims)), 2) if question_of[pair[0]] == question_of[pair[1]]]


def claims_of_verdict(evaluation: Evaluation) -> tuple[str, ...]:
    """What the verdict claims, of the answers to questions that findings answer too.

    Where all but few cases are of one class it is about guessing, and not about the commonest class.
    """
    said = write_verdict(evaluation)[0]
    if said.startswith("Better than guessing"):
        return ("tells the classes apart",) if "? Yes" in said else ()
    found = gain_over_commonest(evaluation.confusion, evaluation.level, evaluation.independent)
    return () if found is None or not found.claim else (found.claim,)


def claims_of(result) -> list[str]:
    """Everything that is claimed of a result, by its verdict and by rules that fired or passed."""
    verdict: tuple[str, ...] = (result.claim,) if isinstance(result, LearningCurve) else ()
    if not verdict:
        verdict = claims_of_verdict(result.evaluation if isinstance(result, Validation) else result)
    return [*verdict, *(claim for found in result.review.findings for claim in found.claims)]


def check(result) -> list[str]:
    claims = claims_of(result)
    assert find_contradictions(claims) == [], [
        (found.code, found.title, found.claims) for found in result.review.findings if found.claims
    ]
    return claims


def test_every_claim_answers_a_question():
    answers = {answer for answers in QUESTIONS.values() for answer in answers}
    assert len(answers) == sum(map(len, QUESTIONS.values()))
    for rule in RULE_CATALOGUE.values():
        assert set(rule.claims) <= answers, rule.code


def test_a_contradiction_is_seen():
    assert find_contradictions(["more data helps", "whether more data helps is unknown"])
    assert not find_contradictions(["more data helps", "overfits", "more data helps"])
    with pytest.raises(KeyError):
        find_contradictions(["overfits", "sleeps"])


@pytest.mark.parametrize("code", EVALUATED)
def test_the_data_of_rules_about_evaluations(code):
    check(evaluation_cases.fired(code))
    check(evaluation_cases.passed(code))


@pytest.mark.parametrize("code", RESAMPLED)
def test_the_data_of_rules_about_validations_and_curves(code):
    for result in (resampled_cases.CASES[code].fires(), resampled_cases.CASES[code].passes()):
        for one in result if isinstance(result, Validations) else (result,):
            check(one)


@cache
def grown() -> LearningCurve:
    return resampled_cases.curve()


def drawn_curve(rng: np.random.Generator) -> LearningCurve:
    """A learning curve of any course: floors, slopes and noise of all sizes, errors that rise, few draws or many."""
    sizes, draws = np.array(SIZES), int(rng.choice([2, 4, 6, 15]))
    mean = rng.choice([0.0, 0.02, 0.2]) + rng.choice([-0.5, 0.0, 0.5, 2.0, 5.0]) * sizes ** -rng.uniform(0.2, 1.5)
    test = np.clip(mean + rng.choice([0.001, 0.01, 0.05]) * rng.normal(size=(draws, len(sizes))), 0, 1)
    training = np.clip(test - rng.choice([0.0, 0.01, 0.3]), 0, 1)
    half = 1.96 * np.sqrt(np.maximum(test.mean(axis=0), 0.01) / 160)
    return replace(
        grown(), sizes=SIZES, training=training, test=test, low=np.clip(test.mean(axis=0) - half, 0, 1),
        high=np.clip(test.mean(axis=0) + half, 0, 1), n=(160,) * len(sizes), n_rows=480,
        law=fit_power_law(list(SIZES), test, present=480),
    )  # fmt: skip


def test_learning_curves_of_any_course():
    rng = np.random.default_rng(11)
    claims = [claim for _ in range(60) for claim in set(check(drawn_curve(rng)))]
    # All answers were met, and both rules that give one.
    assert set(QUESTIONS["more data"]) <= set(claims)


def test_a_curve_that_may_level_off_is_no_reason_to_collect_more():
    seen = resampled_cases.curve(apart=2.0, n=60, draws=10)
    assert "cannot be told" in seen.verdict
    assert "more data helps" not in claims_of(seen)
    assert not any("Collect more cases" in found.advice for found in seen.findings)


def drawn_evaluation(rng: np.random.Generator) -> Evaluation:
    """Answers of any quality, to classes of any share, in few cases or many, with scores or without, priced or not."""
    n, share = int(rng.choice([12, 40, 150, 600])), float(rng.choice([0.02, 0.1, 0.3, 0.5, 0.8]))
    apart = float(rng.choice([-1.0, 0.0, 0.5, 1.5, 4.0]))
    truth = (rng.random(n) < share).astype(int)
    odds = np.log(share / (1 - share)) + apart * (rng.normal(size=n) + apart * (truth - 0.5))
    score = 1 / (1 + np.exp(-float(rng.choice([1.0, 3.0])) * odds * (1 if apart > 0 else -1)))
    options: dict = {"labels": [0, 1], "positive": 1}
    if rng.random() < 0.3:
        options["costs"] = {(1, 0): float(rng.choice([1, 10])), (0, 1): 1.0}
    if rng.random() < 0.3:
        options["fold"] = np.arange(n) % 3
    if rng.random() < 0.3:
        options["group"] = rng.integers(0, max(n // 4, 2), n)
    if rng.random() < 0.5:
        return heldout.evaluate(truth, (score >= 0.5).astype(int), **options)
    return heldout.evaluate(truth, score=score, threshold=float(rng.choice([0.1, 0.5])), **options)


def test_evaluations_of_any_quality():
    rng = np.random.default_rng(12)
    seen = [drawn_evaluation(rng) for _ in range(45)]
    claims = [claim for one in seen for claim in set(check(one))]
    for question in ("commonest class", "skill", "probabilities"):
        assert set(QUESTIONS[question]) <= set(claims), question
    # What the verdict claims is what it says.
    about_commonest = [one for one in seen if not write_verdict(one)[0].startswith("Better than guessing")]
    assert len(seen) > len(about_commonest) > 10
    for one in about_commonest:
        said = write_verdict(one)[0]
        words = {"beats the commonest class": "? Yes", "does not beat the commonest class": "? No"}
        for claim, word in words.items():
            assert (claim in claims_of_verdict(one)) == (word in said), said
