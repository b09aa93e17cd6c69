"""Critical difference diagrams: learners by average rank, with bars over those that cannot be told apart."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from heldout.curves.chart import ACCENT, QUIET, finished_chart, inline_data
from heldout.errors import FileError, ValuesError
from heldout.show.blocks import Block, Section
from heldout.show.chart import Axis, Chart, Dots, Stroke
from heldout.show.escape import visible
from heldout.show.latex import escape
from heldout.show.numbers import plain
from heldout.show.provenance import provenance_section
from heldout.show.text_width import shorten

if TYPE_CHECKING:
    from heldout.comparisons.learner_ranks import LearnerRanks
    from heldout.curves.chart import AnyChart


Groups = tuple[tuple[int, ...], ...]
NAME_CELLS = 40
# Depths below the axis: of the first bar, from bar to bar, from the last bar to the first name, from name to name.
FIRST_BAR, BAR_STEP, TO_NAMES, NAME_STEP = 0.55, 0.4, 0.75, 1.0
# The ruler of the critical difference stands this far above the axis.
RULER = -2.0
WIDTH_CM = 9.0


def groups_of(ranks: Any, alike: Any) -> Groups:
    """The largest sets of two or more learners of which every pair is alike, each and all in the order of their ranks.

    >>> groups_of([1.0, 2.0, 3.0], [[True, True, False], [True, True, True], [False, True, True]])
    ((0, 1), (1, 2))
    """
    average, same = np.asarray(ranks, dtype=np.float64), np.asarray(alike, dtype=bool)
    if same.shape != (len(average), len(average)) or (same != same.T).any():
        raise ValuesError(
            f"Who is alike must be a symmetric table with a row for each of {len(average)} ranks. "
            f"Got {' × '.join(map(str, same.shape))}.",
            hint="give True where a pair cannot be told apart.",
        )
    order = np.argsort(average, kind="stable").tolist()
    near = [{j for j, other in enumerate(order) if j != i and same[one, other]} for i, one in enumerate(order)]
    found = sorted(
        tuple(sorted(group)) for group in _cliques(set(), set(range(len(order))), set(), near) if len(group) > 1
    )
    return tuple(tuple(order[at] for at in group) for group in found)


def _cliques(held: set[int], left: set[int], seen: set[int], near: list[set[int]]) -> Iterator[set[int]]:
    """All largest sets whose members are all near each other: Bron & Kerbosch (1973), with a pivot."""
    if not left and not seen:
        yield held
        return
    pivot = max(left | seen, key=lambda one: len(near[one] & left))
    for one in sorted(left - near[pivot]):
        yield from _cliques(held | {one}, left & near[one], seen & near[one], near)
        left = left - {one}
        seen = seen | {one}


@dataclass(frozen=True, slots=True)
class Label:
    """A learner's name, beside the axis: where its line leaves the axis, how deep it goes, and to which side."""

    name: str
    rank: float
    depth: float
    side: int


@dataclass(frozen=True, slots=True)
class Diagram:
    """Everything that is drawn, in ranks across and depth downward from the axis."""

    ends: tuple[float, float]
    ticks: tuple[int, ...]
    labels: tuple[Label, ...]
    bars: tuple[tuple[float, float, float], ...]
    ruler: float
    depth: float

    @property
    def edges(self) -> tuple[float, float]:
        """Where the names begin, left and right."""
        room = 0.03 * (self.ends[1] - self.ends[0])
        return self.ends[0] - room, self.ends[1] + room


def diagram(found: LearnerRanks) -> Diagram:
    """Where everything stands: the better half of the names on the left, bars that overlap below each other."""
    average = found.average_ranks
    ordered = sorted(average, key=average.__getitem__)
    k = len(ordered)
    lanes: list[float] = []
    bars: list[tuple[float, float, float]] = []
    over = 0.004 * (k - 1)
    for group in found.groups:
        left, right = average[group[0]] - over, average[group[-1]] + over
        lane = next((at for at, end in enumerate(lanes) if end + 0.02 * k < left), len(lanes))
        lanes[lane : lane + 1] = [right]
        depth = FIRST_BAR + BAR_STEP * lane
        bars.append((left, right, depth))
    top = FIRST_BAR + BAR_STEP * (len(lanes) - 1) + TO_NAMES if lanes else TO_NAMES
    half = (k + 1) // 2
    labels = [Label(name, average[name], top + NAME_STEP * at, -1) for at, name in enumerate(ordered[:half])]
    labels += [Label(name, average[name], top + NAME_STEP * at, 1) for at, name in enumerate(ordered[: half - 1 : -1])]
    step = max(1, math.ceil((k - 1) / 12))
    ticks = tuple(range(1, k + 1, step))
    deepest = max(label.depth for label in labels)
    return Diagram((1.0, float(k)), ticks, tuple(labels), tuple(bars), found.critical_difference, deepest)


