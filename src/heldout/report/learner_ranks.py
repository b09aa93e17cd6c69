"""The report of learners ranked on data sets: the verdict, the ranks, the tests of all at once, and the pairs."""

from __future__ import annotations

import math

from heldout.comparisons.learner_ranks import LearnerRanks, RankPair
from heldout.report.critical_difference import draw_rank_rows
from heldout.result import Form
from heldout.show.blocks import Block, Column, Note, Number, Prose, Section, Table, Title
from heldout.show.numbers import plain
from heldout.show.provenance import provenance_section

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
    heads = (Column("test"), Column("statistic", "right"), Column("df", "right"), Column("p", "right"))
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
    shown = sorted(ranks.pairs, key=lambda pair: (pair.adjusted, pair.p))[:SHOWN_PAIRS]
    rows = tuple(
        (
            pair.better,
            pair.worse,
            Number(abs(pair.difference), "plain"),
            "–".join(map(str, _record_of_better(pair))),
            Number(pair.p),
            Number(pair.adjusted),
        )
        for pair in shown
    )
    return Table(heads, rows, "Which of them differ?")


def _record_of_better(pair: RankPair) -> tuple[int, int, int]:
    """The record of the better one."""
    ends = (pair.wins, pair.losses) if pair.better == pair.a else (pair.losses, pair.wins)
    return ends[0], pair.ties, ends[1]
