"""The report of a comparison: verdict, models × measures, differences, tests, what they rest on, curves overlaid."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from heldout.arguments import capitalize, listing
from heldout.comparisons.best import Best, BestBy
from heldout.comparisons.comparison import UNNAMED, ModelTable, Pair, PairwiseComparison
from heldout.comparisons.corrections import is_significant
from heldout.comparisons.pair_test import OmnibusTest
from heldout.comparisons.paired_scores import AREAS
from heldout.curves import precision_recall, reliability, roc
from heldout.curves.curve import CHECK_CLASSES
from heldout.curves.curve_chart import draw_together, overlay
from heldout.curves.decision import GRID
from heldout.curves.roc import FPR, one_class
from heldout.curves.thinning import shortened
from heldout.errors import HeldoutError, OptionError, ValuesError
from heldout.intervals.fold_scores import FoldScores
from heldout.measures.catalogue import read_quantity
from heldout.measures.quantity import Bound
from heldout.report.evaluation import titled
from heldout.report.interval_chart import Mark, estimate_cells, forest_chart, interval_chart
from heldout.report.overview import MAPPED, has_rare_positives, make_heatmap
from heldout.report.review import count_fired, findings_section
from heldout.result import Form
from heldout.show.blocks import (
    Block,
    Cell,
    Column,
    Note,
    Number,
    Overview,
    Prose,
    Range,
    Section,
    Span,
    Style,
    Table,
    Title,
    head_columns,
    head_interval,
    pick,
    provenance_section,
    value_and_interval,
)
from heldout.show.chart import TONES, Axis, Chart, Dots, Ribbon, Stroke, Tips
from heldout.show.numbers import digits_between, number, share, show_p

if TYPE_CHECKING:
    from heldout.comparisons.optimal_ranges import OptimalRanges
    from heldout.comparisons.roc_pair import RocComparison


SHOWN_VERDICTS, SHOWN_BESIDE_BEST = 6, 3
# Verdicts on the first screen of a page, which says the others below.
SHOWN_FIRST = 2


def render_comparison(comparison: PairwiseComparison, form: Form) -> list[Block]:
    """The report on a screen, in full or as a page."""
    return comparison_page(comparison) if form == "page" else comparison_blocks(comparison, full=form == "full")


def comparison_blocks(comparison: PairwiseComparison, *, full: bool, curves: bool = True) -> list[Block]:
    """The report; `full` adds every figure of every test, `curves` says in words where two ROC curves cross."""
    many = len(comparison.names) > 2
    title = (
        " against ".join(comparison.names)
        if not many
        else f"{len(comparison.names)} classifiers: {', '.join(comparison.names)}"
    )
    blocks: list[Block] = [Title(title, comparison.setting)]
    shown = _verdicts(comparison, full=full)
    blocks += [Prose("\n".join(shown), label="Verdict")] if shown else []
    blocks += [models_table(comparison.models())] if many or full else []
    blocks += [
        Prose(f"{named(p)}: {p.margin.verdict}", label="Margin") for p in comparison.pairs if p.margin is not None
    ]
    # Which may be the best by the first measure is marked in the table of models.
    blocks += best_tables(comparison.best) if full else []
    blocks.append(_differences(comparison))
    if full:
        blocks.append(_tests(comparison))
    crossed = _crossing(comparison) if curves else ""
    blocks += [Prose(crossed, label="Curves")] if crossed else []
    blocks.append(Prose(comparison.reason, label="How"))
    blocks += [Prose(_omnibus(test), label="All") for test in comparison.omnibus]
    if many:
        pairs = len({(pair.a, pair.b) for pair in comparison.pairs})
        how = f"p-values are corrected by {comparison.correction}" if comparison.correction else ""
        how = "there are no p-values" if all(math.isnan(p.p) for p in comparison.pairs) else how
        # That they are not corrected is a finding.
        blocks.append(Note(f"{len(comparison.names)} classifiers make {pairs} comparisons{'; ' * bool(how)}{how}."))
    titles = " ".join(finding.title for finding in comparison.review.fired)
    # That both give the same is said by the verdict.
    tests = dict.fromkeys(pair.tested.note for pair in comparison.pairs if pair.tested.note and not pair.alike)
    # A note of a test that a finding repeats is shown once.
    remarks = [
        *_said_once(comparison.notes, comparison.names),
        *(text for text in tests if text.rstrip(".") not in titles),
    ]
    blocks += [Note(_sentence(text, comparison.names), "warning") for text in dict.fromkeys(remarks)]
    return [*blocks, *(comparison.review.full_blocks() if full else comparison.review.blocks())]


def _crossing(comparison: PairwiseComparison) -> str:
    """Where the ROC curves of two classifiers cross, where their areas are compared."""
    if comparison.curves is None or len(comparison.names) != 2:
        return ""
    by_area = any(pair.measure in AREAS for pair in comparison.pairs)
    return comparison.curves.describe_crossing(*comparison.names) if by_area else ""


def _said_once(notes: Iterable[str], names: Sequence[str]) -> list[str]:
    """The notes; one that is said alike of several classifiers is said of all of them together.

    >>> _said_once(["a: 'w' of a was not used", "b: 'w' of b was not used", "b: late"], ["a", "b"])
    ["a, b: 'w' was not used", 'b: late']
    >>> _said_once(["late", "late"], ["a", "b"])
    ['late']
    """
    gathered: dict[str, list[tuple[str, str]]] = {}
    for note in dict.fromkeys(notes):
        name = next((name for name in names if note.startswith(f"{name}: ")), "")
        # A file that is given twice is told by a number, which what is said of its columns does not have.
        file = re.sub(r" \(\d+\)$", "", name)
        alike = note.removeprefix(f"{name}: ").replace(f" of {file} ", " ") if name else note
        gathered.setdefault(alike, []).append((name, note))
    return [
        said[0][1] if len(said) == 1 else f"{listing([name for name, _ in said], most=3)}: {alike}"
        for alike, said in gathered.items()
    ]


def _sentence(text: str, names: Sequence[str]) -> str:
    """A note as a sentence; one that begins with the name of a classifier keeps it as it is written."""
    of_one = any(text.startswith((f"{name}:", f"{name},", f"{name} ")) for name in names)
    start = text[:1] if of_one else text[:1].upper()
    return f"{start}{text[1:].rstrip('.')}."


def _verdicts(comparison: PairwiseComparison, *, full: bool) -> list[str]:
    """Which may be the best, the verdicts by the first measure, and those by others that say something else.

    In full, all of them.
    """
    first: dict[tuple[str, str], str] = {}
    pairs: list[Pair] = []
    for pair in comparison.pairs:
        known = first.setdefault((pair.a, pair.b), pair.measure)
        outcome = next(p.better for p in comparison.pairs if (p.a, p.b) == (pair.a, pair.b))
        if full or known == pair.measure or pair.better != outcome:
            pairs.append(pair)
    best = [] if comparison.best is None else [by.verdict for by in comparison.best.measures if by.verdict]
    if full:
        return [*best, *(pair.verdict for pair in pairs)]
    most = SHOWN_BESIDE_BEST if best else SHOWN_VERDICTS
    if best:
        # Beside which may be the best, those that are told apart say more than those that are not.
        pairs.sort(key=lambda pair: pair.better not in ("a", "b"))
    more = [f"… and {len(pairs) - most} more in the table."] if len(pairs) > most else []
    return [*best[:1], *(pair.verdict for pair in pairs[:most]), *more]


def render_best(best: Best, form: Form) -> list[Block]:
    """Which may be the best: a sentence and a table for each measure, whatever the form."""
    del form
    names = [contender.name for contender in best.measures[0].contenders]
    verdicts = [by.verdict for by in best.measures if by.verdict]
    title = Title(f"The best of {len(names)}", f"level {best.level:g}")
    return [title, *([Prose("\n".join(verdicts), label="Verdict")] if verdicts else []), *best_tables(best)]


def render_models(models: ModelTable, form: Form) -> list[Block]:
    """Models × measures, whatever the form."""
    del form
    return [Title(f"{len(models)} models", models.setting), models_table(models)]


def models_table(models: ModelTable) -> Table:
    """One row per model, for each measure its value with its own interval; those that may be the best are marked."""
    first = models.estimates[0]
    columns = [Column("model")]
    # A measure without any interval, such as one of a table of results, has no column for it.
    known = [any(not math.isnan(line[at].low) for line in models.estimates) for at in range(len(first))]
    classes = {e.class_ for e in first if e.class_ is not None}
    for e, limited in zip(first, known, strict=True):
        bound = _bound(e.measure)
        title = e.measure if bound is None else titled(replace(e, class_=None) if len(classes) == 1 else e)
        columns += value_and_interval(title) if limited else [Column(title, "right")]
    rows: list[tuple[Cell, ...]] = []
    for name, line in zip(models.names, models.estimates, strict=True):
        cells: list[Cell] = [name]
        for e, best, limited in zip(line, models.marked, known, strict=True):
            cells.append(Number(e.value, e.style, e.digits if limited else None, marked=name in best))
            cells += [Range(e.low, e.high, e.style, e.digits)] if limited else []
        rows.append(tuple(cells))
    caption = f"Models with {100 * models.level:g} % intervals of each by itself" if any(known) else "Models"
    caption += f"; positive class {classes.pop()}" if len(classes) == 1 else ""
    if any(models.marked):
        many = "not ruled out as the best, corrected for all pairs"
        caption += f"; marked: {many if len(models) > 2 else 'the better one, where they are told apart'}"
    return Table(tuple(columns), tuple(rows), caption, "models")


def best_tables(best: Best | None) -> list[Table]:
    """For each measure, how far each is ahead of the best of the others."""
    return [] if best is None else [_best_table(by) for by in best.measures if by.contenders]


def _best_table(by: BestBy) -> Table:
    bound = _bound(by.measure)
    style: Style = "share" if bound is not None and bound.measure.bounded else "plain"
    lower = bound is not None and bound.measure.direction == "lower"
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            contender.name,
            Number(contender.value, style),
            Range(
                contender.low,
                contender.high,
                style,
                digits_between(contender.low, contender.high) if style == "share" else None,
            ),
            "yes" if contender.may_be_best else "no",
        )
        for contender in sorted(by.contenders, key=lambda contender: contender.value if lower else -contender.value)
    )
    columns = head_columns("model", Column(by.title, "right"), "ahead of the best of the others", "may be the best")
    return Table(columns, rows, f"The best by {by.title}, {100 * by.level:g} % for all at once", "best")


def _bound(measure: str) -> Bound | None:
    """The measure, unless it is the unnamed one of a table of results."""
    return None if measure == UNNAMED else read_quantity(measure).bound


def named(pair: Pair) -> str:
    """The measure of a pair as a table writes it."""
    bound = _bound(pair.measure)
    title = pair.measure if bound is None else bound.title
    if pair.class_ is not None:
        return f"{title} ({pair.class_})"
    return f"{pair.average} {title}" if pair.average else title


def _name_beside(pair: Pair, comparison: PairwiseComparison) -> str:
    """The measure without its class, where the table of models names one class for all measures."""
    one_class = len(comparison.names) > 2 and len({p.class_ for p in comparison.pairs} - {None}) == 1
    return named(replace(pair, class_=None) if one_class else pair)


def _round_up(reach: float) -> float:
    step = 10.0 ** (math.floor(math.log10(reach)) - 1)
    return float(f"{math.ceil(reach / step - 1e-9) * step:.12g}")


def _differences(comparison: PairwiseComparison) -> Table:
    """One line per pair and measure, with the difference drawn around zero."""
    many = len(comparison.names) > 2
    widest = max(
        [abs(x) for p in comparison.pairs for x in (p.tested.low, p.tested.high) if math.isfinite(x)], default=1.0
    )
    # Its ends are written over the track: two digits are enough.
    reach = _round_up(max(min(widest, 1.0), 1e-9))
    rows: list[tuple[Cell, ...]] = []
    for pair in comparison.pairs:
        t = pair.tested
        bound = _bound(pair.measure)
        style: Style = "share" if bound is not None and bound.measure.bounded else "plain"
        digits = digits_between(t.low, t.high) if style == "share" else None
        drawn = style == "share" and math.isfinite(t.low) and math.isfinite(t.high)
        # Of many models the values stand in the table of models, which names the class too.
        cells: list[Cell] = (
            [f"{pair.a} − {pair.b}", _name_beside(pair, comparison)]
            if many
            else [named(pair), Number(pair.value_a, style, digits), Number(pair.value_b, style, digits)]
        )
        cells += [
            Number(t.difference, style, digits),
            Range(t.low, t.high, style, digits),
            *([] if comparison.best is None else [_together(pair, style, digits)]),
            show_p(pair.p),
            Span(t.difference, t.low, t.high, -reach, reach) if drawn and not many else None,
        ]
        rows.append(tuple(cells))
    heads = (comparison.names[0], comparison.names[1] if len(comparison.names) > 1 else "")
    columns = (
        *([Column("pair")] if many else []),
        Column("measure"),
        *([] if many else [Column(head, "right") for head in heads]),
        Column("difference", "right"),
        Column(head_interval(comparison.level)),
        *(() if comparison.best is None else (Column("all pairs at once"),)),
        Column("p", "right"),
        Column(""),
    )
    if all(row[-1] is None for row in rows):
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    return Table(columns, tuple(rows), name="differences")


def _together(pair: Pair, style: Style, digits: int | None) -> Cell:
    """The limits of a difference that hold for all pairs at once."""
    return None if pair.together is None else Range(*pair.together, style, digits)


def _tests(comparison: PairwiseComparison) -> Table:
    many = len(comparison.names) > 2
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            *([f"{pair.a} − {pair.b}"] if many else []),
            _name_beside(pair, comparison),
            pair.tested.method,
            Number(pair.tested.statistic, "plain"),
            Number(pair.tested.df, "plain"),
            show_p(pair.tested.p),
            Number(pair.tested.effect, "plain", 3),
            pair.tested.effect_name,
            Number(pair.tested.n, "count"),
        )
        for pair in comparison.pairs
    )
    columns = head_columns(
        *(["pair"] if many else []),
        "measure",
        Column("method", wrap=True),
        ">statistic",
        ">df",
        ">p, not corrected" if comparison.correction else ">p",
        ">effect",
        Column("", wrap=True),
        ">n",
    )
    return Table(columns, rows, "The tests", "tests")


def _omnibus(test: OmnibusTest) -> str:
    start = f"{test.about}, by {test.method}"
    if math.isnan(test.p):
        return f"{capitalize(start)}: {test.undefined or test.note}."
    df = "" if math.isnan(test.df) else f", df = {test.df:g}"
    told = "differ" if is_significant(test.p, test.level) else "cannot be told apart"
    p = show_p(test.p) if test.p < 0.001 else f"= {show_p(test.p)}"
    figures = "" if math.isnan(test.statistic) else f"statistic {number(test.statistic, 'plain')}{df}, "
    note = f" ({test.note})" if test.note else ""
    return f"{capitalize(start)}: {figures}p {p}: together they {told}{note}."


# Charts of differences hold measures that share a scale; the most differences in one chart.
SHOWN = 40


def comparison_page(comparison: PairwiseComparison) -> list[Block]:
    """Verdict, models and their curves, findings, differences, tests, more curves, matrices, notes and provenance."""
    # A page draws the curves, and says there where they cross.
    every = comparison_blocks(comparison, full=True, curves=False)
    title = [block for block in every if isinstance(block, Title)][:1]
    prose = [block for block in every if isinstance(block, Prose) and block.label not in ("Findings", "Verdict")]
    models, *tables = [block for block in every if isinstance(block, Table)]
    notes = [block for block in every if isinstance(block, Note) and not block.code]
    charts = overlaid_curves(comparison)
    brief, verdicts = _verdicts(comparison, full=False), _verdicts(comparison, full=True)
    blocks: list[Block] = [
        *title,
        *([Prose("\n".join(brief[:SHOWN_FIRST]), label="Verdict")] if brief else []),
        _overview(comparison, models, charts),
        findings_section(comparison.review),
    ]
    best = [
        table
        for table in tables
        if table.caption in {best_table.caption for best_table in best_tables(comparison.best)}
    ]
    tables = [table for table in tables if table not in best]
    if best:
        blocks.append(Section("Which may be the best", tuple(best), "best"))
    more_verdicts = [Prose("\n".join(verdicts))] if len(verdicts) > len(brief[:SHOWN_FIRST]) else []
    first = [block for block in prose if block.label == "Margin"]
    how = [block for block in prose if block not in first]
    blocks.append(
        Section("Differences", (*more_verdicts, *first, *_charts(comparison), *tables[:1], *how), "differences")
    )
    blocks += _curves(comparison, charts)
    blocks += _matrices(comparison)
    if tables[1:]:
        blocks.append(Section("Tests", tuple(tables[1:]), "tests", folded=True))
    if notes:
        blocks.append(Section("Notes", tuple(notes), "notes"))
    facts = [
        ("classifiers", ", ".join(comparison.names)),
        ("compared on", comparison.setting),
        ("procedure", comparison.reason),
        ("correction", comparison.correction or "none"),
        ("level", f"{comparison.level:g}"),
        ("seed", str(comparison.seed)),
    ]
    return [*blocks, provenance_section(facts)]


def _overview(comparison: PairwiseComparison, models: Table, charts: list[Chart]) -> Overview:
    """Every model by the leading measure with its interval drawn, a chart of all, and the table of all measures."""
    counts, models_compared = count_fired(comparison.review), comparison.models()
    leading = [line[0] for line in models_compared.estimates]
    bound = _bound(leading[0].measure)
    # The table below names the class, where it is the same for all measures.
    classes = {e.class_ for e in models_compared.estimates[0]} - {None}
    shown = replace(leading[0], class_=None) if len(classes) == 1 else leading[0]
    title = leading[0].measure if bound is None else titled(shown)
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            name,
            Number(e.value, e.style, e.digits, marked=name in models_compared.marked[0]),
            *estimate_cells(e)[1:],
        )
        for name, e in zip(models_compared.names, leading, strict=True)
    )
    heads = head_columns("model", Column(title, "right"), head_interval(models_compared.level), "")
    more = _brief_differences(comparison) if len(models_compared) == 2 else None
    return Overview(Table(heads, rows), None, charts[0] if charts else None, counts, more, models)


def _brief_differences(comparison: PairwiseComparison) -> Table:
    """Of two classifiers only the differences, drawn around zero."""
    whole = _differences(comparison)
    wanted = ("measure", "difference", head_interval(comparison.level), "")
    kept = [at for at, column in enumerate(whole.columns) if column.header in wanted]
    return replace(pick(whole, kept[:4]), caption="")


def _charts(comparison: PairwiseComparison) -> list[Chart]:
    """The differences as dots around zero: all measures of one pair, or all pairs by each measure."""
    groups: dict[str, list[Pair]] = {}
    many = len(comparison.names) > 2
    for pair in comparison.pairs:
        groups.setdefault(named(pair) if many else f"{pair.a} − {pair.b}", []).append(pair)
    charts = []
    for title, pairs in groups.items():
        marks = _marks(pairs, many=many)
        level = f"Dots: the difference, bars: its {100 * comparison.level:g} % interval. Zero is no difference."
        chart = interval_chart(
            marks, f"Differences: {title}", "difference", lines=[("no difference", 0.0)], detail=level
        )
        charts += [] if chart is None else [chart]
    return charts


def draw_differences(comparison: PairwiseComparison, measure: str | None = None) -> Chart:
    """The differences with their intervals around zero: of one pair by all measures, of many pairs by one measure."""
    many = len(comparison.names) > 2
    names = list(dict.fromkeys(pair.name for pair in comparison.pairs))
    wanted = names[0] if many and measure is None else measure
    pairs = [pair for pair in comparison.pairs if wanted in (None, pair.name, pair.measure, named(pair))]
    if not pairs:
        raise OptionError(f"There is no comparison by {measure!r}.", hint=f"use one of: {listing(names)}.")
    title = f"Differences of {named(pairs[0])}" if many else f"Differences: {pairs[0].a} − {pairs[0].b}"
    level = f"Bars: {100 * comparison.level:g} % intervals. Zero is no difference."
    return forest_chart(_marks(pairs, many=many), title, "difference", lines=[("no difference", 0.0)], detail=level)


def draw_curves(comparison: PairwiseComparison) -> Chart:
    """The ROC curves of two with the crossings of their hulls, of more with their joint hull."""
    return draw_pair(comparison.roc()) if len(comparison.names) == 2 else draw_cost_ranges(comparison)


def draw_curve_difference(comparison: PairwiseComparison, a: str | None = None, b: str | None = None) -> Chart:
    """The difference of the true positive rates of two, by default the first two."""
    return draw_difference(comparison.roc(a, b))


def draw_cost_ranges(comparison: PairwiseComparison) -> Chart:
    """The ROC curves of all and their joint hull."""
    return draw_ranges(comparison.optimal_ranges())


def _marks(held: Sequence[Pair], *, many: bool) -> list[Mark]:
    kept = [pair for pair in held if many or abs(pair.tested.difference) <= 1 or math.isnan(pair.tested.difference)]
    return [
        Mark(f"{p.a} − {p.b}" if many else named(p), p.tested.difference, p.tested.low, p.tested.high)
        for p in kept[:SHOWN]
    ]


def _curves(comparison: PairwiseComparison, charts: list[Chart]) -> list[Block]:
    """The curves of all classifiers overlaid, and the verdict on the ROC curves of the first two."""
    if not charts:
        return []
    remarks: list[Block] = []
    if comparison.curves is not None:
        try:
            roc_pair = comparison.roc()
        except HeldoutError:
            pass
        else:
            remarks = [] if roc_pair.undefined else [Prose(roc_pair.verdict)]
    left = len(comparison.judged) - len(TONES)
    remarks += [Prose(f"The curves of the first {len(TONES)}; {left:,} are not drawn.")] if left > 0 else []
    return [Section("Curves", (*remarks, *charts), "curves")]


def overlaid_curves(comparison: PairwiseComparison) -> list[Chart]:
    """ROC, precision-recall and reliability of all classifiers, each kind in one chart, as far as they have scores.

    With rare positives precision and recall come first.
    """
    shown = list(zip(comparison.names, comparison.judged, strict=False))[: len(TONES)]
    scored = [
        (name, own, own.scores)
        for name, own in shown
        if own.scores is not None and own.positive is not None and not isinstance(own.scores, FoldScores)
    ]
    if len(scored) < len(shown) or any(scores.evidence.per_class for _, _, scores in scored) or len(shown) < 2:
        return []
    rankings = [shortened(own.ranking(own.positive), GRID) for _, own, _ in scored if own.positive is not None]
    names = [name for name, _, _ in scored]
    if any(one_class(ranking) for ranking in rankings):
        return []
    charts = [
        draw_together([make(ranking, bands=None) for ranking in rankings], names) for make in (roc, precision_recall)
    ]
    if has_rare_positives(scored[0][1]):
        charts.reverse()
    tallied = [scores.evidence.probabilities for _, _, scores in scored]
    sums = [tally for tally in tallied if tally is not None]
    if len(sums) == len(scored):
        try:
            curves = [reliability(tally, level=comparison.level, positive=scored[0][1].positive) for tally in sums]
            charts.append(draw_together(curves, names))
        except HeldoutError:
            pass
    return charts


# Matrices of more classifiers than this are not drawn beside each other.
SHOWN_MATRICES = 8


def _matrices(comparison: PairwiseComparison) -> list[Block]:
    """The confusion matrix of each classifier, beside each other."""
    drawn: list[Block] = []
    for name, own in list(zip(comparison.names, comparison.judged, strict=False))[:SHOWN_MATRICES]:
        confusion = own.confusion
        if confusion.n_classes > MAPPED:
            return []
        first = None if own.positive is None else confusion.index(own.positive)
        drawn.append(replace(make_heatmap(confusion, first), orders=(), title=name))
    left = len(comparison.judged) - len(drawn)
    more = [Prose(f"{left:,} more are not drawn.")] if left > 0 else []
    return [Section("Confusion matrices", (*drawn, *more), "matrices")] if drawn else []


# Charts of ROC curves against each other: two with their crossings, their difference, many with their joint hull.


def draw_pair(pair: RocComparison) -> Chart:
    """Both ROC curves, with dots where their convex hulls cross."""
    _check_defined(pair)
    crossings = pair.hull_crossings
    x, y = tuple(at.fpr for at in crossings), tuple(at.tpr for at in crossings)
    tips = Tips(x, y, (
        ("better below", tuple(pair.name_of(at.before) for at in crossings)),
        ("better above", tuple(pair.name_of(at.after) for at in crossings)),
        ("false positive rate", x), ("recall", y),
    ))  # fmt: skip
    words = pair.verdict.partition(" The curves themselves")[0]
    return _add_dots(overlay(pair.curves, pair.names), Dots(x, y, name="hulls cross", tone="ink"), tips, words)


def _check_defined(pair: RocComparison) -> None:
    if pair.undefined:
        raise ValuesError(f"There are no ROC curves to draw: {pair.undefined}.", hint=CHECK_CLASSES)


def draw_difference(pair: RocComparison) -> Chart:
    """A's true positive rate less B's over the false positive rates, with its band."""
    _check_defined(pair)
    columns = (pair.fpr, pair.difference, pair.low, pair.high)
    x, y, low, high = (tuple(column.tolist()) for column in columns)
    reach = max(0.05, float(np.abs([pair.low, pair.high]).max()) * 1.05)
    title = f"{pair.names[0]} against {pair.names[1]}"
    named = (("false positive rate", x), ("difference", y), ("low", low), ("high", high))
    return Chart(
        title,
        f"{title}: difference of the true positive rates against the false positive rate. It lies between "
        f"{share(float(pair.difference.min()))} and {share(float(pair.difference.max()))}. {pair.verdict}",
        Axis(FPR.title), Axis(f"TPR of {pair.names[0]} − TPR of {pair.names[1]}", -reach, reach),
        (Stroke((0.0, 1.0), (0.0, 0.0), "", "quiet", dashed=True), Stroke(x, y)), (Ribbon(x, low, high),),
        detail=f"Above 0 {pair.names[0]} finds more positives at the same false positive rate. "
        f"Band: {100 * pair.level:g} % at each place ({pair.replicates:,} paired bootstraps).",
        shape="wide", tips=(Tips(x, y, named),),
    )  # fmt: skip


def draw_ranges(ranges: OptimalRanges) -> Chart:
    """The ROC curves of all models, and the convex hull of them together."""
    best = [(point, part) for part in ranges.ranges for point in part.points]
    x, y = tuple(point.fpr for point, _ in best), tuple(point.tpr for point, _ in best)
    tips = Tips(x, y, (
        ("cheapest", tuple(part.model for _, part in best)),
        ("for PC(+)", tuple(f"{share(part.pc_low)} to {share(part.pc_high)}" for _, part in best)),
        ("false positive rate", x), ("recall", y),
    ))  # fmt: skip
    shown = len(TONES)
    more = len(ranges.curves) - shown
    name = f"convex hull of all models{f'; {more} more are not drawn' if more > 0 else ''}"
    corners = tuple(at.fpr for at in ranges.hull), tuple(at.tpr for at in ranges.hull)
    hull = Stroke(corners[0], corners[1], name, "ink", dashed=True)
    chart = _add_dots(
        overlay(ranges.curves[:shown], ranges.names[:shown]), Dots(x, y, tone="ink"), tips, ranges.verdict
    )
    return replace(chart, strokes=(*chart.strokes, hull))


def _add_dots(chart: Chart, dots: Dots, tips: Tips, words: str) -> Chart:
    """Dots on a chart of several curves, with words below its title and in its description."""
    return replace(
        chart, title=f"{chart.title}s", description=f"{chart.description} {words}", detail=f"{words} {chart.detail}",
        dots=(dots,) if dots.x else (), tips=(*chart.tips, tips) if dots.x else chart.tips,
    )  # fmt: skip
