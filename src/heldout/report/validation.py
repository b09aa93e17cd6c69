"""The report of a validation: the learner, the plan, what it estimates, the measures over folds, and overfitting.

Every kind of result has one file here; results name theirs by text, so that only a notebook's cell imports it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from heldout.arguments import capitalize, listing, write_sentence
from heldout.errors import ValuesError
from heldout.intervals.estimate import Estimate
from heldout.intervals.fold_estimates import FoldEstimate
from heldout.measures.catalogue import find, headline_quantities
from heldout.report.evaluation import (
    against_no_model,
    body_blocks,
    chosen_tables,
    name_all,
    order_notes,
    titled,
)
from heldout.report.evaluation_page import page_body
from heldout.report.interval_chart import Mark, estimate_cells, forest_chart, interval_chart
from heldout.report.report import renamed
from heldout.report.review import count_fired, findings_section
from heldout.resampling.outcome import Run
from heldout.result import Form
from heldout.results.evaluation import Evaluation
from heldout.results.validation import SeveralValidations, Validation, Validations
from heldout.review import Review
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
    Table,
    Title,
    head_columns,
    head_interval,
    provenance_section,
    value_and_interval,
)
from heldout.show.chart import Chart
from heldout.show.numbers import count, in_brackets, number, percent, share

SHOWN_FOLDS = 100
SPREAD = "Dots: the value in each split. They share training cases, so their spread is no standard error."


def render_validation(validation: Validation, form: Form) -> list[Block]:
    """The report on a screen, in full or as a page, or only what was asked for."""
    chosen = form.startswith("chosen") or (form != "full" and validation.evaluation.asked)
    if form == "page" and not chosen:
        return validation_page(validation)
    return validation_blocks(validation, full=form == "full", chosen=chosen)


def render_validations(validations: SeveralValidations, form: Form) -> list[Block]:
    """All learners in one table; in full and on a page each by itself below."""
    learners, missing = validations.held, validations.missing
    chosen = form.startswith("chosen") or (form != "full" and learners[0].evaluation.asked)
    if form == "page" and not chosen:
        return validations_page(learners, validations.review, missing)
    overview = several_blocks(learners, chosen=chosen, missing=missing)
    if form == "full":
        return [*overview, *(block for validation in learners for block in validation.full_blocks())]
    return [*overview, *validations.review.blocks()]


def validation_blocks(validation: Validation, *, full: bool, chosen: bool) -> list[Block]:
    """The report; `full` adds every measure and fold, `chosen` shows only what was asked for."""
    target = Prose(write_sentence(validation.plan.target), label="Estimates")
    blocks: list[Block] = [title_of(validation, splits=full)]
    if chosen:
        tables = chosen_tables(validation.evaluation)
        return [*blocks, *tables, target, *remarks(validation), *validation.review.blocks()]
    blocks += [*body_blocks(validation.evaluation, full=full), target]
    blocks += [Prose(text, label="Overfitting") for text in overfitting(validation)]
    if full and len(validation.folds) <= SHOWN_FOLDS:
        blocks.append(fold_lines(validation))
    return [*blocks, *remarks(validation), *(validation.review.full_blocks() if full else validation.review.blocks())]


def several_blocks(validations: Sequence[Validation], *, chosen: bool = False, missing: Sequence[str]) -> list[Block]:
    """Learners side by side: the headline measures of each with their intervals."""
    first = validations[0]
    names = _asked(first.evaluation) if chosen else _usual([validation.evaluation for validation in validations])
    columns = [Column("learner")]
    rows: list[tuple[Cell, ...]] = []
    titles: list[str] = []
    for validation in validations:
        estimates = [_found(validation.evaluation, name) for name in names]
        cells: list[Cell] = [validation.learner]
        for e in estimates:
            # A learner without scores has no area beside those that have one.
            cells += [Number(math.nan), Range(math.nan, math.nan)] if e is None else estimate_cells(e)[:2]
        if not chosen:
            cells.append(Number(validation.gap.value, digits=validation.gap.digits))
        rows.append(tuple(cells))
        if None not in estimates:
            titles = name_all(validation.evaluation, [e for e in estimates if e is not None])
    for title in titles:
        columns += value_and_interval(title)
    columns += [] if chosen else [Column("train–test gap", "right")]
    blocks: list[Block] = [
        title_of(first, f"{len(validations)} learners"),
        *([] if chosen else [Prose(judge_learners(validations), label="Verdict")]),
        Table(tuple(columns), tuple(rows), f"{100 * first.evaluation.level:g} % intervals of each learner by itself"),
        Prose(write_sentence(first.plan.target), label="Estimates"),
        Note(
            "All learners saw the same splits, so differences are surer than the overlap of the intervals suggests; "
            "comparing them says which of them differ."
        ),
    ]
    shared = [note for note in remarks(first) if all(note in remarks(validation) for validation in validations)]
    for validation in validations:
        own = [note for note in remarks(validation) if note not in shared]
        blocks += [Note(f"{validation.learner}: {note.text}", note.severity) for note in own]
    if missing:
        blocks.append(Note(f"Incomplete: interrupted before {listing(missing)}.", "warning"))
    return [*blocks, *shared]


# Learners of which the verdict speaks one by one; the table has all of them.
JUDGED = 6


def judge_learners(validations: Sequence[Validation]) -> str:
    """Whether each learner is better than no model at all, one line each under the question."""
    # All were judged on the same cases, so the question is the same.
    asked, end, _ = against_no_model(validations[0].evaluation).partition("? ")
    lines = [f"{asked}{end.rstrip()}"]
    for validation in validations[:JUDGED]:
        question, _, answer = against_no_model(validation.evaluation).partition("? ")
        lines.append(f"{validation.learner}: {answer or question}")
    more = len(validations) - JUDGED
    return "\n".join([*lines, *([f"… and {more:,} more in the table."] if more > 0 else [])])


def title_of(validation: Validation, learner: str = "", *, splits: bool = False) -> Title:
    """The learner, the data, the plan and the size of both; by `splits` two runs are known to have had the same."""
    problem = validation.problem
    parts = [learner or validation.learner]
    parts += [Path(problem.source).name] if problem.source else []
    parts += [validation.plan.text, f"{count(problem.n)} cases", f"{len(problem.labels)} classes"]
    if problem.group is not None:
        parts.append(f"{len(problem.group_names):,} groups")
    if validation.evaluation.positive is not None:
        parts.append(f"positive class: {validation.evaluation.positive}")
    return Title(" · ".join(parts), f"splits {validation.fingerprint}" if splits else "")


def _usual(evaluations: Sequence[Evaluation]) -> list[tuple[str, object, str | None]]:
    reported = {(e.measure, e.class_, e.average) for evaluation in evaluations for e in evaluation.estimates}
    asked = headline_quantities("validation", evaluations[0].positive)
    # Counts are always there, scores where the learners give them.
    return [
        quantity.key
        for quantity in asked
        if quantity.bound.measure.scope in ("class", "table") or quantity.key in reported
    ]


def _asked(evaluation: Evaluation) -> list[tuple[str, object, str | None]]:
    return [(e.measure, e.class_, e.average) for e in evaluation.estimates]


def _found(evaluation: Evaluation, name: tuple[str, object, str | None]) -> Estimate | None:
    for e in evaluation.estimates:
        if (e.measure, e.class_, e.average) == name:
            return e
    measure, class_, average = name
    if find(measure).measure.scope not in ("class", "table"):
        return None
    return evaluation.get(measure, class_=class_, average=average)  # type: ignore[arg-type]


def overfitting(validation: Validation) -> list[str]:
    """How much better it does on the cases it was trained on."""
    gap = validation.gap
    if math.isnan(gap.value) or validation.plan.judging.kind == "resubstitution":
        return []
    error = validation.evaluation.get("error_rate").value
    tested = (
        f"Error {share(error)} by {validation.optimism.rule}"
        if validation.optimism
        else f"Error {share(error)} on cases it had not seen"
    )
    start = f"{tested}, {share(error - gap.value)} on those it was trained on"
    if math.isnan(gap.low):
        return [f"{start}: a gap of {share(gap.value)}."]
    gap_text = f"a gap of {share(gap.value)} {in_brackets(gap.low, gap.high)}"
    if gap.low > 0:
        return [f"{start}: {gap_text}, so its training error is optimistic."]
    return [f"{start}: {gap_text}, no more than chance would give."]


def fold_lines(validation: Validation) -> Table:
    """One line per split."""
    lines = validation.folds
    measures = [name for name, _ in lines[0].values] if lines else []
    columns = head_columns(
        "split", ">trained on", ">tested on", *(Column(name, "right") for name in measures), ">fit, seconds"
    )
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            line.name,
            Number(line.train, "count"),
            Number(line.test, "count"),
            *(Number(value) for _, value in line.values),
            Number(line.seconds, "plain", 3),
        )
        for line in lines
    )
    return Table(columns, rows, "Every split")


def remarks(validation: Validation) -> list[Note]:
    """What a reader must know of how it was run."""
    run = validation.run
    notes: list[Note] = []
    if validation.plan.judging.kind == "bootstrap":
        notes.append(
            Note(f"A training set holds {percent(validation.distinct_share)} of the distinct cases on average.")
        )
    if validation.optimism is not None:
        mixed = validation.optimism
        notes.append(
            Note(
                f"{mixed.rule}: training error {share(mixed.training)}, out-of-bag error {share(mixed.out_of_bag)}, "
                f"no-information rate {share(mixed.no_information)}, relative overfitting {number(mixed.overfitting)}, "
                f"weight {number(mixed.weight)}."
            )
        )
        if mixed.refused:
            notes.append(Note(write_sentence(mixed.refused), "warning"))
    if run.shortcut:
        notes.append(Note(write_sentence(run.shortcut)))
    if run.chosen:
        notes.append(Note(_choices(run)))
    notes += [Note(write_sentence(text), "warning") for text in run.warnings]
    notes += [Note(write_sentence(text), "warning") for text in (*validation.problem.notes, *validation.notes)]
    return notes + order_notes(validation.evaluation.estimates)


def _choices(run: Run) -> str:
    """What a tuned learner chose, and how often."""
    counts: dict[str, int] = {}
    for chosen in run.chosen:
        text = ", ".join(f"{key} = {value}" for key, value in chosen.items())
        counts[text] = counts.get(text, 0) + 1
    ranked = sorted(counts.items(), key=lambda item: -item[1])
    shown = "; ".join(f"{text} ({times} of {len(run.chosen)})" for text, times in ranked[:5])
    return f"Chosen in the splits: {shown}{'; …' if len(ranked) > 5 else ''}."


def validation_page(validation: Validation) -> list[Block]:
    """Everything that there is to see of one learner."""
    verdict, overview, *rest = _judged(validation, validation.review)
    return [
        _title(title_of(validation)),
        verdict,
        overview,
        Prose(write_sentence(validation.plan.target), label="Estimates"),
        *rest,
        provenance_section(_facts(validation)),
    ]


def validations_page(validations: Sequence[Validation], review: Review, missing: Sequence[str]) -> list[Block]:
    """Learners side by side, then each by itself, folded."""
    title, verdict, table, target, *notes = several_blocks(validations, missing=missing)
    known = any(math.isfinite(validation.evaluation.get("accuracy").value) for validation in validations)
    blocks: list[Block] = [
        _title(title),
        verdict,
        _learner_overview(validations, table, count_fired(review)),
        target,
        findings_section(review),
        *([draw_learners(validations)] if known else []),
        *notes,
    ]
    for at, validation in enumerate(validations):
        inner = _judged(validation)
        blocks.append(
            Section(validation.learner, tuple(renamed(inner, f"learner-{at + 1}-")), f"learner-{at + 1}", folded=True)
        )
    return [*blocks, provenance_section(_facts(validations[0], listing([v.learner for v in validations], most=40)))]


def _learner_overview(validations: Sequence[Validation], table: Block, found: str) -> Overview:
    """Every learner by accuracy with its interval drawn, and all measures below."""
    estimates = [validation.evaluation.get("accuracy") for validation in validations]
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (validation.learner, *estimate_cells(e)) for validation, e in zip(validations, estimates, strict=True)
    )
    level = head_interval(validations[0].evaluation.level)
    heads = (Column("learner"), Column(titled(estimates[0]), "right"), Column(level), Column(""))
    return Overview(Table(heads, rows), found=found, below=table if isinstance(table, Table) else None)


def _judged(validation: Validation, review: Review | None = None) -> list[Block]:
    """The measures first, and after them how the splits differ."""
    beside = [
        splits_section(validation),
        *([Section("Remarks", tuple(notes), "remarks")] if (notes := remarks(validation)) else []),
    ]
    return page_body(validation.evaluation, review, beside)


def splits_section(validation: Validation) -> Section:
    """The values in the splits as dots beside the estimate, what overfitting there is, and the table of splits."""
    blocks: list[Block] = [Prose(text, label="Overfitting") for text in overfitting(validation)]
    lines = validation.folds
    measures = [name for name, _ in lines[0].values] if len(lines) > 1 else []
    for at, measure in enumerate(measures):
        e = _whole(validation, measure)
        heights = [("all splits together", e.value)]
        heights += [("on training cases", e.training)] if isinstance(e, FoldEstimate) else []
        marks = [Mark(line.name.removeprefix("fold "), line.values[at][1]) for line in lines]
        title = titled(e)
        chart = interval_chart(marks, f"{title} in every split", title, lines=heights, along="split", detail=SPREAD)
        blocks += [] if chart is None else [chart]
    if len(lines) <= SHOWN_FOLDS:
        blocks.append(Section("Every split", (fold_lines(validation),), "splits-table", folded=True))
    return Section("Splits", tuple(blocks), "splits")


def draw_splits(validation: Validation, measure: str | None = None) -> Chart:
    """The values of a measure in the splits beside the estimate; accuracy by default."""
    e = validation.get("accuracy") if measure is None else validation[measure]
    values = validation.per_fold(e.name)
    marks = [Mark(line.name.removeprefix("fold "), float(v)) for line, v in zip(validation.folds, values, strict=True)]
    title = titled(e)
    heights = [("all splits together", e.value)]
    heights += [("on training cases", e.training)] if isinstance(e, FoldEstimate) else []
    chart = interval_chart(marks, f"{title} in every split", title, lines=heights, along="split", detail=SPREAD)
    if chart is None:
        raise ValuesError(f"There is no {title} to draw: it has no value in any split.", hint="name another measure.")
    return chart


def draw_learners(validations: Validations | Sequence[Validation], measure: str | None = None) -> Chart:
    """A measure of every learner with its interval; accuracy by default."""
    estimates = [validation.get("accuracy") if measure is None else validation[measure] for validation in validations]
    marks = [Mark(one.learner, e.value, e.low, e.high) for one, e in zip(validations, estimates, strict=True)]
    level = f"{100 * estimates[0].level:g} %"
    caption = f"{level} interval of each by itself. All saw the same splits: differences are surer than these suggest."
    title = titled(estimates[0])
    return forest_chart(marks, f"{capitalize(title)} of every learner", title, detail=caption)


def _whole(validation: Validation, measure: str) -> Estimate:
    """The estimate over all splits of what a fold line names."""
    if measure.startswith("macro "):
        return validation.evaluation.get(measure.removeprefix("macro "), average="macro")
    of_class = find(measure).measure.scope == "class"
    return validation.evaluation.get(measure, class_=validation.evaluation.positive if of_class else None)


def _facts(validation: Validation, learners: str = "") -> list[tuple[str, str]]:
    problem, run = validation.problem, validation.run
    facts = [("data", problem.source)] if problem.source else []
    facts += [
        ("learners", learners) if learners else ("learner", validation.learner),
        ("plan", validation.plan.text),
        ("splits", f"{len(run.finished):,} of {len(run.splits):,} finished"),
        ("cases", count(problem.n)),
        ("classes", count(len(problem.labels))),
        ("fingerprint of splits and classes", validation.fingerprint),
        ("level", f"{validation.evaluation.level:g}"),
        ("seed", str(validation.evaluation.estimator.seed)),
    ]
    return facts


def _title(block: Block) -> Block:
    """The learner as the title, what it was tried on below it; the splits are named at the end of the page."""
    if not isinstance(block, Title):
        return block
    first, _, rest = block.text.partition(" · ")
    return Title(first, rest)
