"""Measures of one class against the rest, from TP, FP, FN and TN."""

from __future__ import annotations

from typing import Any

from heldout.measures.declare import NO_CASES, UNBOUNDED, Headline, Measure, Scaling, measure

FAWCETT = "Fawcett (2006), An introduction to ROC analysis"
POWERS = "Powers (2011), Evaluation: from precision, recall and F-measure to ROC, informedness, markedness"
TAN = "Tan, Steinbach & Kumar (2005), Introduction to Data Mining, ch. 4-5"
DEEKS = "Deeks & Altman (2004), Diagnostic tests 4: likelihood ratios"
GLAS = "Glas et al. (2003), The diagnostic odds ratio"

NO_POSITIVES = "there are no actual positives"
NO_NEGATIVES = "there are no actual negatives"
NO_PREDICTED = "nothing was predicted positive"
ALL_PREDICTED = "nothing was predicted negative"


@measure(
    symbol="PPV",
    aliases=("ppv", "positive_predictive_value", "class_specific_accuracy", "class_accuracy", "pos_pred_value"),
    undefined=NO_PREDICTED,
    reference=FAWCETT,
    averages=True,
    strata="predicted",
)
def precision(tp: Any, fp: Any) -> tuple[Any, Any]:
    """Share of the predicted positives that are right."""
    return tp, tp + fp


@measure(
    symbol="TPR",
    aliases=("sensitivity", "tpr", "true_positive_rate", "hit_rate", "coverage", "sens", "tp_rate"),
    undefined=NO_POSITIVES,
    reference=FAWCETT,
    averages=True,
    strata="truth",
)
def recall(tp: Any, fn: Any) -> tuple[Any, Any]:
    """Share of the actual positives that were found."""
    return tp, tp + fn


@measure(
    symbol="TNR",
    aliases=("tnr", "true_negative_rate", "selectivity", "spec", "tn_rate"),
    undefined=NO_NEGATIVES,
    reference=FAWCETT,
    averages=True,
)
def specificity(tn: Any, fp: Any) -> tuple[Any, Any]:
    """Share of the actual negatives that were left alone."""
    return tn, tn + fp


@measure(
    symbol="FPR",
    aliases=("fpr", "fallout", "false_alarm_rate", "fall_out", "fp_rate"),
    direction="lower",
    undefined=NO_NEGATIVES,
    reference=FAWCETT,
    averages=True,
    scaling=Scaling(specificity, -1.0, 1.0),
)
def false_positive_rate(fp: Any, tn: Any) -> tuple[Any, Any]:
    """Share of the actual negatives that were called positive."""
    return fp, fp + tn


@measure(
    symbol="FNR",
    aliases=("fnr", "miss_rate", "fn_rate"),
    direction="lower",
    undefined=NO_POSITIVES,
    reference=FAWCETT,
    averages=True,
    strata="truth",
    scaling=Scaling(recall, -1.0, 1.0),
)
def false_negative_rate(fn: Any, tp: Any) -> tuple[Any, Any]:
    """Share of the actual positives that were missed."""
    return fn, fn + tp


@measure(
    symbol="NPV",
    aliases=("npv", "neg_pred_value"),
    undefined=ALL_PREDICTED,
    reference=FAWCETT,
    averages=True,
)
def negative_predictive_value(tn: Any, fn: Any) -> tuple[Any, Any]:
    """Share of the predicted negatives that are right."""
    return tn, tn + fn


@measure(
    symbol="FDR",
    aliases=("fdr",),
    direction="lower",
    undefined=NO_PREDICTED,
    reference=FAWCETT,
    averages=True,
    strata="predicted",
    scaling=Scaling(precision, -1.0, 1.0),
)
def false_discovery_rate(fp: Any, tp: Any) -> tuple[Any, Any]:
    """Share of the predicted positives that are wrong."""
    return fp, fp + tp


