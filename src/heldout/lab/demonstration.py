"""What an experiment of the laboratory showed: its figures with their Monte Carlo error, a sentence, and a chart."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import listing
from heldout.arrays import Floats
from heldout.errors import OptionError
from heldout.intervals.proportion import wilson
from heldout.intervals.quantiles import t_value
from heldout.lab.experiment import EXPERIMENTS, find_experiments
from heldout.lab.parameters import spell_flag
from heldout.report.interval_chart import Mark, forest_chart
from heldout.result import Result, make_row
from heldout.show.blocks import (
    Block,
    Cell,
    Column,
    Note,
    Number,
    Prose,
    Range,
    Section,
    Span,
    Table,
    Title,
    provenance_section,
)
from heldout.show.chart import TONES, Axis, Chart, Dots, Stroke
from heldout.show.numbers import number

# The level of the Monte Carlo limits, whatever level the experiment tries.
LEVEL = 0.95
REPLICATES = 1000
EXACT, SIMULATED = "exact", "monte-carlo"


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of an experiment: of which series, at which place of the axis, its value and Monte Carlo limits.

    `at` is nan where the axis has no place for it; `expected` is what theory says, nan where it says nothing.
    """

    series: str
    value: float
    low: float = math.nan
    high: float = math.nan
    at: float = math.nan
    expected: float = math.nan
    n: int | None = None
    measure: str = ""

    @property
    def exact(self) -> bool:
        """Whether nothing was simulated."""
        return self.low == self.value == self.high


@dataclass(frozen=True, slots=True)
class Observed:
    """What the function of an experiment returns: figures, a sentence, heights to compare with, and remarks.

    `unused` names the parameters that had nothing to do with it this time.
    """

    figures: tuple[Figure, ...]
    sentence: str
    lines: tuple[tuple[str, float], ...] = ()
    notes: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Demonstration(Result):
    """The figures of one experiment of the laboratory, what they show, and with which parameters it was made.

    >>> import heldout
    >>> found = heldout.lab.coverage(n=20, p=0.05)
    >>> round(found["normal"].value, 2)
    0.64
    """

    schema: ClassVar[str] = "heldout/lab@1"
    rows_name: ClassVar[str] = "figures"
    _charts: ClassVar[Mapping[str, str]] = {"figures": "heldout.lab.demonstration:draw_demonstration"}

    experiment: str
    parameters: Mapping[str, object]
    figures: tuple[Figure, ...] = field(repr=False)
    sentence: str
    lines: tuple[tuple[str, float], ...] = ()
    notes: tuple[str, ...] = ()

    def __getitem__(self, series: str) -> Figure:
        """The first figure of a series."""
        return self.figure(series)

    def figure(self, series: str, at: float | None = None, measure: str | None = None) -> Figure:
        """The figure of a series, at a place of the axis and of a measure where there are several."""
        matching = [
            figure
            for figure in self.figures
            if figure.series == series and at in (None, figure.at) and measure in (None, figure.measure)
        ]
        if not matching:
            places = sorted({figure.at for figure in self.figures if not math.isnan(figure.at)})
            where = f", at {listing(f'{place:g}' for place in places)}" if places else ""
            raise OptionError(
                f"There is no figure of {series!r} here{'' if at is None else f' at {at:g}'}.",
                hint=f"there are {listing(dict.fromkeys(figure.series for figure in self.figures))}{where}.",
            )
        return matching[0]

    def rows(self) -> list[dict[str, object]]:
        """One row per figure, with its Monte Carlo limits."""
        about = EXPERIMENTS[self.experiment]
        rows = []
        for figure in self.figures:
            measure = (figure.measure or about.measured).replace(" ", "_")
            head = make_row(
                measure, figure.value, figure.low, figure.high, level=LEVEL,
                method=SIMULATED if "draws" in self.parameters else EXACT, n=figure.n, experiment=self.experiment,
            )  # fmt: skip
            tail: dict[str, object] = {about.series.replace(" ", "_"): figure.series}
            tail |= {about.at.replace(" ", "_"): figure.at} if about.at and about.at != "n" else {}
            rows.append({**head, **tail, "expected": figure.expected, "draws": self.parameters.get("draws")})
        return rows

    def facts(self) -> dict[str, object]:
        """What stands beside the figures in the document."""
        about = EXPERIMENTS[self.experiment]
        return {
            "experiment": self.experiment, "question": about.question, "claim": about.claim, "notes_on": about.source,
            "shown": self.sentence, "parameters": dict(self.parameters), "notes": list(self.notes),
        }  # fmt: skip

    def blocks(self) -> list[Block]:
        """The claim, what was seen, and the figures."""
        about = EXPERIMENTS[self.experiment]
        return [
            Title(about.title, self._settings()),
            Prose(about.question, "Question"),
            Prose(f"{about.claim} ({about.source})", "The notes"),
            Prose(self.sentence, "Verdict"),
            *self._tables(),
            Prose(self._limits()),
            *(Note(note) for note in self.notes),
        ]

    def page_blocks(self) -> list[Block]:
        """The same with the chart, what one should see, and where the page comes from."""
        about = EXPERIMENTS[self.experiment]
        title, question, claim, verdict, *rest = self.blocks()
        chart = Section("Figures", (draw_demonstration(self), Prose(about.see), *rest), "curve")
        facts = tuple((name, _word(value)) for name, value in self.parameters.items())
        return [title, question, claim, verdict, chart, provenance_section(facts)]

    def _settings(self) -> str:
        return "; ".join(f"{name.replace('_', ' ')} {_word(value)}" for name, value in self.parameters.items())

    def _limits(self) -> str:
        draws = self.parameters.get("draws")
        if draws is None:
            return "Nothing is simulated: every figure is a sum over all that can happen."
        return f"Limits: {LEVEL:g}, Monte Carlo error of {draws:,} draws."

    def _tables(self) -> list[Table]:
        about = EXPERIMENTS[self.experiment]
        measures = dict.fromkeys(figure.measure for figure in self.figures)
        return [
            _make_table(
                [figure for figure in self.figures if figure.measure == measure],
                about.series, about.at, measure or about.measured, caption=measure if len(measures) > 1 else "",
            )
            for measure in measures
        ]  # fmt: skip


