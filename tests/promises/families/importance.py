"""Importance of a feature on a model card: of one known model, and over ten folds.

Of a known model, importance is a mean over pairs of independent cases, found on a large fresh sample with losses worked
out apart. Over ten folds it may mean two things: the importance for the one model trained on all cases at hand, which
is what the card says and so the promise, or the mean over such models, which is counted beside it.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.tree import DecisionTreeClassifier
from tests.promises.cell import Cell, Tally, Truth
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped, unused-ignore]

from heldout.cards.importance import MEASURES, FeatureImportance, FoldChanges, measure_importance
from heldout.cards.inspection import Inspection
from heldout.intervals.dependence import Dependence
from heldout.learners.problem import Problem
from heldout.resampling.split_task import Classes

PACKAGES = ("cards", "learners", "resampling")
Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

# The standard error of the truth on so many pairs is at most a thirtieth of that of any interval here.
FRESH = 1_000_000
START = -0.5
LEVEL = 0.95
FOLDS = 10
LEARNERS: dict[str, Any] = {"logistic": LogisticRegression(), "tree:3": DecisionTreeClassifier(max_depth=3)}


@dataclass(frozen=True, slots=True)
class World:
    """A feature x of some distribution, a normal z, and classes by a logistic law of both.

    `share` is that of the ones of a binary x; `together` the correlation of a normal x with z. Cases come in groups of
    `alike`, which share x and z.
    """

    feature: str
    slope: float = 6.0
    share: float = 0.5
    together: float = 0.0
    alike: int = 1

    def __str__(self) -> str:
        name = f"binary, share {self.share:g}" if self.feature == "binary" else self.feature
        more = f", r = {self.together:g} with the other" if self.together else ""
        return f"{name}{more}, slope {self.slope:g}{f', groups of {self.alike}' * (self.alike > 1)}"

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Floats, Codes]:
        """So many cases."""
        z = rng.normal(size=n // self.alike)
        x = {
            "binary": lambda: (rng.random(len(z)) < self.share).astype(np.float64),
            "normal": lambda: self.together * z + np.sqrt(1 - self.together**2) * rng.normal(size=len(z)),
            "t(3)": lambda: rng.standard_t(3, len(z)),
            "lognormal": lambda: np.exp(rng.normal(size=len(z))),
        }[self.feature]()
        features = np.repeat(np.column_stack([x, z]), self.alike, axis=0)
        return features, (rng.random(n) < expit(START + features @ [self.slope, 1.0])).astype(np.int64)


@dataclass(frozen=True, slots=True)
class Known:
    """A logistic model that nobody fitted, of slope `slope` in x and 1 in z."""

    slope: float

    def predict_proba(self, features: Floats) -> Floats:
        """The probabilities of both classes."""
        p = expit(START + features @ [self.slope, 1.0])
        return np.column_stack([1 - p, p])

    def predict(self, features: Floats) -> Codes:
        """The class with the greater probability."""
        return (self.predict_proba(features)[:, 1] > 0.5).astype(np.int64)


@dataclass(frozen=True, slots=True)
class Setting:
    """The importance of x for a known model; `slope` is that of the model, where it is not the one of the world."""

    world: World
    n: int
    measure: str = "brier"
    shuffles: int = 5
    slope: float | None = None

    @property
    def model(self) -> Known:
        """The model."""
        return Known(self.world.slope if self.slope is None else self.slope)

    def __str__(self) -> str:
        wrong = f" (model: {self.slope:g})" if self.slope is not None else ""
        return f"{self.world}{wrong}, n = {self.n}, {self.measure}, {self.shuffles} shuffles"


@dataclass(frozen=True, slots=True)
class Coverage:
    """The shares of intervals that held the truth and that lay above and below it, and their mean width.

    `without` is the number of test parts without an interval, as where x was the same in all cases; they do not count.
    `received_only` is the share held by a t interval over the changes that cases receive.
    """

    held: float
    above: float
    below: float
    width: float
    received_only: float
    without: int


def losses(model: Any, features: Floats, truth: Codes, measure: str) -> Floats:
    """The losses by their definitions."""
    if measure == "accuracy":
        return np.asarray(model.predict(features) != truth, dtype=np.float64)
    p = model.predict_proba(features)[:, 1]
    return np.asarray(np.square(p - truth) if measure == "brier" else -np.log(np.where(truth == 1, p, 1 - p)))


def true_importance(model: Any, world: World, measure: str, rng: np.random.Generator, n: int = FRESH) -> float:
    """The importance of x over the whole world; x of one case is given to others that have nothing to do with it."""
    features, truth = World(world.feature, world.slope, world.share, world.together).draw(n, rng)
    base = losses(model, features, truth, measure).mean()
    changed = features.copy()
    shifts = rng.integers(1, n, 4)
    return float(np.mean([_shifted_loss(model, changed, features, truth, measure, shift) for shift in shifts]) - base)


def _shifted_loss(model: Any, changed: Floats, features: Floats, truth: Codes, measure: str, shift: int) -> float:
    changed[:, 0] = np.roll(features[:, 0], shift)
    return float(losses(model, changed, truth, measure).mean())


@lru_cache(maxsize=64)
def truth_of(model: Known, world: World, measure: str) -> float:
    """The same for a known model, worked out once."""
    return true_importance(model, world, measure, np.random.default_rng(2019))


def looking_at(model: Any, features: Floats, truth: Codes, setting: Setting, seed: int) -> Inspection:
    """The data and the model as a card looks at them; of the columns, x alone is shuffled."""
    alike = setting.world.alike
    group = np.arange(len(truth)) // alike if alike > 1 else None
    problem = Problem(features, truth, truth, (0, 1), group=group)
    return Inspection(
        model, problem, Classes.of(problem), MEASURES[setting.measure], (0,), setting.shuffles, None, seed
    )


def found_in(changes: list[FoldChanges], setting: Setting, plan: Dependence, level: float = LEVEL) -> FeatureImportance:
    """The importance of x with its interval."""
    measure = MEASURES[setting.measure]
    return measure_importance(["x"], changes, measure, plan, shuffles=setting.shuffles, level=level)["x"]


@threadpool_limits.wrap(limits=1)
def measure_coverage(setting: Setting, replicates: int) -> Coverage:
    """Draw so many test parts, and look how often the interval for the known model held the truth."""
    rng = np.random.default_rng(zlib.crc32(repr(setting).encode()))
    model, everything = setting.model, np.arange(setting.n)
    true = truth_of(model, setting.world, setting.measure)
    found = np.empty((replicates, 4))
    for number in range(replicates):
        features, truth = setting.world.draw(setting.n, rng)
        changes = looking_at(model, features, truth, setting, number).changes(model, everything, everything, 0)
        assert changes is not None
        one = found_in([changes], setting, Dependence(setting.n))
        plain = stats.ttest_1samp(changes.exchanges[0].received, 0).confidence_interval(LEVEL)
        found[number] = one.low, one.high, plain.low, plain.high
    given = ~np.isnan(found[:, 0])
    low, high, plain_low, plain_high = found[given].T
    return Coverage(
        float(np.mean((low <= true) & (true <= high))),
        float(np.mean(low > true)),
        float(np.mean(high < true)),
        float(np.mean(high - low)),
        float(np.mean((plain_low <= true) & (true <= plain_high))),
        int((~given).sum()),
    )


@dataclass(frozen=True, slots=True)
class FoldCoverage:
    """The shares of intervals over ten folds that held the importance of the one model, and that of the mean one."""

    one_model: float
    mean_model: float
    width: float
    bias: float


def find_changes(setting: Setting, learner: str, rng: np.random.Generator, seed: int) -> tuple[list[FoldChanges], Any]:
    """Draw a data set: what shuffling x changes in every one of ten folds, and the model trained on all of it."""
    features, truth = setting.world.draw(setting.n, rng)
    while np.bincount(truth, minlength=2).min() < FOLDS:
        features, truth = setting.world.draw(setting.n, rng)
    looking = looking_at(LEARNERS[learner], features, truth, setting, seed)
    changes = []
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(features, truth)
    for fold, (train, test) in enumerate(folds):
        one = looking.changes(looking.fitted(train), train, test, fold)
        assert one is not None
        changes.append(one)
    return changes, looking.fitted(np.arange(setting.n))


@threadpool_limits.wrap(limits=1)
def measure_folds(setting: Setting, learner: str, replicates: int) -> FoldCoverage:
    """Draw so many data sets, and look into the models of ten folds of each."""
    rng = np.random.default_rng(zlib.crc32(repr((setting, learner)).encode()))
    plan = Dependence(setting.n, ratio=1 / (FOLDS - 1), independent=FOLDS)
    found = np.empty((replicates, 4))
    for number in range(replicates):
        changes, model = find_changes(setting, learner, rng, number)
        held = found_in(changes, setting, plan)
        true = true_importance(model, setting.world, setting.measure, rng, 20_000)
        found[number] = held.low, held.high, true, held.value
    low, high, own, value = found.T
    mean = float(own.mean())
    return FoldCoverage(
        float(np.mean((low <= own) & (own <= high))),
        float(np.mean((low <= mean) & (mean <= high))),
        float(np.mean(high - low)),
        float(value.mean()) - mean,
    )


RARE, COMMON, HEAVY = World("binary", share=0.1), World("binary", share=0.3), World("t(3)")
PLAIN = World("normal", 1.5)


def settings() -> Iterator[Setting]:
    """Every setting of the table of known models."""
    yield Setting(RARE, 100)
    yield Setting(RARE, 500)
    yield Setting(COMMON, 1000)
    yield Setting(HEAVY, 200)
    for n, shuffles in product((30, 100, 1000), (1, 5, 20)):
        yield Setting(PLAIN, n, shuffles=shuffles)
    yield Setting(World("normal", 1.5, together=0.8), 100)
    yield Setting(World("lognormal", 1.5), 200)
    yield Setting(World("binary", 1.5, share=0.1), 100)
    yield Setting(World("binary", 1.5, share=0.5), 50)
    for measure in ("accuracy", "log_loss"):
        yield Setting(PLAIN, 100, measure)
        yield Setting(RARE, 500, measure)
    # A feature that the model leans on in vain, and one that it hardly looks at.
    yield Setting(World("normal", 0.0), 100, slope=0.5)
    yield Setting(World("normal", 0.05), 200)
    for n in (100, 400):
        yield Setting(World("normal", 1.5, alike=5), n)
        yield Setting(World("binary", 3.0, share=0.3, alike=5), n)


def fold_settings() -> Iterator[tuple[Setting, str]]:
    """Every setting of the table of folds."""
    for n, learner in product((100, 300), LEARNERS):
        yield Setting(PLAIN, n), learner
        yield Setting(World("binary", 3.0, share=0.3), n), learner
    yield Setting(World("normal", 0.0), 200), "logistic"


@dataclass(frozen=True, kw_only=True)
class KnownModel(Cell):
    """The importance of x for a known model on so many cases."""

    family: ClassVar[str] = "importance"

    setting: Setting

    def __str__(self) -> str:
        return f"known model, {self.setting}"

    def find_truth(self) -> Truth:
        return {"importance": truth_of(self.setting.model, self.setting.world, self.setting.measure)}

    def draw(self, rng: np.random.Generator, truth: Truth, tally: Tally) -> None:
        setting, everything = self.setting, np.arange(self.setting.n)
        features, classes = setting.world.draw(setting.n, rng)
        looking = looking_at(setting.model, features, classes, setting, int(rng.integers(2**31)))
        changes = looking.changes(setting.model, everything, everything, 0)
        for level in self.levels:
            one = found_in([changes] if changes else [], setting, Dependence(setting.n), level)
            tally.add_interval("importance", level, one.low, one.high, truth["importance"])


@dataclass(frozen=True, kw_only=True)
class OverFolds(Cell):
    """The importance of x over ten folds of a learner."""

    family: ClassVar[str] = "importance"

    setting: Setting
    learner: str

    def __str__(self) -> str:
        return f"10-fold, {self.learner}, {self.setting}"

    def find_truth(self) -> Truth:
        rng = np.random.default_rng(1931)
        values = []
        for _ in range(300):
            features, classes = self.setting.world.draw(self.setting.n, rng)
            model = LEARNERS[self.learner].fit(features, classes)
            values.append(true_importance(model, self.setting.world, self.setting.measure, rng, 20_000))
        return {"importance": float(np.mean(values))}

    @threadpool_limits.wrap(limits=1)
    def draw(self, rng: np.random.Generator, truth: Truth, tally: Tally) -> None:
        changes, model = find_changes(self.setting, self.learner, rng, int(rng.integers(2**31)))
        own = true_importance(model, self.setting.world, self.setting.measure, rng, 20_000)
        plan = Dependence(self.setting.n, ratio=1 / (FOLDS - 1), independent=FOLDS)
        for level in self.levels:
            one = found_in(changes, self.setting, plan, level)
            tally.add_interval("importance", level, one.low, one.high, own)
            tally.add_interval("importance, mean of models", level, one.low, one.high, truth["importance"], "beside")


def _cells() -> list[Cell]:
    return [
        *(KnownModel(setting=setting, draws=2000 if setting.n < 1000 else 1000) for setting in settings()),
        *(OverFolds(setting=setting, learner=name, draws=500, chunk=25) for setting, name in fold_settings()),
    ]


CELLS = tuple(_cells())
