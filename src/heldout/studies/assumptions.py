"""What a plan takes as given of the classifier and of the cases, and how a measure will be sampled under it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from heldout.arguments import capitalize, check_share, listing
from heldout.arrays import Floats
from heldout.errors import OptionError
from heldout.measures.quantity import Bound
from heldout.studies.sampling import (
    Groups,
    NormalSampling,
    Sampling,
    ShareSampling,
    f1_of_jaccard,
    likely_sizes,
)

# Points of the grid, and how many standard deviations it reaches: sums over it are integrals to ten digits.
POINTS, REACH = 2001, 9.0
WIDEST = 50.0


@dataclass(frozen=True)
class ProbabilityModel:
    """Logits of the true probabilities, as equally wide steps of a normal distribution with their weights.

    Riley et al. (2021), Statistics in Medicine 40, 4230-4251, plan calibration from the distribution of the logits;
    Pavlou et al. (2021), Statistical Methods in Medical Research 30, 2187-2206, take it to be normal.
    """

    logits: Floats
    weights: Floats

    @property
    def probabilities(self) -> Floats:
        """The probability at each logit."""
        from scipy.special import expit

        return np.asarray(expit(self.logits))

    @property
    def prevalence(self) -> float:
        """The share of positives."""
        return float(self.weights @ self.probabilities)

    @property
    def area(self) -> float:
        """The area under the ROC curve of these probabilities."""
        positives, negatives = self.weights * self.probabilities, self.weights * (1 - self.probabilities)
        below = np.cumsum(negatives) - negatives / 2
        return float(positives @ below / positives.sum() / negatives.sum())

    def recalibration_variance(self, coefficient: str, slope: float = 1.0) -> float:
        """The variance of the recalibration slope or intercept, times n: the inverse of the logistic information.

        >>> model = normal_logits(-5.0, 2.5)
        >>> round(model.recalibration_variance("slope") / 0.051**2)
        4558
        """
        from scipy.special import expit

        truth = expit(slope * self.logits)
        weights = self.weights * truth * (1 - truth)
        sums = [float(weights @ self.logits**power) for power in range(3)]
        if coefficient == "in_the_large":
            return 1 / sums[0]
        spread = sums[0] * sums[2] - sums[1] ** 2
        return (sums[0] if coefficient == "slope" else sums[2]) / spread

    def loss_moments(self, loss: str) -> tuple[float, float]:
        """The mean and the variance of the Brier score or log loss of one case."""
        p = self.probabilities
        if loss == "brier":
            positive, negative = (1 - p) ** 2, p**2
        else:
            positive, negative = np.logaddexp(0, -self.logits), np.logaddexp(0, self.logits)
        mean = float(self.weights @ (p * positive + (1 - p) * negative))
        square = float(self.weights @ (p * positive**2 + (1 - p) * negative**2))
        return mean, square - mean**2


def normal_logits(mean: float, deviation: float) -> ProbabilityModel:
    """Logits with this mean and standard deviation."""
    steps = np.linspace(-REACH, REACH, POINTS)
    weights = np.exp(-(steps**2) / 2)
    return ProbabilityModel(mean + deviation * steps, weights / weights.sum())


@lru_cache(maxsize=32)
def model_probabilities(prevalence: float, area: float) -> ProbabilityModel:
    """Calibrated probabilities with this prevalence and this area under the ROC curve.

    >>> model = model_probabilities(0.1, 0.75)
    >>> f"{model.prevalence:.4f} {model.area:.4f}"
    '0.1000 0.7500'
    """
    if not 0.5 < area < 1:
        raise OptionError(
            f"The area under the ROC curve must lie between 0.5 and 1. Got {area!r}.",
            hint="probabilities that rank no better than chance cannot be planned; for example auc=0.75.",
        )
    low, high = 1e-3, WIDEST
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _centred(prevalence, middle).area < area else (low, middle)
    return _centred(prevalence, (low + high) / 2)


def _centred(prevalence: float, deviation: float) -> ProbabilityModel:
    """Logits with this standard deviation, their mean so that the prevalence is as given."""
    reach = REACH * deviation + 40
    low, high = -reach, reach
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if normal_logits(middle, deviation).prevalence < prevalence else (low, middle)
    return normal_logits((low + high) / 2, deviation)


FLAGS = {"auc": "the area under the ROC curve", "value": "the value that is expected"}


@dataclass(frozen=True)
class Assumptions:
    """The expected value of the measure, and what else of the classifier and of the cases it depends on."""

    value: float | None = None
    prevalence: float | None = None
    recall: float | None = None
    precision: float | None = None
    auc: float | None = None
    groups: Groups | None = None

    def need(self, name: str, why: str) -> float:
        """One of them, refused where it was not given."""
        value: float | None = getattr(self, name)
        if value is None:
            raise OptionError(
                f"{capitalize(FLAGS.get(name, f'The {name}'))} is not given, and {why}.",
                hint=f"give {name}= (--{name}), such as 0.{'1' if name == 'prevalence' else '8'}.",
            )
        return value

    def check(self) -> None:
        """Refuse what is given as a share and does not lie between 0 and 1."""
        for assumption in fields(self):
            given = getattr(self, assumption.name)
            if assumption.name not in ("groups", "value") and given is not None:
                check_share(
                    f"The {assumption.name}",
                    given,
                    suggest_share(given, 0.1 if assumption.name == "prevalence" else 0.8),
                )


def suggest_share(given: Any, example: float = 0.8) -> str:
    """The hint for a number that does not lie between 0 and 1, as a share has to.

    >>> suggest_share(90)
    'write 90 % as 0.9.'
    """
    is_percentage = isinstance(given, int | float) and 1 < given <= 100
    return f"write {given:g} % as {given / 100:g}." if is_percentage else f"for example {example:g}."


def _need_share(given: Assumptions) -> float:
    value = given.need("value", "a plan begins with it")
    return check_share("The value", value, suggest_share(value))


def _count_all(given: Assumptions, value: float) -> float:  # noqa: ARG001 - one shape for all
    return 1.0


def _count_positives(given: Assumptions, value: float) -> float:  # noqa: ARG001 - one shape for all
    return given.need("prevalence", "this measure is a share of the positives")


def _count_negatives(given: Assumptions, value: float) -> float:  # noqa: ARG001 - one shape for all
    return 1 - given.need("prevalence", "this measure is a share of the negatives")


def _count_called_positive(given: Assumptions, value: float) -> float:
    why = "this measure is a share of what is called positive"
    prevalence, recall = given.need("prevalence", why), given.need("recall", why)
    called = prevalence * recall / value
    return _check_possible(called, called * (1 - value) <= 1 - prevalence, prevalence, recall)


def _count_called_negative(given: Assumptions, value: float) -> float:
    why = "this measure is a share of what is called negative"
    prevalence, recall = given.need("prevalence", why), given.need("recall", why)
    called = prevalence * (1 - recall) / (1 - value)
    return _check_possible(called, called * value <= 1 - prevalence, prevalence, recall)


def _count_either(given: Assumptions, jaccard: float) -> float:
    """Cases that are positive by truth or by prediction."""
    why = "this measure is a share of what is positive or called so"
    prevalence, f1 = given.need("prevalence", why), 2 * jaccard / (1 + jaccard)
    recall = given.recall
    if recall is None and given.precision is not None:
        # The harmonic mean and one of the two give the other.
        recall = f1 * given.precision / (2 * given.precision - f1) if 2 * given.precision > f1 else math.inf
    if recall is None:
        raise _neither_given("F1")
    either = prevalence * recall / jaccard
    return _check_possible(either, either >= prevalence and 0 < recall <= 1, prevalence, recall)


def _f_cells(beta: float, value: float, given: Assumptions) -> tuple[float, float, float]:
    """The shares of true positives, false negatives and false positives where F-beta has this value."""
    prevalence = given.need("prevalence", "this measure rests on what is positive or called so")
    weight, recall = beta * beta, given.recall
    if recall is None and given.precision is not None:
        # F and one of the two give the other: F = (1 + β²) P R / (β² P + R).
        rest = (1 + weight) * given.precision - value
        recall = weight * value * given.precision / rest if rest > 0 else math.inf
    if recall is None:
        raise _neither_given("F score")
    rest = (1 + weight) * recall - weight * value
    precision = value * recall / rest if rest > 0 else math.inf
    possible = 0 < recall <= 1 and 0 < precision <= 1
    wrong = prevalence * recall * (1 - precision) / precision if possible else math.inf
    _check_possible(prevalence, possible and wrong <= 1 - prevalence, prevalence, recall)
    return prevalence * recall, prevalence * (1 - recall), wrong


def _neither_given(name: str) -> OptionError:
    return OptionError(
        "Neither the recall nor the precision is given, and how many cases count depends on them.",
        hint=f"give recall= or precision= (--recall, --precision); where they are alike, both are the {name}.",
    )


def _check_possible(share: float, possible: bool, prevalence: float, recall: float) -> float:
    if not possible or not 0 < share <= 1:
        raise OptionError(
            f"A prevalence of {prevalence:g} and a recall of {recall:g} do not go with the value that is expected.",
            hint="no table of counts has all three; give values that were seen on the same cases.",
        )
    return share


@dataclass(frozen=True, slots=True)
class PlannedShare:
    """What a share is of: all cases, those of a class, or those that are called so; and how many of all cases it is of.

    `turned` is the share of the opposite, such as the false discovery rate beside the precision.
    """

    basis: Literal["all cases", "a class", "what is called", "either"]
    share: Callable[[Assumptions, float], float]
    turned: bool = False

    def count(self, given: Assumptions, value: float) -> float:
        """The share of all cases that the measure is a share of, where it has this value."""
        return self.share(given, 1 - value if self.turned else value)

    @property
    def pairs(self) -> bool:
        """Whether two classifiers have it of the same cases."""
        return self.basis in ("all cases", "a class")


SHARES: dict[str, PlannedShare] = {
    "accuracy": PlannedShare("all cases", _count_all),
    "error_rate": PlannedShare("all cases", _count_all),
    "recall": PlannedShare("a class", _count_positives),
    "false_negative_rate": PlannedShare("a class", _count_positives),
    "specificity": PlannedShare("a class", _count_negatives),
    "false_positive_rate": PlannedShare("a class", _count_negatives),
    "precision": PlannedShare("what is called", _count_called_positive),
    "false_discovery_rate": PlannedShare("what is called", _count_called_positive, turned=True),
    "negative_predictive_value": PlannedShare("what is called", _count_called_negative),
    "false_omission_rate": PlannedShare("what is called", _count_called_negative, turned=True),
    "jaccard": PlannedShare("either", _count_either),
    "f1": PlannedShare("either", _count_either),
}
LOSSES = ("brier", "log_loss")
COEFFICIENTS = {"calibration_slope": 1.0, "calibration_intercept": 0.0, "calibration_in_the_large": 0.0}
PLANNED = (*SHARES, "other F scores", "roc_auc", *LOSSES, *COEFFICIENTS)


def make_sampling(bound: Bound, given: Assumptions) -> Sampling:
    """How the measure will be sampled.

    >>> from heldout.measures.catalogue import read_quantity
    >>> make_sampling(read_quantity("recall").bound, Assumptions(0.8, prevalence=0.1)).counted
    0.1
    """
    name = bound.name
    if name in SHARES:
        value = _need_share(given)
        share = value / (2 - value) if name == "f1" else value
        counted = SHARES[name].count(given, share)
        sampling = ShareSampling(share, counted, *([f1_of_jaccard] if name == "f1" else []))
        return sampling if given.groups is None else _group_shares(sampling, value, given.groups)
    if bound.measure.name == "f_score":
        return _sample_f(bound.parameters["beta"], given)
    if name == "roc_auc":
        return _sample_area(given)
    if name in LOSSES or name in COEFFICIENTS:
        return _sample_probabilities(name, given)
    raise OptionError(f"There is no plan for {name}. There are plans for {listing(PLANNED, most=40)}.", hint="use one.")


def resolve_value(bound: Bound, given: Assumptions) -> Assumptions:
    """The assumptions with the value that follows from the others, for measures of calibrated probabilities."""
    if bound.name in COEFFICIENTS:
        return given if given.value is not None else replace(given, value=COEFFICIENTS[bound.name])
    if bound.name not in LOSSES:
        return given
    if given.value is not None:
        raise OptionError(
            f"The {bound.title} of calibrated probabilities follows from the prevalence and the area, and was given.",
            hint="leave out the value, and give prevalence= and auc= (--prevalence, --auc).",
        )
    return replace(given, value=_model(given).loss_moments(bound.name)[0])


def _group_shares(sampling: ShareSampling, value: float, groups: Groups) -> NormalSampling:
    """Shares of grouped cases get a logit interval with a standard error over groups."""
    inflation = groups.inflation(sampling.counted)
    plain = sampling.variance(1e6) * 1e6 / (value * (1 - value))

    def spread(share: Any, n: Any) -> Any:
        return share * (1 - share) * plain * inflation / n

    return NormalSampling(value, spread, lambda n: groups.freedom(n, sampling.counted), logit=True)


def _sample_f(beta: float, given: Assumptions) -> NormalSampling:
    """F-beta on the logit scale, where its score interval is all but symmetric, by the variance of a ratio.

    Where it has another value, both kinds of errors are as many times as frequent.
    """
    value, weight = _need_share(given), beta * beta
    hit, missed, wrong = _f_cells(beta, value, given)
    positives, groups = hit + missed, given.groups
    inflation = 1.0 if groups is None else groups.inflation(positives + wrong)

    def find_cells(value: Any) -> tuple[Any, Any, Any, Any]:
        """True positives, false negatives and false positives, and the denominator of F, where it is so large."""
        odds = value / (1 - value)
        times = (1 + weight) * positives / ((1 + weight) * missed + odds * (weight * missed + wrong))
        fn, fp = times * missed, times * wrong
        tp = positives - fn
        return tp, fn, fp, (1 + weight) * tp + weight * fn + fp

    def spread(value: Any, n: Any) -> Any:
        tp, fn, fp, whole = find_cells(value)
        squares = ((1 + weight) * (1 - value)) ** 2 * tp + value**2 * (weight**2 * fn + fp)
        return squares / whole**2 * inflation / n

    def freedom(n: Any) -> Any:
        return math.inf if groups is None else groups.freedom(n, positives + wrong)

    def shift(bound: float, n: float, above: bool) -> float:
        """What one more error of each kind takes off, or one more hit adds."""
        per_case = (1 + weight) / (n * float(find_cells(bound)[3]))
        return 0.0 if groups is not None else per_case * (bound if above else 1 - bound)

    return NormalSampling(value, spread, freedom, logit=True, shift=shift)


def binormal_area_variance(area: Any, positives: Any, negatives: Any) -> Any:
    """The variance of the area under the ROC curve where scores are normal with equal spread in both classes.

    Exact for the area of a sample: two positives outrank one negative, and one positive two negatives, with the same
    probability, a bivariate normal one with correlation ½ (Owen 1956, Annals of Mathematical Statistics 27).

    >>> round(float(binormal_area_variance(0.8, 50, 50)) ** 0.5, 4)
    0.0437
    """
    from scipy.special import ndtri, owens_t

    both = area - 2 * owens_t(ndtri(area), math.sqrt(1 / 3))
    within = both - area * area
    return (area * (1 - area) + (positives + negatives - 2) * within) / (positives * negatives)


def _newcombe_variance(area: float, positives: float, negatives: float) -> float:
    """The variance of an area at a bound by Newcombe's method 5, which gates go by where it is the larger one."""
    half = (positives + negatives) / 2 - 1
    spread = 1 + half * ((1 - area) / (2 - area) + area / (1 + area))
    return area * (1 - area) * spread / (positives * negatives)


