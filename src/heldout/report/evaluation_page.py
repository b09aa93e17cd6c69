"""The page of an evaluation: verdict, figures, findings, threshold, curves, classes, where it fails, how, whence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from heldout.curves import reliability
from heldout.curves.curve_chart import chart_of
from heldout.curves.decision import GRID
from heldout.curves.declare import list_kinds
from heldout.curves.roc import one_class
from heldout.curves.thinning import shortened
from heldout.errors import HeldoutError
from heldout.evidence import Confusion, Label
from heldout.evidence.probabilities import Probabilities
from heldout.intervals.area_bounds import area_bounds, bounds_words
from heldout.intervals.estimate import Estimate
from heldout.intervals.fold_scores import FoldScores
from heldout.measures.catalogue import OF_EACH_CLASS, find
from heldout.measures.declare import Scope
from heldout.measures.quantity import AVERAGES
from heldout.report.evaluation import (
    ENOUGH_CASES,
    describe_cases,
    find_headline,
    fold_table,
    folded,
    keep_of_folds,
    note_cases,
    order_weakest,
    rule_notes,
    target_blocks,
    titled,
    write_verdict,
)
from heldout.report.evaluation_charts import OF_CLASSES, draw_classes, draw_folds, order_matrix
from heldout.report.explanations import explorer_sections, how_sections
from heldout.report.interval_chart import Mark, interval_chart
from heldout.report.overview import MAPPED, choose_key_figures, linked_cells, make_heatmap, make_overview
from heldout.report.review import count_fired, findings_section, keep_unsaid
from heldout.report.slider import threshold_explorer, why_none
from heldout.results.evaluation import Evaluation, without_false_band
from heldout.review import Review
from heldout.show.blocks import (
    Block,
    Cell,
    Column,
    Heat,
    Number,
    Prose,
    Section,
    Table,
    Title,
    head_columns,
    head_interval,
    provenance_section,
)
from heldout.show.chart import TONES, Chart
from heldout.show.escape import visible
from heldout.show.explorer import Explorer
from heldout.show.heatmap import FIGURED, Heatmap
from heldout.show.numbers import count, plain
from heldout.show.text_width import shorten


def _ranked(evaluation: Evaluation) -> list[tuple[str, str]]:
    """Whether every distinct score was kept for the ranking, where one was made."""
    scores, ranked = evaluation.scores, any(find(e.measure).measure.scope == "ranking" for e in evaluation.estimates)
    if scores is None or evaluation.positive is None or scores.evidence.per_class or isinstance(scores, FoldScores):
        return []
    if not ranked:
        return []
    places = count(len(evaluation.ranking(evaluation.positive)))
    words = bounds_words(area_bounds(scores.evidence))
    return [("ranking", f"{places} bins of scores: {words}" if words else f"exact: {places} distinct scores")]


def evaluation_facts(evaluation: Evaluation) -> list[tuple[str, str]]:
    """What was read for an evaluation, and how it was computed."""
    confusion, estimator = evaluation.confusion, evaluation.estimator
    facts = [("file", evaluation.source.name)] if evaluation.source.name else []
    facts += [(role, shorten(visible(column), 200)) for role, column in evaluation.source.columns]
    if evaluation.source.guessed:
        facts.append(("guessed from the column names", ", ".join(evaluation.source.guessed)))
    facts.append(("cases", count(confusion.n_cases)))
    if confusion.weighted:
        facts.append(("total weight", count(confusion.n)))
    if confusion.clusters is not None:
        facts.append(("groups", count(confusion.clusters.number)))
    facts.append(("classes", count(confusion.n_classes)))
    if evaluation.positive is not None:
        facts.append(("positive class", shorten(visible(str(evaluation.positive)), 200)))
    if evaluation.threshold is not None:
        facts.append(("threshold", plain(evaluation.threshold)))
    facts += _ranked(evaluation)
    if evaluation.fingerprint:
        facts.append(("fingerprint of the cases", evaluation.fingerprint))
    return [
        *facts,
        ("level", f"{estimator.level:g}"),
        ("seed", str(estimator.seed)),
        ("replicates", count(estimator.replicates)),
    ]


POOLED = (
    "No curve of all folds together: the scores come from several models and are not on one scale, so the cases of one "
    "fold cannot be ranked against those of another."
)


def curve_blocks(evaluation: Evaluation, *, moves: bool) -> list[Block]:
    """Every curve that the scores allow; `moves` marks the explorer's threshold on each."""
    if evaluation.scores is None:
        return []
    blocks: list[Block]
    if isinstance(evaluation.scores, FoldScores):
        blocks = _draw_folds(evaluation)
    elif evaluation.positive is not None and not evaluation.scores.evidence.per_class:
        blocks = _draw_positive(evaluation, evaluation.positive, moves=moves)
    else:
        blocks = _draw_classes(evaluation)
    tallied = evaluation.scores.evidence.probabilities
    calibrated = [] if tallied is None else _reliability(evaluation, tallied)
    # After precision and recall, where both are there.
    return [*blocks[:2], *calibrated, *blocks[2:]]


