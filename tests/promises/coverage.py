"""Measures how often the default intervals hold the true value, and how often the bootstrap's do.

Each setting is a multinomial over the cells of a table (a confusion matrix, row by row; or the values of a
cost), so that the true value is the measure at the cell probabilities. `python tests/promises/coverage.py`
prints the whole table of the promises in a minute and a half; `test_coverage_short.py` runs a part of it.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heldout.intervals.macro import TableCells, macro_f_limits, macro_proportion_limits
from heldout.intervals.proportion import wilson
from heldout.intervals.score_limits import f_score_limits, mean_cost_limits, odds_ratio_limits, ratio_limits

Floats = NDArray[np.float64]
Measure = Callable[[Floats], Floats]
Limits = Callable[[Floats], tuple[Floats, Floats]]

COSTS = np.array([0.0, 1.0, 20.0])


@dataclass(frozen=True, slots=True)
class Setting:
    """A measure, where it is taken, and the probability of every cell."""

    measure: str
    where: str
    cases: int
    cells: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Coverage:
    """The share of intervals that held the truth, ours (with its Monte Carlo error) and the bootstrap's."""

    setting: Setting
    ours: float
    error: float
    bootstrap: float


def binary(share: float, recall: float, false_alarm: float) -> tuple[float, ...]:
    """Cells tp, fn, fp, tn with a share of positives, a recall and a false positive rate."""
    rest = 1 - share
    return share * recall, share * (1 - recall), rest * false_alarm, rest * (1 - false_alarm)


def square(shares: tuple[float, ...], recalls: tuple[float, ...]) -> tuple[float, ...]:
    """A k×k matrix whose errors go to the other classes alike."""
    k = len(shares)
    table = np.array([[share * (1 - recall) / (k - 1)] * k for share, recall in zip(shares, recalls, strict=True)])
    np.fill_diagonal(table, np.array(shares) * np.array(recalls))
    return tuple(table.ravel())


def f_beta(beta: float) -> Measure:
    """F-beta of tables tp, fn, fp, tn."""

    def value(tables: Floats) -> Floats:
        tp, fn, fp, _ = tables.T
        square_ = beta * beta
        return (1 + square_) * tp / ((1 + square_) * tp + square_ * fn + fp)

    return value


def f_limits(beta: float) -> Limits:
    """The score limits of `f_beta`."""
    return lambda tables: f_score_limits(tables[:, 0], tables[:, 2], tables[:, 1], beta)


def positive_ratio(tables: Floats) -> Floats:
    """LR+ = recall / false positive rate."""
    tp, fn, fp, tn = tables.T
    return tp / (tp + fn) / (fp / (fp + tn))


def _squares(tables: Floats) -> Floats:
    k = round(tables.shape[1] ** 0.5)
    return tables.reshape(-1, k, k)


def macro_recall(tables: Floats) -> Floats:
    """The mean recall of the classes that occur."""
    matrices = _squares(tables)
    return np.nanmean(np.diagonal(matrices, axis1=1, axis2=2) / matrices.sum(axis=2), axis=1)


def macro_f1(tables: Floats) -> Floats:
    """The mean F1 of the classes that occur or are decided for."""
    matrices = _squares(tables)
    margins = matrices.sum(axis=1) + matrices.sum(axis=2)
    return np.nanmean(2 * np.diagonal(matrices, axis1=1, axis2=2) / margins, axis=1)


def _one_by_one(single: Callable[[Floats], tuple[float, float]]) -> Limits:
    def limits(tables: Floats) -> tuple[Floats, Floats]:
        found = np.array([single(table) for table in tables])
        return found[:, 0], found[:, 1]

    return limits


def _macro_recall_limits(table: Floats) -> tuple[float, float]:
    matrix = _squares(table[None])[0]
    return macro_proportion_limits(np.diag(matrix), matrix.sum(axis=1))


def _macro_f1_limits(table: Floats) -> tuple[float, float]:
    matrix = _squares(table[None])[0]
    tp = np.diag(matrix)
    row, column = np.nonzero(matrix - np.diag(tp))
    cells = TableCells(row, column, matrix[row, column])
    return macro_f_limits(tp, matrix.sum(axis=0) - tp, matrix.sum(axis=1) - tp, cells)


MEASURES: dict[str, tuple[Measure, Limits]] = {
    "rate (Wilson)": (lambda t: t[:, 0] / t.sum(axis=1), lambda t: wilson(t[:, 0], t.sum(axis=1))),
    "F0.5": (f_beta(0.5), f_limits(0.5)),
    "F1": (f_beta(1), f_limits(1)),
    "F2": (f_beta(2), f_limits(2)),
    "mean cost": (
        lambda t: t @ COSTS / t.sum(axis=1),
        _one_by_one(lambda table: mean_cost_limits(COSTS, table)),
    ),
    "LR+": (
        positive_ratio,
        lambda t: ratio_limits(t[:, 0], t[:, 0] + t[:, 1], t[:, 2], t[:, 2] + t[:, 3]),
    ),
    "odds ratio": (lambda t: t[:, 0] * t[:, 3] / (t[:, 1] * t[:, 2]), lambda t: odds_ratio_limits(*t.T)),
    "macro recall": (macro_recall, _one_by_one(_macro_recall_limits)),
    "macro F1": (macro_f1, _one_by_one(_macro_f1_limits)),
}

