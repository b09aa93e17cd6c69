"""Worlds of two classifiers whose difference is known: their answers, their scores, and scores in groups.

In a null world the two are exchangeable, so that every measure is equal; in one with unlike errors only their F1 is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, ndtri

import heldout
from heldout.comparisons.joint_tables import make_paired_quantity
from heldout.evidence.joint_counts import PairCounts
from heldout.measures.catalogue import read_quantity

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
# So many cases are the world.
WHOLE = 10**12
COSTS = {(0, 1): 1.0, (1, 0): 5.0}
TRUTH_GROUPS = 40_000


@dataclass(frozen=True)
class World:
    """Classes with their shares, and two classifiers: how often both err, and how often one alone is right.

    A wrong answer is any of the other classes; where both are wrong they agree half of the time by more than chance.
    `gain` is what A has of the cases that one alone gets right beyond its half.
    """

    n: int
    shares: tuple[float, ...]
    both_wrong: float
    apart: float
    gain: float = 0.0

    def __str__(self) -> str:
        shares = "/".join(f"{share:g}" for share in self.shares) if len(self.shares) < 4 else f"{len(self.shares)} even"
        return f"n {self.n}, classes {shares}, wrong {self.both_wrong:g}, apart {self.apart:g}, gain {self.gain:g}"

    @cached_property
    def cells(self) -> tuple[Codes, Codes, Codes, Floats]:
        """Codes of every cell (truth, a, b) and their probabilities."""
        k = len(self.shares)
        truth, a, b = (codes.ravel() for codes in np.indices((k, k, k)))
        right_a, right_b = a == truth, b == truth
        others = k - 1
        only = (self.apart + np.array([1, -1]) * self.gain) / 2
        both = np.where(a == b, 0.5 / others + 0.5 / others**2, 0.5 / others**2)
        given = np.select(
            [right_a & right_b, right_a, right_b],
            [1 - self.both_wrong - self.apart, only[0] / others, only[1] / others],
            self.both_wrong * both,
        )
        probability = np.array(self.shares)[truth] * given
        return truth, a, b, probability / probability.sum()

    def pairs(self, counts: Codes) -> PairCounts:
        """The counts of all cells as evidence."""
        truth, a, b, _ = self.cells
        met = counts > 0
        labels = tuple(range(len(self.shares)))
        return PairCounts(labels, truth[met], a[met], b[met], counts[met])

    def draw(self, rng: np.random.Generator, size: int) -> Iterator[PairCounts]:
        """So many test sets."""
        for counts in rng.multinomial(self.n, self.cells[3], size=size):
            yield self.pairs(counts)

    def draw_rows(self, rng: np.random.Generator) -> tuple[Codes, Codes, Codes]:
        """One test set as rows: the truth, and the answers of A and B."""
        counts = rng.multinomial(self.n, self.cells[3])
        truth, a, b, _ = self.cells
        return np.repeat(truth, counts), np.repeat(a, counts), np.repeat(b, counts)

    def difference(self, text: str) -> float:
        """The true difference, from a sample so large that it is the world."""
        whole = self.pairs(np.rint(self.cells[3] * WHOLE).astype(np.int64))
        a, b = make_paired_quantity(whole, read_quantity(text, whole.labels)).values
        return float(a - b)


@dataclass(frozen=True)
class UnlikeErrors(World):
    """Two classes and two classifiers with the same F1 of the second, one of which misses more and alarms less.

    Given the truth the two answer independently. They are not exchangeable: only the F1 is equal.
    """

    recalls: tuple[float, float] = (0.9, 0.7)
    f1: float = 0.8

    def __str__(self) -> str:
        recalls = " and ".join(f"{recall:g}" for recall in self.recalls)
        return f"n {self.n}, positive {self.shares[1]:g}, recalls {recalls}, F1 {self.f1:g}"

    @cached_property
    def cells(self) -> tuple[Codes, Codes, Codes, Floats]:
        truth, a, b = (codes.ravel() for codes in np.indices((2, 2, 2)))
        probability = np.array(self.shares)[truth]
        for answer, recall in ((a, self.recalls[0]), (b, self.recalls[1])):
            # F1 = 2 TP / (2 TP + FN + FP), solved for FP.
            found, missed = self.shares[1] * recall, self.shares[1] * (1 - recall)
            alarms = (2 * found * (1 / self.f1 - 1) - missed) / self.shares[0]
            positive = np.where(truth == 1, recall, alarms)
            probability = probability * np.where(answer == 1, positive, 1 - positive)
        return truth, a, b, probability


@dataclass(frozen=True, slots=True)
class ScorePair:
    """So many cases, this share of them positive, the distance of the classes for each model, what the models share.

    Scores of a case are normal with a part that both models share, and positives are moved up by the distance.
    """

    n: int
    share: float
    distance: float
    other: float
    shared: float = 0.5

    def __str__(self) -> str:
        return f"n = {self.n}, {self.share:.0%} positive, d = {self.distance:g} and {self.other:g}"

    def draw(self, rng: np.random.Generator) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """Scores of both models and which cases are positive, with at least two cases of either class."""
        positive = rng.random(self.n) < self.share
        positive[:2], positive[2:4] = True, False
        both = math.sqrt(self.shared) * rng.normal(size=self.n)
        a, b = (
            both + math.sqrt(1 - self.shared) * rng.normal(size=self.n) + gap * positive
            for gap in (self.distance, self.other)
        )
        return a, b, positive

    def draw_probabilities(
        self, rng: np.random.Generator, factor: float = 1.0
    ) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """The same with calibrated probabilities; the log odds of B are too large by a factor."""
        a, b, positive = self.draw(rng)
        first = as_probabilities(a, self.distance, self.share)
        second = as_probabilities(b, self.other, self.share)
        return first, np.asarray(expit(factor * logit(second))) if factor != 1 else second, positive


def as_probabilities(scores: Floats, distance: float, share: float) -> Floats:
    """The probability of a positive, given the score."""
    return np.asarray(expit(distance * scores - distance**2 / 2 + math.log(share / (1 - share))))


@dataclass(frozen=True, slots=True)
class GroupCell:
    """A world of groups.

    `spread` is the standard deviation of the logarithm of the sizes, and `informative` the correlation of that
    logarithm with how easy the cases of the group are. `share` and `shared` are the parts of the variance of the
    truth's and of the score's latent value that a group has in common. `distance` is that of the classes in standard
    deviations.
    """

    groups: int
    size: float
    spread: float
    informative: float
    share: float
    shared: float
    prevalence: float
    distance: float
    steepness: float = 1.3

    def draw(self, rng: np.random.Generator) -> tuple[Codes, Floats, Codes]:
        """The truth, the probability of class 1 and the group of every row."""
        easy, often, other = rng.standard_normal((3, self.groups))
        latent = self.informative * easy + math.sqrt(1 - self.informative**2) * other
        sizes = np.exp(math.log(self.size) - self.spread**2 / 2 + self.spread * latent)
        group = np.repeat(np.arange(self.groups), np.maximum(1, np.round(sizes)).astype(int))
        own, noise = rng.standard_normal((2, len(group)))
        truth = math.sqrt(self.share) * often[group] + math.sqrt(1 - self.share) * own > -ndtri(self.prevalence)
        moved = math.sqrt(self.shared) * easy[group] + math.sqrt(1 - self.shared) * noise
        score = np.where(truth, 1.0, -1.0) * (self.distance / 2 + moved)
        return truth.astype(np.int64), np.asarray(expit(self.steepness * score)), group

    def draw_two(self, rng: np.random.Generator, distance: float | None = None) -> tuple[Codes, Codes, Floats, Floats]:
        """Truth, groups and the probabilities of two models that fail in different groups; equally good unless said."""
        truth, first, group = self.draw(rng)
        easy = rng.standard_normal(self.groups)
        noise = rng.standard_normal(len(group))
        moved = math.sqrt(self.shared) * easy[group] + math.sqrt(1 - self.shared) * noise
        far = self.distance if distance is None else distance
        second = expit(self.steepness * np.where(truth == 1, 1.0, -1.0) * (far / 2 + moved))
        return truth, group, first, np.asarray(second)

    def truths(self, measures: Sequence[str], seed: int) -> dict[str, float]:
        """The values on so many groups that what is left of chance does not matter."""
        truth, p, _ = replace(self, groups=TRUTH_GROUPS).draw(np.random.default_rng([seed, 1]))
        seen = heldout.evaluate(truth, score=p, positive=1, costs=COSTS, measures=list(measures))
        return {name: float(seen[name]) for name in measures}
