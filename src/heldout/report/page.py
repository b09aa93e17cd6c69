"""The page of an evaluation: verdict, findings, the threshold, curves, classes, where it fails, how, and whence."""

from __future__ import annotations

from typing import Any

from heldout.arguments import listing
from heldout.errors import HeldoutError
from heldout.estimates.estimate import Estimate
from heldout.findings.shown import findings_section
from heldout.report.explorer import threshold_explorer, why_none
from heldout.report.explorer_how import explorer_sections
from heldout.report.folds import fold_table, folded, rule_notes
from heldout.report.how import how_sections
from heldout.report.page_curves import curve_blocks
from heldout.report.page_tables import class_blocks, matrix_blocks, measures_table
from heldout.report.page_view import PageView
from heldout.report.provenance import evaluation_facts
from heldout.report.said_once import unsaid
from heldout.report.screen import noted, titled
from heldout.report.verdict import sentences
from heldout.show.blocks import Block, Note, Prose, Section, Title
from heldout.show.fitting import shorten
from heldout.show.numbers import count, percent
from heldout.show.printable import visible
from heldout.show.provenance import provenance_section

# The measures that come first, of all cases, of the positive class or as a macro average.
HEADLINE = (
    ("accuracy", "all"),
    ("balanced_accuracy", "all"),
    ("f1", "positive"),
    ("matthews", "all"),
    ("kappa", "all"),
    ("expected_cost", "all"),
    ("total_cost", "all"),
)
# Cases of each kind in the list of the hardest.
HARDEST = 10
# Kinds of error in the list of those made most.
CONFUSED = 15
# Letters of a label in a line of text.
NAMED = 60
SCORED = (
    ("roc_auc", "positive"),
    ("roc_auc", "macro"),
    ("hand_till_auc", "all"),
    ("average_precision", "positive"),
    ("brier", "all"),
    ("brier_skill", "all"),
    ("log_loss", "all"),
    ("expected_calibration_error", "all"),
    ("calibration_slope", "all"),
    ("calibration_intercept", "all"),
)


def evaluation_page(view: PageView) -> list[Block]:
    """Everything that there is to see of an evaluation, in reading order."""
    return [
        title_of(view),
        *_read(view),
        Prose(" ".join(sentences(view)), label="Verdict"),
        *page_body(view),
        provenance_section(evaluation_facts(view)),
    ]


def chosen_page(view: PageView) -> list[Block]:
    """Only the estimates that were asked for, how they were made, and where they come from."""
    names = [titled(e) for e in view.estimates]
    return [
        title_of(view),
        *_read(view),
        _measures(view, list(view.estimates), names),
        findings_section(view.review),
        *how_blocks(view, view.estimates, moved=False),
        provenance_section(evaluation_facts(view)),
    ]


def page_body(view: PageView) -> list[Block]:
    """From the findings to how each number was made: what the pages of an evaluation and of a validation share."""
    return [findings_section(view.review), *measured(view), *how_blocks(view, view.estimates)]


def measured(view: PageView) -> list[Block]:
    """The threshold or the matrix, the curves, the classes, all measures, and where it fails."""
    explorer = threshold_explorer(view)
    blocks: list[Block] = []
    headline = [e for e in (_headline(view, *asked) for asked in HEADLINE) if e is not None]
    if explorer is not None:
        blocks.append(Section("Threshold, costs and prevalence", (explorer,), "threshold"))
    else:
        place = None if view.positive is None else view.confusion.index(view.positive)
        blocks.append(_measures(view, headline, [titled(e) for e in headline]))
        blocks.append(Section("Confusion matrix", (*matrix_blocks(view.confusion, place), *_pairs(view)), "matrix"))
    blocks += _curves(view, moves=explorer is not None)
    blocks.append(Section("Classes", tuple(class_blocks(view)), "classes"))
    blocks += _failures(view)
    return [*blocks, *_notes(view), _everything(view)]


def title_of(view: PageView) -> Title:
    """What the page is about, and how much was read."""
    confusion = view.confusion
    parts = [f"{count(confusion.n_cases)} case" + "s" * (confusion.n_cases != 1)]
    if confusion.weighted:
        parts.append(f"weight {count(confusion.n)}")
    if confusion.clusters is not None:
        parts.append(f"{count(confusion.clusters.number)} groups")
    parts.append(f"{count(confusion.n_classes)} class" + "es" * (confusion.n_classes != 1))
    if view.positive is not None:
        held = confusion.truth_totals[confusion.index(view.positive)] / confusion.n
        parts.append(f"positive class: {shorten(visible(str(view.positive)), NAMED)} ({percent(float(held))})")
    return Title(view.source.name or "Evaluation of a classifier", " · ".join(parts))


