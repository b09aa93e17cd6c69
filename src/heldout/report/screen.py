"""The report of an evaluation: what was read, the verdict, the measures, the matrix and the notes."""

from __future__ import annotations

import math
from collections.abc import Sequence

from heldout.arguments import listing
from heldout.estimates.area_bounds import BINNED
from heldout.estimates.estimate import Estimate
from heldout.estimates.fold_methods import NAIVE
from heldout.measures.catalogue import find
from heldout.measures.counts import NO_POSITIVES, NO_PREDICTED
from heldout.report.folds import fold_table, folded, method_notes, rule_notes
from heldout.report.said_once import unsaid
from heldout.report.tables import (
    SHOWN_CLASSES,
    average_table,
    binary_matrix,
    class_table,
    confused_pairs,
    estimate_table,
    matrix_table,
)
from heldout.report.verdict import sentences
from heldout.report.view import View
from heldout.show.blocks import Block, Note, Prose, Title
from heldout.show.fitting import shorten
from heldout.show.numbers import count, percent
from heldout.show.printable import visible

SHOWN_ROWS = 15
# Lines of the table of classes in the full report.
FULL_ROWS = 1000
FULL = "--full shows all"
OF_CLASS = ("precision", "recall", "f1")


def evaluation_blocks(view: View, *, full: bool = False) -> list[Block]:
    """The report; `full` adds every measure, every class, the whole matrix and every rule."""
    found = view.review.full_blocks() if full else view.review.blocks()
    return [_title(view), *([_columns(view)] if view.source.columns else []), *body_blocks(view, full=full), *found]


def chosen_blocks(view: View) -> list[Block]:
    """What was read, and only the estimates that were asked for."""
    columns = [_columns(view)] if view.source.columns else []
    # Findings are not shown here, so what is wrong with a method that was asked for stands by itself.
    return [_title(view), *columns, *chosen_tables(view), *method_notes(view.estimates), *_notes(view, view.notes)]


def chosen_tables(view: View) -> list[Block]:
    """Only the estimates that were asked for."""
    names = [titled(e) for e in view.estimates]
    over_folds = folded(view.estimates)
    if over_folds is not None:
        return [fold_table(over_folds, names, view.level), *rule_notes(over_folds)]
    return [estimate_table(view, view.estimates, names)]


def body_blocks(view: View, *, full: bool = False) -> list[Block]:
    """The verdict, the measures, the matrix and the notes: a report without its title."""
    blocks: list[Block] = [Prose(" ".join(sentences(view)), label="Verdict"), *_headline(view, full=full)]
    if view.positive is not None and view.confusion.n_classes == 2:
        blocks.append(binary_matrix(view))
    else:
        blocks += _classes(view, full=full)
    if full:
        blocks += _everything(view)
    return [*blocks, *_notes(view, unsaid(view.notes, view.source, view.review.fired))]


def _title(view: View) -> Title:
    confusion = view.confusion
    parts = [view.source.name] if view.source.name else []
    cases = f"{count(confusion.n_cases)} case" + "s" * (confusion.n_cases != 1)
    parts.append(cases)
    if confusion.weighted:
        parts.append(f"weight {count(confusion.n)}")
    if confusion.clusters is not None:
        parts.append(f"{count(confusion.clusters.number)} group" + "s" * (confusion.clusters.number != 1))
    parts.append(f"{count(confusion.n_classes)} class" + "es" * (confusion.n_classes != 1))
    if view.positive is not None:
        held = confusion.truth_totals[confusion.index(view.positive)] / confusion.n
        parts.append(f"positive class: {shorten(visible(str(view.positive)), 40)} ({percent(float(held))})")
    return Title(" · ".join(parts))


def _columns(view: View) -> Prose:
    guessed = view.source.guessed
    flags = ", ".join(f"--{role}" for role in guessed)
    said = f" ({listing(guessed)} guessed from the column names; {flags} to change)" if guessed else ""
    return Prose(view.source.sentence() + said)


def _headline(view: View, *, full: bool = False) -> list[Block]:
    estimates = [view.get("accuracy"), view.get("balanced_accuracy")]
    if view.positive is not None:
        estimates.append(view.get("f1", class_=view.positive))
    if view.positive is None or view.confusion.n_classes > 2:
        estimates.append(view.get("f1", average="macro"))
    estimates += [view.get("matthews"), view.get("kappa")]
    reported = {(e.measure, e.class_, e.average): e for e in view.estimates}
    scored = [
        ("roc_auc", view.positive, None),
        ("roc_auc", None, "macro"),
        ("average_precision", view.positive, None),
        ("brier", None, None),
        ("log_loss", None, None),
    ]
    estimates += [reported[key] for key in scored if key in reported]
    if any(e.measure == "expected_cost" for e in view.estimates):
        estimates += [view.get("expected_cost"), view.get("total_cost")]
    names = [titled(e) for e in estimates]
    over_folds = folded(estimates)
    if over_folds is not None:
        return [fold_table(over_folds, names, view.level), *rule_notes(over_folds, full=full)]
    return [estimate_table(view, estimates, names)]