def _draw_positive(evaluation: Evaluation, positive: Label, *, moves: bool) -> list[Block]:
    whole = evaluation.ranking(positive)
    why = one_class(whole)
    if why:
        return [Prose(f"No curves: {why}.")]
    ranking = shortened(whole, GRID)
    joined = len(whole) - len(ranking)
    calibrated = evaluation.scores is not None and evaluation.scores.evidence.probabilities is not None
    settings = {"positive": positive, "level": evaluation.level, "seed": evaluation.estimator.seed}
    charts: dict[str, list[Chart]] = {"shown": [], "folded": []}
    for kind in list_kinds():
        if kind.page and (calibrated or not kind.needs_probabilities):
            curve = kind.compute(ranking, settings)
            points = len(curve) + (joined if kind.per_score else 0)
            charts[kind.page].append(chart_of(curve, whole=points, moves=moves))
    return [*charts["shown"], Section("Cumulative gains and lift", tuple(charts["folded"]), "gains", folded=True)]


def _draw_folds(evaluation: Evaluation) -> list[Block]:
    """One ROC curve per fold for two classes: each model ranks its own cases only."""
    try:
        return [draw_folds(evaluation), Prose(POOLED)]
    except HeldoutError:
        return [Prose(POOLED)]


def _draw_classes(evaluation: Evaluation) -> list[Block]:
    """One curve per class, each against the rest, for as many as can be told apart: the largest."""
    try:
        charts: list[Block] = [draw_classes(evaluation, kind) for kind in OF_CLASSES]
    except HeldoutError:
        return []
    drawn = min(len(TONES), evaluation.confusion.n_classes)
    left = evaluation.confusion.n_classes - drawn
    return [*charts, *([Prose(f"The curves of the {drawn} largest classes; {left:,} are not drawn.")] if left else [])]


def _reliability(evaluation: Evaluation, tallied: Probabilities) -> list[Chart]:
    try:
        seen = reliability(tallied, level=evaluation.level, positive=evaluation.positive)
        charts = [chart_of(without_false_band(evaluation, seen))]
        if evaluation.positive is not None and not tallied.top_label:
            charts.append(chart_of(evaluation.curve("calibration")))
    except HeldoutError:
        return []
    return charts


# More bars than two to a line are wider than a page.
BARS = ("precision", "recall")
# Rows of the table of classes, and the classes of the widest matrix that a page shows.
SHOWN_CLASSES = 200
MATRIX_CLASSES = 40
# Cells of a larger matrix that are listed under it.
LISTED_CELLS = 600


def measures_table(estimates: Iterable[Estimate], names: Iterable[str], level: float, caption: str = "") -> Table:
    """One line per estimate: its name, value, interval, the interval drawn, method and n."""
    rows: list[tuple[Cell, ...]] = [
        (name, *linked_cells(e), e.method, Number(float(e.n), "count"))
        for name, e in zip(names, estimates, strict=True)
    ]
    columns = head_columns("measure", ">value", head_interval(level), "", "method", ">n")
    return Table(columns, tuple(rows), caption)


