"""The report of a validation: the learner, the plan, what it estimates, the measures over folds, and overfitting."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from heldout.arguments import listing
from heldout.estimates.estimate import Estimate
from heldout.findings.review import Review
from heldout.learners.problem import Problem
from heldout.plans.plan import Plan
from heldout.report.screen import body_blocks, chosen_tables, titled
from heldout.report.view import View
from heldout.resampling.optimism import Optimism
from heldout.resampling.outcome import Run
from heldout.show.blocks import Block, Cell, Column, Note, Number, Prose, Range, Table, Title
from heldout.show.numbers import count, limits, number, percent, share

SHOWN_FOLDS = 100


@dataclass(frozen=True, slots=True)
class FoldLine:
    """One split: what it is called, its sizes, a few values, and how long the fit took."""

    name: str
    train: int
    test: int
    values: tuple[tuple[str, float], ...]
    seconds: float


class ValidationView(Protocol):
    """A validation as its report sees it."""

    @property
    def learner(self) -> str:
        """The name of the learner."""

    @property
    def plan(self) -> Plan:
        """The plan."""

    @property
    def run(self) -> Run:
        """What was run."""

    @property
    def problem(self) -> Problem:
        """The data."""

    @property
    def fingerprint(self) -> str:
        """What tells whether two validations may be paired."""

    @property
    def evaluation(self) -> View:
        """The measures."""

    @property
    def optimism(self) -> Optimism | None:
        """What the .632 rule found, where it was asked for."""

    @property
    def gap(self) -> Estimate:
        """The overfitting gap."""

    @property
    def folds(self) -> tuple[FoldLine, ...]:
        """Every split."""

    @property
    def distinct_share(self) -> float:
        """The mean share of the cases that a training set holds."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences that a reader must see."""

    @property
    def review(self) -> Review:
        """What the rules found."""


def validation_blocks(view: ValidationView, *, full: bool = False, chosen: bool = False) -> list[Block]:
    """The report; `full` adds every measure and fold, `chosen` shows only what was asked for."""
    blocks: list[Block] = [title_of(view), Prose(f"{_capital(view.plan.target)}.", label="Estimates")]
    if chosen:
        return [*blocks, *chosen_tables(view.evaluation), *remarks(view), *view.review.blocks()]
    blocks += body_blocks(view.evaluation, full=full)
    blocks += [Prose(text, label="Overfitting") for text in overfitting(view)]
    if full and len(view.folds) <= SHOWN_FOLDS:
        blocks.append(fold_lines(view))
    return [*blocks, *remarks(view), *(view.review.full_blocks() if full else view.review.blocks())]


def several_blocks(
    views: Sequence[ValidationView], *, chosen: bool = False, missing: Sequence[str] = ()
) -> list[Block]:
    """Learners side by side: the headline measures of each with their intervals."""
    first = views[0]
    names = _asked(first.evaluation) if chosen else _usual([view.evaluation for view in views])
    columns = [Column("learner")]
    rows: list[tuple[Cell, ...]] = []
    titles: list[str] = []
    for view in views:
        found = [_found(view.evaluation, name) for name in names]
        cells: list[Cell] = [view.learner]
        for e in found:
            # A learner without scores has no area beside those that have one.
            cells += (
                [Number(math.nan), Range(math.nan, math.nan)]
                if e is None
                else [Number(e.value, e.style, e.digits), Range(e.low, e.high, e.style, e.digits)]
            )
        if not chosen:
            cells.append(Number(view.gap.value, digits=view.gap.digits))
        rows.append(tuple(cells))
        titles = titles if None in found else [titled(e) for e in found if e is not None]
    for title in titles:
        columns += [Column(title, "right"), Column("")]
    columns += [] if chosen else [Column("train–test gap", "right")]
    blocks: list[Block] = [
        title_of(first, f"{len(views)} learners"),
        Prose(f"{_capital(first.plan.target)}.", label="Estimates"),
        Table(tuple(columns), tuple(rows), f"{100 * first.evaluation.level:g} % intervals of each learner by itself"),
        Note("All learners saw the same splits, so differences are surer than the overlap of the intervals suggests."),
    ]
    shared = [note for note in remarks(first) if all(note in remarks(view) for view in views)]
    for view in views:
        own = [note for note in remarks(view) if note not in shared]
        blocks += [Note(f"{view.learner}: {note.text}", note.severity) for note in own]
    if missing:
        blocks.append(Note(f"Incomplete: interrupted before {listing(missing)}.", "warning"))
    return [*blocks, *shared]


