"""One checked set of predictions: truth, prediction, weight, group, fold and id of every case."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import MISSING, Missing, listing
from heldout.errors import LabelError, OptionError, ValuesError
from heldout.evidence import Label, join_labels, sort_labels
from heldout.evidence.confusion import NAME_EVERY_CLASS
from heldout.evidence.counted import weightless_note
from heldout.evidence.labels import places
from heldout.evidence.probabilities import Unfit
from heldout.predictions.case_values import (
    NONE_BELOW_HALF,
    Confidences,
    RawScores,
    Scores,
    area_of,
    check_weight,
    groups,
    row_name,
    settle_scores,
    take_rows,
    weighted_rows,
    weights,
    whole_of,
)
from heldout.predictions.case_values import against_rest as one_against_rest
from heldout.predictions.label_encoding import HEAD, Coded, as_label, check_label_list, encode
from heldout.predictions.positive_class import (
    choose_positive,
    fitted,
    quoted,
    renamed,
    suspicions,
    usual_pair,
    with_positive,
)
from heldout.predictions.score_columns import class_of
from heldout.predictions.slice_plans import SliceColumn

# One message for a fault that several functions can find.
DROP_MISSING = "missing='drop' (--missing drop) leaves them out and says so; better is to find out why."
NO_CASES = "There are no cases: truth is empty."
CHECK_COLUMNS = "check which columns were chosen."


# Columns that identify rows, and are not counted themselves.
KEYS = ("group", "fold", "id")
READERS: Mapping[str, Callable[[Any, str], Any]] = {
    "truth": encode,
    "predicted": encode,
    "weight": weights,
    **dict.fromkeys(KEYS, groups),
}


class NothingWholeError(ValuesError):
    """Every row lacks a value: `rows` of them, and `missing` says in how many each role does."""

    rows: int = 0
    missing: Mapping[str, int] = MappingProxyType({})

    @classmethod
    def of(cls, rows: int, missing: Mapping[str, int]) -> NothingWholeError:
        """The error for so many rows.

        >>> print(NothingWholeError.of(2, {"truth": 2}).what)
        Every one of the 2 rows has a missing value: truth in 2.
        """
        counts = ", ".join(f"{role} in {number:,}" for role, number in missing.items())
        every = "The only row" if rows == 1 else f"Every one of the {rows:,} rows"
        error = cls(f"{every} has a missing value: {counts}.", hint=CHECK_COLUMNS)
        error.rows, error.missing = rows, dict(missing)
        return error


def check_missing_word(missing: Any, needed: str = "truth or prediction") -> None:
    """Refuse any other word than the two for what is done with missing values; rows without `needed` are left out."""
    if missing not in MISSING:
        raise OptionError(
            f"missing must be {' or '.join(map(repr, MISSING))}. Got {missing!r}.",
            hint=f"missing='drop' leaves out rows without {needed}, and says how many.",
        )


@dataclass(frozen=True, eq=False)
class Predictions:
    """What a classifier said about each case, and what was true.

    `notes` are sentences a reader must see, whatever other rows there are; `joined_types` are those on labels of
    different types that were joined, and `of_labels` those that follow from which labels were met. `keep_labels`
    says that the labels were declared, so that classes without a case stay classes. `threshold` is set where the
    prediction was made from the scores. `fold` says which split of a resampling plan made a prediction, and `id` which
    case it is about, where a case was predicted more than once. `slices` divide the cases. `rows` are the places, from
    0, of the cases among the rows that were given, where some of those were left out; `given` is how many were given
    with a weight above 0, `lost` how many of them were left out, and `missing` in how many each role lacked a value.
    """

    truth: Coded
    predicted: Coded
    labels: tuple[Label, ...]
    truth_place: NDArray[np.int64]
    predicted_place: NDArray[np.int64]
    weight: NDArray[np.float64] | None = None
    group: Coded | None = None
    notes: tuple[str, ...] = ()
    joined_types: tuple[str, ...] = ()
    of_labels: tuple[str, ...] = ()
    keep_labels: bool = False
    scores: Scores | None = None
    positive: Label | None = None
    threshold: float | None = None
    fold: Coded | None = None
    id: Coded | None = None
    slices: tuple[SliceColumn, ...] = ()
    rows: NDArray[Any] | None = None
    given: int | None = None
    lost: int = 0
    missing: Mapping[str, int] = field(default_factory=dict)

    @property
    def n(self) -> int:
        """The number of cases."""
        return len(self.truth)

    @property
    def said(self) -> tuple[str, ...]:
        """Every sentence a reader must see, those on labels and on rows that were left out included."""
        given = self.n if self.given is None else self.given
        dropped = [dropped_note(self.lost, given, self.missing)] if self.lost else []
        return (*self.notes, *dropped, *self.joined_types, *self.of_labels)

    def part(self, rows: NDArray[Any]) -> Predictions:
        """Only these rows, with all classes kept."""
        taken = {
            name: column.taken(rows)
            for name in ("truth", "predicted", "group", "fold", "id")
            if (column := getattr(self, name)) is not None
        }
        scores = None if self.scores is None else replace(self.scores, values=self.scores.values[rows])
        weight = None if self.weight is None else self.weight[rows]
        slices = tuple(column.taken(rows) for column in self.slices)
        places = rows_of(rows) if self.rows is None else self.rows[rows]
        return replace(self, **taken, scores=scores, weight=weight, keep_labels=True, slices=slices, rows=places)

    def row_numbers(self, places: NDArray[Any]) -> NDArray[np.int64]:
        """The numbers of cases as a person counts the rows that were given: the first row of data is 1."""
        numbers = places if self.rows is None else self.rows[places]
        return np.asarray(numbers, dtype=np.int64) + 1

    def fingerprint(self) -> str:
        """A short hash of the true labels in their order: equal for predictions of the same cases."""
        digest = hashlib.blake2b(digest_size=8)
        classes = [str(label) for label in self.truth.met()]
        digest.update("\x1f".join(sorted(classes)).encode("utf-8", "surrogatepass"))
        rank = {name: position for position, name in enumerate(sorted(classes))}
        kind = np.uint8 if len(classes) <= 256 else np.int32
        ranks = np.array([rank.get(str(label), 0) for label in self.truth.labels], dtype=kind)
        block = 1 << 18
        for start in range(0, self.n, block):
            codes = self.truth.codes[start : start + block].astype(np.int64) - self.truth.offset
            digest.update(ranks[codes].tobytes())
        return digest.hexdigest()


def assemble(
    truth: Any,
    predicted: Any = None,
    *,
    score: RawScores | None = None,
    positive: Label | None = None,
    threshold: float | None = None,
    weight: Any = None,
    group: Any = None,
    fold: Any = None,
    id: Any = None,  # noqa: A002 - the word for it everywhere, flags and columns included
    labels: Sequence[Label] | None = None,
    missing: Missing = "refuse",
    notes: Sequence[str] = (),
    called: Mapping[str, str] | None = None,
    slices: Sequence[SliceColumn] = (),
    against_rest: bool = False,
    own: bool = True,
    whole: bool = True,
    ranked: bool = False,
) -> Predictions:
    """Check the columns and bring them together; `called` says what errors call them.

    Rows of weight 0 are left out first, so that all is as if they were not there; slices may be without them already.
    Weights and scores are copied, so that a caller may use the arrays again, unless they are counted at once (`own`).
    Confidences in the answers are turned into scores of the positive class, if these are the `whole` of the cases.
    Of scores that only rank (`ranked`) the median serves as the threshold, where they have none of their own.
    `against_rest` asks for two classes: of more, the positive one and all the others together. Where every class has a
    score and none is named as positive, all of them stay.

    >>> assemble(["no", "yes"], ["yes", "yes"]).labels
    ('no', 'yes')
    """
    check_missing_word(missing)
    given = {"truth": truth, "predicted": predicted, "weight": weight, "group": group, "fold": fold, "id": id}
    columns, slices, rows, weightless = _read_columns(given, score, slices, called or {})
    notes = [*notes, weightless_note(weightless)] if weightless else notes
    _same_length(columns, slices)
    columns, gaps, keep = _without_missing(columns, missing, rows)
    if keep is not None:
        slices = [column.taken(keep) for column in slices]
        rows = rows_of(keep) if rows is None else rows[keep]
    if "weight" in columns:
        check_weight(columns["weight"], rows)
    lost = 0 if keep is None else len(keep) - int(keep.sum())
    columns, names, joined, of_labels = _settle_labels(columns, labels, met=score is not None)
    if score is not None and score.values.ndim == 1:
        names = with_positive(names, positive)
    kept, scores = choose_positive(positive, names), None
    if score is not None:
        names, kept = _two_classes(names, kept, score)
        raw = RawScores(columns["score"], score.names)
        if against_rest and len(names) > 2:
            if kept is None and raw.values.ndim == 2:
                threshold = None
            else:
                columns["truth"], names, raw = one_against_rest(columns["truth"], names, kept, raw)
        scores = settle_scores(raw, names, kept, rows)
        notes = [*notes, *scores.notes] if whole else notes
        threshold, notes = _median_cut(scores, threshold, notes) if ranked and predicted is None else (threshold, notes)
        if predicted is None:
            columns["predicted"] = scores.predicted(names, kept, threshold)
            notes = [*notes, *_narrow_scores(scores, threshold)] if whole else notes
            threshold = None if scores.per_class else scores.default_threshold() if threshold is None else threshold
        else:
            scores, note = _turned(scores, raw, columns, names, kept, whole=whole)
            notes = [*notes, note] if note else notes
    if own:
        columns, scores = _owned(columns, scores, score)
    return Predictions(
        truth=columns["truth"],
        predicted=columns["predicted"],
        labels=names,
        truth_place=places(columns["truth"].labels, names),
        predicted_place=places(columns["predicted"].labels, names),
        weight=columns.get("weight"),
        group=columns.get("group"),
        fold=columns.get("fold"),
        id=columns.get("id"),
        notes=tuple(notes),
        joined_types=(joined,) if joined else (),
        of_labels=tuple(of_labels),
        keep_labels=labels is not None or columns["truth"].declared or columns["predicted"].declared,
        scores=scores,
        positive=kept,
        threshold=threshold,
        slices=tuple(slices),
        rows=rows,
        given=None if keep is None else len(keep),
        lost=lost,
        missing=gaps,
    )


def _settle_labels(
    columns: dict[str, Any], labels: Sequence[Label] | None, *, met: bool
) -> tuple[dict[str, Any], tuple[Label, ...], str, list[str]]:
    """The columns with the prediction in the labels of the truth, all labels, and what is said of them.

    Of whole numbers the labels span those between, too, unless only those that were `met` may count.
    """
    truth, joined, of_labels = columns["truth"], "", []
    if "predicted" in columns:
        names, predicted, joined = _joined(truth, columns["predicted"], met=met)
        columns = {**columns, "predicted": predicted}
        of_labels = _note_disjoint_labels(truth, predicted)
    else:
        names = truth.classes() if truth.declared else sort_labels(truth.classes())
    of_labels += suspicions(names)
    return columns, names if labels is None else _given(labels, columns, names), joined, of_labels


def _median_cut(scores: Scores, threshold: float | None, notes: Sequence[str]) -> tuple[float | None, Sequence[str]]:
    """The threshold of scores that only rank, where they have none of their own, and what is said of it."""
    if threshold is not None or scores.per_class or scores.is_probability:
        return threshold, notes
    median = float(np.median(scores.values))
    return median, [*notes, no_threshold_note(f"the median, {median:g}")]


def no_threshold_note(cut: str) -> str:
    """What is said of scores without a threshold of which only the order was asked for."""
    return f"the scores are no probabilities and no threshold was given: what needs one, such as accuracy, is at {cut}"


def _owned(
    columns: dict[str, Any], scores: Scores | None, score: RawScores | None
) -> tuple[dict[str, Any], Scores | None]:
    """The weights and scores in memory of our own; labels are encoded, and so they are already."""
    if score is not None and scores is not None and np.may_share_memory(scores.values, score.values):
        scores = replace(scores, values=scores.values.copy())
    return (columns if "weight" not in columns else {**columns, "weight": columns["weight"].copy()}), scores


def _narrow_scores(scores: Scores, threshold: float | None) -> list[str]:
    """That scores of four bytes are the threshold but for their rounding, and lie below it."""
    if threshold is None or scores.values.dtype != np.float32 or scores.per_class:
        return []
    narrow = float(np.float32(threshold))
    if narrow >= threshold:
        return []
    equal = int(np.count_nonzero(scores.values == np.float64(narrow)))
    if not equal:
        return []
    return [narrow_note(equal, threshold, narrow)]


def narrow_note(equal: int, threshold: float, narrow: float) -> str:
    """What is said of so many scores that are the threshold but for the rounding of four bytes."""
    what = "1 score is" if equal == 1 else f"{equal:,} scores are"
    note = f"{what} {threshold:g} in four bytes (float32), which is {narrow!r} and below the threshold"
    return f"{note}; threshold={narrow!r} (--threshold) calls them positive"


def _turned(
    scores: Scores,
    raw: RawScores,
    columns: Mapping[str, Any],
    names: tuple[Label, ...],
    positive: Label | None,
    *,
    whole: bool,
) -> tuple[Scores, str]:
    """The scores of the positive class, where confidences in the predictions were given, under no class's name.

    With a note that says so; or, where they need not be such, what their area would be if they were. Of a part of the
    cases it cannot be told.
    """
    named = bool(raw.names) and class_of(raw.names[0], names) is not None
    if scores.per_class or raw.values.ndim == 2 or named or len(names) != 2 or positive is None:
        return scores, ""
    if not whole:
        return replace(scores, unsure=True), ""
    total = whole_of(float(scores.values.min()), float(scores.values.max())) if len(scores.values) else None
    if total is None:
        # Almost always, and seen at once.
        return scores, ""
    truth, called = (_holds(columns[role], positive) for role in ("truth", "predicted"))
    turned = np.where(called, scores.values, total - scores.values)
    seen = Confidences.of(scores.values, called)
    if seen is None:
        areas = (area_of(values, truth, columns.get("weight")) for values in (scores.values, turned))
        return scores, _as_confidences(*areas)
    unfit = None if scores.unfit is None else Unfit.of_ends(float(turned.min()), float(turned.max()))
    return replace(scores, values=turned, turned=seen, unfit=unfit), seen.note


def _holds(column: Coded, label: Label | None) -> NDArray[np.bool_]:
    """Which rows hold a label."""
    return np.asarray(
        np.array([own == label for own in column.labels], dtype=bool)[column.codes.astype(np.int64) - column.offset]
    )


def _as_confidences(area: float, turned: float) -> str:
    """What is said of scores of which none is below one half; nothing where it makes no difference."""
    if not abs(area - turned) > 1e-12:
        return ""
    return (
        f"{NONE_BELOW_HALF}as scores of the positive class their ROC area is {area:.3f}, as a confidence in the "
        f"prediction, whichever it is, {turned:.3f}"
    )


def _read_columns(
    given: Mapping[str, Any], score: RawScores | None, slices: Sequence[SliceColumn], called: Mapping[str, str]
) -> tuple[dict[str, Any], Sequence[SliceColumn], NDArray[Any] | None, int]:
    """The columns and slices without rows of weight 0, the places of the others if not all, and how many are gone."""
    weight = given["weight"]
    if weight is not None:
        weight = weights(weight, called.get("weight", "weight"))
    counting = weighted_rows(weight)
    columns: dict[str, Any] = {}
    for role, values in {**given, "weight": weight}.items():
        if values is not None:
            name = called.get(role, role)
            columns[role] = READERS[role](take_rows(values, counting, name), name)
    if score is not None:
        columns["score"] = score.values
    if counting is None:
        return columns, slices, None, 0
    if score is not None and len(score) == len(counting):
        columns["score"] = score.values[counting]
    slices = [column.taken(counting) if len(column) == len(counting) else column for column in slices]
    return columns, slices, rows_of(counting), int((~counting).sum())


def rows_of(kept: NDArray[Any]) -> NDArray[Any]:
    """The places of the rows that are kept, in four bytes each where that is enough.

    >>> rows_of(np.array([True, False, True])).tolist()
    [0, 2]
    """
    places = np.flatnonzero(kept) if kept.dtype == bool else kept
    return places.astype(np.uint32) if not len(places) or int(places.max()) < 2**32 else places


def ask_for_other_class(known: str, hint: str) -> LabelError:
    """The error where scores are of two classes, and only one of them was met."""
    return LabelError(f"{known}, and it is not known what the other class is.", hint=hint)


def _two_classes(
    names: tuple[Label, ...], positive: Label | None, score: RawScores
) -> tuple[tuple[Label, ...], Label | None]:
    """With one column of scores and one class met, the other class is the usual opposite of that one."""
    if score.values.ndim == 2 or len(names) != 1:
        return names, positive
    pair = usual_pair(names[0])
    if pair is None:
        hint = "name both with labels= (--labels), and the positive one with positive=."
        raise ask_for_other_class(f"All cases are of class {names[0]!r}", hint)
    return pair, choose_positive(positive, pair)


def _joined(truth: Coded, predicted: Coded, *, met: bool) -> tuple[tuple[Label, ...], Coded, str]:
    """All labels of both columns, the prediction in the labels of the truth, and what is said if types differ."""
    first, second = truth.labels, predicted.labels
    joined = ""
    differ = {type(x) for x in first[:1]} != {type(x) for x in second[:1]}
    if met or differ or truth.declared or predicted.declared:
        # Codes of integers stand for labels that may not occur; here only those that do may count.
        first, second = truth.classes(), predicted.classes()
        rename, joined = renamed(first, second)
        if rename:
            predicted = predicted.renamed(rename)
            second = tuple(dict.fromkeys(rename.values()))
            second = second if predicted.declared else sort_labels(second)
    if predicted.declared and not truth.declared:
        first, second = second, first
    return join_labels(first, second), predicted, joined


def disjoint_labels_note(truth: Sequence[Label], predicted: Sequence[Label]) -> str:
    """What is said where no label that occurs in one column occurs in the other.

    >>> print(disjoint_labels_note(["a"], ["b"]))
    truth and prediction have no label in common, so every case counts as wrong: truth has 'a'; prediction has 'b'
    """
    return (
        "truth and prediction have no label in common, so every case counts as wrong: truth has "
        f"{listing(map(quoted, truth), most=4)}; prediction has {listing(map(quoted, predicted), most=4)}"
    )


def _note_disjoint_labels(truth: Coded, predicted: Coded) -> list[str]:
    """What is said if no label that occurs in one column occurs in the other; codes of integers span more labels."""
    head = np.arange(min(len(truth), HEAD))
    if len(truth) < 2 or not set(truth.taken(head).met()).isdisjoint(predicted.taken(head).met()):
        return []
    both = truth.met(), predicted.met()
    return [disjoint_labels_note(*both)] if set(both[0]).isdisjoint(both[1]) else []


def _same_length(columns: dict[str, Any], slices: Sequence[SliceColumn]) -> None:
    sizes = {name: len(column) for name, column in columns.items()}
    sizes |= {f"the slice column {column.name!r}": len(column) for column in slices}
    if len(set(sizes.values())) > 1:
        shown = ", ".join(f"{name} has {size:,}" for name, size in sizes.items())
        raise ValuesError(f"The columns differ in length: {shown}.", hint="pass one value per case in each.")
    if not sizes["truth"]:
        raise ValuesError(NO_CASES, hint="pass at least one case.")


def _without_missing(
    columns: dict[str, Any], missing: Missing, rows: NDArray[Any] | None
) -> tuple[dict[str, Any], dict[str, int], NDArray[np.bool_] | None]:
    """The columns without the rows that lack a value, how many each lacks, and which rows were kept if not all."""
    gaps: dict[str, NDArray[np.bool_]] = {}
    for name, column in columns.items():
        if isinstance(column, Coded):
            if column.missing:
                gaps[name] = column.is_missing
        elif np.isnan(column).any():
            gap = np.isnan(column)
            gaps[name] = gap.any(axis=1) if gap.ndim == 2 else gap
    if not gaps:
        return columns, {}, None
    lacking = {name: int(where.sum()) for name, where in gaps.items()}
    lost = np.logical_or.reduce(list(gaps.values()))
    first = int(np.flatnonzero(lost)[0] if rows is None else rows[lost][0])
    check_lost(int(lost.sum()), len(lost), lacking, missing, first)
    keep = ~lost
    kept = {name: column.taken(keep) if isinstance(column, Coded) else column[keep] for name, column in columns.items()}
    return kept, lacking, keep


def check_lost(
    lost: int, rows: int, lacking: Mapping[str, int], missing: Missing, first: int | str | None = None
) -> None:
    """Refuse rows that lack a value, unless they are to be left out and others remain."""
    if lost and missing == "refuse":
        raise refuse_missing(lost, rows, lacking, first)
    if lost and lost == rows:
        raise NothingWholeError.of(rows, lacking)


def refuse_missing(lost: int, rows: int, lacking: Mapping[str, int], first: int | str | None = None) -> ValuesError:
    """The error of so many rows that lack a value; `first` is the place of the first of them, as `row_name` takes it.

    >>> print(refuse_missing(2, 10, {"score": 2}, 4).what)
    2 of 10 rows have missing values: score in 2; the first is row 5.
    """
    counts = ", ".join(f"{name} in {number:,}" for name, number in lacking.items())
    what = "rows has a missing value" if lost == 1 else "rows have missing values"
    where = "" if first is None else f"; {'it' if lost == 1 else 'the first'} is {row_name(first)}"
    return ValuesError(f"{lost:,} of {rows:,} {what}: {counts}{where}.", hint=DROP_MISSING)


def dropped_note(lost: int, rows: int, lacking: Mapping[str, int]) -> str:
    """What is said of rows that were left out, and in how many of them each column lacked a value.

    >>> dropped_note(2, 1000, {"truth": 2, "score": 1})
    '2 of 1,000 rows were dropped because of missing values: truth in 2, score in 1'
    """
    what = "rows was dropped because of a missing value" if lost == 1 else "rows were dropped because of missing values"
    return f"{lost:,} of {rows:,} {what}: {', '.join(f'{name} in {number:,}' for name, number in lacking.items())}"


def _given(labels: Sequence[Label], columns: dict[str, Any], names: tuple[Label, ...]) -> tuple[Label, ...]:
    check_label_list(labels, "for example labels=['no', 'yes'].")
    given = fitted([as_label(label, "labels") for label in labels], names)
    if len(set(given)) != len(given):
        twice = sorted({str(label) for label, times in Counter(given).items() if times > 1})
        raise LabelError(f"Labels are named twice: {listing(twice)}.", hint="name each class once.")
    classes = {label for role in ("truth", "predicted") if role in columns for label in columns[role].met()}
    known = set(given)
    left = [label for label in names if label in classes and label not in known]
    if left:
        raise LabelError(
            f"The labels given leave out classes that occur: {listing(map(quoted, left))}. "
            f"Given were: {listing(map(quoted, given))}.",
            hint=f"labels are values that occur, such as {listing(map(repr, left), most=2)}, and no names to display: "
            "rename the values of the data to change how classes are called."
            if not known & classes
            else NAME_EVERY_CLASS,
        )
    return given
