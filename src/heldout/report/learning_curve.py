"""The report of a learning curve: whether more data would help, the errors at each size, and the law behind them."""

from __future__ import annotations

import numpy as np

from heldout.report.review import findings_section
from heldout.resampling.learning_curve import LearningCurve
from heldout.resampling.learning_report import learning_chart
from heldout.resampling.power_law import Figure
from heldout.result import Form
from heldout.show.blocks import Block, Column, Facts, Note, Number, Prose, Range, Section, Table, Title
from heldout.show.numbers import limits, number
from heldout.show.provenance import provenance_section


def render_learning_curve(curve: LearningCurve, form: Form) -> list[Block]:
    """The report on a screen or as a page."""
    return learning_page(curve) if form == "page" else learning_blocks(curve)


def learning_blocks(curve: LearningCurve) -> list[Block]:
    """The verdict, the errors at each size, and the law."""
    times = "1 draw" if curve.draws == 1 else f"{curve.draws} draws"
    detail = f"{curve.n_rows:,} rows; {times} of {curve.n_tested:,} test rows; seed {curve.seed}"
    blocks: list[Block] = [Title(f"Learning curve of {curve.name}", detail), Prose(curve.verdict, "Verdict")]
    blocks.append(_table(curve))
    if curve.law.shape == "falling":
        named = {"floor": curve.law.floor, "scale": curve.law.scale, "exponent": curve.law.exponent}
        blocks.append(Prose("Error ≈ floor + scale · size^(−exponent), fitted to the test error.", "Law"))
        blocks.append(Facts(tuple((key, _said(figure, key)) for key, figure in named.items())))
    blocks.append(
        Prose(
            f"Test error: mean over draws, limits {curve.level:g} {curve.method} for the rows tested. Spread: "
            "standard deviation over draws, which share rows, so it is no standard error. Gap: test less training "
            "error. Above: how far the error stands above that of the largest training set."
        )
    )
    return [*blocks, *(Note(note) for note in curve.notes), *curve.review.blocks()]


def _table(curve: LearningCurve) -> Table:
    names = ("size", "training error", "test error", "", "spread", "gap", "above")
    training, test, spread = curve.mean("training"), curve.mean("test"), curve.spread("test")
    rows = tuple(
        (
            size,
            Number(training[at].item()),
            Number(test[at].item()),
            Range(curve.low[at].item(), curve.high[at].item()),
            Number(spread[at].item()),
            Number((test[at] - training[at]).item()),
            Number((test[at] - test[-1]).item()),
        )
        for at, size in enumerate(curve.sizes)
    )
    return Table(tuple(Column(name, "right" if name else "left") for name in names), rows)


def _said(figure: Figure, key: str) -> str:
    style = "share" if key == "floor" else "plain"
    value = number(figure.value, style)  # type: ignore[arg-type]
    between = limits(figure.low, figure.high, style)  # type: ignore[arg-type]
    return value if np.isnan(figure.low) else f"{value} [{between}]"


def learning_page(curve: LearningCurve) -> list[Block]:
    """The verdict, the chart, the table, the law, findings and how it was made."""
    every = learning_blocks(curve)
    head = every[:2]
    tables = [block for block in every if isinstance(block, Table)]
    rest = [b for b in every[2:] if isinstance(b, Prose | Facts) and getattr(b, "label", "") != "Findings"]
    notes = [Note(note) for note in curve.notes]
    facts = (
        ("learner", curve.name),
        ("rows", f"{curve.n_rows:,}"),
        ("test rows in each draw", f"{curve.n_tested:,}"),
        ("draws", str(curve.draws)),
        ("level", f"{curve.level:g}"),
        ("seed", str(curve.seed)),
        ("fingerprint of the splits", curve.fingerprint),
    )
    return [
        *head,
        findings_section(curve.review),
        Section("Errors as the training set grows", (learning_chart(curve), *tables), "curve"),
        Section("The law, and what the columns mean", tuple(rest), "law"),
        *([Section("Notes", tuple(notes), "notes")] if notes else []),
        provenance_section(facts),
    ]