def title_of(view: ValidationView, learner: str = "") -> Title:
    """The learner, the data, the plan and the size of both."""
    problem = view.problem
    parts = [learner or view.learner]
    parts += [Path(problem.source).name] if problem.source else []
    parts += [view.plan.text, f"{count(problem.n)} cases", f"{len(problem.labels)} classes"]
    if problem.group is not None:
        parts.append(f"{len(problem.group_names):,} groups")
    if view.evaluation.positive is not None:
        parts.append(f"positive class: {view.evaluation.positive}")
    return Title(" · ".join(parts), f"splits {view.fingerprint}")


def _usual(views: Sequence[View]) -> list[tuple[str, object, str | None]]:
    view = views[0]
    names: list[tuple[str, object, str | None]] = [("accuracy", None, None)]
    names.append(("f1", view.positive, None) if view.positive is not None else ("f1", None, "macro"))
    reported = {(e.measure, e.class_, e.average) for one in views for e in one.estimates}
    area = ("roc_auc", view.positive, None) if view.positive is not None else ("roc_auc", None, "macro")
    return [*names, *([area] if area in reported else [])]


def _asked(view: View) -> list[tuple[str, object, str | None]]:
    return [(e.measure, e.class_, e.average) for e in view.estimates]


def _found(view: View, name: tuple[str, object, str | None]) -> Estimate | None:
    for e in view.estimates:
        if (e.measure, e.class_, e.average) == name:
            return e
    measure, class_, average = name
    if measure == "roc_auc":
        return None
    return view.get(measure, class_=class_, average=average)  # type: ignore[arg-type]


def overfitting(view: ValidationView) -> list[str]:
    """How much better it does on the cases it was trained on."""
    gap = view.gap
    if math.isnan(gap.value) or view.plan.judging.kind == "resubstitution":
        return []
    error = view.evaluation.get("error_rate").value
    tested = (
        f"Error {share(error)} by {view.optimism.rule}"
        if view.optimism
        else f"Error {share(error)} on cases it had not seen"
    )
    start = f"{tested}, {share(error - gap.value)} on those it was trained on"
    if math.isnan(gap.low):
        return [f"{start}: a gap of {share(gap.value)}."]
    found = f"a gap of {share(gap.value)} [{limits(gap.low, gap.high)}]"
    if gap.low > 0:
        return [f"{start}: {found}, so its training error is optimistic."]
    return [f"{start}: {found}, no more than chance would give."]


def fold_lines(view: ValidationView) -> Table:
    """One line per split."""
    lines = view.folds
    measures = [name for name, _ in lines[0].values] if lines else []
    columns = (
        Column("split"),
        Column("trained on", "right"),
        Column("tested on", "right"),
        *(Column(name, "right") for name in measures),
        Column("fit, seconds", "right"),
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


def remarks(view: ValidationView) -> list[Note]:
    """What a reader must know of how it was run."""
    run = view.run
    notes: list[Note] = []
    if view.plan.judging.kind == "bootstrap":
        notes.append(Note(f"A training set holds {percent(view.distinct_share)} of the distinct cases on average."))
    if view.optimism is not None:
        found = view.optimism
        notes.append(
            Note(
                f"{found.rule}: training error {share(found.training)}, out-of-bag error {share(found.out_of_bag)}, "
                f"no-information rate {share(found.no_information)}, relative overfitting {number(found.overfitting)}, "
                f"weight {number(found.weight)}."
            )
        )
        if found.refused:
            notes.append(Note(f"{_capital(found.refused)}.", "warning"))
    if run.shortcut:
        notes.append(Note(f"{_capital(run.shortcut)}."))
    if run.chosen:
        notes.append(Note(_choices(run)))
    notes += [Note(f"{_capital(text)}.", "warning") for text in run.warnings]
    notes += [Note(f"{_capital(text)}.", "warning") for text in (*view.problem.notes, *view.notes)]
    return notes


def _choices(run: Run) -> str:
    """What a tuned learner chose, and how often."""
    counts: dict[str, int] = {}
    for chosen in run.chosen:
        text = ", ".join(f"{key} = {value}" for key, value in chosen.items())
        counts[text] = counts.get(text, 0) + 1
    ranked = sorted(counts.items(), key=lambda item: -item[1])
    shown = "; ".join(f"{text} ({times} of {len(run.chosen)})" for text, times in ranked[:5])
    return f"Chosen in the splits: {shown}{'; …' if len(ranked) > 5 else ''}."


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}"
