"""The report of an evaluation: what was read, the verdict, the measures, the matrix and the notes."""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import listing, write_sentence
from heldout.evidence import Confusion, Label
from heldout.findings.rules_imbalance import BEATEN, NOT_BEATEN, gain_over_commonest
from heldout.intervals.area_bounds import BINNED
from heldout.intervals.estimate import Estimate
from heldout.intervals.fold_estimates import FOLD_METHODS, NAIVE, FoldEstimate
from heldout.intervals.score_methods import NO_INTERVAL_BECAUSE
from heldout.measures.catalogue import OF_EACH_CLASS, find, headline, headline_quantities, is_imbalanced
from heldout.measures.counts import NO_POSITIVES, NO_PREDICTED
from heldout.measures.declare import Scope, Surface
from heldout.measures.quantity import AVERAGES, IN_ORDER
from heldout.predictions.column_roles import NO_COLUMN
from heldout.report.interval_chart import estimate_cells, track_floor
from heldout.report.review import keep_unsaid
from heldout.result import Form
from heldout.results.cases import confused
from heldout.results.evaluation import Evaluation
from heldout.results.slices import NOT_COUNTED, Slices
from heldout.show.blocks import (
    Block,
    Cell,
    Column,
    Heat,
    Note,
    Number,
    Prose,
    Range,
    Section,
    Table,
    Title,
    head_columns,
    head_interval,
    value_and_interval,
)
from heldout.show.escape import visible
from heldout.show.numbers import count, in_brackets, number, number_of, percent, plain, share
from heldout.show.text_width import shorten

# A matrix wider than this is not shown on a screen.
SHOWN_CLASSES = 12
SHOWN_PAIRS = 5
# "predicted" and "truth" stand beside names of up to so many characters; longer ones would not fit a screen with them.
LONGEST_IN_HEADING = 10


def estimate_table(
    evaluation: Evaluation, estimates: Iterable[Estimate], names: Iterable[str], caption: str = ""
) -> Table:
    """One line per estimate: name, value, interval, and the interval drawn."""
    listed = list(estimates)
    floor = track_floor(listed)
    rows = [(name, *estimate_cells(e, floor)) for name, e in zip(names, listed, strict=True)]
    columns = head_columns("measure", ">value", head_interval(evaluation.level), "")
    return Table(columns, tuple(rows), caption, "measures")


def class_table(evaluation: Evaluation, shown: Iterable[int], caption: str = "") -> Table:
    """One line per class: its cases, precision, recall and F1 with intervals."""
    confusion = evaluation.confusion
    rows: list[tuple[Cell, ...]] = []
    for position in shown:
        label = confusion.labels[position]
        of_class = [evaluation.get(measure, class_=label) for measure in OF_EACH_CLASS]
        rows.append((str(label), Number(float(confusion.truth_totals[position]), "count"), *_figures(of_class)))
    return Table((Column("class"), Column("n", "right"), *_figure_columns()), tuple(rows), caption, "classes")


def average_table(evaluation: Evaluation) -> Table:
    """Macro, weighted and micro averages of precision, recall and F1."""
    rows = [
        (average, None, *_figures([evaluation.get(measure, average=average) for measure in OF_EACH_CLASS]))
        for average in AVERAGES
    ]
    columns = (Column("average"), Column("", "right"), *_figure_columns())
    return Table(columns, tuple(rows), name="averages over the classes")


def _figure_columns() -> list[Column]:
    """A column for the value and one for the interval of each measure of a class."""
    return [column for measure in OF_EACH_CLASS for column in value_and_interval(find(measure).title)]


def _figures(estimates: Iterable[Estimate]) -> list[Cell]:
    """Values and intervals, as they stand in these columns."""
    return [
        cell for e in estimates for cell in (Number(e.value, digits=e.digits), Range(e.low, e.high, digits=e.digits))
    ]