def _word(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(_word, value))
    if isinstance(value, float):
        return f"{value:g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _make_table(figures: list[Figure], series: str, at: str, measured: str, caption: str) -> Table:
    placed = bool(at) and any(not math.isnan(figure.at) for figure in figures)
    theory = any(not math.isnan(figure.expected) for figure in figures)
    ends = [end for figure in figures for end in (figure.value, figure.low, figure.high) if math.isfinite(end)]
    floor, ceiling = round_outwards(min(ends), max(ends))
    columns = [Column(series)]
    columns += [Column(at, "right")] if placed else []
    columns += [Column("value" if caption else measured, "right")]
    simulated = not all(figure.exact for figure in figures)
    columns += [Column("limits")] if simulated else []
    columns.append(Column(""))
    columns += [Column("theory", "right")] if theory else []
    rows: list[tuple[Cell, ...]] = []
    for figure in figures:
        cells: list[Cell] = [figure.series]
        cells += [f"{figure.at:,g}"] if placed else []
        span = Span(figure.value, figure.low, figure.high, floor, ceiling) if math.isfinite(figure.value) else None
        cells.append(Number(figure.value))
        cells += [None if figure.exact else Range(figure.low, figure.high)] if simulated else []
        cells.append(span)
        cells += [Number(figure.expected) if math.isfinite(figure.expected) else None] if theory else []
        rows.append(tuple(cells))
    return Table(tuple(columns), tuple(rows), caption.capitalize(), measured)


def round_outwards(low: float, high: float) -> tuple[float, float]:
    """The next round numbers around two others.

    >>> round_outwards(0.641, 0.953)
    (0.6, 1.0)
    """
    step = 10.0 ** math.floor(math.log10(max(high - low, 1e-9)))
    return math.floor(low / step) * step, math.ceil(high / step) * step


def draw_demonstration(shown: Demonstration) -> Chart:
    """The figures along their axis, a line for each series; or one below the other where there is no axis."""
    about = EXPERIMENTS[shown.experiment]
    first = shown.figures[0].measure
    figures = [figure for figure in shown.figures if figure.measure == first and math.isfinite(figure.value)]
    measured = first or about.measured
    detail = "" if all(figure.exact for figure in figures) else f"Bars: {100 * LEVEL:g} % Monte Carlo limits."
    places = sorted({figure.at for figure in figures if not math.isnan(figure.at)})
    if not about.at or len(places) < 2:
        marks = [Mark(_name_mark(figure, about.at), figure.value, figure.low, figure.high) for figure in figures]
        return forest_chart(marks, about.title, measured, lines=shown.lines, detail=detail)
    return _draw_lines(shown, figures, places, measured, detail)


def _name_mark(figure: Figure, at: str) -> str:
    return figure.series if not at or math.isnan(figure.at) else f"{figure.series}, {at} {figure.at:g}"


