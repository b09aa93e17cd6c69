"""Measures of predicted probabilities: proper scores, calibration, and the rank of the true class."""

from __future__ import annotations

from typing import Any

import numpy as np

from heldout.evidence.losses import LOSSES
from heldout.evidence.probabilities import Probabilities
from heldout.evidence.ranking import Ranking
from heldout.measures.calibration_curve import smooth_calibration, weighted_quantile
from heldout.measures.declare import NO_CASES, UNBOUNDED, Headline, Measure, measure
from heldout.measures.recalibration import ONE_CLASS, LogisticFit, recalibrate

GOOD = "Good (1952), Rational decisions"
BRIER = "Brier (1950), Verification of forecasts expressed in terms of probability"
MURPHY = "Murphy (1973), A new vector partition of the probability score"
STEPHENSON = "Stephenson, Coelho & Jolliffe (2008), Two extra components in the Brier score decomposition"
NAEINI = "Naeini, Cooper & Hauskrecht (2015), Obtaining well calibrated probabilities using Bayesian binning"
COX = "Cox (1958), Two further applications of a model for binary regression"
VAN_CALSTER = "Van Calster et al. (2016), A calibration hierarchy for risk models"
SPHERICAL = (
    "Roby (1965), Belief states and the uses of evidence; Good (1971), comment on Buehler's measuring information; "
    "Gneiting & Raftery (2007), Strictly proper scoring rules, prediction, and estimation"
)
AUSTIN = "Austin & Steyerberg (2019), The integrated calibration index (ICI) and related metrics"
RUSSAKOVSKY = "Russakovsky et al. (2015), ImageNet large scale visual recognition challenge"

NOT_SUMMED = "there are no cases, or they were counted by a version that did not know this score"
NO_BINS = "there are no cases in bins"
NOT_BINARY = "there are no cases in bins, or there is more than one probability per case"
NO_FIT = "there is one class only, the probabilities separate the classes, or the scores are no probabilities"
NOT_SMOOTH = "there are no cases, or the scores are no probabilities"
NO_RANKS = "there are no cases, or only one probability per case"
# What a measure is about that only asks which classes have the highest scores: any scores will do.
CLASS_ORDER = "class order"


@measure(
    symbol="LL",
    aliases=("logloss", "cross_entropy", "logarithmic_loss", "negative_log_likelihood", "mn_log_loss"),
    kind="loss",
    scope="probability",
    high=UNBOUNDED,
    direction="lower",
    undefined=NO_CASES,
    reference=GOOD,
    formula="mean of -log(probability of the true class)",
    intervals=("hall",),
    component="log_loss",
    headline=Headline(11, ("screen", "page")),
    reported=True,
)
def log_loss(probabilities: Probabilities) -> tuple[Any, Any]:
    """Mean of minus the logarithm of the probability that the true class was given."""
    return _loss(probabilities, "log_loss")


@measure(
    symbol="BS",
    title="Brier score",
    aliases=("brier_score", "brier_loss", "brier_score_loss", "brier_class"),
    kind="loss",
    scope="probability",
    high=2.0,
    direction="lower",
    undefined=NO_CASES,
    reference=BRIER,
    formula="mean of (y - p)²",
    intervals=("hall",),
    component="brier",
    headline=Headline(9, ("screen", "page", "comparison", "card")),
    reported=True,
)
def brier(probabilities: Probabilities) -> tuple[Any, Any]:
    """Mean squared error of the probability; with three or more classes, its sum over the classes (at most 2)."""
    return _loss(probabilities, "brier")


@measure(
    symbol="SPH",
    aliases=("spherical", "spherical_scoring_rule"),
    kind="loss",
    scope="probability",
    undefined=NOT_SUMMED,
    reference=SPHERICAL,
    formula="mean of (probability of the true class) / √(Σ p² over the classes)",
    intervals=("hall",),
    component="spherical_score",
)
def spherical_score(probabilities: Probabilities) -> tuple[Any, Any]:
    """Mean cosine of the angle between probabilities and truth, a proper score; 1/k for each class gives 1/√k."""
    return _loss(probabilities, "spherical_score")


@measure(
    symbol="REL",
    aliases=("brier_reliability",),
    kind="calibration",
    scope="probability",
    direction="lower",
    undefined=NOT_BINARY,
    reference=MURPHY,
    formula="mean over bins of (mean p - share that came true)², by cases",
    intervals=("test-inversion",),
    component="squared",
    reported=True,
)
def brier_calibration(probabilities: Probabilities) -> tuple[Any, Any]:
    """Part of the Brier score that is due to bins whose mean probability is not the share that came true."""
    return (_calibration(probabilities), probabilities.weight) if _decomposes(probabilities) else (0.0, 0.0)


@measure(
    symbol="REF",
    aliases=("brier_sharpness",),
    kind="calibration",
    scope="probability",
    direction="lower",
    undefined=NOT_BINARY,
    reference=MURPHY,
    formula="brier - brier_calibration",
    intervals=("bias-corrected",),
    reported=True,
)
def brier_refinement(probabilities: Probabilities) -> tuple[Any, Any]:
    """What is left of the Brier score when every bin is calibrated: uncertainty minus resolution."""
    if not _decomposes(probabilities):
        return 0.0, 0.0
    return probabilities.losses["brier"].total - _calibration(probabilities), probabilities.weight


