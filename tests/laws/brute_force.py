"""Every count that a formula may name, by plain loops over the table in exact fractions."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from heldout.measures.declare import Measure

Table = list[list[int]]


def corners(table: Table, c: int) -> tuple[int, int, int, int]:
    """TP, FN, FP, TN of class c, case by case."""
    tp = fn = fp = tn = 0
    for i, row in enumerate(table):
        for j, count in enumerate(row):
            if i == c and j == c:
                tp += count
            elif i == c:
                fn += count
            elif j == c:
                fp += count
            else:
                tn += count
    return tp, fn, fp, tn


def sums(table: Table, costs: Any) -> dict[str, Fraction]:
    """The sums over a whole table."""
    k = range(len(table))
    truth = [sum(table[i]) for i in k]
    predicted = [sum(table[i][j] for i in k) for j in k]
    n = sum(truth)
    chance = sum(truth[i] * predicted[i] for i in k)
    named: dict[str, Any] = {
        "n": n,
        "correct": sum(table[i][i] for i in k),
        "wrong": sum(table[i][j] for i in k for j in k if i != j),
        "covariance": n * sum(table[i][i] for i in k) - chance,
        "chance_errors": n**2 - chance,
        "truth_spread": n**2 - sum(total**2 for total in truth),
        "predicted_spread": n**2 - sum(total**2 for total in predicted),
        "linear_gap": sum(table[i][j] * abs(i - j) for i in k for j in k),
        "linear_chance": sum(truth[i] * predicted[j] * abs(i - j) for i in k for j in k),
        "quadratic_gap": sum(table[i][j] * (i - j) ** 2 for i in k for j in k),
        "quadratic_chance": sum(truth[i] * predicted[j] * (i - j) ** 2 for i in k for j in k),
        "commonest": max(truth),
        "cost": sum(table[i][j] * Fraction(float(costs[i][j])) for i in k for j in k),
    }
    return {name: Fraction(value) for name, value in named.items()}


def exact_pair(measure: Measure, cells: dict[str, Any], parameters: dict[str, Any]) -> float:
    """The value of a measure, nan exactly where its denominator is zero."""
    settled = {key: Fraction(value) for key, value in parameters.items()}
    top, bottom = measure.function(*(cells[name] for name in measure.cells), **settled)
    return math.nan if bottom == 0 else float(top / bottom)


def of_table(measure: Measure, table: Table, parameters: dict[str, Any], costs: Any) -> float:
    return exact_pair(measure, sums(table, costs), parameters)


def of_corners(measure: Measure, four: tuple[int, int, int, int], parameters: dict[str, Any]) -> float:
    tp, fn, fp, tn = four
    collapsed = sums([[tp, fn], [fp, tn]], [[0, 0], [0, 0]])
    named = {"tp": tp, "fn": fn, "fp": fp, "tn": tn}
    return exact_pair(measure, {**collapsed, **{k: Fraction(v) for k, v in named.items()}}, parameters)


def per_class(measure: Measure, table: Table, parameters: dict[str, Any]) -> list[float]:
    return [of_corners(measure, corners(table, c), parameters) for c in range(len(table))]


def averaged(measure: Measure, table: Table, parameters: dict[str, Any], average: str) -> float:
    """Macro and weighted averages leave undefined classes out; micro sums the counts of the classes first."""
    if average == "micro":
        four = [corners(table, c) for c in range(len(table))]
        a, b, c, d = (sum(column) for column in zip(*four, strict=True))
        return of_corners(measure, (a, b, c, d), parameters)
    values = per_class(measure, table, parameters)
    weights = [sum(row) if average == "weighted" else 1 for row in table]
    held = [(v, w) for v, w in zip(values, weights, strict=True) if not math.isnan(v)]
    total = sum(w for _, w in held)
    return sum(v * w for v, w in held) / total if total else math.nan
