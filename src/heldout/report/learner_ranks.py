"""The report of learners ranked on data sets: verdict, ranks, tests, pairs, and the critical difference diagram."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from heldout.comparisons.learner_ranks import LearnerRanks, RankPair
from heldout.result import Form
from heldout.show.blocks import (
    Block,
    Column,
    Note,
    Number,
    Prose,
    Section,
    Table,
    Title,
    head_columns,
    provenance_section,
)
from heldout.show.chart import Axis, Caption, Chart, Dots, Stroke, Tips, Tone
from heldout.show.escape import visible
from heldout.show.latex import escape
from heldout.show.numbers import plain
from heldout.show.text_width import shorten

NAME_CELLS = 40
# Depths below the axis: of the first bar, from bar to bar, from the last bar to the first name, from name to name.
FIRST_BAR, BAR_STEP, TO_NAMES, NAME_STEP = 0.55, 0.4, 0.75, 1.0
# The ruler of the critical difference stands this far above the axis.
RULER = -2.0
WIDTH_CM = 9.0
# The width of the chart and of a letter, in its units; where the names of either side of it stand.
WIDTH, LETTER = 600, 6.6
_ALIGN: dict[int, Literal["left", "right"]] = {-1: "right", 1: "left"}


@dataclass(frozen=True, slots=True)
class LearnerLabel:
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
    labels: tuple[LearnerLabel, ...]
    bars: tuple[tuple[float, float, float], ...]
    ruler: float
    depth: float

    @property
    def edges(self) -> tuple[float, float]:
        """Where the names begin, left and right."""
        room = 0.03 * (self.ends[1] - self.ends[0])
        return self.ends[0] - room, self.ends[1] + room


def lay_out_diagram(ranks: LearnerRanks) -> Diagram:
    """Where everything stands: the better half of the names on the left, bars that overlap below each other."""
    average = ranks.average_ranks
    ordered = sorted(average, key=average.__getitem__)
    k = len(ordered)
    lanes: list[float] = []
    bars: list[tuple[float, float, float]] = []
    over = 0.004 * (k - 1)
    for group in ranks.groups:
        left, right = average[group[0]] - over, average[group[-1]] + over
        lane = next((at for at, end in enumerate(lanes) if end + 0.02 * k < left), len(lanes))
        lanes[lane : lane + 1] = [right]
        depth = FIRST_BAR + BAR_STEP * lane
        bars.append((left, right, depth))
    top = FIRST_BAR + BAR_STEP * (len(lanes) - 1) + TO_NAMES if lanes else TO_NAMES
    half = (k + 1) // 2
    labels = [LearnerLabel(name, average[name], top + NAME_STEP * at, -1) for at, name in enumerate(ordered[:half])]
    labels += [
        LearnerLabel(name, average[name], top + NAME_STEP * at, 1) for at, name in enumerate(ordered[: half - 1 : -1])
    ]
    step = max(1, math.ceil((k - 1) / 12))
    ticks = tuple(range(1, k + 1, step))
    deepest = max(label.depth for label in labels)
    return Diagram((1.0, float(k)), ticks, tuple(labels), tuple(bars), ranks.critical_difference, deepest)


def draw_ranks(ranks: LearnerRanks) -> Chart:
    """The diagram as a chart: the axis on top, a line from each rank to its name, bars over learners that are alike."""
    drawn = lay_out_diagram(ranks)
    has_ruler = drawn.ruler < drawn.ends[1] - drawn.ends[0]
    top = RULER - 1.1 if has_ruler else -1.3
    names = [(label, f"{shorten(visible(label.name), NAME_CELLS)} ({plain(label.rank)})") for label in drawn.labels]
    texts = [Caption(float(at), -0.35, str(at), "middle", "above", "ink") for at in drawn.ticks]
    texts += [Caption(drawn.edges[x.side > 0], x.depth, name, _ALIGN[x.side], "at", "ink") for x, name in names]
    strokes = [_stroke(_leader(label, drawn), "fine") for label in drawn.labels]
    strokes += [_stroke(path, "ink") for path in _axis_paths(drawn)]
    if has_ruler:
        strokes += [_stroke(path, "ink") for path in _ruler_paths(1 + drawn.ruler)]
        words = f"critical difference {plain(drawn.ruler)}"
        texts.append(Caption(1 + drawn.ruler / 2, RULER - 0.2, words, "middle", "above", "ink"))
    strokes += [Stroke((left, right), (depth, depth), thick=True) for left, right, depth in drawn.bars]
    # Room beside the plot for the longest name on each side, in the units of the axis.
    longest = [max((len(name) for label, name in names if label.side == side), default=0) for side in (-1, 1)]
    rooms = [min((LETTER * letters + 12) / WIDTH, 0.4) for letters in longest]
    unit = (drawn.edges[1] - drawn.edges[0]) / (1 - sum(rooms))
    x = Axis("", drawn.edges[0] - rooms[0] * unit, drawn.edges[1] + rooms[1] * unit)
    ranked = ranks.average_ranks
    record = {name: "–".join(map(str, counts)) for name, counts in ranks.record().items()}
    places = tuple(ranked.values()), (0.0,) * len(ranked)
    tips = Tips(*places, (
        ("learner", tuple(map(visible, ranked))), ("average rank", places[0]), ("win–tie–loss", tuple(record.values()))
    ))  # fmt: skip
    return Chart(
        "Average ranks", _description(ranks), x, Axis("", drawn.depth + 0.6, top), tuple(strokes), (),
        (Dots(*places, tone="fine"),), _subtitle(ranks), "wide",
        texts=tuple(texts), tips=(tips,), height=24 * (drawn.depth + 0.6 - top), axes=False,
    )  # fmt: skip


def _stroke(path: list[tuple[float, float]], tone: Tone) -> Stroke:
    return Stroke(tuple(x for x, _ in path), tuple(y for _, y in path), tone=tone)


def _axis_paths(drawn: Diagram) -> list[list[tuple[float, float]]]:
    return [
        [(drawn.ends[0], 0.0), (drawn.ends[1], 0.0)],
        *([(float(at), 0.0), (float(at), -0.3)] for at in drawn.ticks),
    ]


def _leader(label: LearnerLabel, drawn: Diagram) -> list[tuple[float, float]]:
    return [(label.rank, 0.0), (label.rank, label.depth), (drawn.edges[label.side > 0], label.depth)]


def _ruler_paths(end: float) -> list[list[tuple[float, float]]]:
    return [[(1.0, RULER), (end, RULER)], *([(at, RULER - 0.15), (at, RULER + 0.15)] for at in (1.0, end))]


def _subtitle(ranks: LearnerRanks) -> str:
    whom = (
        "cannot be told apart"
        if ranks.control is None
        else f"cannot be told from {shorten(visible(ranks.control), 30)}"
    )
    best = "1 is best"
    if not ranks.groups:
        return f"Over {ranks.table.n} data sets, {best}. All differ ({ranks.how}, level {ranks.level:g})."
    return f"Over {ranks.table.n} data sets, {best}. Bars: {whom} ({ranks.how}, level {ranks.level:g})."


def _description(ranks: LearnerRanks) -> str:
    ordered = sorted(ranks.average_ranks.items(), key=lambda item: item[1])
    listed = ", ".join(f"{visible(name)} {plain(rank)}" for name, rank in ordered)
    return f"Average ranks over {ranks.table.n} data sets: {listed}. {ranks.verdict}"


def write_tikz(ranks: LearnerRanks) -> str:
    """The diagram as a tikzpicture; names stay text, whatever they contain."""
    drawn = lay_out_diagram(ranks)
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


NAMED = 16


def draw_rank_rows(ranks: LearnerRanks) -> Chart:
    """A critical difference diagram, one learner to a row: Demšar (2006) draws all of them on one axis."""
    average = ranks.average_ranks
    ordered = sorted(average, key=average.__getitem__)
    k = len(ordered)
    row = {name: float(k - at) for at, name in enumerate(ordered)}
    strokes = []
    for at, group in enumerate(ranks.groups):
        # Each group has a lane of its own below the learners.
        lane = -0.35 * at
        ends = (average[group[0]], average[group[-1]])
        strokes.append(Stroke(ends, (lane, lane), "cannot be told apart" if at == 0 else "", "second"))
    dots = Dots(tuple(average[name] for name in ordered), tuple(row[name] for name in ordered))
    names = [shorten(visible(name), 60) for name in ordered]
    listed = "; ".join(f"{name} {plain(average[learner])}" for name, learner in zip(names, ordered, strict=True))
    detail = "1 is the best rank."
    if not math.isnan(ranks.critical_difference):
        detail += f" Ranks differ that lie {plain(ranks.critical_difference)} or more apart ({ranks.how})."
    ticks = tuple((row[learner], shorten(name, NAMED)) for name, learner in zip(names, ordered, strict=True))
    lowest = min([0.4, *(-0.35 * at - 0.3 for at in range(len(ranks.groups)))])
    return Chart(
        "Average ranks over the data sets", f"Average ranks: {listed}. {ranks.verdict}",
        Axis("Average rank", 1.0, float(k)), Axis("", lowest, k + 0.6, ticks), tuple(strokes), (), (dots,),
        detail, "wide", None,
        ("place", "average rank"), tuple((float(at + 1), average[name]) for at, name in enumerate(ordered)),
    )  # fmt: skip


# More pairs than this fill more than a screen: the closest to a difference are shown, all stand in the rows.
SHOWN_PAIRS = 28
TITLES = {
    "iman-davenport": "Iman–Davenport F",
    "friedman": "Friedman chi-square, ties not corrected",
    "friedman-ties": "Friedman chi-square, corrected for ties",
}


def render_ranks(ranks: LearnerRanks, form: Form) -> list[Block]:
    """The report on a screen, or as a page with the ranks drawn."""
    return ranks_page(ranks) if form == "page" else ranks_blocks(ranks)


def ranks_page(ranks: LearnerRanks) -> list[Block]:
    """The verdict, the diagram, the tables, and where they come from."""
    title, verdict, *rest = ranks_blocks(ranks)
    facts = (
        ("learners", str(len(ranks.table.learners))),
        ("data sets", str(ranks.table.n)),
        ("correction", ranks.correction or "none"),
        ("level", f"{ranks.level:g}"),
    )
    drawing = Section("Average ranks", (draw_rank_rows(ranks),), "ranks")
    return [title, verdict, drawing, Section("Tests", tuple(rest), "tests"), provenance_section(facts)]


def ranks_blocks(ranks: LearnerRanks) -> list[Block]:
    """The verdict, the ranks, the tests of all at once, and the pairs."""
    n, k = ranks.table.n, len(ranks.table.learners)
    best = "higher is better" if ranks.table.higher_is_better else "lower is better"
    blocks: list[Block] = [
        Title(f"{k} learners on {n} data sets", f"average ranks, 1 is best; {best}"),
        Prose(ranks.verdict, "Verdict"),
        _learner_table(ranks),
        _test_table(ranks),
        _pair_table(ranks),
    ]
    if not math.isnan(ranks.critical_difference):
        blocks.append(
            Prose(f"Average ranks differ that lie {plain(ranks.critical_difference)} or more apart ({ranks.how}).")
        )
    blocks += [Note(test.note) for test in ranks.tests if test.note]
    left = len(ranks.pairs) - SHOWN_PAIRS
    if left > 0:
        blocks.append(Note(f"{left} more pairs, with larger p, stand in the rows (to_frame, to_json)."))
    return [*blocks, *(Note(note) for note in ranks.notes)]


def _learner_table(ranks: LearnerRanks) -> Table:
    record = ranks.record()
    ordered = sorted(ranks.average_ranks.items(), key=lambda item: item[1])
    rows = tuple((name, Number(rank, "plain"), *record[name]) for name, rank in ordered)
    heads = (Column("learner"), *(Column(head, "right") for head in ("average rank", "wins", "ties", "losses")))
    return Table(heads, rows, "Ranks; wins, ties and losses against all others")


def _test_table(ranks: LearnerRanks) -> Table:
    heads = head_columns("test", ">statistic", ">df", ">p")
    rows = tuple(
        (
            TITLES[test.method],
            Number(test.statistic, "plain"),
            ", ".join(f"{df:g}" for df in test.df),
            Number(test.p),
        )
        for test in ranks.tests
    )
    return Table(heads, rows, "Do the learners differ at all?")


def _pair_table(ranks: LearnerRanks) -> Table:
    names = ("better", "worse", "ranks apart", "win–tie–loss", "p", f"p, {ranks.how}")
    heads = tuple(Column(name, "left" if at < 2 else "right") for at, name in enumerate(names))
    shown = sorted(ranks.pairs, key=lambda pair: (pair.p, pair.p_alone))[:SHOWN_PAIRS]
    rows = tuple(
        (
            pair.ahead,
            pair.behind,
            Number(abs(pair.difference), "plain"),
            "–".join(map(str, _record_of_better(pair))),
            Number(pair.p_alone),
            Number(pair.p),
        )
        for pair in shown
    )
    return Table(heads, rows, "Which of them differ?")


def _record_of_better(pair: RankPair) -> tuple[int, int, int]:
    """The record of the better one."""
    ends = (pair.wins, pair.losses) if pair.ahead == pair.a else (pair.losses, pair.wins)
    return ends[0], pair.ties, ends[1]
