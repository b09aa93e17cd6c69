"""Which features a model leans on: how much worse it gets when a column is shuffled, with intervals over the folds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heldout.cards.permuting import LossMeasure
from heldout.cards.related import Related
from heldout.cards.stability import Stability, stability
from heldout.estimates.dependence import Dependence
from heldout.estimates.fold_methods import corrected_t, nothing_told
from heldout.estimates.proportion import t_value

Floats = NDArray[np.float64]

REFERENCE = "Breiman (2001), Machine Learning 45; Fisher, Rudin & Dominici (2019), JMLR 20(177)"
FIELDS = ("feature", "value", "low", "high", "folds", "moved", "undefined")
INFINITE = "a shuffle gave the true class of some case probability 0, and its log loss is infinite"
NEVER = "no answer changed in any fold, so there is no spread to judge by"


@dataclass(frozen=True, slots=True)
class FeatureImportance:
    """How much worse the model gets when one feature is shuffled; above 0, it leans on the feature.

    `folds` holds the value in every fold. `moved` is False where no shuffle changed any answer, and `undefined` says
    why a value or its interval is nan, where it is.
    """

    feature: str
    value: float
    low: float
    high: float
    folds: tuple[float, ...]
    moved: bool
    undefined: str = ""

    @property
    def sure(self) -> bool:
        """Whether the interval lies above 0."""
        return self.low > 0


@dataclass(frozen=True, slots=True)
class Importance:
    """The importance of every feature, the greatest first, and whether the folds agree on it.

    `measure` is what gets worse and `change` that in words; `shuffles` is how often each column was shuffled in every
    fold, `cases` how many cases were tested. `method` and `level` are those of the intervals. `related` are features
    that say nearly the same and so share their importance. `undefined` says why nothing was measured.
    """

    measure: str
    change: str
    features: tuple[FeatureImportance, ...]
    shuffles: int
    folds: int
    cases: int
    method: str
    level: float
    stability: Stability
    related: tuple[Related, ...] = ()
    undefined: str = ""
    notes: tuple[str, ...] = ()

    def __getitem__(self, feature: str) -> FeatureImportance:
        """The importance of a feature."""
        from heldout.errors import OptionError, closest, listing

        by_name = {one.feature: one for one in self.features}
        if feature not in by_name:
            near = closest(str(feature), by_name)
            raise OptionError(
                f"There is no importance of {feature!r}. There is one of: {listing(by_name) or 'nothing'}.",
                hint=f"did you mean {near!r}?" if near else "use one of these.",
            )
        return by_name[feature]

    def document(self) -> dict[str, object]:
        """The importance as it stands in a JSON document."""
        return {
            "measure": self.measure,
            "change": self.change,
            "shuffles": self.shuffles,
            "folds": self.folds,
            "cases": self.cases,
            "method": self.method,
            "level": self.level,
            "features": [
                {
                    name: getattr(one, name)
                    for name in ("feature", "value", "low", "high", "folds", "moved", "undefined")
                }
                for one in self.features
            ],
            "stability": self.stability.document(),
            "related": [
                {"first": pair.first, "second": pair.second, "strength": pair.strength, "how": pair.how}
                for pair in self.related
            ],
            "undefined": self.undefined,
            "notes": list(self.notes),
            "reference": REFERENCE,
        }


@dataclass(frozen=True, eq=False)
class FoldChanges:
    """What shuffling did in one fold: for every feature the mean change, of every case, and whether an answer moved.

    `group` is the group of each case, where cases come in groups.
    """

    means: Floats
    cases: Floats
    moved: NDArray[np.bool_]
    group: NDArray[np.int64] | None = None


def not_measured(measure: LossMeasure, why: str, level: float) -> Importance:
    """No importance, and why."""
    nothing = stability(np.empty((0, 0)))
    return Importance(measure.name, measure.change, (), 0, 0, 0, "", level, nothing, undefined=why)


def importance(
    names: Sequence[str],
    changes: Sequence[FoldChanges],
    measure: LossMeasure,
    plan: Dependence,
    *,
    shuffles: int,
    level: float,
    related: tuple[Related, ...] = (),
    notes: tuple[str, ...] = (),
) -> Importance:
    """The importance over the folds, whose intervals allow for the training rows that folds share.

    Over one fold alone, the interval is over its cases, and is about that one model.

    >>> from heldout.cards.permuting import MEASURES
    >>> folds = [FoldChanges(np.array([x, 0.0]), np.zeros((2, 5)), np.array([True, False])) for x in (0.2, 0.3, 0.25)]
    >>> plan = Dependence(15, ratio=0.5, independent=3)
    >>> found = importance(["a", "b"], folds, MEASURES["accuracy"], plan, shuffles=5, level=0.95)
    >>> print(f"{found['a'].value:.3f} [{found['a'].low:.3f} – {found['a'].high:.3f}], {found['b'].value}")
    0.250 [0.054 – 0.446], 0.0
    """
    means = np.array([one.means for one in changes])
    moved = np.any([one.moved for one in changes], axis=0).tolist()
    made = []
    for at, name in enumerate(names):
        values = means[:, at]
        low, high, why = _limits(values, changes, at, plan, level)
        value = float(values.mean()) if np.isfinite(values).all() else math.nan
        why = NEVER if not moved[at] else why
        made.append(FeatureImportance(name, value, low, high, tuple(values.tolist()), bool(moved[at]), why))
    made.sort(key=lambda one: -one.value if not math.isnan(one.value) else math.inf)
    method = "corrected-t" if len(changes) > 1 else "t over groups" if changes[0].group is not None else "t over cases"
    return Importance(
        measure.name, measure.change, tuple(made), shuffles, len(changes), sum(one.cases.shape[1] for one in changes),
        method, level, stability(means), related, "", notes,
    )  # fmt: skip


def _limits(
    values: Floats, changes: Sequence[FoldChanges], at: int, plan: Dependence, level: float
) -> tuple[float, float, str]:
    nan = math.nan
    if plan.refused:
        return nan, nan, plan.refused
    if not np.isfinite(values).all():
        return nan, nan, INFINITE
    if len(values) == 1:
        return *mean_limits(changes[0].cases[at], changes[0].group, level), ""
    why = nothing_told(values)
    return (nan, nan, why) if why else (*corrected_t(values, plan, level), "")


def mean_limits(values: Floats, group: NDArray[np.int64] | None, level: float) -> tuple[float, float]:
    """Student's t limits of a mean over cases, or over groups of cases where these are what is independent.

    >>> low, high = mean_limits(np.array([0.0, 1.0, 1.0, 0.0]), None, 0.95)
    >>> print(f"{low:.3f} {high:.3f}")
    -0.419 1.419
    """
    n, mean = len(values), float(values.mean())
    if group is None:
        units, spread = n, float(np.square(values - mean).sum())
    else:
        sums = np.bincount(group, weights=values - mean)
        units, spread = len(np.unique(group)), float(np.square(sums).sum())
    if units < 2:
        return math.nan, math.nan
    half = float(t_value(level, units - 1)) * math.sqrt(spread * units / (units - 1)) / n
    return mean - half, mean + half