def matrix_table(confusion: Confusion) -> Table:
    """The whole matrix, rows are the truth."""
    matrix = confusion.matrix
    # Shaded by row: what became of the cases of each class.
    totals = np.maximum(confusion.truth_totals, 1e-300)
    columns = [Column("truth ↓  predicted →")] + [Column(str(label), "right") for label in confusion.labels]
    rows: list[tuple[Cell, ...]] = [
        (
            str(label),
            *(Heat(float(count), float(count / totals[i])) for count in matrix[i]),
        )
        for i, label in enumerate(confusion.labels)
    ]
    return Table(tuple(columns), tuple(rows), name="confusion matrix")


def binary_matrix(evaluation: Evaluation) -> Table:
    """The 2 × 2 matrix with the positive class first, and the rates of its rows and columns beside it."""
    confusion = evaluation.confusion
    first = confusion.index(evaluation.positive) if evaluation.positive is not None else 0
    order = [first, 1 - first]
    matrix, totals = confusion.matrix, np.maximum(confusion.truth_totals, 1e-300)
    names = [str(confusion.labels[i]) for i in order]
    positive = confusion.labels[first]
    rates = [evaluation.get(name, class_=positive) for name in ("recall", "specificity")]
    below = [evaluation.get(name, class_=positive) for name in ("precision", "negative_predictive_value")]
    short = max(len(name) for name in names) <= LONGEST_IN_HEADING
    columns = head_columns(
        Column("" if short else "truth ↓  predicted →"),
        *(Column(f"predicted {name}" if short else name, "right") for name in names),
        "",
        ">",
        "",
    )
    rows: list[tuple[Cell, ...]] = [
        (
            f"truth {names[row]}" if short else names[row],
            *(Heat(float(matrix[order[row], j]), float(matrix[order[row], j] / totals[order[row]])) for j in order),
            rate.measure,
            Number(rate.value, digits=rate.digits),
            Range(rate.low, rate.high, digits=rate.digits),
        )
        for row, rate in enumerate(rates)
    ]
    rows.append(("precision, NPV", *(Number(e.value, digits=e.digits) for e in below), None, None, None))
    rows.append((None, *(Range(e.low, e.high, digits=e.digits) for e in below), None, None, None))
    return Table(columns, tuple(rows), name="confusion matrix")


def confused_pairs(confusion: Confusion, level: float, independent: float) -> Table | None:
    """The kinds of error that occur most, with their share of the true class and its interval."""
    pairs = confused(confusion, SHOWN_PAIRS, level=level, independent=independent)
    return pairs.table() if pairs.pairs else None


def fold_table(estimates: Iterable[FoldEstimate], names: Iterable[str], level: float, *, full: bool = False) -> Table:
    """One line per estimate: value, interval, how folds were put together, the value by the other way, training cases.

    The other way is the mean of the folds; of a value that is this mean itself, pooling. How far it is from the value
    is said in full only.
    """
    shown = list(estimates)
    floor = track_floor(shown)
    mean = bool(shown) and all(e.rule == "mean" for e in shown)
    columns = [
        *head_columns(
            "measure",
            ">value",
            head_interval(level),
            "",
            "folds",
            Column("pooled" if mean else "mean of folds", "right"),
            ">difference",
            ">sd",
            ">train score",
        )
    ]
    rows: list[tuple[Cell, ...]] = []
    for name, e in zip(names, shown, strict=True):
        digits = e.digits
        other: Cell = Number(e.other, e.style, digits)
        if e.rule == "mean" and not mean and not math.isnan(e.other):
            other = f"{number(e.other, e.style, digits)} pooled"
        rows.append(
            (
                name,
                Number(e.value, e.style, digits),
                Range(e.low, e.high, e.style, digits),
                estimate_cells(e, floor)[2],
                e.rule,
                other,
                Number(e.gap, e.style, digits),
                Number(e.spread, e.style, digits),
                Number(e.training, e.style, digits),
            )
        )
    left_out = "" if full else "difference"
    kept = [
        at
        for at, column in enumerate(columns)
        if at < 5 or (column.header != left_out and not all(_empty(row[at]) for row in rows))
    ]
    return Table(tuple(columns[at] for at in kept), tuple(tuple(row[at] for at in kept) for row in rows))