def titled(e: Estimate) -> str:
    """The name of an estimate as a table writes it."""
    title = find(e.measure).title
    if e.class_ is not None:
        return f"{title} ({e.class_})"
    return f"{e.average} {title}" if e.average else title


def _classes(view: View, *, full: bool) -> list[Block]:
    confusion = view.confusion
    k = confusion.n_classes
    places: Sequence[int] = range(k)
    blocks: list[Block] = []
    caption = ""
    most = FULL_ROWS if full else SHOWN_ROWS
    if k > most:
        places = confusion.largest(most).tolist()
        caption = f"The {most:,} largest of {k:,} classes; {'each can be asked for by name' if full else FULL}"
    blocks += [class_table(view, places, caption), average_table(view)]
    if k <= SHOWN_CLASSES or (full and k <= 60):
        blocks.append(matrix_table(confusion))
    if k > 2:
        pairs = confused_pairs(confusion, view.level, view.independent)
        if pairs is not None:
            blocks.append(pairs)
    return blocks


def _everything(view: View) -> list[Block]:
    blocks: list[Block] = []
    overall = [e for e in view.estimates if e.class_ is None and e.average is None]
    blocks.append(estimate_table(view, overall, [find(e.measure).title for e in overall], "All cases"))
    averages = [e for e in view.estimates if e.average is not None]
    if averages:
        names = [f"{e.average} {find(e.measure).title}" for e in averages]
        blocks.append(estimate_table(view, averages, names, "Averages over the classes"))
    wanted = [view.positive] if view.positive is not None else list(view.confusion.labels)[:SHOWN_ROWS]
    for label in wanted:
        held = [e for e in view.estimates if e.class_ == label and e.class_ is not None]
        names = [find(e.measure).title for e in held]
        blocks.append(estimate_table(view, held, names, f'Class "{label}" against the rest'))
    return blocks


def _notes(view: View, said: Sequence[str]) -> list[Block]:
    blocks: list[Block] = [noted(note) for note in said]
    if view.confusion.clusters is not None:
        blocks.append(Note("Rows of one group are not independent: the intervals take whole groups as the cases."))
    if view.confusion.weighted:
        blocks.append(Note("Intervals use the effective number of cases that the weights leave."))
    undefined: dict[str, list[Estimate]] = {}
    for e in view.estimates:
        if math.isnan(e.value) and e.measure in (
            "precision",
            "recall",
            "f1",
            "kappa",
            "matthews",
            "balanced_accuracy",
            "roc_auc",
            "hand_till_auc",
            "average_precision",
        ):
            undefined.setdefault(e.undefined, []).append(e)
    for reason, held_back in undefined.items():
        shown = listing((shorten(visible(e.name), 50) for e in held_back), most=4)
        blocks.append(Note(f"Undefined: {shown}, because {_reason(reason, held_back)}."))
    # What an average leaves out and what has probability 0 is a finding.
    # So is what was measured of a method over folds.
    held = [e for e in view.estimates if e.average is None and e.measure in OF_CLASS]
    told = {note: e.name for e in held if (note := e.note.replace(NAIVE, "").strip("; "))}
    return [*blocks, *(Note(f"{name}: {note}.") for note, name in told.items())]


def noted(note: str) -> Note:
    """A note as a sentence; a warning, unless it says no more than how certain areas are that are certain enough."""
    fine = note.startswith(BINNED) and not note.startswith(f"{BINNED} only")
    return Note(f"{note[:1].upper()}{note[1:]}.", "note" if fine else "warning")


def _reason(reason: str, estimates: list[Estimate]) -> str:
    """Why estimates have no value; of one class against the rest, "positive" is that class, by its name."""
    if any(e.class_ is None for e in estimates):
        return reason
    classes = {e.class_ for e in estimates}
    if len(classes) > 1:
        return reason.replace(NO_PREDICTED, "none of these classes was ever predicted").replace(
            NO_POSITIVES, "none of these classes has a case"
        )
    name = shorten(visible(str(classes.pop())), 40)
    return reason.replace(NO_PREDICTED, f'nothing was predicted "{name}"').replace(
        NO_POSITIVES, f'there are no cases of "{name}"'
    )
