"""The report of a learning curve: whether more data would help, the errors at each size, and the law behind them."""

from __future__ import annotations

import math

import numpy as np

from heldout.arrays import Floats
from heldout.errors import ValuesError
from heldout.report.review import findings_section
from heldout.resampling.learning_curve import LearningCurve
from heldout.resampling.power_law import Figure
from heldout.result import Form
from heldout.show.blocks import (
    Block,
    Column,
    Facts,
    Note,
    Number,
    Prose,
    Range,
    Section,
    Table,
    Title,
    provenance_section,
)
from heldout.show.chart import Axis, Chart, Dots, Ribbon, Stroke, Tips
from heldout.show.numbers import limits, number, percent


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
    charts = [] if np.isnan(curve.mean("test")).all() else [draw_learning_curve(curve)]
    return [
        *head,
        findings_section(curve.review),
        Section("Errors as the training set grows", (*charts, *tables), "curve"),
        Section("The law, and what the columns mean", tuple(rest), "law"),
        *([Section("Notes", tuple(notes), "notes")] if notes else []),
        provenance_section(facts),
    ]


# The law is drawn to this many times the rows there are: farther, it would be a guess.
AHEAD = 2


def draw_learning_curve(curve: LearningCurve) -> Chart:
    """Training and test error over the size of the training set, on a logarithmic axis where the sizes multiply."""
    sizes, training, test = np.array(curve.sizes, dtype=np.float64), curve.mean("training"), curve.mean("test")
    if np.isnan(test).all():
        raise ValuesError("There is no learning curve to draw: no model was trained.", hint="see its notes.")
    steps = np.diff(curve.sizes)
    logarithmic = len(steps) > 1 and steps[-1] > 1.5 * steps[0]

    def stretch(along: Floats) -> tuple[float, ...]:
        return tuple((np.log10(along) if logarithmic else along).tolist())

    places = stretch(sizes)
    strokes = [
        Stroke(places, tuple(test.tolist()), "test error", "accent"),
        Stroke(places, tuple(training.tolist()), "training error", "second"),
    ]
    ribbons = [Ribbon(places, tuple(curve.low.tolist()), tuple(curve.high.tolist())), _spread(curve, places)]
    last = float(sizes[-1])
    if curve.law.shape in {"falling", "flat"}:
        last = float(max(AHEAD * curve.n_rows, curve.sizes[-1] + 1))
        ahead = np.geomspace(sizes[-1], last, 40)
        law = curve.law.predict(ahead)
        strokes.append(
            Stroke(stretch(ahead), tuple(law.value.tolist()), "law, beyond what was seen", "quiet", dashed=True)
        )
        ribbons.append(Ribbon(stretch(ahead), tuple(law.low.tolist()), tuple(law.high.tolist()), "quiet"))
    heights = [*test.tolist(), *training.tolist(), *(high for ribbon in ribbons for high in ribbon.high)]
    left, right = stretch(np.array([sizes[0], last]))
    marks = list(zip(places, curve.sizes, strict=True))[:: max(1, len(places) // 6)]
    dots = Dots(places, tuple(test.tolist()), tuple(curve.low.tolist()), tuple(curve.high.tolist()))
    columns = {"rows": sizes, "training error": training, "test error": test, "low": curve.low, "high": curve.high}
    values = [tuple(column.tolist()) for column in columns.values()]
    return Chart(
        f"Learning curve of {curve.name}", _description(curve),
        Axis("Rows in the training set", left, right, tuple((at, f"{size:,}") for at, size in marks)),
        Axis("Error rate", 0.0, min(1.0, 1.08 * float(np.nanmax(heights))) or 1.0),
        tuple(strokes), tuple(ribbons), (dots,), _detail(curve), "wide", None, tuple(columns),
        tuple(zip(*values, strict=True)), tips=(Tips(places, values[2], tuple(zip(columns, values, strict=True))),),
    )  # fmt: skip


def _spread(curve: LearningCurve, places: tuple[float, ...]) -> Ribbon:
    """How far the training error spreads over the draws."""
    rows = [row for row in curve.rows() if row["part"] == "training"]
    low, high = (tuple(_known(row[name]) for row in rows) for name in ("low", "high"))
    return Ribbon(places, low, high, "second")


def _known(value: object) -> float:
    return value if isinstance(value, float) else math.nan


def _detail(curve: LearningCurve) -> str:
    words = [
        f"{curve.verdict.partition(':')[0]}.",
        f"Bands: {100 * curve.level:g} % of the mean test error ({curve.method}), spread of training over draws.",
    ]
    if curve.law.shape in {"falling", "flat"}:
        words.append("Dashed: the fitted law, beyond what was seen.")
    return " ".join(words)


def _description(curve: LearningCurve) -> str:
    first, last = (percent(float(curve.mean("test")[at]), 1) for at in (0, -1))
    return (
        f"Learning curve of {curve.name}: error rate against the rows in the training set. The test error goes from "
        f"{first} at {curve.sizes[0]:,} rows to {last} at {curve.sizes[-1]:,}. {curve.verdict}"
    )
