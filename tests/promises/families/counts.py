"""Measures of a confusion matrix: n 10 to 100,000, 2 to 20 classes.

Tables are multinomial draws over the cells of a known matrix, given to `heldout.evaluate(matrix=)`; the true value is
the measure of the matrix itself. Of each class measure the commonest and the rarest class are tallied. Costs are 1 for
a false alarm and 20 for a miss, or the distance of the classes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from tests.promises.cell import Cell, Tally, Truth, list_estimates_at, name_quantity
from tests.promises.score_worlds import Draw, share_classes

import heldout
from heldout.intervals.estimate import Estimate
from heldout.measures.catalogue import COUNTED
from heldout.results.evaluation import Evaluation

# So many cases are the world.
WHOLE = 10**12
# Measures with weights of their own are asked for by name, the others are reported.
ASKED = tuple(m.name for m in COUNTED.values() if m.parameters and m.name != "f_score")

Errors = Literal["even", "neighbour", "first"]


@dataclass(frozen=True, kw_only=True)
class Counts(Cell):
    """Cases of k classes with a recall for each; errors go to all others alike, to the next class, or to the first."""

    family: ClassVar[str] = "counts"

    text: str
    n: int
    shares: tuple[float, ...]
    recalls: tuple[float, ...]
    errors: Errors = "even"

    def __str__(self) -> str:
        return f"{self.text}, n = {self.n}"

    @property
    def k(self) -> int:
        """The number of classes."""
        return len(self.shares)

    @property
    def names(self) -> dict[int, str]:
        """The two classes that are tallied."""
        if self.k == 2:
            return {0: "negative", 1: "positive"}
        order = np.argsort(self.shares, kind="stable")
        return {int(order[-1]): "commonest", int(order[0]): "rarest"}

    def table(self) -> NDArray[np.float64]:
        """The probability of every cell, true classes in rows."""
        k, shares, recalls = self.k, np.array(self.shares), np.array(self.recalls)
        wrong = {
            "even": np.ones((k, k)) - np.eye(k),
            "neighbour": np.roll(np.eye(k), 1, axis=1),
            "first": np.eye(k)[[1, *[0] * (k - 1)]],
        }[self.errors]
        table = np.diag(shares * recalls) + (shares * (1 - recalls) / wrong.sum(axis=1))[:, None] * wrong
        return np.asarray(table / table.sum())

    def costs(self) -> NDArray[np.float64]:
        """What each cell costs."""
        if self.k == 2:
            return np.array([[0.0, 1.0], [20.0, 0.0]])
        return np.abs(np.subtract.outer(np.arange(self.k), np.arange(self.k))).astype(np.float64)

    def evaluate(self, table: NDArray[Any]) -> Evaluation:
        """The default path."""
        return heldout.evaluate(
            matrix=table,
            labels=list(range(self.k)),
            positive=1 if self.k == 2 else None,
            costs=self.costs(),
            cost_rows="truth",
        )

    def find_truth(self) -> Truth:
        whole = self.evaluate(np.rint(self.table() * WHOLE).astype(np.int64))
        names = self.names
        estimates = [e for e in whole.estimates if e.class_ is None or e.class_ in names]
        truth = {name_quantity(e, names): e.value for e in estimates}
        truth |= {f"{name}[{role}]": whole[f"{name}[{code}]"].value for name in ASKED for code, role in names.items()}
        truth["total_cost"] = truth["expected_cost"] * self.n
        return truth

    def draw(self, rng: np.random.Generator, truth: Truth, tally: Tally) -> None:
        table = rng.multinomial(self.n, self.table().ravel())
        tally.add_estimates(_estimates(self, tuple(table.tolist())), truth, self.names)
        if tally.reviewing:
            tally.review(self.evaluate(table.reshape(self.k, self.k)))


# Small tables are drawn again and again.
@lru_cache(maxsize=2000)
def _estimates(cell: Counts, counts: tuple[int, ...]) -> list[Estimate]:
    """The estimates at all levels."""
    whole = cell.evaluate(np.array(counts).reshape(cell.k, cell.k))
    asked = (whole[f"{name}[{code}]"] for name in ASKED for code in cell.names)
    wanted = tuple(e for e in (*whole.estimates, *asked) if e.class_ is None or e.class_ in cell.names)
    return [e for level in cell.levels for e in list_estimates_at(replace(whole, estimates=wanted), level)]


def _binary(text: str, share: float, recall: float, false_alarm: float, sizes: tuple[int, ...]) -> list[Counts]:
    shares = (1 - share, share)
    return [Counts(text=text, n=n, shares=shares, recalls=(1 - false_alarm, recall)) for n in sizes]


def _several(
    text: str, k: int, how: Draw, recalls: tuple[float, ...] | float, sizes: tuple[int, ...], errors: Errors = "even"
) -> list[Counts]:
    each = (recalls,) * k if isinstance(recalls, float) else recalls
    shares = share_classes(k, how)
    name = f"{k} classes {how}, {text}"
    draws = 2000 if k <= 5 else 1000
    return [Counts(text=name, n=n, shares=shares, recalls=each, errors=errors, draws=draws) for n in sizes]


CELLS: tuple[Counts, ...] = (
    *_binary("2 classes, middling", 0.45, 0.82, 0.24, (10, 30, 100, 1000, 100_000)),
    *_binary("2 classes, near-perfect", 0.4, 0.985, 0.012, (10, 40, 150, 1000)),
    *_binary("2 classes, near chance", 0.35, 0.42, 0.36, (15, 60, 400)),
    *_binary("2 classes, .1 positive", 0.1, 0.7, 0.06, (40, 200, 2000)),
    *_binary("2 classes, .01 positive", 0.01, 0.65, 0.004, (200, 1500, 100_000)),
    *_several("middling", 3, "even", (0.84, 0.7, 0.78), (15, 60, 500)),
    *_several("near-perfect", 3, "rare", (0.98, 0.99, 0.9), (80, 600)),
    *_several("middling", 5, "zipf", (0.85, 0.8, 0.7, 0.75, 0.6), (50, 300), "neighbour"),
    *_several("near chance", 7, "even", 0.25, (140,)),
    *_several("errors in one class", 10, "even", (*(0.99,) * 9, 0.4), (100, 1000), "first"),
    *_several("middling", 10, "zipf", 0.8, (250,)),
    *_several("near-perfect", 20, "even", 0.98, (400,)),
    *_several("middling", 20, "zipf", 0.75, (200, 2000, 100_000)),
)
