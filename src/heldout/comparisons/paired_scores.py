"""Which test compares two classifiers by a measure of their scores: the default of each measure, the others by name.

Areas under the ROC curve have DeLong's test and mean losses the t test of their differences, both without resampling.
Every other measure has the paired bootstrap.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.arguments import listing, method_key
from heldout.arrays import Floats
from heldout.comparisons.delong import (
    DELONG,
    DELONG_MOVER,
    DELONG_UNPAIRED,
    Interval,
    case_placements,
    delong_paired,
    delong_unpaired,
    resolve_scores,
)
from heldout.comparisons.pair_test import (
    PER_CASE,
    Procedure,
    Setting,
    find_procedure,
    per_case,
    per_case_of_two,
    permutation_note,
    permutation_p,
    scale_test,
    tail_note,
    tail_p,
)
from heldout.comparisons.paired_influence import (
    INFLUENCE_T,
    CaseUnits,
    compare_average_precision,
    precision_influence,
)
from heldout.comparisons.paired_losses import (
    MATCH_FIRST,
    PAIRED_HALL,
    PAIRED_LOSS_T,
    UNPAIRED_HALL,
    UNPAIRED_LOSS_T,
    case_losses,
    largest_loss,
    paired_loss_test,
    unpaired_loss_test,
)
from heldout.comparisons.score_resampling import (
    PAIRED_BOOTSTRAP,
    PAIRED_PERMUTATION,
    UNPAIRED_BOOTSTRAP,
    bootstrap_limits,
    bootstrap_values,
    check_score_measure,
    rank_model,
    resampled_score_differences,
    score_value,
    swapped_score_differences,
)
from heldout.errors import OptionError, ValuesError
from heldout.evidence import Label
from heldout.evidence.losses import LOSSES
from heldout.intervals.estimate import PairTest, join_notes, undefined_test
from heldout.intervals.multiclass_areas import AREA_AVERAGES, AreaAverage
from heldout.measures.quantity import Bound, Quantity
from heldout.measures.ranking import average_precision, gini, roc_auc, value_range
from heldout.predictions.positive_class import fitted
from heldout.predictions.table import Predictions

Scores = NDArray[Any]

AREAS: Mapping[str, float] = {roc_auc.name: 1.0, gini.name: 2.0}
# The plain words, which for counts mean another procedure, mean these for scores.
SHORT: Mapping[Setting, Mapping[str, str]] = {
    "same cases": {"bootstrap": PAIRED_BOOTSTRAP.name, "permutation": PAIRED_PERMUTATION.name},
    "different cases": {"bootstrap": UNPAIRED_BOOTSTRAP.name, "delong": DELONG_UNPAIRED.name},
}
FEWEST_REPLICATES = 39


def list_score_methods(bound: Bound, setting: Setting = "same cases") -> tuple[str, ...]:
    """The methods that compare two classifiers by this measure, the default first.

    >>> from heldout.measures.catalogue import find
    >>> list_score_methods(find("roc_auc"))
    ('delong', 'delong-mover', 'paired-bootstrap', 'paired-permutation')
    """
    name = bound.measure.name
    closed: tuple[Procedure, ...] = ()
    if setting == "same cases":
        if name in AREAS:
            closed = DELONG, DELONG_MOVER
        elif name in LOSSES:
            closed = PAIRED_LOSS_T, PAIRED_HALL
        rest = (INFLUENCE_T,) if name == average_precision.name else ()
        return tuple(procedure.name for procedure in (*closed, PAIRED_BOOTSTRAP, PAIRED_PERMUTATION, *rest))
    if name in AREAS:
        closed = (DELONG_UNPAIRED,)
    elif name in LOSSES:
        closed = UNPAIRED_LOSS_T, UNPAIRED_HALL
    return tuple(procedure.name for procedure in (*closed, UNPAIRED_BOOTSTRAP))


# More cases than this take seconds to resample, and with enough positives the influences of the cases do as well.
MOST_RESAMPLED, ENOUGH_POSITIVES = 10_000, 200


def compare_scores(
    scores_a: ArrayLike,
    scores_b: ArrayLike,
    truth: ArrayLike,
    bound: Bound,
    *,
    method: str | None = None,
    level: float = 0.95,
    seed: int = 0,
    replicates: int = 999,
    groups: NDArray[Any] | None = None,
    weight: Floats | None = None,
) -> PairTest:
    """A − B of a measure of scores on the same cases, by its default method or the one that is named.

    `truth` is the mask of the positives; where the scores have a column for each class, the place of the true class.
    The permutation has no interval of its own: it has the default method's.

    >>> from heldout.measures.catalogue import find
    >>> truth = [True, True, True, False, False, False, False, False]
    >>> a, b = [0.9, 0.7, 0.4, 0.5, 0.3, 0.2, 0.2, 0.1], [0.6, 0.4, 0.6, 0.5, 0.5, 0.4, 0.3, 0.2]
    >>> result = compare_scores(a, b, truth, find("brier"))
    >>> print(f"{result.method}: {result.difference:.3f} [{result.low:.3f}, {result.high:.3f}], p = {result.p:.3f}")
    paired-loss-t: -0.073 [-0.189, 0.044], p = 0.186
    """
    a, b, classes = _aligned(scores_a, scores_b, truth, bound)
    _check_units(len(classes), groups, weight)
    dependent = groups is not None or weight is not None
    if method is None and bound.measure.name == average_precision.name:
        many = len(classes) > MOST_RESAMPLED and int(np.count_nonzero(classes)) >= ENOUGH_POSITIVES
        method = INFLUENCE_T.name if dependent or many else None
    name = choose_score_method(bound, method, "same cases", replicates)
    if name == INFLUENCE_T.name:
        units = CaseUnits(classes.astype(np.int64), weight, groups)
        return compare_average_precision(a, b, units, level=level, undefined=bound.undefined)
    if name in {DELONG.name, DELONG_MOVER.name}:
        by: Interval = "t" if name == DELONG.name else "mover"
        test = delong_paired(a, b, classes, level=level, interval=by, weight=weight, groups=groups)
        return scale_test(test, AREAS[bound.measure.name])
    if name in {PAIRED_HALL.name, PAIRED_LOSS_T.name}:
        first, second = (case_losses(side, classes, bound) for side in (a, b))
        return paired_loss_test(
            first, second, form="hall" if name == PAIRED_HALL.name else "t", level=level,
            largest=largest_loss(a, bound), weight=weight, groups=groups,
        )  # fmt: skip
    _no_weights(weight, name, bound, "same cases")
    if name == PAIRED_BOOTSTRAP.name:
        difference = score_value(a, classes, bound) - score_value(b, classes, bound)
        if math.isnan(difference):
            return _undefined(bound, name, len(classes), level)
        values = resampled_score_differences((a, b), classes, bound, replicates=replicates, seed=seed, groups=groups)
        return _bootstrapped(difference, values, bound, name, (len(classes),), level)
    usual = compare_scores(a, b, classes, bound, level=level, seed=seed, replicates=replicates, groups=groups)
    swapped = swapped_score_differences((a, b), classes, bound, replicates=replicates, seed=seed, groups=groups)
    return _permuted(usual, swapped, bound)


def score_influence(scores: Scores, truth: NDArray[Any], bound: Bound, units: CaseUnits) -> tuple[float, Floats] | None:
    """The value of one classifier by a measure of scores, and the influence of every case on it, times its weight.

    None for measures without one: those that only resampling compares.

    >>> from heldout.measures.catalogue import find
    >>> mask = np.array([True, True, False, False])
    >>> value, influence = score_influence(np.array([0.9, 0.4, 0.5, 0.1]), mask, find("roc_auc"), CaseUnits(mask * 1))
    >>> value, influence
    (0.75, array([ 0.125, -0.125, -0.125,  0.125]))
    """
    name, weights = bound.measure.name, units.held
    if name in LOSSES:
        losses, total = case_losses(scores, truth, bound), float(weights.sum())
        mean = float(weights @ losses) / total
        return mean, weights * (losses - mean) / total
    if scores.ndim != 1:
        return None
    mask = np.asarray(truth, dtype=np.bool_)
    if name == average_precision.name:
        return precision_influence(scores, replace(units, classes=mask.astype(np.int64)))
    if name not in AREAS or not mask.any() or mask.all():
        return None
    placed, factor = case_placements(np.asarray(scores, dtype=np.float64), mask, units.weight), AREAS[name]
    totals = np.where(mask, float(weights[mask].sum()), float(weights[~mask].sum()))
    area = float(weights[mask] @ placed[mask]) / float(weights[mask].sum())
    # Gini is twice the area less 1.
    return factor * area + 1 - factor, factor * weights * (placed - area) / totals


def _permuted(usual: PairTest, swapped: Floats, bound: Bound) -> PairTest:
    """The p-value of a permutation with the interval of the usual test."""
    name = PAIRED_PERMUTATION.name
    if usual.undefined:
        return replace(usual, method=name)
    defined = swapped[~np.isnan(swapped)]
    lost = len(swapped) - len(defined)
    notes = (
        f"{lost:,} of {len(swapped):,} exchanges leave {bound.name} undefined and were set aside" if lost else "",
        permutation_note(usual.difference, defined),
        # The note of the default test does not apply here, except that there is no interval.
        usual.note if math.isnan(usual.p) else "",
    )
    return replace(
        usual, method=name, p=permutation_p(usual.difference, defined), statistic=math.nan, df=math.nan,
        note=join_notes(*notes), interval_method=usual.interval_method or usual.method,
    )  # fmt: skip


def compare_scores_unpaired(
    scores_a: ArrayLike,
    truth_a: ArrayLike,
    scores_b: ArrayLike,
    truth_b: ArrayLike,
    bound: Bound,
    *,
    method: str | None = None,
    level: float = 0.95,
    seed: int = 0,
    replicates: int = 999,
    groups_a: NDArray[Any] | None = None,
    groups_b: NDArray[Any] | None = None,
) -> PairTest:
    """A − B of a measure of scores where each model has cases of its own.

    >>> from heldout.measures.catalogue import find
    >>> a, b = [0.9, 0.7, 0.4, 0.5, 0.3, 0.2], [0.6, 0.4, 0.6, 0.5, 0.5, 0.4, 0.3]
    >>> mask = [True, True, True, False, False, False]
    >>> result = compare_scores_unpaired(a, mask, b, [*mask, False], find("auc"))
    >>> print(f"{result.method}: {result.difference:.3f} [{result.low:.3f}, {result.high:.3f}], p = {result.p:.3f}")
    delong-unpaired: 0.097 [-0.807, 0.886], p = 0.729
    """
    a, _, first = _aligned(scores_a, scores_a, truth_a, bound)
    b, _, second = _aligned(scores_b, scores_b, truth_b, bound)
    for classes, groups in ((first, groups_a), (second, groups_b)):
        _check_units(len(classes), groups, None)
    name = choose_score_method(bound, method, "different cases", replicates)
    if name == DELONG_UNPAIRED.name:
        rankings = rank_model(a, first, groups_a), rank_model(b, second, groups_b)
        return scale_test(delong_unpaired(*rankings, level=level), AREAS[bound.measure.name])
    if name in {UNPAIRED_LOSS_T.name, UNPAIRED_HALL.name}:
        return unpaired_loss_test(
            case_losses(a, first, bound), case_losses(b, second, bound),
            form="hall" if name == UNPAIRED_HALL.name else "t", level=level,
            largest=largest_loss(a, bound), groups_a=groups_a, groups_b=groups_b,
        )  # fmt: skip
    difference, sizes = score_value(a, first, bound) - score_value(b, second, bound), (len(first), len(second))
    if math.isnan(difference):
        return _undefined(bound, name, sum(sizes), level)
    values = [
        bootstrap_values(side, classes, bound, replicates=replicates, stream=(seed, stream), groups=groups)
        for side, classes, groups, stream in ((a, first, groups_a, 24), (b, second, groups_b, 25))
    ]
    return _bootstrapped(difference, values[0] - values[1], bound, name, sizes, level)


def _undefined(bound: Bound, name: str, n: int, level: float) -> PairTest:
    return undefined_test(bound.undefined, level, name, n, reach=_reach(bound))


def _reach(bound: Bound) -> float:
    """The largest difference there can be."""
    floor, ceiling = value_range(bound.measure, bound.parameters)
    return ceiling - floor


def _bootstrapped(
    difference: float, values: Floats, bound: Bound, name: str, sizes: tuple[int, ...], level: float
) -> PairTest:
    """What resamples say of a difference; `sizes` are those of the one test set, or of the two."""
    defined = values[~np.isnan(values)]
    lost, n = len(values) - len(defined), sum(sizes)
    if len(defined) < FEWEST_REPLICATES:
        note = f"{bound.name} is defined in only {len(defined):,} of {len(values):,} resamples, so there is no test."
        return PairTest(difference, -_reach(bound), _reach(bound), level, name, math.nan, n, note=note)
    low, high = bootstrap_limits(defined, difference, level)
    note = f"{lost:,} of {len(values):,} resamples leave {bound.name} undefined and were set aside" if lost else ""
    if not defined.any() and difference == 0:
        note = "both have the same value in every resample"
    note = join_notes(note, tail_note(defined))
    error = float(defined.std())
    effect = per_case(difference, error, n) if len(sizes) == 1 else per_case_of_two(difference, error, *sizes)
    return PairTest(
        difference, low, high, level, name, tail_p(defined), n, effect=effect, effect_name=PER_CASE, note=note
    )


def choose_score_method(bound: Bound, method: str | None, setting: Setting, replicates: int = 999) -> str:
    """The method that was named for a measure of scores, or its default; refused where it does not fit the measure.

    >>> from heldout.measures.catalogue import find
    >>> choose_score_method(find("brier"), "Paired-Hall", "same cases")
    'paired-hall'
    """
    fitting = list_score_methods(bound, setting)
    if method is None:
        name = fitting[0]
    else:
        key = method_key(method)
        name = find_procedure(SHORT[setting].get(key, key), setting).name
    if name not in fitting:
        raise OptionError(
            f"The method {name!r} does not compare by {bound.name}. For it there are: {listing(fitting)}.",
            hint=f"leave method out for {fitting[0]!r}.",
        )
    if replicates < FEWEST_REPLICATES and "bootstrap" in name + fitting[0]:
        raise OptionError(
            f"{replicates} replicates cannot show a difference at the level .95; {FEWEST_REPLICATES} can.",
            hint="leave replicates out for 999.",
        )
    return name


def _aligned(
    scores_a: ArrayLike, scores_b: ArrayLike, truth: ArrayLike, bound: Bound
) -> tuple[Scores, Scores, NDArray[Any]]:
    a, b, classes = np.asarray(scores_a), np.asarray(scores_b), np.asarray(truth)
    check_score_measure(bound, a, b)
    if a.shape != b.shape or len(a) != len(classes):
        raise ValuesError(
            f"A has scores of shape {a.shape}, B of {b.shape}, and there are {len(classes):,} cases.",
            hint=MATCH_FIRST,
        )
    if a.ndim == 1:
        if classes.dtype.kind != "b":
            classes = _mask(classes)
        if bound.measure.scope == "ranking":
            resolve_scores([a, b], classes)
    return a, b, classes


def _mask(classes: NDArray[Any]) -> NDArray[np.bool_]:
    values = set(np.unique(classes).tolist())
    if not values <= {0, 1}:
        raise ValuesError(
            f"The truth says whether a case is positive: True or False, 1 or 0. Found {listing(sorted(values))}.",
            hint="compare with the label of the positive class first.",
        )
    return classes.astype(np.bool_)


def _check_units(n: int, groups: NDArray[Any] | None, weight: Floats | None) -> None:
    for what, values in (("group", groups), ("weight", weight)):
        if values is not None and len(values) != n:
            raise ValuesError(f"{n:,} cases have {len(values):,} {what}s.", hint=f"give one {what} for each case.")


def _no_weights(weight: Floats | None, name: str, bound: Bound, setting: Setting) -> None:
    if weight is None:
        return
    closed = [
        each for each in list_score_methods(bound, setting) if "bootstrap" not in each and "permutation" not in each
    ]
    raise OptionError(
        f"The method {name!r} compares {bound.name} without weights, and the cases have some.",
        hint=f"use {listing(closed)}."
        if closed
        else "leave the weights out, or compare by roc_auc, brier or log_loss.",
    )


# The scores as a measure needs them.


def translate_class(quantity: Quantity, labels: Sequence[Label]) -> Quantity:
    """The same quantity with its class spelled as in these labels: 1 in one file may be "1" in another."""
    if quantity.class_ is None or quantity.class_ in labels:
        return quantity
    return replace(quantity, class_=fitted([quantity.class_], labels)[0])


def select_scores(
    values: NDArray[Any], predictions: Predictions, quantity: Quantity, labels: tuple[Label, ...]
) -> NDArray[Any]:
    """The scores as a measure needs them: of one class, or with a column for each of these labels."""
    class_ = translate_class(quantity, predictions.labels).class_
    if values.ndim == 1:
        # Scores of the other of two classes rank the cases in the opposite order.
        negate = class_ is not None and predictions.positive is not None and class_ != predictions.positive
        return -values if negate else values
    if quantity.bound.measure.scope == "ranking" and class_ is not None:
        if class_ not in predictions.labels:
            raise OptionError(
                f"There are no scores of the class {class_!r}. There are those of: {listing(predictions.labels)}.",
                hint="use a class that all of them score.",
            )
        return np.asarray(values[:, predictions.labels.index(class_)])
    own_labels = fitted(predictions.labels, labels)
    if own_labels == labels:
        return values
    # A classifier gives a class that it does not know the probability 0.
    columns = np.zeros((len(values), len(labels)), dtype=values.dtype)
    columns[:, [labels.index(label) for label in own_labels]] = values
    return columns


def averaged_area(quantity: Quantity) -> AreaAverage | None:
    """The average of areas that a quantity is, None where it is none."""
    if quantity.bound.measure.scope == "pairs":
        return "hand_till"
    named = quantity.bound.measure.name == "roc_auc" and quantity.class_ is None
    return next((average for average in AREA_AVERAGES if named and average == quantity.average), None)