@measure(
    symbol="RES",
    aliases=(),
    kind="calibration",
    scope="probability",
    low=-1.0,
    high=0.25,
    undefined=NOT_BINARY,
    reference=STEPHENSON,
    formula="brier_uncertainty - brier_refinement",
    intervals=("bias-corrected-shares",),
    reported=True,
)
def brier_resolution(probabilities: Probabilities) -> tuple[Any, Any]:
    """How far the bins' shares differ from the prevalence, corrected for what goes on within the bins."""
    if not _decomposes(probabilities):
        return 0.0, 0.0
    refinement = probabilities.losses["brier"].total - _calibration(probabilities)
    return _reference(probabilities, "brier") * probabilities.weight - refinement, probabilities.weight


@measure(
    symbol="UNC",
    aliases=(),
    kind="calibration",
    scope="probability",
    direction="none",
    high=0.25,
    undefined=NOT_BINARY,
    reference=MURPHY,
    formula="prevalence · (1 - prevalence)",
    intervals=("wilson-spread",),
    reported=True,
)
def brier_uncertainty(probabilities: Probabilities) -> tuple[Any, Any]:
    """The Brier score of always predicting the prevalence: the part that no forecaster can help."""
    if probabilities.top_label or not probabilities.weight:
        return 0.0, 0.0
    return _reference(probabilities, "brier"), 1.0


@measure(
    symbol="BSS",
    title="Brier skill score",
    aliases=("brier_skill_score", "d2_brier_score"),
    kind="loss",
    scope="probability",
    low=-UNBOUNDED,
    undefined=ONE_CLASS,
    reference=MURPHY,
    formula="1 - brier / (brier of the class shares)",
    intervals=("influence",),
    component="brier",
    headline=Headline(10, ("page",)),
    reported=True,
)
def brier_skill(probabilities: Probabilities) -> tuple[Any, Any]:
    """Share by which the Brier score is lower than that of always predicting the class shares."""
    return _skill(probabilities, "brier")


@measure(
    symbol="LLS",
    aliases=("log_loss_skill_score", "d2_log_loss_score"),
    kind="loss",
    scope="probability",
    low=-UNBOUNDED,
    undefined=ONE_CLASS,
    reference=GOOD,
    formula="1 - log_loss / (log loss of the class shares)",
    intervals=("influence",),
    component="log_loss",
    reported=True,
)
def log_loss_skill(probabilities: Probabilities) -> tuple[Any, Any]:
    """Share by which the log loss is lower than that of always predicting the class shares."""
    return _skill(probabilities, "log_loss")


@measure(
    symbol="ECE",
    aliases=("calibration_error",),
    kind="calibration",
    scope="probability",
    direction="lower",
    undefined=NO_BINS,
    reference=NAEINI,
    formula="mean over bins of |mean p - share that came true|, by cases",
    intervals=("test-inversion",),
    component="expected",
    headline=Headline(12, ("page",)),
    reported=True,
)
def expected_calibration_error(probabilities: Probabilities) -> tuple[Any, Any]:
    """Mean distance between a bin's mean probability and its share that came true; above 0 by chance alone."""
    return float(np.abs(probabilities.reliability.gap).sum()), float(probabilities.reliability.weight.sum())


@measure(
    symbol="MCE",
    aliases=("max_calibration_error",),
    kind="calibration",
    scope="probability",
    direction="lower",
    undefined=NO_BINS,
    reference=NAEINI,
    formula="largest |mean p - share that came true| of a bin",
    component="maximum",
    reported=True,
)
def maximum_calibration_error(probabilities: Probabilities) -> tuple[Any, Any]:
    """Largest distance between a bin's mean probability and its share that came true; bins of few cases decide it."""
    bins = probabilities.reliability
    filled = bins.weight > 0
    if not filled.any():
        return 0.0, 0.0
    return float((np.abs(bins.gap[filled]) / bins.weight[filled]).max()), 1.0


@measure(
    symbol="slope",
    aliases=("cox_slope",),
    kind="calibration",
    scope="ranking",
    low=-UNBOUNDED,
    high=UNBOUNDED,
    direction="none",
    undefined=NO_FIT,
    reference=COX,
    formula="b of the logistic fit logit P(y = 1) = a + b · logit(p)",
    intervals=("wald",),
    component="slope",
    reported=True,
)
def calibration_slope(ranking: Ranking) -> tuple[Any, Any]:
    """Slope of the truth on the logit of its probability: 1 is best, below 1 the probabilities are too extreme."""
    fit = recalibrate(ranking)
    return _settled(fit, fit.slope)


