"""Choosing a threshold for scores: by cost, by a measure, by requirements, with the uncertainty of the choice.

It works on scores and counts; `api.choose_threshold` reads these from columns and files.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.arguments import counted, listing
from heldout.arrays import Floats
from heldout.costs import Costs, settle_costs
from heldout.engines.score_sort import rank
from heldout.errors import LabelError, OptionError, ValuesError
from heldout.evidence import Confusion, Label
from heldout.evidence.ranking import Ranking, cut_at
from heldout.intervals.areas import kish_sizes
from heldout.intervals.dependence import Dependence
from heldout.intervals.draws import share_limits
from heldout.intervals.estimate import Estimate
from heldout.predictions.case_values import check_weight
from heldout.thresholds.decision import Alternative, Honest, ThresholdDecision
from heldout.thresholds.decision_warnings import bins_note, warnings_of
from heldout.thresholds.figures import Figures, make_threshold_estimate, stretch_interval
from heldout.thresholds.objective import Classes, probability_threshold, read_objective
from heldout.thresholds.requirement import default_then, read_requirements
from heldout.thresholds.selection_rule import Points, SelectionRule
from heldout.thresholds.uncertainty import (
    CROSS_FITTED,
    CrossFit,
    Resampled,
    cross_fit,
    find_unrejected_thresholds,
    make_folds,
    pool_folds,
    resample,
)


@dataclass(frozen=True)
class ThresholdOptions:
    """What was asked for, with every option settled."""

    rule: SelectionRule
    by: str
    classes: Classes
    costs: Floats | None
    current: float | None
    level: float
    seed: int
    replicates: int


def choose(ranking: Ranking, by: str | None = None, **options: Any) -> ThresholdDecision:
    """Choose the threshold from which a case is called positive (score >= threshold).

    `by` is "cost" (least expected cost under `costs`), "iso" (the same, as a line in the ROC plane), "youden",
    "closest" (to the corner of perfect ROC) or any measure of the counts. `require` holds requirements that come first,
    such as "recall >= 0.9"; among the thresholds that meet them the best by `then` is taken, precision by default.
    `prevalence` is the share of positives where the threshold will be used, if it differs from these cases'. Of equally
    good thresholds the one with the larger Youden index is taken, of those the highest. `current` is the threshold in
    use now; `level`, `seed` and `replicates` are those of the intervals.

    >>> ranking = Ranking(np.array([0.9, 0.6, 0.3]), np.array([40, 15, 5]), np.array([5, 15, 120]))
    >>> chosen = choose(ranking, by="cost", costs={(1, 0): 10, (0, 1): 1})
    >>> chosen.threshold, round(chosen.criterion.value, 3)
    (0.6, 0.35)
    """
    return _decide(ranking, _resolve_options(ranking, by, **options), counted=True)


def choose_rows(
    scores: ArrayLike,
    positive_mask: ArrayLike,
    by: str | None = None,
    *,
    weight: ArrayLike | None = None,
    group: ArrayLike | None = None,
    honest: bool = False,
    folds: int = 10,
    seed: int = 0,
    **options: Any,
) -> ThresholdDecision:
    """Choose a threshold from single cases; with `honest`, also judge the choice on cases that had no part in it.

    The honest figures come from cross-fitting: the threshold is chosen on all folds but one and applied to that one,
    and the counts of all the left-out folds are pooled. Classes are spread evenly over the folds and groups are kept
    together. The other options are those of `choose`.

    >>> scores, truth = [0.9, 0.8, 0.7, 0.6, 0.4, 0.3, 0.2, 0.1], [1, 1, 0, 1, 0, 1, 0, 0]
    >>> chosen = choose_rows(scores, truth, by="youden", honest=True, folds=4)
    >>> chosen.threshold, chosen.criterion.value > chosen.honest.estimate.value
    (0.8, True)
    """
    values, mask, weights, codes = _read_columns(scores, positive_mask, weight, group)
    ranking = rank(values, mask, weight=weights, group=codes)
    settings = _resolve_options(ranking, by, seed=seed, **options)
    crossed = None
    if honest:
        fold = make_folds(mask, None if codes is None else codes[0], folds, settings.seed)
        fitted = cross_fit(values, mask, weights, fold, settings.rule)
        crossed = fitted, pool_folds(fitted, mask, weight=weights, group=codes, classes=settings.classes)
    return _decide(ranking, settings, crossed, None if weights is None else rank(values, mask))


def _read_columns(
    scores: ArrayLike, positive_mask: ArrayLike, weight: ArrayLike | None, group: ArrayLike | None
) -> tuple[Floats, NDArray[np.bool_], Floats | None, tuple[NDArray[np.int64], NDArray[Any]] | None]:
    values = np.asarray(scores)
    if values.dtype.kind not in "fiub" or values.ndim != 1:
        raise ValuesError(
            f"Scores must be one column of numbers. Got {values.dtype} with {values.ndim} dimensions.",
            hint="give one score per case.",
        )
    mask = np.asarray(positive_mask)
    if mask.dtype != np.bool_:
        distinct = np.unique(mask)
        if mask.dtype.kind not in "iuf" or not np.isin(distinct, (0, 1)).all():
            raise ValuesError(
                "The positives must be marked by true and false, or by 1 and 0. "
                f"Got {listing(distinct.tolist(), most=4)}.",
                hint="write truth == 'yes', say.",
            )
        mask = mask.astype(bool)
    weights = None if weight is None else np.asarray(weight, dtype=np.float64)
    groups = None if group is None else np.asarray(group)
    for name, column in (("positive_mask", mask), ("weight", weights), ("group", groups)):
        if column is not None and column.shape != values.shape:
            raise ValuesError(
                f"{name} has {counted(len(column), 'entry', 'entries')}, but there "
                f"{'is' if len(values) == 1 else 'are'} {counted(len(values), 'score')}.",
                hint="give one entry per case.",
            )
    if weights is not None:
        check_weight(weights)
    codes = None
    if groups is not None:
        keys, code = np.unique(groups, return_inverse=True)
        codes = code.astype(np.int64), keys
    return values.astype(np.float64), mask, weights, codes


def _resolve_options(
    ranking: Ranking,
    by: str | None,
    *,
    costs: Any = None,
    prevalence: float | None = None,
    require: str | None = None,
    then: str | None = None,
    positive: Label = 1,
    negative: Label | None = None,
    current: float | None = None,
    level: float = 0.95,
    seed: int = 0,
    replicates: int = 999,
) -> ThresholdOptions:
    if not ranking.n_positive or not ranking.n_negative:
        absent = "positive" if not ranking.n_positive else "negative"
        raise ValuesError(
            f"A threshold needs cases of both classes, and there is no {absent} case.",
            hint="check which class is the positive one.",
        )
    if then is not None and (require is None or by is not None):
        raise OptionError(
            "'then' says what is best once requirements are met; it goes with 'require' and without another goal.",
            hint="use 'by' (--maximize, --costs) alone, or 'require' (--require) with 'then' (--then).",
        )
    if by is None and require is None and costs is None:
        raise OptionError(
            "Nothing says which threshold is best.",
            hint="give costs (--costs), a measure (by=, --maximize f1 or youden), or --require 'recall >= 0.9'.",
        )
    classes = _resolve_classes(positive, negative, costs)
    matrix = None if costs is None else settle_costs(costs, classes)
    requirements = () if require is None else read_requirements(require, classes, matrix)
    if by is None:
        by = then or ("cost" if costs is not None else default_then(requirements))
    share = prevalence if prevalence is not None else ranking.n_positive / ranking.n
    rule = SelectionRule(read_objective(by, classes, matrix, share), requirements, prevalence)
    current = None if current is None else _check_finite(current)
    return ThresholdOptions(rule, by, classes, matrix, current, level, seed, replicates)


def _check_finite(current: float) -> float:
    if not isinstance(current, int | float | np.number) or not math.isfinite(current):
        raise OptionError(
            f"The current threshold must be a finite number. Got {current!r}.",
            hint="give the threshold in use now, such as 0.5, or no current= (--current) at all.",
        )
    return float(current)


def _resolve_classes(positive: Label, negative: Label | None, costs: Any) -> Classes:
    """The negative and the positive class; costs that name two classes say what the negative one is called."""
    if negative is not None:
        if str(negative) == str(positive):
            raise LabelError(
                f"The positive and the negative class are both {positive!r}.", hint="name two different classes."
            )
        return negative, positive
    named: list[Any] = []
    if isinstance(costs, Costs):
        named = list(costs.labels)
    elif isinstance(costs, Mapping):
        named = list(dict.fromkeys(label for pair in costs if isinstance(pair, tuple) for label in pair))
    others = [label for label in named if str(label) != str(positive)]
    if len(named) == 2 and len(others) == 1:
        return others[0], positive
    return (0 if positive == 1 else f"not {positive}"), positive


def _decide(
    ranking: Ranking,
    settings: ThresholdOptions,
    crossed: tuple[CrossFit, Confusion] | None = None,
    rows: Ranking | None = None,
    *,
    counted: bool = False,
) -> ThresholdDecision:
    rule = settings.rule
    points = Points.of(ranking)
    value, index = rule.choose(points)
    others = _list_others(ranking, points, settings)
    drawn = resample(
        ranking, rule, points, [index, *(at for _, _, at in others)], replicates=settings.replicates, seed=settings.seed
    )
    figures = Figures(
        cut_at(ranking, index, settings.classes, rows), settings.classes, settings.costs, rule.prevalence,
        settings.level, settings.seed, settings.replicates,
    )  # fmt: skip
    threshold = float(points.thresholds[index])
    decision = ThresholdDecision(
        threshold=threshold,
        above=_find_above(ranking, index),
        by=settings.by,
        rule=rule.sentence,
        criterion=stretch_interval(figures.of_objective(rule.objective), drawn.optimism, rule.objective),
        lower=rule.objective.lower,
        corrected=_correct(value, drawn, lower=rule.objective.lower),
        interval=_make_interval(ranking, points, index, settings, drawn, rows),
        required=tuple(figures.of_quantity(requirement.quantity) for requirement in rule.requirements),
        requirements=tuple(requirement.text for requirement in rule.requirements),
        alternatives=_make_alternatives(ranking, points, settings, figures, others),
        honest=None if crossed is None else _make_honest(figures, settings, *crossed),
        warnings=(),
        figures=figures,
        notes=bins_note(ranking),
    )
    return replace(decision, warnings=warnings_of(decision, rule, drawn, counted=counted))


def _make_interval(
    ranking: Ranking, points: Points, index: int, settings: ThresholdOptions, drawn: Resampled, rows: Ranking | None
) -> Estimate:
    """The threshold with its interval: a bootstrap where requirements decide, for they move it as a quantile moves."""
    threshold, level = float(points.thresholds[index]), settings.level
    # What is not known is at least Kish's number of equally weighted cases.
    n = round(float(rows.n)) if rows is not None else ranking.rows or round(sum(kish_sizes(ranking)))
    if not settings.rule.requirements:
        ends = find_unrejected_thresholds(ranking, settings.rule, points, index, level)
        return make_threshold_estimate(threshold, ends, "not ruled out", level, n)
    ends = threshold, threshold
    if not np.isnan(drawn.thresholds).all():
        tail = (1 - level) / 2
        ends = tuple(float(end) for end in share_limits(drawn.thresholds, tail, 1 - tail))  # type: ignore[assignment]
    return make_threshold_estimate(threshold, ends, "bootstrap", level, n)


def _find_above(ranking: Ranking, index: int) -> float:
    """The highest score that can be below a place: of a bin, the last float in it."""
    if index >= len(ranking):
        return -math.inf
    tops = ranking.tops
    return float(ranking.scores[index] if tops is None else np.nextafter(tops[index], -math.inf))


def _correct(value: float, drawn: Resampled, *, lower: bool) -> float:
    optimism = drawn.optimism
    if math.isnan(optimism):
        return value
    # Where the bootstrap sees no optimism there is none to take off.
    return value - (min(optimism, 0.0) if lower else max(optimism, 0.0))


def _list_others(ranking: Ranking, points: Points, settings: ThresholdOptions) -> list[tuple[str, float, int]]:
    lowest = float(ranking.scores[-1])
    others = [("always yes", lowest, len(ranking)), ("always no", math.inf, 0)]
    if lowest >= 0 and float(ranking.scores[0]) <= 1:
        others.append(("threshold 0.5", 0.5, points.place(0.5)))
        if settings.costs is not None and settings.rule.objective.name == "expected_cost":
            share = float(ranking.n_positive / ranking.n)
            ideal = probability_threshold(settings.costs, share, settings.rule.prevalence)
            if ideal is not None:
                others.append(("if the scores are true probabilities", ideal, points.place(ideal)))
    if settings.current is not None:
        others.append(("the current threshold", settings.current, points.place(settings.current)))
    return [_move_to_edge(ranking, *other) for other in others]


def _move_to_edge(ranking: Ranking, name: str, threshold: float, index: int) -> tuple[str, float, int]:
    """The same, or for a threshold inside a bin the nearest edge: what is called positive there is known."""
    least_tp, most_tp, least_fp, most_fp = ranking.between(threshold)
    if ranking.tops is None or (least_tp, least_fp) == (most_tp, most_fp):
        return name, threshold, index
    lower, upper = float(ranking.scores[index]), float(ranking.tops[index])
    edge, at = (upper, index) if upper - threshold < threshold - lower else (lower, index + 1)
    return f"{name}, nearest edge", edge, at


def _make_alternatives(
    ranking: Ranking, points: Points, settings: ThresholdOptions, figures: Figures, others: list[tuple[str, float, int]]
) -> tuple[Alternative, ...]:
    objective = settings.rule.objective
    meets = settings.rule.meets(points)
    alternatives = []
    for name, threshold, index in others:
        if name.startswith("always"):
            estimate = figures.of_constant(objective, positive=index > 0)
        else:
            there = replace(figures, confusion=cut_at(ranking, index, settings.classes))
            estimate = there.of_objective(objective)
        alternatives.append(Alternative(name, threshold, estimate, bool(meets[index])))
    return tuple(alternatives)


def _make_honest(figures: Figures, settings: ThresholdOptions, crossed: CrossFit, counted: Confusion) -> Honest:
    plan = Dependence(counted.n_cases, CROSS_FITTED, target=Honest.TARGET, alike=True)
    judged = replace(figures, confusion=counted, plan=plan)
    required = tuple(judged.of_quantity(requirement.quantity) for requirement in settings.rule.requirements)
    return Honest(judged.of_objective(settings.rule.objective), required, counted, crossed.thresholds, crossed.unmet)