def _empty(cell: Cell) -> bool:
    return isinstance(cell, Number) and math.isnan(cell.value)


def folded(estimates: Sequence[Estimate]) -> list[FoldEstimate] | None:
    """The estimates, if all of them were made over more than one fold."""
    over_folds = [e for e in estimates if isinstance(e, FoldEstimate) and e.splits > 1]
    return over_folds if over_folds and len(over_folds) == len(estimates) else None


def keep_of_folds(estimates: list[Estimate]) -> list[Estimate]:
    """The estimates, without functions of all cases together where the others are over folds: they have no folds."""
    over_folds = any(isinstance(e, FoldEstimate) for e in estimates)
    return [e for e in estimates if not over_folds or find(e.measure).measure.scope != "cases"]


def rule_notes(estimates: Iterable[FoldEstimate], *, full: bool = False) -> list[Block]:
    """What the columns mean: the spread is no standard error, and, in full, why each rule is used."""
    listed = list(estimates)
    if not listed:
        return []
    notes: list[Block] = []
    if any(not math.isnan(e.spread) for e in listed):
        notes.append(Note("The sd over folds says how much they differ; it is not the standard error of the value."))
    if full:
        reasons = dict.fromkeys((e.rule, e.reason, e.reference) for e in listed)
        notes += [Note(f"{rule}: {reason} ({reference}).") for rule, reason, reference in reasons]
    return notes


def method_notes(estimates: Iterable[Estimate]) -> list[Block]:
    """What was measured of the methods over folds that were asked for by name, where no finding says it."""
    used = dict.fromkeys(e.method for e in estimates if e.method in FOLD_METHODS)
    remarks = [FOLD_METHODS[name].finding for name in used]
    return [Note(write_sentence(text), "warning") for text in remarks if text]


SHOWN_ROWS = 15
# Lines of the table of classes in the full report.
FULL_ROWS = 1000
FULL = "--full shows them"


def render_evaluation(evaluation: Evaluation, form: Form) -> list[Block]:
    """The report on a screen, in full or as a page, or only the estimates that were asked for."""
    if evaluation.asked and form in ("screen", "page"):
        form = "chosen" if form == "screen" else "chosen page"
    if form in ("page", "chosen page"):
        # The page is built from what stands here.
        from heldout.report.evaluation_page import chosen_page, evaluation_page

        return evaluation_page(evaluation) if form == "page" else chosen_page(evaluation)
    if form == "chosen":
        return [*chosen_blocks(evaluation), *chosen_slice_blocks(evaluation)]
    full = form == "full"
    return [*evaluation_blocks(evaluation, full=full), *slice_blocks(evaluation, full=full)]


def evaluation_blocks(evaluation: Evaluation, *, full: bool) -> list[Block]:
    """The report; `full` adds every measure, every class, the whole matrix and every rule."""
    findings = evaluation.review.full_blocks() if full else evaluation.review.blocks()
    return [
        _title(evaluation),
        *([_columns(evaluation)] if evaluation.source.columns else []),
        *body_blocks(evaluation, full=full),
        *target_blocks(evaluation),
        *findings,
    ]


def target_blocks(evaluation: Evaluation) -> list[Block]:
    """Which error the numbers estimate, where the predictions are of several models."""
    target = evaluation.target
    return [Prose(write_sentence(target), label="Estimates")] if target else []


def chosen_blocks(evaluation: Evaluation) -> list[Block]:
    """What was read, and only the estimates that were asked for."""
    columns = [_columns(evaluation)] if evaluation.source.columns else []
    # Findings are not shown here, so what is wrong with a method that was asked for stands by itself.
    return [
        _title(evaluation),
        *columns,
        *chosen_tables(evaluation),
        *target_blocks(evaluation),
        *method_notes(evaluation.estimates),
        *order_notes(evaluation.estimates),
        *_notes(evaluation, evaluation.notes, named=True),
    ]


