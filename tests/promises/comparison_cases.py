"""Measures how often tests of two classifiers on the same cases reject a true null, and their intervals hold the truth.

Test sets are drawn from a joint distribution of truth, A's and B's answers whose difference is known. In a null world
A and B are exchangeable, so that every measure is equal; in one with unlike errors only their F1 is.
`python tests/promises/comparison_cases.py` prints the whole table in some minutes; `test_comparison_cases.py` runs a
part of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache, cached_property

import numpy as np
from scipy import stats

from heldout.comparisons.joint_tables import make_paired_quantity
from heldout.comparisons.mcnemar import cochran_q, mcnemar, mcnemar_p
from heldout.comparisons.paired_counts import compare_counts
from heldout.comparisons.unpaired import compare_unpaired, two_shares
from heldout.evidence import Confusion
from heldout.evidence.joint_counts import PairCounts
from heldout.measures.catalogue import read_quantity

WHOLE = 10**12


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
    def cells(self):
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

    def pairs(self, counts) -> PairCounts:
        truth, a, b, _ = self.cells
        met = counts > 0
        labels = tuple(range(len(self.shares)))
        return PairCounts(labels, truth[met], a[met], b[met], counts[met])

    def draw(self, rng: np.random.Generator, size: int):
        for counts in rng.multinomial(self.n, self.cells[3], size=size):
            yield self.pairs(counts)

    def difference(self, text: str) -> float:
        """The true difference, from a sample so large that it is the world."""
        whole = self.pairs(np.rint(self.cells[3] * WHOLE).astype(np.int64))
        a, b = make_paired_quantity(whole, read_quantity(text, whole.labels)).values
        return a - b


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
    def cells(self):
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
class Kept:
    """Shares of the test sets on which the test rejected and the interval held the truth, and its mean width."""

    rejects: float
    holds: float
    width: float
    undefined: int


def measure(world: World, text: str, method: str | None, replicates: int, seed: int = 1, draws: int = 499) -> Kept:
    """Compare on so many test sets."""
    rng = np.random.default_rng(seed)
    truth = world.difference(text)
    quantity = read_quantity(text, tuple(range(len(world.shares))))
    found = [compare_counts(pairs, quantity, method=method, replicates=draws) for pairs in world.draw(rng, replicates)]
    return _kept(found, truth)


def measure_unpaired(world: World, text: str, method: str | None, replicates: int, seed: int = 1) -> Kept:
    """The same with a test set for each of the two."""
    rng = np.random.default_rng(seed)
    quantity = read_quantity(text, tuple(range(len(world.shares))))
    sides: list[list[Confusion]] = [[pairs.side(side) for pairs in world.draw(rng, replicates)] for side in ("a", "b")]
    found = [compare_unpaired(a, b, quantity, method=method) for a, b in zip(*sides, strict=True)]
    return _kept(found, world.difference(text))


def cochran_rejections(n: int, models: int, wrong: float, replicates: int, seed: int = 1) -> float:
    """How often Cochran's Q says that equally good classifiers differ; a case is as hard for one as for another."""
    rng = np.random.default_rng(seed)
    found = 0
    for _ in range(replicates):
        # A beta distribution of the chance to be wrong: most cases are easy for all, some are hard for all.
        hard = rng.beta(wrong, 1 - wrong, size=(n, 1))
        found += cochran_q(rng.random((n, models)) >= hard).p <= 0.05
    return found / replicates


def summed(world: World, method: str = "mcnemar") -> Kept:
    """The same for accuracy without simulation: the sum over every outcome that is not next to impossible."""
    share_a, share_b = (world.apart + world.gain) / 2, (world.apart - world.gain) / 2
    rates = [share_a, share_b, 1 - world.apart]
    outcomes = []
    for b in _likely(world.n, share_a):
        for c in _likely(world.n, share_b):
            weight = math.exp(stats.multinomial.logpmf([b, c, world.n - b - c], world.n, rates))
            if weight > 1e-8:
                p, _, _ = mcnemar_p(b, c, "mcnemar-chi-square" if method == "tango" else method)
                outcomes.append((weight, replace(_with_interval(b, c, world.n), p=p)))
    return _weighed(outcomes, world.gain)


# The interval is Tango's for each of the tests.
_with_interval = cache(mcnemar)


def summed_unpaired(world: World, method: str = "newcombe") -> Kept:
    """The same for accuracies on two test sets."""
    rates = [1 - world.both_wrong - (world.apart - sign * world.gain) / 2 for sign in (1, -1)]
    hits = [_likely(world.n, rate) for rate in rates]
    chances = [np.atleast_1d(stats.binom.pmf(seen, world.n, rate)) for seen, rate in zip(hits, rates, strict=True)]
    outcomes = [
        (chance_a * chance_b, two_shares(a, world.n, b, world.n, method=method))
        for a, chance_a in zip(hits[0], chances[0], strict=True)
        for b, chance_b in zip(hits[1], chances[1], strict=True)
        if chance_a * chance_b > 1e-8
    ]
    return _weighed(outcomes, world.gain)


