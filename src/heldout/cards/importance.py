"""Which features a model leans on: how much worse it gets when a column is shuffled, with intervals over the folds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heldout.arrays import Floats
from heldout.cards.exchanges import REFERENCE as OVER_CASES
from heldout.cards.exchanges import Exchanges
from heldout.cards.permuting import LossMeasure
from heldout.cards.related import Related
from heldout.cards.stability import Stability, stability
from heldout.estimates.dependence import Dependence
from heldout.estimates.fold_methods import corrected_t, nothing_told

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
        from heldout.arguments import closest, listing
        from heldout.errors import OptionError

        by_name = {one.feature: one for one in self.features}
        if feature not in by_name:
            near = closest(str(feature), by_name)
            raise OptionError(
                f"There is no importance of {feature!r}. There is one of: {listing(by_name) or 'nothing'}.",
                hint=f"did you mean {near!r}?" if near else "use one of these.",
            )
        return by_name[feature]

    @property
    def reference(self) -> str:
        """Where shuffling is described, and the interval over the cases of one test part."""
        return f"{REFERENCE}; {OVER_CASES}" if self.folds == 1 else REFERENCE

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
            "features": [{name: getattr(one, name) for name in FIELDS} for one in self.features],
            "stability": self.stability.document(),
            "related": [
                {"first": pair.first, "second": pair.second, "strength": pair.strength, "how": pair.how}
                for pair in self.related
            ],
            "undefined": self.undefined,
            "notes": list(self.notes),
            "reference": self.reference,
        }


@dataclass(frozen=True, eq=False)
class FoldChanges:
    """What shuffling did in one fold, for every feature: the mean change, and whether an answer moved.

    `exchanges` say it of every feature case by case, `n` is the number of these cases, and `drawn` says that they are
    some of a larger test part.
    """

    means: Floats
    moved: NDArray[np.bool_]
    n: int
    exchanges: tuple[Exchanges, ...] = ()
    drawn: bool = False


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

    Over one fold alone, the interval is over its cases, as they receive and give values, and about that one model.

    >>> from heldout.cards.permuting import MEASURES
    >>> folds = [FoldChanges(np.array([x, 0.0]), np.array([True, False]), 5) for x in (0.2, 0.3, 0.25)]
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
        low, high, why = _limits(values, changes, at, plan, level) if moved[at] else (math.nan, math.nan, NEVER)
        value = float(values.mean()) if np.isfinite(values).all() else math.nan
        made.append(FeatureImportance(name, value, low, high, tuple(values.tolist()), bool(moved[at]), why))
    made.sort(key=lambda one: -one.value if not math.isnan(one.value) else math.inf)
    return Importance(
        measure.name, measure.change, tuple(made), shuffles, len(changes), sum(one.n for one in changes),
        _method(changes), level, stability(means), related, "", notes,
    )  # fmt: skip


def _method(changes: Sequence[FoldChanges]) -> str:
    if len(changes) > 1:
        return "corrected-t"
    grouped = any(one.group is not None for one in changes[0].exchanges)
    return f"U-statistic t over {'groups' if grouped else 'cases'}"


def _limits(
    values: Floats, changes: Sequence[FoldChanges], at: int, plan: Dependence, level: float
) -> tuple[float, float, str]:
    nan = math.nan
    if plan.refused:
        return nan, nan, plan.refused
    if not np.isfinite(values).all():
        return nan, nan, INFINITE
    if len(values) == 1:
        return changes[0].exchanges[at].limits(level)
    why = nothing_told(values)
    return (nan, nan, why) if why else (*corrected_t(values, plan, level), "")