def chosen_tables(evaluation: Evaluation) -> list[Block]:
    """A table of the estimates that were asked for."""
    names = name_all(evaluation, evaluation.estimates)
    over_folds = folded(evaluation.estimates)
    if over_folds is not None:
        return [fold_table(over_folds, names, evaluation.level), *rule_notes(over_folds)]
    return [estimate_table(evaluation, evaluation.estimates, names)]


def body_blocks(evaluation: Evaluation, *, full: bool) -> list[Block]:
    """The verdict, the measures, the matrix and the notes: a report without its title."""
    blocks: list[Block] = [
        Prose(" ".join(write_verdict(evaluation)), label="Verdict"),
        *_headline(evaluation, full=full),
    ]
    if evaluation.positive is not None and evaluation.confusion.n_classes == 2:
        blocks.append(binary_matrix(evaluation))
    else:
        blocks += _classes(evaluation, full=full)
    if full:
        blocks += _everything(evaluation)
    return [*blocks, *_notes(evaluation, keep_unsaid(evaluation.notes, evaluation.source, evaluation.review.fired))]


def _title(evaluation: Evaluation) -> Title:
    name = [evaluation.source.name] if evaluation.source.name else []
    return Title(" · ".join([*name, describe_cases(evaluation, 40)]))


def describe_cases(evaluation: Evaluation, longest: int) -> str:
    """How many cases, groups and classes there are, and which class is positive, its name cut to `longest`."""
    confusion = evaluation.confusion
    # A matrix may hold fractions of cases.
    number_of_cases = confusion.n_cases if confusion.weighted else confusion.n
    parts = [number_of(number_of_cases, "case")]
    if confusion.weighted:
        parts.append(f"weight {count(confusion.n)}")
    if confusion.clusters is not None:
        parts.append(number_of(confusion.clusters.number, "group"))
    parts.append(number_of(confusion.n_classes, "class", "classes"))
    if evaluation.positive is not None:
        prevalence = confusion.truth_totals[confusion.index(evaluation.positive)] / confusion.n
        parts.append(
            f"positive class: {shorten(visible(str(evaluation.positive)), longest)} ({percent(float(prevalence))})"
        )
    return " · ".join(parts)


def find_headline(evaluation: Evaluation, surface: Surface, macro_too: Container[Scope] = ()) -> list[Estimate]:
    """The estimates that come first on a surface, of those that were made."""
    estimates = {(e.measure, e.class_, e.average): e for e in reversed(evaluation.estimates)}
    headline = headline_quantities(surface, evaluation.positive, macro_too)
    return [estimates[quantity.key] for quantity in headline if quantity.key in estimates]


def _columns(evaluation: Evaluation) -> Prose:
    guessed = evaluation.source.guessed
    in_python = evaluation.source.name == "the data frame"
    flags = ", ".join(f"{role}=" if in_python else f"--{role}" for role in guessed)
    no_fold = f'fold="{NO_COLUMN}"' if in_python else f"--fold {NO_COLUMN}"
    more = f"; {no_fold} takes all as predictions of one model" if "fold" in guessed else ""
    return Prose(evaluation.source.describe_guesses(f"; {flags} to change{more}"), label="Read")


