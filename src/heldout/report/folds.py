"""Tables of estimates over folds: the value by its rule, the other one, the spread and the training cases."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from heldout.estimates.estimate import Estimate
from heldout.estimates.fold_estimate import FoldEstimate
from heldout.estimates.fold_methods import FOLD_METHODS
from heldout.show.blocks import Block, Cell, Column, Note, Number, Range, Table


def fold_table(estimates: Iterable[FoldEstimate], names: Iterable[str], level: float, caption: str = "") -> Table:
    """One line per estimate: value, interval, rule, the value by the other rule, spread over folds, training cases."""
    columns = [
        Column("measure"),
        Column("value", "right"),
        Column(f"{100 * level:g} % interval"),
        Column("folds"),
        Column("other rule", "right"),
        Column("gap", "right"),
        Column("sd of folds", "right"),
        Column("training", "right"),
    ]
    rows: list[tuple[Cell, ...]] = []
    for name, e in zip(names, estimates, strict=True):
        digits = e.digits
        rows.append(
            (
                name,
                Number(e.value, e.style, digits),
                Range(e.low, e.high, e.style, digits),
                e.rule,
                Number(e.other, e.style, digits),
                Number(e.gap, e.style, digits),
                Number(e.spread, e.style, digits),
                Number(e.training, e.style, digits),
            )
        )
    kept = [at for at in range(len(columns)) if at < 4 or not all(_empty(row[at]) for row in rows)]
    return Table(tuple(columns[at] for at in kept), tuple(tuple(row[at] for at in kept) for row in rows), caption)


def _empty(cell: Cell) -> bool:
    return isinstance(cell, Number) and math.isnan(cell.value)


def folded(estimates: Sequence[Estimate]) -> list[FoldEstimate] | None:
    """The estimates, if all of them were made over more than one fold."""
    held = [e for e in estimates if isinstance(e, FoldEstimate) and e.splits > 1]
    return held if held and len(held) == len(estimates) else None


def rule_notes(estimates: Iterable[FoldEstimate], *, full: bool = False) -> list[Block]:
    """What the columns mean: the spread is no standard error, and, in full, why each rule is used."""
    held = list(estimates)
    if not held:
        return []
    notes: list[Block] = []
    if any(not math.isnan(e.spread) for e in held):
        notes.append(
            Note("The standard deviation over folds says how much they differ; it is not the value's standard error.")
        )
    if full:
        reasons = dict.fromkeys((e.rule, e.reason, e.reference) for e in held)
        notes += [Note(f"{rule}: {reason} ({reference}).") for rule, reason, reference in reasons]
    return notes


def method_notes(estimates: Iterable[Estimate]) -> list[Block]:
    """What was measured of the methods over folds that were asked for by name, where no finding says it."""
    used = dict.fromkeys(e.method for e in estimates if e.method in FOLD_METHODS)
    found = [FOLD_METHODS[name].finding for name in used]
    return [Note(f"{text[:1].upper()}{text[1:]}.", "warning") for text in found if text]