def class_blocks(evaluation: Evaluation) -> list[Block]:
    """One line per class, the weakest first, with precision, recall and F1, their intervals drawn, and the averages."""
    confusion = evaluation.confusion
    shown: list[int] = order_weakest(confusion)[:SHOWN_CLASSES].tolist()
    rows = [
        (
            str(confusion.labels[at]),
            Number(float(confusion.truth_totals[at]), "count"),
            *_figures([evaluation.get(measure, class_=confusion.labels[at]) for measure in OF_EACH_CLASS]),
        )
        for at in shown
    ]
    left = confusion.n_classes - len(shown)
    more = f"; {left:,} more are not listed" if left else ""
    caption = f"The weakest first, by recall; those under {ENOUGH_CASES} cases last{more}"
    blocks: list[Block] = [Table(_heads("class", "n"), tuple(rows), caption if confusion.n_classes > 2 else "")]
    if confusion.n_classes > 1:
        averages = [
            (average, None, *_figures([evaluation.get(measure, average=average) for measure in OF_EACH_CLASS]))
            for average in AVERAGES
        ]
        blocks.append(Table(_heads("average", ""), tuple(averages)))
    return blocks


def _heads(first: str, second: str) -> tuple[Column, ...]:
    columns = [Column(first), Column(second, "right")]
    for measure in OF_EACH_CLASS:
        columns += [Column(find(measure).title, "right"), Column("interval")]
        columns += [Column("")] if measure in BARS else []
    return tuple(columns)


def _figures(estimates: Sequence[Estimate]) -> tuple[Cell, ...]:
    return tuple(cell for e in estimates for cell in linked_cells(e)[: 3 if e.measure in BARS else 2])


def matrix_blocks(confusion: Confusion, first: int | None = None) -> list[Block]:
    """The matrix in counts, in shares of its rows and of its columns; `first` is the class that comes first."""
    if confusion.n_classes > MAPPED:
        return [Prose(f"A matrix of {confusion.n_classes:,} classes has no place on a page.")]
    heatmap = make_heatmap(confusion, first)
    if confusion.n_classes > MATRIX_CLASSES:
        return [heatmap, *_listed_cells(heatmap)]
    matrix, names = order_matrix(confusion, first)
    rows, columns = matrix.sum(axis=1, keepdims=True), matrix.sum(axis=0, keepdims=True)
    by_row = np.divide(matrix, rows, out=np.full(matrix.shape, np.nan), where=rows > 0)
    by_column = np.divide(matrix, columns, out=np.full(matrix.shape, np.nan), where=columns > 0)
    counts = [
        tuple(Heat(float(number_of_cases), float(share)) for number_of_cases, share in zip(line, shares, strict=True))
        for line, shares in zip(matrix, np.nan_to_num(by_row), strict=True)
    ]
    square = _square(names, counts, "" if len(names) > FIGURED else "Counts")
    blocks: list[Block] = [square]
    if len(names) > FIGURED:
        blocks = [heatmap, Section("Counts", (square,), "matrix-counts", folded=True)]
    for title, shares, name in (
        ("Row %: what became of the cases of each class", by_row, "matrix-rows"),
        ("Column %: what the predictions were worth", by_column, "matrix-columns"),
    ):
        cells = [tuple(Number(float(share), "percent", 1) for share in line) for line in shares]
        blocks.append(Section(title, (_square(names, cells),), name, folded=True))
    return blocks


def _listed_cells(heatmap: Heatmap) -> list[Block]:
    """The cells of a large matrix that are not empty, in a folded table, the largest parts of a class first."""
    cells = sorted(heatmap.cells(), key=lambda cell: (cell[0] == cell[1], -cell[3], cell[:2]))
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (heatmap.labels[i], heatmap.labels[j], Number(count_, "count"), Number(share, "percent", 1))
        for i, j, count_, share in cells[:LISTED_CELLS]
    )
    heads = head_columns("truth", "predicted", ">cases", ">of the class")
    left = len(cells) - len(rows)
    remark = [Prose(f"{left:,} more are not listed, each a smaller part of its class.")] if left else []
    title = "Counts of the cells that are not empty"
    return [Section(title, (Table(heads, rows), *remark), "matrix-counts", folded=True)]


def _square(names: Sequence[str], cells: Sequence[tuple[Cell, ...]], caption: str = "") -> Table:
    columns = (Column("truth ↓  predicted →"), *(Column(name, "right") for name in names))
    return Table(columns, tuple((name, *line) for name, line in zip(names, cells, strict=True)), caption)


# Cases of each kind in the list of the hardest.
HARDEST = 10
# Kinds of error in the list of those made most.
CONFUSED = 15
# Letters of a label in a line of text.
NAMED = 60