def _headline(evaluation: Evaluation, *, full: bool = False) -> list[Block]:
    reported = {(e.measure, e.class_, e.average): e for e in evaluation.estimates}
    estimates = []
    for asked in headline_quantities(
        "screen", evaluation.positive, ("class", "ranking") if evaluation.confusion.n_classes > 2 else ("ranking",)
    ):
        if asked.key in reported:
            estimates.append(reported[asked.key])
        elif asked.bound.measure.scope in ("class", "table") and asked.bound.measure.kind != "cost":
            estimates.append(evaluation.get(asked.bound.name, class_=asked.class_, average=asked.average))
    estimates = keep_of_folds(estimates)
    names = name_all(evaluation, estimates)
    over_folds = folded(estimates)
    if over_folds is not None:
        return [fold_table(over_folds, names, evaluation.level, full=full), *rule_notes(over_folds, full=full)]
    return [estimate_table(evaluation, estimates, names)]


def name_all(evaluation: Evaluation, estimates: Iterable[Estimate]) -> list[str]:
    """The names of estimates in a report whose heading names the positive one of two classes."""
    known = evaluation.positive if evaluation.confusion.n_classes == 2 else None
    return [titled(replace(e, class_=None) if known is not None and e.class_ == known else e) for e in estimates]


def titled(e: Estimate) -> str:
    """The name of an estimate as a table writes it."""
    title = find(e.measure).title
    if e.class_ is not None:
        return f"{title} ({e.class_})"
    return f"{e.average} {title}" if e.average else title


def _classes(evaluation: Evaluation, *, full: bool) -> list[Block]:
    confusion = evaluation.confusion
    k = confusion.n_classes
    places: Sequence[int] = range(k)
    blocks: list[Block] = []
    caption = ""
    most = FULL_ROWS if full else SHOWN_ROWS
    if k > most:
        places = order_weakest(confusion)[:most].tolist()
        rest = "each can be asked for by name" if full else FULL
        caption = f"The {most:,} weakest of {k:,} classes by recall{few_cases(confusion)}; {k - most:,} more, {rest}"
    blocks += [class_table(evaluation, places, caption), average_table(evaluation)]
    if k <= SHOWN_CLASSES or (full and k <= 60):
        blocks.append(matrix_table(confusion))
    if k > 2:
        pairs = confused_pairs(confusion, evaluation.level, evaluation.independent)
        if pairs is not None:
            blocks.append(pairs)
    return blocks


# With fewer cases than this the recall of a class says little of how weak it is.
ENOUGH_CASES = 10


def order_weakest(confusion: Confusion) -> NDArray[np.int64]:
    """The places of the classes from the lowest recall to the highest; those with few cases or none after the others.

    >>> order_weakest(Confusion.of([[20, 0, 0], [9, 11, 0], [1, 0, 1]])).tolist()
    [1, 0, 2]
    """
    recalls = find("recall").of_classes(confusion.corners)
    unknown = np.isnan(recalls)
    few = np.asarray(confusion.truth_totals < ENOUGH_CASES, dtype=np.int64) + unknown
    return np.lexsort((-confusion.truth_totals, np.where(unknown, np.inf, recalls), few))


def few_cases(confusion: Confusion) -> str:
    """Where classes of few cases stand in an order by recall, if there are some."""
    totals = confusion.truth_totals
    return f" (those under {ENOUGH_CASES} cases last)" if totals.min() < ENOUGH_CASES <= totals.max() else ""


def _everything(evaluation: Evaluation) -> list[Block]:
    blocks: list[Block] = []
    overall = [e for e in evaluation.estimates if e.class_ is None and e.average is None]
    blocks.append(estimate_table(evaluation, overall, [find(e.measure).title for e in overall], "All cases"))
    averages = [e for e in evaluation.estimates if e.average is not None]
    if averages:
        names = [f"{e.average} {find(e.measure).title}" for e in averages]
        blocks.append(estimate_table(evaluation, averages, names, "Averages over the classes"))
    wanted = (
        [evaluation.positive] if evaluation.positive is not None else list(evaluation.confusion.labels)[:SHOWN_ROWS]
    )
    for label in wanted:
        of_class = [e for e in evaluation.estimates if e.class_ == label and e.class_ is not None]
        names = [find(e.measure).title for e in of_class]
        blocks.append(estimate_table(evaluation, of_class, names, f'Class "{label}" against the rest'))
    return blocks


