"""Experiments with decisions: imbalanced classes, costs, a threshold chosen on the test cases, the best of k models."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from statistics import NormalDist
from typing import Any

import numpy as np

from heldout.api.choose_threshold import choose_threshold
from heldout.api.evaluate import evaluate
from heldout.arrays import Floats
from heldout.costs import Costs
from heldout.intervals.proportion import wilson
from heldout.lab.demonstration import Figure, Observed, make_mean, make_share, pick_series
from heldout.lab.experiment import experiment, simulate
from heldout.lab.intervals_and_tests import draw_scores, find_true_value
from heldout.measures.catalogue import find
from heldout.resampling.workers import Jobs, Progress
from heldout.show.numbers import number

_below = NormalDist().cdf
# What is compared under another mix of the classes: shares within a class, and those that look across.
SHOWN = ("roc_auc", "recall", "false_positive_rate", "pr_auc", "precision")


@experiment(
    title="Imbalance in ROC and precision-recall curves",
    question="What happens to the figures of one classifier where the positive class is rarer?",
    claim="With imbalanced classes the ROC curve may show optimistic results; another distribution changes the "
    "location of a classifier's point on it.",
    source="Evaluation and Validation; Model Evaluation",
    see="Recall, false positive rate and the area under the ROC curve stay where they are: they are shares within a "
    "class. Precision and average precision, the area under the precision-recall curve, fall with the share of "
    "positives. With very few positives average precision is measured a little too high.",
    measured="value",
    series="measure",
    at="prevalence",
)
def imbalance(
    prevalence: float | Sequence[float] = (0.5, 0.2, 0.1, 0.05, 0.01),
    separation: float = 2.0,
    n: int = 2000,
    *,
    draws: int = 200,
    seed: int = 0,
    jobs: Jobs = None,
    progress: Progress = None,
) -> Observed:
    """Judge one scorer, with a threshold in the middle, on cases with more and fewer positives.

    Examples
    --------
    >>> shown = imbalance([0.5, 0.05], n=500, draws=20)
    >>> shown.figure("precision", 0.05).value < 0.5 < shown.figure("precision", 0.5).value
    True

    """
    shares = tuple(prevalence)  # type: ignore[arg-type]
    draw = partial(_draw_mixes, shares=shares, separation=separation, n=n)
    values = simulate(draw, draws, seed=seed, jobs=jobs, progress=progress)
    figures = tuple(
        make_mean(find(name).title, values[:, i, j], at=share, n=n, expected=_find_expected(name, share, separation))
        for j, name in enumerate(SHOWN)
        for i, share in enumerate(shares)
    )
    common, rare = shares.index(max(shares)), shares.index(min(shares))

    def say(name: str) -> str:
        own = pick_series(figures, find(name).title)
        return f"{number(own[common].value)} and {number(own[rare].value)}"

    sentence = (
        f"With {number(shares[common])} and {number(shares[rare])} of the cases positive one classifier has an area "
        f"under the ROC curve of {say('roc_auc')}, and a precision of {say('precision')}."
    )
    return Observed(figures, sentence)


def _draw_mixes(
    rng: np.random.Generator, count: int, *, shares: tuple[float, ...], separation: float, n: int
) -> Floats:
    values = np.empty((count, len(shares), len(SHOWN)))
    for at in range(count):
        for i, share in enumerate(shares):
            positives = max(1, round(share * n))
            truth = np.repeat([1, 0], [positives, n - positives])
            score = rng.normal(size=n) + separation * (truth - 0.5)
            judged = evaluate(
                truth, score=score, threshold=0.0, positive=1, labels=[0, 1], measures=list(SHOWN), method=None
            )
            values[at, i] = [judged[name].value for name in SHOWN]
    return values


def _find_expected(name: str, prevalence: float, separation: float) -> float:
    """The value in all cases together: of an area by summing up, of a share by the normal distribution."""
    if name == "roc_auc":
        return _below(separation / math.sqrt(2))
    if name != "pr_auc":
        return find_true_value(name, _below(-separation / 2), prevalence)
    from scipy.special import ndtr

    thresholds = np.linspace(-12 - separation, 12 + separation, 20_001)
    hits, alarms = ndtr(separation / 2 - thresholds), ndtr(-separation / 2 - thresholds)
    precision = prevalence * hits / (prevalence * hits + (1 - prevalence) * alarms)
    return float(np.sum((precision[1:] + precision[:-1]) / 2 * -np.diff(hits)))


DEARER = "the more accurate costs more"


@experiment(
    title="Cost against accuracy",
    question="How often does the more accurate of two classifiers cost more?",
    claim="Accuracy is proportional to cost where all errors cost the same and all correct answers do.",
    source="Model Evaluation",
    see="Where a miss costs as much as a false alarm, cost is a falling line of accuracy (and not proportional to it), "
    "and the more accurate classifier never costs more. The more the costs differ, the more often it does.",
    measured="share of pairs",
    series="of two classifiers",
    at="ratio",
)
def cost_accuracy(
    ratio: float | Sequence[float] = (1.0, 2.0, 5.0, 10.0, 50.0),
    prevalence: float = 0.2,
    n: int = 500,
    *,
    draws: int = 500,
    seed: int = 0,
    jobs: Jobs = None,
    progress: Progress = None,
) -> Observed:
    """Draw pairs of classifiers, and count in how many the more accurate one has the higher expected cost.

    Examples
    --------
    >>> shown = cost_accuracy([1, 20], draws=30)
    >>> [one.value > 0.1 for one in shown.figures]
    [False, True]

    """
    ratios = tuple(ratio)  # type: ignore[arg-type]
    values = simulate(
        partial(_draw_pairs, ratios=ratios, prevalence=prevalence, n=n), draws, seed=seed, jobs=jobs, progress=progress
    )
    figures = tuple(make_share(DEARER, values[:, i], at=one, n=n) for i, one in enumerate(ratios))
    last = figures[-1]
    sentence = (
        f"Where a miss costs {ratios[-1]:g} times a false alarm, the more accurate of two classifiers costs more in "
        f"{number(last.value)} of all pairs"
        + (f"; where both cost the same, in {number(figures[0].value)}." if ratios[0] == 1 else ".")
    )
    return Observed(figures, sentence)


def _draw_pairs(
    rng: np.random.Generator, count: int, *, ratios: tuple[float, ...], prevalence: float, n: int
) -> Floats:
    dearer = np.zeros((count, len(ratios)), dtype=bool)
    positives = max(1, round(prevalence * n))
    prices = [Costs.of([[0, 1], [ratio, 0]], [0, 1], rows="truth") for ratio in ratios]
    for at in range(count):
        tables = []
        for _ in range(2):
            # A classifier is a point of some ROC curve: how well it ranks, and where its threshold stands.
            separation, threshold = rng.uniform(0.5, 3), rng.uniform(-1.5, 1.5)
            tp = int(rng.binomial(positives, _below(separation / 2 - threshold)))
            fp = int(rng.binomial(n - positives, _below(-separation / 2 - threshold)))
            tables.append([[n - positives - fp, fp], [positives - tp, tp]])
        for i, costs in enumerate(prices):
            first, second = (
                evaluate(matrix=table, labels=[0, 1], costs=costs, measures=["accuracy", "expected_cost"])
                for table in tables
            )
            gain, price = (first[name].value - second[name].value for name in ("accuracy", "expected_cost"))
            dearer[at, i] = gain * price > 1e-12
    return dearer


SAME, CROSS_FITTED, NEW = "the same cases", "cross-fitting", "new cases (truth)"


@experiment(
    title="A threshold chosen on the cases that judge it",
    question="How much too good is a figure at the threshold that was chosen for it?",
    claim="When analysing an ROC curve, a specialist may decide which threshold to use in the model.",
    source="Evaluation and Validation",
    see="The figure on the cases that the threshold was chosen on lies above what new cases give, most with few cases. "
    "The cross-fitted figure, which heldout gives by --honest, does not.",
    measured="value",
    series="judged on",
    at="n",
)
def double_dipping(
    n: int | Sequence[int] = (50, 100, 200, 400),
    separation: float = 1.5,
    prevalence: float = 0.2,
    *,
    measure: str = "f1",
    draws: int = 80,
    seed: int = 0,
    jobs: Jobs = None,
    progress: Progress = None,
) -> Observed:
    """Choose a threshold for the highest value of a measure, and judge it on the same cases, by folds, and truly.

    Examples
    --------
    >>> shown = double_dipping(50, draws=8)
    >>> shown["the same cases"].value > shown["new cases (truth)"].value
    True

    """
    sizes = tuple(n)  # type: ignore[arg-type]
    draw = partial(_draw_thresholds, sizes=sizes, separation=separation, prevalence=prevalence, measure=measure)
    values = simulate(draw, draws, seed=seed, jobs=jobs, progress=progress)
    figures = tuple(
        make_mean(name, values[:, i, j], at=float(size), n=size)
        for j, name in enumerate((SAME, CROSS_FITTED, NEW))
        for i, size in enumerate(sizes)
    )
    same, folded, new = (pick_series(figures, name)[0] for name in (SAME, CROSS_FITTED, NEW))
    sentence = (
        f"With {sizes[0]:,} cases {find(measure).title} at the chosen threshold is {number(same.value)} on the cases "
        f"it was chosen on, and {number(new.value)} on new ones; cross-fitting says {number(folded.value)}."
    )
    return Observed(figures, sentence)


def _draw_thresholds(
    rng: np.random.Generator, count: int, *, sizes: tuple[int, ...], separation: float, prevalence: float, measure: str
) -> Floats:
    values = np.empty((count, len(sizes), 3))
    p = _below(-separation / 2)
    for at in range(count):
        for i, n in enumerate(sizes):
            truth, score = draw_scores(rng, n, separation, prevalence)
            while truth.sum() < 5:
                truth, score = draw_scores(rng, n, separation, prevalence)
            decision = choose_threshold(
                truth, score=score, positive=1, by=measure, honest=True, seed=int(rng.integers(2**31))
            )
            by_role: dict[Any, Any] = {row["role"]: row["value"] for row in decision.rows()}
            true = find_true_value(measure, p, prevalence, by_role["threshold"])
            values[at, i] = by_role["criterion"], by_role["honest"], true
    return values


@experiment(
    title="The best of k models",
    question="How good is the model that did best on the test set, of k that are all equally good?",
    claim="If the accuracy on S is very high but that on D is poor, then the system would not be very useful.",
    source="Statistical Evaluation",
    see="The more models are tried, the better the winner looks on the test set, though none is better than another. "
    "On new cases it is what it always was, and the usual interval of the winner holds the truth ever more rarely.",
    measured="accuracy",
    series="judged on",
    at="models",
)
def best_of_k(
    models: int | Sequence[int] = (1, 2, 5, 10, 20, 50, 100),
    n: int = 200,
    p: float = 0.2,
    *,
    level: float = 0.95,
    draws: int = 4000,
    seed: int = 0,
    jobs: Jobs = None,
    progress: Progress = None,
) -> Observed:
    """Judge k models that all err with probability p on the same number of cases, and take the best of them.

    Examples
    --------
    >>> shown = best_of_k([1, 50], draws=100)
    >>> shown.figure("the test set", 50).value > 0.83
    True

    """
    counts = tuple(models)  # type: ignore[arg-type]
    values = simulate(
        partial(_draw_winners, counts=counts, n=n, p=p, level=level), draws, seed=seed, jobs=jobs, progress=progress
    )
    figures: list[Figure] = [
        make_mean(
            "the test set", values[:, i, 0], at=float(k), n=n, expected=_expect_winner(k, n, p), measure="accuracy"
        )
        for i, k in enumerate(counts)
    ]
    figures += [
        make_mean("new cases", values[:, i, 1], at=float(k), n=n, expected=1 - p, measure="accuracy")
        for i, k in enumerate(counts)
    ]
    figures += [
        make_share("the test set", values[:, i, 2] > 0, at=float(k), n=n, measure="coverage of the winner's interval")
        for i, k in enumerate(counts)
    ]
    most = len(counts) - 1
    sentence = (
        f"Of {counts[most]:,} models that are all right in {number(1 - p)} of all cases, the best has "
        f"{number(figures[most].value)} on the test set of {n:,} cases and {number(figures[2 * most + 1].value)} on "
        f"new ones; its {100 * level:g} % interval holds the truth in {number(figures[-1].value)} of all samples."
    )
    return Observed(tuple(figures), sentence)


def _draw_winners(
    rng: np.random.Generator, count: int, *, counts: tuple[int, ...], n: int, p: float, level: float
) -> Floats:
    values = np.empty((count, len(counts), 3))
    for i, k in enumerate(counts):
        best = rng.binomial(n, 1 - p, size=(count, k)).max(axis=1)
        low, high = wilson(best, n, level)
        values[:, i, 0] = best / n
        values[:, i, 1] = rng.binomial(n, 1 - p, size=count) / n
        values[:, i, 2] = (low <= 1 - p) & (1 - p <= high)
    return values


def _expect_winner(k: int, n: int, p: float) -> float:
    """The mean of the largest of k binomial shares: the sum of the chances that it is above each count."""
    from scipy.stats import binom

    return float((1 - binom.cdf(np.arange(n), n, 1 - p) ** k).sum() / n)
