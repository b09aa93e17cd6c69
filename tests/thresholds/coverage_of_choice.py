"""How often the intervals of a chosen threshold hold the truth, and what is left of the optimism: a long simulation.

Normal scores, positives shifted. Run it with `.venv/bin/python -m tests.thresholds.coverage_of_choice`; the figures in
docs/thresholds.md come from here.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from heldout.engines.score_sort import rank
from heldout.intervals.draws import order_limits
from heldout.thresholds.objective import read_objective
from heldout.thresholds.selection import choose_rows
from heldout.thresholds.selection_rule import Points, SelectionRule
from heldout.thresholds.uncertainty import resample

COSTS = {(1, 0): 10, (0, 1): 1}
MATRIX = np.array([[0.0, 1.0], [10.0, 0.0]])
GRID = np.linspace(-5, 8, 20_001)
# by, share of positives, shift, cases
SETTINGS = [
    ("youden", 0.3, 1.5, 100),
    ("youden", 0.3, 1.5, 500),
    ("f1", 0.2, 1.5, 200),
    ("f1", 0.2, 1.5, 1000),
    ("cost", 0.1, 1.5, 200),
    ("cost", 0.5, 2.5, 100),
]


def true_values(by, share, shift, threshold):
    tpr, fpr = ndtr(shift - threshold), ndtr(-threshold)
    if by == "youden":
        return tpr - fpr
    if by == "f1":
        return 2 * share * tpr / (share * tpr + (1 - share) * fpr + share)
    return share * 10 * (1 - tpr) + (1 - share) * fpr


def simulate(by, share, shift, n, sets=250):
    rng = np.random.default_rng(2)
    curve = true_values(by, share, shift, GRID)
    best = GRID[curve.argmin() if by == "cost" else curve.argmax()]
    held = dict.fromkeys(("threshold", "criterion", "honest", "percentiles"), 0)
    bias = dict.fromkeys(("apparent", "corrected", "honest"), 0.0)
    for seed in range(sets):
        positive = rng.random(n) < share
        scores = rng.standard_normal(n) + shift * positive
        found = choose_rows(scores, positive, by, costs=COSTS, replicates=199, honest=True, seed=seed)
        assert found.honest is not None
        truth = true_values(by, share, shift, np.clip(found.threshold, -5, 8))
        honest = found.honest.estimate
        held["threshold"] += found.interval.low <= best <= found.interval.high
        held["criterion"] += found.criterion.low <= truth <= found.criterion.high
        held["honest"] += honest.low <= truth <= honest.high
        ranking = rank(scores, positive)
        rule = SelectionRule(read_objective(by, (0, 1), MATRIX, share))
        drawn = resample(ranking, rule, Points.of(ranking), [], replicates=199, seed=seed)
        low, high = order_limits(drawn.values, 0.95)
        held["percentiles"] += low <= truth <= high
        for name, value in (
            ("apparent", found.criterion.value),
            ("corrected", found.corrected),
            ("honest", honest.value),
        ):
            bias[name] += (value - truth) / sets
    return {name: count / sets for name, count in held.items()}, bias


if __name__ == "__main__":
    for setting in SETTINGS:
        held, bias = simulate(*setting)
        shares = "  ".join(f"{name} {share:.3f}" for name, share in held.items())
        left = "  ".join(f"{name} {value:+.4f}" for name, value in bias.items())
        print(f"{setting}: holds {shares}; bias {left}", flush=True)