# Where these have no value, the screen says why; of those that were asked for by name it says so of all.
EXPLAINED = frozenset({"precision", "recall", "hand_till_auc", *(bound.name for bound in headline("screen"))})


def _notes(evaluation: Evaluation, notes: Sequence[str], *, named: bool = False) -> list[Block]:
    blocks = note_cases(evaluation, notes)
    undefined: dict[str, list[Estimate]] = {}
    unbounded: dict[str, list[Estimate]] = {}
    for e in evaluation.estimates:
        explained = named or e.measure in EXPLAINED or find(e.measure).measure.own
        if math.isnan(e.value) and explained:
            undefined.setdefault(e.undefined, []).append(e)
        elif named and math.isnan(e.low + e.high) and NO_INTERVAL_BECAUSE in e.note:
            unbounded.setdefault(e.note.partition(NO_INTERVAL_BECAUSE)[2], []).append(e)
    for reason, held_back in undefined.items():
        blocks.append(Note(f"Undefined: {_names(held_back)}, because {_reason(reason, held_back)}."))
    for reason, held_back in unbounded.items():
        blocks.append(Note(f"No interval: {_names(held_back)}, because {reason}."))
    # What an average leaves out and what has probability 0 is a finding.
    # So is what was measured of a method over folds.
    by_class = [e for e in evaluation.estimates if e.average is None and e.measure in OF_EACH_CLASS]
    told = {note: e.name for e in by_class if (note := e.note.replace(NAIVE, "").strip("; "))}
    return [*blocks, *(Note(f"{name}: {note}.") for note, name in told.items())]


def _names(estimates: Sequence[Estimate]) -> str:
    return listing((shorten(visible(e.name), 50) for e in estimates), most=4)


def order_notes(estimates: Iterable[Estimate]) -> list[Note]:
    """In which order measures of ordered classes have taken them."""
    orders = {(find(e.measure).title, e.note[e.note.index(IN_ORDER) :]) for e in estimates if IN_ORDER in e.note}
    return [Note(f"{title}: {order}.") for title, order in sorted(orders)]


def note_cases(evaluation: Evaluation, notes: Iterable[str]) -> list[Block]:
    """The notes, and what groups and weights do to the intervals."""
    blocks: list[Block] = [noted(note) for note in notes]
    if evaluation.confusion.clusters is not None:
        blocks.append(Note("Rows of one group are not independent: the intervals take whole groups as the cases."))
    if evaluation.confusion.weighted:
        blocks.append(Note("Intervals use the effective number of cases that the weights leave."))
    return blocks


def noted(note: str) -> Note:
    """A note as a sentence; a warning, unless it says no more than how certain areas are that are certain enough."""
    fine = note.startswith(BINNED) and not note.startswith(f"{BINNED} only")
    return Note(write_sentence(note), "note" if fine else "warning")


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


SHOWN = 5
# Of more measures than this the slices are not shown unless they are asked for one by one.
CHOSEN = 3
# Pairs of columns are looked through without being asked where they have at most this many rows altogether.
PAIRED_ROWS = 200_000_000


def slice_blocks(evaluation: Evaluation, *, full: bool) -> list[Block]:
    """What a report says of the slices; nothing where no columns divide the cases."""
    columns = len(evaluation.slice_columns)
    if not columns:
        return []
    if evaluation.counted is None:
        deep = columns > 1 and columns * (columns - 1) // 2 * evaluation.confusion.n_cases <= PAIRED_ROWS
    else:
        deep = bool(evaluation.counted.pairs)
    worst = evaluation.worst_slices(depth=2 if deep else 1, most=10 if full else SHOWN)
    blocks: list[Block] = [Prose(worst.summary(), label="Slices")]
    if worst.slices:
        blocks.append(worst.table())
    if full:
        every = evaluation.slices()
        blocks.append(Section("Every slice", (every.table(), *_slice_notes(every)), name="slices", folded=True))
    if columns > 1 and not deep and evaluation.counted is not None:
        blocks.append(Note(write_sentence(NOT_COUNTED)))
    elif columns > 1 and not deep:
        blocks.append(Note("Pairs of columns were not searched, because there are many rows; worst_slices() does."))
    return blocks + _slice_notes(worst)[: None if full else 1]


