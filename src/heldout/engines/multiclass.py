"""Areas under the ROC curve of every pair of classes, from one sort for each class."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arrays import Floats, Integers
from heldout.errors import ValuesError
from heldout.evidence.probabilities import sums_by


class Ordered:
    """A column of scores in order, with its ties."""

    def __init__(self, column: NDArray[Any]) -> None:
        self.order = np.argsort(column)
        ordered = column[self.order]
        self.starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
        self.sizes = np.diff(np.append(self.starts, len(column)))

    def below(self, values: Floats) -> Floats:
        """For each case the sum of the values with a lower score, and half of those with the same.

        >>> Ordered(np.array([0.3, 0.1, 0.3])).below(np.ones(3))
        array([2. , 0.5, 2. ])
        """
        at_each = np.add.reduceat(values[self.order], self.starts)
        middle = np.cumsum(at_each) - at_each / 2
        found = np.empty(len(values))
        found[self.order] = np.repeat(middle, self.sizes)
        return found


@dataclass(frozen=True, slots=True)
class ClassPlacements:
    """The cases in the order of the scores of one class.

    `above` is, for each case, the share of the class that has a higher score (ties count half); `areas` its mean over
    each other class: the area of this class against that one by this class's score, nan where there is none.
    """

    class_: int
    ordered: Ordered
    above: Floats
    areas: Floats


def class_placements(
    scores: NDArray[Any], codes: Integers, k: int, weight: Floats | None = None
) -> Iterator[ClassPlacements]:
    """The placements by the score of each class that occurs, one after the other.

    >>> scores = np.array([[0.8, 0.2], [0.4, 0.6], [0.5, 0.5]])
    >>> [placed.areas for placed in class_placements(scores, np.array([0, 0, 1]), 2)]
    [array([nan, 0.5]), array([0.5, nan])]
    """
    check_scores(scores, codes, k)
    held = np.ones(len(codes)) if weight is None else weight
    totals = sums_by(codes, held, k)
    for class_ in np.flatnonzero(totals > 0).tolist():
        ordered = Ordered(scores[:, class_])
        mine = np.where(codes == class_, held, 0.0)
        above = (totals[class_] - ordered.below(mine)) / totals[class_]
        areas = np.full(k, np.nan)
        met = totals > 0
        areas[met] = sums_by(codes, held * above, k)[met] / totals[met]
        areas[class_] = np.nan
        yield ClassPlacements(class_, ordered, above, areas)


def check_scores(scores: NDArray[Any], codes: Integers, k: int) -> None:
    """Refuse scores that do not fit the classes, or that cannot be ranked."""
    if scores.ndim != 2 or scores.shape[1] != k or len(scores) != len(codes):
        shape = " × ".join(str(size) for size in scores.shape)
        raise ValuesError(
            f"There are {len(codes):,} cases of {k} classes, and scores of the shape {shape}.",
            hint="give a row per case and a column per class, in the order of the labels.",
        )
    # A sum is finite only if all of it is; where it overflows, the slower test decides.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(scores.sum()):
            return
    wrong = ~np.isfinite(scores)
    if wrong.any():
        row, column = (int(i[0]) for i in np.nonzero(wrong))
        raise ValuesError(
            f"Scores must be finite numbers; {int(wrong.any(axis=1).sum()):,} of {len(scores):,} rows have one that is "
            f"not, the first {scores[row, column]:g} in row {row + 1:,}, column {column + 1:,}.",
            hint="fill in or drop those rows.",
        )