def _draw_lines(shown: Demonstration, figures: list[Figure], places: list[float], measured: str, detail: str) -> Chart:
    about = EXPERIMENTS[shown.experiment]
    scale: Callable[[float], float] = math.log10 if places[0] > 0 and places[-1] / places[0] > 4 else float
    strokes, dots = [], []
    names = list(dict.fromkeys(figure.series for figure in figures))
    for name, tone in zip(names, (TONES * len(names))[: len(names)], strict=True):
        own = sorted((figure for figure in figures if figure.series == name), key=lambda figure: figure.at)
        x = tuple(scale(figure.at) for figure in own)
        strokes.append(Stroke(x, tuple(figure.value for figure in own), name, tone))
        known = not all(figure.exact for figure in own)
        low, high = (tuple(figure.low for figure in own), tuple(figure.high for figure in own)) if known else ((), ())
        dots.append(Dots(x, tuple(figure.value for figure in own), low, high, tone=tone))
        if any(math.isfinite(figure.expected) for figure in own):
            legend = "theory" if name == names[0] else ""
            strokes.append(Stroke(x, tuple(figure.expected for figure in own), legend, "quiet", dashed=True))
    ends = [
        end
        for figure in figures
        for end in (figure.value, figure.low, figure.high, figure.expected)
        if math.isfinite(end)
    ]
    ends += [height for _, height in shown.lines]
    room = 0.06 * (max(ends) - min(ends)) or 0.05
    left, right = scale(places[0]), scale(places[-1])
    beside = 0.03 * (right - left)
    strokes += [
        Stroke((left - beside, right + beside), (height, height), name, "fine", dashed=True)
        for name, height in shown.lines
    ]
    figures_text = "; ".join(f"{_name_mark(figure, about.at)}: {number(figure.value)}" for figure in figures[:40])
    ticks = tuple((scale(place), f"{place:,g}") for place in places)
    return Chart(
        about.title, f"{shown.sentence} {figures_text}.", Axis(about.at, left - beside, right + beside, ticks),
        Axis(measured, min(ends) - room, max(ends) + room), tuple(strokes), (), tuple(dots), detail, "wide",
    )  # fmt: skip


def make_share(series: str, hits: NDArray[Any], *, at: float = math.nan, **more: float | str | None) -> Figure:
    """A share of the draws, with Wilson's limits.

    >>> make_share("t test", np.array([True, False, False, False])).value
    0.25
    """
    low, high = (float(end) for end in wilson(np.asarray(hits.sum()), len(hits), LEVEL))
    return Figure(series, float(hits.mean()), low, high, at, **more)  # type: ignore[arg-type]


def make_mean(series: str, values: Floats, *, at: float = math.nan, **more: float | str | None) -> Figure:
    """The mean of the draws where it is defined, with Student's limits.

    >>> make_mean("error", np.array([1.0, 1.0, np.nan])).exact
    True
    """
    values = values[np.isfinite(values)]
    if len(values) < 2:
        return Figure(series, float(values.mean()) if len(values) else math.nan, at=at, **more)  # type: ignore[arg-type]
    mean = float(values.mean())
    half = float(t_value(LEVEL, len(values) - 1)) * float(values.std(ddof=1)) / len(values) ** 0.5
    return Figure(series, mean, mean - half, mean + half, at, **more)  # type: ignore[arg-type]


def make_spread(series: str, values: Floats, seed: int, *, at: float = math.nan, **more: float | str | None) -> Figure:
    """The standard deviation of the draws, with bootstrap limits."""
    taken = np.random.default_rng(seed).integers(len(values), size=(REPLICATES, len(values)))
    value = float(values.std(ddof=1))
    low, high = np.quantile(values[taken].std(axis=-1, ddof=1), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Figure(series, value, min(float(low), value), max(float(high), value), at, **more)  # type: ignore[arg-type]


def pick_series(figures: Iterable[Figure], series: str) -> list[Figure]:
    """The figures of one series, in the order they stand in."""
    return [figure for figure in figures if figure.series == series]


def list_experiments() -> list[Block]:
    """Every experiment with what it asks and which flags it takes."""
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (experiment.name, experiment.question, " ".join(map(spell_flag, experiment.flags)))
        for experiment in find_experiments().values()
    )
    columns = (Column("experiment"), Column("question", wrap=True), Column("options", wrap=True))
    return [
        Title("The laboratory", "experiments on data drawn from known distributions, where the truth is known"),
        Table(columns, rows, name="experiments"),
        Prose("heldout lab NAME runs one; every option has a usual value, and -o FILE writes figures, page or chart."),
    ]