def _likely(n: int, rate: float) -> range:
    reach = 6 * math.sqrt(n * rate * (1 - rate)) + 6
    return range(max(0, math.floor(n * rate - reach)), min(n, math.ceil(n * rate + reach)) + 1)


def _weighed(outcomes, truth: float) -> Kept:
    weights = np.array([weight for weight, _ in outcomes])
    weights /= weights.sum()
    kept = [_kept([found], truth) for _, found in outcomes]
    rejects, holds, width = (
        float(weights @ np.array([getattr(one, name) for one in kept])) for name in ("rejects", "holds", "width")
    )
    return Kept(rejects, holds, width, 0)


def _kept(found, truth: float) -> Kept:
    defined = [one for one in found if not np.isnan(one.difference)]
    return Kept(
        float(np.mean([one.p <= 0.05 for one in defined])),
        float(np.mean([one.low - 1e-12 <= truth <= one.high + 1e-12 for one in defined])),
        float(np.mean([one.high - one.low for one in defined])),
        len(found) - len(defined),
    )


NULLS = (
    World(50, (0.5, 0.5), 0.1, 0.2),
    World(100, (0.5, 0.5), 0.15, 0.3),
    World(200, (0.7, 0.3), 0.05, 0.1),
    World(500, (0.9, 0.1), 0.02, 0.06),
    World(100, (0.9, 0.1), 0.02, 0.05),
)
UNLIKE = tuple(
    UnlikeErrors(n, (1 - share, share), 0.0, 0.0, recalls=recalls)
    for n, share, recalls in ((100, 0.4, (0.9, 0.7)), (300, 0.4, (0.9, 0.7)), (300, 0.2, (0.85, 0.75)))
)
COCHRAN = ((50, 3, 0.2), (100, 4, 0.3), (200, 6, 0.1), (500, 10, 0.2))
DIFFERENT = (
    World(60, (0.5, 0.5), 0.1, 0.2, 0.1),
    World(200, (0.8, 0.2), 0.05, 0.1, 0.06),
    World(500, (0.95, 0.05), 0.02, 0.05, 0.03),
)
CLASSES = (
    World(150, (1 / 3, 1 / 3, 1 / 3), 0.1, 0.2),
    World(150, (0.5, 0.45, 0.05), 0.1, 0.2, 0.1),
    World(300, (0.2,) * 5, 0.1, 0.2, 0.1),
    World(300, (0.2,) * 5, 0.01, 0.03, 0.02),
    World(500, (0.1,) * 10, 0.1, 0.2),
    World(500, (0.05,) * 20, 0.1, 0.2, 0.08),
    World(500, (0.05,) * 20, 0.01, 0.03),
    World(160, (0.025,) * 40, 0.1, 0.2),
)


def main() -> None:
    """Print every table."""
    head = f"{'world':72} {'measure':14} {'method':18} rejects  holds  width undefined"
    print(head)
    of_shares = (None, "mcnemar-exact", "mcnemar-chi-square-corrected", "tango", "newcombe", "normal", "dirichlet",
                 "bootstrap", "permutation")  # fmt: skip
    of_any = ("dirichlet", "normal", "bootstrap", "permutation")
    for worlds, asked, size in (
        (NULLS + DIFFERENT, (("accuracy", of_shares), ("recall[1]", ("dirichlet", "tango", "mcnemar"))), 1500),
        (NULLS + DIFFERENT, (("f1[1]", of_any), ("kappa", of_any), ("precision[1]", of_any)), 1500),
        (CLASSES, (("macro f1", of_any), ("kappa", of_any), ("macro recall", of_any)), 800),
    ):
        for world in worlds:
            for text, methods in asked:
                for method in methods:
                    _print(world, text, method or "default", measure(world, text, method, size))
    for world in UNLIKE:
        for method in of_any:
            _print(world, "f1[1]", method, measure(world, "f1[1]", method, 1500))
    for world in NULLS + DIFFERENT:
        for name in ("newcombe", "normal", "fisher"):
            _print(world, "accuracy", f"unpaired {name}", summed_unpaired(world, name))
        for name in ("dirichlet", "normal"):
            _print(world, "f1[1]", f"unpaired {name}", measure_unpaired(world, "f1[1]", name, 1500))
    for n, models, wrong in COCHRAN:
        share = cochran_rejections(n, models, wrong, 10_000)
        print(f"Cochran's Q, {models} classifiers with {wrong:g} wrong on {n} cases: rejects {share:.3f}", flush=True)


def _print(world: World, text: str, method: str, kept: Kept) -> None:
    line = (
        f"{world!s:72} {text:14} {method:18} {kept.rejects:7.3f} {kept.holds:6.3f} {kept.width:6.3f} {kept.undefined}"
    )
    print(line, flush=True)


if __name__ == "__main__":
    main()
