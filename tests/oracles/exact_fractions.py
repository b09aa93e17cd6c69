"""Measures in exact fractions, from the rows and the definitions: what decides where two programs differ."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[Any]


class Corners(NamedTuple):
    """The weight of one class against the rest."""

    tp: Fraction
    fn: Fraction
    fp: Fraction
    tn: Fraction


class Exact:
    """The same measures in fractions, from the rows and their definitions."""

    def __init__(self, k: int, truth: Rows, predicted: Rows, weights: Rows, scores: Rows | None = None) -> None:
        self.k = k
        self.cells: dict[tuple[int, int], Fraction] = {}
        given = [Fraction(w) for w in weights.tolist()]
        self.rows = list(zip(truth.tolist(), given, strict=True))
        for (i, w), j in zip(self.rows, predicted.tolist(), strict=True):
            self.cells[i, j] = self.cells.get((i, j), Fraction(0)) + w
        self.n = sum(given, Fraction(0))
        self.scores = None if scores is None else scores.astype(np.float64).tolist()

    def sum(self, keep: Callable[[int, int], Any]) -> Fraction:
        """The weight of the cells for which `keep` is true, or that many times their weight."""
        return sum((w * keep(i, j) for (i, j), w in self.cells.items()), Fraction(0))

    @cached_property
    def corners(self) -> list[Corners]:
        """TP, FN, FP and TN of every class, each summed from its own cells."""
        made = []
        for c in range(self.k):
            sums = [Fraction(0)] * 4
            for (i, j), w in self.cells.items():
                sums[(j != c) if i == c else 2 + (j != c)] += w
            made.append(Corners(*sums))
        return made

    def of_class(self, formula: Callable[[Corners], tuple[Any, Any]], average: str | int) -> float:
        """A measure of one class, or averaged: classes without a value are left out."""
        each = self.corners
        if average == "micro":
            return over(*formula(Corners(*(sum(column, Fraction(0)) for column in zip(*each, strict=True)))))
        if isinstance(average, int):
            return over(*formula(each[average]))
        pairs = [(formula(corners), corners.tp + corners.fn if average == "weighted" else 1) for corners in each]
        there = [(Fraction(top) / bottom, weight) for (top, bottom), weight in pairs if bottom]
        return over(sum(value * weight for value, weight in there), sum(weight for _, weight in there))

    def kappa(self, power: int) -> float:
        def apart(i: int, j: int) -> int:
            return int(i != j) if power == 0 else abs(i - j) ** power

        truth, answer = [c.tp + c.fn for c in self.corners], [c.tp + c.fp for c in self.corners]
        chance = sum(truth[i] * answer[j] * apart(i, j) for i in range(self.k) for j in range(self.k))
        return over(chance - self.n * self.sum(apart), chance)

    def matthews(self) -> float:
        truth, answer = [c.tp + c.fn for c in self.corners], [c.tp + c.fp for c in self.corners]
        top = self.n * self.sum(lambda i, j: i == j) - sum(t * p for t, p in zip(truth, answer, strict=True))
        square = (self.n**2 - sum(t * t for t in truth)) * (self.n**2 - sum(p * p for p in answer))
        return math.nan if not square else float(decimal(top) / decimal(square).sqrt())

    def area(self, c: int, others: int | None = None, column: Any = None) -> Fraction | None:
        """The area between a class and the rest, or between two classes, by looking at every pair of cases."""
        scores = [row if column is None else row[column] for row in self.scores or []]
        ups = [(s, w) for (i, w), s in zip(self.rows, scores, strict=True) if i == c]
        downs = [
            (s, w) for (i, w), s in zip(self.rows, scores, strict=True) if i != c and (others is None or i == others)
        ]
        pairs = sum(u for _, u in ups) * sum(v for _, v in downs)
        won = sum(u * v * (2 * (s > r) + (s == r)) for s, u in ups for r, v in downs)
        return None if not pairs else Fraction(won) / (2 * pairs)

    def ranked(self, c: int, column: int | None = None) -> list[tuple[float, bool, Fraction]]:
        """Every case with its score for a class, whether it is of the class, and its weight."""
        return [(row if column is None else row[column], i == c, w) for (i, w), row in self.scored()]

    def average_precision(self, average: str = "") -> float:
        if not average:
            return self._precision(self.ranked(1))
        columns = [self.ranked(c, c) for c in range(self.k)]
        if average == "micro":
            return self._precision([case for column in columns for case in column])
        shares = [c.tp + c.fn if average == "weighted" else Fraction(1) for c in self.corners]
        each = [(self._precision(column), share) for column, share in zip(columns, shares, strict=True)]
        there = [(Fraction(value), share) for value, share in each if not math.isnan(value)]
        return over(sum(value * share for value, share in there), sum(share for _, share in there))

    def _precision(self, cases: list[tuple[float, bool, Fraction]]) -> float:
        gained = Fraction(0)
        for threshold in {score for score, _, _ in cases}:
            at = [(score, own, w) for score, own, w in cases if score >= threshold]
            found = sum((w for _, own, w in at if own), Fraction(0))
            here = sum((w for score, own, w in at if own and score == threshold), Fraction(0))
            gained += here * found / sum((w for _, _, w in at), Fraction(0))
        return over(gained, sum((w for _, own, w in cases if own), Fraction(0)))

    def log_loss(self) -> float:
        """All terms have one sign, so that a correctly rounded sum is as good as a fraction."""
        least = float(np.finfo(np.float64).eps)
        given = [(row if i else 1 - row) if isinstance(row, float) else row[i] for (i, _), row in self.scored()]
        terms = [
            -float(w) * math.log(min(max(p, least), 1 - least)) for (_, w), p in zip(self.rows, given, strict=True)
        ]
        return math.fsum(terms) / float(self.n)

    def scored(self) -> Iterator[tuple[tuple[int, Fraction], Any]]:
        """Every row with its score."""
        return zip(self.rows, self.scores or [], strict=True)

    def brier(self) -> float:
        total = Fraction(0)
        for (i, w), row in self.scored():
            if isinstance(row, float):
                total += w * (Fraction(row) - i) ** 2
            else:
                total += w * sum((Fraction(p) - (c == i)) ** 2 for c, p in enumerate(row))
        return over(total / 2 if self.k == 2 and isinstance((self.scores or [0.0])[0], list) else total, self.n)


def decimal(number: Fraction) -> Decimal:
    with localcontext() as context:
        context.prec = 60
        return Decimal(number.numerator) / Decimal(number.denominator)


def over(top: Any, bottom: Any) -> float:
    return float(Fraction(top) / Fraction(bottom)) if bottom else math.nan


def exact_mean(exact: Exact, average: str) -> float:
    areas = [(exact.area(c, column=c), corners.tp + corners.fn) for c, corners in enumerate(exact.corners)]
    shares = [(area, total if average == "weighted" else 1) for area, total in areas if area is not None]
    return over(sum(area * share for area, share in shares), sum(share for _, share in shares))


def exact_pairs(exact: Exact) -> float:
    areas = [exact.area(c, d, column=c) for c in range(exact.k) for d in range(exact.k) if c != d]
    return over(sum(area for area in areas if area is not None), len(areas))


CLASS_FORMULAS: dict[str, Callable[[Corners], tuple[Any, Any]]] = {
    "precision": lambda c: (c.tp, c.tp + c.fp),
    "recall": lambda c: (c.tp, c.tp + c.fn),
    "f1": lambda c: (2 * c.tp, 2 * c.tp + c.fn + c.fp),
    "f2": lambda c: (5 * c.tp, 5 * c.tp + 4 * c.fn + c.fp),
    "f0.5": lambda c: (5 * c.tp, 5 * c.tp + c.fn + 4 * c.fp),
    "jaccard": lambda c: (c.tp, c.tp + c.fn + c.fp),
    "specificity": lambda c: (c.tn, c.tn + c.fp),
    "false_positive_rate": lambda c: (c.fp, c.tn + c.fp),
    "negative_predictive_value": lambda c: (c.tn, c.tn + c.fn),
    "false_omission_rate": lambda c: (c.fn, c.tn + c.fn),
    "balanced_accuracy": lambda c: (
        c.tp * (c.tn + c.fp) + c.tn * (c.tp + c.fn),
        2 * (c.tp + c.fn) * (c.tn + c.fp),
    ),
}
LIKELIHOOD_RATIOS: dict[str, Callable[[Corners], tuple[Any, Any]]] = {
    "LR+": lambda c: (c.tp * (c.fp + c.tn), c.fp * (c.tp + c.fn)),
    "LR-": lambda c: (c.fn * (c.fp + c.tn), c.tn * (c.tp + c.fn)),
}