@measure(
    symbol="FOR",
    aliases=("for",),
    direction="lower",
    undefined=ALL_PREDICTED,
    reference=FAWCETT,
    averages=True,
    scaling=Scaling(negative_predictive_value, -1.0, 1.0),
)
def false_omission_rate(fn: Any, tn: Any) -> tuple[Any, Any]:
    """Share of the predicted negatives that are wrong."""
    return fn, fn + tn


@measure(
    symbol="F",
    aliases=("f_measure", "f_beta", "fbeta", "fscore", "fmeasure", "f", "f_meas"),
    kind="f",
    undefined="there are no actual and no predicted positives",
    reference="van Rijsbergen (1979), Information Retrieval, ch. 7",
    averages=True,
    overlap=True,
    formula="(1 + beta²) · TP / ((1 + beta²) · TP + beta² · FN + FP)",
    headline=Headline(3),
)
def f_score(tp: Any, fp: Any, fn: Any, *, beta: float = 1.0) -> tuple[Any, Any]:
    """Harmonic mean of precision and recall, with recall counting beta times as much."""
    square = beta * beta
    return (1 + square) * tp, (1 + square) * tp + square * fn + fp


@measure(
    symbol="J",
    aliases=("iou", "intersection_over_union", "critical_success_index", "tanimoto", "jaccard_index"),
    undefined="there are no actual and no predicted positives",
    reference="Jaccard (1912), The distribution of the flora in the alpine zone",
    averages=True,
    overlap=True,
)
def jaccard(tp: Any, fp: Any, fn: Any) -> tuple[Any, Any]:
    """Share of the cases that are positive by truth or prediction on which the two agree."""
    return tp, tp + fp + fn


@measure(
    symbol="BA",
    aliases=("bacc", "balanced_acc", "bal_accuracy"),
    kind="agreement",
    undefined="a class has no cases; macro recall leaves such a class out",
    reference="Brodersen et al. (2010), The balanced accuracy and its posterior distribution",
    overall="recall",
    formula="(TP / (TP + FN) + TN / (TN + FP)) / 2, or the mean recall over all classes",
    headline=Headline(2, ("screen", "page", "card")),
)
def balanced_accuracy(tp: Any, fn: Any, tn: Any, fp: Any) -> tuple[Any, Any]:
    """Mean of the recalls of the classes: accuracy as if all classes were equally common."""
    positives, negatives = tp + fn, tn + fp
    return tp * negatives + tn * positives, 2 * positives * negatives


@measure(
    symbol="BM",
    aliases=("youden", "youden_j", "bookmaker_informedness", "bookmaker", "j_statistic", "j_index"),
    kind="agreement",
    low=-1.0,
    undefined="a class has no cases",
    reference=POWERS,
    formula="TPR + TNR - 1",
    scaling=Scaling(balanced_accuracy, 2.0, -1.0),
)
def informedness(tp: Any, fn: Any, tn: Any, fp: Any) -> tuple[Any, Any]:
    """How much better than guessing the classes are told apart (Youden's J)."""
    return tp * tn - fp * fn, (tp + fn) * (tn + fp)


@measure(
    symbol="MK",
    aliases=("delta_p",),
    kind="agreement",
    low=-1.0,
    undefined="only one of the two classes was ever predicted",
    reference=POWERS,
    formula="PPV + NPV - 1",
)
def markedness(tp: Any, fn: Any, tn: Any, fp: Any) -> tuple[Any, Any]:
    """How much better than chance the two answers can be trusted."""
    return tp * tn - fp * fn, (tp + fp) * (tn + fn)


@measure(
    symbol="GM",
    aliases=("g_mean", "gmean"),
    kind="agreement",
    undefined="a class has no cases",
    reference="Kubat & Matwin (1997), Addressing the curse of imbalanced training sets",
    formula="sqrt(TPR · TNR)",
)
def geometric_mean(tp: Any, fn: Any, tn: Any, fp: Any) -> tuple[Any, Any]:
    """Geometric mean of recall and specificity."""
    return (tp * tn) ** 0.5, ((tp + fn) * (tn + fp)) ** 0.5