_BINARY = (
    ("middling, half positive", 50, binary(0.5, 0.8, 0.2)),
    ("near-perfect", 50, binary(0.4, 0.97, 0.02)),
    ("near-perfect", 200, binary(0.3, 0.98, 0.01)),
    ("rare class", 100, binary(0.08, 0.75, 0.05)),
    ("rare class", 400, binary(0.03, 0.7, 0.02)),
)
_SQUARE = (
    ("3 even classes", 60, square((1 / 3,) * 3, (0.8, 0.75, 0.85))),
    ("3 classes, near-perfect", 60, square((1 / 3,) * 3, (0.98, 0.97, 0.99))),
    ("3 classes, one rare", 100, square((0.6, 0.35, 0.05), (0.9, 0.85, 0.7))),
    (
        "5 classes, one rare, near-perfect",
        200,
        square((0.4, 0.3, 0.2, 0.08, 0.02), (0.98, 0.98, 0.97, 0.95, 0.9)),
    ),
    ("10 even classes", 400, square((0.1,) * 10, (0.9,) * 10)),
    # The two weakest that were found.
    ("3 classes, 2 % rare and worse", 400, square((0.68, 0.3, 0.02), (0.97, 0.96, 0.8))),
    ("30 classes of about 4", 120, square((1 / 30,) * 30, (0.9,) * 30)),
)
SETTINGS: tuple[Setting, ...] = (
    *(Setting("rate (Wilson)", f"p = {p}", n, (p, 1 - p)) for p, n in ((0.5, 50), (0.9, 50), (0.97, 100), (0.99, 400))),
    *(Setting(name, *rest) for name in ("F0.5", "F1", "F2", "LR+", "odds ratio") for rest in _BINARY),
    *(
        Setting("mean cost", f"costs 0, 1, 20 with {cheap} and {dear}", n, (1 - cheap - dear, cheap, dear))
        for cheap, dear, n in ((0.1, 0.05, 50), (0.1, 0.01, 100), (0.05, 0.005, 200), (0.2, 0.002, 400))
    ),
    *(Setting(name, *rest) for name in ("macro recall", "macro F1") for rest in _SQUARE),
)


def measure_coverage(setting: Setting, replicates: int, resampled: int = 0, draws: int = 399) -> Coverage:
    """Simulate `replicates` test sets for our interval, and `resampled` of them with the bootstrap."""
    # A generator for each setting, so that a result does not depend on which others are run.
    rng = np.random.default_rng(zlib.crc32(repr(setting).encode()))
    value, limits = MEASURES[setting.measure]
    cells = np.array(setting.cells) / sum(setting.cells)
    truth = float(value(cells[None])[0])
    tables = rng.multinomial(setting.cases, cells, size=replicates).astype(np.float64)
    distinct, times = np.unique(tables, axis=0, return_counts=True)
    low, high = limits(distinct)
    share = float(times[(low <= truth) & (truth <= high)].sum() / replicates)
    held = [_bootstrap_holds(value, table, truth, draws, rng) for table in tables[:resampled]]
    return Coverage(
        setting,
        share,
        (share * (1 - share) / replicates) ** 0.5,
        float(np.mean(held)) if held else float("nan"),
    )


def _bootstrap_holds(value: Measure, table: Floats, truth: float, draws: int, rng: np.random.Generator) -> bool:
    again = rng.multinomial(int(table.sum()), table / table.sum(), size=draws).astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        values = value(again)
    values = np.sort(values[~np.isnan(values)])
    if values.size == 0:
        return True
    tail = 0.025 * (values.size + 1)
    low, high = (
        values[max(round(tail) - 1, 0)],
        values[min(round(values.size + 1 - tail) - 1, values.size - 1)],
    )
    return bool(low <= truth <= high)


def main(replicates: int = 10_000, resampled: int = 4000) -> None:
    """Print the whole table."""
    print("| measure | setting | n | held (nominal .95) | Monte Carlo s.e. | percentile bootstrap |")
    print("|---|---|---|---|---|---|")
    for setting in SETTINGS:
        found = measure_coverage(setting, replicates, resampled)
        print(
            f"| {setting.measure} | {setting.where} | {setting.cases} | {found.ours:.3f} | {found.error:.3f}"
            f" | {found.bootstrap:.3f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
