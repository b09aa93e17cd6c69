"""Measures how often the default intervals after resampling hold the true value, for both values that they may mean.

Cases are drawn from normal distributions, so that the true value of every model is known: exactly where the model is
linear and the measure an error, otherwise on a large fresh sample. Err is the mean over training sets of the size at
hand, Err_XY the value of the one model trained on all cases at hand. `python tests/promises/resampling.py` prints the
whole table in about three quarters of an hour; `test_resampling.py` runs a part of it.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import f1_score, roc_auc_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped, unused-ignore]

from heldout.api.validate import validate
from heldout.lab.worlds import Gaussians

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

# The standard error of an error of .2 on so many fresh cases is .003, a tenth of that of any interval here.
FRESH = 20_000
LEARNERS: dict[str, Any] = {
    "naive Bayes": GaussianNB(),
    "LDA": LinearDiscriminantAnalysis(),
    "nearest centroid": NearestCentroid(),
    "5-NN": KNeighborsClassifier(5),
}
FAST = {"naive Bayes", "5-NN"}
PLANS = ("10-fold", "leave-one-out", "10x10-fold", "30 x holdout 2/3", ".632+ 200")


@dataclass(frozen=True, slots=True)
class Triangle:
    """Three equally common normal classes in the corners of a triangle with sides of 2."""

    text: str = "three normal clouds 2 apart"

    def draw(self, n: int, seed: int | np.random.Generator = 0) -> tuple[Floats, Codes]:
        """So many independent cases."""
        rng = np.random.default_rng(seed)
        truth = rng.integers(0, 3, n)
        corners = np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 3**0.5]])
        return corners[truth] + rng.normal(size=(n, 2)), truth


EVEN, RARE, THREE = Gaussians(2.0, 3), Gaussians(2.5, 3, 0.1), Triangle()
COMMON = Gaussians(1.4, 8, 0.3)
World = Gaussians | Triangle


@dataclass(frozen=True, slots=True)
class Setting:
    """A measure of a learner on so many cases of a world, by a plan, with the default interval or another."""

    measure: str
    learner: str
    world: World
    n: int
    plan: str
    method: str | None = None

    def __str__(self) -> str:
        return f"{self.measure} of {self.learner}, n = {self.n}, {self.plan}{f', {self.method}' * bool(self.method)}"


@dataclass(frozen=True, slots=True)
class Coverage:
    """The shares of intervals that held Err_XY and Err, their mean width, and how the values lie around Err."""

    one_model: float
    mean_model: float
    width: float
    bias: float
    spread: float
    refused: int


@lru_cache(maxsize=8)
def fresh(world: World) -> tuple[Floats, Codes]:
    """A large sample that nothing was trained on."""
    return world.draw(FRESH, np.random.default_rng([2023, FRESH]))


def true_value(setting: Setting, model: Any) -> float:
    """The measure of a fitted model over the whole world."""
    if setting.measure == "error_rate" and isinstance(setting.world, Gaussians):
        return setting.world.true_error(model, n=FRESH).value
    features, truth = fresh(setting.world)
    if setting.measure == "roc_auc":
        return float(roc_auc_score(truth, model.predict_proba(features)[:, 1]))
    predicted = model.predict(features)
    if setting.measure == "error_rate":
        return float(np.mean(predicted != truth))
    return float(f1_score(truth, predicted, average="binary" if setting.measure == "f1" else "macro"))


def draw(setting: Setting, rng: np.random.Generator) -> tuple[Floats, Codes]:
    """Cases of which every class has at least ten, as ten stratified folds need; next to none are drawn again."""
    while True:
        features, truth = setting.world.draw(setting.n, rng)
        if np.bincount(truth).min() >= 10:
            return features, truth


# Threads that wait for each other cost more than they save on so few cases.
@threadpool_limits.wrap(limits=1)
def measure_coverage(setting: Setting, replicates: int) -> Coverage:
    """Draw so many data sets, and look how often the interval held the truth."""
    rng = np.random.default_rng(zlib.crc32(repr(setting).encode()))
    found = np.empty((replicates, 4))
    learner = LEARNERS[setting.learner]
    for number in range(replicates):
        features, truth = draw(setting, rng)
        held: Any = validate(
            learner, features, truth, plan=setting.plan, seed=number, measures=setting.measure, method=setting.method,
            training=False, positive=None if isinstance(setting.world, Triangle) else 1, progress=False,
        )  # fmt: skip
        estimate = held[setting.measure]
        found[number] = estimate.low, estimate.high, true_value(setting, clone(learner).fit(features, truth)), estimate
    low, high, own, value = found.T
    given = ~np.isnan(low)
    mean = float(own.mean())
    held_own, held_mean = ((low <= t) & (t <= high) for t in (own, mean))
    return Coverage(
        float(held_own[given].mean()) if given.any() else float("nan"),
        float(held_mean[given].mean()) if given.any() else float("nan"),
        float((high - low)[given].mean()) if given.any() else float("nan"),
        float(value.mean()) - mean,
        float(value.std(ddof=1)),
        int((~given).sum()),
    )


def settings() -> Iterator[Setting]:
    """Every setting of the long table."""
    for learner, n, plan in product(LEARNERS, (60, 200), PLANS):
        yield Setting("error_rate", learner, EVEN, n, plan)
    for learner, n, method in product(sorted(FAST), (60, 200), ("corrected-t", "naive-t", "nested-cv")):
        yield Setting("error_rate", learner, EVEN, n, "10-fold", method)
    for learner, plan in product(("naive Bayes", "LDA"), PLANS):
        yield Setting("f1", learner, RARE, 200, plan)
    for plan in PLANS[:3]:
        yield Setting("f1", "5-NN", COMMON, 100, plan)
    for learner, n, plan in product(("naive Bayes", "LDA"), (60, 200), PLANS[:1] + PLANS[2:4]):
        yield Setting("roc_auc", learner, EVEN, n, plan)
    for learner, n, plan in product(("naive Bayes", "LDA"), (60, 200), PLANS):
        yield Setting("macro f1", learner, THREE, n, plan)


def usual_replicates(setting: Setting, most: int) -> int:
    """Fewer where each costs hundreds of fits."""
    if setting.method == "nested-cv":
        return most // 4
    if setting.plan == ".632+ 200":
        return most // 10
    if setting.plan == "30 x holdout 2/3":
        return most // 5
    if setting.learner in FAST:
        return most
    return most // {"10-fold": 2, "leave-one-out": 10, "10x10-fold": 10}[setting.plan]


def main(most: int = 1000) -> None:
    """Print the whole table."""
    print("| measure | learner | n | plan | interval | held Err_XY | held Err | data sets | mean width | value − Err |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for setting in settings():
        replicates = usual_replicates(setting, most)
        found = measure_coverage(setting, replicates)
        without = f" ({found.refused} without)" if found.refused else ""
        print(
            f"| {setting.measure} | {setting.learner} | {setting.n} | {setting.plan} | {setting.method or 'default'} "
            f"| {found.one_model:.3f} | {found.mean_model:.3f} | {replicates}{without} | {found.width:.3f} "
            f"| {found.bias:+.3f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
