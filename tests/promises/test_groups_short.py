"""Groups of unequal size, shortly: intervals hold the truth, and equal models are not told apart."""

import numpy as np
import pytest
from tests.promises.group_cells import GroupCell, rejections

# Other settings than those that the method was chosen on, and than those of the long run.
UNEQUAL = GroupCell(32, 11, 0.95, 0.2, 0.15, 0.3, 0.4, 1.7)
DRAWS = 120


def test_intervals_hold_the_truth_with_unequal_groups():
    measures = ("accuracy", "balanced_accuracy", "matthews", "roc_auc[1]", "average_precision[1]", "brier")
    held = UNEQUAL.hits(measures, DRAWS, seed=21)
    shares = {name: float(np.mean(hits)) for name, hits in held.items()}
    # Three standard errors of 120 draws at .95 are .06. Without leverage and degrees of freedom it is .87 to .91.
    assert min(shares.values()) >= 0.89, shares
    assert np.mean(list(shares.values())) >= 0.93, shares


@pytest.mark.parametrize("weighted", [False, True])
def test_equal_models_are_not_told_apart_with_unequal_groups(weighted):
    cell = GroupCell(32, 11, 0.95, 0.0, 0.15, 0.3, 0.4, 1.7)
    told = rejections(cell, ("accuracy", "f1[1]", "roc_auc[1]", "brier"), DRAWS, seed=22, weighted=weighted)
    shares = {name: float(np.mean(hits)) for name, hits in told.items()}
    assert max(shares.values()) <= 0.12, shares
    assert np.mean(list(shares.values())) <= 0.07, shares
