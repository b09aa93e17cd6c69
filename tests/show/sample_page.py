"""A page by hand with everything that a page can have, its figures made from a few hundred drawn scores."""

from __future__ import annotations

import numpy as np

from heldout.show.blocks import (
    Block,
    Column,
    Facts,
    Heat,
    Note,
    Number,
    Prose,
    Range,
    Section,
    Span,
    Table,
    Title,
    Verbatim,
)
from heldout.show.chart import Axis, Chart, Dots, Ribbon, Stroke, Tone
from heldout.show.explorer import Explorer, Knob, Moving

TONES: tuple[Tone, ...] = ("accent", "second", "third", "fourth", "fifth", "sixth", "seventh")

MARGINS = ("*", ("*", ("+", "tp", "fp"), ("+", "tp", "fn")), ("*", ("+", "tn", "fp"), ("+", "tn", "fn")))


def explorer(size: int = 300, *, left_out: int = 0) -> Explorer:
    """Thresholds from low to high over drawn scores, with figures, limits and knobs."""
    rng = np.random.default_rng(7)
    truth = rng.random(size) < 0.35
    scores = np.round(1 / (1 + np.exp(-rng.normal(np.where(truth, 1.0, -0.8), 1.1))), 3)
    positions = np.unique(scores)
    tp = np.array([(truth & (scores >= t)).sum() for t in positions])
    fp = np.array([(~truth & (scores >= t)).sum() for t in positions])
    positives, negatives = int(truth.sum()), int((~truth).sum())
    n = np.maximum(tp + fp, 1)

    def around(k: np.ndarray, out_of: np.ndarray | int) -> tuple[tuple[float, ...], tuple[float, ...]]:
        share, half = k / out_of, 1.96 * np.sqrt((k / out_of * (1 - k / out_of) + 0.02) / out_of)
        return tuple(np.maximum(share - half, 0).tolist()), tuple(np.minimum(share + half, 1).tolist())

    half = len(positions) // 2
    return Explorer(
        title="Threshold",
        positions=tuple(positions.tolist()),
        start=half,
        columns=(("tp0", tuple(tp.tolist())), ("fp0", tuple(fp.tolist()))),
        constants=(("positives", positives), ("negatives", negatives), ("prevalence0", positives / size)),
        derived=(
            ("shift", ("/", "prevalence", "prevalence0")),
            ("tp", ("*", "tp0", "shift")),
            ("fn", ("*", ("-", "positives", "tp0"), "shift")),
            ("fp", "fp0"),
            ("tn", ("-", "negatives", "fp0")),
        ),
        knobs=(
            Knob("prevalence", "Prevalence", positives / size, 0.0, 1.0, "share of positive cases where it is used"),
            Knob("miss", "Cost of a miss", 5.0),
            Knob("alarm", "Cost of a false alarm", 1.0),
        ),
        figures=(
            Moving(
                "recall", "recall", ("/", "tp", ("+", "tp", "fn")), *around(tp, positives), "wilson", how="how-recall"
            ),
            Moving(
                "precision",
                "precision",
                ("/", "tp", ("+", "tp", "fp")),
                *around(tp, n),
                undefined="nothing was predicted positive",
            ),
            Moving("specificity", "specificity", ("/", "tn", ("+", "tn", "fp")), *around(negatives - fp, negatives)),
            Moving(
                "matthews",
                "Matthews",
                (
                    "/",
                    ("-", ("*", "tp", "tn"), ("*", "fp", "fn")),
                    (
                        "sqrt",
                        ("*", ("*", ("+", "tp", "fp"), ("+", "tp", "fn")), ("*", ("+", "tn", "fp"), ("+", "tn", "fn"))),
                    ),
                ),
            ),
            Moving("cost", "cost", ("+", ("*", "miss", "fn"), ("*", "alarm", "fp")), style="plain"),
        ),
        rows=("truth tested_positive", "truth tested_negative"),
        headers=("predicted positive", "predicted negative"),
        matrix=(("tp", "fn"), ("fp", "tn")),
        alters=("prevalence",),
        changed="With another prevalence than that of the data, the intervals no longer hold.",
        marks=(("as given", half), ("cheapest", half // 2), ("highest F1", half - 20)),
        left_out=left_out,
        detail="Move the threshold: every number, the matrix and the mark on each curve move together.",
    )


def charts(moved: Explorer) -> tuple[Chart, ...]:
    """Curves of the same scores, one with dots and one that is wide."""
    columns = dict(moved.columns)
    constants = dict(moved.constants)
    x = tuple(k / constants["negatives"] for k in columns["fp0"])
    y = tuple(k / constants["positives"] for k in columns["tp0"])
    low, high = tuple(max(v - 0.06, 0) for v in y), tuple(min(v + 0.05, 1) for v in y)
    roc = Chart(
        "ROC curve",
        "Rises steeply to a true positive rate of .8 at a false positive rate of .2. Area .87.",
        Axis("false positive rate"),
        Axis("true positive rate"),
        (Stroke(x, y, "model"), Stroke((0, 1), (0, 1), "chance", "quiet", dashed=True)),
        (Ribbon(x, low, high),),
        detail="area .867 [.825 – .909]",
        moves=(("/", "fp0", "negatives"), ("/", "tp0", "positives")),
        headers=("false positive rate", "true positive rate"),
        points=tuple(zip(x[::30], y[::30], strict=True)),
    )
    bins = tuple((np.arange(8) + 0.5) / 8)
    reliability = Chart(
        "Reliability",
        "Predicted shares against those observed in eight bins; the last two lie below the diagonal.",
        Axis("predicted share"),
        Axis("observed share"),
        (Stroke((0, 1), (0, 1), "perfectly calibrated", "quiet", dashed=True),),
        dots=(
            Dots(
                bins,
                tuple(b**1.2 for b in bins),
                tuple(max(b**1.2 - 0.09, 0) for b in bins),
                tuple(min(b**1.2 + 0.09, 1) for b in bins),
                size=(90, 60, 40, 30, 25, 20, 30, 50),
                name="eight bins",
                tone="second",
            ),
        ),
        moves=("position", "position"),
        headers=("predicted", "observed", "n"),
        points=tuple((b, b**1.2, 40.0) for b in bins),
    )
    sizes = (50.0, 100.0, 200.0, 400.0, 800.0, 1600.0)
    learning = Chart(
        "Learning curve",
        "The error falls from .34 at 50 cases to .22 at 1,600 and is still falling.",
        Axis("training cases", 0, 1600),
        Axis("error rate", 0, 0.5),
        tuple(
            Stroke(sizes, tuple(0.2 + at * 0.03 + 1 / s**0.5 for s in sizes), f"learner {at + 1}", tone)
            for at, tone in enumerate(TONES)
        ),
        shape="wide",
        headers=("n", "error"),
        points=tuple((s, 0.2 + 1 / s**0.5) for s in sizes),
    )
    return roc, reliability, learning


def figures() -> Table:
    """A table of measures with their intervals drawn."""
    rows = [
        ("accuracy", 0.763, 0.732, 0.792),
        ("F1 (tested_positive)", 0.643, 0.593, 0.69),
        ("Matthews", 0.468, 0.4, 0.532),
    ]
    return Table(
        (Column("measure"), Column("value", "right"), Column("95 % interval"), Column("0 to 1")),
        tuple((name, Number(v, how="how-recall"), Range(a, b), Span(v, a, b)) for name, v, a, b in rows),
    )


def matrix() -> Table:
    """Counts on shades."""
    names = ("setosa", "versicolor", "virginica")
    counts = ((50, 0, 0), (0, 47, 3), (0, 2, 48))
    return Table(
        (Column("truth"), *(Column(f"predicted {name}", "right") for name in names)),
        tuple((name, *(Heat(k, k / 50) for k in row)) for name, row in zip(names, counts, strict=True)),
    )


def sample_page() -> list[Block]:
    """Everything that a page can have."""
    moved = explorer()
    verdict = (
        'Better than always predicting "tested_negative" (accuracy .651)? Yes, by .073 to .151. Recall of'
        ' "tested_positive" is 61 % [55, 67], and precision is 68 % [62, 73].'
    )
    return [
        Title("diabetes.csv", "768 cases · 2 classes · positive class: tested_positive (35 %)"),
        Prose(verdict, "Verdict"),
        Section(
            "Findings",
            (
                Prose("2 to act on · 1 to know · 21 passed · 6 not applicable"),
                Note("At threshold 0.5 the costs are 2.1 times those at 0.18: decide at 0.18.", "warning", "H007"),
                Note("Probabilities are too high above 0.8: said .91, observed .77 [.68, .85].", "warning", "H012"),
                Note('Class "tested_positive" has 268 cases: an interval half as wide needs about 1,100.', code="H020"),
                Section("21 rules that passed", (Facts((("H001", "beats the commonest class"),)),), folded=True),
            ),
            "findings",
        ),
        Section("Threshold", (moved,), "threshold"),
        Section("Curves", charts(moved), "curves"),
        Section("Measures", (figures(), matrix()), "measures"),
        Section(
            "How each number was made",
            (
                Section(
                    "recall",
                    (
                        Prose("Share of the actual positives that were found."),
                        Facts(
                            (
                                ("formula", "tp / (tp + fn)"),
                                ("counts put in", "164 / (164 + 104)"),
                                ("interval", "wilson"),
                            )
                        ),
                    ),
                    "how-recall",
                    folded=True,
                ),
            ),
            "how",
        ),
        Section(
            "Provenance",
            (
                Facts((("file", "diabetes.csv"), ("seed", "0"))),
                Verbatim("$ heldout evaluate examples/diabetes.csv"),
            ),
            "provenance",
        ),
    ]
