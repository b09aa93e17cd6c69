"""Findings on sound models: how often each rule speaks of classifiers in which nothing is wrong.

Cases are drawn from a world whose true probabilities are known, and those probabilities are the scores: no classifier
can be more accurate, and none is better calibrated. Classes are common or rare, two or many, cases few or many, the
classes easy or hard to tell apart, the predictions in folds or not, given with scores or as classes alone, with the
threshold at one half or where the costs call for it. What counts is how often a rule to act on fires; a rule whose
sentence is about the counts, such as that a class has no case, is true wherever it fires.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from tests.promises.cell import REVIEW, Cell, Tally, Truth

import heldout
from heldout.results.evaluation import Evaluation

PACKAGES = REVIEW
# What the distance of two normal distributions comes to: a ROC area of .92, and one of .76.
GOOD, MEDIOCRE = 2.0, 1.0
Given = Literal["scores", "classes", "costs"]
# A missed case costs so many false alarms, where there are costs.
MISS = 10.0


@dataclass(frozen=True, kw_only=True)
class SoundModel(Cell):
    """A classifier that knows the true probabilities, on cases of so many classes."""

    family: ClassVar[str] = "findings_on_sound_models"

    n: int
    # The share of the positive class, or 0 for many classes with shares as 1, 1/2, 1/3, …
    share: float
    classes: int = 2
    apart: float = GOOD
    folds: int = 0
    given: Given = "scores"

    def __str__(self) -> str:
        kind = f"{self.classes} classes" if self.classes > 2 else f"share {self.share:g}"
        folds = f", {self.folds} folds" if self.folds else ""
        return f"n = {self.n}, {kind}, {self.apart:g} apart{folds}, {self.given}"

    def evaluate(self, rng: np.random.Generator) -> Evaluation:
        """One evaluation of new cases."""
        truth, probability = self.draw_cases(rng)
        options: dict[str, Any] = {"labels": list(range(self.classes))}
        if self.folds:
            options["fold"] = rng.permutation(self.n) % self.folds
        if self.classes == 2:
            options["positive"] = 1
        if self.given == "costs":
            options |= {"costs": {(1, 0): MISS, (0, 1): 1.0}, "threshold": 1 / (1 + MISS)}
        if self.given == "classes":
            called = probability >= 0.5 if self.classes == 2 else probability.argmax(axis=1)
            return heldout.evaluate(truth, called.astype(np.int64), **options)
        return heldout.evaluate(truth, score=probability, **options)

    def draw_cases(self, rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """True classes, and the true probabilities of the positive class or of each class."""
        if self.classes == 2:
            truth = (rng.random(self.n) < self.share).astype(np.int64)
            odds = np.log(self.share / (1 - self.share)) + self.apart * (
                rng.normal(size=self.n) + self.apart * (truth - 0.5)
            )
            return truth, 1 / (1 + np.exp(-odds))
        shares = 1 / np.arange(1, self.classes + 1)
        shares /= shares.sum()
        truth = rng.choice(self.classes, self.n, p=shares)
        # Every class lies in a direction of its own.
        place = rng.normal(size=(self.n, self.classes))
        place[np.arange(self.n), truth] += 1.5 * self.apart
        odds = np.log(shares) + 1.5 * self.apart * place
        odds -= odds.max(axis=1, keepdims=True)
        probability = np.exp(odds)
        return truth, probability / probability.sum(axis=1, keepdims=True)

    def draw(self, rng: np.random.Generator, truth: Truth, tally: Tally) -> None:
        del truth
        for finding in self.evaluate(rng).review.findings:
            if finding.outcome != "not applicable":
                tally.add_finding(finding.code, fired=finding.outcome == "fired" and finding.severity == "act")


def _cells() -> list[SoundModel]:
    """Every size with every share and number of classes, and the others in turn."""
    cells = []
    for n in (50, 500, 10_000):
        ways: tuple[tuple[float, Given], ...] = (
            (GOOD, "scores"), (MEDIOCRE, "scores"), (GOOD, "classes"), (GOOD, "costs"),
        )  # fmt: skip
        cells += [
            SoundModel(n=n, share=share, apart=apart, given=given)
            for share in (0.01, 0.03, 0.1, 0.3, 0.5)
            for apart, given in ways
        ]
        cells += [SoundModel(n=n, share=share, apart=apart, folds=5) for share in (0.03, 0.3) for apart, _ in ways[:2]]
        cells += [
            SoundModel(n=n, share=0, classes=classes, apart=apart, given=given)
            for classes in (3, 8, 20)
            for apart, given in ways[:3]
        ]
    large = [SoundModel(n=100_000, share=share) for share in (0.01, 0.3)]
    large.append(SoundModel(n=100_000, share=0, classes=20))
    return [replace(cell, draws=100 if cell.n > 10_000 else 400, chunk=20) for cell in (*cells, *large)]


CELLS = tuple(_cells())
