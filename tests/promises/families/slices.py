"""Slices of the cases: intervals in each, tests against the rest, and the search for the worst one.

Under the null the columns have nothing to do with the errors, so that no slice may be called different: what counts is
how often any of them is, for the slices of every column and for the search through pairs of columns. In other worlds
some slices are harder; there the interval in each and that of its difference from the rest are held against the truth.
Slices are named by their share. Everything goes to `heldout.evaluate(slices=)`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from tests.promises.cell import Cell, Tally, Truth

import heldout

PACKAGES = ("findings", "comparisons")
MEASURES = ("error_rate", "recall[1]", "f1[1]", "brier", "roc_auc[1]")
# The shares of the slices of each column; the second is that of rare slices.
COLUMNS = {"first": (0.5, 0.3, 0.2), "second": (0.6, 0.25, 0.1, 0.05), "third": (0.5, 0.5)}
FRESH = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Sliced(Cell):
    """Cases in the slices of three columns; where `harder`, the classes are nearer to each other in some of them."""

    family: ClassVar[str] = "slices"

    n: int
    prevalence: float
    distance: float
    harder: float = 0.0
    groups: int = 0
    levels: tuple[float, ...] = (0.95,)

    def __str__(self) -> str:
        which = f"harder by {self.harder:g}" if self.harder else "null"
        grouped = f" in {self.groups} groups" if self.groups else ""
        return f"{which}, {self.prevalence:g} positive, d = {self.distance:g}, n = {self.n}{grouped}"

    def draw_cases(
        self, n: int, rng: np.random.Generator
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], dict[str, NDArray[np.int64]], NDArray[np.int64]]:
        """Classes, probabilities, the slice of each case by column, and its group."""
        group = np.arange(n) % (self.groups * n // self.n) if self.groups else np.arange(n)
        # Cases of one group have a part of their evidence in common, and are in slices of their own.
        common = rng.normal(size=n)[group] * math.sqrt(0.2) if self.groups else 0.0
        own = math.sqrt(0.8) if self.groups else 1.0
        columns = {name: rng.choice(len(shares), n, p=shares) for name, shares in COLUMNS.items()}
        truth = (rng.random(n) < self.prevalence).astype(np.int64)
        apart = self.distance * (1 - self.harder * ((columns["first"] == 2) | (columns["second"] == 3)))
        evidence = own * rng.normal(size=n) + common + apart * (truth - 0.5)
        odds = self.distance * evidence + math.log(self.prevalence / (1 - self.prevalence))
        return truth, np.asarray(expit(odds)), columns, group

    def evaluate(self, n: int, rng: np.random.Generator) -> Any:
        """The default path."""
        truth, scores, columns, group = self.draw_cases(n, rng)
        named = {name: np.array([f"{share:g}" for share in COLUMNS[name]])[codes] if name != "third" else codes
                 for name, codes in columns.items()}  # fmt: skip
        return heldout.evaluate(
            truth, score=scores, positive=1, labels=[0, 1], slices=named, measures=[],
            group=group if self.groups and n == self.n else None,
        )  # fmt: skip

    def find_truth(self) -> Truth:
        found = {}
        truth, scores, columns, _ = self.draw_cases(FRESH, np.random.default_rng(1066))
        for name in ("first", "second"):
            for at, share in enumerate(COLUMNS[name]):
                inside = columns[name] == at
                values = [
                    heldout.evaluate(truth[rows], score=scores[rows], positive=1, labels=[0, 1], measures=[])
                    for rows in (inside, ~inside)
                ]
                for measure in MEASURES:
                    one, rest = (value.value(measure) for value in values)
                    found[f"{measure} in {name} {share:g}"] = one
                    found[f"{measure}, {name} {share:g} against the rest"] = one - rest
        return found

    def draw(self, rng: np.random.Generator, truth: Truth, tally: Tally) -> None:
        evaluation = self.evaluate(self.n, rng)
        for measure in MEASURES:
            slices = evaluation.slices(measure)
            for one in slices:
                (column,), (value,) = one.columns, one.values
                if column == "third":
                    continue
                seen = one.estimate
                low, high = (math.nan, math.nan) if math.isnan(seen.value) else (seen.low, seen.high)
                true = truth[f"{measure} in {column} {value}"]
                tally.add_interval(f"{measure} in {share_name(value)}", 0.95, low, high, true)
                tally.add_interval(
                    f"{measure} against the rest of {share_name(value)}", 0.95, one.tested.low, one.tested.high,
                    truth[f"{measure}, {column} {value} against the rest"],
                )  # fmt: skip
            if not self.harder:
                tally.add_test(f"any slice, {measure}", 0.95, 0.0 if slices.clear else 1.0)
        if not self.harder:
            for depth in (1, 2):
                worst = evaluation.worst_slices(depth=depth)
                tally.add_test(f"worst slice of depth {depth}", 0.95, 0.0 if worst.worse else 1.0)
        tally.review(evaluation)


def share_name(value: str) -> str:
    """How a slice is called in the report."""
    return f"a slice of {value}"


def _cells() -> list[Sliced]:
    null = ((100, 0.4, 1.5), (400, 0.4, 1.5), (400, 0.1, 2.5), (2000, 0.2, 1.0), (1000, 0.5, 3.0))
    harder = ((400, 0.4, 1.5, 0.5), (2000, 0.2, 2.0, 0.4), (1000, 0.5, 3.0, 0.3))
    grouped = ((400, 0.4, 1.5, 0.0, 60), (1200, 0.3, 2.0, 0.0, 150), (1200, 0.3, 2.0, 0.4, 150))
    return [
        *(Sliced(n=n, prevalence=p, distance=d, draws=1000, chunk=50) for n, p, d in null),
        *(Sliced(n=n, prevalence=p, distance=d, harder=h, draws=1000, chunk=50) for n, p, d, h in harder),
        *(Sliced(n=n, prevalence=p, distance=d, harder=h, groups=g, draws=500, chunk=25) for n, p, d, h, g in grouped),
    ]


CELLS = tuple(_cells())
