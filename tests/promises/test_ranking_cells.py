"""The default intervals of rankings hold the truth about as often as they say, on cells that no method was chosen on.

The Monte Carlo standard error is .009 with 600 test sets; the seed is fixed, so the outcome is the same every time.
"""

from __future__ import annotations

import pytest
from tests.promises.ranking_cells import BOUNDS, World, measure_cell, of_sizes

# Few cases of a class, unequal classes near 1, and scores of which one class carries nearly all the variance.
AREAS = (
    (World("binormal", 0.8), 5, 7, (0.93, 0.99)),
    (World("binormal", 0.97), 22, 250, (0.93, 0.995)),
    (World("exponential", 0.9), 9, 130, (0.9, 0.98)),
    (World("five levels", 0.85), 40, 60, (0.925, 0.975)),
)


@pytest.mark.parametrize(("world", "positives", "negatives", "allowed"), AREAS, ids=str)
def test_the_two_class_area(world, positives, negatives, allowed):
    cell = of_sizes(world, positives, negatives)
    found = measure_cell(cell, [BOUNDS["roc_auc"]], sets=600)["roc_auc"]
    assert allowed[0] <= found.share <= allowed[1]


def test_few_cases_do_not_make_the_area_useless():
    cell = of_sizes(World("binormal", 0.86), 4, 4)
    found, logit = (
        measure_cell(cell, [BOUNDS["roc_auc"]], sets=600, method=method)["roc_auc"] for method in (None, "delong-logit")
    )
    assert found.share >= 0.93
    assert found.width < 0.8 * logit.width
