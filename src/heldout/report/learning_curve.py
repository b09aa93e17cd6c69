"""The report of a learning curve: whether more data would help, its values at each size, and the law of the error."""

from __future__ import annotations

import numpy as np

from heldout.arguments import capitalize
from heldout.arrays import Floats
from heldout.errors import ValuesError
from heldout.measures.catalogue import find
from heldout.report.evaluation import titled
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
    value_and_interval,
)
from heldout.show.chart import Axis, Chart, Dots, Ribbon, Stroke, Tips
from heldout.show.numbers import in_brackets, number, percent


def render_learning_curve(curve: LearningCurve, form: Form) -> list[Block]:
    """The errors at each size, the law, and what a page tells besides."""
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
    blocks.append(Prose(_explain_columns(curve)))
    return [*blocks, *(Note(note) for note in curve.notes), *curve.review.blocks()]


def _explain_columns(curve: LearningCurve) -> str:
    word, shown, aside = _word(curve), curve.shown, _aside(curve)
    method = shown.estimates[-1].method
    value = "mean over draws" if _is_mean(curve) else "of all draws together"
    text = (
        f"Test {word}: {value}, with {100 * curve.level:g} % interval ({method}) for the rows tested. Spread: "
        "standard deviation over draws, which share rows, so it is no standard error. Gap: test less training "
        f"{word}. {aside.capitalize()}: how far the {word} stands {aside} that of the largest training set."
    )
    return text if curve.measured is None else f"{text} The verdict and the law are of the error."


def _word(curve: LearningCurve) -> str:
    """What the values are called."""
    return "error" if curve.measured is None else titled(curve.measured.estimates[0])


def _heading(curve: LearningCurve) -> str:
    """The same at the head of a column, where the name of a class would not fit."""
    return _word(curve) if curve.shown.quantity[1] is None else find(curve.shown.quantity[0]).title


def _is_mean(curve: LearningCurve) -> bool:
    """Whether the values are means over the draws, and not of the counts of all draws together."""
    mean_of_folds = find(curve.shown.quantity[0]).measure.over_folds == "mean"
    return curve.measured is None or _turns_error(curve) or mean_of_folds


def _turns_error(curve: LearningCurve) -> bool:
    """Whether the curve shows 1 less the error."""
    return curve.shown.quantity == ("accuracy", None, None)


def _aside(curve: LearningCurve) -> str:
    """On which side of the value of the largest training set the worse ones stand."""
    return "below" if find(curve.shown.quantity[0]).measure.direction == "higher" else "above"


def _table(curve: LearningCurve) -> Table:
    word, aside, shown = _heading(curve), _aside(curve), curve.shown
    names = ("size", f"training {word}"), ("spread", "gap", aside)
    training, test, spread = shown.values("training"), shown.values("test"), shown.spread("test")
    sign = -1 if aside == "below" else 1
    rows = tuple(
        (
            size,
            Number(training[at].item(), e.style),
            Number(e.value, e.style),
            Range(e.low, e.high, e.style),
            Number(spread[at].item(), e.style),
            Number((test[at] - training[at]).item(), e.style),
            Number((sign * (test[at] - test[-1])).item() + 0.0, e.style),
        )
        for at, (size, e) in enumerate(zip(curve.sizes, shown.estimates, strict=True))
    )
    before, after = ([Column(name, "right") for name in part] for part in names)
    return Table((*before, *value_and_interval(f"test {word}"), *after), rows)


def _said(figure: Figure, key: str) -> str:
    style = "share" if key == "floor" else "plain"
    value = number(figure.value, style)  # type: ignore[arg-type]
    between = in_brackets(figure.low, figure.high, style)  # type: ignore[arg-type]
    return value if np.isnan(figure.low) else f"{value} {between}"


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
    charts = [] if np.isnan(curve.shown.values("test")).all() else [draw_learning_curve(curve)]
    return [
        *head,
        Section(
            f"{'Errors' if curve.measured is None else capitalize(_word(curve))} as the training set grows",
            (*charts, *tables),
            "curve",
        ),
        findings_section(curve.review),
        Section("The law, and what the columns mean", tuple(rest), "law"),
        *([Section("Notes", tuple(notes), "notes")] if notes else []),
        provenance_section(facts),
    ]


# The law is drawn to this many times the rows there are: farther, it would be a guess.
AHEAD = 2


