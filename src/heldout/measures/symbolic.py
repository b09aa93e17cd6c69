"""Formulas read off the measures: the declared function, called on symbols, writes itself down as an expression."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heldout.errors import OptionError
from heldout.measures.cells import CORNERS, class_cells
from heldout.measures.quantity import Bound
from heldout.show.explorer import Expression

# Counts of the cases as they are; `tp`, `fn`, `fp`, `tn` and `n` are those at the prevalence that a reader sets.
RAW_TP, RAW_FP = "raw_tp", "raw_fp"
RAW_POSITIVES, RAW_NEGATIVES = "raw_positives", "raw_negatives"
N = "n"

# What a reader sets, and the prevalence of the cases as they are.
PREVALENCE, SEEN_PREVALENCE = "prevalence", "seen_prevalence"
COST_MISS, COST_ALARM = "cost_miss", "cost_alarm"


class Symbol:
    """A name that takes part in arithmetic and remembers it.

    >>> tp, fn = Symbol("tp"), Symbol("fn")
    >>> (tp / (tp + fn)).expression
    ('/', 'tp', ('+', 'tp', 'fn'))
    """

    __slots__ = ("expression",)

    def __init__(self, expression: Expression) -> None:
        self.expression = expression

    def _with(self, operator: str, other: Any, *, turned: bool = False) -> Symbol:
        there = other.expression if isinstance(other, Symbol) else float(other)
        pair = (there, self.expression) if turned else (self.expression, there)
        return Symbol((operator, *pair))

    def __add__(self, other: Any) -> Symbol:
        return self._with("+", other)

    def __radd__(self, other: Any) -> Symbol:
        return self._with("+", other, turned=True)

    def __sub__(self, other: Any) -> Symbol:
        return self._with("-", other)

    def __rsub__(self, other: Any) -> Symbol:
        return self._with("-", other, turned=True)

    def __mul__(self, other: Any) -> Symbol:
        return self._with("*", other)

    def __rmul__(self, other: Any) -> Symbol:
        return self._with("*", other, turned=True)

    def __truediv__(self, other: Any) -> Symbol:
        return self._with("/", other)

    def __rtruediv__(self, other: Any) -> Symbol:
        return self._with("/", other, turned=True)

    def __neg__(self) -> Symbol:
        return Symbol(("neg", self.expression))

    def __abs__(self) -> Symbol:
        return Symbol(("abs", self.expression))

    def __pow__(self, power: float) -> Symbol:
        if power == 0.5:
            return Symbol(("sqrt", self.expression))
        return Symbol(("pow", self.expression, float(power)))


def traced(bound: Bound, cells: Mapping[str, Any]) -> Expression:
    """The formula with these symbols for its counts; a formula that is no plain arithmetic is refused.

    >>> from heldout.measures.catalogue import find
    >>> traced(find("precision"), {"tp": Symbol("tp"), "fp": Symbol("fp")})
    ('/', 'tp', ('+', 'tp', 'fp'))
    """
    try:
        top, bottom = bound.measure.function(*(cells[name] for name in bound.measure.cells), **bound.parameters)
        parts = tuple(part.expression if isinstance(part, Symbol) else float(part) for part in (top, bottom))
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise OptionError(
            f"The formula of {bound.name} cannot be followed: {error}.",
            hint="it is not plain arithmetic of TP, FP, FN and TN; ask an evaluation for its value.",
        ) from None
    return parts[0] if parts[1] == 1.0 else ("/", *parts)


def trace_two_classes(bound: Bound) -> Expression:
    """The formula of a measure of the positive class, or of a table of two classes, in tp, fn, fp and tn.

    A measure that is a mean over the classes on a whole table is that mean.

    >>> from heldout.measures.catalogue import find
    >>> trace_two_classes(find("accuracy"))
    ('/', ('+', 'tp', 'tn'), ('+', ('+', 'tp', 'fn'), ('+', 'fp', 'tn')))
    """
    tp, fn, fp, tn = (Symbol(name) for name in CORNERS)
    overall = bound.measure.overall
    if overall:
        from heldout.measures.catalogue import find

        inner = find(overall)
        both = (traced(inner, class_cells(tn, fp, fn, tp)), traced(inner, class_cells(tp, fn, fp, tn)))
        return ("/", ("+", *both), 2.0)
    cells = class_cells(tp, fn, fp, tn)
    cells["commonest"] = Symbol(("max", cells["positives"].expression, cells["negatives"].expression))
    return traced(bound, cells)


def cost_per_case(labels_positive: int, costs: Any) -> Expression:
    """The mean cost of a case of two classes, the costs of a miss and of a false alarm named; rows are the truth.

    >>> cost_per_case(1, [[0, 1], [5, 0]])[1]
    ('+', ('*', 'fp', 'cost_alarm'), ('*', 'fn', 'cost_miss'))
    """
    positive, negative = labels_positive, 1 - labels_positive
    names = {
        (negative, negative): ("tn", float(costs[negative][negative])),
        (negative, positive): ("fp", COST_ALARM),
        (positive, negative): ("fn", COST_MISS),
        (positive, positive): ("tp", float(costs[positive][positive])),
    }
    # Cell by cell in the order of the matrix, as the library adds them up.
    terms = [("*", *names[i, j]) for i in (0, 1) for j in (0, 1) if names[i, j][1] != 0.0]
    total: Expression = terms[0]
    for term in terms[1:]:
        total = ("+", total, term)
    return ("/", total, ("+", ("+", "tp", "fn"), ("+", "fp", "tn")))
