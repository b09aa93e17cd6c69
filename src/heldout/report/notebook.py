"""What a notebook shows of a result: the answer and its charts first, everything else folded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from heldout.curves.curve import Curve
from heldout.curves.curve_chart import draw_alone
from heldout.errors import HeldoutError
from heldout.evidence import Confusion
from heldout.gates.gate import Gate
from heldout.intervals.estimate import Estimate
from heldout.report.evaluation import (
    estimate_table,
    find_headline,
    name_all,
    note_cases,
    target_blocks,
    titled,
    write_verdict,
)
from heldout.report.evaluation_charts import draw_first_curves
from heldout.report.evaluation_page import (
    MATRIX_CLASSES,
    class_blocks,
    evaluation_facts,
    matrix_blocks,
    measures_table,
    title_of,
)
from heldout.report.report import Report
from heldout.report.review import findings_section, keep_unsaid
from heldout.report.validation import remarks, splits_section, validation_page
from heldout.result import Result
from heldout.results.cases import confused
from heldout.results.evaluation import Evaluation
from heldout.results.validation import Validation, Validations
from heldout.review import Reviewed
from heldout.show.blocks import Block, Note, Overview, Prose, Section, Table, Title, drawn_columns, provenance_section
from heldout.show.chart import Chart
from heldout.show.explorer import Explorer
from heldout.show.numbers import count

# Findings that are shown without unfolding anything, and rows of the longest table.
SHOWN_FINDINGS, SHOWN_ROWS = 4, 200
# The section of a page that says how each number was made: a notebook has no links within itself.
HOW = "how"
# Sections that are seen without unfolding them.
ANSWERS = frozenset(
    {"best", "differences", "curves", "curve", "around", "measures", "performance", "importance", "ranks"}
)
PAGE = 'Everything else is on the page: write("report.html").'


def notebook_blocks(result: Result) -> list[Block]:
    """What a notebook shows of any result."""
    blocks: list[Block]
    match result:
        case Evaluation() if not result.asked:
            blocks = evaluation_cell(result, result)
        case Validation() if not result.evaluation.asked:
            blocks = validation_cell(result)
        case Validations():
            blocks = validations_cell(result)
        case Report():
            blocks = report_cell(result)
        case Curve():
            blocks = curve_cell(result)
        case Estimate():
            _, *notes = result.blocks()
            blocks = [*_drop_links([measures_table([result], [titled(result)], result.level)]), *notes]
        case _:
            blocks = page_cell(result)
    return blocks


def page_cell(result: Result) -> list[Block]:
    """The page of a result, with a chart, its answers open and the rest folded."""
    blocks = result.page_blocks()
    if not any(isinstance(block, Chart) for block in _flat(blocks)):
        blocks = _with_chart(result, blocks)
    return _fold(_drop_links(blocks), findings_cell(result) if isinstance(result, Reviewed) else [])


def evaluation_cell(evaluation: Evaluation, reviewed: Reviewed, *more: Block) -> list[Block]:
    """Verdict, key figures, matrix, curves and findings; `more`, classes, every measure and provenance folded."""
    headline = find_headline(evaluation, "screen")
    confusion = evaluation.confusion
    positive = None if evaluation.positive is None else confusion.index(evaluation.positive)
    matrix, *shares = matrix_blocks(confusion, positive)
    notes = note_cases(evaluation, keep_unsaid(evaluation.notes, evaluation.source, reviewed.review.fired))
    blocks: list[Block] = [
        title_of(evaluation),
        Prose(" ".join(write_verdict(evaluation)), label="Verdict"),
        estimate_table(evaluation, headline, name_all(evaluation, headline)),
        matrix,
        *draw_first_curves(evaluation),
        *target_blocks(evaluation),
        *findings_cell(reviewed),
        *notes,
        *more,
        *([Section("Matrix in %", tuple(_unfold(shares)), folded=True)] if shares else []),
        *_fold_details(evaluation),
        replace(provenance_section(evaluation_facts(evaluation)), folded=True),
        Prose(PAGE),
    ]
    return _drop_links(blocks)


def _fold_details(evaluation: Evaluation) -> list[Block]:
    """What is read where the first figures ask for more: classes, slices and every measure."""
    every = [e for e in evaluation.estimates if e.class_ is None or e.class_ == evaluation.positive]
    parts: list[tuple[str, Sequence[Block]]] = [
        ("Classes", class_blocks(evaluation)),
        ("Every measure", [measures_table(every, [titled(e) for e in every], evaluation.level)]),
    ]
    if evaluation.confusion.n_classes > 2:
        parts.insert(0, ("Most confused classes", evaluation.confused().blocks()))
    if evaluation.sliced:
        parts.append(("Worst slices", evaluation.worst_slices().blocks()))
    return [Section(title, tuple(blocks), folded=True) for title, blocks in parts]


def validation_cell(validation: Validation) -> list[Block]:
    """The evaluation over the splits, with what it estimates, and the splits folded."""
    title, *page = validation_page(validation)
    estimated = [block for block in page if isinstance(block, Prose) and block.label == "Estimates"]
    splits = splits_section(validation)
    _, *cell = evaluation_cell(validation.evaluation, validation, replace(splits, folded=True), *remarks(validation))
    rest = [block for block in cell if not (isinstance(block, Prose) and block.label == "Estimates")]
    return [title, *estimated[:1], *rest]


def validations_cell(validations: Validations) -> list[Block]:
    """Learners side by side; each by itself is asked for by its name."""
    learners = {validation.learner for validation in validations}
    page = [b for b in validations.page_blocks() if not (isinstance(b, Section) and b.title in learners)]
    each = f"One learner by itself: validations[{validations.held[0].learner!r}]."
    return [*_fold(_drop_links(page), findings_cell(validations)), Prose(each)]


def report_cell(report: Report) -> list[Block]:
    """Every part as a notebook shows it, under its own heading."""
    parts: list[Block] = [Title(report.title)] if report.title else []
    for number, part in enumerate(report.parts, 1):
        title, *rest = notebook_blocks(part)
        name = title.text if isinstance(title, Title) else f"Part {number}"
        body = rest if isinstance(title, Title) else [title, *rest]
        parts.append(Section(name, tuple(body)))
    return parts


def curve_cell(curve: Curve) -> list[Block]:
    """The chart of a curve, and some of its points folded."""
    title, *rest = curve.blocks()
    try:
        chart = draw_alone(curve)
    except HeldoutError:
        return [title, *rest]
    return [*_drop_links([chart]), Section("Points", tuple(rest), folded=True)]


def confusion_cell(confusion: Confusion) -> list[Block]:
    """A matrix, or of many classes those that are confused most."""
    title = Title("Confusion matrix", f"{count(confusion.n_cases)} cases · {count(confusion.n_classes)} classes")
    if confusion.n_classes > MATRIX_CLASSES:
        return [title, *confused(confusion, level=0.95).blocks()]
    return [title, *matrix_blocks(confusion)]


def findings_cell(result: Reviewed) -> list[Block]:
    """The counts of findings, the severe ones in words, all others folded."""
    review = result.review
    counted, *rest = findings_section(review).blocks
    fired = [block for block in rest if isinstance(block, Note)]
    others = [block for block in rest if not isinstance(block, Note)]
    summary = counted.text if isinstance(counted, Prose) else review.summary()
    blocks: list[Block] = [Prose(summary, label="Findings"), *fired[:SHOWN_FINDINGS]]
    more = fired[SHOWN_FINDINGS:]
    if more:
        blocks.append(Section(f"{len(more)} more finding{'s' * (len(more) > 1)}", tuple(more), folded=True))
    return [*blocks, *others]


def _with_chart(result: Result, blocks: list[Block]) -> list[Block]:
    """The blocks with the usual chart of the result after its words, where there is something to draw."""
    if isinstance(result, Gate) or "intervals" in (kinds := result.chart_kinds) or not kinds:
        # Their tables draw the intervals already.
        return blocks
    try:
        chart = result._draw()  # noqa: SLF001 - the contract of every result
    except HeldoutError:
        return blocks
    words = next((at for at, block in enumerate(blocks) if not isinstance(block, Title | Prose)), len(blocks))
    return [*blocks[:words], chart, *blocks[words:]]


def _fold(blocks: Sequence[Block], findings: Sequence[Block]) -> list[Block]:
    """The page with its answers open and all other sections folded; findings as a notebook shows them."""
    # Parts that the overview shows are not repeated.
    answered = any(isinstance(block, Overview) for block in blocks)
    folded: list[Block] = []
    for block in blocks:
        if isinstance(block, Section) and block.name == "findings":
            folded += findings
        elif isinstance(block, Section):
            folded.append(replace(block, folded=block.folded or answered or block.name not in ANSWERS))
        else:
            folded.append(replace(block, found="") if isinstance(block, Overview) else block)
    return folded


def _unfold(blocks: Sequence[Block]) -> list[Block]:
    return [replace(block, folded=False) if isinstance(block, Section) else block for block in blocks]


def _drop_links(blocks: Sequence[Block]) -> list[Block]:
    """The blocks without what only a page can use: links, moving thresholds, the tables behind charts."""
    drawn = any(isinstance(block, Table) and drawn_columns(block) for block in blocks)
    kept: list[Block] = []
    for block in blocks:
        if isinstance(block, Section):
            within = _drop_links(block.blocks)
            if within and block.name != HOW and not block.name.endswith(f"-{HOW}"):
                kept.append(replace(block, blocks=tuple(within)))
        elif isinstance(block, Chart):
            # A table that draws its intervals says the same as a chart of them.
            repeats = drawn and block.shape == "wide" and block.dots and block.dots[0].low and not block.ribbons
            kept += [] if repeats else [replace(block, points=(), headers=(), moves=None, tips=())]
        elif isinstance(block, Table):
            kept.append(replace(block, rows=block.rows[:SHOWN_ROWS]))
        elif not isinstance(block, Explorer):
            kept.append(block)
    return kept


def _flat(blocks: Sequence[Block]) -> list[Block]:
    flat: list[Block] = []
    for block in blocks:
        flat += [block, *_flat(block.blocks)] if isinstance(block, Section) else [block]
    return flat