def draw_learning_curve(curve: LearningCurve) -> Chart:
    """Both parts over the size of the training set, on a logarithmic axis where the sizes multiply."""
    word, shown = _word(curve), curve.shown
    sizes, training, test = np.array(curve.sizes, dtype=np.float64), shown.values("training"), shown.values("test")
    lows, highs = shown.limits("test")
    if np.isnan(test).all():
        raise ValuesError("There is no learning curve to draw: no model was trained.", hint="see its notes.")
    steps = np.diff(curve.sizes)
    logarithmic = len(steps) > 1 and steps[-1] > 1.5 * steps[0]

    def stretch(along: Floats) -> tuple[float, ...]:
        return tuple((np.log10(along) if logarithmic else along).tolist())

    places = stretch(sizes)
    strokes = [
        Stroke(places, tuple(test.tolist()), f"test {word}", "accent"),
    ]
    ribbons = [Ribbon(places, tuple(lows.tolist()), tuple(highs.tolist()))]
    if not np.isnan(training).all():
        strokes.append(Stroke(places, tuple(training.tolist()), f"training {word}", "second"))
        below, beyond = shown.limits("training")
        ribbons.append(Ribbon(places, tuple(below.tolist()), tuple(beyond.tolist()), "second"))
    last = float(sizes[-1])
    if _draws_law(curve):
        last = float(max(AHEAD * curve.n_rows, curve.sizes[-1] + 1))
        ahead = np.geomspace(sizes[-1], last, 40)
        law = curve.law.predict(ahead)
        expected, low, high = law.value, law.low, law.high
        if _turns_error(curve):
            expected, low, high = 1 - law.value, 1 - law.high, 1 - law.low
        strokes.append(
            Stroke(stretch(ahead), tuple(expected.tolist()), "law, beyond what was seen", "quiet", dashed=True)
        )
        ribbons.append(Ribbon(stretch(ahead), tuple(low.tolist()), tuple(high.tolist()), "quiet"))
    left, right = stretch(np.array([sizes[0], last]))
    marks = list(zip(places, curve.sizes, strict=True))[:: max(1, len(places) // 6)]
    dots = Dots(places, tuple(test.tolist()), tuple(lows.tolist()), tuple(highs.tolist()))
    columns = {"rows": sizes, f"training {word}": training, f"test {word}": test, "low": lows, "high": highs}
    values = [tuple(column.tolist()) for column in columns.values()]
    return Chart(
        f"Learning curve of {curve.name}", _description(curve),
        Axis("Rows in the training set", left, right, tuple((at, f"{size:,}") for at, size in marks)),
        _height(curve, strokes, ribbons),
        tuple(strokes), tuple(ribbons), (dots,), _detail(curve), "wide", None, tuple(columns),
        tuple(zip(*values, strict=True)), tips=(Tips(places, values[2], tuple(zip(columns, values, strict=True))),),
    )  # fmt: skip


def _draws_law(curve: LearningCurve) -> bool:
    """Whether the law of the error says something of what is shown."""
    return curve.law.shape in {"falling", "flat"} and (curve.measured is None or _turns_error(curve))


def _height(curve: LearningCurve, strokes: list[Stroke], ribbons: list[Ribbon]) -> Axis:
    """The axis of the values: errors from 0 on, other measures from a little below the lowest."""
    ends = [*(y for stroke in strokes for y in stroke.y), *(y for ribbon in ribbons for y in ribbon.high)]
    if curve.measured is None:
        return Axis("Error rate", 0.0, min(1.0, 1.08 * float(np.nanmax(ends))) or 1.0)
    ends += [y for ribbon in ribbons for y in ribbon.low]
    low, high = float(np.nanmin(ends)), float(np.nanmax(ends))
    least, most = find(curve.shown.quantity[0]).measure.range
    room = 0.08 * (high - low) or 0.05
    return Axis(capitalize(_word(curve)), max(least, low - room), min(most, high + room))


def _detail(curve: LearningCurve) -> str:
    words = [
        f"{curve.verdict.partition(':')[0]}.",
        f"Bands: {100 * curve.level:g} % of the {_banded(curve)}, spread of training over draws.",
    ]
    if _draws_law(curve):
        words.append("Dashed: the fitted law, beyond what was seen.")
    return " ".join(words)


def _banded(curve: LearningCurve) -> str:
    return f"{'mean ' if _is_mean(curve) else ''}test {_word(curve)} ({curve.shown.estimates[-1].method})"


def _description(curve: LearningCurve) -> str:
    ends = (curve.shown.estimates[0], curve.shown.estimates[-1])
    first, last = (percent(e.value, 1) if e.style == "share" else number(e.value, e.style) for e in ends)
    name = "error rate" if curve.measured is None else _word(curve)
    return (
        f"Learning curve of {curve.name}: {name} against the rows in the training set. The test {_word(curve)} goes "
        f"from {first} at {curve.sizes[0]:,} rows to {last} at {curve.sizes[-1]:,}. {curve.verdict}"
    )