def _read(view: PageView) -> list[Block]:
    if not view.source.columns:
        return []
    guessed = view.source.guessed
    said = f" ({listing(guessed)} guessed from the column names)" if guessed else ""
    read = ", ".join(f"{role} = {shorten(visible(column), NAMED)}" for role, column in view.source.columns)
    return [Prose(f"{read}{said}", label="Read")]


def _headline(view: PageView, measure: str, of: str) -> Estimate | None:
    """The estimate of that name, if it is among those that were made."""
    key = (measure, view.positive if of == "positive" else None, "macro" if of == "macro" else None)
    if of == "positive" and view.positive is None:
        key = (measure, None, "macro")
    return next((e for e in view.estimates if (e.measure, e.class_, e.average) == key), None)


def _measures(view: PageView, held: list[Estimate], names: list[str]) -> Section:
    over_folds = folded(held)
    if over_folds is None:
        return Section("Measures", (measures_table(held, names, view.level),), "measures")
    table = fold_table(over_folds, names, view.level)
    return Section("Measures", (table, *rule_notes(over_folds)), "measures")


def _curves(view: PageView, *, moves: bool) -> list[Block]:
    if view.scores is None:
        return []
    held = list(dict.fromkeys(e for e in (_headline(view, *asked) for asked in SCORED) if e is not None))
    blocks: list[Block] = [measures_table(held, [titled(e) for e in held], view.level)] if held else []
    blocks += curve_blocks(view, moves=moves)
    why = why_none(view)
    if why:
        blocks.append(Prose(f"There is no slider: {why}."))
    return [Section("Scores and curves", tuple(blocks), "curves")] if blocks else []


def _pairs(view: PageView) -> list[Block]:
    """The classes that are taken for each other most, where there are more than two."""
    if view.confusion.n_classes < 3:
        return []
    return _asked(view, "confused", most=CONFUSED)


def _failures(view: PageView) -> list[Block]:
    """Worst slices and hardest cases, where the evaluation has them."""
    blocks: list[Block] = []
    if view.slice_columns:
        parts: list[Block] = []
        parts += _asked(view, "worst_slices")
        every = _asked(view, "slices")
        parts += [Section("Every slice", tuple(every), "every-slice", folded=True)] if every else []
        if parts:
            blocks.append(Section("Slices", tuple(parts), "slices"))
    if view.scores is not None:
        hardest = _asked(view, "hardest", most=HARDEST)
        if hardest:
            blocks.append(Section("Hardest cases", tuple(hardest), "hardest"))
    return blocks


def _asked(view: PageView, name: str, **options: Any) -> list[Block]:
    """The blocks of one of the evaluation's further answers, without a title of their own; nothing where refused."""
    ask = getattr(view, name, None)
    if ask is None:
        return []
    try:
        found = ask(**options)
    except HeldoutError as refused:
        return [Prose(refused.what)]
    return [Prose(b.text) if isinstance(b, Title) else b for b in found.blocks()]


def _notes(view: PageView) -> list[Block]:
    blocks: list[Block] = [noted(note) for note in unsaid(view.notes, view.source, view.review.fired)]
    if view.confusion.clusters is not None:
        blocks.append(Note("Rows of one group are not independent: the intervals take whole groups as the cases."))
    if view.confusion.weighted:
        blocks.append(Note("Intervals use the effective number of cases that the weights leave."))
    return [Section("Notes", tuple(blocks), "notes")] if blocks else []


def _everything(view: PageView) -> Section:
    """Every estimate that was made of all cases, of the positive class and averaged; of each class in its section."""
    groups = [
        ("All cases", [e for e in view.estimates if e.class_ is None and e.average is None]),
        ("Averages over the classes", [e for e in view.estimates if e.average is not None]),
    ]
    if view.positive is not None:
        groups.append((f"{view.positive} against the rest", [e for e in view.estimates if e.class_ == view.positive]))
    blocks = tuple(
        measures_table(held, [titled(e) for e in held], view.level, caption) for caption, held in groups if held
    )
    return Section("Every measure", blocks, "everything", folded=True)


def how_blocks(view: PageView, estimates: tuple[Estimate, ...], *, moved: bool = True) -> list[Block]:
    """One section with a folded section for each measure; `moved` says that there is a threshold to move."""
    sections: list[Block] = list(how_sections(view, estimates))
    sections += explorer_sections(view) if moved and not why_none(view) else []
    return [Section("How each number was made", tuple(sections), "how")] if sections else []