def rank_chart(found: LearnerRanks) -> AnyChart:
    """Draw the diagram with Altair."""
    import altair as alt

    drawn = diagram(found)
    has_ruler = drawn.ruler < drawn.ends[1] - drawn.ends[0]
    top = RULER - 0.9 if has_ruler else -1.1
    x = alt.X("x:Q", scale=alt.Scale(domain=list(drawn.edges), nice=False, zero=False), axis=None)
    y = alt.Y("y:Q", scale=alt.Scale(domain=[drawn.depth + 0.5, top], nice=False, zero=False), axis=None)

    def lines(paths: list[list[tuple[float, float]]], **style: Any) -> Any:
        records = [
            {"x": across, "y": down, "line": number, "order": at}
            for number, path in enumerate(paths)
            for at, (across, down) in enumerate(path)
        ]
        return (
            alt.Chart(inline_data(records))
            .mark_line(aria=False, **style)
            .encode(x=x, y=y, detail="line:N", order="order:O")
        )

    def words(texts: list[tuple[float, float, str]], **style: Any) -> Any:
        records = [{"x": across, "y": down, "text": text} for across, down, text in texts]
        return alt.Chart(inline_data(records)).mark_text(aria=False, **style).encode(x=x, y=y, text="text:N")

    layers = [
        lines(_axis_paths(drawn), color="#444444", strokeWidth=1),
        words([(float(at), -0.75, str(at)) for at in drawn.ticks], color="#444444"),
        lines([_leader(label, drawn) for label in drawn.labels], color=QUIET, strokeWidth=1),
        lines([[(left, depth), (right, depth)] for left, right, depth in drawn.bars], color=ACCENT, strokeWidth=5),
    ]
    for side, align, dx in ((-1, "right", -5), (1, "left", 5)):
        texts = [(drawn.edges[side > 0], label.depth, _name(label)) for label in drawn.labels if label.side == side]
        layers.append(words(texts, align=align, dx=dx, color="#222222"))
    if has_ruler:
        end = 1 + drawn.ruler
        layers.append(lines(_ruler_paths(end), color="#222222", strokeWidth=1.5))
        layers.append(words([(1 + drawn.ruler / 2, RULER - 0.55, f"critical difference {plain(drawn.ruler)}")]))
    layers.append(_dots(found, x, y))
    chart = finished_chart(alt.layer(*layers), "ranks", "Average ranks", _subtitle(found), _description(found))
    made: AnyChart = chart.properties(height=round(24 * (drawn.depth + 0.5 - top)))
    return made


def _axis_paths(drawn: Diagram) -> list[list[tuple[float, float]]]:
    return [
        [(drawn.ends[0], 0.0), (drawn.ends[1], 0.0)],
        *([(float(at), 0.0), (float(at), -0.3)] for at in drawn.ticks),
    ]


def _leader(label: Label, drawn: Diagram) -> list[tuple[float, float]]:
    return [(label.rank, 0.0), (label.rank, label.depth), (drawn.edges[label.side > 0], label.depth)]


def _ruler_paths(end: float) -> list[list[tuple[float, float]]]:
    return [[(1.0, RULER), (end, RULER)], *([(at, RULER - 0.15), (at, RULER + 0.15)] for at in (1.0, end))]


def _dots(found: LearnerRanks, x: Any, y: Any) -> Any:
    import altair as alt

    record = found.record()
    records = [
        {"x": rank, "y": 0.0, "learner": visible(name), "record": "–".join(map(str, record[name]))}
        for name, rank in found.average_ranks.items()
    ]
    tips = [
        alt.Tooltip("learner:N", title="learner"),
        alt.Tooltip("x:Q", title="average rank", format=".3~f"),
        alt.Tooltip("record:N", title="win–tie–loss"),
    ]
    return alt.Chart(inline_data(records)).mark_circle(aria=False, color="#222222", size=36, opacity=1).encode(
        x=x, y=y, tooltip=tips
    )  # fmt: skip


def _name(label: Label) -> str:
    return f"{shorten(visible(label.name), NAME_CELLS)} ({plain(label.rank)})"


def _subtitle(found: LearnerRanks) -> list[str]:
    whom = (
        "cannot be told apart"
        if found.control is None
        else f"cannot be told from {shorten(visible(found.control), 30)}"
    )
    best = "1 is best"
    if not found.groups:
        return [f"Over {found.table.n} data sets, {best}", f"All differ ({found.how}, level {found.level:g})"]
    return [f"Over {found.table.n} data sets, {best}", f"Bars: {whom} ({found.how}, level {found.level:g})"]


def _description(found: LearnerRanks) -> str:
    ordered = sorted(found.average_ranks.items(), key=lambda item: item[1])
    said = ", ".join(f"{visible(name)} {plain(rank)}" for name, rank in ordered)
    return f"Average ranks over {found.table.n} data sets: {said}. {found.verdict}"


