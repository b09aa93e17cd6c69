"""The rule by which a threshold is chosen: an objective, requirements, and the prevalence it is meant for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from heldout.decisions.objective import Objective
from heldout.decisions.points import Points, best_places
from heldout.decisions.requirement import Requirement
from heldout.errors import OptionError, ValuesError
from heldout.measures.cells import Cells
from heldout.show.numbers import number, percent


@dataclass(frozen=True)
class Rule:
    """Chooses one of the points, or one for each of many resampled sets of points."""

    objective: Objective
    requirements: tuple[Requirement, ...] = ()
    prevalence: float | None = None

    @property
    def sentence(self) -> str:
        """The rule in words."""
        required = ", ".join(requirement.text for requirement in self.requirements)
        said = f"{required}, then {self.objective.sentence}" if required else self.objective.sentence
        if self.prevalence is not None:
            said = f"{said}, where {percent(self.prevalence, _digits(self.prevalence))} of the cases are positive"
        return said

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
        place = int(best_places(points, values, allowed, lower=self.objective.lower))
        return place if place >= 0 else int(np.argmin(short))

    def choose(self, points: Points) -> tuple[float, int]:
        """The objective at the chosen point and its place, or an error that says what is reachable."""
        values, found = self.judge(points)
        place = int(found)
        if place >= 0:
            return float(values[place]), place
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
        place = self.nearest(points)
        cells = points.cells(self.prevalence)
        said, asked = [], []
        for requirement in self.requirements:
            value = float(np.broadcast_to(requirement.values(cells), points.tp.shape)[place])
            said.append(f"{requirement.name} {_reachable(value)}")
            if not requirement.is_met(value) and not math.isnan(value):
                asked.append(f"{requirement.name} {requirement.sign[0]}= {_towards(value, requirement.sign)}")
        wanted = ", ".join(requirement.text for requirement in self.requirements)
        threshold = points.thresholds[place]
        return OptionError(
            f"No threshold reaches {wanted}. The closest is {threshold:.6g}, with {' and '.join(said)}.",
            hint=f"ask for {', '.join(asked)} or less." if asked else "ask for less.",
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