def evaluation_page(evaluation: Evaluation) -> list[Block]:
    """Everything that there is to see of an evaluation, in reading order."""
    return [
        title_of(evaluation),
        *_read(evaluation),
        *page_body(evaluation, evaluation.review, target_blocks(evaluation)),
        provenance_section(evaluation_facts(evaluation)),
    ]


def chosen_page(evaluation: Evaluation) -> list[Block]:
    """Only the estimates that were asked for, how they were made, and where they come from."""
    names = [titled(e) for e in evaluation.estimates]
    return [
        title_of(evaluation),
        *_read(evaluation),
        _measures(evaluation, list(evaluation.estimates), names),
        findings_section(evaluation.review),
        *how_blocks(evaluation, evaluation.estimates, moved=False),
        provenance_section(evaluation_facts(evaluation)),
    ]


def page_body(evaluation: Evaluation, review: Review | None, beside: Iterable[Block]) -> list[Block]:
    """From the verdict to how each number was made: what the pages of an evaluation and of a validation share.

    Without a review its findings stand elsewhere; `beside` comes before how the numbers were made.
    """
    explorer = threshold_explorer(evaluation)
    curves = curve_blocks(evaluation, moves=explorer is not None)
    counts = "" if review is None else count_fired(review)
    return [
        Prose(" ".join(write_verdict(evaluation)), label="Verdict"),
        make_overview(evaluation, curves, counts),
        *([] if review is None else [findings_section(review)]),
        *_measured(evaluation, explorer, curves),
        *beside,
        *how_blocks(evaluation, evaluation.estimates),
    ]


def _measured(evaluation: Evaluation, explorer: Explorer | None, curves: list[Block]) -> list[Block]:
    """The threshold or the matrix, the curves, the classes, all measures, and where it fails."""
    blocks: list[Block] = []
    headline = _headline(evaluation, "class", "table", "cases")
    if explorer is not None:
        blocks.append(Section("Threshold, costs and prevalence", (explorer,), "threshold"))
    else:
        positive = None if evaluation.positive is None else evaluation.confusion.index(evaluation.positive)
        blocks.append(_measures(evaluation, headline, [titled(e) for e in headline]))
        blocks.append(
            Section("Confusion matrix", (*matrix_blocks(evaluation.confusion, positive), *_pairs(evaluation)), "matrix")
        )
    blocks += _curves(evaluation, curves)
    blocks.append(Section("Classes", tuple(class_blocks(evaluation)), "classes"))
    blocks += _failures(evaluation)
    return [*blocks, *_notes(evaluation), _everything(evaluation)]


def title_of(evaluation: Evaluation) -> Title:
    """What the page is about, and how much was read."""
    return Title(evaluation.source.name or "Evaluation of a classifier", describe_cases(evaluation, NAMED))


def _read(evaluation: Evaluation) -> list[Block]:
    read = evaluation.source.describe_guesses(spell=lambda column: shorten(visible(column), NAMED))
    return [Prose(read, label="Read")] if read else []


def _headline(evaluation: Evaluation, *scopes: Scope) -> list[Estimate]:
    """Those of the measures shown first that were estimated."""
    headline = find_headline(evaluation, "page", macro_too=("ranking",))
    return keep_of_folds([e for e in headline if find(e.measure).measure.scope in scopes])


def _measures(evaluation: Evaluation, estimates: list[Estimate], names: list[str]) -> Section:
    over_folds = folded(estimates)
    if over_folds is None:
        return Section("Measures", (measures_table(estimates, names, evaluation.level),), "measures")
    table = fold_table(over_folds, names, evaluation.level, full=True)
    return Section("Measures", (table, *rule_notes(over_folds)), "measures")


def _curves(evaluation: Evaluation, curves: list[Block]) -> list[Block]:
    if evaluation.scores is None:
        return []
    headline = _headline(evaluation, "ranking", "pairs", "probability")
    blocks: list[Block] = (
        [measures_table(headline, [titled(e) for e in headline], evaluation.level)] if headline else []
    )
    blocks += curves
    why = why_none(evaluation)
    if why:
        blocks.append(Prose(f"There is no slider: {why}."))
    return [Section("Scores and curves", tuple(blocks), "curves")] if blocks else []


