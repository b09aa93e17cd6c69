"""Requirements such as "recall >= 0.9, specificity >= 0.5", and how far every threshold is from meeting them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.decisions.objective import Classes, quantity_values, settled
from heldout.decisions.written import read_all, shortfall
from heldout.errors import OptionError
from heldout.measures.cells import Cells
from heldout.measures.quantity import Quantity


@dataclass(frozen=True)
class Requirement:
    """A quantity that must be at least, or at most, some value."""

    quantity: Quantity
    sign: str
    limit: float
    classes: Classes

    @property
    def name(self) -> str:
        """The quantity as it was asked for."""
        quantity = self.quantity
        if quantity.average is not None:
            return f"{quantity.average} {quantity.bound.name}"
        other = quantity.class_ is not None and quantity.class_ != self.classes[1]
        return f"{quantity.bound.name}[{quantity.class_}]" if other else quantity.bound.name

    @property
    def text(self) -> str:
        """The requirement as it is written."""
        return f"{self.name} {self.sign} {self.limit:g}"

    def values(self, cells: Cells) -> Any:
        """The quantity at every threshold."""
        return quantity_values(self.quantity, cells, self.classes)

    def shortfall(self, values: Any) -> Any:
        """How much is missing: 0 where it is met, infinite where it is undefined."""
        return shortfall(self.sign, self.limit, values)

    def is_met(self, value: float) -> bool:
        """Whether a value meets it."""
        return bool(self.shortfall(np.float64(value)) == 0)


def read_requirements(text: str, classes: Classes, costs: NDArray[np.float64] | None) -> tuple[Requirement, ...]:
    """Read requirements that are separated by commas or "and".

    >>> [r.text for r in read_requirements("sensitivity >= 90%, FPR < 0.2", (0, 1), None)]
    ['recall >= 0.9', 'false_positive_rate < 0.2']
    """
    made = []
    for written in read_all(text):
        if written.baseline:
            raise OptionError(
                f"{written.text!r} names a baseline, and a threshold is chosen without one.",
                hint="write a number, as in 'recall >= 0.9'.",
            )
        quantity = settled(written.name, classes, costs)
        made.append(Requirement(quantity, written.sign, written.limit, classes))
    return tuple(made)


def default_then(requirements: tuple[Requirement, ...]) -> str:
    """What is best to have once the requirements are met: precision, or recall where precision was required."""
    required = {requirement.quantity.bound.name for requirement in requirements}
    return "recall" if required & {"precision", "false_discovery_rate"} else "precision"
