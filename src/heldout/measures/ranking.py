"""Measures of a ranking: how well the scores put the positives above the negatives.

Every formula reads a ranking, or a batch of resampled ones, through its last axis: the distinct scores from the
highest down. A tie is one point of a curve, and a case is predicted positive when its score is at least the threshold.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from heldout.evidence import Ranking
from heldout.evidence.score_bins import inside_sums
from heldout.measures.counts import FAWCETT, NO_POSITIVES
from heldout.measures.declare import UNBOUNDED, Headline, Measure, Scaling, measure
from heldout.measures.ranking_batch import Ranked, lost_pairs, precision_sums

HANLEY = "Hanley & McNeil (1982), The meaning and use of the area under a receiver operating characteristic curve"
MCCLISH = "McClish (1989), Analyzing a portion of the ROC curve"
DAVIS = "Davis & Goadrich (2006), The relationship between precision-recall and ROC curves"
FLACH = "Flach & Kull (2015), Precision-recall-gain curves: PR analysis done right"
MANNING = "Manning, Raghavan & Schütze (2008), Introduction to Information Retrieval, ch. 8"
LINOFF = "Linoff & Berry (2011), Data Mining Techniques, ch. 5"

ONE_CLASS = "there are no positives or no negatives"
EMPTY_RANGE = "there are no positives, no negatives, or the range is empty"
# Rates are compared with a tolerance: 0.1 · 30 is 3.0000000000000004 in floats.
TOLERANCE = 1e-12


def _area_inside_bins(ranking: Ranking) -> tuple[float, float]:
    """The least and the largest area under the ROC curve that the order inside the bins allows."""
    if not (ranking.n_positive and ranking.n_negative):
        return math.nan, math.nan
    sums = inside_sums(ranking)
    return 1.0 - sums.lost - sums.open, 1.0 - sums.lost + sums.open


def _precision_inside_bins(ranking: Ranking) -> tuple[float, float]:
    """The least and the largest average precision that the order inside the bins allows."""
    if not ranking.n_positive:
        return math.nan, math.nan
    sums = inside_sums(ranking)
    return sums.low, sums.high


@measure(
    symbol="AUC",
    aliases=(
        "auc",
        "auroc",
        "roc_area",
        "area_under_roc",
        "c_statistic",
        "c_index",
        "concordance",
        "mann_whitney",
        "area_under_the_curve",
    ),
    kind="ranking",
    scope="ranking",
    over_folds="mean",
    undefined=ONE_CLASS,
    reference=HANLEY,
    formula="(concordant pairs + ½ · tied pairs) / (positives · negatives)",
    intervals=("delong-score", "delong-logit", "delong", "hanley-mcneil", "newcombe"),
    fold_interval="delong-score",
    binned=_area_inside_bins,
    headline=Headline(6),
    reported=True,
)
def roc_auc(ranking: Ranked) -> tuple[Any, Any]:
    """Chance that a random positive has a higher score than a random negative, ties half; 0.5 is guessing."""
    pairs = 2.0 * ranking.n_positive * ranking.n_negative
    return pairs - lost_pairs(ranking), pairs


@measure(
    symbol="Gini",
    aliases=("gini_coefficient", "somers_d", "accuracy_ratio"),
    kind="ranking",
    scope="ranking",
    over_folds="mean",
    low=-1.0,
    undefined=ONE_CLASS,
    reference="Hand & Till (2001), A simple generalisation of the area under the ROC curve",
    formula="2 · AUC − 1",
    scaling=Scaling(roc_auc, 2.0, -1.0),
    reported=True,
)
def gini(ranking: Ranked) -> tuple[Any, Any]:
    """Twice the area under the ROC curve less 1; 0 is guessing."""
    pairs = 2.0 * ranking.n_positive * ranking.n_negative
    return pairs - 2 * lost_pairs(ranking), pairs


@measure(
    symbol="pAUC",
    aliases=("partial_roc_auc", "partial_auroc"),
    kind="ranking",
    scope="ranking",
    over_folds="ranks",
    undefined=EMPTY_RANGE,
    reference=MCCLISH,
    formula="∫ TPR dFPR over low ≤ FPR ≤ high",
    intervals=("profile",),
    component="partial area",
)
def partial_auc(ranking: Ranked, *, low: float = 0.0, high: float = 0.1) -> tuple[Any, Any]:
    """Area under the ROC curve over a range of false positive rates; guessing gives (high² − low²) / 2."""
    area, defined = _area_by_fpr(ranking, low, high)
    return area, defined


@measure(
    symbol="cpAUC",
    aliases=("standardized_partial_auc", "mcclish_auc"),
    kind="ranking",
    scope="ranking",
    over_folds="ranks",
    undefined=EMPTY_RANGE,
    reference=MCCLISH,
    formula="½ · (1 + (pAUC − guessing) / (perfect − guessing))",
    intervals=("profile",),
    component="corrected partial area",
)
def corrected_partial_auc(ranking: Ranked, *, low: float = 0.0, high: float = 0.1) -> tuple[Any, Any]:
    """Partial area by false positive rate, brought to a scale on which 0.5 is guessing and 1 is perfect."""
    area, defined = _area_by_fpr(ranking, low, high)
    return _mcclish(area, defined, high - low, (high * high - low * low) / 2)


@measure(
    symbol="pAUC(TPR)",
    aliases=("partial_auc_tpr", "partial_auc_by_sensitivity", "partial_auc_by_tpr"),
    kind="ranking",
    scope="ranking",
    over_folds="ranks",
    undefined=EMPTY_RANGE,
    reference=MCCLISH,
    formula="∫ (1 − FPR) dTPR over low ≤ TPR ≤ high",
    intervals=("profile",),
    component="partial area",
)
def partial_auc_by_recall(ranking: Ranked, *, low: float = 0.9, high: float = 1.0) -> tuple[Any, Any]:
    """Area beside the ROC curve over a range of recalls; guessing gives (high − low) − (high² − low²) / 2."""
    area, defined = _area_by_tpr(ranking, low, high)
    return area, defined


@measure(
    symbol="cpAUC(TPR)",
    aliases=("corrected_partial_auc_tpr", "corrected_partial_auc_by_sensitivity"),
    kind="ranking",
    scope="ranking",
    over_folds="ranks",
    undefined=EMPTY_RANGE,
    reference=MCCLISH,
    formula="½ · (1 + (pAUC(TPR) − guessing) / (perfect − guessing))",
    intervals=("profile",),
    component="corrected partial area",
)
def corrected_partial_auc_by_recall(ranking: Ranked, *, low: float = 0.9, high: float = 1.0) -> tuple[Any, Any]:
    """Partial area by recall, brought to a scale on which 0.5 is guessing and 1 is perfect."""
    area, defined = _area_by_tpr(ranking, low, high)
    width = high - low
    return _mcclish(area, defined, width, width - (high * high - low * low) / 2)


@measure(
    symbol="KS",
    title="Kolmogorov–Smirnov",
    aliases=("ks", "ks_statistic", "kolmogorov_smirnov_statistic"),
    kind="ranking",
    scope="ranking",
    over_folds="ranks",
    undefined=ONE_CLASS,
    reference="Conover (1999), Practical Nonparametric Statistics, ch. 6",
    formula="max |TPR − FPR| over the thresholds",
    intervals=("profile",),
    component="largest gap",
    binned="edges",
)
def kolmogorov_smirnov(ranking: Ranked) -> tuple[Any, Any]:
    """Largest gap between the true and the false positive rate; a sample of a useless score has more than 0."""
    tp, fp = ranking.tp * 1.0, ranking.fp * 1.0
    p, q = _column(ranking.n_positive), _column(ranking.n_negative)
    return np.abs(tp * q - fp * p).max(axis=-1, initial=0.0), 1.0 * ranking.n_positive * ranking.n_negative


@measure(
    symbol="AP",
    aliases=("ap", "pr_auc", "auc_pr", "auprc", "prc_area", "average_precision_score", "aucpr", "precision_recall_auc"),
    kind="precision area",
    scope="ranking",
    over_folds="ranks",
    undefined=NO_POSITIVES,
    reference=MANNING,
    formula="Σ precision · (gain in recall), over the thresholds",
    intervals=("influence-logit",),
    binned=_precision_inside_bins,
    headline=Headline(8, ("screen", "page")),
    reported=True,
)
def average_precision(ranking: Ranked) -> tuple[Any, Any]:
    """Mean precision at the positives, a step for each distinct score; guessing gives the share of positives."""
    # Sums of weights may pass what they cannot exceed, by rounding.
    return np.minimum(precision_sums(ranking).gained, ranking.n_positive), 1.0 * ranking.n_positive


@measure(
    symbol="PR area",
    aliases=("area_under_pr", "interpolated_pr_auc"),
    kind="precision area",
    scope="ranking",
    over_folds="ranks",
    undefined=NO_POSITIVES,
    reference=DAVIS,
    formula="∫ precision dTPR, with FP linear in TP between thresholds",
)
def pr_area(ranking: Ranked) -> tuple[Any, Any]:
    """Area under the precision-recall curve, interpolated as the ROC curve allows; guessing gives the prevalence."""
    tp0, fp0, more_tp, more_fp = _steps(ranking)
    above = tp0 + fp0
    # With u of the step's positives found, FP = fp0 + s·u, and precision (tp0 + u) / (found + (1 + s)·u); this is its
    # integral over the step in terms that are all positive, so that nothing cancels.
    with np.errstate(divide="ignore", invalid="ignore"):
        x = (more_tp + more_fp) / above
        logs = np.log1p(x)
        first = np.where(x > 0, logs / x, 1.0)
        # (x − log(1 + x)) / x² loses its digits as x goes to 0; there its series stands in.
        second = np.where(x > 1e-2, (x - logs) / (x * x), _tail_series(x))
        later = more_tp * (tp0 * first + more_tp * second) / above
        from_nothing = more_tp * more_tp / (more_tp + more_fp)
    area = np.where(more_tp > 0, np.where(above > 0, later, from_nothing), 0.0)
    return area.sum(axis=-1), 1.0 * ranking.n_positive


@measure(
    symbol="AUPRG",
    aliases=("auprg", "prg_area", "area_under_prg"),
    kind="precision area",
    scope="ranking",
    over_folds="ranks",
    low=-UNBOUNDED,
    undefined=ONE_CLASS,
    reference=FLACH,
    formula="∫ (1 − P·FP / (N·TP)) d(1 − P·FN / (N·TP)), where recall gain ≥ 0",
)
def precision_recall_gain_area(ranking: Ranked) -> tuple[Any, Any]:
    """Area under the precision-recall-gain curve; always predicting positive gives 0."""
    tp0, fp0, more_tp, more_fp = _steps(ranking)
    p, q = _column(ranking.n_positive), _column(ranking.n_negative)
    with np.errstate(divide="ignore", invalid="ignore"):
        odds = p / q
        slope = more_fp / more_tp
        # Both gains are linear in 1 / TP, so a step is a straight line in this plane.
        start, stop = (np.maximum(1 - odds * (p / tp - 1), 0.0) for tp in (tp0, tp0 + more_tp))
        middle = (1 + odds - (start + stop) / 2) / (odds * p)
        height = 1 - odds * (slope + (fp0 - slope * tp0) * middle)
        area = np.where((more_tp > 0) & (stop > start), (stop - start) * height, 0.0)
    return area.sum(axis=-1), _both(ranking)


@measure(
    symbol="Gain",
    aliases=("cumulative_gain", "captured", "recall_at_share", "gain"),
    kind="ranking",
    scope="ranking",
    over_folds="mean",
    undefined=NO_POSITIVES,
    reference=LINOFF,
    formula="positives among the top share / positives",
    intervals=("profile",),
    component="top",
)
def gain_at(ranking: Ranked, *, share: float = 0.1) -> tuple[Any, Any]:
    """Share of the positives among the cases with the highest scores; guessing gives the share itself.

    Where the cut falls into a tie, the tied cases count in proportion.
    """
    return _top(ranking, share)[0], 1.0 * ranking.n_positive


@measure(
    symbol="Lift",
    aliases=("lift",),
    kind="ranking",
    scope="ranking",
    over_folds="mean",
    high=UNBOUNDED,
    undefined="there are no positives, or the share is 0",
    reference=LINOFF,
    formula="precision among the top share / prevalence",
    intervals=("profile",),
    component="top",
)
def lift_at(ranking: Ranked, *, share: float = 0.1) -> tuple[Any, Any]:
    """How many times as many positives are among the highest scores as guessing would find; guessing gives 1.

    Where the cut falls into a tie, the tied cases count in proportion.
    """
    positives, depth = _top(ranking, share)
    return positives * (ranking.n_positive + ranking.n_negative), depth * ranking.n_positive


@measure(
    symbol="P@k",
    aliases=("precision_at_k", "p_at_k"),
    kind="precision area",
    scope="ranking",
    over_folds="ranks",
    undefined="there are fewer than k cases",
    reference=MANNING,
    formula="positives among the k highest scores / k",
    intervals=("profile",),
    component="top",
)
def precision_at(ranking: Ranked, *, k: float = 10.0) -> tuple[Any, Any]:
    """Share of positives among the k cases with the highest scores; guessing gives the share of positives.

    Where the cut falls into a tie, its cases count in proportion: the mean over all orders of the tied cases. With
    weights, k is a weight of cases.
    """
    n = np.asarray(ranking.n_positive + ranking.n_negative, dtype=np.float64)
    return _positives_among(ranking, np.minimum(k, n)), np.where(n >= k, k, 0.0)


@measure(
    symbol="R@P",
    aliases=("recall_at_fixed_precision", "sensitivity_at_precision"),
    kind="precision area",
    scope="ranking",
    over_folds="ranks",
    undefined=NO_POSITIVES,
    reference=MANNING,
    formula="max TPR over the thresholds with precision ≥ the given one",
    intervals=("profile",),
    component="recall at a precision",
    binned="edges",
)
def recall_at_precision(ranking: Ranked, *, precision: float = 0.9) -> tuple[Any, Any]:
    """Best recall at a threshold whose precision is at least the given one, 0 if there is none; not interpolated."""
    tp, predicted = ranking.tp, ranking.tp + ranking.fp
    reached = tp >= (precision - TOLERANCE) * predicted
    return np.where(reached, tp, 0).max(axis=-1, initial=0), 1.0 * ranking.n_positive


@measure(
    symbol="P@R",
    aliases=("precision_at_fixed_recall", "precision_at_sensitivity"),
    kind="precision area",
    scope="ranking",
    over_folds="ranks",
    undefined=NO_POSITIVES,
    reference=MANNING,
    formula="max precision over the thresholds with TPR ≥ the given one",
    intervals=("profile",),
    component="precision at a recall",
    binned="edges",
)
def precision_at_recall(ranking: Ranked, *, recall: float = 0.9) -> tuple[Any, Any]:
    """Best precision at a threshold whose recall is at least the given one; not interpolated."""
    tp, predicted = ranking.tp, ranking.tp + ranking.fp
    reached = tp >= (recall - TOLERANCE) * _column(ranking.n_positive)
    precision = np.where(reached, tp / np.maximum(predicted, 1e-300), 0.0)
    return precision.max(axis=-1, initial=0.0), 1.0 * (np.asarray(ranking.n_positive) > 0)


@measure(
    symbol="TPR@FPR",
    aliases=("sensitivity_at_fpr", "recall_at_fpr", "tar_at_far"),
    kind="ranking",
    scope="ranking",
    over_folds="ranks",
    undefined=ONE_CLASS,
    reference=FAWCETT,
    formula="max TPR over the thresholds with FPR ≤ the given one",
    intervals=("profile",),
    component="recall at a false positive rate",
    binned="edges",
)
def tpr_at_fpr(ranking: Ranked, *, fpr: float = 0.1) -> tuple[Any, Any]:
    """Best recall at a threshold whose false positive rate is at most the given one; not interpolated."""
    allowed = ranking.fp <= (fpr + TOLERANCE) * _column(ranking.n_negative)
    most = np.where(allowed, ranking.tp, 0).max(axis=-1, initial=0)
    return most / np.maximum(ranking.n_positive, 1e-300), _both(ranking)


def _column(total: Any) -> Any:
    return np.asarray(total, dtype=np.float64)[..., None]


def _both(ranking: Ranked) -> Any:
    """1 where there are positives and negatives, otherwise 0: the denominator of what is already divided."""
    return 1.0 * ((np.asarray(ranking.n_positive) > 0) & (np.asarray(ranking.n_negative) > 0))


def _steps(ranking: Ranked) -> tuple[Any, Any, Any, Any]:
    """TP and FP above each distinct score, and how many more there are at it."""
    more_tp, more_fp = ranking.positives * 1.0, ranking.negatives * 1.0
    return _before(ranking.tp), _before(ranking.fp), more_tp, more_fp


def _before(sums: Any) -> Any:
    """The running sums without the score that they end at; not a difference, which of weights would be rounding."""
    return np.concatenate([np.zeros((*sums.shape[:-1], 1)), sums[..., :-1]], axis=-1)[..., : sums.shape[-1]]


def _tail_series(x: Any) -> Any:
    # Σ (−x)^k / (k + 2): eight terms are exact to rounding below .01.
    total = np.zeros_like(x)
    for k in range(7, -1, -1):
        total = total * -x + 1 / (k + 2)
    return total


def _area_by_fpr(ranking: Ranked, low: float, high: float) -> tuple[Any, Any]:
    tp0, fp0, more_tp, more_fp = _steps(ranking)
    p, q = _column(np.maximum(ranking.n_positive, 1e-300)), _column(np.maximum(ranking.n_negative, 1e-300))
    area = _clipped_area(fp0 / q, (fp0 + more_fp) / q, tp0 / p, (tp0 + more_tp) / p, low, high)
    return area, _both(ranking) * (low < high)


def _area_by_tpr(ranking: Ranked, low: float, high: float) -> tuple[Any, Any]:
    tp0, fp0, more_tp, more_fp = _steps(ranking)
    p, q = _column(np.maximum(ranking.n_positive, 1e-300)), _column(np.maximum(ranking.n_negative, 1e-300))
    area = _clipped_area(tp0 / p, (tp0 + more_tp) / p, 1 - fp0 / q, 1 - (fp0 + more_fp) / q, low, high)
    return area, _both(ranking) * (low < high)


def _clipped_area(x0: Any, x1: Any, y0: Any, y1: Any, low: float, high: float) -> Any:
    """The area under straight lines from (x0, y0) to (x1, y1), where low ≤ x ≤ high."""
    start, stop = np.clip(x0, low, high), np.clip(x1, low, high)
    rise = x1 - x0
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(rise > 0, ((start + stop) / 2 - x0) / rise, 0.0)
    return ((stop - start) * (y0 + (y1 - y0) * share)).sum(axis=-1)


def _mcclish(area: Any, defined: Any, perfect: float, guessing: float) -> tuple[Any, Any]:
    gap = perfect - guessing
    return (area - guessing + gap) * defined, 2 * gap * defined


def _top(ranking: Ranked, share: float) -> tuple[Any, Any]:
    """Positives among the top share of the cases, and how many cases that share is."""
    depth = np.asarray(min(share, 1.0) * (ranking.n_positive + ranking.n_negative), dtype=np.float64)
    return _positives_among(ranking, depth), depth


def _positives_among(ranking: Ranked, depth: Any) -> Any:
    """Positives among so many cases with the highest scores; those of a tie that is cut count in proportion."""
    tp, reach = ranking.tp * 1.0, ranking.tp + ranking.fp
    if not reach.shape[-1]:
        return depth
    at = np.minimum((reach < depth[..., None]).sum(axis=-1), reach.shape[-1] - 1)[..., None]
    here = np.take_along_axis(ranking.positives * 1.0, at, axis=-1)[..., 0]
    cases = here + np.take_along_axis(ranking.negatives * 1.0, at, axis=-1)[..., 0]
    # From what lies above the tie, not from what lies below it: a small part of a heavy tie would be rounding.
    tp_above, above = (np.take_along_axis(_before(sums), at, axis=-1)[..., 0] for sums in (tp, reach))
    share = np.clip((depth - above) / np.maximum(cases, 1e-300), 0.0, 1.0)
    return tp_above + here * share


def value_range(measure: Measure, parameters: Mapping[str, float]) -> tuple[float, float]:
    """The smallest and the largest value of a measure with these parameters.

    >>> value_range(partial_auc, {"low": 0.0, "high": 0.2})
    (0.0, 0.2)
    """
    if measure.name not in PARTIAL:
        return measure.range
    low, high = parameters["low"], parameters["high"]
    width, part = high - low, (high * high - low * low) / 2
    if measure.name in {partial_auc.name, partial_auc_by_recall.name}:
        return 0.0, width
    guessing = part if measure.name == corrected_partial_auc.name else width - part
    return (0.5 - guessing / (width - guessing) / 2 if width > guessing else 0.0), 1.0


def follows_prevalence(measure: Measure) -> bool:
    """Whether a measure changes when positives become more frequent, though both classes stay as they are."""
    return measure.kind == "precision area" or measure.name in {gain_at.name, lift_at.name}


BY_FPR = frozenset({partial_auc.name, corrected_partial_auc.name})
BY_RECALL = frozenset({partial_auc_by_recall.name, corrected_partial_auc_by_recall.name})
PARTIAL = BY_FPR | BY_RECALL
MEASURES: tuple[Measure, ...] = (
    roc_auc,
    gini,
    partial_auc,
    corrected_partial_auc,
    partial_auc_by_recall,
    corrected_partial_auc_by_recall,
    kolmogorov_smirnov,
    average_precision,
    pr_area,
    precision_recall_gain_area,
    gain_at,
    lift_at,
    precision_at,
    recall_at_precision,
    precision_at_recall,
    tpr_at_fpr,
)


# Measures of the scores of several classes, from the areas between pairs of them.


@measure(
    symbol="M",
    title="multi-class AUC (Hand–Till)",
    aliases=("hand_till", "ovo_auc", "roc_auc_ovo", "multiclass_auc"),
    kind="ranking",
    scope="pairs",
    over_folds="mean",
    undefined="fewer than two classes have cases",
    reference="Hand & Till (2001), A simple generalisation of the area under the ROC curve for multiple class problems",
    formula="mean over ordered pairs of classes i, j of P(score i of a case of i > score i of a case of j)",
    intervals=("delong-logit",),
    headline=Headline(7, ("page",)),
    reported=True,
)
def hand_till_auc(areas: Any) -> tuple[Any, Any]:
    """Mean over all pairs of classes of the area between the two: .5 is guessing."""
    apart = ~np.eye(len(areas), dtype=bool) & ~np.isnan(areas)
    return float(areas[apart].sum()), float(apart.sum())


PAIR_MEASURES: tuple[Measure, ...] = (hand_till_auc,)
