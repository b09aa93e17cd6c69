"""A quantity of two classifiers on one joint table of truth, A's and B's answers, or on thousands of random ones.

A joint table is a list of cells (truth, a, b) with a count each. Random tables are rows of counts for the same cells,
so nothing here depends on the number of cases, and no square or cubic array of the classes is ever made. It
stands apart from the procedures of `paired_counts`, because it knows of no test: it is arithmetic on tables.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from heldout.arrays import Codes, Floats
from heldout.errors import OptionError
from heldout.evidence import Confusion
from heldout.evidence.confusion import true_negatives
from heldout.evidence.joint_counts import PairCounts
from heldout.intervals.draws import CELL_PRIOR, TABLE_PRIOR, posterior_draws
from heldout.intervals.target import Axis, Subject
from heldout.measures.catalogue import find
from heldout.measures.cells import AGGREGATES, GAPS, WHOLE_TABLE, Margins, TableBatch, class_cells
from heldout.measures.quantity import Bound, Quantity, averaged_tables, micro_cells
from heldout.threads import cached_property

Draw = Callable[[int], Floats]

# Numbers in one block of random tables: 32 MB.
BLOCK = 1 << 22
# A matrix that adds cells up is dense up to this size: then the product is one call of BLAS.
DENSE = 1 << 20


@dataclass(frozen=True, eq=False)
class JointCells:
    """Cells of a joint table: codes of the truth and of the two answers, below k."""

    truth: Codes
    a: Codes
    b: Codes
    k: int

    def __len__(self) -> int:
        return len(self.truth)

    def take(self, places: Codes) -> JointCells:
        """The cells at these places."""
        return JointCells(self.truth[places], self.a[places], self.b[places], self.k)

    def joined(self, other: JointCells) -> JointCells:
        """These cells and then the others; a cell may be there twice."""
        both = ((self.truth, other.truth), (self.a, other.a), (self.b, other.b))
        truth, a, b = (np.concatenate(pair) for pair in both)
        return JointCells(truth, a, b, self.k)

    @cached_property
    def adder(self) -> Any:
        """A matrix from counts of cells to TP, FN and FP of every class, first of A and then of B."""
        rows, columns = [], []
        at = np.arange(len(self))
        for side, answer in enumerate((self.a, self.b)):
            right = answer == self.truth
            start = side * 3 * self.k
            for block, codes, chosen in ((0, self.truth, right), (1, self.truth, ~right), (2, answer, ~right)):
                rows.append(at[chosen])
                columns.append(start + block * self.k + codes[chosen])
        row, column = np.concatenate(rows), np.concatenate(columns)
        shape = (len(self), 6 * self.k)
        if shape[0] * shape[1] <= DENSE:
            matrix = np.zeros(shape)
            matrix[row, column] = 1.0
            return matrix
        from scipy import sparse

        return sparse.csr_matrix((np.ones(len(row)), (row, column)), shape=shape)


class SummedTables(TableBatch):
    """A batch of square tables of which only the sums were made."""

    def __init__(self, margins: Margins) -> None:
        self.margins = margins
        self.k = margins.k


@dataclass(frozen=True, eq=False)
class PairedQuantity:
    """A quantity of A and of B on a joint table, reduced to what the quantity sees of it.

    A measure of one class sees two classes, that one and the rest: eight cells. `strict` averages are undefined as soon
    as one class is. `factor` multiplies the result: a total cost is the mean cost times the number of cases.
    """

    name: str
    bound: Bound
    axis: Axis
    strict: bool
    factor: float
    cells: JointCells
    counts: Codes

    @property
    def n(self) -> int:
        """The number of cases."""
        return int(self.counts.sum())

    @cached_property
    def values(self) -> tuple[float, float]:
        """The quantity of A and of B on the cases at hand."""
        a, b = self._sides(self.counts[None, :].astype(np.float64), self.cells)
        return float(a[0]) * self.factor, float(b[0]) * self.factor

    def undefined(self, names: str = "AB") -> str:
        """Why the difference has no value, where it has none."""
        if not self.n:
            return "there are no cases"
        without = sorted(name for name, value in zip(names, self.values, strict=True) if np.isnan(value))
        return f"{' and '.join(without)}: {self.bound.undefined}" if without else ""

    def differences(self, draw: Draw, size: int, cells: JointCells) -> Floats:
        """A − B on `size` random tables; `draw` makes so many rows of counts of the cells as it is asked for."""
        parts = []
        for many in _blocks(size, len(cells) + 6 * cells.k):
            a, b = self._sides(draw(many), cells)
            parts.append(a - b)
        return np.concatenate(parts) * self.factor

    def _sides(self, drawn: Floats, cells: JointCells) -> tuple[Floats, Floats]:
        sums = np.asarray(drawn @ cells.adder)
        total = drawn.sum(axis=1)
        three = 3 * cells.k
        return (
            self._value(drawn, sums[:, :three], total, cells.truth, cells.a),
            self._value(drawn, sums[:, three:], total, cells.truth, cells.b),
        )

    def _value(self, drawn: Floats, sums: Floats, total: Floats, truth: Codes, answer: Codes) -> Floats:
        k = sums.shape[1] // 3
        tp, fn, fp = sums[:, :k], sums[:, k : 2 * k], sums[:, 2 * k :]
        if self.axis == "class":
            # Of the two classes, the one asked for is the second.
            return np.asarray(self.bound.value(class_cells(tp[:, 1], fn[:, 1], fp[:, 1], tp[:, 0])))
        tn = true_negatives(total, tp, fn, fp, lambda c: drawn[:, (truth != c) & (answer != c)].sum(axis=1))
        classes = class_cells(tp, fn, fp, tn)
        margins = Margins(tp + fn, tp + fp, total, classes, tp.sum(axis=1), fn.sum(axis=1), _no_table, k)
        if self.axis == "table":
            return self._table_value(drawn, margins, truth, answer)
        if self.strict:
            return np.asarray(np.mean(self.bound.value(classes), axis=1))
        return np.asarray(averaged_tables(self.bound, self.axis, SummedTables(margins)))

    def _table_value(self, drawn: Floats, margins: Margins, truth: Codes, answer: Codes) -> Floats:
        named: dict[str, Any] = {}
        for name in self.bound.measure.cells:
            if name == "cost" and self.bound.costs is not None:
                named[name] = drawn @ self.bound.costs[truth, answer]
            elif name in GAPS:
                named[name] = drawn @ (np.abs(truth - answer).astype(np.float64) ** GAPS[name])
            elif name == WHOLE_TABLE:
                tables = np.zeros((len(drawn), margins.k, margins.k))
                for at, cell in enumerate(zip(truth.tolist(), answer.tolist(), strict=True)):
                    tables[:, *cell] += drawn[:, at]
                named[name] = tables
            else:
                named[name] = AGGREGATES[name].value(margins)
        return np.asarray(self.bound.value(named))

    def subject(self, side: Literal["a", "b"]) -> Subject:
        """The quantity of one side as the interval methods of one classifier see it."""
        labels = tuple(range(self.cells.k))
        pairs = PairCounts(labels, self.cells.truth, self.cells.a, self.cells.b, self.counts)
        return Subject(self.bound, pairs.side(side), self.axis, strict=self.strict)

    def influence(self) -> Floats:
        """How much one case more in each cell moves the difference."""
        moves = []
        for side, answer in (("a", self.cells.a), ("b", self.cells.b)):
            subject = self.subject("a" if side == "a" else "b")
            if self.axis == "class":
                # TP, FN, FP and TN of the second class.
                corner = np.where(self.cells.truth == 1, 1 - answer, 3 - answer)
                moves.append(subject.gradient[1][corner])
            else:
                moves.append(subject.gradient[_places(subject.confusion, self.cells.truth, answer)])
        return np.asarray(moves[0] - moves[1]) * self.factor


def make_paired_quantity(pairs: PairCounts, quantity: Quantity) -> PairedQuantity:
    """Reduce the pairs to what a quantity sees of them.

    >>> seen = PairCounts.of(np.array([0, 1, 1]), np.array([0, 1, 1]), np.array([0, 0, 1]), ("no", "yes"))
    >>> make_paired_quantity(seen, Quantity(find("recall"), class_="yes")).values
    (1.0, 0.5)
    """
    measure = quantity.bound.measure
    if measure.scope not in ("class", "table"):
        raise OptionError(
            f"{measure.name} is a measure of scores, and only predictions were counted.",
            hint="compare the scores of the two, or ask for a measure of predictions such as accuracy.",
        )
    asked = quantity.resolve(None)
    bound, factor, strict = asked.bound, 1.0, False
    axis: Axis = "class" if asked.class_ is not None else (asked.average or "table")
    if measure.total:
        bound, factor = find(measure.total, costs=bound.costs), quantity.times(pairs.n)
    elif axis == "table" and measure.overall:
        bound, axis, strict = find(measure.overall), "macro", True
    cells = JointCells(pairs.truth, pairs.a, pairs.b, pairs.n_classes)
    seen = PairedQuantity(quantity.bound.name, bound, axis, strict, factor, cells, pairs.counts)
    if axis == "class":
        code = pairs.side("a").index(asked.class_) if asked.class_ is not None else 0
        return _merged(seen, [(codes == code).astype(np.int64) for codes in (pairs.truth, pairs.a, pairs.b)], 2)
    if axis in ("macro", "weighted") and not strict:
        # A class that was never met, neither as truth nor as an answer, has no part in an average.
        present = np.unique(np.concatenate([pairs.truth, pairs.a, pairs.b]))
        if len(present) < pairs.n_classes:
            moved = [np.searchsorted(present, codes) for codes in (pairs.truth, pairs.a, pairs.b)]
            return replace(seen, cells=JointCells(moved[0], moved[1], moved[2], len(present)))
    return seen


def find_successes(seen: PairedQuantity) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_], bool] | None:
    """Which cells count as a success of A, of B, and which count at all, if both are shares of the same cases.

    The last says whether those are all the cases. Accuracy is such a share, recall is one of the cases of a class, and
    precision is none: each classifier chooses the cases it is judged on.
    """
    measure, cells = seen.bound.measure, seen.cells
    if seen.axis == "class":
        if measure.kind != "proportion":
            return None
        # One case in each of TP, FN, FP and TN: does it count, and does it count as a success?
        top, bottom = (np.broadcast_to(part, 4) for part in seen.bound.pair(class_cells(*np.eye(4))))
        if bottom[0] != bottom[1] or bottom[2] != bottom[3]:
            return None
        corners = [np.where(cells.truth == 1, 1 - answer, 3 - answer) for answer in (cells.a, cells.b)]
        return top[corners[0]] > 0, top[corners[1]] > 0, bottom[corners[0]] > 0, bool(bottom.all())
    share = _match_accuracy(seen)
    if share is None:
        return None
    right = [(answer == cells.truth) == share for answer in (cells.a, cells.b)]
    return right[0], right[1], np.ones(len(cells), dtype=np.bool_), True


def _match_accuracy(seen: PairedQuantity) -> bool | None:
    """True if the quantity is the accuracy under another name, False if the error rate, None if neither."""
    measure = seen.bound.measure
    if seen.axis == "table":
        return {"accuracy": True, "error_rate": False}.get(measure.name)
    if seen.axis == "micro":
        at = np.array([0.25, 0.5, 0.875])
        image = np.asarray(seen.bound.value(micro_cells(at, 1.0 - at, max(seen.cells.k, 2))))
        same = [np.allclose(image, wanted, rtol=0, atol=1e-12) for wanted in (at, 1 - at)]
        return True if same[0] else False if same[1] else None
    if seen.axis == "weighted" and measure.kind == "proportion" and measure.strata == "truth":
        top, _ = seen.bound.pair(class_cells(1.0, 0.0, 0.0, 0.0))
        return bool(top)
    return None


def _merged(seen: PairedQuantity, codes: list[Codes], k: int) -> PairedQuantity:
    flat = (codes[0] * k + codes[1]) * k + codes[2]
    total = np.zeros(k**3, dtype=np.int64)
    np.add.at(total, flat, seen.counts)
    at = np.flatnonzero(total)
    return replace(seen, cells=JointCells(at // (k * k), at // k % k, at % k, k), counts=total[at])


def _places(confusion: Confusion, truth: Codes, answer: Codes) -> Codes:
    k = confusion.n_classes
    return np.searchsorted(confusion.truth * k + confusion.predicted, truth * k + answer)


def _blocks(size: int, numbers: int) -> Iterator[int]:
    block = max(1, BLOCK // max(numbers, 1))
    for start in range(0, size, block):
        yield min(block, size - start)


def _no_table(weights: Floats) -> Any:
    raise TypeError(f"single cells were asked for, by weights of shape {weights.shape}")


# Up to this many cells of more than two classes are all given their share of the prior. Beyond that,
# this many cells, drawn at random, represent those without a case: with shares this small each posterior table has its
# few prior cases in a handful of cells anyway, so it hardly matters which cells there are.
PRIOR_CELLS = 1000
# A p-value is read off the tails on both sides of zero, so there are more draws than a single interval takes.
FINER = 2
# Up to this many numbers in all, counts are drawn exactly. In larger tables a cell with fewer cases than NORMAL_FROM is
# drawn from a table of quantiles, and one with more as normal: its part in the sums that measures are made of is then
# as good as normal, and it takes a fraction of the time. The limits move by less than their own Monte Carlo error.
EXACT_NUMBERS = 400_000
# Five standard deviations lie above zero; a draw below that, one in millions, is as good as zero.
NORMAL_FROM = 25
QUANTILES = 1 << 16


def posterior_differences(seen: PairedQuantity, level: float, seed: int) -> Floats:
    """A − B on draws from the Dirichlet posterior of the joint table.

    Two classes: half a case is added to each of the eight cells. More: one case in all, evenly over the k³ cells,
    so that the table of A alone has 1/k² in each of its cells, and so has B's.
    """
    rng = np.random.default_rng([seed, 21])
    cells, shapes = _with_prior(seen, rng)
    size = posterior_draws(-(-len(cells) // FINER), level)
    return seen.differences(lambda many: rng.standard_gamma(shapes, size=(many, len(shapes))), size, cells)


def _with_prior(seen: PairedQuantity, rng: np.random.Generator) -> tuple[JointCells, Floats]:
    k, cells = seen.cells.k, seen.cells
    if k**3 <= max(PRIOR_CELLS, 8):
        at = np.arange(k**3)
        shapes = np.full(k**3, CELL_PRIOR if k <= 2 else TABLE_PRIOR / k**3)
        shapes[(cells.truth * k + cells.a) * k + cells.b] += seen.counts
        return JointCells(at // (k * k), at // k % k, at % k, k), shapes
    shapes = np.concatenate([seen.counts.astype(np.float64), np.full(PRIOR_CELLS, TABLE_PRIOR / PRIOR_CELLS)])
    truth, a, b = rng.integers(0, k, size=(3, PRIOR_CELLS))
    return cells.joined(JointCells(truth, a, b, k)), shapes


def bootstrap_differences(seen: PairedQuantity, replicates: int, seed: int) -> Floats:
    """A − B on tables of cases drawn with replacement, each case with both of its predictions."""
    rng = np.random.default_rng([seed, 22])
    counts = seen.counts
    if replicates * len(counts) <= EXACT_NUMBERS:
        shares = counts / counts.sum()
        return seen.differences(
            lambda many: rng.multinomial(seen.n, shares, size=many).astype(np.float64), replicates, seen.cells
        )
    order = np.argsort(counts, kind="stable")
    few = int(np.searchsorted(counts[order], NORMAL_FROM))
    small, large = counts[order[:few]], counts[order[few:]].astype(np.float64)

    def draw(many: int) -> Floats:
        # Each cell by itself, so that the number of cases varies too: Chamandy et al. (2012), the Poisson bootstrap. No
        # measure changes when all counts are multiplied, and given their sum such counts are multinomial.
        drawn = np.empty((many, len(counts)))
        _look_up(small, poisson_quantiles(), rng, drawn[:, :few])
        noise = rng.standard_normal((many, len(large)))
        noise *= np.sqrt(large)
        np.maximum(np.add(noise, large, out=noise), 0.0, out=drawn[:, few:])
        return drawn

    return seen.differences(draw, replicates, seen.cells.take(order))


def permuted_differences(seen: PairedQuantity, replicates: int, seed: int) -> Floats:
    """A − B with the answers of the two swapped by a coin for every case: what no difference looks like."""
    rng = np.random.default_rng([seed, 23])
    order = np.argsort(np.where(seen.cells.a == seen.cells.b, -1, seen.counts), kind="stable")
    cells, counts = seen.cells.take(order), seen.counts[order].astype(np.float64)
    alike = int((cells.a == cells.b).sum())
    moved = counts[alike:]
    exact = replicates * len(moved) <= EXACT_NUMBERS
    few = int(np.searchsorted(moved, NORMAL_FROM))
    large = moved[few:]

    def draw(many: int) -> Floats:
        drawn = np.empty((many, len(counts) + len(moved)))
        drawn[:, :alike] = counts[:alike]
        swapped = drawn[:, len(counts) :]
        if exact:
            swapped[:] = rng.binomial(moved.astype(np.int64), 0.5, size=(many, len(moved)))
        else:
            _look_up(moved[:few].astype(np.int64), coin_quantiles(), rng, swapped[:, :few])
            noise = rng.standard_normal((many, len(large)))
            swapped[:, few:] = np.clip(np.rint(large / 2 + np.sqrt(large) / 2 * noise), 0, large)
        np.subtract(moved, swapped, out=drawn[:, alike : len(counts)])
        return drawn

    turned = JointCells(cells.truth[alike:], cells.b[alike:], cells.a[alike:], cells.k)
    return seen.differences(draw, replicates, cells.joined(turned))


def _look_up(counts: Codes, tables: NDArray[np.uint8], rng: np.random.Generator, out: Floats) -> None:
    """Fill columns with draws from the distribution of each count; the counts are in order."""
    places = rng.integers(0, tables.shape[1], size=out.shape, dtype=np.uint16)
    edges = np.searchsorted(counts, np.arange(NORMAL_FROM + 1))
    for count, (start, stop) in enumerate(pairwise(edges.tolist())):
        if stop > start:
            out[:, start:stop] = tables[count][places[:, start:stop]]


@lru_cache(maxsize=1)
def poisson_quantiles() -> NDArray[np.uint8]:
    """Quantiles of the Poisson distributions with small whole means: a draw is one look into a table.

    A cell that holds c of n cases is drawn Binomial(n, c/n) times, which is Poisson(c) but for a factor 1 − c/n.
    """
    from scipy.special import pdtr

    return np.stack([_quantiles(pdtr(np.arange(100), mean)) for mean in range(NORMAL_FROM)])


@lru_cache(maxsize=1)
def coin_quantiles() -> NDArray[np.uint8]:
    """Quantiles of the number of heads in so many tosses."""
    ways = [np.cumsum([math.comb(tosses, heads) for heads in range(tosses + 1)]) for tosses in range(NORMAL_FROM)]
    return np.stack([_quantiles(sums / sums[-1]) for sums in ways])


def _quantiles(distribution: NDArray[Any]) -> NDArray[np.uint8]:
    # At the middle of each step, so that both tails are cut off alike.
    steps = (np.arange(QUANTILES) + 0.5) / QUANTILES
    return np.searchsorted(distribution, steps).astype(np.uint8)
