"""Default intervals hold the truth about as often as they say, on a few cells of each family with few draws.

A test fails where the misses of a quantity would be next to impossible (1 in 100,000) if it covered .90: few draws
cannot show less, and `make promises` measures the rest. Seeds are fixed, so the outcome is the same every time.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from tests.promises.cell import Cell, Tally
from tests.promises.families.counts import Counts
from tests.promises.families.rankings import Scores
from tests.promises.register import list_cells

import heldout
from heldout.measures.catalogue import CATALOGUE, read_quantity

IMPOSSIBLE = 1e-5


def measure_cell(family: str, name: str, draws: int) -> Tally:
    """So many draws at .95, but for the review."""
    cell: Cell = replace(list_cells(family)[name], levels=(0.95,))
    tally = cell.measure(1, cell.find_truth(), draws)
    assert sum(tally.refused.values()) <= draws / 10
    return tally


def list_broken(tally: Tally, least: float = 0.9) -> list[str]:
    """The quantities that cover clearly less than that, with their misses."""
    broken = []
    for (kind, what, _), outcome in tally.outcomes.items():
        misses = outcome.too_low + outcome.too_high
        if kind == "interval" and stats.binom.sf(misses - 1, outcome.defined, 1 - least) < IMPOSSIBLE:
            broken.append(f"{what}: {misses} of {outcome.defined}")
    return broken


@pytest.mark.parametrize(
    ("family", "name", "draws"),
    [
        ("counts", "2 classes, middling, n = 30", 100),
        ("counts", "3 classes rare, near-perfect, n = 600", 60),
        ("rankings", "binormal d = 1.2, 0.4 positive, n = 25", 400),
        ("rankings", "binormal d = 1.8, 0.08 positive, n = 250", 400),
        ("losses_and_calibration", "calibrated, beta(1.2, 1.8), n = 120", 100),
        ("losses_and_calibration", "overconfident, beta(0.6, 0.6), n = 250", 100),
        ("losses_and_calibration", "3 classes rare, d = 2.5, n = 100", 100),
        ("groups", "40 unequal groups of 10, alike 0.2, d = 1.5, 0.4 positive", 60),
        ("weights", "lognormal weights 0.8, heavy ones harder, d = 1.6, 0.4 positive, n = 100", 40),
        ("rankings", "binormal d = 1.4, rounded to 1, 0.35 positive, n = 150", 400),
    ],
)
def test_default_intervals(family, name, draws):
    assert list_broken(measure_cell(family, name, draws)) == []


def test_too_narrow_intervals_would_be_seen():
    cell = list_cells("rankings")["binormal d = 1.2, 0.4 positive, n = 100"]
    assert isinstance(cell, Scores)
    # The intervals at .8 are about two thirds as wide as those at .95.
    tally = replace(cell, levels=(0.8,)).measure(1, cell.find_truth(), 400)
    assert len(list_broken(tally)) == 3


def test_methods_that_are_not_the_default_and_why():
    # Near a bound, what was drawn again hardly differs: the percentiles of F2 near 1, and DeLong's variance.
    table = list_cells("counts")["2 classes, near-perfect, n = 40"]
    assert isinstance(table, Counts)
    sharp = list_cells("rankings")["binormal d = 3.2, 0.5 positive, n = 16"]
    assert isinstance(sharp, Scores)
    rng = np.random.default_rng(5)
    f2, area = table.find_truth()["f2[positive]"], sharp.find_truth()["roc_auc[positive]"]
    held = np.zeros((200, 2))
    for row in held:
        counts = rng.multinomial(table.n, table.table().ravel()).reshape(2, 2)
        resampled = heldout.evaluate(matrix=counts, labels=[0, 1], positive=1, measures="f2", method="bootstrap")["f2"]
        scores, positive = sharp.world.draw(sharp.n, rng)
        plain = heldout.evaluate(
            positive.astype(int),
            score=scores,
            labels=[0, 1],
            positive=1,
            threshold=0.0,
            measures="auc",
            method="delong",
        )["auc"]
        row[:] = resampled.low <= f2 <= resampled.high, plain.low <= area <= plain.high
    assert (held.mean(axis=0) < 0.85).all()


def test_every_measure_of_the_catalogue_is_measured():
    """One draw of one cell of each kind asks for all of them."""
    cells = (
        ("counts", "2 classes, middling, n = 100"), ("counts", "3 classes even, middling, n = 60"),
        ("rankings", "n = 100"), ("rankings", "n = 80, asked by name"),
        ("losses_and_calibration", "n = 120"), ("losses_and_calibration", "3 classes even, d = 1.3, n = 300"),
    )  # fmt: skip
    names = set()
    for family, part in cells:
        name = next(name for name in list_cells(family) if name.endswith(part))
        names |= {what for _, what, _ in measure_cell(family, name, 1).outcomes}
    assert {read_quantity(name.partition("[")[0]).bound.measure.name for name in names} == set(CATALOGUE)


@pytest.mark.parametrize("family", ["groups", "weights"])
def test_every_measure_that_is_reported_is_measured_there_too(family):
    """But for costs, which need a table, and measures of more than two classes."""
    tally = measure_cell(family, next(iter(list_cells(family))), 1)
    asked = {read_quantity(what.partition("[")[0]).bound.measure.name for _, what, _ in tally.outcomes}
    expected = {m.name for m in CATALOGUE.values() if m.reported or m.scope in ("class", "table")}
    expected -= {m.name for m in CATALOGUE.values() if m.kind == "cost" or m.scope == "pairs" or "k" in m.parameters}
    assert asked == expected - {"linear_kappa", "quadratic_kappa", "weighted_accuracy"}
