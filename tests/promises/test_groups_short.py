"""Groups of unequal size, shortly: intervals hold the truth, and equal models are not told apart."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from tests.promises.pair_worlds import COSTS, GroupCell

import heldout

# Other settings than those that the method was chosen on, and than those of the long run.
UNEQUAL = GroupCell(32, 11, 0.95, 0.2, 0.15, 0.3, 0.4, 1.7)
DRAWS = 120


def find_hits(cell: GroupCell, measures: Sequence[str], draws: int, seed: int) -> dict[str, list[bool]]:
    """For each measure, which of the intervals of so many test sets hold the truth; undefined ones are left out."""
    wanted, rng = cell.truths(measures, seed), np.random.default_rng([seed, 2])
    held: dict[str, list[bool]] = {name: [] for name in measures}
    for _ in range(draws):
        truth, p, group = cell.draw(rng)
        if len(set(truth)) < 2:
            continue
        seen = heldout.evaluate(truth, score=p, positive=1, group=group, costs=COSTS, measures=list(measures))
        for name in measures:
            found = seen[name]
            if not math.isnan(found.value):
                held[name].append(bool(found.low <= wanted[name] <= found.high))
    return held


def find_rejections(
    cell: GroupCell, measures: Sequence[str], draws: int, seed: int, *, weighted: bool = False
) -> dict[str, list[bool]]:
    """Which comparisons of two models that are equally good tell them apart at the level .95.

    Sizes must not be informative: otherwise one model does better on large groups.
    """
    rng = np.random.default_rng([seed, 3])
    told: dict[str, list[bool]] = {name: [] for name in measures}
    for _ in range(draws):
        truth, group, first, second = cell.draw_two(rng)
        weight = rng.lognormal(0, 0.7, len(truth)) if weighted else None
        sides = [
            heldout.evaluate(truth, score=p, positive=1, group=group, weight=weight, costs=COSTS, measures=[])
            for p in (first, second)
        ]
        seen = heldout.compare(*sides, measures=list(measures))
        assert isinstance(seen, heldout.PairwiseComparison)
        for name in measures:
            told[name].append(seen[name].p <= 0.05)
    return told


def test_intervals_hold_the_truth_with_unequal_groups():
    measures = ("accuracy", "balanced_accuracy", "matthews", "roc_auc[1]", "average_precision[1]", "brier")
    held = find_hits(UNEQUAL, measures, DRAWS, seed=21)
    shares = {name: float(np.mean(hits)) for name, hits in held.items()}
    # Three standard errors of 120 draws at .95 are .06. Without leverage and degrees of freedom it is .87 to .91.
    assert min(shares.values()) >= 0.89, shares
    assert np.mean(list(shares.values())) >= 0.93, shares


@pytest.mark.parametrize("weighted", [False, True])
def test_equal_models_are_not_told_apart_with_unequal_groups(weighted):
    cell = GroupCell(32, 11, 0.95, 0.0, 0.15, 0.3, 0.4, 1.7)
    told = find_rejections(cell, ("accuracy", "f1[1]", "roc_auc[1]", "brier"), DRAWS, seed=22, weighted=weighted)
    shares = {name: float(np.mean(hits)) for name, hits in told.items()}
    assert max(shares.values()) <= 0.12, shares
    assert np.mean(list(shares.values())) <= 0.07, shares
