"""Curves over all thresholds: ROC, precision-recall, DET, gain, lift, cost, decision, calibration, any measure."""

from __future__ import annotations

from heldout.curves.curve import Band, Curve, Reference, Scale
from heldout.curves.curve_chart import overlay
from heldout.curves.decision import cost_curve, decision_curve, net_benefit, normalized_cost
from heldout.curves.gain import gain, lift
from heldout.curves.precision_recall import interpolated, precision_recall
from heldout.curves.reliability import calibration, reliability
from heldout.curves.roc import det, roc
from heldout.curves.thinning import thinned
from heldout.curves.threshold_counts import confusion_at, counts_at
from heldout.curves.threshold_table import ThresholdTable, measure_curve, threshold_table
from heldout.show.figure import save_chart

__all__ = [
    "Band",
    "Curve",
    "Reference",
    "Scale",
    "ThresholdTable",
    "calibration",
    "confusion_at",
    "cost_curve",
    "counts_at",
    "decision_curve",
    "det",
    "gain",
    "interpolated",
    "lift",
    "measure_curve",
    "net_benefit",
    "normalized_cost",
    "overlay",
    "precision_recall",
    "reliability",
    "roc",
    "save_chart",
    "thinned",
    "threshold_table",
]
