"""The cost matrix: what each kind of error costs, with the axis of the truth always named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.arguments import listing
from heldout.costs.naming import class_index
from heldout.errors import MatrixError
from heldout.evidence import Label


@dataclass(frozen=True, eq=False)
class Costs:
    """What a case of each true class costs when each class is predicted; rows are the truth.

    A negative cost is a gain.

    >>> Costs.of([[-1, 100], [1, 0]], ["+", "-"], rows="truth").of_error("+", "-")
    100.0
    """

    labels: tuple[Label, ...]
    matrix: NDArray[np.float64]

    @classmethod
    def of(cls, matrix: ArrayLike, labels: Sequence[Label], *, rows: str) -> Costs:
        """From a square table; `rows` must say what its rows are, because text books differ."""
        if rows not in ("truth", "predicted"):
            raise MatrixError(
                f"The rows of a cost matrix are 'truth' or 'predicted'. Got {rows!r}.",
                hint="text books write both; say which yours is.",
            )
        try:
            table = np.asarray(matrix, dtype=np.float64)
        except (TypeError, ValueError):
            raise MatrixError(
                "The cost matrix holds something that is not a number, or its rows differ in length.",
                hint="give one row of numbers per class.",
            ) from None
        k = len(labels)
        if table.shape != (k, k):
            shape = " × ".join(map(str, table.shape))
            raise MatrixError(
                f"The cost matrix must be {k} × {k}, one row and column for each of {listing(labels)}. Got {shape}.",
                hint="give one row and one column per class, in the order of the labels.",
            )
        twice = [label for label in labels if list(labels).count(label) > 1]
        if twice:
            raise MatrixError(f"The costs name the class {twice[0]!r} twice.", hint="name each class once.")
        if not np.isfinite(table).all():
            row, column = np.argwhere(~np.isfinite(table))[0]
            raise MatrixError(
                f"The cost in row {row + 1}, column {column + 1} is {table[row, column]}, which is not finite.",
                hint="costs are plain numbers.",
            )
        return cls(tuple(labels), table if rows == "truth" else table.T)

    @classmethod
    def of_pairs(cls, pairs: Mapping[tuple[Any, Any], float], labels: Sequence[Label]) -> Costs:
        """From costs by (truth, predicted); what is right costs nothing unless it is named."""
        table = np.full((len(labels), len(labels)), np.nan)
        np.fill_diagonal(table, 0.0)
        named: set[tuple[int, int]] = set()
        for pair, cost in pairs.items():
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise MatrixError(
                    f"The costs name {pair!r}, which is not a pair of classes. The classes are: {listing(labels)}.",
                    hint="write each cost as (truth, predicted).",
                )
            place = class_index(pair[0], labels), class_index(pair[1], labels)
            if place in named:
                raise MatrixError(
                    f"The costs name truth {labels[place[0]]!r} predicted {labels[place[1]]!r} twice.",
                    hint="name each kind of error once.",
                )
            named.add(place)
            table[place] = _number(cost, pair)
        absent = np.argwhere(np.isnan(table))
        if len(absent):
            truth, predicted = absent[0]
            kinds = "1 kind" if len(absent) == 1 else f"{len(absent)} kinds"
            raise MatrixError(
                f"The costs leave out {kinds} of error, such as truth {labels[truth]!r} "
                f"predicted {labels[predicted]!r}.",
                hint="give a cost for every kind of error, 0 if it costs nothing.",
            )
        return cls.of(table, labels, rows="truth")

    @property
    def symmetric(self) -> bool:
        """Whether all errors cost the same and all right answers cost the same, and less.

        Then the cost of a case is a straight line in the accuracy, and the costs rank models exactly as accuracy does.

        >>> Costs.of([[0, 1], [1, 0]], [0, 1], rows="truth").symmetric
        True
        >>> Costs.of([[0, 1], [100, 0]], [0, 1], rows="truth").symmetric
        False
        """
        if len(self.labels) < 2:
            return False
        right = np.diagonal(self.matrix)
        wrong = self.matrix[~np.eye(len(self.labels), dtype=bool)]
        return bool((right == right[0]).all() and (wrong == wrong[0]).all() and right[0] < wrong[0])

    def of_error(self, truth: Label, predicted: Label) -> float:
        """What a case of class `truth` costs when `predicted` is answered."""
        return float(self.matrix[self.labels.index(truth), self.labels.index(predicted)])

    def arranged(self, labels: Sequence[Label]) -> NDArray[np.float64]:
        """The matrix in the order of these labels."""
        place = {str(label): position for position, label in enumerate(self.labels)}
        unknown = [label for label in labels if str(label) not in place]
        if unknown or len(labels) != len(self.labels):
            raise MatrixError(
                f"The cost matrix is for the classes {listing(self.labels)}. The cases have {listing(labels)}.",
                hint="give costs for exactly the classes of the cases.",
            )
        order = [place[str(label)] for label in labels]
        return self.matrix[np.ix_(order, order)]


def _number(cost: Any, pair: tuple[Any, Any]) -> float:
    try:
        number = float(cost)
    except (TypeError, ValueError):
        number = np.nan
    if isinstance(cost, bool) or not np.isfinite(number):
        raise MatrixError(
            f"The cost of truth {pair[0]!r} predicted {pair[1]!r} is {cost!r}, expected a finite number.",
            hint="costs are plain numbers; a negative one is a gain.",
        )
    return number


def settle_costs(costs: Any, labels: Sequence[Label]) -> NDArray[np.float64]:
    """A cost matrix in the order of the labels, from what a person may pass as costs.

    >>> settle_costs({(1, 0): 100, (0, 1): 1}, [0, 1])
    array([[  0.,   1.],
           [100.,   0.]])
    """
    if isinstance(costs, Costs):
        return costs.arranged(labels)
    if isinstance(costs, Mapping):
        return Costs.of_pairs(costs, labels).matrix
    if isinstance(costs, str):
        from heldout.costs.reading import read_costs

        return read_costs(costs, labels).matrix
    raise MatrixError(
        "A bare table of costs does not say whether its rows are the truth or the prediction.",
        hint="write Costs.of(table, labels, rows='truth'), or costs by {(truth, predicted): cost}.",
    )
