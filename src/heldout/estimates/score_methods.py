"""Interval methods for measures of scores and probabilities, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from heldout.errors import OptionError, listing
from heldout.estimates.calibration import calibration_limits, recalibration_limits
from heldout.estimates.delong import delong, delong_logit, hanley_mcneil
from heldout.estimates.losses import loss_limits, skill_limits, top_k_limits
from heldout.estimates.precision_area import average_precision_limits
from heldout.estimates.ranking_bootstrap import Form, bootstrap_limits
from heldout.evidence import Ranking
from heldout.evidence.probabilities import Probabilities
from heldout.measures.quantity import Bound

Limits = tuple[float, float]


@dataclass(frozen=True, slots=True)
class ScoreSubject:
    """A measure of scores on the evidence it needs."""

    bound: Bound
    evidence: Any
    replicates: int = 1999
    seed: int = 0

    @property
    def name(self) -> str:
        """The name of the measure."""
        return self.bound.measure.name

    @property
    def ranking(self) -> Ranking:
        """The ranking that the measure is of."""
        if not isinstance(self.evidence, Ranking):
            message = f"{self.name} is not a measure of a ranking"
            raise TypeError(message)
        return self.evidence

    @property
    def probabilities(self) -> Probabilities:
        """The probabilities that the measure is of."""
        if not isinstance(self.evidence, Probabilities):
            message = f"{self.name} is not a measure of probabilities"
            raise TypeError(message)
        return self.evidence

    @property
    def value(self) -> float:
        """The value itself."""
        return float(self.bound.value({self.bound.measure.cells[0]: self.evidence}))


@dataclass(frozen=True, slots=True)
class ScoreMethod:
    """An interval method for measures of scores: what it is called, what it applies to, and how it is found."""

    name: str
    applies: Callable[[ScoreSubject], bool]
    find: Callable[[ScoreSubject, float], Limits]
    reference: str


AREAS = ("roc_auc", "gini")
LOSSES = ("log_loss", "brier")
SKILLS = {"log_loss_skill": "log_loss", "brier_skill": "brier"}
CALIBRATION = {
    "expected_calibration_error": "expected",
    "maximum_calibration_error": "maximum",
    "brier_calibration": "squared",
}
RECALIBRATION = {
    "calibration_slope": "slope",
    "calibration_intercept": "intercept",
    "calibration_in_the_large": "in_the_large",
}


def _of_area(formula: Callable[[Ranking, float], Limits]) -> Callable[[ScoreSubject, float], Limits]:
    def find(subject: ScoreSubject, level: float) -> Limits:
        low, high = formula(subject.ranking, level)
        # Gini's coefficient is the area stretched to run from -1 to 1.
        return (2 * low - 1, 2 * high - 1) if subject.name == "gini" else (low, high)

    return find


def _is_area(subject: ScoreSubject) -> bool:
    return subject.name in AREAS


def _resampled(form: Form) -> Callable[[ScoreSubject, float], Limits]:
    def find(subject: ScoreSubject, level: float) -> Limits:
        return bootstrap_limits(
            subject.ranking, subject.bound, level, form=form, replicates=subject.replicates, seed=subject.seed
        )

    return find


def _is_ranking(subject: ScoreSubject) -> bool:
    return subject.bound.measure.kind in ("ranking", "precision area", "proportion", "ratio") and isinstance(
        subject.evidence, Ranking
    )


def _skill(subject: ScoreSubject, level: float) -> Limits:
    return skill_limits(subject.probabilities, SKILLS[subject.name], level)  # type: ignore[arg-type]


def _calibration(subject: ScoreSubject, level: float) -> Limits:
    return calibration_limits(subject.probabilities, CALIBRATION[subject.name], level)  # type: ignore[arg-type]


def _recalibration(subject: ScoreSubject, level: float) -> Limits:
    return recalibration_limits(subject.ranking, RECALIBRATION[subject.name], level)  # type: ignore[arg-type]


# The first that applies is the default.
SCORE_METHODS: tuple[ScoreMethod, ...] = (
    ScoreMethod("delong-logit", _is_area, _of_area(delong_logit), "DeLong, DeLong & Clarke-Pearson (1988)"),
    ScoreMethod("delong", _is_area, _of_area(delong), "DeLong, DeLong & Clarke-Pearson (1988)"),
    ScoreMethod("hanley-mcneil", _is_area, _of_area(hanley_mcneil), "Hanley & McNeil (1982)"),
    ScoreMethod(
        "influence-logit",
        lambda s: s.name == "average_precision",
        lambda s, level: average_precision_limits(s.ranking, level),
        "derivations in docs/statistics.md",
    ),
    ScoreMethod(
        "hall",
        lambda s: s.name in LOSSES,
        lambda s, level: loss_limits(s.probabilities, s.name, level),  # type: ignore[arg-type]
        "Hall (1992)",
    ),
    ScoreMethod("influence", lambda s: s.name in SKILLS, _skill, "derivations in docs/statistics.md"),
    ScoreMethod("test-inversion", lambda s: s.name in CALIBRATION, _calibration, "derivations in docs/statistics.md"),
    ScoreMethod("wald", lambda s: s.name in RECALIBRATION, _recalibration, "Cox (1958)"),
    ScoreMethod(
        "wilson",
        lambda s: s.name == "top_k_accuracy",
        lambda s, level: top_k_limits(s.probabilities, int(s.bound.parameters["k"]), level),
        "Wilson (1927)",
    ),
    ScoreMethod("bootstrap-logit", _is_ranking, _resampled("transformed"), "Efron & Tibshirani (1993)"),
    ScoreMethod("bootstrap", _is_ranking, _resampled("percentile"), "Efron & Tibshirani (1993)"),
    ScoreMethod("bca", _is_ranking, _resampled("bca"), "Efron (1987)"),
)


def score_method(subject: ScoreSubject, asked: str | None, *, strict: bool = False) -> ScoreMethod | None:
    """The method asked for where it applies, else the default; None where there is no interval."""
    fitting = [method for method in SCORE_METHODS if method.applies(subject)]
    named = [method for method in fitting if method.name == asked]
    if asked is not None and strict and not named:
        raise OptionError(
            f"The method {asked!r} does not apply to {subject.bound.name}.",
            hint=f"use one of: {listing(m.name for m in fitting)}." if fitting else "it has no interval.",
        )
    found = named or fitting
    return found[0] if found else None
