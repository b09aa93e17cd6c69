"""From the evidence of scores to estimates: areas, losses and calibration, each with its interval."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from heldout.engines.score_evidence import RowScores, ScoreEvidence
from heldout.errors import OptionError
from heldout.evidence import Label, Ranking
from heldout.evidence.probabilities import Probabilities
from heldout.intervals.area_bounds import BINS, allowing, middle_note
from heldout.intervals.areas import average_precision_variance, delong_variance
from heldout.intervals.calibration import null_expectation, smooth_null_expectation
from heldout.intervals.dependence import refuse_independent_rows
from heldout.intervals.estimate import NO_INTERVAL, ONE_GROUP, Estimate, join_notes
from heldout.intervals.multiclass_areas import MulticlassArea, areas_of, slack_of
from heldout.intervals.ranking_bootstrap import probability_limits
from heldout.intervals.score_methods import (
    BOOTSTRAPS,
    NOT_OF_FEW,
    NOT_OF_GROUPS,
    RankingLimits,
    assumes_independence,
    closed_methods,
    one_sided_limits,
    score_limits,
)
from heldout.measures import ranking
from heldout.measures.calibration_curve import smooth_calibration
from heldout.measures.catalogue import CATALOGUE, find, headline
from heldout.measures.certified import bounds_of
from heldout.measures.declare import Measure, Scope
from heldout.measures.probability import CLASS_ORDER
from heldout.measures.quantity import Bound, Quantity, drop_rounding, refuse_no_class
from heldout.measures.ranking import value_range
from heldout.measures.recalibration import bin_long, recalibrate
from heldout.show.numbers import share
from heldout.threads import cached_property, count_threads, share_out
from heldout.values import state_of

# A smoother whose reach follows the number of cases cannot be the same for repeated rows and for weights of any unit.
SMOOTHED_BY_WEIGHT = "; smoothed as Kish's effective number of cases allows, so that weights are not repeated rows here"
# What a reader of the largest gap must know.
MAXIMUM = "a maximum over the thresholds: chance makes it larger in a sample, which the interval allows for"
# What several estimates will ask for is made ahead by all threads; fewer cases, or fewer distinct scores, are done
# before a thread has started.
MANY, FEW = 1_000_000, 1 << 17


def prepare(evidence: ScoreEvidence, label: Label) -> None:
    """Sum for the areas, their bounds and the calibration with all threads; all of it is kept with the rankings.

    NumPy lets other threads work while it does.
    """
    if evidence.per_class or evidence.n < MANY or count_threads() < 2:
        return
    ranked = evidence.ranking(label)
    if len(ranked) < FEW:
        return
    # What is summed by blocks of the scores is shared out by itself, the fits beside each other.
    delong_variance(ranked)
    average_precision_variance(ranked)
    bounds_of(find("roc_auc"), ranked)
    if evidence.probabilities is not None:
        probable = evidence.typical(label)
        bin_long(probable)
        share_out(lambda fixed: recalibrate(probable, fixed_slope=fixed), (False, True))
        smooth_calibration(probable)


LISTED_CLASSES = 100


@dataclass(frozen=True)
class ScoreEstimator:
    """Makes estimates from the scores of one set of predictions; `one_sided` as in `Estimator`."""

    evidence: ScoreEvidence
    positive: Label | None
    level: float = 0.95
    seed: int = 0
    replicates: int = 2000
    method: str | None = None
    one_sided: bool = False

    def ask(self, quantity: Quantity, method: str | None = None) -> Estimate:
        """One estimate; a method named here must apply."""
        measure = quantity.bound.measure
        self.check(method)
        if measure.scope == "pairs" or quantity.average is not None:
            return self._averaged(quantity, method)
        if measure.scope == "probability":
            return self._estimate(quantity.bound, self._probabilities(measure), None, method)
        label = self.must_name_class(quantity)
        return self._estimate(quantity.bound, self._ranked(measure, label), label, method)

    def must_name_class(self, quantity: Quantity) -> Any:
        """The class that a measure of one class is about; refused where none was named and none is positive."""
        one_class = quantity.bound.measure.scope == "ranking" and quantity.average is None
        label = quantity.class_ if quantity.class_ is not None else self.positive
        if one_class and label is None:
            raise refuse_no_class(quantity.bound, f"macro {quantity.bound.name}")
        return label

    def area_error(self, quantity: Quantity) -> float:
        """The standard error of an averaged area."""
        return self._areas[_average_of(quantity)].standard_error

    def area_method(self, quantity: Quantity) -> str:
        """How the limits of an averaged area are found."""
        return self._areas[_average_of(quantity)].method

    def check(self, method: str | None) -> None:
        """Refuse a method that takes rows as independent where they come in groups."""
        grouped = self.evidence.grouped
        if method is not None and grouped and assumes_independence(method):
            raise refuse_independent_rows(method, "use 'delong-logit' or 'cluster-bootstrap', or leave out group.")
        if method == "cluster-bootstrap" and not grouped:
            raise OptionError("The cases have no groups to draw.", hint="give group=, or use 'bootstrap'.")

    def _ranked(self, measure: Measure, label: Label) -> Ranking:
        if measure.kind == "calibration":
            self._probabilities(measure)
            return self.evidence.typical(label)
        return self.evidence.ranking(label)

    def _probabilities(self, measure: Measure) -> Probabilities:
        probabilities = self.evidence.ordered if measure.component == CLASS_ORDER else self.evidence.probabilities
        if probabilities is None:
            why = self.evidence.not_probability
            raise OptionError(f"{measure.name} needs probabilities, and {why}.", hint="give probabilities as score.")
        return probabilities

    def _estimate(
        self, bound: Bound, evidence: Ranking | Probabilities, label: Label | None, asked: str | None
    ) -> Estimate:
        value = _in_range(bound, bound.value({bound.measure.cells[0]: evidence}))
        guarded = self.one_sided and asked is None and self.method is None
        limits = (one_sided_limits(bound, evidence, self.level) if guarded else None) or self._redrawn(bound, asked)
        limits = limits or score_limits(
            bound,
            evidence,
            self.level,
            method=asked or self.method,
            strict=asked is not None,
            seed=self.seed,
            replicates=self.replicates,
        )
        low, high, name = limits.low, limits.high, limits.method
        groups = evidence.groups
        lonely = groups is not None and len(groups.keys) < 2
        if lonely and isinstance(evidence, Ranking) and not math.isnan(low):
            low, high = value_range(bound.measure, bound.parameters)
        # The limits and the value are sums in another order, and percentiles of draws may lie on one side of the value.
        low, high = _holding(value, _in_range(bound, low), _in_range(bound, high))
        if self.evidence.grouped:
            name = _grouped_name(name)
        elif self.evidence.weighted and name != NO_INTERVAL:
            name = f"{name}, effective n"
        ranking = None if label is None else evidence if isinstance(evidence, Ranking) else self.evidence.ranking(label)
        bounds = None if ranking is None or math.isnan(value) else bounds_of(bound, ranking)
        if bounds is not None and not math.isnan(low):
            low, high = allowing(value, (low, high), bounds, value_range(bound.measure, bound.parameters))
            name += BINS
        n = self.evidence.n
        note = self._note(bound, evidence) if label is None else self._ranking_note(bound, label)
        if lonely:
            note = join_notes(note, ONE_GROUP)
        if math.isnan(low) and not math.isnan(value):
            note = join_notes(note, NOT_OF_GROUPS if closed_methods(bound.measure) else NOT_OF_FEW)
        undefined = bound.undefined if math.isnan(value) else ""
        return Estimate(
            bound.name,
            label,
            None,
            value,
            low,
            high,
            self.level,
            name,
            n,
            undefined,
            note,
            "share" if bound.measure.bounded else "plain",
            bounds,
        )

    def _redrawn(self, bound: Bound, asked: str | None) -> RankingLimits | None:
        """Limits of a measure of probabilities by a bootstrap that was asked for by name, where the rows are there."""
        if asked is None or asked not in BOOTSTRAPS or bound.measure.scope != "probability":
            return None
        if not isinstance(self.evidence, RowScores):
            return None
        form, draw = BOOTSTRAPS[asked].find
        settings: dict[str, Any] = {"replicates": self.replicates, "seed": self.seed}
        return RankingLimits(
            *probability_limits(self.evidence, bound, self.level, form=form, draw=draw, **settings), asked
        )

    def _ranking_note(self, bound: Bound, label: Label) -> str:
        if bound.measure.component == "largest gap":
            return MAXIMUM
        if bound.measure.name == "integrated_calibration_index":
            chance = share(smooth_null_expectation(self._ranked(bound.measure, label)))
            smoothed = SMOOTHED_BY_WEIGHT * self.evidence.weighted
            return f"a perfectly calibrated model would show {chance} on these cases{smoothed}"
        return middle_note(bound, self.evidence.ranking(label))

    def _note(self, bound: Bound, evidence: Ranking | Probabilities) -> str:
        if not isinstance(evidence, Probabilities):
            return ""
        measure = bound.measure
        if measure.name == "top_k_accuracy" and evidence.ranks is not None:
            classes, k = len(evidence.ranks), int(bound.parameters["k"])
            return f"with {classes} classes any answer is among the {k} most probable: ask for fewer" * (k >= classes)
        if measure.component in ("expected", "maximum"):
            chance = share(null_expectation(evidence, measure.component))
            return f"a perfectly calibrated model would show {chance} with these bins"
        if measure.name == "log_loss" and evidence.clipped:
            are = "is 0, and counts" if evidence.clipped == 1 else "are 0, and count"
            return f"{evidence.clipped:,} of the probabilities of what came true {are} as the least beside 1"
        return ""

    __getstate__ = state_of

    @cached_property
    def _areas(self) -> dict[str, MulticlassArea]:
        return {area.average: area for area in areas_of(self.evidence, self.level)}

    def _averaged(self, quantity: Quantity, method: str | None = None) -> Estimate:
        measure = quantity.bound.measure
        wanted = _average_of(quantity)
        if self.evidence.per_class and quantity.average == "micro" and measure.scope == "ranking":
            return self._of_all_scores(quantity, method)
        if self.evidence.per_class and measure.scope == "ranking" and measure.name != "roc_auc":
            return self._mean_of_classes(quantity, method)
        if not self.evidence.per_class or (measure.scope != "pairs" and measure.name != "roc_auc"):
            one = "two classes have one area: ask for 'roc_auc'."
            raise OptionError(
                f"{quantity.bound.name} has no {wanted} average here.",
                hint=one if len(self.evidence.labels) == 2 else "averages of areas need one score per class.",
            )
        if wanted not in self._areas:
            raise OptionError(f"roc_auc has no {wanted} average.", hint="use macro or weighted.")
        if method not in (None, "delong-logit"):
            raise OptionError(
                f"The method {method!r} does not apply to averages of the ROC area.",
                hint="their interval is by 'delong-logit'.",
            )
        area = self._areas[wanted]
        # Averages of ones add up to a little less.
        value = 1.0 if abs(area.value - 1) < 1e-12 else area.value
        note = f"{area.absent} of {len(self.evidence.labels)} classes have no cases and are left out"
        limits, name, bounds = _holding(value, area.low, area.high), area.method, self._average_bounds(wanted)
        if bounds is not None and not math.isnan(area.low):
            limits, name = allowing(value, limits, bounds, measure.range), name + BINS
        return Estimate(
            quantity.bound.name,
            None,
            quantity.average,
            value,
            *limits,
            self.level,
            name,
            self.evidence.n,
            (area.undefined or measure.undefined) if math.isnan(area.value) else "",
            note if area.absent else "",
            bounds=bounds,
        )

    def _mean_of_classes(self, quantity: Quantity, method: str | None) -> Estimate:
        """The mean of a measure over the classes that have it, or weighted by their cases.

        Its standard error is at most the mean of theirs, so the mean of the limits of the classes is never too narrow.
        """
        each = [self.ask(Quantity(quantity.bound, label), method) for label in self.evidence.labels]
        there = [estimate for estimate in each if not math.isnan(estimate.value)]
        rankings = [self.evidence.ranking(estimate.class_) for estimate in there if estimate.class_ is not None]
        shares = [float(ranking.n_positive) if quantity.average == "weighted" else 1.0 for ranking in rankings]
        if not sum(shares):
            first = replace(each[0], class_=None, average=quantity.average, value=math.nan)
            return replace(first, low=math.nan, high=math.nan, undefined=quantity.bound.undefined, bounds=None)
        value, low, high = (_mean([getattr(e, end) for e in there], shares) for end in ("value", "low", "high"))
        note = f"averaged over {len(there):,} of {len(each):,} classes; for the others {quantity.bound.undefined}"
        mean = replace(there[0], class_=None, average=quantity.average, value=value, n=self.evidence.n)
        bounds = None
        if any(e.bounds for e in there):
            ends = [e.bounds or (e.value, e.value) for e in there]
            bounds = _mean([least for least, _ in ends], shares), _mean([most for _, most in ends], shares)
        low, high = _holding(value, low, high)
        note = note if len(there) < len(each) else ""
        return replace(mean, low=low, high=high, method=f"{there[0].method}, at most", note=note, bounds=bounds)

    def _of_all_scores(self, quantity: Quantity, method: str | None) -> Estimate:
        """The measure of all scores in one ranking, each for its class against the rest."""
        if not isinstance(self.evidence, RowScores):
            raise OptionError(
                f"{quantity.bound.name} has no micro average of scores that were counted and not kept.",
                hint="use macro or weighted, or give the rows.",
            )
        bound, ranking = quantity.bound, self.evidence.pooled()
        value = _in_range(bound, bound.value({bound.measure.cells[0]: ranking}))
        limits = score_limits(
            bound, ranking, self.level, method=method, strict=method is not None,
            seed=self.seed, replicates=self.replicates,
        )  # fmt: skip
        low, high = _holding(value, _in_range(bound, limits.low), _in_range(bound, limits.high))
        return Estimate(
            bound.name, None, "micro", value, low, high, self.level, _grouped_name(limits.method), self.evidence.n,
            bound.undefined if math.isnan(value) else "",
            "every score is ranked, each for its class against the rest; the scores of a case go together",
            "share" if bound.measure.bounded else "plain",
        )  # fmt: skip

    @cached_property
    def _slack(self) -> dict[str, float]:
        return slack_of(self.evidence)

    def _average_bounds(self, average: str) -> tuple[float, float] | None:
        value = self._areas[average].value
        if average not in self._slack or math.isnan(value):
            return None
        slack = self._slack[average]
        return max(value - slack, 0.0), min(value + slack, 1.0)

    def bounds(self, quantity: Quantity) -> tuple[float, float] | None:
        """Between what the value lies for certain where scores were counted in bins; None where it is exact."""
        measure = quantity.bound.measure
        if measure.scope == "pairs" or quantity.average is not None:
            return self._average_bounds(_average_of(quantity))
        label = quantity.class_ if quantity.class_ is not None else self.positive
        if measure.scope != "ranking" or label is None:
            return None
        return bounds_of(quantity.bound, self.evidence.ranking(label))

    def value(self, quantity: Quantity) -> float:
        """The value alone, without an interval."""
        measure = quantity.bound.measure
        if measure.scope == "pairs" or quantity.average is not None:
            return self._averaged(quantity).value
        if measure.scope == "probability":
            evidence: Ranking | Probabilities = self._probabilities(measure)
        else:
            label = quantity.class_ if quantity.class_ is not None else self.positive
            if label is None:
                return math.nan
            evidence = self._ranked(measure, label)
        return float(quantity.bound.value({measure.cells[0]: evidence}))

    def every(self) -> Iterator[Estimate]:
        """What is reported without being asked for."""
        if self.positive is not None:
            prepare(self.evidence, self.positive)
        return (self.ask(quantity) for quantity in self.reported())

    def reported(self) -> Iterator[Quantity]:
        """The quantities that are reported without being asked for."""
        evidence = self.evidence
        if evidence.per_class:
            if len(evidence.labels) > 1:
                for average in ("macro", "weighted"):
                    yield Quantity(find("roc_auc"), average=average)
                yield from (Quantity(find(measure.name)) for measure in ranking.PAIR_MEASURES)
            if len(evidence.labels) <= LISTED_CLASSES:
                for bound in _first_areas():
                    yield from (Quantity(bound, label) for label in evidence.labels)
        elif self.positive is not None:
            for bound in _reported("ranking"):
                if bound.measure.kind != "calibration" or evidence.probabilities is not None:
                    yield Quantity(bound, self.positive)
        if evidence.probabilities is not None:
            for bound in _reported("probability"):
                # Among the two most probable of two classes are all.
                if bound.parameters.get("k", 0) < len(evidence.labels):
                    yield Quantity(bound)


def _first_areas() -> list[Bound]:
    return [bound for bound in headline("page") if bound.measure.scope == "ranking"]


@lru_cache
def _reported(scope: Scope) -> tuple[Bound, ...]:
    """What is reported without being asked for, of rankings the areas that are shown first before the others."""
    first = [bound.measure.name for bound in _first_areas()]
    others = [m.name for m in CATALOGUE.values() if m.reported and m.name not in first]
    return tuple(bound for bound in map(find, [*first, *others]) if bound.measure.scope == scope)


def _average_of(quantity: Quantity) -> str:
    return "hand_till" if quantity.bound.measure.scope == "pairs" else str(quantity.average)


def _grouped_name(method: str) -> str:
    """What a method is called where the cases come in groups."""
    if method == NO_INTERVAL:
        return method
    return "cluster-logit" if method in ("wilson", "clopper-pearson") else f"{method}, groups"


def _in_range(bound: Bound, number: float) -> float:
    """A value or a limit, which rounding must not carry past what parameters leave of the range of the measure."""
    return float(drop_rounding(float(number), value_range(bound.measure, bound.parameters)))


def _mean(values: list[float], shares: list[float]) -> float:
    """The mean, which rounding must not carry past all that it is the mean of."""
    mean = sum(value * share for value, share in zip(values, shares, strict=True)) / sum(shares)
    return min(max(mean, min(values)), max(values)) if not math.isnan(mean) else mean


def _holding(value: float, low: float, high: float) -> tuple[float, float]:
    if math.isnan(value) or math.isnan(low):
        return low, high
    return min(low, value), max(high, value)


SCORE_SCOPES = ("ranking", "pairs", "probability")
