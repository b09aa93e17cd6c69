"""The rule by which a threshold is chosen: an objective, requirements, and the prevalence it is meant for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arrays import Floats
from heldout.errors import OptionError, ValuesError
from heldout.evidence.ranking import Ranking
from heldout.measures.cells import Cells, class_cells
from heldout.show.numbers import number, percent
from heldout.thresholds.objective import Objective
from heldout.thresholds.requirement import ThresholdRequirement

# Values nearer than this share of their scale are ties: they differ by rounding only.
TIE = 1e-12


@dataclass(frozen=True, eq=False)
class Points:
    """TP and FP at each threshold along the last axis; a leading axis may hold resampled cases.

    The first threshold is infinite: nobody is called positive. The last is the lowest score: everybody is.

    >>> points = Points.of(Ranking(np.array([0.9, 0.4]), np.array([1, 1]), np.array([0, 2])))
    >>> points.thresholds, points.tp, points.fp
    (array([inf, 0.9, 0.4]), array([0., 1., 2.]), array([0., 0., 2.]))
    """

    thresholds: Floats
    tp: Floats
    fp: Floats

    @classmethod
    def of(cls, ranking: Ranking) -> Points:
        """Every threshold of a ranking."""
        return cls(
            np.concatenate([[np.inf], ranking.scores]),
            np.concatenate([[0.0], ranking.tp]),
            np.concatenate([[0.0], ranking.fp]),
        )

    @property
    def positives(self) -> Any:
        """The positives of each sample."""
        return self.tp[..., -1:]

    @property
    def negatives(self) -> Any:
        """The negatives of each sample."""
        return self.fp[..., -1:]

    def cells(self, prevalence: float | None = None) -> Cells:
        """TP, FN, FP, TN at every threshold; with a prevalence, as if so large a share of the cases were positive."""
        tp, fp, positives, negatives = self.tp, self.fp, self.positives, self.negatives
        if prevalence is not None:
            n = positives + negatives
            with np.errstate(divide="ignore", invalid="ignore"):
                tp, fp = prevalence * n * (tp / positives), (1 - prevalence) * n * (fp / negatives)
            positives, negatives = prevalence * n, (1 - prevalence) * n
        # Below 0 by rounding only.
        return class_cells(tp, np.maximum(positives - tp, 0.0), fp, np.maximum(negatives - fp, 0.0))

    def place(self, threshold: float) -> int:
        """Which point the rule `score >= threshold` is."""
        return int(np.count_nonzero(self.thresholds[1:] >= threshold))

    @property
    def youden(self) -> Floats:
        """Recall + specificity - 1 at every threshold."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.tp / self.positives - self.fp / self.negatives)


def best_places(points: Points, values: Floats, allowed: NDArray[np.bool_] | None, *, lower: bool) -> Any:
    """The place of the best value along the last axis, -1 where no value is defined and allowed.

    Of equally good thresholds, the one with the larger Youden index; of those, the highest.

    >>> points = Points(np.array([np.inf, 2.0, 1.0]), np.array([0.0, 1.0, 1.0]), np.array([0.0, 0.0, 1.0]))
    >>> int(best_places(points, np.array([0.5, 0.7, 0.7]), None, lower=False))
    1
    """
    standing = -values if lower else values
    barred = np.isnan(standing) if allowed is None else np.isnan(standing) | ~allowed
    standing = np.where(barred, -np.inf, standing)
    top = standing.max(axis=-1, keepdims=True)
    scale = np.abs(np.where(np.isfinite(standing), standing, 0.0)).max(axis=-1, keepdims=True)
    tied = standing >= top - TIE * scale
    youden = np.where(tied, np.nan_to_num(points.youden), -np.inf)
    chosen = np.argmax(youden >= youden.max(axis=-1, keepdims=True) - TIE, axis=-1)
    return np.where(barred.all(axis=-1), -1, chosen)