def rank_tikz(found: LearnerRanks) -> str:
    """The diagram as a tikzpicture; names stay text, whatever they contain."""
    drawn = diagram(found)
    across = WIDTH_CM / (drawn.ends[1] - drawn.ends[0])
    lines = [
        r"% needs \usepackage{tikz}",
        f"\\begin{{tikzpicture}}[x={across:.4f}cm, y=-0.5cm, font=\\small]",
        *(rf"\draw {_path(path)};" for path in _axis_paths(drawn)),
        *(rf"\node[above] at ({at},-0.3) {{{at}}};" for at in drawn.ticks),
    ]
    for label in drawn.labels:
        side = "left" if label.side < 0 else "right"
        name = escape(shorten(visible(label.name), NAME_CELLS))
        lines.append(
            rf"\draw[gray] {_path(_leader(label, drawn))} node[{side}, black] {{{name} ({plain(label.rank)})}};"
        )
    lines += [rf"\draw[line width=2.4pt] ({_at(a)},{_at(d)}) -- ({_at(b)},{_at(d)});" for a, b, d in drawn.bars]
    if drawn.ruler < drawn.ends[1] - drawn.ends[0]:
        end = 1 + drawn.ruler
        lines += [rf"\draw {_path(path)};" for path in _ruler_paths(end)]
        middle = f"({_at(1 + drawn.ruler / 2)},{_at(RULER)})"
        lines.append(rf"\node[above] at {middle} {{critical difference {plain(drawn.ruler)}}};")
    return "\n".join([*lines, r"\end{tikzpicture}"]) + "\n"


def _path(points: list[tuple[float, float]]) -> str:
    return " -- ".join(f"({_at(across)},{_at(down)})" for across, down in points)


def _at(value: float) -> str:
    return f"{value:.4f}".rstrip("0").rstrip(".")


def save_ranks(found: LearnerRanks, path: str | Path) -> Path:
    """Write the diagram as TikZ where the file ends in .tex, otherwise as a chart."""
    target = Path(path)
    if target.suffix.lower() != ".tex":
        from heldout.curves.saving import save_chart

        return save_chart(found.chart(), target)
    try:
        target.write_text(rank_tikz(found), encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise FileError(
            f"{target} cannot be written: {error.strerror or error}.",
            hint="check that the folder exists and that you may write there.",
        ) from error
    return target


# The page of learners ranked over data sets: their average ranks drawn, with lines through those that are alike.

NAMED = 16


def ranks_page(found: LearnerRanks) -> list[Block]:
    """The verdict, the diagram, the tables, and where they come from."""
    title, verdict, *rest = found.blocks()
    facts = (
        ("learners", str(len(found.table.learners))),
        ("data sets", str(found.table.n)),
        ("correction", found.correction or "none"),
        ("level", f"{found.level:g}"),
    )
    diagram = Section("Average ranks", (ranks_drawing(found),), "ranks")
    return [title, verdict, diagram, Section("Tests", tuple(rest), "tests"), provenance_section(facts)]


def ranks_drawing(found: LearnerRanks) -> Chart:
    """A critical difference diagram, one learner to a row: Demšar (2006) draws all of them on one axis."""
    average = found.average_ranks
    ordered = sorted(average, key=average.__getitem__)
    k = len(ordered)
    row = {name: float(k - at) for at, name in enumerate(ordered)}
    strokes = []
    for at, group in enumerate(found.groups):
        # Each group has a lane of its own below the learners.
        lane = -0.35 * at
        ends = (average[group[0]], average[group[-1]])
        strokes.append(Stroke(ends, (lane, lane), "cannot be told apart" if at == 0 else "", "second"))
    dots = Dots(tuple(average[name] for name in ordered), tuple(row[name] for name in ordered))
    names = [shorten(visible(name), 60) for name in ordered]
    said = "; ".join(f"{name} {plain(average[held])}" for name, held in zip(names, ordered, strict=True))
    detail = "1 is the best rank."
    if not math.isnan(found.critical_difference):
        detail += f" Ranks differ that lie {plain(found.critical_difference)} or more apart ({found.how})."
    ticks = tuple((row[held], shorten(name, NAMED)) for name, held in zip(names, ordered, strict=True))
    lowest = min([0.4, *(-0.35 * at - 0.3 for at in range(len(found.groups)))])
    return Chart(
        "Average ranks over the data sets", f"Average ranks: {said}. {found.verdict}",
        Axis("Average rank", 1.0, float(k)), Axis("", lowest, k + 0.6, ticks), tuple(strokes), (), (dots,),
        detail, "wide", None,
        ("place", "average rank"), tuple((float(at + 1), average[name]) for at, name in enumerate(ordered)),
    )  # fmt: skip
