"""The names that the formulas of a moved threshold use: counts as they are, and what a reader sets."""

from __future__ import annotations

# Counts of the cases as they are; `tp`, `fn`, `fp`, `tn` and `n` are those at the prevalence that a reader sets.
RAW_TP, RAW_FP = "raw_tp", "raw_fp"
RAW_POSITIVES, RAW_NEGATIVES = "raw_positives", "raw_negatives"
N = "n"

# What a reader sets, and the prevalence of the cases as they are.
PREVALENCE, SEEN_PREVALENCE = "prevalence", "seen_prevalence"
COST_MISS, COST_ALARM = "cost_miss", "cost_alarm"
