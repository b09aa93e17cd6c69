"""Choosing a threshold by trying every one of them on the single cases, in exact fractions."""

from __future__ import annotations

import math
from fractions import Fraction


def _matthews(tp, fn, fp, tn):
    product = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    if not product:
        return None
    top = tp * tn - fp * fn
    # The signed square has the order of the coefficient itself, and stays a fraction.
    return Fraction(top * abs(top), product)


# What is best is largest: costs, errors and distances are negated.
SCORES = {
    "accuracy": lambda tp, fn, fp, tn: Fraction(tp + tn, tp + fn + fp + tn),
    "error_rate": lambda tp, fn, fp, tn: -Fraction(fn + fp, tp + fn + fp + tn),
    "f1": lambda tp, fn, fp, tn: Fraction(2 * tp, 2 * tp + fn + fp),  # noqa: ARG005
    "f2": lambda tp, fn, fp, tn: Fraction(5 * tp, 5 * tp + 4 * fn + fp),  # noqa: ARG005
    "precision": lambda tp, fn, fp, tn: Fraction(tp, tp + fp) if tp + fp else None,  # noqa: ARG005
    "recall": lambda tp, fn, fp, tn: Fraction(tp, tp + fn),  # noqa: ARG005
    "specificity": lambda tp, fn, fp, tn: Fraction(tn, tn + fp),  # noqa: ARG005
    "recall[0]": lambda tp, fn, fp, tn: Fraction(tn, tn + fp),  # noqa: ARG005
    "macro recall": lambda tp, fn, fp, tn: (Fraction(tp, tp + fn) + Fraction(tn, tn + fp)) / 2,
    "youden": lambda tp, fn, fp, tn: Fraction(tp, tp + fn) - Fraction(fp, fp + tn),
    "closest": lambda tp, fn, fp, tn: -(Fraction(fn, tp + fn) ** 2) - Fraction(fp, fp + tn) ** 2,
    "matthews": _matthews,
}


def counts_at(cases, threshold):
    """TP, FN, FP, TN of (score, is positive) pairs."""
    tp = sum(1 for score, positive in cases if positive and score >= threshold)
    fp = sum(1 for score, positive in cases if not positive and score >= threshold)
    positives = sum(positive for _, positive in cases)
    return tp, positives - tp, fp, len(cases) - positives - fp


def choose_by_trying(cases, standing, allowed=None):
    """The best threshold: the larger Youden index of equals, then the higher threshold; None if there is none."""
    tried = []
    for threshold in [math.inf, *sorted({score for score, _ in cases}, reverse=True)]:
        counts = counts_at(cases, threshold)
        value = standing(*counts)
        if value is None or (allowed is not None and not allowed(*counts)):
            continue
        tried.append((value, SCORES["youden"](*counts), threshold))
    return max(tried)[2] if tried else None
