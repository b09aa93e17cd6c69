"""The default intervals of rankings hold the truth about as often as they say, on cells that no method was chosen on.

The Monte Carlo standard error is .009 with 600 test sets; the seed is fixed, so the outcome is the same every time.
"""

from __future__ import annotations

import pytest
from tests.promises.ranking_cells import BOUNDS, Cell, World, measure_cell, of_sizes

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


# Settings on which nothing was chosen; maxima and points of curves with few positives, many, ties and a useless score.
POINTS = (
    Cell(World("binormal", 0.7), 120, 0.4),
    Cell(World("binormal", 0.85), 250, 0.08),
    Cell(World("rounded", 0.9), 350, 0.2),
    Cell(World("exponential", 0.75), 90, 0.25),
)
MEASURED = (
    "kolmogorov_smirnov",
    "recall_at_precision",
    "precision_at_recall",
    "tpr_at_fpr",
    "gain_at",
    "precision_at",
    "partial_auc",
    "partial_auc_by_recall",
)


@pytest.mark.parametrize("cell", POINTS, ids=str)
def test_points_of_curves_and_maxima(cell):
    # With 250 sets three standard errors are .04: a coverage of .90 or more cannot be told from .88.
    found = measure_cell(cell, [BOUNDS[name] for name in MEASURED], sets=250)
    assert {name: coverage.share for name, coverage in found.items() if coverage.share < 0.89} == {}


def test_a_useless_score_has_no_gap():
    cell = Cell(World("binormal", 0.5), 150, 0.2)
    found = measure_cell(cell, [BOUNDS["kolmogorov_smirnov"]], sets=400)["kolmogorov_smirnov"]
    assert found.share >= 0.92