def chosen_slice_blocks(evaluation: Evaluation) -> list[Block]:
    """The measures that were asked for, slice by slice."""
    if not evaluation.slice_columns:
        return []
    shown = [evaluation.slices(e.name) for e in evaluation.estimates[:CHOSEN]]
    blocks: list[Block] = []
    for slices in shown:
        blocks += [slices.table(), *_slice_notes(slices)]
    left = len(evaluation.estimates) - len(shown)
    return blocks + [Note(f"The slices of {left:,} more are left out; ask for fewer measures to see them.")] * (
        left > 0
    )


def _slice_notes(slices: Slices) -> list[Block]:
    return [Note(write_sentence(note)) for note in slices.notes]


# Of a percentage; with these, limits differ for up to 1e12 cases.
MOST_DECIMALS = 4


def write_verdict(evaluation: Evaluation) -> list[str]:
    """The verdict, a sentence or two."""
    parts = [against_no_model(evaluation)]
    positive = evaluation.positive
    if positive is not None:
        parts.append(_describe_positive(evaluation, positive))
    elif evaluation.confusion.n_classes > 2:
        parts.append(_weakest(evaluation))
    if evaluation.costs is not None:
        parts += _describe_costs(evaluation.confusion, evaluation.costs)
    return [sentence for sentence in parts if sentence]


def against_no_model(evaluation: Evaluation) -> str:
    """Whether it is better than no model at all: than the commonest class, or than guessing where others are rare.

    Where nearly all cases are of one class, answering that class is nearly always right, and a useful classifier often
    gets fewer cases right than that. So it is judged by balanced accuracy, by which every answer that does not look at
    the cases is worth the same.
    """
    confusion = evaluation.confusion
    totals = np.asarray(confusion.truth_totals, dtype=np.float64)
    commonest = int(totals.argmax())
    balanced = (
        evaluation.get("balanced_accuracy") if is_imbalanced(confusion.n - totals[commonest], confusion.n) else None
    )
    if balanced is None or math.isnan(balanced.value):
        return against_constant(confusion, evaluation.level, evaluation.independent)
    guessing = 1 / confusion.n_classes
    usual = _named(confusion.labels[commonest])
    start = f'Better than guessing, where {_whole_percent(totals[commonest] / confusion.n)} % are "{usual}"?'
    figures = f"balanced accuracy {share(balanced.value)}"
    if len(np.unique(confusion.predicted[confusion.counts > 0])) == 1:
        answer = _named(confusion.labels[int(confusion.predicted[confusion.counts > 0][0])])
        return f'{start} No: it predicts "{answer}" for every case.'
    if math.isnan(balanced.low):
        return f"{start} On these cases {figures}, and guessing gives {share(guessing)} (they allow no interval)."
    figures += f" {in_brackets(balanced.low, balanced.high)}, guessing {share(guessing)}."
    if balanced.low <= guessing <= balanced.high:
        return f"{start} Cannot be told from these cases: {figures}"
    return f"{start} {'Yes' if balanced.low > guessing else 'No, worse'}: {figures}"