def _pairs(evaluation: Evaluation) -> list[Block]:
    """The classes that are confused with each other most, where there are more than two."""
    if evaluation.confusion.n_classes < 3:
        return []
    return _asked(evaluation, "confused", most=CONFUSED)


def _failures(evaluation: Evaluation) -> list[Block]:
    """Worst slices and hardest cases, where the evaluation has them."""
    blocks: list[Block] = []
    if evaluation.slice_columns:
        timed = _over_time(evaluation)
        blocks += [Section("Over time", tuple(timed), "time")] if timed else []
        parts: list[Block] = []
        parts += _asked(evaluation, "worst_slices")
        every = _asked(evaluation, "slices")
        parts += [Section("Every slice", tuple(every), "every-slice", folded=True)] if every else []
        if parts:
            blocks.append(Section("Slices", tuple(parts), "slices"))
    if evaluation.scores is not None:
        hardest = _asked(evaluation, "hardest", most=HARDEST)
        if hardest:
            blocks.append(Section("Hardest cases", tuple(hardest), "hardest"))
    return blocks


# Measures that are drawn over time.
OVER_TIME = 2


def _over_time(evaluation: Evaluation) -> list[Block]:
    """For each column of dates the figures that matter most, period by period, with their intervals."""
    blocks: list[Block] = []
    for column in evaluation.slice_columns:
        if column.kind != "periods":
            continue
        for e in _timely(evaluation):
            try:
                slices = evaluation.slices(e.name, columns=column.name)
            except HeldoutError:
                continue
            marks = [
                Mark(slice_.values[0], slice_.estimate.value, slice_.estimate.low, slice_.estimate.high)
                for slice_ in slices
            ]
            about = f"Dots: the value in each period, bars: its {100 * evaluation.level:g} % interval."
            chart = interval_chart(
                [mark for mark in marks if not mark.name.startswith("(")],
                f"{titled(e)} over {shorten(visible(column.name), NAMED)}",
                titled(e),
                lines=[("all cases", e.value)],
                along=shorten(visible(column.name), NAMED),
                detail=about,
            )
            blocks += [] if chart is None else [chart]
    return blocks


def _timely(evaluation: Evaluation) -> list[Estimate]:
    """What is drawn over time: of the key figures the first that counts make, and that by which slices are judged."""
    counted = [e for e in choose_key_figures(evaluation) if find(e.measure).measure.scope in ("class", "table")]
    return counted[:OVER_TIME]


def _asked(evaluation: Evaluation, name: str, **options: Any) -> list[Block]:
    """The blocks of one of the evaluation's further answers, without a title of their own; nothing where refused."""
    ask = getattr(evaluation, name, None)
    if ask is None:
        return []
    try:
        curve = ask(**options)
    except HeldoutError as refused:
        return [Prose(refused.what)]
    return [Prose(b.text) if isinstance(b, Title) else b for b in curve.blocks()]


def _notes(evaluation: Evaluation) -> list[Block]:
    blocks = note_cases(evaluation, keep_unsaid(evaluation.notes, evaluation.source, evaluation.review.fired))
    return [Section("Notes", tuple(blocks), "notes")] if blocks else []


def _everything(evaluation: Evaluation) -> Section:
    """Every estimate that was made of all cases, of the positive class and averaged; of each class in its section."""
    groups = [
        ("All cases", [e for e in evaluation.estimates if e.class_ is None and e.average is None]),
        ("Averages over the classes", [e for e in evaluation.estimates if e.average is not None]),
    ]
    if evaluation.positive is not None:
        groups.append(
            (
                f"{evaluation.positive} against the rest",
                [e for e in evaluation.estimates if e.class_ == evaluation.positive],
            )
        )
    blocks = tuple(
        measures_table(estimates, [titled(e) for e in estimates], evaluation.level, caption)
        for caption, estimates in groups
        if estimates
    )
    return Section("Every measure", blocks, "everything", folded=True)


def how_blocks(evaluation: Evaluation, estimates: tuple[Estimate, ...], *, moved: bool = True) -> list[Block]:
    """One section with a folded section for each measure; `moved` says that there is a threshold to move."""
    sections: list[Block] = list(how_sections(evaluation, estimates))
    sections += explorer_sections(evaluation) if moved and not why_none(evaluation) else []
    return [Section("How each number was made", tuple(sections), "how")] if sections else []
