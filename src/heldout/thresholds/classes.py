"""Choosing a class from probabilities under a cost matrix, and what that saves against the likeliest class.

No threshold is involved: it is the answer for several classes, beside `selection`, the answer for two.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from heldout.arguments import check_level
from heldout.arrays import Codes, Floats
from heldout.costs import Costs, settle_costs
from heldout.errors import OptionError, ValuesError
from heldout.evidence import Confusion, Label
from heldout.intervals.count_estimator import Estimator
from heldout.intervals.estimate import Estimate
from heldout.intervals.score_limits import mean_cost_limits
from heldout.measures.catalogue import find
from heldout.measures.quantity import Quantity
from heldout.predictions.score_columns import sum_tolerance
from heldout.result import RenderedResult
from heldout.show.numbers import plain
from heldout.thresholds.decision import Decision

# Numbers in one block of rows.
BLOCK = 1 << 20
# Expected costs nearer than this share of the largest cost are ties: they differ by rounding only.
TIE = 1e-12


def choose_cheapest(probabilities: ArrayLike, costs: Any, labels: Sequence[Label] | None = None) -> Codes:
    """The class of least expected cost for every row of an (n, k) array: codes into `labels`.

    Class j is expected to cost the sum over the classes i of p(i) · cost(truth i, predicted j). Of equally cheap
    classes the first is taken. `labels` are the classes of the columns, by default those of the costs, or 0, 1, ….

    >>> choose_cheapest([[0.95, 0.05], [0.8, 0.2]], {(1, 0): 10, (0, 1): 1})
    array([0, 1])
    """
    table, names, matrix = _resolve_input(probabilities, costs, labels)
    del names
    chosen = [codes for codes, _, _ in _blocks(table, matrix)]
    return np.concatenate(chosen) if chosen else np.zeros(0, dtype=np.int64)


def _resolve_input(
    probabilities: ArrayLike, costs: Any, labels: Sequence[Label] | None
) -> tuple[Any, Sequence[Label], Floats]:
    table = np.asarray(probabilities)
    if table.ndim != 2 or table.dtype.kind not in "fiu" or table.shape[1] < 2:
        raise ValuesError(
            f"Probabilities must be a table of numbers with one column per class. Got {table.dtype} of shape "
            f"{' × '.join(map(str, table.shape))}.",
            hint="give one row per case and one column per class.",
        )
    k = table.shape[1]
    names = labels if labels is not None else costs.labels if isinstance(costs, Costs) else range(k)
    if len(names) != k:
        raise ValuesError(
            f"There are {k} columns of probabilities but {len(names)} classes.", hint="give one column per class."
        )
    return table, tuple(names), settle_costs(costs, tuple(names))


def _blocks(table: Any, matrix: Floats) -> Iterator[tuple[Codes, Floats, Floats]]:
    """Codes of least expected cost, of the likeliest class's expected cost and of the chosen one, block by block."""
    rows = max(1, BLOCK // table.shape[1])
    slack = TIE * float(np.abs(matrix).max())
    for start in range(0, len(table), rows):
        part = table[start : start + rows].astype(np.float64)
        totals = part.sum(axis=1)
        _check(part, totals, start)
        expected = (part / totals[:, None]) @ matrix
        # Not argmin: what is equal but for rounding must go to the first class.
        codes = np.argmax(expected <= expected.min(axis=1, keepdims=True) + slack, axis=1)
        likeliest = np.argmax(part, axis=1)
        at = np.arange(len(part))
        yield codes.astype(np.int64), expected[at, codes], expected[at, likeliest]


def _check(part: Floats, totals: Floats, start: int) -> None:
    # Comparisons with nan are false, so this finds nan too.
    wrong = ~((part >= 0) & (part <= 1)).all(axis=1)
    if wrong.any():
        row = int(np.argmax(wrong))
        bad = part[row][~((part[row] >= 0) & (part[row] <= 1))][0]
        raise ValuesError(
            f"Probabilities must lie between 0 and 1. Row {start + row + 1:,} holds {bad:g}.",
            hint="give probabilities, not decision values.",
        )
    tolerance = sum_tolerance(part.shape[1])
    far = np.abs(totals - 1) > tolerance
    if far.any():
        row = int(np.argmax(far))
        raise ValuesError(
            f"The probabilities of a case must add up to 1, give or take {tolerance:.4g}. Those of row "
            f"{start + row + 1:,} add up to {totals[row]:.6g}.",
            hint="give one column for every class.",
        )


@dataclass(frozen=True, eq=False)
class CostOfDecision(Decision, RenderedResult):
    """What the cases cost when the class of least expected cost is answered, and when the likeliest one is.

    `expected` are what the probabilities promise, `realised` what the truth made of it, each for the two ways of
    deciding; `saved` is the difference between the realised costs, case by case. `columns` says what was read of a
    file, and `notes` what is to be known of that and of the probabilities.
    """

    schema: ClassVar[str] = "heldout/cost-of-decision@1"
    _rendered_by: ClassVar[str] = "heldout.report.decision:render_cost_of_decision"

    expected: tuple[float, float]
    realised: tuple[Estimate, Estimate]
    saved: Estimate
    confusions: tuple[Confusion, Confusion] = field(repr=False)
    changed: float
    columns: str = ""
    notes: tuple[str, ...] = ()

    # Several classes have no threshold.
    threshold = math.nan

    @property
    def confusion(self) -> Confusion:
        """The counts when the class of least expected cost is predicted."""
        return self.confusions[0]

    @property
    def n(self) -> int:
        """The number of cases."""
        return self.confusions[0].n_cases

    def rows(self) -> list[dict[str, object]]:
        """The realised costs and what is saved, with the expected costs beside them."""
        roles = ("least expected cost", "likeliest class")
        rows: list[dict[str, object]] = [
            row | {"role": role, "expected": expected}
            for role, estimate, expected in zip(roles, self.realised, self.expected, strict=True)
            for row in estimate.rows()
        ]
        saved = self.saved.rows()[0]
        return [*rows, saved | {"role": "saved", "expected": self.expected[1] - self.expected[0]}]

    def facts(self) -> dict[str, object]:
        """How many cases there are, and how many of them get another class."""
        facts = {"n": self.n, "changed": self.changed, "labels": list(self.confusions[0].labels)}
        return {**facts, "notes": list(self.notes)}


def cost_of_decision(
    probabilities: ArrayLike,
    truth: ArrayLike,
    costs: Any,
    labels: Sequence[Label] | None = None,
    *,
    level: float = 0.95,
) -> CostOfDecision:
    """Expected and realised cost of deciding by expected cost, against answering the likeliest class.

    `truth` are the codes of the true classes: the places of their columns.

    >>> p = [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.6, 0.4]]
    >>> answer = cost_of_decision(p, [0, 0, 1, 1], {(1, 0): 10, (0, 1): 1})
    >>> [e.value for e in answer.realised], answer.changed
    ([0.5, 2.5], 0.75)
    """
    table, names, matrix = _resolve_input(probabilities, costs, labels)
    codes = _truth_codes(truth, len(table), len(names))
    level, k, n = check_level(level), len(names), len(table)
    cells = np.zeros((2, k * k), dtype=np.int64)
    gains: list[tuple[Floats, Codes]] = []
    promised = np.zeros(2)
    start = changed = 0
    for chosen, cheapest, usual in _blocks(table, matrix):
        part = slice(start, start + len(chosen))
        true, likeliest = codes[part], np.argmax(table[part], axis=1)
        for side, answer in enumerate((chosen, likeliest)):
            cells[side] += np.bincount(true * k + answer, minlength=k * k)
        gains.append(np.unique(matrix[true, likeliest] - matrix[true, chosen], return_counts=True))
        changed += int(np.count_nonzero(chosen != likeliest))
        promised += cheapest.sum(), usual.sum()
        start = part.stop
    confusions = tuple(Confusion.of(cells[side].reshape(k, k), names) for side in range(2))
    cost = Quantity(find("expected_cost", costs=matrix))
    realised = tuple(Estimator(confusion, level).ask(cost) for confusion in confusions)
    expected = float(promised[0] / n), float(promised[1] / n)
    return CostOfDecision(
        expected,
        (realised[0], realised[1]),
        _estimate_saved(gains, matrix, level),
        (confusions[0], confusions[1]),
        changed / n,
        notes=tuple(filter(None, [_compare_promise(expected[0], realised[0])])),
    )


def _compare_promise(expected: float, realised: Estimate) -> str:
    """A note where the truth made of the least expected cost something else than the probabilities promise."""
    if realised.low <= expected <= realised.high:
        return ""
    return (
        f"the probabilities promise {plain(expected)} a case, and the truth made it {plain(realised.value)}: they are "
        "not calibrated where the costs are decided"
    )


def _truth_codes(truth: ArrayLike, n: int, k: int) -> Codes:
    codes = np.asarray(truth)
    if codes.shape != (n,) or codes.dtype.kind not in "iub":
        raise ValuesError(
            f"The truth must be one code per case, {n:,} in all. Got {codes.dtype} of shape {codes.shape}.",
            hint="give the place of each true class among the columns.",
        )
    if not n:
        raise ValuesError("There are no cases.", hint="give at least one row of probabilities.")
    if int(codes.min()) < 0 or int(codes.max()) >= k:
        raise OptionError(
            f"The codes of the truth must run from 0 to {k - 1}. They run from {codes.min()} to {codes.max()}.",
            hint="give the place of each true class among the columns.",
        )
    return codes.astype(np.int64)


def _estimate_saved(gains: list[tuple[Floats, Codes]], matrix: Floats, level: float) -> Estimate:
    """Mean of what each case cost less, with the score interval over what a case could save or lose at most."""
    most = float((matrix.max(axis=1) - matrix.min(axis=1)).max())
    values = np.concatenate([[-most, most], *(gained for gained, _ in gains)])
    counts = np.concatenate([[0, 0], *(times for _, times in gains)])
    distinct, where = np.unique(values, return_inverse=True)
    total = np.bincount(where, weights=counts, minlength=len(distinct))
    n = int(total.sum())
    value = float(distinct @ total) / n
    low, high = mean_cost_limits(distinct, total, level)
    return Estimate("saved_cost", None, None, value, low, high, level, "score", n, style="plain")