@measure(
    symbol="intercept",
    aliases=("cox_intercept",),
    kind="calibration",
    scope="ranking",
    low=-UNBOUNDED,
    high=UNBOUNDED,
    direction="zero",
    undefined=NO_FIT,
    reference=COX,
    formula="a of the logistic fit logit P(y = 1) = a + b · logit(p)",
    intervals=("wald",),
    component="intercept",
    reported=True,
)
def calibration_intercept(ranking: Ranking) -> tuple[Any, Any]:
    """Intercept of the truth on the logit of its probability, the slope fitted as well; 0 is best."""
    fit = recalibrate(ranking)
    return _settled(fit, fit.intercept)


@measure(
    symbol="CITL",
    aliases=("citl", "calibration_in_the_large_intercept"),
    kind="calibration",
    scope="ranking",
    low=-UNBOUNDED,
    high=UNBOUNDED,
    direction="zero",
    undefined="there is one class only, also among those not forecast with 0 or 1, or the scores are no probabilities",
    reference=VAN_CALSTER,
    formula="a of the logistic fit logit P(y = 1) = a + logit(p)",
    intervals=("wald",),
    component="in_the_large",
    reported=True,
)
def calibration_in_the_large(ranking: Ranking) -> tuple[Any, Any]:
    """Intercept with the slope fixed at 1: above 0 the probabilities are too low on the whole."""
    fit = recalibrate(ranking, fixed_slope=True)
    return _settled(fit, fit.intercept)


@measure(
    symbol="ICI",
    aliases=("ici",),
    kind="calibration",
    scope="ranking",
    direction="lower",
    undefined=NOT_SMOOTH,
    reference=AUSTIN,
    formula="mean over the cases of |smooth share of positives at p - p|",
    intervals=("smooth-inversion",),
    reported=True,
)
def integrated_calibration_index(ranking: Ranking) -> tuple[Any, Any]:
    """Mean distance between the probabilities and the smooth calibration curve; above 0 by chance alone."""
    curve = smooth_calibration(ranking)
    return (0.0, 0.0) if curve.reason else (float(curve.shares @ np.abs(curve.gap)), 1.0)


@measure(
    symbol="E90",
    aliases=("calibration_e90",),
    kind="calibration",
    scope="ranking",
    direction="lower",
    undefined=NOT_SMOOTH,
    reference=AUSTIN,
    formula="quantile over the cases of |smooth share of positives at p - p|",
    intervals=("smooth-inversion",),
)
def calibration_error_quantile(ranking: Ranking, *, quantile: float = 0.9) -> tuple[Any, Any]:
    """Distance from the smooth calibration curve that this share of the cases does not exceed: E90 by default."""
    curve = smooth_calibration(ranking)
    if curve.reason:
        return 0.0, 0.0
    distance = weighted_quantile(np.abs(curve.gap)[:, None], curve.shares[:, None], quantile)
    return float(distance[0]), 1.0


@measure(
    symbol="top-k",
    title="top-k accuracy",
    aliases=("top_k", "top_k_accuracy_score"),
    scope="probability",
    undefined=NO_RANKS,
    reference=RUSSAKOVSKY,
    formula="cases whose true class is among the k most probable / n",
    intervals=("wilson",),
    component=CLASS_ORDER,
    reported=True,
)
def top_k_accuracy(probabilities: Probabilities, *, k: float = 2.0) -> tuple[Any, Any]:
    """Share of the cases whose true class is among the k most probable; among equals the later label comes first."""
    if probabilities.ranks is None:
        return 0.0, 0.0
    return float(probabilities.ranks[: int(k)].sum()), probabilities.weight


def _decomposes(probabilities: Probabilities) -> bool:
    """Whether the bins are those of the Brier score's own probabilities."""
    return not probabilities.top_label and bool(probabilities.reliability.weight.sum() > 0)


def _calibration(probabilities: Probabilities) -> float:
    bins = probabilities.reliability
    return float((bins.gap**2 / np.where(bins.weight > 0, bins.weight, 1.0)).sum())


def _loss(probabilities: Probabilities, name: str) -> tuple[float, float]:
    """The sum of a loss and the weight of the cases; nothing where it was not summed."""
    moments = probabilities.losses.get(name)
    return (0.0, 0.0) if moments is None else (moments.total, probabilities.weight)


def _reference(probabilities: Probabilities, name: str) -> float:
    """The loss of always predicting the class shares."""
    return float(LOSSES[name].reference(probabilities.class_weight / (probabilities.weight or 1.0)))


def _skill(probabilities: Probabilities, name: str) -> tuple[float, float]:
    reference = _reference(probabilities, name)
    return (reference - probabilities.losses[name].mean, reference) if reference > 0 else (0.0, 0.0)


def _settled(fit: LogisticFit, value: float) -> tuple[float, float]:
    return (0.0, 0.0) if fit.reason else (value, 1.0)


MEASURES: tuple[Measure, ...] = (
    log_loss,
    brier,
    spherical_score,
    brier_calibration,
    brier_refinement,
    brier_resolution,
    brier_uncertainty,
    brier_skill,
    log_loss_skill,
    expected_calibration_error,
    maximum_calibration_error,
    calibration_slope,
    calibration_intercept,
    calibration_in_the_large,
    integrated_calibration_index,
    calibration_error_quantile,
    top_k_accuracy,
)