@dataclass(frozen=True)
class SelectionRule:
    """Chooses one of the points, or one for each of many resampled sets of points."""

    objective: Objective
    requirements: tuple[ThresholdRequirement, ...] = ()
    prevalence: float | None = None

    @property
    def sentence(self) -> str:
        """The rule in words."""
        required = ", ".join(requirement.text for requirement in self.requirements)
        sentence = f"{required}, then {self.objective.sentence}" if required else self.objective.sentence
        if self.prevalence is not None:
            sentence = (
                f"{sentence}, where {percent(self.prevalence, _digits(self.prevalence))} of the cases are positive"
            )
        return sentence

    def judge(self, points: Points) -> tuple[Any, Any]:
        """The objective at every point, and the place of the chosen one (-1 where there is none)."""
        cells = points.cells(self.prevalence)
        values = np.broadcast_to(np.asarray(self.objective.values(cells), dtype=np.float64), points.tp.shape)
        allowed = self._shortfall(cells) == 0 if self.requirements else None
        return values, best_places(points, values, allowed, lower=self.objective.lower)

    def meets(self, points: Points) -> Any:
        """Whether each point meets the requirements."""
        return np.broadcast_to(self._shortfall(points.cells(self.prevalence)) == 0, points.tp.shape)

    def nearest(self, points: Points) -> int:
        """The place that misses the requirements by least, the objective deciding between equals."""
        cells = points.cells(self.prevalence)
        short = self._shortfall(cells)
        values = np.broadcast_to(np.asarray(self.objective.values(cells), dtype=np.float64), points.tp.shape)
        allowed = short <= short.min() + 1e-12
        index = int(best_places(points, values, allowed, lower=self.objective.lower))
        return index if index >= 0 else int(np.argmin(short))

    def choose(self, points: Points) -> tuple[float, int]:
        """The objective at the chosen point and its place, or an error that says what is reachable."""
        values, chosen = self.judge(points)
        index = int(chosen)
        if index >= 0:
            return float(values[index]), index
        if self.requirements and not (self._shortfall(points.cells(self.prevalence)) == 0).any():
            raise self._unmet(points)
        quantity = self.objective.quantity
        reason = quantity.bound.undefined if quantity is not None else "a class has no cases"
        raise ValuesError(
            f"No threshold can be chosen: {self.objective.title} is undefined at all that are allowed, "
            f"because {reason}.",
            hint="choose by another measure.",
        )

    def _shortfall(self, cells: Cells) -> Any:
        total: Any = 0.0
        for requirement in self.requirements:
            total = total + requirement.shortfall(requirement.values(cells))
        return total

    def _unmet(self, points: Points) -> OptionError:
        index = self.nearest(points)
        cells = points.cells(self.prevalence)
        reached, suggestions = [], []
        for requirement in self.requirements:
            value = float(np.broadcast_to(requirement.values(cells), points.tp.shape)[index])
            reached.append(f"{requirement.name} {_reachable(value)}")
            if not requirement.is_met(value) and not math.isnan(value):
                suggestions.append(f"{requirement.name} {requirement.sign[0]}= {_towards(value, requirement.sign)}")
        wanted = ", ".join(requirement.text for requirement in self.requirements)
        threshold = points.thresholds[index]
        return OptionError(
            f"No threshold reaches {wanted}. The closest is {threshold:.6g}, with {' and '.join(reached)}.",
            hint=f"ask for {', '.join(suggestions)} or less." if suggestions else "ask for less.",
        )


def _reachable(value: float) -> str:
    return "undefined" if math.isnan(value) else number(value, "plain" if abs(value) > 1 else "share")


def _towards(value: float, sign: str) -> str:
    # Rounded to the side on which the value itself still meets it.
    rounded = math.floor(value * 1000) / 1000 if sign[0] == ">" else math.ceil(value * 1000) / 1000
    return f"{rounded:g}"


def _digits(share: float) -> int:
    """Decimals of a percentage: enough to tell a rare class from none."""
    return 0 if round(100 * share, 6).is_integer() else max(1, 1 - math.floor(math.log10(100 * min(share, 1 - share))))
