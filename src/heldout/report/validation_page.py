"""The pages of validations: how a learner did in every split, training against test, and learners side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from heldout.arguments import listing
from heldout.estimates.estimate import Estimate
from heldout.estimates.fold_estimate import FoldEstimate
from heldout.findings.review import Review
from heldout.findings.shown import findings_section
from heldout.measures.catalogue import find
from heldout.report.interval_chart import Mark, interval_chart
from heldout.report.page import how_blocks, measured
from heldout.report.page_view import PageView
from heldout.report.renaming import renamed
from heldout.report.screen import titled
from heldout.report.validation import SHOWN_FOLDS, ValidationView, fold_lines, overfitting, remarks, several_blocks
from heldout.report.validation import title_of as validation_title
from heldout.report.verdict import sentences
from heldout.show.blocks import Block, Prose, Section, Title
from heldout.show.numbers import count
from heldout.show.provenance import provenance_section


class ValidationPage(ValidationView, Protocol):
    """A validation as its page sees it."""

    @property
    def evaluation(self) -> PageView:
        """The measures."""

    @property
    def review(self) -> Review:
        """What the rules found."""


def validation_page(view: ValidationPage) -> list[Block]:
    """Everything that there is to see of one learner."""
    return [
        _title(validation_title(view)),
        Prose(_sentence(view.plan.target), label="Estimates"),
        Prose(" ".join(sentences(view.evaluation)), label="Verdict"),
        findings_section(view.review),
        *_judged(view),
        provenance_section(_facts(view)),
    ]


def validations_page(views: Sequence[ValidationPage], review: Review, missing: Sequence[str] = ()) -> list[Block]:
    """Learners side by side, then each by itself, folded."""
    overview = several_blocks(views, missing=missing)
    chart = _learners(views)
    blocks: list[Block] = [
        _title(overview[0]),
        *([chart] if chart is not None else []),
        *overview[1:],
        findings_section(review),
    ]
    for at, view in enumerate(views):
        inner: list[Block] = [Prose(" ".join(sentences(view.evaluation)), label="Verdict"), *_judged(view)]
        blocks.append(
            Section(view.learner, tuple(renamed(inner, f"learner-{at + 1}-")), f"learner-{at + 1}", folded=True)
        )
    return [*blocks, provenance_section(_facts(views[0], listing([v.learner for v in views], most=40)))]


def _judged(view: ValidationPage) -> list[Block]:
    return [
        *_splits(view),
        *measured(view.evaluation),
        *([Section("Remarks", tuple(said), "remarks")] if (said := remarks(view)) else []),
        *how_blocks(view.evaluation, view.evaluation.estimates),
    ]


def _splits(view: ValidationPage) -> list[Block]:
    """The values in the splits as dots beside the estimate, what overfitting there is, and the table of splits."""
    blocks: list[Block] = [Prose(text, label="Overfitting") for text in overfitting(view)]
    lines = view.folds
    measures = [name for name, _ in lines[0].values] if len(lines) > 1 else []
    said = "Dots: the value in each split. They share training cases, so their spread is no standard error."
    for at, measure in enumerate(measures):
        e = _whole(view, measure)
        heights = [("all splits together", e.value)]
        heights += [("on training cases", e.training)] if isinstance(e, FoldEstimate) else []
        marks = [Mark(line.name.removeprefix("fold "), line.values[at][1]) for line in lines]
        title = titled(e)
        chart = interval_chart(marks, f"{title} in every split", title, lines=heights, along="split", detail=said)
        blocks += [] if chart is None else [chart]
    if len(lines) <= SHOWN_FOLDS:
        blocks.append(Section("Every split", (fold_lines(view),), "splits-table", folded=True))
    return [Section("Splits", tuple(blocks), "splits")]


def _whole(view: ValidationPage, measure: str) -> Estimate:
    """The estimate over all splits of what a fold line names."""
    if measure.startswith("macro "):
        return view.evaluation.get(measure.removeprefix("macro "), average="macro")
    of_class = find(measure).measure.scope == "class"
    return view.evaluation.get(measure, class_=view.evaluation.positive if of_class else None)


def _learners(views: Sequence[ValidationPage]) -> Block | None:
    held = [view.evaluation.get("accuracy") for view in views]
    marks = [Mark(view.learner, e.value, e.low, e.high) for view, e in zip(views, held, strict=True)]
    level = f"{100 * views[0].evaluation.level:g} %"
    said = f"{level} interval of each by itself. All saw the same splits: differences are surer than these suggest."
    return interval_chart(marks, "Accuracy of every learner", "accuracy", detail=said)


def _facts(view: ValidationPage, learners: str = "") -> list[tuple[str, str]]:
    problem, run = view.problem, view.run
    facts = [("data", problem.source)] if problem.source else []
    facts += [
        ("learners", learners) if learners else ("learner", view.learner),
        ("plan", view.plan.text),
        ("splits", f"{len(run.finished):,} of {len(run.splits):,} finished"),
        ("cases", count(problem.n)),
        ("classes", count(len(problem.labels))),
        ("fingerprint of splits and classes", view.fingerprint),
        ("level", f"{view.evaluation.level:g}"),
        ("seed", str(view.evaluation.estimator.seed)),
    ]
    return facts


def _title(block: Block) -> Block:
    """The learner as the title, what it was tried on below it."""
    if not isinstance(block, Title):
        return block
    first, _, rest = block.text.partition(" · ")
    return Title(first, " · ".join(filter(None, [rest, block.detail])))


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."