def _sample_area(given: Assumptions) -> NormalSampling:
    value = _need_share(given)
    prevalence = given.need("prevalence", "the area rests on the cases of both classes")
    groups, rarer = given.groups, min(prevalence, 1 - prevalence)

    def spread(area: Any, n: Any) -> Any:
        sizes = np.maximum(n * prevalence, 1.0), np.maximum(n * (1 - prevalence), 1.0)
        return binormal_area_variance(area, *sizes) * (1 if groups is None else groups.inflation())

    def freedom(n: Any) -> Any:
        return np.maximum(n * rarer - 1, 1.0) if groups is None else groups.freedom(n, rarer)

    def varied(n: float) -> Floats:
        """The rarer class decides: a sample with more of it tells as much as a larger one."""
        sizes = np.maximum(likely_sizes(round(n), rarer), 1.0)
        expected = binormal_area_variance(value, max(n * rarer, 1.0), max(n * (1 - rarer), 1.0))
        return np.asarray(n * expected / binormal_area_variance(value, sizes, np.maximum(n - sizes, 1.0)))

    def guard(bound: float, n: float) -> float:
        if groups is not None:
            return 0.0
        return math.sqrt(_newcombe_variance(bound, max(n * prevalence, 1.0), max(n * (1 - prevalence), 1.0)))

    return NormalSampling(value, spread, freedom, logit=True, varied=varied, guard=guard)


def _model(given: Assumptions) -> ProbabilityModel:
    why = "calibrated probabilities are spread as prevalence and area have it"
    return model_probabilities(given.need("prevalence", why), given.need("auc", why))


def _sample_probabilities(name: str, given: Assumptions) -> NormalSampling:
    model, groups = _model(given), given.groups
    inflation = 1.0 if groups is None else groups.inflation()
    value = given.need("value", "a plan begins with it")
    if name in LOSSES:
        one_case = model.loss_moments(name)[1]
    else:
        slope = value if name == "calibration_slope" else 1.0
        if not 0.1 <= slope <= 10:
            raise OptionError(f"A calibration slope of {slope:g} cannot be planned for.", hint="1 is best.")
        one_case = model.recalibration_variance(name.removeprefix("calibration_"), slope)
    freedom = (lambda _: math.inf) if groups is None else groups.freedom
    return NormalSampling(value, lambda value, n: 0 * value + one_case * inflation / n, freedom)