@measure(
    symbol="FM",
    title="Fowlkes–Mallows",
    aliases=("fmi", "g_measure"),
    kind="agreement",
    undefined="there are no actual or no predicted positives",
    reference="Fowlkes & Mallows (1983), A method for comparing two hierarchical clusterings",
    formula="sqrt(PPV · TPR)",
)
def fowlkes_mallows(tp: Any, fp: Any, fn: Any) -> tuple[Any, Any]:
    """Geometric mean of precision and recall."""
    return tp, ((tp + fp) * (tp + fn)) ** 0.5


@measure(
    symbol="Prev",
    aliases=("base_rate",),
    direction="none",
    undefined=NO_CASES,
    reference=FAWCETT,
)
def prevalence(tp: Any, fn: Any, n: Any) -> tuple[Any, Any]:
    """Share of the cases that are actual positives."""
    return tp + fn, n


@measure(
    symbol="PPR",
    aliases=("detection_prevalence", "alarm_rate", "selection_rate"),
    direction="none",
    undefined=NO_CASES,
    reference=FAWCETT,
)
def predicted_positive_rate(tp: Any, fp: Any, n: Any) -> tuple[Any, Any]:
    """Share of the cases that were predicted positive."""
    return tp + fp, n


@measure(
    symbol="LR+",
    aliases=("lr+", "plr", "lr_plus"),
    kind="ratio",
    high=UNBOUNDED,
    undefined="a class has no cases, or nothing was wrongly called positive and the ratio has no limit",
    reference=DEEKS,
    formula="TPR / FPR",
)
def positive_likelihood_ratio(tp: Any, fn: Any, fp: Any, tn: Any) -> tuple[Any, Any]:
    """How many times likelier an alarm is for a positive than for a negative."""
    return tp * (fp + tn), fp * (tp + fn)


@measure(
    symbol="LR-",
    aliases=("lr-", "nlr", "lr_minus"),
    kind="ratio",
    high=UNBOUNDED,
    direction="lower",
    undefined="a class has no cases, or no actual negative was left alone and the ratio has no limit",
    reference=DEEKS,
    formula="FNR / TNR",
)
def negative_likelihood_ratio(fn: Any, tp: Any, tn: Any, fp: Any) -> tuple[Any, Any]:
    """How many times likelier silence is for a positive than for a negative."""
    return fn * (fp + tn), tn * (tp + fn)


@measure(
    symbol="DOR",
    aliases=("dor", "odds_ratio"),
    kind="odds",
    high=UNBOUNDED,
    undefined="nothing was wrongly called positive or nothing was missed, and the ratio has no limit",
    reference=GLAS,
)
def diagnostic_odds_ratio(tp: Any, fp: Any, fn: Any, tn: Any) -> tuple[Any, Any]:
    """Odds of an alarm among the positives over its odds among the negatives."""
    return tp * tn, fp * fn


@measure(
    symbol="wAcc",
    aliases=("wacc",),
    kind="agreement",
    undefined="every case that was met has weight zero",
    reference=TAN,
    formula="(w1 · TP + w4 · TN) / (w1 · TP + w2 · FN + w3 · FP + w4 · TN)",
)
def weighted_accuracy(
    tp: Any, fn: Any, fp: Any, tn: Any, *, w1: float = 1.0, w2: float = 1.0, w3: float = 1.0, w4: float = 1.0
) -> tuple[Any, Any]:
    """Accuracy in which the four outcomes count by the weights w1 (TP), w2 (FN), w3 (FP) and w4 (TN)."""
    right = w1 * tp + w4 * tn
    return right, right + w2 * fn + w3 * fp


MEASURES: tuple[Measure, ...] = (
    precision,
    recall,
    specificity,
    f_score,
    false_positive_rate,
    false_negative_rate,
    negative_predictive_value,
    false_discovery_rate,
    false_omission_rate,
    jaccard,
    balanced_accuracy,
    informedness,
    markedness,
    geometric_mean,
    fowlkes_mallows,
    prevalence,
    predicted_positive_rate,
    positive_likelihood_ratio,
    negative_likelihood_ratio,
    diagnostic_odds_ratio,
    weighted_accuracy,
)
