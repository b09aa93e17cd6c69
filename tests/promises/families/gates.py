"""Gates on classifiers that do not meet their requirements: how often each passes all the same.

The bound is the true value itself, and the sign a strict one (`recall > 0.8` where the true recall is 0.8), which is
the hardest case of a requirement that is not met. Both signs of every measure are tallied, at the one-sided limits that
gates go by: shares and F1 from .01 to .99, other measures of counts, areas, losses and calibration. Gates of several
requirements and against a baseline are run through `heldout.check`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from tests.promises.cell import Cell, Tally, Truth
from tests.promises.pair_worlds import GroupCell
from tests.promises.score_worlds import ClassScores, Forecasts, share_classes

import heldout
from heldout.errors import HeldoutError
from heldout.measures.catalogue import read_quantity
from heldout.results.evaluation import Evaluation

PACKAGES = (
    "gates", "comparisons", "thresholds", "studies", "findings/slice_basis", "findings/slice_search", "api/check",
    "api/compare", "api/contestants",
)  # fmt: skip
WHOLE = 10**10
SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99)
TWO_CLASSES = (
    "accuracy", "recall", "precision", "f1", "f2", "f0.5", "matthews", "kappa", "balanced_accuracy", "g_mean",
    "markedness", "positive_likelihood_ratio", "negative_likelihood_ratio", "diagnostic_odds_ratio", "macro f1",
    "weighted f1", "expected_cost",
)  # fmt: skip
SEVERAL_CLASSES = (
    "accuracy", "macro recall", "macro precision", "macro f1", "weighted f1", "matthews", "kappa", "balanced_accuracy",
    "expected_cost",
)  # fmt: skip
RANKED = ("roc_auc", "average_precision")
FORECAST = ("brier", "log_loss", "brier_skill", "expected_calibration_error")


def tally_limits(tally: Tally, evaluation: Evaluation, truth: Truth, level: float) -> None:
    """Count whether each strict requirement at the truth would pass; one without limits does not.

    The limits are those of `Evaluation.one_sided`, with one estimator for all measures, which share their draws.
    """
    changes: dict[str, Any] = {"level": 2 * level - 1, "one_sided": True}
    counts = replace(evaluation.estimator, **changes)
    scores = None if evaluation.scores is None else replace(evaluation.scores, **changes)
    for name, true in truth.items():
        quantity = read_quantity(name, evaluation.labels, costs=evaluation.costs).resolve(evaluation.positive)
        try:
            found = quantity.check_scored(scores).ask(quantity) if quantity.is_score else counts.ask(quantity)
        except HeldoutError:
            continue
        slack = 1e-9 * max(1.0, abs(true))
        defined = not math.isnan(found.value)
        tally.add_gate(f"{name} >", level, passed=defined and found.low > true + slack)
        tally.add_gate(f"{name} <", level, passed=defined and found.high < true - slack)


@dataclass(frozen=True, kw_only=True)
class ShareGate(Cell):
    """Recalls and F1 of so many cases: of the class, or of those that it has or is said to have."""

    family: ClassVar[str] = "gates"

    n: int

    def __str__(self) -> str:
        return f"shares and F1 from .01 to .99, n = {self.n}"

    def draw(self, rng: np.random.Generator, truth: Truth, tally: Tally) -> None:
        del truth
        for share in SHARES:
            hits = int(rng.binomial(self.n, share))
            # F1 = 2J / (1 + J) of the share J of true positives among all cases but true negatives.
            found = int(rng.binomial(self.n, share / (2 - share)))
            for level in self.levels:
                for name, low, high in (("recall", *_recall_limits(hits, self.n, level)),
                                        ("f1", *_f1_limits(found, self.n, level))):  # fmt: skip
                    tally.add_gate(f"{name} > {share:g}", level, passed=low > share + 1e-9)
                    tally.add_gate(f"{name} < {share:g}", level, passed=high < share - 1e-9)


@lru_cache(maxsize=50_000)
def _recall_limits(hits: int, n: int, level: float) -> tuple[float, float]:
    return _find_limits(((1, 0), (n - hits, hits)), "recall[1]", level)


@lru_cache(maxsize=50_000)
def _f1_limits(hits: int, n: int, level: float) -> tuple[float, float]:
    missed = (n - hits) // 2
    return _find_limits(((n, n - hits - missed), (missed, hits)), "f1[1]", level)


def _find_limits(table: tuple[tuple[int, int], ...], name: str, level: float) -> tuple[float, float]:
    seen = heldout.evaluate(matrix=table, labels=[0, 1], positive=1, measures=[])
    found = seen.one_sided(read_quantity(name, (0, 1)), level)
    return found.low, found.high


@dataclass(frozen=True, kw_only=True)
class CountGate(Cell):
    """Tables of counts: shares of the classes, a recall for each, errors to all others alike."""

    family: ClassVar[str] = "gates"

    text: str
    n: int
    shares: tuple[float, ...]
    recalls: tuple[float, ...]
    measures: tuple[str, ...] = ()
    levels: tuple[float, ...] = (0.95,)

    def __str__(self) -> str:
        return f"{self.text}, n = {self.n}"

    def table(self) -> NDArray[np.float64]:
        """The probability of every cell, true classes in rows."""
        k, shares, recalls = len(self.shares), np.array(self.shares), np.array(self.recalls)
        wrong = (shares * (1 - recalls) / (k - 1))[:, None] * (1 - np.eye(k))
        return np.asarray(np.diag(shares * recalls) + wrong)

    def evaluate(self, table: NDArray[np.int64]) -> Evaluation:
        """The default path; a miss of the last class costs 20, every other error 1."""
        k = len(self.shares)
        costs = 1.0 - np.eye(k)
        costs[-1, :-1] = 20.0
        return heldout.evaluate(
            matrix=table, labels=list(range(k)), positive=1 if k == 2 else None, costs=costs, cost_rows="truth",
            measures=[],
        )  # fmt: skip

    def find_truth(self) -> Truth:
        whole = self.evaluate(np.rint(self.table() * WHOLE).astype(np.int64))
        usual = TWO_CLASSES if len(self.shares) == 2 else SEVERAL_CLASSES
        return {name: whole.value(name) for name in self.measures or usual}

    def draw(self, rng: np.random.Generator, truth: Truth, tally: Tally) -> None:
        k = len(self.shares)
        table = rng.multinomial(self.n, self.table().ravel()).reshape(k, k)
        seen = self.evaluate(table)
        for level in self.levels:
            tally_limits(tally, seen, truth, level)


@dataclass(frozen=True, kw_only=True)
class ScoreGate(Cell):
    """Scores by class, or probabilities."""

    family: ClassVar[str] = "gates"

    world: ClassScores | Forecasts
    n: int
    measures: tuple[str, ...] = RANKED

    def __str__(self) -> str:
        return f"{self.world}, n = {self.n}"

    def find_truth(self) -> Truth:
        whole = self.world.population()
        found = heldout.evaluate(
            whole.positive.astype(np.int64), score=whole.scores, weight=whole.weight * len(whole.weight),
            positive=1, threshold=0.5, measures=[],
        )  # fmt: skip
        return {name: found.value(name) for name in self.measures}

    def draw(self, rng: np.random.Generator, truth: Truth, tally: Tally) -> None:
        scores, positive = self.world.draw(self.n, rng)
        seen = heldout.evaluate(
            positive.astype(np.int64), score=scores, positive=1, labels=[0, 1], threshold=0.5, measures=[],
            replicates=399,
        )  # fmt: skip
        for level in self.levels:
            tally_limits(tally, seen, truth, level)


@dataclass(frozen=True, kw_only=True)
class GroupGate(Cell):
    """Rows in groups of unequal size."""

    family: ClassVar[str] = "gates"

    text: str
    world: GroupCell
    measures: tuple[str, ...] = ("accuracy", "recall", "f1", "matthews", "roc_auc", "brier")

    def __str__(self) -> str:
        return f"{self.text}, {self.world.groups} groups"

    def find_truth(self) -> Truth:
        return self.world.truths(self.measures, 7)

    def draw(self, rng: np.random.Generator, truth: Truth, tally: Tally) -> None:
        label, probability, group = self.world.draw(rng)
        seen = heldout.evaluate(label, score=probability, group=group, positive=1, labels=[0, 1], measures=[])
        for level in self.levels:
            tally_limits(tally, seen, truth, level)


@dataclass(frozen=True, kw_only=True)
class ErringGroupGate(Cell):
    """Groups of which some are wrong nearly throughout: the share of right answers of each is beta-distributed.

    `spread` is the standard deviation of the logarithm of the sizes, `alike` the sum of the two parameters of the beta
    distribution: the smaller, the more groups are all right or all wrong.
    """

    family: ClassVar[str] = "gates"

    groups: int
    size: float
    spread: float
    alike: float
    right: float
    measures: tuple[str, ...] = ("accuracy", "recall", "precision", "f1", "matthews", "expected_cost")

    def __str__(self) -> str:
        return f"{self.right:g} right, errors in few of {self.groups} groups of {self.size:g} (beta, {self.alike:g})"

    def find_truth(self) -> Truth:
        seen = replace(self, groups=200_000).evaluate(np.random.default_rng(11))
        return {name: seen.value(name) for name in self.measures}

    def evaluate(self, rng: np.random.Generator) -> Evaluation:
        """A miss costs 5, a false alarm 1."""
        sizes = np.maximum(1, np.rint(self.size * rng.lognormal(0, self.spread, self.groups))).astype(np.int64)
        group = np.repeat(np.arange(self.groups), sizes)
        right = rng.beta(self.alike * self.right, self.alike * (1 - self.right), self.groups)
        share = rng.beta(1.2, 1.8, self.groups)
        truth = (rng.random(len(group)) < share[group]).astype(np.int64)
        predicted = np.where(rng.random(len(group)) < right[group], truth, 1 - truth)
        return heldout.evaluate(
            truth, predicted, group=group, labels=[0, 1], positive=1, costs={(1, 0): 5.0, (0, 1): 1.0}, measures=[]
        )

    def draw(self, rng: np.random.Generator, truth: Truth, tally: Tally) -> None:
        seen = self.evaluate(rng)
        for level in self.levels:
            tally_limits(tally, seen, truth, level)


@dataclass(frozen=True, kw_only=True)
class SeveralGate(Cell):
    """Independent shares as recalls of classes: of one the requirement is not met, of the others it clearly is.

    "passed" is tallied for the whole gate. "failed" is tallied where every requirement is met, each just so: whether
    any of them is said to have failed.
    """

    family: ClassVar[str] = "gates"

    n: int
    rate: float
    number: int

    def __str__(self) -> str:
        return f"{self.number} requirements on shares of {self.rate:g}, n = {self.n} each"

    def draw(self, rng: np.random.Generator, truth: Truth, tally: Tally) -> None:  # noqa: ARG002
        hits = rng.binomial(self.n, self.rate, self.number)
        k = self.number + 1
        table = np.diag([*hits, self.n])
        table[:-1, -1] = self.n - hits
        easy = [f"recall[{at}] >= {0.3 * self.rate:.6f}" for at in range(1, self.number)]
        for level in self.levels:
            seen = heldout.evaluate(matrix=table, labels=list(range(k)), measures=[], level=level)
            hard = heldout.check(seen, require=[f"recall[0] > {self.rate}", *easy])
            tally.add_gate("passed where one is not met", level, passed=hard.passed)
            met = heldout.check(seen, require=[f"recall[{at}] >= {self.rate}" for at in range(self.number)])
            tally.add_gate("a failure said of what is met", level, passed=bool(met.of("failed")))


@dataclass(frozen=True, kw_only=True)
class BaselineGate(Cell):
    """Paired with a baseline: the true difference is the margin itself."""

    family: ClassVar[str] = "gates"

    n: int
    worse: float
    discordant: float
    right: float = 0.8

    def __str__(self) -> str:
        return f"{self.worse:g} worse than the baseline, {self.discordant:g} discordant, n = {self.n}"

    def draw(self, rng: np.random.Generator, truth: Truth, tally: Tally) -> None:  # noqa: ARG002
        lost, gained = (self.discordant + self.worse) / 2, (self.discordant - self.worse) / 2
        both = self.right - lost
        cells = rng.multinomial(self.n, [both, lost, gained, 1 - both - lost - gained])
        label = np.tile([0, 1], self.n)[: self.n]
        old = np.where(np.repeat([True, True, False, False], cells), label, 1 - label)
        new = np.where(np.repeat([True, False, True, False], cells), label, 1 - label)
        for level in self.levels:
            seen = heldout.evaluate(label, new, positive=1, labels=[0, 1], measures=[], level=level)
            base = heldout.evaluate(label, old, positive=1, labels=[0, 1], measures=[], level=level)
            gate = heldout.check(seen, baseline=base, require=f"accuracy > baseline - {self.worse:.6f}")
            tally.add_gate("accuracy > baseline - margin", level, passed=gate.passed)


def _two(text: str, share: float, recall: float, specificity: float, sizes: tuple[int, ...]) -> list[CountGate]:
    shares, recalls = (1 - share, share), (specificity, recall)
    return [
        CountGate(text=f"2 classes, {text}", n=n, shares=shares, recalls=recalls, draws=1000, chunk=50) for n in sizes
    ]


def _several(
    text: str, k: int, shares: tuple[float, ...], recalls: tuple[float, ...], sizes: tuple[int, ...]
) -> list[CountGate]:
    return [
        CountGate(text=f"{k} classes, {text}", n=n, shares=shares, recalls=recalls, draws=1000, chunk=50) for n in sizes
    ]


def _binormal(area: float, prevalence: float) -> ClassScores:
    from scipy.special import ndtri

    distance = float(ndtri(area)) * math.sqrt(2)
    return ClassScores(prevalence, ("norm", (distance, 1.0)), text=f"binormal, area {area:g}")


def _cells() -> list[Cell]:
    return [
        *(ShareGate(n=n) for n in (20, 50, 200, 1000, 10_000)),
        *_two("middling", 0.4, 0.75, 0.85, (20, 80, 500)),
        *_two("near-perfect", 0.3, 0.97, 0.99, (40, 200, 2000)),
        *_two("poor", 0.5, 0.3, 0.8, (30, 300)),
        *_two("rare", 0.05, 0.6, 0.98, (100, 1000)),
        *_several("even", 3, share_classes(3, "even"), (0.9, 0.7, 0.8), (30, 200)),
        *_several("one rare", 4, share_classes(4, "rare"), (0.95, 0.9, 0.97, 0.6), (60, 400)),
        *_several("zipf", 7, share_classes(7, "zipf"), (0.9, 0.85, 0.8, 0.7, 0.75, 0.6, 0.5), (70, 500)),
        *_several("poor", 5, share_classes(5, "even"), (0.3,) * 5, (50, 500)),
        *(
            ScoreGate(world=_binormal(area, share), n=n)
            for area, share, n in (
                (0.65, 0.4, 25), (0.65, 0.1, 300), (0.82, 0.5, 30), (0.9, 0.08, 150), (0.95, 0.04, 400),
                (0.98, 0.3, 80), (0.995, 0.1, 300), (0.8, 0.3, 2000),
            )
        ),
        *(
            ScoreGate(world=Forecasts(a, b, intercept, slope, text=text), n=n, measures=FORECAST)
            for a, b, intercept, slope, text in (
                (0.08, 0.2, 0.0, 1.0, "sharp"), (0.4, 1.0, 0.4, 0.8, "overconfident"), (2.0, 3.0, 0.0, 1.0, "vague"),
            )
            for n in (20, 60, 300, 2000)
        ),
        *(
            GroupGate(text=text, world=GroupCell(groups, 8, spread, 0.3, 0.2, 0.3, prevalence, distance))
            for text, spread, prevalence, distance in (("equal", 0.0, 0.4, 1.5), ("unequal", 0.9, 0.2, 2.5))
            for groups in (30, 100)
        ),
        *(
            ErringGroupGate(groups=groups, size=size, spread=spread, alike=alike, right=right)
            for groups, size, spread, alike, right in (
                (35, 12, 0.0, 0.8, 0.93), (70, 6, 0.6, 1.5, 0.88), (120, 8, 0.0, 0.4, 0.975), (20, 15, 0.4, 4.0, 0.75),
            )
        ),
        *(SeveralGate(n=n, rate=rate, number=m) for n, rate, m in ((40, 0.5, 5), (100, 0.9, 3), (300, 0.05, 10))),
        *(
            BaselineGate(n=n, worse=worse, discordant=discordant)
            for n, worse, discordant in ((60, 0.0, 0.1), (100, 0.02, 0.1), (400, 0.02, 0.05), (1000, 0.05, 0.2))
        ),
    ]  # fmt: skip


CELLS = tuple(_cells())
