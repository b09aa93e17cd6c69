"""The page of a learning curve: both errors as the training set grows, and the fitted law beyond what was seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from heldout.arrays import Floats
from heldout.findings.shown import findings_section
from heldout.show.blocks import Block, Facts, Note, Prose, Section, Table
from heldout.show.drawing import Axis, Chart, Dots, Ribbon, Stroke
from heldout.show.numbers import percent
from heldout.show.provenance import provenance_section

if TYPE_CHECKING:
    from heldout.findings.review import Review
    from heldout.resampling.learning import LearningCurve

# The law is drawn to this many times the rows there are: farther, it would be a guess.
AHEAD = 2


def learning_page(curve: LearningCurve, review: Review | None = None) -> list[Block]:
    """The verdict, the chart, the table, the law, findings and how it was made."""
    every = curve.blocks()
    head = every[:2]
    tables = [block for block in every if isinstance(block, Table)]
    findings = [] if review is None else [findings_section(review)]
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
        *findings,
        Section("Errors as the training set grows", (learning_drawing(curve), *tables), "curve"),
        Section("The law, and what the columns mean", tuple(rest), "law"),
        *([Section("Notes", tuple(notes), "notes")] if notes else []),
        provenance_section(facts),
    ]


def learning_drawing(curve: LearningCurve) -> Chart:
    """Training and test error over the size of the training set, on a logarithmic axis where the sizes multiply."""
    steps = np.diff(curve.sizes)
    logarithmic = len(steps) > 1 and steps[-1] > 1.5 * steps[0]

    def place(sizes: Floats) -> tuple[float, ...]:
        return tuple((np.log10(sizes) if logarithmic else sizes).tolist())

    sizes = np.array(curve.sizes, dtype=np.float64)
    training, test = curve.mean("training"), curve.mean("test")
    strokes = [
        Stroke(place(sizes), tuple(test.tolist()), "test error", "accent"),
        Stroke(place(sizes), tuple(training.tolist()), "training error", "second"),
    ]
    last, top = float(sizes[-1]), float(np.nanmax([*curve.high.tolist(), *test.tolist(), *training.tolist()]))
    if curve.law.shape in {"falling", "flat"}:
        last = float(max(AHEAD * curve.n_rows, curve.sizes[-1] + 1))
        ahead = np.geomspace(sizes[-1], last, 40)
        law = curve.law.predict(ahead)
        strokes.append(
            Stroke(place(ahead), tuple(law.value.tolist()), "law, beyond what was seen", "quiet", dashed=True)
        )
    left, right = place(np.array([sizes[0], last]))
    ticks = tuple((at, f"{int(size):,}") for at, size in zip(place(sizes), sizes.tolist(), strict=True))
    ticks = ticks[:: max(1, len(ticks) // 6)]
    dots = Dots(place(sizes), tuple(test.tolist()), tuple(curve.low.tolist()), tuple(curve.high.tolist()))
    band = Ribbon(place(sizes), tuple(curve.low.tolist()), tuple(curve.high.tolist()))
    first, final = (percent(float(test[at]), 1) for at in (0, -1))
    described = (
        f"Learning curve of {curve.name}: error rate against the rows in the training set. The test error goes from "
        f"{first} at {curve.sizes[0]:,} rows to {final} at {curve.sizes[-1]:,}. {curve.verdict}"
    )
    columns = (sizes, training, test, curve.low, curve.high)
    return Chart(
        "Error rate", described, Axis("Rows in the training set", left, right, ticks),
        Axis("Error rate", 0.0, min(1.0, 1.08 * top) or 1.0), tuple(strokes), (band,), (dots,),
        f"Band: {100 * curve.level:g} % for the mean test error ({curve.method}).", "wide", None,
        ("rows", "training error", "test error", "low", "high"),
        tuple(zip(*(column.tolist() for column in columns), strict=True)),
    )  # fmt: skip