def against_constant(confusion: Confusion, level: float, independent: float = 1.0) -> str:
    """Whether it beats always predicting the commonest class, and by how much.

    `independent` is the share of the cases that counts as independent, and 0 where there can be no interval.

    >>> against_constant(Confusion.of([[9990, 10], [90, 10]], ["c1", "c2"]), 0.95)
    'Better than always predicting "c1" (accuracy .990)? Cannot be told from these cases: -.001 to .001.'
    """
    gain = gain_over_commonest(confusion, level, independent)
    if gain is None:
        return "There is one class only, so there is nothing to tell apart."
    start = f'Better than always predicting "{_named(gain.answer)}" (accuracy {share(gain.constant)})?'
    low, high = gain.low, gain.high
    if not gain.gained and not gain.lost:
        return f"{start} No: it gets exactly the same cases right."
    if not gain.known:
        return f"{start} The gap is {share(gain.value)} on these cases (which allow no interval)."
    if gain.claim == BEATEN:
        return f"{start} Yes, by {share(low)} to {share(high)}."
    if gain.claim == NOT_BEATEN:
        return f"{start} No, worse by {share(-high)} to {share(-low)}."
    return f"{start} Cannot be told from these cases: {share(low)} to {share(high)}."


def _named(label: Label) -> str:
    return shorten(visible(str(label)), 40)


def _describe_positive(evaluation: Evaluation, positive: Label) -> str:
    recall, precision = evaluation.get("recall", class_=positive), evaluation.get("precision", class_=positive)
    name = _named(positive)
    recalled = (
        f'Recall of "{name}" is {_percent(recall)}'
        if not math.isnan(recall.value)
        else f'There are no cases of "{name}" to find'
    )
    if math.isnan(precision.value):
        return f'{recalled}, and it never predicts "{name}".'
    return f"{recalled}, {'its' if math.isnan(recall.value) else 'and'} precision is {_percent(precision)}."


def _describe_costs(confusion: Confusion, costs: NDArray[np.float64]) -> list[str]:
    """What it costs beside the cheapest constant answer."""
    n = float(confusion.n)
    cost = float((confusion.counts * costs[confusion.truth, confusion.predicted]).sum())
    constant = np.asarray(confusion.truth_totals, dtype=np.float64) @ costs
    cheapest = int(constant.argmin())
    name = f'Always predicting "{_named(confusion.labels[cheapest])}"'
    return [f"It costs {plain(cost / n)} a case. {name} would cost {plain(float(constant[cheapest]) / n)}."]


def _percent(estimate: Estimate) -> str:
    if math.isnan(estimate.low):
        return f"{_whole_percent(estimate.value)} %"
    # Whole percents, or as many decimals as tell the limits apart where there are very many cases.
    for digits in range(MOST_DECIMALS + 1):
        value, low, high = (_whole_percent(at, digits) for at in (estimate.value, estimate.low, estimate.high))
        if low != high or estimate.low == estimate.high:
            break
    return f"{value} % [{low}, {high}]"


def _whole_percent(value: float, digits: int = 0) -> str:
    digits = digits if 0.01 <= value <= 0.99 or value in (0.0, 1.0) else max(digits, 1)
    return f"{100 * value:.{digits}f}"


def _weakest(evaluation: Evaluation) -> str:
    confusion = evaluation.confusion
    if not any(e.measure == "recall" and e.class_ is not None for e in evaluation.estimates):
        return ""
    recalls = find("recall").of_classes(confusion.corners)
    if np.isnan(recalls).all():
        return ""
    # From the counts, not the estimates: of very many classes only the largest are listed.
    imperfect = [at for at in order_weakest(confusion).tolist() if recalls[at] < 1]
    place = imperfect[0] if imperfect else int(np.nanargmin(recalls))
    worst = evaluation.get("recall", class_=confusion.labels[place])
    if imperfect:
        enough = few_cases(confusion) and confusion.truth_totals[place] >= ENOUGH_CASES
        which = f" of {ENOUGH_CASES} cases or more" if enough else ""
        name = _named("" if worst.class_ is None else worst.class_)
        return f'Weakest class{which}: "{name}", with recall {_percent(worst)}.'
    if np.isnan(recalls).any():
        return f"All {np.count_nonzero(~np.isnan(recalls)):,} classes that have cases are found without a miss."
    return f"All {confusion.n_classes:,} classes are found without a miss."
